"""Ejercicios del capítulo 21, «Oír»."""

from __future__ import annotations

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
from calificador.registro import Caso, Ejercicio, Mutante, cambia, cuerpo
from calificador.vetos import ATENTO

# --- 21.1 -----------------------------------------------------------------------------------------

_A_MANO = Ejercicio(
    id="21.1",
    nombre="sampling_by_hand",
    tipo="lapiz",
    dificultad=1,
    minutos=10,
    aprende="decir qué se oye de un tono cuando se muestrea despacio",
    propiedades={
        "heard": (1, "A 8000 muestras por segundo solo se oye hasta 4000 Hz."),
        "far": (1, "Quita primero las vueltas enteras de 8000 Hz."),
        "same": (1, "Cuenta los que están 1500 Hz por encima y por debajo de cada múltiplo."),
        "least": (1, "Entre dos muestras cabe media vuelta del tono más agudo, y no más."),
        "wheel": (1, "Entre dos fotogramas da 22 de cada 24 partes de una vuelta."),
    },
    pistas=(
        "Dibuja un tono de 1000 Hz y uno de 7000 Hz y marca sus muestras a 8000 Hz.",
        "Sumar 8000 Hz no cambia las muestras, y cambiar el signo tampoco.",
        "Una marca que avanza casi una vuelta parece retroceder lo que le falta.",
    ),
    mutantes=(
        cambia(
            "no cambia",
            "Las muestras no llegan a 6500 Hz: como mucho, a la mitad de 8000.",
            "heard(6500)",
            "6500",
        ),
        cambia(
            "quita la mitad",
            "Se pliega en 4000 Hz: de 6500 se baja lo que sobra, y no se quitan 4000.",
            "heard(6500)",
            "6500 - 4000",
        ),
        cambia(
            "una vuelta",
            "Con 18 500 Hz hay que quitar dos vueltas de 8000, y solo se ha quitado una.",
            "heard(18_500)",
            "18_500 - 8000",
        ),
        cambia(
            "solo un lado",
            "Faltan los que se oyen al revés, 1500 Hz por debajo de cada múltiplo de 8000.",
            "sum(heard(f) == 1500 for f in range(20_001))",
            "sum(f % 8000 == 1500 for f in range(20_001))",
        ),
        cambia(
            "sin él mismo",
            "El propio tono de 1500 Hz también se cuenta.",
            "range(20_001)",
            "range(1501, 20_001)",
        ),
        cambia(
            "la misma",
            "Una muestra por vuelta no basta: hacen falta más de dos.",
            "2 * 3400",
            "3400",
        ),
        cambia(
            "el primero que vale",
            "Se pide el límite que hay que superar, no el primer número que lo supera.",
            "2 * 3400",
            "2 * 3400 + 1",
        ),
        cambia(
            "sin signo",
            "Parece girar al revés: el número lleva signo menos.",
            "(22 + 12) % 24 - 12",
            "24 - 22",
        ),
        cambia(
            "las de verdad",
            "Son las vueltas que da, y se piden las que parece dar.",
            "(22 + 12) % 24 - 12",
            "22",
        ),
    ),
)

# --- 21.2 -----------------------------------------------------------------------------------------


def _casos_frecuencias(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, donde: Any) -> Caso:
        lote, muestras, bins = entero(rng, 2, 3), entero(rng, 4, 9), entero(rng, 3, 5)
        rate = 8.0 * entero(rng, 2, 9)
        frecuencias = donde(muestras, bins, rate)
        return Caso(propiedad, (normal(rng, lote, muestras), frecuencias, rate))

    def rejilla(muestras: int, bins: int, rate: float) -> Any:
        return torch.arange(min(bins, muestras), dtype=torch.float64) * rate / muestras

    def sueltas(muestras: int, bins: int, rate: float) -> Any:
        return uniforme(rng, 0.05, 0.45, bins) * rate

    def cualesquiera(muestras: int, bins: int, rate: float) -> Any:
        return torch.cat([uniforme(rng, 0.6, 3, bins), -uniforme(rng, 0.1, 2, 1)]) * rate

    return [
        caso("en la rejilla", rejilla),
        caso("en la rejilla", rejilla),
        caso("fuera de la rejilla", sueltas),
        caso("fuera de la rejilla", sueltas),
        caso("de cualquier tamaño", cualesquiera),
    ]


