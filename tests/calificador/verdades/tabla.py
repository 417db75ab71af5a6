"""La tabla de las verdades y lo que usan varias de ellas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import torch

from calificador.correccion.compara import Contexto, diferencia

Verdad = Callable[[Any, Any, Any], bool]
VERDADES: dict[str, Verdad] = {}
GEN = torch.Generator().manual_seed(0)


def verdad(identificador: str) -> Callable[[Verdad], Verdad]:
    """Apunta una función en la tabla."""

    def apunta(funcion: Verdad) -> Verdad:
        VERDADES[identificador] = funcion
        return funcion

    return apunta


def cerca(valor: Any, cierto: Any, tolerancia: float = 1e-9) -> bool:
    """¿Son iguales, con la tolerancia?"""
    return diferencia(valor, cierto, Contexto(tolerancia)) is None


def nadaraya(puntos: list[list[Any]], valores: torch.Tensor, extra: list[Any] = ()) -> torch.Tensor:
    """Σ e^s v / Σ e^s con precisión y exponente arbitrarios; ``None`` es una clave tapada."""
    filas = []
    for fila in puntos:
        pesos = [mpmath.mpf(0) if s is None else mpmath.exp(s) for s in fila]
        total = sum(pesos) + sum(map(mpmath.exp, extra))
        pesos = [float(p / total) if total else 0.0 for p in pesos]
        filas.append(torch.tensor(pesos, dtype=torch.float64) @ valores)
    return torch.stack(filas)
