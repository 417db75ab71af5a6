"""Piso 3: la atención.

Los pasos se llaman igual en todo el libro: proyectar → repartir en cabezas → puntuar → escalar →
enmascarar → normalizar → promediar → unir. Hay dos formas con la misma respuesta: la explícita, que
devuelve los pesos para mirarlos, y la fusionada, que no los guarda y es más rápida.

Las máscaras son booleanas, con ``True`` donde se puede atender, y se difunden hasta
``(…, query, key)``. Una consulta que no puede atender a ninguna clave recibe pesos 0 y salida 0,
sin NaN hacia delante ni hacia atrás. Así responde ``F.scaled_dot_product_attention`` desde PyTorch
2.5. ``nn.MultiheadAttention``, en cambio, da NaN en esas filas cuando se le piden los pesos (lo que
hace si no se dice otra cosa); con ``need_weights=False`` promedia 0 y devuelve el sesgo de salida,
salvo en modo de evaluación y sin gradientes, donde otro camino vuelve a dar NaN.

Lo que se exige a los argumentos está en ``checks.attention``; cómo se miran los pesos de un modelo
entero, en :mod:`atento.watching`.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Real
from torch import Tensor, nn

from atento import masks
from atento.cache import KVCache, Memory, newest, places
from atento.checks import attention as checks
from atento.shapes import is_readable, typed

# --- Una cabeza -----------------------------------------------------------------------------------


@typed(validate=checks.explicit)
def scaled_dot_product_attention(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    value: Float[Tensor, "*batch key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch query d_value"], Float[Tensor, "*batch query key"]]:
    """Calcula la atención por producto escalar escalado y devuelve ``(output, weights)``.

    Formas: las de la firma; ``mask`` es booleana y se difunde hasta ``(…, query, key)``. ``scale``
    es, si no se da, ``1 / √d_head``. ``dropout`` se aplica siempre que no sea 0, a los pesos con
    los que se promedia; los que se devuelven son los de antes, que suman 1 (o 0 en una fila tapada
    entera).

    Errores: ``TypeError`` por el tipo (enteros, máscara no booleana) y ``ValueError`` por la
    forma; el mensaje nombra el argumento. Con la comprobación de formas encendida, también
    ``ValueError`` si llegan NaN o infinitos.
    Fuente: Vaswani et al. (2017), ec. 1.
    """
    if scale is None:
        scale = query.shape[-1] ** -0.5
    query = query * scale  # escalar
    scores = query @ key.mT  # puntuar: (…, query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))  # enmascarar
    weights = scores.softmax(dim=-1)  # normalizar: cada fila suma 1
    weights = _zero_if_alone(weights, scores)  # o 0, la que no puede atender a nadie
    output = torch.dropout(weights, dropout, True) @ value  # promediar: (…, query, d_value)
    return output, weights


@typed(validate=checks.attend)
def attend(
    scores: Float[Tensor, "*batch query key"],
    value: Float[Tensor, "*batch key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch query d_value"], Float[Tensor, "*batch query key"]]:
    """Enmascara, normaliza y promedia: lo que toda atención hace con sus puntuaciones.

    Devuelve ``(output, weights)``; ``mask`` y ``dropout``, como en
    :func:`scaled_dot_product_attention`.

    Errores: ``TypeError`` o ``ValueError`` si los tensores no casan.
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))  # enmascarar
    weights = normalize.unchecked(scores)  # normalizar
    output = torch.dropout(weights, dropout, True) @ value  # promediar: (…, query, d_value)
    return output, weights


@typed(validate=checks.normalize)
def normalize(scores: Float[Tensor, "*batch query key"]) -> Float[Tensor, "*batch query key"]:
    """Devuelve los pesos: softmax sobre ``key``, o 0 en las filas donde todo es ``-inf``.

    En esas filas softmax daría 0/0 = NaN, también en el gradiente; aquí los dos valen 0.

    Errores: ``TypeError`` si ``scores`` no es un tensor de coma flotante.
    """
    return _zero_if_alone(scores.softmax(dim=-1), scores)


def _zero_if_alone(weights: Tensor, scores: Tensor) -> Float[Tensor, "*batch query key"]:
    """Pone 0, y no NaN, en las filas de ``weights`` cuyas puntuaciones son todas ``-inf``."""
    if is_readable(weights) and not math.isnan(weights.sum().item()):  # no hay filas así
        return weights
    alone = (scores == float("-inf")).all(dim=-1, keepdim=True)  # consultas sin ninguna clave
    return scores.masked_fill(alone, 0.0).softmax(dim=-1).masked_fill(alone, 0.0)


