"""Piso 6: GPT, el modelo que solo escribe.

Es :class:`~atento.models.language.LanguageModel`, con su ``forward``, su caché y su ``generate``,
hecho con las piezas y las medidas publicadas: posiciones aprendidas, embeddings sin escalar, la
norma delante de cada subcapa y otra al final, GELU por la tangente hiperbólica y la matriz de
salida atada a la de entrada. Los pesos de otros entran por :func:`atento.models.weights.from_gpt2`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch.nn.functional as F
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Encoder, EncoderBlock
from atento.checks import gpt as checks
from atento.checks import layers as pieces
from atento.layers import FeedForward, LayerNorm, TokenEmbedding
from atento.models.bert import draw_normal
from atento.models.language import LanguageModel
from atento.positions import Learned
from atento.shapes import typed


@dataclass(frozen=True)
class GptConfig:
    """Todo lo que define un :class:`Gpt`; las medidas publicadas, en los constructores.

    ``norm_first`` pone la norma delante de cada subcapa y otra al final, como GPT-2; sin él va
    detrás de cada suma, como en el primer GPT. ``dropout`` actúa en los embeddings y a la salida de
    cada subcapa; ``attention_dropout``, en los pesos de atención. Los pesos se sortean con
    desviación ``init_std``; ``pad_id=None`` dice que no hay relleno.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    vocab: int
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 256
    n_layers: int = 2
    max_len: int = 512
    norm_first: bool = True
    dropout: float = 0.0
    attention_dropout: float = 0.0
    init_std: float = 0.02
    pad_id: int | None = None
    causal: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.fields(self)

    @classmethod
    def small(cls, vocab: int = 50_257, **changes: Any) -> "GptConfig":
        """El GPT-2 menor: doce capas de anchura 768.

        Errores: los de :class:`GptConfig`.
        Fuente: Radford et al. (2019), § 2.3 y tabla 2.
        """
        sizes = {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_layers": 12, "max_len": 1024}
        dropout = {"dropout": 0.1, "attention_dropout": 0.1}
        return cls(vocab, **{**sizes, **dropout, **changes})

    @classmethod
    def medium(cls, vocab: int = 50_257, **changes: Any) -> "GptConfig":
        """El GPT-2 de veinticuatro capas y anchura 1024.

        Errores: los de :class:`GptConfig`.
        Fuente: Radford et al. (2019), tabla 2.
        """
        sizes = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_layers": 24}
        return cls.small(vocab, **{**sizes, **changes})

    @classmethod
    def large(cls, vocab: int = 50_257, **changes: Any) -> "GptConfig":
        """El GPT-2 de treinta y seis capas y anchura 1280.

        Errores: los de :class:`GptConfig`.
        Fuente: Radford et al. (2019), tabla 2.
        """
        sizes = {"d_model": 1280, "n_heads": 20, "d_ff": 5120, "n_layers": 36}
        return cls.small(vocab, **{**sizes, **changes})

    @classmethod
    def xl(cls, vocab: int = 50_257, **changes: Any) -> "GptConfig":
        """El GPT-2 mayor: cuarenta y ocho capas de anchura 1600, con veinticinco cabezas.

        Errores: los de :class:`GptConfig`.
        Fuente: Radford et al. (2019), tabla 2; las cabezas, la configuración publicada.
        """
        sizes = {"d_model": 1600, "n_heads": 25, "d_ff": 6400, "n_layers": 48}
        return cls.small(vocab, **{**sizes, **changes})

    @classmethod
    def gpt1(cls, vocab: int = 40_478, **changes: Any) -> "GptConfig":
        """El primer GPT: como el GPT-2 menor, con la norma detrás y la mitad de contexto.

        Errores: los de :class:`GptConfig`.
        Fuente: Radford et al. (2018), § 4.1.
        """
        return cls.small(vocab, **{"max_len": 512, "norm_first": False, **changes})

    @classmethod
    def gpt3(cls, vocab: int = 50_257, **changes: Any) -> "GptConfig":
        """GPT-3: noventa y seis capas de anchura 12 288. Aquí, con atención densa en todas.

        Errores: los de :class:`GptConfig`.
        Fuente: Brown et al. (2020), tabla 2.1.
        """
        sizes = {"d_model": 12_288, "n_heads": 96, "d_ff": 49_152, "n_layers": 96}
        return cls.small(vocab, **{**sizes, "max_len": 2048, **changes})


class GptEmbedding(TokenEmbedding):
    """La entrada de GPT: la fila de cada palabra más la de su posición, sin multiplicar por √d.

    Errores: ``TypeError`` si ``config`` no es una :class:`GptConfig`.
    Fuente: Radford et al. (2018), ec. 2.
    """

    positions: Learned

    @typed(validate=checks.model)
    def __init__(self, config: GptConfig) -> None:
        places = Learned(config.max_len, config.d_model)
        super().__init__(config.vocab, config.d_model, positions=places, dropout=config.dropout)

    @typed(validate=pieces.embed)
    def forward(
        self, ids: Int[Tensor, "batch n"], positions: Real[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        """Embeddings de ``ids``, que están en ``positions``, (n,) o (batch, n); sin ellas, 0…n − 1.

        Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario,
        (batch, n), o alguna posición no está en la tabla.
        """
        return self.dropout(self.positions(self.tokens(ids), positions))


class GptFeedForward(FeedForward):
    """La red densa de GPT: GELU aproximada con la tangente hiperbólica, como en su código.

    Errores: los de :class:`~atento.layers.FeedForward`.
    Fuente: Hendrycks y Gimpel (2016), § 2.
    """

    @typed(validate=pieces.position_wise)
    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transforma cada posición de ``x`` con los mismos pesos.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es ``(…, d_model)`` de coma flotante.
        """
        return self.contract(self.dropout(F.gelu(self.expand(x), approximate="tanh")))


class Gpt(LanguageModel):
    """Una pila causal: ``forward(ids)`` da puntuaciones de la palabra siguiente, (batch, n, vocab).

    ``step`` y ``generate`` escriben con caché, con las estrategias de :mod:`atento.decoding`. El
    relleno, si lo hay, va al final (o, al generar, a un lado) y nunca cambia un resultado.

    Errores: ``TypeError`` si ``config`` no es una :class:`GptConfig`.
    Fuente: Radford et al. (2019), § 2.3; Phuong y Hutter (2022), algoritmo 10.
    """

    config: Any  # una GptConfig

    @typed(validate=checks.model)
    def __init__(self, config: GptConfig) -> None:
        nn.Module.__init__(self)  # las piezas son otras: de LanguageModel se heredan los métodos
        c = self.config = config
        self.embed = GptEmbedding(c)
        norm = LayerNorm(c.d_model) if c.norm_first else None
        self.encoder = Encoder([self._gpt_block() for _ in range(c.n_layers)], norm)
        self.project = nn.Linear(c.d_model, c.vocab, bias=False)
        self.project.weight = self.embed.tokens.weight
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos, con desviación ``init_std``, y pone los sesgos a 0.

        Las matrices que suman al flujo residual, dos por capa, empiezan √(2 · capas) veces menores.

        Fuente: Radford et al. (2019), § 2.3.
        """
        c = self.config
        draw_normal(self, c.init_std)
        smaller = c.init_std / (2 * c.n_layers) ** 0.5
        for block in self.encoder.blocks:
            for last in (block.attention.project_output, block.feed_forward.contract):
                nn.init.normal_(last.weight, std=smaller)

    def _gpt_block(self) -> EncoderBlock:
        c = self.config
        attention = MultiHeadAttention(c.d_model, c.n_heads, dropout=c.attention_dropout)
        dense = GptFeedForward(c.d_model, c.d_ff, activation="gelu")
        norm = "pre" if c.norm_first else "post"
        return EncoderBlock(attention, dense, norm=norm, dropout=c.dropout)
