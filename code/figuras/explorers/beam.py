"""El explorador de la búsqueda en haz: qué sigue, qué acaba y por qué cae lo demás."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Unpack

from atento.checks.decoding import require_function
from atento.decoding import Hypotheses, by_length, by_total, tree
from figuras.explorers.base import Explorer, Texts, check_count, number, static_table

__all__ = ["FATES", "BeamExplorer", "beam"]

FATES = ("sigue", "acaba", "fuera", "tarde", "retirada")
"""Qué es de un candidato: sigue vivo, acaba y se guarda, hay bastantes mejores, acaba pero no está
entre los primeros, o ya no puede alcanzar a las acabadas."""

_MOST_NODES, _MOST_STEPS = 500, 16


class _Candidate(NamedTuple):
    """Un candidato: de cuál viene (-1, el comienzo), en qué paso, con qué palabra y qué fue de él.

    ``text`` es la frase hasta él, sin el fin; ``length``, cuántas palabras lleva, con el fin.
    """

    parent: int
    step: int
    word: str
    text: str
    log_prob: float
    fate: str

    @property
    def length(self) -> int:
        """Cuántas palabras lleva, con la del fin."""
        return self.step + 1


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BeamExplorer(Explorer):
    """El explorador de la búsqueda en haz. Se construye con :func:`beam`.

    ``runs`` da, a cada anchura y cada rótulo de la nota, los candidatos por orden de llegada;
    ``divisors``, entre qué se divide la log-probabilidad según la longitud, desde 1.
    """

    kind: ClassVar[str] = "beam"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "table")
    runs: dict[tuple[int, str], tuple[_Candidate, ...]]
    divisors: dict[str, tuple[float, ...]]
    title: str = "La búsqueda en haz, paso a paso"
    name: str = "haz"

    @property
    def widths(self) -> list[int]:
        """Las anchuras, de menor a mayor."""
        return sorted({width for width, _ in self.runs})

    @property
    def labels(self) -> list[str]:
        """Los rótulos de las notas."""
        return list(self.divisors)

    def compute(self, width: int | None = None, label: str | None = None) -> tuple[_Candidate, ...]:
        """Los candidatos de una búsqueda; sin argumentos, la más estrecha y la primera."""
        return self.runs[width or self.widths[0], label or self.labels[0]]

    def score(self, candidate: _Candidate, label: str) -> float:
        """La log-probabilidad entre el divisor de su longitud."""
        return candidate.log_prob / self.divisors[label][candidate.length - 1]

    def finished(self, width: int | None = None, label: str | None = None) -> list[_Candidate]:
        """Las acabadas de esa búsqueda, de mayor a menor nota."""
        label = label or self.labels[0]
        ended = [one for one in self.compute(width, label) if one.fate == "acaba"]
        return sorted(ended, key=lambda one: -self.score(one, label))

    def winner(self, width: int | None = None, label: str | None = None) -> _Candidate:
        """La frase que devuelve la búsqueda."""
        return self.finished(width, label)[0]

    def goal(self, label: str | None = None) -> int | None:
        """La menor anchura que da una frase más probable que la primera, o ``None`` si ninguna."""
        least = self.winner(self.widths[0], label).log_prob
        better = (w for w in self.widths if self.winner(w, label).log_prob > least + 1e-6)
        return next(better, None)

    def behind(self, width: int, label: str | None = None) -> _Candidate | None:
        """El primer comienzo de la frase ganadora que no era el mejor candidato de su paso."""
        nodes = self.compute(width, label)
        best = {one.step: one for one in reversed(nodes)}  # de cada paso, el primero que llegó
        late, at = None, nodes.index(self.winner(width, label))
        while at >= 0:
            late = nodes[at] if nodes[at] is not best[nodes[at].step] else late
            at = nodes[at].parent
        return late

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript: los árboles distintos y cuál es el de cada búsqueda."""
        words = sorted({one.word for run in self.runs.values() for one in run})
        place = {word: index for index, word in enumerate(words)}
        made = {
            key: tuple((n.parent, place[n.word], n.log_prob, FATES.index(n.fate)) for n in run)
            for key, run in self.runs.items()
        }
        trees = list(dict.fromkeys(made.values()))
        return {
            "words": words,
            "trees": trees,
            "which": [[trees.index(made[w, each]) for each in self.labels] for w in self.widths],
            "widths": self.widths,
            "divisors": self.divisors,
        }

    def static(self) -> str:
        """La frase de cada anchura con cada nota, y las que siguen en cada paso."""
        winners = ((w, each, self.winner(w, each)) for w in self.widths for each in self.labels)
        rows = [
            [str(w), each, one.text, str(one.length), number(one.log_prob)]
            for w, each, one in winners
        ]
        head = ["anchura", "nota", "frase", "palabras", "log-probabilidad"]
        first = static_table("Qué frase gana", head, rows)
        widest = self.widths[-1]
        steps = [
            [str(one.step + 1), one.text, number(one.log_prob), one.fate]
            for one in self.compute(widest)
            if one.fate in ("sigue", "acaba")
        ]
        caption = f"Las que siguen o acaban en cada paso, con anchura {widest}"
        return first + static_table(
            caption, ["paso", "hipótesis", "log-probabilidad", "qué pasa"], steps
        )

    def summary(self) -> str:
        """Una línea para la terminal."""
        widths = ", ".join(map(str, self.widths))
        return f"Búsqueda en haz: anchuras {widths}; notas: {', '.join(self.labels)}"


