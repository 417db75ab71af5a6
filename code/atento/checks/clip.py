"""La puerta de :mod:`atento.models.clip`: la configuración, las imágenes y los textos."""

from typing import Any

from torch import Tensor

from atento.amounts import (
    require_divisible,
    require_positive,
    require_size,
)
from atento.checks.layers import require_ids
from atento.checks.vit import images as _images
from atento.shapes import is_readable, require_floating

SIZES = (
    "image_size",
    "patch_size",
    "channels",
    "vocab",
    "max_len",
    "d_image",
    "d_text",
    "image_heads",
    "text_heads",
    "image_layers",
    "text_layers",
    "d_embed",
)


def fields(config: Any) -> None:
    """Lanza si un campo de ``ClipConfig`` no es lo que su nombre dice."""
    for name in SIZES:
        require_size(getattr(config, name), name=name)
    pairs = (
        ("image_size", "patch_size"),
        ("d_image", "image_heads"),
        ("d_text", "text_heads"),
    )
    for name, divisor in pairs:
        require_divisible(
            getattr(config, name), getattr(config, divisor), name=name, divisor_name=divisor
        )
    require_size(config.eos_id, name="eos_id", least=0)
    if config.eos_id >= config.vocab:
        raise ValueError(
            f"eos_id: se esperaba menor que vocab = {config.vocab}; llegó {config.eos_id}."
        )
    for name in ("temperature", "max_scale", "norm_eps", "init_std", "position_std"):
        require_positive(getattr(config, name), name=name)


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``ClipConfig``."""
    if not hasattr(config, "d_embed"):
        raise TypeError(f"config: se esperaba una ClipConfig; llegó {type(config).__name__}.")


def pictures(self: Any, images: Tensor) -> None:
    """Lanza si las imágenes no son las de este modelo."""
    _images(self, images)


def words(self: Any, text: Tensor) -> None:
    """Lanza si ``text`` no son números del vocabulario, cada fila con su fin."""
    require_ids(text, self.config.vocab, name="text")
    c = self.config
    if text.shape[1] > c.max_len:
        raise ValueError(
            f"text: se esperaban como mucho {c.max_len} palabras; llegaron {text.shape[1]}."
        )
    if is_readable(text) and not (text == c.eos_id).any(dim=1).all():
        raise ValueError(f"text: se esperaba el fin, {c.eos_id}, en todas las filas; falta.")


def clip_loss(logits: Tensor) -> None:
    """Lanza si ``logits`` no tiene un texto por imagen."""
    require_floating(logits, name="logits")
    if logits.ndim != 2 or logits.shape[0] != logits.shape[1] or not len(logits):
        raise ValueError(
            f"logits: se esperaba la forma (n, n), un texto por imagen; llegó "
            f"{tuple(logits.shape)}."
        )
