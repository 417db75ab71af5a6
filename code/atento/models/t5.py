"""Piso 6: T5, que lee un texto y escribe otro, sea cual sea la tarea.

Es :class:`~atento.models.seq2seq.Seq2Seq`, con sus ``encode``, ``step`` y ``generate``, hecho con
las piezas de 2020: RMS delante de cada subcapa, ningún sesgo que no sea el de las posiciones, que
es relativo y común a las capas de una pila, y una sola matriz de palabras.

T5 no divide las puntuaciones entre √d_head ni multiplica los embeddings por √d_model, y al final
divide la salida entre √d_model. Aquí, esas constantes van dentro de los pesos: son las mismas
funciones, y :func:`atento.models.weights.from_t5` hace la cuenta.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from atento.attention import MultiHeadAttention
from atento.checks import t5 as checks
from atento.layers import FeedForward, RMSNorm
from atento.models.positioning import Positions
from atento.models.seq2seq import Seq2Seq
from atento.positions import RelativeBias
from atento.shapes import typed


@dataclass(frozen=True)
class T5Config:
    """Todo lo que define un :class:`T5`; las medidas publicadas, en los constructores.

    ``d_head`` es, si no se da, ``d_model / n_heads``, y no tiene por qué serlo. ``n_layers`` son
    las de cada pila. La escritura empieza por ``bos_id``, que en T5 es el relleno. ``dropout``
    actúa en los embeddings, a la salida de cada subcapa, en los pesos de atención y en la capa
    interna de la red densa.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    vocab: int
    d_model: int = 64
    n_heads: int = 4
    d_head: int | None = None
    d_ff: int = 256
    n_layers: int = 2
    n_buckets: int = 32
    max_distance: int = 128
    dropout: float = 0.0
    pad_id: int = 0
    bos_id: int = 0
    eos_id: int = 1
    tying: ClassVar[str] = "all"

    def __post_init__(self) -> None:
        checks.fields(self)
        if self.d_head is None:
            object.__setattr__(self, "d_head", self.d_model // self.n_heads)

    @property
    def source_vocab(self) -> int:
        """El vocabulario de lo que lee, que es el de todo."""
        return self.vocab

    @property
    def target_vocab(self) -> int:
        """El vocabulario de lo que escribe, que es el de todo."""
        return self.vocab

    @property
    def n_encoder_layers(self) -> int:
        """Las capas del codificador, que son las de cada pila."""
        return self.n_layers

    @property
    def n_decoder_layers(self) -> int:
        """Las capas del decodificador, que son las de cada pila."""
        return self.n_layers

    @classmethod
    def small(cls, vocab: int = 32_128, **changes: Any) -> "T5Config":
        """T5-small: seis capas por pila, de anchura 512.

        Errores: los de :class:`T5Config`.
        Fuente: Raffel et al. (2020), § 3.7.
        """
        sizes = {"d_model": 512, "n_heads": 8, "d_head": 64, "d_ff": 2048, "n_layers": 6}
        return cls(vocab, **{**sizes, "dropout": 0.1, **changes})

    @classmethod
    def base(cls, vocab: int = 32_128, **changes: Any) -> "T5Config":
        """T5-base: doce capas por pila, de anchura 768.

        Errores: los de :class:`T5Config`.
        Fuente: Raffel et al. (2020), § 3.1.1.
        """
        sizes = {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_layers": 12}
        return cls.small(vocab, **{**sizes, **changes})

    @classmethod
    def large(cls, vocab: int = 32_128, **changes: Any) -> "T5Config":
        """T5-large: veinticuatro capas por pila, de anchura 1024.

        Errores: los de :class:`T5Config`.
        Fuente: Raffel et al. (2020), § 3.7.
        """
        sizes = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_layers": 24}
        return cls.small(vocab, **{**sizes, **changes})

    @classmethod
    def xl(cls, vocab: int = 32_128, **changes: Any) -> "T5Config":
        """T5-3B: como T5-large, con más cabezas, de anchura 128, y una red densa mayor.

        Errores: los de :class:`T5Config`.
        Fuente: Raffel et al. (2020), § 3.7.
        """
        return cls.large(vocab, **{"n_heads": 32, "d_head": 128, "d_ff": 16_384, **changes})

    @classmethod
    def xxl(cls, vocab: int = 32_128, **changes: Any) -> "T5Config":
        """T5-11B: como T5-3B, con ciento veintiocho cabezas.

        Errores: los de :class:`T5Config`.
        Fuente: Raffel et al. (2020), § 3.7.
        """
        return cls.xl(vocab, **{"n_heads": 128, "d_ff": 65_536, **changes})


class WideAttention(MultiHeadAttention):
    """La multicabeza sin sesgos, con cabezas de cualquier anchura: ``n_heads · d_head``.

    Errores: los de :class:`~atento.attention.MultiHeadAttention`, y los mismos si ``d_head`` no es
    un entero positivo.
    Fuente: Raffel et al. (2020), § 3.7.
    """

    @typed(validate=checks.wide_attention)
    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        *,
        dropout: float = 0.0,
        score_bias: nn.Module | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, bias=False, dropout=dropout, score_bias=score_bias)
        if d_head != self.d_head:
            self.d_head, wide = d_head, n_heads * d_head
            self.project_query, self.project_key, self.project_value = (
                nn.Linear(d_model, wide, bias=False) for _ in range(3)
            )
            self.project_output = nn.Linear(wide, d_model, bias=False)
            self.reset_parameters()


class T5(Seq2Seq):
    """Codificador y decodificador: ``forward(source, target)`` da puntuaciones, (batch, n, vocab).

    ``target`` empieza por ``bos_id``. El relleno va al final de cada frase y nunca cambia un
    resultado, ni tampoco las demás frases del lote.

    Errores: ``TypeError`` si ``config`` no es una :class:`T5Config`.
    Fuente: Raffel et al. (2020), § 2.1.
    """

    config: Any  # una T5Config

    @typed(validate=checks.model)
    def __init__(self, config: T5Config) -> None:
        c = config
        sizes = {"n_buckets": c.n_buckets, "max_distance": c.max_distance}
        both = RelativeBias(c.n_heads, **sizes)
        past = RelativeBias(c.n_heads, **sizes, bidirectional=False)
        places = Positions(encoder={"score_bias": both}, decoder={"score_bias": past})
        Seq2Seq.__init__.unchecked(self, config, positions=places)  # su configuración es otra
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos: cada matriz, con desviación 1/√(lo que entra en ella).

        Es la de T5 con las constantes de la cabecera ya dentro.

        Fuente: Raffel et al. (2020), código publicado.
        """
        c = self.config
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.normal_(part.weight, std=part.in_features**-0.5)
            if isinstance(part, RelativeBias):
                nn.init.normal_(part.table, std=c.d_model**-0.5)

    def _attention(self, options: Any) -> WideAttention:
        c = self.config
        return WideAttention(c.d_model, c.n_heads, c.d_head, dropout=c.dropout, **options)

    def _feed_forward(self) -> FeedForward:
        c = self.config
        return FeedForward(c.d_model, c.d_ff, bias=False, dropout=c.dropout)

    def _block_options(self) -> dict[str, Any]:
        return {"norm": "pre", "normalization": "rms", "dropout": self.config.dropout}

    def _norm(self) -> nn.Module:
        return RMSNorm(self.config.d_model)
