"""Lo que el registro del calificador sabe de cada ejercicio, puesto en su recuadro.

``ej-4-2`` es el ejercicio 4.2: lleva nota y debe estar en ``calificador.ejercicios.cap04``.
``ra-4-1`` es una pregunta de razonamiento, con rúbrica y sin nota. El resto de ``exercise`` queda
como lo deja sphinx-exercise.
"""

from __future__ import annotations

import importlib
import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode
from sphinx_exercise.directive import ExerciseDirective

from calificador.carga import curso_en
from calificador.correccion.ejemplo import ejemplo
from libro.didactica import nuevo_desplegable
from libro.numeracion import capitulo

logger = logging.getLogger(__name__)

DIFICULTAD = {1: "básico", 2: "aplicado", 3: "avanzado"}
TIPO = {
    "escribir": "escribir código",
    "completar": "completar código",
    "depurar": "depurar",
    "predecir": "predecir",
    "lapiz": "lápiz y papel",
    "ordenar": "ordenar",
    "medir": "medir",
}


class enlace_solucion(nodes.General, nodes.Element):  # noqa: N801
    """Lugar del enlace a la solución; desaparece si el libro no la trae."""


def _buscar(identificador: str):
    """El ejercicio del registro, su módulo y el fichero de este; ``None`` si no está."""
    modulo = importlib.import_module(
        f"calificador.ejercicios.cap{int(identificador.split('.')[0]):02d}"
    )
    ejercicio = next((e for e in modulo.EJERCICIOS if e.id == identificador), None)
    return ejercicio, modulo.__file__


class Ejercicio(ExerciseDirective):
    """La directiva ``exercise`` con los datos del registro."""

    def run(self) -> list[nodes.Node]:
        encaje = re.fullmatch(r"(ej|ra)-(\d+)-(\d+)", self.options.get("label", ""))
        if encaje and encaje[1] == "ra":
            self.options["nonumber"] = None
            self.options["class"] = [*self.options.get("class", []), "razonamiento"]
        resultado = super().run()
        if not encaje or not resultado:
            return resultado
        nodo, identificador = resultado[0], f"{encaje[2]}.{encaje[3]}"
        if encaje[1] == "ra":
            self._titular(nodo, f"Razonamiento {identificador}")
        else:
            self._decorar(nodo, identificador)
        return resultado

    def _titular(self, nodo: nodes.Element, titulo: str) -> None:
        registrado = self.env.sphinx_exercise_registry[nodo["label"]]["node"]
        for copia in (nodo, registrado):
            copia["title"] = titulo
            copia[0].replace(copia[0][0], nodes.Text(titulo))

    def _decorar(self, nodo: nodes.Element, identificador: str) -> None:
        try:
            ejercicio, fichero = _buscar(identificador)
        except ModuleNotFoundError:
            ejercicio, fichero = None, None
        if fichero:
            self.env.note_dependency(fichero)
        if ejercicio is None:
            logger.warning(
                "el ejercicio %s no está en el registro del calificador",
                identificador,
                location=self.get_location(),
                type="libro",
                subtype="ejercicio",
            )
            return
        cuerpo = nodo[-1]
        cuerpo.insert(0, self._ficha(ejercicio))
        aprende = ejercicio.aprende[0].upper() + ejercicio.aprende[1:].rstrip(".") + "."
        cuerpo += self._ejemplo(ejercicio)
        cuerpo += self._parrafo(f"**Qué se aprende.** {aprende}", "aprende")
        cuerpo += self._entrega(ejercicio)
        for orden, pista in enumerate(ejercicio.pistas, 1):
            desplegable = nuevo_desplegable(f"Pista {orden} de {len(ejercicio.pistas)}", "pista")
            self._analizar(pista, desplegable)
            cuerpo += desplegable
        cuerpo += enlace_solucion(etiqueta="sol-" + identificador.replace(".", "-"))

    def _ficha(self, ejercicio) -> nodes.paragraph:
        ficha = nodes.paragraph(classes=["ficha"])
        datos = (
            f"{'★' * ejercicio.dificultad} {DIFICULTAD[ejercicio.dificultad]}",
            TIPO[ejercicio.tipo],
            f"{ejercicio.puntos} puntos" if ejercicio.puntos != 1 else "1 punto",
            f"unos {ejercicio.minutos} min",
        )
        for dato in datos:
            ficha += nodes.inline("", dato)
            ficha += nodes.Text(" ")
        return ficha

    def _ejemplo(self, ejercicio) -> list[nodes.Node]:
        """Entrada → salida, calculado ahora con la solución de referencia; nada si sería dar la
        respuesta.
        """
        muestra = ejemplo(curso_en(""), ejercicio)
        if muestra is None:
            return []
        titulo = self._parrafo("**Ejemplo.**", "titulo-ejemplo")
        texto = nodes.literal_block(muestra.texto, muestra.texto, language="text")
        return [nodes.container("", titulo, texto, classes=["ejemplo"])]

    def _entrega(self, ejercicio) -> nodes.container:
        esqueleto = f"exercises/cap{ejercicio.capitulo:02d}.py"
        repositorio = self.config.html_theme_options.get("repository_url", "")
        rama = self.config.html_theme_options.get("repository_branch", "main")
        entrega = self._parrafo(
            f"El esqueleto de `{ejercicio.nombre}` está en "
            f"[`{esqueleto}`]({repositorio}/blob/{rama}/{esqueleto}). "
            "Para ver la nota y las pistas:",
            "entrega",
        )
        orden = f"atento calificar {ejercicio.id}"
        return nodes.container(
            "", entrega, nodes.literal_block(orden, orden, language="console"), classes=["entrega"]
        )

    def _analizar(self, texto: str, destino: nodes.Element) -> None:
        self.state.nested_parse(
            StringList(texto.splitlines(), source=""), self.content_offset, destino
        )

    def _parrafo(self, texto: str, clase: str) -> nodes.Element:
        caja = nodes.Element()
        self._analizar(texto, caja)
        caja[0]["classes"].append(clase)
        return caja[0]


