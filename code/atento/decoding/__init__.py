"""Piso 5: generar palabra a palabra con cualquier modelo que sepa dar un paso.

Un modelo es aquí una función ``step(ids, state) -> (logits, state)``: recibe todo lo escrito hasta
ahora, (batch, length), y un estado suyo (el de una red recurrente, la caché de un Transformer,
``None``), y devuelve las puntuaciones de la palabra siguiente, (batch, vocab), y el estado nuevo.
Un modelo recurrente solo mira la última columna de ``ids``; uno sin caché las mira todas.

- **Estrategias**: :func:`greedy`, la más probable cada vez; :func:`sample`, al azar;
  :func:`beam_search`, varias hipótesis a la vez, que copia y reordena el estado con :func:`select`.
- **Filtros**, funciones de puntuaciones a puntuaciones: :func:`with_temperature`,
  :func:`keep_top_k`, :func:`keep_top_p`, :func:`keep_min_p`.
- **Envoltorios** de un paso, que dan otro paso: :func:`penalize_repetition`,
  :func:`block_repeated`, :func:`recomputing`.
- **Cuándo parar**: en ``eos_id``, en ``max_length`` palabras o donde diga ``stop(written)``.

Nada de esto sabe de qué trata lo que se escribe.
"""

from atento.decoding.beam import (
    Growth,
    Hypotheses,
    Node,
    beam_search,
    by_length,
    by_total,
    by_wu,
    tree,
)
from atento.decoding.filters import keep_min_p, keep_top_k, keep_top_p, with_temperature
from atento.decoding.loop import draw, greedy, sample
from atento.decoding.steps import (
    Step,
    block_repeated,
    ends_with,
    kept,
    penalize_repetition,
    recomputing,
    select,
)

__all__ = [
    "Growth",
    "Hypotheses",
    "Node",
    "Step",
    "beam_search",
    "block_repeated",
    "by_length",
    "by_total",
    "by_wu",
    "draw",
    "ends_with",
    "greedy",
    "keep_min_p",
    "keep_top_k",
    "keep_top_p",
    "kept",
    "penalize_repetition",
    "recomputing",
    "sample",
    "select",
    "tree",
    "with_temperature",
]
