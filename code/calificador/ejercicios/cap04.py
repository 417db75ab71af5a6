"""Ejercicios del capítulo 4, «La atención, derivada»."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

from calificador.generadores import entero, normal, uniforme
from calificador.registro import Caso, Ejercicio, Mutante

if TYPE_CHECKING:
    import torch

_CABECERA = "import math\n\nimport torch\n\n\n"
_SIN_ATENCION = ("scaled_dot_product_attention", "fused_attention", "MultiheadAttention")


def _mutante(nombre: str, codigo: str, pista: str) -> Mutante:
    return Mutante(nombre, _CABECERA + dedent(codigo).strip() + "\n", pista)


# --- 4.1 -------------------------------------------------------------------------------------------------------------


def _casos_formas(rng: torch.Generator) -> list[Caso]:
    n, m, d_k, d_v = (entero(rng, 2, 6), entero(rng, 7, 11), entero(rng, 12, 16), entero(rng, 17, 21))
    lote, cabezas, otro = entero(rng, 22, 30), entero(rng, 31, 40), entero(rng, 41, 50)
    return [
        Caso("sin lote", ([n, d_k], [m, d_k], [m, d_v])),
        Caso("con lote", ([lote, n, d_k], [lote, m, d_k], [lote, m, d_v])),
        Caso("con lote", ([lote, cabezas, n, d_k], [lote, cabezas, m, d_k], [lote, cabezas, m, d_v])),
        Caso("lote difundido", ([lote, cabezas, n, d_k], [lote, 1, m, d_k], [m, d_v])),
        Caso("lote difundido", ([n, d_k], [lote, m, d_k], [otro, 1, m, d_v])),
    ]


_FORMAS = Ejercicio(
    id="4.1",
    nombre="attention_shapes",
    tipo="predecir",
    puntos=5,
    dificultad=1,
    minutos=10,
    aprende="decir la forma de cada tensor de la atención sin ejecutarla",
    casos=_casos_formas,
    propiedades={"sin lote": 2, "con lote": 1, "lote difundido": 2},
    pistas=(
        "Los dos últimos ejes salen de los dos productos de matrices; los demás son de lote.",
        "Las puntuaciones son (query, d_k)(d_k, key) y la salida (query, key)(key, d_v).",
        "Los ejes de lote de la salida también pueden venir de value: torch.broadcast_shapes hace la cuenta.",
    ),
    mutantes=(
        _mutante(
            "salida-d-k",
            """
            def attention_shapes(q, k, v):
                b = list(torch.broadcast_shapes(tuple(q[:-2]), tuple(k[:-2])))
                s = [*b, q[-2], k[-2]]
                return [s, s, [*torch.broadcast_shapes(tuple(b), tuple(v[:-2])), q[-2], q[-1]]]
            """,
            "La última dimensión de la salida es la de los valores, d_v: lo que se promedia son valores, no claves.",
        ),
        _mutante(
            "traspuesta",
            """
            def attention_shapes(q, k, v):
                b = list(torch.broadcast_shapes(tuple(q[:-2]), tuple(k[:-2])))
                s = [*b, k[-2], q[-2]]
                return [s, s, [*torch.broadcast_shapes(tuple(b), tuple(v[:-2])), q[-2], v[-1]]]
            """,
            "Puntuaciones y pesos están traspuestos: con posiciones por filas, hay una fila por consulta.",
        ),
        _mutante(
            "filas-de-claves",
            """
            def attention_shapes(q, k, v):
                b = list(torch.broadcast_shapes(tuple(q[:-2]), tuple(k[:-2])))
                s = [*b, q[-2], k[-2]]
                return [s, s, [*torch.broadcast_shapes(tuple(b), tuple(v[:-2])), k[-2], v[-1]]]
            """,
            "La salida tiene tantas filas como consultas, no como claves: las claves solo se promedian.",
        ),
        _mutante(
            "lote-de-query",
            """
            def attention_shapes(q, k, v):
                s = [*q[:-2], q[-2], k[-2]]
                return [s, s, [*q[:-2], q[-2], v[-1]]]
            """,
            "Solo se ha mirado el lote de query: los de key y value también cuentan, y se difunden.",
        ),
        _mutante(
            "lote-sin-value",
            """
            def attention_shapes(q, k, v):
                b = list(torch.broadcast_shapes(tuple(q[:-2]), tuple(k[:-2])))
                s = [*b, q[-2], k[-2]]
                return [s, s, [*b, q[-2], v[-1]]]
            """,
            "El lote de la salida ignora el de value: el segundo producto también difunde.",
        ),
        _mutante(
            "pesos-como-salida",
            """
            def attention_shapes(q, k, v):
                b = list(torch.broadcast_shapes(tuple(q[:-2]), tuple(k[:-2])))
                o = [*torch.broadcast_shapes(tuple(b), tuple(v[:-2])), q[-2], v[-1]]
                return [[*b, q[-2], k[-2]], o, o]
            """,
            "Los pesos tienen la misma forma que las puntuaciones: la softmax no cambia la forma.",
        ),
    ),
)

# --- 4.2 -------------------------------------------------------------------------------------------------------------


def _nula(rng: torch.Generator) -> float:
    return float(uniforme(rng, 0.5, 2.0)) * (1 if entero(rng, 0, 1) else -1)


def _casos_nula(rng: torch.Generator) -> list[Caso]:
    n, m = entero(rng, 3, 6), entero(rng, 7, 10)
    grandes = 1e4 * normal(rng, n, m)
    grandes[0] = -grandes[0].abs()
    grandes[1, :2] = 1e4
    return [
        Caso("una fila", (2 * normal(rng, m), _nula(rng))),
        Caso("varios ejes", (2 * normal(rng, entero(rng, 2, 4), n, m), _nula(rng))),
        Caso("puntuaciones enormes", (grandes, _nula(rng))),
    ]


_NULA = Ejercicio(
    id="4.2",
    nombre="softmax_with_null",
    tipo="completar",
    puntos=8,
    dificultad=1,
    minutos=15,
    aprende="que los pesos sumen 1 es una decisión, y cómo permitir que no se atienda a nada",
    casos=_casos_nula,
    propiedades={"una fila": 3, "varios ejes": 3, "puntuaciones enormes": 2},
    pistas=(
        "La clave nula es una columna más en la softmax, que luego se tira.",
        "Si se restó el máximo a las puntuaciones, a la de la clave nula hay que restarle lo mismo.",
        "torch.cat admite una columna hecha con torch.full_like(scores[..., :1], null_score).",
    ),
    mutantes=(
        _mutante(
            "sin-nula",
            """
            def softmax_with_null(scores, null_score):
                return scores.softmax(dim=-1)
            """,
            "Las filas suman 1: la clave nula no compite. Debe entrar en el denominador.",
        ),
        _mutante(
            "con-la-columna",
            """
            def softmax_with_null(scores, null_score):
                extra = torch.full_like(scores[..., :1], null_score)
                return torch.cat([scores, extra], dim=-1).softmax(dim=-1)
            """,
            "Sobra una columna: el peso de la clave nula se descarta antes de devolver.",
        ),
        _mutante(
            "nula-cero",
            """
            def softmax_with_null(scores, null_score):
                extra = torch.zeros_like(scores[..., :1])
                return torch.cat([scores, extra], dim=-1).softmax(dim=-1)[..., :-1]
            """,
            "La clave nula entra con puntuación 0 y no con null_score.",
        ),
        _mutante(
            "sin-exponencial",
            """
            def softmax_with_null(scores, null_score):
                top = scores.amax(dim=-1, keepdim=True).clamp(min=0.0)
                exps = (scores - top).exp()
                return exps / (exps.sum(dim=-1, keepdim=True) + abs(null_score) * (-top).exp())
            """,
            "Al denominador se ha sumado null_score; se suma su exponencial.",
        ),
        _mutante(
            "maximo-a-medias",
            """
            def softmax_with_null(scores, null_score):
                exps = (scores - scores.amax(dim=-1, keepdim=True)).exp()
                return exps / (exps.sum(dim=-1, keepdim=True) + math.exp(null_score))
            """,
            "Se restó el máximo a las puntuaciones pero no a la clave nula: la resta debe ser la misma para todas.",
        ),
        _mutante(
            "desborda",
            """
            def softmax_with_null(scores, null_score):
                exps = scores.exp()
                return exps / (exps.sum(dim=-1, keepdim=True) + math.exp(null_score))
            """,
            "Con puntuaciones grandes sale NaN (∞/∞): hay que restar el máximo antes de la exponencial.",
        ),
        _mutante(
            "otro-eje",
            """
            def softmax_with_null(scores, null_score):
                extra = torch.full_like(scores[..., :1], null_score)
                return torch.cat([scores, extra], dim=-1).softmax(dim=0)[..., :-1]
            """,
            "La softmax recorre el primer eje; debe recorrer el de las claves, el último.",
        ),
    ),
)

# --- 4.3 -------------------------------------------------------------------------------------------------------------


def _casos_temperatura(rng: torch.Generator) -> list[Caso]:
    def entrada(lote: int, n: int, m: int, constante: bool = False):
        d_k, d_v = entero(rng, 3, 6), entero(rng, 2, 5)
        tau = uniforme(rng, 0.3, 0.8, lote, n) * (2.0 ** entero(rng, 0, 2))
        if constante:
            tau = tau[:1, :1].expand(lote, n).clone()
        return normal(rng, lote, n, d_k), normal(rng, lote, m, d_k), normal(rng, lote, m, d_v), tau

    cuadrado = entero(rng, 4, 6)
    return [
        Caso("la misma para todas", entrada(2, entero(rng, 2, 4), entero(rng, 5, 7), constante=True)),
        Caso("una por consulta", entrada(entero(rng, 2, 3), entero(rng, 2, 4), entero(rng, 5, 7))),
        Caso("una por consulta", entrada(2, cuadrado, cuadrado)),
        Caso("gradiente", entrada(2, entero(rng, 2, 4), entero(rng, 5, 7)), gradiente=True),
    ]


def _temperatura(cuerpo: str) -> str:
    return "def attention_with_temperature(query, key, value, temperature):\n" + "".join(
        f"    {linea}\n" for linea in cuerpo.strip().splitlines()
    )


_TEMPERATURA = Ejercicio(
    id="4.3",
    nombre="attention_with_temperature",
    tipo="escribir",
    puntos=10,
    dificultad=2,
    minutos=20,
    aprende="colocar un parámetro por consulta en el eje que le toca",
    casos=_casos_temperatura,
    propiedades={"la misma para todas": 3, "una por consulta": 4, "gradiente": 3},
    prohibido=_SIN_ATENCION,
    pistas=(
        "Las puntuaciones tienen forma (batch, query, key) y la temperatura (batch, query): ¿qué eje le falta?",
        "temperature[..., None] tiene forma (batch, query, 1) y se difunde sobre las claves.",
        "Se divide antes de la softmax, y nada más: aquí no hay √d_k.",
    ),
    mutantes=(
        _mutante(
            "eje-de-las-claves",
            _temperatura("""s = query @ key.transpose(-2, -1) / temperature[:, None, :]
