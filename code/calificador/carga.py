"""Dónde están los ejercicios: el registro, los esqueletos y las soluciones, en el repositorio o en
el paquete.

Un curso propio es una carpeta con la misma disposición (``registro/capNN.py``,
``exercises/capNN.py`` y
``solutions/capNN.py``); se elige con la variable ``ATENTO_CURSO``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from calificador.registro import Ejercicio

PAQUETE = Path(__file__).resolve().parent


class CursoRoto(Exception):
    """El registro, un esqueleto o una solución no se pueden leer."""


def version() -> str:
    """Versión instalada del calificador."""
    try:
        return metadata.version("atento")
    except metadata.PackageNotFoundError:
        return "0+desarrollo"


@dataclass(frozen=True)
class Curso:
    """Los ejercicios de un curso y dónde viven sus ficheros."""

    registro: Path
    esqueletos: Path
    soluciones: Path
    ejercicios: dict[str, Ejercicio] = field(repr=False)

    def capitulos(self) -> list[int]:
        """Capítulos con ejercicios, en orden."""
        return sorted({e.capitulo for e in self.ejercicios.values()})

    def de_capitulo(self, capitulo: int) -> list[Ejercicio]:
        """Ejercicios de un capítulo, en orden."""
        return [e for e in self.ejercicios.values() if e.capitulo == capitulo]

    def esqueleto(self, capitulo: int) -> str:
        """Texto del esqueleto que se copia el estudiante."""
        return _lee(self.esqueletos / nombre_de_fichero(capitulo))

    def solucion(self, capitulo: int) -> str:
        """Texto de la solución de referencia."""
        return _lee(self.soluciones / nombre_de_fichero(capitulo))

    def elige(self, que: list[str] | None = None) -> list[Ejercicio]:
        """Ejercicios que nombran «5» o «5.2»; todos si no se pide nada. ``ValueError`` si alguno no
        existe.
        """
        if not que:
            return list(self.ejercicios.values())
        elegidos: list[Ejercicio] = []
        for nombre in que:
            hallados = [e for e in self.ejercicios.values() if nombre in (e.id, str(e.capitulo))]
            if not hallados:
                raise ValueError(f"no hay ejercicio ni capítulo «{nombre}»; hay: {self.en_breve()}")
            elegidos += [e for e in hallados if e not in elegidos]
        return elegidos

    def en_breve(self) -> str:
        """Los capítulos y cuántos ejercicios tiene cada uno, en una línea."""
        return (
            ", ".join(f"capítulo {c} ({len(self.de_capitulo(c))})" for c in self.capitulos())
            or "ninguno todavía"
        )

    def huella(self, capitulo: int) -> str:
        """Resumen de lo que decide la nota de un capítulo: si cambia, hay que volver a corregir."""
        nombre = nombre_de_fichero(capitulo)
        ficheros = [self.registro / nombre, self.soluciones / nombre, PAQUETE / "vetos.py"]
        textos = [_lee(fichero) for fichero in ficheros]
        return hashlib.sha256("\0".join([version(), *textos]).encode()).hexdigest()[:16]


def nombre_de_fichero(capitulo: int) -> str:
    """``cap05.py``."""
    return f"cap{capitulo:02d}.py"


def _lee(ruta: Path) -> str:
    try:
        return ruta.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CursoRoto(
            f"falta {ruta.name} en {ruta.parent}: reinstala el paquete o revisa ATENTO_CURSO"
        ) from error
    except (OSError, UnicodeError) as error:
        motivo = getattr(error, "strerror", None) or "no es UTF-8"
        raise CursoRoto(f"no se puede leer {ruta}: {motivo}") from error


def curso() -> Curso:
    """El curso propio de ``ATENTO_CURSO`` o, si no está, el del libro."""
    return curso_en(os.environ.get("ATENTO_CURSO", ""))


@lru_cache(maxsize=4)
def curso_en(ruta: str = "") -> Curso:
    """El curso de una carpeta; con la cadena vacía, el del libro."""
    if ruta:
        base = Path(ruta).resolve()
        registro, datos = base / "registro", base
    else:
        registro = PAQUETE / "ejercicios"
        datos = PAQUETE / "datos"
        if not (datos / "exercises").is_dir():
            datos = PAQUETE.parents[1]
    if not registro.is_dir():
        raise CursoRoto(f"no existe {registro}: revisa ATENTO_CURSO")
    return Curso(registro, datos / "exercises", datos / "solutions", _ejercicios(registro))


def _ejercicios(registro: Path) -> dict[str, Ejercicio]:
    todos: dict[str, Ejercicio] = {}
    for fichero in sorted(registro.glob("cap*.py")):
        if not re.fullmatch(r"cap\d\d\.py", fichero.name):
            continue
        for ejercicio in _importa(fichero):
            if ejercicio.id in todos:
                raise CursoRoto(
                    f"{fichero.name}: el ejercicio {ejercicio.id} está dos veces en el registro"
                )
            todos[ejercicio.id] = ejercicio
    return dict(sorted(todos.items(), key=lambda par: tuple(map(int, par[0].split(".")))))


def _importa(fichero: Path) -> list[Ejercicio]:
    especificacion = importlib.util.spec_from_file_location(f"_registro_{fichero.stem}", fichero)
    modulo = importlib.util.module_from_spec(especificacion)
    try:
        especificacion.loader.exec_module(modulo)
    except Exception as error:
        raise CursoRoto(
            f"el registro {fichero.name} no se puede leer: {type(error).__name__}: {error}"
        ) from error
    return list(getattr(modulo, "EJERCICIOS", []))