_FRECUENCIAS = Ejercicio(
    id="21.2",
    nombre="spectrum_at",
    tipo="escribir",
    dificultad=1,
    minutos=15,
    aprende="escribir la transformada de Fourier por su fórmula, en cualquier frecuencia",
    bordes=(
        "frequencies[0] == 0",
        "frequencies[-1] < 0",
        Borde("fuera de la rejilla", {0: 0}),
        Borde("fuera de la rejilla", {0: 1, 1: 0}),
    ),
    casos=_casos_frecuencias,
    ejemplo=lambda: Caso("ejemplo", (tensor([[1.0, 2.0], [1.0, -1.0]]), tensor([1.0, 3.0]), 8.0)),
    propiedades={
        "en la rejilla": (2, "Con una señal de cuatro muestras, escribe la suma entera a mano."),
        "fuera de la rejilla": (2, "La frecuencia entra en la fórmula como número, en hercios."),
        "de cualquier tamaño": (2, "La fórmula no cambia con frecuencias negativas ni mayores."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Empieza por una señal y una frecuencia: es una suma de tantos términos como muestras.",
        "La muestra n se multiplica por una rueda que ha girado f · n / r vueltas.",
        "Con todas las vueltas en una tabla de muestras por frecuencias, es un producto de"
        " matrices: una vez con los cosenos y otra con los senos.",
    ),
    mutantes=(
        cambia(
            "gira al revés",
            "El exponente lleva signo menos: la parte imaginaria tiene el signo contrario.",
            "-(signal @ angles.sin())",
            "signal @ angles.sin()",
        ),
        cambia(
            "sin dos pi",
            "La rueda gira en vueltas: falta el 2π que las pasa a radianes.",
            "2 * math.pi * torch.outer",
            "torch.outer",
        ),
        cambia(
            "sin muestras por segundo",
            "La frecuencia va en hercios: cada muestra gira f / r vueltas.",
            "/ rate  #",
            "#",
        ),
        cambia(
            "entre las muestras",
            "Los hercios se dividen entre las muestras por segundo, no entre las que hay.",
            "/ rate  #",
            "/ len(places)  #",
        ),
        cambia(
            "cuenta desde uno",
            "La primera muestra es la 0, y su rueda no ha girado.",
            "torch.arange(signal.shape[1], dtype=signal.dtype)",
            "torch.arange(1, signal.shape[1] + 1, dtype=signal.dtype)",
        ),
        cambia(
            "la media",
            "Se pide la suma, sin dividir entre las muestras.",
            "torch.complex(signal @ angles.cos(), -(signal @ angles.sin()))",
            "torch.complex(signal @ angles.cos(), -(signal @ angles.sin())) / len(places)",
        ),
        cambia(
            "solo el módulo",
            "Sale un número complejo, con su ángulo; aquí queda solo el módulo.",
            "torch.complex(signal @ angles.cos(), -(signal @ angles.sin()))",
            "torch.complex(signal @ angles.cos(), -(signal @ angles.sin())).abs()",
        ),
        cambia(
            "solo los cosenos",
            "Sale un número complejo; aquí falta la parte imaginaria, la de los senos.",
            "torch.complex(signal @ angles.cos(), -(signal @ angles.sin()))",
            "signal @ angles.cos()",
        ),
        cambia(
            "con la mitad de bits",
            "La señal viene en `float64`, y su complejo es `complex128`; aquí sale `complex64`.",
            "torch.complex(signal @ angles.cos(), -(signal @ angles.sin()))",
            "torch.complex(signal @ angles.cos(), -(signal @ angles.sin())).to(torch.complex64)",
        ),
        cuerpo(
            "la más cercana",
            "No se redondea a la rejilla: la fórmula vale en cualquier frecuencia.",
            """
            n = signal.shape[1]
            bins = (frequencies * n / rate).round().long() % n
            return torch.fft.fft(signal)[:, bins]""",
        ),
    ),
)

# --- 21.3 -----------------------------------------------------------------------------------------

_VENTANA = Ejercicio(
    id="21.3",
    nombre="window_doubled",
    tipo="predecir",
    dificultad=1,
    minutos=5,
    aprende="decir qué gana y qué pierde un espectrograma con una ventana mayor",
    propiedades={"respuesta": (2, "¿En cuántos marcos entra el golpe? ¿Cuánto mide una columna?")},
    opciones=("se estrechan las dos", "solo la del golpe", "solo la del tono", "ninguna"),
    pistas=(
        "El golpe se ve en todos los marcos que lo tocan.",
        "El tono ocupa unas pocas columnas, y con una ventana doble hay el doble de columnas en los"
        " mismos hercios.",
    ),
    mutantes=(
        cuerpo(
            "todo mejora",
            "La raya del tono sí se estrecha. Pero una ventana doble toca el golpe durante el"
            " doble de tiempo.",
            "return 'se estrechan las dos'",
        ),
        cuerpo(
            "al revés",
            "Es al revés: una ventana más larga sitúa mejor las frecuencias y peor los instantes.",
            "return 'solo la del golpe'",
        ),
        cuerpo(
            "todo empeora",
            "La raya del golpe se ensancha. La del tono ocupa las mismas columnas, y cada una mide"
            " ahora la mitad.",
            "return 'ninguna'",
        ),
    ),
)

# --- 21.4 -----------------------------------------------------------------------------------------


def _casos_marcos(rng: Any) -> list[Caso]:
    def caso(propiedad: str, size: int, hop: int, muestras: int) -> Caso:
        return Caso(propiedad, (normal(rng, entero(rng, 2, 3), muestras), size, hop))

    size = entero(rng, 6, 9)
    hop = entero(rng, 2, 3)
    veces = entero(rng, 2, 4)
    return [
        caso("un marco", size, hop, size),
        caso("un marco", 8, 8, 8),
        caso("varios marcos", size, hop, size + veces * hop),
        caso("varios marcos", 8, 4, 16),
        caso("varios marcos", 6, 6, 6 * veces),
        caso("sobra un trozo", size, hop, size + veces * hop + 1),
        caso("sobra un trozo", 8, 5, 8 + 5 * veces + entero(rng, 2, 4)),
        caso("señal corta", size, hop, entero(rng, 3, 5)),
    ]


_MARCOS = Ejercicio(
    id="21.4",
    nombre="power_frames",
    tipo="escribir",
    dificultad=2,
    minutos=25,
    aprende="pasar de las muestras a un espectrograma, con su ventana y sin perder el final",
    bordes=(
        "hop == size",
        "signal.shape[1] == size",
        "signal.shape[1] < size",
        Borde("varios marcos", {0: 0}),
    ),
    casos=_casos_marcos,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[1.0, 2.0, 3.0, 3.0, 2.0], [0.0, 1.0, -1.0, 2.0, 1.0]]), 4, 2)
    ),
    propiedades={
        "un marco": (
            2,
            "Con tantas muestras como la ventana sale un marco, y ninguno más. Sus pasos son la"
            " ventana, la transformada y el cuadrado del módulo.",
        ),
        "varios marcos": (2, "Cada marco empieza un avance después del anterior."),
        "sobra un trozo": (2, "Las muestras que sobran van en otro marco, con ceros detrás."),
        "señal corta": (2, "Una señal más corta que la ventana es un marco con ceros detrás."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Haz primero la lista de los sitios en que empieza cada marco, con una señal de diez"
        " muestras.",
        "Calcula cuántos ceros faltan para que el último marco esté entero, y ponlos antes de"
        " cortar.",
        "Cortados los marcos, la ventana multiplica el último eje, y sobre ese eje va la"
        " transformada de señales reales.",
    ),
    mutantes=(
        cambia(
            "sin ventana",
            "Falta multiplicar cada marco por la ventana.",
            "pieces * window",
            "pieces",
        ),
        cambia(
            "ventana simétrica",
            "La ventana es la periódica: se divide entre M, no entre M − 1.",
            "dtype=signal.dtype) / size",
            "dtype=signal.dtype) / (size - 1)",
        ),
        cambia(
            "la amplitud",
            "Es la amplitud; la potencia es su cuadrado.",
            ".abs().square()",
            ".abs()",
        ),
        cambia(
            "todas las columnas",
            "Sobran las frecuencias por encima de la mitad, que repiten las otras.",
            "torch.fft.rfft",
            "torch.fft.fft",
        ),
        cambia(
            "pierde el final",
            "Las muestras que no llenan un marco se pierden: van en otro, con ceros detrás.",
            "math.ceil(max(samples - size, 0) / hop)",
            "max(samples - size, 0) // hop",
        ),
        cambia(
            "siempre uno más",
            "Cuando los marcos caben justos no hace falta otro.",
            "math.ceil(max(samples - size, 0) / hop)",
            "(max(samples - size, -1) // hop + 1)",
        ),
        cambia(
            "uno más y ventana simétrica",
            "Son dos errores. Cuando los marcos caben justos sobra el último, y la ventana es la"
            " periódica.",
            "math.ceil(max(samples - size, 0) / hop)",
            "(max(samples - size, -1) // hop + 1)",
            "dtype=signal.dtype) / size",
            "dtype=signal.dtype) / (size - 1)",
        ),
        cambia(
            "ceros delante",
            "Los ceros van detrás de la señal, no delante.",
            "(0, size + moves * hop - samples)",
            "(size + moves * hop - samples, 0)",
        ),
        cuerpo(
            "centrada",
            "Los marcos no se centran: el primero empieza en la muestra 0, sin reflejar nada.",
            """
            window = torch.hann_window(size, dtype=signal.dtype)
            edge = (size // 2, size // 2)
            whole = F.pad(signal[None], edge, mode="reflect")[0]
            return torch.fft.rfft(whole.unfold(1, size, hop) * window).abs().square()""",
        ),
    ),
)

