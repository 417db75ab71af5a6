"""Mover dígitos en un lienzo y ver qué consulta de DETR se queda con cada uno, y cuánto cuesta."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Unpack

import torch
from torch import Tensor

from atento.boxes import giou, match, to_center, to_corners
from atento.models.detr import Detections, Detr, matching_cost
from atento.tasks.scenes import MOST, SIDE, Scene
from figuras.explorers.base import Texts, check_count, check_kind, number, static_table
from figuras.explorers.live import LiveExplorer

__all__ = ["ClaimsExplorer", "Placed", "claims"]

_LETTERS = "ABCD"
_TONES = 0xFFF  # la tinta viaja en tres cifras hexadecimales
_SURE = 0.5


class Stamp(NamedTuple):
    """Un dígito recortado: cuál es y su tinta, (alto, ancho), de 0 a 4095."""

    label: int
    ink: Tensor


class Placed(NamedTuple):
    """Un dígito en el lienzo: qué recorte es y en qué píxel empieza."""

    stamp: int
    x: int
    y: int


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClaimsExplorer(LiveExplorer):
    """El lienzo de los dígitos que se mueven. Se construye con :func:`claims`."""

    kind: ClassVar[str] = "claims"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "drag", "file")
    scripts: ClassVar[tuple[str, ...]] = ("transformer", "detr", "boxes")
    model: Detr
    stamps: tuple[Stamp, ...]
    start: tuple[Placed, ...]
    title: str = "Mueve los dígitos y mira de quién son"
    question: str | None = "¿Cuándo cambia de dueño un dígito?"
    name: str = "reparto"

    def draw(self, objects: Sequence[tuple[int, int, int]]) -> tuple[Tensor, Tensor, Tensor]:
        """El lienzo con esos dígitos, (40, 40), sus clases, (object,), y sus cajas, (object, 4).

        Cada uno es qué recorte y dónde empieza. Si dos se pisan, queda la tinta mayor.
        """
        image, boxes = torch.zeros(SIDE, SIDE, dtype=torch.float64), []
        for stamp, x, y in objects:
            ink = self.stamps[stamp].ink.double() / _TONES
            height, width = ink.shape
            under = image[y : y + height, x : x + width]
            under.copy_(torch.maximum(under, ink))
            boxes.append([x, y, x + width, y + height])
        labels = torch.tensor([self.stamps[stamp].label for stamp, _, _ in objects])
        return image, labels, torch.tensor(boxes, dtype=torch.float64) / SIDE

    def compute(self, objects: Sequence[tuple[int, int, int]]) -> dict[str, Tensor]:
        """Lo que contesta el modelo a esos dígitos, con los pesos de la página y 64 bits.

        ``probs`` (query, class) y ``boxes`` (query, 4), como las da el modelo; ``costs`` (query,
        object), lo que cuesta cada pareja; ``parts`` (query, object, 3), de qué se compone: la
        clase, la distancia L1 y el GIoU, ya pesados; ``owners`` (object,), qué consulta se queda
        con cada objeto en el reparto que menos cuesta.
        """
        image, labels, wanted = self.draw(objects)
        model, c = self._exact, self.model.config
        with torch.no_grad():
            found = model(image[None, None])
            costs = matching_cost(Detections(*found), labels, wanted, c)[0]
            probs, boxes = found.logits[0].softmax(dim=-1), found.boxes[0]
            apart = torch.cdist(boxes, to_center(wanted), p=1)
            overlap = giou(to_corners(boxes), wanted)
        chance = -c.class_cost * probs[:, labels]
        parts = torch.stack([chance, c.l1_weight * apart, -c.giou_weight * overlap], dim=-1)
        rows, columns = match(costs)
        owners = rows[columns.argsort()]
        return {"probs": probs, "boxes": boxes, "costs": costs, "parts": parts, "owners": owners}

    def relevant(self, found: dict[str, Tensor]) -> list[int]:
        """Las consultas que se enseñan: las que contestan algo, las que se quedan con un objeto y
        las dos más baratas de cada uno.

        ``found`` es lo de :meth:`compute`: ``probs`` (query, class), ``costs`` (query, object) y
        ``owners`` (object,).
        """
        answers = (found["probs"][:, :-1].amax(dim=1) > _SURE).nonzero().flatten().tolist()
        cheap = found["costs"].argsort(dim=0, stable=True)[:2].flatten().tolist()
        return sorted({*found["owners"].tolist(), *answers, *cheap})

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript; lo contestado al principio va ya hecho."""
        c, found = self.model.config, self.compute(self.start)
        return {
            "stamps": [[stamp.label, _written(stamp.ink)] for stamp in self.stamps],
            "start": [list(one) for one in self.start],
            "points": _rounded(self._exact.starts.detach().sigmoid()[:, :2]),
            "first": {key: _rounded(found[key]) for key in ("probs", "boxes")},
            "weights": [c.class_cost, c.l1_weight, c.giou_weight],
            "file": self._file,
        }

    def static(self) -> str:
        """Lo que dice y lo que cuesta cada consulta al principio, con el reparto marcado."""
        found = self.compute(self.start)
        rows = []
        for query in self.relevant(found):
            costs = [
                number(cost) + (" ✓" if query == owner else "")
                for cost, owner in zip(
                    found["costs"][query].tolist(), found["owners"].tolist(), strict=True
                )
            ]
            rows.append([f"consulta {query + 1}", _said(found["probs"][query]), *costs])
        names = (
            f"un {self.stamps[one.stamp].label} ({letter})"
            for letter, one in zip(_LETTERS, self.start, strict=False)
        )
        caption = "Lo que cuesta dar cada dígito a cada consulta; ✓, el reparto que menos cuesta"
        return static_table(caption, ["", "dice", *names], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return (
            f"Reparto de {len(self.start)} dígitos entre {self.model.config.queries} consultas;"
            f" modelo vivo de {self._size} parámetros"
        )


def _written(ink: Tensor) -> list[str]:
    """La tinta de cada fila, en tres cifras hexadecimales por píxel."""
    return ["".join(f"{tone:03x}" for tone in row) for row in ink.tolist()]


def _rounded(table: Tensor) -> list[list[float]]:
    return [[round(value, 5) for value in row] for row in table.tolist()]


def _said(probs: Tensor) -> str:
    best = int(probs[:-1].argmax())
    sure = float(probs[best])
    return f"{best}, con {number(sure)}" if sure > _SURE else "nada"


def _stamps(scenes: Iterable[Scene]) -> Iterable[tuple[Stamp, tuple[int, int]]]:
    """Los dígitos de unas escenas, recortados a su caja, y dónde empezaba cada uno."""
    for scene in scenes:
        corners = (scene.boxes * SIDE).round().long().tolist()
        for label, (x0, y0, x1, y1) in zip(scene.labels.tolist(), corners, strict=True):
            ink = (scene.image[y0:y1, x0:x1].double() * _TONES).round().long()
            yield Stamp(label, ink), (x0, y0)


def claims(
    model: Detr, scene: Scene, others: Sequence[Scene] = (), **texts: Unpack[Texts]
) -> ClaimsExplorer:
    """Devuelve el explorador en el que se mueven los dígitos de ``scene``, y ``model`` los detecta.

    Se arrastran, se quitan, se añaden hasta cuatro y se cambian por otro: el primero de cada clase
    que haya en ``scene`` o en ``others``. Se ven el punto de partida de cada consulta, las cajas de
    las que contestan, con una probabilidad mayor que 1/2, y lo que cuesta dar cada dígito a cada
    una, como en :func:`~atento.models.detr.matching_cost`. El modelo lo ejecuta un guion propio en
    la página, sin servidor, con los pesos en 16 bits, que se piden al primer cambio.

    Errores: ``TypeError`` si ``model`` no es un ``Detr`` o las escenas no son ``Scene``;
    ``ValueError`` si la página no sabe ejecutarlo, tiene menos de cuatro consultas o en ``scene``
    no hay de uno a cuatro dígitos.
    """
    check_kind(model, "model", Detr)
    for name, one in (("scene", scene), *(("others", one) for one in others)):
        if not isinstance(one, Scene):
            raise TypeError(f"{name}: se esperaba una escena; llegó {type(one).__name__}.")
    c = model.config
    if (c.image_size, c.channels, c.classes) != (SIDE, 1, 10) or (
        (c.norm, c.reference_points, c.refine) != ("pre", True, True)
    ):
        raise ValueError(
            "model: la página solo ejecuta los de 40 × 40 píxeles, un canal y diez clases, con la"
            " norma delante, puntos de partida y correcciones."
        )
    check_count(c.queries, "model.config.queries", MOST, 100)
    check_count(len(scene.labels), "scene", 1, MOST)
    own = list(_stamps([scene]))
    known = {stamp.label for stamp, _ in own}
    more: list[Stamp] = []
    for stamp, _ in _stamps(others):
        if stamp.label not in known:
            known.add(stamp.label)
            more.append(stamp)
    return ClaimsExplorer(
        model=model,
        stamps=(*(stamp for stamp, _ in own), *more),
        start=tuple(Placed(i, x, y) for i, (_, (x, y)) in enumerate(own)),
        **texts,
    )
