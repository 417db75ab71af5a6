"""Redes recurrentes: codificador y decodificador, con un vector o mirando atrás, y sus celdas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    INK,
    MUTED,
    PAGE,
    PAPER,
    SMALL,
    TINT,
    WEIGHT,
    Canvas,
    Point,
    as_index,
    as_weights,
    as_words,
    measure,
)

_BOX = 26.0  # alto de una celda
_PANEL = 220.0


def encoder_decoder(
    source: Sequence[str],
    target: Sequence[str],
    *,
    weights: Any = None,
    step: int = 0,
    one_vector: bool = True,
    titles: tuple[str, str] = ("Un solo vector", "Mirar atrás"),
) -> Figure:
    """Codificador y decodificador recurrentes: toda la frase en un vector y, debajo, mirando atrás.

    source: palabras que se leen (fila de abajo); target: palabras que se escriben (fila de arriba).
    weights: (target, source) pesos de 0 a 1: dibuja el panel con atención, con los hilos del paso
    ``step``. one_vector: dibuja el panel del vector único; titles: rótulos de los paneles.

    Errores: ``ValueError`` si los pesos no casan con las palabras o si no se pide ningún panel.
    Ejemplo: ``diagrams.encoder_decoder(["la", "casa"], ["the", "house"], weights=A, step=1)``.
    """
    inputs, outputs = as_words(source, "source"), as_words(target, "target")
    step = as_index(step, len(outputs), "step") or 0
    table = None if weights is None else as_weights(weights, "weights", (len(outputs), len(inputs)))
    if table is None and not one_vector:
        raise ValueError(
            "encoder_decoder: sin weights y con one_vector=False no queda ningún panel"
        )
    canvas, y = Canvas(), 0.0
    panels = ([None] if one_vector else []) + ([table] if table is not None else [])
    for panel in panels:
        _panel(canvas, y, inputs, outputs, panel, step, titles[panel is not None])
        y += _PANEL + 20
    return canvas.finish(y - 20)


def _slots(words: list[str], name: str) -> tuple[list[float], float]:
    """Centros y ancho de las celdas de una fila."""
    slot = (PAGE - 12) / len(words)
    wide = min(max(max(map(measure, words)) + 10, 34.0), slot - 8)
    if max(map(measure, words)) > slot - 4:
        raise ValueError(
            f"{name}: «{max(words, key=len)}» no cabe; conviene una frase más corta ({len(words)}"
            " palabras)"
        )
    pitch = min(slot, wide + 34)
    left = (PAGE - pitch * len(words)) / 2
    return [left + pitch * (index + 0.5) for index in range(len(words))], wide


def _panel(
    canvas: Canvas,
    y: float,
    inputs: list[str],
    outputs: list[str],
    table: np.ndarray | None,
    step: int,
    title: str,
) -> None:
    """Un panel: salidas, decodificador, lo que los une, codificador y entradas."""
    canvas.text(4, y + 10, title, ha="left", bold=True)
    top, bottom = y + 58, y + 162
    (up, up_wide), (down, down_wide) = _slots(outputs, "target"), _slots(inputs, "source")
    lit = step if table is not None else None
    _chain(canvas, up, top, up_wide, outputs, above=True, lit=lit)
    _chain(canvas, down, bottom, down_wide, inputs, above=False)
    if table is None:
        _bottleneck(canvas, up, down, top + _BOX, bottom, down_wide)
        return
    for index, weight in enumerate(table[step]):
        if weight > 0.005:
            ends = [
                (down[index], bottom - 1),
                (down[index], bottom - 36),
                (up[step], top + _BOX + 40),
                (up[step], top + _BOX + 2),
            ]
            canvas.arrow(
                ends,
                curved=True,
                color=WEIGHT,
                width=0.9 + 4 * float(weight),
                alpha=round(0.45 + 0.55 * float(weight), 2),
                head=7 + 4 * float(weight),
            )


def _chain(
    canvas: Canvas,
    xs: list[float],
    y: float,
    wide: float,
    words: list[str],
    *,
    above: bool,
    lit: int | None = None,
) -> None:
    """Una fila de celdas enlazadas, con su palabra encima o debajo."""
    for index, (x, word) in enumerate(zip(xs, words, strict=True)):
        on = index == lit
        canvas.rect(
            x - wide / 2,
            y,
            wide,
            _BOX,
            radius=6,
            color=WEIGHT if on else INK,
            fill=WEIGHT if on else INK,
            alpha=TINT if on else 0.06,
            width=2.2 if on else 1.2,
        )
        middle = y + _BOX / 2
        for dot in (-7, 0, 7):
            canvas.ellipse(x + dot, middle, 2.0, 2.0, fill=WEIGHT if on else MUTED, color=None)
        if index:
            canvas.arrow(
                [(xs[index - 1] + wide / 2 + 1, middle), (x - wide / 2 - 2, middle)], head=6
            )
        ends = [(x, y - 1), (x, y - 13)] if above else [(x, y + _BOX + 14), (x, y + _BOX + 2)]
        canvas.arrow(ends, head=6)
        canvas.text(
            x, y - 22 if above else y + _BOX + 23, word, bold=on, color=WEIGHT if on else INK
        )


def _bottleneck(
    canvas: Canvas, up: list[float], down: list[float], top: float, bottom: float, wide: float
) -> None:
    """El único vector por el que pasa la frase."""
    middle, y, cells, cell = PAGE / 2, (top + bottom) / 2, 6, 12.0
    left = middle - cells * cell / 2
    start = (down[-1], bottom - 1)
    canvas.arrow(
        [start, (down[-1], y), (middle + cells * cell / 2 + 3, y)],
        radius=10,
        color=WEIGHT,
        width=2.0,
    )
    canvas.grid(left, y - 7, 1, cells, (cell, 14.0), role="weight", values=np.full((1, cells), 0.3))
    canvas.text(left - 8, y, "toda la frase", ha="right", size=SMALL, color=WEIGHT)
    for x in up:
        points: list[Point] = [(middle, y - 9), (middle, y - 26), (x, top + 20), (x, top + 3)]
        canvas.arrow(points, curved=True, color=WEIGHT, width=1.1, alpha=0.8, head=6)


def recurrent_cell(kind: Literal["rnn", "lstm", "gru"]) -> Figure:
    """Esquema de una celda recurrente: lo que entra por la izquierda sale por la derecha, un paso
    después.

    kind: ``"rnn"`` (una tangente), ``"lstm"`` (memoria c, con olvido f, entrada i y salida o) o
    ``"gru"`` (mezcla z, olvido r).
    Los círculos son operaciones componente a componente; las cajas, capas con sus parámetros.

    Errores: ``ValueError`` si no es una de las tres.
    Ejemplo: ``diagrams.recurrent_cell("lstm")``.
    """
    drawings = {"rnn": _rnn, "lstm": _lstm, "gru": _gru}
    if kind not in drawings:
        raise ValueError(f"kind: llegó {kind!r}; se esperaba uno de {', '.join(drawings)}")
    return drawings[kind](_Cell())


class _Cell:
    """Piezas de una celda: caja exterior, capas, operaciones y cables."""

    left, right = 46.0, PAGE - 46.0

    def __init__(self) -> None:
        self.canvas = Canvas()

    def body(self, top: float, bottom: float) -> None:
        self.canvas.rect(
            self.left,
            top,
            self.right - self.left,
            bottom - top,
            radius=14,
            color=MUTED,
            fill=MUTED,
            alpha=0.06,
            width=1.0,
            order=0.1,
        )

    def layer(self, x: float, y: float, text: str, name: str = "", *, left: bool = False) -> None:
        self.canvas.rect(x - 19, y - 12, 38, 24, radius=5, fill=PAPER, order=3)
        self.canvas.rect(
            x - 19, y - 12, 38, 24, radius=5, fill=WEIGHT, alpha=TINT, color=INK, order=3.1
        )
        self.canvas.text(x, y, text)
        if name:
            shift, ha = (-6, "right") if left else (6, "left")
            self.canvas.text(x + shift, y - 21, name, ha=ha, color=WEIGHT, bold=True)

    def operation(self, x: float, y: float, text: str) -> None:
        self.canvas.ellipse(x, y, 10, 10, fill=PAPER, width=1.3, order=3)
        self.canvas.text(x, y, text)

    def wire(self, *points: Point, head: bool = True, width: float = 1.3) -> None:
        if head:
            self.canvas.arrow(list(points), width=width, head=7, radius=7)
        else:
            self.canvas.line(list(points), width=width, radius=7)

    def join(self, *points: Point) -> None:
        """Los puntos en que dos cables se unen; donde se cruzan sin punto, no se tocan."""
        for x, y in points:
            self.canvas.ellipse(x, y, 2.2, 2.2, fill=INK, order=3)

    def names(self, entries: Sequence[tuple[float, float, str]]) -> None:
        for x, y, text in entries:
            self.canvas.text(x, y, text, size=13)


def _rnn(cell: _Cell) -> Figure:
    cell.body(14, 112)
    y = 62.0
    cell.wire((34, y), (159, y))
    cell.wire((100, 138), (100, y), (159, y))
    cell.layer(180, y, "tanh")
    cell.wire((200, y), (326, y), width=2.0)
    cell.names([(18, y, "h_{t−1}"), (342, y, "h_t"), (100, 149, "x_t")])
    return cell.canvas.finish(160)


def _lstm(cell: _Cell) -> Figure:
    cell.body(24, 216)
    memory, gates, low = 56.0, 146.0, 190.0
    f, i, g, o, out = 98.0, 152.0, 206.0, 256.0, 288.0
    for start, end in ((36, f - 11), (f + 10, g - 11), (g + 10, 326)):
        cell.wire((start, memory), (end, memory), width=2.6)
    cell.wire((36, low), (o, low), (o, gates + 13))
    cell.wire((70, 240), (70, low), head=False)
    cell.join((70, low), (f, low), (i, low), (g, low), (out, memory))
    for x, text, name in ((f, "σ", "f"), (i, "σ", "i"), (g, "tanh", "g"), (o, "σ", "o")):
        if x != o:
            cell.wire((x, low), (x, gates + 13))
        cell.layer(x, gates, text, name, left=x in (f, i, o))
    for x, y, text in ((f, memory, "×"), (g, memory, "+"), (g, 98.0, "×"), (out, 120.0, "×")):
        cell.operation(x, y, text)
    cell.wire((f, gates - 12), (f, memory + 11))
    cell.wire((i, gates - 12), (i, 98), (g - 11, 98))
    cell.wire((g, gates - 12), (g, 109))
    cell.wire((g, 88), (g, memory + 11))
    cell.wire((o, gates - 12), (o, 120), (out - 11, 120))
    cell.wire((out, memory), (out, 72))
    cell.layer(out, 85, "tanh")
    cell.wire((out, 97), (out, 109))
    cell.wire((out, 130), (out, low), (326, low), width=2.0)
    cell.names(
        [
            (18, memory, "c_{t−1}"),
            (18, low, "h_{t−1}"),
            (342, memory, "c_t"),
            (342, low, "h_t"),
            (70, 251, "x_t"),
        ]
    )
    return cell.canvas.finish(262)


def _gru(cell: _Cell) -> Figure:
    cell.body(28, 220)
    state, middle, gates, low = 58.0, 94.0, 136.0, 182.0
    r, z, g, x = 104.0, 168.0, 256.0, 84.0
    for start, end in ((36, z - 11), (z + 10, g - 11), (g + 10, 326)):
        cell.wire((start, state), (end, state), width=2.6)
    cell.wire((62, state), (62, low), (z, low), (z, gates + 13))
    cell.wire((r, low), (r, gates + 13))
    cell.wire((x, 244), (x, low), head=False)
    cell.wire((x, 202), (g + 8, 202), (g + 8, gates + 13))
    cell.join((62, state), (x, low), (r, low), (r, state), (x, 202), (z, middle))
    cell.layer(r, gates, "σ", "r", left=True)
    cell.layer(z, gates, "σ", "z", left=True)
    cell.layer(g, gates, "tanh")
    for a, b, text in ((r, middle, "×"), (z, state, "×"), (g, state, "+"), (g, middle, "×")):
        cell.operation(a, b, text)
    cell.wire((r, gates - 12), (r, middle + 11))
    cell.wire((r, state), (r, middle - 11))
    cell.wire((r + 11, middle), (138, middle), (138, 162), (g - 8, 162), (g - 8, gates + 13))
    cell.wire((z, gates - 12), (z, state + 11))
    cell.wire((z, middle), (g - 11, middle))
    for bottom, top in ((gates - 12, middle + 11), (middle - 10, state + 11)):
        cell.wire((g, bottom), (g, top))
    cell.canvas.text(z + 7, 77, "1 − z", ha="left", color=WEIGHT, bold=True)
    cell.canvas.text(226, 84, "z", color=WEIGHT, bold=True)
    cell.names([(18, state, "h_{t−1}"), (342, state, "h_t"), (x, 255, "x_t")])
    return cell.canvas.finish(266)
