"""La verdad de los ejercicios del capítulo 9, por otro camino que el de sus soluciones."""

import cmath
import math
from fractions import Fraction

import mpmath
import torch

from verdades.tabla import cerca, verdad


def _matriz(sitio: float, d: int, base: float) -> torch.Tensor:
    """El giro de un sitio como exponencial de una matriz antisimétrica, por parejas contiguas."""
    generador = torch.zeros(d, d, dtype=torch.float64)
    for i in range(0, d, 2):
        velocidad = math.exp(-i / d * math.log(base))
        generador[i + 1, i], generador[i, i + 1] = velocidad, -velocidad
    return torch.linalg.matrix_exp(sitio * generador)


def _base(caso) -> float:
    return caso.kwargs.get("base", 10000.0)


@verdad("9.1")
def _(caso, valor, funcion):
    """Celda por celda, con fracciones del exponente."""
    consultas, claves, cabezas = caso.args
    cierta = [
        [
            [
                -math.inf if j > i else -(i - j) * 0.5 ** float(Fraction(8 * (h + 1), cabezas))
                for j in range(claves)
            ]
            for i in range(claves - consultas, claves)
        ]
        for h in range(cabezas)
    ]
    return cerca(valor, torch.tensor(cierta, dtype=torch.float64))


@verdad("9.2")
def _(caso, valor, funcion):
    """Con números complejos de precisión arbitraria."""
    paso = mpmath.expjpi(mpmath.mpf(1) / 6)
    q, k = mpmath.mpc(2, 1), mpmath.mpc(1, 2)

    def puntuacion(i, j):
        return (mpmath.conj(q * paso**i) * (k * paso**j)).real

    ciertas = {
        "first": (q * paso**3).real,
        "score": puntuacion(3, 1),
        "shifted": puntuacion(10, 8),
        "swapped": puntuacion(1, 3),
    }
    return all(abs(valor[nombre] - float(x)) < 1e-9 for nombre, x in ciertas.items())


