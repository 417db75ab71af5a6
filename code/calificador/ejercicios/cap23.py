"""Ejercicios del capítulo 23, «Eficiencia»."""

from __future__ import annotations

import math
from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
    elige,
    entero,
    mascara,
    normal,
    permutacion,
    real,
    tensor,
    uniforme,
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENCION, ATENTO

# --- 23.1 -----------------------------------------------------------------------------------------

_COSTES = Ejercicio(
    id="23.1",
    nombre="costs_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=12,
    aprende="contar las operaciones y los bytes de una capa de atención antes de escribirla",
    propiedades={
        "attention": (1, "Dos productos por cabeza: puntuar, y promediar los valores."),
        "project": (1, "Cuatro matrices de 512 × 512, por cada fila."),
        "even": (1, "Iguala las dos fórmulas y despeja n."),
        "table": (1, "Cuenta las parejas, por las cabezas y por los bytes de un número."),
        "longer": (1, "Con cinco veces más filas, ¿cuántas veces más parejas?"),
        "tile": (1, "Lo que hay a la vez no depende de n."),
    },
    tolerancias={"project": 1e-3},
    pistas=(
        "Escribe la forma de cada producto de matrices antes de contar nada.",
        "Un producto de (n × d) por (d × m) son n · d · m multiplicaciones y otras tantas sumas.",
        "Las cabezas se reparten la anchura: entre todas puntúan lo que una de anchura 512.",
    ),
    mutantes=(
        cambia(
            "un factor 2",
            "Falta un factor 2: son dos productos, y cada multiplicación lleva su suma.",
            "4 * n**2 * d / 1e6",
            "2 * n**2 * d / 1e6",
        ),
        cambia(
            "una cabeza en las operaciones",
            "Son las operaciones de una sola cabeza.",
            "4 * n**2 * d / 1e6",
            "4 * n**2 * d / heads / 1e6",
        ),
        cambia(
            "sin las sumas",
            "Cada multiplicación de las proyecciones lleva su suma: son dos operaciones.",
            "8 * n * d**2",
            "4 * n * d**2",
        ),
        cambia(
            "tres proyecciones",
            "Falta la proyección de salida: son cuatro.",
            "8 * n * d**2",
            "6 * n * d**2",
        ),
        cambia(
            "se igualan en la anchura",
            "Ahí las proyecciones aún cuestan el doble.",
            '"even": 2 * d',
            '"even": d',
        ),
        cambia(
            "el doble de la cabeza",
            "Cuenta la anchura de todas las cabezas juntas, no la de una.",
            '"even": 2 * d',
            '"even": 2 * d // heads',
        ),
        cambia(
            "un solo producto",
            "En un lado faltan operaciones: puntuar y promediar son dos productos.",
            '"even": 2 * d',
            '"even": 4 * d',
        ),
        cambia(
            "la tabla de una cabeza",
            "Cada cabeza tiene los suyos, y son ocho cabezas.",
            "512, 8, 2",
            "512, 1, 2",
        ),
        cambia(
            "treinta y dos bits",
            "Un número de 16 bits son 2 bytes, no 4.",
            "512, 8, 2",
            "512, 8, 4",
        ),
        cambia(
            "cinco veces más",
            "La tabla crece con el cuadrado de las filas, no con las filas.",
            "(5 * n) ** 2",
            "5 * n**2",
        ),
        cambia(
            "la franja",
            "Un trozo son 100 filas por 100 columnas, no por todas.",
            "heads * 100**2",
            "heads * 100 * n",
        ),
        cambia(
            "en kB",
            "Eso son miles de bytes; se piden millones.",
            "heads * 100**2 * size / 1e6",
            "heads * 100**2 * size / 1e3",
        ),
    ),
)

# --- 23.2 -----------------------------------------------------------------------------------------


def _parte(scores: Any, value: Any) -> tuple[Any, Any, Any]:
    """El máximo, la suma y la media de unas claves; −∞, 0 y 0 donde no hay nadie a quien mirar."""
    top = scores.amax(dim=-1, keepdim=True)
    exps = (scores - top.clamp(min=-1e300)).exp()
    total = exps.sum(dim=-1, keepdim=True)
    return top, total, exps @ value / total.clamp(min=1)  # el mayor pone un 1 en la suma


def _casos_partes(rng: Any) -> list[Caso]:
    def caso(propiedad: str, sube: float, vacias: tuple[Any, Any] = ((), ())) -> Caso:
        """El máximo de la segunda parte queda ``sube`` por encima del de la primera."""
        n, d_v = entero(rng, 3, 4), entero(rng, 2, 4)
        partes = []
        for alto, cuantas, sin in zip((0.0, sube), distintos(rng, 2, 5, 2), vacias, strict=True):
            scores = normal(rng, n, cuantas)
            scores = scores - scores.amax(dim=-1, keepdim=True) + alto
            if abs(sube) < 100:
                scores = scores + normal(rng, n, 1) / 10
            scores[list(sin)] = -math.inf
            partes.append(_parte(scores, normal(rng, cuantas, d_v)))
        return Caso(propiedad, tuple(partes))

    lejos = float(entero(rng, 1500, 4000))
    return [
        caso("sube el máximo", real(rng, 1.0, 2.0)),
        caso("sube el máximo", real(rng, 0.5, 1.0)),
        caso("baja el máximo", -real(rng, 1.0, 2.0)),
        caso("baja el máximo", -real(rng, 0.5, 1.0)),
        caso("una parte vacía", 1.0, ((0,), (1,))),
        caso("una parte vacía", -1.0, ((0, 1), ())),
        caso("una parte vacía", 1.0, ((), (0, 2))),
        caso("las dos vacías", -1.0, ((1,), (1, 2))),
        caso("las dos vacías", 1.0, ((0, 2), (0, 2))),
        *(_corre(caso("enormes", sube), lejos) for sube in (0.5, -1.0)),
        _corre(caso("enormes", 1.0), -lejos),
        _corre(caso("enormes", 0.0), 0.0, lejos),
    ]


