"""Las descripciones con su probabilidad exacta: una lengua pequeña de la que se sabe todo.

La gramática compone una frase con una serie de elecciones al azar. Aquí se recorren todas, una vez
cada una, en lugar de sortearlas: así se sabe qué frases existen y con qué probabilidad.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from atento.tasks.translation.clauses import Unit, description
from atento.tasks.translation.phrases import Draft, aligned
from atento.tasks.translation.sentences import Example


class Descriptions(NamedTuple):
    """Frases distintas y la probabilidad de cada una, de mayor a menor."""

    examples: tuple[Example, ...]
    probabilities: Tensor  # (n,), float64, suman 1


class _Guided(Draft):
    """Un borrador que no sortea: toma las elecciones de ``path`` y después, siempre la primera."""

    def __init__(self, path: Sequence[int], unseen: bool | None) -> None:
        super().__init__(rng=None, unseen=unseen)
        self.path, self.taken, self.probability = path, [], 1.0

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self._take([1 / len(options)] * len(options))]

    def chance(self, probability: float) -> bool:
        return self._take([probability, 1 - probability]) == 0

    def _take(self, weights: list[float]) -> int:
        """La opción que toca, entre las que pueden salir, y lo que queda por probar después."""
        possible = [i for i, weight in enumerate(weights) if weight > 0]
        i = self.path[len(self.taken)] if len(self.taken) < len(self.path) else 0
        self.taken.append((i, len(possible)))
        self.probability *= weights[possible[i]]
        return possible[i]


def _every_way(unseen: bool | None) -> Iterator[tuple[Unit | None, float]]:
    """Cada serie de elecciones, con lo que compone (``None`` si se abandona) y su probabilidad."""
    path: list[int] = []
    while True:
        draft = _Guided(path, unseen)
        yield description(draft), draft.probability
        taken = draft.taken
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return
        path = [i for i, _ in taken[:-1]] + [taken[-1][0] + 1]


@cache
def descriptions(pairs: str = "seen") -> Descriptions:
    """Todas las descripciones de una oración («la casa es blanca.») y su probabilidad exacta.

    Son las que :func:`~atento.tasks.translation.generate` sortea con ``clauses=1`` y
    ``pairs="seen"`` cuando toca describir. Una serie de elecciones que no llega a componer una
    frase se vuelve a empezar, así que las probabilidades se reparten entre las que llegan. Con
    ``pairs="all"``, también las que llevan alguna pareja nombre–adjetivo reservada.

    Errores: ``ValueError`` si ``pairs`` no es «seen» ni «all».
    """
    if pairs not in ("seen", "all"):
        raise ValueError(f"pairs: se esperaba «seen» o «all»; llegó {pairs!r}.")
    found: dict[tuple[str, ...], tuple[Example, float]] = {}
    for unit, probability in _every_way(None if pairs == "all" else False):
        if unit is None:
            continue
        phrase = unit.phrase + aligned(".", ".")
        example = Example(
            tuple(phrase.source), tuple(phrase.target), tuple(phrase.links),
            tuple(phrase.inversions), (), 1,
        )  # fmt: skip
        before = found.get(example.source, (example, 0.0))[1]
        found[example.source] = (example, before + probability)
    ordered = sorted(found.values(), key=lambda pair: -pair[1])
    mass = torch.tensor([probability for _, probability in ordered], dtype=torch.float64)
    return Descriptions(tuple(example for example, _ in ordered), mass / mass.sum())
