"""Los apéndices que se escriben solos: el mapa del temario y el de las refutaciones.

``{mapa-temario}`` lee ``temario.yml`` y enlaza cada fila con la sección que la enseña.
``{mapa-refutaciones}`` busca en los capítulos los títulos marcados con ``{refutacion}`` y los reúne
en una tabla.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from libro.etiquetas import Indice
from libro.numeracion import capitulo, depende_del_indice

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
    """Enlace a una etiqueta del libro, o a un ancla de un documento, que se resuelve al escribir la
    página.
    """


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

    def indice(self) -> Indice:
        """Las etiquetas de los capítulos, anotados como dependencias, igual que su lista."""
        depende_del_indice(self.env)
        documentos = _numerados(self.env)
        for documento in documentos:
            self.env.note_dependency(str(self.env.doc2path(documento)))
        return Indice.de(Path(self.env.srcdir), documentos)

    def en_linea(self, texto: str) -> list[nodes.Node]:
        """Texto con marcas en línea, ya convertido en nodos."""
        hijos, avisos = self.state.inline_text(texto, self.lineno)
        return [*hijos, *avisos]


class MapaTemario(_Mapa):
    """Una sección por tema, con una tabla: fila, qué se enseña y dónde."""

    def run(self) -> list[nodes.Node]:
        """Construye las tablas."""
        ruta = Path(self.env.srcdir) / "temario.yml"
        self.env.note_dependency(str(ruta))
        filas = cargar_temario(ruta)
        indice = self.indice()
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
                    self.lugar(fila, indice),
                ]
                for clave, fila in filas.items()
                if fila["tema"] == tema
            ]
            seccion += _tabla(["Fila", "Qué se enseña", "Dónde"], cuerpo, "mapa-temario")
            salida.append(seccion)
        return salida

    def lugar(self, fila: dict, indice: Indice) -> nodes.paragraph:
        """Enlaces a las secciones de una fila, o «pendiente»."""
        numero, etiquetas = fila["capitulo"], fila["etiqueta"]
        if etiquetas == "pendiente":
            donde = f"capítulo {numero}" if numero else "preliminares"
            return nodes.paragraph("", f"pendiente: {donde}", classes=["pendiente"])
        parrafo = nodes.paragraph()
        for i, etiqueta in enumerate([etiquetas] if isinstance(etiquetas, str) else etiquetas):
            if i:
                parrafo += nodes.Text("; ")
            destino = indice.destinos.get(etiqueta)
            titulo = destino and (destino.titulo or destino.rotulo)
            enlace = enlace_pendiente(etiqueta=etiqueta.lower())
            enlace += self.en_linea(titulo) if titulo else [nodes.Text(etiqueta)]
            if numero:
                parrafo += nodes.Text(f"{numero}. ")
            parrafo += enlace
        return parrafo


class MapaRefutaciones(_Mapa):
    """Una tabla con cada refutación de los capítulos: enunciado y enlace."""

    def run(self) -> list[nodes.Node]:
        """Construye la tabla, ordenada por capítulo; los identificadores son de quien mantiene el
        libro.
        """
        filas = [
            (clave, capitulo(documento) or 0, documento, enunciado)
            for clave, documento, enunciado in self.indice().refutaciones
        ]
        if not filas:
            return [nodes.paragraph("", "Todavía no hay capítulos publicados con refutaciones.")]
        cuerpo = []
        for clave, numero, documento, enunciado in sorted(
            filas, key=lambda fila: (fila[1], fila[0])
        ):
            enlace = enlace_pendiente(
                "", f"Capítulo {numero}", documento=documento, ancla=f"err-{clave}"
            )
            cuerpo.append(
                [
                    nodes.paragraph("", "", *self.en_linea(enunciado)),
                    nodes.paragraph("", "", enlace),
                ]
            )
        cabecera = ["Lo que suele leerse", "Dónde se desmiente"]
        return [_tabla(cabecera, cuerpo, "mapa-refutaciones")]


def _resolver(app, doctree: nodes.document, docname: str) -> None:
    """Convierte los enlaces pendientes en referencias con su dirección."""
    conocidas = app.env.get_domain("std").anonlabels
    for nodo in list(doctree.findall(enlace_pendiente)):
        documento, ancla = nodo.get("documento"), nodo.get("ancla")
        if "etiqueta" in nodo:
            documento, ancla = conocidas.get(nodo["etiqueta"], ("", ""))
        if not documento:
            logger.warning(
                "temario.yml nombra «%s», que no es una etiqueta del libro",
                nodo["etiqueta"],
                location=docname,
                type="temario",
            )
            nodo.replace_self(nodo.children)
            continue
        destino = app.builder.get_relative_uri(docname, documento)
        nodo.replace_self(
            nodes.reference("", "", *nodo.children, internal=True, refuri=f"{destino}#{ancla}")
        )


def setup(app) -> None:
    """Conecta las directivas."""
    app.add_directive("mapa-temario", MapaTemario)
    app.add_directive("mapa-refutaciones", MapaRefutaciones)
    app.add_node(enlace_pendiente)
    app.connect("doctree-resolved", _resolver)
