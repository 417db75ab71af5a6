"""Lo que se lee plegado: respuestas, «A fondo», comprobaciones y el código de las figuras.

``a-fondo`` se escribe de dos maneras: con cuerpo, o como marca que abre lo que cierra
``fin-a-fondo``. La segunda existe porque MyST-NB no admite celdas dentro de una directiva; entre
las dos marcas no puede haber títulos.
"""

from __future__ import annotations

import ast
import html

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from libro.fallos import rotulo

logger = logging.getLogger(__name__)


# docutils busca el visitante por este nombre
class desplegable(nodes.General, nodes.Element):  # noqa: N801
    """Un ``<details>``: lo que se lee después de haberlo pensado, o si se quiere saber más."""


class resumen(nodes.General, nodes.TextElement):  # noqa: N801
    """El ``<summary>`` de un desplegable cuyo título lleva fórmulas o código."""


class fin_a_fondo(nodes.Invisible, nodes.Element):  # noqa: N801
    """Marca de cierre; :class:`CerrarAFondo` la quita."""


def _abrir_desplegable(self, node: desplegable) -> None:
    self.body.append(self.starttag(node, "details"))
    if "titulo" in node:
        self.body.append(
            f"<summary>{html.escape(node['titulo'])}</summary>\n<div class='desplegado'>\n"
        )


def _cerrar_desplegable(self, node: desplegable) -> None:
    self.body.append("</div></details>\n")


def _abrir_resumen(self, node: resumen) -> None:
    rotulo = html.escape(node.get("rotulo", ""))
    self.body.append(f'<summary><span class="rotulo">{rotulo}</span> <span class="asunto">')


def _cerrar_resumen(self, node: resumen) -> None:
    self.body.append("</span></summary>\n<div class='desplegado'>\n")


def nuevo_desplegable(titulo: str, *clases: str) -> desplegable:
    """Un desplegable vacío con su título."""
    return desplegable(titulo=titulo, classes=list(clases))


class Respuesta(SphinxDirective):
    """La respuesta, plegada."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        nodo = nuevo_desplegable(
            self.arguments[0] if self.arguments else "Ver la respuesta", "respuesta"
        )
        self.set_source_info(nodo)
        self.state.nested_parse(self.content, self.content_offset, nodo)
        return [nodo]


class AFondo(SphinxDirective):
    """Parte plegada con título; sin cuerpo, abre lo que llega hasta ``fin-a-fondo``."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"label": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        en_linea, mensajes = self.state.inline_text(self.arguments[0], self.lineno)
        titulo = resumen(self.arguments[0], "", *en_linea, rotulo="A fondo")
        nodo = desplegable("", titulo, *mensajes, classes=["a-fondo"])
        self.set_source_info(nodo)
        self._etiquetar(nodo, titulo.astext())
        if self.content:
            self.state.nested_parse(self.content, self.content_offset, nodo)
        else:
            nodo["abierto"] = True
        return [nodo]

    def _etiquetar(self, nodo: desplegable, titulo: str) -> None:
        etiqueta = self.options.get("label")
        if etiqueta is None:
            return
        ancla = nodes.make_id(etiqueta)
        nodo["ids"].append(ancla)
        estandar = self.env.get_domain("std")
        estandar.note_hyperlink_target(
            nodes.fully_normalize_name(etiqueta), self.env.docname, ancla, titulo
        )


class FinAFondo(SphinxDirective):
    """Cierra la parte que abrió ``a-fondo``."""

    def run(self) -> list[nodes.Node]:
        nodo = fin_a_fondo()
        self.set_source_info(nodo)
        return [nodo]


def _avisar(mensaje: str, lugar: nodes.Node) -> None:
    logger.warning(mensaje, location=lugar, type="libro", subtype="a-fondo")


