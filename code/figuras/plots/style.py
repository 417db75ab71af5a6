"""El estilo de las figuras: colores, medidas, letra y números."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- Los colores: el único sitio donde se escriben ------------------------------------------------

TOKENS: dict[str, dict[str, str]] = {
    "query": {"light": "#0b61a4", "dark": "#6cb4f0"},
    "key": {"light": "#b2460a", "dark": "#f59b5c"},
    "value": {"light": "#0a6e4f", "dark": "#4fcfa0"},
    "position": {"light": "#7a5b00", "dark": "#e3be4f"},
    "weight": {"light": "#6e2a6b", "dark": "#d9a0d5"},
    "muted": {"light": "#5b6470", "dark": "#a7b0bc"},
    "ink": {"light": "#1b1f24", "dark": "#e8eaed"},
    "paper": {"light": "#ffffff", "dark": "#121417"},
    # Números escritos sobre una celda de peso bajo, medio o alto: en los dos modos, contraste de al
    # menos 4.5.
    "cell-low": {"light": "#000001", "dark": "#fffffe"},
    "cell-mid": {"light": "#000002", "dark": "#000002"},
    "cell-high": {"light": "#fffffd", "dark": "#000003"},
}
"""Nombre de cada color y sus valores claro y oscuro. La variable CSS es ``--atento-<nombre>``."""

QUERY = TOKENS["query"]["light"]
KEY = TOKENS["key"]["light"]
VALUE = TOKENS["value"]["light"]
POSITION = TOKENS["position"]["light"]
WEIGHT = TOKENS["weight"]["light"]
MUTED = TOKENS["muted"]["light"]
INK = TOKENS["ink"]["light"]
PAPER = TOKENS["paper"]["light"]

SENTINELS = {token["light"]: name for name, token in TOKENS.items()} | {"#000000": "ink"}
FONT = (
    "var(--atento-figure-font, 'Source Sans 3', system-ui, 'Segoe UI', Roboto, Helvetica, Arial,"
    " sans-serif)"
)

# --- Las medidas ----------------------------------------------------------------------------------

WIDTH = 5.0  # pulgadas: 360 puntos, casi punto por píxel en un teléfono
FONT_SIZE = 12.0  # puntos
PHONE_WIDTH = 358.0  # píxeles
MIN_LETTER = 11.0  # píxeles

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
    """Pone el estilo del libro en matplotlib (``rcParams``). Puede llamarse las veces que haga
    falta.
    """
    mpl.rcParams.update(STYLE)


def figure(width: float = WIDTH, height: float = 3.0) -> tuple[Figure, Axes]:
    """Figura con unos ejes. ``width`` y ``height`` en pulgadas.

    No pasa por ``pyplot``: no queda abierta ni se muestra dos veces.
    """
    return subplots(1, 1, width=width, height=height)


def subplots(
    nrows: int = 1, ncols: int = 1, *, width: float = WIDTH, height: float = 3.0, **kwargs: Any
) -> tuple[Figure, Any]:
    """Figura con ``nrows × ncols`` ejes. ``kwargs``: los de ``Figure.subplots`` (``sharey``,
    ``width_ratios``, …).
    """
    use_style()
    fig = Figure(figsize=(width, height), layout="constrained")
    fig.get_layout_engine().set(w_pad=3 / 72, h_pad=3 / 72, wspace=0.06, hspace=0.06)
    return fig, fig.subplots(nrows, ncols, **kwargs)


def array(value: Any) -> Any:
    """Acepta tensores de torch (también con gradiente o en la GPU) sin importar torch."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def as_numbers(value: Any, name: str) -> np.ndarray:
    """Los números de una lista, un array o un tensor, de cualquier forma, en 64 bits.

    Errores: ``TypeError`` o ``ValueError`` si no son números o las filas no miden lo mismo.
    """
    try:
        return np.asarray(array(value), dtype=float)
    except (TypeError, ValueError) as error:
        came = repr(value) if isinstance(value, str) else type(value).__name__
        raise type(error)(
            f"{name}: se esperaban números, en filas igual de largas; llegó {came}."
        ) from error


@cache
def text_width(text: str, size: float = 11.5) -> float:
    """Ancho de un texto con la letra del estilo, en puntos."""
    return TextPath((0, 0), text, size=size).get_extents().width if text.strip() else 0.0


# --- Números --------------------------------------------------------------------------------------

_THIN_SPACE = "\u202f"
_MINUS = "\u2212"
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def format_number(value: Any, spec: str = "") -> str:
    """Escribe un número como se lee en el libro: punto decimal y espacio fino entre miles desde
    cinco cifras.

    value: número, escalar de NumPy o de torch, cadena (queda igual), booleano («sí», «no») o
    secuencia («(4, 8)»). spec: formato de Python: ``".3f"``, ``".1%"`` («12.5 %»), ``".1e"`` («3.2
    × 10⁻⁷»), …

    Errores: ``ValueError`` si es NaN o si es un decimal largo sin ``spec``: cuántas cifras se dicen
    es una decisión.
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
        raise TypeError(
            f"value: llegó {type(value).__name__}; se esperaba un número, un texto o una secuencia"
        )
    if math.isnan(value):
        raise ValueError("value: es NaN: no hay número que escribir")
    if math.isinf(value):
        return f"{_MINUS if value < 0 else ''}∞"
    if not spec and isinstance(value, float):
        if float(f"{value:.6g}") != value:
            raise ValueError(
                f"value: {value!r} tiene demasiadas cifras: hay que decir cuántas, por ejemplo"
                " spec='.3f'"
            )
        spec = ".6g"
    return _typeset(format(value, spec))


def _typeset(text: str) -> str:
    """Miles con espacio fino, signo menos, potencias de diez y porcentaje como se componen en
    español.
    """
    text = text.replace(",", "").replace("_", "")
    text = re.sub(
        r"(?<![\d.])\d{5,}", lambda found: f"{int(found[0]):,}".replace(",", _THIN_SPACE), text
    )
    power = re.fullmatch(r"(?P<mantissa>.*?)[eE](?P<exponent>[+-]?\d+)(?P<rest>.*)", text)
    if power:
        exponent = str(int(power["exponent"])).translate(_SUPERSCRIPTS)
        text = f"{power['mantissa']}{_THIN_SPACE}×{_THIN_SPACE}10{exponent}{power['rest']}"
    text = re.sub(r"(?<=\d)%", f"{_THIN_SPACE}%", text)
    text = text.replace("-", _MINUS)
    return re.sub(rf"^{_MINUS}(?=[0.]+(?![\d.]))", "", text)
