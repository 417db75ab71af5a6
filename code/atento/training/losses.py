"""La pérdida de todos los modelos de lenguaje: entropía cruzada sobre las palabras que cuentan."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from atento.checks import training as checks
from atento.shapes import typed


@typed(validate=checks.cross_entropy)
def cross_entropy(
    logits: Float[Tensor, "*batch vocab"],
    labels: Int[Tensor, "*batch"],
    *,
    pad_id: int | None = None,
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Entropía cruzada media, en nats por palabra, sin contar las que son ``pad_id``.

    Con ``smoothing = ε``, la respuesta que se pide no es toda de la palabra correcta: una parte
    ε se reparte por igual entre todo el vocabulario. Sin ninguna palabra que contar vale 0.

    Errores: ``TypeError`` si ``logits`` no es de coma flotante o ``labels``, de enteros;
    ``ValueError`` si no hay una palabra por fila, alguna no cabe en el vocabulario o ``smoothing``
    no está en [0, 1).
    Fuente: Szegedy et al. (2016), § 7; Vaswani et al. (2017), § 5.4.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)  # con 16 bits se suma en 32
    log_p = logits.to(wide).log_softmax(dim=-1)  # (…, vocab)
    counted = torch.ones_like(labels, dtype=torch.bool) if pad_id is None else labels != pad_id
    labels = labels.masked_fill(~counted, 0).long()
    right = -log_p.gather(-1, labels.unsqueeze(-1)).squeeze(-1)  # (…): la palabra correcta
    spread = -log_p.mean(dim=-1)  # (…): todas por igual
    loss = (1 - smoothing) * right + smoothing * spread if smoothing else right
    return (loss * counted).sum() / counted.sum().clamp(min=1)