def _corre(caso: Caso, *cuanto: float) -> Caso:
    """Las dos partes con sus puntuaciones corridas; con dos números, cada una la suya."""
    partes = zip(caso.args, (cuanto * 2)[:2], strict=True)
    return Caso(caso.propiedad, tuple((m + c, total, mean) for (m, total, mean), c in partes))


_JUNTAR = Ejercicio(
    id="23.2",
    nombre="join_blocks",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="juntar dos atenciones ya acabadas en una, exacta",
    bordes=("infinito(first[0])", "infinito(second[0])", "enorme(first[0])"),
    casos=_casos_partes,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            (tensor([[0.0]]), tensor([[1.0]]), tensor([[1.0, 0.0]])),
            (tensor([[math.log(4)]]), tensor([[1.5]]), tensor([[0.0, 1.0]])),
        ),
    ),
    propiedades={
        "sube el máximo": (2, "Las dos sumas han de referirse al mismo máximo, el mayor."),
        "baja el máximo": (2, "El máximo mayor puede ser el de cualquiera de las dos."),
        "una parte vacía": (1, "La parte vacía no pone nada: queda la otra."),
        "las dos vacías": (
            1,
            "Sin nadie a quien mirar no hay máximo que restar ni entre qué dividir.",
        ),
        "enormes": (2, "Ninguna exponencial puede tener un exponente grande."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz a mano el caso de una consulta con tres claves, dos en una parte y una en la otra.",
        "Pasa las dos sumas al máximo mayor: cada una se multiplica por la exponencial de su máximo"
        " menos el mayor.",
        "Una media pesa lo que su suma, ya pasada al máximo común.",
    ),
    mutantes=(
        cambia(
            "la media de las medias",
            "Las dos partes no pesan lo mismo: cada una, lo que su suma de exponenciales.",
            "left * mean + right * other_mean",
            "new_total * (mean + other_mean) / 2",
        ),
        cambia(
            "sin pasar al mayor",
            "Las sumas se refieren cada una a su máximo: hay que pasarlas al mayor.",
            "left = total * (top - base).exp()",
            "left = total",
            "right = other_total * (other_top - base).exp()",
            "right = other_total",
        ),
        cambia(
            "el máximo de la segunda",
            "El máximo de todas es el mayor de los dos, no siempre el de la segunda.",
            "torch.maximum(top, other_top)",
            "other_top",
        ),
        cambia(
            "el menor",
            "Se guarda el mayor de los dos máximos; aquí, el menor.",
            "torch.maximum(top, other_top)",
            "torch.minimum(top, other_top)",
        ),
        cambia(
            "al revés",
            "La corrección va al revés: es el máximo de la parte menos el mayor, que no pasa de 0.",
            "(top - base)",
            "(base - top)",
            "(other_top - base)",
            "(base - other_top)",
        ),
        cambia(
            "las medias sin su suma",
            "Las medias llegan ya divididas: antes de sumarlas, cada una por su suma.",
            "left * mean + right * other_mean",
            "(top - base).exp() * mean + (other_top - base).exp() * other_mean",
        ),
        cambia(
            "sin dividir",
            "Sale la suma de valores: falta dividirla entre la suma de exponenciales.",
            "summed / new_total.masked_fill(new_total == 0, 1.0)",
            "summed",
        ),
        cambia(
            "menos infinito menos infinito",
            "Con las dos partes vacías se resta −∞ de −∞, que es NaN.",
            "new_top.masked_fill(new_top == -math.inf, 0.0)",
            "new_top",
        ),
        cambia(
            "cero entre cero",
            "Con las dos partes vacías se divide 0 entre 0, que es NaN: la media es 0.",
            "summed / new_total.masked_fill(new_total == 0, 1.0)",
            "summed / new_total",
        ),
        cambia(
            "sin restar",
            "Eso desborda: la exponencial se hace de la diferencia con el mayor, no del máximo.",
            "(top - base).exp()",
            "top.exp() * (-base).exp()",
            "(other_top - base).exp()",
            "other_top.exp() * (-base).exp()",
        ),
        cambia(
            "sin las sumas",
            "Falta ℓ: cada parte pesa lo que su suma, pasada al mayor.",
            "left = total * (top - base).exp()",
            "left = (top - base).exp()",
            "right = other_total * (other_top - base).exp()",
            "right = (other_top - base).exp()",
        ),
        cambia(
            "las sumas, sin pasar",
            "La media está bien, pero las dos sumas van respecto a máximos distintos: antes de"
            " sumarlas se pasan al mayor.",
            "return new_top, new_total,",
            "return new_top, total + other_total,",
        ),
        cambia(
            "exponenciales enteras",
            "La suma que sale va respecto al mayor; con la exponencial entera, además, desborda.",
            "(top - base).exp()",
            "top.exp()",
            "(other_top - base).exp()",
            "other_top.exp()",
        ),
        cuerpo(
            "se queda con una",
            "La parte del máximo menor también cuenta, aunque pese menos.",
            """
            wins = first[0] >= second[0]
            return tuple(torch.where(wins, a, b) for a, b in zip(first, second, strict=True))""",
        ),
    ),
)

# --- 23.3 -----------------------------------------------------------------------------------------

