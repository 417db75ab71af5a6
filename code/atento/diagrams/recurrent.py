"""Redes recurrentes: codificador y decodificador, con un vector o mirando atrás, y sus celdas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from atento.diagrams.canvas import (
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
_PANEL = 212.0


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
    weights: (target, source) pesos de 0 a 1: dibuja el panel con atención, con los hilos del paso ``step``.
    one_vector: dibuja el panel del vector único; titles: rótulos de los paneles.

    Errores: ``ValueError`` si los pesos no casan con las palabras o si no se pide ningún panel.
    Ejemplo: ``diagrams.encoder_decoder(["la", "casa", "blanca"], ["the", "white", "house"], weights=A, step=1)``.
    """
    inputs, outputs = as_words(source, "source"), as_words(target, "target")
    step = as_index(step, len(outputs), "step") or 0
    table = None if weights is None else as_weights(weights, "weights", (len(outputs), len(inputs)))
    if table is None and not one_vector:
        raise ValueError("encoder_decoder: sin weights y con one_vector=False no queda ningún panel")
    canvas, y = Canvas(), 0.0
    panels = ([None] if one_vector else []) + ([table] if table is not None else [])
    for panel in panels:
        _panel(canvas, y, inputs, outputs, panel, step, titles[panel is not None])
        y += _PANEL + 20
    return canvas.finish(y - 20)


def _slots(words: list[str]) -> tuple[list[float], float]:
    """Centros y ancho de las celdas de una fila."""
    slot = (PAGE - 12) / len(words)
    wide = min(max(max(map(measure, words)) + 10, 34.0), slot - 8)
    if max(map(measure, words)) > slot - 4:
        raise ValueError(f"«{max(words, key=len)}»: no cabe; conviene una frase más corta ({len(words)} palabras)")
    pitch = min(slot, wide + 34)
    left = (PAGE - pitch * len(words)) / 2
    return [left + pitch * (index + 0.5) for index in range(len(words))], wide


def _panel(
    canvas: Canvas, y: float, inputs: list[str], outputs: list[str], table: np.ndarray | None, step: int, title: str
) -> None:
    """Un panel: salidas, decodificador, lo que los une, codificador y entradas."""
    canvas.text(4, y + 10, title, ha="left", bold=True)
    top, bottom = y + 58, y + 162
    (up, up_wide), (down, down_wide) = _slots(outputs), _slots(inputs)
    lit = step if table is not None else None
    _chain(canvas, up, top, up_wide, outputs, above=True, lit=lit)
    _chain(canvas, down, bottom, down_wide, inputs, above=False)
    if table is None:
        _bottleneck(canvas, up, down, top + _BOX, bottom, down_wide)
        return
    for index, weight in enumerate(table[step]):
        if weight > 0.005:
            ends = [(down[index], bottom - 1), (down[index], bottom - 36), (up[step], top + _BOX + 40),
                    (up[step], top + _BOX + 2)]  # fmt: skip
            canvas.arrow(ends, curved=True, color=WEIGHT, width=0.9 + 4 * float(weight),
                         alpha=round(0.35 + 0.65 * float(weight), 2), head=7 + 4 * float(weight))  # fmt: skip


def _chain(
    canvas: Canvas, xs: list[float], y: float, wide: float, words: list[str], *, above: bool, lit: int | None = None
) -> None:
    """Una fila de celdas enlazadas, con su palabra encima o debajo."""
    for index, (x, word) in enumerate(zip(xs, words, strict=True)):
        on = index == lit
        canvas.rect(x - wide / 2, y, wide, _BOX, radius=6, color=WEIGHT if on else INK, fill=WEIGHT if on else INK,
                    alpha=TINT if on else 0.06, width=2.2 if on else 1.2)  # fmt: skip
        middle = y + _BOX / 2
        for dot in (-7, 0, 7):
            canvas.ellipse(x + dot, middle, 2.0, 2.0, fill=WEIGHT if on else MUTED, color=None)
        if index:
            canvas.arrow([(xs[index - 1] + wide / 2 + 1, middle), (x - wide / 2 - 2, middle)], head=6)
        ends = [(x, y - 1), (x, y - 13)] if above else [(x, y + _BOX + 14), (x, y + _BOX + 2)]
        canvas.arrow(ends, head=6)
        canvas.text(x, y - 22 if above else y + _BOX + 23, word, bold=on, color=WEIGHT if on else INK)


def _bottleneck(canvas: Canvas, up: list[float], down: list[float], top: float, bottom: float, wide: float) -> None:
    """El único vector por el que pasa la frase."""
    middle, y, cells, cell = PAGE / 2, (top + bottom) / 2, 6, 12.0
    left = middle - cells * cell / 2
    start = (down[-1], bottom - 1)
    canvas.arrow([start, (down[-1], y), (middle + cells * cell / 2 + 3, y)], radius=10, color=WEIGHT, width=2.0)
    canvas.grid(left, y - 7, 1, cells, (cell, 14.0), role="weight", values=np.full((1, cells), 0.3))
    canvas.text(left - 8, y, "toda la frase", ha="right", size=SMALL, color=WEIGHT)
    for x in up:
        points: list[Point] = [(middle, y - 9), (middle, y - 26), (x, top + 20), (x, top + 3)]
        canvas.arrow(points, curved=True, color=WEIGHT, width=1.1, alpha=0.8, head=6)


