"""Lo que se toca para saber si lo que se mira se usa, y lo que se escribe entonces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    INK,
    MUTED,
    PAGE,
    SIZE,
    SMALL,
    WEIGHT,
    Canvas,
    as_words,
    line_height,
    measure,
    wrap,
)

__all__ = ["Intervention", "interventions"]

_STEP, _THREAD, _ROW = 25.0, 40.0, 24.0


@dataclass(frozen=True)
class Intervention:
    """Una intervención: su nombre, lo que se toca, lo que se lee y se escribe, y lo que pasa.

    looks: el sitio de ``read`` que mira cada signo de ``written`` (``None``, ninguno). hidden: los
    sitios tapados. told: lo que se le ha hecho creer que llevaba escrito.
    """

    name: str
    touched: str
    read: Sequence[str]
    written: Sequence[str]
    looks: Sequence[int | None]
    result: str
    hidden: Sequence[int] = ()
    told: Sequence[str] = ()


def interventions(
    panels: Sequence[Intervention],
    *,
    labels: tuple[str, str, str] = ("ya escrito", "escribe", "lee"),
) -> Figure:
    """Una viñeta por intervención: arriba lo que se escribe, abajo lo que se lee, y al lado lo que
    pasa.

    labels: los rótulos de lo ya escrito (si se miente), de lo que se escribe y de lo que se lee. Lo
    escrito que no es lo que se lee en su mismo sitio va en violeta.

    Errores: ``ValueError`` si no hay viñetas, las listas no casan o no caben.
    Ejemplo: ``one = Intervention("tapar", "la s", "sí", "?í", [None, 1], "falla")`` y
    ``diagrams.interventions([one])``.
    """
    if not panels:
        raise ValueError("panels: no llegó ninguna viñeta; se esperaba al menos una")
    left = 16 + max(measure(label, SMALL) for label in labels)
    longest = max(max(len(one.read), len(one.written)) for one in panels)
    side = left + longest * _STEP + 4
    if PAGE - side < 70:
        raise ValueError(f"panels: {longest} signos no caben; conviene acortar")
    canvas, y = Canvas(), 12.0
    for one in panels:
        _check(one)
        width = canvas.text(6, y, one.name, ha="left", size=SIZE + 1, bold=True)
        canvas.text(12 + width, y, one.touched, ha="left", size=SMALL, color=MUTED)
        bottom = _panel(canvas, one, labels, (left, y + 24))
        told = wrap(one.result, PAGE - side - 2, SIZE)
        middle = (y + 24 + bottom) / 2
        canvas.text(side + 2, middle, told, ha="left", color=WEIGHT)
        y = max(bottom, middle + (told.count("\n") + 1) * line_height() / 2) + 34
    return canvas.finish(y - 22)


def _check(one: Intervention) -> None:
    read, written = as_words(list(one.read), "read"), as_words(list(one.written), "written")
    spots = {spot for spot in (*one.looks, *one.hidden) if spot is not None}
    if len(one.looks) != len(written) or not spots <= set(range(len(read))):
        raise ValueError(
            f"panels: en «{one.name}» se esperaba un sitio de 0 a {len(read) - 1}, o None, por "
            f"signo escrito; llegó {list(one.looks)}"
        )


def _panel(
    canvas: Canvas, one: Intervention, labels: tuple[str, str, str], corner: tuple[float, float]
) -> float:
    """Las filas y los hilos de una viñeta; devuelve dónde acaba."""
    left, y = corner
    xs = [left + (place + 0.5) * _STEP for place in range(max(len(one.read), len(one.written)))]
    if one.told:
        _row(canvas, labels[0], one.told, xs, y, [MUTED] * len(one.told))
        wide = len(one.told) * _STEP
        canvas.rect(left, y - 10, wide, 20, radius=4, color=MUTED, dash=(0, (3, 2)))
        y += _ROW
    same = [sign == other for sign, other in zip(one.written, one.read, strict=False)]
    _row(canvas, labels[1], one.written, xs, y, [INK if ok else WEIGHT for ok in same])
    low = y + _THREAD + _ROW
    _row(canvas, labels[2], one.read, xs, low, [INK] * len(one.read))
    for spot in one.hidden:
        box = (xs[spot] - 10, low - 10, 20, 20)
        canvas.rect(*box, color=MUTED, hatch="////", radius=3, order=3)
    for x, spot in zip(xs, one.looks, strict=False):
        if spot is not None:
            ends = [(x, y + 11), (xs[spot], low - 11)]
            canvas.arrow(ends, color=WEIGHT, width=2.0)
    return low + 8


def _row(
    canvas: Canvas, label: str, signs: Sequence[str], xs: list[float], y: float, colors: list[str]
) -> None:
    """Una fila de signos con su rótulo a la izquierda."""
    canvas.text(xs[0] - _STEP / 2 - 4, y, label, ha="right", size=SMALL, color=MUTED)
    for sign, x, color in zip(signs, xs, colors, strict=False):
        canvas.text(x, y, sign, size=SIZE + 1, color=color, bold=color == WEIGHT)
