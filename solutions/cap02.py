# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Capítulo 2. Tokens y vectores: soluciones

# %%
import math
from collections import Counter
from itertools import pairwise

import torch
from torch import Tensor

# %% [markdown]
# ## 2.1 Tres uniones con lápiz
#
# a+n sale 14 veces, porque en «cantan» está dos. Después, «an»+t sale en las cuatro palabras, 11
# veces, y «c»+«ant», 10. «cantamos» queda cant|a|m|o|s.


# %%
def merges_by_hand() -> dict[str, int]:
    """Las respuestas, contadas."""
    words = {tuple("canta"): 5, tuple("cantan"): 3, tuple("canto"): 2, tuple("santa"): 1}
    cut, counts = tuple("cantamos"), []
    for _ in range(3):
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words.items():
            for pair in pairwise(word):
                pairs[pair] += times
        best = max(pairs, key=lambda pair: pairs[pair])
        counts.append(pairs[best])
        words = {_glue(word, best): times for word, times in words.items()}
        cut = _glue(cut, best)
    return {"first": counts[0], "second": counts[1], "pieces": len(cut)}


def _glue(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    out: list[str] = []
    for symbol in word:
        if out and (out[-1], symbol) == pair:
            out[-1] += symbol
        else:
            out.append(symbol)
    return tuple(out)


# %% [markdown]
# ## 2.2 El corpus, dos veces
#
# Todas las cuentas se doblan y el orden no cambia, ni siquiera en los empates.


# %%
def repeated_corpus() -> str:
    """La respuesta, contada con un corpus cualquiera."""
    words = ["come", "comen", "comes", "coma", "toma", "tomas", "cometa", "maceta"]
    times = [4, 3, 2, 2, 4, 1, 1, 2]
    once, twice = (learn_merges(words, [n * t for t in times], 50) for n in (1, 2))
    changed = sum(a != b for a, b in zip(once, twice, strict=True))
    return {0: "ninguna", len(once): "todas"}.get(changed, "algunas")


# %% [markdown]
# ## 2.3 Aprender las uniones
#
# Contar, elegir y unir. La clave ordena primero por cuenta y después por pareja.


# %%
def learn_merges(words: list[str], times: list[int], n_merges: int) -> list[tuple[str, str]]:
    """Las primeras ``n_merges`` uniones de BPE, por orden; a igualdad, la menor pareja.

    words: palabras distintas; times: cuántas veces sale cada una.
    """
    rows, merges = [list(word) for word in words], []
    while len(merges) < n_merges:
        pairs: Counter[tuple[str, str]] = Counter()
        for row, n in zip(rows, times, strict=True):
            for pair in pairwise(row):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        rows = [_join(row, best) for row in rows]
    return merges


def _join(row: list[str], pair: tuple[str, str]) -> list[str]:
    out, i = [], 0
    while i < len(row):
        if tuple(row[i : i + 2]) == pair:
            out.append(row[i] + row[i + 1])
            i += 2
        else:
            out.append(row[i])
            i += 1
    return out


# %% [markdown]
# ## 2.4 La pieza más larga que encaja
#
# Voraz: en cada punto se prueban los trozos de largo a corto y no se vuelve atrás.


# %%
def longest_match(word: str, pieces: list[str]) -> list[str]:
    """Corta ``word`` como WordPiece; ``["[UNK]"]`` si en algún punto no encaja ninguna pieza."""
    known, found, start = set(pieces), [], 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            if prefix + word[start:end] in known:
                found.append(prefix + word[start:end])
                start = end
                break
        else:
            return ["[UNK]"]
    return found


# %% [markdown]
# ## 2.5 El gradiente de la tabla
#
# Es $X^\top G$, donde $X$ es la matriz one-hot: la traspuesta reparte cada fila en su puesto.


# %%
def embedding_gradient(ids: Tensor, grad_output: Tensor, vocab: int) -> Tensor:
    """Gradiente de la tabla ``(vocab, d)``: ids ``(n,)``, grad_output ``(n, d)``."""
    gradient = grad_output.new_zeros(vocab, grad_output.shape[-1])  # (vocab, d)
    return gradient.index_add(0, ids, grad_output)


# %% [markdown]
# ## 2.6 El gradiente de una pareja
#
# La vecina de verdad tira con fuerza 1 − σ y cada falsa empuja con fuerza σ.


# %%
def sgns_gradient(center: Tensor, context: Tensor, noise: Tensor) -> Tensor:
    """Gradiente de la pérdida respecto del centro, ``(d,)``.

    center ``(d,)``, context ``(d,)``, noise ``(k, d)``.
    """
    pull = (torch.sigmoid(context @ center) - 1) * context  # (d,)
    return pull + torch.sigmoid(noise @ center) @ noise  # (k,)(k, d) → (d,)


# %% [markdown]
# ## 2.7 Cortar con las uniones
#
# El puesto en la lista es la prioridad; a igualdad, la tupla deja delante la de la izquierda.


# %%
def apply_merges(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Corta ``word`` con las uniones, la que se aprendió antes primero."""
    ranks, pieces = {tuple(pair): rank for rank, pair in enumerate(merges)}, list(word)
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(pairwise(pieces)) if pair in ranks]
        if not found:
            return pieces
        rank, i = min(found)
        pieces[i : i + 2] = ["".join(merges[rank])]


# %% [markdown]
# ## 2.8 El mejor corte
#
# Viterbi: el mejor hasta cada hueco, y de dónde se llegó a él.


# %%
def best_cut(word: str, pieces: list[str], log_p: list[float]) -> tuple[list[str], float]:
    """El corte de mayor suma y la suma; ``([], -inf)`` si no hay ninguno."""
    scores = dict(zip(pieces, log_p, strict=True))
    best, came_from = [0.0] + [-math.inf] * len(word), [0] * (len(word) + 1)
    for end in range(1, len(word) + 1):
        for start in range(end):
            piece = word[start:end]
            if piece not in scores:
                continue
            total = best[start] + scores[piece]
            if total > best[end]:
                best[end], came_from[end] = total, start
    if best[-1] == -math.inf:
        return [], -math.inf
    pieces_found, end = [], len(word)
    while end > 0:
        pieces_found.append(word[came_from[end] : end])
        end = came_from[end]
    return pieces_found[::-1], best[-1]


# %% [markdown]
# ## 2.9 Una analogía, con y sin trampa
#
# Con los vectores de norma 1, el producto escalar es el coseno, salvo la norma del destino, que
# no cambia quién gana.


# %%
def analogy(vectors: Tensor, a: int, b: int, c: int, exclude: bool = True) -> int:
    """Puesto del vector de mayor coseno con b − a + c, todos de norma 1. vectors ``(vocab, d)``."""
    units = vectors / vectors.norm(dim=-1, keepdim=True)
    scores = units @ (units[b] - units[a] + units[c])  # (vocab,)
    if exclude:
        scores[[a, b, c]] = -math.inf
    return int(scores.argmax())
