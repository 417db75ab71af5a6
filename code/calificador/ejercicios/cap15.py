"""Ejercicios del capítulo 15, «Codificadores: BERT»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
    elige,
    entero,
    normal,
    permutacion,
    real,
    relleno,
    tensor,
    uniforme,
)
from calificador.registro import Caso, Ejercicio, Mutante, cambia, cuerpo
from calificador.vetos import ATENTO, CAPAS

# --- 15.1 -----------------------------------------------------------------------------------------

_MIL = Ejercicio(
    id="15.1",
    nombre="masking_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    tolerancia=2.4e-3,
    aprende="contar qué ve y qué se le pregunta a un modelo con el 15 % y el reparto 80/10/10",
    propiedades={
        "altered": (1, "Las tapadas se ven distintas; de las cambiadas, no todas."),
        "intact": (1, "Hay dos maneras de que una elegida se vea como era."),
        "asked": (1, "Cuenta cuántas no se ven tapadas y, de esas, cuántas son de las elegidas."),
        "loss": (1, "A cada palabra del vocabulario se le da la misma probabilidad."),
    },
    pistas=(
        "Empieza por las elegidas, 150, y repártelas en los tres grupos.",
        "De las cambiadas, una de cada diez recibe la palabra que ya estaba.",
        "Sin tapar quedan 880 palabras; las elegidas que no se tapan son 30. Un modelo que no sabe"
        " nada da a la correcta 1/10.",
    ),
    mutantes=(
        cambia(
            "siempre otra",
            "La palabra que se pone al azar puede ser la que ya estaba.",
            "swapped / vocab",
            "0.0",
        ),
        cambia(
            "solo tapadas",
            "Las cambiadas por otra también se ven distintas.",
            "hidden + swapped - same",
            "hidden",
        ),
        cambia(
            "todas las elegidas",
            "Una parte de las elegidas se deja como era.",
            "hidden + swapped - same",
            "chosen",
        ),
        cambia(
            "sin preguntar",
            "Se piden solo aquellas por las que se pregunta: las elegidas.",
            "left + same",
            "left + same + words - chosen",
        ),
        cambia(
            "entre todas",
            "Se pide de las que no se ven tapadas, que no son mil.",
            "(chosen - hidden) / (words - hidden)",
            "(chosen - hidden) / words",
        ),
        cambia(
            "entre las no elegidas",
            "Entre las que no se ven tapadas están también las elegidas que se cambian o se dejan.",
            "(chosen - hidden) / (words - hidden)",
            "(chosen - hidden) / (words - chosen)",
        ),
        cambia(
            "solo las dejadas",
            "También se pregunta por las cambiadas, y esas no se ven tapadas.",
            "100 * (chosen - hidden)",
            "100 * left",
        ),
        cambia(
            "el quince por ciento",
            "Eso es de todas las palabras; casi todas las elegidas se ven tapadas.",
            "100 * (chosen - hidden) / (words - hidden)",
            "100 * chosen / words",
        ),
        cambia(
            "en bits",
            "La pérdida se pide en nats: logaritmo natural.",
            "math.log(vocab)",
            "math.log2(vocab)",
        ),
        cambia(
            "decimal",
            "La pérdida se pide en nats: ese logaritmo es el decimal.",
            "math.log(vocab)",
            "math.log10(vocab)",
        ),
        cambia(
            "por las elegidas",
            "La pérdida es la media de las elegidas: no se multiplica por su proporción.",
            "math.log(vocab)",
            "0.15 * math.log(vocab)",
        ),
    ),
)

# --- 15.2 -----------------------------------------------------------------------------------------

_SIN_TAPAR = Ejercicio(
    id="15.2",
    nombre="uncovered_loss",
    tipo="predecir",
    dificultad=1,
    minutos=4,
    aprende="por qué un modelo que mira a los dos lados necesita que se le tape algo",
    propiedades={"respuesta": (2, "¿Qué le hace falta saber a cada posición para acertar?")},
    opciones=(
        "baja casi a cero",
        "se queda en la de un modelo que lee de izquierda a derecha",
        "baja más despacio, hasta donde la de BERT",
        "se queda en ln V",
    ),
    pistas=(
        "Sigue el camino de una palabra desde la entrada hasta la posición que tiene que decirla.",
        "Ninguna máscara le impide a una posición mirarse, y la suma residual la lleva hasta el"
        " final.",
    ),
    mutantes=(
        cuerpo(
            "causal",
            "Eso pediría una máscara que escondiera lo que va detrás, y aquí no hay ninguna.",
            "return 'se queda en la de un modelo que lee de izquierda a derecha'",
        ),
        cuerpo(
            "como BERT",
            "A BERT le falta la palabra que tiene que decir; a este no le falta nada.",
            "return 'baja más despacio, hasta donde la de BERT'",
        ),
        cuerpo(
            "no aprende",
            "Algo sí aprende, y muy deprisa: hay una manera fácil de acertar siempre.",
            "return 'se queda en ln V'",
        ),
    ),
)

# --- 15.3 -----------------------------------------------------------------------------------------


def _casos_tapar(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, *, fraction: float = 0.15, solo: bool = False) -> Caso:
        """La mitad de las palabras se eligen; con ``solo``, todas ellas se tapan y no hay marcas.

        En cada fila hay elegidas de las tres suertes, y los sorteos de las marcas son de elegida.
        """
        batch, n = entero(rng, 2, 3), entero(rng, 8, 11)
        pad, cls, sep, mask_id = 0, *(1 + i for i in permutacion(rng, 3))
        ids = torch.randint(5, 30, (batch, n), generator=rng)
        marcas = torch.zeros(batch, n, dtype=torch.bool)
        if not solo:
            largos = torch.randint(6, n, (batch, 1), generator=rng)
            sitios = torch.arange(n).expand(batch, n)
            ids = ids.masked_fill(sitios == 0, cls).masked_fill(sitios == largos, sep)
            ids = ids.masked_fill(sitios > largos, pad)
            marcas = (sitios == 0) | (sitios >= largos)
        orden = torch.rand(batch, n, generator=rng).masked_fill(marcas, 2.0).argsort(1).argsort(1)
        bajo = (orden < 3) | marcas
        chance = torch.where(
            bajo, uniforme(rng, 0, 0.9, batch, n) * fraction, uniforme(rng, fraction, 1, batch, n)
        )
        chance = chance.where(bajo | (chance >= fraction), tensor(1.0))
        tramos = tensor([[0.0, 0.8], [0.8, 0.1], [0.9, 0.1]])[torch.where(orden < 3, orden, 0)]
        suerte = tramos[..., 0] + tramos[..., 1] * uniforme(rng, 0.1, 0.9, batch, n)
        fate = 0.75 * uniforme(rng, 0, 1, batch, n) if solo else suerte
        other = torch.randint(30, 40, (batch, n), generator=rng)
        special = [(pad, cls, sep, mask_id)[i] for i in permutacion(rng, 4)]
        nombres = {"mask_id": mask_id, "special": special}
        if fraction != 0.15:
            nombres["fraction"] = fraction
        return Caso(propiedad, (ids, chance, fate, other), nombres)

    return [
        caso("solo se tapa", solo=True),
        caso("solo se tapa", solo=True),
        caso("tres suertes"),
        caso("tres suertes"),
        caso("otra proporción", fraction=real(rng, 0.3, 0.5)),
        caso("otra proporción", fraction=1.0),
    ]


_TAPAR = Ejercicio(
    id="15.3",
    nombre="mask_tokens",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="tapar, cambiar y dejar palabras, y decir por cuáles se pregunta",
    bordes=(
        "fraction == 1.0",
        Borde("solo se tapa", {0: (0, 1), 1: (0, 1), 2: (0, 1), 3: (0, 1)}),
    ),
    casos=_casos_tapar,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1, 7], [8, 9]]),
            tensor([[0.05, 0.12], [0.02, 0.40]]),
            tensor([[0.30, 0.50], [0.85, 0.20]]),
            tensor([[5, 6], [6, 5]]),
        ),
        {"mask_id": 3, "special": [0, 1, 2, 3]},
    ),
    propiedades={
        "solo se tapa": (2, "Lo que no se elige se ve como era, y por ello no se pregunta."),
        "tres suertes": (4, "Escribe en papel qué se ve y qué se pregunta en cada suerte."),
        "otra proporción": (2, "La proporción de las elegidas es un argumento."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz primero la tabla de verdadero y falso de las elegidas; lo demás sale de ella.",
        "Un sorteo elige; el otro parte las elegidas en tres.",
        "Las etiquetas llevan la palabra que había en todas las elegidas, y 0 en lo demás.",
    ),
    mutantes=(
        cambia(
            "todo preguntado",
            "Se pregunta solo por las elegidas: en lo demás la etiqueta es 0.",
            "torch.where(chosen, ids, 0)",
            "ids.clone()",
        ),
        cambia(
            "solo lo tapado",
            "Se pregunta por todas las elegidas: también por las cambiadas y las que se dejan.",
            "torch.where(chosen, ids, 0)",
            "torch.where(seen == mask_id, ids, 0)",
        ),
        cambia(
            "solo lo estropeado",
            "Por las elegidas que se dejan como eran también se pregunta.",
            "torch.where(chosen, ids, 0)",
            "torch.where(seen != ids, ids, 0)",
        ),
        cambia(
            "lo que se ve",
            "La etiqueta es la palabra que había, no la que se ve.",
            "torch.where(chosen, ids, 0)",
            "torch.where(chosen, seen, 0)",
        ),
        cambia(
            "también marcas",
            "Las marcas y el relleno no se eligen nunca.",
            " & ~torch.isin(ids, torch.tensor(special))",
            "",
        ),
        cambia(
            "un solo sorteo",
            "Lo que le pasa a una elegida lo decide el otro sorteo: con el que la eligió, todas se"
            " tapan.",
            "chosen & (fate < 0.8)",
            "chosen & (chance < 0.8)",
        ),
        cambia(
            "todas al azar",
            "Solo se tapan las elegidas, no todas las que tienen suerte de tapada.",
            "chosen & (fate < 0.8)",
            "(fate < 0.8)",
        ),
        cambia(
            "ninguna se deja",
            "La última décima parte de las elegidas se deja como era.",
            " & (fate < 0.9)",
            "",
        ),
        cambia(
            "suertes cambiadas",
            "Están cambiadas: el segundo tramo se cambia por otra y el último se deja.",
            "(fate >= 0.8) & (fate < 0.9)",
            "(fate >= 0.9)",
        ),
        cambia(
            "siempre quince",
            "La proporción de las elegidas llega como argumento.",
            "chance < fraction",
            "chance < 0.15",
        ),
    ),
)

# --- 15.4 -----------------------------------------------------------------------------------------


def _casos_perdida(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, *preguntas: int, pad_id: int = 0, grande: bool = False) -> Caso:
        """Una fila por cada número: por cuántas de sus palabras se pregunta."""
        n, d, vocab = 6, entero(rng, 3, 4), entero(rng, 7, 10)
        palabras = [i for i in range(vocab) if i != pad_id]
        filas = []
        for cuantas in preguntas:
            fila = [pad_id] * n
            for sitio in permutacion(rng, n)[:cuantas]:
                fila[sitio] = palabras[permutacion(rng, len(palabras))[0]]
            filas.append(fila)
        bias = normal(rng, vocab)
        if grande:
            bias = bias + 900 * (torch.arange(vocab) % 2)
        estados, tabla = normal(rng, len(filas), n, d), normal(rng, vocab, d)
        nombres = {"pad_id": pad_id}
        return Caso(propiedad, (estados, tensor(filas), tabla, bias), nombres)

    pocas, muchas = entero(rng, 1, 2), entero(rng, 4, 5)
    return [
        caso("una frase", entero(rng, 2, 4)),
        caso("una frase", entero(rng, 3, 5)),
        caso("varias frases", muchas, pocas),
        caso("varias frases", pocas, muchas, 3),
        caso("varias frases", 2, muchas, pad_id=entero(rng, 2, 6)),
        caso("nada que adivinar", 0, 0),
        caso("nada que adivinar", 0, muchas, 0),
        caso("puntuaciones grandes", 3, 2, grande=True),
        caso("puntuaciones grandes", 4, 1, grande=True),
    ]


_PERDIDA = Ejercicio(
    id="15.4",
    nombre="masked_loss",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="calcular la pérdida de las palabras tapadas sin puntuar las demás",
    bordes=(
        "(labels == pad_id).all()",
        "enorme(bias)",
        "pad_id > 0",
    ),
    casos=_casos_perdida,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            tensor([[0, 2]]),
            tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
            tensor([0.0, 0.0, 0.5]),
        ),
    ),
    propiedades={
        "una frase": (2, "Puntúa a mano una posición: un número por palabra del vocabulario."),
        "varias frases": (3, "Todas las preguntas pesan lo mismo, sean de la frase que sean."),
        "nada que adivinar": (1, "Sin preguntas no hay media: se pide 0."),
        "puntuaciones grandes": (2, "La exponencial de 900 no cabe en un número."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Quédate primero con los estados y las etiquetas por los que se pregunta.",
        "Las puntuaciones salen de comparar cada estado con cada fila de la tabla, más el sesgo.",
        "Lo que cuesta una palabra es el logaritmo de la suma de exponenciales, menos su"
        " puntuación; se promedia entre las preguntas de todo el lote.",
    ),
    mutantes=(
        cambia(
            "por frase",
            "Se promedian todas las preguntas del lote a la vez, no las medias de las frases.",
            "return (scores.logsumexp(dim=1) - wanted).mean()",
            "each = scores.logsumexp(dim=1) - wanted\n"
            "    where = asked.nonzero()[:, 0]\n"
            "    return torch.stack([each[where == i].mean() for i in where.unique()]).mean()",
        ),
        cambia(
            "entre todas",
            "Se divide entre las preguntas, no entre todas las posiciones.",
            "return (scores.logsumexp(dim=1) - wanted).mean()",
            "return (scores.logsumexp(dim=1) - wanted).sum() / labels.numel()",
        ),
        cambia(
            "suma",
            "Falta dividir entre el número de preguntas.",
            "- wanted).mean()",
            "- wanted).sum()",
        ),
        cambia(
            "también el resto",
            "Donde la etiqueta es el relleno no se pregunta nada: esas posiciones no cuentan.",
            "asked = labels != pad_id",
            "asked = labels > -1",
        ),
        cambia(
            "media de nada",
            "Sin ninguna pregunta, la media de una lista vacía es NaN: se pide 0.",
            "if not asked.any():",
            "if labels.numel() == 0:",
        ),
        cambia("sin sesgo", "A cada puntuación se le suma el sesgo de su palabra.", " + bias", ""),
        cambia(
            "sin restar el máximo",
            "Con puntuaciones grandes la exponencial desborda: se resta antes la mayor.",
            "scores.logsumexp(dim=1)",
            "scores.exp().sum(dim=1).log()",
        ),
        cambia(
            "relleno fijo",
            "El número del relleno es un argumento: el 0 puede ser una palabra.",
            "labels != pad_id",
            "labels != 0",
        ),
        cambia(
            "solo la puntuación",
            "Falta el logaritmo de la suma de exponenciales: eso es solo la puntuación, sin"
            " convertirla en probabilidad.",
            "(scores.logsumexp(dim=1) - wanted)",
            "(-wanted)",
        ),
        cambia(
            "sin logaritmo",
            "Eso es lo que le falta a la probabilidad para llegar a 1; se pide su logaritmo.",
            "(scores.logsumexp(dim=1) - wanted)",
            "(1 - (wanted - scores.logsumexp(dim=1)).exp())",
        ),
    ),
)

# --- 15.5 -----------------------------------------------------------------------------------------


def _casos_parecido(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, tapa: str = "") -> Caso:
        """Con lo tapado, estados grandes: quien los sume lo nota."""
        batch, n, d = entero(rng, 3, 4), entero(rng, 5, 7), entero(rng, 2, 4)
        real_ = torch.ones(batch, n, dtype=torch.bool)
        if tapa:
            real_ = relleno(rng, batch, n)
        if tapa == "salteado":
            real_ = torch.stack([fila[permutacion(rng, n)] for fila in real_])
        if tapa == "vacía":
            real_[permutacion(rng, batch)[0]] = False
        states = normal(rng, batch, n, d) + normal(rng, d)
        states = states + 3 * (~real_).unsqueeze(-1) * normal(rng, batch, n, d)
        return Caso(propiedad, (states, real_))

    return [
        caso("sin relleno"),
        caso("sin relleno"),
        caso("con relleno", "al final"),
        caso("con relleno", "al final"),
        caso("con relleno", "salteado"),
        caso("una frase vacía", "vacía"),
        caso("una frase vacía", "vacía"),
    ]


_PARECIDO = Ejercicio(
    id="15.5",
    nombre="compare_sentences",
    tipo="escribir",
    dificultad=2,
    minutos=18,
    aprende="resumir frases con la media de sus estados y compararlas con el coseno",
    bordes=(
        "(~real).all(1).any()",
        Borde("sin relleno", {0: (0, 1), 1: (0, 1)}),
    ),
    casos=_casos_parecido,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [9.0, 9.0]]]),
            tensor([[True, True], [True, False]]),
        ),
    ),
    propiedades={
        "sin relleno": (2, "Primero la media de cada frase; después, el coseno de cada dos."),
        "con relleno": (3, "El relleno ni se suma ni se cuenta."),
        "una frase vacía": (2, "Su vector es cero, y su coseno con cualquiera, también con ella."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "El coseno es el producto de dos vectores de longitud 1.",
        "Pon a cero los estados del relleno y divide la suma entre las palabras que quedan.",
        "Para que la frase vacía dé 0 y no NaN, no dividas entre 0 ni al promediar ni al igualar"
        " las longitudes.",
    ),
    mutantes=(
        cambia(
            "con relleno",
            "El relleno no es de la frase: ni se suma ni se cuenta.",
            "states.masked_fill(~real.unsqueeze(-1), 0.0)",
            "states",
            "real.sum(dim=1, keepdim=True)",
            "torch.ones_like(real).sum(dim=1, keepdim=True)",
        ),
        cambia(
            "entre el ancho",
            "Se divide entre las palabras de cada frase, no entre el ancho del lote.",
            "real.sum(dim=1, keepdim=True)",
            "torch.ones_like(real).sum(dim=1, keepdim=True)",
        ),
        cambia(
            "suma",
            "Eso es la suma de los estados; el vector de la frase es su media.",
            "vectors = total / real.sum(dim=1, keepdim=True).clamp(min=1)",
            "vectors = total",
        ),
        cambia(
            "el primero",
            "Eso es el primer estado de cada frase; se pide la media de todos.",
            "vectors = total / real.sum(dim=1, keepdim=True).clamp(min=1)",
            "vectors = states[:, 0] * real.any(dim=1, keepdim=True)",
        ),
        cambia(
            "sin longitudes",
            "Falta dividir entre las longitudes: eso es el producto escalar, no el coseno.",
            "vectors / torch.where(length > 0, length, 1.0)",
            "vectors",
        ),
        cambia(
            "media de unitarios",
            "Las longitudes se igualan después de promediar: antes, cada palabra pesaría lo mismo.",
            "total = states.masked_fill",
            "total = (states / states.norm(dim=-1, keepdim=True)).masked_fill",
        ),
        cambia(
            "entre nada",
            "Una frase vacía no se divide entre cero palabras: su vector es cero.",
            ".clamp(min=1)",
            "",
        ),
        cambia(
            "longitud cero",
            "El vector de una frase vacía mide cero: dividir entre su longitud da NaN.",
            "torch.where(length > 0, length, 1.0)",
            "length",
        ),
        cambia(
            "diagonal de unos",
            "Una frase vacía no se parece ni a sí misma: su coseno es 0 también en la diagonal.",
            "return vectors, units @ units.T",
            "return vectors, (units @ units.T).fill_diagonal_(1.0)",
        ),
        cambia(
            "una longitud",
            "El coseno divide entre las dos longitudes, y falta una.",
            "units @ units.T",
            "units @ vectors.T",
        ),
    ),
)

# --- 15.6 -----------------------------------------------------------------------------------------


def _casos_familia(rng: Any) -> list[Caso]:
    def caso(propiedad: str, capas: int, segmentos: int = 2, **nombres: Any) -> Caso:
        vocab, largo = distintos(rng, 50, 900, 2)
        ancho = entero(rng, 8, 40)
        if nombres.get("factor") == 0:
            nombres["factor"] = ancho
        return Caso(
            propiedad, (vocab, ancho, entero(rng, 41, 99), capas, largo, segmentos), nombres
        )

    capas, mas = distintos(rng, 2, 9, 2)
    return [
        caso("sin ahorrar", capas),
        caso("sin ahorrar", mas, elige(rng, (1, 3))),
        caso("sin ahorrar", 1, 0),
        caso("entrada estrecha", capas, factor=entero(rng, 3, 7)),
        caso("entrada estrecha", mas, 0, factor=entero(rng, 3, 7)),
        caso("entrada estrecha", 2, factor=0),
        caso("bloques compartidos", capas, shared=True),
        caso("bloques compartidos", mas, 1, shared=True, factor=entero(rng, 3, 7)),
    ]


_FAMILIA = Ejercicio(
    id="15.6",
    nombre="family_parameters",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="contar los parámetros de un codificador y lo que ahorran las dos ideas de ALBERT",
    bordes=("n_layers == 1", "n_segments == 0", "factor == d_model"),
    casos=_casos_familia,
    ejemplo=lambda: Caso("ejemplo", (10, 4, 8, 2, 6), {"factor": 2, "shared": True}),
    propiedades={
        "sin ahorrar": (
            3,
            "¿Cuántas filas tienen las tres tablas? ¿Y un bloque, cuántas matrices?",
        ),
        "entrada estrecha": (2, "¿Qué mide lo que hay antes de la capa que iguala los anchos?"),
        "bloques compartidos": (2, "Lo que se comparte se guarda una vez, se use las que se use."),
    },
    prohibido=(CAPAS,),
    pistas=(
        "Cuenta por separado la entrada y un bloque.",
        "Cada capa lineal tiene su sesgo, y cada norma, dos vectores. En un bloque hay dos normas;"
        " en la entrada, una.",
        "Con entrada estrecha, las tres tablas y su norma tienen ese ancho, y detrás va una capa"
        " lineal con sesgo hasta el del modelo.",
    ),
    mutantes=(
        cambia(
            "sin posiciones",
            "Faltan filas en la entrada: las posiciones y los segmentos también son tablas.",
            "(vocab + max_len + n_segments) * width",
            "vocab * width",
        ),
        cambia(
            "entrada sin norma",
            "La suma de las tres filas pasa por una norma, con escala y desplazamiento.",
            " + 2 * width",
            "",
        ),
        cambia(
            "sin sesgos",
            "Las cuatro capas de la atención llevan sesgo.",
            "4 * (d_model + 1) * d_model",
            "4 * d_model * d_model",
        ),
        cambia(
            "tres matrices",
            "La atención tiene cuatro matrices: falta la que une las cabezas.",
            "4 * (d_model + 1) * d_model",
            "3 * (d_model + 1) * d_model",
        ),
        cambia(
            "una norma",
            "Cada bloque tiene dos normas, con dos vectores cada una.",
            "dense + 4 * d_model",
            "dense + 2 * d_model",
        ),
        cambia(
            "sin la capa",
            "Entre la entrada estrecha y el primer bloque hace falta una capa que la ensanche.",
            "entry += (factor + 1) * d_model",
            "entry += 0",
        ),
        cambia(
            "capa sin sesgo",
            "La capa que ensancha la entrada lleva sesgo.",
            "entry += (factor + 1) * d_model",
            "entry += factor * d_model",
        ),
        cambia(
            "solo las palabras",
            "Con entrada estrecha, las tres tablas y la norma son estrechas, no solo la de"
            " palabras.",
            "(vocab + max_len + n_segments) * width + 2 * width",
            "vocab * width + (max_len + n_segments) * d_model + 2 * d_model",
        ),
        cambia(
            "cada uno el suyo",
            "Si se comparten, los bloques son uno solo repetido: se cuenta una vez.",
            "block if shared else n_layers * block",
            "n_layers * block",
        ),
        cambia(
            "solo la atención",
            "Se comparte el bloque entero: también la red densa y las normas.",
            "block if shared else n_layers * block",
            "attention + n_layers * (block - attention) if shared else n_layers * block",
        ),
    ),
)

# --- 15.7 -----------------------------------------------------------------------------------------


def _casos_respuesta(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, *filas: Any, largo: int = 0, margen: float = 0.0) -> Caso:
        """Cada fila dice dónde despuntan el comienzo y el fin, desde dónde y hasta dónde se puede
        estar, y cuánto pasa la primera posición del mejor fragmento que vale.
        """
        n = 9
        start, end = normal(rng, len(filas), n), normal(rng, len(filas), n)
        allowed = torch.zeros(len(filas), n, dtype=torch.bool)
        for k, (i, j, desde, hasta, nulo) in enumerate(filas):
            start[k, i] += 6
            end[k, j] += 6
            allowed[k, desde:hasta] = True
            suma = start[k, :, None] + end[k, None, :]
            vale = allowed[k, :, None] & allowed[k, None, :]
            vale &= torch.ones(n, n, dtype=torch.bool).triu().tril((largo or n) - 1)
            mejor = suma[vale].max() if vale.any() else tensor(0.0)
            start[k, 0], end[k, 0] = normal(rng), mejor + nulo
            end[k, 0] -= start[k, 0]
        return Caso(propiedad, (start, end, allowed, largo or n), {"margin": margen})

    def empatado(bajo: int, i: int) -> Caso:
        """Enteros: en la primera fila empatan tres fragmentos; en la segunda, con no responder."""
        start, end = torch.zeros(2, 2, 10, dtype=torch.float64)
        j = entero(rng, i + 1, 7)
        for k in range(2):
            start[k, i] = start[k, j] = end[k, i + 2] = end[k, j + 2] = 4.0
        end[1, 0] = 8.0 - bajo
        allowed = torch.arange(10).expand(2, 10) > 0
        return Caso("empates", (start, end, allowed, 9), {"margin": float(bajo)})

    a, b = sorted(distintos(rng, 2, 7, 2))
    medio = entero(rng, 4, 5)
    return [
        caso("en orden", (b, a, 1, 9, -20.0), (8, 1, 1, 9, -20.0), (a, b, 1, 9, -20.0)),
        caso("en orden", (7, a, 1, 9, -20.0), (b, 1, 1, 9, -20.0)),
        caso("ni muy largo", (1, 8, 1, 9, -20.0), (2, 5, 1, 9, -20.0), largo=3),
        caso("ni muy largo", (5, 7, 1, 9, -20.0), (1, 6, 1, 9, -20.0), largo=2),
        caso("ni muy largo", (3, 6, 1, 9, -20.0), (7, 7, 1, 9, -20.0), largo=1),
        caso("en el párrafo", (1, 2, medio, 8, -20.0), (8, 8, 2, 6, -20.0)),
        caso("en el párrafo", (medio, 8, 3, 7, -20.0), (1, medio, 3, 7, -20.0)),
        caso("no hay respuesta", (a, b, 1, 9, 0.5), (2, 3, 1, 9, -0.5), (3, 3, 3, 3, 1.0)),
        caso(
            "no hay respuesta",
            (a, b, 1, 9, -1.0),
            (3, 5, 2, 8, -3.0),
            (2, b, 1, 9, 1.0),
            margen=2.0,
        ),
        caso("no hay respuesta", (a, b, 1, 9, 1.0), (3, 5, 2, 8, 3.0), margen=-2.0),
        empatado(0, entero(rng, 2, 4)),
        empatado(1, entero(rng, 5, 6)),
    ]


_RESPUESTA = Ejercicio(
    id="15.7",
    nombre="answer_span",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="elegir el fragmento que responde entre los que valen, o decir que no lo hay",
    bordes=(
        "max_length == 1",
        "tapada(allowed)",
        "margin < 0",
        Borde("en orden", {0: 0, 1: 0, 2: 0}),
    ),
    casos=_casos_respuesta,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.0, 1.0, 3.0], [5.0, 1.0, 0.0]]),
            tensor([[0.0, 4.0, 1.0], [4.0, 1.0, 2.0]]),
            tensor([[False, True, True], [False, True, True]]),
            2,
        ),
    ),
    propiedades={
        "en orden": (2, "Las dos mejores posiciones por separado pueden estar al revés."),
        "ni muy largo": (2, "Cuenta las posiciones del fragmento, con las dos de los extremos."),
        "en el párrafo": (2, "Las dos posiciones han de ser de las permitidas."),
        "no hay respuesta": (2, "El mejor fragmento se compara con la primera posición."),
        "empates": (1, "El que empieza antes; si también empatan, el que acaba antes."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Piensa en la tabla de todas las parejas: filas, dónde empieza; columnas, dónde acaba.",
        "Lo que no vale se tapa con menos infinito: bajo la diagonal, demasiado lejos de ella o"
        " fuera de lo permitido.",
        "Aplana la tabla para buscar el máximo y deshaz el índice con el ancho; después, compáralo"
        " con la suma de la primera posición más el margen.",
    ),
    mutantes=(
        cuerpo(
            "por separado",
            "El comienzo y el fin se eligen a la vez: por separado, el fin puede ir delante.",
            """
            s = start.masked_fill(~allowed, -torch.inf)
            e = end.masked_fill(~allowed, -torch.inf)
            found = s.amax(1) + e.amax(1) > start[:, 0] + end[:, 0] + margin
            return torch.stack([s.argmax(1), e.argmax(1)], 1) * found.unsqueeze(1)""",
        ),
        cambia(
            "sin orden",
            "El fin no puede ir delante del comienzo.",
            ".triu().tril(max_length - 1)",
            ".tril(max_length - 1)",
        ),
        cambia(
            "más de uno",
            "Un fragmento puede tener una sola posición: el comienzo y el fin coinciden.",
            ".triu()",
            ".triu(1)",
        ),
        cambia(
            "uno de más",
            "Sobra una posición: de i a j hay una más que la resta.",
            "max_length - 1",
            "max_length",
        ),
        cambia(
            "uno de menos",
            "Falta una posición: el fragmento puede medir lo que dice el máximo.",
            "max_length - 1",
            "max_length - 2",
        ),
        cambia(
            "de cualquier largo",
            "Hay un largo máximo que no se mira.",
            ".tril(max_length - 1)",
            "",
        ),
        cambia(
            "en cualquier sitio",
            "Solo valen las posiciones permitidas: la pregunta y las marcas no responden.",
            "ordered & allowed[:, :, None] & allowed[:, None, :]",
            "ordered & (torch.arange(n) > 0)[None, :, None]",
        ),
        cambia(
            "solo el comienzo",
            "También el fin ha de estar en una posición permitida.",
            " & allowed[:, None, :]",
            "",
        ),
        cambia(
            "siempre hay",
            "Si la primera posición gana, no hay respuesta: se devuelve (0, 0).",
            " * answered.unsqueeze(1)",
            "",
        ),
        cambia(
            "sin margen",
            "El margen se suma a la puntuación de no responder.",
            " + margin",
            "",
        ),
        cambia(
            "margen al revés",
            "El margen hace más difícil responder: está con el signo cambiado.",
            " + margin",
            " - margin",
        ),
        cambia(
            "empate responde",
            "Para responder hay que pasar de la otra puntuación: igualarla no basta.",
            "scores.amax(dim=1) > start",
            "scores.amax(dim=1) >= start",
        ),
        cambia(
            "el último",
            "Si empatan, se devuelve el que empieza antes, no el último.",
            "scores.argmax(dim=1)",
            "n * n - 1 - scores.flip(1).argmax(dim=1)",
        ),
    ),
)

# --- 15.8 -----------------------------------------------------------------------------------------

_CLASES = ("PER", "LUG", "ORG")


def _casos_entidades(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, *trozos: str) -> Caso:
        """Cada trozo es una palabra con lo que puntúa: «O», «B0», «I1»…, o un apuro de dos."""
        clases = [_CLASES[i] for i in permutacion(rng, len(_CLASES))][: entero(rng, 2, 3)]
        pieces, filas = ["[CLS]"], [5 * normal(rng, 1 + 2 * len(clases))]

        def palabra(fila: Any, *, rara: bool = False) -> None:
            letras = [chr(97 + i) for i in permutacion(rng, 20)]
            pieces.append("[UNK]" if rara else "".join(letras[:3]).title())
            filas.append(fila)
            for k in range(0 if rara else permutacion(rng, 3)[0]):
                pieces.append("##" + "".join(letras[3 + 2 * k : 5 + 2 * k]))
                filas.append(5 * normal(rng, len(fila)))  # no llevan etiqueta: estorban

        def puntos(**altas: float) -> Any:
            fila = uniforme(rng, -0.2, 0.0, 1 + 2 * len(clases))
            for etiqueta, alta in altas.items():
                clase = 0 if etiqueta == "O" else 2 * int(etiqueta[1]) + 1 + (etiqueta[0] == "I")
                fila[clase] += alta
            return fila

        for trozo in trozos:
            if trozo == "rescata":  # la segunda tira de la primera
                palabra(puntos(O=1.5, B0=1.0))
                palabra(puntos(I0=4.0, B0=1.0))
            elif trozo == "descarta":  # la primera no cede: la segunda no es de nadie
                palabra(puntos(O=4.0))
                palabra(puntos(I0=1.5, O=1.0))
            elif trozo == "cambia":  # la segunda decide la clase de la primera
                palabra(puntos(B0=2.0, B1=1.5))
                palabra(puntos(I1=4.0, I0=1.0))
            else:
                palabra(puntos(**{trozo.rstrip("?"): 6.0}), rara=trozo.endswith("?"))
        pieces.append("[SEP]")
        filas.append(5 * normal(rng, 1 + 2 * len(clases)))
        for _ in range(permutacion(rng, 2)[0]):
            pieces.append("[PAD]")
            filas.append(5 * normal(rng, 1 + 2 * len(clases)))
        return Caso(propiedad, (pieces, torch.stack(filas), clases))

    fuera = ["O"] * entero(rng, 1, 3)
    return [
        caso("una etiqueta por palabra", *fuera, "B0", "I0", "O", "B1"),
        caso("una etiqueta por palabra", "B1", "I1", "I1", *fuera, "B0"),
        caso("una etiqueta por palabra"),
        caso("dónde empieza otra", "B0", "I0", "B0", *fuera, "B0", "B1"),
        caso("dónde empieza otra", *fuera, "B1", "I1?", "B1", "I1", "B0?", "I0"),
        caso("etiquetas que no valen", *fuera, "rescata", "O", "B1", "descarta"),
        caso("etiquetas que no valen", "cambia", *fuera, "rescata", "descarta"),
        caso("etiquetas que no valen", "rescata", *fuera, "descarta", "B1", "O", "cambia"),
        caso("etiquetas que no valen", "descarta", "cambia", "rescata"),
    ]


def _voraz(nombre: str, pista: str, huerfana: str) -> Mutante:
    """Palabra a palabra, lo que más puntúa; si no vale, lo que diga ``huerfana``."""
    return cuerpo(
        nombre,
        pista,
        f"""
        found, now = [], 0
        for piece, row in zip(pieces, scores.tolist()):
            if piece.startswith("##"):
                if now:
                    found[-1] = (found[-1][0], found[-1][1] + piece[2:])
                continue
            best = max(range(len(row)), key=row.__getitem__)
            if piece in ("[CLS]", "[SEP]", "[PAD]"):
                best = 0
            elif best and best % 2 == 0 and now not in (best - 1, best):
                {huerfana}
            if best % 2:
                found.append((kinds[best // 2], piece))
            elif best:
                found[-1] = (found[-1][0], found[-1][1] + " " + piece)
            now = best
        return found""",
    )


_ENTIDADES = Ejercicio(
    id="15.8",
    nombre="read_entities",
    tipo="escribir",
    dificultad=3,
    minutos=45,
    aprende="pasar de etiquetas de piezas a entidades, sin secuencias que no valen",
    bordes=("len(pieces) <= 3", "'[UNK]' in pieces"),
    casos=_casos_entidades,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            ["[CLS]", "Ada", "Lo", "##ve", "[SEP]"],
            tensor([[0.0, 0, 0], [1.0, 0.5, 0], [0.0, 1, 3], [9.0, 0, 0], [0.0, 0, 0]]),
            ["PER"],
        ),
    ),
    propiedades={
        "una etiqueta por palabra": (3, "De cada palabra se lee solo su primera pieza."),
        "dónde empieza otra": (3, "Una B siempre abre; una I sigue a la que está abierta."),
        "etiquetas que no valen": (
            4,
            "La mejor secuencia no siempre lleva la etiqueta que más puntúa en cada palabra.",
        ),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Resuélvelo en tres pasos: qué piezas llevan etiqueta, qué etiquetas son y cómo se leen.",
        "Una I solo puede ir detrás de la B o de la I de su clase; ni al principio ni detrás de"
        " una O.",
        "Recorre las palabras con la mejor suma que acaba en cada etiqueta y de dónde venía; al"
        " final, vuelve hacia atrás.",
    ),
    mutantes=(
        cambia(
            "todas las piezas",
            "Las piezas que siguen a otra no llevan etiqueta: vale la de la primera.",
            ' and not p.startswith("##")',
            "",
        ),
        cambia(
            "con almohadillas",
            "Al juntar las piezas sobran las almohadillas.",
            "text + piece[2:]",
            "text + piece",
        ),
        cambia(
            "pegadas",
            "Entre dos palabras de una entidad va un espacio.",
            'f"{text} {piece}"',
            'f"{text}{piece}"',
        ),
        cambia(
            "una sola",
            "Una B abre otra entidad, aunque la anterior sea de la misma clase.",
            "if head and now % 2:",
            "if head and now % 2 and kinds[now // 2] not in [k for k, _ in entities[-1:]]:",
        ),
        cambia(
            "desconocida",
            "[UNK] es una palabra, aunque no se sepa cuál: lleva etiqueta como las demás.",
            'p not in ("[CLS]", "[SEP]", "[PAD]")',
            'not p.startswith("[")',
        ),
        cambia(
            "sigue a cualquiera",
            "Una I ha de seguir a una B o a una I de su misma clase, no de otra.",
            "(tag[:, None] == tag) | (tag[:, None] == tag - 1)",
            "(tag[:, None] > 0)",
        ),
        _voraz(
            "voraz que abre",
            "Eso es la que más puntúa de cada palabra, y una I suelta abre entidad; se pide la"
            " secuencia que más suma de las que valen.",
            "best -= 1",
        ),
        _voraz(
            "voraz que calla",
            "Eso es la que más puntúa de cada palabra, y una I suelta se tira; se pide la secuencia"
            " que más suma de las que valen.",
            "best = 0",
        ),
        _voraz(
            "sin volver atrás",
            "Eso elige palabra a palabra la mejor de las que pueden seguir: una palabra puede"
            " cambiar la etiqueta de la anterior.",
            "best = max((t for t in range(len(row)) if t % 2 or not t or now in (t - 1, t)),"
            " key=row.__getitem__)",
        ),
    ),
)

EJERCICIOS = [
    _MIL,
    _SIN_TAPAR,
    _TAPAR,
    _PERDIDA,
    _PARECIDO,
    _FAMILIA,
    _RESPUESTA,
    _ENTIDADES,
]
