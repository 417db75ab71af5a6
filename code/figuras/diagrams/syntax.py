"""Expresiones: su árbol, su forma y la cuenta de sus paréntesis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    PAGE,
    SIZE,
    SMALL,
    TINT,
    Canvas,
    Point,
    as_index,
    as_words,
    line_height,
    measure,
)
from figuras.plots.style import INK, MUTED, WEIGHT

__all__ = ["forms", "staircase", "syntax"]

_RADIUS, _LEVEL, _STEP, _NARROW = 13.0, 48.0, 42.0, 31.0
_DOT, _BRANCH, _APART = 7.0, 26.0, 17.0  # los árboles sin signos
_RISE = 24.0


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


def _between(start: Point, end: Point, radius: float = _RADIUS) -> list[Point]:
    """La línea de un nodo a otro, sin lo que queda dentro de sus círculos."""
    (x, y), (u, v) = start, end
    cut = (radius + 1) / math.dist(start, end)
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


# --- La forma y la cuenta -------------------------------------------------------------------------


def forms(trees: Mapping[str, Any]) -> Figure:
    """Árboles en fila sin sus signos: lo que queda es la forma.

    trees: ``{rótulo: árbol}``, cada árbol como en :func:`syntax`; el rótulo va debajo y admite
    varias líneas. Las operaciones van llenas y las hojas, huecas.

    Errores: ``ValueError`` si no hay árboles, alguno no lo es o no caben.
    Ejemplo: ``diagrams.forms({"(3+x)*2": ("*", ("+", "3", "x"), "2")})``.
    """
    if not trees:
        raise ValueError("trees: no llegó ningún árbol; se esperaba al menos uno")
    walked: list[list[tuple[str, int, int, int | None]]] = []
    for root in trees.values():
        walked.append([])
        _walk(root, 0, None, walked[-1])
    sizes = [2 * _DOT + _APART * (len(nodes) - 1) for nodes in walked]
    wide = [max(size, measure(name)) for size, name in zip(sizes, trees, strict=True)]
    gap = (PAGE - sum(wide)) / (len(wide) + 1)
    if gap < 6:
        raise ValueError("trees: los árboles no caben; conviene quitar alguno")
    canvas, x = Canvas(), gap
    deep = max(node[2] for nodes in walked for node in nodes)
    lines = max(name.count("\n") + 1 for name in trees)
    text = 2 * _DOT + deep * _BRANCH + 12
    for name, nodes, size, room in zip(trees, walked, sizes, wide, strict=True):
        _bare(canvas, (x + (room - size) / 2 + _DOT, _DOT + 2), nodes)
        y = text + (name.count("\n") + 1) * line_height() / 2
        canvas.text(x + room / 2, y, name)
        x += room + gap
    return canvas.finish(text + lines * line_height() + 4)


def _bare(canvas: Canvas, corner: Point, nodes: list[tuple[str, int, int, int | None]]) -> None:
    """Un árbol sin signos, con su primera hoja a la altura de ``corner``."""
    spots = [(corner[0] + _APART * node[1], corner[1] + _BRANCH * node[2]) for node in nodes]
    parents = {node[3] for node in nodes}
    for i, (x, y) in enumerate(spots):
        color = WEIGHT if i in parents else INK
        tint = 0.85 if i in parents else 0.05
        canvas.ellipse(x, y, _DOT, _DOT, color=color, fill=color, alpha=tint, order=1)
        if (parent := nodes[i][3]) is not None:
            canvas.line(_between(spots[parent], (x, y), _DOT), color=MUTED, width=1.2)


def staircase(
    signs: Sequence[str],
    heights: Sequence[int],
    *,
    mark: int | None = None,
    note: str = "",
) -> Figure:
    """Una cuenta que sube y baja debajo de una fila de signos: un escalón por signo.

    signs: (n) signos; heights: (n) enteros desde 0, lo que vale la cuenta tras cada uno. mark: el
    signo que se señala, con ``note`` debajo.

    Errores: ``ValueError`` si no hay una altura por signo, alguna es negativa o no caben.
    Ejemplo: ``diagrams.staircase(list("(1+2)*3"), [1, 1, 1, 1, 0, 0, 0], mark=5)``.
    """
    names = as_words(signs, "signs")
    mark = as_index(mark, len(names), "mark")
    if len(heights) != len(names) or any(int(h) != h or h < 0 for h in heights):
        raise ValueError(
            f"heights: llegó {list(heights)}; se esperaban {len(names)} enteros desde 0"
        )
    step = min(31.0, (PAGE - 24) / len(names))
    if step < max(map(measure, names)) + 6:
        raise ValueError(f"signs: {len(names)} signos no caben; conviene acortar")
    canvas, left = Canvas(), (PAGE - step * len(names)) / 2
    ground = 46 + _RISE * max(heights)
    _climb(canvas, (left, ground), step, heights)
    for i, (name, height) in enumerate(zip(names, heights, strict=True)):
        x = left + (i + 0.5) * step
        lit = {"color": WEIGHT, "bold": True} if i == mark else {}
        canvas.text(x, 14, name, size=SIZE + 2, **lit)
        canvas.text(x, ground - _RISE * height - 9, str(height), **{"size": SMALL, **lit})
    if mark is not None:
        look = {"color": WEIGHT, "fill": WEIGHT, "alpha": TINT, "radius": 4, "order": 0.4}
        canvas.rect(left + mark * step + 2, 2, step - 4, ground - 4, **look)
    if mark is not None and note:
        half = measure(note) / 2
        x = left + (mark + 0.5) * step
        canvas.arrow([(x, ground + 20), (x, ground + 4)], color=WEIGHT)
        canvas.text(min(x, PAGE - 4 - half), ground + 29, note, color=WEIGHT)
    return canvas.finish(ground + (40 if note else 6))


def _climb(canvas: Canvas, corner: Point, step: float, heights: Sequence[int]) -> None:
    """La línea de la escalera, que empieza en el suelo, y el suelo."""
    left, ground = corner
    tops = [ground - _RISE * height for height in heights]
    edges = [left + step * i for i in range(len(tops) + 1)]
    points = [(left, ground)]
    for (start, end), top in zip(pairwise(edges), tops, strict=True):
        points += [(start, top), (end, top)]
    under = [*points, (edges[-1], ground), (left, ground)]
    canvas.line(under, color=None, fill=INK, alpha=0.07, order=0.3)
    canvas.line([(left, ground), (edges[-1], ground)], color=MUTED, width=0.8)
    canvas.line(points, color=INK, width=2.0, order=1.5)
