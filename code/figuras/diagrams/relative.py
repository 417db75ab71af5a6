"""Posiciones relativas: tablas de distancias, consultas y claves que giran, ángulos vistos."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    COLORS,
    DASHES,
    INK,
    MUTED,
    PAGE,
    SMALL,
    TINT,
    Canvas,
    Point,
    as_matrix,
    as_words,
    measure,
    number,
    polyline,
    widest_number,
)
from figuras.plots.style import array, as_numbers

# --- Tablas de distancias -------------------------------------------------------------------------


def distances(
    tables: Mapping[str, Any],
    *,
    words: Sequence[str],
    spec: str = ".0f",
) -> Figure:
    """Tablas cuadradas, dos por fila: en cada una, filas, quién mira; columnas, a quién.

    tables: ``{título: (n, n)}``; el mismo número lleva el mismo tinte, más fuerte cuanto mayor, así
    que se ven las diagonales. words: los rótulos de las filas. spec: cómo se escriben los números.

    Errores: ``ValueError`` si no hay tablas, alguna no es de (n, n) o los rótulos no casan.
    Ejemplo: ``diagrams.distances({"distancia": [[0, 1], [-1, 0]]}, words=["la", "gata"])``.
    """
    if not tables:
        raise ValueError("tables: no llegó ninguna tabla; se esperaba al menos una")
    lines = as_words(words, "words")
    across, left, gap = min(2, len(tables)), max(map(measure, lines)) + 8, 20.0
    cell = min(34.0, (PAGE - left - 4 - gap * (across - 1)) / across / len(lines))
    canvas, side = Canvas(), len(lines) * cell
    x0 = (PAGE + left - across * side - gap * (across - 1)) / 2
    for index, (title, table) in enumerate(tables.items()):
        x, y = x0 + index % across * (side + gap), 24 + index // across * (side + 40)
        if not index % across:
            for i, line in enumerate(lines):
                canvas.text(x - 6, y + (i + 0.5) * cell, line, ha="right")
        canvas.text(x + side / 2, y - 14, title, bold=True, size=SMALL)
        values = _square(table, title, len(lines))
        if widest_number(values, spec) > cell:
            raise ValueError(f"tables: los números de «{title}» no caben; conviene acortar words")
        _distances(canvas, (x, y), values, cell, spec)
    return canvas.finish(math.ceil(len(tables) / across) * (side + 40) - 8)


def _square(table: Any, title: str, n: int) -> np.ndarray:
    values = as_matrix(table, f"tables[{title}]")
    if values.shape != (n, n):
        raise ValueError(
            f"tables: «{title}» es de {values.shape}; con {n} rótulos se esperaba ({n}, {n})"
        )
    return values


def _distances(canvas: Canvas, at: Point, values: np.ndarray, cell: float, spec: str) -> None:
    x, y = at
    low, span = values.min(), max(float(np.ptp(values)), 1e-9)
    color = COLORS["position"]
    for (i, j), value in np.ndenumerate(values):
        tint = 0.04 + 0.4 * (float(value) - low) / span
        box = (x + j * cell, y + i * cell, cell, cell)
        canvas.rect(*box, color=color, fill=color, alpha=tint, width=0.6, edge_alpha=0.5)
        spot = (box[0] + cell / 2, box[1] + cell / 2)
        canvas.text(*spot, number(float(value), spec), size=SMALL)


# --- Consultas y claves que giran -----------------------------------------------------------------


def rotations(
    query: Any, key: Any, places: Sequence[tuple[float, float]], *, speed: float
) -> Figure:
    """Una consulta y una clave, giradas según sus sitios: un panel por pareja de sitios.

    query, key: ``(2,)``; places: parejas (sitio de la consulta, sitio de la clave); speed: radianes
    por sitio, en sentido contrario al de las agujas. En trazo débil, los vectores sin girar; el
    arco es el ángulo de la consulta a la clave, que va escrito con el producto.

    Errores: ``ValueError`` si los vectores no tienen dos números finitos, o son nulos, o no hay
    sitios.
    Ejemplo: ``diagrams.rotations((1, 0), (0.8, 0.6), [(1, 0), (4, 3)], speed=0.5)``.
    """
    vectors = [_arrow(value, name) for value, name in ((query, "query"), (key, "key"))]
    if not places:
        raise ValueError("places: no llegó ningún sitio; se esperaba al menos una pareja")
    canvas, pitch = Canvas(), PAGE / len(places)
    radius = min(62.0, pitch / 2 - 22)
    scale = radius / max(math.hypot(*vector) for vector in vectors)
    for column, pair in enumerate(places):
        center = ((column + 0.5) * pitch, 36 + radius)
        _turned(canvas, center, vectors, pair, speed, scale)
    return canvas.finish(36 + 2 * radius + 60)


def _arrow(value: Any, name: str) -> Point:
    pair = as_numbers(value, name)
    if pair.shape != (2,) or not np.isfinite(pair).all() or not pair.any():
        raise ValueError(
            f"{name}: llegó {np.asarray(array(value)).tolist()}; se esperaban dos números finitos,"
            " no los dos nulos"
        )
    return float(pair[0]), float(pair[1])


def _turned(
    canvas: Canvas,
    center: Point,
    vectors: Sequence[Point],
    places: tuple[float, float],
    speed: float,
    scale: float,
) -> None:
    x, y = center
    longest = max(math.hypot(*vector) for vector in vectors) * scale
    canvas.ellipse(x, y, longest, longest, color=MUTED, width=0.7, edge_alpha=0.6)
    angles = []
    for vector, place, role in zip(vectors, places, ("query", "key"), strict=True):
        length, start = math.hypot(*vector) * scale, math.atan2(vector[1], vector[0])
        angles.append(start + speed * place)
        _ray(canvas, center, length, start, role, faint=True)
        _ray(canvas, center, length, angles[-1], role)
        out = 25 if len(angles) > 1 and abs(_wrapped(angles[1] - angles[0])) < 0.4 else 11
        tip = _polar(center, longest + out, angles[-1])
        canvas.text(*tip, "q" if role == "query" else "k", color=COLORS[role], bold=True)
    between = _wrapped(angles[1] - angles[0])
    _sweep(canvas, center, 0.36 * longest, angles[0], between)
    product = math.prod(math.hypot(*vector) for vector in vectors) * math.cos(between)
    titles = [f"q en {places[0]:g}", f"k en {places[1]:g}"]
    canvas.text(x, 8, ", ".join(titles), bold=True, size=SMALL)
    bottom = y + longest + 30
    canvas.text(x, bottom, f"{number(math.degrees(abs(between)), '.0f')}° entre ellas", size=SMALL)
    canvas.text(x, bottom + 15, f"q · k = {number(product, '.2f')}", size=SMALL)


def _wrapped(angle: float) -> float:
    """El mismo ángulo, entre −π y π."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


