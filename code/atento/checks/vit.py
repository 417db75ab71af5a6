"""La puerta de :mod:`atento.models.vit`: la configuración, las imágenes y los parches."""

from typing import Any

from torch import Tensor

from atento.amounts import (
    require_divisible,
    require_kind,
    require_positive,
    require_probability,
    require_size,
)
from atento.checks.layers import require_option
from atento.shapes import require_floating, require_same_kind

SIZES = ("image_size", "patch_size", "channels", "classes", "d_model", "n_heads", "d_ff")
POOLINGS = ("cls", "mean")


def fields(config: Any) -> None:
    """Lanza si un campo de ``VitConfig`` no es lo que su nombre dice."""
    for name in (*SIZES, "n_layers"):
        require_size(getattr(config, name), name=name)
    for name, divisor in (("image_size", "patch_size"), ("d_model", "n_heads")):
        require_divisible(
            getattr(config, name), getattr(config, divisor), name=name, divisor_name=divisor
        )
    require_option(config.pooling, POOLINGS, name="pooling")
    require_kind(config.distilled, bool, name="distilled", wanted="True o False")
    for name in ("dropout", "attention_dropout"):
        require_probability(getattr(config, name), name=name)
    for name in ("norm_eps", "init_std", "position_std"):
        require_positive(getattr(config, name), name=name)


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``VitConfig``."""
    if not hasattr(config, "distilled"):
        raise TypeError(f"config: se esperaba una VitConfig; llegó {type(config).__name__}.")


def _require_images(images: Tensor, axes: str) -> None:
    require_floating(images, name="images")
    if images.ndim != 4 or 0 in images.shape:
        raise ValueError(
            f"images: se esperaba la forma {axes}, sin ejes vacíos; llegó {tuple(images.shape)}."
        )


def patchify(images: Tensor, patch_size: int) -> None:
    """Lanza si ``images`` no es (batch, channel, height, width) o el parche no la divide."""
    _require_images(images, "(batch, channel, height, width)")
    require_size(patch_size, name="patch_size")
    for axis, size in zip(("height", "width"), images.shape[2:], strict=True):
        if size % patch_size:
            raise ValueError(
                f"images: se esperaba que patch_size = {patch_size} dividiera {axis}; llegó {size}."
            )


def unpatchify(patches: Tensor, patch_size: int, channels: int = 1) -> None:
    """Lanza si ``patches``, (batch, n, pixels), no llena un cuadrado de parches de ese tamaño."""
    require_floating(patches, name="patches")
    require_size(patch_size, name="patch_size")
    require_size(channels, name="channels")
    pixels = channels * patch_size**2
    if patches.ndim != 3 or patches.shape[-1] != pixels:
        raise ValueError(
            f"patches: se esperaba la forma (batch, n, {pixels}); llegó {tuple(patches.shape)}."
        )
    if round(patches.shape[1] ** 0.5) ** 2 != patches.shape[1]:
        raise ValueError(
            f"patches: se esperaba un número cuadrado de parches; llegaron {patches.shape[1]}."
        )


def images(self: Any, images: Tensor) -> None:
    """Lanza si no es (batch, channels, image_size, image_size), del tipo de los pesos."""
    c = self.config
    wanted = (c.channels, c.image_size, c.image_size)
    axes = f"(batch, {', '.join(map(str, wanted))})"
    _require_images(images, axes)
    if tuple(images.shape[1:]) != wanted:
        raise ValueError(f"images: se esperaba la forma {axes}; llegó {tuple(images.shape)}.")
    weight = next(self.parameters())
    require_same_kind(images, weight, name="images", reference_name="los pesos")
