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
# # Capítulo 3. Traducir con redes recurrentes
#
# Los enunciados están en la sección «Ejercicios» del capítulo. Todos los tensores llegan en
# float64.

# %%
import math  # noqa: F401

import torch
from torch import Tensor

# %% [markdown]
# ## 3.1 Cinco palabras a mano (★)
#
# Ejercicio 3.1: cambia cada `None` por tu número.

# %%
chance_by_hand = {"five_words": None, "longest": None}

# %% [markdown]
# ## 3.2 Predecir qué frase falla primero (★)


# %%
def first_failures(lengths: list[int], fidelity: float = 0.99, threshold: float = 0.5) -> list[int]:
    """Índices de las frases que salen bien con probabilidad menor que ``threshold``, de menos a más
    probable.
    """
    raise NotImplementedError("Ejercicio 3.2")


# %% [markdown]
# ## 3.3 Un paso de LSTM (★)


# %%
def lstm_step(
    x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    """Estado y memoria nuevos, ``(h, c)``, cada uno ``(batch, d_h)``.

    x ``(batch, d)``, h y c ``(batch, d_h)``; las cuatro puertas juntas, en el orden i, f, g, o: w_x
    ``(d, 4 * d_h)``, w_h ``(d_h, 4 * d_h)``, b ``(4 * d_h,)``.
    """
    raise NotImplementedError("Ejercicio 3.3")


# %% [markdown]
# ## 3.4 Los pesos de una duda (★)
#
# Ejercicio 3.4: cambia cada `None` por tu número.

# %%
weights_by_hand = {"la": None, "casa": None, "context": None}

# %% [markdown]
# ## 3.5 Un paso del decodificador (★)


# %%
def decoder_step(
    x: Tensor,
    h: Tensor,
    states: Tensor,
    weights: Tensor,
    cell: tuple[Tensor, Tensor, Tensor, Tensor],
) -> Tensor:
    """Estado nuevo, ``(batch, d_h)``, de un decodificador con atención y celda simple.

    x ``(batch, d)``, h ``(batch, d_h)``, states ``(batch, source, d_h)``, weights ``(batch,
    source)``, cell ``(w_x, w_c, w_h, b)``.
    """
    raise NotImplementedError("Ejercicio 3.5")


# %% [markdown]
# ## 3.6 Atención aditiva con máscara (★★)


# %%
def additive_attention(
    query: Tensor, keys: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor, valid: Tensor
) -> Tensor:
    """Contexto de la atención aditiva: ``(batch, d_h)``, la media de ``keys`` con los pesos de cada
    fila.

    query ``(batch, d_q)``, keys ``(batch, key, d_h)``, w_q ``(d_q, d_a)``, w_k ``(d_h, d_a)``, v
    ``(d_a,)``, valid ``(batch, key)`` booleana.
    """
    raise NotImplementedError("Ejercicio 3.6")


# %% [markdown]
# ## 3.7 Un error de relleno (★★)


# %%
def mean_state(states: Tensor, lengths: Tensor) -> Tensor:
    """Media de los estados de las palabras, sin relleno: ``(batch, time, d)`` y ``(batch,)`` →
    ``(batch, d)``.
    """
    raise NotImplementedError("Ejercicio 3.7: borra esta línea y arregla las dos faltas de abajo")
    word = torch.arange(states.shape[1]) <= lengths[:, None]
    total = (states * word[:, :, None]).sum(dim=1)
    return total / states.shape[1]


# %% [markdown]
# ## 3.8 Leer un alineamiento (★★)


# %%
def inverted_pairs(weights: Tensor, valid: Tensor) -> list[int]:
    """Posiciones ``t`` en que ``t`` y ``t + 1`` miran a ``j + 1`` y ``j``: ``(target, source)``,
    ``(source,)`` → lista.
    """
    raise NotImplementedError("Ejercicio 3.8")


# %% [markdown]
# ## 3.9 Medir el gradiente a distancia (★★★)


# %%
def gradient_norms(inputs: Tensor, w_x: Tensor, w_h: Tensor, direction: Tensor) -> Tensor:
    """Norma del gradiente de ``h_T · direction`` respecto de cada entrada, de la última a la
    primera: ``(time,)``.

    inputs ``(time, d)``, w_x ``(d, d_h)``, w_h ``(d_h, d_h)``, direction ``(d_h,)``.
    """
    raise NotImplementedError("Ejercicio 3.9")