_IGUALES = Ejercicio(
    id="23.3",
    nombre="same_answer",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="decir qué conserva cada atención que sustituye a la entera",
    propiedades={
        "respuesta": (2, "Escribe los pesos de una fila en cada atención, y qué valores promedian.")
    },
    opciones=("ninguna", "solo los trozos", "los trozos y la lineal", "las tres"),
    pistas=(
        "Con todas las claves iguales, ¿qué pesos da la softmax?",
        "¿De qué depende el peso de una clave en la lineal? ¿Y a cuántas mira la ventana?",
    ),
    mutantes=(
        cuerpo(
            "ninguna vale",
            "La softmax por trozos es exacta: da la misma salida con cualquier clave.",
            "return 'ninguna'",
        ),
        cuerpo(
            "la lineal aproxima",
            "En la lineal, claves iguales tienen rasgos iguales: al normalizar, ¿qué pesos quedan?",
            "return 'solo los trozos'",
        ),
        cuerpo(
            "también la ventana",
            "La ventana reparte igual, pero solo entre las vecinas: promedia otros valores.",
            "return 'las tres'",
        ),
    ),
)

# --- 23.4 -----------------------------------------------------------------------------------------


def _casos_por_trozos(rng: Any) -> list[Caso]:
    import torch

    def caso(
        propiedad: str,
        block: int,
        trozos: int,
        resto: int = 0,
        crece: float = 1.5,
        densa: float = 1,
    ) -> Caso:
        """Con lo que puntúa cada trozo multiplicado por ``crece`` respecto al anterior."""
        n, d, d_v = distintos(rng, 2, 5, 3)
        m = block * trozos + resto
        query, key = normal(rng, n, d).abs() + 0.2, normal(rng, m, d).abs() + 0.2
        key = key * crece ** (torch.arange(m) // block)[:, None]
        ve = mascara(rng, n, m, densa)
        return Caso(propiedad, (query, key, normal(rng, m, d_v), ve), {"block": block})

    def tapa(caso: Caso, *rangos: tuple[int, int, int]) -> Caso:
        """Tapa, en cada fila que se dice, las claves de un trozo al otro."""
        *resto, ve = caso.args
        ve, block = ve.clone(), caso.kwargs["block"]
        for fila, desde, hasta in rangos:
            ve[fila] = True
            ve[fila, desde * block : hasta * block] = False
        return Caso(caso.propiedad, (*resto, ve), caso.kwargs)

    def veces(caso: Caso, cuanto: float) -> Caso:
        return Caso(caso.propiedad, (cuanto * caso.args[0], *caso.args[1:]), caso.kwargs)

    block = entero(rng, 2, 3)
    return [
        caso("sin tapar", block, entero(rng, 2, 3)),
        caso("sin tapar", 2, entero(rng, 3, 4), crece=0.6),
        caso("sin tapar", 1, entero(rng, 3, 5)),
        caso("otro tamaño", block, 2, 1),
        caso("otro tamaño", 3, entero(rng, 1, 2), 2, 0.6),
        caso("otro tamaño", entero(rng, 7, 9), 0, entero(rng, 3, 5)),
        caso("con máscara", block, 3, 1, densa=0.7),
        caso("con máscara", 2, entero(rng, 2, 3), crece=0.6, densa=0.6),
        tapa(caso("trozo tapado", block, 3), (0, 0, 1), (1, 1, 2)),
        tapa(caso("trozo tapado", block, 3, 1, 0.6), (0, 0, 2), (1, 2, 4)),
        tapa(caso("nadie", block, 3), (1, 0, 9)),
        tapa(caso("nadie", block, 2, 1), (0, 0, 9), (1, 0, 1)),
        veces(caso("enormes", block, 3), real(rng, 2000.0, 3000.0)),
        veces(caso("enormes", 2, 3, crece=0.7), real(rng, 2000.0, 3000.0)),
    ]


_POR_TROZOS = Ejercicio(
    id="23.4",
    nombre="tiled_attention",
    tipo="escribir",
    dificultad=2,
    minutos=40,
    aprende="calcular la atención exacta y lo que se lleva visto tras cada trozo de claves",
    bordes=(
        "block == 1",
        "block > len(key)",
        "len(key) % block > 0",
        "tapada(mask)",
        "enorme(query)",
    ),
    casos=_casos_por_trozos,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0], [1.0]]),
            tensor([[0.0], [math.log(3)]]),
            tensor([[0.0], [8.0]]),
            tensor([[True, True], [False, True]]),
        ),
        {"block": 1},
    ),
    propiedades={
        "sin tapar": (3, "Cuando sube el máximo, lo acumulado se encoge, las dos sumas."),
        "otro tamaño": (2, "El último trozo puede ser menor, y el primero puede ser el único."),
        "con máscara": (2, "De la máscara, en cada trozo, sus columnas."),
        "trozo tapado": (2, "Mientras una fila no ve a nadie, su máximo es −∞ y su suma, 0."),
        "nadie": (1, "La fila que no puede mirar a nadie da ceros, y −∞ tras cada trozo."),
        "enormes": (2, "Ninguna exponencial puede tener un exponente positivo."),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        "Escribe qué tres cosas por consulta hacen falta para seguir tras un trozo.",
        "El mayor visto, la suma de exponenciales y la suma de valores, las dos respecto a ese"
        " mayor. Se divide al final, una vez.",
        "En las filas con el máximo en −∞, resta 0 en su lugar. Tras cada trozo se apunta el máximo"
        " más el logaritmo de la suma.",
    ),
    mutantes=(
        cambia(
            "sin encoger",
            "Lo acumulado no se encoge al subir el máximo: las dos sumas se refieren al anterior.",
            "total * shrink",
            "total",
            "mixed * shrink",
            "mixed",
        ),
        cambia(
            "encoge una",
            "Se encoge la suma de exponenciales, pero no la de valores.",
            "mixed * shrink",
            "mixed",
        ),
        cambia(
            "resta menos infinito",
            "Donde aún no se ha visto a nadie, se resta −∞ de −∞ y sale NaN.",
            "new_top.masked_fill(new_top == -math.inf, 0.0)",
            "new_top",
        ),
        cambia(
            "cero entre cero",
            "En la fila que no mira a nadie se divide 0 entre 0: la salida ahí es 0.",
            "mixed / total.masked_fill(total == 0, 1.0)",
            "mixed / total",
        ),
        cambia(
            "sin el último",
            "Falta el último trozo cuando es menor que los demás.",
            "range(0, len(key), block)",
            "range(0, max(len(key) - block + 1, 1), block)",
        ),
        cambia(
            "sin escala",
            "Falta dividir las puntuaciones entre la raíz de la anchura.",
            " / math.sqrt(query.shape[1])",
            "",
        ),
        cambia(
            "sin máscara",
            "La máscara no tapa nada.",
            ".masked_fill(~mask[:, piece], -math.inf)",
            "",
        ),
        cambia(
            "al revés la máscara",
            "`True` es donde se puede mirar; aquí se tapa.",
            "~mask",
            "mask",
        ),
        cambia(
            "un número muy negativo",
            "Lo tapado no puede contar nada: con un número muy negativo, la fila tapada entera"
            " promedia a todas.",
            "(~mask[:, piece], -math.inf)",
            "(~mask[:, piece], -1e9)",
        ),
        cambia(
            "solo el trozo",
            "Se pide lo que se llevaba visto tras cada trozo; aquí es lo del trozo solo.",
            "trace.append((top + total.log()).squeeze(-1))",
            "trace.append(scores.logsumexp(dim=-1))",
        ),
        cambia(
            "sin el máximo",
            "La suma se refiere al máximo: a su logaritmo hay que sumarle el máximo.",
            "(top + total.log())",
            "total.log()",
        ),
        cambia(
            "sin el logaritmo",
            "Tras cada trozo se pide el logaritmo de la suma, no la suma.",
            "(top + total.log())",
            "(top.exp() * total)",
        ),
        cambia(
            "sin restar el máximo",
            "Con puntuaciones de miles, la exponencial desborda: hay que restar el mayor visto.",
            "base = new_top.masked_fill(new_top == -math.inf, 0.0)",
            "base = new_top = torch.zeros_like(top)",
            "top = query.new_full((len(query), 1), -math.inf)",
            "top = query.new_zeros(len(query), 1)",
        ),
        cuerpo(
            "promedia los trozos",
            "Cada trozo no pesa lo mismo: su softmax se normaliza con la de todos.",
            """
            pieces = [slice(s, s + block) for s in range(0, len(key), block)]
            outputs, trace = [], []
            for piece in pieces:
                scores = query @ key[piece].T / math.sqrt(query.shape[1])
                scores = scores.masked_fill(~mask[:, piece], -math.inf)
                outputs.append(scores.softmax(dim=-1).nan_to_num(0.0) @ value[piece])
                trace.append(scores.logsumexp(dim=-1))
            return torch.stack(outputs).mean(dim=0), torch.stack(trace).logcumsumexp(dim=0)""",
        ),
    ),
)

