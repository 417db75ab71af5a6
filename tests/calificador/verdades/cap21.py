"""La verdad de los ejercicios del capítulo 21, por otro camino que el de sus soluciones."""

import heapq
import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from scipy.signal import ShortTimeFFT, get_window

from atento.audio import alias, mel_filters
from verdades.tabla import cerca, verdad


def _muestras(frecuencia, rate, fase=0.7):
    return np.cos(2 * math.pi * frecuencia * np.arange(40) / rate + fase)


@verdad("21.1")
def _(caso, valor, funcion):
    """Con las muestras: dos tonos que se oyen igual las dan iguales, con una fase u otra."""

    def iguales(una, otra, rate=8000):
        return any(np.allclose(_muestras(una, rate), _muestras(otra, rate, f)) for f in (0.7, -0.7))

    marca = np.exp(2j * math.pi * 22 * np.arange(24) / 24)
    aparenta = np.angle(marca[1:] / marca[:-1]) * 24 / (2 * math.pi)
    como_1500 = [f for f in range(0, 20_001, 100) if iguales(f, 1500)]
    return (
        iguales(6500, valor["heard"])
        and iguales(18_500, valor["far"])
        and max(valor["heard"], valor["far"]) <= 4000
        and valor["same"] == len(como_1500)
        and alias(3400, valor["least"] + 1) == 3400 > alias(3400, valor["least"] - 1)
        and np.allclose(aparenta, valor["wheel"])
    )


@verdad("21.2")
def _(caso, valor, funcion):
    """La de NumPy de la señal con ceros detrás, si cae en su rejilla; si no, muestra a muestra."""
    senal, frecuencias, rate = caso.args
    muestras = senal.shape[1]
    k = frecuencias * muestras / rate
    if cerca(k, k.round()):
        otra = np.fft.fft(senal.numpy())[:, (k.round().long() % muestras).numpy()]
        return cerca(valor, torch.from_numpy(otra))
    otra = [
        [sum(x * np.exp(-2j * math.pi * f * n / rate) for n, x in enumerate(fila))
         for f in frecuencias.tolist()]
        for fila in senal.tolist()
    ]  # fmt: skip
    return cerca(valor, torch.tensor(otra, dtype=torch.complex128))


