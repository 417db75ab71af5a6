"""Las figuras del libro: un solo estilo y una sola lista de colores.

Las figuras se dibujan con matplotlib y salen como SVG dentro de la página. Los colores que se pasan a matplotlib
(:data:`INK`, :data:`QUERY`, …) son centinelas: :func:`show` los cambia por variables CSS con valor de reserva,
``var(--atento-ink, #1b1f24)``, y así la misma figura sirve en modo claro, en modo oscuro y en un cuaderno sin hoja de
estilo. Los valores de cada color, claro y oscuro, están solo en :data:`TOKENS`; :func:`css` los escribe para el sitio.

Las letras son texto (nunca trazos) y ninguna baja de 11 px cuando la figura se ve a 358 px de ancho, que es lo que
queda en un teléfono de 390 px.
"""

from __future__ import annotations

import io
import math
import numbers
import re
import sys
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, NullLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

__all__ = [
    "INK", "KEY", "MUTED", "PAPER", "POSITION", "QUERY", "TOKENS", "VALUE",
    "attention_map", "bars", "css", "curves", "figure", "format_number", "render", "show", "subplots", "use_style",
]  # fmt: skip

# --- Los colores: el único sitio donde se escriben -------------------------------------------------------------------

TOKENS: dict[str, dict[str, str]] = {
    "query": {"light": "#0b61a4", "dark": "#6cb4f0"},
    "key": {"light": "#b2460a", "dark": "#f59b5c"},
    "value": {"light": "#0a6e4f", "dark": "#4fcfa0"},
    "position": {"light": "#7a5b00", "dark": "#e3be4f"},
    "muted": {"light": "#5b6470", "dark": "#a7b0bc"},
    "ink": {"light": "#1b1f24", "dark": "#e8eaed"},
    "paper": {"light": "#ffffff", "dark": "#121417"},
    # Números escritos sobre una celda de peso bajo, medio o alto: en los dos modos, contraste de al menos 4.5.
    "cell-low": {"light": "#000001", "dark": "#fffffe"},
    "cell-mid": {"light": "#000002", "dark": "#000002"},
    "cell-high": {"light": "#fffffd", "dark": "#000003"},
}
"""Nombre de cada color y sus valores claro y oscuro. La variable CSS es ``--atento-<nombre>``."""

QUERY = TOKENS["query"]["light"]
KEY = TOKENS["key"]["light"]
VALUE = TOKENS["value"]["light"]
POSITION = TOKENS["position"]["light"]
MUTED = TOKENS["muted"]["light"]
INK = TOKENS["ink"]["light"]
PAPER = TOKENS["paper"]["light"]

CELL_MID_FROM, CELL_HIGH_FROM = 0.455, 0.614
"""Pesos en los que cambia la tinta de los números: una celda de peso w es tinta con opacidad w sobre el papel."""

_SENTINELS = {token["light"]: name for name, token in TOKENS.items()} | {"#000000": "ink"}
_FONT = "var(--atento-figure-font, 'Source Sans 3', system-ui, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif)"

# --- Las medidas -----------------------------------------------------------------------------------------------------

WIDTH = 5.0  # pulgadas: 360 puntos, casi punto por píxel en un teléfono
FONT_SIZE = 12.0  # puntos
PHONE_WIDTH = 358.0  # píxeles
MIN_LETTER = 11.0  # píxeles
_MAX_CELL = 46.0  # puntos

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # viene con matplotlib: la composición no depende de la máquina
    "font.size": FONT_SIZE,
    "mathtext.fontset": "dejavusans",
    "axes.titlesize": FONT_SIZE,
    "axes.labelsize": FONT_SIZE,
    "axes.labelpad": 6.0,
    "axes.titlepad": 10.0,
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "axes.prop_cycle": mpl.cycler(color=[INK, MUTED], linestyle=["-", "--"]),
    "figure.facecolor": "none",
    "figure.edgecolor": "none",
    "grid.color": MUTED,
    "grid.linewidth": 0.4,
    "hatch.color": MUTED,
    "hatch.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "patch.linewidth": 0.7,
    "patch.facecolor": INK,
    "patch.edgecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 11.5,
    "ytick.labelsize": 11.5,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "svg.fonttype": "none",
}