class CerrarAFondo(SphinxTransform):
    """Mete en cada «A fondo» lo que hay entre sus dos marcas."""

    default_priority = 290

    def apply(self, **kwargs) -> None:
        for marca in list(self.document.findall(desplegable)):
            if marca.attributes.pop("abierto", False):
                self._recoger(marca)
        for suelta in list(self.document.findall(fin_a_fondo)):
            _avisar("fin-a-fondo no cierra nada: falta su a-fondo en la misma sección", suelta)
            suelta.parent.remove(suelta)

    def _recoger(self, marca: desplegable) -> None:
        padre = marca.parent
        desde = padre.index(marca) + 1
        hasta = next(
            (i for i in range(desde, len(padre)) if isinstance(padre[i], fin_a_fondo)), None
        )
        if hasta is None:
            _avisar(
                "a-fondo sin fin-a-fondo en la misma sección (dentro no puede haber títulos)", marca
            )
            return
        dentro = padre[desde:hasta]
        if not dentro or any(isinstance(n, desplegable) and n.get("abierto") for n in dentro):
            _avisar("a-fondo: vacío, o con otro a-fondo abierto dentro", marca)
        del padre[desde : hasta + 1]
        marca += dentro


class PlegarCeldas(SphinxTransform):
    """Pliega las celdas ``comprobacion`` enteras y, de las ``dibujo``, el código."""

    default_priority = 295

    def apply(self, **kwargs) -> None:
        for celda in list(self.document.findall(nodes.container)):
            if celda.get("nb_element") != "cell_code":
                continue
            datos = celda.get("cell_metadata", {})
            if "comprobacion" in datos.get("tags", []):
                self._comprobacion(celda, datos.get("comprueba"))
            elif "dibujo" in datos.get("tags", []):
                self._dibujo(celda)

    def _comprobacion(self, celda: nodes.container, que: str | None) -> None:
        if not que:
            _avisar(
                "celda comprobacion sin «:comprueba:», la línea que dice qué se ha comprobado",
                celda,
            )
        en_linea = [nodes.Text((que or "").rstrip("."))]
        dicho, clase = rotulo(celda, self.env)
        titulo = resumen("", "", *en_linea, rotulo=dicho)
        caja = desplegable("", titulo, classes=["comprobacion", *clase.split()])
        caja += list(celda.children)
        celda.children = []
        celda += caja

    def _dibujo(self, celda: nodes.container) -> None:
        codigo = next(
            (n for n in celda.children if n.get("nb_element") == "cell_code_source"), None
        )
        if codigo is None:
            return
        caja = nuevo_desplegable(titulo_del_dibujo(codigo.astext()), "dibujo")
        celda.replace(codigo, caja)
        caja += codigo


def titulo_del_dibujo(codigo: str) -> str:
    """Cómo se llama, plegado, el código de una celda ``dibujo``: no todas enseñan algo."""
    return "Código de la figura" if _ensena(codigo) else "Código de preparación"


def _ensena(codigo: str) -> bool:
    """Dice si una celda llama a ``show`` o acaba en un valor, que Jupyter enseña."""
    ultima = (ast.parse(codigo).body or [None])[-1]
    if "show(" in codigo or not isinstance(ultima, ast.Expr):
        return "show(" in codigo
    llamada = ast.unparse(ultima.value.func) if isinstance(ultima.value, ast.Call) else ""
    return llamada.rpartition(".")[2] not in ("glue", "start", "print")


def codigo_del_dibujo(celda: nodes.Element) -> bool:
    """Dice si a una celda ``dibujo`` ya solo le queda el código plegado."""
    return len(celda.children) == 1 and "dibujo" in celda[0].get("classes", [])


def setup(app) -> None:
    """Registra los nodos, las directivas y las transformaciones."""
    app.add_node(desplegable, html=(_abrir_desplegable, _cerrar_desplegable))
    app.add_node(resumen, html=(_abrir_resumen, _cerrar_resumen))
    app.add_node(fin_a_fondo)
    app.add_directive("respuesta", Respuesta)
    app.add_directive("a-fondo", AFondo)
    app.add_directive("fin-a-fondo", FinAFondo)
    app.add_transform(CerrarAFondo)
    app.add_transform(PlegarCeldas)
