"""Ejercicios del capítulo 6, «Varias cabezas»."""

from __future__ import annotations

import operator
from typing import Any

from calificador.generadores import Borde, distintos, entero, normal, permutacion, tensor
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENCION, ATENTO, TENSORES

# --- 6.1 ------------------------------------------------------------------------------------------

_FILA = Ejercicio(
    id="6.1",
    nombre="kept_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    tolerancia=6e-3,
    tolerancias={"heads": 1e-9},
    aprende="calcular cuánto conserva una fila de pesos de cada palabra que mezcla",
    propiedades={
        "large": (1, "El cuadrado de su peso, entre la suma de los cuadrados de todos."),
        "small": (1, "El cuadrado de su peso, entre la suma de los cuadrados de todos."),
        "third": (1, "Los tres pesan igual, y entre los tres suman el techo de una cabeza."),
        "heads": (1, "Leer sin error es R² = 1. ¿Cuánto suman cinco?"),
    },
    pistas=(
        "La sección del teorema tiene la cuenta para dos pesos: es un cociente de cuadrados.",
        "Con pesos 3/4 y 1/4 los cuadrados son 9/16 y 1/16.",
        "La suma de todos los R² no pasa del número de cabezas.",
    ),
    mutantes=(
        cambia(
            "el propio peso",
            "Eso es el peso; lo que se lee es el cociente de los cuadrados.",
            "row[j] ** 2 / sum(weight**2 for weight in row)",
            "row[j]",
        ),
        cambia(
            "el cuadrado solo",
            "Falta dividir entre la suma de los cuadrados.",
            " / sum(weight**2 for weight in row)",
            "",
        ),
        cambia(
            "la raíz",
            "R² ya es la fracción de varianza: no lleva raíz.",
            "row[j] ** 2 / sum(weight**2 for weight in row)",
            "(row[j] ** 2 / sum(weight**2 for weight in row)) ** 0.5",
        ),
        cambia(
            "una cabeza basta",
            "Una cabeza no lee más de un contenido entero.",
            '"heads": 5',
            '"heads": 1',
        ),
        cambia(
            "parejas",
            "Cada relación pide una cabeza; no son las parejas de palabras.",
            '"heads": 5',
            '"heads": 10',
        ),
    ),
)

# --- 6.2 ------------------------------------------------------------------------------------------

_HOJA = Ejercicio(
    id="6.2",
    nombre="mixed_word",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="seguir los números de un tensor cuando una vista no respeta sus ejes",
    propiedades={
        "respuesta": (
            2,
            "Cuenta los números que hay antes de la segunda hoja y cuántos ocupa cada palabra.",
        )
    },
    opciones=("las", "niñas", "que", "vio", "el", "perro", "corren"),
    pistas=(
        "La vista lee los números fila a fila, sin mirar de qué palabra son.",
        "Una hoja tiene siete filas de dos números, y cada palabra ocupa seis.",
    ),
    mutantes=(
        cuerpo(
            "la bien cortada",
            "Sería la última palabra si se hubiera traspuesto: la vista directa no llega tan"
            " lejos.",
            "return 'corren'",
        ),
        cuerpo(
            "una más",
            "Has contado las dos hojas enteras y una fila más: la palabra siguiente empieza"
            " después.",
            "return 'perro'",
        ),
        cuerpo(
            "una menos",
            "Cada palabra ocupa tres filas de dos números: cuenta otra vez cuántas caben en trece.",
            "return 'vio'",
        ),
        cuerpo(
            "la primera hoja",
            "Esa es la última de la primera hoja: se pide la de la segunda.",
            "return 'que'",
        ),
    ),
)

# --- 6.3 ------------------------------------------------------------------------------------------


def _casos_cuenta(rng: Any) -> list[Caso]:
    def caso(propiedad: str, cabezas: int) -> Caso:
        n, d_head = distintos(rng, 2, 40, 2)
        return Caso(propiedad, (n, cabezas * d_head, cabezas))

    una, varias = "una cabeza", "varias cabezas"
    return [
        caso(una, 1),
        caso(una, 1),
        caso(varias, entero(rng, 2, 5)),
        caso(varias, entero(rng, 6, 16)),
    ]


