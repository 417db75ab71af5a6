"""Ni la puntuación que sigue a una fórmula ni el «%» de un número se quedan solos al empezar la
línea, ni se parten una expresión corta por sus signos ni un nombre, como «Pre-LN», por su guion.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

CODIGO = (
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
)
DETRAS = re.compile(r"^[.,;:!?…)\]»”%]+")
PORCENTAJE = re.compile(r"(?:(?<=\d)|^) (?=%)")
EXPRESION = re.compile(r"[0-9xyz()+*/-]{3,16}")
NOMBRE = re.compile(
    r"(?<![\w-])(?:[^\W\d_][^\W_]{1,8}-(?:\d{1,3}|[A-Z]{1,4})|[A-Z]{2,5}-[^\W_]{1,5})(?![\w-])"
)
DELANTE = re.compile(r"[(\[«“¿¡]+$")


def separar(texto: str, patron: re.Pattern[str]) -> tuple[str, str]:
    """El signo pegado a la fórmula y el resto del texto.

    >>> separar("), y sigue", DETRAS), separar("y así (", DELANTE), separar(" y", DETRAS)
    (('),', ' y sigue'), ('(', 'y así '), ('', ' y'))
    """
    encaje = patron.search(texto)
    return (encaje[0], texto[: encaje.start()] + texto[encaje.end() :]) if encaje else ("", texto)


class PegarPuntuacion(SphinxTransform):
    """Mete cada fórmula y los signos que la tocan en un tramo que no se parte."""

    default_priority = 420

    def apply(self, **kwargs) -> None:
        for formula in list(self.document.findall(nodes.math)):
            self._pegar(formula)

    def _pegar(self, formula: nodes.math) -> None:
        padre = formula.parent
        lugar = padre.index(formula)
        antes = self._tomar(padre, lugar - 1, DELANTE) if lugar else ""
        despues = self._tomar(padre, lugar + 1, DETRAS) if lugar + 1 < len(padre) else ""
        if antes or despues:
            tramo = nodes.inline("", "", classes=["sin-corte"])
            padre.replace(formula, tramo)
            tramo += [n for n in (nodes.Text(antes), formula, nodes.Text(despues)) if n.astext()]

    def _tomar(self, padre: nodes.Element, lugar: int, patron: re.Pattern[str]) -> str:
        """Quita del texto vecino los signos pegados y los devuelve; el texto no desaparece aunque
        quede vacío.
        """
        texto = padre[lugar]
        if not isinstance(texto, nodes.Text):
            return ""
        signos, resto = separar(texto, patron)
        if signos:
            padre[lugar] = nodes.Text(resto)  # por su lugar: «replace» busca otro texto igual
        return signos


class PegarExpresiones(SphinxTransform):
    """Una expresión corta, como ``-*+1y3z``, no se parte por sus signos."""

    default_priority = 420

    def apply(self, **kwargs) -> None:
        for codigo in self.document.findall(nodes.literal):
            if EXPRESION.fullmatch(codigo.astext()):
                codigo["classes"].append("sin-corte")


class PegarPorcentajes(SphinxPostTransform):
    """Pone entre un número y su «%» un espacio que no se parte; el número puede ser un valor
    guardado o una fórmula.
    """

    default_priority = 999  # cuando ya no queda nada por sustituir

    def run(self, **kwargs) -> None:
        for texto in list(self.document.findall(nodes.Text)):
            padre = texto.parent
            if PORCENTAJE.search(texto) and not isinstance(padre, CODIGO):
                padre.replace(texto, nodes.Text(PORCENTAJE.sub("\N{NO-BREAK SPACE}", texto)))


class PegarNombres(SphinxPostTransform):
    """Mete en un tramo que no se parte un nombre cuyo guion va ante una sigla o un número, como
    «Pre-LN» o «GPT-2». El guion sigue siendo el de siempre: se busca y se copia igual.
    """

    default_priority = 999

    def run(self, **kwargs) -> None:
        for texto in list(self.document.findall(nodes.Text)):
            padre = texto.parent
            if isinstance(padre, CODIGO) or not NOMBRE.search(texto):
                continue
            trozos: list[nodes.Node] = []
            desde = 0
            for nombre in NOMBRE.finditer(texto):
                trozos += [
                    nodes.Text(texto[desde : nombre.start()]),
                    nodes.inline("", nombre[0], classes=["sin-corte"]),
                ]
                desde = nombre.end()
            trozos.append(nodes.Text(texto[desde:]))
            lugar = next(i for i, hijo in enumerate(padre) if hijo is texto)
            padre[lugar : lugar + 1] = [trozo for trozo in trozos if trozo.astext()]


def setup(app) -> None:
    """Registra las transformaciones."""
    app.add_transform(PegarPuntuacion)
    app.add_transform(PegarExpresiones)
    app.add_post_transform(PegarPorcentajes)
    app.add_post_transform(PegarNombres)
