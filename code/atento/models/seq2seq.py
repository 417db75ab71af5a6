"""Piso 6: el Transformer de 2017, con las opciones que vinieron después.

``encode`` lee la frase de origen y deja una memoria; ``decode`` puntúa, con ella, la palabra que
sigue a cada posición del destino. Para generar, ``start`` y ``step`` hacen lo mismo paso a paso,
con caché.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Decoder, DecoderBlock, Encoder, EncoderBlock
from atento.cache import KVCache, Memory, Where
from atento.checks import seq2seq as checks
from atento.checks.decoding import require_writing
from atento.decoding import greedy, kept, recomputing
from atento.layers import NORMALIZATIONS, FeedForward, TokenEmbedding
from atento.masks import new_rows, padding_mask
from atento.models.positioning import Positions, added, attention_options
from atento.shapes import trusted, typed
from atento.training import cross_entropy, evaluating, unwrap

# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Seq2SeqConfig:
    """Todo lo que define un :class:`Seq2Seq`; las medidas conocidas, en :meth:`base` y :meth:`big`.

    ``target_vocab`` es, si no se da, ``source_vocab``. ``dropout`` actúa en los embeddings y a la
    salida de cada subcapa; ``attention_dropout``, en los pesos de atención; ``activation_dropout``,
    en la capa interna de la red densa. ``norm_first`` normaliza antes de cada subcapa (y no después
    de cada suma), ``final_norm`` a la salida de cada pila. ``tying`` comparte matrices: «none»,
    «output» (la de salida es la de los embeddings del destino) o «all» (también la del origen).
    ``positions`` es uno de los esquemas de :data:`atento.models.positioning.NAMES`, en la entrada o
    en la autoatención de las dos pilas; ``cross_positions``, uno relativo para la atención cruzada;
    ``max_len`` solo cuenta con posiciones aprendidas.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    source_vocab: int
    target_vocab: int | None = None
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 256
    n_encoder_layers: int = 2
    n_decoder_layers: int = 2
    dropout: float = 0.0
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: str = "relu"
    normalization: str = "layer"
    norm_first: bool = True
    final_norm: bool = True
    attention_bias: bool = True
    tying: str = "output"
    positions: str = "sinusoidal"
    cross_positions: str = "none"
    max_len: int = 512
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        if self.target_vocab is None:
            object.__setattr__(self, "target_vocab", self.source_vocab)
        checks.fields(self)

    @classmethod
    def tiny(
        cls, source_vocab: int, target_vocab: int | None = None, **changes: Any
    ) -> "Seq2SeqConfig":
        """Dos capas de anchura 64, con la norma delante: se entrena en segundos en una CPU.

        Errores: los de :class:`Seq2SeqConfig`.
        """
        return cls(source_vocab, target_vocab, **changes)

    @classmethod
    def base(
        cls, source_vocab: int = 37_000, target_vocab: int | None = None, **changes: Any
    ) -> "Seq2SeqConfig":
        """El modelo «base» de 2017: la norma detrás, atención sin sesgos, una matriz para todo.

        Errores: los de :class:`Seq2SeqConfig`.
        Fuente: Vaswani et al. (2017), tabla 3 y § 5.4.
        """
        sizes = {"d_model": 512, "n_heads": 8, "d_ff": 2048, "dropout": 0.1, "tying": "all"}
        layers = {"n_encoder_layers": 6, "n_decoder_layers": 6}
        flags = {"norm_first": False, "final_norm": False, "attention_bias": False}
        return cls(source_vocab, target_vocab, **{**sizes, **layers, **flags, **changes})

    @classmethod
    def big(
        cls, source_vocab: int = 37_000, target_vocab: int | None = None, **changes: Any
    ) -> "Seq2SeqConfig":
        """El modelo «big» de 2017: el doble de ancho que :meth:`base`, con dropout 0.3.

        Errores: los de :class:`Seq2SeqConfig`.
        Fuente: Vaswani et al. (2017), tabla 3.
        """
        wider = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "dropout": 0.3}
        return cls.base(source_vocab, target_vocab, **{**wider, **changes})


def named_positions(config: Seq2SeqConfig) -> Positions:
    """Las posiciones que dicen ``config.positions`` y ``config.cross_positions``.

    Errores: ``TypeError`` si ``config`` no es una configuración.
    """
    checks.require_config(config)
    sizes: dict[str, Any] = {"n_heads": config.n_heads, "max_len": config.max_len}
    sizes["d_head"] = config.d_model // config.n_heads
    source, target = (
        added(config.positions, d_model=config.d_model, max_len=config.max_len) for _ in range(2)
    )
    return Positions(
        source=source,
        target=target,
        encoder=attention_options(config.positions, **sizes),
        decoder=attention_options(config.positions, **sizes, causal=True),
        cross=attention_options(config.cross_positions, **sizes),
    )


# --- Lo que pasa de una pila a la otra ------------------------------------------------------------


