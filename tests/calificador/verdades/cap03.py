"""La verdad de los ejercicios del capítulo 3, por otro camino que el de sus soluciones."""

import math
from fractions import Fraction

import mpmath
import torch

from verdades.tabla import GEN, cerca, nadaraya, verdad


@verdad("3.6")
def _(caso, valor, funcion):
    query, keys, w_q, w_k, v, valid = caso.args
    filas = []
    for b in range(len(query)):
        puntos = [
            sum(
                float(v[a]) * math.tanh(float(query[b] @ w_q[:, a] + keys[b, j] @ w_k[:, a]))
                for a in range(len(v))
            )
            if valid[b, j]
            else None
            for j in range(keys.shape[1])
        ]
        filas.append(nadaraya([puntos], keys[b])[0])
    return cerca(valor, torch.stack(filas))


@verdad("3.3")
def _(caso, valor, funcion):
    x, h, c, w_x, w_h, b = caso.args
    celda = torch.nn.LSTMCell(x.shape[1], h.shape[1], dtype=torch.float64)
    celda.load_state_dict(
        {"weight_ih": w_x.T, "weight_hh": w_h.T, "bias_ih": b, "bias_hh": torch.zeros_like(b)}
    )
    return cerca(valor, [v.detach() for v in celda(x, (h, c))])


@verdad("3.5")
def _(caso, valor, funcion):
    x, h, states, weights, (w_x, w_c, w_h, b) = caso.args
    contexto = torch.bmm(weights[:, None], states)[:, 0]
    junta = torch.nn.RNNCell(x.shape[1] + contexto.shape[1], h.shape[1], dtype=torch.float64)
    estado = {
        "weight_ih": torch.cat([w_x, w_c]).T,
        "weight_hh": w_h.T,
        "bias_ih": b,
        "bias_hh": torch.zeros_like(b),
    }
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
