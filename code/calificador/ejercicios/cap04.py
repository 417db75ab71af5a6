"""Ejercicios del capítulo 4, «La atención, derivada»."""

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
from calificador.vetos import ATENCION, ATENTO, DERIVADAS

MUCHAS = 300_000  # su cuadrado, en float64, no cabe en la memoria de ningún corrector

# --- 4.1 ------------------------------------------------------------------------------------------


def _casos_nula(rng: Any) -> list[Caso]:
    def nula(signo: int = 1) -> float:
        return signo * real(rng, 0.5, 2.0)

    lote, n, m = distintos(rng, 2, 8, 3)
    grandes = 1e4 * normal(rng, n, m + 1)
    grandes[0] = -grandes[0].abs()
    grandes[1] = 1e4 + normal(rng, m + 1)
    return [
        Caso("una fila", (2 * normal(rng, m), nula())),
        Caso("una fila", (2 * normal(rng, m), nula(-1))),
        Caso("varios ejes", (2 * normal(rng, lote, n, m), nula(-1))),
        Caso("puntuaciones enormes", (grandes, nula())),
        Caso("puntuaciones enormes", (normal(rng, n, m) - 1e4, nula(-1) - 1e4)),
    ]


_NULA = Ejercicio(
    id="4.1",
    nombre="softmax_with_null",
    tipo="completar",
    dificultad=1,
    minutos=15,
    aprende="que los pesos sumen 1 es una decisión, y cómo permitir que no se atienda a nada",
    bordes=(
        "enorme(scores)",
        Borde("una fila", {0: -1}),
    ),
    casos=_casos_nula,
    ejemplo=lambda: Caso("ejemplo", (tensor([[0.0, 0.0], [math.log(2), 0.0]]), 0.0)),
    propiedades={
        "una fila": (3, "Con dos claves y la nula a 0, cada una pesa un tercio."),
        "varios ejes": (3, "¿Qué eje recorre la suma cuando hay ejes de lote?"),
        "puntuaciones enormes": (
            2,
            "La exponencial de 10⁴ no cabe en un número: ¿qué se resta antes, y a quién?",
        ),
    },
    pistas=(
        "La clave nula es una columna más en la softmax, que luego se tira.",
        (
            "Si se restó el máximo a las puntuaciones, a la de la clave nula hay que restarle lo"
            " mismo."
        ),
        (
            "Se hace una columna con la puntuación nula, se pega a las demás, se normaliza y se"
            " descarta."
        ),
    ),
    mutantes=(
        cuerpo(
            "sin-nula",
            "Las filas suman 1: la clave nula no compite. Debe entrar en el denominador.",
            "return scores.softmax(dim=-1)",
        ),
        cambia(
            "con-la-columna",
            "Sobra una columna: el peso de la clave nula se descarta antes de devolver.",
            "[..., :-1]",
            "",
        ),
        cambia(
            "nula-cero",
            "La clave nula entra con puntuación 0 y no con null_score.",
            "null_score)]",
            "0.0)]",
        ),
        cuerpo(
            "sin-exponencial",
            "Al denominador se ha sumado null_score; se suma su exponencial.",
            """
            top = scores.amax(dim=-1, keepdim=True).clamp(min=0.0)
            exps = (scores - top).exp()
            return exps / (exps.sum(dim=-1, keepdim=True) + abs(null_score) * (-top).exp())""",
        ),
        cuerpo(
            "maximo-a-medias",
            "Se restó el máximo a las puntuaciones pero no a la clave nula.",
            """
            exps = (scores - scores.amax(dim=-1, keepdim=True)).exp()
            return exps / (exps.sum(dim=-1, keepdim=True) + math.exp(null_score))""",
        ),
        cuerpo(
            "desborda",
            "Con puntuaciones grandes sale NaN (∞/∞): hay que restar el máximo antes.",
            """
            exps = scores.exp()
            return exps / (exps.sum(dim=-1, keepdim=True) + math.exp(null_score))""",
        ),
        cambia(
            "otro-eje",
            "La softmax recorre el primer eje; debe recorrer el de las claves, el último.",
            "softmax(dim=-1)",
            "softmax(dim=0)",
        ),
    ),
)

# --- 4.2 ------------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="4.2",
    nombre="attention_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    aprende="hacer con lápiz una fila entera: puntuar, escalar, normalizar y promediar",
    propiedades={
        "score": (
            1,
            "Es un producto escalar de dos componentes, dividido entre la raíz de la dimensión.",
        ),
        "weight": (
            2,
            "Cinco exponenciales: el peso es la de «estación» entre la suma de las cinco.",
        ),
        "output": (
            1,
            "Es una media de la primera componente de los cinco valores: no puede pasar de 2.",
        ),
    },
    tolerancia=2e-3,
    pistas=(
        "Son cuatro pasos, y cada número sale del anterior; solo cambia la consulta.",
        "Tres de las cinco puntuaciones son 0, y la exponencial de 0 es 1.",
        "La salida usa los pesos de las cinco palabras y la columna «transporte» de los valores.",
    ),
    mutantes=(
        cambia(
            "sin-escala",
            "Falta dividir las puntuaciones entre la raíz de la dimensión.",
            "math.sqrt(2)",
            "1",
        ),
        cambia(
            "entre-d",
            "Se divide entre la raíz de la dimensión, no entre la dimensión.",
            "math.sqrt(2)",
            "2",
        ),
        cambia(
            "la-de-antes",
            "Esa es la fila del capítulo: aquí la consulta es (2, 0).",
            "query = (2.0, 0.0)",
            "query = (0.5, 2.0)",
        ),
        cambia(
            "la-otra-columna", "Esa es la componente «época»; se pide «transporte».", "v[0]", "v[1]"
        ),
        cambia(
            "el-peso-de-tren",
            "Ese es el peso de «tren»; se pide el de «estación».",
            '"weight": weights[2]',
            '"weight": weights[4]',
        ),
        cambia(
            "sin-exponencial",
            "Los pesos no son las puntuaciones repartidas: falta la exponencial.",
            "math.exp(score)",
            "score",
        ),
    ),
)

# --- 4.3 ------------------------------------------------------------------------------------------

