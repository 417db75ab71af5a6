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
# # Capítulo 8. Dónde está cada palabra
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 8` (o `atento calificar
# 8.2`).

# %%
import math

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

# %% [markdown]
# ## 8.1 Siete sitios más allá (★)
#
# Ejercicio 8.1: «las filas», «los productos entre filas», «las filas y los productos» o «nada».

# %%
shift_effect = None

# %% [markdown]
# ## 8.2 La función central (★)


# %%
def sinusoidal_encoding(
    positions: Real[Tensor, "*batch n"], d_model: int, base: float = 10000.0
) -> Float[Tensor, "*batch n d_model"]:
    """Senos y cosenos intercalados, en float64.

    Enunciado: ejercicio 8.2 del capítulo.
    """
    raise NotImplementedError("Ejercicio 8.2")


# %% [markdown]
# ## 8.3 Dos agujas, a mano (★)
#
# Ejercicio 8.3: cambia cada `None` por tu número, con tres decimales si no es entero.

# %%
clock_by_hand = {"first": None, "last": None, "norm": None, "product": None}

# %% [markdown]
# ## 8.4 De mitades a parejas (★)


# %%
def halves_to_pairs(code: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """Los senos y los cosenos, intercalados.

    Enunciado: ejercicio 8.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 8.4")


# %% [markdown]
# ## 8.5 Sumar con relleno


# %%
def add_positions(
    x: Float[Tensor, "batch n d"], table: Float[Tensor, "L d"], mask: Bool[Tensor, "batch n"]
) -> Float[Tensor, "batch n d"]:
    """Suma a cada palabra la fila de su sitio, sin contar el relleno.

    Enunciado: ejercicio 8.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 8.5")


# %% [markdown]
# ## 8.6 La matriz que adelanta


# %%
def shift_matrix(
    delta: float, d_model: int, base: float = 10000.0
) -> Float[Tensor, "d_model d_model"]:
    """La matriz N con P[p + delta] = P[p] @ N.

    Enunciado: ejercicio 8.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 8.6")


# %% [markdown]
# ## 8.7 Un código averiado
#
# El código de abajo tiene tres faltas.


# %%
def add_sinusoids(x: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
    """Suma la codificación sinusoidal al eje 1.

    Enunciado: ejercicio 8.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 8.7: borra esta línea y arregla las tres faltas de abajo")
    d = x.shape[-1]
    places = torch.arange(x.shape[0], dtype=x.dtype)
    pair = torch.arange(d // 2, dtype=x.dtype)
    angle = places[:, None] * 10000.0 ** (-pair / d)
    code = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
    return x + code[:, None]


# %% [markdown]
# ## 8.8 Leer la hora


# %%
def read_clock(code: Float[Tensor, "n d"], limit: int, base: float = 10000.0) -> Int[Tensor, " n"]:
    """El sitio de cada fila, con ruido y con cualquier escala positiva.

    Enunciado: ejercicio 8.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 8.8")


# %% [markdown]
# ## 8.9 Una cabeza que mira a un sitio


# %%
def offset_head(
    offset: float, d_model: int, sharpness: float, base: float = 10000.0
) -> tuple[Float[Tensor, "d_model d_model"], Float[Tensor, "d_model d_model"]]:
    """W_Q y W_K cuya puntuación es ``sharpness · ⟨P[i + offset], P[j]⟩``.

    Enunciado: ejercicio 8.9 del capítulo.
    """
    raise NotImplementedError("Ejercicio 8.9")
