"""Las celdas de un ejercicio en un cuaderno: una para escribir, con el esqueleto, y otra que
corrige.
"""

from __future__ import annotations

import ast
import re
from functools import cache

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from calificador.carga import curso
from calificador.correccion.ejemplo import Ejemplo, ejemplo
from calificador.registro import Ejercicio


def registrado_de(numero: str) -> Ejercicio | None:
    """El ejercicio del registro del calificador, o ``None``."""
    return curso().ejercicios.get(numero)


@cache
def ejemplo_de(numero: str) -> Ejemplo | None:
    """El ejemplo de un ejercicio, con la salida que da la solución."""
    return ejemplo(curso(), curso().ejercicios[numero])


def celdas_de(numero: str) -> list[NotebookNode]:
    """Las dos celdas de un ejercicio."""
    metadatos = {"atento": {"ejercicio": numero}}
    return [
        new_code_cell(para_escribir(curso().ejercicios[numero]), metadata=metadatos),
        new_code_cell(f"%atento {numero}", metadata=metadatos),
    ]


def para_escribir(ejercicio: Ejercicio) -> str:
    """El esqueleto de un ejercicio con lo que importa, y su ejemplo en comentarios, listo para
    probarlo.
    """
    lineas = curso().esqueleto(ejercicio.capitulo).splitlines()
    arbol = ast.parse("\n".join(lineas))
    importa = [_trozo(lineas, n) for n in arbol.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    suyo = next(_trozo(lineas, n) for n in arbol.body if ejercicio.nombre in _define(n))
    partes = ["\n".join(importa), suyo]
    if hallado := ejemplo_de(ejercicio.id):
        prueba = "\n".join(f"# {linea}" for linea in hallado.codigo.splitlines())
        partes.append(f"# Para probar el ejemplo, quita las almohadillas:\n{prueba}")
    return "\n\n\n".join(filter(None, partes))


def _define(nodo: ast.stmt) -> set[str]:
    """Los nombres que define una sentencia del esqueleto."""
    if isinstance(nodo, ast.Assign):
        return {d.id for d in nodo.targets if isinstance(d, ast.Name)}
    return {getattr(nodo, "name", "")}


def _trozo(lineas: list[str], nodo: ast.stmt) -> str:
    """El texto de una sentencia, con sus decoradores y los comentarios pegados encima."""
    inicio = min([nodo.lineno, *(d.lineno for d in getattr(nodo, "decorator_list", []))]) - 1
    while (
        inicio and lineas[inicio - 1].startswith("#") and not lineas[inicio - 1].startswith("# %%")
    ):
        inicio -= 1
    return re.sub(r"\s*# noqa.*", "", "\n".join(lineas[inicio : nodo.end_lineno]))
