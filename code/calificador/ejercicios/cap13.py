"""Ejercicios del capítulo 13, «Generar»."""

from __future__ import annotations

import itertools
import math
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
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENCION, ATENTO

# --- 13.1 -----------------------------------------------------------------------------------------


def _cadena(rng: Any, cuantas: int, *caminos: list[int]) -> Any:
    """Una tabla de puntuaciones en la que a cada palabra de un camino le sigue la siguiente."""
    tabla = normal(rng, cuantas, cuantas)
    for camino in caminos:
        for una, otra in itertools.pairwise(camino):
            tabla[una, otra] = tabla[una].max() + 1
    return tabla


def _casos_bucle(rng: Any) -> list[Caso]:
    def acaba(propiedad: str, regla: str, con_fin: bool = False) -> Caso:
        w = permutacion(rng, 9)
        camino = w[: entero(rng, 5, 7)]
        tabla = _cadena(rng, 9, camino)
        parada = {
            "no": [],
            "al revés": [camino[3], camino[2]],
            "una sola": [camino[2]],
            "seguidas": [camino[2], camino[3]],
            "tres": camino[1:4],
            "con el prefijo": [camino[0], camino[1]],
        }[regla]
        opciones = {"eos_id": camino[-1], "max_length": len(camino) + entero(rng, 1, 3)}
        antes = [w[8], camino[-1] if con_fin else w[7], camino[0]]
        return Caso(propiedad, (tabla, antes), opciones | {"stop": parada})

    def vueltas(largo: int) -> Caso:
        w = permutacion(rng, 7)
        tabla = _cadena(rng, 7, [*w[:4], w[0]])
        return Caso("longitud", (tabla, w[4:6] + [w[0]]), {"eos_id": w[6], "max_length": largo})

    def pegadas() -> Caso:
        """Antes de la regla «1 b» sale «1b», y después «11 b»."""
        b, (c, d) = entero(rng, 2, 7), distintos(rng, 18, 20, 2)
        tabla = _cadena(rng, 22, [0, 10 + b, c, 11, b, d, 1, b])
        return Caso("regla", (tabla, [0]), {"eos_id": 21, "max_length": 9, "stop": [1, b]})

    return [
        acaba("fin", "no"),
        acaba("fin", "no", con_fin=True),
        acaba("fin", "al revés"),
        vueltas(entero(rng, 4, 8)),
        vueltas(entero(rng, 4, 8)),
        vueltas(1),
        vueltas(0),
        acaba("regla", "seguidas"),
        acaba("regla", "una sola"),
        acaba("regla", "tres"),
        acaba("regla", "con el prefijo"),
        pegadas(),
    ]


_BUCLE = Ejercicio(
    id="13.1",
    nombre="write",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="escribir el bucle que genera palabra a palabra, con sus tres paradas",
    bordes=(
        "max_length == 0",
        "max_length == 1",
        "len(prefix) == 1",
        "len(stop or []) == 1",
    ),
    casos=_casos_bucle,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor(
                [
                    [0.0, 2.0, 1.0, 0.0],
                    [0.0, 0.0, 3.0, 1.0],
                    [0.0, 1.0, 0.0, 2.0],
                    [0.0] * 4,
                ]
            ),
            [0],
        ),
        {"eos_id": 3, "max_length": 5},
    ),  # fmt: skip
    propiedades={
        "fin": (3, "Lo escrito acaba con la palabra de fin, que también se escribe."),
        "longitud": (2, "¿Cuentas las palabras escritas o también las del prefijo?"),
        "regla": (3, "La regla mira las últimas palabras escritas, todas y en su orden."),
    },
    pistas=(
        "En cada vuelta solo hace falta saber cuál es la última palabra.",
        "Añade primero y pregunta después si hay que parar.",
        "Para la regla, compara el final de lo escrito con la lista entera; si hay menos palabras"
        " que en ella, no puede ser.",
    ),
    mutantes=(
        cambia(
            "sin fin",
            "La palabra de fin también se escribe: falta en la lista.",
            "        written.append(last)\n        if last == eos_id:\n            break\n",
            "        if last == eos_id:\n            break\n        written.append(last)\n",
        ),
        cambia(
            "no para en el fin",
            "No se detiene al escribir la palabra de fin.",
            "if last == eos_id:",
            "if last is None:",
        ),
        cambia(
            "devuelve el prefijo",
            "Se devuelve solo lo generado: sobra el prefijo.",
            "    return written",
            "    return [*prefix, *written]",
        ),
        cambia(
            "cuenta el prefijo",
            "La longitud cuenta las palabras generadas, no las del prefijo.",
            "len(written) < max_length",
            "len(prefix) + len(written) < max_length",
        ),
        cambia(
            "una de más",
            "Se pasa de la longitud: una palabra de más.",
            "len(written) < max_length",
            "len(written) <= max_length",
        ),
        cambia(
            "la regla mira el prefijo",
            "La regla mira solo lo generado; aquí para con una palabra del prefijo y otra escrita.",
            "written[-len(stop) :]",
            "[*prefix, *written][-len(stop) :]",
        ),
        cambia(
            "basta una",
            "Para en cuanto sale una palabra de la regla; tienen que salir todas, seguidas.",
            "stop and written[-len(stop) :] == list(stop)",
            "last in stop",
        ),
        cambia(
            "en cualquier orden",
            "Las palabras de la regla han de salir en su orden.",
            "written[-len(stop) :] == list(stop)",
            "sorted(written[-len(stop) :]) == sorted(stop)",
        ),
        *(
            cambia(
                f"cadenas con «{junta}»",
                f"Se comparan números, no cadenas: {ejemplo}.",
                "written[-len(stop) :] == list(stop)",
                f"{junta!r}.join(map(str, written)).endswith({junta!r}.join(map(str, stop)))",
            )
            for junta, ejemplo in (
                ("", "pegada, la palabra 12 se confunde con la 1 y la 2"),
                (" ", "«11 2» acaba como «1 2»"),
            )
        ),
        cambia(
            "al menos una",
            "Si max_length es 0 no se escribe ninguna: se pregunta antes de escribir.",
            "while len(written) < max_length:",
            "while len(written) < max(max_length, 1):",
        ),
        cambia(
            "sin regla",
            "La regla de parada no se mira.",
            "stop and written",
            "False and written",
        ),
        cambia(
            "el fin del prefijo",
            "Una palabra de fin en el prefijo no para nada: solo cuenta lo escrito.",
            "    last = prefix[-1]\n",
            "    last = prefix[-1]\n    if eos_id in prefix:\n        return written\n",
        ),
        cambia(
            "solo reglas de dos",
            "La regla puede tener una palabra, dos o las que sean.",
            "if stop and written",
            "if len(stop) == 2 and written",
        ),
        cambia(
            "siempre la misma",
            "Cada palabra depende de la anterior: se está mirando siempre la del prefijo.",
            "logits[last].argmax()",
            "logits[prefix[-1]].argmax()",
        ),
        cambia(
            "la primera del prefijo",
            "Se parte de la última palabra del prefijo, no de la primera.",
            "last = prefix[-1]",
            "last = prefix[0]",
        ),
        cambia(
            "por columnas",
            "Lo que sigue a una palabra está en su fila, no en su columna.",
            "logits[last].argmax()",
            "logits[:, last].argmax()",
        ),
    ),
)

# --- 13.2 -----------------------------------------------------------------------------------------

