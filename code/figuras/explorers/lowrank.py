"""La mejor aproximación de cada rango de un cambio de pesos: lo que cuesta y lo que recoge."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from figuras.explorers.base import (
    Explorer,
    Texts,
    check_count,
    check_table,
    number,
    static_table,
)

__all__ = ["LowrankExplorer", "lowrank"]

_LARGEST = 64  # el lado mayor que se dibuja bien en un teléfono
_STEPS = 2**15 - 1  # el cambio viaja en enteros de 16 bits


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LowrankExplorer(Explorer):
    """El cambio y su barra de rango. Se construye con :func:`lowrank`."""

    kind: ClassVar[str] = "lowrank"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "chart")
    change: Tensor  # (out, in), en pasos de unit
    unit: float
    others: tuple[tuple[str, Tensor], ...]
    scores: tuple[tuple[str, tuple[float, ...]], ...]
    scored: str
    said: str
    most: int
    start: int
    title: str = "Un cambio de pesos y su rango"
    name: str = "rango"

    def compute(self, rank: int) -> dict[str, Tensor | int]:
        """La mejor aproximación de ese rango, ``approx`` ``(out, in)``; qué parte de la suma de los
        cuadrados recoge cada rango, desde el 0, ``shares`` (most + 1,), y cuántos números guarda,
        ``cost``.
        """
        table = self.change * self.unit
        left, sizes, right = torch.linalg.svd(table, full_matrices=False)
        return {
            "approx": (left[:, :rank] * sizes[:rank]) @ right[:rank],
            "shares": _shares(sizes)[: self.most + 1],
            "cost": rank * sum(table.shape),
        }

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript; de las matrices de comparar, solo lo que miden."""
        return {
            "shape": list(self.change.shape),
            "change": base64.b64encode(self.change.short().numpy().tobytes()).decode(),
            "unit": self.unit,
            "others": [[name, [float(f"{x:.6g}") for x in found]] for name, found in self.others],
            "scores": [[name, [round(x, 4) for x in row]] for name, row in self.scores],
            "title": self.scored,
            "said": self.said,
            "most": self.most,
            "start": self.start,
        }

    def static(self) -> str:
        """De unos cuantos rangos, lo que cuestan y lo que recogen."""
        rows, whole = [], self.change.numel()
        for rank in sorted({0, 1, 2, 4, 8, 16, self.start, self.most}):
            if rank > self.most:
                continue
            found = self.compute(rank)
            told = [f"{found['cost']} de {whole}", number(float(found["shares"][rank]))]
            rows.append([str(rank), *told, *(number(row[rank]) for _, row in self.scores)])
        head = ["rango", "números", "recoge", *(f"{self.said} {name}" for name, _ in self.scores)]
        return static_table("La mejor aproximación de cada rango", head, rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        tall, wide = self.change.shape
        return f"Rango: un cambio de {tall} × {wide}, del rango 0 al {self.most}"


def _measured(
    scores: Mapping[str, Sequence[float]], most: int
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    measured = tuple((key, tuple(map(float, row))) for key, row in scores.items())
    if len(measured) > 2:
        raise ValueError(f"scores: llegaron {len(measured)} medidas; se esperaban dos, como mucho.")
    for key, row in measured:
        if len(row) != most + 1 or not all(0 <= value <= 1 for value in row):
            raise ValueError(f"scores: «{key}» no lleva {most + 1} números de 0 a 1.")
    return measured


def lowrank(
    change: Tensor,
    *,
    others: Mapping[str, Tensor] | None = None,
    scores: Mapping[str, Sequence[float]] | None = None,
    scored: str = "",
    said: str = "",
    most: int = 24,
    start: int = 4,
    **texts: Unpack[Texts],
) -> LowrankExplorer:
    """Devuelve el explorador en el que se elige el rango con que se aproxima ``change``.

    ``change`` es ``(out, in)``. Se ven las dos matrices finas, B y A, y su producto, cuántos
    números guardan y qué parte de la suma de los cuadrados recogen, con los rangos de 0 a ``most``.
    Con ``others``, una o dos matrices de cualquier tamaño, se compara lo que recoge ese rango.
    ``scores`` es otra medida, de 0 a 1, con cada rango: lo primero, lo que se mide con este cambio,
    y después, con qué se compara; ``scored`` dice qué es, y ``said``, cómo se lee («Así acierta»).

    Errores: ``ValueError`` si ``change`` no es una matriz de números finitos, de 2 a 64 de lado y
    no toda a cero, si alguna de ``others`` no es una matriz, si unas ``scores`` no son una por
    rango, de 0 a 1, o si ``most`` o ``start`` no caben.
    """
    table = check_table(change, "change", "(out, in)", (2,))
    if not 2 <= min(table.shape) <= max(table.shape) <= _LARGEST or not bool(table.any()):
        raise ValueError(
            f"change: llegó {tuple(table.shape)}; se esperaba de 2 a {_LARGEST} de lado y algo que"
            " no sea cero."
        )
    check_count(most, "most", 1, min(table.shape))
    check_count(start, "start", 0, most)
    compared = [
        (key, check_table(x, "others", "(out, in)", (2,))) for key, x in (others or {}).items()
    ]
    if len(compared) > 2:
        raise ValueError(
            f"others: llegaron {len(compared)} matrices; se esperaban dos, como mucho."
        )
    measured = _measured(scores or {}, most)
    unit = float(table.abs().max()) / _STEPS
    return LowrankExplorer(
        change=(table / unit).round(),
        unit=unit,
        others=tuple((key, torch.linalg.svdvals(x)) for key, x in compared),
        scores=measured,
        scored=scored,
        said=said,
        most=most,
        start=start,
        **texts,
    )


def _shares(sizes: Tensor) -> Tensor:
    squares = sizes.square().cumsum(0)
    return torch.cat([squares.new_zeros(1), squares / squares[-1]])
