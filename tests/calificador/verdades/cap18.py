"""La verdad de los ejercicios del capítulo 18, por otro camino que el de sus soluciones."""

import re
from itertools import product

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from atento import adaptation
from verdades.tabla import GEN, cerca, verdad


@verdad("18.1")
def _(caso, valor, funcion):
    """La capa de la biblioteca con esos pesos; y la fundida, sola, da la misma salida."""
    x, peso, baja, sube, alfa = caso.args[:5]
    sesgo = caso.args[5] if len(caso.args) > 5 else None
    recta = nn.Linear(peso.shape[1], len(peso), bias=sesgo is not None, dtype=torch.float64)
    capa = adaptation.LoraLinear(recta, len(baja), alpha=alfa)
    with torch.no_grad():
        for suyo, dado in ((capa.weight, peso), (capa.down, baja), (capa.up, sube)):
            suyo.copy_(dado)
        if sesgo is not None:
            capa.bias.copy_(sesgo)
    salida, fundida = valor
    return (
        cerca(salida, capa(x).detach())
        and cerca(fundida, capa.merged().weight.detach())
        and cerca(F.linear(x, fundida, sesgo), salida)
    )


@verdad("18.2")
def _(caso, valor, funcion):
    """La capa de la biblioteca, con sus dos matrices a cero y dos optimizadores."""
    hallados = set()
    for optimizador in (torch.optim.SGD, torch.optim.Adam):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            capa = adaptation.LoraLinear(nn.Linear(6, 5), 3)
        nn.init.zeros_(capa.down)
        pasos = optimizador([capa.down, capa.up], lr=0.05)
        x, debido = torch.randn(9, 6, generator=GEN), torch.randn(9, 5, generator=GEN)
        for _ in range(100):
            pasos.zero_grad()
            F.mse_loss(capa(x), debido).backward()
            pasos.step()
        cambia = bool(capa.down.any()), bool(capa.up.any())
        nombres = {(False, False): "ninguna", (True, False): "solo A", (False, True): "solo B"}
        hallados.add(nombres.get(cambia, "las dos"))
    return hallados == {valor}


@verdad("18.3")
def _(caso, valor, funcion):
    """Se cuentan los parámetros de una capa de verdad, y la divergencia es la de PyTorch."""
    recta = nn.Linear(256, 1024, bias=False)
    entera = sum(p.numel() for p in recta.parameters())

    def con_lora(rango):
        capa = adaptation.LoraLinear(recta, rango)
        return sum(p.numel() for p in capa.parameters() if p.requires_grad)

    ahorran = [r for r in range(1, 257) if adaptation.lora_size(256, 1024, r) < entera]
    una, otra = (
        torch.distributions.Categorical(torch.tensor(p, dtype=torch.float64))
        for p in ([0.5, 0.25, 0.125, 0.125], [0.125, 0.5, 0.25, 0.125])
    )
    return (
        valor["lora"] == con_lora(4)
        and cerca(valor["times"], entera / con_lora(4))
        and valor["largest_rank"] == ahorran[-1]
        and con_lora(ahorran[-1]) < entera < con_lora(ahorran[-1] + 1)
        and cerca(valor["forward"], float(torch.distributions.kl_divergence(una, otra)))
        and cerca(valor["reverse"], float(torch.distributions.kl_divergence(otra, una)))
    )


@verdad("18.4")
def _(caso, valor, funcion):
    """Paso a paso desde el primero, con capas que se descongelan de verdad."""
    paso, cuantas = caso.args
    pide = {"decay": 2.6, "ratio": 32.0, **caso.kwargs}
    capas = [nn.Linear(1, 1) for _ in range(cuantas)]
    abiertas = 1
    for t in range(1, paso + 1):
        abiertas += t % pide["wait"] == 0
    adaptation.thaw(capas, min(abiertas, cuantas))
    alto = np.interp(
        paso, [0, pide["peak"], pide["steps"]], [1 / pide["ratio"], 1.0, 1 / pide["ratio"]]
    )
    grupos = adaptation.layer_groups(capas, pide["rate"] * alto, decay=pide["decay"])
    tasas = [0.0] * (cuantas - len(grupos)) + [g["lr"] for g in grupos]
    return cerca(valor, torch.tensor(tasas, dtype=torch.float64))


