"""Linformer: resumir las claves y los valores en unas pocas filas antes de atender."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from atento.attention import scaled_dot_product_attention
from atento.checks import efficient as checks
from atento.efficient.substitution import EfficientAttention, read_mask
from atento.shapes import typed


@typed(validate=checks.linformer)
def linformer_attention(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    value: Float[Tensor, "*batch key d_value"],
    shorten_key: Float[Tensor, "rank key"],
    shorten_value: Float[Tensor, "rank key"],
    *,
    keys: Bool[Tensor, "..."] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "*batch query d_value"]:
    """Atiende a ``rank`` mezclas de las claves, con las mismas mezclas, u otras, de los valores.

    ``shorten_key`` y ``shorten_value``, ``(rank, key)``, son las E y F del artículo. La tabla es de
    ``(query, rank)``. ``keys``, si se da, es ``False`` en las claves de relleno, que no entran en
    ninguna mezcla, y se difunde hasta (…, key). No puede ser causal: cada mezcla tiene de todas.

    Errores: los de ``scaled_dot_product_attention``, y si las mezclas no son ``(rank, key)``.
    Fuente: Wang et al. (2020), ec. 7.
    """
    if keys is not None:
        key, value = key * keys.unsqueeze(-1), value * keys.unsqueeze(-1)
    key, value = shorten_key @ key, shorten_value @ value  # (…, rank, d_head) y (…, rank, d_value)
    return scaled_dot_product_attention.unchecked(query, key, value, scale=scale)[0]


class LinformerAttention(EfficientAttention):
    """La multicabeza con :func:`linformer_attention`; las mezclas se aprenden.

    Sirve para secuencias de ``max_len`` como mucho; de una más corta se usan las primeras columnas.
    Empiezan promediando ``max_len / rank`` posiciones seguidas. Con ``shared``, los valores se
    mezclan como las claves; las cabezas comparten siempre las mezclas. No hay pesos que mirar,
    porque no se atiende a posiciones.

    Errores: los de :class:`EfficientAttention`, si los tamaños no son enteros positivos, ``rank``
    pasa de ``max_len`` o se pide ``causal``, y ``ValueError`` al mirar los pesos.
    Fuente: Wang et al. (2020), § 4; empezar promediando es de aquí.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        max_len: int,
        rank: int,
        shared: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        checks.short(self, max_len, rank)
        self.max_len, self.rank = max_len, rank
        self.shorten_key = nn.Parameter(mean_pooling(max_len, rank))
        self.shorten_value = self.shorten_key
        if not shared:
            self.shorten_value = nn.Parameter(mean_pooling(max_len, rank))

    def scores(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
    ) -> Float[Tensor, "*batch head query key"]:
        """No las hay, (…, head, query, key): se puntúan mezclas y no claves.

        Errores: ``ValueError``, siempre.
        """
        raise ValueError(
            "need_weights: se esperaba False, porque Linformer atiende a mezclas de posiciones y "
            "no hay un peso por pareja; llegó True."
        )

    def mix(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
        value: Float[Tensor, "*batch head key d_head"],
        mask: Bool[Tensor, "..."] | None,
        bias: Float[Tensor, "..."] | None,
    ) -> Float[Tensor, "*batch head query d_head"]:
        """Mezcla las claves y los valores, y atiende a las mezclas."""
        n = key.shape[-2]
        causal, keys = read_mask(mask, query.shape[-2], n)
        checks.shortened(self, n, causal)
        mixes = self.shorten_key[:, :n], self.shorten_value[:, :n]
        return linformer_attention(query, key, value, *mixes, keys=keys)


def mean_pooling(n: int, rank: int) -> Float[Tensor, "rank n"]:
    """La matriz que promedia ``n`` posiciones en ``rank`` grupos seguidos, casi iguales.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos o ``rank`` pasa de ``n``.
    """
    checks.pooling(n, rank)
    group = torch.arange(n) * rank // n  # a qué grupo va cada posición
    members = (group == torch.arange(rank)[:, None]).to(torch.get_default_dtype())
    return members / members.sum(dim=-1, keepdim=True)
