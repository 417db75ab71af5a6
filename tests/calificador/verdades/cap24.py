"""La verdad de los ejercicios del capítulo 24, por otro camino que el de sus soluciones."""

import math
from collections import Counter

import numpy as np
import torch

from atento.hopfield import energy, recall, update
from verdades.tabla import GEN, cerca, nadaraya, verdad


@verdad("24.1")
def _(caso, valor, funcion):
    """Con cada clave escrita tantas veces como se ha visto, y precisión arbitraria."""
    consulta, claves, valores, veces = caso.args
    escritas = torch.repeat_interleave(torch.arange(len(veces)), veces.long())
    beta = caso.kwargs.get("beta", 1.0)
    puntos = [[beta * float(claves[i] @ consulta) for i in escritas.tolist()]]
    return cerca(valor, nadaraya(puntos, valores[escritas])[0])


@verdad("24.2")
def _(caso, valor, funcion):
    """La softmax y la entropía de PyTorch; los límites, con temperaturas extremas; y el número de
    claves, por su código de Huffman, que con octavos es exacto.
    """

    def pesos(veces, temperatura=1.0):
        puntos = torch.tensor(veces, dtype=torch.float64).log()
        return (puntos / temperatura).softmax(0)

    def bits(p):
        return float(torch.distributions.Categorical(p).entropy()) / math.log(2)

    largos = Counter({"0": 4, "10": 2, "110": 1, "111": 1})
    medio = sum(len(clave) * veces for clave, veces in largos.items()) / largos.total()
    cierto = {
        "bits": medio,
        "choices": 2**medio,
        "cold": float(pesos([4.0, 2, 1, 1], 0.5)[0]),
        "frozen": bits(pesos([4.0, 4, 4, 1], 1e-3)),
        "hot": bits(pesos([4.0, 2, 1, 1], 1e6)),
    }
    return cerca(bits(pesos([4.0, 2, 1, 1])), medio) and cerca(valor, cierto)


@verdad("24.3")
def _(caso, valor, funcion):
    """La primera, por convexidad: dos medias se separan como mucho lo que dos vectores, sumando
    sobre las parejas. La segunda, con un contraejemplo a mano: una matriz que dobla y un mapa que
    casi no mezcla. La tercera vale con una matriz y no con otra: de todas no dice nada.
    """
    x = torch.randn(6, 3, generator=GEN).double()
    a = torch.randn(6, 6, generator=GEN).double().softmax(-1)
    parejas = a[:, None, :, None] * a[None, :, None, :]  # cada fila con cada fila, suma 1
    cota = (parejas * torch.cdist(x, x)).sum((-1, -2))
    primera = bool((torch.cdist(a @ x, a @ x) <= cota + 1e-9).all()) and bool(
        (cota <= torch.cdist(x, x).max() + 1e-9).all()
    )
    contra = torch.pdist(0.99 * (2 * x) + 0.01 * (2 * x).mean(0)).max() > torch.pdist(x).max()
    encoge = torch.pdist(a @ x / 2).max() < torch.pdist(x).max()
    vistas = "medida" if encoge and contra else ""
    casillas = ["teorema" if primera else "", "falsa" if contra else "", vistas, "analogía"]
    return valor == ", ".join(casillas)


@verdad("24.4")
def _(caso, valor, funcion):
    """La energía de la biblioteca, su gradiente automático, y el paso que la baja."""
    estados, patrones = (x.clone().requires_grad_(i == 0) for i, x in enumerate(caso.args))
    beta = caso.kwargs["beta"]
    cierta = energy(estados, patrones, beta=beta)
    (cuesta,) = torch.autograd.grad(cierta.sum(), estados)
    paso = caso.args[0] - valor[1]
    baja = funcion(paso, patrones, beta=beta)[0] <= valor[0] + 1e-9
    una = len(patrones) > 1 or cerca(valor[0], (caso.args[0] - patrones).square().sum(1) / 2)
    return cerca(valor, (cierta.detach(), cuesta)) and bool(baja.all()) and una


@verdad("24.5")
def _(caso, valor, funcion):
    """El camino entero de cada uno, con la memoria de la biblioteca."""
    estados, patrones = caso.args
    beta, tope = caso.kwargs["beta"], caso.kwargs.get("most", 100)
    tolerancia = caso.kwargs.get("tolerance", 1e-3)
    for estado, final, pasos in zip(estados, *valor, strict=True):
        camino = recall(estado[None], patrones, beta=beta, steps=tope, tolerance=tolerancia)
        if len(camino.states) - 1 != int(pasos) or not cerca(final, camino.states[-1, 0]):
            return False
        if not camino.settled and int(pasos) != tope:
            return False
        if not cerca(final, update(camino.states[-2], patrones, beta=beta)[0]):
            return False
    return True


@verdad("24.6")
def _(caso, valor, funcion):
    """Por Pitágoras, con la matriz que centra: la media y lo que sobra son perpendiculares."""
    x, mapas, pesos = (t.numpy() for t in caso.args)
    n, cierto = len(x), []
    centra = np.eye(n) - np.ones((n, n)) / n
    for altura in range(len(mapas) + 1):
        todo = np.sum(x * x)
        comun = n * np.sum(np.mean(x, axis=0) ** 2)
        cierto.append(math.sqrt(max(0.0, 1 - comun / todo)))
        if not np.isclose(np.sum((centra @ x) ** 2) + comun, todo):
            return False
        if altura < len(mapas):
            nuevo = np.einsum("qk,kd,de->qe", mapas[altura], x, pesos[altura])
            x = x + nuevo if caso.kwargs.get("skip") else nuevo
    return cerca(valor, torch.tensor(cierto, dtype=torch.float64), 1e-7)


@verdad("24.7")
def _(caso, valor, funcion):
    """Onda a onda, con cosenos y senos; y la constante, que ningún mapa cambia."""
    (mapas,), veces = caso.args, caso.kwargs.get("times", 1)
    n = mapas.shape[-1]
    j = np.arange(n)
    for cabeza, mapa in zip(valor.tolist(), mapas.numpy(), strict=True):
        for f, ganancia in enumerate(cabeza):
            ondas = np.stack([np.cos(2 * np.pi * f * j / n), np.sin(2 * np.pi * f * j / n)], 1)
            salen = ondas
            for _ in range(veces):
                salen = mapa @ salen
            if abs(ganancia - np.linalg.norm(salen) / np.linalg.norm(ondas)) > 1e-9:
                return False
    return len(valor[0]) == n // 2 + 1 and cerca(valor[:, 0], torch.ones(len(mapas)).double())


@verdad("24.8")
def _(caso, valor, funcion):
    """La media de un millón de pasos; que no cambia al dar otro; y los grupos, por quién llega a
    quién.
    """
    pesos, inicio = (x.numpy() for x in caso.args)
    n = len(pesos)
    media, potencia = np.eye(n), pesos
    for _ in range(20):  # la media de 2 T pasos, a partir de la de T
        media = media @ (np.eye(n) + potencia) / 2
        potencia = potencia @ potencia
    llega = np.linalg.matrix_power((pesos > 0) + np.eye(n), n) > 0
    grupos = {
        tuple(llega[i]) for i in range(n) if all(llega[j, i] for j in range(n) if llega[i, j])
    }
    reparto, cuantos = valor
    return (
        cuantos == len(grupos)
        and cerca(reparto, torch.from_numpy(inicio @ media), 1e-4)
        and cerca(reparto @ caso.args[0], reparto)
        and cerca(float(reparto.sum()), 1.0)
    )
