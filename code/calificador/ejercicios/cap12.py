"""Ejercicios del capítulo 12, «Entrenarlo»."""

from __future__ import annotations

import math
from typing import Any

import torch

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
from calificador.vetos import ATENTO, DIVERGENCIA, OPTIMIZADORES, PRECISION_MIXTA, RECORTE


def _palabras(rng: Any, cuantas: int, desde: int = 3, hasta: int = 9) -> list[int]:
    return [entero(rng, desde, hasta) for _ in range(cuantas)]


# --- 12.1 -----------------------------------------------------------------------------------------


def _casos_parejas(rng: Any) -> list[Caso]:
    def caso(propiedad: str, *longitudes: int) -> Caso:
        bos, eos, relleno = (11 + i for i in permutacion(rng, 3))
        frases = [_palabras(rng, m) for m in longitudes]
        return Caso(propiedad, (frases, bos, eos, relleno))

    corta, media, larga = sorted(distintos(rng, 1, 6, 3))
    return [
        caso("una frase", entero(rng, 2, 5)),
        caso("una frase", entero(rng, 3, 6)),
        caso("con relleno", *distintos(rng, 1, 6, 2)),
        caso("con relleno", media, corta, larga),  # ni de menor a mayor ni al revés
    ]


_PAREJAS = Ejercicio(
    id="12.1",
    nombre="forced_pairs",
    tipo="escribir",
    dificultad=1,
    minutos=12,
    aprende="poner en cada posición la palabra anterior y pedir la siguiente",
    bordes=(
        "len(sentences) == 1",
        Borde("una frase", valores={0: [[3]]}),
    ),
    casos=_casos_parejas,
    ejemplo=lambda: Caso("ejemplo", ([[7, 8], [9]], 1, 2, 0)),
    propiedades={
        "una frase": (2, "Escribe las dos filas una debajo de otra: ¿qué va delante de qué?"),
        "con relleno": (
            3,
            "Todas las filas miden lo que la más larga, más uno, y van en el orden en que llegan.",
        ),
    },
    pistas=(
        "En cada posición, la etiqueta es lo que entra en la posición siguiente.",
        "Una fila gana un número por delante; la otra, uno por detrás.",
        "El relleno va el último en las dos filas, y hay el mismo en cada una.",
    ),
    mutantes=(
        cambia(
            "sin desplazar",
            "Las etiquetas son las entradas: en cada posición ya está lo que se pide.",
            "[[*words, eos, *rest]",
            "[[bos, *words, *rest]",
        ),
        cambia(
            "sin comienzo",
            "La primera palabra también hay que predecirla: antes de ella entra el comienzo.",
            "[[bos, *words, *rest]",
            "[[*words, eos, *rest]",
        ),
        cambia(
            "al revés",
            "El comienzo entra y el fin se predice; están cambiados.",
            "[[bos, *words, *rest]",
            "[[eos, *words, *rest]",
            "[[*words, eos, *rest]",
            "[[*words, bos, *rest]",
        ),
        cambia(
            "fin al final",
            "El fin va detrás de la última palabra, y el relleno, detrás del fin.",
            "[*words, eos, *rest]",
            "[*words, *rest, eos]",
        ),
        cambia(
            "relleno delante",
            "El relleno va al final de la fila, no al principio.",
            "[bos, *words, *rest]",
            "[*rest, bos, *words]",
            "[*words, eos, *rest]",
            "[*rest, *words, eos]",
        ),
        cambia(
            "entra el fin",
            "El fin de una frase corta se predice y no entra: en su casilla va el relleno.",
            "[[bos, *words, *rest]",
            "[[bos, *words, *[eos, *rest][: len(rest)]]",
        ),
        cambia(
            "relleno de fines",
            "Las etiquetas que sobran son relleno, no fines: nadie debe predecirlas.",
            "[*words, eos, *rest]",
            "[*words, eos, *[eos for _ in rest]]",
        ),
    ),
)

# --- 12.2 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="12.2",
    nombre="loss_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    tolerancia=3e-3,
    aprende="promediar la pérdida de frases de distinta longitud sin que ninguna pese de más",
    propiedades={
        "words": (1, "Suma las pérdidas de las ocho palabras y divide entre ocho."),
        "sentences": (1, "Primero la media de cada frase; después, la media de las dos."),
        "slots": (1, "El lote es una tabla de dos filas y seis columnas."),
        "perplexity": (1, "La exponencial se toma una vez, al final."),
    },
    pistas=(
        "La pérdida de una palabra a la que se da 1/8 es ln 8, que son 3 ln 2.",
        "Cuenta en unidades de ln 2: suma las de cada frase, y cámbialas a nats al final.",
        "La perplejidad es 2 elevado a la pérdida por palabra, medida en unidades de ln 2.",
    ),
    mutantes=(
        cambia(
            "en bits",
            "Esos son bits: para pasarlos a nats se multiplica por ln 2.",
            "math.log(inverse)",
            "math.log2(inverse)",
            "math.exp(total / count)",
            "2 ** (total / count)",
        ),
        cambia(
            "cambiadas",
            "Están cambiadas: por palabra se divide entre ocho; por frase, se promedian dos.",
            '"words": total / count',
            '"words": sum(sum(s) / len(s) for s in losses) / 2',
            "sum(sum(sentence) / len(sentence) for sentence in losses) / len(losses)",
            "total / count",
        ),
        cambia(
            "frases por palabras",
            "La pérdida por palabra no es la media de las medias: la frase larga cuenta más.",
            '"words": total / count',
            '"words": sum(sum(s) / len(s) for s in losses) / 2',
        ),
        cambia(
            "palabras por frases",
            "La media de las medias da a cada frase el mismo peso, mida lo que mida.",
            "sum(sum(sentence) / len(sentence) for sentence in losses) / len(losses)",
            "total / count",
        ),
        cambia(
            "sin relleno",
            "Las casillas son doce: las dos filas miden lo mismo, con su relleno.",
            "(len(losses) * max(map(len, losses)))",
            "count",
        ),
        cambia(
            "por frase",
            "Se divide entre las casillas del lote, no entre sus filas.",
            "(len(losses) * max(map(len, losses)))",
            "len(losses)",
        ),
        cambia(
            "media de exponenciales",
            "La perplejidad es la exponencial de la media, no la media de las inversas de las"
            " probabilidades.",
            "math.exp(total / count)",
            "(sum(short) + sum(long)) / count",
        ),
        cambia(
            "media de perplejidades",
            "Esa es la media de las perplejidades de las frases: la exponencial va al final.",
            "math.exp(total / count)",
            "sum(math.exp(sum(s) / len(s)) for s in losses) / 2",
        ),
        cambia(
            "base dos",
            "Con la pérdida en nats, la base es e, no 2.",
            "math.exp(total / count)",
            "2 ** (total / count)",
        ),
    ),
)

