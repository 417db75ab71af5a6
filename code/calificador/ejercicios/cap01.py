"""Ejercicios del capítulo 1, «Lo que cambió en 2017»."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from calificador.generadores import Borde, distintos, elige, entero, normal, tensor, uniforme
from calificador.registro import Caso, Ejercicio, cambia
from calificador.vetos import ATENCION, ATENTO

# --- 1.1 ------------------------------------------------------------------------------------------

_LAPIZ = Ejercicio(
    id="1.1",
    nombre="weights_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    tolerancia=6e-4,
    aprende="repetir con otra pregunta la cuenta de mirar a todas, y ver que cambia la respuesta",
    propiedades={
        "llave": (
            2,
            (
                "Primero los cuatro parecidos; después, la exponencial de cada uno entre la suma de"
                " las cuatro."
            ),
        ),
        "cajon": (1, "Su parecido es 0, pero su peso no: la exponencial de 0 es 1."),
        "gender": (1, "Es el promedio de los segundos números, con los cuatro pesos."),
    },
    pistas=(
        "Con (1, 1), el parecido de cada palabra es la suma de sus dos números.",
        "El de «cajón» es 0: su exponencial vale 1. Las otras tres no suman lo mismo que antes.",
        "El segundo número es lo que pesan las femeninas menos lo que pesan las masculinas.",
    ),
    mutantes=(
        cambia(
            "la pregunta del texto",
            "Esos son los números de la pregunta sin género, (1, 0); aquí se pregunta (1, 1).",
            "query = (1, 1)",
            "query = (1, 0)",
        ),
        cambia(
            "oxidado",
            "Esos son los números de «oxidado», (1, −1); aquí se pregunta (1, 1).",
            "query = (1, 1)",
            "query = (1, -1)",
        ),
        cambia(
            "sin exponencial",
            "Falta la exponencial: los parecidos se han dividido entre su suma sin más.",
            "math.exp(score) for",
            "score for",
            "math.exp(score) / total",
            "score / total",
        ),
        cambia(
            "sin normalizar",
            "Los pesos deben sumar 1: falta dividir entre la suma de las exponenciales.",
            "math.exp(score) / total",
            "math.exp(score)",
        ),
        cambia(
            "escalado",
            "Los parecidos se han dividido entre la raíz de 2; aquí no se escala.",
            "query[1] * y for",
            "(query[1] * y + query[0] * x) / 2**0.5 - query[0] * x for",
        ),
        cambia(
            "dos decimales",
            "Está bien calculado, pero faltan decimales: se piden tres.",
            'return {"llave": weights["llave"], "cajon": weights["cajon"], "gender": gender}',
            'return {"llave": round(weights["llave"], 2), "cajon": round(weights["cajon"], 2),'
            ' "gender": round(gender, 2)}',
        ),
    ),
)

# --- 1.2 ------------------------------------------------------------------------------------------


def _casos_mirar(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ejes: int) -> Caso:
        lote = distintos(rng, 2, 4, ejes)
        n, m, d = distintos(rng, 2, 7, 3)
        return Caso(propiedad, (normal(rng, *lote, n, d), normal(rng, *lote, m, d)), gradiente=True)

    return [caso("una frase", 0), caso("una frase", 0), caso("con lote", 1), caso("con lote", 2)]


_MIRAR = Ejercicio(
    id="1.2",
    nombre="look_at_all",
    tipo="escribir",
    dificultad=1,
    minutos=12,
    aprende=(
        "escribir la cuenta central del libro: mirar a todas, pesar por el parecido y promediar"
    ),
    bordes=(
        Borde("una frase", {0: -2}),
        Borde("una frase", {1: -2}),
        Borde("con lote", {0: 0, 1: 0}),
    ),
    casos=_casos_mirar,
    ejemplo=lambda: Caso("ejemplo", (tensor([[1.0, 0.0]]), tensor([[1.0, 2.0], [0.0, 4.0]]))),
    propiedades={
        "una frase": (
            4,
            "Con una sola que pregunta y dos palabras, escribe los dos parecidos y los dos pesos.",
        ),
        "con lote": (
            2,
            "Los ejes de delante no se mezclan: el producto de matrices usa los dos últimos.",
        ),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        "Son tres pasos: comparar, normalizar y promediar.",
        "Los parecidos tienen una fila por cada una que pregunta y una columna por palabra mirada.",
        "La softmax recorre las palabras miradas.",
    ),
    mutantes=(
        cambia(
            "softmax por columnas",
            "Deben sumar 1 los pesos de cada una que pregunta: la softmax recorre el último eje.",
            "dim=-1",
            "dim=-2",
        ),
        cambia(
            "escalado",
            "Aquí los parecidos no se escalan.",
            "words.mT  #",
            "words.mT / words.shape[-1] ** 0.5  #",
        ),
        cambia(
            "solo la mejor",
            "Se ha elegido la más parecida; se pide el promedio de todas.",
            "likeness.softmax(dim=-1)",
            "(likeness == likeness.amax(-1, keepdim=True)).to(likeness.dtype)",
        ),
        cambia(
            "sin softmax",
            "Faltan las exponenciales: los parecidos solo se han dividido entre su suma.",
            "likeness.softmax(dim=-1)",
            "likeness / likeness.sum(-1, keepdim=True)",
        ),
        cambia(
            "sin normalizar",
            "Los pesos deben sumar 1: falta dividir entre la suma de las exponenciales.",
            "likeness.softmax(dim=-1)",
            "likeness.exp()",
        ),
    ),
)

# --- 1.3 ------------------------------------------------------------------------------------------


def _casos_saltos(rng: Any) -> list[Caso]:
    def caso(propiedad: str) -> Caso:
        kernel = entero(rng, 3, 7)
        capas, resto = entero(rng, 2 * kernel, 2 * kernel + 3), entero(rng, 1, kernel - 2)
        return Caso(
            propiedad, ((kernel - 1) * capas + (resto if propiedad == "con resto" else 0), kernel)
        )

    de_dos = Caso("justos", (entero(rng, 3, 9), 2))
    return [caso("justos"), caso("justos"), de_dos, caso("con resto"), caso("con resto")]


_SALTOS = Ejercicio(
    id="1.3",
    nombre="steps_to_reach",
    tipo="predecir",
    dificultad=1,
    minutos=8,
    aprende="predecir cuántos pasos separan dos palabras por cada camino, sin ejecutarlo",
    bordes=(
        "kernel == 2",
        Borde("con resto", valores={0: 1}),
    ),
    casos=_casos_saltos,
    ejemplo=lambda: Caso("ejemplo", (2, 2)),
    propiedades={
        "justos": (2, "Con un filtro de tres y distancia 4, dibuja las dos capas."),
        "con resto": (2, "Si sobran sitios, hace falta una capa más, aunque no la use entera."),
    },
    pistas=(
        "La recurrencia va de uno en uno y la atención no depende de la distancia.",
        "Una capa lleva la información tantos sitios como palabras ajenas ve el filtro.",
        "El filtro cuenta la propia palabra: avanza uno menos de lo que abarca.",
    ),
    mutantes=(
        cambia(
            "sin contar la propia",
            "El filtro abarca la propia palabra: cada capa avanza uno menos.",
            "distance / (kernel - 1)",
            "distance / kernel",
        ),
        cambia(
            "redondeo hacia abajo",
            "Si sobran sitios hace falta otra capa: se redondea hacia arriba.",
            "math.ceil(distance / (kernel - 1))",
            "distance // (kernel - 1)",
        ),
        cambia(
            "filtro centrado",
            "El filtro no es centrado: ve la propia palabra y las de delante, ninguna posterior.",
            "math.ceil(distance / (kernel - 1))",
            "math.ceil(distance / max((kernel - 1) // 2, 1))",
        ),
        cambia(
            "una capa de más",
            "Cuando los sitios son justos no hace falta otra capa.",
            "math.ceil(distance / (kernel - 1))",
            "distance // (kernel - 1) + 1",
        ),
        cambia(
            "atención con distancia",
            "La atención llega en un paso desde cualquier distancia.",
            ", 1",
            ", distance",
        ),
        cambia(
            "palabras y no pasos",
            "Entre dos palabras vecinas hay un paso, no dos: se cuentan saltos.",
            "return distance,",
            "return distance + 1,",
        ),
    ),
)

# --- 1.4 ------------------------------------------------------------------------------------------


def _casos_fila(rng: Any, *, reach: int = 3) -> list[Caso]:
    def caso(propiedad: str, alcance: int) -> Caso:
        filas, n = entero(rng, 3, 5), entero(rng, 8, 12)
        luces = (uniforme(rng, 0, 1, filas, n) > 0.5).long()
        hasta_ella = torch.arange(n)
        sitios = (uniforme(rng, 0, 1, filas, n) * (hasta_ella + 1)).long().minimum(hasta_ella)
        return Caso(propiedad, (luces, sitios), {"reach": alcance})

    return [
        caso("de tres", reach),
        caso("de tres", reach),
        caso("otro alcance", reach + 2),
        caso("otro alcance", 1),
    ]


_ENTEROS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def _en_int64(valor: Any) -> Any:
    """Los tensores enteros, del tipo que sean, en int64; lo demás, como llegó."""
    if not isinstance(valor, (tuple, list)):
        return valor
    return tuple(
        v.long() if isinstance(v, torch.Tensor) and v.dtype in _ENTEROS else v for v in valor
    )


def _comprueba_fila(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    nombres = ("al lado", "en orden", "por contenido")
    if not isinstance(obtenido, tuple) or len(obtenido) != len(nombres):
        return "se esperaba una tupla de tres tensores"
    for nombre, dado, cierto in zip(nombres, _en_int64(obtenido), esperado, strict=True):
        if not isinstance(dado, torch.Tensor) or dado.shape != cierto.shape:
            return f"«{nombre}»: se esperaba un tensor (rows, n) = {tuple(cierto.shape)}"
        if dado.dtype != cierto.dtype:
            return f"«{nombre}»: se esperaba un tensor de enteros, de 0 y 1"
        if not torch.equal(dado, cierto):
            i, j = (dado != cierto).nonzero()[0].tolist()
            return (
                f"«{nombre}», fila {i}, persona {j} (desde 0): llegó {dado[i, j]}; se esperaba"
                f" {cierto[i, j]}"
            )
    return None


_FILA = Ejercicio(
    id="1.4",
    nombre="row_answers",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende=(
        "escribir tres relaciones distintas sobre los mismos datos: una ventana, una suma acumulada"
        " y una consulta"
    ),
    bordes=(
        "reach == 1",
        Borde("de tres", {0: 0, 1: 0}),
    ),
    casos=_casos_fila,
    comprueba=_comprueba_fila,
    invariante=_en_int64,
    ejemplo=lambda: Caso(
        "ejemplo", (torch.tensor([[1, 0], [1, 1]]), torch.tensor([[0, 0], [0, 1]])), {"reach": 2}
    ),
    propiedades={
        "de tres": (4, "Con una fila de tres luces, escribe las tres respuestas a mano."),
        "otro alcance": (
            2,
            "Con un alcance de 1 solo cuenta la propia luz; con 5, ella y cuatro más.",
        ),
    },
    variante={"reach": 3},
    alternativas={"reach": (4, 2, 6)},
    pistas=(
        "Impar es el resto de dividir entre 2.",
        (
            "La suma de una ventana es la diferencia de dos sumas acumuladas; también sirve"
            " rellenar con ceros por delante."
        ),
        "Para la tercera no hay que sumar nada: se toma la luz del sitio que se pregunta.",
    ),
    mutantes=(
        cambia(
            "una de menos",
            "La ventana tiene una persona de menos: se cuenta también la propia.",
            "(reach, 0)",
            "(reach - 1, 0)",
        ),
        cambia(
            "una de más",
            "La ventana tiene una persona de más: con alcance 3 son ella y dos.",
            "(reach, 0)",
            "(reach + 1, 0)",
        ),
        cambia(
            "por columnas",
            "La suma recorre las filas; debe recorrer las personas de cada fila.",
            "cumsum(dim=1)",
            "cumsum(dim=0)",
        ),
        cambia(
            "sin mí",
            "En orden se cuenta también la propia luz.",
            "so_far % 2",
            "(so_far - lit) % 2",
        ),
        cambia(
            "sitio relativo",
            "El sitio que se pregunta se cuenta desde el principio de la fila, no hacia atrás.",
            "lit.gather(1, asked)",
            "lit.gather(1, (torch.arange(lit.shape[1]) - asked).expand_as(asked))",
        ),
        cambia(
            "al revés", "La respuesta es 1 cuando el número es impar.", "near % 2,", "1 - near % 2,"
        ),
    ),
)

# --- 1.5 ------------------------------------------------------------------------------------------


def _casos_cadena(rng: Any) -> list[Caso]:
    def azar(n: int) -> list[list[int]]:
        return [
            sorted({entero(rng, 0, i - 1) for _ in range(entero(rng, 0, 2))}) if i else []
            for i in range(n)
        ]

    n = entero(rng, 3, 9)
    cadena = [[] if i == 0 else [i - 1] for i in range(n)]
    sueltas = [[] for _ in range(n)]
    abanico = [[] for _ in range(n)] + [list(range(n))]
    tardia = [[], [0], [1], [0, 2], *([] for _ in range(n))]
    desiguales = [
        [[], [0], [1], [], [2, 3]],
        [[], [0], [1], [], [], [2, 3, 4]],  # la más tardía, la primera de tres
        [[], [], [0], [2], [], [0, 3, 4]],  # la de en medio
        [[], [], [0], [2], [0, 1, 3]],  # la última
    ]
    al_azar = [azar(entero(rng, 9, 14)) for _ in range(3)]
    return [
        *(Caso("conocidas", (red,)) for red in (cadena, sueltas, abanico, [])),
        *(Caso("cualesquiera", (red,)) for red in (tardia, *desiguales, *al_azar)),
    ]


_CADENA = Ejercicio(
    id="1.5",
    nombre="serial_steps",
    tipo="escribir",
    dificultad=2,
    minutos=15,
    aprende="contar lo que de verdad hay que esperar cuando hay máquinas sin límite",
    bordes=("not needs",),
    casos=_casos_cadena,
    ejemplo=lambda: Caso("ejemplo", ([[], [0], [], [1, 2]],)),
    propiedades={
        "conocidas": (
            2,
            (
                "Una recurrencia es una cadena; una suma, un abanico; sin operaciones no se espera"
                " nada."
            ),
        ),
        "cualesquiera": (
            3,
            "La última operación de la lista no es siempre la que acaba más tarde.",
        ),
    },
    pistas=(
        "¿Cuándo puede empezar una operación? Cuando acaba la más tardía de las que necesita.",
        (
            "Como cada una necesita solo anteriores, basta recorrer la lista una vez, guardando"
            " cuándo acaba cada una."
        ),
        "Se pide la que más tarde acaba de todas.",
    ),
    mutantes=(
        cambia(
            "la última",
            "Se devuelve cuándo acaba la última de la lista; otra puede acabar después.",
            "max(ends, default=0)",
            "(ends[-1] if ends else 0)",
        ),
        cambia(
            "suma",
            "Las que se necesitan pueden hacerse a la vez: se espera a la más tardía, no a la"
            " suma.",
            "max((ends[i] for i in before), default=0)",
            "sum(ends[i] for i in before)",
        ),
        cambia(
            "la más temprana",
            "Hay que esperar a la más tardía de las que se necesitan, no a la primera que acabe.",
            "max((ends[i] for i in before), default=0)",
            "min((ends[i] for i in before), default=0)",
        ),
        cambia(
            "todas en serie",
            "Se han contado todas las operaciones, como si ninguna pudiera ir a la vez.",
            "return max(ends, default=0)",
            "return len(ends)",
        ),
        cambia(
            "flechas y no operaciones",
            "Se cuentan operaciones: una sola, sin necesitar a nadie, es 1.",
            "1 + max((ends[i] for i in before), default=0)",
            "max((1 + ends[i] for i in before), default=0)",
        ),
    ),
)

# --- 1.6 ------------------------------------------------------------------------------------------


def _mas_cerca(cuenta: Any, meta: int) -> list[int]:
    """Los anchos a la menor distancia: uno, o dos si empatan."""
    distancias = {h: abs(cuenta(h) - meta) for h in range(1, meta + 2)}
    return [h for h, d in distancias.items() if d == min(distancias.values())]


def _delatan() -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Tamaños pequeños en los que contar un solo sesgo por puerta, o desempatar hacia arriba, da
    otra cosa.
    """
    sesgos, empates = [], []
    for d, alcance, ancho in itertools.product(range(2, 7), (2, 3, 4), range(3, 8)):
        meta = ancho * (d * alcance + 1)
        lstm = _mas_cerca(lambda h, d=d: 4 * h * (d + h + 2), meta)
        con_uno = _mas_cerca(lambda h, d=d: 4 * h * (d + h + 1), meta)
        atencion = _mas_cerca(lambda h, d=d: 3 * h * (d + 1), meta)
        if lstm[0] != con_uno[0]:
            sesgos.append((d, alcance, ancho))
        if len(lstm) + len(atencion) > 2:
            empates.append((d, alcance, ancho))
    return sesgos, empates