_CUENTA = Ejercicio(
    id="6.3",
    nombre="layer_cost",
    tipo="predecir",
    dificultad=1,
    minutos=12,
    aprende="contar parámetros, multiplicaciones y celdas de una capa sin ejecutarla",
    bordes=("n_heads == 1",),
    casos=_casos_cuenta,
    ejemplo=lambda: Caso("ejemplo", (2, 4, 2)),
    propiedades={
        "una cabeza": (2, "Cuatro proyecciones, una tabla de puntuaciones y un promedio."),
        "varias cabezas": (
            4,
            "¿Qué se multiplica por el número de cabezas y qué se reparte entre ellas?",
        ),
    },
    prohibido=(TENSORES,),
    pistas=(
        "Un producto de (a × b) por (b × c) hace a·b·c multiplicaciones.",
        "Cada cabeza puntúa y promedia con su ancho, que es el total entre el número de cabezas.",
        "De los tres números, solo uno depende de cuántas cabezas hay.",
    ),
    mutantes=(
        cambia(
            "sin sesgos",
            "Faltan los sesgos de las cuatro proyecciones.",
            "d_model * d_model + d_model)",
            "d_model * d_model)",
        ),
        cambia(
            "sin la salida",
            "Son cuatro proyecciones: la de salida también cuenta.",
            "4 * (d_model",
            "3 * (d_model",
            "4 * n * d_model",
            "3 * n * d_model",
        ),
        cambia(
            "cada cabeza, entera",
            "Cada cabeza trabaja con d/h columnas, no con d.",
            "2 * n * n * d_head",
            "2 * n * n * d_model",
        ),
        cambia("un solo mapa", "Cada cabeza tiene su mapa.", "n_heads * n * n", "n * n"),
        cambia(
            "sin promediar",
            "Falta el producto de los pesos por los valores.",
            "2 * n * n * d_head",
            "n * n * d_head",
        ),
        cambia(
            "en FLOP",
            "Se piden multiplicaciones, no operaciones: cada multiplicación y su suma son una.",
            "4 * n * d_model * d_model + n_heads * per_head",
            "2 * (4 * n * d_model * d_model + n_heads * per_head)",
        ),
    ),
)

# --- 6.4 ------------------------------------------------------------------------------------------


def _visible(rng: Any, n: int, m: int) -> Any:
    import torch

    mascara = torch.rand(n, m, generator=rng) < 0.6
    mascara[torch.arange(n), torch.randint(m, (n,), generator=rng)] = True
    mascara[0, :2] = torch.tensor([True, False])
    return mascara


def _casos_central(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ejes: int, cabezas: int, mascara: bool = False) -> Caso:
        lote = distintos(rng, 2, 4, ejes)
        n, m = distintos(rng, 3, 7, 2)
        d = cabezas * entero(rng, 2, 4)
        x = normal(rng, *lote, n, d)
        z = x if propiedad == "autoatención" else normal(rng, *lote, m, d)
        args = (x, z, *(normal(rng, d, d) for _ in range(4)), cabezas)
        return Caso(propiedad, args, {"mask": _visible(rng, n, z.shape[-2])} if mascara else {})

    def separadas() -> Caso:
        """Puntuaciones grandes: un número negativo cualquiera no tapa."""
        dado = caso("con máscara", 1, 2, True)
        return Caso(dado.propiedad, (40 * dado.args[0], *dado.args[1:]), dado.kwargs)

    auto, cruzada, tapada = "autoatención", "atención cruzada", "con máscara"
    return [
        caso(auto, 1, 2),
        caso(auto, 1, 3),
        caso(cruzada, 1, 2),
        caso(cruzada, 1, 3),
        separadas(),
        caso(tapada, 1, 4, True),
        caso("ejes de delante", 0, 3),
        caso("ejes de delante", 2, 1, True),
    ]


