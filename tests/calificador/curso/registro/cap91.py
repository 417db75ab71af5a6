# ruff: noqa: E501
"""Registro del curso de prueba, capítulo 91: funciones de varias clases."""

from calificador.registro import Caso, Ejercicio, Mutante
from calificador.vetos import ATENCION


def _entero(rng, bajo, alto):
    import torch

    return int(torch.randint(bajo, alto, (), generator=rng))


def _mascara(rng):
    import torch

    casos = []
    for _ in range(2):
        filas, columnas = _entero(rng, 2, 6), _entero(rng, 3, 7)
        puntos = torch.randn(filas, columnas, generator=rng, dtype=torch.float64)
        mascara = torch.rand(filas, columnas, generator=rng) < 0.6
        mascara[:, 0], mascara[0, -1] = True, False
        casos.append(Caso("pesos", (puntos, mascara), gradiente=True))
        vacia = mascara.clone()
        vacia[_entero(rng, 0, filas)] = False
        casos.append(Caso("fila vacía", (puntos, vacia)))
    return casos


def _atencion(rng):
    import torch

    casos = []
    for _ in range(2):
        n, m, d, v = (_entero(rng, *r) for r in ((2, 5), (5, 8), (3, 6), (6, 9)))
        tensores = (
            torch.randn(*t, generator=rng, dtype=torch.float64) for t in ((n, d), (m, d), (m, v))
        )
        casos.append(Caso("salida", tuple(tensores)))
    return casos


def _formas(rng):
    return [
        Caso("forma", (_entero(rng, 2, 5), _entero(rng, 6, 9), _entero(rng, 10, 14)))
        for _ in range(3)
    ]


def _escala(rng, *, power):
    import torch

    puntos = [
        torch.randn(3, _entero(rng, 3, 8), generator=rng, dtype=torch.float64) for _ in range(2)
    ]
    return [Caso("escala", (p,), {"power": power}) for p in puntos]


def _perpendicular(rng):
    import torch

    return [
        Caso("vector", (torch.randn(_entero(rng, 3, 6), generator=rng, dtype=torch.float64),))
        for _ in range(2)
    ]


def _comprueba_vector(caso, obtenido, esperado):
    vector = caso.args[0]
    if obtenido.shape != vector.shape:
        return f"forma: llegó {tuple(obtenido.shape)}; se esperaba {tuple(vector.shape)}"
    if abs(float(obtenido.norm()) - 1) > 1e-9:
        return "la norma no es 1"
    return None if abs(float(obtenido @ vector)) < 1e-9 else "no es perpendicular"


_CABECERA = "import torch\nimport torch.nn.functional as F\n"


def _mutante(nombre, codigo, pista):
    return Mutante(nombre, _CABECERA + codigo, pista)


