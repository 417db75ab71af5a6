"""Los bancos de respuestas ajenas al registro y las respuestas triviales, comunes a varias
pruebas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

CARPETA = Path(__file__).resolve().parent / "respuestas"
CABECERA = "import math\nimport torch\nfrom torch import nn\n\n"


def respuestas(cuales: str) -> list[tuple[str, str, str]]:
    """(ejercicio, descripción, código) de cada celda de un banco, «buenas» o «malas»."""
    return [(id_, que.split(" ⇒ ")[0], codigo) for id_, que, codigo in _celdas(cuales)]


def pistas_debidas() -> list[tuple[str, str, str, str]]:
    """(ejercicio, descripción, código, trozo de su pista) de cada mala que la dice tras un ⇒."""
    return [(i, *que.split(" ⇒ "), codigo) for i, que, codigo in _celdas("malas") if " ⇒ " in que]


def _celdas(cuales: str) -> list[tuple[str, str, str]]:
    textos = [
        fichero.read_text(encoding="utf-8")
        for fichero in sorted((CARPETA / cuales).glob("cap*.py"))
    ]
    trozos = [trozo for texto in textos for trozo in re.split(r"^# %% ", texto, flags=re.M)[1:]]
    salida = []
    for trozo in trozos:
        titulo, codigo = trozo.split("\n", 1)
        ejercicio, descripcion = titulo.split(" | ", 1)
        salida.append((ejercicio, descripcion, CABECERA + codigo))
    return salida


CONSTANTES = (
    0,
    0.0,
    1,
    1.0,
    -1,
    2,
    True,
    False,
    None,
    "",
    [],
    (),
    {},
    [0],
    [0.0],
    float("nan"),
    float("inf"),
    "a",
    [[]],
)


def _arbol(valor: Any, hoja: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(valor, torch.Tensor):
        return hoja(valor)
    if isinstance(valor, (list, tuple)):
        return type(valor)(_arbol(v, hoja) for v in valor)
    if isinstance(valor, dict):
        return {clave: _arbol(v, hoja) for clave, v in valor.items()}
    if isinstance(valor, str):
        return ""
    if isinstance(valor, (int, float)) and not isinstance(valor, bool):
        return hoja(torch.tensor(float(valor))).item()
    return valor


def triviales(caso: Any, esperado: Any) -> Iterator[tuple[str, Any]]:
    """Lo que contesta quien no resuelve nada: constantes, ceros o unos con la forma pedida, y las
    propias entradas.
    """
    for constante in CONSTANTES:
        yield f"la constante {constante!r}", constante
    yield "ceros", _arbol(esperado, torch.zeros_like)
    yield "unos", _arbol(esperado, torch.ones_like)
    yield (
        "NaN",
        _arbol(
            esperado, lambda t: torch.full_like(t, float("nan")) if t.is_floating_point() else t * 0
        ),
    )
    yield (
        "pesos iguales",
        _arbol(esperado, lambda t: torch.full_like(t, 1 / max(1, t.shape[-1]) if t.dim() else 1.0)),
    )
    for i in range(6):
        valor = caso.args[i] if i < len(caso.args) else None
        yield f"la entrada {i}", valor
        yield f"la entrada {i}, sumada", valor.sum() if isinstance(valor, torch.Tensor) else valor
    yield "las entradas", tuple(caso.args)
