"""La puerta de :mod:`atento.quantize`: matrices, capas y modelos."""

from typing import Any

from torch import Tensor, nn

from atento.amounts import require_kind
from atento.shapes import require_axis, require_floating


def rows(weight: Tensor) -> None:
    """Lanza si ``weight`` no es (rows, columns) de coma flotante y finita."""
    require_floating(weight, name="weight")
    if weight.ndim != 2 or 0 in weight.shape:
        raise ValueError(
            f"weight: se esperaba la forma (rows, columns), sin ejes vacíos; llegó "
            f"{tuple(weight.shape)}."
        )
    if not weight.isfinite().all():
        raise ValueError("weight: se esperaban números finitos; llegó algún NaN o infinito.")


def linear(self: Any, linear: nn.Linear) -> None:
    """Lanza ``TypeError`` si no llega un ``nn.Linear``."""
    require_kind(linear, nn.Linear, name="linear", wanted="un nn.Linear")


def apply(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es (…, in_features) de coma flotante."""
    require_floating(x, name="x")
    require_axis(x, -1, self.in_features, name="x", label="in_features", like="la capa")


def module(model: nn.Module) -> None:
    """Lanza ``TypeError`` si ``model`` no es un módulo."""
    require_kind(model, nn.Module, name="model", wanted="un nn.Module")