_SUMA = Ejercicio(
    id="4.3",
    nombre="shift_effect",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="distinguir lo que cambia los pesos de lo que no los toca",
    propiedades={
        "respuesta": (
            2,
            "Escribe la puntuación de una consulta con la clave desplazada y sepárala en dos.",
        )
    },
    opciones=("todas", "solo la de «tren»", "ninguna"),
    pistas=(
        "¿Cuánto crece cada puntuación de una misma fila?",
        (
            "El producto escalar reparte la suma: q·(k + c) es q·k más algo que no depende de la"
            " clave."
        ),
    ),
    mutantes=(
        cuerpo(
            "todas",
            "Las puntuaciones de una fila crecen todas lo mismo: ¿qué hace la softmax con eso?",
            "return 'todas'",
        ),
        cuerpo(
            "una",
            "El vector se suma a las cinco claves, y las cinco consultas las miran todas.",
            "return 'solo la de «tren»'",
        ),
    ),
)

# --- 4.4 ------------------------------------------------------------------------------------------


def _casos_formas(rng: Any) -> list[Caso]:
    n, m, d_k, d_v, lote, cabezas, otro = distintos(rng, 2, 50, 7)
    return [
        Caso("sin lote", ([n, d_k], [m, d_k], [m, d_v])),
        Caso("con lote", ([lote, n, d_k], [lote, m, d_k], [lote, m, d_v])),
        Caso(
            "con lote", ([lote, cabezas, n, d_k], [lote, cabezas, m, d_k], [lote, cabezas, m, d_v])
        ),
        Caso("lote difundido", ([lote, cabezas, n, d_k], [lote, 1, m, d_k], [m, d_v])),
        Caso("lote difundido", ([n, d_k], [lote, m, d_k], [otro, 1, m, d_v])),
    ]


_FORMAS = Ejercicio(
    id="4.4",
    nombre="attention_shapes",
    tipo="predecir",
    dificultad=1,
    minutos=10,
    aprende="decir la forma de cada tensor de la atención sin ejecutarla",
    bordes=(
        "len(query_shape) == 2",
        "len(query_shape) != len(key_shape)",
    ),
    casos=_casos_formas,
    ejemplo=lambda: Caso("ejemplo", ([2, 3], [4, 3], [4, 5])),
    propiedades={
        "sin lote": (2, "Escribe cada producto con sus formas: ¿qué eje desaparece?"),
        "con lote": (1, "Los ejes de delante se conservan tal cual."),
        "lote difundido": (2, "Los ejes de lote pueden venir de cualquiera de los tres tensores."),
    },
    pistas=(
        "Los dos últimos ejes salen de los dos productos de matrices; los demás son de lote.",
        "Las puntuaciones son (query, d_k)(d_k, key) y la salida (query, key)(key, d_v).",
        (
            "Los ejes de lote de la salida también pueden venir de value: PyTorch tiene una función"
            " que hace esa cuenta."
        ),
    ),
    mutantes=(
        cambia(
            "salida-d-k",
            "La última dimensión de la salida es la de los valores, d_v: lo que se promedia son"
            " valores.",
            "value_shape[-1]]",
            "query_shape[-1]]",
        ),
        cambia(
            "traspuesta",
            "Puntuaciones y pesos están traspuestos: con posiciones por filas, hay una fila por"
            " consulta.",
            "scores = [*batch, query_shape[-2], key_shape[-2]]",
            "scores = [*batch, key_shape[-2], query_shape[-2]]",
        ),
        cambia(
            "filas-de-claves",
            "La salida tiene tantas filas como consultas: las claves solo se promedian.",
            "output = [*batch, query_shape[-2]",
            "output = [*batch, key_shape[-2]",
        ),
        cambia(
            "lote-de-query",
            "Solo se ha mirado el lote de query: los de key y value también cuentan, y se"
            " difunden.",
            "shared_shape(query_shape[:-2], key_shape[:-2])",
            "query_shape[:-2]",
            "shared_shape(batch, value_shape[:-2])",
            "batch",
        ),
        cambia(
            "lote-sin-value",
            "El lote de la salida ignora el de value: el segundo producto también difunde.",
            "shared_shape(batch, value_shape[:-2])",
            "batch",
        ),
        cambia(
            "pesos-como-salida",
            "Los pesos tienen la misma forma que las puntuaciones: la softmax no la cambia.",
            "list(scores), output",
            "output, output",
        ),
    ),
)

# --- 4.5 ------------------------------------------------------------------------------------------


def _casos_atencion(rng: Any) -> list[Caso]:
    def caso(propiedad: str, *lote: int, densidad: float = 0.0, escala: float = 1.0) -> Caso:
        n, m, d_k, d_v = distintos(rng, 2, 8, 4)
        tensores = (
            normal(rng, *lote, n, d_k),
            normal(rng, *lote, m, d_k),
            normal(rng, *lote, m, d_v),
        )
        vale = (mascara(rng, n, m, densidad),) if densidad else ()
        if escala < 0:  # todas las puntuaciones, muy negativas
            tensores = tensores[0].abs() + 1, tensores[1].abs() + 1, tensores[2]
        return Caso(
            propiedad,
            (escala * tensores[0], *tensores[1:], *vale),
            gradiente=propiedad == "gradiente",
        )

    uno, otro = distintos(rng, 2, 4, 2)
    tapada = "con máscara"
    return [
        caso("sin máscara"),
        caso("sin máscara"),
        caso(tapada, densidad=0.5),
        caso(tapada, densidad=0.6),
        caso("con lote", uno),
        caso("con lote", uno, otro, densidad=0.5),
        caso("gradiente"),
        caso("puntuaciones enormes", escala=3000.0),
        caso("puntuaciones enormes", densidad=0.6, escala=-3000.0),
    ]


