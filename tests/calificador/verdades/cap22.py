"""La verdad de los ejercicios del capítulo 22, por otro camino que el de sus soluciones."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from atento.blocks import EncoderBlock
from atento.layers import FeedForward
from atento.models.fusion import Fusion, FusionConfig
from atento.models.gato import GatoConfig, Step, pack, unpack
from verdades.tabla import GEN, cerca, verdad


@verdad("22.1")
def _(caso, valor, funcion):
    """Contando las casillas de tablas de verdad, y los parámetros de bloques de la biblioteca."""
    parches = nn.Unfold(4, stride=4)(torch.zeros(1, 1, 12, 12)).shape[2]
    a, b, cuello = torch.zeros(parches, 10), torch.zeros(5, 10), torch.zeros(2, 10)

    def parejas(unas, otras=None):
        return (unas @ (unas if otras is None else otras).T).numel()

    modelo = Fusion(FusionConfig("cross", 10, 1, 40, 4))
    pesos = sum(
        p.numel()
        for capa in (modelo.crossed_a[0], modelo.crossed_b[0])
        for nombre, p in capa.named_parameters()
        if p.dim() == 2 and "norm" not in nombre
    )
    return cerca(
        valor,
        {
            "rows": len(torch.cat([a, b])),
            "joined": parejas(torch.cat([a, b])),
            "crossed": parejas(a, b) + parejas(b, a),
            "neck": sum(parejas(torch.cat([x, cuello])) for x in (a, b)),
            "parameters": pesos,
        },
    )


@verdad("22.2")
def _(caso, valor, funcion):
    """Fila a fila, con conjuntos."""
    plan, *estan = caso.args
    filas = [(lado, i) for lado in (0, 1) for i in range(len(estan[lado]))]
    sabe, cierto = {fila: {fila} for fila in filas}, []
    for capa in plan:
        nuevo = {}
        for fila in filas:
            lados = {"none": (), "own": (fila[0],), "other": (1 - fila[0],), "both": (0, 1)}
            miradas = [x for x in filas if x[0] in lados[capa[fila[0]]] and estan[x[0]][x[1]]]
            nuevo[fila] = sabe[fila].union(*(sabe[x] for x in miradas))
        sabe = nuevo
        cierto.append([[y in sabe[x] for y in filas] for x in filas])
    return cerca(valor, torch.tensor(cierto))


@verdad("22.3")
def _(caso, valor, funcion):
    """Con bloques de la biblioteca: se cambia una fila y se mira la última palabra."""
    pesos = nn.ModuleList(
        Fusion(FusionConfig("cross", 8, 2, 16, 4)).double().crossed_a[0] for _ in "ab"
    )
    junto = Fusion(FusionConfig("early_concat", 8, 2, 16, 4)).double().together[0]
    assert isinstance(junto, EncoderBlock) and isinstance(junto.feed_forward, FeedForward)

    def cruzada(a, b):
        def mira(x, otra, bloque):
            sobre = bloque.add_attention.norm(otra)
            x = bloque.add_attention(x, lambda y: bloque.attention(y, sobre)[0])
            return bloque.add_feed_forward(x, bloque.feed_forward)

        return mira(a, b, pesos[0]), mira(b, a, pesos[1])

    def concatenada(a, b):
        ambas = junto(torch.cat([a, b], 1))
        return ambas[:, : a.shape[1]], ambas[:, a.shape[1] :]

    def aparte(a, b):
        return junto(a), junto(b)

    modelos = {"A": [cruzada], "B": [concatenada], "C": [aparte, cruzada], "D": [cruzada, aparte]}
    entran = torch.randn(1, 10, 8, generator=GEN, dtype=torch.float64)
    llegan = []
    for nombre, capas in modelos.items():
        vistas = []
        for quien in range(-1, 10):
            x = entran.clone()
            if quien >= 0:
                x[0, quien] += torch.randn(8, generator=GEN, dtype=torch.float64)
            a, b = x[:, :4], x[:, 4:]
            with torch.no_grad():
                for capa in capas:
                    a, b = capa(a, b)
            vistas.append(b[0, -1])
        if all((v - vistas[0]).abs().max() > 1e-9 for v in vistas[1:]):
            llegan.append(nombre)
    return valor == f"{', '.join(llegan[:-1])} y {llegan[-1]}"


@verdad("22.4")
def _(caso, valor, funcion):
    """La entropía cruzada de PyTorch, con dianas repartidas."""
    imagenes, textos, log_escala, ids = caso.args
    escala = min(math.exp(float(log_escala)), caso.kwargs.get("max_scale", 100.0))
    puntos = escala * F.cosine_similarity(imagenes[:, None], textos[None], dim=-1)
    suyos = torch.tensor([[float(x == y) for y in ids.tolist()] for x in ids.tolist()])
    dianas = F.normalize(suyos.double(), p=1, dim=1)
    cierto = (F.cross_entropy(puntos, dianas) + F.cross_entropy(puntos.T, dianas)) / 2
    return cerca(valor, cierto, 1e-8)


@verdad("22.5")
def _(caso, valor, funcion):
    """Ordenando de verdad, con lo que no vale delante en los empates."""
    parecidos, owner, ks = caso.args
    suyos = [[int(d) == i for d in owner] for i in range(len(parecidos))]
    ciertas = []
    for puntos, valen in (
        (parecidos.tolist(), suyos),
        (parecidos.T.tolist(), np.array(suyos).T.tolist()),
    ):
        filas = [
            [
                vale
                for _, vale in sorted(zip(fila, valen_, strict=True), key=lambda p: (-p[0], p[1]))
            ]
            for fila, valen_ in zip(puntos, valen, strict=True)
        ]
        ciertas.append([sum(any(f[:k]) for f in filas) / len(filas) for k in ks])
    return cerca(valor, ciertas, 1e-12)


@verdad("22.6")
def _(caso, valor, funcion):
    """Una sola secuencia con el cuello repetido, y una máscara que separa los dos sentidos."""
    a, b, cuello, de_a, de_b = caso.args
    desde, (n, m, k) = caso.kwargs.get("fuse_from", 0), (len(a), len(b), len(cuello))
    lado = torch.tensor([0] * (n + k) + [1] * (m + k))
    es_cuello = torch.tensor([False] * n + [True] * k + [False] * m + [True] * k)
    x = torch.cat([a, cuello, b, cuello])
    for i, pesos in enumerate(zip(de_a, de_b, strict=True)):
        ve = lado[:, None] == lado
        if i < desde:
            ve = ve & (es_cuello[:, None] == es_cuello)
        q, c, v = (
            torch.cat([x[: n + k] @ pesos[0][j], x[n + k :] @ pesos[1][j]]) for j in range(3)
        )
        y = x + F.scaled_dot_product_attention(q[None], c[None], v[None], attn_mask=ve)[0]
        x = torch.where((es_cuello & (i < desde))[:, None], x, y)
        media = (x[n : n + k] + x[n + k + m :]) / 2
        x = torch.cat([x[:n], media, x[n + k : n + k + m], media])
    return cerca(list(valor), [x[:n], x[n + k : n + k + m], x[n : n + k]], 1e-8)


@verdad("22.7")
def _(caso, valor, funcion):
    """Con la biblioteca: se empaqueta un paso y se desempaqueta."""
    medidas, acciones, vocab, bins = caso.args
    config = GatoConfig(vocab, bins, **caso.kwargs)
    hecho = pack([[Step(values=medidas, action=acciones)]], config)
    vuelto = unpack(hecho, config)[0][0]
    numeros = torch.cat([vuelto.values, vuelto.action]).double()
    return cerca(valor[0], hecho.ids[0]) and cerca(valor[1], numeros, 1e-4)


@verdad("22.8")
def _(caso, valor, funcion):
    """Con tablas de cuentas de NumPy, sumando por los ejes que no se ven."""
    dos = [t.numpy() for t in caso.args]
    medidas = tuple(max(t[:, i].max() for t in dos) + 1 for i in range(4))
    cuentas = []
    for tabla in dos:
        cubo = np.zeros(medidas)
        np.add.at(cubo, tuple(tabla[:, :4].T), tabla[:, 4])
        cuentas.append(cubo)
    cierto = np.zeros(valor.shape)
    ejes = {0: (0, 1), 1: (1,), 2: (0,), 3: ()}
    for sentido, fuera in ejes.items():
        train, test = (c.sum(axis=fuera, keepdims=True) for c in cuentas)
        usual = train.sum(axis=(0, 1)).argmax(-1)  # (question,): la primera, si empatan
        dice = np.where(train.sum(-1) > 0, train.argmax(-1), usual)
        acierta = np.take_along_axis(test, dice[..., None], -1)[..., 0]
        total = test.sum(axis=(0, 1, 3))
        cierto[:, 0, sentido] = test.max(-1).sum(axis=(0, 1)) / total
        cierto[:, 1, sentido] = acierta.sum(axis=(0, 1)) / total
    return cerca(valor, torch.tensor(cierto))
