"""Ejercicios del capítulo 25, «Mirar dentro»."""

from __future__ import annotations

from collections.abc import Callable
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
    uniforme,
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENTO


def _hasta(sortea: Callable[[], Any], vale: Callable[[Any], bool]) -> Any:
    """El primer sorteo que vale: lo que hace distinguible un caso no se deja al azar."""
    for _ in range(3000):
        dado = sortea()
        if vale(dado):
            return dado
    raise RuntimeError("ningún sorteo vale")


def _mapa(rng: Any, *forma: int, causal: bool = True) -> Any:
    """Pesos de atención (…, n, n), sin ceros donde se ve."""
    pesos = (1.5 * normal(rng, *forma)).exp()
    pesos = pesos.tril() if causal else pesos
    return pesos / pesos.sum(-1, keepdim=True)


# --- 25.1 -----------------------------------------------------------------------------------------


def _casos_induccion(rng: Any) -> list[Caso]:
    def caso(propiedad: str, texto: str, causal: bool = True) -> Caso:
        numeros = dict(zip(sorted(set(texto)), distintos(rng, 0, 40, len(set(texto))), strict=True))
        n = len(texto)
        pesos = _mapa(rng, entero(rng, 2, 3), n, n, causal=causal)
        return Caso(propiedad, (pesos, tensor([numeros[x] for x in texto])))

    return [
        caso("dos copias", "abcabc"),
        caso("dos copias", elige(rng, ("abab", "abcdabcd"))),
        caso("repetidos", elige(rng, ("abacada", "abacadea"))),
        caso("repetidos", elige(rng, ("abcabdab", "abacbab"))),
        caso("casi nadie", elige(rng, ("abcdae", "abcdeaf"))),
        caso("casi nadie", "aba"),
        caso("seguidos", elige(rng, ("aabaac", "baabaa"))),
        caso("sin tapar", "abcabc", False),
        caso("sin tapar", "abacad", False),
    ]


_INDUCCION = Ejercicio(
    id="25.1",
    nombre="induction_score",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="medir si una cabeza mira adonde miraría una cabeza de inducción",
    bordes=("len(ids) == 3", "weights.shape[0] == 1", Borde("dos copias", {0: 0})),
    casos=_casos_induccion,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.625, 0.125]]]), tensor([7, 3, 7])),
    ),
    propiedades={
        "dos copias": (2, "Marca a mano, en «a b c a b c», qué clave toca a cada consulta."),
        "repetidos": (3, "Si el token ha salido varias veces, cuenta lo que siguió a todas."),
        "casi nadie": (1, "La media es de las consultas que tienen adónde mirar."),
        "seguidos": (1, "La clave tiene que ir antes que la consulta: ella misma no cuenta."),
        "sin tapar": (1, "Lo que aún no ha pasado no cuenta, aunque el mapa llegue allí."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Dibuja la rejilla de «a b a c a»: las consultas, a un lado, y las claves, arriba.",
        "Una clave vale si el token de la posición anterior a la clave es el de la consulta.",
        "Haz una máscara de consultas y claves; suma los pesos que caen en ella, por filas, y"
        " promedia las filas que no están vacías.",
    ),
    mutantes=(
        cambia(
            "al mismo token",
            "Esto mira a la aparición anterior; se pide lo que la siguió.",
            "target[:, 1:] = ids[:, None] == ids[:-1]",
            "target[:] = ids[:, None] == ids",
        ),
        cambia(
            "a la anterior",
            "Se mira lo que siguió al token, no lo que iba delante.",
            "target[:, 1:] = ids[:, None] == ids[:-1]",
            "target[:, :-1] = ids[:, None] == ids[1:]",
        ),
        cambia(
            "todas las consultas",
            "Las consultas sin adónde mirar no entran en la media.",
            "mass[:, asks]",
            "mass",
        ),
        cambia(
            "ella misma",
            "Con dos iguales seguidos, la consulta se mira a sí misma: la clave va antes.",
            "tril(-1)",
            "tril()",
        ),
        cambia(
            "lo que no ha pasado",
            "Cuentan claves que van detrás de la consulta.",
            "target = target.tril(-1)",
            "target = target & ~torch.eye(len(ids), dtype=torch.bool)",
        ),
        cambia(
            "da la vuelta",
            "La primera clave no sigue a nadie: aquí sigue al último token.",
            "target[:, 1:] = ids[:, None] == ids[:-1]",
            "target[:] = ids[:, None] == ids.roll(1)",
        ),
        cambia(
            "solo la última",
            "Cuenta lo que siguió a todas las apariciones, no solo a la más cercana.",
            "target = target.tril(-1)",
            "target = target.tril(-1)\n    last = len(ids) - 1 - target.flip(1).long().argmax(1)\n"
            "    target = target & (torch.arange(len(ids)) == last[:, None])",
        ),
        cambia(
            "traspuesta",
            "Las filas del mapa son las consultas, y las columnas, las claves.",
            "(weights * target)",
            "(weights.mT * target)",
        ),
    ),
)

