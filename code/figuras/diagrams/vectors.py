"""Vectores como flechas en el plano: proyección, mezcla y envolvente convexa."""

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
    SIZE,
    SMALL,
    WEIGHT,
    Canvas,
    Point,
    as_role,
    measure,
    number,
)
from figuras.plots.style import array, as_numbers


def vectors(
    arrows: Mapping[str, Any],
    *,
    roles: Mapping[str, str] | None = None,
    project: tuple[str, str] | None = None,
    weights: Mapping[str, float] | None = None,
    result: str = "mezcla",
    hull: bool = False,
    links: Sequence[tuple[str, str]] = (),
    xlabel: str = "",
    ylabel: str = "",
    height: float = 250.0,
) -> Figure:
    """Flechas desde el origen, con el nombre en la punta.

    arrows: ``{nombre: (x, y)}``; roles: ``{nombre: papel}`` («query», «key», «value», …), que da
    color y trazo. project: (a, b): proyecta a sobre la recta de b y escribe el producto escalar.
    weights: ``{nombre: peso}``: dibuja el punto de la mezcla Σ peso·vector, con un hilo a cada
    vector, tan grueso como su peso; result: cómo se llama. hull: tiñe la envolvente convexa de los
    valores (o de todos, si no hay valores). links: ``(a, b)``: una flecha de trazos de la punta de
    a a la de b, la diferencia b − a. xlabel, ylabel: qué mide cada eje; height: alto máximo,
    en puntos.

    Errores: ``ValueError`` si un vector no tiene dos números finitos, si un nombre no existe o si
    los pesos no suman 1.
    Ejemplo: ``diagrams.vectors({"q": (2, 1), "k": (1, 2)}, roles={"q": "query", "k": "key"},
    project=("q", "k"))``.
    """
    points = {str(name): _pair(value, str(name)) for name, value in arrows.items()}
    if not points:
        raise ValueError("arrows: no llegó ningún vector; se esperaba al menos uno")
    found = {name: as_role((roles or {}).get(name), f"roles[{name}]") for name in points}
    for label, names in (
        ("roles", roles or {}),
        ("project", project or ()),
        ("weights", weights or {}),
        ("links", [name for link in links for name in link]),
    ):
        for unknown in [name for name in names if name not in points]:
            raise ValueError(f"{label}: «{unknown}» no es uno de los vectores: {', '.join(points)}")
    mixed = None if weights is None else _mixed(points, weights)
    plane = _Plane(points, found, mixed, height)
    plane.axes(xlabel, ylabel)
    if hull:
        plane.hull()
    if mixed is not None:
        plane.mixture(mixed, weights or {}, result)
    if project is not None:
        plane.project(*project)
    plane.links(links)
    plane.arrows()
    return plane.finish()


def _pair(value: Any, name: str) -> Point:
    pair = as_numbers(value, name)
    if pair.shape != (2,) or not np.isfinite(pair).all():
        raise ValueError(
            f"arrows: llegó «{name}» = {np.asarray(array(value)).tolist()}; se esperaban dos"
            " números finitos"
        )
    return float(pair[0]), float(pair[1])


def _mixed(points: Mapping[str, Point], weights: Mapping[str, float]) -> Point:
    total = sum(float(weight) for weight in weights.values())
    if min(weights.values(), default=-1) < 0 or abs(total - 1) > 1e-3:
        raise ValueError(f"weights: suman {total:.3g}; se esperaban pesos no negativos que sumen 1")
    return tuple(
        sum(float(w) * points[name][axis] for name, w in weights.items()) for axis in (0, 1)
    )  # type: ignore


