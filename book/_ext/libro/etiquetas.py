"""Todo lo que tiene etiqueta en el libro, con su título y su número, leído de los ficheros.

Es la única numeración escrita aquí; la de las páginas la pone Sphinx, y :func:`_comprobar` detiene
la construcción si en algo difieren. La usan los cuadernos, los apéndices que se escriben solos, las
reglas y la vista de una página suelta, donde el resto del libro no se construye.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.util import logging
from sphinx.util.nodes import _make_id as ancla

from libro.lector import Directiva, sucesos
from libro.numeracion import capitulo as numero_de_capitulo

logger = logging.getLogger(__name__)

ENUNCIADOS = {
    "theorem": "Teorema",
    "lemma": "Lema",
    "corollary": "Corolario",
    "proposition": "Proposición",
    "definition": "Definición",
    "algorithm": "Algoritmo",
    "remark": "Observación",
    "example": "Ejemplo",
    "property": "Propiedad",
    "assumption": "Supuesto",
    "conjecture": "Conjetura",
    "axiom": "Axioma",
    "criterion": "Criterio",
    "observation": "Observación",
}
_REFUTACION = re.compile(r"\s*\{refutacion\}`([^`]*)`")


@dataclass(frozen=True)
class Destino:
    """Algo que se puede citar: en qué página está, con qué ancla, cómo se titula y su número."""

    documento: str
    ancla: str = ""
    titulo: str = ""
    clase: str = ""
    numero: str = ""

    @property
    def rotulo(self) -> str:
        """«Figura 4.1», «(4.2)», «Teorema 4.1»."""
        if self.clase == "Ecuación":
            return f"({self.numero})"
        return f"{self.clase} {self.numero}".strip()


def documentos(libro: Path) -> list[str]:
    """Nombres de documento del índice, en orden, sin extensión."""
    indice = yaml.safe_load((libro / "_toc.yml").read_text(encoding="utf-8"))

    def recorre(nodo):
        if isinstance(nodo, dict):
            if "file" in nodo:
                yield str(nodo["file"])
            if "glob" in nodo:
                yield from sorted(
                    p.relative_to(libro).with_suffix("").as_posix()
                    for p in libro.glob(f"{nodo['glob']}.md")
                )
            for valor in nodo.values():
                yield from recorre(valor)
        elif isinstance(nodo, list):
            for valor in nodo:
                yield from recorre(valor)

    return [indice["root"], *recorre({k: v for k, v in indice.items() if k != "root"})]


@dataclass
class Indice:
    """Las etiquetas de unas páginas: ``destinos`` por etiqueta y ``titulos`` por documento.

    ``refutaciones`` son ternas (identificador, documento, enunciado), en el orden del libro.
    """

    destinos: dict[str, Destino] = field(default_factory=dict)
    titulos: dict[str, str] = field(default_factory=dict)
    refutaciones: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._cuenta: Counter[tuple[int | None, str]] = Counter()

    @classmethod
    def de(cls, libro: Path, nombres: Iterable[str] | None = None) -> Indice:
        """El índice de un libro; por defecto, el de las páginas de su ``_toc.yml``."""
        indice = cls()
        for documento in documentos(libro) if nombres is None else nombres:
            fichero = libro / f"{documento}.md"
            if fichero.exists():
                indice.apunta(documento, fichero.read_text(encoding="utf-8"))
        return indice

    def apunta(self, documento: str, texto: str) -> None:
        """Añade una página."""
        pagina = _Pagina(self, documento, numero_de_capitulo(documento))
        for suceso in sucesos(texto):
            if suceso.tipo == "etiqueta":
                pagina.pendientes.append(suceso.texto)
            elif suceso.tipo == "titulo":
                pagina.titulo(suceso.nivel, suceso.texto)
            else:
                pagina.suelta()
            if suceso.tipo == "ecuacion":
                pagina.numera("Ecuación", suceso.texto)
            elif suceso.directiva is not None:
                pagina.directiva(suceso.directiva)

    def orden(self, capitulo: int | None, clase: str) -> int:
        """El siguiente de su clase en su capítulo."""
        self._cuenta[capitulo, clase] += 1
        return self._cuenta[capitulo, clase]


@dataclass
class _Pagina:
    """Lo que se sabe mientras se lee una página."""

    indice: Indice
    documento: str
    capitulo: int | None
    pendientes: list[str] = field(default_factory=list)
    seccion: str = ""
    secciones: int = 0

    def titulo(self, nivel: int, texto: str) -> None:
        """Un título recoge las etiquetas que lo preceden; los de nivel 2 llevan número."""
        self.seccion = titulo = _REFUTACION.sub("", texto)
        numero = ""
        if nivel == 1:
            self.indice.titulos.setdefault(self.documento, titulo)
            numero = str(self.capitulo or "")
        elif nivel == 2:
            self.secciones += 1
            numero = f"{self.capitulo}.{self.secciones}" if self.capitulo is not None else ""
        clase = "Capítulo" if nivel == 1 else "Sección"
        self._destinos(self.pendientes, titulo, clase, numero)
        self.pendientes = []
        for clave in _REFUTACION.findall(texto):
            destino = Destino(self.documento, f"err-{clave}", titulo)
            self.indice.destinos[f"err-{clave}".lower()] = destino
            self.indice.refutaciones.append((clave, self.documento, titulo))

    def suelta(self) -> None:
        """Las etiquetas de lo que no es un título: llevan al lugar, con el título de su sección."""
        self._destinos(self.pendientes, self.seccion)
        self.pendientes = []

    def _destinos(self, etiquetas: list[str], *resto: str) -> None:
        for etiqueta in etiquetas:
            self.indice.destinos[etiqueta] = Destino(self.documento, ancla(etiqueta), *resto)

    def directiva(self, d: Directiva) -> None:
        """Lo que se numera o se cita de una directiva."""
        enunciado = ENUNCIADOS.get(d.nombre.removeprefix("prf:"))
        if d.nombre == "math":
            self.numera("Ecuación", d.etiqueta)
        elif d.nombre in ("figura", "figure"):
            self.numera("Figura", d.etiqueta)
        elif d.nombre in ("table", "list-table") and d.etiqueta:
            self.numera("Tabla", d.etiqueta, d.argumento)
        elif d.nombre == "exercise":
            self._ejercicio(d.etiqueta)
        elif enunciado and "nonumber" not in d.opciones:
            self.numera(enunciado, d.etiqueta, d.argumento)
        elif d.nombre == "a-fondo" and d.etiqueta:
            self._destinos([d.etiqueta], d.argumento, "A fondo")

    def _ejercicio(self, etiqueta: str) -> None:
        encaje = re.fullmatch(r"(ej|ra)-(\d+)-(\d+)", etiqueta)
        clase = "Razonamiento" if encaje and encaje[1] == "ra" else "Ejercicio"
        numero = f"{encaje[2]}.{encaje[3]}" if encaje else ""
        self._destinos([etiqueta], f"{clase} {numero}".strip(), clase, numero)

    def numera(self, clase: str, etiqueta: str, titulo: str = "") -> None:
        """Como Sphinx: solo lleva número lo que tiene etiqueta, y se cuenta por capítulos."""
        if not etiqueta and clase in ("Ecuación", "Figura"):
            return
        orden = self.indice.orden(self.capitulo, clase)
        numero = f"{self.capitulo}.{orden}" if self.capitulo is not None else str(orden)
        marca = ancla(f"equation-{etiqueta}" if clase == "Ecuación" else etiqueta)
        self.indice.destinos[etiqueta] = Destino(self.documento, marca, titulo, clase, numero)


# --- Que Sphinx diga lo mismo ---------------------------------------------------------------------


def numeros_de_sphinx(env) -> dict[str, str]:
    """Etiqueta → número, según Sphinx, de secciones, ecuaciones, figuras, teoremas y ejercicios."""
    salida = {}
    for etiqueta, (documento, marca, _) in env.get_domain("std").labels.items():
        numero = env.toc_secnumbers.get(documento, {}).get(f"#{marca}")
        if numero:
            salida[etiqueta] = ".".join(map(str, numero))
    for tipos in env.toc_fignumbers.values():
        for numeros in tipos.values():
            for marca, numero in numeros.items():
                salida[marca.removeprefix("equation-")] = ".".join(map(str, numero))
    return salida


def discrepancias(indice: Indice, de_sphinx: dict[str, str]) -> list[str]:
    """Las etiquetas a las que el índice y Sphinx dan números distintos."""
    salida = []
    for etiqueta, destino in indice.destinos.items():
        suyo = de_sphinx.get(etiqueta) or de_sphinx.get(destino.ancla.removeprefix("equation-"))
        if suyo and destino.numero and suyo != destino.numero and destino.clase != "Razonamiento":
            salida.append(f"«{etiqueta}»: {destino.numero} en los cuadernos y {suyo} en la página")
    return salida


def _comprobar(app, env) -> None:
    indice = Indice.de(
        Path(app.srcdir), [d for d in documentos(Path(app.srcdir)) if d in env.found_docs]
    )
    for queja in discrepancias(indice, numeros_de_sphinx(env)):
        logger.warning("numeración distinta: %s", queja, type="libro", subtype="numeracion")


# --- Una página suelta ----------------------------------------------------------------------------

SUELTA = "LIBRO_PAGINA_SUELTA"  # la pone tools/construir.py al construir una sola página


def _preparar_suelta(app, config) -> None:
    if os.environ.get(SUELTA):
        config.libro_exigir_tiempos = False


def _enlazar_con_el_resto(app, env, nodo, contenido):
    """Lo que una página suelta cita del resto del libro: su título o su número, sin la página."""
    if not os.environ.get(SUELTA):
        return None
    destino = _indice_entero(Path(app.srcdir)).destinos.get(nodo.get("reftarget", ""))
    if nodo.get("refdomain") == "py" or nodo.get("reftype") == "doc":
        return nodes.inline("", "", contenido)
    if destino is None:
        return None
    if nodo.get("refexplicit"):
        return nodes.inline("", "", contenido)
    texto = destino.titulo if nodo["reftype"] == "ref" else destino.rotulo
    return nodes.inline("", texto or destino.rotulo)


@cache
def _indice_entero(libro: Path) -> Indice:
    return Indice.de(libro)


def setup(app) -> None:
    """Compara las dos numeraciones al terminar de leer y resuelve las citas de las páginas
    sueltas."""
    app.connect("config-inited", _preparar_suelta)
    app.connect("missing-reference", _enlazar_con_el_resto)
    app.connect("env-check-consistency", _comprobar)