_ARBOL = Ejercicio(
    id="13.2",
    nombre="tree_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    tolerancia=3e-3,
    aprende="ver en un árbol pequeño que la frase voraz no es la más probable",
    propiedades={
        "greedy": (1, "La voraz elige la mejor palabra en cada paso y ya no vuelve."),
        "best": (1, "Hay cinco frases: multiplica las probabilidades de cada una."),
        "tie": (1, "Llama x a la probabilidad de «mañana» y escribe las dos frases con ella."),
    },
    pistas=(
        "La probabilidad de una frase es el producto de las de sus palabras.",
        "La voraz empieza por «el», porque 0.55 es más que 0.45, y después elige «tren».",
        "Para el empate, iguala 0.4 por lo que falta hasta 1 con 0.8 por x.",
    ),
    mutantes=(
        cambia(
            "la mejor por voraz",
            "La voraz no ve el final: empieza por la palabra más probable.",
            '"greedy": first[top] * max(after[top].values())',
            '"greedy": best',
        ),
        cambia(
            "suma",
            "Las probabilidades de las palabras de una frase se multiplican.",
            "first[top] * max(after[top].values())",
            "first[top] + max(after[top].values())",
        ),
        cambia(
            "solo el principio",
            "Falta la segunda palabra: la probabilidad es la de la frase entera.",
            "first[top] * max(after[top].values())",
            "first[top]",
        ),
        cambia(
            "la voraz por mejor",
            "La más probable no es la voraz: mira también lo que empieza por «mañana».",
            '"best": best',
            '"best": first[top] * max(after[top].values())',
        ),
        cambia(
            "la otra",
            "Esa es la probabilidad de «el» en el empate; se pide la de «mañana».",
            "to_noun / (to_noun + to_end)",
            "to_end / (to_noun + to_end)",
        ),
        cambia(
            "sin repartir",
            "Las dos primeras palabras suman 1: si una sube, la otra baja.",
            "to_noun / (to_noun + to_end)",
            'first["el"] * to_noun / to_end',
        ),
    ),
)

# --- 13.3 -----------------------------------------------------------------------------------------


def _paso_de_haz(
    rng: Any, propiedad: str, vivas: int, haz: int, orden: int = 0, busca: str = ""
) -> Caso:
    """Un paso del haz sin empates que cumple lo que su propiedad pide, buscado hasta dar con él.

    ``orden``: si al menos dos acaban y sus números van subiendo (1) o bajando (-1).
    """
    import torch

    palabras, fin = vivas + 2 * haz + entero(rng, 1, 3), entero(rng, 0, 3)
    while True:
        totales = -normal(rng, vivas).abs() - (0.3 if vivas > 1 else 0)
        tabla = 1.5 * normal(rng, vivas, palabras) + 0.013 * torch.arange(palabras)  # sin empates
        tabla[:, fin] += 4 * (busca == "acaban muchas")
        tabla = tabla.log_softmax(-1)
        suma = (totales[:, None] + tabla).flatten().sort(descending=True)
        acaban = [i % palabras == fin for i in suma.indices.tolist()]
        siguen = [
            i // palabras for i, a in zip(suma.indices.tolist(), acaban, strict=True) if not a
        ]
        cierran = [i // palabras for i in suma.indices[:haz].tolist() if i % palabras == fin]
        if orden and (len(cierran) < 2 or cierran != sorted(cierran, reverse=orden < 0)):
            continue
        sirve = {
            "una viva": not any(acaban[: 2 * haz]),
            "varias": not any(acaban[: 2 * haz]) and len(set(siguen[:haz])) == 2,
            "alguna acaba": any(acaban[1:haz]) and not all(acaban[:haz]),
            "acaban muchas": sum(acaban[: 2 * haz]) > haz and any(acaban[:haz]),
            "acaba tarde": any(acaban[haz : haz + 1]) and any(acaban[: haz - 1]),
        }[busca or propiedad]
        if sirve and float((suma.values[:-1] - suma.values[1:]).min()) > 1e-4:
            return Caso(propiedad, (totales, tabla), {"beams": haz, "eos_id": fin})


def _casos_paso(rng: Any) -> list[Caso]:
    return [
        _paso_de_haz(rng, "una viva", 1, entero(rng, 2, 3)),
        _paso_de_haz(rng, "varias", 3, 3),
        _paso_de_haz(rng, "varias", 4, 4),
        _paso_de_haz(rng, "alguna acaba", 3, 3, orden=-1),
        _paso_de_haz(rng, "alguna acaba", 2, 3, orden=1),
        _paso_de_haz(rng, "alguna acaba", 2, 3),
        _paso_de_haz(rng, "acaba tarde", 3, 3),
        _paso_de_haz(rng, "acaba tarde", 4, 3),
        _paso_de_haz(rng, "acaba tarde", 5, 2, busca="acaban muchas"),
        _paso_de_haz(rng, "una viva", 1, 1),
    ]


_PASO = Ejercicio(
    id="13.3",
    nombre="beam_step",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="dar un paso del haz: ampliar, ordenar, apartar y quedarse con unas pocas",
    bordes=(
        "len(totals) == 1",
        "beams == 1",
        "len(totals) > 2 * beams",
    ),
    casos=_casos_paso,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([-0.5, -1.0]), tensor([[-3.0, -0.4, -1.5], [-0.3, -2.0, -2.5]])),
        {"beams": 2, "eos_id": 0},
    ),
    propiedades={
        "una viva": (2, "Con una sola hipótesis, los candidatos son sus palabras."),
        "varias": (3, "Las parejas de todas las hipótesis compiten juntas."),
        "alguna acaba": (
            2,
            "La que acaba deja su sitio, y siguen igualmente todas las del haz; se guarda el número"
            " de la hipótesis de la que viene.",
        ),
        "acaba tarde": (
            2,
            "Una que acaba y no está entre las primeras no se guarda, y pueden acabar más de las"
            " que caben en el haz.",
        ),
    },
    pistas=(
        "Suma a cada fila la log-probabilidad de su hipótesis y ponlo todo en una sola lista.",
        "De la posición en la lista salen la hipótesis y la palabra, con una división entera y su"
        " resto.",
        "Ordena una vez: las que acaban se buscan entre las primeras; las que siguen, en toda la"
        " lista.",
    ),
    mutantes=(
        cambia(
            "sin acumular",
            "Falta sumar la log-probabilidad que cada hipótesis traía.",
            "(totals[:, None] + log_probs)",
            "(0 * totals[:, None] + log_probs)",
        ),
        cambia(
            "multiplica",
            "Las log-probabilidades se suman; los productos son de probabilidades.",
            "(totals[:, None] + log_probs)",
            "(totals[:, None] * log_probs)",
        ),
        cambia(
            "al revés",
            "Las mejores son las de mayor suma, las más cercanas a 0.",
            "argsort(descending=True)",
            "argsort()",
        ),
        cambia(
            "cambiadas",
            "La hipótesis y la palabra están cambiadas.",
            "parents, words = order // vocab, order % vocab",
            "words, parents = order // vocab, order % vocab",
        ),
        cambia(
            "ocupa sitio",
            "Las que acaban no ocupan sitio entre las que siguen: el haz se ha quedado estrecho.",
            "(~ends).nonzero().flatten()[:beams]",
            "(~ends[:beams]).nonzero().flatten()",
        ),
        cambia(
            "por número",
            "Las que acaban también van de mayor a menor suma, no por su número.",
            "closed = parents[:beams][ends[:beams]].tolist()",
            "closed = sorted(parents[:beams][ends[:beams]].tolist())",
        ),
        cambia(
            "acaban todas",
            "Solo se guardan las que acaban entre las primeras del haz.",
            "parents[:beams][ends[:beams]]",
            "parents[ends]",
        ),
        cambia(
            "el doble de lista",
            "Se buscan las que acaban entre demasiados candidatos: son tantos como anchura.",
            "parents[:beams][ends[:beams]]",
            "parents[: 2 * beams][ends[: 2 * beams]]",
        ),
        cambia(
            "el doble de candidatos",
            "Con dos veces la anchura no siempre basta: pueden acabar casi todas las primeras.",
            "candidates.argsort(descending=True)",
            "candidates.argsort(descending=True)[: 2 * beams]",
        ),
        *(
            cambia(
                f"acaban {que}",
                f"De las que acaban se pide el número de su hipótesis, no {que}.",
                "parents[:beams][ends[:beams]]",
                codigo,
            )
            for que, codigo in (
                ("su palabra", "words[:beams][ends[:beams]]"),
                ("su puesto", "ends[:beams].nonzero().flatten()"),
                ("su suma", "candidates[order][:beams][ends[:beams]]"),
            )
        ),
        cambia(
            "sigue la que acaba",
            "Una hipótesis que acaba no puede seguir.",
            "(~ends).nonzero().flatten()[:beams]",
            "torch.arange(beams)",
        ),
        cambia(
            "una por hipótesis",
            "Cada hipótesis puede dejar varias o ninguna: no va una por cada una.",
            "(~ends).nonzero().flatten()[:beams]",
            "torch.tensor([int(i) for i in (~ends).nonzero().flatten()"
            " if not (parents[:i][~ends[:i]] == parents[i]).any()][:beams])",
        ),
    ),
)

