"""La hoja en la que se dibuja: medidas en puntos, la y hacia abajo, texto que se mide."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, PathPatch
from matplotlib.path import Path
from matplotlib.text import Text

from figuras.plots.maps import on_cell
from figuras.plots.style import (
    INK,
    KEY,
    MUTED,
    PAPER,
    POSITION,
    QUERY,
    VALUE,
    WEIGHT,
    WIDTH,
    as_numbers,
    format_number,
    text_width,
    use_style,
)

Point = tuple[float, float]

PAGE = 72 * WIDTH  # puntos
SIZE, SMALL, SUB = 12.0, 11.2, 11.1  # puntos: letra normal, menor e índices
SHAPE = 12.5  # formas, que llevan índices
TINT = 0.18
COLORS = {
    "query": QUERY,
    "key": KEY,
    "value": VALUE,
    "position": POSITION,
    "weight": WEIGHT,
    "muted": MUTED,
    "ink": INK,
}
LETTERS = {"query": "Q", "key": "K", "value": "V", "position": "P"}
DASHES: dict[str, Any] = {"key": (0, (4.5, 2.2)), "value": (0, (1.3, 1.5))}
_RUN = re.compile(r"([_^])(\{[^}]*\}|\w+)")


class Canvas:
    """Hoja de ``width`` puntos de ancho y el alto que haga falta."""

    def __init__(self, width: float = PAGE) -> None:
        use_style()
        self.width, self.height = width, 1.0
        self.figure = Figure(figsize=(width / 72, 1))
        self.ax = self.figure.add_axes((0, 0, 1, 1))
        self.ax.set_axis_off()
        self.boxes: list[tuple[float, float, float, float]] = []
        self._label = 0  # para saber qué trozos de texto son un mismo rótulo

    def finish(self, height: float) -> Figure:
        """Da a la hoja su alto y devuelve la figura."""
        self.figure.set_size_inches(self.width / 72, height / 72)
        self.ax.set(xlim=(0, self.width), ylim=(height, 0))
        return self.figure

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        ha: str = "center",
        size: float = SIZE,
        color: str = INK,
        bold: bool = False,
        rotation: float = 0,
    ) -> float:
        """Escribe ``text`` centrado en la altura ``y``; devuelve su ancho. Admite ``d_k``, ``W^Q``
        y varias líneas.
        """
        lines = text.split("\n")
        if rotation:
            self._label += 1
            return self._run(x, y, text, ha, size, color, bold, rotation)
        top = y - (len(lines) - 1) * line_height(size) / 2
        return max(
            self._line(x, top + index * line_height(size), line, ha, size, color, bold)
            for index, line in enumerate(lines)
        )

    def _line(
        self, x: float, y: float, text: str, ha: str, size: float, color: str, bold: bool
    ) -> float:
        runs, width = split_runs(text), measure(text, size, bold)
        left = x - {"left": 0.0, "center": 0.5, "right": 1.0}[ha] * width
        self.boxes.append((left, y - size / 2, left + width, y + size / 2))
        base, self._label = y + 0.36 * size, self._label + 1
        if len(runs) == 1:
            return self._run(x, base, text, ha, size, color, bold)
        for index, (mark, run) in enumerate(runs):
            run_size = max(SUB, 0.8 * size) if mark else size
            run_width = advance(run, run_size, bold)
            next_is_mark = index + 1 < len(runs) and bool(runs[index + 1][0])
            shift = {"_": 0.3, "^": -0.42}.get(mark, 0.0) * size
            if run.strip():
                blank = advance(run[: len(run) - len(run.lstrip())], run_size)
                ends = (left + run_width, "right") if next_is_mark else (left + blank, "left")
                self._run(ends[0], base + shift, run.strip(), ends[1], run_size, color, bold)
            left += run_width
        return width

    def _run(
        self,
        x: float,
        y: float,
        text: str,
        ha: str,
        size: float,
        color: str,
        bold: bool,
        rotation: float = 0,
    ) -> float:
        weight = "bold" if bold else "normal"
        piece = Text(
            x,
            y,
            text,
            ha=ha,
            va="baseline",
            size=size,
            color=color,
            weight=weight,
            rotation=rotation,
            rotation_mode="anchor",
            clip_on=False,
            transform=self.ax.transData,
            parse_math=False,
        )
        piece._atento_label = self._label
        self.ax.add_artist(piece)
        return measure(text, size, bold)

    def path(
        self,
        path: Path,
        *,
        color: str | None = INK,
        fill: str | None = None,
        alpha: float = 1.0,
        width: float = 1.0,
        dash: Any = "-",
        order: float = 1.0,
        edge_alpha: float = 1.0,
        hatch: str | None = None,
    ) -> None:
        """Un trazo con borde ``color`` y relleno ``fill`` de opacidad ``alpha``."""
        self.ax.add_patch(
            PathPatch(
                path,
                facecolor=(fill, alpha) if fill else "none",
                edgecolor=(color, edge_alpha) if color else "none",
                linewidth=width if color else 0,
                linestyle=dash,
                clip_on=False,
                zorder=order,
                hatch=hatch,
            )
        )

    def rect(
        self, x: float, y: float, w: float, h: float, *, radius: float = 0.0, **style: Any
    ) -> None:
        """Rectángulo con la esquina de arriba a la izquierda en ``(x, y)``; ``style``, el de
        :meth:`path`.
        """
        self.path(rounded(x, y, w, h, radius), **style)

    def line(self, points: Sequence[Point], *, radius: float = 0.0, **style: Any) -> None:
        """Línea quebrada, con las esquinas redondeadas si hay ``radius``."""
        self.path(polyline(points, radius), **style)

    def ellipse(self, x: float, y: float, rx: float, ry: float, **style: Any) -> None:
        """Elipse de centro ``(x, y)``."""
        unit = Ellipse((x, y), 2 * rx, 2 * ry)
        self.path(unit.get_path().transformed(unit.get_patch_transform()), **style)

    def marker(
        self, x: float, y: float, role: str, radius: float = 4.5, *, alpha: float = 1.0
    ) -> None:
        """La forma de un papel: círculo (consulta), cuadrado (clave) o rombo (valor)."""
        color = COLORS[role]
        r = radius
        if role == "key":
            self.rect(
                x - 0.9 * r,
                y - 0.9 * r,
                1.8 * r,
                1.8 * r,
                color=color,
                fill=color,
                alpha=alpha,
                order=3,
            )
        elif role == "value":
            corners = [
                (x, y - 1.25 * r),
                (x + 1.25 * r, y),
                (x, y + 1.25 * r),
                (x - 1.25 * r, y),
                (x, y - 1.25 * r),
            ]
            self.line(corners, color=color, fill=color, alpha=alpha, order=3)
        else:
            self.ellipse(x, y, r, r, color=color, fill=color, alpha=alpha, order=3)

    def arrow(
        self,
        points: Sequence[Point],
        *,
        color: str = INK,
        width: float = 1.2,
        curved: bool = False,
        dash: Any = "-",
        radius: float = 6.0,
        alpha: float = 1.0,
        order: float = 2.0,
        head: float | None = None,
    ) -> None:
        """Flecha por ``points``: quebrada o, si ``curved``, una cúbica de cuatro puntos de
        control."""
        tip, before = np.array(points[-1], float), np.array(points[-2], float)
        way = (tip - before) / max(math.dist(tip, before), 1e-9)
        long = head or 5.0 + 1.6 * width
        side = np.array([-way[1], way[0]]) * 0.42 * long
        neck = tip - way * long
        shaft = [*points[:-1], tuple(tip - way * long * 0.85)]
        path = Path(shaft, [1, 4, 4, 4]) if curved else polyline(shaft, radius)
        self.path(path, color=color, width=width, dash=dash, edge_alpha=alpha, order=order)
        corners = [
            tuple(tip),
            tuple(neck + side),
            tuple(tip - way * long * 0.8),
            tuple(neck - side),
            tuple(tip),
        ]
        self.line(corners, color=None, fill=color, alpha=alpha, order=order)

    def grid(
        self,
        x: float,
        y: float,
        rows: int,
        cols: int,
        cell: Point,
        *,
        role: str = "ink",
        values: Any = None,
        spec: str | None = None,
        shade: bool = False,
        paper: bool = False,
    ) -> None:
        """Matriz de celdas que se cuentan, con el tinte de su papel; los pesos, según su
        intensidad.

        shade: la intensidad dice el valor también fuera de los pesos; los negativos, en gris.
        """
        color, (w, h) = COLORS[role], cell
        if paper:
            self.rect(x, y, cols * w, rows * h, color=None, fill=PAPER)
        if values is not None and (role == "weight" or shade):
            self._shades(x, y, np.asarray(values, float), cell, role)
        else:
            self.rect(
                x,
                y,
                cols * w,
                rows * h,
                color=None,
                fill=color,
                alpha=0.07 if role == "ink" else TINT,
            )
        self._rules(x, y, rows, cols, cell, color)
        self.rect(x, y, cols * w, rows * h, color=color, width=1.2, dash=DASHES.get(role, "-"))
        if spec is not None and values is not None:
            for (i, j), value in np.ndenumerate(np.asarray(values, float)):
                self._value(x + j * w, y + i * h, cell, value, spec, role)

    def _value(self, x: float, y: float, cell: Point, value: float, spec: str, role: str) -> None:
        """El número de una celda; donde no hay número (NaN), rayada."""
        w, h = cell
        if np.isnan(value):
            self.rect(x, y, w, h, color=MUTED, hatch="////", width=0.6, edge_alpha=0.5)
            return
        ink = on_cell(value) if role == "weight" else INK
        self.text(x + w / 2, y + h / 2, number(value, spec), size=SMALL, color=ink)

    def _rules(self, x: float, y: float, rows: int, cols: int, cell: Point, color: str) -> None:
        """Las rayas finas que separan las celdas."""
        w, h = cell
        inner = [[(x + j * w, y), (x + j * w, y + rows * h)] for j in range(1, cols)]
        inner += [[(x, y + i * h), (x + cols * w, y + i * h)] for i in range(1, rows)]
        if inner:
            lines = Path.make_compound_path(*map(Path, inner))
            self.path(lines, color=color, width=0.6, edge_alpha=0.4)

    def _shades(self, x: float, y: float, values: np.ndarray, cell: Point, role: str) -> None:
        top = 1.0 if role == "weight" else max(float(np.abs(values).max()), 1e-9) / 0.55
        for (i, j), value in np.ndenumerate(values):
            if value:
                color = COLORS[role] if value > 0 else MUTED
                place = (x + j * cell[0], y + i * cell[1], *cell)
                self.rect(*place, color=None, fill=color, alpha=round(abs(float(value)) / top, 3))

    def free(self, box: tuple[float, float, float, float]) -> bool:
        """Si ``box`` no pisa ningún texto ya escrito ni se sale por los lados."""
        inside = box[0] >= 1 and box[2] <= self.width - 1 and box[1] >= 1
        return inside and not any(_overlap(box, other) for other in self.boxes)


def _overlap(a: Sequence[float], b: Sequence[float], gap: float = 1.5) -> bool:
    return a[0] < b[2] + gap and b[0] < a[2] + gap and a[1] < b[3] + gap and b[1] < a[3] + gap


def split_runs(text: str) -> list[tuple[str, str]]:
    """Parte ``W^Q`` en trozos: la marca (vacía, ``_`` o ``^``) y el texto."""
    runs, last = [], 0
    for found in _RUN.finditer(text):
        if found.start() > last:
            runs.append(("", text[last : found.start()]))
        runs.append((found[1], found[2].strip("{}")))
        last = found.end()
    return runs + ([("", text[last:])] if last < len(text) or not runs else [])


def measure(text: str, size: float = SIZE, bold: bool = False) -> float:
    """Ancho de un texto en puntos, con sus índices; el de la línea más larga."""
    return max(
        sum(
            advance(run, max(SUB, 0.8 * size) if mark else size, bold)
            for mark, run in split_runs(line)
        )
        for line in text.split("\n")
    )


def advance(text: str, size: float, bold: bool = False) -> float:
    """Lo que avanza la pluma al escribir ``text``, espacios de los extremos incluidos."""
    wide = 1.12 if bold else 1.0
    return wide * (text_width(f"|{text}|", size) - text_width("||", size)) if text else 0.0


def line_height(size: float = SIZE) -> float:
    """Distancia entre dos líneas de texto."""
    return 1.25 * size


def wrap(text: str, width: float, size: float = SIZE) -> str:
    """Parte ``text`` en líneas de ``width`` puntos como mucho, sin cortar palabras."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and measure(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def number(value: float, spec: str) -> str:
    """Un número como se escribe en el libro."""
    return format_number(float(value), spec)