def _casos_anchos(rng: Any) -> list[Caso]:
    def caso(propiedad: str) -> Caso:
        pequeno = propiedad == "pequeñas"
        d = entero(rng, 2, 6) if pequeno else entero(rng, 16, 40)
        return Caso(
            propiedad, (d, entero(rng, 2, 4), entero(rng, 3, 7) if pequeno else entero(rng, 24, 60))
        )

    sesgos, empates = _delatan()
    return [
        caso("pequeñas"),
        caso("pequeñas"),
        Caso("pequeñas", elige(rng, sesgos)),
        Caso("pequeñas", elige(rng, empates)),
        *(caso("como las del capítulo") for _ in range(6)),
    ]


_ANCHOS = Ejercicio(
    id="1.6",
    nombre="match_widths",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="contar los parámetros de tres piezas y hacer justa una comparación",
    bordes="se busca un ancho entero, y los casos escogen los que empatan y los que delatan",
    casos=_casos_anchos,
    ejemplo=lambda: Caso("ejemplo", (3, 3, 4)),
    propiedades={
        "pequeñas": (2, "Crea las tres piezas con d = 3 y cuenta sus parámetros con PyTorch."),
        "como las del capítulo": (
            4,
            "Basta una unidad de más para alejarse: compara las dos vecinas.",
        ),
    },
    pistas=(
        (
            "El número de parámetros de una capa lineal es entradas por salidas, más un sesgo por"
            " salida."
        ),
        "La LSTM tiene cuatro puertas, y cada una mira la entrada y el estado.",
        "El número crece con el ancho: basta probar anchos y quedarse con el más cercano.",
    ),
    mutantes=(
        cambia(
            "un solo sesgo",
            "En PyTorch cada puerta de la LSTM lleva dos vectores de sesgo.",
            "h * h + 2 * h",
            "h * h + h",
        ),
        cambia(
            "el mayor de los que empatan",
            "De dos anchos a igual distancia se pide el menor.",
            "key=lambda h: abs(count(h) - goal)",
            "key=lambda h: (abs(count(h) - goal), -h)",
        ),
        cambia(
            "sin estado",
            "Falta la matriz de la LSTM que multiplica al estado.",
            "h * d + h * h",
            "h * d",
        ),
        cambia(
            "tres puertas",
            "La LSTM tiene cuatro puertas; con tres sería una GRU.",
            "4 * (h * d",
            "3 * (h * d",
        ),
        cambia(
            "sin pasarse",
            "Se ha tomado el mayor ancho que no se pasa; el más cercano puede pasarse.",
            "abs(count(h) - goal)",
            "(count(h) > goal, goal - count(h))",
        ),
        cambia(
            "sin pegar el alcance",
            "El filtro tiene una matriz por cada palabra que abarca.",
            "width * d * reach",
            "width * d",
        ),
        cambia(
            "dos proyecciones",
            "La atención lleva tres proyecciones: la que pregunta, la que responde y la que"
            " entrega.",
            "3 * (h * d + h)",
            "2 * (h * d + h)",
        ),
    ),
)

