"""Cada valor, un punto: lo que sale en cada semilla, y con qué se compara."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from figuras.plots.style import INK, MUTED, as_numbers, figure, format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["dots"]


def dots(
    values: Mapping[str, Any],
    references: Mapping[str, float],
    *,
    xlabel: str,
    labels: tuple[str, str],
    spec: str = "",
    xlim: tuple[float, float] | None = None,
) -> Axes:
    """Una fila por nombre: un círculo hueco por valor y un rombo lleno en la referencia.

    values: ``{fila: (semillas,) números}``; references: ``{fila: con qué se comparan}``; labels:
    qué son los círculos y qué el rombo, escrito al lado con la media y con la referencia. xlim: los
    extremos del eje.

    Errores: ``ValueError`` si no hay filas, una está vacía o los nombres no casan.
    Ejemplo: ``plots.dots({"copiar": [5, 6, 5]}, {"copiar": 6}, xlabel="aciertos (%)",
    labels=("tapado", "al azar"), spec=".0f")``.
    """
    rows = {name: as_numbers(found, f"values[{name!r}]").ravel() for name, found in values.items()}
    if not rows or set(rows) != set(references) or not all(found.size for found in rows.values()):
        raise ValueError(
            f"references: llegó {list(references)}; se esperaban las filas de values, {list(rows)},"
            " con un valor o más en cada una"
        )
    _, ax = figure(height=0.78 * len(rows) + 0.75)
    ax.set(xlabel=xlabel, ylim=(len(rows) - 0.5, -0.5), xlim=xlim)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.tick_params(axis="y", length=0)
    for row, (name, found) in enumerate(rows.items()):
        means = (float(found.mean()), float(references[name]))
        told = [
            f"{label}: {format_number(value, spec)}"
            for label, value in zip(labels, means, strict=True)
        ]
        _row(ax, row, np.sort(found), means[1], told)
    return ax


def _row(ax: Axes, row: int, found: np.ndarray, reference: float, told: Sequence[str]) -> None:
    """Los círculos de una fila, algo separados en vertical, y encima el rombo de su referencia."""
    style = {"linestyle": "", "markersize": 5.5, "clip_on": False}
    heights = row + 0.06 + 0.1 * (np.arange(found.size) % 3 - 1)
    ax.plot(found, heights, marker="o", color=INK, markerfacecolor="none", **style)
    ax.plot([reference], [row - 0.3], marker="D", color=MUTED, **style)
    spots = ((float(found.max()), row + 0.06, INK), (reference, row - 0.3, MUTED))
    for text, (x, y, color) in zip(told, spots, strict=True):
        ax.annotate(
            text,
            (x, y),
            (9, 0),
            textcoords="offset points",
            va="center_baseline",
            color=color,
            annotation_clip=False,
        )
