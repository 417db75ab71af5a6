"""Ejercicios del capítulo 19, «ViT: leer imágenes»."""

from __future__ import annotations

from typing import Any

from calificador.generadores import Borde, elige, entero, normal, real, tensor
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENTO

# --- 19.1 -----------------------------------------------------------------------------------------


def _casos_parches(rng: Any) -> list[Caso]:
    def caso(propiedad: str, canales: int, filas: int, columnas: int, *sobra: int) -> Caso:
        lado = entero(rng, 2, 3)
        alto, ancho = (
            n * lado + resto for n, resto in zip((filas, columnas), sobra or (0, 0), strict=True)
        )
        return Caso(propiedad, (normal(rng, entero(rng, 1, 2), canales, alto, ancho), lado))

    n = entero(rng, 2, 3)
    return [
        caso("un canal", 1, n, n),
        caso("un canal", 1, 4, 4),
        caso("apaisada", 1, n, n + entero(rng, 1, 2)),
        caso("apaisada", 1, n + entero(rng, 1, 2), n),
        caso("varios canales", 3, n, n + 1),
        caso("varios canales", entero(rng, 2, 4), 3, 2),
        Caso("varios canales", (normal(rng, 2, 2, entero(rng, 2, 4), 3), 1)),
        caso("sobra un borde", 2, n, n + 1, 1, 0),
        caso("sobra un borde", 1, 2, n, 1, 1),
    ]


_PARCHES = Ejercicio(
    id="19.1",
    nombre="patchify",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="cortar una imagen en parches y ponerlos en fila, en el orden que se pida",
    bordes=(
        "images.shape[1] == 1",
        "patch_size == 1",
        "images.shape[3] % patch_size > 0",
        Borde("un canal", {0: 0}),
    ),
    casos=_casos_parches,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[[[1.0, 2.0], [3.0, 4.0]], [[-1.0, -2.0], [-3.0, -4.0]]]]), 2)
    ),
    propiedades={
        "un canal": (2, "Numera los píxeles de una imagen de 4 × 4 y mira en qué orden salen."),
        "apaisada": (2, "El alto y el ancho pueden ser distintos."),
        "varios canales": (3, "Los canales de un píxel van juntos; los de otro, detrás."),
        "sobra un borde": (1, "Lo que no llena un parche, a la derecha o abajo, se descarta."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Dibuja una imagen de 4 × 4 con sus números y escribe a mano las cuatro filas.",
        "Parte el alto en dos ejes, qué parche y qué píxel de ese parche, y el ancho, igual.",
        "Con los seis ejes separados, ponlos en orden: primero los que dicen qué parche, después"
        " los que dicen qué píxel y, el último, el canal. Después se juntan.",
    ),
    mutantes=(
        cambia(
            "canal por canal",
            "Dentro de un parche se pide píxel a píxel; esto va canal por canal.",
            "(p q c)",
            "(c p q)",
        ),
        cambia(
            "parches por columnas",
            "Los parches van de izquierda a derecha; aquí bajan antes de avanzar.",
            "b (i j)",
            "b (j i)",
        ),
        cambia(
            "píxeles por columnas",
            "Dentro del parche, los píxeles van de izquierda a derecha; aquí bajan.",
            "(p q c)",
            "(q p c)",
        ),
        cambia(
            "la imagen traspuesta",
            "Las filas y las columnas están cambiadas, en los parches y en los píxeles.",
            "b (i j) (p q c)",
            "b (j i) (q p c)",
        ),
        cambia(
            "uno de cada varios",
            "Un parche es un cuadrado de vecinos; este junta píxeles salteados.",
            "b c (i p) (j q)",
            "b c (p i) (q j)",
        ),
        cambia(
            "un parche por canal",
            "Los canales de un parche van en su misma fila, no en una cada uno.",
            "b (i j) (p q c)",
            "b (i j c) (p q)",
        ),
        cambia(
            "quita del comienzo",
            "Lo que sobra está a la derecha y abajo; aquí se quita de arriba y de la izquierda.",
            "images[:, :, : rows * p, : columns * p]",
            "images[:, :, images.shape[2] % p :, images.shape[3] % p :]",
        ),
        cambia(
            "siempre cuadrada",
            "La imagen puede no ser cuadrada: cada lado tiene sus parches.",
            "images.shape[3] // p",
            "images.shape[2] // p",
        ),
        cuerpo(
            "sin separar los ejes",
            "Cambiar la forma no corta: cada fila lleva tiras de la imagen, no cuadrados.",
            """
            p = patch_size
            rows, columns = images.shape[2] // p, images.shape[3] // p
            whole = images[:, :, : rows * p, : columns * p]
            return whole.reshape(len(images), rows * columns, -1)""",
        ),
        cuerpo(
            "canal por canal, sin recortar",
            "Dentro de un parche se pide píxel a píxel, y esto va canal por canal; además, hay que"
            " quitar antes lo que sobra.",
            """
            p = patch_size
            return rearrange(images, "b c (i p) (j q) -> b (i j) (c p q)", p=p, q=p)""",
        ),
        cuerpo(
            "sin recortar",
            "El orden está bien. Falta quitar antes lo que sobra a la derecha y abajo.",
            """
            p = patch_size
            return rearrange(images, "b c (i p) (j q) -> b (i j) (p q c)", p=p, q=p)""",
        ),
        cuerpo(
            "rellena el borde",
            "El trozo que sobra se descarta; aquí se rellena con ceros.",
            """
            p = patch_size
            right, down = -images.shape[3] % p, -images.shape[2] % p
            whole = torch.nn.functional.pad(images, (0, right, 0, down))
            return rearrange(whole, "b c (i p) (j q) -> b (i j) (p q c)", p=p, q=p)""",
        ),
        cuerpo(
            "se pisan",
            "Los parches no se pisan: se avanza un parche entero cada vez.",
            """
            cells = images.unfold(2, patch_size, 1).unfold(3, patch_size, 1)
            return rearrange(cells, "b c i j p q -> b (i j) (p q c)")""",
        ),
    ),
)

