"""Piso 6: BERT, el codificador que se entrena tapando palabras.

:class:`Bert` lee una frase, o dos, y deja un estado por palabra. Sobre él se pone lo que pida cada
tarea: :class:`MaskedWords` adivina las palabras tapadas, :class:`Pretraining` además si la segunda
frase seguía a la primera, :class:`SentenceClassifier` clasifica la frase entera,
:class:`TokenClassifier`, cada palabra, y :class:`SpanFinder` señala un fragmento.

:func:`pack` pone las marcas de comienzo y fin y el relleno; :func:`mask_tokens` tapa. Los pesos de
otros entran por :func:`atento.models.weights.from_bert`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Encoder, EncoderBlock
from atento.checks import bert as checks
from atento.layers import Dropout, FeedForward, LayerNorm
from atento.masks import combine, padding_mask
from atento.positions import Learned
from atento.shapes import typed
from atento.training import cross_entropy, unwrap

# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class BertConfig:
    """Todo lo que define un :class:`Bert`; las medidas publicadas, en los constructores.

    ``n_segments`` es cuántas clases de segmento hay (0, ninguna); ``first_position``, la fila de la
    tabla de posiciones que va con la primera palabra; ``pooler``, si lleva la capa que resume la
    frase a partir de su primer estado. ``dropout`` actúa en los embeddings, a la salida de cada
    subcapa y en las cabezas; ``attention_dropout``, en los pesos de atención. Los pesos se sortean
    con desviación ``init_std``; ``pad_id=None`` dice que no hay relleno.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    vocab: int
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 256
    n_layers: int = 2
    max_len: int = 512
    n_segments: int = 2
    first_position: int = 0
    pooler: bool = True
    dropout: float = 0.0
    attention_dropout: float = 0.0
    norm_eps: float = 1e-12
    init_std: float = 0.02
    pad_id: int | None = 0

    def __post_init__(self) -> None:
        checks.fields(self)

    @classmethod
    def base(cls, vocab: int = 30_522, **changes: Any) -> "BertConfig":
        """BERT-base: doce capas de anchura 768; el vocabulario, el de minúsculas.

        Errores: los de :class:`BertConfig`.
        Fuente: Devlin et al. (2019), § 3 y apéndice A.2.
        """
        sizes = {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_layers": 12}
        dropout = {"dropout": 0.1, "attention_dropout": 0.1}
        return cls(vocab, **{**sizes, **dropout, **changes})

    @classmethod
    def large(cls, vocab: int = 30_522, **changes: Any) -> "BertConfig":
        """``BERT-large``: veinticuatro capas de anchura 1024.

        Errores: los de :class:`BertConfig`.
        Fuente: Devlin et al. (2019), § 3.
        """
        sizes = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_layers": 24}
        return cls.base(vocab, **{**sizes, **changes})

    @classmethod
    def roberta(cls, vocab: int = 50_265, **changes: Any) -> "BertConfig":
        """RoBERTa-base: la misma pila, con otro vocabulario y sin segundos segmentos.

        Las dos primeras filas de su tabla de posiciones no son de nadie, y el relleno es el 1.

        Errores: los de :class:`BertConfig`.
        Fuente: Liu et al. (2019), § 3, y su código.
        """
        shape = {"max_len": 514, "first_position": 2, "n_segments": 1, "pad_id": 1}
        return cls.base(vocab, **{**shape, "norm_eps": 1e-5, **changes})

    @classmethod
    def distil(cls, vocab: int = 30_522, **changes: Any) -> "BertConfig":
        """DistilBERT: la mitad de las capas de BERT-base, sin segmentos ni resumen de la frase.

        Errores: los de :class:`BertConfig`.
        Fuente: Sanh et al. (2019), § 3.
        """
        return cls.base(vocab, **{"n_layers": 6, "n_segments": 0, "pooler": False, **changes})

    @classmethod
    def mini_lm(cls, vocab: int = 30_522, **changes: Any) -> "BertConfig":
        """MiniLM de seis capas y anchura 384, el de ``all-MiniLM-L6-v2``.

        Errores: los de :class:`BertConfig`.
        Fuente: Wang et al. (2020), y la configuración publicada con los pesos.
        """
        return cls.base(
            vocab, **{"d_model": 384, "n_heads": 12, "d_ff": 1536, "n_layers": 6, **changes}
        )


# --- El modelo ------------------------------------------------------------------------------------


class BertEmbedding(nn.Module):
    """La entrada: la suma de tres filas (palabra, segmento y posición), normalizada.

    Errores: ``TypeError`` si ``config`` no es una :class:`BertConfig`.
    Fuente: Devlin et al. (2019), § 3 y figura 2.
    """

    @typed(validate=checks.model)
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        c = self.config = config
        self.tokens = nn.Embedding(c.vocab, c.d_model)
        self.segments = nn.Embedding(c.n_segments, c.d_model) if c.n_segments else None
        self.positions = Learned(c.max_len, c.d_model)
        self.norm = LayerNorm(c.d_model, eps=c.norm_eps)
        self.dropout = Dropout(c.dropout)

    @typed(validate=checks.read)
    def forward(
        self, ids: Int[Tensor, "batch n"], segments: Int[Tensor, "batch n"] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        """Embeddings de ``ids``; sin ``segments``, todo es del primero.

        Errores: los de :meth:`Bert.forward`.
        """
        x = self.tokens(ids)  # (batch, n, d_model)
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(ids) if segments is None else segments)
        start = self.config.first_position
        places = torch.arange(start, start + ids.shape[1], device=ids.device)
        return self.dropout(self.norm(self.positions(x, places)))


class Bert(nn.Module):
    """El codificador: ``forward(ids, segments)`` da un estado por palabra, (batch, n, d_model).

    La norma va detrás de cada suma, como en 2017, y la red densa usa GELU. El relleno va al final y
    nunca cambia un resultado, ni tampoco las demás frases del lote.

    Errores: ``TypeError`` si ``config`` no es una :class:`BertConfig`.
    Fuente: Devlin et al. (2019), § 3; Phuong y Hutter (2022), algoritmo 9.
    """

    @typed(validate=checks.model)
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        c = self.config = config
        self.embed = BertEmbedding(c)
        self.encoder = Encoder([self._block() for _ in range(c.n_layers)])
        self.pooler = nn.Linear(c.d_model, c.d_model) if c.pooler else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos, con desviación ``init_std``, y pone los sesgos a 0."""
        draw_normal(self, self.config.init_std)

    @typed(validate=checks.forward)
    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        segments: Int[Tensor, "batch n"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """El estado de cada palabra, que ha podido mirar a todas las que no son relleno.

        ``segments`` dice de qué frase es cada palabra (0 o 1). ``mask``, si se da, se difunde hasta
        (batch, head, query, key) y se añade a la del relleno.

        Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario,
        (batch, n), con el relleno al final y sin pasar de ``max_len``, o ``segments`` no es de su
        forma.
        """
        x = self.embed(ids, segments)  # (batch, n, d_model)
        return self.encoder(x, combine(self._padding(ids), mask))

    @typed(validate=checks.summary)
    def summary(self, states: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch d_model"]:
        """El resumen de cada frase: su primer estado, el de ``[CLS]``, por una capa con tanh.

        Errores: ``TypeError`` o ``ValueError`` si ``states`` no es de este modelo, o se hizo con
        ``pooler=False``.
        """
        assert self.pooler is not None  # lo ha mirado la puerta
        return torch.tanh(self.pooler(states[:, 0]))

    @typed(validate=checks.ids)
    def real(self, ids: Int[Tensor, "batch n"]) -> Bool[Tensor, "batch n"]:
        """Qué posiciones no son relleno.

        Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario,
        (batch, n).
        """
        pad_id = self.config.pad_id
        return torch.ones_like(ids, dtype=torch.bool) if pad_id is None else ids != pad_id

    def _padding(self, ids: Tensor) -> Tensor | None:
        return None if self.config.pad_id is None else padding_mask(ids, self.config.pad_id)

    def _block(self) -> EncoderBlock:
        c = self.config
        attention = MultiHeadAttention(c.d_model, c.n_heads, dropout=c.attention_dropout)
        dense = FeedForward(c.d_model, c.d_ff, activation="gelu")
        block = EncoderBlock(attention, dense, norm="post", dropout=c.dropout)
        for residual in (block.add_attention, block.add_feed_forward):
            residual.norm.eps = c.norm_eps
        return block


def draw_normal(module: nn.Module, std: float) -> None:
    """Sortea las matrices y los embeddings de ``module`` con desviación ``std`` y anula los sesgos.

    BERT los sortea así, cortando además la normal en dos desviaciones; GPT-2, sin cortar.

    Errores: ``TypeError`` o ``ValueError`` si ``module`` no es un módulo o ``std`` no es positivo.
    """
    checks.draw_normal(module, std)
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=std)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
        if isinstance(part, Learned):
            nn.init.normal_(part.table, std=std)


@typed(validate=checks.mean_vector)
def mean_vector(
    states: Float[Tensor, "batch n d_model"], real: Bool[Tensor, "batch n"]
) -> Float[Tensor, "batch d_model"]:
    """Un vector por frase: la media de los estados de sus palabras, sin contar el relleno.

    ``real`` es lo que da :meth:`Bert.real`. Una frase toda de relleno da 0.

    Errores: ``TypeError`` o ``ValueError`` si ``real`` no es una máscara de las filas de
    ``states``.
    Fuente: Reimers y Gurevych (2019), § 3.
    """
    weights = real.to(states.dtype).unsqueeze(-1)  # (batch, n, 1)
    total = weights.sum(dim=1).clamp(min=1)  # (batch, 1)
    return (states * weights).sum(dim=1) / total  # (batch, d_model)


# --- Las cabezas ----------------------------------------------------------------------------------


class WordHead(nn.Module):
    """De estados a puntuaciones: una capa con GELU y norma, y la matriz de los embeddings.

    ``matrix`` (vocab, d_model) es la misma que la de la entrada; solo el sesgo es suyo.

    Errores: ``TypeError`` si ``bert`` no es un :class:`Bert`.
    Fuente: Devlin et al. (2019), código publicado.
    """

    @typed(validate=checks.head)
    def __init__(self, bert: Bert) -> None:
        super().__init__()
        c = bert.config
        self.dense = nn.Linear(c.d_model, c.d_model)
        self.norm = LayerNorm(c.d_model, eps=c.norm_eps)
        self.project = nn.Linear(c.d_model, c.vocab)
        draw_normal(self, c.init_std)
        self.project.weight = bert.embed.tokens.weight

    def forward(self, states: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n vocab"]:
        """Puntuaciones de cada palabra del vocabulario en cada sitio."""
        return self.project(self.norm(F.gelu(self.dense(states))))


class MaskedWords(nn.Module):
    """Adivina las palabras tapadas: ``forward(ids)`` da puntuaciones (batch, n, vocab).

    Errores: ``TypeError`` si ``bert`` no es un :class:`Bert`.
    Fuente: Devlin et al. (2019), § 3.1, tarea 1; Phuong y Hutter (2022), algoritmo 9.
    """

    @typed(validate=checks.head)
    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.config, self.bert, self.words = bert.config, bert, WordHead(bert)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        segments: Int[Tensor, "batch n"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch n vocab"]:
        """Puntuaciones de cada palabra en cada sitio.

        Errores: los de :meth:`Bert.forward`.
        """
        return self.words(_read(self, ids, segments, mask))


class Pretraining(nn.Module):
    """Las dos tareas de 2018 a la vez: las palabras tapadas y si la segunda frase seguía.

    Errores: ``TypeError`` si ``bert`` no es un :class:`Bert`; ``ValueError`` si no tiene resumen.
    Fuente: Devlin et al. (2019), § 3.1.
    """

    @typed(validate=checks.summarized)
    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.config, self.bert, self.words = bert.config, bert, WordHead(bert)
        self.follows = nn.Linear(bert.config.d_model, 2)
        draw_normal(self.follows, bert.config.init_std)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        segments: Int[Tensor, "batch n"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "batch n vocab"], Float[Tensor, "batch 2"]]:
        """Puntuaciones de las palabras, y de que la segunda frase siga (0) o sea otra (1).

        Errores: los de :meth:`Bert.forward`.
        """
        states = _read(self, ids, segments, mask)
        return self.words(states), self.follows(self.bert.summary(states))


class SentenceClassifier(nn.Module):
    """Clasifica la frase entera: ``forward(ids)`` da puntuaciones (batch, n_classes).

    ``pooling="cls"`` mira el resumen del primer estado; ``"mean"``, la media de todos.

    Errores: ``TypeError`` o ``ValueError`` si ``bert`` no es un :class:`Bert`, ``n_classes`` no es
    un entero positivo o ``pooling`` no es una de las dos.
    Fuente: Devlin et al. (2019), § 4.1; la media, Reimers y Gurevych (2019), § 3.
    """

    @typed(validate=checks.sentence_classifier)
    def __init__(self, bert: Bert, n_classes: int, *, pooling: str = "cls") -> None:
        super().__init__()
        self.config, self.bert, self.pooling = bert.config, bert, pooling
        self.dropout = Dropout(bert.config.dropout)
        self.classify = nn.Linear(bert.config.d_model, n_classes)
        draw_normal(self.classify, bert.config.init_std)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        segments: Int[Tensor, "batch n"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch class"]:
        """Puntuaciones de cada clase.

        Errores: los de :meth:`Bert.forward`.
        """
        states = _read(self, ids, segments, mask)
        if self.pooling == "cls":
            vector = self.bert.summary(states)  # (batch, d_model)
        else:
            vector = mean_vector(states, self.bert.real(ids))  # (batch, d_model)
        return self.classify(self.dropout(vector))


class TokenClassifier(nn.Module):
    """Etiqueta cada palabra: ``forward(ids)`` da puntuaciones (batch, n, n_classes).

    Errores: ``TypeError`` o ``ValueError`` si ``bert`` no es un :class:`Bert` o ``n_classes`` no
    es un entero positivo.
    Fuente: Devlin et al. (2019), § 5.3.
    """

    @typed(validate=checks.token_classifier)
    def __init__(self, bert: Bert, n_classes: int) -> None:
        super().__init__()
        self.config, self.bert = bert.config, bert
        self.dropout = Dropout(bert.config.dropout)
        self.classify = nn.Linear(bert.config.d_model, n_classes)
        draw_normal(self.classify, bert.config.init_std)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        segments: Int[Tensor, "batch n"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch n class"]:
        """Puntuaciones de cada clase en cada sitio.

        Errores: los de :meth:`Bert.forward`.
        """
        return self.classify(self.dropout(_read(self, ids, segments, mask)))


class Span(NamedTuple):
    """Las puntuaciones de empezar y de acabar un fragmento en cada sitio; -inf en el relleno."""

    start: Tensor  # (batch, n)
    end: Tensor  # (batch, n)


class SpanFinder(nn.Module):
    """Señala el fragmento que responde: en cada sitio, cuánto puntúa empezar y acabar ahí.

    Errores: ``TypeError`` si ``bert`` no es un :class:`Bert`.
    Fuente: Devlin et al. (2019), § 4.2.
    """

    @typed(validate=checks.head)
    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.config, self.bert = bert.config, bert
        self.find = nn.Linear(bert.config.d_model, 2)
        draw_normal(self.find, bert.config.init_std)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        segments: Int[Tensor, "batch n"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Span:
        """Puntuaciones de comienzo y de fin, (batch, n) cada una.

        Errores: los de :meth:`Bert.forward`.
        """
        scores = self.find(_read(self, ids, segments, mask))  # (batch, n, 2)
        hidden = ~self.bert.real(ids).unsqueeze(-1)  # (batch, n, 1)
        return Span(*scores.masked_fill(hidden, float("-inf")).unbind(dim=-1))


def _read(head: Any, ids: Tensor, segments: Tensor | None, mask: Tensor | None) -> Tensor:
    """Los estados de los que parte una cabeza, (batch, n, d_model)."""
    checks.forward(head, ids, segments, mask)
    return head.bert(ids, segments, mask)


@typed(validate=checks.best_spans)
def best_spans(
    start: Float[Tensor, "batch n"], end: Float[Tensor, "batch n"], *, max_length: int = 30
) -> Int[Tensor, "batch 2"]:
    """El fragmento que más puntúa de cada fila: su primera y su última posición.

    Entre los que no acaban antes de empezar ni pasan de ``max_length`` posiciones, el de mayor
    ``start[i] + end[j]``.

    Errores: ``TypeError`` o ``ValueError`` si no son puntuaciones de la misma forma, (batch, n).
    Fuente: Devlin et al. (2019), § 4.2.
    """
    n = start.shape[1]
    allowed = torch.ones(n, n, dtype=torch.bool, device=start.device).triu().tril(max_length - 1)
    scores = start[:, :, None] + end[:, None, :]  # (batch, n, n): de i a j
    best = scores.masked_fill(~allowed, float("-inf")).flatten(1).argmax(dim=1)  # (batch,)
    return torch.stack([best // n, best % n], dim=1)


# --- Los datos que pide ---------------------------------------------------------------------------


class Packed(NamedTuple):
    """Frases, o parejas de frases, listas para leer: ``model(*pack(…))``."""

    ids: Tensor  # (batch, n)
    segments: Tensor  # (batch, n): 0 en la primera frase, 1 en la segunda


def pack(
    first: Sequence[Sequence[int]],
    second: Sequence[Sequence[int]] | None = None,
    *,
    cls_id: int,
    sep_id: int,
    pad_id: int = 0,
) -> Packed:
    """Pone las marcas: ``[CLS] A [SEP]`` o ``[CLS] A [SEP] B [SEP]``, y relleno hasta la más larga.

    ``first`` y ``second`` son listas de frases, y una frase, una lista de números.

    Errores: ``TypeError`` si no son listas de listas de enteros; ``ValueError`` si no hay ninguna
    frase o no hay una segunda por cada primera.
    Fuente: Devlin et al. (2019), § 3.
    """
    checks.pack(first, second, cls_id, sep_id, pad_id)
    rows = []
    for i, words in enumerate(first):
        opening = [cls_id, *words, sep_id]
        closing = [] if second is None else [*second[i], sep_id]
        rows.append(([*opening, *closing], [0] * len(opening) + [1] * len(closing)))
    n = max(len(ids) for ids, _ in rows)
    padded = [
        (ids + [pad_id] * (n - len(ids)), kinds + [0] * (n - len(ids))) for ids, kinds in rows
    ]
    return Packed(*(torch.tensor(part) for part in zip(*padded, strict=True)))


class Masked(NamedTuple):
    """Lo que ve el modelo y lo que ha de decir: ``pad_id`` donde no se le pregunta nada."""

    ids: Tensor  # (batch, n)
    labels: Tensor  # (batch, n)


@typed(validate=checks.mask_tokens)
def mask_tokens(
    ids: Int[Tensor, "batch n"],
    generator: torch.Generator,
    *,
    vocab: int,
    mask_id: int,
    special: Sequence[int] = (),
    pad_id: int = 0,
    fraction: float = 0.15,
    masked: float = 0.8,
    random: float = 0.1,
) -> Masked:
    """Elige palabras al azar y las estropea; devuelve lo estropeado y las palabras que había.

    Cada palabra se elige con probabilidad ``fraction``. De las elegidas, una parte ``masked`` se
    tapa con ``mask_id``, otra ``random`` se cambia por una cualquiera del vocabulario (que puede
    ser la misma) y el resto se deja. Ni se eligen ni se ponen el relleno, ``mask_id`` y
    ``special`` (las marcas). En BERT la cambiada puede ser también una marca.

    Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario, (batch, n),
    ``generator`` no es un generador, una proporción no está en [0, 1] o ``masked + random`` pasa
    de 1, o no queda ninguna palabra que poner.
    Fuente: Devlin et al. (2019), § 3.1 y apéndice A.1; Phuong y Hutter (2022), algoritmo 12.
    """
    marks = torch.tensor(sorted({*special, pad_id, mask_id}), device=ids.device)
    kinds = torch.arange(vocab, device=ids.device)
    words = kinds[~torch.isin(kinds, marks)]  # las que se pueden poner
    chance, fate = _uniform((2, *ids.shape), generator).to(ids.device)  # (batch, n) cada una
    other = words[(_uniform(ids.shape, generator) * len(words)).long().to(ids.device)]
    chosen = ~torch.isin(ids, marks) & (chance < fraction)
    seen = torch.where(chosen & (fate < masked), mask_id, ids)
    seen = torch.where(chosen & (fate >= masked) & (fate < masked + random), other, seen)
    return Masked(seen, ids.masked_fill(~chosen, pad_id))


def _uniform(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    return torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64)


@typed(validate=checks.loss)
def masked_word_loss(
    model: nn.Module, batch: tuple[Tensor, Tensor], *, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Entropía cruzada media (nats) de las palabras elegidas de un lote de :func:`mask_tokens`.

    El lote es lo que ve el modelo y lo que ha de decir, (batch, n) cada uno; ``model``, un
    :class:`MaskedWords`.

    Errores: los de :meth:`Bert.forward`, y ``ValueError`` si las dos partes no son de la misma
    forma.
    """
    ids, labels = batch
    pad_id = unwrap(model).config.pad_id
    return cross_entropy(model(ids), labels, pad_id=pad_id, smoothing=smoothing)