_ATENCION = Ejercicio(
    id="4.5",
    nombre="scaled_dot_product_attention",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="escribir la fórmula del capítulo en cinco líneas, con su máscara",
    bordes=(
        "mask is None",
        "enorme(query)",
        Borde("sin máscara", {0: 0}),
        Borde("sin máscara", {1: 0, 2: 0}),
        Borde("con lote", {0: 0, 1: 0, 2: 0}),
    ),
    casos=_casos_atencion,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[10.0, 0.0], [0.0, 20.0]]),
            tensor([[True, True], [False, True]]),
        ),
    ),
    propiedades={
        "sin máscara": (
            4,
            (
                "Prueba con dos consultas y dos claves hechas a mano: puntuar, escalar, normalizar,"
                " promediar."
            ),
        ),
        "con máscara": (
            3,
            (
                "Cambia el valor de una clave tapada: ni la salida ni los demás pesos deberían"
                " moverse."
            ),
        ),
        "con lote": (
            2,
            "Los ejes de delante se conservan: solo se trasponen los dos últimos de key.",
        ),
        "gradiente": (2, "El valor es bueno; el gradiente debe llegar a query, key y value."),
        "puntuaciones enormes": (1, "Con puntuaciones de miles no debe salir NaN."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Es una línea por paso: puntuar, escalar, enmascarar, normalizar y promediar.",
        "La máscara pone −∞ donde vale False, antes de la softmax.",
        (
            "Se devuelven dos cosas en este orden: la salida, (…, query, d_v), y los pesos, (…,"
            " query, key)."
        ),
    ),
    mutantes=(
        cambia("sin-escala", "Falta dividir entre √d_k.", " / math.sqrt(query.shape[-1])", ""),
        cambia(
            "entre-d",
            "Se divide entre la raíz de d_k, no entre d_k.",
            "math.sqrt(query.shape[-1])",
            "query.shape[-1]",
        ),
        cambia(
            "raiz-de-las-claves",
            "La raíz es la de d_k, el último eje de query; se ha usado el número de claves.",
            "query.shape[-1]",
            "key.shape[-2]",
        ),
        cambia(
            "otro-eje",
            "La softmax recorre las consultas; cada fila debe sumar 1 sobre las claves, el último"
            " eje.",
            "dim=-1",
            "dim=-2",
        ),
        cambia(
            "mascara-al-reves",
            "La máscara está al revés: True es «puede atender».",
            "~mask",
            "mask",
        ),
        cambia(
            "mascara-despues",
            "Se tapa después de normalizar y los pesos ya no suman 1: la máscara va antes.",
            "scores = scores.masked_fill(~mask, -math.inf)",
            "pass",
            "weights = scores.softmax(dim=-1)",
            "weights = scores.softmax(dim=-1) * (1 if mask is None else mask)",
        ),
        cambia(
            "a-cero",
            "A las claves tapadas se les ha puesto puntuación 0, que aún pesa e⁰ = 1: debe ser −∞.",
            "-math.inf",
            "0.0",
        ),
        cambia("sin-mascara", "La máscara no se usa.", "if mask is not None", "if False"),
        cambia(
            "al-reves",
            "Se devuelven los pesos y la salida; se pide la salida y los pesos.",
            "return weights @ value, weights",
            "return weights, weights @ value",
        ),
        cambia(
            "desborda",
            "Con puntuaciones de miles sale NaN: hay que restar el máximo, o usar la softmax de"
            " PyTorch.",
            "weights = scores.softmax(dim=-1)",
            "weights = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)",
        ),
        cambia(
            "sin-gradiente",
            "El valor es bueno, pero a las consultas no les llega gradiente.",
            "scores = query @",
            "scores = query.detach() @",
        ),
    ),
)

# --- 4.6 ------------------------------------------------------------------------------------------


def _casos_temperatura(rng: Any) -> list[Caso]:
    def caso(propiedad: str, cuadrada: bool = False) -> Caso:
        lote, n, d_v, d_k, m = sorted(distintos(rng, 2, 8, 5))
        m = n if cuadrada else m
        tau = uniforme(rng, 0.3, 0.8, lote, n) * (2.0 ** entero(rng, 0, 2))
        if propiedad == "la misma para todas":
            tau = tau[:1, :1].expand(lote, n).clone()
        args = (
            normal(rng, lote, n, d_k),
            normal(rng, lote, m, d_k),
            normal(rng, lote, m, d_v),
            tau,
        )
        return Caso(propiedad, args, gradiente=propiedad == "gradiente")

    una = "una por consulta"
    return [caso("la misma para todas"), caso(una), caso(una, cuadrada=True), caso("gradiente")]


_TEMPERATURA = Ejercicio(
    id="4.6",
    nombre="attention_with_temperature",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="colocar un parámetro por consulta en el eje que le toca",
    bordes=(
        Borde("una por consulta", {0: 1, 3: 1}),
        Borde("una por consulta", {1: 1, 2: 1}),
        Borde("una por consulta", {0: 0, 1: 0, 2: 0, 3: 0}),
    ),
    casos=_casos_temperatura,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0, 0.0], [1.0, 0.0]]]),
            tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            tensor([[1.0, 0.5]]),
        ),
    ),
    propiedades={
        "la misma para todas": (
            3,
            "Con una sola temperatura se divide todo por el mismo número, antes de la softmax.",
        ),
        "una por consulta": (
            4,
            "Cambia la temperatura de una consulta: solo debe moverse su fila de la salida.",
        ),
        "gradiente": (3, "El valor es bueno; el gradiente debe llegar a las cuatro entradas."),
    },
    pistas=(
        (
            "Las puntuaciones tienen forma (batch, query, key) y la temperatura (batch, query):"
            " ¿qué eje le falta?"
        ),
        "La temperatura, con un último eje de tamaño 1, se difunde sobre las claves.",
        "Se divide antes de la softmax, y nada más: aquí no hay √d_k.",
    ),
    mutantes=(
        cambia(
            "eje-de-las-claves",
            "La temperatura se ha difundido sobre las consultas: la de la i divide toda la fila i.",
            "temperature[..., None]",
            "temperature[:, None, :]",
        ),
        cambia(
            "raiz-de-mas",
            "Sobra la división entre √d_k: el enunciado pide solo la temperatura.",
            "temperature[..., None]",
            "temperature[..., None] / query.shape[-1] ** 0.5",
        ),
        cambia(
            "multiplica",
            "Se multiplica por la temperatura; se divide. Una temperatura alta iguala los pesos.",
            "/ temperature",
            "* temperature",
        ),
        cambia(
            "despues",
            "La temperatura actúa después de la softmax, y los pesos dejan de sumar 1: va antes.",
            " / temperature[..., None]",
            "",
            "scores.softmax(dim=-1)",
            "(scores.softmax(dim=-1) / temperature[..., None])",
        ),
        cambia(
            "otro-eje",
            "La softmax recorre las consultas; debe recorrer las claves, el último eje.",
            "softmax(dim=-1)",
            "softmax(dim=-2)",
        ),
        cambia(
            "sin-gradiente",
            "El valor es bueno, pero a la temperatura no le llega gradiente: algo la separa del"
            " grafo.",
            "temperature[..., None]",
            "temperature.detach()[..., None]",
        ),
        cambia(
            "media",
            "Todas las consultas usan la misma temperatura: cada una tiene la suya.",
            "temperature[..., None]",
            "temperature.mean()",
        ),
    ),
)

