"""La búsqueda en haz: seguir varias hipótesis a la vez y quedarse con las mejores al final."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor

from atento.checks import decoding as checks
from atento.decoding.steps import Step, Stop, advance, ended, select

NEVER = float("-inf")

# --- Cuánto vale una hipótesis --------------------------------------------------------------------


def by_total(length: int) -> float:
    """No divide: la puntuación es la log-probabilidad, que favorece a las cortas."""
    return 1.0


def by_length(alpha: float = 1.0) -> Callable[[int], float]:
    """Divide la log-probabilidad entre ``length^alpha``: con 0, la suma; con 1, la media.

    Errores: ``TypeError`` o ``ValueError`` si ``alpha`` no es un número finito.
    """
    checks.exponent(alpha)
    return lambda length: float(length) ** alpha


def by_wu(alpha: float = 0.6) -> Callable[[int], float]:
    """Divide la log-probabilidad entre ``((5 + length) / 6)^alpha``; el Transformer usó 0.6.

    Errores: ``TypeError`` o ``ValueError`` si ``alpha`` no es un número finito.
    Fuente: Wu et al. (2016), ec. 14; Vaswani et al. (2017), § 6.1.
    """
    checks.exponent(alpha)
    return lambda length: ((5 + length) / 6) ** alpha


# --- Lo que se devuelve ---------------------------------------------------------------------------


class Growth(NamedTuple):
    """Un paso del haz: los candidatos, del mejor al peor, y cuáles siguen."""

    parent: Tensor  # (batch, candidate): de qué hipótesis viva viene
    word: Tensor  # (batch, candidate): la palabra que le añade
    log_probs: Tensor  # (batch, candidate): de la hipótesis entera; -inf si no cuenta
    closed: Tensor  # (batch, candidate): acaba aquí y se guarda
    alive: Tensor  # (batch, live): los candidatos que siguen vivos, en orden


class Hypotheses(NamedTuple):
    """Las mejores hipótesis de cada fila, de mayor a menor puntuación.

    Si hay menos de las pedidas, las que faltan puntúan ``-inf`` y miden 0.
    """

    ids: Tensor  # (batch, n_best, length): lo generado, y después pad_id
    scores: Tensor  # (batch, n_best): log_probs entre el divisor de su longitud
    log_probs: Tensor  # (batch, n_best): la suma de las de sus palabras
    lengths: Tensor  # (batch, n_best): cuántas palabras, con el fin
    history: tuple[Growth, ...] = ()

    @property
    def best(self) -> Int[Tensor, "batch length"]:
        """La mejor de cada fila, como la daría :func:`~atento.decoding.greedy`."""
        return self.ids[:, 0, : max(self.lengths[:, 0].tolist(), default=0)]


# --- La búsqueda ----------------------------------------------------------------------------------


class _Live(NamedTuple):
    """Las hipótesis que siguen abiertas; las que no cuentan tienen log-probabilidad -inf."""

    ids: Tensor  # (batch, live, length), con el comienzo
    log_probs: Tensor  # (batch, live)


@torch.no_grad()
def beam_search(
    step: Step,
    start: Int[Tensor, "batch start"],
    *,
    beams: int,
    eos_id: int,
    max_length: int,
    n_best: int = 1,
    length_penalty: Callable[[int], float] = by_total,
    pad_id: int = 0,
    state: Any = None,
    stop: Stop | None = None,
    history: bool = False,
) -> Hypotheses:
    """Sigue en cada paso las ``beams`` hipótesis más probables y devuelve las ``n_best`` mejores.

    Una hipótesis acaba en ``eos_id``, donde ``stop`` diga o en ``max_length`` palabras, y entonces
    se aparta con su puntuación: su log-probabilidad entre ``length_penalty(length)``. Las vivas que
    ya no pueden entrar entre las mejores se retiran, y la búsqueda acaba cuando no queda ninguna.
    Con más ``beams`` que hipótesis posibles, la búsqueda es exhaustiva. ``start``, ``state``,
    ``stop`` y ``pad_id``, como en :func:`~atento.decoding.greedy`; el estado ha de saber elegir
    filas (:func:`~atento.decoding.select`). Con ``history``, guarda cada paso: véase :func:`tree`.

    Errores: los de :func:`~atento.decoding.greedy`; ``TypeError`` o ``ValueError`` si ``beams`` no
    es un entero positivo, ``n_best`` no está entre 1 y ``beams``, ``length_penalty`` no da números
    positivos o ``state`` no sabe elegir filas.
    Fuente: Wu et al. (2016), § 7; la parada, sin sus podas.
    """
    checks.start(step, start, eos_id, max_length, pad_id, stop)
    divisors = checks.beam(beams, n_best, length_penalty, max_length)  # de longitud 1, 2…
    state = state() if callable(state) else state
    live = _Live(start[:, None], torch.zeros(len(start), 1, device=start.device))
    finished, grown = _nothing(start, n_best), []
    for t in range(max_length):
        if not (live.log_probs > NEVER).any():
            break
        logits, state = advance(step, live.ids.flatten(0, 1), state)  # (batch · live, vocab)
        candidates, parent = _grow(live, logits, 2 * beams)  # como mucho la mitad acaba en eos_id
        written = candidates.ids[..., start.shape[1] :]  # (batch, candidate, t + 1)
        ends = _ends(written, eos_id, stop, is_last=t + 1 == max_length)
        closed = ends & (torch.arange(ends.shape[1], device=ends.device) < beams)
        new = _close(written, candidates.log_probs, closed, divisors[t])
        finished = _keep_best(finished, new, pad_id)
        live, alive = _survivors(candidates, ends, beams)
        state = select(state, _rows(_pick(parent, alive), len(logits)))
        live = _retire(live, finished, max(divisors[t + 1 :] or divisors[t:]))
        shown = alive.masked_fill(live.log_probs == NEVER, -1)
        grown.append(Growth(parent, written[..., -1], candidates.log_probs, closed, shown))
    return _trim(finished)._replace(history=tuple(grown) if history else ())


def _nothing(start: Tensor, n_best: int) -> Hypotheses:
    """Los ``n_best`` huecos que irán llenando las hipótesis acabadas."""
    scores = torch.full((len(start), n_best), NEVER, device=start.device)
    ids = start.new_empty((len(start), n_best, 0))
    return Hypotheses(ids, scores, scores, torch.zeros_like(scores, dtype=torch.long))


def _grow(live: _Live, logits: Tensor, n: int) -> tuple[_Live, Int[Tensor, "batch candidate"]]:
    """Los ``n`` mejores candidatos: cada hipótesis viva con cada palabra. Y de cuál viene cada uno.

    Las log-probabilidades se suman, y por eso se comparan caminos distintos; las puntuaciones, sin
    normalizar, no se pueden comparar.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    log_probs = logits.log_softmax(dim=-1, dtype=wide).unflatten(0, live.log_probs.shape)
    total = (live.log_probs[..., None] + log_probs).flatten(1)  # (batch, live · vocab)
    best, index = total.topk(min(n, total.shape[1]))  # (batch, candidate)
    parent, word = index // logits.shape[1], index % logits.shape[1]
    ids = torch.cat([_pick(live.ids, parent), word[..., None].to(live.ids.dtype)], dim=-1)
    return _Live(ids, best), parent


