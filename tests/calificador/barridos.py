"""Los barridos de semillas, sellados, y el reparto de los ataques entre instalaciones y jaulas.

Que cada error conocido caiga con su pista con 25 semillas, o que cada respuesta de los bancos
reciba lo suyo con cuatro, no cambia mientras no cambien el ejercicio, su solución, el calificador,
las respuestas ni las versiones. De eso se guarda una huella por ejercicio (``barridos.json``): si
es la de la última vez que pasaron todas, se prueban unas pocas semillas nuevas, que salen de la
confirmación; si no, todas. ``ATENTO_ENTERO=1`` las prueba todas siempre, y «make prueba» guarda las
huellas de lo que pasa entero. ``ATENTO_BARRIDO=x`` repite las semillas nuevas de otra confirmación.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

from libro.huella import Fuentes, _importa, normalizado

from calificador.carga import Curso, nombre_de_fichero
from calificador.registro import Ejercicio

AQUI = Path(__file__).resolve().parent
RAIZ = AQUI.parents[1]
FICHERO = AQUI / "barridos.json"
NUEVAS = 3  # semillas nuevas de lo que está sellado
NUEVAS_RESPUESTAS = 2
VERSIONES = ("torch", "numpy")
# Lo que interviene al barrer; el registro de cada ejercicio y su solución van aparte.
CALIFICADOR = "\n".join(
    f"import calificador.{x}"
    for x in ("correccion.semillas", "correccion.oraculo", "correccion.pistas", "jaula.vedado")
)


def entero() -> bool:
    """Si se ha pedido probarlo todo."""
    return os.environ.get("ATENTO_ENTERO", "") not in ("", "0")


@cache
def origen() -> str:
    """De dónde salen las semillas nuevas: la confirmación o, sin git, la fecha."""
    orden = ["git", "-C", str(RAIZ), "rev-parse", "--short=12", "HEAD"]
    if pedido := os.environ.get("ATENTO_BARRIDO"):
        return pedido
    try:
        dicho = subprocess.run(orden, capture_output=True, text=True, timeout=30)
    except OSError:
        return date.today().isoformat()
    return dicho.stdout.strip() or date.today().isoformat()


def nuevas(cuantas: int) -> list[str]:
    """Unas semillas que no son las de siempre; quien falla las dice, y así se repiten."""
    return [f"ATENTO_BARRIDO={origen()} n.º {i}" for i in range(cuantas)]


def vuelta() -> int:
    """Un número que cambia de una confirmación a otra."""
    return int.from_bytes(hashlib.sha256(origen().encode()).digest()[:4], "big")


# --- La huella ------------------------------------------------------------------------------------


class Escritas(Fuentes):
    """El grafo de lo que se importa con su nombre: lo que se carga al vuelo (los registros) entra
    ejercicio a ejercicio.
    """

    def importados(self, codigo: str, desde: str = "") -> tuple[set[str], set[str]]:
        """Los módulos del libro que un código nombra al importar."""
        nombres = _importa(codigo, desde) or ()
        return {m for nombre in nombres for m in self._con_padres(nombre)}, set()

    def lo_que_hacen(self, codigo: str) -> Iterator[str]:
        """El código, sin notas, de todo lo que uno importa; si nombra ``atento`` en un texto, como
        hace un error del registro, de toda la biblioteca.
        """
        todos = (m for m in self.modulos if m.partition(".")[0] == "atento")
        modulos = set(todos) if re.search(r"['\"].*\batento\b", codigo) else set()
        for modulo in sorted(modulos | self.alcance(codigo)[0]):
            yield modulo
            yield normalizado(self.textos[modulo])


@cache
def fuentes(raiz: Path) -> Escritas:
    """El grafo, leído una vez."""
    return Escritas(raiz)


@dataclass(frozen=True)
class Modulo:
    """Un código leído una vez: sus instrucciones, las que definen cada nombre, las que no definen
    ninguno y los nombres que usa cada una.
    """

    cuerpo: list[ast.stmt]
    definen: dict[str, list[int]]
    sueltas: set[int]
    usados: list[set[str]]


@cache
def _leido(codigo: str) -> Modulo:
    cuerpo = ast.parse(codigo).body
    definen: dict[str, list[int]] = {}
    for i, nodo in enumerate(cuerpo):
        for nombre in _define(nodo):
            definen.setdefault(nombre, []).append(i)
    sueltas = {i for i, nodo in enumerate(cuerpo) if not _define(nodo)}
    usados = [{n.id for n in ast.walk(x) if isinstance(n, ast.Name)} for x in cuerpo]
    return Modulo(cuerpo, definen, sueltas, usados)


def lo_suyo(codigo: str, raices: Collection[str]) -> str:
    """De un módulo, lo que usan los nombres de ``raices``, y lo que eso usa, y todo lo que no
    define un nombre (las importaciones, lo que se ejecuta al cargarlo).
    """
    modulo = _leido(codigo)
    pendientes = modulo.sueltas | {i for x in raices for i in modulo.definen.get(x, ())}
    quedan: set[int] = set()
    while pendientes:
        una = pendientes.pop()
        quedan.add(una)
        pendientes |= {i for x in modulo.usados[una] for i in modulo.definen.get(x, ())} - quedan
    return "\n".join(ast.unparse(modulo.cuerpo[i]) for i in sorted(quedan))


def _define(nodo: ast.stmt) -> set[str]:
    """Los nombres que define una instrucción; ninguno, si hace además otra cosa."""
    if isinstance(nodo, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return {nodo.name}
    if isinstance(nodo, ast.Assign) and all(isinstance(x, ast.Name) for x in nodo.targets):
        return {x.id for x in nodo.targets}
    if isinstance(nodo, ast.AnnAssign) and isinstance(nodo.target, ast.Name):
        return {nodo.target.id}
    return set()


def _del_registro(codigo: str, id_: str) -> set[str]:
    """El nombre de la variable del ejercicio ``id_`` en su registro."""
    return {
        nombre
        for nodo in _leido(codigo).cuerpo
        if isinstance(nodo, ast.Assign) and isinstance(nodo.value, ast.Call)
        if any(x.arg == "id" and _constante(x.value) == id_ for x in nodo.value.keywords)
        for nombre in _define(nodo)
    }


def _constante(nodo: ast.expr) -> object:
    return nodo.value if isinstance(nodo, ast.Constant) else None


def huella(
    curso: Curso, ejercicio: Ejercicio, extras: Iterable[str] = (), raiz: Path = RAIZ
) -> str:
    """De qué depende lo que se barre de un ejercicio; ``extras``, las respuestas que se prueban.

    Un registro en que no se encuentra el ejercicio entra entero.
    """
    registro = (curso.registro / nombre_de_fichero(ejercicio.capitulo)).read_text("utf-8")
    suyos = _del_registro(registro, ejercicio.id)
    partes = [
        normalizado(lo_suyo(registro, suyos) if suyos else registro),
        normalizado(lo_suyo(curso.solucion(ejercicio.capitulo), {ejercicio.nombre})),
    ]
    resumen = hashlib.sha256(versiones().encode())
    for texto in (*partes, *extras):
        resumen.update(texto.encode() + b"\0")
    importa = "\n".join(
        (CALIFICADOR, *map(lo_que_importa, (registro, curso.solucion(ejercicio.capitulo), *extras)))
    )
    resumen.update(_de_modulos(importa, raiz).encode())
    return resumen.hexdigest()[:16]


def versiones() -> str:
    """Lo que decide los números."""
    python = ".".join(map(str, sys.version_info[:2]))
    return " ".join([f"python {python}", *(f"{x} {metadata.version(x)}" for x in VERSIONES)])


@cache
def lo_que_importa(codigo: str) -> str:
    """Las líneas que importan algo del libro y, si lo nombra en un texto, esa mención."""
    nombres = sorted(x for x in _importa(codigo, "") or () if x.split(".")[0] != "torch")
    menciona = re.search(r"['\"].*\batento\b", codigo)
    return "\n".join([*(f"import {x}" for x in nombres if x), *(['"atento"'] if menciona else [])])


@cache
def _de_modulos(importa: str, raiz: Path) -> str:
    resumen = hashlib.sha256()
    for texto in fuentes(raiz).lo_que_hacen(importa):
        resumen.update(texto.encode() + b"\0")
    return resumen.hexdigest()


# --- El sello -------------------------------------------------------------------------------------


@dataclass
class Barridos:
    """Qué está sellado, qué se prueba y qué ha pasado entero."""

    fichero: Path = FICHERO
    del_libro: dict[str, list[str]] = field(default_factory=dict)  # las respuestas de cada uno
    pasados: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    huellas: dict[tuple[str, str], str] = field(default_factory=dict)

    @cached_property
    def guardadas(self) -> dict[str, dict[str, str]]:
        """Las huellas comprometidas."""
        if not self.fichero.exists():
            return {}
        return json.loads(self.fichero.read_text(encoding="utf-8"))

    def de(self, curso: Curso, ejercicio: Ejercicio, cual: str) -> str:
        """La huella de ahora de un barrido: «errores» o «respuestas»."""
        clave = ejercicio.id, cual
        if clave not in self.huellas:
            extras = self.del_libro.get(ejercicio.id, ()) if cual == "respuestas" else ()
            self.huellas[clave] = huella(curso, ejercicio, extras)
        return self.huellas[clave]

    def sellado(self, curso: Curso, ejercicio: Ejercicio, cual: str) -> bool:
        """Si todo pasó con lo que hay ahora y no se ha pedido repetirlo."""
        guardada = self.guardadas.get(ejercicio.id, {}).get(cual)
        return self.de(curso, ejercicio, cual) == guardada and not entero()

    def semillas(
        self, curso: Curso, ejercicio: Ejercicio, cual: str, todas: Iterable[object], cuantas: int
    ) -> list[object]:
        """Las que se prueban: todas, o unas nuevas si está sellado."""
        return nuevas(cuantas) if self.sellado(curso, ejercicio, cual) else list(todas)

    def pasa(self, curso: Curso, ejercicio: Ejercicio, cual: str, caso: str = "") -> None:
        """Apunta que un caso ha pasado con todas las semillas."""
        if not self.sellado(curso, ejercicio, cual):
            self.pasados.setdefault((ejercicio.id, cual), set()).add(caso)

    def guarda(self, debidos: dict[tuple[str, str], set[str]]) -> None:
        """Sella los barridos que han pasado enteros, caso por caso."""
        todas = {id_: dict(suyas) for id_, suyas in self.guardadas.items()}
        for (id_, cual), casos in self.pasados.items():
            if casos >= debidos.get((id_, cual), {""}):
                todas.setdefault(id_, {})[cual] = self.huellas[id_, cual]
        orden = sorted(todas, key=lambda id_: tuple(map(int, id_.split("."))))
        lineas = [f"{json.dumps(id_)}: {json.dumps(todas[id_], sort_keys=True)}" for id_ in orden]
        self.fichero.write_text("{\n" + ",\n".join(lineas) + "\n}\n", encoding="utf-8")


# --- El reparto -----------------------------------------------------------------------------------


def reparto(
    cosas: Sequence[str], combinacion: object, todas: Sequence[object], desde: int
) -> list[str]:
    """Las cosas que le tocan a una combinación: una de cada tres, o de tantas como combinaciones
    haya si son menos; entre todas, todas. Al cambiar ``desde`` le tocan otras.
    """
    cada = 1 if entero() else min(3, len(todas))
    puesto = list(todas).index(combinacion)
    return [cosa for i, cosa in enumerate(cosas) if (i + puesto + desde) % cada == 0]


def combinaciones(instalaciones: Iterable[str], niveles: Iterable[str]) -> list[tuple[str, str]]:
    """Cada instalación con cada jaula."""
    return list(itertools.product(instalaciones, niveles))
