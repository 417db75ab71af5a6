"""Los filtros: de unas puntuaciones, (…, vocab), a otras, antes de elegir.

Una palabra prohibida puntúa ``-inf``, y las demás se reparten toda la probabilidad. Se componen
como cualquier función: ``keep_top_p(with_temperature(logits, 0.7), 0.9)``.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from atento.checks import decoding as checks
from atento.shapes import typed


@typed(validate=checks.temperature)
def with_temperature(
    logits: Float[Tensor, "*batch vocab"], temperature: float
) -> Float[Tensor, "*batch vocab"]:
    """Divide las puntuaciones: la probabilidad queda proporcional a ``p^(1/temperature)``.

    Por debajo de 1 concentra, por encima reparte y, hacia 0, tiende a la más probable. La mayor
    queda en 0, que no cambia nada y no desborda.

    Errores: ``TypeError`` o ``ValueError`` si ``temperature`` no es un número finito mayor que 0 o
    ``logits`` no son números, con alguno finito por fila.
    Fuente: Phuong y Hutter (2022), algoritmo 14.
    """
    return (logits - logits.amax(dim=-1, keepdim=True)) / temperature


@typed(validate=checks.top_k)
def keep_top_k(logits: Float[Tensor, "*batch vocab"], k: int) -> Float[Tensor, "*batch vocab"]:
    """Deja las ``k`` mejores palabras, o todas si hay menos; entre iguales, las de menor número.

    Errores: ``TypeError`` o ``ValueError`` si ``k`` < 1; por ``logits``, los de
    :func:`with_temperature`.
    Fuente: Fan et al. (2018), § 5.4.
    """
    order = logits.argsort(dim=-1, descending=True, stable=True)  # (…, vocab)
    return _only(logits, order[..., :k])


@typed(validate=checks.top_p)
def keep_top_p(logits: Float[Tensor, "*batch vocab"], p: float) -> Float[Tensor, "*batch vocab"]:
    """Deja el núcleo: las menos palabras posibles que juntan una probabilidad de al menos ``p``.

    La que cruza ``p`` entra, así que nunca queda vacío; entre iguales, entran las de menor número.

    Errores: ``TypeError`` o ``ValueError`` si ``p`` no está en (0, 1]; por ``logits``, los de
    :func:`with_temperature`.
    Fuente: Holtzman et al. (2020), § 3.1.
    """
    if p == 1:
        return logits
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    reached = ordered.softmax(dim=-1).cumsum(dim=-1)  # (…, vocab): la probabilidad hasta cada una
    before = F.pad(reached[..., :-1], (1, 0))  # y la que había antes de ella
    return _only(logits, order, before < p)


@typed(validate=checks.min_p)
def keep_min_p(logits: Float[Tensor, "*batch vocab"], p: float) -> Float[Tensor, "*batch vocab"]:
    """Deja las palabras cuya probabilidad es al menos ``p`` veces la de la mejor.

    Errores: los de :func:`keep_top_p`.
    Fuente: Nguyen et al. (2025), § 3.
    """
    least = logits.amax(dim=-1, keepdim=True) + math.log(p)
    return logits.masked_fill(logits < least, float("-inf"))


def _only(
    logits: Tensor,
    order: Int[Tensor, "*batch chosen"],
    kept: Bool[Tensor, "*batch chosen"] | bool = True,
) -> Float[Tensor, "*batch vocab"]:
    """Prohíbe todas las palabras menos las de ``order`` que ``kept`` deja."""
    allowed = logits.new_zeros(logits.shape, dtype=torch.bool).scatter(-1, order, kept)
    return logits.masked_fill(~allowed, float("-inf"))
