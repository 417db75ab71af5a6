"""La verdad de los ejercicios del capítulo 10, por otro camino que el de sus soluciones."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from atento.attention import MultiHeadAttention
from atento.blocks import EncoderBlock
from atento.layers import FeedForward
from verdades.tabla import GEN, cerca, verdad


def _derivada(funcion, paso=1e-6):
    return (funcion(1 + paso) - funcion(1 - paso)) / (2 * paso)


@verdad("10.1")
def _(caso, valor, funcion):
    """Por diferencias finitas; los caminos, apagando conexiones en cada una de las ocho maneras."""
    pendientes = (0.5, -0.4, 0.2)

    def pila(x, directo, elegidas):
        for i, w in enumerate(pendientes):
            x = directo(i) * x + (w * x if i in elegidas else 0)
        return x

    def caminos(cuantas):
        todas = [[i for i in range(3) if n >> i & 1] for n in range(8)]
        return sum(
            _derivada(lambda x, s=s: pila(x, lambda i: float(i not in s), s))
            for s in todas
            if len(s) == cuantas
        )

    medido = {
        "plain": _derivada(lambda x: pila(x, lambda i: 0.0, range(3))),
        "stream": _derivada(lambda x: pila(x, lambda i: 1.0, range(3))),
        "one": caminos(1),
        "two": caminos(2),
    }
    return valor.keys() == medido.keys() and all(abs(valor[k] - medido[k]) < 1e-7 for k in medido)


@verdad("10.2")
def _(caso, valor, funcion):
    """Con las normas de PyTorch."""
    x = torch.tensor([-1.0, 5.0, 5.0, 7.0], dtype=torch.float64)
    medido = {
        "layer": F.layer_norm(x, (4,), eps=0.0)[0],
        "eps": F.layer_norm(x, (4,), eps=16.0)[-1],
        "rms": F.rms_norm(x, (4,), eps=0.0)[0],
        "shifted": F.rms_norm(x - 4, (4,), eps=0.0)[0],
    }
    return valor.keys() == medido.keys() and all(abs(valor[k] - medido[k]) < 1e-12 for k in medido)


@verdad("10.3")
def _(caso, valor, funcion):
    """Por diferencias finitas, con una red densa al azar."""
    red = nn.Sequential(nn.Linear(5, 9), nn.Tanh(), nn.Linear(9, 5)).double()
    x, rumbo = torch.randn(2, 5, generator=GEN).double()

    def cambia(donde):
        with torch.no_grad():
            altas, bajas = (
                red(F.layer_norm(donde + s * rumbo, (5,), eps=0.0)) for s in (1e-5, -1e-5)
            )
        return (altas - bajas) / 2e-5

    cocientes = cambia(10 * x) / cambia(x)
    nombres = {
        10.0: "diez veces más",
        1.0: "lo mismo",
        0.1: "diez veces menos",
        0.01: "cien veces menos",
    }
    parecidos = [n for f, n in nombres.items() if (cocientes - f).abs().max() < 1e-3 * f]
    return parecidos == [valor]


@verdad("10.4")
def _(caso, valor, funcion):
    """La capa del codificador de PyTorch, con esos pesos; `inside`, con sus piezas."""
    modulo = funcion(**caso.init).double()
    capa = nn.TransformerEncoderLayer(
        caso.init["d_model"],
        caso.init["n_heads"],
        caso.init["d_ff"],
        dropout=0.0,
        batch_first=True,
        norm_first=caso.init.get("norm", "pre") == "pre",
    ).double()
    parejas = {
        "self_attn.in_proj_": "attention.in_proj_",
        "self_attn.out_proj.": "attention.out_proj.",
        "linear1.": "expand.",
        "linear2.": "contract.",
        "norm1.": "norm_attention.",
        "norm2.": "norm_feed_forward.",
    }
    estado = {
        suyo + tipo: modulo.state_dict()[mio + tipo]
        for suyo, mio in parejas.items()
        for tipo in ("weight", "bias")
    }
    capa.load_state_dict(estado)
    tapada = None if "mask" not in caso.kwargs else ~caso.kwargs["mask"]
    (x,) = caso.args
    if caso.init.get("norm") == "inside":
        x = x + capa.norm1(capa.self_attn(x, x, x, attn_mask=tapada)[0])
        cierto = x + capa.norm2(capa.linear2(capa.linear1(x).clamp(min=0)))
    else:
        cierto = capa(x, src_mask=tapada)
    return cerca(modulo(*caso.args, **caso.kwargs), cierto)


@verdad("10.5")
def _(caso, valor, funcion):
    """Se construye el bloque de la biblioteca y se cuentan sus parámetros."""
    d, cabezas, ancho = caso.args
    opciones = dict(caso.kwargs)
    claves, rms = opciones.get("n_kv_heads"), opciones.get("rms", False)
    sesgo, puerta = opciones.get("bias", True), opciones.get("gated", False)
    bloque = EncoderBlock(
        MultiHeadAttention(d, cabezas, n_kv_heads=claves, bias=sesgo),
        FeedForward(d, ancho, activation="swiglu" if puerta else "gelu", bias=sesgo),
        normalization="rms" if rms else "layer",
    )

    def cuenta(*modulos):
        return sum(p.numel() for m in modulos for p in m.parameters())

    normas = cuenta(bloque.add_attention, bloque.add_feed_forward)
    return tuple(valor) == (cuenta(bloque.attention), cuenta(bloque.feed_forward), normas)


@verdad("10.6")
def _(caso, valor, funcion):
    """El trozo normalizado por PyTorch dice entre qué se ha dividido."""
    x, weight, k = caso.args
    trozo = x[..., :k]
    normal = F.rms_norm(trozo, (k,), eps=caso.kwargs.get("eps", 1e-6))
    mayor = trozo.abs().argmax(-1, keepdim=True)
    entero, dividido = trozo.gather(-1, mayor), normal.gather(-1, mayor)
    raiz = caso.kwargs.get("eps", 1e-6) ** 0.5  # si el trozo es cero, solo queda la ε
    divisor = torch.where(dividido == 0, torch.full_like(entero, raiz), entero / dividido)
    return cerca(valor, x / divisor * weight)


@verdad("10.7")
def _(caso, valor, funcion):
    """La diferenciación automática de PyTorch sobre su propia capa."""
    x, weight, grad_output = caso.args
    hojas = [t.clone().requires_grad_() for t in (x, weight, torch.zeros_like(weight))]
    salida = F.layer_norm(hojas[0], weight.shape, hojas[1], hojas[2], caso.kwargs.get("eps", 1e-5))
    gradientes = torch.autograd.grad(salida, hojas, grad_output)
    return all(cerca(uno, otro) for uno, otro in zip(valor, gradientes, strict=True))


@verdad("10.8")
def _(caso, valor, funcion):
    """La red de la biblioteca con esos pesos; el ancho, buscado múltiplo a múltiplo."""
    d, d_ff, multiplo = caso.init["d_model"], caso.init["d_ff"], caso.init["multiple_of"]
    ancho = next(a for a in range(multiplo, 10 * d_ff + multiplo, multiplo) if 3 * a >= 2 * d_ff)
    modulo = funcion(**caso.init).double()
    red = FeedForward(d, ancho, activation="swiglu", bias=False).double()
    red.load_state_dict(modulo.state_dict())
    return cerca(modulo(*caso.args), red(*caso.args))


@verdad("10.9")
def _(caso, valor, funcion):
    """Posición a posición, con las funciones de PyTorch."""
    modulo = funcion(**caso.init).double()
    x, kept = caso.args
    escala, d = 1 / (1 - caso.init["rate"]), x.shape[-1]

    def norma(filas, i):
        return F.layer_norm(filas, (d,), modulo.scale[i], modulo.shift[i])

    for i in range(len(x)):
        filas = norma(x[i], 0)
        medias = torch.stack([filas[: t + 1].mean(0) for t in range(len(filas))])
        suma = x[i] + torch.where(kept[0, i], modulo.mix(medias) * escala, 0.0)
        densa = modulo.contract(modulo.expand(norma(suma, 1)).clamp(min=0))
        suma = suma + torch.where(kept[1, i], densa * escala, 0.0)
        if not cerca(modulo(x, kept)[i], suma):
            return False
    return True


@verdad("10.10")
def _(caso, valor, funcion):
    """Con vectores al azar, la salida es la de antes."""
    gamma, beta, weight, bias = caso.args
    d = len(gamma)
    x = 3 * torch.randn(50, d, generator=GEN).double() + 1
    antes = F.linear(F.layer_norm(x, (d,), gamma, beta, 1e-5), weight, bias)
    s = torch.sqrt(x.var(-1, keepdim=True, correction=0) + 1e-5)
    return cerca(F.linear(x / s, valor[0], valor[1]), antes)


@verdad("10.11")
def _(caso, valor, funcion):
    """El producto de los I + zJ en las raíces de la unidad, y su transformada de Fourier."""
    jacobianas, gradiente = caso.args
    puntos = len(jacobianas) + 1
    filas = []
    for k in range(puntos):
        z = complex(math.cos(2 * math.pi * k / puntos), math.sin(2 * math.pi * k / puntos))
        fila = gradiente.to(torch.complex128)
        for jacobiana in reversed(jacobianas):
            fila = fila + z * (fila @ jacobiana.to(torch.complex128))
        filas.append(fila)
    partes = torch.fft.fft(torch.stack(filas), dim=0) / puntos
    return cerca(valor, partes.real)
