"""Las frases enteras: unir oraciones y generar ejemplos con una semilla."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from atento.amounts import require_size
from atento.tasks.translation.clauses import Unit, action, because, contrast, description
from atento.tasks.translation.lexicon import is_held_out
from atento.tasks.translation.phrases import Draft, Phrase, aligned

MAX_CLAUSES = 4


def _join(draft: Draft, units: list[Unit]) -> Phrase:
    """Une las oraciones con comas, «y» o «mientras»."""
    first, last = units[0], units[-1]
    if first is last:
        return first.phrase
    together = units[-2].action and last.action and not last.negated and draft.chance(0.5)
    links = [aligned(",", ",")] * (len(units) - 3) + [aligned("y", "and")] * (len(units) > 2)
    links = (
        links + [aligned("mientras", "while")]
        if together
        else [aligned(",", ",")] * (len(units) - 2) + [aligned("y", "and")]
    )
    phrase = first.phrase
    for link, unit in zip(links, units[1:], strict=True):
        phrase = phrase + link + unit.phrase
    return phrase


@dataclass(frozen=True)
class Example:
    """Una frase y su traducción, en palabras; ``alignment[t]`` es la palabra española de la inglesa
    ``t`` (−1: ninguna).

    ``inversions`` lista las parejas (adjetivo, nombre) de posiciones inglesas cuyo orden es el
    contrario en español; ``pairs``, los lemas nombre–adjetivo; ``clauses``, el número de verbos
    conjugados.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[int, ...]
    inversions: tuple[tuple[int, int], ...]
    pairs: tuple[tuple[str, str], ...]
    clauses: int

    def __str__(self) -> str:
        return f"{detokenize(self.source)} → {detokenize(self.target)}"


def detokenize(words: Iterable[str]) -> str:
    """Texto corrido con mayúscula inicial y la puntuación pegada a la palabra anterior."""
    text = " ".join(words).replace(" ,", ",").replace(" .", ".")
    return text[:1].upper() + text[1:]


def _attempt(rng: random.Random, clauses: int, unseen: bool) -> Example | None:
    draft = Draft(rng, unseen)
    units: list[Unit] = []
    left = clauses
    actions = draft.chance(0.7)
    while left:
        if left >= 2 and draft.chance(0.25):
            unit = because(draft) if actions or left > 2 else contrast(draft)
        else:
            unit = action(draft) if actions else description(draft)
        if unit is None:
            return None
        units.append(unit)
        left -= unit.clauses
    if unseen and not any(is_held_out(*pair) for pair in draft.pairs):
        return None
    phrase = _join(draft, units) + aligned(".", ".")
    return Example(
        tuple(phrase.source),
        tuple(phrase.target),
        tuple(phrase.links),
        tuple(phrase.inversions),
        tuple(draft.pairs),
        clauses,
    )


def python_rng(rng: torch.Generator | int) -> random.Random:
    """Un generador de Python sembrado con un entero sacado de ``rng``.

    Componer frases con él es mucho más rápido.

    Errores: ``TypeError`` si ``rng`` no es un generador ni un entero.
    """
    if isinstance(rng, int) and not isinstance(rng, bool):
        return random.Random(rng)
    if isinstance(rng, torch.Generator):
        return random.Random(int(torch.randint(2**62, (), generator=rng, device=rng.device)))
    raise TypeError(f"rng: se esperaba un torch.Generator o un entero; llegó {type(rng).__name__}.")


def check_request(n: int, clauses: int | Sequence[int], split: str) -> tuple[int, ...]:
    """Las opciones de número de oraciones, ya comprobado lo que se pide."""
    require_size(n, name="n", least=0)
    choices = tuple(clauses) if isinstance(clauses, Iterable) else (clauses,)
    if not choices or not all(isinstance(c, int) and 1 <= c <= MAX_CLAUSES for c in choices):
        raise ValueError(f"clauses: se esperaban enteros de 1 a {MAX_CLAUSES}; llegó {clauses!r}.")
    if split not in ("seen", "unseen"):
        raise ValueError(f"pairs: se esperaba «seen» o «unseen»; llegó {split!r}.")
    return choices


def generate(
    n: int,
    rng: torch.Generator | int,
    *,
    clauses: int | Sequence[int] = (1, 2, 3, 4),
    pairs: str = "seen",
) -> list[Example]:
    """Genera ``n`` ejemplos; con la misma semilla, los mismos.

    ``clauses`` es el número de oraciones o las opciones entre las que se sortea (de 1 a 4).
    ``pairs="seen"`` no usa ninguna pareja nombre–adjetivo reservada; ``pairs="unseen"`` pone al
    menos una en cada frase.

    Errores: ``ValueError`` si ``n``, ``clauses`` o ``pairs`` no valen; ``TypeError`` si ``rng`` no
    es un generador ni un entero.
    """
    choices, source = check_request(n, clauses, pairs), python_rng(rng)
    examples = []
    while len(examples) < n:
        wanted = choices[int(source.random() * len(choices))]
        example = None
        while example is None:
            example = _attempt(source, wanted, pairs == "unseen")
        examples.append(example)
    return examples
