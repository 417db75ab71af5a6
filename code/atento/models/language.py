"""Piso 6: el Transformer de una sola pila, que lee y puntúa una secuencia.

Con ``causal=True`` cada posición ve solo lo anterior y puntúa la palabra siguiente (solo
decodificador, como GPT); sin ella lo ve todo y puntúa la que hay en cada sitio (solo codificador,
como BERT). El bloque es el mismo: la diferencia está en la máscara.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Encoder, EncoderBlock
from atento.cache import KVCache, Where
from atento.checks import language as checks
from atento.checks.decoding import require_writing
from atento.decoding import greedy, kept, recomputing
from atento.layers import NORMALIZATIONS, FeedForward, TokenEmbedding
from atento.masks import causal_mask, combine, new_rows, padding_mask
from atento.models.positioning import added, attention_options, consecutive
from atento.shapes import trusted, typed
from atento.training import cross_entropy, evaluating, unwrap


@dataclass(frozen=True)
class LanguageConfig:
    """Todo lo que define un :class:`LanguageModel`.

    Los campos son los de :class:`~atento.models.seq2seq.Seq2SeqConfig`; con ``tying``, la matriz de
    salida es la de los embeddings, y ``pad_id=None`` dice que no hay relleno.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    vocab: int
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 256
    n_layers: int = 2
    causal: bool = True
    dropout: float = 0.0
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: str = "relu"
    normalization: str = "layer"
    norm_first: bool = True
    final_norm: bool = True
    attention_bias: bool = True
    tying: bool = False
    positions: str = "sinusoidal"
    max_len: int = 512
    pad_id: int | None = 0

    def __post_init__(self) -> None:
        checks.fields(self)


