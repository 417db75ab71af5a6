"""Figuras de una sola mirada: siluetas apiladas, caminos por un valle y datos por zonas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from figuras.plots.curves import _need_axis_names, _number_ticks
from figuras.plots.style import INK, MUTED, PAPER, as_numbers, format_number, subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = 90
_RINGS = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 1.0)
_CIRCLE = np.linspace(0, 2 * np.pi, 121)


def note(
    ax: Axes,
    at: tuple[float, float],
    text: str,
    shift: tuple[float, float],
    *,
    clear: bool = False,
) -> None:
    """Escribe ``text`` a ``shift`` puntos de un sitio de los ejes y lo une a él con un hilo.

    clear: si aparta con un fondo de papel las líneas que pasarían por encima de las letras.
    """
    side = "center" if abs(shift[0]) < 20 else "left" if shift[0] > 0 else "right"
    thread = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 4}
    style = {"ha": side, "va": "center", "arrowprops": thread, "annotation_clip": False}
    if clear:
        style["bbox"] = {"boxstyle": "square,pad=0.1", "facecolor": PAPER, "edgecolor": "none"}
    ax.annotate(text, at, shift, textcoords="offset points", **style)


def silhouettes(
    x: Any,
    series: Mapping[str, Any],
    *,
    xlabel: str,
    split: float | None = None,
    start: str = "",
    spec: str = ".2f",
) -> Figure:
    """Una silueta llena por serie, una debajo de otra: se comparan las formas, no los puntos.

    x: (n) puntos; series: ``{título: (n) valores no negativos}``, todas con la misma escala. Junto
    a cada una va su último valor. split: hasta dónde llega la parte oscura, que se llama ``start``.

    Errores: ``ValueError`` si faltan los nombres, si una serie no casa con x o si baja de 0.
    Fuente: propia. Ejemplo: ``plots.silhouettes(range(9), {"Noam": rates}, xlabel="paso")``.
    """
    _need_axis_names(xlabel, "valores")
    x = as_numbers(x, "x")
    tables = {title: as_numbers(y, f"series[{title!r}]") for title, y in series.items()}
    for title, y in tables.items():
        if y.shape != x.shape or not (y >= 0).all():
            raise ValueError(f"series: «{title}» no tiene {x.size} valores de 0 en adelante")
    if not tables:
        raise ValueError("series: llegó vacío; se esperaba al menos una serie")
    fig, axes = subplots(len(tables), 1, height=1.22 * len(tables) + 0.4, sharex=True, sharey=True)
    for ax, (title, y) in zip(np.ravel(axes), tables.items(), strict=True):
        _silhouette(ax, x, y, split)
        ax.set_title(title)
        end = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
        ax.annotate(format_number(float(y[-1]), spec), (x[-1], y[-1]), (7, 0), **end)
    first, top = np.ravel(axes)[0], max(y.max() for y in tables.values())
    first.set(ylim=(0, top), xlim=(x[0], x[-1]))
    if split is not None and start:
        note(first, (split - 0.03 * (x[-1] - x[0]), 0.22 * top), start, (32, 0))
    _number_ticks(ax.xaxis, "linear")
    ax.set_xlabel(xlabel)
    return fig


def _silhouette(ax: Axes, x: np.ndarray, y: np.ndarray, split: float | None) -> None:
    """El relleno de una serie, más oscuro hasta ``split``, y su borde."""
    ax.fill_between(x, 0, y, facecolor=INK, alpha=0.12, linewidth=0)
    if split is not None:
        dark = x <= split
        ax.fill_between(x[dark], 0, y[dark], facecolor=INK, alpha=0.3, linewidth=0)
    ax.plot(x, y, color=INK, linestyle="-", clip_on=False)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)


def valley(
    paths: Mapping[str, Any],
    curvatures: tuple[float, float],
    *,
    xlabel: str,
    ylabel: str,
    end: str = "",
    height: float = 1.9,
) -> Figure:
    """Un valle visto desde arriba, con sus curvas de nivel, y un camino por él en cada panel.

    paths: ``{título: (pasos, 2)}``, todos desde el mismo sitio; curvatures: las de las dos
    direcciones. El mínimo, la estrella, está en el 0. end: cómo se llama el último sitio.

    Errores: ``ValueError`` si un camino no tiene dos columnas o una curvatura no es positiva.
    Fuente: propia. Ejemplo: ``plots.valley({"Adam": path}, (1, 100), xlabel="suave",
    ylabel="empinada")``.
    """
    _need_axis_names(xlabel, ylabel)
    tables = {title: as_numbers(path, f"paths[{title!r}]") for title, path in paths.items()}
    if not tables or any(path.ndim != 2 or path.shape[1] != 2 for path in tables.values()):
        raise ValueError("paths: se esperaba al menos un camino, y cada uno de forma (pasos, 2)")
    if min(curvatures) <= 0:
        raise ValueError(f"curvatures: llegó {curvatures}; se esperaban dos números positivos")
    every = np.concatenate([*tables.values(), np.zeros((1, 2))])
    reach = np.linalg.norm(every * np.sqrt(curvatures), axis=1).max()
    low, high = every.min(0), every.max(0)
    air = (high - low) * (0.08, 0.15)
    fig, axes = subplots(len(tables), 1, height=height * len(tables) + 0.3, sharex=True)
    for index, (ax, (title, path)) in enumerate(zip(np.ravel(axes), tables.items(), strict=True)):
        for ring in _RINGS:
            radii = ring * reach / np.sqrt(curvatures)
            at = radii[0] * np.cos(_CIRCLE), radii[1] * np.sin(_CIRCLE)
            ax.plot(*at, color=MUTED, linestyle="-", linewidth=0.6, alpha=0.7)
        _walk(ax, path, end if index == 0 else "")
        limits = zip(low - air, high + air, strict=True)
        ax.set(**dict(zip(("xlim", "ylim"), limits, strict=True)), xticks=[], yticks=[])
        ax.set_title(title)
        ax.set_ylabel(ylabel)
        ax.spines[:].set_visible(False)
    ax.set_xlabel(xlabel)
    return fig


def _walk(ax: Axes, path: np.ndarray, end: str) -> None:
    """El camino paso a paso: su principio, un círculo, y el mínimo, una estrella."""
    ax.plot(*path.T, color=INK, linestyle="-", linewidth=1.0, marker="o", markersize=2.4)
    ax.plot(*path[0], "o", color=INK, markersize=8, markerfacecolor="none")
    ax.plot([0], [0], "*", color=INK, markersize=13)
    if end:
        note(ax, tuple(path[0]), "inicio", (24, 2), clear=True)
        note(ax, (0.0, 0.0), "mínimo", (0, 26), clear=True)
        note(ax, tuple(path[-1]), end, (0, -26), clear=True)


def zones(
    series: Mapping[str, Any],
    limits: Mapping[str, tuple[float, float]],
    *,
    xlabel: str,
    bad: Collection[str] = (),
    height: float = 1.55,
) -> Figure:
    """Cuántos datos caen en cada zona: un histograma por serie, con las zonas malas en tinta llena
    y la parte de los datos que cae en cada una.

    series: ``{nombre: (n) datos}``; limits: ``{zona: (desde, hasta)}``, seguidas y en orden; lo que
    caiga fuera de todas se cuenta en la primera o en la última. bad: las zonas malas.

    Errores: ``ValueError`` si no hay series, si las zonas no son seguidas o si una mala no existe.
    Fuente: propia. Ejemplo: ``plots.zones({"a": data}, {"poco": (0, 1), "mucho": (1, 9)},
    xlabel="tamaño", bad=["mucho"])``.
    """
    _need_axis_names(xlabel, "partes")
    spans = list(limits.values())
    if not series or not spans or any(a[1] != b[0] for a, b in zip(spans, spans[1:], strict=False)):
        raise ValueError("limits: se esperaban zonas seguidas, y en series, al menos una")
    if unknown := set(bad) - set(limits):
        raise ValueError(f"bad: «{min(unknown)}» no es una de las zonas, {', '.join(limits)}")
    low, high = spans[0][0], spans[-1][1]
    tables = {n: as_numbers(v, f"series[{n!r}]").clip(low, high) for n, v in series.items()}
    fig, axes = subplots(len(tables), 1, height=height * len(tables) + 0.8, sharex=True)
    for index, (ax, (name, data)) in enumerate(zip(np.ravel(axes), tables.items(), strict=True)):
        tallest = max(_zone(ax, data, limits, zone, zone in bad) for zone in limits)
        ax.set(xlim=(low, high), ylim=(0, 1.35 * tallest), yticks=[], ylabel=name)
        ax.spines["left"].set_visible(False)
        if index == 0:
            _zone_names(ax, limits)
    _number_ticks(ax.xaxis, "linear")
    ax.set_xlabel(xlabel)
    return fig


def _zone(
    ax: Axes, data: np.ndarray, limits: Mapping[str, tuple[float, float]], zone: str, bad: bool
) -> float:
    """El trozo de histograma de una zona y su parte de los datos; devuelve su altura mayor."""
    (start, stop), last = limits[zone], zone == [*limits][-1]
    every = np.linspace([*limits.values()][0][0], [*limits.values()][-1][1], _BINS)
    edges = np.concatenate([[start], every[(every > start) & (every < stop)], [stop]])
    inside = data[(data >= start) & ((data <= stop) if last else (data < stop))]
    heights = np.histogram(inside, edges)[0] / np.diff(edges)
    ax.stairs(heights, edges, fill=True, facecolor=(INK, 0.9 if bad else 0.3), edgecolor="none")
    if not last:
        ax.axvline(stop, color=MUTED, linestyle=":", linewidth=1.0)
    share, weight = 100 * len(inside) / max(len(data), 1), "bold" if bad and len(inside) else None
    text = "0" if share == 0 else f"{format_number(share, '.2f' if share < 1 else '.0f')} %"
    _above(ax, (start + stop) / 2, text, -3, "top", weight)
    return float(heights.max())


def _zone_names(ax: Axes, limits: Mapping[str, tuple[float, float]]) -> None:
    """El nombre de cada zona, encima de ella."""
    for zone, (start, stop) in limits.items():
        _above(ax, (start + stop) / 2, zone, 5, "bottom", None)


def _above(ax: Axes, x: float, text: str, shift: float, va: str, weight: str | None) -> None:
    """Un texto centrado en x, junto al borde de arriba de los ejes."""
    place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    ax.annotate(text, (x, 1), (0, shift), **place, ha="center", va=va, fontweight=weight)