_CENTRAL = Ejercicio(
    id="6.4",
    nombre="multi_head_attention",
    tipo="escribir",
    dificultad=1,
    minutos=25,
    aprende="escribir la atención multicabeza entera, con máscara y matriz de salida",
    bordes=(
        "n_heads == 1",
        "mask is None",
        "x.dim() == 2",
        "x.dim() == 4",
        Borde("atención cruzada", {0: -2}),
        Borde("atención cruzada", {1: -2}),
    ),
    casos=_casos_central,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[2.0, 0.0], [0.0, 2.0]]),
            tensor([[2.0, 0.0], [0.0, 2.0]]),
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[1.0, 0.0], [0.0, 10.0]]),
            2,
        ),
    ),
    propiedades={
        "autoatención": (
            3,
            "Cuenta los ejes desde el final. Con d = 2 y dos cabezas, cada cabeza trabaja con una"
            " columna: escribe sus dos mapas.",
        ),
        "atención cruzada": (
            2,
            (
                "De x sale solo la consulta; de z, la clave y el valor, y las longitudes son"
                " distintas."
            ),
        ),
        "con máscara": (
            3,
            "La máscara (n, m) es la misma para todas las cabezas y todo el lote, y lo tapado pesa"
            " 0: puntúa −∞, no un número negativo.",
        ),
        "ejes de delante": (
            2,
            "Delante de (n, d) puede no haber ningún eje, o haber uno o varios: cuéntalos desde el"
            " final.",
        ),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        (
            "Los pasos, en orden: proyectar, repartir en cabezas, puntuar, escalar, enmascarar,"
            " normalizar, promediar y unir."
        ),
        "Repartir son dos cambios de forma: partir el último eje y adelantar el de las cabezas.",
        "Para unir se deshacen los dos, en el orden contrario, antes de la matriz de salida.",
    ),
    mutantes=(
        cambia(
            "vista directa",
            "El reparto mezcla palabras: falta adelantar el eje de las cabezas.",
            "(y @ w).unflatten(-1, (n_heads, -1)).transpose(-2, -3)",
            "(y @ w).reshape(*y.shape[:-2], n_heads, y.shape[-2], -1)",
        ),
        cambia(
            "unir sin trasponer",
            "Al unir falta devolver el eje de las cabezas a su sitio.",
            "mixed.transpose(-2, -3).flatten(-2) @ w_output",
            "mixed.reshape(x.shape) @ w_output",
        ),
        cambia(
            "escala con d",
            "La escala es la raíz del ancho de una cabeza, no de todo el modelo.",
            "math.sqrt(query.shape[-1])",
            "math.sqrt(x.shape[-1])",
        ),
        cambia(
            "sin escala", "Falta dividir entre la raíz de d_k.", " / math.sqrt(query.shape[-1])", ""
        ),
        cambia(
            "sin matriz de salida",
            "Falta multiplicar por la matriz de salida después de unir.",
            " @ w_output",
            "",
        ),
        cambia(
            "columnas alternas",
            "Cada cabeza usa columnas seguidas, no alternas.",
            "unflatten(-1, (n_heads, -1)).transpose(-2, -3)",
            "unflatten(-1, (-1, n_heads)).movedim(-1, -3)",
        ),
        cambia(
            "una sola cabeza",
            "Se calcula una cabeza ancha: faltan las demás.",
            "unflatten(-1, (n_heads, -1))",
            "unflatten(-1, (1, -1))",
        ),
        cambia(
            "máscara al revés",
            "True significa que se puede atender, y se ha tapado justo eso.",
            "~mask",
            "mask",
        ),
        cambia(
            "sin máscara",
            "La máscara no se ha usado.",
            'scores.masked_fill(~mask, float("-inf"))',
            "scores",
        ),
        cambia(
            "softmax por columnas",
            "Deben sumar 1 las filas: la softmax recorre las claves.",
            "dim=-1",
            "dim=-2",
        ),
    ),
)

# --- 6.5 ------------------------------------------------------------------------------------------


