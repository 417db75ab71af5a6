"""La atención lineal: un producto de rasgos en lugar de una exponencial, y se puede reordenar."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from atento.checks import efficient as checks
from atento.efficient.online import blocks
from atento.efficient.substitution import EfficientAttention, read_mask
from atento.shapes import typed


@typed(validate=checks.features)
def elu_features(x: Float[Tensor, "*batch n d_head"]) -> Float[Tensor, "*batch n d_head"]:
    """Los rasgos de la atención lineal, ``elu(x) + 1``: tantos como componentes, y positivos.

    Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (…, n, d_head) de coma flotante.
    Fuente: Katharopoulos et al. (2020), ec. 7.
    """
    return F.elu(x) + 1


@typed(validate=checks.linear)
def linear_attention(
    query: Float[Tensor, "*batch query feature"],
    key: Float[Tensor, "*batch key feature"],
    value: Float[Tensor, "*batch key d_value"],
    *,
    causal: bool = False,
    keys: Bool[Tensor, "..."] | None = None,
    block: int = 64,
) -> Float[Tensor, "*batch query d_value"]:
    """Promedia los valores con pesos proporcionales a ``query · key``, que son rasgos no negativos.

    Sin ``causal``, ``(Q Kᵀ) V`` se calcula como ``Q (Kᵀ V)``: nunca hay una tabla (query, key). Con
    él, lo ya pasado se lleva resumido en una tabla ``(feature, d_value)`` y se avanza de ``block``
    en ``block``; las consultas son las últimas posiciones. ``keys``, si se da, es ``False`` en las
    claves de relleno y se difunde hasta (…, key).

    Errores: ``TypeError`` o ``ValueError`` si los tensores no casan o ``block`` no es un entero
    positivo.
    Fuente: Katharopoulos et al. (2020), ec. 5, 6 y 9.
    """
    if keys is not None:
        key = key * keys.unsqueeze(-1)
    value = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)  # la última suma los pesos
    mixed = _causal(query, key, value, block) if causal else query @ (key.mT @ value)
    total = mixed[..., -1:]  # (…, query, 1)
    return mixed[..., :-1] / total.masked_fill(total == 0, 1.0)


def _causal(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    """Cada consulta con las claves hasta la suya, sin dividir: (…, query, d_value + 1)."""
    ahead = key.shape[-2] - query.shape[-2]
    past = key[..., :ahead, :].mT @ value[..., :ahead, :]  # (…, feature, d_value + 1)
    outputs = []
    for rows in blocks(query.shape[-2], block):
        q, columns = query[..., rows, :], slice(rows.start + ahead, rows.stop + ahead)
        k, v = key[..., columns, :], value[..., columns, :]
        outputs.append(q @ past + (q @ k.mT).tril() @ v)
        past = past + k.mT @ v
    return torch.cat(outputs, dim=-2)


class LinearState(NamedTuple):
    """Todo lo que la atención lineal recuerda: no crece con lo leído.

    ``memory`` ``(…, feature, d_value)`` es la suma de las parejas clave-valor, y ``total``
    ``(…, feature)``, la de las claves.
    """

    memory: Tensor
    total: Tensor


@typed(validate=checks.linear_step)
def linear_step(
    query: Float[Tensor, "*batch feature"],
    key: Float[Tensor, "*batch feature"],
    value: Float[Tensor, "*batch d_value"],
    state: LinearState | None = None,
) -> tuple[Float[Tensor, "*batch d_value"], LinearState]:
    """Un paso de la misma atención causal, escrita como una red recurrente.

    ``query`` y ``key`` son los rasgos de la posición nueva; ``state``, lo que devolvió el paso
    anterior, o ``None`` al empezar. Devuelve ``(output, state)``.

    Errores: ``TypeError`` o ``ValueError`` si los tensores no casan.
    Fuente: Katharopoulos et al. (2020), ec. 16 a 20.
    """
    memory, total = key.unsqueeze(-1) * value.unsqueeze(-2), key
    if state is not None:
        memory, total = state.memory + memory, state.total + total
    weight = (query * total).sum(dim=-1, keepdim=True)  # (…, 1)
    output = (query.unsqueeze(-2) @ memory).squeeze(-2) / weight.masked_fill(weight == 0, 1.0)
    return output, LinearState(memory, total)


class LinearAttention(EfficientAttention):
    """La multicabeza lineal, con :func:`elu_features`.

    Errores: los de :class:`EfficientAttention`, y si ``block`` no es un entero positivo.
    Fuente: Katharopoulos et al. (2020), § 3.
    """

    def __init__(self, d_model: int, n_heads: int, *, block: int = 64, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        checks.pieces(0, block)
        self.block = block

    def features(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
    ) -> tuple[Float[Tensor, "*batch head query f"], Float[Tensor, "*batch head key f"]]:
        """Los rasgos de consultas y claves; multiplicar los de una clave por otro número, el mismo
        para todas, no cambia nada.
        """
        return elu_features(query), elu_features(key)

    def scores(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
    ) -> Float[Tensor, "*batch head query key"]:
        """El logaritmo del producto de los rasgos: con softmax detrás, los mismos pesos."""
        query, key = self.features(query, key)
        return (query @ key.mT).log()

    def mix(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
        value: Float[Tensor, "*batch head key d_head"],
        mask: Bool[Tensor, "..."] | None,
        bias: Float[Tensor, "..."] | None,
    ) -> Float[Tensor, "*batch head query d_head"]:
        """Primero las claves con los valores, y después las consultas."""
        causal, keys = read_mask(mask, query.shape[-2], key.shape[-2])
        options = {"causal": causal or self.causal, "keys": keys, "block": self.block}
        return linear_attention(*self.features(query, key), value, **options)
