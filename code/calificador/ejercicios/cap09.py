"""Ejercicios del capítulo 9, «Posiciones relativas y longitud»."""

from __future__ import annotations

import math
from typing import Any

from calificador.generadores import Borde, distintos, elige, entero, normal, real, tensor, uniforme
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENCION, ATENTO

# --- 9.1 ------------------------------------------------------------------------------------------


def _casos_alibi(rng: Any) -> list[Caso]:
    def caso(propiedad: str, cabezas: tuple[int, ...]) -> Caso:
        claves = entero(rng, 4, 9)
        consultas = entero(rng, 1, claves - 2) if propiedad == "con caché" else claves
        return Caso(propiedad, (consultas, claves, elige(rng, cabezas)))

    return [
        caso("frase entera", (2, 4)),
        caso("frase entera", (8, 16)),
        caso("con caché", (2, 4)),
        caso("con caché", (8, 16)),
        caso("con caché", (4, 8)),
    ]


_ALIBI = Ejercicio(
    id="9.1",
    nombre="alibi_bias",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="escribir el sesgo de ALiBi, también cuando se genera con caché",
    bordes=(
        "n_query == n_key",
        Borde("con caché", valores={0: 1}),
        Borde("frase entera", valores={2: 1}),
    ),
    casos=_casos_alibi,
    ejemplo=lambda: Caso("ejemplo", (2, 3, 2)),
    propiedades={
        "frase entera": (3, "Con una sola cabeza y tres palabras, escribe la tabla a mano."),
        "con caché": (3, "¿En qué sitio está la primera consulta si es la última palabra?"),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Hacen falta una pendiente por cabeza y una distancia por pareja de sitios.",
        "Las consultas son los últimos sitios: su cuenta no empieza en cero si hay menos que"
        " claves.",
        "Primero el producto de la pendiente por la distancia; después, menos infinito donde la"
        " clave está después.",
    ),
    mutantes=(
        cambia(
            "consultas desde el principio",
            "Las consultas ocupan los últimos sitios, no los primeros.",
            "torch.arange(n_key - n_query, n_key)",
            "torch.arange(n_query)",
        ),
        cambia(
            "sin tapar",
            "Las claves posteriores llevan menos infinito.",
            "bias.masked_fill(distance < 0, -math.inf)",
            "-slope[:, None, None] * distance.abs()",
        ),
        cambia(
            "tapa la propia",
            "Cada palabra se ve a sí misma: en la diagonal va un cero.",
            "distance < 0",
            "distance <= 0",
        ),
        cambia(
            "signo",
            "El sesgo resta: cuanto más lejos, más negativo.",
            "bias = -slope",
            "bias = slope",
        ),
        cambia(
            "cuenta desde cero",
            "La primera cabeza ya es la 1: ninguna pendiente vale 1.",
            "torch.arange(1, n_heads + 1)",
            "torch.arange(n_heads)",
        ),
        cambia(
            "sin el número de cabezas",
            "El exponente se reparte entre las cabezas que hay: falta dividir.",
            "-8 * head / n_heads",
            "-head",
        ),
        cambia(
            "tapa el pasado",
            "Está tapado el pasado: es la clave posterior la que no se ve.",
            "distance < 0",
            "distance > 0",
        ),
    ),
)