@verdad("9.3")
def _(caso, valor, funcion):
    """Vector por vector, con la exponencial de la matriz."""
    x, sitios = (dado.detach() for dado in caso.args)
    d, base = x.shape[-1], _base(caso)
    mitades = [k for i in range(d // 2) for k in (i, i + d // 2)]
    orden = mitades if caso.kwargs.get("layout") == "half" else list(range(d))
    cierta = torch.empty_like(x)
    for b, h, n in torch.cartesian_prod(*map(torch.arange, x.shape[:-1])).tolist():
        sitio = float(sitios[n] if sitios.ndim == 1 else sitios[b, n])
        cierta[b, h, n, orden] = _matriz(sitio, d, base) @ x[b, h, n, orden]
    return cerca(valor.detach(), cierta)


@verdad("9.4")
def _(caso, valor, funcion):
    torch.manual_seed(1)
    q, k, v = torch.randn(3, 6, 4, dtype=torch.float64)

    def cabeza(desde):
        giros = [_matriz(desde + i, 4, 100.0) for i in range(6)]
        a, b, c = (torch.stack([g @ u for g, u in zip(giros, x, strict=True)]) for x in (q, k, v))
        pesos = (a @ b.T / 2).softmax(-1)
        return pesos, pesos @ c

    (pesos, salida), (otros, otra) = cabeza(0), cabeza(7)
    return cerca(pesos, otros) and not cerca(salida, otra, 1e-3) and valor == "las salidas"


@verdad("9.5")
def _(caso, valor, funcion):
    """Los bordes de cada cubo, con precisión arbitraria, y contando cuántos se han pasado."""
    cubos = caso.kwargs.get("n_buckets", 32)
    lejos = caso.kwargs.get("max_distance", 128)
    lado = cubos // 2
    propios = lado // 2
    razon = mpmath.mpf(lejos) / propios
    bordes = [propios * razon ** (mpmath.mpf(k) / (lado - propios)) for k in range(lado - propios)]

    def cubo(delta):
        distancia = abs(delta)
        corta = sum(distancia >= i for i in range(1, propios))
        larga = sum(distancia >= borde for borde in bordes)
        return corta + larga + (lado if delta > 0 else 0)

    cierta = torch.tensor([cubo(delta) for delta in caso.args[0].flatten().tolist()])
    return valor.dtype == torch.int64 and torch.equal(valor.flatten(), cierta)


@verdad("9.6")
def _(caso, valor, funcion):
    """Consulta por consulta, con las claves y los valores ya sumados a sus vectores."""
    query, key, value, de_clave, de_valor = (dado.detach() for dado in caso.args)
    n, alcance = query.shape[-2], len(de_clave) // 2
    filas = []
    for i in range(n):
        cual = [alcance + max(-alcance, min(alcance, j - i)) for j in range(n)]
        claves, valores = key + de_clave[cual], value + de_valor[cual]
        filas.append(
            torch.nn.functional.scaled_dot_product_attention(
                query[..., i : i + 1, :], claves, valores
            )
        )
    return cerca(valor.detach(), torch.cat(filas, dim=-2))


@verdad("9.7")
def _(caso, valor, funcion):
    """Lo que la define: proporcional al sitio, y cuánto se frenan la primera pareja y la última."""
    n, d, entrenado, manera = caso.args
    freno = max(Fraction(1), Fraction(n, entrenado))
    sitios = torch.arange(n, dtype=torch.float64)[:, None]
    if n == 1:
        return tuple(valor.shape) == (1, d // 2) and not valor.any()
    if not cerca(valor, sitios * valor[1]):
        return False
    normal = [mpmath.mpf(_base(caso)) ** (-mpmath.mpf(2 * r) / d) for r in range(d // 2)]
    frenos = [float(w / mpmath.mpf(x)) for w, x in zip(normal, valor[1].tolist(), strict=True)]
    if manera == "interpolation":
        return all(abs(f - freno) < 1e-9 for f in frenos)
    ratios = [b / a for a, b in zip(frenos, frenos[1:], strict=False)]  # progresión geométrica
    return (
        abs(frenos[0] - 1) < 1e-9
        and abs(frenos[-1] - freno) < 1e-9
        and all(abs(r - ratios[0]) < 1e-9 for r in ratios)
    )


@verdad("9.8")
def _(caso, valor, funcion):
    """Sin caché: se desgira lo guardado y se gira todo de una vez."""
    query, key, guardada = (dado.detach() for dado in caso.args)
    pasado, n, d = guardada.shape[-2], key.shape[-2], key.shape[-1]
    giros = [_matriz(i, d, _base(caso)) for i in range(pasado + n)]
    crudas = torch.stack([guardada[..., i, :] @ giros[i] for i in range(pasado)], dim=-2)
    todas = torch.cat([crudas, key], dim=-2)
    giradas = torch.stack([todas[..., i, :] @ g.T for i, g in enumerate(giros)], dim=-2)
    consultas = torch.stack([query[..., i, :] @ giros[pasado + i].T for i in range(n)], dim=-2)
    puntuaciones = torch.einsum("bhid,bhjd->bhij", consultas, giradas) / d**0.5
    return cerca(valor.detach(), puntuaciones)


@verdad("9.9")
def _(caso, valor, funcion):
    """Pareja a pareja, con números complejos."""
    key, saltos = (dado.detach() for dado in caso.args)
    ancho = caso.kwargs.get("rotary_dim") or key.shape[-1]
    cierta = key.clone()
    for b, salto in enumerate(saltos.tolist()):
        for i in range(0, ancho, 2):
            giro = cmath.exp(1j * salto * _base(caso) ** (-i / ancho))
            par = torch.complex(key[b, ..., i], key[b, ..., i + 1]) * giro
            cierta[b, ..., i], cierta[b, ..., i + 1] = par.real, par.imag
    return cerca(valor.detach(), cierta)
