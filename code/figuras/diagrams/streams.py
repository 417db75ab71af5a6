"""El flujo residual: un camino por el que pasa la fila de cada posición, y subcapas que leen de él
y le suman.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    INK,
    MUTED,
    PAGE,
    PAPER,
    SIZE,
    SMALL,
    TINT,
    WEIGHT,
    Canvas,
    as_matrix,
    as_words,
    measure,
    number,
    widest_number,
)

_ROAD = 15.0  # ancho del camino
_NORM, _SUB, _GAP, _TURN = 22.0, 30.0, 13.0, 15.0  # altos: normalización, subcapa, huecos
_LN = 38.0  # ancho de una normalización puesta sobre el camino
_STEP = _TURN + _NORM + _GAP + _SUB + _TURN + 12.0
_FORK = 15.0  # del comienzo de un paso a la rama que lee


@dataclass(frozen=True)
class Sublayer:
    """Una subcapa de un flujo: su nombre y dónde normaliza (``"pre"``, ``"post"`` o ``None``).

    ``adds=False`` la deja sin conexión residual: su salida sustituye a lo que había. ``lit`` la
    marca como la que se explica.
    """

    name: str
    norm: Literal["pre", "post"] | None = "pre"
    adds: bool = True
    lit: bool = False


def stream(
    columns: Mapping[str, Sequence[Sublayer | str]],
    *,
    entry: str = "x",
    end: str = "y",
    norm: str = "LN",
) -> Figure:
    """Flujos residuales de abajo arriba, uno al lado de otro, con sus subcapas a la derecha.

    columns: ``{título: pasos}``; un paso es una :class:`Sublayer`, que lee del camino y suma en él,
    o un texto, una caja por la que pasa el camino entero («LN final»). entry, end: lo que entra y
    lo que sale; norm: cómo se rotulan las normalizaciones.

    Errores: ``ValueError`` si no hay columnas, si una no tiene pasos o si no caben.
    Ejemplo: ``diagrams.stream({"Pre-LN": [Sublayer("atención"), Sublayer("red densa")]})``.
    """
    if not columns or not all(columns.values()):
        raise ValueError("columns: se esperaba al menos una columna, y un paso en cada una")
    canvas, wide = Canvas(), PAGE / len(columns)
    heights = [sum(map(_height, steps)) for steps in columns.values()]
    bottom = 50 + max(heights) + 22
    for index, (title, steps) in enumerate(columns.items()):
        column = _Column(canvas, index * wide + 8, wide - 16, norm)
        column.fits(title, steps)
        top = column.draw(steps, bottom - 22)
        column.ends(top, bottom, entry, end)
        column.heading(title)
    return canvas.finish(bottom + 8)


def _height(step: Sublayer | str) -> float:
    return _NORM + 2 * _GAP if isinstance(step, str) else _STEP


class _Column:
    """Un flujo entre ``left`` y ``left + width``: el camino y, a su derecha, las subcapas."""

    def __init__(self, canvas: Canvas, left: float, width: float, norm: str) -> None:
        self.canvas, self.left, self.width, self.norm = canvas, left, width, norm
        self.stops: list[tuple[float, float]] = []  # donde el camino se corta, de arriba abajo
        self.road = left + max(_LN, measure(norm) + 12) / 2 + 1
        self.box = (self.road + 30, left + width - (self.road + 30))

    def fits(self, title: str, steps: Sequence[Sublayer | str]) -> None:
        names = [step.name for step in steps if isinstance(step, Sublayer)]
        widest = max([measure(name, SIZE, True) + 12 for name in names], default=0.0)
        if widest > self.box[1] or measure(title, SIZE, True) > self.width:
            raise ValueError(f"columns: «{title}» no cabe; conviene acortar nombres o columnas")

    def draw(self, steps: Sequence[Sublayer | str], y: float) -> float:
        """Dibuja los pasos hacia arriba desde ``y``; devuelve dónde acaba el camino."""
        for step in steps:
            if isinstance(step, str):
                self._on_road(y - _GAP - _NORM, step)
            else:
                self._sublayer(step, y)
            y -= _height(step)
        return y

    def ends(self, top: float, bottom: float, entry: str, end: str) -> None:
        """El camino, que se corta donde hay algo escrito, y lo que entra y lo que sale."""
        height, edges = bottom - 20 - top, [bottom - 18.0]
        self.canvas.rect(
            self.road - _ROAD / 2, top + 2, _ROAD, height, color=None, fill=MUTED, alpha=TINT,
            order=0.3,
        )  # fmt: skip
        for low, high in sorted(self.stops, reverse=True):
            edges += [high, low]
        edges.append(top - 4)
        for start, stop in zip(edges[:-2:2], edges[1:-2:2], strict=True):
            self.canvas.line([(self.road, start), (self.road, stop)], width=1.3, order=0.5)
        self.canvas.arrow([(self.road, edges[-2]), (self.road, edges[-1])], width=1.3, order=0.5)
        self.canvas.text(self.road, bottom - 7, entry)
        self.canvas.text(self.road, top - 14, end)

    def heading(self, title: str) -> None:
        self.canvas.text(self.left + self.width / 2, 9, title, bold=True)

    def _on_road(self, y: float, label: str) -> None:
        w = max(_LN, measure(label) + 12)
        x = max(self.road - w / 2, self.left)
        self.stops.append((y, y + _NORM))
        self.canvas.rect(x, y, w, _NORM, color=None, fill=PAPER, order=1)
        self.canvas.rect(x, y, w, _NORM, color=INK, fill=MUTED, alpha=TINT, radius=5, order=1.1)
        self.canvas.text(x + w / 2, y + _NORM / 2, label)

    def _sublayer(self, step: Sublayer, y: float) -> None:
        """La rama de una subcapa que sale del camino en ``y``."""
        pre, (x, w) = step.norm == "pre", self.box
        center, out = x + w / 2, y - _STEP + (0 if pre else _NORM + _GAP)
        box_y = out + _TURN
        below = box_y + _SUB
        self._reads(center, y, below, pre)
        self.canvas.rect(
            x, box_y, w, _SUB, color=WEIGHT if step.lit else INK, fill=WEIGHT if step.lit else INK,
            alpha=0.16 if step.lit else 0.05, radius=6, width=2.0 if step.lit else 1.2, order=3,
        )  # fmt: skip
        self.canvas.text(center, box_y + _SUB / 2, step.name, bold=step.lit)
        if not step.adds:
            wide, low = _ROAD + 2, y - _FORK - 5
            self.canvas.rect(
                self.road - wide / 2,
                out + 14,
                wide,
                low - out - 14,
                color=None,
                fill=PAPER,
                order=1,
            )
        self._writes(center, box_y, out, step.adds)
        if step.norm == "post":
            self._on_road(y - _STEP + _GAP / 2, self.norm)

    def _reads(self, center: float, y: float, below: float, pre: bool) -> None:
        """Del camino a la subcapa, pasando por la normalización si va antes."""
        y -= _FORK
        self.canvas.ellipse(self.road, y, 2.6, 2.6, color=INK, fill=INK, order=3)
        if not pre:
            self.canvas.arrow([(self.road, y), (center, y), (center, below + 1)])
            return
        top, w = below + _GAP, max(_LN, measure(self.norm) + 12)
        self.canvas.rect(
            center - w / 2, top, w, _NORM, color=INK, fill=MUTED, alpha=TINT, radius=5, order=3
        )
        self.canvas.text(center, top + _NORM / 2, self.norm)
        self.canvas.line([(self.road, y), (center, y), (center, top + _NORM)], radius=6)
        self.canvas.arrow([(center, top), (center, below + 1)], head=6)

    def _writes(self, center: float, box_y: float, out: float, adds: bool) -> None:
        """De la subcapa al camino: una suma, o un corte si la sustituye."""
        y = out + 3
        self.stops.append((y - 9, y + 9))
        self.canvas.ellipse(self.road, y, 9, 9, color=None, fill=PAPER, order=2.5)
        self.canvas.ellipse(self.road, y, 9, 9, color=INK, width=1.3, order=3)
        self.canvas.text(self.road, y, "+" if adds else "←", bold=True)
        self.canvas.arrow([(center, box_y), (center, y), (self.road + 11, y)])


def additions(
    features: Sequence[str],
    entry: Any,
    updates: Mapping[str, Any],
    *,
    labels: tuple[str, str] = ("entra", "sale"),
    spec: str = ".0f",
) -> Figure:
    """La cuenta de un flujo en una posición: lo que entra, lo que suma cada subcapa y lo que sale.

    features: (d) nombres de las componentes; entry: (d) lo que entra; updates: ``{subcapa: (d)}``,
    lo que suma cada una, en orden. Lo que sale se calcula aquí. labels: rótulos de la primera fila
    y de la última; spec: formato de los números.

    Errores: ``ValueError`` si las formas no casan o si los nombres no caben.
    Ejemplo: ``diagrams.additions(["verbo", "número"], [1, 1], {"atención": [0, 2]})``.
    """
    names = as_words(features, "features")
    rows = as_matrix([entry, *updates.values()], "entry y updates", (None, len(names)))
    marks = ["", *["+"] * len(updates), "="]
    titles = [labels[0], *as_words(updates, "updates", len(updates)), labels[1]]
    rows = np.vstack([rows, rows.sum(axis=0)])
    left = max(measure(title, SIZE, True) for title in titles) + 26
    cell = (PAGE - left - 4) / len(names)
    wide = [measure(name, SMALL) for name in names]
    pairs = [(one + other) / 2 for one, other in zip(wide, wide[1:], strict=False)]
    if max(*pairs, widest_number(rows, spec), wide[0] / 2) + 4 > cell:
        raise ValueError("features: los nombres no caben; conviene acortarlos")
    canvas, high = Canvas(), 25.0
    for index, name in enumerate(names):
        canvas.text(left + (index + 0.5) * cell, 9, name, size=SMALL, color=MUTED)
    for index, (mark, title, row) in enumerate(zip(marks, titles, rows, strict=True)):
        y = 20 + index * (high + 8)
        _entry(canvas, (left, y, cell, high), mark, title, row, spec)
    return canvas.finish(20 + len(rows) * (high + 8))


def _entry(
    canvas: Canvas, place: tuple[float, ...], mark: str, title: str, row: np.ndarray, spec: str
) -> None:
    """Una línea de la cuenta: su signo, su nombre y sus celdas; lo que suma algo, encendido."""
    left, y, cell, high = place
    adding = mark == "+"
    canvas.text(10, y + high / 2, mark, bold=True)
    canvas.text(22, y + high / 2, title, ha="left", bold=not adding)
    for index, value in enumerate(row):
        lit, x = adding and value != 0, left + index * cell
        canvas.rect(
            x, y, cell, high, color=MUTED if adding else INK, width=0.8 if adding else 1.0,
            fill=WEIGHT if lit else INK, alpha=TINT if lit else 0.0 if adding else 0.05,
        )  # fmt: skip
        canvas.text(
            x + cell / 2, y + high / 2, number(value, spec), size=SMALL, bold=lit,
            color=INK if value or not adding else MUTED,
        )  # fmt: skip


def position_wise(
    words: Sequence[str], widths: tuple[int, int] = (512, 2048), *, mix: bool = True
) -> Figure:
    """Las dos subcapas de un bloque, de abajo arriba: la atención une posiciones; la red densa, no.

    words: (n) palabras, una columna cada una; widths: (d, d_ff), a escala. mix: dibuja también la
    atención, un hilo de cada posición a cada posición.

    Errores: ``ValueError`` si las palabras no caben o los anchos no son positivos.
    Ejemplo: ``diagrams.position_wise(["las", "niñas", "corren"], (4, 16))``.
    """
    names = as_words(words, "words")
    if min(widths) < 1:
        raise ValueError(f"widths: llegó {widths}; se esperaban dos anchos positivos")
    left = 10 + max(measure(text, SMALL) for text in ("atención", "n × d_ff", "red densa"))
    wide = (PAGE - left) / len(names)
    if max(map(measure, names)) + 4 > wide:
        raise ValueError("words: las palabras no caben; conviene acortarlas")
    xs = [left + (index + 0.5) * wide for index in range(len(names))]
    canvas, top = Canvas(), 12.0
    small, large = (0.84 * wide * width / max(widths) for width in widths)
    bottom = _columns(canvas, xs, (small, large), top)
    if mix:
        bottom = _threads(canvas, xs, small, bottom)
    for x, name in zip(xs, names, strict=True):
        canvas.text(x, bottom + 12, name)
    return canvas.finish(bottom + 24)


def _columns(canvas: Canvas, xs: Sequence[float], sizes: tuple[float, float], y: float) -> float:
    """Una red densa por columna: estrecha, ancha y estrecha; devuelve dónde acaba."""
    small, large = sizes
    levels = [(y, small), (y + 48, large), (y + 96, small)]
    for x in xs:
        for (y0, w0), (y1, w1) in zip(levels, levels[1:], strict=False):
            corners = [
                (x - w0 / 2, y0 + 14),
                (x + w0 / 2, y0 + 14),
                (x + w1 / 2, y1),
                (x - w1 / 2, y1),
            ]
            canvas.line([*corners, corners[0]], color=None, fill=MUTED, alpha=TINT)
        for level, width in levels:
            canvas.rect(x - width / 2, level, width, 14, color=INK, fill=WEIGHT, alpha=TINT)
    for (level, _), label in zip(levels, ("n × d", "n × d_ff", "n × d"), strict=True):
        canvas.text(4, level + 7, label, ha="left", size=SMALL, color=MUTED)
    canvas.text(4, y + 31, "W_2", ha="left", size=SMALL)
    canvas.text(4, y + 79, "W_1", ha="left", size=SMALL)
    return y + 110


def _threads(canvas: Canvas, xs: Sequence[float], small: float, y: float) -> float:
    """La atención: un hilo de cada posición de abajo a cada una de arriba."""
    low = y + 62
    for x in xs:
        for other in xs:
            canvas.line([(x, low), (other, y)], color=MUTED, width=0.9, edge_alpha=0.55, order=0.5)
        canvas.rect(x - small / 2, low, small, 14, color=INK, fill=WEIGHT, alpha=TINT)
    canvas.text(4, y + 31, "atención", ha="left", size=SMALL)
    canvas.text(4, low + 7, "n × d", ha="left", size=SMALL, color=MUTED)
    return low + 14
