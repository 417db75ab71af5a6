"""La verdad de los ejercicios del capítulo 7, por otro camino que el de sus soluciones."""

import itertools
import math

import torch
import torch.nn.functional as F

from verdades.tabla import cerca, verdad


@verdad("7.1")
def _(caso, valor, funcion):
    """La softmax de verdad, con −∞ donde toca."""
    fila = torch.tensor([0.0, math.log(3), math.log(4), math.log(8)], dtype=torch.float64)
    causal, ambas = fila.clone(), fila.clone()
    causal[3] = ambas[3] = ambas[0] = -math.inf
    ciertas = {"free": fila, "causal": causal, "both": ambas, "late": fila}
    return set(valor) == set(ciertas) and all(
        cerca(valor[k], float(v.softmax(0)[1])) for k, v in ciertas.items()
    )


@verdad("7.2")
def _(caso, valor, funcion):
    """Por derivadas: en la buena, el gradiente de cada fila no llega a su futuro."""
    causal = torch.ones(4, 4).tril().bool()
    lineas = {
        "a": lambda s: s.masked_fill(~causal, -math.inf).softmax(-1),
        "b": lambda s: (s + (causal.double() - 1) * 1e6).softmax(-1),
        "c": lambda s: s.exp() * causal / (s.exp() * causal).sum(-1, keepdim=True),
        "d": lambda s: s.softmax(-1) * causal,
    }
    con_fuga = []
    for letra, linea in lineas.items():
        s = torch.zeros(4, 4, dtype=torch.float64, requires_grad=True)
        linea(s).square().sum().backward()
        if s.grad.triu(1).abs().max() > 1e-9:
            con_fuga.append(letra)
    return con_fuga == [valor]


@verdad("7.3")
def _(caso, valor, funcion):
    """Fila a fila, con la softmax de las claves que se ven y nada más."""
    puntos, puede = caso.args
    cierto = torch.zeros_like(puntos)
    todo = puede.expand(puntos.shape)
    for donde in itertools.product(*map(range, puntos.shape[:-1])):
        vistas = todo[donde].nonzero().flatten()
        if len(vistas):
            cierto[donde][vistas] = puntos[donde][vistas].softmax(0)
    return cerca(valor, cierto) and bool((valor[~todo] == 0).all())


@verdad("7.4")
def _(caso, valor, funcion):
    """Se recorren los saltos, sin fórmula."""

    def conocidas(desde, capas, ve):
        sabe = {desde}
        for _ in range(capas):
            sabe |= {j for i in sabe for j in range(1, 31) if ve(i, j)}
        return sabe

    def ventana(i, j):
        return i - 4 <= j <= i

    def prefijo(i, j):
        return j <= i or (i <= 10 and j <= 10)

    capas = next(n for n in range(40) if 1 in conocidas(30, n, ventana))
    ciertas = {
        "three": len(conocidas(30, 3, ventana)),
        "layers": capas,
        "prefix": len(conocidas(4, 1, prefijo)),
        "late": len(conocidas(30, 1, prefijo)),
    }
    return valor == ciertas


@verdad("7.5")
def _(caso, valor, funcion):
    fuente, escrito = caso.args
    pad, lote = caso.kwargs["pad_id"], len(fuente)
    largos = fuente.shape[1], escrito.shape[1]
    formas = [(lote, 1, 1, largos[0]), (lote, 1, largos[1], largos[1]), (lote, 1, 1, largos[0])]
    if [tuple(m.shape) for m in valor] != formas or any(m.dtype != torch.bool for m in valor):
        return False
    for b in range(lote):
        for j in range(largos[0]):
            es_palabra = int(fuente[b, j]) != pad
            if bool(valor[0][b, 0, 0, j]) != es_palabra or bool(valor[2][b, 0, 0, j]) != es_palabra:
                return False
        for i, j in itertools.product(range(largos[1]), repeat=2):
            if bool(valor[1][b, 0, i, j]) != (j <= i and int(escrito[b, j]) != pad):
                return False
    return True


@verdad("7.6")
def _(caso, valor, funcion):
    """Se siguen los caminos de la última capa a la primera, uno a uno."""
    capas = caso.args[0].tolist()
    n = len(capas[0])
    ciertas = []
    for i in range(n):
        sitios = {i}
        for capa in reversed(capas):
            sitios |= {j for s in sitios for j in range(n) if capa[s][j]}
        ciertas += [(i, j) for j in sorted(sitios) if j > i]
    return [tuple(pareja) for pareja in valor] == ciertas


@verdad("7.7")
def _(caso, valor, funcion):
    puntos, objetivo = caso.args
    pad = caso.kwargs["pad_id"]
    if not bool((objetivo != pad).any()):
        return float(valor) == 0
    return cerca(valor, F.cross_entropy(puntos.flatten(0, 1), objetivo.flatten(), ignore_index=pad))


@verdad("7.8")
def _(caso, valor, funcion):
    """Se usa: con cada convención, la atención de PyTorch da lo mismo que tapando a mano."""
    mascara, destino = caso.args
    if valor.shape != mascara.shape:
        return False
    if mascara.dim() == 4:  # (batch, 1, 1, m): una fila por frase
        mascara, valor = mascara[:, 0, 0], valor[:, 0, 0]
    n, m = mascara.shape
    if destino == "int":
        return valor.dtype == torch.int64 and valor.tolist() == [
            [1 if x else 0 for x in fila] for fila in mascara.tolist()
        ]
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, largo, 4, dtype=torch.float64) for largo in (n, m, m))
    cierto = torch.where(mascara, q @ k.mT / 2, -math.inf).softmax(-1) @ v
    if destino != "nn":
        return cerca(F.scaled_dot_product_attention(q, k, v, attn_mask=valor), cierto)
    capa = torch.nn.MultiheadAttention(4, 1, bias=False, batch_first=True).double()
    with torch.no_grad():
        capa.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        capa.out_proj.weight.copy_(torch.eye(4))
        return cerca(capa(q, k, v, attn_mask=valor)[0], cierto)


@verdad("7.9")
def _(caso, valor, funcion):
    q, k, v, vale = caso.args
    n = q.shape[-2]
    puede = torch.ones(n, n).tril().bool() & vale[:, None, None, :]
    return cerca(valor, F.scaled_dot_product_attention(q, k, v, attn_mask=puede))


@verdad("7.10")
def _(caso, valor, funcion):
    frases = caso.args[0].tolist()
    n = len(frases[0])
    cierta = [
        [[[fila[i] == fila[j] != -1 and j <= i for j in range(n)] for i in range(n)]]
        for fila in frases
    ]
    return valor.dtype == torch.bool and valor.tolist() == cierta
