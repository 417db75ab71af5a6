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
# # Capítulo 5. Consulta, clave y valor
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 5` (o `atento calificar
# 5.2`).

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %% [markdown]
# ## 5.1 Sin espejo
#
# Faltan las líneas entre las proyecciones y el promedio: puntuar, escalar, enmascarar y normalizar.


# %%
def no_mirror_attention(
    x: Float[Tensor, "*batch n d_model"],
    w_similarity: Float[Tensor, "d_model d_similarity"],
    w_content: Float[Tensor, "d_model d_content"],
) -> Float[Tensor, "*batch n d_content"]:
    """Autoatención con dos proyecciones en la que nadie se mira a sí mismo.

    Enunciado: ejercicio 5.1 del capítulo.
    """
    similar = x @ w_similarity  # proyectar: (…, n, d_similarity)
    content = x @ w_content  # proyectar: (…, n, d_content)
    raise NotImplementedError("Ejercicio 5.1")
    return weights @ content  # promediar: (…, n, d_content)


# %% [markdown]
# ## 5.2 El sujeto, a mano (★)
#
# Ejercicio 5.2: cambia cada `None` por tu número, con dos decimales si no es entero.

# %%
subject_by_hand = {"subject": None, "other": None, "back": None, "times": None}

# %% [markdown]
# ## 5.3 Formas sin ejecutar


# %%
def attention_shapes(
    n_query: int, n_key: int, d_model: int, d_k: int, d_v: int
) -> tuple[tuple[int, int], ...]:
    """Formas de W_Q, W_K, W_V, Q, K, V, las puntuaciones y la salida, en ese orden.

    Enunciado: ejercicio 5.3 del capítulo.
    """
    raise NotImplementedError("Ejercicio 5.3")


# %% [markdown]
# ## 5.4 Una cabeza entera


# %%
class AttentionHead(nn.Module):
    """Una cabeza con tres capas lineales, ``query``, ``key`` y ``value``, con sesgo si se pide.

    Enunciado: ejercicio 5.4 del capítulo.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int, bias: bool = False) -> None:
        super().__init__()
        raise NotImplementedError("Ejercicio 5.4")

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        context: Float[Tensor, "*batch m d_model"] | None = None,
    ) -> Float[Tensor, "*batch n d_v"]:
        """Atención de ``x`` a ``context``, o a sí misma si no se da."""
        raise NotImplementedError("Ejercicio 5.4")


# %% [markdown]
# ## 5.5 El sentido contrario (★)
#
# Ejercicio 5.5: «las», «niñas», «vio», «perro» o «corren».

# %%
swapped_look = None

# %% [markdown]
# ## 5.6 Una cabeza escrita a mano


# %%
def program_head(
    bits: int, beats: list[int], colours: int, bonus: float = 2.0
) -> tuple[
    Float[Tensor, "d_model d_k"], Float[Tensor, "d_model d_k"], Float[Tensor, "d_model colours"]
]:
    """W_Q, W_K y W_V (float64) que resuelven el juego en el que la jugada p gana a ``beats[p]``.

    Cada vector es [mesa (bits) | jugada (len(beats)) | color (colours)]. Enunciado: ejercicio 5.6
    del capítulo.
    """
    raise NotImplementedError("Ejercicio 5.6")


# %% [markdown]
# ## 5.7 Las tres proyecciones en una


# %%
class FusedSelfAttention(nn.Module):
    """Una cabeza con una sola capa lineal, ``project``, que da consulta, clave y valor pegados.

    Enunciado: ejercicio 5.7 del capítulo.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int, order: str = "qkv") -> None:
        super().__init__()
        raise NotImplementedError("Ejercicio 5.7")

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        context: Float[Tensor, "*batch m d_model"] | None = None,
    ) -> Float[Tensor, "*batch n d_v"]:
        """Atención de ``x`` a ``context``, o a sí misma si no se da."""
        raise NotImplementedError("Ejercicio 5.7")


# %% [markdown]
# ## 5.8 Una atención cruzada averiada
#
# El código de abajo se ejecuta sin dar ningún error y tiene tres.


# %%
def cross_attention(
    x: Float[Tensor, "*batch n d_model"],
    z: Float[Tensor, "*batch m d_model"],
    w_query: Float[Tensor, "d_model d_k"],
    w_key: Float[Tensor, "d_model d_k"],
    w_value: Float[Tensor, "d_model d_v"],
) -> Float[Tensor, "*batch n d_v"]:
    """Atención cruzada: consultas de ``x``; claves y valores de ``z``.

    Enunciado: ejercicio 5.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 5.8: borra esta línea y arregla las tres faltas de abajo")
    query = x @ w_query
    key = z @ w_key
    value = z @ w_value
    scores = key @ query.T / math.sqrt(x.shape[-1])
    weights = scores.softmax(dim=-1)
    return weights.T @ value


# %% [markdown]
# ## 5.9 Detector de dirección


# %%
def cycle_flow(weights: Float[Tensor, "n n"], cycle: list[int]) -> float:
    """Suma de ln a(i_t, i_{t+1}) menos suma de ln a(i_{t+1}, i_t) a lo largo del ciclo cerrado.

    Enunciado: ejercicio 5.9 del capítulo.
    """
    raise NotImplementedError("Ejercicio 5.9")


# %% [markdown]
# ## 5.10 La anchura necesaria


# %%
def smallest_width(scores: Float[Tensor, "n m"], tolerance: float) -> int:
    """Menor d_k con el que Q Kᵀ se acerca a ``scores`` hasta un error relativo ``tolerance``.

    Enunciado: ejercicio 5.10 del capítulo.
    """
    raise NotImplementedError("Ejercicio 5.10")


# %% [markdown]
# ## 5.11 Comprimir una cabeza


# %%
def compress_head(
    w_query: Float[Tensor, "d_model d_k"], w_key: Float[Tensor, "d_model d_k"], width: int
) -> tuple[Float[Tensor, "d_model width"], Float[Tensor, "d_model width"]]:
    """Dos proyecciones de ``width`` columnas, equilibradas, con el circuito QK más parecido
    posible.

    Enunciado: ejercicio 5.11 del capítulo.
    """
    raise NotImplementedError("Ejercicio 5.11")
