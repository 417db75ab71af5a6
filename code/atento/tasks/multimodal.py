"""Preguntas para dos sentidos: una cifra se ve, otra se dice, y hay que contestar sobre las dos.

La que se ve es un dígito de :mod:`atento.tasks.digits`, de 8 × 8. La que se dice va en una frase,
con la pregunta detrás: «dicen siete . cuál es mayor». Son doce preguntas de respuesta
cerrada, y diez no se contestan bien siempre con un sentido solo.

De las cien parejas (la que se ve, la que se dice) se reservan veinte, dos por cada cifra de cada
sentido: al entrenar no salen nunca, aunque sus dos cifras salgan con otras. La letra de la prueba
tampoco es la del entrenamiento.

Para saber qué pone cada sentido, :func:`batch` quita uno o los dos, y :func:`ceiling` dice lo más
que se puede acertar con lo que queda.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from atento.checks import multimodal as checks
from atento.device import require_device
from atento.shapes import typed
from atento.tasks import digits
from atento.tasks.translation.sentences import python_rng
from atento.tasks.translation.vocabulary import PAD_ID, Vocabulary
from atento.training import evaluating

SENSES = ("seen", "told")
"""Los dos sentidos: la cifra que se ve y la que se dice."""

PAIRS = ("seen", "unseen", "any")
"""Las parejas de cifras: las que se entrenan, las reservadas y todas."""

NAMES = ("cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve")
SAYINGS = ("{}", "dicen {}", "suena {}")
"""Las maneras de decir una cifra; son de distinto largo."""


def _yes(fact: bool) -> str:
    return "sí" if fact else "no"


QUESTIONS: dict[str, Callable[[int, int], str]] = {
    "qué cifra se ve": lambda seen, told: str(seen),
    "qué cifra se dice": lambda seen, told: str(told),
    "cuál es mayor": lambda seen, told: str(max(seen, told)),
    "cuál es menor": lambda seen, told: str(min(seen, told)),
    "cuánto suman": lambda seen, told: str(seen + told),
    "cuántas son pares": lambda seen, told: str((seen % 2 == 0) + (told % 2 == 0)),
    "cuántas pasan de cuatro": lambda seen, told: str((seen > 4) + (told > 4)),
    "son iguales": lambda seen, told: _yes(seen == told),
    "es mayor la vista": lambda seen, told: _yes(seen > told),
    "es par la suma": lambda seen, told: _yes((seen + told) % 2 == 0),
    "son pares las dos": lambda seen, told: _yes(seen % 2 == told % 2 == 0),
    "suman más de nueve": lambda seen, told: _yes(seen + told > 9),
}
"""Cada pregunta, con su respuesta según la cifra que se ve y la que se dice."""

ANSWERS = (*map(str, range(19)), "sí", "no")
"""Las respuestas: de 0 a 18, sí y no."""

LENGTH = 7
"""Las palabras del texto más largo; los demás llevan relleno."""

VOCABULARY = Vocabulary(" ".join([".", *NAMES, *SAYINGS, *QUESTIONS]).replace("{}", "").split())


class Example(NamedTuple):
    """Una cifra que se ve, otra que se dice, y una pregunta.

    ``place`` es el sitio, en :func:`atento.tasks.digits.load`, del dígito que se ve; ``saying``, la
    frase en que se dice la otra.
    """

    seen: int
    told: int
    question: str
    saying: str
    place: int

    @property
    def text(self) -> str:
        """Lo que se dice y lo que se pregunta."""
        return f"{self.saying.format(NAMES[self.told])} . {self.question}"

    @property
    def answer(self) -> str:
        """La respuesta, una de ``ANSWERS``."""
        return QUESTIONS[self.question](self.seen, self.told)

    def __str__(self) -> str:
        return f"[{self.seen}] «{self.text}» → {self.answer}"


# --- Generar --------------------------------------------------------------------------------------


@typed(validate=checks.is_held_out)
def is_held_out(seen: int, told: int) -> bool:
    """Dice si una pareja está reservada: las que dan ``(seen + 3 · told) mod 5 = 2``.

    Cada cifra que se ve tiene reservadas dos de las que se dicen, y al revés.

    Errores: ``TypeError`` o ``ValueError`` si no son dos enteros de 0 a 9.
    """
    return (seen + 3 * told) % 5 == 2


def pairs_of(pairs: str = "any") -> list[tuple[int, int]]:
    """Las parejas de una clase, en orden: 80 que se entrenan, 20 reservadas o las 100.

    Errores: ``ValueError`` si ``pairs`` no es una de ``PAIRS``.
    """
    checks.ceiling((), pairs=pairs)
    everything = [(seen, told) for seen in range(10) for told in range(10)]
    return [p for p in everything if pairs == "any" or is_held_out(*p) == (pairs == "unseen")]


@typed(validate=checks.generate)
def generate(
    n: int,
    rng: torch.Generator | int,
    *,
    split: str = "train",
    pairs: str = "seen",
    questions: Sequence[str] | None = None,
) -> list[Example]:
    """Sortea ``n`` ejemplos; con la misma semilla, los mismos.

    ``split`` dice de qué parte de :func:`atento.tasks.digits.split` sale la letra: «train»,
    «validation» o «test». ``pairs`` es una de ``PAIRS``. La pregunta, la pareja, la frase y el
    dígito se sortean por separado, todos con la misma probabilidad.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0, ``split``, ``pairs`` o
    alguna de ``questions`` no son de las suyas o ``rng`` no es un generador ni un entero.
    """
    asked = _known(questions)
    source, options, written = python_rng(rng), pairs_of(pairs), _written(split)
    examples = []
    for _ in range(n):
        seen, told = source.choice(options)
        question, saying = source.choice(asked), source.choice(SAYINGS)
        examples.append(Example(seen, told, question, saying, source.choice(written[seen])))
    return examples


def _known(questions: Sequence[str] | None) -> list[str]:
    for question in questions or ():
        if question not in QUESTIONS:
            raise ValueError(f"questions: se esperaban preguntas de QUESTIONS; llegó {question!r}.")
    return [*(QUESTIONS if questions is None else questions)]


@cache
def _written(split: str) -> list[list[int]]:
    """Los sitios de los dígitos de una parte, cifra por cifra."""
    places, labels = digits.places(split), digits.load().labels
    return [places[labels[places] == digit].tolist() for digit in range(digits.CLASSES)]


@cache
def normalized() -> digits.Digits:
    """Todos los dígitos, en su orden, con la normalización de :func:`atento.tasks.digits.split`."""
    whole = digits.load()
    ink = whole.images[digits.places("train")]
    mean, std = ink.mean().item(), ink.std().item()
    return digits.Digits((whole.images - mean) / std, whole.labels, -mean / std)


# --- Lotes ----------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Un lote: imágenes (batch, 1, 8, 8), textos (batch, 7) y respuestas (batch,).

    El relleno del texto, al final, es 0; las respuestas son sitios en ``ANSWERS``.
    """

    images: Float[Tensor, "batch 1 8 8"]
    text: Int[Tensor, "batch length"]
    answers: Int[Tensor, " batch"]

    def to(self, device: torch.device | str) -> "Batch":
        """El mismo lote, en otro dispositivo.

        Errores: ``ValueError`` si no existe ``device``.
        """
        where = require_device(device)
        return Batch(*(tensor.to(where) for tensor in self))


