"""Ejercicios del capítulo 5, «Consulta, clave y valor»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
    elige,
    entero,
    normal,
    ortonormal,
    permutacion,
    real,
    tensor,
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENCION, ATENTO, TENSORES

# --- 5.1 ------------------------------------------------------------------------------------------


def _casos_espejo(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ejes: int) -> Caso:
        lote = distintos(rng, 2, 4, ejes)
        d_c, n, d_s, d_model = distintos(rng, 2, 9, 4)
        n += 1
        args = (
            normal(rng, *lote, n, d_model),
            normal(rng, d_model, d_s),
            normal(rng, d_model, d_c),
        )
        return Caso(propiedad, args, gradiente=bool(ejes))

    return [
        caso("una secuencia", 0),
        caso("una secuencia", 0),
        caso("con lote", 1),
        caso("con lote", 2),
    ]


_ESPEJO = Ejercicio(
    id="5.1",
    nombre="no_mirror_attention",
    tipo="completar",
    dificultad=1,
    minutos=15,
    aprende=(
        "separar lo que se compara de lo que se entrega y tapar la diagonal sin estropear los pesos"
    ),
    bordes=(Borde("con lote", {0: 0}),),
    casos=_casos_espejo,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[1.0], [1.0]]),
            tensor([[10.0], [20.0]]),
        ),
    ),
    propiedades={
        "una secuencia": (
            3,
            (
                "Con dos posiciones, cada una solo puede mirar a la otra: la salida son los valores"
                " cruzados."
            ),
        ),
        "con lote": (
            3,
            "La misma cuenta con ejes delante, y con gradiente hasta las tres entradas.",
        ),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        (
            "Son cuatro pasos: puntuar, escalar, enmascarar y normalizar. ¿En qué orden van los dos"
            " últimos?"
        ),
        "Para que una clave no reciba nada, su puntuación debe ser −∞ antes de la softmax.",
        "La escala depende de la anchura de lo que se compara, no de la de x.",
    ),
    mutantes=(
        cambia(
            "sin tapar la diagonal",
            "Cada posición sigue mirándose a sí misma: falta la máscara de la diagonal.",
            '.masked_fill(mirror, float("-inf"))',
            "",
        ),
        cambia(
            "tapar después",
            "Las filas no suman 1: la diagonal se ha puesto a cero después de normalizar.",
            '.masked_fill(mirror, float("-inf"))',
            "",
            "return weights",
            "return weights.masked_fill(mirror, 0.0)",
        ),
        cambia(
            "puntuación cero",
            "Una puntuación de 0 no tapa nada, porque e⁰ = 1: hace falta −∞.",
            'float("-inf")',
            "0.0",
        ),
        cambia(
            "escala con d_model",
            "La escala es la raíz de la anchura de lo que se compara, d_s, no de d_model.",
            "math.sqrt(w_similarity.shape[-1])",
            "math.sqrt(x.shape[-1])",
        ),
        cambia(
            "escala con d_c",
            "La escala es la raíz de la anchura de lo que se compara, d_s, no la del contenido.",
            "math.sqrt(w_similarity.shape[-1])",
            "math.sqrt(w_content.shape[-1])",
        ),
        cambia(
            "sin escalar",
            "Falta dividir las puntuaciones entre la raíz de d_s.",
            " / math.sqrt(w_similarity.shape[-1])",
            "",
        ),
        cambia(
            "softmax por columnas",
            "Deben sumar 1 las filas: la softmax recorre el último eje.",
            "dim=-1",
            "dim=-2",
        ),
    ),
)

# --- 5.2 ------------------------------------------------------------------------------------------

_SUJETO = Ejercicio(
    id="5.2",
    nombre="subject_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    tolerancia=1e-3,
    aprende=(
        "hallar con lápiz a quién mira un verbo, y comprobar que su sujeto no devuelve la mirada"
    ),
    propiedades={
        "subject": (1, "La consulta es la de «corre»; la clave, la de «perro»."),
        "other": (1, "La misma consulta; la clave, ahora, de una palabra en plural."),
        "back": (1, "Ahora pregunta «perro»: cambian la consulta y la clave."),
        "times": (
            1,
            (
                "Para el cociente de dos pesos de la misma fila basta la diferencia de sus"
                " puntuaciones."
            ),
        ),
    },
    pistas=(
        (
            "«corre» es verbo y va en singular: su consulta sale de dos filas de la matriz de"
            " consulta."
        ),
        (
            "La clave de un nombre lleva un 1 y su número; la de una palabra que no es nombre, un 0"
            " y su número."
        ),
        (
            "El cociente de dos pesos de una fila es la exponencial de la diferencia de sus"
            " puntuaciones."
        ),
    ),
    mutantes=(
        cambia(
            "en plural",
            "«corre» va en singular: su último rasgo es −1, y la consulta también busca singular.",
            "verb = (1, -2)",
            "verb = (1, 2)",
        ),
        cambia(
            "la matriz del capítulo",
            "Es la cuenta de la frase del capítulo: aquí el 4 se ha cambiado por un 1.",
            "verb = (1, -2)",
            "verb = (4, -2)",
        ),
        cambia(
            "clave de niñas en singular",
            "«niñas» va en plural: la segunda componente de su clave es 1.",
            "girls = (1, 1)",
            "girls = (1, -1)",
        ),
        cambia(
            "devuelve la mirada",
            "La casilla de vuelta no es la de ida: ahora la consulta es la de «perro» y la clave,"
            " la de «corre».",
            "dot((0, -2), (0, -1))",
            "dot(verb, dog)",
        ),
        cambia(
            "diferencia",
            "Se piden las veces, no la diferencia: falta la exponencial.",
            "math.exp(subject - the)",
            "subject - the",
        ),
        cambia(
            "escalado",
            "Las puntuaciones se han escalado, y aquí se piden sin escalar.",
            "math.exp(subject - the)",
            "math.exp((subject - the) / math.sqrt(2))",
        ),
    ),
)

# --- 5.3 ------------------------------------------------------------------------------------------


def _casos_formas(rng: Any) -> list[Caso]:
    def caso(propiedad: str) -> Caso:
        n, m, *anchuras = distintos(rng, 2, 90, 5)
        return Caso(propiedad, (n, n if propiedad == "autoatención" else m, *anchuras))

    return [
        caso("autoatención"),
        caso("autoatención"),
        caso("atención cruzada"),
        caso("atención cruzada"),
    ]


_FORMAS = Ejercicio(
    id="5.3",
    nombre="attention_shapes",
    tipo="predecir",
    dificultad=1,
    minutos=8,
    aprende="decir la forma de cada matriz de una atención, también cruzada, sin ejecutarla",
    bordes=("n_query == n_key",),
    casos=_casos_formas,
    ejemplo=lambda: Caso("ejemplo", (2, 3, 4, 5, 6)),
    propiedades={
        "autoatención": (
            2,
            "Las tres proyecciones salen de la misma secuencia: ¿qué anchura tiene cada una?",
        ),
        "atención cruzada": (
            2,
            "¿De qué secuencia salen las consultas? ¿Y las claves y los valores?",
        ),
    },
    prohibido=(TENSORES,),
    pistas=(
        "Cada proyección es un producto: (posiciones × d_model)(d_model × anchura).",
        "Las puntuaciones tienen una fila por consulta y una columna por clave.",
        (
            "La anchura que comparten consulta y clave desaparece al puntuar; la salida hereda la"
            " del valor."
        ),
    ),
    mutantes=(
        cambia(
            "puntuaciones traspuestas",
            "Las puntuaciones llevan una fila por consulta y una columna por clave.",
            "(n_query, n_key)",
            "(n_key, n_query)",
        ),
        cambia(
            "valor con d_k",
            "El valor tiene su propia anchura, d_v; la de consulta y clave es d_k.",
            "(d_model, d_v)",
            "(d_model, d_k)",
            "(n_key, d_v)",
            "(n_key, d_k)",
            "(n_query, d_v)",
            "(n_query, d_k)",
        ),
        cambia(
            "claves de x",
            "Las claves y los valores salen de la otra secuencia: tienen n_key filas.",
            "(n_key, d_k), (n_key, d_v)",
            "(n_query, d_k), (n_query, d_v)",
        ),
        cambia(
            "pesos de nn.Linear",
            "Aquí las matrices multiplican por la derecha: (entra, sale), no como nn.Linear.",
            "(d_model, d_k), (d_model, d_k), (d_model, d_v)",
            "(d_k, d_model), (d_k, d_model), (d_v, d_model)",
        ),
        cambia(
            "salida de anchura d_model",
            "La salida es una media de valores: su anchura es d_v.",
            "(n_query, d_v)",
            "(n_query, d_model)",
        ),
    ),
)

# --- 5.4 ------------------------------------------------------------------------------------------


def _casos_entera(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ejes: int, *, sesgo: bool = False, igual: bool = False) -> Caso:
        d_model, d_k, d_v = distintos(rng, 2, 7, 3)
        n, m = distintos(rng, 2, 6, 2)
        lote = distintos(rng, 2, 4, ejes)
        args = [normal(rng, *lote, n, d_model)]
        if propiedad == "atención cruzada":
            args.append(normal(rng, *lote, n if igual else m, d_model))
        init = {"d_model": d_model, "d_k": d_k, "d_v": d_v, "bias": sesgo}
        return Caso(propiedad, tuple(args), init=init, gradiente=True)

    auto, cruzada, sesgos = "autoatención", "atención cruzada", "con sesgo"
    return [
        caso(auto, 0),
        caso(auto, 2),
        caso(cruzada, 1),
        caso(cruzada, 0, igual=True),
        caso(sesgos, 0, sesgo=True),
    ]


_ENTERA = Ejercicio(
    id="5.4",
    nombre="AttentionHead",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="escribir una cabeza con sus tres proyecciones, que pregunta a su secuencia o a otra",
    bordes=(
        "context is None",
        "bias",
        Borde("autoatención", {0: -2}),
        Borde("atención cruzada", {0: -2}),
        Borde("atención cruzada", {1: -2}),
    ),
    casos=_casos_entera,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[1.0], [2.0]]),),
        init={"d_model": 1, "d_k": 1, "d_v": 1, "bias": False},
        pesos={
            "query.weight": tensor([[1.0]]),
            "key.weight": tensor([[1.0]]),
            "value.weight": tensor([[10.0]]),
        },
    ),
    propiedades={
        "autoatención": (
            4,
            "Con d_model = 1, escribe las tres proyecciones de dos posiciones y la cuenta entera.",
        ),
        "atención cruzada": (
            3,
            "De x sale solo la consulta; de la otra secuencia, la clave y el valor.",
        ),
        "con sesgo": (1, "Las tres capas llevan sesgo solo si se pide."),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        (
            "Son tres capas lineales: dos de la misma anchura, la de comparar, y una con la anchura"
            " de lo que se entrega."
        ),
        "Los pasos: proyectar, puntuar, escalar, normalizar cada fila y promediar los valores.",
        (
            "Si hay otra secuencia, se le aplican las capas de clave y de valor; la de consulta,"
            " siempre a la primera."
        ),
    ),
    mutantes=(
        cambia(
            "sin contexto",
            "Se ignora la otra secuencia: las claves y los valores deben salir de ella.",
            "asked = x if context is None else context",
            "asked = x",
        ),
        cambia(
            "valores de x",
            "Los valores salen de x: con la otra secuencia salen de ella, como las claves.",
            "self.value(asked)",
            "self.value(x if x.shape == asked.shape else asked)",
        ),
        cambia(
            "consulta y clave cambiadas",
            "Consulta y clave están intercambiadas: la relación sale al revés.",
            "self.query(x) @ self.key(asked)",
            "self.key(x) @ self.query(asked)",
        ),
        cambia(
            "sin escala",
            "Falta dividir las puntuaciones entre la raíz de d_k.",
            " / math.sqrt(self.key.out_features)",
            "",
        ),
        cambia(
            "escala con d_model",
            "La escala es la raíz de d_k, no de d_model.",
            "self.key.out_features",
            "self.key.in_features",
        ),
        cambia(
            "escala con d_v",
            "La escala es la raíz de d_k, la anchura de consulta y clave, no de d_v.",
            "self.key.out_features",
            "self.value.out_features",
        ),
        cambia(
            "softmax por columnas",
            "Deben sumar 1 las filas: la softmax recorre el último eje.",
            "dim=-1",
            "dim=-2",
        ),
        cambia(
            "valor con la capa de la clave",
            "El valor tiene su propia capa, con su propia anchura.",
            "self.value(asked)",
            "(self.key(asked) @ self.key.weight) @ self.value.weight.T",
        ),
    ),
)

# --- 5.5 ------------------------------------------------------------------------------------------

_SENTIDO = Ejercicio(
    id="5.5",
    nombre="swapped_look",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="predecir qué pasa con la relación al intercambiar consulta y clave",
    propiedades={
        "respuesta": (
            2,
            "Escribe la columna de «niñas» en las puntuaciones de antes: ahora es su fila.",
        )
    },
    opciones=("las", "niñas", "vio", "perro", "corren"),
    pistas=(
        "Intercambiar las dos matrices traspone la tabla de puntuaciones.",
        "La fila nueva de «niñas» es su columna de antes: cuánto puntuaba cada palabra con ella.",
    ),
    mutantes=(
        cuerpo(
            "ella misma",
            "Su consulta ya no es la de antes: ahora busca con lo que era su clave.",
            "return 'niñas'",
        ),
        cuerpo(
            "el artículo",
            "«las» coincide en número, pero hay otra palabra que además la buscaba.",
            "return 'las'",
        ),
        cuerpo("el otro verbo", "«vio» también busca nombres, pero en singular.", "return 'vio'"),
        cuerpo(
            "el otro nombre",
            "Lo que casa con «niñas» es quien la buscaba a ella, y «perro» no busca nombres.",
            "return 'perro'",
        ),
    ),
)

# --- 5.6 ------------------------------------------------------------------------------------------


def _casos_cabeza(rng: Any, *, bonus: float = 2.0) -> list[Caso]:
    def caso(propiedad: str, r: int, mas: float = 0.0) -> Caso:
        orden = permutacion(rng, r)  # un ciclo al azar: cada una gana a la siguiente del orden
        ciclo = dict(zip(orden, orden[1:] + orden[:1], strict=True))
        gana = [ciclo[p] for p in range(r)] if r > 3 else [1, 2, 0]
        bits, colores = distintos(rng, 2, 8, 2)
        return Caso(propiedad, (bits, gana, colores), {"bonus": bonus + mas})

    otras = "otras reglas"
    return [caso("piedra, tijera, papel", 3), caso(otras, entero(rng, 4, 6)), caso(otras, 5, 1.5)]


def _comprueba_cabeza(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    import torch

    if not isinstance(obtenido, (tuple, list)) or len(obtenido) != 3:
        return "se esperaban tres matrices: W_Q, W_K y W_V"
    if not all(isinstance(w, torch.Tensor) and w.dim() == 2 for w in obtenido):
        return "W_Q, W_K y W_V deben ser matrices (tensores de dos ejes)"
    d_model = esperado[0].shape[0]
    for nombre, w in zip(("W_Q", "W_K", "W_V"), obtenido, strict=True):
        if w.shape[0] != d_model:
            return f"{nombre} tiene {w.shape[0]} filas; se esperaban d_model = {d_model}"
        if w.dtype != torch.float64:
            return f"{nombre} es {str(w.dtype).removeprefix('torch.')}; se esperaba float64"
    if obtenido[0].shape[1] != obtenido[1].shape[1]:
        return "W_Q y W_K deben tener la misma anchura"
    if obtenido[2].shape != esperado[2].shape or not torch.allclose(
        obtenido[2], esperado[2], atol=1e-9
    ):
        return (
            "W_V no copia el color: por la salida deben pasar las componentes de color y nada más"
        )
    circuito, correcto = obtenido[0] @ obtenido[1].T, esperado[0] @ esperado[1].T
    if torch.allclose(circuito, correcto, atol=1e-9):
        return None
    bits = caso.args[0]
    trozo = "mesa" if not torch.allclose(circuito[:bits], correcto[:bits], atol=1e-9) else "jugada"
    return f"las puntuaciones no son las pedidas: fallan las filas de {trozo} de W_Q W_Kᵀ"


_CABEZA = Ejercicio(
    id="5.6",
    nombre="program_head",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="escribir a mano las tres matrices de una cabeza que sigue una regla con dirección",
    bordes=("len(beats) == 3",),
    casos=_casos_cabeza,
    ejemplo=lambda: Caso("ejemplo", (1, [1, 0], 1), {"bonus": 2.0}),
    propiedades={
        "piedra, tijera, papel": (
            3,
            "Escribe W_Q W_Kᵀ de tres jugadas: ¿en qué casillas debe estar el bonus?",
        ),
        "otras reglas": (
            5,
            "Con más jugadas y otro bonus, nada puede quedar escrito a mano para tres.",
        ),
    },
    comprueba=_comprueba_cabeza,
    invariante=lambda valor: (valor[0] @ valor[1].T, valor[2]),
    variante={"bonus": 2.0},
    alternativas={"bonus": (3.0, 4.0, 2.5)},
    pistas=(
        "La clave dice lo que cada uno es: basta copiar mesa y jugada.",
        "La consulta dice lo que cada uno busca: la misma mesa y la jugada a la que gana.",
        (
            "En W_Q, la fila de cada jugada lleva el bonus en la columna de la jugada a la que"
            " gana, y nada más."
        ),
    ),
    mutantes=(
        cambia(
            "al revés",
            "La relación sale invertida: cada uno mira a quien le gana. ¿Fila y columna cambiadas?",
            "bits + play, bits + beaten",
            "bits + beaten, bits + play",
        ),
        cambia(
            "sin mesa",
            "Falta comparar las mesas: así se mira a cualquiera que sacara esa jugada.",
            "w_key.clone()",
            "torch.zeros_like(w_key)",
        ),
        cambia(
            "simétrica",
            "Consulta y clave son iguales: las puntuaciones salen simétricas y no hay dirección.",
            "return w_query, w_key",
            "return w_query, w_query",
        ),
        cambia(
            "bonus dos veces",
            "El bonus está en la consulta y también en la clave: se multiplica por sí mismo.",
            "    return w_query",
            "    w_key[bits:width, bits:] *= bonus\n    return w_query",
        ),
        cambia(
            "se busca a sí misma",
            "La consulta copia su propia jugada: busca a los que sacaron lo mismo.",
            "bits + beaten",
            "bits + play",
        ),
        cambia(
            "valor entero",
            "El valor deja pasar el vector entero: por la salida solo debe ir el color.",
            "[:, width:]",
            "",
        ),
    ),
)

# --- 5.7 ------------------------------------------------------------------------------------------


def _casos_fundida(rng: Any, *, order: str = "qkv") -> list[Caso]:
    def caso(propiedad: str, orden: str = order, igual: bool = False) -> Caso:
        d_model, d_k, d_v = distintos(rng, 2, 7, 3)
        n, m = distintos(rng, 2, 6, 2)
        cruzada = propiedad == "atención cruzada"
        args = [normal(rng, *([] if propiedad == "autoatención" else [3]), n, d_model)]
        if cruzada:
            args.append(normal(rng, 3, n if igual else m, d_model))
        return Caso(
            propiedad,
            tuple(args),
            init={"d_model": d_model, "d_k": d_k, "d_v": d_v, "order": orden},
        )

    otro = elige(rng, [o for o in ("qkv", "qvk", "kqv", "kvq", "vqk", "vkq") if o != order])
    auto, cruzada = "autoatención", "atención cruzada"
    return [
        caso(auto),
        caso(auto),
        caso(cruzada),
        caso(cruzada, igual=True),
        caso("otro orden", otro),
    ]


_FUNDIDA = Ejercicio(
    id="5.7",
    nombre="FusedSelfAttention",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="calcular las tres proyecciones con un solo producto y cortarlas sin confundirlas",
    bordes=(
        "context is None",
        Borde("autoatención", {0: -2}),
        Borde("atención cruzada", {1: -2}),
    ),
    casos=_casos_fundida,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[1.0], [2.0]]),),
        init={"d_model": 1, "d_k": 1, "d_v": 1, "order": "qkv"},
        pesos={"project.weight": tensor([[1.0], [1.0], [10.0]])},
    ),
    propiedades={
        "autoatención": (
            4,
            "Con d_model = 1, escribe los tres trozos de la proyección y la cuenta entera.",
        ),
        "atención cruzada": (
            3,
            "De x sale solo la consulta; de la otra secuencia, la clave y el valor.",
        ),
        "otro orden": (2, "El orden decide qué trozo es cada cosa, y también cuánto mide."),
    },
    prohibido=(ATENCION, ATENTO),
    variante={"order": "qkv"},
    alternativas={"order": ("kqv", "vqk", "kvq", "vkq", "qvk")},
    pistas=(
        (
            "La capa lineal tiene 2·d_k + d_v salidas, que se cortan en tres trozos de distinto"
            " tamaño."
        ),
        (
            "El orden pedido dice en qué orden están los trozos: los tamaños del corte tienen que"
            " seguirlo."
        ),
        (
            "Con la segunda secuencia, la misma capa se aplica a las dos; de x se usa solo la"
            " consulta."
        ),
    ),
    mutantes=(
        cambia(
            "orden fijo",
            "Los trozos se cortan siempre en el orden «qkv»: hay que seguir el que se pide.",
            "for name in self.order]",
            "for name in 'qkv']",
            "zip(self.order,",
            "zip('qkv',",
        ),
        cambia(
            "consulta y clave cambiadas",
            "Consulta y clave están intercambiadas: la relación sale al revés.",
            'self._parts(x)["q"]',
            'self._parts(x)["k"]',
            'asked["k"]',
            'asked["q"]',
        ),
        cambia(
            "escala con d_v",
            "La escala es la raíz de d_k, la anchura de consulta y clave, no de d_v.",
            'math.sqrt(self.widths["k"])',
            'math.sqrt(self.widths["v"])',
        ),
        cambia(
            "escala con d_model",
            "La escala es la raíz de d_k, no de d_model.",
            'math.sqrt(self.widths["k"])',
            "math.sqrt(x.shape[-1])",
        ),
        cambia(
            "sin escala",
            "Falta dividir las puntuaciones entre la raíz de d_k.",
            ' / math.sqrt(self.widths["k"])',
            "",
        ),
        cambia(
            "softmax por columnas",
            "Deben sumar 1 las filas: la softmax recorre el último eje.",
            "softmax(dim=-1)",
            "softmax(dim=-2)",
        ),
        cambia(
            "sin contexto",
            "Se ignora la otra secuencia: las claves y los valores deben salir de ella.",
            "x if context is None else context",
            "x",
        ),
        cambia(
            "todo del contexto",
            "La consulta también sale de la otra secuencia: debe salir de x.",
            'self._parts(x)["q"]',
            'asked["q"]',
        ),
        cambia(
            "valores de x",
            "Los valores salen de x: con la otra secuencia salen de ella, como las claves.",
            'asked["v"]',
            'self._parts(x)["v"]',
        ),
    ),
)

# --- 5.8 ------------------------------------------------------------------------------------------


def _casos_averiada(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ejes: int) -> Caso:
        lote = distintos(rng, 2, 4, ejes)
        n, m, d_model, d_k, d_v = distintos(rng, 2, 9, 5)
        pesos = (normal(rng, d_model, ancho) for ancho in (d_k, d_k, d_v))
        args = (normal(rng, *lote, n, d_model), normal(rng, *lote, m, d_model), *pesos)
        return Caso(propiedad, args, gradiente=bool(ejes))

    return [caso("sin lote", 0), caso("sin lote", 0), caso("con lote", 1), caso("con lote", 2)]


_AVERIADA = Ejercicio(
    id="5.8",
    nombre="cross_attention",
    tipo="depurar",
    dificultad=2,
    minutos=20,
    aprende="encontrar errores de eje, de escala y de lote que no dan ningún aviso",
    bordes=(
        Borde("sin lote", {0: 0}),
        Borde("sin lote", {1: 0}),
        Borde("con lote", {0: 0, 1: 0}),
    ),
    casos=_casos_averiada,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0]]),
            tensor([[0.0], [2.0]]),
            tensor([[1.0]]),
            tensor([[1.0]]),
            tensor([[1.0, 10.0]]),
        ),
    ),
    propiedades={
        "sin lote": (
            3,
            "Con una sola consulta: ¿cuánto suman los pesos con los que se promedian los valores?",
        ),
        "con lote": (3, "Con ejes delante, dar la vuelta a todos los ejes no es trasponer."),
    },
    prohibido=(ATENCION, ATENTO),
    pistas=(
        (
            "Se puede probar con una sola consulta: ¿cuánto suman los pesos con los que se"
            " promedian los valores?"
        ),
        (
            "Las formas cuadran porque hay dos trasposiciones. ¿Sobre qué eje se normaliza entre"
            " las dos?"
        ),
        "Quedan la raíz que escala y una trasposición que con lote cambia ejes que no debe.",
    ),
    mutantes=(
        cuerpo(
            "sin arreglar",
            "Es la función averiada: los pesos de cada consulta no suman 1.",
            """
            query, key, value = x @ w_query, z @ w_key, z @ w_value
            scores = key @ query.T / math.sqrt(x.shape[-1])
            return scores.softmax(dim=-1).T @ value""",
        ),
        cambia(
            "eje y escala",
            "La softmax recorre las consultas, y se escala con d_model en lugar de con d_k.",
            "w_key.shape[-1]",
            "x.shape[-1]",
            "dim=-1",
            "dim=-2",
        ),
        cambia(
            "falta la softmax",
            "La escala ya está bien, pero los pesos de cada consulta no suman 1.",
            "dim=-1",
            "dim=-2",
        ),
        cambia(
            "falta la escala",
            "La softmax ya está bien, pero se escala con d_model: debe ser d_k.",
            "w_key.shape[-1]",
            "x.shape[-1]",
        ),
        cambia(
            "falta el lote",
            "Sin lote es correcta; con lote, se da la vuelta a todos los ejes.",
            "key.transpose(-2, -1)",
            "key.T",
        ),
        cambia(
            "escala con d_v",
            "La escala es la raíz de d_k, la anchura de la clave, no la del valor.",
            "w_key.shape[-1]",
            "w_value.shape[-1]",
        ),
    ),
)

# --- 5.9 ------------------------------------------------------------------------------------------


def _casos_flujo(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, largo: int, signo: int, empuje: float = 1.0) -> Caso:
        """Puntuaciones simétricas más un empuje en el sentido del ciclo: ``signo`` es el del
        flujo."""
        n = largo + entero(rng, 1, 3)
        puntos, ciclo = normal(rng, n, n), permutacion(rng, n)[:largo]
        puntos = puntos + puntos.T
        azar = 0.4 * empuje * normal(rng, n, n).clamp(-1, 1)
        aqui = torch.tensor(ciclo)
        azar[aqui, aqui.roll(-1)] += signo * 2 * empuje
        return Caso(propiedad, ((puntos + azar).softmax(-1), ciclo))

    tres, largo, reversible = "ciclo de tres", "ciclo largo", "pesos reversibles"
    return [
        caso(tres, 3, 1), caso(tres, 3, -1), caso(largo, 5, 1), caso(largo, 6, -1),
        caso(reversible, 4, 1, 0.0), caso(reversible, 4, -1, 0.01),
    ]  # fmt: skip


_FLUJO = Ejercicio(
    id="5.9",
    nombre="cycle_flow",
    tipo="escribir",
    dificultad=2,
    minutos=15,
    aprende="medir si unos pesos de atención tienen dirección, con el criterio de Kolmogorov",
    bordes=("len(cycle) == 3",),
    casos=_casos_flujo,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.6, 0.2, 0.2]]),
            [0, 1, 2],
        ),
    ),
    propiedades={
        "ciclo de tres": (2, "Un ciclo de tres tiene tres pasos, y su flujo puede ser negativo."),
        "ciclo largo": (2, "Hay tantos pasos como posiciones, y es la suma de todos."),
        "pesos reversibles": (
            2,
            "Con puntuaciones simétricas sale 0; si apenas dejan de serlo, casi 0, pero no 0.",
        ),
    },
    pistas=(
        "Hay tantos pasos como posiciones: el último vuelve a la primera.",
        (
            "Con puntuaciones simétricas debe salir 0 (salvo redondeo). Si no sale, ¿está cerrado"
            " el ciclo?"
        ),
        "Son sumas de logaritmos, no productos ni diferencias de pesos.",
    ),
    mutantes=(
        cambia(
            "sin cerrar",
            "El ciclo no está cerrado: falta el paso de la última posición a la primera.",
            "after = here.roll(-1)",
            "here, after = here[:-1], here[1:]",
        ),
        cambia(
            "signo cambiado",
            "El signo está cambiado: primero el sentido del ciclo, menos el contrario.",
            "return (",
            "return -(",
        ),
        cambia(
            "sin logaritmo",
            "Faltan los logaritmos: la diferencia de pesos no se anula con pesos reversibles.",
            "weights[here, after].log() - weights[after, here].log()",
            "weights[here, after] - weights[after, here]",
        ),
        cuerpo(
            "razón de productos",
            "Es la razón de los productos: hay que tomar su logaritmo.",
            """
            here = torch.tensor(cycle)
            after = here.roll(-1)
            return (weights[here, after].prod() / weights[after, here].prod()).item()""",
        ),
        cambia(
            "media", "Se pide la suma sobre el ciclo, no la media por paso.", ".sum()", ".mean()"
        ),
        cambia(
            "solo un sentido",
            "Falta restar el sentido contrario.",
            " - weights[after, here].log()",
            "",
        ),
        cambia(
            "sin signo",
            "Se ha quitado el signo: el flujo en contra del ciclo es negativo.",
            ".sum()",
            ".sum().abs()",
        ),
    ),
)

# --- 5.10 -----------------------------------------------------------------------------------------


def _casos_anchura(rng: Any) -> list[Caso]:
    import torch

    def exacto(r: int) -> Caso:
        """Rango r con una media que pesa: quien la reste pierde una dimensión."""
        n, m = distintos(rng, 9, 14, 2)
        scores = normal(rng, n, r - 1) @ normal(rng, r - 1, m) + 3 * torch.ones(
            n, m, dtype=torch.float64
        )
        return Caso("rango exacto", (10.0 ** entero(rng, 1, 2) * scores, 1e-6))

    def aproximada(tolerancia: float) -> Caso:
        n, m = distintos(rng, 13, 19, 2)
        cuantos, menor = entero(rng, 9, 13), real(rng, 0.03, 0.08)
        tamanos = torch.linspace(1.0, menor, cuantos, dtype=torch.float64)
        tamanos *= 3 + entero(rng, 0, 3)
        izquierda, derecha = ortonormal(rng, n, cuantos), ortonormal(rng, m, cuantos)
        return Caso(
            "aproximada", (izquierda * tamanos @ derecha.T, tolerancia + entero(rng, 0, 4) / 500)
        )

    rangos = distintos(rng, 2, 6, 2)
    return [*map(exacto, rangos), *map(aproximada, (0.05, 0.15, 0.3, 0.5))]


_ANCHURA = Ejercicio(
    id="5.10",
    nombre="smallest_width",
    tipo="medir",
    dificultad=2,
    minutos=20,
    aprende="medir cuántas dimensiones de consulta y clave necesita una matriz de puntuaciones",
    bordes=(Borde("rango exacto", {0: 0}),),
    casos=_casos_anchura,
    ejemplo=lambda: Caso("ejemplo", (tensor([[4.0, 0.0], [0.0, 3.0]]), 0.7)),
    propiedades={
        "rango exacto": (
            2,
            (
                "Si la matriz tiene rango r, con r dimensiones el error es 0. ¿Se ha cambiado la"
                " matriz antes?"
            ),
        ),
        "aproximada": (4, "Con diag(4, 3) y una dimensión, el error es 3 sobre una norma de 5."),
    },
    pistas=(
        "La mejor aproximación de rango r se obtiene con los r mayores valores singulares.",
        "El error es la raíz de la suma de los cuadrados de los que se dejan fuera.",
        "Se compara con la norma de Frobenius de toda la matriz, y se busca el menor r que cumple.",
    ),
    mutantes=(
        cuerpo(
            "cuenta los grandes",
            "No basta contar los valores singulares grandes: los pequeños se acumulan.",
            """
            sizes = torch.linalg.svdvals(scores)
            return int((sizes > tolerance * sizes[0]).sum())""",
        ),
        cambia(
            "error absoluto",
            "La tolerancia es relativa a la norma de la matriz, no absoluta.",
            " * energy.sum()",
            "",
        ),
        cambia(
            "sin el cuadrado de la tolerancia",
            "Se comparan cuadrados con la tolerancia sin elevar al cuadrado.",
            "tolerance**2",
            "tolerance",
        ),
        cambia(
            "suma sin cuadrados",
            "La norma de Frobenius suma cuadrados de valores singulares, no los valores.",
            " ** 2",
            "",
            "tolerance**2",
            "tolerance",
        ),
        cambia(
            "uno de más",
            "Sobra una dimensión: con una menos ya se cumple la tolerancia.",
            "energy.sum()).sum())",
            "energy.sum()).sum()) + 1",
        ),
        cuerpo(
            "rango",
            "Es el rango de la matriz: no usa la tolerancia pedida.",
            "return int(torch.linalg.matrix_rank(scores))",
        ),
        cambia(
            "centrada",
            "Se ha restado la media antes de medir, como en el PCA: la matriz ya no es la pedida.",
            "svdvals(scores)",
            "svdvals(scores - scores.mean(0))",
        ),
    ),
)

# --- 5.11 -----------------------------------------------------------------------------------------


def _casos_comprimir(rng: Any) -> list[Caso]:
    def caso(propiedad: str) -> Caso:
        d_k = entero(rng, 3, 6)
        d_model, ancho = d_k + entero(rng, 2, 8), entero(rng, 2, d_k - 1)
        return Caso(propiedad, (normal(rng, d_model, d_k), 3 * normal(rng, d_model, d_k), ancho))

    return [caso("circuito óptimo"), caso("circuito óptimo"), caso("equilibrio")]


def _comprueba_comprimir(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    import torch

    if not isinstance(obtenido, (tuple, list)) or len(obtenido) != 2:
        return "se esperaban dos matrices: la de consulta y la de clave"
    for uno, otro in zip(obtenido, esperado, strict=True):
        if not isinstance(uno, torch.Tensor) or uno.shape != otro.shape:
            llego = tuple(uno.shape) if isinstance(uno, torch.Tensor) else type(uno).__name__
            return f"llegó {llego}; se esperaba (d_model, width) = {tuple(otro.shape)}"
        if uno.dtype != otro.dtype:
            return f"llegó {str(uno.dtype).removeprefix('torch.')}; se esperaba float64"
    if not torch.allclose(
        obtenido[0] @ obtenido[1].T, esperado[0] @ esperado[1].T, rtol=1e-8, atol=1e-8
    ):
        return "el producto de las dos no es la mejor aproximación del circuito QK"
    if caso.propiedad == "circuito óptimo":
        return None
    gram = [w.T @ w for w in obtenido]
    if not torch.allclose(gram[0], gram[1], rtol=1e-8, atol=1e-8):
        return "el producto es bueno, pero las dos matrices no están equilibradas"
    if (gram[0] - gram[0].diagonal().diag()).abs().max() > 1e-8:
        return "las columnas deben ser ortogonales: W'ᵀW' no es diagonal"
    return None


def _circuito(valor: Any) -> Any:
    import torch

    return valor[0] @ valor[1].T, torch.linalg.svdvals(valor[0]), torch.linalg.svdvals(valor[1])


_COMPRIMIR = Ejercicio(
    id="5.11",
    nombre="compress_head",
    tipo="escribir",
    dificultad=3,
    minutos=40,
    aprende="comprimir una cabeza por su circuito QK, usando que solo cuenta el producto",
    bordes=(Borde("circuito óptimo", valores={2: 1}),),
    casos=_casos_comprimir,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[4.0, 0.0], [0.0, 1.0]]), tensor([[1.0, 0.0], [0.0, 1.0]]), 1)
    ),
    propiedades={
        "circuito óptimo": (
            6,
            "Compara el error de tu producto con el de los valores singulares que se quedan fuera.",
        ),
        "equilibrio": (4, "Las dos matrices deben tener la misma W'ᵀW', y diagonal."),
    },
    comprueba=_comprueba_comprimir,
    invariante=_circuito,
    tolerancia=1e-8,
    pistas=(
        (
            "Las columnas sueltas de W_Q y W_K son arbitrarias: lo que hay que aproximar es su"
            " producto."
        ),
        "La mejor aproximación de rango `width` de una matriz sale de su SVD truncada.",
        "Para equilibrar, cada lado lleva la raíz cuadrada de los valores singulares.",
    ),
    mutantes=(
        cuerpo(
            "primeras columnas",
            "Quedarse con las primeras columnas no vale: son arbitrarias.",
            "return w_query[:, :width], w_key[:, :width]",
        ),
        cuerpo(
            "cada una por su lado",
            "Comprimir W_Q y W_K por separado no da la mejor aproximación del producto.",
            """
            (a, s, _), (c, t, _) = torch.linalg.svd(w_query), torch.linalg.svd(w_key)
            return a[:, :width] * s[:width], c[:, :width] * t[:width]""",
        ),
        cambia(
            "sigma en los dos lados",
            "Los valores singulares enteros están en los dos lados: el producto los lleva "
            "al cuadrado.",
            "sizes[:width].sqrt()",
            "sizes[:width]",
        ),
        cambia(
            "sigma en un lado",
            "El producto es el mejor, pero todo el tamaño está en la consulta: hay que repartirlo.",
            "* root, ",
            "* sizes[:width], ",
            ".T * root",
            ".T",
        ),
        cambia(
            "sin traspuesta",
            "La SVD de PyTorch devuelve V ya traspuesta: sus vectores son las filas.",
            "right[:width].T",
            "right[:, :width]",
        ),
        cambia(
            "las menores",
            "Se han conservado los valores singulares menores: hay que quedarse con los mayores.",
            "sizes[:width]",
            "sizes[-width:]",
            "left[:, :width]",
            "left[:, -width:]",
            "right[:width]",
            "right[-width:]",
        ),
    ),
)

EJERCICIOS = [
    _ESPEJO,
    _SUJETO,
    _FORMAS,
    _ENTERA,
    _SENTIDO,
    _CABEZA,
    _FUNDIDA,
    _AVERIADA,
    _FLUJO,
    _ANCHURA,
    _COMPRIMIR,
]
