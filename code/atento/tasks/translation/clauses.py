"""Las oraciones: acción, descripción, causa y contraste."""

from __future__ import annotations

from dataclasses import dataclass

from atento.tasks.translation.lexicon import (
    ANIMAL_PLACES,
    ANIMALS,
    BARE,
    BE,
    BY_KEY,
    CAUSES,
    DEFINITE,
    DESCRIBABLE,
    ESTAR,
    FEELINGS,
    MOODS,
    OPPOSED_ADJECTIVES,
    OPPOSED_FEELINGS,
    PEOPLE,
    PERSONS,
    PETS,
    SER,
    TENER,
    VERB_BY_KEY,
    VERBS,
    Adjective,
    Verb,
    is_held_out,
    wordset,
)
from atento.tasks.translation.phrases import (
    Draft,
    Phrase,
    Subject,
    adjectives_of,
    agree,
    aligned,
    choose_adjective,
    noun_phrase,
    noun_subject,
    nouns_of,
    pronoun_subject,
)


def _verb_phrase(verb: Verb, person: str, negated: bool) -> Phrase:
    """El verbo conjugado, con «no» y el auxiliar *do* si se niega."""
    form = verb.forms[PERSONS.index(person)]
    if negated:
        base = verb.base.split()
        auxiliary = "does" if person == "3s" else "do"
        return Phrase(["no", form], [auxiliary, "not", *base], [0, 0] + [1] * len(base))
    words = (verb.third if person == "3s" else verb.base).split()
    return Phrase([form], words, [0] * len(words))


def _object_kinds(verb: Verb, subject: Subject, cause: str = "") -> frozenset[str]:
    """Clases de objeto que le van a un verbo con este sujeto y, si la hay, esta causa."""
    kinds = set(verb.objects)
    if cause and verb.key in ("abrir", "cerrar"):
        kinds = {"door"}
    if verb.key == "beber" and (cause or subject.kind in ("child", "dog", "cat", "horse", "herd")):
        kinds = {"drink"}
    if subject.kind == "child":
        kinds -= {"story"} if verb.key == "escribir" else set()
    return frozenset(kinds)


def _object_phrase(
    draft: Draft, verb: Verb, subject: Subject, negated: bool, cause: str = ""
) -> Phrase | None:
    animal = subject.kind in ANIMALS.split()
    options = [n for n in nouns_of(_object_kinds(verb, subject, cause)) if n.key not in draft.nouns]
    options = [n for n in options if n.key == "agua"] if animal else options
    if not options:
        return None
    noun = draft.pick(options)
    draft.nouns.add(noun.key)
    alive = noun.kind in (PEOPLE + " " + ANIMALS).split()
    trade = verb.key in ("comprar", "vender") and noun.kind in ("fruit", "orange")
    plural = not noun.mass and (trade or draft.chance(0.4))
    plural = subject.plural if verb.key == "llevar" else plural
    determiner = draft.pick(
        [
            d
            for d in noun.determiners
            if not (d == "a" and (negated or alive))
            and not (d == "my" and verb.key in ("escribir", "llevar"))
        ]
    )
    if plural and not alive and verb.key in BARE and draft.chance(0.4):
        determiner = ""
    personal = verb.personal and alive
    adjectives = 0.0 if animal else 0.6
    return noun_phrase(
        draft, noun, plural, determiner, verb=verb.key, personal=personal, adjectives=adjectives
    )[0]


def _place_phrase(draft: Draft, verb: Verb, subject: Subject) -> Phrase | None:
    places = frozenset(verb.places) & ANIMAL_PLACES.get(subject.kind, frozenset(verb.places))
    options = [n for n in nouns_of(places) if n.key not in draft.nouns]
    if not options:
        return None
    noun = draft.pick(options)
    draft.nouns.add(noun.key)
    phrase, _ = noun_phrase(draft, noun, False, "the", adjectives=0.3)
    return aligned("en", "on" if noun.key == "playa" else "in") + phrase


@dataclass
class Unit:
    """Una oración, o dos unidas por «porque»."""

    phrase: Phrase
    clauses: int
    negated: bool
    action: bool


def _subject_for(draft: Draft, verb: Verb, negated: bool) -> Subject | None:
    if verb.subjects & wordset(PEOPLE) and draft.chance(0.28):
        return pronoun_subject(draft, explicit=draft.chance(0.25))
    return noun_subject(draft, verb.subjects, verb.key, DEFINITE if negated else ())


