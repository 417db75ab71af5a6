"""Escribir palabra a palabra: la frase que crece, las palabras que un filtro deja y las cuentas que
una caché se ahorra.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from atento.diagrams.canvas import (
    MUTED,
    PAGE,
    PAPER,
    SMALL,
    TINT,
    WEIGHT,
    Canvas,
    as_words,
    measure,
    number,
)

_ROW, _BOX, _PAD = 31.0, 20.0, 2.0  # alto de un paso, de una palabra y aire a sus lados


def growth(words: Sequence[str], probabilities: Any, *, start: str = "⟨bos⟩") -> Figure:
    """Una frase que crece: en cada fila entra lo ya escrito y sale una palabra más, que baja a la
    fila siguiente.

    words: (T) palabras que se escriben, en orden; probabilities: (T) la que tenía cada una cuando
    se escribió. start: con qué se empieza.

    Errores: ``ValueError`` si no casan o si la frase no cabe en una línea.
    Ejemplo: ``diagrams.growth(["the", "house", "⟨eos⟩"], [0.9, 0.8, 1.0])``.
    """
    names = [start, *as_words(words, "words")]
    values = [float(p) for p in probabilities]
    if len(values) != len(names) - 1 or not all(0 <= p <= 1 for p in values):
        raise ValueError(
            f"probabilities: se esperaban {len(names) - 1} números de 0 a 1; llegó {values}"
        )
    widths = [measure(name, SMALL, True) + 2 * _PAD for name in names]
    lefts = [1.0 + sum(widths[:i]) + 2.0 * i for i in range(len(names))]
    if lefts[-1] + widths[-1] + 30 > PAGE:
        raise ValueError(f"words: la frase de {len(words)} palabras no cabe en una línea")
    canvas = Canvas()
    for step in range(1, len(names)):
        _written(canvas, names[:step], lefts, widths, step)
        _new(canvas, names[step], lefts[step], widths[step], step, values[step - 1])
        if step + 1 < len(names):
            x, y = lefts[step] + widths[step] / 2, 4 + (step - 1) * _ROW + _BOX
            canvas.arrow([(x, y + 1), (x, y + _ROW - _BOX - 1)], color=WEIGHT, width=1.2)
    return canvas.finish(4 + (len(names) - 1) * _ROW)


def _written(
    canvas: Canvas, names: Sequence[str], lefts: Sequence[float], widths: Sequence[float], step: int
) -> None:
    """Lo que entra en un paso: las palabras ya escritas."""
    y = 4 + (step - 1) * _ROW
    for name, x, w in zip(names, lefts, widths, strict=False):
        canvas.rect(x, y, w, _BOX, color=None, fill=MUTED, alpha=TINT, radius=4)
        canvas.text(x + w / 2, y + _BOX / 2, name, size=SMALL)


def _new(canvas: Canvas, name: str, x: float, w: float, step: int, value: float) -> None:
    """Lo que sale: la palabra nueva y, a su derecha, su probabilidad."""
    y = 4 + (step - 1) * _ROW
    canvas.rect(x, y, w, _BOX, color=WEIGHT, fill=WEIGHT, alpha=TINT, radius=4, width=1.4)
    canvas.text(x + w / 2, y + _BOX / 2, name, size=SMALL, bold=True)
    canvas.text(x + w + 4, y + _BOX / 2, number(value, ".2f"), size=SMALL, ha="left", color=MUTED)


def filters(words: Sequence[str], panels: Mapping[str, Any], *, spec: str = ".2f") -> Figure:
    """Lo que cada filtro hace con una distribución: un panel por filtro y una barra por palabra.

    words: (n) palabras; panels: ``{título: (n) probabilidades}``, de uno a cuatro. Las que valen 0
    se dibujan huecas, con lo que valían en el primer panel.

    Errores: ``ValueError`` si un panel no tiene n números de 0 a 1 o si hay más de cuatro.
    Ejemplo: ``diagrams.filters(["es", "no"], {"sin filtro": [0.9, 0.1], "núcleo": [1, 0]})``.
    """
    names = as_words(words, "words")
    tables = {title: [float(p) for p in values] for title, values in panels.items()}
    wrong = [t for t, row in tables.items() if len(row) != len(names) or not 0 <= min(row)]
    if wrong or not 1 <= len(tables) <= 4 or any(max(row) > 1 for row in tables.values()):
        raise ValueError(
            f"panels: se esperaban de uno a cuatro paneles de {len(names)} números de 0 a 1; "
            f"llegó {list(tables)}"
        )
    canvas, first = Canvas(), next(iter(tables.values()))
    left = max(measure(name, SMALL) for name in names) + 12
    share, top = (PAGE - left) / len(tables), max(title.count("\n") for title in tables) * 14 + 22
    most = max(max(row) for row in tables.values())
    for j, name in enumerate(names):
        canvas.text(left - 6, top + 20 * j + 8, name, size=SMALL, ha="right")
    for i, (title, row) in enumerate(tables.items()):
        x, room = left + i * share, share - 12 - measure(number(most, spec), SMALL)
        canvas.text(x, top / 2 - 2, title, size=SMALL, ha="left", bold=True)
        for j, value in enumerate(row):
            _bar(canvas, (x, top + 20 * j), room / most, value, first[j], spec)
    return canvas.finish(top + 20 * len(names) + 2)


def _bar(
    canvas: Canvas, at: tuple[float, float], scale: float, value: float, before: float, spec: str
) -> None:
    """Una barra llena, con su número, o la hueca de una palabra que ya no puede salir."""
    x, y = at
    if value > 0:
        canvas.rect(x, y + 2, max(value * scale, 1.0), 12, color=None, fill=WEIGHT, alpha=0.75)
        text = number(value, spec)
        canvas.text(x + value * scale + 3, y + 8, text, size=SMALL, ha="left")
        return
    canvas.rect(x, y + 2, max(before * scale, 2.0), 12, color=MUTED, width=0.8, dash=(0, (2, 1.5)))


def caching(
    words: Sequence[str], *, titles: tuple[str, str] = ("sin caché", "con caché")
) -> Figure:
    """Qué filas se calculan en cada paso de generación: sin caché, todas; con ella, la nueva.

    words: (n) lo que hay escrito al final; el paso t, que es la fila t, lee las t primeras.

    Errores: ``ValueError`` si no hay palabras o no caben.
    Ejemplo: ``diagrams.caching(["they", "do", "not", "clean"])``.
    """
    names = as_words(words, "words")
    left = max(measure(name, SMALL) for name in names) + 10
    side = min(20.0, (PAGE - left - 20) / (2 * len(names)))
    if side < 8:
        raise ValueError(f"words: {len(names)} palabras no caben")
    canvas, n = Canvas(), len(names)
    for j, name in enumerate(names):
        canvas.text(left - 6, 26 + side * (j + 0.5), name, size=SMALL, ha="right")
    for i, title in enumerate(titles):
        count = n * (n + 1) // 2 if i == 0 else n
        told = f"{count} filas calculadas" if count > 1 else "1 fila calculada"
        x = left + i * max(n * side + 18, measure(told, SMALL) + 14)
        canvas.text(x, 10, title, ha="left", bold=True)
        for row in range(n):
            for column in range(row + 1):
                _cell(canvas, x + column * side, 26 + row * side, side, i == 0 or row == column)
        canvas.text(x, 26 + n * side + 13, told, size=SMALL, ha="left")
    return canvas.finish(26 + n * side + 24)


def _cell(canvas: Canvas, x: float, y: float, side: float, computed: bool) -> None:
    """Una fila de números: calculada en este paso (llena) o guardada de antes (hueca)."""
    fill = {"fill": WEIGHT, "alpha": 0.75} if computed else {"fill": PAPER}
    edge = None if computed else MUTED
    canvas.rect(x + 1, y + 1, side - 2, side - 2, color=edge, radius=2, width=0.8, **fill)
