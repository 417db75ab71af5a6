"""Copiar una secuencia: la tarea más corta en que importa el orden.

Los símbolos se sortean, así que ninguno se adivina por los ya escritos. Para escribir el que toca
hay que encontrarlo en la entrada: por su sitio, o por el trozo que lo precede mientras no se
repita. Por eso mide qué sabe de posiciones un modelo, y si lo sabe más allá de las longitudes con
que aprendió.

El vocabulario tiene ``VOCAB_SIZE`` = 20 números: relleno, comienzo, fin y 17 símbolos.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from atento.amounts import require_size
from atento.tasks import writing
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID, PAD_ID, Batch
from atento.tasks.writing import MARGIN

__all__ = [
    "BOS_ID",
    "EOS_ID",
    "FIRST_SYMBOL",
    "MARGIN",
    "PAD_ID",
    "VOCAB_SIZE",
    "Example",
    "batch",
    "batches",
    "copies",
    "generate",
    "score",
]

VOCAB_SIZE = 20
FIRST_SYMBOL = EOS_ID + 1
Example = tuple[int, ...]
"""Un ejemplo: los símbolos que hay que copiar, de ``FIRST_SYMBOL`` a ``VOCAB_SIZE - 1``."""


def generate(
    n: int, rng: torch.Generator | int, *, lengths: int | Sequence[int] = range(10, 21)
) -> list[Example]:
    """Genera ``n`` ejemplos; con la misma semilla, los mismos.

    ``lengths`` es la longitud o las opciones entre las que se sortea la de cada uno.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0, si ``lengths`` no son
    enteros positivos o si ``rng`` no es un generador ni un entero.
    """
    require_size(n, name="n", least=0)
    options = writing.require_options(lengths, name="lengths")
    source = writing.require_rng(rng)
    sizes = torch.tensor(options)[writing.draw(len(options), n, source)].tolist()
    symbols = writing.draw(VOCAB_SIZE - FIRST_SYMBOL, sum(sizes), source) + FIRST_SYMBOL
    symbols = symbols.split(sizes)
    return [tuple(row.tolist()) for row in symbols]


def batch(examples: Sequence[Example]) -> Batch:
    """Convierte ejemplos en un lote de números, con relleno al final.

    ``source``, ``(batch, source)``, son los símbolos y el fin; ``target``, ``(batch, target)``,
    además empieza por el comienzo; ``inputs`` y ``labels`` son ``target`` sin la última y sin la
    primera columna.

    Errores: ``ValueError`` si no hay ejemplos o alguno tiene un número que no es un símbolo.
    """
    _require_examples(examples)
    return Batch(
        writing.pad([[*example, EOS_ID] for example in examples]),
        writing.pad([[BOS_ID, *example, EOS_ID] for example in examples]),
    )


def batches(
    n: int,
    size: int,
    rng: torch.Generator | int,
    *,
    lengths: int | Sequence[int] = range(10, 21),
) -> list[Batch]:
    """``n`` lotes de ``size`` ejemplos, cada uno de una sola longitud, que se sortea.

    Así no se gasta nada en relleno.

    Errores: los de :func:`generate`, y los mismos si ``size`` no es un entero positivo.
    """
    require_size(n, name="n", least=0)
    require_size(size, name="size")
    options = writing.require_options(lengths, name="lengths")
    source = writing.require_rng(rng)
    chosen = [options[i] for i in writing.draw(len(options), n, source).tolist()]
    return [batch(generate(size, source, lengths=length)) for length in chosen]


def copies(
    model: Any,
    examples: Sequence[Example],
    *,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> list[list[int]]:
    """Lo que ``model`` escribe ante cada ejemplo, hasta el fin, que va incluido si lo escribió.

    ``model`` sabe dar un paso —``encode(source)`` da el estado y ``step(ids, state)``, las
    puntuaciones y el estado nuevo—, y entonces escribe :func:`atento.decoding.greedy`, con
    ``MARGIN`` símbolos de más por si no para; o es una función, de números ``(batch, source)``
    a ``(batch, target)``. Los ejemplos se reparten en lotes por longitudes.

    Errores: ``TypeError`` si ``model`` no es ninguna de las dos cosas; ``ValueError`` si no hay
    ejemplos, no existe ``device`` o ``batch_size`` no es positivo.
    """
    _require_examples(examples)
    return writing.write(model, examples, batch, batch_size=batch_size, device=device)


def score(
    model: Any,
    examples: Sequence[Example],
    *,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Puntúa las copias de ``model``, que es lo que acepta :func:`copies`, sin ayuda al escribir.

    ``exact`` es la proporción de secuencias idénticas; ``token``, la de sitios acertados, contando
    el del fin: quien no para, o para antes, lo falla. ``by_length`` da lo mismo, con su ``n``, por
    longitud.

    Errores: los de :func:`copies`.
    """
    outputs = copies(model, examples, batch_size=batch_size, device=device)
    marks = [
        writing.mark(written, [*example, EOS_ID])
        for written, example in zip(outputs, examples, strict=True)
    ]
    return {**writing.means(marks), "by_length": writing.means_by(map(len, examples), marks)}


# --- Las puertas ----------------------------------------------------------------------------------


def _require_examples(examples: Sequence[Example]) -> None:
    if not isinstance(examples, Sequence) or not examples:
        raise ValueError(f"examples: se esperaba al menos un ejemplo; llegó {examples!r}.")
    for example in examples:
        plain = isinstance(example, Sequence) and not isinstance(example, str)
        strange = not plain or [x for x in example if not FIRST_SYMBOL <= x < VOCAB_SIZE]
        if strange or not example:
            raise ValueError(
                f"examples: se esperaban símbolos de {FIRST_SYMBOL} a {VOCAB_SIZE - 1}; llegó "
                f"{example!r}."
            )
