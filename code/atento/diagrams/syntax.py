"""Árboles de expresiones, con los signos en el orden en que se escriben."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.figure import Figure

from atento.diagrams.canvas import PAGE, SIZE, SMALL, TINT, Canvas, Point
from atento.plots.style import INK, MUTED, WEIGHT

__all__ = ["syntax"]

_RADIUS, _LEVEL, _STEP, _NARROW = 13.0, 48.0, 42.0, 31.0


def syntax(root: Any, *, numbers: bool = True) -> Figure:
    """Un árbol binario, con cada signo encima de los suyos y en su sitio de izquierda a derecha.

    root: una hoja (un texto) o ``(operación, izquierda, derecha)``. numbers: al lado de cada nodo,
    qué número hace al leer primero la operación y después sus dos lados (el orden prefijo).

    Errores: ``ValueError`` si no es un árbol o no cabe.
    Ejemplo: ``diagrams.syntax(("*", ("+", "3", "x"), "2"))``.
    """
    nodes: list[tuple[str, int, int, int | None]] = []
    _walk(root, 0, None, nodes)
    order = sorted(range(len(nodes)), key=lambda i: nodes[i][1])
    column = {node: place for place, node in enumerate(order)}
    step = min(_STEP, (PAGE - 64) / max(1, len(nodes) - 1))
    if step < _NARROW and len(nodes) > 1:
        raise ValueError(f"root: {len(nodes)} signos no caben; conviene un árbol más pequeño")
    left = (PAGE - step * (len(nodes) - 1)) / 2
    spots = [(left + column[i] * step, 20 + _LEVEL * node[2]) for i, node in enumerate(nodes)]
    canvas = Canvas()
    for i, (_, _, _, parent) in enumerate(nodes):
        if parent is not None:
            ends = _between(spots[parent], spots[i])
            canvas.line(ends, color=MUTED, width=1.2)
    for i, (sign, _, _, parent) in enumerate(nodes):
        side = -1 if parent is not None and column[i] < column[parent] else 1  # lejos del padre
        _node(canvas, spots[i], sign, str(i + 1) if numbers else "", side)
    return canvas.finish(20 + _LEVEL * max(node[2] for node in nodes) + 22)


def _walk(
    root: Any, level: int, parent: int | None, nodes: list[tuple[str, int, int, int | None]]
) -> None:
    """Apunta, en orden prefijo: signo, sitio en el orden en que se escribe, altura y padre."""
    if isinstance(root, str):
        nodes.append((root, _next(nodes), level, parent))
        return
    if not isinstance(root, tuple) or len(root) != 3 or not isinstance(root[0], str):
        raise ValueError(f"root: llegó {root!r}; se esperaba (operación, izquierda, derecha)")
    me = len(nodes)
    nodes.append((root[0], -1, level, parent))
    _walk(root[1], level + 1, me, nodes)
    nodes[me] = (root[0], _next(nodes), level, parent)
    _walk(root[2], level + 1, me, nodes)


def _next(nodes: list[tuple[str, int, int, int | None]]) -> int:
    return 1 + max((node[1] for node in nodes), default=-1)


def _between(start: Point, end: Point) -> list[Point]:
    """La línea de un nodo a otro, sin lo que queda dentro de sus círculos."""
    (x, y), (u, v) = start, end
    cut = (_RADIUS + 1) / math.dist(start, end)
    dx, dy = cut * (u - x), cut * (v - y)
    return [(x + dx, y + dy), (u - dx, v - dy)]


def _node(canvas: Canvas, spot: Point, sign: str, number: str, side: int) -> None:
    """Un círculo, teñido si es una operación, con su signo y, a un lado, su número."""
    x, y = spot
    operation = not sign.isalnum()
    color = WEIGHT if operation else INK
    canvas.ellipse(
        x, y, _RADIUS, _RADIUS, color=color, fill=color, alpha=TINT if operation else 0.05, order=1
    )
    canvas.text(x, y, sign, size=SIZE + 1, bold=True)
    if number:
        place, ha = x + side * (_RADIUS + 4), "left" if side > 0 else "right"
        canvas.text(place, y - _RADIUS + 3, number, ha=ha, size=SMALL, color=MUTED)
