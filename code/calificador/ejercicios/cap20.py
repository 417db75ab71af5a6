"""Ejercicios del capítulo 20, «Detectar y segmentar»."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
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


def _esquinas(cajas: Any) -> Any:
    """De centro y tamaño a esquinas."""
    otras = cajas.clone()
    otras[..., :2] = cajas[..., :2] - cajas[..., 2:] / 2
    otras[..., 2:] = cajas[..., :2] + cajas[..., 2:] / 2
    return otras


def _cajas(rng: Any, *forma: int) -> Any:
    """Cajas medianas, como centro y tamaño: se tocan todas."""
    cajas = uniforme(rng, 0.4, 0.6, *forma, 4)
    cajas[..., 2:] = uniforme(rng, 0.3, 0.7, *forma, 2)
    return cajas


# --- 20.1 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="20.1",
    nombre="boxes_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    aprende="medir cuánto se solapan dos cajas, y cuánto se separan si no se tocan",
    propiedades={
        "shared": (1, "El ancho de lo que comparten por el alto de lo que comparten."),
        "iou": (1, "Lo que comparten, entre lo que ocupan entre las dos."),
        "giou": (1, "Al IoU se le resta la parte de la caja que las envuelve que queda vacía."),
        "far": (1, "Sin nada en común el IoU es 0: cuenta lo que queda vacío."),
        "farther": (1, "Dibuja la caja que envuelve a A y a D, y cuenta lo que queda vacío."),
    },
    pistas=(
        "Dibuja las cuatro cajas y cuenta cuadros.",
        "Lo que ocupan entre las dos es la suma de sus áreas menos lo que comparten.",
        "La caja que las envuelve va del menor comienzo al mayor final, en cada eje. Lo vacío se"
        " divide entre su área.",
    ),
    mutantes=(
        cambia(
            "suma los lados",
            "El área es el ancho por el alto, no su suma.",
            '"shared": shared(a, b)',
            '"shared": 3 + 1',
        ),
        cambia(
            "cuenta dos veces lo común",
            "En la suma de las áreas, lo que comparten está dos veces.",
            '"iou": shared(a, b) / union(a, b)',
            '"iou": shared(a, b) / (union(a, b) + shared(a, b))',
        ),
        cambia(
            "entre la que envuelve",
            "Se divide entre lo que ocupan las dos, no entre la caja que las envuelve.",
            '"iou": shared(a, b) / union(a, b)',
            '"iou": shared(a, b) / 40',
        ),
        cambia(
            "sin el IoU",
            "Falta el IoU: eso es solo lo que se le resta.",
            '"giou": giou(a, b)',
            '"giou": giou(a, b) - shared(a, b) / union(a, b)',
        ),
        cambia(
            "suma lo vacío",
            "Lo vacío se resta: cuanto más hay, peor.",
            "union(p, q) - (hull",
            "union(p, q) + (hull",
        ),
        cambia(
            "resta lo lleno",
            "Se resta la parte vacía de la caja que las envuelve, no la ocupada.",
            "(hull - union(p, q)) / hull",
            "union(p, q) / hull",
        ),
        cambia(
            "entre la unión",
            "Lo vacío se divide entre la caja que envuelve, no entre lo que ocupan.",
            "(hull - union(p, q)) / hull",
            "(hull - union(p, q)) / union(p, q)",
        ),
        cambia(
            "un área negativa",
            "Si no se tocan, lo que comparten es 0, no un número negativo.",
            "max(width, 0) * max(height, 0)",
            "width * height",
        ),
        cambia(
            "el IoU, otra vez",
            "Ese es el IoU, que es 0 con las dos: se pide el GIoU.",
            '"far": giou(a, c)',
            '"far": 0',
            '"farther": giou(a, d)',
            '"farther": 0',
        ),
    ),
)

# --- 20.2 -----------------------------------------------------------------------------------------


def _casos_giou(rng: Any) -> list[Caso]:
    def tocan(lotes: int, n: int, m: int) -> Caso:
        return Caso("se tocan", (_cajas(rng, lotes, n), _esquinas(_cajas(rng, lotes, m))))

    def separadas(lotes: int, n: int, m: int) -> Caso:
        """La mitad, lejos en los dos ejes; las demás, en uno."""
        dadas, hay = _cajas(rng, lotes, n), _esquinas(_cajas(rng, lotes, m))
        dadas[:, ::2, :2] += 1.5
        dadas[:, 1::2, elige(rng, (0, 1))] -= 1.5
        return Caso("separadas", (dadas, hay))

    def sin_area(lotes: int) -> Caso:
        dadas, hay = _cajas(rng, lotes, 4), _esquinas(_cajas(rng, lotes, 4))
        dadas[:, 0, 2:] = 0  # un punto
        dadas[:, 1, 3] = 0  # un segmento
        dadas[:, 1, 1] = uniforme(rng, 1.2, 1.6, lotes)  # por debajo de todo
        hay[:, 0] = dadas[:, 0, [0, 1, 0, 1]]  # el mismo punto
        hay[:, 1, 1] = hay[:, 1, 3] = dadas[:, 1, 1]  # un segmento de la misma recta
        hay[:, 2, 2:] = hay[:, 2, :2]  # otro punto
        orden, otro = permutacion(rng, 4), permutacion(rng, 4)
        return Caso("sin área", (dadas[:, orden], hay[:, otro]))

    return [
        tocan(2, entero(rng, 2, 3), 4),
        tocan(3, 3, entero(rng, 1, 2)),
        tocan(1, 1, 1),
        separadas(2, 2, 3),
        separadas(entero(rng, 1, 3), 4, 2),
        sin_area(1),
        sin_area(entero(rng, 2, 3)),
    ]


_TABLA = Ejercicio(
    id="20.2",
    nombre="giou_table",
    tipo="escribir",
    dificultad=1,
    minutos=25,
    aprende="medir de una vez el GIoU de todas las parejas de cajas, degeneradas incluidas",
    bordes=(
        "len(found) == 1",
        "found.shape[1] == truth.shape[1] == 1",
        "bool((found[..., 2:] == 0).all(-1).any())",
        Borde("separadas", {0: (0, 1), 1: (0, 1)}),
    ),
    casos=_casos_giou,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[[2.0, 1.0, 2.0, 2.0]]]), tensor([[[2.0, 0.0, 4.0, 2.0], [4.0, 0.0, 5.0, 2.0]]])),
    ),
    propiedades={
        "se tocan": (3, "Haz a mano una pareja: lo común, la unión y la caja que envuelve."),
        "separadas": (2, "Si no se tocan en un eje, no comparten nada."),
        "sin área": (3, "Cada fracción que divida entre 0 vale 0; la otra se calcula igual."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Empieza por poner todas las cajas como esquinas.",
        "Un eje nuevo para unas cajas y otro para las otras, y salen todas las parejas.",
        "Lo común va del mayor comienzo al menor final, y la caja que envuelve, al revés. Recorta"
        " en cero antes de multiplicar el ancho por el alto.",
    ),
    mutantes=(
        cambia(
            "sin convertir",
            "Las cajas que se dan llegan como centro y tamaño, no como esquinas.",
            "(center - size / 2)[:, :, None], (center + size / 2)[:, :, None]",
            "center[:, :, None], size[:, :, None]",
        ),
        cambia(
            "sin convertir, con áreas recortadas",
            "Recortar en 0 las áreas de `found` no la arregla: es centro y tamaño, y hay que"
            " pasarla a esquinas.",
            "(center - size / 2)[:, :, None], (center + size / 2)[:, :, None]",
            "center[:, :, None], size[:, :, None]",
            "(high - low).prod(dim=-1)",
            "(high - low).clamp(min=0).prod(dim=-1)",
        ),
        cambia(
            "el doble de grandes",
            "A cada lado del centro va la mitad del ancho y la mitad del alto.",
            "(center - size / 2)[:, :, None], (center + size / 2)[:, :, None]",
            "(center - size)[:, :, None], (center + size)[:, :, None]",
        ),
        cambia(
            "las dos, convertidas",
            "`truth` ya llega por sus esquinas: solo se convierte `found`.",
            "truth[:, None, :, :2], truth[:, None, :, 2:]",
            "((truth[..., :2] + s * truth[..., 2:] / 2)[:, None] for s in (-1, 1))",
        ),
        cambia(
            "traspuesta",
            "Las cajas que se dan son las filas, y las que hay, las columnas: sale traspuesta.",
            "return ratio(shared, union) - ratio(hull - union, hull)",
            "return (ratio(shared, union) - ratio(hull - union, hull)).mT",
        ),
        cambia(
            "solo el IoU",
            "Es el IoU: falta restar lo que queda vacío en la caja que envuelve.",
            "ratio(shared, union) - ratio(hull - union, hull)",
            "ratio(shared, union)",
        ),
        cambia(
            "sin recortar",
            "Si no se tocan, el ancho o el alto de lo común salen negativos: recórtalos en 0.",
            "common.clamp(min=0)",
            "common",
        ),
        cambia(
            "recorta el producto",
            "Dos negativos dan un área positiva: se recorta antes de multiplicar.",
            "common.clamp(min=0).prod(dim=-1)",
            "common.prod(dim=-1).clamp(min=0)",
        ),
        cambia(
            "lo común, dos veces",
            "En la suma de las áreas, lo común está dos veces.",
            "(end - start).prod(dim=-1) - shared",
            "(end - start).prod(dim=-1)",
        ),
        cambia(
            "entre la unión",
            "Lo vacío se divide entre la caja que envuelve.",
            "ratio(hull - union, hull)",
            "ratio(hull - union, union)",
        ),
        cambia(
            "cero entre cero",
            "Hay fracciones que dividen entre 0: valen 0.",
            "torch.where(whole > 0, part / whole, 0.0)",
            "part / whole",
        ),
        cambia(
            "todo a cero",
            "Que la unión sea 0 no hace 0 la otra fracción: la caja que envuelve puede tener área.",
            "return ratio(shared, union) - ratio(hull - union, hull)",
            "return torch.where(union > 0, ratio(shared, union) - ratio(hull - union, hull), 0.0)",
        ),
    ),
)

# --- 20.3 -----------------------------------------------------------------------------------------

_SIN_EMPAREJAR = Ejercicio(
    id="20.3",
    nombre="without_matching",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="decir qué aprenden las consultas si nadie empareja",
    propiedades={"respuesta": (2, "¿Con qué objeto se compara cada consulta, de media?")},
    opciones=(
        "cada una, su dígito",
        "las dos, el mismo dígito",
        "las dos, el punto medio",
        "una, un dígito, y la otra, nada",
    ),
    pistas=(
        "A la consulta 1 le toca unas veces el 3 y otras el 7. ¿Y a la 2?",
        "¿Qué punto está, de media, a menos distancia al cuadrado de dos puntos que salen por"
        " igual?",
    ),
    mutantes=(
        cuerpo(
            "se especializan",
            "Para repartirse los dígitos haría falta que a cada consulta le tocara siempre el"
            " mismo, y eso lo hace el emparejamiento.",
            "return 'cada una, su dígito'",
        ),
        cuerpo(
            "el mismo",
            "Quedarse en un dígito cuesta mucho las veces que toca el otro.",
            "return 'las dos, el mismo dígito'",
        ),
        cuerpo(
            "una calla",
            "A las dos les toca siempre algún dígito: ninguna se compara con «nada».",
            "return 'una, un dígito, y la otra, nada'",
        ),
    ),
)

# --- 20.4 -----------------------------------------------------------------------------------------


def _giou(a: Any, b: Any) -> Any:
    """El GIoU de todas las parejas, con esquinas y con área."""
    a, b = a[:, None], b[None]
    medidas = []
    for x, y in ((0, 2), (1, 3)):
        fin, comienzo = a[..., y].minimum(b[..., y]), a[..., x].maximum(b[..., x])
        todo = a[..., y].maximum(b[..., y]) - a[..., x].minimum(b[..., x])
        medidas.append(((fin - comienzo).clamp(min=0), todo))
    comun, caja = (uno * otro for uno, otro in zip(*medidas, strict=True))
    areas = [(z[..., 2] - z[..., 0]) * (z[..., 3] - z[..., 1]) for z in (a, b)]
    union = areas[0] + areas[1] - comun
    return comun / union - (caja - union) / caja


def _a_la_mas_barata(filas: list[list[float]]) -> list[int]:
    """La consulta de cada objeto, si se toma cada vez la pareja más barata de las que quedan."""
    parejas = sorted((x, q, o) for q, fila in enumerate(filas) for o, x in enumerate(fila))
    suya: dict[int, int] = {}
    for _, q, o in parejas:
        if o not in suya and q not in suya.values():
            suya[o] = q
    return [suya[o] for o in sorted(suya)]


def _casos_reparto(rng: Any) -> list[Caso]:
    def caso(propiedad: str, consultas: int, objetos: int, disputan: bool, **pesos: Any) -> Caso:
        """``disputan``: ni tomar por orden la mejor consulta libre, ni la pareja más barata que
        quede, da el mejor reparto.
        """
        clases = entero(rng, 3, 4)
        clase, caja, giou = pesos.get("weights", (1.0, 5.0, 2.0))

        def sortea() -> Any:
            hay = uniforme(rng, 0.2, 0.8, objetos, 4)
            hay[:, 2:] = uniforme(rng, 0.1, 0.4, objetos, 2)
            dadas = uniforme(rng, 0.2, 0.8, consultas, 4)
            dadas[:, 2:] = uniforme(rng, 0.1, 0.4, consultas, 2)
            etiquetas = tensor([entero(rng, 0, clases - 1) for _ in range(objetos)])
            return 1.5 * normal(rng, consultas, clases + 1), dadas, etiquetas, hay

        def vale(dado: Any) -> bool:
            notas, dadas, etiquetas, hay = dado
            coste = caja * (dadas[:, None] - hay).abs().sum(-1)
            coste = coste - clase * notas.softmax(-1)[:, etiquetas]
            coste = coste - giou * _giou(_esquinas(dadas), _esquinas(hay))
            filas = coste.tolist()
            modos = permutations(range(consultas), objetos)
            totales = sorted((sum(filas[q][o] for o, q in enumerate(m)), m) for m in modos)
            if len(totales) > 1 and totales[1][0] - totales[0][0] < 0.02:
                return False
            mejor, libres, avaro = list(totales[0][1]), set(range(consultas)), []
            for o in range(objetos):
                avaro.append(min(libres, key=lambda q, o=o: filas[q][o]))
                libres.remove(avaro[-1])
            if not disputan:
                return True
            # y que no salga lo mismo diciendo el objeto de cada consulta, ni ordenándolas
            otras = (avaro, _a_la_mas_barata(filas), coste.argmin(0).tolist(), sorted(mejor))
            ultima = max(mejor) >= min(objetos, consultas - 1)
            return ultima and mejor not in otras and (objetos < 3 or otras[0] != otras[1])

        notas, dadas, etiquetas, hay = _hasta(sortea, vale)
        return Caso(propiedad, (notas, dadas, etiquetas, _esquinas(hay)), pesos)

    otros = (real(rng, 1.5, 3.0), real(rng, 0.5, 1.0), real(rng, 3.0, 4.0))
    return [
        caso("un objeto", entero(rng, 3, 5), 1, False),
        caso("un objeto", 4, 1, False),
        caso("varios", entero(rng, 4, 5), 2, False),
        caso("varios", 5, 3, False, weights=otros),
        caso("se disputan", entero(rng, 3, 5), 2, True),
        caso("se disputan", 4, entero(rng, 3, 4), True),
        caso("se disputan", 3, 3, True, weights=otros),
    ]


_REPARTO = Ejercicio(
    id="20.4",
    nombre="assign_queries",
    tipo="escribir",
    dificultad=2,
    minutos=35,
    aprende="calcular lo que cuesta cada pareja de consulta y objeto, y el mejor reparto",
    bordes=(
        "len(labels) == 1",
        "len(labels) == len(logits)",
        "weights is None",
        Borde("un objeto", {0: 0, 1: 0}),
    ),
    casos=_casos_reparto,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
            tensor([[0.5, 0.5, 0.2, 0.4], [0.25, 0.5, 0.5, 0.5]]),
            tensor([0]),
            tensor([[0.4, 0.2, 0.6, 0.6]]),
        ),
    ),
    propiedades={
        "un objeto": (4, "Escribe por separado las tres cosas que se suman, con su signo."),
        "varios": (2, "Una fila por consulta y una columna por objeto."),
        "se disputan": (3, "Lo que se hace menor es el coste total, no el de cada objeto."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Son tres tablas de consultas por objetos; calcula cada una por separado.",
        "La caja de cada objeto se pasa a centro y tamaño para la distancia, y la de cada consulta"
        " a esquinas para el GIoU.",
        "El reparto: prueba todas las maneras de dar una consulta distinta a cada objeto, o usa el"
        " método húngaro, y ojo con qué son filas y qué columnas.",
    ),
    mutantes=(
        cambia(
            "con logaritmo",
            "En el reparto se usa la probabilidad, no su logaritmo.",
            "logits.softmax(dim=-1)",
            "logits.log_softmax(dim=-1)",
        ),
        cambia(
            "sin la clase «nada»",
            "La probabilidad se reparte entre todas las clases, y «sin objeto» es una.",
            "logits.softmax(dim=-1)",
            "logits[:, :-1].softmax(dim=-1)",
        ),
        cambia(
            "la softmax, por consultas",
            "La softmax va por las clases de cada consulta, no por las consultas de cada clase.",
            "logits.softmax(dim=-1)",
            "logits.softmax(dim=0)",
        ),
        cambia(
            "sin la softmax",
            "Las puntuaciones no son probabilidades: falta la softmax.",
            "logits.softmax(dim=-1)",
            "logits",
        ),
        cambia(
            "uno menos la probabilidad",
            "El reparto es el mismo, pero no lo que cuesta: es la probabilidad con signo menos, sin"
            " sumarle 1.",
            "- weights[0] * chance",
            "+ weights[0] * (1 - chance)",
        ),
        cambia(
            "uno menos el GIoU",
            "El reparto es el mismo, pero no lo que cuesta: es el GIoU con signo menos, sin sumarle"
            " 1.",
            "- weights[2] * overlap",
            "+ weights[2] * (1 - overlap)",
        ),
        cambia(
            "uno menos cada cosa",
            "El reparto es el mismo, pero no lo que cuesta: ni a la probabilidad ni al GIoU, con"
            " signo menos, se les suma 1.",
            "- weights[0] * chance - weights[2] * overlap",
            "+ weights[0] * (1 - chance) + weights[2] * (1 - overlap)",
        ),
        cambia(
            "la distancia, entre esquinas",
            "La distancia L1 se mide con las dos cajas como centro, ancho y alto, no por sus"
            " esquinas.",
            "(boxes[:, None] - goal)",
            "(torch.cat([boxes[:, :2] - s * boxes[:, 2:] / 2 for s in (1, -1)], dim=-1)[:, None]"
            " - truth)",
        ),
        cambia(
            "los pesos de DETR",
            "Los pesos son los de `weights`, no siempre los de DETR.",
            "chance = logits",
            "weights = 1.0, 5.0, 2.0\n    chance = logits",
        ),
        cambia(
            "sin pesos",
            "Falta multiplicar cada parte por su número de `weights`.",
            "chance = logits",
            "weights = 1.0, 1.0, 1.0\n    chance = logits",
        ),
        cambia(
            "esquinas con centros",
            "La caja del objeto llega por sus esquinas: para la distancia, pásala a centro y"
            " tamaño.",
            "goal = torch.cat([(low + high) / 2, high - low], dim=-1)",
            "goal = truth",
        ),
        cambia(
            "la media",
            "La distancia L1 es la suma de las cuatro diferencias, no su media.",
            "abs().sum(dim=-1)",
            "abs().mean(dim=-1)",
        ),
        cambia(
            "el GIoU suma",
            "Un GIoU mayor es mejor: en lo que cuesta, resta.",
            "- weights[2] * overlap",
            "+ weights[2] * overlap",
        ),
        cambia(
            "los pesos, cambiados",
            "Los pesos van en este orden: la clase, la distancia y el GIoU.",
            "weights[1] * apart - weights[0] * chance",
            "weights[0] * apart - weights[1] * chance",
        ),
        cambia(
            "la mejor de cada uno",
            "Dos objetos pueden querer la misma consulta, y solo uno se la queda.",
            "cost, ways[best]",
            "cost, cost.argmin(dim=0)",
        ),
        cambia(
            "las filas, tal cual",
            "Esas son las consultas que se quedan con algo, ordenadas: se pide la de cada objeto,"
            " en el orden de los objetos.",
            "cost, ways[best]",
            "cost, ways[best].sort().values",
        ),
        cambia(
            "el objeto de cada consulta",
            "Eso es el objeto de cada consulta elegida: se pide la consulta de cada objeto.",
            "cost, ways[best]",
            "cost, ways[best].argsort()",
        ),
        cambia(
            "la pareja más barata, y otra vez",
            "Tomar la pareja más barata de la tabla, y después la más barata de las que quedan,"
            " puede salir más caro que otro reparto.",
            "return cost, ways[best]",
            "taken = cost.clone()\n    for _ in labels:\n"
            "        q, o = divmod(int(taken.argmin()), len(labels))\n"
            "        ways[best, o] = q\n"
            "        taken[q], taken[:, o] = float('inf'), float('inf')\n"
            "    return cost, ways[best]",
        ),
        cambia(
            "por turno",
            "Dar por orden la mejor consulta libre puede salir más caro que otro reparto.",
            "return cost, ways[best]",
            "taken = cost.clone()\n    for o in range(len(labels)):\n"
            "        ways[best, o] = taken[:, o].argmin()\n"
            "        taken[ways[best, o]] = float('inf')\n    return cost, ways[best]",
        ),
    ),
)

# --- 20.5 -----------------------------------------------------------------------------------------


def _casos_precision(rng: Any) -> list[Caso]:
    def caso(propiedad: str, objetos: str, hallazgos: str, **opciones: float) -> Caso:
        """Un objeto es «imagen sitio», y un hallazgo, «imagen sitio orden».

        Los sitios se miden en anchos de caja: dos cajas a 1/3 de ancho tienen un IoU de 1/2.
        """
        imagenes = distintos(rng, 0, 9, 2)
        x0, y, ancho, alto = uniforme(rng, 1.0, 5.0, 4).tolist()
        notas = uniforme(rng, 0.05, 0.1, 9).cumsum(0).flip(0).tolist()
        hay = [x.split() for x in objetos.split(",")]
        hay += [["ab"[entero(rng, 0, 1)], str(20 + 2 * i)] for i in range(entero(rng, 0, 2))]
        dados = [x.split() for x in hallazgos.split(",") if x]

        def caja(_: str, sitio: str, *__: str) -> list[float]:
            x = x0 + float(sitio) * ancho
            return [x, y, x + ancho, y + alto]

        def ordenado(orden: list[int]) -> bool:
            """Los que empatan siguen como están escritos, y no llegan todos por su nota."""
            llegan = [dados[i][2] for i in orden]
            iguales = all(
                orden.index(i) < orden.index(j)
                for j in range(len(dados)) for i in range(j) if dados[i][2] == dados[j][2]
            )  # fmt: skip
            return iguales and (llegan != sorted(llegan) or len(set(llegan)) < 2)

        dados = [dados[i] for i in _hasta(lambda: permutacion(rng, len(dados)), ordenado)]
        return Caso(
            propiedad,
            (
                tensor([notas[int(x[2])] for x in dados] or [0.5])[: len(dados)],
                tensor([imagenes["ab".index(x[0])] for x in dados] or [0])[: len(dados)],
                tensor([caja(*x) for x in dados] or [[0.0, 0.0, 1.0, 1.0]])[: len(dados)],
                tensor([imagenes["ab".index(x[0])] for x in hay]),
                tensor([caja(*x) for x in hay]),
            ),
            opciones,
        )

    def justo(umbral: float, corto: int) -> Caso:
        """El IoU es el umbral, exacto, y algo menos."""
        k, x = entero(rng, 1, 3), entero(rng, 0, 5)
        largo, igual = 16 * k, int(16 * k * umbral)
        cajas = [[x, 0, x + igual, 2], [x, 5, x + igual - corto, 7], [x, 9, x + largo, 11]]
        return Caso(
            "justo",
            (
                uniforme(rng, 0.0, 1.0, 3),
                tensor([3, 3, 3]),
                tensor(cajas).double(),
                tensor([3, 3, 3]),
                tensor([[x, y, x + largo, y + 2] for y in (0, 5, 9)]).double(),
            ),
            {"threshold": umbral},
        )

    return [
        caso("en orden", "a 0,a 3,a 6", "a 0.1 0,a 9 1,a 2.9 2,a 6.4 3,a 12 4"),
        caso("en orden", "a 0,a 3,a 6,a 9", "a 0.1 0,a 14 1,a 15 2,a 8.9 3,a 16 4"),
        caso("en orden", "a 0,a 3", ""),
        caso("mejora después", "a 0,a 3,a 6", "a 9 0,a 0.1 1,a 3.1 2,a 6.1 3,a 12 4"),
        caso("mejora después", "a 0,a 3,a 6,a 9", "a 0 0,a 14 1,a 15 2,a 3 3,a 6 4,a 9.1 5"),
        caso("repetidos", "a 0,a 3", "a 0.2 0,a 0.05 1,a -0.1 2,a 3.1 3"),
        caso("repetidos", "a 0,a 3,a 6", "a 0 0,a 3.1 1,a 0.1 2,a 3 3,a 0.05 4"),
        caso("queda otro", "a 0.3,a 0", "a -0.02 0,a 0.1 1,a 0.2 2,a 9 3"),
        caso("queda otro", "a 0.3,a 0,a 5", "a 0.28 0,a 0.2 1,a 8 2,a 5.1 3", threshold=0.6),
        caso("queda otro", "a 0.3,a 0", "a 0.1 0,a 9 1,a 0.55 2,a 12 3"),
        caso("empates", "a 0,a 3", "a 9 0,a 0.1 0,a 12 1,a 3.1 1,a 14 2"),
        caso("empates", "a 0,a 3,a 6", "a 0.2 0,a 0 0,a 9 1,a 3.1 1,a 6 1"),
        caso("dos imágenes", "a 0,b 3,b 0", "a 0.1 1,a 3 0,b 0.1 2,b 3.1 3"),
        caso("dos imágenes", "a 0,b 0", "b 0.05 0,b 0.1 2,a 0.02 1,a 0.2 3,b 9 4"),
        justo(0.5, 1),
        justo(0.75, 2),
    ]


_PRECISION = Ejercicio(
    id="20.5",
    nombre="average_precision",
    tipo="escribir",
    dificultad=2,
    minutos=40,
    aprende="decir qué hallazgos aciertan y calcular la precisión media",
    tolerancia=1e-6,
    bordes=(
        "not len(scores)",
        "len(scores.unique()) < len(scores)",
        "bool((truth[:, 2] - truth[:, 0] == 2 * (boxes[0, 2] - boxes[0, 0])).all())",
        Borde("en orden", {0: 0, 1: 0, 2: 0}),
    ),
    casos=_casos_precision,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([0.6, 0.9]),
            tensor([0, 0]),
            tensor([[0.0, 0.0, 2.0, 2.0], [5.0, 5.0, 6.0, 6.0]]),
            tensor([0]),
            tensor([[0.0, 0.0, 2.0, 3.0]]),
        ),
    ),
    propiedades={
        "en orden": (2, "Ordena por la nota; los aciertos se dan en el orden en que llegaron."),
        "mejora después": (1, "Si la precisión sube más adelante, vale la mayor."),
        "repetidos": (2, "Un objeto que ya tiene hallazgo no cuenta otra vez."),
        "queda otro": (1, "Se mira el que más se solapa, entre los que siguen libres."),
        "empates": (1, "Con la misma nota, va antes el que llegó antes."),
        "dos imágenes": (1, "Un hallazgo solo se compara con los objetos de su imagen."),
        "justo": (1, "Un IoU igual al umbral también vale."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Primero, quién acierta; después, la precisión media. Son dos problemas.",
        "Recorre los hallazgos de mayor a menor nota, con una lista de objetos libres.",
        "Para la precisión media, recorre los aciertos del último al primero, guardando la mayor"
        " precisión vista.",
    ),
    mutantes=(
        cambia(
            "como llegan",
            "Los hallazgos se miran de mayor a menor nota, no como llegan.",
            "scores.argsort(descending=True, stable=True)",
            "torch.arange(len(scores))",
        ),
        cambia(
            "los empates, al revés",
            "Los que empatan van en el orden en que llegan, y aquí van al revés.",
            "scores.argsort(descending=True, stable=True)",
            "scores.argsort(stable=True).flip(0)",
        ),
        cambia(
            "cuenta los repetidos",
            "Un segundo hallazgo del mismo objeto falla: el objeto deja de estar libre.",
            "            overlap[:, which] = -1.0\n",
            "",
        ),
        cambia(
            "el mejor, libre o no",
            "Se elige entre los libres: si el que más se solapa está cogido, se mira otro.",
            "        if most >= threshold:\n            right[i] = True\n"
            "            overlap[:, which] = -1.0\n",
            "        if most >= threshold and int(which) not in done:\n"
            "            right[i] = True\n            done.append(int(which))\n",
            "    right = torch",
            "    done = []\n    right = torch",
        ),
        cambia(
            "el primero que vale",
            "Toca el que más se solapa, no el primero que llega al umbral.",
            "overlap[i].max(dim=0)",
            "(overlap[i] * (overlap[i] < threshold) + 2.0 * (overlap[i] >= threshold)).max(dim=0)",
        ),
        cambia(
            "mayor que el umbral",
            "Un IoU igual al umbral también vale.",
            "most >= threshold",
            "most > threshold",
        ),
        cambia(
            "todas las imágenes juntas",
            "Un hallazgo no puede acertar un objeto de otra imagen.",
            "    overlap[images[:, None] != truth_images] = -1.0\n",
            "",
        ),
        cambia(
            "sin la mayor",
            "Falta cambiar la precisión de cada acierto por la mayor que se tiene desde él.",
            "precision.flip(0).cummax(dim=0).values.flip(0)",
            "precision",
        ),
        cambia(
            "entre los aciertos",
            "Se divide entre los objetos que hay: los que nadie encuentra también cuentan.",
            "/ len(truth)",
            "/ max(1, int(right.sum()))",
        ),
        cambia(
            "en el orden de las notas",
            "Los aciertos se dan en el orden en que llegaron los hallazgos.",
            "return right,",
            "return good,",
        ),
    ),
)

# --- 20.6 -----------------------------------------------------------------------------------------


def _casos_palabras(rng: Any) -> list[Caso]:
    def caso(propiedad: str, n: int, bordes: bool = False, sobran: int = 0) -> Caso:
        cajones = entero(rng, 7, 40)

        def sortea() -> Any:
            """Ninguna coordenada cae cerca del borde de un cajón."""
            cual = (cajones * uniforme(rng, 0.0, 0.99, n, 2, 2)).long()
            puntos = (cual + uniforme(rng, 0.1, 0.9, n, 2, 2)) / cajones
            puntos = puntos.sort(1).values
            if bordes:
                eje = entero(rng, 0, 1)
                puntos[0, 1, eje], puntos[n - 1, 0, 1 - eje] = 1.0, 0.0
            return puntos.reshape(n, 4)

        def vale(cajas: Any) -> bool:
            lados = cajas[:, 2:] - cajas[:, :2]
            areas = sorted(lados.prod(-1).tolist())
            distintas = all(b - a > 0.01 for a, b in zip(areas, areas[1:], strict=False))
            giradas = (cajas[:, 0] - cajas[:, 1]).abs().max() > 1.5 / cajones
            otros = bool(((cajas * (cajones - 1)).round() != (cajas * cajones).floor()).any())
            bajan = lados.prod(-1).argsort(descending=True).tolist()
            seguidos = list(range(n))
            return bool(distintas and giradas and otros) and (
                n < 3 or bajan != seguidos != bajan[::-1]
            )

        etiquetas = tensor([entero(rng, 0, 6) for _ in range(n)] or [0])[:n]
        cajas = _hasta(sortea, vale) if n else tensor([[0.0] * 4])[:0]
        opciones = {"bins": cajones, "most": n - sobran if sobran else n + entero(rng, 0, 2)}
        return Caso(propiedad, (etiquetas, cajas), opciones)

    return [
        caso("un objeto", 1),
        caso("un objeto", 1),
        caso("varios", 3),
        caso("varios", entero(rng, 3, 5)),
        caso("varios", 0),
        caso("no caben", 3, sobran=1),
        caso("no caben", entero(rng, 4, 5), sobran=2),
        caso("hasta el borde", 1, bordes=True),
        caso("hasta el borde", entero(rng, 2, 4), bordes=True),
    ]


_PALABRAS = Ejercicio(
    id="20.6",
    nombre="words_and_back",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="escribir unas cajas como palabras y leerlas, sabiendo lo que se pierde",
    bordes=(
        "not len(labels)",
        "most < len(labels)",
        "most == len(labels) - 1",
        "bool((boxes == 1).any() and (boxes == 0).any())",
        Borde("un objeto", valores={"bins": 1}),
    ),
    casos=_casos_palabras,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([4, 7]), tensor([[0.05, 0.33, 0.35, 0.72], [0.12, 0.15, 0.95, 0.85]])),
        {"bins": 10, "most": 2},
    ),
    propiedades={
        "un objeto": (3, "Escribe a mano las seis palabras de una caja."),
        "varios": (2, "De mayor a menor área, y un solo fin, aunque no haya objetos."),
        "no caben": (1, "Se quedan los de más área."),
        "hasta el borde": (2, "El 1 no cae en un cajón nuevo: va al último."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Primero el orden de los objetos; después, el cajón de cada coordenada; al final, las"
        " palabras.",
        "El cajón es la parte entera de la coordenada por el número de cajones. Los cajones"
        " empiezan en la palabra 3 y las clases van detrás del último.",
        "A la vuelta, el centro de un cajón está medio cajón después de su comienzo; y las"
        " coordenadas vuelven a su orden.",
    ),
    mutantes=(
        cambia(
            "la horizontal primero",
            "De cada esquina se escribe primero la vertical.",
            "boxes[order][:, [1, 0, 3, 2]]",
            "boxes[order]",
            "(drawers[:, [1, 0, 3, 2]] + 0.5)",
            "(drawers + 0.5)",
        ),
        cambia(
            "sin volver a girar",
            "Las cajas leídas llevan primero la horizontal.",
            "(drawers[:, [1, 0, 3, 2]] + 0.5)",
            "(drawers + 0.5)",
        ),
        cambia(
            "al más cercano",
            "El cajón es aquel en que cae la coordenada: la parte entera, sin redondear.",
            "(upright * bins).long()",
            "(upright * (bins - 1)).round().long()",
        ),
        cambia(
            "un cajón de más",
            "El 1 va al último cajón: ahora se sale.",
            ".clamp(max=bins - 1)",
            "",
        ),
        cambia(
            "el comienzo del cajón",
            "Un cajón se lee como su centro, no como su comienzo.",
            "[1, 0, 3, 2]] + 0.5)",
            "[1, 0, 3, 2]] + 0.0)",
        ),
        cambia(
            "sin perder nada",
            "Las cajas se leen de las palabras: lo que cayó en el mismo cajón ya no se distingue.",
            "return words, back",
            "return words, boxes[order]",
        ),
        cambia(
            "como llegan",
            "Se escriben de mayor a menor área.",
            "area.argsort(descending=True)[:most]",
            "torch.arange(len(area))[:most]",
        ),
        cambia(
            "las clases, sobre los cajones",
            "Las clases van detrás del último cajón: así, una clase y una coordenada son la misma"
            " palabra.",
            "labels[order, None] + 3 + bins",
            "labels[order, None] + 3",
        ),
        cambia(
            "sin el fin",
            "Falta el fin, que es la palabra 2.",
            "torch.cat([rows.flatten(), torch.tensor([2])])",
            "rows.flatten()",
        ),
    ),
)

# --- 20.7 -----------------------------------------------------------------------------------------


def _casos_perdidas(rng: Any) -> list[Caso]:
    def caso(propiedad: str, llenas: str, escala: float = 2.0, **opciones: float) -> Caso:
        """``llenas``, por máscara: «v», vacía; «t», llena; «m», a medias."""
        n = entero(rng, 5, 9)
        notas, filas = escala * normal(rng, len(llenas), n), []
        for i, clase in enumerate(llenas):
            dentro = {"v": 0, "t": n, "m": entero(rng, 2, n - 2)}[clase]
            fila = [dentro > j for j in range(n)]
            filas.append([fila[j] for j in permutacion(rng, n)])
            if escala > 100:  # unas puntuaciones aciertan y otras fallan, de sobra
                signos = tensor([1.0, -1.0] * n)[:n]
                notas[i] = signos * uniforme(rng, 800.0, 2000.0, n)
        return Caso(propiedad, (notas, tensor(filas)), opciones)

    return [
        caso("a medias", "m" * entero(rng, 1, 3)),
        caso("a medias", "mm"),
        caso("vacías y llenas", elige(rng, ("vt", "tvm"))),
        caso("vacías y llenas", "v" * entero(rng, 1, 2)),
        caso("otros números", "mm", gamma=0.0, alpha=real(rng, 0.55, 0.9)),
        caso("otros números", "mv", gamma=real(rng, 0.6, 1.6), alpha=real(rng, 0.05, 0.2)),
        caso("otros números", "mt", gamma=0, alpha=0.5),
        caso("muy seguras", "mv", escala=300.0),
        caso("muy seguras", elige(rng, ("m", "mt")), escala=300.0, gamma=1.0),
    ]


_PERDIDAS = Ejercicio(
    id="20.7",
    nombre="mask_losses",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="medir lo que falla una máscara, también si está vacía o el modelo está muy seguro",
    bordes=(
        "not masks.any()",
        "bool(masks.all(-1).any())",
        "gamma == 0",
        "bool((logits.abs() > 100).all())",
        Borde("a medias", {0: 0, 1: 0}),
    ),
    casos=_casos_perdidas,
    ejemplo=lambda: Caso(
        "ejemplo",
        (tensor([[0.0, 2.0], [-1.0, 0.0]]), tensor([[True, True], [False, False]])),
        {"gamma": 1.0, "alpha": 0.25},
    ),
    propiedades={
        "a medias": (3, "Haz a mano las dos pérdidas de una máscara de dos píxeles."),
        "vacías y llenas": (2, "Con una máscara vacía o llena, las dos fórmulas siguen valiendo."),
        "otros números": (1, "α pesa lo de dentro, 1 − α, lo de fuera, y γ es un exponente."),
        "muy seguras": (2, "Lejos de 0, la probabilidad se redondea: mira de dónde sale el log."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Cada máscara va por su cuenta: las sumas y la media son del eje de los píxeles.",
        "En la focal, lo que se eleva es lo que falta para acertar: 1 − p dentro y p fuera.",
        "El logaritmo de una sigmoide, y el de uno menos ella, se pueden calcular de la puntuación"
        " sin pasar por la probabilidad; PyTorch tiene funciones que lo hacen.",
    ),
    mutantes=(
        cambia(
            "sin sumar uno",
            "En Dice se suma 1 arriba y abajo.",
            "(2 * shared + 1) / (total + 1)",
            "2 * shared / total",
        ),
        cambia(
            "α, al revés",
            "α es para los píxeles de dentro, y 1 − α, para los de fuera.",
            "torch.where(masks, alpha, 1 - alpha)",
            "torch.where(masks, 1 - alpha, alpha)",
        ),
        cambia(
            "α en todos",
            "Los píxeles de fuera pesan 1 − α.",
            "torch.where(masks, alpha, 1 - alpha)",
            "alpha",
        ),
        cambia(
            "pesa lo que acierta",
            "Se eleva lo que falta para acertar: lo que ya se sabe casi no cuenta.",
            "(-signed).sigmoid()",
            "signed.sigmoid()",
        ),
        cambia(
            "la suma",
            "La focal es la media de los píxeles, no su suma.",
            ".mean(dim=-1)",
            ".sum(dim=-1)",
        ),
        cambia(
            "el logaritmo de cero",
            "La sigmoide se redondea a 0 y su logaritmo es infinito: calcula los dos a la vez.",
            "torch.nn.functional.logsigmoid(signed)",
            "signed.sigmoid().log()",
        ),
        cambia(
            "recortada",
            "Recortar la probabilidad pone un techo a la pérdida: calcula el logaritmo de la"
            " sigmoide sin pasar por ella.",
            "torch.nn.functional.logsigmoid(signed)",
            "signed.sigmoid().clamp(min=1e-12).log()",
        ),
    ),
)

# --- 20.8 -----------------------------------------------------------------------------------------


def _casos_fusion(rng: Any) -> list[Caso]:
    nada, cosas = 5, 3

    def caso(propiedad: str, plan: list[tuple[Any, ...]], **opciones: float) -> Caso:
        """Del plan, por consulta: clase, nota, filas, y probabilidad dentro y fuera (un intervalo
        cada una, y la de fuera puede faltar).
        """
        filas, columnas = 8, entero(rng, 2, 5)
        puntos, mapas = [], []
        for clase, nota, (desde, hasta), dentro, *fuera in plan:
            resto = uniforme(rng, 0.5, 1.0, nada + 1)
            if nota == 1:  # las demás están tan lejos que la suma es 1 exacto
                puntos.append(-40 - resto)
                puntos[-1][clase] = 0.0
            elif clase == nada:  # la segunda clase también destaca
                resto[0] = 8.0
            if nota < 1:
                resto[clase] = 0.0
                probabilidad = (1 - nota) * resto / resto.sum()
                probabilidad[clase] = nota
                puntos.append(probabilidad.log() + float(normal(rng)))
            mapa = uniforme(rng, *(fuera[0] if fuera else (0.01, 0.1)), filas, columnas)
            mapa[desde:hasta] = uniforme(rng, *dentro, hasta - desde, columnas)
            mapas.append(mapa.logit())
        return Caso(propiedad, (_pila(puntos), _pila(mapas)), {"things": cosas, **opciones})

    alta, baja, mitad = (0.85, 0.95), (0.55, 0.65), (0.5, 0.5)
    cosa, otra, tercera = (int(x) for x in permutacion(rng, cosas))
    cielo, suelo = (int(x) + cosas for x in permutacion(rng, 2))
    n = entero(rng, 0, 1)
    return [
        caso("separadas", [(cosa, 0.9, (0, 2), alta), (nada, 0.9, (2, 4), alta),
                           (cielo, 0.8, (4, 7 + n), baja), (otra, 0.6, (2, 4), alta)]),
        caso("separadas", [(otra, 0.5, (0, 3), baja), (nada, 0.5, (3, 5), alta),
                           (suelo, 0.4, (5, 7), alta), (cosa, 0.28, (7, 8), alta)],
             least=0.3, overlap=0.5),
        caso("separadas", [(nada, 0.95, (0, 3 + n), alta), (cosa, 0.75, (2, 8), baja),
                           (otra, 0.65, (5, 7 + n), alta)]),
        caso("separadas", [(cosa, 1, (0, 2 + n), alta), (cielo, 0.9, (3, 6), alta),
                           (otra, 1, (6, 8), alta)], least=1.0),
        caso("solapes", [(cosa, 0.75, (2, 8), baja), (otra, 0.95, (0, 3 + n), alta)]),
        caso("solapes", [(cosa, 0.75, (2, 8), baja), (otra, 0.95, (0, 3 + n), alta)],
             overlap=0.9),
        caso("solapes", [(cosa, 0.95, (0, 4 + n), (0.7, 0.72)), (otra, 0.75, (1, 8), (0.8, 0.85))],
             overlap=0.4),
        caso("solapes", [(cielo, 0.95, (0, 6), alta), (cosa, 0.8, (1 + n, 5), baja),
                         (suelo, 0.9, (5, 8), baja)], overlap=0.6),
        caso("solapes", [(cosa, 0.95, (0, 4), alta), (otra, 0.8, (0, 6), alta),
                         (suelo, 0.9, (4 + n, 8), baja)], overlap=0.4),
        caso("solapes", [(otra, 0.8, (0, 4), alta), (cosa, 0.95, (0, 2), alta),
                         (cielo, 0.9, (6, 7 + n), alta)], overlap=0.5),
        caso("se cuentan o no", [(cielo, 0.8, (0, 2), alta), (cosa, 0.9, (2, 4), alta),
                                 (cielo, 0.95, (4, 5 + n), baja), (cosa, 0.75, (6, 8), alta)]),
        caso("se cuentan o no", [(otra, 0.8, (0, 1), alta), (suelo, 0.9, (1, 4), alta),
                                 (otra, 0.95, (4, 5), baja), (cielo, 0.9, (5, 6), baja),
                                 (suelo, 0.75, (6, 7 + n), alta),
                                 (tercera, 0.9, (7 + n, 8), alta)]),
        caso("de nadie", [(cosa, 0.95, (0, 2), alta, (0.46, 0.49)),
                          (otra, 0.73, (1, 6 + n), (0.52, 0.56))], overlap=0.05),
        caso("de nadie", [(cosa, 0.95, (0, 5), alta, (0.46, 0.49)),
                          (otra, 0.73, (3 + n, 8), (0.52, 0.56)), (cielo, 0.9, (5, 8), baja)],
             overlap=0.3),
        caso("de nadie", [(cosa, 0.95, (0, 4), alta), (otra, 0.8, (0, 6 - n), alta, (0.4, 0.48))],
             overlap=0.5),
        caso("de nadie", [(cielo, 0.9, (0, 3 + n), mitad), (cosa, 0.8, (5, 8), alta)]),
    ]  # fmt: skip


def _pila(tensores: list[Any]) -> Any:
    import torch

    return torch.stack(tensores)


_FUSION = Ejercicio(
    id="20.8",
    nombre="fuse",
    tipo="escribir",
    dificultad=3,
    minutos=45,
    aprende="hacer de unas máscaras que se solapan un mapa en que cada píxel es de un trozo",
    bordes=(
        "least is None",
        "masks.shape[-1] == 1",
        "least == 1 and bool((logits.softmax(-1).max(-1).values == 1).any())",
        "overlap == 0.5",
        "bool((masks == 0).any())",
        Borde("solapes", {1: 2}),
    ),
    casos=_casos_fusion,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[4.0, 0.0, 0.0], [0.0, 4.0, 0.0]]),
            tensor([[[3.0, 3.0], [-4.0, 1.0]], [[-3.0, 2.0], [-3.0, 3.0]]]),
        ),
        {"things": 1, "overlap": 0.4},
    ),
    propiedades={
        "separadas": (2, "Quedan las consultas con objeto y nota bastante; las demás no cuentan."),
        "solapes": (3, "Un píxel es de una sola; mira después qué parte conserva cada máscara."),
        "se cuentan o no": (3, "Lo que no se cuenta y es de la misma clase es un solo trozo."),
        "de nadie": (2, "Primero se decide qué consulta gana el píxel, y después si le llega."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Hazlo por pasos: qué consultas quedan, de quién es cada píxel, cuáles se van y cómo se"
        " numeran las demás.",
        "El dueño de un píxel es una consulta de las que quedan; una máscara tiene dos cuentas: los"
        " píxeles en que llega a 1/2 y, de esos, los que se lleva.",
        "Para numerar, recorre las consultas en su orden con una lista de clases; si la clase no se"
        " cuenta y ya está, usa su número.",
    ),
    mutantes=(
        cambia(
            "las inseguras también",
            "Se quitan las consultas con una nota que no pasa del umbral.",
            "(score > least) & ",
            "",
        ),
        cambia(
            "con las de nada",
            "Las consultas sin objeto no son ningún trozo.",
            " & (label < logits.shape[-1] - 1)",
            "",
        ),
        cambia(
            "la clase, sin mirar nada",
            "«Sin objeto» es una clase más: si es la más probable, la consulta se quita.",
            "logits.softmax(dim=-1).max(dim=-1)",
            "logits.softmax(dim=-1)[:, :-1].max(dim=-1)",
        ),
        cambia(
            "sin la nota",
            "El dueño del píxel se decide con la nota por la probabilidad, no solo con esta.",
            "(score[:, None, None] * chance)",
            "chance",
        ),
        cambia(
            "sin la mitad",
            "El dueño de un píxel en que no llega a 1/2 no se lo lleva: es de nadie.",
            "mine = whole & (owner == k)",
            "mine = owner == k",
        ),
        cambia(
            "primero la mitad",
            "El dueño se decide entre todas las que quedan, lleguen o no a 1/2 en ese píxel.",
            "(score[:, None, None] * chance)",
            "(score[:, None, None] * chance * (chance >= 0.5))",
        ),
        cambia(
            "las tapadas también",
            "Falta quitar las que conservan poco de su máscara.",
            " or mine.sum() < overlap * whole.sum()",
            "",
        ),
        cambia(
            "la nota justa, también",
            "Una nota igual a `least` no basta: tiene que ser mayor.",
            "score > least",
            "score >= least",
        ),
        cambia(
            "la parte justa, fuera",
            "La que se queda con la parte `overlap` justa no se quita; la que tiene menos, sí.",
            "mine.sum() < overlap",
            "mine.sum() <= overlap",
        ),
        cambia(
            "la mitad justa, no",
            "Al menos 1/2: una probabilidad de 1/2 justo también llega.",
            "chance[k] >= 0.5",
            "chance[k] > 0.5",
        ),
        cambia(
            "se reparten otra vez",
            "Los píxeles de una consulta que se quita por quedarse con poco no son de nadie: no se"
            " reparten entre las demás.",
            "owner = (score[:, None, None] * chance).argmax(dim=0)  # (row, column)",
            "weighed = score[:, None, None] * chance\n"
            "        owner, each = weighed.argmax(dim=0), torch.arange(len(label))\n"
            "        whole = chance >= 0.5\n"
            "        left = (whole & (owner == each[:, None, None])).sum(dim=(1, 2))\n"
            "        chance[left < overlap * whole.sum(dim=(1, 2))] = 0\n"
            "        owner = (score[:, None, None] * chance).argmax(dim=0)",
        ),
        cambia(
            "cuenta los que no llegan",
            "La parte que se queda se cuenta entre los píxeles en que su máscara llega a 1/2: los"
            " otros no son de nadie, aunque sea la mayor.",
            "mine.sum() < overlap",
            "(owner == k).sum() < overlap",
        ),
        cambia(
            "todo se cuenta",
            "Dos consultas de una clase que no se cuenta son el mismo trozo.",
            "kind < things or kind not in classes",
            "True",
        ),
        cambia(
            "nada se cuenta",
            "Dos objetos de la misma clase son dos trozos.",
            "kind < things or kind not in classes",
            "kind not in classes",
        ),
        cambia(
            "números con huecos",
            "Los trozos se numeran seguidos, sin contar las consultas que se han ido.",
            "ids[mine] = len(classes)",
            "ids[mine] = int(kept.nonzero()[k]) + 1",
        ),
        cambia(
            "el hueco de las tapadas",
            "Las que se quitan tras repartir los píxeles tampoco gastan número: los trozos van"
            " seguidos.",
            "ids, classes = torch.zeros(masks.shape[1:], dtype=torch.long), []",
            "ids, classes, first = torch.zeros(masks.shape[1:], dtype=torch.long), [], {}",
            "ids[mine] = len(classes)",
            "first[kind] = k + 1\n            ids[mine] = k + 1",
            "classes.index(kind) + 1",
            "first[kind]",
        ),
    ),
)

EJERCICIOS = [
    _A_MANO,
    _TABLA,
    _SIN_EMPAREJAR,
    _REPARTO,
    _PRECISION,
    _PALABRAS,
    _PERDIDAS,
    _FUSION,
]