def action(draft: Draft, negated: bool | None = None) -> Unit | None:
    """Sujeto, verbo de acción y, según el verbo, objeto o lugar."""
    verb = draft.pick(VERBS)
    if verb.key in draft.verbs:
        return None
    draft.verbs.add(verb.key)
    negated = draft.chance(0.25) if negated is None else negated
    subject = _subject_for(draft, verb, negated)
    if subject is None:
        return None
    phrase = subject.phrase + _verb_phrase(verb, subject.person, negated)
    with_object = bool(verb.objects)
    if verb.optional_object and (subject.kind in ANIMALS.split() or draft.chance(0.2)):
        with_object = False
    if with_object:
        complement = _object_phrase(draft, verb, subject, negated)
        if complement is None:
            return None
        phrase = phrase + complement
    if verb.places and draft.chance(0.15 if with_object else 0.45):
        complement = _place_phrase(draft, verb, subject)
        phrase = phrase + complement if complement else phrase
    return Unit(phrase, 1, negated, True)


def _be(form: str, english: str, person: str, negated: bool, complement: Phrase) -> Phrase:
    """«(no) ser/estar/tener» + complemento; en inglés siempre *be*."""
    be = BE[PERSONS.index(person)]
    head = Phrase(["no", form], [be, "not"], [1, 0]) if negated else Phrase([form], [be], [0])
    return head + complement


def _predicate(draft: Draft, subject: Subject, adjective: Adjective, negated: bool) -> Phrase:
    people = PEOPLE.split() + ["pronoun"]
    copula = adjective.copula
    if copula == "estar/ser":
        copula = "estar" if subject.kind in people else "ser"
    form = (SER if copula == "ser" else ESTAR)[PERSONS.index(subject.person)]
    word = agree(adjective, subject.feminine, subject.plural)
    return _be(form, adjective.target, subject.person, negated, aligned(word, adjective.target))


def _feeling(subject: Subject, feeling: str, negated: bool) -> Phrase:
    words = list(FEELINGS[feeling])
    form = TENER[PERSONS.index(subject.person)]
    return _be(form, "", subject.person, negated, Phrase([feeling], words, [0] * len(words)))


def description(draft: Draft) -> Unit | None:
    """«La casa es blanca», «estamos cansadas», «el niño tiene sed»."""
    negated = draft.chance(0.2)
    if draft.chance(0.3):
        subject = (
            pronoun_subject(draft, draft.chance(0.2))
            if draft.chance(0.5)
            else noun_subject(draft, wordset(PEOPLE), "", DEFINITE)
        )
        if subject is None or "mood" in subject.groups:
            return None
        feeling = draft.pick(tuple(FEELINGS))
        if subject.noun is None and draft.chance(0.5):
            return Unit(
                subject.phrase + _predicate(draft, subject, draft.pick(MOODS), negated),
                1,
                negated,
                False,
            )
        if feeling in draft.verbs:
            return None
        draft.verbs.add(feeling)
        return Unit(subject.phrase + _feeling(subject, feeling, negated), 1, negated, False)
    subject = noun_subject(draft, DESCRIBABLE, "", DEFINITE)
    if subject is None:
        return None
    adjective = choose_adjective(draft, subject.noun, "copula")
    if (
        adjective is None
        or adjective.group in subject.groups
        or subject.groups & {"mood", "heat", "quality"}
    ):
        return None
    return Unit(subject.phrase + _predicate(draft, subject, adjective, negated), 1, negated, False)


