"""Escribir una palabra detrás de otra: la mejor cada vez, o una al azar."""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from atento.checks import decoding as checks
from atento.decoding import filters
from atento.decoding.steps import Step, Stop, advance, ended, select


@torch.no_grad()
def greedy(
    step: Step,
    start: Int[Tensor, "batch start"],
    *,
    eos_id: int,
    max_length: int,
    pad_id: int = 0,
    state: Any = None,
    stop: Stop | None = None,
) -> Int[Tensor, "batch length"]:
    """Elige en cada paso la palabra de mayor puntuación, hasta el fin de frase o ``max_length``.

    ``start``: comienzo de cada secuencia (batch, start), con start ≥ 1; ``state``: estado inicial
    de ``step``, o una función sin argumentos que lo calcula (dentro de ``no_grad``). Devuelve solo
    lo generado, (batch, length): cada fila acaba en ``eos_id``, o donde ``stop(written)``, que
    recibe lo generado (rows, length), diga que sí, (rows,); después lleva ``pad_id``. length ≤
    ``max_length``.

    Errores: ``TypeError`` si ``start`` no es de enteros, ``step`` no es una función que devuelve
    una pareja o ``stop`` no da booleanos; ``ValueError`` si ``start`` no tiene forma (batch, start)
    con start ≥ 1, si ``max_length`` < 1, o si las puntuaciones de ``step`` no son (batch, vocab),
    llevan NaN o ``+inf``, o prohíben todas las palabras.
    """
    checks.start(step, start, eos_id, max_length, pad_id, stop)

    def best(logits: Tensor, t: int) -> Tensor:
        return logits.argmax(dim=-1)  # (batch,)

    return _write(step, start, best, 1, eos_id, max_length, pad_id, state, stop)


@torch.no_grad()
def sample(
    step: Step,
    start: Int[Tensor, "batch start"],
    *,
    eos_id: int,
    max_length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    n_samples: int | None = None,
    generator: torch.Generator | None = None,
    pad_id: int = 0,
    state: Any = None,
    stop: Stop | None = None,
) -> Int[Tensor, "batch *samples length"]:
    """Sortea cada palabra con su probabilidad, después de los filtros que se pidan.

    Los filtros son los de ``atento.decoding.filters``, en el orden de los argumentos. Con
    ``n_samples`` escribe ese número de continuaciones de cada comienzo, que se lee una sola vez, y
    devuelve (batch, n_samples, length). Los números al azar, uno por palabra, se piden todos al
    empezar: los de una fila no dependen de lo que se escriba en las demás ni, en la CPU, de cuántas
    vengan detrás. Lo demás, como en :func:`greedy`.

    Errores: los de :func:`greedy`; los de cada filtro; ``TypeError`` o ``ValueError`` si
    ``n_samples`` < 1 o ``generator`` no es de PyTorch o está en otro dispositivo que ``start``.
    Fuente: Phuong y Hutter (2022), algoritmo 14.
    """
    checks.start(step, start, eos_id, max_length, pad_id, stop)
    checks.sampling(start, temperature, top_k, top_p, min_p, n_samples, generator)
    batch, copies = start.shape[0], n_samples or 1
    chain = _chain(temperature, top_k, top_p, min_p)
    dice = torch.rand(batch * copies, max_length, generator=generator, device=start.device)

    def at_random(logits: Tensor, t: int) -> Tensor:
        filtered = reduce(lambda kept, keep: keep(kept), chain, logits)
        return draw(filtered, dice[:, t])  # (batch · copies,)

    ids = _write(step, start, at_random, copies, eos_id, max_length, pad_id, state, stop)
    return ids if n_samples is None else ids.unflatten(0, (batch, n_samples))


def draw(logits: Float[Tensor, "rows vocab"], dice: Float[Tensor, " rows"]) -> Int[Tensor, " rows"]:
    """La palabra donde cae cada dado, de [0, 1), en la recta que se reparten según softmax.

    Errores: ``TypeError`` o ``ValueError`` si no hay un dado de [0, 1) por fila, o los de
    :func:`atento.decoding.with_temperature` por ``logits``.
    """
    checks.draw(logits, dice)
    wide = torch.promote_types(logits.dtype, torch.float32)
    reached = logits.softmax(dim=-1, dtype=wide).cumsum(dim=-1)  # (rows, vocab)
    mark = dice[:, None] * reached[:, -1:]  # la suma puede no ser 1 por el redondeo
    return (reached <= mark).sum(dim=-1)  # cuántas deja detrás: (rows,)


def _chain(
    temperature: float, top_k: int | None, top_p: float | None, min_p: float | None
) -> list[Callable[[Tensor], Tensor]]:
    """Los filtros que se piden, en su orden; sus argumentos ya están comprobados."""
    asked = [
        (filters.with_temperature, temperature),
        (filters.keep_top_k, top_k),
        (filters.keep_top_p, top_p),
        (filters.keep_min_p, min_p),
    ]
    return [
        partial(_unchecked, keep.unchecked, value) for keep, value in asked if value is not None
    ]


def _unchecked(keep: Callable, value: float, logits: Tensor) -> Tensor:
    return keep(logits, value)


def _write(
    step: Step,
    start: Tensor,
    choose: Callable[[Tensor, int], Tensor],
    copies: int,
    eos_id: int,
    max_length: int,
    pad_id: int,
    state: Any,
    stop: Stop | None,
) -> Int[Tensor, "rows length"]:
    """El bucle: puntuar, elegir, añadir, hasta que todas las filas acaben o no quepa más."""
    ids, n_start = start, start.shape[1]
    state = state() if callable(state) else state
    rows = torch.arange(len(start), device=start.device).repeat_interleave(copies)
    done = torch.zeros(len(rows), dtype=torch.bool, device=start.device)
    for t in range(max_length):
        if done.all():
            break
        logits, state = advance(step, ids, state)
        if t == 0 and copies > 1:  # leído el comienzo, cada copia sigue por su lado
            ids, logits, state = ids[rows], logits[rows], select(state, rows)
        word = choose(logits, t).masked_fill(done, pad_id)
        ids = torch.cat([ids, word[:, None].to(ids.dtype)], dim=1)  # (rows, n_start + t + 1)
        done = done | ended(ids[:, n_start:], eos_id, stop)
    return ids[:, n_start:]
