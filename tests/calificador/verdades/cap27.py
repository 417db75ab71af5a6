"""La verdad de los ejercicios del capítulo 27, por otro camino que el de sus soluciones."""

import math
from itertools import permutations

import numpy as np
import torch
import torch.nn.functional as F

from verdades.tabla import cerca, verdad


@verdad("27.1")
def _(caso, valor, funcion):
    """Coseno a coseno, y la desviación con NumPy."""
    x, y, a, b = caso.args

    def asocia(palabra):
        lados = [[F.cosine_similarity(palabra, v, dim=0).item() for v in grupo] for grupo in (a, b)]
        return np.mean(lados[0]) - np.mean(lados[1])

    primero, segundo = ([asocia(w) for w in grupo] for grupo in (x, y))
    efecto = (np.mean(primero) - np.mean(segundo)) / np.std([*primero, *segundo], ddof=1)
    return cerca(valor[0], torch.tensor([*primero, *segundo])) and cerca(valor[1], efecto)


@verdad("27.2")
def _(caso, valor, funcion):
    """Con números cualesquiera, entre diez sale lo mismo."""
    s = torch.tensor([0.3, 0.1, -0.2, 0.05], dtype=torch.float64)
    efectos = [((k * s)[:2].mean() - (k * s)[2:].mean()) / (k * s).std() for k in (1, 0.1)]
    return valor == "no cambia" and cerca(*efectos)


@verdad("27.3")
def _(caso, valor, funcion):
    """Con los 4096 puestos, uno a uno."""
    bits = [math.log2(4096 / puesto) for puesto in range(1, 4097)]
    return cerca(
        valor,
        {
            "first": bits[0],
            "middle": bits[31],
            "rank": 1 + bits.index(9.0),
            "luck": sum(x >= 8 for x in bits) / len(bits),
            "low": sum(0.2 for _ in range(4 * 5)),
            "high": sum(0.3 * 1.2 for _ in range(4 * 5)),
        },
    )


@verdad("27.4")
def _(caso, valor, funcion):
    """Con todas las maneras de poner en fila, que repiten cada reparto las mismas veces."""
    primero, segundo = caso.args
    n, juntos = len(primero), [*primero.tolist(), *segundo.tolist()]
    filas = np.array(list(permutations(juntos)))
    separa = filas[:, :n].mean(1) - filas[:, n:].mean(1)
    visto = primero.mean().item() - segundo.mean().item()
    uno = (separa >= visto - 1e-9).mean()
    return cerca(valor[0], uno) and cerca(valor[1], (abs(separa) >= abs(visto) - 1e-9).mean())


@verdad("27.5")
def _(caso, valor, funcion):
    """Contando personas con diccionarios."""
    cuentas: dict = {}
    for bien, si, g in zip(*(x.tolist() for x in caso.args), strict=True):
        cuentas.setdefault(g, []).append((bien, si))
    filas = []
    for g in sorted(cuentas):
        todos = cuentas[g]
        dicho, merecen = [b for b, s in todos if s], [s for b, s in todos if b]
        otros = [s for b, s in todos if not b]
        filas.append(
            [
                len(dicho) / len(todos),
                sum(dicho) / len(dicho),
                1 - sum(merecen) / len(merecen),
                sum(otros) / len(otros),
            ]
        )
    tabla = np.array(filas)
    return cerca(valor[0], torch.tensor(tabla)) and cerca(
        valor[1], torch.tensor(tabla.max(0) - tabla.min(0))
    )


@verdad("27.6")
def _(caso, valor, funcion):
    """Por iteración de potencias, y con la matriz que proyecta."""
    x, left, right = caso.args
    resta = (left - right).numpy()
    cuadrados, v = resta.T @ resta, resta[0]
    for _ in range(400):
        v = cuadrados @ v
        v = v / np.linalg.norm(v)
    quedan = x.numpy() @ (np.eye(len(v)) - np.outer(v, v))
    quedan = quedan / np.linalg.norm(quedan, axis=1, keepdims=True)
    return bool(np.abs(valor.numpy() - quedan).max() < 1e-8)


@verdad("27.7")
def _(caso, valor, funcion):
    """Buscando en anchura desde cada texto que aún no tiene grupo."""
    textos, n, umbral = caso.args

    def trozos(t):
        return frozenset(tuple(t[i : i + n]) for i in range(len(t) - n + 1)) or {tuple(t)}

    hechos = [trozos(t) for t in textos]
    vistos, quedan = set(), []
    for i in range(len(textos)):
        if i in vistos:
            continue
        quedan.append(i)
        cola = [i]
        vistos.add(i)
        while cola:
            uno = hechos[cola.pop(0)]
            for k, otro in enumerate(hechos):
                comunes = len(uno & otro)
                if k not in vistos and comunes >= umbral * (len(uno) + len(otro) - comunes) - 1e-9:
                    vistos.add(k)
                    cola.append(k)
    return valor == quedan