# --- 25.2 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="25.2",
    nombre="ablation_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    aprende="distinguir lo que rompe quitar una cabeza a cero de lo que rompe dejarla en su media",
    propiedades={
        "writes": (1, "Lo que da la cabeza por la fila de la matriz de salida: un producto."),
        "zero": (1, "Quita de cada puntuación lo que suma A, y vuelve a contar los aciertos."),
        "mean": (1, "¿Cuánto se aparta A de su media en cada ejemplo?"),
        "score": (1, "Promedia lo que suma B, y ponlo en todos los ejemplos."),
        "hits": (1, "Con B en su media, todos los ejemplos puntúan lo mismo."),
    },
    pistas=(
        "Escribe la puntuación de los cinco ejemplos con todo puesto, y lo que responde.",
        "A suma siempre lo mismo: ¿qué parte de la diferencia entre dos ejemplos pone?",
        "Con todos los ejemplos iguales, el modelo responde siempre lo mismo: cuenta cuántas veces"
        " es lo que toca.",
    ),
    mutantes=(
        cambia(
            "suma sin pesos",
            "Lo que da la cabeza pasa por la matriz de salida antes de sumarse.",
            '"writes": first',
            '"writes": 2 - 1',
        ),
        cambia(
            "A a cero no rompe nada",
            "Sin lo que suma A, todas las puntuaciones bajan: mira cuáles siguen por encima de 0.",
            '"zero": hits(0, second)',
            '"zero": len(right)',
        ),
        cambia(
            "cuenta los síes",
            "Responder «no» también es acertar si lo que toca es «no».",
            '"zero": hits(0, second)',
            '"zero": 0',
        ),
        cambia(
            "cuenta lo que falla",
            "Esos son los fallos sin A; se piden los aciertos.",
            '"zero": hits(0, second)',
            '"zero": len(right) - hits(0, second)',
        ),
        cambia(
            "la media, como el cero",
            "En su media, A sigue sumando lo mismo que sumaba.",
            '"mean": hits(first, second)',
            '"mean": hits(0, second)',
        ),
        cambia(
            "B a cero",
            "Falta la media de B: aquí se ha puesto a cero.",
            '"score": rest + first + average',
            '"score": rest + first',
        ),
        cambia(
            "sin el resto",
            "Falta el resto del modelo, que también suma.",
            '"score": rest + first + average',
            '"score": first + average',
        ),
        cambia(
            "sin A",
            "A sigue puesta: solo se cambia B.",
            '"score": rest + first + average',
            '"score": rest + average',
        ),
        cambia(
            "solo la media",
            "Esa es la media de B; falta sumarle A y el resto.",
            '"score": rest + first + average',
            '"score": average',
        ),
        cambia(
            "siempre no",
            "Mira el signo de la puntuación: ¿qué responde el modelo a los cinco?",
            '"hits": hits(first, [average] * len(second))',
            '"hits": hits(first, [0.0] * len(second))',
        ),
        cambia(
            "como si nada",
            "Lo único que distingue unos ejemplos de otros es B.",
            '"hits": hits(first, [average] * len(second))',
            '"hits": hits(first, second)',
        ),
        # La última: si «hits» vale 3, también lo explica «siempre no», que es lo que se ve más.
        cambia(
            "sin el signo",
            "Las dos segundas componentes son negativas: su producto es positivo.",
            "2 * 1 + -1 * -2",
            "2 * 1 + -1 * 2",
        ),
    ),
)

# --- 25.3 -----------------------------------------------------------------------------------------

_DISTINGUEN = Ejercicio(
    id="25.3",
    nombre="tells_apart",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="decir qué experimentos distinguen lo que se usa de lo que solo está",
    propiedades={"respuesta": (2, "¿Cuáles de los tres miran la respuesta del modelo?")},
    opciones=("ninguno", "solo la sonda", "el borrado y el parche", "los tres"),
    pistas=(
        "Escribe, para cada experimento, qué sale con el rasgo que se usa y qué sale con el otro.",
        "Los dos rasgos están escritos en los vectores igual de claros. ¿En qué se diferencian?",
    ),
    mutantes=(
        cuerpo(
            "la sonda",
            "La sonda lee los dos igual de bien: los dos están ahí.",
            "return 'solo la sonda'",
        ),
        cuerpo(
            "todos",
            "La sonda, con su control y todo, sale igual con los dos: no mira qué se usa.",
            "return 'los tres'",
        ),
        cuerpo(
            "ninguno",
            "Si se borra el que se usa, la respuesta cambia; si se borra el otro, no.",
            "return 'ninguno'",
        ),
    ),
)

# --- 25.4 -----------------------------------------------------------------------------------------


