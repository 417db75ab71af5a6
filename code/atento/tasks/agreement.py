"""Concordar en español: frases en que unas palabras deciden el género y el número de otras.

Cada frase habla de un sujeto y lleva una relativa en medio, con otro nombre que estorba: «la gata
negra que mira a unos perros no está tranquila». Lo que concuerda con el sujeto queda a los dos
lados de él, y lo último, lejos. La relativa puede decir quién actúa (``a`` marca al otro como quien
lo recibe) o darle la vuelta: en «la gata negra que miran unos perros…» actúan ellos.

Quien tapa una de esas palabras sabe qué rasgos ha de tener la que falta, y dos frases que solo se
distinguen en una forma dicen qué prefiere un modelo. Con ``agree=False``, las mismas frases con
cada forma sorteada: ahí no hay nada que aprender de las demás palabras.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from atento.amounts import require_size
from atento.tasks import writing

# --- El léxico ------------------------------------------------------------------------------------

PAD_ID, MASK_ID, CLS_ID, SEP_ID = range(4)
"""El relleno y las marcas: lo tapado, el comienzo y el fin."""

FEATURES = ("ms", "fs", "mp", "fp")
"""Los cuatro rasgos: género (m, f) y número (s, p), en el orden de las formas."""

DETERMINERS = ("el la los las", "este esta estos estas", "aquel aquella aquellos aquellas")
OTHERS = (
    "un una unos unas",
    "ese esa esos esas",
)  # los del otro nombre: ninguno se contrae con «a»
NOUNS = (
    "gato gata gatos gatas",
    "perro perra perros perras",
    "niño niña niños niñas",
    "vecino vecina vecinos vecinas",
    "amigo amiga amigos amigas",
    "abuelo abuela abuelos abuelas",
    "pintor pintora pintores pintoras",
    "médico médica médicos médicas",
    "zorro zorra zorros zorras",
    "lobo loba lobos lobas",
)
ADJECTIVES = (
    "negro negra negros negras",
    "blanco blanca blancos blancas",
    "pequeño pequeña pequeños pequeñas",
    "viejo vieja viejos viejas",
    "alto alta altos altas",
    "listo lista listos listas",
)
POSITIVE = (
    "tranquilo tranquila tranquilos tranquilas",
    "contento contenta contentos contentas",
    "animado animada animados animadas",
    "encantado encantada encantados encantadas",
)
NEGATIVE = (
    "cansado cansada cansados cansadas",
    "enfadado enfadada enfadados enfadadas",
    "asustado asustada asustados asustadas",
    "aburrido aburrida aburridos aburridas",
)
VERBS = ("mira miran", "busca buscan", "sigue siguen", "llama llaman", "espera esperan")
COPULA = ("está están",)
FIXED = ("que", "a", "no", "muy", "hoy")

_INFLECTED = (DETERMINERS, OTHERS, NOUNS, ADJECTIVES, POSITIVE, NEGATIVE)
_MARKS = ("[PAD]", "[MASK]", "[CLS]", "[SEP]")
WORDS = (
    *_MARKS,
    *(form for table in (*_INFLECTED, VERBS, COPULA) for row in table for form in row.split()),
    *FIXED,
)
"""El vocabulario: el número de una palabra es su lugar en esta lista."""

VOCAB_SIZE = len(WORDS)
_ID = {word: i for i, word in enumerate(WORDS)}
_TRAITS = {
    form: {traits}
    for table in _INFLECTED
    for row in table
    for form, traits in zip(row.split(), FEATURES, strict=True)
} | {
    form: {f"m{number}", f"f{number}"}
    for row in (*VERBS, *COPULA)
    for form, number in zip(row.split(), "sp", strict=True)
}

ROLES = ("otra", "actúa", "recibe")
"""Las etiquetas de cada palabra: la del nombre que hace lo que dice la relativa, la del que lo
recibe y la de todas las demás."""

# --- Una frase ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sentence:
    """Una frase: sus palabras y lo que se sabe de ella.

    ``subject`` son los rasgos del sujeto y ``other``, los del otro nombre; ``agreeing``, los sitios
    que concuerdan con el sujeto, en orden (determinante, nombre, adjetivo, cópula y atributo);
    ``roles``, la etiqueta de cada palabra (:data:`ROLES`); ``positive``, si lo que dice del sujeto
    es bueno, contado el «no».
    """

    words: tuple[str, ...]
    subject: str
    other: str
    agreeing: tuple[int, ...]
    roles: tuple[int, ...]
    positive: bool

    def __str__(self) -> str:
        return " ".join(self.words)


def traits(word: str) -> frozenset[str]:
    """Los rasgos con que casa una palabra: uno si tiene género y número, dos si solo número.

    Las que no concuerdan («que», las marcas) no casan con ninguno.

    Errores: ``ValueError`` si ``word`` no es del vocabulario.
    """
    if not isinstance(word, str) or word not in _ID:
        raise ValueError(f"word: se esperaba una palabra de agreement.WORDS; llegó {word!r}.")
    return frozenset(_TRAITS.get(word, ()))


def generate(
    n: int, rng: torch.Generator | int, *, split: str = "train", agree: bool = True
) -> list[Sentence]:
    """Genera ``n`` frases; con la misma semilla, las mismas.

    Una de cada cinco parejas de nombre y atributo («gata» y «tranquila» en cualquier forma) está
    reservada: solo sale con ``split="test"``, y entonces solo salen esas. Con ``agree=False`` cada
    palabra que concordaría lleva una forma sorteada.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0, ``split`` no es «train» o
    «test», o ``rng`` no es un generador ni un entero.
    """
    require_size(n, name="n", least=0)
    if split not in writing.SPLITS:
        raise ValueError(f"split: se esperaba una de {', '.join(writing.SPLITS)}; llegó {split!r}.")
    source = writing.require_rng(rng)
    drawn: list[Sentence] = []
    while len(drawn) < n:
        sentence, pair = _draw(source)
        if is_reserved(*pair) == (split == "test"):
            drawn.append(sentence if agree else _scrambled(sentence, source))
    return drawn


def is_reserved(noun: str, attribute: str) -> bool:
    """Si una pareja de nombre y atributo, por su forma en masculino singular, está reservada."""
    code = hashlib.sha256(f"{noun} {attribute}".encode()).digest()
    return code[0] % 5 == 0


def _draw(source: torch.Generator) -> tuple[Sentence, tuple[str, str]]:
    """Una frase que concuerda, y la pareja que decide en qué parte cae."""

    def one(options: Sequence[Any]) -> Any:
        return options[int(writing.draw(len(options), 1, source))]

    subject, other = one(FEATURES), one(FEATURES)
    noun, adjective, verb = one(NOUNS), one(ADJECTIVES), one(VERBS)
    positive, negated, acts = one((True, False)), one((True, False)), one((True, False))
    attribute = one(POSITIVE if positive else NEGATIVE)
    head = [_form(one(DETERMINERS), subject), _form(noun, subject), _form(adjective, subject)]
    rest = [_form(one(OTHERS), other), _form(one([x for x in NOUNS if x != noun]), other)]
    does = _number(verb, subject if acts else other)
    clause = ["que", does, "a", *rest] if acts else ["que", does, *rest]
    middle = [*(["no"] if negated else []), _number(COPULA[0], subject), one(("muy", "hoy"))]
    words = (*head, *clause, *middle, _form(attribute, subject))
    after = len(head) + len(clause)
    agreeing = (0, 1, 2, after + negated, len(words) - 1)
    roles = [0] * len(words)
    roles[1], roles[after - 1] = (1, 2) if acts else (2, 1)
    sentence = Sentence(words, subject, other, agreeing, tuple(roles), positive != negated)
    return sentence, (noun.split()[0], attribute.split()[0])


def _form(row: str, features: str) -> str:
    """La forma de una palabra de cuatro formas, «gato gata gatos gatas», con esos rasgos."""
    return row.split()[FEATURES.index(features)]


def _number(row: str, features: str) -> str:
    """La forma de una palabra de dos formas, «mira miran», con ese número."""
    return row.split()[features[1] == "p"]


def _scrambled(sentence: Sentence, source: torch.Generator) -> Sentence:
    """La misma frase con cada palabra que concuerda en una forma cualquiera de las suyas."""
    words = list(sentence.words)
    for place in sentence.agreeing:
        options = others(words[place], include=True)
        words[place] = options[int(writing.draw(len(options), 1, source))]
    return replace(sentence, words=tuple(words))


def others(word: str, *, include: bool = False) -> list[str]:
    """Las demás formas de una palabra (con ``include``, también ella).

    Errores: ``ValueError`` si ``word`` no cambia de forma.
    """
    for table in (*_INFLECTED, VERBS, COPULA):
        for row in table:
            if word in row.split():
                return [x for x in row.split() if include or x != word]
    raise ValueError(f"word: se esperaba una palabra con varias formas; llegó {word!r}.")


# --- De palabras a números ------------------------------------------------------------------------


def encode(words: Sequence[str]) -> list[int]:
    """Los números de unas palabras, sin marcas.

    Errores: ``ValueError`` si alguna no es del vocabulario.
    """
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise ValueError(f"words: se esperaba una lista de palabras; llegó {words!r}.")
    strange = [word for word in words if not isinstance(word, str) or word not in _ID]
    if strange:
        raise ValueError(f"words: se esperaban palabras de agreement.WORDS; llegó {strange[0]!r}.")
    return [_ID[word] for word in words]


def batch(sentences: Sequence[Sentence]) -> Int[Tensor, "batch n"]:
    """Un lote: ``[CLS]``, la frase y ``[SEP]``, con relleno al final. La palabra ``i`` va en la
    columna ``i + 1``.

    Errores: ``ValueError`` si no hay frases.
    """
    _require_sentences(sentences)
    return writing.pad([[CLS_ID, *encode(s.words), SEP_ID] for s in sentences])


def labels(sentences: Sequence[Sentence]) -> Int[Tensor, "batch n"]:
    """La etiqueta de cada palabra, en su columna de :func:`batch`; −100 en marcas y relleno.

    Errores: los de :func:`batch`.
    """
    ids = batch(sentences)
    rows = torch.full_like(ids, -100)
    for i, sentence in enumerate(sentences):
        rows[i, 1 : len(sentence.words) + 1] = torch.tensor(sentence.roles)
    return rows


# --- Examinar -------------------------------------------------------------------------------------

PARTS = ("determinante", "nombre", "adjetivo", "cópula", "atributo")
"""Los sitios de :attr:`Sentence.agreeing`, por su nombre."""


def score(
    model: Callable[[Tensor], Tensor], sentences: Sequence[Sentence], *, batch_size: int = 256
) -> dict[str, Any]:
    """Tapa de una en una las palabras que concuerdan y mira si la preferida tiene sus rasgos.

    ``model`` va de números (batch, n) a puntuaciones (batch, n, vocab). ``agree`` es la proporción
    de tapadas cuya palabra más puntuada casa con el sujeto; ``by_part``, la de cada sitio
    (:data:`PARTS`); ``n``, cuántas se han tapado.

    Errores: los de :func:`batch`.
    """
    _require_sentences(sentences)
    hits: dict[str, list[bool]] = {part: [] for part in PARTS}
    for lot in _lots(sentences, batch_size):
        ids = batch(lot)
        for part, name in enumerate(PARTS):
            rows, columns = (
                torch.arange(len(lot)),
                torch.tensor([s.agreeing[part] + 1 for s in lot]),
            )
            hidden = ids.clone()
            hidden[rows, columns] = MASK_ID
            best = model(hidden)[rows, columns].argmax(dim=-1).tolist()
            said = zip(best, lot, strict=True)
            hits[name] += [s.subject in traits(WORDS[word]) for word, s in said]
    by_part = {name: sum(x) / len(x) for name, x in hits.items()}
    every = [x for marks in hits.values() for x in marks]
    return {"agree": sum(every) / len(every), "by_part": by_part, "n": len(every)}


@dataclass(frozen=True)
class Pair:
    """Un par mínimo: la frase, el sitio que cambia y la forma que no concuerda."""

    sentence: Sentence
    place: int
    wrong: str


def minimal_pairs(sentences: Sequence[Sentence], rng: torch.Generator | int) -> list[Pair]:
    """Un par por frase: una de las palabras que concuerdan, con otra de sus formas.

    Errores: los de :func:`generate`.
    """
    source = writing.require_rng(rng)
    pairs = []
    for sentence in sentences:
        place = sentence.agreeing[int(writing.draw(len(PARTS), 1, source))]
        wrong = [x for x in others(sentence.words[place]) if sentence.subject not in traits(x)]
        pairs.append(Pair(sentence, place, wrong[int(writing.draw(len(wrong), 1, source))]))
    return pairs


def prefers(
    model: Callable[[Tensor], Tensor], pairs: Sequence[Pair], *, batch_size: int = 256
) -> float:
    """En qué parte de los pares puntúa más, con ese sitio tapado, la forma que concuerda.

    Errores: los de :func:`batch`.
    """
    _require_sentences(pairs)
    right = 0
    for lot in _lots(pairs, batch_size):
        ids = batch([pair.sentence for pair in lot])
        rows, columns = torch.arange(len(lot)), torch.tensor([pair.place + 1 for pair in lot])
        good = ids[rows, columns]
        ids[rows, columns] = MASK_ID
        logits = model(ids)[rows, columns]  # (batch, vocab)
        bad = torch.tensor(encode([pair.wrong for pair in lot]))
        right += int((logits[rows, good] > logits[rows, bad]).sum())
    return right / len(pairs)


def _lots(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    require_size(size, name="batch_size")
    yield from (items[i : i + size] for i in range(0, len(items), size))


def _require_sentences(sentences: Sequence[Any]) -> None:
    if not isinstance(sentences, Sequence) or isinstance(sentences, str) or not sentences:
        raise ValueError(f"sentences: se esperaba al menos una frase; llegó {sentences!r}.")
