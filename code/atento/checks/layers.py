"""La puerta de :mod:`atento.layers`: normas, red densa, residuales y embeddings."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from atento.amounts import require_positive, require_probability, require_size
from atento.checks.positions import require_places
from atento.shapes import (
    is_readable,
    require_axis,
    require_floating,
    require_integer,
    require_same_kind,
)

# --- Por posición ---------------------------------------------------------------------------------


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> None:
    """Lanza si ``weight`` o ``bias`` no miden lo que el último eje de ``x``."""
    rms_norm(x, weight, eps)
    _require_vector(bias, x, name="bias")


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> None:
    """Lanza si ``weight`` no mide lo que el último eje de ``x`` o ``eps`` no es positivo."""
    _require_last_axis(x)
    _require_vector(weight, x, name="weight")
    require_positive(eps, name="eps")


def _require_vector(value: Tensor, x: Tensor, *, name: str) -> None:
    require_floating(value, name=name)
    if value.shape != x.shape[-1:]:
        raise ValueError(
            f"{name}: se esperaba la forma (d_model,) = {tuple(x.shape[-1:])}, según x; llegó "
            f"{tuple(value.shape)}."
        )
    require_same_kind(value, x, name=name, reference_name="x")


def _require_last_axis(x: Tensor) -> None:
    require_floating(x, name="x")
    if x.ndim == 0:
        raise ValueError("x: se esperaba la forma (…, d_model); llegó un escalar.")


def norm(self: Any, d_model: int, *, eps: float = 1e-5) -> None:
    """Lanza si ``d_model`` o ``eps`` no son positivos."""
    require_size(d_model, name="d_model")
    require_positive(eps, name="eps")


def root_norm(self: Any, d_model: int, *, eps: float = 1e-6) -> None:
    """Lanza si ``d_model`` o ``eps`` no son positivos."""
    require_size(d_model, name="d_model")
    require_positive(eps, name="eps")


def position_wise(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es ``(…, d_model)``, del tipo y en el dispositivo de los pesos."""
    _require_last_axis(x)
    require_axis(x, -1, self.d_model, name="x", label="d_model", like="el constructor")
    weight = getattr(getattr(self, "expand", self), "weight", None)  # una envuelta puede no tenerlo
    if isinstance(weight, Tensor) and weight.is_floating_point():
        require_same_kind(x, weight, name="x", reference_name="los pesos")


def require_option(value: str, options: Any, *, name: str) -> None:
    """Lanza ``ValueError`` si ``value`` no es una de ``options``."""
    if value not in tuple(options):
        raise ValueError(f"{name}: se esperaba una de {', '.join(options)}; llegó {value!r}.")


def feed_forward(
    self: Any,
    d_model: int,
    d_ff: int,
    *,
    activation: str = "relu",
    bias: bool = True,
    dropout: float = 0.0,
) -> None:
    """Lanza si ``FeedForward`` no puede construirse con esos argumentos."""
    require_size(d_model, name="d_model")
    require_size(d_ff, name="d_ff")
    require_option(activation, ("relu", "gelu", "swiglu"), name="activation")
    require_probability(dropout, name="dropout")


# --- Residuales -----------------------------------------------------------------------------------


def residual(
    self: Any,
    d_model: int,
    *,
    norm: str = "pre",
    normalization: str = "layer",
    dropout: float = 0.0,
) -> None:
    """Lanza si ``Residual`` no puede construirse con esos argumentos."""
    require_size(d_model, name="d_model")
    require_option(norm, ("pre", "post"), name="norm")
    require_option(normalization, ("layer", "rms"), name="normalization")
    require_probability(dropout, name="dropout")


def sublayer(self: Any, x: Tensor, sublayer: Callable) -> None:
    """Lanza si ``x`` no es de coma flotante o ``sublayer`` no es una función."""
    require_floating(x, name="x")
    if not callable(sublayer):
        raise TypeError(f"sublayer: se esperaba una función de x; llegó {type(sublayer).__name__}.")


def require_update(update: Tensor, x: Tensor) -> None:
    """Lanza si lo que devolvió una subcapa no se puede sumar a ``x`` sin difundir."""
    if isinstance(update, tuple):
        raise TypeError(
            "sublayer: se esperaba que devolviera un tensor; devolvió una tupla. La atención "
            "devuelve (output, weights): quédate con el primero."
        )
    require_floating(update, name="sublayer")
    if update.shape != x.shape:
        raise ValueError(
            f"sublayer: se esperaba que devolviera la forma de x, {tuple(x.shape)}; devolvió "
            f"{tuple(update.shape)}."
        )


# --- Embeddings -----------------------------------------------------------------------------------


def embedding(
    self: Any,
    vocab: int,
    d_model: int,
    *,
    positions: Callable | None = None,
    dropout: float = 0.0,
) -> None:
    """Lanza si ``TokenEmbedding`` no puede construirse con esos argumentos."""
    require_size(vocab, name="vocab")
    require_size(d_model, name="d_model")
    require_probability(dropout, name="dropout")
    if positions is not None and not callable(positions):
        raise TypeError(
            f"positions: se esperaba una función o un módulo; llegó {type(positions).__name__}."
        )


def embed(self: Any, ids: Tensor, positions: Tensor | None = None) -> None:
    """Lanza si ``ids`` no son números del vocabulario o ``positions`` no es una por columna."""
    require_ids(ids, self.vocab, name="ids")
    if positions is not None:
        require_places(positions, (ids.shape[0],), ids.shape[1], ids, "positions")


def require_ids(ids: Tensor, vocab: int, *, name: str) -> None:
    """Lanza si ``ids`` no es ``(batch, n)``, o algún número no cabe en ``vocab``."""
    require_integer(ids, name=name)
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(
            f"{name}: se esperaba int64; llegó {str(ids.dtype).removeprefix('torch.')}. "
            f"Conviértelo con {name}.long()."
        )
    if ids.ndim != 2:
        raise ValueError(
            f"{name}: se esperaba la forma (batch, n), una frase por fila; llegó "
            f"{tuple(ids.shape)}."
        )
    if ids.numel() and is_readable(ids):
        lowest, highest = (int(x) for x in ids.aminmax())
        if lowest < 0 or highest >= vocab:
            came = lowest if lowest < 0 else highest
            raise ValueError(f"{name}: se esperaban números entre 0 y {vocab - 1}; llegó {came}.")


def require_placed(placed: Tensor, x: Tensor) -> Tensor:
    """Devuelve lo que devolvió la función de las posiciones, o lanza si no tiene la forma de x."""
    require_floating(placed, name="positions")
    if placed.shape != x.shape:
        raise ValueError(
            f"positions: se esperaba que devolviera la forma de x, {tuple(x.shape)}; devolvió "
            f"{tuple(placed.shape)}."
        )
    return placed
