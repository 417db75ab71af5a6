"""Texto cortado en piezas: las mismas letras en cada fila, y el retículo de todos los cortes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from matplotlib.figure import Figure

from figuras.diagrams.canvas import PAGE, SIZE, SMALL, TINT, Canvas, as_matrix, measure, number
from figuras.plots.style import INK, MUTED, WEIGHT

__all__ = ["lattice", "pieces"]

_CELL, _ROW, _GAP, _NARROW = 24.0, 24.0, 11.0, 8.0


def pieces(
    rows: Mapping[str, Sequence[str]],
    *,
    ids: Sequence[int] | None = None,
    vectors: Any = None,
) -> Figure:
    """Un texto cortado de varias maneras, una por fila, con cada letra siempre en su columna.

    rows: ``{rótulo: piezas}``; todas las filas dicen el mismo texto. Las piezas que no estaban en
    la fila de arriba van teñidas. ids: un número por pieza de la última fila, debajo. vectors:
    (n, d) un vector por pieza, como una columna de celdas tan intensas como su valor.

    Errores: ``ValueError`` si las filas no dicen lo mismo, no hay un número o un vector por pieza
    o el texto no cabe.
    Ejemplo: ``diagrams.pieces({"letras": list("comen"), "unión 1": ["c", "om", "e", "n"]})``.
    """
    cut = _cuts(rows)
    last = next(reversed(cut.values()))
    left = max(map(measure, [*rows, "vectores" if vectors is not None else ""])) + 12
    cell = min(_CELL, (PAGE - left - 6) / last[-1][1])
    _check_fit(rows, cell)
    canvas, y, before = Canvas(), 4.0, None
    for label, spans in cut.items():
        canvas.text(4, y + _ROW / 2, label, ha="left", size=SMALL, color=MUTED)
        for (start, end), piece in zip(spans, rows[label], strict=True):
            new = before is not None and (start, end) not in before
            _box(canvas, (left + start * cell, y, (end - start) * cell, _ROW), piece, new)
        before, y = set(spans), y + _ROW + _GAP
    middles = [left + cell * (start + end) / 2 for start, end in last]
    if ids is not None:
        y = _numbers(canvas, y, middles, ids)
    if vectors is not None:
        y = _columns(canvas, y, middles, vectors)
    return canvas.finish(y)


def lattice(
    word: str,
    edges: Sequence[tuple[int, int, float]],
    best: Collection[tuple[int, int]] = (),
    *,
    spec: str = ".1f",
) -> Figure:
    """Todas las piezas que caben en una palabra, cada una bajo las letras que cubre.

    edges: ``(principio, fin, número)`` de cada pieza, en huecos entre letras; best: los
    ``(principio, fin)`` del corte elegido, que van teñidos.

    Errores: ``ValueError`` si una pieza se sale de la palabra o el corte no la cubre justo.
    Ejemplo: ``diagrams.lattice("comen", [(0, 3, -5.2), (3, 5, -3.1)], [(0, 3), (3, 5)])``.
    """
    chosen, n = sorted(best), len(word)
    for start, end, _ in edges:
        if not 0 <= start < end <= n:
            raise ValueError(f"edges: llegó ({start}, {end}); se esperaban huecos de 0 a {n}")
    if chosen and [0, *(end for _, end in chosen)] != [*(start for start, _ in chosen), n]:
        raise ValueError(f"best: llegó {chosen}; se esperaba un corte que cubra «{word}»")
    canvas, cell = Canvas(), min(40.0, (PAGE - 8) / n)
    left, y = (PAGE - n * cell) / 2, 4.0
    for i, letter in enumerate(word):
        shown = "␣" if letter == " " else letter
        canvas.text(left + (i + 0.5) * cell, y + 10, shown, size=SIZE + 2, bold=True)
    free: list[list[tuple[int, int]]] = []
    for start, end, value in sorted(edges, key=lambda edge: (edge[1] - edge[0], edge[0])):
        lane = _lane(free, start, end)
        place = (left + start * cell + 1.5, y + 26 + lane * 27, (end - start) * cell - 3, 22.0)
        _box(canvas, place, number(value, spec), (start, end) in chosen)
    return canvas.finish(y + 28 + 27 * len(free))


def _lane(lanes: list[list[tuple[int, int]]], start: int, end: int) -> int:
    """El primer piso en el que la pieza no pisa a otra; lo apunta."""
    for index, taken in enumerate(lanes):
        if all(end <= a or b <= start for a, b in taken):
            taken.append((start, end))
            return index
    lanes.append([(start, end)])
    return len(lanes) - 1


def _cuts(rows: Mapping[str, Sequence[str]]) -> dict[str, list[tuple[int, int]]]:
    """Los huecos (principio, fin) de cada pieza de cada fila."""
    texts = {"".join(row) for row in rows.values()}
    if len(texts) != 1 or not all(all(row) and row for row in rows.values()):
        raise ValueError(f"rows: se esperaba el mismo texto en cada fila; llegó {sorted(texts)}")
    return {
        label: list(pairwise(accumulate(map(len, row), initial=0))) for label, row in rows.items()
    }


def _check_fit(rows: Mapping[str, Sequence[str]], cell: float) -> None:
    for row in rows.values():
        for piece in row:
            if cell < _NARROW or measure(piece) > len(piece) * cell + 4:
                raise ValueError(f"rows: «{piece}» no cabe; conviene un texto más corto")


def _box(canvas: Canvas, place: tuple[float, ...], text: str, lit: bool) -> None:
    x, y, w, h = place
    color = WEIGHT if lit else INK
    fill = dict(fill=color, alpha=TINT if lit else 0.05)
    canvas.rect(x + 0.8, y, w - 1.6, h, radius=3, color=color, width=1.5 if lit else 0.9, **fill)
    canvas.text(x + w / 2, y + h / 2, text.replace(" ", "␣"), bold=lit)


def _numbers(canvas: Canvas, y: float, middles: list[float], ids: Sequence[int]) -> float:
    if len(ids) != len(middles):
        raise ValueError(f"ids: llegaron {len(ids)} números; se esperaban {len(middles)}")
    canvas.text(4, y + 8, "números", ha="left", size=SMALL, color=MUTED)
    for x, number_ in zip(middles, ids, strict=True):
        canvas.text(x, y + 8, str(number_), size=SMALL)
    return y + 16 + _GAP


def _columns(canvas: Canvas, y: float, middles: list[float], vectors: Any) -> float:
    table = as_matrix(vectors, "vectors", (len(middles), None))
    canvas.text(4, y + 7 * table.shape[1], "vectores", ha="left", size=SMALL, color=MUTED)
    for x, row in zip(middles, table, strict=True):
        canvas.grid(x - 7, y, len(row), 1, (14, 14), values=row[:, None], shade=True)
    return y + 14 * table.shape[1] + 6