# --- 13.4 -----------------------------------------------------------------------------------------

_TEMPERATURA = Ejercicio(
    id="13.4",
    nombre="temperature_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    tolerancia=3e-3,
    aprende="decir a mano qué le hace la temperatura a dos probabilidades",
    propiedades={
        "cold": (1, "Con temperatura 0.5, cada probabilidad queda proporcional a su cuadrado."),
        "hot": (1, "Con temperatura 2, proporcional a su raíz."),
        "tau": (1, "La razón de las dos, que es 4, queda elevada al inverso de la temperatura."),
        "twice": (1, "¿Con qué una sola temperatura saldría lo mismo?"),
    },
    pistas=(
        "Trabaja con la razón entre las dos, 0.8 entre 0.2, y reparte al final.",
        "Si la razón es r a 1, la primera tiene probabilidad r entre r más 1.",
        "64 es 4 al cubo.",
    ),
    mutantes=(
        cambia(
            "al revés",
            "Está cambiado: por debajo de 1 la temperatura concentra.",
            "ratio ** (1 / temperature)",
            "ratio**temperature",
        ),
        cambia(
            "divide la razón",
            "La temperatura divide las puntuaciones, que son logaritmos: la razón se eleva.",
            "ratio ** (1 / temperature)",
            "ratio / temperature",
        ),
        cambia(
            "sin repartir",
            "Falta que las dos sumen 1.",
            "odds / (1 + odds)",
            "odds",
        ),
        cambia(
            "inversa",
            "Esa es la inversa de la temperatura que se pide.",
            "math.log(ratio) / math.log(64)",
            "math.log(64) / math.log(ratio)",
        ),
        cambia(
            "frío y calor cambiados",
            "Están cambiadas: por debajo de 1 la temperatura concentra; por encima, reparte.",
            '"cold": share(0.5)',
            '"cold": share(2.0)',
            '"hot": share(2.0)',
            '"hot": share(0.5)',
        ),
        cambia(
            "una sola vez",
            "Esa es la de aplicarla una vez. La segunda parte de lo que dejó la primera, y vuelve a"
            " repartir.",
            "share(2.0 * 2.0)",
            "share(2.0)",
        ),
        cambia(
            "un dieciseisavo",
            "La razón 64 es a 1 entre las dos: no se pide que la primera sea 64 veces su valor.",
            "math.log(ratio) / math.log(64)",
            "1 / 16",
        ),
    ),
)

# --- 13.5 -----------------------------------------------------------------------------------------

_CUANTAS = Ejercicio(
    id="13.5",
    nombre="nucleus_size",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="predecir qué deja el núcleo después de la temperatura",
    propiedades={"respuesta": (2, "Eleva al cuadrado, reparte y ve sumando desde la mayor.")},
    opciones=("dos", "tres", "cuatro", "cinco"),
    pistas=(
        "El orden importa: el núcleo ve las probabilidades que ya ha cambiado la temperatura.",
        "Los cuadrados suman 0.285; las dos primeras juntan el 88 % de eso.",
    ),
    mutantes=(
        cuerpo(
            "sin la que cruza",
            "Las dos primeras no llegan a 0.9: la que cruza también entra.",
            "return 'dos'",
        ),
        cuerpo(
            "sin temperatura",
            "Ese es el núcleo de las probabilidades de partida; la temperatura va primero.",
            "return 'cuatro'",
        ),
        cuerpo(
            "todas",
            "La cola, que ha encogido, queda fuera.",
            "return 'cinco'",
        ),
    ),
)

# --- 13.6 -----------------------------------------------------------------------------------------


def _holgado(logits: Any, p: float, temperatura: float, sola: bool = False) -> bool:
    """¿Está la suma, en todas las filas, a alguna distancia de ``p``?

    ``sola``: si en alguna fila la primera palabra ya llega (y en otra, si la hay, no).
    """
    suma = (logits / temperatura).sort(dim=-1, descending=True).values.softmax(-1).cumsum(-1)
    faltan = (suma < p).sum(-1)  # (…,): cuántas no llegan
    una_basta = int(faltan.min()) == 0 and (faltan.dim() == 0 or int(faltan.max()) >= 1)
    bien = una_basta if sola else int(faltan.min()) >= 1
    return float((suma - p).abs().min()) > 1e-3 and bien


def _distinto(logits: Any, p: float, temperatura: float) -> bool:
    """¿Cambia la temperatura cuántas no llegan?"""
    faltan = [
        ((logits / t).sort(dim=-1, descending=True).values.softmax(-1).cumsum(-1) < p).sum()
        for t in (temperatura, 1.0)
    ]
    return _holgado(logits, p, 1.0) and bool(faltan[0] != faltan[1])


def _casos_nucleo(rng: Any, temperature: float = 1.0) -> list[Caso]:
    import torch

    def caso(
        propiedad: str, *forma: int, prohibidas: bool = False, calor: float, sola: bool = False
    ) -> Caso:
        while True:
            logits = (4 if sola else 1.5) * normal(rng, *forma)
            if prohibidas:
                logits[..., ::3] = -torch.inf
            p = real(rng, 0.5, 0.95)
            if _holgado(logits, p, calor, sola) and (
                sola or calor == 1.0 or _distinto(logits, p, calor)
            ):
                return Caso(propiedad, (logits, p), {"temperature": calor})

    def con_empates(calor: float) -> Caso:
        while True:
            logits = torch.tensor([2.0, 1.0, 1.0, 1.0, 0.0, 0.0, -1.0], dtype=torch.float64)
            logits = logits[permutacion(rng, 7)] * real(rng, 0.5, 1.5)
            p = real(rng, 0.35, 0.95)
            suma = (logits / calor).sort(descending=True).values.softmax(-1).cumsum(-1)
            if _holgado(logits, p, calor) and int((suma < p).sum()) in (1, 2, 4):
                return Caso("empates", (logits, p), {"temperature": calor})

    def casi_empatan(calor: float) -> Caso:
        """La que cruza y la siguiente se llevan menos que lo que se suele dar por igual."""
        logits = torch.tensor([2.0, 1.0, 1.0 - 1e-9, 0.0, -0.5, -1.0], dtype=torch.float64)
        suma = (logits / calor).softmax(-1).cumsum(-1)
        p = float(suma[0]) + real(rng, 0.2, 0.8) * float(suma[1] - suma[0])
        return Caso("empates", (logits[permutacion(rng, 6)], p), {"temperature": calor})

    otra = elige(rng, (0.6, 1.7, 2.5))
    return [
        caso("una fila", entero(rng, 6, 9), calor=temperature),
        caso("una fila", entero(rng, 6, 9), calor=otra),
        caso("una fila", entero(rng, 6, 9), calor=temperature, sola=True),
        con_empates(temperature),
        con_empates(temperature),
        casi_empatan(temperature),
        caso("prohibidas", entero(rng, 7, 10), prohibidas=True, calor=temperature),
        caso("lote", 2, 3, entero(rng, 6, 8), calor=temperature),
        caso("lote", 3, entero(rng, 6, 8), prohibidas=True, calor=otra),
        caso("lote", 4, entero(rng, 6, 8), calor=temperature, sola=True),
    ]