# --- 21.5 -----------------------------------------------------------------------------------------


def _casos_mel(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, potencia: Any, **mas: Any) -> Caso:
        rate = 2000.0 * entero(rng, 4, 8)
        return Caso(propiedad, (potencia, rate, mas.pop("n", entero(rng, 5, 8))), mas)

    def potencia(marcos: int = 2) -> Any:
        return normal(rng, marcos, entero(rng, 30, 40)).square() + 0.1

    def tono() -> Any:
        """Toda la potencia en una columna por marco."""
        columnas = entero(rng, 30, 40)
        cuales = distintos(rng, 3, columnas - 4, 3)
        return torch.eye(columnas, dtype=torch.float64)[cuales] * uniforme(rng, 1, 9, 3, 1)

    def casi_nada() -> Any:
        """Sumas a los dos lados del suelo, y un marco de ceros."""
        debil = potencia(3) * torch.tensor([[1e-9], [3e-11], [0.0]], dtype=torch.float64)
        return torch.cat([potencia(1)[:, :1].expand(1, debil.shape[1]), debil])

    return [
        caso("un tono", tono()),
        caso("un tono", tono()),
        caso("todo el intervalo", potencia(entero(rng, 2, 3))),
        caso("todo el intervalo", potencia(), n=1),
        caso("entre dos frecuencias", potencia(), low=real(rng, 60, 300)),
        caso("entre dos frecuencias", potencia(), high=real(rng, 2500, 3800)),
        caso("entre dos frecuencias", potencia(), low=real(rng, 60, 300), high=3600.0),
        caso("casi nada", casi_nada()),
    ]