def because(draft: Draft) -> Unit | None:
    """Una acción y su causa, de sujeto omitido: «la niña llora porque tiene miedo»."""
    key, negated, cause, cause_negated = draft.pick(CAUSES)
    verb = VERB_BY_KEY[key]
    if key in draft.verbs or cause in draft.verbs:
        return None
    draft.verbs |= {key, cause}
    kinds = verb.subjects & wordset(
        PEOPLE if cause in ("prisa", "calor") or verb.objects else f"{PEOPLE} {PETS}"
    )
    person = draft.chance(0.3)
    determiners = DEFINITE if negated else ()
    subject = pronoun_subject(draft) if person else noun_subject(draft, kinds, key, determiners)
    if subject is None or "mood" in subject.groups or not _retakable(subject, cause):
        return None
    phrase = subject.phrase + _verb_phrase(verb, subject.person, negated)
    if verb.objects and not (verb.optional_object and (negated or draft.chance(0.3))):
        complement = _object_phrase(draft, verb, subject, negated, cause)
        if complement is None:
            return None
        phrase = phrase + complement
    phrase = phrase + aligned("porque", "because") + Phrase([], [subject.pronoun], [-1])
    if cause in FEELINGS:
        phrase = phrase + _feeling(subject, cause, cause_negated)
    else:
        if subject.noun is not None:
            if is_held_out(subject.noun.key, cause) and not draft.unseen:
                return None
            draft.pairs.append((subject.noun.key, cause))
        phrase = phrase + _predicate(draft, subject, BY_KEY[cause], cause_negated)
    return Unit(phrase, 2, negated, False)


def _retakable(subject: Subject, predicate: str) -> bool:
    """Si el segundo predicado basta para traducir el sujeto omitido: «está cansada» es *she*;
    «tiene sed», *it*.
    """
    if subject.person != "3s":
        return True
    person = subject.kind in PEOPLE.split() + ["pronoun"]
    return person != (predicate in FEELINGS)


def contrast(draft: Draft) -> Unit | None:
    """Dos oraciones opuestas: «la niña canta, pero nosotros no», «es largo, pero no es caro»."""
    if draft.chance(0.5):
        return _contrast_of_subjects(draft)
    opposed = _opposed_feelings if draft.chance(0.5) else _opposed_adjectives
    found = opposed(draft)
    if found is None:
        return None
    subject, first, second = found
    link = aligned(", pero", ", but") + Phrase([], [subject.pronoun], [-1])
    return Unit(subject.phrase + first + link + second, 2, True, False)


def _opposed_feelings(draft: Draft) -> tuple[Subject, Phrase, Phrase] | None:
    """«Tiene hambre, pero no tiene sed»."""
    pronoun = draft.chance(0.4)
    people = wordset(PEOPLE)
    subject = pronoun_subject(draft) if pronoun else noun_subject(draft, people, "", DEFINITE)
    first, second = draft.pick(OPPOSED_FEELINGS)
    if subject is None or "mood" in subject.groups:
        return None
    if {first, second} & draft.verbs or not _retakable(subject, first):
        return None
    draft.verbs |= {first, second}
    return subject, _feeling(subject, first, False), _feeling(subject, second, True)


def _opposed_adjectives(draft: Draft) -> tuple[Subject, Phrase, Phrase] | None:
    """«Es largo, pero no es caro»."""
    subject = noun_subject(draft, DESCRIBABLE, "", DEFINITE)
    if subject is None or subject.groups:
        return None
    options = [pair for pair in OPPOSED_ADJECTIVES if all(_fits(draft, subject, x) for x in pair)]
    if not options:
        return None
    first, second = draft.pick(options)
    draft.pairs += [(subject.noun.key, first), (subject.noun.key, second)]
    no = _predicate(draft, subject, BY_KEY[second], True)
    return subject, _predicate(draft, subject, BY_KEY[first], False), no


def _fits(draft: Draft, subject: Subject, key: str) -> bool:
    """Dice si el adjetivo puede atribuirse al sujeto, sin usar parejas reservadas al entrenar."""
    reserved = is_held_out(subject.noun.key, key)
    options = adjectives_of(subject.kind, subject.noun.key, "copula", reserved)
    return BY_KEY[key] in options and (draft.unseen or not reserved)


def _contrast_of_subjects(draft: Draft) -> Unit | None:
    verb = draft.pick([v for v in VERBS if not v.objects or v.optional_object])
    if verb.key in draft.verbs:
        return None
    draft.verbs.add(verb.key)
    negated = draft.chance(0.5)
    first = noun_subject(draft, verb.subjects, verb.key, DEFINITE)
    pronoun = bool(verb.subjects & wordset(PEOPLE)) and draft.chance(0.35)
    second = (
        pronoun_subject(draft, True)
        if pronoun
        else noun_subject(draft, verb.subjects, verb.key, DEFINITE)
    )
    if first is None or second is None:
        return None
    phrase = first.phrase + _verb_phrase(verb, first.person, negated) + aligned(", pero", ", but")
    phrase = phrase + second.phrase + _verb_phrase(verb, second.person, not negated)
    return Unit(phrase, 2, True, False)
