"""La verdad de los ejercicios del capítulo 17, por otro camino que el de sus soluciones."""

import re
from itertools import combinations, pairwise

import numpy as np
import torch
import torch.nn.functional as F
from rouge_score.rouge_scorer import RougeScorer

from atento.models.t5 import T5, T5Config
from atento.tasks import corruption
from verdades.tabla import GEN, cerca, verdad


class _Espacios:
    """Parte por los espacios; el de rouge-score quitaría los acentos."""

    def tokenize(self, texto):
        return texto.split()


def _rouge(cual, escrito, referencia):
    """Precisión, cobertura y F, con rouge-score."""
    medidor = RougeScorer([cual], tokenizer=_Espacios())
    nota = medidor.score(" ".join(referencia), " ".join(escrito))[cual]
    return nota.precision, nota.recall, nota.fmeasure


@verdad("17.1")
def _(caso, valor, funcion):
    """Los tramos, donde cambia la máscara; y los tapa la biblioteca."""
    ids, tapado, vocab = caso.args
    cambios = np.diff(np.pad(np.array(tapado, dtype=int), 1)).nonzero()[0].tolist()
    tramos = [*zip(cambios[::2], cambios[1::2], strict=True)]
    centinelas = [vocab - 1 - i for i in range(len(tramos) + 1)]
    return list(valor) == list(corruption.corrupt(ids, tramos, centinelas))


