"""Piso 5: generar palabra a palabra con cualquier modelo que sepa dar un paso.

Un modelo es aquí una función ``step(ids, state) -> (logits, state)``: recibe todo lo generado hasta
ahora, (batch, length), y un estado suyo (el de una red recurrente, la caché de un Transformer,
``None``), y devuelve las puntuaciones de la palabra siguiente, (batch, vocab), y el estado nuevo.
Un modelo recurrente solo mira la última columna de ``ids``.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from atento.numbers import require_size
from atento.shapes import require_integer, require_tensor

Step = Callable[[Tensor, Any], tuple[Tensor, Any]]


@torch.no_grad()
def greedy(
    step: Step,
    start: Int[Tensor, "batch start"],
    *,
    eos_id: int,
    max_length: int,
    pad_id: int = 0,
    state: Any = None,
) -> Int[Tensor, "batch length"]:
    """Elige en cada paso la palabra de mayor puntuación, hasta el fin de frase o ``max_length``.

    ``start``: comienzo de cada secuencia (batch, start), con start ≥ 1; ``state``: estado inicial
    de ``step``, o una función sin argumentos que lo calcula (dentro de ``no_grad``). Devuelve solo
    lo generado, (batch, length): cada fila acaba en ``eos_id`` si llegó a él, y después lleva
    ``pad_id``; length ≤ ``max_length``.

    Errores: ``TypeError`` si ``start`` no es de enteros o ``step`` no es una función que devuelve
    una pareja; ``ValueError`` si ``start`` no tiene forma (batch, start) con start ≥ 1, si
    ``max_length`` < 1 o si ``step`` no devuelve puntuaciones (batch, vocab) sin NaN.
    """
    require_integer(start, name="start")
    require_size(max_length, name="max_length")
    require_size(eos_id, name="eos_id", least=None)
    require_size(pad_id, name="pad_id", least=None)
    if not callable(step):
        raise TypeError(f"step: se esperaba una función; llegó {type(step).__name__}.")
    if start.ndim != 2 or start.shape[1] == 0:
        raise ValueError(
            f"start: se esperaba la forma (batch, start) con start ≥ 1; llegó {tuple(start.shape)}."
        )
    state = state() if callable(state) else state
    ids, n_start = start, start.shape[1]
    done = torch.zeros(start.shape[0], dtype=torch.bool, device=start.device)
    while not done.all() and ids.shape[1] < n_start + max_length:
        logits, state = _require_step(step(ids, state), start.shape[0])
        best = logits.argmax(-1).masked_fill(done, pad_id)
        ids = torch.cat([ids, best[:, None].to(ids.dtype)], dim=1)
        done = done | (best == eos_id)
    return ids[:, n_start:]


def _require_step(result: Any, batch: int) -> tuple[Float[Tensor, "batch vocab"], Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            "step: se esperaba que devolviera la pareja (logits, state); devolvió "
            f"{type(result).__name__}."
        )
    logits, _ = result
    require_tensor(logits, name="logits")
    if logits.ndim != 2 or logits.shape[0] != batch or logits.shape[1] == 0:
        raise ValueError(
            f"logits: se esperaba que step devolviera la forma (batch={batch}, vocab); devolvió "
            f"{tuple(logits.shape)}."
        )
    if logits.isnan().any():
        raise ValueError(
            "logits: se esperaban números y step devolvió NaN; el modelo no está entrenado o "
            "divergió, y no hay palabra mejor."
        )
    return result
