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
# # Capítulo 19. ViT: leer imágenes: soluciones

# %%
import math

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 19.1 De la imagen a las filas
#
# Se recorta lo que sobra, se parte cada eje en (parche, píxel) y se ordenan los seis ejes: delante,
# los dos que dicen qué parche es; detrás, los dos que dicen qué píxel y, el último, el canal.
# Ninguna cuenta cambia un número de sitio si no se le dice: lo difícil es el orden.


# %%
def patchify(
    images: Float[Tensor, "batch channel height width"], patch_size: int
) -> Float[Tensor, "batch n pixels"]:
    """Los parches de cada imagen, en fila, con los canales de cada píxel juntos."""
    p = patch_size
    rows, columns = images.shape[2] // p, images.shape[3] // p
    whole = images[:, :, : rows * p, : columns * p]
    return rearrange(whole, "b c (i p) (j q) -> b (i j) (p q c)", p=p, q=p)


# %% [markdown]
# ## 19.2 Contar antes de entrenar
#
# Hay 12 × 8 = 96 parches y la fila que resume. Un parche son 8 · 8 · 3 = 192 números, y la
# proyección tiene 192 · 128 pesos y 128 sesgos. Al doblar los dos lados hay cuatro veces más
# parches, 384, y las parejas son $385^2$: casi dieciséis veces más. La proyección no depende de la
# imagen, solo del parche.


