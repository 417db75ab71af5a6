"""La verdad de los ejercicios del capítulo 16, por otro camino que el de sus soluciones."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from atento.models.language import text_nats
from verdades.tabla import GEN, cerca, verdad


@verdad("16.1")
def _(caso, valor, funcion):
    """Lo que tarda en salir el texto si se sortea, y la entropía cruzada de PyTorch."""
    p = torch.tensor([1 / 2, 1 / 4, 1 / 8, 1 / 4], dtype=torch.float64)
    nats = F.binary_cross_entropy(p, torch.ones(4, dtype=torch.float64))
    sale = (torch.rand(2_000_000, 4, generator=GEN) < p).all(1).double().mean()
    return (
        set(valor) == {"bits", "nats", "perplexity", "bpc", "other"}
        and abs(valor["bits"] + math.log2(sale)) < 0.1
        and abs(valor["nats"] - nats) < 1e-12
        and abs(valor["perplexity"] - nats.exp()) < 1e-12
        and abs(2 ** (-12 * valor["bpc"]) - p.prod()) < 1e-12
        and abs(2 ** (-12 * valor["other"]) - 2.83**-6) < 1e-12
    )


@verdad("16.2")
def _(caso, valor, funcion):
    """La entropía cruzada de PyTorch, con las etiquetas corridas y su ``ignore_index``."""
    puntos, ids, *resto = caso.args
    relleno = caso.kwargs.get("pad_id", resto[0] if resto else None)
    etiquetas = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], -1)], 1).flatten()
    if relleno is not None:
        etiquetas[etiquetas == relleno] = -1
    return cerca(valor, F.cross_entropy(puntos.flatten(0, 1), etiquetas, ignore_index=-1))


@verdad("16.3")
def _(caso, valor, funcion):
    """Se entrenan los dos: uno mezcla los sitios que ve, y el otro, solo los anteriores."""
    n, vocab = 12, 8
    sigue = torch.tensor([[(2 * i) % vocab, (2 * i + 1) % vocab] for i in range(vocab)])

    def textos(cuantos):
        columnas = [torch.randint(vocab, (cuantos,), generator=GEN)]
        for _ in range(n):
            cara = torch.randint(2, (cuantos,), generator=GEN)
            columnas.append(sigue[columnas[-1], cara])
        return torch.stack(columnas, 1)

    def entrena(mascara):
        mezcla = torch.zeros(n, n, requires_grad=True)
        salida = torch.zeros(n, vocab, vocab, requires_grad=True)
        adam = torch.optim.Adam([mezcla, salida], lr=0.1)

        def puntua(ids):
            pesos = mezcla.masked_fill(~mascara, -torch.inf).softmax(-1)
            vistos = pesos @ F.one_hot(ids, vocab).float()
            return torch.einsum("bnv,nvw->bnw", vistos, salida)

        for _ in range(400):
            lote = textos(64)
            perdida = F.cross_entropy(puntua(lote[:, :-1]).flatten(0, 1), lote[:, 1:].flatten())
            adam.zero_grad()
            perdida.backward()
            adam.step()
        prueba, escritos = textos(500), []
        for largo in range(2, n):  # solo se ve el comienzo: el resto no está escrito
            comienzo = F.one_hot(prueba[:, :n], vocab).float()
            comienzo[:, largo:] = 0
            pesos = mezcla.masked_fill(~mascara, -torch.inf).softmax(-1)
            vistos = (pesos @ comienzo)[:, largo - 1]
            nuevo = (vistos @ salida[largo - 1]).argmax(-1)
            escritos.append((nuevo[:, None] == sigue[prueba[:, largo - 1]]).any(1).float().mean())
        return perdida.item(), float(torch.stack(escritos).mean())

    todo = torch.ones(n, n, dtype=torch.bool)
    (perdida, bien), (sin, mal) = entrena(todo.tril()), entrena(todo)
    baja = "baja" if sin < perdida / 2 else "otra cosa"
    return valor == f"{baja} y escribe {'peor' if mal < bien - 0.2 else 'mejor'}"


@verdad("16.4")
def _(caso, valor, funcion):
    """Con fracciones y conjuntos; además, las filas suman 1 y su media es la frecuencia."""
    ids, simbolos = caso.args[0].tolist(), range(caso.args[1])
    quita = Fraction(caso.kwargs.get("discount", 0.75))
    parejas = list(zip(ids, ids[1:], strict=False))
    tras = {b: {x for x, y in parejas if y == b} for b in simbolos}
    filas = []
    for a in simbolos:
        siguen = [y for x, y in parejas if x == a]
        fila = []
        for b in simbolos:
            p = Fraction(len(tras[b]), len(set(parejas)))
            if siguen:
                p = p * quita * len(set(siguen)) / len(siguen)
                p += max(siguen.count(b) - quita, Fraction(0)) / len(siguen)
            fila.append(float(p))
        filas.append(fila)
    pesos = torch.tensor([ids[:-1].count(a) for a in simbolos], dtype=torch.float64)
    frecuencia = torch.tensor([ids[1:].count(b) for b in simbolos], dtype=torch.float64)
    return (
        cerca(valor, torch.tensor(filas, dtype=torch.float64))
        and cerca(valor.sum(1), torch.ones_like(pesos))
        and cerca(pesos @ valor, frecuencia)
    )


class _Tabla(nn.Module):
    """Un modelo que da a cada token de un texto la probabilidad de una tabla."""

    def __init__(self, tabla):
        super().__init__()
        self.tabla, self.n = tabla, len(tabla)

    def forward(self, ids):  # el token número t del texto se llama t
        salida = torch.full((*ids.shape, self.n + 1), -torch.inf, dtype=torch.float64)
        for fila, leidos in zip(salida, ids.tolist(), strict=True):
            for j, t in enumerate(leidos):
                if t + 1 < self.n:
                    fila[j, t + 1] = self.tabla[leidos[0], t + 1]
                    fila[j, self.n] = torch.log1p(-self.tabla[leidos[0], t + 1].exp())
        return salida


@verdad("16.5")
def _(caso, valor, funcion):
    """El coste de un texto entero de la biblioteca, con un modelo que lee la tabla."""
    tabla, letras = caso.args
    nats = text_nats(_Tabla(tabla), torch.arange(len(tabla)), **caso.kwargs)
    return cerca(valor, nats / math.log(2) / letras)


@verdad("16.6")
def _(caso, valor, funcion):
    """Se construye con piezas de PyTorch, sin memoria, y se cuenta; con una capa más no cabe."""
    (presupuesto,), pide = caso.args, caso.kwargs
    capas, dichos = valor

    def cuenta(capas):
        d = pide["d_model"]
        with torch.device("meta"):
            piezas = [nn.Embedding(pide["vocab"], d), nn.Embedding(pide["context"], d)]
            piezas += [nn.TransformerEncoderLayer(d, 1, 4 * d) for _ in range(capas)]
            piezas.append(nn.LayerNorm(d))
            if not pide.get("tied", True):
                piezas.append(nn.Linear(d, pide["vocab"], bias=False))
        return sum(p.numel() for p in nn.ModuleList(piezas).parameters())

    return dichos == cuenta(capas) <= presupuesto < cuenta(capas + 1)


@verdad("16.7")
def _(caso, valor, funcion):
    """Con una matriz que marca un sitio por fila: el que sigue a la última columna igual."""
    pesos, ids = caso.args
    n = len(ids)
    iguales = (ids[:, None] == ids).tril(-1)
    marca = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        sitios = iguales[i].nonzero().flatten()
        if len(sitios):
            marca[i, sitios.max() + 1] = 1
    return cerca(valor, (pesos * marca).sum((1, 2)) / marca.sum())


@verdad("16.8")
def _(caso, valor, funcion):
    """La recta, con ``polyfit``; el intervalo, con la inversa del diseño y precisión de sobra."""
    tallas, perdidas, talla = caso.args
    t = caso.kwargs.get("t", 2.0)
    x, y = np.log(tallas.numpy()), np.log(perdidas.numpy())
    pendiente, alto = np.polyfit(x, y, 1)
    with mpmath.workdps(50):
        diseno = mpmath.matrix([[1, mpmath.log(float(v))] for v in tallas])
        dado = mpmath.matrix([mpmath.log(float(v)) for v in perdidas])
        inversa = (diseno.T * diseno) ** -1
        recta = inversa * diseno.T * dado
        error = dado - diseno * recta
        ruido = (error.T * error)[0] / (len(x) - 2)
        fila = mpmath.matrix([[1, mpmath.log(talla)]])
        ancho = t * mpmath.sqrt(ruido * (1 + (fila * inversa * fila.T)[0]))
        centro = (fila * recta)[0]
        extremos = [float(mpmath.exp(centro + s * ancho)) for s in (-1, 1)]
    return cerca(valor, (float(np.exp(alto)), float(-pendiente), *extremos), 1e-8)
