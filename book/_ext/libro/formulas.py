"""Las fórmulas, de TeX a MathML al construir: se ven sin JavaScript y se oyen con un lector de
pantalla.

La conversión es de Temml (carpeta ``temml``), ejecutado en QuickJS. Aquí se ponen los espacios que
TeX pone entre símbolos y MathML no, y los lugares por los que una fórmula larga puede partirse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from docutils import nodes
from lxml import etree

TEMML = Path(__file__).parent / "temml" / "temml.min.js"

# Las mayúsculas son matrices (filas = posiciones) y las minúsculas, una fila. El color repite lo
# que dice la letra.
MACROS = {
    "Q": r"\class{q}{Q}",
    "K": r"\class{k}{K}",
    "V": r"\class{v}{V}",
    "q": r"\class{q}{q}",
    "k": r"\class{k}{k}",
    "vv": r"\class{v}{v}",
    "T": r"{\mathsf T}",
    "R": r"\mathbb{R}",
    "E": r"\operatorname{E}",
    "Var": r"\operatorname{Var}",
    "softmax": r"\operatorname{softmax}",
    "Attn": r"\operatorname{Attn}",
}
OPCIONES = {
    "macros": {f"\\{nombre}": valor for nombre, valor in MACROS.items()},
    "trust": True,  # «\class»; el TeX es del libro
    "throwOnError": True,
}
FINO = "0.1667em"
APLICA = "\u2061"
RELACIONES = set("=<>≤≥≠≈≡∼∝→←↦⇒⇔⟺⟹∈≔≪≫") | {":="}
BINARIOS = set("+−±×⋅·∘⊙⊕⊗∗/")
CUERPOS = ("letra", "grupo", "cierra")
CON_BASE = ("msub", "msup", "msubsup", "munder", "mover", "munderover")


class TeXError(ValueError):
    """Un TeX que no se puede convertir."""


@lru_cache(maxsize=1)
def _temml() -> Callable[[str, dict], str]:
    import quickjs

    motor = quickjs.Context()
    motor.eval(TEMML.read_text(encoding="utf-8"))

    def convierte(tex: str, opciones: dict) -> str:
        pedido = f"temml.renderToString({json.dumps(tex)}, {json.dumps(opciones)})"
        try:
            return json.loads(motor.eval(f"JSON.stringify({pedido})"))
        except quickjs.JSException as error:
            raise TeXError(str(error).splitlines()[0]) from None

    return convierte


@cache
def mathml(tex: str, en_bloque: bool = False) -> str:
    """El MathML de una fórmula, en un renglón o en bloque.

    Errores: :class:`TeXError` si el TeX no se entiende.
    """
    raiz = etree.fromstring(_temml()(tex.strip(), {**OPCIONES, "displayMode": en_bloque}))
    raiz.attrib.pop("style", None)
    raiz.attrib.pop("class", None)
    for nodo in list(raiz.iterfind(".//*[@scriptlevel]")):
        _envuelve_el_cuerpo(nodo)
    for numero in list(raiz.iter("mn")):
        _separa_comas(numero)
    for fila in raiz.iter("math", "mrow", "mtd", "msqrt", "mstyle", "mpadded"):
        _espacia(fila)
    for guion in raiz.iter(*CON_BASE):
        for operador in (x for hijo in guion[1:] for x in hijo.iter("mo")):
            operador.attrib.update({"lspace": "0em", "rspace": "0em"})
    for celda in [raiz, *raiz.iterfind(".//mtable[@class='tml-jot']/mtr/mtd")]:
        _pon_cortes(celda)
    for nodo in raiz.iter():  # «<mspace/>» no se cierra así en HTML
        nodo.text = nodo.text or ""
    return etree.tostring(raiz, encoding="unicode")


def _envuelve_el_cuerpo(nodo: etree._Element) -> None:
    """El tamaño de letra, en un ``mstyle``: el MathML de EPUB no lo admite en otro sitio."""
    if nodo.tag in ("mrow", "mstyle"):
        nodo.tag = "mstyle"
        return
    estilo = etree.Element("mstyle", scriptlevel=nodo.attrib.pop("scriptlevel"))
    nodo.getparent().replace(nodo, estilo)
    estilo.append(nodo)


def _separa_comas(numero: etree._Element) -> None:
    """«1,1» son dos números y una coma: aquí los decimales llevan punto."""
    trozos = (numero.text or "").split(",")
    if len(trozos) == 1:
        return
    nuevos = [etree.Element("mn") for _ in trozos]
    for nuevo, trozo in zip(nuevos, trozos, strict=True):
        nuevo.text = trozo
    fila = etree.Element("mrow")
    fila.append(nuevos[0])
    for nuevo in nuevos[1:]:
        coma = etree.SubElement(fila, "mo", separator="true")
        coma.text = ","
        fila.append(nuevo)
    _sustituye(numero, fila)


def _sustituye(viejo: etree._Element, nuevo: etree._Element) -> None:
    """Cambia un nodo por otro; el contenido de una fila sin más va a la fila que lo lleva."""
    padre = viejo.getparent()
    if padre.tag in ("mrow", "math", "mtd"):
        donde = padre.index(viejo)
        padre[donde : donde + 1] = list(nuevo)
    else:
        padre.replace(viejo, nuevo)


def _nucleo(nodo: etree._Element) -> etree._Element:
    """El símbolo de base: de «∑» con límites, «∑»."""
    while nodo.tag in CON_BASE:
        nodo = nodo[0]
    return nodo


def _clase(nodo: etree._Element | None) -> str:
    """El papel de un nodo en su fila, como en TeX; vacío si no hay nodo."""
    if nodo is None:
        return ""
    nucleo = _nucleo(nodo)
    if nucleo.tag == "mrow":
        if any(x.text == APLICA for x in nucleo.findall("mo")):
            return "función"
        return "grupo" if len(nucleo) and _clase(nucleo[0]) == "abre" else "letra"
    if nucleo.tag != "mo":
        return "espacio" if nucleo.tag == "mspace" else "letra"
    if nucleo.get("movablelimits") is not None:
        return "suma"
    if nucleo.get("fence") == "true":
        return "abre" if nucleo.get("form") == "prefix" else "cierra"
    return "puntos" if nucleo.text in ("…", "⋯") else "signo"


def _espacia(fila: etree._Element) -> None:
    """Los espacios de TeX en una fila: alrededor de sumas, funciones y puntos suspensivos."""
    for nodo in list(fila):
        anterior, siguiente = nodo.getprevious(), nodo.getnext()
        clase, antes = _clase(nodo), _clase(anterior)
        if clase == "suma":
            cuerpo = antes in (*CUERPOS, "función")
            despues = "0em" if _clase(siguiente) in ("abre", "grupo") else FINO
            _nucleo(nodo).attrib.update({"lspace": FINO if cuerpo else "0em", "rspace": despues})
        elif clase == "función" and nodo[0].tag != "mspace" and antes in CUERPOS:
            nodo.addprevious(etree.Element("mspace", width=FINO))
        elif clase == "puntos":
            coma = siguiente is not None and siguiente.text == ","
            nodo.attrib.update({"lspace": "0em", "rspace": FINO if coma else "0em"})


def _pon_cortes(raiz: etree._Element) -> None:
    """Reparte la fila principal en trozos: la fórmula, o la celda de una alineación, puede partirse
    entre dos de ellos.
    """
    fila = raiz[0] if len(raiz) == 1 and raiz[0].tag == "mrow" and not raiz[0].attrib else raiz
    trozos = list(_trozos(list(fila)))
    if len(trozos) < 2:
        return
    for hijo in list(raiz):
        raiz.remove(hijo)
    for trozo in trozos:
        nueva = etree.SubElement(raiz, "mrow")
        nueva.extend(trozo)
    if raiz.tag == "math":
        raiz.set("class", "partible")


def _trozos(hijos: list[etree._Element]) -> Iterator[list[etree._Element]]:
    """Se parte delante de una relación, o de un signo que suma, y detrás de un espacio ancho; el
    comienzo de cada igualdad («z =») no se separa.
    """
    trozo: list[etree._Element] = []
    comienza = True
    for i, hijo in enumerate(hijos):
        signo = hijo.text if hijo.tag == "mo" and hijo.get("form") != "prefix" else None
        corto = comienza and len(trozo) < 3 and signo in RELACIONES
        if trozo and i + 1 < len(hijos) and signo in RELACIONES | BINARIOS and not corto:
            yield trozo
            trozo, comienza = [], False
            hijo.set("form", "infix")
        trozo.append(hijo)
        if hijo.tag == "mspace" and re.match(r"[1-9]", hijo.get("width", "")):
            yield trozo
            trozo, comienza = [], True
    if trozo:
        yield trozo


# --- Sphinx ---------------------------------------------------------------------------------------


def _escribe(traductor, nodo: nodes.Element, tex: str, en_bloque: bool) -> str:
    from sphinx.util import logging

    try:
        return mathml(tex, en_bloque)
    except TeXError as error:
        mensaje = "la fórmula «%s» no se entiende: %s"
        logging.getLogger(__name__).warning(mensaje, tex.strip(), error, location=nodo)
        return f"<code>{traductor.encode(tex)}</code>"


def visita_en_linea(traductor, nodo: nodes.math) -> None:
    """Una fórmula dentro de un renglón."""
    apertura = traductor.starttag(nodo, "span", "", CLASS="math notranslate nohighlight")
    traductor.body.append(f"{apertura}{_escribe(traductor, nodo, nodo.astext(), False)}</span>")
    raise nodes.SkipNode


def visita_en_bloque(traductor, nodo: nodes.math_block) -> None:
    """Una fórmula aparte, con su número si lo tiene."""
    from sphinx.locale import _
    from sphinx.util.math import get_node_equation_number

    traductor.body.append(traductor.starttag(nodo, "div", CLASS="math notranslate nohighlight"))
    if nodo["number"]:
        traductor.body.append(f'<span class="eqno">({get_node_equation_number(traductor, nodo)})')
        traductor.add_permalink_ref(nodo, _("Link to this equation"))
        traductor.body.append("</span>")
    formula = _escribe(traductor, nodo, _entera(nodo), True)
    traductor.body.append(f'<div class="formula">{formula}</div></div>\n')
    raise nodes.SkipNode


def _entera(nodo: nodes.math_block) -> str:
    """El TeX de una fórmula aparte; varias líneas, alineadas."""
    if nodo["nowrap"]:
        return re.sub(r"\\(begin|end)\{(\w+)\}", r"\\\1{\2*}", nodo.astext())
    partes = [p for p in nodo.astext().split("\n\n") if p.strip()]
    partes = [rf"\begin{{split}}{p}\end{{split}}" if r"\\" in p else p for p in partes]
    if len(partes) == 1:
        return partes[0]
    return r"\begin{aligned}" + r"\\".join(partes) + r"\end{aligned}"


def setup(app) -> None:
    """Conecta las fórmulas."""
    app.add_html_math_renderer("libro", (visita_en_linea, None), (visita_en_bloque, None))
