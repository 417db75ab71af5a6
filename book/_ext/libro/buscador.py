"""Lo que el navegador necesita para buscar por secciones y para enseñar las definiciones del
glosario.

Dos ficheros de datos, ``indice.js`` y ``glosario.js``, escritos con lo leído y cargados con
``<script>``, que es lo que también funciona al abrir el libro sin servidor. El guion ``buscar.js``
hace el resto.
"""

from __future__ import annotations

import copy
import html
import json
import re
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

from libro.numeracion import capitulo

logger = logging.getLogger(__name__)

GLOSARIO = "apendices/glosario"
NO_SE_BUSCA = (
    nodes.literal_block,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
    nodes.system_message,
    nodes.title,
    addnodes.toctree,
    addnodes.desc_annotation,
    addnodes.desc_parameterlist,
    addnodes.desc_returns,
    addnodes.desc_type_parameter_list,
    nodes.section,
)
SIMBOLOS = {
    "in": "∈",
    "times": "×",
    "cdot": "·",
    "le": "≤",
    "ge": "≥",
    "to": "→",
    "sum": "Σ",
    "alpha": "α",
    "sigma": "σ",
    "theta": "θ",
    "lambda": "λ",
    "R": "ℝ",
    "dots": "…",
    "neq": "≠",
    "approx": "≈",
    "pm": "±",
    "lVert": "‖",
    "rVert": "‖",
    "quad": " ",
}
_BUSQUEDA_DE_SPHINX = re.compile(
    r"\s*<script[^>]*(?:searchtools|language_data|searchindex)\.js[^>]*></script>"
)
SIN_INDICE = {"apendices/temario", "genindex", "search"}


def cita(claves: str, tipo: str) -> str:
    """Lo que se lee de una cita: de la clave se sacan la autoría y el año.

    >>> cita("bahdanau2015", "t"), cita("mikolov2013b,levy2014", "p")
    ('Bahdanau (2015)', '(Mikolov, 2013; Levy, 2014)')
    """
    partes = [re.fullmatch(r"(\D+)(\d{4})?\w*", clave.strip()) for clave in claves.split(",")]
    quienes = [(p[1].capitalize(), p[2] or "") for p in partes if p]
    if tipo == "t":
        return "; ".join(f"{quien} ({cuando})" for quien, cuando in quienes)
    return "(" + "; ".join(f"{quien}, {cuando}" for quien, cuando in quienes) + ")"


def _de_un_enlace(nodo: addnodes.pending_xref) -> str | None:
    """Lo que se busca de un enlace por resolver: de una cita, quién y cuándo; de una etiqueta sin
    rótulo, nada; de lo demás, su texto (``None``).
    """
    dominio, tipo = nodo.get("refdomain"), nodo.get("reftype")
    if dominio == "cite":
        return cita(nodo["reftarget"], tipo)
    sin_rotulo = not nodo.get("refexplicit") and tipo in {"eq", "ref", "numref", "doc"}
    return "" if sin_rotulo else None


def texto_de(nodo: nodes.Node) -> str:
    """El texto de una sección sin las secciones que contiene, su código ni sus salidas, y sin nada
    que no se lea en la página: claves de citas, etiquetas, firmas ni TeX.
    """
    if isinstance(nodo, addnodes.pending_xref) and (texto := _de_un_enlace(nodo)) is not None:
        return texto
    if isinstance(nodo, nodes.math):
        return sin_tex(nodo.astext())
    trozos = []
    for hijo in nodo.children:
        if isinstance(hijo, NO_SE_BUSCA) or (
            isinstance(hijo, nodes.Element) and hijo.get("nb_element")
        ):
            continue
        trozos.append(hijo.astext() if isinstance(hijo, nodes.Text) else texto_de(hijo))
    junto = "" if isinstance(nodo, nodes.TextElement) else " "
    if not junto:
        return "".join(trozos)
    return re.sub(r"\s+", " ", re.sub(r"\s+(?=[,.;:)])", "", " ".join(trozos))).strip()