@verdad("17.2")
def _(caso, valor, funcion):
    """Con el T5 de la biblioteca, que puntúa lo que se escribe en los tres casos."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        modelo = T5(T5Config(vocab=20, d_model=16, n_heads=2, d_ff=32)).double().eval()
    with torch.no_grad():
        for tabla in (p for n, p in modelo.named_parameters() if n.endswith("table")):
            tabla.normal_(generator=GEN)
        leido, escrito = torch.tensor([[5, 9, 3, 12, 7, 4]]), torch.tensor([[0, 6, 2, 8]])
        orden = [3, 0, 5, 1, 4, 2]
        codificado = modelo.encode(leido)
        bien = modelo.decode(escrito, codificado)
        filas = modelo.decode(escrito, codificado._replace(states=codificado.states[:, orden]))
        palabras = modelo.decode(escrito, modelo.encode(leido[:, orden]))
    cambia = ((palabras - bien).abs().max() > 1e-3, (filas - bien).abs().max() > 1e-9)
    nombres = {(0, 0): "ninguno", (1, 0): "solo las palabras", (0, 1): "solo las filas"}
    return valor == nombres.get(tuple(map(int, cambia)), "los dos")


@verdad("17.3")
def _(caso, valor, funcion):
    """Se tapa de verdad un texto, y puntúa rouge-score; la subsecuencia, probando todas."""
    palabras = [*range(200)]
    tapados = corruption.hidden_spans(200, GEN)
    leido, escrito = corruption.corrupt(palabras, tapados, [*range(-100, 0)])
    debido, dado = "robo en el museo por el descuido", "robo por descuido en el museo"
    uno, ele = (_rouge(c, dado.split(), debido.split()) for c in ("rouge1", "rougeL"))
    return (
        (valor["read"], valor["written"]) == (len(leido), len(escrito))
        and cerca(valor["unigram_f"], uno[2])
        and cerca(valor["lcs_f"], ele[2])
        and valor["lcs"] == round(ele[0] * len(dado.split()))
    )


@verdad("17.4")
def _(caso, valor, funcion):
    """Como texto, con expresiones regulares: cada centinela se busca en lo escrito."""
    leido, escrito, vocab = caso.args
    primero = vocab - caso.kwargs.get("n_sentinels", 100)
    texto = "".join(f"<{x}>" if x >= primero else f" {x} " for x in escrito)

    def tramo(centinela):
        hallado = re.search(rf"<{centinela}>([^<]*)", texto)
        return hallado[1] if hallado else ""

    junto = " ".join(tramo(x) if x >= primero else str(x) for x in leido)
    return valor == [int(x) for x in junto.split()]


@verdad("17.5")
def _(caso, valor, funcion):
    """Todos los largos hasta mucho más allá, con los tramos de la biblioteca, y un texto tapado."""
    (presupuesto,), pide = caso.args, caso.kwargs
    caben = {}
    for n in range(2, 8 * presupuesto + 20):
        tapados, tramos = corruption.spans_of(n, **pide)
        if n - tapados + tramos + 1 <= presupuesto:
            caben[n] = (tapados, tramos)
    n = max(caben)
    tapados = corruption.hidden_spans(n, GEN, **pide)
    leido, escrito = corruption.corrupt([*range(n)], tapados, [*range(-n - 1, 0)])
    return tuple(valor) == (n, len(escrito) + 1) and len(leido) + 1 <= presupuesto


@verdad("17.6")
def _(caso, valor, funcion):
    """La atención fusionada de PyTorch, con el sesgo y la máscara en una sola matriz."""
    x, *pesos, salida, tabla, cubo = caso.args[:7]
    tapa = caso.args[7] if len(caso.args) > 7 else caso.kwargs.get("mask")
    cabezas = tabla.shape[1]
    partes = [torch.stack((x @ w.T).chunk(cabezas, -1), 1) for w in pesos]
    suma = torch.stack([tabla[:, h][cubo] for h in range(cabezas)]).expand(len(x), -1, -1, -1)
    if tapa is not None:
        suma = suma.clone()
        for fila, vale in zip(suma, tapa, strict=True):
            fila[..., ~vale] = -torch.inf
    junto = F.scaled_dot_product_attention(*partes, attn_mask=suma, scale=1.0)
    return cerca(valor, torch.cat(list(junto.unbind(1)), -1) @ salida.T)


@verdad("17.7")
def _(caso, valor, funcion):
    """rouge-score, que hace la tabla entera, y, si son cortas, todas las subsecuencias."""
    escrito, referencia = caso.args
    debido = _rouge("rougeL", escrito, referencia) if escrito else (0.0, 0.0, 0.0)
    if escrito and len(escrito) + len(referencia) < 20:
        comun = max(
            r
            for r in range(len(escrito) + 1)
            if {*combinations(escrito, r)} & {*combinations(referencia, r)}
        )
        debido = (comun / len(escrito), comun / len(referencia), debido[2])
    return cerca(valor, debido)


def _mascaras(n, tapados, tramos):
    """Todas las máscaras que puede dar el sorteo, una a una."""
    visto = n - tapados

    def repartos(total):
        for cortes in combinations(range(1, total), tramos - 1):
            yield [b - a for a, b in pairwise([0, *cortes, total])]

    for a in repartos(visto):
        for b in repartos(tapados):
            yield [x for v, t in zip(a, b, strict=True) for x in [0] * v + [1] * t]


@verdad("17.8")
def _(caso, valor, funcion):
    """Todas las máscaras, si son pocas; si no, la frecuencia en muchos sorteos."""
    n, tapados, tramos = caso.args
    suma = torch.tensor(float(tapados), dtype=torch.float64)
    if not cerca(valor.sum(), suma) or valor[0] != 0 or abs(valor[-1] - 1) > 1e-12:
        return False
    if n < 25:
        todas = torch.tensor([*_mascaras(*caso.args)], dtype=torch.float64)
        return cerca(valor, todas.mean(0))
    veces = 4000
    cuenta = np.zeros(n)
    azar = np.random.default_rng(0)
    for _ in range(veces):
        trozos = []
        for total in (n - tapados, tapados):
            cortes = np.sort(azar.choice(total - 1, tramos - 1, replace=False)) + 1
            trozos.append(np.diff([0, *cortes, total]))
        cuenta += np.repeat([0, 1] * tramos, np.stack(trozos, 1).ravel())
    return np.abs(cuenta / veces - valor.numpy()).max() < 5 * 0.5 / veces**0.5
