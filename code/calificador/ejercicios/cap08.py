"""Ejercicios del capítulo 8, «Dónde está cada palabra»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import (
    Borde,
    distintos,
    elige,
    entero,
    normal,
    real,
    tensor,
    uniforme,
)
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import de_atento

# --- 8.1 ------------------------------------------------------------------------------------------

_SIETE = Ejercicio(
    id="8.1",
    nombre="shift_effect",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="separar lo que cambia al desplazar una frase de lo que no",
    opciones=("las filas", "los productos entre filas", "las filas y los productos", "nada"),
    propiedades={
        "respuesta": (2, "¿Qué les pasa a las agujas de un sitio? ¿Y al ángulo entre dos sitios?")
    },
    pistas=(
        "Mueve las dos posiciones a la vez en el explorador.",
        "El producto de dos filas es una suma de cosenos. ¿De qué?",
    ),
    mutantes=(
        cuerpo(
            "las dos cosas",
            "El producto depende de la distancia, y las distancias no han cambiado.",
            "return 'las filas y los productos'",
        ),
        cuerpo(
            "nada",
            "La aguja rápida ha girado siete radianes: las filas no son las mismas.",
            "return 'nada'",
        ),
        cuerpo(
            "al revés",
            "Es al revés: mira qué depende del sitio y qué de la distancia.",
            "return 'los productos entre filas'",
        ),
    ),
)

# --- 8.2 ------------------------------------------------------------------------------------------


def _casos_seno(rng: Any) -> list[Caso]:
    def caso(propiedad: str, *lote: int, entera: bool = True) -> Caso:
        n, d = entero(rng, 2, 9), 2 * entero(rng, 2, 8)
        sitios = uniforme(rng, 0, 300, *lote, n) if entera else uniforme(rng, -150, 150, *lote, n)
        return Caso(propiedad, (sitios.round().long() if entera else sitios, d))

    def con_base() -> Caso:
        n, d = entero(rng, 2, 9), 2 * entero(rng, 2, 8)
        sitios = uniforme(rng, 0, 40, n).round().long()
        return Caso("otra base", (sitios, d), {"base": elige(rng, [37.5, 200.0, 1000.0])})

    return [
        caso("una fila"),
        caso("una fila"),
        con_base(),
        con_base(),
        caso("lote y reales", 3),
        caso("lote y reales", 2, 2, entera=False),
    ]


_SENO = Ejercicio(
    id="8.2",
    nombre="sinusoidal_encoding",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="escribir la codificación sinusoidal entera",
    bordes=(
        Borde("una fila", {0: 0}),
        Borde("una fila", valores={1: 2}),
    ),
    casos=_casos_seno,
    ejemplo=lambda: Caso("ejemplo", (tensor([0, 1]), 2)),
    propiedades={
        "una fila": (4, "Prueba con el sitio 1 y d = 4: deben salir los números de la tabla."),
        "otra base": (2, "La base es un argumento: no vale escribir 10000."),
        "lote y reales": (
            2,
            "Los ejes de delante se conservan y los sitios son reales, también negativos.",
        ),
    },
    prohibido=(de_atento("atento.positions"),),
    pistas=(
        "Primero las d/2 frecuencias, después los ángulos y al final los senos y los cosenos.",
        "Los ángulos salen de un producto con difusión: (…, n, 1) por (d/2,).",
        "Para intercalar, apila seno y coseno en un eje nuevo, al final, y aplana los dos últimos.",
    ),
    mutantes=(
        cambia(
            "mitades",
            "Los senos y los cosenos van intercalados, y aquí están en dos mitades.",
            "torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)",
            "torch.cat([angle.sin(), angle.cos()], dim=-1)",
        ),
        cambia(
            "coseno delante",
            "En cada pareja va primero el seno.",
            "[angle.sin(), angle.cos()]",
            "[angle.cos(), angle.sin()]",
        ),
        cambia(
            "sin el 2",
            "El exponente es −2r/d, donde r cuenta agujas: falta el 2.",
            "-double_pair / d_model",
            "-double_pair / 2 / d_model",
        ),
        cambia(
            "base fija",
            "La base es un argumento.",
            "speed = base **",
            "speed = 10000.0 **",
        ),
        cambia(
            "signo del exponente",
            "Las frecuencias bajan: el exponente es negativo.",
            "-double_pair / d_model",
            "double_pair / d_model",
        ),
        cambia(
            "empieza en 1",
            "El primer sitio es el 0.",
            "positions.double().unsqueeze(-1) * speed",
            "(positions.double() + 1).unsqueeze(-1) * speed",
        ),
        cambia(
            "divisor con d − 2",
            "El exponente se divide entre d, así que la última frecuencia no llega a 1/base.",
            "-double_pair / d_model",
            "-double_pair / max(d_model - 2, 1)",
        ),
    ),
)

# --- 8.3 ------------------------------------------------------------------------------------------

_AGUJAS = Ejercicio(
    id="8.3",
    nombre="clock_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    tolerancia=6e-4,
    aprende="calcular a mano el código de un sitio y el producto de dos",
    propiedades={
        "first": (1, "La componente 0 es el seno de la aguja rápida, en radianes."),
        "last": (1, "La componente 3 es el coseno de la aguja lenta, en el sitio 100."),
        "norm": (1, "Cada aguja aporta seno al cuadrado más coseno al cuadrado."),
        "product": (1, "El producto solo depende de la distancia entre los dos sitios."),
    },
    pistas=(
        "Con d = 4 hay dos agujas. ¿Cuántos radianes por sitio gira cada una?",
        "Para `first` y `last`: las frecuencias son 1 y 0.01, y en el sitio 100 la aguja lenta ha"
        " girado un radián.",
        "Para `product` no hacen falta las dos filas: es una suma de cosenos de la distancia, 3.",
    ),
    mutantes=(
        cambia("coseno", "La componente 0 es un seno.", "math.sin(3)", "math.cos(3)"),
        cambia(
            "grados",
            "Los ángulos van en radianes, no en grados.",
            "math.sin(3)",
            "math.sin(math.radians(3))",
            "math.cos(0.01 * 100)",
            "math.cos(math.radians(1))",
            "math.cos(3) + math.cos(0.03)",
            "math.cos(math.radians(3)) + math.cos(math.radians(0.03))",
        ),
        cambia(
            "seno lento",
            "Los códigos van en parejas, seno y coseno: la componente 3 es un coseno.",
            "math.cos(0.01 * 100)",
            "math.sin(0.01 * 100)",
        ),
        cambia(
            "frecuencia sin raíz",
            "El exponente es −2r/d = −1/2, así que la frecuencia es 0.01 y no 0.0001.",
            "math.cos(0.01 * 100)",
            "math.cos(0.0001 * 100)",
        ),
        cambia(
            "norma por componente",
            "Son dos agujas, y cada una aporta 1.",
            "1.0 + 1.0",
            "4.0",
        ),
        cambia(
            "suma de sitios",
            "El coseno es de la diferencia de los sitios, no de la suma.",
            "math.cos(3) + math.cos(0.03)",
            "math.cos(13) + math.cos(0.13)",
        ),
        cambia(
            "solo la rápida",
            "Falta la aguja lenta en el producto.",
            "math.cos(3) + math.cos(0.03)",
            "math.cos(3)",
        ),
    ),
)

# --- 8.4 ------------------------------------------------------------------------------------------


def _casos_mitades(rng: Any) -> list[Caso]:
    def caso(propiedad: str, *lote: int) -> Caso:
        return Caso(propiedad, (normal(rng, *lote, 2 * entero(rng, 3, 8)),), gradiente=True)

    return [
        caso("un código"),
        caso("un código"),
        caso("con lote", entero(rng, 2, 5)),
        caso("con lote", 2, 3),
    ]


_MITADES = Ejercicio(
    id="8.4",
    nombre="halves_to_pairs",
    tipo="escribir",
    dificultad=1,
    minutos=10,
    aprende="pasar de una disposición de senos y cosenos a la otra",
    bordes=(Borde("con lote", {0: 0}),),
    casos=_casos_mitades,
    ejemplo=lambda: Caso("ejemplo", (tensor([1.0, 2.0, 3.0, 4.0]),)),
    propiedades={
        "un código": (2, "Con (1, 2, 3, 4) debe salir (1, 3, 2, 4)."),
        "con lote": (2, "Solo se reordena el último eje."),
    },
    pistas=(
        "Con d = 6, ¿en qué orden quedan las componentes 0, 1, 2, 3, 4 y 5?",
        "Parte el último eje en dos de tamaños 2 y d/2 y cambia esos dos ejes.",
    ),
    mutantes=(
        cuerpo("sin tocar", "Sigue en mitades: no se ha reordenado nada.", "return code.clone()"),
        cuerpo(
            "de parejas a mitades",
            "Es el camino contrario: recibe mitades y debe dar parejas.",
            "return torch.cat([code[..., 0::2], code[..., 1::2]], dim=-1)",
        ),
        cuerpo(
            "coseno delante",
            "En cada pareja va primero el seno, que está en la primera mitad.",
            "return code.unflatten(-1, (2, -1)).flip(-2).transpose(-2, -1).flatten(-2)",
        ),
        cuerpo(
            "mitades cambiadas",
            "Se han cambiado de sitio las mitades: faltaba intercalarlas.",
            "return torch.roll(code, code.shape[-1] // 2, dims=-1)",
        ),
    ),
)

# --- 8.5 ------------------------------------------------------------------------------------------


def _casos_relleno(rng: Any) -> list[Caso]:
    def caso(propiedad: str) -> Caso:
        import torch

        lote, n, d = distintos(rng, 3, 9, 3)
        cuantas = [entero(rng, 1, n - 1) for _ in range(lote)]
        cuantas[0] = n if propiedad == "sin relleno" else cuantas[0]
        cuantas[-1] = 0 if propiedad == "detrás" else cuantas[-1]  # una frase, toda relleno
        mask = torch.arange(n) < torch.tensor(cuantas)[:, None]
        if propiedad == "sin relleno":
            mask = torch.ones(lote, n, dtype=torch.bool)
        elif propiedad == "delante":
            mask = mask.flip(-1)
        elif propiedad == "en medio":
            orden = torch.rand(lote, n, generator=rng).argsort(-1)
            mask = mask.gather(1, orden)
        tabla = normal(rng, n + entero(rng, 1, 4), d)
        return Caso(propiedad, (normal(rng, lote, n, d), tabla, mask), gradiente=True)

    return [
        caso("sin relleno"),
        caso("detrás"),
        caso("delante"),
        caso("delante"),
        caso("en medio"),
        caso("en medio"),
    ]


_RELLENO = Ejercicio(
    id="8.5",
    nombre="add_positions",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="dar a cada palabra de un lote su sitio cuando hay relleno",
    bordes=(
        "mask.all()",
        "tapada(mask)",
        Borde("sin relleno", {0: 1, 2: 1}),
        Borde("sin relleno", {0: 0, 2: 0}),
    ),
    casos=_casos_relleno,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[0.0], [0.0], [0.0]]]),
            tensor([[1.0], [2.0], [3.0]]),
            tensor([[False, True, True]]),
        ),
    ),
    propiedades={
        "sin relleno": (1, "Sin relleno es sumar las primeras filas de la tabla."),
        "detrás": (2, "El relleno se queda como llegó, también si la frase entera es relleno."),
        "delante": (2, "Con relleno delante, la primera palabra de verdad está en el sitio 0."),
        "en medio": (3, "El sitio es cuántas palabras de verdad hay antes."),
    },
    pistas=(
        "El sitio de una palabra depende de cuántos True hay antes en su fila.",
        "Una suma acumulada de la máscara, menos uno, da el sitio de cada palabra.",
        "Donde la máscara es False el índice no importa, pero debe ser válido, y no se suma nada.",
    ),
    mutantes=(
        cambia(
            "sitio en el tensor",
            "Se ha usado el sitio en el tensor, contando el relleno.",
            "(mask.cumsum(dim=1) - 1).clamp(min=0)",
            "torch.arange(x.shape[1]).expand(mask.shape)",
        ),
        cambia(
            "suma al relleno",
            "El relleno debe quedarse como llegó.",
            " * mask.unsqueeze(-1)",
            "",
        ),
        cambia(
            "empieza en 1",
            "La primera palabra de verdad está en el sitio 0: falta restar uno.",
            "(mask.cumsum(dim=1) - 1).clamp(min=0)",
            "mask.cumsum(dim=1)",
        ),
        cambia(
            "acumula por el lote",
            "La suma acumulada va a lo largo de cada frase, no de una frase a otra.",
            "mask.cumsum(dim=1)",
            "mask.cumsum(dim=0)",
        ),
        cambia(
            "borra el relleno",
            "El relleno se ha puesto a cero: debe quedarse como llegó.",
            "x + table[places] * mask.unsqueeze(-1)",
            "(x + table[places]) * mask.unsqueeze(-1)",
        ),
    ),
)

# --- 8.6 ------------------------------------------------------------------------------------------


def _casos_adelantar(rng: Any) -> list[Caso]:
    def caso(propiedad: str, delta: float, **extra: float) -> Caso:
        return Caso(propiedad, (delta, 2 * entero(rng, 2, 7)), extra)

    return [
        caso("adelante", float(entero(rng, 1, 9))),
        caso("adelante", float(entero(rng, 10, 90))),
        caso("atrás", -float(entero(rng, 1, 9))),
        caso("atrás", -real(rng, 0.1, 3.0)),
        caso("otra base", -real(rng, 0.6, 5.4), base=elige(rng, [30.0, 500.0])),
        caso("otra base", float(entero(rng, 1, 9)), base=elige(rng, [70.0, 900.0])),
    ]


_ADELANTAR = Ejercicio(
    id="8.6",
    nombre="shift_matrix",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="escribir la rotación que adelanta un código, con la convención por filas",
    bordes=(
        "delta < 0",
        Borde("adelante", valores={0: 0.0}),
        Borde("adelante", valores={1: 2}),
    ),
    casos=_casos_adelantar,
    ejemplo=lambda: Caso("ejemplo", (1.0, 2)),
    propiedades={
        "adelante": (4, "Comprueba que el código del sitio 0 por N es el del sitio delta."),
        "atrás": (2, "Atrasar es girar al revés."),
        "otra base": (2, "La base es un argumento."),
    },
    prohibido=(de_atento("atento.positions"),),
    pistas=(
        "Escribe seno y coseno de una suma para una sola aguja y léelos como una fila por una"
        " matriz.",
        "Por columnas, el bloque es (cos, sen; −sen, cos). Por filas se multiplica del otro lado.",
        "Los bloques van en la diagonal, y el de cada aguja gira delta por su frecuencia.",
    ),
    mutantes=(
        cambia(
            "por columnas",
            "Es la matriz para códigos por columnas: por filas va la traspuesta.",
            "cos, -sin",
            "cos, sin",
            "= sin, cos",
            "= -sin, cos",
        ),
        cambia(
            "un giro para todas",
            "Cada pareja gira a su velocidad.",
            "delta * base ** (-start / d_model)",
            "delta",
        ),
        cambia(
            "exponente a la mitad",
            "El exponente es −2r/d, y start ya vale 2i.",
            "(-start / d_model)",
            "(-start / 2 / d_model)",
        ),
        cambia(
            "base fija",
            "La base es un argumento.",
            "delta * base **",
            "delta * 10000.0 **",
        ),
        cambia(
            "coseno y seno cambiados",
            "En la diagonal van los cosenos.",
            "cos, sin = math.cos(angle), math.sin(angle)",
            "cos, sin = math.sin(angle), math.cos(angle)",
        ),
    ),
)

# --- 8.7 ------------------------------------------------------------------------------------------


def _casos_averiado(rng: Any) -> list[Caso]:
    def caso(propiedad: str, una: bool = False) -> Caso:
        pocos, muchos = sorted(distintos(rng, 2, 7, 2))
        lote, n = (muchos, pocos) if propiedad == "más frases que palabras" else (pocos, muchos)
        lote = 1 if una else lote
        return Caso(propiedad, (normal(rng, lote, n, 2 * entero(rng, 2, 6)),), gradiente=True)

    return [
        caso("más palabras que frases", una=True),
        caso("más palabras que frases"),
        caso("más frases que palabras"),
        caso("más frases que palabras"),
    ]


_AVERIADO = Ejercicio(
    id="8.7",
    nombre="add_sinusoids",
    tipo="depurar",
    dificultad=2,
    minutos=20,
    aprende="encontrar en qué eje se ponen las posiciones",
    bordes=(
        "len(x) == 1",
        Borde("más frases que palabras", {0: 1}),
    ),
    casos=_casos_averiado,
    ejemplo=lambda: Caso("ejemplo", (tensor([[[0.0, 0.0], [0.0, 0.0]]]),)),
    propiedades={
        "más palabras que frases": (3, "Anota la forma de cada línea con lote 2 y n = 5."),
        "más frases que palabras": (3, "Con x a cero, todas las frases deben salir iguales."),
    },
    prohibido=(de_atento("atento.positions"),),
    pistas=(
        "Prueba con x a cero: todas las frases del lote deben recibir los mismos códigos.",
        "Hay una falta en los sitios, otra en las frecuencias y otra en la suma.",
        "Los sitios están en el eje 1, el exponente lleva un 2 y el código se difunde por el lote.",
    ),
    mutantes=(
        cambia(
            "sin tocar",
            "Siguen las tres faltas: los sitios, las frecuencias y el eje de la suma.",
            "x.shape[1]",
            "x.shape[0]",
            "-2 * pair / d",
            "-pair / d",
            "code[None]",
            "code[:, None]",
        ),
        cambia(
            "frecuencias",
            "Las frecuencias son base^(−2r/d): falta el 2.",
            "-2 * pair / d",
            "-pair / d",
        ),
        cambia(
            "sitios del lote y suma",
            "Cada frase recibe un código y todas sus palabras el mismo: los sitios están en el"
            " eje 1.",
            "x.shape[1]",
            "x.shape[0]",
            "code[None]",
            "code[:, None]",
        ),
        cambia(
            "sitios del lote",
            "Los sitios se cuentan en el eje 1; el 0 es el lote.",
            "x.shape[1]",
            "x.shape[0]",
        ),
        cambia(
            "eje de la suma",
            "El código (n, d) se difunde por el lote: el eje nuevo va delante.",
            "code[None]",
            "code[:, None]",
        ),
    ),
)

# --- 8.8 ------------------------------------------------------------------------------------------


def _codigo(sitios: Any, d: int, base: float) -> Any:
    import torch

    angulo = sitios[:, None].double() * base ** (-torch.arange(0, d, 2).double() / d)
    return torch.stack([angulo.sin(), angulo.cos()], dim=-1).flatten(-2)


def _empujadas(rng: Any, d: int, limite: int, cuantas: int) -> Any:
    """Filas con todo el ruido en las cuatro agujas rápidas, hacia otro sitio.

    Es el sitio a la distancia en la que esas cuatro casi vuelven a coincidir. Leídas solo con ellas
    dicen ese otro; con todas, el suyo, porque el ruido no llega a la mitad de lo que lo separa de
    los demás, que solo depende de la distancia.
    """
    import torch

    tabla = _codigo(torch.arange(limite), d, 10000.0)
    salto = int((tabla[1:, :8] - tabla[0, :8]).norm(dim=-1).argmin()) + 1
    hueco = (tabla[1:] - tabla[0]).norm(dim=-1).min()
    sitios = uniforme(rng, 0, limite - salto - 1, cuantas).round().long()
    filas = tabla[sitios].clone()
    hacia = torch.nn.functional.normalize(tabla[sitios + salto, :8] - filas[:, :8], dim=-1)
    filas[:, :8] += 0.45 * hueco * hacia
    return filas


def _mal_leidas(rng: Any, d: int, limite: int, lee: Any) -> Any:
    """Filas con ruido hacia el sitio de al lado, y con su escala, que ``lee`` lee mal."""
    import torch

    tabla = _codigo(torch.arange(limite), d, 10000.0)
    while True:
        sitios = uniforme(rng, 0, limite - 1, 4000).round().long()
        otros = (sitios + elige(rng, [-1, 1])).clamp(0, limite - 1)
        hueco = torch.cdist(tabla, tabla).fill_diagonal_(torch.inf).min()
        hacia = (tabla[otros] - tabla[sitios]) * (uniforme(rng, 0, 1, 4000, d) < 0.5)
        filas = tabla[sitios] + 0.49 * hueco * torch.nn.functional.normalize(hacia, dim=-1)
        mal = (lee(filas, tabla) != sitios).nonzero()[:, 0]
        if len(mal) and not bool((sitios == otros)[mal].any()):
            return filas[mal[:4]] * uniforme(rng, 0.2, 30, len(mal[:4]))[:, None]


def _por_el_maximo(norma: float) -> Any:
    """Quien divide filas y códigos entre su máximo y busca el más cercano con esa norma."""
    import torch

    def entre_su_maximo(filas: Any) -> Any:
        return filas / filas.abs().amax(-1, keepdim=True)

    return lambda filas, tabla: torch.cdist(
        entre_su_maximo(filas), entre_su_maximo(tabla), p=norma
    ).argmin(-1)


def _casos_hora(rng: Any) -> list[Caso]:
    def caso(propiedad: str, limite: int, ruido: float = 0.0, **extra: float) -> Caso:
        import torch

        d, n = 2 * entero(rng, 12, 16), entero(rng, 3, 8)
        sitios = uniforme(rng, 0, limite - 1, n).round()
        filas = _codigo(sitios, d, extra.get("base", 10000.0))
        empuje = torch.nn.functional.normalize(normal(rng, n, d), dim=-1)
        filas = filas + ruido * empuje
        if propiedad == "escala":
            filas = filas * torch.linspace(0.2, 30.0, n)[:, None]
        return Caso(propiedad, (filas, limite), extra)

    return [
        caso("exacto", entero(rng, 20, 200)),
        caso("ruido", entero(rng, 50, 500), 0.3),
        caso("ruido", entero(rng, 50, 500), 0.3, base=elige(rng, [500.0, 2000.0])),
        Caso("ruido", (_empujadas(rng, 2 * entero(rng, 12, 16), 5000, entero(rng, 3, 8)), 5000)),
        caso("escala", entero(rng, 50, 500), 0.2),
        Caso("escala", (_mal_leidas(rng, 2, 6, _por_el_maximo(2)), 6)),
        Caso("escala", (_mal_leidas(rng, 24, 40, _por_el_maximo(1)), 40)),
        Caso("escala", (_mal_leidas(rng, 24, 40, _por_el_maximo(float("inf"))), 40)),
        caso("exacto", 1),
        caso("muchos sitios", 100_000, 0.1),
    ]


def _comprueba_hora(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    import torch

    if not isinstance(obtenido, torch.Tensor) or obtenido.shape != esperado.shape:
        llego = tuple(obtenido.shape) if isinstance(obtenido, torch.Tensor) else type(obtenido)
        return f"llegó {llego}; se esperaba un tensor de forma {tuple(esperado.shape)}"
    if obtenido.dtype not in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
        tipo = str(obtenido.dtype).removeprefix("torch.")
        return f"dtype: llegó {tipo}; los sitios son enteros"
    fallan = (obtenido.long() != esperado).nonzero()[:, 0].tolist()
    if fallan:
        return f"fallan {len(fallan)} de {len(esperado)} sitios; el primero, en la fila {fallan[0]}"
    return None


def _enteros(valor: Any) -> Any:
    return valor.long()


_HORA = Ejercicio(
    id="8.8",
    nombre="read_clock",
    tipo="escribir",
    dificultad=3,
    minutos=30,
    aprende="leer un sitio de su código aunque llegue con ruido y con otra escala",
    bordes=(
        "limit == 1",
        "code.shape[1] == 2",
        Borde("ruido", {0: 0}),
    ),
    casos=_casos_hora,
    ejemplo=lambda: Caso("ejemplo", (tensor([[0.0, 1.0], [0.84, 0.54]]), 3)),
    propiedades={
        "exacto": (2, "Sin ruido, el código coincide con el de uno de los sitios."),
        "ruido": (
            2,
            "Con ruido ninguno coincide: busca el más parecido, contando todas las agujas.",
        ),
        "escala": (
            2,
            "Con una fila multiplicada por 30 debe salir el mismo sitio, y el ruido también cambia"
            " el máximo de la fila: no la midas con él.",
        ),
        "muchos sitios": (2, "Con cien mil sitios conviene un producto de matrices."),
    },
    comprueba=_comprueba_hora,
    invariante=_enteros,
    pistas=(
        "Compara cada fila con los códigos de todos los sitios.",
        "Si todos los códigos miden lo mismo, el más cercano es el de mayor producto escalar.",
        "Ese criterio no cambia al multiplicar la fila por un número positivo.",
    ),
    mutantes=(
        cambia(
            "el menos parecido",
            "Se ha elegido el menos parecido.",
            "argmax",
            "argmin",
        ),
        cambia(
            "base fija",
            "La base es un argumento.",
            "code.shape[-1], base)",
            "code.shape[-1], 10000.0)",
        ),
        *(
            cuerpo(
                f"entre el máximo, norma {norma}",
                f"Dividir entre el máximo no deshace la escala cuando hay ruido{mas}.",
                f"""
                table = sinusoidal_encoding(torch.arange(limit), code.shape[-1], base)
                rows, table = (t / t.abs().amax(-1, keepdim=True) for t in (code, table))
                return torch.cat([torch.cdist(r[None], table, p={norma}).argmin(1) for r in rows])
                """,
            )
            for norma, mas in (
                (2.0, ""),
                (1.0, ", y la distancia es la euclídea, no la suma de diferencias"),
                ('float("inf")', ", y la distancia es la euclídea, no la mayor diferencia"),
            )
        ),
        cuerpo(
            "coincidencia exacta",
            "Con ruido ningún código coincide: hay que buscar el más parecido.",
            """
            table = sinusoidal_encoding(torch.arange(limit), code.shape[-1], base)
            return torch.isclose(code[:, None], table).all(-1).double().argmax(dim=-1)
            """,
        ),
        cambia(
            "empieza en 1",
            "Los sitios se cuentan desde 0.",
            "argmax(dim=-1)",
            "argmax(dim=-1) + 1",
        ),
        cuerpo(
            "solo la aguja rápida",
            "La aguja rápida da la vuelta cada seis sitios: hacen falta todas.",
            """
            table = sinusoidal_encoding(torch.arange(limit), code.shape[-1], base)
            return (code[:, :2] @ table[:, :2].T).argmax(dim=-1)
            """,
        ),
    ),
)

# --- 8.9 ------------------------------------------------------------------------------------------


def _casos_cabeza(rng: Any) -> list[Caso]:
    def caso(propiedad: str, sitio: float, **extra: float) -> Caso:
        return Caso(propiedad, (sitio, 2 * entero(rng, 2, 7), real(rng, 0.5, 6.0)), extra)

    return [
        caso("el de delante", -1.0),
        caso("el de delante", -entero(rng, 2, 5) - real(rng, 0.15, 0.85)),
        caso("el de detrás", entero(rng, 1, 5) + real(rng, 0.15, 0.85)),
        caso("otra base", -float(entero(rng, 1, 6)), base=elige(rng, [40.0, 300.0])),
    ]


def _comprueba_cabeza(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    import torch

    if not isinstance(obtenido, (tuple, list)) or len(obtenido) != 2:
        return "se esperaban dos matrices: la de consulta y la de clave"
    for una, otra in zip(obtenido, esperado, strict=True):
        if not isinstance(una, torch.Tensor) or una.shape != otra.shape:
            llego = tuple(una.shape) if isinstance(una, torch.Tensor) else type(una).__name__
            return f"llegó {llego}; se esperaba (d_model, d_model) = {tuple(otra.shape)}"
        if una.dtype != otra.dtype:
            return f"llegó {str(una.dtype).removeprefix('torch.')}; se esperaba float64"
    if not torch.allclose(
        obtenido[0] @ obtenido[1].T, esperado[0] @ esperado[1].T, rtol=1e-8, atol=1e-8
    ):
        return "el producto de las dos no da la puntuación pedida"
    return None


def _circuito(valor: Any) -> Any:
    return valor[0] @ valor[1].mT


_CABEZA = Ejercicio(
    id="8.9",
    nombre="offset_head",
    tipo="escribir",
    dificultad=3,
    minutos=35,
    aprende="construir a mano una cabeza que mira a un sitio dado",
    bordes=("offset < 0",),
    casos=_casos_cabeza,
    ejemplo=lambda: Caso("ejemplo", (-1.0, 2, 2.0)),
    propiedades={
        "el de delante": (
            5,
            "Con offset = −1 la fila i tiene su máximo en i − 1; el offset puede no ser entero.",
        ),
        "el de detrás": (
            3,
            "Con offset positivo mira a quien va después; el offset puede no ser entero.",
        ),
        "otra base": (2, "La base es un argumento."),
    },
    comprueba=_comprueba_cabeza,
    invariante=_circuito,
    pistas=(
        "La puntuación es P_i W_Q W_Kᵀ P_jᵀ: solo cuenta el producto de las dos matrices.",
        "Si W_Q convierte P_i en P de otro sitio y W_K no hace nada, ya está.",
        "La matriz que convierte P_i en P_{i+offset} es la del ejercicio 8.6.",
    ),
    mutantes=(
        cambia(
            "al revés",
            "Mira al lado contrario: el giro va en el otro sentido.",
            "shift_matrix(offset, d_model, base)",
            "shift_matrix(-offset, d_model, base)",
        ),
        cambia(
            "sin nitidez",
            "Falta multiplicar por sharpness.",
            "sharpness * shift_matrix",
            "1.0 * shift_matrix",
        ),
        cambia(
            "nitidez en las dos",
            "La nitidez se ha puesto en las dos matrices: sale al cuadrado.",
            "w_key = torch.eye(d_model, dtype=torch.float64)",
            "w_key = sharpness * torch.eye(d_model, dtype=torch.float64)",
        ),
        cambia(
            "giro en las dos",
            "Girar las dos lo mismo no cambia el producto: la cabeza se mira a sí misma.",
            "w_key = torch.eye(d_model, dtype=torch.float64)",
            "w_key = shift_matrix(offset, d_model, base)",
        ),
        cambia(
            "base fija",
            "La base es un argumento.",
            "shift_matrix(offset, d_model, base)",
            "shift_matrix(offset, d_model)",
        ),
    ),
)

EJERCICIOS = [
    _SIETE,
    _SENO,
    _AGUJAS,
    _MITADES,
    _RELLENO,
    _ADELANTAR,
    _AVERIADO,
    _HORA,
    _CABEZA,
]
