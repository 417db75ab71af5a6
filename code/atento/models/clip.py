"""Piso 6: CLIP, dos torres que llevan imágenes y textos a los mismos vectores.

:class:`ImageTower` y :class:`TextTower` dan cada una un vector por ejemplo, de longitud 1;
:class:`Clip` los compara todos con todos, y :func:`clip_loss` pide que cada imagen se parezca más a
su texto que a los demás del lote, y al revés. Los pesos de otros entran por
:func:`atento.models.weights.from_clip`.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Encoder, EncoderBlock
from atento.checks import clip as checks
from atento.checks import layers as pieces
from atento.layers import FeedForward, LayerNorm
from atento.masks import causal_mask
from atento.models.bert import draw_normal
from atento.models.vit import patchify
from atento.positions import Learned
from atento.shapes import typed

# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ClipConfig:
    """Todo lo que define un :class:`Clip`; las medidas publicadas, en los constructores.

    La imagen es cuadrada, de ``image_size`` píxeles de lado. El texto tiene como mucho ``max_len``
    palabras y acaba en ``eos_id``; lo que venga detrás no cuenta. La red densa de cada torre mide
    cuatro veces su anchura. ``d_embed`` es la de los vectores que se comparan. ``temperature`` es
    aquella con que se empieza, y ``max_scale``, el tope de su inversa. Los pesos se sortean con
    desviación ``init_std``, y las posiciones, con ``position_std``.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    image_size: int
    patch_size: int
    vocab: int
    max_len: int
    eos_id: int
    channels: int = 1
    d_image: int = 64
    image_heads: int = 4
    image_layers: int = 2
    d_text: int = 64
    text_heads: int = 4
    text_layers: int = 2
    d_embed: int = 64
    temperature: float = 0.07
    max_scale: float = 100.0
    norm_eps: float = 1e-5
    init_std: float = 0.02
    position_std: float = 0.01

    def __post_init__(self) -> None:
        checks.fields(self)

    @property
    def n_patches(self) -> int:
        """Cuántos parches salen de una imagen."""
        return (self.image_size // self.patch_size) ** 2

    @classmethod
    def base32(cls, vocab: int = 49_408, **changes: Any) -> "ClipConfig":
        """CLIP ViT-B/32: doce capas por torre, de anchuras 768 y 512.

        Errores: los de :class:`ClipConfig`.
        Fuente: Radford et al. (2021), tabla 20.
        """
        image = {"image_size": 224, "patch_size": 32, "channels": 3, "d_image": 768}
        image |= {"image_heads": 12, "image_layers": 12}
        text = {"max_len": 77, "eos_id": vocab - 1, "d_text": 512, "text_heads": 8}
        text |= {"text_layers": 12, "d_embed": 512}
        return cls(**{"vocab": vocab, **image, **text, **changes})

    @classmethod
    def base16(cls, vocab: int = 49_408, **changes: Any) -> "ClipConfig":
        """CLIP ViT-B/16: el anterior, con parches de 16 × 16.

        Errores: los de :class:`ClipConfig`.
        Fuente: Radford et al. (2021), tabla 20.
        """
        return cls.base32(vocab, **{"patch_size": 16, **changes})

    @classmethod
    def large14(cls, vocab: int = 49_408, **changes: Any) -> "ClipConfig":
        """CLIP ViT-L/14: veinticuatro capas para la imagen, de 1024, y doce para el texto, de 768.

        Errores: los de :class:`ClipConfig`.
        Fuente: Radford et al. (2021), tabla 20.
        """
        image = {"patch_size": 14, "d_image": 1024, "image_heads": 16, "image_layers": 24}
        text = {"d_text": 768, "text_heads": 12, "d_embed": 768}
        return cls.base32(vocab, **{**image, **text, **changes})


# --- Las dos torres -------------------------------------------------------------------------------


class QuickFeedForward(FeedForward):
    """La red densa de CLIP, con x · σ(1.702 x), que es la GELU aproximada por una sigmoide.

    Errores: los de :class:`~atento.layers.FeedForward`.
    Fuente: Hendrycks y Gimpel (2016), § 2; Radford et al. (2021), código publicado.
    """

    @typed(validate=pieces.position_wise)
    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transforma cada posición de ``x`` con los mismos pesos.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es ``(…, d_model)`` de coma flotante.
        """
        hidden = self.expand(x)  # (…, d_ff)
        return self.contract(self.dropout(hidden * (1.702 * hidden).sigmoid()))


class ImageTower(nn.Module):
    """La torre de las imágenes: un ViT con una norma más a la entrada.

    Errores: ``TypeError`` si ``config`` no es una :class:`ClipConfig`.
    Fuente: Radford et al. (2021), § 2.4.
    """

    @typed(validate=checks.model)
    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        c = self.config = config
        self.project = nn.Linear(c.channels * c.patch_size**2, c.d_image, bias=False)
        self.added = nn.Parameter(torch.zeros(c.d_image))
        self.positions = Learned(1 + c.n_patches, c.d_image)
        self.first_norm = LayerNorm(c.d_image, eps=c.norm_eps)
        self.encoder = Encoder(
            [_block(c.d_image, c.image_heads, c.norm_eps) for _ in range(c.image_layers)]
        )
        self.final_norm = LayerNorm(c.d_image, eps=c.norm_eps)
        self.embed = nn.Linear(c.d_image, c.d_embed, bias=False)

    @typed(validate=checks.pictures)
    def forward(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch d_embed"]:
        """Un vector por imagen, el de la fila añadida, de longitud 1.

        Errores: ``TypeError`` o ``ValueError`` si ``images`` no es de coma flotante, de tamaño
        (batch, channels, image_size, image_size).
        """
        x = self.project(patchify(images, self.config.patch_size))  # (batch, n_patches, d_image)
        x = torch.cat([self.added.expand(len(x), 1, -1), x], dim=1)  # (batch, n, d_image)
        x = self.encoder(self.first_norm(self.positions(x)))
        return F.normalize(self.embed(self.final_norm(x[:, 0])), dim=-1)


class TextTower(nn.Module):
    """La torre de los textos: una pila causal, de la que cuenta el estado del fin.

    Como cada palabra solo mira a las anteriores, lo que haya detrás del fin no cambia nada.

    Errores: ``TypeError`` si ``config`` no es una :class:`ClipConfig`.
    Fuente: Radford et al. (2021), § 2.4.
    """

    @typed(validate=checks.model)
    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        c = self.config = config
        self.tokens = nn.Embedding(c.vocab, c.d_text)
        self.positions = Learned(c.max_len, c.d_text)
        self.encoder = Encoder(
            [_block(c.d_text, c.text_heads, c.norm_eps) for _ in range(c.text_layers)]
        )
        self.final_norm = LayerNorm(c.d_text, eps=c.norm_eps)
        self.embed = nn.Linear(c.d_text, c.d_embed, bias=False)

    @typed(validate=checks.words)
    def forward(self, text: Int[Tensor, "batch n"]) -> Float[Tensor, "batch d_embed"]:
        """Un vector por texto, el de su fin, de longitud 1.

        Errores: ``TypeError`` o ``ValueError`` si ``text`` no son números del vocabulario,
        (batch, n), sin pasar de ``max_len`` y con un fin en cada fila.
        """
        x = self.positions(self.tokens(text))  # (batch, n, d_text)
        x = self.encoder(x, causal_mask(text.shape[1], device=text.device))
        end = (text == self.config.eos_id).int().argmax(dim=1)  # (batch,): el primero
        last = x[torch.arange(len(x), device=x.device), end]  # (batch, d_text)
        return F.normalize(self.embed(self.final_norm(last)), dim=-1)


def _block(d_model: int, n_heads: int, eps: float) -> EncoderBlock:
    dense = QuickFeedForward(d_model, 4 * d_model, activation="gelu")
    block = EncoderBlock(MultiHeadAttention(d_model, n_heads), dense, norm="pre")
    for residual in (block.add_attention, block.add_feed_forward):
        residual.norm.eps = eps
    return block


# --- El modelo y su pérdida -----------------------------------------------------------------------


class Clip(nn.Module):
    """Dos torres y una temperatura: ``forward(images, text)`` da parecidos, (image, text).

    Lo que se parecen es el producto de los dos vectores, que va de −1 a 1, por una escala que
    también se aprende: 1 / temperatura. Entrenando, no pasa de ``max_scale``.

    Errores: ``TypeError`` si ``config`` no es una :class:`ClipConfig`.
    Fuente: Radford et al. (2021), § 2.3 y figura 3.
    """

    @typed(validate=checks.model)
    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        c = self.config = config
        self.image, self.text = ImageTower(c), TextTower(c)
        self.log_scale = nn.Parameter(torch.tensor(-math.log(c.temperature)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos, anula los sesgos y pone la temperatura con que se empieza."""
        c = self.config
        draw_normal(self, c.init_std)
        nn.init.normal_(self.image.added, std=c.init_std)
        for places in (self.image.positions, self.text.positions):
            nn.init.normal_(places.table, std=c.position_std)
        nn.init.constant_(self.log_scale, -math.log(c.temperature))

    @property
    def scale(self) -> Float[Tensor, ""]:
        """Por cuánto se multiplican los parecidos: un escalar."""
        return self.log_scale.exp()

    @typed
    def forward(
        self,
        images: Float[Tensor, "image channel height width"],
        text: Int[Tensor, "text n"],
    ) -> Float[Tensor, "image text"]:
        """Cuánto se parece cada imagen a cada texto.

        Errores: los de las dos torres.
        """
        if self.training:
            with torch.no_grad():  # el tope: al pasarlo se vuelve a él, y desde él se puede bajar
                self.log_scale.clamp_(max=math.log(self.config.max_scale))
        return self.scale * self.image(images) @ self.text(text).T  # (image, text)


@typed(validate=checks.clip_loss)
def clip_loss(logits: Float[Tensor, "n n"]) -> Float[Tensor, ""]:
    """La pérdida de un lote en que la imagen ``i`` va con el texto ``i``.

    Es la media de la entropía cruzada de acertar el texto de cada imagen, por filas, y la de
    acertar la imagen de cada texto, por columnas.

    Errores: ``TypeError`` o ``ValueError`` si ``logits`` no es (n, n) de coma flotante.
    Fuente: Radford et al. (2021), figura 3.
    """
    own = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
