"""Cuánto se ha apartado un modelo de lenguaje de otro: en cada palabra, y en frases enteras."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from atento.checks import adaptation as checks
from atento.shapes import typed

MOST = 200_000
"""Cuántas frases distintas se recorren, como mucho, en :func:`exact_kl`."""


@typed(validate=checks.sequence_log_probs)
def sequence_log_probs(
    logits: Float[Tensor, "batch n vocab"],
    labels: Int[Tensor, "batch n"],
    mask: Bool[Tensor, "batch n"] | None = None,
) -> Float[Tensor, " batch"]:
    """Log-probabilidad de cada frase, (batch,): la suma de la de sus palabras, en nats.

    ``logits[:, t]`` puntúa a ``labels[:, t]``; con ``mask`` solo cuentan las palabras en True (la
    respuesta, y no la pregunta ni el relleno).

    Errores: ``TypeError`` o ``ValueError`` si las formas no casan o alguna palabra no cabe.
    """
    log_p = logits.log_softmax(dim=-1).gather(-1, labels.long().unsqueeze(-1)).squeeze(-1)
    return (log_p if mask is None else log_p.masked_fill(~mask, 0.0)).sum(dim=1)


@typed(validate=checks.token_kl)
def token_kl(
    policy: Float[Tensor, "*batch vocab"], reference: Float[Tensor, "*batch vocab"]
) -> Float[Tensor, "*batch"]:
    """KL(π ‖ π_ref) de la palabra siguiente en cada sitio, (…), en nats; recibe puntuaciones.

    Es exacta: suma sobre todo el vocabulario. Una palabra que la política no escribe nunca no
    cuenta.

    Errores: ``TypeError`` o ``ValueError`` si no son puntuaciones de la misma forma.
    """
    log_p, log_q = policy.log_softmax(dim=-1), reference.log_softmax(dim=-1)
    gap = torch.where(log_p.isneginf(), 0.0, log_p - log_q)  # 0 · log 0 = 0
    return (log_p.exp() * gap).sum(dim=-1)


def exact_kl(
    policy: Callable[[Tensor], Tensor],
    reference: Callable[[Tensor], Tensor],
    start: Int[Tensor, " start"],
    *,
    length: int,
    eos_id: int | None = None,
) -> Float[Tensor, ""]:
    """KL(π ‖ π_ref) entre todas las frases de ``length`` palabras que siguen a ``start``, exacta.

    Recorre el árbol de frases: la de frases enteras es, por la regla de la cadena, la media con π
    de la suma de las de cada palabra. ``policy`` y ``reference`` van de números ``(batch, n)`` a
    puntuaciones ``(batch, n, vocab)``. Tras ``eos_id`` no se escribe más.

    Errores: ``TypeError`` o ``ValueError`` si no son funciones, ``start`` no es una fila de
    enteros, ``length`` no es un entero positivo o las frases son más de ``MOST``.
    Fuente: Cover y Thomas (2006), teorema 2.5.3.
    """
    checks.exact_kl(policy, reference, start, length)
    ids, log_p = start[None], torch.zeros(1, device=start.device)  # las frases y su probabilidad
    total = torch.zeros((), device=start.device)
    for _ in range(length):
        ours, theirs = policy(ids)[:, -1], reference(ids)[:, -1]  # (frases, vocab)
        total = total + (log_p.exp() * token_kl(ours, theirs)).sum()
        log_p = (log_p[:, None] + ours.log_softmax(dim=-1)).flatten()
        words = torch.arange(ours.shape[1], device=ids.device)
        ids = torch.cat(
            [ids.repeat_interleave(len(words), 0), words.repeat(len(ids))[:, None]], dim=1
        )
        going = ~log_p.isneginf() if eos_id is None else (ids[:, -1] != eos_id) & ~log_p.isneginf()
        ids, log_p = ids[going], log_p[going]
        checks.require_few(len(ids), MOST)
        if not len(ids):
            break
    return total