class LanguageModel(nn.Module):
    """Una pila: ``forward(ids)`` da puntuaciones (batch, n, vocab).

    El relleno va al final y nunca cambia un resultado, ni tampoco las demás frases del lote.

    Errores: ``TypeError`` si ``config`` no es de su clase.
    Fuente: Radford et al. (2018), § 3.1, y Devlin et al. (2019), § 3; Phuong y Hutter (2022),
    algoritmos 9 y 10.
    """

    @typed(validate=checks.model)
    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        c = self.config = config
        place = added(c.positions, d_model=c.d_model, max_len=c.max_len)
        self.embed = TokenEmbedding(c.vocab, c.d_model, positions=place, dropout=c.dropout)
        sizes = {"d_head": c.d_model // c.n_heads, "n_heads": c.n_heads, "max_len": c.max_len}
        options = attention_options(c.positions, **sizes, causal=c.causal)
        norm = NORMALIZATIONS[c.normalization](c.d_model) if c.final_norm else None
        self.encoder = Encoder([self._block(options) for _ in range(c.n_layers)], norm)
        self.project = nn.Linear(c.d_model, c.vocab, bias=False)
        nn.init.xavier_uniform_(self.project.weight)
        if c.tying:
            self.project.weight = self.embed.tokens.weight

    @typed(validate=checks.forward)
    def encode(
        self, ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        """El estado de cada posición, antes de puntuar palabras.

        ``mask``, si se da, se difunde hasta (batch, head, query, key) y se añade a las propias.

        Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario,
        (batch, n), con el relleno al final.
        """
        x = self.embed(ids)  # (batch, n, d_model)
        return self.encoder(x, combine(self._mask(ids), mask))

    @typed(validate=checks.forward)
    def forward(
        self, ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch n vocab"]:
        """Puntuaciones de cada palabra: la siguiente si es causal, la de cada sitio si no.

        Errores: los de :meth:`encode`.
        """
        return self.project(type(self).encode.unchecked(self, ids, mask))

    @typed(validate=checks.step)
    def step(
        self, ids: Int[Tensor, "batch length"], state: tuple[KVCache, ...] | None = None
    ) -> tuple[Float[Tensor, "batch vocab"], tuple[KVCache, ...]]:
        """Un paso de generación: puntuaciones de la palabra que sigue a ``ids`` y estado nuevo.

        Solo se calculan las columnas que ``state`` no ha visto; ``None`` es no haber visto nada. El
        estado que llega no cambia. Al generar, el relleno va delante, para que lo nuevo siga a lo
        escrito: nadie lo ve, y las posiciones se cuentan desde la primera palabra.

        Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario,
        (batch, length), con alguna columna nueva, o el modelo no es causal.
        """
        fresh = [KVCache() for _ in self.encoder.blocks]
        caches = fresh if state is None else [cache.copy() for cache in state]
        seen, places, real = len(caches[0]), consecutive(ids), self._begun(ids)
        mask = new_rows(ids.shape[1], seen, device=ids.device)  # (new, length)
        if real is not None:  # hay relleno delante
            places = (real.cumsum(1) - 1).clamp(min=0)  # (batch, length)
            mask = combine(mask, real[:, None, None])  # (batch, 1, new, length)
        with trusted(seen > 0):
            x = self.embed(ids[:, seen:], places[..., seen:])  # (batch, new, d_model)
            x = self.encoder(x, Where(mask, places, caches))
        return self.project(x[:, -1]), tuple(caches)

    def generate(
        self,
        start: Int[Tensor, "batch start"],
        *,
        eos_id: int,
        max_length: int = 64,
        strategy: Callable = greedy,
        cache: bool = True,
        **options: Any,
    ) -> Any:
        """Sigue cada comienzo, (batch, start), y devuelve lo que dé la estrategia: solo lo nuevo.

        ``strategy`` es una de :mod:`atento.decoding`, que recibe ``options``:
        ``generate(start, eos_id=2, strategy=sample, top_p=0.9)``. Los comienzos más cortos llevan
        relleno a un lado, y el resultado es el de cada uno solo. Sin ``cache``, cada paso lo
        recalcula todo, para comparar.

        Errores: los de :meth:`step` y los de la estrategia; ``TypeError`` si ``strategy`` no se
        puede llamar o ``cache`` no es un sí o un no, y ``ValueError`` si un comienzo no tiene
        palabras o lleva relleno en medio.
        """
        require_writing(strategy, cache)
        checks.generate(self, start)
        pad_id = eos_id if self.config.pad_id is None else self.config.pad_id
        step = self.step if cache else recomputing(self.step)
        options = {"eos_id": eos_id, "max_length": max_length, "pad_id": pad_id, **options}
        with evaluating(self), torch.inference_mode():
            written = strategy(step, self._padded_in_front(start), **options)
        return kept(written)

    def _padded_in_front(self, ids: Tensor) -> Tensor:
        """Lo mismo, con el relleno delante."""
        if self.config.pad_id is None:
            return ids
        order = (ids != self.config.pad_id).long().argsort(dim=1, stable=True)
        return ids.gather(1, order)  # (batch, n)

    def _begun(self, ids: Tensor) -> Bool[Tensor, "batch n"] | None:
        """Qué columnas no son relleno de delante, o ``None`` si no lo hay."""
        if self.config.pad_id is None or not (ids[:, 0] == self.config.pad_id).any():
            return None
        return (ids != self.config.pad_id).cummax(dim=1).values

    def _mask(self, ids: Tensor) -> Tensor | None:
        """Quién puede atender a quién: lo anterior, si es causal, y nunca al relleno."""
        past = causal_mask(ids.shape[1], device=ids.device) if self.config.causal else None
        if self.config.pad_id is None or self.config.causal:  # lo de delante no ve el relleno
            return past
        return padding_mask(ids, self.config.pad_id)

    def _block(self, options: dict[str, Any]) -> EncoderBlock:
        c = self.config
        options = {"bias": c.attention_bias, "dropout": c.attention_dropout, **options}
        dense = FeedForward(
            c.d_model, c.d_ff, activation=c.activation, dropout=c.activation_dropout
        )
        norm = {"norm": "pre" if c.norm_first else "post", "normalization": c.normalization}
        attention = MultiHeadAttention(c.d_model, c.n_heads, **options)
        return EncoderBlock(attention, dense, dropout=c.dropout, **norm)


@typed(validate=checks.loss)
def next_token_loss(
    model: nn.Module, ids: Int[Tensor, "batch n"], *, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Entropía cruzada media de predecir cada palabra de ``ids`` con las anteriores, sin relleno.

    Errores: ``TypeError`` o ``ValueError`` si ``ids`` no sirve o no tiene al menos dos columnas.
    """
    logits = model(ids[:, :-1])  # (batch, n - 1, vocab)
    pad_id = unwrap(model).config.pad_id
    return cross_entropy(logits, ids[:, 1:], pad_id=pad_id, smoothing=smoothing)


def text_nats(
    model: nn.Module,
    ids: Int[Tensor, " n"],
    *,
    window: int,
    stride: int | None = None,
    batch_size: int = 32,
) -> float:
    """Lo que cuesta un texto, en nats: la suma de −ln p de todos sus tokens menos el primero.

    El modelo lee ``window`` tokens como mucho. La ventana avanza de ``stride`` en ``stride`` (si no
    se dice, media ventana) y de cada una se cuentan solo los tokens que aún no se habían contado,
    que son los que más contexto tienen. Los bits son estos nats entre ln 2.

    Errores: ``TypeError`` o ``ValueError`` si ``ids`` no es un texto de dos tokens o más, (n,), o
    ``stride`` no está entre 1 y ``window``.
    """
    checks.text(ids, window, stride, batch_size)
    reach = len(ids) - 1  # cuántos tokens se predicen
    window = min(window, reach)
    step = min(stride or max(1, window // 2), window)
    starts = torch.tensor([*range(0, reach - window, step), reach - window])
    counted = torch.cat([torch.tensor([window]), starts.diff()])  # los que aún no se contaron
    rows = ids[starts[:, None] + torch.arange(window + 1)]  # (windows, window + 1)
    fresh = torch.arange(window) >= window - counted[:, None]  # (windows, window)
    total = 0.0
    with evaluating(model), torch.no_grad():
        for row, counts in zip(rows.split(batch_size), fresh.split(batch_size), strict=True):
            log_p = model(row[:, :-1]).double().log_softmax(-1)  # (batch, window, vocab)
            right = log_p.gather(-1, row[:, 1:, None])[..., 0]  # (batch, window)
            total -= (right * counts).sum().item()
    return total