# --- 12.3 -----------------------------------------------------------------------------------------

_DESPUES = Ejercicio(
    id="12.3",
    nombre="later_rate",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="qué parte del calendario de 2017 decide el calentamiento y qué parte no",
    propiedades={"respuesta": (2, "¿Cuál de los dos términos del mínimo manda en el paso 20 000?")},
    opciones=("lo mismo", "el doble", "la mitad", "√2 veces menos", "√2 veces más"),
    pistas=(
        "Los dos términos se igualan en el paso w; después manda siempre el mismo.",
        "Escribe ese término: ¿dónde está w?",
    ),
    mutantes=(
        cuerpo(
            "mitad",
            "Eso pasa en la subida: el término que sube lleva w, pero en el paso 20 000 ya no"
            " manda.",
            "return 'la mitad'",
        ),
        cuerpo(
            "raíz menos",
            "Eso le pasa al máximo, que es 1/√(d·w). Aquí se pregunta por un paso muy posterior.",
            "return '√2 veces menos'",
        ),
        cuerpo(
            "raíz más",
            "La segunda llega más tarde a un máximo más bajo. Después del máximo, ¿qué queda de w?",
            "return '√2 veces más'",
        ),
        cuerpo(
            "doble",
            "Calentar más pasos no sube la tasa. Mira qué término manda pasado el máximo.",
            "return 'el doble'",
        ),
    ),
)

# --- 12.4 -----------------------------------------------------------------------------------------


def _lote(rng: Any, longitudes: tuple[int, ...], vocab: int, relleno: int) -> Any:
    """Frases completas, de comienzo a fin, con relleno al final."""
    usadas = [i for i in range(vocab + 1) if i != relleno]
    bos, eos, *palabras = usadas[:vocab]
    ancho = max(longitudes) + 2
    filas = []
    for m in longitudes:
        fila = [bos, *(elige(rng, palabras) for _ in range(m)), eos]
        filas.append(fila + [relleno] * (ancho - len(fila)))
    return tensor(filas)


def _norma(peso: Any, lotes: list[Any], pad: int) -> float:
    """La norma del gradiente de todos los lotes juntos."""
    peso = peso.clone().requires_grad_()
    entran, piden = ([lote[:, corte].flatten() for lote in lotes] for corte in _COLUMNAS)
    filas = peso[torch.cat(entran)]
    perdida = torch.nn.functional.cross_entropy(filas, torch.cat(piden), ignore_index=pad)
    return float(torch.autograd.grad(perdida, peso)[0].norm())


_COLUMNAS = (slice(None, -1), slice(1, None))
_CASILLAS = ("int((lot[:, 1:] != pad).sum())", "lot[:, 1:].numel()")
_CON_RELLENO = (*_CASILLAS, "(right * (labels != pad)).sum()", "right.sum()")


def _casos_paso(rng: Any, pad: int = 0) -> list[Caso]:
    vocab = 6 + entero(rng, 0, 2)

    def caso(propiedad: str, clip: float, *formas: tuple[int, ...]) -> Caso:
        lotes = [_lote(rng, forma, vocab - 1, pad) for forma in formas]
        peso = normal(rng, vocab, vocab)
        return Caso(propiedad, (peso, lotes, real(rng, 0.2, 1.5), clip), {"pad": pad})

    def justo(*formas: tuple[int, ...]) -> Caso:
        """La norma pasa del máximo, pero no del doble."""
        dado = caso("recorte", 0.0, *formas)
        peso, lotes, tasa, _ = dado.args
        clip = round(real(rng, 0.6, 0.8) * _norma(peso, lotes, pad), 4)
        return Caso("recorte", (peso, lotes, tasa, clip), {"pad": pad})

    def frases(cuantas: int) -> tuple[int, ...]:
        return tuple(distintos(rng, 1, 5, cuantas))

    return [
        caso("un lote", 50.0, frases(2)),
        caso("un lote", 50.0, frases(3)),
        caso("varios lotes", 50.0, (1, 2), (5, 4, 4)),
        caso("varios lotes", 50.0, (entero(rng, 4, 6), 3, 3), (1,), frases(2)),
        caso("recorte", real(rng, 0.02, 0.05), (1, 3), (5, 4, 4)),
        caso("recorte", real(rng, 0.02, 0.05), frases(2), (1,)),
        justo((1, 3), frases(3)),
    ]


