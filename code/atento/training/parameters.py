"""Los parámetros de un modelo: repartidos para AdamW, sin envolturas y guardados por si acaso."""

from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from atento.checks import training as checks


def parameter_groups(model: nn.Module, *, weight_decay: float = 0.01) -> list[dict[str, Any]]:
    """Los parámetros en dos grupos para AdamW: con decaimiento (matrices) y sin él (vectores).

    Los sesgos y las normalizaciones son vectores: encogerlos no evita memorizar y sí estorba. Se
    usa como ``torch.optim.AdamW(parameter_groups(model), lr=1e-3)``. Los compartidos van una vez.

    Errores: ``TypeError`` si ``model`` no es un módulo; ``ValueError`` si ``weight_decay`` es
    negativo.
    Fuente: Loshchilov y Hutter (2019), algoritmo 2; el reparto, el código de GPT-2 y sucesores.
    """
    checks.parameter_groups(model, weight_decay=weight_decay)
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


def unwrap(model: nn.Module) -> Any:
    """El modelo mismo, sin las envolturas de ``torch.compile`` y ``DistributedDataParallel``.

    Es quien tiene ``config`` y los nombres de siempre en ``state_dict``.
    """
    while True:
        inner = getattr(model, "_orig_mod", None)  # de torch.compile
        if isinstance(model, DistributedDataParallel):
            model = model.module
        elif isinstance(inner, nn.Module):
            model = inner
        else:
            return model


class LastGood:
    """Copia de los pesos que dieron la última pérdida finita."""

    def __init__(self, model: nn.Module) -> None:
        self.tensors = [*model.parameters(), *model.buffers()]
        self.copies = [tensor.detach().clone() for tensor in self.tensors]

    @torch.no_grad()
    def keep(self) -> None:
        """Se queda con los de ahora."""
        for copy, tensor in zip(self.copies, self.tensors, strict=True):
            copy.copy_(tensor)

    @torch.no_grad()
    def restore(self) -> None:
        """Vuelve a los guardados."""
        for copy, tensor in zip(self.copies, self.tensors, strict=True):
            tensor.copy_(copy)