def _casos_lente(rng: Any) -> list[Caso]:
    def caso(propiedad: str, *planes: str, escala: float = 1.0, **opciones: float) -> Caso:
        """Cada plan dice lo que se lee en una posición a cada altura: «aba» duda y vuelve."""
        vocab, d = entero(rng, 4, 6), entero(rng, 4, 5)
        eps = opciones.get("eps", 1e-5)

        def sortea() -> Any:
            ganancia, sesgo = 1 + 0.3 * normal(rng, d), 0.4 * normal(rng, d)
            tabla, monton = normal(rng, vocab, d), escala * normal(rng, 90, d)
            quieto = monton - monton.mean(-1, keepdim=True)
            quieto = quieto / (quieto.square().mean(-1, keepdim=True) + eps).sqrt()
            mayores = ((quieto * ganancia + sesgo) @ tabla.T).topk(2)
            claros = (mayores.values[:, 0] - mayores.values[:, 1] > 0.05).tolist()
            de: dict[int, list[int]] = {}
            for i, token in enumerate(mayores.indices[:, 0].tolist()):
                if claros[i]:
                    de.setdefault(token, []).append(i)
            letras = sorted(de.values(), key=len, reverse=True)[:3]
            return monton, letras, ganancia, sesgo, tabla

        cuantos = max(len("".join(planes)), 2)
        minimo = min(cuantos, 10)
        monton, letras, *pesos = _hasta(
            sortea, lambda x: len(x[1]) == 3 and all(len(filas) >= minimo for filas in x[1])
        )
        orden = [["abc".index(plan[altura]) for plan in planes] for altura in range(len(planes[0]))]
        filas = [[letras[i].pop() for i in altura] for altura in orden]
        return Caso(propiedad, (monton[tensor(filas)], *pesos), opciones)

    return [
        caso("se decide", "bbba", "caaa", "bcaa"),
        caso("se decide", "bca", "baa", "aaa"),
        caso("se decide", "a", "b"),
        caso("se desdice", "abaa", "abca", "aaba"),
        caso("se desdice", "aba", "bab", "cba"),
        caso("se desdice", "aabba"),
        caso("casi cero", "aba", "caa", escala=4e-3),
        caso("casi cero", "abaa", "bbaa", escala=0.2, eps=real(rng, 0.02, 0.08)),
    ]


_LENTE = Ejercicio(
    id="25.4",
    nombre="lens",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="leer cada altura con la norma y la matriz del final, y ver desde cuál no cambia",
    bordes=("len(states) == 1", "states.shape[1] == 1", "eps is None"),
    casos=_casos_lente,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[3.0, 1.0]], [[1.0, 2.0]], [[0.0, 4.0]]]),
            tensor([1.0, 1.0]),
            tensor([0.0, 0.5]),
            tensor([[1.0, 0.0], [0.0, 2.0]]),
        ),
    ),
    propiedades={
        "se decide": (3, "Lee igual todas las alturas y busca desde cuál ya no cambia."),
        "se desdice": (3, "Si lo que dice cambia y vuelve, cuenta la última vez que llega."),
        "casi cero": (2, "El ε va dentro de la raíz, junto a la varianza."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Todas las alturas se leen igual, como si cada una fuera la última.",
        "Escribe qué token gana a cada altura. Para saber desde cuándo, recórrelo hacia atrás.",
        "Cuenta las alturas seguidas, desde la última, que dicen lo mismo que ella: la altura"
        " pedida es el total menos esa cuenta.",
    ),
    mutantes=(
        cambia(
            "sin la norma",
            "Falta la norma final: los estados de en medio tienen otro tamaño.",
            "scaled = centred / (variance + eps).sqrt()",
            "scaled = states",
        ),
        cambia(
            "ni norma ni ganancia",
            "A cada altura falta la norma final, con su ganancia y su sesgo.",
            "(scaled * gain + bias) @ table.T",
            "states @ table.T",
        ),
        cambia(
            "sin ganancia ni sesgo",
            "La norma final tiene su ganancia y su sesgo.",
            "(scaled * gain + bias)",
            "scaled",
        ),
        cambia(
            "sin centrar",
            "Antes de dividir se resta la media de cada vector.",
            "states - states.mean(dim=-1, keepdim=True)",
            "states",
        ),
        cambia(
            "entre d menos uno",
            "La varianza de la norma divide entre d, no entre d − 1.",
            "centred.square().mean(dim=-1, keepdim=True)",
            "centred.var(dim=-1, keepdim=True)",
        ),
        cambia(
            "ε fuera",
            "El ε se suma a la varianza, antes de la raíz.",
            "(variance + eps).sqrt()",
            "(variance.sqrt() + eps)",
        ),
        cambia(
            "la primera vez",
            "Cuenta desde cuándo ya no cambia, no la primera vez que lo dice.",
            "len(states) - steady",
            "same.argmax(dim=0)",
        ),
        cambia(
            "cuántas coinciden",
            "Las alturas que coinciden y después cambian no cuentan.",
            "same.flip(0).cumprod(dim=0).sum(dim=0)",
            "same.sum(dim=0)",
        ),
        cambia(
            "la última que no",
            "Es la primera altura en que ya está decidido, no la anterior.",
            "len(states) - steady",
            "len(states) - steady - 1",
        ),
        cambia(
            "cuántas quedan",
            "Se pide la altura, no cuántas quedan desde ella.",
            "len(states) - steady",
            "steady",
        ),
    ),
)