EJERCICIOS = [
    Ejercicio(
        id="91.1",
        nombre="masked_softmax",
        tipo="escribir",
        dificultad=2,
        minutos=15,
        aprende="enmascarar sin NaN",
        casos=_mascara,
        propiedades={"pesos": 3, "fila vacía": 1},
        pistas=("¿Qué suma cada fila?", "¿Qué pasa si nada se puede atender?"),
        mutantes=(
            _mutante(
                "sin proteger",
                "def masked_softmax(s, m):\n    return torch.softmax(s.masked_fill(~m,"
                " float('-inf')), -1)\n",
                "La fila sin nada que atender da NaN: hay que tratarla aparte.",
            ),
            _mutante(
                "al revés",
                "def masked_softmax(s, m):\n    return torch.softmax(s.masked_fill(m, -1e9), -1)\n",
                "La máscara está al revés: True es lo que se puede atender.",
            ),
            _mutante(
                "por columnas",
                "def masked_softmax(s, m):\n    return torch.softmax(s.masked_fill(~m, -1e9), 0)\n",
                "El softmax va por filas, sobre el eje de las claves.",
            ),
            _mutante(
                "sin máscara",
                "def masked_softmax(s, m):\n    return torch.softmax(s, -1)\n",
                "La máscara no se usa.",
            ),
        ),
    ),
    Ejercicio(
        id="91.2",
        nombre="attend",
        tipo="escribir",
        dificultad=1,
        minutos=10,
        aprende="atender",
        casos=_atencion,
        propiedades={"salida": 2},
        pistas=("Proyectar, puntuar, escalar…",),
        prohibido=(ATENCION,),
        mutantes=(
            _mutante(
                "sin escala",
                "def attend(q, k, v):\n    w = torch.softmax(q @ k.T, -1)\n    return w @ v, w\n",
                "Falta dividir entre la raíz de d_head.",
            ),
            _mutante(
                "escala de más",
                "def attend(q, k, v):\n    w = torch.softmax(q @ k.T / q.shape[-1], -1)\n    return"
                " w @ v, w\n",
                "Se divide entre la raíz de d_head, no entre d_head.",
            ),
            _mutante(
                "sin pesos",
                "def attend(q, k, v):\n    return torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1)"
                " @ v\n",
                "Se piden dos cosas: la salida y los pesos.",
            ),
            _mutante(
                "biblioteca",
                "def attend(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v), None\n",
                "Aquí se escribe la atención a mano.",
            ),
        ),
    ),
    Ejercicio(
        id="91.3",
        nombre="output_shape",
        tipo="predecir",
        dificultad=1,
        minutos=2,
        aprende="formas",
        casos=_formas,
        propiedades={"forma": 1},
        pistas=("Una fila por consulta.",),
        mutantes=(
            _mutante(
                "claves",
                "def output_shape(a, b, c):\n    return (b, c)\n",
                "Hay una fila por consulta, no por clave.",
            ),
            _mutante(
                "pesos",
                "def output_shape(a, b, c):\n    return (a, b)\n",
                "Esa es la forma de los pesos.",
            ),
            _mutante(
                "traspuesta",
                "def output_shape(a, b, c):\n    return (c, a)\n",
                "Las filas son posiciones.",
            ),
            _mutante(
                "todo",
                "def output_shape(a, b, c):\n    return (a, b, c)\n",
                "El eje de las claves se suma.",
            ),
        ),
    ),
    Ejercicio(
        id="91.4",
        nombre="scale_scores",
        tipo="completar",
        dificultad=1,
        minutos=2,
        aprende="escalar",
        casos=_escala,
        propiedades={"escala": 1},
        pistas=("¿Qué eje cuenta?",),
        variante={"power": 0.5},
        mutantes=(
            _mutante("sin", "def scale_scores(s, *, power=0.5):\n    return s\n", "Falta dividir."),
            _mutante(
                "multiplica",
                "def scale_scores(s, *, power=0.5):\n    return s * s.shape[-1] ** power\n",
                "Se divide.",
            ),
            _mutante(
                "eje",
                "def scale_scores(s, *, power=0.5):\n    return s / s.shape[0] ** (power + 1)\n",
                "Es el otro eje.",
            ),
            _mutante("none", "def scale_scores(s, *, power=0.5):\n    s / 2\n", "Falta el return."),
        ),
    ),
    Ejercicio(
        id="91.5",
        nombre="unit_vector",
        tipo="escribir",
        dificultad=3,
        minutos=5,
        aprende="perpendicular",
        casos=_perpendicular,
        propiedades={"vector": 1},
        pistas=("Gram-Schmidt.",),
        comprueba=_comprueba_vector,
        mutantes=(
            _mutante("mismo", "def unit_vector(v):\n    return v / v.norm()\n", "Ese es paralelo."),
            _mutante(
                "sin norma",
                "def unit_vector(v):\n    o = torch.roll(v, 1)\n    return o - (o @ v) / (v @ v)"
                " * v\n",
                "Falta la norma.",
            ),
            _mutante(
                "nulo", "def unit_vector(v):\n    return v * 0\n", "El nulo no tiene norma 1."
            ),
            _mutante(
                "gira",
                "def unit_vector(v):\n    return torch.roll(v, 1) / v.norm()\n",
                "Girar no basta.",
            ),
        ),
    ),
]