class ResolverSoluciones(SphinxPostTransform):
    """Pone el enlace a la solución donde la haya."""

    default_priority = 6

    def run(self, **kwargs) -> None:
        etiquetas = self.env.get_domain("std").anonlabels
        for lugar in list(self.document.findall(enlace_solucion)):
            destino = etiquetas.get(lugar["etiqueta"])
            if destino is None:
                lugar.parent.remove(lugar)
                continue
            enlace = make_refnode(
                self.app.builder,
                self.env.docname,
                *destino,
                nodes.Text("Solución de referencia, con explicación"),
            )
            lugar.replace_self(nodes.paragraph("", "", enlace, classes=["solucion"]))


class IdentificadoresUnicos(SphinxPostTransform):
    """sphinx-exercise y sphinx-proof repiten ``exercise-content`` y ``proof-content``: se hacen
    únicos.
    """

    default_priority = 7

    def run(self, **kwargs) -> None:
        for seccion in self.document.findall(nodes.section):
            if seccion["ids"] and seccion["ids"][0] in (
                "exercise-content",
                "solution-content",
                "proof-content",
            ):
                seccion["ids"] = [f"{seccion.parent.get('label', 'sin-etiqueta')}-contenido"]


def _comprobar_numeros(app, env) -> None:
    """``ej-4-2`` tiene que salir como «Ejercicio 4.2»: si no, el lector y el calificador hablan de
    cosas distintas.
    """
    for etiqueta, datos in getattr(env, "sphinx_exercise_registry", {}).items():
        encaje = re.fullmatch(r"(ej|ra)-(\d+)-(\d+)", etiqueta)
        if not encaje or datos["type"] != "exercise":
            continue
        esperado = (int(encaje[2]), int(encaje[3]))
        if encaje[1] == "ej":
            numero = env.toc_fignumbers.get(datos["docname"], {}).get("exercise", {}).get(etiqueta)
        else:
            numero = (capitulo(datos["docname"]), esperado[1])
        if numero != esperado:
            logger.warning(
                "el ejercicio con etiqueta «%s» lleva el número %s; se esperaba %s",
                etiqueta,
                ".".join(map(str, numero or ())) or "ninguno",
                ".".join(map(str, esperado)),
                location=datos["docname"],
                type="libro",
                subtype="ejercicio",
            )


def setup(app) -> None:
    """Sustituye la directiva ``exercise`` y añade las comprobaciones."""
    app.add_node(enlace_solucion)
    app.add_directive("exercise", Ejercicio, override=True)
    app.add_post_transform(ResolverSoluciones)
    app.add_post_transform(IdentificadoresUnicos)
    app.connect("env-check-consistency", _comprobar_numeros)