# --- 25.5 -----------------------------------------------------------------------------------------


def _sonda(estados: Any, metas: Any, clases: int, quien: Any) -> Any:
    """Las puntuaciones de la sonda en todas las filas."""
    x = estados.new_ones(len(estados), estados.shape[1] + 1)
    x[:, :-1] = estados
    deseado = (metas[:, None] == tensor(list(range(clases)))).to(x)
    return x @ (x[quien].pinverse() @ deseado[quien])


def _casos_sonda(rng: Any) -> list[Caso]:
    def caso(
        propiedad: str, clases: int, d: int, apartadas: int, gana: str, salen: int = 0
    ) -> Caso:
        """``salen``: cuántas clases tiene el control, si no son todas."""
        salen = salen or clases
        n, palabras = 3 * d + 8 + apartadas, d + 3 if gana == "verdad" else d

        def sortea() -> Any:
            """El contexto dice la etiqueta y, la palabra, la de control: una de las dos se oye."""
            tipos = tensor([i % palabras for i in permutacion(rng, n)])
            contexto = normal(rng, n, d)
            etiquetas = (contexto @ normal(rng, d, clases)).argmax(-1)
            control = (normal(rng, palabras, salen)).argmax(-1)
            fuerza = 0.5 if gana == "verdad" else 2.5
            estados = contexto + fuerza * normal(rng, palabras, d)[tipos] + 2.0
            if gana != "verdad":
                etiquetas = normal(rng, n, clases).argmax(-1)
            quien = tensor([True] * n)
            quien[permutacion(rng, n)[:apartadas]] = False
            return estados, etiquetas, tipos, control, quien

        def vale(dado: Any) -> bool:
            estados, etiquetas, tipos, control, quien = dado
            metas = (etiquetas, control[tipos])
            hay = (clases, salen)
            if any(len(meta[quien].unique()) < k for meta, k in zip(metas, hay, strict=True)):
                return False
            aciertos = []
            for meta in metas:
                puntos = _sonda(estados, meta, clases, quien)[~quien]
                mejores = puntos.topk(2).values
                if (mejores[:, 0] - mejores[:, 1]).min() < 1e-4:
                    return False
                aciertos.append(float((puntos.argmax(-1) == meta[~quien]).double().mean()))
            distancia = aciertos[0] - aciertos[1]
            return (distancia if gana == "verdad" else -distancia) > 0.09

        return Caso(propiedad, _hasta(sortea, vale))

    return [
        caso("dos clases", 2, entero(rng, 2, 4), entero(rng, 9, 12), "verdad"),
        caso("dos clases", 2, 4, 10, "verdad"),
        caso("varias clases", 3, entero(rng, 3, 4), entero(rng, 10, 12), "verdad"),
        caso("varias clases", 4, 4, 12, "verdad"),
        caso("varias clases", 3, 4, 12, "verdad", salen=2),
        caso("gana el control", 2, 3, entero(rng, 9, 12), "control"),
        caso("gana el control", 3, 4, 12, "control"),
        caso("una apartada", 2, entero(rng, 2, 3), 1, "verdad"),
    ]