_NUCLEO = Ejercicio(
    id="13.6",
    nombre="nucleus",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="escribir el filtro del núcleo sin perder la palabra que cruza ni las que empatan",
    bordes=(
        "empate(logits)",
        "infinito(logits)",
        Borde("una fila", {0: 0}),
    ),
    casos=_casos_nucleo,
    ejemplo=lambda: Caso("ejemplo", (tensor([[0.0, 2.0], [1.0, 1.0]]), 0.5)),
    propiedades={
        "una fila": (2, "Suma desde la mayor: la que hace llegar a p también entra."),
        "empates": (2, "Si una entra, entran todas las que valen lo mismo."),
        "prohibidas": (2, "Una palabra prohibida no entra nunca ni se lleva probabilidad."),
        "lote": (2, "Cada fila tiene su núcleo, y cada palabra sigue en su sitio."),
    },
    variante={"temperature": 1.0},
    alternativas={"temperature": (0.5, 2.0)},
    pistas=(
        "Ordena cada fila, suma y mira en qué lugar se alcanza p.",
        "Lo que vale la palabra de ese lugar sirve de listón para todas las demás.",
        "Con el listón no hace falta deshacer la ordenación.",
    ),
    mutantes=(
        cambia(
            "sin la que cruza",
            "La palabra que cruza p también entra.",
            "(reached < p).sum(dim=-1, keepdim=True)",
            "((reached < p).sum(dim=-1, keepdim=True) - 1).clamp(min=0)",
        ),
        cambia(
            "sin guardar la primera",
            "La palabra que cruza entra también cuando es la primera: si no, no queda ninguna y"
            " sale NaN.",
            "warm.masked_fill(warm < least, -math.inf)",
            "warm.masked_fill(warm.argsort(dim=-1, descending=True, stable=True)"
            ".argsort(dim=-1) >= crossing, -math.inf)",
        ),
        cambia(
            "casi empatan",
            "Empatan las que valen lo mismo, no las que valen casi lo mismo.",
            "warm.masked_fill(warm < least, -math.inf)",
            "warm.masked_fill((warm < least) & ~torch.isclose(warm, least), -math.inf)",
        ),
        cambia(
            "una de más",
            "Entra una palabra de más: la anterior ya había llegado a p.",
            "(reached < p).sum(dim=-1, keepdim=True)",
            "((reached < p).sum(dim=-1, keepdim=True) + 1)",
        ),
        cambia(
            "al menos dos",
            "Si la primera palabra ya llega a p, queda ella sola.",
            ".clamp(max=logits.shape[-1] - 1)",
            ".clamp(min=1, max=logits.shape[-1] - 1)",
        ),
        cambia(
            "sin temperatura",
            "La temperatura no se está aplicando.",
            "warm = logits / temperature",
            "warm = logits / 1",
        ),
        cambia(
            "temperatura al revés",
            "La temperatura divide las puntuaciones.",
            "warm = logits / temperature",
            "warm = logits * temperature",
        ),
        cambia(
            "temperatura después",
            "El núcleo se elige con la temperatura ya puesta, no antes.",
            "reached = ordered.softmax(dim=-1).cumsum(dim=-1)",
            "reached = (ordered * temperature).softmax(dim=-1).cumsum(dim=-1)",
        ),
        cambia(
            "sin repartir",
            "Las que quedan tienen que volver a sumar 1.",
            "warm.masked_fill(warm < least, -math.inf).softmax(dim=-1)",
            "warm.softmax(dim=-1).masked_fill(warm < least, 0)",
        ),
        cambia(
            "empates fuera",
            "Las que empatan con la que cruza también entran.",
            "warm.masked_fill(warm < least, -math.inf)",
            "warm.masked_fill(warm.argsort(dim=-1, descending=True, stable=True)"
            ".argsort(dim=-1) > crossing, -math.inf)",
        ),
        cambia(
            "ordenadas",
            "Las probabilidades se devuelven en el orden del vocabulario, no de mayor a menor.",
            "warm.masked_fill(warm < least, -math.inf)",
            "ordered.masked_fill(ordered < least, -math.inf)",
        ),
        cambia(
            "cada una por su lado",
            "Se mira la suma desde la mayor, no la probabilidad de cada palabra.",
            "warm.masked_fill(warm < least, -math.inf)",
            "warm.masked_fill(warm.softmax(dim=-1) < 1 - p, -math.inf)",
        ),
    ),
)

# --- 13.7 -----------------------------------------------------------------------------------------


def _con_minimo(pasan: Any, logits: Any, minimo: int) -> Any:
    """Las que pasan, y las mejores de cada fila hasta ``minimo``."""
    return pasan | (logits.argsort(dim=-1, descending=True).argsort(dim=-1) < minimo)


def _casos_min_p(rng: Any) -> list[Caso]:
    def caso(propiedad: str, forma: tuple[int, ...], pocas: int, minimo: int) -> Caso:
        """``pocas``: cuántas pasan, como mucho, por sí solas en alguna fila."""
        while True:
            logits = 2 * normal(rng, *forma)
            p = real(rng, 0.05, 0.6)
            salto = logits - logits.amax(dim=-1, keepdim=True) - math.log(p)
            orden = logits.sort(dim=-1).values.diff(dim=-1)
            pasan = (salto >= 0).sum(dim=-1)
            holgado = float(salto.abs().min()) > 1e-3 and float(orden.min()) > 1e-4
            faltan = propiedad == "con mínimo"
            bien = bool((pasan < minimo).any()) if faltan else bool((pasan >= minimo).all())
            quedan = _con_minimo(salto >= 0, logits, minimo)
            fijo = _con_minimo(logits.softmax(-1) >= p, logits, minimo)
            comun = _con_minimo(logits - logits.max() >= math.log(p), logits, minimo)
            bien = bien and (propiedad != "una fila" or bool((quedan != fijo).any()))
            bien = bien and (propiedad != "lote" or bool((quedan != comun).any()))
            if holgado and bien and int(pasan.min()) <= pocas and int(pasan.max()) >= 1:
                return Caso(propiedad, (logits, p), {"at_least": minimo})

    tamano = entero(rng, 8, 10)
    return [
        caso("una fila", (tamano,), 6, 1),
        caso("una fila", (entero(rng, 8, 10),), 6, 1),
        caso("lote", (3, tamano), 6, 1),
        caso("lote", (2, 2, tamano), 6, 1),
        caso("con mínimo", (tamano,), 4, entero(rng, 3, 4)),
        caso("con mínimo", (4, tamano), 3, entero(rng, 4, 5)),
    ]