def _casos_recuperado(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, cabezas: int) -> Caso:
        m = cabezas + entero(rng, 2, 5)
        pesos = normal(rng, cabezas, m).softmax(-1)
        if propiedad == "filas repetidas":
            media = pesos[:2].mean(0, keepdim=True)
            pesos = torch.cat([pesos, media, pesos[:1]])
        return Caso(propiedad, (pesos,))

    def casi_iguales(diferencia: float) -> Caso:
        """Dos filas que se llevan poco, pero más que el margen: no son una repetida."""
        pesos = normal(rng, 2, 2 * entero(rng, 2, 3)).softmax(-1)
        empuje = torch.tensor([1.0, -1.0]).double().repeat(pesos.shape[1] // 2)
        return Caso("filas casi iguales", (torch.cat([pesos, pesos[:1] + diferencia * empuje]),))

    def muy_repetidas() -> Caso:
        """Tantas combinaciones que el redondeo no deja a cero los valores singulares que sobran."""
        while True:
            pesos = normal(rng, 3, 12).softmax(-1)
            pesos = torch.cat([pesos, normal(rng, 9, 3).softmax(-1) @ pesos])
            restos = torch.linalg.svdvals(pesos)[3:]
            if float(restos.max()) > 1.2e-16:
                return Caso("filas repetidas", (pesos,))

    una, varias, repetidas = "una cabeza", "varias cabezas", "filas repetidas"
    return [
        caso(una, 1),
        caso(una, 1),
        caso(varias, 2),
        caso(varias, 4),
        caso(repetidas, 2),
        caso(repetidas, 3),
        muy_repetidas(),
        casi_iguales(1e-4),
        casi_iguales(1e-7),
    ]


_RECUPERADO = Ejercicio(
    id="6.5",
    nombre="recovered",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="medir con una proyección lo que varias filas de pesos dejan leer de cada palabra",
    bordes=(
        "len(weights) == 1",
        Borde("varias cabezas", {0: 1}),
    ),
    tolerancias={"filas casi iguales": 1e-6},  # el redondeo, entre lo que se llevan las filas
    casos=_casos_recuperado,
    ejemplo=lambda: Caso("ejemplo", (tensor([[0.5, 0.5], [0.5, 0.5]]),)),
    propiedades={
        "una cabeza": (2, "Con una fila es el cociente de cuadrados del ejercicio de lápiz."),
        "varias cabezas": (2, "Es la diagonal de una proyección, y suma el número de cabezas."),
        "filas repetidas": (
            2,
            "Una fila repetida no añade nada: la suma es el rango, no el número de filas.",
        ),
        "filas casi iguales": (
            1,
            "Dos filas que se distinguen en más del margen del enunciado son dos: leen más.",
        ),
    },
    pistas=(
        "La prueba del teorema dice qué matriz tiene esos números en la diagonal.",
        "Para proyectar sobre las filas basta una base ortonormal del espacio que generan.",
        "La descomposición en valores singulares da esa base; sobran los que valen cero.",
    ),
    mutantes=(
        cambia(
            "cuenta filas",
            "Una fila repetida cuenta dos veces: hay que quedarse con el rango.",
            "rows[sizes > 1e-9 * sizes[0]]",
            "rows",
        ),
        *(
            cambia(
                f"margen {nombre}",
                f"El margen es demasiado {nombre}: {pista}",
                "sizes > 1e-9 * sizes[0]",
                f"sizes > {margen}",
            )
            for nombre, margen, pista in (
                ("ancho", 1e-3, "filas que se distinguen poco cuentan como una sola."),
                ("pequeño", 1e-16, "el redondeo de una fila repetida ya lo pasa."),
            )
        ),
        cambia(
            "solo la primera",
            "Se usa una sola dirección: cada cabeza aporta la suya.",
            "rows[sizes > 1e-9 * sizes[0]]",
            "rows[:1]",
        ),
        cambia(
            "sin ortogonalizar",
            "Se suman los R² de cada cabeza por separado, y las cabezas se parecen entre sí.",
            "basis.square().sum(dim=0)",
            "(weights**2 / (weights**2).sum(-1, keepdim=True)).sum(dim=0)",
        ),
        cambia(
            "el mejor de cada una",
            "Juntas leen más que la mejor de ellas.",
            "basis.square().sum(dim=0)",
            "(weights**2 / (weights**2).sum(-1, keepdim=True)).amax(dim=0)",
        ),
        cambia(
            "los pesos",
            "Eso suma pesos: lo que se lee es una fracción de varianza.",
            "basis.square().sum(dim=0)",
            "weights.sum(dim=0)",
        ),
    ),
)

# --- 6.6 ------------------------------------------------------------------------------------------


def _casos_necesarias(rng: Any) -> list[Caso]:
    def caso(propiedad: str, n: int, tope: int) -> Caso:
        m = tope + entero(rng, 2, 5)
        cuantas = [tope, *[entero(rng, 0, tope - 1) for _ in range(n - 1)]]
        orden = permutacion(rng, n)
        return Caso(propiedad, ([permutacion(rng, m)[: cuantas[i]] for i in orden],))

    pocas, muchas = "pocas consultas", "muchas consultas"
    nadie, topes = Caso(pocas, ([[], []],)), distintos(rng, 4, 9, 2)
    return [
        caso(pocas, 3, 2),
        caso(pocas, 5, entero(rng, 3, 5)),
        nadie,
        *(caso(muchas, 1000 * miles, tope) for miles, tope in zip((3, 2), topes, strict=True)),
    ]


_NECESARIAS = Ejercicio(
    id="6.6",
    nombre="heads_needed",
    tipo="escribir",
    dificultad=2,
    minutos=10,
    aprende="usar el techo del teorema para decir cuántas cabezas bastan",
    bordes=("min(map(len, targets)) == 0",),
    casos=_casos_necesarias,
    ejemplo=lambda: Caso("ejemplo", ([[0, 1], [1]],)),
    propiedades={
        "pocas consultas": (
            3,
            "Cada cabeza tiene una fila por consulta: lo que pide una no le quita nada a otra.",
        ),
        "muchas consultas": (1, "El número no depende de cuántas consultas haya."),
    },
    pistas=(
        "El teorema habla de una consulta. ¿Comparten las consultas su fila de pesos?",
        "Una consulta que pide tres contenidos necesita tres filas: tres cabezas.",
        "Las cabezas de la capa sirven a todas las consultas a la vez.",
    ),
    mutantes=(
        cambia(
            "la suma",
            "Las consultas no se reparten las cabezas: cada una usa todas.",
            "max(len(wanted) for wanted in targets)",
            "sum(len(wanted) for wanted in targets)",
        ),
        cambia(
            "las distintas",
            "No importa cuántas posiciones distintas se pidan entre todas.",
            "max(len(wanted) for wanted in targets)",
            "len(set().union(*targets))",
        ),
        cambia(
            "sin mínimo",
            "Si nadie pide nada se devuelve 1: una capa tiene al menos una cabeza.",
            "max(1, max(len(wanted) for wanted in targets))",
            "max(len(wanted) for wanted in targets)",
        ),
        cambia(
            "por consulta",
            "Depende de lo que pide cada una, no de cuántas son.",
            "max(len(wanted) for wanted in targets)",
            "len(targets)",
        ),
        cambia(
            "la que menos pide",
            "Han de leer todas, también la que más pide.",
            "max(len(wanted)",
            "min(len(wanted)",
        ),
    ),
)

# --- 6.7 ------------------------------------------------------------------------------------------


def _casos_averiada(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ejes: int, cabezas: int) -> Caso:
        lote = distintos(rng, 2, 4, ejes)
        d = cabezas * entero(rng, 2, 4)
        n = entero(rng, 3, 6)
        return Caso(
            propiedad,
            (normal(rng, *lote, n, d),),
            init={"d_model": d, "n_heads": cabezas},
            gradiente=True,
        )

    return [
        caso("sin lote", 0, 2),
        caso("sin lote", 0, 3),
        caso("con lote", 1, 2),
        caso("con lote", 2, 3),
    ]


_AVERIADA = Ejercicio(
    id="6.7",
    nombre="BrokenHeads",
    tipo="depurar",
    dificultad=2,
    minutos=20,
    aprende="encontrar errores de reparto, de escala y de unión que no dan ningún aviso",
    bordes=(
        Borde("sin lote", {0: 0}),
        Borde("con lote", {0: 0}),
    ),
    casos=_casos_averiada,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[1.0, 0.0], [0.0, 1.0]]),),
        init={"d_model": 2, "n_heads": 2},
        pesos={
            f"{capa}.weight": tensor([[1.0, 0.0], [0.0, 1.0]])
            for capa in ("query", "key", "value", "output")
        },
    ),
    propiedades={
        "sin lote": (
            4,
            (
                "Con dos palabras y dos cabezas de una columna, sigue los números: qué llega a la"
                " primera cabeza, entre qué se divide y cómo se junta lo que sale."
            ),
        ),
        "con lote": (3, "Lo mismo, con ejes delante, y con gradiente hasta la entrada."),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        "Las formas cuadran siempre. ¿De qué palabra es cada número de la primera cabeza?",
        "Lo que se reparte de un modo se une del modo contrario.",
        "La tercera falta está en la escala: ¿qué ancho tiene una cabeza?",
    ),
    mutantes=(
        cambia(
            "sin arreglar",
            "Es la clase averiada: el reparto mezcla palabras.",
            "parts = y.unflatten(-1, (self.n_heads, -1))",
            "*batch, n, d_model = y.shape",
            "return parts.transpose(-2, -3)",
            "return y.reshape(*batch, self.n_heads, n, d_model // self.n_heads)",
            "math.sqrt(query.shape[-1])",
            "math.sqrt(x.shape[-1])",
            "mixed.transpose(-2, -3).reshape",
            "mixed.reshape",
        ),
        cambia(
            "falta unir",
            "El reparto ya está bien; al unir falta devolver el eje de las cabezas a su sitio.",
            "mixed.transpose(-2, -3).reshape",
            "mixed.reshape",
        ),
        cambia(
            "falta repartir",
            "La unión y la escala ya están bien; el reparto sigue mezclando palabras.",
            "parts = y.unflatten(-1, (self.n_heads, -1))",
            "*batch, n, d_model = y.shape",
            "return parts.transpose(-2, -3)",
            "return y.reshape(*batch, self.n_heads, n, d_model // self.n_heads)",
        ),
        cambia(
            "falta la escala",
            "El reparto y la unión ya están bien; la escala usa d_model.",
            "math.sqrt(query.shape[-1])",
            "math.sqrt(x.shape[-1])",
        ),
        cambia(
            "sin la salida",
            "Falta la capa de salida.",
            "self.output(mixed.transpose(-2, -3).reshape(x.shape))",
            "mixed.transpose(-2, -3).reshape(x.shape)",
        ),
        cambia(
            "cabezas y columnas cambiadas",
            "Las columnas de cada cabeza son seguidas: se han tomado alternas.",
            "(self.n_heads, -1)",
            "(-1, self.n_heads)",
            "return parts.transpose(-2, -3)",
            "return parts.movedim(-1, -3)",
        ),
    ),
)