# --- 9.2 ------------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="9.2",
    nombre="turned_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    tolerancia=6e-4,
    aprende="girar dos vectores a mano y ver de qué depende su producto",
    propiedades={
        "first": (1, "Con 30 grados por sitio, en el sitio 3 es un cuarto de vuelta."),
        "score": (1, "Gira las dos, o gira solo la clave la diferencia de ángulos."),
        "shifted": (1, "¿Cuánto ha cambiado la distancia?"),
        "swapped": (1, "Al intercambiar los sitios, la distancia cambia de signo."),
    },
    pistas=(
        "¿Cuántos grados gira cada vector en su sitio?",
        "Un cuarto de vuelta manda (x, y) a (−y, x).",
        "El producto es el de la consulta sin girar por la clave girada la diferencia, 60 grados"
        " hacia un lado o hacia el otro.",
    ),
    mutantes=(
        cambia(
            "gira al revés",
            "Los ángulos crecen en sentido contrario a las agujas del reloj.",
            "math.radians(30 * place)",
            "-math.radians(30 * place)",
        ),
        cambia(
            "sin girar la consulta",
            "Giran las dos, y aquí solo lo ha hecho la clave.",
            "turned(2, 1, query_place), turned",
            "(2, 1), turned",
        ),
        cambia(
            "sin girar",
            "Falta girar los vectores antes de multiplicar.",
            "turned(2, 1, query_place), turned(1, 2, key_place)",
            "(2, 1), (1, 2)",
        ),
        cambia(
            "escalada",
            "Se pide el producto sin escalar.",
            "return q[0] * k[0] + q[1] * k[1]",
            "return (q[0] * k[0] + q[1] * k[1]) / math.sqrt(2)",
        ),
        cambia(
            "solo el coseno del giro",
            "El ángulo que cuenta no es solo el del giro: los vectores ya no estaban alineados.",
            "return q[0] * k[0] + q[1] * k[1]",
            "return 5 * math.cos(math.radians(30 * (query_place - key_place)))",
        ),
        cambia(
            "la segunda componente",
            "Es la primera componente la que se pide, la horizontal.",
            "turned(2, 1, 3)[0]",
            "turned(2, 1, 3)[1]",
        ),
        cambia(
            "intercambiar no hace nada",
            "Al intercambiar los sitios cambia el signo de la distancia, y el giro es al revés.",
            "score(1, 3)",
            "score(3, 1)",
        ),
    ),
)

# --- 9.3 ------------------------------------------------------------------------------------------


def _casos_rope(rng: Any) -> list[Caso]:
    def caso(propiedad: str, layout: str, *, propios: bool = False, reales: bool = False) -> Caso:
        lote, n = distintos(rng, 2, 5, 2)
        cabezas = lote if propios else entero(rng, 1, 3)
        forma = (lote, n) if propios else (n,)
        sitios = uniforme(rng, -20, 60, *forma)
        sitios[..., 0] = uniforme(rng, -19, -1, *forma[:-1])  # siempre hay alguno negativo
        sitios = sitios if reales else sitios.round().long()
        x = normal(rng, lote, cabezas, n, 2 * entero(rng, 2, 5))
        return Caso(
            propiedad,
            (x, sitios),
            {"base": elige(rng, (50.0, 300.0, 1000.0)), "layout": layout},
            gradiente=not reales,  # no se pide el de los sitios
        )

    return [
        caso("contiguas", "interleaved"),
        caso("contiguas", "interleaved", reales=True),
        caso("mitades", "half"),
        caso("mitades", "half", reales=True),
        caso("sitios de cada ejemplo", "interleaved", propios=True),
        caso("sitios de cada ejemplo", "half", propios=True, reales=True),
    ]


