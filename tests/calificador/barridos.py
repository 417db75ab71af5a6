"""Los barridos de semillas, sellados.

Que cada error conocido caiga con su pista con 25 semillas, o que cada respuesta de los bancos
reciba lo suyo con cuatro, se barre entero cuando cambia el ejercicio, su solución o sus respuestas.
De eso se guarda una huella por ejercicio (``barridos.json``): si es la de la última vez que pasaron
todas, se prueba una, que sale de la huella; si no, todas. Lo demás (el calificador, la biblioteca,
las versiones) no abre los sellos: lo ve esa semilla de cada ejercicio, que ya pasó una vez, así que
una prueba roja acusa a quien la puso roja y no a la suerte. ``ATENTO_ENTERO=1`` las prueba todas
siempre y además unas de ese día, y «make prueba» guarda las huellas de lo que pasa entero.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from libro.huella import normalizado
from rotacion import entero, nuevas

from calificador import recorte
from calificador.carga import Curso, nombre_de_fichero
from calificador.registro import Ejercicio

AQUI = Path(__file__).resolve().parent
FICHERO = AQUI / "barridos.json"
NUEVAS = 2  # las del día, cuando se prueba todo


# --- La huella ------------------------------------------------------------------------------------


def lo_suyo(codigo: str, raices: Collection[str]) -> str:
    """De un módulo, lo que usan los nombres de ``raices`` y lo que no define ninguno."""
    return "\n".join(map(ast.unparse, recorte.lo_suyo(codigo, raices)))


def _del_registro(codigo: str, id_: str) -> set[str]:
    """El nombre de la variable del ejercicio ``id_`` en su registro."""
    return {
        nombre
        for nodo in recorte.modulo_de(codigo).cuerpo
        if isinstance(nodo, ast.Assign) and isinstance(nodo.value, ast.Call)
        if any(x.arg == "id" and _constante(x.value) == id_ for x in nodo.value.keywords)
        for nombre in recorte.define(nodo)
    }


def _constante(nodo: ast.expr) -> object:
    return nodo.value if isinstance(nodo, ast.Constant) else None


def huella(curso: Curso, ejercicio: Ejercicio, extras: Iterable[str] = ()) -> str:
    """Lo que se barre de un ejercicio: su registro, su solución y ``extras``, las respuestas que se
    prueban. Un registro en que no se encuentra el ejercicio entra entero.
    """
    registro = (curso.registro / nombre_de_fichero(ejercicio.capitulo)).read_text("utf-8")
    suyos = _del_registro(registro, ejercicio.id)
    partes = [
        normalizado(lo_suyo(registro, suyos) if suyos else registro),
        normalizado(lo_suyo(curso.solucion(ejercicio.capitulo), {ejercicio.nombre})),
    ]
    resumen = hashlib.sha256()
    for texto in (*partes, *extras):
        resumen.update(texto.encode() + b"\0")
    return resumen.hexdigest()[:16]


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
        self, curso: Curso, ejercicio: Ejercicio, cual: str, todas: Iterable[object]
    ) -> list[object]:
        """Las que se prueban: la suya si está sellado; si no, con ella, todas."""
        suya = f"sello {self.de(curso, ejercicio, cual)}"
        if self.sellado(curso, ejercicio, cual):
            return [suya]
        return [*todas, suya, *(nuevas(NUEVAS) if entero() else [])]

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
