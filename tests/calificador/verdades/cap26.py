"""La verdad de los ejercicios del capítulo 26, por otro camino que el de sus soluciones."""

from functools import cache
from itertools import combinations, pairwise

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from verdades.tabla import GEN, cerca, verdad


class _Modelo(nn.Module):
    """El decodificador del 26.1, de verdad, sin la atención: solo lo que se multiplica."""

    def __init__(self):
        super().__init__()
        self.tabla = nn.Embedding(1000, 100)
        tamanos = [(100, 100)] * 4 + [(100, 400), (400, 100)]
        self.capas = nn.ModuleList(nn.Linear(*t, bias=False) for t in tamanos * 2)

    def forward(self, ids):
        x = self.tabla(ids)
        for i in range(0, len(self.capas), 6):
            q, k, v, sale, sube, baja = self.capas[i : i + 6]
            x = x + sale(q(x) + k(x) + v(x))
            x = x + baja(sube(x).relu())
        return x @ self.tabla.weight.T


@cache
def _presupuesto():
    modelo, ids = _Modelo(), torch.arange(10)
    with FlopCounterMode(display=False) as contador:
        modelo(ids).sum().backward()
    # lo que llega a la tabla al leerla se suma en sus filas: no es un producto, y no se cuenta
    flops = contador.get_total_flops() / len(ids) * 10**6
    paso = torch.optim.AdamW(modelo.parameters())
    paso.step()
    momentos = [s[k] for s in paso.state.values() for k in ("exp_avg", "exp_avg_sq")]
    pesos = list(modelo.parameters())
    bytes_ = sum(t.nbytes for t in [*pesos, *(p.grad for p in pesos), *momentos])
    tablas = torch.zeros(2, 8, 5, 50, 50)
    return {
        "parameters": sum(p.numel() for p in pesos),
        "flops": flops,
        "state": bytes_,
        "tables": tablas.nbytes,
        "seconds": flops / 4e10,
    }


@verdad("26.1")
def _(caso, valor, funcion):
    """Con un modelo, el contador de PyTorch, un paso de AdamW y las tablas de una atención."""
    return cerca(valor, _presupuesto())


@verdad("26.2")
def _(caso, valor, funcion):
    """Sumas en lugar de medias; y con un modelo de verdad, el lote entero frente a los trozos."""
    perdidas, gradientes, cuentas = caso.args
    perdida, juntos = valor
    total, quienes = int(cuentas.sum()), cuentas.nonzero()[:, 0].tolist()
    sumas = [torch.zeros_like(g) for g in gradientes[0]]
    for r in quienes:
        for suma, g in zip(sumas, gradientes[r], strict=True):
            suma += int(cuentas[r]) * g
    cierta = (perdidas * cuentas)[quienes].sum() / total
    if not cerca(perdida, cierta) or not cerca(juntos, [s / total for s in sumas]):
        return False
    x, peso = torch.randn(total, 3, generator=GEN).double(), torch.ones(3, 4).double()
    y = torch.randint(4, (total,), generator=GEN)

    def dice(filas):
        w = peso.clone().requires_grad_()
        media = F.cross_entropy(x[filas] @ w, y[filas])
        return media.detach(), [*torch.autograd.grad(media, [w])]

    dichos = [dice(filas) for filas in torch.arange(total).split(cuentas.tolist())]
    juntas = funcion(torch.stack([m for m, _ in dichos]), [g for _, g in dichos], cuentas)
    return cerca(juntas, dice(slice(None)))


@verdad("26.3")
def _(caso, valor, funcion):
    """Se piden de verdad las tiras, rellenas y cortadas, y se mide lo que ocupa la del primero."""
    cuantos, procesos, etapa, mitad = caso.args
    corto, largo = (torch.float16 if mitad else torch.float32), torch.float32
    tiras = [[corto], [corto], [largo] * (3 if mitad else 2)]
    ocupa = []
    for tipos, desde in zip(tiras, (3, 2, 1), strict=True):
        bytes_ = 0
        for tipo in tipos:
            tira = torch.zeros(cuantos, dtype=tipo)
            if etapa >= desde:
                tira = F.pad(tira, (0, -cuantos % procesos)).view(procesos, -1)[0]
            bytes_ += tira.numel() * tira.element_size()
        ocupa.append(bytes_)
    return cerca(valor, ocupa)


@verdad("26.4")
def _(caso, valor, funcion):
    """Con buzones: cada proceso recuerda qué trozo le ha llegado. Al final, todos la suma."""
    (valores,) = caso.args
    estados, mandados = valor
    n, largo = valores.shape
    trozos = [[list(t) for t in torch.tensor_split(fila, n)] for fila in valores]
    recibido, cuenta = list(range(n)), [0] * n
    ciertos = [valores]
    for paso in range(2 * n - 2):
        cartas = [(recibido[r], list(trozos[r][recibido[r]])) for r in range(n)]
        for r, (cual, numeros) in enumerate(cartas):
            cuenta[r] += len(numeros)
            suyo = trozos[(r + 1) % n]
            if paso < n - 1:
                numeros = [a + b for a, b in zip(suyo[cual], numeros, strict=True)]
            suyo[cual] = numeros
            recibido[(r + 1) % n] = cual
        ciertos.append(torch.tensor([[x for t in fila for x in t] for fila in trozos]).double())
    final = valores.sum(0).expand(n, -1)
    if sum(cuenta) != 2 * (n - 1) * largo or not cerca(estados[-1], final):
        return False
    return cerca(estados, torch.stack(ciertos)) and mandados.tolist() == cuenta