# %%
def patches_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    height, width, channels, patch, d = 96, 64, 3, 8, 128
    n = (height // patch) * (width // patch)
    double = (2 * height // patch) * (2 * width // patch)
    return {
        "tokens": n + 1,
        "project": channels * patch**2 * d + d,
        "positions": (n + 1) * d,
        "pairs": (double + 1) ** 2,
        "finer": channels * (patch // 2) ** 2 * d + d,
    }


# %% [markdown]
# ## 19.3 Tres imágenes movidas
#
# Sin posiciones, la pila no sabe en qué sitio está cada fila, y la media tampoco. Correr un parche
# con vuelta y barajar los parches son lo mismo para ella: las mismas filas en otro orden. Correr un
# píxel cambia lo que hay **dentro** de cada parche, que son otras filas. Que no le importe correr
# un parche no es una virtud: tampoco le importa la imagen hecha pedazos.


# %%
def moved() -> str:
    """La respuesta, con una capa de atención sin posiciones y la media."""
    rng = torch.Generator().manual_seed(0)
    image, weight = torch.randn(8, 8, generator=rng), torch.randn(4, 4, generator=rng)

    def rows(image: Tensor) -> Tensor:
        return rearrange(image, "(i p) (j q) -> (i j) (p q)", p=2, q=2)

    def answer(x: Tensor) -> Tensor:
        return ((x @ weight @ x.T).softmax(dim=-1) @ x).mean(dim=0)

    right = answer(rows(image))
    shuffled = rows(image)[torch.randperm(16, generator=rng)]
    changed = {
        "parche": answer(rows(image.roll(2, dims=1))),
        "píxel": answer(rows(image.roll(1, dims=1))),
        "baraja": answer(shuffled),
    }
    moves = {name for name, out in changed.items() if not torch.allclose(out, right, atol=1e-5)}
    names = {0: "ninguno", 1: "solo el píxel", 2: "el píxel y la baraja", 3: "los tres"}
    return names[len(moves)]


# %% [markdown]
# ## 19.4 Senos en dos dimensiones
#
# Cada eje tiene su código de una dimensión, de anchura `d_model / 2`, y se ponen uno detrás del
# otro. El producto de dos posiciones es entonces una suma de dos: lo que dice la distancia en filas
# y lo que dice la distancia en columnas.


# %%
def grid_sinusoids(
    rows: int, columns: int, d_model: int, *, added: int = 1, base: float = 10000.0
) -> Float[Tensor, "n d_model"]:
    """Posiciones de senos de una rejilla: media anchura para la fila y media para la columna."""
    half = d_model // 2
    omega = base ** (-torch.arange(0, half, 2, dtype=torch.float64) / half)

    def code(places: Tensor) -> Tensor:
        angle = places[:, None] * omega  # (n, half / 2)
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)

    place = torch.arange(rows * columns)
    grid = torch.cat([code(place // columns), code(place % columns)], dim=1)
    return torch.cat([grid.new_zeros(added, d_model), grid])


# %% [markdown]
# ## 19.5 Las mismas posiciones en otra rejilla
#
# Interpolar en dos ejes es multiplicar por una matriz en cada uno: la de las filas, de
# (nuevas × viejas), con dos números que suman 1 en cada fila. Las filas añadidas no están en la
# rejilla y pasan tal cual. El medio píxel se suma y se resta porque un parche se señala por su
# centro.


# %%
def resize_positions(
    table: Float[Tensor, "n d_model"],
    old: tuple[int, int],
    new: tuple[int, int],
    *,
    added: int = 1,
) -> Float[Tensor, "m d_model"]:
    """La tabla de posiciones de una rejilla, llevada a otra por interpolación bilineal."""

    def mix(before: int, after: int) -> Tensor:
        """(after, before): cuánto pone cada vieja en cada nueva."""
        weights = table.new_zeros(after, before)
        for i in range(after):
            place = (i + 0.5) * before / after - 0.5
            place = min(max(place, 0.0), before - 1.0)
            low = math.floor(place)
            high = min(low + 1, before - 1)
            weights[i, low] += low + 1 - place
            weights[i, high] += place - low
        return weights

    front, grid = table[:added], table[added:].reshape(*old, -1)
    rows, columns = mix(old[0], new[0]), mix(old[1], new[1])
    resized = torch.einsum("ri,cj,ijd->rcd", rows, columns, grid)
    return torch.cat([front, resized.flatten(0, 1)])


# %% [markdown]
# ## 19.6 Ventanas desplazadas
#
# Al correr la imagen, lo que sale por arriba entra por abajo. Dos posiciones de una ventana se
# miran si las dos han dado la vuelta o no la ha dado ninguna, en las filas y en las columnas: así,
# las ventanas que mezclan bordes opuestos quedan partidas en dos o en cuatro.


# %%
def shifted_windows(
    x: Float[Tensor, "height width d_model"], window: int, shift: int
) -> tuple[Float[Tensor, "group n d_model"], Bool[Tensor, "group n n"]]:
    """Las ventanas de la imagen corrida y, en cada una, quién puede mirar a quién."""
    height, width = x.shape[:2]

    def split(image: Tensor) -> Tensor:
        return rearrange(image, "(i p) (j q) d -> (i j) (p q) d", p=window, q=window)

    around_rows = torch.arange(height) >= height - shift
    around_columns = torch.arange(width) >= width - shift
    around = torch.stack(torch.meshgrid(around_rows, around_columns, indexing="ij"), dim=-1)
    labels = split(around)
    mask = (labels[:, :, None] == labels[:, None, :]).all(dim=-1)
    return split(x.roll((-shift, -shift), dims=(0, 1))), mask


# %% [markdown]
# ## 19.7 Aprender de una maestra
#
# La cabeza de las clases aprende las etiquetas; la otra, lo que dice la maestra. La dura da una
# clase por imagen. La blanda da un reparto, y $\tau^2$ devuelve a los gradientes el tamaño que
# pierden al dividir entre $\tau$ dos veces.


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
    """La pérdida de un ViT destilado, con la maestra dura o, si hay temperatura, blanda."""

    def against(scores: Tensor, target: Tensor) -> Tensor:
        surprise = -scores.log_softmax(dim=-1)
        return surprise.gather(1, target[:, None]).mean()

    told = teacher.detach()
    if temperature is None:
        imitation = against(imitates, told.argmax(dim=-1))
    else:
        wanted = (told / temperature).log_softmax(dim=-1)
        given = (imitates / temperature).log_softmax(dim=-1)
        gap = (wanted.exp() * (wanted - given)).sum(dim=-1).mean()
        imitation = temperature**2 * gap
    return (1 - weight) * against(classes, labels) + weight * imitation


# %% [markdown]
# ## 19.8 Hasta dónde alcanza
#
# Se empieza por el final, en la posición que se pregunta, y se retrocede: cada capa de ventanas
# alarga el tramo hasta los bordes de las ventanas que toca, y cada fusión lo dobla. Filas y
# columnas van por separado, y siempre es un tramo seguido: bastan sus dos extremos.


# %%
def seen_patches(
    rows: int, columns: int, window: int, layers: list[str], at: tuple[int, int]
) -> Bool[Tensor, "rows columns"]:
    """Los parches de la entrada de los que depende una posición de la salida."""

    def reach(size: int, place: int) -> Tensor:
        """(size,): los sitios de un eje que llegan a uno de la salida."""
        size = size // 2 ** layers.count("merge")
        first, last = place, place
        for layer in reversed(layers):
            if layer == "merge":
                size, first, last = 2 * size, 2 * first, 2 * last + 1
                continue
            shift = window // 2 if layer == "shifted" and size > window else 0
            first = (first - shift) // window * window + shift
            last = (last - shift) // window * window + shift + window - 1
            first, last = max(first, 0), min(last, size - 1)
        places = torch.arange(size)
        return (first <= places) & (places <= last)

    return reach(rows, at[0])[:, None] & reach(columns, at[1])