@verdad("21.3")
def _(caso, valor, funcion):
    """Con SciPy y otra medida: la desviación típica de lo que dura u ocupa cada raya."""
    golpe, tono = np.zeros(4096), np.cos(2 * math.pi * 0.2 * np.arange(4096))
    golpe[2048] = 1

    def ancho(pesos):
        sitios = np.arange(len(pesos))
        media = np.average(sitios, weights=pesos)
        return np.sqrt(np.average((sitios - media) ** 2, weights=pesos))

    def grosores(size):
        marcos = ShortTimeFFT(get_window("hann", size), hop=4, fs=1)
        dura = ancho(marcos.spectrogram(golpe).sum(0))
        ocupa = ancho(marcos.spectrogram(tono)[:, marcos.p_num(4096) // 2]) / size
        return dura, ocupa

    (dura, ocupa), (doble_dura, doble_ocupa) = grosores(100), grosores(200)
    estrecha = doble_dura < 0.9 * dura, doble_ocupa < 0.9 * ocupa
    nombres = ("ninguna", "solo la del tono", "solo la del golpe", "se estrechan las dos")
    return valor == nombres[2 * estrecha[0] + estrecha[1]]


@verdad("21.4")
def _(caso, valor, funcion):
    """La STFT de PyTorch, sobre la señal alargada hasta que sus marcos la cubren."""
    senal, size, hop = caso.args
    marcos = 1
    while size + (marcos - 1) * hop < senal.shape[1]:
        marcos += 1
    entera = F.pad(senal, (0, size + (marcos - 1) * hop - senal.shape[1]))
    ventana = torch.from_numpy(get_window("hann", size))
    otra = torch.stft(
        entera, size, hop, window=ventana, center=False, return_complex=True, normalized=False
    )
    return valor.shape[1] == marcos and cerca(valor, (otra * otra.conj()).real.mT)


@verdad("21.5")
def _(caso, valor, funcion):
    """Los triángulos de la biblioteca, que miden 1 de área, llevados a 1 de alto."""
    potencia, rate, mels = caso.args
    abajo, arriba = caso.kwargs.get("low", 0.0), caso.kwargs.get("high") or rate / 2
    vertices = np.linspace(*np.log1p(np.array([abajo, arriba]) / 700), mels + 2)
    vertices = 700 * np.expm1(vertices)
    columnas = np.linspace(0, rate / 2, potencia.shape[1])
    filtros = np.array([np.interp(columnas, vertices[i : i + 3], [0, 1, 0]) for i in range(mels)])
    if filtros.any(1).all():  # si alguno no toca nada, la biblioteca no lo hace
        suyos = mel_filters(
            mels, 2 * (potencia.shape[1] - 1), int(rate), low=abajo, high=arriba, scale="htk",
            dtype=torch.float64,
        ).numpy()  # fmt: skip
        altos = (vertices[2:] - vertices[:-2]) / 2
        if not np.allclose(suyos * altos[:, None], filtros, atol=1e-9):
            return False
    sumas = np.maximum(potencia.numpy() @ filtros.T, 1e-10)
    return cerca(valor, torch.from_numpy(np.log10(sumas)))


@verdad("21.6")
def _(caso, valor, funcion):
    """Con la correlación, porque el SI-SNR solo depende de ella, y la asignación de SciPy."""
    salidas, voces = (x.numpy() for x in caso.args)
    cuantas = salidas.shape[1]
    medias = []
    for e, t in zip(salidas, voces, strict=True):
        r = np.corrcoef(e, t)[:cuantas, cuantas:].reshape(cuantas, cuantas) ** 2
        tabla = 10 * np.log10(r / (1 - r))
        medias.append(tabla[linear_sum_assignment(tabla, maximize=True)].mean())
    return cerca(valor, -sum(medias) / len(medias), 1e-8)


@verdad("21.7")
def _(caso, valor, funcion):
    """Marco a marco, con la entropía cruzada de PyTorch y sin los negativos que no cuentan."""
    salidas, objetivos, comienzos, tramo, negativos = caso.args
    grados = caso.kwargs.get("temperature", 0.1)
    tapados = [t for t in range(len(salidas)) if any(s <= t < s + tramo for s in comienzos)]
    perdidas = []
    for t, fila in zip(tapados, negativos.tolist(), strict=True):
        valen = [t] + [j for j in fila if not torch.equal(objetivos[j], objetivos[t])]
        cosenos = F.normalize(objetivos[valen], dim=-1) @ F.normalize(salidas[t], dim=-1)
        perdidas.append(F.cross_entropy(cosenos[None] / grados, torch.tensor([0])))
    return cerca(valor, torch.stack(perdidas).mean())


def _camino(dicha, escrita):
    """(errores, sustituciones, borrados, inserciones), por el camino más barato de una rejilla: lo
    que no es una sustitución cuesta una pizca más.
    """
    cola, vistas = [((0, 0), (0, 0, 0, 0), (0, 0))], set()
    while True:
        coste, cuenta, (i, j) = heapq.heappop(cola)
        if (i, j) in vistas:
            continue
        vistas.add((i, j))
        if (i, j) == (len(dicha), len(escrita)):
            return cuenta
        for a, b in itertools.product((0, 1), (0, 1)):
            if a + b == 0 or i + a > len(dicha) or j + b > len(escrita):
                continue
            cambia = int(a and b and dicha[i] != escrita[j])
            suma = (0, cambia, int(a > b), int(b > a))
            nueva = tuple(x + y for x, y in zip(cuenta, suma, strict=True))
            errores = sum(nueva[1:])
            peso = (errores, nueva[2] + nueva[3])
            heapq.heappush(cola, (peso, (errores, *nueva[1:]), (i + a, j + b)))


@verdad("21.8")
def _(caso, valor, funcion):
    """Un camino más corto por pareja de frases, con Dijkstra."""
    escritas, dichas = caso.args
    cuentas = [_camino(d, e) for d, e in zip(dichas, escritas, strict=True)]
    errores, *clases = map(sum, zip(*cuentas, strict=True))
    return cerca(list(valor), [errores / len("".join(dichas)), *clases])