_MIN_P = Ejercicio(
    id="13.7",
    nombre="keep_min_p",
    tipo="escribir",
    dificultad=2,
    minutos=15,
    aprende="escribir min-p y asegurar que siempre quedan unas cuantas palabras",
    bordes=(
        "at_least == 1",
        Borde("lote", {0: 0}),
        Borde("con mínimo", valores={"at_least": 8}),
    ),
    casos=_casos_min_p,
    ejemplo=lambda: Caso("ejemplo", (tensor([[2.0, 0.0], [1.0, 0.5]]), 0.5)),
    propiedades={
        "una fila": (2, "El listón es p veces la probabilidad de la mejor."),
        "lote": (2, "Cada fila tiene su mejor palabra y, por tanto, su listón."),
        "con mínimo": (2, "Si quedan pocas, se completan con las mejores."),
    },
    pistas=(
        "El cociente de dos probabilidades sale de la diferencia de sus puntuaciones.",
        "Compara esa diferencia con el logaritmo de p.",
        "El puesto de cada palabra en su fila dice si está entre las primeras.",
    ),
    mutantes=(
        cambia(
            "listón fijo",
            "El listón es p veces la mejor, no p.",
            "gap >= math.log(p)",
            "logits.softmax(dim=-1) >= p",
        ),
        cambia(
            "p veces la puntuación",
            "Se comparan probabilidades, no puntuaciones.",
            "gap >= math.log(p)",
            "logits >= p * logits.amax(dim=-1, keepdim=True)",
        ),
        cambia(
            "un solo listón",
            "Cada fila tiene su mejor palabra; aquí se usa una para todas.",
            "logits.amax(dim=-1, keepdim=True)",
            "logits.max()",
        ),
        cambia(
            "sin mínimo",
            "Falta asegurar el mínimo de palabras.",
            "(rank < at_least)",
            "(rank < 1)",
        ),
        cambia(
            "al menos más",
            "El mínimo no se añade a las que ya quedaban: se llega hasta él.",
            "(rank < at_least)",
            "(rank < (gap >= math.log(p)).sum(dim=-1, keepdim=True) + at_least)",
        ),
        cambia(
            "las primeras del vocabulario",
            "Se completan con las mejores, no con las primeras de la lista.",
            "rank = logits.argsort(dim=-1, descending=True).argsort(dim=-1)",
            "rank = torch.arange(logits.shape[-1])",
        ),
        cambia(
            "como mucho",
            "El mínimo es un suelo, no un techo.",
            "| (rank < at_least)",
            "& (rank < max(at_least, 1))",
        ),
        cambia(
            "al revés",
            "Se pide True en las que quedan, no en las que se van.",
            "return (gap >= math.log(p)) | (rank < at_least)",
            "return ~((gap >= math.log(p)) | (rank < at_least))",
        ),
    ),
)

# --- 13.8 -----------------------------------------------------------------------------------------


def _empatan(valores: list[float]) -> bool:
    """¿Hay dos seguidos que el redondeo podría cambiar de orden?"""
    return any(abs(a - b) < 1e-6 for a, b in itertools.pairwise(valores))


def _busca(
    tabla: list[list[float]],
    inicio: int,
    haz: int,
    fin: int,
    largo: int,
    alfa: float,
    faltas: tuple[bool, int, bool],
    siguen: int | None = None,
) -> tuple[list[int], float]:
    """El haz con las faltas que se digan, para elegir casos en los que se noten; con empates, NaN.

    ``faltas``: si suma probabilidades; con cuántas acabadas para, o 0; si divide entre lo mismo.
    ``siguen``: cuántas continúan en cada paso, si no son las del haz.
    """
    vivas: list[tuple[list[int], float]] = [([], 0.0)]
    acabadas: list[tuple[list[int], float]] = []
    sin_log, impaciente, mal_dividido = faltas
    for _ in range(largo):
        crecen = [
            ([*palabras, nueva], suma + (math.exp(log_p) if sin_log else log_p))
            for palabras, suma in vivas
            for nueva, log_p in enumerate(tabla[palabras[-1] if palabras else inicio])
        ]
        crecen.sort(key=lambda una: una[1], reverse=True)
        if _empatan([suma for _, suma in crecen[: 2 * haz + 1]]):
            return [], math.nan
        acabadas += [una for una in crecen[:haz] if una[0][-1] == fin]
        vivas = [una for una in crecen if una[0][-1] != fin][: siguen or haz]
        if impaciente and len(acabadas) >= impaciente:
            break
    puntos = [(p, s / (largo if mal_dividido else len(p)) ** alfa) for p, s in [*acabadas, *vivas]]
    if _empatan(sorted(punto for _, punto in puntos)[-2:]):
        return [], math.nan
    return max(puntos, key=lambda una: una[1])


_FALTAS = tuple(itertools.product((False, True), (0, 1), (False, True)))


def _con_cada_falta(caso: Caso) -> list[str]:
    """Lo que da el haz en un caso con cada combinación de faltas; primero, sin ninguna."""
    opciones = caso.kwargs
    dados = (
        _busca(
            caso.args[0].tolist(), caso.args[1], opciones["beams"], opciones["eos_id"],
            opciones["max_length"], opciones["alpha"], faltas,
        )
        for faltas in _FALTAS
    )  # fmt: skip
    return [f"{palabras} {puntos:.5f}" for palabras, puntos in dados]


def _caso_averiado(rng: Any, propiedad: str, falta: int) -> Caso:
    """Un caso en el que se nota una falta sola: la suma (4), la parada (2) o la longitud (1)."""
    while True:
        palabras = entero(rng, 4, 6)
        tabla = 1.5 * normal(rng, palabras, palabras)
        tabla[:, 0] += 0.5  # el fin sale a menudo
        opciones = {"beams": entero(rng, 2, 3), "eos_id": 0, "max_length": entero(rng, 4, 6)}
        opciones |= {"alpha": elige(rng, (0.8, 1.0, 1.2)) if propiedad == "con longitud" else 0.0}
        caso = Caso(propiedad, (tabla.log_softmax(-1), entero(rng, 1, palabras - 1)), opciones)
        dados = _con_cada_falta(caso)
        voraz = _busca(
            caso.args[0].tolist(), caso.args[1], opciones["beams"], 0, opciones["max_length"],
            opciones["alpha"], _FALTAS[0], siguen=1,
        )  # fmt: skip
        gana = dados[0] != f"{voraz[0]} {voraz[1]:.5f}"
        if any("nan" in dado for dado in dados):
            continue
        if dados[falta] != dados[0] and (gana or falta != 2):
            return caso


def _caso_paciente(rng: Any) -> Caso:
    """Un caso en el que parar con el doble de acabadas que de anchura también pierde la mejor."""
    while True:
        palabras, haz = entero(rng, 4, 5), entero(rng, 2, 3)
        tabla = 1.5 * normal(rng, palabras, palabras)
        tabla[:, 0] += 1.0
        tabla, inicio = tabla.log_softmax(-1), entero(rng, 1, palabras - 1)
        opciones = {"beams": haz, "eos_id": 0, "max_length": 8, "alpha": 1.4}
        dados = [
            _busca(tabla.tolist(), inicio, haz, 0, 8, 1.4, (False, cuantas, False))
            for cuantas in (0, haz, 2 * haz, 2 * haz + 1)
        ]
        if not any(math.isnan(puntos) for _, puntos in dados) and dados[0] not in dados[1:]:
            return Caso("con longitud", (tabla, inicio), opciones)


def _casos_haz(rng: Any) -> list[Caso]:
    """Casos en los que las ocho combinaciones de las tres faltas dan cosas distintas."""
    while True:
        casos = [_caso_averiado(rng, "sin dividir", falta) for falta in (4, 2, 2)]
        casos += [_caso_averiado(rng, "con longitud", falta) for falta in (4, 2, 1, 1, 2)]
        if len(set(zip(*map(_con_cada_falta, casos), strict=True))) == len(_FALTAS):
            return [*casos, _caso_paciente(rng)]


_NO_SUMA = ("([*words, word], total + log_prob)", "([*words, word], total + math.exp(log_prob))")
_IMPACIENTE = (
    "    finished += live  # las que corta la longitud",
    "        if finished:\n            break\n    finished += live  # las que corta la longitud",
)
_MAL_DIVIDIDO = ("total / len(words) ** alpha", "total / max_length**alpha")

