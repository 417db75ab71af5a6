"""Piso 4: los bloques del codificador y del decodificador.

Un bloque es una lista de subcapas, cada una con su conexión residual y su normalización. La
atención y la red densa llegan construidas: con otra atención u otra red (posiciones relativas,
mezcla de expertos…) el bloque es el mismo. Con máscara causal, el del codificador es también el
bloque de los modelos que son solo decodificador.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Real
from torch import Tensor, nn

from atento.cache import KVCache, Memory
from atento.checks import blocks as checks
from atento.layers import Residual
from atento.shapes import typed


class EncoderBlock(nn.Module):
    """Bloque del codificador: autoatención y red densa por posición.

    ``attention`` es una :class:`~atento.attention.MultiHeadAttention`, o un módulo con su misma
    llamada y su ``d_model``; ``feed_forward``, una :class:`~atento.layers.FeedForward`, o cualquier
    módulo que no cambie la forma, (…, d_model). ``norm="pre"`` normaliza antes de cada subcapa y
    ``"post"``, después de cada suma; ``normalization`` es «layer» o «rms»; ``dropout`` se aplica a
    la salida de cada subcapa.

    Errores: ``TypeError`` o ``ValueError`` si ``attention`` y ``feed_forward`` no son módulos de la
    misma anchura, o los de :class:`~atento.layers.Residual`.
    Fuente: Vaswani et al. (2017), § 3.1 y figura 1.
    """

    @typed(validate=checks.encoder_block)
    def __init__(
        self,
        attention: nn.Module,
        feed_forward: nn.Module,
        *,
        norm: str = "pre",
        normalization: str = "layer",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        options = {"norm": norm, "normalization": normalization, "dropout": dropout}
        self.attention, self.feed_forward = attention, feed_forward
        self.add_attention = Residual(attention.d_model, **options)
        self.add_feed_forward = Residual(attention.d_model, **options)

    @typed(validate=checks.encode)
    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        *,
        positions: Real[Tensor, "..."] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Cada posición atiende a las que ``mask`` permite, y luego se transforma por su cuenta.

        ``mask`` se difunde hasta (…, head, query, key). Con ``cache``, ``x`` son las posiciones
        nuevas. ``positions`` dice dónde está cada una, guardadas y nuevas, (n,) o (…, n); sin
        ellas, son 0, 1, 2…

        Errores: los de :meth:`~atento.attention.MultiHeadAttention.forward`.
        """
        own, _ = _places(x, positions, None, cache)
        x = self.add_attention(x, lambda y: self.attention(y, mask=mask, cache=cache, **own)[0])
        return self.add_feed_forward(x, self.feed_forward)


