"""Pares de frases español–inglés de una gramática pequeña, con respuesta única y partes reservadas.

La gramática cubre la concordancia de género y número, el adjetivo antes o después del nombre, el sujeto omitido,
la negación (con el auxiliar inglés *do*), la «a» personal, las contracciones, *a/an* y de una a cuatro oraciones.
Los nombres, adjetivos y verbos llevan sus compatibilidades, para que toda frase sea natural en los dos idiomas.
Cada frase española tiene una sola traducción: por eso la coincidencia exacta es una medida justa. Tres convenios
la aseguran: el plural sin sujeto es *they*, «los niños» son *children* y «los abuelos», *grandparents*.

Se reserva una parte de las parejas nombre–adjetivo (:func:`is_held_out`): con ``pairs="seen"`` ninguna sale, ni junto
al nombre ni tras «ser» o «estar»; con ``pairs="unseen"`` toda frase contiene al menos una. El número de oraciones
(verbos conjugados) se elige con ``clauses``: reservar una longitud es no pedirla al entrenar.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"
PAD_ID, BOS_ID, EOS_ID = 0, 1, 2
MAX_CLAUSES = 4
PERSONS = ("1s", "2s", "3s", "1p", "3p")

# --- Léxico -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Noun:
    """Un nombre: forma española e inglesa, en singular y plural; género, clase semántica y determinantes.

    ``key`` es el lema que comparten las dos formas de un nombre con moción (niño y niña).
    """

    key: str
    source: tuple[str, str]
    target: tuple[str, str]
    feminine: bool
    kind: str
    determiners: tuple[str, ...]
    mass: bool = False


@dataclass(frozen=True)
class Adjective:
    """Un adjetivo: cuatro formas españolas, la inglesa y, por clase de nombre, dónde puede ir.

    ``before`` y ``after`` son las clases de nombre que lo admiten antes o después; ``copula`` dice con qué verbo se
    atribuye («ser», «estar») o ``None``; ``group`` evita parejas contradictorias; ``clash`` son los verbos con los
    que un sujeto u objeto con este adjetivo sonaría raro.
    """

    key: str
    forms: tuple[str, str, str, str]
    target: str
    before: frozenset[str]
    after: frozenset[str]
    copula: str | None
    group: str
    clash: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Verb:
    """Un verbo en presente: cinco personas españolas, base y tercera persona inglesas, y con qué se combina."""

    key: str
    forms: tuple[str, str, str, str, str]
    base: str
    third: str
    subjects: frozenset[str]
    objects: tuple[str, ...] = ()
    personal: bool = False
    places: tuple[str, ...] = ()
    optional_object: bool = False


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ROLE = ("the", "a", "this")
_KIN = ("the", "my", "my", "our")
_PET = ("the", "a", "this", "my", "our")
_WILD = ("the", "a", "this")
_THING = ("the", "the", "a", "a", "this", "my")
_MASS = ("the", "", "", "this")
_PLACE = ("the",)


def _people() -> list[Noun]:
    rows = [
        ("niño", "niños", "boy", "children", "niña", "niñas", "girl", "girls", "child", _ROLE),
        ("médico", "médicos", "doctor", "doctors", "médica", "médicas", "doctor", "doctors", "worker", _ROLE),
        ("profesor", "profesores", "teacher", "teachers", "profesora", "profesoras", "teacher", "teachers", "worker",
         ("the", "a", "this", "my", "our")),
        ("pintor", "pintores", "painter", "painters", "pintora", "pintoras", "painter", "painters", "artist", _ROLE),
        ("escritor", "escritores", "writer", "writers", "escritora", "escritoras", "writer", "writers", "artist",
         _ROLE),
        ("cocinero", "cocineros", "cook", "cooks", "cocinera", "cocineras", "cook", "cooks", "worker", _ROLE),
        ("abuelo", "abuelos", "grandfather", "grandparents", "abuela", "abuelas", "grandmother", "grandmothers",
         "kin", _KIN),
        ("vecino", "vecinos", "neighbor", "neighbors", "vecina", "vecinas", "neighbor", "neighbors", "mate",
         ("the", "a", "my", "our")),
        ("amigo", "amigos", "friend", "friends", "amiga", "amigas", "friend", "friends", "mate", ("a", "my", "our")),
    ]
    nouns = []
    for es, es_p, en, en_p, fem, fem_p, en_f, en_fp, kind, determiners in rows:
        nouns.append(Noun(es, (es, es_p), (en, en_p), False, kind, determiners))
        nouns.append(Noun(es, (fem, fem_p), (en_f, en_fp), True, kind, determiners))
    return nouns


def _things() -> list[Noun]:
    table = """
    perro perros dog dogs m dog pet | gato gatos cat cats m cat pet | caballo caballos horse horses m horse pet
    vaca vacas cow cows f herd wild | oveja ovejas sheep sheep f herd wild | pájaro pájaros bird birds m bird wild
    manzana manzanas apple apples f fruit wild | naranja naranjas orange oranges f orange wild
    pan panes bread breads m bread mass | sopa sopas soup soups f soup mass | queso quesos cheese cheeses m cheese mass
    pescado pescados fish fish m fish mass | arroz arroces rice rices m rice mass
    agua aguas water waters f drink mass | leche leches milk milks f drink mass | café cafés coffee coffees m hot mass
    té tés tea teas m hot mass
    libro libros book books m book thing | novela novelas novel novels f story thing
    cuento cuentos story stories m tale thing | carta cartas letter letters f letter thing
    poema poemas poem poems m tale thing | canción canciones song songs f song thing
    camisa camisas shirt shirts f clothes thing | vestido vestidos dress dresses m dress thing
    sombrero sombreros hat hats m clothes thing | abrigo abrigos coat coats m clothes thing
    mesa mesas table tables f furniture thing | silla sillas chair chairs f furniture thing
    puerta puertas door doors f door wild | ventana ventanas window windows f door wild
    caja cajas box boxes f box thing | casa casas house houses f house thing
    jardín jardines garden gardens m in place | parque parques park parks m in place
    cocina cocinas kitchen kitchens f in place | plaza plazas square squares f in place
    biblioteca bibliotecas library libraries f in place | playa playas beach beaches f on place
    prado prados meadow meadows m in place
    """
    determiners = {"pet": _PET, "wild": _WILD, "thing": _THING, "mass": _MASS, "place": _PLACE}
    nouns = []
    for row in table.replace("\n", "|").split("|"):
        if row.strip():
            es, es_p, en, en_p, gender, kind, det = row.split()
            kind = es if det == "place" else kind
            nouns.append(Noun(es, (es, es_p), (en, en_p), gender == "f", kind, determiners[det], det == "mass"))
    return nouns


NOUNS: tuple[Noun, ...] = tuple(_people() + _things())

_PROFESSIONS = "worker artist"
_ADULTS = "worker artist kin mate"
_PEOPLE = "child worker artist kin mate"
_PETS = "dog cat horse"
_ANIMALS = "dog cat horse herd bird"
_CLOTHES = "clothes dress"
_FURNITURE = "furniture box"
_TEXTS = "book story tale letter"
_ENERGY = "correr bailar saltar nadar jugar trabajar volar reír cantar"


def _regular(stem: str) -> tuple[str, str, str, str]:
    return stem + "o", stem + "a", stem + "os", stem + "as"


def _same(word: str, plural: str) -> tuple[str, str, str, str]:
    return word, word, plural, plural


def _adjective(forms: tuple[str, str, str, str], target: str, before: str, after: str, copula: str | None, group: str,
               clash: str = "") -> Adjective:
    return Adjective(forms[0], forms, target, _set(before), _set(after), copula, group, _set(clash))


_COLORED = f"{_CLOTHES} {_FURNITURE} door house"
ADJECTIVES: tuple[Adjective, ...] = (
    _adjective(_regular("alt"), "tall", "", _PEOPLE, "ser", "height"),
    _adjective(_same("inteligente", "inteligentes"), "intelligent", "", f"{_PEOPLE} {_PETS}", "ser", "mind"),
    _adjective(_same("amable", "amables"), "kind", "", _PEOPLE, "ser", "character"),
    _adjective(_regular("famos"), "famous", "", "artist book story tale song", "ser", "fame", "escribir"),
    _adjective(_regular("cansad"), "tired", "", f"{_PEOPLE} {_PETS}", "estar", "mood", _ENERGY),
    _adjective(_regular("enferm"), "sick", "", f"{_PEOPLE} {_ANIMALS}", "estar", "mood", _ENERGY + " comer"),
    _adjective(_regular("content"), "happy", "", f"{_PEOPLE} dog", "estar", "mood", "llorar"),
    _adjective(_same("triste", "tristes"), "sad", "", f"{_PEOPLE} tale story song letter", "estar/ser", "mood",
              "bailar jugar"),
    _adjective(_regular("blanc"), "white", "", f"{_PETS} herd {_COLORED}", "ser", "color", "pintar"),
    _adjective(_regular("negr"), "black", "", f"{_PETS} herd bird {_COLORED}", "ser", "color", "pintar"),
    _adjective(_regular("roj"), "red", "", f"fruit {_COLORED}", "ser", "color", "pintar"),
    _adjective(_same("verde", "verdes"), "green", "", f"fruit bird {_COLORED}", "ser", "color", "pintar"),
    _adjective(_same("azul", "azules"), "blue", "", f"bird {_COLORED}", "ser", "color", "pintar"),
    _adjective(_regular("amarill"), "yellow", "", f"fruit bird {_COLORED}", "ser", "color", "pintar"),
    _adjective(_regular("rot"), "broken", "", "furniture box door", "estar", "state",
              "comprar pintar limpiar abrir cerrar vender"),
    _adjective(_regular("limpi"), "clean", "", f"{_CLOTHES} furniture door cocina plaza playa", "estar", "dirt",
              "limpiar lavar pintar comprar vender"),
    _adjective(_regular("suci"), "dirty", "", f"{_CLOTHES} furniture door cocina plaza", "estar", "dirt",
              "pintar comprar vender llevar"),
    _adjective(_regular("nuev"), "new", _PROFESSIONS + " mate", f"{_CLOTHES} {_FURNITURE} door house {_TEXTS} song",
              "ser", "age", "escribir"),
    _adjective(_regular("viej"), "old", "mate", f"{_CLOTHES} {_FURNITURE} door house book cocina plaza biblioteca",
              "ser", "age", "comprar"),
    _adjective(("joven", "joven", "jóvenes", "jóvenes"), "young", _PROFESSIONS, "mate", "ser", "age"),
    _adjective(_regular("larg"), "long", "", "book story tale letter song dress", "ser", "length"),
    _adjective(_regular("cort"), "short", "", "book story tale letter song dress", "ser", "length"),
    _adjective(_same("interesante", "interesantes"), "interesting", "", f"{_TEXTS} biblioteca", "ser", "interest"),
    _adjective(_regular("car"), "expensive", "", f"{_CLOTHES} {_FURNITURE} house cheese fish", "ser", "price"),
    _adjective(_regular("fresc"), "fresh", "", "fruit orange bread cheese fish", "estar", "fresh"),
    _adjective(_same("caliente", "calientes"), "hot", "", "drink hot soup bread rice", "estar", "heat", "cocinar"),
    _adjective(_regular("frí"), "cold", "", "drink hot soup rice", "estar", "heat", "cocinar comprar"),
    _adjective(_same("grande", "grandes"), "big", "",
              f"{_ANIMALS} furniture box door house fruit orange jardín parque plaza biblioteca cocina prado", "ser",
              "size"),
    _adjective(_regular("pequeñ"), "small", f"{_ANIMALS} house jardín parque plaza biblioteca",
              f"{_ANIMALS} furniture box door house fruit orange jardín parque cocina", "ser", "size"),
    _adjective(_regular("hermos"), "beautiful", "house jardín parque plaza playa prado horse",
              f"horse bird {_CLOTHES} song tale", "ser", "beauty"),
    _adjective(("gran", "gran", "grandes", "grandes"), "great", "artist story", "", None, "quality"),
    _adjective(("buen", "buena", "buenos", "buenas"), "good", "worker artist mate book story", "",
              None, "quality"),
)


def _conjugate(infinitive: str, stressed: str | None = None) -> tuple[str, str, str, str, str]:
    """Presente regular; ``stressed`` es la raíz con diptongo (la de «duermo»), para las personas acentuadas en ella."""
    stem, vowel = infinitive[:-2], infinitive[-2]
    strong = stressed or stem
    e = "a" if vowel == "a" else "e"
    return strong + "o", strong + e + "s", strong + e, f"{stem}{vowel}mos", strong + e + "n"


def _verb(infinitive: str, english: str, subjects: str, objects: str = "", *, third: str = "",
          forms: tuple[str, str, str, str, str] | None = None, stressed: str | None = None, personal: bool = False,
          places: tuple[str, ...] = (), optional: bool = False) -> Verb:
    first = english.split()[0]
    third = third or first + "s" + english[len(first):]
    return Verb(infinitive, forms or _conjugate(infinitive, stressed), english, third, _set(subjects),
                tuple(objects.split()), personal, places, optional)


_MAMMALS = f"{_PEOPLE} {_ANIMALS}".replace(" bird", "")
_OUTDOORS = ("jardín", "parque", "playa", "plaza", "prado")
_EDIBLE = "fruit orange bread soup cheese fish rice"
VERBS: tuple[Verb, ...] = (
    _verb("dormir", "sleep", _MAMMALS + " bird", stressed="duerm", places=("jardín", "playa", "parque", "prado")),
    _verb("correr", "run", f"child worker artist mate {_PETS}", places=_OUTDOORS),
    _verb("trabajar", "work", _ADULTS, places=("jardín", "biblioteca")),
    _verb("cantar", "sing", _PEOPLE, "song", places=_OUTDOORS + ("cocina",), optional=True),
    _verb("bailar", "dance", _PEOPLE, places=_OUTDOORS + ("cocina",)),
    _verb("llorar", "cry", "child worker artist mate", third="cries", places=("jardín", "parque", "cocina")),
    _verb("caminar", "walk", _MAMMALS, places=_OUTDOORS),
    _verb("descansar", "rest", _MAMMALS, places=("jardín", "parque", "playa", "prado")),
    _verb("jugar", "play", "child dog cat", stressed="jueg", places=_OUTDOORS),
    _verb("volar", "fly", "bird", third="flies", stressed="vuel"),
    _verb("comer", "eat", _MAMMALS + " bird", _EDIBLE,
          places=("jardín", "parque", "cocina", "prado"), optional=True),
    _verb("beber", "drink", f"{_PEOPLE} {_PETS} herd", "drink hot"),
    _verb("cocinar", "cook", _ADULTS, "soup fish rice"),
    _verb("leer", "read", _PEOPLE, _TEXTS, places=("jardín", "parque", "biblioteca", "playa"), optional=True),
    _verb("escribir", "write", "child worker artist mate", "story tale letter song", places=("biblioteca", "jardín"),
         optional=True),
    _verb("comprar", "buy", _ADULTS,
         "fruit orange bread cheese fish rice book story clothes dress furniture house box"),
    _verb("vender", "sell", _ADULTS, "fruit orange bread cheese fish book clothes dress furniture house"),
    _verb("llevar", "wear", _PEOPLE, "clothes"),
    _verb("lavar", "wash", _ADULTS, "clothes dress fruit", third="washes"),
    _verb("limpiar", "clean", _ADULTS, "furniture door house"),
    _verb("pintar", "paint", "kin mate artist", "furniture door house box"),
    _verb("abrir", "open", _PEOPLE, "door box letter book"),
    _verb("cerrar", "close", _PEOPLE, "door box book", stressed="cierr"),
    _verb("buscar", "look for", _PEOPLE, f"book letter clothes box {_PEOPLE} {_PETS}", personal=True),
    _verb("ver", "see", _PEOPLE, f"house {_PEOPLE} {_ANIMALS}", forms=("veo", "ves", "ve", "vemos", "ven"),
         personal=True),
    _verb("ayudar", "help", _PEOPLE, _PEOPLE, personal=True),
    _verb("saludar", "greet", _PEOPLE, _PEOPLE, personal=True),
)
_SER = ("soy", "eres", "es", "somos", "son")
_ESTAR = ("estoy", "estás", "está", "estamos", "están")
_TENER = ("tengo", "tienes", "tiene", "tenemos", "tienen")
_BE = ("am", "are", "is", "are", "are")
_FEELINGS = {"hambre": ("hungry",), "sed": ("thirsty",), "sueño": ("sleepy",), "frío": ("cold",), "calor": ("hot",),
             "miedo": ("afraid",), "prisa": ("in", "a", "hurry")}
_PRONOUNS = {"1s": ("yo", "I"), "2s": ("tú", "you"), "1p": ("nosotros", "we"), "3p": ("ellos", "they")}
# Causa natural de cada acción: (verbo, negado, causa, causa negada). La causa es una sensación o un adjetivo.
_CAUSES = (
    ("comer", False, "hambre", False), ("comer", True, "hambre", True), ("beber", False, "sed", False),
    ("beber", True, "sed", True), ("dormir", False, "sueño", False), ("dormir", True, "sueño", True),
    ("descansar", False, "cansado", False), ("dormir", False, "cansado", False), ("trabajar", True, "enfermo", False),
    ("trabajar", True, "cansado", False), ("correr", False, "prisa", False), ("correr", False, "miedo", False),
    ("correr", True, "cansado", False), ("correr", True, "prisa", True), ("bailar", True, "cansado", False),
    ("bailar", True, "enfermo", False), ("cantar", True, "enfermo", False), ("comer", True, "enfermo", False),
    ("llorar", False, "miedo", False), ("llorar", False, "hambre", False), ("jugar", True, "cansado", False),
    ("jugar", True, "enfermo", False), ("caminar", True, "cansado", False), ("abrir", False, "calor", False),
    ("cerrar", False, "frío", False), ("cerrar", False, "miedo", False),
)

# --- Reserva de parejas -----------------------------------------------------------------------------------------


@cache
def pairs() -> tuple[tuple[str, str], ...]:
    """Todas las parejas (nombre, adjetivo) que la gramática admite, en orden fijo."""
    found = {(n.key, a.key): None for n in NOUNS for a in ADJECTIVES if n.kind in a.before | a.after}
    return tuple(found)


@cache
def held_out_pairs() -> frozenset[tuple[str, str]]:
    """Las parejas reservadas: más o menos una de cada seis, en diagonales, para que ninguna palabra falte al entrenar."""
    order = {adjective.key: i for i, adjective in enumerate(ADJECTIVES)}
    nouns = {key: i for i, key in enumerate(dict.fromkeys(noun.key for noun in NOUNS))}
    return frozenset((n, a) for n, a in pairs() if (nouns[n] + order[a]) % 6 == 0)


def is_held_out(noun: str, adjective: str) -> bool:
    """``True`` si la pareja de lemas (nombre y adjetivo en masculino singular) está reservada para evaluar."""
    return (noun, adjective) in held_out_pairs()


# --- Sintagmas --------------------------------------------------------------------------------------------------


@dataclass
class Phrase:
    """Trozo de frase en los dos idiomas; ``links[t]`` es la posición de origen de la palabra inglesa ``t`` (o −1)."""

    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    links: list[int] = field(default_factory=list)
    inversions: list[tuple[int, int]] = field(default_factory=list)

    def __add__(self, other: Phrase) -> Phrase:
        n, m = len(self.source), len(self.target)
        return Phrase(self.source + other.source, self.target + other.target,
                      self.links + [k + n if k >= 0 else -1 for k in other.links],
                      self.inversions + [(a + m, b + m) for a, b in other.inversions])


def _pair(source: str, target: str) -> Phrase:
    """Palabras que se corresponden una a una y en el mismo orden."""
    words, other = source.split(), target.split()
    return Phrase(words, other, list(range(len(other))))


_DETERMINERS = {
    "the": (("el", "la", "los", "las"), ("the", "the")), "a": (("un", "una", "unos", "unas"), ("a", "some")),
    "this": (("este", "esta", "estos", "estas"), ("this", "these")), "my": (("mi", "mi", "mis", "mis"), ("my", "my")),
    "our": (("nuestro", "nuestra", "nuestros", "nuestras"), ("our", "our")),
}


@dataclass
class _Draft:
    """Lo que ya se ha usado al componer una frase: nada se repite, y cada pareja nombre–adjetivo se anota."""

    rng: random.Random
    unseen: bool
    nouns: set[str] = field(default_factory=set)
    verbs: set[str] = field(default_factory=set)
    subjects: set[str] = field(default_factory=set)
    pairs: list[tuple[str, str]] = field(default_factory=list)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability


@cache
def _adjectives_of(kind: str, key: str, where: str, unseen: bool) -> tuple[Adjective, ...]:
    """Adjetivos admitidos por un nombre en un sitio («before», «after», «copula»), vistos o reservados."""
    def fits(adjective: Adjective) -> bool:
        if where == "copula":
            strange = adjective.key == "nuevo" and kind in _PEOPLE.split()
            return adjective.copula is not None and not strange and kind in adjective.before | adjective.after
        return kind in getattr(adjective, where) and kind != "kin"
    return tuple(a for a in ADJECTIVES if fits(a) and is_held_out(key, a.key) == unseen)


def _choose_adjective(draft: _Draft, noun: Noun, where: str, *, verb: str = "", only: str = "",
                      singular: bool = True) -> Adjective | None:
    """Un adjetivo que no choque con el verbo (y del grupo ``only``); prefiere los reservados si se piden.

    «Gran» solo se usa en singular: en plural se confundiría con «grande» (*great*, *big*).
    """
    for unseen in ((True, False) if draft.unseen else (False,)):
        options = [a for a in _adjectives_of(noun.kind, noun.key, where, unseen)
                   if verb not in a.clash and only in ("", a.group) and (singular or a.key != "gran")]
        if options:
            adjective = draft.pick(options)
            draft.pairs.append((noun.key, adjective.key))
            return adjective
    return None


def _agree(adjective: Adjective, feminine: bool, plural: bool) -> str:
    return adjective.forms[feminine + 2 * plural]


def _modifiers(draft: _Draft, noun: Noun, plural: bool, verb: str) -> tuple[Adjective | None, Adjective | None]:
    """Un adjetivo delante o detrás; dos solo en el orden que el inglés conserva («pequeño perro negro»)."""
    if draft.chance(0.25):
        before = _choose_adjective(draft, noun, "before", verb=verb, singular=not plural)
        if before and before.key in ("pequeño", "hermoso") and draft.chance(0.5):
            return before, _choose_adjective(draft, noun, "after", verb=verb, only="color")
        if before:
            return before, None
    return None, _choose_adjective(draft, noun, "after", verb=verb)


def _noun_phrase(draft: _Draft, noun: Noun, plural: bool, determiner: str, *, verb: str = "", personal: bool = False,
                 adjectives: float = 0.5) -> tuple[Phrase, set[str]]:
    """Determinante, nombre y a veces adjetivo; devuelve también los grupos de los adjetivos elegidos."""
    before = after = None
    if draft.chance(adjectives):
        before, after = _modifiers(draft, noun, plural, verb)
    source, target, links, inversions = [], [], [], []
    word = ""
    if determiner:
        forms, english = _DETERMINERS[determiner]
        feminine = noun.feminine and not (noun.key == "agua" and determiner == "the")
        form, word = forms[feminine + 2 * plural], english[plural]
        source += ["al"] if personal and form == "el" else ["a", form] if personal else [form]
    elif personal:
        source.append("a")
    place = len(source) - 1
    if before:
        source.append(_agree(before, noun.feminine, plural))
    source.append(noun.source[plural])
    head = len(source) - 1
    if after:
        source.append(_agree(after, noun.feminine, plural))
    body = ([(before.target, head - 1)] if before else []) + ([(after.target, head + 1)] if after else [])
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
class _Subject:
    """Un sujeto: su sintagma (vacío en español si se omite), persona, género y el pronombre inglés que lo retoma."""

    phrase: Phrase
    person: str
    feminine: bool
    pronoun: str
    kind: str
    noun: Noun | None = None
    groups: set[str] = field(default_factory=set)

    @property
    def plural(self) -> bool:
        return self.person.endswith("p")


def _pronoun_subject(draft: _Draft, explicit: bool = False) -> _Subject | None:
    alone = not draft.nouns and not draft.subjects
    person = draft.pick(("1s", "1s", "2s", "1p", "1p") + (("3p", "3p", "3s") if alone else ()))
    feminine = draft.chance(0.5)
    if person == "3s":
        source, english, explicit = ("ella", "she", True) if feminine else ("él", "he", True)
    else:
        source, english = _PRONOUNS[person]
        source = source[:-2] + ("as" if feminine else "os") if person.endswith("p") else source
    if english in draft.subjects:
        return None
    draft.subjects.add(english)
    phrase = _pair(source, english) if explicit else Phrase([], [english], [-1])
    return _Subject(phrase, person, feminine, english, "pronoun")


def _noun_subject(draft: _Draft, kinds: frozenset[str], verb: str, determiners: Sequence[str] = ()) -> _Subject | None:
    options = [n for n in _nouns_of(kinds) if n.key not in draft.nouns]
    if not options:
        return None
    noun = draft.pick(options)
    allowed = [d for d in noun.determiners if d and (not determiners or d in determiners)]
    if not allowed:
        return None
    draft.nouns.add(noun.key)
    plural = not noun.mass and draft.chance(0.4)
    phrase, groups = _noun_phrase(draft, noun, plural, draft.pick(allowed), verb=verb, adjectives=0.45)
    person_like = noun.kind in _PEOPLE.split()
    pronoun = "they" if plural else ("she" if noun.feminine else "he") if person_like else "it"
    return _Subject(phrase, "3p" if plural else "3s", noun.feminine, pronoun, noun.kind, noun, groups)


@cache
def _nouns_of(kinds: frozenset[str]) -> tuple[Noun, ...]:
    return tuple(n for n in NOUNS if n.kind in kinds)


# --- Oraciones --------------------------------------------------------------------------------------------------


def _verb_phrase(verb: Verb, person: str, negated: bool) -> Phrase:
    """El verbo conjugado, con «no» y el auxiliar *do* si se niega."""
    form = verb.forms[PERSONS.index(person)]
    if negated:
        base = verb.base.split()
        auxiliary = "does" if person == "3s" else "do"
        return Phrase(["no", form], [auxiliary, "not", *base], [0, 0] + [1] * len(base))
    words = (verb.third if person == "3s" else verb.base).split()
    return Phrase([form], words, [0] * len(words))


def _object_kinds(verb: Verb, subject: _Subject, cause: str = "") -> frozenset[str]:
    """Clases de objeto que le van a un verbo con este sujeto y, si la hay, esta causa."""
    kinds = set(verb.objects)
    if cause and verb.key in ("abrir", "cerrar"):
        kinds = {"door"}
    if verb.key == "beber" and (cause or subject.kind in ("child", "dog", "cat", "horse", "herd")):
        kinds = {"drink"}
    if subject.kind == "child":
        kinds -= {"story"} if verb.key == "escribir" else set()
    return frozenset(kinds)


def _object_phrase(draft: _Draft, verb: Verb, subject: _Subject, negated: bool, cause: str = "") -> Phrase | None:
    animal = subject.kind in _ANIMALS.split()
    options = [n for n in _nouns_of(_object_kinds(verb, subject, cause)) if n.key not in draft.nouns]
    options = [n for n in options if n.key == "agua"] if animal else options
    if not options:
        return None
    noun = draft.pick(options)
    draft.nouns.add(noun.key)
    alive = noun.kind in (_PEOPLE + " " + _ANIMALS).split()
    trade = verb.key in ("comprar", "vender") and noun.kind in ("fruit", "orange")
    plural = not noun.mass and (trade or draft.chance(0.4))
    plural = subject.plural if verb.key == "llevar" else plural
    determiner = draft.pick([d for d in noun.determiners if not (d == "a" and (negated or alive)) and not (
        d == "my" and verb.key in ("escribir", "llevar"))])
    if plural and not alive and verb.key in _BARE and draft.chance(0.4):
        determiner = ""
    personal = verb.personal and alive
    adjectives = 0.0 if animal else 0.6
    return _noun_phrase(draft, noun, plural, determiner, verb=verb.key, personal=personal, adjectives=adjectives)[0]


_BARE = _set("comer comprar vender leer escribir cantar llevar pintar buscar")
_ANIMAL_PLACES = {"herd": _set("prado"), "horse": _set("prado"), "bird": _set("jardín parque prado"),
                  "dog": _set("jardín parque playa cocina plaza"), "cat": _set("jardín cocina")}


def _place_phrase(draft: _Draft, verb: Verb, subject: _Subject) -> Phrase | None:
    places = frozenset(verb.places) & _ANIMAL_PLACES.get(subject.kind, frozenset(verb.places))
    options = [n for n in _nouns_of(places) if n.key not in draft.nouns]
    if not options:
        return None
    noun = draft.pick(options)
    draft.nouns.add(noun.key)
    phrase, _ = _noun_phrase(draft, noun, False, "the", adjectives=0.3)
    return _pair("en", "on" if noun.key == "playa" else "in") + phrase


@dataclass
class _Unit:
    """Una oración, o dos unidas por «porque»."""

    phrase: Phrase
    clauses: int
    negated: bool
    action: bool


def _subject_for(draft: _Draft, verb: Verb, negated: bool) -> _Subject | None:
    if verb.subjects & _set(_PEOPLE) and draft.chance(0.28):
        return _pronoun_subject(draft, explicit=draft.chance(0.25))
    return _noun_subject(draft, verb.subjects, verb.key, _DEFINITE if negated else ())


def _action(draft: _Draft, negated: bool | None = None) -> _Unit | None:
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
    if verb.optional_object and (subject.kind in _ANIMALS.split() or draft.chance(0.2)):
        with_object = False
    if with_object:
        complement = _object_phrase(draft, verb, subject, negated)
        if complement is None:
            return None
        phrase = phrase + complement
    if verb.places and draft.chance(0.15 if with_object else 0.45):
        complement = _place_phrase(draft, verb, subject)
        phrase = phrase + complement if complement else phrase
    return _Unit(phrase, 1, negated, True)


def _be(form: str, english: str, person: str, negated: bool, complement: Phrase) -> Phrase:
    """«(no) ser/estar/tener» + complemento; en inglés siempre *be*."""
    be = _BE[PERSONS.index(person)]
    head = Phrase(["no", form], [be, "not"], [1, 0]) if negated else Phrase([form], [be], [0])
    return head + complement


def _predicate(draft: _Draft, subject: _Subject, adjective: Adjective, negated: bool) -> Phrase:
    people = _PEOPLE.split() + ["pronoun"]
    copula = adjective.copula
    if copula == "estar/ser":
        copula = "estar" if subject.kind in people else "ser"
    form = (_SER if copula == "ser" else _ESTAR)[PERSONS.index(subject.person)]
    word = _agree(adjective, subject.feminine, subject.plural)
    return _be(form, adjective.target, subject.person, negated, _pair(word, adjective.target))


def _feeling(subject: _Subject, feeling: str, negated: bool) -> Phrase:
    words = list(_FEELINGS[feeling])
    form = _TENER[PERSONS.index(subject.person)]
    return _be(form, "", subject.person, negated, Phrase([feeling], words, [0] * len(words)))


_MOODS = tuple(a for a in ADJECTIVES if a.key in ("cansado", "enfermo", "contento", "triste"))
_BY_KEY = {a.key: a for a in ADJECTIVES}
_DESCRIBABLE = frozenset(n.kind for n in NOUNS)


def _description(draft: _Draft) -> _Unit | None:
    """«La casa es blanca», «estamos cansadas», «el niño tiene sed»."""
    negated = draft.chance(0.2)
    if draft.chance(0.3):
        subject = _pronoun_subject(draft, draft.chance(0.2)) if draft.chance(0.5) else _noun_subject(
            draft, _set(_PEOPLE), "", _DEFINITE)
        if subject is None or "mood" in subject.groups:
            return None
        feeling = draft.pick(tuple(_FEELINGS))
        if subject.noun is None and draft.chance(0.5):
            return _Unit(subject.phrase + _predicate(draft, subject, draft.pick(_MOODS), negated), 1, negated, False)
        if feeling in draft.verbs:
            return None
        draft.verbs.add(feeling)
        return _Unit(subject.phrase + _feeling(subject, feeling, negated), 1, negated, False)
    subject = _noun_subject(draft, _DESCRIBABLE, "", _DEFINITE)
    if subject is None:
        return None
    adjective = _choose_adjective(draft, subject.noun, "copula")
    if adjective is None or adjective.group in subject.groups or subject.groups & {"mood", "heat", "quality"}:
        return None
    return _Unit(subject.phrase + _predicate(draft, subject, adjective, negated), 1, negated, False)


def _because(draft: _Draft) -> _Unit | None:
    """Una acción y su causa, con el sujeto de la causa omitido: «la niña llora porque tiene miedo»."""
    key, negated, cause, cause_negated = draft.pick(_CAUSES)
    verb = _VERB_BY_KEY[key]
    if key in draft.verbs or cause in draft.verbs:
        return None
    draft.verbs |= {key, cause}
    kinds = verb.subjects & _set(_PEOPLE if cause in ("prisa", "calor") or verb.objects else f"{_PEOPLE} {_PETS}")
    person = draft.chance(0.3)
    determiners = _DEFINITE if negated else ()
    subject = _pronoun_subject(draft) if person else _noun_subject(draft, kinds, key, determiners)
    if subject is None or "mood" in subject.groups or not _retakable(subject, cause):
        return None
    phrase = subject.phrase + _verb_phrase(verb, subject.person, negated)
    if verb.objects and not (verb.optional_object and (negated or draft.chance(0.3))):
        complement = _object_phrase(draft, verb, subject, negated, cause)
        if complement is None:
            return None
        phrase = phrase + complement
    phrase = phrase + _pair("porque", "because") + Phrase([], [subject.pronoun], [-1])
    if cause in _FEELINGS:
        phrase = phrase + _feeling(subject, cause, cause_negated)
    else:
        if subject.noun is not None:
            if is_held_out(subject.noun.key, cause) and not draft.unseen:
                return None
            draft.pairs.append((subject.noun.key, cause))
        phrase = phrase + _predicate(draft, subject, _BY_KEY[cause], cause_negated)
    return _Unit(phrase, 2, negated, False)


def _retakable(subject: _Subject, predicate: str) -> bool:
    """Si el segundo predicado basta para traducir el sujeto omitido: «está cansada» es *she*; «tiene sed», *it*."""
    if subject.person != "3s":
        return True
    person = subject.kind in _PEOPLE.split() + ["pronoun"]
    return person != (predicate in _FEELINGS)


def _contrast(draft: _Draft) -> _Unit | None:
    """Dos oraciones opuestas: «la niña canta, pero nosotros no cantamos», «el libro es largo, pero no es caro»."""
    if draft.chance(0.5):
        return _contrast_of_subjects(draft)
    if draft.chance(0.5):
        subject = _pronoun_subject(draft) if draft.chance(0.4) else _noun_subject(draft, _set(_PEOPLE), "", _DEFINITE)
        first, second = draft.pick(_OPPOSED_FEELINGS)
        if subject is None or "mood" in subject.groups or {first, second} & draft.verbs or not _retakable(subject, first):
            return None
        draft.verbs |= {first, second}
        halves = _feeling(subject, first, False), _feeling(subject, second, True)
    else:
        subject = _noun_subject(draft, _DESCRIBABLE, "", _DEFINITE)
        if subject is None or subject.groups:
            return None
        options = [(a, b) for a, b in _OPPOSED_ADJECTIVES
                   if all(_BY_KEY[x] in _adjectives_of(subject.kind, subject.noun.key, "copula", is_held_out(
                       subject.noun.key, x)) for x in (a, b))]
        options = [pair for pair in options
                   if draft.unseen or not any(is_held_out(subject.noun.key, x) for x in pair)]
        if not options:
            return None
        keys = draft.pick(options)
        draft.pairs += [(subject.noun.key, key) for key in keys]
        halves = tuple(_predicate(draft, subject, _BY_KEY[k], i == 1) for i, k in enumerate(keys))
    link = _pair(", pero", ", but") + Phrase([], [subject.pronoun], [-1])
    return _Unit(subject.phrase + halves[0] + link + halves[1], 2, True, False)


def _contrast_of_subjects(draft: _Draft) -> _Unit | None:
    verb = draft.pick([v for v in VERBS if not v.objects or v.optional_object])
    if verb.key in draft.verbs:
        return None
    draft.verbs.add(verb.key)
    negated = draft.chance(0.5)
    first = _noun_subject(draft, verb.subjects, verb.key, _DEFINITE)
    pronoun = bool(verb.subjects & _set(_PEOPLE)) and draft.chance(0.35)
    second = _pronoun_subject(draft, True) if pronoun else _noun_subject(draft, verb.subjects, verb.key, _DEFINITE)
    if first is None or second is None:
        return None
    phrase = first.phrase + _verb_phrase(verb, first.person, negated) + _pair(", pero", ", but")
    phrase = phrase + second.phrase + _verb_phrase(verb, second.person, not negated)
    return _Unit(phrase, 2, True, False)


_VERB_BY_KEY = {v.key: v for v in VERBS}
_DEFINITE = ("the", "this", "my", "our")
_OPPOSED_FEELINGS = (("hambre", "sed"), ("sed", "hambre"), ("sueño", "hambre"), ("frío", "hambre"), ("frío", "miedo"),
                     ("sueño", "frío"), ("calor", "sed"), ("hambre", "sueño"))
_OPPOSED_ADJECTIVES = (("grande", "caro"), ("nuevo", "caro"), ("hermoso", "caro"), ("largo", "interesante"),
                       ("corto", "interesante"), ("famoso", "interesante"), ("viejo", "sucio"), ("viejo", "roto"),
                       ("pequeño", "caro"), ("inteligente", "alto"), ("viejo", "interesante"))

# --- Frases -----------------------------------------------------------------------------------------------------


def _join(draft: _Draft, units: list[_Unit]) -> Phrase:
    """Une las oraciones con comas, «y» o «mientras»."""
    first, last = units[0], units[-1]
    if first is last:
        return first.phrase
    together = units[-2].action and last.action and not last.negated and draft.chance(0.5)
    links = [_pair(",", ",")] * (len(units) - 3) + [_pair("y", "and")] * (len(units) > 2)
    links = links + [_pair("mientras", "while")] if together else [_pair(",", ",")] * (len(units) - 2) + [_pair("y", "and")]
    phrase = first.phrase
    for link, unit in zip(links, units[1:], strict=True):
        phrase = phrase + link + unit.phrase
    return phrase


@dataclass(frozen=True)
class Example:
    """Una frase y su traducción, en palabras; ``alignment[t]`` es la palabra española de la inglesa ``t`` (−1: ninguna).

    ``inversions`` lista las parejas (adjetivo, nombre) de posiciones inglesas cuyo orden es el contrario en español;
    ``pairs``, los lemas nombre–adjetivo; ``clauses``, el número de verbos conjugados.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[int, ...]
    inversions: tuple[tuple[int, int], ...]
    pairs: tuple[tuple[str, str], ...]
    clauses: int

    def __str__(self) -> str:
        return f"{detokenize(self.source)} → {detokenize(self.target)}"