def widest_number(values: Any, spec: str) -> float:
    """Ancho, en puntos, del número más largo de ``values`` escrito en una celda."""
    told = [value for value in as_numbers(values, "values").ravel() if not np.isnan(value)]
    return max((measure(number(value, spec), SMALL) for value in told), default=0.0)


def rounded(x: float, y: float, w: float, h: float, radius: float) -> Path:
    """Rectángulo de esquinas redondeadas."""
    r = min(radius, w / 2, h / 2)
    if r <= 0:
        return Path([(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)], [1, 2, 2, 2, 79])
    corners = [(x + w, y), (x + w, y + h), (x, y + h), (x, y)]
    vertices, codes = [(x + r, y)], [1]
    for (cx, cy), (ax, ay), (bx, by) in zip(
        corners, [(-r, 0), (0, -r), (r, 0), (0, r)], [(0, r), (-r, 0), (0, -r), (r, 0)], strict=True
    ):
        vertices += [(cx + ax, cy + ay), (cx, cy), (cx + bx, cy + by)]
        codes += [2, 3, 3]
    return Path([*vertices, (x + r, y)], [*codes, 79])


def polyline(points: Sequence[Point], radius: float = 0.0) -> Path:
    """Línea quebrada con esquinas redondeadas."""
    if not len(points):
        raise ValueError("points: no llegó ningún punto; se esperaba al menos uno")
    vertices, codes = [points[0]], [1]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        one, other = math.dist(before, corner), math.dist(corner, after)
        r = min(radius, one / 2, other / 2)
        if r <= 0:
            vertices, codes = [*vertices, corner], [*codes, 2]
            continue
        start = tuple(c + (b - c) * r / one for b, c in zip(before, corner, strict=True))
        end = tuple(c + (a - c) * r / other for a, c in zip(after, corner, strict=True))
        vertices, codes = [*vertices, start, corner, end], [*codes, 2, 3, 3]
    return Path([*vertices, points[-1]], [*codes, 2])


