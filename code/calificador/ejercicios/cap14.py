"""Ejercicios del capítulo 14, «Tres laboratorios»."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calificador.generadores import Borde, distintos, entero, normal, permutacion, real, tensor
from calificador.registro import Caso, Ejercicio, cambia, cuerpo, numeros
from calificador.vetos import CODIGO

Arbol = Any  # una hoja, «3», o (operación, izquierda, derecha)
_RANGO = {"+": 1, "-": 1, "*": 2, "/": 2}
_HOJAS = "0123456789xyz"


def _azar(rng: Any, opciones: int) -> int:
    """Un entero de 0 a ``opciones - 1``, también en los casos menudos."""
    import torch

    return int(torch.randint(opciones, (), generator=rng))


# --- 14.1 -----------------------------------------------------------------------------------------

_NOTAS = Ejercicio(
    id="14.1",
    nombre="score_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    tolerancia=2.4e-3,
    aprende="calcular la pérdida, el acierto por símbolo y el exacto de un lote con relleno",
    propiedades={
        "loss": (1, "Cuenta los símbolos pedidos: el relleno no lo es."),
        "token": (1, "¿En cuántos de los símbolos pedidos lo más probable es lo pedido?"),
        "exact": (1, "Una copia con un solo símbolo mal no es exacta."),
        "sampled": (1, "Tienen que salir los cuatro, uno detrás de otro."),
    },
    pistas=(
        "Haz una lista de los seis símbolos pedidos, cuatro de la primera fila y dos de la segunda:"
        " su probabilidad y si se acierta.",
        "Lo que se paga son logaritmos y se promedia; lo que se acierta, se cuenta; lo que se"
        " sortea, se multiplica.",
        "`loss` y `token`, entre seis; `exact`, entre dos copias; `sampled`, solo con los cuatro de"
        " la primera. El logaritmo de un cuarto es dos veces el de un medio; el de 1 es 0.",
    ),
    mutantes=(
        cambia(
            "con el relleno",
            "El relleno no se pide: ni suma ni cuenta al dividir.",
            "n = sum(map(len, rows))",
            "n = 8",
        ),
        numeros(
            "el relleno, pedido",
            "El relleno no se pide: sus probabilidades no suman ni cuentan al dividir.",
            "score_by_hand",
            loss=0.953,
            token=0.625,
            exact=0.5,
            sampled=0.0625,
        ),
        numeros(
            "todo, por filas",
            "Cada símbolo pesa lo mismo, también los de la fila larga: ni la pérdida ni el acierto"
            " son la media de las dos filas.",
            "score_by_hand",
            loss=0.520,
            token=0.875,
            exact=0.5,
            sampled=0.0625,
        ),
        cambia(
            "media de filas",
            "Cada símbolo pesa lo mismo, también los de la fila larga: no es la media de las"
            " filas.",
            "-sum(math.log(p) for row in rows for p in row) / n",
            "-sum(sum(math.log(p) for p in row) / len(row) for row in rows) / 2",
        ),
        cambia(
            "en bits",
            "La pérdida se pide en nats: logaritmo natural.",
            "math.log(p)",
            "math.log2(p)",
        ),
        cambia(
            "suma",
            "La pérdida es por símbolo: falta dividir.",
            "for p in row) / n",
            "for p in row)",
        ),
        cambia(
            "exacto por símbolos",
            "El exacto cuenta copias enteras, no símbolos.",
            "sum(map(all, right)) / len(rows)",
            "sum(map(sum, right)) / n",
        ),
        cambia(
            "las dos copias",
            "Se pregunta solo por la primera copia.",
            "math.prod(rows[0])",
            "math.prod(rows[0] + rows[1])",
        ),
        cambia(
            "media de probabilidades",
            "Para que salgan todos, las probabilidades se multiplican.",
            "math.prod(rows[0])",
            "sum(rows[0]) / 4",
        ),
    ),
)

# --- 14.2 -----------------------------------------------------------------------------------------


def _fila(simbolos: list[int], ancho: int) -> list[int]:
    return simbolos + [0] * (ancho - len(simbolos))


def _casos_puntuar(rng: Any, *, eos_id: int = 2) -> list[Caso]:
    def caso(propiedad: str, cambios: tuple[str, ...], fin: int) -> Caso:
        simbolos = [i for i in range(3, 12) if i != fin]

        def otro(distinto_de: int) -> int:
            return [i for i in simbolos if i != distinto_de][_azar(rng, len(simbolos) - 1)]

        pedidas, escritas = [], []
        for cambio, largo in zip(cambios, distintos(rng, 2, 7, len(cambios)), strict=True):
            pedida = [otro(0) for _ in range(largo)] + [fin]
            escrita, j = list(pedida), _azar(rng, largo)
            if cambio == "mal":
                escrita[j] = otro(pedida[j])
            elif cambio == "antes":  # se para y, detrás, coincide con lo pedido
                escrita[largo - 1] = fin
            elif (
                cambio == "corta"
            ):  # coincide hasta donde llega, y ni siquiera hay sitio para el fin
                escrita = pedida[:-1]
            elif cambio == "no para":
                escrita = [*pedida[:-1], otro(0), otro(0)]
            elif cambio == "después":
                escrita = [*pedida[:-1], otro(0), fin]
            elif cambio == "basura":
                escrita = [*pedida, otro(0), fin, otro(0)]
            pedidas.append(pedida)
            escritas.append(escrita)
        ancho, largo = (max(map(len, filas)) for filas in (escritas, pedidas))
        return Caso(
            propiedad,
            (
                tensor([_fila(fila, ancho) for fila in escritas]),
                tensor([_fila(fila, largo) for fila in pedidas]),
            ),
            {"eos_id": fin},
        )

    return [
        caso("bien o mal", ("bien", "mal", "mal"), eos_id),
        caso("bien o mal", ("bien", "bien", "mal", "bien"), eos_id),
        caso("para antes o después", ("antes", "bien", "no para", "después"), eos_id),
        caso("para antes o después", ("antes", "no para", "mal"), eos_id),
        caso("para antes o después", ("corta", "corta", "corta"), eos_id),
        caso("detrás del fin", ("basura", "antes", "mal"), eos_id),
        caso("detrás del fin", ("basura", "basura", "antes", "después"), eos_id),
        caso("otro fin", ("bien", "antes", "mal"), eos_id + 6),
        caso("otro fin", ("basura", "bien", "no para", "mal"), eos_id + 7),
    ]


_PUNTUAR = Ejercicio(
    id="14.2",
    nombre="exact_and_token",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    tolerancia=1e-6,
    aprende="puntuar secuencias escritas sin ayuda: exactas y por símbolo",
    bordes=(Borde("bien o mal", {0: 0, 1: 0}),),
    casos=_casos_puntuar,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[5, 2, 9], [7, 4, 2]]), tensor([[5, 2, 0, 0], [7, 3, 4, 2]]))
    ),
    propiedades={
        "bien o mal": (2, "Cuenta a mano los sitios pedidos de cada fila, con su fin."),
        "para antes o después": (3, "Quien no escribe el fin en su sitio falla ese sitio."),
        "detrás del fin": (3, "Lo que está detrás del primer fin no se ha escrito."),
        "otro fin": (1, "El número del fin es un argumento."),
    },
    variante={"eos_id": 2},
    alternativas={"eos_id": (3, 4, 5)},
    pistas=(
        "Decide para cada sitio dos cosas: si se pedía algo en él y si lo escrito llegaba hasta"
        " él.",
        "Un sitio está vivo si antes de él no hay ningún fin; el del propio fin también lo está.",
        "Una fila es exacta si acierta tantos sitios como se pedían. Los anchos pueden ser"
        " distintos: compara hasta el menor.",
    ),
    mutantes=(
        cambia(
            "cuenta el relleno",
            "Los sitios de relleno no se pedían: no cuentan al dividir.",
            "counts = alive(wanted).sum(dim=1)",
            "counts = torch.full((len(wanted),), wanted.shape[1])",
        ),
        cambia(
            "sin el fin",
            "El fin es un sitio más: quien no para donde debe lo falla.",
            "ended.cumsum(dim=1) - ended == 0",
            "ended.cumsum(dim=1) == 0",
        ),
        cambia(
            "sigue tras el fin",
            "Lo escrito acaba en su primer fin: lo de detrás no acierta nada.",
            "same & alive(written)[:, :width] & ",
            "same & ",
        ),
        cambia(
            "media de filas",
            "Se cuentan los sitios de todo el lote: no es la media de las filas.",
            "hits.sum().item() / counts.sum().item()",
            "(hits / counts).mean().item()",
        ),
        cambia(
            "fin fijo",
            "El fin es el que llega en `eos_id`, no siempre el 2.",
            "(ids == eos_id)",
            "(ids == 2)",
        ),
        cambia(
            "hasta la más corta",
            "Lo escrito puede ser más estrecho que lo pedido: comparando solo hasta donde llega, no"
            " se nota que falta el fin.",
            "(hits == counts)",
            "(hits == alive(wanted)[:, :width].sum(dim=1))",
        ),
        cuerpo(
            "sin cortar",
            "Corta lo escrito en su primer fin antes de comparar: lo que va detrás no cuenta, ni a"
            " favor ni en contra.",
            """
            exact = hits = places = 0
            for a, b in zip(written.tolist(), wanted.tolist(), strict=True):
                b = b[: b.index(eos_id) + 1]
                exact, places = exact + (a == b), places + len(b)
                hits += sum(x == y for x, y in zip(a, b, strict=False))
            return exact / len(written), hits / places""",
        ),
        cambia(
            "prefijo",
            "Una fila que acierta todo menos el fin no es idéntica.",
            "(hits == counts)",
            "(hits >= counts - 1)",
        ),
        cambia(
            "entre lo escrito",
            "Se divide entre los sitios pedidos, no entre los escritos.",
            "/ counts.sum().item()",
            "/ alive(written).sum().item()",
        ),
    ),
)

# --- 14.3 -----------------------------------------------------------------------------------------

_MIOPE = Ejercicio(
    id="14.3",
    nombre="short_sighted",
    tipo="predecir",
    dificultad=1,
    minutos=6,
    aprende="reconocer qué sumas piden mirar más allá del lugar vecino",
    propiedades={
        "respuesta": (2, "Busca un lugar en el que el de su derecha engañe: ¿cuánto suma?")
    },
    opciones=("458+367", "275+528", "199+099", "354+645"),
    pistas=(
        "Si un lugar suma 10 o más por sí solo, lleva sea cual sea lo que le llegue.",
        "El miope se equivoca si el lugar de la derecha lleva solo gracias a lo que le llega.",
    ),
    mutantes=(
        cuerpo(
            "muchas llevadas",
            "Lleva en todos los lugares, pero las unidades y las decenas pasan de 9 por sí solas.",
            "return '458+367'",
        ),
        cuerpo(
            "la más larga",
            "Cada lugar suma 18: lleva sin ayuda de nadie, y el miope lo ve.",
            "return '199+099'",
        ),
        cuerpo(
            "todo nueves",
            "Todos suman 9, pero a ninguno le llega una llevada: el miope acierta.",
            "return '354+645'",
        ),
    ),
)

# --- 14.4 -----------------------------------------------------------------------------------------


def _casos_cadenas(rng: Any) -> list[Caso]:
    def pareja(clases: str) -> tuple[int, int]:
        """Dos sumandos; cada letra dice si sus cifras suman 8 o menos (-), 9 (9) o más (+)."""
        a = b = 0
        for clase in clases:  # de las unidades hacia arriba van al final
            suma = {"-": _azar(rng, 9), "9": 9, "+": 10 + _azar(rng, 9)}[clase]
            bajo, alto = max(0, suma - 9), min(9, suma)
            cifra = bajo + _azar(rng, alto - bajo + 1)
            a, b = 10 * a + cifra, 10 * b + suma - cifra
        return a, b

    def caso(propiedad: str, letras: str, cifras: int, cuantas: int) -> Caso:
        parejas, escritos = [], []
        for i in range(cuantas):
            clases = "".join(letras[_azar(rng, len(letras))] for _ in range(cifras))
            if letras == "9+":  # acaba en llevada: una cadena hasta arriba
                clases = clases[:-1] + "+"
            a, b = pareja(clases)
            k = _azar(rng, cifras + 1)
            cifra = (a + b) // 10**k % 10
            nueva = (cifra + 1 + _azar(rng, 9)) % 10 if i % 2 == 0 else cifra
            parejas.append([a, b])
            escritos.append(a + b + (nueva - cifra) * 10**k)
        return Caso(propiedad, (tensor(parejas), tensor(escritos), cifras))

    uno, otro = distintos(rng, 3, 6, 2)
    return [
        caso("sin llevadas", "-9", 3, uno),
        caso("sin llevadas", "-9", 4, otro),
        caso("llevadas sueltas", "-+", entero(rng, 3, 5), 7),
        caso("llevadas sueltas", "-+", entero(rng, 3, 5), 8),
        caso("cadenas", "9+", entero(rng, 3, 6), 9),
        caso("cadenas", "-9+", entero(rng, 3, 6), 20),
        caso("cadenas", "-9+", entero(rng, 3, 6), 20),
    ]


_CADENAS = Ejercicio(
    id="14.4",
    nombre="errors_by_chain",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="contar los fallos de una suma según la cadena de llevadas que llega a cada lugar",
    bordes=(Borde("sin llevadas", {0: 0, 1: 0}),),
    casos=_casos_cadenas,
    ejemplo=lambda: Caso("ejemplo", (tensor([[58, 67], [10, 21]]), tensor([25, 31]), 2)),
    propiedades={
        "sin llevadas": (
            2,
            "Sin llevadas todos los lugares caen en la fila 0. ¿Cuántos son, y en cuántos difiere"
            " la cifra escrita?",
        ),
        "llevadas sueltas": (3, "La cadena de un lugar no lo incluye a él: son los de su derecha."),
        "cadenas": (3, "Un lugar que suma 9 lleva si le llega una, y entonces alarga la cadena."),
    },
    pistas=(
        "Suma en papel y apunta encima de cada lugar si le llega una llevada y desde cuántos"
        " lugares seguidos.",
        "De las unidades hacia arriba: si un lugar lleva, la cadena del siguiente es una más larga;"
        " si no, es 0.",
        "El resultado tiene una cifra más que los sumandos: ese lugar también cuenta.",
    ),
    mutantes=(
        cambia(
            "sí o no",
            "La cadena cuenta cuántos lugares seguidos llevan, no solo si el de al lado lleva.",
            "chain + 1 if place >= 10",
            "1 if place >= 10",
        ),
        cambia(
            "el 9 corta la cadena",
            "Un lugar que suma 9 y al que le llega una llevada también lleva: la cadena sigue.",
            "chain + 1 if place >= 10",
            "chain + 1 if place - (chain > 0) >= 10",
        ),
        cambia(
            "no vuelve a 0",
            "Un lugar que no lleva corta la cadena: la del siguiente vuelve a ser 0.",
            "chain + 1 if place >= 10 else 0",
            "chain + (place >= 10)",
        ),
        cambia(
            "sin lo que llega",
            "Falta sumar la llevada que llega: un lugar que suma 9 también puede llevar.",
            " + (chain > 0)",
            "",
        ),
        cambia(
            "al revés",
            "El primer lugar es el de las unidades, y en el número es la última cifra.",
            "result // 10**k % 10",
            "result // 10 ** (digits - k) % 10",
        ),
        cambia(
            "sin la última",
            "Falta el lugar de la última llevada: el resultado tiene una cifra más.",
            "for k in range(digits + 1)",
            "for k in range(digits)",
        ),
        cambia(
            "toda la suma",
            "Se mira cifra a cifra: un lugar no falla porque falle otro de la misma suma.",
            "result // 10**k % 10 != place % 10",
            "result != a + b",
        ),
        cambia(
            "hasta el primer fallo",
            "Después de un fallo se siguen mirando los lugares de la suma.",
            "            chain = chain + 1 if place >= 10 else 0",
            "            if result // 10**k % 10 != place % 10:\n                break\n"
            "            chain = chain + 1 if place >= 10 else 0",
        ),
        cambia(
            "se incluye",
            "A la cadena de un lugar no le toca contarlo a él: son los de su derecha.",
            "            table[chain, 0] += 1\n"
            "            table[chain, 1] += result // 10**k % 10 != place % 10\n"
            "            chain = chain + 1 if place >= 10 else 0\n",
            "            chain = chain + 1 if place >= 10 else 0\n"
            "            table[chain, 0] += 1\n"
            "            table[chain, 1] += result // 10**k % 10 != place % 10\n",
        ),
        cambia(
            "aciertos",
            "La segunda columna cuenta los fallos, no los aciertos.",
            "!= place % 10",
            "== place % 10",
        ),
        cambia(
            "no se rompe",
            "La cadena vuelve a 0 en cuanto un lugar no lleva.",
            "if place >= 10 else 0",
            "if place >= 10 else chain",
            "(chain > 0)",
            "(a % 10**k + b % 10**k >= 10**k)",
        ),
    ),
)

# --- 14.5 -----------------------------------------------------------------------------------------


def _columnas(a: int, b: int) -> tuple[tuple[int, ...], ...]:
    """Las dos cifras de cada columna, ordenadas; la primera, la de las unidades."""
    return tuple(tuple(sorted((a // 10**k % 10, b // 10**k % 10))) for k in range(3))


def _cambia_cifras(a: int, b: int, lugares: Sequence[int]) -> tuple[int, int]:
    """La misma suma con las cifras de esos lugares cambiadas de sumando."""
    gana = sum((b // 10**k % 10 - a // 10**k % 10) * 10**k for k in lugares)
    return a + gana, b - gana


def _senuelo(a: int, b: int, clase: int) -> tuple[int, int]:
    """Otra suma: con el mismo resultado, o con las mismas columnas en otro orden."""
    if clase == 1:
        return a + 1, b - 1
    return a % 100 * 10 + a // 100, b % 100 * 10 + b // 100


def _casos_fuga(rng: Any) -> list[Caso]:
    def texto(par: tuple[int, int], ancho: int = 0) -> str:
        return "+".join(f"{n:0{ancho}}" for n in par)

    def caso(propiedad: str, cuantas: int, copia: Any) -> Caso:
        """En ``test``, una de cada tres es una copia; las demás son señuelos."""
        train, test, usadas = [], [], set()
        while len(train) < cuantas:
            a, b = 110 + _azar(rng, 780), (11 if len(train) % 2 else 110) + _azar(rng, 88)
            clase, columnas = (len(train) + 1) % 3, _columnas(a, b)
            falsa = _senuelo(a, b, clase)
            nuevas = {columnas, _columnas(*falsa)}
            if nuevas & usadas or len(nuevas) == 1 or any(x == y for x, y in columnas):
                continue
            usadas |= nuevas
            train.append((a, b))
            es_copia = clase == 0 or len(train) < 3
            test.append(copia(a, b) if es_copia else texto(falsa, 3))
        sin_cero, otro = 10 * (1 + _azar(rng, 9)) + 1 + _azar(rng, 9), 111 * (1 + _azar(rng, 9))
        train.append((sin_cero, otro))
        test += [f"{10 * sin_cero}+{otro}", test[0]]  # con un cero detrás; y una copia, repetida
        orden = permutacion(rng, len(test))
        return Caso(propiedad, ([texto(par, 3) for par in train], [test[i] for i in orden]))

    def al_reves(a: int, b: int) -> str:
        return texto((b, a) if _azar(rng, 3) else (a, b), 3)

    def con_ceros(a: int, b: int) -> str:
        return texto((a, b) if _azar(rng, 2) else (b, a), 3 + _azar(rng, 4))

    def gemela(a: int, b: int) -> str:
        lugares = ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2))[_azar(rng, 6)]
        return texto(_cambia_cifras(a, b, lugares), _azar(rng, 5))

    def gemela_con_menos_cifras(a: int, b: int) -> str:
        return texto(_cambia_cifras(a, b, (2,)))

    return [
        caso("al revés", entero(rng, 6, 9), al_reves),
        caso("al revés", entero(rng, 10, 12), al_reves),
        caso("con ceros", entero(rng, 6, 9), lambda a, b: texto((a, b), 4 + _azar(rng, 3))),
        caso("con ceros", entero(rng, 9, 12), con_ceros),
        caso("gemelas", entero(rng, 6, 9), gemela_con_menos_cifras),
        caso("gemelas", entero(rng, 9, 12), gemela),
        caso("gemelas", entero(rng, 12, 200), gemela),
    ]


_FUGA = Ejercicio(
    id="14.5",
    nombre="leaked",
    tipo="escribir",
    dificultad=2,
    minutos=12,
    aprende="encontrar los ejemplos de prueba que ya se vieron al entrenar, escritos de otro modo",
    bordes=(
        Borde("al revés", valores={1: []}),
        Borde("al revés", valores={0: []}),
    ),
    casos=_casos_fuga,
    ejemplo=lambda: Caso(
        "ejemplo", (["310+098", "007+005"], ["98+310", "008+004", "5+7", "318+90"])
    ),
    propiedades={
        "al revés": (2, "¿Qué tienen en común 310 + 98 y 98 + 310, que no tiene 311 + 97?"),
        "con ceros": (2, "«098» y «98» son el mismo número."),
        "gemelas": (2, "¿Qué ve el sumador de 458 + 367 que no vea en 468 + 357?"),
    },
    pistas=(
        "Busca una forma de escribir cada suma que sea la misma para todas sus variantes.",
        "Columna a columna, desde las unidades y con las dos cifras ordenadas, da igual de qué"
        " sumando sea cada una.",
        "Guarda las formas de entrenar en un conjunto y pregunta por cada una de prueba.",
    ),
    mutantes=(
        cambia(
            "por el texto",
            "La misma suma puede estar escrita de otra manera: compara sus cifras.",
            'tuple("".join(sorted(pair)) for pair in columns)',
            "(text,)",
        ),
        cambia(
            "sin ordenar",
            "En una columna da igual qué cifra es de cada sumando.",
            '"".join(sorted(pair))',
            '"".join(pair)',
        ),
        cambia(
            "con los ceros",
            "Los ceros de delante no cambian el número.",
            'number.lstrip("0")[::-1]',
            "number[::-1]",
        ),
        cambia(
            "solo los sumandos",
            "Las gemelas tienen otros sumandos: hay que comparar columna a columna.",
            'tuple("".join(sorted(pair)) for pair in columns)',
            'tuple(sorted(int(number) for number in text.split("+")))',
        ),
        cambia(
            "sin ningún cero",
            "Solo sobran los ceros de delante: 31 y 310 no son el mismo número.",
            'number.lstrip("0")[::-1]',
            'number.replace("0", "")[::-1]',
        ),
        cambia(
            "cada una, una vez",
            "Una suma que está dos veces en test son dos índices.",
            "canonical(text) in seen",
            "canonical(text) in seen and text not in test[:i]",
        ),
        cambia(
            "por la izquierda",
            "Las columnas se cuentan desde las unidades, también si un número es más corto.",
            "[::-1]",
            "",
        ),
        cambia(
            "lo que suma cada columna",
            "En una columna 4 y 5 no son lo mismo que 3 y 6, aunque sumen igual.",
            '"".join(sorted(pair))',
            "str(sum(map(int, pair)))",
        ),
        cambia(
            "sin decir la columna",
            "Con las mismas cifras en otras columnas, la suma es otra.",
            'tuple("".join(sorted(pair)) for pair in columns)',
            'tuple(sorted("".join(sorted(pair)) for pair in columns))',
        ),
        cambia(
            "por el resultado",
            "Dos sumas con el mismo resultado no son la misma.",
            'tuple("".join(sorted(pair)) for pair in columns)',
            '(sum(int(number) for number in text.split("+")),)',
        ),
        cambia(
            "las limpias",
            "Se piden las que ya estaban, no las nuevas.",
            "canonical(text) in seen",
            "canonical(text) not in seen",
        ),
        cambia(
            "los textos",
            "Se piden los índices, no las sumas.",
            "[i for i, text",
            "[text for i, text",
        ),
        cambia(
            "una columna basta",
            "Tienen que coincidir todas las columnas.",
            "canonical(text) in seen",
            "any(set(canonical(text)) & set(one) for one in seen)",
        ),
    ),
)

# --- 14.6 y 14.7 ----------------------------------------------------------------------------------


def _crece(rng: Any, hondo: int, operaciones: str = "+-*/") -> Arbol:
    """Un árbol de profundidad ``hondo``."""
    if hondo == 0:
        return _HOJAS[_azar(rng, len(_HOJAS))]
    lados = [_crece(rng, hondo - 1, operaciones), _crece(rng, _azar(rng, hondo), operaciones)]
    if _azar(rng, 2):
        lados.reverse()
    return (operaciones[_azar(rng, len(operaciones))], *lados)


def _cadena(rng: Any, operaciones: str, por_la_izquierda: bool = True) -> Arbol:
    """Varias operaciones seguidas, cada una dentro de la siguiente, y ninguna falta."""
    arbol: Arbol = _crece(rng, 0)
    for i in permutacion(rng, len(operaciones)):
        hoja = _crece(rng, 0)
        lados = (arbol, hoja) if por_la_izquierda else (hoja, arbol)
        arbol = (operaciones[i], *lados)
    return arbol


def _prefijo(arbol: Arbol) -> str:
    return arbol if isinstance(arbol, str) else arbol[0] + "".join(map(_prefijo, arbol[1:]))


def _infijo(arbol: Arbol, justos: bool, rango: int = 0) -> str:
    """Con los paréntesis justos o con todos menos los de fuera."""
    if isinstance(arbol, str):
        return arbol
    propio = _RANGO[arbol[0]]
    lados = [
        _infijo(lado, justos, exige if justos else 3)
        for lado, exige in zip(arbol[1:], (propio, propio + 1), strict=True)
    ]
    texto = arbol[0].join(lados)
    return f"({texto})" if propio < rango else texto


def _casos_prefijo(rng: Any) -> list[Caso]:
    def mezcla(propiedad: str) -> Caso:
        """Un producto y una suma seguidos, en los dos órdenes."""
        a, b = _crece(rng, 1, "*/"), _crece(rng, 1, "*/")
        arbol = ("+-"[_azar(rng, 2)], ("-+"[_azar(rng, 2)], _crece(rng, 0), a), b)
        return Caso(propiedad, (_infijo(arbol, True),))

    def de_mas(arbol: Arbol) -> str:
        return f"(({_infijo(arbol, True)}))*({_crece(rng, 0)})"

    def seguidas(operaciones: str) -> str:
        return _crece(rng, 0) + "".join(signo + _crece(rng, 0) for signo in operaciones)

    todos, hondo = "todos los paréntesis", entero(rng, 2, 4)
    return [
        Caso(todos, (_infijo(_crece(rng, hondo), False),)),
        Caso(todos, (_infijo(_crece(rng, 3), False),)),
        mezcla("prioridad"),
        mezcla("prioridad"),
        Caso("por la izquierda", (_infijo(_cadena(rng, "+-+-"), True),)),
        Caso("por la izquierda", (_infijo(_cadena(rng, "*/*/"), True),)),
        Caso("por la izquierda", (seguidas("-+-"),)),
        Caso("por la izquierda", (seguidas("/*/"),)),
        Caso("de todo", (_infijo(_crece(rng, 5), True),)),
        Caso("de todo", (de_mas(_crece(rng, 3)),)),
    ]


_PREFIJO = Ejercicio(
    id="14.6",
    nombre="to_prefix",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="escribir en orden prefijo, con dos pilas, una expresión con prioridades",
    bordes=(Borde("todos los paréntesis", valores={0: "7"}),),
    casos=_casos_prefijo,
    ejemplo=lambda: Caso("ejemplo", ("9-(3-x)*2-y",)),
    propiedades={
        "todos los paréntesis": (2, "Un paréntesis que cierra acaba lo que empezó el suyo."),
        "prioridad": (2, "Una operación espera si la siguiente va antes que ella."),
        "por la izquierda": (2, "9 − 3 − 1 es 5, no 7."),
        "de todo": (2, "Escribe qué hay en cada pila tras leer cada signo."),
    },
    prohibido=(CODIGO,),
    pistas=(
        "No sabes qué hacer con una operación hasta ver la siguiente: tiene que esperar en algún"
        " sitio.",
        "Dos pilas: los operandos ya escritos en prefijo y las operaciones que esperan.",
        "Al llegar una operación, cierra antes las que esperan con su mismo rango o mayor, hasta un"
        " paréntesis abierto.",
    ),
    mutantes=(
        cambia(
            "por la derecha",
            "Entre operaciones del mismo rango va antes la de la izquierda.",
            "close(rank[sign])",
            "close(rank[sign] + 1)",
        ),
        cambia(
            "sin prioridad",
            "El producto y el cociente van antes que la suma y la resta.",
            '"*": 2, "/": 2',
            '"*": 1, "/": 1',
        ),
        cambia(
            "suma primero",
            "Las prioridades están cambiadas: antes el producto que la suma.",
            '"+": 1, "-": 1',
            '"+": 3, "-": 3',
        ),
        cambia(
            "producto antes que cociente",
            "El producto y el cociente tienen el mismo rango: va antes el de la izquierda.",
            '"*": 2, "/": 2',
            '"*": 3, "/": 2',
        ),
        cambia(
            "suma antes que resta",
            "La suma y la resta tienen el mismo rango: va antes la de la izquierda.",
            '"+": 1, "-": 1',
            '"+": 1.5, "-": 1',
        ),
        cambia(
            "lados cambiados",
            "Los lados están cambiados: el último operando apilado es el derecho.",
            "right, left = operands.pop(), operands.pop()",
            "left, right = operands.pop(), operands.pop()",
        ),
        cambia(
            "posfijo",
            "Eso es el orden posfijo: la operación va delante de sus dos lados.",
            "waiting.pop() + left + right",
            "left + right + waiting.pop()",
        ),
    ),
)


def _casos_infijo(rng: Any) -> list[Caso]:
    def caso(propiedad: str, arbol: Arbol) -> Caso:
        return Caso(propiedad, (_prefijo(arbol),))

    def sumas(lado: int) -> Arbol:
        """Una suma a un lado de un producto, que sí los pide."""
        lados = [_crece(rng, 1, "+-"), _crece(rng, 1, "*/")]
        return ("*/"[_azar(rng, 2)], *(lados if lado else lados[::-1]))

    return [
        caso("ninguno", _cadena(rng, "+-+-")),
        caso("ninguno", ("+-"[_azar(rng, 2)], _crece(rng, 1, "*/"), _crece(rng, 1, "*/"))),
        caso("por rango", ("*", _crece(rng, 1, "+-"), _crece(rng, 1, "+-"))),
        caso("por rango", sumas(1)),
        caso("por rango", ("-", sumas(1), _crece(rng, 0))),
        caso("el derecho", _cadena(rng, "+*", False)),
        caso("el derecho", _cadena(rng, "++-", False)),
        caso("el derecho", _cadena(rng, "**/", False)),
        caso("el derecho", _crece(rng, 5)),
    ]


_INFIJO = Ejercicio(
    id="14.7",
    nombre="to_infix",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="leer un prefijo con una pila y escribir solo los paréntesis que cambian el árbol",
    bordes=(Borde("ninguno", valores={0: "7"}),),
    casos=_casos_infijo,
    ejemplo=lambda: Caso("ejemplo", ("-*+3x2-y1",)),
    propiedades={
        "ninguno": (2, "Si al quitar un paréntesis el árbol es el mismo, sobra."),
        "por rango": (2, "Una suma dentro de un producto pide paréntesis; al revés, no."),
        "el derecho": (3, "Con el mismo rango, el lado derecho los pide y el izquierdo no."),
    },
    prohibido=(CODIGO,),
    pistas=(
        "Leído del final al principio, al llegar a una operación sus dos lados ya están en la"
        " pila.",
        "Guarda con cada trozo el rango de su operación principal: de él depende si pide"
        " paréntesis.",
        "El lado izquierdo los pide si su rango es menor que el de la operación; el derecho, si es"
        " menor o el mismo.",
    ),
    mutantes=(
        cambia(
            "todos",
            "Sobran paréntesis: solo van donde al quitarlos cambiaría el árbol.",
            "part[1] >= least",
            "part[1] == 3",
        ),
        cambia(
            "ninguno",
            "Faltan paréntesis: lo escrito es la expresión de otro árbol.",
            "part[1] >= least",
            "part[1] >= 0",
        ),
        cambia(
            "derecho sin ellos",
            "Con el mismo rango, el lado derecho pide paréntesis: sin ellos se asocia por la"
            " izquierda.",
            "wrap(right, rank[sign] + 1)",
            "wrap(right, rank[sign])",
        ),
        cambia(
            "izquierdo con ellos",
            "Con el mismo rango, el lado izquierdo no pide paréntesis.",
            "wrap(left, rank[sign])",
            "wrap(left, rank[sign] + 1)",
        ),
        cambia(
            "por el valor",
            "Se conserva el árbol, no solo el valor: sin paréntesis, la suma de la derecha pasa a"
            " la izquierda.",
            "wrap(right, rank[sign] + 1)",
            'wrap(right, rank[sign] + (sign in "-/"))',
        ),
        cambia(
            "lados cambiados",
            "Los lados están cambiados: al leer del final, el último apilado es el izquierdo.",
            "left, right = stack.pop(), stack.pop()",
            "right, left = stack.pop(), stack.pop()",
        ),
        cambia(
            "con los de fuera",
            "La expresión entera no va entre paréntesis.",
            "return stack[0][0]",
            'return f"({stack[0][0]})"',
        ),
    ),
)

# --- 14.8 -----------------------------------------------------------------------------------------


def _casos_parentesis(rng: Any) -> list[Caso]:
    def caso(propiedad: str, arbol: Arbol) -> Caso:
        texto = _infijo(arbol, False)
        n = len(texto)
        puntos = 2 * normal(rng, entero(rng, 2, 4), n, n)
        return Caso(propiedad, (puntos.softmax(dim=-1), texto))

    def seguidos() -> Arbol:
        return ("+-"[_azar(rng, 2)], _crece(rng, 1), _crece(rng, 1))

    def anidados(veces: int) -> Arbol:
        arbol = _crece(rng, 1)
        for _ in range(veces):
            lados = [arbol, _crece(rng, 0)]
            if _azar(rng, 2):
                lados.reverse()
            arbol = ("+-*/"[_azar(rng, 4)], *lados)
        return arbol

    return [
        caso("seguidos", seguidos()),
        caso("seguidos", seguidos()),
        caso("anidados", anidados(2)),
        caso("anidados", anidados(3)),
        caso("muchos", ("*", seguidos(), anidados(2))),
        caso("muchos", ("-", ("+", seguidos(), anidados(3)), seguidos())),
    ]


_EXCESO = Ejercicio(
    id="14.8",
    nombre="bracket_excess",
    tipo="medir",
    dificultad=2,
    minutos=25,
    aprende="medir si una cabeza mira al sitio que se espera, con un control que podría ganar",
    bordes=(Borde("seguidos", {0: 0}),),
    casos=_casos_parentesis,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor(
                [
                    [
                        [0.0, 0.5, 0.5, 0.0, 0.0, 0.0],
                        [0.0, 0.2, 0.0, 0.6, 0.2, 0.0],
                        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
                        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                        [0.1, 0.0, 0.0, 0.3, 0.0, 0.6],
                    ]
                ]
            ),
            "((x)y)",
        ),
    ),
    propiedades={
        "seguidos": (2, "Con dos parejas seguidas, el control de cada una es la otra."),
        "anidados": (3, "El que cierra primero es el de la pareja de más adentro."),
        "muchos": (2, "El control es la media de los demás que cierran, sin el suyo."),
    },
    pistas=(
        "Empareja primero los paréntesis en papel; los pesos vienen después.",
        "Con una pila: cada paréntesis que cierra es pareja del último que sigue abierto.",
        "De la fila del que abre interesan solo las columnas de los que cierran.",
    ),
    mutantes=(
        cambia(
            "sin control",
            "Falta restar el control: quien mira a todos los que cierran también mira al suyo.",
            "differences.append(weights[:, i, j] - others.mean(dim=1))",
            "differences.append(weights[:, i, j])",
        ),
        cambia(
            "control con el suyo",
            "El control lleva dentro el paréntesis bueno: son los demás.",
            "sorted(closings - {j})",
            "sorted(closings)",
        ),
        cambia(
            "filas cambiadas",
            "La fila es la del que abre, que es quien mira; la columna, la del que cierra.",
            "others = weights[:, i, sorted(closings - {j})]",
            "weights = weights.mT if not differences else weights\n"
            "        others = weights[:, i, sorted(closings - {j})]",
        ),
        cambia(
            "por orden",
            "El primero que cierra no es la pareja del primero que abre: es la del último abierto.",
            "opened.pop()",
            "opened.pop(0)",
        ),
        cambia(
            "suma el control",
            "El control es una media, no una suma: con más paréntesis no debe pesar más.",
            "others.mean(dim=1)",
            "others.sum(dim=1)",
        ),
        cambia(
            "control uniforme",
            "El control son los demás paréntesis que cierran, no un reparto por igual entre todos"
            " los signos.",
            "others.mean(dim=1)",
            "1 / len(text)",
        ),
        cambia(
            "suma de parejas",
            "Se pide la media de las parejas, no su suma.",
            ".mean(dim=0)",
            ".sum(dim=0)",
        ),
    ),
)

# --- 14.9 -----------------------------------------------------------------------------------------


def _casos_intervalo(rng: Any, *, z: float = 1.96) -> list[Caso]:
    def caso(propiedad: str, hits: int, n: int, ancho: float) -> Caso:
        return Caso(propiedad, (hits, n), {"z": ancho})

    pocas, muchas = distintos(rng, 20, 60, 2)
    return [
        caso("unos cuantos", entero(rng, 6, 14), pocas, z),
        caso("unos cuantos", entero(rng, 800, 990), 1000, z),
        caso("todos o ninguno", pocas, pocas, z),
        caso("todos o ninguno", 0, muchas, z),
        caso("todos o ninguno", 1000, 1000, z),
        caso("otra confianza", entero(rng, 6, 14), muchas, z + real(rng, 0.3, 0.9)),
        caso("otra confianza", entero(rng, 900, 990), 1000, z - real(rng, 0.3, 0.9)),
    ]


_INTERVALO = Ejercicio(
    id="14.9",
    nombre="rate_interval",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="decir entre qué valores está una tasa de la que se han visto todos los aciertos",
    bordes=(
        "hits == 0",
        "hits == n",
        Borde("todos o ninguno", valores={0: 1, 1: 1}),
    ),
    casos=_casos_intervalo,
    ejemplo=lambda: Caso("ejemplo", (9, 10)),
    propiedades={
        "unos cuantos": (2, "Comprueba que los dos extremos cumplen la igualdad del enunciado."),
        "todos o ninguno": (3, "Con todos los aciertos, la raíz con la tasa medida vale 0."),
        "otra confianza": (1, "La anchura depende de `z`, que es un argumento."),
    },
    variante={"z": 1.96},
    alternativas={"z": (1.6449, 2.2414, 2.5758)},
    pistas=(
        "Los extremos son los valores en los que la desigualdad es una igualdad.",
        "Eleva al cuadrado los dos lados: queda una ecuación de segundo grado en la tasa.",
        "El coeficiente del cuadrado es 1 más z al cuadrado entre n.",
    ),
    mutantes=(
        cuerpo(
            "con la tasa medida",
            "La desviación es la que habría con la tasa que se prueba, no con la medida: con 1000"
            " de 1000 saldría un punto.",
            """
            rate = hits / n
            half = z * math.sqrt(rate * (1 - rate) / n)
            return rate - half, rate + half""",
        ),
        cambia(
            "centro medido",
            "El intervalo no está centrado en la tasa medida: se acerca a la mitad.",
            "middle = rate + extra / 2",
            "middle = rate * (1 + extra)",
        ),
        cambia(
            "sin dividir",
            "Falta dividir entre el coeficiente del cuadrado.",
            "return (middle - half) / (1 + extra), (middle + half) / (1 + extra)",
            "return middle - half, middle + half",
        ),
        cambia(
            "z fija",
            "Se usa siempre la misma `z`: es un argumento.",
            "rate, extra = hits / n, z**2 / n",
            "z = 1.96\n    rate, extra = hits / n, z**2 / n",
        ),
        cambia(
            "extremos al revés",
            "Primero va el extremo menor.",
            "(middle - half) / (1 + extra), (middle + half) / (1 + extra)",
            "(middle + half) / (1 + extra), (middle - half) / (1 + extra)",
        ),
        cambia(
            "solo la mitad",
            "Falta una parte de la raíz: con todos los aciertos no es 0.",
            " + extra / (4 * n))",
            ")",
        ),
    ),
)

# --- 14.10 ----------------------------------------------------------------------------------------


def _casos_rondas(rng: Any) -> list[Caso]:
    def suma(clase: str) -> int:
        return {"-": _azar(rng, 9), "9": 9, "+": 10 + _azar(rng, 9)}[clase]

    def caso(propiedad: str, clases: str) -> Caso:
        return Caso(propiedad, (tensor([suma(clase) for clase in clases]),))

    def salteadas(letras: str, n: int) -> str:
        return "".join(letras[_azar(rng, len(letras))] for _ in range(n))

    lado = "-+"[_azar(rng, 2)]
    largo = entero(rng, 5, 9)
    return [
        caso("sin dudas", salteadas("-+", entero(rng, 4, 8))),
        caso("sin dudas", salteadas("-+", entero(rng, 4, 8))),
        caso("un nueve", salteadas("-+", 2) + "+9" + salteadas("-+", 2) + "-9+9"),
        caso("un nueve", "9" + salteadas("-+", entero(rng, 3, 6)) + "9"),
        caso("cadenas", "+" + "9" * largo + salteadas("-9+", 3)),
        caso("cadenas", salteadas("-+", 2) + lado + "9" * (largo + 3) + salteadas("-+", 2)),
        caso("cadenas", "9" * entero(rng, 3, 12) + salteadas("-9+", 12)),
    ]


_RONDAS = Ejercicio(
    id="14.10",
    nombre="carry_rounds",
    tipo="escribir",
    dificultad=3,
    minutos=30,
    aprende="resolver todas las llevadas a la vez, doblando en cada ronda lo que se alcanza",
    bordes=(Borde("sin dudas", {0: 0}),),
    casos=_casos_rondas,
    ejemplo=lambda: Caso("ejemplo", (tensor([12, 9, 9, 9, 3, 9]),)),
    propiedades={
        "sin dudas": (2, "Si nadie duda al empezar, no hay rondas: una sola fila."),
        "un nueve": (3, "Las unidades también pueden dudar, y a su derecha todo vale 0."),
        "cadenas": (3, "Compara ronda a ronda con una cadena de cuatro nueves, en papel."),
    },
    pistas=(
        "Escribe las filas en papel con una llevada seguida de cuatro nueves.",
        "En cada ronda todos leen a la vez lo que había antes de ella.",
        "En la ronda r el salto es el doble que en la anterior; lo que cae a la derecha de las"
        " unidades vale 0.",
    ),
    mutantes=(
        cambia(
            "de uno en uno",
            "El salto no crece: en cada ronda se mira el doble de lejos.",
            "step *= 2",
            "step *= 1",
        ),
        cambia(
            "salto de más en más",
            "El salto se dobla en cada ronda: 1, 2, 4; no crece de uno en uno.",
            "step *= 2",
            "step += 1",
        ),
        cambia(
            "el nueve lleva",
            "Quien suma 9 no lleva todavía: duda.",
            "(sums >= 10).long() - (sums == 9).long()",
            "(sums >= 9).long()",
        ),
        cambia(
            "llega de fuera",
            "A la derecha de las unidades no llega ninguna llevada: vale 0.",
            "torch.zeros_like(state[:step])",
            "torch.ones_like(state[:step])",
        ),
        cambia(
            "a la izquierda",
            "Se mira hacia las unidades, que están al principio del tensor.",
            "torch.cat([torch.zeros_like(state[:step]), state[:-step]])",
            "torch.cat([state[step:], torch.zeros_like(state[:step])])",
        ),
        cambia(
            "solo el final",
            "Se piden todas las rondas, también lo que se sabía al empezar.",
            "return torch.stack(rounds)",
            "return torch.stack(rounds[-1:])",
        ),
        cambia(
            "sin el principio",
            "Falta la primera fila: lo que dice cada lugar antes de mirar a nadie.",
            "return torch.stack(rounds)",
            "return torch.stack(rounds[1:] or rounds)",
        ),
        cambia(
            "todos copian",
            "Solo copia quien duda: los demás ya saben si llevan.",
            "torch.where(state == -1, below, state)",
            "torch.where((state == -1).any(), below, state)",
        ),
    ),
)

# --- 14.11 ----------------------------------------------------------------------------------------


def _casos_alcance(rng: Any) -> list[Caso]:
    def caso(propiedad: str, digits: int, reach: int) -> Caso:
        return Caso(propiedad, (digits, reach))

    uno, otro = distintos(rng, 2, 7, 2)
    return [
        caso("sin ver llevadas", uno, 0),
        caso("sin ver llevadas", otro, 0),
        caso("un vecino", uno, 1),
        caso("un vecino", otro + 1, 1),
        caso("varios", entero(rng, 3, 5), 2),
        caso("varios", entero(rng, 6, 9), 2),
        caso("varios", entero(rng, 5, 9), 3),
        caso("varios", 3, entero(rng, 3, 4)),
        caso("muchas cifras", entero(rng, 40, 60), 1),
        caso("muchas cifras", entero(rng, 40, 60), 2),
    ]


_ALCANCE = Ejercicio(
    id="14.11",
    nombre="exact_rate",
    tipo="escribir",
    dificultad=3,
    minutos=35,
    tolerancia=1e-10,
    aprende="calcular qué parte de las sumas se acierta sin ver de dónde viene la llevada",
    bordes=(
        "reach == 0",
        Borde("sin ver llevadas", valores={0: 1}),
    ),
    casos=_casos_alcance,
    ejemplo=lambda: Caso("ejemplo", (2, 1)),
    propiedades={
        "sin ver llevadas": (2, "Sin ver ninguna, acierta solo las sumas que no llevan."),
        "un vecino": (3, "Falla si al lugar que ve, que suma 9, le llega una llevada."),
        "varios": (2, "Comprueba con dos o tres cifras, recorriéndolas todas."),
        "muchas cifras": (2, "Lleva la cuenta lugar a lugar: no hace falta recorrer las sumas."),
    },
    pistas=(
        "De las 100 parejas de cifras, cuenta cuántas suman 10 o más, cuántas 9 y cuántas menos.",
        "Falla en un lugar si le llega una llevada nacida más lejos de lo que ve: todo lo que ve"
        " suma 9.",
        "Recorre los lugares desde las unidades con una probabilidad para cada situación sin"
        " fallos: sin llevada, o con una que ha pasado por tantos nueves seguidos.",
    ),
    mutantes=(
        cambia(
            "uno de más",
            "Ve un lugar de más: cuenta cuántos nueves seguidos lo engañan.",
            "[0.0] * reach",
            "[0.0] * (reach + 1)",
            "[:reach]",
            "[: reach + 1]",
        ),
        cuerpo(
            "fallos independientes",
            "Los fallos de lugares distintos no son independientes: una llevada larga engaña a"
            " varios.",
            """
            carry, rate = 0.0, 1.0
            for k in range(1, digits + 1):
                born = sum(0.45 * 0.1**t for t in range(reach, k))
                rate *= 1 - born
            return rate""",
        ),
        cambia(
            "sin pasar",
            "Un lugar que suma 9 pasa la llevada que le llega: no se pierde.",
            "0.10 * chain for chain",
            "0.0 * chain for chain",
        ),
        cambia(
            "nueves que nacen",
            "Un lugar que suma 9 no lleva por sí solo.",
            "chains = ([0.45 * total]",
            "chains = ([0.45 * total + 0.10 * without]",
        ),
        cambia(
            "los fallos",
            "Se pide la proporción de aciertos, no la de fallos.",
            "    return without + sum(chains)",
            "    return 1 - without - sum(chains)",
        ),
        cambia(
            "sin la última cifra",
            "La cifra de la última llevada también hay que escribirla bien.",
            "for _ in range(digits):",
            "for _ in range(digits - 1):",
        ),
        cambia(
            "acaba sin llevada",
            "También se aciertan sumas que acaban con una llevada.",
            "    return without + sum(chains)",
            "    return without",
        ),
    ),
)

# --- 14.12 ----------------------------------------------------------------------------------------


def _casos_vistas(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, usos: tuple[bool, ...], *, huecos: int = 0, sueltos: int = 0) -> Caso:
        """Cada fila mira a su sitio; unas copian lo que hay en él y otras, lo que dicen los
        demás."""
        filas, pasos, sitios = len(usos), entero(rng, 4, 6), 5 + huecos
        values = 2 * normal(rng, filas, sitios, 5)
        scores = 1.5 * normal(rng, filas, pasos, sitios)
        place = torch.randint(5, (filas, pasos), generator=rng)
        own = torch.arange(sitios) == place[..., None]
        scores = scores + 2 * own
        if huecos:  # quien los destape los oye
            scores[:-1, :, -huecos:] = -torch.inf
            values[:-1, -huecos:] *= 4
        alone, rest = (
            (scores.masked_fill(hidden, -torch.inf).softmax(-1) @ values).argmax(-1)
            for hidden in (~own, own)
        )
        labels = torch.where(torch.tensor(usos)[:, None], alone, rest)
        wrong = torch.randint(4, labels.shape, generator=rng) == 0  # y alguna está mal
        labels = torch.where(wrong, torch.randint(5, labels.shape, generator=rng), labels)
        if sueltos:
            place[:, -sueltos:] = -1
            place[0, 0] = -1
        return Caso(propiedad, (scores, values, labels, place))

    return [
        caso("la usa", (True, True, True)),
        caso("la usa", (True, True, True, True)),
        caso("la mira y no la usa", (False, False, False)),
        caso("la mira y no la usa", (False, False, True)),
        caso("pasos sin sitio", (True, False, True, False), sueltos=2),
        caso("pasos sin sitio", (True, True, False), sueltos=2),
        caso("con relleno", (True, False, True), huecos=2),
        caso("con relleno", (False, True, True, False), huecos=3),
    ]


_VISTAS = Ejercicio(
    id="14.12",
    nombre="hits_by_view",
    tipo="medir",
    dificultad=2,
    minutos=25,
    tolerancia=1e-6,
    aprende="probar, tapando y dejando solo, si una atención usa el sitio al que mira",
    bordes=(
        "(place < 0).any()",
        "infinito(scores)",
        Borde("la usa", {0: 0, 1: 0, 2: 0, 3: 0}),
    ),
    casos=_casos_vistas,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]]]),
            tensor([[[3.0, 0.0], [0.0, 0.0], [0.0, 4.0]]]),
            tensor([[0, 1]]),
            tensor([[0, 1]]),
        ),
    ),
    propiedades={
        "la usa": (2, "Sin su sitio tiene que caer, y con él solo, no."),
        "la mira y no la usa": (2, "Aquí tapar el sitio no estropea casi nada."),
        "pasos sin sitio": (3, "Los pasos con un −1 no cuentan en ninguna de las tres."),
        "con relleno": (2, "Lo que llega con $-\\infty$ no se ve en ninguna de las tres."),
    },
    pistas=(
        "Haz primero la tabla de verdadero y falso, con las formas de `scores`, del sitio de cada"
        " paso; las tres vistas salen de ella.",
        "Tapar un sitio es darle una puntuación de menos infinito antes de la softmax.",
        "Escribe una función que, con lo tapado, dé los aciertos de los pasos marcados, y llámala"
        " tres veces.",
    ),
    mutantes=(
        cambia(
            "con un cero",
            "Una puntuación de 0 no tapa: su peso es e⁰, y aún se ve.",
            "scores.masked_fill(hidden, -torch.inf)",
            "scores.masked_fill(hidden, 0.0)",
        ),
        cambia(
            "todos los pasos",
            "Los pasos sin sitio, con −1, no cuentan.",
            "[place >= 0]",
            "",
        ),
        cambia(
            "a todos los pasos",
            "A cada paso se le tapa su sitio, no los de toda la fila.",
            "torch.arange(scores.shape[-1]) == place[..., None]",
            "(torch.arange(scores.shape[-1]) == place[..., None]).any(1, keepdim=True)"
            ".expand_as(scores)",
        ),
        cambia(
            "lo que escribía",
            "Se compara con lo pedido, no con lo que escribía viéndolo todo.",
            "written == labels",
            "written == (scores.softmax(dim=-1) @ values).argmax(dim=-1)",
        ),
        cambia(
            "cambiadas",
            "La segunda es sin su sitio; la tercera, con su sitio y nada más.",
            "(nothing, own, ~own)",
            "(nothing, ~own, own)",
        ),
        cambia(
            "media de filas",
            "Se cuentan todos los pasos marcados juntos: no es la media de las filas.",
            "right[place >= 0].double().mean()",
            "torch.stack([r[p >= 0].double().mean() for r, p in zip(right, place) if (p >= 0)"
            ".any()]).mean()",
        ),
        cambia(
            "el más mirado",
            "Se escribe según la media de los valores, y no según el del sitio que más pesa.",
            "(weights @ values).argmax",
            "values[torch.arange(len(values))[:, None], weights.argmax(dim=-1)].argmax",
        ),
        cambia(
            "por el otro eje",
            "En cada paso los pesos suman uno entre los sitios de la entrada, no entre los pasos.",
            "masked_fill(hidden, -torch.inf).softmax(dim=-1)",
            "masked_fill(hidden, -torch.inf).softmax(dim=1)",
        ),
        cambia(
            "destapa el relleno",
            "El relleno no se ve nunca, tampoco en la segunda y la tercera.",
            "scores.masked_fill(hidden, -torch.inf)",
            "scores.nan_to_num(neginf=0.0).masked_fill(hidden, -torch.inf)",
        ),
    ),
)

EJERCICIOS = [
    _NOTAS,
    _PUNTUAR,
    _MIOPE,
    _CADENAS,
    _FUGA,
    _PREFIJO,
    _INFIJO,
    _EXCESO,
    _INTERVALO,
    _RONDAS,
    _ALCANCE,
    _VISTAS,
]