def detokenize(words: Iterable[str]) -> str:
    """Texto corrido con mayúscula inicial y la puntuación pegada a la palabra anterior."""
    text = " ".join(words).replace(" ,", ",").replace(" .", ".")
    return text[:1].upper() + text[1:]


def _attempt(rng: random.Random, clauses: int, unseen: bool) -> Example | None:
    draft = _Draft(rng, unseen)
    units: list[_Unit] = []
    left = clauses
    actions = draft.chance(0.7)
    while left:
        if left >= 2 and draft.chance(0.25):
            unit = _because(draft) if actions or left > 2 else _contrast(draft)
        else:
            unit = _action(draft) if actions else _description(draft)
        if unit is None:
            return None
        units.append(unit)
        left -= unit.clauses
    if unseen and not any(is_held_out(*pair) for pair in draft.pairs):
        return None
    phrase = _join(draft, units) + _pair(".", ".")
    return Example(tuple(phrase.source), tuple(phrase.target), tuple(phrase.links), tuple(phrase.inversions),
                   tuple(draft.pairs), clauses)


def _python_rng(rng: torch.Generator | int) -> random.Random:
    """Un generador de Python sembrado con un entero sacado de ``rng``: componer frases con él es mucho más rápido."""
    if isinstance(rng, int) and not isinstance(rng, bool):
        return random.Random(rng)
    if isinstance(rng, torch.Generator):
        return random.Random(int(torch.randint(2**62, (), generator=rng, device=rng.device)))
    raise TypeError(f"rng debe ser un torch.Generator o un entero; llegó {type(rng).__name__}")


