"""Pone en cada página enunciados y ecuaciones de otras que cita, para enseñarlos sin ir a ellas.

Los de la propia página los copia el navegador; los de otra viajan dentro, en un bloque de datos:
así se ven también con el sitio abierto como ficheros, donde no se puede pedir otra página.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag

from lxml import html

CON_AVANCE = ("math", "proof")
SOBRA = ".//*[contains(@class, 'headerlink')]"


def avance(destino: html.HtmlElement) -> str:
    """El HTML de un enunciado o de una ecuación, sin identificadores ni enlaces."""
    copia = copy.deepcopy(destino)
    copia.tail = None
    for nodo in copia.xpath(SOBRA):
        nodo.drop_tree()
    for nodo in copia.iter("a"):
        nodo.attrib.pop("href", None)
    for nodo in copia.iter():
        nodo.attrib.pop("id", None)
    return html.tostring(copia, encoding="unicode")


def se_ensena(nodo: html.HtmlElement | None) -> bool:
    """Si un destino es una ecuación numerada o un enunciado."""
    return nodo is not None and bool(set(nodo.get("class", "").split()) & set(CON_AVANCE))


def de_otras(pagina: Path, sitio: Path, lee) -> dict[str, str]:
    """Dirección, tal como está escrita, de cada destino de otra página → su avance."""
    salida = {}
    for enlace in lee(pagina).xpath("//article//a[contains(@class, 'internal')]"):
        escrita = enlace.get("href", "")
        fichero, ancla = urldefrag(escrita)
        ruta = (pagina.parent / unquote(fichero)).resolve()
        if not fichero or not ancla or not ruta.is_relative_to(sitio) or not ruta.is_file():
            continue
        destino = lee(ruta).get_element_by_id(unquote(ancla), None)
        if se_ensena(destino):
            salida[escrita] = avance(destino)
    return salida


def pon_avances(sitio: Path) -> int:
    """Escribe los avances en todas las páginas de un sitio; devuelve cuántos ha puesto."""
    sitio, cuantos = sitio.resolve(), 0
    lee = cache(lambda ruta: html.document_fromstring(ruta.read_text(encoding="utf-8")))
    paginas = [p for p in sorted(sitio.rglob("*.html")) if "_static" not in p.parts]
    hallados = {pagina: de_otras(pagina, sitio, lee) for pagina in paginas}
    for pagina, avances in hallados.items():
        if avances:
            datos = json.dumps(avances, ensure_ascii=False).replace("</", "<\\/")
            bloque = f'<script type="application/json" id="avances">{datos}</script>\n'
            antes, cierre, despues = pagina.read_text(encoding="utf-8").rpartition("</body>")
            pagina.write_text(f"{antes}{bloque}{cierre}{despues}", encoding="utf-8")
            cuantos += len(avances)
    return cuantos