_SONDA = Ejercicio(
    id="25.5",
    nombre="selectivity",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="ajustar una sonda lineal y descontar lo que acierta por saberse las palabras",
    tolerancia=1e-6,  # el acierto se cuenta también en 32 bits
    bordes=("int((~train).sum()) == 1", "int(labels.max()) == 1", "int(labels.max()) == 3"),
    casos=_casos_sonda,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.0], [1.0], [2.0], [3.0], [0.5], [2.5]]),
            tensor([0, 0, 1, 1, 0, 1]),
            tensor([0, 1, 0, 1, 0, 1]),
            tensor([1, 0]),
            tensor([True, True, True, True, False, False]),
        ),
    ),
    propiedades={
        "dos clases": (3, "Una columna de unos, dianas con un 1 en su clase y mínimos cuadrados."),
        "varias clases": (3, "Una columna de puntuaciones por clase; gana la mayor."),
        "gana el control": (2, "La selectividad es una resta, con su signo."),
        "una apartada": (1, "Con una sola fila apartada, los ejes siguen siendo los mismos."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Es la misma sonda dos veces: solo cambian las etiquetas.",
        "La etiqueta de control de una fila es la que le tocó a su palabra.",
        "Se ajusta con las filas de `train` y se mide en las demás; la selectividad es el acierto"
        " de la primera menos el de la segunda.",
    ),
    mutantes=(
        cambia(
            "sin sesgo",
            "Falta la columna de unos: sin ella, la sonda pasa por el origen.",
            "torch.cat([states, torch.ones_like(states[:, :1])], dim=1)",
            "states",
        ),
        cambia(
            "mide en las suyas",
            "Se mide en las filas apartadas, no en las que se usaron para ajustar.",
            "x[~train] @ probe",
            "x[train] @ probe",
            "goal[~train]",
            "goal[train]",
        ),
        cambia(
            "ajusta con todas",
            "La sonda ha visto las filas con que se mide.",
            "lstsq(x[train], wanted[train])",
            "lstsq(x, wanted)",
        ),
        cambia(
            "el control, por filas",
            "El control da una etiqueta a cada palabra, y la misma siempre; esto va por filas.",
            "control[types]",
            "control[torch.arange(len(types)) % len(control)]",
        ),
        cambia(
            "las clases, de cada una",
            "Las clases son las de `labels`, también si al control le falta alguna.",
            "one_hot(goal, classes)",
            "one_hot(goal)",
        ),
        cuerpo(
            "una sola sonda",
            "El control tiene su propia sonda, ajustada con sus etiquetas.",
            """
            x = torch.cat([states, torch.ones_like(states[:, :1])], dim=1)
            wanted = torch.nn.functional.one_hot(labels).to(x)
            scores = x[~train] @ torch.linalg.lstsq(x[train], wanted[train]).solution
            said = scores.argmax(dim=-1)
            right = (said == labels[~train]).double().mean()
            other = (said == control[types][~train]).double().mean()
            return torch.stack([scores, scores]), (right - other).item()""",
        ),
        cambia(
            "al revés",
            "Es el acierto de la sonda menos el del control.",
            "hits[0] - hits[1]",
            "hits[1] - hits[0]",
        ),
        cambia(
            "sin signo",
            "Si el control gana, la selectividad es negativa.",
            "hits[0] - hits[1]",
            "abs(hits[0] - hits[1])",
        ),
        cambia("solo el acierto", "Falta descontar el control.", "hits[0] - hits[1]", "hits[0]"),
        cambia(
            "cambiadas",
            "La primera es la sonda de verdad, y la segunda, su control.",
            "torch.stack(scores)",
            "torch.stack(scores[::-1])",
        ),
    ),
)

# --- 25.6 -----------------------------------------------------------------------------------------


def _casos_borrar(rng: Any) -> list[Caso]:
    def ejes(d: int, k: int) -> Any:
        """k direcciones independientes, nada ortogonales y de tamaños distintos."""
        base = ortonormal(rng, d, k).T
        torcida = base.clone()
        torcida[1:] += uniforme(rng, 0.5, 1.2, k - 1, 1) * base[:-1]
        return torcida * (uniforme(rng, 1.3, 2.5, k, 1) ** elige(rng, (-1, 1)))

    def repetidas(d: int) -> Any:
        """Dos independientes y, en medio, su combinación."""
        primera, segunda = ejes(d, 2)
        tres = primera.new_empty(3, d)
        tres[0], tres[1], tres[2] = primera, 0.5 * primera + real(rng, 1, 2) * segunda, segunda
        return tres

    def caso(propiedad: str, d: int, direcciones: Any, **opciones: Any) -> Caso:
        return Caso(propiedad, (normal(rng, entero(rng, 2, 4), d) + 0.3, direcciones), opciones)

    d = entero(rng, 4, 6)
    nulas = ejes(d, 2) * tensor([[1.0], [0.0]])
    return [
        caso("una", d, ejes(d, 1)),
        caso("una", 3, ejes(3, 1)),
        caso("varias", d, ejes(d, 2)),
        caso("varias", 5, ejes(5, entero(rng, 3, 4))),
        caso("a la media", d, ejes(d, 1), mean=normal(rng, d) + 1),
        caso("a la media", 5, ejes(5, 3), mean=normal(rng, 5) + 1),
        caso("repetidas", d, repetidas(d)),
        caso("repetidas", d, nulas),
        caso("repetidas", 3, 4 * repetidas(3), mean=normal(rng, 3) + 1),
    ]