# --- 4.7 ------------------------------------------------------------------------------------------


def _casos_gaussiano(rng: Any) -> list[Caso]:
    def caso(
        propiedad: str,
        densidad: float = 1.0,
        tapadas: int = 0,
        ancho: float = 0.0,
        lado: float = 1.0,
    ) -> Caso:
        d, d_v, n, m = sorted(distintos(rng, 2, 8, 4))
        vale = mascara(rng, n, m, densidad)
        vale[:tapadas] = False
        puntos = lado * normal(rng, n, d), lado * normal(rng, m, d)
        return Caso(propiedad, (*puntos, normal(rng, m, d_v), ancho or real(rng, 0.6, 0.9), vale))

    estrecho = "ancho pequeño"
    return [
        caso("sin tapar"),
        caso("con máscara", 0.5),
        caso("fila tapada", 0.6, entero(rng, 1, 2)),
        caso(estrecho, ancho=0.01),
        caso(estrecho, 0.5, ancho=0.01),
        caso(estrecho, 0.5, 1, ancho=1e-6),
        caso(estrecho, 0.5, ancho=0.008, lado=0.01),
    ]


_GAUSSIANO = Ejercicio(
    id="4.7",
    nombre="gaussian_attention",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende=(
        "cambiar la puntuación sin tocar el resto de la atención, y tratar las filas sin ninguna"
        " clave"
    ),
    bordes=(
        "tapada(mask)",
        Borde("sin tapar", {0: 0, 4: 0}),
        Borde("sin tapar", {1: 0, 2: 0, 4: 1}),
    ),
    casos=_casos_gaussiano,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.0], [1.0]]),
            tensor([[0.0], [2.0]]),
            tensor([[10.0], [20.0]]),
            1.0,
            tensor([[True, True], [False, False]]),
        ),
    ),
    propiedades={
        "sin tapar": (
            4,
            "Calcula a mano el núcleo de una consulta y dos claves: ¿dónde van el ancho y el 2?",
        ),
        "con máscara": (3, "Cambia el valor de una clave tapada: la salida no debería moverse."),
        "fila tapada": (3, "Una consulta que no puede atender a nada debe dar 0."),
        "ancho pequeño": (
            2,
            (
                "Con un ancho diminuto hay puntuaciones de −10¹²: revisa con qué se tapa y quién se"
                " anula."
            ),
        ),
    },
    pistas=(
        (
            "El núcleo es la exponencial de una puntuación: se calcula la puntuación y se deja la"
            " exponencial a la softmax."
        ),
        (
            "Una fila tapada entera es softmax de todo −∞: 0/0. Hay que apartarla antes y ponerla a"
            " 0 después."
        ),
        (
            "Se tapa con −∞ donde la máscara es False, que es donde no se puede atender, y antes de"
            " la softmax."
        ),
    ),
    mutantes=(
        cambia(
            "sin-el-dos",
            "Falta el 2 del denominador: el núcleo es exp(−‖q − k‖² / 2h²).",
            "(2 * bandwidth**2)",
            "bandwidth**2",
        ),
        cambia(
            "ancho-sin-cuadrado",
            "El ancho va al cuadrado: se mide en las mismas unidades que los vectores.",
            "bandwidth**2",
            "bandwidth",
        ),
        cambia(
            "norma-sin-cuadrado",
            "Es el cuadrado de la distancia, y no la distancia, lo que lleva el núcleo.",
            ".square().sum(dim=-1)",
            ".norm(dim=-1)",
        ),
        cambia(
            "signo", "El signo está cambiado: pesan más las claves lejanas.", "-squared", "squared"
        ),
        cambia(
            "mascara-al-reves",
            "La máscara está al revés: True es «puede atender».",
            "~(mask | alone)",
            "mask",
            "weights.masked_fill(alone, 0.0)",
            "weights.nan_to_num(0.0)",
        ),
        cambia(
            "mascara-despues",
            "Se tapa después de normalizar y los pesos ya no suman 1: la máscara va antes.",
            ".masked_fill(~(mask | alone), -math.inf)",
            "",
            "weights.masked_fill(alone, 0.0)",
            "(weights * mask)",
        ),
        cambia(
            "fila-nan",
            "Las consultas sin ninguna clave dan NaN: softmax de todo −∞ es 0/0. Su salida debe"
            " ser 0.",
            "(mask | alone)",
            "mask",
            "weights.masked_fill(alone, 0.0)",
            "weights",
        ),
        cambia(
            "fila-uniforme",
            "Con un número en lugar de −∞, una consulta sin claves reparte entre las prohibidas.",
            "(mask | alone)",
            "mask",
            "-math.inf",
            "-1e9",
            "weights.masked_fill(alone, 0.0)",
            "weights",
        ),
        cambia(
            "cota-corta",
            "Tapar con −10⁴ no basta: con un ancho pequeño hay puntuaciones menores. Se tapa"
            " con −∞.",
            "~(mask | alone), -math.inf",
            "~mask, -1e4",
            "weights.masked_fill(alone, 0.0)",
            "(weights * mask)",
        ),
        cuerpo(
            "se-anula",
            "Con un ancho pequeño todas las exponenciales de una fila valen 0: resta el máximo.",
            """
            squared = (query[:, None] - key[None]).square().sum(dim=-1)
            exps = (-squared / (2 * bandwidth**2)).exp() * mask
            return exps / exps.sum(dim=-1, keepdim=True).clamp(min=1e-30) @ value""",
        ),
    ),
)

