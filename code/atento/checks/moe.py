"""La puerta de :mod:`atento.moe`: el encaminador, la mezcla y lo que entra."""

from typing import Any

from torch import Tensor

from atento.amounts import require_positive, require_size
from atento.checks.layers import require_option
from atento.shapes import require_axis, require_floating


def _require_top(top_k: int, experts: int) -> None:
    require_size(top_k, name="top_k")
    if top_k > experts:
        raise ValueError(f"top_k: se esperaban como mucho los {experts} expertos; llegó {top_k}.")


def route(logits: Tensor, top_k: int, capacity: int | None = None) -> None:
    """Lanza si ``logits`` no es (token, expert), o no hay tantos expertos o sitios."""
    require_floating(logits, name="logits")
    if logits.ndim != 2 or logits.shape[1] == 0:
        raise ValueError(
            f"logits: se esperaba la forma (token, expert); llegó {tuple(logits.shape)}."
        )
    _require_top(top_k, logits.shape[1])
    if capacity is not None:
        require_size(capacity, name="capacity")


def balance(routing: Any) -> None:
    """Lanza ``TypeError`` si no llega un reparto."""
    if not hasattr(routing, "probabilities"):
        raise TypeError(
            f"routing: se esperaba el reparto que da la mezcla; llegó {type(routing).__name__}."
        )


def mixture(
    self: Any,
    d_model: int,
    d_ff: int,
    n_experts: int,
    *,
    top_k: int = 1,
    capacity_factor: float | None = None,
    activation: str = "relu",
) -> None:
    """Lanza si ``MixtureOfExperts`` no puede construirse con esos argumentos."""
    for name, value in (("d_model", d_model), ("d_ff", d_ff), ("n_experts", n_experts)):
        require_size(value, name=name)
    _require_top(top_k, n_experts)
    if capacity_factor is not None:
        require_positive(capacity_factor, name="capacity_factor")
    require_option(activation, ("relu", "gelu", "swiglu"), name="activation")


def mix(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es ``(…, d_model)`` de coma flotante."""
    require_floating(x, name="x")
    require_axis(x, -1, self.d_model, name="x", label="d_model", like="la mezcla")
