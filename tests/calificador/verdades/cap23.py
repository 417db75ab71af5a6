"""La verdad de los ejercicios del capítulo 23, por otro camino que el de sus soluciones."""

import mpmath
import torch
from torch.utils.flop_counter import FlopCounterMode

from atento.efficient import (
    LinearState,
    elu_features,
    exact_cost,
    linear_attention,
    linear_step,
    online_attention,
    window_attention,
    window_mask,
)
from atento.moe import Routing, balance_loss
from verdades.tabla import GEN, cerca, nadaraya, verdad


@verdad("23.1")
def _(caso, valor, funcion):
    """Con el contador de PyTorch y tensores sin números; las filas que igualan, probando."""

    def de(*forma):
        return torch.empty(*forma, dtype=torch.float16, device="meta")

    def millones(cuenta):
        with FlopCounterMode(display=False) as contador:
            cuenta()
        return contador.get_total_flops() / 1e6

    iguales = next(n for n in range(1, 9999) if 8 * exact_cost(n, 64).flops == 8 * n * 512**2)
    q, k = de(8, 2000, 64), de(8, 2000, 64)
    return valor == {
        "attention": millones(lambda: (q @ k.mT) @ k),
        "project": millones(lambda: [de(2000, 512) @ de(512, 512) for _ in "qkvo"]),
        "even": iguales,
        "table": de(8, 2000, 2000).nbytes / 1e6,
        "longer": de(8, 10_000, 10_000).nbytes / 1e6,
        "tile": de(8, 100, 100).nbytes / 1e6,
    }


@verdad("23.2")
def _(caso, valor, funcion):
    """Las sumas enteras, con exponente arbitrario: sin restar ningún máximo."""
    for fila in range(len(valor[0])):
        sumas, valores = mpmath.mpf(0), 0
        for m, suma, media in caso.args:
            entera = mpmath.exp(mpmath.mpf(float(m[fila]))) * float(suma[fila])
            sumas += entera
            valores = valores + mpmath.matrix(media[fila].tolist()) * entera
        mayor = max(float(parte[0][fila]) for parte in caso.args)
        suya = mpmath.exp(mpmath.mpf(mayor)) * float(valor[1][fila])
        media = [float(x / (sumas or 1)) for x in valores]
        if float(valor[0][fila]) != mayor or abs(suya - sumas) > 1e-9 * sumas:
            return False
        if not cerca(valor[2][fila], torch.tensor(media, dtype=torch.float64)):
            return False
    return True


@verdad("23.3")
def _(caso, valor, funcion):
    """Las atenciones de la biblioteca, con muchas frases de claves iguales."""
    q, v = torch.randn(2, 20, 9, 4, generator=GEN, dtype=torch.float64)
    k = torch.randn(20, 1, 4, generator=GEN, dtype=torch.float64).expand(20, 9, 4)
    hechas = {
        "los trozos": online_attention(q, k, v, block=2)[0],
        "la lineal": linear_attention(elu_features(q), elu_features(k), v),
        "la ventana": window_attention(q, k, v, window=1),
    }
    entera = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    iguales = {nombre for nombre, x in hechas.items() if cerca(x, entera)}
    return valor == "los trozos y la lineal" and iguales == {"los trozos", "la lineal"}


@verdad("23.4")
def _(caso, valor, funcion):
    """La tabla entera, con precisión arbitraria para la salida; y cada prefijo, aparte."""
    q, k, v, ve = caso.args
    lado = caso.kwargs["block"]
    tabla = torch.einsum("qd,kd->qk", q, k) * q.shape[1] ** -0.5
    puntos = [
        [float(x) if si else None for x, si in zip(*par, strict=True)]
        for par in zip(tabla, ve, strict=True)
    ]
    tapada = torch.where(ve, tabla, -torch.inf)
    hasta = [min(n + lado, len(k)) for n in range(0, len(k), lado)]
    vistos = torch.stack([torch.logsumexp(tapada[:, :n], 1) for n in hasta])
    return cerca(valor[0], nadaraya(puntos, v)) and cerca(valor[1], vistos)


@verdad("23.5")
def _(caso, valor, funcion):
    """Paso a paso, como red recurrente; si es larga, con la de la biblioteca, por trozos."""
    q, k, v, estado = (*caso.args, None)[:4]
    q, k = elu_features(q), elu_features(k)
    if len(q) > 1000:
        sumas = torch.einsum("nf,nv->fv", k, v), k.sum(0)
        return cerca(valor, (linear_attention(q, k, v, causal=True), sumas))
    estado, salidas = LinearState(*estado) if estado else None, []
    for fila in zip(q, k, v, strict=True):
        salida, estado = linear_step(*fila, estado)
        salidas.append(salida)
    return cerca(valor, (torch.stack(salidas), tuple(estado)))


@verdad("23.6")
def _(caso, valor, funcion):
    """Pareja a pareja, por conjuntos; y, sin huecos, la máscara de la biblioteca."""
    n, alcance, globales = caso.args
    hueco, causal = caso.kwargs.get("dilation", 1), caso.kwargs.get("causal", False)
    for i in range(n):
        vecinas = {i + hueco * paso for paso in range(-alcance, alcance + 1)}
        vistas = set(range(n)) if i in globales else vecinas | {*globales}
        vistas = {j for j in vistas if 0 <= j < n and not (causal and j > i)}
        if set(valor[i].nonzero().flatten().tolist()) != vistas:
            return False
    suya = window_mask(n, n, alcance, causal=causal, global_at=globales)
    return hueco > 1 or torch.equal(valor, suya)


@verdad("23.7")
def _(caso, valor, funcion):
    """De todos los enteros posibles, el que deja cada peso más cerca."""
    matriz, grupo = caso.args
    mayor = 2 ** (caso.kwargs.get("bits", 8) - 1) - 1
    niveles = torch.arange(-mayor, mayor + 1)
    for r in range(len(matriz)):
        for g, trozo in enumerate(matriz[r].split(grupo)):
            escala = max(map(abs, trozo.tolist())) / mayor or 1.0
            cerca_de = (trozo[:, None] - niveles.double() * escala).abs().argmin(1)
            aqui = slice(g * grupo, (g + 1) * grupo)
            hecho = niveles[cerca_de], escala, niveles[cerca_de].double() * escala
            suyo = valor[0][r, aqui].long(), valor[1][r, g], valor[2][r, aqui]
            if not all(map(cerca, suyo, hecho)):
                return False
    return True


@verdad("23.8")
def _(caso, valor, funcion):
    """Experto a experto: la cola de quienes lo piden, ordenada, y los que caben de ella."""
    x, puntos, expertos = caso.args
    cuantos, sitios = caso.kwargs["top_k"], caso.kwargs["capacity"]
    p = puntos.exp() / puntos.exp().sum(1, keepdim=True)
    orden = p.sort(dim=1, descending=True)
    elegidos, cupo = orden.indices[:, :cuantos], torch.zeros(len(x), cuantos, dtype=torch.bool)
    salida = torch.zeros_like(x)
    for e, matriz in enumerate(expertos):
        cola = sorted((c, -p[t].max(), t) for t, c in (elegidos == e).nonzero().tolist())
        for c, _, t in cola[:sitios]:
            cupo[t, c] = True
            salida[t] += p[t, e] * (matriz.T @ x[t])
    reparto = Routing(p, elegidos, orden.values[:, :cuantos], cupo)
    return cerca(valor, (salida, cupo, balance_loss(reparto)))
