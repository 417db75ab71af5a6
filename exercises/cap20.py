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
# # Capítulo 20. Detectar y segmentar
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 20` (o `atento calificar
# 20.1`).

# %%
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 20.1 IoU y GIoU, a mano (★)
#
# Ejercicio 20.1: cambia cada `None` por tu número.

# %%
boxes_by_hand = {
    "shared": None,  # área que comparten A y B
    "iou": None,  # IoU de A y B
    "giou": None,  # GIoU de A y B
    "far": None,  # GIoU de A y C
    "farther": None,  # GIoU de A y D
}


# %% [markdown]
# ## 20.2 Una tabla de GIoU (★)


# %%
def giou_table(
    found: Float[Tensor, "batch n 4"], truth: Float[Tensor, "batch m 4"]
) -> Float[Tensor, "batch n m"]:
    """El GIoU de cada caja que se da con cada una de las que hay, imagen a imagen.

    Enunciado: ejercicio 20.2 del capítulo.
    """
    raise NotImplementedError("Ejercicio 20.2")


# %% [markdown]
# ## 20.3 Sin emparejar (★)
#
# Ejercicio 20.3: «cada una, su dígito»; «las dos, el mismo dígito»; «las dos, el punto medio», o
# «una, un dígito, y la otra, nada».

# %%
without_matching = None


# %% [markdown]
# ## 20.4 Lo que cuesta cada pareja


# %%
def assign_queries(
    logits: Float[Tensor, "query class"],
    boxes: Float[Tensor, "query 4"],
    labels: Int[Tensor, " object"],
    truth: Float[Tensor, "object 4"],
    *,
    weights: tuple[float, float, float] = (1.0, 5.0, 2.0),
) -> tuple[Float[Tensor, "query object"], Int[Tensor, " object"]]:
    """Lo que cuesta cada pareja, y la consulta de cada objeto en el reparto que menos cuesta.

    Enunciado: ejercicio 20.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 20.4")


# %% [markdown]
# ## 20.5 Precisión media


# %%
def average_precision(
    scores: Float[Tensor, " found"],
    images: Int[Tensor, " found"],
    boxes: Float[Tensor, "found 4"],
    truth_images: Int[Tensor, " object"],
    truth: Float[Tensor, "object 4"],
    *,
    threshold: float = 0.5,
) -> tuple[Bool[Tensor, " found"], float]:
    """Qué hallazgos aciertan, y la precisión media de todos.

    Enunciado: ejercicio 20.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 20.5")


# %% [markdown]
# ## 20.6 De cajas a palabras, y vuelta


# %%
def words_and_back(
    labels: Int[Tensor, " object"], boxes: Float[Tensor, "object 4"], *, bins: int, most: int
) -> tuple[Int[Tensor, " word"], Float[Tensor, "kept 4"]]:
    """Las palabras que dicen unos objetos, y las cajas que se leen en ellas.

    Enunciado: ejercicio 20.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 20.6")


# %% [markdown]
# ## 20.7 Dice y focal


# %%
def mask_losses(
    logits: Float[Tensor, "mask pixel"],
    masks: Bool[Tensor, "mask pixel"],
    *,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> tuple[Float[Tensor, " mask"], Float[Tensor, " mask"]]:
    """La pérdida de Dice y la focal de cada máscara.

    Enunciado: ejercicio 20.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 20.7")


# %% [markdown]
# ## 20.8 Un mapa sin solapes


# %%
def fuse(
    logits: Float[Tensor, "query class"],
    masks: Float[Tensor, "query row column"],
    *,
    things: int,
    least: float = 0.7,
    overlap: float = 0.8,
) -> tuple[Int[Tensor, "row column"], Int[Tensor, " part"]]:
    """De qué trozo es cada píxel, y la clase de cada trozo.

    Enunciado: ejercicio 20.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 20.8")