_BORRAR = Ejercicio(
    id="25.6",
    nombre="erase",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="quitar de unos vectores lo que se lee en unas direcciones, a cero o a su media",
    bordes=(
        "len(directions) == 1",
        "mean is None",
        "len(x) == 1",
        "not directions[1].any()",
        Borde("una", {0: 0}),
    ),
    casos=_casos_borrar,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[3.0, 1.0], [1.0, 5.0]]), tensor([[2.0, 0.0]])),
        {"mean": tensor([4.0, 9.0])},
    ),
    propiedades={
        "una": (2, "Lo que queda es perpendicular a la dirección, mida lo que mida."),
        "varias": (2, "Lo que queda es perpendicular a todas a la vez."),
        "a la media": (2, "Lo borrado se cambia por lo que lleva la media; lo demás no se toca."),
        "repetidas": (2, "Una dirección nula, o que ya va en las demás, no cambia nada."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Comprueba lo que te sale: el producto con cada dirección ha de ser cero.",
        "Con direcciones que no son perpendiculares, quitar la segunda devuelve parte de la"
        " primera: antes hace falta una base ortonormal.",
        "Una base ortonormal de lo que abarcan la da la SVD, sin los valores singulares nulos. Con"
        " media, se resta antes de proyectar.",
    ),
    mutantes=(
        cambia(
            "lo quitado",
            "Esto es lo que se quita; se pide lo que queda.",
            "x - (x - centre)",
            "(x - centre)",
        ),
        cambia(
            "el doble",
            "Se quita una vez: quitarlo dos da el reflejo.",
            "x - (x - centre)",
            "x - 2 * (x - centre)",
        ),
        cambia(
            "sin la media",
            "Falta dejar, en lugar de lo borrado, lo que lleva la media.",
            "torch.zeros_like(x[0]) if mean is None else mean",
            "torch.zeros_like(x[0])",
        ),
        cambia(
            "la media, restada",
            "La media se pone en el sitio de lo borrado; aquí se resta otra vez.",
            "(x - centre)",
            "(x + centre)",
        ),
        cambia(
            "la media entera",
            "De la media solo se pone lo que va por esas direcciones.",
            "x - (x - centre) @ basis.T @ basis",
            "x - x @ basis.T @ basis + centre",
        ),
        cuerpo(
            "sin medir la dirección",
            "La dirección puede no medir 1: se divide entre su norma al cuadrado.",
            """
            centre = torch.zeros_like(x[0]) if mean is None else mean
            return x - (x - centre) @ directions.T @ directions""",
        ),
        cuerpo(
            "cada una por su lado",
            "Si no son perpendiculares, sumar lo que va por cada una quita de más o de menos.",
            """
            centre = torch.zeros_like(x[0]) if mean is None else mean
            size = directions.norm(dim=1, keepdim=True).clamp(min=1e-12)
            axes = directions / size
            return x - (x - centre) @ axes.T @ axes""",
        ),
        cuerpo(
            "una detrás de otra",
            "Al quitar una dirección vuelve parte de la anterior, si no son perpendiculares.",
            """
            rest = x if mean is None else x - mean
            for axis in directions:
                size = axis.norm().clamp(min=1e-12)
                rest = rest - (rest @ axis)[:, None] * axis / size**2
            return rest if mean is None else rest + mean""",
        ),
        cuerpo(
            "con las que sobran",
            "Una dirección que ya va en las demás, o nula, pone en la base un eje que no toca.",
            """
            basis = torch.linalg.qr(directions.T).Q.T
            centre = torch.zeros_like(x[0]) if mean is None else mean
            return x - (x - centre) @ basis.T @ basis""",
        ),
    ),
)

# --- 25.7 -----------------------------------------------------------------------------------------


def _alturas(x: Any, mezclas: Any, pesos: Any) -> list[Any]:
    salida = [x]
    for mezcla, peso in zip(mezclas, pesos, strict=True):
        salida.append(salida[-1] + (mezcla @ salida[-1] @ peso).tanh())
    return salida


def _casos_parches(rng: Any) -> list[Caso]:
    def caso(propiedad: str, capas: int, n: int, una: bool = False) -> Caso:
        d = entero(rng, 3, 4)

        def sortea() -> tuple[Any, ...]:
            buena, mala = normal(rng, n, d), normal(rng, n, d)
            if una:
                mala, sitio = buena.clone(), n // 2
                mala[sitio] = normal(rng, d)
            pesos = normal(rng, capas, d, d) * (1.0 if una else 0.8)
            return buena, mala, _mapa(rng, capas, n, n), pesos, normal(rng, d)

        def vale(dado: tuple[Any, ...]) -> bool:
            buena, mala, mezclas, pesos, lee = dado
            mejor, peor = (float(_alturas(x, mezclas, pesos)[-1][-1] @ lee) for x in (buena, mala))
            return min(abs(mejor), abs(peor), abs(mejor - peor), abs(mejor + peor)) > 0.3

        return Caso(propiedad, _hasta(sortea, vale))

    return [
        caso("una capa", 1, entero(rng, 2, 3)),
        caso("una capa", 1, 4),
        caso("varias capas", 2, 3),
        caso("varias capas", entero(rng, 2, 3), entero(rng, 3, 4)),
        caso("varias capas", 2, 1),
        caso("cambia una", 2, 3, una=True),
        caso("cambia una", 3, entero(rng, 4, 5), una=True),
    ]


