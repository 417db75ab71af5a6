"""La verdad de los ejercicios del capítulo 19, por otro camino que el de sus soluciones."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from atento.models.vit import Vit, VitConfig
from verdades.tabla import GEN, cerca, verdad


@verdad("19.1")
def _(caso, valor, funcion):
    """Se vuelve a montar la imagen píxel a píxel, y una convolución con ese paso da lo mismo."""
    imagenes, lado = caso.args
    cuantas, canales, alto, ancho = imagenes.shape
    filas, columnas = alto // lado, ancho // lado
    montada = np.full((cuantas, canales, filas * lado, columnas * lado), np.nan)
    for r in range(filas * lado):
        for c in range(columnas * lado):
            parche = (r // lado) * columnas + c // lado
            dentro = ((r % lado) * lado + c % lado) * canales
            montada[:, :, r, c] = valor[:, parche, dentro : dentro + canales].numpy()
    if not np.array_equal(montada, imagenes[:, :, : filas * lado, : columnas * lado].numpy()):
        return False
    conv = nn.Conv2d(canales, 4, lado, stride=lado).double()
    pesos = conv.weight.permute(0, 2, 3, 1).flatten(1)
    return cerca(valor @ pesos.T + conv.bias, conv(imagenes).flatten(2).mT)


@verdad("19.2")
def _(caso, valor, funcion):
    """De capas de verdad: una convolución para la proyección, y rejillas que se recortan."""

    def parches(alto, ancho):
        return F.unfold(torch.zeros(1, 1, alto, ancho), 8, stride=8).shape[-1]

    def parametros(modulo):
        return sum(p.numel() for p in modulo.parameters())

    tokens, doble = parches(96, 64) + 1, parches(192, 128) + 1
    ocho = Vit(VitConfig(image_size=64, patch_size=8, channels=3, d_model=128, n_layers=1))
    por_parche = (
        ocho.embed.positions.table.numel() // ocho.embed(torch.zeros(1, 3, 64, 64)).shape[1]
    )
    return valor == {
        "tokens": tokens,
        "project": parametros(ocho.embed.project),
        "positions": tokens * por_parche,
        "pairs": torch.zeros(doble, doble).numel(),
        "finer": parametros(nn.Conv2d(3, 128, 4, stride=4)),
    }


@verdad("19.3")
def _(caso, valor, funcion):
    """Con el ViT de la biblioteca, de dos capas, con su tabla de posiciones a cero."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = VitConfig(image_size=12, patch_size=3, n_layers=2, pooling="mean", init_std=0.3)
        modelo = Vit(config).double().eval()
    with torch.no_grad():
        modelo.embed.positions.table.zero_()
        imagen = torch.randn(1, 1, 12, 12, generator=GEN, dtype=torch.float64)
        trozos = [t for fila in imagen.chunk(4, 2) for t in fila.chunk(4, 3)]
        trozos = [trozos[i] for i in torch.randperm(16, generator=GEN)]
        baraja = torch.cat([torch.cat(trozos[4 * i : 4 * i + 4], 3) for i in range(4)], 2)
        movidas = {"parche": imagen.roll(3, 3), "el píxel": imagen.roll(1, 3), "la baraja": baraja}
        bien = modelo(imagen)
        cambian = {n for n, m in movidas.items() if (modelo(m) - bien).abs().max() > 1e-9}
    nombres = {
        frozenset(): "ninguno",
        frozenset({"el píxel"}): "solo el píxel",
        frozenset({"el píxel", "la baraja"}): "el píxel y la baraja",
        frozenset(movidas): "los tres",
    }
    return valor == nombres.get(frozenset(cambian))