_PASO = Ejercicio(
    id="12.4",
    nombre="train_step",
    tipo="escribir",
    dificultad=1,
    minutos=25,
    tolerancia=1e-6,
    aprende="dar un paso entero: desplazar, promediar, acumular, recortar y restar",
    bordes=("len(lots) == 1",),
    casos=_casos_paso,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0] * 4, [0.0, 0.0, 2.0, 0.0]]),
            [tensor([[1, 3, 2], [1, 2, 0]]), tensor([[1, 3, 3, 2]])],
            1.0,
            0.5,
        ),
    ),
    propiedades={
        "un lote": (3, "Desplaza, y divide la pérdida entre las etiquetas que no son relleno."),
        "varios lotes": (
            4,
            "Cada lote pesa según las palabras que tiene, no lo mismo que los demás.",
        ),
        "recorte": (
            3,
            "Se recorta una vez, con todos los gradientes ya sumados, y la norma es la de la matriz"
            " entera: la raíz de la suma de los cuadrados.",
        ),
    },
    variante={"pad": 0},
    alternativas={"pad": (1, 3, 4)},
    prohibido=(OPTIMIZADORES, RECORTE),
    pistas=(
        "Cuenta primero cuántas etiquetas que no son relleno hay entre todos los lotes.",
        "La pérdida de un lote se suma, sin promediar, y se divide entre ese total.",
        "`torch.autograd.grad` da el gradiente de cada lote; se suman todos.",
        "El gradiente se multiplica por clip entre su norma solo si esa norma pasa de clip.",
    ),
    mutantes=(
        cambia(
            "sin desplazar",
            "Cada posición debe predecir la palabra siguiente, no la que acaba de entrar.",
            "lot[:, :-1], lot[:, 1:]",
            "lot[:, :-1], lot[:, :-1]",
        ),
        cambia(
            "con relleno",
            "El relleno también se está pidiendo: ni su pérdida ni su casilla cuentan.",
            *_CON_RELLENO,
        ),
        cambia(
            "entre casillas",
            "La pérdida del relleno no se suma, pero sus casillas sí se cuentan al dividir.",
            *_CASILLAS,
        ),
        cambia(
            "máscara de la entrada",
            "Cuentan las posiciones cuya etiqueta no es relleno; se ha mirado la entrada.",
            "int((lot[:, 1:] != pad).sum())",
            "int((lot[:, :-1] != pad).sum())",
            "(labels != pad)",
            "(inputs != pad)",
        ),
        cambia(
            "media de medias",
            "Es la media de las medias de los lotes: uno corto pesa tanto como uno largo.",
            ".sum() / total",
            ".sum() / ((labels != pad).sum() * len(lots))",
        ),
        cambia(
            "suma de medias",
            "Las medias de los lotes se han sumado: el gradiente crece con el número de lotes.",
            ".sum() / total",
            ".sum() / (labels != pad).sum()",
        ),
        cambia(
            "el último lote",
            "Solo queda el gradiente del último lote: hay que sumarlos.",
            "gradient = gradient + torch",
            "gradient = torch",
        ),
        cambia(
            "pérdida del último",
            "La pérdida que se devuelve es la de todos los lotes, no la del último.",
            "loss = loss + part.detach()",
            "loss = part.detach()",
        ),
        cambia(
            "recorta cada lote",
            "Se ha recortado lote a lote; se recorta la suma, una sola vez.",
            "    gradient = gradient * min(1.0, clip / float(gradient.norm()))\n",
            "",
            "gradient = gradient + torch.autograd.grad(part, table)[0]",
            "one = torch.autograd.grad(part, table)[0]\n"
            "        gradient = gradient + one * min(1.0, clip / float(one.norm()))",
        ),
        cambia(
            "siempre a norma",
            "Un gradiente menor que clip no se toca: recortar no es normalizar.",
            "min(1.0, clip / float(gradient.norm()))",
            "clip / float(gradient.norm())",
        ),
        *(
            cambia(
                f"{nombre} y siempre a norma",
                f"Son dos faltas: {falta}, y un gradiente menor que clip no se toca.",
                *cambios,
                "min(1.0, clip / float(gradient.norm()))",
                "clip / float(gradient.norm())",
            )
            for nombre, falta, cambios in (
                ("con relleno", "el relleno se está pidiendo", _CON_RELLENO),
                ("entre casillas", "al dividir se cuentan las casillas de relleno", _CASILLAS),
            )
        ),
        cambia(
            "por componentes",
            "Recortar cada componente cambia la dirección; se recorta la norma.",
            "gradient * min(1.0, clip / float(gradient.norm()))",
            "gradient.clamp(-clip, clip)",
        ),
        cambia(
            "sin recortar",
            "El gradiente no se ha recortado.",
            "gradient * min(1.0, clip / float(gradient.norm()))",
            "gradient * 1.0",
        ),
        cambia(
            "cuesta arriba",
            "El gradiente se resta: así la pérdida sube.",
            "weight - rate * gradient",
            "weight + rate * gradient",
        ),
    ),
)

# --- 12.5 -----------------------------------------------------------------------------------------


def _casos_suavizado(rng: Any, pad: int = 0) -> list[Caso]:
    def caso(propiedad: str, suavizado: float, rellena: bool) -> Caso:
        lote, m = distintos(rng, 2, 4, 2)
        vocab = entero(rng, 6, 9)
        palabras = [i for i in range(vocab) if i != pad]
        filas = [[elige(rng, palabras) for _ in range(m)] for _ in range(lote)]
        if rellena:
            filas[0][-1] = pad
        puntuaciones = 2 * normal(rng, lote, m, vocab)
        args = (puntuaciones, tensor(filas), suavizado)
        return Caso(propiedad, args, {"pad": pad}, gradiente=True)

    return [
        caso("sin suavizar", 0.0, True),
        caso("sin suavizar", 0.0, True),
        caso("suavizado", real(rng, 0.1, 0.3), False),
        caso("suavizado", real(rng, 0.3, 0.5), False),
        caso("con relleno", real(rng, 0.1, 0.3), True),
        caso("con relleno", real(rng, 0.2, 0.4), True),
    ]


_SUAVIZADO = Ejercicio(
    id="12.5",
    nombre="smoothed_loss",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="suavizar sin pedir nunca el relleno, con una pérdida que puede llegar a 0",
    bordes=(
        "smoothing == 0",
        Borde("suavizado", {0: 0, 1: 0}),
        Borde("suavizado", {0: 1, 1: 1}),
    ),
    casos=_casos_suavizado,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[[0.0, 2.0, 0.0, 0.0], [0.0] * 4]]), tensor([[1, 0]]), 0.2),
    ),
    propiedades={
        "sin suavizar": (2, "Con smoothing 0 es la entropía cruzada media, sin contar el relleno."),
        "suavizado": (
            4,
            "Escribe el reparto de una palabra y suma sus números: deben dar 1.",
        ),
        "con relleno": (2, "Una etiqueta de relleno no suma pérdida ni cuenta al dividir."),
    },
    variante={"pad": 0},
    alternativas={"pad": (1, 2, 3)},
    prohibido=(DIVERGENCIA,),
    pistas=(
        "¿Cuántas palabras hay que no sean ni la correcta ni el relleno?",
        "La entropía de un reparto q es la suma de −q ln q; donde q es 0 no suma nada.",
        "Entropía cruzada menos entropía: la divergencia del reparto pedido al del modelo.",
    ),
    mutantes=(
        cambia(
            "como PyTorch",
            "Ahí ε se reparte entre todo el vocabulario, también a la correcta y al relleno.",
            "smoothing / (logits.shape[-1] - 2)",
            "smoothing / logits.shape[-1]",
            "    q[..., pad] = 0.0\n",
            "",
            "1 - smoothing)",
            "1 - smoothing + smoothing / logits.shape[-1])",
        ),
        cambia(
            "también al relleno",
            "El relleno se lleva su parte: el modelo aprendería a escribirlo.",
            "smoothing / (logits.shape[-1] - 2)",
            "smoothing / (logits.shape[-1] - 1)",
            "    q[..., pad] = 0.0\n",
            "",
        ),
        cambia(
            "no suma uno",
            "El reparto no suma 1: el relleno ya no cuenta entre quienes se llevan parte.",
            "smoothing / (logits.shape[-1] - 2)",
            "smoothing / (logits.shape[-1] - 1)",
        ),
        cambia(
            "correcta entera",
            "La correcta recibe 1 − ε: lo que se da a las demás sale de ella.",
            "1 - smoothing)",
            "1.0)",
        ),
        cambia(
            "sin restar",
            "Falta restar la entropía del reparto: quien lo clave debe tener pérdida 0.",
            "torch.xlogy(q, q) - q * log_p",
            "-q * log_p",
        ),
        cambia(
            "entropía sumada",
            "La entropía se resta; con ese signo, se suma dos veces lo inevitable.",
            "torch.xlogy(q, q) - q * log_p",
            "-torch.xlogy(q, q) - q * log_p",
        ),
        cambia(
            "cuenta el relleno",
            "Las etiquetas de relleno también se están pidiendo.",
            "(each * valid).sum() / valid.sum()",
            "each.mean()",
        ),
        cambia(
            "entre casillas",
            "El relleno no suma, pero se cuenta al dividir.",
            "(each * valid).sum() / valid.sum()",
            "(each * valid).sum() / valid.numel()",
        ),
        cambia(
            "suma",
            "Se pide la media de las palabras que cuentan, no su suma.",
            "(each * valid).sum() / valid.sum()",
            "(each * valid).sum()",
        ),
    ),
)

