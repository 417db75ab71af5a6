"""La verdad de cada ejercicio, por un camino que no es el de su solución: fuerza bruta, simulación, PyTorch o mpmath.

``VERDADES[id](caso, valor, funcion)`` dice si ``valor``, lo que da la referencia en ``caso``, es cierto.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from calificador.correccion.compara import Contexto, diferencia

Verdad = Callable[[Any, Any, Any], bool]
VERDADES: dict[str, Verdad] = {}
GEN = torch.Generator().manual_seed(0)


def verdad(identificador: str) -> Callable[[Verdad], Verdad]:
    """Apunta una función en la tabla."""

    def apunta(funcion: Verdad) -> Verdad:
        VERDADES[identificador] = funcion
        return funcion

    return apunta


def cerca(valor: Any, cierto: Any, tolerancia: float = 1e-9) -> bool:
    """¿Son iguales, con la tolerancia?"""
    return diferencia(valor, cierto, Contexto(tolerancia)) is None


def nadaraya(puntos: list[list[Any]], valores: torch.Tensor, extra: list[Any] = ()) -> torch.Tensor:
    """Σ e^s v / Σ e^s con precisión y exponente arbitrarios; ``None`` es una clave tapada."""
    filas = []
    for fila in puntos:
        pesos = [mpmath.mpf(0) if s is None else mpmath.exp(s) for s in fila]
        total = sum(pesos) + sum(map(mpmath.exp, extra))
        pesos = [float(p / total) if total else 0.0 for p in pesos]
        filas.append(torch.tensor(pesos, dtype=torch.float64) @ valores)
    return torch.stack(filas)


# --- Refresco ----------------------------------------------------------------------------------------------------------


@verdad("0.1")
def _(caso, valor, funcion):
    q, k = torch.zeros(5, 1, 3), torch.zeros(7, 3)
    return (valor["axes"], valor["elements"], valor["compared"]) == (
        (q - k).ndim, (q - k).numel(), (q * k).sum(-1).numel())  # fmt: skip


@verdad("0.2")
def _(caso, valor, funcion):
    matriz = torch.tensor([[1.0, 2], [0, 2], [2, 0]])
    fila = (matriz.T @ matriz)[0]
    with FlopCounterMode(display=False) as cuenta:
        resultado = torch.zeros(512, 64) @ torch.zeros(64, 512)
    justas = (valor["dot_products"], valor["multiplications"]) == (resultado.numel(), cuenta.get_total_flops() // 2)
    return fila.tolist() == [valor["first"], valor["second"]] and justas


@verdad("0.3")
def _(caso, valor, funcion):
    puntos = torch.tensor([0.0, math.log(9)], dtype=torch.float64)
    jacobiana = torch.func.jacrev(lambda s: s.softmax(0))(puntos)
    ciertos = (*puntos.softmax(0), jacobiana[0, 0], jacobiana[0, 1])
    dados = (valor[k] for k in ("small", "large", "diagonal", "off_diagonal"))
    return all(cerca(d, float(c), 1e-9) for d, c in zip(dados, ciertos, strict=True))


@verdad("0.4")
def _(caso, valor, funcion):
    q = torch.distributions.Categorical(torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64))
    p = torch.distributions.Categorical(torch.full((3,), 1 / 3, dtype=torch.float64))
    divergencia = float(torch.distributions.kl_divergence(q, p))
    return cerca(valor["entropy"], float(q.entropy()), 1e-6) and cerca(valor["divergence"], divergencia, 1e-6)


@verdad("0.5")
def _(caso, valor, funcion):
    azar = torch.randn(2, 2_000_000, generator=GEN, dtype=torch.float64)
    x, y = 2 * azar[0], 3 * azar[1]
    medidas = {"sum": x + y, "difference": x - y, "double": 2 * x, "product": x * y}
    return all(abs(float(z.var()) / valor[k] - 1) < 0.02 for k, z in medidas.items())


@verdad("0.6")
def _(caso, valor, funcion):
    matriz = 2 + 3 * torch.eye(5, dtype=torch.float64)
    justos = (valor["rank"], valor["trace"]) == (int(torch.linalg.matrix_rank(matriz)), float(matriz.trace()))
    return justos and cerca(valor["singular_value"], float(torch.linalg.svdvals(matriz)[0]), 1e-9)


@verdad("0.7")
def _(caso, valor, funcion):
    for maximo, nombre in ((1.0, "clipped"), (10.0, "untouched")):
        w = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
        w.grad = torch.tensor([3.0, -4.0], dtype=torch.float64)
        torch.nn.utils.clip_grad_norm_([w], maximo)
        dado = torch.tensor([valor[f"{nombre}_x"], valor[f"{nombre}_y"]], dtype=torch.float64)
        if not torch.allclose(dado, w.grad, atol=1e-5):
            return False
    return True


# --- Capítulo 3 --------------------------------------------------------------------------------------------------------


@verdad("3.6")
def _(caso, valor, funcion):
    query, keys, w_q, w_k, v, valid = caso.args
    filas = []
    for b in range(len(query)):
        puntos = [
            sum(float(v[a]) * math.tanh(float(query[b] @ w_q[:, a] + keys[b, j] @ w_k[:, a])) for a in range(len(v)))
            if valid[b, j] else None
            for j in range(keys.shape[1])
        ]  # fmt: skip
        filas.append(nadaraya([puntos], keys[b])[0])
    return cerca(valor, torch.stack(filas))


@verdad("3.3")
def _(caso, valor, funcion):
    x, h, c, w_x, w_h, b = caso.args
    celda = torch.nn.LSTMCell(x.shape[1], h.shape[1], dtype=torch.float64)
    celda.load_state_dict({"weight_ih": w_x.T, "weight_hh": w_h.T, "bias_ih": b, "bias_hh": torch.zeros_like(b)})
    return cerca(valor, [v.detach() for v in celda(x, (h, c))])


@verdad("3.5")
def _(caso, valor, funcion):
    x, h, states, weights, (w_x, w_c, w_h, b) = caso.args
    contexto = torch.bmm(weights[:, None], states)[:, 0]
    junta = torch.nn.RNNCell(x.shape[1] + contexto.shape[1], h.shape[1], dtype=torch.float64)
    estado = {"weight_ih": torch.cat([w_x, w_c]).T, "weight_hh": w_h.T, "bias_ih": b, "bias_hh": torch.zeros_like(b)}
    junta.load_state_dict(estado)
    return cerca(valor, junta(torch.cat([x, contexto], -1), h).detach())


@verdad("3.7")
def _(caso, valor, funcion):
    frases = torch.nn.utils.rnn.unpad_sequence(caso.args[0], caso.args[1], batch_first=True)
    return cerca(valor, torch.stack([f.mean(0) for f in frases]))


@verdad("3.2")
def _(caso, valor, funcion):
    fidelidad, umbral = (Fraction(caso.kwargs[n]) for n in ("fidelity", "threshold"))
    probables = [math.prod(fidelidad ** (n - 1 - i) for i in range(n)) for n in caso.args[0]]
    return valor == [i for p, i in sorted((p, i) for i, p in enumerate(probables)) if p < umbral]


@verdad("3.8")
def _(caso, valor, funcion):
    pesos, validas = caso.args[0].tolist(), [j for j, v in enumerate(caso.args[1].tolist()) if v]
    mira = [next(j for j in validas if all(fila[j] >= fila[o] for o in validas)) for fila in pesos]
    return valor == [t for t in range(len(mira) - 1) if mira[t] - mira[t + 1] == 1]


@verdad("3.9")
def _(caso, valor, funcion):
    entradas, w_x, w_h, direccion = caso.args
    red = torch.nn.RNN(w_x.shape[0], w_x.shape[1], bias=False, dtype=torch.float64)
    red.load_state_dict({"weight_ih_l0": w_x.T, "weight_hh_l0": w_h.T})
    entradas = entradas.clone().requires_grad_()
    (red(entradas)[0][-1] @ direccion).backward()
    return cerca(valor, entradas.grad.norm(dim=-1).flip(0))


# --- Capítulo 4 --------------------------------------------------------------------------------------------------------


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
    """La función de PyTorch: la salida con los valores dados y los pesos con la identidad como valores."""
    query, key, value, *mask = caso.args
    mask, identidad = mask[0] if mask else None, torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], -1)
    salida, pesos = (F.scaled_dot_product_attention(query, key, v, attn_mask=mask) for v in (value, identidad))
    return cerca(valor[0], salida, 1e-8) and cerca(valor[1], pesos, 1e-8)


@verdad("4.6")
def _(caso, valor, funcion):
    query, key, value, tau = caso.args
    return cerca(valor, F.scaled_dot_product_attention(query / tau[..., None], key, value, scale=1.0))


@verdad("4.7")
def _(caso, valor, funcion):
    query, key, value, ancho, mask = caso.args
    puntos = [
        [-mpmath.fsum((q - k) ** 2 for q, k in zip(fila, otra, strict=True)) / (2 * mpmath.mpf(ancho) ** 2) if ve else None
         for otra, ve in zip(key.tolist(), vale, strict=True)]
        for fila, vale in zip(query.tolist(), mask.tolist(), strict=True)
    ]  # fmt: skip
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
    cuales = [torch.randint(len(x), (10**6,), generator=GEN) for x in caso.args]  # simulación: parejas al azar
    productos = (consultas[cuales[0]] * claves[cuales[1]]).sum(-1)
    return abs(valor / float(productos.std()) - 1) < 0.01


@verdad("4.10")
def _(caso, valor, funcion):
    puntos, tangente, beta = caso.args
    return cerca(valor, torch.func.jvp(lambda s: (beta * s).softmax(-1), (puntos,), (tangente,))[1])


@verdad("4.12")
def _(caso, valor, funcion):
    """La entropía que sale es la pedida, y con un β una millonésima mayor o menor se pasa o no llega."""
    puntos, pedida = caso.args

    def entropia(beta):
        return torch.distributions.Categorical(logits=beta[:, None] * puntos).entropy()

    dentro = (entropia(valor * (1 - 1e-6)) > pedida) & (entropia(valor * (1 + 1e-6)) < pedida)
    return bool(dentro.all() and (valor <= 1e4).all())


@verdad("4.13")
def _(caso, valor, funcion):
    """Por bloques, desde el estado vacío, sale la atención de PyTorch; y el estado dado se mezcla en logaritmos."""
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
    nueva = (puntos.logsumexp(-1, keepdim=True) - suma).exp()  # lo que pesa el bloque frente a lo de antes
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
    return cerca(valor, F.scaled_dot_product_attention(query[None], key[None], value[None], vale, scale=escala)[0])


# --- Capítulo 5 --------------------------------------------------------------------------------------------------------


@verdad("5.1")
def _(caso, valor, funcion):
    x, parecido, contenido = caso.args
    fuera = ~torch.eye(x.shape[-2], dtype=torch.bool)
    return cerca(valor, F.scaled_dot_product_attention(x @ parecido, x @ parecido, x @ contenido, fuera))


@verdad("5.3")
def _(caso, valor, funcion):
    n, m, d, d_k, d_v = caso.args
    w = [torch.empty(d, ancho, device="meta") for ancho in (d_k, d_k, d_v)]
    q, k, v = (torch.empty(largo, d, device="meta") @ p for largo, p in zip((n, m, m), w, strict=True))
    return valor == tuple(tuple(t.shape) for t in (*w, q, k, v, q @ k.T, q @ k.T @ v))


@verdad("5.4")
def _(caso, valor, funcion):
    """Con las capas tal como nacen, la salida es la de PyTorch con esas matrices y esos sesgos."""
    modulo = funcion(**caso.init).double()
    assert (modulo.query.bias is not None) == caso.init["bias"]
    x, otra = caso.args[0], caso.args[-1]
    capas = ((modulo.query, x), (modulo.key, otra), (modulo.value, otra))
    return cerca(modulo(*caso.args), F.scaled_dot_product_attention(*(F.linear(de, c.weight, c.bias) for c, de in capas)))


@verdad("5.6")
def _(caso, valor, funcion):
    """Se juega: todas las parejas de jugadas, con mesas al azar, puntúan y copian lo que dice el enunciado."""
    (bits, gana, colores), bonus = caso.args, caso.kwargs["bonus"]
    for una, otra in itertools.product(range(len(gana)), repeat=2):
        mesas = torch.randint(0, 2, (2, bits), generator=GEN) * 2.0 - 1
        jugadas = F.one_hot(torch.tensor([una, otra]), len(gana))
        color = F.one_hot(torch.randint(colores, (2,), generator=GEN), colores)
        yo, rival = torch.cat([mesas, jugadas, color], -1).double()
        puntos = float(mesas[0] @ mesas[1]) + bonus * (gana[una] == otra)
        if not cerca(float((yo @ valor[0]) @ (rival @ valor[1])), puntos) or not cerca(rival @ valor[2], color[1].double()):
            return False
    return True


@verdad("5.7")
def _(caso, valor, funcion):
    """Con la capa tal como nace, la salida es la de PyTorch con sus tres trozos."""
    modulo = funcion(**caso.init).double()
    anchos = [caso.init["d_v"] if letra == "v" else caso.init["d_k"] for letra in caso.init["order"]]
    trozos = dict(zip(caso.init["order"], modulo.project.weight.split(anchos), strict=True))
    x, otra = caso.args[0], caso.args[-1]
    cierta = F.scaled_dot_product_attention(x @ trozos["q"].T, otra @ trozos["k"].T, otra @ trozos["v"].T)
    return cerca(modulo(*caso.args), cierta)


@verdad("5.8")
def _(caso, valor, funcion):
    x, z, w_q, w_k, w_v = caso.args
    return cerca(valor, F.scaled_dot_product_attention(x @ w_q, z @ w_k, z @ w_v))


@verdad("5.9")
def _(caso, valor, funcion):
    pesos, ciclo = caso.args[0].tolist(), caso.args[1]
    pasos = list(zip(ciclo, ciclo[1:] + ciclo[:1], strict=True))
    ida, vuelta = (mpmath.fprod(pesos[a][b] for a, b in camino) for camino in (pasos, [(b, a) for a, b in pasos]))
    return cerca(valor, float(mpmath.log(ida / vuelta)))


@verdad("5.10")
def _(caso, valor, funcion):
    puntos, tolerancia = caso.args
    u, s, v = torch.linalg.svd(puntos, full_matrices=False)
    errores = [float(torch.linalg.norm(puntos - u[:, :r] * s[:r] @ v[:r])) for r in range(len(s) + 1)]
    return valor == next(r for r, e in enumerate(errores) if e <= tolerancia * float(torch.linalg.norm(puntos)))


@verdad("5.11")
def _(caso, valor, funcion):
    """El error es el mínimo de Eckart y Young, y las dos matrices tienen la misma W'ᵀW', diagonal."""
    consulta, clave, ancho = caso.args
    circuito = consulta @ clave.T
    minimo = torch.linalg.svdvals(circuito)[ancho:].square().sum().sqrt()
    gram = [w.T @ w for w in valor]
    error = torch.linalg.norm(circuito - valor[0] @ valor[1].T)
    return cerca(error, minimo, 1e-8) and cerca(gram[0], gram[1], 1e-8) and cerca(gram[0], gram[0].diagonal().diag(), 1e-8)


# --- Lo que se escribe a mano --------------------------------------------------------------------------------------------


@verdad("3.1")
def _(caso, valor, funcion):
    """Simulación: cada palabra de cada frase se recuerda o no, cien mil veces."""

    def sale_bien(n):
        recuerda = torch.rand(100_000, n, generator=GEN) < 0.9 ** torch.arange(n - 1, -1, -1)
        return float(recuerda.all(-1).double().mean())

    justa = sale_bien(valor["longest"]) > 0.52 and sale_bien(valor["longest"] + 1) < 0.48
    return abs(sale_bien(5) - valor["five_words"]) < 0.01 and justa


@verdad("3.4")
def _(caso, valor, funcion):
    """La tangente por sus exponenciales y la softmax de mpmath, con cincuenta cifras."""
    with mpmath.workdps(50):
        def tangente(x):
            return (mpmath.exp(2 * x) - 1) / (mpmath.exp(2 * x) + 1)

        puntos = [-4 * (tangente(1 + a) + tangente(1 + b)) for a, b in ((1, 1), (1, 0), (0, 1))]
        pesos = [mpmath.exp(s) / sum(map(mpmath.exp, puntos)) for s in puntos]
        buenas = {"la": pesos[0], "casa": pesos[1], "context": pesos[0] + pesos[1]}
    return all(abs(valor[clave] - float(buena)) < 1e-9 for clave, buena in buenas.items())


@verdad("4.2")
def _(caso, valor, funcion):
    """Las tablas del capítulo, con la función de PyTorch y otra consulta."""
    claves = torch.tensor([[0, 0.5], [0, 0], [2, 0], [0, 1], [1, 2]])
    valores = torch.tensor([[0.4, 0.4], [0, 0], [1, 1], [0, 0], [2, 0]])
    consulta, identidad = torch.tensor([[2.0, 0]]), torch.eye(5)
    pesos, salida = (
        F.scaled_dot_product_attention(consulta[None], claves[None], v[None])[0, 0] for v in (identidad, valores)
    )
    cociente = float((pesos[2] / pesos[1]).log())  # la puntuación de «la» es 0
    return cerca(valor["score"], cociente, 1e-5) and cerca(valor["weight"], float(pesos[2]), 1e-5) and cerca(
        valor["output"], float(salida[0]), 1e-5)


@verdad("4.3")
def _(caso, valor, funcion):
    consultas, claves, resto = torch.randn(3, 50, 7, generator=GEN, dtype=torch.float64)
    pesos, movidos = (
        F.scaled_dot_product_attention(consultas, k, torch.eye(50).double()) for k in (claves, claves + resto[:1])
    )
    return valor == "ninguna" and cerca(pesos, movidos)


@verdad("5.2")
def _(caso, valor, funcion):
    """La frase entera, con sus cinco rasgos y las matrices del enunciado."""
    frase = ["el", "perro", "que", "vieron", "las", "niñas", "corre"]
    rasgos = [
        [0, 0, 0, 0, -1], [1, 0, 0, 1, -1], [0] * 5, [0, 1, 0, 0, 1], [0, 0, 0, 0, 1], [1, 0, 1, 0, 1], [0, 1, 0, 0, -1],
    ]  # fmt: skip
    x, w_q, w_k = torch.tensor(rasgos).double(), torch.zeros(5, 2).double(), torch.zeros(5, 2).double()
    w_q[1, 0], w_q[4, 1], w_k[0, 0], w_k[4, 1] = 1, 2, 1, 1
    puntos = (x @ w_q) @ (x @ w_k).T

    def casilla(una, otra):
        return float(puntos[frase.index(una), frase.index(otra)])

    pesos = puntos[frase.index("corre")].softmax(0)
    ciertas = {"subject": casilla("corre", "perro"), "other": casilla("corre", "niñas"), "back": casilla("perro", "corre")}
    veces = float(pesos[frase.index("perro")] / pesos[frase.index("el")])
    return {k: v for k, v in valor.items() if k != "times"} == ciertas and abs(valor["times"] - veces) < 0.005


@verdad("5.5")
def _(caso, valor, funcion):
    """Se recorren los verbos: quién buscaba a «niñas» con más fuerza es a quien «niñas» mira ahora."""
    busca = {
        "las": (0, 2), "niñas": (0, 2), "que": (0, 0), "vio": (4, -2), "el": (0, -2), "perro": (0, -2), "corren": (4, 2),
    }  # fmt: skip
    return valor == max(busca, key=lambda palabra: busca[palabra][0] * 1 + busca[palabra][1] * 1)
