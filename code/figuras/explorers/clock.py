"""El explorador del reloj de una posición: agujas que giran, su fila y a quién se parece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento.positions import frequencies, sinusoidal
from figuras.explorers.base import Explorer, Texts, check_count, number, static_table

__all__ = ["ClockExplorer", "clock"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClockExplorer(Explorer):
    """El explorador de las sinusoides. Se construye con :func:`clock`.

    ``speeds`` ``(pair,)`` son las frecuencias, en radianes por posición; ``places``, cuántas
    posiciones hay.
    """

    kind: ClassVar[str] = "clock"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "chart", "places")
    speeds: Tensor
    base: float
    places: int
    position: int
    other: int
    title: str = "El reloj de una posición"
    question: str | None = (
        "Lee el producto de las dos posiciones. Después adelanta las dos a la vez. ¿Qué cambia?"
    )
    answer: str | None = (
        "Giran las agujas y cambian las dos filas, y el producto sigue igual: cada pareja de agujas"
        " conserva su ángulo, que solo depende de la distancia."
    )
    name: str = "clock"

    def compute(self, position: int | None = None, other: int | None = None) -> dict[str, Tensor]:
        """La misma cuenta que la página, en float64, para dos posiciones.

        ``row`` y ``other_row`` ``(d_model,)``, sus filas; ``products`` ``(place,)``, el producto
        escalar de ``row`` con cada fila, y ``product``, con la de ``other``.
        """
        places = torch.arange(self.places)
        d = 2 * len(self.speeds)
        table = sinusoidal(places, d, self.base, dtype=torch.float64)  # (place, d_model)
        here = self.position if position is None else position
        there = self.other if other is None else other
        products = table @ table[here]
        return {
            "row": table[here],
            "other_row": table[there],
            "products": products,
            "product": products[there],
        }

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "speeds": self.speeds.tolist(),
            "places": self.places,
            "position": self.position,
            "other": self.other,
        }

    def static(self) -> str:
        """Las dos filas del principio y su producto escalar."""
        values = self.compute()
        head = ["posición", *(f"{part} {i}" for i in range(len(self.speeds)) for part in _PARTS)]
        rows = [
            [str(place), *(number(value) for value in values[name].tolist())]
            for place, name in ((self.position, "row"), (self.other, "other_row"))
        ]
        caption = f"Las dos filas; su producto escalar es {number(float(values['product']))}"
        return static_table(caption, head, rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return f"Explorador de relojes: {len(self.speeds)} agujas y {self.places} posiciones"


_PARTS = ("seno", "coseno")


def clock(
    d_model: int,
    *,
    base: float = 10000.0,
    places: int = 60,
    position: int = 5,
    other: int = 8,
    **texts: Unpack[Texts],
) -> ClockExplorer:
    """Devuelve el explorador de la codificación sinusoidal de ``d_model`` componentes.

    Cada pareja de componentes es una aguja. Se eligen dos posiciones de 0 a ``places - 1``; la
    página dibuja las agujas, las filas y el producto escalar de la primera con todas.

    Errores: los de :func:`atento.positions.frequencies` para ``d_model`` y ``base``; ``ValueError``
    si ``d_model`` pasa de 12, ``places`` no está entre 2 y 200, o ``position`` u ``other`` no son
    posiciones.
    """
    speeds = frequencies(d_model, base, dtype=torch.float64)
    if d_model > 12:
        raise ValueError(f"d_model: llegó {d_model}; caben 12 componentes, seis agujas")
    check_count(places, "places", 2, 200)
    for label, value in (("position", position), ("other", other)):
        check_count(value, label, 0, places - 1)
    return ClockExplorer(
        speeds=speeds, base=float(base), places=places, position=position, other=other, **texts
    )
