"""Capítulo 5: consulta, clave y valor."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from calificador.generadores import distintos, entero, normal
from calificador.registro import Caso, Ejercicio, Mutante


def _mutante(nombre: str, pista: str, codigo: str) -> Mutante:
    return Mutante(nombre, dedent(codigo).lstrip("\n"), pista)


# --- 5.1 -------------------------------------------------------------------------------------------------------------


def _casos_formas(rng: Any) -> list[Caso]:
    casos = []
    for propiedad in ("autoatención", "atención cruzada"):
        for _ in range(2):
            n, m, d_model, d_k, d_v = distintos(rng, 2, 90, 5)
            casos.append(Caso(propiedad, (n, n if propiedad == "autoatención" else m, d_model, d_k, d_v)))
    return casos


def _formas(cambio: str) -> str:
    """El cuerpo correcto con una de sus ocho formas cambiada: ``nombre = forma``."""
    return f"""
        def attention_shapes(n_query, n_key, d_model, d_k, d_v):
            wq, wk, wv = (d_model, d_k), (d_model, d_k), (d_model, d_v)
            q, k, v = (n_query, d_k), (n_key, d_k), (n_key, d_v)
            scores, output = (n_query, n_key), (n_query, d_v)
            {cambio}
            return wq, wk, wv, q, k, v, scores, output
        """


FORMAS = Ejercicio(
    id="5.1",
    nombre="attention_shapes",
    tipo="predecir",
    puntos=4,
    dificultad=1,
    minutos=8,
    aprende="Decir la forma de cada matriz de una atención, también cruzada, sin ejecutarla.",
    casos=_casos_formas,
    propiedades={"autoatención": 2, "atención cruzada": 2},
    pistas=(
        "Cada proyección es un producto: (posiciones × d_model)(d_model × anchura).",
        "¿De qué secuencia salen las consultas? ¿Y las claves y los valores?",
        "La anchura que comparten consulta y clave desaparece al puntuar; la salida hereda la del valor.",
    ),
    mutantes=(
        _mutante(
            "puntuaciones traspuestas",
            "Las puntuaciones llevan una fila por consulta y una columna por clave.",
            _formas("scores = (n_key, n_query)"),
        ),
        _mutante(
            "valor con d_k",
            "El valor tiene su propia anchura, d_v; la de consulta y clave es d_k.",
            _formas("wv, v, output = (d_model, d_k), (n_key, d_k), (n_query, d_k)"),
        ),
        _mutante(
            "claves de x",
            "Las claves y los valores salen de la otra secuencia: tienen n_key filas.",
            _formas("k, v = (n_query, d_k), (n_query, d_v)"),
        ),
        _mutante(
            "pesos de nn.Linear",
            "Aquí las matrices multiplican por la derecha: son (entra, sale), no como las guarda nn.Linear.",
            _formas("wq, wk, wv = wq[::-1], wk[::-1], wv[::-1]"),
        ),
        _mutante(
            "salida de anchura d_model",
            "La salida es una media de valores: su anchura es d_v.",
            _formas("output = (n_query, d_model)"),
        ),
    ),
)

# --- 5.2 -------------------------------------------------------------------------------------------------------------


def _casos_espejo(rng: Any) -> list[Caso]:
    casos = []
    for propiedad, lotes in (("una secuencia", 0), ("una secuencia", 0), ("con lote", 1), ("con lote", 2)):
        d_model, d_s, d_c, n = distintos(rng, 3, 9, 4)
        lote = distintos(rng, 2, 4, lotes)
        args = (normal(rng, *lote, n, d_model), normal(rng, d_model, d_s), normal(rng, d_model, d_c))
        casos.append(Caso(propiedad, args, gradiente=propiedad == "con lote"))
    return casos


def _espejo(cuerpo: str) -> str:
    lineas = "\n".join("            " + linea for linea in dedent(cuerpo).strip().splitlines())
    return f"""
        import math
        import torch
        def no_mirror_attention(x, w_similarity, w_content):
            similar, content = x @ w_similarity, x @ w_content
            mirror = torch.eye(x.shape[-2], dtype=torch.bool)
            scores = similar @ similar.transpose(-2, -1)
{lineas}
            return weights @ content
        """


_TAPAR = 'weights = scores.masked_fill(mirror, float("-inf")).softmax(dim=-1)'

ESPEJO = Ejercicio(
    id="5.2",
    nombre="no_mirror_attention",
    tipo="completar",
    puntos=6,
    dificultad=1,
    minutos=15,
    aprende="Separar lo que se compara de lo que se entrega y tapar la diagonal sin estropear los pesos.",
    casos=_casos_espejo,
    propiedades={"una secuencia": 3, "con lote": 3},
    prohibido=("scaled_dot_product_attention",),
    pistas=(
        "Son cuatro pasos: puntuar, escalar, enmascarar y normalizar. ¿En qué orden van los dos últimos?",
        "Para que una clave no reciba nada, su puntuación debe ser −∞ antes de la softmax.",
        "La escala depende de la anchura de lo que se compara, no de la de x.",
    ),
    mutantes=(
        _mutante(
            "sin tapar la diagonal",
            "Cada posición sigue mirándose a sí misma: falta la máscara de la diagonal.",
            _espejo("weights = (scores / math.sqrt(w_similarity.shape[-1])).softmax(dim=-1)"),
        ),
        _mutante(
            "tapar después",
            "Las filas no suman 1: la diagonal se ha puesto a cero después de normalizar.",
            _espejo("""
                     weights = (scores / math.sqrt(w_similarity.shape[-1])).softmax(dim=-1)
                     weights = weights.masked_fill(mirror, 0.0)
                 """),
        ),
        _mutante(
            "puntuación cero",
            "Una puntuación de 0 no tapa nada, porque e⁰ = 1: hace falta −∞.",
            _espejo("""
                     scores = scores / math.sqrt(w_similarity.shape[-1])
                     weights = scores.masked_fill(mirror, 0.0).softmax(dim=-1)
                 """),
        ),
        _mutante(
            "escala con d_model",
            "La escala es la raíz de la anchura de lo que se compara, d_s, no de d_model.",
            _espejo("scores = scores / math.sqrt(x.shape[-1])\n" + _TAPAR),
        ),
        _mutante(
            "escala con d_c",
            "La escala es la raíz de la anchura de lo que se compara, d_s, no de la del contenido.",
            _espejo("scores = scores / math.sqrt(w_content.shape[-1])\n" + _TAPAR),
        ),
        _mutante("sin escalar", "Falta dividir las puntuaciones entre la raíz de d_s.", _espejo(_TAPAR)),
        _mutante(
            "softmax por columnas",
            "Deben sumar 1 las filas: la softmax recorre el último eje.",
            _espejo("scores = scores / math.sqrt(w_similarity.shape[-1])\n" + _TAPAR.replace("dim=-1", "dim=-2")),
        ),
    ),
)

# --- 5.3 -------------------------------------------------------------------------------------------------------------


def _casos_cabeza(rng: Any, *, bonus: float = 2.0) -> list[Caso]:
    import torch

    casos = []
    for propiedad, r in (("piedra, tijera, papel", 3), ("otras reglas", entero(rng, 4, 6)), ("otras reglas", 5)):
        orden = torch.randperm(r, generator=rng).tolist()  # un ciclo al azar: cada una gana a la siguiente del orden
        gana = [0] * r
        for uno, otro in zip(orden, orden[1:] + orden[:1], strict=True):
            gana[uno] = otro
        gana = [1, 2, 0] if r == 3 else gana
        bits, colores = distintos(rng, 2, 8, 2)
        distinto = 1.5 * (len(casos) == 2)  # en el último, un valor que no es el de la clase
        casos.append(Caso(propiedad, (bits, gana, colores), {"bonus": bonus + distinto}))
    return casos


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
    if obtenido[2].shape != esperado[2].shape or not torch.allclose(obtenido[2], esperado[2], atol=1e-9):
        return "W_V no copia el color: por la salida deben pasar las componentes de color y nada más"
    circuito, correcto = obtenido[0] @ obtenido[1].T, esperado[0] @ esperado[1].T
    if torch.allclose(circuito, correcto, atol=1e-9):
        return None
    bits = caso.args[0]
    trozo = "mesa" if not torch.allclose(circuito[:bits], correcto[:bits], atol=1e-9) else "jugada"
    return f"las puntuaciones no son las pedidas: fallan las filas de {trozo} de W_Q W_Kᵀ"


def _cabeza(cambio: str) -> str:
    lineas = "\n".join("            " + linea for linea in dedent(cambio).strip().splitlines())
    return f"""
        import torch
        def program_head(bits, beats, colours, bonus=2.0):
            plays = len(beats)
            width, d_model = bits + plays, bits + plays + colours
            w_key = torch.eye(d_model, dtype=torch.float64)[:, :width].clone()
            w_query = w_key.clone()
            w_query[bits:width, bits:] = 0.0
            for play, beaten in enumerate(beats):
                w_query[bits + play, bits + beaten] = bonus
            w_value = torch.eye(d_model, dtype=torch.float64)[:, width:]
{lineas}
            return w_query, w_key, w_value
        """


CABEZA = Ejercicio(
    id="5.3",
    nombre="program_head",
    tipo="escribir",
    puntos=8,
    dificultad=2,
    minutos=25,
    aprende="Escribir a mano las tres matrices de una cabeza que sigue una regla con dirección.",
    casos=_casos_cabeza,
    propiedades={"piedra, tijera, papel": 3, "otras reglas": 5},
    comprueba=_comprueba_cabeza,
    variante={"bonus": 2.0},
    alternativas={"bonus": (3.0, 4.0, 2.5)},
    pistas=(
        "La clave dice lo que cada uno es: basta copiar mesa y jugada.",
        "La consulta dice lo que cada uno busca: la misma mesa y la jugada a la que gana.",
        "En W_Q, la fila de la jugada p lleva `bonus` en la columna de beats[p], y nada más.",
    ),
    mutantes=(
        _mutante(
            "al revés",
            "La relación sale invertida: cada uno mira a quien le gana. ¿Fila y columna cambiadas?",
            _cabeza("w_query[bits:width, bits:] = w_query[bits:width, bits:].T.clone()"),
        ),
        _mutante(
            "sin mesa",
            "Falta comparar las mesas: así se mira a cualquiera que sacara esa jugada.",
            _cabeza("w_query[:bits] = 0.0"),
        ),
        _mutante(
            "simétrica",
            "Consulta y clave son iguales: las puntuaciones salen simétricas y no hay dirección.",
            _cabeza("w_key = w_query.clone()"),
        ),
        _mutante(
            "bonus dos veces",
            "El bonus está en la consulta y también en la clave: se multiplica por sí mismo.",
            _cabeza("w_key[bits:width, bits:] *= bonus"),
        ),
        _mutante(
            "se busca a sí misma",
            "La consulta copia su propia jugada: busca a los que sacaron lo mismo.",
            _cabeza("w_query[bits:width, bits:] = bonus * torch.eye(plays, dtype=torch.float64)"),
        ),
        _mutante(
            "valor entero",
            "El valor deja pasar el vector entero: por la salida solo debe ir el color.",
            _cabeza("w_value = torch.eye(d_model, dtype=torch.float64)"),
        ),
    ),
)

# --- 5.4 -------------------------------------------------------------------------------------------------------------


def _casos_fundida(rng: Any, *, order: str = "qkv") -> list[Caso]:
    casos = []
    for propiedad in ("autoatención", "autoatención", "atención cruzada", "otro orden"):
        d_model, d_k, d_v = distintos(rng, 2, 7, 3)
        n, m = distintos(rng, 2, 6, 2)
        orden = order
        if propiedad == "otro orden":
            orden = [o for o in ("qkv", "qvk", "kqv", "kvq", "vqk", "vkq") if o != order][entero(rng, 0, 4)]
        args = [normal(rng, *([3] * (propiedad != "autoatención")), n, d_model)]
        if propiedad == "atención cruzada":
            args.append(normal(rng, 3, m, d_model))
        casos.append(Caso(propiedad, tuple(args), init={"d_model": d_model, "d_k": d_k, "d_v": d_v, "order": orden}))
    return casos


def _fundida(
    *,
    orden: str = "self.order",
    escala: str = "math.sqrt(self.widths['k'])",
    eje: str = "-1",
    de: str = "x if context is None else context",
    consulta: str = "x",
    sesgo: str = "False",
) -> str:
    return f"""
        import math
        import torch
        from torch import nn
        class FusedSelfAttention(nn.Module):
            def __init__(self, d_model, d_k, d_v, order="qkv"):
                super().__init__()
                self.order, self.d_model = order, d_model
                self.widths = {{"q": d_k, "k": d_k, "v": d_v}}
                self.project = nn.Linear(d_model, 2 * d_k + d_v, bias={sesgo})
            def parts(self, x):
                order = {orden}
                return dict(zip(order, self.project(x).split([self.widths[name] for name in order], dim=-1)))
            def forward(self, x, context=None):
                asked = self.parts({de})
                query = self.parts({consulta})["q"]
                scores = query @ asked["k"].transpose(-2, -1) / {escala}
                return scores.softmax(dim={eje}) @ asked["v"]
        """


FUNDIDA = Ejercicio(
    id="5.4",
    nombre="FusedSelfAttention",
    tipo="escribir",
    puntos=9,
    dificultad=2,
    minutos=25,
    aprende="Calcular las tres proyecciones con un solo producto y cortarlas sin confundirlas.",
    casos=_casos_fundida,
    propiedades={"autoatención": 4, "atención cruzada": 3, "otro orden": 2},
    prohibido=("scaled_dot_product_attention",),
    variante={"order": "qkv"},
    alternativas={"order": ("kqv", "vqk", "kvq", "vkq", "qvk")},
    pistas=(
        "La capa lineal tiene 2·d_k + d_v salidas; `split` admite una lista de tamaños.",
        "`order` dice en qué orden están los trozos: los tamaños de `split` tienen que seguirlo.",
        "Con `context`, la misma capa se aplica a las dos secuencias; de x se usa solo la consulta.",
    ),
    mutantes=(
        _mutante(
            "orden fijo",
            "Los trozos se cortan siempre en el orden «qkv»: hay que seguir `order`.",
            _fundida(orden="'qkv'"),
        ),
        _mutante(
            "consulta y clave cambiadas",
            "Consulta y clave están intercambiadas: la relación sale al revés.",
            _fundida(orden="self.order.translate(str.maketrans('qk', 'kq'))"),
        ),
        _mutante(
            "escala con d_v",
            "La escala es la raíz de d_k, la anchura de consulta y clave, no de d_v.",
            _fundida(escala="math.sqrt(self.widths['v'])"),
        ),
        _mutante(
            "escala con d_model",
            "La escala es la raíz de d_k, no de d_model.",
            _fundida(escala="math.sqrt(self.d_model)"),
        ),
        _mutante("sin escala", "Falta dividir las puntuaciones entre la raíz de d_k.", _fundida(escala="1.0")),
        _mutante(
            "softmax por columnas", "Deben sumar 1 las filas: la softmax recorre el último eje.", _fundida(eje="-2")
        ),
        _mutante("sin contexto", "Se ignora `context`: las claves y los valores deben salir de él.", _fundida(de="x")),
        _mutante(
            "todo del contexto",
            "La consulta también sale de `context`: debe salir de x.",
            _fundida(consulta="x if context is None else context"),
        ),
    ),
)

# --- 5.5 -------------------------------------------------------------------------------------------------------------


def _casos_averiada(rng: Any) -> list[Caso]:
    casos = []
    for propiedad, lotes in (("sin lote", 0), ("sin lote", 0), ("con lote", 1), ("con lote", 2)):
        n, m, d_model, d_k, d_v = distintos(rng, 2, 9, 5)
        lote = distintos(rng, 2, 4, lotes)
        args = (
            normal(rng, *lote, n, d_model),
            normal(rng, *lote, m, d_model),
            normal(rng, d_model, d_k),
            normal(rng, d_model, d_k),
            normal(rng, d_model, d_v),
        )
        casos.append(Caso(propiedad, args, gradiente=propiedad == "con lote"))
    return casos


def _averiada(cuerpo: str) -> str:
    lineas = "\n".join("            " + linea for linea in dedent(cuerpo).strip().splitlines())
    return f"""
        import math
        import torch
        def cross_attention(x, z, w_query, w_key, w_value):
            query, key, value = x @ w_query, z @ w_key, z @ w_value
{lineas}
        """


AVERIADA = Ejercicio(
    id="5.5",
    nombre="cross_attention",
    tipo="depurar",
    puntos=6,
    dificultad=2,
    minutos=20,
    aprende="Encontrar errores de eje, de escala y de lote que no dan ningún aviso.",
    casos=_casos_averiada,
    propiedades={"sin lote": 3, "con lote": 3},
    prohibido=("scaled_dot_product_attention",),
    pistas=(
        "Se puede probar con una sola consulta: ¿cuánto suman los pesos con los que se promedian los valores?",
        "Las formas cuadran porque hay dos trasposiciones. ¿Sobre qué eje se normaliza entre las dos?",
        "Quedan la raíz que escala y una trasposición que con lote cambia ejes que no debe.",
    ),
    mutantes=(
        _mutante(
            "sin arreglar",
            "Es la función averiada: los pesos de cada consulta no suman 1.",
            _averiada("""
            scores = key @ query.mT / math.sqrt(x.shape[-1])
            return scores.softmax(dim=-1).mT @ value
        """),
        ),
        _mutante(
            "falta la softmax",
            "La escala ya está bien, pero los pesos de cada consulta no suman 1: la softmax recorre las consultas.",
            _averiada("""
            scores = key @ query.mT / math.sqrt(w_key.shape[-1])
            return scores.softmax(dim=-1).mT @ value
        """),
        ),
        _mutante(
            "falta la escala",
            "La softmax ya está bien, pero se escala con d_model: debe ser d_k.",
            _averiada("""
            scores = query @ key.mT / math.sqrt(x.shape[-1])
            return scores.softmax(dim=-1) @ value
        """),
        ),
        _mutante(
            "falta el lote",
            "Sin lote es correcta; con lote, `.T` da la vuelta a todos los ejes.",
            _averiada("""
            scores = query @ key.T / math.sqrt(w_key.shape[-1])
            return scores.softmax(dim=-1) @ value
        """),
        ),
        _mutante(
            "escala con d_v",
            "La escala es la raíz de d_k, la anchura de la clave, no la del valor.",
            _averiada("""
            scores = query @ key.mT / math.sqrt(w_value.shape[-1])
            return scores.softmax(dim=-1) @ value
        """),
        ),
    ),
)

# --- 5.6 -------------------------------------------------------------------------------------------------------------


def _casos_flujo(rng: Any) -> list[Caso]:
    import torch

    casos = []
    for propiedad, largo in (("ciclo de tres", 3), ("ciclo largo", 5), ("ciclo largo", 6), ("pesos reversibles", 4)):
        n = largo + entero(rng, 1, 3)
        puntos = normal(rng, n, n)
        if propiedad == "pesos reversibles":
            puntos = puntos + puntos.T
        ciclo = torch.randperm(n, generator=rng)[:largo].tolist()
        casos.append(Caso(propiedad, (puntos.softmax(-1), ciclo)))
    return casos


def _flujo(cuerpo: str) -> str:
    lineas = "\n".join("            " + linea for linea in dedent(cuerpo).strip().splitlines())
    return f"""
        import torch
        def cycle_flow(weights, cycle):
            here = torch.tensor(cycle)
            after = here.roll(-1)
            forward, backward = weights[here, after], weights[after, here]
{lineas}
        """


FLUJO = Ejercicio(
    id="5.6",
    nombre="cycle_flow",
    tipo="escribir",
    puntos=6,
    dificultad=2,
    minutos=15,
    aprende="Medir si unos pesos de atención tienen dirección, con el criterio de Kolmogorov.",
    casos=_casos_flujo,
    propiedades={"ciclo de tres": 2, "ciclo largo": 2, "pesos reversibles": 2},
    pistas=(
        "Hay tantos pasos como posiciones: el último vuelve a la primera.",
        "Con puntuaciones simétricas debe salir 0 (salvo redondeo). Si no sale, ¿está cerrado el ciclo?",
        "Son sumas de logaritmos, no productos ni diferencias de pesos.",
    ),
    mutantes=(
        _mutante(
            "sin cerrar",
            "El ciclo no está cerrado: falta el paso de la última posición a la primera.",
            _flujo("return (forward[:-1].log() - backward[:-1].log()).sum().item()"),
        ),
        _mutante(
            "signo cambiado",
            "El signo está cambiado: primero el sentido del ciclo, menos el contrario.",
            _flujo("return (backward.log() - forward.log()).sum().item()"),
        ),
        _mutante(
            "sin logaritmo",
            "Faltan los logaritmos: la diferencia de pesos no se anula con pesos reversibles.",
            _flujo("return (forward - backward).sum().item()"),
        ),
        _mutante(
            "razón de productos",
            "Es la razón de los productos: hay que tomar su logaritmo.",
            _flujo("return (forward.prod() / backward.prod()).item()"),
        ),
        _mutante(
            "media",
            "Se pide la suma sobre el ciclo, no la media por paso.",
            _flujo("return (forward.log() - backward.log()).mean().item()"),
        ),
        _mutante("solo un sentido", "Falta restar el sentido contrario.", _flujo("return forward.log().sum().item()")),
    ),
)

# --- 5.7 -------------------------------------------------------------------------------------------------------------


def _casos_anchura(rng: Any) -> list[Caso]:
    import torch

    casos = []
    for _ in range(2):
        n, m = entero(rng, 9, 14), entero(rng, 9, 14)
        r = entero(rng, 2, 6)
        escala = 10.0 ** entero(rng, 1, 2)
        casos.append(Caso("rango exacto", (escala * normal(rng, n, r) @ normal(rng, r, m), 1e-6)))
    for tolerancia in (0.05, 0.15, 0.3, 0.5):
        n, m = entero(rng, 10, 16), entero(rng, 10, 16)
        izquierda, derecha = torch.linalg.qr(normal(rng, n, 10))[0], torch.linalg.qr(normal(rng, m, 10))[0]
        tamanos = (3 + entero(rng, 0, 3)) * torch.linspace(1.0, 0.06, 10, dtype=torch.float64)
        casos.append(Caso("aproximada", (izquierda * tamanos @ derecha.T, tolerancia + entero(rng, 0, 4) / 500)))
    return casos


def _anchura(cuerpo: str) -> str:
    lineas = "\n".join("            " + linea for linea in dedent(cuerpo).strip().splitlines())
    return f"""
        import torch
        def smallest_width(scores, tolerance):
            sizes = torch.linalg.svdvals(scores)
            energy = sizes ** 2
            left_out = energy.flip(0).cumsum(0).flip(0)
{lineas}
        """


ANCHURA = Ejercicio(
    id="5.7",
    nombre="smallest_width",
    tipo="medir",
    puntos=6,
    dificultad=2,
    minutos=20,
    aprende="Medir cuántas dimensiones de consulta y clave necesita una matriz de puntuaciones.",
    casos=_casos_anchura,
    propiedades={"rango exacto": 2, "aproximada": 4},
    pistas=(
        "La mejor aproximación de rango r se obtiene con los r mayores valores singulares.",
        "El error es la raíz de la suma de los cuadrados de los que se dejan fuera.",
        "Se compara con la norma de Frobenius de toda la matriz, y se busca el menor r que cumple.",
    ),
    mutantes=(
        _mutante(
            "cuenta los grandes",
            "No basta contar valores singulares mayores que la tolerancia por el primero: los pequeños se acumulan.",
            _anchura("return int((sizes > tolerance * sizes[0]).sum())"),
        ),
        _mutante(
            "error absoluto",
            "La tolerancia es relativa a la norma de la matriz, no absoluta.",
            _anchura("return int((left_out.sqrt() > tolerance).sum())"),
        ),
        _mutante(
            "sin el cuadrado de la tolerancia",
            "Se comparan cuadrados con la tolerancia sin elevar: la energía que queda fuera puede ser tolerancia².",
            _anchura("return int((left_out > tolerance * energy.sum()).sum())"),
        ),
        _mutante(
            "suma sin cuadrados",
            "La norma de Frobenius suma cuadrados de valores singulares, no los valores.",
            _anchura("""
                     tail = sizes.flip(0).cumsum(0).flip(0)
                     return int((tail > tolerance * sizes.sum()).sum())
                 """),
        ),
        _mutante(
            "uno de más",
            "Sobra una dimensión: con una menos ya se cumple la tolerancia.",
            _anchura("return int((left_out > tolerance**2 * energy.sum()).sum()) + 1"),
        ),
        _mutante(
            "rango",
            "Es el rango de la matriz: no usa la tolerancia pedida.",
            _anchura("return int(torch.linalg.matrix_rank(scores))"),
        ),
    ),
)

# --- 5.8 -------------------------------------------------------------------------------------------------------------


def _casos_comprimir(rng: Any) -> list[Caso]:
    casos = []
    for propiedad in ("circuito óptimo", "circuito óptimo", "equilibrio"):
        d_k = entero(rng, 4, 6)
        d_model, ancho = d_k + entero(rng, 3, 8), entero(rng, 2, d_k - 1)
        casos.append(Caso(propiedad, (normal(rng, d_model, d_k), 3 * normal(rng, d_model, d_k), ancho)))
    return casos


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
    circuito, mejor = obtenido[0] @ obtenido[1].T, esperado[0] @ esperado[1].T
    if not torch.allclose(circuito, mejor, rtol=1e-8, atol=1e-8):
        return "el producto de las dos no es la mejor aproximación del circuito QK"
    if caso.propiedad == "equilibrio":
        gram = [w.T @ w for w in obtenido]
        if not torch.allclose(gram[0], gram[1], rtol=1e-8, atol=1e-8):
            return "el producto es bueno, pero las dos matrices no están equilibradas"
        if (gram[0] - gram[0].diagonal().diag()).abs().max() > 1e-8:
            return "las columnas deben ser ortogonales: W'ᵀW' no es diagonal"
    return None


def _comprimir(cuerpo: str) -> str:
    lineas = "\n".join("            " + linea for linea in dedent(cuerpo).strip().splitlines())
    return f"""
        import torch
        def compress_head(w_query, w_key, width):
            left, sizes, right = torch.linalg.svd(w_query @ w_key.T)
            root = sizes[:width].sqrt()
{lineas}
        """


COMPRIMIR = Ejercicio(
    id="5.8",
    nombre="compress_head",
    tipo="escribir",
    puntos=10,
    dificultad=3,
    minutos=40,
    aprende="Comprimir una cabeza por su circuito QK, usando que solo cuenta el producto.",
    casos=_casos_comprimir,
    propiedades={"circuito óptimo": 6, "equilibrio": 4},
    comprueba=_comprueba_comprimir,
    tolerancia=1e-8,
    pistas=(
        "Las columnas sueltas de W_Q y W_K son arbitrarias: lo que hay que aproximar es su producto.",
        "La mejor aproximación de rango `width` de una matriz sale de su SVD truncada.",
        "Para equilibrar, cada lado lleva la raíz cuadrada de los valores singulares.",
    ),
    mutantes=(
        _mutante(
            "primeras columnas",
            "Quedarse con las primeras columnas no vale: son arbitrarias (basta girarlas con una A invertible).",
            _comprimir("return w_query[:, :width], w_key[:, :width]"),
        ),
        _mutante(
            "cada una por su lado",
            "Comprimir W_Q y W_K por separado no da la mejor aproximación del producto.",
            _comprimir("""
                     project = lambda w: torch.linalg.svd(w, full_matrices=False)
                     (a, s, b), (c, t, d) = project(w_query), project(w_key)
                     return a[:, :width] * s[:width], c[:, :width] * t[:width]
                 """),
        ),
        _mutante(
            "sigma en los dos lados",
            "Los valores singulares enteros están en los dos lados: el producto los lleva al cuadrado.",
            _comprimir("return left[:, :width] * sizes[:width], right[:width].T * sizes[:width]"),
        ),
        _mutante(
            "sigma en un lado",
            "El producto es el mejor, pero todo el tamaño está en la consulta: hay que repartirlo.",
            _comprimir("return left[:, :width] * sizes[:width], right[:width].T.contiguous()"),
        ),
        _mutante(
            "sin traspuesta",
            "torch.linalg.svd devuelve V ya traspuesta: sus vectores son las filas.",
            _comprimir("return left[:, :width] * root, right[:, :width] * root"),
        ),
        _mutante(
            "las menores",
            "Se han conservado los valores singulares menores: hay que quedarse con los mayores.",
            _comprimir("""
                     k = w_query.shape[1]
                     root = sizes[k - width : k].sqrt()
                     return left[:, k - width : k] * root, right[k - width : k].T * root
                 """),
        ),
    ),
)

EJERCICIOS = [FORMAS, ESPEJO, CABEZA, FUNDIDA, AVERIADA, FLUJO, ANCHURA, COMPRIMIR]