_ROPE = Ejercicio(
    id="9.3",
    nombre="apply_rope",
    tipo="escribir",
    dificultad=1,
    minutos=25,
    aprende="escribir RoPE entero, en sus dos disposiciones",
    bordes=(
        "(positions < 0).any()",
        Borde("contiguas", {0: 0}),
        Borde("contiguas", {0: 1}),
        Borde("contiguas", {0: 2, 1: 0}),
    ),
    casos=_casos_rope,
    tolerancia=1e-4,  # la de hacer los ángulos en float32, como muchas bibliotecas
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[[[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]]]), tensor([0, 1]))
    ),
    propiedades={
        "contiguas": (3, "En el sitio 0 nada cambia. ¿Qué le pasa a (1, 0) en el sitio 1?"),
        "mitades": (3, "La componente i hace pareja con la que está media anchura después."),
        "sitios de cada ejemplo": (2, "A los ángulos les falta el eje de las cabezas."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Primero los ángulos, uno por sitio y pareja. Después, el giro de cada pareja.",
        "Separa x en dos mitades, a y b, con las primeras y las segundas de cada pareja.",
        "Vuelve a poner cada componente en su sitio: intercaladas o una mitad tras otra.",
    ),
    mutantes=(
        cambia(
            "gira al revés",
            "El giro va en sentido contrario: revisa los signos del seno.",
            "cos, sin = angle.cos(), angle.sin()",
            "cos, sin = angle.cos(), -angle.sin()",
        ),
        cambia(
            "no distingue las disposiciones",
            "Siempre gira parejas contiguas: falta atender a layout.",
            'if layout == "half":',
            "if False:",
        ),
        cambia(
            "siempre por mitades",
            "Siempre gira por mitades: falta atender a layout.",
            'if layout == "half":',
            "if True:",
        ),
        cambia(
            "exponente a la mitad",
            "El exponente es −2r/d, con r la pareja, no −r/d: en la última pareja casi llega a −1.",
            "2, dtype=x.dtype) / d)",
            "2, dtype=x.dtype) / 2 / d)",
        ),
        cambia(
            "sin el eje de las cabezas",
            "Con sitios de cada ejemplo, el eje del lote se ha confundido con el de las cabezas.",
            "angle[:, None]  # (batch, 1, n, d/2)",
            "angle[None]",
        ),
        cambia(
            "base fija",
            "La base es un argumento.",
            "speed = base **",
            "speed = 10000.0 **",
        ),
        cambia(
            "sin el signo del sitio",
            "Los sitios negativos giran hacia el otro lado: su signo se ha perdido.",
            "positions[..., None] * speed",
            "positions.abs()[..., None] * speed",
        ),
        cambia(
            "ángulos por mitades",
            "Con parejas contiguas, las dos componentes de una pareja giran el mismo ángulo, y se"
            " han puesto los ángulos por mitades.",
            "return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)",
            "turned = torch.stack([-b, a], dim=-1).flatten(-2)\n"
            "    cos, sin = (torch.cat([t, t], dim=-1) for t in (cos, sin))\n"
            "    return x * cos + turned * sin",
        ),
        cambia(
            "mezcla al volver",
            "Se separan intercaladas y se juntan por mitades: cada una vuelve a su sitio.",
            "torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)",
            "torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)",
        ),
        cambia(
            "sitios enteros",
            "Los sitios pueden no ser enteros.",
            "positions[..., None] * speed",
            "positions.long()[..., None] * speed",
        ),
    ),
)

# --- 9.4 ------------------------------------------------------------------------------------------

_VALORES = Ejercicio(
    id="9.4",
    nombre="values_turned_too",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="decir por qué RoPE deja quietos los valores",
    opciones=("nada", "los pesos", "las salidas", "los pesos y las salidas"),
    propiedades={"respuesta": (2, "Sigue los dos caminos por separado: puntuaciones y valores.")},
    pistas=(
        "¿De qué depende la puntuación de dos palabras? ¿Ha cambiado?",
        "La salida es una media de los valores. ¿Qué le pasa a una media si giran todos?",
    ),
    mutantes=(
        cuerpo(
            "nada",
            "Algo sí cambia. Con una sola palabra en la frase, ¿qué sale en cada sitio?",
            "return 'nada'",
        ),
        cuerpo(
            "los pesos",
            "Los pesos salen de las puntuaciones, que solo ven distancias.",
            "return 'los pesos'",
        ),
        cuerpo(
            "las dos cosas",
            "Una de las dos no cambia: mira de qué dependen las puntuaciones.",
            "return 'los pesos y las salidas'",
        ),
    ),
)

# --- 9.5 ------------------------------------------------------------------------------------------


