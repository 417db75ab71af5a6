"""La enseñanza forzada: lo que entra en el decodificador y lo que debe decir, corrido un sitio."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    INK,
    MUTED,
    PAGE,
    PAPER,
    SIZE,
    SMALL,
    TINT,
    WEIGHT,
    Canvas,
    as_words,
    measure,
)

__all__ = ["shifted"]

_HIGH, _ROW, _TOP = 22.0, 31.0, 24.0


def shifted(
    target: Sequence[str],
    *,
    start: str = "⟨inicio⟩",
    end: str = "⟨fin⟩",
    pad: int = 0,
    filler: str = "relleno",
    labels: tuple[str, str] = ("entra", "debe decir"),
) -> Figure:
    """Una fila por posición: la palabra que entra, la que hay que decir, y cómo esta entra después.

    target: (m) palabras de la traducción; start, end: las marcas de comienzo y de fin. pad: cuántas
    posiciones de relleno hay al final, rayadas, con el rótulo ``filler``; ahí no se predice nada.
    labels: rótulos de las dos columnas.

    Errores: ``ValueError`` si no hay palabras, no caben o ``pad`` no es un entero desde 0.
    Ejemplo: ``diagrams.shifted(["they", "clean"], pad=2)``.
    """
    words = as_words(target, "target")
    if not isinstance(pad, int) or pad < 0:
        raise ValueError(f"pad: llegó {pad!r}; se esperaba un entero desde 0")
    shown = [start, *words, end, *[filler] * (pad > 0), *labels]
    wide = max(measure(word, SIZE, True) for word in shown) + 18
    if 2 * wide > PAGE - 90:
        raise ValueError("target: las palabras no caben; conviene acortarlas")
    gap = min(96.0, PAGE - 30 - 2 * wide)
    left = 24 + (PAGE - 24 - 2 * wide - gap) / 2
    canvas, columns = Canvas(), (left, left + wide + gap)
    for x, label in zip(columns, labels, strict=True):
        canvas.text(x + wide / 2, 9, label, size=SMALL, color=MUTED)
    rows = [*pairwise([start, *words, end]), *[(filler, filler)] * pad]
    for index, pair in enumerate(rows):
        _row(canvas, columns, wide, index, pair, index > len(words))
    for index in range(len(words)):
        y = _TOP + index * _ROW + _HIGH
        ends = [(columns[1] - 2, y - 3), (left + wide + 3, y + _ROW - _HIGH + 4)]
        canvas.arrow(ends, color=MUTED, width=1.0, dash=(0, (3, 2)), order=0.5)
    return canvas.finish(_TOP + len(rows) * _ROW)


def _row(
    canvas: Canvas,
    columns: tuple[float, float],
    wide: float,
    index: int,
    pair: tuple[str, str],
    empty: bool,
) -> None:
    """Una posición: su número, lo que entra y lo que debe decir; si es relleno, rayada."""
    y = _TOP + index * _ROW
    middle = y + _HIGH / 2
    canvas.text(columns[0] - 14, middle, str(index + 1), size=SMALL, color=MUTED)
    for x, word, color in zip(columns, pair, (INK, WEIGHT), strict=True):
        look = {"color": color, "fill": color, "alpha": TINT if color == WEIGHT else 0.05}
        if empty:
            look = {"color": MUTED, "hatch": "////", "edge_alpha": 0.5}
        canvas.rect(x, y, wide, _HIGH, radius=3, **look)
        if empty:
            half = measure(word, SMALL) / 2 + 4
            canvas.rect(x + wide / 2 - half, y + 3, 2 * half, _HIGH - 6, color=None, fill=PAPER)
        canvas.text(
            x + wide / 2, middle, word, color=MUTED if empty else INK, size=SMALL if empty else SIZE
        )
    if not empty:
        canvas.arrow([(columns[0] + wide + 4, middle), (columns[1] - 4, middle)])
