"""Ejercicios del capítulo 2, «Tokens y vectores»."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
    elige,
    entero,
    normal,
    permutacion,
    real,
    tensor,
    uniforme,
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import DERIVADAS, de_atento


def _palabra(rng: Any, letras: str, largo: int) -> str:
    return "".join(elige(rng, letras) for _ in range(largo))


# --- 2.1 ------------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="2.1",
    nombre="merges_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    aprende="contar parejas, unir la mayor y volver a contar",
    propiedades={
        "first": (1, "La pareja está dos veces en una de las palabras."),
        "second": (2, "Tras la primera unión hay que contar de nuevo, con el símbolo unido."),
        "pieces": (1, "Las tres uniones se aplican por orden; lo demás se queda en letras."),
    },
    pistas=(
        "Cada palabra cuenta tantas veces como sale, y una pareja puede estar dos veces en ella.",
        "La primera pareja es a+n. Después ya no hay «a» y «n» sueltas juntas.",
        "La segunda une «an» con «t»; la tercera, «c» con «ant».",
    ),
    mutantes=(
        cambia(
            "una-vez-por-palabra",
            "En «cantan» la pareja a+n está dos veces: cuenta las dos.",
            "pairs[pair] += times",
            "pairs[pair] += times / list(pairwise(word)).count(pair)",
        ),
        cambia(
            "sin-veces",
            "Cada palabra cuenta tantas veces como sale en el corpus, no una.",
            "pairs[pair] += times",
            "pairs[pair] += 1",
        ),
        cambia(
            "dos-uniones",
            "Falta aplicar la tercera unión antes de contar las piezas.",
            "for _ in range(3):",
            "for _ in range(2):",
        ),
        cambia(
            "otra-palabra",
            "Se pide cortar «cantamos», que no está en el corpus.",
            '"cantamos"',
            '"cantan"',
        ),
    ),
)

# --- 2.2 ------------------------------------------------------------------------------------------

_COPIADO = Ejercicio(
    id="2.2",
    nombre="repeated_corpus",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="predecir qué les pasa a las uniones al cambiar el corpus",
    propiedades={"respuesta": (2, "¿Qué le pasa a cada cuenta? ¿Y a cuál es la mayor?")},
    opciones=("todas", "algunas", "ninguna"),
    pistas=(
        "Escribe las cuentas de las parejas antes y después de copiar el texto.",
        "Todas las cuentas se multiplican por lo mismo: ¿cambia cuál es la mayor?",
    ),
    mutantes=(
        cuerpo(
            "todas",
            "Las cuentas cambian todas, pero lo que se elige es la mayor.",
            "return 'todas'",
        ),
        cuerpo(
            "algunas",
            "Los empates también se conservan, y se deshacen igual.",
            "return 'algunas'",
        ),
    ),
)

# --- 2.3 ------------------------------------------------------------------------------------------


def _corpus(rng: Any, letras: str, cuantas: int) -> tuple[list[str], list[int]]:
    palabras: list[str] = []
    while len(palabras) < cuantas:
        nueva = _palabra(rng, letras, entero(rng, 3, 7))
        nueva = nueva + letras[len(palabras) % len(letras)] if nueva in palabras else nueva
        if nueva not in palabras:
            palabras.append(nueva)
        else:
            palabras.append(nueva + _palabra(rng, letras, len(palabras) + 2))
    return palabras, [1 + n for n in permutacion(rng, cuantas)]


def _sin_empates(palabras: list[str], veces: list[int], uniones: int) -> bool:
    """Si en ninguna de las primeras uniones hay dos parejas con la cuenta mayor."""
    filas = [list(palabra) for palabra in palabras]
    for _ in range(uniones):
        cuentas: Counter[tuple[str, str]] = Counter()
        for fila, n in zip(filas, veces, strict=True):
            for pareja in pairwise(fila):
                cuentas[pareja] += n
        primeras = cuentas.most_common(2)
        if len({cuenta for _, cuenta in primeras}) < len(primeras):
            return False
        for fila in filas if primeras else ():
            _une(fila, primeras[0][0])
    return True


def _une(fila: list[str], pareja: tuple[str, str]) -> None:
    """Une la pareja en su sitio, de izquierda a derecha."""
    i = 0
    while i + 1 < len(fila):
        if (fila[i], fila[i + 1]) == pareja:
            fila[i : i + 2] = ["".join(pareja)]
        i += 1


def _uniones(
    propiedad: str, corpus: Callable[[], tuple[list[str], list[int]]], uniones: int
) -> Caso:
    """El primer corpus sin empates: la regla de los empates solo se mide en los suyos."""
    while True:
        palabras, veces = corpus()
        if _sin_empates(palabras, veces, uniones):
            return Caso(propiedad, (palabras, veces, uniones))


def _casos_uniones(rng: Any) -> list[Caso]:
    def seguidas() -> tuple[list[str], list[int]]:
        repetida = elige(rng, "acdeilñorsu")
        palabras = [repetida * n for n in distintos(rng, 3, 9, 3)] + ["b" + repetida + "b"]
        return palabras, [2 + n for n in permutacion(rng, 4)]

    def larga() -> tuple[list[str], list[int]]:
        """Una palabra larga que sale poco y tres cortas que salen más."""
        letras = "".join("abcdefghilmno"[i] for i in permutacion(rng, 13))
        return [letras[:7], letras[7:9], letras[9:11], letras[11:]], [3, *distintos(rng, 4, 9, 3)]

    orden = "".join("abcdefgh"[i] for i in permutacion(rng, 8))
    iguales = [orden[:2], orden[2:4], orden[4:6], orden[6] + orden[0]]
    mezcladas = [sorted(iguales)[i] for i in (1, 3, 0, 2)]
    return [
        _uniones("primera unión", lambda: _corpus(rng, "abcd", 6), 1),
        _uniones("varias uniones", lambda: _corpus(rng, "abcd", 12), 4),
        _uniones("varias uniones", lambda: _corpus(rng, "aeñs", 15), 5),
        _uniones("letras repetidas", seguidas, 2),
        _uniones("letras repetidas", seguidas, 3),
        Caso("empates", (iguales, [entero(rng, 2, 9)] * 4, 3)),
        Caso("empates", (mezcladas, [entero(rng, 2, 9)] * 4, 3)),
        _uniones(
            "se acaban", lambda: ([_palabra(rng, "xyz", 4), "xy"], distintos(rng, 1, 5, 2)), 50
        ),
        _uniones("varias uniones", larga, 3),  # pesarla por sus letras la pone delante
    ]


_APRENDER = Ejercicio(
    id="2.3",
    nombre="learn_merges",
    tipo="escribir",
    dificultad=1,
    minutos=30,
    aprende="escribir BPE: contar, elegir, unir y volver a contar",
    bordes=(
        "n_merges == 1",
        "empate(times)",
        Borde("primera unión", valores={2: 0}),
    ),
    casos=_casos_uniones,
    ejemplo=lambda: Caso("ejemplo", (["toma", "come", "coma"], [2, 4, 2], 4)),
    propiedades={
        "primera unión": (2, "Cuenta las parejas contiguas, cada palabra tantas veces como sale."),
        "varias uniones": (4, "Tras cada unión las palabras son otras: se vuelve a contar."),
        "letras repetidas": (2, "En «aaa» hay dos parejas, pero solo se une una."),
        "empates": (1, "A igualdad, la menor en orden alfabético."),
        "se acaban": (1, "Cuando cada palabra es una pieza, no queda nada que unir."),
    },
    pistas=(
        "Guarda cada palabra como una lista de símbolos y cambia esas listas en cada vuelta.",
        "Al unir, recorre la palabra de izquierda a derecha y salta los dos símbolos unidos.",
        "La mejor es la de mayor cuenta y, a igualdad, la menor: una clave (−cuenta, pareja).",
    ),
    prohibido=(de_atento("atento.tokenizers"),),
    mutantes=(
        cambia(
            "sin-veces",
            "Cada palabra cuenta una vez: faltan las veces que sale (times).",
            "pairs[pair] += n",
            "pairs[pair] += 1",
        ),
        cambia(
            "sin-unir",
            "Las palabras no cambian tras la unión: hay que unir la pareja en todas.",
            "rows = [_join(row, best) for row in rows]",
            "rows = [row for row in rows]",
        ),
        cambia(
            "mayor-en-el-empate",
            "En los empates se ha elegido la pareja mayor del alfabeto.",
            "best = min(pairs, key=lambda pair: (-pairs[pair], pair))",
            "best = max(pairs, key=lambda pair: (pairs[pair], pair))",
        ),
        cambia(
            "la-primera-en-el-empate",
            "En los empates gana la que llegó antes, como hace max: debe ganar la menor pareja.",
            "best = min(pairs, key=lambda pair: (-pairs[pair], pair))",
            "best = max(pairs, key=pairs.__getitem__)",
        ),
        cambia(
            "la-menos-frecuente",
            "Se une la pareja menos frecuente, y es la más frecuente.",
            "(-pairs[pair], pair)",
            "(pairs[pair], pair)",
        ),
        cambia(
            "no-para",
            "Si no quedan parejas hay que parar, no repetir la última.",
            "            break\n",
            "            merges += merges[-1:] * (n_merges - len(merges))\n            break\n",
        ),
        cambia(
            "solo-la-primera",
            "En cada palabra se ha unido solo la primera aparición de la pareja.",
            "rows = [_join(row, best) for row in rows]",
            "for row in rows:\n"
            "            k = next((k for k, p in enumerate(pairwise(row)) if p == best), None)\n"
            "            if k is not None:\n"
            "                row[k : k + 2] = [row[k] + row[k + 1]]",
        ),
    ),
)

# --- 2.4 ------------------------------------------------------------------------------------------


def _casos_encaje(rng: Any) -> list[Caso]:
    letras = [elige(rng, "abc"), elige(rng, "def"), elige(rng, "ñóz")]
    a, b, c = letras
    trozos = [a, a + b, "##" + b, "##" + b + c, "##" + c, "##" + c + a + b, "##" + a]
    larga = "".join(elige(rng, letras) for _ in range(entero(rng, 6, 12)))
    return [
        Caso("la más larga", (a + b + c, trozos)),
        Caso("la más larga", (a + b + c + a + b, trozos)),
        Caso("la más larga", (a + b + c + a, [a, a + b, "##" + b + c + a, "##" + c + a])),
        Caso("almohadillas", (a + a + a, [a, a + a, "##" + a + a, "##" + a])),
        Caso("almohadillas", (a + b, [a, b, "##" + c])),
        Caso("almohadillas", (a + b, ["##" + a, "##" + b, b])),
        Caso("desconocida", (a + b + "x" + c, trozos)),
        Caso("desconocida", (a + b + c + a, [*trozos, "##x"])),
        Caso("desconocida", (b + larga, [a, "##" + a])),
        Caso("no vuelve atrás", (a + b + c, [a, a + b, "##" + b + c])),
        Caso("no vuelve atrás", (a + b + c, [a, a + b, "##" + b + c, "##" + c])),
    ]


_ENCAJE = Ejercicio(
    id="2.4",
    nombre="longest_match",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="cortar una palabra por la pieza más larga que encaja",
    bordes=("min(map(len, pieces)) == 1",),
    casos=_casos_encaje,
    ejemplo=lambda: Caso("ejemplo", ("tokens", ["to", "token", "##s", "##ken", "##kens"])),
    propiedades={
        "la más larga": (3, "En cada punto se prueban los trozos de largo a corto."),
        "almohadillas": (2, "Solo la primera pieza va sin ##: «b» y «##b» son piezas distintas."),
        "desconocida": (1, "Si en algún punto no encaja nada, la palabra entera es [UNK]."),
        "no vuelve atrás": (1, "La pieza elegida no se cambia aunque luego no encaje el resto."),
    },
    pistas=(
        "Dos bucles: uno avanza por la palabra y otro acorta el trozo que se prueba.",
        "El trozo que se busca lleva ## delante si no está al principio.",
        "Al encajar, se avanza lo que mide el trozo sin las almohadillas.",
    ),
    prohibido=(de_atento("atento.tokenizers"),),
    mutantes=(
        cambia(
            "la-mas-corta",
            "Se ha elegido la pieza más corta que encaja.",
            "range(len(word), start, -1)",
            "range(start + 1, len(word) + 1)",
        ),
        cambia(
            "sin-almohadillas",
            "Las piezas que continúan palabra se buscan con ## delante.",
            '"##" if start else ""',
            '""',
        ),
        cambia(
            "con-almohadillas-siempre",
            "La primera pieza va sin almohadillas.",
            '"##" if start else ""',
            '"##"',
        ),
        cambia(
            "trozo-desconocido",
            "Se devuelven las piezas de antes y [UNK]; es la palabra entera la desconocida.",
            'return ["[UNK]"]',
            'return [*found, "[UNK]"]',
        ),
        cambia(
            "salta-la-letra",
            "Lo que no encaja no se salta: la palabra es desconocida.",
            'return ["[UNK]"]',
            "start += 1",
        ),
    ),
)

# --- 2.5 ------------------------------------------------------------------------------------------


def _casos_tabla(rng: Any) -> list[Caso]:
    vocab, d, n = distintos(rng, 3, 9, 3)
    unos = [permutacion(rng, vocab)[0] for _ in range(n)]
    sin_repetir = permutacion(rng, vocab)[: max(2, vocab - 1)]
    repetido = [entero(rng, 0, vocab - 1)] * 3 + unos
    grandes = [entero(rng, 0, 19_999) for _ in range(4000)]
    return [
        Caso("sin repetir", (tensor(sin_repetir), normal(rng, len(sin_repetir), d), vocab)),
        Caso("repetidos", (tensor(repetido), normal(rng, len(repetido), d), vocab)),
        Caso("repetidos", (tensor([vocab - 1] * 4), normal(rng, 4, d), vocab)),
        Caso("vocabulario grande", (tensor(grandes), normal(rng, 4000, 8), 20_000)),
    ]


_TABLA = Ejercicio(
    id="2.5",
    nombre="embedding_gradient",
    tipo="escribir",
    dificultad=2,
    minutos=15,
    aprende="derivar respecto de una tabla de la que se leen filas",
    bordes=(
        "empate(ids)",
        Borde("sin repetir", {0: 0, 1: 0}),
    ),
    casos=_casos_tabla,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([2, 0, 2]), tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), 4)
    ),
    propiedades={
        "sin repetir": (2, "La fila ids[i] recibe grad_output[i]; las demás, 0."),
        "repetidos": (3, "Un token que sale dos veces recibe la suma de las dos filas."),
        "vocabulario grande": (1, "Una matriz (n, vocab) de ceros y unos no hace falta."),
    },
    pistas=(
        "Traspón la idea: si buscar es multiplicar por una matriz de unos, ¿cuál es su gradiente?",
        "Asignar con G[ids] = grad_output se queda con la última: hay que sumar.",
        "Hay un método de los tensores que suma filas en los puestos que se le dan.",
    ),
    prohibido=(DERIVADAS,),
    mutantes=(
        cambia(
            "asigna",
            "Cuando un token se repite, su fila se ha sobrescrito: debe sumar.",
            "return gradient.index_add(0, ids, grad_output)",
            "gradient[ids] = grad_output\n    return gradient",
        ),
        cambia(
            "entre-n",
            "Se ha dividido entre el número de tokens: si la pérdida es una media, ya viene en"
            " grad_output.",
            "return gradient.index_add(0, ids, grad_output)",
            "return gradient.index_add(0, ids, grad_output) / len(ids)",
        ),
        cambia(
            "media",
            "Las filas repetidas se suman, no se promedian.",
            "return gradient.index_add(0, ids, grad_output)",
            "times = torch.bincount(ids, minlength=vocab).clamp(min=1)[:, None]\n"
            "    return gradient.index_add(0, ids, grad_output) / times",
        ),
        cambia(
            "unos",
            "Se ha contado cuántas veces sale cada token; falta lo que llega de la pérdida.",
            "ids, grad_output)",
            "ids, torch.ones_like(grad_output))",
        ),
    ),
)

# --- 2.6 ------------------------------------------------------------------------------------------


def _casos_pareja(rng: Any) -> list[Caso]:
    d, k, otro = distintos(rng, 2, 9, 3)
    v = normal(rng, d).abs() + 0.5
    return [
        Caso("una falsa", (normal(rng, d), normal(rng, d), normal(rng, 1, d))),
        Caso("varias falsas", (normal(rng, d), normal(rng, d), normal(rng, k, d))),
        Caso("varias falsas", (normal(rng, otro), normal(rng, otro), normal(rng, k + 1, otro))),
        Caso("productos enormes", (100 * v, -50 * v, 50 * v.expand(k, d).clone())),
    ]


_PAREJA = Ejercicio(
    id="2.6",
    nombre="sgns_gradient",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="derivar la pérdida de skip-gram respecto del vector del centro",
    bordes=(
        "len(noise) == 1",
        Borde("varias falsas", {0: 0, 1: 0, 2: 1}),
    ),
    casos=_casos_pareja,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([0.0, 0.0]), tensor([2.0, 0.0]), tensor([[0.0, 2.0], [0.0, 4.0]]))
    ),
    propiedades={
        "una falsa": (2, "La vecina de verdad resta y la falsa suma, cada una con su sigmoide."),
        "varias falsas": (3, "Las falsas se suman, no se promedian."),
        "productos enormes": (1, "Con exponenciales a mano sale ∞/∞; la sigmoide de PyTorch no."),
    },
    pistas=(
        "La derivada de −log σ(z) respecto de z es σ(z) − 1.",
        "La de −log σ(−z) es σ(z). Después, la regla de la cadena: dz/dw es el otro vector.",
        "Es una suma de vectores: u por un número negativo y cada u′ por uno positivo.",
    ),
    prohibido=(DERIVADAS,),
    mutantes=(
        cambia(
            "signo",
            "El signo de la vecina de verdad: σ − 1 es negativo, y aquí la aleja.",
            "(torch.sigmoid(context @ center) - 1)",
            "(1 - torch.sigmoid(context @ center))",
        ),
        cambia(
            "sin-menos-uno",
            "A la vecina de verdad le falta el −1.",
            "(torch.sigmoid(context @ center) - 1)",
            "torch.sigmoid(context @ center)",
        ),
        cambia(
            "media-de-las-falsas",
            "Las falsas se suman; se han promediado.",
            "torch.sigmoid(noise @ center) @ noise",
            "torch.sigmoid(noise @ center) @ noise / len(noise)",
        ),
        cambia(
            "falsas-con-menos-uno",
            "Las falsas llevan σ(w·u′), sin el −1.",
            "torch.sigmoid(noise @ center) @ noise",
            "(torch.sigmoid(noise @ center) - 1) @ noise",
        ),
        cambia(
            "desborda",
            "Con productos de varios miles sale NaN: la exponencial desborda.",
            "torch.sigmoid(noise @ center) @ noise",
            "((noise @ center).exp() / (1 + (noise @ center).exp())) @ noise",
        ),
    ),
)

# --- 2.7 ------------------------------------------------------------------------------------------


def _casos_aplicar(rng: Any) -> list[Caso]:
    x, y, z = (elige(rng, trio) for trio in ("abc", "def", "ñós"))
    base = [(x, y), (y, z), (x + y, z), (z, x), (y, y)]
    larga = "".join(elige(rng, x + y + z) for _ in range(entero(rng, 8, 14)))
    return [
        Caso("una unión", (x + y + z + x, [(x, y)])),
        Caso("por orden", (x + y + z, [(y, z), (x, y), (x, y + z)])),
        Caso("por orden", (x + y + z + x + y, base)),
        Caso("por orden", (x + y + z, [(x, y), (y, z)])),
        Caso("por orden", (x + y + z, [(y, z), (x, y)])),
        Caso("por orden", (x + y + z + y + z, [(x, y), (y, z)])),
        Caso("por orden", (x + y + z, [(y, z), (x + y, z)])),
        Caso("por orden", (z + x + z + x + y, [(x, y), (z, x)])),
        Caso("por orden", (larga + x + y + z, base)),
        Caso("repetidas", (x * entero(rng, 5, 9), [(x, x), (x + x, x + x)])),
        Caso("repetidas", (x * 3, [(x, x)])),
        Caso("sin uniones", (larga, [("w", "w")])),
    ]


_APLICAR = Ejercicio(
    id="2.7",
    nombre="apply_merges",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="cortar una palabra nueva con las uniones aprendidas, en su orden",
    bordes=(Borde("sin uniones", valores={1: []}),),
    casos=_casos_aplicar,
    ejemplo=lambda: Caso("ejemplo", ("comemos", [("o", "m"), ("c", "om"), ("com", "e")])),
    propiedades={
        "una unión": (2, "Se recorre la palabra y se juntan los dos símbolos."),
        "por orden": (4, "Manda el orden de aprendizaje, no la posición en la palabra."),
        "repetidas": (1, "Con tres letras iguales se une la pareja de la izquierda."),
        "sin uniones": (1, "Si ninguna unión se puede aplicar, quedan las letras."),
    },
    pistas=(
        "El número de una unión es su puesto en la lista: la menor manda.",
        "En cada vuelta se busca, de las parejas contiguas que hay, la de puesto menor.",
        "Se une una sola aparición por vuelta, la primera, y se vuelve a mirar.",
    ),
    prohibido=(de_atento("atento.tokenizers"),),
    mutantes=(
        cambia(
            "la-ultima-aprendida",
            "Manda la unión que se aprendió antes, no la última.",
            "rank, i = min(found)",
            "rank, i = max((rank, -i) for rank, i in found)\n        i = -i",
        ),
        cambia(
            "de-izquierda-a-derecha",
            "Se une la primera pareja conocida que aparece: manda el orden de aprendizaje.",
            "rank, i = min(found)",
            "rank, i = min(found, key=lambda x: x[1])",
        ),
        cambia(
            "la-mas-a-la-derecha",
            "Si la pareja sale varias veces, se une la de la izquierda.",
            "rank, i = min(found)",
            "rank, i = min(found, key=lambda x: (x[0], -x[1]))",
        ),
        cambia(
            "una-vuelta",
            "Se ha hecho una sola unión: hay que repetir hasta que no quede ninguna.",
            "        if not found:",
            "        if not found or len(pieces) < len(word):",
        ),
    ),
)

# --- 2.8 ------------------------------------------------------------------------------------------


_LETRAS = "abcdefghijklmnñopqrstuvwxyzáéíóúABCDEFGHIJKLMNÑOPQRSTUVWXYZ0"


def _casos_corte(rng: Any) -> list[Caso]:
    """Con letras distintas en cada palabra, dos cortes nunca tienen las mismas piezas: sin empates
    ni siquiera de redondeo."""

    def caso(propiedad: str, largo: int) -> Caso:
        word = "".join(_LETRAS[i] for i in permutacion(rng, len(_LETRAS))[:largo])
        dadas = list(word)
        for start in range(largo - 1):
            size = entero(rng, 2, 8)
            dadas.append(word[start : start + size])
        dadas = list(dict.fromkeys([*dadas, word[::-1][:2]]))
        dadas = [dadas[i] for i in permutacion(rng, len(dadas))]
        precios = uniforme(rng, 1.0, 9.0, len(dadas)).tolist()
        # En proporción al largo: así el corte de menos piezas no es casi siempre el mejor.
        log_p = [-p * len(pieza) for p, pieza in zip(precios, dadas, strict=True)]
        return Caso(propiedad, (word, dadas, log_p))

    suelta = elige(rng, "xyz")
    base = real(rng, 0.5, 1.5)
    voraz = [-5 - base, -base, -2 * base, -9 - base]
    return [
        caso("mejor corte", entero(rng, 5, 7)),
        caso("mejor corte", entero(rng, 6, 9)),
        Caso("no el más largo", ("comen", ["come", "co", "men", "n"], voraz)),
        caso("palabra larga", 60),
        Caso("sin corte", ("ab" + suelta, ["a", "b", "ab"], [-1.0 - base, -2.0, -3.5])),
        Caso("sin corte", ("ab" + suelta, ["ab", suelta, "a"], [-base, -1.5, -2.0])),
    ]


_CORTE = Ejercicio(
    id="2.8",
    nombre="best_cut",
    tipo="escribir",
    dificultad=3,
    minutos=35,
    aprende="buscar el mejor camino de un retículo por programación dinámica",
    bordes=("min(map(len, pieces)) == 1",),
    casos=_casos_corte,
    ejemplo=lambda: Caso("ejemplo", ("ab", ["a", "b", "ab"], [-1.0, -2.0, -3.5])),
    propiedades={
        "mejor corte": (4, "Se suman las log-probabilidades: gana la suma mayor."),
        "no el más largo": (2, "La pieza más larga no siempre está en el mejor corte."),
        "palabra larga": (2, "Probar todos los cortes no acaba: guarda el mejor hasta cada hueco."),
        "sin corte": (1, "Si no se llega al final, la lista vacía y −∞."),
    },
    pistas=(
        "Guarda, para cada hueco entre letras, la mejor suma con la que se llega a él.",
        "El mejor hasta j sale de algún i anterior, con la pieza que va de i a j.",
        "Recuerda de qué hueco vino cada máximo y recorre el camino desde el final.",
    ),
    prohibido=(de_atento("atento.tokenizers"),),
    mutantes=(
        cambia(
            "el-peor",
            "Se ha buscado la suma menor.",
            "if total > best[end]:",
            "if best[end] == -math.inf or total < best[end]:",
        ),
        cambia(
            "sin-acumular",
            "Falta sumar lo que ya valía el camino hasta ahí.",
            "total = best[start] + scores[piece]",
            "total = scores[piece] if best[start] > -math.inf else -math.inf",
        ),
        cambia(
            "menos-piezas",
            "Se ha elegido el corte de menos piezas, no el más probable.",
            "total = best[start] + scores[piece]",
            "total = best[start] - 1e6 + scores[piece]",
        ),
        cambia(
            "al-reves",
            "Las piezas salen del final al principio: hay que darles la vuelta.",
            "return pieces_found[::-1], best[-1]",
            "return pieces_found, best[-1]",
        ),
        cambia(
            "suma-de-mas",
            "La suma debe ser la del camino elegido hasta el final, no la mayor de todas.",
            "return pieces_found[::-1], best[-1]",
            "return pieces_found[::-1], max(best)",
        ),
    ),
)

# --- 2.9 ------------------------------------------------------------------------------------------


def _casos_analogia(rng: Any) -> list[Caso]:
    vocab, d = 12 + entero(rng, 0, 6), 3 + entero(rng, 0, 3)

    def caso(propiedad: str, **regla: Any) -> Caso:
        a, b, c = permutacion(rng, vocab)[:3]
        escala = uniforme(rng, 0.3, 6.0, vocab, 1)
        return Caso(propiedad, (normal(rng, vocab, d) * escala, a, b, c), regla)

    cerca = normal(rng, vocab, 8)
    a, b, c = permutacion(rng, vocab)[:3]
    cerca[b] = cerca[a] + 0.05 * normal(rng, 8)
    medio = normal(rng, vocab, 8)  # b − a + c cae junto a la propia a
    lado = 0.3 * normal(rng, 8)
    medio[b], medio[c] = medio[a] + lado, medio[a] - lado
    otra = normal(rng, vocab, 8)
    otra[c] = otra[a] + 0.05 * normal(rng, 8)  # el destino cae junto a b
    return [
        *(caso("sin las dadas", exclude=True) for _ in range(4)),
        *(caso("con las dadas", exclude=False) for _ in range(3)),
        Caso("con las dadas", (cerca, a, b, c), {"exclude": False}),
        Caso("sin las dadas", (cerca, a, b, c), {"exclude": True}),
        Caso("sin las dadas", (otra, a, b, c), {"exclude": True}),
        Caso("sin las dadas", (medio, a, b, c), {"exclude": True}),
        Caso("por omisión", (cerca.clone(), a, b, c)),
        *(caso("por omisión") for _ in range(2)),
    ]


_ANALOGIA = Ejercicio(
    id="2.9",
    nombre="analogy",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="resolver una analogía diciendo si las palabras dadas pueden ser la respuesta",
    bordes=("exclude is False",),
    casos=_casos_analogia,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0], [-1.0, 1.0]]), 0, 1, 2),
        {"exclude": True},
    ),
    propiedades={
        "sin las dadas": (3, "Las tres palabras dadas no pueden ganar."),
        "con las dadas": (2, "Con exclude=False compiten todas, también las tres."),
        "por omisión": (2, "Sin decir nada, exclude es True."),
    },
    pistas=(
        "Primero, todos los vectores de longitud 1; después, la suma y los cosenos.",
        "Dividir el destino entre su norma no cambia quién gana; dividir las filas, sí.",
        "Un −∞ en las tres puntuaciones las saca de la competición.",
    ),
    prohibido=(de_atento("atento.word_vectors"),),
    mutantes=(
        cambia(
            "sin-normalizar",
            "Faltan las normas: gana el vector más largo y no el de mayor coseno.",
            "vectors / vectors.norm(dim=-1, keepdim=True)",
            "vectors",
        ),
        cambia(
            "al-reves",
            "El signo: es b − a + c.",
            "units[b] - units[a] + units[c]",
            "units[a] - units[b] + units[c]",
        ),
        cambia(
            "siempre-fuera",
            "Se han quitado las dadas también con exclude=False.",
            "if exclude:",
            "if True:",
        ),
        cambia(
            "nunca-fuera",
            "Con exclude=True, la respuesta no puede ser una de las tres.",
            "if exclude:",
            "if False:",
        ),
        cambia(
            "solo-c",
            "Se ha quitado solo la tercera palabra: las dadas son tres.",
            "scores[[a, b, c]]",
            "scores[[c]]",
        ),
        cambia(
            "sin-a",
            "Ese es el puesto más cercano a b + c: falta restar a.",
            "units[b] - units[a] + units[c]",
            "units[b] + units[c]",
        ),
    ),
)

EJERCICIOS = [
    _A_MANO, _COPIADO, _APRENDER, _ENCAJE, _TABLA, _PAREJA, _APLICAR, _CORTE, _ANALOGIA,
]  # fmt: skip