@typed(validate=checks.batch)
def batch(examples: Sequence[Example], *, senses: Sequence[str] = SENSES) -> Batch:
    """Los ejemplos como los lee un modelo, con los sentidos que se le dejan.

    Sin «seen», la imagen está en blanco; sin «told», el texto es solo la pregunta. Con
    ``senses=()`` no queda más que ella.

    Errores: ``TypeError`` o ``ValueError`` si no hay ejemplos, alguno no lo es o ``senses`` no son
    algunos de ``SENSES``.
    """
    known = normalized()
    images = known.images[[e.place for e in examples]][:, None]  # (batch, 1, 8, 8)
    if "seen" not in senses:
        images = torch.full_like(images, known.background)
    rows = [VOCABULARY.encode(e.text if "told" in senses else e.question) for e in examples]
    text = torch.tensor([row + [PAD_ID] * (LENGTH - len(row)) for row in rows])
    return Batch(images, text, torch.tensor([ANSWERS.index(e.answer) for e in examples]))


# --- Puntuar --------------------------------------------------------------------------------------


@typed(validate=checks.ceiling)
def ceiling(senses: Sequence[str], *, pairs: str = "seen") -> dict[str, Any]:
    """Lo más que se puede acertar con la pregunta y solo esos sentidos, contando las parejas.

    ``accuracy`` es la media de las doce preguntas y ``by_question``, la de cada una. Quien no ve o
    no oye contesta lo que más veces es verdad entre las parejas que no distingue.

    Errores: ``TypeError`` o ``ValueError`` si ``senses`` no son algunos de ``SENSES`` o ``pairs``
    no es una de ``PAIRS``.
    """
    options = pairs_of(pairs)
    by_question = {}
    for question, answer in QUESTIONS.items():
        groups: dict[tuple, Counter] = {}
        for seen, told in options:
            known = (seen if "seen" in senses else None, told if "told" in senses else None)
            groups.setdefault(known, Counter())[answer(seen, told)] += 1
        right = sum(max(group.values()) for group in groups.values())
        by_question[question] = right / len(options)
    return {"accuracy": sum(by_question.values()) / len(by_question), "by_question": by_question}


@typed(validate=checks.score)
def score(
    model: Callable[[Tensor, Tensor], Tensor],
    examples: Sequence[Example],
    *,
    senses: Sequence[str] = SENSES,
    batch_size: int = 512,
    device: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Qué parte acierta ``model``, que va de imágenes y textos a puntuaciones (batch, 21).

    ``accuracy`` es la de todas y ``by_question``, la de cada pregunta que haya; ``n``, cuántas son;
    ``right``, (n,), cuáles. Un módulo se examina evaluando y sin gradientes.

    Errores: los de :func:`batch`, y ``TypeError`` o ``ValueError`` si ``model`` no es una función o
    no da (batch, 21), ``batch_size`` no es positivo o no existe ``device``.
    """
    whole = batch(examples, senses=senses)
    found = torch.cat([*_answers(model, whole, batch_size, device)])
    right = found == whole.answers
    by_question = {}
    for question in QUESTIONS:
        own = torch.tensor([e.question == question for e in examples])
        if own.any():
            by_question[question] = right[own].float().mean().item()
    accuracy = right.float().mean().item()
    return {"accuracy": accuracy, "by_question": by_question, "n": len(right), "right": right}


@torch.no_grad()
def _answers(model: Any, whole: Batch, size: int, device: torch.device | str) -> Iterator[Tensor]:
    """El sitio de la respuesta que más puntúa, lote a lote."""
    with evaluating(model) if isinstance(model, nn.Module) else nullcontext():
        for images, text in zip(whole.images.split(size), whole.text.split(size), strict=True):
            logits = model(images.to(device), text.to(device))
            yield checks.require_logits(logits, (len(images), len(ANSWERS))).argmax(-1).cpu()