# --- 12.6 -----------------------------------------------------------------------------------------


def _casos_adamw(rng: Any, decay: float = 0.01) -> list[Caso]:
    def caso(propiedad: str, paso: int, eps: float | None = None) -> Caso:
        forma = distintos(rng, 2, 5, 2)
        peso, gradiente = 3 * normal(rng, *forma), normal(rng, *forma)
        media, cuadrado = normal(rng, *forma), uniforme(rng, 0.2, 2.0, *forma)
        if paso == 1:
            media, cuadrado = 0 * media, 0 * cuadrado
        opciones = {"rate": real(rng, 0.1, 0.4), "decay": decay}
        opciones |= {"betas": (real(rng, 0.7, 0.8), real(rng, 0.9, 0.95))}
        opciones |= {} if eps is None else {"eps": eps}
        return Caso(propiedad, (peso, gradiente, media, cuadrado, paso), opciones)

    return [
        caso("el primero", 1),
        caso("el primero", 1),
        caso("a mitad", entero(rng, 3, 9)),
        caso("a mitad", entero(rng, 10, 20)),
        caso("con ε grande", entero(rng, 2, 5), real(rng, 0.2, 0.5)),
        caso("con ε grande", 1, real(rng, 0.2, 0.5)),
    ]


_ADAMW = Ejercicio(
    id="12.6",
    nombre="adamw_step",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="escribir el optimizador con el que se entrena casi todo, con cada detalle en su sitio",
    bordes=(
        "step == 1",
        Borde("a mitad", {0: (0, 1), 1: (0, 1), 2: (0, 1), 3: (0, 1)}),
    ),
    casos=_casos_adamw,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([2.0, -1.0]), tensor([0.5, -4.0]), tensor([0.0, 0.0]), tensor([0.0, 0.0]), 1),
        {"rate": 0.1},
    ),
    propiedades={
        "el primero": (2, "Tras corregir, el primer paso mide casi la tasa en cada componente."),
        "a mitad": (4, "Los momentos se actualizan antes de usarlos, y se corrigen al usarlos."),
        "con ε grande": (2, "¿ε va dentro o fuera de la raíz? ¿Antes o después de corregir?"),
    },
    variante={"decay": 0.01},
    alternativas={"decay": (0.02, 0.05, 0.1)},
    prohibido=(OPTIMIZADORES,),
    pistas=(
        "Cada momento es una media que olvida: β de lo que había y 1 − β de lo nuevo.",
        "Se divide cada momento entre 1 − β elevado al número de paso; lo que se devuelve va sin"
        " dividir.",
        "El parámetro se encoge por su cuenta, en proporción a la tasa y a `decay`.",
    ),
    mutantes=(
        cambia(
            "L2",
            "El encogimiento ha entrado en el gradiente: eso es Adam con L2, no AdamW.",
            "    mean = slow * mean",
            "    grad = grad + decay * weight\n    mean = slow * mean",
            "weight * (1 - rate * decay)",
            "weight",
        ),
        cambia(
            "sin encoger",
            "Falta el encogimiento.",
            "weight * (1 - rate * decay)",
            "weight",
        ),
        cambia(
            "sin la tasa",
            "El encogimiento también se multiplica por la tasa.",
            "(1 - rate * decay)",
            "(1 - decay)",
        ),
        cambia(
            "encoge el nuevo",
            "Se encoge el parámetro que había, no el que resulta del paso.",
            "weight * (1 - rate * decay)",
            "weight",
            "return shrunk - rate * direction / size, mean, square",
            "return (shrunk - rate * direction / size) * (1 - rate * decay), mean, square",
        ),
        cambia(
            "sin corregir",
            "Los momentos empiezan en cero y hay que compensarlo: falta la corrección.",
            "mean / (1 - slow**step)",
            "mean",
            "square / (1 - slower**step)",
            "square",
        ),
        cambia(
            "devuelve corregidos",
            "Se devuelven los momentos tal como siguen, no los corregidos de este paso.",
            "size, mean, square",
            "size, direction, square / (1 - slower**step)",
        ),
        cambia(
            "ε dentro",
            "La ε se suma después de la raíz, no dentro.",
            "(square / (1 - slower**step)).sqrt() + eps",
            "(square / (1 - slower**step) + eps).sqrt()",
        ),
        cambia(
            "ε antes",
            "La raíz se corrige antes de sumar ε; si no, ε también se agranda.",
            "(square / (1 - slower**step)).sqrt() + eps",
            "(square.sqrt() + eps) / (1 - slower**step) ** 0.5",
        ),
        cambia(
            "cruzadas",
            "La primera β es la de la media; la segunda, la de los cuadrados.",
            "slow, slower = betas",
            "slower, slow = betas",
        ),
        cambia(
            "sin cuadrado",
            "El segundo momento promedia los cuadrados del gradiente.",
            "grad**2",
            "grad.abs()",
        ),
        cambia(
            "usa los de antes",
            "El paso usa los momentos nuevos, que ya llevan este gradiente.",
            "direction = mean / (1 - slow**step)",
            "direction = (mean - (1 - slow) * grad) / slow / (1 - slow**step)",
        ),
        cambia(
            "sin raíz",
            "Se divide entre la raíz del segundo momento.",
            ").sqrt() + eps",
            ") + eps",
        ),
    ),
)

# --- 12.7 -----------------------------------------------------------------------------------------