def _en_borde(distancia: int, cubos: int, lejos: int) -> bool:
    """¿Cae el suelo justo en un entero, donde el redondeo decide?"""
    propios = cubos // 2 // 2
    if distancia <= propios or distancia >= lejos:
        return False
    parte = math.log(distancia / propios) / math.log(lejos / propios) * (cubos // 2 - propios)
    return abs(parte - round(parte)) < 1e-3


def _casos_cubos(rng: Any) -> list[Caso]:
    def distancias(minimo: int, maximo: int, cubos: int, lejos: int) -> Any:
        valen = [d for d in range(minimo, maximo + 1) if not _en_borde(d, cubos, lejos)]
        forma = (entero(rng, 2, 5), entero(rng, 6, 9))
        cuales = [[elige(rng, valen) for _ in range(forma[1])] for _ in range(forma[0])]
        signos = [[elige(rng, (-1, 1)) for _ in range(forma[1])] for _ in range(forma[0])]
        dadas = tensor(cuales) * tensor(signos)
        dadas[0, :2] = dadas[0, :2].abs()
        dadas[1, :2] = -dadas[1, :2].abs()
        dadas[0, 0] = minimo
        return dadas

    def otros() -> Caso:
        cubos, lejos = 2 * entero(rng, 5, 12), elige(rng, (40, 60, 75, 250, 300))
        return Caso(
            "otros tamaños",
            (distancias(0, lejos, cubos, lejos),),
            {"n_buckets": cubos, "max_distance": lejos},
        )

    return [
        Caso("cortas", (distancias(0, 7, 32, 128),)),
        Caso("cortas", (distancias(0, 7, 32, 128),)),
        Caso("largas", (distancias(9, 127, 32, 128),)),
        Caso("largas", (distancias(9, 127, 32, 128),)),
        Caso("desde la mayor", (distancias(128, 2000, 32, 128),)),
        otros(),
        otros(),
        otros(),
    ]


def _comprueba_cubos(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    import torch

    if not isinstance(obtenido, torch.Tensor) or obtenido.shape != esperado.shape:
        llego = tuple(obtenido.shape) if isinstance(obtenido, torch.Tensor) else type(obtenido)
        return f"llegó {llego}; se esperaba un tensor de forma {tuple(esperado.shape)}"
    if obtenido.dtype not in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
        tipo = str(obtenido.dtype).removeprefix("torch.")
        return f"dtype: llegó {tipo}; los cubos son enteros"
    fallan = (obtenido.long() != esperado).flatten().nonzero()[:, 0].tolist()
    if fallan:
        distancia, dado, cierto = (
            int(x.flatten()[fallan[0]]) for x in (caso.args[0], obtenido, esperado)
        )
        return f"la distancia {distancia} va al cubo {cierto}, y llegó {dado}"
    return None


def _cubos_en_int64(valor: Any) -> Any:
    return valor.long()


_CUBOS = Ejercicio(
    id="9.5",
    nombre="t5_bucket",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="repartir distancias en cubos, finos cerca y anchos lejos",
    bordes=(
        "(relative < 0).any()",
        "(relative == 0).any()",
        Borde("cortas", {0: 0}),
    ),
    casos=_casos_cubos,
    comprueba=_comprueba_cubos,
    invariante=_cubos_en_int64,
    ejemplo=lambda: Caso("ejemplo", (tensor([-200, -20, -3, 0, 3, 20, 200]),)),
    propiedades={
        "cortas": (2, "Las distancias menores que el cuarto de los cubos tienen uno propio."),
        "largas": (
            3,
            "Entre la última corta y la mayor, los cubos que quedan van con el logaritmo.",
        ),
        "desde la mayor": (1, "Todas las lejanas de un lado comparten su último cubo."),
        "otros tamaños": (2, "Los cubos y la distancia mayor son argumentos."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Resuelve primero un lado, con distancias sin signo; el otro lado es una suma.",
        "Dos ramas, la corta y la larga, y se elige según la distancia.",
        "En la rama larga, el suelo de una fracción de logaritmos, que no pase del último cubo.",
    ),
    mutantes=(
        cambia(
            "lado cambiado",
            "La mitad de arriba es para las claves posteriores, las de distancia positiva.",
            "relative > 0",
            "relative < 0",
        ),
        cambia(
            "cero es posterior",
            "La distancia 0 va con las anteriores: le toca el cubo 0.",
            "relative > 0",
            "relative >= 0",
        ),
        cambia(
            "sin lado",
            "Falta distinguir si la clave está antes o después.",
            "bucket + side * (relative > 0)",
            "bucket",
        ),
        cambia(
            "todos los cubos a cada lado",
            "Cada lado tiene solo la mitad de los cubos.",
            "side = n_buckets // 2",
            "side = n_buckets",
        ),
        cambia(
            "sin tope",
            "Más allá de la distancia mayor se pasa del último cubo de su lado.",
            "coarse.clamp(max=side - 1)",
            "coarse",
        ),
        cambia(
            "reparto lineal",
            "Las distancias largas se reparten con el logaritmo, no por igual.",
            "far.log() / math.log(max_distance / exact)",
            "(far - 1) / (max_distance / exact - 1)",
        ),
        cambia(
            "redondea",
            "Es el suelo de la fracción, no el entero más cercano.",
            "(side - exact)).long()",
            "(side - exact)).round().long()",
        ),
        cambia(
            "tamaños fijos",
            "La distancia mayor es un argumento.",
            "math.log(max_distance / exact)",
            "math.log(128 / exact)",
        ),
    ),
)

# --- 9.6 ------------------------------------------------------------------------------------------


def _casos_shaw(rng: Any) -> list[Caso]:
    def caso(propiedad: str, *delante: int, alcance: int, n: int) -> Caso:
        d, d_v = distintos(rng, 2, 6, 2)
        query, key = normal(rng, *delante, n, d), normal(rng, *delante, n, d)
        value = normal(rng, *delante, n, d_v)
        de_clave, de_valor = (normal(rng, 2 * alcance + 1, ancho) for ancho in (d, d_v))
        if propiedad == "solo en las claves":
            de_valor = de_valor * 0
        if propiedad == "solo en los valores":
            de_clave = de_clave * 0
        args = (query, key, value, de_clave, de_valor)
        return Caso(propiedad, args, gradiente=propiedad == "lote y cabezas")

    n = entero(rng, 4, 7)
    return [
        caso("solo en las claves", alcance=n, n=n),
        caso("solo en las claves", alcance=n - 1, n=n),
        caso("solo en los valores", alcance=n, n=n),
        caso("solo en los valores", alcance=n - 1, n=n),
        caso("recorte", alcance=1, n=n),
        caso("recorte", alcance=2, n=n + 1),
        caso("lote y cabezas", 2, 3, alcance=2, n=n),
        caso("lote y cabezas", 3, alcance=1, n=n),
    ]


_SHAW = Ejercicio(
    id="9.6",
    nombre="shaw_attention",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="sumar a claves y valores un vector por distancia",
    bordes=(
        Borde("recorte", {0: 0, 1: 0, 2: 0}),
        Borde("lote y cabezas", {0: 0, 1: 0, 2: 0}),
    ),
    casos=_casos_shaw,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0], [2.0]]),
            tensor([[0.0], [1.0]]),
            tensor([[0.0], [1.0]]),
            tensor([[0.0], [0.0], [0.5]]),
            tensor([[-1.0], [0.0], [1.0]]),
        ),
    ),
    propiedades={
        "solo en las claves": (2, "La puntuación es q·(k + a), con a la fila de su distancia."),
        "solo en los valores": (2, "Los mismos pesos mezclan los valores y sus vectores."),
        "recorte": (2, "Las distancias que no caben usan la fila del extremo de su lado."),
        "lote y cabezas": (2, "Los ejes de delante no tocan las tablas, que son comunes."),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        "¿Qué fila de la tabla le toca a la consulta 0 con la clave 2?",
        "Construye una tabla (n, n) de índices: clave menos consulta, recortada, más el alcance.",
        "Con esos índices salen (n, n, d) y (n, n, d_v), que se multiplican por las consultas y por"
        " los pesos.",
    ),
    mutantes=(
        cambia(
            "consulta menos clave",
            "La fila es la de clave menos consulta, y aquí va al revés.",
            "place - place[:, None]",
            "place[:, None] - place",
        ),
        cambia(
            "sin los vectores de los valores",
            "Falta sumar a la salida los vectores de distancia de los valores.",
            ' + torch.einsum("...ij,ijv->...iv", weights, value_table[row])',
            "",
        ),
        cambia(
            "sin los vectores de las claves",
            "Falta sumar a las puntuaciones los vectores de distancia de las claves.",
            "(by_content + by_distance)",
            "by_content",
        ),
        cambia(
            "escala a medias",
            "La escala divide la puntuación entera, también la parte de la distancia.",
            "((by_content + by_distance) / math.sqrt(query.shape[-1]))",
            "(by_content / math.sqrt(query.shape[-1]) + by_distance)",
        ),
        cambia(
            "sin escala",
            "Falta dividir entre la raíz de d.",
            " / math.sqrt(query.shape[-1])",
            "",
        ),
        cambia(
            "vuelve a empezar",
            "Las distancias que no caben van al extremo, no dan la vuelta.",
            "(place - place[:, None]).clamp(-reach, reach) + reach",
            "(place - place[:, None] + reach) % (2 * reach + 1)",
        ),
        cambia(
            "multiplica por la clave",
            "El vector de la distancia se multiplica por la consulta, no por la clave.",
            '"...id,ijd->...ij", query,',
            '"...jd,ijd->...ij", key,',
        ),
    ),
)