_MEL = Ejercicio(
    id="21.5",
    nombre="log_mel_htk",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="escribir los triángulos mel por su fórmula y pasar de la potencia al log-mel",
    bordes=(
        "n_mels == 1",
        "high is None",
        "bool((power.sum(-1) == 0).any())",
        Borde("todo el intervalo", {0: 0}),
    ),
    casos=_casos_mel,
    ejemplo=lambda: Caso(
        "ejemplo", (tensor([[1.0, 2.0, 1.0, 0.5, 0.0], [0.0, 0.0, 10.0, 0.0, 0.0]]), 8000.0, 2)
    ),
    propiedades={
        "un tono": (3, "Dibuja dos triángulos vecinos y mira cuánto da cada uno a una columna."),
        "todo el intervalo": (2, "Los vértices extremos son 0 Hz y la mitad de las muestras."),
        "entre dos frecuencias": (2, "Los vértices extremos son los que se piden."),
        "casi nada": (2, "El suelo se pone a cada suma, antes del logaritmo."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe primero la lista de vértices en hercios y comprueba que se separan al subir.",
        "Los vértices se reparten en mels y se pasan a hercios despejando f.",
        "Cada triángulo es la menor de dos rectas, en hercios, sin lo que baja de cero. La tabla de"
        " triángulos por columnas multiplica a la potencia.",
    ),
    mutantes=(
        cambia(
            "a distancias iguales en hercios",
            "Los vértices van a distancias iguales en mels; aquí, en hercios.",
            "700 * (10 ** (mels / 2595) - 1)  # hercios",
            "torch.linspace(low, rate / 2 if high is None else high, n_mels + 2)",
        ),
        cambia(
            "mitad de mels, mitad de hercios",
            "Las rectas son rectas en hercios; aquí lo son en mels.",
            "700 * (10 ** (mels / 2595) - 1)  # hercios",
            "mels",
            "torch.linspace(0, rate / 2, power.shape[1], dtype=power.dtype)",
            "2595 * (1 + torch.linspace(0, rate / 2, power.shape[1]) / 700).log10()",
        ),
        cambia(
            "de área uno",
            "Los triángulos miden 1 de alto; aquí miden 1 de área.",
            ".clamp(min=0)  #",
            ".clamp(min=0) * 2 / (right - left)  #",
        ),
        cambia(
            "logaritmo natural",
            "El logaritmo es el decimal; este es el natural.",
            ".log10()",
            ".log()",
        ),
        cambia(
            "suma el suelo",
            "A lo que no llega se le da el suelo; aquí el suelo se suma a todo.",
            ".clamp(min=1e-10)",
            ".add(1e-10)",
        ),
        cambia(
            "sin suelo",
            "Falta el suelo: el logaritmo de cero es menos infinito.",
            ".clamp(min=1e-10)",
            "",
        ),
        cambia(
            "desde cero",
            "El primer vértice es `low`; aquí es siempre 0 Hz.",
            "(low, rate / 2 if high",
            "(0, rate / 2 if high",
        ),
        cambia(
            "hasta el final",
            "El último vértice es `high`; aquí es siempre la mitad de las muestras por segundo.",
            "rate / 2 if high is None else high",
            "rate / 2",
        ),
        cambia(
            "columnas mal repartidas",
            "La última columna está en la mitad justa: entre la primera y ella hay una menos.",
            "torch.linspace(0, rate / 2, power.shape[1], dtype=power.dtype)",
            "torch.arange(power.shape[1]) * rate / 2 / power.shape[1]",
        ),
    ),
)

# --- 21.6 -----------------------------------------------------------------------------------------


def _casos_voces(rng: Any) -> list[Caso]:
    import torch

    una = [[1.0]]
    # La segunda se parece a la voz a la que más se parece la primera, y así la mejor pareja engaña.
    dos = [[1.0, 0.9], [0.3, 0.04]]
    tres = [[1.0, 0.9, 0.8], [0.3, 0.04, 0.05], [0.05, 0.05, 1.0]]
    # Los cosenos, sus cuadrados y las razones sin logaritmo eligen aquí el otro reparto…
    lejos = [[1.0, 0.5], [0.15, 0.02]]
    # … quien mira solo la peor voz, en estos dos, y los cosenos con logaritmo, en el segundo.
    peores = [[[0.894, 0.447], [0.707, ultimo]] for ultimo in (0.37, 0.34)]

    def caso(
        propiedad: str,
        pesos: Any,
        lote: int = 2,
        ruido: Any = None,
        orden: Any = None,
        gradiente: bool = False,
    ) -> Caso:
        """Cada salida mezcla las voces con sus pesos, y le suma un ruido. Voces y ruidos miden 1,
        no se parecen nada y tienen media cero: los parecidos salen de los pesos.
        """
        voces, muestras = len(pesos), 40
        base = torch.randn(lote, muestras, 2 * voces, generator=rng).double()
        base = torch.cat([torch.ones_like(base[..., :1]), base], dim=2)
        limpias, ruidos = torch.linalg.qr(base)[0][..., 1:].mT.split(voces, dim=1)
        nivel = tensor([[real(rng, 0.4, 0.5)]] if ruido is None else ruido)
        salidas = tensor(pesos) @ limpias + nivel * ruidos
        orden = orden or permutacion(rng, voces)
        salidas = torch.stack([s[orden[:: (-1) ** i]] for i, s in enumerate(salidas)])
        niveles = uniforme(rng, 2, 9, lote, voces, 1), uniforme(rng, 2, 9, lote, voces, 1)
        medias = uniforme(rng, 1, 3, lote, voces, 1), uniforme(rng, -3, -1, lote, voces, 1)
        e, t = (x * n + m for x, n, m in zip((salidas, limpias), niveles, medias, strict=True))
        return Caso(propiedad, (e, t), gradiente=gradiente)

    return [
        caso("una voz", una, entero(rng, 2, 3)),
        caso("una voz", una, 1),
        caso("dos voces", dos, 1),
        caso("dos voces", dos, 3, orden=[0, 1]),  # el reparto de las más no es el de en orden
        caso("dos voces", lejos),
        *(caso("dos voces", p, ruido=[[0.02], [real(rng, 0.55, 0.65)]]) for p in peores),
        caso("tres voces", tres, 1),
        caso("tres voces", tres),
        caso("gradientes", dos, gradiente=True),
    ]


def _otro_reparto(nombre: str, pista: str, medida: str) -> Mutante:
    """El SI-SNR está bien, y el reparto se elige con otra medida."""
    return cambia(
        nombre,
        pista,
        "return -torch.stack(totals).amax(dim=0).mean()",
        f"rates = [{medida} for order in itertools.permutations(voices)]\n"
        "    best = torch.stack(rates).argmax(dim=0, keepdim=True)\n"
        "    return -torch.stack(totals).gather(0, best).mean()",
    )


_VOCES = Ejercicio(
    id="21.6",
    nombre="pit_loss",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="medir una separación con el SI-SNR y entrenarla sin decir qué salida es cada voz",
    tolerancia=1e-6,  # la de un épsilon en las divisiones
    bordes=("len(targets) == 1", "targets.shape[1] == 1", "targets.shape[1] == 3"),
    casos=_casos_voces,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[[1.0, 0.0, 1.0, -2.0], [1.0, 2.0, -1.0, 0.0]]]),
            tensor([[[0.0, 1.0, -1.0, 0.0], [1.0, 0.0, 0.0, -1.0]]]),
        ),
    ),
    propiedades={
        "una voz": (3, "Con una sola voz es el SI-SNR, cambiado de signo."),
        "dos voces": (3, "Haz la tabla de cada salida con cada voz y suma en las dos diagonales."),
        "tres voces": (2, "Con tres voces hay seis repartos, y se prueban todos."),
        "gradientes": (1, "El gradiente llega, por cada pareja elegida, a la salida y a la voz."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe primero el SI-SNR de dos señales y pruébalo con la misma al doble de volumen.",
        "Antes de elegir, calcula la tabla de todas las salidas con todas las voces.",
        "Cada reparto es una permutación: promedia sus parejas, toma la mejor de cada mezcla y deja"
        " la media de las mezclas para el final.",
    ),
    mutantes=(
        cambia(
            "sin restar medias",
            "Falta restar la media a las salidas y a las voces.",
            "(estimates - estimates.mean(dim=-1, keepdim=True))",
            "estimates",
            "(targets - targets.mean(dim=-1, keepdim=True))",
            "targets",
        ),
        cambia(
            "el volumen cuenta",
            "Es el SNR: falta proyectar, para que el volumen no cuente.",
            "wanted = share * true",
            "wanted = true + 0 * share",
        ),
        cambia(
            "entre todo",
            "Se divide entre lo que sobra, e − p, y no entre la salida entera.",
            "(given - wanted).square()",
            "(given + 0 * wanted).square()",
        ),
        cambia(
            "decibelios de amplitud",
            "Con energías, los decibelios son 10 por el logaritmo, no 20.",
            "10 * ratio",
            "20 * ratio",
        ),
        cambia(
            "sin el menos",
            "La pérdida baja cuando el SI-SNR sube: le falta el signo menos.",
            "-torch.stack",
            "torch.stack",
        ),
        cambia(
            "en orden",
            "Nadie dice qué salida es cada voz: hay que probar todos los repartos.",
            "itertools.permutations(voices)]",
            "[voices]]",
        ),
        cambia(
            "el mismo reparto en todas",
            "El reparto se elige en cada mezcla; aquí se elige el mismo para todas.",
            ".amax(dim=0).mean()",
            ".mean(dim=1).max()",
        ),
        cambia(
            "la media de los repartos",
            "Solo cuenta el mejor reparto; aquí se promedian todos.",
            ".amax(dim=0).mean()",
            ".mean()",
        ),
        cambia(
            "salidas repetidas",
            "Cada voz toma una salida distinta; aquí dos voces pueden quedarse con la misma.",
            "-torch.stack(totals).amax(dim=0).mean()",
            "-pairs.amax(dim=1).mean()",
        ),
        _otro_reparto(
            "por el coseno",
            "El reparto se elige por la media de los SI-SNR, en decibelios. Con los cosenos o las"
            " razones puede ganar otro.",
            "(ratio / (1 + ratio)).sqrt()[:, list(order), voices].mean(1)",
        ),
        _otro_reparto(
            "por la peor voz",
            "Gana el reparto con mayor media, aunque su peor voz quede por debajo.",
            "pairs[:, list(order), voices].amin(1)",
        ),
        cuerpo(
            "la mejor primero",
            "Tomar siempre la mejor pareja que queda no da el mejor reparto: se prueban todos.",
            """
            given = (estimates - estimates.mean(dim=-1, keepdim=True))[:, :, None]
            true = (targets - targets.mean(dim=-1, keepdim=True))[:, None]
            wanted = (given * true).sum(-1, True) / true.square().sum(-1, True) * true
            ratio = wanted.square().sum(-1) / (given - wanted).square().sum(-1)
            pairs, total = 10 * ratio.log10(), 0.0
            for table in pairs:
                rows, columns = set(range(len(table))), set(range(len(table)))
                while rows:
                    i, j = max(itertools.product(rows, columns), key=lambda ij: table[ij])
                    total = total + table[i, j]
                    rows, columns = rows - {i}, columns - {j}
            return -total / pairs.shape[0] / pairs.shape[1]""",
        ),
    ),
)

