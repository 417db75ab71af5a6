"""La verdad de los ejercicios del capítulo 13, por otro camino que el de sus soluciones."""

import itertools
import math
from fractions import Fraction

import torch
import torch.nn.functional as F

from atento import decoding
from verdades.tabla import cerca, verdad


def _paso(tabla):
    return lambda ids, estado: (tabla[ids[:, -1]], estado)


@verdad("13.1")
def _(caso, valor, funcion):
    """La voraz de la biblioteca, con su regla de parada; con longitud cero, que la biblioteca no
    admite, nada.
    """
    tabla, prefijo = caso.args
    if caso.kwargs["max_length"] == 0:
        return list(valor) == []
    regla = caso.kwargs.get("stop")
    escrito = decoding.greedy(
        _paso(tabla),
        torch.tensor([prefijo]),
        eos_id=caso.kwargs["eos_id"],
        max_length=caso.kwargs["max_length"],
        stop=decoding.ends_with(regla) if regla else None,
    )
    return list(valor) == escrito[0].tolist()


@verdad("13.2")
def _(caso, valor, funcion):
    """Todas las frases, con fracciones; y el empate, comprobado."""
    frases = {
        ("el", "tren", "."): Fraction(55, 100) * Fraction(4, 10),
        ("el", "barco", "."): Fraction(55, 100) * Fraction(35, 100),
        ("el", "avión", "."): Fraction(55, 100) * Fraction(25, 100),
        ("mañana", "."): Fraction(45, 100) * Fraction(8, 10),
        ("mañana", "no", "."): Fraction(45, 100) * Fraction(2, 10),
    }
    assert sum(frases.values()) == 1
    voraz: tuple[str, ...] = ()
    while voraz not in frases:
        siguen = {}
        for frase, p in frases.items():
            if frase[: len(voraz)] == voraz:
                una = frase[len(voraz)]
                siguen[una] = siguen.get(una, 0) + p
        voraz = (*voraz, max(siguen, key=siguen.get))
    empate = abs((1 - valor["tie"]) * 0.4 - valor["tie"] * 0.8) < 1e-12
    return (
        empate
        and abs(valor["greedy"] - frases[voraz]) < 1e-12
        and abs(valor["best"] - max(frases.values())) < 1e-12
    )


@verdad("13.3")
def _(caso, valor, funcion):
    """Con listas: una pareja detrás de otra."""
    totales, tabla = caso.args
    haz, fin = caso.kwargs["beams"], caso.kwargs["eos_id"]
    parejas = [
        (float(totales[i] + tabla[i, j]), i, j)
        for i, j in itertools.product(range(tabla.shape[0]), range(tabla.shape[1]))
    ]
    parejas.sort(reverse=True)
    siguen = [una for una in parejas if una[2] != fin][:haz]
    acaban = [i for _, i, j in parejas[:haz] if j == fin]
    padres, palabras, sumas, cerradas = valor
    return (
        padres.tolist() == [i for _, i, _ in siguen]
        and palabras.tolist() == [j for _, _, j in siguen]
        and cerca(sumas, torch.tensor([s for s, _, _ in siguen], dtype=torch.float64))
        and list(cerradas) == acaban
    )


@verdad("13.4")
def _(caso, valor, funcion):
    """Con la temperatura de la biblioteca; la pedida, comprobada."""
    z = torch.tensor([0.8, 0.2], dtype=torch.float64).log()

    def primera(logits, tau):
        return decoding.with_temperature(logits, tau)

    dos = primera(primera(z, 2.0), 2.0).softmax(-1)[0]
    razon = primera(z, valor["tau"]).softmax(-1)
    return (
        abs(valor["cold"] - float(primera(z, 0.5).softmax(-1)[0])) < 1e-12
        and abs(valor["hot"] - float(primera(z, 2.0).softmax(-1)[0])) < 1e-12
        and abs(valor["twice"] - float(dos)) < 1e-12
        and abs(float(razon[0] / razon[1]) - 64) < 1e-9
    )


@verdad("13.5")
def _(caso, valor, funcion):
    """Con los filtros de la biblioteca."""
    z = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05], dtype=torch.float64).log()
    quedan = decoding.keep_top_p(decoding.with_temperature(z, 0.5), 0.9) > -math.inf
    return valor == {2: "dos", 3: "tres", 4: "cuatro", 5: "cinco"}[int(quedan.sum())]


@verdad("13.6")
def _(caso, valor, funcion):
    """Palabra a palabra: el menor grupo de las mejores que llega a p, y quienes empatan."""
    logits, p = caso.args
    tau = caso.kwargs.get("temperature", 1.0)
    filas, salida = logits.reshape(-1, logits.shape[-1]).tolist(), []
    for fila in filas:
        pesos = [math.exp(z / tau) for z in fila]
        total = sum(pesos)
        orden = sorted(range(len(fila)), key=lambda i: -fila[i])
        cuantas = next(
            n for n in range(1, len(fila) + 1) if sum(pesos[i] for i in orden[:n]) >= p * total
        )
        ultima = fila[orden[cuantas - 1]]
        dentro = [w if z >= ultima else 0.0 for w, z in zip(pesos, fila, strict=True)]
        salida.append([w / sum(dentro) for w in dentro])
    return cerca(valor, torch.tensor(salida, dtype=torch.float64).reshape(logits.shape))