@typed(validate=checks.fused)
def fused_attention(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    value: Float[Tensor, "*batch key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*batch query d_value"]:
    """Calcula lo mismo con el núcleo fusionado de PyTorch, sin guardar los pesos.

    ``causal=True`` añade la máscara causal con las consultas al final de las claves, como pide la
    caché (``F.scaled_dot_product_attention`` las pone al principio; con tantas consultas como
    claves es igual). Lo demás, como en :func:`scaled_dot_product_attention`.

    Errores: los mismos.
    Fuente: Dao et al. (2022), algoritmo 1 (FlashAttention), cuando el dispositivo lo tiene.
    """
    if causal and not (mask is None and query.shape[-2] == key.shape[-2]):
        mask = masks.combine(_causal_rows(query, key), mask)
        causal = False
    return _fused(query, key, value, mask, is_causal=causal, scale=scale, dropout_p=dropout)


def _causal_rows(query: Tensor, key: Tensor) -> Bool[Tensor, "query key"]:
    """Las últimas filas de la máscara causal: las de las consultas nuevas."""
    n_queries, n_keys = query.shape[-2], key.shape[-2]
    return masks.causal_mask(n_keys, device=query.device)[n_keys - n_queries :]  # (query, key)


def _fused(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, **options) -> Tensor:
    """Llama al núcleo; ``allowed`` es una máscara booleana, un sesgo flotante o ``None``."""
    if allowed is None:
        return F.scaled_dot_product_attention(query, key, value, **options)
    if allowed.ndim < 2:
        allowed = torch.atleast_2d(allowed)  # PyTorch pide dos ejes
    if query.is_cpu:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=allowed, **options)
    allowed, alone = _for_gpu(allowed, key.shape[-2])
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed, **options)
    return output.masked_fill(alone, 0.0)


def _for_gpu(allowed: Tensor, n_keys: int) -> tuple[Tensor, Tensor]:
    """La máscara o el sesgo que admite cualquier núcleo de GPU, y qué filas no atienden a nadie.

    No todos dan 0 a esas filas, que aquí se abren, y alguno pide las claves seguidas en memoria:
    una sola columna que se repite para todas no lo está.
    """
    forbidden = False if allowed.dtype == torch.bool else float("-inf")
    alone = (allowed == forbidden).all(dim=-1, keepdim=True)  # (…, query, 1)
    opened = allowed.masked_fill(alone, 1)
    return opened.expand(*opened.shape[:-1], n_keys).contiguous(), alone


# --- Varias cabezas -------------------------------------------------------------------------------

Rotary = Callable[[Float[Tensor, "*batch head n d_head"], Real[Tensor, "*batch n"]], Tensor]
"""Gira consultas o claves, ``(…, head, n, d_head)``, según sus posiciones, ``(n,)`` o ``(…, n)``, y
no cambia la forma."""

ScoreBias = Callable[..., Float[Tensor, "*head query key"]]
"""De las posiciones de las consultas, ``(query,)`` o ``(…, query)``, y las de las claves, lo que se
suma a las puntuaciones. Si tiene ``needs_query = True``, recibe además las consultas, sin girar."""


