"""La verdad de los ejercicios del capítulo 0, por otro camino que el de sus soluciones."""

import math

import torch
from torch.utils.flop_counter import FlopCounterMode

from verdades.tabla import GEN, cerca, verdad


@verdad("0.1")
def _(caso, valor, funcion):
    q, k = torch.zeros(5, 1, 3), torch.zeros(7, 3)
    return (valor["axes"], valor["elements"], valor["compared"]) == (
        (q - k).ndim, (q - k).numel(), (q * k).sum(-1).numel())  # fmt: skip


@verdad("0.2")
def _(caso, valor, funcion):
    matriz = torch.tensor([[1.0, 2], [0, 2], [2, 0]])
    fila = (matriz.T @ matriz)[0]
    with FlopCounterMode(display=False) as cuenta:
        resultado = torch.zeros(512, 64) @ torch.zeros(64, 512)
    justas = (valor["dot_products"], valor["multiplications"]) == (
        resultado.numel(),
        cuenta.get_total_flops() // 2,
    )
    return fila.tolist() == [valor["first"], valor["second"]] and justas


@verdad("0.3")
def _(caso, valor, funcion):
    puntos = torch.tensor([0.0, math.log(9)], dtype=torch.float64)
    jacobiana = torch.func.jacrev(lambda s: s.softmax(0))(puntos)
    ciertos = (*puntos.softmax(0), jacobiana[0, 0], jacobiana[0, 1])
    dados = (valor[k] for k in ("small", "large", "diagonal", "off_diagonal"))
    return all(cerca(d, float(c), 1e-9) for d, c in zip(dados, ciertos, strict=True))


@verdad("0.4")
def _(caso, valor, funcion):
    q = torch.distributions.Categorical(torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64))
    p = torch.distributions.Categorical(torch.full((3,), 1 / 3, dtype=torch.float64))
    divergencia = float(torch.distributions.kl_divergence(q, p))
    return cerca(valor["entropy"], float(q.entropy()), 1e-6) and cerca(
        valor["divergence"], divergencia, 1e-6
    )


@verdad("0.5")
def _(caso, valor, funcion):
    azar = torch.randn(2, 2_000_000, generator=GEN, dtype=torch.float64)
    x, y = 2 * azar[0], 3 * azar[1]
    medidas = {"sum": x + y, "difference": x - y, "double": 2 * x, "product": x * y}
    return all(abs(float(z.var()) / valor[k] - 1) < 0.02 for k, z in medidas.items())


@verdad("0.6")
def _(caso, valor, funcion):
    matriz = 2 + 3 * torch.eye(5, dtype=torch.float64)
    justos = (valor["rank"], valor["trace"]) == (
        int(torch.linalg.matrix_rank(matriz)),
        float(matriz.trace()),
    )
    return justos and cerca(valor["singular_value"], float(torch.linalg.svdvals(matriz)[0]), 1e-9)


@verdad("0.7")
def _(caso, valor, funcion):
    for maximo, nombre in ((1.0, "clipped"), (10.0, "untouched")):
        w = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
        w.grad = torch.tensor([3.0, -4.0], dtype=torch.float64)
        torch.nn.utils.clip_grad_norm_([w], maximo)
        dado = torch.tensor([valor[f"{nombre}_x"], valor[f"{nombre}_y"]], dtype=torch.float64)
        if not torch.allclose(dado, w.grad, atol=1e-5):
            return False
    return True