_PARCHES = Ejercicio(
    id="25.7",
    nombre="patch_map",
    tipo="escribir",
    dificultad=2,
    minutos=35,
    aprende="parchear un sitio de una ejecución con lo de otra y medir cuánto vuelve",
    bordes=("len(clean) == 1", "len(mixes) == 1", "int((clean != corrupted).any(1).sum()) == 1"),
    casos=_casos_parches,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[0.0, 0.0], [0.0, 2.0]]),
            tensor([[[1.0, 0.0], [0.5, 0.5]]]),
            tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            tensor([1.0, 1.0]),
        ),
    ),
    propiedades={
        "una capa": (3, "Son dos alturas: la de la entrada y la de la salida."),
        "varias capas": (3, "Tras el parche se vuelven a calcular todas las capas que quedan."),
        "cambia una": (3, "Donde las dos ejecuciones llevan lo mismo, el parche no hace nada."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Antes de parchear, guarda lo que hay a cada altura en las dos ejecuciones.",
        "Cada casilla es otra ejecución, que empieza a su altura con la fila cambiada.",
        "La fila es de la buena y las demás de la estropeada; se resta la medida estropeada, y se"
        " divide entre la diferencia de las dos.",
    ),
    mutantes=(
        cambia(
            "toda la altura",
            "Se parchea una posición cada vez, no todas las de esa altura.",
            "mixed[place] = good[height][place]",
            "mixed = good[height]",
        ),
        cambia(
            "al revés",
            "Se pone lo bueno en la ejecución estropeada, no lo estropeado en la buena.",
            "bad[height].clone()",
            "good[height].clone()",
            "mixed[place] = good[height][place]",
            "mixed[place] = bad[height][place]",
        ),
        cambia(
            "sin dividir",
            "Falta dividir entre la diferencia de las dos ejecuciones.",
            "(effects - worst) / (best - worst)",
            "effects - worst",
        ),
        cambia(
            "sin restar",
            "La medida estropeada es el cero: falta restarla.",
            "(effects - worst)",
            "effects",
        ),
        cambia(
            "lo que falta",
            "Te sale al revés: 0 es no devolver nada, y 1, devolverlo todo.",
            "(effects - worst)",
            "(best - effects)",
        ),
        cambia(
            "se acumulan",
            "Cada casilla es una sola posición: aquí quedan puestos los parches de las anteriores.",
            "bad[height].clone()",
            "bad[height]",
        ),
        cambia(
            "vuelve a empezar",
            "Tras el parche van solo las capas que quedan, no todas otra vez.",
            "heights(mixed, height)",
            "heights(mixed)",
        ),
        cambia(
            "sin el atajo",
            "Cada capa suma a lo que había: falta el flujo residual.",
            "out[-1] + torch.tanh",
            "torch.tanh",
        ),
    ),
)

# --- 25.8 -----------------------------------------------------------------------------------------


def _paso(pesos: Any, valores: Any, hacia: Any) -> tuple[Any, float]:
    """De una fila: lo que se puede cambiar y cuánto se puede avanzar."""
    columnas = valores.new_ones(len(valores), valores.shape[1] + 1)
    columnas[:, :-1] = valores
    paso = hacia - pesos
    paso = paso - columnas @ (columnas.pinverse(rcond=1e-9) @ paso)
    cabe = [float(w / -s) for w, s in zip(pesos, paso, strict=True) if s < -1e-9]
    return paso, min([float("inf"), *cabe])