@verdad("19.4")
def _(caso, valor, funcion):
    """Número a número, con `math`; y el producto de dos sitios solo mira cuánto se separan."""
    filas, columnas, d = caso.args
    anadidas, base = caso.kwargs.get("added", 1), caso.kwargs.get("base", 10000.0)
    cierto = torch.zeros(anadidas + filas * columnas, d, dtype=torch.float64)
    for r in range(filas):
        for c in range(columnas):
            for k in range(d):
                sitio, j = (r, k) if k < d // 2 else (c, k - d // 2)
                angulo = sitio / base ** ((j - j % 2) / (d // 2))
                onda = math.cos if j % 2 else math.sin
                cierto[anadidas + r * columnas + c, k] = onda(angulo)
    rejilla = valor[anadidas:].unflatten(0, (filas, columnas))
    corrida = rejilla[1:, 1:].flatten(0, 1), rejilla[:-1, :-1].flatten(0, 1)
    juntas = (corrida[0] * corrida[1]).sum(-1)
    return cerca(valor, cierto) and (
        len(juntas) < 2 or bool((juntas - juntas[0]).abs().max() < 1e-9)
    )


@verdad("19.5")
def _(caso, valor, funcion):
    """La interpolación de PyTorch, sobre la rejilla como imagen de d canales."""
    tabla, vieja, nueva = caso.args
    anadidas = caso.kwargs.get("added", 1)
    imagen = tabla[anadidas:].T.unflatten(1, vieja)[None]
    otra = F.interpolate(imagen, size=nueva, mode="bilinear", align_corners=False)
    return cerca(valor, torch.cat([tabla[:anadidas], otra[0].flatten(1).T]))


@verdad("19.6")
def _(caso, valor, funcion):
    """Las ventanas sin rotar nada: dos se miran si están en el mismo trozo de la imagen quieta."""
    x, lado, corre = caso.args
    alto, ancho, _ = x.shape
    ventanas, mascara = valor
    cual = 0
    for arriba in range(0, alto, lado):
        for izquierda in range(0, ancho, lado):
            sitios = [
                ((arriba + r + corre) % alto, (izquierda + c + corre) % ancho)
                for r in range(lado)
                for c in range(lado)
            ]
            trozos = [((r - corre) // lado, (c - corre) // lado) for r, c in sitios]
            for i, (r, c) in enumerate(sitios):
                if not torch.equal(ventanas[cual, i], x[r, c]):
                    return False
                if mascara[cual, i].tolist() != [trozos[i] == otro for otro in trozos]:
                    return False
            cual += 1
    return cual == len(ventanas) == len(mascara)


@verdad("19.7")
def _(caso, valor, funcion):
    """Las pérdidas de PyTorch."""
    clases, imita, maestra, etiquetas = caso.args
    peso, grados = caso.kwargs.get("weight", 0.5), caso.kwargs.get("temperature")
    if grados is None:
        otra = F.cross_entropy(imita, maestra.max(1).indices)
    else:
        pareja = F.log_softmax(imita / grados, 1), F.log_softmax(maestra / grados, 1)
        otra = grados**2 * F.kl_div(*pareja, reduction="batchmean", log_target=True)
    return cerca(valor, torch.lerp(F.cross_entropy(clases, etiquetas), otra, float(peso)))


def _propaga(marcas, capa, lado):
    """Qué posiciones dependen de cada parche marcado, hacia delante: (marca, fila, columna)."""
    if capa == "merge":
        return F.max_pool2d(marcas[:, None], 2)[:, 0]
    for eje in (1, 2):
        n = marcas.shape[eje]
        corre = lado // 2 if capa == "shifted" and n > lado else 0
        cortes = [c for c in range(corre, n, lado) if c > 0]
        trozos = torch.tensor_split(marcas, cortes, dim=eje)
        marcas = torch.cat([t.amax(eje, keepdim=True).expand_as(t) for t in trozos], eje)
    return marcas


@verdad("19.8")
def _(caso, valor, funcion):
    """Se enciende cada parche de la entrada y se mira, capa a capa, si llega; si son muchos, los
    dos extremos de la zona y los que tienen al lado, por fuera.
    """
    filas, columnas, lado, capas, sitio = caso.args
    todos = [(r, c) for r in range(filas) for c in range(columnas)]
    if len(todos) > 2500:
        dentro = valor.nonzero()
        (a, b), (y, z) = dentro[0].tolist(), dentro[-1].tolist()
        if len(dentro) != (y - a + 1) * (z - b + 1):
            return False
        cerca_de = [(a, b), (a - 1, b), (a, b - 1), (y, z), (y + 1, z), (y, z + 1)]
        todos = [(r, c) for r, c in cerca_de if 0 <= r < filas and 0 <= c < columnas]
    marcas = torch.zeros(len(todos), filas, columnas)
    for i, (r, c) in enumerate(todos):
        marcas[i, r, c] = 1
    for capa in capas:
        marcas = _propaga(marcas, capa, lado)
    llegan = marcas[:, sitio[0], sitio[1]] > 0
    return llegan.tolist() == [bool(valor[r, c]) for r, c in todos]
