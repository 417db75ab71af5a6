"""Piso 6: SepFormer, que separa las voces de una mezcla sin salir de las muestras.

Un codificador convierte la onda en filas, una red calcula una máscara por voz, y un decodificador
convierte en onda lo que cada máscara deja pasar. Las máscaras salen de un doble camino: las filas
se trocean (:func:`segment`), la atención mira primero dentro de cada trozo y después entre trozos,
y los trozos se vuelven a juntar (:func:`join`). Con N filas en trozos de √N, cada camino cuesta
N · √N en lugar de N².

Quién es la primera voz no lo sabe nadie: la pérdida, :func:`sepformer_loss`, da por buena la mejor
asignación (:func:`atento.audio.separation`).
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.audio import separation
from atento.blocks import Encoder, EncoderBlock
from atento.checks import sepformer as checks
from atento.layers import FeedForward, LayerNorm
from atento.positions import Sinusoidal
from atento.shapes import typed

# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class SepFormerConfig:
    """Todo lo que define un :class:`SepFormer`; las medidas publicadas, en :meth:`published`.

    Cada fila mira ``kernel_size`` muestras y la siguiente empieza ``stride`` más allá; mide
    ``d_model``, que son también los filtros. ``chunk`` son las filas de un trozo, un número par.
    Hay ``n_repeats`` dobles caminos, cada uno con dos pilas de ``n_layers`` bloques. Salen
    ``n_voices`` voces. ``dropout`` actúa a la salida de cada subcapa.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    n_voices: int = 2
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 128
    n_layers: int = 1
    n_repeats: int = 2
    kernel_size: int = 16
    stride: int = 8
    chunk: int = 50
    dropout: float = 0.0

    def __post_init__(self) -> None:
        checks.fields(self)

    @classmethod
    def published(cls, **changes: Any) -> "SepFormerConfig":
        """El SepFormer de dos voces del artículo, de 26 millones de parámetros.

        Errores: los de :class:`SepFormerConfig`.
        Fuente: Subakan et al. (2021), § 3.2, y el código publicado.
        """
        sizes = {"d_model": 256, "n_heads": 8, "d_ff": 1024, "n_layers": 8, "chunk": 250}
        return cls(**{**sizes, **changes})


# --- Trocear --------------------------------------------------------------------------------------


@typed(validate=checks.segment)
def segment(
    x: Float[Tensor, "batch n d_model"], size: int
) -> Float[Tensor, "batch chunk size d_model"]:
    """Parte ``x`` en trozos de ``size`` filas que se pisan a medias, para que nada quede al borde.

    Pone ceros en los dos extremos, y así cada fila está en dos trozos: al principio de uno y al
    final de otro, o al revés. Salen ⌈n / (size / 2)⌉ + 1.

    Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (batch, n, d_model) de coma flotante o
    ``size`` no es un entero positivo y par.
    Fuente: Luo et al. (2020), § 2.1.
    """
    n, half = x.shape[1], size // 2
    total = half * (math.ceil(n / half) + 2)
    padded = F.pad(x, (0, 0, half, total - half - n))  # (batch, total, d_model)
    return padded.unfold(1, size, half).mT  # (batch, chunk, size, d_model)


@typed(validate=checks.join)
def join(
    pieces: Float[Tensor, "batch chunk size d_model"], n: int
) -> Float[Tensor, "batch n d_model"]:
    """Vuelve de los trozos a las ``n`` filas: la media de las dos veces que está cada una.

    Es lo contrario de :func:`segment`. El código publicado las suma y no divide entre dos.

    Errores: ``TypeError`` o ``ValueError`` si ``pieces`` no son los trozos de ``n`` filas.
    Fuente: Luo et al. (2020), § 2.1.
    """
    half = pieces.shape[2] // 2
    first, last = pieces[:, :, :half], pieces[:, :, half:]  # las dos mitades de cada trozo
    twice = last[:, :-1] + first[:, 1:]  # (batch, chunk - 1, half, d_model)
    return twice.flatten(1, 2)[:, :n] / 2


# --- El doble camino ------------------------------------------------------------------------------


