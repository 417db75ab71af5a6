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
# # Capítulo 19. ViT: leer imágenes
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 19` (o `atento calificar
# 19.1`).

# %%
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 19.1 De la imagen a las filas (★)


# %%
def patchify(
    images: Float[Tensor, "batch channel height width"], patch_size: int
) -> Float[Tensor, "batch n pixels"]:
    """Los parches de cada imagen, en fila, con los canales de cada píxel juntos.

    Enunciado: ejercicio 19.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 19.1")


# %% [markdown]
# ## 19.2 Contar antes de entrenar (★)
#
# Ejercicio 19.2: cambia cada `None` por tu número.

# %%
patches_by_hand = {
    "tokens": None,  # filas que entran en la pila
    "project": None,  # parámetros de la proyección
    "positions": None,  # números de la tabla de posiciones
    "pairs": None,  # parejas que puntúa una cabeza, con la imagen al doble
    "finer": None,  # parámetros de la proyección con parches de 4 × 4
}


# %% [markdown]
# ## 19.3 Tres imágenes movidas (★)
#
# Ejercicio 19.3: «ninguno», «solo el píxel», «el píxel y la baraja» o «los tres».

# %%
moved = None


# %% [markdown]
# ## 19.4 Senos en dos dimensiones


# %%
def grid_sinusoids(
    rows: int, columns: int, d_model: int, *, added: int = 1, base: float = 10000.0
) -> Float[Tensor, "n d_model"]:
    """Posiciones de senos de una rejilla: media anchura para la fila y media para la columna.

    Enunciado: ejercicio 19.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 19.4")


# %% [markdown]
# ## 19.5 Las mismas posiciones en otra rejilla


# %%
def resize_positions(
    table: Float[Tensor, "n d_model"],
    old: tuple[int, int],
    new: tuple[int, int],
    *,
    added: int = 1,
) -> Float[Tensor, "m d_model"]:
    """La tabla de posiciones de una rejilla, llevada a otra por interpolación bilineal.

    Enunciado: ejercicio 19.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 19.5")


# %% [markdown]
# ## 19.6 Ventanas desplazadas


# %%
def shifted_windows(
    x: Float[Tensor, "height width d_model"], window: int, shift: int
) -> tuple[Float[Tensor, "group n d_model"], Bool[Tensor, "group n n"]]:
    """Las ventanas de la imagen corrida y, en cada una, quién puede mirar a quién.

    Enunciado: ejercicio 19.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 19.6")


# %% [markdown]
# ## 19.7 Aprender de una maestra


# %%
def deit_loss(
    classes: Float[Tensor, "batch class"],
    imitates: Float[Tensor, "batch class"],
    teacher: Float[Tensor, "batch class"],
    labels: Int[Tensor, " batch"],
    *,
    weight: float = 0.5,
    temperature: float | None = None,
) -> Float[Tensor, ""]:
    """La pérdida de un ViT destilado, con la maestra dura o, si hay temperatura, blanda.

    Enunciado: ejercicio 19.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 19.7")


# %% [markdown]
# ## 19.8 Hasta dónde alcanza


# %%
def seen_patches(
    rows: int, columns: int, window: int, layers: list[str], at: tuple[int, int]
) -> Bool[Tensor, "rows columns"]:
    """Los parches de la entrada de los que depende una posición de la salida.

    Enunciado: ejercicio 19.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 19.8")
