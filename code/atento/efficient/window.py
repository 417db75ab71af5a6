"""La ventana deslizante: cada posición atiende a sus vecinas y a unas pocas que ven todas."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from atento.attention import attend
from atento.checks import efficient as checks
from atento.efficient.online import blocks
from atento.efficient.substitution import EfficientAttention
from atento.shapes import typed


@typed(validate=checks.window_mask)
def window_mask(
    n_queries: int,
    n_keys: int,
    window: int,
    *,
    causal: bool = False,
    global_at: Sequence[int] = (),
    device: torch.device | str | None = None,
) -> Bool[Tensor, "query key"]:
    """Quién atiende a quién, como tabla: las que distan ``window`` o menos, y las globales.

    Las posiciones de ``global_at`` ven a todas y todas las ven. Las consultas son las últimas
    posiciones; con ``causal`` nadie ve las que le siguen, tampoco las globales.

    Errores: ``TypeError`` o ``ValueError`` si los tamaños no son enteros, ``window`` es negativa o
    ``global_at`` no son posiciones de las claves.
    Fuente: Beltagy et al. (2020), § 3.1 y figura 2d; aquí ``window`` es lo que alcanza a cada lado.
    """
    rows = torch.arange(n_keys - n_queries, n_keys, device=device)[:, None]
    return _near(rows, torch.arange(n_keys, device=device), window, causal, global_at)


def _near(rows, columns, window, causal, global_at) -> Bool[Tensor, "rows columns"]:
    anchors = torch.tensor([*global_at], dtype=torch.long, device=columns.device)
    seen = (rows - columns).abs() <= window
    seen = seen | torch.isin(columns, anchors) | torch.isin(rows, anchors)
    return seen & (columns <= rows) if causal else seen


@typed(validate=checks.windowed)
def window_attention(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    value: Float[Tensor, "*batch key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    window: int,
    causal: bool = False,
    global_at: Sequence[int] = (),
    scale: float | None = None,
    bias: Float[Tensor, "..."] | None = None,
    block: int | None = None,
) -> Float[Tensor, "*batch query d_value"]:
    """La atención con :func:`window_mask`, sin mirar las parejas que tapa.

    Las consultas van de ``block`` en ``block`` (si no se dice, tantas como la ventana), y cada
    trozo puntúa solo las claves que alcanza, más las globales. Las globales puntúan a todas,
    aparte. ``mask`` y ``bias`` se difunden hasta (…, query, key).

    Errores: los de ``scaled_dot_product_attention`` y los de :func:`window_mask`.
    Fuente: Beltagy et al. (2020), § 3.1 y 3.2. Longformer da a las globales matrices propias, que
    empiezan siendo copia de las otras; aquí son las mismas.
    """
    n, m = query.shape[-2], key.shape[-2]
    ahead = m - n
    outputs = []
    for rows in blocks(n, block or max(1, window)):
        first = max(0, rows.start + ahead - window)
        last = min(m, rows.stop + ahead + (0 if causal else window))
        far = [j for j in global_at if not first <= j < last]  # las globales que no están cerca
        columns = torch.tensor([*far, *range(first, last)], device=key.device)
        places = torch.arange(rows.start, rows.stop, device=key.device)
        seen = _near(places[:, None] + ahead, columns, window, causal, global_at)
        outputs.append(_some(query, key, value, places, columns, seen, mask, bias, scale))
    output = torch.cat(outputs, dim=-2)  # (…, query, d_value)
    anchors = [j - ahead for j in global_at if j >= ahead]
    if not anchors:
        return output
    places = torch.tensor(anchors, device=key.device)
    columns = torch.arange(m, device=key.device)
    seen = _near(places[:, None] + ahead, columns, m, causal, global_at)
    whole = _some(query, key, value, places, columns, seen, mask, bias, scale)
    return output.index_copy(-2, places, whole)


def _some(query, key, value, rows, columns, seen, mask, bias, scale) -> Tensor:
    """La atención de esas filas a esas columnas, (…, rows, d_value)."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    tables = [_cut(t, rows, columns, key.shape[-2]) for t in (mask, bias)]
    query, key, value = query[..., rows, :] * scale, key[..., columns, :], value[..., columns, :]
    if tables[0] is not None:
        seen = seen & tables[0]
    scores = query @ key.mT if tables[1] is None else query @ key.mT + tables[1]
    return attend.unchecked(scores, value, seen)[0]


def _cut(table: Tensor | None, rows: Tensor, columns: Tensor, n_keys: int) -> Tensor | None:
    """Esas filas y columnas de una máscara o un sesgo que se difunde."""
    if table is None:
        return None
    table = torch.atleast_2d(table)
    table = table if table.shape[-2] == 1 else table[..., rows, :]
    return table.expand(*table.shape[:-1], n_keys)[..., columns]


class WindowAttention(EfficientAttention):
    """La multicabeza con :func:`window_attention`.

    Errores: los de :class:`EfficientAttention` y los de :func:`window_mask`.
    Fuente: Beltagy et al. (2020), § 3.
    """

    takes_bias: ClassVar[bool] = True

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        window: int,
        global_at: Sequence[int] = (),
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        checks.window(window, global_at)
        self.window, self.global_at = window, tuple(global_at)

    def scores(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
    ) -> Float[Tensor, "*batch head query key"]:
        """Las puntuaciones de siempre, con ``-inf`` fuera de la ventana."""
        scores = super().scores(query, key)
        allowed = window_mask(*scores.shape[-2:], **self._reach(), device=scores.device)
        return scores.masked_fill(~allowed, float("-inf"))

    def mix(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
        value: Float[Tensor, "*batch head key d_head"],
        mask: Bool[Tensor, "..."] | None,
        bias: Float[Tensor, "..."] | None,
    ) -> Float[Tensor, "*batch head query d_head"]:
        """Cada trozo, con las claves que alcanza."""
        return window_attention(query, key, value, mask, bias=bias, **self._reach())

    def _reach(self) -> dict[str, Any]:
        return {"window": self.window, "causal": self.causal, "global_at": self.global_at}
