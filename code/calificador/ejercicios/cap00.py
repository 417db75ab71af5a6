"""Ejercicios del refresco: siete cuentas de lápiz."""

from __future__ import annotations

from calificador.registro import Ejercicio, cambia

_FORMAS = Ejercicio(
    id="0.1",
    nombre="broadcast_shapes",
    tipo="lapiz",
    dificultad=1,
    minutos=4,
    aprende="decir qué forma sale de una difusión",
    propiedades={
        "axes": (1, "Las formas se alinean por la derecha, y las que faltan cuentan como 1."),
        "elements": (1, "Es el producto de los tamaños de la forma difundida."),
        "compared": (1, "Sumar sobre un eje lo hace desaparecer."),
    },
    pistas=(
        "Escribe una forma debajo de la otra, alineadas por la derecha.",
        "Cada eje que mide 1 se repite hasta el tamaño del otro.",
    ),
    mutantes=(
        cambia(
            "sin-difundir",
            "El eje que falta por la izquierda también cuenta.",
            "axes, elements = 3",
            "axes, elements = 2",
        ),
        cambia("sin-repetir", "El eje que mide 1 se repite hasta 7.", "5 * 7 * 3", "5 * 1 * 3"),
        cambia(
            "con-el-eje",
            "La suma hace desaparecer el último eje.",
            '"compared": 5 * 7',
            '"compared": 5 * 7 * 3',
        ),
    ),
)

_FILA = Ejercicio(
    id="0.2",
    nombre="one_row",
    tipo="lapiz",
    dificultad=1,
    minutos=5,
    aprende="leer un producto de matrices como productos escalares, y contarlos",
    propiedades={
        "first": (1, "La primera columna de A consigo misma."),
        "second": (1, "La primera columna de A con la segunda."),
        "dot_products": (1, "Hay un producto escalar por cada elemento del resultado."),
        "multiplications": (
            1,
            "Cada producto escalar tiene tantas multiplicaciones como componentes los vectores.",
        ),
    },
    pistas=(
        "Se multiplica componente a componente y se suma.",
        "El eje de dentro mide 64; los de fuera, 512.",
    ),
    mutantes=(
        cambia(
            "por-filas",
            "Eso es la primera fila de A por su traspuesta, que compara filas; aquí se comparan"
            " columnas.",
            "1 * 1 + 0 * 0 + 2 * 2, 1 * 2 + 0 * 2 + 2 * 0",
            "1 * 1 + 2 * 2, 1 * 0 + 2 * 2",
        ),
        cambia(
            "sin-producto",
            "Se han sumado las componentes: antes hay que multiplicarlas dos a dos.",
            "1 * 1 + 0 * 0 + 2 * 2, 1 * 2 + 0 * 2 + 2 * 0",
            "1 + 0 + 2, 2 + 2 + 0",
        ),
        cambia(
            "una-por-elemento",
            "Eso son los productos escalares; cada uno tiene 64 multiplicaciones.",
            "dot_products * 64",
            "dot_products",
        ),
    ),
)

_JACOBIANA = Ejercicio(
    id="0.3",
    nombre="softmax_jacobian",
    tipo="lapiz",
    dificultad=1,
    minutos=6,
    aprende="derivar una softmax a mano y ver que se satura",
    propiedades={
        "small": (1, "La exponencial de la primera puntuación, entre la suma."),
        "large": (1, "La exponencial de la segunda puntuación, entre la suma."),
        "diagonal": (1, "Es el peso por lo que le falta hasta 1."),
        "off_diagonal": (
            1,
            "Es menos el producto de los dos pesos: lo que gana uno lo pierde el otro.",
        ),
    },
    tolerancia=5e-4,
    pistas=("La exponencial de ln 9 es 9.", "Las dos derivadas son iguales salvo el signo."),
    mutantes=(
        cambia(
            "sin-exponencial",
            "Las puntuaciones no se reparten: primero se eleva e a cada una.",
            "1 / 10, 9 / 10",
            "0.0, 1.0",
        ),
        cambia(
            "positiva",
            "Si sube la otra puntuación, este peso baja: el signo es negativo.",
            "-small * large",
            "small * large",
        ),
        cambia(
            "solo-el-peso",
            "Falta multiplicar por lo que le falta al peso hasta 1.",
            "small * (1 - small)",
            "small",
        ),
    ),
)

