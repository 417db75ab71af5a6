"""Las celdas de un ejercicio en un cuaderno: una para escribir, con el esqueleto, y otra que
corrige.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from itertools import pairwise

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from calificador.carga import curso
from calificador.correccion.ejemplo import Ejemplo, ejemplo
from calificador.registro import Ejercicio

ANCHO = 77  # dos más, con la almohadilla y su espacio


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
        renglones = (r for linea in hallado.codigo.splitlines() for r in en_renglones(linea))
        prueba = "\n".join(f"# {renglon}" for renglon in renglones)
        partes.append(f"# Para probar el ejemplo, quita las almohadillas:\n{prueba}")
    return "\n\n\n".join(filter(None, partes))


def en_renglones(linea: str, sangria: str = "") -> list[str]:
    """Una línea de código partida por las comas de su paréntesis más largo, si no cabe.

    >>> en_renglones(f"f({'1' * 60}, {'2' * 30}, 3)")
    ['f(', '    111111111111111111111111111111111111111111111111111111111111,', \
'    222222222222222222222222222222, 3', ')']
    """
    grupo = _parentesis(linea) if len(sangria + linea) > ANCHO else []
    if not grupo:
        return [sangria + linea]
    abre, *comas, cierra = grupo
    trozos = [linea[a:b].strip() for a, b in pairwise([abre + 1, *(c + 1 for c in comas), cierra])]
    renglones, caben = [sangria + linea[: abre + 1]], False
    for trozo in filter(None, trozos):
        suyos = en_renglones(trozo, sangria + "    ")
        junto = f"{renglones[-1]} {trozo}"
        if caben and len(suyos) == 1 and len(junto) <= ANCHO:
            renglones[-1] = junto
        else:
            renglones += suyos
        caben = len(suyos) == 1
    return [*renglones, sangria + linea[cierra:]]


def _parentesis(linea: str) -> list[int]:
    """Dónde se abre, dónde lleva las comas y dónde se cierra el paréntesis de fuera más largo."""
    abiertos: list[list[int]] = []
    cerrados: list[list[int]] = []
    for token in tokenize.generate_tokens(io.StringIO(linea).readline):
        sitio = token.start[1]
        if token.type == tokenize.OP and token.string in "([{":
            abiertos.append([sitio])
        elif token.type == tokenize.OP and token.string in ")]}":
            cerrados.append([*abiertos.pop(), sitio])
        elif token.string == "," and abiertos:
            abiertos[-1].append(sitio)
    return max(cerrados, key=lambda grupo: grupo[-1] - grupo[0], default=[])


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
