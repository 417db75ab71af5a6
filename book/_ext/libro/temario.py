"""Los apéndices que se escriben solos: el mapa del temario y el de las refutaciones.

``{mapa-temario}`` lee ``temario.yml`` y enlaza cada fila con la sección que la enseña.
``{mapa-refutaciones}`` busca en los capítulos los títulos marcados con ``{refutacion}`` y los reúne
en una tabla.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from libro.numeracion import capitulo, depende_del_indice
from libro.plegado import desplegable

logger = logging.getLogger(__name__)

TEMAS = {
    "HIS": "Historia",
    "ATE": "Atención",
    "QKV": "Consulta, clave y valor",
    "MUL": "Atención multicabeza",
    "ENM": "Enmascaramiento",
    "POS": "Información de posición",
    "ARQ": "Arquitectura",
    "ENT": "Entrenamiento",
    "DEC": "Decodificación",
    "TOK": "Tokenización y embeddings",
    "COD": "Codificador y familia BERT",
    "DES": "Decodificador y familia GPT",
    "S2S": "Secuencia a secuencia",
    "VIS": "Visión",
    "AUD": "Audio",
    "MMO": "Multimodalidad",
    "EFI": "Eficiencia",
    "TEO": "Teoría",
    "APL": "Aplicaciones",
    "ETI": "Ética y sociedad",
    "EJE": "Ejercicios",
}


class enlace_pendiente(nodes.Inline, nodes.TextElement):  # noqa: N801
    """Enlace a una ``etiqueta`` del libro, o a un ``sitio`` (página y ancla), que se resuelve al
    escribir la página.
    """


class refutaciones(nodes.General, nodes.Element):  # noqa: N801
    """Lugar de la tabla de refutaciones."""


def cargar_temario(ruta: Path) -> dict[str, dict]:
    """Lee las filas del temario: identificador → tema, tipo, texto, capítulo y etiqueta."""
    return yaml.safe_load(ruta.read_text(encoding="utf-8"))


def _numerados(env) -> list[str]:
    """Los documentos que pueden enseñar algo del temario: preliminares y capítulos, en orden."""
    return sorted(d for d in env.found_docs if re.match(r"0-[^/]+/|[1-9]-[^/]+/\d\d-", d))


def _tabla(cabecera: list[str], filas: list[list[nodes.Node]], clase: str) -> nodes.table:
    """Una tabla de docutils a partir de nodos ya hechos; el ancho de las columnas lo da la hoja de
    estilo.
    """
    tabla = nodes.table(classes=[clase])
    grupo = nodes.tgroup(cols=len(cabecera))
    grupo += [nodes.colspec() for _ in cabecera]
    titulares: list[nodes.Node] = [nodes.paragraph("", t) for t in cabecera]
    cuerpo = nodes.tbody()
    for fila in filas:
        cuerpo += nodes.row("", *[nodes.entry("", celda) for celda in fila])
    grupo += nodes.thead("", nodes.row("", *[nodes.entry("", t) for t in titulares]))
    grupo += cuerpo
    tabla += grupo
    return tabla


class _Mapa(SphinxDirective):
    """Lo común a los dos mapas."""

    def depende_de_los_capitulos(self) -> None:
        """Anota que la página depende de los capítulos, de los que salen los títulos, y de cuáles
        hay.
        """
        depende_del_indice(self.env)
        for documento in _numerados(self.env):
            self.env.note_dependency(str(self.env.doc2path(documento)))


class MapaTemario(_Mapa):
    """Una sección por tema, con una tabla: fila, qué se enseña y dónde."""

    def run(self) -> list[nodes.Node]:
        """Construye las tablas."""
        ruta = Path(self.env.srcdir) / "temario.yml"
        self.env.note_dependency(str(ruta))
        filas = cargar_temario(ruta)
        self.depende_de_los_capitulos()
        hechas = sum(f["etiqueta"] != "pendiente" for f in filas.values())
        salida: list[nodes.Node] = [
            nodes.paragraph(
                "", f"De {len(filas)} filas, {hechas} enlazan ya con la sección que las enseña."
            )
        ]
        for tema, nombre in TEMAS.items():
            seccion = nodes.section(ids=[f"temario-{tema.lower()}"], names=[])
            seccion += nodes.title("", nombre)
            cuerpo = [
                [
                    nodes.paragraph("", clave),
                    nodes.paragraph("", fila["texto"]),
                    self.lugar(fila),
                ]
                for clave, fila in filas.items()
                if fila["tema"] == tema
            ]
            seccion += _tabla(["Fila", "Qué se enseña", "Dónde"], cuerpo, "mapa-temario")
            salida.append(seccion)
        return salida

    def lugar(self, fila: dict) -> nodes.paragraph:
        """Enlaces a las secciones de una fila, o «pendiente»."""
        numero, etiquetas = fila["capitulo"], fila["etiqueta"]
        if etiquetas == "pendiente":
            donde = f"capítulo {numero}" if numero else "preliminares"
            return nodes.paragraph("", f"pendiente: {donde}", classes=["pendiente"])
        parrafo = nodes.paragraph()
        for i, etiqueta in enumerate([etiquetas] if isinstance(etiquetas, str) else etiquetas):
            if i:
                parrafo += nodes.Text("; ")
            if numero:
                parrafo += nodes.Text(f"{numero}. ")
            parrafo += enlace_pendiente(etiqueta=etiqueta)
        return parrafo


class MapaRefutaciones(_Mapa):
    """Una tabla con cada refutación de los capítulos: enunciado y enlace."""

    def run(self) -> list[nodes.Node]:
        """Deja el lugar: cuáles hay no se sabe hasta haber leído todas las páginas."""
        self.depende_de_los_capitulos()
        return [refutaciones()]


def _de_refutaciones(env) -> nodes.Node:
    """La tabla, ordenada por capítulo; los identificadores son de quien mantiene el libro."""
    sitios = set(env.get_domain("std").anonlabels.values())
    hay = [(capitulo(d) or 0, ancla, d) for d, ancla in sitios if ancla.startswith("err-R-")]
    if not hay:
        return nodes.paragraph("", "Todavía no hay capítulos publicados con refutaciones.")
    cuerpo = []
    for numero, ancla, documento in sorted(hay):
        enlace = enlace_pendiente("", f"Capítulo {numero}", sitio=(documento, ancla))
        dicho = titulo_de(env, documento, ancla)
        cuerpo.append([nodes.paragraph("", "", *dicho), nodes.paragraph("", "", enlace)])
    return _tabla(["Lo que suele leerse", "Dónde se desmiente"], cuerpo, "mapa-refutaciones")


@cache
def _con_nombre(env, documento: str) -> dict[str, nodes.Node]:
    """Lo que en una página tiene identificador."""
    hay = env.get_doctree(documento).findall(nodes.Element)
    return {ancla: nodo for nodo in hay for ancla in nodo["ids"]}


def titulo_de(env, documento: str, ancla: str) -> list[nodes.Node]:
    """El título de la sección, o de la parte plegada, en la que está algo."""
    nodo = _con_nombre(env, documento)[ancla]
    while not isinstance(nodo, nodes.section | desplegable) or "titulo" in nodo:
        nodo = nodo.parent
    return [hijo.deepcopy() for hijo in nodo[0].children]


class ResolverMapas(SphinxPostTransform):
    """Pone la tabla de refutaciones y convierte los enlaces pendientes en referencias, con su
    dirección y, si no lo tienen, su título; antes de :mod:`libro.tipografia`.
    """

    default_priority = 8

    def run(self, **kwargs) -> None:
        """Resuelve los de una página."""
        for lugar in list(self.document.findall(refutaciones)):
            lugar.replace_self(_de_refutaciones(self.env))
        conocidas = self.env.get_domain("std").anonlabels
        for nodo in list(self.document.findall(enlace_pendiente)):
            sitio = nodo.get("sitio") or conocidas.get(nodo["etiqueta"].lower())
            if sitio:
                dicho = nodo.children or titulo_de(self.env, *sitio)
                uri = self.app.builder.get_relative_uri(self.env.docname, sitio[0])
                refuri = f"{uri}#{sitio[1]}"
                nodo.replace_self(nodes.reference("", "", *dicho, internal=True, refuri=refuri))
                continue
            aviso, etiqueta = "temario.yml nombra «%s», que no es del libro", nodo["etiqueta"]
            logger.warning(aviso, etiqueta, location=self.env.docname, type="temario")
            nodo.replace_self(nodes.Text(etiqueta))
        _con_nombre.cache_clear()


def setup(app) -> None:
    """Conecta las directivas."""
    app.add_directive("mapa-temario", MapaTemario)
    app.add_directive("mapa-refutaciones", MapaRefutaciones)
    app.add_node(enlace_pendiente)
    app.add_node(refutaciones)
    app.add_post_transform(ResolverMapas)
