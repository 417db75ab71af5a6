"""La verdad de los ejercicios del capítulo 2, por otro camino que el de sus soluciones."""

import itertools
import math

import torch
import torch.nn.functional as F

from atento import word_vectors
from atento.tokenizers import WordPiece
from atento.tokenizers.bpe import apply_merges
from verdades.tabla import cerca, verdad


def _une(texto, pareja):
    """Sobre un texto con separadores, de izquierda a derecha."""
    trozos, salida = texto.split("|"), []
    while trozos:
        if tuple(trozos[:2]) == tuple(pareja):
            salida.append(trozos.pop(0) + trozos.pop(0))
        else:
            salida.append(trozos.pop(0))
    return "|".join(salida)


@verdad("2.1")
def _(caso, valor, funcion):
    """Contado con lápiz: a+n, 5 + 3·2 + 2 + 1; an+t, las cuatro palabras; cant|a|m|o|s."""
    return valor == {"first": 14, "second": 11, "pieces": 5}


@verdad("2.2")
def _(caso, valor, funcion):
    return valor == "ninguna"


@verdad("2.3")
def _(caso, valor, funcion):
    """Cada unión es la de mayor cuenta del texto escrito entero, y la menor de las que empatan."""
    palabras, veces, n = caso.args
    texto = [p for p, v in zip(palabras, veces, strict=True) for _ in range(v)]
    texto = ["|".join(p) for p in texto]
    for pareja in valor:
        todas = [x for t in texto for x in itertools.pairwise(t.split("|"))]
        mayor = max(todas.count(x) for x in set(todas))
        if tuple(pareja) != min(x for x in set(todas) if todas.count(x) == mayor):
            return False
        texto = [_une(t, pareja) for t in texto]
    return len(valor) == n or all("|" not in t for t in texto)


@verdad("2.4")
def _(caso, valor, funcion):
    palabra, piezas = caso.args
    cierto = WordPiece(dict.fromkeys(piezas)).segment(palabra)
    return valor == (["[UNK]"] if set(cierto) - set(piezas) else cierto)


@verdad("2.5")
def _(caso, valor, funcion):
    ids, grad_output, vocab = caso.args
    tabla = torch.zeros(vocab, grad_output.shape[1], dtype=torch.float64, requires_grad=True)
    return cerca(valor, torch.autograd.grad(F.embedding(ids, tabla), tabla, grad_output)[0])


@verdad("2.6")
def _(caso, valor, funcion):
    centro, vecina, falsas = caso.args
    modelo = word_vectors.SkipGram(len(falsas) + 1, len(centro)).double()
    with torch.no_grad():
        modelo.center.weight[0] = centro
        modelo.context.weight.copy_(torch.cat([vecina[None], falsas]))
    cero = torch.tensor([0])
    lote = word_vectors.SkipGramBatch(cero, cero, torch.arange(1, len(falsas) + 1)[None])
    word_vectors.skipgram_loss(modelo, lote).backward()
    return cerca(valor, modelo.center.weight.grad[0])


@verdad("2.7")
def _(caso, valor, funcion):
    palabra, uniones = caso.args
    pasos = list(apply_merges(palabra, {tuple(p): i for i, p in enumerate(uniones)}))
    return list(valor) == (list(pasos[-1].pieces) if pasos else list(palabra))


@verdad("2.8")
def _(caso, valor, funcion):
    """Desde el final y con memoria, o todos los cortes si caben."""
    palabra, piezas, numeros = caso.args
    log_p = dict(zip(piezas, numeros, strict=True))
    mejor = {len(palabra): 0.0}
    for i in reversed(range(len(palabra))):
        mejor[i] = max(
            log_p[p] + mejor[i + len(p)] if palabra.startswith(p, i) else -math.inf for p in piezas
        )
    lista, suma = valor
    if mejor[0] == -math.inf:
        return list(lista) == [] and suma == -math.inf
    dicho = "".join(lista) == palabra and abs(sum(log_p[p] for p in lista) - suma) < 1e-9
    return dicho and abs(suma - mejor[0]) < 1e-9


@verdad("2.9")
def _(caso, valor, funcion):
    vectores, a, b, c = caso.args
    palabras = [str(i) for i in range(len(vectores))]
    tabla = word_vectors.WordVectors(palabras, vectores)
    fuera = caso.kwargs.get("exclude", True)
    return tabla.analogy(str(a), str(b), str(c), 1, exclude_inputs=fuera)[0][0] == str(valor)
