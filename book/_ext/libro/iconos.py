"""Los iconos del tema, dibujados en la página: nueve trazos en lugar de la biblioteca entera (1.5
MB).
"""

from __future__ import annotations

import re

from sphinx.util import logging

logger = logging.getLogger(__name__)

# Trazos en una caja de 24 × 24, con las puntas redondas.
TRAZOS = {
    "bars": "M4 6h16M4 12h16M4 18h16",
    "list": "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
    "magnifying-glass": "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M15.4 15.4L20 20",
    "sun": (
        "M12 8a4 4 0 1 0 0 8a4 4 0 1 0 0-8M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4"
        " 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4"
    ),
    "moon": "M20 14.2A8.2 8.2 0 1 1 9.8 4a6.6 6.6 0 0 0 10.2 10.2z",
    "circle-half-stroke": "M12 3.5a8.5 8.5 0 1 0 0 17a8.5 8.5 0 1 0 0-17",
    "angle-left": "M15 5l-7 7l7 7",
    "angle-right": "M9 5l7 7l-7 7",
    "chevron-down": "M5 9l7 7l7-7",
    "chevron-right": "M9 5l7 7l-7 7",
    "outdent": "M4 6h16M4 18h16M11 12h9M7 9l-3 3l3 3",
}
RELLENO = {
    "circle-half-stroke": (
        '<path d="M12 3.5a8.5 8.5 0 0 1 0 17z" fill="currentColor" stroke="none"/>'
    )
}
_ICONO = re.compile(r'<(i|span) class="([^"]*\bfa-solid\b[^"]*)"([^>]*)></\1>')
_BIBLIOTECA = re.compile(r"\s*<script[^>]*fontawesome\.js[^>]*></script>")


def dibujar(pagina: str) -> str:
    """Cambia cada icono de la biblioteca por su dibujo y quita la biblioteca.

    >>> dibujar('<i class="fa-solid fa-bars"></i>')[:18]
    '<svg class="icono"'
    """

    def icono(encaje: re.Match) -> str:
        nombres = re.findall(r"fa-([a-z-]+)", encaje[2])
        nombre = next((n for n in nombres if n in TRAZOS), None)
        if nombre is None:
            logger.warning(
                "el tema usa un icono sin dibujo propio: %s",
                encaje[2],
                type="libro",
                subtype="iconos",
            )
            return encaje[0]
        clases = " ".join(["icono", *(c for c in encaje[2].split() if not c.startswith("fa-"))])
        modo = re.search(r'data-mode="\w+"', encaje[3])
        return (
            f'<svg class="{clases}" viewBox="0 0 24 24" aria-hidden="true"'
            f"{' ' + modo[0] if modo else ''}>"
            f'{RELLENO.get(nombre, "")}<path d="{TRAZOS[nombre]}"/></svg>'
        )

    return _ICONO.sub(icono, _BIBLIOTECA.sub("", pagina))


def _conectar(app) -> None:
    if app.builder.format != "html":
        return
    escribir = app.builder.templates.render
    app.builder.templates.render = lambda plantilla, contexto: dibujar(
        escribir(plantilla, contexto)
    )


def setup(app) -> None:
    """Dibuja los iconos al escribir cada página."""
    app.connect("builder-inited", _conectar)
