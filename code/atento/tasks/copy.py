"""Copiar una secuencia: la tarea que solo exige saber dónde está cada cosa.

Los símbolos se sortean, así que ninguno se adivina por los de al lado: para escribir el que toca
hay que mirar a su sitio en la entrada. Por eso mide qué sabe de posiciones un modelo, y si lo sabe
más allá de las longitudes con que aprendió.

El vocabulario tiene ``VOCAB_SIZE`` = 20 números: relleno, comienzo, fin y 17 símbolos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from atento.decoding import greedy
from atento.device import require_device
from atento.numbers import require_size
from atento.rng import generator
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID, PAD_ID, Batch
from atento.training import evaluating

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
MARGIN = 2
"""Lo que se deja escribir de más a un modelo: si no sabe parar, que se vea."""

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
    options, source = _require_lengths(lengths), _require_rng(rng)
    sizes = torch.tensor(options)[_draw(len(options), n, source)].tolist()
    symbols = (_draw(VOCAB_SIZE - FIRST_SYMBOL, sum(sizes), source) + FIRST_SYMBOL).split(sizes)
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
        _pad([[*example, EOS_ID] for example in examples]),
        _pad([[BOS_ID, *example, EOS_ID] for example in examples]),
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
    options, source = _require_lengths(lengths), _require_rng(rng)
    chosen = [options[i] for i in _draw(len(options), n, source).tolist()]
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
    require_size(batch_size, name="batch_size")
    where, write = require_device(device), _writer(model)
    order = sorted(range(len(examples)), key=lambda i: len(examples[i]))
    outputs: list[list[int]] = [[] for _ in examples]
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        ids = write(batch([examples[i] for i in chosen]).source.to(where))
        for i, row in zip(chosen, _require_rows(ids, len(chosen)), strict=True):
            outputs[i] = row[: row.index(EOS_ID) + 1] if EOS_ID in row else row
    return outputs


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
    marks: dict[int, list[tuple[bool, int, int]]] = {}
    for written, example in zip(outputs, examples, strict=True):
        marks.setdefault(len(example), []).append(_mark(written, [*example, EOS_ID]))
    by_length = {length: _means(marks[length]) for length in sorted(marks)}
    return {**_means([mark for row in marks.values() for mark in row]), "by_length": by_length}


def _mark(written: list[int], wanted: list[int]) -> tuple[bool, int, int]:
    """Si son idénticas, cuántos sitios acierta y cuántos había."""
    hits = sum(a == b for a, b in zip(written, wanted, strict=False))
    return written == wanted, hits, len(wanted)


def _means(marks: list[tuple[bool, int, int]]) -> dict[str, float]:
    exact, hits, places = (sum(column) for column in zip(*marks, strict=True))
    return {"exact": exact / len(marks), "token": hits / places, "n": len(marks)}


def _writer(model: Any) -> Callable[[Tensor], Tensor]:
    """La función que escribe un lote entero."""
    if hasattr(model, "encode") and hasattr(model, "step"):
        return lambda source: _write(model, source)
    if not callable(model):
        raise TypeError(
            f"model: se esperaba un modelo con encode y step, o una función; llegó "
            f"{type(model).__name__}."
        )
    return model


def _write(model: Any, source: Tensor) -> Tensor:
    """Escribe un lote con :func:`greedy`, en modo de evaluación si el modelo lo tiene."""
    with evaluating(model) if isinstance(model, nn.Module) else nullcontext():
        return greedy(
            model.step,
            source.new_full((source.shape[0], 1), BOS_ID),
            eos_id=EOS_ID,
            pad_id=PAD_ID,
            max_length=source.shape[1] + MARGIN,
            state=lambda: model.encode(source),
        )


def _draw(options: int, n: int, source: torch.Generator) -> Int[Tensor, " n"]:
    return torch.randint(options, (n,), generator=source, device=source.device).cpu()


def _pad(rows: list[list[int]]) -> Int[Tensor, "batch length"]:
    width = max(map(len, rows))
    return torch.tensor([row + [PAD_ID] * (width - len(row)) for row in rows])


# --- Las puertas ----------------------------------------------------------------------------------


def _require_lengths(lengths: int | Sequence[int]) -> tuple[int, ...]:
    options = tuple(lengths) if isinstance(lengths, Iterable) else (lengths,)
    whole = all(isinstance(x, int) and not isinstance(x, bool) and x >= 1 for x in options)
    if not options or not whole:
        raise ValueError(f"lengths: se esperaban enteros positivos; llegó {lengths!r}.")
    return options


def _require_rng(rng: torch.Generator | int) -> torch.Generator:
    if isinstance(rng, torch.Generator):
        return rng
    if isinstance(rng, int) and not isinstance(rng, bool):
        return generator(rng)
    raise TypeError(f"rng: se esperaba un torch.Generator o un entero; llegó {type(rng).__name__}.")


def _require_examples(examples: Sequence[Example]) -> None:
    if not isinstance(examples, Sequence) or not examples:
        raise ValueError(f"examples: se esperaba al menos un ejemplo; llegó {examples!r}.")
    for example in examples:
        strange = [x for x in example if not FIRST_SYMBOL <= x < VOCAB_SIZE]
        if strange or not example:
            raise ValueError(
                f"examples: se esperaban símbolos de {FIRST_SYMBOL} a {VOCAB_SIZE - 1}; llegó "
                f"{example!r}."
            )


def _require_rows(ids: Any, n: int) -> list[list[int]]:
    """Las filas que escribió el modelo, una por ejemplo."""
    if not isinstance(ids, Tensor) or ids.ndim != 2 or ids.shape[0] != n:
        came = tuple(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
        raise ValueError(
            f"model: se esperaba que devolviera la forma (batch={n}, …); devolvió {came}."
        )
    return ids.tolist()
