"""La verdad de los ejercicios del capítulo 6, por otro camino que el de sus soluciones."""

import itertools

import torch
import torch.nn.functional as F
from scipy.optimize import linprog
from torch import nn

from atento.attention import MultiHeadAttention
from verdades.tabla import GEN, cerca, verdad


def _de_pytorch(x, z, w, cabezas, mascara=None):
    """La capa de PyTorch con esas matrices (que multiplican por la derecha)."""
    capa = nn.MultiheadAttention(x.shape[-1], cabezas, bias=False, batch_first=True).double()
    with torch.no_grad():
        capa.in_proj_weight.copy_(torch.cat([m.T for m in w[:3]]))
        capa.out_proj.weight.copy_(w[3].T)
        lote = x.shape[:-2]
        plano = [y.reshape(-1, *y.shape[-2:]) for y in (x, z)]
        tapada = None if mascara is None else ~mascara
        salida = capa(plano[0], plano[1], plano[1], attn_mask=tapada)[0]
    return salida.reshape(*lote, *salida.shape[-2:])


@verdad("6.1")
def _(caso, valor, funcion):
    """Se sortean contenidos, se mezclan y se lee cada uno por regresión."""

    def se_lee(*pesos):
        c = torch.randn(200_000, len(pesos), generator=GEN).double()
        o = c @ torch.tensor(pesos).double()
        return torch.corrcoef(torch.stack([o, *c.T]))[0, 1:].square().tolist()

    medido = dict(zip(("large", "small"), se_lee(3 / 4, 1 / 4), strict=True))
    medido["third"] = se_lee(1 / 3, 1 / 3, 1 / 3)[0]
    medido["heads"] = torch.linalg.matrix_rank(torch.eye(9)[[0, 2, 3, 5, 8]]).item()
    return valor.keys() == medido.keys() and all(abs(valor[k] - medido[k]) < 0.01 for k in medido)


@verdad("6.2")
def _(caso, valor, funcion):
    """Se reparte de verdad, con el nombre de la palabra en cada celda."""
    frase = ["las", "niñas", "que", "vio", "el", "perro", "corren"]
    hoja = torch.arange(7)[:, None].expand(7, 6).contiguous().view(3, 7, 2)[1]
    return hoja[-1].unique().numel() == 1 and valor == frase[hoja[-1, 0]]


@verdad("6.3")
def _(caso, valor, funcion):
    """Se construye la capa y se cuentan sus productos con el contador de PyTorch."""
    from torch.utils.flop_counter import FlopCounterMode

    n, d, cabezas = caso.args
    capa = MultiHeadAttention(d, cabezas)
    sin_sesgo = MultiHeadAttention(d, cabezas, bias=False)
    with FlopCounterMode(display=False) as cuenta, torch.no_grad():
        mapas = sin_sesgo(torch.zeros(n, d), need_weights=True)[1]
    parametros = sum(p.numel() for p in capa.parameters())
    return tuple(valor) == (parametros, cuenta.get_total_flops() // 2, mapas.numel())


@verdad("6.4")
def _(caso, valor, funcion):
    x, z, *w, cabezas = caso.args
    return cerca(valor, _de_pytorch(x, z, w, cabezas, caso.kwargs.get("mask")))


@verdad("6.5")
def _(caso, valor, funcion):
    """Se sortean contenidos y se lee cada uno por mínimos cuadrados; con margen de muestreo."""
    (pesos,) = caso.args
    c = torch.randn(60_000, pesos.shape[1], generator=GEN).double()
    o = c @ pesos.T
    error = c - o @ torch.linalg.lstsq(o, c, driver="gelsd").solution
    medido = 1 - error.square().sum(0) / c.square().sum(0)
    rango = torch.linalg.matrix_rank(pesos, rtol=1e-9).item()
    return (valor - medido).abs().max() < 0.03 and abs(float(valor.sum()) - rango) < 1e-9


@verdad("6.6")
def _(caso, valor, funcion):
    """Con esas cabezas, unas filas al azar que solo pesan en lo pedido lo leen todo; con una menos,
    ninguna de las probadas, de unos y ceros o al azar, lo consigue."""
    (objetivos,) = caso.args
    mayores = {len(set(pide)) for pide in objetivos}

    def se_lee(cabezas, cuantos):
        if not cuantos or not cabezas:
            return not cuantos
        pruebas = [torch.eye(cuantos).double()[:cabezas]]
        pruebas += [torch.rand(cabezas, cuantos, generator=GEN).double() for _ in range(20)]
        leido = [torch.linalg.pinv(filas) @ filas for filas in pruebas]
        return any(proyeccion.diagonal().min() > 1 - 1e-6 for proyeccion in leido)

    def todas(cabezas):
        return all(se_lee(cabezas, cuantos) for cuantos in mayores)

    return valor >= 1 and todas(valor) and (valor == 1 or not todas(valor - 1))


@verdad("6.7")
def _(caso, valor, funcion):
    """Con las capas tal como nacen, la salida es la de PyTorch con esas matrices."""
    modulo = funcion(**caso.init).double()
    (x,) = caso.args
    w = [getattr(modulo, capa).weight.T for capa in ("query", "key", "value", "output")]
    return cerca(modulo(x), _de_pytorch(x, x, w, caso.init["n_heads"]))


def _suma_de_cabezas(x, w, cabezas, cuales):
    total, ancho = 0, w[0].shape[1] // cabezas
    for i in cuales:
        q, k, v = (x @ m[:, i * ancho : (i + 1) * ancho] for m in w[:3])
        total = total + F.scaled_dot_product_attention(q, k, v) @ w[3][i * ancho : (i + 1) * ancho]
    return total


@verdad("6.8")
def _(caso, valor, funcion):
    *w, cabezas, quedan = caso.args
    x = torch.randn(5, len(w[0]), generator=GEN).double()
    podada = _suma_de_cabezas(x, valor, len(quedan), range(len(quedan)))
    return cerca(podada, _suma_de_cabezas(x, w, cabezas, quedan))


@verdad("6.9")
def _(caso, valor, funcion):
    w, cabezas, grupos = caso.args
    ancho, en_cada = w.shape[1] // cabezas, cabezas // grupos
    for g, a in itertools.product(range(grupos), range(ancho)):
        suyas = [w[:, (g * en_cada + i) * ancho + a] for i in range(en_cada)]
        if not cerca(valor[:, g * ancho + a], sum(suyas) / en_cada):
            return False
    return valor.shape == (len(w), grupos * ancho)


def _por_programa_lineal(primeros, segundos):
    """La asignación como programa lineal: sus vértices son las permutaciones."""
    h = len(primeros)
    costes = (primeros[:, None] - segundos[None]).square().sum((-1, -2)).flatten().numpy()
    filas, unos = torch.eye(h).repeat_interleave(h, 1), torch.eye(h).repeat(1, h)
    iguales = torch.cat([filas, unos]).numpy()
    x = linprog(costes, A_eq=iguales, b_eq=[1.0] * 2 * h, bounds=(0, 1)).x
    return x.reshape(h, h).argmax(1).tolist()


@verdad("6.10")
def _(caso, valor, funcion):
    """Por fuerza bruta si caben las permutaciones; si no, por programación lineal."""
    primeros, segundos = caso.args

    def coste(p):
        return float((primeros - segundos[list(p)]).square().sum())

    if sorted(valor) != list(range(len(primeros))):
        return False
    if len(primeros) > 6:
        return coste(valor) <= coste(_por_programa_lineal(primeros, segundos)) + 1e-9
    return coste(valor) <= min(map(coste, itertools.permutations(range(len(primeros))))) + 1e-12
