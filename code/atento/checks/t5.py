"""La puerta de :mod:`atento.models.t5`: la configuración y las cabezas anchas."""

from collections.abc import Callable
from typing import Any

from torch import nn

from atento.amounts import require_divisible, require_probability, require_size

SIZES = ("vocab", "d_model", "n_heads", "d_ff", "n_layers", "n_buckets", "max_distance")
IDS = ("pad_id", "bos_id", "eos_id")


def fields(config: Any) -> None:
    """Lanza si un campo de ``T5Config`` no es lo que su nombre dice."""
    for name in SIZES:
        require_size(getattr(config, name), name=name)
    if config.d_head is not None:
        require_size(config.d_head, name="d_head")
    require_divisible(config.d_model, config.n_heads, name="d_model", divisor_name="n_heads")
    require_probability(config.dropout, name="dropout")
    for name in IDS:
        value = getattr(config, name)
        require_size(value, name=name, least=0)
        if value >= config.vocab:
            raise ValueError(
                f"{name}: se esperaba menor que vocab = {config.vocab}; llegó {value}."
            )
    if config.eos_id in (config.pad_id, config.bos_id):
        raise ValueError(
            f"eos_id: se esperaba otro que pad_id y bos_id; llegó {config.eos_id}, que es uno de "
            "ellos."
        )


def model(self: nn.Module, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``T5Config``."""
    if not hasattr(config, "n_buckets"):
        raise TypeError(f"config: se esperaba una T5Config; llegó {type(config).__name__}.")


def wide_attention(
    self: nn.Module,
    d_model: int,
    n_heads: int,
    d_head: int,
    *,
    dropout: float = 0.0,
    score_bias: Callable | None = None,
) -> None:
    """Lanza si ``d_head`` no es un entero positivo; lo demás lo mira ``MultiHeadAttention``."""
    require_size(d_head, name="d_head")