def _check_request(n: int, clauses: int | Sequence[int], split: str) -> tuple[int, ...]:
    if not isinstance(n, int) or n < 0:
        raise ValueError(f"n debe ser un entero no negativo; llegó {n!r}")
    choices = (clauses,) if isinstance(clauses, int) else tuple(clauses)
    if not choices or not all(isinstance(c, int) and 1 <= c <= MAX_CLAUSES for c in choices):
        raise ValueError(f"clauses debe contener enteros de 1 a {MAX_CLAUSES}; llegó {clauses!r}")
    if split not in ("seen", "unseen"):
        raise ValueError(f"pairs debe ser «seen» o «unseen»; llegó {split!r}")
    return choices


def generate(n: int, rng: torch.Generator | int, *, clauses: int | Sequence[int] = (1, 2, 3, 4),
             pairs: str = "seen") -> list[Example]:
    """Genera ``n`` ejemplos; con la misma semilla, los mismos.

    ``clauses`` es el número de oraciones o las opciones entre las que se sortea (de 1 a 4). ``pairs="seen"`` no usa
    ninguna pareja nombre–adjetivo reservada; ``pairs="unseen"`` pone al menos una en cada frase.

    ValueError si ``n``, ``clauses`` o ``pairs`` no valen; TypeError si ``rng`` no es un generador ni un entero.
    """
    choices, source = _check_request(n, clauses, pairs), _python_rng(rng)
    examples = []
    while len(examples) < n:
        wanted = choices[int(source.random() * len(choices))]
        example = None
        while example is None:
            example = _attempt(source, wanted, pairs == "unseen")
        examples.append(example)
    return examples