def sin_tex(texto: str) -> str:
    """Un título o una fórmula legibles sin MathJax.

    >>> sin_tex(r"Por qué se divide entre \\sqrt{d_k}"), sin_tex(r"\\Q\\K^\\T y XX^{\\T}")
    ('Por qué se divide entre √d_k', 'QKᵀ y XXᵀ')
    >>> sin_tex(r"X \\in \\R^{n\\times d}"), sin_tex(r"10\\,000 \\mathrm{head}_i")
    ('X ∈ ℝ^n× d', '10 000 head_i')
    """
    texto = re.sub(r"\\sqrt\{([^{}]*)\}", r"√\1", texto)
    texto = re.sub(r"\^(\{\\T\}|\\T)", "ᵀ", re.sub(r"\\[,;:! ]", " ", texto))
    for nombre, simbolo in SIMBOLOS.items():
        texto = re.sub(rf"\\{nombre}(?![A-Za-z])", simbolo, texto)
    return re.sub(r"\\(?:mathsf|mathbf|text|mathrm|operatorname)?\s*([A-Za-z]*)|[{}]", r"\1", texto)


def _titulo(seccion: nodes.section) -> str:
    titulo = seccion.next_node(nodes.title)
    return sin_tex(titulo.astext().strip()) if titulo is not None else ""


def entradas_de(documento: nodes.document, docname: str, direccion: str) -> list[list[str]]:
    """Una entrada por sección: dirección, título, capítulo y texto."""
    numero = capitulo(docname)
    principal = next(iter(documento.findall(nodes.section)), None)
    if principal is None:
        return []
    pagina = (f"{numero}. " if numero else "") + _titulo(principal)
    salida = []
    for seccion in documento.findall(nodes.section):
        if (
            not seccion["ids"]
            or isinstance(seccion.parent, nodes.admonition)
            or not _titulo(seccion)
        ):
            continue
        if seccion.parent is not documento and not isinstance(seccion.parent, nodes.section):
            continue  # los contenidos de teoremas y ejercicios ya van en su sección
        ancla = "" if seccion is principal else "#" + seccion["ids"][0]
        titulo = _titulo(seccion)
        if re.match(r"apendices/soluciones/cap", docname):
            titulo = f"Solución del ejercicio {titulo}" if ancla else f"Soluciones. {titulo}"
        salida.append(
            [direccion + ancla, titulo, "" if seccion is principal else pagina, texto_de(seccion)]
        )
    return salida + _ejercicios(documento, direccion, pagina)


def _ejercicios(documento: nodes.document, direccion: str, pagina: str) -> list[list[str]]:
    """Una entrada por ejercicio numerado: se busca por su número y por lo que pide."""
    salida = []
    for nodo in documento.findall(nodes.Element):
        encaje = re.fullmatch(
            r"ej-(\d+)-(\d+)", nodo.get("label", "") if nodo.get("type") == "exercise" else ""
        )
        if encaje and nodo["ids"]:
            nombre = sin_tex(nodo[0].astext().removeprefix("Ejercicio").strip("() "))
            titulo = f"Ejercicio {encaje[1]}.{encaje[2]} {nombre}".strip()
            salida.append([f"{direccion}#{nodo['ids'][0]}", titulo, pagina, texto_de(nodo)])
    return salida


def en_html(nodo: nodes.Node) -> str:
    """Un párrafo del glosario en HTML sencillo: cursiva con su idioma, código y fórmulas."""
    if isinstance(nodo, nodes.Text):
        return html.escape(str(nodo), quote=False)
    if isinstance(nodo, nodes.math):
        return rf'<span class="math">\({html.escape(nodo.astext(), quote=False)}\)</span>'
    dentro = "".join(map(en_html, nodo.children))
    if isinstance(nodo, nodes.emphasis):
        idioma = ' lang="en"' if "language-en" in nodo["classes"] else ""
        return f"<em{idioma}>{dentro}</em>"
    return f"<code>{dentro}</code>" if isinstance(nodo, nodes.literal) else dentro


def glosario_de(documento: nodes.document) -> dict[str, list]:
    """Ancla de cada término → término, definición y sus nombres en inglés."""
    salida = {}
    for entrada in documento.findall(nodes.definition_list_item):
        definicion = entrada.next_node(nodes.definition)
        for termino in entrada.findall(nodes.term):
            if termino["ids"] and definicion is not None and definicion.next_node(nodes.paragraph):
                parrafo = definicion.next_node(nodes.paragraph)
                ingles = [
                    n.astext()
                    for n in parrafo.findall(nodes.emphasis)
                    if "language-en" in n["classes"]
                ]
                salida[termino["ids"][0]] = [
                    html.escape(termino.astext()),
                    en_html(parrafo),
                    ingles,
                ]
    return salida


