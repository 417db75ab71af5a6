"""Bibliografía y citas en español: «(Vaswani et al., 2017)», «Bahdanau y Cho», «En», «vol.»."""

from __future__ import annotations

from functools import cache

import pybtex.plugin
import sphinxcontrib.bibtex.plugin
from pybtex.richtext import Text
from pybtex.style.formatting.unsrt import Style
from pybtex.style.template import Node, names, sentence
from sphinxcontrib.bibtex.style.referencing import BracketStyle, PersonStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

PALABRAS = {
    "In": "En",
    "Volume": "Volumen",
    "volume": "volumen",
    "number": "número",
    "of": "de",
    "in": "en",
    "edition": "edición",
    "editor": "ed.",
    "editors": "eds.",
    "PhD thesis": "Tesis doctoral",
    "Master's thesis": "Tesis de máster",
    "Technical Report": "Informe técnico",
    "chapter": "capítulo",
    "pages": "páginas",
}
Y = " y "


def _traducir(plantilla):
    """Cambia en el sitio las palabras inglesas que la plantilla de pybtex lleva escritas."""
    if isinstance(plantilla, str):
        return PALABRAS.get(plantilla, plantilla)
    if isinstance(plantilla, Node):
        plantilla.children = [_traducir(hijo) for hijo in plantilla.children]
    return plantilla


class Estilo(Style):
    """El estilo «plain» de pybtex, ordenado por autoría y con sus palabras en español."""

    default_sorting_style = "author_year_title"

    def format_names(self, role, as_sentence=True):
        lista = names(role, sep=", ", sep2=Y, last_sep=Y)
        return sentence[lista] if as_sentence else lista

    def __getattribute__(self, nombre):
        valor = super().__getattribute__(nombre)
        if nombre.startswith("get_") and nombre.endswith("_template"):
            return lambda entrada: _traducir(valor(entrada))
        return valor


def _parentesis() -> BracketStyle:
    return BracketStyle(left="(", right=")", sep="; ")


class Referencia(AuthorYearReferenceStyle):
    """Citas de autoría y año entre paréntesis, con «y»."""

    def __init__(self):
        super().__init__(
            bracket_textual=_parentesis(),
            bracket_parenthetical=_parentesis(),
            bracket_author=_parentesis(),
            bracket_label=_parentesis(),
            bracket_year=_parentesis(),
            person=PersonStyle(sep2=Y, last_sep=Y, other=Text(" et al.")),
        )


def setup(app) -> None:
    """Registra los estilos con el nombre «libro», el que pide ``_config.yml``."""
    pybtex.plugin.register_plugin("pybtex.style.formatting", "libro", Estilo)
    sphinxcontrib.bibtex.plugin.register_plugin(
        "sphinxcontrib.bibtex.style.referencing", "libro", Referencia, force=True
    )
    # En cada cita, pybtex busca su complemento por todo lo instalado.
    pybtex.plugin._load_entry_point = cache(pybtex.plugin._load_entry_point)