# --- Vocabularios y lotes ---------------------------------------------------------------------------------------


class Vocabulary:
    """Vocabulario cerrado: palabras ↔ números. Los tres primeros son relleno, comienzo y fin."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = (PAD, BOS, EOS, *sorted(set(words)))
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str] | str) -> list[int]:
        """Números de las palabras. ValueError si alguna no está en el vocabulario."""
        words = words.split() if isinstance(words, str) else words
        unknown = [word for word in words if word not in self._ids]
        if unknown:
            raise ValueError(f"palabras que no están en el vocabulario: {', '.join(map(repr, unknown))}")
        return [self._ids[word] for word in words]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Palabras de unos números, hasta el primer fin de frase y sin relleno ni comienzo."""
        words = []
        for i in ids:
            if int(i) == EOS_ID:
                break
            if int(i) not in (PAD_ID, BOS_ID):
                words.append(self.words[int(i)])
        return words


def _closed_class() -> tuple[list[str], list[str]]:
    source = "no a al en y mientras porque pero , . el la los las un una unos unas este esta estos estas".split()
    source += "mi mis nuestro nuestra nuestros nuestras yo tú él ella nosotros nosotras ellos ellas".split()
    source += [*_SER, *_ESTAR, *_TENER, *_FEELINGS]
    target = "not do does in on and while because but , . the a an some this these my our".split()
    target += "I you he she it we they am is are".split() + [w for words in _FEELINGS.values() for w in words]
    return source, target