# --- 19.2 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="19.2",
    nombre="patches_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    aprende="contar las filas, los parámetros y las parejas de un ViT antes de escribirlo",
    propiedades={
        "tokens": (1, "Una por parche, y la que resume."),
        "project": (1, "Los números de un parche por la anchura, y un sesgo por salida."),
        "positions": (1, "Una posición por cada fila que entra en la pila."),
        "pairs": (1, "Cada fila puntúa a todas, y son otras filas: la imagen es mayor."),
        "finer": (1, "¿Cuántos números tiene un parche de 4 × 4 en color?"),
    },
    pistas=(
        "Cuenta los parches que caben a lo alto y a lo ancho, y multiplica.",
        "La proyección es una matriz de los números de un parche a 128, con su sesgo: el tamaño de"
        " la imagen no le importa.",
        "Con el doble de alto y de ancho hay cuatro veces más parches; la fila que resume sigue"
        " siendo una.",
    ),
    mutantes=(
        cambia(
            "sin la que resume",
            "Falta la fila añadida, que también entra en la pila.",
            '"tokens": n + 1',
            '"tokens": n',
        ),
        cambia(
            "parches de un lado al cuadrado",
            "La imagen no es cuadrada: son 12 parches de alto y 8 de ancho.",
            '"tokens": n + 1',
            '"tokens": (height // patch) ** 2 + 1',
        ),
        cambia(
            "sin sesgo",
            "Falta el sesgo de la proyección, un número por salida.",
            "channels * patch**2 * d + d",
            "channels * patch**2 * d",
        ),
        cambia(
            "un canal",
            "La imagen es en color: un parche tiene tres números por píxel.",
            "channels * patch**2 * d + d",
            "patch**2 * d + d",
        ),
        cambia(
            "una proyección por parche",
            "Todos los parches pasan por la misma proyección.",
            "channels * patch**2 * d + d",
            "(channels * patch**2 * d + d) * n",
        ),
        cambia(
            "posiciones solo de los parches",
            "La fila que resume también tiene su posición.",
            '"positions": (n + 1) * d',
            '"positions": n * d',
        ),
        cambia(
            "un número por posición",
            "Cada posición es un vector de 128 números, no uno.",
            '"positions": (n + 1) * d',
            '"positions": n + 1',
        ),
        cambia(
            "parejas sin la que resume",
            "La fila que resume también mira y también la miran.",
            "(double + 1) ** 2",
            "double**2",
        ),
        cambia(
            "parejas de la imagen pequeña",
            "Son las parejas de la imagen del principio; se piden con el doble de alto y de ancho.",
            "(double + 1) ** 2",
            "(n + 1) ** 2",
        ),
        cambia(
            "el doble de parches",
            "Se dobla el alto y también el ancho: los parches se multiplican por cuatro.",
            "(double + 1) ** 2",
            "(2 * n + 1) ** 2",
        ),
        cambia(
            "el doble de filas",
            "Al doblar los dos lados, los parches se multiplican por cuatro, no por dos.",
            "(double + 1) ** 2",
            "(2 * (n + 1)) ** 2",
        ),
        cambia(
            "cuatro veces las filas",
            "Se multiplican por cuatro los parches; la fila que resume sigue siendo una.",
            "(double + 1) ** 2",
            "(4 * (n + 1)) ** 2",
        ),
        cambia(
            "parejas una vez",
            "Que una mire a otra y que la otra mire a la una son dos parejas.",
            "(double + 1) ** 2",
            "(double + 1) * (double + 2) // 2",
        ),
        cambia(
            "cuatro veces más",
            "Con parches más pequeños, cada uno tiene menos números: la proyección es menor.",
            "channels * (patch // 2) ** 2 * d + d",
            "channels * (2 * patch) ** 2 * d + d",
        ),
        cambia(
            "la mitad",
            "Un parche de 4 × 4 tiene la cuarta parte de los números, no la mitad.",
            "channels * (patch // 2) ** 2 * d + d",
            "channels * patch**2 // 2 * d + d",
        ),
        cambia(
            "la mitad del todo",
            "El sesgo no cambia con el parche: solo cambian los pesos.",
            "channels * (patch // 2) ** 2 * d + d",
            "(channels * patch**2 * d + d) // 4",
        ),
        cambia(
            "sin sesgo en la fina",
            "También la proyección de los parches de 4 × 4 tiene su sesgo.",
            "channels * (patch // 2) ** 2 * d + d",
            "channels * (patch // 2) ** 2 * d",
        ),
    ),
)

# --- 19.3 -----------------------------------------------------------------------------------------

_MOVIDAS = Ejercicio(
    id="19.3",
    nombre="moved",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="decir qué cambios de una imagen no puede ver un ViT sin posiciones",
    propiedades={
        "respuesta": (2, "¿Cambian las filas que entran en la pila, o solo el orden en que van?")
    },
    opciones=("ninguno", "solo el píxel", "el píxel y la baraja", "los tres"),
    pistas=(
        "Escribe las filas que entran en la pila en cada caso, como una lista.",
        "Sin posiciones, la atención da las mismas filas en otro orden si entran en otro orden. ¿Y"
        " la media?",
    ),
    mutantes=(
        cuerpo(
            "todo da igual",
            "Al correr un píxel cambia lo que hay dentro de cada parche: son otras filas.",
            "return 'ninguno'",
        ),
        cuerpo(
            "la baraja cambia",
            "Barajar los parches deja las mismas filas en otro orden, y la media no lo ve.",
            "return 'el píxel y la baraja'",
        ),
        cuerpo(
            "todo cambia",
            "Correr un parche entero, con vuelta, es barajar los parches: las filas son las"
            " mismas.",
            "return 'los tres'",
        ),
    ),
)

