"""Partes de un servicio municipal: documentos con secciones de los que se sabe todo.

Cada parte cuenta dos sucesos de tipo distinto, el de «hechos», que es del que trata, y otro
anterior, en «antecedentes»; y acaba en unas «medidas». Los dos se escriben igual: qué hubo, qué
día, dónde, por qué y quién avisó. Por eso ninguna palabra suelta dice de qué trata el parte: hace
falta saber en qué sección está.

De un parte se pide su tipo (``kind``), un titular (``headline``) o el fragmento que contesta una
pregunta (:func:`questions`). Hay dos maneras de ordenarlo: ``"chronicle"``, por orden de tiempo, y
``"pyramid"``, lo principal delante, como en una noticia.

Se reserva una de cada seis parejas de suceso y lugar (:func:`is_held_out`): con ``split="train"``
no sale ninguna, y con ``split="test"`` la de los hechos siempre lo es.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from atento.amounts import require_kind, require_size
from atento.tasks import writing
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID, Batch, Vocabulary

Words = tuple[str, ...]
"""Un trozo de texto, en palabras; los signos cuentan como palabras."""

HAPPENINGS = {
    "avería": ("el apagón", "la fuga", "el cortocircuito", "la inundación"),
    "obra": ("la reforma", "la ampliación", "el arreglo", "el derribo"),
    "acto": ("el concierto", "la charla", "la feria", "el homenaje"),
    "delito": ("el robo", "el hurto", "la estafa", "la pelea"),
}
"""Los sucesos de cada tipo, con su artículo."""

CAUSES = {
    "avería": ("la tormenta", "el frío", "el óxido", "la helada"),
    "obra": ("las goteras", "las grietas", "la humedad", "el ruido"),
    "acto": ("el aniversario", "la fiesta", "el premio", "la visita"),
    "delito": ("el descuido", "la oscuridad", "el dinero", "la deuda"),
}
"""A qué se debe un suceso, según su tipo."""

PLACES = tuple(
    ("la biblioteca", "el mercado", "el museo", "la estación", "el teatro", "la piscina")
    + ("el hospital", "la escuela", "el puerto", "la plaza", "el archivo", "la residencia")
)
PEOPLE = tuple(
    ("la directora", "el conserje", "la alcaldesa", "el técnico", "la secretaria", "el vigilante")
    + ("la ingeniera", "el concejal")
)
DAYS = ("el lunes", "el martes", "el miércoles", "el jueves", "el viernes", "el sábado")
AMOUNTS = ("cien", "doscientos", "trescientos", "cuatrocientos", "quinientos")
LAYOUTS = {
    "chronicle": ("antecedentes", "hechos", "medidas"),
    "pyramid": ("hechos", "medidas", "antecedentes"),
}
"""Las maneras de ordenar un parte, con sus secciones."""

KINDS = tuple(HAPPENINGS)
ABOUT = ("place", "day", "cause", "person")
"""De qué puede tratar una pregunta."""

_ALL = tuple(noun for nouns in HAPPENINGS.values() for noun in nouns)
_ASKED = {
    "place": "¿ dónde fue {the} ?",
    "day": "¿ cuándo fue {the} ?",
    "cause": "¿ a qué se debió {the} ?",
    "person": "¿ quién avisó {of} ?",
}


class Event(NamedTuple):
    """Un suceso: qué hubo, de qué tipo es, dónde, qué día, por qué y quién avisó."""

    what: str
    kind: str
    place: str
    day: str
    cause: str
    person: str

    @property
    def headline(self) -> Words:
        """Su titular: «robo en el museo por el descuido»."""
        _, noun = self.what.split()
        return (noun, "en", *self.place.split(), "por", *self.cause.split())


class Section(NamedTuple):
    """Una sección: su encabezado y sus palabras, sin él."""

    heading: str
    words: Words


@dataclass(frozen=True)
class Report:
    """Un parte: de qué trata (``main``), lo de antes (``previous``) y sus secciones, en orden."""

    main: Event
    previous: Event
    sections: tuple[Section, ...]

    @property
    def kind(self) -> str:
        """El tipo del suceso de los hechos, una de ``KINDS``."""
        return self.main.kind

    @property
    def words(self) -> Words:
        """El documento entero, con sus encabezados y dos puntos."""
        return tuple(w for s in self.sections for w in (s.heading, ":", *s.words))

    @property
    def segments(self) -> tuple[int, ...]:
        """El número de sección de cada palabra de ``words``, desde 0."""
        sizes = [len(s.words) + 2 for s in self.sections]
        return tuple(i for i, n in enumerate(sizes) for _ in range(n))

    @property
    def headline(self) -> Words:
        """El titular que se pide, el de los hechos."""
        return self.main.headline

    def __str__(self) -> str:
        return "\n".join(f"{s.heading.capitalize()}: {prose(s.words)}" for s in self.sections)


class Question(NamedTuple):
    """Una pregunta sobre un parte: sus palabras y qué fragmento de ``report.words`` la contesta.

    ``start`` es la primera palabra de la respuesta y ``end``, la última.
    """

    report: Report
    about: str
    words: Words
    start: int
    end: int

    @property
    def answer(self) -> Words:
        """Las palabras de la respuesta."""
        return self.report.words[self.start : self.end + 1]


def prose(words: Sequence[str]) -> str:
    """Texto corrido, con cada signo pegado a su palabra y mayúscula tras cada punto.

    Errores: ``TypeError`` si ``words`` no es una secuencia de palabras.
    """
    require_kind(words, Sequence, name="words", wanted="una secuencia de palabras")
    text = " ".join(words)
    for sign in ".?:":
        text = text.replace(f" {sign}", sign)
    parts = text.replace("¿ ", "¿").split(". ")
    raised = [p[:1].upper() + p[1:] if p[:1] != "¿" else "¿" + p[1:].capitalize() for p in parts]
    return ". ".join(raised)


# --- Generar --------------------------------------------------------------------------------------


def is_held_out(what: str, place: str) -> bool:
    """Si esa pareja de suceso y lugar está reservada para probar.

    De los doce lugares, cada suceso tiene reservados dos, y ninguna semilla los cambia.

    Errores: ``ValueError`` si el suceso o el lugar no son de los que hay.
    """
    for name, value, options in (("what", what, _ALL), ("place", place, PLACES)):
        if value not in options:
            raise ValueError(f"{name}: se esperaba uno de {', '.join(options)}; llegó {value!r}.")
    return (_ALL.index(what) - PLACES.index(place)) % 6 == 0


def generate(
    n: int, rng: torch.Generator | int, *, split: str = "train", layout: str = "chronicle"
) -> list[Report]:
    """Sortea ``n`` partes; con la misma semilla, los mismos.

    ``split`` es ``"train"`` o ``"test"`` (:func:`is_held_out`), y ``layout``, uno de ``LAYOUTS``.
    Los dos sucesos de un parte son de tipo distinto, y nada de lo que se pregunta se repite.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0, ``split`` o ``layout`` no
    son de los que hay, o ``rng`` no es un generador ni un entero.
    """
    require_size(n, name="n", least=0)
    writing.require_split(split)
    if layout not in LAYOUTS:
        raise ValueError(f"layout: se esperaba uno de {', '.join(LAYOUTS)}; llegó {layout!r}.")
    source = writing.require_rng(rng)
    return [_report(source, split, layout) for _ in range(n)]


def _report(source: torch.Generator, split: str, layout: str) -> Report:
    kinds = _several(KINDS, 2, source)
    days, people = _several(DAYS, 3, source), _several(PEOPLE, 3, source)
    previous = _event(source, kinds[0], days[0], people[0], held_out=False, besides="")
    main = _event(
        source, kinds[1], days[1], people[1], held_out=split == "test", besides=previous.place
    )
    (amount,) = _several(AMOUNTS, 1, source)
    texts = {
        "antecedentes": _told(previous),
        "hechos": _told(main),
        "medidas": f"acude {people[2]} {days[2]} . el gasto es de {amount} euros .",
    }
    sections = (Section(name, tuple(texts[name].split())) for name in LAYOUTS[layout])
    return Report(main, previous, tuple(sections))


def _event(
    source: torch.Generator, kind: str, day: str, person: str, *, held_out: bool, besides: str
) -> Event:
    (what,), (cause,) = _several(HAPPENINGS[kind], 1, source), _several(CAUSES[kind], 1, source)
    places = [p for p in PLACES if is_held_out(what, p) == held_out and p != besides]
    (place,) = _several(places, 1, source)
    return Event(what, kind, place, day, cause, person)


def _told(event: Event) -> str:
    article, noun = event.what.split()
    one = {"el": "un", "la": "una"}[article]
    first = f"{event.day} hubo {one} {noun} en {event.place} por {event.cause} ."
    return f"{first} avisó {event.person} ."


def _several(options: Sequence[str], n: int, source: torch.Generator) -> list[str]:
    """``n`` opciones distintas, al azar."""
    chosen = torch.randperm(len(options), generator=source, device=source.device)[:n]
    return [options[i] for i in chosen.tolist()]


def questions(report: Report, about: Sequence[str] = ABOUT) -> list[Question]:
    """Las preguntas sobre los dos sucesos del parte, con su fragmento.

    Errores: ``TypeError`` si ``report`` no es un parte; ``ValueError`` si ``about`` no son de
    ``ABOUT``.
    """
    require_kind(report, Report, name="report", wanted="un Report")
    strange = [x for x in about if x not in ABOUT]
    if strange or not about:
        raise ValueError(f"about: se esperaban de {', '.join(ABOUT)}; llegó {about!r}.")
    return [_question(report, event, x) for event in (report.main, report.previous) for x in about]


def _question(report: Report, event: Event, about: str) -> Question:
    of = f"de {event.what}".replace("de el ", "del ")
    asked = tuple(_ASKED[about].format(the=event.what, of=of).split())
    start, end = _find(report.words, _sentences(event)[about], getattr(event, about))
    return Question(report, about, asked, start, end)


def _sentences(event: Event) -> dict[str, Words]:
    """La frase del suceso en que está cada respuesta."""
    first, second = (tuple(f"{x} .".split()) for x in _told(event).split(" . ", 1))
    return dict.fromkeys(("place", "day", "cause"), first) | {"person": second[:-1]}


def _find(words: Words, sentence: Words, text: str) -> tuple[int, int]:
    """Dónde empieza y acaba ``text`` dentro de su frase, contando desde el principio."""
    answer = tuple(text.split())
    base = _positions(words, sentence)[0]
    start = base + _positions(sentence, answer)[0]
    return start, start + len(answer) - 1


def _positions(words: Sequence[str], piece: Sequence[str]) -> list[int]:
    n = len(piece)
    return [i for i in range(len(words) - n + 1) if tuple(words[i : i + n]) == tuple(piece)]


# --- Números --------------------------------------------------------------------------------------


def spoken() -> set[str]:
    """Todas las palabras que pueden salir en un parte, una pregunta, un titular o un tipo."""
    lists = (_ALL, PLACES, PEOPLE, DAYS, AMOUNTS, KINDS, *CAUSES.values(), *LAYOUTS.values())
    fixed = "un una hubo en por avisó acude gasto es de euros . : del la el"
    asked = [x.format(the="", of="") for x in _ASKED.values()]
    return {
        word for text in (fixed, *asked, *(x for xs in lists for x in xs)) for word in text.split()
    }


@cache
def vocabulary() -> Vocabulary:
    """El vocabulario cerrado de los partes."""
    return Vocabulary(spoken())


class Labelled(NamedTuple):
    """Partes listos para clasificar, con relleno al final."""

    ids: Tensor  # (batch, n): empieza en comienzo y acaba en fin
    segments: Tensor  # (batch, n): el número de sección, desde 0
    labels: Tensor  # (batch,): el tipo, su lugar en KINDS


def labelled(examples: Sequence[Report]) -> Labelled:
    """Los partes en números, con la sección de cada palabra y el tipo, para clasificarlos.

    Errores: ``ValueError`` si no hay ninguno o alguno no es un parte.
    """
    _require(examples, Report)
    rows = [[BOS_ID, *vocabulary().encode(x.words), EOS_ID] for x in examples]
    places = [[x.segments[0], *x.segments, x.segments[-1]] for x in examples]
    labels = torch.tensor([KINDS.index(x.kind) for x in examples])
    return Labelled(writing.pad(rows), writing.pad(places), labels)


def batch(examples: Sequence[Report]) -> Batch:
    """Un lote para titular: el documento y, de destino, el titular, con relleno al final.

    Errores: los de :func:`labelled`.
    """
    _require(examples, Report)
    encode = vocabulary().encode
    return Batch(
        writing.pad([[*encode(x.words), EOS_ID] for x in examples]),
        writing.pad([[BOS_ID, *encode(x.headline), EOS_ID] for x in examples]),
    )


def batches(
    n: int,
    size: int,
    rng: torch.Generator | int,
    *,
    split: str = "train",
    layout: str = "chronicle",
) -> list[Batch]:
    """``n`` lotes de ``size`` partes, para titular.

    Errores: los de :func:`generate`, y los mismos si ``size`` no es un entero positivo.
    """
    require_size(n, name="n", least=0)
    require_size(size, name="size")
    source = writing.require_rng(rng)
    return [batch(generate(size, source, split=split, layout=layout)) for _ in range(n)]


class Asked(NamedTuple):
    """Preguntas con su parte, ``[comienzo] pregunta [fin] parte [fin]``, y dónde se contestan.

    ``segments`` es 0 en la pregunta y 1 en el parte; ``start`` y ``end``, la primera y la última
    posición de la respuesta dentro de ``ids``.
    """

    ids: Tensor  # (batch, n)
    segments: Tensor  # (batch, n)
    start: Tensor  # (batch,)
    end: Tensor  # (batch,)


def asked(examples: Sequence[Question]) -> Asked:
    """Las preguntas en números, con relleno al final, para señalar el fragmento.

    Errores: ``ValueError`` si no hay ninguna o alguna no es una pregunta.
    """
    _require(examples, Question)
    encode = vocabulary().encode
    heads = [[BOS_ID, *encode(x.words), EOS_ID] for x in examples]
    bodies = [[*encode(x.report.words), EOS_ID] for x in examples]
    pairs = list(zip(heads, bodies, strict=True))
    segments = [[0] * len(head) + [1] * len(body) for head, body in pairs]
    ends: list[Int[Tensor, " batch"]] = [
        torch.tensor([len(head) + place for head, place in zip(heads, places, strict=True)])
        for places in ([x.start for x in examples], [x.end for x in examples])
    ]
    return Asked(writing.pad([h + b for h, b in pairs]), writing.pad(segments), *ends)


# --- Sin modelo -----------------------------------------------------------------------------------


def lead(report: Report, words: int | None = None) -> Words:
    """El principio del parte como titular: su primera frase, o sus primeras ``words`` palabras.

    Es la línea de base de los resúmenes. El encabezado y el punto no cuentan.

    Errores: ``TypeError`` o ``ValueError`` si ``report`` no es un parte o ``words`` no es un
    entero positivo.
    Fuente: See et al. (2017), § 5 (*lead-3*).
    """
    require_kind(report, Report, name="report", wanted="un Report")
    if words is not None:
        require_size(words, name="words")
    text = report.sections[0].words
    return text[: text.index(".")][:words]


def first_span(question: Question) -> Words:
    """El primer fragmento del parte que podría contestar: el primer lugar, el primer día…

    Es la línea de base de las preguntas: mira qué se pregunta, y no de qué suceso.

    Errores: ``TypeError`` si no es una pregunta.
    """
    require_kind(question, Question, name="question", wanted="una Question")
    same = [q for q in questions(question.report, [question.about])]
    return min(same, key=lambda q: q.start).answer


def first_kind(report: Report) -> str:
    """El tipo del primer suceso que nombra el parte, que es la línea de base de los tipos.

    Errores: ``TypeError`` si no es un parte.
    """
    require_kind(report, Report, name="report", wanted="un Report")
    kinds = {noun.split()[1]: kind for kind, nouns in HAPPENINGS.items() for noun in nouns}
    return next(kinds[word] for word in report.words if word in kinds)


# --- Puntuar --------------------------------------------------------------------------------------


class _Spaces:
    """Parte por los espacios: el de rouge-score borra lo que no sea a–z y corta «avería» en dos."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()


