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

from paginas.memoria import Memoria, contenido, resumen

FUENTE = contenido([Path(__file__)], Path(__file__).parent)
SIN = ("_static", "codigo")  # lo que no es texto del libro
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


def de_pagina(texto: str) -> tuple[list[str], dict[str, str]]:
    """Los enlaces de una página a un lugar de otra, y el avance de cada destino que tiene ella."""
    arbol = html.document_fromstring(texto)
    escritos = arbol.xpath("//article//a[contains(@class, 'internal')]/@href")
    enlaces = list(dict.fromkeys(str(x) for x in escritos if all(urldefrag(x))))
    destinos = {n.get("id"): n for n in reversed(arbol.xpath("//*[@id]"))}
    return enlaces, {ancla: avance(n) for ancla, n in destinos.items() if se_ensena(n)}


def de_otras(pagina: Path, sitio: Path, lee) -> dict[str, str]:
    """Dirección, tal como está escrita, de cada destino de otra página → su avance."""
    salida = {}
    for escrita in lee(pagina)[0]:
        fichero, ancla = urldefrag(escrita)
        ruta = (pagina.parent / unquote(fichero)).resolve()
        if ruta.is_relative_to(sitio) and ruta.suffix == ".html" and ruta.is_file():
            destino = lee(ruta)[1].get(unquote(ancla))
            if destino is not None:
                salida[escrita] = destino
    return salida


def pon_avances(sitio: Path, memoria: Memoria | None = None) -> int:
    """Escribe los avances en todas las páginas de un sitio; devuelve cuántos ha puesto."""
    sitio, cuantos, memoria = sitio.resolve(), 0, memoria or Memoria(None)

    @cache
    def lee(ruta: Path) -> tuple[list[str], dict[str, str]]:
        texto = ruta.read_text(encoding="utf-8")
        return memoria.da(resumen(FUENTE, texto), lambda: de_pagina(texto))

    paginas = [p for p in sorted(sitio.rglob("*.html")) if p.relative_to(sitio).parts[0] not in SIN]
    hallados = {pagina: de_otras(pagina, sitio, lee) for pagina in paginas}
    for pagina, avances in hallados.items():
        if avances:
            datos = json.dumps(avances, ensure_ascii=False).replace("</", "<\\/")
            bloque = f'<script type="application/json" id="avances">{datos}</script>\n'
            antes, cierre, despues = pagina.read_text(encoding="utf-8").rpartition("</body>")
            pagina.write_text(f"{antes}{bloque}{cierre}{despues}", encoding="utf-8")
            cuantos += len(avances)
    return cuantos
