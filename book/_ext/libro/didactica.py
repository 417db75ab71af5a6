"""Directivas y roles de los capítulos: objetivos, predicciones, repasos, figuras y código
fuente."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from libro.fallos import fallo_de
from libro.lector import vallas_mal_anidadas
from libro.numeracion import capitulo
from libro.plegado import codigo_del_dibujo, nuevo_desplegable
from libro.tiempos import tiempos

__all__ = ["nuevo_desplegable"]

logger = logging.getLogger(__name__)


class _Recuadro(SphinxDirective):
    """Un recuadro con título propio y contenido libre."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    titulo = ""
    clase = ""

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        titulo = self.arguments[0] if self.arguments else self.titulo
        en_linea, mensajes = self.state.inline_text(titulo, self.lineno)
        recuadro = nodes.admonition(
            "", nodes.title(titulo, "", *en_linea), *mensajes, classes=[self.clase]
        )
        self.set_source_info(recuadro)
        self.state.nested_parse(self.content, self.content_offset, recuadro)
        self.completar(recuadro)
        return [recuadro]

    def completar(self, recuadro: nodes.admonition) -> None:
        """Añade lo que el texto no dice; nada por defecto."""


class Prediccion(_Recuadro):
    """Una pregunta que se contesta antes de ver el resultado."""

    titulo = "Predice antes de seguir"
    clase = "prediccion"


class Repaso(_Recuadro):
    """Tres preguntas de capítulos anteriores."""

    titulo = "Repaso"
    clase = "repaso"


class Procedencia(_Recuadro):
    """De dónde salen unos resultados que la página no calcula: orden, fecha y máquina."""

    titulo = "De dónde salen estos datos"
    clase = "procedencia"


class Objetivos(_Recuadro):
    """Qué se aprende, qué hace falta saber y cuánto se tarda (medido)."""

    titulo = "Qué aprenderás"
    clase = "objetivos"
    option_spec = {"requisitos": directives.unchanged}

    def completar(self, recuadro: nodes.admonition) -> None:
        if self.options.get("requisitos"):
            en_linea, mensajes = self.state.inline_text(self.options["requisitos"], self.lineno)
            recuadro += nodes.paragraph(
                "",
                "",
                nodes.strong("", "Hace falta: "),
                *en_linea,
                *mensajes,
                classes=["requisitos"],
            )
        recuadro += tiempos()


class Empezar(SphinxDirective):
    """Cómo conseguir los esqueletos del capítulo: abre la sección «Ejercicios»."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        numero = capitulo(self.env.docname)
        if numero is None:
            raise self.error("empezar: esta página no es un capítulo numerado")
        orden = f"atento empezar {numero}"
        frase = nodes.paragraph(
            "",
            "Para copiar los esqueletos de este capítulo a ",
            nodes.literal("", "mis-ejercicios/"),
        )
        frase += nodes.Text(":")
        bloque = nodes.literal_block(orden, orden, language="console")
        caja = nodes.container("", frase, bloque, classes=["entrega", "empezar"])
        self.state.nested_parse(self.content, self.content_offset, caja)
        return [caja]


class Figura(SphinxDirective):
    """Numera la figura que acaba de dibujar una celda y le pone pie."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        figura = nodes.figure(classes=["figura"], **{"libro-figura": self.arguments[0]})
        self.set_source_info(figura)
        cuerpo = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, cuerpo)
        if not cuerpo.children or not isinstance(cuerpo[0], nodes.paragraph):
            raise self.error(f"figura «{self.arguments[0]}»: el pie debe empezar por un párrafo")
        pie = nodes.caption(cuerpo[0].rawsource, "", *cuerpo[0].children)
        pie.source, pie.line = figura.source, figura.line
        figura += pie
        if len(cuerpo.children) > 1:
            figura += nodes.legend("", *cuerpo.children[1:])
        self.options["name"] = self.arguments[0]
        self.add_name(figura)
        return [figura]


class RecogerFiguras(SphinxTransform):
    """Mete en cada figura numerada la salida de la celda que la dibujó."""

    default_priority = 300

    def apply(self, **kwargs) -> None:
        for figura in list(self.document.findall(nodes.figure)):
            nombre = figura.get("libro-figura")
            if nombre is None:
                continue
            salida = self._salida(figura, nombre)
            if salida is None:
                if fallo_de(self.env):  # no se ha llegado a dibujar
                    continue
                logger.warning(
                    "figura «%s»: ninguna celda anterior la dibuja; se esperaba plots.show(...,"
                    " name=%r)",
                    nombre,
                    nombre,
                    location=figura,
                    type="libro",
                    subtype="figura",
                )
                continue
            celda = self._sacar(salida)
            figura.insert(0, salida)
            if celda is not None and codigo_del_dibujo(celda) and celda.parent is figura.parent:
                celda.parent.remove(celda)
                figura.parent.insert(figura.parent.index(figura) + 1, celda)

    def _sacar(self, salida: nodes.Element) -> nodes.Element | None:
        """Quita la salida de su celda; devuelve la celda si no le queda ninguna otra."""
        contenedor = salida.parent
        celda = contenedor.parent
        contenedor.remove(salida)
        if contenedor.children:
            return None
        celda.remove(contenedor)
        return celda

    def _salida(self, figura: nodes.figure, nombre: str) -> nodes.Element | None:
        """El paquete de salidas que contiene la figura ``nombre``, en la última celda que la dibuja
        antes.
        """
        marca = re.compile(rf"""(?:data-figura|id)=["']{re.escape(nombre)}["']""")
        encontrada = None
        for nodo in self.document.findall():
            if nodo is figura:
                break
            if isinstance(nodo, nodes.container) and nodo.get("nb_element") == "mime_bundle":
                if any(marca.search(crudo.astext()) for crudo in nodo.findall(nodes.raw)):
                    encontrada = nodo
        return encontrada


