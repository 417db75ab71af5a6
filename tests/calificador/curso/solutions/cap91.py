"""Soluciones del curso de prueba, capítulo 91."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def masked_softmax(
    scores: Float[Tensor, "query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "query key"]:
    """Pesos por filas; una fila sin nada que atender es cero."""
    shifted = scores.masked_fill(~mask, float("-inf"))
    top = shifted.amax(-1, keepdim=True).clamp(min=-1e300)
    weights = torch.exp(shifted - top)
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total == 0, torch.ones_like(total), total)


def attend(
    query: Float[Tensor, "query d_head"],
    key: Float[Tensor, "key d_head"],
    value: Float[Tensor, "key d_value"],
) -> tuple[Float[Tensor, "query d_value"], Float[Tensor, "query key"]]:
    """Salida y pesos."""
    weights = torch.softmax(query @ key.T / query.shape[-1] ** 0.5, dim=-1)
    return weights @ value, weights


def output_shape(n_query: int, n_key: int, d_value: int) -> tuple[int, ...]:
    """Forma de la salida de la atención."""
    return (n_query, d_value)


def scale_scores(
    scores: Float[Tensor, "query key"], *, power: float = 0.5
) -> Float[Tensor, "query key"]:
    """Puntuaciones divididas entre n elevado a una potencia."""
    return scores / scores.shape[-1] ** power


def unit_vector(vector: Float[Tensor, "d"]) -> Float[Tensor, "d"]:
    """Un vector de norma 1 perpendicular al dado (hay muchos)."""
    other = torch.roll(vector, 1)
    other = other - (other @ vector) / (vector @ vector) * vector
    return other / other.norm()
