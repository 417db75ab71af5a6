"""Quién atiende a quién: arcos entre las palabras de una frase, hilos entre dos listas y
triángulos.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.path import Path

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
    as_index,
    as_matrix,
    as_weights,
    as_words,
    measure,
    number,
)


def arcs(
    words: Sequence[str],
    weights: Any,
    *,
    onto: Sequence[str] | None = None,
    row: int | None = None,
    threshold: float = 0.05,
    numbers: bool | None = None,
    labels: tuple[str, str] = ("", ""),
    plain: Sequence[int] = (),
) -> Figure:
    """Arcos de quien atiende a quien es atendida, tan gruesos como el peso, sobre las palabras de
    una frase.

    words: (n) palabras; weights: (n, n) pesos de 0 a 1, o una lista de n índices (a quién atiende
    cada una). onto: (m) palabras de abajo: hilos de dos listas (alineamiento de una traducción,
    permutación), weights (n, m). row: la palabra que se explica: solo sus arcos, con el peso
    escrito; numbers: escribe (o no) los pesos. threshold: los pesos menores no se dibujan; labels:
    rótulos de la lista de arriba y de la de abajo; plain: de las dos listas, las filas que van en
    gris y con trazo fino.

    Errores: ``ValueError`` si las formas no casan, si un peso no está entre 0 y 1 o si las palabras
    no caben.
    Ejemplo: ``diagrams.arcs(["la", "gata", "negra", "duerme"], A, row=2)``.
    """
    names = as_words(words, "words")
    below = names if onto is None else as_words(onto, "onto")
    table = _table(weights, len(names), len(below))
    row = as_index(row, len(names), "row")
    if not 0 <= threshold < 1:
        raise ValueError(
            f"threshold: llegó {threshold}; se esperaba un número desde 0 y menor que 1"
        )
    if onto is not None:
        gray = {as_index(index, len(names), "plain") for index in plain}
        return _threads(names, below, table, row, threshold, labels, gray)
    return _sentence(names, table, row, threshold, row is not None if numbers is None else numbers)


def _table(weights: Any, rows: int, cols: int) -> np.ndarray:
    """Los pesos, también cuando llegan como índices."""
    if isinstance(weights, Sequence) and all(
        isinstance(item, int | np.integer) for item in weights
    ):
        if len(weights) != rows or not all(0 <= item < cols for item in weights):
            raise ValueError(
                f"weights: llegó {list(weights)}; se esperaban {rows} índices de 0 a {cols - 1}"
            )
        return np.eye(cols)[list(weights)]
    return as_weights(weights, "weights", (rows, cols))


def _spots(
    words: list[str], bold: bool = False, upper: bool = False, side: float = 0.0
) -> tuple[list[float], bool]:
    """Centro de cada palabra y si se escriben giradas porque no caben en una línea; ``side``, lo
    que se deja libre a la izquierda si así caben con holgura.
    """
    widths = [measure(word, SIZE, bold) for word in words]
    if side and sum(widths) + 20 * (len(words) - 1) > PAGE - 16 - side:
        side = 0.0
    room = PAGE - 16 - side
    if sum(widths) + 9 * (len(words) - 1) <= room:
        gap = min(30.0, (room - sum(widths)) / max(len(words) - 1, 1))
        x, centers = (PAGE - sum(widths) - gap * (len(words) - 1)) / 2, []
        x = max(x, 8 + side)
        for width in widths:
            centers.append(x + width / 2)
            x += width + gap
        return centers, False
    order = list(enumerate(reversed(words) if upper else words))
    margin = max(
        16.0, *(0.66 * measure(word, SIZE, bold) + 6 - 15 * index for index, word in order)
    )
    step = (PAGE - 16 - margin) / max(len(words) - 1, 1)
    if step < 15:
        raise ValueError(
            f"words: {len(words)} palabras no caben en una figura; conviene una frase más corta"
        )
    return [(16 if upper else margin) + step * index for index in range(len(words))], True


def _sentence(
    names: list[str], table: np.ndarray, row: int | None, threshold: float, numbers: bool
) -> Figure:
    """La forma de una sola frase: arcos por encima."""
    centers, turned = _spots(names, bold=True)
    pairs = [(i, j) for i, j in np.argwhere(table > threshold) if row in (None, i)]
    reach = max((abs(centers[i] - centers[j]) for i, j in pairs), default=60.0)
    top = min(0.36 * max(reach, 70.0), 120.0)
    base = top + 34
    canvas = Canvas()
    for i, j in sorted(pairs, key=lambda pair: table[tuple(pair)]):
        _arc(canvas, (centers[i], base), centers[j], float(table[i, j]), top / max(reach, 70.0))
    if numbers:
        _numbers(canvas, centers, table, pairs, base, turned)
    if numbers and turned and row is not None:
        _numbers_above(canvas, centers, table[row], row, pairs, base, top / max(reach, 70.0))
    for index, (name, x) in enumerate(zip(names, centers, strict=True)):
        lit = row is None or index == row or table[row, index] > threshold
        style = {"color": INK if lit else MUTED, "bold": index == row}
        if turned:
            canvas.text(x + 4, base + 14, name, ha="right", rotation=50, **style)
        else:
            canvas.text(x, base + 14, name, **style)
    extra = 0.8 * max(map(measure, names)) + 6 if turned else 14
    return canvas.finish(base + 16 + extra + (16 if numbers and not turned else 0))


def _arc(canvas: Canvas, start: Point, to: float, weight: float, lift: float) -> None:
    """Un arco con punta en quien es atendida; si es ella misma, un lazo."""
    width = 0.9 + 3.4 * weight
    alpha = round(0.35 + 0.65 * weight, 2)
    canvas.arrow(
        _arc_points(start, to, lift),
        curved=True,
        color=WEIGHT,
        width=width,
        alpha=alpha,
        order=1 + weight,
        head=6.5 + 5 * weight,
    )


def _arc_points(start: Point, to: float, lift: float) -> list[Point]:
    """Los cuatro puntos de la curva de un arco, o de un lazo."""
    x, y = start
    if x == to:
        return [(x - 5, y), (x - 20, y - 32), (x + 20, y - 32), (x + 5, y)]
    side = 1 if to > x else -1
    height = 1.33 * lift * abs(to - x) + 14
    above = [(x + 6 * side, y - height), (to - 8 * side, y - height)]
    return [(x + 4 * side, y), *above, (to - 4 * side, y)]


def _passes(points: list[Point], middle: Point, room: Point) -> bool:
    """Dice si la curva de esos cuatro puntos pasa por el rectángulo de centro ``middle``."""
    t = np.linspace(0, 1, 200)[:, None]
    a, b, c, d = (np.array(point) for point in points)
    curve = (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d
    return bool((np.abs(curve - np.array(middle)) < np.array(room)).all(-1).any())


def _numbers(
    canvas: Canvas,
    centers: list[float],
    table: np.ndarray,
    pairs: list[Any],
    base: float,
    turned: bool,
) -> None:
    """El peso, debajo de la palabra atendida."""
    chosen = {j: float(table[i, j]) for i, j in sorted(pairs, key=lambda pair: table[tuple(pair)])}
    for j, weight in chosen.items():
        text = number(weight, ".2f")
        x = centers[j]
        if turned or any(abs(centers[k] - x) < measure(text, SMALL) + 3 for k in chosen if k != j):
            continue
        canvas.text(x, base + 31, text, size=SMALL, color=WEIGHT)


def _numbers_above(
    canvas: Canvas,
    centers: list[float],
    weights: np.ndarray,
    row: int,
    pairs: list[Any],
    base: float,
    lift: float,
) -> None:
    """El peso, encima de su arco, si no pasa otro por ahí ni lleva un número al lado."""
    for j in {j for _, j in pairs if j != row}:
        side = 1 if j > row else -1
        if {j + side, j + 2 * side} & {other for _, other in pairs}:
            continue
        height = 0.75 * (1.33 * lift * abs(centers[j] - centers[row]) + 14)
        middle = (centers[j] + centers[row]) / 2, base - height - 9
        text = number(float(weights[j]), ".2f")
        room = measure(text) / 2 + 1, 7.0
        others = {other for _, other in pairs if other != j}
        arcs = (_arc_points((centers[row], base), centers[other], lift) for other in others)
        if not any(_passes(points, middle, room) for points in arcs):
            canvas.text(*middle, text, color=WEIGHT)


def _threads(
    names: list[str],
    below: list[str],
    table: np.ndarray,
    row: int | None,
    threshold: float,
    labels: tuple[str, str],
    plain: set[int | None],
) -> Figure:
    """Dos listas, una encima de otra, y un hilo por peso."""
    canvas = Canvas()
    side = max(measure(label, SMALL) + 10 if label else 0.0 for label in labels)
    (upper, turn_up), (lower, turn_down) = (
        _spots(words, upper=words is names, side=side) for words in (names, below)
    )
    starts = [upper[0] - measure(names[0]) / 2, lower[0] - measure(below[0]) / 2]
    beside = not (turn_up or turn_down) and all(
        measure(label, SMALL) + 16 <= x for label, x in zip(labels, starts, strict=True)
    )
    y_up = 22.0 if labels[0] and not beside else 4.0
    y_up += 0.8 * max(map(measure, names)) + 8 if turn_up else 18
    y_down = y_up + 96
    for i, j in sorted(np.argwhere(table > threshold).tolist(), key=lambda pair: table[*pair]):
        ends, weight = ((upper[i], y_up), (lower[j], y_down)), float(table[i, j])
        _thread(canvas, *ends, weight, row in (None, i), thin=i in plain)
    for index, (name, x) in enumerate(zip(names, upper, strict=True)):
        angle = {"rotation": 50, "ha": "left"} if turn_up else {}
        angle |= {"color": INK if row in (None, index) else MUTED}
        canvas.text(x, y_up - (6 if turn_up else 11), name, **angle)
    for name, x in zip(below, lower, strict=True):
        angle = {"rotation": 50, "ha": "right"} if turn_down else {}
        canvas.text(x + (4 if turn_down else 0), y_down + (12 if turn_down else 11), name, **angle)
    bottom = y_down + (0.8 * max(map(measure, below)) + 14 if turn_down else 22)
    heights = (y_up - 11, y_down + 11) if beside else (8.0, bottom + 8)
    for label, x, y in zip(labels, starts, heights, strict=True):
        spot = {"ha": "right", "x": x - 10} if beside else {"ha": "left", "x": 6}
        if label:
            canvas.text(y=y, text=label, size=SMALL, color=MUTED, **spot)
    return canvas.finish(bottom + (18 if labels[1] and not beside else 2))


def _thread(
    canvas: Canvas, start: Point, end: Point, weight: float, lit: bool, thin: bool = False
) -> None:
    """Un hilo de arriba abajo: grosor y opacidad según el peso; gris si no es de la fila dicha, y
    además fino si ``thin``.
    """
    path = Path([start, (start[0], start[1] + 42), (end[0], end[1] - 42), end], [1, 4, 4, 4])
    alpha = round((0.25 + 0.75 * weight) * (1 if lit else 0.4), 2)
    canvas.path(
        path,
        color=WEIGHT if lit and not thin else MUTED,
        width=1.6 if thin else 0.8 + 4.2 * weight,
        edge_alpha=alpha,
        order=1 + weight,
    )


def shuffle(items: Sequence[str], order: Sequence[int], *, middle: str = "atención") -> Figure:
    """Filas barajadas: entradas y salidas unidas por los mismos hilos, antes y después de la
    operación.

    items: (n) nombres de las filas; order: (n) permutación, la fila i de la baraja era la
    ``order[i]``. middle: nombre de la operación, que se aplica a los dos órdenes.

    Errores: ``ValueError`` si ``order`` no es una permutación de 0, …, n − 1.
    Ejemplo: ``diagrams.shuffle(["la", "gata", "negra", "duerme"], [2, 0, 3, 1])``.
    """
    names, order = as_words(items, "items"), [int(index) for index in order]
    if sorted(order) != list(range(len(names))):
        raise ValueError(
            f"order: llegó {order}; se esperaba una permutación de 0 a {len(names) - 1}"
        )
    wide = max(map(measure, names)) + 16
    if 2 * wide + 2 * (wide + 10) > PAGE - 80:
        raise ValueError("items: los nombres no caben; conviene acortarlos")
    canvas, step, top = Canvas(), 30.0, 46.0
    room = PAGE - 4 * wide - 8
    xs = [
        4 + wide / 2,
        4 + 1.5 * wide + 0.27 * room,
        4 + 2.5 * wide + 0.73 * room,
        4 + 3.5 * wide + room,
    ]
    mixed = [names[i] for i in order]
    bottom = top + step * len(names)
    for k, (x, rows) in enumerate(zip(xs, [names, mixed, mixed, names], strict=True)):
        _column(canvas, x, [top + step * i for i in range(len(names))], rows, wide, after=k >= 2)
    for start, end, flip in ((0, 1, False), (2, 3, True)):
        for new, old in enumerate(order):
            a, b = (new, old) if flip else (old, new)
            one, two = (xs[start] + wide / 2, top + step * a), (xs[end] - wide / 2, top + step * b)
            half = (one[0] + two[0]) / 2
            path = Path([one, (half, one[1]), (half, two[1]), two], [1, 4, 4, 4])
            canvas.path(path, color=MUTED, width=1.4)
    left, right, y = xs[1] + wide / 2 + 3, xs[2] - wide / 2 - 3, (top + bottom - step) / 2
    canvas.arrow([(left, y), (right, y)], color=WEIGHT, width=2.2)
    fits = measure(middle) < right - left  # encima de la flecha o, si no cabe, debajo de todo
    canvas.text(
        (left + right) / 2, y - 11 if fits else bottom + 2, middle, size=SMALL, color=WEIGHT
    )
    for x, title in zip(xs, ("filas", "barajadas", "salidas", "en orden"), strict=True):
        canvas.text(x, 14, title, size=SMALL, color=MUTED)
    return canvas.finish(bottom + 14)


def _column(
    canvas: Canvas, x: float, heights: list[float], rows: list[str], wide: float, *, after: bool
) -> None:
    """Una columna de filas en su caja; después de la operación, en violeta y con prima."""
    color, alpha = (WEIGHT, 0.18) if after else (INK, 0.07)
    for y, name in zip(heights, rows, strict=True):
        box = (x - wide / 2, y - 11, wide, 22)
        canvas.rect(*box, color=color, fill=color, alpha=alpha, radius=4)
        canvas.text(x, y, f"{name}′" if after else name)


def triangle(
    names: Sequence[str], panels: Mapping[str, Any], *, spec: str = ".0f", winners: bool = True
) -> Figure:
    """Tres nodos y sus puntuaciones: una línea si son simétricas, dos flechas si tienen dirección.

    names: los tres nombres; panels: ``{título: (3, 3) puntuaciones}``, uno o dos paneles; spec:
    formato del número. winners: en cada fila, la flecha (o el extremo) hacia quien más puntúa va en
    violeta.

    Errores: ``ValueError`` si no son tres nombres, si hay más de dos paneles o si una matriz no es
    de 3 × 3.
    Ejemplo: ``diagrams.triangle(["piedra", "tijera", "papel"], {"simétricas": S, "con dirección": Q
    @ K.T})``.
    """
    names = as_words(names, "names", 3)
    if not 1 <= len(panels) <= 2:
        raise ValueError(f"panels: llegaron {len(panels)}; se esperaban uno o dos paneles")
    tables = {
        title: as_matrix(scores, f"panels[{title}]", (3, 3)) for title, scores in panels.items()
    }
    canvas, share = Canvas(), PAGE / len(tables)
    for index, (title, scores) in enumerate(tables.items()):
        middle = share * (index + 0.5)
        canvas.text(middle, 10, title, bold=True)
        _triangle(canvas, middle, names, scores, spec, winners)
    return canvas.finish(232)


def _triangle(
    canvas: Canvas, middle: float, names: list[str], scores: np.ndarray, spec: str, winners: bool
) -> None:
    spots = [(middle, 60.0), (middle + 64, 180.0), (middle - 64, 180.0)]
    symmetric = bool(np.allclose(scores, scores.T))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        if symmetric:
            _edge(canvas, spots, (i, j), number(scores[i, j], spec), color=INK, width=1.8)
            continue
        for a, b in ((i, j), (j, i)):
            other = 3 - a - b
            wins = winners and scores[a, b] > scores[a, other]
            _edge(
                canvas,
                spots,
                (a, b),
                number(scores[a, b], spec),
                color=WEIGHT if wins else MUTED,
                width=2.6 if wins else 1.1,
                bend=True,
            )
    for (x, y), name in zip(spots, names, strict=True):
        canvas.ellipse(x, y, 9, 9, fill=PAPER, width=1.6, order=4)
        canvas.ellipse(x, y, 3.2, 3.2, fill=INK, order=5)
        canvas.text(x, y - 22 if y < 100 else y + 24, name)


def _edge(
    canvas: Canvas,
    spots: list[Point],
    ends: tuple[int, int],
    text: str,
    *,
    color: str,
    width: float,
    bend: bool = False,
) -> None:
    """Un lado del triángulo con su número: línea, o flecha curvada hacia un lado."""
    (x0, y0), (x1, y1) = spots[ends[0]], spots[ends[1]]
    long = math.dist((x0, y0), (x1, y1))
    ux, uy = (x1 - x0) / long, (y1 - y0) / long
    start, end = (x0 + 12 * ux, y0 + 12 * uy), (x1 - 12 * ux, y1 - 12 * uy)
    nx, ny = -uy, ux
    if not bend:
        canvas.line([start, end], color=color, width=width)
        side = 15.0
    else:
        lift, side = 12.0, 22.0
        points = [
            start,
            *(
                (p[0] + 3 * nx + s * 24 * ux + lift * nx, p[1] + 3 * ny + s * 24 * uy + lift * ny)
                for p, s in ((start, 1), (end, -1))
            ),
            end,
        ]
        canvas.arrow(points, curved=True, color=color, width=width, head=9)
    sign = 1 if bend else -1
    x, y = (x0 + x1) / 2 + sign * side * nx, (y0 + y1) / 2 + sign * side * ny
    canvas.text(x, y, text, color=color, bold=color == WEIGHT)


def _routes(words: int, start: int, end: int, kernel: int) -> dict[str, list[int]]:
    """Por qué posiciones pasa lo que va de ``start`` a ``end``: en una recurrencia, una convolución
    y una atención.

    words: cuántas hay; la convolución mira, en cada capa, la propia palabra y las ``kernel − 1`` de
    delante.

    Errores: ``ValueError`` si ``start`` no va antes que ``end`` o si ``kernel`` es menor que 2.
    """
    if not 0 <= start < end < words:
        raise ValueError(
            f"start: llegó {start}, con end = {end}; se esperaba 0 ≤ start < end < {words}"
        )
    if kernel < 2:
        raise ValueError(f"kernel: llegó {kernel}; se esperaba un entero mayor o igual que 2")
    jumps = [start]
    while jumps[-1] < end:
        jumps.append(min(jumps[-1] + kernel - 1, end))
    return {
        "recurrencia": list(range(start, end + 1)),
        "convolución": jumps,
        "atención": [start, end],
    }


def reach(words: Sequence[str], start: int, end: int, *, kernel: int = 3) -> Figure:
    """De una palabra a otra por tres caminos: de mano en mano, de vecindad en vecindad y de una
    vez.

    words: (n) palabras; start, end: de cuál a cuál; kernel: cuántas palabras abarca el filtro de la
    convolución.

    Errores: ``ValueError`` si los índices no valen o las palabras no caben.
    Ejemplo: ``diagrams.reach(["la", "llave", "del", "cajón", "está", "oxidada"], 1, 5)``.
    """
    names = as_words(words, "words")
    lanes = _routes(len(names), start, end, kernel)
    centers, turned = _spots(names)
    canvas, y = Canvas(), 12.0
    for lane, path in lanes.items():
        canvas.text(4, y, f"{lane}: {_jumps(lane, len(path) - 1)}", ha="left", bold=True)
        y += 40
        for index, x in enumerate(centers):
            lit = index in path
            canvas.ellipse(
                x,
                y,
                4.2,
                4.2,
                color=WEIGHT if lit else MUTED,
                fill=WEIGHT if lit else PAPER,
                order=3,
            )
        for a, b in zip(path, path[1:], strict=False):
            lift = 8 + 18 * (b - a) / (end - start)
            points = [
                (centers[a], y - 6),
                (centers[a], y - lift - 6),
                (centers[b], y - lift - 6),
                (centers[b], y - 6),
            ]
            canvas.arrow(points, curved=True, color=WEIGHT, width=1.4, head=6)
        y += 22
    for index, (name, x) in enumerate(zip(names, centers, strict=True)):
        style = {"color": INK if index in (start, end) else MUTED, "bold": index in (start, end)}
        canvas.text(x + 4 if turned else x, y, name, ha="right" if turned else "center",
                    rotation=50 if turned else 0, **style)  # fmt: skip
    return canvas.finish(y + (0.8 * max(map(measure, names)) + 6 if turned else 14))


def _jumps(lane: str, count: int) -> str:
    """«9 pasos», «5 capas», «1 paso»."""
    one, many = ("capa", "capas") if lane == "convolución" else ("paso", "pasos")
    return f"{count} {one if count == 1 else many}"