# --- 19.4 -----------------------------------------------------------------------------------------


def _casos_rejilla(rng: Any) -> list[Caso]:
    def caso(propiedad: str, filas: int, columnas: int, **pide: Any) -> Caso:
        return Caso(propiedad, (filas, columnas, 4 * entero(rng, 2, 4)), pide)

    n = entero(rng, 2, 4)
    return [
        caso("una línea", 1, entero(rng, 3, 6)),
        caso("una línea", entero(rng, 3, 6), 1),
        caso("rejilla", n, n + entero(rng, 1, 3)),
        caso("rejilla", n + entero(rng, 1, 3), n),
        Caso("rejilla", (n, 3, 4)),
        caso("añadidas", n, 3, added=0),
        caso("añadidas", 3, n, added=entero(rng, 2, 3)),
        caso("añadidas", 1, 1, added=0),
        caso("otra base", n, 3, base=float(entero(rng, 20, 900))),
        caso("otra base", 3, n, base=float(entero(rng, 20, 900)), added=2),
    ]


_REJILLA = Ejercicio(
    id="19.4",
    nombre="grid_sinusoids",
    tipo="escribir",
    dificultad=2,
    minutos=20,
    aprende="dar a cada parche una posición de dos dimensiones sin aprender nada",
    bordes=("rows == 1", "columns == 1", "d_model == 4", "added == 0"),
    casos=_casos_rejilla,
    ejemplo=lambda: Caso("ejemplo", (2, 2, 4), {"added": 0}),
    propiedades={
        "una línea": (2, "Con una sola fila, esa mitad es siempre la de la posición 0."),
        "rejilla": (4, "Media anchura dice la fila, y media, la columna."),
        "añadidas": (1, "Delante van tantas filas de ceros como se pidan, también ninguna."),
        "otra base": (1, "`base` es un argumento."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe primero el código de una dimensión, de media anchura, como función aparte.",
        "De cada sitio de la rejilla saca su fila y su columna; después, un código para cada una.",
        "Las frecuencias son las mismas en las dos mitades: las de un código de una dimensión cuya"
        " anchura es la mitad.",
    ),
    mutantes=(
        cambia(
            "la columna delante",
            "La primera mitad es la de la fila; aquí es la de la columna.",
            "[code(place // columns), code(place % columns)]",
            "[code(place % columns), code(place // columns)]",
        ),
        cambia(
            "por columnas",
            "La rejilla va de izquierda a derecha; aquí baja antes de avanzar.",
            "[code(place // columns), code(place % columns)]",
            "[code(place % rows), code(place // rows)]",
        ),
        cambia(
            "la anchura entera",
            "Cada código mide la mitad: sus frecuencias bajan el doble de deprisa que con la"
            " anchura entera.",
            "/ half)",
            "/ d_model)",
        ),
        cambia(
            "los senos juntos",
            "Los senos y los cosenos van alternos, no primero unos y después los otros.",
            "torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)",
            "torch.cat([angle.sin(), angle.cos()], dim=-1)",
        ),
        cambia(
            "el coseno delante",
            "El seno va delante de su coseno.",
            "[angle.sin(), angle.cos()]",
            "[angle.cos(), angle.sin()]",
        ),
        cambia(
            "desde uno",
            "Las filas y las columnas se cuentan desde 0.",
            "[code(place // columns), code(place % columns)]",
            "[code(place // columns + 1), code(place % columns + 1)]",
        ),
        cambia(
            "las añadidas detrás",
            "Las filas añadidas van delante de la rejilla.",
            "[grid.new_zeros(added, d_model), grid]",
            "[grid, grid.new_zeros(added, d_model)]",
        ),
        cambia(
            "sin las añadidas",
            "Faltan las filas de ceros de las añadidas.",
            "[grid.new_zeros(added, d_model), grid]",
            "[grid]",
        ),
        cambia(
            "las añadidas ocupan sitio",
            "Las filas añadidas no están en la rejilla: el primer parche es el de la fila 0 y la"
            " columna 0.",
            "torch.arange(rows * columns)",
            "torch.arange(added, rows * columns + added)",
        ),
        cambia(
            "base fija",
            "`base` es un argumento: no siempre es diez mil.",
            "omega = base **",
            "omega = 10000.0 **",
        ),
        cuerpo(
            "en fila india",
            "Eso es el sitio en la fila de parches, de una dimensión: los de encima y debajo quedan"
            " lejos.",
            """
            omega = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
            angle = torch.arange(rows * columns)[:, None] * omega
            grid = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
            return torch.cat([grid.new_zeros(added, d_model), grid])""",
        ),
        cuerpo(
            "sumadas",
            "Los dos códigos van uno detrás del otro, no sumados.",
            """
            omega = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)

            def code(places):
                angle = places[:, None] * omega
                return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)

            place = torch.arange(rows * columns)
            grid = code(place // columns) + code(place % columns)
            return torch.cat([grid.new_zeros(added, d_model), grid])""",
        ),
    ),
)

# --- 19.5 -----------------------------------------------------------------------------------------


def _casos_otra_rejilla(rng: Any) -> list[Caso]:
    def caso(
        propiedad: str, vieja: tuple[int, int], nueva: tuple[int, int], added: int | None = None
    ) -> Caso:
        filas = (1 if added is None else added) + vieja[0] * vieja[1]
        tabla = normal(rng, filas, entero(rng, 2, 4))
        return Caso(propiedad, (tabla, vieja, nueva), {} if added is None else {"added": added})

    n = entero(rng, 2, 4)
    mas = entero(rng, 1, 4)
    return [
        caso("más fina", (n, n), (n + mas, n + mas)),
        caso("más fina", (3, 3), (6, 6)),
        caso("más fina", (n, n), (n, n)),
        caso("más basta", (n + mas + 1, n + mas + 1), (n, n)),
        caso("más basta", (5, 5), (entero(rng, 2, 3),) * 2),
        caso("apaisada", (n, n + 1), (n + 3, n + mas)),
        caso("apaisada", (n + 2, n), (n + 1, n + 3)),
        caso("apaisada", (1, n), (2, n + mas)),
        caso("otras añadidas", (n, 3), (n + 1, 5), 0),
        caso("otras añadidas", (3, n), (5, n + 1), entero(rng, 2, 3)),
        caso("otras añadidas", (n, 2), (1, 1), 0),
    ]


_OTRA_REJILLA = Ejercicio(
    id="19.5",
    nombre="resize_positions",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="llevar un ViT entrenado a imágenes de otro tamaño",
    bordes=("old[0] == 1", "new == (1, 1)", "old == new", "added == 0"),
    casos=_casos_otra_rejilla,
    ejemplo=lambda: Caso("ejemplo", (tensor([[9.0], [0.0], [4.0], [8.0], [12.0]]), (2, 2), (1, 3))),
    propiedades={
        "más fina": (3, "Calcula a mano dónde caen los sitios de 4 nuevos entre 2 viejos."),
        "más basta": (2, "La misma cuenta vale para menos sitios que antes."),
        "apaisada": (2, "Las filas y las columnas tienen cada una su cuenta."),
        "otras añadidas": (2, "Las añadidas se apartan y pasan sin cambiar; puede no haber."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz primero una dimensión: de 2 sitios a 4, con los números 0 y 10.",
        "Aparta las filas añadidas y devuelve al resto su forma de rejilla.",
        "Las dos mezclas se pueden hacer una detrás de otra: primero las filas y después las"
        " columnas, cada una con su matriz.",
    ),
    mutantes=(
        cambia(
            "de esquina a esquina",
            "El primero y el último no coinciden con los viejos: los sitios se cuentan por el"
            " centro.",
            "(i + 0.5) * before / after - 0.5",
            "i * (before - 1) / max(after - 1, 1)",
        ),
        cambia(
            "sin el medio",
            "Falta el medio píxel, que se suma antes y se resta después.",
            "(i + 0.5) * before / after - 0.5",
            "i * before / after",
        ),
        cambia(
            "no resta el medio",
            "El medio píxel se suma antes de cambiar de escala y se resta después.",
            "(i + 0.5) * before / after - 0.5",
            "(i + 0.5) * before / after",
        ),
        cambia(
            "la escala del revés",
            "La escala está del revés: se va de la rejilla nueva a la vieja.",
            "(i + 0.5) * before / after - 0.5",
            "(i + 0.5) * after / before - 0.5",
        ),
        cambia(
            "el de la izquierda",
            "Se mezclan los dos vecinos; aquí se copia uno.",
            "weights[i, low] += low + 1 - place",
            "weights[i, low] += 1.0",
            "weights[i, high] += place - low",
            "del high",
        ),
        cambia(
            "pesos cambiados",
            "Pesa más el más cercano; aquí, el más lejano.",
            "+= low + 1 - place",
            "+= place - low",
            "weights[i, high] += place - low",
            "weights[i, high] += low + 1 - place",
        ),
        cambia(
            "a medias",
            "Los dos vecinos no pesan lo mismo: depende de dónde cae el sitio.",
            "+= low + 1 - place",
            "+= 0.5",
            "+= place - low",
            "+= 0.5",
        ),
        cambia(
            "sin dejarlo dentro",
            "Un sitio que se sale se deja en el borde: con −1 se lee la última fila.",
            "place = min(max(place, 0.0), before - 1.0)",
            "place = min(place, before - 1.0)",
        ),
        cambia(
            "las añadidas detrás",
            "Las filas añadidas van delante.",
            "[front, resized.flatten(0, 1)]",
            "[resized.flatten(0, 1), front]",
        ),
        cambia(
            "sin las añadidas",
            "Faltan las filas añadidas, que también se devuelven.",
            "[front, resized.flatten(0, 1)]",
            "[resized.flatten(0, 1)]",
        ),
        cambia(
            "siempre una añadida",
            "Cuántas filas añadidas hay es un argumento: puede no haber ninguna.",
            "table[:added], table[added:]",
            "table[:1], table[1:]",
        ),
        cambia(
            "por columnas",
            "Al aplanar, la rejilla va de izquierda a derecha; aquí baja antes de avanzar.",
            "ri,cj,ijd->rcd",
            "ri,cj,ijd->crd",
        ),
        cambia(
            "la rejilla traspuesta",
            "`old` dice primero las filas: la tabla se parte por filas, no por columnas.",
            "table[added:].reshape(*old, -1)",
            "table[added:].reshape(old[1], old[0], -1).transpose(0, 1)",
        ),
        cambia(
            "lados cruzados",
            "Las filas nuevas salen de las viejas, y las columnas, de las columnas.",
            "mix(old[0], new[0]), mix(old[1], new[1])",
            "mix(old[0], new[1]), mix(old[1], new[0])",
        ),
        cuerpo(
            "en fila india",
            "La tabla es una rejilla: interpolarla como una lista mezcla el final de una fila con"
            " el comienzo de la siguiente.",
            """
            grid = table[added:].T[None]
            resized = torch.nn.functional.interpolate(grid, size=new[0] * new[1], mode="linear")
            return torch.cat([table[:added], resized[0].T])""",
        ),
        cuerpo(
            "con suavizado",
            "Al quedarse con menos sitios, esto promedia más de dos vecinos por eje: eso es"
            " suavizar además de interpolar.",
            """
            grid = table[added:].reshape(*old, -1).permute(2, 0, 1)[None]
            resized = torch.nn.functional.interpolate(
                grid, size=new, mode="bilinear", antialias=True
            )
            return torch.cat([table[:added], resized[0].permute(1, 2, 0).flatten(0, 1)])""",
        ),
        cuerpo(
            "bicúbica",
            "La interpolación bicúbica mezcla cuatro vecinos por eje; la bilineal, dos.",
            """
            grid = table[added:].reshape(*old, -1).permute(2, 0, 1)[None]
            resized = torch.nn.functional.interpolate(grid, size=new, mode="bicubic")
            return torch.cat([table[:added], resized[0].permute(1, 2, 0).flatten(0, 1)])""",
        ),
    ),
)

# --- 19.6 -----------------------------------------------------------------------------------------


def _casos_ventanas(rng: Any) -> list[Caso]:
    def caso(propiedad: str, filas: int, columnas: int, lado: int, corre: int) -> Caso:
        x = normal(rng, filas * lado, columnas * lado, entero(rng, 2, 3))
        return Caso(propiedad, (x, lado, corre))

    n = entero(rng, 2, 3)
    return [
        caso("sin desplazar", n, n + 1, 2, 0),
        caso("sin desplazar", 2, n, entero(rng, 3, 4), 0),
        caso("sin desplazar", n, 2, 1, 0),
        caso("cuadradas", n, n, 2, 1),
        caso("cuadradas", 2, 2, 4, entero(rng, 1, 2)),
        caso("cuadradas", 2, 2, 3, 2),
        caso("apaisadas", n, n + 1, 3, 1),
        caso("apaisadas", n + 1, 2, entero(rng, 2, 3), 1),
        caso("una ventana", 1, n, 3, entero(rng, 1, 2)),
        caso("una ventana", n, 1, 2, 1),
        caso("una ventana", 1, 1, entero(rng, 3, 4), 2),
    ]


_VENTANAS = Ejercicio(
    id="19.6",
    nombre="shifted_windows",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="partir una imagen en ventanas desplazadas sin que se miren los bordes opuestos",
    bordes=("shift == 0", "window == 1", "window == x.shape[0]", "shift == window - 1 > 0"),
    casos=_casos_ventanas,
    ejemplo=lambda: Caso("ejemplo", (tensor([[[1.0], [2.0]], [[3.0], [4.0]]]), 2, 1)),
    propiedades={
        "sin desplazar": (2, "Sin desplazar, una ventana es un cuadrado y todos se miran."),
        "cuadradas": (3, "Numera las filas antes de correr y mira cuáles acaban juntas."),
        "apaisadas": (2, "El alto y el ancho pueden ser distintos."),
        "una ventana": (2, "Con una sola ventana, la vuelta también la parte."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Corre a mano una tira de seis con ventanas de tres y desplazamiento uno.",
        "Además de los estados, corre o calcula una etiqueta: si esa fila ha dado la vuelta.",
        "Parte las etiquetas con la misma función que los estados; dos posiciones se miran si"
        " coinciden las de fila y las de columna.",
    ),
    mutantes=(
        cambia(
            "al otro lado",
            "La imagen se corre hacia arriba y hacia la izquierda; aquí va al revés.",
            "(-shift, -shift)",
            "(shift, shift)",
        ),
        cambia(
            "sin correr",
            "Falta correr la imagen antes de partirla.",
            "split(x.roll((-shift, -shift), dims=(0, 1)))",
            "split(x)",
        ),
        cambia(
            "corre solo las filas",
            "Se corren las filas y también las columnas.",
            "x.roll((-shift, -shift), dims=(0, 1))",
            "x.roll(-shift, dims=0)",
        ),
        cambia(
            "todos se miran",
            "En la ventana que mezcla dos bordes opuestos, los de un lado no miran a los del otro.",
            ".all(dim=-1)",
            ".all(dim=-1) | True",
        ),
        cambia(
            "máscara al revés",
            "`True` es que se pueden mirar.",
            "(labels[:, :, None] == labels[:, None, :]).all(dim=-1)",
            "~(labels[:, :, None] == labels[:, None, :]).all(dim=-1)",
        ),
        cambia(
            "máscara de números",
            "La máscara es booleana: `True` donde se puede mirar, no un número que se suma.",
            "    return split(x.roll",
            "    mask = torch.where(mask, 0.0, -100.0)\n    return split(x.roll",
        ),
        cambia(
            "basta un eje",
            "Han de coincidir en las filas y en las columnas; aquí basta con una de las dos.",
            ".all(dim=-1)",
            ".any(dim=-1)",
        ),
        cambia(
            "solo las filas",
            "También hay que mirar si las columnas han dado la vuelta.",
            ".all(dim=-1)",
            "[..., 0]",
        ),
        cambia(
            "solo las columnas",
            "También hay que mirar si las filas han dado la vuelta.",
            ".all(dim=-1)",
            "[..., 1]",
        ),
        cambia(
            "la máscara, sin correr",
            "Las que dan la vuelta acaban al final; la máscara las busca donde estaban antes.",
            "torch.arange(height) >= height - shift",
            "torch.arange(height) < shift",
            "torch.arange(width) >= width - shift",
            "torch.arange(width) < shift",
        ),
        cambia(
            "las que dan la vuelta no miran",
            "Dos posiciones que han dado la vuelta sí se miran entre ellas.",
            "(labels[:, :, None] == labels[:, None, :])",
            "~(labels[:, :, None] | labels[:, None, :])",
        ),
        cambia(
            "ventanas por columnas",
            "Las ventanas van de izquierda a derecha; aquí bajan antes de avanzar.",
            "(i j) (p q) d",
            "(j i) (p q) d",
        ),
        cambia(
            "dentro por columnas",
            "Dentro de una ventana se va de izquierda a derecha; aquí se baja.",
            "(i j) (p q) d",
            "(i j) (q p) d",
        ),
        cambia(
            "salteadas",
            "Una ventana es un cuadrado de vecinas; esta junta posiciones salteadas.",
            "(i p) (j q) d",
            "(p i) (q j) d",
        ),
    ),
)

# --- 19.7 -----------------------------------------------------------------------------------------


def _casos_maestra(rng: Any) -> list[Caso]:
    def caso(propiedad: str, escala: float = 2.0, n: int = 0, **pide: Any) -> Caso:
        n, k = n or entero(rng, 3, 5), entero(rng, 3, 6)
        dice = normal(rng, n, k) * escala
        # la primera imagen, con otra etiqueta que la de la maestra
        etiquetas = [(int(dice[0].argmax()) + 1) % k] + [
            entero(rng, 0, k - 1) for _ in range(n - 1)
        ]
        propias = (normal(rng, n, k) * escala for _ in range(2))
        return Caso(
            propiedad,
            (*propias, dice, tensor(etiquetas)),
            pide,
            gradiente=propiedad == "gradientes",
        )

    def grados() -> float:
        return real(rng, 1.5, 5.0)

    return [
        caso("dura"),
        caso("dura", weight=real(rng, 0.1, 0.4)),
        caso("dura", weight=0),
        caso("blanda", temperature=grados()),
        caso("blanda", temperature=grados(), weight=real(rng, 0.6, 0.9)),
        caso("blanda", n=1, temperature=grados(), weight=1),
        caso("gradientes", weight=real(rng, 0.2, 0.4)),
        caso("gradientes", temperature=grados(), weight=real(rng, 0.2, 0.4)),
        caso("enormes", 3000.0, weight=real(rng, 0.2, 0.4)),
        caso("enormes", 3000.0, temperature=grados(), weight=real(rng, 0.2, 0.4)),
    ]


_MAESTRA = Ejercicio(
    id="19.7",
    nombre="deit_loss",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="escribir lo que aprende de su maestra un ViT con dos cabezas",
    bordes=(
        "temperature is None",
        "weight == 0",
        "weight == 1",
        "len(labels) == 1",
        "enorme(classes)",
    ),
    casos=_casos_maestra,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[0.0, 0.0], [0.0, 0.0]]),
            tensor([[2.0, 0.0], [0.0, 2.0]]),
            tensor([[1.0, 0.0], [1.0, 0.0]]),
            tensor([0, 1]),
        ),
    ),
    propiedades={
        "dura": (2, "Dos entropías cruzadas: una con las etiquetas y otra con la maestra."),
        "blanda": (3, "Escribe p y q, las dos con la temperatura, y la suma sobre las clases."),
        "gradientes": (2, "A la maestra no le llega gradiente; a las dos cabezas, sí."),
        "enormes": (2, "El logaritmo de una softmax se calcula sin pasar por la softmax."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe qué cabeza aprende de quién, antes que ninguna fórmula.",
        "Las dos maneras comparten el primer término: solo cambia el segundo, el de la maestra.",
        "Trabaja con logaritmos: el de p y el de q. La suma es sobre las clases; la media, sobre"
        " las imágenes.",
    ),
    mutantes=(
        cambia(
            "sin τ²",
            "Falta multiplicar la parte blanda por la temperatura al cuadrado.",
            "temperature**2 * gap",
            "gap",
        ),
        cambia(
            "τ una vez",
            "La parte blanda se multiplica por la temperatura dos veces; aquí, una.",
            "temperature**2 * gap",
            "temperature * gap",
        ),
        cambia(
            "la divergencia al revés",
            "Pesa lo que dice la maestra: p va fuera y dentro, y q, debajo.",
            "(wanted.exp() * (wanted - given))",
            "(given.exp() * (given - wanted))",
        ),
        cambia(
            "solo la cruzada",
            "Es la entropía cruzada de las dos: falta lo que pone log p.",
            "(wanted - given)",
            "(-given)",
        ),
        cambia(
            "sin temperatura en la maestra",
            "Las puntuaciones de la maestra también se dividen entre la temperatura.",
            "(told / temperature)",
            "told",
        ),
        cambia(
            "sin temperatura en quien imita",
            "Las puntuaciones de quien imita también se dividen entre la temperatura.",
            "(imitates / temperature)",
            "imitates",
        ),
        cambia(
            "multiplica por la temperatura",
            "Se divide entre la temperatura; aquí se multiplica.",
            "(told / temperature)",
            "(told * temperature)",
            "(imitates / temperature)",
            "(imitates * temperature)",
        ),
        cambia(
            "la maestra dura no cuenta",
            "La cabeza que imita aprende de la maestra dura, no de las etiquetas.",
            "told.argmax(dim=-1)",
            "labels",
        ),
        cambia(
            "cabezas cambiadas",
            "Las cabezas están cambiadas: la de las clases aprende las etiquetas.",
            "against(imitates, told",
            "against(classes, told",
            "(imitates / temperature)",
            "(classes / temperature)",
            "against(classes, labels)",
            "against(imitates, labels)",
        ),
        cambia(
            "una sola cabeza",
            "De la maestra aprende la otra cabeza; aquí lo aprende todo la de las clases.",
            "against(imitates, told",
            "against(classes, told",
            "(imitates / temperature)",
            "(classes / temperature)",
        ),
        cambia(
            "pesos cambiados",
            "`weight` es lo que pesa la maestra; aquí es lo que pesan las etiquetas.",
            "(1 - weight) * against(classes, labels) + weight * imitation",
            "weight * against(classes, labels) + (1 - weight) * imitation",
        ),
        cambia(
            "las etiquetas, enteras",
            "Lo que gana la maestra lo pierden las etiquetas, que pesan 1 − λ.",
            "(1 - weight) * against",
            "against",
        ),
        cambia(
            "media sobre las clases",
            "Sobre las clases se suma; la media es sobre las imágenes.",
            ".sum(dim=-1).mean()",
            ".mean()",
        ),
        cambia(
            "suma las imágenes",
            "Sobre las imágenes se promedia; aquí se suman.",
            "target[:, None]).mean()",
            "target[:, None]).sum()",
            ".sum(dim=-1).mean()",
            ".sum()",
        ),
        cambia(
            "la maestra también aprende",
            "El valor está bien, pero a la maestra le llega gradiente: hay que cortarlo.",
            "teacher.detach()",
            "teacher",
        ),
        cambia(
            "las dos cosas",
            "Son dos errores: el logaritmo de una softmax da infinitos con puntuaciones enormes, y"
            " a la maestra le llega gradiente: falta un `detach`.",
            "teacher.detach()",
            "teacher",
            "-scores.log_softmax(dim=-1)",
            "-scores.softmax(dim=-1).log()",
            "(told / temperature).log_softmax(dim=-1)",
            "(told / temperature).softmax(dim=-1).log()",
            "(imitates / temperature).log_softmax(dim=-1)",
            "(imitates / temperature).softmax(dim=-1).log()",
        ),
        cambia(
            "no aprende nadie",
            "El valor está bien, pero a la cabeza que imita no le llega gradiente.",
            "weight * imitation",
            "weight * imitation.detach()",
        ),
        cambia(
            "logaritmo de una softmax",
            "Con puntuaciones enormes, la softmax da ceros, y su logaritmo, infinitos.",
            "-scores.log_softmax(dim=-1)",
            "-scores.softmax(dim=-1).log()",
        ),
    ),
)

