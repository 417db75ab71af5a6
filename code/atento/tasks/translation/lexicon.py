"""El léxico de la gramática: nombres, adjetivos y verbos, con qué se combina cada uno y qué se
reserva.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

PERSONS = ("1s", "2s", "3s", "1p", "3p")


@dataclass(frozen=True)
class Noun:
    """Un nombre: forma española e inglesa, en singular y plural; género, clase semántica y
    determinantes.

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

    ``before`` y ``after`` son las clases de nombre que lo admiten antes o después; ``copula`` dice
    con qué verbo se atribuye («ser», «estar») o ``None``; ``group`` evita parejas contradictorias;
    ``clash`` son los verbos con los que un sujeto u objeto con este adjetivo sonaría raro.
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
    """Un verbo en presente: cinco personas españolas, base y tercera persona inglesas, y con qué se
    combina.
    """

    key: str
    forms: tuple[str, str, str, str, str]
    base: str
    third: str
    subjects: frozenset[str]
    objects: tuple[str, ...] = ()
    personal: bool = False
    places: tuple[str, ...] = ()
    optional_object: bool = False


def wordset(words: str) -> frozenset[str]:
    """El conjunto de unas palabras separadas por espacios."""
    return frozenset(words.split())


_PET = ("the", "a", "this", "my", "our")
_WILD = ("the", "a", "this")
_THING = ("the", "the", "a", "a", "this", "my")
_MASS = ("the", "", "", "this")
_PLACE = ("the",)


_DETERMINERS_OF = {"any": ("the", "a", "this", "my", "our"), "kin": ("the", "my", "my", "our")}


def _people() -> list[Noun]:
    table = """
    niño niños boy children niña niñas girl girls child the,a,this
    médico médicos doctor doctors médica médicas doctor doctors worker the,a,this
    profesor profesores teacher teachers profesora profesoras teacher teachers worker any
    pintor pintores painter painters pintora pintoras painter painters artist the,a,this
    escritor escritores writer writers escritora escritoras writer writers artist the,a,this
    cocinero cocineros cook cooks cocinera cocineras cook cooks worker the,a,this
    abuelo abuelos grandfather grandparents abuela abuelas grandmother grandmothers kin kin
    vecino vecinos neighbor neighbors vecina vecinas neighbor neighbors mate the,a,my,our
    amigo amigos friend friends amiga amigas friend friends mate a,my,our
    """
    nouns = []
    for row in table.strip().splitlines():
        es, es_p, en, en_p, fem, fem_p, en_f, en_fp, kind, articles = row.split()
        determiners = _DETERMINERS_OF.get(articles) or tuple(articles.split(","))
        nouns.append(Noun(es, (es, es_p), (en, en_p), False, kind, determiners))
        nouns.append(Noun(es, (fem, fem_p), (en_f, en_fp), True, kind, determiners))
    return nouns


