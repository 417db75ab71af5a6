"""Ejercicios del capítulo 16, «Decodificadores: GPT»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
    entero,
    normal,
    permutacion,
    real,
    tensor,
    uniforme,
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENTO, ENTROPIA

# --- 16.1 -----------------------------------------------------------------------------------------

_BITS = Ejercicio(
    id="16.1",
    nombre="bits_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    tolerancia=2.4e-3,
    aprende="pasar de probabilidades a bits, perplejidad y bits por carácter, y comparar con ellos",
    propiedades={
        "bits": (1, "Cada token cuesta menos el logaritmo en base 2 de su probabilidad."),
        "nats": (1, "Un bit son 0.693 nats, y se pide lo que cuesta un token."),
        "perplexity": (1, "La perplejidad es la exponencial de los nats por token."),
        "bpc": (1, "Los caracteres son 12, los diga quien los diga."),
        "other": (1, "De la perplejidad a los bits por token, y de ahí a los del texto entero."),
    },
    pistas=(
        "Las cuatro probabilidades son potencias de un medio: el logaritmo es el exponente.",
        "Los bits se suman por tokens; después se dividen entre lo que pida cada nota.",
        "El otro modelo paga 1.5 bits por token, que es el logaritmo en base 2 de 2.83, y son seis"
        " tokens.",
    ),
    mutantes=(
        cambia(
            "el texto en nats",
            "`bits` se pide en bits: logaritmo en base 2.",
            '"bits": bits',
            '"bits": bits * math.log(2)',
        ),
        cambia(
            "bits por token",
            "`bits` es el texto entero: no se divide entre los tokens.",
            '"bits": bits',
            '"bits": bits / len(probs)',
        ),
        cambia(
            "nats del texto",
            "`nats` se pide por token: falta dividir entre los cuatro.",
            "bits * math.log(2) / len(probs)",
            "bits * math.log(2)",
        ),
        cambia(
            "sin pasar a nats",
            "`nats` sigue en bits: falta multiplicar por ln 2.",
            "bits * math.log(2) / len(probs)",
            "bits / len(probs)",
        ),
        cambia(
            "al revés",
            "De bits a nats se multiplica por ln 2, que es menos que 1; aquí se ha dividido.",
            "bits * math.log(2) / len(probs)",
            "bits / math.log(2) / len(probs)",
        ),
        cambia(
            "mezcla de bases",
            "Los bits se deshacen con potencias de 2, y los nats, con la exponencial: aquí se"
            " mezclan.",
            "2 ** (bits / len(probs))",
            "math.exp(bits / len(probs))",
        ),
        cambia(
            "perplejidad del texto",
            "La perplejidad es por token: se divide antes de elevar.",
            "2 ** (bits / len(probs))",
            "2 ** bits",
        ),
        cambia(
            "media de inversas",
            "La perplejidad no es la media de las inversas: se promedian los logaritmos.",
            "2 ** (bits / len(probs))",
            "sum(1 / p for p in probs) / len(probs)",
        ),
        cambia(
            "por token",
            "`bpc` se divide entre los caracteres, no entre los tokens.",
            '"bpc": bits / characters',
            '"bpc": bits / len(probs)',
        ),
        cambia(
            "nats por carácter",
            "`bpc` se pide en bits, no en nats.",
            '"bpc": bits / characters',
            '"bpc": bits * math.log(2) / characters',
        ),
        cambia(
            "sin multiplicar",
            "El otro modelo también se cobra por el texto entero, que parte en seis tokens.",
            "6 * math.log2(2.83)",
            "math.log2(2.83)",
        ),
        cambia(
            "cuatro tokens",
            "El otro tokenizador parte el texto en seis, no en cuatro.",
            "6 * math.log2(2.83)",
            "4 * math.log2(2.83)",
        ),
        cambia(
            "en nats el otro",
            "`other` se pide en bits: el logaritmo de la perplejidad, en base 2.",
            "6 * math.log2(2.83)",
            "6 * math.log(2.83)",
        ),
        cambia(
            "perplejidad por carácter",
            "La perplejidad no se reparte entre caracteres: antes hay que tomar su logaritmo.",
            "6 * math.log2(2.83)",
            "6 * 2.83",
        ),
    ),
)

# --- 16.2 -----------------------------------------------------------------------------------------


def _casos_perdida(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, relleno: bool, n: int, escala: float = 1.0) -> Caso:
        filas, vocab = entero(rng, 3, 4), entero(rng, 5, 7)
        ids = torch.randint(vocab, (filas, n), generator=rng)
        opciones = {}
        if relleno:
            pad = entero(rng, 1, vocab - 1)
            ids[ids == pad] = 0
            largos = distintos(rng, 2, n - 1, filas - 1)
            for fila, largo in zip(ids, largos, strict=False):
                fila[largo:] = pad
            opciones = {"pad_id": pad}
        else:  # el token 0 es uno más, y en cada fila está entre las etiquetas y no las llena
            ids[:, 1], ids[:, 0] = 0, 1
            ids[0, -1] = 2
        return Caso(propiedad, (escala * normal(rng, filas, n, vocab), ids), opciones)

    return [
        caso("sin relleno", False, entero(rng, 4, 7)),
        caso("sin relleno", False, 2),
        caso("con relleno", True, entero(rng, 6, 8)),
        caso("con relleno", True, entero(rng, 6, 8)),
        caso("puntuaciones grandes", False, entero(rng, 4, 7), 900.0),
        caso("puntuaciones grandes", True, entero(rng, 6, 8), 900.0),
    ]


_PERDIDA = Ejercicio(
    id="16.2",
    nombre="next_token_loss",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="escribir la pérdida de un modelo de lenguaje, con su desplazamiento y su relleno",
    bordes=("ids.shape[1] == 2", "pad_id is None", Borde("sin relleno", {0: 0, 1: 0})),
    casos=_casos_perdida,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[[0.0, 1.0], [2.0, 0.0]], [[1.0, 1.0], [0.0, 3.0]]]), tensor([[0, 1], [1, 0]])),
    ),  # fmt: skip
    propiedades={
        "sin relleno": (3, "¿Qué token puntúa la primera posición? ¿Y la última?"),
        "con relleno": (3, "El relleno no suma ni cuenta al dividir."),
        "puntuaciones grandes": (
            2,
            "La exponencial de 900 no cabe: se normaliza en logaritmos.",
        ),
    },
    prohibido=(ATENTO, ENTROPIA),
    pistas=(
        "Escribe debajo de cada token de entrada el que hay que predecir desde él.",
        "La última columna de puntuaciones y el primer token se quedan sin pareja.",
        "Quita los sitios cuya etiqueta es relleno y divide entre los que quedan en todo el lote.",
    ),
    mutantes=(
        cambia(
            "sin desplazar",
            "Falta desplazar: cada posición puntúa el token siguiente, no el suyo.",
            "logits[:, :-1]",
            "logits",
            "ids[:, 1:]",
            "ids",
        ),
        cambia(
            "desplazada al revés",
            "El desplazamiento va al revés: se está pidiendo el token anterior.",
            "logits[:, :-1]",
            "logits[:, 1:]",
            "ids[:, 1:]",
            "ids[:, :-1]",
        ),
        cambia(
            "da la vuelta",
            "Desde la última posición no se predice nada: no da la vuelta hasta el primer token.",
            "logits[:, :-1]",
            "logits",
            "ids[:, 1:]",
            "ids.roll(-1, dims=1)",
        ),
        cambia(
            "con el relleno",
            "El relleno no se predice: no suma ni cuenta.",
            "labels != pad_id",
            "labels == labels",
        ),
        cambia(
            "mira la entrada",
            "Cuenta la etiqueta, no la entrada: tras el último token de verdad va relleno.",
            "labels != pad_id",
            "ids[:, :-1] != pad_id",
        ),
        cambia(
            "divide entre todos",
            "El relleno no suma, pero cuenta al dividir: se divide entre los tokens pedidos.",
            "-right[counted].mean()",
            "-right[counted].sum() / counted.numel()",
        ),
        cambia(
            "media de filas",
            "Todos los tokens del lote pesan lo mismo: no es la media de las filas.",
            "-right[counted].mean()",
            "-((right * counted).sum(dim=1) / counted.sum(dim=1)).mean()",
        ),
        cambia(
            "en bits",
            "Se pide en nats: logaritmo natural.",
            ".log_softmax(dim=-1)",
            ".log_softmax(dim=-1) / math.log(2)",
        ),
        cambia(
            "sin logaritmo",
            "Falta el logaritmo: se ha promediado la probabilidad.",
            ".log_softmax(dim=-1)",
            ".softmax(dim=-1)",
        ),
        cambia(
            "sin normalizar",
            "Las puntuaciones aún no son logaritmos de probabilidades: falta normalizarlas.",
            ".log_softmax(dim=-1)",
            "",
        ),
        cambia(
            "otro eje",
            "Se normaliza sobre el vocabulario, no sobre las posiciones.",
            ".log_softmax(dim=-1)",
            ".log_softmax(dim=1)",
        ),
        cambia(
            "desborda",
            "Con puntuaciones grandes la exponencial desborda: resta antes el máximo, o normaliza"
            " en logaritmos.",
            "logits[:, :-1].log_softmax(dim=-1)",
            "(logits[:, :-1].exp() / logits[:, :-1].exp().sum(dim=-1, keepdim=True)).log()",
        ),
        cambia(
            "logaritmo de la softmax",
            "La softmax redondea a cero lo improbable, y su logaritmo es −∞: normaliza en"
            " logaritmos.",
            "logits[:, :-1].log_softmax(dim=-1)",
            "logits[:, :-1].softmax(dim=-1).log()",
        ),
        cambia(
            "suma",
            "Se pide por token: falta dividir.",
            "-right.mean()",
            "-right.sum()",
            "-right[counted].mean()",
            "-right[counted].sum()",
        ),
        cambia(
            "el 0 es relleno",
            "Si `pad_id` es None no hay relleno: el token 0 es uno más.",
            "    if pad_id is None:",
            "    pad_id = pad_id or 0\n    if pad_id is None:",
        ),
        cambia(
            "sin signo",
            "La pérdida es positiva: menos el logaritmo.",
            "-right.mean()",
            "right.mean()",
            "-right[counted].mean()",
            "right[counted].mean()",
        ),
    ),
)

# --- 16.3 -----------------------------------------------------------------------------------------

_SIN_MASCARA = Ejercicio(
    id="16.3",
    nombre="without_mask",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="reconocer lo que pasa cuando un modelo ve la respuesta que se le pide",
    propiedades={"respuesta": (2, "Busca dónde está escrito, en la entrada, lo que se pide.")},
    opciones=("no cambia", "sube", "baja y escribe mejor", "baja y escribe peor"),
    pistas=(
        "¿Qué token se le pide a una posición, y en qué posición de la entrada está?",
        "Al escribir, a la derecha de la última posición no hay nada.",
    ),
    mutantes=(
        cuerpo(
            "no se usa",
            "Sí la usa: la respuesta está en la entrada, un sitio a la derecha, y copiarla baja la"
            " pérdida.",
            "return 'no cambia'",
        ),
        cuerpo(
            "se distrae",
            "Ver más no estorba al entrenar: lo que ve de más es justo lo que se le pide.",
            "return 'sube'",
        ),
        cuerpo(
            "más contexto",
            "Al entrenar ve la respuesta, pero al escribir aún no existe: lo que aprendió a copiar"
            " no está.",
            "return 'baja y escribe mejor'",
        ),
    ),
)

# --- 16.4 -----------------------------------------------------------------------------------------


def _casos_kneser_ney(rng: Any, *, discount: float = 0.75) -> list[Caso]:
    def caso(propiedad: str, ids: list[int], vocab: int, quita: float = discount) -> Caso:
        return Caso(propiedad, (tensor(ids), vocab), {"discount": quita})

    def texto(vocab: int, largo: int) -> list[int]:
        """Al azar y desigual; salen todos, y detrás de cada uno va alguno."""
        ids = [min(entero(rng, 0, vocab - 1), entero(rng, 0, vocab - 1)) for _ in range(largo)]
        return [0, 0, *ids, *permutacion(rng, vocab), 1, 0]

    def solo_tras(vocab: int, veces: int) -> list[int]:
        """El último símbolo sale mucho, siempre detrás del mismo."""
        ids = texto(vocab - 1, 8)
        return ids + [0, vocab - 1] * veces + [1, 0]

    def sin_seguidor(vocab: int, largo: int) -> list[int]:
        """El último símbolo sale una vez, al final."""
        return [*texto(vocab - 1, largo), vocab - 1]

    return [
        caso("vistas", texto(3, entero(rng, 5, 10)), 3),
        caso("vistas", texto(4, entero(rng, 10, 20)), 4),
        caso("vistas", [0] * entero(rng, 3, 5), 1),
        caso("sin seguidor", [1, 0], 2),
        caso("continuación", solo_tras(4, entero(rng, 3, 5)), 4),
        caso("continuación", solo_tras(5, entero(rng, 3, 5)), 5),
        caso("sin seguidor", sin_seguidor(4, entero(rng, 5, 10)), 4),
        caso("sin seguidor", sin_seguidor(3, entero(rng, 5, 10)), 5),
        caso("otro descuento", texto(4, entero(rng, 8, 12)), 4, real(rng, 0.3, 0.6)),
    ]


_KNESER_NEY = Ejercicio(
    id="16.4",
    nombre="kneser_ney_bigram",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="contar un modelo de Kneser-Ney interpolado de dos en dos, con filas que suman 1",
    bordes=("vocab == 1", "len(ids) == 2"),
    casos=_casos_kneser_ney,
    ejemplo=lambda: Caso("ejemplo", (tensor([0, 0, 1, 0]), 2)),
    propiedades={
        "vistas": (3, "A cada pareja vista se le quita el descuento, y lo quitado se reparte."),
        "continuación": (3, "Un símbolo que sale mucho siempre tras el mismo recibe poco."),
        "sin seguidor": (3, "Una fila sin parejas también suma 1: solo le queda el reparto."),
        "otro descuento": (1, "El descuento es un argumento."),
    },
    variante={"discount": 0.75},
    alternativas={"discount": (0.5, 0.625, 0.875)},
    prohibido=(ATENTO,),
    pistas=(
        "Haz en papel la tabla de parejas de «a a b a» y, aparte, la de parejas distintas.",
        "Suma lo que le quitas a una fila: el descuento, una vez por cada continuación distinta.",
        "El reparto cuenta detrás de cuántos símbolos distintos sale cada uno, entre todas las"
        " parejas distintas.",
    ),
    mutantes=(
        cambia(
            "reparto por frecuencia",
            "El reparto no cuenta cuántas veces sale un símbolo: cuenta detrás de cuántos.",
            "kinds.sum(dim=0) / kinds.sum()",
            "counts.sum(dim=0) / counts.sum()",
        ),
        cambia(
            "reparto por igual",
            "Lo quitado no se reparte por igual entre los símbolos.",
            "kinds.sum(dim=0) / kinds.sum()",
            "torch.full((vocab,), 1 / vocab, dtype=torch.float64)",
        ),
        cambia(
            "delante de cuántos",
            "El reparto cuenta detrás de cuántos sale cada símbolo, no cuántos le siguen.",
            "kinds.sum(dim=0) / kinds.sum()",
            "kinds.sum(dim=1) / kinds.sum()",
        ),
        cambia(
            "entre los símbolos",
            "El reparto se divide entre las parejas distintas: así suma 1.",
            "kinds.sum(dim=0) / kinds.sum()",
            "kinds.sum(dim=0) / vocab",
        ),
        cambia(
            "sin repartir",
            "Falta repartir lo quitado: las filas no suman 1.",
            "kept + freed * continuation",
            "kept",
        ),
        cambia(
            "se quita una vez",
            "Se quita el descuento una vez por cada continuación distinta de la fila; la parte que"
            " se reparte las cuenta todas.",
            "discount * kinds.sum(dim=1, keepdim=True) / times",
            "discount / times",
        ),
        cambia(
            "solo a las no vistas",
            "Se interpola: las parejas vistas también reciben su parte del reparto.",
            "freed * continuation",
            "freed * continuation * (1 - kinds)",
        ),
        cambia(
            "sin descuento",
            "Falta quitar el descuento a las parejas vistas.",
            "(counts - discount)",
            "counts",
        ),
        cambia(
            "cuenta el último",
            "El último símbolo no empieza ninguna pareja: las veces de una fila son sus parejas.",
            "counts.sum(dim=1, keepdim=True)",
            "torch.bincount(ids, minlength=vocab).double()[:, None]",
        ),
        cambia(
            "por columnas",
            "Las filas son el símbolo anterior, y las columnas, el que le sigue.",
            "counts[a, b] += 1",
            "counts[b, a] += 1",
        ),
        cambia(
            "fila vacía por igual",
            "Una fila sin parejas se queda con el reparto, que no es por igual.",
            "kept + freed * continuation, continuation)",
            "kept + freed * continuation, 1 / vocab)",
        ),
        cambia(
            "fila vacía a cero",
            "Una fila sin parejas también es una distribución: suma 1, no 0.",
            "kept + freed * continuation, continuation)",
            "kept + freed * continuation, 0.0)",
        ),
        cambia(
            "descuento fijo",
            "El descuento es el que llega, no siempre el mismo.",
            "    kinds =",
            "    discount = 0.75\n    kinds =",
        ),
    ),
)

# --- 16.5 -----------------------------------------------------------------------------------------


def _casos_ventana(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, n: int, ventana: int, paso: int) -> Caso:
        lejos = torch.arange(n) - torch.arange(n)[:, None]
        tabla = -0.1 - normal(rng, n, n).abs() - 1.0 / lejos.clamp(min=1)
        letras = n + entero(rng, 3, 30)
        return Caso(propiedad, (tabla, letras), {"window": ventana, "stride": paso})

    def reparte(ventana: int, paso: int, sobra: int) -> int:
        return 1 + ventana + paso * entero(rng, 2, 4) + sobra

    v, w = distintos(rng, 5, 8, 2)
    return [
        caso("cabe entero", 5, 4, 2),
        caso("cabe entero", 6, w + 4, w),
        caso("sin solape", reparte(v, v, 0), v, v),
        caso("con solape", reparte(w, 2, 0), w, 2),
        caso("con solape", reparte(v, 3, 0), v, 3),
        caso("con solape", reparte(w, 1, 0), w, 1),
        caso("la última", reparte(v, v, 2), v, v),
        caso("la última", reparte(w, 3, entero(rng, 1, 2)), w, 3),
    ]


_VENTANA = Ejercicio(
    id="16.5",
    nombre="windowed_bpc",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="medir un texto más largo que el contexto contando cada token una sola vez",
    bordes=("stride == 1", "stride == window", "window == len(log_probs) - 1"),
    casos=_casos_ventana,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[0.0, -1.0, -2.0], [0.0, 0.0, -3.0], [0.0, 0.0, 0.0]]), 4),
        {"window": 1, "stride": 1},
    ),
    propiedades={
        "cabe entero": (2, "Si cabe entero, se lee de una vez: la primera fila."),
        "sin solape": (2, "Cada ventana empieza donde le toca, y su contexto también."),
        "con solape": (3, "De cada ventana se cuentan solo los tokens que faltaban."),
        "la última": (
            2,
            "La última ventana no se sale del texto: se atrasa hasta que acaba en él.",
        ),
    },
    pistas=(
        "Dibuja el texto en una fila y, debajo, cada ventana con los tokens que predice.",
        "Lleva la cuenta del último token contado: de cada ventana se suma desde el siguiente.",
        "Una ventana que empieza en i lee `window` tokens y predice otros tantos, desde el i + 1.",
    ),
    mutantes=(
        cambia(
            "cuenta dos veces",
            "Con solape hay tokens que se cuentan dos veces: de cada ventana, solo los que"
            " faltaban.",
            "log_probs[start, done + 1 : end + 1]",
            "log_probs[start, start + 1 : end + 1]",
        ),
        cambia(
            "en nats",
            "Faltan los bits: los nats se dividen entre ln 2.",
            "nats / math.log(2)",
            "nats",
        ),
        cambia(
            "por ln 2",
            "De nats a bits se divide entre ln 2, no se multiplica.",
            "nats / math.log(2)",
            "nats * math.log(2)",
        ),
        cambia(
            "por token",
            "Se divide entre los caracteres, no entre los tokens.",
            "/ characters",
            "/ last",
        ),
        cambia(
            "sin atrasar",
            "La última ventana se ha quedado corta: se atrasa para leer tantos como las demás.",
            "start = min(start, max(0, last - window))",
            "pass",
        ),
        cambia(
            "sin solape",
            "La ventana avanza lo que dice `stride`, no su ancho.",
            "done, start = end, start + stride",
            "done, start = end, start + window",
        ),
        cambia(
            "todo el contexto",
            "El modelo no ve más de `window` tokens: el contexto empieza en la ventana, no en el"
            " texto.",
            "log_probs[start, done",
            "log_probs[0, done",
        ),
        cambia(
            "olvida el contexto",
            "Los tokens nuevos se predicen con el contexto desde el comienzo de la ventana, no"
            " desde el último contado.",
            "log_probs[start, done",
            "log_probs[done, done",
        ),
        cambia(
            "uno de menos",
            "Una ventana que lee `window` tokens predice otros tantos: el último es el de después.",
            "end = min(start + window, last)",
            "end = min(max(start + window - 1, done + 1), last)",
            "last - window",
            "last - window + 1",
        ),
        cambia(
            "olvida el principio",
            "La primera ventana se cuenta entera: nadie más cuenta sus primeros tokens.",
            "0.0, 0, 0\n",
            "0.0, max(0, min(window, last) - stride), 0\n",
        ),
        cambia(
            "sin signo",
            "Lo que cuesta un texto es positivo: menos el logaritmo.",
            "nats -=",
            "nats +=",
        ),
    ),
)

# --- 16.6 -----------------------------------------------------------------------------------------


def _casos_hondo(rng: Any) -> list[Caso]:
    def caso(propiedad: str, capas: int, sobra: float, atada: bool = True) -> Caso:
        d, v, p = 8 * entero(rng, 8, 60), entero(rng, 500, 30_000), 64 * entero(rng, 1, 16)
        bloque = 12 * d * d + 13 * d
        gasta = (v * (1 if atada else 2) + p + 2) * d + capas * bloque
        pide = {"vocab": v, "context": p, "d_model": d, "tied": atada}
        return Caso(propiedad, (gasta + int(sobra * bloque),), pide)

    return [
        caso("atada", entero(rng, 2, 9), real(rng, 0.55, 0.9)),
        caso("atada", entero(rng, 20, 40), real(rng, 0.1, 0.4)),
        caso("justo", entero(rng, 3, 12), 0.0),
        caso("justo", 0, 0.0),
        caso("sin atar", entero(rng, 2, 9), real(rng, 0.55, 0.9), False),
        caso("sin atar", entero(rng, 12, 30), real(rng, 0.1, 0.4), False),
    ]


_HONDO = Ejercicio(
    id="16.6",
    nombre="deepest_gpt",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="contar los parámetros de un GPT por su fórmula y repartir con ella un presupuesto",
    bordes=("budget == (vocab + context + 2) * d_model", "tied is False"),
    casos=_casos_hondo,
    ejemplo=lambda: Caso("ejemplo", (200,), {"vocab": 5, "context": 4, "d_model": 2}),
    propiedades={
        "atada": (3, "Cuenta aparte lo que no depende de las capas y lo que gasta cada una."),
        "justo": (2, "Si cabe sin que sobre nada, cabe; y pueden caber cero capas."),
        "sin atar": (2, "Sin atar, la salida es otra matriz, del mismo tamaño y sin sesgo."),
    },
    pistas=(
        "Haz la lista de las piezas de un bloque, cada una con su sesgo.",
        "Atención, cuatro matrices; red densa, dos, cuatro veces más anchas; y dos normas, con dos"
        " vectores cada una.",
        "Fuera de los bloques: tokens, posiciones y una norma; sin atar, también la salida.",
    ),
    mutantes=(
        cambia(
            "sin posiciones",
            "Faltan las posiciones, que también se aprenden.",
            "(vocab + context) * d_model",
            "vocab * d_model",
        ),
        cambia("sin norma final", "Falta la norma del final de la pila.", " + 2 * d_model", ""),
        cambia(
            "norma final pequeña",
            "Una norma tiene dos vectores: lo que multiplica y lo que suma.",
            " + 2 * d_model",
            " + d_model",
        ),
        cambia("sin sesgos", "Faltan los sesgos de las matrices.", "13 * d_model", "4 * d_model"),
        cambia(
            "nueve y no trece",
            "Faltan las dos normas de cada bloque o los sesgos de la atención: las dos cosas gastan"
            " lo mismo.",
            "13 * d_model",
            "9 * d_model",
        ),
        cambia("solo matrices", "Faltan los sesgos y las normas.", " + 13 * d_model", ""),
        cambia(
            "una densa",
            "La red densa son dos matrices, la que ensancha y la que devuelve.",
            "12 * d_model**2",
            "8 * d_model**2",
        ),
        cambia(
            "sin salida de la atención",
            "La atención lleva cuatro matrices: consulta, clave, valor y salida.",
            "12 * d_model**2",
            "11 * d_model**2",
        ),
        cambia(
            "siempre atada",
            "Sin atar, la matriz de salida se cuenta aparte.",
            "if not tied:",
            "if False:",
        ),
        cambia(
            "siempre aparte",
            "Atada, la matriz de salida es la de los tokens: no se cuenta dos veces.",
            "if not tied:",
            "if True:",
        ),
        cambia(
            "al revés",
            "Atada quiere decir que se comparte: aquí se cuenta al revés.",
            "if not tied:",
            "if tied:",
        ),
        cambia(
            "salida con sesgo",
            "La matriz de salida no lleva sesgo.",
            "fixed += vocab * d_model",
            "fixed += vocab * d_model + vocab",
        ),
        cambia(
            "redondea",
            "Se redondea hacia abajo: una capa a la que le falta sitio no cabe.",
            "(budget - fixed) // block",
            "round((budget - fixed) / block)",
        ),
        cambia(
            "no cabe justo",
            "Si cabe sin que sobre nada, cabe.",
            "(budget - fixed) // block",
            "max(0, (budget - fixed - 1) // block)",
        ),
        cambia(
            "devuelve el presupuesto",
            "El segundo número son los parámetros del modelo, no el presupuesto.",
            "fixed + layers * block",
            "budget",
        ),
        cambia(
            "solo los bloques",
            "El segundo número es el modelo entero: faltan los embeddings y la norma.",
            "fixed + layers * block",
            "layers * block",
        ),
    ),
)

# --- 16.7 -----------------------------------------------------------------------------------------


def _casos_induccion(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, ids: list[int]) -> Caso:
        n = len(ids)
        puntos = 2 * normal(rng, entero(rng, 2, 4), n, n)
        tapa = torch.ones(n, n, dtype=torch.bool).triu(1)
        return Caso(propiedad, (puntos.masked_fill(tapa, -torch.inf).softmax(dim=-1), tensor(ids)))

    def dos_veces(largo: int) -> list[int]:
        return 2 * permutacion(rng, largo)

    def tres_veces(largo: int) -> list[int]:
        return [*dos_veces(largo), *permutacion(rng, largo)]

    def con_nuevos(largo: int) -> list[int]:
        """Entre la primera vez y la segunda, y al final, tokens que no se repiten."""
        otra, nuevos = permutacion(rng, largo), list(range(10, 13 + entero(rng, 0, 2)))
        return [*otra, *nuevos, *permutacion(rng, largo), 20, 21]

    def pegados(largo: int) -> list[int]:
        ids = permutacion(rng, largo)
        return [ids[0], ids[0], *ids[1:], ids[-1], *permutacion(rng, largo)]

    return [
        caso("dos veces", dos_veces(entero(rng, 3, 5))),
        caso("dos veces", dos_veces(entero(rng, 4, 6))),
        caso("varias veces", tres_veces(entero(rng, 3, 4))),
        caso("varias veces", tres_veces(entero(rng, 4, 5))),
        caso("con nuevos", con_nuevos(entero(rng, 3, 5))),
        caso("con nuevos", con_nuevos(entero(rng, 4, 5))),
        caso("pegados", pegados(entero(rng, 3, 5))),
        caso("pegados", pegados(entero(rng, 4, 5))),
    ]


_INDUCCION = Ejercicio(
    id="16.7",
    nombre="induction_scores",
    tipo="medir",
    dificultad=2,
    minutos=25,
    aprende="medir en un mapa si una cabeza busca lo que siguió la vez anterior",
    bordes=(Borde("dos veces", {0: 0}),),
    casos=_casos_induccion,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.1, 0.7, 0.2]]]),
            tensor([4, 6, 4]),
        ),
    ),
    propiedades={
        "dos veces": (3, "¿Dónde está lo que siguió a este token la otra vez?"),
        "varias veces": (2, "Si ha salido varias veces, manda la última."),
        "con nuevos": (2, "La media es de las posiciones cuyo token ya había salido."),
        "pegados": (2, "La vez anterior puede ser la de justo antes."),
    },
    pistas=(
        "Escribe los tokens en fila y, debajo de cada uno, en qué sitio salió la vez anterior.",
        "La fila es la de quien mira; la columna, una más que la de la vez anterior.",
        "Recuerda de cada token su último sitio y apúntalo después de mirar.",
    ),
    mutantes=(
        cambia(
            "mira al igual",
            "Se mira al sitio siguiente al de la vez anterior, no al token igual.",
            "last[token] + 1]",
            "last[token]]",
        ),
        cambia(
            "mira al de antes",
            "Es el sitio siguiente al de la vez anterior, no el de antes.",
            "last[token] + 1]",
            "max(0, last[token] - 1)]",
        ),
        cambia(
            "la primera vez",
            "Cuenta la última aparición anterior, no la primera.",
            "last[token] = i",
            "last.setdefault(token, i)",
        ),
        cambia(
            "filas cambiadas",
            "La fila es la de quien mira, y la columna, la de lo mirado.",
            "weights[:, i, last[token] + 1]",
            "weights[:, last[token] + 1, i]",
        ),
        cambia(
            "entre todas",
            "Se divide entre las posiciones cuyo token ya había salido, no entre todas.",
            ".mean(dim=0)",
            ".sum(dim=0) / len(ids)",
        ),
        cambia("suma", "Se pide la media, no la suma.", ".mean(dim=0)", ".sum(dim=0)"),
        cambia(
            "una para todas",
            "Cada cabeza tiene su nota: no se promedian las cabezas.",
            ".mean(dim=0)",
            ".mean().expand(len(weights))",
        ),
        cambia("el máximo", "Se pide la media, no el máximo.", ".mean(dim=0)", ".amax(dim=0)"),
        cambia(
            "cuenta aciertos",
            "Se promedia el peso: no se cuenta cuántas veces es el mayor.",
            "looks.append(weights[:, i, last[token] + 1])",
            "looks.append((weights[:, i].argmax(-1) == last[token] + 1).double())",
        ),
        cuerpo(
            "siempre la mitad",
            "No todos los textos son dos copias: busca dónde salió cada token.",
            """
            half = len(ids) // 2
            rows = torch.arange(half, len(ids))
            return weights[:, rows, rows - half + 1].mean(dim=1)""",
        ),
        cuerpo(
            "todas las veces",
            "Se suma lo que siguió a todas las veces anteriores: cuenta solo la última.",
            """
            same = (ids[:, None] == ids).tril(-1)
            after = torch.cat([torch.zeros_like(same[:, :1]), same[:, :-1]], dim=1)
            return (weights * after).sum(dim=(1, 2)) / same.any(dim=1).sum()""",
        ),
        cambia(
            "sin pegados",
            "Si la vez anterior es la de justo antes, también cuenta.",
            "if token in last:",
            "if token in last and last[token] < i - 1:",
        ),
    ),
)

# --- 16.8 -----------------------------------------------------------------------------------------


def _casos_ley(rng: Any, *, t: float = 2.0) -> list[Caso]:
    def caso(propiedad: str, n: int, ruido: float, lejos: float, ancho: float) -> Caso:
        a, b = real(rng, 3, 20), real(rng, 0.05, 0.4)
        x = real(rng, 8, 11) + uniforme(rng, 0.3, 1.2, n).cumsum(0)
        perdidas = a * (-b * x + ruido * normal(rng, n)).exp()
        talla = float((x.mean() + lejos * (x[-1] - x[0])).exp())
        return Caso(propiedad, (x.exp(), perdidas, talla), {"t": ancho})

    return [
        caso("sin ruido", entero(rng, 4, 6), 0.0, real(rng, 1.0, 2.0), t),
        caso("sin ruido", 3, 0.0, real(rng, 1.0, 2.0), t),
        caso("dentro", entero(rng, 5, 8), 0.05, real(rng, -0.3, 0.3), t),
        caso("dentro", 3, 0.05, real(rng, -0.3, 0.3), t),
        caso("lejos", entero(rng, 5, 8), 0.05, real(rng, 1.0, 3.0), t),
        caso("lejos", entero(rng, 4, 6), 0.1, real(rng, 1.0, 3.0), t),
        caso("otra t", entero(rng, 5, 8), 0.05, real(rng, 0.5, 1.5), t + real(rng, 0.3, 1.5)),
    ]


_LEY = Ejercicio(
    id="16.8",
    nombre="extrapolate",
    tipo="escribir",
    dificultad=3,
    minutos=40,
    tolerancia=1e-7,
    aprende="ajustar una ley de escala y decir cuánto se fía uno de ella fuera de lo medido",
    bordes=("len(sizes) == 3", "size > sizes.max()"),
    casos=_casos_ley,
    ejemplo=lambda: Caso("ejemplo", (tensor([1.0, 10.0, 100.0]), tensor([8.0, 3.0, 2.0]), 1000.0)),
    propiedades={
        "sin ruido": (3, "Si las pérdidas siguen la ley, los dos extremos son lo que ella dice."),
        "dentro": (3, "La anchura suma el ruido de la medida nueva y el de la recta."),
        "lejos": (3, "La anchura crece con la distancia al centro de los tamaños medidos."),
        "otra t": (1, "Cuántas desviaciones se toman es un argumento."),
    },
    variante={"t": 2.0},
    alternativas={"t": (1.5, 2.5, 3.0)},
    pistas=(
        "Toma logaritmos de las dos cosas: queda una recta, y su pendiente es negativa.",
        "El ruido sale de lo que la recta no explica, dividido entre los puntos menos dos.",
        "Todo se hace en logaritmos, y al final se deshace: el intervalo no queda centrado.",
    ),
    mutantes=(
        cambia(
            "b negativa",
            "El exponente se escribe con un menos delante: `b` es positiva.",
            "float(-slope)",
            "float(slope)",
        ),
        cambia(
            "a en logaritmos",
            "`a` está aún en logaritmos: falta la exponencial.",
            "a = (y.mean() - slope * x.mean()).exp()",
            "a = y.mean() - slope * x.mean()",
        ),
        cambia(
            "a en el centro",
            "`a` es lo que vale la ley con N igual a 1, no en el centro de los datos.",
            "a = (y.mean() - slope * x.mean()).exp()",
            "a = y.mean().exp()",
        ),
        cambia(
            "en base 10",
            "Falta una base: si se toman logaritmos en base 10, se deshacen con potencias de 10.",
            "sizes.log(), losses.log()",
            "sizes.log10(), losses.log10()",
            "math.log(size)",
            "math.log10(size)",
        ),
        cambia(
            "una sola escala",
            "Las pérdidas también van en logaritmos.",
            "losses.log()",
            "losses",
        ),
        cambia(
            "entre n",
            "El ruido se divide entre los puntos menos dos: la recta ya ha gastado dos números.",
            "/ (n - 2)",
            "/ n",
        ),
        cambia(
            "entre n − 1",
            "La recta tiene dos números, la altura y la pendiente: se resta dos, no uno.",
            "/ (n - 2)",
            "/ (n - 1)",
        ),
        cambia(
            "sin la medida",
            "Es el intervalo de la recta: falta el ruido de la medida nueva.",
            "(1 + 1 / n + far**2 / spread)",
            "(1 / n + far**2 / spread)",
        ),
        cambia(
            "no crece",
            "Falta lo que crece con la distancia: la pendiente tampoco se sabe del todo.",
            " + far**2 / spread",
            "",
        ),
        cambia(
            "solo la medida",
            "Solo está el ruido de la medida: la recta tampoco se sabe del todo.",
            "(1 + 1 / n + far**2 / spread)",
            "1",
        ),
        cambia(
            "sin la altura",
            "Falta la incertidumbre de la altura de la recta.",
            "(1 + 1 / n + far**2 / spread)",
            "(1 + far**2 / spread)",
        ),
        cambia(
            "centrado",
            "El intervalo se hace en logaritmos y se deshace al final: no queda centrado.",
            "(middle - half).exp(), (middle + half).exp()",
            "middle.exp() * (1 - half), middle.exp() * (1 + half)",
        ),
        cambia(
            "en logaritmos",
            "Los extremos están aún en logaritmos: falta la exponencial.",
            "(middle - half).exp(), (middle + half).exp()",
            "middle - half, middle + half",
        ),
        cambia(
            "al revés",
            "Primero va el extremo menor.",
            "(middle - half).exp(), (middle + half).exp()",
            "(middle + half).exp(), (middle - half).exp()",
        ),
        cambia(
            "sin raíz",
            "Falta la raíz: la anchura es una desviación, no una varianza.",
            "(noise * (1 + 1 / n + far**2 / spread)).sqrt()",
            "(noise * (1 + 1 / n + far**2 / spread))",
        ),
        cambia(
            "t fija",
            "Se usa siempre la misma `t`: es un argumento.",
            "half = t * ",
            "half = 2.0 * ",
        ),
    ),
)

EJERCICIOS = [
    _BITS,
    _PERDIDA,
    _SIN_MASCARA,
    _KNESER_NEY,
    _VENTANA,
    _HONDO,
    _INDUCCION,
    _LEY,
]
