"""Piso 6: SETR, que da la clase de cada píxel con un ViT y un decodificador que vuelve a su tamaño.

El codificador deja una fila por parche. El decodificador las pone otra vez en su sitio y sube hasta
los píxeles: el ingenuo, de un salto, y el progresivo (PUP), que cada vez dobla el lado y pasa una
convolución. No separa dos objetos de la misma clase: la segmentación es semántica.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.checks import setr as checks
from atento.models.detr import conv_block
from atento.models.vit import Vit, VitConfig
from atento.shapes import typed


@dataclass(frozen=True)
class SetrConfig(VitConfig):
    """Todo lo que define un :class:`Setr`: lo del ViT que lee y lo del decodificador.

    ``decoder`` es ``"naive"``, que clasifica cada parche y agranda las puntuaciones, o ``"pup"``,
    que agranda de dos en dos los rasgos y clasifica cada píxel; entonces ``patch_size`` es una
    potencia de dos. ``decoder_width`` es la anchura de sus convoluciones. La fila que resume no
    hace falta, y ``pooling`` es «mean».

    Errores: los de :class:`~atento.models.vit.VitConfig`, y si un campo no es lo que se dice.
    Fuente: Zheng et al. (2021), §§ 3.2 y 3.3.
    """

    pooling: str = "mean"
    decoder: str = "pup"
    decoder_width: int = 64

    def __post_init__(self) -> None:
        checks.fields(self)

    @property
    def side(self) -> int:
        """Cuántos parches hay en un lado de la imagen."""
        return self.image_size // self.patch_size


class Doubled(nn.Module):
    """Dobla el lado de unos rasgos, por interpolación bilineal."""

    def forward(
        self, x: Float[Tensor, "batch width row column"]
    ) -> Float[Tensor, "batch width two_rows two_columns"]:
        """Los mismos rasgos, en cuatro veces más sitios."""
        return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


class Setr(nn.Module):
    """Quien segmenta: ``forward(images)`` da puntuaciones, (batch, class, row, column).

    ``vit`` es el codificador, sin su cabeza; ``upsample``, el decodificador.

    Errores: ``TypeError`` si ``config`` no es una :class:`SetrConfig`.
    Fuente: Zheng et al. (2021), §§ 3.2 y 3.3 y figura 1. Aquí la norma de las convoluciones
    es por grupos.
    """

    @typed(validate=checks.model)
    def __init__(self, config: SetrConfig) -> None:
        super().__init__()
        c = self.config = config
        self.vit = Vit(c)
        self.vit.classify = nn.Identity()  # aquí no se usa
        width, doublings = c.decoder_width, c.patch_size.bit_length() - 1
        steps: list[nn.Module] = [conv_block(c.d_model, width, stride=1, kernel_size=1)]
        if c.decoder == "pup":
            widths = [c.d_model, *[width] * doublings]
            steps = [
                layer
                for before, after in zip(widths, widths[1:], strict=False)
                for layer in (conv_block(before, after, stride=1), Doubled())
            ]
        self.upsample = nn.Sequential(*steps)
        self.classify = nn.Conv2d(width, c.classes, kernel_size=1)

    @typed
    def forward(
        self,
        images: Float[Tensor, "batch channel height width"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch class height width"]:
        """Puntuaciones de cada clase en cada píxel.

        ``mask``, si se da, dice a qué parches puede mirar cada uno: con la identidad, a ninguno
        más.

        Errores: los de :meth:`atento.models.vit.Vit.states`.
        """
        states = self.vit.states.unchecked(self.vit, images, mask)  # (batch, n, d_model)
        cells = states.mT.unflatten(-1, (self.config.side, -1))  # (batch, d_model, side, side)
        scores = self.classify(self.upsample(cells))
        size = images.shape[-2:]
        return F.interpolate(scores, size=size, mode="bilinear", align_corners=False)

    @typed(validate=checks.loss)
    def loss(
        self,
        images: Float[Tensor, "batch channel height width"],
        classes: Int[Tensor, "batch height width"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, ""]:
        """La entropía cruzada media de los píxeles; ``classes`` es la clase de cada uno.

        Errores: los de :meth:`forward`, y ``TypeError`` o ``ValueError`` si ``classes`` no son
        clases, una por píxel.
        """
        return F.cross_entropy(self(images, mask), classes)

    @torch.no_grad()
    def segment(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Int[Tensor, "batch height width"]:
        """La clase de cada píxel.

        Errores: los de :meth:`forward`.
        """
        return self(images).argmax(dim=1)
