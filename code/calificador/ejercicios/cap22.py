"""Ejercicios del capítulo 22, «Varios sentidos»."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calificador.generadores import (
    Borde,
    dispersa,
    elige,
    entero,
    normal,
    permutacion,
    real,
    tensor,
    uniforme,
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENTO, ENTROPIA


def _hasta(sortea: Callable[[], Any], vale: Callable[[Any], bool]) -> Any:
    """El primer sorteo que vale: lo que hace distinguible un caso no se deja al azar."""
    for _ in range(3000):
        dado = sortea()
        if vale(dado):
            return dado
    raise RuntimeError("ningún sorteo vale")


# --- 22.1 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="22.1",
    nombre="fusions_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    aprende="contar lo que cuesta cada manera de juntar dos sentidos",
    propiedades={
        "rows": (1, "¿Cuántos parches caben a lo ancho, y cuántos a lo alto?"),
        "joined": (1, "Tras concatenar, cada fila pregunta a todas, de las dos clases."),
        "crossed": (1, "Dibuja las dos tablas: los parches preguntan a las palabras, y al revés."),
        "neck": (1, "Son dos secuencias, y cada una lleva las dos filas del cuello."),
        "parameters": (1, "Cuenta las matrices de un bloque; aquí hay uno por sentido."),
    },
    pistas=(
        "Dibuja la tabla de consultas y claves de cada capa, y cuenta sus casillas.",
        "En la cruzada hay dos tablas, y en ninguna se pregunta a los de su sentido.",
        "Con el cuello, un sentido de n filas es una secuencia de n + 2, que preguntan todas a"
        " todas. Un bloque son cuatro matrices de 10 × 10 y dos de la red densa.",
    ),
    mutantes=(
        cambia(
            "cada píxel",
            "Cada parche es una fila; estas son las de cada píxel.",
            '"rows": seen + told',
            '"rows": 12 * 12 + told',
        ),
        cambia(
            "una tira de parches",
            "Los parches van en dos direcciones: a lo ancho y a lo alto.",
            '"rows": seen + told',
            '"rows": 12 // 4 + told',
        ),
        cambia(
            "cada sentido, lo suyo",
            "Faltan las parejas de un parche y una palabra.",
            '"joined": (seen + told) ** 2',
            '"joined": seen**2 + told**2',
        ),
        cambia(
            "solo las mezcladas",
            "Estas son solo las de un parche con una palabra; faltan las de su mismo sentido.",
            '"joined": (seen + told) ** 2',
            '"joined": 2 * seen * told',
        ),
        cambia(
            "causal",
            "No hay orden: una fila también pregunta a las que van detrás.",
            '"joined": (seen + told) ** 2',
            '"joined": (seen + told) * (seen + told + 1) // 2',
        ),
        cambia(
            "una dirección",
            "Falta la otra dirección: los dos sentidos preguntan.",
            '"crossed": 2 * seen * told',
            '"crossed": seen * told',
        ),
        cambia(
            "cruzada con todo",
            "En la cruzada nadie pregunta a las filas de su sentido.",
            '"crossed": 2 * seen * told',
            '"crossed": (seen + told) ** 2',
        ),
        cambia(
            "sin cuello",
            "Faltan las filas del cuello, que van detrás de las de cada sentido.",
            '"neck": (seen + neck) ** 2 + (told + neck) ** 2',
            '"neck": seen**2 + told**2',
        ),
        cambia(
            "el cuello no pregunta",
            "Las filas del cuello también preguntan.",
            '"neck": (seen + neck) ** 2 + (told + neck) ** 2',
            '"neck": seen * (seen + neck) + told * (told + neck)',
        ),
        cambia(
            "un cuello para todos",
            "Los parches y las palabras no se ven: son dos secuencias, no una.",
            '"neck": (seen + neck) ** 2 + (told + neck) ** 2',
            '"neck": (seen + told + neck) ** 2',
        ),
        cambia(
            "un bloque",
            "Es un bloque; en la capa cruzada hay uno por sentido.",
            '"parameters": 2 * block',
            '"parameters": block',
        ),
        cambia(
            "sin la red densa",
            "Falta la red densa de cada bloque.",
            '"parameters": 2 * block',
            '"parameters": 2 * 4 * d * d',
        ),
    ),
)

# --- 22.2 -----------------------------------------------------------------------------------------

_MIRAN = ("own", "other", "both")


def _casos_ven(rng: Any) -> list[Caso]:
    def caso(propiedad: str, *plan: tuple[str, str], tapadas: int = 0, minimo: int = 2) -> Caso:
        filas = [entero(rng, minimo, 5) + tapadas for _ in "ab"]
        return Caso(propiedad, ([*plan], *(dispersa(rng, n, tapadas) for n in filas)))

    # Solo si una calla mientras la otra mira importa el orden de las capas.
    turnos = [("other", "none"), ("none", "other")]
    if elige(rng, (False, True)):
        turnos.reverse()
    distinta = elige(rng, (("own", "none"), ("none", "own"), ("both", "own"), ("own", "both")))
    return [
        caso("una capa", ("other", "other")),
        caso("una capa", elige(rng, (("own", "other"), ("other", "own")))),
        caso("una capa", elige(rng, (("both", "none"), ("none", "both")))),
        caso("una capa", ("own", "own"), minimo=1),
        caso("varias capas", *turnos),
        caso("varias capas", ("other", "other"), distinta),
        caso("varias capas", *turnos[::-1], ("none", "none"), (elige(rng, _MIRAN), "own")),
        caso("relleno", ("both", "both"), tapadas=1),
        caso("relleno", ("own", "own"), ("other", "other"), tapadas=entero(rng, 1, 2)),
        caso("relleno", *turnos, (elige(rng, _MIRAN), "none"), tapadas=1),
    ]


_VEN = Ejercicio(
    id="22.2",
    nombre="who_sees",
    tipo="escribir",
    dificultad=1,
    minutos=25,
    aprende="decir qué le puede llegar a cada fila tras cada capa de una fusión",
    bordes=(
        "len(plan) == 1",
        "not b_present.all()",
        'plan[0] == ("own", "own")',
        Borde("una capa", {1: 0, 2: 0}),
    ),
    casos=_casos_ven,
    ejemplo=lambda: Caso(
        "ejemplo", ([("other", "none"), ("own", "other")], tensor([True]), tensor([True, True]))
    ),
    propiedades={
        "una capa": (3, "Dibuja la rejilla de una capa: filas que miran y filas miradas."),
        "varias capas": (3, "A una fila le llega lo que ya había llegado a las que mira."),
        "relleno": (2, "El relleno no lo mira nadie más que él, pero él sí mira."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Dibuja la rejilla de la capa cruzada con dos filas por secuencia.",
        "En cada capa, la diagonal está siempre. En las columnas de relleno no hay nada más.",
        "Para la capa siguiente, recorre lo que mira cada fila y junta lo que ya sabía cada una de"
        " ellas: es un producto de rejillas.",
    ),
    mutantes=(
        cambia(
            "sin la diagonal",
            "Toda fila se ve a sí misma, por la conexión residual.",
            "seen = seen | itself",
            "seen = seen | False",
        ),
        cambia(
            "la cruzada lo ve todo",
            "Quien mira a la otra secuencia no mira las demás filas de la suya.",
            '"other": ~same',
            '"other": whole',
        ),
        cambia(
            "sin acumular",
            "Esto es lo que se mira en cada capa; falta lo que llega a través de otras.",
            "heights.append(reach)",
            "heights.append(seen)",
        ),
        cambia(
            "al revés",
            "Las capas se juntan en el otro orden: lo que se mira es lo que ya sabía cada fila.",
            "seen.double() @ reach.double()",
            "reach.double() @ seen.double()",
        ),
        cambia(
            "suma las capas",
            "No basta con reunir lo mirado: llega también lo que la fila mirada ya sabía.",
            "(seen.double() @ reach.double()) > 0",
            "seen | reach",
        ),
        cambia(
            "mira el relleno",
            "Las filas de relleno no las mira ninguna otra.",
            "looks[of_a]) & present",
            "looks[of_a])",
        ),
        cambia(
            "el relleno no mira",
            "El relleno no se deja mirar, pero mira lo que le toca.",
            "looks[of_a]) & present",
            "looks[of_a]) & present & present[:, None]",
        ),
        cambia(
            "el relleno no se ve",
            "Una fila de relleno también se ve a sí misma.",
            "seen = seen | itself",
            "seen = seen | (itself & present)",
        ),
        cambia(
            "cambiadas",
            "La primera palabra de cada pareja es la de las filas de a.",
            "looks[of_b], looks[of_a]",
            "looks[of_a], looks[of_b]",
        ),
        cambia(
            "traspuesta",
            "Las filas son las que miran, y las columnas, las miradas.",
            "heights.append(reach)",
            "heights.append(reach.T)",
        ),
    ),
)

# --- 22.3 -----------------------------------------------------------------------------------------

_ULTIMA = Ejercicio(
    id="22.3",
    nombre="can_answer",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="ver qué no le llega a una fila en una capa de atención cruzada",
    propiedades={"respuesta": (2, "Sigue la palabra «siete»: ¿cómo llega a la última?")},
    opciones=("solo B", "B y C", "B, C y D", "las cuatro"),
    pistas=(
        "Hacen falta tres cosas en esa fila: la imagen, «siete» y lo que se pregunta.",
        "Escribe, tras cada capa, qué lleva dentro una palabra cualquiera del texto.",
    ),
    mutantes=(
        cuerpo(
            "solo la concatenación",
            "Con dos capas también se puede: mira qué lleva cada palabra tras la primera.",
            "return 'solo B'",
        ),
        cuerpo(
            "el orden importa",
            "En el D, cada palabra sale de la primera capa con la imagen dentro, y después se ven"
            " unas a otras.",
            "return 'B y C'",
        ),
        cuerpo(
            "todas",
            "En el A, la última palabra ve la imagen y a sí misma: «siete» es otra fila del texto.",
            "return 'las cuatro'",
        ),
    ),
)

# --- 22.4 -----------------------------------------------------------------------------------------


def _casos_clip(rng: Any) -> list[Caso]:
    def caso(propiedad: str, ids: str, escala: float, **opciones: Any) -> Caso:
        """``ids``: un ejemplo por letra; las iguales van con el mismo texto."""
        n, d = len(ids), entero(rng, 3, 5)
        numeros = permutacion(rng, 9)
        gradiente = propiedad == "se deriva"

        def vale(dado: Any) -> bool:
            """Ni vectores cortos, ni filas y columnas que digan lo mismo, ni nada por perder."""
            if float(dado.norm(dim=-1).min()) < 0.3:
                return False
            unos = dado / dado.norm(dim=-1, keepdim=True)
            tope = min(2.718281828459045**escala, opciones.get("max_scale", 100.0))
            x = tope * unos[0] @ unos[1].T
            suyos = x.diagonal()
            filas, columnas = ((x.logsumexp(i) - suyos).mean() for i in (1, 0))
            desborda = tope < 1000 or float(x.max()) > 800
            return desborda and abs(float(filas - columnas)) > 0.02

        torres = _hasta(lambda: uniforme(rng, 0.5, 2, 2, n, 1) * normal(rng, 2, n, d), vale)
        que = tensor([numeros["abcdefg".index(x)] for x in ids])
        return Caso(propiedad, (*torres, tensor(float(escala)), que), opciones, gradiente=gradiente)

    def suave() -> float:
        return real(rng, 1.2, 2.2)

    return [
        caso("sin repetir", elige(rng, ("abc", "abcd")), suave()),
        caso("sin repetir", "abcde", suave()),
        caso("sin repetir", "abcd", real(rng, -0.6, -0.2)),
        caso("repetidos", elige(rng, ("abac", "abca", "aabc")), suave()),
        caso("repetidos", elige(rng, ("abcaba", "aabacd")), suave()),
        caso("repetidos", "abba", suave()),
        caso("escala grande", "abcd", real(rng, 7.7, 8.0), max_scale=5000.0),
        caso("escala grande", "abacb", real(rng, 7.7, 8.0), max_scale=5000.0),
        caso("el tope", "abcb", real(rng, 3.5, 4.0), max_scale=elige(rng, (5.0, 8.0, 12.0))),
        caso("el tope", "abc", real(rng, 5.2, 5.6)),
        caso("se deriva", "abcd", suave()),
        caso("se deriva", elige(rng, ("abab", "abcb")), suave()),
    ]


_CLIP = Ejercicio(
    id="22.4",
    nombre="contrastive_loss",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="escribir la pérdida contrastiva de CLIP, también con parejas que se repiten",
    bordes=(
        "len(ids) == 1",
        "len(set(ids.tolist())) < len(ids)",
        "max_scale is None",
        Borde("sin repetir", {0: 0, 1: 0, 3: 0}),
    ),
    casos=_casos_clip,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 2.0]]),
            tensor([[3.0, 0.0], [1.0, 1.0]]),
            tensor(1.0),
            tensor([0, 1]),
        ),
    ),
    propiedades={
        "sin repetir": (3, "Cosenos, por la escala; entropía por filas y por columnas."),
        "repetidos": (3, "La diana reparte un 1 entre los textos con que va la imagen."),
        "escala grande": (1, "La exponencial de mil desborda: resta antes el mayor."),
        "el tope": (1, "La escala no pasa del tope."),
        "se deriva": (1, "El gradiente llega a las dos torres y a la escala."),
    },
    prohibido=(ENTROPIA, ATENTO),
    pistas=(
        "Escribe la tabla de parecidos y marca en ella las casillas que valen.",
        "La entropía cruzada es lo que se puntúa de más: el logaritmo de la suma de exponenciales"
        " menos la media de las puntuaciones que valen.",
        "Vectores de longitud 1, escala con su tope, y la misma tabla por filas y por columnas;"
        " si valen tres, cada una pesa un tercio.",
    ),
    mutantes=(
        cambia(
            "sin normalizar",
            "Los parecidos son cosenos: falta dividir cada vector entre su norma.",
            "images / images.norm(dim=-1, keepdim=True)",
            "images",
            "texts / texts.norm(dim=-1, keepdim=True)",
            "texts",
        ),
        cambia(
            "solo las imágenes",
            "Falta la otra mitad: la imagen de cada texto.",
            "(by_image.mean() + by_text.mean()) / 2",
            "by_image.mean()",
        ),
        cambia(
            "sin la mitad",
            "Son dos medias: la suma se divide entre 2.",
            "(by_image.mean() + by_text.mean()) / 2",
            "by_image.mean() + by_text.mean()",
        ),
        cambia(
            "sin la exponencial",
            "Lo que entra es el logaritmo de la escala.",
            "log_scale.clamp(max=math.log(max_scale)).exp()",
            "log_scale.clamp(max=max_scale)",
        ),
        cambia(
            "divide",
            "Se multiplica por la escala: lo que divide es la temperatura, que es su inversa.",
            "scale * unit_images",
            "1 / scale * unit_images",
        ),
        cambia(
            "sin tope",
            "Falta el tope de la escala.",
            "log_scale.clamp(max=math.log(max_scale)).exp()",
            "log_scale.exp()",
        ),
        cambia(
            "al menos 1",
            "La escala solo tiene tope por arriba: puede ser menor que 1.",
            "log_scale.clamp(max=math.log(max_scale))",
            "log_scale.clamp(min=0, max=math.log(max_scale))",
        ),
        cambia(
            "los repetidos, malos",
            "Una imagen va con todos los textos de su número, no solo con el de su sitio.",
            "(ids[:, None] == ids)",
            "torch.eye(len(ids))",
        ),
        cambia(
            "sin repartir",
            "La diana suma 1: se reparte entre los que valen.",
            "right / right.sum(dim=-1, keepdim=True)",
            "right",
        ),
        cuerpo(
            "la suma de las que valen",
            "Se pide una diana repartida, no la probabilidad de acertar con cualquiera de ellas.",
            """
            a = images / images.norm(dim=-1, keepdim=True)
            b = texts / texts.norm(dim=-1, keepdim=True)
            logits = log_scale.exp().clamp(max=max_scale) * a @ b.T
            kept = logits.masked_fill(ids[:, None] != ids, -math.inf)
            losses = [(logits.logsumexp(i) - kept.logsumexp(i)).mean() for i in (0, 1)]
            return sum(losses) / 2""",
        ),
        cambia(
            "desborda",
            "La exponencial desborda: hay que restar antes el mayor de cada fila.",
            "logits.logsumexp(dim=1)",
            "logits.exp().sum(dim=1).log()",
            "logits.logsumexp(dim=0)",
            "logits.exp().sum(dim=0).log()",
        ),
        cambia(
            "escala fija",
            "A la escala no le llega gradiente.",
            "log_scale.clamp(max=",
            "log_scale.detach().clamp(max=",
        ),
    ),
)

# --- 22.5 -----------------------------------------------------------------------------------------


def _rivales(puntos: list[float], buenas: list[bool]) -> tuple[int, int, int]:
    """Cuántas malas ganan a la mejor buena, cuántas empatan y cuántas de estas están antes."""
    mejor = max(x for x, buena in zip(puntos, buenas, strict=True) if buena)
    antes = next(i for i, x in enumerate(puntos) if buenas[i] and x == mejor)
    malas = [(i, x) for i, x in enumerate(puntos) if not buenas[i]]
    empatan = [i for i, x in malas if x == mejor]
    return sum(x > mejor for _, x in malas), len(empatan), sum(i < antes for i in empatan)


def _casos_recupera(rng: Any) -> list[Caso]:
    def dado(cuantos: list[int], empates: bool) -> tuple[Any, Any]:
        """``cuantos``: los textos de cada imagen."""
        import torch

        de = [i for i, n in enumerate(cuantos) for _ in range(n)]
        owner = tensor([de[i] for i in permutacion(rng, len(de))])
        x = torch.rand(len(cuantos), len(de), generator=rng, dtype=torch.float64)
        return (3 * x).round() / 4 - 0.5 if empates else x - 0.5, owner

    def vale(x: Any, owner: Any, ks: list[int], empates: bool, varios: bool) -> bool:
        """Que ninguna otra regla dé lo mismo."""
        filas, de = x.tolist(), owner.tolist()
        imagenes = [_rivales(fila, [d == i for d in de]) for i, fila in enumerate(filas)]
        textos = [
            _rivales([fila[j] for fila in filas], [i == d for i in range(len(filas))])
            for j, d in enumerate(de)
        ]

        def partes(cuentas: list[int], mas: int = 0) -> list[float]:
            return [sum(c < k + mas for c in cuentas) / len(cuentas) for k in ks]

        def a_cero(puntos: list[float], buenas: list[bool]) -> int:
            """Las malas por delante, si lo que no es suyo se anula en vez de apartarse."""
            pares = list(zip(puntos, buenas, strict=True))
            mejor = max(x if buena else 0.0 for x, buena in pares)
            return sum(x >= mejor for x, buena in pares if not buena)

        anuladas = (
            [a_cero(fila, [d == i for d in de]) for i, fila in enumerate(filas)],
            [
                a_cero([fila[j] for fila in filas], [i == d for i in range(len(filas))])
                for j, d in enumerate(de)
            ],
        )
        ciertas = [[ganan + igualan for ganan, igualan, _ in x] for x in (imagenes, textos)]
        uno, otro = map(partes, ciertas)
        # Con un solo puesto casi ningún sorteo lo distingue: basta con los demás casos.
        if max(ks) > 1 and [uno, otro] == [partes(x) for x in anuladas]:
            return False
        if uno == otro or any(
            partes(c, mas) == p
            for c, p in zip(ciertas, (uno, otro), strict=True)
            for mas in (1, -1)
        ):
            return False
        for cierta, lado in ((uno, imagenes), (otro, textos)):
            otras = ([g for g, _, _ in lado], [g + 99 * i for g, i, _ in lado])
            mas = [*otras, [g + antes for g, _, antes in lado]]
            if empates and cierta in map(partes, mas):
                return False
        if not varios:
            return True
        # Mirar el primero de los suyos, pedirlos todos o hacerlos rivales.
        vistas, sueltos = [uno], []
        for cual in ("primero", "peor"):
            delante = []
            for i, fila in enumerate(filas):
                suyos = [v for v, d in zip(fila, de, strict=True) if d == i]
                suyo = suyos[0] if cual == "primero" else min(suyos)
                delante.append(sum(v >= suyo for v, d in zip(fila, de, strict=True) if d != i))
            vistas.append(partes(delante))
        for j, d in enumerate(de):
            sueltos.append(sum(v >= filas[d][j] for v in filas[d]) - 1)
        vistas.append(partes(sueltos))
        return all(vistas.count(v) == 1 for v in vistas)

    def caso(propiedad: str, cuantos: list[int], ks: list[int], mas: tuple[int, ...] = ()) -> Caso:
        empates, varios = propiedad == "empates", propiedad == "varios textos"
        elegido = _hasta(lambda: dado(cuantos, empates), lambda x: vale(*x, ks, empates, varios))
        return Caso(propiedad, (*elegido, [*ks, *mas]))

    n = entero(rng, 5, 7)
    return [
        caso("uno a uno", [1] * n, [1, 2]),
        caso("uno a uno", [1] * 6, [elige(rng, (1, 2)), 3]),
        caso("varios textos", [2, 1, 3, 2], [1, elige(rng, (2, 3))]),
        caso("varios textos", elige(rng, ([3, 2, 2, 1], [1, 2, 2, 2, 2])), [1]),
        caso("varios textos", [2, 2, 2, 1], [1], (40,)),
        caso("empates", [1] * 6, [2, elige(rng, (1, 3))]),
        caso("empates", [2, 1, 2, 2], [2]),
    ]


_RECUPERA = Ejercicio(
    id="22.5",
    nombre="recall_at",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="medir una recuperación con varias respuestas buenas y con empates",
    tolerancia=1e-6,  # la parte se cuenta también en 32 bits
    bordes=(
        "len(ks) == 1",
        "empate(similarity)",
        "max(ks) > similarity.shape[1]",
        Borde("uno a uno", {}, {0: tensor([[0.4]]), 1: tensor([0])}),
    ),
    casos=_casos_recupera,
    ejemplo=lambda: Caso("ejemplo", (tensor([[0.5, 0.75], [0.5, 0.25]]), tensor([0, 1]), [1, 2])),
    propiedades={
        "uno a uno": (3, "¿Cuántas respuestas malas van delante de la buena?"),
        "varios textos": (3, "Basta encontrar uno de los suyos; los otros suyos no estorban."),
        "empates": (3, "En un empate, lo que no vale va delante."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Ordena a mano una fila con un empate, de la peor manera.",
        "No hace falta ordenar: cuenta cuántas respuestas malas se parecen tanto o más que la"
        " mejor buena.",
        "Se acierta si esa cuenta es menor que k. De imagen a texto se mira por filas, y de texto a"
        " imagen, por columnas.",
    ),
    mutantes=(
        cambia(
            "a favor",
            "Con un empate se cuenta lo peor: la mala va delante.",
            "similarity >= best_text",
            "similarity > best_text",
            "similarity >= best_image",
            "similarity > best_image",
        ),
        cuerpo(
            "a medias",
            "El empate no es un acierto a medias ni por turnos: la mala va delante.",
            """
            own = owner == torch.arange(len(similarity))[:, None]
            out = []
            for axis in (1, 0):
                best = similarity.masked_fill(~own, -math.inf).amax(dim=axis, keepdim=True)
                worst = ((similarity >= best) & ~own).sum(dim=axis)
                lucky = ((similarity > best) & ~own).sum(dim=axis)
                hits = [((worst < k).double() + (lucky < k).double()) / 2 for k in ks]
                out.append([h.mean().item() for h in hits])
            return out[0], out[1]""",
        ),
        cambia(
            "uno de más",
            "Con k malas delante, la buena es la k + 1.",
            "texts_ahead < k",
            "texts_ahead <= k",
            "images_ahead < k",
            "images_ahead <= k",
        ),
        cambia(
            "cambiadas",
            "La primera lista es la de las imágenes que buscan su texto.",
            "return of_image, of_text",
            "return of_text, of_image",
        ),
        cuerpo(
            "según el sitio",
            "En un empate va delante lo que no vale, esté donde esté en la lista.",
            """
            own = owner == torch.arange(len(similarity))[:, None]
            out = []
            for x, good in ((similarity, own), (similarity.T, own.T)):
                line = good.gather(1, x.argsort(dim=1, descending=True, stable=True))
                out.append([line[:, :k].any(dim=1).double().mean().item() for k in ks])
            return out[0], out[1]""",
        ),
        cuerpo(
            "el primero de los suyos",
            "Basta encontrar alguno de sus textos, no el primero de la lista.",
            """
            own = owner == torch.arange(len(similarity))[:, None]
            first = own.long().argmax(dim=1)
            mine = similarity[torch.arange(len(similarity)), first][:, None]
            texts_ahead = ((similarity >= mine) & ~own).sum(dim=1)
            mine = similarity[owner, torch.arange(len(owner))]
            images_ahead = ((similarity >= mine) & ~own).sum(dim=0)
            of_image = [(texts_ahead < k).double().mean().item() for k in ks]
            of_text = [(images_ahead < k).double().mean().item() for k in ks]
            return of_image, of_text""",
        ),
        cambia(
            "lo ajeno, a cero",
            "Un parecido puede ser negativo: lo que no es suyo se aparta, no se pone a cero.",
            "similarity.masked_fill(~own, -math.inf)",
            "(similarity * own)",
        ),
        cambia(
            "todos los suyos",
            "Basta con uno de sus textos: aquí se piden todos.",
            "kept.amax(dim=1, keepdim=True)",
            "similarity.masked_fill(~own, math.inf).amin(dim=1, keepdim=True)",
        ),
        cuerpo(
            "sus otros textos estorban",
            "Los otros textos de la imagen también valen: no cuentan como rivales.",
            """
            own = owner == torch.arange(len(similarity))[:, None]
            of_text = similarity[owner, torch.arange(len(owner))]
            hits = ((similarity[owner] >= of_text[:, None]).sum(dim=1) - 1)
            ahead = ((similarity >= of_text) & ~own).sum(dim=0)
            of_image = [(hits < k).double().mean().item() for k in ks]
            return of_image, [(ahead < k).double().mean().item() for k in ks]""",
        ),
    ),
)

# --- 22.6 -----------------------------------------------------------------------------------------


def _casos_cuello(rng: Any) -> list[Caso]:
    def caso(propiedad: str, capas: int, k: int, desde: int | None = None, minimo: int = 2) -> Caso:
        d = entero(rng, 3, 4)
        filas = [entero(rng, minimo, 4), entero(rng, 2, 5), k]
        entran = [normal(rng, n, d) for n in filas]
        pesos = [0.7 * normal(rng, capas, 3, d, d) for _ in "ab"]
        return Caso(propiedad, (*entran, *pesos), {} if desde is None else {"fuse_from": desde})

    return [
        caso("una capa", 1, entero(rng, 1, 2)),
        caso("una capa", 1, 3),
        caso("una capa", 1, 1, minimo=1),
        caso("varias capas", 2, 2),
        caso("varias capas", 3, entero(rng, 1, 3)),
        caso("más tarde", 2, 2, 1),
        caso("más tarde", 3, entero(rng, 1, 2), elige(rng, (1, 2))),
        caso("más tarde", 2, 1, 2),
    ]


_CUELLO = Ejercicio(
    id="22.6",
    nombre="bottleneck",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="pasar dos sentidos por unas pocas filas que comparten",
    tolerancia=1e-7,  # por varias capas, el redondeo crece
    bordes=(
        "len(neck) == 1",
        "len(a_weights) == 1",
        "fuse_from == len(a_weights)",
        Borde("una capa", {0: 0, 1: 0, 2: 0}),
    ),
    casos=_casos_cuello,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0]]),
            tensor([[0.0, 2.0]]),
            tensor([[0.0, 0.0]]),
            tensor(
                [[[[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]]
            ),
            tensor(
                [[[[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]]
            ),
        ),
    ),
    propiedades={
        "una capa": (3, "Son dos atenciones sueltas, cada una con las filas del cuello detrás."),
        "varias capas": (3, "A la capa siguiente pasa la media de los dos cuellos que salen."),
        "más tarde": (2, "Antes de esa capa el cuello no participa ni cambia."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Dibuja una capa: dos secuencias, y el mismo cuello detrás de las dos.",
        "Cada secuencia larga se atiende entera y se vuelve a cortar en lo suyo y el cuello.",
        "Los dos sentidos reciben el cuello de la capa anterior. Salen dos, y su media es el de la"
        " capa siguiente.",
    ),
    mutantes=(
        cambia(
            "los suma",
            "De los dos cuellos que salen se hace la media, no la suma.",
            "(with_a[len(a) :] + with_b[len(b) :]) / 2",
            "with_a[len(a) :] + with_b[len(b) :]",
        ),
        cambia(
            "el de a",
            "Falta lo que dice b: el cuello que pasa es la media de los dos.",
            "(with_a[len(a) :] + with_b[len(b) :]) / 2",
            "with_a[len(a) :]",
        ),
        cambia(
            "uno tras otro",
            "Los dos reciben el mismo cuello: aquí b recibe el que ya ha pasado por a.",
            "torch.cat([b, neck])",
            "torch.cat([b, with_a[len(a) :]])",
        ),
        cambia(
            "cuello nuevo cada vez",
            "El cuello que sale de una capa es el que entra en la siguiente.",
            "for layer, (of_a, of_b)",
            "first = neck\n    for layer, (of_a, of_b)",
            "torch.cat([a, neck])",
            "torch.cat([a, first])",
            "torch.cat([b, neck])",
            "torch.cat([b, first])",
        ),
        cambia(
            "se ven los sentidos",
            "Las filas de un sentido no ven las del otro: cada uno va con el cuello y nada más.",
            "torch.cat([a, neck])",
            "torch.cat([a, neck, b])",
            "with_a[len(a) :]",
            "with_a[len(a) : len(a) + len(neck)]",
        ),
        cambia(
            "sin el atajo",
            "Cada fila suma lo que le sale a lo que era.",
            "return x + scores",
            "return scores",
        ),
        cambia(
            "sin escalar",
            "Las puntuaciones se dividen entre la raíz de la anchura.",
            "query @ key.T / math.sqrt(x.shape[1])",
            "query @ key.T",
        ),
        cambia(
            "los mismos pesos",
            "Cada sentido tiene sus matrices.",
            "torch.cat([b, neck]), of_b",
            "torch.cat([b, neck]), of_a",
        ),
        cambia(
            "desde el principio",
            "Las primeras capas van sin el cuello.",
            "layer < fuse_from",
            "layer < 0",
        ),
        cambia(
            "una capa tarde",
            "Las capas se cuentan desde 0: la de ese número ya lleva el cuello.",
            "layer < fuse_from",
            "layer < fuse_from + (fuse_from > 0)",
        ),
    ),
)

# --- 22.7 -----------------------------------------------------------------------------------------


def _casos_gato(rng: Any) -> list[Caso]:
    import math

    def caso(
        propiedad: str, k: int, m: int, extremos: tuple[float, ...] = (), **opciones: float
    ) -> Caso:
        """Nadie cae en una frontera, salvo en los extremos, donde es exacta."""
        vocab, bins = entero(rng, 5, 40), elige(rng, (10, 12, 18)) if not extremos else 16
        mu, limite = opciones.get("mu", 100.0), opciones.get("limit", 256.0)

        def claro(x: Any) -> bool:
            return bool((((x + 1) / 2 * bins + 0.5).frac() - 0.5).abs().min() > 1e-3)

        def medidas() -> Any:
            x = limite ** uniforme(rng, -0.6, 0.95, k)
            x[::2] *= -1
            return x

        def vale(x: Any) -> bool:
            y = x.sign() * (mu * x.abs() + 1).log() / math.log(mu * limite + 1)
            return claro(y)

        values = _hasta(medidas, vale)
        actions = _hasta(lambda: uniforme(rng, -0.98, 0.98, m), lambda x: m == 0 or claro(x))
        if m > 1:  # una de cada signo, y que comprimirla se note
            actions[0], actions[1] = 0.31 + 0.02 * real(rng, 0, 1), -0.31
        if extremos:
            values = tensor([*(limite * x for x in extremos), *values.tolist()])
            actions = tensor([1.0, -1.0, 0.0, *actions.tolist()])
        return Caso(propiedad, (values, actions, vocab, bins), opciones)

    def constantes() -> dict[str, float]:
        return {"mu": real(rng, 20, 60), "limit": real(rng, 4, 12)}

    return [
        caso("medidas", entero(rng, 3, 5), 0),
        caso("medidas", entero(rng, 2, 4), 0, **constantes()),
        caso("con acciones", entero(rng, 2, 4), entero(rng, 2, 3)),
        caso("con acciones", 3, 2, **constantes()),
        caso("los extremos", 2, 2, (1.5, -3.0, 0.0)),
        caso("los extremos", 2, 2, (0.0, -1.2, 40.0), **constantes()),
    ]


_GATO = Ejercicio(
    id="22.7",
    nombre="gato_tokens",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="escribir medidas y acciones con los mismos tokens que las palabras, y leerlas",
    tolerancia=1e-8,
    bordes=(
        "len(actions) == 0",
        "bool((values == 0).any())",
        "bool((actions.abs() == 1).any())",
        "mu is None",
        Borde("medidas", {0: 0}),
    ),
    casos=_casos_gato,
    ejemplo=lambda: Caso("ejemplo", (tensor([0.5, -300.0]), tensor([0.5, -1.0]), 10, 8)),
    propiedades={
        "medidas": (3, "Comprimir, repartir en intervalos, sumar el vocabulario, y el separador."),
        "con acciones": (3, "Las acciones ya van de −1 a 1: ni se comprimen ni se descomprimen."),
        "los extremos": (2, "Lo que se sale va al último intervalo; el 0, al de su derecha."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Sigue a mano una medida: qué número comprimido da y en qué intervalo cae.",
        "Los intervalos van de −1 a 1. Los tokens empiezan detrás de los del vocabulario, y el"
        " separador va detrás de todos.",
        "A la vuelta, el centro del intervalo es su borde izquierdo más medio ancho. La inversa de"
        " la compresión lleva una exponencial, y conserva el signo.",
    ),
    mutantes=(
        cambia(
            "comprime las acciones",
            "Las acciones no se comprimen: ya van de −1 a 1.",
            "torch.cat([squeezed, actions])",
            "torch.cat([squeezed, actions.sign() * (mu * actions.abs() + 1).log() / top])",
        ),
        cambia(
            "no descomprime",
            "A las medidas recuperadas les falta deshacer la compresión.",
            "back = back.sign() * ((back.abs() * top).exp() - 1) / mu",
            "back = back * 1",
        ),
        cambia(
            "descomprime todo",
            "Las acciones recuperadas son el centro de su intervalo y nada más.",
            "torch.cat([back, acted])",
            "torch.cat([back, acted.sign() * ((acted.abs() * top).exp() - 1) / mu])",
        ),
        cambia(
            "sin signo",
            "La compresión conserva el signo.",
            "squeezed = values.sign() * ",
            "squeezed = ",
        ),
        cambia(
            "ley sin límite",
            "Se divide entre el logaritmo de μM + 1: falta M, que es el límite.",
            "math.log(mu * limit + 1)",
            "math.log(mu + 1)",
        ),
        cambia(
            "sin vocabulario",
            "Los tokens de los intervalos van detrás de los del vocabulario.",
            "[vocab + of_values, separator, vocab + of_actions]",
            "[of_values, separator, of_actions]",
        ),
        cambia(
            "sin separador",
            "Falta el separador entre las medidas y las acciones.",
            "[vocab + of_values, separator, vocab + of_actions]",
            "[vocab + of_values, vocab + of_actions]",
        ),
        cambia(
            "el borde",
            "Se recupera el centro del intervalo, no su borde.",
            "(2 * cells + 1)",
            "(2 * cells)",
        ),
        cambia(
            "sin recortar",
            "Lo que se sale del segmento cae en el intervalo del extremo, que sí existe.",
            ".clamp(0, bins - 1)",
            "",
        ),
        cambia(
            "al más cercano",
            "El intervalo es el que contiene al número: se redondea hacia abajo.",
            ".floor()",
            ".round()",
        ),
        cambia(
            "los intervalos, entre los bordes",
            "Son tantos intervalos como bins, no tantos bordes.",
            "(numbers + 1) / 2 * bins",
            "(numbers + 1) / 2 * (bins - 1)",
        ),
    ),
)

# --- 22.8 -----------------------------------------------------------------------------------------

_VISTOS = ((2,), (0, 2), (1, 2), (0, 1, 2))


def _cuentas(tabla: Any, columnas: tuple[int, ...]) -> dict[tuple[int, ...], dict[int, int]]:
    """De cada grupo que no se distingue, cuántas veces es cada respuesta."""
    grupos: dict[tuple[int, ...], dict[int, int]] = {}
    for fila in tabla.tolist():
        grupo = grupos.setdefault(tuple(fila[i] for i in columnas), {})
        grupo[fila[3]] = grupo.get(fila[3], 0) + fila[4]
    return grupos


def _mayor(grupo: dict[int, int], signo: int = 1) -> int:
    """La más frecuente; en un empate, la menor (o la mayor, con ``signo`` −1)."""
    return min(grupo, key=lambda respuesta: (-grupo[respuesta], signo * respuesta))


def _aprende(train: Any, test: Any, signo: int = 1, nuevos: str = "pregunta") -> list[int]:
    """Las veces que acierta quien se aprende ``train``, sentido a sentido."""
    aciertos = []
    for columnas in _VISTOS:
        sabidos, de_pregunta = _cuentas(train, columnas), _cuentas(train, (2,))
        todo, de_imagen = _cuentas(train, ())[()], _cuentas(train, (0, 2))
        suma = 0
        for clave, grupo in _cuentas(test, columnas).items():
            otro = {"pregunta": de_pregunta[clave[-1:]], "todo": todo, "nada": {-1: 1}}
            otro["imagen"] = de_imagen.get((clave[0], clave[-1]), otro["pregunta"])
            suma += grupo.get(_mayor(sabidos.get(clave, otro[nuevos]), signo), 0)
        aciertos.append(suma)
    return aciertos


_PREGUNTAS: tuple[Callable[[int, int], int], ...] = (
    max,
    min,
    lambda a, b: a + b,
    lambda a, b: int(a == b),
    lambda a, b: (a + b) % 2,
    lambda a, b: int(a > b),
    lambda a, b: a,
    lambda a, b: b,
)


def _casos_ciegos(rng: Any) -> list[Caso]:
    def veces() -> int:
        return 1 + permutacion(rng, 5)[0]

    def tablas(cuales: list[int], apartadas: int, ruido: int, iguales: bool) -> tuple[Any, Any]:
        parejas = [(a, b) for a in range(4) for b in range(4)]
        parejas = [parejas[i] for i in permutacion(rng, 16)]
        partes = parejas[apartadas:], parejas if not apartadas else parejas[:apartadas]
        filas: tuple[list[Any], list[Any]] = ([], [])
        for numero, cual in enumerate(cuales):
            for parte, suyas in zip(filas, partes, strict=True):
                for a, b in suyas:
                    cuantas = 1 if iguales else veces()
                    parte.append([a, b, numero, _PREGUNTAS[cual](a, b), cuantas])
                for a, b in suyas[:ruido]:
                    otra = _PREGUNTAS[cual](a, b) + 1
                    parte.append([a, b, numero, otra, 1 if iguales else veces()])
        ordenes = [permutacion(rng, len(f)) for f in filas]
        uno, otro = (tensor([f[i] for i in o]) for f, o in zip(filas, ordenes, strict=True))
        return uno, otro

    def caso(
        propiedad: str, cuantas: int, apartadas: int = 0, ruido: int = 0, iguales: bool = False
    ) -> Caso:
        def sortea() -> tuple[Any, Any]:
            return tablas(permutacion(rng, 6)[:cuantas], apartadas, ruido, iguales)

        def vale(dado: tuple[Any, Any]) -> bool:
            cierto = _aprende(*dado)
            if iguales and cierto == _aprende(*dado, signo=-1):
                return False
            if apartadas and cierto in [_aprende(*dado, nuevos=x) for x in ("nada", "imagen")]:
                return False
            if apartadas and cuantas > 1 and cierto == _aprende(*dado, nuevos="todo"):
                return False
            techo = [sum(max(g.values()) for g in _cuentas(dado[1], c).values()) for c in _VISTOS]
            # Los dos sentidos no dicen lo mismo, ni el techo es lo que se aprende.
            return techo[1] != techo[2] and cierto[1] != cierto[2] and techo != cierto

        return Caso(propiedad, _hasta(sortea, vale))

    return [
        caso("una pregunta", 1, ruido=entero(rng, 3, 5)),
        caso("una pregunta", 1, apartadas=entero(rng, 5, 6)),
        caso("varias preguntas", entero(rng, 2, 3), ruido=2),
        caso("varias preguntas", 2, apartadas=6, ruido=entero(rng, 2, 3)),
        caso("parejas nuevas", entero(rng, 2, 3), apartadas=5),
        caso("parejas nuevas", 2, apartadas=entero(rng, 4, 6), ruido=1),
        caso("empates", 2, iguales=True, apartadas=entero(rng, 5, 6)),
        caso("empates", 2, iguales=True, apartadas=4, ruido=entero(rng, 2, 4)),
    ]


_CIEGOS = Ejercicio(
    id="22.8",
    nombre="blind_scores",
    tipo="escribir",
    dificultad=3,
    minutos=45,
    aprende="contar el techo de cada sentido y lo que acierta quien se aprende las parejas",
    bordes=(
        "int(test[:, 2].max()) == 0",
        "len({tuple(r[:3]) for r in test.tolist()}) < len(test)",
        "not {tuple(r[:2]) for r in test.tolist()} & {tuple(r[:2]) for r in train.tolist()}",
    ),
    casos=_casos_ciegos,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0, 0, 0, 0, 3], [0, 1, 0, 1, 1], [1, 0, 0, 1, 1]]),
            tensor([[0, 1, 0, 1, 1], [1, 1, 0, 0, 3]]),
        ),
    ),
    propiedades={
        "una pregunta": (2, "Junta las filas que no se distinguen, y cuenta en ellas las veces."),
        "varias preguntas": (3, "La pregunta siempre se ve: cada una tiene sus grupos."),
        "parejas nuevas": (3, "Ante lo que no se ha visto, la respuesta usual de la pregunta."),
        "empates": (2, "Con dos respuestas igual de frecuentes, la de número menor."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz a mano una tabla de dos imágenes y dos textos, y tapa el texto.",
        "Quien no distingue dos filas contesta lo mismo a las dos: haz grupos.",
        "El techo elige en cada grupo con las veces del examen; quien ha estudiado, con las del"
        " entrenamiento. Las dos reglas se puntúan con las veces del examen.",
    ),
    mutantes=(
        cambia(
            "sin las veces",
            "Cada fila cuenta las veces que sale, no una.",
            "+= row[4]",
            "+= 1",
            "test[:, 4].to(right.dtype)",
            "torch.ones(len(test))",
        ),
        cambia(
            "media de los grupos",
            "Los grupos grandes pesan más: se suman veces, no se promedian aciertos.",
            "+= max(group.values())",
            "+= max(group.values()) / sum(group.values())",
            "+= group[answer]",
            "+= group[answer] / sum(group.values())",
            "right / total[:, None, None]",
            "right / torch.stack([torch.tensor([len([k for k in groups(test, c) if k[-1] == q])"
            " for c in [(2,), (0, 2), (1, 2), (0, 1, 2)]]) for q in range(len(right))])[:, None]",
        ),
        cambia(
            "el techo del entrenamiento",
            "El techo es del examen: su regla se elige con las veces del examen.",
            "+= max(group.values())",
            "+= group[answer]",
        ),
        cambia(
            "estudia el examen",
            "Esa regla ha visto el examen: se elige con el entrenamiento.",
            "usual(studied.get(key, by_question[(question,)]))",
            "usual(group)",
        ),
        cambia(
            "sin la pregunta",
            "La pregunta se ve siempre: también separa los grupos.",
            "studied.get(key, by_question[(question,)])",
            "groups(train, columns[:-1]).get(key[:-1], by_question[(question,)])",
        ),
        cambia(
            "ante lo nuevo, fallo",
            "Ante lo que no vio, contesta la respuesta más frecuente de la pregunta.",
            "studied.get(key, by_question[(question,)])",
            "studied.get(key, Counter([-1]))",
        ),
        cambia(
            "la usual de todas",
            "La respuesta usual es la de esa pregunta, no la de todas juntas.",
            "studied.get(key, by_question[(question,)])",
            "studied.get(key, groups(train, ())[()])",
        ),
        cambia(
            "el mayor en el empate",
            "En un empate se contesta la respuesta de número menor.",
            "(-group[answer], answer)",
            "(-group[answer], -answer)",
        ),
        cambia(
            "sentidos cambiados",
            "El orden es nada, la imagen, el texto y los dos.",
            "[(2,), (0, 2), (1, 2), (0, 1, 2)]",
            "[(2,), (1, 2), (0, 2), (0, 1, 2)]",
        ),
    ),
)

EJERCICIOS = [
    _A_MANO,
    _VEN,
    _ULTIMA,
    _CLIP,
    _RECUPERA,
    _CUELLO,
    _GATO,
    _CIEGOS,
]
