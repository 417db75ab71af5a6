"""La puerta de :mod:`atento.models.sepformer`: la configuración, los trozos y las ondas."""

import math
from typing import Any

from torch import Tensor, nn

from atento.amounts import require_divisible, require_kind, require_probability, require_size
from atento.shapes import require_floating, require_same_kind

SIZES = ("n_voices", "n_filters", "d_model", "n_heads", "d_ff", "n_layers", "n_repeats")


def fields(config: Any) -> None:
    """Lanza si un campo de ``SepFormerConfig`` no es lo que su nombre dice."""
    for name in (*SIZES, "kernel_size", "stride"):
        require_size(getattr(config, name), name=name)
    require_divisible(config.d_model, config.n_heads, name="d_model", divisor_name="n_heads")
    if config.d_model % 2:
        raise ValueError(f"d_model: se esperaba un número par; llegó {config.d_model}.")
    if config.stride > config.kernel_size:
        raise ValueError(
            f"stride: se esperaba kernel_size = {config.kernel_size} como mucho, para que no quede "
            f"ninguna muestra sin mirar; llegó {config.stride}."
        )
    require_even(config.chunk, name="chunk")
    require_probability(config.dropout, name="dropout")


def require_even(value: int, *, name: str) -> None:
    """Lanza si no es un entero positivo y par."""
    require_size(value, name=name, least=2)
    if value % 2:
        raise ValueError(f"{name}: se esperaba un número par; llegó {value}.")


def _require_axes(x: Tensor, axes: str, *, name: str, width: int | None = None) -> None:
    require_floating(x, name=name)
    wanted = axes.split(", ")
    if x.ndim != len(wanted) or 0 in x.shape or (width is not None and x.shape[-1] != width):
        shown = axes if width is None else f"{', '.join(wanted[:-1])}, {width}"
        raise ValueError(
            f"{name}: se esperaba la forma ({shown}), sin ejes vacíos; llegó {tuple(x.shape)}."
        )


def segment(x: Tensor, size: int) -> None:
    """Lanza si ``x`` no es (batch, n, d_model) o ``size`` no es un entero positivo y par."""
    _require_axes(x, "batch, n, d_model", name="x")
    require_even(size, name="size")


def join(pieces: Tensor, n: int) -> None:
    """Lanza si ``pieces`` no son los trozos de ``n`` filas."""
    _require_axes(pieces, "batch, chunk, size, d_model", name="pieces")
    require_even(pieces.shape[2], name="size")
    require_size(n, name="n")
    wanted = math.ceil(n / (pieces.shape[2] // 2)) + 1
    if pieces.shape[1] != wanted:
        raise ValueError(
            f"pieces: se esperaban {wanted} trozos de {pieces.shape[2]} para n = {n} filas; "
            f"llegaron {pieces.shape[1]}."
        )


def norm(self: nn.Module, d_model: int) -> None:
    """Lanza si ``d_model`` no es un entero positivo."""
    require_size(d_model, name="d_model")


def normed(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es (batch, …, d_model) de coma flotante."""
    require_floating(x, name="x")
    if x.ndim < 2 or x.shape[-1] != self.d_model or 0 in x.shape:
        raise ValueError(
            f"x: se esperaba la forma (batch, …, {self.d_model}), sin ejes vacíos; llegó "
            f"{tuple(x.shape)}."
        )


def model(self: nn.Module, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``SepFormerConfig``."""
    if not hasattr(config, "n_repeats"):
        raise TypeError(f"config: se esperaba una SepFormerConfig; llegó {type(config).__name__}.")


def rows(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es (…, n, d_model) de coma flotante."""
    require_floating(x, name="x")
    width = self.config.d_model
    if x.ndim < 3 or x.shape[-1] != width or 0 in x.shape:
        raise ValueError(
            f"x: se esperaba la forma (…, n, {width}), sin ejes vacíos; llegó {tuple(x.shape)}."
        )


def filtered(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es (batch, n, n_filters) de coma flotante."""
    _require_axes(x, "batch, n, n_filters", name="x", width=self.config.n_filters)


def dual_path(self: nn.Module, within: nn.Module, across: nn.Module, d_model: int) -> None:
    """Lanza si los caminos no son módulos; ``d_model`` lo mira ``GlobalNorm``."""
    for name, path in (("within", within), ("across", across)):
        require_kind(path, nn.Module, name=name, wanted="un módulo")


def pieces(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es (batch, chunk, size, d_model) de coma flotante."""
    _require_axes(x, "batch, chunk, size, d_model", name="x", width=self.norm_within.d_model)


def wave(self: Any, mixture: Tensor) -> None:
    """Lanza si ``mixture`` no es (batch, samples) de coma flotante, del tipo de los pesos."""
    _require_axes(mixture, "batch, samples", name="mixture")
    weight = self.filters.weight
    require_same_kind(mixture, weight, name="mixture", reference_name="los pesos")


def decode(self: Any, rows: Tensor, samples: int) -> None:
    """Lanza si ``rows`` no es (batch, voice, n, filter) o no da para ``samples`` muestras."""
    c = self.config
    _require_axes(rows, "batch, voice, n, filter", name="rows", width=c.n_filters)
    require_size(samples, name="samples")
    most = c.kernel_size + c.stride * (rows.shape[2] - 1)
    if samples > most:
        raise ValueError(f"samples: {rows.shape[2]} filas dan {most} como mucho; llegó {samples}.")


def require_pair(batch: Any) -> tuple[Tensor, Tensor]:
    """La mezcla y sus voces; lanza si no es una pareja."""
    require_kind(batch, tuple, name="batch", wanted="una pareja: la mezcla y sus voces")
    if len(batch) != 2:
        raise ValueError(
            f"batch: se esperaban dos cosas, la mezcla y sus voces; llegaron {len(batch)}."
        )
    mixture, voices = batch
    _require_axes(mixture, "batch, samples", name="batch[0]")
    _require_axes(voices, "batch, voice, samples", name="batch[1]")
    return mixture, voices
