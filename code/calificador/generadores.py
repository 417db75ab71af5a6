"""Lo que casi todos los ejercicios sortean para sus casos. Cada función recibe un ``torch.Generator`` ya sembrado.

torch se importa al llamar: los ficheros del registro se leen también donde solo se listan los ejercicios.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def entero(rng: torch.Generator, minimo: int, maximo: int) -> int:
    """Un entero entre ``minimo`` y ``maximo``, los dos incluidos."""
    import torch

    return int(torch.randint(minimo, maximo + 1, (), generator=rng))


def distintos(rng: torch.Generator, minimo: int, maximo: int, cuantos: int) -> list[int]:
    """``cuantos`` enteros distintos entre ``minimo`` y ``maximo``, los dos incluidos."""
    import torch

    return [minimo + int(i) for i in torch.randperm(maximo - minimo + 1, generator=rng)[:cuantos]]


def normal(rng: torch.Generator, *forma: int) -> torch.Tensor:
    """Un tensor float64 de normales independientes, de media 0 y varianza 1."""
    import torch

    return torch.randn(forma, generator=rng, dtype=torch.float64)


def uniforme(rng: torch.Generator, minimo: float, maximo: float, *forma: int) -> torch.Tensor:
    """Un tensor float64 de uniformes entre ``minimo`` y ``maximo``."""
    import torch

    return minimo + (maximo - minimo) * torch.rand(forma, generator=rng, dtype=torch.float64)
