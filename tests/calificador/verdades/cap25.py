"""La verdad de los ejercicios del capítulo 25, por otro camino que el de sus soluciones."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from atento.interpret import fit_probe, induction_target, mass_on
from verdades.tabla import GEN, cerca, verdad


@verdad("25.1")
def _(caso, valor, funcion):
    """Pareja a pareja, y la puntuación de la biblioteca."""
    pesos, ids = caso.args
    fichas, filas = ids.tolist(), []
    for i in range(len(fichas)):
        claves = [j for j in range(1, i) if fichas[j - 1] == fichas[i]]
        if claves:
            filas.append(sum(pesos[:, i, j] for j in claves))
    return cerca(valor, sum(filas) / len(filas)) and cerca(
        valor, mass_on(pesos, induction_target(ids))
    )


@verdad("25.2")
def _(caso, valor, funcion):
    """Con una capa de salida de verdad: a cero son sus columnas, y a la media, su sesgo."""
    b, bien = [6.0, 2.0, 5.0, 2.0, 1.0], torch.tensor([1, 0, 1, 0, 0]).bool()
    juntas = torch.tensor([[2.0, -1.0, x] for x in b], dtype=torch.float64)
    salida = nn.Linear(3, 1).double()

    def puntua(a=1.0, media_de=()):
        with torch.no_grad():
            salida.weight.copy_(torch.tensor([[a * 1.0, a * -2.0, 1.0]]))
            salida.bias.fill_(-7.0)
            for i in media_de:
                salida.bias += salida.weight[0, i] * juntas[:, i].mean()
                salida.weight[0, i] = 0
            return salida(juntas)[:, 0]

    def aciertos(puntos):
        return int(((puntos > 0) == bien).sum())

    return cerca(
        valor,
        {
            "writes": float((puntua() - puntua(0.0))[0]),
            "zero": aciertos(puntua(0.0)),
            "mean": aciertos(puntua(media_de=(0, 1))),
            "score": float(puntua(media_de=(2,))[3]),
            "hits": aciertos(puntua(media_de=(2,))),
        },
    )


@verdad("25.3")
def _(caso, valor, funcion):
    """Con otro modelo, no lineal, y la sonda de la biblioteca."""
    signos = torch.randint(2, (300, 2), generator=GEN)
    x = torch.cat([2.0 * signos - 1, 0.2 * torch.randn(300, 3, generator=GEN)], dim=1).double()
    hondo = nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Linear(16, 1)).double()
    with torch.no_grad():
        hondo[0].weight[:, 1] = 0
        lee, toca = [], {"el borrado": [], "el parche": []}
        for rasgo in (0, 1):
            azar = torch.randint(2, (300,), generator=GEN)
            sondas = [(fit_probe(x[:150], y[:150]), y[150:]) for y in (signos[:, rasgo], azar)]
            lee.append([sonda.accuracy(x[150:], y) > 0.9 for sonda, y in sondas] == [True, False])
            sin, otro = x.clone(), x.clone()
            sin[:, rasgo], otro[:, rasgo] = 0, x.roll(7, 0)[:, rasgo]
            for nombre, cambiado in (("el borrado", sin), ("el parche", otro)):
                toca[nombre].append(bool((hondo(cambiado) - hondo(x)).abs().max() > 1e-6))
    distinguen = [n for n, (uno, dos) in toca.items() if uno and not dos]
    return lee == [True, True] and valor == " y ".join(distinguen)


@verdad("25.4")
def _(caso, valor, funcion):
    """La norma de PyTorch, y la altura, probándolas todas."""
    estados, ganancia, sesgo, tabla = caso.args
    normados = F.layer_norm(
        estados, estados.shape[-1:], ganancia, sesgo, caso.kwargs.get("eps", 1e-5)
    )
    puntos, desde = valor
    dicho = puntos.max(-1).indices.tolist()
    ciertas = [
        next(h for h in range(len(dicho)) if all(f[i] == dicho[-1][i] for f in dicho[h:]))
        for i in range(estados.shape[1])
    ]
    return cerca(puntos, F.linear(normados, tabla)) and desde.tolist() == ciertas


@verdad("25.5")
def _(caso, valor, funcion):
    """Mínimos cuadrados de NumPy: lo que sobra es perpendicular a cada columna."""
    estados, etiquetas, palabras, control, quien = caso.args
    x = np.column_stack([np.ones(len(estados)), estados.numpy()])
    dentro, aciertos = quien.numpy(), []
    for puntos, meta in zip(valor[0], (etiquetas, control[palabras]), strict=True):
        dianas = np.eye(int(etiquetas.max()) + 1)[meta.numpy()]
        sonda = np.linalg.solve(x[dentro].T @ x[dentro], x[dentro].T @ dianas[dentro])
        if not np.allclose(puntos.numpy(), x[~dentro] @ sonda, atol=1e-8):
            return False
        aciertos.append(np.mean(puntos.numpy().argmax(1) == meta.numpy()[~dentro]))
    return cerca(valor[1], float(aciertos[0] - aciertos[1]))


@verdad("25.6")
def _(caso, valor, funcion):
    """Lo que queda es perpendicular, y lo quitado es combinación de las direcciones."""
    x, direcciones = caso.args
    media = caso.kwargs.get("mean")
    dado = direcciones @ (torch.zeros_like(x[0]) if media is None else media)
    columnas, quitado = direcciones.T.numpy(), (x - valor).T.numpy()
    resto = quitado - columnas @ np.linalg.lstsq(columnas, quitado, rcond=1e-10)[0]
    return cerca(valor @ direcciones.T, dado.expand(len(x), -1)) and np.abs(resto).max() < 1e-9


class _Capa(nn.Module):
    def __init__(self, mezcla, peso):
        super().__init__()
        self.mezcla, self.peso = mezcla, peso

    def forward(self, x):
        return x + (self.mezcla @ x @ self.peso).tanh()


@verdad("25.7")
def _(caso, valor, funcion):
    """Con módulos y ganchos; la última altura solo ve la última posición."""
    buena, mala, mezclas, pesos, lee = caso.args
    capas = [nn.Identity(), *(_Capa(m, p) for m, p in zip(mezclas, pesos, strict=True))]
    modelo, guardado = nn.Sequential(*capas), []
    ganchos = [c.register_forward_hook(lambda *a: guardado.append(a[2].clone())) for c in capas]
    mejor = lee @ modelo(buena)[-1]
    for gancho in ganchos:
        gancho.remove()
    peor, cierto = lee @ modelo(mala)[-1], torch.empty_like(valor)
    for altura, capa in enumerate(capas):
        for sitio in range(len(buena)):
            elegida = torch.arange(len(buena))[:, None] == sitio
            gancho = capa.register_forward_hook(
                lambda *a, e=elegida, h=altura: torch.where(e, guardado[h], a[2])
            )
            cierto[altura, sitio] = (lee @ modelo(mala)[-1] - peor) / (mejor - peor)
            gancho.remove()
    ultima = F.one_hot(torch.tensor(len(buena) - 1), len(buena)).to(valor)
    return cerca(valor, cierto) and cerca(valor[-1], ultima)


@verdad("25.8")
def _(caso, valor, funcion):
    """No se nota, y lo que falta hasta donde se quería no tiene nada más que se pueda avanzar."""
    pesos, valores, hacia = caso.args
    if not cerca(valor @ valores, pesos @ valores) or not cerca(valor.sum(1), pesos.sum(1)):
        return False
    for ahora, otra, meta in zip(pesos.numpy(), valor.numpy(), hacia.numpy(), strict=True):
        ve = ahora > 0
        if otra.min() < -1e-12 or np.abs(otra[~ve]).max(initial=0) > 0:
            return False
        columnas = np.column_stack([valores.numpy()[ve], np.ones(ve.sum())])
        falta = (meta - ahora)[ve]
        libre = falta - columnas @ np.linalg.lstsq(columnas, falta, rcond=1e-9)[0]
        if np.abs(libre).max() < 1e-9:
            avance = 1.0
        else:
            avance = (otra - ahora)[ve] @ libre / (libre @ libre)
        if np.abs((otra - ahora)[ve] - avance * libre).max() > 1e-9:
            return False
        if not (abs(avance - 1) < 1e-9 or (0 <= avance < 1 and otra[ve].min() < 1e-9)):
            return False
    return True
