"""Una clase: su semilla secreta, que decide los casos, y los parámetros de sus ejercicios con
variante.

El fichero de la clase lo guarda quien enseña. Lo que reciben sus estudiantes es el mismo fichero
sin la semilla.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calificador.carga import Curso
from calificador.registro import Ejercicio
from calificador.uso import atomico

FORMATO = 1


@dataclass(frozen=True)
class Clase:
    """Nombre, semilla y variantes (ejercicio → parámetros). ``publica``: la semilla la conoce
    cualquiera.
    """

    nombre: str
    semilla: str
    variantes: dict[str, dict[str, Any]] = field(default_factory=dict)
    publica: bool = False


def nueva(nombre: str, curso: Curso) -> Clase:
    """Una clase con semilla al azar y parámetros al azar, distintos de los públicos."""
    variantes = {e.id: _parametros(e) for e in curso.ejercicios.values() if e.variante}
    return Clase(nombre, secrets.token_hex(16), variantes)


def _parametros(ejercicio: Ejercicio) -> dict[str, Any]:
    return {n: _otro(v, ejercicio.alternativas.get(n, ())) for n, v in ejercicio.variante.items()}


def _otro(valor: Any, alternativas: tuple[Any, ...]) -> Any:
    """Un valor distinto del público: de las alternativas del registro o, si no las hay, cercano."""
    azar = secrets.SystemRandom()
    distintas = [a for a in alternativas if a != valor]
    if distintas:
        return azar.choice(distintas)
    if isinstance(valor, bool):
        return not valor
    if isinstance(valor, int):
        return valor + azar.randint(1, 3)
    if isinstance(valor, float):
        return round(valor * azar.choice((0.6, 0.7, 0.8, 1.2, 1.3, 1.5)), 4)
    return valor


def guarda(clase: Clase, carpeta: Path) -> tuple[Path, Path]:
    """Escribe el fichero de quien enseña y el de sus estudiantes; no sobrescribe una clase que ya
    existe.
    """
    docente, estudiantes = carpeta / "clase.json", carpeta / "clase-estudiantes.json"
    publico = {"formato": FORMATO, "nombre": clase.nombre, "variantes": clase.variantes}
    ya_hay = f"ya hay una clase en {carpeta}: da otra carpeta con --carpeta (la semilla no se pisa)"
    if docente.exists():
        raise FileExistsError(ya_hay)
    atomico.escribe_json(estudiantes, publico)
    try:  # la de quien enseña, la última: si se corta antes, repetir la orden lo arregla
        atomico.escribe_json(docente, {**publico, "semilla": clase.semilla}, nuevo=True)
    except FileExistsError:
        raise FileExistsError(ya_hay) from None
    docente.chmod(0o600)
    return docente, estudiantes


def lee(ruta: Path, semilla: str) -> Clase:
    """Lee una clase; si el fichero no lleva semilla (el de estudiantes), usa la dada."""
    datos = atomico.lee_json(ruta)
    if not isinstance(datos, dict) or not isinstance(datos.get("variantes"), dict):
        raise ValueError(
            f"{ruta} no es el fichero de una clase: créala con «atento clase nueva NOMBRE»"
        )
    if datos.get("formato") != FORMATO:
        raise ValueError(f"{ruta} es de otra versión del calificador: actualiza con pip")
    nombre, propia = str(datos.get("nombre", "")), datos.get("semilla")
    return Clase(nombre, str(propia or semilla), datos["variantes"], publica=not propia)