# --- 21.7 -----------------------------------------------------------------------------------------


def _casos_tramos(rng: Any) -> list[Caso]:
    import torch

    def caso(propiedad: str, starts: list[int], span: int, marcos: int, **mas: Any) -> Caso:
        d, k = entero(rng, 3, 4), mas.pop("k", entero(rng, 3, 4))
        gradiente = mas.pop("gradiente", False)
        tapados = sorted({t for s in starts for t in range(s, min(s + span, marcos))})
        saltos = torch.randint(1, marcos, (len(tapados), k), generator=rng)
        negativos = (torch.tensor(tapados)[:, None] + saltos) % marcos
        targets = normal(rng, marcos, d)
        if propiedad == "iguales":
            # Los impares son el 0. El 2 es su doble, el 4 tiene sus números en otro orden, y los
            # demás, solo el primero. Son cuartos: la suma y la norma del 4 no se redondean.
            targets[0] = tensor(distintos(rng, 1, 9, d)) / 4
            targets[:, 0] = targets[0, 0]
            targets[1::2] = targets[0]
            targets[2], targets[4] = 2 * targets[0], targets[0].roll(1)
            filas = torch.arange(len(tapados))
            negativos[:, 0] = torch.tensor([1, 3, 0, 5])[filas % 4]
            negativos[:, 1] = torch.tensor([2, 4, 6])[filas % 3]
        args = (normal(rng, marcos, d), targets, starts, span, negativos)
        return Caso(propiedad, args, mas, gradiente=gradiente)

    marcos, grados = entero(rng, 9, 12), real(rng, 0.3, 0.9)
    a = entero(rng, 1, 3)
    return [
        caso("un tramo", [a], 2, marcos, temperature=grados),
        caso("un tramo", [a], 3, marcos),
        caso("un tramo", [a], 1, marcos, k=1),
        caso("varios tramos", [a, a + 2], 3, marcos, temperature=grados),
        caso("varios tramos", [a + 4, a, a + 1], 2, marcos, temperature=grados),
        caso("varios tramos", [marcos - 2, a], 4, marcos, temperature=grados),
        caso("iguales", [0, 4], 4, 9, temperature=grados),
        caso("iguales", [1], 4, 8, temperature=grados),
        caso("gradientes", [a, a + 2], 3, marcos, temperature=grados, gradiente=True),
        caso("temperatura baja", [a], 4, marcos, temperature=2e-4, k=6),
        caso("temperatura baja", [a, a + 5], 3, marcos, temperature=3e-4, k=6),
    ]


