"""Ejercicios del capítulo 26, «Escalar»."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from math import inf
from typing import Any

from calificador.generadores import Borde, distintos, elige, entero, normal, permutacion, tensor
from calificador.registro import Caso, Ejercicio, cambia, cuerpo
from calificador.vetos import ATENTO

# --- 26.1 -----------------------------------------------------------------------------------------

_PRESUPUESTO = Ejercicio(
    id="26.1",
    nombre="budget_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=12,
    aprende="presupuestar un entrenamiento: parámetros, FLOP, memoria y tiempo",
    propiedades={
        "parameters": (1, "En cada bloque, cuatro matrices de la atención y dos de la red."),
        "flops": (1, "Seis por cada número que se multiplica, y por cada token."),
        "state": (1, "De cada parámetro se guardan cuatro números."),
        "tables": (1, "Una tabla de 50 × 50 por secuencia, por cabeza y por bloque."),
        "seconds": (1, "Los FLOP, entre los que de verdad se hacen en un segundo."),
    },
    pistas=(
        "Empieza por un bloque: las matrices que tiene y lo que mide cada una.",
        "Un producto y una suma son dos FLOP: dos por peso hacia delante, y hacia atrás, el doble.",
        "Un número de 32 bits son 4 bytes. AdamW guarda dos más por parámetro.",
    ),
    mutantes=(
        cambia(
            "la tabla, dos veces",
            "La tabla y la matriz de salida son la misma: se cuenta una vez.",
            "parameters = layers * block + vocab * d",
            "parameters = layers * block + 2 * vocab * d",
        ),
        cambia(
            "sin la tabla",
            "También son parámetros los de la tabla de embeddings.",
            '"parameters": parameters',
            '"parameters": layers * block',
        ),
        cambia(
            "solo tres matrices",
            "La atención tiene cuatro matrices: a la que más se olvida es a la de salida.",
            "4 * d * d + 2 * d",
            "3 * d * d + 2 * d",
        ),
        cambia(
            "una matriz por cabeza",
            "Las cabezas se reparten la anchura: no la multiplican.",
            "4 * d * d + 2 * d",
            "4 * heads * d * d + 2 * d",
        ),
        cambia(
            "solo hacia delante",
            "Eso es ir hacia delante; hacia atrás cuesta el doble.",
            '"flops": flops',
            '"flops": flops / 3',
        ),
        cambia(
            "un FLOP por peso",
            "Un producto y una suma son dos FLOP, no uno.",
            '"flops": flops',
            '"flops": flops / 2',
        ),
        cambia(
            "sin la salida",
            "La matriz de salida se multiplica por cada token, aunque sea la misma que la tabla.",
            '"flops": flops',
            '"flops": 6 * layers * block * tokens',
        ),
        cambia(
            "solo los pesos",
            "Faltan los gradientes y los dos momentos de AdamW.",
            '"state": (4 + 4 + 8) * parameters',
            '"state": 4 * parameters',
        ),
        cambia(
            "sin los momentos",
            "Faltan los dos momentos que guarda AdamW por cada parámetro.",
            '"state": (4 + 4 + 8) * parameters',
            '"state": 8 * parameters',
        ),
        cambia(
            "un momento",
            "AdamW guarda dos números por parámetro: la media y la de los cuadrados.",
            '"state": (4 + 4 + 8) * parameters',
            '"state": 12 * parameters',
        ),
        cambia(
            "números, no bytes",
            "Son los números que hay: cada uno ocupa 4 bytes.",
            '"tables": 4 * layers',
            '"tables": layers',
        ),
        cambia(
            "sin las cabezas",
            "Cada cabeza tiene su propia tabla.",
            "* 8 * heads * pairs",
            "* 8 * pairs",
        ),
        cambia(
            "un solo bloque",
            "Los pesos de cada bloque se guardan todos hasta que se va hacia atrás.",
            '"tables": 4 * layers * 8',
            '"tables": 4 * 8',
        ),
        cambia(
            "filas, no parejas",
            "Cada consulta tiene un peso por clave: son 50 × 50.",
            "pairs = 50 * 50",
            "pairs = 50",
        ),
        cambia(
            "al máximo",
            "La máquina solo aprovecha el 40 % de lo que puede hacer.",
            "flops / (0.4 * 10**11)",
            "flops / 10**11",
        ),
        cambia(
            "por 0.4",
            "Aprovechar menos es tardar más: se divide entre 0.4.",
            "flops / (0.4 * 10**11)",
            "flops * 0.4 / 10**11",
        ),
    ),
)

# --- 26.2 -----------------------------------------------------------------------------------------


def _casos_juntar(rng: Any) -> list[Caso]:
    def caso(
        propiedad: str, cuentas: list[int], vacio: float = 1.0, falla: int = -1, donde: int = 1
    ) -> Caso:
        """Quien no tiene palabras dice ``vacio`` veces lo suyo; ``falla`` dice un NaN.

        ``donde`` es el parámetro del NaN, y −1, la pérdida.
        """
        d = entero(rng, 2, 3)
        dicho, perdidas = [], normal(rng, len(cuentas)).abs() + 0.5
        for r, cuenta in enumerate(cuentas):
            suyo = [normal(rng, 1, d), normal(rng, d)]
            if cuenta == 0:
                suyo = [vacio * x for x in suyo]
                perdidas[r] = vacio * perdidas[r]
            if r == falla and donde < 0:
                perdidas[r] = nan
            elif r == falla:
                suyo[donde].view(-1)[0] = nan
            dicho.append(suyo)
        return Caso(propiedad, (perdidas, dicho, tensor(cuentas)))

    def con_cero(cuantos: int, ceros: int = 1) -> list[int]:
        cuentas = distintos(rng, 1, 20, cuantos) + [0] * ceros
        return [cuentas[i] for i in permutacion(rng, len(cuentas))]

    nan, palabras = float("nan"), con_cero(3)
    mas = palabras.index(max(palabras))
    return [
        caso("distintos", distintos(rng, 1, 20, 2)),
        caso("distintos", distintos(rng, 1, 20, entero(rng, 3, 4))),
        caso("distintos", [entero(rng, 2, 9)]),
        caso("sin palabras", con_cero(2), nan),
        caso("sin palabras", con_cero(2, 2), nan),
        caso("sin palabras", con_cero(entero(rng, 2, 3)), 1.0),
        caso("NaN de verdad", distintos(rng, 1, 20, 3), falla=entero(rng, 0, 2)),
        caso("NaN de verdad", distintos(rng, 1, 20, 3), falla=entero(rng, 0, 2), donde=-1),
        caso("NaN de verdad", palabras, nan, falla=mas),
        caso("NaN de verdad", palabras, nan, falla=mas, donde=0),
    ]


_JUNTAR = Ejercicio(
    id="26.2",
    nombre="join_processes",
    tipo="escribir",
    dificultad=1,
    minutos=20,
    aprende="juntar los gradientes de varios procesos para que sean los del lote entero",
    bordes=("len(losses) == 1", "bool((counts == 0).any())", "bool(losses.isnan().any())"),
    casos=_casos_juntar,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([1.0, 2.0]),
            [[tensor([4.0, 0.0]), tensor([1.0])], [tensor([0.0, 8.0]), tensor([5.0])]],
            tensor([3, 1]),
        ),
    ),
    propiedades={
        "distintos": (3, "Escribe las dos medias como sumas entre cuentas, y suma las sumas."),
        "sin palabras": (3, "Quien no tiene palabras no entra en la cuenta, diga lo que diga."),
        "NaN de verdad": (2, "El NaN de un proceso con palabras tiene que verse al final."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Con 3 palabras en uno y 1 en otro, ¿cuánto pesa cada palabra en la media del lote entero?",
        "La suma de lo que dijo un proceso es su media por sus palabras.",
        "Cada proceso entra con su parte de las palabras. Cero por NaN es NaN: aparta antes a los"
        " que no tienen ninguna.",
    ),
    mutantes=(
        cambia(
            "media de medias",
            "Así pesan lo mismo una palabra y veinte: cada proceso cuenta por sus palabras.",
            "counts.to(losses) / counts.sum()",
            "torch.ones_like(losses) / len(losses)",
        ),
        cambia(
            "media de los que tienen",
            "Apartas a quien no tiene palabras, pero los demás pesan todos lo mismo.",
            "counts.to(losses) / counts.sum()",
            "torch.ones_like(losses) / (counts > 0).sum()",
        ),
        cambia(
            "suma",
            "Eso es la suma de las medias: falta pesar cada una por su parte.",
            "counts.to(losses) / counts.sum()",
            "torch.ones_like(losses)",
        ),
        cambia(
            "sin dividir",
            "Es la suma entre palabras; falta dividir entre todas las del lote.",
            " / counts.sum()",
            "",
        ),
        cambia(
            "dividido dos veces",
            "Ya pesa cada uno su parte: no se divide además entre los procesos.",
            " / counts.sum()",
            " / counts.sum() / len(losses)",
        ),
        cambia(
            "cero por NaN",
            "Multiplicar por cero no quita un NaN: hay que apartar al proceso sin palabras.",
            " if count > 0",
            "",
        ),
        cambia(
            "esconde el NaN",
            "El NaN de un proceso con palabras desaparece: eso es una avería que no se ve.",
            "sum(shares[r] * gradients[r][i] for r in active)",
            "sum(shares[r] * gradients[r][i].nan_to_num() for r in active)",
        ),
        cambia(
            "esconde el de un parámetro",
            "También se tiene que ver el NaN del primer parámetro.",
            "sum(shares[r] * gradients[r][i] for r in active)",
            "sum(shares[r] * (gradients[r][i] if i else gradients[r][0].nan_to_num())"
            " for r in active)",
        ),
        cambia(
            "esconde el de la pérdida",
            "El NaN de la pérdida de un proceso con palabras también tiene que verse.",
            "shares[r] * losses[r] for",
            "shares[r] * losses[r].nan_to_num() for",
        ),
        cambia(
            "aparta a quien dice NaN",
            "Se aparta a quien no tiene palabras, no a quien dice NaN.",
            " if count > 0",
            " if count > 0 and not losses[r].isnan()",
        ),
        cambia(
            "solo la pérdida",
            "La pérdida está bien; los gradientes también pesan por sus palabras.",
            "sum(shares[r] * gradients[r][i] for r in active)",
            "sum(gradients[r][i] for r in active) / len(active)",
        ),
        cambia(
            "solo el gradiente",
            "Los gradientes están bien; la pérdida también pesa por sus palabras.",
            "sum(shares[r] * losses[r] for r in active)",
            "sum(losses[r] for r in active) / len(active)",
        ),
    ),
)

# --- 26.3 -----------------------------------------------------------------------------------------


def _casos_bytes(rng: Any) -> list[Caso]:
    def caso(propiedad: str, etapa: int, mitad: bool = False, procesos: int = 0) -> Caso:
        """Un reparto que no es exacto, salvo con un proceso."""
        n = procesos or entero(rng, 3, 8)
        cuantos = n * entero(rng, 20, 900) + (entero(rng, 1, n - 1) if n > 1 else 7)
        return Caso(propiedad, (cuantos, n, etapa, mitad))

    return [
        caso("sin partir", 0),
        caso("sin partir", 0, True),
        caso("optimizador", 1),
        caso("optimizador", 1, procesos=2),
        caso("gradientes", 2),
        caso("gradientes", 2, procesos=2),
        caso("pesos", 3),
        caso("pesos", 3, procesos=1),
        caso("16 bits", 1, True),
        caso("16 bits", elige(rng, (2, 3)), True),
        caso("16 bits", 3, True, procesos=4),
    ]


_BYTES = Ejercicio(
    id="26.3",
    nombre="bytes_per_process",
    tipo="predecir",
    dificultad=1,
    minutos=12,
    aprende="decir cuánta memoria pide entrenar a cada proceso, y qué parte cada etapa de ZeRO",
    bordes=("processes == 1", "stage == 0", "parameters % processes > 0", "not half", "half"),
    casos=_casos_bytes,
    ejemplo=lambda: Caso("ejemplo", (10, 4, 2, False)),
    propiedades={
        "sin partir": (1, "Cada proceso lo tiene todo: no depende de cuántos sean."),
        "optimizador": (1, "En la etapa 1 solo se parte lo que guarda el optimizador."),
        "gradientes": (1, "En la etapa 2 se parten el optimizador y los gradientes."),
        "pesos": (1, "En la etapa 3 se parte todo."),
        "16 bits": (2, "El optimizador guarda tres números de 32 bits por parámetro."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz una tabla con tres filas (pesos, gradientes, optimizador) y cuántos bytes van por"
        " parámetro.",
        "Cada etapa parte lo que partía la anterior y una cosa más.",
        "El trozo de cada proceso es el cociente redondeado hacia arriba.",
    ),
    mutantes=(
        cambia(
            "hacia abajo",
            "Así quedan parámetros sin dueño: el trozo se redondea hacia arriba.",
            "-(-parameters // processes)",
            "parameters // processes",
        ),
        cambia(
            "solo una cosa",
            "Cada etapa parte también lo que partían las anteriores.",
            "stage >= first",
            "stage == first",
        ),
        cambia(
            "al revés",
            "Lo primero que se parte es lo del optimizador, y lo último, los pesos.",
            "[3, 2, 1]",
            "[1, 2, 3]",
        ),
        cambia(
            "todo se parte",
            "Es lo que pide la etapa 3 en todas.",
            "part if stage >= first else parameters",
            "part",
        ),
        cambia(
            "gradientes desde la 1",
            "En la etapa 1 los gradientes aún están enteros en cada proceso.",
            "[3, 2, 1]",
            "[3, 1, 1]",
        ),
        cambia(
            "sin la copia",
            "Con 16 bits, el optimizador guarda tres números de 4 bytes: dos momentos y una copia.",
            "[2, 2, 4 + 4 + 4]",
            "[2, 2, 4 + 4]",
        ),
        cambia(
            "todo en 16",
            "Lo del optimizador sigue en 32 bits: en 16 se perderían los pasos pequeños.",
            "[2, 2, 4 + 4 + 4]",
            "[2, 2, 2 + 2 + 2]",
        ),
        cambia(
            "gradientes de 32",
            "Con 16 bits, los gradientes también van en 16.",
            "[2, 2, 4 + 4 + 4]",
            "[2, 4, 4 + 4 + 4]",
        ),
        cambia(
            "entre todos",
            "Se pide lo de un proceso, no lo de todos juntos.",
            "size * (part",
            "processes * size * (part",
        ),
    ),
)

# --- 26.4 -----------------------------------------------------------------------------------------


def _casos_anillo(rng: Any) -> list[Caso]:
    def caso(propiedad: str, n: int, largo: int) -> Caso:
        return Caso(propiedad, (normal(rng, n, largo),))

    return [
        caso("dos procesos", 2, 2 * entero(rng, 1, 3)),
        caso("dos procesos", 2, 4),
        caso("trozos iguales", 3, 3 * entero(rng, 1, 2)),
        caso("trozos iguales", entero(rng, 4, 5), 20),
        caso("trozos iguales", 1, 3),
        caso("trozos desiguales", 3, elige(rng, (4, 7))),
        caso("trozos desiguales", 4, entero(rng, 9, 10)),
        caso("trozos desiguales", 4, entero(rng, 2, 3)),
        caso("trozos desiguales", 5, elige(rng, (7, 8))),
    ]


_ANILLO = Ejercicio(
    id="26.4",
    nombre="ring_states",
    tipo="escribir",
    dificultad=2,
    minutos=35,
    aprende="seguir una reducción en anillo y contar lo que manda cada proceso",
    bordes=(
        "len(values) == 1",
        "values.shape[1] < len(values)",
        "values.shape[1] % len(values) > 0",
        Borde("trozos desiguales", {0: 1}),
    ),
    casos=_casos_anillo,
    ejemplo=lambda: Caso("ejemplo", (tensor([[1.0, 2.0], [10.0, 20.0]]),)),
    propiedades={
        "dos procesos": (2, "Dibuja los dos pasos: en uno se suma y en el otro se copia."),
        "trozos iguales": (4, "Escribe, con tres procesos, qué trozo manda cada uno en cada paso."),
        "trozos desiguales": (3, "Corta como `tensor_split`: los largos van los primeros."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz a mano una tabla con tres procesos y tres trozos: quién manda qué, y quién lo tiene.",
        "El trozo que se manda en un paso es el que llegó en el anterior: uno menos cada vez,"
        " dando la vuelta.",
        "Si en el paso s el proceso r manda el trozo r − s, también en la segunda vuelta le sale el"
        " que acaba de recibir. Parte siempre de lo que había antes del paso.",
    ),
    mutantes=(
        cambia(
            "hacia atrás",
            "Se manda al proceso siguiente, no al anterior.",
            "(r + 1) % n",
            "(r - 1) % n",
        ),
        cambia(
            "el trozo que viene",
            "Se manda el que se acaba de recibir: el número del trozo baja, no sube.",
            "(r - step) % n",
            "(r + step) % n",
        ),
        cambia(
            "siempre el suyo",
            "Solo en el primer paso manda cada uno su trozo; después, el que recibió.",
            "(r - step) % n",
            "r",
        ),
        cambia(
            "suma siempre",
            "En la segunda vuelta lo que llega ya está sumado: se pone en su lugar.",
            "before[to, chunk] if step < n - 1 else 0",
            "before[to, chunk]",
        ),
        cambia(
            "copia demasiado tarde",
            "La primera vuelta tiene n − 1 pasos: en el siguiente ya se copia.",
            "if step < n - 1 else",
            "if step < n else",
        ),
        cambia(
            "solo una vuelta",
            "Tras la primera vuelta cada uno tiene un solo trozo sumado: falta repartirlos.",
            "range(2 * (n - 1))",
            "range(n - 1)",
        ),
        cambia(
            "sin el principio",
            "Falta lo que tienen al principio, antes del primer paso.",
            "torch.stack(states), sent",
            "torch.stack(states)[1:], sent",
        ),
        cambia(
            "los largos, al final",
            "Los trozos más largos son los primeros.",
            "torch.arange(length).tensor_split(n)",
            "[length - 1 - c for c in torch.arange(length).tensor_split(n)][::-1]",
        ),
        cambia(
            "manda la fila",
            "Cada vez viaja un trozo, no la fila entera.",
            "len(chunk)",
            "length",
        ),
        cambia(
            "lo que recibe",
            "Con trozos desiguales, lo que uno manda no es lo que recibe.",
            "sent[r] +=",
            "sent[to] +=",
        ),
        cambia(
            "media",
            "Se pide la suma: aquí se divide entre los procesos.",
            "states, sent = [values]",
            "states, sent = [values / n]",
        ),
    ),
)

# --- 26.5 -----------------------------------------------------------------------------------------


def _casos_red(rng: Any) -> list[Caso]:
    def caso(propiedad: str, procesos: int, ancho: int, sesgos: bool = True) -> Caso:
        d = entero(rng, 2, 3)
        primera, segunda = normal(rng, d, 2 * ancho), normal(rng, ancho, d)
        uno, dos = normal(rng, 2 * ancho), normal(rng, d)
        x = normal(rng, entero(rng, 2, 3), d)
        return Caso(propiedad, (x, primera, sesgos * uno, segunda, sesgos * dos, procesos))

    return [
        caso("sin sesgos", 2, 2 * entero(rng, 1, 3), False),
        caso("sin sesgos", 3, 6, False),
        caso("con sesgos", 2, 2),
        caso("con sesgos", 3, 3 * entero(rng, 1, 2)),
        caso("con sesgos", 1, 3),
        caso("desiguales", 2, entero(rng, 1, 2) * 2 + 1),
        caso("desiguales", 3, elige(rng, (4, 7))),
        caso("desiguales", 4, elige(rng, (5, 6))),
    ]


_RED = Ejercicio(
    id="26.5",
    nombre="split_ffn",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="partir una red por columnas y filas de modo que baste una suma",
    bordes=("processes == 1", "processes == len(second)", Borde("con sesgos", {0: 0})),
    casos=_casos_red,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 2.0]]),
            tensor([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 1.0, 3.0]]),
            tensor([0.0, 0.0, 0.0, 0.0]),
            tensor([[1.0, 0.0], [0.0, 1.0]]),
            tensor([10.0, 20.0]),
            2,
        ),
    ),
    propiedades={
        "sin sesgos": (3, "Cada proceso necesita, de sus componentes, la puerta y su pareja."),
        "con sesgos": (3, "El primer sesgo se parte como las columnas; el segundo va una vez."),
        "desiguales": (2, "Corta las componentes como `tensor_split`, de una vez para todas."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Comprueba lo que te sale: la suma de los trozos ha de ser la salida de la red entera.",
        "La componente k de en medio usa dos columnas de `first`, la k y la d_ff + k, y la fila k"
        " de `second`.",
        "Corta los números de 0 a d_ff en trozos, y usa los mismos índices en las tres matrices y"
        " en el primer sesgo.",
    ),
    mutantes=(
        cuerpo(
            "corta la matriz doble",
            "Cortando `first` en trozos seguidos, a unos les tocan puertas y a otros sus parejas.",
            """
            parts = []
            cuts = torch.arange(2 * len(second)).tensor_split(processes)
            for own, rows in zip(cuts, second.tensor_split(processes)):
                gate, up = (x @ first[:, own] + first_bias[own]).tensor_split(2, dim=-1)
                parts.append(torch.nn.functional.silu(gate) * up @ rows)
            parts[0] = parts[0] + second_bias
            return torch.stack(parts)""",
        ),
        cambia(
            "salteadas",
            "La suma sale bien, pero las componentes van seguidas, no salteadas.",
            "torch.arange(d_ff).tensor_split(processes)",
            "[torch.arange(r, d_ff, processes) for r in range(processes)]",
        ),
        cambia(
            "las largas, al final",
            "Si no salen iguales, los primeros procesos llevan una componente más.",
            "torch.arange(d_ff).tensor_split(processes)",
            "[d_ff - 1 - c for c in torch.arange(d_ff).tensor_split(processes)][::-1]",
        ),
        cambia(
            "el sesgo, en todos",
            "Al sumar, el segundo sesgo entra tantas veces como procesos: va una sola.",
            "parts[0] = parts[0] + second_bias",
            "parts = [part + second_bias for part in parts]",
        ),
        cambia(
            "sin el sesgo",
            "Falta el segundo sesgo: lo pone el proceso 0.",
            "parts[0] = parts[0] + second_bias",
            "pass",
        ),
        cambia(
            "el sesgo, repartido",
            "La suma sale bien, pero el segundo sesgo lo pone entero el proceso 0.",
            "parts[0] = parts[0] + second_bias",
            "parts = [part + second_bias / processes for part in parts]",
        ),
        cambia(
            "la puerta, en lo otro",
            "La SiLU va en W₁, las primeras columnas; las otras entran tal cual.",
            "torch.nn.functional.silu(gate) * up",
            "gate * torch.nn.functional.silu(up)",
        ),
        cambia(
            "sesgo de la puerta, dos veces",
            "La segunda mitad tiene su propio trozo de sesgo.",
            "first_bias[d_ff + own]",
            "first_bias[own]",
        ),
        cambia(
            "sin el primer sesgo",
            "Cada columna lleva su trozo del primer sesgo.",
            " + first_bias[own]",
            "",
            " + first_bias[d_ff + own]",
            "",
        ),
        cambia(
            "las primeras filas",
            "Las filas de la última matriz son las de las mismas componentes.",
            "second[own]",
            "second[: len(own)]",
        ),
    ),
)

# --- 26.6 -----------------------------------------------------------------------------------------


def _casos_fallos(rng: Any) -> list[Caso]:
    def caso(propiedad: str, donde: str, tramos: int = 0) -> Caso:
        """``donde`` dice dónde cae cada vez. Cada caída tiene su fracción de hora, y así ninguna
        coincide con el final de nada."""
        cada, guarda, vuelve = entero(rng, 3, 6), entero(rng, 2, 3), entero(rng, 3, 4)
        trabajo = cada * (tramos or entero(rng, 3, 4)) + (0 if tramos else entero(rng, 1, cada - 1))
        dieciseisavos = distintos(rng, 1, 15, len(donde))
        caidas, hora = [], 0
        for letra, parte in zip(donde, dieciseisavos, strict=True):
            if letra == "t":  # trabajando en un tramo, con al menos una hora hecha
                hora += entero(rng, 1, cada - 2)
            elif letra == "s":  # en el segundo tramo: ya hay un punto guardado
                hora += cada + guarda + entero(rng, 1, cada - 2)
            elif letra == "g":  # guardando
                hora += cada + entero(rng, 0, guarda - 2)
            elif letra == "v":  # volviendo: hora ya era la de seguir
                hora += entero(rng, 0, vuelve - 2) - vuelve
            else:  # cuando ya ha acabado
                hora += 3 * (trabajo + vuelve) * (guarda + 1)
            caidas.append(hora + parte / 16)
            hora += vuelve + 1
        return Caso(propiedad, (trabajo, cada, guarda, vuelve, caidas))

    return [
        caso("sin fallos", ""),
        caso("sin fallos", "", entero(rng, 2, 4)),
        caso("sin fallos", "f", 1),
        caso("un fallo", "t"),
        caso("un fallo", "s"),
        caso("un fallo", "s", 3),
        caso("varios", "ts"),
        caso("varios", "sst"),
        caso("varios", elige(rng, ("tsf", "stsf"))),
        caso("mientras guarda", "g"),
        caso("mientras guarda", elige(rng, ("gs", "gg", "sg"))),
        caso("mientras vuelve", "sv"),
        caso("mientras vuelve", elige(rng, ("tvv", "svvs", "gvt"))),
    ]


_FALLOS = Ejercicio(
    id="26.6",
    nombre="time_with_failures",
    tipo="escribir",
    dificultad=2,
    minutos=35,
    aprende="seguir un entrenamiento que falla y contar lo que cuesta guardar y lo que se repite",
    bordes=("not failures", "work == every", "work % every == 0", "len(failures) > 2"),
    casos=_casos_fallos,
    ejemplo=lambda: Caso("ejemplo", (10, 4, 1, 2, [7.5])),
    propiedades={
        "sin fallos": (1, "Cuenta cuántas veces guarda: al acabar, no."),
        "un fallo": (2, "Se vuelve al último punto guardado, no al principio."),
        "varios": (2, "Las caídas son horas de reloj, desde el principio."),
        "mientras guarda": (2, "Un punto a medio guardar no sirve: se pierde el tramo entero."),
        "mientras vuelve": (2, "Si se cae mientras vuelve, solo empieza otra vez la vuelta."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Dibuja una línea de tiempo con los tramos de trabajar, guardar y volver.",
        "Avanza tramo a tramo: trabajar hasta el próximo punto y guardarlo. O acaba antes de la"
        " próxima caída, o no vale nada de él.",
        "De un tramo que se corta, lo perdido es lo que se trabajó en él, sin lo que llevara"
        " guardando. Después, mientras haya otra caída antes de haber vuelto, la vuelta se repite.",
    ),
    mutantes=(
        cambia(
            "guarda al acabar",
            "Al acabar no se guarda: sobra una vez.",
            "(0 if last else save)",
            "save",
        ),
        cambia(
            "guardar no cuesta",
            "Mientras guarda no trabaja: esas horas también pasan.",
            "(0 if last else save)",
            "0",
        ),
        cambia(
            "vale a medias",
            "Si se cae mientras guarda, ese punto no vale.",
            "again += min(fall - clock, stretch)",
            "if fall - clock >= stretch:\n            saved += stretch\n        else:\n"
            "            again += fall - clock",
        ),
        cambia(
            "desde el principio",
            "Se sigue desde el último punto guardado: no se pierde todo.",
            "again += min(fall - clock, stretch)",
            "again += saved + min(fall - clock, stretch)\n        saved = 0",
        ),
        cambia(
            "no pierde nada",
            "Lo hecho desde el último punto se pierde, y hay que hacerlo otra vez.",
            "again += min(fall - clock, stretch)",
            "saved += min(fall - clock, stretch)",
        ),
        cambia(
            "vuelve al instante",
            "Tras una caída pasan `restart` horas antes de seguir.",
            "clock = fall + restart",
            "clock = fall",
        ),
        cambia(
            "no se cae al volver",
            "También se puede caer mientras vuelve, y entonces la vuelta empieza otra vez.",
            "fall + restart:\n            fall = falls.pop(0)",
            "fall + restart:\n            falls.pop(0)",
        ),
        cambia(
            "vueltas enteras",
            "La vuelta que se corta no se termina: empieza otra desde la caída.",
            "        while falls and falls[0] < fall + restart:\n            fall = falls.pop(0)\n"
            "        clock = fall + restart",
            "        clock = fall + restart\n        while falls and falls[0] < clock:\n"
            "            falls.pop(0)\n            clock += restart",
        ),
        cambia(
            "repite lo de guardar",
            "Las horas de guardar no son de trabajo.",
            "min(fall - clock, stretch)",
            "fall - clock",
        ),
        cambia(
            "horas desde que sigue",
            "Las caídas son horas de reloj desde el principio, no desde que sigue.",
            "        clock = fall + restart",
            "        clock = fall + restart\n        falls = [f + clock for f in falls]",
        ),
    ),
)

# --- 26.7 -----------------------------------------------------------------------------------------


def _casos_calendario(rng: Any) -> list[Caso]:
    def gpipe(etapas: int, lotes: int) -> list[list[int]]:
        ida, vuelta = (list(permutacion(rng, lotes)) for _ in range(2))
        orden = [k + 1 for k in ida] + [-k - 1 for k in vuelta]
        return [list(orden) for _ in range(etapas)]

    def alterna(etapas: int, lotes: int) -> list[list[int]]:
        """1F1B: la etapa s se adelanta p − 1 − s microlotes, y después alterna."""
        ordenes = []
        for s in range(etapas):
            antes = min(lotes, etapas - 1 - s)
            orden = list(range(1, antes + 1))
            for k in range(1, lotes - antes + 1):
                orden += [antes + k, -k]
            ordenes.append(orden + [-k for k in range(lotes - antes + 1, lotes + 1)])
        return ordenes

    def uno_a_uno(etapas: int, lotes: int) -> list[list[int]]:
        """Nadie empieza un microlote hasta que ha vuelto el anterior: la fórmula no vale."""
        orden = [x for k in range(1, lotes + 1) for x in (k, -k)]
        return [list(orden) for _ in range(etapas)]

    def adelante(etapas: int, lotes: int) -> list[list[int]]:
        orden = [k + 1 for k in permutacion(rng, lotes)]
        return [list(orden) for _ in range(etapas)]

    return [
        Caso("hacia delante", (adelante(2, entero(rng, 2, 5)), 2)),
        Caso("hacia delante", (adelante(entero(rng, 3, 4), entero(rng, 3, 6)), 1)),
        Caso("GPipe", (gpipe(2, entero(rng, 2, 4)), 1)),
        Caso("GPipe", (gpipe(entero(rng, 3, 4), entero(rng, 4, 5)), 2)),
        Caso("GPipe", (gpipe(1, entero(rng, 2, 3)), 2)),
        Caso("GPipe", (gpipe(3, 1), 3)),
        Caso("1F1B", (alterna(2, entero(rng, 3, 5)), 1)),
        Caso("1F1B", (alterna(entero(rng, 3, 4), entero(rng, 5, 7)), 2)),
        Caso("1F1B", (alterna(4, entero(rng, 2, 3)), entero(rng, 2, 3))),
        Caso("1F1B", (uno_a_uno(2, entero(rng, 2, 3)), entero(rng, 1, 2))),
    ]


_CALENDARIO = Ejercicio(
    id="26.7",
    nombre="pipeline_table",
    tipo="escribir",
    dificultad=2,
    minutos=40,
    aprende="escribir el calendario de una tubería y medir su burbuja",
    bordes=("len(orders) == 1", "len(orders[0]) == 2", "backward == 1"),
    casos=_casos_calendario,
    ejemplo=lambda: Caso("ejemplo", ([[1, 2, -2, -1], [1, 2, -2, -1]], 2)),
    propiedades={
        "hacia delante": (2, "Dibuja la escalera: cada etapa espera a que acabe la anterior."),
        "GPipe": (3, "Hacia atrás se espera a la etapa siguiente, y dura `backward` instantes."),
        "1F1B": (3, "Cada etapa tiene su orden: empieza lo que toca en cuanto se puede."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Con dos etapas y dos microlotes, llena la tabla a mano, instante a instante.",
        "De cada cosa apunta a qué hora acaba. Empieza a la mayor de dos horas: cuando la etapa"
        " queda libre y cuando acaba lo que hace falta.",
        "Recorre las etapas una y otra vez, y avanza en cada una mientras sepas cuándo acaba lo que"
        " le falta. La última va hacia atrás en cuanto ella misma ha ido hacia delante.",
    ),
    mutantes=(
        cambia(
            "no espera a nadie",
            "Cada etapa necesita lo que hace otra: falta esperar a que acabe.",
            "start = max(free[s], ends[needs] if needs is not None else 0)",
            "start = free[s]",
        ),
        cambia(
            "un instante de viaje",
            "Se puede empezar en el mismo instante en que acaba lo otro: sobra uno.",
            "ends[needs] if needs is not None else 0",
            "ends[needs] + (needs[0] != s) if needs is not None else 0",
        ),
        cambia(
            "atrás, de la anterior",
            "Hacia atrás se espera a la etapa siguiente, no a la anterior.",
            "needs = (s + 1, item) if s < last else (s, -item)",
            "needs = (s - 1, item) if s > 0 else (s, -item)",
        ),
        cambia(
            "atrás, sin la siguiente",
            "Para ir hacia atrás no basta haber ido hacia delante: falta la etapa siguiente.",
            "needs = (s + 1, item) if s < last else (s, -item)",
            "needs = (s, -item)",
        ),
        cambia(
            "atrás, un instante",
            "Ir hacia atrás ocupa `backward` instantes.",
            "(1 if item > 0 else backward)",
            "1",
        ),
        cambia(
            "sin el signo",
            "Lo que va hacia atrás lleva el signo menos.",
            "table[s, start:end] = item",
            "table[s, start:end] = abs(item)",
        ),
        cambia(
            "la parte que trabaja",
            "Esa es la parte en que trabajan; se pide la otra.",
            "(table == 0)",
            "(table != 0)",
        ),
        cambia(
            "casillas, no parte",
            "Son las casillas vacías: falta dividir entre todas.",
            "mean().item()",
            "sum().item()",
        ),
        cambia(
            "por la fórmula",
            "Esa fórmula no vale con cualquier orden: cuenta las casillas vacías de tu tabla.",
            "(table == 0).double().mean().item()",
            "last / (last + max(orders[0]))",
        ),
        cambia(
            "parada entre trabajos",
            "También está parada antes de empezar y después de acabar.",
            "return table, (table == 0).double().mean().item()",
            "idle = sum((row[row.nonzero()[0] : row.nonzero()[-1]] == 0).sum() for row in table)\n"
            "    return table, idle.item() / table.numel()",
        ),
    ),
)

# --- 26.8 -----------------------------------------------------------------------------------------


def _lenta(
    tiempos: list[int],
    pesos: list[int],
    activas: list[int],
    etapas: int,
    limite: float,
    copias: Callable[[int], int],
) -> float:
    """Lo menos que tarda la etapa más lenta, si la s guarda ``copias(s)`` microlotes."""
    capas = len(tiempos)
    hasta = [list(accumulate(x, initial=0)) for x in (tiempos, pesos, activas)]
    mejor = [inf] * capas + [0]
    for s in reversed(range(etapas)):
        nuevo = [inf] * (capas + 1)
        for i in range(capas):
            for j in range(i + 1, capas + 1):
                tarda, pesa, activa = (x[j] - x[i] for x in hasta)
                if pesa + copias(s) * activa <= limite:
                    nuevo[i] = min(nuevo[i], max(tarda, mejor[j]))
        mejor = nuevo
    return mejor[0]


def _casos_capas(rng: Any) -> list[Caso]:
    def capas(cuantas: int) -> tuple[list[int], list[int], list[int]]:
        t, w, a = (distintos(rng, 1, max(20, cuantas + 9), cuantas) for _ in range(3))
        return t, [2 * x for x in w], a

    def pide(w: list[int], a: list[int], cortes: list[int]) -> int:
        """La memoria de la etapa que más pide."""
        tramos, p = enumerate(pairwise(cortes)), len(cortes) - 1
        return max(sum(w[i:j]) + (p - s) * sum(a[i:j]) for s, (i, j) in tramos)

    def libre(cuantas: int, p: int) -> Caso:
        """Cabe todo, y repartir las mismas capas a todas no es lo mejor."""
        cortes = [cuantas * s // p for s in range(p + 1)]
        while True:
            t, w, a = capas(cuantas)
            iguales = max(sum(t[i:j]) for i, j in pairwise(cortes))
            if p == cuantas or _lenta(t, w, a, p, inf, lambda s: 1) < iguales:
                return Caso("sin límite", (t, w, a, p, sum(w) + p * sum(a)))

    def justo(cuantas: int, p: int) -> tuple[Caso, list[float]]:
        """Un límite que aprieta, y lo que da cada manera de contar; la buena, primera."""
        while True:
            t, w, a = capas(cuantas)
            al_azar = [sorted(permutacion(rng, cuantas - 1)[: p - 1]) for _ in range(3)]
            limite = min(pide(w, a, [0, *(i + 1 for i in x), cuantas]) for x in al_azar)
            buena = _lenta(t, w, a, p, limite, lambda s: p - s)
            if buena > _lenta(t, w, a, p, inf, lambda s: 1):
                break
        juntos = [x + y for x, y in zip(w, a, strict=True)]
        otras = [
            _lenta(t, w, a, p, inf, lambda s: 1),
            _lenta(t, w, a, p, limite, lambda s: 1),
            _lenta(t, w, a, p, limite, lambda s: s + 1),
            _lenta(t, w, a, p, limite, lambda s: p),
            _lenta(t, w, a, p, limite, lambda s: p - s - 1),
            _lenta(t, [0] * cuantas, a, p, limite, lambda s: p - s),
            _lenta(t, [0] * cuantas, juntos, p, limite, lambda s: p - s),
        ]
        return Caso("con límite", (t, w, a, p, limite)), [buena, *otras]

    def justos() -> list[Caso]:
        """Tres, en los que entre todos cada manera da otra cosa."""
        dados: list[Any] = []
        while True:
            dados = [*dados, justo(entero(rng, 6, 8), elige(rng, (3, 2, 4)))][-3:]
            if len({*zip(*(x for _, x in dados), strict=True)}) == 8 and len(dados) == 3:
                return [c for c, _ in dados]

    def muchas(cuantas: int, p: int) -> Caso:
        """Un límite que permite llevar las mismas capas, y que a otros repartos les aprieta."""
        t, w, a = capas(cuantas)
        limite = pide(w, a, [cuantas * s // p for s in range(p + 1)])
        return Caso("muchas capas", (t, w, a, p, limite))

    return [
        libre(entero(rng, 5, 7), 2),
        libre(entero(rng, 6, 8), entero(rng, 3, 4)),
        libre(3, 3),
        *justos(),
        muchas(60 - entero(rng, 0, 5), 12),
        muchas(50, 10),
    ]


def _comprueba_capas(caso: Caso, obtenido: Any, esperado: Any) -> str | None:
    tiempos, pesos, activas, etapas, limite = caso.args
    if not isinstance(obtenido, (list, tuple)) or len(obtenido) != 2:
        return "se esperaban dos cosas: el tiempo de la más lenta y una lista de enteros"
    lenta, cuantas = obtenido
    cuantas = cuantas.tolist() if hasattr(cuantas, "tolist") else cuantas
    lenta = lenta.item() if hasattr(lenta, "item") and lenta.numel() == 1 else lenta
    enteros = isinstance(cuantas, (list, tuple)) and all(type(n) is int for n in cuantas)
    if not enteros or not isinstance(lenta, (int, float)):
        return "se esperaban dos cosas: el tiempo de la más lenta y una lista de enteros"
    if len(cuantas) != etapas or sum(cuantas) != len(tiempos) or min(cuantas) < 1:
        return f"no reparte las {len(tiempos)} capas en {etapas} etapas con una al menos"
    hasta, peor = 0, 0
    for s, n in enumerate(cuantas):
        tramo = slice(hasta, hasta + n)
        memoria = sum(pesos[tramo]) + (etapas - s) * sum(activas[tramo])
        if memoria > limite:
            return f"la etapa {s} pide {memoria}, y el límite es {limite}"
        hasta, peor = hasta + n, max(peor, sum(tiempos[tramo]))
    if peor != lenta:
        return f"con ese reparto, la más lenta tarda {peor}, y se dice {lenta}"
    return None if peor == esperado[0] else "hay otro reparto con la etapa más lenta más rápida"


_CAPAS = Ejercicio(
    id="26.8",
    nombre="split_layers",
    tipo="escribir",
    dificultad=3,
    minutos=45,
    aprende="repartir las capas de un modelo entre las etapas de una tubería, con su memoria",
    bordes=("stages == len(times)", Borde("sin límite", valores={3: 1})),
    casos=_casos_capas,
    ejemplo=lambda: Caso("ejemplo", ([3, 1, 2, 2], [1, 1, 1, 1], [1, 1, 1, 1], 2, 6)),
    propiedades={
        "sin límite": (3, "Prueba todos los cortes de cinco capas en dos etapas."),
        "con límite": (4, "La primera etapa guarda más microlotes que la última."),
        "muchas capas": (3, "No se pueden probar todos: guarda lo que ya has resuelto."),
    },
    comprueba=_comprueba_capas,
    invariante=lambda valor: valor[0],
    prohibido=(ATENTO,),
    pistas=(
        "Si ya supieras lo mejor que pueden hacer las etapas desde la segunda, con cualquier"
        " resto de las capas, ¿cómo decidirías cuántas lleva la primera?",
        "El tiempo de un reparto es el mayor de dos: el de la primera etapa y el del resto.",
        "Empieza por la última etapa y ve hacia atrás, con una tabla por etapa y primera capa."
        " Un tramo que no cabe no se prueba. Guarda también cuántas capas lleva cada una.",
    ),
    mutantes=(
        cambia(
            "sin la memoria",
            "Algún tramo no cabe: falta mirar el límite.",
            "if memory > limit:\n                    break",
            "pass",
        ),
        cambia(
            "un microlote",
            "Cada etapa guarda varios microlotes a la vez, no uno.",
            "(stages - s) * activations[j]",
            "activations[j]",
        ),
        cambia(
            "al revés",
            "La que más microlotes guarda es la primera etapa.",
            "(stages - s) * activations[j]",
            "(s + 1) * activations[j]",
        ),
        cambia(
            "todas como la primera",
            "Solo la primera etapa guarda tantos microlotes como etapas hay.",
            "(stages - s) * activations[j]",
            "stages * activations[j]",
        ),
        cambia(
            "uno de menos",
            "La última etapa guarda un microlote, no ninguno.",
            "(stages - s) * activations[j]",
            "(stages - s - 1) * activations[j]",
        ),
        cambia(
            "sin los pesos",
            "Los pesos también ocupan.",
            "weights[j] + (stages - s) * activations[j]",
            "(stages - s) * activations[j]",
        ),
        cambia(
            "los pesos, por microlote",
            "Los pesos se guardan una sola vez.",
            "weights[j] + (stages - s) * activations[j]",
            "(stages - s) * (weights[j] + activations[j])",
        ),
        cambia(
            "la suma",
            "Se pide el tiempo de la más lenta, no el de todas.",
            "max(time, rest)",
            "time + rest",
        ),
        cuerpo(
            "las mismas capas",
            "Las capas no tardan lo mismo: repartir el mismo número no es lo mejor.",
            """
            sizes = [len(c) for c in torch.arange(len(times)).tensor_split(stages)]
            parts = torch.tensor(times).split(sizes)
            return max(int(part.sum()) for part in parts), sizes""",
        ),
        cuerpo(
            "llena hasta la media",
            "Llenar cada etapa hasta la media deja lo que sobre para la última.",
            """
            goal, sizes, total = sum(times) / stages, [], []
            i = 0
            for s in range(stages):
                room = len(times) - (stages - 1 - s)
                j = i + 1
                while j < room and (s == stages - 1 or sum(times[i : j + 1]) <= goal):
                    j += 1
                sizes.append(j - i)
                total.append(sum(times[i:j]))
                i = j
            return max(total), sizes""",
        ),
    ),
)

EJERCICIOS = [
    _PRESUPUESTO,
    _JUNTAR,
    _BYTES,
    _ANILLO,
    _RED,
    _FALLOS,
    _CALENDARIO,
    _CAPAS,
]