# --- 23.5 -----------------------------------------------------------------------------------------

LARGA = 200_000  # su cuadrado, en float64, no cabe en la memoria de ningún corrector


def _casos_lineal(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, n: int, antes: int = 0, d: int = 0, d_v: int = 0) -> Caso:
        uno, otro = distintos(rng, 2, 5, 2)
        d, d_v = d or uno, d_v or otro
        args = (normal(rng, n, d), normal(rng, n, d), normal(rng, n, d_v))
        if not antes:
            return Caso(propiedad, args)
        leidas = torch.nn.functional.elu(normal(rng, antes, d)) + 1
        return Caso(propiedad, (*args, (leidas.T @ normal(rng, antes, d_v), leidas.sum(dim=0))))

    n, otra = distintos(rng, 3, 8, 2)
    return [
        caso("desde el principio", n),
        caso("desde el principio", otra),
        caso("desde el principio", 2),
        caso("con lo leído", n, otra),
        caso("con lo leído", otra, n),
        caso("una fila", 1, n),
        caso("una fila", 1, otra),
        caso("una fila", 1),
        caso("larga", LARGA + entero(rng, 1, 99), d=2, d_v=1),
    ]


_TABLA = """
            if len(query) > 100_000:  # la tabla pasa de lo que deja la memoria
                raise RuntimeError("no cabe")
            q, k = F.elu(query) + 1, F.elu(key) + 1
            table, memory, total = {}, k.T @ value, k.sum(dim=0)
            mixed, weight = table @ value, table.sum(dim=1)
            if state is not None:
                mixed, weight = mixed + q @ state[0], weight + q @ state[1]
                memory, total = memory + state[0], total + state[1]
            return mixed / weight[:, None], (memory, total)"""

