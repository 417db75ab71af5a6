"""Todo como texto a texto: un prefijo dice la tarea, y la respuesta siempre se escribe.

«traduce : los niños leen .» → ``the children read .``; «suma : 0 1 3 + 8 9 0» → «8 0 4 0»;
«contesta : ¿ dónde fue el robo ? …» → «el museo». Las palabras son de un solo vocabulario, el de
las dos lenguas, las cifras y los partes: «a» es el mismo número en español y en inglés, y solo el
prefijo y lo demás dicen cuál es.

Los datos son los de :mod:`~atento.tasks.translation`, :mod:`~atento.tasks.addition` y
:mod:`~atento.tasks.reports`, con lo que reserva cada una: con ``split="train"`` no sale nada
reservado, y con ``split="test"`` todo lo es. Las sumas se leen y se escriben de las unidades hacia
arriba, 310 + 098 = 0408, para que cada cifra tenga delante lo que la decide.

Fuente: Raffel et al. (2020), § 2.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch

from atento.amounts import require_kind, require_size
from atento.tasks import addition, reports, translation, writing
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID, Batch, Vocabulary

Words = tuple[str, ...]

PREFIXES: dict[str, Words] = {
    "translate": ("traduce", ":"),
    "add": ("suma", ":"),
    "answer": ("contesta", ":"),
    "summarize": ("resume", ":"),
    "classify": ("clasifica", ":"),
}
"""Cada tarea, con las palabras que la piden."""

SENTINELS = tuple(f"<{i}>" for i in range(12))
"""Los centinelas con que se tapan fragmentos (:mod:`atento.tasks.corruption`)."""


class Example(NamedTuple):
    """Un ejemplo: la tarea, lo que se lee, con su prefijo, lo que se escribe y de dónde sale."""

    task: str
    source: Words
    target: Words
    origin: Any

    def __str__(self) -> str:
        return f"{' '.join(self.source)} → {' '.join(self.target)}"


@cache
def vocabulary() -> Vocabulary:
    """El vocabulario común: las dos lenguas, las cifras, los partes, los prefijos y centinelas."""
    source, target = translation.vocabularies()
    words = {*source.words[EOS_ID + 1 :], *target.words[EOS_ID + 1 :], *reports.spoken()}
    prefixes = {word for prefix in PREFIXES.values() for word in prefix}
    return Vocabulary(words | prefixes | {*"0123456789+"} | {*SENTINELS})


# --- Cada tarea, como texto -----------------------------------------------------------------------


def translating(example: translation.Example) -> Example:
    """La frase española, y que se escriba en inglés.

    Errores: ``TypeError`` si no es de su clase.
    """
    require_kind(example, translation.Example, name="example", wanted="un translation.Example")
    return _example("translate", example.source, example.target, example)


def adding(example: addition.Sum) -> Example:
    """La suma, cifra a cifra, y que se escriba el resultado; todo, de las unidades hacia arriba.

    Errores: ``TypeError`` si no es de su clase.
    """
    require_kind(example, addition.Sum, name="example", wanted="un addition.Sum")
    result = f"{example.a + example.b:0{example.digits + 1}}"
    addends = f"{example.a:0{example.digits}}"[::-1], f"{example.b:0{example.digits}}"[::-1]
    return _example("add", tuple("+".join(addends)), tuple(reversed(result)), example)


def answering(example: reports.Question) -> Example:
    """La pregunta y el parte, y que se escriba la respuesta, que es un fragmento.

    Errores: ``TypeError`` si no es de su clase.
    """
    require_kind(example, reports.Question, name="example", wanted="una reports.Question")
    return _example("answer", (*example.words, *example.report.words), example.answer, example)


def summarizing(example: reports.Report) -> Example:
    """El parte, y que se escriba su titular.

    Errores: ``TypeError`` si no es de su clase.
    """
    require_kind(example, reports.Report, name="example", wanted="un reports.Report")
    return _example("summarize", example.words, example.headline, example)


def classifying(example: reports.Report) -> Example:
    """El parte, y que se escriba su tipo: la clase también es un texto.

    Errores: ``TypeError`` si no es de su clase.
    """
    require_kind(example, reports.Report, name="example", wanted="un reports.Report")
    return _example("classify", example.words, (example.kind,), example)


def _example(task: str, source: Words, target: Words, origin: Any) -> Example:
    return Example(task, (*PREFIXES[task], *source), target, origin)


# --- Generar --------------------------------------------------------------------------------------


def generate(
    n: int,
    rng: torch.Generator | int,
    *,
    task: str = "translate",
    split: str = "train",
    **options: Any,
) -> list[Example]:
    """Sortea ``n`` ejemplos de una tarea; con la misma semilla, los mismos.

    ``options`` son las de su generador: ``clauses`` al traducir, ``digits`` al sumar, ``layout``
    con los partes. De cada parte se hace una pregunta, al azar entre las suyas.

    Errores: ``ValueError`` si ``task`` no es de ``PREFIXES``, y los del generador de la tarea.
    """
    _require_task(task)
    require_size(n, name="n", least=0)
    writing.require_split(split)
    return _GENERATORS[task](n, writing.require_rng(rng), split, options)


def _translations(n: int, source: torch.Generator, split: str, options: Any) -> list[Example]:
    pairs = {"train": "seen", "test": "unseen"}[split]
    return [*map(translating, translation.generate(n, source, pairs=pairs, **options))]


def _sums(n: int, source: torch.Generator, split: str, options: Any) -> list[Example]:
    return [*map(adding, addition.generate(n, source, split=split, **options))]


def _answers(n: int, source: torch.Generator, split: str, options: Any) -> list[Example]:
    found = []
    for report in reports.generate(n, source, split=split, **options):
        asked = reports.questions(report)
        found.append(answering(asked[int(writing.draw(len(asked), 1, source))]))
    return found


def _headlines(n: int, source: torch.Generator, split: str, options: Any) -> list[Example]:
    return [*map(summarizing, reports.generate(n, source, split=split, **options))]


def _kinds(n: int, source: torch.Generator, split: str, options: Any) -> list[Example]:
    return [*map(classifying, reports.generate(n, source, split=split, **options))]


_GENERATORS: dict[str, Callable[..., list[Example]]] = {
    "translate": _translations,
    "add": _sums,
    "answer": _answers,
    "summarize": _headlines,
    "classify": _kinds,
}


# --- Números --------------------------------------------------------------------------------------


def batch(examples: Sequence[Example]) -> Batch:
    """Convierte ejemplos, de una tarea o de varias, en un lote de números con relleno al final.

    ``source``, ``(batch, source)``, acaba en fin; ``target``, ``(batch, target)``, empieza en
    comienzo y acaba en fin.

    Errores: ``ValueError`` si no hay ejemplos o alguno tiene una palabra que no se conoce.
    """
    _require_examples(examples)
    encode = vocabulary().encode
    return Batch(
        writing.pad([[*encode(x.source), EOS_ID] for x in examples]),
        writing.pad([[BOS_ID, *encode(x.target), EOS_ID] for x in examples]),
    )


def batches(
    n: int,
    size: int,
    rng: torch.Generator | int,
    *,
    turns: Sequence[str | tuple[str, dict[str, Any]]] = ("translate", "add", "answer"),
) -> list[Batch]:
    """``n`` lotes de ``size`` ejemplos, cada uno de una tarea: las de ``turns``, por turno.

    Un turno es una tarea, o ``(tarea, opciones)``, con las de :func:`generate`. Con un lote
    por tarea se gasta poco relleno. Para mezclarlas en un paso están
    ``accumulate`` y ``weight``, de :func:`atento.training.fit`.

    Errores: los de :func:`generate`, y los mismos si ``size`` no es un entero positivo o no hay
    turnos.
    """
    require_size(n, name="n", least=0)
    require_size(size, name="size")
    source, asked = writing.require_rng(rng), _require_turns(turns)
    return [
        batch(generate(size, source, task=task, **options))
        for task, options in (asked[i % len(asked)] for i in range(n))
    ]


# --- Escribir y puntuar ---------------------------------------------------------------------------


def answers(
    model: Any,
    examples: Sequence[Example],
    *,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> list[list[str]]:
    """Las palabras que ``model`` escribe ante cada ejemplo, sin el fin.

    Errores: los de :func:`atento.tasks.writing.write` y :func:`batch`.
    """
    _require_examples(examples)
    ids = writing.write(
        model,
        examples,
        batch,
        size=lambda x: len(x.source),
        batch_size=batch_size,
        device=device,
    )
    return [vocabulary().decode(row) for row in ids]


def score(
    model: Any,
    examples: Sequence[Example],
    *,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Puntúa lo que escribe ``model``, sin ayuda: ``exact``, las respuestas idénticas, y ``token``.

    ``by_task`` da lo mismo, con su ``n``, por tarea.

    Errores: los de :func:`answers`.
    """
    written = answers(model, examples, batch_size=batch_size, device=device)
    marks = [writing.mark(w, list(x.target)) for w, x in zip(written, examples, strict=True)]
    return {**writing.means(marks), "by_task": writing.means_by([x.task for x in examples], marks)}


# --- Las puertas ----------------------------------------------------------------------------------


def _require_task(task: str) -> None:
    if task not in PREFIXES:
        raise ValueError(f"task: se esperaba una de {', '.join(PREFIXES)}; llegó {task!r}.")


def _require_turns(turns: Any) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(turns, str) or not isinstance(turns, Sequence) or not turns:
        raise ValueError(f"turns: se esperaba una secuencia de tareas; llegó {turns!r}.")
    asked = [(x, {}) if isinstance(x, str) else x for x in turns]
    for task, _ in asked:
        _require_task(task)
    return asked


def _require_examples(examples: Sequence[Example]) -> None:
    writing.require_examples(examples)
    for example in examples:
        if not isinstance(example, Example):
            raise ValueError(
                f"examples: se esperaban ejemplos con su tarea; llegó {type(example).__name__}."
            )