def _things() -> list[Noun]:
    table = """
    perro perros dog dogs m dog pet | gato gatos cat cats m cat pet
    caballo caballos horse horses m horse pet
    vaca vacas cow cows f herd wild | oveja ovejas sheep sheep f herd wild
    pájaro pájaros bird birds m bird wild
    manzana manzanas apple apples f fruit wild | naranja naranjas orange oranges f orange wild
    pan panes bread breads m bread mass | sopa sopas soup soups f soup mass
    queso quesos cheese cheeses m cheese mass
    pescado pescados fish fish m fish mass | arroz arroces rice rices m rice mass
    agua aguas water waters f drink mass | leche leches milk milks f drink mass
    café cafés coffee coffees m hot mass
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
            nouns.append(
                Noun(
                    es, (es, es_p), (en, en_p), gender == "f", kind, determiners[det], det == "mass"
                )
            )
    return nouns


NOUNS: tuple[Noun, ...] = tuple(_people() + _things())

_PROFESSIONS = "worker artist"
_ADULTS = "worker artist kin mate"
PEOPLE = "child worker artist kin mate"
PETS = "dog cat horse"
ANIMALS = "dog cat horse herd bird"
_CLOTHES = "clothes dress"
_FURNITURE = "furniture box"
_TEXTS = "book story tale letter"
_ENERGY = "correr bailar saltar nadar jugar trabajar volar reír cantar"


def _regular(stem: str) -> tuple[str, str, str, str]:
    return stem + "o", stem + "a", stem + "os", stem + "as"


def _same(word: str, plural: str) -> tuple[str, str, str, str]:
    return word, word, plural, plural


def _adjective(
    forms: tuple[str, str, str, str],
    target: str,
    before: str,
    after: str,
    copula: str | None,
    group: str,
    clash: str = "",
) -> Adjective:
    return Adjective(
        forms[0], forms, target, wordset(before), wordset(after), copula, group, wordset(clash)
    )


_COLORED = f"{_CLOTHES} {_FURNITURE} door house"
ADJECTIVES: tuple[Adjective, ...] = (
    _adjective(_regular("alt"), "tall", "", PEOPLE, "ser", "height"),
    _adjective(
        _same("inteligente", "inteligentes"), "intelligent", "", f"{PEOPLE} {PETS}", "ser", "mind"
    ),
    _adjective(_same("amable", "amables"), "kind", "", PEOPLE, "ser", "character"),
    _adjective(
        _regular("famos"), "famous", "", "artist book story tale song", "ser", "fame", "escribir"
    ),
    _adjective(_regular("cansad"), "tired", "", f"{PEOPLE} {PETS}", "estar", "mood", _ENERGY),
    _adjective(
        _regular("enferm"), "sick", "", f"{PEOPLE} {ANIMALS}", "estar", "mood", _ENERGY + " comer"
    ),
    _adjective(_regular("content"), "happy", "", f"{PEOPLE} dog", "estar", "mood", "llorar"),
    _adjective(
        _same("triste", "tristes"),
        "sad",
        "",
        f"{PEOPLE} tale story song letter",
        "estar/ser",
        "mood",
        "bailar jugar",
    ),
    _adjective(_regular("blanc"), "white", "", f"{PETS} herd {_COLORED}", "ser", "color", "pintar"),
    _adjective(
        _regular("negr"), "black", "", f"{PETS} herd bird {_COLORED}", "ser", "color", "pintar"
    ),
    _adjective(_regular("roj"), "red", "", f"fruit {_COLORED}", "ser", "color", "pintar"),
    _adjective(
        _same("verde", "verdes"), "green", "", f"fruit bird {_COLORED}", "ser", "color", "pintar"
    ),
    _adjective(_same("azul", "azules"), "blue", "", f"bird {_COLORED}", "ser", "color", "pintar"),
    _adjective(
        _regular("amarill"), "yellow", "", f"fruit bird {_COLORED}", "ser", "color", "pintar"
    ),
    _adjective(
        _regular("rot"),
        "broken",
        "",
        "furniture box door",
        "estar",
        "state",
        "comprar pintar limpiar abrir cerrar vender",
    ),
    _adjective(
        _regular("limpi"),
        "clean",
        "",
        f"{_CLOTHES} furniture door cocina plaza playa",
        "estar",
        "dirt",
        "limpiar lavar pintar comprar vender",
    ),
    _adjective(
        _regular("suci"),
        "dirty",
        "",
        f"{_CLOTHES} furniture door cocina plaza",
        "estar",
        "dirt",
        "pintar comprar vender llevar",
    ),
    _adjective(
        _regular("nuev"),
        "new",
        _PROFESSIONS + " mate",
        f"{_CLOTHES} {_FURNITURE} door house {_TEXTS} song",
        "ser",
        "age",
        "escribir",
    ),
    _adjective(
        _regular("viej"),
        "old",
        "mate",
        f"{_CLOTHES} {_FURNITURE} door house book cocina plaza biblioteca",
        "ser",
        "age",
        "comprar",
    ),
    _adjective(
        ("joven", "joven", "jóvenes", "jóvenes"), "young", _PROFESSIONS, "mate", "ser", "age"
    ),
    _adjective(_regular("larg"), "long", "", "book story tale letter song dress", "ser", "length"),
    _adjective(_regular("cort"), "short", "", "book story tale letter song dress", "ser", "length"),
    _adjective(
        _same("interesante", "interesantes"),
        "interesting",
        "",
        f"{_TEXTS} biblioteca",
        "ser",
        "interest",
    ),
    _adjective(
        _regular("car"),
        "expensive",
        "",
        f"{_CLOTHES} {_FURNITURE} house cheese fish",
        "ser",
        "price",
    ),
    _adjective(_regular("fresc"), "fresh", "", "fruit orange bread cheese fish", "estar", "fresh"),
    _adjective(
        _same("caliente", "calientes"),
        "hot",
        "",
        "drink hot soup bread rice",
        "estar",
        "heat",
        "cocinar",
    ),
    _adjective(
        _regular("frí"), "cold", "", "drink hot soup rice", "estar", "heat", "cocinar comprar"
    ),
    _adjective(
        _same("grande", "grandes"),
        "big",
        "",
        f"{ANIMALS} furniture box door house fruit orange jardín parque plaza biblioteca cocina "
        "prado",
        "ser",
        "size",
    ),
    _adjective(
        _regular("pequeñ"),
        "small",
        f"{ANIMALS} house jardín parque plaza biblioteca",
        f"{ANIMALS} furniture box door house fruit orange jardín parque cocina",
        "ser",
        "size",
    ),
    _adjective(
        _regular("hermos"),
        "beautiful",
        "house jardín parque plaza playa prado horse",
        f"horse bird {_CLOTHES} song tale",
        "ser",
        "beauty",
    ),
    _adjective(
        ("gran", "gran", "grandes", "grandes"), "great", "artist story", "", None, "quality"
    ),
    _adjective(
        ("buen", "buena", "buenos", "buenas"),
        "good",
        "worker artist mate book story",
        "",
        None,
        "quality",
    ),
)


def _conjugate(infinitive: str, stressed: str | None = None) -> tuple[str, str, str, str, str]:
    """Presente regular; ``stressed`` es la raíz con diptongo (la de «duermo»), para las personas
    acentuadas en ella.
    """
    stem, vowel = infinitive[:-2], infinitive[-2]
    strong = stressed or stem
    e = "a" if vowel == "a" else "e"
    return strong + "o", strong + e + "s", strong + e, f"{stem}{vowel}mos", strong + e + "n"


def _verb(
    infinitive: str,
    english: str,
    subjects: str,
    objects: str = "",
    *,
    third: str = "",
    forms: tuple[str, str, str, str, str] | None = None,
    stressed: str | None = None,
    personal: bool = False,
    places: tuple[str, ...] = (),
    optional: bool = False,
) -> Verb:
    first = english.split()[0]
    third = third or first + "s" + english[len(first) :]
    return Verb(
        infinitive,
        forms or _conjugate(infinitive, stressed),
        english,
        third,
        wordset(subjects),
        tuple(objects.split()),
        personal,
        places,
        optional,
    )


_MAMMALS = f"{PEOPLE} {ANIMALS}".replace(" bird", "")
_OUTDOORS = ("jardín", "parque", "playa", "plaza", "prado")
_EDIBLE = "fruit orange bread soup cheese fish rice"
VERBS: tuple[Verb, ...] = (
    _verb(
        "dormir",
        "sleep",
        _MAMMALS + " bird",
        stressed="duerm",
        places=("jardín", "playa", "parque", "prado"),
    ),
    _verb("correr", "run", f"child worker artist mate {PETS}", places=_OUTDOORS),
    _verb("trabajar", "work", _ADULTS, places=("jardín", "biblioteca")),
    _verb("cantar", "sing", PEOPLE, "song", places=_OUTDOORS + ("cocina",), optional=True),
    _verb("bailar", "dance", PEOPLE, places=_OUTDOORS + ("cocina",)),
    _verb(
        "llorar",
        "cry",
        "child worker artist mate",
        third="cries",
        places=("jardín", "parque", "cocina"),
    ),
    _verb("caminar", "walk", _MAMMALS, places=_OUTDOORS),
    _verb("descansar", "rest", _MAMMALS, places=("jardín", "parque", "playa", "prado")),
    _verb("jugar", "play", "child dog cat", stressed="jueg", places=_OUTDOORS),
    _verb("volar", "fly", "bird", third="flies", stressed="vuel"),
    _verb(
        "comer",
        "eat",
        _MAMMALS + " bird",
        _EDIBLE,
        places=("jardín", "parque", "cocina", "prado"),
        optional=True,
    ),
    _verb("beber", "drink", f"{PEOPLE} {PETS} herd", "drink hot"),
    _verb("cocinar", "cook", _ADULTS, "soup fish rice"),
    _verb(
        "leer",
        "read",
        PEOPLE,
        _TEXTS,
        places=("jardín", "parque", "biblioteca", "playa"),
        optional=True,
    ),
    _verb(
        "escribir",
        "write",
        "child worker artist mate",
        "story tale letter song",
        places=("biblioteca", "jardín"),
        optional=True,
    ),
    _verb(
        "comprar",
        "buy",
        _ADULTS,
        "fruit orange bread cheese fish rice book story clothes dress furniture house box",
    ),
    _verb(
        "vender",
        "sell",
        _ADULTS,
        "fruit orange bread cheese fish book clothes dress furniture house",
    ),
    _verb("llevar", "wear", PEOPLE, "clothes"),
    _verb("lavar", "wash", _ADULTS, "clothes dress fruit", third="washes"),
    _verb("limpiar", "clean", _ADULTS, "furniture door house"),
    _verb("pintar", "paint", "kin mate artist", "furniture door house box"),
    _verb("abrir", "open", PEOPLE, "door box letter book"),
    _verb("cerrar", "close", PEOPLE, "door box book", stressed="cierr"),
    _verb("buscar", "look for", PEOPLE, f"book letter clothes box {PEOPLE} {PETS}", personal=True),
    _verb(
        "ver",
        "see",
        PEOPLE,
        f"house {PEOPLE} {ANIMALS}",
        forms=("veo", "ves", "ve", "vemos", "ven"),
        personal=True,
    ),
    _verb("ayudar", "help", PEOPLE, PEOPLE, personal=True),
    _verb("saludar", "greet", PEOPLE, PEOPLE, personal=True),
)
SER = ("soy", "eres", "es", "somos", "son")
ESTAR = ("estoy", "estás", "está", "estamos", "están")
TENER = ("tengo", "tienes", "tiene", "tenemos", "tienen")
BE = ("am", "are", "is", "are", "are")
FEELINGS = {
    "hambre": ("hungry",),
    "sed": ("thirsty",),
    "sueño": ("sleepy",),
    "frío": ("cold",),
    "calor": ("hot",),
    "miedo": ("afraid",),
    "prisa": ("in", "a", "hurry"),
}
PRONOUNS = {
    "1s": ("yo", "I"),
    "2s": ("tú", "you"),
    "1p": ("nosotros", "we"),
    "3p": ("ellos", "they"),
}
# Causa natural de cada acción: (verbo, negado, causa, causa negada). La causa es una sensación o
# un adjetivo.
CAUSES = (
    ("comer", False, "hambre", False),
    ("comer", True, "hambre", True),
    ("beber", False, "sed", False),
    ("beber", True, "sed", True),
    ("dormir", False, "sueño", False),
    ("dormir", True, "sueño", True),
    ("descansar", False, "cansado", False),
    ("dormir", False, "cansado", False),
    ("trabajar", True, "enfermo", False),
    ("trabajar", True, "cansado", False),
    ("correr", False, "prisa", False),
    ("correr", False, "miedo", False),
    ("correr", True, "cansado", False),
    ("correr", True, "prisa", True),
    ("bailar", True, "cansado", False),
    ("bailar", True, "enfermo", False),
    ("cantar", True, "enfermo", False),
    ("comer", True, "enfermo", False),
    ("llorar", False, "miedo", False),
    ("llorar", False, "hambre", False),
    ("jugar", True, "cansado", False),
    ("jugar", True, "enfermo", False),
    ("caminar", True, "cansado", False),
    ("abrir", False, "calor", False),
    ("cerrar", False, "frío", False),
    ("cerrar", False, "miedo", False),
)
DETERMINERS = {
    "the": (("el", "la", "los", "las"), ("the", "the")),
    "a": (("un", "una", "unos", "unas"), ("a", "some")),
    "this": (("este", "esta", "estos", "estas"), ("this", "these")),
    "my": (("mi", "mi", "mis", "mis"), ("my", "my")),
    "our": (("nuestro", "nuestra", "nuestros", "nuestras"), ("our", "our")),
}
VERB_BY_KEY = {v.key: v for v in VERBS}
DEFINITE = ("the", "this", "my", "our")
OPPOSED_FEELINGS = (
    ("hambre", "sed"),
    ("sed", "hambre"),
    ("sueño", "hambre"),
    ("frío", "hambre"),
    ("frío", "miedo"),
    ("sueño", "frío"),
    ("calor", "sed"),
    ("hambre", "sueño"),
)
OPPOSED_ADJECTIVES = (
    ("grande", "caro"),
    ("nuevo", "caro"),
    ("hermoso", "caro"),
    ("largo", "interesante"),
    ("corto", "interesante"),
    ("famoso", "interesante"),
    ("viejo", "sucio"),
    ("viejo", "roto"),
    ("pequeño", "caro"),
    ("inteligente", "alto"),
    ("viejo", "interesante"),
)
BARE = wordset("comer comprar vender leer escribir cantar llevar pintar buscar")
ANIMAL_PLACES = {
    "herd": wordset("prado"),
    "horse": wordset("prado"),
    "bird": wordset("jardín parque prado"),
    "dog": wordset("jardín parque playa cocina plaza"),
    "cat": wordset("jardín cocina"),
}
MOODS = tuple(a for a in ADJECTIVES if a.key in ("cansado", "enfermo", "contento", "triste"))
BY_KEY = {a.key: a for a in ADJECTIVES}
DESCRIBABLE = frozenset(n.kind for n in NOUNS)


@cache
def pairs() -> tuple[tuple[str, str], ...]:
    """Todas las parejas (nombre, adjetivo) que la gramática admite, en orden fijo."""
    found = {
        (n.key, a.key): None for n in NOUNS for a in ADJECTIVES if n.kind in a.before | a.after
    }
    return tuple(found)


@cache
def held_out_pairs() -> frozenset[tuple[str, str]]:
    """Las parejas reservadas: más o menos una de cada seis, en diagonales, para que ninguna palabra
    falte al entrenar.
    """
    order = {adjective.key: i for i, adjective in enumerate(ADJECTIVES)}
    nouns = {key: i for i, key in enumerate(dict.fromkeys(noun.key for noun in NOUNS))}
    return frozenset((n, a) for n, a in pairs() if (nouns[n] + order[a]) % 6 == 0)


def is_held_out(noun: str, adjective: str) -> bool:
    """``True`` si la pareja de lemas (nombre y adjetivo en masculino singular) está reservada para
    evaluar.
    """
    return (noun, adjective) in held_out_pairs()
