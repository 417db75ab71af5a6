# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Capítulo 0. Refresco: soluciones

# %%
import math

# %% [markdown]
# ## 0.1 De qué forma sale
#
# Se alinean por la derecha: (5, 1, 3) con (1, 7, 3) da (5, 7, 3), y la suma quita el último eje.


# %%
def broadcast_shapes() -> dict[str, float]:
    """Las respuestas, calculadas."""
    axes, elements = 3, 5 * 7 * 3
    return {"axes": axes, "elements": elements, "compared": 5 * 7}


# %% [markdown]
# ## 0.2 Una fila y una columna
#
# Las columnas de A son (1, 0, 2) y (2, 2, 0): la primera con ella misma y con la otra. Después,
# cada elemento del resultado es un producto escalar de 64 multiplicaciones.


# %%
def one_row() -> dict[str, float]:
    """Las respuestas, calculadas."""
    first, second = 1 * 1 + 0 * 0 + 2 * 2, 1 * 2 + 0 * 2 + 2 * 0
    dot_products = 512 * 512
    return {
        "first": first,
        "second": second,
        "dot_products": dot_products,
        "multiplications": dot_products * 64,
    }


# %% [markdown]
# ## 0.3 Una jacobiana de dos por dos
#
# Las exponenciales son 1 y 9, y suman 10. La derivada propia es p(1 − p); la otra, −p·p'.


# %%
def softmax_jacobian() -> dict[str, float]:
    """Las respuestas, calculadas."""
    small, large = 1 / 10, 9 / 10
    return {
        "small": small,
        "large": large,
        "diagonal": small * (1 - small),
        "off_diagonal": -small * large,
    }


# %% [markdown]
# ## 0.4 Medio, un cuarto, un cuarto
#
# H(q) = ½ ln 2 + 2·¼ ln 4 = 3/2 ln 2. Con p uniforme, la entropía cruzada es ln 3 y la
# divergencia, la diferencia.


# %%
def entropy_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    entropy = 0.5 * math.log(2) + 2 * 0.25 * math.log(4)
    return {"entropy": entropy, "divergence": math.log(3) - entropy}


# %% [markdown]
# ## 0.5 El saldo
#
# Al sumar y al restar independientes se suman las varianzas; un factor sale al cuadrado; con
# medias 0, la del producto es el producto.


# %%
def variance_rules() -> dict[str, float]:
    """Las respuestas, calculadas."""
    x, y = 4, 9
    return {"sum": x + y, "difference": x + y, "double": 2**2 * x, "product": x * y}


# %% [markdown]
# ## 0.6 Rango de un vistazo
#
# El vector de unos da 2·5 + 3 = 13; cualquier vector perpendicular a él da 3. Ninguno da 0, así que
# el rango es 5. La matriz es simétrica y sus valores propios son positivos: son también sus valores
# singulares.


# %%
def rank_and_trace() -> dict[str, float]:
    """Las respuestas, calculadas."""
    n, value, extra = 5, 2, 3
    return {"rank": n, "trace": n * (value + extra), "singular_value": value * n + extra}


# %% [markdown]
# ## 0.7 Un recorte
#
# La norma es 5: si pasa del máximo, se multiplica por máximo/norma; si no, no se toca.


# %%
def clipped_gradient() -> dict[str, float]:
    """Las respuestas, calculadas."""
    x, y = 3, -4
    norm = math.hypot(x, y)
    return {"clipped_x": x / norm, "clipped_y": y / norm, "untouched_x": x, "untouched_y": y}
