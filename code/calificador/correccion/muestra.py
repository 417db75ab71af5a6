"""Valores escritos para que se lean: los del ejemplo de un ejercicio y los del caso más pequeño que
falla.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from calificador.correccion.compara import describe, forma
from calificador.correccion.resultado import limpia
from calificador.registro import Caso

MAXIMO = 80


def _es_tensor(valor: Any) -> bool:
    return hasattr(valor, "dtype") and hasattr(valor, "shape") and hasattr(valor, "tolist")


def numero(valor: Any) -> str:
    """Un número con cuatro cifras, sin ceros de más; ``0.7311``, ``2``, ``-inf``."""
    if isinstance(valor, complex):
        return f"{valor:.4g}"
    if not isinstance(valor, float):
        return str(valor)
    if abs(valor) < 5e-13:
        return "0"
    return f"{valor:.4g}" if abs(valor) < 1e4 or not valor.is_integer() else f"{valor:.6g}"


def muestra(valor: Any, sangria: int = 0) -> str:
    """Un valor en pocas líneas; de un tensor grande, solo su forma."""
    if _es_tensor(valor):
        if valor.numel() > MAXIMO:
            return describe(valor)
        return _matriz(valor.tolist(), sangria)
    if isinstance(valor, (list, tuple)):
        if any(_es_tensor(v) for v in valor):
            separa = ",\n" + " " * (sangria + 1)
            return "(" + separa.join(muestra(v, sangria + 1) for v in valor) + ")"
        abre, cierra = "()" if isinstance(valor, tuple) else "[]"
        coma = "," if isinstance(valor, tuple) and len(valor) == 1 else ""
        return abre + ", ".join(muestra(v) for v in valor[:MAXIMO]) + coma + cierra
    if isinstance(valor, dict):
        return "{" + ", ".join(f"{muestra(k)}: {muestra(v)}" for k, v in valor.items()) + "}"
    if isinstance(valor, str):
        return json.dumps(limpia(valor, 60), ensure_ascii=False)
    if valor is None or isinstance(valor, (bool, int, float, complex)):
        return limpia(numero(valor), 60)
    return describe(valor)


def _matriz(filas: Any, sangria: int) -> str:
    """Números alineados por columnas, una fila por línea."""
    if not isinstance(filas, list):
        return numero(filas)
    if not filas or not isinstance(filas[0], list):
        return "[" + ", ".join(map(numero, filas)) + "]"
    if filas[0] and isinstance(filas[0][0], list):
        separa = ",\n" + " " * (sangria + 1)
        return "[" + separa.join(_matriz(f, sangria + 1) for f in filas) + "]"
    textos = [[numero(x) for x in fila] for fila in filas]
    anchos = [max(map(len, columna)) for columna in zip(*textos, strict=True)]
    lineas = [
        "[" + ", ".join(x.rjust(a) for x, a in zip(f, anchos, strict=True)) + "]" for f in textos
    ]
    return "[" + (",\n" + " " * (sangria + 1)).join(lineas) + "]"


def tamano(valor: Any) -> str:
    """La forma de un tensor con ejes, entre paréntesis; de lo demás, nada."""
    return forma(valor.shape) if _es_tensor(valor) and valor.dim() else ""


def nombres_de_argumentos(solucion: str, nombre: str) -> list[str]:
    """Nombres de los argumentos de la función (o de ``forward``), según la solución."""
    nodo = next((n for n in ast.parse(solucion).body if getattr(n, "name", None) == nombre), None)
    if isinstance(nodo, ast.ClassDef):
        nodo = next((n for n in nodo.body if getattr(n, "name", None) == "forward"), None)
    if nodo is None:
        return []
    return [a.arg for a in nodo.args.args if a.arg != "self"]


def entradas(
    caso: Caso, nombres: list[str], pesos: Mapping[str, Any] | None = None
) -> list[tuple[str, Any]]:
    """Cada entrada de un caso con su nombre."""
    puestos = nombres[: len(caso.args)] + [
        f"argumento {i}" for i in range(len(nombres) + 1, len(caso.args) + 1)
    ]
    dados = list(zip(puestos, caso.args, strict=True)) + list(caso.kwargs.items())
    return [*(caso.init or {}).items(), *(pesos or {}).items(), *dados]


def linea(nombre: str, valor: Any) -> str:
    """``scores = [[1, 2],`` … con las filas alineadas y la forma al final."""
    de = tamano(valor)
    return f"{nombre} = {muestra(valor, len(nombre) + 3)}" + (f"  {de}" if de else "")