# --- 1.7 ------------------------------------------------------------------------------------------


def _casos_filtro(rng: Any) -> list[Caso]:
    def caso(propiedad: str, k: int, n: int) -> Caso:
        pesos = uniforme(rng, 0.2, 1.0, k)
        return Caso(propiedad, (pesos / pesos.sum(), n))

    largo, corto = "más larga que el filtro", "más corta que el filtro"
    return [
        caso(largo, 2, 5),
        caso(largo, 3, entero(rng, 6, 8)),
        caso(largo, 4, 9),
        caso(corto, elige(rng, (5, 6)), 3),
    ]


def _comprueba_filtro(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    if not isinstance(obtenido, torch.Tensor) or obtenido.shape != esperado.shape:
        llego = (
            tuple(obtenido.shape) if isinstance(obtenido, torch.Tensor) else type(obtenido).__name__
        )
        return f"llegó {llego}; se esperaba un tensor (n, n) = {tuple(esperado.shape)}"
    if not obtenido.is_floating_point():
        return "las puntuaciones deben ser números de coma flotante"
    pesos, ciertos = obtenido.double().softmax(dim=-1), esperado.softmax(dim=-1)
    mal = ((pesos - ciertos).abs() > 1e-9) | pesos.isnan()
    if not mal.any():
        return None
    i, j = mal.nonzero()[0].tolist()
    return (
        f"tras la softmax, la palabra {i} da a la {j} un peso de {pesos[i, j]:.3f}; "
        f"se esperaba {ciertos[i, j]:.3f} (se cuentan desde 0)"
    )


_FILTRO = Ejercicio(
    id="1.7",
    nombre="filter_scores",
    tipo="escribir",
    dificultad=3,
    minutos=25,
    aprende="ver que una atención con puntuaciones por sitio contiene a una convolución",
    bordes=(
        "len(weights) > n",
        Borde("más larga que el filtro", {0: 0}),
        Borde("más corta que el filtro", valores={1: 1}),
    ),
    casos=_casos_filtro,
    ejemplo=lambda: Caso("ejemplo", (tensor([1.0]), 2)),
    propiedades={
        "más larga que el filtro": (
            5,
            "Con tres palabras y un filtro de dos, escribe los nueve pesos que quieres.",
        ),
        "más corta que el filtro": (
            2,
            "Si la frase es más corta que el filtro, sobran pesos: no se usan.",
        ),
    },
    comprueba=_comprueba_filtro,
    invariante=lambda valor: valor.softmax(dim=-1),
    pistas=(
        "¿Qué puntuación da un peso 0 tras la softmax?",
        (
            "Si la softmax aplica la exponencial, ¿qué función hay que aplicar antes para que salga"
            " el peso?"
        ),
        "Al principio no hace falta hacer nada: la softmax divide entre lo que hay.",
    ),
    mutantes=(
        cambia(
            "pesos sin logaritmo",
            "La softmax aplica la exponencial: a los pesos les falta el logaritmo.",
            "weights[back].log()",
            "weights[back]",
        ),
        cambia(
            "cero en vez de −∞",
            "Una puntuación de 0 no tapa nada, porque e⁰ = 1: hace falta −∞.",
            "-math.inf",
            "0.0",
        ),
        cambia(
            "hacia delante",
            "El filtro mira a las palabras anteriores, y aquí mira a las siguientes.",
            "scores[rows, rows - back]",
            "scores[rows - back, rows]",
        ),
        cambia(
            "filtro al revés",
            "El primer peso es el de la propia palabra; aquí es el de la más lejana.",
            "weights[back].log()",
            "weights[-1 - back].log()",
        ),
        cambia(
            "sin la propia",
            "Falta la propia palabra: el primer peso es el suyo.",
            "rows - back]",
            "rows - back - 1]",
        ),
    ),
)

EJERCICIOS = [_LAPIZ, _MIRAR, _SALTOS, _FILA, _CADENA, _ANCHOS, _FILTRO]
