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
# # Capítulo 25. Mirar dentro
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 25` (o `atento calificar
# 25.1`).

# %%
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 25.1 ¿Es de inducción? (★)


# %%
def induction_score(
    weights: Float[Tensor, "head query key"], ids: Int[Tensor, " n"]
) -> Float[Tensor, " head"]:
    """Qué parte de su atención pone cada cabeza en lo que siguió a las apariciones anteriores.

    Enunciado: ejercicio 25.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 25.1")


# %% [markdown]
# ## 25.2 Quitar una cabeza, a cero y a su media (★)
#
# Ejercicio 25.2: cambia cada `None` por tu número.

# %%
ablation_by_hand = {
    "writes": None,  # lo que suma A a la puntuación
    "zero": None,  # aciertos con A a cero
    "mean": None,  # aciertos con A en su media
    "score": None,  # puntuación de los ejemplos con B en su media
    "hits": None,  # aciertos con B en su media
}


# %% [markdown]
# ## 25.3 Lo que está y lo que se usa (★)
#
# Ejercicio 25.3: «ninguno», «solo la sonda», «el borrado y el parche» o «los tres».

# %%
tells_apart = None


# %% [markdown]
# ## 25.4 La lente, y desde dónde está decidido


# %%
def lens(
    states: Float[Tensor, "depth n d_model"],
    gain: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"],
    table: Float[Tensor, "vocab d_model"],
    *,
    eps: float = 1e-5,
) -> tuple[Float[Tensor, "depth n vocab"], Int[Tensor, " n"]]:
    """Lo que diría el modelo si parase a cada altura, y la altura desde la que ya no cambia.

    Enunciado: ejercicio 25.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 25.4")


# %% [markdown]
# ## 25.5 Una sonda y su control


# %%
def selectivity(
    states: Float[Tensor, "n d_model"],
    labels: Int[Tensor, " n"],
    types: Int[Tensor, " n"],
    control: Int[Tensor, " word"],
    train: Bool[Tensor, " n"],
) -> tuple[Float[Tensor, "task test class"], float]:
    """Las puntuaciones de la sonda y de su control, en las filas apartadas, y la selectividad.

    Enunciado: ejercicio 25.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 25.5")


# %% [markdown]
# ## 25.6 Borrar direcciones


# %%
def erase(
    x: Float[Tensor, "n d_model"],
    directions: Float[Tensor, "k d_model"],
    *,
    mean: Float[Tensor, " d_model"] | None = None,
) -> Float[Tensor, "n d_model"]:
    """Los vectores sin lo que va por esas direcciones, o con lo que lleva la media.

    Enunciado: ejercicio 25.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 25.6")


# %% [markdown]
# ## 25.7 El mapa de parches


# %%
def patch_map(
    clean: Float[Tensor, "n d_model"],
    corrupted: Float[Tensor, "n d_model"],
    mixes: Float[Tensor, "layer n n"],
    weights: Float[Tensor, "layer d_model d_model"],
    read: Float[Tensor, " d_model"],
) -> Float[Tensor, "depth n"]:
    """Qué parte de la diferencia vuelve al parchear cada altura y cada posición.

    Enunciado: ejercicio 25.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 25.7")


# %% [markdown]
# ## 25.8 Otro mapa, la misma salida


# %%
def same_output(
    weights: Float[Tensor, "query key"],
    values: Float[Tensor, "key d_model"],
    toward: Float[Tensor, "query key"],
) -> Float[Tensor, "query key"]:
    """Otro mapa de atención con la misma salida, llevado hacia el que se pida.

    Enunciado: ejercicio 25.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 25.8")
