"""Escenas: de uno a cuatro dígitos en un lienzo de 40 × 40, y todo lo que se puede decir de ellas.

Los dígitos son los de :mod:`atento.tasks.digits`, agrandados hasta 10, 12 o 14 píxeles y puestos
sin que se toquen sus recuadros. De cada escena se sabe qué hay y dónde de cuatro maneras: las
cajas, la clase de cada píxel (semántica), los píxeles de cada objeto (instancias) y las dos cosas a
la vez (panóptica). Un píxel es de un objeto si tiene al menos un tercio de la tinta posible, y la
caja es la menor que los abraza.

Los dígitos de las escenas de prueba no salen en las de entrenamiento.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from atento.checks import scenes as checks
from atento.shapes import typed
from atento.tasks import digits
from atento.tasks.translation.sentences import python_rng

SIDE = 40
"""El lado del lienzo, en píxeles."""

MOST = 4
"""Cuántos dígitos hay como mucho."""

SIZES = range(10, 15, 2)
"""Los lados con que puede salir un dígito, en píxeles."""

BACKGROUND = digits.CLASSES
"""El número del fondo entre las clases, que va detrás de los dígitos."""

VISIBLE = 1 / 3
"""La tinta con que un píxel es del objeto."""


class Objects(NamedTuple):
    """Lo que hay en una imagen: la clase de cada objeto, (object,), y su caja, (object, 4).

    Las cajas son esquinas, ``(x0, y0, x1, y1)``, en fracciones de la imagen.
    """

    labels: Int[Tensor, " object"]
    boxes: Float[Tensor, "object 4"]


class Parts(NamedTuple):
    """Los trozos de una imagen: la clase de cada uno, (part,), su caja, (part, 4), y sus píxeles,
    (part, 40, 40).

    El primero es el fondo, con toda la imagen por caja, y después van los objetos.
    """

    labels: Int[Tensor, " part"]
    boxes: Float[Tensor, "part 4"]
    masks: Bool[Tensor, "part 40 40"]


class Panoptic(NamedTuple):
    """Un mapa panóptico: de qué trozo es cada píxel, (40, 40), y la clase de cada trozo, (part,).

    El trozo 0 es el fondo, y el ``i + 1``, el objeto ``i``.
    """

    ids: Int[Tensor, "row column"]
    classes: Int[Tensor, " part"]


@dataclass(frozen=True)
class Scene:
    """Una escena y lo que se sabe de ella.

    ``image``, (40, 40), es la tinta de cada píxel, de 0 a 1; ``labels`` y ``boxes``, como en
    :class:`Objects`; ``ids``, (40, 40), dice de qué objeto es cada píxel: 0 es el fondo, y
    ``i + 1``, el objeto ``i``.

    Errores: ``TypeError`` o ``ValueError`` si no son eso.
    """

    image: Float[Tensor, "40 40"]
    labels: Int[Tensor, " object"]
    boxes: Float[Tensor, "object 4"]
    ids: Int[Tensor, "40 40"]

    def __post_init__(self) -> None:
        checks.fields(self)

    @property
    def objects(self) -> Objects:
        """Qué hay y en qué cajas."""
        return Objects(self.labels, self.boxes)

    @property
    def masks(self) -> Bool[Tensor, "object 40 40"]:
        """Los píxeles de cada objeto: la segmentación de instancias."""
        return self.ids == torch.arange(1, len(self.labels) + 1)[:, None, None]

    @property
    def semantic(self) -> Int[Tensor, "40 40"]:
        """La clase de cada píxel; la del fondo es ``BACKGROUND``."""
        return self.panoptic.classes[self.ids]

    @property
    def panoptic(self) -> Panoptic:
        """De qué trozo es cada píxel y de qué clase es cada trozo."""
        return Panoptic(self.ids, torch.cat([torch.tensor([BACKGROUND]), self.labels]))

    @property
    def parts(self) -> Parts:
        """Lo mismo que :attr:`panoptic`, trozo a trozo y con sus cajas."""
        whole = self.boxes.new_tensor([[0.0, 0.0, 1.0, 1.0]])
        masks = torch.cat([self.ids[None] == 0, self.masks])
        return Parts(self.panoptic.classes, torch.cat([whole, self.boxes]), masks)


# --- Hacer escenas --------------------------------------------------------------------------------


@typed(validate=checks.generate)
def generate(
    n: int,
    rng: torch.Generator | int,
    *,
    split: str = "train",
    counts: int | Sequence[int] = range(1, MOST + 1),
) -> list[Scene]:
    """Genera ``n`` escenas; con la misma semilla, las mismas.

    ``split`` dice de qué parte de :func:`atento.tasks.digits.split` salen los dígitos: «train»,
    «validation» o «test». ``counts`` es cuántos hay, o las opciones entre las que se sortea.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0, ``counts`` no está entre 1
    y 4, ``split`` no es una de las tres o ``rng`` no es un generador ni un entero.
    """
    source, stamps = python_rng(rng), _stamps(split)
    options = [counts] if isinstance(counts, int) else [*counts]
    return [_scene(source.choice(options), source, stamps) for _ in range(n)]


class _Stamp(NamedTuple):
    """Un dígito ya agrandado: su tinta y sus píxeles, recortados a su caja, y qué dígito es."""

    ink: Tensor
    mask: Tensor
    label: int


@cache
def _stamps(split: str) -> list[list[_Stamp]]:
    """Cada dígito de una parte en cada tamaño."""
    whole, places = digits.load(), digits.places(split)
    part = whole.chosen(places)
    by_size = [_grown(part.images, size) for size in SIZES]  # (n, size, size) cada uno
    return [
        [_cut(images[i], int(label)) for images in by_size] for i, label in enumerate(part.labels)
    ]


def _grown(images: Tensor, size: int) -> Tensor:
    options = {"mode": "bilinear", "align_corners": False}
    return F.interpolate(images[:, None], size=(size, size), **options)[:, 0].clamp(0, 1)


def _cut(image: Tensor, label: int) -> _Stamp:
    mask = image >= VISIBLE
    rows, columns = mask.any(dim=1).nonzero().flatten(), mask.any(dim=0).nonzero().flatten()
    where = slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
    return _Stamp(image[where], mask[where], label)


def _scene(count: int, source: random.Random, stamps: list[list[_Stamp]]) -> Scene:
    """Una escena con ``count`` dígitos que no se tocan; si no caben como han caído, otra vez."""
    while True:
        chosen = [source.choice(source.choice(stamps)) for _ in range(count)]
        boxes: list[tuple[int, int, int, int]] = []
        for stamp in chosen:
            height, width = stamp.ink.shape
            x, y = source.randrange(SIDE - width + 1), source.randrange(SIDE - height + 1)
            boxes.append((x, y, x + width, y + height))
        if not any(_touch(a, b) for i, a in enumerate(boxes) for b in boxes[:i]):
            return _pasted(chosen, boxes)


def _touch(a: Sequence[int], b: Sequence[int]) -> bool:
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]


def _pasted(chosen: list[_Stamp], boxes: list[tuple[int, int, int, int]]) -> Scene:
    image, ids = torch.zeros(SIDE, SIDE), torch.zeros(SIDE, SIDE, dtype=torch.long)
    for i, (stamp, (x0, y0, x1, y1)) in enumerate(zip(chosen, boxes, strict=True)):
        image[y0:y1, x0:x1] = stamp.ink
        ids[y0:y1, x0:x1] = stamp.mask * (i + 1)
    labels = torch.tensor([stamp.label for stamp in chosen])
    return Scene(image, labels, torch.tensor(boxes) / SIDE, ids)


# --- Lotes ----------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Un lote: las imágenes, (batch, 1, 40, 40), y lo que hay en cada una."""

    images: Float[Tensor, "batch 1 40 40"]
    targets: list[Objects]


@typed(validate=checks.batch)
def batch(scenes: Sequence[Scene]) -> Batch:
    """Las escenas como las lee un detector.

    Errores: ``TypeError`` o ``ValueError`` si ``scenes`` no son escenas o no hay ninguna.
    """
    images = torch.stack([scene.image for scene in scenes])[:, None]  # (batch, 1, 40, 40)
    return Batch(images, [scene.objects for scene in scenes])
