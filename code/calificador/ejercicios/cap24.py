"""Ejercicios del capítulo 24, «Por qué funciona (y qué no se sabe)»."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calificador.generadores import (
    Borde,
    elige,
    entero,
    normal,
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


def _mapa(rng: Any, *forma: int, causal: bool = False) -> Any:
    """Pesos de atención (…, n, n), sin ceros donde se ve."""
    pesos = (1.5 * normal(rng, *forma)).exp()
    pesos = pesos.tril() if causal else pesos
    return pesos / pesos.sum(-1, keepdim=True)


def _barajados(rng: Any, valores: list[float]) -> Any:
    return tensor([valores[i] for i in permutacion(rng, len(valores))])


# --- 24.1 -----------------------------------------------------------------------------------------


def _casos_nucleo(rng: Any) -> list[Caso]:
    def caso(propiedad: str, veces: Any, **opciones: float) -> Caso:
        m, d = len(veces), entero(rng, 2, 4)
        return Caso(
            propiedad,
            (normal(rng, d), normal(rng, m, d), normal(rng, m, entero(rng, 1, 3)), veces),
            opciones,
        )

    def enorme(veces: Any, puntos: Any, beta: float) -> Caso:
        """Claves con estas puntuaciones: la parte de la consulta se pone, y la demás se sortea."""
        m, d = len(veces), entero(rng, 2, 4)
        consulta = _hasta(lambda: normal(rng, d), lambda q: float(q @ q) > 0.5)
        claves = normal(rng, m, d)
        falta = puntos / beta - claves @ consulta
        claves = claves + falta[:, None] * consulta / (consulta @ consulta)
        return Caso("enormes", (consulta, claves, normal(rng, m, 2), veces), {"beta": beta})

    def una(m: int) -> Any:
        return tensor([1.0] * m)

    sobra = _barajados(rng, [0.0, 1.0, 2.0, 3.0])
    lejos = normal(rng, 4) + 1200 + 900 * (sobra == 0)
    return [
        caso("una vez", una(entero(rng, 2, 4))),
        caso("una vez", una(4), beta=real(rng, 1.6, 2.4)),
        caso("una vez", una(3), beta=real(rng, 0.3, 0.6)),
        caso("varias veces", _barajados(rng, [1.0, 2.0, 4.0])),
        caso("varias veces", _barajados(rng, [0.0, 1.0, 3.0, 5.0]), beta=real(rng, 1.6, 2.4)),
        caso("varias veces", _barajados(rng, [0.0, 0.0, 2.0, 1.0]), beta=real(rng, 0.3, 0.6)),
        enorme(_barajados(rng, [1.0, 2.0, 3.0]), normal(rng, 3) + 1500, 2.0),
        enorme(sobra, lejos, real(rng, 1.6, 2.4)),
        enorme(una(3), normal(rng, 3) - 1500, 0.5),
    ]


_NUCLEO = Ejercicio(
    id="24.1",
    nombre="kernel_average",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="escribir la atención de una consulta como la media de Nadaraya–Watson",
    bordes=("bool((counts == 0).any())", "len(keys) == 1", Borde("una vez", {1: 0, 2: 0, 3: 0})),
    casos=_casos_nucleo,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([1.0, 0.0]),
            tensor([[2.0, 1.0], [1.0, 5.0]]),
            tensor([[10.0], [20.0]]),
            tensor([1.0, 3.0]),
        ),
    ),
    propiedades={
        "una vez": (3, "Cada valor pesa su núcleo, y se divide entre la suma de los núcleos."),
        "varias veces": (3, "Escribe la clave repetida de verdad y compara."),
        "enormes": (2, "Resta la mayor de las puntuaciones que cuentan: al dividir, se va."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Calcula a mano el núcleo de dos claves y la media de sus valores.",
        "Una clave vista tres veces suma tres veces su núcleo, arriba y abajo.",
        "El núcleo de todas se puede multiplicar por lo mismo sin que cambie la media: elige cuánto"
        " para que el mayor de los que cuentan sea 1.",
    ),
    mutantes=(
        cambia("sin β", "Falta β, que multiplica el producto.", "beta * (keys", "(keys"),
        cambia("entre β", "β multiplica el producto; aquí lo divide.", "beta * (", "1 / beta * ("),
        cambia(
            "una vez cada una",
            "Falta contar cuántas veces se ha visto cada clave.",
            "kernel = counts *",
            "kernel = (counts > 0) *",
        ),
        cambia(
            "las veces, dentro",
            "Las veces multiplican el núcleo, no la puntuación que va dentro de la exponencial.",
            "beta * (keys @ query)",
            "beta * counts * (keys @ query)",
            "kernel = counts *",
            "kernel = (counts > 0) *",
        ),
        cambia(
            "las veces, al final",
            "Los pesos no suman 1: las veces también van en la suma de abajo.",
            "kernel.sum()",
            "(kernel / counts.clamp(min=1)).sum()",
        ),
        cambia(
            "entre las veces",
            "Se divide entre la suma de los núcleos, no entre cuántas claves hay.",
            "kernel.sum()",
            "counts.sum()",
        ),
        cambia(
            "de la distancia",
            "Ese es el núcleo gaussiano; el exponencial mira el producto.",
            "(keys @ query)",
            "-(keys - query).square().sum(dim=1) / 2",
        ),
        cambia(
            "sin restar la mayor",
            "El núcleo desborda o se queda en cero: resta antes la mayor puntuación.",
            "(scores - top).clamp(max=0)",
            "scores",
        ),
        cambia(
            "la mayor de todas",
            "La mayor es de una clave que no se ha visto, y las demás se quedan en cero.",
            "scores[counts > 0].max()",
            "scores.max()",
        ),
    ),
)

# --- 24.2 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="24.2",
    nombre="entropy_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    aprende="calcular la entropía de unos pesos y saber hacia dónde la lleva la temperatura",
    propiedades={
        "bits": (1, "Los pesos son octavos: ¿cuántos bits cuesta cada uno?"),
        "choices": (1, "¿Cuántas claves iguales hacen falta para esos bits?"),
        "cold": (1, "Las puntuaciones se dividen entre la temperatura."),
        "frozen": (1, "Cerca de 0 solo pesan las que empatan en lo más alto."),
        "hot": (1, "Si la temperatura es enorme, todas las puntuaciones son casi 0."),
    },
    tolerancias={"bits": 1e-3, "choices": 1e-3, "cold": 1e-3, "frozen": 1e-3, "hot": 1e-3},
    pistas=(
        "La exponencial de ln 4 es 4: los pesos salen sin calculadora.",
        "La entropía es la media de −log₂ de cada peso, con los propios pesos.",
        "n claves con el mismo peso tienen log₂ n bits.",
    ),
    mutantes=(
        cambia(
            "en nats",
            "Eso está en nats: en bits el logaritmo es en base 2.",
            "w * math.log2(w)",
            "w * math.log(w)",
            "2 ** bits(weights(sizes))",
            "math.exp(bits(weights(sizes)))",
            "math.log2([4, 4, 4, 1].count(4))",
            "math.log([4, 4, 4, 1].count(4))",
            "math.log2(len(sizes))",
            "math.log(len(sizes))",
        ),
        cambia(
            "sin pesar",
            "Cada −log₂ se cuenta con su peso; aquí todos cuentan igual.",
            '"bits": bits(weights(sizes))',
            '"bits": -sum(math.log2(w) for w in weights(sizes)) / 4',
        ),
        cambia(
            "la suma",
            "Falta multiplicar cada −log₂ por su peso.",
            '"bits": bits(weights(sizes))',
            '"bits": -sum(math.log2(w) for w in weights(sizes))',
        ),
        cambia(
            "todas las claves",
            "Cuatro claves iguales tendrían 2 bits, que son más.",
            "2 ** bits(weights(sizes))",
            "len(sizes)",
        ),
        cambia(
            "la base",
            "La entropía está en bits: se deshace con un 2, no con e.",
            "2 ** bits(weights(sizes))",
            "math.exp(bits(weights(sizes)))",
        ),
        cambia(
            "al revés",
            "Con temperatura ½ las puntuaciones se doblan: dividir entre ½ es multiplicar por 2.",
            "weights(sizes, 0.5)[0]",
            "weights(sizes, 2.0)[0]",
        ),
        cambia(
            "sin enfriar",
            "Ese es el peso con temperatura 1.",
            "weights(sizes, 0.5)[0]",
            "weights(sizes)[0]",
        ),
        cambia(
            "helada",
            "Se lleva todo el peso en el límite, no con temperatura ½.",
            "weights(sizes, 0.5)[0]",
            "1.0",
        ),
        cambia(
            "una sola",
            "Con empate no gana una sola: se reparten el peso.",
            "math.log2([4, 4, 4, 1].count(4))",
            "0.0",
        ),
        cambia(
            "cuántas empatan",
            "Son tres claves; se pide su entropía, en bits.",
            "math.log2([4, 4, 4, 1].count(4))",
            "[4, 4, 4, 1].count(4)",
        ),
        cambia(
            "las cuatro",
            "La cuarta no empata, y se queda sin peso.",
            "math.log2([4, 4, 4, 1].count(4))",
            "math.log2(4)",
        ),
        cambia(
            "no cambia",
            "Es la de temperatura 1; al calentar, los pesos se igualan.",
            "math.log2(len(sizes))",
            "bits(weights(sizes))",
        ),
        cambia(
            "cuántas hay",
            "Son cuatro claves; se piden sus bits.",
            "math.log2(len(sizes))",
            "len(sizes)",
        ),
        cambia(
            "hacia cero",
            "La entropía baja a 0 al enfriar, no al calentar.",
            "math.log2(len(sizes))",
            "0.0",
        ),
    ),
)

# --- 24.3 -----------------------------------------------------------------------------------------

_CLASES = Ejercicio(
    id="24.3",
    nombre="kinds_of_claim",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="decir si una frase es teorema, medida o analogía, y si le falta una hipótesis",
    propiedades={"respuesta": (2, "De cada frase, ¿qué la desmentiría? ¿Se puede encontrar?")},
    opciones=(
        "teorema, falsa, medida, analogía",
        "teorema, teorema, medida, analogía",
        "falsa, falsa, medida, analogía",
        "teorema, falsa, teorema, analogía",
        "teorema, falsa, medida, medida",
    ),
    pistas=(
        "Busca en cada frase qué se supone y de cuántos casos habla.",
        "Un teorema vale para cualquier caso que cumpla sus hipótesis; una medida, para los que se"
        " han mirado.",
        "Dos frases solo se diferencian en una hipótesis. Prueba con el mapa que no mezcla nada.",
    ),
    mutantes=(
        cuerpo(
            "dos teoremas",
            "A la segunda le falta una hipótesis: prueba con una matriz que doble lo que recibe.",
            "return 'teorema, teorema, medida, analogía'",
        ),
        cuerpo(
            "dos falsas",
            "La primera no tiene contraejemplo: una media pesada no sale de lo que promedia.",
            "return 'falsa, falsa, medida, analogía'",
        ),
        cuerpo(
            "la tercera, para todas",
            "La tercera habla de una matriz y de veinte frases, y veinte no son todas.",
            "return 'teorema, falsa, teorema, analogía'",
        ),
        cuerpo(
            "la cuarta se mide",
            "¿Qué número de una capa haría falsa la cuarta? Mientras no se diga, no se mide.",
            "return 'teorema, falsa, medida, medida'",
        ),
    ),
)

# --- 24.4 -----------------------------------------------------------------------------------------


def _casos_energia(rng: Any) -> list[Caso]:
    def caso(propiedad: str, m: int, beta: float, repite: bool = False) -> Caso:
        n, d = entero(rng, 2, 3), entero(rng, 2, 4)

        def sortea() -> tuple[Any, Any]:
            patrones = normal(rng, m, d)
            if repite:
                patrones[m - 1] = patrones[0]
            return normal(rng, n, d), patrones

        def vale(dado: tuple[Any, Any]) -> bool:
            estados, patrones = dado
            tamanos = patrones.norm(dim=1)
            lejos = abs(float(tamanos.max()) - 1) > 0.1 and float(estados.norm()) > 0.3
            return lejos and (beta < 100 or float((beta * estados @ patrones.T).max()) > 1000)

        return Caso(propiedad, _hasta(sortea, vale), {"beta": beta})

    return [
        caso("varios patrones", entero(rng, 2, 5), real(rng, 1.6, 3.0)),
        caso("varios patrones", entero(rng, 3, 4), real(rng, 0.3, 0.6)),
        caso("varios patrones", entero(rng, 3, 5), real(rng, 1.6, 3.0), repite=True),
        caso("un patrón", 1, real(rng, 1.6, 3.0)),
        caso("un patrón", 1, real(rng, 0.3, 0.6)),
        caso("β enorme", entero(rng, 3, 5), real(rng, 900, 1500)),
        caso("β enorme", 2, real(rng, 900, 1500)),
    ]


_ENERGIA = Ejercicio(
    id="24.4",
    nombre="hopfield_energy",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="calcular la energía de Hopfield y ver que bajar por ella es una atención",
    bordes=(
        "len(patterns) == 1",
        "beta > 800",
        "empate(patterns.T)",
        "len(states) == 1",
        Borde("varios patrones", {0: 0}),
    ),
    casos=_casos_energia,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[1.0, 0.0], [0.5, 0.5]]), tensor([[1.0, 0.0], [0.0, 2.0]])),
        {"beta": 2.0},
    ),
    propiedades={
        "varios patrones": (3, "Revisa los cuatro términos, uno a uno, y dónde va β en cada uno."),
        "un patrón": (2, "Con uno solo, la energía es media distancia al cuadrado."),
        "β enorme": (3, "El logaritmo de la suma de exponenciales se calcula sin desbordar."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Con un solo patrón, simplifica la fórmula en papel: ¿qué queda?",
        "Los dos últimos términos son números que no dependen del estado.",
        "Al derivar el logaritmo de la suma sale la softmax de β por los productos, y la β de fuera"
        " se va con la de dentro.",
    ),
    mutantes=(
        cambia(
            "sin dividir entre β",
            "El logaritmo de la suma va dividido entre β.",
            "scores.logsumexp(dim=-1) / beta",
            "scores.logsumexp(dim=-1)",
        ),
        cambia(
            "el cuadrado entero",
            "Del cuadrado del estado se toma la mitad.",
            "states.square().sum(dim=-1) / 2",
            "states.square().sum(dim=-1)",
        ),
        cambia(
            "sin ln m",
            "Falta el término de cuántos patrones hay.",
            "math.log(len(patterns)) / beta",
            "0.0",
        ),
        cambia(
            "ln m sin β",
            "El logaritmo de cuántos hay también va dividido entre β.",
            "math.log(len(patterns)) / beta",
            "math.log(len(patterns))",
        ),
        cambia(
            "la norma sin cuadrado",
            "El último término es la mitad del cuadrado de la norma mayor.",
            "patterns.square().sum(dim=-1).max()",
            "patterns.norm(dim=-1).max()",
        ),
        cambia(
            "la norma media",
            "La norma es la del patrón mayor, no la media.",
            "sum(dim=-1).max()",
            "sum(dim=-1).mean()",
        ),
        cambia(
            "lo contrario",
            "Parecerse a un patrón baja la energía: el primer término resta.",
            "- attraction",
            "+ attraction",
        ),
        cambia(
            "gradiente sin β",
            "La softmax del gradiente es la de β por los productos.",
            "states - scores.softmax(dim=-1)",
            "states - (scores / beta).softmax(dim=-1)",
        ),
        cambia(
            "la actualización",
            "Eso es el paso siguiente; el gradiente es el estado menos eso.",
            "states - scores.softmax(dim=-1)",
            "scores.softmax(dim=-1)",
        ),
        cambia(
            "cuesta abajo",
            "El gradiente apunta hacia donde sube la energía: tiene el signo cambiado.",
            "return energy, states - scores.softmax(dim=-1) @ patterns",
            "return energy, scores.softmax(dim=-1) @ patterns - states",
        ),
        cambia(
            "desborda",
            "Con β enorme las exponenciales desbordan: resta antes la mayor puntuación.",
            "scores.logsumexp(dim=-1)",
            "scores.exp().sum(dim=-1).log()",
        ),
        cambia(
            "sin repetidos",
            "Un patrón guardado dos veces cuenta dos veces.",
            "scores = beta",
            "patterns = patterns.unique(dim=0)\n    scores = beta",
        ),
    ),
)

# --- 24.5 -----------------------------------------------------------------------------------------


def _movidas(estados: Any, patrones: Any, beta: float, pasos: int) -> Any:
    """Cuánto se mueve cada componente de cada estado, paso a paso: (pasos, n, d)."""
    movidas = []
    for _ in range(pasos):
        otros = (beta * estados @ patrones.T).softmax(-1) @ patrones
        movidas.append((otros - estados).abs().tolist())
        estados = otros
    return tensor(movidas)


def _casos_parar(rng: Any) -> list[Caso]:
    def caso(propiedad: str, n: int, pide: Callable[..., bool], **opciones: Any) -> Caso:
        tolerancia, tope = opciones.get("tolerance", 1e-3), opciones.get("most", 100)
        frio = propiedad == "en pocos"

        def sortea() -> Any:
            d, m = entero(rng, 3, 4), entero(rng, 3, 4)
            beta = real(rng, 2.0, 5.0) if frio else real(rng, 0.3, 0.8)
            return normal(rng, n, d), normal(rng, m, d), beta

        def vale(dado: Any) -> bool:
            movidas = _movidas(*dado, 20 if frio else 45)
            mayores = movidas.amax(-1)
            if bool(((mayores / tolerancia - 1).abs() < 0.01).any()):
                return False  # por un pelo no se decide
            quietos = [x < tolerancia for x in (mayores, movidas.norm(dim=-1), movidas.mean(-1))]
            if not bool(quietos[0].any(0).all()):
                return False
            cuentas = [(1 + q.long().argmax(0)).tolist() for q in quietos]
            return pide(tope, *cuentas)

        estados, patrones, beta = _hasta(sortea, vale)
        return Caso(propiedad, (estados, patrones), {"beta": beta, **opciones})

    def pocos(tope: int, cuantos: list[int], *otras: Any) -> bool:
        return 2 <= min(cuantos) and max(cuantos) <= 12

    def distintos(tope: int, cuantos: list[int], *otras: list[int]) -> bool:
        aparte = max(cuantos) - min(cuantos) > 2
        return aparte and min(cuantos) > 2 and all(otra != cuantos for otra in otras)

    def cortados(tope: int, cuantos: list[int], *otras: Any) -> bool:
        return min(cuantos) < tope < max(cuantos) - 1

    return [
        caso("en pocos", 2, pocos),
        caso("en pocos", 2, pocos, tolerance=elige(rng, (2e-3, 4e-3, 8e-3))),
        caso("cada uno lo suyo", 3, distintos),
        caso("cada uno lo suyo", 3, distintos, tolerance=elige(rng, (2e-4, 4e-4))),
        caso("no da tiempo", 3, cortados, most=entero(rng, 6, 8)),
        caso(
            "no da tiempo",
            3,
            cortados,
            tolerance=elige(rng, (2e-3, 4e-3, 8e-3)),
            most=entero(rng, 4, 6),
        ),
        caso("uno solo", 1, lambda tope, cuantos, *otras: cuantos[0] > 4),
        caso("uno solo", 1, lambda tope, cuantos, *otras: cuantos[0] > 3, most=1),
    ]


_PARAR = Ejercicio(
    id="24.5",
    nombre="settle",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="repetir la actualización de Hopfield y contar cuánto tarda en pararse",
    bordes=("len(states) == 1", "most == 1"),
    casos=_casos_parar,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[1.0, 0.5], [0.0, 0.4]]), tensor([[2.0, 0.0], [0.0, 2.0]])),
        {"beta": 1.0, "tolerance": 0.05},
    ),
    propiedades={
        "en pocos": (3, "El paso es la media de los patrones, con los pesos de la softmax."),
        "cada uno lo suyo": (2, "El que se ha parado ya no se mueve, aunque los demás sigan."),
        "no da tiempo": (2, "Nadie da más de `most` pasos, y puede que algunos no se paren."),
        "uno solo": (1, "Con un solo estado las formas no cambian."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Hazlo primero para un estado, con un bucle.",
        "En cada paso, apunta cuánto se ha movido la componente que más se mueve.",
        "El paso pequeño se da y se cuenta, y después ese estado se queda quieto.",
    ),
    mutantes=(
        cambia(
            "no cuenta el último",
            "El paso en que ya casi no se mueve también cuenta.",
            "steps[moving] += 1",
            "steps[moving & (moved >= tolerance)] += 1",
        ),
        cambia(
            "no da el último",
            "El último paso, aunque sea pequeño, se da antes de parar.",
            "states[moving] = target[moving]",
            "going = moving & (moved >= tolerance)\n        states[going] = target[going]",
        ),
        cambia(
            "hasta que paran todos",
            "Cada estado se para cuando le toca; aquí siguen hasta que paran todos.",
            "moving = moving & (moved >= tolerance)",
            "moving = (moving & (moved >= tolerance)).any().expand(len(states))",
        ),
        cambia(
            "cuando para uno",
            "Al pararse uno se han parado todos.",
            "moving = moving & (moved >= tolerance)",
            "moving = (moving & (moved >= tolerance)).all().expand(len(states))",
        ),
        cambia(
            "con la norma",
            "Se mira la componente que más se mueve, no la norma de lo que se mueve.",
            "(target - states).abs().amax(dim=-1)",
            "(target - states).norm(dim=-1)",
        ),
        cambia(
            "con la media",
            "Se mira la componente que más se mueve, no la media de todas.",
            "(target - states).abs().amax(dim=-1)",
            "(target - states).abs().mean(dim=-1)",
        ),
        cambia(
            "sin β",
            "Falta β delante de los productos.",
            "(beta * (states @ patterns.T))",
            "(states @ patterns.T)",
        ),
        cambia(
            "con residuo",
            "El estado pasa a ser la media; aquí se le suma.",
            "target = weights @ patterns",
            "target = states + weights @ patterns",
        ),
        cambia(
            "sin tope",
            "Hay un tope de pasos: quien no se ha parado se queda donde esté.",
            "range(most)",
            "range(1000)",
        ),
        cambia(
            "uno de más",
            "El último paso de los que da tiempo a dar es el número `most`: aquí se da otro.",
            "range(most)",
            "range(most + 1)",
        ),
    ),
)

# --- 24.6 -----------------------------------------------------------------------------------------


def _casos_fuera(rng: Any) -> list[Caso]:
    def caso(propiedad: str, capas: int, n: int, escala: float = 1.0, **opciones: bool) -> Caso:
        d = entero(rng, 2, 4)
        x = _hasta(
            lambda: normal(rng, n, d) + 0.5 * normal(rng, d),
            lambda x: n == 1 or float((x - x.mean(0)).norm()) > 0.3,
        )
        pesos = escala * (normal(rng, capas, d, d) + 0.3)
        return Caso(propiedad, (x, _mapa(rng, capas, n, n), pesos), opciones)

    return [
        caso("sin residuo", entero(rng, 1, 3), entero(rng, 3, 4)),
        caso("sin residuo", 2, 5),
        caso("con residuo", entero(rng, 1, 3), entero(rng, 3, 4), skip=True),
        caso("con residuo", 3, 4, 0.5, skip=True),
        caso("otra escala", 2, entero(rng, 3, 4), real(rng, 20, 40)),
        caso("otra escala", 2, entero(rng, 3, 4), 1 / entero(rng, 25, 50)),
        caso("en el borde", 0, entero(rng, 2, 3)),
        caso("en el borde", 0, entero(rng, 3, 4), skip=True),
        caso("en el borde", 2, 1),
    ]


_FUERA = Ejercicio(
    id="24.6",
    nombre="outside_mean",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="medir el colapso de rango a cada altura, sin que lo esconda el tamaño",
    bordes=("len(x) == 1", "len(maps) == 0", "skip is None"),
    casos=_casos_fuera,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([[[0.75, 0.25], [0.25, 0.75]]]),
            tensor([[[2.0, 0.0], [0.0, 2.0]]]),
        ),
    ),
    propiedades={
        "sin residuo": (3, "Calcula a mano la altura 0: la media de las filas y lo que falta."),
        "con residuo": (2, "Con `skip`, lo que entra en la capa se suma a lo que sale."),
        "otra escala": (2, "Multiplicar todos los estados por diez no cambia la medida."),
        "en el borde": (1, "Sin capas queda la altura 0; con una sola fila no sobra nada."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Guarda los estados de cada altura, empezando por la entrada.",
        "La media es de las filas: un vector de `d_model`, el mismo para todas las posiciones.",
        "Divide la norma de lo que sobra a esa altura entre la de los estados a esa misma altura.",
    ),
    mutantes=(
        cambia(
            "la media de cada fila",
            "La tuya se hace dentro de cada vector. Haz la media entre posiciones: da un vector.",
            "stack.mean(dim=1, keepdim=True)",
            "stack.mean(dim=2, keepdim=True)",
        ),
        cambia(
            "un solo número",
            "La media es un vector, no un número para todo.",
            "stack.mean(dim=1, keepdim=True)",
            "stack.mean(dim=(1, 2), keepdim=True)",
        ),
        cambia(
            "la media de la entrada",
            "A cada altura, la media es la de esa altura.",
            "stack.mean(dim=1, keepdim=True)",
            "stack[:1].mean(dim=1, keepdim=True)",
        ),
        cambia(
            "sin dividir",
            "Falta dividir entre el tamaño de los estados.",
            "rest.norm(dim=(1, 2)) / stack.norm(dim=(1, 2))",
            "rest.norm(dim=(1, 2))",
        ),
        cambia(
            "entre la entrada",
            "Se divide entre lo que miden los estados a esa altura, no a la entrada.",
            "/ stack.norm(dim=(1, 2))",
            "/ x.norm()",
        ),
        cambia(
            "al cuadrado",
            "Esa es la parte de la suma de cuadrados: falta la raíz.",
            "rest.norm(dim=(1, 2)) / stack.norm(dim=(1, 2))",
            "(rest.norm(dim=(1, 2)) / stack.norm(dim=(1, 2))).square()",
        ),
        cambia(
            "sin residuo",
            "Con `skip`, falta sumar lo que entró en la capa.",
            "states[-1] + new if skip else new",
            "new",
        ),
        cambia(
            "con residuo siempre",
            "Sin `skip`, la capa no suma lo que entró.",
            "states[-1] + new if skip else new",
            "states[-1] + new",
        ),
        cambia(
            "sin la entrada",
            "Falta la altura 0, que es la entrada.",
            "torch.stack(states)",
            "torch.stack(states)[1:]",
        ),
        cambia(
            "traspuesta",
            "Los estados van por filas: multiplican a la matriz por la izquierda.",
            "@ weight\n",
            "@ weight.T\n",
        ),
    ),
)

# --- 24.7 -----------------------------------------------------------------------------------------


def _casos_ondas(rng: Any) -> list[Caso]:
    def caso(propiedad: str, cabezas: int, n: int, causal: bool = False, **opciones: int) -> Caso:
        return Caso(propiedad, (_mapa(rng, cabezas, n, n, causal=causal),), opciones)

    return [
        caso("una vez", entero(rng, 2, 3), entero(rng, 3, 4)),
        caso("una vez", 2, 5),
        caso("una vez", 1, 6),
        caso("varias veces", entero(rng, 1, 2), entero(rng, 4, 5), times=2),
        caso("varias veces", 2, 5, times=3),
        caso("varias veces", 1, 4, times=0),
        caso("causal", 1, entero(rng, 4, 6), True),
        caso("causal", 2, entero(rng, 4, 6), True, times=2),
    ]


_ONDAS = Ejercicio(
    id="24.7",
    nombre="frequency_gains",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="medir qué frecuencias deja pasar un mapa de atención",
    bordes=("times == 0", "len(maps) == 1", "maps.shape[-1] % 2 == 1"),
    casos=_casos_ondas,
    ejemplo=lambda: Caso("ejemplo", (tensor([[[0.75, 0.25], [0.5, 0.5]]]),), {}),
    propiedades={
        "una vez": (
            3,
            "La frecuencia 0 es una constante, y ningún mapa la cambia: su ganancia es 1.",
        ),
        "varias veces": (3, "Aplica el mapa `times` veces a la onda y mide al final."),
        "causal": (2, "Las ondas van por las claves, que son las columnas."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe el coseno y el seno de una frecuencia, multiplica por el mapa y mide.",
        "El mapa por el coseno, fila a fila, es la parte real de una transformada de Fourier.",
        "La suma de los cuadrados del coseno y del seno es n en todas las frecuencias.",
    ),
    mutantes=(
        cambia(
            "por las consultas",
            "La onda se pone en las claves, que son las columnas; aquí va en las consultas.",
            "rfft(power, dim=-1)",
            "rfft(power.mT, dim=-1)",
        ),
        cambia(
            "la potencia de la ganancia",
            "Tras el primer paso ya no es una onda sola: se eleva el mapa, no la ganancia.",
            "torch.linalg.matrix_power(maps, times)",
            "maps",
            ".sqrt()",
            ".sqrt() ** times",
        ),
        cambia(
            "una sola vez",
            "Falta aplicar el mapa `times` veces.",
            "torch.linalg.matrix_power(maps, times)",
            "maps",
        ),
        cambia(
            "sin la raíz",
            "Ese es el cociente de los cuadrados: falta la raíz.",
            ".sqrt()",
            "",
        ),
        cambia(
            "sin dividir",
            "Falta dividir entre lo que medía la onda.",
            " / maps.shape[-1]",
            "",
        ),
        cambia(
            "la media de los tamaños",
            "El tamaño de lo que queda es la raíz de la suma de los cuadrados, no una media.",
            "(seen.abs().square().sum(dim=1) / maps.shape[-1]).sqrt()",
            "seen.abs().mean(dim=1)",
        ),
        cambia(
            "solo el coseno",
            "Falta el seno: con el coseno solo, depende de dónde empiece la onda.",
            "(seen.abs().square().sum(dim=1) / maps.shape[-1]).sqrt()",
            "seen.real.norm(dim=1) / torch.fft.rfft(torch.eye(maps.shape[-1])).real.norm(dim=0)",
        ),
        cambia(
            "todas las vueltas",
            "Las frecuencias pasan de la mitad de n: las demás son las mismas, del revés.",
            "torch.fft.rfft",
            "torch.fft.fft",
        ),
        cambia(
            "sale la misma onda",
            "Cuenta todo lo que queda de la onda, no solo lo que sale con su frecuencia.",
            "(seen.abs().square().sum(dim=1) / maps.shape[-1]).sqrt()",
            "torch.fft.fft(seen, dim=1).diagonal(dim1=1, dim2=2).abs() / maps.shape[-1]",
        ),
    ),
)

# --- 24.8 -----------------------------------------------------------------------------------------


def _proyector(pesos: Any) -> Any:
    """El límite de la media de las potencias: el del camino que la mitad de las veces se queda."""
    perezoso = pesos.clone()
    perezoso.diagonal().add_(1)
    return (perezoso / 2).matrix_power(4096)


def _casos_larga(rng: Any) -> list[Caso]:
    import torch

    def hace(grupos: list[int], de_paso: int, turnos: bool, causal: bool) -> Any:
        """Grupos de los que no se sale, posiciones de paso, y todo barajado."""
        n, desde = sum(grupos) + de_paso, 0
        pesos = uniforme(rng, 0.2, 1.0, n, n) ** 3 + 0.05
        dentro = torch.zeros(n, n, dtype=torch.bool)
        for g in grupos:
            dentro[desde : desde + g, desde : desde + g] = True
            if turnos:  # de la primera mitad a la segunda, y al revés
                lado = torch.arange(g) < g // 2
                dentro[desde : desde + g, desde : desde + g] = lado[:, None] != lado
            desde += g
        dentro[desde:] = True
        pesos = (pesos * dentro).tril() if causal else pesos * dentro
        pesos = pesos / pesos.sum(-1, keepdim=True)
        if causal:
            return pesos
        orden = permutacion(rng, n)
        return pesos[orden][:, orden]

    def caso(
        propiedad: str, *grupos: int, de_paso: int = 0, turnos: bool = False, causal: bool = False
    ) -> Caso:
        def sortea() -> tuple[Any, Any]:
            pesos = hace(list(grupos), de_paso, turnos, causal)
            inicio = uniforme(rng, 0.1, 1.0, len(pesos)) ** 2
            return pesos, inicio / inicio.sum()

        def vale(dado: tuple[Any, Any]) -> bool:
            pesos, inicio = dado
            if len(pesos) == 1:
                return True
            tamanos = torch.linalg.svdvals(pesos - torch.eye(len(pesos)).to(pesos))
            if len(grupos) < len(pesos) and float(tamanos[-len(grupos) - 1]) < 0.05:
                return False
            larga = _proyector(pesos)
            llega = inicio @ larga
            lejos = [pesos.mean(0), inicio @ pesos, larga @ inicio]
            if not causal:
                lejos.append(tensor([1 / len(pesos)] * len(pesos)))
            if len(grupos) > 1:
                lejos.append(larga.mean(0))
            if turnos:
                lejos.append(inicio @ pesos.matrix_power(64))
            return all(float((llega - x).abs().max()) > 0.02 for x in lejos)

        return Caso(propiedad, _hasta(sortea, vale))

    return [
        caso("se llega a todas", entero(rng, 3, 5)),
        caso("se llega a todas", 3, de_paso=entero(rng, 1, 2)),
        caso("se llega a todas", 1),
        caso("varios grupos", 2, entero(rng, 2, 3)),
        caso("varios grupos", 2, 2, de_paso=entero(rng, 1, 2)),
        caso("varios grupos", 2, 1, 2, de_paso=1),
        caso("se queda", 1, 1, de_paso=entero(rng, 2, 3)),
        caso("se queda", 1, 1, 1, de_paso=2),
        caso("se queda", 1, de_paso=entero(rng, 2, 3), causal=True),
        caso("por turnos", entero(rng, 4, 5), turnos=True),
        caso("por turnos", 3, 2, de_paso=1, turnos=True),
    ]


_LARGA = Ejercicio(
    id="24.8",
    nombre="long_run",
    tipo="escribir",
    dificultad=3,
    minutos=45,
    aprende="hallar a dónde lleva un mapa visto como camino, y cuándo depende de dónde se empieza",
    tolerancia=1e-8,
    bordes=("len(weights) == 1", "bool((weights == 1).any())", "bool((weights > 0).all())"),
    casos=_casos_larga,
    ejemplo=lambda: Caso("ejemplo", (tensor([[0.5, 0.5], [0.25, 0.75]]), tensor([1.0, 0.0]))),
    propiedades={
        "se llega a todas": (3, "Al dar un paso más, el reparto no cambia."),
        "varios grupos": (
            3,
            "Depende de dónde se empiece: ¿con qué probabilidad se acaba en cada grupo?",
        ),
        "se queda": (2, "Lo que estaba en una posición de paso acaba repartido entre las otras."),
        "por turnos": (2, "Si se va por turnos, las potencias no se paran; la media, sí."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Prueba con dos posiciones que solo se miran la una a la otra: ¿qué hacen las potencias?",
        "Un reparto que no cambia es un autovector de valor 1 por la izquierda. Puede haber más.",
        "Por la derecha hay otros tantos, que dicen dónde se acaba. Empareja unos con otros; o"
        " quédate quieto la mitad de las veces, y las potencias ya se paran.",
    ),
    mutantes=(
        cambia(
            "una potencia",
            "Si se va por turnos, una potencia alta depende de si es par o impar.",
            "start @ right @ paired",
            "start @ torch.linalg.matrix_power(weights, 64)",
        ),
        cambia(
            "da igual dónde",
            "Con más de un grupo, importa dónde se empieza.",
            "start @ right @ paired",
            "(right @ paired).mean(dim=0)",
        ),
        cambia(
            "por la derecha",
            "Un reparto multiplica al mapa por la izquierda; aquí va por la derecha.",
            "start @ right @ paired",
            "right @ paired @ start",
        ),
        cambia(
            "un paso",
            "Eso es dónde está tras un paso; se pide a la larga.",
            "start @ right @ paired",
            "start @ weights",
        ),
        cambia(
            "lo que recibe",
            "Eso es la atención que recibe cada posición si se empieza en cualquiera: es un paso.",
            "start @ right @ paired",
            "weights.mean(dim=0)",
        ),
        cambia(
            "siempre uno",
            "Si hay varios grupos, hay varios repartos que no cambian.",
            "int(still.sum())",
            "1",
        ),
        cambia(
            "los que cambian",
            "Eso cuenta los que cambian: es el rango de A − I.",
            "int(still.sum())",
            "len(weights) - int(still.sum())",
        ),
        cambia(
            "los que no se mueven",
            "Un grupo puede tener varias posiciones: no basta contar las que se miran solo a sí"
            " mismas.",
            "int(still.sum())",
            "max(1, int((weights.diagonal() == 1).sum()))",
        ),
        cambia(
            "hasta los que giran",
            "Si se va por turnos hay autovalores de tamaño 1 que no son 1: esos repartos cambian.",
            "int(still.sum())",
            "int((torch.linalg.eigvals(weights).abs() > 1 - 1e-9).sum())",
        ),
    ),
)

EJERCICIOS = [
    _NUCLEO,
    _A_MANO,
    _CLASES,
    _ENERGIA,
    _PARAR,
    _FUERA,
    _ONDAS,
    _LARGA,
]
