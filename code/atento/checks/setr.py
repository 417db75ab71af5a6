"""La puerta de :mod:`atento.models.setr`: la configuración, las imágenes y sus clases."""

from typing import Any

from torch import Tensor

from atento.amounts import require_size
from atento.checks import vit
from atento.checks.layers import require_option
from atento.shapes import require_integer

DECODERS = ("naive", "pup")


def fields(config: Any) -> None:
    """Lanza si un campo de ``SetrConfig`` no es lo que su nombre dice."""
    vit.fields(config)
    require_size(config.decoder_width, name="decoder_width")
    require_option(config.decoder, DECODERS, name="decoder")
    if config.pooling != "mean" or config.distilled:
        raise ValueError(
            f"pooling: se esperaba «mean», sin destilar: solo hay filas de parches; llegó "
            f"{config.pooling!r}, con distilled={config.distilled}."
        )
    size = config.patch_size
    if config.decoder == "pup" and (size < 2 or size & (size - 1)):
        raise ValueError(
            f"patch_size: con decoder='pup' se esperaba una potencia de dos mayor que 1; llegó "
            f"{size}."
        )


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``SetrConfig``."""
    if not hasattr(config, "decoder_width"):
        raise TypeError(f"config: se esperaba una SetrConfig; llegó {type(config).__name__}.")


def loss(self: Any, images: Tensor, classes: Tensor, mask: Tensor | None = None) -> None:
    """Lanza si ``classes`` no es una clase por píxel de ``images``; ``mask``, la pila."""
    vit.images(self, images)
    require_integer(classes, name="classes")
    wanted = (len(images), *images.shape[2:])
    if tuple(classes.shape) != wanted:
        raise ValueError(
            f"classes: se esperaba una clase por píxel, {wanted}; llegó {tuple(classes.shape)}."
        )
    if ((classes < 0) | (classes >= self.config.classes)).any():
        raise ValueError(
            f"classes: se esperaban de 0 a {self.config.classes - 1}; llegaron de "
            f"{int(classes.min())} a {int(classes.max())}."
        )