# --- 4.8 ------------------------------------------------------------------------------------------


def _casos_columnas(rng: Any) -> list[Caso]:
    def caso(propiedad: str, l_x: int, l_z: int) -> Caso:
        d_v, d = entero(rng, 2, 4), entero(rng, 7, 12)
        return Caso(propiedad, (normal(rng, d, l_x), normal(rng, d, l_z), normal(rng, d_v, l_z)))

    uno, otro, igual = distintos(rng, 2, 6, 3)
    auto, cruzada = "autoatención", "atención cruzada"
    corto, largo = sorted((uno, otro))
    return [
        caso(auto, igual, igual),
        caso(auto, uno, uno),
        caso(cruzada, corto, largo),
        caso(cruzada, largo, corto),
    ]


_COLUMNAS = Ejercicio(
    id="4.8",
    nombre="column_attention",
    tipo="depurar",
    dificultad=2,
    minutos=20,
    aprende=(
        "leer fórmulas por columnas y desconfiar de un código que solo se prueba con matrices"
        " cuadradas"
    ),
    bordes=(
        Borde("atención cruzada", {0: 1}),
        Borde("atención cruzada", {1: 1, 2: 1}),
    ),
    casos=_casos_columnas,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[1.0, 2.0]]),
        ),
    ),
    propiedades={
        "autoatención": (5, "¿Cuánto suma cada columna de pesos, y entre qué número se divide?"),
        "atención cruzada": (4, "Con longitudes distintas, anota la forma de cada línea."),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        "Anota la forma de cada línea con l_x = 2 y l_z = 5.",
        "Hay una falta por línea: en la escala, en el eje y en la traspuesta.",
        (
            "Por columnas, d_attn es el número de filas, las claves están en las filas de scores, y"
            " cada columna suma 1."
        ),
    ),
    mutantes=(
        cambia(
            "sin-tocar",
            "Siguen las tres faltas: la escala, el eje de la softmax y la traspuesta final.",
            "key.shape[0]",
            "key.shape[1]",
            "dim=0",
            "dim=1",
            "value @ weights",
            "value @ weights.T",
        ),
        cambia(
            "escala",
            "La escala usa el número de columnas, que aquí es la longitud; d_attn es el de filas.",
            "key.shape[0]",
            "key.shape[1]",
        ),
        cambia(
            "eje",
            "La softmax normaliza cada fila, es decir, sobre las consultas; las claves están en las"
            " filas.",
            "dim=0",
            "dim=1",
        ),
        cambia(
            "traspuesta",
            "Sobra la traspuesta final: (d_v, l_z)(l_z, l_x) ya encaja. Con l_x = l_z no avisa.",
            "value @ weights",
            "value @ weights.T",
        ),
        cambia(
            "eje-y-escala",
            "Quedan dos faltas: la escala usa la longitud y la softmax recorre las consultas.",
            "key.shape[0]",
            "key.shape[1]",
            "dim=0",
            "dim=1",
        ),
        cambia(
            "sin-escala",
            "Se ha quitado la escala en lugar de corregirla: hay que dividir entre √d_attn.",
            " / math.sqrt(key.shape[0])",
            "",
        ),
        cambia(
            "por-filas",
            "La salida está por filas, (l_x, d_v); en esta convención cada posición es una"
            " columna.",
            "value @ weights",
            "(value @ weights).T",
        ),
    ),
)

# --- 4.9 ------------------------------------------------------------------------------------------


def _casos_escala(rng: Any) -> list[Caso]:
    def muestras(n: int, d: int, media: float) -> Any:
        x = normal(rng, n, d)
        x = x @ normal(rng, d, d)
        return x - x.mean(dim=0) + media * normal(rng, d)

    def caso(propiedad: str, de_q: float, de_k: float) -> Caso:
        d, n, m = sorted(distintos(rng, 2, 12, 3))
        return Caso(propiedad, (muestras(n + 4, d, de_q), muestras(m + 4, d, de_k)))

    enormes = (normal(rng, MUCHAS, 2) + 1, normal(rng, MUCHAS + entero(rng, 1, 99), 2) + 1)
    con = "con medias"
    return [
        caso("medias nulas", 0, 0),
        caso("medias nulas", 0, 0),
        caso(con, 2, 0),
        caso(con, 0, 2),
        caso(con, 2, 2),
        Caso("muchas muestras", enormes),
    ]


_ESCALA = Ejercicio(
    id="4.9",
    nombre="score_scale",
    tipo="medir",
    dificultad=2,
    minutos=20,
    aprende="medir qué escala pedirían las puntuaciones cuando las hipótesis de √d_k no se cumplen",
    bordes=("len(queries) > 100_000",),
    casos=_casos_escala,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[1.0, 1.0], [3.0, 1.0]]), tensor([[1.0, 0.0], [1.0, 2.0]]))
    ),
    propiedades={
        "medias nulas": (3, "Con medias nulas basta la traza del teorema."),
        "con medias": (
            4,
            "Con dos consultas y dos claves, calcula los cuatro productos y su desviación típica.",
        ),
        "muchas muestras": (3, "Con cientos de miles de muestras solo caben matrices (d, d)."),
    },
    pistas=(
        (
            "El teorema de la varianza da Var(q·k) como la traza de un producto de covarianzas, si"
            " las medias son nulas."
        ),
        "Escribe q = μ_q + q̃ y k = μ_k + k̃ y desarrolla el producto: salen cuatro términos.",
        (
            "La media de las consultas, fija, multiplica a unas claves que varían; y al revés."
            " Falta la raíz."
        ),
    ),
    mutantes=(
        cuerpo(
            "raiz-de-d",
            "Es √d, que solo vale con componentes incorreladas de varianza 1 y media 0.",
            "return math.sqrt(queries.shape[1])",
        ),
        cambia(
            "sin-medias",
            "Es la traza del teorema, que supone medias nulas: falta lo que aporta cada media.",
            " + shift_q + shift_k",
            "",
        ),
        cambia(
            "una-media",
            "Solo está lo que aporta la media de las consultas; la de las claves también cuenta.",
            " + shift_k",
            "",
        ),
        cuerpo(
            "segundo-momento",
            "Es la raíz de la media de (q·k)²: falta restar el cuadrado de la media de q·k.",
            """
            second_q, second_k = queries.T @ queries / len(queries), keys.T @ keys / len(keys)
            return math.sqrt(float((second_q * second_k).sum()))""",
        ),
        cambia(
            "sin-raiz",
            "Es la varianza; se pide la desviación típica: falta la raíz.",
            "math.sqrt(float(spread + shift_q + shift_k))",
            "float(spread + shift_q + shift_k)",
        ),
        cambia(
            "solo-diagonal",
            "Solo se usan las varianzas: las covarianzas entre componentes también cuentan.",
            "(cov_q * cov_k).sum()",
            "(cov_q.diagonal() * cov_k.diagonal()).sum()",
        ),
        cambia(
            "n-menos-uno",
            "Las covarianzas se dividen entre N, como dice el enunciado, y no entre N − 1.",
            "/ len(samples)",
            "/ (len(samples) - 1)",
        ),
        cuerpo(
            "todas-las-parejas",
            "Se forma la matriz con las N·M parejas, que con muchas muestras no cabe en memoria.",
            "return float((queries @ keys.T).std(correction=0))",
        ),
    ),
)

