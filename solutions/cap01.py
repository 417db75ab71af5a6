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
# # Capítulo 1. Lo que cambió en 2017: soluciones

# %%
import math

import torch
from torch import Tensor

# %% [markdown]
# ## 1.1 Cuatro pesos con lápiz
#
# Al preguntar con (1, 1) cuentan los dos números de cada palabra: los parecidos son 1, 3, −1 y 0.
# El género que se trae se suma al metal, y «llave» gana por mucho más que antes.


# %%
def weights_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    query = (1, 1)
    words = {"La": (0, 1), "llave": (2, 1), "vecino": (0, -1), "cajon": (1, -1)}
    scores = {name: query[0] * x + query[1] * y for name, (x, y) in words.items()}
    total = sum(math.exp(score) for score in scores.values())
    weights = {name: math.exp(score) / total for name, score in scores.items()}
    gender = sum(weights[name] * words[name][1] for name in words)
    return {"llave": weights["llave"], "cajon": weights["cajon"], "gender": gender}


# %% [markdown]
# ## 1.2 Mirar a todas a la vez
#
# Los parecidos son un producto de matrices; la softmax recorre las palabras miradas, que es el
# último eje.


# %%
def look_at_all(askers: Tensor, words: Tensor) -> Tensor:
    """Lo que se lleva cada una que pregunta, ``(…, n, d)``."""
    likeness = askers @ words.mT  # (…, n, m)
    weights = likeness.softmax(dim=-1)  # cada fila suma 1
    return weights @ words


# %% [markdown]
# ## 1.3 Cuántos saltos
#
# Cada capa de la convolución avanza un sitio menos de los que abarca el filtro, porque uno es el
# propio.


# %%
def steps_to_reach(distance: int, kernel: int) -> tuple[int, int, int]:
    """Pasos de la recurrencia, capas de la convolución y pasos de la atención."""
    return distance, math.ceil(distance / (kernel - 1)), 1


# %% [markdown]
# ## 1.4 Tres preguntas a una fila
#
# «Al lado» es una suma de una ventana; «en orden», una suma acumulada; «por contenido», una
# consulta a una tabla.


# %%
def row_answers(lit: Tensor, asked: Tensor, reach: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """Las respuestas «al lado», «en orden» y «por contenido», cada una ``(rows, n)`` y entera."""
    so_far = lit.cumsum(dim=1)
    before = torch.nn.functional.pad(so_far, (reach, 0))[:, : lit.shape[1]]
    near = so_far - before  # lo acumulado aquí menos lo acumulado justo antes de la ventana
    return near % 2, so_far % 2, lit.gather(1, asked)


# %% [markdown]
# ## 1.5 La cadena más larga
#
# Cada operación puede empezar cuando acaba la última de las que necesita. Como todas son
# anteriores, basta una pasada.


# %%
def serial_steps(needs: list[list[int]]) -> int:
    """Operaciones que hay que hacer, una detrás de otra."""
    ends: list[int] = []
    for before in needs:
        ends.append(1 + max((ends[i] for i in before), default=0))
    return max(ends, default=0)


# %% [markdown]
# ## 1.6 Los mismos parámetros
#
# La LSTM tiene cuatro puertas, cada una con una matriz para la entrada, otra para el estado y dos
# vectores de sesgo.


# %%
def match_widths(d: int, reach: int, width: int) -> tuple[int, int]:
    """Anchos de la LSTM y de la atención con los parámetros más parecidos a los de la
    convolución."""
    goal = width * d * reach + width

    def lstm(h: int) -> int:
        return 4 * (h * d + h * h + 2 * h)

    def attention(h: int) -> int:
        return 3 * (h * d + h)

    widths = range(1, goal + 1)
    return tuple(min(widths, key=lambda h: abs(count(h) - goal)) for count in (lstm, attention))


# %% [markdown]
# ## 1.7 Una atención que hace de convolución
#
# El logaritmo deshace la exponencial de la softmax, y −∞ da un peso 0. La división de la softmax
# reparte sola lo que falta
# al principio.


# %%
def filter_scores(weights: Tensor, n: int) -> Tensor:
    """Puntuaciones ``(n, n)`` que, tras la softmax por filas, dan los pesos del filtro ``(k,)``."""
    scores = torch.full((n, n), -math.inf, dtype=weights.dtype)
    for back in range(min(len(weights), n)):
        rows = torch.arange(back, n)
        scores[rows, rows - back] = weights[back].log()
    return scores