def otros_nombres(ruta: Path, glosario: dict[str, list], indice: list[list], direccion) -> None:
    """Añade a términos y secciones las otras palabras de ``busqueda.yml``; avisa de las que no son
    de nada.
    """
    datos = yaml.safe_load(ruta.read_text(encoding="utf-8")) if ruta.exists() else {}
    terminos = {html.unescape(re.sub(r"<[^>]+>", "", v[0])): v for v in glosario.values()}
    secciones = {entrada[0]: entrada for entrada in indice}
    for nombre, alias in datos.get("terminos", {}).items() if glosario else ():
        if nombre not in terminos:
            logger.warning(
                "busqueda.yml: «%s» no está en el glosario",
                nombre,
                type="libro",
                subtype="busqueda",
            )
            continue
        terminos[nombre][2].extend(alias)
    for lugar, alias in datos.get("secciones", {}).items():
        documento, _, ancla = lugar.partition("#")
        entrada = secciones.get(direccion(documento) + (f"#{ancla}" if ancla else ""))
        if entrada is not None:
            entrada.append(alias)
        elif any(e[0].partition("#")[0] == direccion(documento) for e in indice):
            logger.warning("busqueda.yml: no existe «%s»", lugar, type="libro", subtype="busqueda")


def _apuntar(app, documento: nodes.document) -> None:
    """Al leer una página, guarda lo que se busca en ella: así no hay que volver a abrirla."""
    docname = app.env.docname
    if app.builder.format != "html" or docname in SIN_INDICE:
        return
    entradas = entradas_de(documento, docname, app.builder.get_target_uri(docname))
    app.env.libro_busqueda[docname] = entradas
    if docname == GLOSARIO:
        app.env.libro_glosario = glosario_de(documento)
        app.env.note_dependency(str(Path(app.srcdir) / "busqueda.yml"))


def _empezar(app, env, *_) -> None:
    if not hasattr(env, "libro_busqueda"):
        env.libro_busqueda, env.libro_glosario = {}, {}


def _purgar(app, env, docname: str) -> None:
    if getattr(env, "libro_busqueda", {}).pop(docname, None) and docname == GLOSARIO:
        env.libro_glosario = {}


def _mezclar(app, env, docnames, otro) -> None:
    env.libro_busqueda.update({d: v for d, v in otro.libro_busqueda.items() if d in docnames})
    if GLOSARIO in docnames:
        env.libro_glosario = otro.libro_glosario


def _escribir(app, env) -> None:
    """Escribe los dos ficheros donde Sphinx recoge lo estático."""
    if app.builder.format != "html":
        return
    carpeta = Path(app.outdir).parent / "libro_static"
    glosario = copy.deepcopy(env.libro_glosario)
    indice = [copy.copy(e) for d in sorted(env.libro_busqueda) for e in env.libro_busqueda[d]]
    otros_nombres(Path(app.srcdir) / "busqueda.yml", glosario, indice, app.builder.get_target_uri)
    destino = app.builder.get_target_uri(GLOSARIO)
    for nombre, variable, datos in (
        ("glosario.js", "GLOSARIO", glosario),
        ("indice.js", "INDICE", indice),
    ):
        texto = json.dumps(datos, ensure_ascii=False, separators=(",", ":"))
        texto = f"window.{variable}={texto};window.GLOSARIO_EN={json.dumps(destino)};\n"
        fichero = carpeta / nombre
        if not fichero.exists() or fichero.read_text("utf8") != texto:
            fichero.write_text(texto, "utf8")


def sin_la_de_sphinx(pagina: str) -> str:
    """Quita de una página los guiones de la búsqueda de Sphinx, que aquí no se usa y pesa más que
    el capítulo.
    """
    return _BUSQUEDA_DE_SPHINX.sub("", pagina)


def _conectar(app) -> None:
    if app.builder.format != "html":
        return
    escribir = app.builder.templates.render
    app.builder.templates.render = lambda plantilla, contexto: sin_la_de_sphinx(
        escribir(plantilla, contexto)
    )


def setup(app) -> None:
    """Conecta los dos ficheros y quita los de Sphinx."""
    app.connect("builder-inited", _conectar)
    app.connect("env-before-read-docs", _empezar)
    app.connect("env-purge-doc", _purgar)
    app.connect("env-merge-info", _mezclar)
    app.connect("doctree-read", _apuntar, priority=900)
    app.connect("env-updated", lambda app, env: _escribir(app, env))
    app.add_js_file("glosario.js", priority=290, defer="defer")
