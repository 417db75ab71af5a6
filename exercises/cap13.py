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
# # Capítulo 13. Generar
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 13` (o `atento calificar
# 13.1`).

# %%
import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 13.1 El bucle (★)


# %%
def write(
    logits: Float[Tensor, "vocab vocab"],
    prefix: Sequence[int],
    *,
    eos_id: int,
    max_length: int,
    stop: Sequence[int] = (),
) -> list[int]:
    """Escribe cada vez la palabra de mayor puntuación, hasta una de las tres paradas.

    Enunciado: ejercicio 13.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.1")


# %% [markdown]
# ## 13.2 Un árbol a mano (★)
#
# Ejercicio 13.2: cambia cada `None` por tu número, con dos decimales.

# %%
tree_by_hand = {
    "greedy": None,  # probabilidad de la frase voraz
    "best": None,  # probabilidad de la frase más probable
    "tie": None,  # probabilidad de «mañana» con la que empatan
}

# %% [markdown]
# ## 13.3 Un paso del haz (★)


# %%
def beam_step(
    totals: Float[Tensor, " live"],
    log_probs: Float[Tensor, "live vocab"],
    *,
    beams: int,
    eos_id: int,
) -> tuple[Int[Tensor, " beams"], Int[Tensor, " beams"], Float[Tensor, " beams"], list[int]]:
    """De qué hipótesis viene cada una de las que siguen, su palabra, su suma, y cuáles acaban.

    Enunciado: ejercicio 13.3 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.3")


# %% [markdown]
# ## 13.4 La temperatura, a mano (★)
#
# Ejercicio 13.4: cambia cada `None` por tu número, con dos decimales.

# %%
temperature_by_hand = {
    "cold": None,  # probabilidad de la primera, con temperatura 0.5
    "hot": None,  # con temperatura 2
    "tau": None,  # temperatura con la que la primera es 64 veces más probable
    "twice": None,  # probabilidad de la primera si se aplica dos veces temperatura 2
}

# %% [markdown]
# ## 13.5 Cuántas quedan (★)
#
# Ejercicio 13.5: «dos», «tres», «cuatro» o «cinco».

# %%
nucleus_size = None

# %% [markdown]
# ## 13.6 El núcleo, con sus empates


# %%
def nucleus(
    logits: Float[Tensor, "*batch vocab"], p: float, temperature: float = 1.0
) -> Float[Tensor, "*batch vocab"]:
    """Las probabilidades tras la temperatura y el núcleo; las que empatan, entran juntas.

    Enunciado: ejercicio 13.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.6")


# %% [markdown]
# ## 13.7 min-p, con un mínimo


# %%
def keep_min_p(
    logits: Float[Tensor, "*batch vocab"], p: float, at_least: int = 1
) -> Bool[Tensor, "*batch vocab"]:
    """Qué palabras quedan: las de probabilidad al menos ``p`` veces la mayor, y un mínimo.

    Enunciado: ejercicio 13.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.7")


# %% [markdown]
# ## 13.8 Un haz averiado
#
# Al borrar el `raise`, el código de abajo se ejecuta sin avisos, y tiene tres faltas.


# %%
def broken_beam(
    log_probs: Float[Tensor, "vocab vocab"],
    start: int,
    *,
    beams: int,
    eos_id: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[list[int], float]:
    """La frase de mayor puntuación que encuentra el haz, y su puntuación.

    Enunciado: ejercicio 13.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.8: borra esta línea y arregla las tres faltas")
    live: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[tuple[list[int], float]] = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = words[-1] if words else start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + math.exp(log_prob)))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:beams]
        if finished:
            break
    finished += live  # las que corta la longitud
    scored = [(words, total / max_length**alpha) for words, total in finished]
    return max(scored, key=lambda one: one[1])


# %% [markdown]
# ## 13.9 Una caché propia


# %%
def cached_attention(
    x: Float[Tensor, "batch new d"],
    past_key: Float[Tensor, "batch head past d_head"],
    past_value: Float[Tensor, "batch head past d_head"],
    w_query: Float[Tensor, "d d"],
    w_key: Float[Tensor, "d d"],
    w_value: Float[Tensor, "d d"],
) -> tuple[
    Float[Tensor, "batch new d"],
    Float[Tensor, "batch head total d_head"],
    Float[Tensor, "batch head total d_head"],
]:
    """La salida de las posiciones nuevas, y la caché con ellas.

    Enunciado: ejercicio 13.9 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.9")


# %% [markdown]
# ## 13.10 Un lote con compañía


# %%
def write_batch(
    logits: Float[Tensor, "vocab vocab"],
    prompts: Int[Tensor, "batch n"],
    *,
    eos_id: int,
    pad_id: int,
    max_length: int,
) -> Int[Tensor, "batch length"]:
    """Lo que escribe cada fila, como si estuviera sola, y relleno detrás.

    Enunciado: ejercicio 13.10 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.10")


# %% [markdown]
# ## 13.11 Qué frase gana según α


# %%
def winners_by_alpha(log_probs: Sequence[float], lengths: Sequence[int]) -> list[tuple[int, float]]:
    """Las frases que ganan con algún α ≥ 0, en orden, y el α desde el que gana cada una.

    Enunciado: ejercicio 13.11 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.11")


# %% [markdown]
# ## 13.12 ¿Sortea bien?


# %%
def chi_square(
    counts: Int[Tensor, " vocab"],
    logits: Float[Tensor, " vocab"],
    *,
    temperature: float = 1.0,
    top_k: int,
) -> tuple[float, int]:
    """El estadístico χ² de un sorteo con temperatura y top-k, y sus grados de libertad.

    Enunciado: ejercicio 13.12 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.12")
