"""Ejercicios del capítulo 3, «Traducir con redes recurrentes»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import (
    Borde,
    dispersa,
    distintos,
    elige,
    entero,
    normal,
    permutacion,
    relleno,
    tensor,
)  # fmt: skip
from calificador.registro import Caso, Ejercicio, cambia, cuerpo

# --- 3.1 ------------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="3.1",
    nombre="chance_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    aprende="sumar los exponentes de una frase con lápiz y ver cuándo deja de salir bien",
    propiedades={
        "five_words": (2, "Escribe el exponente de cada una de las cinco palabras y súmalos."),
        "longest": (1, "Prueba longitudes seguidas: la probabilidad baja siempre."),
    },
    tolerancias={"five_words": 5e-4, "longest": 1e-9},
    pistas=(
        "La última palabra se acaba de leer: su exponente es 0.",
        (
            "La más larga es la última longitud cuya suma de exponentes no baja la probabilidad del"
            " umbral."
        ),
        "Con cinco palabras los exponentes son 4, 3, 2, 1 y 0.",
    ),
    mutantes=(
        cambia(
            "lineal",
            "El exponente no es el número de palabras: cada palabra tiene el suyo, y se suman.",
            "n * (n - 1) / 2",
            "n",
        ),
        cambia(
            "solo-la-primera",
            "Ese es el exponente de la primera palabra; las demás también han de recordarse.",
            "n * (n - 1) / 2",
            "n - 1",
        ),
        cambia(
            "uno-de-mas",
            "Los exponentes van de 0 a n − 1: la última palabra no se ha podido olvidar.",
            "(n - 1)",
            "(n + 1)",
        ),
        cambia(
            "la-que-falla",
            "Esa es la primera longitud que falla; se pide la última que sale bien.",
            '"longest": n - 1',
            '"longest": n',
        ),
    ),
)

# --- 3.2 ------------------------------------------------------------------------------------------


def _primera_que_falla(fidelity: float, threshold: float) -> int:
    largo = 1
    while fidelity ** (largo * (largo - 1) / 2) >= threshold:
        largo += 1
    return largo


def _casos_fallan(rng: Any, fidelity: float = 0.99, threshold: float = 0.5) -> list[Caso]:
    def caso(propiedad: str, *saltos: int, **valores: float) -> Caso:
        """Longitudes a cada salto de la primera que falla, barajadas; las repetidas quedan como
        empates.
        """
        valores = {"fidelity": fidelity, "threshold": threshold} | valores
        limite = _primera_que_falla(**valores)
        largos = [max(1, limite + salto) for salto in saltos]
        return Caso(propiedad, ([largos[i] for i in permutacion(rng, len(largos))],), valores)

    uno, otro = distintos(rng, 1, 5, 2)
    empates = Caso(
        "orden y empates",
        ([9, 60, 61, 60, 8, 90 + uno, 61],),
        {"fidelity": fidelity, "threshold": threshold},
    )
    justo = 0.5 ** elige(rng, (1, 3))
    return [
        caso("la del límite", -1, -1 - uno),
        caso("la del límite", -1, 0, -2),
        caso("la del límite", 0, -1, uno),
        empates,
        caso("orden y empates", 0, 0, uno, otro, uno, -1),
        caso("otros valores", -1, 0, uno, otro, -3, fidelity=0.5, threshold=justo),
        caso(
            "otros valores",
            -1,
            0,
            uno,
            otro,
            fidelity=0.95 + uno / 1000,
            threshold=0.2 + otro / 100,
        ),
    ]


_FALLAN = Ejercicio(
    id="3.2",
    nombre="first_failures",
    tipo="predecir",
    dificultad=1,
    minutos=12,
    aprende="por qué, con un vector único, la longitud se paga al cuadrado",
    bordes=(
        "empate(lengths)",
        Borde("orden y empates", valores={0: []}),
    ),
    casos=_casos_fallan,
    ejemplo=lambda: Caso("ejemplo", ([1, 3, 2, 3],), {"fidelity": 0.5, "threshold": 0.5}),
    propiedades={
        "la del límite": (
            2,
            "Busca a mano la longitud más corta que falla: la de una palabra menos sale bien.",
        ),
        "orden y empates": (
            2,
            "Primero la menos probable; dos frases igual de largas, por índice.",
        ),
        "otros valores": (
            2,
            "La fidelidad y el umbral son argumentos, y «menor» no incluye la igualdad.",
        ),
    },
    pistas=(
        (
            "La probabilidad de la frase es un producto de potencias de la fidelidad: los"
            " exponentes se suman."
        ),
        (
            "Primero se ordenan los índices por probabilidad, de menor a mayor; una ordenación"
            " estable respeta los empates."
        ),
        "La última palabra tiene exponente 0 y la primera, n − 1: suman n(n − 1)/2.",
    ),
    variante={"fidelity": 0.99, "threshold": 0.5},
    alternativas={"fidelity": (0.97, 0.98, 0.985), "threshold": (0.3, 0.4, 0.6)},
    mutantes=(
        cambia(
            "lineal",
            "La probabilidad se ha tomado como fidelidad elevada a n; cada palabra tiene su"
            " exponente.",
            "(n * (n - 1) / 2)",
            "n",
        ),
        cambia("uno-de-mas", "Los exponentes van de 0 a n − 1, no de 1 a n.", "(n - 1)", "(n + 1)"),
        cambia(
            "por-indice",
            "Falta ordenar por probabilidad, de la menor a la mayor.",
            "key=lambda i: chance[i]",
            "key=None",
        ),
        cambia(
            "orden-contrario",
            "El orden es el contrario: primero va la menos probable.",
            "i: chance[i]",
            "i: -chance[i]",
        ),
        cambia(
            "empates-al-reves",
            "Los empates van por índice, de menor a mayor.",
            "i: chance[i]",
            "i: (chance[i], -i)",
        ),
        cambia(
            "longitudes",
            "Se piden los índices de las frases, no sus longitudes.",
            "[i for i in",
            "[lengths[i] for i in",
        ),
        cambia(
            "las-que-salen",
            "Son las que salen bien; se piden las otras.",
            "if chance[i] < threshold",
            "if chance[i] >= threshold",
        ),
        cambia(
            "limite-incluido",
            "La frase cuya probabilidad es justo el umbral no falla: se pide menor, sin igualdad.",
            "if chance[i] < threshold",
            "if chance[i] <= threshold",
        ),
    ),
)

# --- 3.3 ------------------------------------------------------------------------------------------


def _casos_lstm(rng: Any) -> list[Caso]:
    def caso(propiedad: str, filas: int, gradiente: bool = False) -> Caso:
        d, d_h = distintos(rng, 2, 6, 2)
        estados = normal(rng, filas, d), normal(rng, filas, d_h), normal(rng, filas, d_h)
        pesos = normal(rng, d, 4 * d_h), normal(rng, d_h, 4 * d_h), normal(rng, 4 * d_h)
        return Caso(propiedad, (*estados, *pesos), gradiente=gradiente)

    lote = "un lote"
    return [
        caso("una frase", 1), caso(lote, entero(rng, 2, 5)), caso(lote, entero(rng, 2, 5)),
        caso("gradiente", entero(rng, 2, 4), gradiente=True),
    ]  # fmt: skip


_LSTM = Ejercicio(
    id="3.3",
    nombre="lstm_step",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="escribir la celda que puede conservar lo lejano, con cada puerta en su sitio",
    bordes=("len(x) == 1",),
    casos=_casos_lstm,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0], [0.0]]),
            tensor([[0.0], [1.0]]),
            tensor([[2.0], [1.0]]),
            tensor([[1.0, 2.0, 0.5, 0.0]]),
            tensor([[0.0, 1.0, 0.0, 1.0]]),
            tensor([0.0, 0.0, 0.5, 0.0]),
        ),
    ),
    propiedades={
        "una frase": (
            3,
            (
                "Con una frase, escribe las cuatro puertas con sus números y mira cuál multiplica a"
                " qué."
            ),
        ),
        "un lote": (4, "Cada frase del lote tiene sus puertas: ninguna operación mezcla filas."),
        "gradiente": (3, "El valor es bueno, pero a alguna entrada no le llega gradiente."),
    },
    pistas=(
        (
            "Las cuatro puertas salen de la misma suma de tres términos; después se parte en cuatro"
            " trozos iguales."
        ),
        "Tres trozos pasan por la sigmoide y uno, el contenido, por la tangente.",
        (
            "La memoria nueva es lo conservado más lo que entra, y el estado se calcula con la"
            " memoria nueva."
        ),
    ),
    mutantes=(
        cambia(
            "puertas-cambiadas",
            "La entrada y el olvido están cambiados: el orden es i, f, g, o, y la forma no avisa.",
            "f.sigmoid() * c + i.sigmoid()",
            "i.sigmoid() * c + f.sigmoid()",
        ),
        cambia(
            "contenido-y-salida",
            "El contenido y la salida están cambiados: el orden es i, f, g, o.",
            "i, f, g, o =",
            "i, f, o, g =",
        ),
        cambia(
            "no-olvida",
            "Falta la puerta de olvido: la memoria anterior pasa entera.",
            "f.sigmoid() * c + ",
            "c + ",
        ),
        cambia(
            "contenido-sigmoide",
            "El contenido propuesto pasa por la tangente; así nunca podría restar.",
            "g.tanh()",
            "g.sigmoid()",
        ),
        cambia(
            "sin-tangente-final",
            "Falta la tangente de la memoria en lo que se muestra.",
            "o.sigmoid() * c.tanh()",
            "o.sigmoid() * c",
        ),
        cambia(
            "memoria-de-antes",
            "El estado se calcula con la memoria de antes; se pide con la nueva.",
            "    c = f.sigmoid() * c +",
            "    new = f.sigmoid() * c +",
            "* c.tanh(), c",
            "* c.tanh(), new",
        ),
        cambia("sin-recuerdo", "Las puertas no miran el estado anterior.", " + h @ w_h", ""),
        cambia("sin-sesgo", "Falta sumar el sesgo, b.", " + b)", ")"),
        cambia(
            "al-reves",
            "La tupla va al revés: primero el estado, después la memoria.",
            "return o.sigmoid() * c.tanh(), c",
            "return c, o.sigmoid() * c.tanh()",
        ),
    ),
)

# --- 3.4 ------------------------------------------------------------------------------------------

_DUDA = Ejercicio(
    id="3.4",
    nombre="weights_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    aprende=(
        "repetir con otra consulta la cuenta de la atención aditiva, y ver que cambia la respuesta"
    ),
    propiedades={
        "la": (1, "Sus dos componentes suman 2 cada una, y puntúa la más baja de las tres."),
        "casa": (2, "Compara su suma con la de «blanca»: tienen los mismos números en otro orden."),
        "context": (1, "Multiplica cada peso por la componente de nombre de su palabra, y suma."),
    },
    tolerancias={"la": 2e-3, "casa": 2e-3, "context": 2e-3},
    pistas=(
        "Primero se suma la consulta a cada estado; después, la tangente de cada componente.",
        "Puntuaciones iguales dan pesos iguales: basta una diferencia y una exponencial.",
        "Los tres pesos suman 1, y la componente de nombre de «blanca» es 0.",
    ),
    mutantes=(
        cambia(
            "sin-tangente",
            "Falta la tangente: con la suma sin más, la consulta no influye.",
            "math.tanh(a)",
            "a",
        ),
        cambia(
            "otra-consulta",
            "Esos son los pesos del texto, con la consulta (0, 1); aquí la consulta es (1, 1).",
            "query, states = (1.0, 1.0)",
            "query, states = (0.0, 1.0)",
        ),
        cambia(
            "signo", "El vector v es negativo: gana la suma de tangentes menor.", "-4.0 *", "4.0 *"
        ),
        cambia(
            "v-unidad",
            "Falta multiplicar por v: las diferencias quedan cuatro veces menores.",
            "-4.0 *",
            "-1.0 *",
        ),
        cambia(
            "producto",
            "Se multiplica la consulta por el estado; en la aditiva se suman.",
            "q + k for",
            "q * k for",
        ),
        cambia(
            "sin-normalizar",
            "Los pesos deben sumar 1: falta dividir entre la suma de las exponenciales.",
            "math.exp(score) / total",
            "math.exp(score)",
        ),
    ),
)

# --- 3.5 ------------------------------------------------------------------------------------------


def _casos_paso(rng: Any) -> list[Caso]:
    def caso(propiedad: str, filas: int) -> Caso:
        d, origen, d_h = sorted(distintos(rng, 2, 7, 3))
        celda = tuple(
            normal(rng, *forma) / 2 for forma in ((d, d_h), (d_h, d_h), (d_h, d_h), (d_h,))
        )
        estados = normal(rng, filas, d_h), normal(rng, filas, origen, d_h)
        pesos = normal(rng, filas, origen).softmax(dim=-1)
        return Caso(propiedad, (normal(rng, filas, d), *estados, pesos, celda))

    return [caso("una frase", 1), *(caso("un lote", entero(rng, 2, 5)) for _ in range(2))]


_PASO = Ejercicio(
    id="3.5",
    nombre="decoder_step",
    tipo="escribir",
    dificultad=1,
    minutos=12,
    aprende="dar un paso del decodificador: contexto primero, estado después",
    bordes=(
        "len(x) == 1",
        Borde("un lote", {2: 1, 3: 1}),
    ),
    casos=_casos_paso,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0]]),
            tensor([[0.0, 0.5]]),
            tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            tensor([[0.75, 0.25]]),
            (
                tensor([[0.1, 0.2]]),
                tensor([[1.0, 0.0], [0.0, 1.0]]),
                tensor([[0.0, 1.0], [1.0, 0.0]]),
                tensor([0.0, 0.1]),
            ),
        ),
    ),
    propiedades={
        "una frase": (3, "Con una sola frase, calcula a mano el contexto y después el estado."),
        "un lote": (
            5,
            "Cada frase del lote tiene sus pesos y sus estados: ninguna debe mirar a otra.",
        ),
    },
    pistas=(
        "El contexto es la media de los estados con los pesos dados: (batch, d_h).",
        "La celda es la red simple con un sumando más, el del contexto por su matriz.",
        (
            "Los pesos (batch, source) necesitan un último eje para multiplicar a los estados antes"
            " de sumar."
        ),
    ),
    mutantes=(
        cambia(
            "media-igual",
            "El contexto promedia todos los estados por igual: faltan los pesos.",
            "(weights[:, :, None] * states).sum(dim=1)",
            "states.mean(dim=1)",
        ),
        cambia(
            "ultimo-estado",
            "El contexto es solo el último estado: es el modelo sin atención.",
            "(weights[:, :, None] * states).sum(dim=1)",
            "states[:, -1]",
        ),
        cambia(
            "sin-recuerdo",
            "Falta el estado anterior: el decodificador no recuerda lo que ha escrito.",
            " + h @ w_h",
            "",
        ),
        cambia(
            "cambiados",
            "El contexto va con w_c y el estado con w_h; están cambiados y la forma no avisa.",
            "context @ w_c + h @ w_h",
            "h @ w_c + context @ w_h",
        ),
        cambia("sin-tangente", "Falta la tangente hiperbólica.", "torch.tanh(", "("),
        cambia("sin-sesgo", "Falta sumar el sesgo, b.", " + b)", ")"),
    ),
)

# --- 3.6 ------------------------------------------------------------------------------------------


def _casos_aditiva(rng: Any) -> list[Caso]:
    def caso(propiedad: str, tapa: str = "", gradiente: bool = False) -> Caso:
        import torch

        filas, d_q, d_h, d_a, claves = distintos(rng, 2, 8, 5)
        claves += 3
        valid = torch.ones(filas, claves, dtype=torch.bool)
        if tapa == "final":
            valid = relleno(rng, filas, claves)
        elif tapa:
            valid = torch.stack([dispersa(rng, claves, entero(rng, 1, 3)) for _ in range(filas)])
        pesos = normal(rng, d_q, d_a), normal(rng, d_h, d_a), normal(rng, d_a)
        args = (normal(rng, filas, d_q), normal(rng, filas, claves, d_h), *pesos, valid)
        return Caso(propiedad, args, gradiente=gradiente)

    return [
        caso("sin relleno"), caso("con relleno", "final"), caso("con relleno", "en medio"),
        caso("gradiente", "final", gradiente=True),
    ]  # fmt: skip


_ADITIVA = Ejercicio(
    id="3.6",
    nombre="additive_attention",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="escribir la atención de 2014 entera, con el relleno fuera del reparto",
    bordes=(
        "valid.all()",
        Borde("con relleno", {0: 0, 1: 0, 5: 0}),
        Borde("sin relleno", {1: 1, 5: 1}),
    ),
    casos=_casos_aditiva,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0]]),
            tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            tensor([[1.0]]),
            tensor([[1.0], [-1.0]]),
            tensor([1.0]),
            tensor([[True, True]]),
        ),
    ),
    propiedades={
        "sin relleno": (
            4,
            "Sin nada tapado, ¿suman 1 los pesos de cada fila, y qué se promedia con ellos?",
        ),
        "con relleno": (5, "Cambia el estado de una clave tapada: el contexto no debería moverse."),
        "gradiente": (3, "El valor es bueno, pero a alguna entrada no le llega gradiente."),
    },
    pistas=(
        (
            "La consulta se proyecta una vez y se suma a todas las claves proyectadas: le falta un"
            " eje."
        ),
        (
            "Las puntuaciones miden (batch, key); lo tapado debe valer menos infinito antes de la"
            " softmax."
        ),
        (
            "Se promedian los estados tal como llegaron, no los proyectados: (batch, 1, key)(batch,"
            " key, d_h)."
        ),
    ),
    mutantes=(
        cambia(
            "sin-mascara",
            "El relleno se lleva parte del peso: hay que taparlo antes de la softmax.",
            ".masked_fill(~valid, -math.inf)",
            "",
        ),
        cambia(
            "sin-tangente",
            "Falta la tangente: sin ella los pesos no dependen de la consulta.",
            "torch.tanh(",
            "(",
        ),
        cambia(
            "mascara-despues",
            "La máscara se aplica después de la softmax: los pesos ya no suman 1.",
            ".masked_fill(~valid, -math.inf)",
            "",
            "softmax(dim=-1)",
            "softmax(dim=-1) * valid",
        ),
        cambia(
            "tapada-con-cero",
            "Una puntuación 0 no es peso 0: la exponencial de 0 vale 1.",
            "-math.inf",
            "0.0",
        ),
        cambia(
            "al-reves",
            "La máscara está al revés: valid dice qué claves se pueden mirar.",
            "~valid",
            "valid",
        ),
        cambia(
            "otro-eje",
            "La softmax recorre el lote; debe recorrer las claves, el último eje.",
            "-math.inf",
            "-1e9",
            "softmax(dim=-1)",
            "softmax(dim=0)",
        ),
        cambia(
            "valores-proyectados",
            "Se promedian las claves proyectadas; aquí se promedian los estados tal cual.",
            "@ keys)",
            "@ (keys @ w_k))",
        ),
    ),
)

# --- 3.7 ------------------------------------------------------------------------------------------


def _casos_media(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, *largos: int, d: int = 0) -> Caso:
        filas, largo, d = entero(rng, 2, 5), entero(rng, 4, 9), d or entero(rng, 2, 4)
        palabras = torch.randint(1, largo - 1, (filas,), generator=rng)
        if largos:
            palabras, largo = torch.tensor(largos), max(largos) + (propiedad == "igual relleno")
        return Caso(propiedad, (normal(rng, len(palabras), largo, d) + 1.0, palabras))

    n = entero(rng, 2, 6)
    return [
        caso("igual relleno", n, n, n),
        caso("distinto relleno"),
        caso("distinto relleno"),
        caso("distinto relleno", 1, n),
        caso("distinto relleno", 1, d=1),
    ]


_MEDIA = Ejercicio(
    id="3.7",
    nombre="mean_state",
    tipo="depurar",
    dificultad=2,
    minutos=15,
    aprende="encontrar un error de relleno que no da ningún aviso",
    bordes=(
        "len(lengths) == 1",
        "empate(lengths)",
        "lengths.min() == 1",
        "states.shape[1] == lengths.max()",
    ),
    casos=_casos_media,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0, 2.0], [9.0, 9.0]], [[1.0, 2.0], [3.0, 4.0]]]),
            tensor([1, 2]),
        ),
    ),
    propiedades={
        "igual relleno": (3, "El relleno ocupa lo mismo en todas, y no se suma ni se cuenta."),
        "distinto relleno": (
            7,
            "Prueba con una frase de una palabra y mucho relleno: la media es esa palabra.",
        ),
    },
    pistas=(
        (
            "Conviene probar con una frase de una palabra y mucho relleno, con estados del relleno"
            " que no sean cero."
        ),
        "Una frase de n palabras ocupa las posiciones 0 a n − 1.",
        (
            "Cada frase se divide entre su propia longitud, que necesita un eje más para dividir"
            " (batch, d)."
        ),
    ),
    mutantes=(
        cambia(
            "como-estaba",
            "Quedan las dos faltas: qué se suma y entre cuánto.",
            "< lengths",
            "<= lengths",
            "total / lengths[:, None]",
            "total / states.shape[1]",
        ),
        cambia(
            "una-de-mas",
            "Se suma la primera posición de relleno: las palabras ocupan de 0 a n − 1.",
            "< lengths",
            "<= lengths",
        ),
        cambia(
            "divisor-del-lote",
            "Se divide entre la longitud del lote, relleno incluido; cada frase tiene la suya.",
            "total / lengths[:, None]",
            "total / states.shape[1]",
        ),
        cambia(
            "sin-tapar",
            "El relleno se suma: sus estados no son cero.",
            "(states * word[:, :, None])",
            "states",
        ),
        cuerpo(
            "media-de-todo",
            "Es la media de todas las posiciones, con relleno.",
            "return states.mean(1)",
        ),
        cuerpo(
            "ultima",
            "Es el estado de la última palabra; se pide la media de todas.",
            "return states[torch.arange(len(states)), lengths - 1]",
        ),
    ),
)

# --- 3.8 ------------------------------------------------------------------------------------------


def _casos_inversion(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, tapadas: bool) -> Caso:
        ancho = entero(rng, 8, 11)
        hueco = entero(rng, 3, ancho - 4)
        hueco += 2 * hueco == ancho - 1  # en el centro, leer «valid» del revés no se nota
        valid = torch.ones(ancho, dtype=torch.bool)
        if tapadas:
            valid[hueco] = False  # en medio: las de sus lados no son contiguas
        bloques = [[0, 1], [ancho - 1, 0], [1, 1], [hueco + 1, hueco - 1], [ancho - 1, ancho - 2]]
        orden = [bloques[i] for i in permutacion(rng, len(bloques))]
        mira = [
            2,
            1,
            *(j for b in orden for j in b),
            ancho - 1,
            ancho - 2,
        ]  # invertidas la primera y la última
        puntos = 0.3 * normal(rng, len(mira), ancho)
        puntos[torch.arange(len(mira)), torch.tensor(mira)] += 6.0
        if tapadas:
            puntos[[0, -1], hueco] += 9.0  # la que más mira al hueco, que no cuenta
        return Caso(propiedad, (puntos.softmax(dim=-1), valid))

    return [caso("sin relleno", False), caso("con relleno", True), caso("con relleno", True)]


_INVERSION = Ejercicio(
    id="3.8",
    nombre="inverted_pairs",
    tipo="escribir",
    dificultad=2,
    minutos=15,
    aprende=(
        "sacar de una matriz de alineamiento las inversiones, y contarlas en lugar de mirar una"
        " figura"
    ),
    bordes=(
        "valid.all()",
        Borde("sin relleno", {0: 0}),
    ),
    casos=_casos_inversion,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.2, 0.8], [0.9, 0.1], [0.3, 0.7]]),
            tensor([True, True]),
        ),
    ),
    propiedades={
        "sin relleno": (
            4,
            (
                "Escribe la columna a la que mira cada fila y compárala con la siguiente, hasta la"
                " última."
            ),
        ),
        "con relleno": (
            4,
            (
                "Una columna no válida puede estar en cualquier sitio, y las demás conservan su"
                " número."
            ),
        ),
    },
    pistas=(
        "Primero, la columna a la que más mira cada fila; después se comparan filas seguidas.",
        "Inversión: la fila t mira a la columna siguiente de la que mira la fila t + 1.",
        (
            "Las columnas no válidas se tapan con un número menor que cualquier peso antes de"
            " buscar el mayor."
        ),
    ),
    mutantes=(
        cambia(
            "sin-tapar",
            "El mayor peso puede caer en el relleno: hay que taparlo antes.",
            ".masked_fill(~valid, -1.0)",
            "",
        ),
        cambia(
            "diagonal",
            "Esas son las parejas en el mismo orden; se piden las cruzadas.",
            "best[t] == best[t + 1] + 1",
            "best[t + 1] == best[t] + 1",
        ),
        cambia(
            "cualquier-cruce",
            "Las dos columnas deben ser contiguas; así cuentan saltos mayores.",
            "best[t] == best[t + 1] + 1",
            "best[t] > best[t + 1]",
        ),
        cambia(
            "la-segunda",
            "Se pide la posición de la primera de las dos palabras.",
            "[t for t",
            "[t + 1 for t",
        ),
        cambia(
            "por-columnas",
            "El mayor se busca por columnas; cada palabra escrita es una fila.",
            "argmax(dim=-1)",
            "argmax(dim=0)",
        ),
        cambia(
            "sin-la-ultima",
            "Falta mirar la última pareja: con n filas hay n − 1 parejas.",
            "len(best) - 1",
            "len(best) - 2",
        ),
        cambia(
            "quitar-columnas",
            "Al quitar columnas, las demás cambian de número, y dos separadas parecen contiguas.",
            "weights.masked_fill(~valid, -1.0)",
            "weights[:, valid]",
        ),
        cambia(
            "relleno-al-final",
            "Se ha supuesto que lo no válido está al final; puede estar en cualquier columna.",
            "weights.masked_fill(~valid, -1.0)",
            "weights[:, : int(valid.sum())]",
        ),
    ),
)

# --- 3.9 ------------------------------------------------------------------------------------------


def _casos_gradiente(rng: Any) -> list[Caso]:
    def caso(propiedad: str, pasos: int, escala: float) -> Caso:
        d, d_h = entero(rng, 2, 4), entero(rng, 3, 6)
        pesos = normal(rng, d, d_h) / 2, escala * normal(rng, d_h, d_h)
        return Caso(propiedad, (normal(rng, pasos, d), *pesos, normal(rng, d_h)))

    pocos = "pocos pasos"
    return [
        caso(pocos, entero(rng, 2, 6), 0.4), caso(pocos, entero(rng, 3, 6), 0.8),
        caso("muchos pasos", entero(rng, 20, 40), 0.5),
    ]  # fmt: skip


_GRADIENTE = Ejercicio(
    id="3.9",
    nombre="gradient_norms",
    tipo="medir",
    dificultad=3,
    minutos=30,
    aprende=(
        "medir cuánta señal llega a cada distancia, que es lo que decide si algo lejano se puede"
        " aprender"
    ),
    bordes=(Borde("pocos pasos", {0: 0}),),
    casos=_casos_gradiente,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0], [0.5]]),
            tensor([[1.0, 0.0]]),
            tensor([[0.5, 0.5], [0.0, 0.5]]),
            tensor([1.0, 1.0]),
        ),
    ),
    propiedades={
        "pocos pasos": (8, "Con dos pasos se puede derivar a mano: ¿coincide la última entrada?"),
        "muchos pasos": (
            6,
            "A mucha distancia cada paso multiplica: revisa qué se repite y en qué orden.",
        ),
    },
    pistas=(
        (
            "Con autograd basta un gradiente de h_T · direction respecto de todas las entradas a la"
            " vez."
        ),
        "La derivada de la tangente en el paso t es 1 − h_t², componente a componente.",
        "El resultado se ordena por distancia: la última entrada va la primera.",
    ),
    mutantes=(
        cambia(
            "en-orden-de-lectura",
            "El orden es el de lectura; se pide por distancia, la última entrada primero.",
            "torch.stack(norms)",
            "torch.stack(norms[::-1])",
        ),
        cambia(
            "sin-tangente",
            "Falta la derivada de la tangente, 1 − h², en cada paso.",
            "signal * (1 - h.square())",
            "signal",
        ),
        cambia(
            "traspuesta",
            "La señal vuelve por la traspuesta del camino de ida.",
            "w_h @ before",
            "before @ w_h",
        ),
        cambia(
            "respecto-del-estado",
            "Es el gradiente respecto del estado; se pide respecto de la entrada.",
            "(w_x @ before).norm()",
            "signal.norm()",
        ),
        cambia(
            "norma-al-cuadrado",
            "Es el cuadrado de la norma: falta la raíz.",
            ".norm()",
            ".square().sum()",
        ),
        cambia(
            "sin-matriz",
            "La señal pasa de un paso al anterior sin multiplicarse por w_h.",
            "w_h @ before",
            "before",
        ),
    ),
)

EJERCICIOS = [_A_MANO, _FALLAN, _LSTM, _DUDA, _PASO, _ADITIVA, _MEDIA, _INVERSION, _GRADIENTE]