def _ends(
    written: Tensor, eos_id: int, stop: Stop | None, *, is_last: bool
) -> Bool[Tensor, "batch candidate"]:
    """Qué candidatos acaban con su última palabra."""
    if is_last:
        return torch.ones(written.shape[:2], dtype=torch.bool, device=written.device)
    return ended(written.flatten(0, 1), eos_id, stop).unflatten(0, written.shape[:2])


def _close(written: Tensor, log_probs: Tensor, closed: Tensor, divisor: float) -> Hypotheses:
    """Los candidatos que acaban, con su puntuación; los demás, con -inf."""
    log_probs = log_probs.masked_fill(~closed, NEVER)  # (batch, candidate)
    lengths = torch.full_like(closed, written.shape[-1], dtype=torch.long)
    return Hypotheses(written, log_probs / divisor, log_probs, lengths)


def _keep_best(finished: Hypotheses, new: Hypotheses, pad_id: int) -> Hypotheses:
    """De las que había y las nuevas, las mejores; entre iguales, la primera que llegó."""
    n_best = finished.scores.shape[1]
    finished = finished._replace(ids=F.pad(finished.ids, (0, 1), value=pad_id))
    joined = [torch.cat(pair, dim=1) for pair in zip(finished[:4], new[:4], strict=True)]
    order = joined[1].argsort(dim=1, descending=True, stable=True)[:, :n_best]
    ids, scores, log_probs, lengths = (_pick(part, order) for part in joined)
    return Hypotheses(ids, scores, log_probs, lengths)