_AVERIADO = Ejercicio(
    id="13.8",
    nombre="broken_beam",
    tipo="depurar",
    dificultad=2,
    minutos=25,
    aprende="encontrar en una búsqueda en haz tres faltas que no dan ningún aviso",
    bordes=("alpha == 0", Borde("sin dividir", valores={"max_length": 1}),),
    casos=_casos_haz,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[0.5, 0.25, 0.25], [0.3, 0.2, 0.5], [0.6, 0.3, 0.1]]).log(), 1),
        {"beams": 2, "eos_id": 0, "max_length": 3, "alpha": 1.0},
    ),
    propiedades={
        "sin dividir": (3, "¿Qué suma lleva cada hipótesis? ¿Y cuándo se para?"),
        "con longitud": (4, "La puntuación divide entre la longitud de cada frase."),
    },
    pistas=(
        "Sigue el esqueleto con anchura 2 y escribe en un papel las vivas de cada paso.",
        "Compara la puntuación que devuelve con el producto de las probabilidades de su frase.",
        "La primera que acaba no tiene por qué ser la mejor.",
    ),
    mutantes=(
        cambia(
            "sin arreglar",
            "Es la función averiada: tiene las tres faltas.",
            *_NO_SUMA, *_IMPACIENTE, *_MAL_DIVIDIDO,
        ),
        cambia(
            "falta la suma",
            "Para y divide bien; pero suma probabilidades, que se multiplican: se suman sus"
            " logaritmos.",
            *_NO_SUMA,
        ),
        cambia(
            "falta la parada",
            "La suma y la división están bien; sigue parando en cuanto acaba una.",
            *_IMPACIENTE,
        ),
        cambia(
            "falta la longitud",
            "La suma y la parada están bien; todas se dividen entre lo mismo.",
            *_MAL_DIVIDIDO,
        ),
        cambia(
            "solo la longitud",
            "La división ya está bien; quedan la suma y la parada.",
            *_NO_SUMA, *_IMPACIENTE,
        ),
        cambia(
            "solo la suma",
            "La suma ya está bien; quedan la parada y la división.",
            *_IMPACIENTE, *_MAL_DIVIDIDO,
        ),
        cambia(
            "solo la parada",
            "La parada ya está bien; quedan la suma y la división.",
            *_NO_SUMA, *_MAL_DIVIDIDO,
        ),
        cambia(
            "para con muchas",
            "La suma y la división están bien; sigue parando antes de tiempo: con muchas acabadas"
            " aún puede ganar una viva.",
            _IMPACIENTE[0],
            _IMPACIENTE[1].replace("if finished:", "if len(finished) >= 2 * beams:"),
        ),
        cambia(
            "sin las cortadas",
            "Las que corta la longitud también cuentan.",
            "    finished += live  # las que corta la longitud\n",
            "    finished = finished or live\n",
        ),
    ),
)  # fmt: skip

# --- 13.9 -----------------------------------------------------------------------------------------


def _casos_cache(rng: Any) -> list[Caso]:
    def caso(propiedad: str, antes: int, nuevas: int) -> Caso:
        lote, cabezas, ancho = distintos(rng, 2, 4, 3)
        d = cabezas * ancho
        x, matrices = normal(rng, lote, nuevas, d), [normal(rng, d, d) for _ in range(3)]
        guardado = [normal(rng, lote, cabezas, antes, ancho) for _ in range(2)]
        return Caso(propiedad, (x, *guardado, *matrices))

    return [
        caso("una nueva", entero(rng, 3, 6), 1),
        caso("una nueva", entero(rng, 1, 4), 1),
        caso("desde cero", 0, entero(rng, 3, 5)),
        caso("varias nuevas", entero(rng, 2, 4), entero(rng, 2, 3)),
        caso("varias nuevas", entero(rng, 5, 6), 4),
    ]


_CACHE = Ejercicio(
    id="13.9",
    nombre="cached_attention",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="dar un paso de atención con una caché que da lo mismo que calcularlo todo otra vez",
    bordes=(
        "past_key.shape[2] == 0",
        "x.shape[1] == 1",
        Borde("varias nuevas", {0: 0, 1: 0, 2: 0}),
    ),
    casos=_casos_cache,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0, 0.0]]]),
            tensor([[[[0.0, 1.0]]]]),
            tensor([[[[2.0, 4.0]]]]),
            *[tensor([[1.0, 0.0], [0.0, 1.0]])] * 3,
        ),
    ),
    propiedades={
        "una nueva": (3, "La nueva mira a todas las guardadas y también a sí misma."),
        "desde cero": (2, "Sin nada guardado, es la atención causal de siempre."),
        "varias nuevas": (3, "Cada nueva ve las guardadas y las nuevas hasta ella."),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        "Proyecta solo lo nuevo y pon delante lo guardado.",
        "Las puntuaciones tienen una fila por posición nueva y una columna por cada posición.",
        "La diagonal de la máscara causal está corrida tantos sitios como posiciones guardadas.",
    ),
    mutantes=(
        cambia(
            "sin máscara",
            "Entre las nuevas hay que tapar el futuro.",
            ".masked_fill(~seen, -math.inf)",
            ".masked_fill(~seen, -math.inf) * 0 + query @ key.mT / math.sqrt(d_head)",
        ),
        cambia(
            "diagonal sin correr",
            "La máscara no cuenta con las guardadas: la primera nueva ya es la siguiente a ellas.",
            "tril(diagonal=past)",
            "tril()",
        ),
        cambia(
            "no se mira",
            "La posición nueva también se mira a sí misma.",
            "tril(diagonal=past)",
            "tril(diagonal=max(past - 1, 0))",
        ),
        cambia(
            "detrás",
            "Lo guardado va delante de lo nuevo.",
            "torch.cat([past_key, key], dim=2)",
            "torch.cat([key, past_key], dim=2)",
            "torch.cat([past_value, value], dim=2)",
            "torch.cat([value, past_value], dim=2)",
        ),
        cambia(
            "no guarda",
            "Lo que se devuelve es la caché de todas las posiciones, no solo las nuevas.",
            "return output.transpose(1, 2).flatten(2), key, value",
            "return output.transpose(1, 2).flatten(2), key[:, :, past:], value[:, :, past:]",
        ),
        cambia(
            "escala de más",
            "Se divide entre la raíz del ancho de una cabeza.",
            "math.sqrt(d_head)",
            "math.sqrt(heads * d_head)",
        ),
        cambia(
            "cabezas cruzadas",
            "Cada cabeza son columnas seguidas: están repartidas de otro modo.",
            ".unflatten(-1, (heads, d_head)).transpose(1, 2)",
            ".unflatten(-1, (d_head, heads)).permute(0, 3, 1, 2)",
        ),
        cambia(
            "sin unir",
            "Al unir las cabezas se han mezclado posiciones: cada fila es una posición.",
            "output.transpose(1, 2).flatten(2)",
            "output.reshape(x.shape)",
        ),
        cambia(
            "por filas",
            "Los pesos de una posición nueva suman 1 sobre las posiciones que mira.",
            "scores.softmax(dim=-1)",
            "scores.softmax(dim=-2).nan_to_num()",
        ),
    ),
)

# --- 13.10 ----------------------------------------------------------------------------------------


def _casos_lote(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, salidas: list[int], rellenos: list[int], largo: int) -> Caso:
        """Cada fila parte de un sitio de la misma cadena; ``salidas``, a cuántas del fin (-1, de la
        propia palabra de fin).
        """
        w = permutacion(rng, 10)
        fin, relleno, cadena, vuelta = w[0], w[1], [*w[2:7], w[0]], [w[7], w[8], w[7]]
        tabla = _cadena(rng, 10, cadena, vuelta, [relleno, w[8]], [fin, w[9]])
        ancho = 1 + max(rellenos) + entero(rng, 1, 2)
        filas = []
        for salida, hueco in zip(salidas, rellenos, strict=True):
            ultima = {0: w[7], -1: fin}.get(salida, cadena[-1 - salida])
            delante = [elige(rng, w[2:]) for _ in range(ancho - hueco - 1)]
            filas.append([*delante, ultima, *[relleno] * hueco])
        opciones = {"eos_id": fin, "pad_id": relleno, "max_length": largo}
        return Caso(propiedad, (tabla, torch.tensor(filas)), opciones)

    a, b = distintos(rng, 2, 5, 2)
    return [
        caso("una fila", [a], [0], 9),
        caso("una fila", [b], [1], 9),
        caso("acaban a la vez", [a, a], [0, 1], 8),
        caso("unas antes que otras", [a, b, 1], [0, 0, 0], 9),
        caso("unas antes que otras", [1, 5, a], [0, 2, 1], 9),
        caso("corta la longitud", [0, b, 1], [1, 0, 2], entero(rng, 6, 8)),
        caso("corta la longitud", [0, a], [0, 0], entero(rng, 6, 8)),
        caso("corta la longitud", [a, b], [0, 1], 1),
        caso("comienzo con fin", [-1, a], [0, 1], entero(rng, 6, 8)),
        caso("comienzo con fin", [-1], [1], entero(rng, 3, 5)),
    ]


