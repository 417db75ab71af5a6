"""Ninguna palabra inglesa en la interfaz.

Un solo catálogo, ``book/locale/es.po``, sirve para tres cosas: lo que pasa por gettext (Sphinx, el
tema y las extensiones), los rótulos que las plantillas llevan escritos en inglés y los de los
guiones de página.
"""

from __future__ import annotations

import gettext
import html
import json
import re
from pathlib import Path

from babel.messages.pofile import read_po
from sphinx import locale
from sphinx.util import logging

logger = logging.getLogger(__name__)

ATRIBUTOS = ("aria-label", "title", "alt", "placeholder", "data-bs-title", "data-tooltip")
_ATRIBUTO = re.compile(rf"""(?<=\s)({"|".join(ATRIBUTOS)})=(["'])(.*?)\2""", re.DOTALL)
_ENLACE_PERMANENTE = re.compile(r'title="Link to this [a-z ]+"')

# Un nombre largo se parte, si no cabe, tras un guion bajo, un punto, una barra o un paréntesis; no
# por cualquier letra.
_CODIGO_LARGO = re.compile(r'(<span class="pre">)([^<]{15,})(</span>)')
_CORTE = re.compile(r"([_./(=,])(?=\w)")
ABRIR_PARTE = "Mostrar u ocultar sus páginas"


class Catalogo(gettext.NullTranslations):
    """Las traducciones propias y, detrás, las que hubiera."""

    def __init__(self, mensajes: dict[str, str], detras: gettext.NullTranslations | None):
        super().__init__()
        self.mensajes = mensajes
        if detras is not None:
            self.add_fallback(detras)

    def gettext(self, message: str) -> str:
        return self.mensajes.get(message) or super().gettext(message)


def leer_catalogo(fichero: Path) -> dict[str, str]:
    """Mensajes del catálogo, sin los vacíos."""
    with fichero.open("rb") as entrada:
        return {m.id: m.string for m in read_po(entrada, locale="es") if m.id and m.string}


def sustituir(pagina: str, mensajes: dict[str, str]) -> str:
    """Traduce los atributos que se leen en voz alta o se enseñan y que nadie pasó por gettext."""

    def atributo(encaje: re.Match) -> str:
        nombre, comilla, texto = encaje.groups()
        traducido = mensajes.get(html.unescape(texto).strip())
        return (
            encaje[0]
            if traducido is None
            else f"{nombre}={comilla}{html.escape(traducido)}{comilla}"
        )

    # Sphinx da a la bibliografía el papel de lista, pero no a sus entradas el de elementos.
    pagina = pagina.replace(
        '<div role="list" class="citation-list">', '<div class="citation-list">'
    )
    flecha = '<span class="toctree-toggle"'
    pagina = pagina.replace(f"<summary>{flecha}", f'<summary aria-label="{ABRIR_PARTE}">{flecha}')
    pagina = _CODIGO_LARGO.sub(lambda m: m[1] + _CORTE.sub(r"\1<wbr>", m[2]) + m[3], pagina)
    return _ATRIBUTO.sub(atributo, _ENLACE_PERMANENTE.sub('title="Enlace a este lugar"', pagina))


def _poner_catalogo(app) -> None:
    """Antepone el catálogo propio a todos los que se hayan cargado, y traduce cada página al
    escribirla.
    """
    mensajes = leer_catalogo(Path(app.srcdir) / "locale" / "es.po")
    for clave, actual in list(locale.translators.items()):
        if not isinstance(actual, Catalogo):
            locale.translators[clave] = Catalogo(mensajes, actual)
    if app.builder.format != "html":
        return
    plantillas = app.builder.templates
    plantillas.environment.install_gettext_translations(locale.translators["general", "sphinx"])
    escribir = plantillas.render
    plantillas.render = lambda plantilla, contexto: sustituir(
        escribir(plantilla, contexto), mensajes
    )


# Cambios en los guiones que Sphinx y las extensiones copian a _static.
GUIONES = {
    "togglebutton.js": {"Toggle hidden content": "Mostrar u ocultar"},
    # Qué se desplaza lo mira libro.js, sin componer antes lo plegado.
    "scripts/pydata-sphinx-theme.js": {
        '"complete"===document.readyState?I():window.addEventListener("load",I)': (
            "void I/*libro.js*/"
        )
    },
    # Los extractos de la búsqueda salen del texto de la página, sin sus botones.
    "searchtools.js": {
        '[".headerlink", "script", "style"]': (
            '[".headerlink", "script", "style", ".bd-header-article", '
            '".prev-next-footer", ".bd-sidebar-secondary", ".onlyprint"]'
        )
    },
}


def _traducir_guiones(app, fallo) -> None:
    if fallo is not None or app.builder.format != "html":
        return
    mensajes = leer_catalogo(Path(app.srcdir) / "locale" / "es.po")
    estaticos = Path(app.outdir) / "_static"
    for nombre, cambios in GUIONES.items():
        guion = estaticos / nombre
        texto = guion.read_text("utf8")
        for antes, despues in cambios.items():
            if antes not in texto and despues not in texto:
                logger.warning(
                    "%s ya no contiene «%s»: hay que revisar libro.espanol",
                    nombre,
                    antes,
                    type="libro",
                )
            texto = texto.replace(antes, despues)
        guion.write_text(texto, "utf8")
    traducciones = estaticos / "translations.js"
    texto = traducciones.read_text("utf8")
    for ingles, espanol in mensajes.items():
        clave = re.escape(json.dumps(ingles))
        texto = re.sub(
            rf"({clave}: )(\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\])",
            lambda m, espanol=espanol: m[1] + json.dumps(espanol),
            texto,
        )
    traducciones.write_text(texto, "utf8")


def setup(app) -> None:
    """Conecta el catálogo."""
    app.connect("builder-inited", _poner_catalogo)
    app.connect("build-finished", _traducir_guiones, priority=900)