@cache
def vocabularies() -> tuple[Vocabulary, Vocabulary]:
    """Los dos vocabularios cerrados (español, inglés) de la gramática entera."""
    source, target = _closed_class()
    for noun in NOUNS:
        source += noun.source
        target += noun.target
    for adjective in ADJECTIVES:
        source += adjective.forms
        target.append(adjective.target)
    for verb in VERBS:
        source += verb.forms
        target += verb.base.split() + verb.third.split()
    return Vocabulary(source), Vocabulary(target)


class Batch(NamedTuple):
    """Un lote de números, con relleno 0 al final: ``source`` (batch, source) acaba en fin; ``target`` (batch, target)
    empieza en comienzo y acaba en fin."""

    source: Tensor
    target: Tensor

    @property
    def inputs(self) -> Int[Tensor, "batch target"]:
        """Lo que recibe el decodificador: ``target`` sin su última columna."""
        return self.target[:, :-1]

    @property
    def labels(self) -> Int[Tensor, "batch target"]:
        """Lo que debe predecir: ``target`` sin su primera columna."""
        return self.target[:, 1:]

    def to(self, device: torch.device | str) -> Batch:
        """El mismo lote en otro dispositivo."""
        return Batch(self.source.to(device), self.target.to(device))


def _pad(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [PAD_ID] * (width - len(row)) for row in rows])


