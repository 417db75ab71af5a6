"""Lo que hace la normalización de capa a un vector: quitarle la media y ponerle una longitud."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    INK,
    MUTED,
    PAGE,
    PAPER,
    SIZE,
    SMALL,
    WEIGHT,
    Canvas,
    Point,
    as_words,
    measure,
)
from figuras.plots.style import as_numbers

_SIDE = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])  # el plano de suma 0, en filas
_TURNS = (0, 0.5, -0.5, 1.0, -1.0, 1.6, -1.6, 2.3, -2.3, math.pi)


def normalization(points: Mapping[str, Any], *, height: float = 280.0) -> Figure:
    """La normalización de capa (ε = 0) de unos vectores de dos o tres componentes.

    Con dos, se ven los dos pasos: por la dirección (1, 1) hasta la recta de media 0 y, por ella,
    hasta el círculo de radio √2. Con tres, se mira a lo largo de (1, 1, 1), así que la media no se
    ve, y queda el segundo paso: del vector centrado al círculo de radio √3.

    points: ``{nombre: vector}``; height: alto máximo, en puntos.

    Errores: ``ValueError`` si un vector no tiene dos o tres números finitos, todos los mismos, o si
    tiene todas sus componentes iguales: sin ε, no se puede normalizar.
    Ejemplo: ``diagrams.normalization({"a": (3, 1), "b": (1, 2)})``.
    """
    vectors = {str(name): _vector(value, str(name)) for name, value in points.items()}
    sizes = {len(vector) for vector in vectors.values()}
    if len(sizes) != 1:
        raise ValueError(f"points: llegaron tamaños {sorted(sizes)}; se esperaba uno, 2 o 3")
    view = _View(vectors, sizes.pop(), height)
    view.background()
    for name, vector in vectors.items():
        view.steps(vector)
        view.ends.append((name, view.at(view.start(vector))))
    view.names()
    return view.canvas.finish(view.height)


def _vector(value: Any, name: str) -> np.ndarray:
    vector = as_numbers(value, name)
    if vector.shape not in ((2,), (3,)) or not np.isfinite(vector).all():
        raise ValueError(
            f"points: «{name}» tiene la forma {vector.shape}; se esperaban 2 o 3 números"
        )
    if np.ptp(vector) == 0:
        raise ValueError(f"points: «{name}» tiene todas sus componentes iguales; no se normaliza")
    return vector


class _View:
    """El plano que se mira: el de los vectores (d = 2) o el de suma 0 (d = 3)."""

    def __init__(self, vectors: Mapping[str, np.ndarray], d: int, height: float) -> None:
        self.d, self.canvas = d, Canvas()
        self.ends, self.taken, self.tips = [], [], []
        self.flat = np.eye(2) if d == 2 else _SIDE
        seen = [self.start(v) for v in vectors.values()]
        r = d**0.5
        ways = [1.25 * r * way / np.linalg.norm(way) for way in self.flat.T]
        cloud = np.array([(r, r), (-r, -r), *seen, *ways]) * 1.08
        low, high = cloud.min(axis=0), cloud.max(axis=0)
        self.scale = min((PAGE - 90) / (high - low)[0], (height - 40) / (high - low)[1])
        self.height = (high - low)[1] * self.scale + 40
        self.x0 = PAGE / 2 - (low + high)[0] / 2 * self.scale
        self.y0 = 20 + high[1] * self.scale

    def start(self, vector: np.ndarray) -> np.ndarray:
        return self.flat @ vector

    def centred(self, vector: np.ndarray) -> np.ndarray:
        return self.flat @ (vector - vector.mean())

    def at(self, point: np.ndarray) -> Point:
        return float(self.x0 + point[0] * self.scale), float(self.y0 - point[1] * self.scale)

    def background(self) -> None:
        """Los ejes, la esfera y, con dos componentes, la recta de media 0."""
        radius = self.d**0.5 * self.scale
        self.canvas.ellipse(self.x0, self.y0, radius, radius, color=WEIGHT, width=1.4)
        turns = np.linspace(0, 2 * math.pi, 90)
        self.taken += [
            (self.x0 + radius * math.cos(t), self.y0 + radius * math.sin(t)) for t in turns
        ]
        long = 1.25 * self.d**0.5
        for axis in range(self.d):
            way = self.start(np.eye(self.d)[axis])
            end = self.at(long * way / np.linalg.norm(way))
            self._take((self.x0, self.y0), end)
            self.canvas.arrow(
                [(self.x0, self.y0), end], color=MUTED, width=0.8, alpha=0.75, order=0.5, head=5
            )
            self.tips.append((f"x_{axis + 1}", end, MUTED))
        if self.d == 2:
            ends = [self.at(side * 1.45 * np.array([1, -1])) for side in (1, -1)]
            self.canvas.line(ends, color=WEIGHT, width=1.0, dash=(0, (4, 3)))
            self._take(*ends)
            self.tips.append(("media 0", ends[0], WEIGHT))

    def steps(self, vector: np.ndarray) -> None:
        """El camino de un vector: centrar y, después, dar la longitud √d."""
        start, middle = self.at(self.start(vector)), self.at(self.centred(vector))
        goal = self.centred(vector)
        end = self.at(goal / np.linalg.norm(goal) * self.d**0.5)
        if math.dist(start, middle) > 1:
            self.canvas.arrow([start, middle], color=MUTED, dash=(0, (2, 2)), head=6)
        if math.dist(middle, end) > 4:
            self.canvas.arrow([middle, end], color=WEIGHT, width=2.0)
        self.canvas.ellipse(*start, 3.2, 3.2, fill=INK, order=4)
        self.canvas.ellipse(*end, 4, 4, color=WEIGHT, fill=PAPER, order=5, width=1.8)
        self._take(start, middle)
        self._take(middle, end)

    def _take(self, one: Point, other: Point) -> None:
        """Apunta los puntos de un segmento, para no escribir encima."""
        line = np.linspace(one, other, 2 + int(math.dist(one, other) / 5))
        self.taken += [(float(x), float(y)) for x, y in line]

    def names(self) -> None:
        """Los rótulos, cuando ya se sabe por dónde pasan las líneas."""
        for text, end, color in self.tips:
            self._write(text, end, (self.x0, self.y0), color)
        for name, start in self.ends:
            self._write(name, start, (self.x0, self.y0), INK, bold=True)

    def _write(self, text: str, end: Point, away: Point, color: str, bold: bool = False) -> None:
        """Un rótulo junto a ``end``, en el primer sitio libre, por el lado contrario a ``away``."""
        size = SIZE if bold else SMALL
        half, angle = measure(text, size, bold) / 2, math.atan2(end[1] - away[1], end[0] - away[0])
        for reach in (8, 13, 19, 27, 40):
            for turn in _TURNS:
                cos, sin = math.cos(angle + turn), math.sin(angle + turn)
                x = end[0] + cos * (reach + half * abs(cos))
                y = end[1] + sin * (reach + size / 2 * abs(sin))
                box = (x - half, y - size / 2, x + half, y + size / 2)
                if self.canvas.free(box) and not any(_inside(box, dot) for dot in self.taken):
                    self.canvas.text(x, y, text, size=size, color=color, bold=bold)
                    return
        raise ValueError(f"points: no hay sitio para el rótulo «{text}»")


def _inside(box: tuple[float, float, float, float], dot: Point) -> bool:
    return box[0] - 4 < dot[0] < box[2] + 4 and box[1] - 3 < dot[1] < box[3] + 3


_POOLED = ("batch", "n", "d")
_CELL = 15.0  # lado de una celda, en puntos


def pools(
    sentences: Sequence[Sequence[str]],
    d: int,
    panels: Mapping[str, Collection[str]],
    *,
    cell: tuple[int, int, int] = (0, 0, 0),
) -> Figure:
    """Qué números entran en la cuenta con que se normaliza uno: un panel por manera de normalizar.

    sentences: las palabras de cada frase del lote; las que faltan son relleno, rayado, que también
    ocupa su sitio. d: componentes de cada palabra. panels: ``{título: ejes que se promedian}``, de
    ``"batch"``, ``"n"`` y ``"d"``. ``cell``: (frase, palabra, componente) del marco.

    Errores: ``ValueError`` si un eje no es de esos, si ``cell`` se sale o si no caben.
    Ejemplo: ``diagrams.pools([["los", "gatos"], ["él"]], 4, {"por capa": ["d"]}, cell=(0, 1, 2))``.
    """
    rows = [as_words(words, "sentences") for words in sentences]
    n = max(map(len, rows))
    left = max(measure(word, SMALL) for words in rows for word in words) + 8
    share = (PAGE - left) / max(len(panels), 1)
    if not panels or d < 1 or d * _CELL > share - 8:
        raise ValueError(f"panels: {len(panels)} paneles de {d} componentes no caben")
    for axes in panels.values():
        if unknown := set(axes) - set(_POOLED):
            raise ValueError(f"panels: «{min(unknown)}» no es un eje; están {', '.join(_POOLED)}")
    if not all(0 <= i < size for i, size in zip(cell, (len(rows), n, d), strict=True)):
        raise ValueError(f"cell: llegó {cell}; se esperaba un sitio de {(len(rows), n, d)}")
    canvas, tall = Canvas(), n * _CELL + 12
    for index, (title, axes) in enumerate(panels.items()):
        x = left + index * share
        canvas.text(x, 10, title, ha="left", bold=True)
        corners = [(x, 24 + b * tall) for b in range(len(rows))]
        cells = [
            _pooled(canvas, corner, rows, b, d, axes, cell) for b, corner in enumerate(corners)
        ]
        told = f"entran {sum(cells)} números"
        canvas.text(x, 24 + len(rows) * tall + 2, told, ha="left", size=SMALL, color=MUTED)
    for b, words in enumerate(rows):
        for i, word in enumerate(words):
            y = 24 + b * tall + (i + 0.5) * _CELL
            canvas.text(left - 6, y, word, size=SMALL, ha="right")
    return canvas.finish(24 + len(rows) * tall + 12)


def _pooled(
    canvas: Canvas,
    corner: Point,
    rows: Sequence[Sequence[str]],
    b: int,
    d: int,
    axes: Collection[str],
    cell: tuple[int, int, int],
) -> int:
    """Una frase de un panel, con las celdas que entran en la cuenta llenas; devuelve cuántas."""
    (x, y), n, count = corner, max(map(len, rows)), 0
    for i in range(n):
        for k in range(d):
            same = zip(_POOLED, (b, i, k), cell, strict=True)
            inside = all(axis in axes or here == there for axis, here, there in same)
            count += inside
            place = (x + k * _CELL, y + i * _CELL, _CELL, _CELL)
            if inside:
                canvas.rect(*place, color=None, fill=WEIGHT, alpha=0.55, order=0.5)
            hatch = "////" if i >= len(rows[b]) else None
            canvas.rect(*place, color=MUTED, width=0.6, edge_alpha=0.5, hatch=hatch)
    if b == cell[0]:
        frame = (x + cell[2] * _CELL, y + cell[1] * _CELL, _CELL, _CELL)
        canvas.rect(*frame, color=INK, width=2.2, order=3)
    return count