@verdad("18.5")
def _(caso, valor, funcion):
    """Con las pérdidas de PyTorch, que ignoran las respuestas que faltan."""
    (alumno, maestro, dichas), t, dura = caso.args, caso.kwargs["temperature"], caso.kwargs["hard"]
    logaritmos = [(x / t).log_softmax(-1) for x in (alumno, maestro)]
    blanda = F.kl_div(*logaritmos, reduction="batchmean", log_target=True) * t * t
    suma = F.cross_entropy(alumno, dichas, ignore_index=-1, reduction="sum")
    return cerca(valor, (1 - dura) * blanda + dura * suma / max(1, int((dichas >= 0).sum())))


@verdad("18.6")
def _(caso, valor, funcion):
    """Cada fila, como texto, con una expresión regular; la pérdida, la de PyTorch."""
    (puntos, ids), asistente, fin = caso.args, caso.kwargs["assistant"], caso.kwargs["end"]
    letras = {asistente: "A", fin: "F"}
    debida = torch.zeros_like(ids, dtype=torch.bool)
    for fila, suya in zip(ids.tolist(), debida, strict=True):
        for hallado in re.finditer("A([^F]*F?)", "".join(letras.get(x, ".") for x in fila)):
            suya[slice(*hallado.span(1))] = True
    dichas = ids.masked_fill(~debida, -100)[:, 1:]
    perdida = F.cross_entropy(puntos[:, :-1].flatten(0, 1), dichas.flatten())
    return torch.equal(valor[0], debida) and cerca(valor[1], perdida)


@verdad("18.7")
def _(caso, valor, funcion):
    """La pérdida de la biblioteca, de media entre ordenar bien y al revés; y autograd."""
    filas = [x.clone().requires_grad_() for x in caso.args]
    beta, ruido = caso.kwargs["beta"], caso.kwargs.get("flip", 0.0)
    bien = adaptation.dpo_loss(*filas, beta=beta)
    cambiadas = adaptation.dpo_loss(*(filas[i] for i in (1, 0, 3, 2)), beta=beta)
    perdida = (1 - ruido) * bien + ruido * cambiadas
    perdida.backward()
    return (
        cerca(valor[0], perdida.detach())
        and cerca(valor[1], adaptation.dpo_margin(*caso.args, beta=beta))
        and cerca(valor[2], -filas[0].grad)
        and cerca(valor[2], filas[1].grad)
    )


def _objetivo(puntos, referencia, recompensas, beta):
    """Recompensa media menos β KL, de cada pregunta."""
    una, otra = (torch.distributions.Categorical(logits=x) for x in (puntos, referencia))
    return (una.probs * recompensas).sum(-1) - beta * torch.distributions.kl_divergence(una, otra)


@verdad("18.8")
def _(caso, valor, funcion):
    """La biblioteca y autograd; de media en todos los sorteos, el gradiente exacto; y el óptimo
    alcanza el máximo.
    """
    puntos, referencia, recompensas, salen = caso.args
    beta = caso.kwargs["beta"]
    politica = puntos.clone().requires_grad_()
    todas = politica.log_softmax(-1).gather(1, salen)
    quieta = referencia.log_softmax(-1).gather(1, salen)
    netas = adaptation.penalized_rewards(recompensas.gather(1, salen), todas, quieta, beta=beta)
    base = adaptation.leave_one_out(netas)
    perdida = adaptation.policy_gradient_loss(todas, netas, base) * len(puntos)
    perdida.backward()
    gradiente, mejor = valor
    maximo = beta * (referencia.log_softmax(-1) + recompensas / beta).logsumexp(-1)
    bien = cerca(gradiente, -politica.grad) and cerca(
        _objetivo(mejor, referencia, recompensas, beta), maximo
    )
    if not bien or salen.shape[1] > 2:
        return bien
    opciones, cuantas = puntos.shape[1], salen.shape[1]
    exacto = puntos.clone().requires_grad_()
    _objetivo(exacto, referencia, recompensas, beta).sum().backward()
    media = torch.zeros_like(puntos)
    for sorteo in product(range(opciones), repeat=cuantas):
        dibujo = torch.tensor([sorteo] * len(puntos))
        pesa = puntos.softmax(-1)[:, list(sorteo)].prod(1, keepdim=True)
        media += pesa * funcion(puntos, referencia, recompensas, dibujo, beta=beta)[0]
    return cerca(media, exacto.grad)
