"""FAVOR+: rasgos al azar cuyo producto vale, en promedio, lo que la exponencial."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from atento.checks import efficient as checks
from atento.efficient.linear import LinearAttention
from atento.shapes import typed


@typed(validate=checks.directions)
def draw_directions(
    features: int,
    d_head: int,
    *,
    orthogonal: bool = True,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "feature d_head"]:
    """Sortea las direcciones de los rasgos, ``(feature, d_head)``: normales, con varianza 1.

    Con ``orthogonal``, las de cada grupo de ``d_head`` son perpendiculares: cada una sigue siendo
    normal, y la estimación varía menos.

    Errores: ``TypeError`` o ``ValueError`` si los tamaños no son enteros positivos.
    Fuente: Choromanski et al. (2021), § 2.4.
    """
    gaussian = torch.randn(features, d_head, dtype=torch.float64, generator=generator)
    if not orthogonal:
        return gaussian.to(torch.get_default_dtype())
    groups = [_perpendicular(d_head, generator) for _ in range(-(-features // d_head))]
    lengths = gaussian.norm(dim=-1, keepdim=True)  # los de una normal
    return (torch.cat(groups)[:features] * lengths).to(torch.get_default_dtype())


def _perpendicular(d: int, generator: torch.Generator | None) -> Float[Tensor, "d d"]:
    """Una base ortonormal cualquiera, todas igual de probables."""
    q, r = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=generator))
    return (q * r.diagonal().sign()).T


@typed(validate=checks.positive)
def positive_features(
    x: Float[Tensor, "*batch n d_head"], directions: Float[Tensor, "feature d_head"]
) -> Float[Tensor, "*batch n feature"]:
    """Los rasgos ``exp(ω · x − ‖x‖² / 2) / √features`` de cada vector, todos positivos.

    El producto de los de ``x`` y los de ``y`` es una estimación insesgada de ``exp(x · y)``. Para
    la atención, ``x`` es la consulta o la clave entre la raíz cuarta de ``d_head``.

    Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (…, n, d_head) o las direcciones no
    casan.
    Fuente: Choromanski et al. (2021), lema 1 y ec. 5.
    """
    return _logarithms(x, directions).exp()


def _logarithms(x: Tensor, directions: Tensor) -> Float[Tensor, "*batch n feature"]:
    half = x.square().sum(dim=-1, keepdim=True) / 2
    return x @ directions.T - half - math.log(len(directions)) / 2


class PerformerAttention(LinearAttention):
    """La multicabeza con rasgos al azar, que se sortean al construir y cuando se pida.

    Las direcciones son las mismas para todas las cabezas. Los rasgos se dividen entre el mayor de
    los suyos (los de una consulta) o de todos (los de las claves), para que no se desborden; al
    normalizar, eso se va.

    Errores: los de :class:`LinearAttention`, y si ``features`` no es un entero positivo.
    Fuente: Choromanski et al. (2021), § 2.
    """

    directions: Tensor

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        features: int,
        orthogonal: bool = True,
        generator: torch.Generator | None = None,
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        self.orthogonal = orthogonal
        drawn = self._draw(features, generator)
        self.register_buffer("directions", drawn)

    def redraw(self, generator: torch.Generator | None = None) -> None:
        """Sortea otras direcciones."""
        self.directions = self._draw(len(self.directions), generator).to(self.directions)

    def features(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
    ) -> tuple[Float[Tensor, "*batch head query f"], Float[Tensor, "*batch head key f"]]:
        """Los rasgos positivos de consultas y claves, cada uno respecto a su mayor."""
        root = self.d_head**-0.25
        query, key = (_logarithms(x * root, self.directions) for x in (query, key))
        query = query - query.amax(dim=-1, keepdim=True).detach()
        key = key - key.amax(dim=(-2, -1), keepdim=True).detach()
        return query.exp(), key.exp()

    def _draw(self, features: int, generator: torch.Generator | None) -> Tensor:
        options: dict[str, Any] = {"orthogonal": self.orthogonal, "generator": generator}
        return draw_directions(features, self.d_head, **options)
