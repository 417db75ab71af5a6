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
# # Capítulo 0. Refresco
#
# Los enunciados están en el capítulo, uno por sección. Se hacen con lápiz: aquí solo se escriben
# los números.

# %% [markdown]
# ## 0.1 De qué forma sale (★)
#
# Ejercicio 0.1: cambia cada `None` por tu número.

# %%
broadcast_shapes = {"axes": None, "elements": None, "compared": None}

# %% [markdown]
# ## 0.2 Una fila y una columna (★)
#
# Ejercicio 0.2: cambia cada `None` por tu número.

# %%
one_row = {"first": None, "second": None, "dot_products": None, "multiplications": None}

# %% [markdown]
# ## 0.3 Una jacobiana de dos por dos (★)
#
# Ejercicio 0.3: cambia cada `None` por tu número.

# %%
softmax_jacobian = {"small": None, "large": None, "diagonal": None, "off_diagonal": None}

# %% [markdown]
# ## 0.4 Medio, un cuarto, un cuarto (★)
#
# Ejercicio 0.4: cambia cada `None` por tu número.

# %%
entropy_by_hand = {"entropy": None, "divergence": None}

# %% [markdown]
# ## 0.5 El saldo (★)
#
# Ejercicio 0.5: cambia cada `None` por tu número.

# %%
variance_rules = {"sum": None, "difference": None, "double": None, "product": None}

# %% [markdown]
# ## 0.6 Rango de un vistazo (★)
#
# Ejercicio 0.6: cambia cada `None` por tu número.

# %%
rank_and_trace = {"rank": None, "trace": None, "singular_value": None}

# %% [markdown]
# ## 0.7 Un recorte (★)
#
# Ejercicio 0.7: cambia cada `None` por tu número.

# %%
clipped_gradient = {"clipped_x": None, "clipped_y": None, "untouched_x": None, "untouched_y": None}