def _polar(center: Point, length: float, angle: float) -> Point:
    return center[0] + length * math.cos(angle), center[1] - length * math.sin(angle)


def _ray(
    canvas: Canvas, center: Point, length: float, angle: float, role: str, faint: bool = False
) -> None:
    style = {"width": 1.3, "alpha": 0.35, "head": 6.0} if faint else {"width": 2.4, "head": 10.0}
    dash = DASHES.get(role, "-")
    canvas.arrow([center, _polar(center, length, angle)], color=COLORS[role], dash=dash, **style)


def _sweep(canvas: Canvas, center: Point, radius: float, start: float, turn: float) -> None:
    count = max(2, int(abs(turn) * 20))
    points = [_polar(center, radius, start + turn * k / count) for k in range(count + 1)]
    color = COLORS["position"]
    canvas.path(_fan(center, points), color=None, fill=color, alpha=TINT, order=0.6)
    canvas.line(points, color=color, width=1.8, order=2)


def _fan(center: Point, points: Sequence[Point]) -> Any:
    return polyline([center, *points, center])


# --- Los ángulos que se han visto -----------------------------------------------------------------


def dials(
    speeds: Mapping[str, Any],
    *,
    seen: Any,
    places: float,
    columns: Sequence[str],
) -> Figure:
    """Qué ángulos alcanza cada pareja y cuáles de ellos se habían visto al entrenar.

    speeds: ``{título: (pares,)}``, radianes por sitio, una fila por manera de girar; seen: ángulo
    máximo que vio cada pareja al entrenar, ``(pares,)``; places: el sitio más lejano que se usa
    ahora; columns: los rótulos de las parejas. Lo visto va relleno; lo nuevo, rayado. Desde una
    vuelta entera, todo está visto. Los ángulos se cuentan como en trigonometría: desde el eje
    horizontal y al revés que las agujas del reloj. Las marcas son los cinco primeros sitios.

    Errores: ``ValueError`` si no hay filas o las medidas no casan.
    Ejemplo: ``diagrams.dials({"igual": [1, 0.1]}, seen=[10, 1], places=40, columns=["0", "1"])``.
    """
    if not speeds:
        raise ValueError("speeds: no llegó ninguna fila; se esperaba al menos una")
    limits = as_numbers(seen, "seen")
    heads = as_words(columns, "columns", len(limits))
    left = max(map(measure, speeds)) + 12
    pitch = (PAGE - left - 4) / len(heads)
    radius = min(30.0, pitch / 2 - 6)
    canvas = Canvas()
    for j, head in enumerate(heads):
        canvas.text(left + (j + 0.5) * pitch, 10, head, size=SMALL, color=MUTED)
    for i, (title, turns) in enumerate(speeds.items()):
        row = as_numbers(turns, f"speeds[{title!r}]")
        if row.shape != limits.shape:
            raise ValueError(
                f"speeds: «{title}» es de {row.shape}; se esperaba {limits.shape}, como seen"
            )
        y = 28 + radius + i * (2 * radius + 12)
        canvas.text(left - 8, y, title, ha="right")
        for j, (turn, limit) in enumerate(zip(row, limits, strict=True)):
            center = (left + (j + 0.5) * pitch, y)
            _dial(canvas, center, radius, float(turn), float(limit), places)
    return canvas.finish(28 + len(speeds) * (2 * radius + 12))


def _dial(
    canvas: Canvas, center: Point, radius: float, turn: float, limit: float, places: float
) -> None:
    """Una esfera: el sector visto, relleno; el que falta, rayado; y los primeros sitios."""
    color, full = COLORS["position"], 2 * math.pi
    known, reach = min(limit, full), min(turn * places, full)
    canvas.ellipse(*center, radius, radius, color=INK, width=1.0)
    old, new = min(known, reach), max(0.0, reach - known)
    canvas.path(_wedge(center, radius, 0, old), color=None, fill=color, alpha=0.4, order=0.5)
    if new > 1e-6:
        wedge = _wedge(center, radius, old, new)
        canvas.path(wedge, color=MUTED, width=0.8, hatch="/////", order=0.6)
    for place in range(5):
        ends = [_polar(center, part * radius, turn * place) for part in (0.78, 1.0)]
        canvas.line(ends, color=INK, width=1.2, order=2)


def _wedge(center: Point, radius: float, start: float, turn: float) -> Any:
    """El sector de ``turn`` radianes desde ``start``, contados desde el eje horizontal."""
    count = max(2, int(abs(turn) * 20))
    angles = [start + turn * k / count for k in range(count + 1)]
    return _fan(center, [_polar(center, radius, angle) for angle in angles])