# --- 9.7 ------------------------------------------------------------------------------------------


def _casos_alargar(rng: Any) -> list[Caso]:
    def caso(propiedad: str, method: str, cabe: bool) -> Caso:
        trained = entero(rng, 6, 12)
        n = entero(rng, 3, trained - 1) if cabe else trained + entero(rng, 1, 9)
        n = trained if cabe and method == "ntk" else n  # justo lo que cabe
        base = elige(rng, (100.0, 500.0, 2000.0))
        return Caso(propiedad, (n, 2 * entero(rng, 2, 6), trained, method), {"base": base})

    return [
        caso("si cabe", "interpolation", True),
        caso("si cabe", "ntk", True),
        caso("interpolar", "interpolation", False),
        caso("interpolar", "interpolation", False),
        caso("base mayor", "ntk", False),
        caso("base mayor", "ntk", False),
    ]


_ALARGAR = Ejercicio(
    id="9.7",
    nombre="stretched_angles",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="alargar RoPE de dos maneras, y solo cuando la frase no cabe",
    bordes=(
        "n == trained",
        Borde("si cabe", valores={0: 1}),
    ),
    casos=_casos_alargar,
    ejemplo=lambda: Caso("ejemplo", (3, 4, 2, "interpolation"), {"base": 100.0}),
    propiedades={
        "si cabe": (2, "Si la frase no pasa de lo entrenado, los ángulos son los de siempre."),
        "interpolar": (3, "El factor es lo que mide la frase entre lo entrenado."),
        "base mayor": (3, "La última pareja debe quedar como al interpolar, y la primera, igual."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "¿Qué factor corresponde a una frase que cabe?",
        "Una manera cambia los sitios; la otra, la base. El resto de la cuenta es común.",
        "La base se multiplica por el factor elevado a d/(d − 2).",
    ),
    mutantes=(
        cambia(
            "alarga siempre",
            "Si la frase cabe, no se toca nada: el factor no baja de 1.",
            "max(1.0, n / trained)",
            "n / trained",
        ),
        cambia(
            "factor al revés",
            "Los sitios se aprietan: se dividen entre el factor.",
            "places / factor",
            "places * factor",
        ),
        cambia(
            "exponente sin d − 2",
            "Con ese exponente la última pareja no queda como al interpolar.",
            "factor ** (d_head / (d_head - 2))",
            "factor",
        ),
        cambia(
            "base menor",
            "La base crece: una base menor haría girar más deprisa.",
            "base * factor ** (d_head / (d_head - 2))",
            "base / factor ** (d_head / (d_head - 2))",
        ),
        cambia(
            "las dos a la vez",
            "Con la base mayor los sitios no se tocan.",
            'if method == "interpolation":\n        places = places / factor\n    else:\n',
            'places = places / factor\n    if method == "ntk":\n',
        ),
        cambia(
            "factor entero",
            "El factor no tiene por qué ser entero.",
            "n / trained)",
            "float(math.ceil(n / trained)))",
        ),
        cambia(
            "base fija",
            "La base de partida es un argumento.",
            "base = base * factor",
            "base = 10000.0 * factor",
        ),
    ),
)

# --- 9.8 ------------------------------------------------------------------------------------------


def _casos_averiado(rng: Any) -> list[Caso]:
    def caso(propiedad: str, nuevas: int, base: float = 10000.0) -> Caso:
        lote, cabezas, pasado = distintos(rng, 2, 6, 3)
        d = 2 * entero(rng, 2, 5)
        cabecera = (lote, cabezas)
        args = [normal(rng, *cabecera, largo, d) for largo in (nuevas, nuevas, pasado)]
        extra = {} if base == 10000.0 else {"base": base}
        return Caso(propiedad, tuple(args), extra, gradiente=True)

    return [
        caso("una palabra nueva", 1),
        caso("una palabra nueva", 1, 50.0),
        caso("varias nuevas", entero(rng, 2, 4)),
        caso("varias nuevas", entero(rng, 3, 5), 300.0),
    ]


_AVERIADO = Ejercicio(
    id="9.8",
    nombre="decode_scores",
    tipo="depurar",
    dificultad=2,
    minutos=25,
    aprende="usar RoPE con una caché de claves ya giradas",
    bordes=(
        "query.shape[2] == 1",
        Borde("varias nuevas", {2: 2}),
        Borde("varias nuevas", {0: 0, 1: 0, 2: 0}),
    ),
    casos=_casos_averiado,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[[[1.0, 0.0]]]]), tensor([[[[1.0, 0.0]]]]), tensor([[[[1.0, 0.0]]]])),
    ),
    propiedades={
        "una palabra nueva": (
            3,
            "La palabra nueva consigo misma está a distancia 0: su puntuación no lleva giro.",
        ),
        "varias nuevas": (3, "Compara con girarlo todo de una vez, sin caché."),
    },
    pistas=(
        "Haz la cuenta sin caché, girándolo todo de una vez, y compara columna a columna.",
        "Una falta está en los sitios de la consulta; otra, en qué claves se giran; la tercera, en"
        " qué componentes forman pareja.",
        "La caché guarda claves giradas, las nuevas empiezan donde ella acaba y nada se reordena.",
    ),
    mutantes=(
        cambia(
            "sin tocar",
            "Siguen las tres faltas: los sitios de la consulta, las claves guardadas y las"
            " parejas.",
            "query = _turn(query, angle[past:])",
            "query = _turn(query, angle[:n])",
            "    key = _turn(key, angle[past:])\n",
            "",
            "keys = torch.cat([cached_key, key], dim=-2)",
            "keys = torch.cat([cached_key, key], dim=-2)\n"
            "    keys = _turn(keys.unflatten(-1, (2, -1)).mT.flatten(-2), angle)",
        ),
        cambia(
            "consulta desde cero",
            "La consulta está después de lo guardado, y se ha girado como si empezara la frase.",
            "query = _turn(query, angle[past:])",
            "query = _turn(query, angle[:n])",
        ),
        cambia(
            "gira dos veces",
            "Las claves guardadas ya estaban giradas, y se han girado otra vez.",
            "    key = _turn(key, angle[past:])\n",
            "",
            "keys = torch.cat([cached_key, key], dim=-2)",
            "keys = _turn(torch.cat([cached_key, key], dim=-2), angle)",
        ),
        cambia(
            "todo desde cero",
            "Las palabras nuevas vuelven a contar desde el sitio 0.",
            "query = _turn(query, angle[past:])",
            "query = _turn(query, angle[:n])",
            "key = _turn(key, angle[past:])",
            "key = _turn(key, angle[:n])",
        ),
        cambia(
            "parejas mezcladas",
            "Las claves nuevas emparejan sus componentes de otra manera que la consulta.",
            "key = _turn(key, angle[past:])",
            "key = _turn(key.unflatten(-1, (2, -1)).mT.flatten(-2), angle[past:])",
        ),
        cambia(
            "sin girar las nuevas",
            "Las claves nuevas también se giran, antes de unirlas a las guardadas.",
            "    key = _turn(key, angle[past:])\n",
            "",
        ),
        cambia(
            "parejas y dos veces",
            "La consulta ya está bien: quedan las claves guardadas y las parejas.",
            "    key = _turn(key, angle[past:])\n",
            "",
            "keys = torch.cat([cached_key, key], dim=-2)",
            "keys = torch.cat([cached_key, key], dim=-2)\n"
            "    keys = _turn(keys.unflatten(-1, (2, -1)).mT.flatten(-2), angle)",
        ),
    ),
)

