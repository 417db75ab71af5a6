"""Varias cabezas, cada una con su mapa."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from figuras.diagrams.canvas import PAGE, SMALL, Canvas, as_weights, as_words, measure
from figuras.plots.style import as_numbers

__all__ = ["heads"]

_TOP, _BETWEEN, _GAP = 42.0, 20.0, 14.0


def heads(
    weights: Any,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    titles: Sequence[str],
) -> Figure:
    """Un mapa pequeño por cabeza, dos por fila, con las mismas filas y columnas y la misma escala.

    weights: (head, n, m) pesos de 0 a 1; queries: (n) rótulos de las filas; keys: (m) de las
    columnas; titles: uno por cabeza.

    Errores: ``ValueError`` si las formas no casan, un peso no está entre 0 y 1 o no caben.
    Ejemplo: ``diagrams.heads(maps[0], words, words, titles=["la anterior", "la primera"])``.
    """
    rows, columns = as_words(queries, "queries"), as_words(keys, "keys")
    tables = as_numbers(weights, "weights")
    names = as_words(titles, "titles", len(tables))
    maps = [as_weights(table, "weights", (len(rows), len(columns))) for table in tables]
    left = max(map(measure, rows)) + 8
    cell = min(24.0, (PAGE - left - _GAP - 4) / 2 / len(columns))
    if cell < max(measure(key, SMALL) for key in columns) - 3:
        raise ValueError("keys: los rótulos no caben; conviene acortarlos")
    canvas, (wide, high) = Canvas(), (cell * len(columns), cell * len(rows))
    for index, (name, table) in enumerate(zip(names, maps, strict=True)):
        x = left + index % 2 * (wide + _GAP)
        y = _TOP + index // 2 * (high + _TOP + _BETWEEN)
        canvas.text(x + wide / 2, y - 30, name, size=SMALL, bold=True)
        canvas.grid(x, y, len(rows), len(columns), (cell, cell), role="weight", values=table)
        for j, key in enumerate(columns):
            canvas.text(x + (j + 0.5) * cell, y - 11, key, size=SMALL)
        for i, query in enumerate(rows if not index % 2 else []):
            canvas.text(x - 6, y + (i + 0.5) * cell, query, ha="right")
    lines = math.ceil(len(maps) / 2)
    return canvas.finish(lines * (high + _TOP + _BETWEEN) - _BETWEEN + 4)