# --- 6.8 ------------------------------------------------------------------------------------------


def _casos_poda(rng: Any) -> list[Caso]:
    def caso(propiedad: str, cabezas: int, quedan: int) -> Caso:
        d = cabezas * entero(rng, 2, 4)
        orden = permutacion(rng, cabezas)[:quedan]
        if propiedad == "en orden":
            orden = sorted(orden)
        elif orden == sorted(orden):
            orden = orden[::-1]
        return Caso(propiedad, (*(normal(rng, d, d) for _ in range(4)), cabezas, orden))

    una, ordenadas, otro = "una cabeza", "en orden", "en otro orden"
    return [
        caso(una, 3, 1),
        caso(una, 4, 1),
        caso(ordenadas, 4, 2),
        caso(ordenadas, 5, 3),
        caso(otro, 4, 3),
        caso(ordenadas, 3, 3),
        caso(otro, 3, 3),
        caso(ordenadas, 1, 1),
    ]


def _comprueba_poda(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    """Valen otras columnas dentro de cada cabeza: se compara lo que la capa podada calcula."""
    import torch

    if not isinstance(obtenido, (tuple, list)) or len(obtenido) != 4:
        return "se esperaban cuatro matrices: W_Q, W_K, W_V y W_O"
    for nombre, w, bien in zip(("W_Q", "W_K", "W_V", "W_O"), obtenido, esperado, strict=True):
        if not isinstance(w, torch.Tensor) or w.shape != bien.shape:
            return f"{nombre} debe tener forma {tuple(bien.shape)}"
        if w.dtype != bien.dtype:
            return f"{nombre} debe ser {str(bien.dtype).removeprefix('torch.')}"
    quedan = len(caso.args[5])

    def circuitos(w: Any) -> Any:
        q, k, v = (m.unflatten(1, (quedan, -1)) for m in w[:3])  # (d, cabeza, d_head)
        leen = torch.einsum("dhk,ehk->hde", q, k)
        llevan = torch.einsum("dhk,hke->hde", v, w[3].unflatten(0, (quedan, -1)))
        return leen, llevan

    mias, suyas = (list(zip(*circuitos(w), strict=True)) for w in (obtenido, esperado))
    for mia in mias:  # las cabezas, en cualquier orden: su suma es la misma
        pareja = next((i for i, suya in enumerate(suyas) if _iguales(mia, suya)), None)
        if pareja is None:
            return "alguna cabeza no lee (QK) o no escribe (OV) lo mismo que en la capa original"
        suyas.pop(pareja)
    return None


def _iguales(una: Any, otra: Any) -> bool:
    import torch

    return all(torch.allclose(a, b, atol=1e-9) for a, b in zip(una, otra, strict=True))


_PODA = Ejercicio(
    id="6.8",
    nombre="prune_heads",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="quitar cabezas de verdad, con matrices más pequeñas que dan lo mismo",
    bordes=(
        "len(keep) == 1",
        "len(keep) == n_heads > 1",
        "n_heads == 1",
    ),
    casos=_casos_poda,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            *(tensor([[1.0, 2.0], [3.0, 4.0]]) for _ in range(4)),
            2,
            [1],
        ),
    ),
    propiedades={
        "una cabeza": (2, "¿Qué columnas son de esa cabeza? ¿Y qué filas de la última matriz?"),
        "en orden": (
            3,
            "Cada cabeza son columnas seguidas de las tres primeras y filas seguidas de la última.",
        ),
        "en otro orden": (
            2,
            ("Si se cambia el orden de las cabezas, ha de cambiar igual en las cuatro matrices."),
        ),
    },
    comprueba=_comprueba_poda,
    invariante=lambda valor: (valor[0] @ valor[1].T, valor[2] @ valor[3]),
    pistas=(
        "La ecuación de la suma de cabezas dice qué trozo de cada matriz es de cada cabeza.",
        "De las tres primeras se toman columnas; de la última, filas.",
        "Una sola lista de índices sirve para las cuatro.",
    ),
    mutantes=(
        cambia(
            "columnas de la salida",
            "De la matriz de salida se quedan filas: son las que leen las cabezas.",
            "w_output[columns]",
            "w_output[:, columns].T",
        ),
        cambia(
            "las que se quitan",
            "Se han quedado las primeras cabezas, no las pedidas.",
            "for i in keep]",
            "for i in range(len(keep))]",
        ),
        cambia(
            "ordena",
            "Las filas de la última matriz van en otro orden que las columnas de las otras tres.",
            "w_output[columns]",
            "w_output[columns.sort().values]",
            "return w_query[:, columns], w_key[:, columns]",
            "return w_query[:, columns], w_key[:, columns]",
        ),
        cambia(
            "columnas alternas",
            "Las columnas de una cabeza son seguidas, no alternas.",
            "torch.arange(i * d_head, (i + 1) * d_head)",
            "torch.arange(i, d_head * n_heads, n_heads)",
        ),
        cambia(
            "claves sin podar",
            "Las claves de cada cabeza son las suyas, no las primeras.",
            "w_key[:, columns]",
            "w_key[:, : len(columns)]",
        ),
    ),
)

