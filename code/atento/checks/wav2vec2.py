"""La puerta de :mod:`atento.models.wav2vec2`: la configuración, las ondas y lo que se tapa."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from atento.amounts import (
    require_divisible,
    require_kind,
    require_number,
    require_positive,
    require_probability,
    require_size,
)
from atento.checks.layers import require_option
from atento.shapes import (
    require_boolean,
    require_floating,
    require_integer,
    require_same_kind,
)

SIZES = ("d_model", "n_heads", "d_ff", "n_layers", "place_kernel", "place_groups")
COMPARED = ("codes", "d_code", "d_compare")
CONV_NORMS, NORMS = ("group", "layer"), ("post", "pre")


def fields(config: Any) -> None:
    """Lanza si un campo de ``Wav2Vec2Config`` no es lo que su nombre dice."""
    _require_convs(config.convs)
    require_option(config.conv_norm, CONV_NORMS, name="conv_norm")
    require_kind(config.conv_bias, bool, name="conv_bias", wanted="True o False")
    require_option(config.norm, NORMS, name="norm")
    for name in (*SIZES, *COMPARED):
        require_size(getattr(config, name), name=name)
    require_size(config.codebooks, name="codebooks", least=0)
    for name in ("n_heads", "place_groups"):
        require_divisible(config.d_model, getattr(config, name), name="d_model", divisor_name=name)
    if config.codebooks:
        books = config.codebooks
        require_divisible(config.d_code, books, name="d_code", divisor_name="codebooks")
    for name in ("temperature", "init_std"):
        require_positive(getattr(config, name), name=name)
    require_number(config.diversity, name="diversity")
    if config.diversity < 0:
        raise ValueError(f"diversity: se esperaba 0 o más; llegó {config.diversity}.")
    for name in ("dropout", "attention_dropout"):
        require_probability(getattr(config, name), name=name)


def _require_convs(convs: Any) -> None:
    require_kind(convs, tuple, name="convs", wanted="una tupla de convoluciones")
    if not convs:
        raise ValueError("convs: se esperaba al menos una convolución; llegó ().")
    for i, shape in enumerate(convs):
        _require_conv(shape, name=f"convs[{i}]")


def _require_conv(shape: Any, *, name: str) -> None:
    require_kind(shape, tuple, name=name, wanted="(filtros, muestras, avance)")
    if len(shape) != 3:
        raise ValueError(f"{name}: se esperaba (filtros, muestras, avance); llegó {shape}.")
    for size in shape:
        require_size(size, name=name)


def require_frames(samples: int, convs: Sequence[tuple[int, int, int]]) -> int:
    """Cuántas filas salen de ``samples`` muestras; lanza si no sale ninguna."""
    require_size(samples, name="samples")
    least, n = 1, samples
    for _, kernel, stride in reversed(convs):
        least = (least - 1) * stride + kernel
    if samples < least:
        raise ValueError(
            f"samples: se esperaban {least} muestras o más, para una fila; llegaron {samples}."
        )
    for _, kernel, stride in convs:
        n = (n - kernel) // stride + 1
    return n


def model(self: nn.Module, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``Wav2Vec2Config``."""
    if not hasattr(config, "codebooks"):
        raise TypeError(f"config: se esperaba una Wav2Vec2Config; llegó {type(config).__name__}.")


def quantizer(self: nn.Module, config: Any) -> None:
    """Lanza si no llega una ``Wav2Vec2Config`` con libros de códigos."""
    model(self, config)
    if not config.codebooks:
        raise ValueError("config: se esperaba codebooks mayor que 0; llegó 0.")


def conv_layer(
    self: nn.Module,
    channels: int,
    shape: tuple[int, int, int],
    *,
    norm: str | None,
    bias: bool,
) -> None:
    """Lanza si los tamaños no son enteros positivos o ``norm`` no es una de las suyas."""
    require_size(channels, name="channels")
    _require_conv(shape, name="shape")
    if norm is not None:
        require_option(norm, CONV_NORMS, name="norm")
    require_kind(bias, bool, name="bias", wanted="True o False")


def _require_axes(x: Tensor, axes: Sequence[str | int], *, name: str) -> None:
    sizes = [axis for axis in axes if isinstance(axis, int)]
    wrong = x.ndim != len(axes) or 0 in x.shape
    if wrong or (sizes and any(a != b for a, b in zip(axes, x.shape, strict=True) if a in sizes)):
        shown = ", ".join(str(axis) for axis in axes)
        raise ValueError(
            f"{name}: se esperaba la forma ({shown}), sin ejes vacíos; llegó {tuple(x.shape)}."
        )


