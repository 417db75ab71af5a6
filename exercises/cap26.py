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
# # Capítulo 26. Escalar
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 26` (o `atento calificar
# 26.1`).

# %%
import torch
from jaxtyping import Float, Int
from torch import Tensor

# %% [markdown]
# ## 26.1 El presupuesto de un entrenamiento (★)
#
# Ejercicio 26.1: cambia cada `None` por tu número.

# %%
budget_by_hand = {
    "parameters": None,  # cuántos parámetros
    "flops": None,  # FLOP de todo el entrenamiento
    "state": None,  # bytes de pesos, gradientes y momentos
    "tables": None,  # bytes de los pesos de atención
    "seconds": None,  # segundos que tarda
}


# %% [markdown]
# ## 26.2 Juntar lo que dice cada proceso (★)


# %%
def join_processes(
    losses: Float[Tensor, " process"],
    gradients: list[list[Tensor]],
    counts: Int[Tensor, " process"],
) -> tuple[Float[Tensor, ""], list[Tensor]]:
    """La pérdida media del lote entero, y su gradiente, un tensor por parámetro.

    Enunciado: ejercicio 26.2 del capítulo.
    """
    raise NotImplementedError("Ejercicio 26.2")


# %% [markdown]
# ## 26.3 Cuántos bytes le tocan a cada proceso (★)


# %%
def bytes_per_process(parameters: int, processes: int, stage: int, half: bool) -> list[int]:
    """Los bytes de los pesos, de los gradientes y de lo que guarda el optimizador.

    Enunciado: ejercicio 26.3 del capítulo.
    """
    raise NotImplementedError("Ejercicio 26.3")


# %% [markdown]
# ## 26.4 El anillo, paso a paso


# %%
def ring_states(
    values: Float[Tensor, "process length"],
) -> tuple[Float[Tensor, "step process length"], Int[Tensor, " process"]]:
    """Lo que tienen todos tras cada paso de la reducción, y cuántos números manda cada uno.

    Enunciado: ejercicio 26.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 26.4")


# %% [markdown]
# ## 26.5 Una red con puerta, partida


# %%
def split_ffn(
    x: Float[Tensor, "n d_model"],
    first: Float[Tensor, "d_model two_d_ff"],
    first_bias: Float[Tensor, " two_d_ff"],
    second: Float[Tensor, "d_ff d_model"],
    second_bias: Float[Tensor, " d_model"],
    processes: int,
) -> Float[Tensor, "process n d_model"]:
    """Lo que pone cada proceso en la única suma de una red SwiGLU partida.

    Enunciado: ejercicio 26.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 26.5")


# %% [markdown]
# ## 26.6 Un entrenamiento con fallos


# %%
def time_with_failures(
    work: int, every: int, save: int, restart: int, failures: list[float]
) -> tuple[float, float]:
    """La hora de reloj a la que acaba y las horas de trabajo que hubo que repetir.

    Enunciado: ejercicio 26.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 26.6")


# %% [markdown]
# ## 26.7 El calendario de una tubería


# %%
def pipeline_table(
    orders: list[list[int]], backward: int
) -> tuple[Int[Tensor, "stage time"], float]:
    """Qué hace cada etapa en cada instante, y la parte de la tabla en que están paradas.

    Enunciado: ejercicio 26.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 26.7")


# %% [markdown]
# ## 26.8 Qué capas van en cada etapa


# %%
def split_layers(
    times: list[int], weights: list[int], activations: list[int], stages: int, limit: int
) -> tuple[int, list[int]]:
    """El menor tiempo posible de la etapa más lenta y cuántas capas lleva cada una.

    Enunciado: ejercicio 26.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 26.8")
