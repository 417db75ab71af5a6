"""Lo que un código usa de sí mismo: de una solución, lo que necesita uno de sus ejercicios."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache


@lru_cache(maxsize=64)
def arbol_de(texto: str) -> ast.Module:
    """El árbol de un código, que solo se lee: los mutantes de una solución comparten el suyo.

    Errores: ``SyntaxError``, como ``ast.parse``.
    """
    return ast.parse(texto)


@dataclass(frozen=True)
class Modulo:
    """Un código leído una vez: sus instrucciones, las que definen cada nombre, las que no definen
    ninguno y los nombres que usa cada una.
    """

    cuerpo: list[ast.stmt]
    definen: dict[str, list[int]]
    sueltas: frozenset[int]
    usados: list[set[str]]


@lru_cache(maxsize=128)
def modulo_de(codigo: str) -> Modulo:
    """Un código, leído."""
    cuerpo = arbol_de(codigo).body
    definen: dict[str, list[int]] = {}
    for i, nodo in enumerate(cuerpo):
        for nombre in define(nodo):
            definen.setdefault(nombre, []).append(i)
    sueltas = frozenset(i for i, nodo in enumerate(cuerpo) if not define(nodo))
    return Modulo(cuerpo, definen, sueltas, [nombra(nodo) for nodo in cuerpo])


def define(nodo: ast.stmt) -> set[str]:
    """Los nombres que define una instrucción; ninguno, si hace además otra cosa."""
    if isinstance(nodo, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return {nodo.name}
    if isinstance(nodo, ast.Assign) and all(isinstance(x, ast.Name) for x in nodo.targets):
        return {x.id for x in nodo.targets if isinstance(x, ast.Name)}
    if isinstance(nodo, ast.AnnAssign) and isinstance(nodo.target, ast.Name):
        return {nodo.target.id}
    return set()


def nombra(nodo: ast.AST) -> set[str]:
    """Los nombres que aparecen en un trozo de código.

    >>> sorted(nombra(ast.parse("x = f(y).z")))
    ['f', 'x', 'y']
    """
    return {n.id for n in ast.walk(nodo) if isinstance(n, ast.Name)}


def lo_suyo(codigo: str, raices: Collection[str]) -> list[ast.stmt]:
    """De un módulo, las instrucciones que definen los nombres de ``raices``, las de lo que esas
    usan, y todas las que no definen un nombre (las importaciones, lo que se ejecuta al cargarlo).
    """
    modulo = modulo_de(codigo)
    pendientes = modulo.sueltas | {i for x in raices for i in modulo.definen.get(x, ())}
    quedan: set[int] = set()
    while pendientes:
        quedan |= pendientes
        usados = {x for i in pendientes for x in modulo.usados[i]}
        pendientes = {i for x in usados for i in modulo.definen.get(x, ())} - quedan
    return [modulo.cuerpo[i] for i in sorted(quedan)]