def headline_score(
    written: Sequence[Sequence[str]], examples: Sequence[Report]
) -> dict[str, float]:
    """Puntúa unos titulares: ``exact``, ``rouge1``, ``rouge2``, ``rougeL`` (F, hasta 1) y ``bleu``.

    ROUGE es de rouge-score, con las palabras del libro y sin reducirlas a su raíz; BLEU, de
    sacrebleu, de 0 a 100.

    Errores: ``ValueError`` si no hay partes o no hay un titular por parte.
    Fuente: Lin (2004), § 2 y 3; Papineni et al. (2002).
    """
    _require(examples, Report)
    _require_one_each(written, examples)
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics import BLEU

    names = ("rouge1", "rouge2", "rougeL")
    scorer = RougeScorer(names, tokenizer=_Spaces())
    texts = [(" ".join(x.headline), " ".join(w)) for x, w in zip(examples, written, strict=True)]
    found = [scorer.score(*pair) for pair in texts]
    right, said = ([*column] for column in zip(*texts, strict=True))
    marks = {name: sum(x[name].fmeasure for x in found) / len(found) for name in names}
    exact = sum(a == b for a, b in texts) / len(texts)
    bleu = BLEU(tokenize="none", force=True).corpus_score(said, [right]).score
    return {"exact": exact, **marks, "bleu": bleu, "n": len(texts)}


