"""La huella de una figura: cuatro letras que cambian si cambia lo dibujado.

Se calcula con los datos de los trazos, no con la imagen: ni la letra ni la composición cuentan. Los
números se redondean a tres cifras de los mayores, de modo que la huella de una figura que no se
entrena es la misma en cualquier procesador.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.spines import Spine
from matplotlib.text import Annotation, Text

_SHIFT = (
    0.0314159  # los datos redondos no caen justo entre dos valores, donde la última cifra decidiría
)


def fingerprint(fig: Figure) -> str:
    """Las cuatro letras de ``fig``: líneas, puntos, trazos, imágenes, colores, textos y rótulos de
    los ejes.

    >>> from figuras import plots
    >>> fig, ax = plots.figure()
    >>> before = plots.fingerprint(fig)
    >>> _ = ax.plot([0, 1], [0, 1])
    >>> before == plots.fingerprint(fig)
    False
    """
    digest = hashlib.sha256()
    for piece in _pieces([*fig.get_children()], fig.patch):
        digest.update(piece if isinstance(piece, bytes) else str(piece).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:4]


def _pieces(artists: list[Any], background: Any) -> Iterator[Any]:
    for artist in artists:
        if artist is background or isinstance(artist, (Spine, Axis)) or not artist.get_visible():
            continue
        if isinstance(artist, Axes):
            yield from (artist.get_xlabel(), artist.get_ylabel())
            yield from _pieces([*artist.get_children()], artist.patch)
        else:
            yield from _drawn(artist)


def _drawn(artist: Any) -> Iterator[Any]:
    """El tipo, los números y los colores de un trazo."""
    yield type(artist).__name__
    if isinstance(artist, Text):
        yield artist.get_text()
        if isinstance(artist, Annotation):
            yield _rounded([artist.xy, artist.xyann])
    elif isinstance(artist, Line2D):
        yield from (_rounded(artist.get_xydata()), _color(artist.get_color()))
    elif isinstance(artist, AxesImage):
        yield _rounded(artist.get_array())
    elif isinstance(artist, Collection):
        values = artist.get_array()
        tables = [artist.get_offsets(), [] if values is None else values]
        yield from map(_rounded, [*tables, *(path.vertices for path in artist.get_paths())])
        yield _color(artist.get_facecolor())
    elif isinstance(artist, Patch):
        yield from (_rounded(_outline(artist)), _color(artist.get_facecolor()))


def _outline(patch: Patch) -> Any:
    """Los puntos de un trazo en las unidades de los datos; de una flecha, sus extremos."""
    if isinstance(patch, FancyArrowPatch):
        return getattr(patch, "_posA_posB", None) or []
    return patch.get_patch_transform().transform(patch.get_path().vertices)


def _rounded(values: Any) -> bytes:
    """Los números de una tabla, a tres cifras del mayor de su columna."""
    table = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)
    table = table.reshape(-1, table.shape[-1]) if table.ndim > 1 else table.reshape(-1, 1)
    return b"".join(_column(column) for column in table.T)


def _column(column: np.ndarray) -> bytes:
    finite = np.isfinite(column)
    largest = np.abs(column[finite]).max(initial=0.0)
    if largest < 1e-9:
        return str(len(column)).encode()
    unit = 10.0 ** (np.floor(np.log10(largest * (1 + 1e-6))) - 2)
    steps = np.rint(np.where(finite, column, 0.0) / unit + _SHIFT).astype(np.int64)
    return steps.tobytes() + finite.tobytes() + f"{unit:.0e}".encode()


def _color(value: Any) -> bytes:
    return _rounded(mpl.colors.to_rgba_array(value))
