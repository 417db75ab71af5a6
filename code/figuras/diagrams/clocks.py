"""Relojes: una posición dicha con agujas que giran a distinta velocidad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
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
from figuras.plots.style import as_numbers


def clocks(
    speeds: Any,
    places: Sequence[float],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    shift: float | None = None,
) -> Figure:
    """Una fila de relojes por posición y una columna por frecuencia.

    speeds: radianes por posición; places: posiciones. La aguja sale de las doce y gira como
    la de un reloj, así que la punta está en (seno, coseno) del ángulo ``speed · place``. rows,
    columns: los rótulos de las posiciones y de las frecuencias. shift: si se da, cada esfera
    lleva también, en gris, la aguja de ``place`` y un arco hasta la de ``place + shift``.

    Errores: ``ValueError`` si ``speeds`` no es una lista de números finitos o los rótulos no casan.
    Ejemplo: ``diagrams.clocks([1, 0.1], [0, 1, 2], rows=["0", "1", "2"], columns=["rápida",
    "lenta"])``.
    """
    turns = as_numbers(speeds, "speeds")
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
            x, start = left + (j + 0.5) * pitch, float(turn) * float(place)
            _face(canvas, x, y, radius)
            if shift is not None:
                _arc(canvas, x, y, radius, start, float(turn) * shift)
                _hand(canvas, x, y, radius, start, MUTED)
            _hand(canvas, x, y, radius, start + float(turn) * (shift or 0.0), COLORS["position"])
    return canvas.finish(30 + len(lines) * (2 * radius + 10))


def _face(canvas: Canvas, x: float, y: float, radius: float) -> None:
    """Una esfera con sus doce marcas."""
    color = COLORS["position"]
    canvas.ellipse(x, y, radius, radius, color=INK, fill=color, alpha=TINT / 2, width=1.1)
    for hour in range(12):
        ends = [_tip(x, y, part * radius, hour * math.pi / 6) for part in (0.84, 1.0)]
        canvas.line(ends, color=MUTED, width=0.7)


def _tip(x: float, y: float, length: float, angle: float) -> tuple[float, float]:
    """El punto a ``length`` del centro, con el ángulo contado desde las doce."""
    return x + length * math.sin(angle), y - length * math.cos(angle)


def _hand(canvas: Canvas, x: float, y: float, radius: float, angle: float, color: str) -> None:
    """Una aguja en ``angle``."""
    tip = _tip(x, y, 0.74 * radius, angle)
    canvas.line([(x, y), tip], color=color, width=2.4, order=3)
    canvas.ellipse(*tip, 3.2, 3.2, color=color, fill=color, order=4)
    canvas.ellipse(x, y, 1.8, 1.8, color=color, fill=color, order=4)


def _arc(canvas: Canvas, x: float, y: float, radius: float, start: float, turn: float) -> None:
    """El sector que recorre la aguja: ``turn`` radianes desde ``start``."""
    count = max(2, int(abs(turn) * 20))
    points = [_tip(x, y, 0.5 * radius, start + turn * k / count) for k in range(count + 1)]
    canvas.line(points, color=COLORS["position"], width=1.6, order=2)