def batch(examples: Sequence[Example]) -> Batch:
    """Convierte ejemplos en un :class:`Batch`. ValueError si no hay ninguno."""
    if not examples:
        raise ValueError("examples está vacío: hace falta al menos un ejemplo para formar un lote")
    source, target = vocabularies()
    return Batch(_pad([[*source.encode(e.source), EOS_ID] for e in examples]),
                 _pad([[BOS_ID, *target.encode(e.target), EOS_ID] for e in examples]))


def batches(n: int, size: int, rng: torch.Generator | int, *, clauses: Sequence[int] = (1, 2, 3, 4),
            pairs: str = "seen") -> list[Batch]:
    """``n`` lotes de ``size`` ejemplos; cada lote tiene un solo número de oraciones, para gastar poco relleno.

    Los números de oraciones se turnan en el orden dado. Errores: los de :func:`generate`, y ValueError si ``size`` < 1.
    """
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"size debe ser un entero positivo; llegó {size!r}")
    choices, source = _check_request(n, clauses, pairs), _python_rng(rng)
    return [batch(generate(size, source.getrandbits(60), clauses=choices[i % len(choices)], pairs=pairs))
            for i in range(n)]


# --- Puntuación -------------------------------------------------------------------------------------------------


def translate(model: Any, examples: Sequence[Example], *, batch_size: int = 256,
              device: torch.device | str = "cpu") -> list[list[str]]:
    """Traduce los ejemplos y devuelve, de cada uno, las palabras inglesas.

    ``model`` tiene un método ``translate(source)`` o es una función: de números (batch, source) a (batch, target).
    """
    function: Callable[[Tensor], Tensor] = getattr(model, "translate", model)
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].source))
    outputs: list[list[str]] = [[] for _ in examples]
    target = vocabularies()[1]
    for start in range(0, len(order), batch_size):
        chosen = order[start:start + batch_size]
        ids = function(batch([examples[i] for i in chosen]).source.to(device))
        for i, row in zip(chosen, ids.tolist(), strict=True):
            outputs[i] = target.decode(row)
    return outputs


