"""Las figuras del libro: un solo estilo y una sola lista de colores.

Las figuras se dibujan con matplotlib y salen como SVG dentro de la página. Los colores que se pasan
a matplotlib (:data:`INK`, :data:`QUERY`, …) son centinelas: :func:`show` los cambia por variables
CSS con valor de reserva, ``var(--atento-ink, #1b1f24)``, y así la misma figura sirve en modo claro,
en modo oscuro y en un cuaderno sin hoja de estilo. Los valores de cada color, claro y oscuro, están
solo en
:data:`TOKENS`; :func:`css` los escribe para el sitio.

Las letras son texto (nunca trazos) y ninguna baja de 11 px cuando la figura se ve a 358 px de
ancho, que es lo que queda en un teléfono de 390 px.
"""

from figuras.plots.areas import note, silhouettes, valley, zones
from figuras.plots.curves import bars, curves
from figuras.plots.dots import dots
from figuras.plots.fingerprint import fingerprint
from figuras.plots.maps import attention_map, on_cell
from figuras.plots.style import (
    FONT_SIZE,
    INK,
    KEY,
    MIN_LETTER,
    MUTED,
    PAPER,
    POSITION,
    QUERY,
    TOKENS,
    VALUE,
    WEIGHT,
    WIDTH,
    figure,
    format_number,
    subplots,
    use_style,
)
from figuras.plots.svg import css, render, show

__all__ = [
    "FONT_SIZE",
    "INK",
    "KEY",
    "MIN_LETTER",
    "MUTED",
    "PAPER",
    "POSITION",
    "QUERY",
    "TOKENS",
    "VALUE",
    "WEIGHT",
    "WIDTH",
    "attention_map",
    "bars",
    "css",
    "curves",
    "dots",
    "figure",
    "fingerprint",
    "format_number",
    "note",
    "on_cell",
    "render",
    "show",
    "silhouettes",
    "subplots",
    "use_style",
    "valley",
    "zones",
]
