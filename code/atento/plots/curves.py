"""Curvas y barras con la etiqueta escrita al lado, sin leyenda."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, NullLocator

from atento import calls
from atento.plots.style import (
    FONT_SIZE,
    INK,
    KEY,
    MUTED,
    POSITION,
    QUERY,
    VALUE,
    as_numbers,
    figure,
    format_number,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SERIES = [
    (INK, "-", "o"),
    (MUTED, "-", "s"),
    (INK, "--", "D"),
    (MUTED, "--", "^"),
    (INK, ":", "v"),
    (MUTED, ":", "X"),
]
_SEMANTIC = {
    QUERY: ("-", "o"),
    KEY: ("--", "s"),
    VALUE: (":", "D"),
    POSITION: ("-.", "|"),
    MUTED: ("-", "s"),
}


def curves(
    x: Any,
    series: Mapping[str, Any],
    *,
    xlabel: str,
    ylabel: str,
    ax: Axes | None = None,
    colors: Mapping[str, str] | None = None,
    band: Mapping[str, tuple[Any, Any]] | None = None,
    xscale: Literal["linear", "log"] = "linear",
    yscale: Literal["linear", "log"] = "linear",
    ylim: tuple[float | None, float | None] | None = None,
    places: Mapping[str, tuple[float, float]] | None = None,
    height: float = 3.0,
) -> Axes:
    """Curvas con su etiqueta escrita al final de cada línea, sin leyenda.

    series: ``{etiqueta: valores}``. Con valores de forma (semillas, puntos) se dibuja la media y
    una banda del mínimo al máximo. ``band`` da esa banda aparte: ``{etiqueta: (mínimo, máximo)}``.
    colors: ``{etiqueta: color}``, solo cuando la serie es Q, K, V o la posición; si no, tinta y
    gris. places: ``{etiqueta: (x, y)}``, dónde empieza la etiqueta si las curvas acaban juntas.
    """
    _need_axis_names(xlabel, ylabel)
    x, band, colors = as_numbers(x, "x"), band or {}, colors or {}
    places = places or {}
    _check_series(series, band=band, colors=colors, places=places)
    if ax is None:
        _, ax = figure(height=height)
    ax.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)

    ends, styles = [], iter(_SERIES)
    for label, y in series.items():
        color = colors.get(label)
        style = next(styles) if color is None else (color, *_SEMANTIC.get(color, ("-", "o")))
        ends.append((label, *_draw_series(ax, label, x, y, band.get(label), style)))
    if ylim is not None:
        ax.set_ylim(*ylim)
    _number_ticks(ax.xaxis, xscale)
    _number_ticks(ax.yaxis, yscale)
    for label, _, _, color in ends:
        if label in places:
            ax.text(*places[label], textwrap.fill(label, 16), color=color, va="center")
    _end_labels(ax, [end for end in ends if end[0] not in places])
    return ax


def bars(
    values: Mapping[str, float],
    *,
    xlabel: str,
    spec: str = "",
    ax: Axes | None = None,
    highlight: str | None = None,
    height: float | None = None,
) -> Axes:
    """Barras horizontales con el valor escrito al final, de arriba abajo en el orden dado.

    highlight: la barra que se explica va en tinta y las demás en gris; sin él, todas en tinta.
    """
    _need_axis_names(xlabel, "categorías")
    _check_bars(values, highlight)
    words = [textwrap.fill(label, 20) for label in values]
    if ax is None:
        lines = max(word.count("\n") for word in words) + 1
        _, ax = figure(height=height or max(0.4, 0.2 * lines + 0.1) * len(values) + 0.75)
    numbers = [float(value) for value in values.values()]
    tints = [INK if highlight in (None, label) else MUTED for label in values]
    rows = np.arange(len(values))
    ax.barh(rows, numbers, height=0.62, color=tints, edgecolor="none")
    ax.set_yticks(rows, words)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(xlabel)
    ax.spines["left"].set_visible(min(numbers) >= 0)
    _number_ticks(ax.xaxis, "linear")
    for row, number, tint in zip(rows, numbers, tints, strict=True):
        _bar_value(ax, row, number, format_number(number, spec), tint)
    return ax


def _bar_value(ax: Axes, row: int, number: float, text: str, tint: str) -> None:
    """El valor de una barra, escrito junto a su extremo."""
    side = 1 if number >= 0 else -1
    ax.annotate(
        text,
        (number, row),
        (5 * side, 0),
        textcoords="offset points",
        ha="left" if side > 0 else "right",
        va="center_baseline",
        color=tint,
        annotation_clip=False,
    )


def _check_bars(values: Mapping[str, float], highlight: str | None) -> None:
    if not values:
        raise ValueError("values: llegó vacío; se esperaba al menos un valor")
    if highlight is not None and highlight not in values:
        raise ValueError(f"highlight: «{highlight}» no es una de las barras, {', '.join(values)}")


def _need_axis_names(*names: str) -> None:
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(
            "xlabel: con ylabel, da a los ejes nombre en español y unidad; no pueden estar vacíos"
        )


def _check_series(series: Mapping[str, Any], **mentioned: Mapping[str, Any]) -> None:
    if not series:
        raise ValueError("series: llegó vacío; se esperaba al menos una serie")
    if len(series) > len(_SERIES):
        raise ValueError(
            f"series: llegaron {len(series)} y en una figura caben {len(_SERIES)}: conviene"
            " repartirlas"
        )
    for name, labels in mentioned.items():
        for unknown in sorted(set(labels) - set(series)):
            raise ValueError(f"{name}: «{unknown}» no es una de las series, {', '.join(series)}")


def _draw_series(
    ax: Axes,
    label: str,
    x: np.ndarray,
    y: Any,
    band: tuple[Any, Any] | None,
    style: tuple[str, str, str],
) -> tuple[float, float, str]:
    """Dibuja una serie y su banda; devuelve su extremo derecho y su color."""
    color, line, marker = style
    y = as_numbers(y, "series")
    if y.ndim == 2:
        band = band or (y.min(axis=0), y.max(axis=0))
        y = y.mean(axis=0)
    if y.shape != x.shape:
        raise ValueError(f"series: «{label}» tiene {y.size} puntos y x tiene {x.size}")
    if not np.isfinite(y).any():
        raise ValueError(f"series: «{label}» no tiene ningún valor finito")
    if band is not None:
        low, high = (as_numbers(edge, "band") for edge in band)
        ax.fill_between(x, low, high, facecolor=color, alpha=0.16, linewidth=0)
    ax.plot(x, y, color=color, linestyle=line, marker=marker if len(x) <= 12 else "", clip_on=False)
    last = np.argmax(np.where(np.isfinite(y), x, -np.inf))
    return float(x[last]), float(y[last]), color


class _Numbers(Formatter):
    """Números de un eje: las mismas cifras decimales en todas las marcas y espacio fino entre
    miles.
    """

    def __call__(self, value: float, pos: int | None = None) -> str:
        return format_number(float(value), f".{self._decimals([value])}f")

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        return [format_number(float(value), f".{self._decimals(values)}f") for value in values]

    @staticmethod
    def _decimals(values: Sequence[float]) -> int:
        scale = max((abs(value) for value in values), default=1.0) or 1.0
        return next(
            (n for n in range(9) if all(abs(round(v, n) - v) < 1e-9 * scale for v in values)), 9
        )


class _Powers(FuncFormatter):
    """Números de un eje logarítmico, cada uno con las cifras que necesita."""

    def __init__(self) -> None:
        super().__init__(
            lambda value, pos: _Numbers()(value) if 1e-4 < value < 1e6 else _power(value)
        )


def _power(value: float) -> str:
    return format_number(value, ".0e").removeprefix("1\u202f×\u202f")


def _number_ticks(axis: Any, scale: str) -> None:
    """Marcas redondas, con punto decimal y espacio fino entre miles desde cinco cifras."""
    if scale == "linear":
        axis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(_Numbers())
    else:
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(_Powers())


def _end_labels(ax: Axes, ends: list[tuple[str, float, float, str]]) -> None:
    """Escribe cada etiqueta junto al final de su línea, sin que se pisen ni las tache el eje de
    abajo.
    """
    ax.figure.draw_without_rendering()
    line_height = 1.2 * FONT_SIZE
    to_points = 72 / ax.figure.dpi
    axis = ax.bbox.y0 * to_points
    placed = []
    for label, x, y, color in ends:
        text = textwrap.fill(label, 16)
        wanted = ax.transData.transform((x, y))[1] * to_points
        height = line_height * (text.count("\n") + 1)
        placed.append([max(wanted, axis + height / 2), height, wanted, text, x, y, color])
    placed.sort(key=lambda item: item[0])
    heights = [item[1] for item in placed]
    for item, where in zip(placed, spread([item[0] for item in placed], heights), strict=True):
        wanted, text, x, y, color = item[2:]
        ax.annotate(
            text,
            (x, y),
            (7, where - wanted),
            textcoords="offset points",
            ha="left",
            va="center",
            color=color,
            annotation_clip=False,
            linespacing=1.15,
        )


def spread(centers: list[float], heights: list[float]) -> list[float]:
    """Aparta centros ordenados hasta que sus cajas no se pisen, con el menor desplazamiento del
    conjunto.
    """
    groups: list[list[Any]] = []  # [centro, altura, índices]
    for index, (center, height) in enumerate(zip(centers, heights, strict=True)):
        groups.append([center, height, [index]])
        while (
            len(groups) > 1 and groups[-1][0] - groups[-2][0] < (groups[-1][1] + groups[-2][1]) / 2
        ):
            upper, lower = groups.pop(), groups.pop()
            total = upper[1] + lower[1]
            members = lower[2] + upper[2]
            center = sum(centers[member] for member in members) / len(members)
            groups.append([center, total, members])
    result = [0.0] * len(centers)
    for center, total, members in groups:
        bottom = center - total / 2
        for member in members:
            result[member] = bottom + heights[member] / 2
            bottom += heights[member]
    return result


calls.explain(__name__)