@verdad("26.5")
def _(caso, valor, funcion):
    """Con la red entera y las demás componentes a cero; y la suma es la salida de la red."""
    x, primera, uno, segunda, dos, procesos = caso.args
    ancho = len(segunda)
    puerta, otra = F.linear(x, primera.T, uno).chunk(2, dim=-1)
    medio = F.silu(puerta) * otra
    if not cerca(valor.sum(0), F.linear(medio, segunda.T, dos)):
        return False
    suya = torch.repeat_interleave(
        torch.arange(procesos),
        torch.tensor([ancho // procesos + (r < ancho % procesos) for r in range(procesos)]),
    )
    ciertas = [
        F.linear(medio * (suya == r), segunda.T, dos if r == 0 else None) for r in range(procesos)
    ]
    return cerca(valor, torch.stack(ciertas))


@verdad("26.6")
def _(caso, valor, funcion):
    """De dieciseisavo en dieciseisavo de hora, con una máquina de estados."""
    trabajo, cada, guarda, vuelve, caidas = caso.args
    pasa = 16
    cae = {round(pasa * x) for x in caidas}
    hecho = guardado = resta = repetido = reloj = 0
    estado = "trabaja"
    while True:
        if reloj in cae:
            repetido += hecho - guardado
            hecho, estado, resta = guardado, "vuelve", pasa * vuelve
        if estado != "trabaja" and resta == 0:
            guardado, estado = hecho, "trabaja"
        reloj += 1
        if estado == "trabaja":
            hecho += 1
            if hecho == pasa * trabajo:
                return cerca(valor, (reloj / pasa, repetido / pasa))
            if hecho - guardado == pasa * cada:
                estado, resta = "guarda", pasa * guarda
        else:
            resta -= 1


@verdad("26.7")
def _(caso, valor, funcion):
    """Instante a instante: en cada uno, cada etapa libre mira si puede empezar lo que le toca."""
    ordenes, atras = caso.args
    tabla, parada = valor
    etapas = len(ordenes)
    quedan, ocupada = [list(o) for o in ordenes], [0] * etapas
    acaba, columnas, t = {}, [], 0
    haciendo = [0] * etapas

    def puede(s, k):
        if k > 0:
            return s == 0 or acaba.get((s - 1, k), t + 1) <= t
        return acaba.get((s + 1, k) if s + 1 < etapas else (s, -k), t + 1) <= t

    while any(quedan) or any(o > t for o in ocupada):
        for s in range(etapas):
            if ocupada[s] <= t:
                haciendo[s] = 0
                if quedan[s] and puede(s, quedan[s][0]):
                    haciendo[s] = quedan[s].pop(0)
                    ocupada[s] = t + (1 if haciendo[s] > 0 else atras)
                    acaba[s, haciendo[s]] = ocupada[s]
        columnas.append(list(haciendo))
        t += 1
    if tabla.tolist() != [list(f) for f in zip(*columnas, strict=True)]:
        return False
    lotes = max(ordenes[0])
    ida_y_vuelta = ordenes[0] == [*range(1, lotes + 1), *range(-lotes, 0)]
    if ida_y_vuelta and not cerca(parada, (etapas - 1) / (lotes + etapas - 1)):
        return False
    vacias = sum(c.count(0) for c in columnas)
    return cerca(parada, vacias / (etapas * len(columnas)))


@verdad("26.8")
def _(caso, valor, funcion):
    """Fuerza bruta; si son muchas, el menor tope con que se llega al final llenando cada etapa."""
    tiempos, pesos, activas, etapas, limite = caso.args
    capas = len(tiempos)

    def cabe(s, i, j):
        return sum(pesos[i:j]) + (etapas - s) * sum(activas[i:j]) <= limite

    lenta, cuantas = valor
    cortes = [0]
    for n in cuantas:
        cortes.append(cortes[-1] + n)
    suyos = list(pairwise(cortes))
    if cortes[-1] != capas or len(suyos) != etapas or min(cuantas) < 1:
        return False
    if not all(cabe(s, i, j) for s, (i, j) in enumerate(suyos)):
        return False
    if lenta != max(sum(tiempos[i:j]) for i, j in suyos):
        return False
    if capas <= 10:
        mejores = []
        for medios in combinations(range(1, capas), etapas - 1):
            tramos = list(pairwise((0, *medios, capas)))
            if all(cabe(s, i, j) for s, (i, j) in enumerate(tramos)):
                mejores.append(max(sum(tiempos[i:j]) for i, j in tramos))
        return lenta == min(mejores)

    def llega(tope):
        alcanza = {0}
        for s in range(etapas):
            alcanza = {
                j
                for i in alcanza
                for j in range(i + 1, capas + 1)
                if sum(tiempos[i:j]) <= tope and cabe(s, i, j)
            }
        return capas in alcanza

    return llega(lenta) and not llega(lenta - 1)