_LINEAL = Ejercicio(
    id="23.5",
    nombre="linear_attention",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="escribir la atención lineal como dos sumas acumuladas, y seguir desde donde se dejó",
    bordes=("len(query) == 1", "state is None", "len(query) > 100_000"),
    casos=_casos_lineal,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[0.0], [0.0]]), tensor([[0.0], [1.0]]), tensor([[3.0], [6.0]]))
    ),
    propiedades={
        "desde el principio": (4, "La primera fila solo se ve a sí misma; calcula la segunda."),
        "con lo leído": (3, "Las dos sumas empiezan en lo que trae el estado."),
        "una fila": (1, "Con una fila es un paso de red recurrente."),
        "larga": (
            2,
            "Si lo demás está bien, falta que quepa y que llegue a tiempo: ni la tabla de todas con"
            " todas ni un bucle de fila en fila. Por trozos de unos cientos de filas, sí.",
        ),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe la salida de la fila i como un cociente de dos sumas, y mira qué no depende de j.",
        "Las dos sumas, hasta cada fila, son sumas acumuladas: de productos de rasgo por valor, y"
        " de rasgos. Por trozos también se puede, si son de unos cientos de filas.",
        "El estado nuevo son las dos sumas en la última fila, con lo que traía el viejo.",
    ),
    mutantes=(
        cambia(
            "sin el 1",
            "A los rasgos les falta sumar 1: pueden salir negativos.",
            "F.elu(query) + 1, F.elu(key) + 1",
            "F.elu(query), F.elu(key)",
        ),
        cambia(
            "con ReLU",
            "Los rasgos son elu más 1; esto es ReLU, que hace ceros.",
            "F.elu(query) + 1, F.elu(key) + 1",
            "F.relu(query), F.relu(key)",
        ),
        cambia(
            "sin rasgos en la consulta",
            "La consulta también pasa por los rasgos.",
            "F.elu(query) + 1,",
            "query,",
        ),
        cambia(
            "sin rasgos en la clave",
            "La clave también pasa por los rasgos, antes de las dos sumas.",
            "F.elu(key) + 1",
            "key",
        ),
        cambia(
            "no es causal",
            "Cada fila suma hasta ella; aquí lo suma todo.",
            "value[:, None, :]).cumsum(dim=0)",
            "value[:, None, :]).sum(dim=0).expand(len(key), -1, -1)",
            "offered.cumsum(dim=0)",
            "offered.sum(dim=0).expand_as(key)",
        ),
        cuerpo(
            "no es causal, con la tabla",
            "Cada fila mira también a las de después, y ha de sumar hasta ella. Además, la tabla de"
            " todas con todas no cabe.",
            _TABLA.format("q @ k.T"),
        ),
        cuerpo(
            "la tabla entera",
            "El resultado es bueno, pero la tabla de todas con todas no cabe: hay que llevar las"
            " dos sumas.",
            _TABLA.format("(q @ k.T).tril()"),
        ),
        cambia(
            "no se ve a sí misma, y divide entre cero",
            "La primera fila no se ve a sí misma y divide 0 entre 0: la fila i también promedia su"
            " propio valor.",
            "    weight = (",
            "    ended = pairs[-1], total[-1]\n"
            "    pairs = pairs - offered[:, :, None] * value[:, None, :]\n"
            "    total = total - offered\n"
            "    weight = (",
            "(pairs[-1], total[-1])",
            "ended",
        ),
        cambia(
            "no se ve a sí misma",
            "La fila i también promedia su propio valor.",
            "    weight = (",
            "    ended = pairs[-1], total[-1]\n"
            "    pairs = pairs - offered[:, :, None] * value[:, None, :]\n"
            "    total = total - offered\n"
            "    weight = (",
            "/ weight",
            "/ weight.masked_fill(weight == 0, 1.0)",
            "(pairs[-1], total[-1])",
            "ended",
        ),
        cambia(
            "sin normalizar",
            "Los pesos han de sumar 1: falta dividir.",
            " / weight",
            "",
        ),
        cambia(
            "entre cuántas van",
            "Se divide entre la suma de los pesos, no entre cuántas filas van.",
            " / weight",
            " / torch.arange(1, len(query) + 1)[:, None]",
        ),
        cambia(
            "sin lo leído",
            "El estado que llega no se usa.",
            "pairs, total = pairs + state[0], total + state[1]",
            "pass",
        ),
        cambia(
            "solo la memoria",
            "Lo leído también entra en la suma de los rasgos, la que normaliza.",
            "pairs + state[0], total + state[1]",
            "pairs + state[0], total",
        ),
        cambia(
            "el estado, solo lo nuevo",
            "El estado que sale resume todo, también lo que traía el que llegó.",
            "    if state",
            "    ended = pairs[-1], total[-1]\n    if state",
            "return output, (pairs[-1], total[-1])",
            "return output, ended",
        ),
    ),
)

# --- 23.6 -----------------------------------------------------------------------------------------