_TRAMOS = Ejercicio(
    id="21.7",
    nombre="hidden_loss",
    tipo="escribir",
    dificultad=2,
    minutos=30,
    aprende="escribir cómo aprende wav2vec 2.0 sin etiquetas: tapar tramos y elegir el verdadero",
    bordes=(
        "span == 1",
        "negatives.shape[1] == 1",
        "max(starts) + span > len(outputs)",
    ),
    casos=_casos_tramos,
    ejemplo=lambda: Caso(
        "ejemplo",
        (
            tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),
            tensor([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]),
            [1],
            2,
            tensor([[0, 2], [0, 1]]),
        ),
        {"temperature": 0.5},
    ),
    propiedades={
        "un tramo": (2, "Escribe las puntuaciones de un marco: el verdadero y sus negativos."),
        "varios tramos": (2, "Los marcos tapados son un conjunto, en orden."),
        "iguales": (2, "Compara cada negativo con el verdadero, como vectores."),
        "gradientes": (1, "El gradiente llega a las salidas y a los objetivos."),
        "temperatura baja": (2, "El logaritmo de una softmax se calcula sin pasar por ella."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Escribe a mano la lista de marcos tapados con dos tramos que se pisan.",
        "Cada marco tapado es una elección entre 1 + k vectores, y el verdadero es el del mismo"
        " marco.",
        "Junta el verdadero y los negativos en un eje, calcula los cosenos con la salida y deja"
        " fuera los repetidos antes del logaritmo de la softmax.",
    ),
    mutantes=(
        cambia(
            "producto escalar",
            "Se puntúa con el coseno; aquí falta dividir entre las normas.",
            "F.cosine_similarity(outputs[hidden][:, None], options, dim=-1)",
            "(outputs[hidden][:, None] * options).sum(-1)",
        ),
        cambia(
            "sin temperatura",
            "Falta dividir los cosenos entre la temperatura.",
            " / temperature",
            " + 0 * temperature",
        ),
        cambia(
            "multiplica por la temperatura",
            "Se divide entre la temperatura; aquí se multiplica.",
            " / temperature",
            " * temperature",
        ),
        cambia(
            "con repetidos",
            "Los negativos que son el mismo vector que el verdadero no cuentan.",
            "same, (1, 0)",
            "same & False, (1, 0)",
        ),
        cambia(
            "solo el mismo marco",
            "Dos marcos pueden tener el mismo vector: se comparan los vectores, no los marcos.",
            "(false == true).all(dim=-1)",
            "negatives == hidden[:, None]",
        ),
        cambia(
            "la misma dirección",
            "Un vector y su doble tienen coseno 1, y no son el mismo.",
            "(false == true).all(dim=-1)",
            "F.cosine_similarity(false, true, dim=-1) > 1 - 1e-9",
        ),
        cambia(
            "los mismos números",
            "Los mismos números en otro orden son otro vector, con la misma suma y la misma norma.",
            "(false == true).all(dim=-1)",
            "false.sum(dim=-1) == true.sum(dim=-1)",
        ),
        cambia(
            "negativos entre los tapados",
            "`negatives` dice marcos de `targets`, no filas de los tapados.",
            "targets[negatives]",
            "targets[hidden][negatives % len(hidden)]",
        ),
        cambia(
            "al revés",
            "La salida elige entre objetivos; aquí el objetivo elige entre salidas.",
            "targets[hidden][:, None], targets[negatives]",
            "outputs[hidden][:, None], outputs[negatives]",
            "outputs[hidden][:, None], options",
            "targets[hidden][:, None], options",
        ),
        cambia(
            "suma los marcos",
            "Sobre los marcos tapados se promedia; aquí se suman.",
            "[:, 0].mean()",
            "[:, 0].sum()",
        ),
        cambia(
            "el verdadero no está abajo",
            "En el denominador van los negativos y también el verdadero.",
            "scores.log_softmax(dim=-1)[:, 0]",
            "(scores[:, 0] - scores[:, 1:].logsumexp(-1))",
        ),
        cambia(
            "logaritmo de una softmax",
            "Con la temperatura muy baja, la softmax da ceros, y su logaritmo, infinitos.",
            "scores.log_softmax(dim=-1)",
            "scores.softmax(dim=-1).log()",
        ),
    ),
)