return s.softmax(dim=-1) @ value"""),
            "La temperatura se ha difundido sobre las consultas: la de la consulta i debe dividir toda la fila i.",
        ),
        _mutante(
            "raiz-de-mas",
            _temperatura("""s = query @ key.transpose(-2, -1) / temperature[..., None] / query.shape[-1] ** 0.5
return s.softmax(dim=-1) @ value"""),
            "Sobra la división entre √d_k: el enunciado pide solo la temperatura.",
        ),
        _mutante(
            "multiplica",
            _temperatura("""s = query @ key.transpose(-2, -1) * temperature[..., None]
return s.softmax(dim=-1) @ value"""),
            "Se multiplica por la temperatura; se divide. Una temperatura alta debe igualar los pesos.",
        ),
        _mutante(
            "despues",
            _temperatura("""w = (query @ key.transpose(-2, -1)).softmax(dim=-1) / temperature[..., None]
return w @ value"""),
            "La temperatura actúa después de la softmax, y los pesos dejan de sumar 1: va antes.",
        ),
        _mutante(
            "otro-eje",
            _temperatura("""s = query @ key.transpose(-2, -1) / temperature[..., None]
return s.softmax(dim=-2) @ value"""),
            "La softmax recorre las consultas (dim=-2); debe recorrer las claves (dim=-1).",
        ),
        _mutante(
            "sin-gradiente",
            _temperatura("""s = query @ key.transpose(-2, -1) / temperature.detach()[..., None]