# --- 4.10 -----------------------------------------------------------------------------------------


def _casos_jacobiana(rng: Any) -> list[Caso]:
    def caso(propiedad: str, beta: float, *forma: int) -> Caso:
        return Caso(propiedad, (2 * normal(rng, *forma), normal(rng, *forma), beta))

    lote, n, m = distintos(rng, 2, 8, 3)
    return [
        caso("una fila", 1.0, m),
        caso("una fila", real(rng, 1.5, 3.0), m),
        caso("varias filas", real(rng, 0.3, 0.7), n, m),
        caso("varias filas", real(rng, 1.5, 3.0), lote, n, m),
        caso("muchas claves", real(rng, 0.3, 0.7), MUCHAS + entero(rng, 1, 99)),
    ]


_JACOBIANA = Ejercicio(
    id="4.10",
    nombre="softmax_jvp",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="usar la jacobiana de la softmax sin construirla, como hace quien la deriva",
    bordes=(
        "beta == 1",
        Borde("una fila", {0: 0, 1: 0}),
    ),
    casos=_casos_jacobiana,
    ejemplo=lambda: Caso("ejemplo", (tensor([[0.0, 0.0]]), tensor([[1.0, 0.0]]), 1.0)),
    propiedades={
        "una fila": (
            4,
            "El resultado debe sumar 0, porque los pesos siempre suman 1. ¿Y dónde entra β?",
        ),
        "varias filas": (4, "Cada fila tiene su producto escalar: ¿sobre qué eje se suma?"),
        "muchas claves": (
            4,
            "Con cientos de miles de claves, ninguna matriz cuadrada cabe en memoria.",
        ),
    },
    prohibido=(DERIVADAS,),
    pistas=(
        "Con β = 1, la jacobiana es diag(p) − p pᵀ.",
        "p pᵀ t es p por un número: el producto escalar de p y t.",
        "La regla de la cadena saca un β delante.",
    ),
    mutantes=(
        cambia(
            "sin-beta",
            "Falta un factor β: se deriva respecto de s, y dentro de la softmax está βs.",
            "return beta * weights",
            "return weights",
        ),
        cambia(
            "pesos-sin-beta",
            "Los pesos están calculados sin β: son softmax(βs).",
            "(beta * scores)",
            "scores",
        ),
        cambia(
            "solo-diagonal",
            "Solo está diag(p): falta restar p pᵀ t. El resultado debe sumar 0.",
            "(tangent - mean)",
            "tangent",
        ),
        cambia(
            "por-elemento",
            "p(1 − p) es la diagonal de la jacobiana; las otras claves también cuentan.",
            "(tangent - mean)",
            "(1 - weights) * tangent",
        ),
        cambia(
            "media-simple",
            "A t se le resta su media ponderada por p, no la media simple.",
            "(weights * tangent).sum(dim=-1, keepdim=True)",
            "tangent.mean(dim=-1, keepdim=True)",
        ),
        cambia(
            "suma-global",
            "El producto escalar ⟨p, t⟩ se ha sumado sobre todas las filas: es uno por fila.",
            ".sum(dim=-1, keepdim=True)",
            ".sum()",
        ),
        cambia("signo", "El segundo término se resta.", "tangent - mean", "tangent + mean"),
        cuerpo(
            "matriz-entera",
            "Se construye la jacobiana entera, que con muchas claves no cabe en memoria.",
            """
            p = (beta * scores).softmax(dim=-1)
            jacobian_matrix = torch.diag_embed(p) - p[..., :, None] * p[..., None, :]
            return beta * (jacobian_matrix @ tangent[..., None])[..., 0]""",
        ),
    ),
)

# --- 4.11 -----------------------------------------------------------------------------------------


def _casos_pocas(rng: Any, keep: int = 3, power: float = 0.5) -> list[Caso]:
    def caso(propiedad: str, sobran: int, **otros: Any) -> Caso:
        valores = {"keep": keep, "power": power} | otros
        d_v, n, d = sorted(distintos(rng, 2, 8, 3))
        m, d = valores["keep"] + sobran, d + 4
        return Caso(propiedad, (normal(rng, n, d), normal(rng, m, d), normal(rng, m, d_v)), valores)

    cuantas, potencia, otros = (
        keep + elige(rng, (1, 2)),
        power + real(rng, 0.2, 0.4),
        "otros valores",
    )
    return [
        caso("muchas claves", entero(rng, 3, 7)),
        caso("muchas claves", entero(rng, 3, 7)),
        caso("justo las necesarias", 0),
        caso(otros, entero(rng, 3, 7), keep=cuantas),
        caso(otros, entero(rng, 3, 7), power=potencia),
        caso(otros, entero(rng, 3, 7), keep=cuantas, power=potencia),
    ]