class Fuente(SphinxDirective):
    """El código fuente de un objeto del paquete instalado: el que se ejecuta, no una copia."""

    required_arguments = 1
    option_spec = {"sin-docstring": directives.flag}

    def run(self) -> list[nodes.Node]:
        nombre = self.arguments[0]
        try:
            objeto = _buscar(nombre)
            codigo = textwrap.dedent(inspect.getsource(objeto))
            fichero = inspect.getsourcefile(objeto)
        except (ImportError, AttributeError, TypeError, OSError) as fallo:
            raise self.error(
                f"fuente: no se encuentra «{nombre}» en el paquete instalado ({fallo})"
            ) from fallo
        self.env.note_dependency(fichero)
        if "sin-docstring" in self.options:
            codigo = _sin_docstring(codigo)
        codigo = codigo.rstrip() + "\n"
        bloque = nodes.literal_block(codigo, codigo, language="python", classes=["fuente"])
        self.set_source_info(bloque)
        enlace = addnodes.pending_xref(
            "",
            nodes.literal("", nombre),
            refdomain="py",
            reftype="obj",
            reftarget=nombre,
            refdoc=self.env.docname,
            refwarn=False,
        )
        pie = nodes.paragraph("", "", nodes.Text("Código de "), enlace, classes=["pie-fuente"])
        return [nodes.container("", pie, bloque, classes=["codigo-fuente"])]


def _buscar(nombre: str):
    """Importa el módulo más largo que haga de prefijo y baja por los atributos."""
    partes = nombre.split(".")
    for corte in range(len(partes), 0, -1):
        try:
            objeto = importlib.import_module(".".join(partes[:corte]))
        except ModuleNotFoundError:
            continue
        for atributo in partes[corte:]:
            objeto = getattr(objeto, atributo)
        return inspect.unwrap(objeto) if callable(objeto) else objeto
    raise ImportError(f"no hay ningún módulo en «{nombre}»")


def _sin_docstring(codigo: str) -> str:
    """Quita la docstring de la primera definición."""
    definicion = ast.parse(codigo).body[0]
    if ast.get_docstring(definicion) is None or len(definicion.body) < 2:
        return codigo
    lineas = codigo.splitlines()
    docstring = definicion.body[0]
    return "\n".join(lineas[: docstring.lineno - 1] + lineas[docstring.end_lineno :])


class Ingles(SphinxRole):
    """Palabra inglesa: cursiva y marca de idioma (docutils convierte la clase en ``lang``)."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.emphasis(self.rawtext, self.text, classes=["language-en"])], []


class refutacion(nodes.inline):  # noqa: N801
    """Marca de una refutación; :class:`SacarRefutaciones` la saca del título."""


class Refutacion(SphinxRole):
    """Marca un error frecuente y crea el ancla ``err-R-002``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if not re.fullmatch(r"R-\d{3}", self.text):
            logger.warning(
                "refutacion: llegó «%s»; se esperaba «R-002»",
                self.text,
                location=self.get_location(),
            )
        return [refutacion(self.rawtext, self.text, clave=self.text)], []


class SacarRefutaciones(SphinxTransform):
    """Lleva la marca del título a una línea propia: así no sale en los índices."""

    default_priority = 310

    def apply(self, **kwargs) -> None:
        estandar = self.env.get_domain("std")
        for marca in list(self.document.findall(refutacion)):
            ancla = f"err-{marca['clave']}"
            titulo = marca.parent
            rotulo = nodes.paragraph("", "", nodes.Text("Error frecuente"), classes=["refutacion"])
            rotulo["ids"].append(ancla)
            texto = titulo.astext().replace(marca.astext(), "").strip()
            estandar.note_hyperlink_target(ancla.lower(), self.env.docname, ancla, texto)
            titulo.remove(marca)
            if titulo.children and isinstance(titulo[-1], nodes.Text):
                titulo.replace(titulo[-1], nodes.Text(titulo[-1].rstrip()))
            titulo.parent.insert(titulo.parent.index(titulo) + 1, rotulo)


def _avisar_vallas(app, docname: str, texto: list[str]) -> None:
    for numero, directiva in vallas_mal_anidadas(texto[0]):
        logger.warning(
            "la directiva {%s} está dentro de otra con los mismos «:»; la de fuera necesita uno más"
            " (::::)",
            directiva,
            location=(docname, numero),
            type="libro",
            subtype="vallas",
        )


def setup(app) -> None:
    """Registra directivas, roles y transformaciones."""
    app.add_node(refutacion)
    for nombre, directiva in {
        "objetivos": Objetivos,
        "prediccion": Prediccion,
        "repaso": Repaso,
        "figura": Figura,
        "fuente": Fuente,
        "empezar": Empezar,
        "procedencia": Procedencia,
    }.items():
        app.add_directive(nombre, directiva)
    app.add_role("en", Ingles())
    app.add_role("refutacion", Refutacion())
    app.add_transform(RecogerFiguras)
    app.add_transform(SacarRefutaciones)
    app.connect("source-read", _avisar_vallas)
