"""Piso 6: ViT, el codificador que lee imágenes como frases de parches.

:func:`patchify` corta la imagen; :class:`PatchEmbedding` hace de cada parche una fila; :class:`Vit`
les antepone una fila que resume, suma las posiciones, pasa la pila y clasifica. Con ``distilled``
lleva otra más, que aprende de una maestra (DeiT). Los pesos de otros entran por
:func:`atento.models.weights.from_vit`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Encoder, EncoderBlock
from atento.checks import vit as checks
from atento.layers import Dropout, FeedForward, LayerNorm
from atento.models.bert import draw_normal
from atento.positions import Learned
from atento.shapes import typed

# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class VitConfig:
    """Todo lo que define un :class:`Vit`; las medidas publicadas, en los constructores.

    La imagen es cuadrada, de ``image_size`` píxeles de lado, y ``patch_size`` lo divide. Según
    ``pooling`` clasifica la fila añadida, ``"cls"``, o la media de los parches, ``"mean"``, y
    entonces no se añade ninguna. ``distilled`` añade la fila y la cabeza que aprenden de una
    maestra. ``dropout`` actúa en los embeddings y a la salida de cada subcapa;
    ``attention_dropout``, en los pesos de atención. Los pesos se sortean con desviación
    ``init_std``, y la tabla de posiciones, con ``position_std``.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    image_size: int
    patch_size: int
    channels: int = 1
    classes: int = 10
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 128
    n_layers: int = 4
    pooling: str = "cls"
    distilled: bool = False
    dropout: float = 0.0
    attention_dropout: float = 0.0
    norm_eps: float = 1e-6
    init_std: float = 0.02
    position_std: float = 0.02

    def __post_init__(self) -> None:
        checks.fields(self)

    @property
    def n_patches(self) -> int:
        """Cuántos parches salen de una imagen."""
        return (self.image_size // self.patch_size) ** 2

    @property
    def n_added(self) -> int:
        """Cuántas filas van delante de los parches."""
        return (self.pooling == "cls") + self.distilled

    @classmethod
    def base16(cls, classes: int = 1000, **changes: Any) -> "VitConfig":
        """ViT-B/16: doce capas de anchura 768 sobre parches de 16 × 16.

        Errores: los de :class:`VitConfig`.
        Fuente: Dosovitskiy et al. (2021), tabla 1.
        """
        image = {"image_size": 224, "patch_size": 16, "channels": 3, "classes": classes}
        sizes = {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_layers": 12}
        return cls(**{**image, **sizes, **changes})

    @classmethod
    def base32(cls, classes: int = 1000, **changes: Any) -> "VitConfig":
        """ViT-B/32: el anterior, con parches de 32 × 32.

        Errores: los de :class:`VitConfig`.
        Fuente: Dosovitskiy et al. (2021), tabla 1 y § 4.1.
        """
        return cls.base16(classes, **{"patch_size": 32, **changes})

    @classmethod
    def large16(cls, classes: int = 1000, **changes: Any) -> "VitConfig":
        """ViT-L/16: veinticuatro capas de anchura 1024.

        Errores: los de :class:`VitConfig`.
        Fuente: Dosovitskiy et al. (2021), tabla 1.
        """
        sizes = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_layers": 24}
        return cls.base16(classes, **{**sizes, **changes})

    @classmethod
    def huge14(cls, classes: int = 1000, **changes: Any) -> "VitConfig":
        """ViT-H/14: treinta y dos capas de anchura 1280 sobre parches de 14 × 14.

        Errores: los de :class:`VitConfig`.
        Fuente: Dosovitskiy et al. (2021), tabla 1.
        """
        sizes = {"d_model": 1280, "n_heads": 16, "d_ff": 5120, "n_layers": 32, "patch_size": 14}
        return cls.base16(classes, **{**sizes, **changes})

    @classmethod
    def deit_tiny(cls, classes: int = 1000, **changes: Any) -> "VitConfig":
        """DeiT-Ti con destilación: doce capas de anchura 192.

        Errores: los de :class:`VitConfig`.
        Fuente: Touvron et al. (2021), tabla 1 y § 4.
        """
        sizes = {"d_model": 192, "n_heads": 3, "d_ff": 768, "distilled": True}
        return cls.base16(classes, **{**sizes, **changes})

    @classmethod
    def deit_base(cls, classes: int = 1000, **changes: Any) -> "VitConfig":
        """DeiT-B con destilación: las medidas de ViT-B/16.

        Errores: los de :class:`VitConfig`.
        Fuente: Touvron et al. (2021), tabla 1 y § 4.
        """
        return cls.base16(classes, **{"distilled": True, **changes})


# --- De la imagen a las filas ---------------------------------------------------------------------


@typed(validate=checks.patchify)
def patchify(
    images: Float[Tensor, "batch channel height width"], patch_size: int
) -> Float[Tensor, "batch n pixels"]:
    """Corta cada imagen en parches cuadrados y los pone en fila, de arriba abajo y de izquierda a
    derecha.

    Cada fila lleva los ``channel · patch_size²`` números de su parche, canal por canal.

    Errores: ``TypeError`` o ``ValueError`` si ``images`` no es (batch, channel, height, width) de
    coma flotante o ``patch_size`` no divide el alto y el ancho.
    Fuente: Dosovitskiy et al. (2021), § 3.1.
    """
    batch, channels = images.shape[:2]
    p = patch_size
    rows = images.unfold(2, p, p)  # (batch, channel, rows, width, p)
    cells = rows.unfold(3, p, p)  # (batch, channel, rows, columns, p, p)
    cells = cells.permute(0, 2, 3, 1, 4, 5)  # (batch, rows, columns, channel, p, p)
    return cells.reshape(batch, -1, channels * p**2)


@typed(validate=checks.unpatchify)
def unpatchify(
    patches: Float[Tensor, "batch n pixels"], patch_size: int, channels: int = 1
) -> Float[Tensor, "batch channel side side"]:
    """Vuelve a montar imágenes cuadradas con los parches de :func:`patchify`.

    Errores: ``TypeError`` o ``ValueError`` si los parches no son ``channels · patch_size²`` números
    o no llenan un cuadrado.
    """
    batch, n, _ = patches.shape
    side = round(n**0.5)
    cells = patches.reshape(batch, side, side, channels, patch_size, patch_size)
    whole = cells.permute(0, 3, 1, 4, 2, 5)  # (batch, channel, row, p, column, p)
    return whole.reshape(batch, channels, side * patch_size, side * patch_size)


class PatchEmbedding(nn.Module):
    """La entrada: una fila por parche, con las añadidas delante, más la de su posición.

    Proyectar los parches es una convolución cuyo paso es el tamaño del parche: cada peso de
    ``project``, (d_model, channel · patch_size²), multiplica un píxel.

    Errores: ``TypeError`` si ``config`` no es una :class:`VitConfig`.
    Fuente: Dosovitskiy et al. (2021), ec. 1; Touvron et al. (2021), § 4.
    """

    @typed(validate=checks.model)
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        c = self.config = config
        self.project = nn.Linear(c.channels * c.patch_size**2, c.d_model)
        self.added = nn.Parameter(torch.zeros(c.n_added, c.d_model))
        self.positions = Learned(c.n_added + c.n_patches, c.d_model)
        self.dropout = Dropout(c.dropout)

    @typed(validate=checks.images)
    def forward(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch n d_model"]:
        """Filas de ``images``, (batch, channel, image_size, image_size): añadidas y parches.

        Errores: los de :meth:`Vit.forward`.
        """
        patches = patchify(images, self.config.patch_size)  # (batch, n_patches, pixels)
        x = self.project(patches)  # (batch, n_patches, d_model)
        added = self.added.expand(len(images), -1, -1)  # (batch, n_added, d_model)
        return self.dropout(self.positions(torch.cat([added, x], dim=1)))


# --- El modelo ------------------------------------------------------------------------------------


class Answers(NamedTuple):
    """Las puntuaciones de las dos cabezas de un :class:`Vit` destilado, (batch, class)."""

    classes: Tensor
    teacher: Tensor


class Vit(nn.Module):
    """Un codificador de imágenes: ``forward(images)`` da puntuaciones (batch, class).

    La norma va delante de cada subcapa y otra al final. La cabeza clasifica la primera fila o la
    media de los parches. Con ``distilled`` son dos cabezas: entrenando se ven las dos por separado,
    con :meth:`answers`, y ``forward`` da su media.

    Errores: ``TypeError`` si ``config`` no es una :class:`VitConfig`.
    Fuente: Dosovitskiy et al. (2021), § 3.1; Touvron et al. (2021), § 4.
    """

    @typed(validate=checks.model)
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        c = self.config = config
        self.embed = PatchEmbedding(c)
        final = LayerNorm(c.d_model, eps=c.norm_eps)
        self.encoder = Encoder([self._block() for _ in range(c.n_layers)], final)
        self.classify = nn.Linear(c.d_model, c.classes)
        self.imitate = nn.Linear(c.d_model, c.classes) if c.distilled else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos, con ``init_std`` y ``position_std``, y anula los sesgos."""
        draw_normal(self, self.config.init_std)
        nn.init.normal_(self.embed.added, std=self.config.init_std)
        nn.init.normal_(self.embed.positions.table, std=self.config.position_std)

    @typed
    def forward(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch class"]:
        """Puntuaciones de cada clase.

        Errores: ``TypeError`` o ``ValueError`` si ``images`` no es de coma flotante, de tamaño
        (batch, channels, image_size, image_size).
        """
        answers = self.answers(images)
        return answers.classes if self.imitate is None else (answers.classes + answers.teacher) / 2

    @typed
    def answers(self, images: Float[Tensor, "batch channel height width"]) -> Answers:
        """Las puntuaciones de la cabeza de las clases y de la que imita; sin ella, la misma.

        Errores: los de :meth:`forward`.
        """
        states = self.states(images)  # (batch, n, d_model)
        classes = self.classify(self._summary(states))
        if self.imitate is None:
            return Answers(classes, classes)
        return Answers(classes, self.imitate(states[:, self.config.n_added - 1]))

    @typed
    def states(
        self,
        images: Float[Tensor, "batch channel height width"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """El estado de cada fila al salir de la pila: primero las añadidas y después los parches.

        ``mask``, si se da, se difunde hasta (batch, head, query, key): con ella se tapan parches o
        se limita a quién mira cada uno.

        Errores: los de :meth:`forward`, y si ``mask`` no es booleana o no se difunde.
        """
        return self.encoder(self.embed(images), mask)

    def _summary(self, states: Tensor) -> Tensor:
        if self.config.pooling == "mean":
            return states[:, self.config.n_added :].mean(dim=1)  # (batch, d_model)
        return states[:, 0]

    def _block(self) -> EncoderBlock:
        c = self.config
        attention = MultiHeadAttention(c.d_model, c.n_heads, dropout=c.attention_dropout)
        dense = FeedForward(c.d_model, c.d_ff, activation="gelu")
        block = EncoderBlock(attention, dense, norm="pre", dropout=c.dropout)
        for residual in (block.add_attention, block.add_feed_forward):
            residual.norm.eps = c.norm_eps
        return block