_ENTROPIA = Ejercicio(
    id="0.4", nombre="entropy_by_hand", tipo="lapiz", dificultad=1, minutos=6,
    aprende="calcular una entropía y una divergencia con lápiz",
    propiedades={
        "entropy": (2, "La suma de cada probabilidad por el logaritmo de su inversa."),
        "divergence": (1, "Es la entropía cruzada menos la entropía."),
    },
    tolerancias={"entropy": 2e-3, "divergence": 1.2e-3},  # la divergencia al revés es 0.0566
    pistas=("El logaritmo de 4 es el doble del de 2.", "Con p uniforme, cada sorpresa vale ln 3."),
    mutantes=(
        cambia("en-bits", "Está en bits: se piden nats, con logaritmos naturales.",
               "0.5 * math.log(2) + 2 * 0.25 * math.log(4)", "1.5"),
        cambia("un-cuarto-solo", "Hay dos valores con probabilidad un cuarto.", "2 * 0.25", "0.25"),
        cambia("al-reves", "Una divergencia nunca es negativa: la resta está al revés.",
               "math.log(3) - entropy", "entropy - math.log(3)"),
    ),
)  # fmt: skip

_SALDO = Ejercicio(
    id="0.5",
    nombre="variance_rules",
    tipo="lapiz",
    dificultad=1,
    minutos=5,
    aprende="sumar y multiplicar varianzas de cantidades independientes",
    propiedades={
        "sum": (1, "Con independencia, la varianza de la suma es la suma."),
        "difference": (1, "Restar es sumar −y, y Var(−y) = Var(y)."),
        "double": (1, "Un factor sale de la varianza elevado al cuadrado."),
        "product": (1, "Con medias 0, Var(xy) = E[x²y²], y la independencia lo separa."),
    },
    pistas=("La varianza no se resta nunca.", "Var(ax) = a² Var(x)."),
    mutantes=(
        cambia(
            "resta",
            "Las varianzas de independientes se suman también al restar.",
            '"difference": x + y',
            '"difference": y - x',
        ),
        cambia(
            "sin-cuadrado",
            "El factor sale al cuadrado: 2x tiene cuatro veces la varianza de x.",
            "2**2 * x",
            "2 * x",
        ),
        cambia("producto-sumado", "La varianza del producto no es la suma.", "x * y", "x + y"),
    ),
)

_RANGO = Ejercicio(
    id="0.6",
    nombre="rank_and_trace",
    tipo="lapiz",
    dificultad=1,
    minutos=5,
    aprende="leer el rango, la traza y el mayor valor singular de una matriz sencilla",
    propiedades={
        "rank": (1, "Cuenta los valores propios que no son 0."),
        "trace": (1, "Es la suma de la diagonal."),
        "singular_value": (1, "Multiplica la matriz por el vector de unos y mira cuánto crece."),
    },
    pistas=(
        "¿Qué hace la matriz con un vector cuyas componentes suman 0?",
        "La primera parte da 10 veces el vector de unos.",
    ),
    mutantes=(
        cambia(
            "sin-diagonal",
            "La parte de rango 1 no está sola: sumar 3 en la diagonal la hace invertible.",
            '"rank": n',
            '"rank": 1',
        ),
        cambia(
            "traza-de-todo",
            "La traza solo suma la diagonal.",
            "n * (value + extra)",
            "n * n * value + n * extra",
        ),
        cambia(
            "sin-norma",
            "El vector de unos tiene norma √5: el 2 se multiplica por 5.",
            "value * n + extra",
            "value + extra",
        ),
        cambia(
            "sin-sumar",
            "Falta el 3 de la diagonal, que también multiplica al vector de unos.",
            "value * n + extra",
            "value * n",
        ),
    ),
)

_RECORTE = Ejercicio(
    id="0.7",
    nombre="clipped_gradient",
    tipo="lapiz",
    dificultad=1,
    minutos=4,
    aprende="recortar un gradiente sin cambiar su dirección",
    propiedades={
        "clipped_x": (1, "Se divide entre la norma del vector entero."),
        "clipped_y": (1, "El recorte conserva el signo."),
        "untouched_x": (1, "Si la norma no pasa del máximo, no se toca."),
        "untouched_y": (1, "Si la norma no pasa del máximo, no se toca."),
    },
    tolerancia=5e-4,
    pistas=(
        "¿Cuánto mide la norma de (3, −4)?",
        "El recorte multiplica las dos componentes por lo mismo.",
    ),
    mutantes=(
        cambia(
            "por-componentes",
            "Se recorta la norma, no cada componente por su lado: así cambia la dirección.",
            '"clipped_x": x / norm, "clipped_y": y / norm',
            '"clipped_x": 1, "clipped_y": -1',
        ),
        cambia(
            "suma-de-valores",
            "La norma es la raíz de la suma de cuadrados.",
            "math.hypot(x, y)",
            "abs(x) + abs(y)",
        ),
        cambia(
            "agranda",
            "El recorte nunca agranda: la norma, 5, ya es menor que 10.",
            '"untouched_x": x, "untouched_y": y',
            '"untouched_x": 2 * x, "untouched_y": 2 * y',
        ),
    ),
)

EJERCICIOS = [_FORMAS, _FILA, _JACOBIANA, _ENTROPIA, _SALDO, _RANGO, _RECORTE]