_LOTE = Ejercicio(
    id="13.10",
    nombre="write_batch",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="generar un lote en el que la compañía y el relleno no cambian ninguna frase",
    bordes=(
        "max_length == 1",
        "len(prompts) == 1",
    ),
    casos=_casos_lote,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor(
                [
                    [0.0, 0.0, 1.0, 0.0],
                    [0.0, 1.0, 0.0, 0.0],
                    [0.0, 3.0, 0.0, 1.0],
                    [0.0, 0.0, 2.0, 1.0],
                ]
            ),
            tensor([[3, 2], [3, 0]]),
        ),
        {"eos_id": 1, "pad_id": 0, "max_length": 5},
    ),  # fmt: skip
    propiedades={
        "una fila": (2, "Se parte de la última palabra que no es relleno."),
        "acaban a la vez": (1, "Cuando han acabado todas, se para."),
        "unas antes que otras": (2, "La fila que acaba escribe relleno; las otras siguen."),
        "comienzo con fin": (1, "Lo que lleva el comienzo no para nada: cuenta lo escrito."),
        "corta la longitud": (2, "La que no acaba llega a la longitud máxima."),
    },
    pistas=(
        "Cuenta las palabras de verdad de cada comienzo: la última de ellas manda.",
        "Lleva un booleano por fila que diga si ya ha acabado.",
        "El fin de frase se escribe; el relleno viene después.",
    ),
    mutantes=(
        cambia(
            "la última columna",
            "La última columna puede ser relleno: hay que buscar la última palabra.",
            "prompts[rows, (prompts != pad_id).sum(dim=1) - 1]",
            "prompts[rows, -1]",
        ),
        cambia(
            "sigue escribiendo",
            "Una fila que ha acabado no escribe más palabras.",
            "last.masked_fill(done, pad_id)",
            "last",
            "torch.where(done, last, logits[last].argmax(dim=-1))",
            "logits[last].argmax(dim=-1)",
        ),
        cambia(
            "repite el fin",
            "Detrás del fin va relleno, no otra vez el fin.",
            "last.masked_fill(done, pad_id)",
            "last",
        ),
        cambia(
            "borra el fin",
            "La palabra de fin también se escribe: el relleno empieza después.",
            "        columns.append(last.masked_fill(done, pad_id))\n"
            "        done = done | (last == eos_id)",
            "        done = done | (last == eos_id)\n"
            "        columns.append(last.masked_fill(done, pad_id))",
        ),
        cambia(
            "acaba el comienzo",
            "Un comienzo que termina en la palabra de fin también se continúa.",
            "torch.zeros(len(prompts), dtype=torch.bool)",
            "last == eos_id",
        ),
        cambia(
            "para con la primera",
            "Se para cuando han acabado todas, no cuando acaba una.",
            "not done.all()",
            "not done.any()",
        ),
        cambia(
            "no para",
            "Sobran columnas: se para en cuanto han acabado todas.",
            "and not done.all()",
            "",
        ),
        cambia(
            "con el comienzo",
            "Se devuelve solo lo generado, sin el comienzo.",
            "torch.stack(columns, dim=1)",
            "torch.cat([prompts, torch.stack(columns, dim=1)], dim=1)",
        ),
        cambia(
            "resucita",
            "Una fila que acabó ha vuelto a escribir: hay que recordar que ya había acabado.",
            "torch.where(done, last, logits[last].argmax(dim=-1))",
            "logits[last].argmax(dim=-1)",
            "done = done | (last == eos_id)",
            "done = last == eos_id",
        ),
        cambia(
            "una corta",
            "Se queda corta: caben tantas palabras como dice la longitud máxima.",
            "len(columns) < max_length",
            "len(columns) < max_length - 1",
        ),
    ),
)

# --- 13.11 ----------------------------------------------------------------------------------------


def _ganadoras(sumas: list[float], largos: list[int]) -> list[float]:
    """Los α en los que cambia la ganadora."""
    cortes, ahora = [], max(range(len(largos)), key=lambda i: sumas[i])
    while True:
        siguientes = [
            (math.log(sumas[i] / sumas[ahora]) / math.log(largos[i] / largos[ahora]), i)
            for i in range(len(largos))
            if largos[i] > largos[ahora]
        ]
        if not siguientes:
            return cortes
        corte, ahora = min(siguientes)
        cortes.append(corte)


def _casos_alfas(rng: Any) -> list[Caso]:
    def caso(propiedad: str, cuantas: int, quiere: Any) -> Caso:
        while True:
            largos = [entero(rng, 2, 4) + 2 * i for i in permutacion(rng, cuantas)]
            sumas = [-real(rng, 0.4, 1.2) * largo ** real(rng, 0.3, 1.4) for largo in largos]
            cruces = sorted(
                math.log(s / t) / math.log(m / n)
                for (s, m), (t, n) in itertools.combinations(zip(sumas, largos, strict=True), 2)
                if m != n
            )
            cortes = _ganadoras(sumas, largos)
            holgado = all(b - a > 1e-3 for a, b in itertools.pairwise(cruces))
            repes = len({round(s, 3) for s in sumas}) == len(sumas)
            if holgado and repes and quiere(cortes):
                return Caso(propiedad, (sumas, largos))

    return [
        caso("dos", 3, lambda cortes: len(cortes) == 1),
        caso("dos", 4, lambda cortes: len(cortes) == 1),
        caso("varias", 6, lambda cortes: len(cortes) >= 2 and cortes[-1] < 0.95),
        caso("varias", 7, lambda cortes: len(cortes) >= 3),
        caso("más allá de 1", 5, lambda cortes: len(cortes) >= 2 and cortes[-1] > 1.1),
        caso("más allá de 1", 5, lambda cortes: len(cortes) >= 1 and cortes[-1] > 1.3),
    ]


