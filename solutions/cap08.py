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
# # Capítulo 8. Dónde está cada palabra: soluciones

# %%
import math

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

# %% [markdown]
# ## 8.1 Siete sitios más allá
#
# Todas las agujas giran, así que todas las filas cambian; las diferencias de ángulo, no.


# %%
def shift_effect() -> str:
    """La respuesta, calculada con cinco sitios."""
    before = sinusoidal_encoding(torch.arange(5), 8)
    after = sinusoidal_encoding(torch.arange(5) + 7, 8)
    rows = not torch.allclose(before, after)
    products = not torch.allclose(before @ before.T, after @ after.T)
    names = {(True, False): "las filas", (False, True): "los productos entre filas"}
    return names.get((rows, products), "las filas y los productos" if rows else "nada")


# %% [markdown]
# ## 8.2 La función central
#
# `stack` en un eje nuevo y `flatten` intercalan; `cat` pondría las dos mitades una tras otra.


# %%
def sinusoidal_encoding(
    positions: Real[Tensor, "*batch n"], d_model: int, base: float = 10000.0
) -> Float[Tensor, "*batch n d_model"]:
    """Senos y cosenos intercalados, en float64."""
    double_pair = torch.arange(0, d_model, 2, dtype=torch.float64)  # 0, 2, 4, …
    speed = base ** (-double_pair / d_model)
    angle = positions.double().unsqueeze(-1) * speed  # (…, n, d_model / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


# %% [markdown]
# ## 8.3 Dos agujas, a mano
#
# Las frecuencias son 1 y 0.01. La norma es la misma en todos los sitios, y el producto solo depende
# de la distancia, 3.


# %%
def clock_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    return {
        "first": math.sin(3),
        "last": math.cos(0.01 * 100),
        "norm": 1.0 + 1.0,
        "product": math.cos(3) + math.cos(0.03),
    }


# %% [markdown]
# ## 8.4 De mitades a parejas
#
# `unflatten` parte el último eje en dos mitades; al cambiar los dos ejes nuevos, cada seno queda al
# lado de su coseno.


# %%
def halves_to_pairs(code: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """Los senos y los cosenos, intercalados."""
    halves = code.unflatten(-1, (2, -1))  # (…, 2, d / 2)
    return halves.transpose(-2, -1).flatten(-2)


# %% [markdown]
# ## 8.5 Sumar con relleno
#
# El sitio de una palabra es cuántas palabras de verdad hay hasta ella, menos una. En el relleno la
# cuenta no significa nada: se anula con la máscara.


# %%
def add_positions(
    x: Float[Tensor, "batch n d"], table: Float[Tensor, "L d"], mask: Bool[Tensor, "batch n"]
) -> Float[Tensor, "batch n d"]:
    """Suma a cada palabra la fila de su sitio, sin contar el relleno."""
    places = (mask.cumsum(dim=1) - 1).clamp(min=0)  # (batch, n)
    return x + table[places] * mask.unsqueeze(-1)


# %% [markdown]
# ## 8.6 La matriz que adelanta
#
# Por filas se multiplica por la derecha: es la traspuesta de la del teorema. En cada bloque, la
# primera fila dice en qué se convierte un seno y la segunda, un coseno.


# %%
def shift_matrix(
    delta: float, d_model: int, base: float = 10000.0
) -> Float[Tensor, "d_model d_model"]:
    """La matriz N con P[p + delta] = P[p] @ N."""
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    for start in range(0, d_model, 2):
        angle = delta * base ** (-start / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        matrix[start, start], matrix[start, start + 1] = cos, -sin
        matrix[start + 1, start], matrix[start + 1, start + 1] = sin, cos
    return matrix


# %% [markdown]
# ## 8.7 Un código averiado
#
# Las tres faltas: contaba los sitios por el eje del lote; el exponente usaba el índice de la pareja
# sin multiplicarlo por 2; y sumaba el código en el eje equivocado.


# %%
def add_sinusoids(x: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
    """Suma la codificación sinusoidal al eje 1."""
    d = x.shape[-1]
    places = torch.arange(x.shape[1], dtype=x.dtype)
    pair = torch.arange(d // 2, dtype=x.dtype)
    angle = places[:, None] * 10000.0 ** (-2 * pair / d)
    code = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)  # (n, d)
    return x + code[None]


# %% [markdown]
# ## 8.8 Leer la hora
#
# Todos los códigos miden lo mismo, así que el más parecido es el de mayor producto escalar, y un
# factor positivo no cambia cuál gana. Por tandas no hace falta guardar todas las comparaciones.


# %%
def read_clock(code: Float[Tensor, "n d"], limit: int, base: float = 10000.0) -> Int[Tensor, " n"]:
    """El sitio de cada fila, con ruido y con cualquier escala positiva."""
    table = sinusoidal_encoding(torch.arange(limit), code.shape[-1], base)  # (limit, d)
    return (code @ table.T).argmax(dim=-1)


# %% [markdown]
# ## 8.9 Una cabeza que mira a un sitio
#
# La consulta se adelanta `offset` sitios y la clave se queda como está: W_Q gira y W_K es la
# identidad. Repartir el giro o la nitidez de otro modo vale igual: solo cuenta el producto.


# %%
def offset_head(
    offset: float, d_model: int, sharpness: float, base: float = 10000.0
) -> tuple[Float[Tensor, "d_model d_model"], Float[Tensor, "d_model d_model"]]:
    """W_Q y W_K cuya puntuación es ``sharpness · ⟨P[i + offset], P[j]⟩``."""
    w_query = sharpness * shift_matrix(offset, d_model, base)
    w_key = torch.eye(d_model, dtype=torch.float64)
    return w_query, w_key