# --- 6.9 ------------------------------------------------------------------------------------------


def _casos_grupos(rng: Any) -> list[Caso]:
    def caso(propiedad: str, grupos: int, en_cada: int) -> Caso:
        cabezas = grupos * en_cada
        return Caso(propiedad, (normal(rng, *[cabezas * entero(rng, 2, 3)] * 2), cabezas, grupos))

    uno, varios = "un grupo", "varios grupos"
    return [
        caso(uno, 1, 3),
        caso(uno, 1, 2),
        caso(varios, 2, 2),
        caso(varios, 3, 2),
        caso(varios, 2, 3),
        caso(varios, 3, 1),
    ]


_GRUPOS = Ejercicio(
    id="6.9",
    nombre="group_heads",
    tipo="escribir",
    dificultad=3,
    minutos=15,
    aprende="convertir las claves de muchas cabezas en las de unas pocas, agrupadas",
    bordes=(
        "n_kv_heads == 1",
        "n_kv_heads == n_heads",
    ),
    casos=_casos_grupos,
    ejemplo=lambda: Caso("ejemplo", (tensor([[1.0, 3.0], [5.0, 7.0]]), 2, 1)),
    propiedades={
        "un grupo": (
            2,
            "Con un grupo, cada columna es la media de la misma columna de todas las cabezas.",
        ),
        "varios grupos": (
            4,
            (
                "Las cabezas de un grupo son seguidas; si cada cabeza es su grupo, la matriz no"
                " cambia."
            ),
        ),
    },
    pistas=(
        "Las columnas tienen tres coordenadas: grupo, cabeza dentro del grupo y componente.",
        "Se promedia sobre la del medio y se vuelve a juntar.",
    ),
    mutantes=(
        cambia(
            "salteadas",
            "Las cabezas de un grupo son seguidas, no salteadas.",
            "(n_kv_heads, n_heads // n_kv_heads, -1)",
            "(n_heads // n_kv_heads, n_kv_heads, -1)",
            "dim=2",
            "dim=1",
        ),
        cambia(
            "la primera",
            "Es la media del grupo, no su primera cabeza.",
            "parts.mean(dim=2)",
            "parts[:, :, 0]",
        ),
        cambia("la suma", "Es la media, no la suma.", "parts.mean(dim=2)", "parts.sum(dim=2)"),
        cambia(
            "media de componentes",
            "Se promedian cabezas, no las componentes de una.",
            "parts.mean(dim=2).flatten(1)",
            "parts.mean(dim=3).flatten(1)",
        ),
        cambia(
            "por filas",
            "Las cabezas son columnas de la matriz: se han agrupado las filas.",
            "parts = w.unflatten",
            "parts = w.T.unflatten",
        ),
    ),
)

