"""La verdad de los ejercicios del capítulo 4, por otro camino que el de sus soluciones."""

import math

import mpmath
import torch
import torch.nn.functional as F

from verdades.tabla import GEN, cerca, nadaraya, verdad


@verdad("4.4")
def _(caso, valor, funcion):
    q, k, v = (torch.empty(forma, device="meta") for forma in caso.args)
    puntos = q @ k.mT
    return valor == [list(t.shape) for t in (puntos, puntos.softmax(-1), puntos @ v)]


@verdad("4.1")
def _(caso, valor, funcion):
    puntos, nula = caso.args
    planas = puntos.reshape(-1, puntos.shape[-1])
    identidad = torch.eye(puntos.shape[-1], dtype=torch.float64)
    return cerca(valor, nadaraya(planas.tolist(), identidad, [nula]).reshape(puntos.shape))


@verdad("4.5")
def _(caso, valor, funcion):
    """La función de PyTorch: la salida con los valores dados y los pesos con la identidad como
    valores.
    """
    query, key, value, *mask = caso.args
    mask, identidad = (
        mask[0] if mask else None,
        torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], -1),
    )
    salida, pesos = (
        F.scaled_dot_product_attention(query, key, v, attn_mask=mask) for v in (value, identidad)
    )
    return cerca(valor[0], salida, 1e-8) and cerca(valor[1], pesos, 1e-8)


@verdad("4.6")
def _(caso, valor, funcion):
    query, key, value, tau = caso.args
    return cerca(
        valor, F.scaled_dot_product_attention(query / tau[..., None], key, value, scale=1.0)
    )


@verdad("4.7")
def _(caso, valor, funcion):
    query, key, value, ancho, mask = caso.args
    puntos = [
        [
            -mpmath.fsum((q - k) ** 2 for q, k in zip(fila, otra, strict=True))
            / (2 * mpmath.mpf(ancho) ** 2)
            if ve
            else None
            for otra, ve in zip(key.tolist(), vale, strict=True)
        ]
        for fila, vale in zip(query.tolist(), mask.tolist(), strict=True)
    ]
    return cerca(valor, nadaraya(puntos, value), 1e-8)


@verdad("4.8")
def _(caso, valor, funcion):
    query, key, value = (t.T[None] for t in caso.args)
    return cerca(valor, F.scaled_dot_product_attention(query, key, value)[0].T)


@verdad("4.9")
def _(caso, valor, funcion):
    consultas, claves = caso.args
    if len(consultas) * len(claves) < 10**6:
        return cerca(valor, float((consultas @ claves.T).std(correction=0)))
    cuales = [
        torch.randint(len(x), (10**6,), generator=GEN) for x in caso.args
    ]  # simulación: parejas al azar
    productos = (consultas[cuales[0]] * claves[cuales[1]]).sum(-1)
    return abs(valor / float(productos.std()) - 1) < 0.01


@verdad("4.10")
def _(caso, valor, funcion):
    puntos, tangente, beta = caso.args
    return cerca(valor, torch.func.jvp(lambda s: (beta * s).softmax(-1), (puntos,), (tangente,))[1])


@verdad("4.12")
def _(caso, valor, funcion):
    """La entropía que sale es la pedida, y con un β una millonésima mayor o menor se pasa o no
    llega.
    """
    puntos, pedida = caso.args

    def entropia(beta):
        return torch.distributions.Categorical(logits=beta[:, None] * puntos).entropy()

    dentro = (entropia(valor * (1 - 1e-6)) > pedida) & (entropia(valor * (1 + 1e-6)) < pedida)
    return bool(dentro.all() and (valor <= 1e4).all())


@verdad("4.13")
def _(caso, valor, funcion):
    """Por bloques, desde el estado vacío, sale la atención de PyTorch; y el estado dado se mezcla
    en logaritmos.
    """
    estado, query, key, value = caso.args
    puntos = query @ key.T / math.sqrt(query.shape[1])
    maximo = torch.maximum(estado[0], puntos.amax(-1, keepdim=True))
    suma = torch.logaddexp(estado[1].log() + estado[0], puntos.logsumexp(-1, keepdim=True))
    if not (cerca(valor[0], maximo) and cerca(valor[1].log() + valor[0], suma)):
        return False
    acumulado = (torch.full_like(estado[0], -math.inf), estado[1] * 0, estado[2] * 0)
    for k, v in zip(key.split(2), value.split(2), strict=True):
        acumulado = funcion(acumulado, query, k, v)
    cierta = F.scaled_dot_product_attention(query[None], key[None], value[None])[0]
    if not cerca(acumulado[2] / acumulado[1], cierta):
        return False
    nueva = (
        puntos.logsumexp(-1, keepdim=True) - suma
    ).exp()  # lo que pesa el bloque frente a lo de antes
    antes = estado[2] / estado[1] if bool((estado[1] > 0).all()) else estado[2]
    return cerca(valor[2] / valor[1], nueva * cierta + (1 - nueva) * antes)


@verdad("4.11")
def _(caso, valor, funcion):
    query, key, value = caso.args
    escala, cuantas = query.shape[1] ** -caso.kwargs["power"], caso.kwargs["keep"]
    vale = torch.zeros(len(query), len(key), dtype=torch.bool)
    for i, q in enumerate(query):
        mejores = sorted(range(len(key)), key=lambda j: -float(q @ key[j]))[:cuantas]
        vale[i, mejores] = True
    return cerca(
        valor,
        F.scaled_dot_product_attention(query[None], key[None], value[None], vale, scale=escala)[0],
    )


@verdad("4.2")
def _(caso, valor, funcion):
    """Las tablas del capítulo, con la función de PyTorch y otra consulta."""
    claves = torch.tensor([[0, 0.5], [0, 0], [2, 0], [0, 1], [1, 2]])
    valores = torch.tensor([[0.4, 0.4], [0, 0], [1, 1], [0, 0], [2, 0]])
    consulta, identidad = torch.tensor([[2.0, 0]]), torch.eye(5)
    pesos, salida = (
        F.scaled_dot_product_attention(consulta[None], claves[None], v[None])[0, 0]
        for v in (identidad, valores)
    )
    cociente = float((pesos[2] / pesos[1]).log())  # la puntuación de «la» es 0
    return (
        cerca(valor["score"], cociente, 1e-5)
        and cerca(valor["weight"], float(pesos[2]), 1e-5)
        and cerca(valor["output"], float(salida[0]), 1e-5)
    )


@verdad("4.3")
def _(caso, valor, funcion):
    consultas, claves, resto = torch.randn(3, 50, 7, generator=GEN, dtype=torch.float64)
    pesos, movidos = (
        F.scaled_dot_product_attention(consultas, k, torch.eye(50).double())
        for k in (claves, claves + resto[:1])
    )
    return valor == "ninguna" and cerca(pesos, movidos)
