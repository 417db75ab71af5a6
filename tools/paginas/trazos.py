"""Las figuras de las páginas, con el mismo dibujo en la mitad de bytes.

matplotlib escribe cada trazo con su grupo, su estilo entero y sus coordenadas absolutas. Aquí se va
lo que no pinta nada, los trazos pasan a coordenadas relativas (exactas: las de la página llevan dos
decimales) y lo que repiten varios seguidos se dice una vez, en un grupo. Y los colores pierden su
valor de reserva, que solo hace falta fuera del sitio: en él, las variables están definidas.

Se hace sobre la copia que se publica. En un cuaderno, cada figura sigue valiéndose sola.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from lxml import etree

FIGURA = re.compile(
    r'(<div class="atento-figura"[^>]*>)(?:<style>.*?</style>)?(<svg .*?</svg>)', re.DOTALL
)
RESERVA = re.compile(r"var\((--atento-(?!figure)[\w-]+), #[0-9a-f]+\)")
SIN_GIRO = re.compile(r"rotate\(-?0 [^)]*\)")
ORDEN = re.compile(r"([MLCQz])([^MLCQz]*)")
CENTESIMAS = re.compile(r"-?\d+(?:\.\d{1,2})?")
# Lo que vale si no se dice nada, o lo que ya dice el dibujo entero.
DE_SERIE = {
    "text-anchor": "start",
    "stroke-linejoin": "round",
    "stroke-linecap": "butt",
    "stroke-dashoffset": "0",
}
# Lo que un grupo deja en herencia a cada uno de los suyos: «opacity», por ejemplo, no.
SE_HEREDA = re.compile(r"(fill|stroke|font|text-anchor)[-:]")
TRAZOS = {"path", "use", "text"}


def figuras_ligeras(pagina: str) -> str:
    """La página con sus figuras aligeradas."""
    return FIGURA.sub(lambda figura: figura[1] + aligera_figura(figura[2]), pagina)


def aligera_figura(svg: str) -> str:
    """El mismo dibujo, más corto.

    >>> aligera_figura('<svg> <g> <path d="M 1 2  L 1 4  z " style="fill:red" /> </g></svg>')
    '<svg><path d="M1 2v2z" style="fill:red"/></svg>'
    """
    raiz = etree.fromstring(RESERVA.sub(r"var(\1)", svg))
    for nodo in list(raiz.iter(etree.Element)):
        _acorta(nodo)
    for nodo in reversed(list(raiz.iter(etree.Element))):
        _quita_si_sobra(nodo)
    for nodo in [raiz, *raiz.iter("{*}g")]:
        _agrupa(nodo)
    return etree.tostring(raiz, encoding="unicode")


def _nombre(nodo: etree._Element) -> str:
    return etree.QName(nodo).localname


def _acorta(nodo: etree._Element) -> None:
    """Quita los blancos que no se leen, los valores de serie y los giros de cero grados."""
    if not any(_nombre(n) == "text" for n in (nodo, *nodo.iterancestors())):
        nodo.text = None
    if not any(_nombre(n) == "text" for n in nodo.iterancestors()):
        nodo.tail = None
    if SIN_GIRO.fullmatch(nodo.get("transform", "")):
        del nodo.attrib["transform"]
    if "d" in nodo.attrib:
        nodo.set("d", relativo(nodo.get("d")))
    if "style" in nodo.attrib and nodo.getparent() is not None:
        partes = (p for p in nodo.get("style").split(";") if p)
        nodo.set("style", ";".join(p for p in partes if not _de_serie(p)))


def _de_serie(propiedad: str) -> bool:
    nombre, _, valor = propiedad.partition(":")
    return DE_SERIE.get(nombre) == valor


def _quita_si_sobra(nodo: etree._Element) -> None:
    """Quita lo que no pinta nada; de un grupo sin atributos deja lo que contiene."""
    padre, nombre = nodo.getparent(), _nombre(nodo)
    if padre is None:
        return
    if (nombre in ("g", "defs") and len(nodo) == 0) or _invisible(nodo):
        padre.remove(nodo)
    elif nombre == "g" and not nodo.attrib:
        sitio = padre.index(nodo)
        padre[sitio : sitio + 1] = list(nodo)


def _invisible(nodo: etree._Element) -> bool:
    """Si es un trazo sin relleno ni línea, suyos o heredados, al que nadie se refiere."""
    vacio = _nombre(nodo) == "path" and nodo.get("style") == "fill:none" and not nodo.get("id")
    return vacio and not any(
        "stroke:" in n.get("style", "") or "stroke" in n.attrib for n in nodo.iterancestors()
    )


def _agrupa(padre: etree._Element) -> None:
    """Da a un grupo el estilo y el recorte que comparten varios trazos seguidos."""
    for comun, seguidos in [(c, list(s)) for c, s in groupby(list(padre), _comun)]:
        if not comun or len(seguidos) < 2:
            continue
        grupo = padre.makeelement(etree.QName(etree.QName(padre).namespace, "g"), dict(comun))
        padre.insert(padre.index(seguidos[0]), grupo)
        for nodo in seguidos:
            for atributo, _ in comun:
                del nodo.attrib[atributo]
            grupo.append(nodo)


def _comun(nodo: etree._Element) -> tuple[tuple[str, str], ...]:
    """Lo que este trazo puede compartir con los de al lado, o nada."""
    estilo, recorte = nodo.get("style", ""), nodo.get("clip-path")
    if _nombre(nodo) not in TRAZOS or (recorte and "transform" in nodo.attrib):
        return ()
    if not estilo or not all(SE_HEREDA.match(p) for p in estilo.split(";")):
        return ()
    return (("style", estilo), *((("clip-path", recorte),) if recorte else ()))


# --- Los trazos -----------------------------------------------------------------------------------


def relativo(trazo: str) -> str:
    """Un trazo en coordenadas relativas, sin nada que sobre; si no se puede decir exacto, como
    estaba.

    >>> relativo("M 10 20  L 10.5 20  L 10.5 19.25  L 11 21  z ")
    'M10 20h.5v-.75l.5 1.75z'
    >>> relativo("M 1 1 L 2 3 L 4 4 M 5 5 L 6 7")
    'M1 1l1 2 2 1m1 1 1 2'
    >>> relativo("M 1e-05 1 L 2 3")
    'M 1e-05 1 L 2 3'
    """
    ordenes = [(orden, numeros.split()) for orden, numeros in ORDEN.findall(trazo)]
    exacto = all(CENTESIMAS.fullmatch(n) for _, numeros in ordenes for n in numeros)
    if not exacto or ORDEN.sub("", trazo).strip() or trazo.strip()[:1] != "M":
        return trazo
    return _escrito(_pasos((o, [round(100 * float(n)) for n in ns]) for o, ns in ordenes))


def _pasos(ordenes: Iterable[tuple[str, list[int]]]) -> Iterable[tuple[str, list[int]]]:
    """Las mismas órdenes, relativas al punto donde empiezan."""
    x = y = inicio_x = inicio_y = 0
    for vez, (orden, numeros) in enumerate(ordenes):
        if orden == "z":
            x, y = inicio_x, inicio_y
            yield "z", []
            continue
        pares = zip(numeros[::2], numeros[1::2], strict=True)
        cambios = [n for px, py in pares for n in (px - x, py - y)]
        x, y = numeros[-2:]
        if orden == "M":
            inicio_x, inicio_y = x, y
            yield ("m", cambios) if vez else ("M", numeros)
        elif orden == "L" and 0 in cambios:
            yield ("v", cambios[1:]) if cambios[0] == 0 else ("h", cambios[:1])
        else:
            yield orden.lower(), cambios


def _escrito(pasos: Iterable[tuple[str, list[int]]]) -> str:
    """Las órdenes, sin repetir la letra de la anterior ni separar lo que se separa solo."""
    trozos, anterior = [], ""
    for orden, numeros in pasos:
        if orden in "zm" or orden != {"m": "l"}.get(anterior, anterior):
            trozos.append(orden)
        for numero in map(_corto, numeros):
            trozos.append(numero if _pegado(trozos[-1], numero) else f" {numero}")
        anterior = orden
    return "".join(trozos)


def _corto(centesimas: int) -> str:
    """Centésimas escritas como número, con lo justo: ``-50`` es «-.5»."""
    entera, resto = divmod(abs(centesimas), 100)
    fraccion = f".{resto:02d}".rstrip("0") if resto else ""
    return f"{'-' * (centesimas < 0)}{entera or ''}{fraccion}" if centesimas else "0"


def _pegado(antes: str, numero: str) -> bool:
    """Si un número se distingue del trozo de antes sin un espacio en medio."""
    return antes.isalpha() or numero[0] == "-" or (numero[0] == "." and "." in antes)
