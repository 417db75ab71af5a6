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
# # Capítulo 1. Lo que cambió en 2017
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 1` (o `atento calificar
# 1.1`). Los tensores llegan en
# float64.

# %%
import torch  # noqa: F401
from torch import Tensor

# %% [markdown]
# ## 1.1 Cuatro pesos con lápiz (★)
#
# Ejercicio 1.1: cambia cada `None` por tu número.

# %%
weights_by_hand = {"llave": None, "cajon": None, "gender": None}

# %% [markdown]
# ## 1.2 Mirar a todas a la vez (★)


# %%
def look_at_all(askers: Tensor, words: Tensor) -> Tensor:
    """Lo que se lleva cada una que pregunta, ``(…, n, d)``. askers ``(…, n, d)``, words ``(…, m,
    d)``.
    """
    raise NotImplementedError("Ejercicio 1.2")


# %% [markdown]
# ## 1.3 Cuántos saltos (★)


# %%
def steps_to_reach(distance: int, kernel: int) -> tuple[int, int, int]:
    """Pasos de la recurrencia, capas de la convolución y pasos de la atención."""
    raise NotImplementedError("Ejercicio 1.3")


# %% [markdown]
# ## 1.4 Tres preguntas a una fila (★★)


# %%
def row_answers(lit: Tensor, asked: Tensor, reach: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """Las respuestas «al lado», «en orden» y «por contenido», cada una ``(rows, n)`` y entera.

    lit ``(rows, n)``, de 0 y 1; asked ``(rows, n)``, sitios.
    """
    raise NotImplementedError("Ejercicio 1.4")


# %% [markdown]
# ## 1.5 La cadena más larga (★★)


# %%
def serial_steps(needs: list[list[int]]) -> int:
    """Operaciones que hay que hacer, una detrás de otra; ``needs[i]``, las que necesita la
    ``i``."""
    raise NotImplementedError("Ejercicio 1.5")


# %% [markdown]
# ## 1.6 Los mismos parámetros (★★)


# %%
def match_widths(d: int, reach: int, width: int) -> tuple[int, int]:
    """Anchos de la LSTM y de la atención con los parámetros más parecidos a los de la
    convolución."""
    raise NotImplementedError("Ejercicio 1.6")


# %% [markdown]
# ## 1.7 Una atención que hace de convolución (★★★)


# %%
def filter_scores(weights: Tensor, n: int) -> Tensor:
    """Puntuaciones ``(n, n)`` que, tras la softmax por filas, dan los pesos del filtro ``(k,)``."""
    raise NotImplementedError("Ejercicio 1.7")
