"""``%atento 4.2`` en un cuaderno: corrige lo que hay escrito en sus celdas, con la jaula y las
pistas de siempre.

Se carga con ``%load_ext calificador.cuaderno``; ``notebook.start()`` lo hace solo. De lo ejecutado
en el cuaderno se toman las definiciones que el ejercicio necesita, y las corrige otro proceso, como
en una consola: el del cuaderno no ejecuta la corrección ni la conoce. Los intentos se apuntan en
``mis-ejercicios``, y con ellos avanzan las pistas.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from calificador import carga
from calificador.jaula.alumno import sin_magias, solo_definiciones
from calificador.registro import Ejercicio

PLAZO = 900  # segundos: cada ejercicio tiene ya el suyo
AYUDA = (
    "Se usa «%atento 4.2» para corregir un ejercicio, «%atento 4» para un capítulo y «%atento"
    " empezar 4»."
)


def load_ipython_extension(ip: Any) -> None:
    """Registra ``%atento``."""
    ip.register_magic_function(lambda linea: atento(linea, _historia(ip)), "line", "atento")


def unload_ipython_extension(ip: Any) -> None:
    """Quita ``%atento``."""
    ip.magics_manager.magics["line"].pop("atento", None)


def atento(linea: str, historia: Sequence[str]) -> None:
    """Lo que hace ``%atento``. ``historia``: lo ejecutado en el cuaderno, en orden; vacío lo que no
    cuenta.
    """
    argumentos = linea.split()
    if not argumentos:
        print(AYUDA)
    elif not re.fullmatch(r"\d+(\.\d+)?", argumentos[0]):
        _llama(argumentos)
    else:
        _corrige(argumentos, historia)


def _historia(ip: Any) -> list[str]:
    return list(ip.history_manager.input_hist_raw)


def _corrige(argumentos: list[str], historia: Sequence[str]) -> None:
    curso = carga.curso()
    try:
        ejercicios = curso.elige(argumentos[:1])
    except ValueError as error:
        print(f"Error: {error}")
        return
    escritos, faltan = [], []
    for ejercicio in ejercicios:
        celdas = necesarias(historia, ejercicio.nombre)
        if not celdas:
            faltan.append(ejercicio)
        elif _es_el_esqueleto(celdas, ejercicio, curso):
            print(f"· {ejercicio.id} {ejercicio.nombre}: aún sin resolver")
        else:
            escritos.append((ejercicio, celdas))
    for ejercicio in faltan if len(ejercicios) == 1 else []:
        print(f"· {ejercicio.id}: ejecuta antes la celda donde escribes «{ejercicio.nombre}».")
    if escritos:
        cuaderno = json.dumps({"cells": _junta([c for _, c in escritos])})
        _llama(["calificar", *(e.id for e, _ in escritos), "--celdas", *argumentos[1:]], cuaderno)


def necesarias(historia: Sequence[str], nombre: str) -> dict[int, str]:
    """De lo ejecutado, lo que hace falta para definir ``nombre``: por celda, su texto con lo demás
    en blanco.

    De cada nombre vale la última definición. Vacío si ninguna celda lo define.
    """
    arboles = {n: arbol for n, texto in enumerate(historia) if (arbol := _lee(texto)) is not None}
    quien = {
        definido: n
        for n, arbol in arboles.items()
        for nodo in arbol.body
        for definido in _define(nodo)
    }
    if nombre not in quien:
        return {}
    usados = _nombres_usados(list(arboles.values()), nombre)
    celdas = {}
    for n, arbol in arboles.items():
        suyas = [nodo for nodo in arbol.body if any(quien[d] == n for d in _define(nodo) & usados)]
        if suyas:
            celdas[n] = _solo(historia[n], suyas)
    return celdas


def _nombres_usados(arboles: list[ast.Module], nombre: str) -> set[str]:
    """Nombres que usa la definición pedida, también a través de otras definiciones de la misma
    entrega.
    """
    definiciones: dict[str, ast.stmt] = {}
    for arbol in arboles:
        for nodo in arbol.body:
            if isinstance(nodo, ast.Try) and len(nodo.body) == 1:
                nodo = nodo.body[0]  # una constante de cuaderno
            if isinstance(nodo, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                definiciones[nodo.name] = nodo
            elif isinstance(nodo, ast.Assign):
                definiciones.update({d.id: nodo for d in nodo.targets if isinstance(d, ast.Name)})
    vistos: set[str] = set()
    pendientes = [nombre]
    while pendientes:
        actual = pendientes.pop()
        if actual in vistos:
            continue
        vistos.add(actual)
        if actual in definiciones:
            nodos = ast.walk(definiciones[actual])
            pendientes += [n.id for n in nodos if isinstance(n, ast.Name)]
    return vistos


def _lee(texto: str) -> ast.Module | None:
    """Las definiciones de una celda; ``None`` si no es Python."""
    try:
        return solo_definiciones(ast.parse(sin_magias(texto)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _define(nodo: ast.stmt) -> set[str]:
    """Los nombres que una sentencia define, importa o asigna."""
    if isinstance(nodo, ast.Try):
        nodo = nodo.body[0]  # una constante de cuaderno
    if isinstance(nodo, (ast.Import, ast.ImportFrom)):
        return {a.asname or a.name.split(".")[0] for a in nodo.names}
    destinos = nodo.targets if isinstance(nodo, ast.Assign) else [getattr(nodo, "target", None)]
    return {d.id for d in destinos if isinstance(d, ast.Name)} | {
        n for n in [getattr(nodo, "name", "")] if n
    }


def _solo(texto: str, nodos: list[ast.stmt]) -> str:
    """El texto de una celda con esas sentencias en su línea y las demás en blanco."""
    quedan: set[int] = set()
    for nodo in nodos:
        decoradores = [d.lineno for d in getattr(nodo, "decorator_list", [])]
        quedan.update(range(min([nodo.lineno, *decoradores]), (nodo.end_lineno or nodo.lineno) + 1))
    return "\n".join(linea if n in quedan else "" for n, linea in enumerate(texto.splitlines(), 1))


def _es_el_esqueleto(celdas: dict[int, str], ejercicio: Ejercicio, curso: carga.Curso) -> bool:
    """¿Está todavía como se dio? Comparado como Python: ni espacios ni comentarios cuentan."""
    de_serie = ast.parse(curso.esqueleto(ejercicio.capitulo))
    arboles = [de_serie, *map(ast.parse, celdas.values())]
    primera, ultima = (
        [ast.dump(n) for a in cuales for n in a.body if ejercicio.nombre in _define(n)][-1:]
        for cuales in (arboles[:1], arboles[1:])
    )
    return primera == ultima


def _junta(todas: list[dict[int, str]]) -> list[dict[str, Any]]:
    """Las celdas de varios ejercicios como las de un cuaderno: cada una en su lugar, para que se
    cite su número.
    """
    juntas: dict[int, list[str]] = {}
    for celdas in todas:
        for numero, texto in celdas.items():
            lineas, previas = texto.split("\n"), juntas.get(numero, [])
            juntas[numero] = [a or b for a, b in zip(lineas, previas or lineas, strict=True)]
    ultima = max(juntas)
    return [
        (
            {"cell_type": "code", "source": "\n".join(juntas[n])}
            if n in juntas
            else {"cell_type": "raw"}
        )
        for n in range(1, ultima + 1)
    ]


def _llama(argumentos: list[str], entrada: str = "") -> None:
    """Llama a ``atento`` en otro proceso y muestra lo que dice; si se interrumpe, lo dice en una
    línea.
    """
    orden = [sys.executable, "-m", "calificador.uso.ordenes", *argumentos]
    try:
        hecho = subprocess.run(
            orden,
            input=entrada,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=PLAZO,
        )
    except KeyboardInterrupt:
        print("Interrumpido.")
    except subprocess.TimeoutExpired:
        print(f"La corrección no ha terminado en {PLAZO} s y se ha cortado.")
    else:
        print(hecho.stdout, end="")