class MultiHeadAttention(nn.Module):
    """Atención multicabeza: ``n_heads`` atenciones de anchura ``d_model / n_heads``, en paralelo.

    Con ``n_kv_heads``, varias cabezas de consultas comparten cada cabeza de claves y valores
    (agrupadas; con 1, una sola para todas), y la caché ocupa ``n_kv_heads / n_heads``. Las
    variantes entran por tres sitios, del más barato al más general; los dos primeros conservan la
    forma fusionada:

    - ``rotary(x, positions)`` gira consultas y claves, antes de guardarlas (RoPE);
    - ``score_bias(query_positions, key_positions)`` suma a las puntuaciones un sesgo que se difunde
      hasta ``(…, head, query, key)`` (ALiBi, T5); si tiene ``needs_query = True``, recibe además
      las consultas repartidas en cabezas y sin girar, ``(…, head, query, d_head)`` (Shaw);
    - el método :meth:`scores`, que una subclase redefine, puntúa de cualquier otra manera.

    Las posiciones de una llamada siguen a las que ya guarda la caché, salvo que se den al llamar.
    ``rotary`` y ``score_bias`` pueden ser módulos con parámetros, y compartirse entre capas; los
    del libro están en :mod:`atento.positions`.

    Diferencias con ``nn.MultiheadAttention``: el lote va delante, ``True`` en la máscara permite
    atender, los pesos se devuelven por cabeza y sin dropout, y solo si se piden.

    Errores: ``TypeError`` o ``ValueError`` si ``d_model``, ``n_heads`` o ``n_kv_heads`` no son
    enteros positivos, si uno no es múltiplo del siguiente o si ``dropout`` no está en [0, 1).
    Fuente: Vaswani et al. (2017), § 3.2.2; las cabezas agrupadas, Ainslie et al. (2023), § 2.2.
    """

    @typed(validate=checks.module)
    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        rotary: Rotary | None = None,
        score_bias: ScoreBias | None = None,
    ) -> None:
        super().__init__()
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_model // n_heads
        self.n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        self.dropout, self.rotary, self.score_bias = dropout, rotary, score_bias
        d_kv = self.n_kv_heads * self.d_head
        self.project_query = nn.Linear(d_model, d_model, bias=bias)
        self.project_key = nn.Linear(d_model, d_kv, bias=bias)
        self.project_value = nn.Linear(d_model, d_kv, bias=bias)
        self.project_output = nn.Linear(d_model, d_model, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos (Glorot y Bengio, 2010, ec. 16) y pone los sesgos a 0."""
        projections = (self.project_query, self.project_key, self.project_value)
        for linear in (*projections, self.project_output):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def scores(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
    ) -> Float[Tensor, "*batch head query key"]:
        """Puntúa cada clave para cada consulta, ya escalado y antes de enmascarar.

        Una variante redefine este método; entonces se usa siempre la forma explícita. Las consultas
        son las últimas posiciones de las claves si hay caché. Un ``-inf`` prohíbe la pareja, igual
        que la máscara.
        """
        return (query * self.d_head**-0.5) @ key.mT  # escalar y puntuar: (…, head, query, key)

    @typed(validate=checks.forward)
    def forward(
        self,
        query: Float[Tensor, "*batch query d_model"],
        key: Float[Tensor, "*batch key d_model"] | Memory | None = None,
        value: Float[Tensor, "*batch key d_model"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        need_weights: bool = False,
        cache: KVCache | None = None,
        positions: Real[Tensor, "..."] | None = None,
        key_positions: Real[Tensor, "..."] | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Devuelve siempre la pareja ``(output, weights)``.

        ``output`` es ``(…, query, d_model)``; ``weights`` es ``(…, head, query, key)`` con
        ``need_weights=True`` y ``None`` sin él. Sin ``key``, autoatención; sin ``value``, los
        valores salen de ``key``, que puede ser también lo que devolvió :meth:`remember`. Con
        ``cache``, las claves y los valores de esta llamada se añaden a los guardados, y el eje
        ``key`` los cuenta todos; si algo falla, la caché no crece. ``mask`` se difunde hasta
        ``(…, head, query, key)``.

        ``positions`` dice dónde está cada consulta, ``(query,)`` o ``(…, query)``, y
        ``key_positions`` dónde está cada clave, contadas las guardadas. Sin ellas, las posiciones
        son consecutivas desde 0 (las nuevas, desde las guardadas); en autoatención basta
        ``positions``. Solo las miran ``rotary`` y ``score_bias``.

        Errores: los de :func:`scaled_dot_product_attention`, y ``ValueError`` si llega ``value``
        sin ``key``, una máscara a la que le falta el eje ``head``, si ``positions`` o
        ``key_positions`` no tienen una posición por fila, o si ``rotary``, ``score_bias`` o
        :meth:`scores` devuelven otra forma.
        """
        if key is None and key_positions is None:
            key_positions = positions
        given, memory = (positions, key_positions), key
        if not isinstance(memory, Memory):
            memory = self._project(query if memory is None else memory, value)
        query = self._split(self.project_query(query))  # proyectar y repartir en cabezas
        query, keys, values, bias = self._locate(query, memory, memory is key, cache, given)
        if not need_weights and self._can_fuse():
            output, weights = self._fuse(query, keys, values, mask, bias), None
        else:
            scores = self.scores(query, self._share(keys))  # escalar y puntuar
            scores = self._biased(scores, query, keys, bias)
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))  # enmascarar
            weights = _zero_if_alone(scores.softmax(dim=-1), scores)  # normalizar
            kept = torch.dropout(weights, self.dropout, self.training)
            output = kept @ self._share(values)  # promediar: (…, head, query, d_head)
        output = self.project_output(output.transpose(-3, -2).flatten(-2))  # unir
        if cache is not None:
            cache.store(keys, values)
        return output, weights if need_weights else None

    @typed(validate=checks.remember)
    def remember(
        self,
        key: Float[Tensor, "*batch key d_model"],
        value: Float[Tensor, "*batch key d_model"] | None = None,
        *,
        key_positions: Real[Tensor, "..."] | None = None,
    ) -> Memory:
        """Proyecta (y gira) una memoria una sola vez, para atenderla en muchas llamadas.

        Devuelve dos tensores ``(…, head, key, d_head)``, que :meth:`forward` acepta como ``key``;
        ``key_positions``, como allí.

        Errores: ``TypeError`` o ``ValueError`` si los tensores no casan con el módulo.
        """
        key, value = self._project(key, value)
        return Memory(self._turn(key, places(key, key_positions)), value)

    def _project(self, key: Tensor, value: Tensor | None) -> Memory:
        value = key if value is None else value
        return Memory(self._split(self.project_key(key)), self._split(self.project_value(value)))

    def _split(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch head n d_head"]:
        return x.unflatten(-1, (-1, self.d_head)).transpose(-3, -2)

    def _locate(self, query, memory, remembered, cache, given) -> tuple:
        """Gira consultas y claves, añade las guardadas y calcula el sesgo: lo que mira posiciones.

        Una memoria recordada ya está girada.
        """
        turned, (key, value) = query, memory
        where: tuple = ()
        if self.rotary is not None or self.score_bias is not None:
            where = newest(places(query, given[0], cache), query), places(key, given[1], cache)
            turned = self._turn(query, where[0])
            key = key if remembered else self._turn(key, where[1])
        if cache is not None:
            key, value = cache.joined(key, value)
        return turned, key, value, self._bias(query, key, where)

    def _turn(self, x: Tensor, positions: Tensor) -> Tensor:
        if self.rotary is None:
            return x
        turned = self.rotary(x, newest(positions, x))
        checks.require_turned(turned, x, name="rotary")
        return turned

    def _bias(self, query, key, where) -> Float[Tensor, "*head query key"] | None:
        if self.score_bias is None:
            return None
        needs_query = getattr(self.score_bias, "needs_query", False)
        bias = self.score_bias(*where, query) if needs_query else self.score_bias(*where)
        checks.require_bias(bias, self._goal(query, key), query, name="score_bias")
        return bias.to(query.dtype)

    def _biased(self, scores, query, key, bias) -> Float[Tensor, "*batch head query key"]:
        checks.require_scores(scores, self._goal(query, key), name=f"{type(self).__name__}.scores")
        return scores if bias is None else scores + bias

    def _share(self, x: Tensor) -> Float[Tensor, "*batch head key d_head"]:
        """Repite cada cabeza de claves o valores para las de consultas que la comparten."""
        group = self.n_heads // self.n_kv_heads
        return x if group == 1 else x.repeat_interleave(group, dim=-3)

    def _goal(self, query: Tensor, key: Tensor) -> tuple[int, ...]:
        return (*query.shape[:-1], key.shape[-2])  # (…, head, query, key)

    def _can_fuse(self) -> bool:
        """Dice si el núcleo hace lo mismo: sí, salvo que otra puntuación redefina ``scores``."""
        return type(self).scores is MultiHeadAttention.scores and "scores" not in vars(self)

    def _fuse(self, query, key, value, mask, bias) -> Float[Tensor, "*batch head query d_head"]:
        """De puntuar a promediar, en el núcleo fusionado."""
        dropout = self.dropout if self.training else 0.0
        grouped = self.n_kv_heads != self.n_heads
        allowed = _allowed(mask, bias)
        return _fused(query, key, value, allowed, dropout_p=dropout, enable_gqa=grouped)

    def extra_repr(self) -> str:
        return (
            f"d_model={self.d_model}, n_heads={self.n_heads}, n_kv_heads={self.n_kv_heads}, "
            f"dropout={self.dropout}"
        )


def _allowed(mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """Junta máscara y sesgo como los quiere el núcleo: -inf donde no se puede atender."""
    if bias is None or mask is None:
        return mask if bias is None else bias
    return bias.masked_fill(~mask, float("-inf"))
