"""Lo común a las tareas de respuesta exacta: sortear, rellenar, escribir y puntuar.

Un modelo es aquí lo que sabe dar un paso —``encode(source)`` da el estado y ``step(ids, state)``,
las puntuaciones y el estado nuevo—, o una función de números ``(batch, source)`` a
``(batch, target)``. De las tareas no sabe nada.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from atento.amounts import require_size
from atento.decoding import greedy
from atento.device import require_device
from atento.rng import generator
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID, PAD_ID, Batch
from atento.training import evaluating

MARGIN = 2
"""Lo que se deja escribir de más a un modelo: si no sabe parar, que se vea."""

SPLITS = ("train", "test")
"""Las dos partes de una tarea: lo que se entrena y lo que se reserva para probar."""

Mark = tuple[bool, int, int]
"""Si una respuesta es idéntica a la pedida, cuántos sitios acierta y cuántos había."""


def write(
    model: Any,
    examples: Sequence[Any],
    batch: Callable[[Sequence[Any]], Batch],
    *,
    size: Callable[[Any], int] = len,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> list[list[int]]:
    """Lo que ``model`` escribe ante cada ejemplo, hasta el fin, que va incluido si lo escribió.

    Los ejemplos se reparten en lotes por su tamaño, ``size(example)``, y ``batch`` los convierte en
    números. Un modelo que da pasos escribe con :func:`atento.decoding.greedy`, con ``MARGIN``
    símbolos de más sobre la respuesta más larga de su lote; del destino no ve otra cosa.

    Errores: ``TypeError`` si ``model`` no es lo que se dice arriba; ``ValueError`` si no hay
    ejemplos, no existe ``device``, ``batch_size`` no es positivo o el modelo no devuelve una fila
    por ejemplo.
    """
    require_examples(examples)
    require_size(batch_size, name="batch_size")
    where, writer = require_device(device), _writer(model)
    order = sorted(range(len(examples)), key=lambda i: size(examples[i]))
    outputs: list[list[int]] = [[] for _ in examples]
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        lot = batch([examples[i] for i in chosen]).to(where)
        ids = writer(lot.source, lot.labels.shape[1] + MARGIN)
        for i, row in zip(chosen, _require_rows(ids, len(chosen)), strict=True):
            outputs[i] = row[: row.index(EOS_ID) + 1] if EOS_ID in row else row
    return outputs


def mark(written: Sequence[int], wanted: Sequence[int]) -> Mark:
    """Si son idénticas, cuántos sitios acierta y cuántos había."""
    hits = sum(a == b for a, b in zip(written, wanted, strict=False))
    return list(written) == list(wanted), hits, len(wanted)


def means(marks: Iterable[Mark]) -> dict[str, float]:
    """``exact``, proporción de idénticas; ``token``, de sitios acertados; ``n``, cuántas.

    Errores: ``ValueError`` si no hay ninguna.
    """
    marks = [*marks]
    if not marks:
        raise ValueError("marks: no llegó ninguna; se esperaba al menos una.")
    exact, hits, places = ([*column] for column in zip(*marks, strict=True))
    token = sum(hits) / sum(places)
    return {"exact": sum(exact) / len(exact), "token": token, "n": len(exact)}


def means_by(keys: Iterable[Hashable], marks: Iterable[Mark]) -> dict[Any, dict[str, float]]:
    """Las de :func:`means`, por separado para cada clave, en orden."""
    groups: dict[Any, list[Mark]] = {}
    for key, one in zip(keys, marks, strict=True):
        groups.setdefault(key, []).append(one)
    return {key: means(groups[key]) for key in sorted(groups)}


def draw(options: int, n: int, source: torch.Generator) -> Int[Tensor, " n"]:
    """``n`` enteros de 0 a ``options - 1``, en la CPU."""
    return torch.randint(options, (n,), generator=source, device=source.device).cpu()


def pad(rows: Sequence[Sequence[int]]) -> Int[Tensor, "batch length"]:
    """Las filas, con relleno al final hasta la más larga.

    Errores: ``ValueError`` si no hay ninguna.
    """
    if not rows:
        raise ValueError("rows: no llegó ninguna fila; se esperaba al menos una.")
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PAD_ID] * (width - len(row))] for row in rows])


def _writer(model: Any) -> Callable[[Tensor, int], Tensor]:
    """La función que escribe un lote entero, de ``max_length`` símbolos como mucho."""
    if hasattr(model, "encode") and hasattr(model, "step"):
        return lambda source, max_length: _write(model, source, max_length)
    if not callable(model):
        raise TypeError(
            f"model: se esperaba un modelo con encode y step, o una función; llegó "
            f"{type(model).__name__}."
        )
    return lambda source, _: model(source)


def _write(model: Any, source: Tensor, max_length: int) -> Tensor:
    """Escribe un lote con :func:`greedy`, en modo de evaluación si el modelo lo tiene."""
    begin = getattr(model, "start", lambda encoded: encoded)
    with evaluating(model) if isinstance(model, nn.Module) else nullcontext():
        return greedy(
            model.step,
            source.new_full((source.shape[0], 1), BOS_ID),
            eos_id=EOS_ID,
            pad_id=PAD_ID,
            max_length=max_length,
            state=lambda: begin(model.encode(source)),
        )


# --- Las puertas ----------------------------------------------------------------------------------


def require_options(
    value: int | Iterable[int], *, name: str, least: int = 1, most: int | None = None
) -> tuple[int, ...]:
    """Las opciones de un número o de varios; lanza ``ValueError`` si alguna no cabe."""
    options = tuple(value) if isinstance(value, Iterable) else (value,)
    whole = all(isinstance(x, int) and not isinstance(x, bool) and x >= least for x in options)
    if not options or not whole or (most is not None and max(options) > most):
        limits = "enteros positivos" if most is None else f"enteros de {least} a {most}"
        raise ValueError(f"{name}: se esperaban {limits}; llegó {value!r}.")
    return options


def require_split(split: str) -> str:
    """Lanza ``ValueError`` si ``split`` no es una de ``SPLITS``."""
    if split not in SPLITS:
        raise ValueError(f"split: se esperaba uno de {', '.join(SPLITS)}; llegó {split!r}.")
    return split


def require_rng(rng: torch.Generator | int) -> torch.Generator:
    """El generador, o uno con esa semilla; lanza ``TypeError`` si no es ninguno de los dos."""
    if isinstance(rng, torch.Generator):
        return rng
    if isinstance(rng, int) and not isinstance(rng, bool):
        return generator(rng)
    raise TypeError(f"rng: se esperaba un torch.Generator o un entero; llegó {type(rng).__name__}.")


def require_examples(examples: Sequence[Any]) -> None:
    """Lanza ``ValueError`` si no es una secuencia con algún ejemplo."""
    if not isinstance(examples, Sequence) or not examples:
        raise ValueError(f"examples: se esperaba al menos un ejemplo; llegó {examples!r}.")


def _require_rows(ids: Any, n: int) -> list[list[int]]:
    """Las filas que escribió el modelo, una por ejemplo."""
    if not isinstance(ids, Tensor) or ids.ndim != 2 or ids.shape[0] != n:
        came = tuple(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
        raise ValueError(
            f"model: se esperaba que devolviera la forma (batch={n}, …); devolvió {came}."
        )
    return ids.tolist()
