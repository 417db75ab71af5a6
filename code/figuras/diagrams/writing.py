"""Escribir palabra a palabra: la frase que crece, las palabras que un filtro deja y las cuentas que
una caché se ahorra.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
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
_STRIP = 34.0  # alto de la tira de una distribución


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


def filters(
    words: Sequence[str], panels: Mapping[str, Any], *, tail: str = "la cola", spec: str = ".2f"
) -> Figure:
    """Lo que cada filtro hace con una distribución: una tira por filtro, partida entre las palabras
    que deja. Todas miden lo mismo, porque todas suman 1.

    words: (n) palabras, de la más probable a la menos; panels: ``{título: (n) probabilidades}``,
    de una a seis. En cada trozo en el que caben van la palabra y su probabilidad, y a la derecha,
    cuántas palabras quedan. En la primera se señala, con el nombre ``tail``, lo que no tiene
    rótulo.

    Errores: ``ValueError`` si una tira no tiene n números de 0 a 1 que suman 1 o si hay más de
    seis. Ejemplo: ``diagrams.filters(["es", "no"], {"sin filtro": [0.9, 0.1], "k = 1": [1, 0]})``.
    """
    names = as_words(words, "words")
    tables = {title: [float(p) for p in values] for title, values in panels.items()}
    wrong = [t for t, row in tables.items() if len(row) != len(names) or not 0 <= min(row)]
    if wrong or not 1 <= len(tables) <= 6 or any(abs(sum(r) - 1) > 1e-3 for r in tables.values()):
        raise ValueError(
            f"panels: se esperaban de una a seis tiras de {len(names)} números de 0 a 1 que suman "
            f"1; llegó {list(tables)}"
        )
    canvas, top = Canvas(), 22.0
    left = max(measure(title, SMALL) for title in tables) + 11
    wide = PAGE - left - measure(f"quedan {len(names)}", SMALL) - 8
    if wide < 120:
        raise ValueError("panels: un título es tan largo que la tira no cabe")
    for index, (title, row) in enumerate(tables.items()):
        y = top + index * (_STRIP + 9)
        canvas.text(left - 8, y + _STRIP / 2, title, size=SMALL, ha="right")
        told = _strip(canvas, (left, y), wide, names, row, spec)
        kept = sum(p > 0 for p in row)
        text = f"quedan {kept}" if index else f"hay {kept}"
        canvas.text(left + wide + 6, y + _STRIP / 2, text, size=SMALL, ha="left", color=MUTED)
        if index == 0 and told < 1 - 20 / wide:
            _tail(canvas, left + told * wide, left + wide, tail)
    return canvas.finish(top + len(tables) * (_STRIP + 9) - 5)


def _strip(
    canvas: Canvas,
    at: tuple[float, float],
    wide: float,
    names: Sequence[str],
    row: Sequence[float],
    spec: str,
) -> float:
    """Una tira; devuelve la probabilidad que juntan los trozos con rótulo del principio."""
    (x, y), seen, told, room = at, 0.0, 0.0, True
    canvas.rect(x, y, wide, _STRIP, color=None, fill=WEIGHT, alpha=TINT)
    for name, p in zip(names, row, strict=True):
        w = p * wide
        lines = [name, number(p, spec)]
        room = room and max(measure(line, SMALL) for line in lines) + 3 <= w
        if room:
            canvas.rect(x + seen * wide, y, w, _STRIP, color=None, fill=WEIGHT, alpha=0.2)
            canvas.text(x + (seen + p / 2) * wide, y + _STRIP / 2, "\n".join(lines), size=SMALL)
            told = seen + p
        seen += p
        if w >= 2 and seen < 1 - 1 / wide:
            edge = [(x + seen * wide, y), (x + seen * wide, y + _STRIP)]
            canvas.line(edge, color=WEIGHT, width=0.8)
    canvas.rect(x, y, wide, _STRIP, color=WEIGHT, width=1.2)
    return told


def _tail(canvas: Canvas, start: float, stop: float, name: str) -> None:
    """La llave de la cola, encima de la primera tira."""
    canvas.line([(start, 20), (start, 16), (stop, 16), (stop, 20)], color=MUTED)
    canvas.text(stop, 8, name, size=SMALL, ha="right", color=MUTED)


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
