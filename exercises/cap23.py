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
# # Capítulo 23. Eficiencia
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 23` (o `atento calificar
# 23.1`).

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 23.1 Operaciones y bytes (★)
#
# Ejercicio 23.1: cambia cada `None` por tu número.

# %%
costs_by_hand = {
    "attention": None,  # millones de operaciones de puntuar y promediar
    "project": None,  # millones de operaciones de las cuatro proyecciones
    "even": None,  # con cuántas filas costarían lo mismo
    "table": None,  # MB de los pesos de atención, con 2000 filas
    "longer": None,  # MB de los pesos de atención, con 10 000 filas
    "tile": None,  # MB que hay a la vez, por trozos de 100 × 100
}


# %% [markdown]
# ## 23.2 Juntar dos respuestas (★)


# %%
def join_blocks(
    first: tuple[
        Float[Tensor, "query 1"],
        Float[Tensor, "query 1"],
        Float[Tensor, "query d_v"],
    ],
    second: tuple[
        Float[Tensor, "query 1"],
        Float[Tensor, "query 1"],
        Float[Tensor, "query d_v"],
    ],
) -> tuple[
    Float[Tensor, "query 1"],
    Float[Tensor, "query 1"],
    Float[Tensor, "query d_v"],
]:
    """El máximo, la suma y la media de todas las claves, a partir de los de dos partes.

    Enunciado: ejercicio 23.2 del capítulo.
    """
    raise NotImplementedError("Ejercicio 23.2")


# %% [markdown]
# ## 23.3 Tres atenciones y un mismo resumen (★)
#
# Ejercicio 23.3: «ninguna», «solo los trozos», «los trozos y la lineal» o «las tres».

# %%
same_answer = None


# %% [markdown]
# ## 23.4 La atención entera, de trozo en trozo


# %%
def tiled_attention(
    query: Float[Tensor, "query d_head"],
    key: Float[Tensor, "key d_head"],
    value: Float[Tensor, "key d_v"],
    mask: Bool[Tensor, "query key"],
    *,
    block: int,
) -> tuple[Float[Tensor, "query d_v"], Float[Tensor, "piece query"]]:
    """La atención exacta, por trozos de claves, y lo que se llevaba visto tras cada uno.

    Enunciado: ejercicio 23.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 23.4")


# %% [markdown]
# ## 23.5 Leer sin guardar lo leído


# %%
def linear_attention(
    query: Float[Tensor, "n d"],
    key: Float[Tensor, "n d"],
    value: Float[Tensor, "n d_v"],
    state: tuple[Float[Tensor, "d d_v"], Float[Tensor, " d"]] | None = None,
) -> tuple[Float[Tensor, "n d_v"], tuple[Float[Tensor, "d d_v"], Float[Tensor, " d"]]]:
    """La atención lineal causal, que sigue desde un resumen de lo leído y devuelve el nuevo.

    Enunciado: ejercicio 23.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 23.5")


# %% [markdown]
# ## 23.6 La ventana con huecos


# %%
def sparse_mask(
    n: int, window: int, global_at: list[int], *, dilation: int = 1, causal: bool = False
) -> Bool[Tensor, "n n"]:
    """Quién puede mirar a quién con una ventana, que puede tener huecos, y unas globales.

    Enunciado: ejercicio 23.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 23.6")


# %% [markdown]
# ## 23.7 Enteros por grupos


# %%
def quantize_groups(
    weight: Float[Tensor, "rows columns"], group: int, *, bits: int = 8
) -> tuple[Int[Tensor, "rows columns"], Float[Tensor, "rows group"], Float[Tensor, "rows columns"]]:
    """Los enteros, las escalas por grupo y la matriz que representan.

    Enunciado: ejercicio 23.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 23.7")


# %% [markdown]
# ## 23.8 Los sitios de cada experto


# %%
def expert_layer(
    x: Float[Tensor, "token d"],
    logits: Float[Tensor, "token expert"],
    experts: Float[Tensor, "expert d d"],
    *,
    top_k: int,
    capacity: int,
) -> tuple[Float[Tensor, "token d"], Bool[Tensor, "token choice"], Float[Tensor, ""]]:
    """La salida de unos expertos con sitios contados, quién cupo y la pérdida de equilibrio.

    Enunciado: ejercicio 23.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 23.8")