def use_style() -> None:
    """Pone el estilo del libro en matplotlib (``rcParams``). Puede llamarse las veces que haga falta."""
    mpl.rcParams.update(STYLE)


def figure(width: float = WIDTH, height: float = 3.0) -> tuple[Figure, Axes]:
    """Figura con unos ejes. ``width`` y ``height`` en pulgadas.

    No pasa por ``pyplot``: no queda abierta ni se muestra dos veces.
    """
    return subplots(1, 1, width=width, height=height)


def subplots(
    nrows: int = 1, ncols: int = 1, *, width: float = WIDTH, height: float = 3.0, **kwargs: Any
) -> tuple[Figure, Any]:
    """Figura con ``nrows × ncols`` ejes. ``kwargs``: los de ``Figure.subplots`` (``sharey``, ``width_ratios``, …)."""
    use_style()
    fig = Figure(figsize=(width, height), layout="constrained")
    fig.get_layout_engine().set(w_pad=3 / 72, h_pad=3 / 72, wspace=0.06, hspace=0.06)
    return fig, fig.subplots(nrows, ncols, **kwargs)


# --- Dibujos ---------------------------------------------------------------------------------------------------------


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

    weights: (query, key), con valores de 0 a 1. La escala es siempre la misma: 0 es el papel y 1 es la tinta.
    queries, keys: palabras de las filas y de las columnas; ``None`` las numera desde 0.
    values: escribe los números si la matriz tiene como mucho 8 × 8 celdas y caben.
    frame_row: fila que se enmarca porque es la que se explica.
    mask: (query, key) booleana, ``True`` = puede atender; las celdas con ``False`` se rayan.

    Lanza ``ValueError`` si las formas no casan, si hay pesos fuera de [0, 1] o si hay NaN.
    """
    weights = _attention_weights(weights)
    n_rows, n_cols = weights.shape
    queries = _labels(queries, n_rows, "queries", "filas")
    keys = _labels(keys, n_cols, "keys", "columnas")
    allowed = np.ones_like(weights, dtype=bool) if mask is None else _matrix(mask, "mask").astype(bool)
    if allowed.shape != weights.shape:
        raise ValueError(f"mask debe tener la forma de weights, {weights.shape}, y tiene {allowed.shape}")
    if frame_row is not None and not -n_rows <= frame_row < n_rows:
        raise ValueError(f"frame_row={frame_row} no es una de las {n_rows} filas")

    ax = ax or _map_figure(queries, keys, ylabel)
    _map_axes(ax, n_rows, n_cols, xlabel, ylabel)
    (_small_cells if max(weights.shape) <= 16 else _big_cells)(ax, weights)
    if not allowed.all():
        _add_patch(ax, _cells_path(~allowed), facecolor="none", edgecolor=MUTED, linewidth=0, hatch="////")
    written = _cell_numbers(ax, weights, allowed) if values and max(weights.shape) <= 8 else []
    if frame_row is not None:
        frame_row %= n_rows
        frame = {"facecolor": "none", "edgecolor": INK, "linewidth": 2.0, "clip_on": False}
        ax.add_patch(Rectangle((-0.5, frame_row - 0.5), n_cols, 1, **frame))
    ax._atento_settle = partial(_settle_map, ax, queries, keys, frame_row, written)
    ax._atento_settle()
    return ax


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
    height: float = 3.0,
) -> Axes:
    """Curvas con su etiqueta escrita al final de cada línea, sin leyenda.

    series: ``{etiqueta: valores}``. Con valores de forma (semillas, puntos) se dibuja la media y una banda del mínimo
    al máximo. ``band`` da esa banda aparte: ``{etiqueta: (mínimo, máximo)}``.
    colors: ``{etiqueta: color}``, solo cuando la serie es Q, K, V o la posición; si no, tinta y gris.
    """
    _need_axis_names(xlabel, ylabel)
    _check_series(series, {*(band or {}), *(colors or {})})
    x, band, colors = np.asarray(_array(x), dtype=float), band or {}, colors or {}
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
    _end_labels(ax, ends)
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
    if not values:
        raise ValueError("bars necesita al menos un valor")
    if highlight is not None and highlight not in values:
        raise ValueError(f"«{highlight}» no es una de las barras: {', '.join(values)}")
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
        side = 1 if number >= 0 else -1
        ax.annotate(
            format_number(number, spec), (number, row), (5 * side, 0), textcoords="offset points",
            ha="left" if side > 0 else "right", va="center_baseline", color=tint, annotation_clip=False,
        )  # fmt: skip
    return ax


# --- Números ---------------------------------------------------------------------------------------------------------

_THIN_SPACE = "\u202f"
_MINUS = "\u2212"
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def format_number(value: Any, spec: str = "") -> str:
    """Escribe un número como se lee en el libro: punto decimal y espacio fino entre miles desde cinco cifras.

    value: número, escalar de NumPy o de torch, cadena (queda igual), booleano («sí», «no») o secuencia («(4, 8)»).
    spec: formato de Python: ``".3f"``, ``".1%"`` («12.5 %»), ``".1e"`` («3.2 × 10⁻⁷»), …

    Lanza ``ValueError`` si es NaN o si es un decimal largo sin ``spec``: cuántas cifras se dicen es una decisión.
    """
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    if hasattr(value, "ndim"):
        value = value.item() if value.ndim == 0 else value.tolist()
    if isinstance(value, str):
        return format(value, spec)
    if isinstance(value, bool):
        return "sí" if value else "no"
    if isinstance(value, Sequence):
        return f"({', '.join(format_number(item, spec) for item in value)})"
    if not isinstance(value, numbers.Real):
        raise TypeError(f"se esperaba un número, un texto o una secuencia y llegó {type(value).__name__}")
    if math.isnan(value):
        raise ValueError("el valor es NaN: no hay número que escribir")
    if math.isinf(value):
        return f"{_MINUS if value < 0 else ''}∞"
    if not spec and isinstance(value, float):
        if float(f"{value:.6g}") != value:
            raise ValueError(f"{value!r} tiene demasiadas cifras: hay que decir cuántas, por ejemplo spec='.3f'")
        spec = ".6g"
    return _typeset(format(value, spec))


def _typeset(text: str) -> str:
    """Miles con espacio fino, signo menos, potencias de diez y porcentaje como se componen en español."""
    text = text.replace(",", "").replace("_", "")
    text = re.sub(r"(?<![\d.])\d{5,}", lambda found: f"{int(found[0]):,}".replace(",", _THIN_SPACE), text)
    power = re.fullmatch(r"(?P<mantissa>.*?)[eE](?P<exponent>[+-]?\d+)(?P<rest>.*)", text)
    if power:
        exponent = str(int(power["exponent"])).translate(_SUPERSCRIPTS)
        text = f"{power['mantissa']}{_THIN_SPACE}×{_THIN_SPACE}10{exponent}{power['rest']}"
    text = re.sub(r"(?<=\d)%", f"{_THIN_SPACE}%", text)
    text = text.replace("-", _MINUS)
    return re.sub(rf"^{_MINUS}(?=[0.]+(?![\d.]))", "", text)


# --- Mostrar ---------------------------------------------------------------------------------------------------------


def show(fig: Figure, *, name: str, alt: str) -> None:
    """Muestra ``fig`` como SVG dentro de la página y la cierra.

    name: nombre de la figura, ``fig-…``, único en el libro.
    alt: texto alternativo; da el dato que la figura enseña (40 caracteres o más).

    Lanza ``ValueError`` si falta el texto alternativo, si alguna letra no se leería en un teléfono o si hay un color
    que no está en :data:`TOKENS`.
    """
    markup = render(fig, name=name, alt=alt)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(fig)
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is not None:
        display({"text/html": markup, "text/plain": f"Figura: {alt}"}, raw=True)


def render(fig: Figure, *, name: str, alt: str) -> str:
    """El HTML que muestra :func:`show`. El mismo dibujo da siempre el mismo texto."""
    if not re.fullmatch(r"fig-[a-z0-9]+(-[a-z0-9]+)*", name or ""):
        raise ValueError(f"name={name!r}: el nombre de una figura es «fig-» y minúsculas, cifras y guiones")
    alt = _checked_alt(alt)
    for ax in fig.axes:
        getattr(ax, "_atento_settle", lambda: None)()
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        fig.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ET.fromstring(buffer.getvalue())
    width, height = (float(number) for number in root.get("viewBox").split()[2:])
    top, height = _crop(fig, width, height)
    _check_letters(root, width)
    _tidy(root, name)
    root.attrib.clear()
    root.attrib.update(
        {
            "viewBox": f"0 {top:.1f} {width:g} {height:.1f}",
            "role": "img",
            "aria-label": alt,
            "style": f"width:100%;max-width:{width * 4 / 3:.0f}px;height:auto;overflow:visible;font-family:{_FONT};"
            "stroke-linejoin:round;stroke-linecap:butt",
        }
    )
    ET.register_namespace("", _SVG[1:-1])
    svg = ET.tostring(root, encoding="unicode")
    return (
        f'<div class="atento-figura" data-figura="{name}" style="text-align:center">'
        f"<style>{_notebook_css()}</style>{svg}</div>"
    )


def css() -> str:
    """Hoja de estilo que el sitio incluye: variables en modo claro y oscuro, y figuras sin recuadro blanco."""
    return (
        f":root{{{_variables('light')}}}\n"
        f'html[data-theme="dark"]{{{_variables("dark")}}}\n'
        f'@media print{{html[data-theme="dark"]{{{_variables("light")}}}}}\n'
        'html[data-theme="dark"] .bd-content div.cell_output .text_html:has(.atento-figura)'
        "{background:none;color:inherit;padding:0;border-radius:0}\n"
        ".atento-figura{margin:1.6rem 0 .8rem}\n"
    )


def _variables(mode: Literal["light", "dark"]) -> str:
    return "".join(f"--atento-{name}:{token[mode]};" for name, token in TOKENS.items())


def _notebook_css() -> str:
    """Modo oscuro de JupyterLab, VS Code y Colab, que no conocen la hoja del sitio."""
    hosts = ('body[data-jp-theme-light="false"]', "body.vscode-dark", "html[theme=dark]")
    return f"{','.join(f'{host} .atento-figura' for host in hosts)}{{{_variables('dark')}}}"


# --- Del SVG de matplotlib al del libro ------------------------------------------------------------------------------

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_FILE_NAME = re.compile(r"[\w./-]+\.(svg|png|jpe?g|gif|webp|pdf)", re.IGNORECASE)


def _checked_alt(alt: str) -> str:
    alt = " ".join((alt or "").split())
    if not alt:
        raise ValueError("falta alt: el texto alternativo que da el dato de la figura a quien no la ve")
    if _FILE_NAME.search(alt) or (" " not in alt):
        raise ValueError(f"alt={alt!r} parece un nombre de fichero: debe dar el dato que enseña la figura")
    if len(alt) < 40:
        raise ValueError(f"alt tiene {len(alt)} caracteres y hacen falta al menos 40: ¿qué dato enseña la figura?")
    return alt


def _crop(fig: Figure, width: float, height: float) -> tuple[float, float]:
    """Quita el blanco de arriba y de abajo y comprueba que nada se sale por los lados; devuelve (arriba, alto)."""
    fig.draw_without_rendering()
    box = fig.get_tightbbox()
    if 72 * box.x0 < -6 or 72 * box.x1 > width + 6:
        raise ValueError("la figura se sale por los lados: conviene acortar etiquetas o separar los ejes")
    top, bottom = height - 72 * box.y1 - 3, height - 72 * box.y0 + 3
    return top, bottom - top


def _check_letters(root: ET.Element, width: float) -> None:
    """Ninguna letra por debajo de 11 px cuando la figura se ve a 358 px de ancho."""
    scale = min(PHONE_WIDTH / width, 4 / 3)
    for text in root.iter(f"{_SVG}text"):
        for node in text.iter():
            size = re.search(r"font-size:\s*([\d.]+)px|font:[^;]*?([\d.]+)px", node.get("style", ""))
            pixels = scale * float(size[1] or size[2]) if size else MIN_LETTER
            if pixels < MIN_LETTER - 0.05:
                words = "".join(text.itertext()).strip()
                raise ValueError(
                    f"«{words}» se vería a {pixels:.1f} px en un teléfono y el mínimo es {MIN_LETTER:g}: conviene una "
                    f"figura más estrecha (width={WIDTH:g}), letra mayor o quitar subíndices"
                )


def _tidy(root: ET.Element, name: str) -> None:
    """Colores por variables, números cortos, identificadores propios; sin metadatos ni estilos que se escapen."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{_SVG}style" or child.tag.endswith("}metadata"):
                parent.remove(child)
    used: dict[str, str] = {}
    for node in root.iter():
        for value in node.attrib.values():
            for found in re.findall(r"url\(#([^)]+)\)|^#(\S+)$", value):
                old = found[0] or found[1]
                if not re.fullmatch(r"[0-9a-f]{6}", old) or found[0]:
                    used.setdefault(old, f"{name}-{len(used)}")
    for node in root.iter():
        gid = node.get("id")
        if gid and gid.startswith("atento-crisp"):
            node.set("shape-rendering", "crispEdges")
        if gid in used:
            node.set("id", used[gid])
        elif gid:
            del node.attrib["id"]
        if _HREF in node.attrib:
            node.set("href", "#" + used[node.attrib.pop(_HREF)[1:]])
        for key in ("d", "transform", "points", "x", "y", "width", "height"):
            if key in node.attrib:
                node.set(key, _short(node.get(key)))
        if "clip-path" in node.attrib:
            node.set("clip-path", re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{used[m[1]]})", node.get("clip-path")))
        if node.tag == f"{_SVG}text" and "fill" not in _style(node):
            node.set("style", f"{node.get('style', '')}; fill: {INK}")
        if "style" in node.attrib:
            style = {key: value for key, value in _style(node).items() if key != "font-family"}
            text = ";".join(f"{key}:{value}" for key, value in style.items())
            text = re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{used[m[1]]})", text)
            node.set("style", re.sub(r"#[0-9a-fA-F]{6}\b(?!\))", _variable, text))


