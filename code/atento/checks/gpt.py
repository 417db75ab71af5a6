"""La puerta de :mod:`atento.models.gpt`: la configuración."""

from typing import Any

from torch import nn

from atento.amounts import (
    require_divisible,
    require_kind,
    require_positive,
    require_probability,
    require_size,
)

SIZES = ("vocab", "d_model", "n_heads", "d_ff", "n_layers", "max_len")


def fields(config: Any) -> None:
    """Lanza si un campo de ``GptConfig`` no es lo que su nombre dice."""
    for name in SIZES:
        require_size(getattr(config, name), name=name)
    require_divisible(config.d_model, config.n_heads, name="d_model", divisor_name="n_heads")
    require_kind(config.norm_first, bool, name="norm_first", wanted="True o False")
    for name in ("dropout", "attention_dropout"):
        require_probability(getattr(config, name), name=name)
    require_positive(config.init_std, name="init_std")
    if config.pad_id is not None:
        require_size(config.pad_id, name="pad_id", least=0)
        if config.pad_id >= config.vocab:
            raise ValueError(
                f"pad_id: se esperaba menor que vocab = {config.vocab}; llegó {config.pad_id}."
            )


def model(self: nn.Module, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``GptConfig``."""
    if not hasattr(config, "norm_first") or not hasattr(config, "init_std"):
        raise TypeError(f"config: se esperaba una GptConfig; llegó {type(config).__name__}.")
