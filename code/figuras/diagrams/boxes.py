"""Cajas y flechas que se colocan solas en una rejilla, y los pasos con nombre de la atención."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    COLORS,
    DASHES,
    INK,
    MUTED,
    PAGE,
    SHAPE,
    SIZE,
    TINT,
    WEIGHT,
    Canvas,
    Point,
    as_role,
    line_height,
    measure,
)

Box = tuple[float, float, float, float]  # izquierda, arriba, ancho, alto
PHASES = (
    "proyectar",
    "repartir en cabezas",
    "puntuar",
    "escalar",
    "enmascarar",
    "normalizar",
    "promediar",
    "unir",
)
"""Los pasos de la atención, con los nombres que llevan en todo el libro."""


def blocks(
    grid: Sequence[Sequence[str | None]],
    arrows: Sequence[Sequence[str]],
    *,
    roles: Mapping[str, str] | None = None,
    captions: Mapping[str, str] | None = None,
    plain: Collection[str] = (),
    dashed: Collection[str] = (),
    lit: Collection[str] = (),
    frames: Mapping[str, Collection[str]] | None = None,
) -> Figure:
    """Cajas en una rejilla y flechas entre ellas; las que se saltan filas van por un carril
    lateral.

    grid: filas de arriba abajo; cada una, los nombres de sus cajas. ``None`` deja un hueco y un
    nombre repetido en casillas contiguas ocupa todas. El nombre es lo que se escribe; lo que sigue
    a «#» no se escribe, y sirve para repetir rótulo («LSTM#1», «LSTM#2»). «+», «×» y «σ» son
    círculos. arrows: ``(de, a)`` o ``(de, a, rótulo)``; el rótulo suele ser la forma, «n × d_k».
    roles: ``{caja: papel}``; captions: una línea menor dentro de la caja (su forma).
    plain: cajas sin borde (datos); dashed: con borde de trazos (opcionales); lit: las que se
    explican. frames: ``{rótulo: cajas}``, un marco alrededor de varias («× 6»).

    Errores: ``ValueError`` si una flecha nombra una caja que no está, si un nombre no forma un
    rectángulo o no caben.
    Ejemplo: ``diagrams.blocks([["softmax"], ["puntuar", "puntuar"], ["Q", "K"]], [("Q", "puntuar"),
    ("K", "puntuar"), ("puntuar", "softmax", "n × m")], roles={"Q": "query", "K": "key"})``.
    """
    drawing = _Blocks(
        grid, [tuple(arrow) for arrow in arrows], roles or {}, captions or {}, frozenset(plain)
    )
    for name, chosen in (
        ("roles", roles),
        ("captions", captions),
        ("plain", plain),
        ("dashed", dashed),
        ("lit", lit),
    ):
        drawing.known(name, chosen or ())
    for title, members in (frames or {}).items():
        drawing.known(f"frames[{title}]", members)
    drawing.place(bool(frames))
    for title, members in (frames or {}).items():
        drawing.frame(title, members)
    for arrow in drawing.arrows:
        drawing.connect(*arrow)
    for name in drawing.spans:
        drawing.box(name, name in dashed, name in lit)
    return drawing.finish()


class _Blocks:
    """Rejilla de cajas: sitios, tamaños y rutas de las flechas."""

    def __init__(
        self,
        grid: Sequence[Sequence[str | None]],
        arrows: list[tuple[str, ...]],
        roles: Mapping[str, str],
        captions: Mapping[str, str],
        plain: frozenset[str],
    ) -> None:
        self.spans = _spans(grid)
        self.n_rows, self.n_cols = len(grid), max(map(len, grid))
        self.arrows, self.captions, self.plain, self.canvas = arrows, captions, plain, Canvas()
        self.roles = {name: as_role(role, f"roles[{name}]") for name, role in roles.items()}
        self.boxes: dict[str, Box] = {}
        self.lanes = {-1: 0, 1: 0}
        for arrow in arrows:
            if len(arrow) not in (2, 3):
                raise ValueError(f"arrows: llegó {arrow}; se esperaba (de, a) o (de, a, rótulo)")
            self.known("arrows", arrow[:2])

    def known(self, argument: str, names: Collection[str]) -> None:
        for name in names:
            if name not in self.spans:
                raise ValueError(
                    f"{argument}: «{name}» no está en grid; están {', '.join(self.spans)}"
                )

    def place(self, framed: bool) -> None:
        """Anchos de columna y altos de fila, y con ellos la caja de cada nombre."""
        skips = sum(self._skips(arrow) for arrow in self.arrows)
        side = 10.0 + (16.0 * ((skips + 1) // 2) if skips else 0.0) + (10 if framed else 0)
        gap = self._column_gap()
        room = PAGE - 2 * side - gap * (self.n_cols - 1)
        wanted = [max([24.0, *(self._width(n) for n, s in self.spans.items() if s[2] == s[3] == c)])
                  for c in range(self.n_cols)]  # fmt: skip
        if sum(wanted) > room:
            raise ValueError(
                f"grid: las {self.n_cols} columnas no caben a lo ancho; conviene acortar nombres"
            )
        spare = min(1.6, room / sum(wanted))
        widths = [min(width * spare, max(width, 150.0)) for width in wanted]
        left = (PAGE - sum(widths) - gap * (self.n_cols - 1)) / 2
        xs = [left + sum(widths[:c]) + gap * c for c in range(self.n_cols)]
        y = 10.0 + (18.0 if framed else 0.0)
        rows: list[tuple[float, float]] = []
        for r in range(self.n_rows):
            height = max(
                [24.0, *(self._height(n) for n, s in self.spans.items() if s[0] == s[1] == r)]
            )
            rows.append((y, height))
            y += height + self._row_gap(r)
        for name, (r0, r1, c0, c1) in self.spans.items():
            top, end = rows[r0][0], rows[r1][0] + rows[r1][1]
            self.boxes[name] = (xs[c0], top, xs[c1] + widths[c1] - xs[c0], end - top)
        self.bottom = rows[-1][0] + rows[-1][1]

    def _width(self, name: str) -> float:
        return max(measure(_label(name)), measure(self.captions.get(name, ""), SHAPE)) + (
            8 if name in self.plain else 20
        )

    def _height(self, name: str) -> float:
        lines = _label(name).count("\n") + 1
        return line_height() * lines + (line_height(SHAPE) if name in self.captions else 0) + 14

    def _skips(self, arrow: tuple[str, ...]) -> bool:
        (r0, r1, _, _), (s0, s1, _, _) = (self.spans[name] for name in arrow[:2])
        return max(s0 - r1, r0 - s1) > 1 and not self._straight(arrow[0], arrow[1])

    def _straight(self, one: str, other: str) -> bool:
        """Si entre dos cajas de la misma columna no hay ninguna otra."""
        (r0, r1, a0, a1), (s0, s1, b0, b1) = self.spans[one], self.spans[other]
        low, high = min(r1, s1) + 1, max(r0, s0)
        columns = range(max(a0, b0), min(a1, b1) + 1)
        between = [n for n, s in self.spans.items() if any(s[2] <= c <= s[3] for c in columns)
                   and any(s[0] <= r <= s[1] for r in range(low, high))]  # fmt: skip
        return bool(columns) and not between

    def _column_gap(self) -> float:
        labels = [
            measure(a[2], SHAPE) + 22 for a in self.arrows if len(a) == 3 and self._same_row(a)
        ]
        chained = any(self._same_row(arrow) for arrow in self.arrows)
        return max([20.0 if chained else 14.0, *labels])

    def _same_row(self, arrow: tuple[str, ...]) -> bool:
        one, other = self.spans[arrow[0]], self.spans[arrow[1]]
        return one[0] <= other[1] and other[0] <= one[1]

    def _row_gap(self, row: int) -> float:
        labelled = any(len(a) == 3 and not self._same_row(a) for a in self.arrows
                       if row in (self.spans[a[0]][1], self.spans[a[1]][1]))  # fmt: skip
        return 38.0 if labelled else 26.0

    def box(self, name: str, dashed: bool, lit: bool) -> None:
        x, y, w, h = self.boxes[name]
        role, label, caption = self.roles.get(name, "ink"), _label(name), self.captions.get(name)
        color = COLORS[role]
        center = (x + w / 2, y + h / 2)
        if label in {"+", "×", "σ", "·"}:
            self.canvas.ellipse(*center, 11, 11, color=color, width=1.3, order=3)
        elif name not in self.plain:
            tint = 0.16 if lit else 0.05 if role == "ink" else TINT
            dash = (0, (3, 2.5)) if dashed else DASHES.get(role, "-")
            self.canvas.rect(
                x,
                y,
                w,
                h,
                color=color,
                fill=WEIGHT if lit else color,
                alpha=tint,
                radius=6,
                width=2.2 if lit else 1.2,
                dash=dash,
                order=3,
            )
        bold = lit or (name in self.roles and len(label) < 4)
        self.canvas.text(
            center[0], center[1] - (8 if caption else 0), label, color=color, bold=bold
        )
        if caption:
            self.canvas.text(center[0], center[1] + 9, caption, size=SHAPE, color=MUTED)

    def connect(self, one: str, other: str, label: str = "") -> None:
        """La flecha entre dos cajas, por el camino más sencillo."""
        if self._same_row((one, other)):
            self._sideways(one, other, label)
        elif self._skips((one, other)):
            self._lane(one, other, label)
        else:
            self._upright(one, other, label)

    def _trim(self, name: str) -> Box:
        """La caja con la que se topa la flecha; la de un círculo es más pequeña."""
        x, y, w, h = self.boxes[name]
        if _label(name) in {"+", "×", "σ", "·"}:
            return x + w / 2 - 11, y + h / 2 - 11, 22.0, 22.0
        if name in self.plain:
            wide = self._width(name)
            return x + (w - wide) / 2, y, wide, h
        return x, y, w, h

    def _sideways(self, one: str, other: str, label: str) -> None:
        a, b = self._trim(one), self._trim(other)
        y = max(a[1], b[1]) / 2 + min(a[1] + a[3], b[1] + b[3]) / 2
        forward = a[0] < b[0]
        start, end = (a[0] + a[2] + 1, b[0] - 2) if forward else (a[0] - 1, b[0] + b[2] + 2)
        self.canvas.arrow([(start, y), (end, y)])
        if label:
            self.canvas.text((start + end) / 2, y - 10, label, size=SHAPE, color=MUTED)

    def _upright(self, one: str, other: str, label: str) -> None:
        a, b = self._trim(one), self._trim(other)
        down = a[1] < b[1]
        y0, y1 = (a[1] + a[3] + 1, b[1] - 2) if down else (a[1] - 1, b[1] + b[3] + 2)
        x0, x1 = self._anchor(a, b), self._anchor(b, a)
        middle = (y0 + y1) / 2
        points: list[Point] = [(x0, y0), (x1, y1)]
        if abs(x0 - x1) > 1:
            points = [(x0, y0), (x0, middle), (x1, middle), (x1, y1)]
        self.canvas.arrow(points, color=COLORS[self.roles.get(one, "ink")])
        if label:
            at = (y0 + middle) / 2 if abs(x0 - x1) > 1 else middle
            self._beside(x0, at, label)

    def _beside(self, x: float, y: float, label: str) -> None:
        """El rótulo de una flecha vertical: a su derecha o, si se saldría de la hoja, a su
        izquierda.
        """
        width, ha = measure(label, SHAPE), "left"
        if x + 6 + width > PAGE - 2:
            ha = "right"
            if not self.canvas.free((x - 6 - width, y - SHAPE / 2, x - 6, y + SHAPE / 2)):
                raise ValueError(f"arrows: «{label}» no cabe junto a su flecha; conviene acortarlo")
        self.canvas.text(x + (6 if ha == "left" else -6), y, label, ha=ha, size=SHAPE, color=MUTED)

    @staticmethod
    def _anchor(box: Box, toward: Box) -> float:
        """La x por la que se sale hacia otra caja: recta si se puede."""
        center, other = box[0] + box[2] / 2, toward[0] + toward[2] / 2
        inside = box[0] + 8 <= other <= box[0] + box[2] - 8
        return other if inside and toward[2] <= box[2] else center

    def _lane(self, one: str, other: str, label: str) -> None:
        """Por fuera: un carril a la izquierda o a la derecha, el que esté menos usado."""
        side = -1 if self.lanes[-1] <= self.lanes[1] else 1
        self.lanes[side] += 1
        a, b = self._trim(one), self._trim(other)
        between = self.boxes.values()
        edge = (
            min(box[0] for box in between) if side < 0 else max(box[0] + box[2] for box in between)
        )
        x = edge + side * (4 + 12 * self.lanes[side])
        start, end = (
            (a[0] if side < 0 else a[0] + a[2]),
            (b[0] - 2 if side < 0 else b[0] + b[2] + 2),
        )
        ya, yb = a[1] + a[3] / 2, b[1] + b[3] / 2
        self.canvas.arrow([(start, ya), (x, ya), (x, yb), (end, yb)], color=MUTED, radius=9)
        if label:
            width = measure(label, SHAPE)
            self.canvas.text(
                min(max(x, width / 2 + 3), PAGE - width / 2 - 3),
                min(ya, yb) - 11,
                label,
                size=SHAPE,
                color=MUTED,
            )

    def frame(self, title: str, members: Collection[str]) -> None:
        """Un marco alrededor de varias cajas, con su rótulo arriba a la derecha."""
        boxes = [self.boxes[name] for name in members]
        lane = 14.0 if any(self._skips(arrow) for arrow in self.arrows) else 0.0
        left, top = min(b[0] for b in boxes) - 10 - lane, min(b[1] for b in boxes) - 11
        right, bottom = (
            max(b[0] + b[2] for b in boxes) + 10 + lane,
            max(b[1] + b[3] for b in boxes) + 11,
        )
        self.canvas.rect(
            left,
            top,
            right - left,
            bottom - top,
            color=MUTED,
            fill=MUTED,
            alpha=0.06,
            radius=10,
            width=0.9,
            order=0.2,
        )
        self.canvas.text(right + 6, (top + bottom) / 2, title, ha="left", color=MUTED)

    def finish(self) -> Figure:
        return self.canvas.finish(self.bottom + 14)


def _label(name: str) -> str:
    return name.split("#")[0]


def _spans(grid: Sequence[Sequence[str | None]]) -> dict[str, tuple[int, int, int, int]]:
    """Filas y columnas que ocupa cada nombre: (fila, última fila, columna, última columna)."""
    cells: dict[str, list[tuple[int, int]]] = {}
    for r, row in enumerate(grid):
        if isinstance(row, str):
            raise TypeError(
                f"grid: la fila {r} es el texto {row!r}; se esperaba una lista de nombres"
            )
        for c, name in enumerate(row):
            if name is not None:
                cells.setdefault(name, []).append((r, c))
    if not cells:
        raise ValueError("grid: no hay ninguna caja")
    spans = {}
    for name, places in cells.items():
        rows, cols = [r for r, _ in places], [c for _, c in places]
        span = (min(rows), max(rows), min(cols), max(cols))
        if len(places) != (span[1] - span[0] + 1) * (span[3] - span[2] + 1):
            raise ValueError(
                f"grid: las casillas de «{name}» no forman un rectángulo; «{name}#2» sería otra"
                " caja"
            )
        spans[name] = span
    return spans


def phases(active: Collection[str] = (), *, done: Collection[str] = ()) -> Figure:
    """Los pasos de la atención en orden, con los que se explican encendidos.

    active: nombres de los pasos encendidos, de :data:`PHASES`; done: los que ya se han explicado,
    en tinta.

    Errores: ``ValueError`` si un nombre no es uno de los ocho pasos.
    Ejemplo: ``diagrams.phases(["puntuar", "escalar"], done=["proyectar"])``.
    """
    for argument, chosen in (("active", active), ("done", done)):
        for name in [chosen] if isinstance(chosen, str) else chosen:
            if name not in PHASES:
                raise ValueError(
                    f"{argument}: «{name}» no es un paso; los pasos son {', '.join(PHASES)}"
                )
    canvas, gap, height = Canvas(), 22.0, 27.0
    lines = _flow([measure(name, SIZE, True) + 18 for name in PHASES], gap)
    y = 4.0
    for line in lines:
        x = 4.0
        for index, width in line:
            name = PHASES[index]
            _step(canvas, (x, y, width, height), name, name in active, name in done)
            x += width
            if index < len(PHASES) - 1:
                canvas.arrow(
                    [(x + 4, y + height / 2), (x + gap - 4, y + height / 2)], color=MUTED, head=6
                )
            x += gap
        y += height + 15
    return canvas.finish(y - 9)


def _flow(widths: list[float], gap: float) -> list[list[tuple[int, float]]]:
    """Reparte los pasos en líneas."""
    lines: list[list[tuple[int, float]]] = [[]]
    for index, width in enumerate(widths):
        used = sum(w + gap for _, w in lines[-1])
        if used + width + (gap if index < len(widths) - 1 else 0) > PAGE - 6:
            lines.append([])
        lines[-1].append((index, width))
    return lines


def _step(canvas: Canvas, box: Box, name: str, lit: bool, done: bool) -> None:
    color = WEIGHT if lit else INK if done else MUTED
    fill = WEIGHT if lit else None
    canvas.rect(
        *box,
        radius=box[3] / 2,
        color=color,
        fill=fill,
        alpha=TINT,
        width=2.0 if lit else 0.9,
        edge_alpha=1.0 if lit or done else 0.6,
    )
    canvas.text(box[0] + box[2] / 2, box[1] + box[3] / 2, name, color=color, bold=lit)
