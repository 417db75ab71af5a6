"""Las uniones de una frase: BPE paso a paso y, al lado, el mejor corte de unigrama."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Unpack

from atento.tokenizers import BPE, Unigram, visible
from atento.tokenizers.unigram import UNKNOWN_PENALTY
from figuras.explorers.base import Explorer, Texts, number, static_table

__all__ = ["MergesExplorer", "merges"]

LONGEST = 80
"""Caracteres que admite la frase."""


class _Step(NamedTuple):
    """Una unión: su número, la pareja y cómo queda cada palabra."""

    rank: int
    pair: tuple[str, str]
    words: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MergesExplorer(Explorer):
    """El explorador de las uniones. Se construye con :func:`merges`."""

    kind: ClassVar[str] = "merges"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "ask", "group")
    bpe: BPE
    unigram: Unigram
    text: str
    title: str = "Escribe una frase y mira las uniones"
    name: str = "uniones"

    def steps(self, text: str | None = None) -> list[_Step]:
        """Las uniones de una frase en el orden de la página: la que se aprendió antes, primero.

        A igualdad, la de más a la izquierda. El último paso es lo que da ``bpe.pieces``.
        """
        words = self.bpe.words(self.text if text is None else text)
        current = [tuple(word) for word in words]
        waiting = [self.bpe.merges_of(word)[::-1] for word in words]
        found = []
        while any(waiting):
            index = min((steps[-1].rank, i) for i, steps in enumerate(waiting) if steps)[1]
            step = waiting[index].pop()
            current[index] = step.pieces
            found.append(_Step(step.rank, step.pair, tuple(current)))
        return found

    def cut(self, text: str | None = None) -> list[tuple[tuple[str, ...], float]]:
        """El mejor corte de unigrama de cada palabra y su log-probabilidad."""
        words = self.unigram.words(self.text if text is None else text)
        best = [self.unigram.segmentations(word, 1)[0] for word in words]
        return [(found.pieces, found.score) for found in best]

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript: las uniones y las piezas con su número, en dos textos."""
        first = self.unigram.n_first
        rows = zip(self.unigram.vocabulary[first:], self.unigram.scores, strict=True)
        return {
            "text": self.text,
            "longest": LONGEST,
            "merges": " ".join(visible(piece) for pair in self.bpe.merges for piece in pair),
            "known": "".join(visible(p) for p in self.bpe.vocabulary if len(p) == 1),
            "pieces": " ".join(f"{visible(piece)} {-score:.2f}" for piece, score in rows),
            "unknown": round(UNKNOWN_PENALTY - min(self.unigram.scores), 2),
        }

    def static(self) -> str:
        """Los pasos de la frase inicial y el corte de unigrama."""
        rows = [
            [str(i), " + ".join(map(visible, step.pair)), str(step.rank + 1), _shown(step.words)]
            for i, step in enumerate(self.steps(), 1)
        ]
        first = static_table(f"BPE: «{self.text}»", ["paso", "se unen", "unión n.º", "queda"], rows)
        cuts = [
            [visible("".join(pieces)), "|".join(map(visible, pieces)), number(score)]
            for pieces, score in self.cut()
        ]
        return first + static_table("Unigrama", ["palabra", "mejor corte", "log p"], cuts)

    def summary(self) -> str:
        """Una línea para la terminal."""
        count = sum(len(pieces) for pieces, _ in self.cut())
        steps = self.steps()
        left = sum(map(len, steps[-1].words)) if steps else len(self.text)
        return f"Uniones de «{self.text}»: {len(steps)} pasos, {left} piezas; unigrama, {count}"


def merges(
    bpe: BPE,
    unigram: Unigram,
    text: str,
    **texts: Unpack[Texts],
) -> MergesExplorer:
    """Devuelve el explorador de las uniones, con la frase ``text`` escrita.

    ``bpe`` y ``unigram`` ya están entrenados; conviene que sean pequeños (unas mil piezas), porque
    la página lleva todas las uniones y todas las piezas.

    Errores: ``TypeError`` si no son un ``BPE`` y un ``Unigram``; ``ValueError`` si ``bpe`` va sobre
    bytes, si la frase está vacía o pasa de 80 caracteres, o si ``name`` no sirve.
    """
    for value, kind, argument in ((bpe, BPE, "bpe"), (unigram, Unigram, "unigram")):
        if not isinstance(value, kind):
            raise TypeError(
                f"{argument}: llegó {type(value).__name__}; se esperaba un {kind.__name__}"
            )
    if bpe.byte_level:
        raise ValueError("bpe: llegó uno sobre bytes; se esperaba uno sobre caracteres")
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise ValueError(f"text: llegó {text!r}; se esperaba una frase de 1 a {LONGEST} caracteres")
    return MergesExplorer(bpe=bpe, unigram=_rounded(unigram), text=text, **texts)


def _rounded(unigram: Unigram) -> Unigram:
    """El mismo con los números de dos decimales que lleva la página: ni ella ni su gemelo dudan."""
    first = unigram.n_first
    return Unigram(
        unigram.vocabulary[first:],
        [round(score, 2) for score in unigram.scores],
        special=unigram.special,
        unk=unigram.unk,
        normalization=unigram.normalization,
    )


def _shown(words: tuple[tuple[str, ...], ...]) -> str:
    return "|".join(visible(piece) for word in words for piece in word)
