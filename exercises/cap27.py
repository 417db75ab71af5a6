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
# # Capítulo 27. Sociedad
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 27` (o `atento calificar
# 27.1`).

# %%
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 27.1 El tamaño de efecto (★)


# %%
def association_effect(
    x: Float[Tensor, "n d_model"],
    y: Float[Tensor, "m d_model"],
    a: Float[Tensor, "p d_model"],
    b: Float[Tensor, "q d_model"],
) -> tuple[Float[Tensor, " words"], Float[Tensor, ""]]:
    """La asociación de cada palabra y el tamaño de efecto.

    Enunciado: ejercicio 27.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 27.1")


# %% [markdown]
# ## 27.2 Diez veces menos (★)
#
# Ejercicio 27.2: «se divide entre diez», «se divide entre cien», «no cambia» o «se hace cero».

# %%
shrunk = None


# %% [markdown]
# ## 27.3 Exposiciones con lápiz (★)
#
# Ejercicio 27.3: cambia cada `None` por tu número.

# %%
exposure_by_hand = {
    "first": None,  # exposición del primero
    "middle": None,  # exposición del que está en el puesto 32
    "rank": None,  # puesto del que tiene exposición 9
    "luck": None,  # parte de los no plantados con exposición de 8 o más
    "low": None,  # energía, en kWh, con lo menos que puede ser
    "high": None,  # y con lo más
}


# %% [markdown]
# ## 27.4 Todos los repartos (★★)


# %%
def exact_p(first: Float[Tensor, " n"], second: Float[Tensor, " m"]) -> tuple[float, float]:
    """La parte de los repartos que separa tanto, hacia ese lado y hacia cualquiera.

    Enunciado: ejercicio 27.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 27.4")


# %% [markdown]
# ## 27.5 Las tasas de cada grupo (★★)


# %%
def group_rates(
    deserves: Bool[Tensor, " n"], said: Bool[Tensor, " n"], group: Int[Tensor, " n"]
) -> tuple[Float[Tensor, "group 4"], Float[Tensor, " 4"]]:
    """Elegidos, VPP, FN y FP de cada grupo, y la mayor diferencia de cada tasa; en float64.

    Enunciado: ejercicio 27.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 27.5")


# %% [markdown]
# ## 27.6 Quitar la dirección de unas parejas (★★)


# %%
def remove_direction(
    x: Float[Tensor, "n d_model"],
    left: Float[Tensor, "pair d_model"],
    right: Float[Tensor, "pair d_model"],
) -> Float[Tensor, "n d_model"]:
    """Las filas, sin la dirección de las parejas y de longitud 1.

    Enunciado: ejercicio 27.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 27.6")


# %% [markdown]
# ## 27.7 Casi repetidos (★★★)


# %%
def near_duplicates(texts: list[list[int]], n: int, threshold: float) -> list[int]:
    """Los índices que quedan: el primero de cada grupo de casi repetidos.

    Enunciado: ejercicio 27.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 27.7")