class GlobalNorm(nn.Module):
    """Normaliza cada ejemplo entero, y no fila a fila; después escala y desplaza cada componente.

    Lo que se compara entre trozos conserva así su volumen. Es ``nn.GroupNorm`` con un solo grupo,
    con los componentes al final.

    Errores: ``TypeError`` o ``ValueError`` si ``d_model`` no es un entero positivo.
    Fuente: Luo et al. (2020), § 2.2.
    """

    @typed(validate=checks.norm)
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model, self.eps = d_model, 1e-8
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    @typed(validate=checks.normed)
    def forward(
        self, x: Float[Tensor, "batch *places d_model"]
    ) -> Float[Tensor, "batch *places d_model"]:
        """Normaliza ``x``, (batch, …, d_model), con la media y la varianza de cada ejemplo.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no mide ``d_model`` al final.
        """
        return F.layer_norm(x, list(x.shape[1:]), eps=self.eps) * self.weight + self.bias


class PlacedEncoder(nn.Module):
    """Una pila de bloques con la norma delante, que antes suma a cada fila su sitio (sinusoides).

    Errores: ``TypeError`` si ``config`` no es una :class:`SepFormerConfig`.
    Fuente: Subakan et al. (2021), § 2.2.1, ec. 6.
    """

    @typed(validate=checks.model)
    def __init__(self, config: SepFormerConfig) -> None:
        super().__init__()
        c = self.config = config
        self.places = Sinusoidal(c.d_model)
        self.encoder = Encoder([self._block() for _ in range(c.n_layers)], LayerNorm(c.d_model))

    def _block(self) -> EncoderBlock:
        c = self.config
        attention = MultiHeadAttention(c.d_model, c.n_heads)
        return EncoderBlock(attention, FeedForward(c.d_model, c.d_ff), dropout=c.dropout)

    @typed(validate=checks.rows)
    def forward(self, x: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch n d_model"]:
        """Cada fila de ``x``, (…, n, d_model), atiende a las demás de su secuencia.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no mide ``d_model``.
        """
        return self.encoder(self.places(x))


class DualPath(nn.Module):
    """Un doble camino: atención dentro de cada trozo y, después, entre trozos.

    En el primero, una fila ve las de su trozo; en el segundo, las que están en su mismo sitio de
    los demás trozos. Con los dos, todo llega a todo. A cada camino le siguen una norma y una suma.

    ``within`` y ``across`` son módulos que no cambian la forma de (…, n, d_model), como
    :class:`PlacedEncoder`.

    Errores: ``TypeError`` o ``ValueError`` si no son módulos o ``d_model`` no es un entero
    positivo.
    Fuente: Luo et al. (2020), § 2.2; con atención, Subakan et al. (2021), § 2.2, ec. 5.
    """

    @typed(validate=checks.dual_path)
    def __init__(self, within: nn.Module, across: nn.Module, d_model: int) -> None:
        super().__init__()
        self.within, self.across = within, across
        self.norm_within, self.norm_across = GlobalNorm(d_model), GlobalNorm(d_model)

    @typed(validate=checks.pieces)
    def forward(
        self, x: Float[Tensor, "batch chunk size d_model"]
    ) -> Float[Tensor, "batch chunk size d_model"]:
        """Pasa los trozos de ``x`` por los dos caminos.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (batch, chunk, size, d_model).
        """
        x = x + self.norm_within(self.within(x))  # se atiende entre las size filas
        crossed = self.across(x.transpose(1, 2)).transpose(1, 2)  # y entre los chunk trozos
        return x + self.norm_across(crossed)


# --- El modelo ------------------------------------------------------------------------------------


class MaskNet(nn.Module):
    """La red que da las máscaras: de (batch, n, d_model) a (batch, voice, n, d_model), sin
    negativos.

    Una máscara no llega a un tope: puede subir lo que deja pasar.

    Errores: ``TypeError`` si ``config`` no es una :class:`SepFormerConfig`.
    Fuente: Subakan et al. (2021), § 2.2 y figura 2.
    """

    @typed(validate=checks.model)
    def __init__(self, config: SepFormerConfig) -> None:
        super().__init__()
        c = self.config = config
        d = c.d_model
        self.norm = GlobalNorm(d)
        self.project = nn.Linear(d, d, bias=False)
        paths = [DualPath(PlacedEncoder(c), PlacedEncoder(c), d) for _ in range(c.n_repeats)]
        self.paths = nn.Sequential(*paths)
        self.slope = nn.PReLU()
        self.split = nn.Linear(d, c.n_voices * d)
        self.value, self.gate = nn.Linear(d, d), nn.Linear(d, d)
        self.to_mask = nn.Linear(d, d, bias=False)

    @typed(validate=checks.rows)
    def forward(
        self, x: Float[Tensor, "batch n d_model"]
    ) -> Float[Tensor, "batch voice n d_model"]:
        """Una máscara por voz para las filas de ``x``, (batch, n, d_model).

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (batch, n, d_model).
        """
        pieces = segment.unchecked(self.project(self.norm(x)), self.config.chunk)
        pieces = self.split(self.slope(self.paths(pieces)))  # (batch, chunk, size, voice · d_model)
        voices = rearrange(
            pieces, "b chunk size (voice d) -> (b voice) chunk size d", d=x.shape[-1]
        )
        rows = join.unchecked(voices, x.shape[1])  # (batch · voice, n, d_model)
        rows = self.value(rows).tanh() * self.gate(rows).sigmoid()
        masks = F.relu(self.to_mask(rows))
        return rearrange(masks, "(b voice) n d -> b voice n d", b=len(x))


class SepFormer(nn.Module):
    """De la mezcla a sus voces: ``forward(mixture)`` da (batch, voice, samples), en ningún orden.

    Errores: ``TypeError`` si ``config`` no es una :class:`SepFormerConfig`.
    Fuente: Subakan et al. (2021), § 2 y figura 1.
    """

    @typed(validate=checks.model)
    def __init__(self, config: SepFormerConfig) -> None:
        super().__init__()
        c = self.config = config
        shape: dict[str, Any] = {"kernel_size": c.kernel_size, "stride": c.stride, "bias": False}
        self.filters = nn.Conv1d(1, c.d_model, **shape)
        self.masks = MaskNet(c)
        self.decoder = nn.ConvTranspose1d(c.d_model, 1, **shape)

    @typed(validate=checks.wave)
    def encode(self, mixture: Float[Tensor, "batch samples"]) -> Float[Tensor, "batch n d_model"]:
        """Las filas de unas ondas, sin negativos; la última se completa con silencio.

        Errores: ``TypeError`` o ``ValueError`` si ``mixture`` no es (batch, samples) de coma
        flotante.
        Fuente: Subakan et al. (2021), ec. 1.
        """
        c = self.config
        n = max(0, math.ceil((mixture.shape[1] - c.kernel_size) / c.stride)) + 1
        missing = c.kernel_size + c.stride * (n - 1) - mixture.shape[1]
        return F.relu(self.filters(F.pad(mixture, (0, missing))[:, None])).mT

    @typed(validate=checks.decode)
    def decode(
        self, rows: Float[Tensor, "batch voice n d_model"], samples: int
    ) -> Float[Tensor, "batch voice samples"]:
        """La onda de cada voz: cada fila pone su trozo, y donde se pisan se suman.

        Errores: ``TypeError`` o ``ValueError`` si ``rows`` no es (batch, voice, n, d_model) de coma
        flotante o no da para ``samples`` muestras.
        Fuente: Subakan et al. (2021), ec. 4.
        """
        waves = self.decoder(rows.flatten(0, 1).mT).squeeze(1)  # (batch · voice, …)
        return rearrange(waves[:, :samples], "(b voice) samples -> b voice samples", b=len(rows))

    @typed(validate=checks.wave)
    def forward(
        self, mixture: Float[Tensor, "batch samples"]
    ) -> Float[Tensor, "batch voice samples"]:
        """Las voces de cada mezcla de ``mixture``, (batch, samples), tan largas como ella.

        Errores: los de :meth:`encode`.
        """
        rows = self.encode(mixture)  # (batch, n, d_model)
        masks = self.masks(rows)  # (batch, voice, n, d_model)
        return self.decode(rows[:, None] * masks, mixture.shape[1])


def sepformer_loss(model: nn.Module, batch: Any) -> Float[Tensor, ""]:
    """Menos el SI-SNR medio, en decibelios, con la asignación que más da: la pérdida de ``fit``.

    ``batch`` es la pareja de la mezcla, (batch, samples), y sus voces, (batch, voice, samples).

    Errores: ``TypeError`` o ``ValueError`` si no es una pareja, y los de
    :func:`atento.audio.separation`.
    Fuente: Yu et al. (2017), § 3; en ondas, Luo y Mesgarani (2019).
    """
    mixture, voices = checks.require_pair(batch)
    return -separation(model(mixture), voices).si_snr.mean()
