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
# # Capítulo 14. Tres laboratorios
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 14` (o `atento calificar
# 14.2`).

# %%
import torch
from jaxtyping import Float, Int
from torch import Tensor

# %% [markdown]
# ## 14.1 Cuatro notas de un mismo lote (★)
#
# Ejercicio 14.1: cambia cada `None` por tu número, con dos decimales.

# %%
score_by_hand = {
    "loss": None,  # nats por símbolo
    "token": None,  # acierto por símbolo
    "exact": None,  # proporción de copias enteras
    "sampled": None,  # probabilidad de que la primera salga entera, sorteando
}

# %% [markdown]
# ## 14.2 Puntuar lo escrito (★)


# %%
def exact_and_token(
    written: Int[Tensor, "batch w"], wanted: Int[Tensor, "batch m"], eos_id: int = 2
) -> tuple[float, float]:
    """La proporción de filas idénticas y la de sitios acertados, hasta el fin.

    Enunciado: ejercicio 14.2 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.2")


# %% [markdown]
# ## 14.3 Un sumador miope (★)
#
# Ejercicio 14.3: «458+367», «275+528», «199+099» o «354+645».

# %%
short_sighted = None

# %% [markdown]
# ## 14.4 Dónde se pierde la llevada


# %%
def errors_by_chain(
    pairs: Int[Tensor, "batch 2"], written: Int[Tensor, " batch"], digits: int
) -> Int[Tensor, "digits+1 2"]:
    """Cuántos lugares tienen cada cadena de llevadas, y cuántos de ellos están mal.

    Enunciado: ejercicio 14.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.4")


# %% [markdown]
# ## 14.5 Buscar la fuga


# %%
def leaked(train: list[str], test: list[str]) -> list[int]:
    """Los índices de las sumas de ``test`` que, columna a columna, ya estaban en ``train``.

    Enunciado: ejercicio 14.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.5")


# %% [markdown]
# ## 14.6 De la pizarra al prefijo


# %%
def to_prefix(text: str) -> str:
    """El orden prefijo de una expresión con prioridades y con los paréntesis que hagan falta.

    Enunciado: ejercicio 14.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.6")


# %% [markdown]
# ## 14.7 Los paréntesis justos


# %%
def to_infix(text: str) -> str:
    """La expresión de un orden prefijo, con los paréntesis imprescindibles.

    Enunciado: ejercicio 14.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.7")


# %% [markdown]
# ## 14.8 ¿Mira al suyo o a cualquiera?


# %%
def bracket_excess(weights: Float[Tensor, "heads n n"], text: str) -> Float[Tensor, " heads"]:
    """El peso en el paréntesis que cierra, menos la media de los puestos en los demás.

    Enunciado: ejercicio 14.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.8")


# %% [markdown]
# ## 14.9 Lo que dicen mil aciertos


# %%
def rate_interval(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """El intervalo de las tasas compatibles con ``hits`` aciertos de ``n``.

    Enunciado: ejercicio 14.9 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.9")


# %% [markdown]
# ## 14.10 Las llevadas, por capas


# %%
def carry_rounds(sums: Int[Tensor, " n"]) -> Int[Tensor, "rounds+1 n"]:
    """Si cada lugar lleva (1), no lleva (0) o duda (−1), al empezar y tras cada ronda.

    Enunciado: ejercicio 14.10 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.10")


# %% [markdown]
# ## 14.11 Hasta dónde hay que mirar


# %%
def exact_rate(digits: int, reach: int) -> float:
    """La proporción de sumas que escribe bien quien ve ``reach`` lugares a la derecha.

    Enunciado: ejercicio 14.11 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.11")


# %% [markdown]
# ## 14.12 Tapar, dejar solo


# %%
def hits_by_view(
    scores: Float[Tensor, "batch steps source"],
    values: Float[Tensor, "batch source vocab"],
    labels: Int[Tensor, "batch steps"],
    place: Int[Tensor, "batch steps"],
) -> Float[Tensor, " 3"]:
    """Los aciertos viéndolo todo, sin su sitio y con su sitio y nada más.

    Enunciado: ejercicio 14.12 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.12")
