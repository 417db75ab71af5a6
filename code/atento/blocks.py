"""Piso 4: los bloques del codificador y del decodificador.

Un bloque es una lista de subcapas, cada una con su conexión residual y su normalización. La
atención y la red densa llegan construidas: con otra atención u otra red (posiciones relativas,
mezcla de expertos…) el bloque es el mismo. Con máscara causal, el del codificador es también el
bloque de los modelos que son solo decodificador.
"""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Bool, Float, Real
from torch import Tensor, nn

from atento.cache import Memory, Where, newest, places
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
        where: Where | Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Cada posición atiende a las que ``where`` permite, y luego se transforma por su cuenta.

        ``where`` es una máscara, que se difunde hasta (…, head, query, key), o un
        :class:`~atento.cache.Where`, que además dice dónde está cada fila. Con caché, ``x`` son las
        filas nuevas.

        Errores: ``TypeError`` si ``where`` no es ninguna de las dos cosas, y los de
        :meth:`~atento.attention.MultiHeadAttention.forward`.
        """
        own = _own(x, Where.of(where))
        x = self.add_attention(x, lambda y: self.attention(y, **own)[0])
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
        own: Where | Bool[Tensor, "..."] | None = None,
        crossed: Where | Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Atiende a lo ya escrito (``own``), después a la memoria (``crossed``), y transforma.

        ``memory`` es la salida del codificador, (…, source, d_model), o lo que devolvió
        ``cross_attention.remember`` con ella. ``own`` es como en :class:`EncoderBlock`. La máscara
        de ``crossed`` se difunde hasta (…, head, query, source), y sus posiciones, (source,) o
        (…, source), dicen dónde está cada parte de la memoria, que no lleva caché.

        Errores: ``TypeError`` si ``own`` o ``crossed`` no son ni un ``Where`` ni una máscara,
        ``ValueError`` si ``crossed`` trae caché, y los de
        :meth:`~atento.attention.MultiHeadAttention.forward`; en la cruzada, ``key`` es la memoria.
        """
        written, read = _own(x, Where.of(own)), _crossed(x, Where.of(own), Where.of(crossed))
        x = self.add_attention(x, lambda y: self.attention(y, **written)[0])
        x = self.add_cross_attention(x, lambda y: self.cross_attention(y, memory, **read)[0])
        return self.add_feed_forward(x, self.feed_forward)


def _own(x: Tensor, where: Where) -> dict[str, Any]:
    """Lo que recibe la autoatención de ``x``; sin posiciones, ella cuenta desde lo guardado."""
    mask, positions, cache = where
    given: dict[str, Any] = {"mask": mask, "cache": cache}
    if positions is None:
        return given
    return {**given, "positions": newest(positions, x), "key_positions": positions}


def _crossed(x: Tensor, own: Where, where: Where) -> dict[str, Any]:
    """Lo que recibe la atención cruzada, que no ve la caché: las filas nuevas siguen a ella."""
    given: dict[str, Any] = {"mask": where.mask}
    if own.positions is not None or own.cache is not None:
        given["positions"] = newest(places(x, own.positions, own.cache), x)
    if where.positions is not None:
        given["key_positions"] = where.positions
    return given


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

    def each(self, where: Where | Bool[Tensor, "..."] | None) -> list[Where]:
        """Lo que lleva cada bloque: lo mismo todos, salvo la caché.

        Errores: ``TypeError`` o ``ValueError`` si no hay una caché por bloque.
        """
        where = Where.of(where)
        caches = checks.one_each(where.cache, len(self.blocks), name="cache")
        return [where._replace(cache=cache) for cache in caches]

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
        where: Where | Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Pasa ``x`` por cada bloque; la ``cache`` de ``where``, si la hay, es una por bloque.

        Errores: los de :meth:`EncoderBlock.forward`, y ``TypeError`` o ``ValueError`` si no hay una
        caché por bloque.
        """
        for block, place in zip(self.blocks, self.each(where), strict=True):
            x = block(x, place)  # (…, n, d_model)
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
        attentions: list[Any] = [block.cross_attention for block in self.blocks]
        return tuple(attention.remember(memory, **where) for attention in attentions)

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        memories: Sequence[Memory | Tensor],
        own: Where | Bool[Tensor, "..."] | None = None,
        crossed: Where | Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Pasa ``x``, (…, n, d_model), por cada bloque, con su memoria y su caché.

        ``memories`` es lo que devolvió :meth:`remember`; lo demás, como en :class:`DecoderBlock`,
        con una caché por bloque en ``own``.

        Errores: los de :meth:`DecoderBlock.forward`, y ``TypeError`` o ``ValueError`` si no hay una
        memoria o una caché por bloque.
        """
        memories = checks.one_each(memories, len(self.blocks), name="memories")
        for block, memory, place in zip(self.blocks, memories, self.each(own), strict=True):
            x = block(x, memory, place, crossed)  # (…, n, d_model)
        return self.finish(x)