def _curva(nombre: str, pasos: int, sube: int, maximo: float) -> Any:
    def despues(s: int) -> float:
        if nombre == "noam":
            return math.sqrt(sube / s)
        if nombre == "cosine":
            return (1 + math.cos(math.pi * (s - 1 - sube) / (pasos - sube))) / 2
        return min(1.0, (pasos - s) / round(0.2 * pasos)) if nombre == "stable" else 1.0

    return tensor([
        maximo * (s / sube if s <= sube else despues(s)) for s in range(1, pasos + 1)
    ])  # fmt: skip


def _casos_curva(rng: Any) -> list[Caso]:
    def caso(propiedad: str, nombre: str) -> Caso:
        pasos = entero(rng, 12, 60)
        sube = entero(rng, 2, pasos // 3)
        return Caso(propiedad, (_curva(nombre, pasos, sube, real(rng, 0.1, 3.0)),))

    return [
        caso("no llegan a cero", "constant"),
        caso("no llegan a cero", "noam"),
        caso("no llegan a cero", "noam"),
        caso("llegan a cero", "cosine"),
        caso("llegan a cero", "stable"),
        caso("llegan a cero", "cosine"),
    ]


_CURVA = Ejercicio(
    id="12.7",
    nombre="read_schedule",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="reconocer un calendario, y sus números, en la curva que ha dejado",
    bordes=("empate(rates)",),
    casos=_casos_curva,
    ejemplo=lambda: Caso("ejemplo", (_curva("noam", 8, 2, 1.0),)),
    propiedades={
        "no llegan a cero": (3, "¿Qué vale la curva cuando el paso es cuatro veces el del máximo?"),
        "llegan a cero": (3, "Dos acaban en cero o cerca. ¿Cuál se queda antes en lo alto?"),
    },
    prohibido=(ATENTO,),
    pistas=(
        "El máximo y el primer paso que llega a él salen de la curva sin saber su nombre.",
        "Con esos dos números y la longitud se dibujan los cuatro candidatos.",
        "Compara cada candidato con la curva y quédate con el que menos se separa.",
        "El coseno vale todavía el máximo en el paso siguiente al primero que lo alcanza, y"
        " llegaría a cero un paso después del último.",
    ),
    mutantes=(
        cambia(
            "desde cero",
            "Los pasos se cuentan desde 1.",
            "nonzero()[0, 0]) + 1",
            "nonzero()[0, 0])",
            "    s = torch",
            "    warmup += 1\n    s = torch",
            "key=gap), warmup, peak",
            "key=gap), warmup - 1, peak",
        ),
        cambia(
            "el último",
            "Se pide el primer paso que llega al máximo, no el último que sigue en él.",
            "key=gap), warmup, peak",
            "key=gap), int((rates == peak).nonzero()[-1, 0]) + 1, peak",
        ),
        cambia(
            "siempre Noam",
            "No toda curva que baja es Noam: compara también con las otras.",
            "min(shapes, key=gap)",
            "'noam' if rates[-1] < peak else 'constant'",
        ),
        cambia(
            "por el final",
            "Las dos que acaban casi en cero no son la misma: una se queda antes en lo alto.",
            "min(shapes, key=gap)",
            "'constant' if rates[-1] == peak else 'cosine' if rates[-1] < 0.1 * peak else 'noam'",
        ),
        cambia(
            "por la meseta",
            "Las dos que bajan desde el máximo no son la misma: una llega casi a cero.",
            "min(shapes, key=gap)",
            "'constant' if rates[-1] == peak else 'stable' if rates[-1] == 0 else 'noam'",
        ),
        cambia(
            "la media",
            "El tercer número es la tasa máxima, no la media.",
            "key=gap), warmup, peak",
            "key=gap), warmup, float(rates.mean())",
        ),
        cambia(
            "la bajada",
            "Se pide cuántos pasos se sube, no cuántos quedan después.",
            "key=gap), warmup, peak",
            "key=gap), steps - warmup, peak",
        ),
    ),
)

# --- 12.8 -----------------------------------------------------------------------------------------


def _casos_lote(rng: Any) -> list[Caso]:
    def caso(propiedad: str, origenes: list[int], destinos: list[int]) -> Caso:
        parejas = [
            (_palabras(rng, n), _palabras(rng, m)) for n, m in zip(origenes, destinos, strict=True)
        ]
        return Caso(propiedad, (parejas, 11, 12, 10))

    def empatadas() -> Caso:
        """Tres del mismo largo y una más corta: ni el destino ni las palabras deciden el empate."""
        n, (corta, media, larga) = entero(rng, 2, 4), sorted(distintos(rng, 1, 6, 3))
        w = entero(rng, 4, 8)
        parejas = [
            ([w + k, *_palabras(rng, n)], _palabras(rng, m))
            for k, m in ((0, larga), (1, media), (-1, corta))
        ]
        return Caso("sin ordenar", ([*parejas, (_palabras(rng, n), [9])], 11, 12, 10))

    def iguales() -> Caso:
        n, m = distintos(rng, 2, 5, 2)
        return caso("sin relleno", [n] * 2, [m] * 2)

    def ordenadas(cuantas: int) -> Caso:
        cortas = distintos(rng, 1, 5, cuantas)
        return caso("con relleno", sorted(distintos(rng, 1, 6, cuantas)), cortas)

    def revueltas(cuantas: int) -> Caso:
        largas = sorted(distintos(rng, 1, 6, cuantas), reverse=True)
        return caso("sin ordenar", largas, distintos(rng, 1, 5, cuantas))

    return [
        iguales(),
        iguales(),
        caso("sin relleno", [entero(rng, 1, 4)], [entero(rng, 1, 4)]),
        ordenadas(2),
        ordenadas(3),
        revueltas(2),
        revueltas(3),
        empatadas(),
    ]


_SIN_ORDEN = ("for _, target in ordered]", "for _, target in pairs]")
_SIN_DESPLAZAR = ("target[:, :-1], target[:, 1:]", "target[:, :-1], target[:, :-1]")
_CON_FINES = (
    "(targets, batch_first=True, padding_value=pad)",
    "(targets, batch_first=True, padding_value=eos)",
)

_LOTE = Ejercicio(
    id="12.8",
    nombre="make_batch",
    tipo="depurar",
    dificultad=2,
    minutos=20,
    aprende="leer un lote ajeno hasta encontrar las faltas que no dan ningún aviso",
    bordes=(
        "len(pairs) == 1",
        "empate([len(source) for source, _ in pairs])",
    ),
    casos=_casos_lote,
    ejemplo=lambda: Caso("ejemplo", ([([5, 6], [7]), ([4], [8, 9])], 1, 2, 0)),
    propiedades={
        "sin relleno": (2, "Compara cada entrada con su etiqueta: ¿qué se le está pidiendo?"),
        "con relleno": (3, "Mira en la frase más corta qué etiquetas cuentan."),
        "sin ordenar": (2, "¿En qué orden quedan, y va cada una con su traducción?"),
    },
    pistas=(
        "Imprime la primera fila de los cuatro tensores y léela de izquierda a derecha.",
        "¿Con qué se rellena cada tensor? Lo que rellena no debe confundirse con otra cosa.",
        "Al ordenar por el origen, el destino tiene que moverse con él.",
    ),
    mutantes=(
        cambia(
            "sin arreglar",
            "Es la función averiada: tiene las tres faltas.",
            *_SIN_ORDEN,
            *_SIN_DESPLAZAR,
            *_CON_FINES,
        ),
        cambia(
            "falta ordenar",
            "Lo demás está bien; los destinos no se han movido con sus orígenes.",
            *_SIN_ORDEN,
        ),
        cambia(
            "falta desplazar",
            "Lo demás está bien; cada posición sigue teniendo delante lo que debe decir.",
            *_SIN_DESPLAZAR,
        ),
        cambia(
            "falta el relleno",
            "Lo demás está bien; las traducciones cortas siguen rellenas de fines, que cuentan.",
            *_CON_FINES,
        ),
        cambia(
            "solo el orden",
            "Las parejas ya casan; quedan la fuga y el relleno hecho de fines.",
            *_SIN_DESPLAZAR,
            *_CON_FINES,
        ),
        cambia(
            "solo desplazar",
            "El desplazamiento ya está; quedan las parejas cambiadas y el relleno hecho de fines.",
            *_SIN_ORDEN,
            *_CON_FINES,
        ),
        cambia(
            "solo el relleno",
            "El relleno ya está bien; quedan la fuga y las parejas cambiadas.",
            *_SIN_ORDEN,
            *_SIN_DESPLAZAR,
        ),
        *(
            cambia(
                nombre,
                f"{pista} Las frases van de la más corta a la más larga, por la longitud del"
                " origen; con la misma, como llegaron.",
                "sorted(pairs, key=lambda pair: len(pair[0]))",
                orden,
            )
            for nombre, pista, orden in (
                ("como llegan", "Falta ordenar.", "list(pairs)"),
                (
                    "al revés",
                    "El orden está al revés.",
                    "sorted(pairs, key=lambda pair: -len(pair[0]))",
                ),
                (
                    "por el destino",
                    "Se ha ordenado por el destino.",
                    "sorted(pairs, key=lambda pair: len(pair[1]))",
                ),
                (
                    "empates por el destino",
                    "En los empates se ha mirado el destino.",
                    "sorted(pairs, key=lambda pair: (len(pair[0]), len(pair[1])))",
                ),
                (
                    "empates por las palabras",
                    "En los empates se han mirado las palabras.",
                    "sorted(pairs, key=lambda pair: (len(pair[0]), pair))",
                ),
            )
        ),
        cambia(
            "sin el fin",
            "El fin también hay que aprenderlo: su etiqueta cuenta.",
            "labels, labels != pad",
            "labels, (labels != pad) & (labels != eos)",
        ),
        cambia(
            "por la entrada",
            "Cuenta la etiqueta: en las frases cortas entra el fin y la etiqueta ya es relleno.",
            "labels, labels != pad",
            "labels, inputs != pad",
        ),
    ),
)

# --- 12.9 -----------------------------------------------------------------------------------------


def _casos_perplejidad(rng: Any) -> list[Caso]:
    def caso(propiedad: str, piezas: list[int], sobra: int) -> Caso:
        lotes = len(piezas)
        palabras = [max(1, n - sobra - i) for i, n in enumerate(piezas)]
        perdidas = uniforme(rng, 0.3, 2.5, lotes)
        return Caso(propiedad, (perdidas, tensor(piezas), tensor(palabras)))

    iguales = entero(rng, 8, 20)
    return [
        caso("lotes iguales", [iguales] * 2, 1),
        caso("lotes iguales", [iguales + 1] * 3, 2),
        caso("lotes distintos", distintos(rng, 8, 40, 2), 2),
        caso("lotes distintos", distintos(rng, 8, 40, 4), 3),
    ]


_PERPLEJIDAD = Ejercicio(
    id="12.9",
    nombre="corpus_perplexity",
    tipo="escribir",
    dificultad=2,
    minutos=12,
    aprende="juntar las perplejidades de muchos lotes y comparar modelos que cortan distinto",
    bordes=(Borde("lotes iguales", {0: 0, 1: 0, 2: 0}),),
    casos=_casos_perplejidad,
    ejemplo=lambda: Caso("ejemplo", (tensor([1.0, 2.0]), tensor([6, 2]), tensor([3, 1]))),
    propiedades={
        "lotes iguales": (2, "¿La media se toma antes o después de la exponencial?"),
        "lotes distintos": (3, "Un lote con más piezas pesa más: suma nats, no medias."),
    },
    pistas=(
        "La perplejidad no se suma ni se promedia; los nats, sí.",
        "De cada lote se saben la media y cuántas piezas promedia: de ahí sale cuánto sumaban.",
        "Los nats del texto son los mismos se corte como se corte.",
    ),
    mutantes=(
        cambia(
            "media de medias",
            "Las medias de los lotes no pesan lo mismo: cada una cuenta según sus piezas.",
            "(losses * tokens).sum()",
            "losses.mean() * tokens.sum()",
        ),
        cambia(
            "media de perplejidades",
            "Se han promediado perplejidades: la exponencial se toma al final, una vez.",
            "torch.exp(nats / tokens.sum()), torch.exp(nats / words.sum())",
            "(losses.exp() * tokens).sum() / tokens.sum(),"
            " ((losses * tokens / words).exp() * words).sum() / words.sum()",
        ),
        cambia(
            "misma",
            "La perplejidad por palabra reparte los mismos nats entre las palabras.",
            "torch.exp(nats / words.sum())",
            "torch.exp(nats / tokens.sum())",
        ),
        cambia(
            "al revés",
            "Una palabra puede llevar varias piezas: sus nats se suman, no se reparten.",
            "torch.exp(nats / words.sum())",
            "torch.exp(nats / tokens.sum() * words.sum() / tokens.sum())",
        ),
        cambia(
            "multiplicada",
            "La perplejidad no se multiplica por las piezas que tiene una palabra; se multiplican"
            " los nats.",
            "torch.exp(nats / words.sum())",
            "torch.exp(nats / tokens.sum()) * tokens.sum() / words.sum()",
        ),
        cambia(
            "base dos",
            "Las pérdidas están en nats: la base es e.",
            "torch.exp(nats / tokens.sum()), torch.exp(nats / words.sum())",
            "torch.exp2(nats / tokens.sum()), torch.exp2(nats / words.sum())",
        ),
        cambia(
            "pérdidas",
            "Esas son las pérdidas medias; falta la exponencial.",
            "torch.exp(nats / tokens.sum()), torch.exp(nats / words.sum())",
            "nats / tokens.sum(), nats / words.sum()",
        ),
    ),
)

# --- 12.10 ----------------------------------------------------------------------------------------


def _casos_factor(rng: Any) -> list[Caso]:
    def caso(propiedad: str, gradientes: Any, factor: float, cada: int) -> Caso:
        peso = normal(rng, gradientes.shape[1])
        return Caso(propiedad, (peso, gradientes, factor, real(rng, 0.1, 1.0), cada))

    def gradientes(pasos: int, tamano: float) -> Any:
        return tamano * (normal(rng, pasos, 3).abs() + 0.5)

    def en_el_filo() -> Any:
        """Lo que aún se redondea a 65 504, por los dos lados, y 65 520, que ya es infinito."""
        todos = gradientes(4, 1.0)
        todos[0, 1], todos[2, 0], todos[3, 2] = real(rng, 65505, 65511), 65519.99, 65520.0
        return todos

    def con_picos() -> Any:
        """Pasos buenos con alguno que se sale, para que la cuenta se corte."""
        todos = gradientes(9, 1.0)
        todos[2, entero(rng, 0, 2)] = todos[6, 1] = 1e6
        return todos

    return [
        caso("sin saltos", gradientes(4, 1e-7), 2.0 ** entero(rng, 11, 13), 50),
        caso("sin saltos", gradientes(5, 1.0), 2.0 ** entero(rng, 4, 6), 50),
        caso("con saltos", gradientes(8, 4.0), 2.0**18, 50),
        caso("con saltos", gradientes(7, 30.0), 2.0**15, 50),
        caso("con saltos", gradientes(9, 1e5), 2.0, 50),  # el factor baja de 1
        caso("con saltos", en_el_filo(), 1.0, 50),
        caso("sube y baja", con_picos(), 8.0, 3),
        caso("sube y baja", con_picos(), 16.0, 2),
    ]


_FACTOR = Ejercicio(
    id="12.10",
    nombre="scaled_training",
    tipo="escribir",
    dificultad=3,
    minutos=25,
    tolerancia=1e-12,
    relativa=True,
    aprende="llevar el factor de la pérdida que salva los gradientes pequeños en 16 bits",
    bordes=(
        "diminuto(gradients)",
        "any(65504 < x < 65512 for x in (scale * gradients).flatten())",
        "any(65519 < x < 65520 for x in (scale * gradients).flatten())",
        "any(x == 65520 for x in (scale * gradients).flatten())",
        Borde("sube y baja", valores={4: 1}),
        Borde("sin saltos", {0: 0, 1: 1}),
    ),
    casos=_casos_factor,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([1.0, 0.0]), tensor([[2.0, 0.5], [1.0, 0.0], [1.0, 0.25]]), 2.0**15, 0.5, 2),
    ),
    propiedades={
        "sin saltos": (2, "El factor va antes de pasar a 16 bits, y se quita después."),
        "con saltos": (
            3,
            "Un paso que, ya en 16 bits, no es finito no mueve los pesos: solo baja el factor.",
        ),
        "sube y baja": (
            3,
            "La cuenta de pasos buenos vuelve a cero cada vez que el factor cambia.",
        ),
    },
    prohibido=(PRECISION_MIXTA,),
    pistas=(
        "Sigue a mano tres pasos con el factor, los pesos y una cuenta de pasos buenos.",
        "Basta un infinito en una componente para saltarse el paso entero.",
        "La cuenta se pone a cero al saltar y también al duplicar.",
    ),
    mutantes=(
        cambia(
            "sin quitarlo",
            "Falta dividir entre el factor antes de dar el paso.",
            "rate * stored / scale",
            "rate * stored",
        ),
        cambia(
            "tarde",
            "Se ha pasado a 16 bits antes de multiplicar: lo pequeño ya se había perdido.",
            "(gradient * scale).to(torch.float16).to(weight.dtype)",
            "(gradient.to(torch.float16).to(weight.dtype) * scale)",
        ),
        cambia(
            "sin 16 bits",
            "El gradiente no pasa por 16 bits: nada se redondea ni se sale.",
            "(gradient * scale).to(torch.float16).to(weight.dtype)",
            "(gradient * scale)",
        ),
        cambia(
            "bfloat16",
            "Es `torch.float16`, con su rango corto; con bfloat16 nada se sale.",
            "torch.float16",
            "torch.bfloat16",
        ),
        cambia(
            "solo si todas",
            "Basta una componente que no sea finita para saltarse el paso.",
            "torch.isfinite(stored).all()",
            "torch.isfinite(stored).any()",
        ),
        cambia(
            "compara con el mayor",
            "Entre 65 504 y 65 520 se redondea a 65 504, que cabe: mira si lo redondeado es finito,"
            " no cuánto valía.",
            "if not torch.isfinite(stored).all():",
            "if (gradient * scale).abs().max() > 65504:",
        ),
        cambia(
            "deja pasar el filo",
            "El propio 65 520 ya se redondea a infinito: mira si lo redondeado es finito.",
            "if not torch.isfinite(stored).all():",
            "if (gradient * scale).abs().max() > 65520:",
        ),
        cambia(
            "no baja",
            "Tras un salto el factor se parte por dos; si no, se salta siempre.",
            "scale, good, skipped = scale / 2, 0, skipped + 1",
            "good, skipped = 0, skipped + 1",
        ),
        cambia(
            "sin cortar la cuenta",
            "Un salto corta la racha: los pasos buenos se cuentan otra vez desde cero.",
            "scale, good, skipped = scale / 2, 0, skipped + 1",
            "scale, skipped = scale / 2, skipped + 1",
        ),
        cambia(
            "no sube",
            "Tras los pasos buenos que pide interval, el factor se duplica.",
            "scale, good = scale * 2, 0",
            "good = 0",
        ),
        cambia(
            "sin volver a contar",
            "Al duplicar el factor, la cuenta vuelve a cero: después hacen falta otros tantos.",
            "scale, good = scale * 2, 0",
            "scale, good = scale * 2, good - 1",
        ),
        cambia(
            "uno más",
            "El factor sube al cumplirse los pasos que pide interval, no uno después.",
            "if good == interval:",
            "if good > interval:",
        ),
        cambia(
            "duplica antes",
            "El gradiente se divide entre el factor con el que se multiplicó: el cambio es para el"
            " paso siguiente.",
            "        weight = weight - rate * stored / scale\n        good += 1\n"
            "        if good == interval:\n            scale, good = scale * 2, 0\n",
            "        good += 1\n        if good == interval:\n"
            "            scale, good = scale * 2, 0\n"
            "        weight = weight - rate * stored / scale\n",
        ),
    ),
)