# --- 9.9 ------------------------------------------------------------------------------------------


def _casos_mudanza(rng: Any) -> list[Caso]:
    def caso(propiedad: str, minimo: float, maximo: float, *, parcial: bool = False) -> Caso:
        lote, n = distintos(rng, 2, 6, 2)
        d = 2 * entero(rng, 3, 6)
        saltos = uniforme(rng, minimo, maximo, lote)
        extra: dict[str, Any] = {"base": real(rng, 20, 500)}
        if parcial:
            extra["rotary_dim"] = d - 2 * entero(rng, 1, d // 2 - 2)
        else:
            saltos = saltos.round().long()
        args = (normal(rng, lote, lote, n, d), saltos)
        return Caso(propiedad, args, extra, gradiente=not parcial)  # no se pide el de los saltos

    return [
        caso("hacia delante", 1, 40),
        caso("hacia delante", 1, 40),
        caso("hacia atrás", -40, -1),
        caso("hacia atrás", -40, -1),
        caso("giro parcial", -20, 20, parcial=True),
        caso("giro parcial", 0.5, 9, parcial=True),
    ]


_MUDANZA = Ejercicio(
    id="9.9",
    nombre="move_cache",
    tipo="escribir",
    dificultad=3,
    minutos=30,
    aprende="componer giros: mudar de sitio una caché sin saber dónde estaba",
    bordes=(
        "(offset < 0).any()",
        "rotary_dim is None",
        Borde("hacia delante", {0: 0, 1: 0}),
        Borde("hacia delante", {0: 2}),
    ),
    casos=_casos_mudanza,
    ejemplo=lambda: Caso("ejemplo", (tensor([[[[1.0, 0.0]]]]), tensor([1]))),
    propiedades={
        "hacia delante": (
            3,
            "¿Qué hay que hacerle a un vector girado en 3 para que parezca girado en 5? ¿Qué dos"
            " componentes forman pareja, y cuánto gira cada una?",
        ),
        "hacia atrás": (2, "Un salto negativo gira hacia el otro lado."),
        "giro parcial": (
            3,
            "Giran las primeras componentes, entre las que se reparten las frecuencias; las demás"
            " salen como entraron. El salto puede no ser entero.",
        ),
    },
    prohibido=(ATENTO,),
    pistas=(
        "No hace falta saber en qué sitio estaba cada clave. ¿Por qué?",
        "Dos giros seguidos de una pareja son un giro, y sus ángulos se suman.",
        "Todas las claves de un ejemplo giran lo mismo, en todas las cabezas y todos los sitios.",
    ),
    mutantes=(
        cambia(
            "vuelve a contar",
            "Se ha girado cada clave según su lugar en la caché, y ya lo estaba.",
            "(offset[:, None] * speed)[:, None, None]",
            "((offset[:, None] + torch.arange(key.shape[2]))[:, :, None] * speed)[:, None]",
        ),
        cambia(
            "al revés",
            "El giro va en sentido contrario al salto.",
            "offset[:, None] * speed",
            "-offset[:, None] * speed",
        ),
        cambia(
            "frecuencias de toda la anchura",
            "Con giro parcial, las frecuencias se reparten entre las componentes que giran.",
            "dtype=key.dtype) / width",
            "dtype=key.dtype) / key.shape[-1]",
        ),
        cambia(
            "exponente a la mitad",
            "El exponente es −2r/d, con r la pareja, no −r/d.",
            "0, width, 2, dtype=key.dtype) / width",
            "width // 2, dtype=key.dtype) / width",
        ),
        cambia(
            "por mitades",
            "Las parejas de esta caché son de componentes contiguas, y se han girado por mitades.",
            "key[..., 0:width:2], key[..., 1:width:2]",
            "key[..., : width // 2], key[..., width // 2 : width]",
            "moved = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)",
            "moved = torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)",
        ),
        cambia(
            "las últimas",
            "Con giro parcial giran las primeras componentes, no las últimas.",
            "cos, sin = angle",
            "key = key.roll(width, -1)\n    cos, sin = angle",
            "torch.cat([moved, key[..., width:]], dim=-1)",
            "torch.cat([moved, key[..., width:]], dim=-1).roll(-width, -1)",
        ),
        cambia(
            "sin las que no giran",
            "Con giro parcial se devuelven todas las componentes, también las que no giran.",
            "torch.cat([moved, key[..., width:]], dim=-1)",
            "moved",
        ),
        cambia(
            "saltos enteros",
            "El salto puede no ser entero.",
            "(offset[:, None] * speed)",
            "(offset.long()[:, None] * speed)",
        ),
        cambia(
            "gira todo",
            "Con giro parcial, las últimas componentes se quedan como están.",
            "key.shape[-1] if rotary_dim is None else rotary_dim",
            "key.shape[-1]",
        ),
        cambia(
            "salto de las cabezas",
            "Cada ejemplo tiene su salto, y aquí se ha dado uno a cada cabeza.",
            "[:, None, None]  # (batch, 1, 1, d/2)",
            "[None, :, None]",
        ),
        cambia(
            "base fija",
            "La base es un argumento.",
            "speed = base **",
            "speed = 10000.0 **",
        ),
        cambia(
            "solo hacia delante",
            "También se puede mudar hacia atrás: el salto tiene signo.",
            "(offset[:, None] * speed)",
            "(offset.abs()[:, None] * speed)",
        ),
    ),
)

EJERCICIOS = [
    _ALIBI,
    _A_MANO,
    _ROPE,
    _VALORES,
    _CUBOS,
    _SHAW,
    _ALARGAR,
    _AVERIADO,
    _MUDANZA,
]