def score(model: Any, examples: Sequence[Example], *, batch_size: int = 256,
          device: torch.device | str = "cpu") -> dict[str, float]:
    """Puntúa las traducciones de ``model``: ``exact`` (proporción de frases idénticas) y ``bleu`` (0–100, sacrebleu).

    ``model`` es lo que acepta :func:`translate`. ValueError si no hay ejemplos. Fuente de BLEU: Papineni et al. (2002),
    con la receta de Post (2018): una referencia, tokens «13a», del texto corrido de :func:`detokenize`.
    """
    if not examples:
        raise ValueError("examples está vacío: no hay nada que puntuar")
    from sacrebleu.metrics import BLEU

    outputs = translate(model, examples, batch_size=batch_size, device=device)
    exact = sum(tuple(words) == e.target for words, e in zip(outputs, examples, strict=True)) / len(examples)
    references = [[detokenize(e.target) for e in examples]]
    bleu = BLEU(tokenize="13a").corpus_score([detokenize(words) for words in outputs], references).score
    return {"exact": exact, "bleu": bleu, "n": len(examples)}


def inversion_hits(weights: Float[Tensor, "batch target source"], examples: Sequence[Example]) -> tuple[int, int]:
    """Parejas adjetivo–nombre invertidas cuyos dos mayores pesos caen en su palabra de origen: (aciertos, total).

    ``weights``: (batch, target, source), con la fila ``t`` la que produjo la palabra inglesa ``t`` del ejemplo.
    """
    best = weights.argmax(-1).tolist()
    hits = total = 0
    for row, example in zip(best, examples, strict=True):
        for pair in example.inversions:
            total += 1
            hits += all(row[t] == example.alignment[t] for t in pair)
    return hits, total
