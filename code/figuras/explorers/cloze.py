"""Tapar y cambiar palabras de unas frases, y ver qué dice un codificador en cada hueco."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento.models.bert import MaskedWords
from atento.tasks import agreement
from atento.tasks.agreement import Sentence
from figuras.explorers.base import Texts, check_kind, number, static_table
from figuras.explorers.live import LiveExplorer

__all__ = ["TRAITS", "ClozeExplorer", "cloze"]

TRAITS = (
    "masculino singular",
    "femenino singular",
    "masculino plural",
    "femenino plural",
    "sin género",
)
"""De qué género y número puede ser una palabra, en el orden de la página."""

_MARKS = 4  # las primeras del vocabulario, que no son palabras
_MOST = 12
_TABLES = (
    agreement.DETERMINERS,
    agreement.OTHERS,
    agreement.NOUNS,
    agreement.ADJECTIVES,
    (*agreement.POSITIVE, *agreement.NEGATIVE),
    agreement.VERBS,
    agreement.COPULA,
)  # en el orden del vocabulario; una palabra se cambia por otra de su tabla


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClozeExplorer(LiveExplorer):
    """Las frases con huecos. Se construye con :func:`cloze`."""

    kind: ClassVar[str] = "cloze"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "lots", "ask", "file")
    scripts: ClassVar[tuple[str, ...]] = ("transformer", "bert")
    model: MaskedWords
    sentences: tuple[Sentence, ...]
    title: str = "Tapa una palabra y el modelo la adivina"
    name: str = "hueco"

    def compute(self, words: Sequence[str], hidden: Sequence[int]) -> dict[str, Tensor]:
        """Lo que dice el modelo donde se han tapado palabras, con los pesos de la página y 64 bits.

        ``hidden`` son los sitios tapados. ``probs`` (hueco, vocab) es la probabilidad de cada
        palabra de :data:`atento.tasks.agreement.WORDS`; ``traits`` (hueco, 5), la que se lleva cada
        género y número, en el orden de :data:`TRAITS`.

        Errores: ``ValueError`` si alguna palabra no es del vocabulario.
        """
        ids = torch.tensor([[agreement.CLS_ID, *agreement.encode(words), agreement.SEP_ID]])
        places = torch.tensor(hidden) + 1
        ids[0, places] = agreement.MASK_ID
        with torch.no_grad():
            probs = self._exact(ids)[0, places].softmax(dim=-1)
        return {"probs": probs, "traits": probs @ _KINDS}

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript; el vocabulario son las marcas, las tablas y lo demás."""
        return {
            "marks": agreement.WORDS[:_MARKS],
            "tables": _TABLES,
            "fixed": agreement.FIXED,
            "sentences": [sentence.words for sentence in self.sentences],
            "file": self._file,
        }

    def static(self) -> str:
        """De la primera frase, qué dice en cada palabra que concuerda, tapada ella sola."""
        sentence, rows = self.sentences[0], []
        for part, place in zip(agreement.PARTS, sentence.agreeing, strict=True):
            found = self.compute(sentence.words, [place])
            best = int(found["probs"][0].argmax())
            kind = int(found["traits"][0].argmax())
            shares = number(found["probs"][0, best]), number(found["traits"][0, kind])
            said = agreement.WORDS[best], shares[0], TRAITS[kind], shares[1]
            rows.append([f"{part}, «{sentence.words[place]}»", *said])
        head = ["lo tapado", "dice", "con", "de género y número", "con"]
        return static_table(f"Lo que dice el modelo en «{sentence}»", head, rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        phrases = f"Palabras tapadas: {len(self.sentences)} frases"
        return f"{phrases}; modelo vivo de {self._size} parámetros"


def cloze(
    model: MaskedWords, sentences: Sequence[Sentence], **texts: Unpack[Texts]
) -> ClozeExplorer:
    """Devuelve el explorador en el que se tapan palabras de unas frases y ``model`` las adivina.

    Las frases son de :mod:`atento.tasks.agreement`. De cada palabra se elige otra forma, otra
    palabra de las suyas o taparla, y en cada hueco se ve la probabilidad de las palabras y la de
    cada género y número, ahora y antes del último cambio. El modelo lo ejecuta un guion propio en
    la página, sin servidor, con los pesos en 16 bits, que se piden al tapar la primera.

    Errores: ``TypeError`` si ``model`` no es un ``MaskedWords``; ``ValueError`` si la página no
    sabe ejecutarlo, no es de ese vocabulario o no hay de 1 a 12 frases que le quepan.
    """
    check_kind(model, "model", MaskedWords)
    config = model.config
    if config.vocab != agreement.VOCAB_SIZE:
        raise ValueError(
            f"model: se esperaban las {agreement.VOCAB_SIZE} palabras de agreement.WORDS; llegaron"
            f" {config.vocab}."
        )
    if not config.n_segments or config.first_position:
        raise ValueError("model: la página solo ejecuta los de segmentos y primera posición 0.")
    if not 1 <= len(sentences) <= _MOST:
        raise ValueError(
            f"sentences: llegaron {len(sentences)} frases; se esperaban de 1 a {_MOST}."
        )
    longest = max(len(sentence.words) for sentence in sentences)
    if longest + 2 > config.max_len:
        raise ValueError(
            f"sentences: llegó una de {longest} palabras; con las marcas caben {config.max_len}."
        )
    return ClozeExplorer(model=model, sentences=tuple(sentences), **texts)


def _kind(word: str) -> int:
    """En qué lugar de :data:`TRAITS` va una palabra."""
    found = agreement.traits(word)
    return agreement.FEATURES.index(*found) if len(found) == 1 else len(agreement.FEATURES)


_KINDS = torch.nn.functional.one_hot(
    torch.tensor([_kind(word) for word in agreement.WORDS]), len(TRAITS)
).double()  # (vocab, 5)
