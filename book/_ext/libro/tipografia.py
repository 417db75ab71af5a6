"""La puntuación que sigue a una fórmula no se queda sola al empezar la línea."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform

DETRAS = re.compile(r"^[.,;:!?…)\]»”%]+")
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


def setup(app) -> None:
    """Registra la transformación."""
    app.add_transform(PegarPuntuacion)