def beam(
    search: Callable[..., Hypotheses],
    words: Sequence[str],
    *,
    eos_id: int,
    widths: Sequence[int] = (1, 2, 4),
    penalties: Mapping[str, Callable[[int], float]] | None = None,
    max_length: int = 12,
    **texts: Unpack[Texts],
) -> BeamExplorer:
    """Devuelve el explorador de varias búsquedas en haz de la misma frase, hechas aquí.

    ``search`` es :func:`atento.decoding.beam_search` a falta de su anchura y de su nota: por
    ejemplo, ``partial(model.generate, source, strategy=beam_search)``. Se llama con ``beams``,
    ``n_best``, ``length_penalty``, ``max_length`` y ``history``, una vez por cada anchura de
    ``widths`` (hasta cuatro, de 1 a 5) y cada divisor de ``penalties``, ``{rótulo: función}``
    (hasta tres; la suma y la media, si no se dan). ``words`` son las palabras del vocabulario, por
    su número.

    La pregunta, si no se da otra, es con qué anchura sale una frase más probable que con la menor:
    :meth:`BeamExplorer.goal` da la respuesta y la página dice cuándo se ha encontrado.

    Errores: ``TypeError`` si ``search`` no se puede llamar; ``ValueError`` si las anchuras o las
    notas no son esas, si la búsqueda no es de una sola frase, si tiene más de 500 candidatos o si
    el número de una palabra no está en ``words``.
    """
    penalties = {"suma": by_total, "media": by_length(1.0)} if penalties is None else penalties
    require_function(search, name="search")
    _check(widths, penalties, max_length)
    runs = {}
    for width in sorted(widths):
        for label, penalty in penalties.items():
            found = search(
                beams=width, n_best=width, length_penalty=penalty, max_length=max_length,
                history=True,
            )  # fmt: skip
            runs[width, label] = _candidates(found, words, eos_id, width)
    divisors = {
        label: tuple(float(penalty(n)) for n in range(1, max_length + 1))
        for label, penalty in penalties.items()
    }
    explorer = BeamExplorer(runs=runs, divisors=divisors, **texts)
    return explorer if explorer.question or not explorer.goal() else _asking(explorer)


def _check(widths: Sequence[int], penalties: Any, max_length: int) -> None:
    if not 1 <= len(widths) <= 4 or not all(isinstance(w, int) and 1 <= w <= 5 for w in widths):
        raise ValueError(f"widths: llegó {widths!r}; se esperaban de una a cuatro, de 1 a 5")
    if not isinstance(penalties, Mapping) or not 1 <= len(penalties) <= 3:
        raise ValueError("penalties: se esperaba un diccionario de una a tres funciones")
    check_count(max_length, "max_length", 1, _MOST_STEPS)


def _asking(explorer: BeamExplorer) -> BeamExplorer:
    """El mismo, con la pregunta de costumbre y su respuesta."""
    first, goal = explorer.widths[0], explorer.goal()
    best, before = explorer.winner(goal), explorer.winner(first)
    times = math.exp(best.log_prob - before.log_prob)
    said = number(times, 0 if times > 10 else 2)
    answer = f"Con anchura {goal} gana «{best.text}», {said} veces más probable."
    late = explorer.behind(goal)
    if late is not None:
        answer += f" En el paso {late.step + 1}, su comienzo, «{late.text}», no era el mejor."
    question = (
        f"¿Cuál es la menor anchura que da una frase más probable que la de anchura {first}? ¿En"
        " qué paso iba por detrás su comienzo?"
    )
    return replace(explorer, question=question, answer=explorer.answer or answer)


# --- De la historia a los candidatos --------------------------------------------------------------


def _candidates(
    found: Hypotheses, words: Sequence[str], eos_id: int, width: int
) -> tuple[_Candidate, ...]:
    if len(found.ids) != 1:
        raise ValueError(f"search: dio {len(found.ids)} frases; se esperaba una")
    nodes = tree(found)
    if len(nodes) > _MOST_NODES:
        raise ValueError(f"search: hay {len(nodes)} candidatos; caben {_MOST_NODES}")
    if any(not 0 <= node.word < len(words) for node in nodes):
        raise ValueError(f"words: hay {len(words)} palabras y la búsqueda usa un número mayor")
    made, ends = [_Candidate(-1, -1, "", "", 0.0, "")], [node.word == eos_id for node in nodes]
    for (parent, word, log_prob, fate), end in zip(nodes, ends, strict=True):
        before = made[parent + 1]  # made[0] es el comienzo
        shown, more = ("fin", "") if end else (words[word], words[word])
        text = f"{before.text} {more}".strip()
        made.append(_Candidate(parent, before.step + 1, shown, text, round(log_prob, 6), fate))
    return _explained(made[1:], ends, width)


def _explained(made: list[_Candidate], ends: list[bool], width: int) -> tuple[_Candidate, ...]:
    """Los mismos, con la razón por la que cae cada uno de los que caen."""
    last = max(one.step for one in made if one.fate != "cae")
    is_cut = any(one.fate == "acaba" and not end for one, end in zip(made, ends, strict=True))
    told, still_open = [], dict.fromkeys(range(last + 2), 0)
    for one, end in zip(made, ends, strict=True):
        fate = one.fate
        if fate == "cae":
            closes = end or (is_cut and one.step == last)
            is_first = not closes and still_open[one.step] < width
            fate = "retirada" if is_first else "tarde" if closes else "fuera"
        still_open[one.step] += not end
        told.append(one._replace(fate=fate))
    return tuple(told)