_POCAS = Ejercicio(
    id="4.11",
    nombre="top_attention",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="construir una máscara a partir de las propias puntuaciones",
    bordes=(
        "keep == len(key)",
        Borde("muchas claves", {0: 0}),
    ),
    casos=_casos_pocas,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0]]),
            tensor([[0.0], [1.0], [1.0]]),
            tensor([[9.0, 9.0], [1.0, 0.0], [0.0, 1.0]]),
        ),
        {"keep": 2, "power": 0.5},
    ),
    propiedades={
        "muchas claves": (5, "¿Cuántos pesos distintos de 0 tiene cada fila, y cuánto suman?"),
        "justo las necesarias": (
            2,
            "Con tantas claves como se conservan, es la atención corriente con su escala.",
        ),
        "otros valores": (3, "keep y power son argumentos: no valen solo los del enunciado."),
    },
    variante={"keep": 3, "power": 0.5},
    pistas=(
        "Es una máscara que depende de las puntuaciones: cierta en las mayores de cada fila.",
        "PyTorch sabe dar los índices de las mayores de cada fila; con ellos se marca la máscara.",
        "Si se tapa antes de la softmax, los pesos que quedan ya suman 1.",
    ),
    mutantes=(
        cambia(
            "sin-renormalizar",
            "Los pesos conservados no se renormalizan: suman menos de 1.",
            "scores.masked_fill(~kept, -math.inf).softmax(dim=-1)",
            "(scores.softmax(dim=-1) * kept)",
        ),
        cambia(
            "todas",
            "No se ha descartado ninguna clave: solo deben pesar las de mayor puntuación.",
            ".masked_fill(~kept, -math.inf)",
            "",
        ),
        cambia(
            "por-valor-absoluto",
            "Se eligen las de mayor valor absoluto; una puntuación muy negativa no es parecido.",
            "scores.topk(",
            "scores.abs().topk(",
        ),
        cambia(
            "las-peores",
            "Se conservan las claves de menor puntuación.",
            "topk(keep, dim=-1)",
            "topk(keep, dim=-1, largest=False)",
        ),
        cambia(
            "sin-escala",
            "Falta la escala: se divide entre d_k elevado a la potencia pedida.",
            " / query.shape[-1] ** power",
            "",
        ),
        cambia(
            "a-cero",
            "A las claves descartadas se les ha puesto puntuación 0, que aún pesa e⁰ = 1: debe"
            " ser −∞.",
            "-math.inf",
            "0.0",
        ),
        cambia(
            "la-mejor", "Solo se conserva la mejor clave de cada consulta.", "topk(keep,", "topk(1,"
        ),
        cambia(
            "uniforme",
            "Las conservadas pesan lo mismo; deben pesar según la softmax de sus puntuaciones.",
            "scores.masked_fill(~kept, -math.inf).softmax(dim=-1)",
            "kept.to(value.dtype) / keep",
        ),
        cambia(
            "keep-fijo",
            "Se conservan siempre tres claves: keep es un argumento.",
            "topk(keep,",
            "topk(3,",
        ),
        cambia(
            "power-fijo", "La escala es siempre √d_k: power es un argumento.", "** power", "** 0.5"
        ),
    ),
)

# --- 4.12 -----------------------------------------------------------------------------------------


def _casos_entropia(rng: Any) -> list[Caso]:
    def caso(propiedad: str, tamano: float, minimo: float, maximo: float) -> Caso:
        n, m = entero(rng, 2, 5), entero(rng, 5, 9)
        filas = tensor([permutacion(rng, m) for _ in range(n)])
        scores = tamano * (filas + uniforme(rng, -0.3, 0.3, n, m))
        return Caso(propiedad, (scores, math.log(m) * uniforme(rng, minimo, maximo, n)))

    extremas, otras = "casi uniforme y casi decidida", "puntuaciones de otro tamaño"
    return [
        caso("entropía media", 1.0, 0.4, 0.7),
        caso(extremas, 1.0, 0.16, 0.25),
        caso(extremas, 1.0, 0.85, 0.94),
        caso(otras, 200.0, 0.3, 0.8),
        caso(otras, 0.01, 0.3, 0.8),
        caso(otras, 1e5, 0.3, 0.8),
    ]


_ENTROPIA = Ejercicio(
    id="4.12",
    nombre="beta_for_entropy",
    tipo="escribir",
    dificultad=3,
    minutos=35,
    aprende=(
        "invertir la relación entre temperatura y entropía con una bisección que no se sale de"
        " escala"
    ),
    bordes=(
        "enorme(scores)",
        Borde("entropía media", {0: 0, 1: 0}),
    ),
    casos=_casos_entropia,
    ejemplo=lambda: Caso("ejemplo", (tensor([[1.0, 0.0], [2.0, 0.0]]), tensor([0.5, 0.5]))),
    propiedades={
        "entropía media": (5, "Calcula la entropía que sale con el β devuelto: ¿es la pedida?"),
        "casi uniforme y casi decidida": (
            5,
            "Mira hacia qué lado se mueve la búsqueda y cuándo se detiene.",
        ),
        "puntuaciones de otro tamaño": (
            5,
            "Con puntuaciones de cien mil, β ronda 10⁻⁵: el error es relativo.",
        ),
    },
    tolerancia=1e-6,
    relativa=True,
    pistas=(
        "La entropía de softmax(βs) baja al crecer β: si es mayor que la pedida, β es pequeño.",
        (
            "β puede valer diez millonésimas o miles: conviene partir por la mitad el intervalo de"
            " log β."
        ),
        "Cada fila tiene su β: los dos extremos de todas se actualizan a la vez, según cada una.",
    ),
    mutantes=(
        cambia(
            "temperatura", "Se devuelve la temperatura, 1/β; se pide β.", "return (", "return 1 / ("
        ),
        cambia(
            "bits",
            "La entropía está en bits (logaritmo en base 2); se pide en nats.",
            ".sum(dim=-1) >",
            ".sum(dim=-1) / math.log(2) >",
        ),
        cambia(
            "fraccion",
            "La entropía está dividida entre log m; se pide tal cual, en nats.",
            ".sum(dim=-1) >",
            ".sum(dim=-1) / math.log(scores.shape[-1]) >",
        ),
        cambia(
            "una-para-todas",
            "Todas las filas tienen el mismo β: la entropía se busca fila a fila.",
            ".sum(dim=-1) > entropy",
            ".sum(dim=-1).mean().expand_as(entropy) > entropy.mean()",
        ),
        cambia(
            "intervalo-corto",
            "El intervalo de búsqueda se queda corto por arriba: β puede llegar a 10⁴.",
            "math.log(1e4)",
            "math.log(1.0)",
        ),
        cambia(
            "pocos-pasos",
            "Faltan pasos: cada uno parte el intervalo por la mitad y se pide un error de 10⁻⁶.",
            "range(80)",
            "range(12)",
        ),
        cambia(
            "al-reves",
            "La bisección va al revés: si la entropía es mayor que la pedida, hay que subir β.",
            "> entropy",
            "< entropy",
        ),
        cambia(
            "sin-logaritmo",
            "La bisección parte β por la mitad, y no log β: no afina un β de 10⁻⁵.",
            "math.log(1e-8)",
            "0.0",
            "math.log(1e4)",
            "1e4",
            "range(80)",
            "range(40)",
            "middle.exp()",
            "middle",
            "((low + high) / 2).exp()",
            "(low + high) / 2",
        ),
    ),
)

