"""Tres papeles de un vector, la sala con mesas y las distribuciones con su softmax."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    COLORS,
    INK,
    LETTERS,
    MUTED,
    PAGE,
    PAPER,
    SMALL,
    WEIGHT,
    Canvas,
    Point,
    as_matrix,
    measure,
    number,
    widest_number,
)
from figuras.plots.style import array, as_numbers

_ROLES = ("query", "key", "value")


def roles(
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    *,
    name: str = "x",
    captions: Sequence[str] = ("lo que busca", "lo que ofrece", "lo que entrega"),
    spec: str | None = None,
) -> Figure:
    """Un vector que pasa por W^Q, W^K y W^V y sale como consulta, clave y valor, calculados aquí.

    x: (d); w_q, w_k: (d, d_k); w_v: (d, d_v); con d, d_k, d_v de 1 a 16. name: cómo se llama el
    vector. captions: qué es cada salida, en palabras; spec: escribe los números de las salidas
    («.1f») si caben.

    Errores: ``ValueError`` si las formas no casan.
    Ejemplo: ``diagrams.roles(X[0], W_q, W_k, W_v, name="tijera")``.
    """
    row = as_matrix(as_numbers(x, "x")[None], "x", (1, None))
    matrices = [
        as_matrix(w, f"w_{key}", (row.shape[1], None))
        for w, key in zip((w_q, w_k, w_v), "qkv", strict=True)
    ]
    widest = max(matrix.shape[1] for matrix in matrices)
    if max(row.shape[1], widest) > 16 or len(captions) != 3:
        raise ValueError(
            f"roles: d = {row.shape[1]} y {len(captions)} rótulos; se esperaban d ≤ 16 y tres"
            " rótulos"
        )
    canvas, d = Canvas(), row.shape[1]
    cell = min(16.0, 112.0 / max(d, 1))
    out = min(38.0 if spec else cell, 118.0 / widest)
    block = max(d * cell, 46.0)
    pitch, top = block + 46.0, 28.0
    middle = top + pitch * 1.5 - 23
    left, center = 6.0, PAGE * 0.5 - 6
    canvas.grid(left, middle - 9, 1, d, (cell, 18.0), values=row, shade=True)
    canvas.text(left + d * cell / 2, middle - 22, name, bold=True)
    canvas.text(left + d * cell / 2, middle + 22, f"d = {d}", size=SMALL, color=MUTED)
    for index, (role, matrix, caption) in enumerate(zip(_ROLES, matrices, captions, strict=True)):
        y = top + pitch * index + block / 2
        geometry = (left + d * cell + 4, middle, center, y, cell, out)
        _role(canvas, geometry, role, matrix, row @ matrix, caption, spec)
    return canvas.finish(top + pitch * 3 - 30)


def _role(
    canvas: Canvas,
    geometry: tuple[float, ...],
    role: str,
    matrix: np.ndarray,
    result: np.ndarray,
    caption: str,
    spec: str | None,
) -> None:
    """Una de las tres ramas: matriz tintada, flecha y vector de su color."""
    x0, y0, center, y, cell, out = geometry
    color, (d, wide) = COLORS[role], matrix.shape
    left, half = center - wide * cell / 2, d * cell / 2
    _branch(canvas, (x0, y0), (left - 4, y), color)
    canvas.grid(left, y - half, d, wide, (cell, cell), role=role, values=matrix, shade=True)
    canvas.text(center, y - half - 14, f"W^{LETTERS[role]}", size=14, bold=True, color=color)
    start, to = center + wide * cell / 2 + 4, PAGE - 8 - wide * out
    canvas.arrow([(start, y), (to - 4, y)], color=color, width=1.6)
    fits = spec is not None and widest_number(result, spec) <= out - 3
    canvas.grid(
        to,
        y - 10,
        1,
        wide,
        (out, 20.0),
        role=role,
        values=result,
        shade=not fits,
        spec=spec if fits else None,
    )
    letter = LETTERS[role].lower()
    canvas.marker(PAGE - 8 - measure(letter, 14, True) - 13, y - 25, role)
    canvas.text(PAGE - 8, y - 25, letter, ha="right", size=14, bold=True, color=color)
    canvas.text(PAGE - 8, y + 22, caption, ha="right", size=SMALL)


def _branch(canvas: Canvas, start: Point, end: Point, color: str) -> None:
    """La flecha de la fila a una matriz: recta, o en curva si no está a su altura."""
    if abs(end[1] - start[1]) < 2:
        canvas.arrow([start, end], color=color, width=1.6)
        return
    reach = (end[0] - start[0]) * 0.55
    points = [start, (start[0] + reach, start[1]), (end[0] - reach, end[1]), end]
    canvas.arrow(points, curved=True, color=color, width=1.6)


@dataclass(frozen=True)
class Person:
    """Alguien de la sala: nombre, lo que busca, lo que es (u ofrece) y lo que dice (o entrega)."""

    name: str
    seeks: str
    offers: str
    says: str


def room(
    tables: Sequence[Sequence[Person]],
    looks: Sequence[tuple[int, int]] = (),
    *,
    badges: bool = True,
    chips: bool = True,
    wrong: Sequence[tuple[int, int]] = (),
) -> Figure:
    """La sala: personas en mesas, con su tarjeta, su ficha y flechas de a quién miran.

    tables: mesas de 2 a 4 personas, numeradas de corrido desde 0; looks: pares (quién, a quién), en
    violeta. badges: escribe la tarjeta «busca / es / da» (una mesa a lo ancho); sin ella, nombre y
    ficha (dos mesas a lo ancho). chips: la inicial de lo que dice, en un rombo verde; wrong:
    miradas equivocadas, en gris y a trazos.

    Errores: ``ValueError`` si una mesa no tiene de 2 a 4 personas o si una mirada no existe o cruza
    de mesa.
    Ejemplo: ``diagrams.room([[Person("Ana", "tijera", "piedra", "rojo"), …]], looks=[(0, 1), (1,
    2), (2, 0)])``.
    """
    if not tables or any(not 2 <= len(table) <= 4 for table in tables):
        raise ValueError(
            f"tables: llegaron mesas de {[len(table) for table in tables]}; se esperaban de 2 a 4"
            " personas"
        )
    where = [index for index, table in enumerate(tables) for _ in table]
    for one, other in [*looks, *wrong]:
        if not (0 <= one < len(where) and 0 <= other < len(where)):
            raise ValueError(
                f"looks: ({one}, {other}): se esperaban personas de 0 a {len(where) - 1}"
            )
    per_row = 1 if badges or len(tables) == 1 else 2
    share, height = PAGE / per_row, 176.0
    if badges:
        height = 326.0 if all(len(table) == 3 for table in tables) else 400.0
    canvas, spots, centers = Canvas(), [], []
    for index, table in enumerate(tables):
        center = (
            share * (index % per_row + 0.5),
            height * (index // per_row) + (182 if badges else 88),
        )
        spots += _table(canvas, center, len(table), badges)
        centers += [center] * len(table)
    for pairs, style in ((wrong, {"color": MUTED, "width": 1.4, "dash": (0, (3, 2))}),
                         (looks, {"color": WEIGHT, "width": 2.6})):  # fmt: skip
        for one, other in pairs:
            _look(canvas, spots[one], spots[other], style)
    people = [person for table in tables for person in table]
    for spot, center, person in zip(spots, centers, people, strict=True):
        _person(canvas, spot, center, person, badges, chips)
    return canvas.finish(height * math.ceil(len(tables) / per_row))


def _table(canvas: Canvas, center: Point, people: int, badges: bool) -> list[Point]:
    """La mesa y el sitio de cada persona a su alrededor."""
    rx, ry = (52.0, 40.0) if badges else (34.0, 28.0)
    canvas.ellipse(*center, rx, ry, color=MUTED, fill=MUTED, alpha=0.1, width=1.0)
    sx, sy = (108.0, 92.0) if badges else (56.0, 46.0)
    turns = [-math.pi / 2 + 2 * math.pi * k / people for k in range(people)]
    return [(center[0] + sx * math.cos(turn), center[1] + sy * math.sin(turn)) for turn in turns]


def _look(canvas: Canvas, start: Point, end: Point, style: dict[str, Any]) -> None:
    """Una mirada: una flecha curvada hacia el centro de la mesa, sin pisar a nadie."""
    long = max(math.dist(start, end), 1e-9)
    ux, uy = (end[0] - start[0]) / long, (end[1] - start[1]) / long
    a, b = (start[0] + 19 * ux, start[1] + 19 * uy), (end[0] - 21 * ux, end[1] - 21 * uy)
    bend = 0.16 * long
    nx, ny = -uy * bend, ux * bend
    points = [a, (a[0] + 0.3 * (b[0] - a[0]) + nx, a[1] + 0.3 * (b[1] - a[1]) + ny),
              (a[0] + 0.7 * (b[0] - a[0]) + nx, a[1] + 0.7 * (b[1] - a[1]) + ny), b]  # fmt: skip
    canvas.arrow(points, curved=True, order=2.5, **style)


def _person(
    canvas: Canvas, spot: Point, center: Point, person: Person, badges: bool, chips: bool
) -> None:
    """Una persona: cabeza y hombros, nombre, ficha y, si cabe, su tarjeta."""
    (x, y), middle = spot, center[1]
    _bust(canvas, x, y)
    if chips:
        side = x - 21 if x < center[0] - 1 else x + 21
        canvas.marker(side, y + 5, "value", 8, alpha=0.18)
        canvas.text(
            side, y + 5, person.says[:1].upper(), size=SMALL, bold=True, color=COLORS["value"]
        )
    if not badges:
        half = measure(person.name, SMALL) / 2
        if half > 44:
            raise ValueError(
                f"tables: «{person.name}» no cabe junto a la mesa; conviene acortar el nombre"
            )
        place = min(max(x, half + 2), PAGE - half - 2)
        canvas.text(place, y - 20 if y < middle else y + 23, person.name, size=SMALL)
        return
    _badge(canvas, x, y - 74 if y < middle else y + 34, person)


def _bust(canvas: Canvas, x: float, y: float) -> None:
    """Cabeza y hombros."""
    canvas.ellipse(x, y - 5, 6, 6, fill=PAPER, width=1.4, order=4)
    canvas.line(
        [(x - 11, y + 13), (x - 8, y + 4), (x + 8, y + 4), (x + 11, y + 13), (x - 11, y + 13)],
        fill=PAPER,
        width=1.4,
        order=4,
        radius=4,
    )


def _badge(canvas: Canvas, x: float, top: float, person: Person) -> None:
    """La tarjeta: lo que busca, lo que es y lo que da."""
    lines = [
        ("query", "busca", person.seeks),
        ("key", "es", person.offers),
        ("value", "da", person.says),
    ]
    wide = max(measure(f"{verb} {text}") for _, verb, text in lines) + 28
    if wide > 150:
        raise ValueError(
            f"tables: la tarjeta de «{person.name}» no cabe; conviene acortar lo que busca, es o da"
        )
    left = min(max(x - wide / 2, 3), PAGE - wide - 3)
    canvas.text(left + wide / 2, top - 9, person.name, bold=True)
    canvas.rect(left, top, wide, 54, radius=6, color=MUTED, fill=PAPER, width=0.9)
    for index, (role, verb, text) in enumerate(lines):
        line = top + 11 + 16 * index
        canvas.marker(left + 10, line, role, 3.6)
        canvas.text(left + 20, line, f"{verb} {text}", ha="left", color=COLORS[role])


def histograms(
    samples: Mapping[str, Any],
    scores: Mapping[str, Any] | None = None,
    *,
    xlabel: str = "puntuación",
    bins: int = 41,
    limit: float | None = None,
    softmax: bool = True,
) -> Figure:
    """Distribuciones en columnas con la misma escala y, debajo, la softmax de unas pocas
    puntuaciones de cada una.

    samples: de dos a cuatro ``{título: números}``; scores: ``{título: (m) puntuaciones}``, cuya
    softmax se calcula aquí (si falta, las 8 primeras de cada muestra). xlabel: qué se mide; limit:
    extremo de la escala, ±limit; softmax: dibuja la fila de abajo.

    Errores: ``ValueError`` si los títulos no casan o hay números que no son finitos.
    Ejemplo: ``diagrams.histograms({"d = 4": a, "d = 64": b, "d = 1024": c})``.
    """
    if not 1 <= len(samples) <= 4:
        raise ValueError(f"samples: llegaron {len(samples)} distribuciones; se esperaban de 1 a 4")
    if scores is not None and set(scores) != set(samples):
        raise ValueError(
            f"scores: los títulos son {', '.join(scores)}; se esperaban {', '.join(samples)}"
        )
    drawn = {title: _flat(values, title) for title, values in samples.items()}
    edge = limit or _nice(max(float(np.quantile(np.abs(v), 0.999)) for v in drawn.values()))
    canvas, gap = Canvas(), 16.0
    wide = (PAGE - 12 - gap * (len(drawn) - 1)) / len(drawn)
    for index, (title, values) in enumerate(drawn.items()):
        left = 6 + index * (wide + gap)
        canvas.text(left + wide / 2, 10, title, bold=True)
        _histogram(canvas, (left, 26.0, wide, 96.0), values, edge, bins)
        if not softmax:
            continue
        few = values[:8] if scores is None else _flat(scores[title], title)
        powers = np.exp(few - few.max())
        _softmax(canvas, (left, 190.0, wide, 82.0), powers / powers.sum())
    canvas.text(PAGE / 2, 156, xlabel, size=SMALL, color=MUTED)
    if not softmax:
        return canvas.finish(166)
    canvas.text(PAGE / 2, 286, "softmax de unas pocas puntuaciones", size=SMALL, color=WEIGHT)
    return canvas.finish(296)


def _flat(values: Any, name: str) -> np.ndarray:
    """Los números, seguidos y comprobados."""
    return as_matrix(np.ravel(array(values))[None], name, (1, None))[0]


def _nice(value: float) -> float:
    """El número redondo (1, 1.5, 2… por una potencia de diez) que no baja de ``value``."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(
        step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= 0.999 * value
    )


