"""Ejercicios del capítulo 3, «Traducir con redes recurrentes»."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

from calificador.generadores import entero, normal
from calificador.registro import Caso, Ejercicio, Mutante

if TYPE_CHECKING:
    import torch

_CABECERA = "import math\n\nimport torch\n\n\n"


def _mutante(nombre: str, codigo: str, pista: str) -> Mutante:
    return Mutante(nombre, _CABECERA + dedent(codigo).strip() + "\n", pista)


def _validas(rng: torch.Generator, filas: int, claves: int) -> torch.Tensor:
    """Máscara ``(filas, claves)`` de relleno al final: cada fila tapa al menos una clave y deja al menos dos."""
    import torch

    largos = torch.randint(2, claves, (filas, 1), generator=rng)
    return torch.arange(claves) < largos


# --- 3.1 -------------------------------------------------------------------------------------------------------------


def _casos_aditiva(rng: torch.Generator) -> list[Caso]:
    import torch

    def entrada(tapar: bool):
        filas, claves = entero(rng, 2, 4), entero(rng, 5, 8)
        d_q, d_h, d_a = entero(rng, 2, 4), entero(rng, 5, 7), entero(rng, 8, 10)
        valid = _validas(rng, filas, claves) if tapar else torch.ones(filas, claves, dtype=torch.bool)
        return (
            normal(rng, filas, d_q),
            normal(rng, filas, claves, d_h),
            normal(rng, d_q, d_a),
            normal(rng, d_h, d_a),
            normal(rng, d_a),
            valid,
        )

    return [
        Caso("sin relleno", entrada(False)),
        Caso("con relleno", entrada(True)),
        Caso("con relleno", entrada(True)),
        Caso("gradiente", entrada(True), gradiente=True),
    ]


def _aditiva(cuerpo: str) -> str:
    return "def additive_attention(query, keys, w_q, w_k, v, valid):\n" + "".join(
        f"    {linea}\n" for linea in cuerpo.strip().splitlines()
    )


_OCULTA = "s = torch.tanh((query @ w_q)[:, None] + keys @ w_k) @ v\n"

_ADITIVA = Ejercicio(
    id="3.1",
    nombre="additive_attention",
    tipo="escribir",
    puntos=12,
    dificultad=2,
    minutos=20,
    aprende="escribir la atención de 2014 entera, con el relleno fuera del reparto",
    casos=_casos_aditiva,
    propiedades={"sin relleno": 4, "con relleno": 5, "gradiente": 3},
    pistas=(
        "La consulta se proyecta una vez y se suma a todas las claves proyectadas: le falta un eje.",
        "Las puntuaciones miden (batch, key); lo tapado debe valer menos infinito antes de la softmax.",
        "Se promedian los estados tal como llegaron, no los proyectados: (batch, 1, key)(batch, key, d_h).",
    ),
    mutantes=(
        _mutante(
            "sin-mascara",
            _aditiva(_OCULTA + "return (s.softmax(-1)[:, None] @ keys)[:, 0]"),
            "El relleno se lleva parte del peso: hay que taparlo antes de la softmax.",
        ),
        _mutante(
            "sin-tangente",
            _aditiva(
                "s = ((query @ w_q)[:, None] + keys @ w_k) @ v\n"
                "s = s.masked_fill(~valid, -math.inf)\n"
                "return (s.softmax(-1)[:, None] @ keys)[:, 0]"
            ),
            "Falta la tangente: sin ella los pesos no dependen de la consulta.",
        ),
        _mutante(
            "mascara-despues",
            _aditiva(_OCULTA + "return ((s.softmax(-1) * valid)[:, None] @ keys)[:, 0]"),
            "La máscara se aplica después de la softmax: los pesos ya no suman 1.",
        ),
        _mutante(
            "tapada-con-cero",
            _aditiva(_OCULTA + "s = s * valid\nreturn (s.softmax(-1)[:, None] @ keys)[:, 0]"),
            "Una puntuación 0 no es peso 0: la exponencial de 0 vale 1. Se tapa con menos infinito.",
        ),
        _mutante(
            "al-reves",
            _aditiva(
                _OCULTA + "s = s.masked_fill(valid, -math.inf)\n"
                "s = torch.where(valid.all(-1, keepdim=True), torch.zeros_like(s), s)\n"
                "return (s.softmax(-1)[:, None] @ keys)[:, 0]"
            ),
            "La máscara está al revés: valid dice qué claves se pueden mirar.",
        ),
        _mutante(
            "otro-eje",
            _aditiva(_OCULTA + "s = s.masked_fill(~valid, -1e9)\nreturn (s.softmax(0)[:, None] @ keys)[:, 0]"),
            "La softmax recorre el lote; debe recorrer las claves, el último eje.",
        ),
        _mutante(
            "valores-proyectados",
            _aditiva(
                _OCULTA + "s = s.masked_fill(~valid, -math.inf)\nreturn (s.softmax(-1)[:, None] @ (keys @ w_k))[:, 0]"
            ),
            "Se promedian las claves proyectadas; en esta atención se promedian los estados tal cual.",
        ),
    ),
)

# --- 3.2 -------------------------------------------------------------------------------------------------------------


def _casos_paso(rng: torch.Generator) -> list[Caso]:
    def entrada(filas: int):
        d, d_h, origen = entero(rng, 2, 4), entero(rng, 5, 7), entero(rng, 3, 6)
        pesos = normal(rng, filas, origen).softmax(dim=-1)
        celda = tuple(normal(rng, *forma) / 3 for forma in ((d, d_h), (d_h, d_h), (d_h, d_h), (d_h,)))
        return normal(rng, filas, d), normal(rng, filas, d_h), normal(rng, filas, origen, d_h), pesos, celda

    return [
        Caso("una frase", entrada(1)),
        Caso("un lote", entrada(entero(rng, 2, 5))),
        Caso("un lote", entrada(entero(rng, 2, 5))),
    ]


def _paso(contexto: str, salida: str = "torch.tanh(x @ w_x + c @ w_c + h @ w_h + b)") -> str:
    return (
        "def decoder_step(x, h, states, weights, cell):\n    w_x, w_c, w_h, b = cell\n"
        f"    c = {contexto}\n    return {salida}\n"
    )


_CONTEXTO = "(weights[:, :, None] * states).sum(1)"

_PASO = Ejercicio(
    id="3.2",
    nombre="decoder_step",
    tipo="escribir",
    puntos=8,
    dificultad=1,
    minutos=12,
    aprende="dar un paso del decodificador: contexto primero, estado después",
    casos=_casos_paso,
    propiedades={"una frase": 3, "un lote": 5},
    pistas=(
        "El contexto es la media de los estados con los pesos dados: (batch, d_h).",
        "La celda es la red simple con un sumando más, el del contexto por su matriz.",
        "weights[:, :, None] permite multiplicar cada estado por su peso antes de sumar.",
    ),
    mutantes=(
        _mutante(
            "media-igual",
            _paso("states.mean(1)"),
            "El contexto promedia todos los estados por igual: faltan los pesos.",
        ),
        _mutante(
            "ultimo-estado", _paso("states[:, -1]"), "El contexto es solo el último estado: es el modelo sin atención."
        ),
        _mutante(
            "sin-recuerdo",
            _paso(_CONTEXTO, "torch.tanh(x @ w_x + c @ w_c + b)"),
            "Falta el estado anterior: el decodificador no recuerda lo que ha escrito.",
        ),
        _mutante(
            "cambiados",
            _paso(_CONTEXTO, "torch.tanh(x @ w_x + h @ w_c + c @ w_h + b)"),
            "El contexto va con w_c y el estado con w_h; están cambiados y la forma no avisa.",
        ),
        _mutante("sin-tangente", _paso(_CONTEXTO, "x @ w_x + c @ w_c + h @ w_h + b"), "Falta la tangente hiperbólica."),
        _mutante("sin-sesgo", _paso(_CONTEXTO, "torch.tanh(x @ w_x + c @ w_c + h @ w_h)"), "Falta sumar el sesgo, b."),
    ),
)

# --- 3.3 -------------------------------------------------------------------------------------------------------------


def _casos_media(rng: torch.Generator) -> list[Caso]:
    import torch

    def entrada(relleno: bool):
        filas, largo, d = entero(rng, 3, 5), entero(rng, 6, 9), entero(rng, 2, 4)
        largos = torch.randint(1, largo - 1, (filas,), generator=rng) if relleno else torch.full((filas,), largo)
        return normal(rng, filas, largo, d) + 1.0, largos

    return [Caso("sin relleno", entrada(False)), Caso("con relleno", entrada(True)), Caso("con relleno", entrada(True))]


def _media(condicion: str, divisor: str) -> str:
    return (
        "def mean_state(states, lengths):\n"
        f"    word = {condicion}\n"
        f"    return (states * word[:, :, None]).sum(1) / {divisor}\n"
    )


_HASTA = "torch.arange(states.shape[1]) < lengths[:, None]"
_INCLUSIVE = "torch.arange(states.shape[1]) <= lengths[:, None]"
_TODAS = "torch.ones(states.shape[:2], dtype=torch.bool)"

_MEDIA = Ejercicio(
    id="3.3",
    nombre="mean_state",
    tipo="depurar",
    puntos=10,
    dificultad=2,
    minutos=15,
    aprende="encontrar un error de relleno que no da ningún aviso",
    casos=_casos_media,
    propiedades={"sin relleno": 3, "con relleno": 7},
    pistas=(
        "Conviene probar con una frase de una palabra y mucho relleno, con estados del relleno que no sean cero.",
        "Una frase de n palabras ocupa las posiciones 0 a n − 1.",
        "Cada frase se divide entre su propia longitud, que necesita un eje más para dividir (batch, d).",
    ),
    mutantes=(
        _mutante(
            "como-estaba", _media(_INCLUSIVE, "states.shape[1]"), "Quedan las dos faltas: qué se suma y entre cuánto."
        ),
        _mutante(
            "una-de-mas",
            _media(_INCLUSIVE, "lengths[:, None]"),
            "Se suma la primera posición de relleno: las palabras ocupan de 0 a n − 1.",
        ),
        _mutante(
            "divisor-del-lote",
            _media(_HASTA, "states.shape[1]"),
            "Se divide entre la longitud del lote, relleno incluido; cada frase tiene la suya.",
        ),
        _mutante("sin-tapar", _media(_TODAS, "lengths[:, None]"), "El relleno se suma: sus estados no son cero."),
        _mutante(
            "media-de-todo", _media(_TODAS, "states.shape[1]"), "Es la media de todas las posiciones, con relleno."
        ),
        _mutante(
            "ultima",
            "def mean_state(states, lengths):\n    return states[torch.arange(len(states)), lengths - 1]\n",
            "Es el estado de la última palabra; se pide la media de todas.",
        ),
    ),
)

# --- 3.4 -------------------------------------------------------------------------------------------------------------


def _primera_que_falla(fidelity: float, threshold: float) -> int:
    largo = 1
    while fidelity ** (largo * (largo - 1) / 2) >= threshold:
        largo += 1
    return largo


def _casos_fallan(rng: torch.Generator, fidelity: float = 0.99, threshold: float = 0.5) -> list[Caso]:
    variante = {"fidelity": fidelity, "threshold": threshold}
    limite = _primera_que_falla(fidelity, threshold)
    corto, uno, dos = entero(rng, 1, limite - 2), entero(rng, 2, 4), entero(rng, 1, 3)
    return [
        Caso("ninguna falla", ([entero(rng, 1, limite - 1) for _ in range(entero(rng, 2, 5))],), variante),
        Caso("la del límite", ([limite - 1, corto, limite],), variante),
        Caso(
            "orden y empates", ([corto, limite, limite + uno, limite - 1, limite + uno + dos, limite + uno],), variante
        ),
        Caso("orden y empates", ([limite, corto, limite + dos, limite + 5, 1, limite + dos],), variante),
    ]


def _fallan(exponente: str, clave: str = "p[i]", cumple: str = "p[i] < threshold", da: str = "i") -> str:
    return (
        "def first_failures(lengths, fidelity=0.99, threshold=0.5):\n"
        f"    p = [fidelity ** ({exponente}) for n in lengths]\n"
        f"    return [{da} for i in sorted(range(len(lengths)), key=lambda i: {clave}) if {cumple}]\n"
    )


_SUMA = "n * (n - 1) / 2"

_FALLAN = Ejercicio(
    id="3.4",
    nombre="first_failures",
    tipo="predecir",
    puntos=6,
    dificultad=1,
    minutos=12,
    aprende="por qué, con un vector único, la longitud se paga al cuadrado",
    casos=_casos_fallan,
    propiedades={"ninguna falla": 1, "la del límite": 2, "orden y empates": 3},
    pistas=(
        "La probabilidad de la frase es un producto de potencias de la fidelidad: los exponentes se suman.",
        "La última palabra tiene exponente 0 y la primera, n − 1: suman n(n − 1)/2.",
        "Primero se ordenan los índices por probabilidad, de menor a mayor; sorted respeta los empates.",
    ),
    variante={"fidelity": 0.99, "threshold": 0.5},
    alternativas={"fidelity": (0.97, 0.98, 0.985), "threshold": (0.3, 0.4, 0.6)},
    mutantes=(
        _mutante(
            "lineal",
            _fallan("n"),
            "La probabilidad se ha tomado como fidelidad elevada a n; cada palabra tiene su exponente.",
        ),
        _mutante("uno-de-mas", _fallan("n * (n + 1) / 2"), "Los exponentes van de 0 a n − 1, no de 1 a n."),
        _mutante("por-indice", _fallan(_SUMA, clave="i"), "Falta ordenar por probabilidad, de la menor a la mayor."),
        _mutante(
            "orden-contrario", _fallan(_SUMA, clave="-p[i]"), "El orden es el contrario: primero va la menos probable."
        ),
        _mutante(
            "empates-al-reves", _fallan(_SUMA, clave="(p[i], -i)"), "Los empates van por índice, de menor a mayor."
        ),
        _mutante(
            "longitudes", _fallan(_SUMA, da="lengths[i]"), "Se piden los índices de las frases, no sus longitudes."
        ),
        _mutante(
            "las-que-salen", _fallan(_SUMA, cumple="p[i] >= threshold"), "Son las que salen bien; se piden las otras."
        ),
    ),
)

# --- 3.5 -------------------------------------------------------------------------------------------------------------


def _casos_inversion(rng: torch.Generator) -> list[Caso]:
    import torch

    def entrada(relleno: int):
        antes = entero(rng, 1, 4)
        resto = [0, 2, 1, 3, 4, 6, 5, 7, 10, 8, 9]
        mira = [0, 0, *range(1, antes), *(antes + j for j in resto)]  # la primera palabra se mira dos veces
        origen = antes + len(resto) + relleno
        puntos = 0.3 * normal(rng, len(mira), origen)
        puntos[torch.arange(len(mira)), torch.tensor(mira)] += 6.0
        if relleno:
            puntos[antes + 2, -1] += 9.0  # una de las dos palabras cruzadas atiende más al relleno
        return puntos.softmax(dim=-1), torch.arange(origen) < origen - relleno

    return [
        Caso("sin relleno", entrada(0)),
        Caso("con relleno", entrada(entero(rng, 1, 3))),
        Caso("con relleno", entrada(entero(rng, 1, 3))),
    ]


def _inversion(mejor: str, cumple: str = "b[t] == b[t + 1] + 1", da: str = "t") -> str:
    return (
        "def inverted_pairs(weights, valid):\n"
        f"    b = {mejor}.tolist()\n"
        f"    return [{da} for t in range(len(b) - 1) if {cumple}]\n"
    )


_MEJOR = "weights.masked_fill(~valid, -1.0).argmax(-1)"

_INVERSION = Ejercicio(
    id="3.5",
    nombre="inverted_pairs",
    tipo="escribir",
    puntos=8,
    dificultad=2,
    minutos=15,
    aprende="sacar de una matriz de alineamiento las inversiones, y contarlas en lugar de mirar una figura",
    casos=_casos_inversion,
    propiedades={"sin relleno": 4, "con relleno": 4},
    pistas=(
        "Primero, la columna a la que más mira cada fila; después se comparan filas seguidas.",
        "Inversión: la fila t mira a la columna siguiente de la que mira la fila t + 1.",
        "Las columnas no válidas se tapan con un número menor que cualquier peso antes de buscar el mayor.",
    ),
    mutantes=(
        _mutante(
            "sin-tapar",
            _inversion("weights.argmax(-1)"),
            "El mayor peso puede caer en el relleno: hay que taparlo antes.",
        ),
        _mutante(
            "diagonal",
            _inversion(_MEJOR, "b[t + 1] == b[t] + 1"),
            "Esas son las parejas en el mismo orden; se piden las cruzadas.",
        ),
        _mutante(
            "cualquier-cruce",
            _inversion(_MEJOR, "b[t] > b[t + 1]"),
            "Las dos columnas deben ser contiguas; así cuentan saltos mayores.",
        ),
        _mutante(
            "la-segunda", _inversion(_MEJOR, da="t + 1"), "Se pide la posición de la primera de las dos palabras."
        ),
        _mutante(
            "por-columnas",
            _inversion("weights.masked_fill(~valid, -1.0).argmax(0)"),
            "El mayor se busca por columnas; cada palabra escrita es una fila.",
        ),
    ),
)

# --- 3.6 -------------------------------------------------------------------------------------------------------------


def _casos_gradiente(rng: torch.Generator) -> list[Caso]:
    def entrada(pasos: int, escala: float):
        d, d_h = entero(rng, 2, 4), entero(rng, 5, 7)
        return normal(rng, pasos, d), normal(rng, d, d_h) / 2, escala * normal(rng, d_h, d_h), normal(rng, d_h)

    return [
        Caso("pocos pasos", entrada(entero(rng, 3, 6), 0.4)),
        Caso("pocos pasos", entrada(entero(rng, 3, 6), 0.8)),
        Caso("muchos pasos", entrada(entero(rng, 20, 40), 0.5)),
    ]


def _gradiente(
    capa: str = "s * (1 - h.square())",
    atras: str = "w_h @ a",
    norma: str = "(w_x @ a).norm()",
    sale: str = "torch.stack(r)",
) -> str:
    return (
        "def gradient_norms(inputs, w_x, w_h, direction):\n"
        "    hs = [inputs.new_zeros(w_h.shape[0])]\n"
        "    for x in inputs:\n"
        "        hs.append(torch.tanh(x @ w_x + hs[-1] @ w_h))\n"
        "    r, s = [], direction\n"
        "    for h in reversed(hs[1:]):\n"
        f"        a = {capa}\n"
        f"        r.append({norma})\n"
        f"        s = {atras}\n"
        f"    return {sale}\n"
    )


_GRADIENTE = Ejercicio(
    id="3.6",
    nombre="gradient_norms",
    tipo="medir",
    puntos=14,
    dificultad=3,
    minutos=30,
    aprende="medir cuánta señal llega a cada distancia, que es lo que decide si algo lejano se puede aprender",
    casos=_casos_gradiente,
    propiedades={"pocos pasos": 8, "muchos pasos": 6},
    pistas=(
        "Con autograd basta un gradiente de h_T · direction respecto de todas las entradas a la vez.",
        "La derivada de la tangente en el paso t es 1 − h_t², componente a componente.",
        "El resultado se ordena por distancia: la última entrada va la primera.",
    ),
    mutantes=(
        _mutante(
            "en-orden-de-lectura",
            _gradiente(sale="torch.stack(r).flip(0)"),
            "El orden es el de lectura; se pide por distancia, la última entrada primero.",
        ),
        _mutante("sin-tangente", _gradiente(capa="s"), "Falta la derivada de la tangente, 1 − h², en cada paso."),
        _mutante(
            "traspuesta",
            _gradiente(atras="a @ w_h"),
            "La señal vuelve por la traspuesta del camino de ida: con filas, w_h @ señal.",
        ),
        _mutante(
            "respecto-del-estado",
            _gradiente(norma="s.norm()"),
            "Es el gradiente respecto del estado; se pide respecto de la entrada, que pasa por w_x.",
        ),
        _mutante(
            "norma-al-cuadrado",
            _gradiente(norma="(w_x @ a).square().sum()"),
            "Es el cuadrado de la norma: falta la raíz.",
        ),
        _mutante(
            "sin-matriz", _gradiente(atras="a"), "La señal pasa de un paso al anterior sin multiplicarse por w_h."
        ),
    ),
)

EJERCICIOS = [_ADITIVA, _PASO, _MEDIA, _FALLAN, _INVERSION, _GRADIENTE]
