"""De palabras a números: los dos vocabularios cerrados y los lotes con relleno."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from atento.amounts import require_kind, require_size
from atento.device import require_device
from atento.tasks.translation.lexicon import (
    ADJECTIVES,
    ESTAR,
    FEELINGS,
    NOUNS,
    SER,
    TENER,
    VERBS,
)
from atento.tasks.translation.sentences import Example, check_request, generate, python_rng

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"
PAD_ID, BOS_ID, EOS_ID = 0, 1, 2


class Vocabulary:
    """Vocabulario cerrado: palabras ↔ números. Los tres primeros son relleno, comienzo y fin.

    Errores: ``TypeError`` si ``words`` no es una lista de palabras.
    """

    def __init__(self, words: Iterable[str]) -> None:
        require_kind(words, Iterable, name="words", wanted="una lista de palabras")
        self.words = (PAD, BOS, EOS, *sorted(set(words)))
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str] | str) -> list[int]:
        """Números de las palabras, que son una lista o un texto con espacios.

        Errores: ``TypeError`` si no es ninguna de las dos cosas; ``ValueError`` si alguna palabra
        no está en el vocabulario.
        """
        if not isinstance(words, Iterable):
            raise TypeError(
                f"words: se esperaba un texto o una lista de palabras; llegó "
                f"{type(words).__name__}."
            )
        words = words.split() if isinstance(words, str) else words
        unknown = [word for word in words if word not in self._ids]
        if unknown:
            raise ValueError(
                f"words: se esperaban palabras del vocabulario; no están en él: "
                f"{', '.join(map(repr, unknown))}."
            )
        return [self._ids[word] for word in words]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Palabras de unos números, hasta el primer fin de frase y sin relleno ni comienzo.

        Errores: ``TypeError`` si ``ids`` no es una fila de enteros; ``ValueError`` si alguno no
        está en el vocabulario.
        """
        words = []
        for i in _numbers(ids):
            if not 0 <= i < len(self):
                raise ValueError(f"ids: se esperaban números de 0 a {len(self) - 1}; llegó {i}.")
            if i == EOS_ID:
                break
            if i not in (PAD_ID, BOS_ID):
                words.append(self.words[i])
        return words


def _numbers(ids: Iterable[int]) -> list[int]:
    """Los enteros de una fila, sea una lista o un tensor de un eje."""
    if isinstance(ids, Tensor):
        ids = ids.tolist()
    row = list(ids) if isinstance(ids, Iterable) else [ids]
    strange = next((i for i in row if isinstance(i, bool) or not hasattr(i, "__index__")), None)
    if not isinstance(ids, Iterable) or strange is not None:
        came = type(ids if strange is None else strange).__name__
        raise TypeError(f"ids: se esperaba una fila de enteros; llegó {came}.")
    return [int(i) for i in row]


def _closed_class() -> tuple[list[str], list[str]]:
    source = """no a al en y mientras porque pero , . el la los las un una unos unas este esta
        estos estas mi mis nuestro nuestra nuestros nuestras yo tú él ella nosotros nosotras
        ellos ellas"""
    target = """not do does in on and while because but , . the a an some this these my our
        I you he she it we they am is are"""
    feelings = [word for words in FEELINGS.values() for word in words]
    return [*source.split(), *SER, *ESTAR, *TENER, *FEELINGS], [*target.split(), *feelings]


@cache
def vocabularies() -> tuple[Vocabulary, Vocabulary]:
    """Los dos vocabularios cerrados (español, inglés) de la gramática entera."""
    source, target = _closed_class()
    for noun in NOUNS:
        source += noun.source
        target += noun.target
    for adjective in ADJECTIVES:
        source += adjective.forms
        target.append(adjective.target)
    for verb in VERBS:
        source += verb.forms
        target += verb.base.split() + verb.third.split()
    return Vocabulary(source), Vocabulary(target)


class Batch(NamedTuple):
    """Un lote de números, con relleno 0 al final.

    ``source`` (batch, source) acaba en fin; ``target`` (batch, target) empieza en comienzo y acaba
    en fin.
    """

    source: Tensor
    target: Tensor

    @property
    def inputs(self) -> Int[Tensor, "batch target"]:
        """Lo que recibe el decodificador: ``target`` sin su última columna."""
        return self.target[:, :-1]

    @property
    def labels(self) -> Int[Tensor, "batch target"]:
        """Lo que debe predecir: ``target`` sin su primera columna."""
        return self.target[:, 1:]

    def to(self, device: torch.device | str) -> Batch:
        """El mismo lote en otro dispositivo.

        Errores: ``ValueError`` si no existe ``device``.
        """
        where = require_device(device)
        return Batch(self.source.to(where), self.target.to(where))


def _pad(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [PAD_ID] * (width - len(row)) for row in rows])


def batch(examples: Sequence[Example]) -> Batch:
    """Convierte ejemplos en un :class:`Batch`.

    Errores: ``ValueError`` si no hay ninguno.
    """
    if not examples:
        raise ValueError(
            "examples: se esperaba al menos un ejemplo para el lote; no llegó ninguno."
        )
    source, target = vocabularies()
    return Batch(
        _pad([[*source.encode(e.source), EOS_ID] for e in examples]),
        _pad([[BOS_ID, *target.encode(e.target), EOS_ID] for e in examples]),
    )


def batches(
    n: int,
    size: int,
    rng: torch.Generator | int,
    *,
    clauses: Sequence[int] = (1, 2, 3, 4),
    pairs: str = "seen",
) -> list[Batch]:
    """``n`` lotes de ``size`` ejemplos, cada uno con un solo número de oraciones.

    Así se gasta poco relleno. Los números de oraciones se turnan en el orden dado.

    Errores: los de :func:`generate`, y los mismos si ``size`` no es un entero positivo.
    """
    require_size(size, name="size")
    choices, source = check_request(n, clauses, pairs), python_rng(rng)
    lots = []
    for i in range(n):
        seed, wanted = source.getrandbits(60), choices[i % len(choices)]
        lots.append(batch(generate(size, seed, clauses=wanted, pairs=pairs)))
    return lots