# --- Validar --------------------------------------------------------------------------------------


def as_matrix(
    value: Any, name: str, shape: tuple[int | None, int | None] = (None, None)
) -> np.ndarray:
    """Comprueba que ``value`` es una matriz de números finitos con esa forma (``None``,
    cualquiera).
    """
    matrix = as_numbers(value, name)
    expected = tuple("?" if size is None else size for size in shape)
    fits = matrix.ndim == 2 and all(
        want in (None, have) for want, have in zip(shape, matrix.shape, strict=True)
    )
    if not fits or 0 in matrix.shape:
        raise ValueError(
            f"{name}: llegó la forma {matrix.shape}; se esperaba {expected}".replace("'", "")
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name}: hay valores que no son finitos")
    return matrix


def as_weights(
    value: Any, name: str, shape: tuple[int | None, int | None] = (None, None)
) -> np.ndarray:
    """Como :func:`as_matrix`, con valores de 0 a 1."""
    matrix = as_matrix(value, name, shape)
    if matrix.min() < -1e-6 or matrix.max() > 1 + 1e-6:
        raise ValueError(
            f"{name}: va de {matrix.min():.3g} a {matrix.max():.3g}; se esperaban pesos de 0 a 1"
        )
    return matrix.clip(0.0, 1.0)


def as_words(words: Any, name: str, count: int | None = None) -> list[str]:
    """Comprueba que ``words`` es una lista de rótulos, uno por elemento."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise TypeError(f"{name}: llegó {type(words).__name__}; se esperaba una lista de textos")
    found = [str(word) for word in words]
    if not found or (count is not None and len(found) != count):
        raise ValueError(
            f"{name}: llegaron {len(found)} textos; se esperaban {count or 'uno o más'}"
        )
    if any(not word.strip() for word in found):
        raise ValueError(f"{name}: hay un texto vacío")
    return found


def as_role(role: str | None, name: str = "role") -> str:
    """Comprueba un papel; ``None`` es tinta."""
    role = role or "ink"
    if role not in COLORS:
        raise ValueError(f"{name}: llegó {role!r}; se esperaba uno de {', '.join(COLORS)}")
    return role


def as_index(index: int | None, count: int, name: str) -> int | None:
    """Comprueba un índice (los negativos cuentan desde el final)."""
    if index is None:
        return None
    if not -count <= index < count:
        raise ValueError(f"{name}: llegó {index}; se esperaba un índice de 0 a {count - 1}")
    return index % count