@verdad("13.7")
def _(caso, valor, funcion):
    """Con el filtro de la biblioteca, y las mejores que falten."""
    logits, p = caso.args
    minimo = caso.kwargs.get("at_least", 1)
    cierto = decoding.keep_min_p(logits, p) > -math.inf
    plano, filas = cierto.reshape(-1, logits.shape[-1]), logits.reshape(-1, logits.shape[-1])
    for fila, marcas in zip(filas, plano, strict=True):
        if int(marcas.sum()) < minimo:
            marcas[fila.topk(minimo).indices] = True
    return valor.dtype == torch.bool and torch.equal(valor, plano.reshape(cierto.shape))


@verdad("13.8")
def _(caso, valor, funcion):
    """La búsqueda de la biblioteca, con su cota, que no cambia la mejor."""
    tabla, inicio = caso.args
    haz, alfa = caso.kwargs["beams"], caso.kwargs.get("alpha", 0.0)
    halladas = decoding.beam_search(
        _paso(tabla),
        torch.tensor([[inicio]]),
        beams=haz,
        eos_id=caso.kwargs["eos_id"],
        max_length=caso.kwargs["max_length"],
        length_penalty=decoding.by_length(alfa),
    )
    frase = halladas.ids[0, 0, : int(halladas.lengths[0, 0])].tolist()
    assert haz > 1
    return list(valor[0]) == frase and cerca(valor[1], float(halladas.scores[0, 0]), 1e-6)


@verdad("13.9")
def _(caso, valor, funcion):
    """La atención de PyTorch sobre todas las posiciones, y de ella, las nuevas."""
    x, claves, valores, w_q, w_k, w_v = caso.args
    lote, cabezas, antes, ancho = claves.shape

    def reparte(filas):
        return torch.stack(filas.split(ancho, dim=-1), dim=1)

    todas_k = torch.cat([claves, reparte(x @ w_k)], dim=2)
    todas_v = torch.cat([valores, reparte(x @ w_v)], dim=2)
    nuevas = x.shape[1]
    hueco = torch.zeros(lote, cabezas, antes, ancho, dtype=torch.float64)
    consultas = torch.cat([hueco, reparte(x @ w_q)], dim=2)
    salida = F.scaled_dot_product_attention(consultas, todas_k, todas_v, is_causal=True)
    unida = torch.cat(list(salida[:, :, -nuevas:].unbind(1)), dim=-1)
    return all(cerca(uno, otro) for uno, otro in zip(valor, (unida, todas_k, todas_v), strict=True))


@verdad("13.10")
def _(caso, valor, funcion):
    """Fila a fila, sola y sin relleno, con la voraz de la biblioteca."""
    tabla, comienzos = caso.args
    opciones = dict(caso.kwargs)
    relleno = opciones.pop("pad_id")
    solas = []
    for fila in comienzos.tolist():
        palabras = [una for una in fila if una != relleno]
        solas.append(decoding.greedy(_paso(tabla), torch.tensor([palabras]), **opciones)[0])
    return torch.equal(
        valor, torch.nn.utils.rnn.pad_sequence(solas, batch_first=True, padding_value=relleno)
    )


@verdad("13.11")
def _(caso, valor, funcion):
    """Quién gana en muchos α, y quién a los dos lados de cada cambio."""
    sumas, largos = caso.args

    def gana(alfa):
        return max(range(len(sumas)), key=lambda i: sumas[i] / largos[i] ** alfa)

    if valor[0] != (gana(0.0), 0.0) or [a for _, a in valor] != sorted(a for _, a in valor):
        return False
    for (antes, _), (despues, alfa) in itertools.pairwise(valor):
        if (gana(alfa - 1e-9), gana(alfa + 1e-9)) != (antes, despues):
            return False
    vistas = {gana(n / 500) for n in range(5000)} | {gana(60.0)}
    return vistas <= {i for i, _ in valor} and valor[-1][0] == gana(60.0)


@verdad("13.12")
def _(caso, valor, funcion):
    """Con listas y los filtros de la biblioteca."""
    cuentas, logits = caso.args
    tibias = decoding.with_temperature(logits, caso.kwargs.get("temperature", 1.0))
    probs = decoding.keep_top_k(tibias, caso.kwargs["top_k"]).softmax(-1).tolist()
    total = int(cuentas.sum())
    grupos, raras = [], [0.0, 0.0]
    imposible = False
    for vistas, p in zip(cuentas.tolist(), probs, strict=True):
        if p == 0:
            imposible = imposible or vistas > 0
        elif total * p < 5:
            raras = [raras[0] + vistas, raras[1] + total * p]
        else:
            grupos.append([vistas, total * p])
    grupos += [raras] if raras[1] > 0 else []
    cierto = math.inf if imposible else sum((n - e) ** 2 / e for n, e in grupos)
    return valor[1] == len(grupos) - 1 and (
        valor[0] == cierto or abs(valor[0] - cierto) < 1e-8 * (1 + cierto)
    )