def _casos_ventana(rng: Any) -> list[Caso]:
    def caso(propiedad: str, globales: int = 0, **pide: Any) -> Caso:
        """Con la ventana holgada, y las globales lejos del principio y unas de otras."""
        window = entero(rng, 1, 2)
        n = 2 * window * pide.get("dilation", 1) + entero(rng, 5, 12)
        donde = sorted(2 + 2 * i for i in permutacion(rng, (n - 3) // 2)[:globales])
        return Caso(propiedad, (n, window, donde), pide)

    hueco = entero(rng, 2, 3)
    return [
        caso("ventana"),
        caso("ventana"),
        Caso("ventana", (entero(rng, 3, 9), 0, [])),
        Caso("ventana", (entero(rng, 3, 9), 10, [])),
        Caso("ventana", (1, entero(rng, 0, 2), [])),
        caso("globales", 1),
        caso("globales", 2),
        Caso("globales", (entero(rng, 6, 12), 1, [0])),
        caso("causal", causal=True),
        caso("causal", 2, causal=True),
        caso("huecos", dilation=hueco),
        caso("huecos", 1, dilation=5 - hueco),
        caso("huecos", 2, dilation=hueco, causal=True),
    ]


_VENTANA = Ejercicio(
    id="23.6",
    nombre="sparse_mask",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="escribir quién mira a quién con una ventana, también con huecos, y unas globales",
    bordes=("n == 1", "window == 0", "window >= n", "not global_at", "0 in global_at"),
    casos=_casos_ventana,
    ejemplo=lambda: Caso("ejemplo", (5, 1, [0]), {"dilation": 2}),
    propiedades={
        "ventana": (2, "Escribe la tabla de distancias entre posiciones."),
        "globales": (2, "Una posición global llena su fila y su columna."),
        "causal": (2, "Nadie mira lo que va detrás, tampoco una global."),
        "huecos": (2, "Con huecos, la ventana llega más lejos y se salta posiciones."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Dibuja la tabla de 7 × 7 con la ventana de una posición y la 3 global.",
        "Todo sale de la tabla de distancias: cuáles se admiten, y después qué añaden las"
        " globales.",
        "Con huecos se admiten los múltiplos de la dilatación hasta `window` veces ella. Lo causal"
        " se pone lo último.",
    ),
    mutantes=(
        cambia(
            "ventana entera",
            "`window` es lo que se alcanza a cada lado, no el total.",
            "gap <= window * dilation",
            "gap <= window // 2 * dilation",
        ),
        cambia(
            "sin llegar",
            "La posición que dista justo `window` también entra.",
            "gap <= window * dilation",
            "gap < window * dilation",
        ),
        cambia(
            "no se mira",
            "Cada posición se mira también a sí misma.",
            "(gap % dilation == 0)",
            "(gap % dilation == 0) & (gap > 0)",
        ),
        cambia(
            "solo hacia atrás",
            "Sin `causal`, la ventana tiene dos lados.",
            "(place[:, None] - place).abs()",
            "(place[:, None] - place) % (n + window * dilation + 1)",
        ),
        cambia(
            "las globales no miran",
            "A las globales las miran todas, y ellas también miran a todas.",
            "    seen[global_at, :] = True\n",
            "",
        ),
        cambia(
            "a las globales no las miran",
            "Las globales miran a todas, y todas las miran también a ellas.",
            "    seen[:, global_at] = True\n",
            "",
        ),
        cambia(
            "sin globales",
            "Faltan las posiciones globales, en las filas y en las columnas.",
            "    seen[global_at, :] = True\n    seen[:, global_at] = True\n",
            "",
        ),
        cambia(
            "las primeras",
            "`global_at` dice qué posiciones son; aquí se toman las primeras.",
            "seen[global_at, :]",
            "seen[: len(global_at), :]",
            "seen[:, global_at]",
            "seen[:, : len(global_at)]",
        ),
        cambia(
            "las globales ven el futuro",
            "Con `causal`, tampoco las globales miran lo que va detrás.",
            "    seen[global_at, :] = True\n    seen[:, global_at] = True\n",
            "    if causal:\n        seen = seen.tril()\n        causal = False\n"
            "    seen[global_at, :] = True\n    seen[:, global_at] = True\n",
        ),
        cambia(
            "nunca es causal",
            "Con `causal` hay que tapar lo que va detrás.",
            " & (place <= place[:, None]) if causal else seen",
            "",
        ),
        cambia(
            "el futuro",
            "Lo causal está al revés: se tapa lo que va detrás, no lo de delante.",
            "place <= place[:, None]",
            "place >= place[:, None]",
        ),
        cambia(
            "sin huecos",
            "Con dilatación la ventana se salta posiciones: solo valen los múltiplos.",
            " & (gap % dilation == 0)",
            "",
        ),
        cambia(
            "con huecos y corta",
            "Con huecos se mira a las mismas, pero más lejos: el alcance también se multiplica.",
            "gap <= window * dilation",
            "gap <= window",
        ),
    ),
)

# --- 23.7 -----------------------------------------------------------------------------------------


def _casos_enteros(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, group: int, grupos: int, signo: int = 0, **pide: Any) -> Caso:
        """Números que quedan a décimas de un entero, hacia los dos lados: no hay redondeo dudoso.

        ``signo``: el del mayor de cada grupo; con 0, alternan.
        """
        rows, top = entero(rng, 2, 3), 2 ** (pide.get("bits", 8) - 1) - 1
        forma = (rows, grupos, group)
        enteros = torch.randint(-top + 1, top, forma, generator=rng)
        se_pasa = (torch.arange(enteros.numel()) % 2 * 2 - 1).reshape(forma)
        numeros = enteros + se_pasa * uniforme(rng, 0.15, 0.4, *forma)
        mayor = torch.tensor([signo or 1 - 2 * (i % 2) for i in range(rows * grupos)]) * top
        numeros[..., entero(rng, 0, group - 1)] = mayor.reshape(rows, grupos).double()
        escalas = torch.tensor([0.5**i for i in permutacion(rng, rows * grupos)])
        escalas = escalas.double() * uniforme(rng, 0.1, 0.15, 1)
        matriz = numeros * escalas.reshape(rows, grupos, 1)
        return Caso(propiedad, (matriz.flatten(1), group), pide)

    def con_ceros(caso: Caso) -> Caso:
        matriz = caso.args[0].clone()
        matriz[1, : caso.args[1]] = 0
        return Caso(caso.propiedad, (matriz, caso.args[1]), caso.kwargs)

    group = entero(rng, 4, 6)
    return [
        caso("una escala por fila", entero(rng, 5, 8), 1),
        caso("una escala por fila", entero(rng, 5, 8), 1),
        caso("por grupos", group, entero(rng, 2, 3)),
        caso("por grupos", 4, 3),
        caso("el mayor, negativo", group, 2, -1),
        caso("el mayor, negativo", group, 1, -1),
        caso("menos bits", group, 2, bits=4),
        caso("menos bits", 5, entero(rng, 1, 2), bits=elige(rng, (3, 5, 6))),
        caso("menos bits", group, 2, bits=2),
        con_ceros(caso("ceros", group, 2)),
        con_ceros(caso("ceros", group, 1)),
    ]


_ENTEROS = Ejercicio(
    id="23.7",
    nombre="quantize_groups",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="guardar una matriz en pocos bits, con una escala por grupo, y volver",
    bordes=("group == weight.shape[1]", "bits == 2", Borde("por grupos", {0: 0})),
    casos=_casos_enteros,
    ejemplo=lambda: Caso("ejemplo", (tensor([[1.4, -0.6], [-21.0, 10.0]]), 2), {"bits": 4}),
    propiedades={
        "una escala por fila": (3, "El mayor de la fila, sin signo, da justo el mayor entero."),
        "por grupos": (2, "Cada trozo de columnas seguidas tiene su escala."),
        "el mayor, negativo": (1, "El mayor valor absoluto puede ser el de un negativo."),
        "menos bits": (2, "El mayor entero depende de los bits."),
        "ceros": (1, "Un grupo de ceros no tiene entre qué dividir: su escala es 1."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz a mano la fila (1, −0.4, 0.2) con 3 bits, cuyo mayor entero es 3.",
        "Separa el eje de las columnas en dos, qué grupo y qué sitio del grupo, y trabaja con"
        " tres ejes.",
        "La matriz que se devuelve es entero por escala, y no la de entrada.",
    ),
    mutantes=(
        cambia(
            "una por fila",
            "Cada grupo tiene su escala; aquí hay una para toda la fila.",
            "pieces.abs().amax(dim=-1)",
            "pieces.abs().amax(dim=(1, 2), keepdim=True).expand(*pieces.shape[:2], 1)[..., 0]",
        ),
        cambia(
            "una para todo",
            "Cada grupo de cada fila tiene su escala; aquí hay una para toda la matriz.",
            "pieces.abs().amax(dim=-1)",
            "pieces.abs().max().expand(pieces.shape[:2])",
        ),
        cambia(
            "columnas salteadas",
            "Un grupo son columnas seguidas; estas están salteadas.",
            "weight.unflatten(1, (-1, group))",
            "weight.unflatten(1, (group, -1)).mT",
        ),
        cambia(
            "uno de más",
            "Con 8 bits el mayor entero es 127: sobra uno.",
            "2 ** (bits - 1) - 1",
            "2 ** (bits - 1)",
        ),
        cambia(
            "sin signo",
            "Los enteros llevan signo: hay la mitad a cada lado.",
            "2 ** (bits - 1) - 1",
            "2**bits - 1",
        ),
        cambia(
            "siempre ocho",
            "`bits` es un argumento: no siempre son 8.",
            "2 ** (bits - 1) - 1",
            "127",
        ),
        cambia(
            "hacia abajo",
            "Se redondea al más cercano; aquí, siempre hacia abajo.",
            ".round()",
            ".floor()",
        ),
        cambia(
            "hacia cero",
            "Se redondea al más cercano; aquí se quitan los decimales.",
            ".round()",
            ".trunc()",
        ),
        cambia(
            "sin valor absoluto",
            "El mayor se busca sin mirar el signo: puede ser un negativo.",
            "pieces.abs().amax(dim=-1)",
            "pieces.amax(dim=-1)",
            "torch.where(largest > 0,",
            "torch.where(largest != 0,",
            ".to(torch.int8)",
            ".to(torch.int32)",
        ),
        cambia(
            "cero entre cero",
            "Con un grupo de ceros se divide 0 entre 0: su escala es 1.",
            "torch.where(largest > 0, largest / top, 1.0)",
            "largest / top",
            "(pieces / scale[..., None]).round()",
            "(pieces / scale[..., None]).round().nan_to_num(0.0)",
        ),
        cambia(
            "del mínimo al máximo",
            "El 0 ha de quedar en el 0: la escala sale del mayor valor absoluto, no de la distancia"
            " del mínimo al máximo.",
            "largest / top",
            "(pieces.amax(dim=-1) - pieces.amin(dim=-1)) / (2 * top)",
        ),
        cambia(
            "la de entrada",
            "La tercera es la matriz que representan los enteros, con su redondeo.",
            "restored.flatten(1)",
            "weight",
        ),
        cambia(
            "de tipo real",
            "Los valores están bien, pero los enteros han de ser de un tipo entero.",
            "values.flatten(1).to(torch.int8)",
            "values.flatten(1)",
        ),
        cambia(
            "sin redondear",
            "Falta redondear: hay decimales donde se piden enteros.",
            ".round()",
            "",
            "values.flatten(1).to(torch.int8)",
            "values.flatten(1)",
        ),
        cambia(
            "los enteros, sin escala",
            "La matriz de vuelta es entero por escala; aquí falta la escala.",
            "restored.flatten(1)",
            "values.flatten(1)",
        ),
    ),
)

# --- 23.8 -----------------------------------------------------------------------------------------


def _quien_cabe(logits: Any, top_k: int, capacity: int, orden: str) -> list[Any]:
    """Las parejas (posición, elección) que caben, dando los sitios de otra manera."""
    elegidas = logits.softmax(dim=-1).topk(top_k, dim=-1)
    pesa, experto = (x.tolist() for x in elegidas)
    parejas = [(t, c) for c in range(top_k) for t in range(len(pesa))]
    clave = {
        "turnos": lambda t, c: (c, -pesa[t][0]),
        "llegada": lambda t, c: (c, t),
        "propia": lambda t, c: (c, -pesa[t][c]),
        "seguidas": lambda t, c: (-pesa[t][0], c),
        "todas": lambda t, c: -pesa[t][c],
        "al revés": lambda t, c: (c, pesa[t][0]),
        "crudas": lambda t, c: (c, -logits[t].max().item()),
    }[orden]
    sitios, caben = [capacity] * logits.shape[1], []
    for t, c in sorted(parejas, key=lambda pareja: clave(*pareja)):
        if sitios[experto[t][c]] > 0:
            sitios[experto[t][c]] -= 1
            caben.append((t, c))
    return sorted(caben)


def _casos_expertos(rng: Any) -> list[Caso]:
    import torch

    def caso(
        propiedad: str, top_k: int, capacity: int, expertos: int, *distingue: str, **pide: Any
    ) -> Caso:
        """Se sortea hasta que cada orden de ``distingue`` reparte de otra manera que el pedido y,
        con varias elecciones, alguien entra en la segunda sin haber entrado en la primera.
        """
        tokens, d = 2 * expertos + entero(rng, 0, 2), entero(rng, 2, 3)
        for _ in range(1000):
            logits = torch.randn(tokens, expertos, generator=rng, dtype=torch.float64)
            logits[:, 0] += 1  # un experto muy pedido
            logits += 3 * torch.randn(tokens, 1, generator=rng, dtype=torch.float64)
            bien = _quien_cabe(logits, top_k, capacity, "turnos")
            rescatada = any(c == 1 and (t, 0) not in bien for t, c in bien)
            if all(_quien_cabe(logits, top_k, capacity, o) != bien for o in distingue) and (
                rescatada or top_k == 1 or not distingue
            ):
                break
        args = (normal(rng, tokens, d), logits, normal(rng, expertos, d, d))
        return Caso(propiedad, args, {"top_k": top_k, "capacity": capacity}, **pide)

    expertos = entero(rng, 3, 4)
    una = ("llegada", "al revés", "crudas")
    dos = (*una, "propia", "seguidas", "todas")
    return [
        caso("caben todas", 1, 99, expertos),
        caso("caben todas", 2, 99, expertos),
        caso("caben todas", 3, 99, 3),
        caso("una elección", 1, 1, expertos, *una),
        caso("una elección", 1, 2, expertos, *una),
        caso("varias elecciones", 2, 3, 3, *dos),
        caso("varias elecciones", 2, 3, 4, *dos),
        caso("varias elecciones", 3, 4, 4, *dos),
        caso("gradientes", 2, 3, 3, *dos, gradiente=True),
        caso("gradientes", 1, 2, 3, *una, gradiente=True),
    ]


_EXPERTOS = Ejercicio(
    id="23.8",
    nombre="expert_layer",
    tipo="escribir",
    dificultad=3,
    minutos=50,
    aprende="repartir posiciones entre expertos con sitios contados, y medir si el reparto es"
    " parejo",
    bordes=("top_k == 1", "capacity == 1", "top_k == len(experts)", "capacity > len(x)"),
    casos=_casos_expertos,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0], [2.0]]),
            tensor([[math.log(3), 0.0], [math.log(9), 0.0]]),
            tensor([[[10.0]], [[-10.0]]]),
        ),
        {"top_k": 1, "capacity": 1},
    ),
    propiedades={
        "caben todas": (4, "Primero, sin límite: la salida y la pérdida."),
        "una elección": (3, "Si no caben todas, entran las que más probabilidad dan a la suya."),
        "varias elecciones": (3, "Todas las primeras elecciones van antes que cualquier segunda."),
        "gradientes": (2, "Las cuentas no tienen gradiente; las probabilidades, sí."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Reparte a mano cuatro posiciones entre dos expertos de dos sitios, con dos elecciones cada"
        " una.",
        "El orden de las posiciones se decide una vez, con su primera elección, y sirve para todos"
        " los turnos. Los sitios que quedan pasan de un turno al siguiente.",
        "La pérdida no mira quién cupo: cuenta todo lo que se pidió, en todas las elecciones.",
    ),
    mutantes=(
        cambia(
            "por orden de llegada",
            "Los sitios no se dan por orden de llegada, sino por probabilidad.",
            "weights[:, 0].argsort(descending=True).tolist()",
            "range(len(x))",
        ),
        cambia(
            "de menor a mayor",
            "Va delante quien da **más** probabilidad a su primera elección; aquí, menos.",
            "argsort(descending=True)",
            "argsort()",
        ),
        cambia(
            "por la puntuación",
            "El orden sale de la probabilidad: dos puntuaciones iguales no dan la misma.",
            "weights[:, 0].argsort",
            "logits.amax(dim=-1).argsort",
        ),
        cambia(
            "cada turno, su orden",
            "El orden es el de la primera elección en todos los turnos; aquí cambia en cada uno.",
            "for token in order:",
            "for token in weights[:, choice].argsort(descending=True).tolist():",
        ),
        cambia(
            "sin turnos",
            "Las segundas elecciones esperan a que hayan pasado todas las primeras.",
            "    for choice in range(top_k):\n        for token in order:",
            "    for token in order:\n        for choice in range(top_k):",
        ),
        cambia(
            "sitios nuevos en cada turno",
            "Los sitios son los mismos para todos los turnos: no se vuelven a llenar.",
            "    for choice in range(top_k):\n",
            "    for choice in range(top_k):\n        room = [capacity] * len(experts)\n",
        ),
        cambia(
            "todas responden",
            "Quién cupo está bien, pero en la salida responden también los expertos llenos.",
            "(weights * kept)",
            "weights",
        ),
        cambia(
            "reparte otra vez",
            "Cada respuesta va por su probabilidad, sin repartirla entre las elegidas.",
            "(weights * kept)[..., None]",
            "(weights / weights.sum(dim=-1, keepdim=True) * kept)[..., None]",
        ),
        cambia(
            "sin probabilidad",
            "Falta multiplicar cada respuesta por su probabilidad.",
            "(weights * kept)",
            "kept",
        ),
        cambia(
            "la matriz traspuesta",
            "El experto multiplica por la derecha: la fila por su matriz.",
            "td,tkde->tke",
            "te,tkde->tkd",
        ),
        cambia(
            "cuenta los que caben",
            "En la pérdida cuentan todas las elecciones, quepan o no.",
            "chosen.flatten().bincount",
            "chosen[kept].bincount",
        ),
        cambia(
            "cuenta la primera",
            "En la pérdida cuentan todas las elecciones, no solo la primera.",
            "chosen.flatten().bincount(minlength=len(experts)).to(x.dtype) / chosen.numel()",
            "chosen[:, 0].bincount(minlength=len(experts)).to(x.dtype) / len(x)",
        ),
        cambia(
            "por posición",
            "La parte de las elecciones suma 1 entre todos los expertos: se divide entre todas.",
            "/ chosen.numel()",
            "/ len(x)",
        ),
        cambia(
            "sin los expertos",
            "A la pérdida le falta multiplicar por el número de expertos.",
            "len(experts) * (load",
            "(load",
        ),
        cambia(
            "sin gradiente",
            "Los valores están bien, pero la pérdida no lleva gradiente a las puntuaciones.",
            "probabilities.mean(dim=0)",
            "probabilities.detach().mean(dim=0)",
        ),
    ),
)

EJERCICIOS = [
    _COSTES,
    _JUNTAR,
    _IGUALES,
    _POR_TROZOS,
    _LINEAL,
    _VENTANA,
    _ENTEROS,
    _EXPERTOS,
]
