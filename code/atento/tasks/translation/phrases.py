"""Los sintagmas: sujetos, nombres con su adjetivo y la correspondencia entre los dos idiomas."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from atento.tasks.translation.lexicon import (
    ADJECTIVES,
    DETERMINERS,
    NOUNS,
    PEOPLE,
    PRONOUNS,
    Adjective,
    Noun,
    is_held_out,
)


@dataclass
class Phrase:
    """Trozo de frase en los dos idiomas; ``links[t]`` es la posición de origen de la palabra
    inglesa ``t`` (o −1).
    """

    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    links: list[int] = field(default_factory=list)
    inversions: list[tuple[int, int]] = field(default_factory=list)

    def __add__(self, other: Phrase) -> Phrase:
        n, m = len(self.source), len(self.target)
        return Phrase(
            self.source + other.source,
            self.target + other.target,
            self.links + [k + n if k >= 0 else -1 for k in other.links],
            self.inversions + [(a + m, b + m) for a, b in other.inversions],
        )


def aligned(source: str, target: str) -> Phrase:
    """Palabras que se corresponden una a una y en el mismo orden."""
    words, other = source.split(), target.split()
    return Phrase(words, other, list(range(len(other))))


@dataclass
class Draft:
    """Lo que ya se ha usado al componer una frase: nada se repite, y cada pareja nombre–adjetivo se
    anota.
    """

    rng: random.Random
    unseen: bool | None  # True, las reservadas si las hay; False, sin ellas; None, todas
    nouns: set[str] = field(default_factory=set)
    verbs: set[str] = field(default_factory=set)
    subjects: set[str] = field(default_factory=set)
    pairs: list[tuple[str, str]] = field(default_factory=list)

    def pick(self, options: Sequence[Any]) -> Any:
        """Una de las opciones, al azar."""
        return options[int(self.rng.random() * len(options))]

    def chance(self, probability: float) -> bool:
        """``True`` con esa probabilidad."""
        return self.rng.random() < probability


@cache
def adjectives_of(kind: str, key: str, where: str, unseen: bool | None) -> tuple[Adjective, ...]:
    """Adjetivos admitidos por un nombre en un sitio («before», «after», «copula»), vistos o
    reservados; con ``None``, todos.
    """

    def fits(adjective: Adjective) -> bool:
        if where == "copula":
            strange = adjective.key == "nuevo" and kind in PEOPLE.split()
            return (
                adjective.copula is not None
                and not strange
                and kind in adjective.before | adjective.after
            )
        return kind in getattr(adjective, where) and kind != "kin"

    wanted = (True, False) if unseen is None else (unseen,)
    return tuple(a for a in ADJECTIVES if fits(a) and is_held_out(key, a.key) in wanted)


def choose_adjective(
    draft: Draft, noun: Noun, where: str, *, verb: str = "", only: str = "", singular: bool = True
) -> Adjective | None:
    """Un adjetivo que no choque con el verbo (y del grupo ``only``); prefiere los reservados si se
    piden.

    «Gran» solo se usa en singular: en plural se confundiría con «grande» (*great*, *big*).
    """
    for unseen in (True, False) if draft.unseen else (draft.unseen,):
        options = [
            a
            for a in adjectives_of(noun.kind, noun.key, where, unseen)
            if verb not in a.clash and only in ("", a.group) and (singular or a.key != "gran")
        ]
        if options:
            adjective = draft.pick(options)
            draft.pairs.append((noun.key, adjective.key))
            return adjective
    return None


def agree(adjective: Adjective, feminine: bool, plural: bool) -> str:
    """La forma del adjetivo que concuerda en género y número."""
    return adjective.forms[feminine + 2 * plural]


def _modifiers(
    draft: Draft, noun: Noun, plural: bool, verb: str
) -> tuple[Adjective | None, Adjective | None]:
    """Un adjetivo delante o detrás; dos solo en el orden que el inglés conserva («pequeño perro
    negro»).
    """
    if draft.chance(0.25):
        before = choose_adjective(draft, noun, "before", verb=verb, singular=not plural)
        if before and before.key in ("pequeño", "hermoso") and draft.chance(0.5):
            return before, choose_adjective(draft, noun, "after", verb=verb, only="color")
        if before:
            return before, None
    return None, choose_adjective(draft, noun, "after", verb=verb)


def _determine(noun: Noun, determiner: str, plural: bool, personal: bool) -> tuple[list[str], str]:
    """El comienzo español, con la «a» personal y la contracción, y el determinante inglés."""
    if not determiner:
        return (["a"] if personal else []), ""
    forms, english = DETERMINERS[determiner]
    feminine = noun.feminine and not (noun.key == "agua" and determiner == "the")
    form = forms[feminine + 2 * plural]
    start = ["al"] if personal and form == "el" else ["a", form] if personal else [form]
    return start, english[plural]


def noun_phrase(
    draft: Draft,
    noun: Noun,
    plural: bool,
    determiner: str,
    *,
    verb: str = "",
    personal: bool = False,
    adjectives: float = 0.5,
) -> tuple[Phrase, set[str]]:
    """Determinante, nombre y a veces adjetivo; y los grupos de los adjetivos elegidos."""
    before = after = None
    if draft.chance(adjectives):
        before, after = _modifiers(draft, noun, plural, verb)
    source, word = _determine(noun, determiner, plural, personal)
    target, links, inversions = [], [], []
    place = len(source) - 1
    if before:
        source.append(agree(before, noun.feminine, plural))
    source.append(noun.source[plural])
    head = len(source) - 1
    if after:
        source.append(agree(after, noun.feminine, plural))
    body = [(before.target, head - 1)] if before else []
    body += [(after.target, head + 1)] if after else []
    body.append((noun.target[plural], head))
    if word:
        word = "an" if word == "a" and body[0][0][0] in "aeiou" else word
        target.append(word)
        links.append(place)
    target += [english for english, _ in body]
    links += [k for _, k in body]
    if after:
        inversions.append((len(target) - 2, len(target) - 1))
    groups = {a.group for a in (before, after) if a}
    return Phrase(source, target, links, inversions), groups


@dataclass
class Subject:
    """Un sujeto: su sintagma (vacío en español si se omite), persona, género y el pronombre inglés
    que lo retoma.
    """

    phrase: Phrase
    person: str
    feminine: bool
    pronoun: str
    kind: str
    noun: Noun | None = None
    groups: set[str] = field(default_factory=set)

    @property
    def plural(self) -> bool:
        """Si es plural."""
        return self.person.endswith("p")


def pronoun_subject(draft: Draft, explicit: bool = False) -> Subject | None:
    """Un pronombre que todavía no sea sujeto, explícito o no; ``None`` si no queda."""
    alone = not draft.nouns and not draft.subjects
    person = draft.pick(("1s", "1s", "2s", "1p", "1p") + (("3p", "3p", "3s") if alone else ()))
    feminine = draft.chance(0.5)
    if person == "3s":
        source, english, explicit = ("ella", "she", True) if feminine else ("él", "he", True)
    else:
        source, english = PRONOUNS[person]
        source = source[:-2] + ("as" if feminine else "os") if person.endswith("p") else source
    if english in draft.subjects:
        return None
    draft.subjects.add(english)
    phrase = aligned(source, english) if explicit else Phrase([], [english], [-1])
    return Subject(phrase, person, feminine, english, "pronoun")


def noun_subject(
    draft: Draft, kinds: frozenset[str], verb: str, determiners: Sequence[str] = ()
) -> Subject | None:
    """Un nombre sin usar de esas clases, con su determinante; ``None`` si no hay."""
    options = [n for n in nouns_of(kinds) if n.key not in draft.nouns]
    if not options:
        return None
    noun = draft.pick(options)
    allowed = [d for d in noun.determiners if d and (not determiners or d in determiners)]
    if not allowed:
        return None
    draft.nouns.add(noun.key)
    plural = not noun.mass and draft.chance(0.4)
    phrase, groups = noun_phrase(
        draft, noun, plural, draft.pick(allowed), verb=verb, adjectives=0.45
    )
    person_like = noun.kind in PEOPLE.split()
    pronoun = "they" if plural else ("she" if noun.feminine else "he") if person_like else "it"
    return Subject(
        phrase, "3p" if plural else "3s", noun.feminine, pronoun, noun.kind, noun, groups
    )


@cache
def nouns_of(kinds: frozenset[str]) -> tuple[Noun, ...]:
    """Los nombres de esas clases."""
    return tuple(n for n in NOUNS if n.kind in kinds)
