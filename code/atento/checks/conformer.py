"""La puerta de :mod:`atento.models.conformer`: la convolución, el bloque y sus filas."""

from typing import Any

from torch import Tensor, nn

from atento.amounts import require_size
from atento.shapes import require_floating


def convolution(self: nn.Module, d_model: int, kernel_size: int) -> None:
    """Lanza si los tamaños no son enteros positivos o ``kernel_size`` es par."""
    require_size(d_model, name="d_model")
    require_size(kernel_size, name="kernel_size")
    if kernel_size % 2 == 0:
        raise ValueError(f"kernel_size: se esperaba un número impar; llegó {kernel_size}.")


def rows(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es (batch, n, d_model) de coma flotante, o si se entrena con una fila."""
    require_floating(x, name="x")
    if x.ndim != 3 or x.shape[-1] != self.d_model or 0 in x.shape:
        raise ValueError(
            f"x: se esperaba la forma (batch, n, {self.d_model}), sin ejes vacíos; llegó "
            f"{tuple(x.shape)}."
        )
    if self.norm.training and x.shape[0] * x.shape[1] == 1:
        raise ValueError(
            "x: al entrenar, la norma por lotes necesita al menos dos posiciones; llegó "
            f"{tuple(x.shape)}. Para usar el módulo ya entrenado, llama antes a eval()."
        )


def block(
    self: nn.Module,
    attention: Any,
    d_ff: int,
    kernel_size: int = 31,
    *,
    dropout: float = 0.0,
) -> None:
    """Lanza si ``attention`` no es un módulo con ``d_model``; lo demás lo miran las piezas."""
    if not isinstance(attention, nn.Module) or not hasattr(attention, "d_model"):
        raise TypeError(
            f"attention: se esperaba un módulo de atención, con d_model; llegó "
            f"{type(attention).__name__}."
        )