# --- 21.8 -----------------------------------------------------------------------------------------


def _casos_errores(rng: Any) -> list[Caso]:
    letras = "aeioubdfglmnprst"

    def palabra(minimo: int, maximo: int) -> str:
        return "".join(elige(rng, letras) for _ in range(entero(rng, minimo, maximo)))

    def estropea(dicha: str, cambios: str) -> str:
        """Con esos errores, «s», «b» o «i», en sitios al azar."""
        letra = list(dicha)
        for cambio, sitio in zip(
            cambios, sorted(distintos(rng, 0, len(dicha) - 1, len(cambios)))[::-1], strict=True
        ):
            nueva = {"s": ["x"], "b": [], "i": ["z", letra[sitio]]}[cambio]
            letra[sitio : sitio + 1] = nueva
        return "".join(letra)

    def caso(propiedad: str, *parejas: tuple[str, str]) -> Caso:
        return Caso(propiedad, ([p[0] for p in parejas], [p[1] for p in parejas]))

    def una(cambios: str, minimo: int = 6, maximo: int = 9) -> tuple[str, str]:
        dicha = palabra(minimo, maximo)
        return estropea(dicha, cambios), dicha

    def empate(veces: int) -> tuple[str, str]:
        """Cada trozo se arregla con dos sustituciones o con un borrado y una inserción."""
        a, b, c, d = (letras[i] for i in distintos(rng, 0, len(letras) - 1, 4))
        return "".join([b + c + d] * veces), "".join([a + b + d] * veces)

    def vuelta(sentido: int) -> list[tuple[str, str]]:
        """Una pareja y su contraria: en una, preferir la diagonal no da las más sustituciones, ni
        hacia atrás ni, con el otro sentido, hacia delante.
        """
        a, b, c = (letras[i] for i in distintos(rng, 0, len(letras) - 1, 3))
        una, otra = (b + c + a + b)[::sentido], (a + b + a)[::sentido]
        return [(una, otra), (otra, una)]

    inicio, final = palabra(4, 6), palabra(4, 6)
    return [
        caso("una frase", una("s" * entero(rng, 1, 3))),
        caso("una frase", una("b" * entero(rng, 1, 3))),
        caso("una frase", una("i" * entero(rng, 1, 3))),
        caso("una frase", una("sbbi", 8, 12)),
        caso("una frase", una("iiisb", 8, 12)),
        caso("empates", empate(entero(rng, 1, 2))),
        caso("empates", empate(3), una("b" * entero(rng, 1, 3))),
        caso("empates", *vuelta(1)),
        caso("empates", *vuelta(-1), una("s" * entero(rng, 1, 3))),
        caso("varias frases", una("bbb", 7, 9), una("s", 3, 4), una("ii", 5, 9)),
        caso("varias frases", una("sss", 12, 15), una("si", 3, 4)),
        caso("varias frases", (inicio, inicio + "x"), ("x" + final, final)),
        caso("vacías", ("", palabra(3, 8)), una("ii")),
        caso("vacías", (palabra(7, 9), ""), una("s", 3, 4), ("", "")),
        caso("largas", (palabra(50, 60), palabra(90, 99))),
    ]


