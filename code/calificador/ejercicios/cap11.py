"""Ejercicios del capítulo 11, «El Transformer completo»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
    elige,
    entero,
    mascara,
    normal,
    relleno,
    tensor,
)
from calificador.registro import Caso, Ejercicio, cambia
from calificador.vetos import CAPAS, DERIVADAS

# --- 11.1 -----------------------------------------------------------------------------------------

_TAMANOS = Ejercicio(
    id="11.1",
    nombre="sizes_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=6,
    aprende="seguir las formas de un Transformer de la entrada a las puntuaciones",
    propiedades={
        "memory": (1, "Una fila por palabra del origen. ¿De qué ancho?"),
        "encoder": (1, "Una matriz de pesos por cabeza: filas que preguntan por filas que miran."),
        "cross": (1, "¿De qué frase son las filas que preguntan, y de cuál las que se miran?"),
        "logits": (1, "Una fila por posición del destino. ¿Cuántas palabras puntúa cada una?"),
    },
    pistas=(
        "En el mapa, mira la forma escrita junto a cada caja y cambia las letras por números.",
        "m = 5 es del origen y n = 3, del destino: ninguna fila de más ni de menos.",
        "Los pesos se cuentan por cabeza y no dependen de d; la memoria y las puntuaciones no"
        " dependen de h.",
    ),
    mutantes=(
        cambia(
            "una sola cabeza",
            "Cada cabeza tiene su matriz de pesos: faltan las de la otra.",
            '"encoder": h * m * m',
            '"encoder": m * m',
            '"cross": h * n * m',
            '"cross": n * m',
        ),
        cambia(
            "cruzada cuadrada",
            "En la atención cruzada las filas son del destino y las columnas, del origen.",
            '"cross": h * n * m',
            '"cross": h * m * m',
        ),
        cambia(
            "cruzada del destino",
            "En la atención cruzada se mira al origen, no a lo ya escrito.",
            '"cross": h * n * m',
            '"cross": h * n * n',
        ),
        cambia(
            "puntúa el origen",
            "Hay una fila de puntuaciones por posición del destino, no del origen.",
            '"logits": n * vocab',
            '"logits": m * vocab',
        ),
        cambia(
            "memoria del destino",
            "La memoria tiene las filas del origen.",
            '"memory": m * d',
            '"memory": n * d',
        ),
        cambia(
            "memoria por cabeza",
            "Las cabezas ya se han unido al salir de cada atención: la memoria es una sola.",
            '"memory": m * d',
            '"memory": h * m * d',
        ),
        cambia(
            "solo la última fila",
            "Se puntúan todas las posiciones del destino a la vez, no solo la última.",
            '"logits": n * vocab',
            '"logits": vocab',
        ),
    ),
)

# --- 11.2 -----------------------------------------------------------------------------------------


def _palabras(rng: Any, vocab: int, *forma: int) -> Any:
    """Palabras al azar; el 0, que es el relleno, no sale."""
    import torch

    return torch.randint(1, vocab, forma, generator=rng)


def _rellenado(rng: Any, ids: Any) -> Any:
    """Las mismas frases, con relleno al final de cada una."""
    import torch

    return torch.where(relleno(rng, *ids.shape), ids, 0)


def _casos_entero(rng: Any) -> list[Caso]:
    def caso(propiedad: str, capas: int, con_relleno: bool = False) -> Caso:
        vocab, cabezas, lote = entero(rng, 6, 9), entero(rng, 1, 2), entero(rng, 2, 3)
        d = cabezas * elige(rng, (4, 6))
        m, n = distintos(rng, 4, 7, 2)
        origen = _palabras(rng, vocab, lote, m)
        if con_relleno:  # cada frase, el suyo: la primera ninguno y la última alguno
            entera = origen[0]
            origen = _rellenado(rng, origen)
            origen[0], origen[-1, -1] = entera, 0
        init = {"vocab": vocab, "d_model": d, "n_heads": cabezas, "d_ff": d + 3, "layers": capas}
        return Caso(propiedad, (origen, _palabras(rng, vocab, lote, n)), init=init)

    return [
        caso("sin capas", 0),
        caso("sin capas", 0),
        caso("una capa", 1),
        caso("una capa", 1),
        caso("varias capas", entero(rng, 2, 3)),
        caso("con relleno", 1, True),
        caso("con relleno", 2, True),
    ]


_ENTERO = Ejercicio(
    id="11.2",
    nombre="Transformer",
    tipo="completar",
    dificultad=1,
    minutos=25,
    aprende="unir las piezas de un Transformer: entrada, dos pilas, memoria, máscaras y salida",
    bordes=(
        "layers == 0",
        Borde("una capa", {0: 1}),
        Borde("una capa", {1: 1}),
        Borde("una capa", {0: 0, 1: 0}),
    ),
    casos=_casos_entero,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[1, 2]]), tensor([[2, 3]])),
        init={"vocab": 4, "d_model": 2, "n_heads": 1, "d_ff": 2, "layers": 0},
        pesos={"tokens.weight": tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])},
    ),
    propiedades={
        "sin capas": (2, "Con cero capas quedan la entrada, la norma final y la salida."),
        "una capa": (3, "Con una capa entran las máscaras y la memoria."),
        "varias capas": (2, "Cada capa recibe lo que dejó la anterior, y la misma memoria."),
        "con relleno": (3, "El 0 del origen no lo mira nadie: ni al leer ni al escribir."),
    },
    pistas=(
        "Sigue el mapa de abajo arriba: entrada del origen, pila, memoria; entrada del destino,"
        " pila, salida.",
        "Cada capa del decodificador recibe dos cosas: lo que dejó la capa anterior y la memoria.",
        "Hay tres máscaras que poner: relleno en el codificador, relleno en la cruzada y causal en"
        " el destino. En las capas de PyTorch, True tapa.",
        "La salida es un producto con la matriz de embeddings traspuesta.",
    ),
    mutantes=(
        cambia(
            "sin la raíz",
            "Falta multiplicar el embedding por la raíz de d.",
            "math.sqrt(self.tokens.embedding_dim) * self.tokens(ids)",
            "self.tokens(ids)",
        ),
        cambia(
            "raíz a todo",
            "La raíz de d multiplica el embedding, no la posición.",
            "* self.tokens(ids) + places",
            "* (self.tokens(ids) + places)",
        ),
        cambia(
            "sin posiciones",
            "Faltan las posiciones.",
            "* self.tokens(ids) + places",
            "* self.tokens(ids)",
        ),
        cambia(
            "sin norma del codificador",
            "En Pre-LN la memoria sale normalizada: falta la norma final del codificador.",
            "return self.encoder_norm(x)",
            "return x",
        ),
        cambia(
            "sin norma del decodificador",
            "Falta la norma final del decodificador, antes de puntuar.",
            "self.decoder_norm(y) @",
            "y @",
        ),
        cambia(
            "norma en cada capa",
            "La norma final va una sola vez, después de la última capa.",
            "            x = layer(x, src_key_padding_mask=padding)\n        return",
            "            x = self.encoder_norm(layer(x, src_key_padding_mask=padding))\n"
            "        return",
        ),
        cambia(
            "ve el futuro",
            "Falta la máscara causal: cada posición del destino ve la palabra que tiene que decir.",
            "tgt_mask=future, ",
            "",
        ),
        cambia(
            "causal corrida",
            "La máscara causal tapa la propia posición: cada una se ve a sí misma. (La primera se"
            " ha quedado sin nadie a quien mirar.)",
            "n = target.shape[1]\n        future = torch.ones(n, n, dtype=torch.bool).triu("
            "diagonal=1)",
            "n = target.shape[1]\n        future = torch.ones(n, n, dtype=torch.bool).triu()\n"
            "        future[0, 0] = False",
        ),
        cambia(
            "causal al revés",
            "La máscara causal está al revés: en estas capas, True tapa.",
            ".triu(diagonal=1)",
            ".tril(diagonal=-1)",
        ),
        cambia(
            "tapa el pasado",
            "La máscara causal tapa justo lo que debía dejar ver, y a la última no le queda nada:"
            " en estas capas, True tapa.",
            ".triu(diagonal=1)",
            ".tril()",
        ),
        cambia(
            "relleno en la memoria",
            "La atención cruzada mira al relleno: la máscara hace falta también al escribir.",
            ", memory_key_padding_mask=padding",
            "",
        ),
        cambia(
            "relleno al leer",
            "El codificador mira al relleno: la máscara hace falta también al leer.",
            ", src_key_padding_mask=padding",
            "",
        ),
        cambia(
            "sin memoria",
            "En la atención cruzada el decodificador se mira a sí mismo: ahí va la memoria.",
            "y = layer(y, memory, tgt_mask=future, memory_key_padding_mask=padding)",
            "y = layer(y, y, tgt_mask=future)",
        ),
        cambia(
            "memoria sin codificar",
            "La memoria es lo que sale de la pila del codificador, no lo que entra.",
            "x = layer(x, src_key_padding_mask=padding)",
            "layer(x, src_key_padding_mask=padding)",
        ),
        cambia(
            "se pierden las capas",
            "Cada capa del decodificador recibe lo que dejó la anterior.",
            "y = layer(y, memory",
            "layer(y, memory",
        ),
        cambia(
            "ya normalizadas",
            "Se piden las puntuaciones, sin softmax.",
            "return self.decoder_norm(y) @ self.tokens.weight.T",
            "return (self.decoder_norm(y) @ self.tokens.weight.T).softmax(-1)",
        ),
        cambia(
            "salida escalada",
            "La raíz de d es de la entrada: la salida no la lleva.",
            "@ self.tokens.weight.T",
            "@ (math.sqrt(self.tokens.embedding_dim) * self.tokens.weight.T)",
        ),
    ),
)

# --- 11.3 -----------------------------------------------------------------------------------------


def _casos_filas(rng: Any) -> list[Caso]:
    def tamanos() -> list[int]:
        return distintos(rng, 4, 9, 2)

    casos = []
    for lado, cuantos in (("target", 3), ("source", 2)):
        for _ in range(cuantos):
            m, n = tamanos()
            sitio = entero(rng, 1, (n if lado == "target" else m) - 1)
            casos.append(Caso(f"palabra del {_LADOS[lado]}", (m, n, lado, sitio)))
        m, n = tamanos()
        casos.append(Caso(f"palabra del {_LADOS[lado]}", (m, n, lado, 0)))
    for justo in (True, False, False):  # la primera de relleno, y otras
        m, n = tamanos()
        largo = entero(rng, 2, m - 1 - justo)  # en el primero, dos de relleno al menos
        sitio = largo if justo else entero(rng, largo, m - 1)
        casos.append(Caso("relleno", (m, n, "source", sitio, largo)))
    m, n = tamanos()
    largo = entero(rng, 2, m - 1)
    ultima = largo - 1  # la última palabra de verdad
    casos.append(Caso("con relleno cerca", (m, n, "source", ultima, largo)))
    m, n = tamanos()
    casos.append(Caso("con relleno cerca", (m, n, "target", n - 1, entero(rng, 2, m - 1))))
    return casos


_LADOS = {"target": "destino", "source": "origen"}

_FILAS = Ejercicio(
    id="11.3",
    nombre="changed_rows",
    tipo="predecir",
    dificultad=1,
    minutos=12,
    aprende="predecir qué cambia en la memoria y en las puntuaciones al cambiar una palabra",
    bordes=(
        "position == 0",
        "position == n - 1",
        "position == length",
    ),
    casos=_casos_filas,
    ejemplo=lambda: Caso("ejemplo", (3, 4, "target", 2)),
    propiedades={
        "palabra del destino": (2, "¿Quién puede mirar a esa posición? ¿Y ella misma?"),
        "palabra del origen": (2, "El codificador no lleva máscara causal."),
        "relleno": (2, "Nadie mira a esa fila. Pero ella sí se tiene a sí misma."),
        "con relleno cerca": (1, "Las filas de relleno también preguntan a las palabras."),
    },
    prohibido=(CAPAS,),
    pistas=(
        "Pregunta fila por fila: ¿hay algún camino de la palabra cambiada a esta fila?",
        "La memoria se calcula sin mirar el destino.",
        "Cada fila depende de sí misma por la conexión residual, aunque nadie la mire.",
    ),
    mutantes=(
        cambia(
            "también la memoria",
            "La memoria se calcula antes de leer el destino: no cambia.",
            "return [], list(range(position, n))",
            "return list(range(m)), list(range(position, n))",
        ),
        cambia(
            "todas las puntuaciones",
            "Con la máscara causal, las filas de antes no ven la palabra cambiada.",
            "list(range(position, n))",
            "list(range(n))",
        ),
        cambia(
            "desde la siguiente",
            "La fila de la palabra cambiada también cambia: es la que entra por ella.",
            "list(range(position, n))",
            "list(range(position + 1, n))",
        ),
        cambia(
            "solo su fila",
            "Las posiciones de después también la ven.",
            "list(range(position, n))",
            "[position]",
        ),
        cambia(
            "origen causal",
            "El codificador no lleva máscara causal: cambian también las filas de antes.",
            "return list(range(m)), list(range(n))",
            "return list(range(position, m)), list(range(n))",
        ),
        cambia(
            "memoria solo suya",
            "Las demás filas de la memoria miran a esa palabra.",
            "return list(range(m)), list(range(n))",
            "return [position], list(range(n))",
        ),
        cambia(
            "relleno quieto",
            "La fila del relleno sí cambia: por la conexión residual se tiene a sí misma.",
            "return [position], []",
            "return [], []",
        ),
        cambia(
            "relleno que se nota",
            "Nadie mira al relleno: las puntuaciones no cambian.",
            "return [position], []",
            "return [position], list(range(n))",
        ),
        cambia(
            "el sitio cero",
            "La posición 0 es una palabra como las demás: ojo con `if not position`.",
            'if side == "target":',
            'if not position:\n        return [], []\n    if side == "target":',
        ),
        cambia(
            "el relleno no cuenta",
            "Falta tener en cuenta `length`: desde ahí, es relleno.",
            "length is not None and position >= length",
            "False",
        ),
        cambia(
            "el relleno no mira",
            "Las filas de relleno también preguntan: lo suyo de la memoria cambia.",
            "return list(range(m)), list(range(n))",
            "return list(range(length or m)), list(range(n))",
        ),
    ),
)

# --- 11.4 -----------------------------------------------------------------------------------------


def _casos_contar(rng: Any) -> list[Caso]:
    def caso(propiedad: str, **opciones: Any) -> Caso:
        origen, destino = distintos(rng, 11, 60, 2)
        origen = destino if opciones.get("tying") == "all" else origen
        d = 2 * entero(rng, 3, 12)
        lecturas, escrituras = distintos(rng, 1, 5, 2)
        return Caso(
            propiedad, (origen, destino, d, d + entero(rng, 5, 40), lecturas, escrituras), opciones
        )

    return [
        caso("sin compartir"),
        caso("sin compartir"),
        caso("compartida la salida", tying="output"),
        caso("compartida la salida", tying="output"),
        caso("una sola matriz", tying="all"),
        caso("una sola matriz", tying="all"),
        caso("como en 2017", tying="all", attention_bias=False, final_norm=False),
        caso("otras opciones", learned=entero(rng, 5, 40)),
        caso("otras opciones", final_norm=False, tying="output", learned=entero(rng, 5, 40)),
        caso("otras opciones", tying="all", learned=entero(rng, 5, 40)),
        caso("otras opciones", attention_bias=False),
    ]


_CONTAR = Ejercicio(
    id="11.4",
    nombre="transformer_parameters",
    tipo="predecir",
    dificultad=2,
    minutos=20,
    aprende="contar los parámetros de un Transformer con cualquier elección, sin construirlo",
    bordes=(Borde("sin compartir", valores={4: 1, 5: 1}),),
    casos=_casos_contar,
    ejemplo=lambda: Caso("ejemplo", (5, 7, 2, 4, 1, 1)),
    propiedades={
        "sin compartir": (2, "Dos embeddings y una salida; ¿qué tiene un bloque de cada pila?"),
        "compartida la salida": (1, "La salida y el embedding del destino son la misma matriz."),
        "una sola matriz": (1, "Las tres son la misma matriz: se cuenta una vez."),
        "como en 2017": (2, "Sin sesgos en la atención y sin normas al final de las pilas."),
        "otras opciones": (2, "Una opción cada vez: ¿qué quita o qué añade, y cuántas veces?"),
    },
    pistas=(
        "Cuenta por separado una atención, una red densa y una norma; después, cuántas hay.",
        "Un bloque del decodificador tiene dos atenciones, una red densa y tres normas.",
        "Una matriz compartida tiene dos nombres y se cuenta una vez.",
    ),
    prohibido=(CAPAS,),
    mutantes=(
        cambia(
            "una atención",
            "Un bloque del decodificador tiene dos atenciones: falta la cruzada.",
            "writer = 2 * attention",
            "writer = attention",
        ),
        cambia(
            "dos normas",
            "Un bloque del decodificador tiene tres subcapas y tres normas.",
            "feed_forward + 3 * norm",
            "feed_forward + 2 * norm",
        ),
        cambia(
            "norma de media",
            "Cada norma tiene escala y desplazamiento.",
            "norm = 2 * d_model",
            "norm = d_model",
        ),
        cambia(
            "pilas cambiadas",
            "Los bloques de una pila se han contado como si fueran de la otra.",
            "n_encoder * reader + n_decoder * writer",
            "n_decoder * reader + n_encoder * writer",
        ),
        cambia(
            "salida del origen",
            "La salida puntúa palabras del destino, no del origen.",
            "source_vocab + 2 * target_vocab",
            "2 * source_vocab + target_vocab",
        ),
        cambia(
            "compartida de más",
            "Con `output` el embedding del origen sigue suelto.",
            '"output": source_vocab + target_vocab',
            '"output": target_vocab',
        ),
        cambia(
            "compartida dos veces",
            "Con `all` hay una sola matriz: se cuenta una vez.",
            '"all": target_vocab',
            '"all": 2 * target_vocab',
        ),
        cambia(
            "una norma final",
            "La norma final va en las dos pilas.",
            "2 * norm if final_norm",
            "norm if final_norm",
        ),
        cambia(
            "sesgo siempre",
            "Sin `attention_bias`, las cuatro matrices de la atención no llevan sesgo.",
            "(4 * d_model if attention_bias else 0)",
            "4 * d_model",
        ),
        cambia(
            "densa sin sesgos",
            "La red densa lleva sus dos sesgos en cualquier caso.",
            "2 * d_model * d_ff + d_ff + d_model",
            "2 * d_model * d_ff",
        ),
        cambia(
            "una tabla de posiciones",
            "Cada lado tiene su tabla de posiciones aprendidas.",
            "2 * learned * d_model",
            "learned * d_model",
        ),
        cambia(
            "posiciones compartidas",
            "`tying` comparte las palabras, no las posiciones: cada lado tiene su tabla también con"
            " `all`.",
            "2 * learned * d_model",
            '(1 if tying == "all" else 2) * learned * d_model',
        ),
        cambia(
            "dos sueltas",
            "Con `none` hay tres matrices sueltas: falta una de las dos del destino.",
            '"none": source_vocab + 2 * target_vocab',
            '"none": source_vocab + target_vocab',
        ),
        cambia(
            "salida con sesgo",
            "La salida no lleva sesgo.",
            "return total + 2 * learned * d_model",
            "return total + 2 * learned * d_model + target_vocab",
        ),
        cambia(
            "tres matrices",
            "Una atención tiene cuatro matrices: consulta, clave, valor y salida.",
            "4 * d_model**2",
            "3 * d_model**2",
        ),
    ),
)

# --- 11.5 -----------------------------------------------------------------------------------------


def _casos_compartida(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, repetida: bool) -> Caso:
        vocab, n = entero(rng, 6, 9), entero(rng, 3, 5)
        d = entero(rng, 2, 5)
        ids = torch.tensor(distintos(rng, 0, vocab - 1, n))
        if repetida:
            ids[-1] = ids[0]
        metas = torch.randint(0, vocab, (n,), generator=rng)
        return Caso(propiedad, (normal(rng, vocab, d), normal(rng, n, n), ids, metas))

    return [
        caso("palabras distintas", False),
        caso("palabras distintas", False),
        caso("una palabra repetida", True),
        caso("una palabra repetida", True),
    ]


_COMPARTIDA = Ejercicio(
    id="11.5",
    nombre="tied_gradient",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="calcular los dos gradientes que recibe una matriz de embeddings compartida",
    bordes=(
        "empate(ids)",
        Borde("palabras distintas", {1: (0, 1), 2: 0, 3: 0}),
    ),
    casos=_casos_compartida,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[0.0, 0.0], [1.0, 0.0]]),
            tensor([0, 1]),
            tensor([1, 1]),
        ),
    ),
    propiedades={
        "palabras distintas": (4, "Ponle dos nombres a la matriz y deriva respecto a cada uno."),
        "una palabra repetida": (4, "Si una palabra sale dos veces, su fila recibe dos sumandos."),
    },
    prohibido=(DERIVADAS,),
    pistas=(
        "El gradiente de la entropía cruzada respecto a las puntuaciones es softmax menos un uno"
        " en la respuesta, entre n.",
        "Como salida, E multiplica a H: su gradiente junta las filas de H pesadas con ese error.",
        "Como entrada, el error vuelve por E y por B, que va traspuesta, y se reparte por filas.",
    ),
    mutantes=(
        cambia(
            "sin media",
            "La pérdida es la media de las posiciones: falta dividir entre n.",
            "grad_logits = grad_logits / n",
            "grad_logits = grad_logits",
        ),
        cambia(
            "sin la raíz",
            "La raíz de d está en la entrada: también multiplica el gradiente que vuelve.",
            "grad_rows = scale * mix.T",
            "grad_rows = mix.T",
        ),
        cambia(
            "mezcla sin trasponer",
            "De vuelta, la mezcla va traspuesta.",
            "mix.T @",
            "mix @",
        ),
        cambia(
            "pisa en vez de sumar",
            "Una palabra que sale dos veces recibe la suma de los dos gradientes.",
            "as_input = torch.zeros_like(embedding).index_add(0, ids, grad_rows)",
            "as_input = torch.zeros_like(embedding)\n    as_input[ids] = grad_rows",
        ),
        cambia(
            "entrada por salida",
            "Como salida, las filas que se juntan son las de H, que ya han pasado por la mezcla.",
            "grad_logits.T @ hidden",
            "grad_logits.T @ (scale * embedding[ids])",
        ),
        cambia(
            "cambiados",
            "Los dos gradientes están en el otro orden: primero el de la entrada.",
            "return as_input, as_output",
            "return as_output, as_input",
        ),
        cambia(
            "sin la respuesta",
            "Falta restar el uno de la respuesta correcta.",
            "grad_logits[torch.arange(n), targets] -= 1",
            "grad_logits[torch.arange(n), targets] -= 0",
        ),
        cambia(
            "signo",
            "El signo está al revés: el gradiente apunta hacia donde la pérdida sube.",
            "grad_logits = grad_logits / n",
            "grad_logits = -grad_logits / n",
        ),
        cambia(
            "todo junto",
            "Se piden los dos por separado; se han sumado.",
            "return as_input, as_output",
            "return as_input + as_output, as_input + as_output",
        ),
    ),
)

# --- 11.6 -----------------------------------------------------------------------------------------


def _casos_averiado(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, con_relleno: bool) -> Caso:
        vocab, lote, d = entero(rng, 6, 9), entero(rng, 2, 3), 2 * entero(rng, 2, 4)
        m, n = distintos(rng, 4, 7, 2)
        real = relleno(rng, lote, m) if con_relleno else torch.ones(lote, m, dtype=torch.bool)
        palabras = (_palabras(rng, vocab, lote, m), _palabras(rng, vocab, lote, n), real)
        return Caso(propiedad, palabras, init={"vocab": vocab, "d_model": d})

    return [
        caso("sin relleno", False),
        caso("sin relleno", False),
        caso("con relleno", True),
        caso("con relleno", True),
    ]


_RAIZ = ("math.sqrt(width) * self.embedding(ids) + self.places(places)",
         "math.sqrt(width) * (self.embedding(ids) + self.places(places))")  # fmt: skip
_NORMA = ('return self.norms["memory"](x)', 'return self.norms["encoder"](x)')
_CRUZADA = ('"cross", z, memory, seen)', '"cross", z, memory, torch.ones_like(seen))')

_AVERIADO = Ejercicio(
    id="11.6",
    nombre="BrokenTransformer",
    tipo="depurar",
    dificultad=2,
    minutos=20,
    aprende="encontrar en un Transformer tres faltas que no dan ningún aviso",
    bordes=(
        "real.all()",
        Borde("sin relleno", {0: 1, 2: 1}),
        Borde("sin relleno", {1: 1}),
        Borde("sin relleno", {0: 0, 1: 0, 2: 0}),
    ),
    casos=_casos_averiado,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[1, 2]]), tensor([[2]]), tensor([[True, False]])),
        init={"vocab": 3, "d_model": 2},
        pesos={
            "embedding.weight": tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
            "value.encoder.weight": tensor([[1.0, 0.0], [0.0, 1.0]]),
            "value.decoder.weight": tensor([[0.0, 0.0], [0.0, 0.0]]),
            "value.cross.weight": tensor([[2.0, 0.0], [0.0, 0.0]]),
        },
    ),
    propiedades={
        "sin relleno": (4, "Sin relleno quedan dos faltas: una en la entrada y otra en la pila."),
        "con relleno": (3, "¿Quién mira al relleno? Sigue la máscara hasta cada atención."),
    },
    pistas=(
        "Compara la clase con el mapa del capítulo, caja a caja, de abajo arriba.",
        "Cuenta cuántas veces se usa cada norma: hay cinco, y cada una tiene su sitio.",
        "Sigue también la máscara del relleno: ¿en qué atenciones responde el origen?",
    ),
    mutantes=(
        cambia(
            "sin arreglar",
            "Es la clase averiada: tiene las tres faltas.",
            *_RAIZ,
            *_NORMA,
            *_CRUZADA,
        ),
        cambia(
            "falta la raíz",
            "La norma y la máscara están bien; la raíz de d sigue multiplicando a las posiciones.",
            *_RAIZ,
        ),
        cambia(
            "falta la norma",
            "La raíz y la máscara están bien; la memoria sigue saliendo por una norma que no es la"
            " suya.",
            *_NORMA,
        ),
        cambia(
            "falta la máscara",
            "La raíz y la norma están bien; la atención cruzada sigue mirando al relleno.",
            *_CRUZADA,
        ),
        cambia(
            "solo la raíz",
            "La raíz de d ya está bien; quedan la norma de la memoria y una máscara.",
            *_NORMA,
            *_CRUZADA,
        ),
        cambia(
            "solo la norma",
            "La norma de la memoria ya está bien; quedan la entrada y una máscara.",
            *_RAIZ,
            *_CRUZADA,
        ),
        cambia(
            "solo la máscara",
            "La máscara de la atención cruzada ya está bien; quedan la entrada y una norma.",
            *_RAIZ,
            *_NORMA,
        ),
        cambia(
            "sin norma",
            "La memoria no puede salir sin normalizar: en Pre-LN nada más la normaliza.",
            _NORMA[0],
            "return x",
        ),
        cambia(
            "causal de más",
            "La máscara causal estaba bien: al cambiarla, cada posición ha dejado de verse.",
            "dtype=torch.bool).tril()",
            "dtype=torch.bool).tril(-1) | torch.eye(target.shape[1], dtype=torch.bool)[:1]",
        ),
    ),
)

# --- 11.7 -----------------------------------------------------------------------------------------


def _casos_empaquetar(rng: Any) -> list[Caso]:
    def caso(propiedad: str, cabezas: int, ancho: int) -> Caso:
        d = cabezas * ancho
        matrices = (normal(rng, cabezas, d, ancho) for _ in range(3))
        return Caso(propiedad, (*matrices, normal(rng, d, d)))

    return [
        caso("una cabeza", 1, entero(rng, 2, 5)),
        caso("una cabeza", 1, entero(rng, 2, 5)),
        caso("varias cabezas", entero(rng, 2, 3), entero(rng, 2, 4)),
        caso("varias cabezas", 4, 2),
        caso("varias cabezas", 2, 4),
    ]


_EMPAQUETAR = Ejercicio(
    id="11.7",
    nombre="pack_attention",
    tipo="escribir",
    dificultad=2,
    minutos=15,
    aprende="pasar los pesos de una atención de la notación del artículo a PyTorch",
    bordes=("len(query) == 1",),
    casos=_casos_empaquetar,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0], [2.0]], [[3.0], [4.0]]]),
            tensor([[[0.0], [1.0]], [[1.0], [0.0]]]),
            tensor([[[5.0], [0.0]], [[0.0], [6.0]]]),
            tensor([[1.0, 2.0], [3.0, 4.0]]),
        ),
    ),
    propiedades={
        "una cabeza": (3, "Con una cabeza, cada matriz de PyTorch es la traspuesta de la otra."),
        "varias cabezas": (3, "Las columnas de cada cabeza van juntas, una cabeza tras otra."),
    },
    pistas=(
        "nn.Linear calcula x · Wᵀ: guarda la traspuesta de la matriz del artículo.",
        "Las filas de in_proj_weight son, por orden: consultas, claves y valores; dentro de cada"
        " grupo, cabeza a cabeza.",
        "Trasponer cada cabeza y después apilarlas; la de salida solo se traspone.",
    ),
    mutantes=(
        cambia(
            "sin trasponer la salida",
            "La matriz de salida también se guarda traspuesta.",
            "output.T",
            "output",
        ),
        cambia(
            "cabezas entreveradas",
            "Las filas de una cabeza van seguidas: primero toda la cabeza 0, luego toda la 1.",
            "heads.mT.flatten(0, 1)",
            "heads.permute(2, 0, 1).flatten(0, 1)",
        ),
        cambia(
            "sin trasponer las cabezas",
            "Cada cabeza se traspone: las filas de PyTorch son las columnas del artículo. (Con el"
            " mismo número de elementos, un cambio de forma no avisa.)",
            "heads.mT.flatten(0, 1)",
            "heads.reshape(-1, heads.shape[1])",
        ),
        cambia(
            "otro orden",
            "El orden de PyTorch es consultas, claves y valores.",
            "(query, key, value)",
            "(key, query, value)",
        ),
        cambia(
            "valores delante",
            "El orden de PyTorch es consultas, claves y valores: los valores van al final.",
            "(query, key, value)",
            "(value, query, key)",
        ),
        cambia(
            "por columnas",
            "Los tres grupos van uno debajo de otro, no uno al lado de otro.",
            "torch.cat(stacked)",
            "torch.cat(stacked, dim=1).reshape(-1, stacked[0].shape[1])",
        ),
        cambia(
            "escalada",
            "La raíz de la anchura no va en los pesos: PyTorch ya divide las puntuaciones.",
            "torch.cat(stacked), output.T",
            "torch.cat([stacked[0] / query.shape[2] ** 0.5, *stacked[1:]]), output.T",
        ),
    ),
)

# --- 11.8 -----------------------------------------------------------------------------------------


def _casos_alcance(rng: Any) -> list[Caso]:
    import torch

    def ventana(n: int, ancho: int) -> Any:
        distancia = torch.arange(n)[:, None] - torch.arange(n)
        return (distancia >= 0) & (distancia < ancho)

    def caso(propiedad: str, capas: tuple[int, int], fuga: bool = False) -> Caso:
        m, n = distintos(rng, 5, 7, 2)
        propia = ventana(n, 2)
        if fuga:
            propia[1, n - 2] = True
        cruzada = mascara(rng, n, m, 0.25)
        return Caso(propiedad, (ventana(m, 2), propia, cruzada, *capas))

    def al_azar(capas: tuple[int, int]) -> Caso:
        m, n = distintos(rng, 4, 6, 2)
        mascaras = (mascara(rng, m, m, 0.3), mascara(rng, n, n, 0.3), mascara(rng, n, m, 0.3))
        return Caso("máscaras al azar", (*mascaras, *capas))

    def corrida() -> Caso:
        """En el codificador nadie se mira a sí mismo; en la cruzada se mira a una sola fila."""
        m, n = distintos(rng, 4, 6, 2)
        lee = torch.eye(m, dtype=torch.bool).roll(1, 0)
        mascaras = (lee, mascara(rng, n, n, 0.3), mascara(rng, n, m, 0.0))
        return Caso("máscaras al azar", (*mascaras, 1, 1))

    return [
        caso("una capa", (1, 1)),
        caso("una capa", (1, 1)),
        caso("varias capas", (2, 3)),
        caso("varias capas", (3, 2)),
        caso("con una fuga", (1, 2), True),
        caso("con una fuga", (2, 2), True),
        al_azar((2, 1)),
        corrida(),
        al_azar((1, 2)),
        caso("sin una pila", (0, 2)),
        caso("sin una pila", (2, 0)),
    ]


_ALCANCE = Ejercicio(
    id="11.8",
    nombre="influence",
    tipo="escribir",
    dificultad=3,
    minutos=30,
    aprende="decidir, solo con las máscaras, qué palabras puede notar cada puntuación",
    bordes=(
        "n_encoder == 0",
        "n_decoder == 0",
    ),
    casos=_casos_alcance,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[True, False], [True, True]]),
            tensor([[True, False], [True, True]]),
            tensor([[False, True], [True, False]]),
            1,
            1,
        ),
    ),
    propiedades={
        "una capa": (2, "Primero la memoria: a qué palabras llega cada una de sus filas."),
        "varias capas": (2, "Cada capa da un paso más; la memoria que se lee es la del final."),
        "con una fuga": (1, "Un True por encima de la diagonal se hereda en las capas siguientes."),
        "máscaras al azar": (2, "Una fila que no se mira a sí misma se conserva: hay residual."),
        "sin una pila": (1, "Con cero bloques, cada fila es solo ella misma."),
    },
    pistas=(
        "Una fila nota lo que ya notaba y lo que notan las filas a las que mira.",
        "Mirar a quien mira es un producto de matrices booleanas.",
        "En cada bloque del decodificador, la autoatención mezcla lo que ya había llegado y la"
        " cruzada añade lo del origen.",
    ),
    mutantes=(
        cambia(
            "sin residual al leer",
            "En el codificador falta la conexión residual: cada fila conserva lo que tenía.",
            "memory = memory | (",
            "memory = (",
        ),
        cambia(
            "sin residual al escribir",
            "En el decodificador falta la conexión residual: cada fila conserva lo que tenía.",
            "state = state | (",
            "state = (",
        ),
        cambia(
            "una sola capa de lectura",
            "Cada bloque del codificador da un paso más; se ha dado uno solo.",
            "for _ in range(n_encoder)",
            "for _ in range(min(1, n_encoder))",
        ),
        cambia(
            "una sola capa de escritura",
            "Cada bloque del decodificador da un paso más; se ha dado uno solo.",
            "for _ in range(n_decoder)",
            "for _ in range(min(1, n_decoder))",
        ),
        cambia(
            "sin codificar",
            "La atención cruzada lee la memoria terminada, no las palabras del origen.",
            "memory_mask.long() @ memory.long() > 0",
            "memory_mask.clone()",
        ),
        cambia(
            "máscara traspuesta",
            "La fila es quien mira: la máscara está traspuesta.",
            "target_mask.long() @",
            "target_mask.T.long() @",
        ),
        cambia(
            "memoria traspuesta",
            "En la máscara del codificador la fila es quien mira: está traspuesta.",
            "source_mask.long() @",
            "source_mask.T.long() @",
        ),
        cambia(
            "cruzada antes",
            "En cada bloque va primero la autoatención y después la cruzada.",
            "        state = state | (target_mask.long() @ state.long() > 0)\n"
            "        state[:, :m] = state[:, :m] | crossed",
            "        state[:, :m] = state[:, :m] | crossed\n"
            "        state = state | (target_mask.long() @ state.long() > 0)",
        ),
        cambia(
            "cruzada al final",
            "Lo que llega por la atención cruzada de un bloque se reparte en la autoatención del"
            " siguiente.",
            "        state[:, :m] = state[:, :m] | crossed\n",
            "",
            "    return state",
            "    if n_decoder:\n        state[:, :m] = crossed\n    return state",
        ),
        cambia(
            "orden de columnas",
            "Las columnas van primero las del origen y después las del destino.",
            "    return state",
            "    return torch.cat([state[:, m:], state[:, :m]], dim=1)",
        ),
    ),
)

EJERCICIOS = [
    _TAMANOS,
    _ENTERO,
    _FILAS,
    _CONTAR,
    _COMPARTIDA,
    _AVERIADO,
    _EMPAQUETAR,
    _ALCANCE,
]
