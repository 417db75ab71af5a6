"""Un módulo con anotaciones aplazadas, para probar que `typed` las resuelve."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from atento.shapes import typed


@typed
def scores(query: Float[Tensor, "query d_head"], key: Float[Tensor, "key d_head"] | None = None):
    return query


@typed
def wrong_result(query: Float[Tensor, "query d_head"]) -> Float[Tensor, "query 1"]:
    return query