class Encoded(NamedTuple):
    """Lo que deja el codificador: estados, quién no es relleno y dónde está cada uno."""

    states: Tensor  # (batch, source, d_model)
    mask: Tensor  # (batch, 1, 1, source)
    positions: Tensor  # (source,) o (batch, source)


@dataclass(frozen=True)
class DecoderState:
    """Lo que hace falta entre dos pasos de generación; ``len(state)`` son los ya dados."""

    memories: tuple[Memory, ...]  # las claves y los valores del origen, de cada bloque
    encoded: Encoded
    caches: tuple[KVCache, ...]  # los de lo ya escrito, de cada bloque

    def __len__(self) -> int:
        return len(self.caches[0])

    def select(self, rows: Int[Tensor, " new_batch"]) -> "DecoderState":
        """El estado de esas filas del lote, en ese orden y con repeticiones, para el haz."""
        states, mask, positions = self.encoded
        positions = positions[rows] if positions.ndim > 1 else positions
        return DecoderState(
            tuple(Memory(m.key[rows], m.value[rows]) for m in self.memories),
            Encoded(states[rows], mask[rows], positions),
            tuple(cache.select(rows) for cache in self.caches),
        )


# --- El modelo ------------------------------------------------------------------------------------


class Seq2Seq(nn.Module):
    """El Transformer: un codificador que lee y un decodificador que escribe.

    ``forward(source, target)`` con ``target`` empezando en el comienzo de frase: puntuaciones
    (batch, target, vocab). El relleno va al final de cada frase y nunca cambia un resultado, ni
    tampoco las demás frases del lote. ``positions`` sustituye a las de la configuración.

    Errores: ``TypeError`` si ``config`` o ``positions`` no son de su clase.
    Fuente: Vaswani et al. (2017); Phuong y Hutter (2022), algoritmo 8.
    """

    @typed(validate=checks.model)
    def __init__(self, config: Seq2SeqConfig, *, positions: Positions | None = None) -> None:
        super().__init__()
        positions = named_positions(config) if positions is None else positions
        self.config, self.places = config, positions.places
        self.embed_source = self._embedding(config.source_vocab, positions.source)
        target_vocab = config.target_vocab or config.source_vocab
        self.embed_target = self._embedding(target_vocab, positions.target)
        self.encoder = Encoder(
            [self._encoder_block(positions) for _ in range(config.n_encoder_layers)], self._norm()
        )
        self.decoder = Decoder(
            [self._decoder_block(positions) for _ in range(config.n_decoder_layers)], self._norm()
        )
        self.project = nn.Linear(config.d_model, target_vocab, bias=False)
        nn.init.xavier_uniform_(self.project.weight)
        self._tie()

    @typed(validate=checks.encode)
    def encode(self, source: Int[Tensor, "batch source"]) -> Encoded:
        """Lee las frases y deja su memoria: los estados (batch, source, d_model) y la máscara.

        Una frase que sea toda relleno no da NaN; nadie puede atender a ella.

        Errores: ``TypeError`` si ``source`` no es de enteros; ``ValueError`` si no es
        (batch, source), si hay números fuera del vocabulario o relleno en medio.
        """
        mask, positions = padding_mask(source, self.config.pad_id), self.places(source)
        x = self.embed_source(source, positions)  # (batch, source, d_model)
        return Encoded(self.encoder(x, Where(mask, positions)), mask, positions)

    @typed(validate=checks.decode)
    def decode(
        self, target: Int[Tensor, "batch target"], encoded: Encoded
    ) -> Float[Tensor, "batch target vocab"]:
        """Puntúa, en cada posición, la palabra siguiente, sin mirar las que vienen después.

        Errores: ``TypeError`` o ``ValueError`` si ``target`` no son números del vocabulario,
        (batch, target), o ``encoded`` no es de otras tantas frases.
        """
        return self._write(target, self.start(encoded))[0]

    @typed(validate=checks.forward)
    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Puntuaciones de cada palabra siguiente, con enseñanza forzada.

        Errores: los de :meth:`encode` y :meth:`decode`, y ``ValueError`` si ``target`` lleva
        relleno en medio (puede llevarlo delante si es también el comienzo).
        """
        return self.decode(target, self.encode(source))

    # Generar, paso a paso

    def start(self, encoded: Encoded) -> DecoderState:
        """El estado antes de escribir nada: proyecta la memoria, una vez, para cada bloque.

        Errores: ``TypeError`` si ``encoded`` no es lo que devuelve :meth:`encode`.
        """
        checks.start(self, encoded)
        memories = self.decoder.remember(encoded.states, encoded.positions)
        return DecoderState(memories, encoded, tuple(KVCache() for _ in memories))

    @typed(validate=checks.step)
    def step(
        self, ids: Int[Tensor, "batch length"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch vocab"], DecoderState]:
        """Un paso de generación: puntuaciones de la palabra que sigue a ``ids`` y estado nuevo.

        De ``ids``, que es todo lo escrito, solo se calculan las columnas que ``state`` no ha visto.
        El estado que llega no cambia: de un mismo comienzo se puede seguir por dos caminos.

        Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario,
        (batch, length), con alguna columna nueva, o ``state`` no es de otras tantas frases.
        """
        logits, state = self._write(ids, state)
        return logits[:, -1], state

    def generate(
        self,
        source: Int[Tensor, "batch source"],
        *,
        max_length: int = 64,
        strategy: Callable = greedy,
        cache: bool = True,
        **options: Any,
    ) -> Any:
        """Escribe la respuesta palabra a palabra y devuelve lo que dé la estrategia.

        ``strategy`` es una de :mod:`atento.decoding`, que recibe ``options``:
        ``generate(source, strategy=beam_search, beams=4)``. Con la voraz, (batch, target), sin el
        comienzo y con fin y relleno. Sin ``cache``, cada paso vuelve a leer todo lo escrito, para
        comparar. Deja cada módulo en su modo.

        Errores: los de :meth:`encode` y los de la estrategia, y ``TypeError`` si ``strategy`` no
        se puede llamar o ``cache`` no es un sí o un no.
        """
        require_writing(strategy, cache)
        checks.encode(self, source)
        config = self.config
        start = source.new_full((source.shape[0], 1), config.bos_id)
        step = self.step if cache else recomputing(self.step)
        rules: dict[str, Any] = {
            "eos_id": config.eos_id,
            "pad_id": config.pad_id,
            "max_length": max_length,
        }
        rules["state"] = lambda: self.start(self.encode(source))
        with evaluating(self), torch.inference_mode():
            written = strategy(step, start, **{**rules, **options})
        return kept(written)

    def _write(self, ids: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Las puntuaciones de las columnas que ``state`` no ha visto, y el estado con ellas."""
        seen, n = len(state), ids.shape[1]
        caches = tuple(cache.copy() for cache in state.caches)
        mask, places = new_rows(n, seen, device=ids.device), self.places(ids)  # (new, n), (…, n)
        own = Where(mask, places, caches)
        crossed = Where(state.encoded.mask, state.encoded.positions)
        with trusted(seen > 0):
            x = self.embed_target(ids[:, seen:], places[..., seen:])  # (batch, new, d_model)
            x = self.decoder(x, state.memories, own, crossed)
        return self.project(x), DecoderState(state.memories, state.encoded, caches)

    # Construir las piezas

    def _embedding(self, vocab: int, positions: Any) -> TokenEmbedding:
        width, dropout = self.config.d_model, self.config.dropout
        return TokenEmbedding(vocab, width, positions=positions, dropout=dropout)

    def _encoder_block(self, positions: Positions) -> EncoderBlock:
        attention = self._attention(positions.encoder)
        return EncoderBlock(attention, self._feed_forward(), **self._block_options())

    def _decoder_block(self, positions: Positions) -> DecoderBlock:
        own, cross = self._attention(positions.decoder), self._attention(positions.cross)
        return DecoderBlock(own, cross, self._feed_forward(), **self._block_options())

    def _attention(self, options: Mapping[str, Any]) -> MultiHeadAttention:
        c = self.config
        return MultiHeadAttention(
            c.d_model, c.n_heads, bias=c.attention_bias, dropout=c.attention_dropout, **options
        )

    def _feed_forward(self) -> FeedForward:
        c = self.config
        options = {"activation": c.activation, "dropout": c.activation_dropout}
        return FeedForward(c.d_model, c.d_ff, **options)

    def _block_options(self) -> dict[str, Any]:
        c = self.config
        norm = "pre" if c.norm_first else "post"
        return {"norm": norm, "normalization": c.normalization, "dropout": c.dropout}

    def _norm(self) -> nn.Module | None:
        c = self.config
        return NORMALIZATIONS[c.normalization](c.d_model) if c.final_norm else None

    def _tie(self) -> None:
        """Comparte las matrices que diga ``tying``: son el mismo parámetro con varios nombres."""
        if self.config.tying == "all":
            self.embed_source.tokens = self.embed_target.tokens
        if self.config.tying != "none":
            self.project.weight = self.embed_target.tokens.weight


@typed(validate=checks.loss)
def seq2seq_loss(
    model: nn.Module, batch: tuple[Tensor, Tensor], *, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Entropía cruzada media (nats por palabra) de un lote, sin contar el relleno.

    El lote es ``source`` (batch, source) y ``target`` (batch, target). El decodificador recibe
    ``target`` sin la última columna y debe predecirlo sin la primera (enseñanza forzada);
    ``smoothing`` es el de :func:`atento.training.cross_entropy`.

    Errores: los de :meth:`Seq2Seq.forward`, y ``ValueError`` si ``target`` no tiene al menos dos
    columnas o ``smoothing`` no está en [0, 1).
    """
    source, target = batch
    logits = model(source, target[:, :-1])  # (batch, target - 1, vocab)
    pad_id = unwrap(model).config.pad_id
    return cross_entropy(logits, target[:, 1:], pad_id=pad_id, smoothing=smoothing)