def channels(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es (batch, channel, n) de coma flotante o es más corta que un filtro."""
    require_floating(x, name="x")
    _require_axes(x, ("batch", self.conv.in_channels, "n"), name="x")
    (kernel,) = self.conv.kernel_size
    if x.shape[-1] < kernel:
        raise ValueError(f"x: se esperaban {kernel} muestras o más; llegaron {x.shape[-1]}.")


def heard(self: Any, wave: Tensor) -> None:
    """Lanza si ``wave`` no es (batch, samples) de coma flotante, o no da para una fila."""
    require_floating(wave, name="wave")
    _require_axes(wave, ("batch", "samples"), name="wave")
    require_frames(wave.shape[1], self.config.convs)
    weight = next(self.parameters())
    require_same_kind(wave, weight, name="wave", reference_name="los pesos")


def rows(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es (batch, n, d_model) de coma flotante."""
    require_floating(x, name="x")
    _require_axes(x, ("batch", "n", self.config.d_model), name="x")


def _require_masked(masked: Tensor, shape: Sequence[int]) -> None:
    require_boolean(masked, name="masked")
    if tuple(masked.shape) != tuple(shape):
        raise ValueError(
            f"masked: se esperaba la forma (batch, frame) = {tuple(shape)}; llegó "
            f"{tuple(masked.shape)}."
        )


def context(self: Any, features: Tensor, masked: Tensor | None = None) -> None:
    """Lanza si ``features`` no es (batch, frame, channel) o ``masked`` no es (batch, frame)."""
    require_floating(features, name="features")
    _require_axes(features, ("batch", "frame", self.config.convs[-1][0]), name="features")
    if masked is not None:
        _require_masked(masked, features.shape[:2])


def quantized(self: Any, features: Tensor, masked: Tensor | None = None) -> None:
    """Lanza si ``features`` no es (batch, frame, channel) o ``masked`` no tapa nada."""
    context(self, features, masked)
    if masked is not None:
        _require_some(masked)


def _require_some(masked: Tensor) -> None:
    if not masked.any():
        raise ValueError("masked: se esperaba alguna fila tapada; llegó todo False.")


def guess(self: Any, wave: Tensor, masked: Tensor) -> None:
    """Lanza si ``wave`` no es (batch, samples) o ``masked`` no tapa alguna de sus filas."""
    heard(self.model.listen, wave)
    frames = require_frames(wave.shape[1], self.config.convs)
    _require_masked(masked, (len(wave), frames))
    _require_some(masked)


def _require_two(masked: Tensor, *, name: str) -> None:
    require_boolean(masked, name=name)
    _require_axes(masked, ("batch", "frame"), name=name)
    least = int(masked.sum(1).min())
    if least < 2:
        raise ValueError(f"{name}: se esperaban dos filas o más en cada grabación; llegó {least}.")


def draw_spans(allowed: Tensor, share: float, span: int, rng: torch.Generator) -> None:
    """Lanza si ``allowed`` no deja dos filas en cada grabación o los números no son lo dicho."""
    _require_two(allowed, name="allowed")
    require_positive(share, name="share")
    if share > 1:
        raise ValueError(f"share: se esperaba una parte entre 0 y 1; llegó {share}.")
    require_size(span, name="span")
    require_kind(rng, torch.Generator, name="rng", wanted="un torch.Generator")


def draw_negatives(masked: Tensor, count: int, rng: torch.Generator) -> None:
    """Lanza si ``masked`` no tapa dos filas en cada grabación o los números no son lo dicho."""
    _require_two(masked, name="masked")
    require_size(count, name="count")
    require_kind(rng, torch.Generator, name="rng", wanted="un torch.Generator")


def contrastive_loss(
    context: Tensor,
    targets: Tensor,
    masked: Tensor,
    negatives: Tensor,
    *,
    temperature: float = 0.1,
) -> None:
    """Lanza si las formas no casan, no hay filas tapadas o ``negatives`` no son sitios."""
    require_floating(context, name="context")
    _require_axes(context, ("batch", "frame", "d_compare"), name="context")
    require_floating(targets, name="targets")
    _require_axes(targets, tuple(context.shape), name="targets")
    require_same_kind(targets, context, name="targets", reference_name="context")
    _require_masked(masked, context.shape[:2])
    _require_some(masked)
    require_integer(negatives, name="negatives")
    _require_axes(negatives, (*context.shape[:2], "count"), name="negatives")
    if negatives.min() < 0 or negatives.max() >= context.shape[1]:
        raise ValueError(
            f"negatives: se esperaban sitios de 0 a {context.shape[1] - 1}; llegaron de "
            f"{int(negatives.min())} a {int(negatives.max())}."
        )
    require_positive(temperature, name="temperature")


def diversity_loss(perplexity: Tensor, total: int) -> None:
    """Lanza si ``perplexity`` no es un número de coma flotante o ``total`` no es positivo."""
    require_floating(perplexity, name="perplexity")
    if perplexity.ndim:
        raise ValueError(
            f"perplexity: se esperaba un solo número; llegó la forma {tuple(perplexity.shape)}."
        )
    require_size(total, name="total")


def require_three(batch: Any) -> tuple[Tensor, Tensor, Tensor]:
    """La onda, lo tapado y los negativos; lanza si no son tres cosas."""
    require_kind(batch, tuple, name="batch", wanted="la onda, lo tapado y los negativos")
    if len(batch) != 3:
        raise ValueError(
            f"batch: se esperaban tres cosas, la onda, lo tapado y los negativos; llegaron "
            f"{len(batch)}."
        )
    return batch