class _Plane:
    """El plano: pasa de coordenadas del dibujo a puntos de la hoja y coloca los rótulos."""

    def __init__(
        self, points: dict[str, Point], roles: dict[str, str], mixed: Point | None, height: float
    ) -> None:
        self.points, self.roles, self.canvas = points, roles, Canvas()
        cloud = np.array([(0.0, 0.0), *points.values(), *([mixed] if mixed else [])])
        low, high = cloud.min(axis=0), cloud.max(axis=0)
        span = np.maximum(high - low, 1e-9)
        margin = 18 + max(map(measure, points))
        self.scale = min((PAGE - 2 * margin) / span[0], (height - 70) / span[1])
        used = span * self.scale
        self.low, self.high = low, high
        self.x0 = (PAGE - used[0]) / 2 - low[0] * self.scale
        self.y0 = 34 + high[1] * self.scale
        self.height = 34 + used[1] + 40
        self.segments: list[tuple[Point, Point]] = []

    def at(self, point: Point) -> Point:
        return self.x0 + point[0] * self.scale, self.y0 - point[1] * self.scale

    def axes(self, xlabel: str, ylabel: str) -> None:
        left, right = self.at((self.low[0], 0))[0] - 14, self.at((self.high[0], 0))[0] + 18
        top, bottom = self.at((0, self.high[1]))[1] - 16, self.at((0, self.low[1]))[1] + 14
        style = {"color": MUTED, "width": 0.8, "alpha": 0.75, "order": 0.5, "head": 5.0}
        ends = [((left, self.y0), (right, self.y0)), ((self.x0, bottom), (self.x0, top))]
        for start, end in ends:
            self.canvas.arrow([start, end], **style)
        self.segments += ends
        if xlabel:
            self.canvas.text(
                min(right, PAGE - 4), self.y0 + 12, xlabel, ha="right", size=SMALL, color=MUTED
            )
        if ylabel:
            self.canvas.text(self.x0 - 6, top - 9, ylabel, ha="left", size=SMALL, color=MUTED)

    def hull(self) -> None:
        values = [p for name, p in self.points.items() if self.roles[name] == "value"] or list(
            self.points.values()
        )
        ring = [self.at(point) for point in _convex(values)]
        color = COLORS["value" if "value" in self.roles.values() else "ink"]
        self.canvas.line(
            [*ring, ring[0]], color=color, fill=color, alpha=0.14, width=1.0, dash=DASHES["value"]
        )

    def arrows(self) -> None:
        origin = self.at((0, 0))
        self.canvas.ellipse(*origin, 2.2, 2.2, fill=INK)
        ends = {name: self.at(point) for name, point in self.points.items()}
        self.segments += [(origin, end) for end in ends.values()]
        for name, end in ends.items():
            role = self.roles[name]
            if math.dist(origin, end) > 1:
                self.canvas.arrow(
                    [origin, end],
                    color=COLORS[role],
                    width=2.2,
                    dash=DASHES.get(role, "-"),
                    head=10.0,
                )
        for name, end in ends.items():
            self.label(name, end, COLORS[self.roles[name]], away=origin, bold=True)

    def links(self, pairs: Sequence[tuple[str, str]]) -> None:
        for pair in pairs:
            start, end = (self.at(self.points[name]) for name in pair)
            self.canvas.arrow([start, end], color=MUTED, width=1.6, dash=(0, (4, 3)), head=8.0)
            self.segments.append((start, end))

    def mixture(self, point: Point, weights: Mapping[str, float], result: str) -> None:
        center = self.at(point)
        for name, weight in weights.items():
            end = self.at(self.points[name])
            width = 0.8 + 5 * float(weight)
            self.canvas.line([center, end], color=WEIGHT, width=width, edge_alpha=0.55, order=1.2)
            self.segments.append((center, end))
        self.canvas.ellipse(*center, 6.5, 6.5, color=WEIGHT, fill=WEIGHT, order=5)
        self.label(result, center, WEIGHT, away=self.at((0, 0)), bold=True, gap=10)

    def project(self, one: str, onto: str) -> None:
        a, b = np.array(self.points[one]), np.array(self.points[onto])
        length = float(b @ b)
        if length == 0:
            raise ValueError(f"project: «{onto}» es el vector nulo y no tiene dirección")
        foot = tuple(b * float(a @ b) / length)
        start, end, tip = self.at((0, 0)), self.at(foot), self.at(self.points[one])
        self.canvas.line(
            [start, end], color=COLORS[self.roles[one]], width=8, edge_alpha=0.3, order=0.8
        )
        self.canvas.line([tip, end], color=MUTED, width=1.0, dash=(0, (2, 2)))
        self._square(end, start if math.dist(start, end) > 12 else self.at(self.points[onto]), tip)
        self.segments += [(start, end), (tip, end)]
        text = f"{one} · {onto} = {number(float(a @ b), '.2f')}"
        self.canvas.text(PAGE / 2, self.height - 6, text)
        self.height += 14

    def _square(self, corner: Point, along: Point, up: Point) -> None:
        """La marca del ángulo recto."""
        c = np.array(corner)
        steps = [np.array(end) - c for end in (along, up)]
        if min(map(np.linalg.norm, steps)) > 14:
            u, v = (7 * step / np.linalg.norm(step) for step in steps)
            self.canvas.line([tuple(c + u), tuple(c + u + v), tuple(c + v)], color=MUTED, width=0.9)

    def label(
        self,
        text: str,
        end: Point,
        color: str,
        *,
        away: Point,
        bold: bool = False,
        gap: float = 7.0,
    ) -> None:
        """Escribe un rótulo junto a ``end`` en el primer sitio libre, empezando por el lado
        contrario a ``away``.
        """
        width = measure(text, SIZE, bold)
        angle = (
            math.atan2(end[1] - away[1], end[0] - away[0])
            if math.dist(end, away) > 1
            else -math.pi / 2
        )
        best: tuple[float, Point] | None = None
        for reach in (gap, gap + 9, gap + 18, gap + 30, gap + 44):
            for turn in (0, 0.45, -0.45, 0.9, -0.9, 1.4, -1.4, 2, -2, 2.6, -2.6):
                x, y = _beside(end, angle + turn, reach, width)
                box = (x - width / 2, y - SIZE / 2, x + width / 2, y + SIZE / 2)
                if not self.canvas.free(box):
                    continue
                cost = (
                    40 * sum(_crosses(box, *segment) for segment in self.segments)
                    + reach
                    + 4 * abs(turn)
                )
                best = min(best or (math.inf, (x, y)), (cost, (x, y)))
        if best is None:
            raise ValueError(
                f"arrows: no hay sitio para el rótulo «{text}»; conviene dar más height o menos"
                " vectores"
            )
        self.canvas.text(*best[1], text, color=color, bold=bold)

    def finish(self) -> Figure:
        boxes = self.canvas.boxes
        return self.canvas.finish(max([self.height, *(box[3] + 6 for box in boxes)]))


def _beside(end: Point, angle: float, reach: float, width: float) -> Point:
    """Centro de un rótulo cuya caja queda a ``reach`` puntos de ``end`` en esa dirección."""
    cos, sin = math.cos(angle), math.sin(angle)
    inside = min(width / 2 / max(abs(cos), 1e-9), SIZE / 2 / max(abs(sin), 1e-9))
    return end[0] + cos * (reach + inside), end[1] + sin * (reach + inside)


def _crosses(box: tuple[float, float, float, float], start: Point, end: Point) -> bool:
    """Si el segmento pasa por la caja (mirado en 24 puntos)."""
    for t in np.linspace(0, 1, 25):
        x, y = (a + (b - a) * float(t) for a, b in zip(start, end, strict=True))
        if box[0] - 2 < x < box[2] + 2 and box[1] - 2 < y < box[3] + 2:
            return True
    return False


def _convex(points: list[Point]) -> list[Point]:
    """Envolvente convexa por la cadena monótona de Andrew."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def half(sequence: list[Point]) -> list[Point]:
        chain: list[Point] = []
        for p in sequence:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return half(ordered) + half(ordered[::-1])


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