def answer_score(
    written: Sequence[Sequence[str]], examples: Sequence[Question]
) -> dict[str, float]:
    """Puntúa unas respuestas: ``exact``, las idénticas, y ``f1``, las palabras en común.

    Errores: ``ValueError`` si no hay preguntas o no hay una respuesta por pregunta.
    Fuente: Rajpurkar et al. (2016), § 6.1; aquí el artículo cuenta.
    """
    _require(examples, Question)
    _require_one_each(written, examples)
    pairs = [(tuple(w), x.answer) for w, x in zip(written, examples, strict=True)]
    exact = sum(a == b for a, b in pairs) / len(pairs)
    return {"exact": exact, "f1": sum(_f1(*p) for p in pairs) / len(pairs), "n": len(pairs)}


def _f1(written: Words, right: Words) -> float:
    common = (Counter(written) & Counter(right)).total()
    return 2 * common / (len(written) + len(right))


def kind_score(written: Sequence[str], examples: Sequence[Report]) -> dict[str, float]:
    """Puntúa unos tipos: ``exact``, los acertados.

    Errores: ``ValueError`` si no hay partes o no hay un tipo por parte.
    """
    _require(examples, Report)
    _require_one_each(written, examples)
    hits = sum(a == b.kind for a, b in zip(written, examples, strict=True))
    return {"exact": hits / len(examples), "n": len(examples)}


# --- Las puertas ----------------------------------------------------------------------------------


def _require(examples: Sequence[Any], kind: Callable[..., Any]) -> None:
    writing.require_examples(examples)
    for example in examples:
        if not isinstance(example, kind):  # type: ignore[arg-type]
            raise ValueError(
                f"examples: se esperaban objetos {kind.__name__}; llegó {type(example).__name__}."
            )


def _require_one_each(written: Sequence[Any], examples: Sequence[Any]) -> None:
    if not isinstance(written, Sequence) or len(written) != len(examples):
        came = len(written) if isinstance(written, Sequence) else type(written).__name__
        raise ValueError(
            f"written: se esperaba una secuencia con {len(examples)} cosas, una por ejemplo; "
            f"llegó {came}."
        )
