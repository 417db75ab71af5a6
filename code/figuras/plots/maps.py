"""Mapas de atención."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from figuras.plots.style import (
    INK,
    KEY,
    MUTED,
    QUERY,
    TOKENS,
    WEIGHT,
    WIDTH,
    as_numbers,
    figure,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

CELL_MID_FROM, CELL_HIGH_FROM = 0.617, 0.724
"""Pesos en los que cambia la tinta de los números: una celda de peso w es violeta con opacidad w
sobre el papel."""

_MAX_CELL = 46.0  # puntos


def attention_map(
    weights: Any,
    queries: Sequence[str] | None,
    keys: Sequence[str] | None,
    *,
    ax: Axes | None = None,
    values: bool = True,
    frame_row: int | None = None,
    mask: Any = None,
    xlabel: str = "claves",
    ylabel: str = "consultas",
) -> Axes:
    """Mapa de atención: una fila por consulta, una columna por clave, intensidad según el peso.

    weights: (query, key), con valores de 0 a 1. La escala es siempre la misma: 0 es el papel y 1 es
    el violeta del libro. queries, keys: palabras de las filas y de las columnas; ``None`` las
    numera desde 0. values: escribe los números si la matriz tiene como mucho 8 × 8 celdas y caben.
    frame_row: fila que se enmarca porque es la que se explica.
    mask: (query, key) booleana, ``True`` = puede atender; las celdas con ``False`` se rayan.

    Errores: ``ValueError`` si las formas no casan, si hay pesos fuera de [0, 1] o si hay NaN.
    """
    weights = _attention_weights(weights)
    n_rows, n_cols = weights.shape
    queries = _labels(queries, n_rows, "queries", "filas")
    keys = _labels(keys, n_cols, "keys", "columnas")
    allowed = _allowed(mask, weights)
    if frame_row is not None and not -n_rows <= frame_row < n_rows:
        raise ValueError(f"frame_row: llegó {frame_row}; se esperaba una de las {n_rows} filas")

    ax = ax or _map_figure(queries, keys, ylabel)
    _map_axes(ax, n_rows, n_cols, xlabel, ylabel)
    (_small_cells if max(weights.shape) <= 16 else _big_cells)(ax, weights)
    if not allowed.all():
        _add_patch(
            ax, _cells_path(~allowed), facecolor="none", edgecolor=MUTED, linewidth=0, hatch="////"
        )
    written = _cell_numbers(ax, weights, allowed) if values and max(weights.shape) <= 8 else []
    if frame_row is not None:
        frame_row %= n_rows
        frame = {"facecolor": "none", "edgecolor": INK, "linewidth": 2.0, "clip_on": False}
        ax.add_patch(Rectangle((-0.5, frame_row - 0.5), n_cols, 1, **frame))
    ax._atento_settle = partial(_settle_map, ax, queries, keys, frame_row, written)
    ax._atento_settle()
    return ax


def _allowed(mask: Any, weights: np.ndarray) -> np.ndarray:
    """Dónde se puede atender, (query, key); sin máscara, en todas partes."""
    if mask is None:
        return np.ones_like(weights, dtype=bool)
    allowed = _matrix(mask, "mask").astype(bool)
    if allowed.shape != weights.shape:
        raise ValueError(
            f"mask: llegó la forma {allowed.shape}; se esperaba la de weights, {weights.shape}"
        )
    return allowed


def _matrix(value: Any, name: str) -> np.ndarray:
    matrix = as_numbers(value, name)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"{name}: llegó la forma {matrix.shape}; se esperaba una matriz (query, key)"
        )
    return matrix


def _labels(labels: Sequence[str] | None, count: int, name: str, what: str) -> list[str]:
    if labels is None:
        return [str(index) for index in range(count)]
    labels = [str(label) for label in labels]
    if len(labels) != count:
        raise ValueError(f"{name}: llegaron {len(labels)} palabras y weights tiene {count} {what}")
    return labels


def _attention_weights(weights: Any) -> np.ndarray:
    weights = _matrix(weights, "weights")
    if np.isnan(weights).any():
        raise ValueError("weights: contiene NaN: ¿hay una fila con todas las claves enmascaradas?")
    if weights.min() < -1e-6 or weights.max() > 1 + 1e-6:
        raise ValueError(
            f"weights: llegaron valores de {weights.min():.3g} a {weights.max():.3g}; se esperaban"
            " de 0 a 1: ¿son puntuaciones sin normalizar?"
        )
    return weights.clip(0.0, 1.0)


def _map_axes(ax: Axes, n_rows: int, n_cols: int, xlabel: str, ylabel: str) -> None:
    """Ejes sin marcos ni marcas, con las claves arriba y las consultas a la izquierda."""
    ax.set(xlim=(-0.5, n_cols - 0.5), ylim=(n_rows - 0.5, -0.5), aspect="equal")
    ax.spines[:].set_visible(False)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0, pad=4)
    ax.set_xlabel(xlabel, color=KEY if xlabel == "claves" else INK, labelpad=8)
    ax.set_ylabel(ylabel, color=QUERY if ylabel == "consultas" else INK)


def _cell_numbers(ax: Axes, weights: np.ndarray, allowed: np.ndarray) -> list[Text]:
    """El peso escrito en cada celda, salvo en las enmascaradas que valen 0."""
    style = {"ha": "center", "va": "center_baseline", "size": 11.5}
    return [
        ax.text(col, row, f"{weight:.2f}", color=on_cell(weight), **style)
        for (row, col), weight in np.ndenumerate(weights)
        if allowed[row, col] or weight > 0
    ]


def _settle_map(
    ax: Axes, queries: list[str], keys: list[str], frame_row: int | None, written: list[Text]
) -> None:
    """Lo que depende del lado de la celda: al mostrar la figura se repite, por si la composición ha
    cambiado.
    """
    _word_ticks(ax, queries, keys, _cell_points(ax, len(queries), len(keys)), frame_row)
    fits = bool(written) and _cell_points(ax, len(queries), len(keys)) >= 27
    for text in written:
        text.set_visible(fits)


def _map_figure(queries: list[str], keys: list[str], ylabel: str) -> Axes:
    """Ejes con la altura justa para que las celdas sean cuadradas y ocupen el ancho, sin pasar de
    46 puntos.
    """
    left = max(map(text_width, queries)) + 14 + (24 if ylabel else 0)
    cell = min(_MAX_CELL, (72 * WIDTH - left - 10) / len(keys))
    words = max(map(text_width, keys))
    top = (14 if words <= cell - 4 else 0.75 * words + 14) + 34
    _, ax = figure(height=(len(queries) * cell + top + 8) / 72)
    return ax


def _cell_points(ax: Axes, n_rows: int, n_cols: int) -> float:
    """Lado de una celda, en puntos, con la composición actual."""
    ax.figure.draw_without_rendering()
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return 72 * min(box.width / n_cols, box.height / n_rows)


def _word_ticks(
    ax: Axes, queries: list[str], keys: list[str], cell: float, frame_row: int | None
) -> None:
    """Palabras legibles: giradas si no caben en su columna, y una de cada varias si no cabe ni
    girada.
    """
    step = max(1, int(np.ceil(14.5 / cell)))
    ax.set_yticks(range(0, len(queries), step), queries[::step])
    ax.set_xticks(range(0, len(keys), step), keys[::step])
    if max(map(text_width, keys)) > step * cell - 4:
        angle = 45 if step * cell >= 20 else 90
        for label in ax.get_xticklabels():
            label.set(
                rotation=angle,
                rotation_mode="anchor",
                ha="left",
                va="center" if angle == 90 else "baseline",
            )
    for label, tick in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True):
        if tick == frame_row:
            label.set_fontweight("bold")


def _small_cells(ax: Axes, weights: np.ndarray) -> None:
    """Celdas sueltas, que se pueden contar."""
    for (row, col), weight in np.ndenumerate(weights):
        ax.add_patch(
            Rectangle(
                (col - 0.47, row - 0.47),
                0.94,
                0.94,
                facecolor=(WEIGHT, round(float(weight), 3)),
                edgecolor=(WEIGHT, 0.3),
                linewidth=0.5,
            )  # fmt: skip
        )


def _big_cells(ax: Axes, weights: np.ndarray) -> None:
    """Muchas celdas: un trazo por nivel de intensidad (cincuenta niveles), para que el SVG pese
    poco.
    """
    levels = np.rint(weights * 50).astype(int)
    for level in np.unique(levels[levels > 0]):
        tint = (WEIGHT, round(level / 50, 2))
        _add_patch(
            ax,
            _cells_path(levels == level),
            facecolor=tint,
            linewidth=0,
            gid=f"atento-crisp-{level}",
        )
    rows, cols = weights.shape
    frame = {"facecolor": "none", "edgecolor": (WEIGHT, 0.5), "linewidth": 0.6, "clip_on": False}
    ax.add_patch(Rectangle((-0.5, -0.5), cols, rows, **frame))


def _cells_path(chosen: np.ndarray) -> Path:
    """Un solo trazo con las celdas elegidas; las contiguas de una fila se unen."""
    vertices: list[tuple[float, float]] = []
    for row, line in enumerate(chosen):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], line.astype(int), [0]))))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            left, right, top, bottom = start - 0.5, stop - 0.5, row - 0.5, row + 0.5
            vertices += [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * (
        len(vertices) // 5
    )
    return Path(vertices, codes)


def _add_patch(ax: Axes, path: Path, **style: Any) -> None:
    style.setdefault("edgecolor", "none")
    ax.add_patch(PathPatch(path, **style))


def on_cell(weight: float) -> str:
    """Tinta del número escrito sobre una celda de ese peso."""
    level = "low" if weight < CELL_MID_FROM else "mid" if weight < CELL_HIGH_FROM else "high"
    return TOKENS[f"cell-{level}"]["light"]