def _style(node: ET.Element) -> dict[str, str]:
    pairs = (part.split(":", 1) for part in node.get("style", "").split(";") if ":" in part)
    return {key.strip(): value.strip() for key, value in pairs}


def _variable(match: re.Match[str]) -> str:
    color = match[0].lower()
    if color not in _SENTINELS:
        raise ValueError(
            f"el color {color} no es del libro: se usan plots.INK, MUTED, PAPER, QUERY, KEY, VALUE y POSITION"
        )
    name = _SENTINELS[color]
    return f"var(--atento-{name}, {TOKENS[name]['light']})"


def _short(text: str) -> str:
    return re.sub(r"-?\d+\.\d+", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), text)


# --- Piezas de los dibujos -------------------------------------------------------------------------------------------

_SERIES = [(INK, "-", "o"), (MUTED, "-", "s"), (INK, "--", "D"), (MUTED, "--", "^"), (INK, ":", "v"), (MUTED, ":", "X")]
_SEMANTIC = {QUERY: ("-", "o"), KEY: ("--", "s"), VALUE: (":", "D"), POSITION: ("-.", "|"), MUTED: ("-", "s")}


def _array(value: Any) -> Any:
    """Acepta tensores de torch (también con gradiente o en la GPU) sin importar torch."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def _matrix(value: Any, name: str) -> np.ndarray:
    array = np.asarray(_array(value), dtype=float)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} debe ser una matriz (query, key) y tiene forma {array.shape}")
    return array


def _labels(labels: Sequence[str] | None, count: int, name: str, what: str) -> list[str]:
    if labels is None:
        return [str(index) for index in range(count)]
    labels = [str(label) for label in labels]
    if len(labels) != count:
        raise ValueError(f"{name} tiene {len(labels)} palabras y weights tiene {count} {what}")
    return labels


def _need_axis_names(*names: str) -> None:
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError("los ejes necesitan nombre en español y unidad: xlabel e ylabel no pueden estar vacíos")


def _text_width(text: str, size: float = 11.5) -> float:
    from matplotlib.textpath import TextPath

    return TextPath((0, 0), text, size=size).get_extents().width if text.strip() else 0.0


def _attention_weights(weights: Any) -> np.ndarray:
    weights = _matrix(weights, "weights")
    if np.isnan(weights).any():
        raise ValueError("weights contiene NaN: ¿hay una fila con todas las claves enmascaradas?")
    if weights.min() < -1e-6 or weights.max() > 1 + 1e-6:
        raise ValueError(
            f"weights debe tener valores de 0 a 1 y va de {weights.min():.3g} a {weights.max():.3g}: "
            "¿son puntuaciones sin normalizar?"
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
        ax.text(col, row, f"{weight:.2f}", color=_on_cell(weight), **style)
        for (row, col), weight in np.ndenumerate(weights)
        if allowed[row, col] or weight > 0
    ]


def _settle_map(ax: Axes, queries: list[str], keys: list[str], frame_row: int | None, written: list[Text]) -> None:
    """Lo que depende del lado de la celda: al mostrar la figura se repite, por si la composición ha cambiado."""
    _word_ticks(ax, queries, keys, _cell_points(ax, len(queries), len(keys)), frame_row)
    fits = bool(written) and _cell_points(ax, len(queries), len(keys)) >= 27
    for text in written:
        text.set_visible(fits)


def _map_figure(queries: list[str], keys: list[str], ylabel: str) -> Axes:
    """Ejes con la altura justa para que las celdas sean cuadradas y ocupen el ancho, sin pasar de 46 puntos."""
    left = max(map(_text_width, queries)) + 14 + (24 if ylabel else 0)
    cell = min(_MAX_CELL, (72 * WIDTH - left - 10) / len(keys))
    words = max(map(_text_width, keys))
    top = (14 if words <= cell - 4 else 0.75 * words + 14) + 34
    _, ax = figure(height=(len(queries) * cell + top + 8) / 72)
    return ax


def _cell_points(ax: Axes, n_rows: int, n_cols: int) -> float:
    """Lado de una celda, en puntos, con la composición actual."""
    ax.figure.draw_without_rendering()
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return 72 * min(box.width / n_cols, box.height / n_rows)


def _word_ticks(ax: Axes, queries: list[str], keys: list[str], cell: float, frame_row: int | None) -> None:
    """Palabras legibles: giradas si no caben en su columna, y una de cada varias si no cabe ni girada."""
    step = max(1, int(np.ceil(14.5 / cell)))
    ax.set_yticks(range(0, len(queries), step), queries[::step])
    ax.set_xticks(range(0, len(keys), step), keys[::step])
    if max(map(_text_width, keys)) > step * cell - 4:
        angle = 45 if step * cell >= 20 else 90
        for label in ax.get_xticklabels():
            label.set(rotation=angle, rotation_mode="anchor", ha="left", va="center" if angle == 90 else "baseline")
    for label, tick in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True):
        if tick == frame_row:
            label.set_fontweight("bold")


def _small_cells(ax: Axes, weights: np.ndarray) -> None:
    """Celdas sueltas, que se pueden contar."""
    for (row, col), weight in np.ndenumerate(weights):
        ax.add_patch(
            Rectangle(
                (col - 0.47, row - 0.47), 0.94, 0.94,
                facecolor=(INK, round(float(weight), 3)), edgecolor=(INK, 0.22), linewidth=0.5,
            )  # fmt: skip
        )


def _big_cells(ax: Axes, weights: np.ndarray) -> None:
    """Muchas celdas: un trazo por nivel de intensidad (cincuenta niveles), para que el SVG pese poco."""
    levels = np.rint(weights * 50).astype(int)
    for level in np.unique(levels[levels > 0]):
        tint = (INK, round(level / 50, 2))
        _add_patch(ax, _cells_path(levels == level), facecolor=tint, linewidth=0, gid=f"atento-crisp-{level}")
    rows, cols = weights.shape
    frame = {"facecolor": "none", "edgecolor": (INK, 0.45), "linewidth": 0.6, "clip_on": False}
    ax.add_patch(Rectangle((-0.5, -0.5), cols, rows, **frame))


def _cells_path(chosen: np.ndarray) -> Path:
    """Un solo trazo con las celdas elegidas; las contiguas de una fila se unen."""
    vertices: list[tuple[float, float]] = []
    for row, line in enumerate(chosen):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], line.astype(int), [0]))))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            left, right, top, bottom = start - 0.5, stop - 0.5, row - 0.5, row + 0.5
            vertices += [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * (len(vertices) // 5)
    return Path(vertices, codes)


def _add_patch(ax: Axes, path: Path, **style: Any) -> None:
    style.setdefault("edgecolor", "none")
    ax.add_patch(PathPatch(path, **style))


def _on_cell(weight: float) -> str:
    """Tinta del número escrito sobre una celda de ese peso."""
    level = "low" if weight < CELL_MID_FROM else "mid" if weight < CELL_HIGH_FROM else "high"
    return TOKENS[f"cell-{level}"]["light"]


def _check_series(series: Mapping[str, Any], mentioned: set[str]) -> None:
    if not series:
        raise ValueError("curves necesita al menos una serie")
    if len(series) > len(_SERIES):
        raise ValueError(f"caben {len(_SERIES)} series en una figura y hay {len(series)}: conviene repartirlas")
    for unknown in sorted(mentioned - set(series)):
        raise ValueError(f"«{unknown}» no es una de las series: {', '.join(series)}")


def _draw_series(
    ax: Axes, label: str, x: np.ndarray, y: Any, band: tuple[Any, Any] | None, style: tuple[str, str, str]
) -> tuple[float, float, str]:
    """Dibuja una serie y su banda; devuelve su extremo derecho y su color."""
    color, line, marker = style
    y = np.asarray(_array(y), dtype=float)
    if y.ndim == 2:
        band = band or (y.min(axis=0), y.max(axis=0))
        y = y.mean(axis=0)
    if y.shape != x.shape:
        raise ValueError(f"la serie «{label}» tiene {y.size} puntos y x tiene {x.size}")
    if not np.isfinite(y).any():
        raise ValueError(f"la serie «{label}» no tiene ningún valor finito")
    if band is not None:
        low, high = (np.asarray(_array(edge), dtype=float) for edge in band)
        ax.fill_between(x, low, high, facecolor=color, alpha=0.16, linewidth=0)
    ax.plot(x, y, color=color, linestyle=line, marker=marker if len(x) <= 12 else "", clip_on=False)
    last = np.argmax(np.where(np.isfinite(y), x, -np.inf))
    return float(x[last]), float(y[last]), color


class _Numbers(Formatter):
    """Números de un eje: las mismas cifras decimales en todas las marcas y espacio fino entre miles."""

    def __call__(self, value: float, pos: int | None = None) -> str:
            return format_number(float(value), f".{self._decimals([value])}f")

    def format_ticks(self, values: Sequence[float]) -> list[str]:
            return [format_number(float(value), f".{self._decimals(values)}f") for value in values]

    @staticmethod
    def _decimals(values: Sequence[float]) -> int:
        scale = max((abs(value) for value in values), default=1.0) or 1.0
        return next((n for n in range(9) if all(abs(round(v, n) - v) < 1e-9 * scale for v in values)), 9)


class _Powers(FuncFormatter):
    """Números de un eje logarítmico, cada uno con las cifras que necesita."""

    def __init__(self) -> None:
        super().__init__(lambda value, pos: _Numbers()(value) if 1e-4 < value < 1e6 else _power(value))


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
    """Escribe cada etiqueta junto al final de su línea, separándolas lo justo para que no se pisen."""
    ax.figure.draw_without_rendering()
    line_height = 1.2 * FONT_SIZE
    to_points = 72 / ax.figure.dpi
    placed = []
    for label, x, y, color in ends:
        text = textwrap.fill(label, 16)
        wanted = ax.transData.transform((x, y))[1] * to_points
        placed.append([wanted, line_height * (text.count("\n") + 1), text, x, y, color])
    placed.sort(key=lambda item: item[0])
    heights = [item[1] for item in placed]
    for item, where in zip(placed, _spread([item[0] for item in placed], heights), strict=True):
        wanted, _, text, x, y, color = item
        ax.annotate(
            text, (x, y), (7, where - wanted), textcoords="offset points", ha="left", va="center", color=color,
            annotation_clip=False, linespacing=1.15,
        )  # fmt: skip


def _spread(centers: list[float], heights: list[float]) -> list[float]:
    """Aparta centros ordenados hasta que sus cajas no se pisen, con el menor desplazamiento del conjunto."""
    groups: list[list[Any]] = []  # [centro, altura, índices]
    for index, (center, height) in enumerate(zip(centers, heights, strict=True)):
        groups.append([center, height, [index]])
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < (groups[-1][1] + groups[-2][1]) / 2:
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