_ALFAS = Ejercicio(
    id="13.11",
    nombre="winners_by_alpha",
    tipo="escribir",
    dificultad=3,
    minutos=35,
    aprende="ver el exponente de longitud como un haz de rectas y leer en él quién gana",
    bordes=(Borde("dos", valores={0: [-1.5], 1: [3]}),),
    casos=_casos_alfas,
    ejemplo=lambda: Caso("ejemplo", ([-1.0, -1.5, -4.0], [2, 4, 6])),
    propiedades={
        "dos": (
            3,
            "Con α = 0 gana la de mayor log-probabilidad, y el α del cambio es el corte exacto de"
            " dos rectas: una rejilla no lo da.",
        ),
        "varias": (3, "Desde la que gana, busca quién la alcanza antes, y en qué α exacto."),
        "más allá de 1": (3, "α puede pasar de 1: se pide toda la recta."),
    },
    pistas=(
        "Toma logaritmos del valor absoluto de la puntuación: queda una recta en α.",
        "La pendiente es menos el logaritmo de la longitud: al crecer α solo puede ganar una más"
        " larga.",
        "Iguala la recta de la que gana con la de cada una más larga y quédate con el corte menor.",
    ),
    mutantes=(
        cambia(
            "no acaba en la última",
            "Falta seguir: después de esa todavía gana otra más larga.",
            "        found.append((now, alpha))",
            "        found.append((now, alpha))\n        return found",
        ),
        *(
            cuerpo(
                f"rejilla de {paso}",
                f"Se han probado α de {paso} en {paso}: se pide el valor exacto, que es el corte de"
                " dos rectas.",
                f"""
                found = []
                for alpha in (k * {paso} for k in range(int(5 / {paso}))):
                    now = max(
                        range(len(lengths)), key=lambda i: log_probs[i] / lengths[i] ** alpha
                    )
                    if not found or found[-1][0] != now:
                        found.append((now, alpha))
                return found
                """,
            )
            for paso in (0.1, 0.01, 0.001)
        ),
        cambia(
            "hasta uno",
            "No se para en α = 1.",
            "        if not crossings:",
            "        if not crossings or min(crossings)[0] > 1:",
        ),
        cambia(
            "el corte mayor",
            "La siguiente en ganar es la que alcanza antes, no la última.",
            "min(crossings)",
            "max(crossings)",
        ),
        cambia(
            "empieza por la media",
            "Con α = 0 no se divide: gana la de mayor log-probabilidad.",
            "key=lambda i: log_probs[i]",
            "key=lambda i: log_probs[i] / lengths[i]",
        ),
        cambia(
            "sin logaritmo en las longitudes",
            "La longitud está elevada a α: al tomar logaritmos, queda el suyo.",
            "math.log(lengths[i] / lengths[now])",
            "(lengths[i] - lengths[now])",
        ),
        cambia(
            "sin logaritmo en las sumas",
            "Falta el logaritmo del cociente de las log-probabilidades.",
            "math.log(log_probs[i] / log_probs[now])",
            "(log_probs[now] - log_probs[i])",
        ),
        cambia(
            "de una en una por longitud",
            "No todas ganan alguna vez: hay que comparar con todas las más largas, no con la"
            " siguiente en longitud.",
            "min(crossings)",
            "min(crossings, key=lambda one: lengths[one[1]])",
        ),
        cambia(
            "siempre contra la primera",
            "El corte es con la que gana en ese momento, no con la primera.",
            "log_probs[i] / log_probs[now])",
            "log_probs[i] / log_probs[found[0][0]])",
            "math.log(lengths[i] / lengths[now])",
            "math.log(lengths[i] / lengths[found[0][0]])",
        ),
    ),
)

# --- 13.12 ----------------------------------------------------------------------------------------


def _casos_chi(rng: Any) -> list[Caso]:
    import torch

    def caso(
        propiedad: str,
        imposible: bool = False,
        escasas: bool = False,
        calores: tuple[float, ...] = (0.7, 1.0, 1.4),
    ) -> Caso:
        while True:
            cuantas = entero(rng, 9, 13)
            k, calor = entero(rng, 5, cuantas - 2), elige(rng, calores)
            logits = (0.6 if propiedad == "bien repartido" else 1.5) * normal(rng, cuantas)
            orden = logits.argsort(descending=True)
            queda = torch.zeros(cuantas, dtype=torch.bool)
            queda[orden[:k]] = True
            probs = (logits / calor).masked_fill(~queda, -torch.inf).softmax(-1)
            total = entero(rng, 150, 400)
            esperan = total * probs[queda]
            pocas = int((esperan < 5).sum())
            distintas = float(logits.sort().values.diff().min()) > 1e-3
            holgado = float((esperan - 5).abs().min()) > 0.05
            sirve = pocas == 0 if propiedad == "bien repartido" else pocas >= 2
            if not (distintas and holgado and (sirve or propiedad == "imposible")):
                continue
            juntas = float(esperan[esperan < 5].sum())
            if propiedad == "raras juntas" and (juntas > 4.9 if escasas else juntas < 5.1):
                continue
            salen = (probs + 0.03 * queda).multinomial(total, replacement=True, generator=rng)
            cuentas = torch.bincount(salen, minlength=cuantas)
            if imposible:
                cuentas[orden[0]] -= 1
                cuentas[orden[-1]] += 1
            return Caso(propiedad, (cuentas, logits), {"temperature": calor, "top_k": k})

    return [
        caso("bien repartido", calores=(1.0,)),
        caso("bien repartido", calores=(0.7, 1.4)),
        caso("raras juntas"),
        caso("raras juntas", escasas=True),
        caso("imposible", True),
        caso("imposible"),
        caso("imposible", True),
    ]


_CHI = Ejercicio(
    id="13.12",
    nombre="chi_square",
    tipo="escribir",
    dificultad=3,
    minutos=35,
    tolerancia=1e-8,
    aprende="poner a prueba un sorteo: lo que sale, contra lo que debería salir",
    bordes=("temperature == 1",),
    casos=_casos_chi,
    ejemplo=lambda: Caso("ejemplo", (tensor([6, 14, 0]), tensor([0.0, 1.0, -1.0])), {"top_k": 2}),
    propiedades={
        "bien repartido": (3, "Lo esperado de una palabra es el total por su probabilidad."),
        "raras juntas": (3, "Las que se esperan menos de cinco veces forman un solo grupo."),
        "imposible": (3, "Si sale una que el filtro no deja, no hay más que hablar."),
    },
    pistas=(
        "Calcula primero las probabilidades con las que se debería sortear, filtro incluido.",
        "Las palabras que no pueden salir no son un grupo: no dan grados de libertad.",
        "Las raras suman sus cuentas y sus esperanzas antes de restar.",
    ),
    mutantes=(
        cambia(
            "sin temperatura",
            "Falta la temperatura en lo que se espera.",
            "warm = logits / temperature",
            "warm = logits / 1",
        ),
        cambia(
            "sin filtro",
            "Lo esperado se reparte solo entre las k mejores.",
            "warm.masked_fill(~kept, -math.inf).softmax(dim=0)",
            "warm.softmax(dim=0)",
        ),
        cambia(
            "entre lo visto",
            "Se divide entre lo esperado, no entre lo que ha salido.",
            "((seen - hoped) ** 2 / hoped)",
            "((seen - hoped) ** 2 / seen.clamp(min=1))",
        ),
        cambia(
            "sin cuadrado",
            "La diferencia va al cuadrado.",
            "((seen - hoped) ** 2 / hoped)",
            "((seen - hoped).abs() / hoped)",
        ),
        cambia(
            "grupos por grados",
            "Los grados de libertad son los grupos menos uno: el total está fijado.",
            "return float(((seen - hoped) ** 2 / hoped).sum()), len(hoped) - 1",
            "return float(((seen - hoped) ** 2 / hoped).sum()), len(hoped)",
        ),
        cambia(
            "raras sueltas",
            "Las que se esperan poco van juntas en un grupo.",
            "small = kept & (expected < 5)",
            "small = kept & (expected < 0)",
        ),
        cambia(
            "raras fuera",
            "Las raras no se tiran: forman un grupo.",
            "if small.any():",
            "if False:",
        ),
        cambia(
            "raras fuera si son pocas",
            "Las raras forman un grupo aunque juntas se esperen menos de cinco veces.",
            "if small.any():",
            "if expected[small].sum() >= 5:",
        ),
        cambia(
            "imposible callada",
            "Ha salido una palabra que no puede salir: el estadístico es infinito.",
            "if counts[~kept].any():",
            "if counts[~kept].any() and False:",
        ),
        cambia(
            "todas son grupo",
            "Las palabras que no pueden salir no dan grados de libertad.",
            "return float(((seen - hoped) ** 2 / hoped).sum()), len(hoped) - 1",
            "return float(((seen - hoped) ** 2 / hoped).sum()), len(counts) - 1",
        ),
    ),
)

EJERCICIOS = [
    _BUCLE,
    _ARBOL,
    _PASO,
    _TEMPERATURA,
    _CUANTAS,
    _NUCLEO,
    _MIN_P,
    _AVERIADO,
    _CACHE,
    _LOTE,
    _ALFAS,
    _CHI,
]