# --- 6.10 -----------------------------------------------------------------------------------------


def _casos_parejas(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, h: int, ruido: float = 0.0) -> Caso:
        n, m = distintos(rng, 3, 6, 2)
        primeros = (2 * normal(rng, h, n, m)).softmax(-1)
        orden = permutacion(rng, h)
        if orden == sorted(orden):
            orden = orden[1:] + orden[:1]
        segundos = primeros[orden]
        if ruido:
            segundos = segundos + ruido * normal(rng, h, n, m).abs()
            segundos = segundos / segundos.sum(-1, keepdim=True)
        if (
            propiedad == "casi iguales"
        ):  # la primera prefiere a la pareja de la segunda, que la necesita más
            mezcla = 0.55 * primeros[1] + 0.45 * primeros[0]
            segundos, primeros = primeros[orden], torch.cat([mezcla[None], primeros[1:]])
        return Caso(propiedad, (primeros, segundos))

    # La pareja más parecida de todas obliga a otra muy cara; en el segundo caso, además, las sumas
    # de distancias o de valores absolutos prefieren otro reparto que la de cuadrados.
    trampas = (
        ([[[0.60, 0.40]], [[0.45, 0.55]]], [[[0.55, 0.45]], [[0.95, 0.05]]]),
        ([[[0.4, 0.3, 0.3]], [[0.7, 0.1, 0.2]]], [[[0.4, 0.3, 0.3]], [[0.2, 0.6, 0.2]]]),
    )
    iguales, ruido, disputa, muchas = (
        "los mismos mapas",
        "con ruido",
        "casi iguales",
        "muchas cabezas",
    )
    return [
        caso(iguales, 3),
        caso(iguales, 4),
        caso(ruido, 4, 0.1),
        caso(disputa, 4),
        caso(disputa, 5),
        *(Caso(disputa, tuple(map(tensor, mapas))) for mapas in trampas),
        caso(muchas, 40),
        caso(muchas, 40, 3.0),
    ]