class DecoderBlock(nn.Module):
    """Bloque del decodificador: autoatención, atención cruzada a la memoria y red densa.

    Opciones y errores, los de :class:`EncoderBlock`.
    Fuente: Vaswani et al. (2017), § 3.1 y figura 1.
    """

    @typed(validate=checks.decoder_block)
    def __init__(
        self,
        attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        *,
        norm: str = "pre",
        normalization: str = "layer",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        options = {"norm": norm, "normalization": normalization, "dropout": dropout}
        self.attention, self.cross_attention = attention, cross_attention
        self.feed_forward = feed_forward
        self.add_attention = Residual(attention.d_model, **options)
        self.add_cross_attention = Residual(attention.d_model, **options)
        self.add_feed_forward = Residual(attention.d_model, **options)

    @typed(validate=checks.decode)
    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        memory: Float[Tensor, "*batch source d_model"] | Memory,
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        *,
        positions: Real[Tensor, "..."] | None = None,
        memory_positions: Real[Tensor, "..."] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Atiende a lo ya escrito (``mask``), después a la memoria (``memory_mask``), y transforma.

        ``memory`` es la salida del codificador, (…, source, d_model), o lo que devolvió
        ``cross_attention.remember`` con ella. Las máscaras se difunden hasta (…, head, query, key)
        y (…, head, query, source). ``positions`` y ``cache``, como en :class:`EncoderBlock`;
        ``memory_positions``, (source,) o (…, source), dice dónde está cada parte de la memoria.

        Errores: los de :meth:`~atento.attention.MultiHeadAttention.forward`;
        en la atención cruzada, ``key`` es la memoria.
        """
        own, crossed = _places(x, positions, memory_positions, cache)
        attend, cross = self.attention, self.cross_attention
        x = self.add_attention(x, lambda y: attend(y, mask=mask, cache=cache, **own)[0])
        x = self.add_cross_attention(x, lambda y: cross(y, memory, mask=memory_mask, **crossed)[0])
        return self.add_feed_forward(x, self.feed_forward)


def _places(
    x: Tensor, positions: Tensor | None, memory_positions: Tensor | None, cache: KVCache | None
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Las posiciones que recibe cada atención: la propia y la cruzada; sin nada que decir, nada."""
    n = x.shape[-2]
    if positions is None and cache is not None:
        positions = torch.arange(len(cache) + n, device=x.device)
    own, crossed = {}, {}
    if positions is not None:
        new = positions[..., -n:]
        own, crossed = {"positions": new, "key_positions": positions}, {"positions": new}
    if memory_positions is not None:
        crossed["key_positions"] = memory_positions
    return own, crossed


# --- Las pilas ------------------------------------------------------------------------------------


class Stack(nn.Module):
    """Lo común a las dos pilas: bloques uno detrás de otro y, si se da, una norma a la salida.

    ``final_norm`` hace falta si los bloques son «pre», porque nada ha normalizado su salida.

    Errores: ``TypeError`` si ``blocks`` no es una lista de módulos; ``ValueError`` si está vacía.
    """

    @typed(validate=checks.stack)
    def __init__(self, blocks: Sequence[nn.Module], final_norm: nn.Module | None = None) -> None:
        super().__init__()
        self.blocks, self.final_norm = nn.ModuleList(blocks), final_norm

    def finish(self, x: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch n d_model"]:
        """Normaliza la salida, si la pila tiene con qué."""
        return x if self.final_norm is None else self.final_norm(x)


class Encoder(Stack):
    """Pila de bloques del codificador; con máscara causal, un modelo solo decodificador.

    Errores: los de :class:`Stack`.
    Fuente: Vaswani et al. (2017), § 3.1.
    """

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        *,
        positions: Real[Tensor, "..."] | None = None,
        caches: Sequence[KVCache] | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Pasa ``x`` por cada bloque, con su caché si la hay.

        Errores: los de :meth:`EncoderBlock.forward`, y ``ValueError`` si no hay una caché por
        bloque.
        """
        caches = checks.one_each(caches, self.blocks, name="caches")
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, mask, positions=positions, cache=cache)  # (…, n, d_model)
        return self.finish(x)


class Decoder(Stack):
    """Pila de bloques del decodificador.

    Errores: los de :class:`Stack`.
    Fuente: Vaswani et al. (2017), § 3.1.
    """

    def remember(
        self,
        memory: Float[Tensor, "*batch source d_model"],
        positions: Real[Tensor, "..."] | None = None,
    ) -> tuple[Memory, ...]:
        """Las claves y los valores de la memoria para cada bloque, que tiene sus propias matrices.

        Errores: los de ``MultiHeadAttention.remember``.
        """
        where = {} if positions is None else {"key_positions": positions}
        return tuple(block.cross_attention.remember(memory, **where) for block in self.blocks)

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        memories: Sequence[Memory | Tensor],
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        *,
        positions: Real[Tensor, "..."] | None = None,
        memory_positions: Real[Tensor, "..."] | None = None,
        caches: Sequence[KVCache] | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Pasa ``x``, (…, n, d_model), por cada bloque, con su memoria y su caché.

        ``memories`` es lo que devolvió :meth:`remember`; lo demás, como en :class:`DecoderBlock`.

        Errores: los de :meth:`DecoderBlock.forward`, y ``ValueError`` si no hay una memoria o una
        caché por bloque.
        """
        memories = checks.one_each(memories, self.blocks, name="memories")
        caches = checks.one_each(caches, self.blocks, name="caches")
        where = {"positions": positions, "memory_positions": memory_positions}
        for block, memory, cache in zip(self.blocks, memories, caches, strict=True):
            x = block(x, memory, mask, memory_mask, cache=cache, **where)  # (…, n, d_model)
        return self.finish(x)
