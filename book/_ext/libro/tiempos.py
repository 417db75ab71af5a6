"""Cuánto se tarda, calculado de la propia página: leer, seguir el código, ir a fondo, hacer los
ejercicios.

200 palabras por minuto, 20 s por ecuación destacada y 5 s por línea de código; los minutos de los
ejercicios son los de su registro, y los de ejecución, los medidos en ``tiempos.json``. Lo plegado
en «A fondo» y las demostraciones cuentan aparte; las respuestas de predicciones y repasos, como
lectura.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from libro.numeracion import capitulo

logger = logging.getLogger(__name__)

PALABRAS_POR_MINUTO = 200
SEGUNDOS_POR_ECUACION = 20
SEGUNDOS_POR_LINEA = 5
NO_SE_LEE = (nodes.raw, nodes.comment, nodes.math, nodes.doctest_block)
PLEGADO_QUE_NO_CUENTA = {"comprobacion", "dibujo", "pista"}


class tiempos(nodes.General, nodes.Element):  # noqa: N801
    """Lugar de los tiempos de la página; se rellena con el documento leído."""


class semanas(nodes.General, nodes.Element):  # noqa: N801
    """Lugar de la tabla del curso; se rellena cuando se conocen los tiempos de todos los
    capítulos."""


@dataclass(frozen=True)
class Medida:
    """Minutos que pide una página, por separado."""

    leer: float
    codigo: float
    a_fondo: float
    ejercicios: int
    basicos: int
    ejecutar: float | None = None

    @property
    def via_principal(self) -> float:
        """Leer, seguir el código y hacer los ejercicios de una estrella."""
        return self.leer + self.codigo + self.basicos

    @property
    def todo(self) -> float:
        """Con «A fondo», las demostraciones y todos los ejercicios."""
        return self.leer + self.codigo + self.a_fondo + self.ejercicios


def duracion(segundos: float) -> str:
    """Un tiempo que se lee de un vistazo.

    >>> duracion(7.2), duracion(95), duracion(5400)
    ('8 s', '2 min', '1 h 30 min')
    """
    if segundos < 90:
        return f"{math.ceil(segundos)} s"
    minutos = math.ceil(segundos / 60)
    if minutos < 60:
        return f"{minutos} min"
    return f"{minutos // 60} h" + (f" {minutos % 60} min" if minutos % 60 else "")


def _redondo(minutos: float) -> str:
    """Minutos redondeados a lo que tiene sentido prometer: de cinco en cinco a partir de diez."""
    redondos = max(1, math.ceil(minutos)) if minutos < 10 else 5 * round(minutos / 5)
    return duracion(60 * redondos) if redondos > 1 else "1 min"


def _clases(nodo: nodes.Node) -> set[str]:
    return set(nodo.get("classes", ())) if isinstance(nodo, nodes.Element) else set()


def contar(nodo: nodes.Node, cuenta: Counter, a_fondo: bool = False) -> None:
    """Suma a ``cuenta`` las palabras, ecuaciones y líneas del nodo, con «fondo-» delante si están
    plegadas.
    """
    clases = _clases(nodo)
    if (
        isinstance(nodo, NO_SE_LEE)
        or clases & PLEGADO_QUE_NO_CUENTA
        or nodo.__class__.__name__.startswith("exercise")
    ):
        return
    if isinstance(nodo, nodes.Element) and nodo.get("nb_element") in {
        "cell_code_output",
        "mime_bundle",
    }:
        return
    a_fondo = a_fondo or bool(clases & {"a-fondo", "demostracion"})
    prefijo = "fondo-" if a_fondo else ""
    if isinstance(nodo, nodes.math_block):
        cuenta[prefijo + "ecuaciones"] += 1
    elif isinstance(nodo, nodes.literal_block):
        cuenta[prefijo + "lineas"] += sum(
            bool(linea.strip()) for linea in nodo.astext().splitlines()
        )
    elif isinstance(nodo, nodes.Text):
        cuenta[prefijo + "palabras"] += len(re.findall(r"\w+", nodo))
    else:
        for hijo in nodo.children:
            contar(hijo, cuenta, a_fondo)


def _minutos(cuenta: Counter, prefijo: str = "") -> tuple[float, float]:
    """Minutos de leer y de seguir el código."""
    lectura = cuenta[prefijo + "palabras"] / PALABRAS_POR_MINUTO
    lectura += cuenta[prefijo + "ecuaciones"] * SEGUNDOS_POR_ECUACION / 60
    return lectura, cuenta[prefijo + "lineas"] * SEGUNDOS_POR_LINEA / 60


def _ejercicios(documento: nodes.document) -> tuple[int, int]:
    """Minutos de los ejercicios con nota de la página y, de ellos, los de una estrella."""
    total = basicos = 0
    for nodo in documento.findall(nodes.Element):
        encaje = re.fullmatch(r"ej-(\d+)-(\d+)", nodo.get("label") or "")
        if encaje is None or not nodo.__class__.__name__.startswith("exercise"):
            continue
        try:
            modulo = importlib.import_module(f"calificador.ejercicios.cap{int(encaje[1]):02d}")
        except ModuleNotFoundError:
            continue
        for ejercicio in modulo.EJERCICIOS:
            if ejercicio.id == f"{encaje[1]}.{encaje[2]}":
                total += ejercicio.minutos
                basicos += ejercicio.minutos * (ejercicio.dificultad == 1)
    return total, basicos


def medir(documento: nodes.document, ejecutar: float | None = None) -> Medida:
    """Los tiempos de un documento."""
    cuenta: Counter = Counter()
    contar(documento, cuenta)
    leer, codigo = _minutos(cuenta)
    return Medida(leer, codigo, sum(_minutos(cuenta, "fondo-")), *_ejercicios(documento), ejecutar)


def _ejecucion(app, numero: int | None) -> float | None:
    fichero = Path(app.srcdir) / "tiempos.json"
    app.env.note_dependency(str(fichero))
    medidas = json.loads(fichero.read_text("utf8")) if fichero.exists() else {}
    return medidas.get(f"{numero or 0:02d}")


def renglones(medida: Medida) -> list[tuple[str, str]]:
    """Lo que se enseña de una medida: rótulo y valor, sin lo que la página no tiene."""
    pares = [
        ("Leer", medida.leer),
        ("Seguir el código", medida.codigo),
        ("Demostraciones y «A fondo»", medida.a_fondo),
        ("Ejercicios", medida.ejercicios),
    ]
    salida = [
        (rotulo, _redondo(minutos))
        for rotulo, minutos in pares
        if minutos >= 0.5 or rotulo == "Leer"
    ]
    if medida.ejecutar is not None:
        salida.append(("Ejecutarlo", f"{duracion(medida.ejecutar)} de procesador"))
    return salida


def _poner_tiempos(app, documento: nodes.document) -> None:
    docname = app.env.docname
    if next(documento.findall(semanas), None) is not None:
        app.env.libro_con_semanas[docname] = {}
    numero = capitulo(docname)
    medida = medir(documento, _ejecucion(app, numero))
    if numero is not None or docname.startswith("0-"):
        app.env.libro_tiempos[docname] = medida
    con_celdas = any(c.get("nb_element") == "cell_code" for c in documento.findall(nodes.container))
    for lugar in list(documento.findall(tiempos)):
        if medida.ejecutar is None and con_celdas and app.config.libro_exigir_tiempos:
            logger.warning(
                "falta el tiempo de ejecución del capítulo %02d en tiempos.json",
                numero or 0,
                location=docname,
                type="libro",
                subtype="tiempos",
            )
        parrafo = nodes.paragraph(classes=["tiempos"])
        for rotulo, valor in renglones(medida):
            parrafo += nodes.inline("", "", nodes.strong("", f"{rotulo}: "), nodes.Text(valor))
            parrafo += nodes.Text(" ")
        lugar.replace_self(parrafo)


# --- el curso por semanas -------------------------------------------------------------------------


class Semanas(SphinxDirective):
    """La tabla del curso: cada línea, «capítulos | lo que se sabe al terminar»; las horas se
    calculan.
    """

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        filas = []
        for linea in filter(str.strip, self.content):
            capitulos, _, meta = linea.partition("|")
            en_linea, _ = self.state.inline_text(meta.strip(), self.lineno)
            filas.append((capitulos.strip(), en_linea))
        return [semanas(filas=filas)]


def horas(minutos: float) -> str:
    """Horas con un decimal como mucho, redondeadas a medias.

    >>> horas(95), horas(180)
    ('1.5\\u202fh', '3\\u202fh')
    """
    medias = max(1, round(minutos / 30))
    return f"{medias // 2}\u202fh" if medias % 2 == 0 else f"{medias / 2:.1f}\u202fh"


def _de_la_fila(capitulos: str, medidas: dict[int, list[Medida]]) -> tuple[list[Medida], int]:
    """Medidas de lo escrito de una fila, y cuántos capítulos faltan por escribir."""
    escritas, faltan = [], 0
    for trozo in capitulos.split(","):
        numero = 0 if trozo.strip() == "preliminares" else int(trozo)
        escritas += medidas.get(numero, [])
        faltan += numero != 0 and numero not in medidas
    return escritas, faltan


def _tabla(
    filas: list[list[list[nodes.Node]]], cabecera: list[str], anchos: list[int]
) -> nodes.table:
    grupo = nodes.tgroup("", *[nodes.colspec(colwidth=a) for a in anchos], cols=len(anchos))
    titulares = [nodes.entry("", nodes.paragraph("", t)) for t in cabecera]
    grupo += nodes.thead("", nodes.row("", *titulares))
    grupo += nodes.tbody(
        "",
        *[
            nodes.row("", *[nodes.entry("", nodes.paragraph("", "", *celda)) for celda in fila])
            for fila in filas
        ],
    )
    return nodes.table("", grupo, classes=["semanas"])


def _poner_semanas(app, documento: nodes.document, docname: str) -> None:
    lugares = list(documento.findall(semanas))
    if not lugares:
        return
    medidas: dict[int, list[Medida]] = {}
    for pagina, medida in app.env.libro_tiempos.items():
        medidas.setdefault(capitulo(pagina) or 0, []).append(medida)
    escritos = [m for numero, lista in medidas.items() if numero for m in lista]
    for lugar in lugares:
        lugar.replace_self(_tabla_del_curso(lugar["filas"], medidas, escritos))


def _tabla_del_curso(
    filas: list, medidas: dict[int, list[Medida]], escritos: list[Medida]
) -> nodes.table:
    """La tabla: lo escrito se suma; lo que falta se estima con la media de lo escrito y lleva
    «≈»."""

    def media(de) -> float:
        return sum(map(de, escritos)) / len(escritos) if escritos else 0.0

    cuerpo = []
    for semana, (capitulos, meta) in enumerate(filas, 1):
        escritas, faltan = _de_la_fila(capitulos, medidas)
        celdas = []
        for de in (lambda m: m.via_principal, lambda m: m.todo):
            minutos = sum(map(de, escritas)) + faltan * media(de)
            celdas.append(
                [nodes.Text(("≈\u202f" if faltan else "") + horas(minutos) if minutos else "—")]
            )
        copias = [n.deepcopy() for n in meta]
        cuerpo.append([[nodes.Text(str(semana))], [nodes.Text(capitulos)], copias, *celdas])
    cabecera = ["semana", "capítulos", "al terminar se sabe", "vía principal", "con todo"]
    return _tabla(cuerpo, cabecera, [8, 14, 48, 15, 15])


def _empezar(app, env, *_) -> None:
    for nombre in ("libro_tiempos", "libro_con_semanas"):
        if not hasattr(env, nombre):
            setattr(env, nombre, {})


def _purgar(app, env, docname: str) -> None:
    getattr(env, "libro_tiempos", {}).pop(docname, None)
    getattr(env, "libro_con_semanas", {}).pop(docname, None)


def _mezclar(app, env, docnames, otro) -> None:
    for nombre in ("libro_tiempos", "libro_con_semanas"):
        suyo = getattr(otro, nombre)
        getattr(env, nombre).update({d: suyo[d] for d in docnames if d in suyo})


def _con_otros_tiempos(app, env) -> list[str]:
    """Las páginas con la tabla del curso, si algún tiempo no es el que se les puso."""
    viejas = [d for d, con in env.libro_con_semanas.items() if con != env.libro_tiempos]
    env.libro_con_semanas.update(dict.fromkeys(viejas, dict(env.libro_tiempos)))
    return viejas


def setup(app) -> None:
    """Registra los nodos y la directiva del curso."""
    app.add_config_value("libro_exigir_tiempos", True, "env", [bool])
    app.add_node(tiempos)
    app.add_node(semanas)
    app.add_directive("semanas", Semanas)
    app.connect("env-before-read-docs", _empezar)
    app.connect("env-purge-doc", _purgar)
    app.connect("env-merge-info", _mezclar)
    app.connect("env-updated", _con_otros_tiempos)
    app.connect("doctree-read", _poner_tiempos)
    app.connect("doctree-resolved", _poner_semanas, priority=400)
