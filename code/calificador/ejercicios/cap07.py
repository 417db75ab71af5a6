"""Ejercicios del capítulo 7, «Máscaras»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import Borde, distintos, entero, mascara, normal, tensor
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENCION, ATENTO, ENTROPIA, de_atento

# --- 7.1 ------------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="7.1",
    nombre="masked_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    tolerancia=1e-3,
    aprende=(
        "calcular con lápiz una fila de pesos con máscara causal, con relleno y con el error de"
        " tapar tarde"
    ),
    propiedades={
        "free": (1, "Sin máscara cuentan las cuatro exponenciales."),
        "causal": (1, "Con la causal se va la exponencial de «hoy», también del denominador."),
        "both": (1, "Con las dos quedan «perro» y «canta»."),
        "late": (1, "Si se tapa después, el denominador ya había sumado a todas."),
    },
    pistas=(
        (
            "La exponencial de un logaritmo es el número: la fila de exponenciales se escribe sin"
            " calculadora."
        ),
        "Cada peso es una exponencial entre la suma de las que se ven.",
        "¿Qué exponenciales suma el denominador en cada caso?",
    ),
    mutantes=(
        cambia(
            "sin exponenciales",
            "Son las puntuaciones, no sus exponenciales: la de ln 3 es 3.",
            "raised = [1, 3, 4, 8]",
            "raised = [0.0, 1.0986, 1.3863, 2.0794]",
        ),
        cambia(
            "tapa la propia",
            "«canta» se mira a sí misma: la diagonal no se tapa.",
            "raised[:3]",
            "raised[:2]",
        ),
        cambia(
            "no tapa «el»",
            "Falta quitar del denominador a «el», que es relleno.",
            "raised[1:3]",
            "raised[:3]",
        ),
        cambia(
            "relleno sin causal",
            "Con las dos máscaras, «hoy» sigue tapada.",
            "raised[1:3]",
            "raised[1:]",
        ),
        cambia(
            "tardía igual que la buena",
            "Multiplicar después no reparte otra vez: el denominador sigue siendo 16.",
            "3 / sum(raised) * 1",
            "3 / sum(seen)",
        ),
    ),
)

# --- 7.2 ------------------------------------------------------------------------------------------

_FUGA = Ejercicio(
    id="7.2",
    nombre="leaky_line",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="reconocer en una línea de código que una fila depende de su futuro",
    propiedades={"respuesta": (2, "Pregunta en cada línea qué números entran en el denominador.")},
    opciones=("a", "b", "c", "d"),
    pistas=(
        "Una fuga está en el numerador o en el denominador: mira los dos.",
        "¿Cuánto vale la exponencial de menos un millón en coma flotante?",
    ),
    mutantes=(
        cuerpo(
            "la a",
            "Con −∞ el futuro no está ni en el numerador ni en el denominador.",
            "return 'a'",
        ),
        cuerpo(
            "la b",
            "Restar un millón deja una exponencial de 0 exacto: no se filtra nada.",
            "return 'b'",
        ),
        cuerpo(
            "la c",
            "Esa suma lleva la máscara dentro: el futuro no entra en el denominador.",
            "return 'c'",
        ),
    ),
)

# --- 7.3 ------------------------------------------------------------------------------------------


def _casos_softmax(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, ejes: int, *, muertas: int = 0, lejos: float = 0.0) -> Caso:
        *lote, n, m = distintos(rng, 2, 6, ejes + 2)
        puede = mascara(rng, n, m, 0.5)
        puede[:muertas] = False
        return Caso(propiedad, (3 * normal(rng, *lote, n, m) - lejos, puede), gradiente=True)

    def de_lote() -> Caso:
        lote, cabezas, n, m = distintos(rng, 2, 6, 4)
        return Caso(
            "se difunde",
            (normal(rng, lote, cabezas, n, m), mascara(rng, lote, m, 0.5)[:, None, None]),
            gradiente=True,
        )

    def desigual() -> Caso:
        """Lo tapado es enorme (3e9, 2000), y lo permitido va de unidades a miles."""
        puntos = tensor([[0.0, 1.0, 2000.0], [2.0, 3e9, 3.0], [3000.0, 3001.0, -5.0]])
        puede = tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]).bool()
        orden = torch.randperm(3, generator=rng)
        return Caso(vivas, (puntos[orden], puede[orden]), gradiente=True)

    vivas, solas = "filas corrientes", "filas tapadas enteras"
    return [
        caso(vivas, 0),
        caso(vivas, 1),
        caso(vivas, 0, lejos=3e12),
        desigual(),
        de_lote(),
        caso(solas, 0, muertas=1),
        caso(solas, 1, muertas=1),
    ]


_SOFTMAX = Ejercicio(
    id="7.3",
    nombre="masked_softmax",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="escribir la softmax con máscara, también cuando una fila no puede mirar a nadie",
    bordes=(
        "tapada(mask)",
        "enorme(scores)",
        Borde("filas tapadas enteras", {0: -1, 1: -1}),
    ),
    casos=_casos_softmax,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.0, 0.0], [0.0, 0.0]]),
            tensor([[1.0, 0.0], [0.0, 0.0]]).bool(),
        ),
    ),
    propiedades={
        "filas corrientes": (
            3,
            "Lo tapado da 0 exacto, sea cual sea el tamaño de las puntuaciones.",
        ),
        "se difunde": (
            2,
            "La máscara puede tener ejes de tamaño 1: también al buscar las filas sin nadie.",
        ),
        "filas tapadas enteras": (3, "Dan ceros, y su gradiente también: 0 por NaN es NaN."),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        "Primero una fila corriente: ¿qué puntuación da un peso de cero exacto?",
        (
            "Una fila de −∞ da NaN, y según cómo se tape, también en el gradiente: conviene que la"
            " softmax no la vea."
        ),
        (
            "Las filas sin nadie se reconocen en la máscara, se cambian por algo inofensivo antes y"
            " se anulan después."
        ),
    ),
    mutantes=(
        cambia(
            "filas NaN",
            "Una fila tapada entera da NaN: es 0/0.",
            ".masked_fill(alone, 0.0)\n    return hidden.softmax(dim=-1).masked_fill(alone, 0.0)",
            "\n    return hidden.softmax(dim=-1)",
        ),
        cuerpo(
            "NaN en el gradiente",
            "Los pesos salen bien, pero el gradiente de las filas sin nadie es NaN.",
            """
            zeros = torch.zeros(mask.shape, dtype=scores.dtype)
            added = scores + zeros.masked_fill(~mask, float("-inf"))
            alone = ~mask.any(dim=-1, keepdim=True)
            return added.softmax(dim=-1).masked_fill(alone, 0.0)""",
        ),
        cambia(
            "reparte",
            "Una fila tapada entera reparte sus pesos: debe dar ceros.",
            "softmax(dim=-1).masked_fill(alone, 0.0)",
            "softmax(dim=-1)",
        ),
        cambia(
            "mil millones",
            "−10⁹ no es −∞: con puntuaciones aún menores, lo tapado gana.",
            'float("-inf")',
            "-1e9",
        ),
        cuerpo(
            "resta el máximo de toda la fila",
            "Una puntuación tapada y enorme deja a las demás en 0: hay que taparla antes de"
            " normalizar.",
            """
            raised = (scores - scores.amax(dim=-1, keepdim=True)).exp() * mask
            total = raised.sum(dim=-1, keepdim=True)
            return raised / total.masked_fill(total == 0, 1.0)""",
        ),
        cuerpo(
            "mil millones, sin más",
            "−10⁹ no es −∞: una fila tapada entera reparte, y con puntuaciones aún menores gana lo"
            " tapado.",
            "return scores.masked_fill(~mask, -1e9).softmax(dim=-1)",
        ),
        cambia(
            "al revés",
            "La máscara está al revés: True es «puede mirar».",
            "~mask.any(dim=-1, keepdim=True)",
            "mask.all(dim=-1, keepdim=True)",
            "masked_fill(~mask,",
            "masked_fill(mask,",
        ),
        cambia(
            "cero en lugar de infinito",
            "Una puntuación de 0 no tapa nada, porque e⁰ = 1.",
            'float("-inf")',
            "0.0",
        ),
        cuerpo(
            "multiplica después",
            "Se ha multiplicado después de normalizar: las filas no suman 1.",
            "return scores.softmax(dim=-1) * mask",
        ),
        cambia(
            "por columnas",
            "Deben sumar 1 las filas: la softmax recorre el último eje.",
            "softmax(dim=-1)",
            "softmax(dim=-2)",
        ),
    ),
)

# --- 7.4 ------------------------------------------------------------------------------------------

_ALCANCE = Ejercicio(
    id="7.4",
    nombre="reach_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    aprende=(
        "contar de cuántas posiciones puede saber una tras varias capas con ventana o con prefijo"
    ),
    propiedades={
        "three": (1, "Cada capa retrocede una ventana menos uno."),
        "layers": (1, "¿Cuántos saltos hacen falta para retroceder 29 posiciones?"),
        "prefix": (1, "Dentro del prefijo se ve el prefijo entero."),
        "late": (1, "Fuera del prefijo la máscara es causal."),
    },
    pistas=(
        "Dibuja la fila de la última posición con una capa y con dos.",
        "La propia se cuenta una sola vez: cada capa añade cuatro posiciones.",
        "Un número de capas es entero: se redondea hacia arriba.",
    ),
    mutantes=(
        cambia(
            "ventana entera",
            "Cada capa añade cuatro posiciones nuevas, no cinco: la propia ya se conocía.",
            "back = 5 - 1",
            "back = 5",
        ),
        cambia("sin la propia", "Falta contar la propia posición.", "1 + 3 * back", "3 * back"),
        cambia(
            "hacia abajo",
            "Con siete capas no se llega: se redondea hacia arriba.",
            "math.ceil(29 / back)",
            "29 // back",
        ),
        cambia(
            "treinta pasos, en coma",
            "El número de capas es un entero.",
            "math.ceil(29 / back)",
            "29 / back",
        ),
        cambia(
            "prefijo causal",
            "La posición 4 está dentro del prefijo y lo ve entero, también lo que viene después.",
            "max(4, 10)",
            "4",
        ),
        cambia(
            "solo el prefijo",
            "La posición 30 ve también todo lo que se ha escrito tras el prefijo.",
            "max(30, 10)",
            "10",
        ),
    ),
)

# --- 7.5 ------------------------------------------------------------------------------------------


def _frases(rng: Any, lote: int, largo: int, pad: int) -> Any:
    """Palabras por encima y por debajo de ``pad``, y relleno al final, delante o en medio: al
    menos una palabra por frase.
    """
    import torch

    ids = torch.randint(1, 9, (lote, largo), generator=rng) + pad
    if pad:
        ids[torch.rand(lote, largo, generator=rng) < 0.5] = entero(rng, 0, pad - 1)
    ids[torch.arange(largo) >= torch.randint(1, largo + 1, (lote, 1), generator=rng)] = pad
    ids = torch.stack([fila.roll(entero(rng, 0, largo - 1)) for fila in ids])
    ids[0, :] = torch.where(ids[0] == pad, pad + 1, ids[0])
    ids[0, 0] = pad  # la primera lo lleva delante
    return ids


def _casos_traductor(rng: Any, *, pad_id: int = 0) -> list[Caso]:
    def caso(propiedad: str, pad: int, *, igual: bool = False) -> Caso:
        lote, m, n = distintos(rng, 2, 7, 3)
        args = (_frases(rng, lote, m, pad), _frases(rng, lote, m if igual else n, pad))
        return Caso(propiedad, args, {"pad_id": pad})

    return [
        caso("frases de distinto largo", pad_id),
        caso("frases de distinto largo", pad_id),
        caso("frases de igual largo", pad_id, igual=True),
        caso("otro relleno", pad_id + 3),
    ]


_TRADUCTOR = Ejercicio(
    id="7.5",
    nombre="translator_masks",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="construir las tres máscaras de un codificador y un decodificador, con sus formas",
    bordes=(
        Borde("frases de igual largo", {0: 0, 1: 0}),
        Borde("frases de igual largo", {1: 1}),
    ),
    casos=_casos_traductor,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[5.0, 0.0]]).long(), tensor([[4.0, 6.0]]).long()), {"pad_id": 0}
    ),
    propiedades={
        "frases de distinto largo": (3, "Escribe las tres formas antes de escribir los valores."),
        "frases de igual largo": (
            1,
            "Con m = n las formas no avisan: ¿de qué frase es el relleno de la cruzada?",
        ),
        "otro relleno": (2, "El relleno es pad_id, no siempre 0."),
    },
    prohibido=(de_atento("atento.masks"),),
    variante={"pad_id": 0},
    pistas=(
        "El relleno se mira siempre en las claves: ¿de qué frase son las claves en cada atención?",
        (
            "Los ejes de tamaño 1 sirven para todas las cabezas y, en dos de las tres, para todas"
            " las consultas."
        ),
        "La del decodificador es la única que lleva el triángulo.",
    ),
    mutantes=(
        cambia(
            "solo los mayores",
            "Una palabra puede tener un número menor que el del relleno.",
            "(source != pad_id)",
            "(source > pad_id)",
            "(target != pad_id)",
            "(target > pad_id)",
        ),
        cuerpo(
            "cuenta largos",
            "El relleno no va siempre al final: se mira posición a posición.",
            """
            m, n = source.shape[1], target.shape[1]
            long = [(x != pad_id).sum(1)[:, None, None, None] for x in (source, target)]
            encoder = torch.arange(m) < long[0]
            causal = torch.ones(n, n, dtype=torch.bool).tril()
            return encoder, (torch.arange(n) < long[1]) & causal, encoder""",
        ),
        cambia(
            "cruzada con lo escrito",
            "En la atención cruzada las claves son de la fuente: tapa su relleno, no el de lo"
            " escrito.",
            "return encoder, decoder, encoder",
            "return encoder, decoder, (target != pad_id)[:, None, None, :]",
        ),
        cambia(
            "sin causal",
            "Falta el triángulo en la del decodificador.",
            " & causal",
            " & torch.ones_like(causal)",
        ),
        cambia(
            "sin relleno",
            "La del decodificador debe tapar también el relleno de lo escrito.",
            "(target != pad_id)[:, None, None, :] & causal",
            "causal.expand(len(target), 1, n, n)",
        ),
        cambia(
            "relleno en las consultas",
            "El relleno tapa claves (el último eje), no consultas.",
            "(target != pad_id)[:, None, None, :]",
            "(target != pad_id)[:, None, :, None]",
        ),
        cambia(
            "al revés",
            "Están al revés: True es «puede mirar».",
            "encoder = (source != pad_id)",
            "encoder = (source == pad_id)",
        ),
        cambia(
            "triángulo al revés",
            "El triángulo permitido es el inferior: cada posición mira a las anteriores.",
            ".tril()",
            ".triu()",
        ),
        cambia(
            "sin la diagonal", "Cada posición se mira también a sí misma.", ".tril()", ".tril(-1)"
        ),
        cambia(
            "cero fijo",
            "El relleno es pad_id, no siempre 0.",
            "(source != pad_id)",
            "(source != 0)",
            "(target != pad_id)",
            "(target != 0)",
        ),
        cambia(
            "falta un eje",
            "Falta el eje de las cabezas: la forma es (batch, 1, 1, m).",
            "(source != pad_id)[:, None, None, :]",
            "(source != pad_id)[:, None, :]",
        ),
    ),
)

# --- 7.6 ------------------------------------------------------------------------------------------


def _casos_fugas(rng: Any) -> list[Caso]:
    import torch

    def abre(n: int, donde: list[tuple[int, int]]) -> Any:
        """Causal, con algunas casillas del pasado tapadas y las de ``donde`` abiertas."""
        puede = torch.ones(n, n, dtype=torch.bool).tril() & (torch.rand(n, n, generator=rng) < 0.7)
        for i, j in donde:
            puede[i, j] = True
        return puede

    def indirecta(signo: int) -> Caso:
        """Dos saltos en capas seguidas: en un orden hay una fuga larga y en el otro no."""
        n = entero(rng, 5, 7)
        capas = [abre(n, [(2, 4)]), abre(n, [(0, 2)]), abre(n, [])][::signo]
        return Caso("por varias capas", (torch.stack(capas),))

    def suelta() -> Caso:
        n = entero(rng, 4, 6)
        i = entero(rng, 0, n - 2)
        capas = [abre(n, []) for _ in range(entero(rng, 2, 4))]
        capas[entero(rng, 0, len(capas) - 1)][i, entero(rng, i + 1, n - 1)] = True
        return Caso("una casilla", (torch.stack(capas),))

    n = entero(rng, 3, 6)
    limpia = Caso("sin fugas", (torch.stack([abre(n, []), abre(n, [])]),))
    azar = torch.stack([mascara(rng, 5, 5, 0.3) for _ in range(3)])
    return [
        suelta(),
        suelta(),
        indirecta(1),
        indirecta(-1),
        Caso("por varias capas", (azar,)),
        limpia,
        Caso("sin fugas", (torch.stack([abre(4, []), abre(4, [(1, 3)])]),)),
    ]


_FUGAS = Ejercicio(
    id="7.6",
    nombre="leaks",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="encontrar por qué capas y por dónde se escapa el futuro",
    bordes=(
        Borde("una casilla", {0: 0}),
        Borde("sin fugas", {0: (1, 2)}),
    ),
    casos=_casos_fugas,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[[1.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]).bool(),)
    ),
    propiedades={
        "una casilla": (
            2,
            (
                "Una sola casilla abierta puede delatar varias parejas: las que llegan a ella por"
                " el pasado."
            ),
        ),
        "por varias capas": (4, "Las máscaras se multiplican en orden: la última capa va delante."),
        "sin fugas": (2, "Sin casillas de futuro, la lista está vacía; con una, no."),
    },
    pistas=(
        "Con la conexión residual, quedarse en el sitio es siempre un salto permitido.",
        (
            "Lleva la cuenta de lo que sabe cada posición y actualízala capa a capa, de la primera"
            " a la última."
        ),
        "La posición i sabe, tras una capa, de todo lo que sabían antes las que puede mirar.",
    ),
    mutantes=(
        cambia(
            "sin residual",
            "Falta la conexión residual: nadie olvida lo que ya sabía.",
            "(mask | still)",
            "mask",
        ),
        cambia(
            "orden cambiado",
            "El orden de las capas está cambiado: la última va delante del producto.",
            "(mask | still).double() @ known > 0",
            "known @ (mask | still).double() > 0",
        ),
        cuerpo(
            "solo directas",
            "Faltan las fugas que llegan en varios saltos, por capas distintas.",
            """
            some = layer_masks.any(dim=0).triu(1)
            return [tuple(pair) for pair in some.nonzero().tolist()]""",
        ),
        cuerpo(
            "la misma máscara siempre",
            "Se han mezclado las máscaras: cada capa usa la suya, y una sola vez.",
            """
            n = layer_masks.shape[-1]
            step = (layer_masks.any(dim=0) | torch.eye(n, dtype=torch.bool)).double()
            known = torch.linalg.matrix_power(step, len(layer_masks)) > 0
            return [tuple(pair) for pair in known.triu(1).nonzero().tolist()]""",
        ),
        cambia(
            "con la diagonal",
            "Sobra la diagonal: saber de una misma no es una fuga.",
            ".triu(1)",
            ".triu()",
        ),
        cambia(
            "el pasado",
            "Son las parejas con j > i, por encima de la diagonal: eso es el pasado.",
            ".triu(1)",
            ".tril(-1)",
        ),
        cambia(
            "parejas al revés",
            "Las parejas están al revés: primero quien sabe, después de quién.",
            "tuple(pair)",
            "tuple(pair[::-1])",
        ),
    ),
)

# --- 7.7 ------------------------------------------------------------------------------------------


def _casos_perdida(rng: Any, *, pad_id: int = 0) -> list[Caso]:
    import torch

    def caso(propiedad: str, pad: int, palabras: tuple[int, ...] | None = None) -> Caso:
        n, vocab = entero(rng, 5, 7), pad + 10
        ids = torch.randint(1, 9, (3, n), generator=rng) + pad
        if pad:  # también palabras por debajo de pad
            ids[torch.rand(3, n, generator=rng) < 0.5] = entero(rng, 0, pad - 1)
        largos = torch.tensor(palabras or [1, n - 2, n])[:, None]
        ids[torch.arange(n) >= largos] = pad
        ids = torch.stack([fila.roll(k) for k, fila in enumerate(ids)])  # no siempre al final
        return Caso(propiedad, (2 * normal(rng, 3, n, vocab), ids), {"pad_id": pad}, gradiente=True)

    def lejanas() -> Caso:
        """Puntuaciones tan separadas que la probabilidad de lo que va es 0 con sus 64 bits."""
        dado = caso("muy improbables", pad_id)
        return Caso(dado.propiedad, (500 * dado.args[0], dado.args[1]), dado.kwargs, gradiente=True)

    return [
        caso("con relleno", pad_id),
        caso("con relleno", pad_id),
        lejanas(),
        caso("otro relleno", pad_id + 3),
        caso("sin palabras", pad_id, (0, 0, 0)),
        caso("sin palabras", pad_id, (0, 1, 0)),
    ]


_PERDIDA = Ejercicio(
    id="7.7",
    nombre="padded_loss",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="promediar la pérdida de un lote solo entre las palabras de verdad",
    bordes=(
        "not (target != pad_id).any()",
        "enorme(scores)",
        Borde("con relleno", {0: 0, 1: 0}),
    ),
    casos=_casos_perdida,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[[0.0, 0.0], [5.0, 0.0]]]), tensor([[1.0, 0.0]]).long()), {"pad_id": 0}
    ),
    propiedades={
        "con relleno": (
            3,
            "Con una frase de una palabra y otra de siete, ¿entre cuánto se divide?",
        ),
        "muy improbables": (
            1,
            "Con puntuaciones muy separadas la softmax da 0, y el logaritmo de 0 no es la pérdida.",
        ),
        "otro relleno": (1, "El relleno es pad_id, y hay palabras con números menores."),
        "sin palabras": (1, "Si no queda ninguna palabra vale 0, y su gradiente también."),
    },
    variante={"pad_id": 0},
    prohibido=(ENTROPIA,),
    pistas=(
        (
            "Calcula primero la sorpresa de cada sitio, con relleno y todo, y quita después lo que"
            " no cuenta."
        ),
        "Se divide entre el número de palabras de todo el lote, no frase a frase.",
        "Dividir entre 0 da NaN aunque el numerador sea 0.",
    ),
    mutantes=(
        cambia(
            "solo los mayores",
            "Una palabra puede tener un número menor que el del relleno.",
            "words = target != pad_id",
            "words = target > pad_id",
        ),
        cambia(
            "cuenta el relleno",
            "Se ha contado también el relleno.",
            ".masked_fill(~words, 0.0).sum()",
            ".sum()",
        ),
        cambia(
            "divide entre todo",
            "Se divide entre las palabras de verdad, no entre todos los sitios.",
            "words.sum().clamp(min=1)",
            "words.numel()",
        ),
        cambia(
            "media de medias",
            "Es la media de las medias de cada frase: las frases cortas pesan de más.",
            "surprise.masked_fill(~words, 0.0).sum() / words.sum().clamp(min=1)",
            "(surprise.masked_fill(~words, 0.0).sum(-1) / words.sum(-1).clamp(min=1)).mean()",
        ),
        cambia(
            "sin palabras, NaN", "Sin ninguna palabra sale NaN: 0 entre 0.", ".clamp(min=1)", ""
        ),
        cambia(
            "suma",
            "Es la suma: falta dividir entre cuántas palabras hay.",
            " / words.sum().clamp(min=1)",
            "",
        ),
        cambia(
            "cero fijo",
            "El relleno es pad_id, no siempre 0.",
            "words = target != pad_id",
            "words = target != 0",
        ),
        cambia(
            "signo",
            "La pérdida es positiva: falta el signo menos.",
            "surprise = -scores",
            "surprise = scores",
        ),
        cambia(
            "sin logaritmo",
            "Es la probabilidad: hay que tomar su logaritmo.",
            "log_softmax",
            "softmax",
        ),
        cambia(
            "softmax y después logaritmo",
            "Con puntuaciones muy separadas la softmax da 0: usa el logaritmo de la softmax, de una"
            " vez.",
            "scores.log_softmax(dim=-1)",
            "scores.softmax(dim=-1).log()",
        ),
    ),
)

# --- 7.8 ------------------------------------------------------------------------------------------


def _casos_traducir(rng: Any) -> list[Caso]:
    def caso(destino: str, *, lote: bool) -> Caso:
        n, m = distintos(rng, 2, 7, 2)
        propiedad = "booleanas" if destino in ("sdpa", "nn") else "con números"
        puede = mascara(rng, n, m, 0.5)
        return Caso(propiedad, (puede[:, None, None] if lote else puede, destino))

    destinos = ("sdpa", "nn", "additive", "int")
    return [caso(destino, lote=lote) for destino in destinos for lote in (False, True)]


def _comprueba_traducir(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    import torch

    if not isinstance(obtenido, torch.Tensor) or obtenido.shape != esperado.shape:
        llego = (
            tuple(obtenido.shape) if isinstance(obtenido, torch.Tensor) else type(obtenido).__name__
        )
        return f"llegó {llego}; se esperaba un tensor de forma {tuple(esperado.shape)}"
    if bool(obtenido.isnan().any()):
        return "hay NaN: 0 por infinito es NaN"
    if esperado.is_floating_point() and obtenido.is_floating_point():
        esperado = esperado.to(obtenido.dtype)
    if obtenido.dtype != esperado.dtype:
        tipos = [str(t.dtype).removeprefix("torch.") for t in (obtenido, esperado)]
        return f"llegó {tipos[0]}; se esperaba {tipos[1]}"
    if torch.equal(obtenido, esperado):
        return None
    return f"los valores no son los de «{caso.args[1]}»"


_TRADUCIR = Ejercicio(
    id="7.8",
    nombre="translate_mask",
    tipo="escribir",
    dificultad=2,
    minutos=12,
    aprende="pasar una máscara de una convención a otra",
    bordes=(
        "mask.dim() == 4",
        Borde("booleanas", {0: 0}),
    ),
    casos=_casos_traducir,
    ejemplo=lambda: Caso("ejemplo", (tensor([[1.0, 0.0]]).bool(), "nn")),
    propiedades={
        "booleanas": (2, "En una True permite y en la otra tapa."),
        "con números": (2, "En la aditiva lo permitido suma 0; en la de enteros, 1 permite."),
    },
    comprueba=_comprueba_traducir,
    invariante=lambda valor: valor.double() if valor.is_floating_point() else valor,
    pistas=(
        "Escribe a mano las cuatro versiones de la máscara de una fila, «puede» y «no puede».",
        "En la aditiva, lo permitido no cambia la puntuación: ¿qué se le suma?",
        "Cuidado: 0 por infinito es NaN.",
    ),
    mutantes=(
        cambia(
            "nn sin negar",
            "En los módulos de nn, True tapa: está al revés.",
            "return ~mask",
            "return mask.clone()",
        ),
        cambia(
            "unos en la aditiva",
            "En la aditiva lo permitido suma 0, no 1.",
            "torch.zeros(",
            "torch.ones(",
        ),
        cambia(
            "aditiva al revés",
            "La aditiva está al revés: −∞ va donde no se puede.",
            "masked_fill(~mask",
            "masked_fill(mask",
        ),
        cambia(
            "cero por infinito",
            "Multiplicar por infinito da NaN donde la máscara vale 0.",
            'torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, float("-inf"))',
            '(~mask).double() * float("-inf")',
        ),
        cambia(
            "enteros al revés",
            "El 1 permite: están al revés.",
            "return mask.long()",
            "return (~mask).long()",
        ),
        cambia("mil millones", "Se pide −∞, no un número muy negativo.", 'float("-inf")', "-1e9"),
        cambia(
            "sdpa negada",
            "Para sdpa, True permite: no hay que negar nada.",
            "return mask.clone()",
            "return ~mask.clone()",
        ),
    ),
)

# --- 7.9 ------------------------------------------------------------------------------------------


def _casos_atencion(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str) -> Caso:
        lote, cabezas, n, d = distintos(rng, 2, 7, 4)
        tres = [normal(rng, lote, cabezas, n, d) for _ in range(3)]
        vale = torch.ones(lote, n, dtype=torch.bool)
        if propiedad == "con relleno":
            vale = torch.rand(lote, n, generator=rng) < 0.6
            vale[:, 0] = True
            vale[0, -1] = vale[-1, 1] = False
        return Caso(propiedad, (*tres, vale), gradiente=True)

    return [caso("sin relleno"), caso("sin relleno"), caso("con relleno"), caso("con relleno")]


_ATENCION = Ejercicio(
    id="7.9",
    nombre="masked_attention",
    tipo="depurar",
    dificultad=3,
    minutos=30,
    aprende=(
        "encontrar faltas de máscara que no dan ningún error y dejan pasar el futuro o el relleno"
    ),
    bordes=(
        "valid.all()",
        Borde("sin relleno", {0: 2, 1: 2, 2: 2, 3: 1}),
        Borde("sin relleno", {0: 0, 1: 0, 2: 0, 3: 0}),
    ),
    casos=_casos_atencion,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[[0.0], [0.0]]]]),
            tensor([[[[1.0], [1.0]]]]),
            tensor([[[[2.0], [4.0]]]]),
            tensor([[1.0, 0.0]]).bool(),
        ),
    ),
    propiedades={
        "sin relleno": (
            4,
            "Con tres posiciones: ¿cuánto suma la primera fila de pesos, y entre qué se divide?",
        ),
        "con relleno": (
            4,
            "Cambia el valor de una posición de relleno: la salida no debe moverse.",
        ),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        "Prueba con una frase sin relleno y mira cuánto suman las filas de pesos.",
        "La escala no depende del largo de la frase.",
        "El cuarto argumento dice qué claves se pueden mirar: ¿en qué eje están las claves?",
    ),
    mutantes=(
        cuerpo(
            "sin arreglar",
            "Es la función averiada: las filas de pesos no suman 1.",
            """
            n = query.shape[-2]
            scores = query @ key.transpose(-2, -1) / math.sqrt(n)
            allowed = torch.ones(n, n).tril().bool() & valid[:, None, :, None]
            weights = scores.softmax(dim=-1) * allowed
            return weights @ value""",
        ),
        cambia(
            "falta la escala",
            "La escala es la raíz de la anchura, no la del largo de la frase.",
            "math.sqrt(query.shape[-1])",
            "math.sqrt(n)",
        ),
        cambia(
            "falta el denominador",
            "Se multiplica después de normalizar: el futuro sigue en el denominador.",
            'scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)',
            "scores.softmax(dim=-1) * allowed",
        ),
        cambia(
            "falta el eje",
            "Se tapan las consultas de relleno, y lo que hay que tapar son las claves.",
            "& valid[:, None, None, :]",
            "& (valid[:, None, :, None] | torch.eye(n).bool())",
        ),
        cambia(
            "sin relleno",
            "El relleno se sigue mirando: no se usa el cuarto argumento.",
            " & valid[:, None, None, :]",
            "",
        ),
        cambia(
            "sin causal",
            "Se ve el futuro: falta el triángulo.",
            "torch.ones(n, n).tril().bool()",
            "torch.ones(n, n).bool()",
        ),
        cambia(
            "consultas fuera",
            "Las posiciones de relleno también preguntan: su salida no es 0.",
            "return weights @ value",
            "return (weights @ value) * valid[:, None, :, None]",
        ),
    ),
)

# --- 7.10 -----------------------------------------------------------------------------------------


def _casos_filas(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, *, huecos: bool = False, repite: bool = False) -> Caso:
        n, frases = entero(rng, 7, 10), entero(rng, 2, 4)
        cortes = torch.rand(2, n, generator=rng).argsort(-1)[:, :frases]
        orden = torch.rand(2, n, generator=rng).argsort(-1)  # números de frase, sin orden
        tramos = [torch.zeros(n).index_fill(0, corte, 1.0).long().cumsum(0) for corte in cortes]
        ids = torch.stack([numeros[tramo] for numeros, tramo in zip(orden, tramos, strict=True)])
        ids[0] -= ids[0].min()  # la frase cero siempre está
        if repite:  # una frase que sigue después de otra
            ids[:, -2:] = ids[:, :1]
        if huecos:
            ids[torch.rand(2, n, generator=rng) < 0.3] = -1
            ids[0, 1], ids[1, 2:4] = -1, -1
        return Caso(propiedad, (ids,))

    sin, con = "sin relleno", "con relleno"
    return [caso(sin), caso(sin, repite=True), caso(con, huecos=True), caso(con, huecos=True),
            Caso(con, (torch.full((2, entero(rng, 2, 4)), -1),))]  # fmt: skip


_FILAS = Ejercicio(
    id="7.10",
    nombre="packed_mask",
    tipo="escribir",
    dificultad=3,
    minutos=25,
    aprende="empaquetar varias frases en una fila sin que se vean entre sí",
    bordes=(
        "(document < 0).any()",
        Borde("sin relleno", {0: 1}),
        Borde("sin relleno", {0: 0}),
    ),
    casos=_casos_filas,
    ejemplo=lambda: Caso("ejemplo", (tensor([[3.0, 3.0, 1.0]]).long(),)),
    propiedades={
        "sin relleno": (
            4,
            "Dos posiciones se ven si llevan el mismo número y la mirada va hacia atrás.",
        ),
        "con relleno": (4, "−1 es igual a −1: el relleno no es una frase."),
    },
    pistas=(
        "Compara el vector de números de frase consigo mismo, uno como columna y otro como fila.",
        "Faltan dos condiciones: la causal y que no sea relleno.",
        "Una posición de relleno no mira a nadie, ni a sí misma.",
    ),
    mutantes=(
        cambia(
            "el relleno es una frase",
            "Las posiciones de relleno se miran entre sí: −1 es igual a −1.",
            " & words",
            "",
        ),
        cambia(
            "sin causal",
            "Se ve el futuro dentro de cada frase: falta el triángulo.",
            "same & causal & words",
            "same & words",
        ),
        cambia(
            "todo junto",
            "Las frases se ven entre sí: falta comparar sus números.",
            "same & causal & words",
            "causal & words & words.transpose(1, 2)",
        ),
        cambia(
            "sin la diagonal", "Cada palabra se mira también a sí misma.", ".tril()", ".tril(-1)"
        ),
        cambia(
            "el relleno se mira a sí mismo",
            "El relleno no mira a nadie, tampoco a sí mismo.",
            "& words)",
            "& (words | torch.eye(n).bool()))",
        ),
        cambia(
            "la frase cero",
            "La frase número 0 también es una frase: solo −1 es relleno.",
            ">= 0",
            "> 0",
        ),
        cuerpo(
            "por tramos",
            "Una frase puede seguir después de otra: importa el número, no el tramo.",
            """
            n = document.shape[1]
            jump = (document[:, 1:] != document[:, :-1]).long().cumsum(1)
            run = torch.cat([torch.zeros_like(document[:, :1]), jump], dim=1)
            same = run[:, :, None] == run[:, None, :]
            causal = torch.ones(n, n, dtype=torch.bool).tril()
            words = document[:, :, None] >= 0
            return (same & causal & words)[:, None]""",
        ),
    ),
)

EJERCICIOS = [
    _A_MANO, _FUGA, _SOFTMAX, _ALCANCE, _TRADUCTOR, _FUGAS, _PERDIDA, _TRADUCIR, _ATENCION, _FILAS
]  # fmt: skip