def _survivors(
    candidates: _Live, ends: Tensor, beams: int
) -> tuple[_Live, Int[Tensor, "batch live"]]:
    """Los ``beams`` mejores candidatos que no acaban, y qué lugar tenían."""
    open_ones = candidates.log_probs.masked_fill(ends, NEVER)  # (batch, candidate)
    order = open_ones.argsort(dim=1, descending=True, stable=True)[:, :beams]
    return _Live(_pick(candidates.ids, order), _pick(open_ones, order)), order


def _retire(live: _Live, finished: Hypotheses, divisor: float) -> _Live:
    """Retira las vivas que ya no pueden ganar a ninguna de las mejores acabadas.

    Al añadir palabras la log-probabilidad solo baja: lo más que una puede llegar a puntuar es la
    que tiene ahora entre el mayor divisor de las longitudes que le quedan.
    """
    hopeless = live.log_probs / divisor <= finished.scores[:, -1:]  # (batch, live)
    return live._replace(log_probs=live.log_probs.masked_fill(hopeless, NEVER))


def _pick(x: Tensor, index: Int[Tensor, "batch chosen"]) -> Tensor:
    """De cada fila de ``x``, (batch, n, …), las que dice ``index``."""
    return x[torch.arange(len(x), device=x.device)[:, None], index]


def _rows(parent: Int[Tensor, "batch live"], n_rows: int) -> Int[Tensor, " rows"]:
    """Qué fila del lote aplanado, (batch · live_antes), continúa cada hipótesis."""
    batch = len(parent)
    first = torch.arange(batch, device=parent.device)[:, None] * (n_rows // batch)
    return (first + parent).flatten()


def _trim(finished: Hypotheses) -> Hypotheses:
    longest = max(finished.lengths.flatten().tolist(), default=0)
    return finished._replace(ids=finished.ids[..., :longest])


# --- Mirarla --------------------------------------------------------------------------------------


class Node(NamedTuple):
    """Un candidato del árbol: de qué nodo viene (-1, el comienzo), qué añade y qué fue de él."""

    parent: int
    word: int
    log_prob: float  # de toda la hipótesis
    fate: str  # «sigue», «acaba» o «cae»


def tree(hypotheses: Hypotheses, row: int = 0) -> list[Node]:
    """El árbol que recorrió la búsqueda de una fila, nodo a nodo y por orden de llegada.

    ``hypotheses`` es lo que devuelve ``beam_search(..., history=True)``.

    Errores: ``ValueError`` si no se guardó la historia o no existe la fila.
    """
    checks.tree(hypotheses, row)
    nodes: list[Node] = []
    live = [-1]  # el nodo de cada hipótesis viva
    for growth in hypotheses.history:
        parent, word, log_probs, closed, alive = (part[row].tolist() for part in growth)
        born = {}
        for place, log_prob in enumerate(log_probs):
            if log_prob > NEVER:
                born[place] = len(nodes)
                fate = "acaba" if closed[place] else "sigue" if place in alive else "cae"
                nodes.append(Node(live[parent[place]], word[place], log_prob, fate))
        live = [born.get(place, -1) for place in alive]
    return nodes