# --- 4.13 -----------------------------------------------------------------------------------------


def _casos_bloque(rng: Any) -> list[Caso]:
    import torch

    def caso(
        propiedad: str, antes: int, bloque: int, tamano: float = 1.0, crece: float = 1.0
    ) -> Caso:
        n, d_v, d = sorted(distintos(rng, 2, 7, 3))
        query, key = tamano * normal(rng, n, d).abs(), normal(rng, antes + bloque, d).abs()
        key[antes:] *= crece
        value, scores = normal(rng, antes + bloque, d_v), query @ key[:antes].T / math.sqrt(d)
        state = (
            torch.full((n, 1), -math.inf, dtype=query.dtype),
            query.new_zeros(n, 1),
            query.new_zeros(n, d_v),
        )
        if antes:
            top = scores.amax(dim=-1, keepdim=True)
            exps = (scores - top).exp()
            state = (top, exps.sum(dim=-1, keepdim=True), exps @ value[:antes])
        return Caso(propiedad, (state, query, key[antes:], value[antes:]))

    uno, otro = distintos(rng, 2, 5, 2)
    enormes = "puntuaciones enormes"
    return [
        caso("primer bloque", 0, uno),
        caso("sube el máximo", uno, otro, crece=3.0),
        caso("no sube el máximo", otro, uno, crece=0.2),
        caso("no sube el máximo", uno, 1, crece=0.2),
        caso(enormes, uno, otro, 3000.0, 1.5),
        caso(enormes, otro, uno, 3000.0, 0.7),
        caso(enormes, 0, uno, 3000.0),
    ]


_TROZOS = Ejercicio(
    id="4.13",
    nombre="absorb_block",
    tipo="escribir",
    dificultad=3,
    minutos=40,
    aprende="acumular una softmax sin guardar las puntuaciones, la idea de FlashAttention",
    bordes=(
        "len(key) == 1",
        "enorme(query)",
    ),
    casos=_casos_bloque,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            (tensor([[0.0]]), tensor([[1.0]]), tensor([[1.0, 0.0]])),
            tensor([[1.0]]),
            tensor([[math.log(2)]]),
            tensor([[0.0, 1.0]]),
        ),
    ),
    propiedades={
        "primer bloque": (
            3,
            (
                "Antes del primer bloque el máximo es −∞ y las sumas, 0: debe quedar la atención"
                " del bloque."
            ),
        ),
        "sube el máximo": (
            4,
            "Aparece una puntuación mayor: ¿a qué máximo se refería lo acumulado?",
        ),
        "no sube el máximo": (
            3,
            "El máximo no cambia: lo acumulado queda como estaba y solo se suma lo nuevo.",
        ),
        "puntuaciones enormes": (
            5,
            "Con puntuaciones de miles, ninguna exponencial puede tener exponente positivo.",
        ),
    },
    pistas=(
        (
            "El promedio es una suma ponderada entre una suma de exponenciales: las dos se pueden"
            " ir acumulando."
        ),
        (
            "Al cambiar el máximo de referencia, lo acumulado se multiplica por exp(máximo viejo −"
            " máximo nuevo)."
        ),
        (
            "Con el máximo inicial en −∞, esa corrección vale 0 en el primer bloque, que es lo"
            " correcto."
        ),
    ),
    mutantes=(
        cambia(
            "sin-corregir",
            "Lo acumulado no se corrige al subir el máximo: las dos sumas se refieren al anterior.",
            "total * correction",
            "total",
            "weighted * correction",
            "weighted",
        ),
        cambia(
            "corrige-a-medias",
            "Se corrige la suma de exponenciales pero no la suma ponderada.",
            "weighted * correction",
            "weighted",
        ),
        cambia(
            "maximo-del-bloque",
            "El máximo es el de todo lo visto, no solo el del bloque nuevo.",
            "torch.maximum(top, scores.amax(dim=-1, keepdim=True))",
            "scores.amax(dim=-1, keepdim=True)",
        ),
        cambia(
            "correccion-al-reves",
            "La corrección va al revés: es exp(máximo viejo − máximo nuevo), que no pasa de 1.",
            "(top - new_top)",
            "(new_top - top)",
        ),
        cambia(
            "bloque-con-su-maximo",
            "Las exponenciales del bloque restan el máximo del bloque: deben restar el de todo.",
            "exps = (scores - new_top)",
            "exps = (scores - scores.amax(dim=-1, keepdim=True))",
        ),
        cambia("sin-escala", "Falta dividir entre √d_k.", " / math.sqrt(query.shape[-1])", ""),
        cambia(
            "ya-dividida",
            "La suma ponderada se devuelve ya dividida: la división se deja para el final.",
            "return new_top, new_total, new_weighted",
            "return new_top, new_total, new_weighted / new_total",
        ),
        cambia(
            "solo-el-bloque",
            "Es el estado del bloque solo: falta lo acumulado antes.",
            "total * correction",
            "0.0",
            "weighted * correction",
            "0.0",
        ),
    ),
)

EJERCICIOS = [
    _NULA, _A_MANO, _SUMA, _FORMAS, _ATENCION, _TEMPERATURA, _GAUSSIANO, _COLUMNAS,
    _ESCALA, _JACOBIANA, _POCAS, _ENTROPIA, _TROZOS,
]  # fmt: skip
