"""Ejercicios del capítulo 18, «Ajustar y alinear»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import (
    Borde,
    entero,
    normal,
    permutacion,
    real,
    tensor,
    uniforme,
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENTO

# --- 18.1 -----------------------------------------------------------------------------------------


def _casos_lora(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ejes: tuple[int, ...], rango: int, sesgo: bool = False) -> Caso:
        entra, sale = entero(rng, rango + 2, 6), entero(rng, rango + 1, 5)
        args = [
            normal(rng, *ejes, entra),
            normal(rng, sale, entra),
            normal(rng, rango, entra),
            normal(rng, sale, rango),
            real(rng, 1.2, 1.8) + 2 * entero(rng, 1, 4),
        ]
        return Caso(propiedad, (*args, normal(rng, sale)) if sesgo else tuple(args))

    justo = caso("rango mayor", (2,), 2)
    media = justo.args[3].clone()
    media[:, 0] = 0  # el producto tiene rango 1, y el desvío sigue siendo de rango 2
    uno, peso, baja, sube, _ = caso("con sesgo", (2,), 2).args
    return [
        caso("rango mayor", (entero(rng, 2, 4),), 2),
        caso("rango mayor", (entero(rng, 2, 4),), entero(rng, 3, 4)),
        Caso("rango mayor", (*justo.args[:4], 2.0)),
        Caso("rango mayor", (*justo.args[:3], media, justo.args[4])),
        caso("con sesgo", (entero(rng, 2, 4),), 2, True),
        caso("con sesgo", (entero(rng, 2, 4),), 1, True),
        Caso("con sesgo", (uno, peso, baja, 0 * sube, 3.0, normal(rng, len(peso)))),
        caso("más ejes", (2, entero(rng, 2, 4)), 2),
        caso("más ejes", (), 2),
    ]


_LORA = Ejercicio(
    id="18.1",
    nombre="lora_layer",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="escribir una capa con LoRA y la matriz fundida que hace lo mismo",
    bordes=(
        "len(down) == 1",
        "x.ndim == 1",
        "not up.any()",
        "up.any() and not up.any(0).all()",
        "alpha == len(down)",
        Borde("rango mayor", {0: 0}),
    ),
    casos=_casos_lora,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 2.0], [0.0, 1.0]]),
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[1.0, -1.0], [0.0, 1.0]]),
            tensor([[1.0, 0.0], [2.0, 1.0]]),
            4.0,
        ),
    ),
    propiedades={
        "rango mayor": (4, "El desvío baja al rango, vuelve a subir y se multiplica por α/r."),
        "con sesgo": (2, "El sesgo se suma a la salida, una vez."),
        "más ejes": (2, "Delante del eje de `d_in` puede haber cualquier número de ejes."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe las formas: de `(…, d_in)` a `(…, rank)`, y de ahí a `(…, d_out)`.",
        "Saca factor común de la entrada: la salida es una sola matriz por ella, más el sesgo.",
        "El rango es el número de filas de `down`. La escala, α entre el rango, multiplica al"
        " desvío y también a lo que se funde.",
    ),
    mutantes=(
        cambia(
            "sin dividir",
            "Falta dividir α entre el rango.",
            "alpha / len(down)",
            "alpha",
        ),
        cambia(
            "sin escala",
            "El desvío se multiplica por α/r: aquí no se multiplica por nada.",
            "alpha / len(down)",
            "1.0",
        ),
        cambia(
            "sin alfa",
            "La escala es α/r, no 1/r.",
            "alpha / len(down)",
            "1 / len(down)",
        ),
        cambia(
            "con la raíz",
            "La escala es α/r. Entre la raíz del rango divide otra variante.",
            "alpha / len(down)",
            "alpha / len(down) ** 0.5",
        ),
        cambia(
            "escala al revés",
            "La escala es α entre el rango, no el rango entre α.",
            "alpha / len(down)",
            "len(down) / alpha",
        ),
        cambia(
            "el otro lado",
            "El rango es el lado fino: las filas de `down`, no sus columnas.",
            "alpha / len(down)",
            "alpha / down.shape[1]",
        ),
        cambia(
            "el rango del producto",
            "El rango es el número de filas de `down`, aunque a `up` le falte una columna.",
            "alpha / len(down)",
            "alpha / torch.linalg.matrix_rank(up @ down).clamp(min=1)",
        ),
        cambia(
            "fundida sin escala",
            "La fundida también lleva α/r: así no da la misma salida.",
            "weight + scale * (up @ down)",
            "weight + up @ down",
        ),
        cambia(
            "salida sin escala",
            "La fundida lleva α/r, pero el desvío de la salida no.",
            "scale * detour",
            "detour",
        ),
        cambia(
            "solo lo aprendido",
            "A la fundida le falta la matriz quieta.",
            "weight + scale * (up @ down)",
            "scale * (up @ down)",
        ),
        cambia(
            "solo el desvío",
            "A la salida le falta la de la matriz quieta.",
            "x @ weight.mT + scale * detour",
            "scale * detour",
        ),
        cambia(
            "sin desvío",
            "A la salida le falta el desvío.",
            "x @ weight.mT + scale * detour",
            "x @ weight.mT",
        ),
        cambia(
            "sin sesgo",
            "Falta sumar el sesgo a la salida.",
            "output = output + bias",
            "pass",
        ),
        cambia(
            "resta",
            "Lo aprendido se suma a la matriz; no se resta.",
            "weight + scale * (up @ down)",
            "weight - scale * (up @ down)",
        ),
        cambia(
            "fundida traspuesta",
            "La fundida tiene la forma de `weight`, con una fila por salida.",
            "weight + scale * (up @ down)",
            "(weight + scale * (up @ down)).mT",
        ),
    ),
)

# --- 18.2 -----------------------------------------------------------------------------------------

_A_CERO = Ejercicio(
    id="18.2",
    nombre="moved",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="decir por qué LoRA empieza con una matriz a cero y la otra no",
    propiedades={"respuesta": (2, "Escribe el gradiente de cada matriz. ¿Qué factores tiene?")},
    opciones=("ninguna", "solo A", "solo B", "las dos"),
    pistas=(
        "El desvío es B A x. Deriva respecto de B con A fija, y al revés.",
        "El gradiente de cada una lleva a la otra como factor.",
    ),
    mutantes=(
        cuerpo(
            "como siempre",
            "Eso pasa con A al azar: el primer paso mueve B, y desde entonces se mueve A. Con las"
            " dos a cero, ¿qué vale A x?",
            "return 'las dos'",
        ),
        cuerpo(
            "solo la de arriba",
            "El gradiente de B lleva el factor A x, y A es cero.",
            "return 'solo B'",
        ),
        cuerpo(
            "solo la de abajo",
            "El gradiente de A pasa por B, y B es cero.",
            "return 'solo A'",
        ),
    ),
)

# --- 18.3 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="18.3",
    nombre="tuning_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=12,
    tolerancia=5.5e-4,
    aprende="contar lo que LoRA entrena y calcular una divergencia KL en los dos sentidos",
    propiedades={
        "lora": (1, "Cuenta las dos matrices finas: de 256 a 4 y de 4 a 1024."),
        "times": (1, "Los números de la matriz entera entre los de LoRA."),
        "largest_rank": (1, "Busca el último rango con el que r · 1280 no llega a la matriz."),
        "forward": (1, "Los pesos son los de la política, y la razón, política entre referencia."),
        "reverse": (1, "Los pesos son los de la referencia, y la razón, la inversa."),
    },
    pistas=(
        "De LoRA se entrenan dos matrices. ¿Qué forma tiene cada una?",
        "Las razones entre las dos políticas son 4, 1/2, 1/2 y 1: sus logaritmos en base 2 son"
        " enteros.",
        "Haz la KL en bits y multiplica al final por 0.693.",
    ),
    mutantes=(
        cambia(
            "en bits",
            "Está en bits y se pide en nats: un bit son 0.693 nats.",
            "p * math.log(p / q)",
            "p * math.log2(p / q)",
            "q * math.log(q / p)",
            "q * math.log2(q / p)",
        ),
        cambia(
            "cambiadas",
            "Las dos divergencias están cambiadas: en `forward` pesan las probabilidades de π.",
            "p * math.log(p / q)",
            "q * math.log(q / p)",
            '"reverse": sum(q * math.log(q / p)',
            '"reverse": sum(p * math.log(p / q)',
        ),
        cambia(
            "simétrica",
            "La KL no es simétrica: `reverse` no vale lo que `forward`.",
            "q * math.log(q / p)",
            "p * math.log(p / q)",
        ),
        cambia(
            "simétrica al revés",
            "La KL no es simétrica: `forward` no vale lo que `reverse`.",
            "p * math.log(p / q)",
            "q * math.log(q / p)",
        ),
        cambia(
            "entropía cruzada",
            "Es la entropía cruzada: le falta restar la entropía de π.",
            "p * math.log(p / q)",
            "-p * math.log(q)",
        ),
        cambia(
            "entropía cruzada al revés",
            "Es la entropía cruzada: le falta restar la entropía de la referencia.",
            "q * math.log(q / p)",
            "-q * math.log(p)",
        ),
        cambia(
            "sin signos",
            "Los términos negativos restan: no se toman en valor absoluto.",
            "p * math.log(p / q)",
            "p * abs(math.log(p / q))",
            "q * math.log(q / p)",
            "q * abs(math.log(q / p))",
        ),
        cambia(
            "sin pesos",
            "Cada logaritmo se multiplica por su probabilidad antes de sumar.",
            "p * math.log(p / q)",
            "math.log(p / q)",
            "q * math.log(q / p)",
            "math.log(q / p)",
        ),
        cambia(
            "solo A",
            "Falta B: 1024 × 4 números más.",
            '"lora": lora',
            '"lora": rank * d_in',
        ),
        cambia(
            "solo B",
            "Falta A: 4 × 256 números más.",
            '"lora": lora',
            '"lora": rank * d_out',
        ),
        cambia(
            "sin el rango",
            "Falta multiplicar por el rango.",
            '"lora": lora',
            '"lora": d_in + d_out',
        ),
        cambia(
            "la entera",
            "La matriz entera no se entrena, se queda quieta.",
            '"lora": lora',
            '"lora": full',
        ),
        cambia(
            "todo junto",
            "Se cuenta solo lo que se entrena: sin la matriz quieta.",
            '"lora": lora',
            '"lora": full + lora',
        ),
        cambia(
            "el porcentaje",
            "Ese es el porcentaje que se entrena; se pide cuántas veces cabe en la matriz.",
            "full / lora",
            "100 * lora / full",
        ),
        cambia(
            "una de menos",
            "Se pide el cociente, sin restar 1.",
            "full / lora",
            "full / lora - 1",
        ),
        cambia(
            "ya no ahorra",
            "Con ese rango ya se entrenan más números que con la matriz.",
            "(full - 1) // (d_in + d_out)",
            "(full - 1) // (d_in + d_out) + 1",
        ),
        cambia(
            "el mayor posible",
            "Ese es el mayor rango que cabe en la matriz; deja de ahorrar bastante antes.",
            "(full - 1) // (d_in + d_out)",
            "d_in",
        ),
        cambia(
            "sin redondear",
            "Un rango es entero: el último que no llega.",
            "(full - 1) // (d_in + d_out)",
            "full / (d_in + d_out)",
        ),
    ),
)

# --- 18.4 -----------------------------------------------------------------------------------------


def _casos_descongelar(rng: Any) -> list[Caso]:
    def caso(
        propiedad: str, paso: int, capas: int, espera: int, pico: int, pasos: int, **mas: float
    ) -> Caso:
        pide = {"rate": real(rng, 0.01, 0.1), "wait": espera, "peak": pico, "steps": pasos}
        return Caso(propiedad, (paso, capas), {**pide, **mas})

    def al_subir(capas: int, espera: int, abiertas: int, **mas: float) -> Caso:
        paso = espera * (abiertas - 1) + entero(rng, 1, espera - 1)
        pico = paso + entero(rng, 2, 9)
        return caso("a medias", paso, capas, espera, pico, 4 * pico, **mas)

    def al_bajar(propiedad: str, capas: int, espera: int, paso: int) -> Caso:
        pico = entero(rng, 2, paso - 2)
        otros = {"decay": real(rng, 1.3, 2.0), "ratio": real(rng, 5.0, 20.0)}
        return caso(propiedad, paso, capas, espera, pico, paso + entero(rng, 3, 30), **otros)

    espera, pico, capas = entero(rng, 3, 7), entero(rng, 11, 17), entero(rng, 3, 5)
    pasos = pico + entero(rng, 20, 40)
    return [
        al_bajar("todas abiertas", capas, 2, 2 * capas + entero(rng, 3, 9)),
        al_bajar("todas abiertas", 2, entero(rng, 1, 3), entero(rng, 7, 15)),
        caso("todas abiertas", 10 + entero(rng, 0, 9), 1, 2, 5, 40),
        al_subir(entero(rng, 4, 6), entero(rng, 3, 6), 2),
        al_subir(entero(rng, 5, 6), entero(rng, 3, 6), 3, decay=real(rng, 1.3, 2.0)),
        caso("a medias", espera, capas, espera, pico, pasos),
        caso("a medias", 2 * espera - 1, capas, espera, pico, pasos),
        al_bajar("a medias", 5, 6, 6 * 3 + entero(rng, 1, 5)),
        caso("los picos", 0, capas, espera, pico, pasos),
        caso("los picos", pico, capas, 5, pico, pasos),
        caso("los picos", pasos, capas, 1, pico, pasos),
    ]


_DESCONGELAR = Ejercicio(
    id="18.4",
    nombre="rates_at",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="decir qué capas se entrenan en cada paso y con qué tasa, como en ULMFiT",
    bordes=(
        "n_layers == 1",
        "wait == 1",
        "step == 0",
        "step == wait",
        "step == peak",
        "step == steps",
    ),
    casos=_casos_descongelar,
    ejemplo=lambda: Caso(
        "ejemplo",
        (3, 2),
        {"rate": 0.1, "wait": 2, "peak": 4, "steps": 8, "decay": 2.0, "ratio": 5.0},
    ),
    propiedades={
        "todas abiertas": (3, "La tasa de una capa es la de la de encima entre `decay`."),
        "a medias": (4, "Mira por separado qué capas hay abiertas y la altura del triángulo."),
        "los picos": (2, "El triángulo va de 1/`ratio` a 1 y vuelve; nunca llega a 0."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz por separado tres cosas: el triángulo, la tasa de cada capa y qué capas hay abiertas.",
        "Numera las capas por lo lejos que están de la última: 0, 1, 2… De ese número salen las dos"
        " cosas que cambian de una capa a otra.",
        "La capa que está a distancia k se descongela en el paso k · `wait`, y su tasa se ha"
        " dividido k veces.",
    ),
    mutantes=(
        cambia(
            "una menos",
            "En el paso 0 ya se entrena la última, y en el paso `wait`, dos.",
            "depth * wait <= step",
            "depth * wait < step",
        ),
        cambia(
            "ninguna al empezar",
            "Va una capa por detrás: la última se entrena desde el paso 0, no desde `wait`.",
            "depth * wait <= step",
            "(depth + 1) * wait <= step",
        ),
        cambia(
            "una de más",
            "Va una capa por delante: al empezar se entrena una sola.",
            "depth * wait <= step",
            "(depth - 1) * wait <= step",
        ),
        cambia(
            "sin congelar",
            "Ninguna está congelada: cada una espera su turno, con tasa 0.",
            "depth * wait <= step",
            "depth >= 0",
        ),
        cambia(
            "desde abajo",
            "Se descongela de arriba abajo: la primera es la última capa.",
            "depth * wait <= step",
            "depth.flip(0) * wait <= step",
        ),
        cambia(
            "una cada vez",
            "Las que ya se descongelaron siguen entrenándose.",
            "depth * wait <= step",
            "(depth * wait <= step) & (step < (depth + 1) * wait)",
        ),
        cambia(
            "crece hacia abajo",
            "Hacia abajo la tasa se divide entre `decay`, no se multiplica.",
            "top / decay**depth",
            "top * decay**depth",
        ),
        cambia(
            "la misma para todas",
            "Cada capa tiene la tasa de la de encima entre `decay`.",
            "top / decay**depth",
            "top + 0 * depth",
        ),
        cambia(
            "divide una vez",
            "Se divide entre `decay` en cada capa que se baja: es una potencia, no un producto.",
            "top / decay**depth",
            "top / (1 + depth * (decay - 1))",
        ),
        cambia(
            "de arriba abajo",
            "Está al revés: la primera tasa es la de la capa más baja.",
            "torch.where(awake, top / decay**depth, 0.0)",
            "torch.where(awake, top / decay**depth, 0.0).flip(0)",
        ),
        cambia(
            "desde cero",
            "El multiplicador va de 1/`ratio` a 1, no de 0 a 1.",
            "(1 + height * (ratio - 1)) / ratio",
            "height",
        ),
        cambia(
            "pasa de uno",
            "En el pico el multiplicador vale 1 justo; aquí vale 1 + 1/`ratio`.",
            "(1 + height * (ratio - 1)) / ratio",
            "(height + 1 / ratio)",
        ),
        cambia(
            "sin triángulo",
            "Falta el multiplicador: la tasa cambia con el paso.",
            "rate * (1 + height * (ratio - 1)) / ratio",
            "rate",
        ),
        cambia(
            "no baja",
            "Después del pico el multiplicador baja hasta 1/`ratio`.",
            "(steps - step) / (steps - peak)",
            "1.0",
        ),
        cambia(
            "baja desde el principio",
            "La bajada empieza en el pico: se reparte entre `steps` − `peak` pasos.",
            "(steps - step) / (steps - peak)",
            "(steps - step) / steps",
        ),
    ),
)

# --- 18.5 -----------------------------------------------------------------------------------------


def _casos_destilar(rng: Any) -> list[Caso]:
    import torch

    def caso(
        propiedad: str, dura: float, sin: int = 0, escala: float = 1.0, grado: bool = False
    ) -> Caso:
        filas, vocab = entero(rng, 3, 5), entero(rng, 3, 5)
        dichas = torch.randint(vocab, (filas,), generator=rng)
        for fila in permutacion(rng, filas)[: filas if sin < 0 else sin]:
            dichas[fila] = -1
        args = (2 * escala * normal(rng, filas, vocab), 2 * escala * normal(rng, filas, vocab))
        pide = {"temperature": real(rng, 1.5, 4.0), "hard": dura}
        return Caso(propiedad, (*args, dichas), pide, gradiente=grado)

    return [
        caso("solo el maestro", 0.0),
        caso("solo el maestro", 0.0, sin=1),
        caso("con respuestas", real(rng, 0.2, 0.4)),
        caso("con respuestas", real(rng, 0.6, 0.8)),
        caso("con respuestas", 1.0),
        caso("sin respuesta", real(rng, 0.3, 0.7), sin=1),
        caso("sin respuesta", real(rng, 0.3, 0.7), sin=2),
        caso("sin respuesta", real(rng, 0.3, 0.7), sin=-1),
        caso("puntuaciones grandes", real(rng, 0.2, 0.4), sin=1, escala=2000.0),
        caso("gradiente", real(rng, 0.2, 0.4), sin=1, grado=True),
        caso("gradiente", 0.0, grado=True),
    ]


_DESTILAR = Ejercicio(
    id="18.5",
    nombre="distill",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="escribir la pérdida de destilar, con su temperatura y con respuestas que faltan",
    bordes=("hard == 0", "hard == 1", "(labels < 0).all()", "(labels >= 0).all()"),
    casos=_casos_destilar,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[2.0, 0.0], [0.0, 0.0]]), tensor([[0.0, 0.0], [4.0, 0.0]]), tensor([0, -1])),
        {"temperature": 2.0, "hard": 0.5},
    ),
    propiedades={
        "solo el maestro": (3, "Divide las dos puntuaciones entre τ; la divergencia, por τ²."),
        "con respuestas": (2, "La parte dura es a temperatura 1, y cada parte lleva su peso."),
        "sin respuesta": (2, "Los ejemplos sin respuesta no entran en el promedio de la dura."),
        "puntuaciones grandes": (1, "Con `log_softmax` no se toma el logaritmo de un cero."),
        "gradiente": (2, "El valor es bueno; el gradiente llega al alumno y no al maestro."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz primero la parte blanda con un solo ejemplo y dos clases.",
        "La divergencia suma sobre el vocabulario y se promedia sobre los ejemplos, los tengan o no"
        " respondidos.",
        "Para la dura, quédate con las filas cuya respuesta no es −1, y piensa en qué pasa si no"
        " queda ninguna.",
    ),
    mutantes=(
        cambia(
            "sin τ²",
            "Falta multiplicar la parte blanda por τ².",
            "temperature**2 * (",
            "(",
        ),
        cambia(
            "por τ",
            "La parte blanda se multiplica por τ², no por τ.",
            "temperature**2",
            "temperature",
        ),
        cambia(
            "divergencia al revés",
            "La divergencia es del maestro al alumno: los pesos son los del maestro.",
            "log_p.exp() * (log_p - log_q)",
            "log_q.exp() * (log_q - log_p)",
        ),
        cambia(
            "alumno sin ablandar",
            "El alumno también se divide entre τ en la parte blanda.",
            "(student / temperature)",
            "student",
        ),
        cambia(
            "maestro sin ablandar",
            "El maestro también se divide entre τ.",
            "(teacher.detach() / temperature)",
            "teacher.detach()",
        ),
        cambia(
            "dura a temperatura τ",
            "La parte dura es a temperatura 1.",
            "student.log_softmax(dim=-1)[known",
            "(student / temperature).log_softmax(dim=-1)[known",
        ),
        cambia(
            "entropía cruzada",
            "Es la entropía cruzada con el maestro: para la divergencia falta restar la entropía"
            " de este.",
            "(log_p - log_q)",
            "(-log_q)",
        ),
        cambia(
            "media del vocabulario",
            "Se promedia en los ejemplos; en el vocabulario se suma. (En `F.kl_div`, eso es"
            " `batchmean`.)",
            ".sum(dim=-1).mean()",
            ".mean()",
        ),
        cambia(
            "suma del lote",
            "La parte blanda se promedia en los ejemplos: aquí se suma.",
            ".sum(dim=-1).mean()",
            ".sum()",
        ),
        cambia(
            "pesos cambiados",
            "Los pesos están cambiados: `hard` es el de la dura.",
            "return (1 - hard) * soft - hard * log_right.mean()",
            "return hard * soft - (1 - hard) * log_right.mean()",
            "return (1 - hard) * soft\n",
            "return hard * soft\n",
        ),
        cambia(
            "blanda entera",
            "La parte blanda lleva delante 1 − `hard`.",
            "return (1 - hard) * soft - hard * log_right.mean()",
            "return soft - hard * log_right.mean()",
            "return (1 - hard) * soft\n",
            "return soft\n",
        ),
        cambia(
            "sin dura, entera",
            "Sin ninguna respuesta la dura vale 0, pero la blanda sigue llevando 1 − `hard`.",
            "return (1 - hard) * soft\n",
            "return soft\n",
        ),
        cambia(
            "τ² en las dos",
            "El τ² es solo de la parte blanda.",
            "hard * log_right.mean()",
            "hard * temperature**2 * log_right.mean()",
        ),
        cambia(
            "gradiente al maestro",
            "El valor es bueno, pero al maestro le llega gradiente.",
            "teacher.detach()",
            "teacher",
        ),
        cambia(
            "el −1 es una clase",
            "Un −1 dice que no hay respuesta. Como índice, en PyTorch, es la última clase.",
            "labels >= 0",
            "labels >= -1",
        ),
        cambia(
            "promedia todos",
            "La dura se promedia entre los ejemplos con respuesta, no entre todos.",
            "hard * log_right.mean()",
            "hard * log_right.sum() / len(labels)",
        ),
        cambia(
            "blanda solo con respuesta",
            "La parte blanda cuenta en todos los ejemplos, tengan o no respuesta.",
            "soft = temperature**2 * (log_p.exp() * (log_p - log_q)).sum(dim=-1).mean()",
            "gap = temperature**2 * (log_p.exp() * (log_p - log_q)).sum(dim=-1)\n"
            "    soft = (gap[labels >= 0] if (labels >= 0).any() else 0 * gap).mean()",
        ),
        cambia(
            "nadie responde",
            "Si no hay ninguna respuesta, la media de nada es NaN: la parte dura vale 0.",
            "if not known.any():",
            "if False:",
        ),
        cambia(
            "logaritmo de un cero",
            "El logaritmo de una probabilidad que se ha quedado en 0 es −∞: usa `log_softmax`.",
            "(student / temperature).log_softmax(dim=-1)",
            "(student / temperature).softmax(dim=-1).log()",
        ),
    ),
)

# --- 18.6 -----------------------------------------------------------------------------------------


def _casos_respuesta(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, hechas: Any, escala: float = 1.0) -> Caso:
        """``hechas(turno, palabras, …)`` da las filas; las marcas cambian de un caso a otro."""
        vocab = entero(rng, 9, 14)
        usuario, asistente, fin, relleno, *palabras = permutacion(rng, vocab)

        def turno(quien: str, largo: int) -> list[int]:
            """Un turno entero, con ``largo`` palabras."""
            dichas = [palabras[entero(rng, 0, len(palabras) - 1)] for _ in range(largo)]
            return [{"u": usuario, "a": asistente}[quien], *dichas, fin]

        filas = hechas(turno, fin, relleno)
        n = max(map(len, filas))
        filas = [fila + [relleno] * (n - len(fila)) for fila in filas]
        puntos = escala * normal(rng, len(filas), n, vocab)
        return Caso(propiedad, (puntos, torch.tensor(filas)), {"assistant": asistente, "end": fin})

    def uno(turno: Any, fin: int, relleno: int) -> list[list[int]]:
        return [turno("u", entero(rng, 1, 3)) + turno("a", entero(rng, 1, 3)) for _ in range(2)]

    def varios(turno: Any, fin: int, relleno: int) -> list[list[int]]:
        filas: list[list[int]] = []
        for _ in range(entero(rng, 2, 3)):
            filas.append([])
            for _ in range(entero(rng, 2, 3)):
                filas[-1] += turno("u", entero(rng, 1, 2)) + turno("a", entero(rng, 1, 3))
        return filas

    def acaba_quien_pregunta(turno: Any, fin: int, relleno: int) -> list[list[int]]:
        fila = turno("a", entero(rng, 1, 2)) + turno("u", 2) + turno("a", 0) + turno("u", 1)
        return [fila, turno("u", 1) + turno("a", 1) + turno("u", entero(rng, 1, 3))]

    def cortados(turno: Any, fin: int, relleno: int) -> list[list[int]]:
        """La más larga se corta a mitad de respuesta; en la otra, tras el fin hay más fines."""
        larga = turno("u", 2) + turno("a", 1) + turno("u", 1) + turno("a", entero(rng, 2, 4))[:-1]
        corta = turno("u", entero(rng, 1, 2)) + turno("a", 1)
        return [larga, corta, corta + [fin] * (len(larga) - len(corta))]

    def marca_al_final(turno: Any, fin: int, relleno: int) -> list[list[int]]:
        fila = turno("u", 1) + turno("a", entero(rng, 2, 3)) + turno("u", 1)
        return [fila + turno("a", 0)[:1], turno("u", 2) + turno("a", 1)]

    def desigual(turno: Any, fin: int, relleno: int) -> list[list[int]]:
        """Una respuesta larga, otra corta y una pregunta que nadie responde."""
        larga = turno("u", 1) + turno("a", entero(rng, 5, 8))
        return [larga, turno("u", 2) + turno("a", 0), turno("u", entero(rng, 2, 4))]

    return [
        caso("un turno", uno),
        caso("un turno", uno),
        caso("varios turnos", varios),
        caso("varios turnos", varios),
        caso("varios turnos", acaba_quien_pregunta),
        caso("cortes y relleno", cortados),
        caso("cortes y relleno", marca_al_final),
        caso("lote desigual", desigual),
        caso("lote desigual", desigual),
        caso("puntuaciones grandes", varios, 900.0),
    ]


_RESPUESTA = Ejercicio(
    id="18.6",
    nombre="answer_loss",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="ajustar con instrucciones: qué tokens de un diálogo se aprenden y con qué pérdida",
    bordes=(
        "len(ids) == 3",
        "(ids[:, -1] == assistant).any()",
        "not (ids == assistant).any(1).all()",
        Borde("un turno", {0: 0, 1: 0}),
    ),
    casos=_casos_respuesta,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[0.0, 0.0, 0.0, 0.0, 0.0]] * 4 + [[0.0, 0.0, 2.0, 0.0, 0.0]] * 2]),
            tensor([[1, 4, 2, 0, 3, 2]]),
        ),
        {"assistant": 0, "end": 2},
    ),
    propiedades={
        "un turno": (2, "Se aprende lo que va tras la marca, hasta su `end`, que se aprende."),
        "varios turnos": (3, "Tras el `end` habla otro; más tarde puede volver el asistente."),
        "cortes y relleno": (2, "Lo que va tras un `end` ya no es respuesta, aunque sea otro."),
        "lote desigual": (2, "Una sola media, entre todos los tokens del lote."),
        "puntuaciones grandes": (1, "Con `log_softmax` no se toma el logaritmo de un cero."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe una fila con tres turnos y subraya lo que tiene que aprender a escribir.",
        "Recorre la fila con una variable que diga si habla el asistente. ¿Antes o después de"
        " cambiarla se apunta el token?",
        "Al token t lo puntúa el sitio t − 1: a la máscara y a los tokens se les quita la primera"
        " columna, y a las puntuaciones, la última.",
    ),
    mutantes=(
        cambia(
            "con la marca",
            "La marca del asistente no se aprende: la pone quien pregunta.",
            "taken[t] = speaking",
            "taken[t] = speaking or token == assistant",
        ),
        cambia(
            "sin el end",
            "El `end` también se aprende: si no, no sabría parar.",
            "taken[t] = speaking",
            "taken[t] = speaking and token != end",
        ),
        cambia(
            "todos los end",
            "Solo se aprende el `end` que cierra una respuesta, no el de quien pregunta.",
            "taken[t] = speaking",
            "taken[t] = speaking or token == end",
        ),
        cambia(
            "lo que preguntan",
            "Está al revés: se aprende lo que dice el asistente.",
            "taken[t] = speaking",
            "taken[t] = not speaking",
        ),
        cambia(
            "solo la primera",
            "Un diálogo puede tener más de una respuesta, y se aprenden todas.",
            "            elif token == end:\n                speaking = False",
            "            elif token == end and speaking:\n                break",
        ),
        cambia(
            "solo la última",
            "Solo se aprende la última respuesta de cada diálogo; se piden todas.",
            "                speaking = True",
            "                taken[:] = False\n                speaking = True",
        ),
        cambia(
            "no se calla",
            "Tras el `end` del asistente habla otro, o hay relleno: eso no se aprende.",
            "elif token == end:",
            "elif False:",
        ),
        cambia(
            "corrida",
            "Al token t lo puntúa el sitio t − 1; aquí, el propio t.",
            "logits[:, :-1]",
            "logits[:, 1:]",
        ),
        cambia(
            "pérdida con la máscara corrida",
            "La pérdida usa la máscara un sitio antes: se cuenta la marca y no el `end`.",
            "log_right[mask[:, 1:]]",
            "log_right[mask.roll(1, 1)[:, 1:]]",
        ),
        cambia(
            "máscara de quien puntúa",
            "La máscara va en el sitio de cada token, no en el del que lo puntúa.",
            "return mask, -log",
            "return torch.cat([mask[:, 1:], mask[:, :1]], 1), -log",
        ),
        cambia(
            "todo el texto",
            "La pérdida es solo la de la respuesta: aquí se promedian todos los tokens.",
            "log_right[mask[:, 1:]]",
            "log_right",
        ),
        cambia(
            "suma",
            "La pérdida es la media de esos tokens: falta dividir.",
            "log_right[mask[:, 1:]].mean()",
            "log_right[mask[:, 1:]].sum()",
        ),
        cambia(
            "divide entre todos",
            "Se divide entre los tokens que se aprenden, no entre todos.",
            "log_right[mask[:, 1:]].mean()",
            "(log_right * mask[:, 1:]).mean()",
        ),
        cambia(
            "media de medias",
            "Es una sola media, entre los tokens del lote; aquí se promedia por filas.",
            "-log_right[mask[:, 1:]].mean()",
            "-((log_right * mask[:, 1:]).sum(1) / mask.sum(1).clamp(min=1))[mask.any(1)].mean()",
        ),
        cambia(
            "signo",
            "La pérdida es menos el logaritmo: sale positiva.",
            "-log_right[mask[:, 1:]]",
            "log_right[mask[:, 1:]]",
        ),
        cambia(
            "logaritmo de un cero",
            "El logaritmo de una probabilidad que se ha quedado en 0 es −∞: usa `log_softmax`.",
            ".log_softmax(dim=-1)",
            ".softmax(dim=-1).log()",
        ),
    ),
)

# --- 18.7 -----------------------------------------------------------------------------------------


def _casos_dpo(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ruido: float | None, parejas: int) -> Caso:
        filas = tuple(-uniforme(rng, 1.0, 9.0, parejas) for _ in range(4))
        pide = {"beta": real(rng, 0.2, 0.9)}
        return Caso(propiedad, filas, pide if ruido is None else {**pide, "flip": ruido})

    def enorme(ruido: float) -> Caso:
        """La primera pareja, separada del todo; la segunda, al revés."""
        lejos = tensor([900.0, 0.0, 0.0]) + uniforme(rng, 1.0, 9.0, 3)
        cerca = tensor([0.0, 900.0, 0.0]) + uniforme(rng, 1.0, 9.0, 3)
        filas = (-cerca, -lejos, -uniforme(rng, 1.0, 9.0, 3), -uniforme(rng, 1.0, 9.0, 3))
        return Caso("márgenes grandes", filas, {"beta": real(rng, 1.5, 3.0), "flip": ruido})

    return [
        caso("sin ruido", None, entero(rng, 2, 3)),
        caso("sin ruido", None, entero(rng, 4, 6)),
        caso("sin ruido", 0.0, entero(rng, 2, 4)),
        caso("con ruido", real(rng, 0.05, 0.2), entero(rng, 2, 4)),
        caso("con ruido", real(rng, 0.25, 0.45), entero(rng, 3, 5)),
        enorme(0.0),
        enorme(real(rng, 0.1, 0.3)),
    ]


_DPO = Ejercicio(
    id="18.7",
    nombre="dpo",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="escribir la pérdida de DPO y saber cuánto empuja cada pareja",
    bordes=("flip == 0", "len(policy_chosen) == 1", Borde("sin ruido", {0: 0, 1: 0, 2: 0, 3: 0})),
    casos=_casos_dpo,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([-1.0, -4.0]), tensor([-3.0, -2.0]), tensor([-2.0, -2.0]), tensor([-2.0, -2.0])),
        {"beta": 0.5},
    ),
    propiedades={
        "sin ruido": (4, "Sin ruido es la DPO de siempre. Deriva la pérdida de una pareja."),
        "con ruido": (3, "Deriva los dos términos respecto del margen."),
        "márgenes grandes": (2, "σ de un número muy negativo es 0: su logaritmo, aparte."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz primero una sola pareja, con lápiz, y comprueba el coeficiente con autograd.",
        "La derivada de −log σ(m) respecto de m es −σ(−m). ¿Y la de −log σ(−m)?",
        "El coeficiente es menos la derivada de la pérdida del lote respecto del margen, por la"
        " derivada del margen respecto de una log-probabilidad.",
    ),
    mutantes=(
        cambia(
            "sin referencia",
            "Falta la referencia: la recompensa implícita compara con ella.",
            "policy_chosen - reference_chosen",
            "policy_chosen",
            "policy_rejected - reference_rejected",
            "policy_rejected",
        ),
        cambia(
            "sin beta",
            "El margen lleva β delante.",
            "beta * (chosen - rejected)",
            "(chosen - rejected)",
        ),
        cambia(
            "margen sin beta",
            "La pérdida lleva β, pero al margen que se devuelve le falta.",
            "losses.mean(), margin,",
            "losses.mean(), chosen - rejected,",
        ),
        cambia(
            "al revés",
            "Está al revés: se resta la recompensa de la rechazada.",
            "chosen - rejected)",
            "rejected - chosen)",
        ),
        cambia(
            "suma",
            "El margen es una resta: la recompensa de una menos la de la otra.",
            "chosen - rejected)",
            "chosen + rejected)",
        ),
        cambia(
            "coeficiente sin beta",
            "Al coeficiente le falta β: el margen la lleva delante.",
            "beta * push / len(margin)",
            "push / len(margin)",
        ),
        cambia(
            "coeficiente sin media",
            "La pérdida es la media: el coeficiente de una pareja se divide entre cuántas hay.",
            "beta * push / len(margin)",
            "beta * push",
        ),
        cambia(
            "pérdida sumada",
            "La pérdida del lote es la media de las parejas.",
            "losses.mean()",
            "losses.sum()",
        ),
        cambia(
            "empuja las fáciles",
            "Se empujan más las parejas que el modelo ordena al revés: es σ(−m), no σ(m).",
            "(1 - flip) * torch.sigmoid(-margin) - flip * torch.sigmoid(margin)",
            "(1 - flip) * torch.sigmoid(margin) - flip * torch.sigmoid(-margin)",
        ),
        cambia(
            "coeficiente negativo",
            "El signo menos ya está delante de la suma: el coeficiente va sin él.",
            "beta * push / len(margin)",
            "-beta * push / len(margin)",
        ),
        cambia(
            "sin ruido",
            "Falta `flip` en la pérdida y en el coeficiente.",
            "-(1 - flip) * F.logsigmoid(margin) - flip * F.logsigmoid(-margin)",
            "-F.logsigmoid(margin)",
            "(1 - flip) * torch.sigmoid(-margin) - flip * torch.sigmoid(margin)",
            "torch.sigmoid(-margin)",
        ),
        cambia(
            "coeficiente sin ruido",
            "La pérdida tiene en cuenta `flip`, y el coeficiente, no.",
            "(1 - flip) * torch.sigmoid(-margin) - flip * torch.sigmoid(margin)",
            "torch.sigmoid(-margin)",
        ),
        cambia(
            "ruido que suma",
            "El término cambiado empuja en sentido contrario: resta.",
            "torch.sigmoid(-margin) - flip",
            "torch.sigmoid(-margin) + flip",
        ),
        cambia(
            "ruido de más",
            "El primer término lleva 1 − ε: los dos pesos suman 1.",
            "-(1 - flip) * F.logsigmoid(margin)",
            "-F.logsigmoid(margin)",
            "(1 - flip) * torch.sigmoid(-margin)",
            "torch.sigmoid(-margin)",
        ),
        cambia(
            "logaritmo de un cero",
            "σ de un número muy negativo es 0, y su logaritmo, −∞: usa `F.logsigmoid`.",
            "F.logsigmoid(margin)",
            "torch.sigmoid(margin).log()",
        ),
    ),
)

# --- 18.8 -----------------------------------------------------------------------------------------


def _casos_politica(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, n: int, escala: float = 1.0, lote: int = 2) -> Caso:
        """En la primera pregunta, las dos primeras muestras son distintas."""
        cuantas = entero(rng, 3, 5)
        salen = torch.randint(cuantas, (lote, n), generator=rng)
        salen[0, :2] = torch.tensor(permutacion(rng, cuantas)[:2])
        puntos = [normal(rng, lote, cuantas) for _ in range(3)]
        puntos[2] = 2 * escala * puntos[2]
        return Caso(propiedad, (*puntos, salen), {"beta": real(rng, 0.3, 0.8)})

    return [
        caso("varias muestras", entero(rng, 4, 6)),
        caso("varias muestras", 3, lote=3),
        caso("varias muestras", entero(rng, 7, 9)),
        caso("dos muestras", 2),
        caso("dos muestras", 2, lote=entero(rng, 3, 4)),
        caso("recompensas grandes", entero(rng, 3, 4), 2000.0),
    ]


_POLITICA = Ejercicio(
    id="18.8",
    nombre="policy_step",
    tipo="escribir",
    dificultad=3,
    minutos=40,
    aprende="estimar el gradiente de política con freno y saber a qué política lleva",
    bordes=(
        "drawn.shape[1] == 2",
        "drawn.shape[1] > policy.shape[1]",
        Borde("dos muestras", {0: 0, 1: 0, 2: 0, 3: 0}),
    ),
    casos=_casos_politica,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.0, 0.0], [0.0, 0.0]]),
            tensor([[1.0, 0.0], [0.0, 0.0]]),
            tensor([[1.0, 0.0], [0.0, 2.0]]),
            tensor([[0, 1], [1, 1]]),
        ),
        {"beta": 1.0},
    ),
    propiedades={
        "varias muestras": (5, "Para cada muestra: su ventaja por un 1 en lo que salió menos π."),
        "dos muestras": (3, "Con dos muestras, la línea de base de cada una es la otra."),
        "recompensas grandes": (2, "El óptimo se calcula con logaritmos: e elevado a miles es ∞."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe el caso de dos respuestas y dos muestras distintas. ¿Cuánto suman sus ventajas?",
        "El gradiente de log π(y) respecto de las puntuaciones es un vector con un 1 en y, menos π."
        " La media de las demás se saca de la suma de todas.",
        "El mejor cambia la referencia en proporción a e elevado a la recompensa entre β: en"
        " logaritmos, una suma que se normaliza.",
    ),
    mutantes=(
        cambia(
            "con ella misma",
            "La línea de base incluye a la propia muestra: se pide la media de las otras.",
            "(net.sum(dim=1, keepdim=True) - net) / (n - 1)",
            "net.mean(dim=1, keepdim=True)",
        ),
        cambia(
            "entre n",
            "Las otras son n − 1: se divide entre eso.",
            "/ (n - 1)",
            "/ n",
        ),
        cambia(
            "sin línea de base",
            "Falta restar la línea de base.",
            "advantage = net - baseline",
            "advantage = net",
        ),
        cambia(
            "base sin freno",
            "La línea de base también lleva el término de β.",
            "baseline = (net.sum(dim=1, keepdim=True) - net) / (n - 1)",
            "raw = rewards.gather(1, drawn)\n"
            "    baseline = (raw.sum(dim=1, keepdim=True) - raw) / (n - 1)",
        ),
        cambia(
            "base de todo el lote",
            "La línea de base es de la misma pregunta, no de todo el lote.",
            "(net.sum(dim=1, keepdim=True) - net) / (n - 1)",
            "(net.sum() - net) / (net.numel() - 1)",
        ),
        cambia(
            "sin freno",
            "Falta restar β log(π / π_ref) a la recompensa.",
            "rewards - beta * (log_p - log_ref)",
            "rewards",
        ),
        cambia(
            "freno que empuja",
            "El freno resta cuando π pasa de π_ref; aquí suma.",
            "rewards - beta *",
            "rewards + beta *",
        ),
        cambia(
            "freno sin referencia",
            "El freno compara con la referencia: falta su log-probabilidad.",
            "(log_p - log_ref)",
            "log_p",
        ),
        cambia(
            "deriva el freno",
            "Dentro de la ventaja no se deriva: el freno es un número más.",
            "(advantage[..., None] * score)",
            "((advantage - beta)[..., None] * score)",
        ),
        cambia(
            "desciende",
            "Es el gradiente de lo que se quiere hacer máximo: tiene el signo contrario.",
            "return gradient,",
            "return -gradient,",
        ),
        cambia(
            "suma",
            "Es la media entre las muestras, no la suma.",
            "score).mean(dim=1)",
            "score).sum(dim=1)",
        ),
        cambia(
            "media del lote",
            "Cada pregunta va por separado: no se divide entre cuántas hay.",
            "return gradient,",
            "return gradient / len(policy),",
        ),
        cambia(
            "como GRPO",
            "Dividir la ventaja entre la desviación de su grupo es GRPO; aquí no se divide.",
            "advantage = net - baseline",
            "advantage = (net - baseline) / (net.std(dim=1, keepdim=True) + 1e-6)",
        ),
        cambia(
            "óptimo sin referencia",
            "Al óptimo le falta la referencia: con β grande se queda en ella.",
            "(log_ref + rewards / beta)",
            "(rewards / beta)",
        ),
        cambia(
            "óptimo desde la política",
            "El óptimo no depende de la política de ahora: sale de la referencia.",
            "(log_ref + rewards / beta)",
            "(log_p + rewards / beta)",
        ),
        cambia(
            "por beta",
            "La recompensa se divide entre β: cuanto menor es, más pesa la recompensa.",
            "rewards / beta",
            "rewards * beta",
        ),
        cambia(
            "sin beta",
            "Al óptimo le falta β, que divide a la recompensa.",
            "rewards / beta",
            "rewards",
        ),
        cambia(
            "sin normalizar",
            "Las probabilidades del óptimo suman 1: falta normalizar.",
            "(log_ref + rewards / beta).log_softmax(dim=-1)",
            "log_ref + rewards / beta",
        ),
        cambia(
            "probabilidades",
            "Se piden las log-probabilidades del óptimo.",
            "(log_ref + rewards / beta).log_softmax(dim=-1)",
            "(log_ref + rewards / beta).softmax(dim=-1)",
        ),
        cambia(
            "desborda",
            "e elevado a miles es infinito: el óptimo se calcula con logaritmos.",
            "(log_ref + rewards / beta).log_softmax(dim=-1)",
            "(log_ref.exp() * (rewards / beta).exp() / (log_ref.exp() * (rewards / beta).exp())"
            ".sum(-1, keepdim=True)).log()",
        ),
    ),
)

EJERCICIOS = [
    _LORA,
    _A_CERO,
    _A_MANO,
    _DESCONGELAR,
    _DESTILAR,
    _RESPUESTA,
    _DPO,
    _POLITICA,
]
