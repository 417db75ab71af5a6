"""Ejercicios del capítulo 10, «El bloque»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import Borde, distintos, elige, entero, normal, tensor
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import BLOQUES, CAPAS, DERIVADAS, NORMA_DE_CAPA, RMS

# --- 10.1 -----------------------------------------------------------------------------------------

_CAMINOS = Ejercicio(
    id="10.1",
    nombre="gradient_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    tolerancia=1e-3,
    aprende="deshacer el gradiente de una pila residual en caminos",
    propiedades={
        "plain": (1, "Regla de la cadena: una derivada por subcapa."),
        "stream": (1, "Con la conexión residual, ¿cuál es la derivada de x + w·x?"),
        "one": (1, "Un camino elige, en cada subcapa, entre saltarla y atravesarla."),
        "two": (1, "Hay tres maneras de elegir dos subcapas entre tres."),
    },
    pistas=(
        "Deriva primero una sola subcapa, con su suma y sin ella.",
        "Multiplica los tres factores, 1 más la derivada, sin sumarlos: quedan ocho sumandos.",
        "Los ocho sumandos se agrupan según cuántas derivadas llevan: ninguna, una, dos o tres.",
    ),
    mutantes=(
        cambia(
            "suma de derivadas",
            "Sin conexiones residuales las derivadas se multiplican, no se suman.",
            '"plain": math.prod(slopes)',
            '"plain": sum(slopes)',
        ),
        cambia(
            "un solo uno",
            "El 1 está en cada subcapa, no una sola vez al final.",
            "math.prod(1 + slope for slope in slopes)",
            "1 + math.prod(slopes)",
        ),
        cambia(
            "solo los cortos",
            "Faltan los caminos que atraviesan dos subcapas y el que atraviesa las tres.",
            "math.prod(1 + slope for slope in slopes)",
            "1 + crossing(1)",
        ),
        cambia(
            "con el directo",
            "El camino directo no atraviesa ninguna subcapa: no cuenta entre los de una.",
            '"one": crossing(1)',
            '"one": 1 + crossing(1)',
        ),
        cambia(
            "sin signos",
            "La segunda subcapa tiene derivada negativa: los caminos que la cruzan restan.",
            "sum(math.prod(chosen)",
            "sum(abs(math.prod(chosen))",
        ),
        cambia(
            "al cuadrado",
            "Un camino no atraviesa dos veces la misma subcapa.",
            '"two": crossing(2)',
            '"two": crossing(1) ** 2',
        ),
    ),
)

# --- 10.2 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="10.2",
    nombre="norm_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=8,
    tolerancia=2.4e-3,
    aprende="normalizar una posición a mano, con ε y sin ella, y con RMSNorm",
    propiedades={
        "layer": (1, "Media, diferencias, media de sus cuadrados, raíz."),
        "eps": (1, "¿Dónde se suma ε, dentro o fuera de la raíz?"),
        "rms": (1, "RMSNorm no resta la media: la raíz es la de la media de los cuadrados."),
        "shifted": (1, "Vuelve a calcular la media cuadrática, ahora con los números restados."),
    },
    pistas=(
        "La media de los cuatro números es 4.",
        "La varianza de la normalización de capa divide entre cuatro, no entre tres.",
        "Los cuatro números al cuadrado suman 100; las diferencias al cuadrado, 36.",
    ),
    mutantes=(
        cambia(
            "entre tres",
            "La varianza divide entre las componentes que hay, no entre una menos.",
            "for value in x) / len(x)\n    mean_square",
            "for value in x) / (len(x) - 1)\n    mean_square",
        ),
        cambia(
            "ε fuera",
            "La ε se suma a la varianza, dentro de la raíz.",
            "math.sqrt(variance + 16)",
            "(math.sqrt(variance) + 16)",
        ),
        cambia(
            "sin raíz",
            "Falta la raíz: se divide entre la desviación típica, no entre la varianza.",
            "math.sqrt(variance),",
            "variance,",
        ),
        cambia(
            "RMS centrada",
            "RMSNorm no resta la media antes de dividir.",
            '"rms": x[0] / math.sqrt(mean_square)',
            '"rms": (x[0] - mean) / math.sqrt(variance)',
        ),
        cambia(
            "no cambia",
            "RMSNorm sí cambia al restar lo mismo a todas las componentes.",
            "(x[0] - 4) / math.sqrt(mean_square - 16)",
            "x[0] / math.sqrt(mean_square)",
        ),
        cambia(
            "norma",
            "Es la media de los cuadrados, no su suma.",
            "mean_square = sum(value**2 for value in x) / len(x)",
            "mean_square = sum(value**2 for value in x)",
        ),
    ),
)

# --- 10.3 -----------------------------------------------------------------------------------------

_FUERTE = Ejercicio(
    id="10.3",
    nombre="scaled_gradient",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="qué le hace el tamaño del flujo al gradiente que pasa por una norma",
    propiedades={
        "respuesta": (2, "Escribe que lo añadido no cambia, y deriva los dos lados de la igualdad.")
    },
    opciones=("lo mismo", "diez veces más", "diez veces menos", "cien veces menos"),
    pistas=(
        "Lo que se añade depende solo de la dirección de x, no de su tamaño.",
        "Para girar lo mismo un vector diez veces más largo hay que moverlo diez veces más.",
    ),
    mutantes=(
        cuerpo(
            "igual",
            "Lo que no cambia es lo añadido. Se pregunta cuánto cambia cuando la entrada se mueve"
            " un poco.",
            "return 'lo mismo'",
        ),
        cuerpo(
            "al revés",
            "Eso pasaría si entre medias se multiplicase por 10. La norma divide entre una"
            " desviación diez veces mayor.",
            "return 'diez veces más'",
        ),
        cuerpo(
            "dos veces",
            "La desviación típica divide una vez, no dos.",
            "return 'cien veces menos'",
        ),
    ),
)

# --- 10.4 -----------------------------------------------------------------------------------------


def _causal(n: int) -> Any:
    import torch

    return torch.ones(n, n, dtype=torch.bool).tril()


def _casos_bloque(rng: Any) -> list[Caso]:
    def caso(propiedad: str, norma: str, cabezas: int, con_mascara: bool = False) -> Caso:
        lote, n = distintos(rng, 2, 5, 2)
        d = cabezas * entero(rng, 2, 3)
        init = {"d_model": d, "n_heads": cabezas, "d_ff": d + entero(rng, 3, 6), "norm": norma}
        mascara = {"mask": _causal(n)} if con_mascara else {}
        return Caso(propiedad, (2 * normal(rng, lote, n, d) + 1,), mascara, init)

    return [
        caso("antes", "pre", 2),
        caso("antes", "pre", 3),
        caso("después", "post", 2),
        caso("después", "post", 3),
        caso("por dentro", "inside", 2),
        caso("por dentro", "inside", 3),
        caso("con máscara", "pre", 2, True),
        caso("con máscara", "post", 3, True),
    ]


_PESOS_DE_EJEMPLO = {
    "attention.in_proj_weight": [[0.0, 0.0]] * 4 + [[1.0, 0.0], [0.0, 1.0]],
    "attention.in_proj_bias": [0.0] * 6,
    "attention.out_proj.weight": [[1.0, 0.0], [0.0, 1.0]],
    "attention.out_proj.bias": [0.0, 0.0],
    "norm_attention.weight": [1.0, 1.0],
    "norm_attention.bias": [0.0, 0.0],
    "norm_feed_forward.weight": [1.0, 1.0],
    "norm_feed_forward.bias": [0.0, 0.0],
    "expand.weight": [[1.0, 0.0], [0.0, 1.0]],
    "expand.bias": [0.0, 0.0],
    "contract.weight": [[1.0, 0.0], [0.0, 1.0]],
    "contract.bias": [0.0, 0.5],
}

_BLOQUE = Ejercicio(
    id="10.4",
    nombre="Block",
    tipo="escribir",
    dificultad=1,
    minutos=25,
    aprende="escribir un bloque entero, con la norma antes, después o en lo que se añade",
    bordes=(
        "mask is None",
        Borde("antes", {0: 0}),
        Borde("antes", {0: 1}),
    ),
    casos=_casos_bloque,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[[3.0, 1.0], [2.0, 4.0]]]),),
        init={"d_model": 2, "n_heads": 1, "d_ff": 2},
        pesos={nombre: tensor(valores) for nombre, valores in _PESOS_DE_EJEMPLO.items()},
    ),
    propiedades={
        "antes": (
            3,
            "Con `pre`, el flujo solo recibe sumas: se normaliza lo que lee cada subcapa.",
        ),
        "después": (3, "Con `post`, la subcapa lee el flujo tal cual y se normaliza la suma."),
        "por dentro": (2, "Con `inside`, la norma cae sobre lo que se añade, antes de sumarlo."),
        "con máscara": (2, "La máscara es de la atención; la red densa no mira otras posiciones."),
    },
    prohibido=(BLOQUES,),
    pistas=(
        "Dibuja el flujo como una línea y cada subcapa como un desvío que vuelve a ella.",
        "Cada subcapa tiene su norma: dos normas, con sus propios parámetros.",
        "Con `pre` y con `inside` lo último es una suma; con `post`, una norma.",
        "La atención de PyTorch pide consulta, clave y valor, devuelve una pareja y en su máscara"
        " True tapa.",
    ),
    mutantes=(
        cambia(
            "cruzadas",
            "Están cambiadas: con `pre` se normaliza antes de la subcapa, y con `post`, después.",
            'self.place == "pre"',
            'self.place == "post"',
        ),
        cambia(
            "flujo normalizado",
            "Con `pre` se suma al flujo sin normalizar: solo la subcapa lee el vector normalizado.",
            "return x + sublayer(norm(x))",
            "return norm(x) + sublayer(norm(x))",
        ),
        cambia(
            "norma dentro",
            "Con `post` se normaliza la suma, no solo lo que añade la subcapa.",
            "return norm(x + sublayer(x))",
            "return x + norm(sublayer(x))",
        ),
        cambia(
            "norma fuera",
            "Con `inside` no se normaliza la suma, sino solo lo que se añade.",
            "return x + norm(sublayer(x))",
            "return norm(x + sublayer(x))",
        ),
        cambia(
            "dentro y antes",
            "Con `inside` la subcapa lee el flujo sin normalizar.",
            "return x + norm(sublayer(x))",
            "return x + norm(sublayer(norm(x)))",
        ),
        cambia(
            "sin sumas",
            "Faltan las conexiones residuales: cada subcapa sustituye al flujo en vez de sumarse.",
            "return x + sublayer(norm(x))",
            "return sublayer(norm(x))",
            "return x + norm(sublayer(x))",
            "return norm(sublayer(x))",
            "return norm(x + sublayer(x))",
            "return norm(sublayer(x))",
        ),
        cambia(
            "sin la segunda",
            "Falta la red densa, con su suma y su norma.",
            "return self._add(x, self.norm_feed_forward, self._transform)",
            "return x",
        ),
        cambia(
            "la misma norma",
            "Cada subcapa tiene su norma: la red densa está usando la de la atención.",
            "self.norm_feed_forward, self._transform",
            "self.norm_attention, self._transform",
        ),
        cambia(
            "se pierde",
            "La red densa parte de lo que dejó la atención, no de la entrada del bloque.",
            "x = self._add(x, self.norm_attention",
            "self._add(x, self.norm_attention",
        ),
        cambia(
            "norma de más",
            "Con `pre` la suma no se normaliza: eso se hace una vez, al final de la pila.",
            "return x + sublayer(norm(x))",
            "return norm(x + sublayer(norm(x)))",
        ),
        cambia(
            "sin máscara",
            "La máscara no llega a la atención.",
            "None if mask is None else ~mask",
            "None",
        ),
        cambia(
            "máscara al revés",
            "En nn.MultiheadAttention, True tapa: la máscara llega sin invertir.",
            "None if mask is None else ~mask",
            "mask",
        ),
        cambia(
            "lote en medio",
            "`nn.MultiheadAttention` espera el lote en el segundo eje si no se le dice"
            " `batch_first=True`.",
            "n_heads, batch_first=True",
            "n_heads",
        ),
        cambia(
            "otro épsilon",
            "El épsilon de las dos normas es el que trae nn.LayerNorm: no se pide otro.",
            "norm_attention = nn.LayerNorm(d_model)",
            "norm_attention = nn.LayerNorm(d_model, eps=1e-6)",
            "norm_feed_forward = nn.LayerNorm(d_model)",
            "norm_feed_forward = nn.LayerNorm(d_model, eps=1e-6)",
        ),
        cambia(
            "sin ReLU",
            "Sin nada entre las dos, las capas lineales de la red densa son una sola: falta la"
            " ReLU.",
            "self.contract(F.relu(self.expand(x)))",
            "self.contract(self.expand(x))",
        ),
    ),
)

# --- 10.5 -----------------------------------------------------------------------------------------


def _casos_cuenta(rng: Any) -> list[Caso]:
    def caso(propiedad: str, **opciones: Any) -> Caso:
        cabezas = 6 if "n_kv_heads" in opciones else entero(rng, 2, 5)
        d = cabezas * entero(rng, 3, 9)
        ancho = d + entero(rng, 5, 90)
        return Caso(propiedad, (d, cabezas, ancho), opciones)

    return [
        caso("como en 2017"),
        caso("como en 2017"),
        caso("con puerta", gated=True),
        caso("con puerta", gated=True, rms=True),
        caso("pocas claves", n_kv_heads=elige(rng, (2, 3))),
        caso("pocas claves", n_kv_heads=1, rms=True),
        caso("sin sesgos", bias=False),
        caso("sin sesgos", bias=False, n_kv_heads=elige(rng, (2, 3)), gated=True, rms=True),
    ]


_CUENTA = Ejercicio(
    id="10.5",
    nombre="block_parameters",
    tipo="predecir",
    dificultad=2,
    minutos=15,
    aprende="contar los parámetros de un bloque, el de 2017 y los de ahora, sin construirlo",
    bordes=(
        "n_kv_heads == 1",
        "bias is False",
    ),
    casos=_casos_cuenta,
    ejemplo=lambda: Caso("ejemplo", (2, 1, 4)),
    propiedades={
        "como en 2017": (2, "Cuatro matrices con sesgo, dos con sesgo y dos normas."),
        "con puerta": (2, "La puerta es otra matriz que lleva a d_ff, con su sesgo si los hay."),
        "pocas claves": (2, "¿Qué dos matrices se estrechan cuando hay menos cabezas de clave?"),
        "sin sesgos": (1, "`bias` quita los de las capas lineales; las normas no cambian."),
    },
    prohibido=(CAPAS,),
    pistas=(
        "Una capa lineal de a números a b tiene a·b pesos y, si lleva sesgo, b más.",
        "El sesgo mide lo que sale de la capa, no lo que entra.",
        "Con menos cabezas de clave, claves y valores miden el ancho de una cabeza por cuántas"
        " quedan; la consulta y la salida no cambian.",
    ),
    mutantes=(
        cambia(
            "una norma",
            "Hay dos normas, una por subcapa.",
            "2 * d_model * (1 if rms else 2)",
            "d_model * (1 if rms else 2)",
        ),
        cambia(
            "RMS con desplazamiento",
            "RMSNorm no tiene desplazamiento: solo escala.",
            "2 * d_model * (1 if rms else 2)",
            "4 * d_model",
        ),
        cambia(
            "puerta gratis",
            "La puerta es una matriz más, del mismo tamaño que las otras.",
            "inner = 2 if gated else 1",
            "inner = 1",
        ),
        cambia(
            "claves enteras",
            "Con menos cabezas de clave, las matrices de claves y de valores son más estrechas.",
            "d_model if n_kv_heads is None else d_model // n_heads * n_kv_heads",
            "d_model",
        ),
        cambia(
            "también la consulta",
            "La consulta y la salida conservan todas las cabezas: solo se estrechan claves y"
            " valores.",
            "2 * d_model * d_model + 2 * d_model * d_kv",
            "4 * d_model * d_kv",
            "2 * d_model + 2 * d_kv",
            "d_model + 3 * d_kv",
        ),
        cambia(
            "sesgos de menos",
            "A la red densa le faltan los sesgos de las capas que llevan a d_ff.",
            "feed_forward += inner * d_ff + d_model",
            "feed_forward += d_model",
        ),
        cambia(
            "sesgos siempre",
            "Con bias=False ninguna capa lineal lleva sesgo.",
            "    if bias:\n",
            "    if True:\n",
        ),
        cambia(
            "d_ff por cabezas",
            "El ancho de la red densa no se reparte entre cabezas.",
            "(inner + 1) * d_model * d_ff",
            "(inner + 1) * d_model * d_ff // n_heads",
        ),
    ),
)

# --- 10.6 -----------------------------------------------------------------------------------------


def _casos_parcial(rng: Any, eps: float = 1e-6) -> list[Caso]:
    def caso(propiedad: str, ejes: int, todas: bool = False, menuda: float | None = None) -> Caso:
        *lote, d = distintos(rng, 2, 9, ejes) + [entero(rng, 3, 9)]
        k = d if todas else entero(rng, 1, d - 1)
        escala = 1.0 if menuda is None else menuda**0.5
        x = escala * (normal(rng, *lote, d) + 0.5)
        return Caso(propiedad, (x, normal(rng, d) + 1, k), {"eps": menuda or eps})

    return [
        caso("todas", 1, todas=True),
        caso("todas", 2, todas=True),
        caso("una parte", 1),
        caso("una parte", 2),
        caso("vectores pequeños", 1, todas=True, menuda=eps),
        caso("vectores pequeños", 2, menuda=eps),
        caso("vectores pequeños", 1, menuda=30 * eps),
    ]


_PARCIAL = Ejercicio(
    id="10.6",
    nombre="partial_rms_norm",
    tipo="escribir",
    dificultad=2,
    minutos=12,
    aprende="escribir RMSNorm y ver qué hace la ε cuando el vector es pequeño",
    bordes=(
        "k == x.shape[-1]",
        Borde("una parte", valores={2: 1}),
        Borde("todas", {0: 0}),
    ),
    casos=_casos_parcial,
    ejemplo=lambda: Caso("ejemplo", (tensor([[3.0, 4.0], [0.0, 2.0]]), tensor([1.0, 2.0]), 1)),
    propiedades={
        "todas": (2, "Con k = d es RMSNorm: se divide entre la raíz de la media de los cuadrados."),
        "una parte": (2, "La media usa k componentes; la división, todas."),
        "vectores pequeños": (2, "La ε pesa tanto como los cuadrados: ¿dónde se suma?"),
    },
    prohibido=(RMS,),
    pistas=(
        "Hay dos pasos: un número por posición, y dividir la posición entera entre él.",
        "Las k primeras son un trozo del último eje; los demás ejes se quedan.",
        "La ε se suma a la media de los cuadrados antes de sacar la raíz.",
    ),
    variante={"eps": 1e-6},
    alternativas={"eps": (1e-5, 1e-4, 1e-3)},
    mutantes=(
        cambia(
            "siempre todas",
            "La media cuadrática usa todas las componentes, y debía usar las k primeras.",
            "x[..., :k]",
            "x",
        ),
        cambia(
            "las últimas",
            "Son las k primeras componentes, no las k últimas.",
            "x[..., :k]",
            "x[..., x.shape[-1] - k :]",
        ),
        cambia(
            "entre d",
            "La media de k cuadrados se divide entre k, no entre d.",
            ".mean(dim=-1, keepdim=True)",
            ".sum(dim=-1, keepdim=True) / x.shape[-1]",
        ),
        cambia(
            "suma",
            "Es la media de los cuadrados, no su suma.",
            ".mean(dim=-1, keepdim=True)",
            ".sum(dim=-1, keepdim=True)",
        ),
        cambia(
            "ε fuera",
            "La ε va dentro de la raíz, sumada a la media de los cuadrados.",
            "torch.sqrt(mean_square + eps)",
            "(torch.sqrt(mean_square) + eps)",
        ),
        cambia("sin ε", "No se ha usado la ε.", "mean_square + eps", "mean_square"),
        cambia(
            "ε fija",
            "La ε es la que llega en `eps`, no siempre la misma.",
            "mean_square + eps",
            "mean_square + 1e-6",
        ),
        cambia("sin escala", "Falta multiplicar por la escala aprendida.", "weight * x", "x"),
        cambia(
            "centra",
            "RMSNorm no resta la media.",
            "x[..., :k].square()",
            "(x := x - x.mean(dim=-1, keepdim=True))[..., :k].square()",
        ),
        cambia(
            "media de todo",
            "Cada posición tiene su media cuadrática: no se promedia sobre el lote.",
            ".mean(dim=-1, keepdim=True)",
            ".mean()",
        ),
    ),
)

# --- 10.7 -----------------------------------------------------------------------------------------


def _casos_gradiente(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ejes: int, eps: float | None = None) -> Caso:
        *lote, d = distintos(rng, 2, 7, ejes) + [entero(rng, 3, 7)]
        escala = 1.0 if eps is None else eps**0.5
        x = escala * (normal(rng, *lote, d) + 0.5)
        args = (x, normal(rng, d) + 0.5, normal(rng, *lote, d))
        return Caso(propiedad, args, {} if eps is None else {"eps": eps})

    return [
        caso("una posición", 0),
        caso("una posición", 0),
        caso("con lote", 1),
        caso("con lote", 2),
        caso("con lote", 3),
        caso("la ε cuenta", 1, 1e-3),
        caso("la ε cuenta", 2, 0.1),
    ]


_GRADIENTE = Ejercicio(
    id="10.7",
    nombre="layer_norm_backward",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="derivar a mano una normalización y comprobar qué direcciones borra",
    bordes=(Borde("con lote", {0: 0, 2: 0}),),
    casos=_casos_gradiente,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.0, 3.0, 6.0], [6.0, 0.0, 3.0]]),
            tensor([1.0, 2.0, 1.0]),
            tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        ),
        {"eps": 3.0},
    ),
    propiedades={
        "una posición": (3, "La media y la desviación también dependen de x: dos términos más."),
        "con lote": (3, "Los gradientes de la escala y del desplazamiento suman las posiciones."),
        "la ε cuenta": (2, "La ε está dentro de la raíz al ir y al volver."),
    },
    prohibido=(DERIVADAS, NORMA_DE_CAPA),
    pistas=(
        "Llama s a la desviación con su ε: la salida es la escala por (x − media)/s, más el"
        " desplazamiento.",
        "Mover todas las componentes a la vez no cambia nada: al gradiente de la entrada hay que"
        " quitarle su media.",
        "Alargar las diferencias casi no cambia nada: hay que quitarle también su parte en la"
        " dirección del vector normalizado, y dividir todo entre s.",
    ),
    mutantes=(
        cambia(
            "solo dividir",
            "Se ha derivado como si la media y la desviación fuesen constantes.",
            "(inner - inner.mean(dim=-1, keepdim=True) - radial)",
            "inner",
        ),
        cambia(
            "sin la media",
            "Falta quitar la media: la de x también depende de cada componente.",
            "inner - inner.mean(dim=-1, keepdim=True) - radial",
            "inner - radial",
        ),
        cambia(
            "sin la radial",
            "Falta el término de la desviación: su derivada no es cero.",
            "inner - inner.mean(dim=-1, keepdim=True) - radial",
            "inner - inner.mean(dim=-1, keepdim=True)",
        ),
        cambia(
            "sin dividir",
            "Falta dividir entre la desviación: la norma ha encogido o agrandado el vector.",
            "- radial) / std",
            "- radial)",
        ),
        cambia(
            "sin escala",
            "Lo que llega a la norma ya viene multiplicado por la escala aprendida.",
            "inner = grad_output * weight",
            "inner = grad_output",
        ),
        cambia(
            "escala dos veces",
            "El gradiente de la escala se calcula con lo que llega de arriba, sin multiplicarlo"
            " por ella.",
            "(grad_output * normed).reshape(rows)",
            "(inner * normed).reshape(rows)",
        ),
        cambia(
            "entre d − 1",
            "La varianza divide entre d, no entre d − 1.",
            "deviation.square().mean(dim=-1, keepdim=True)",
            "deviation.square().sum(dim=-1, keepdim=True) / (x.shape[-1] - 1)",
        ),
        cambia(
            "ε fuera",
            "La ε se suma a la varianza, dentro de la raíz.",
            "torch.sqrt(deviation.square().mean(dim=-1, keepdim=True) + eps)",
            "torch.sqrt(deviation.square().mean(dim=-1, keepdim=True)) + eps",
        ),
        cambia(
            "media de posiciones",
            "Los gradientes de los parámetros son la suma sobre las posiciones, no la media.",
            "(grad_output * normed).reshape(rows).sum(dim=0)",
            "(grad_output * normed).reshape(rows).mean(dim=0)",
            "grad_output.reshape(rows).sum(dim=0)",
            "grad_output.reshape(rows).mean(dim=0)",
        ),
        cambia(
            "sin normalizar",
            "El gradiente de la escala lleva el vector normalizado, no la entrada.",
            "(grad_output * normed).reshape(rows)",
            "(grad_output * x).reshape(rows)",
        ),
    ),
)

# --- 10.8 -----------------------------------------------------------------------------------------


def _casos_puerta(rng: Any, multiple_of: int = 4) -> list[Caso]:
    def caso(propiedad: str, ejes: int, pasado: int = 0, multiplo: int = multiple_of) -> Caso:
        lote = distintos(rng, 2, 5, ejes)
        d = entero(rng, 3, 6)
        d_ff = 3 * multiplo * entero(rng, 1, 2) + pasado  # dos tercios: justos, o algo más
        init = {"d_model": d, "d_ff": d_ff, "multiple_of": multiplo}
        return Caso(propiedad, (normal(rng, *lote, d),), init=init)

    return [
        caso("ancho justo", 1),
        caso("ancho justo", 2),
        caso("ancho redondeado", 1, pasado=1),
        caso("ancho redondeado", 2, pasado=1),
        caso("ancho redondeado", 1, pasado=1, multiplo=multiple_of + 3),
    ]


_PUERTA = Ejercicio(
    id="10.8",
    nombre="GatedFeedForward",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="escribir una red densa SwiGLU que cueste lo mismo que una sin puerta",
    bordes=(
        "d_ff % multiple_of == 0",
        Borde("ancho justo", {0: 0}),
    ),
    casos=_casos_puerta,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[1.0, 2.0], [-1.0, 0.0]]),),
        init={"d_model": 2, "d_ff": 3, "multiple_of": 2},
        pesos={
            "expand.weight": tensor([[1.0, 0.0], [0.0, 1.0]]),
            "gate.weight": tensor([[2.0, 0.0], [0.0, 1.0]]),
            "contract.weight": tensor([[1.0, 0.0], [0.0, 1.0]]),
        },
    ),
    propiedades={
        "ancho justo": (4, "Tres matrices sin sesgo, y un producto componente a componente."),
        "ancho redondeado": (4, "El ancho es el menor múltiplo que no se queda corto."),
    },
    variante={"multiple_of": 4},
    alternativas={"multiple_of": (3, 5, 6)},
    pistas=(
        "Cuenta parámetros: tres matrices de ancho a cuestan como dos de ancho d_ff si a es dos"
        " tercios de d_ff.",
        "Para redondear hacia arriba, cuenta en múltiplos y con enteros.",
        "SiLU se aplica a una de las dos proyecciones, la de `expand`; la otra multiplica tal"
        " cual.",
    ),
    mutantes=(
        cambia(
            "puerta activada",
            "SiLU va en la otra proyección: la puerta multiplica sin activar.",
            "F.silu(self.expand(x)) * self.gate(x)",
            "self.expand(x) * F.silu(self.gate(x))",
        ),
        cambia(
            "sin puerta",
            "Falta multiplicar por la puerta.",
            "F.silu(self.expand(x)) * self.gate(x)",
            "F.silu(self.expand(x)) + 0 * self.gate(x)",
        ),
        cambia(
            "suma la puerta",
            "La puerta multiplica, no suma.",
            "F.silu(self.expand(x)) * self.gate(x)",
            "F.silu(self.expand(x)) + self.gate(x)",
        ),
        cambia(
            "sigmoide",
            "Con la sigmoide es una GLU; la SwiGLU lleva SiLU: la entrada por su sigmoide.",
            "F.silu(",
            "torch.sigmoid(",
        ),
        cambia("GELU", "Con GELU es una GEGLU; se pide SiLU.", "F.silu(", "F.gelu("),
        cambia(
            "activa el producto",
            "Primero se activa una proyección y después se multiplica por la otra.",
            "F.silu(self.expand(x)) * self.gate(x)",
            "F.silu(self.expand(x) * self.gate(x))",
        ),
        cambia(
            "hacia abajo",
            "El ancho se queda corto: se redondea hacia arriba.",
            "-(-2 * d_ff // (3 * multiple_of))",
            "(2 * d_ff // (3 * multiple_of))",
        ),
        cambia(
            "sin dos tercios",
            "Con tres matrices de ancho d_ff cuesta la mitad más: el ancho es dos tercios.",
            "-(-2 * d_ff // (3 * multiple_of))",
            "-(-d_ff // multiple_of)",
        ),
        cambia(
            "sin redondear",
            "El ancho tiene que ser múltiplo de multiple_of.",
            "hidden = multiple_of * -(-2 * d_ff // (3 * multiple_of))",
            "hidden = -(-2 * d_ff // 3)",
        ),
        cambia(
            "múltiplo fijo",
            "El múltiplo es el que llega en `multiple_of`, no siempre el mismo.",
            "hidden = multiple_of * -(-2 * d_ff // (3 * multiple_of))",
            "hidden = 4 * -(-2 * d_ff // 12)",
        ),
        cambia(
            "siempre uno más",
            "Si los dos tercios ya son un múltiplo, ese es el ancho.",
            "-(-2 * d_ff // (3 * multiple_of))",
            "(2 * d_ff // (3 * multiple_of) + 1)",
        ),
    ),
)

# --- 10.9 -----------------------------------------------------------------------------------------


def _casos_averiado(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, tasa: float) -> Caso:
        lote, n = distintos(rng, 2, 5, 2)
        d = entero(rng, 3, 6)
        x = normal(rng, lote, n, d) + 1
        guarda = torch.rand(2, lote, n, d, generator=rng) >= tasa
        if tasa:  # en cada fila se guarda algo y se borra algo
            guarda[..., 0], guarda[..., 1] = True, False
        init = {"d_model": d, "d_ff": d + entero(rng, 2, 4), "rate": tasa}
        return Caso(propiedad, (x, guarda), init=init)

    return [
        caso("sin dropout", 0.0),
        caso("sin dropout", 0.0),
        caso("con dropout", 0.25),
        caso("con dropout", 0.5),
    ]


_AVERIADO = Ejercicio(
    id="10.9",
    nombre="BrokenBlock",
    tipo="depurar",
    dificultad=2,
    minutos=20,
    aprende="encontrar en un bloque tres faltas que no dan ningún aviso",
    bordes=(
        "rate == 0",
        Borde("sin dropout", {0: 1, 1: 2}),
        Borde("sin dropout", {0: 0, 1: 1}),
    ),
    casos=_casos_averiado,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[2.0, 0.0], [1.0, 3.0]]]),
            tensor([[[[True, True], [True, False]]], [[[True, False], [True, True]]]]),
        ),
        init={"d_model": 2, "d_ff": 2, "rate": 0.5},
        pesos={
            "scale": tensor([[1.0, 1.0], [1.0, 1.0]]),
            "shift": tensor([[0.0, 0.0], [0.0, 0.0]]),
            "mix.weight": tensor([[1.0, 0.0], [0.0, 1.0]]),
            "expand.weight": tensor([[1.0, 0.0], [0.0, 1.0]]),
            "expand.bias": tensor([0.0, 0.0]),
            "contract.weight": tensor([[1.0, 0.0], [0.0, 1.0]]),
            "contract.bias": tensor([0.0, 0.0]),
        },
    ),
    propiedades={
        "sin dropout": (4, "Con tasa 0 quedan dos faltas: sigue el flujo, y divide a mano."),
        "con dropout": (3, "Lo que el dropout borra no debe estar ya en el flujo."),
    },
    pistas=(
        "Sigue el flujo con el dedo desde la entrada hasta la salida: solo debe recibir sumas.",
        "Normaliza a mano el vector (2, 0): con una media de 1 debe dar casi (1, −1).",
        "El dropout cae sobre lo que añade una subcapa, antes de sumarlo.",
    ),
    mutantes=(
        cambia(
            "sin arreglar",
            "Es la clase averiada: tiene las tres faltas.",
            "correction=0",
            "correction=1",
            "y = self.normalize(x, 0)",
            "x = y = self.normalize(x, 0)",
            "x + self.drop(self.contract(hidden), kept[1])",
            "self.drop(x + self.contract(hidden), kept[1])",
        ),
        cambia(
            "falta la varianza",
            "Las dos sumas están bien; la varianza sigue dividiendo entre d − 1.",
            "correction=0",
            "correction=1",
        ),
        cambia(
            "falta el flujo",
            "La varianza y el dropout están bien; la primera suma parte del vector normalizado.",
            "y = self.normalize(x, 0)",
            "x = y = self.normalize(x, 0)",
        ),
        cambia(
            "falta el dropout",
            "La varianza y el flujo están bien; el último dropout borra también lo que ya había.",
            "x + self.drop(self.contract(hidden), kept[1])",
            "self.drop(x + self.contract(hidden), kept[1])",
        ),
        cambia(
            "solo la varianza",
            "La varianza ya está bien; quedan las dos faltas del camino del flujo.",
            "y = self.normalize(x, 0)",
            "x = y = self.normalize(x, 0)",
            "x + self.drop(self.contract(hidden), kept[1])",
            "self.drop(x + self.contract(hidden), kept[1])",
        ),
        cambia(
            "solo el flujo",
            "El flujo ya está bien; quedan la varianza y el sitio del último dropout.",
            "correction=0",
            "correction=1",
            "x + self.drop(self.contract(hidden), kept[1])",
            "self.drop(x + self.contract(hidden), kept[1])",
        ),
        cambia(
            "solo el dropout",
            "El dropout ya está bien; quedan la varianza y la primera suma.",
            "correction=0",
            "correction=1",
            "y = self.normalize(x, 0)",
            "x = y = self.normalize(x, 0)",
        ),
        cambia(
            "normaliza también el segundo flujo",
            "Al arreglarlo, la segunda suma ha pasado a partir del vector normalizado.",
            "y = self.normalize(x, 1)",
            "x = y = self.normalize(x, 1)",
        ),
    ),
)

# --- 10.10 ----------------------------------------------------------------------------------------


def _casos_fundir(rng: Any) -> list[Caso]:
    def caso(propiedad: str, d: int, m: int) -> Caso:
        escala = normal(rng, d).abs() + 0.5
        return Caso(
            propiedad, (escala, normal(rng, d) + 1, normal(rng, m, d) + 0.5, normal(rng, m))
        )

    cuadrada, otra = (entero(rng, 3, 6) for _ in range(2))
    return [
        caso("matriz cuadrada", cuadrada, cuadrada),
        caso("matriz cuadrada", otra, otra),
        caso("matriz rectangular", *distintos(rng, 3, 7, 2)),
        caso("matriz rectangular", 5, 2),
    ]


_FUNDIR = Ejercicio(
    id="10.10",
    nombre="fold_norm",
    tipo="escribir",
    dificultad=2,
    minutos=15,
    aprende="pasar a la matriz siguiente todo lo que una norma tiene de lineal",
    bordes=(Borde("matriz rectangular", {2: 0, 3: 0}),),
    casos=_casos_fundir,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([1.0, 2.0]),
            tensor([0.0, 1.0]),
            tensor([[1.0, 1.0], [0.0, 2.0]]),
            tensor([0.0, 1.0]),
        ),
    ),
    propiedades={
        "matriz cuadrada": (3, "¿La escala multiplica las filas de la matriz o sus columnas?"),
        "matriz rectangular": (3, "Prueba con un vector: la salida debe ser la de antes."),
    },
    pistas=(
        "Escribe la salida como una suma: lo que multiplica a x y lo que no.",
        "Restar la media es una matriz: la identidad menos una llena de 1/d.",
        "Esa matriz, por la derecha, quita a cada fila su media.",
    ),
    mutantes=(
        cambia(
            "sin centrar",
            "Falta restar la media: la matriz nueva lee el flujo sin centrar.",
            "scaled - scaled.mean(dim=1, keepdim=True)",
            "scaled",
        ),
        cambia(
            "centrar antes",
            "Primero se escala y después se centra: la media que se resta es la de x, que llega"
            " antes que la escala.",
            "scaled = weight * gamma",
            "scaled = (weight - weight.mean(dim=1, keepdim=True)) * gamma",
            "folded = scaled - scaled.mean(dim=1, keepdim=True)",
            "folded = scaled",
        ),
        cambia(
            "por columnas",
            "La media se quita a cada fila, no a cada columna.",
            "scaled.mean(dim=1, keepdim=True)",
            "scaled.mean(dim=0, keepdim=True)",
        ),
        cambia(
            "sin escala",
            "La escala aprendida se ha perdido.",
            "scaled = weight * gamma",
            "scaled = weight",
        ),
        cambia(
            "sin el desplazamiento",
            "El desplazamiento de la norma también pasa por la matriz.",
            "bias + weight @ beta",
            "bias",
        ),
        cambia(
            "sin el sesgo",
            "El sesgo que ya había se ha perdido.",
            "bias + weight @ beta",
            "weight @ beta",
        ),
        cambia(
            "matriz nueva",
            "El desplazamiento se suma después de escalar y de centrar: pasa por la matriz de"
            " partida.",
            "weight @ beta",
            "folded @ beta",
        ),
    ),
)

# --- 10.11 ----------------------------------------------------------------------------------------


def _casos_longitudes(rng: Any) -> list[Caso]:
    def caso(propiedad: str, subcapas: int, escala: float) -> Caso:
        d = entero(rng, 2, 4)
        return Caso(propiedad, (escala * normal(rng, subcapas, d, d), normal(rng, d)))

    return [
        caso("dos subcapas", 2, 0.7),
        caso("dos subcapas", 2, 0.7),
        caso("unas pocas", entero(rng, 3, 5), 0.5),
        caso("unas pocas", 1, 0.7),
        caso("muchas", 40, 0.15),
        caso("muchas", 48, 0.1),
    ]


_LONGITUDES = Ejercicio(
    id="10.11",
    nombre="gradient_by_length",
    tipo="escribir",
    dificultad=3,
    minutos=30,
    aprende="repartir el gradiente de una pila residual entre caminos cortos y largos",
    bordes=("len(jacobians) == 1",),
    casos=_casos_longitudes,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[0.0, 1.0], [0.0, 0.0]], [[0.5, 0.0], [0.0, 2.0]]]),
            tensor([1.0, 1.0]),
        ),
    ),
    propiedades={
        "dos subcapas": (3, "Cuatro caminos: ninguna, la primera, la segunda y las dos."),
        "unas pocas": (3, "Comprueba que la suma de las filas es el gradiente entero."),
        "muchas": (2, "Con 40 subcapas hay un billón de caminos: no se pueden recorrer."),
    },
    pistas=(
        "Deshaz el producto de los factores I + J, con cuidado con el orden: no conmutan.",
        "Guarda una suma por longitud y recorre las subcapas de la última a la primera.",
        "Al pasar por una subcapa, lo de longitud k recibe lo que había en k − 1, multiplicado por"
        " su jacobiana.",
    ),
    mutantes=(
        cambia(
            "de la primera a la última",
            "El gradiente vuelve de la última subcapa a la primera: está recorrido al revés.",
            "jacobians.flip(0)",
            "jacobians",
        ),
        cambia(
            "traspuesta",
            "El gradiente es una fila y multiplica a la jacobiana por la izquierda.",
            "parts[:-1] @ jacobian",
            "parts[:-1] @ jacobian.T",
        ),
        cambia(
            "sin saltar",
            "Faltan los caminos que se saltan una subcapa después de haber atravesado otras.",
            "parts[1:] + crossed",
            "crossed",
        ),
        cambia(
            "sin el directo",
            "Falta el camino directo: el que no atraviesa nada trae el gradiente intacto.",
            "    return parts",
            "    return torch.cat([0 * parts[:1], parts[1:]])",
        ),
        cambia(
            "la misma dos veces",
            "Una subcapa se atraviesa como mucho una vez: al actualizar se ha usado lo ya"
            " actualizado.",
            "        crossed = parts[:-1] @ jacobian  # cada camino, con una subcapa más\n"
            "        parts = torch.cat([parts[:1], parts[1:] + crossed])",
            "        for k in range(1, depth + 1):\n"
            "            parts[k] = parts[k] + parts[k - 1] @ jacobian",
        ),
        cambia(
            "al revés",
            "La fila k es la de los caminos que atraviesan k subcapas: van de menos a más.",
            "    return parts",
            "    return parts.flip(0)",
        ),
        cambia(
            "acumulado",
            "Cada fila es una longitud; se han sumado las anteriores.",
            "    return parts",
            "    return parts.cumsum(0)",
        ),
    ),
)

EJERCICIOS = [
    _CAMINOS,
    _A_MANO,
    _FUERTE,
    _BLOQUE,
    _CUENTA,
    _PARCIAL,
    _GRADIENTE,
    _PUERTA,
    _AVERIADO,
    _FUNDIR,
    _LONGITUDES,
]