return s.softmax(dim=-1) @ value"""),
            "El valor es bueno, pero a la temperatura no le llega gradiente: algo la separa del grafo (detach, item…).",
        ),
        _mutante(
            "media",
            _temperatura("""s = query @ key.transpose(-2, -1) / temperature.mean()
return s.softmax(dim=-1) @ value"""),
            "Todas las consultas usan la misma temperatura: cada una tiene la suya.",
        ),
    ),
)

# --- 4.4 -------------------------------------------------------------------------------------------------------------


def _casos_gaussiano(rng: torch.Generator) -> list[Caso]:
    import torch

    def entrada(ancho: float, densidad: float = 1.0, tapadas: int = 0):
        n, m, d, d_v = entero(rng, 4, 6), entero(rng, 7, 9), entero(rng, 2, 4), entero(rng, 2, 4)
        mask = torch.rand(n, m, generator=rng) < densidad
        mask[torch.arange(n), torch.randint(m, (n,), generator=rng)] = True
        mask[:tapadas] = False
        return normal(rng, n, d), normal(rng, m, d), normal(rng, m, d_v), ancho, mask

    def ancho() -> float:
        return float(uniforme(rng, 0.6, 0.9))

    return [
        Caso("sin tapar", entrada(ancho())),
        Caso("con máscara", entrada(ancho(), 0.5)),
        Caso("fila tapada", entrada(ancho(), 0.6, entero(rng, 1, 2))),
        Caso("ancho pequeño", entrada(0.01)),
    ]


def _gaussiano(cuadrado: str, puntos: str, pesos: str) -> str:
    return (
        "def gaussian_attention(query, key, value, bandwidth, mask):\n"
        f"    squared = {cuadrado}\n    scores = {puntos}\n"
        "    alone = ~mask.any(dim=-1, keepdim=True)\n"
        f"    weights = {pesos}\n    return weights @ value\n"
    )


_CUADRADO = "(query[:, None] - key[None]).square().sum(dim=-1)"
_PUNTOS = "-squared / (2 * bandwidth**2)"
_PESOS = "scores.masked_fill(~(mask | alone), -math.inf).softmax(dim=-1).masked_fill(alone, 0.0)"

_GAUSSIANO = Ejercicio(
    id="4.4",
    nombre="gaussian_attention",
    tipo="escribir",
    puntos=12,
    dificultad=2,
    minutos=25,
    aprende="cambiar la puntuación sin tocar el resto de la atención, y tratar las filas sin ninguna clave",
    casos=_casos_gaussiano,
    propiedades={"sin tapar": 4, "con máscara": 3, "fila tapada": 3, "ancho pequeño": 2},
    prohibido=_SIN_ATENCION,
    pistas=(
        "El núcleo es la exponencial de una puntuación: se calcula la puntuación y se deja la exponencial a la softmax.",
        "Una fila tapada entera es softmax de todo −∞: 0/0. Hay que apartarla antes y ponerla a 0 después.",
        "masked_fill(~mask, -inf) tapa donde mask es False, que es donde no se puede atender.",
    ),
    mutantes=(
        _mutante(
            "sin-el-dos",
            _gaussiano(_CUADRADO, "-squared / bandwidth**2", _PESOS),
            "Falta el 2 del denominador: el núcleo es exp(−‖q − k‖² / 2h²).",
        ),
        _mutante(
            "ancho-sin-cuadrado",
            _gaussiano(_CUADRADO, "-squared / (2 * bandwidth)", _PESOS),
            "El ancho va al cuadrado: se mide en las mismas unidades que los vectores.",
        ),
        _mutante(
            "norma-sin-cuadrado",
            _gaussiano("(query[:, None] - key[None]).norm(dim=-1)", _PUNTOS, _PESOS),
            "Es el cuadrado de la distancia, y no la distancia, lo que lleva el núcleo gaussiano.",
        ),
        _mutante(
            "signo",
            _gaussiano(_CUADRADO, "squared / (2 * bandwidth**2)", _PESOS),
            "El signo está cambiado: pesan más las claves lejanas.",
        ),
        _mutante(
            "mascara-al-reves",
            _gaussiano(
                _CUADRADO, _PUNTOS, "scores.masked_fill(mask, -math.inf).softmax(dim=-1).nan_to_num(0.0)"
            ),
            "La máscara está al revés: True es «puede atender».",
        ),
        _mutante(
            "mascara-despues",
            _gaussiano(_CUADRADO, _PUNTOS, "scores.softmax(dim=-1) * mask"),
            "Se tapa después de normalizar y los pesos ya no suman 1: la máscara va antes de la softmax.",
        ),
        _mutante(
            "fila-nan",
            _gaussiano(_CUADRADO, _PUNTOS, "scores.masked_fill(~mask, -math.inf).softmax(dim=-1)"),
            "Las consultas sin ninguna clave dan NaN: softmax de todo −∞ es 0/0. Su salida debe ser 0.",
        ),
        _mutante(
            "fila-uniforme",
            _gaussiano(_CUADRADO, _PUNTOS, "scores.masked_fill(~mask, -1e9).softmax(dim=-1)"),
            "Con −1e9 en lugar de −∞, una consulta sin claves reparte por igual entre las prohibidas: debe dar 0.",
        ),
        _mutante(
            "se-anula",
            _gaussiano(
                _CUADRADO, _PUNTOS, "(lambda e: e / e.sum(dim=-1, keepdim=True).clamp(min=1e-30))(scores.exp() * mask)"
            ),
            "Con un ancho pequeño todas las exponenciales de una fila valen 0 y la salida se anula: hay que restar el "
            "máximo de la fila (o usar softmax).",
        ),
    ),
)

# --- 4.5 -------------------------------------------------------------------------------------------------------------


def _casos_columnas(rng: torch.Generator) -> list[Caso]:
    def entrada(l_x: int, l_z: int):
        d, d_v = entero(rng, 8, 12), entero(rng, 2, 4)
        return normal(rng, d, l_x), normal(rng, d, l_z), normal(rng, d_v, l_z)

    igual = entero(rng, 4, 6)
    return [
        Caso("autoatención", entrada(igual, igual)),
        Caso("autoatención", entrada(igual + 1, igual + 1)),
        Caso("atención cruzada", entrada(entero(rng, 2, 3), entero(rng, 4, 6))),
        Caso("atención cruzada", entrada(entero(rng, 4, 6), entero(rng, 2, 3))),
    ]


def _columnas(escala: str = "0", eje: str = "0", traspuesta: str = "") -> str:
    return (
        "def column_attention(query, key, value):\n"
        f"    scores = key.T @ query / math.sqrt(key.shape[{escala}])\n"
        f"    weights = scores.softmax(dim={eje})\n"
        f"    return value @ weights{traspuesta}\n"
    )


_COLUMNAS = Ejercicio(
    id="4.5",
    nombre="column_attention",
    tipo="depurar",
    puntos=9,
    dificultad=2,
    minutos=20,
    aprende="leer fórmulas por columnas y desconfiar de un código que solo se prueba con matrices cuadradas",
    casos=_casos_columnas,
    propiedades={"autoatención": 5, "atención cruzada": 4},
    prohibido=_SIN_ATENCION,
    pistas=(
        "Anota la forma de cada línea con l_x = 2 y l_z = 5.",
        "Hay una falta por línea: en la escala, en el eje y en la traspuesta.",
        "Por columnas, d_attn es el número de filas, las claves están en las filas de scores, y cada columna suma 1.",
    ),
    mutantes=(
        _mutante(
            "sin-tocar",
            _columnas("1", "1", ".T"),
            "Siguen las tres faltas: la escala, el eje de la softmax y la traspuesta final.",
        ),
        _mutante(
            "escala",
            _columnas(escala="1"),
            "La escala usa key.shape[1], que por columnas es la longitud; d_attn es key.shape[0].",
        ),
        _mutante(
            "eje",
            _columnas(eje="1"),
            "La softmax normaliza cada fila, es decir, sobre las consultas; las claves están en las filas: dim=0.",
        ),
        _mutante(
            "traspuesta",
            _columnas(traspuesta=".T"),
            "Sobra la traspuesta final: (d_v, l_z)(l_z, l_x) ya encaja. Con l_x = l_z el error no avisa.",
        ),
        _mutante(
            "eje-y-escala",
            _columnas(escala="1", eje="1"),
            "Quedan dos faltas: la escala usa la longitud y la softmax recorre las consultas.",
        ),
        _mutante(
            "sin-escala",
            """
            def column_attention(query, key, value):
                return value @ (key.T @ query).softmax(dim=0)
            """,
            "Se ha quitado la escala en lugar de corregirla: hay que dividir entre √d_attn.",
        ),
        _mutante(
            "por-filas",
            """
            def column_attention(query, key, value):
                weights = (query.T @ key / math.sqrt(key.shape[0])).softmax(dim=-1)
                return weights @ value.T
            """,
            "La salida está por filas, (l_x, d_v); en esta convención cada posición es una columna.",
        ),
    ),
)

# --- 4.6 -------------------------------------------------------------------------------------------------------------


def _casos_escala(rng: torch.Generator) -> list[Caso]:
    def muestras(n: int, d: int, mezcla: bool):
        x = normal(rng, n, d)
        if mezcla:
            x = x @ normal(rng, d, d)
        return x + 2 * normal(rng, d)

    def entrada(mezcla_q: bool, mezcla_k: bool):
        d = entero(rng, 3, 7)
        return muestras(entero(rng, 20, 40), d, mezcla_q), muestras(entero(rng, 41, 60), d, mezcla_k)

    return [
        Caso("componentes incorreladas", entrada(False, False)),
        Caso("una correlacionada", entrada(True, False)),
        Caso("las dos correlacionadas", entrada(True, True)),
    ]


def _escala(final: str, covarianza: str = "(x - x.mean(dim=0)).T @ (x - x.mean(dim=0)) / len(x)") -> str:
    return (
        "def score_scale(queries, keys):\n"
        f"    c_q, c_k = ({covarianza} for x in (queries, keys))\n"
        f"    return float({final})\n"
    )


_ESCALA = Ejercicio(
    id="4.6",
    nombre="score_scale",
    tipo="medir",
    puntos=10,
    dificultad=2,
    minutos=20,
    aprende="medir qué escala pedirían las puntuaciones cuando las hipótesis de √d_k no se cumplen",
    casos=_casos_escala,
    propiedades={"componentes incorreladas": 3, "una correlacionada": 3, "las dos correlacionadas": 4},
    pistas=(
        "El teorema de la varianza da Var(q·k) como la traza de un producto de covarianzas.",
        "Las covarianzas, tras restar la media, son XᵀX dividido entre el número de muestras.",
        "Se pide la desviación típica, no la varianza.",
    ),
    mutantes=(
        _mutante(
            "raiz-de-d",
            """
            def score_scale(queries, keys):
                return math.sqrt(queries.shape[1])
            """,
            "Es √d, que solo vale con componentes incorreladas de varianza 1: hay que medir las covarianzas.",
        ),
        _mutante(
            "sin-centrar",
            _escala("(c_q * c_k).sum().sqrt()", "x.T @ x / len(x)"),
            "No se ha restado la media: XᵀX/N sin centrar es el segundo momento, no el de las covarianzas.",
        ),
        _mutante(
            "sin-raiz",
            _escala("(c_q * c_k).sum()"),
            "Es la varianza; se pide la desviación típica: falta la raíz.",
        ),
        _mutante(
            "solo-diagonal",
            _escala("(c_q.diagonal() * c_k.diagonal()).sum().sqrt()"),
            "Solo se usan las varianzas: las covarianzas entre componentes también cuentan en la traza.",
        ),
        _mutante(
            "producto-de-trazas",
            _escala("(c_q.trace() * c_k.trace()).sqrt()"),
            "Es el producto de las trazas; hace falta la traza del producto.",
        ),
        _mutante(
            "n-menos-uno",
            _escala(
                "(c_q * c_k).sum().sqrt()", "(x - x.mean(dim=0)).T @ (x - x.mean(dim=0)) / (len(x) - 1)"
            ),
            "Las covarianzas se dividen entre N, como dice el enunciado, y no entre N − 1 (lo que hace torch.cov).",
        ),
    ),
)

# --- 4.7 -------------------------------------------------------------------------------------------------------------


def _casos_jacobiana(rng: torch.Generator) -> list[Caso]:
    def entrada(beta: float, *forma: int):
        return 2 * normal(rng, *forma), normal(rng, *forma), beta

    n, m = entero(rng, 2, 4), entero(rng, 5, 8)
    return [
        Caso("beta uno", entrada(1.0, m)),
        Caso("otra beta", entrada(float(uniforme(rng, 1.5, 3.0)), m)),
        Caso("varias filas", entrada(float(uniforme(rng, 0.3, 0.7)), n, m)),
        Caso("varias filas", entrada(float(uniforme(rng, 1.5, 3.0)), 2, n, m)),
    ]


def _jacobiana(pesos: str, final: str) -> str:
    return f"def softmax_jvp(scores, tangent, beta):\n    p = {pesos}\n    return {final}\n"


_P = "(beta * scores).softmax(dim=-1)"

_JACOBIANA = Ejercicio(
    id="4.7",
    nombre="softmax_jvp",
    tipo="escribir",
    puntos=12,
    dificultad=2,
    minutos=25,
    aprende="usar la jacobiana de la softmax sin construirla, como hace quien la deriva",
    casos=_casos_jacobiana,
    propiedades={"beta uno": 4, "otra beta": 4, "varias filas": 4},
    prohibido=("autograd", "jvp", "vjp", "jacobian"),
    pistas=(
        "Con β = 1, la jacobiana es diag(p) − p pᵀ.",
        "p pᵀ t es p por un número: el producto escalar de p y t.",
        "La regla de la cadena saca un β delante.",
    ),
    mutantes=(
        _mutante(
            "sin-beta",
            _jacobiana(_P, "p * (tangent - (p * tangent).sum(dim=-1, keepdim=True))"),
            "Falta un factor β: se deriva respecto de s, y dentro de la softmax está βs.",
        ),
        _mutante(
            "pesos-sin-beta",
            _jacobiana("scores.softmax(dim=-1)", "beta * p * (tangent - (p * tangent).sum(dim=-1, keepdim=True))"),
            "Los pesos están calculados sin β: son softmax(βs).",
        ),
        _mutante(
            "solo-diagonal",
            _jacobiana(_P, "beta * p * tangent"),
            "Solo está diag(p): falta restar p pᵀ t. El resultado debe sumar 0, porque los pesos siempre suman 1.",
        ),
        _mutante(
            "por-elemento",
            _jacobiana(_P, "beta * p * (1 - p) * tangent"),
            "p(1 − p) es la diagonal de la jacobiana; las puntuaciones de las otras claves también cuentan.",
        ),
        _mutante(
            "media-sin-pesos",
            _jacobiana(_P, "beta * p * (tangent - tangent.mean(dim=-1, keepdim=True))"),
            "A t se le resta su media ponderada por p, no la media simple.",
        ),
        _mutante(
            "suma-global",
            _jacobiana(_P, "beta * p * (tangent - (p * tangent).sum())"),
            "El producto escalar ⟨p, t⟩ se ha sumado sobre todas las filas: es uno por fila.",
        ),
        _mutante(
            "signo",
            _jacobiana(_P, "beta * p * (tangent + (p * tangent).sum(dim=-1, keepdim=True))"),
            "El segundo término se resta.",
        ),
    ),
)

# --- 4.8 -------------------------------------------------------------------------------------------------------------


def _casos_entropia(rng: torch.Generator) -> list[Caso]:
    import math

    import torch

    def entrada(tamano: float, minimo: float, maximo: float):
        n, m = entero(rng, 3, 5), entero(rng, 5, 9)
        filas = [torch.randperm(m, generator=rng).double() for _ in range(n)]
        scores = tamano * (torch.stack(filas) + uniforme(rng, -0.3, 0.3, n, m))
        return scores, math.log(m) * uniforme(rng, minimo, maximo, n)

    return [
        Caso("entropía media", entrada(1.0, 0.4, 0.7)),
        Caso("casi uniforme y casi decidida", entrada(1.0, 0.16, 0.25)),
        Caso("casi uniforme y casi decidida", entrada(1.0, 0.85, 0.94)),
        Caso("puntuaciones de otro tamaño", entrada(200.0, 0.3, 0.8)),
        Caso("puntuaciones de otro tamaño", entrada(0.01, 0.3, 0.8)),
    ]


def _entropia(entropia: str, devuelve: str = "b", meta: str = "entropy", alto: str = "1e4", pasos: int = 90) -> str:
    return (
        "def beta_for_entropy(scores, entropy):\n"
        f"    goal = {meta}\n"
        "    low = torch.full_like(entropy, math.log(1e-8))\n"
        f"    high = torch.full_like(entropy, math.log({alto}))\n"
        f"    for _ in range({pasos}):\n"
        "        mid = (low + high) / 2\n"
        "        p = (mid.exp()[:, None] * scores).softmax(dim=-1)\n"
        f"        up = {entropia} > goal\n"
        "        low, high = torch.where(up, mid, low), torch.where(up, high, mid)\n"
        "    b = ((low + high) / 2).exp()\n"
        f"    return {devuelve}\n"
    )


_H = "torch.special.entr(p).sum(dim=-1)"

_ENTROPIA = Ejercicio(
    id="4.8",
    nombre="beta_for_entropy",
    tipo="escribir",
    puntos=15,
    dificultad=3,
    minutos=35,
    aprende="invertir la relación entre temperatura y entropía con una bisección que no se sale de escala",
    casos=_casos_entropia,
    propiedades={"entropía media": 5, "casi uniforme y casi decidida": 5, "puntuaciones de otro tamaño": 5},
    tolerancia=1e-6,
    pistas=(
        "La entropía de softmax(βs) baja al crecer β: si es mayor que la pedida, β es pequeño.",
        "β puede valer milésimas o miles: conviene partir por la mitad el intervalo de log β.",
        "Cada fila tiene su β: torch.where actualiza los dos extremos de todas a la vez.",
    ),
    mutantes=(
        _mutante(
            "temperatura",
            _entropia(_H, devuelve="1 / b"),
            "Se devuelve la temperatura, 1/β; se pide β.",
        ),
        _mutante(
            "bits",
            _entropia(f"{_H} / math.log(2)"),
            "La entropía está en bits (logaritmo en base 2); se pide en nats.",
        ),
        _mutante(
            "fraccion",
            _entropia(f"{_H} / math.log(scores.shape[-1])"),
            "La entropía está dividida entre log m; se pide tal cual, en nats.",
        ),
        _mutante(
            "una-para-todas",
            _entropia(f"{_H}.mean().expand_as(entropy)", meta="entropy.mean().expand_as(entropy)"),
            "Todas las filas tienen el mismo β: la entropía se busca fila a fila.",
        ),
        _mutante(
            "intervalo-corto",
            _entropia(_H, alto="1.0"),
            "El intervalo de búsqueda se queda corto por arriba: β puede llegar a 10⁴.",
        ),
        _mutante(
            "pocos-pasos",
            _entropia(_H, pasos=12),
            "Faltan pasos: cada uno parte el intervalo por la mitad y se pide un error relativo de 10⁻⁶.",
        ),
        _mutante(
            "al-reves",
            _entropia(_H).replace("> goal", "< goal"),
            "La bisección va al revés: si la entropía es mayor que la pedida, hay que subir β.",
        ),
        _mutante(
            "sin-logaritmo",
            """
            def beta_for_entropy(scores, entropy):
                low, high = torch.zeros_like(entropy), torch.full_like(entropy, 1e4)
                for _ in range(20):
                    mid = (low + high) / 2
                    p = (mid[:, None] * scores).softmax(dim=-1)
                    up = torch.special.entr(p).sum(dim=-1) > entropy
                    low, high = torch.where(up, mid, low), torch.where(up, high, mid)
                return (low + high) / 2
            """,
            "La bisección parte β por la mitad, y no log β: con 20 pasos no se afina una β pequeña.",
        ),
    ),
)

# --- 4.9 -------------------------------------------------------------------------------------------------------------


def _casos_trozos(rng: torch.Generator) -> list[Caso]:
    def entrada(bloques: int, resto: int, tamano: float = 1.0, creciente: bool = False):
        chunk, n, d, d_v = entero(rng, 3, 4), entero(rng, 2, 4), entero(rng, 5, 8), entero(rng, 2, 4)
        m = chunk * bloques + resto
        query, keys = tamano * normal(rng, n, d), normal(rng, m, d)
        if creciente:
            keys = keys.abs() * uniforme(rng, 0.9, 1.0, m).sort().values[:, None]
            query = query.abs()
        return query, keys, normal(rng, m, d_v), chunk

    return [
        Caso("un solo bloque", entrada(1, 0)),
        Caso("varios bloques", entrada(3, 0)),
        Caso("último bloque incompleto", entrada(2, entero(rng, 1, 2))),
        Caso("puntuaciones enormes", entrada(3, 1, 3000.0)),
        Caso("puntuaciones enormes", entrada(3, 0, 3000.0, creciente=True)),
    ]


_TROZOS = Ejercicio(
    id="4.9",
    nombre="streaming_attention",
    tipo="escribir",
    puntos=15,
    dificultad=3,
    minutos=40,
    aprende="acumular una softmax sin guardar las puntuaciones, la idea de FlashAttention",
    casos=_casos_trozos,
    propiedades={"un solo bloque": 3, "varios bloques": 4, "último bloque incompleto": 3, "puntuaciones enormes": 5},
    prohibido=_SIN_ATENCION,
    pistas=(
        "El promedio es una suma ponderada entre una suma de exponenciales: las dos se pueden ir acumulando.",
        "Al cambiar el máximo de referencia, lo acumulado se multiplica por exp(máximo viejo − máximo nuevo).",
        "Con el máximo inicial en −∞, esa corrección vale 0 en el primer bloque, que es lo correcto.",
    ),
    mutantes=(
        _mutante(
            "sin-corregir",
            """
            def streaming_attention(query, keys, values, chunk):
                total, weighted, out = 0.0, 0.0, []
                for k, v in zip(keys.split(chunk), values.split(chunk)):
                    s = query @ k.T / math.sqrt(query.shape[-1])
                    e = (s - s.amax(dim=-1, keepdim=True)).exp()
                    total, weighted = total + e.sum(dim=-1, keepdim=True), weighted + e @ v
                    out.append(weighted / total)
                return torch.stack(out)
            """,
            "Cada bloque resta su propio máximo y lo acumulado no se corrige: hay que multiplicarlo por "
            "exp(máximo viejo − máximo nuevo).",
        ),
        _mutante(
            "corrige-a-medias",
            """
            def streaming_attention(query, keys, values, chunk):
                top = query.new_full((len(query), 1), -math.inf)
                total, weighted, out = 0.0, 0.0, []
                for k, v in zip(keys.split(chunk), values.split(chunk)):
                    s = query @ k.T / math.sqrt(query.shape[-1])
                    new = torch.maximum(top, s.amax(dim=-1, keepdim=True))
                    e = (s - new).exp()
                    total = total * (top - new).exp() + e.sum(dim=-1, keepdim=True)
                    weighted = weighted + e @ v
                    top = new
                    out.append(weighted / total)
                return torch.stack(out)
            """,
            "Se corrige la suma de exponenciales pero no la suma ponderada: las dos se refieren al mismo máximo.",
        ),
        _mutante(
            "cada-bloque",
            """
            def streaming_attention(query, keys, values, chunk):
                out = []
                for k, v in zip(keys.split(chunk), values.split(chunk)):
                    out.append((query @ k.T / math.sqrt(query.shape[-1])).softmax(dim=-1) @ v)
                return torch.stack(out)
            """,
            "Cada salida solo mira su bloque; se pide la atención sobre todo lo llegado hasta entonces.",
        ),
        _mutante(
            "media-de-medias",
            """
            def streaming_attention(query, keys, values, chunk):
                out = []
                for k, v in zip(keys.split(chunk), values.split(chunk)):
                    out.append((query @ k.T / math.sqrt(query.shape[-1])).softmax(dim=-1) @ v)
                out = torch.stack(out)
                return out.cumsum(dim=0) / torch.arange(1, len(out) + 1, dtype=out.dtype)[:, None, None]
            """,
            "Se promedian los resultados de los bloques por igual; cada bloque pesa según su suma de exponenciales.",
        ),
        _mutante(
            "desborda",
            """
            def streaming_attention(query, keys, values, chunk):
                total, weighted, out = 0.0, 0.0, []
                for k, v in zip(keys.split(chunk), values.split(chunk)):
                    e = (query @ k.T / math.sqrt(query.shape[-1])).exp()
                    total, weighted = total + e.sum(dim=-1, keepdim=True), weighted + e @ v
                    out.append(weighted / total)
                return torch.stack(out)
            """,
            "Sin restar el máximo, las exponenciales de puntuaciones grandes desbordan y sale NaN.",
        ),
        _mutante(
            "sin-escala",
            """
            def streaming_attention(query, keys, values, chunk):
                ends = [*range(chunk, len(keys), chunk), len(keys)]
                return torch.stack([(query @ keys[:e].T).softmax(dim=-1) @ values[:e] for e in ends])
            """,
            "Falta dividir entre √d_k.",
        ),
        _mutante(
            "pierde-el-resto",
            """
            def streaming_attention(query, keys, values, chunk):
                ends = range(chunk, len(keys) + 1, chunk)
                scale = math.sqrt(query.shape[-1])
                return torch.stack([(query @ keys[:e].T / scale).softmax(dim=-1) @ values[:e] for e in ends])
            """,
            "Falta el último bloque cuando no está completo.",
        ),
        _mutante(
            "solo-el-final",
            """
            def streaming_attention(query, keys, values, chunk):
                return ((query @ keys.T / math.sqrt(query.shape[-1])).softmax(dim=-1) @ values)[None]
            """,
            "Solo está el resultado final; se pide uno por bloque.",
        ),
    ),
)

# --- 4.10 ------------------------------------------------------------------------------------------------------------


def _casos_pocas(rng: torch.Generator, keep: int = 3, power: float = 0.5) -> list[Caso]:
    variante = {"keep": keep, "power": power}

    def entrada(n: int, m: int):
        d, d_v = entero(rng, 8, 12), entero(rng, 2, 4)
        return normal(rng, n, d), normal(rng, m, d), normal(rng, m, d_v)

    return [
        Caso("muchas claves", entrada(entero(rng, 3, 5), keep + entero(rng, 4, 7)), variante),
        Caso("muchas claves", entrada(entero(rng, 3, 5), keep + entero(rng, 4, 7)), variante),
        Caso("justo las necesarias", entrada(entero(rng, 2, 4), keep), variante),
    ]


def _pocas(elige: str, final: str, puntos: str = "query @ key.T / query.shape[-1] ** power") -> str:
    return (
        "def top_attention(query, key, value, keep=3, power=0.5):\n"
        f"    scores = {puntos}\n"
        f"    kept = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, {elige}, True)\n"
        f"    return {final}\n"
    )


_MEJORES = "scores.topk(keep, dim=-1).indices"
_TAPA = "scores.masked_fill(~kept, -math.inf).softmax(dim=-1) @ value"

_POCAS = Ejercicio(
    id="4.10",
    nombre="top_attention",
    tipo="escribir",
    puntos=10,
    dificultad=2,
    minutos=20,
    aprende="construir una máscara a partir de las propias puntuaciones",
    casos=_casos_pocas,
    propiedades={"muchas claves": 7, "justo las necesarias": 3},
    prohibido=_SIN_ATENCION,
    variante={"keep": 3, "power": 0.5},
    pistas=(
        "Es una máscara que depende de las puntuaciones: True en las mayores de cada fila.",
        "scores.topk(k, dim=-1).indices da qué claves son; scatter escribe True en ellas.",
        "Si se tapa antes de la softmax, los pesos que quedan ya suman 1.",
    ),
    mutantes=(
        _mutante(
            "sin-renormalizar",
            _pocas(_MEJORES, "(scores.softmax(dim=-1) * kept) @ value"),
            "Los pesos conservados no se renormalizan: suman menos de 1.",
        ),
        _mutante(
            "todas",
            _pocas(_MEJORES, "scores.softmax(dim=-1) @ value"),
            "No se ha descartado ninguna clave: solo deben pesar las de mayor puntuación.",
        ),
        _mutante(
            "por-valor-absoluto",
            _pocas("scores.abs().topk(keep, dim=-1).indices", _TAPA),
            "Se eligen las de mayor valor absoluto; una puntuación muy negativa no es un buen parecido.",
        ),
        _mutante(
            "las-peores",
            _pocas("scores.topk(keep, dim=-1, largest=False).indices", _TAPA),
            "Se conservan las claves de menor puntuación.",
        ),
        _mutante(
            "sin-escala",
            _pocas(_MEJORES, _TAPA, "query @ key.T"),
            "Falta la escala: las puntuaciones se dividen entre d_k elevado a la potencia pedida.",
        ),
        _mutante(
            "a-cero",
            _pocas(_MEJORES, "scores.masked_fill(~kept, 0.0).softmax(dim=-1) @ value"),
            "A las claves descartadas se les ha puesto puntuación 0, que aún pesa e⁰ = 1: debe ser −∞.",
        ),
        _mutante(
            "la-mejor",
            _pocas("scores.topk(1, dim=-1).indices", _TAPA),
            "Solo se conserva la mejor clave de cada consulta.",
        ),
        _mutante(
            "uniforme",
            _pocas(_MEJORES, "kept.to(value.dtype) / keep @ value"),
            "Las conservadas pesan lo mismo; deben pesar según la softmax de sus puntuaciones.",
        ),
    ),
)

EJERCICIOS: list[Ejercicio] = [
    _FORMAS, _NULA, _TEMPERATURA, _GAUSSIANO, _COLUMNAS, _ESCALA, _JACOBIANA, _ENTROPIA, _TROZOS, _POCAS,
]  # fmt: skip
