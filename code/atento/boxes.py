"""Piso 5: cajas en una imagen; cuánto se solapan y cómo se emparejan con lo que hay.

Una caja son cuatro números: sus esquinas, ``(x0, y0, x1, y1)``, con ``x0 ≤ x1`` e ``y0 ≤ y1``, o
su centro, su ancho y su alto, ``(cx, cy, w, h)``. Las unidades son las que se quieran, las mismas
para todas; DETR usa fracciones de la imagen. Lo que no dice otra cosa recibe esquinas.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from atento.checks import boxes as checks
from atento.shapes import typed

# --- Dos maneras de decir una caja ----------------------------------------------------------------


@typed(validate=checks.boxes)
def to_corners(boxes: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 4"]:
    """De ``(cx, cy, w, h)`` a ``(x0, y0, x1, y1)``.

    Errores: ``TypeError`` o ``ValueError`` si ``boxes`` no es (…, 4) de coma flotante.
    """
    center, size = boxes.split(2, dim=-1)  # (…, 2)
    return torch.cat([center - size / 2, center + size / 2], dim=-1)


@typed(validate=checks.boxes)
def to_center(boxes: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 4"]:
    """De ``(x0, y0, x1, y1)`` a ``(cx, cy, w, h)``.

    Errores: ``TypeError`` o ``ValueError`` si ``boxes`` no es (…, 4) de coma flotante.
    """
    low, high = boxes.split(2, dim=-1)  # (…, 2)
    return torch.cat([(low + high) / 2, high - low], dim=-1)


@typed(validate=checks.corners)
def area(boxes: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch"]:
    """El área de cada caja, en unidades al cuadrado.

    Errores: ``TypeError`` o ``ValueError`` si ``boxes`` no son esquinas, (…, 4), en orden.
    """
    return (boxes[..., 2:] - boxes[..., :2]).prod(dim=-1)


# --- Cuánto se solapan ----------------------------------------------------------------------------


class _Overlap(NamedTuple):
    shared: Tensor
    union: Tensor


@typed(validate=checks.pairs)
def iou(a: Float[Tensor, "n 4"], b: Float[Tensor, "m 4"]) -> Float[Tensor, "n m"]:
    """Lo que comparten dos cajas, de lo que ocupan entre las dos: de 0 (nada) a 1 (son la misma).

    Dos cajas sin área, como dos puntos, dan 0.

    Errores: ``TypeError`` o ``ValueError`` si ``a`` o ``b`` no son esquinas, (n, 4) y (m, 4).
    Fuente: Everingham et al. (2010), § 4.2, ec. 4.
    """
    shared, union = _overlap(a, b)
    return _ratio(shared, union)


@typed(validate=checks.pairs)
def giou(a: Float[Tensor, "n 4"], b: Float[Tensor, "m 4"]) -> Float[Tensor, "n m"]:
    """El IoU menos la parte de la caja que las envuelve que ninguna de las dos ocupa: de −1 a 1.

    Si no se tocan, crece al acercarse, y tiene gradiente donde el del IoU es 0.

    Errores: los de :func:`iou`.
    Fuente: Rezatofighi et al. (2019), algoritmo 1.
    """
    shared, union = _overlap(a, b)
    low = torch.minimum(a[:, None, :2], b[None, :, :2])  # (n, m, 2)
    high = torch.maximum(a[:, None, 2:], b[None, :, 2:])
    hull = (high - low).prod(dim=-1)  # (n, m)
    return _ratio(shared, union) - _ratio(hull - union, hull)


def _overlap(a: Tensor, b: Tensor) -> _Overlap:
    """El área de la intersección y la de la unión de cada pareja, (n, m)."""
    low = torch.maximum(a[:, None, :2], b[None, :, :2])  # (n, m, 2)
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(dim=-1)  # (n, m)
    return _Overlap(shared, area(a)[:, None] + area(b)[None] - shared)


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    """``part / whole``, y 0 donde no hay de qué."""
    empty = whole <= 0
    return torch.where(empty, 0.0, part / whole.masked_fill(empty, 1.0))


# --- Emparejar ------------------------------------------------------------------------------------


class Match(NamedTuple):
    """Qué filas se quedan con qué columnas, en orden de fila, (pairs,) cada una."""

    rows: Int[Tensor, " pairs"]
    columns: Int[Tensor, " pairs"]


@typed(validate=checks.match)
def match(cost: Float[Tensor, "n m"]) -> Match:
    """El emparejamiento uno a uno que menos cuesta en total, con tantas parejas como quepan.

    Con ``cost`` (n, m), son ``min(n, m)``: en DETR, cada objeto se queda con una consulta y sobran
    consultas. No pasa el gradiente: elegir no se deriva.

    Errores: ``TypeError`` o ``ValueError`` si ``cost`` no es (n, m) de coma flotante y finito.
    Fuente: Kuhn (1955), el método húngaro; Crouse (2016), el algoritmo de scipy.
    """
    rows, columns = linear_sum_assignment(cost.detach().cpu().double().numpy())
    return Match(*(torch.as_tensor(x, device=cost.device) for x in (rows, columns)))