# --- 12.11 ----------------------------------------------------------------------------------------


def _casos_reanudar(rng: Any) -> list[Caso]:
    def caso(propiedad: str, hechos: int, sube: int, apaga: float) -> Caso:
        d, pasos, n = 3, hechos + entero(rng, 2, 4), entero(rng, 4, 6)
        medias = (normal(rng, d), normal(rng, d).abs() + 0.5)
        datos = (normal(rng, pasos, n, d), normal(rng, pasos, n))
        ajustes = {"rate": real(rng, 0.05, 0.3), "warmup": sube, "drop": apaga}
        ajustes["seed"] = entero(rng, 1, 10**6)
        return Caso(propiedad, (normal(rng, d), *medias, hechos, *datos), ajustes)

    return [
        caso("sin apagar", entero(rng, 3, 5), 1, 0.0),
        caso("sin apagar", entero(rng, 6, 8), 2, 0.0),
        caso("calentando", entero(rng, 2, 3), 12, 0.0),
        caso("calentando", entero(rng, 4, 5), 7, 0.0),
        caso("con azar", entero(rng, 3, 5), 1, 0.5),
        caso("con azar", entero(rng, 5, 7), 4, 0.4),
        caso("con azar", entero(rng, 6, 9), 9, 0.6),
    ]


