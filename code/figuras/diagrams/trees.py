"""El árbol de las frases que se pueden escribir, con la probabilidad de cada palabra en su rama."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    INK,
    MUTED,
    PAGE,
    SMALL,
    TINT,
    WEIGHT,
    Canvas,
    as_index,
    as_words,
    measure,
    number,
)

_BOX, _PAD, _ROOT = 21.0, 6.0, 5.0  # alto de una palabra, su margen y el punto de partida
_FATES = ("sigue", "acaba", "cae")
_STYLES: dict[str, dict[str, Any]] = {
    "sigue": {"color": INK, "fill": INK, "alpha": 0.05, "width": 1.1},
    "acaba": {"color": WEIGHT, "fill": WEIGHT, "alpha": TINT, "width": 1.8},
    "cae": {"color": MUTED, "width": 0.9, "dash": (0, (3, 2))},
}


class _Node(NamedTuple):
    parent: int
    word: str
    log_prob: float
    fate: str


def tree(
    nodes: Sequence[tuple[int, str, float, str]],
    *,
    start: str = "",
    marks: Mapping[str, int] | None = None,
    spec: str = ".2f",
    totals: bool = False,
) -> Figure:
    """Un árbol de frases, de izquierda a derecha, con la probabilidad de cada palabra en su rama.

    nodes: candidatos ``(parent, word, log_prob, fate)``, como los de :func:`atento.decoding.tree`
    con la palabra escrita: de cuál viene cada uno (-1, del comienzo), qué añade, la
    log-probabilidad de la frase hasta él y si «sigue», «acaba» o «cae». La probabilidad de la rama
    sale de restar. start: lo que se lee al comienzo; marks: ``{rótulo: candidato}``, caminos que se
    señalan, el primero en tinta y los demás en violeta; totals: escribe también la probabilidad de
    los comienzos, no solo la de las hojas.

    Errores: ``ValueError`` si no hay nodos, si uno va antes que su padre, si hay un destino que no
    es esos tres, o si el árbol no cabe de ancho.
    Ejemplo: ``diagrams.tree([(-1, "la", -0.5, "sigue"), (0, "casa", -1.2, "acaba")])``.
    """
    found = _checked(nodes)
    marks = {name: as_index(leaf, len(found), "marks") for name, leaf in (marks or {}).items()}
    return _Tree(found, start, marks, spec, totals).draw()


def _checked(nodes: Sequence[tuple[int, str, float, str]]) -> list[_Node]:
    found = [_Node(*node) for node in nodes]
    as_words([node.word for node in found], "nodes")
    for index, node in enumerate(found):
        if not -1 <= node.parent < index:
            raise ValueError(f"nodes: el {index} viene del {node.parent}; se esperaba uno anterior")
        if node.fate not in _FATES:
            raise ValueError(f"nodes: llegó {node.fate!r}; se esperaba {', '.join(_FATES)}")
    return found


class _Tree:
    """El árbol en la hoja: una columna por palabra, una línea por hoja."""

    def __init__(
        self,
        nodes: list[_Node],
        start: str,
        marks: Mapping[str, int],
        spec: str,
        totals: bool,
    ) -> None:
        self.nodes, self.start, self.marks, self.spec = nodes, start, marks, spec
        self.totals, self.canvas = totals, Canvas()
        self.line = 27.0 + 13.0 * totals
        self.depth: list[int] = []
        for node in nodes:
            self.depth.append(1 if node.parent < 0 else self.depth[node.parent] + 1)
        self.children: dict[int, list[int]] = {}
        for index, node in enumerate(nodes):
            self.children.setdefault(node.parent, []).append(index)
        self.rows: dict[int, float] = {}
        self._place(-1, 0)
        self.left, self.wide = self._columns()

    def _place(self, index: int, row: int) -> int:
        """Da su línea a cada hoja, y a los demás la de en medio; devuelve la primera libre."""
        children = self.children.get(index, [])
        if not children:
            self.rows[index] = row
            return row + 1
        for child in children:
            row = self._place(child, row)
        self.rows[index] = (self.rows[children[0]] + self.rows[children[-1]]) / 2
        return row

    def _columns(self) -> tuple[list[float], list[float]]:
        """Dónde empieza cada columna y cuánto mide, con el mismo hueco entre todas."""
        wide = [measure(self.start) if self.start else _ROOT]
        for depth in range(1, max(self.depth) + 1):
            names = [n.word for n, d in zip(self.nodes, self.depth, strict=True) if d == depth]
            wide.append(max(measure(name, bold=True) for name in names) + 2 * _PAD)
        gap = min(
            (PAGE - 9 - sum(wide[: d + 1]) - measure(self._tail(i), SMALL, True)) / d
            for i, d in enumerate(self.depth)
        )
        if gap < measure(number(0.25, self.spec), SMALL, True) + 11:
            raise ValueError("nodes: el árbol no cabe de ancho; conviene acortar frases o palabras")
        left = [2.0]
        for width in wide[:-1]:
            left.append(left[-1] + width + min(gap, 78.0))
        return left, wide

    def _tail(self, index: int) -> str:
        """Lo que se escribe detrás de una hoja: su probabilidad y sus señas."""
        if index in self.children:
            return ""
        total = number(math.exp(self.nodes[index].log_prob), self.spec)
        cross = " ×" if self.nodes[index].fate == "cae" else ""
        names = [name for name, leaf in self.marks.items() if leaf == index]
        return " ".join([total + cross, ", ".join(names)]).strip()

    def _y(self, index: int) -> float:
        return 17 + self.rows[index] * self.line

    def _path(self, leaf: int) -> list[int]:
        path = [leaf]
        while self.nodes[path[-1]].parent >= 0:
            path.append(self.nodes[path[-1]].parent)
        return path

    def draw(self) -> Figure:
        on: dict[int, str] = {}
        for place, leaf in reversed(list(enumerate(self.marks.values()))):
            on |= dict.fromkeys(self._path(leaf), WEIGHT if place else INK)
        y = self._y(-1)
        if self.start:
            self.canvas.text(self.left[0] + self.wide[0] / 2, y, self.start)
        else:
            self.canvas.ellipse(self.left[0] + 3, y, 3, 3, color=INK, fill=INK)
        for index in range(len(self.nodes)):
            self._branch(index, on.get(index))
            self._word(index, index in on)
        return self.canvas.finish(17 + max(self.rows.values()) * self.line + _BOX + 6 * self.totals)

    def _branch(self, index: int, color: str | None) -> None:
        """La rama que llega a un nodo, con la probabilidad de su palabra encima."""
        node, depth = self.nodes[index], self.depth[index]
        first = node.parent < 0
        x0 = self.left[depth - 1] + (self.wide[depth - 1] if first else self._wide(node.parent))
        x1, y0, y1 = self.left[depth], self._y(node.parent), self._y(index)
        trunk = self.left[depth - 1] + self.wide[depth - 1] + 9
        points = [(x0 + 3 * first, y0), (trunk, y0), (trunk, y1), (x1, y1)]
        faint = node.fate == "cae" and color is None
        points = [points[0], points[-1]] if abs(y0 - y1) < 0.1 else points[faint:]
        style = {"dash": (0, (3, 2))} if faint else {}
        self.canvas.line(
            points, radius=4, color=color or (MUTED if faint else INK),
            width=2.2 if color else 0.9, order=1.5 if color else 1, **style,
        )  # fmt: skip
        before = 0.0 if first else self.nodes[node.parent].log_prob
        share = number(math.exp(node.log_prob - before), self.spec)
        self.canvas.text(
            (trunk + x1) / 2 + 1, y1 - 8, share, size=SMALL, color=MUTED if faint else INK,
            bold=color is not None,
        )  # fmt: skip

    def _wide(self, index: int) -> float:
        return measure(self.nodes[index].word, bold=True) + 2 * _PAD

    def _word(self, index: int, lit: bool) -> None:
        node, x, y = self.nodes[index], self.left[self.depth[index]], self._y(index)
        wide, color = self._wide(index), MUTED if node.fate == "cae" else INK
        self.canvas.rect(x, y - _BOX / 2, wide, _BOX, radius=5, order=2, **_STYLES[node.fate])
        self.canvas.text(x + wide / 2, y, node.word, color=color, bold=lit)
        if self._tail(index):
            self.canvas.text(
                x + wide + 5, y, self._tail(index), ha="left", size=SMALL, color=color, bold=lit
            )
        elif self.totals:
            total = number(math.exp(node.log_prob), self.spec)
            self.canvas.text(x + wide / 2, y + _BOX / 2 + 8, total, size=SMALL, color=color)