def _casos_otro_mapa(rng: Any) -> list[Caso]:
    import torch

    def valores(m: int, d: int, iguales: bool) -> Any:
        dados = normal(rng, m, d)
        if iguales:  # la primera palabra sale otras dos veces
            dados[m // 2], dados[m - 1] = dados[0], dados[0]
        return dados

    def caso(propiedad: str, n: int, m: int, d: int, cabe: bool, iguales: bool = False) -> Caso:
        """Filas en que se llega (``cabe``) o en que antes un peso se hace cero."""
        v = valores(m, d, iguales)

        def vale(dado: Any) -> bool:
            paso, hasta = _paso(dado[0], v, dado[1])
            return float(paso.abs().max()) > 0.03 and (hasta > 1.2 if cabe else hasta < 0.8)

        filas = [_hasta(lambda: _mapa(rng, 2, m, causal=False), vale) for _ in range(n)]
        pesos, hacia = torch.stack(filas, dim=1)
        return Caso(propiedad, (pesos, v, hacia))

    def causal(m: int, d: int, iguales: bool) -> Caso:
        """En las primeras filas no hay nada que cambiar; en la última, sí."""

        def vale(dado: Any) -> bool:
            pesos, v, hacia = dado
            return float(_paso(pesos[-1], v, hacia[-1])[0].abs().max()) > 0.03

        def sortea() -> tuple[Any, Any, Any]:
            return _mapa(rng, m, m), valores(m, d, iguales), _mapa(rng, m, m, causal=False)

        return Caso("tapadas", _hasta(sortea, vale))

    return [
        caso("más claves", entero(rng, 1, 2), 5, 2, True),
        caso("más claves", 2, entero(rng, 5, 6), 3, True),
        caso("iguales", entero(rng, 1, 2), 5, entero(rng, 5, 6), True, iguales=True),
        caso("iguales", 2, entero(rng, 4, 5), 4, True, iguales=True),
        caso("hasta cero", entero(rng, 2, 3), 5, 2, False),
        caso("hasta cero", 2, 5, 5, False, iguales=True),
        causal(entero(rng, 5, 6), 2, False),
        causal(5, entero(rng, 4, 6), True),
    ]


_OTRO_MAPA = Ejercicio(
    id="25.8",
    nombre="same_output",
    tipo="escribir",
    dificultad=3,
    minutos=45,
    aprende="hallar otro mapa de atención con la misma salida, y saber cuándo no lo hay",
    bordes=(
        "len(weights) == 1",
        "bool((weights == 0).any())",
        "values.shape[1] > len(values) - 1",
        "not weights[0, 1:].any()",
        Borde("más claves", {0: 0, 2: 0}),
    ),
    casos=_casos_otro_mapa,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.5, 0.25, 0.25], [0.1, 0.4, 0.5]]),
            tensor([[1.0], [0.0], [1.0]]),
            tensor([[0.2, 0.4, 0.4], [0.9, 0.1, 0.0]]),
        ),
    ),
    propiedades={
        "más claves": (3, "Mira las dos cosas que no cambian: la salida y la suma de los pesos."),
        "iguales": (2, "Entre palabras con el mismo valor, el peso se reparte como se quiera."),
        "hasta cero": (2, "Se avanza hasta que un peso sea cero, cada fila por su cuenta."),
        "tapadas": (3, "Lo que pesa cero está tapado y no cuenta; las demás claves, sí."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe qué debe cumplir un cambio de una fila para que no se note en la salida.",
        "Pon los valores y una columna de unos en una matriz: el cambio es perpendicular a todas"
        " sus columnas.",
        "Es lo de borrar direcciones: de lo que falta para llegar, quita lo que va por esas"
        " columnas. Después, mira qué peso se acaba antes.",
    ),
    mutantes=(
        cambia(
            "sin la suma",
            "La salida es la misma, pero los pesos ya no suman 1: falta la columna de unos.",
            "torch.cat([values, torch.ones_like(values[:, :1])], dim=1)",
            "values",
        ),
        cambia(
            "solo la suma",
            "Los pesos suman 1, pero la salida cambia: faltan los valores.",
            "torch.cat([values, torch.ones_like(values[:, :1])], dim=1)",
            "torch.ones_like(values[:, :1])",
        ),
        cambia(
            "el que se pide",
            "Es el mapa de llegada, y su salida es otra.",
            "other[row, seen] = now[seen] + min([1.0, *room]) * step",
            "other[row] = goal",
        ),
        cambia(
            "sin freno",
            "Hay pesos negativos: se avanza solo hasta que uno sea cero.",
            "min([1.0, *room])",
            "1.0",
        ),
        cambia(
            "los negativos, a cero",
            "Poner a cero los negativos cambia la salida: hay que avanzar menos.",
            "now[seen] + min([1.0, *room]) * step",
            "(now[seen] + step).clamp(min=0)",
        ),
        cambia(
            "destapa",
            "Lo que pesa cero está tapado y debe seguir a cero.",
            "seen = now > 0",
            "seen = now >= 0",
        ),
        cuerpo(
            "todas las filas, a la vez",
            "Cada fila avanza lo suyo: no tienen que pararse a la vez.",
            """
            columns = torch.cat([values, torch.ones_like(values[:, :1])], dim=1)
            other, most = torch.zeros_like(weights), 1.0
            for row, (now, goal) in enumerate(zip(weights, toward, strict=True)):
                seen = now > 0
                axes, sizes, _ = torch.linalg.svd(columns[seen], full_matrices=False)
                axes = axes[:, sizes > 1e-9 * sizes.max()]
                step = goal[seen] - now[seen]
                step = step - axes @ (axes.T @ step)
                falls = step < 0
                most = min([most, *(now[seen][falls] / -step[falls]).tolist()])
                other[row, seen] = step
            return weights + most * other""",
        ),
        cambia(
            "cuenta las que sobran",
            "Con palabras iguales hay valores singulares nulos, y sus ejes no cuentan.",
            "axes = axes[:, sizes > 1e-9 * sizes.max()]",
            "axes = axes[:, : min(columns[seen].shape)]",
        ),
    ),
)

EJERCICIOS = [
    _INDUCCION,
    _A_MANO,
    _DISTINGUEN,
    _LENTE,
    _SONDA,
    _BORRAR,
    _PARCHES,
    _OTRO_MAPA,
]
