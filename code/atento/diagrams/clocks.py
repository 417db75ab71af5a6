"""Relojes: una posición dicha con agujas que giran a distinta velocidad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from atento.diagrams.canvas import (
    COLORS,
    INK,
    MUTED,
    PAGE,
    SMALL,
    TINT,
    Canvas,
    as_words,
    measure,
)
from atento.plots.style import array


def clocks(
    speeds: Any, places: Sequence[float], *, rows: Sequence[str], columns: Sequence[str]
) -> Figure:
    """Una fila de relojes por posición y una columna por frecuencia.

    speeds: radianes por posición; places: posiciones. La aguja sale de las doce y gira como
    la de un reloj, así que la punta está en (seno, coseno) del ángulo ``speed · place``. rows,
    columns: los rótulos de las posiciones y de las frecuencias.

    Errores: ``ValueError`` si ``speeds`` no es una lista de números finitos o los rótulos no casan.
    Ejemplo: ``diagrams.clocks([1, 0.1], [0, 1, 2], rows=["0", "1", "2"], columns=["rápida",
    "lenta"])``.
    """
    turns = np.asarray(array(speeds), dtype=float)
    if turns.ndim != 1 or not len(turns) or not np.isfinite(turns).all():
        raise ValueError(
            f"speeds: llegó la forma {turns.shape}; se esperaba una lista de números finitos"
        )
    lines, heads = as_words(rows, "rows", len(places)), as_words(columns, "columns", len(turns))
    canvas, left = Canvas(), max(map(measure, lines)) + 16
    pitch = (PAGE - left - 4) / len(turns)
    radius = min(24.0, pitch / 2 - 5)
    for j, head in enumerate(heads):
        canvas.text(left + (j + 0.5) * pitch, 10, head, size=SMALL, color=MUTED)
    for i, (line, place) in enumerate(zip(lines, places, strict=True)):
        y = 30 + radius + i * (2 * radius + 10)
        canvas.text(left - 8, y, line, ha="right")
        for j, turn in enumerate(turns):
            _face(canvas, left + (j + 0.5) * pitch, y, radius, float(turn) * float(place))
    return canvas.finish(30 + len(lines) * (2 * radius + 10))


def _face(canvas: Canvas, x: float, y: float, radius: float, angle: float) -> None:
    """Una esfera con sus doce marcas y la aguja en ``angle``."""
    color = COLORS["position"]
    canvas.ellipse(x, y, radius, radius, color=INK, fill=color, alpha=TINT / 2, width=1.1)
    for hour in range(12):
        dx, dy = math.sin(hour * math.pi / 6), -math.cos(hour * math.pi / 6)
        near = 0.84 * radius
        ends = [(x + near * dx, y + near * dy), (x + radius * dx, y + radius * dy)]
        canvas.line(ends, color=MUTED, width=0.7)
    tip = (x + 0.74 * radius * math.sin(angle), y - 0.74 * radius * math.cos(angle))
    canvas.line([(x, y), tip], color=color, width=2.4, order=3)
    canvas.ellipse(*tip, 3.2, 3.2, color=color, fill=color, order=4)
    canvas.ellipse(x, y, 1.8, 1.8, color=color, fill=color, order=4)
