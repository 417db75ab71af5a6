"""Curvas y barras con la etiqueta escrita al lado, sin leyenda."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, NullLocator

from figuras.plots.style import (
    FONT_SIZE,
    INK,
    KEY,
    MUTED,
    POSITION,
    QUERY,
    STYLE,
    VALUE,
    as_numbers,
    figure,
    format_number,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 5.0  # puntos entre una barra y su valor
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
    for label, _, color in ends:
        if label in places:
            ax.text(*places[label], _even_lines(label, 16), color=color, va="center")
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
    words = [_even_lines(label, 20) for label in values]
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
    if negative := {n: format_number(n, spec) for n in numbers if n < 0}:
        _make_room(ax, negative)
    return ax


def _even_lines(text: str, limit: int) -> str:
    """Parte un texto en las líneas de ``limit`` letras que necesita, lo más parejas que se puede,
    sin cortar palabras ni por sus guiones.

    >>> _even_lines("con la base mayor y x", 16)
    'con la base\\nmayor y x'
    """
    whole = {"break_long_words": False, "break_on_hyphens": False}
    words = textwrap.wrap(text, 1, **whole)  # un espacio fino, como el de los miles, no separa
    count = len(textwrap.wrap(text, limit, **whole))

    def lines(breaks: tuple[int, ...]) -> list[str]:
        edges = pairwise((0, *breaks, len(words)))
        return [" ".join(words[start:end]) for start, end in edges]

    def unevenness(breaks: tuple[int, ...]) -> tuple[int, int]:
        lengths = [len(line) for line in lines(breaks)]
        return max(lengths), sum(length**2 for length in lengths)

    ways = combinations(range(1, len(words)), max(count - 1, 0))
    return "\n".join(lines(min(ways, key=unevenness)))


def _bar_value(ax: Axes, row: int, number: float, text: str, tint: str) -> None:
    """El valor de una barra, escrito junto a su extremo."""
    side = 1 if number >= 0 else -1
    ax.annotate(
        text,
        (number, row),
        (_GAP * side, 0),
        textcoords="offset points",
        ha="left" if side > 0 else "right",
        va="center_baseline",
        color=tint,
        annotation_clip=False,
    )


def _make_room(ax: Axes, told: Mapping[float, str]) -> None:
    """Alarga el eje por la izquierda para que los valores negativos no pisen las etiquetas."""
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    wide = ax.bbox.width * 72 / ax.figure.dpi
    for number, text in told.items():
        share = (text_width(text, FONT_SIZE) + 2 * _GAP) / wide
        low = min(low, (number - share * high) / (1 - share))
    ax.set_xlim(low, high)


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
) -> tuple[np.ndarray, str]:
    """Dibuja una serie y su banda; devuelve sus puntos de izquierda a derecha, con el último que
    tiene valor repetido al final, y su color.
    """
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
    order = [*np.argsort(x, kind="stable"), last]
    return np.column_stack([x, y])[order], color


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


def _end_labels(ax: Axes, ends: list[tuple[str, np.ndarray, str]]) -> None:
    """Escribe cada etiqueta junto al final de su línea, sin que se pisen ni las tache el eje de
    abajo. Las de líneas que acaban juntas, en el orden en que venían.
    """
    ax.figure.draw_without_rendering()
    line_height = 1.2 * FONT_SIZE
    to_points = 72 / ax.figure.dpi
    axis = ax.bbox.y0 * to_points
    drawn = [
        (ax.transData.transform(line)[:, 1] * to_points, label, line, color)
        for label, line, color in ends
    ]
    drawn.sort(key=cmp_to_key(lambda one, other: _above(one[0], other[0])))
    texts = [_even_lines(label, 16) for _, label, _, _ in drawn]
    wanted = [points[-1] for points, _, _, _ in drawn]
    heights = [line_height * (text.count("\n") + 1) for text in texts]
    centers = [max(y, axis + height / 2) for y, height in zip(wanted, heights, strict=True)]
    places = zip(drawn, texts, wanted, spread(centers, heights), strict=True)
    for (_, _, line, color), text, end, where in places:
        ax.annotate(
            text,
            tuple(line[-1]),
            (7, where - end),
            textcoords="offset points",
            ha="left",
            va="center",
            color=color,
            annotation_clip=False,
            linespacing=1.15,
        )


def _above(one: np.ndarray, other: np.ndarray) -> float:
    """Positivo si la primera línea acaba encima o, cuando acaban juntas, si venía de encima.

    one, other: las alturas de cada una, en puntos, de izquierda a derecha.

    >>> _above(np.array([9.0, 5.0, 4.9]), np.array([1.0, 5.0, 5.0]))
    8.0
    """
    gap = one - other
    clear = gap[np.abs(gap) >= STYLE["lines.linewidth"]]
    return float([*gap[-1:], *clear][-1])


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
