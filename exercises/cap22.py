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
# # Capítulo 22. Varios sentidos
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 22` (o `atento calificar
# 22.1`).

# %%
import math
from collections import Counter, defaultdict

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 22.1 Lo que cuestan tres fusiones (★)
#
# Ejercicio 22.1: cambia cada `None` por tu número.

# %%
fusions_by_hand = {
    "rows": None,  # filas de la secuencia, tras concatenar
    "joined": None,  # parejas de consulta y clave, en una capa tras concatenar
    "crossed": None,  # y en una capa de atención cruzada, en los dos sentidos
    "neck": None,  # y en una capa con un cuello de dos filas
    "parameters": None,  # los de la capa de atención cruzada
}


# %% [markdown]
# ## 22.2 Quién ve a quién (★)


# %%
def who_sees(
    plan: list[tuple[str, str]], a_present: Bool[Tensor, " n_a"], b_present: Bool[Tensor, " n_b"]
) -> Bool[Tensor, "layer row n"]:
    """Qué filas de la entrada han llegado a cada fila tras cada capa de una fusión.

    Enunciado: ejercicio 22.2 del capítulo.
    """
    raise NotImplementedError("Ejercicio 22.2")


# %% [markdown]
# ## 22.3 La última palabra (★)
#
# Ejercicio 22.3: «solo B», «B y C», «B, C y D» o «las cuatro».

# %%
can_answer = None


# %% [markdown]
# ## 22.4 La pérdida de CLIP, con repetidos


# %%
def contrastive_loss(
    images: Float[Tensor, "n d_embed"],
    texts: Float[Tensor, "n d_embed"],
    log_scale: Float[Tensor, ""],
    ids: Int[Tensor, " n"],
    *,
    max_scale: float = 100.0,
) -> Float[Tensor, ""]:
    """La pérdida contrastiva de un lote en que un mismo texto puede ir con varias imágenes.

    Enunciado: ejercicio 22.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 22.4")


# %% [markdown]
# ## 22.5 Recuperar entre muchos


# %%
def recall_at(
    similarity: Float[Tensor, "image text"], owner: Int[Tensor, " text"], ks: list[int]
) -> tuple[list[float], list[float]]:
    """La parte de las búsquedas que aciertan entre los k primeros, de imagen a texto y al revés.

    Enunciado: ejercicio 22.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 22.5")


# %% [markdown]
# ## 22.6 El cuello de botella


# %%
def bottleneck(
    a: Float[Tensor, "n_a d_model"],
    b: Float[Tensor, "n_b d_model"],
    neck: Float[Tensor, "k d_model"],
    a_weights: Float[Tensor, "layer 3 d_model d_model"],
    b_weights: Float[Tensor, "layer 3 d_model d_model"],
    *,
    fuse_from: int = 0,
) -> tuple[Float[Tensor, "n_a d_model"], Float[Tensor, "n_b d_model"], Float[Tensor, "k d_model"]]:
    """Dos sentidos que solo se hablan por las filas de un cuello.

    Enunciado: ejercicio 22.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 22.6")


# %% [markdown]
# ## 22.7 Medidas y acciones, en tokens


# %%
def gato_tokens(
    values: Float[Tensor, " k"],
    actions: Float[Tensor, " m"],
    vocab: int,
    bins: int,
    *,
    mu: float = 100.0,
    limit: float = 256.0,
) -> tuple[Int[Tensor, " token"], Float[Tensor, " number"]]:
    """Un paso de Gato escrito en tokens, y los números que se recuperan de ellos.

    Enunciado: ejercicio 22.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 22.7")


# %% [markdown]
# ## 22.8 Lo más que se acierta a ciegas


# %%
def blind_scores(
    train: Int[Tensor, "row 5"], test: Int[Tensor, "row 5"]
) -> Float[Tensor, "question rule sense"]:
    """El techo de cada sentido en el examen, y lo que acierta quien se aprende el entrenamiento.

    Enunciado: ejercicio 22.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 22.8")
