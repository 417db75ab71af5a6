"""La puerta de :mod:`atento.training`: lo que se le da a entrenar y lo que devuelve la pérdida."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from atento.amounts import require_number, require_positive, require_probability, require_size
from atento.shapes import is_readable, require_floating, require_integer


def cross_entropy(
    logits: Tensor, labels: Tensor, *, pad_id: int | None = None, smoothing: float = 0.0
) -> None:
    """Lanza si ``logits``, ``(…, vocab)``, y ``labels``, ``(…)``, no casan."""
    require_floating(logits, name="logits")
    require_integer(labels, name="labels")
    if logits.ndim == 0 or labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"labels: se esperaba una palabra por fila de logits, {tuple(logits.shape[:-1])}; "
            f"llegó {tuple(labels.shape)}."
        )
    require_probability(smoothing, name="smoothing")
    if pad_id is not None:
        require_size(pad_id, name="pad_id", least=None)
    if is_readable(labels):
        _require_known(labels if pad_id is None else labels[labels != pad_id], logits.shape[-1])


def _require_known(labels: Tensor, vocab: int) -> None:
    if not labels.numel():
        return
    lowest, highest = (int(x) for x in labels.aminmax())
    if lowest < 0 or highest >= vocab:
        came = lowest if lowest < 0 else highest
        raise ValueError(f"labels: se esperaban números entre 0 y {vocab - 1}; llegó {came}.")


def parameter_groups(model: nn.Module, *, weight_decay: float = 0.01) -> None:
    """Lanza si ``model`` no es un módulo o ``weight_decay`` es negativo."""
    _require_module(model)
    require_number(weight_decay, name="weight_decay")
    if not weight_decay >= 0:
        raise ValueError(
            f"weight_decay: se esperaba un número mayor o igual que 0; llegó {weight_decay}."
        )


def _require_module(model: nn.Module) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"model: se esperaba un nn.Module; llegó {type(model).__name__}.")


def config_of(model: nn.Module) -> Any:
    """La configuración de un modelo, también si viene en ``DistributedDataParallel``.

    Lanza ``TypeError`` si no la tiene.
    """
    inner = getattr(model, "module", model)
    if not hasattr(inner, "config"):
        raise TypeError(
            f"model: se esperaba un modelo con configuración; llegó {type(inner).__name__}."
        )
    return inner.config


def fit(
    model: nn.Module,
    loss: Callable,
    steps: int,
    seconds: float | None,
    clip: float | None,
    accumulate: int,
    weight: Callable | None,
    generators: Sequence[torch.Generator],
    schedule: Callable | None,
) -> None:
    """Lanza si algo de lo que se da a ``fit`` no es lo que su nombre dice."""
    _require_module(model)
    if not callable(loss):
        raise TypeError(
            f"loss: se esperaba una función de (model, batch); llegó {type(loss).__name__}."
        )
    require_size(steps, name="steps")
    if schedule is not None and not callable(schedule):
        raise TypeError(
            f"schedule: se esperaba una función del paso, o None; llegó {type(schedule).__name__}."
        )
    for name, value in (("seconds", seconds), ("clip", clip)):
        if value is not None:
            require_positive(value, name=name)
    require_size(accumulate, name="accumulate")
    if weight is not None and not callable(weight):
        raise TypeError(f"weight: se esperaba una función del lote; llegó {type(weight).__name__}.")
    if weight is None and accumulate > 1:
        raise ValueError(
            f"weight: con accumulate = {accumulate} se esperaba una función que diga cuánto pesa "
            "cada lote (las palabras que cuenta, no las de relleno); sin ella saldría una media de "
            "medias. Si todos pesan lo mismo: weight=lambda batch: 1."
        )
    _require_generators(generators)


def _require_generators(generators: Sequence[torch.Generator]) -> None:
    several = isinstance(generators, Sequence)
    if not several or not all(isinstance(x, torch.Generator) for x in generators):
        raise TypeError(
            f"generators: se esperaba una lista de torch.Generator; llegó {generators!r}."
        )


def weigh(weight: Callable, batch: Any) -> float:
    """Lo que pesa un lote; lanza si no es un número finito mayor o igual que 0."""
    value = weight(batch)
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if not isinstance(value, (int, float)):
        raise TypeError(
            f"weight: se esperaba que devolviera un número; devolvió {type(value).__name__}."
        )
    if not 0 <= value < math.inf:
        raise ValueError(
            f"weight: se esperaba que devolviera un número finito mayor o igual que 0; devolvió "
            f"{value}."
        )
    return float(value)


def loss_value(value: Any) -> None:
    """Lanza si lo que devuelve una pérdida no es un escalar con gradiente."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        tensor = isinstance(value, Tensor)
        came = f"un tensor de forma {tuple(value.shape)}" if tensor else type(value).__name__
        raise ValueError(
            f"loss: se esperaba que devolviera un escalar; devolvió {came}. ¿Falta un .mean()?"
        )
    if not value.requires_grad:
        raise ValueError(
            "loss: se esperaba un escalar con gradiente; devolvió uno separado del modelo. "
            "¿Sobra un .detach() o un torch.no_grad()?"
        )
