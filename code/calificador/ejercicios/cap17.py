"""Ejercicios del capítulo 17, «De secuencia a secuencia: T5»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
    elige,
    entero,
    normal,
    permutacion,
    real,
    relleno,
    tensor,
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENTO

# --- 17.1 -----------------------------------------------------------------------------------------


def _casos_tapar(rng: Any) -> list[Caso]:
    def caso(propiedad: str, tapado: list[bool]) -> Caso:
        vocab = entero(rng, 60, 300)
        ids = [entero(rng, 2, vocab - 20) for _ in tapado]
        return Caso(propiedad, (ids, tapado, vocab))

    def visto(cuanto: int) -> list[bool]:
        return [False] * cuanto

    def tramos(cuantos: int) -> list[bool]:
        """El primero y el último, de dos; entre ellos, a la vista."""
        trozos = [[True] * (2 if i in (0, cuantos - 1) else entero(rng, 1, 3)) + visto(
            entero(rng, 1, 3)) for i in range(cuantos)]  # fmt: skip
        return [x for trozo in trozos for x in trozo]

    return [
        caso("un tramo", visto(entero(rng, 1, 3)) + tramos(1)),
        caso("un tramo", visto(entero(rng, 2, 5)) + [True] + visto(2)),
        caso("varios tramos", visto(entero(rng, 1, 3)) + tramos(2)),
        caso("varios tramos", visto(entero(rng, 1, 3)) + tramos(entero(rng, 3, 4))),
        caso("los extremos", tramos(entero(rng, 2, 3)) + [True]),
        caso("los extremos", [True] + visto(entero(rng, 2, 4)) + [True]),
        caso("nada o todo", visto(entero(rng, 2, 4))),
        caso("nada o todo", [True] * entero(rng, 2, 4)),
        caso("nada o todo", [elige(rng, (True, False))]),
    ]


_TAPAR = Ejercicio(
    id="17.1",
    nombre="corrupt_spans",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="escribir lo que T5 lee y lo que se le pide al tapar tramos de un texto",
    bordes=("not any(hidden)", "all(hidden)", "hidden[0]", "hidden[-1]", "len(ids) == 1"),
    casos=_casos_tapar,
    ejemplo=lambda: Caso("ejemplo", ([5, 6, 7, 8], [False, True, True, False], 20)),
    propiedades={
        "un tramo": (2, "Un tramo: un centinela a cada lado y otro que cierra lo escrito."),
        "varios tramos": (3, "Cada tramo lleva su centinela, el mismo a los dos lados."),
        "los extremos": (2, "Un tramo puede estar al principio o al final."),
        "nada o todo": (1, "Sin nada tapado, lo escrito es solo un centinela."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz en papel los dos lados de un texto de seis tokens con dos tramos.",
        "Hay un momento que importa: cuando se tapa un token y el de antes no lo estaba.",
        "En ese momento se pone el centinela en los dos lados y se baja al siguiente.",
    ),
    mutantes=(
        cambia(
            "sin cierre",
            "Falta el centinela que cierra lo escrito.",
            "[*written, sentinel]",
            "written",
        ),
        cambia(
            "uno por token",
            "Un tramo lleva un centinela, tape los tokens que tape.",
            "if taken and not inside:",
            "if taken:",
        ),
        cambia(
            "hacia arriba",
            "Los centinelas bajan desde el último número del vocabulario.",
            "sentinel -= 1",
            "sentinel += 1",
        ),
        cambia(
            "siempre el mismo",
            "Cada tramo lleva un centinela distinto.",
            "sentinel -= 1",
            "pass",
        ),
        cambia(
            "uno más allá",
            "Los números van de 0 a `vocab` − 1: el primer centinela es el último que hay.",
            "vocab - 1",
            "vocab",
        ),
        cambia(
            "sin centinela al escribir",
            "En lo escrito, cada tramo va detrás de su centinela.",
            "written.append(sentinel)",
            "pass",
        ),
        cambia(
            "sin centinela al leer",
            "En lo leído, un centinela ocupa el sitio de cada tramo.",
            "read.append(sentinel)",
            "pass",
        ),
        cambia(
            "al revés",
            "Se lee lo que queda a la vista y se escribe lo tapado.",
            "(written if taken else read)",
            "(read if taken else written)",
        ),
        cambia(
            "la frase entera",
            "No se escribe la frase entera, solo lo tapado.",
            "[*written, sentinel]",
            "list(ids)",
        ),
        cambia(
            "cierra con el último",
            "El que cierra es un centinela nuevo, no el del último tramo.",
            "[*written, sentinel]",
            "[*written, sentinel + 1]",
        ),
        cambia(
            "lo tapado también se lee",
            "Lo tapado no se puede leer: su centinela lo sustituye.",
            "        inside = taken",
            "        read += [token] * bool(taken)\n        inside = taken",
        ),
    ),
)

# --- 17.2 -----------------------------------------------------------------------------------------

_BARAJAR = Ejercicio(
    id="17.2",
    nombre="shuffled",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="decir dónde está guardado el orden de la frase en un codificador-decodificador",
    propiedades={"respuesta": (2, "Busca qué cuenta usa el sitio de cada cosa y cuál no.")},
    opciones=("ninguno", "solo las palabras", "solo las filas", "los dos"),
    pistas=(
        "Escribe la salida de la atención cruzada como una suma. ¿Cambia si se cambia el orden?",
        "Cada fila que da el codificador ya sabe dónde estaba su palabra.",
    ),
    mutantes=(
        cuerpo(
            "da igual el orden",
            "Barajar las palabras cambia las distancias que ve el codificador, y con ellas sus"
            " sesgos.",
            "return 'ninguno'",
        ),
        cuerpo(
            "el orden está fuera",
            "Al revés: la atención cruzada suma sin mirar el sitio, y el codificador sí lo mira.",
            "return 'solo las filas'",
        ),
        cuerpo(
            "todo cambia",
            "La atención cruzada de T5 no lleva posiciones: la suma de unas filas no depende de su"
            " orden.",
            "return 'los dos'",
        ),
    ),
)

# --- 17.3 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="17.3",
    nombre="spans_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    tolerancia=4e-4,
    aprende="contar lo que se lee y se escribe al tapar tramos, y puntuar un titular con ROUGE",
    propiedades={
        "read": (1, "Lo que queda a la vista, y un centinela por tramo."),
        "written": (1, "Lo tapado, un centinela por tramo y otro que cierra."),
        "unigram_f": (1, "Cuenta las palabras en común; después, dos veces eso entre las dos."),
        "lcs": (1, "Las palabras en el mismo orden, aunque haya otras en medio."),
        "lcs_f": (1, "Como la otra F, con la subsecuencia en lugar de las palabras en común."),
    },
    pistas=(
        "Primero, cuántos tokens se tapan; después, en cuántos tramos.",
        "Tacha en cada titular lo que no tenga pareja en el otro, sin que las parejas se crucen.",
        "La F es dos veces lo común entre la suma de las dos longitudes, que son 6 y 7.",
    ),
    mutantes=(
        cambia(
            "leído sin centinelas",
            "`read` cuenta también un centinela por tramo.",
            "n - hidden + spans",
            "n - hidden",
        ),
        cambia(
            "leído con uno de más",
            "Al leer no hay centinela de cierre: ese solo se escribe.",
            "n - hidden + spans",
            "n - hidden + spans + 1",
        ),
        cambia(
            "sin quitar lo tapado",
            "Lo tapado no se lee: un tramo se cambia por un centinela.",
            "n - hidden + spans",
            "n",
        ),
        cambia(
            "sin cierre",
            "Lo escrito acaba en un centinela más.",
            "hidden + spans + 1",
            "hidden + spans",
        ),
        cambia(
            "escrito sin centinelas",
            "`written` cuenta también los centinelas.",
            "hidden + spans + 1",
            "hidden",
        ),
        cambia(
            "la precisión",
            "Es solo la precisión: la F la junta con la cobertura.",
            "2 * same / both",
            "same / len(written)",
        ),
        cambia(
            "la cobertura",
            "Es solo la cobertura: la F la junta con la precisión.",
            "2 * same / both",
            "same / len(reference)",
        ),
        cambia(
            "con el artículo dos veces",
            "«el» sale dos veces en la referencia y una en lo escrito: hay una pareja, no dos.",
            "2 * same / both",
            "2 * (same + 1) / both",
        ),
        cambia("sin orden", "La subsecuencia guarda el orden.", '"lcs": lcs', '"lcs": same'),
        cambia(
            "seguidas",
            "Puede haber otras palabras en medio: no es el trozo seguido más largo.",
            '"lcs": lcs',
            '"lcs": 3',
        ),
        cambia(
            "la precisión de L",
            "De ROUGE-L se pide la F, y esto es la precisión.",
            "2 * lcs / both",
            "lcs / len(written)",
        ),
        cambia(
            "la cobertura de L",
            "De ROUGE-L se pide la F, y esto es la cobertura.",
            "2 * lcs / both",
            "lcs / len(reference)",
        ),
        cambia(
            "la media",
            "La F es la media armónica de precisión y cobertura, no la corriente.",
            "2 * lcs / both",
            "(lcs / len(written) + lcs / len(reference)) / 2",
        ),
    ),
)

# --- 17.4 -----------------------------------------------------------------------------------------


def _casos_rehacer(rng: Any) -> list[Caso]:
    def partes(cuantos: int) -> tuple[list[int], list[int], list[list[int]], list[int], int]:
        """Lo leído, los centinelas, los tramos, el resto del vocabulario y su tamaño."""
        vocab = entero(rng, 250, 400)
        primero = vocab - cuantos - 1  # el menor centinela es el que cierra
        centinelas = [vocab - 1 - i for i in range(cuantos + 1)]
        palabras = [x + 2 for x in permutacion(rng, primero - 4)]
        leido = [primero - 1]
        for c in centinelas[:-1]:
            leido += [*(palabras.pop() for _ in range(entero(rng, 1, 2))), c]
        leido.append(palabras.pop())
        tramos = [[palabras.pop() for _ in range(entero(rng, 1, 3))] for _ in range(cuantos)]
        return leido, centinelas, tramos, palabras, vocab

    def caso(propiedad: str, cuantos: int, como: str) -> Caso:
        leido, centinelas, tramos, palabras, vocab = partes(cuantos)
        trozos = [[c, *t] for c, t in zip(centinelas, [*tramos, []], strict=True)]
        ajeno = [palabras.pop(), palabras.pop()]
        if como == "desordenado":
            trozos = trozos[1:-1] + trozos[:1] + trozos[-1:]
        if como == "falta":
            del trozos[0]
        if como == "sobra":
            trozos[-1] += ajeno
        if como == "repetido":
            trozos.insert(2, [centinelas[0], *ajeno])
        if como == "delante":
            trozos.insert(0, ajeno)
        escrito = [x for t in trozos for x in t]
        if como == "vacío":
            escrito = []
        return Caso(propiedad, (leido, escrito, vocab), {"n_sentinels": cuantos + 1})

    return [
        caso("bien escrito", 1, ""),
        caso("bien escrito", entero(rng, 2, 4), ""),
        caso("en otro orden", 2, "desordenado"),
        caso("en otro orden", entero(rng, 3, 4), "desordenado"),
        caso("falta o sobra", entero(rng, 2, 4), "falta"),
        caso("falta o sobra", entero(rng, 2, 4), "sobra"),
        caso("falta o sobra", entero(rng, 2, 4), "delante"),
        caso("falta o sobra", 2, "vacío"),
        caso("repetido", entero(rng, 2, 3), "repetido"),
        caso("repetido", 4, "repetido"),
    ]


_REHACER = Ejercicio(
    id="17.4",
    nombre="restore_spans",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="rehacer una frase con lo que ha escrito un modelo, también cuando escribe mal",
    bordes=("not written", "n_sentinels == 2"),
    casos=_casos_rehacer,
    ejemplo=lambda: Caso("ejemplo", ([5, 19, 8], [19, 6, 7, 18], 20), {"n_sentinels": 2}),
    propiedades={
        "bien escrito": (3, "Cada tramo va al sitio de su centinela."),
        "en otro orden": (2, "El centinela dice el sitio; el orden en que se escribe, no."),
        "falta o sobra": (2, "Lo que no tiene sitio se pierde; lo que no se dice, se queda vacío."),
        "repetido": (1, "Si un centinela sale dos veces, vale la primera."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Separa el trabajo en dos: primero, trocear lo escrito; después, recorrer lo leído.",
        "Guarda los tramos por su centinela, en un diccionario.",
        "Las palabras de un centinela repetido van a una lista que después no se mira.",
    ),
    mutantes=(
        cuerpo(
            "por orden",
            "El tramo es el de su centinela, no el que se ha escrito en ese lugar.",
            """
            first = vocab - n_sentinels
            spans = []
            for token in written:
                if token >= first:
                    spans.append([])
                elif spans:
                    spans[-1].append(token)
            whole, turn = [], 0
            for token in source:
                if token < first:
                    whole.append(token)
                else:
                    whole += spans[turn] if turn < len(spans) else []
                    turn += 1
            return whole""",
        ),
        cambia(
            "vale la última",
            "De un centinela repetido vale la primera vez, no la última.",
            "spans.setdefault(token, current)",
            "spans[token] = current",
        ),
        cambia(
            "se juntan",
            "Lo que sigue a un centinela repetido se pierde: no se suma a lo de la primera vez.",
            "            current = []\n            spans.setdefault(token, current)",
            "            current = spans.setdefault(token, [])",
        ),
        cambia(
            "se queda el centinela",
            "Del centinela del que no se diga nada, no queda ni él.",
            "spans.get(token, [])",
            "spans.get(token, [token])",
        ),
        cambia(
            "uno de menos",
            "El menor de los centinelas también lo es: son `n_sentinels` justos.",
            "vocab - n_sentinels",
            "vocab - n_sentinels + 1",
        ),
        cambia(
            "uno de más",
            "El número de justo antes de los centinelas es una palabra.",
            "vocab - n_sentinels",
            "vocab - n_sentinels - 1",
        ),
        cambia(
            "siempre cien",
            "Cuántos centinelas hay es un argumento.",
            "vocab - n_sentinels",
            "vocab - 100",
        ),
        cambia(
            "lo de delante cuenta",
            "Lo escrito antes del primer centinela no va a ningún sitio.",
            "current: list[int] = []",
            "current = spans.setdefault(max(source), [])",
        ),
        cambia(
            "lo que sobra, al final",
            "Un centinela que no está en lo leído se lleva sus palabras: no van al final.",
            "return whole",
            "return whole + [x for s in spans if s not in source for x in spans[s]]",
        ),
        cambia(
            "solo la primera palabra",
            "Un tramo puede tener varias palabras.",
            "spans.get(token, [])",
            "spans.get(token, [])[:1]",
        ),
    ),
)

# --- 17.5 -----------------------------------------------------------------------------------------


def _casos_cabe(rng: Any) -> list[Caso]:
    def justo(propiedad: str, n: int, densidad: float, largo: float, sube: bool = True) -> Caso:
        """Desde n, el primero en que lo tapado y los tramos se redondean hacia donde se dice."""

        def vale(x: float) -> bool:
            return 0.55 < x % 1 < 0.95 if sube else 0.05 < x % 1 < 0.2

        while not (vale(n * densidad) and vale(round(n * densidad) / largo)):
            n += 1
        tapados = round(n * densidad)
        leidos = n - tapados + round(tapados / largo) + 1
        return Caso(propiedad, (leidos,), {"density": densidad, "mean_length": largo})

    def densa(presupuesto: int) -> Caso:
        pide = {"density": real(rng, 0.6, 0.8), "mean_length": 1.0}
        return Caso("muy tapado", (presupuesto,), pide)

    return [
        justo("como T5", entero(rng, 40, 100), 0.15, 3.0),
        justo("como T5", entero(rng, 120, 600), 0.15, 3.0),
        justo("otra mezcla", entero(rng, 60, 200), 0.3, 4.0),
        justo("otra mezcla", entero(rng, 60, 200), 0.22, 2.7),
        justo("otra mezcla", entero(rng, 60, 200), 0.22, 2.7, sube=False),
        Caso("corto", (3,)),
        Caso("corto", (4 + entero(rng, 0, 2),), {"density": 0.15}),
        Caso("corto", (entero(rng, 7, 12),), {"density": 0.01, "mean_length": 3.0}),
        densa(entero(rng, 20, 60)),
        densa(entero(rng, 100, 200)),
    ]


_CABE = Ejercicio(
    id="17.5",
    nombre="raw_length",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="elegir cuánto texto se corta para que, tapado, ocupe justo lo que el modelo lee",
    bordes=("budget == 3",),
    casos=_casos_cabe,
    ejemplo=lambda: Caso("ejemplo", (10,), {"density": 0.2, "mean_length": 2.0}),
    propiedades={
        "como T5": (3, "Escribe lo que ocupa cada lado para un n; después, busca el mayor."),
        "otra mezcla": (2, "Lo tapado y los tramos se redondean; no se cortan."),
        "corto": (1, "Se tapa uno al menos, en un tramo."),
        "muy tapado": (2, "Entre dos tramos hay algo a la vista: no hay más tramos que eso."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz la cuenta de los dos lados con n igual a 20.",
        "Lo leído son los que quedan a la vista, un centinela por tramo y el fin; lo escrito lleva,"
        " además de lo tapado, un centinela más.",
        "Lo que se lee no baja nunca al crecer n: basta subir hasta que el siguiente no quepa.",
    ),
    mutantes=(
        cambia(
            "leído sin fin",
            "Lo leído también acaba en un fin.",
            "n - hidden + spans + 1",
            "n - hidden + spans",
        ),
        cambia(
            "leído sin centinelas",
            "En lo leído hay un centinela por tramo.",
            "n - hidden + spans + 1",
            "n - hidden + 1",
        ),
        cambia(
            "escrito sin cierre",
            "Lo escrito lleva un centinela que cierra y, además, el fin.",
            "hidden + spans + 2",
            "hidden + spans + 1",
        ),
        cambia(
            "escrito sin centinelas",
            "En lo escrito también hay un centinela por tramo.",
            "hidden + spans + 2",
            "hidden + 2",
        ),
        cambia(
            "corta los tapados",
            "Los tokens tapados se redondean al más cercano, no hacia abajo.",
            "round(n * density)",
            "int(n * density)",
        ),
        cambia(
            "corta los tramos",
            "Los tramos se redondean al más cercano, no hacia abajo.",
            "round(hidden / mean_length)",
            "int(hidden / mean_length)",
        ),
        cambia(
            "uno de más",
            "Con ese n ya no cabe: es el último que cabe, no el primero que no.",
            "return n, sizes(n)[1]",
            "return n + 1, sizes(n + 1)[1]",
        ),
        cambia(
            "se queda corto",
            "Cabe un token más: lo leído puede llegar justo a `budget`.",
            "<= budget",
            "< budget",
        ),
        cambia(
            "devuelve lo leído",
            "El segundo número es lo que se escribe, no lo que se lee.",
            "return n, sizes(n)[1]",
            "return n, sizes(n)[0]",
        ),
        cambia(
            "puede no tapar",
            "Se tapa al menos un token.",
            "max(round(n * density), 1)",
            "round(n * density)",
        ),
        cambia(
            "sin sitio",
            "No puede haber más tramos que tokens a la vista.",
            ", hidden, n - hidden)",
            ", hidden)",
        ),
        cambia(
            "media del texto",
            "Los tramos salen de los tokens tapados, no de todo el texto.",
            "round(hidden / mean_length)",
            "round(n / mean_length)",
        ),
    ),
)

# --- 17.6 -----------------------------------------------------------------------------------------


def _casos_t5(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, cabezas: int, ancho: int, con_relleno: bool = False) -> Caso:
        lote, n, cubos, d = entero(rng, 2, 3), entero(rng, 3, 5), entero(rng, 5, 8), 4
        junto = cabezas * ancho
        pesos = [normal(rng, junto, d) / 2 for _ in range(3)]
        cubo = torch.randint(cubos, (n, n), generator=rng)
        cubo[0, 1], cubo[1, 0] = 0, 1
        args = (normal(rng, lote, n, d), *pesos, normal(rng, d, junto), normal(rng, cubos, cabezas))
        tapa = (relleno(rng, lote, n, 1),) if con_relleno else ()
        return Caso(propiedad, (*args, cubo, *tapa))

    return [
        caso("una cabeza", 1, 4),
        caso("una cabeza", 1, entero(rng, 2, 3)),
        caso("varias cabezas", 2, 2),
        caso("varias cabezas", 4, 2),
        caso("cabezas anchas", 2, entero(rng, 3, 5)),
        caso("cabezas anchas", 3, entero(rng, 2, 4)),
        caso("con relleno", 2, 2, True),
        caso("con relleno", 3, 2, True),
    ]


_ATENCION = Ejercicio(
    id="17.6",
    nombre="t5_attention",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="escribir la autoatención de T5, con su sesgo por cubos y sin la división",
    bordes=("table.shape[1] == 1", "mask is None", Borde("varias cabezas", {0: 0})),
    casos=_casos_t5,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            *(tensor([[1.0, 0.0], [0.0, 1.0]]) for _ in range(4)),
            tensor([[0.0], [-1.0]]),
            tensor([[0, 1], [1, 0]]),
        ),
    ),
    propiedades={
        "una cabeza": (2, "Puntuar, sumar el sesgo, normalizar y promediar, sin dividir."),
        "varias cabezas": (3, "Cada cabeza tiene sus filas en las matrices y su columna de tabla."),
        "cabezas anchas": (2, "La anchura de una cabeza sale de las matrices, no de `d_model`."),
        "con relleno": (3, "El relleno no recibe peso de nadie."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe la multicabeza de siempre y tacha lo que T5 no hace.",
        "Al mirar la tabla con los cubos sale un eje de cabezas al final; en las puntuaciones va"
        " delante.",
        "Cuántas cabezas hay lo dice la tabla. El relleno se tapa en las columnas, antes de la"
        " softmax.",
    ),
    mutantes=(
        cambia(
            "divide",
            "T5 no divide las puntuaciones entre √d_head.",
            "query @ key.mT + bias",
            "query @ key.mT / query.shape[-1] ** 0.5 + bias",
        ),
        cambia(
            "divide todo",
            "T5 no divide nada: ni las puntuaciones ni el sesgo.",
            "query @ key.mT + bias",
            "(query @ key.mT + bias) / query.shape[-1] ** 0.5",
        ),
        cambia(
            "sin sesgo",
            "Falta sumar el sesgo de los cubos a las puntuaciones.",
            "query @ key.mT + bias",
            "query @ key.mT",
        ),
        cambia(
            "sesgo traspuesto",
            "En `bucket`, las filas son quien mira; aquí van las columnas.",
            "table[bucket]",
            "table[bucket.mT]",
        ),
        cambia(
            "resta",
            "El sesgo se suma; no se resta.",
            "query @ key.mT + bias",
            "query @ key.mT - bias",
        ),
        cambia(
            "multiplica",
            "El sesgo se suma a la puntuación; no la multiplica.",
            "query @ key.mT + bias",
            "query @ key.mT * bias",
        ),
        cambia(
            "un sesgo para todas",
            "Cada cabeza tiene su columna en la tabla: no se promedian.",
            "table[bucket]",
            "table.mean(dim=1, keepdim=True).expand_as(table)[bucket]",
        ),
        cambia(
            "después de normalizar",
            "El sesgo entra antes de la softmax, con las puntuaciones.",
            "query @ key.mT + bias",
            "query @ key.mT",
            "scores.softmax(dim=-1)",
            "(scores.softmax(dim=-1) + bias)",
        ),
        cambia(
            "cabezas entrelazadas",
            "Las filas de una cabeza van seguidas en las matrices; aquí se toman alternas.",
            '"b n (h d) -> b h n d"',
            '"b n (d h) -> b h n d"',
        ),
        cambia(
            "unidas de otra manera",
            "Al unir las cabezas, la primera va delante, entera.",
            '"b h n d -> b n (h d)"',
            '"b h n d -> b n (d h)"',
        ),
        cambia(
            "sin máscara",
            "El relleno no se mira: falta usar `mask`.",
            "if mask is not None:",
            "if False:",
        ),
        cambia(
            "cero no es tapar",
            "Una puntuación 0 aún recibe peso: para tapar hace falta −∞.",
            "-torch.inf",
            "0.0",
        ),
        cambia(
            "máscara al revés",
            "En `mask`, False es relleno: se tapa lo que sí había que mirar.",
            "~mask[:, None, None, :]",
            "mask[:, None, None, :]",
        ),
        cambia(
            "otro eje",
            "La softmax reparte entre las claves, no entre quienes miran.",
            "scores.softmax(dim=-1)",
            "scores.softmax(dim=-2)",
        ),
    ),
)

# --- 17.7 -----------------------------------------------------------------------------------------


def _casos_rouge(rng: Any) -> list[Caso]:
    def palabras(cuantas: int) -> list[str]:
        return [f"p{i}" for i in distintos(rng, 10, 99, cuantas)]

    def con_huecos(extra: int) -> Caso:
        """Comunes a, b, c, con otras en medio; el final no casa en ninguno."""
        a, b, c, *otras = palabras(5 + extra)
        return Caso("con huecos", ([a, *otras[2:], b, otras[0], c], [otras[1], a, b, c, otras[1]]))

    def otro_orden(extra: int) -> Caso:
        """La primera escrita está al final de la referencia: casarla lo estropea."""
        a, b, c, d, *otras = palabras(4 + extra)
        return Caso("otro orden", ([d, a, b, c, a], [a, b, *otras, c, d]))

    def trozo_largo(extra: int) -> Caso:
        """Dos seguidas, a y b, dejan fuera las tres sueltas que van al revés que ellas."""
        a, b, c, d, e, *otras = palabras(6 + extra)
        return Caso("otro orden", ([a, b, c, d, e], [c, otras[0], d, *otras[1:], e, a, b]))

    def repetidas(veces: int) -> Caso:
        a, b, c = palabras(3)
        return Caso("repetidas", ([a] * veces + [b], [c, a, b, c, b, c]))

    def al_azar(n: int, m: int) -> list[list[str]]:
        return [[f"p{entero(rng, 0, 5)}" for _ in range(k)] for k in (n, m)]

    uno, otro, otra = palabras(3)
    return [
        con_huecos(entero(rng, 1, 3)),
        con_huecos(entero(rng, 2, 4)),
        otro_orden(entero(rng, 1, 3)),
        otro_orden(entero(rng, 2, 4)),
        trozo_largo(entero(rng, 1, 3)),
        repetidas(entero(rng, 3, 5)),
        repetidas(2),
        Caso("cortas", ([], [uno, otro])),
        Caso("cortas", ([uno], [otro, otra])),
        Caso("cortas", ([uno], [otro, uno, *palabras(entero(rng, 1, 4))])),
        Caso("largas", tuple(al_azar(entero(rng, 60, 70), entero(rng, 80, 100)))),
    ]


_ROUGE = Ejercicio(
    id="17.7",
    nombre="rouge_l",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="puntuar un titular con la subsecuencia común más larga",
    bordes=("not written", "len(written) == 1", "len(written) > 50"),
    casos=_casos_rouge,
    ejemplo=lambda: Caso("ejemplo", (["robo", "por", "descuido"], ["robo", "descuido"])),
    propiedades={
        "con huecos": (2, "Puede haber otras palabras en medio."),
        "otro orden": (
            3,
            "Las parejas no se cruzan. Empezar por la primera que casa, o por el trozo seguido más"
            " largo, puede dejar fuera otras que eran más.",
        ),
        "repetidas": (1, "Cada palabra escrita casa con una de la referencia, y al revés."),
        "cortas": (1, "Si no hay nada en común, los tres números son 0."),
        "largas": (2, "Con una tabla, la cuenta crece como el producto de las longitudes."),
    },
    pistas=(
        "Busca a mano la subsecuencia de dos listas de cuatro palabras, y mira qué decides.",
        "Haz una tabla: lo común a los comienzos de una lista y de la otra.",
        "Si las dos palabras coinciden, una más que sin ninguna de las dos; si no, lo mejor de"
        " quitar una u otra.",
    ),
    mutantes=(
        cuerpo(
            "seguidas",
            "Es la subsecuencia, que admite huecos, no el trozo seguido más largo.",
            """
            row, common = [0] * (len(reference) + 1), 0
            for word in written:
                above, row = row, [0]
                for j, other in enumerate(reference):
                    row.append(above[j] + 1 if word == other else 0)
                common = max(common, *row)
            if common == 0:
                return 0.0, 0.0, 0.0
            precision, recall = common / len(written), common / len(reference)
            return precision, recall, 2 * precision * recall / (precision + recall)""",
        ),
        cuerpo(
            "sin orden",
            "Se cuentan palabras en común sin mirar el orden: eso es ROUGE-1.",
            """
            common = sum(min(written.count(w), reference.count(w)) for w in set(written))
            if common == 0:
                return 0.0, 0.0, 0.0
            precision, recall = common / len(written), common / len(reference)
            return precision, recall, 2 * precision * recall / (precision + recall)""",
        ),
        cuerpo(
            "voraz",
            "Quedarse con la primera pareja que aparece no siempre da la más larga: a veces"
            " conviene saltarse una palabra.",
            """
            common, start = 0, 0
            for word in written:
                if word in reference[start:]:
                    start = reference.index(word, start) + 1
                    common += 1
            if common == 0:
                return 0.0, 0.0, 0.0
            precision, recall = common / len(written), common / len(reference)
            return precision, recall, 2 * precision * recall / (precision + recall)""",
        ),
        cambia(
            "la media",
            "La F es la media armónica, no la corriente.",
            "2 * precision * recall / (precision + recall)",
            "(precision + recall) / 2",
        ),
        cambia(
            "cambiadas",
            "La precisión se divide entre lo escrito, y la cobertura, entre la referencia.",
            "return precision, recall,",
            "return recall, precision,",
        ),
        cambia(
            "casa dos veces",
            "Una palabra de la referencia no casa con dos escritas: se suma a la diagonal.",
            "above[j] + 1",
            "above[j + 1] + 1",
        ),
        cambia(
            "casa con varias",
            "Una palabra escrita no casa con dos de la referencia: se suma a la diagonal.",
            "above[j] + 1",
            "row[j] + 1",
        ),
        cambia(
            "solo salta una lista",
            "Si no coinciden, se puede saltar la palabra de cualquiera de las dos listas; aquí solo"
            " se salta la escrita.",
            "max(above[j + 1], row[j])",
            "above[j + 1]",
        ),
        cambia(
            "salta las dos",
            "Si no coinciden, se salta una u otra, no las dos a la vez.",
            "max(above[j + 1], row[j])",
            "above[j]",
        ),
        cambia(
            "divide entre cero",
            "Si no hay nada en común, la F no se puede calcular así: los tres números son 0.",
            "if common == 0:",
            "if False:",
        ),
    ),
)

# --- 17.8 -----------------------------------------------------------------------------------------


def _casos_tapada(rng: Any) -> list[Caso]:
    def caso(propiedad: str, visto: int, tapado: int, tramos: int) -> Caso:
        return Caso(propiedad, (visto + tapado, tapado, tramos))

    n = entero(rng, 4, 8)
    return [
        caso("un tramo", n, entero(rng, 2, 5), 1),
        caso("un tramo", n + entero(rng, 1, 3), 1, 1),
        caso("varios", entero(rng, 5, 8), entero(rng, 4, 6), 2),
        caso("varios", entero(rng, 7, 10), entero(rng, 5, 7), 3),
        caso("apretados", entero(rng, 5, 9), 3, 3),
        caso("apretados", 3, entero(rng, 5, 9), 3),
        caso("muchos", entero(rng, 34, 44), entero(rng, 14, 18), entero(rng, 5, 7)),
    ]


_TAPADA = Ejercicio(
    id="17.8",
    nombre="hidden_chances",
    tipo="escribir",
    dificultad=3,
    minutos=40,
    aprende="calcular qué tapa de verdad un sorteo, sin sortear, y ver lo que nunca tapa",
    bordes=("spans == 1", "hidden == 1", "spans == hidden", "spans == n - hidden"),
    casos=_casos_tapada,
    ejemplo=lambda: Caso("ejemplo", (5, 2, 2)),
    propiedades={
        "un tramo": (
            2,
            "Con un tramo no hay nada que sortear: primero lo visto, después lo demás.",
        ),
        "varios": (4, "Cuenta los repartos en los que esa posición queda tapada."),
        "apretados": (2, "Con tramos de un token solo se sortea dónde van."),
        "muchos": (2, "Con números combinatorios, o guardando recuentos, no hay que probarlos."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe los repartos de cinco tokens con dos tapados en dos tramos: son dos.",
        "Repartir m en r trozos no vacíos es elegir r − 1 cortes entre m − 1 sitios.",
        "Fija en qué tramo está la posición y cuántos tiene delante a la vista: los trozos vistos"
        " de delante están completos, y entre los tapados de delante hay un corte por tramo.",
    ),
    mutantes=(
        cuerpo(
            "todas igual",
            "No se tapan todas por igual: mira la primera posición y la última.",
            "return torch.full((n,), hidden / n, dtype=torch.float64)",
        ),
        cambia(
            "empieza tapando",
            "Se alterna empezando por un trozo a la vista, no por uno tapado.",
            "torch.tensor(chances, dtype=torch.float64)",
            "torch.tensor(chances, dtype=torch.float64).flip(0)",
        ),
        cambia(
            "a la vista",
            "Se pide la probabilidad de que se tape; esta es la de quedar a la vista.",
            "torch.tensor(chances, dtype=torch.float64)",
            "1 - torch.tensor(chances, dtype=torch.float64)",
        ),
        cambia(
            "solo el primero",
            "Faltan los demás tramos: una posición puede estar en cualquiera.",
            "for k in range(spans) for",
            "for k in range(1) for",
        ),
        cambia(
            "solo el último",
            "Solo se cuenta el último tramo: una posición puede estar en cualquiera.",
            "for k in range(spans) for",
            "for k in range(spans - 1, spans) for",
        ),
        cambia(
            "donde empieza",
            "Es la probabilidad de que ahí empiece un tramo, no la de estar dentro de uno.",
            "math.comb(taken, k) * math.comb(hidden - 1 - taken, spans - 1 - k)",
            "ways(taken, k) * ways(hidden - taken, spans - k)",
        ),
        cambia(
            "sin dividir",
            "Son recuentos: falta dividir entre todos los repartos.",
            " / total for t",
            " / 1 for t",
        ),
        cambia(
            "solo lo visto al dividir",
            "El total son los repartos de lo visto por los de lo tapado.",
            "ways(seen, spans) * ways(hidden, spans)",
            "ways(seen, spans)",
        ),
        cuerpo(
            "trozos iguales",
            "Los trozos no miden todos lo mismo: se sortean.",
            """
            seen = n - hidden
            edges = [(seen * (k + 1) // spans + hidden * k // spans,
                      seen * (k + 1) // spans + hidden * (k + 1) // spans) for k in range(spans)]
            taken = [float(any(a <= t < b for a, b in edges)) for t in range(n)]
            return torch.tensor(taken, dtype=torch.float64)""",
        ),
    ),
)

EJERCICIOS = [
    _TAPAR,
    _BARAJAR,
    _A_MANO,
    _REHACER,
    _CABE,
    _ATENCION,
    _ROUGE,
    _TAPADA,
]