def recurrent_cell(kind: Literal["rnn", "lstm", "gru"]) -> Figure:
    """Esquema de una celda recurrente: lo que entra por la izquierda sale por la derecha, un paso después.

    kind: «rnn» (una tangente), «lstm» (memoria c, con olvido f, entrada i y salida o) o «gru» (mezcla z, olvido r).
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
        self.canvas.rect(self.left, top, self.right - self.left, bottom - top, radius=14, color=MUTED, fill=MUTED,
                         alpha=0.06, width=1.0, order=0.1)  # fmt: skip

    def layer(self, x: float, y: float, text: str, below: str = "") -> None:
        self.canvas.rect(x - 19, y - 12, 38, 24, radius=5, fill=PAPER, order=3)
        self.canvas.rect(x - 19, y - 12, 38, 24, radius=5, fill=WEIGHT, alpha=TINT, color=INK, order=3.1)
        self.canvas.text(x, y, text)
        if below:
            self.canvas.text(x + 7, y - 22, below, ha="left", color=WEIGHT, bold=True)

    def operation(self, x: float, y: float, text: str) -> None:
        self.canvas.ellipse(x, y, 10, 10, fill=PAPER, width=1.3, order=3)
        self.canvas.text(x, y, text)

    def wire(self, *points: Point, head: bool = True, width: float = 1.3) -> None:
        if head:
            self.canvas.arrow(list(points), width=width, head=7, radius=7)
        else:
            self.canvas.line(list(points), width=width, radius=7)

    def names(self, entries: Sequence[tuple[float, float, str]]) -> None:
        for x, y, text in entries:
            self.canvas.text(x, y, text, size=13)


def _rnn(cell: _Cell) -> Figure:
    cell.body(14, 112)
    y = 62.0
    cell.wire((34, y), (159, y))
    cell.wire((100, 138), (100, y), (159, y))
    cell.layer(180, y, "tanh")
    cell.wire((200, y), (324, y), width=2.0)
    cell.wire((262, y), (262, 2))
    cell.names([(18, y, "h_{t−1}"), (342, y, "h_t"), (100, 149, "x_t"), (280, 6, "h_t")])
    return cell.canvas.finish(160)


def _lstm(cell: _Cell) -> Figure:
    cell.body(24, 216)
    memory, gates, low = 56.0, 146.0, 190.0
    xs = {"f": 94.0, "i": 150.0, "g": 206.0, "o": 262.0}
    cell.wire((34, memory), (xs["f"] - 11, memory), width=2.6)
    cell.wire((xs["f"] + 10, memory), (xs["g"] - 11, memory), width=2.6)
    cell.wire((xs["g"] + 10, memory), (326, memory), width=2.6)
    cell.wire((34, low), (xs["o"], low), (xs["o"], gates + 13))
    cell.wire((68, 242), (68, low), (80, low), head=False)
    for gate in ("f", "i", "g"):
        cell.wire((xs[gate], low), (xs[gate], gates + 13))
    for gate, text in (("f", "σ"), ("i", "σ"), ("g", "tanh"), ("o", "σ")):
        cell.layer(xs[gate], gates, text, gate)
    cell.operation(xs["f"], memory, "×")
    cell.operation(xs["g"], memory, "+")
    cell.operation(xs["g"], 100, "×")
    cell.operation(290, 122, "×")
    cell.wire((xs["f"], gates - 12), (xs["f"], memory + 11))
    cell.wire((xs["i"], gates - 12), (xs["i"], 100), (xs["g"] - 11, 100))
    cell.wire((xs["g"], gates - 12), (xs["g"], 111))
    cell.wire((xs["g"], 90), (xs["g"], memory + 11))
    cell.wire((xs["o"], gates - 12), (xs["o"], 122), (279, 122))
    cell.wire((290, memory), (290, 74))
    cell.layer(290, 86, "tanh")
    cell.wire((290, 98), (290, 111))
    cell.wire((290, 132), (290, low), (326, low), width=2.0)
    cell.names([(20, memory, "c_{t−1}"), (20, low, "h_{t−1}"), (342, memory, "c_t"), (342, low, "h_t"),
                (68, 253, "x_t")])  # fmt: skip
    return cell.canvas.finish(264)


def _gru(cell: _Cell) -> Figure:
    cell.body(24, 196)
    state, gates, low = 56.0, 128.0, 172.0
    r, z, g = 102.0, 172.0, 244.0
    cell.wire((34, state), (z - 11, state), width=2.6)
    cell.wire((z + 10, state), (g - 11, state), width=2.6)
    cell.wire((g + 10, state), (326, state), width=2.6)
    cell.wire((60, state), (60, low), (z, low), (z, gates + 13))
    cell.wire((r, low), (r, gates + 13))
    cell.wire((80, 222), (80, low), head=False)
    cell.layer(r, gates, "σ", "r")
    cell.layer(z, gates, "σ", "z")
    cell.layer(g, gates, "tanh", "")
    cell.operation(r, 88, "×")
    cell.operation(z, state, "×")
    cell.operation(g, state, "+")
    cell.operation(g, 90, "×")
    cell.wire((r, gates - 12), (r, 99))
    cell.wire((r, state), (r, 77))
    cell.wire((r + 11, 88), (136, 88), (136, 152), (g, 152), (g, gates + 13))
    cell.wire((z, gates - 12), (z, state + 11))
    cell.wire((z, 90), (g - 11, 90))
    cell.wire((g, gates - 12), (g, 101))
    cell.wire((g, 80), (g, state + 11))
    cell.canvas.text(z - 6, 80, "1 − z", ha="right", size=SMALL, color=WEIGHT)
    cell.canvas.text(206, 79, "z", size=SMALL, color=WEIGHT)
    cell.wire((80, low), (80, 206), (g + 30, 206), (g + 30, 160), (g + 8, 160), (g + 8, gates + 13))
    cell.names([(20, state, "h_{t−1}"), (342, state, "h_t"), (80, 233, "x_t")])
    return cell.canvas.finish(244)
