"""Los avisos: lo que se hace tras un paso, sin tocar el bucle."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from atento.amounts import require_size
from atento.training.history import Callback, State


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Pone ``model`` en modo evaluación dentro de un ``with``; al salir, cada módulo en el suyo.

    ``model.train()`` no basta: despertaría los módulos que alguien dejó congelados a propósito.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def evaluate(function: Callable[[nn.Module], dict[str, float]], *, every: int) -> Callback:
    """Un aviso que cada ``every`` pasos, y en el último, evalúa ``function(model)``.

    Sin gradientes y en modo evaluación. Las métricas que devuelve quedan en ``History.metrics``.

    Errores: ``TypeError`` o ``ValueError`` si ``every`` no es un entero positivo.
    """
    require_size(every, name="every")

    def callback(state: State) -> dict[str, float] | None:
        if state.step % every and state.step != state.steps:
            return None
        with evaluating(state.model), torch.no_grad():
            return function(state.model)

    return callback
