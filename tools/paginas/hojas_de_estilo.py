"""Quita de las hojas de estilo lo que ninguna página usa: del tema queda una cuarta parte. Y, de
las páginas, las marcas del código que no lleva color y lo que sobra en las figuras.

Una regla se queda si todas las clases y los identificadores de alguno de sus selectores salen, como
palabras, en alguna página o en algún guion; también las que los guiones del tema componen a trozos.
Se hace sobre la copia que se publica: lo que Sphinx escribió sigue entero para la construcción
siguiente.
"""

from __future__ import annotations

import re
from pathlib import Path

import tinycss2

from paginas.memoria import Memoria, contenido, resumen
from paginas.trazos import figuras_ligeras

PALABRA = re.compile(r"[A-Za-z_][\w-]*")
NOMBRE = re.compile(r"[.#]([A-Za-z_][\w-]*)")
SIN_NOMBRES = re.compile(
    r":[\w-]+\([^()]*\)|\[[^\]]*\]"
)  # «:is(…)» vale con una de las suyas: no se mira
COMPUESTAS = re.compile(r"bs-|tooltip|popover|modal|show|fade|collaps|offcanvas|backdrop")
CON_REGLAS = ("media", "supports", "layer", "container")
SIN_CARGAR = {"fontawesome.js"}
AQUI = Path(__file__).resolve().parent
FUENTE = contenido([AQUI / x for x in ("hojas_de_estilo.py", "trazos.py")], AQUI)
CODIGO = re.compile(r'(?<=<div class="highlight">).*?(?=</div>)', re.DOTALL)
# Las clases de Pygments a las que la hoja del libro no da color ni letra.
SIN_COLOR = re.compile(
    r'<span class="(?:n|ne|nb|bp|o|p|mi|mf|si|nd|vm|nv|na|nn|nc|nf|fm|w)">([^<]*)</span>'
)


def palabras(sitio: Path, nombres: set[str], memoria: Memoria) -> set[str]:
    """Los nombres que salen, como palabras, en las páginas y en los guiones que se cargan."""
    ficheros = [*sitio.rglob("*.html"), *sitio.glob("_static/**/*.js"), *sitio.glob("guiones/*.js")]
    marca, salida = resumen(*sorted(nombres)), set()
    for fichero in ficheros:
        if fichero.name not in SIN_CARGAR:
            texto = fichero.read_text(encoding="utf-8", errors="replace")
            salida |= memoria.da(
                resumen(FUENTE, "palabras", marca, texto),
                lambda t=texto: nombres & set(PALABRA.findall(t)),
            )
    return salida


def se_usa(selector: str, hay: set[str]) -> bool:
    """Si todas las clases y los identificadores de un selector salen en algún sitio."""
    while SIN_NOMBRES.search(selector):
        selector = SIN_NOMBRES.sub("", selector)
    return all(n in hay or COMPUESTAS.match(n) for n in NOMBRE.findall(selector))


def aligerada(hoja: str, hay: set[str]) -> str:
    """La hoja sin comentarios y sin las reglas que no se usan.

    >>> aligerada(".a{x:1} .b,.a p{y:2} @media print{.b{z:3}}", {"a"})
    '.a{x:1}.a p{y:2}'
    """
    salida = []
    for regla in tinycss2.parse_stylesheet(hoja, skip_comments=True, skip_whitespace=True):
        if regla.type == "qualified-rule":
            selector = tinycss2.serialize(regla.prelude).strip()
            partes = [selector] if "(" in selector else selector.split(",")
            if vivas := [p.strip() for p in partes if se_usa(p, hay)]:
                salida.append(f"{','.join(vivas)}{{{tinycss2.serialize(regla.content).strip()}}}")
        elif (
            regla.type == "at-rule"
            and regla.content is not None
            and regla.lower_at_keyword in CON_REGLAS
        ):
            if dentro := aligerada(tinycss2.serialize(regla.content), hay):
                salida.append(f"@{regla.at_keyword}{tinycss2.serialize(regla.prelude)}{{{dentro}}}")
        elif regla.type == "at-rule":
            salida.append(regla.serialize())
    return "".join(salida)


def sin_marcas(pagina: str) -> str:
    """La página con el código marcado solo donde cambia de color o de letra.

    >>> sin_marcas('<div class="highlight"><b>in</b> <span class="n">x</span></div>')
    '<div class="highlight"><b>in</b> x</div>'
    """
    return CODIGO.sub(lambda codigo: SIN_COLOR.sub(r"\1", codigo[0]), pagina)


def pagina_ligera(pagina: str) -> str:
    """La página que se publica."""
    return figuras_ligeras(sin_marcas(pagina))


def aligera(sitio: Path, memoria: Memoria | None = None) -> int:
    """Aligera las hojas y las páginas de un sitio; devuelve cuántos bytes se han quitado.

    Lo que la memoria recuerda no se hace otra vez.
    """
    memoria = memoria or Memoria(None)
    hojas = {p: p.read_text(encoding="utf-8") for p in sitio.glob("_static/**/*.css")}
    nombres = {n for hoja in hojas.values() for n in NOMBRE.findall(hoja)}
    hay = palabras(sitio, nombres, memoria)
    marca, quitado = resumen(*sorted(hay)), 0
    textos = {p: p.read_text(encoding="utf-8") for p in sitio.rglob("*.html")}
    for ruta, antes in (hojas | textos).items():
        if ruta in hojas:
            clave, cambia = resumen(FUENTE, marca, antes), lambda t: aligerada(t, hay)
        else:
            clave, cambia = resumen(FUENTE, antes), pagina_ligera
        despues = memoria.da(clave, lambda a=antes, c=cambia: c(a))
        if despues != antes:
            ruta.write_text(despues, encoding="utf-8")
        quitado += len(antes.encode()) - len(despues.encode())
    return quitado
