"""Piso 5: la memoria asociativa cuyo paso es la atención.

Se guardan unos patrones, se llega con uno roto y la red baja por una energía hasta uno de ellos, o
hasta una mezcla si ``beta`` es pequeña. Un paso es la atención del estado sobre los patrones, que
hacen a la vez de clave y de valor, con ``beta`` en lugar de la escala.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from atento.attention import scaled_dot_product_attention
from atento.checks import hopfield as checks
from atento.shapes import typed


@typed(validate=checks.memory)
def energy(
    states: Float[Tensor, "*batch n d"], patterns: Float[Tensor, "*batch m d"], *, beta: float
) -> Float[Tensor, "*batch n"]:
    """La energía de cada estado: baja cerca de un patrón, y nunca es negativa.

    Es ``−lse(β, patterns · state) + ½‖state‖² + ln m / β + ½M²``, donde ``lse`` es el logaritmo de
    la suma de exponenciales dividido entre β, y ``M``, la norma del mayor patrón.

    Errores: ``TypeError`` o ``ValueError`` si los tensores no son de coma flotante o no casan, o
    ``beta`` no es positiva.
    Fuente: Ramsauer et al. (2021), ec. 2.
    """
    scores = states @ patterns.mT  # (…, n, m)
    attraction = torch.logsumexp(beta * scores, dim=-1) / beta  # (…, n)
    largest = patterns.square().sum(dim=-1).amax(dim=-1, keepdim=True)  # (…, 1), M²
    floor = torch.tensor(patterns.shape[-2], dtype=states.dtype).log().item() / beta
    return (states.square().sum(dim=-1) + largest) / 2 - attraction + floor


@typed(validate=checks.memory)
def update(
    states: Float[Tensor, "*batch n d"], patterns: Float[Tensor, "*batch m d"], *, beta: float
) -> Float[Tensor, "*batch n d"]:
    """Un paso: cada estado pasa a ser la media de los patrones, pesada por lo que se les parece.

    Nunca sube la energía. Es el estado menos el gradiente de :func:`energy`.

    Errores: los de :func:`energy`.
    Fuente: Ramsauer et al. (2021), ec. 3.
    """
    output, _ = scaled_dot_product_attention(states, patterns, patterns, scale=beta)
    return output  # (…, n, d)


class Recall(NamedTuple):
    """El camino de unos estados: ``states`` (step, …, n, d) y ``energies`` (step, …, n).

    El primero es el de llegada; el último, donde paran. ``settled`` dice si el último paso movió
    menos que la tolerancia.
    """

    states: Tensor
    energies: Tensor
    settled: bool


@typed(validate=checks.recall)
def recall(
    states: Float[Tensor, "*batch n d"],
    patterns: Float[Tensor, "*batch m d"],
    *,
    beta: float,
    steps: int = 50,
    tolerance: float = 1e-9,
) -> Recall:
    """Repite :func:`update` hasta que nada se mueve más que ``tolerance``, o ``steps`` veces.

    Errores: los de :func:`energy`, y si ``steps`` no es un entero positivo o ``tolerance``, un
    número positivo.
    Fuente: Ramsauer et al. (2021), § 2 y teorema 1 (converge) y 4 (con patrones separados, en un
    paso).
    """
    path, settled = [states], False
    for _ in range(steps):
        path.append(update(path[-1], patterns, beta=beta))
        settled = bool((path[-1] - path[-2]).abs().amax() < tolerance)
        if settled:
            break
    energies = [energy(state, patterns, beta=beta) for state in path]
    return Recall(torch.stack(path), torch.stack(energies), settled)
