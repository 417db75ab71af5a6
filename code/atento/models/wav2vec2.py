"""Piso 6: wav2vec 2.0, que aprende a oír sin que nadie le diga qué se dice.

Unas convoluciones leen la onda y dan una fila cada 20 ms, que es lo que se puede predecir. Se tapan
tramos, un Transformer mira lo que queda, y en cada sitio tapado ha de señalar la fila que había
entre otras de la misma grabación (:func:`contrastive_loss`). Lo que se señala puede pasar antes por
un cuantizador, que la cambia por la más parecida de unas pocas.

Después se usa como cualquier codificador: ``Wav2Vec2(config)(wave)`` da un vector por fila. Los
pesos de otros entran por :func:`atento.models.weights.from_wav2vec2`.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Encoder, EncoderBlock
from atento.checks import wav2vec2 as checks
from atento.layers import Dropout, FeedForward, LayerNorm
from atento.models.bert import draw_normal
from atento.shapes import typed
from atento.training import unwrap

# --- La configuración -----------------------------------------------------------------------------

SMALL_CONVS = ((32, 10, 5), (32, 8, 4), (32, 4, 4))
PUBLISHED_CONVS = ((512, 10, 5), *[(512, 3, 2)] * 4, *[(512, 2, 2)] * 2)
"""Las convoluciones publicadas: filtros, muestras que ve cada uno y lo que avanza."""


@dataclass(frozen=True)
class Wav2Vec2Config:
    """Todo lo que define un :class:`Wav2Vec2` y lo que hace falta para preentrenarlo.

    ``convs`` son las convoluciones: (filtros, muestras que ve, lo que avanza). ``conv_norm`` es
    ``"group"``, una norma por filtro y solo en la primera, o ``"layer"``, una por fila en todas.
    ``norm`` es «post» o «pre». La posición es una convolución de ``place_kernel`` filas en
    ``place_groups`` grupos. El cuantizador elige un código de ``codes`` en cada uno de sus
    ``codebooks`` libros, y los junta en ``d_code`` números; con ``codebooks=0`` no hay. Se compara
    en ``d_compare`` dimensiones, con los cosenos entre ``temperature``. ``diversity`` es el peso de
    :func:`diversity_loss`. Los pesos se sortean con desviación ``init_std``.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    convs: tuple[tuple[int, int, int], ...] = SMALL_CONVS
    conv_norm: str = "group"
    conv_bias: bool = False
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 128
    n_layers: int = 2
    norm: str = "post"
    place_kernel: int = 16
    place_groups: int = 4
    codebooks: int = 2
    codes: int = 32
    d_code: int = 32
    d_compare: int = 32
    temperature: float = 0.1
    diversity: float = 0.1
    dropout: float = 0.0
    attention_dropout: float = 0.0
    init_std: float = 0.02

    def __post_init__(self) -> None:
        checks.fields(self)

    @classmethod
    def base(cls, **changes: Any) -> "Wav2Vec2Config":
        """wav2vec 2.0 base: doce capas de anchura 768, 95 millones de parámetros.

        Errores: los de :class:`Wav2Vec2Config`.
        Fuente: Baevski et al. (2020), § 4.2.
        """
        wide = {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_layers": 12}
        place = {"place_kernel": 128, "place_groups": 16}
        books = {"codes": 320, "d_code": 256, "d_compare": 256}
        sizes: dict[str, Any] = {"convs": PUBLISHED_CONVS, **wide, **place, **books}
        return cls(**{**sizes, **changes})

    @classmethod
    def large(cls, **changes: Any) -> "Wav2Vec2Config":
        """wav2vec 2.0 large: veinticuatro capas de anchura 1024, 317 millones de parámetros.

        Los códigos y lo que se compara miden 768.

        Errores: los de :class:`Wav2Vec2Config`.
        Fuente: Baevski et al. (2020), § 4.2.
        """
        wide = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_layers": 24}
        return cls.base(**{**wide, "d_code": 768, "d_compare": 768, **changes})

    @classmethod
    def large_lv60(cls, **changes: Any) -> "Wav2Vec2Config":
        """La versión large entrenada con 53 200 horas: norma delante y en todas las convoluciones.

        Errores: los de :class:`Wav2Vec2Config`.
        Fuente: la configuración publicada.
        """
        return cls.large(**{"norm": "pre", "conv_norm": "layer", "conv_bias": True, **changes})


# --- De la onda a las filas -----------------------------------------------------------------------


class ConvLayer(nn.Module):
    """Una convolución de la entrada, su norma, si la lleva, y GELU; de (batch, channel, n).

    ``norm`` es ``"group"``, cada filtro con su media en toda la grabación; ``"layer"``, cada fila
    con la suya, o ``None``.

    Errores: ``TypeError`` o ``ValueError`` si los tamaños no son enteros positivos o ``norm`` no es
    una de esas.
    Fuente: Baevski et al. (2020), § 2.
    """

    @typed(validate=checks.conv_layer)
    def __init__(
        self, channels: int, shape: tuple[int, int, int], *, norm: str | None, bias: bool
    ) -> None:
        super().__init__()
        out, kernel, stride = shape
        self.conv = nn.Conv1d(channels, out, kernel, stride, bias=bias)
        self.kind = norm
        self.norm: nn.Module = nn.Identity() if norm is None else LayerNorm(out)
        if norm == "group":
            self.norm = nn.GroupNorm(out, out)

    @typed(validate=checks.channels)
    def forward(self, x: Float[Tensor, "batch channel n"]) -> Float[Tensor, "batch filter fewer"]:
        """Filtra ``x``, (batch, channel, n).

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (batch, channel, n) de coma flotante
        o es más corta que un filtro.
        """
        x = self.conv(x)
        return F.gelu(self.norm(x.mT).mT if self.kind == "layer" else self.norm(x))


class WaveEncoder(nn.Module):
    """Lo que oye: de la onda, (batch, samples), a filas, (batch, frame, channel).

    Errores: ``TypeError`` si ``config`` no es una :class:`Wav2Vec2Config`.
    Fuente: Baevski et al. (2020), § 2.
    """

    @typed(validate=checks.model)
    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        c = self.config = config
        inputs = [1, *(out for out, _, _ in c.convs)]
        norms = [
            c.conv_norm if c.conv_norm == "layer" or i == 0 else None for i in range(len(c.convs))
        ]
        self.layers = nn.Sequential(
            *(
                ConvLayer(channels, shape, norm=norm, bias=c.conv_bias)
                for channels, shape, norm in zip(inputs, c.convs, norms, strict=False)
            )
        )

    def frames(self, samples: int) -> int:
        """Cuántas filas salen de ``samples`` muestras.

        Errores: ``TypeError`` o ``ValueError`` si no es un entero positivo o no da para una fila.
        """
        return checks.require_frames(samples, self.config.convs)

    @typed(validate=checks.heard)
    def forward(self, wave: Float[Tensor, "batch samples"]) -> Float[Tensor, "batch frame channel"]:
        """Las filas de ``wave``, (batch, samples).

        Errores: ``TypeError`` o ``ValueError`` si ``wave`` no es (batch, samples) de coma flotante
        o no da para una fila.
        """
        return self.layers(wave[:, None]).mT


class ConvPositions(nn.Module):
    """La posición, por convolución: suma a cada fila lo que dicen las de su alrededor.

    El filtro se aprende partido en dirección y tamaño, un tamaño por sitio.

    Errores: ``TypeError`` si ``config`` no es una :class:`Wav2Vec2Config`.
    Fuente: Baevski et al. (2020), § 2; la partición, Salimans y Kingma (2016).
    """

    @typed(validate=checks.model)
    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        c = self.config = config
        shape: dict[str, Any] = {"padding": c.place_kernel // 2, "groups": c.place_groups}
        conv = nn.Conv1d(c.d_model, c.d_model, c.place_kernel, **shape)
        nn.init.normal_(conv.weight, std=2 * (c.place_kernel * c.d_model) ** -0.5)
        conv.bias = nn.Parameter(torch.zeros(c.d_model))
        self.conv = nn.utils.parametrizations.weight_norm(conv, dim=2)

    @typed(validate=checks.rows)
    def forward(self, x: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n d_model"]:
        """Devuelve ``x``, (batch, n, d_model), más su posición.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (batch, n, d_model).
        """
        places = self.conv(x.mT)[..., : x.shape[1]].mT  # con un filtro par sobra una
        return x + F.gelu(places)


# --- El modelo ------------------------------------------------------------------------------------


class Wav2Vec2(nn.Module):
    """Un vector por fila: ``forward(wave, masked)`` da (batch, frame, d_model).

    Nada se tapa si no se pide: todas las ondas de un lote duran lo mismo.

    Errores: ``TypeError`` si ``config`` no es una :class:`Wav2Vec2Config`.
    Fuente: Baevski et al. (2020), § 2 y figura 1.
    """

    @typed(validate=checks.model)
    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        c = self.config = config
        self.listen = WaveEncoder(c)
        channels = c.convs[-1][0]
        self.norm, self.project = LayerNorm(channels), nn.Linear(channels, c.d_model)
        self.hidden_row = nn.Parameter(torch.rand(c.d_model))  # lo que se pone donde se tapa
        self.places = ConvPositions(c)
        self.stack_norm = LayerNorm(c.d_model)
        self.dropout = Dropout(c.dropout)
        self.encoder = Encoder([self._block() for _ in range(c.n_layers)])
        draw_normal(self, c.init_std)

    def _block(self) -> EncoderBlock:
        c = self.config
        attention = MultiHeadAttention(c.d_model, c.n_heads, dropout=c.attention_dropout)
        dense = FeedForward(c.d_model, c.d_ff, activation="gelu", dropout=c.dropout)
        return EncoderBlock(attention, dense, norm=c.norm, dropout=c.dropout)

    @typed
    def features(
        self, wave: Float[Tensor, "batch samples"]
    ) -> Float[Tensor, "batch frame channel"]:
        """Las filas de ``wave``, (batch, samples), ya normalizadas: lo que se ha de adivinar.

        Errores: los de :class:`WaveEncoder`.
        """
        return self.norm(self.listen(wave))

    @typed(validate=checks.context)
    def context(
        self,
        features: Float[Tensor, "batch frame channel"],
        masked: Bool[Tensor, "batch frame"] | None = None,
    ) -> Float[Tensor, "batch frame d_model"]:
        """Lo que el Transformer entiende de ``features``; donde ``masked`` es ``True``, a ciegas.

        Errores: ``TypeError`` o ``ValueError`` si ``features`` no es (batch, frame, channel) de
        coma flotante o ``masked`` no es (batch, frame) booleano.
        """
        x = self.project(features)  # (batch, frame, d_model)
        if masked is not None:
            x = torch.where(masked[..., None], self.hidden_row, x)
        x = self.places(x)
        if self.config.norm == "post":
            return self.encoder(self.dropout(self.stack_norm(x)))
        return self.stack_norm(self.encoder(self.dropout(x)))

    def forward(
        self,
        wave: Float[Tensor, "batch samples"],
        masked: Bool[Tensor, "batch frame"] | None = None,
    ) -> Float[Tensor, "batch frame d_model"]:
        """Un vector por fila de ``wave``, (batch, samples).

        Errores: los de :meth:`features` y :meth:`context`.
        """
        return self.context(self.features(wave), masked)


# --- El cuantizador -------------------------------------------------------------------------------


class Quantized(NamedTuple):
    """Lo que da el cuantizador: los vectores, (batch, frame, d_code), qué código se eligió en cada
    libro, ``(batch, frame, book)``, y la perplejidad, sumada sobre los libros.
    """

    vectors: Float[Tensor, "batch frame d_code"]
    codes: Int[Tensor, "batch frame book"]
    perplexity: Float[Tensor, ""]


class Quantizer(nn.Module):
    """Cambia cada fila por un código de cada libro, y los junta.

    Al entrenar se elige al azar, con las puntuaciones y ruido de Gumbel a la temperatura
    ``self.temperature``, y el gradiente pasa como si se mezclaran todos; al evaluar, el mejor. En
    el artículo, la temperatura baja de 2 a 0.5.

    Errores: ``TypeError`` si ``config`` no es una :class:`Wav2Vec2Config`; ``ValueError`` si no
    tiene libros.
    Fuente: Baevski et al. (2020), § 2, ec. 1; el azar, Jang et al. (2017).
    """

    @typed(validate=checks.quantizer)
    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        c = self.config = config
        self.temperature = 2.0
        self.score = nn.Linear(c.convs[-1][0], c.codebooks * c.codes)
        self.vectors = nn.Parameter(torch.rand(c.codebooks * c.codes, c.d_code // c.codebooks))
        nn.init.normal_(self.score.weight)
        nn.init.zeros_(self.score.bias)

    @typed(validate=checks.quantized)
    def forward(
        self,
        features: Float[Tensor, "batch frame channel"],
        masked: Bool[Tensor, "batch frame"] | None = None,
    ) -> Quantized:
        """Los códigos de ``features``, (batch, frame, channel).

        La perplejidad dice cuántos códigos se usan por igual; cuenta las filas de ``masked`` o, sin
        él, todas. Al entrenar, con las probabilidades; al evaluar, con lo elegido.

        Errores: los de :meth:`Wav2Vec2.context`.
        """
        scores = rearrange(self.score(features), "b n (book v) -> b n book v", v=self.config.codes)
        best = F.one_hot(scores.argmax(-1), self.config.codes).to(scores)
        noisy = F.gumbel_softmax(scores, self.temperature, hard=True) if self.training else best
        used = scores.softmax(-1) if self.training else best  # (batch, frame, book, code)
        books = rearrange(self.vectors, "(book v) d -> book v d", v=self.config.codes)
        vectors = torch.einsum("bnkv,kvd->bnkd", noisy, books).flatten(2)
        mean = used.flatten(0, 1).mean(0) if masked is None else used[masked].mean(0)
        perplexity = (-torch.xlogy(mean, mean).sum(-1)).exp().sum()
        return Quantized(vectors, noisy.argmax(-1), perplexity)


# --- Preentrenar ----------------------------------------------------------------------------------


class Guess(NamedTuple):
    """Lo que se compara, (batch, frame, d_compare), y la perplejidad del cuantizador, si lo hay."""

    context: Float[Tensor, "batch frame d_compare"]
    targets: Float[Tensor, "batch frame d_compare"]
    perplexity: Float[Tensor, ""] | None


class Wav2Vec2Pretraining(nn.Module):
    """El modelo, ``model``, con lo que solo hace falta para preentrenarlo.

    Errores: ``TypeError`` si ``config`` no es una :class:`Wav2Vec2Config`.
    Fuente: Baevski et al. (2020), §§ 2 y 3.
    """

    @typed(validate=checks.model)
    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        c = self.config = config
        self.model = Wav2Vec2(c)
        self.quantizer = Quantizer(c) if c.codebooks else None
        self.project_context = nn.Linear(c.d_model, c.d_compare)
        self.project_target = nn.Linear(c.d_code if c.codebooks else c.convs[-1][0], c.d_compare)

    @typed(validate=checks.guess)
    def forward(
        self, wave: Float[Tensor, "batch samples"], masked: Bool[Tensor, "batch frame"]
    ) -> Guess:
        """Lo que se dice de cada fila de ``wave`` con ``masked`` tapado, y lo que había.

        Errores: los de :meth:`Wav2Vec2.forward`.
        """
        features = self.model.features(wave)  # (batch, frame, channel)
        context = self.project_context(self.model.context(features, masked))
        if self.quantizer is None:
            return Guess(context, self.project_target(features), None)
        chosen = self.quantizer(features, masked)
        return Guess(context, self.project_target(chosen.vectors), chosen.perplexity)


@typed(validate=checks.draw_spans)
def draw_spans(
    allowed: Bool[Tensor, "batch frame"], share: float, span: int, rng: torch.Generator
) -> Bool[Tensor, "batch frame"]:
    """Sortea qué filas se tapan, por tramos: ``True`` donde sí.

    En cada grabación, una parte ``share`` de las filas de ``allowed`` (dos, al menos) empieza un
    tramo de ``span`` filas. Los tramos pueden pisarse, y fuera de ``allowed`` no se tapa nada. En
    el artículo son 0.065 y 10.

    Errores: ``TypeError`` o ``ValueError`` si ``allowed`` no es (batch, frame) booleano o deja
    menos de dos filas en alguna grabación, ``share`` no está entre 0 y 1, ``span`` no es un entero
    positivo o ``rng`` no es un generador.
    Fuente: Baevski et al. (2020), § 3.1.
    """
    chance = torch.rand(allowed.shape, generator=rng, device=rng.device).to(allowed.device)
    order = chance.masked_fill(~allowed, 2).argsort(1).argsort(1)  # las permitidas, delante
    starts = order < (share * allowed.sum(1, keepdim=True)).round().clamp(min=2)
    reach = F.pad(starts.double(), (span - 1, 0))  # cada inicio alcanza las span siguientes
    return (F.max_pool1d(reach[:, None], span, stride=1)[:, 0] > 0) & allowed


@typed(validate=checks.draw_negatives)
def draw_negatives(
    masked: Bool[Tensor, "batch frame"], count: int, rng: torch.Generator
) -> Int[Tensor, "batch frame count"]:
    """Sortea, para cada fila tapada, ``count`` de las otras tapadas de su grabación: sus sitios.

    Pueden repetirse. Donde no se tapa hay ceros, que no se miran.

    Errores: ``TypeError`` o ``ValueError`` si ``masked`` no es (batch, frame) booleano o tapa menos
    de dos filas en alguna grabación, ``count`` no es un entero positivo o ``rng`` no es un
    generador.
    Fuente: Baevski et al. (2020), § 3.2.
    """
    drawn = torch.zeros(*masked.shape, count, dtype=torch.long, device=masked.device)
    for row, out in zip(masked, drawn, strict=True):
        places = row.nonzero().squeeze(1)  # (hidden,)
        n = len(places)
        other = torch.randint(n - 1, (n, count), generator=rng, device=rng.device)
        own = torch.arange(n, device=rng.device)[:, None]
        out[places] = places[(other + (other >= own)).to(places.device)]
    return drawn


@typed(validate=checks.contrastive_loss)
def contrastive_loss(
    context: Float[Tensor, "batch frame d_compare"],
    targets: Float[Tensor, "batch frame d_compare"],
    masked: Bool[Tensor, "batch frame"],
    negatives: Int[Tensor, "batch frame count"],
    *,
    temperature: float = 0.1,
) -> Float[Tensor, ""]:
    """Cuánto cuesta señalar la fila que había entre ella y las de ``negatives``, en nats.

    Puntúa el coseno entre ``temperature``, y promedia las filas de ``masked``. Un negativo igual al
    positivo, que pasa si les toca el mismo código, no cuenta.

    Errores: ``TypeError`` o ``ValueError`` si las formas no casan, no hay filas tapadas,
    ``negatives`` no son sitios o ``temperature`` no es positiva.
    Fuente: Baevski et al. (2020), ec. 3.
    """
    which = masked.nonzero()[:, 0]  # la grabación de cada fila tapada, (hidden,)
    positive = targets[masked][:, None]  # (hidden, 1, d_compare)
    others = targets[which[:, None], negatives[masked]]  # (hidden, count, d_compare)
    options = torch.cat([positive, others], dim=1)
    scores = F.cosine_similarity(context[masked][:, None], options, dim=-1) / temperature
    same = (others == positive).all(-1)  # (hidden, count)
    scores = scores.masked_fill(F.pad(same, (1, 0)), -math.inf)
    return F.cross_entropy(scores, scores.new_zeros(len(scores), dtype=torch.long))


def diversity_loss(perplexity: Float[Tensor, ""], total: int) -> Float[Tensor, ""]:
    """Qué parte de los ``total`` códigos, los de todos los libros, no se aprovecha.

    Vale 0 si se usan todos por igual. El artículo escribe la entropía; el código publicado, esto.

    Errores: ``TypeError`` o ``ValueError`` si ``perplexity`` no es un número de coma flotante, ()
    su forma, o ``total`` no es un entero positivo.
    Fuente: Baevski et al. (2020), ec. 4, y el código publicado.
    """
    checks.diversity_loss(perplexity, total)
    return (total - perplexity) / total


def pretraining_loss(model: nn.Module, batch: Any) -> Float[Tensor, ""]:
    """Lo que cuesta acertar más lo que se aprovechan los códigos: la pérdida de ``fit``.

    ``model`` es un :class:`Wav2Vec2Pretraining`, y ``batch``, la onda, (batch, samples), lo tapado,
    (batch, frame), y los negativos, (batch, frame, count).

    Errores: ``TypeError`` o ``ValueError`` si ``batch`` no son tres cosas, y los de
    :func:`contrastive_loss`.
    Fuente: Baevski et al. (2020), ec. 2.
    """
    wave, masked, negatives = checks.require_three(batch)
    c: Any = unwrap(model).config
    guess = model(wave, masked)
    loss = contrastive_loss(*guess[:2], masked, negatives, temperature=c.temperature)
    if guess.perplexity is None:
        return loss
    return loss + c.diversity * diversity_loss(guess.perplexity, c.codebooks * c.codes)