_REANUDAR = Ejercicio(
    id="12.11",
    nombre="resume_run",
    tipo="escribir",
    dificultad=3,
    minutos=30,
    tolerancia=1e-9,
    relativa=True,
    aprende="saber qué hay que reponer para seguir una ejecución como si no se hubiera cortado",
    bordes=(
        "drop == 0",
        "warmup == 1",
        Borde("sin apagar", {4: 1, 5: 1}),
        Borde("sin apagar", {0: 0, 1: 0, 2: 0, 4: 2}),
    ),
    casos=_casos_reanudar,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([1.0, 0.0]),
            tensor([0.5, 0.0]),
            tensor([0.25, 1.0]),
            1,
            tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [2.0, 0.0]]]),
            tensor([[1.0, 0.0], [0.0, 1.0]]),
        ),
        {"rate": 1.0, "warmup": 4, "drop": 0.0, "seed": 7},
    ),
    propiedades={
        "sin apagar": (3, "El primer paso que das es el step + 1: ¿qué lote lee, qué corrige?"),
        "calentando": (2, "La tasa sigue por donde iba la subida."),
        "con azar": (3, "Los sorteos de los pasos ya dados están gastados."),
    },
    prohibido=(OPTIMIZADORES,),
    pistas=(
        "Escribe el bucle entero, desde el paso 1, y mira qué habría en cada nombre al llegar al"
        " corte.",
        "Cuatro cosas dependen del número de paso: el lote, la tasa, la corrección y el sorteo.",
        "El generador se siembra igual y se le piden, y se tiran, los números de los pasos dados.",
    ),
    mutantes=(
        cambia(
            "azar desde el principio",
            "El sorteo ha vuelto a empezar: faltan por gastar los números de los pasos ya dados.",
            "    for _ in range(step):\n"
            "        torch.rand(len(weight), generator=source, dtype=torch.float64)\n",
            "",
        ),
        cambia(
            "un solo sorteo",
            "Cada paso dado gastó un sorteo; hay que tirarlos todos, y no uno.",
            "for _ in range(step):",
            "for _ in range(min(1, step)):",
        ),
        cambia(
            "datos desde el principio",
            "Los lotes han vuelto a empezar: el paso s lee el s, y los primeros ya se leyeron.",
            "x = inputs[s - 1] * kept",
            "x = inputs[s - 1 - step] * kept",
            "x @ weight - targets[s - 1]",
            "x @ weight - targets[s - 1 - step]",
        ),
        cambia(
            "repite el último",
            "El primer paso que falta es el siguiente al último que se dio.",
            "range(step + 1, len(inputs) + 1)",
            "range(step, len(inputs) + 1)",
        ),
        cambia(
            "corrige desde el uno",
            "La corrección de las medias usa el número de paso de toda la ejecución.",
            "mean / (1 - 0.9**s) / ((square / (1 - 0.98**s)).sqrt() + 1e-9)",
            "mean / (1 - 0.9 ** (s - step)) / ((square / (1 - 0.98 ** (s - step))).sqrt() + 1e-9)",
        ),
        cambia(
            "calienta otra vez",
            "La tasa ha vuelto a subir desde cero: el calentamiento no se repite.",
            "min(1, s / warmup)",
            "min(1, (s - step) / warmup)",
        ),
        cambia(
            "sin tope",
            "Acabado el calentamiento la tasa ya no sube: se queda en rate.",
            "min(1, s / warmup)",
            "(s / warmup)",
        ),
        cambia(
            "medias nuevas",
            "Las dos medias de Adam también se reponen: aquí han empezado en cero.",
            "source, losses = torch.Generator().manual_seed(seed), []",
            "source, losses = torch.Generator().manual_seed(seed), []\n"
            "    mean, square = torch.zeros_like(mean), torch.zeros_like(square)",
        ),
        cambia(
            "al revés",
            "Se apagan las componentes cuyo número es menor que drop; las demás se quedan.",
            "dtype=torch.float64) >= drop",
            "dtype=torch.float64) < drop",
        ),
        cambia(
            "agranda",
            "Aquí lo que no se apaga no se agranda.",
            "x = inputs[s - 1] * kept",
            "x = inputs[s - 1] * kept / max(1 - drop, 1e-9)",
        ),
        cambia(
            "pérdida de después",
            "La pérdida de un paso es la de antes de mover los pesos.",
            "        losses.append((gap**2).mean())\n",
            "",
            "        weight = weight - rate * min(1, s / warmup) * move\n",
            "        weight = weight - rate * min(1, s / warmup) * move\n"
            "        losses.append(((x @ weight - targets[s - 1]) ** 2).mean())\n",
        ),
    ),
)

EJERCICIOS = [
    _PAREJAS,
    _A_MANO,
    _DESPUES,
    _PASO,
    _SUAVIZADO,
    _ADAMW,
    _CURVA,
    _LOTE,
    _PERPLEJIDAD,
    _FACTOR,
    _REANUDAR,
]
