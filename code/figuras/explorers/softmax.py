"""El explorador de la softmax: de puntuaciones a pesos, con temperatura y escala a elegir."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from figuras.explorers.base import (
    Explorer,
    Texts,
    check_labels,
    check_table,
    number,
    static_table,
)

__all__ = ["TOLERANCE", "SoftmaxExplorer", "softmax"]

TOLERANCE = 0.005
"""Cuánto puede apartarse el peso mayor del buscado para dar la pregunta por contestada."""

_STATIC_SETTINGS = (
    ("sin escalar", 1.0, False),
    ("escalada", 1.0, True),
    ("escalada, temperatura 4", 4.0, True),
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SoftmaxExplorer(Explorer):
    """El explorador de la softmax. Se construye con :func:`softmax`.

    ``scores`` ``(query, key)`` son las puntuaciones sin escalar; ``target``, el peso mayor que se
    pide alcanzar.
    """

    kind: ClassVar[str] = "softmax"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "table", "chart")
    scores: Tensor
    keys: tuple[str, ...]
    queries: tuple[str, ...]
    d_k: int
    target: float
    title: str = "De puntuaciones a pesos"
    name: str = "softmax"

    def weights(self, row: int = 0, temperature: float = 1.0, scaled: bool = True) -> Tensor:
        """Pesos de una fila, ``(key,)`` en float64: ``softmax(scores / (temperature · √d_k))``.

        Con ``scaled=False`` no se divide entre ``√d_k``.
        """
        divisor = temperature * (math.sqrt(self.d_k) if scaled else 1.0)
        return torch.softmax(self.scores[row] / divisor, dim=-1)

    def solution(self, row: int = 0, scaled: bool = True) -> float:
        """La temperatura a la que el peso mayor de esa fila vale ``target``.

        Existe y es única: el peso mayor baja sin parar de 1 a ``1/n`` cuando sube la temperatura.
        Se busca por bisección sobre su logaritmo.
        """
        low, high = -9.0, 9.0
        for _ in range(200):
            middle = (low + high) / 2
            above = float(self.weights(row, 10**middle, scaled).max()) > self.target
            low, high = (middle, high) if above else (low, middle)
        return 10**low

    @property
    def range(self) -> tuple[float, float]:
        """Extremos del mando, en potencias de 10: de 0.1 a 10, o más si alguna fila lo necesita."""
        rows = range(len(self.queries))
        powers = [
            math.log10(self.solution(row, scaled)) for row in rows for scaled in (True, False)
        ]
        return min(-1.0, math.floor(2 * min(powers) - 0.2) / 2), max(
            1.0, math.ceil(2 * max(powers) + 0.2) / 2
        )

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "scores": self.scores.tolist(),
            "keys": self.keys,
            "queries": self.queries,
            "dK": self.d_k,
            "target": self.target,
            "tolerance": TOLERANCE,
            "range": self.range,
        }

    def static(self) -> str:
        """Los pesos de la primera consulta con tres ajustes, y la respuesta de cada fila."""
        columns = [
            self.weights(0, temperature, scaled).tolist()
            for _, temperature, scaled in _STATIC_SETTINGS
        ]
        lines = [
            [key, number(score), *(number(column[position], 3) for column in columns)]
            for position, (key, score) in enumerate(
                zip(self.keys, self.scores[0].tolist(), strict=True)
            )
        ]
        head = ["clave", "puntuación", *(label for label, _, _ in _STATIC_SETTINGS)]
        first = static_table(f"Pesos de «{self.queries[0]}» sobre cada clave", head, lines)
        solutions = [
            [query, *(f"{self.solution(row, scaled):.3g}" for scaled in (True, False))]
            for row, query in enumerate(self.queries)
        ]
        caption = f"Temperatura a la que el peso mayor vale {number(self.target)}"
        return first + static_table(caption, ["consulta", "dividiendo", "sin dividir"], solutions)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return (
            f"Explorador de la softmax: {len(self.queries)} consultas y {len(self.keys)} claves, "
            f"d_k = {self.d_k}"
        )


def softmax(
    scores: Tensor,
    keys: Sequence[str],
    *,
    d_k: int,
    queries: Sequence[str] | None = None,
    target: float = 0.9,
    **texts: Unpack[Texts],
) -> SoftmaxExplorer:
    """Devuelve el explorador de la softmax sobre puntuaciones ya calculadas, **sin escalar**.

    ``scores`` tiene forma ``(key,)`` o ``(query, key)``; ``keys`` y ``queries`` son los rótulos de
    cada clave y de cada consulta (con más de una se elige). La casilla de la página divide entre
    ``√d_k``. La pregunta es a qué temperatura el peso mayor vale ``target``; todas las filas la
    contestan, la página lo dice al llegar y ``solution(row, scaled)`` da el número.

    Errores: ``ValueError`` si los rótulos no casan con las formas, si hay puntuaciones no finitas,
    si ``d_k`` es menor que 1, si ``name`` no sirve o si alguna fila no puede alcanzar ``target``
    (por un empate en lo más alto).
    """
    table = check_table(scores, "scores", "(key,) o (query, key)", (1, 2))
    table = table.reshape(-1, table.shape[-1])
    if queries is None and len(table) > 1:
        raise ValueError(f"queries: scores tiene {len(table)} filas; hacen falta sus rótulos")
    queries = (
        ("consulta",)
        if queries is None
        else check_labels(queries, "queries", len(table), "fila de scores")
    )
    keys = check_labels(keys, "keys", table.shape[-1], "columna de scores")
    if d_k < 1:
        raise ValueError(f"d_k: llegó {d_k}; se esperaba un entero mayor o igual que 1")
    _check_target(table, queries, target)
    texts.setdefault(
        "question",
        f"¿A qué temperatura el peso mayor vale {number(target)}? Muévela hasta la raya. "
        "Después quita la división y vuelve a buscarla.",
    )
    texts.setdefault(
        "answer",
        f"Cada palabra tiene la suya, y sin dividir entre √{d_k} hace falta una temperatura"
        f" {number(math.sqrt(d_k))} veces mayor: dividir las puntuaciones y subir la temperatura"
        " son lo mismo.",
    )
    return SoftmaxExplorer(
        scores=table, keys=keys, queries=queries, d_k=int(d_k), target=float(target), **texts
    )


def _check_target(table: Tensor, queries: tuple[str, ...], target: float) -> None:
    """Que todas las filas puedan contestar: la mejor clave es una sola y ``target`` está entre
    ``1/n`` y 1.
    """
    floor = 1 / table.shape[-1]
    if not floor + 2 * TOLERANCE < target < 1 - TOLERANCE:
        raise ValueError(
            f"target: llegó {target}; con {table.shape[-1]} claves se esperaba entre"
            f" {floor:.3g} y 1"
        )
    for query, row in zip(queries, table, strict=True):
        if int((row == row.max()).sum()) > 1:
            raise ValueError(
                f"scores: la fila «{query}» empata en lo más alto; su peso mayor no llega a"
                f" {target}"
            )
