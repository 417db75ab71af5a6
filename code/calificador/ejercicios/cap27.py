"""Ejercicios del capítulo 27, «Sociedad»."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
    entero,
    normal,
    ortonormal,
    permutacion,
    real,
    tensor,
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


# --- 27.1 -----------------------------------------------------------------------------------------


def _casos_efecto(rng: Any) -> list[Caso]:
    def caso(propiedad: str, n: int, m: int, p: int, q: int, escala: bool = False) -> Caso:
        d = entero(rng, 3, 5)

        def sortea() -> Any:
            grupos = [normal(rng, k, d) for k in (n, m, p, q)]
            if escala:  # longitudes muy distintas: sin dividir por ellas sale otra cosa
                largos = (tensor([1.0, 4.0, 0.3, 2.5, 7.0]) for _ in grupos)
                grupos = [
                    g * largo[: len(g), None] for g, largo in zip(grupos, largos, strict=True)
                ]
            return grupos

        def vale(grupos: Any) -> bool:
            if min(g.norm(dim=-1).min() for g in grupos) < 0.3:
                return False
            x, y, a, b = (g / g.norm(dim=-1, keepdim=True) for g in grupos)
            s = [(w @ a.mT).mean(-1) - (w @ b.mT).mean(-1) for w in (x, y)]
            return abs(s[0].mean() - s[1].mean()) > 0.15

        return Caso(propiedad, tuple(_hasta(sortea, vale)))

    return [
        caso("iguales", 3, 3, 2, 2),
        caso("iguales", 4, 4, 3, 3),
        caso("longitudes", 3, 3, 4, 4, True),
        caso("longitudes", 4, 4, 2, 2, True),
        caso("distintos", 2, 5, 3, 1),
        caso("distintos", 5, 3, 1, 4),
        caso("una palabra", 1, 1, 2, 3),
    ]


_EFECTO = Ejercicio(
    id="27.1",
    nombre="association_effect",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="medir la asociación de unas palabras con dos grupos de atributos",
    bordes=("len(x) == 1", "len(a) == 1", "len(b) == 1"),
    casos=_casos_efecto,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[2.0, 0.0], [3.0, 4.0]]),
            tensor([[0.0, 1.0], [-4.0, 3.0]]),
            tensor([[1.0, 0.0]]),
            tensor([[0.0, 5.0]]),
        ),
    ),
    propiedades={
        "iguales": (3, "Calcula a mano la asociación de la primera palabra."),
        "longitudes": (2, "El coseno no depende de lo largos que son los vectores."),
        "distintos": (2, "Cada media se divide entre los suyos, y la desviación es la de todas."),
        "una palabra": (1, "Con una palabra en cada grupo la desviación es la de las dos juntas."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz primero la tabla de cosenos de cada palabra con cada atributo.",
        "La asociación es la media de unas columnas menos la media de las otras.",
        "Divide la diferencia de medias entre la desviación de todas las asociaciones juntas.",
    ),
    mutantes=(
        cambia(
            "sin coseno",
            "Esto es el producto escalar: un vector largo parece más cercano.",
            "words, a, b = (v / v.norm(dim=-1, keepdim=True) for v in (words, a, b))",
            "",
        ),
        cambia(
            "solo las palabras",
            "Los atributos también se dividen entre su longitud.",
            "words, a, b = (v / v.norm(dim=-1, keepdim=True) for v in (words, a, b))",
            "words = words / words.norm(dim=-1, keepdim=True)",
        ),
        cambia(
            "con los centros",
            "Se promedian los cosenos, no los vectores: el coseno con la media es otro.",
            "s = (words @ a.mT).mean(-1) - (words @ b.mT).mean(-1)",
            "a, b = (v.mean(0) / v.mean(0).norm() for v in (a, b))\n    s = words @ a - words @ b",
        ),
        cambia(
            "suma",
            "Es la media de los cosenos, no la suma.",
            "s = (words @ a.mT).mean(-1) - (words @ b.mT).mean(-1)",
            "s = (words @ a.mT).sum(-1) - (words @ b.mT).sum(-1)",
        ),
        cambia("entre n", "La desviación se divide entre n − 1.", "s.std()", "s.std(correction=0)"),
        cambia("varianza", "Se divide entre la desviación, no la varianza.", "s.std()", "s.var()"),
        cambia(
            "desviación de un grupo",
            "La desviación es la de todas las palabras juntas.",
            "s.std()",
            "(s[:n].std() if n > 1 else s.std())",
        ),
        cambia(
            "dentro de cada grupo",
            "La desviación es la de todas juntas, no la de dentro de cada grupo.",
            "s.std()",
            "(((s[:n] - s[:n].mean()).square().sum() + (s[n:] - s[n:].mean()).square().sum())"
            " / max(len(s) - 2, 1)).sqrt()",
        ),
        cambia(
            "al revés",
            "El signo está cambiado.",
            "(s[:n].mean() - s[n:].mean())",
            "(s[n:].mean() - s[:n].mean())",
        ),
    ),
)

# --- 27.2 -----------------------------------------------------------------------------------------

_ENCOGE = Ejercicio(
    id="27.2",
    nombre="shrunk",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="distinguir lo separados que están dos grupos de cuánto se separan",
    propiedades={"respuesta": (2, "Escribe la fórmula con todas las asociaciones entre diez.")},
    opciones=("se divide entre diez", "se divide entre cien", "no cambia", "se hace cero"),
    pistas=(
        "¿Qué le pasa al numerador?",
        "¿Y a la desviación, si todos los números se dividen entre diez?",
    ),
    mutantes=(
        cuerpo(
            "solo el numerador",
            "Eso le pasa a la diferencia de medias. ¿Y a la desviación?",
            "return 'se divide entre diez'",
        ),
        cuerpo(
            "al cuadrado",
            "Entre cien se divide la varianza, y aquí se divide entre la desviación.",
            "return 'se divide entre cien'",
        ),
        cuerpo(
            "cero",
            "Diez veces menos no es cero, y dividir entre la desviación lo devuelve a su sitio.",
            "return 'se hace cero'",
        ),
    ),
)

# --- 27.3 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="27.3",
    nombre="exposure_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=12,
    aprende="pasar de un puesto a una exposición, y dar una energía con un intervalo",
    propiedades={
        "first": (1, "El logaritmo en base 2 de los códigos, menos el de su puesto."),
        "middle": (1, "¿A qué potencia de 2 es igual 32?"),
        "rank": (1, "Despeja el puesto."),
        "luck": (1, "¿Qué puestos tienen esa exposición o más? Todos son igual de probables."),
        "low": (1, "Potencia por tiempo, en kilovatios y horas, con la menor."),
        "high": (1, "Lo mismo, con la mayor y el edificio que más añade."),
    },
    pistas=(
        "4096 es una potencia de 2.",
        "Un bit más de exposición es estar en la mitad del puesto.",
        "Un código no plantado cae en cualquier puesto: cuenta los que valen, entre todos.",
    ),
    mutantes=(
        cambia("el puesto", "Eso es un puesto, no una exposición.", '"first": bits', '"first": 1'),
        cambia(
            "cociente",
            "Se restan los logaritmos.",
            "bits - math.log2(32)",
            "codes / 32",
        ),
        cambia(
            "solo el puesto",
            "Falta restarlo de la del primero.",
            "bits - math.log2(32)",
            "math.log2(32)",
        ),
        cambia(
            "la diferencia",
            "Son los bits que faltan: el puesto es 2 elevado a ellos.",
            "2 ** (bits - 9)",
            "bits - 9",
        ),
        cambia(
            "cuántos",
            "Esos son los puestos que valen: falta dividir entre todos.",
            "2 ** (bits - 8) / codes",
            "2 ** (bits - 8)",
        ),
        cambia(
            "la mitad",
            "¿Qué puestos tienen exposición de 8 o más? No son la mitad.",
            "2 ** (bits - 8) / codes",
            "8 / bits",
        ),
        cambia(
            "vatios hora",
            "Eso son vatios hora.",
            "200 / 1000",
            "200",
            "300 / 1000",
            "300",
        ),
        cambia("sin enfriar", "Falta el 20 % de enfriar, en el mayor.", " * 1.2", ""),
        cambia(
            "enfriar los dos",
            "En el menor, el edificio no añade nada.",
            "200 / 1000",
            "200 / 1000 * 1.2",
        ),
        cambia(
            "una máquina",
            "Son cuatro máquinas.",
            "5 * 4 * 200",
            "5 * 200",
            "5 * 4 * 300",
            "5 * 300",
        ),
    ),
)

# --- 27.4 -----------------------------------------------------------------------------------------


def _casos_repartos(rng: Any) -> list[Caso]:
    def caso(
        propiedad: str, n: int, m: int, vale: Callable[[Any], bool], potencia: int = 1
    ) -> Caso:
        def sortea() -> Any:
            numeros = [x**potencia for x in distintos(rng, 1, 80 // potencia, n + m)]
            return tensor([x / 4 for x in numeros[:n]]), tensor([x / 4 for x in numeros[n:]])

        return Caso(propiedad, _hasta(sortea, vale))

    def no_es_el_doble(x: Any) -> bool:
        """El doble del lado que menos da no es la parte de los dos lados."""
        juntos, n, visto = [*x[0].tolist(), *x[1].tolist()], len(x[0]), separa(x)
        m, total = len(juntos) - n, sum(juntos)
        dan = [sum(c) / n - (total - sum(c)) / m for c in combinations(juntos, n)]
        lados = sum(d >= visto - 1e-9 for d in dan), sum(d <= visto + 1e-9 for d in dan)
        return 2 * min(lados) != sum(abs(d) >= abs(visto) - 1e-9 for d in dan)

    def empates(n: int, m: int) -> Caso:
        valores = tensor([-1.0, 0.0, 0.0, 1.0, 1.0, 2.0])

        def sortea() -> Any:
            orden = permutacion(rng, 6)
            return valores[tensor(orden[:n])], valores[tensor(orden[n : n + m])]

        return Caso("empates", _hasta(sortea, lambda x: x[0].mean() > x[1].mean()))

    separa = lambda x: (x[0].mean() - x[1].mean()).item()  # noqa: E731
    return [
        caso("a la derecha", 3, 3, lambda x: 0.2 < separa(x) and x[0].min() < x[1].max()),
        caso("a la derecha", 4, 4, lambda x: 0.2 < separa(x) and x[0].min() < x[1].max()),
        caso("a la izquierda", 3, 3, lambda x: separa(x) < -0.2 and x[0].max() > x[1].min()),
        caso("a la izquierda", 4, 3, lambda x: separa(x) < -0.2 and x[0].max() > x[1].min()),
        caso(
            "distinto tamaño",
            2,
            5,
            lambda x: separa(x) > 0.2 and x[0].sum() < x[1].sum() and no_es_el_doble(x),
            2,  # cuadrados: con números a la misma distancia los dos lados dan lo mismo
        ),
        caso("distinto tamaño", 5, 2, lambda x: separa(x) > 0.2 and no_es_el_doble(x), 2),
        caso("distinto tamaño", 2, 4, lambda x: separa(x) < -0.2 and no_es_el_doble(x), 2),
        caso("distinto tamaño", 1, 4, lambda x: separa(x) > 0.2),
        empates(3, 3),
        empates(2, 4),
    ]


_REPARTOS = Ejercicio(
    id="27.4",
    nombre="exact_p",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="hacer entera una prueba de permutación",
    bordes=("len(first) == 1", Borde("distinto tamaño", {0: 0, 1: 0})),
    casos=_casos_repartos,
    ejemplo=lambda: Caso("ejemplo", (tensor([3.0, 2.0]), tensor([1.0, 0.0]))),
    propiedades={
        "a la derecha": (2, "Cuenta el propio reparto, y los que separan más."),
        "a la izquierda": (
            2,
            "Hacia ese lado es con su signo: si es negativa, casi todos la pasan.",
        ),
        "distinto tamaño": (2, "Con tamaños distintos no hay simetría: cuenta los dos lados."),
        "empates": (2, "Un reparto que separa lo mismo cuenta."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe los seis repartos de cuatro números en dos grupos de dos.",
        "De cada reparto, la media de los elegidos menos la de los demás.",
        "Los dos lados: con valor absoluto en las dos partes de la comparación.",
    ),
    mutantes=(
        cambia(
            "sin empates",
            "Los que separan lo mismo, y él mismo, cuentan.",
            "found >= seen - 1e-9",
            "found > seen + 1e-9",
        ),
        cambia(
            "dos lados sin empates",
            "Los dos lados: los que separan lo mismo cuentan.",
            "abs(found) >= abs(seen) - 1e-9",
            "abs(found) > abs(seen) + 1e-9",
        ),
        cambia(
            "el doble",
            "Doblar solo vale si la distribución es simétrica, y no pasa de 1.",
            "both / total",
            "2 * one / total",
        ),
        cambia(
            "el doble del menor",
            "Doblar el menor solo vale con grupos iguales: compara valores absolutos.",
            "one = both = total = 0",
            "one = less = both = total = 0",
            "one += found >= seen - 1e-9",
            "one, less = one + (found >= seen - 1e-9), less + (found <= seen + 1e-9)",
            "both / total",
            "2 * min(one, less) / total",
        ),
        cambia(
            "hacia un lado",
            "Los dos lados: falta el valor absoluto.",
            "abs(found) >= abs(seen) - 1e-9",
            "found >= seen - 1e-9",
        ),
        cambia(
            "con el absoluto",
            "El primero es con signo.",
            "found >= seen - 1e-9\n        both",
            "found >= abs(seen) - 1e-9\n        both",
        ),
        cambia(
            "sumas",
            "Se comparan medias: con tamaños distintos las sumas dicen otra cosa.",
            "seen = (first.mean() - second.mean()).item()",
            "seen = (first.sum() - second.sum()).item()",
            "found = (whole[mine].mean() - whole[~mine].mean()).item()",
            "found = (whole[mine].sum() - whole[~mine].sum()).item()",
        ),
        cambia(
            "más uno",
            "Sumar uno es para sorteos; aquí están todos los repartos.",
            "return one / total, both / total",
            "return (one + 1) / (total + 1), (both + 1) / (total + 1)",
        ),
        cambia(
            "lo contrario",
            "Es la parte de los que llegan, no de los que no.",
            "return one / total, both / total",
            "return 1 - one / total, 1 - both / total",
        ),
    ),
)

# --- 27.5 -----------------------------------------------------------------------------------------


def _casos_tasas(rng: Any) -> list[Caso]:
    def caso(propiedad: str, *cuentas: tuple[int, int, int, int]) -> Caso:
        """De cada grupo: merecen y sí, merecen y no, no merecen y sí, no merecen y no."""
        filas = [
            (merece, si, g)
            for g, veces in enumerate(cuentas)
            for (merece, si), n in zip(((1, 1), (1, 0), (0, 1), (0, 0)), veces, strict=True)
            for _ in range(n)
        ]
        filas = [filas[i] for i in permutacion(rng, len(filas))]
        merece, si, grupo = zip(*filas, strict=True)
        return Caso(
            propiedad, (tensor([*map(bool, merece)]), tensor([*map(bool, si)]), tensor([*grupo]))
        )

    def al_azar() -> tuple[int, int, int, int]:
        uno, dos, tres, cuatro = distintos(rng, 1, 9, 4)
        return uno, dos, tres, cuatro

    return [
        caso("dos grupos", al_azar(), al_azar()),
        caso("dos grupos", (3, 1, 2, 6), al_azar()),
        caso("tres grupos", al_azar(), (1, 20, 15, 1), al_azar()),
        caso("tres grupos", al_azar(), (20, 1, 1, 15), al_azar(), al_azar()),
        caso("sin fallos", (4, 0, 0, 3), al_azar()),
        caso("sin fallos", al_azar(), (2, 0, 3, 5)),
        caso("un grupo", al_azar()),
    ]


_TASAS = Ejercicio(
    id="27.5",
    nombre="group_rates",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="comparar las tasas de error de varios grupos",
    bordes=("int(group.max()) == 0", "len(said) > 20"),
    casos=_casos_tasas,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([True, True, False, False, True, False]),
            tensor([True, False, True, False, True, False]),
            tensor([0, 0, 0, 0, 1, 1]),
        ),
    ),
    propiedades={
        "dos grupos": (3, "Haz la tabla de cada grupo: merecen o no, sí o no."),
        "tres grupos": (3, "La mayor diferencia es entre el que más y el que menos."),
        "sin fallos": (1, "Sin nadie que mereciera el sí y oyese no, FN es 0."),
        "un grupo": (1, "Con un solo grupo no hay diferencias."),
    },
    prohibido=(ATENTO,),
    tolerancia=1e-6,  # se puede contar en 32 bits y pasar a 64 al final; son menos de 50 personas
    pistas=(
        "De cada grupo, cuatro cuentas: merecen y sí, merecen y no, no y sí, no y no.",
        "VPP se divide entre los síes; FN, entre los que lo merecían.",
        "FP se divide entre los que no lo merecían, no entre los síes.",
    ),
    mutantes=(
        cambia(
            "VPP de los buenos",
            "VPP se divide entre los que oyeron sí.",
            "good[yes].double().mean()",
            "yes[good].double().mean()",
        ),
        cambia(
            "FP entre los síes",
            "FP se divide entre los que no lo merecían.",
            "yes[~good].double().mean()",
            "(~good)[yes].double().mean()",
        ),
        cambia(
            "FN entre los noes",
            "FN se divide entre los que lo merecían.",
            "(~yes)[good].double().mean()",
            "(good[~yes].double().mean() if (~yes).any() else torch.tensor(0.0))",
        ),
        cambia(
            "aciertos",
            "FN cuenta los que oyeron no.",
            "(~yes)[good].double().mean()",
            "yes[good].double().mean()",
        ),
        cambia(
            "entre todos",
            "Cada tasa tiene su denominador, no el grupo entero.",
            "yes[~good].double().mean()",
            "(yes & ~good).double().mean()",
        ),
        cambia(
            "los que merecen",
            "La primera es la parte que oyó sí.",
            "yes.double().mean(),\n                good[yes]",
            "good.double().mean(),\n                good[yes]",
        ),
        cambia(
            "los dos primeros",
            "La diferencia es entre el mayor y el menor de todos.",
            "rates.amax(0) - rates.amin(0)",
            "(rates[0] - rates[-1]).abs()",
        ),
        cambia(
            "con signo",
            "La diferencia es el mayor menos el menor.",
            "rates.amax(0) - rates.amin(0)",
            "rates.amin(0) - rates.amax(0)",
        ),
    ),
)

# --- 27.6 -----------------------------------------------------------------------------------------


def _casos_quitar(rng: Any) -> list[Caso]:
    def caso(propiedad: str, parejas: int, *, vueltas: bool, largos: float = 1.0) -> Caso:
        """Parejas separadas sobre todo por una dirección, unas en un orden y otras en el otro."""
        d, n = entero(rng, 4, 6), entero(rng, 2, 4)

        def sortea() -> Any:
            eje = ortonormal(rng, d, 1)[:, 0]
            signos = tensor([-1.0 if vueltas and i % 2 else 1.0 for i in range(parejas)])
            fuerza = tensor([2.0 + real(rng, 0.2, 2.0) for _ in range(parejas)]) * signos
            centro, ruido = 2 * normal(rng, parejas, d), 0.25 * normal(rng, parejas, d)
            medio = 0.5 * (fuerza[:, None] * eje + ruido)
            return largos * normal(rng, n, d), centro + medio, centro - medio

        def vale(x: Any) -> bool:
            import torch

            resta = x[1] - x[2]
            valores = torch.linalg.svdvals(resta)
            unidad = torch.linalg.svd(resta).Vh[0]
            parte = (x[0] @ unidad).abs()
            resto = (x[0].square().sum(-1) - parte.square()).clamp(min=0).sqrt()
            clara = len(valores) == 1 or bool(valores[0] > 2 * valores[1])
            return clara and parte.min() > 0.2 * largos and resto.min() > 0.5 * largos

        return Caso(propiedad, tuple(_hasta(sortea, vale)))

    return [
        caso("parejas", 4, vueltas=False),
        caso("parejas", 5, vueltas=False),
        caso("en los dos órdenes", 4, vueltas=True),
        caso("en los dos órdenes", 6, vueltas=True),
        caso("una pareja", 1, vueltas=False),
        caso("longitudes", 5, vueltas=True, largos=6.0),
        caso("longitudes", 3, vueltas=True, largos=0.2),
    ]


_QUITAR = Ejercicio(
    id="27.6",
    nombre="remove_direction",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="hallar la dirección de unas parejas y quitarla",
    bordes=("len(left) == 1", Borde("parejas", {0: 0})),
    casos=_casos_quitar,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[3.0, 4.0], [-1.0, 2.0]]),
            tensor([[1.0, 1.0], [0.0, 3.0]]),
            tensor([[3.0, 1.0], [-1.0, 3.0]]),
        ),
    ),
    propiedades={
        "parejas": (2, "La dirección es la que más separa a las parejas, todas a la vez."),
        "en los dos órdenes": (3, "Una pareja puede venir al revés: la media se anula."),
        "una pareja": (1, "Con una pareja, la dirección es su diferencia."),
        "longitudes": (2, "Al final, cada fila mide 1."),
    },
    prohibido=(ATENTO,),
    tolerancia=1e-8,
    pistas=(
        "Resta cada pareja: te queda una matriz con una diferencia por fila.",
        "Busca la dirección unidad con la que las diferencias tienen la mayor suma de cuadrados.",
        "Es el primer vector singular de la derecha, o el primer autovector de la matriz de"
        " productos.",
    ),
    mutantes=(
        cambia(
            "la media",
            "Con parejas en los dos órdenes la media se anula: no mires el signo.",
            "torch.linalg.svd(left - right, full_matrices=False).Vh[0]",
            "torch.nn.functional.normalize((left - right).mean(0), dim=0)",
        ),
        cambia(
            "restando la media",
            "No se resta la media de las diferencias: es lo que se busca.",
            "torch.linalg.svd(left - right, full_matrices=False).Vh[0]",
            "torch.linalg.svd((left - right) - (left - right).mean(0)).Vh[0]",
        ),
        cambia(
            "sin acortar",
            "Al final, las filas se dejan de longitud 1.",
            "rest / rest.norm(dim=-1, keepdim=True)",
            "rest",
        ),
        cambia(
            "la longitud antes",
            "Las filas se dejan de longitud 1 después de quitar.",
            "rest / rest.norm(dim=-1, keepdim=True)",
            "rest / x.norm(dim=-1, keepdim=True)",
        ),
        cambia(
            "la última",
            "Ese es el vector que menos separa.",
            ".Vh[0]",
            ".Vh[-1]",
            "return rest",
            "unit = unit if len(left) > 1 else -unit\n    return rest",
        ),
        cambia("solo unas", "Se restan las dos de cada pareja.", "left - right", "left"),
        cambia(
            "la primera pareja",
            "Cuentan todas las parejas, no solo la primera.",
            "torch.linalg.svd(left - right, full_matrices=False).Vh[0]",
            "torch.nn.functional.normalize(left[0] - right[0], dim=0)",
        ),
        cambia(
            "lo que se quita",
            "Eso es lo que va por la dirección: se pide lo demás.",
            "rest = x - (x @ unit)[:, None] * unit",
            "rest = (x @ unit)[:, None] * unit",
        ),
    ),
)

# --- 27.7 -----------------------------------------------------------------------------------------


def _casos_repetidos(rng: Any) -> list[Caso]:
    def caso(
        propiedad: str,
        n: int,
        umbral: float,
        *textos: list[int],
        sueltos: int = 0,
        vale: Callable[[list[int]], bool] = lambda orden: True,
    ) -> Caso:
        """Los textos, barajados con otros que no se parecen a ninguno."""
        otros = [[200 + 10 * i + k for k in range(entero(rng, 2, 5))] for i in range(sueltos)]
        todos = [*map(list, textos), *otros]
        orden = _hasta(lambda: permutacion(rng, len(todos)), vale)
        return Caso(propiedad, ([todos[i] for i in orden], n, umbral))

    def medio_tras(orden: list[int]) -> bool:
        """El de en medio de la cadena, que es el texto 1, va tras sus dos extremos."""
        return orden.index(1) > max(orden.index(0), orden.index(2))

    def primero(orden: list[int]) -> bool:
        """El texto 0, el que repite un trozo, va antes que el 1."""
        return orden.index(0) < orden.index(1)

    f, g = distintos(rng, 10, 90, 12), distintos(rng, 100, 180, 10)
    otra, doble = [*f[:6], f[11]], [*f[:2] * 3, f[2]]
    return [
        caso("iguales", 2, 0.9, f[:5], f[5:9], f[:5], f[5:9], f[:5], sueltos=2),
        caso("iguales", 3, 0.9, g[:6], g[4:], g[:6], sueltos=3),
        caso("casi iguales", 2, 0.6, f[:7], f[7:11], otra, [f[7], f[9], f[8], f[10]], sueltos=1),
        caso("casi iguales", 2, 0.4, g[:6], [*reversed(g[:6])], g[1:7], sueltos=3),
        caso("casi iguales", 2, 0.5, doble, [*f[:2], f[3]], g[:4], g[:4], vale=primero),
        caso("casi iguales", 2, 0.55, g[:4], [*g[:3], g[7]], f[:4], f[:4], sueltos=2),
        caso("en cadena", 2, 0.5, f[:8], f[2:10], f[4:12], sueltos=3, vale=medio_tras),
        caso("en cadena", 1, 0.5, f[:3], f[1:4], f[2:5], f[3:6], sueltos=3),
        # en este orden, una sola pasada que copia la menor etiqueta vecina deja dos grupos
        Caso("en cadena", ([f[i : i + 2] for i in (0, 4, 3, 1, 2)], 1, 0.3)),
        caso("justo el umbral", 2, 0.5, f[:4], [*f[:3], f[6]], g[:4], sueltos=3),
        caso("justo el umbral", 1, 0.25, f[:4], [f[3], f[4]], [f[10]], sueltos=3),
        caso("justo el umbral", 1, 0.2, g[:3], g[2:5], g[6:8], g[7:10], sueltos=1),
        caso("cortos", 3, 0.5, f[:2], f[:2], f[:1], f[1:2], f[:3], sueltos=2),
        caso("cortos", 4, 0.5, g[:3], g[:4], g[:3], g[1:4], sueltos=2),
    ]


_REPETIDOS = Ejercicio(
    id="27.7",
    nombre="near_duplicates",
    tipo="escribir",
    dificultad=3,
    minutos=40,
    aprende="encontrar los textos que se repiten con alguna palabra cambiada",
    bordes=("n == 1", "any(len(t) < n for t in texts)"),
    casos=_casos_repetidos,
    ejemplo=lambda: Caso("ejemplo", ([[1, 2, 3, 4], [7, 8, 9], [1, 2, 3, 5]], 2, 0.5)),
    propiedades={
        "iguales": (1, "De varios idénticos queda el primero."),
        "casi iguales": (
            3,
            "Cuentan los n-gramas distintos que comparten, entre todos los de los dos.",
        ),
        "en cadena": (3, "Si A va con B y B con C, los tres son un grupo."),
        "justo el umbral": (2, "Con el umbral justo, se parecen."),
        "cortos": (1, "Un texto más corto que n tiene un solo n-grama: él entero."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz el conjunto de n-gramas de cada texto, y mira lo que comparten los del ejemplo.",
        "El parecido es lo que comparten entre lo que reúnen los dos.",
        "Lo parecido se encadena: recorre las parejas, juntando grupos; queda el primero.",
    ),
    mutantes=(
        cambia(
            "sin cadena",
            "Se compara con todos, también con los que ya sobran: hay cadenas.",
            "group = list(range(len(texts)))\n",
            "group, gone = list(range(len(texts))), set()\n",
            "if shared >= threshold - 1e-9:",
            "if shared >= threshold - 1e-9 and i not in gone:",
            "low, high = sorted((group[i], group[j]))\n"
            "            group = [low if g == high else g for g in group]",
            "gone.add(j)\n            group[j] = group[i] if group[j] == j else group[j]",
        ),
        cambia(
            "mayor estricto",
            "Con el umbral justo también se parecen.",
            "threshold - 1e-9",
            "threshold + 1e-9",
        ),
        cambia(
            "entre el menor",
            "Se divide entre todos los de los dos, no entre los del más corto.",
            "len(grams[i] | grams[j])",
            "min(len(grams[i]), len(grams[j]))",
        ),
        cambia(
            "palabras sueltas",
            "Son trozos de n seguidos, no palabras sueltas.",
            "{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)}",
            "set(t)",
        ),
        cambia(
            "repetidos en la lista",
            "Son conjuntos: un n-grama que sale dos veces cuenta una.",
            "shared = len(grams[i] & grams[j]) / len(grams[i] | grams[j])",
            "count = [[tuple(t[k : k + n]) for k in range(max(len(t) - n, 0) + 1)]"
            " for t in (texts[i], texts[j])]\n"
            "        shared = sum(x in count[1] for x in count[0]) / (len(count[0]) + len(count[1])"
            " - sum(x in count[1] for x in count[0]))",
        ),
        cambia(
            "los idénticos",
            "También sobran los que cambian alguna palabra.",
            "if shared >= threshold - 1e-9:",
            "if texts[i] == texts[j]:",
        ),
        cambia(
            "el último",
            "Del grupo queda el primero.",
            "return sorted(set(group))",
            "return sorted(max(k for k, h in enumerate(group) if h == g) for g in set(group))",
        ),
        cambia(
            "los cortos no",
            "Un texto más corto que n también se compara: entero.",
            "range(max(len(t) - n, 0) + 1)",
            "range(len(t) - n + 1)",
            "len(grams[i] | grams[j])",
            "max(len(grams[i] | grams[j]), 1)",
        ),
        cambia(
            "los que sobran",
            "Se piden los que quedan.",
            "return sorted(set(group))",
            "return sorted(set(range(len(texts))) - set(group))",
        ),
    ),
)

EJERCICIOS = [_EFECTO, _ENCOGE, _A_MANO, _REPARTOS, _TASAS, _QUITAR, _REPETIDOS]
