"""Puntuar traducciones: coincidencia exacta, BLEU y la atención a las parejas invertidas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from atento.amounts import require_size
from atento.device import require_device
from atento.shapes import require_tensor
from atento.tasks.translation.sentences import Example, detokenize
from atento.tasks.translation.vocabulary import batch, vocabularies


def translate(
    model: Any,
    examples: Sequence[Example],
    *,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> list[list[str]]:
    """Traduce los ejemplos y devuelve, de cada uno, las palabras inglesas.

    ``model`` tiene un método ``translate(source)`` o es una función: de números (batch, source) a
    (batch, target).

    Errores: ``TypeError`` si no es ninguna de las dos cosas; ``ValueError`` si ``batch_size`` no es
    positivo o no existe ``device``.
    """
    function: Callable[[Tensor], Tensor] = getattr(model, "translate", model)
    if not callable(function):
        raise TypeError(
            "model: se esperaba un modelo con translate o una función; llegó "
            f"{type(model).__name__}."
        )
    require_size(batch_size, name="batch_size")
    where = require_device(device)
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].source))
    outputs: list[list[str]] = [[] for _ in examples]
    target = vocabularies()[1]
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        ids = function(batch([examples[i] for i in chosen]).source.to(where))
        for i, row in zip(chosen, ids.tolist(), strict=True):
            outputs[i] = target.decode(row)
    return outputs


def score(
    model: Any,
    examples: Sequence[Example],
    *,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> dict[str, float]:
    """Puntúa las traducciones de ``model``, que es lo que acepta :func:`translate`.

    ``exact`` es la proporción de frases idénticas y ``bleu`` va de 0 a 100 (sacrebleu): una
    referencia, tokens «13a», del texto corrido de :func:`detokenize`.

    Errores: los de :func:`translate`, y ``ValueError`` si no hay ejemplos.
    Fuente: Papineni et al. (2002), con la receta de Post (2018).
    """
    if not examples:
        raise ValueError("examples: se esperaba al menos un ejemplo que puntuar; no llegó ninguno.")
    from sacrebleu.metrics import BLEU

    outputs = translate(model, examples, batch_size=batch_size, device=device)
    hits = sum(tuple(words) == e.target for words, e in zip(outputs, examples, strict=True))
    texts, references = map(detokenize, outputs), [detokenize(e.target) for e in examples]
    bleu = BLEU(tokenize="13a").corpus_score(list(texts), [references]).score
    return {"exact": hits / len(examples), "bleu": bleu, "n": len(examples)}


def inversion_hits(
    weights: Float[Tensor, "batch target source"], examples: Sequence[Example]
) -> tuple[int, int]:
    """Cuenta las parejas invertidas cuyos dos mayores pesos caen en su origen: (aciertos, total).

    ``weights``: (batch, target, source), con la fila ``t`` la que produjo la palabra inglesa ``t``
    del ejemplo.

    Errores: ``TypeError`` si ``weights`` no es un tensor.
    """
    require_tensor(weights, name="weights")
    best = weights.argmax(-1).tolist()
    hits = total = 0
    for row, example in zip(best, examples, strict=True):
        for pair in example.inversions:
            total += 1
            hits += all(row[t] == example.alignment[t] for t in pair)
    return hits, total