def _histogram(
    canvas: Canvas,
    box: tuple[float, float, float, float],
    values: np.ndarray,
    edge: float,
    bins: int,
) -> None:
    """Un histograma relleno, con la altura de su máximo y los extremos de la escala."""
    x, y, w, h = box
    counts, _ = np.histogram(values, bins=bins, range=(-edge, edge))
    heights = counts / max(counts.max(), 1) * h
    step, base = w / bins, y + h
    points: list[Point] = [(x, base)]
    for index, height in enumerate(heights):
        points += [(x + index * step, base - height), (x + (index + 1) * step, base - height)]
    canvas.line([*points, (x + w, base)], color=INK, fill=INK, alpha=0.22, width=1.0)
    canvas.line([(x, base), (x + w, base)], color=MUTED, width=0.8)
    digits = ".0f" if edge >= 10 else ".1f"
    for place, value, ha in ((x, -edge, "left"), (x + w / 2, 0, "center"), (x + w, edge, "right")):
        canvas.text(place, base + 11, number(value, digits), ha=ha, size=SMALL, color=MUTED)


def _softmax(canvas: Canvas, box: tuple[float, float, float, float], weights: np.ndarray) -> None:
    """Los pesos, como barras violetas de 0 a 1."""
    x, y, w, h = box
    step = w / len(weights)
    canvas.line([(x, y), (x + w, y)], color=MUTED, width=0.6, dash=(0, (1, 3)))
    for index, weight in enumerate(weights):
        height = max(float(weight) * h, 0.6)
        canvas.rect(
            x + index * step + 1,
            y + h - height,
            step - 2,
            height,
            color=None,
            fill=WEIGHT,
            alpha=0.9,
        )
    canvas.line([(x, y + h), (x + w, y + h)], color=MUTED, width=0.8)
    top = int(np.argmax(weights))
    text = number(weights[top], ".2f")
    center = min(
        max(x + (top + 0.5) * step, x + measure(text, SMALL) / 2), x + w - measure(text, SMALL) / 2
    )
    canvas.text(center, y + h - float(weights[top]) * h - 9, text, size=SMALL, color=WEIGHT)
