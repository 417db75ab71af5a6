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
# # Capítulo 7. Máscaras
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 7` (o `atento calificar
# 7.3`).

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 7.1 La máscara, a mano (★)
#
# Ejercicio 7.1: cambia cada `None` por tu número, con tres decimales.

# %%
masked_by_hand = {"free": None, "causal": None, "both": None, "late": None}

# %% [markdown]
# ## 7.2 ¿Cuál tiene una fuga? (★)
#
# Ejercicio 7.2: «a», «b», «c» o «d».

# %%
leaky_line = None

# %% [markdown]
# ## 7.3 La softmax con máscara (★)


# %%
def masked_softmax(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "..."]
) -> Float[Tensor, "*batch query key"]:
    """Pesos con ``True`` donde se puede mirar; una fila tapada entera da ceros.

    Enunciado: ejercicio 7.3 del capítulo.
    """
    raise NotImplementedError("Ejercicio 7.3")


# %% [markdown]
# ## 7.4 Hasta dónde llega (★)
#
# Ejercicio 7.4: cambia cada `None` por un entero.

# %%
reach_by_hand = {"three": None, "layers": None, "prefix": None, "late": None}

# %% [markdown]
# ## 7.5 Las tres máscaras de un traductor


# %%
def translator_masks(
    source: Int[Tensor, "batch m"], target: Int[Tensor, "batch n"], pad_id: int = 0
) -> tuple[Bool[Tensor, "batch 1 1 m"], Bool[Tensor, "batch 1 n n"], Bool[Tensor, "batch 1 1 m"]]:
    """Máscaras del codificador, del decodificador y cruzada; ``True`` es «puede mirar».

    Enunciado: ejercicio 7.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 7.5")


# %% [markdown]
# ## 7.6 Buscar la fuga


# %%
def leaks(layer_masks: Bool[Tensor, "layer n n"]) -> list[tuple[int, int]]:
    """Parejas (i, j), j > i, en las que la salida de ``i`` puede saber de la entrada ``j``.

    Enunciado: ejercicio 7.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 7.6")


# %% [markdown]
# ## 7.7 La pérdida de un lote con relleno


# %%
def padded_loss(
    scores: Float[Tensor, "batch n vocab"], target: Int[Tensor, "batch n"], pad_id: int = 0
) -> Float[Tensor, ""]:
    """Entropía cruzada media por palabra de verdad; 0 si no hay ninguna.

    Enunciado: ejercicio 7.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 7.7")


# %% [markdown]
# ## 7.8 Traducir una máscara


# %%
def translate_mask(mask: Bool[Tensor, "..."], target: str) -> Tensor:
    """La máscara ``True`` = «puede mirar», como la quiere ``target``.

    Enunciado: ejercicio 7.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 7.8")


# %% [markdown]
# ## 7.9 Una atención con fugas
#
# El código de abajo se ejecuta sin dar ningún error y tiene tres.


# %%
def masked_attention(
    query: Float[Tensor, "batch head n d"],
    key: Float[Tensor, "batch head n d"],
    value: Float[Tensor, "batch head n d"],
    valid: Bool[Tensor, "batch n"],
) -> Float[Tensor, "batch head n d"]:
    """Autoatención causal con relleno; ``valid`` es ``True`` en las palabras.

    Enunciado: ejercicio 7.9 del capítulo.
    """
    raise NotImplementedError("Ejercicio 7.9: borra esta línea y arregla las tres faltas de abajo")
    n = query.shape[-2]
    scores = query @ key.transpose(-2, -1) / math.sqrt(n)
    allowed = torch.ones(n, n).tril().bool() & valid[:, None, :, None]
    weights = scores.softmax(dim=-1) * allowed
    return weights @ value


# %% [markdown]
# ## 7.10 Varias frases en una fila


# %%
def packed_mask(document: Int[Tensor, "batch n"]) -> Bool[Tensor, "batch 1 n n"]:
    """Máscara causal dentro de cada frase; el relleno (−1) ni mira ni es mirado.

    Enunciado: ejercicio 7.10 del capítulo.
    """
    raise NotImplementedError("Ejercicio 7.10")
