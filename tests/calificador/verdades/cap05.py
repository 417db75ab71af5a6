"""La verdad de los ejercicios del capítulo 5, por otro camino que el de sus soluciones."""

import itertools

import mpmath
import torch
import torch.nn.functional as F

from verdades.tabla import GEN, cerca, verdad


@verdad("5.1")
def _(caso, valor, funcion):
    x, parecido, contenido = caso.args
    fuera = ~torch.eye(x.shape[-2], dtype=torch.bool)
    return cerca(
        valor, F.scaled_dot_product_attention(x @ parecido, x @ parecido, x @ contenido, fuera)
    )


@verdad("5.3")
def _(caso, valor, funcion):
    n, m, d, d_k, d_v = caso.args
    w = [torch.empty(d, ancho, device="meta") for ancho in (d_k, d_k, d_v)]
    q, k, v = (
        torch.empty(largo, d, device="meta") @ p for largo, p in zip((n, m, m), w, strict=True)
    )
    return valor == tuple(tuple(t.shape) for t in (*w, q, k, v, q @ k.T, q @ k.T @ v))


@verdad("5.4")
def _(caso, valor, funcion):
    """Con las capas tal como nacen, la salida es la de PyTorch con esas matrices y esos sesgos."""
    modulo = funcion(**caso.init).double()
    assert (modulo.query.bias is not None) == caso.init["bias"]
    x, otra = caso.args[0], caso.args[-1]
    capas = ((modulo.query, x), (modulo.key, otra), (modulo.value, otra))
    return cerca(
        modulo(*caso.args),
        F.scaled_dot_product_attention(*(F.linear(de, c.weight, c.bias) for c, de in capas)),
    )


@verdad("5.6")
def _(caso, valor, funcion):
    """Se juega: todas las parejas de jugadas, con mesas al azar, puntúan y copian lo que dice el
    enunciado.
    """
    (bits, gana, colores), bonus = caso.args, caso.kwargs["bonus"]
    for una, otra in itertools.product(range(len(gana)), repeat=2):
        mesas = torch.randint(0, 2, (2, bits), generator=GEN) * 2.0 - 1
        jugadas = F.one_hot(torch.tensor([una, otra]), len(gana))
        color = F.one_hot(torch.randint(colores, (2,), generator=GEN), colores)
        yo, rival = torch.cat([mesas, jugadas, color], -1).double()
        puntos = float(mesas[0] @ mesas[1]) + bonus * (gana[una] == otra)
        if not cerca(float((yo @ valor[0]) @ (rival @ valor[1])), puntos) or not cerca(
            rival @ valor[2], color[1].double()
        ):
            return False
    return True


@verdad("5.7")
def _(caso, valor, funcion):
    """Con la capa tal como nace, la salida es la de PyTorch con sus tres trozos."""
    modulo = funcion(**caso.init).double()
    anchos = [
        caso.init["d_v"] if letra == "v" else caso.init["d_k"] for letra in caso.init["order"]
    ]
    trozos = dict(zip(caso.init["order"], modulo.project.weight.split(anchos), strict=True))
    x, otra = caso.args[0], caso.args[-1]
    cierta = F.scaled_dot_product_attention(
        x @ trozos["q"].T, otra @ trozos["k"].T, otra @ trozos["v"].T
    )
    return cerca(modulo(*caso.args), cierta)


@verdad("5.8")
def _(caso, valor, funcion):
    x, z, w_q, w_k, w_v = caso.args
    return cerca(valor, F.scaled_dot_product_attention(x @ w_q, z @ w_k, z @ w_v))


@verdad("5.9")
def _(caso, valor, funcion):
    pesos, ciclo = caso.args[0].tolist(), caso.args[1]
    pasos = list(zip(ciclo, ciclo[1:] + ciclo[:1], strict=True))
    ida, vuelta = (
        mpmath.fprod(pesos[a][b] for a, b in camino)
        for camino in (pasos, [(b, a) for a, b in pasos])
    )
    return cerca(valor, float(mpmath.log(ida / vuelta)))


@verdad("5.10")
def _(caso, valor, funcion):
    puntos, tolerancia = caso.args
    u, s, v = torch.linalg.svd(puntos, full_matrices=False)
    errores = [
        float(torch.linalg.norm(puntos - u[:, :r] * s[:r] @ v[:r])) for r in range(len(s) + 1)
    ]
    return valor == next(
        r for r, e in enumerate(errores) if e <= tolerancia * float(torch.linalg.norm(puntos))
    )


@verdad("5.11")
def _(caso, valor, funcion):
    """El error es el mínimo de Eckart y Young, y las dos matrices tienen la misma W'ᵀW',
    diagonal."""
    consulta, clave, ancho = caso.args
    circuito = consulta @ clave.T
    minimo = torch.linalg.svdvals(circuito)[ancho:].square().sum().sqrt()
    gram = [w.T @ w for w in valor]
    error = torch.linalg.norm(circuito - valor[0] @ valor[1].T)
    return (
        cerca(error, minimo, 1e-8)
        and cerca(gram[0], gram[1], 1e-8)
        and cerca(gram[0], gram[0].diagonal().diag(), 1e-8)
    )


@verdad("5.2")
def _(caso, valor, funcion):
    """La frase entera, con sus cinco rasgos y las matrices del enunciado."""
    frase = ["el", "perro", "que", "vieron", "las", "niñas", "corre"]
    rasgos = [
        [0, 0, 0, 0, -1],
        [1, 0, 0, 1, -1],
        [0] * 5,
        [0, 1, 0, 0, 1],
        [0, 0, 0, 0, 1],
        [1, 0, 1, 0, 1],
        [0, 1, 0, 0, -1],
    ]
    x, w_q, w_k = (
        torch.tensor(rasgos).double(),
        torch.zeros(5, 2).double(),
        torch.zeros(5, 2).double(),
    )
    w_q[1, 0], w_q[4, 1], w_k[0, 0], w_k[4, 1] = 1, 2, 1, 1
    puntos = (x @ w_q) @ (x @ w_k).T

    def casilla(una, otra):
        return float(puntos[frase.index(una), frase.index(otra)])

    pesos = puntos[frase.index("corre")].softmax(0)
    ciertas = {
        "subject": casilla("corre", "perro"),
        "other": casilla("corre", "niñas"),
        "back": casilla("perro", "corre"),
    }
    veces = float(pesos[frase.index("perro")] / pesos[frase.index("el")])
    return {k: v for k, v in valor.items() if k != "times"} == ciertas and abs(
        valor["times"] - veces
    ) < 0.005


@verdad("5.5")
def _(caso, valor, funcion):
    """Se recorren los verbos: quién buscaba a «niñas» con más fuerza es a quien «niñas» mira
    ahora."""
    busca = {
        "las": (0, 2),
        "niñas": (0, 2),
        "que": (0, 0),
        "vio": (4, -2),
        "el": (0, -2),
        "perro": (0, -2),
        "corren": (4, 2),
    }
    return valor == max(busca, key=lambda palabra: busca[palabra][0] * 1 + busca[palabra][1] * 1)
