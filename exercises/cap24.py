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
# # Capítulo 24. Por qué funciona (y qué no se sabe)
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 24` (o `atento calificar
# 24.1`).

# %%
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

# %% [markdown]
# ## 24.1 Una media con núcleo (★)


# %%
def kernel_average(
    query: Float[Tensor, " d_k"],
    keys: Float[Tensor, "key d_k"],
    values: Float[Tensor, "key d_v"],
    counts: Float[Tensor, " key"],
    *,
    beta: float = 1.0,
) -> Float[Tensor, " d_v"]:
    """La media de Nadaraya–Watson de los valores, con el núcleo exponencial y claves repetidas.

    Enunciado: ejercicio 24.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 24.1")


# %% [markdown]
# ## 24.2 La entropía y la temperatura (★)
#
# Ejercicio 24.2: cambia cada `None` por tu número.

# %%
entropy_by_hand = {
    "bits": None,  # la entropía con temperatura 1, en bits
    "choices": None,  # a cuántas claves por igual equivale
    "cold": None,  # el peso de la primera con temperatura ½
    "frozen": None,  # hacia dónde va la entropía al bajar a 0, con tres empatadas
    "hot": None,  # hacia dónde va la entropía al subir la temperatura
}


# %% [markdown]
# ## 24.3 Teorema, medida o analogía (★)
#
# Ejercicio 24.3: cuatro palabras separadas por comas, como están en las opciones del enunciado.

# %%
kinds_of_claim = None


# %% [markdown]
# ## 24.4 La energía de Hopfield y su gradiente


# %%
def hopfield_energy(
    states: Float[Tensor, "n d"], patterns: Float[Tensor, "m d"], *, beta: float
) -> tuple[Float[Tensor, " n"], Float[Tensor, "n d"]]:
    """La energía de cada estado y su gradiente respecto al estado.

    Enunciado: ejercicio 24.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 24.4")


# %% [markdown]
# ## 24.5 Hasta que no se mueve


# %%
def settle(
    states: Float[Tensor, "n d"],
    patterns: Float[Tensor, "m d"],
    *,
    beta: float,
    tolerance: float = 1e-3,
    most: int = 100,
) -> tuple[Float[Tensor, "n d"], Int[Tensor, " n"]]:
    """Dónde se para cada estado y cuántos pasos ha dado.

    Enunciado: ejercicio 24.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 24.5")


# %% [markdown]
# ## 24.6 Lo que queda fuera de la media


# %%
def outside_mean(
    x: Float[Tensor, "n d_model"],
    maps: Float[Tensor, "layer n n"],
    weights: Float[Tensor, "layer d_model d_model"],
    *,
    skip: bool = False,
) -> Float[Tensor, " depth"]:
    """Qué parte del tamaño de los estados queda fuera de su media, a cada altura.

    Enunciado: ejercicio 24.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 24.6")


# %% [markdown]
# ## 24.7 Lo que deja pasar un mapa


# %%
def frequency_gains(
    maps: Float[Tensor, "head n n"], *, times: int = 1
) -> Float[Tensor, "head frequency"]:
    """Qué parte de cada onda queda tras aplicar el mapa ``times`` veces.

    Enunciado: ejercicio 24.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 24.7")


# %% [markdown]
# ## 24.8 A la larga, ¿dónde?


# %%
def long_run(
    weights: Float[Tensor, "n n"], start: Float[Tensor, " n"]
) -> tuple[Float[Tensor, " n"], int]:
    """Qué parte del tiempo pasa el camino en cada posición, y cuántos repartos no cambian.

    Enunciado: ejercicio 24.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 24.8")
