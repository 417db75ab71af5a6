"""Por dónde llega algo en dos saltos: a un sitio intermedio, y de ahí a lo que se escribe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    INK,
    MUTED,
    PAGE,
    SIZE,
    SMALL,
    TINT,
    WEIGHT,
    Canvas,
    Point,
    as_words,
    line_height,
    measure,
    wrap,
)

__all__ = ["relays"]

_HIGH, _FLOOR = 22.0, 58.0


def relays(
    columns: Sequence[str],
    ways: Mapping[str, tuple[int, int, str]],
    *,
    out: str,
    floors: Sequence[str] = (),
) -> Figure:
    """El mismo esquema una vez por camino, con el camino encendido.

    columns: (n) lo que hay en los dos pisos de abajo; ways: ``{título: (columna de la que sale,
    columna por la que pasa, nota)}``, la nota debajo; out: lo que se escribe, encima de la primera
    columna; floors: los rótulos de los tres pisos, de arriba abajo, y el de las notas.

    Errores: ``ValueError`` si no hay caminos, una columna no existe o no caben.
    Ejemplo: ``diagrams.relays(["a", "b"], {"directo": (1, 1, "3 de 5")}, out="c")``.
    """
    names = as_words(columns, "columns")
    bad = [way for way in ways.values() if not all(0 <= spot < len(names) for spot in way[:2])]
    if bad or not ways:
        raise ValueError(f"ways: llegó {bad or 'vacío'}; se esperaban columnas desde 0")
    left = max((measure(floor, SMALL) + 8 for floor in floors if floor), default=0.0)
    panel = (PAGE - left) / len(ways)
    pitch = (panel - 8) / len(names)
    if pitch < max(map(measure, [*names, out])) + 10:
        raise ValueError("columns: los caminos no caben; conviene acortar los rótulos")
    titles = [wrap(title, (panel - 6) / 1.12, SIZE) for title in ways]
    top = line_height() * max(title.count("\n") + 1 for title in titles) + 12
    canvas = Canvas()
    heights = [top + floor * _FLOOR + _HIGH / 2 for floor in range(3)]
    heights.append(top + 2 * _FLOOR + _HIGH + 18)
    for y, label in zip(heights, floors, strict=False):
        canvas.text(4, y, label, ha="left", size=SMALL, color=MUTED)
    for index, (title, (start, middle, note)) in enumerate(zip(titles, ways.values(), strict=True)):
        x = left + index * panel
        canvas.text(x + panel / 2, top / 2 - 2, title, bold=True)
        spots = [x + 4 + pitch * (place + 0.5) for place in range(len(names))]
        _scheme(canvas, (spots, top), pitch - 5, [*names, out], (start, middle))
        canvas.text(x + panel / 2, heights[-1], note, color=WEIGHT, bold=True)
    return canvas.finish(heights[-1] + 12)


def _scheme(
    canvas: Canvas,
    place: tuple[list[float], float],
    wide: float,
    names: list[str],
    way: tuple[int, int],
) -> None:
    """Las cajas de los tres pisos y las dos flechas del camino."""
    (spots, top), (start, middle) = place, way
    for floor in (1, 2):
        for column, (x, name) in enumerate(zip(spots, names[:-1], strict=True)):
            lit = column == (middle if floor == 1 else start)
            _box(canvas, (x, top + floor * _FLOOR), wide, name, lit)
    _box(canvas, (spots[0], top), wide, names[-1], True)
    for floor, (below, above) in ((2, (start, middle)), (1, (middle, 0))):
        y = top + floor * _FLOOR
        canvas.arrow(
            [(spots[below], y - 2), (spots[above], y - _FLOOR + _HIGH + 2)],
            color=WEIGHT,
            width=2.4,
        )


def _box(canvas: Canvas, spot: Point, wide: float, name: str, lit: bool) -> None:
    """Una caja con su rótulo, teñida si el camino pasa por ella."""
    x, y = spot
    color = WEIGHT if lit else MUTED
    look = {"color": color, "fill": color, "alpha": TINT if lit else 0.04}
    canvas.rect(x - wide / 2, y, wide, _HIGH, radius=4, width=1.2 if lit else 0.7, **look)
    canvas.text(x, y + _HIGH / 2, name, color=INK if lit else MUTED)
