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
# # Capítulo 2. Tokens y vectores
#
# Los enunciados están en el capítulo, cada uno junto a su sección y los últimos en «Ejercicios».

# %%
import math
from collections import Counter

import torch
from torch import Tensor

# %% [markdown]
# ## 2.1 Tres uniones con lápiz (★)
#
# Ejercicio 2.1: cambia cada `None` por tu número.

# %%
merges_by_hand = {"first": None, "second": None, "pieces": None}

# %% [markdown]
# ## 2.2 El corpus, dos veces (★)
#
# Ejercicio 2.2: una de estas cadenas: "todas", "algunas" o "ninguna".

# %%
repeated_corpus = None

# %% [markdown]
# ## 2.3 Aprender las uniones (★)


# %%
def learn_merges(words: list[str], times: list[int], n_merges: int) -> list[tuple[str, str]]:
    """Las primeras ``n_merges`` uniones de BPE, por orden; a igualdad, la menor pareja.

    words: palabras distintas; times: cuántas veces sale cada una.
    """
    raise NotImplementedError("Ejercicio 2.3")


# %% [markdown]
# ## 2.4 La pieza más larga que encaja (★)


# %%
def longest_match(word: str, pieces: list[str]) -> list[str]:
    """Corta ``word`` como WordPiece; ``["[UNK]"]`` si en algún punto no encaja ninguna pieza."""
    raise NotImplementedError("Ejercicio 2.4")


# %% [markdown]
# ## 2.5 El gradiente de la tabla (★★)


# %%
def embedding_gradient(ids: Tensor, grad_output: Tensor, vocab: int) -> Tensor:
    """Gradiente de la tabla ``(vocab, d)``: ids ``(n,)``, grad_output ``(n, d)``."""
    raise NotImplementedError("Ejercicio 2.5")


# %% [markdown]
# ## 2.6 El gradiente de una pareja (★★)


# %%
def sgns_gradient(center: Tensor, context: Tensor, noise: Tensor) -> Tensor:
    """Gradiente de la pérdida respecto del centro, ``(d,)``.

    center ``(d,)``, context ``(d,)``, noise ``(k, d)``.
    """
    raise NotImplementedError("Ejercicio 2.6")


# %% [markdown]
# ## 2.7 Cortar con las uniones (★★)


# %%
def apply_merges(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Corta ``word`` con las uniones, la que se aprendió antes primero."""
    raise NotImplementedError("Ejercicio 2.7")


# %% [markdown]
# ## 2.8 El mejor corte (★★★)


# %%
def best_cut(word: str, pieces: list[str], log_p: list[float]) -> tuple[list[str], float]:
    """El corte de mayor suma y la suma; ``([], -inf)`` si no hay ninguno."""
    raise NotImplementedError("Ejercicio 2.8")


# %% [markdown]
# ## 2.9 Una analogía, con y sin trampa (★★)


# %%
def analogy(vectors: Tensor, a: int, b: int, c: int, exclude: bool = True) -> int:
    """Puesto del vector de mayor coseno con b − a + c, todos de norma 1. vectors ``(vocab, d)``."""
    raise NotImplementedError("Ejercicio 2.9")
