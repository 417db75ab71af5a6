"""La verdad de los ejercicios del capítulo 8, por otro camino que el de sus soluciones."""

import cmath
import math

import mpmath
import torch

from verdades.tabla import cerca, verdad


def _fila(sitio: float, d: int, base: float) -> list[float]:
    """Una fila con números complejos: cada aguja es e^{iωp}."""
    agujas = [cmath.exp(1j * sitio * math.exp(-2 * i / d * math.log(base))) for i in range(d // 2)]
    return [parte for z in agujas for parte in (z.imag, z.real)]


def _tabla(sitios: torch.Tensor, d: int, base: float) -> torch.Tensor:
    filas = [_fila(float(p), d, base) for p in sitios.flatten()]
    return torch.tensor(filas, dtype=torch.float64).reshape(*sitios.shape, d)


def _base(caso) -> float:
    return caso.kwargs.get("base", 10000.0)


@verdad("8.1")
def _(caso, valor, funcion):
    antes, luego = (_tabla(torch.arange(a, a + 4), 6, 10000.0) for a in (0, 7))
    iguales = torch.allclose(antes @ antes.T, luego @ luego.T)
    return iguales and not torch.allclose(antes, luego) and valor == "las filas"


@verdad("8.2")
def _(caso, valor, funcion):
    sitios, d = caso.args
    return cerca(valor, _tabla(sitios, d, _base(caso)))


@verdad("8.3")
def _(caso, valor, funcion):
    """Las filas enteras, con precisión arbitraria."""

    def fila(p):
        return [f(p / mpmath.mpf(10000) ** (mpmath.mpf(i) / 2)) for i in (0, 1)
                for f in (mpmath.sin, mpmath.cos)]  # fmt: skip

    ciertas = {
        "first": fila(3)[0],
        "last": fila(100)[3],
        "norm": sum(x * x for x in fila(7)),
        "product": sum(x * y for x, y in zip(fila(5), fila(8), strict=True)),
    }
    return all(abs(valor[nombre] - float(x)) < 1e-9 for nombre, x in ciertas.items())


@verdad("8.4")
def _(caso, valor, funcion):
    codigo = caso.args[0]
    mitad = codigo.shape[-1] // 2
    orden = [k for i in range(mitad) for k in (i, i + mitad)]
    return cerca(valor, codigo[..., orden])


@verdad("8.5")
def _(caso, valor, funcion):
    """Palabra por palabra, con un contador."""
    x, tabla, mascara = caso.args
    cierta = x.detach().clone()
    for b in range(x.shape[0]):
        sitio = 0
        for i in range(x.shape[1]):
            if mascara[b, i]:
                cierta[b, i] += tabla[sitio].detach()
                sitio += 1
    return cerca(valor.detach(), cierta)


@verdad("8.6")
def _(caso, valor, funcion):
    """Adelanta de verdad, en sitios de sobra para que solo haya una matriz que lo haga."""
    delta, d = caso.args
    sitios = torch.linspace(-500, 500, 60, dtype=torch.float64)
    antes, luego = (_tabla(sitios + salto, d, _base(caso)) for salto in (0.0, delta))
    return cerca(antes @ valor, luego, 1e-9) and cerca(
        valor @ valor.T, torch.eye(d, dtype=torch.float64)
    )


@verdad("8.7")
def _(caso, valor, funcion):
    x = caso.args[0].detach()
    return cerca(valor.detach() - x, _tabla(torch.arange(x.shape[1]), x.shape[2], 10000.0)
                 .expand_as(x))  # fmt: skip


@verdad("8.8")
def _(caso, valor, funcion):
    """El coseno con el código del sitio hallado no lo supera el de ningún otro."""
    filas, limite = caso.args
    d = filas.shape[1]
    velocidad = torch.tensor([_base(caso) ** (-2 * i / d) for i in range(d // 2)]).double()
    aguja = torch.polar(torch.ones(()).double(), torch.outer(torch.arange(limite), velocidad))
    dada = torch.complex(filas[:, 1::2].contiguous(), filas[:, 0::2].contiguous())
    parecido = (dada @ aguja.conj().T).real
    return torch.equal(valor, parecido.argmax(-1))


@verdad("8.9")
def _(caso, valor, funcion):
    """Las puntuaciones de cuarenta sitios son las pedidas."""
    salto, d, nitidez = caso.args
    sitios = torch.arange(40, dtype=torch.float64)
    p, lejos = (_tabla(sitios + s, d, _base(caso)) for s in (0.0, salto))
    return cerca((p @ valor[0]) @ (p @ valor[1]).T, nitidez * lejos @ p.T, 1e-8)