def _comprueba_parejas(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    primeros, segundos = caso.args
    h = len(primeros)
    if not isinstance(obtenido, (list, tuple)):
        return "se esperaba una lista de enteros"
    try:
        obtenido = [operator.index(i) for i in obtenido]
    except TypeError:
        return "se esperaba una lista de enteros"
    if sorted(obtenido) != list(range(h)):
        return f"no es una permutación de 0 a {h - 1}: cada cabeza tiene una pareja y solo una"

    def coste(p: Any) -> float:
        return float((primeros - segundos[list(p)]).square().sum())

    if coste(obtenido) <= coste(esperado) + 1e-9:
        return None
    return "hay otra forma de emparejar que cuesta menos"


_PAREJAS = Ejercicio(
    id="6.10",
    nombre="match_heads",
    tipo="escribir",
    dificultad=3,
    minutos=25,
    aprende="comparar las cabezas de dos modelos sin que el orden engañe",
    bordes=(
        "first.shape[1] == 1",
        Borde("los mismos mapas", {0: 0, 1: 0}),
    ),
    casos=_casos_parejas,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0, 0.0]], [[0.0, 1.0]]]),
            tensor([[[0.1, 0.9]], [[0.8, 0.2]]]),
        ),
    ),
    propiedades={
        "los mismos mapas": (2, "Si los mapas son los mismos en otro orden, el coste es 0."),
        "con ruido": (1, "La pareja es la más parecida, no la idéntica."),
        "casi iguales": (2, "Dos cabezas no pueden quedarse con la misma pareja."),
        "muchas cabezas": (2, "Con 40 cabezas hay que resolverlo como un problema de asignación."),
    },
    comprueba=_comprueba_parejas,
    pistas=(
        "Empieza por la tabla de costes: cada cabeza del primero con cada una del segundo.",
        "Tomar lo mejor de cada fila puede repetir pareja.",
        (
            "Elegir una casilla por fila y por columna con la menor suma es la asignación que"
            " resuelve el algoritmo húngaro, que está en `scipy.optimize`."
        ),
    ),
    mutantes=(
        cambia(
            "lo mejor de cada fila",
            "Se repiten parejas: cada cabeza del segundo modelo se usa una vez.",
            "    return partner.tolist()",
            "    return gaps.argmin(dim=1).tolist()",
        ),
        cambia(
            "al revés",
            "Es la permutación inversa: p[i] es la pareja de la cabeza i del primero.",
            "    return partner.tolist()",
            "    return partner.argsort().tolist()",
        ),
        cambia(
            "las más distintas",
            "Se han emparejado las más distintas: el coste debe ser el menor.",
            "gaps.numpy()",
            "-gaps.numpy()",
        ),
        cambia(
            "voraz",
            "Tomar siempre la pareja libre más parecida puede obligar a otra muy cara.",
            "    return partner.tolist()",
            """    pairs = [0] * len(gaps)
    for _ in pairs:
        row, column = divmod(int(gaps.argmin()), len(gaps))
        pairs[row] = column
        gaps[row], gaps[:, column] = float("inf"), float("inf")
    return pairs""",
        ),
        cambia(
            "sin el cuadrado",
            "El coste de una pareja es la suma de los cuadrados, sin raíz.",
            ".square()  # (h, h)",
            "",
        ),
        cambia(
            "el mismo orden",
            "El orden de las cabezas no significa nada entre dos semillas.",
            "    return partner.tolist()",
            "    return list(range(len(first)))",
        ),
    ),
)

EJERCICIOS = [
    _FILA,
    _HOJA,
    _CUENTA,
    _CENTRAL,
    _RECUPERADO,
    _NECESARIAS,
    _AVERIADA,
    _PODA,
    _GRUPOS,
    _PAREJAS,
]
