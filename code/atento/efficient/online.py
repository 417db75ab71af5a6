"""Softmax en línea: la atención exacta, a trozos y sin guardar la tabla (query, key)."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from atento.checks import efficient as checks
from atento.efficient.substitution import EfficientAttention
from atento.shapes import typed


@typed(validate=checks.online)
def online_attention(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    value: Float[Tensor, "*batch key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    bias: Float[Tensor, "..."] | None = None,
    block: int = 64,
) -> tuple[Float[Tensor, "*batch query d_value"], Float[Tensor, "*batch query"]]:
    """La misma respuesta que ``scaled_dot_product_attention``, de ``block`` en ``block``.

    Devuelve ``(output, logsumexp)``; lo segundo es el logaritmo de la suma de las exponenciales de
    cada fila, ``-inf`` en la que no puede atender a nadie. Solo hay una tabla de ``block · block``
    puntuaciones a la vez. Al derivar tampoco se guardan: se vuelven a calcular. ``bias`` se suma a
    las puntuaciones y se difunde, como ``mask``, hasta (…, query, key). Con ``causal``, las
    consultas son las últimas posiciones y los trozos del futuro no se calculan.

    Errores: los de ``scaled_dot_product_attention``, y si ``block`` no es un entero positivo.
    Fuente: Milakov y Gimelshein (2018), algoritmo 3; Dao et al. (2022), algoritmo 1; volver a
    calcular en vez de guardar, Rabe y Staats (2021).
    """
    n, m = query.shape[-2], key.shape[-2]
    query = query * (query.shape[-1] ** -0.5 if scale is None else scale)  # escalar
    outputs, sums = [], []
    for rows in blocks(n, block):
        last = m if not causal else m - n + rows.stop  # las claves que estas filas pueden ver
        extra = _rows(mask, rows, m), _rows(bias, rows, m), m - n if causal else None
        seen = key[..., :last, :], value[..., :last, :]
        output, logsumexp = _recomputed(_one_block, query[..., rows, :], *seen, *extra, rows, block)
        outputs.append(output)
        sums.append(logsumexp)
    return torch.cat(outputs, dim=-2), torch.cat(sums, dim=-1)


def _one_block(query, key, value, mask, bias, ahead, rows, block) -> tuple[Tensor, Tensor]:
    """Unas filas de consultas, contra todas sus claves: (…, rows, d_value) y (…, rows)."""
    largest = query.new_full((*query.shape[:-1], 1), float("-inf"))  # el mayor visto: m
    total = torch.zeros_like(largest)  # la suma de exponenciales, respecto a m: ℓ
    mixed = query.new_zeros(*query.shape[:-1], value.shape[-1])  # los valores, sin dividir: o
    for columns in blocks(key.shape[-2], block):
        scores = query @ key[..., columns, :].mT  # puntuar: (…, rows, columns)
        if bias is not None:
            scores = scores + bias[..., columns]
        if mask is not None:
            scores = scores.masked_fill(~mask[..., columns], float("-inf"))  # enmascarar
        if ahead is not None and columns.stop > rows.start + ahead + 1:
            scores = scores.masked_fill(_future(rows, columns, ahead, query), float("-inf"))
        new = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        base = new.masked_fill(new == float("-inf"), 0.0).detach()  # nadie a quien atender todavía
        weights = (scores - base).exp()
        shrink = (largest - base).exp()  # lo de antes se midió con otro máximo
        total = total * shrink + weights.sum(dim=-1, keepdim=True)
        mixed = mixed * shrink + weights @ value[..., columns, :]  # promediar
        largest = base.masked_fill(new == float("-inf"), float("-inf"))
    total = total.masked_fill(total == 0, 1.0)  # quien no puede atender a nadie recibe 0
    return mixed / total, (largest + total.log()).squeeze(-1)  # normalizar, una vez


def _recomputed(function: Callable, *args: Any) -> tuple[Tensor, Tensor]:
    """La llama; si se va a derivar, sin guardar lo de dentro, que se calculará otra vez."""
    learning = any(isinstance(x, Tensor) and x.requires_grad for x in args)
    if not (learning and torch.is_grad_enabled()):
        return function(*args)
    return checkpoint(function, *args, use_reentrant=False, preserve_rng_state=False)


def _future(rows: slice, columns: slice, ahead: int, like: Tensor) -> Bool[Tensor, "rows columns"]:
    i = torch.arange(rows.start, rows.stop, device=like.device) + ahead
    return torch.arange(columns.start, columns.stop, device=like.device) > i[:, None]


def _rows(table: Tensor | None, rows: slice, n_keys: int) -> Tensor | None:
    """Esas filas de una máscara o un sesgo que se difunde: (…, rows, key), sin copiar."""
    if table is None:
        return None
    table = torch.atleast_2d(table)
    table = table if table.shape[-2] == 1 else table[..., rows, :]
    return table.expand(*table.shape[:-1], n_keys)


def blocks(n: int, block: int) -> Iterator[slice]:
    """Los trozos de ``block`` en que se parten ``n`` posiciones; el último puede ser menor.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros, ``block`` positivo.
    """
    checks.pieces(n, block)
    return (slice(start, min(start + block, n)) for start in range(0, n, block))


class OnlineAttention(EfficientAttention):
    """La multicabeza con :func:`online_attention`: los mismos números en menos sitio.

    Errores: los de :class:`EfficientAttention`, y si ``block`` no es un entero positivo.
    Fuente: Dao et al. (2022), § 3.1.
    """

    takes_bias: ClassVar[bool] = True

    def __init__(self, d_model: int, n_heads: int, *, block: int = 64, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        checks.pieces(0, block)
        self.block = block

    def mix(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
        value: Float[Tensor, "*batch head key d_head"],
        mask: Bool[Tensor, "..."] | None,
        bias: Float[Tensor, "..."] | None,
    ) -> Float[Tensor, "*batch head query d_head"]:
        """La atención exacta, a trozos."""
        options = {"causal": self.causal, "bias": bias, "block": self.block}
        return online_attention(query, key, value, mask, **options)[0]