# --- 19.8 -----------------------------------------------------------------------------------------


def _casos_alcance(rng: Any) -> list[Caso]:
    def caso(propiedad: str, lado: int, capas: str, *medidas: int) -> Caso:
        """Con la fila del final en la primera mitad y la columna en la segunda, sin tocar bordes.

        ``medidas``: filas y columnas del final, en ventanas.
        """
        nombres = {"v": "plain", "d": "shifted", "f": "merge"}
        layers = [nombres[c] for c in capas]
        filas, columnas = (lado * m for m in medidas)
        sitio = (entero(rng, lado, filas // 2), entero(rng, columnas // 2 + 1, columnas - lado))
        veces = 2 ** capas.count("f")
        return Caso(propiedad, (filas * veces, columnas * veces, lado, layers, sitio))

    impar = elige(rng, (3, 5))
    mas = entero(rng, 0, 2)
    justo = entero(rng, 3, 4)
    return [
        caso("una capa", impar, "v", 4, 5 + mas),
        caso("una capa", impar, "d", 5 + mas, 4),
        caso("una capa", entero(rng, 2, 4), "d", 4, 6),
        caso("una capa", 3, "", 4, 4 + mas),
        Caso("una capa", (12 + mas, 15, 3, ["shifted"], (0, 14))),
        Caso("una capa", (7, 10, 3, ["plain"], (6, 9))),
        caso("varias capas", impar, "vd", 6 + mas, 7),
        caso("varias capas", 4, "vdvd", 10, 12 + mas),
        caso("varias capas", 3, "dvdd", 12 + mas, 10),
        Caso("varias capas", (8, 8, 3, ["plain", "shifted"], (7, 7))),
        caso("fusiones", 3, "f", 4, 5 + mas),
        caso("fusiones", impar, "vdfvd", 8 + mas, 8),
        caso("fusiones", 3, "fvfd", 8, 10 + mas),
        Caso("cabe en una", (justo, 12 + mas, 5, ["shifted"], (1, 7 + mas))),
        Caso("cabe en una", (1, 15 + mas, 3, ["plain", "shifted"], (0, 6 + mas))),
        Caso(
            "cabe en una",
            (4 * justo, 40 + 4 * mas, 5, ["merge", "shifted", "merge", "shifted"], (1, 8)),
        ),
        Caso(
            "enormes",
            (1200, 1200, 7, ["plain", "shifted"] * 4, tuple(entero(rng, 90, 1100) for _ in "rc")),
        ),
    ]


_ALCANCE = Ejercicio(
    id="19.8",
    nombre="seen_patches",
    tipo="escribir",
    dificultad=3,
    minutos=45,
    aprende="calcular qué parte de la imagen llega a una posición con ventanas, desplazamientos y"
    " fusiones",
    bordes=("not layers", "at[0] == 0", "rows == 1", "columns == 1200", "'merge' in layers"),
    casos=_casos_alcance,
    ejemplo=lambda: Caso("ejemplo", (2, 4, 2, ["plain", "shifted"], (0, 3))),
    propiedades={
        "una capa": (2, "Con una capa, es la ventana de la posición; sin ninguna, ella sola."),
        "varias capas": (3, "Una ventana desplazada toca dos de las otras en cada eje."),
        "fusiones": (3, "Cada posición de después viene de un cuadrado de 2 × 2 de antes."),
        "cabe en una": (1, "El eje que cabe en una ventana no se desplaza."),
        "enormes": (1, "No hace falta la matriz de quién mira a quién: basta un tramo por eje."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Dibuja una tira de doce parches, ventanas de tres y dos capas. Señala una posición del"
        " final y retrocede.",
        "Empieza por la última capa. Filas y columnas no se mezclan: haz un eje y después el otro.",
        "Lo que alcanza un eje es siempre un tramo seguido. Cada capa de ventanas lleva sus dos"
        " extremos al borde de la ventana en que caen, y una fusión los dobla.",
    ),
    mutantes=(
        cambia(
            "hacia delante",
            "Se retrocede desde la última capa; aquí se recorren en el orden en que se aplican.",
            "reversed(layers)",
            "layers",
        ),
        cambia(
            "otro desplazamiento",
            "La primera ventana desplazada mide ⌊w/2⌋, la mitad redondeada hacia abajo: se nota si"
            " la ventana es impar.",
            "(first - shift) // window * window + shift",
            "(first + shift) // window * window - shift",
            "(last - shift) // window * window + shift",
            "(last + shift) // window * window - shift",
        ),
        cambia(
            "nunca se desplaza",
            "Las capas desplazadas tienen otras fronteras; aquí son las de siempre.",
            'window // 2 if layer == "shifted" and size > window else 0',
            "0",
        ),
        cambia(
            "siempre se desplaza",
            "Solo se desplazan las capas que lo dicen.",
            'layer == "shifted" and size > window',
            "size > window",
        ),
        cambia(
            "parte lo que cabe",
            "Un eje que cabe en una ventana no se parte, aunque la capa sea desplazada.",
            " and size > window",
            "",
        ),
        cambia(
            "la fusión no dobla",
            "Detrás de una fusión, la posición 5 viene de la 10 y la 11: los extremos se doblan.",
            "size, first, last = 2 * size, 2 * first, 2 * last + 1",
            "size = 2 * size",
        ),
        cambia(
            "un hijo por eje",
            "Una fusión junta dos por eje; aquí se queda con el primero.",
            "2 * last + 1",
            "2 * last",
        ),
        cambia(
            "ventana centrada",
            "La ventana no está centrada en quien mira: sus fronteras son fijas.",
            "(first - shift) // window * window + shift",
            "first - window // 2",
            "(last - shift) // window * window + shift + window - 1",
            "last + window // 2",
        ),
        cambia(
            "solo el primer extremo",
            "Los dos extremos del tramo se alargan, cada uno hasta el borde de su ventana.",
            "(last - shift) // window * window + shift + window - 1",
            "first + window - 1",
        ),
        cambia(
            "filas por columnas",
            "`at` dice primero la fila; aquí se toma por la columna.",
            "reach(rows, at[0])[:, None] & reach(columns, at[1])",
            "reach(rows, at[1])[:, None] & reach(columns, at[0])",
        ),
        cambia(
            "la cruz",
            "Han de llegar la fila y también la columna: es un rectángulo, no una cruz.",
            "reach(rows, at[0])[:, None] & reach(columns, at[1])",
            "reach(rows, at[0])[:, None] | reach(columns, at[1])",
        ),
        cuerpo(
            "da la vuelta",
            "Las ventanas desplazadas no dan la vuelta: el borde de arriba no mira al de abajo.",
            """
            def reach(size, place):
                size = size // 2 ** layers.count("merge")
                seen = torch.arange(size) == place
                for layer in reversed(layers):
                    if layer == "merge":
                        size, seen = 2 * size, seen.repeat_interleave(2)
                        continue
                    shift = window // 2 if layer == "shifted" and size > window else 0
                    group = (torch.arange(size) - shift) % size // window
                    seen = torch.isin(group, group[seen])
                return seen

            return reach(rows, at[0])[:, None] & reach(columns, at[1])""",
        ),
        cuerpo(
            "junta la última",
            "La última ventana puede ser más pequeña: no se junta con la anterior.",
            """
            def reach(size, place):
                size = size // 2 ** layers.count("merge")
                first, last = place, place
                for layer in reversed(layers):
                    if layer == "merge":
                        size, first, last = 2 * size, 2 * first, 2 * last + 1
                        continue
                    shift = window // 2 if layer == "shifted" and size > window else 0
                    starts = [0, *range(shift or window, size, window)]
                    if size - starts[-1] < window and len(starts) > 1:
                        starts.pop()
                    first = max(x for x in starts if x <= first)
                    last = min([x for x in starts if x > last], default=size) - 1
                places = torch.arange(size)
                return (first <= places) & (places <= last)

            return reach(rows, at[0])[:, None] & reach(columns, at[1])""",
        ),
        cambia(
            "at en la entrada",
            "`at` se cuenta en la rejilla del final, no en la de la entrada.",
            "first, last = place, place",
            'first = last = place // 2 ** layers.count("merge")',
        ),
    ),
)

EJERCICIOS = [
    _PARCHES,
    _A_MANO,
    _MOVIDAS,
    _REJILLA,
    _OTRA_REJILLA,
    _VENTANAS,
    _MAESTRA,
    _ALCANCE,
]