_ERRORES = Ejercicio(
    id="21.8",
    nombre="error_counts",
    tipo="escribir",
    dificultad=3,
    minutos=40,
    aprende="medir una transcripción con la CER y decir de qué clase son sus errores",
    bordes=("'' in written", "'' in wanted", "len(wanted) == 1", "max(map(len, wanted)) > 80"),
    casos=_casos_errores,
    ejemplo=lambda: Caso("ejemplo", (["bc", "aei"], ["ab", "ei"])),
    propiedades={
        "una frase": (3, "Haz a mano la tabla de dos palabras de cuatro letras."),
        "empates": (2, "Con los mismos errores, gana la cuenta con más sustituciones."),
        "varias frases": (2, "Se suman los errores de todas y se dividen entre todas las letras."),
        "vacías": (1, "De una frase vacía se borra todo o se inserta todo."),
        "largas": (2, "Cada pareja de comienzos se resuelve una sola vez."),
    },
    prohibido=(ATENTO,),
    pistas=(
        "Compara los comienzos: ¿cuántos errores hay entre las i primeras letras de una y las j"
        " primeras de la otra?",
        "A cada casilla se llega desde tres: la de la diagonal, con las dos letras, y las otras"
        " dos, con una letra sola.",
        "Guarda en cada casilla cuántos errores y cuántos de cada clase, y elige por los errores y,"
        " después, por las sustituciones.",
    ),
    mutantes=(
        cambia(
            "borrados por inserciones",
            "Un borrado es una letra dicha que falta en lo escrito; aquí están cambiados.",
            "-swaps, losses, extras",
            "-swaps, extras, losses",
        ),
        cambia(
            "las menos sustituciones",
            "En los empates gana la que tiene más sustituciones; aquí, la que menos.",
            "cell[1] - swaps",
            "cell[1] + swaps",
            "-swaps, losses",
            "swaps, losses",
        ),
        cambia(
            "sustituir cuesta dos",
            "Una sustitución es un error, no dos.",
            "cell[0] + swaps + losses",
            "cell[0] + 2 * swaps + losses",
        ),
        cambia(
            "sin sustituciones",
            "Cambiar una letra por otra es una sustitución, no un borrado y una inserción.",
            "int(letter != other), 0, 0)",
            "(letter != other) * 10**6, 0, 0)",
        ),
        cambia(
            "entre lo escrito",
            "La CER se divide entre las letras dichas, no entre las escritas.",
            "sum(map(len, wanted))",
            "sum(map(len, written))",
        ),
        cambia(
            "entre lo más largo",
            "La CER se divide entre las letras dichas, aunque haya más escritas: puede pasar de 1.",
            "sum(map(len, wanted))",
            "max(sum(map(len, wanted)), sum(map(len, written)))",
        ),
        cambia(
            "la media de las frases",
            "La CER es el total de errores entre el total de letras, no la media de las frases.",
            "totals = [0, 0, 0, 0]",
            "totals, rates = [0, 0, 0, 0], []",
            "        totals = [a",
            "        rates.append(row[-1][0] / max(1, len(true)))\n        totals = [a",
            "errors / sum(map(len, wanted))",
            "sum(rates) / len(rates)",
        ),
        cuerpo(
            "la diagonal primero",
            "Preferir la diagonal en los empates no da las más sustituciones: en cada casilla se"
            " comparan también las que lleva cada camino.",
            """
            counts = [0, 0, 0]
            for said, true in zip(written, wanted, strict=True):
                table = [[i + j for j in range(len(said) + 1)] for i in range(len(true) + 1)]
                for i, letter in enumerate(true, start=1):
                    for j, other in enumerate(said, start=1):
                        near = min(table[i - 1][j], table[i][j - 1]) + 1
                        table[i][j] = min(table[i - 1][j - 1] + (letter != other), near)
                i, j = len(true), len(said)
                while i or j:
                    swap = int(i > 0 and j > 0 and true[i - 1] != said[j - 1])
                    if i and j and table[i][j] == table[i - 1][j - 1] + swap:
                        i, j, counts[0] = i - 1, j - 1, counts[0] + swap
                    elif i and table[i][j] == table[i - 1][j] + 1:
                        i, counts[1] = i - 1, counts[1] + 1
                    else:
                        j, counts[2] = j - 1, counts[2] + 1
            return sum(counts) / sum(map(len, wanted)), *counts""",
        ),
        cuerpo(
            "letra a letra",
            "Comparar letra a letra falla desde el primer borrado: hay que alinear.",
            """
            swaps = losses = extras = 0
            for said, true in zip(written, wanted, strict=True):
                swaps += sum(a != b for a, b in zip(said, true))
                losses += max(len(true) - len(said), 0)
                extras += max(len(said) - len(true), 0)
            return (swaps + losses + extras) / sum(map(len, wanted)), swaps, losses, extras""",
        ),
    ),
)

EJERCICIOS = [
    _A_MANO,
    _FRECUENCIAS,
    _VENTANA,
    _MARCOS,
    _MEL,
    _VOCES,
    _TRAMOS,
    _ERRORES,
]
