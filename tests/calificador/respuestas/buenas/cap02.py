"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 2.1 | tal cual
merges_by_hand = {"first": 14, "second": 11, "pieces": 5}

# %% 2.1 | contada a trozos
merges_by_hand = {"first": 5 + 2 * 3 + 2 + 1, "second": 5 + 3 + 2 + 1, "pieces": len("cant a m o s".split())}

# %% 2.2 | tal cual
repeated_corpus = "ninguna"

# %% 2.3 | con textos separados por barras
def learn_merges(words, times, n_merges):
    rows, out = [tuple(w) for w in words], []
    while len(out) < n_merges:
        pairs = {}
        for row, n in zip(rows, times):
            for k in range(len(row) - 1):
                pairs[row[k : k + 2]] = pairs.get(row[k : k + 2], 0) + n
        if not pairs:
            return out
        top = max(pairs.values())
        best = sorted(p for p in pairs if pairs[p] == top)[0]
        out.append(best)
        joined = []
        for row in rows:
            new = []
            for symbol in row:
                if new and (new[-1], symbol) == best and not isinstance(new[-1], Joined):
                    new[-1] = Joined(new[-1] + symbol)
                else:
                    new.append(symbol)
            joined.append(tuple(str(s) for s in new))
        rows = joined
    return out

class Joined(str):
    pass

# %% 2.3 | listas modificadas en su sitio
from collections import Counter

def learn_merges(words, times, n_merges):
    rows, out = [list(w) for w in words], []
    for _ in range(n_merges):
        pairs = Counter()
        for row, n in zip(rows, times):
            for pair in zip(row, row[1:]):
                pairs[pair] += n
        if not pairs:
            break
        best = min(sorted(pairs), key=lambda p: -pairs[p])
        out.append(best)
        for row in rows:
            i = 0
            while i + 1 < len(row):
                if (row[i], row[i + 1]) == best:
                    row[i : i + 2] = ["".join(best)]
                i += 1
    return out

# %% 2.3 | recursiva, también al unir
def learn_merges(words, times, n_merges):
    def merge(row, pair):
        if len(row) < 2:
            return row
        if row[:2] == pair:
            return (row[0] + row[1], *merge(row[2:], pair))
        return (row[0], *merge(row[1:], pair))

    def step(rows, left):
        counts = {}
        for row, n in zip(rows, times):
            for i in range(1, len(row)):
                counts[row[i - 1 : i + 1]] = counts.get(row[i - 1 : i + 1], 0) + n
        if left == 0 or not counts:
            return []
        best = min((-n, pair) for pair, n in counts.items())[1]
        return [best, *step([merge(row, best) for row in rows], left - 1)]

    return step([tuple(word) for word in words], n_merges)

# %% 2.4 | recursiva, con startswith
def longest_match(word, pieces):
    out, rest = [], word
    while rest:
        mark = "##" if out else ""
        fits = [p for p in pieces if p.startswith(mark) and (mark or not p.startswith("##"))
                and rest.startswith(p[len(mark):]) and len(p) > len(mark)]
        if not fits:
            return ["[UNK]"]
        out.append(max(fits, key=len))
        rest = rest[len(out[-1]) - len(mark):]
    return out

# %% 2.5 | con un bucle
def embedding_gradient(ids, grad_output, vocab):
    out = torch.zeros(vocab, grad_output.shape[1], dtype=grad_output.dtype)
    for i, row in zip(ids.tolist(), grad_output):
        out[i] += row
    return out

# %% 2.5 | con index_put_ que acumula
def embedding_gradient(ids, grad_output, vocab):
    out = torch.zeros(vocab, grad_output.shape[1], dtype=grad_output.dtype)
    return out.index_put_((ids,), grad_output, accumulate=True)

# %% 2.5 | con una matriz dispersa
def embedding_gradient(ids, grad_output, vocab):
    n = len(ids)
    where = torch.stack([ids, torch.arange(n)])
    onehot = torch.sparse_coo_tensor(where, torch.ones(n, dtype=grad_output.dtype), (vocab, n))
    return torch.sparse.mm(onehot, grad_output)

# %% 2.6 | con todas las vecinas juntas
def sgns_gradient(center, context, noise):
    rows = torch.cat([context[None], noise])
    wanted = torch.zeros(len(rows), dtype=rows.dtype)
    wanted[0] = 1
    return (torch.sigmoid(rows @ center) - wanted) @ rows

# %% 2.6 | con la sigmoide de lo contrario
def sgns_gradient(center, context, noise):
    return -torch.sigmoid(-(context @ center)) * context + sum(
        torch.sigmoid(n @ center) * n for n in noise)

# %% 2.6 | la sigmoide con la tangente hiperbólica, producto a producto
def sgns_gradient(center, context, noise):
    sigma = lambda a, b: (1 + torch.tanh((a * b).sum() / 2)) / 2
    gradient = sigma(center, context) * context - context
    for other in noise:
        gradient = gradient + sigma(center, other) * other
    return gradient

# %% 2.7 | unión por unión, todas sus apariciones, hasta que nada cambia
def apply_merges(word, merges):
    pieces = list(word)
    while True:
        for a, b in merges:
            k = next((i for i in range(len(pieces) - 1) if pieces[i : i + 2] == [a, b]), None)
            if k is not None:
                pieces = pieces[:k] + [a + b] + pieces[k + 2 :]
                break
        else:
            return pieces

# %% 2.8 | desde el final, con memoria
def best_cut(word, pieces, log_p):
    best = {len(word): (0.0, [])}
    for i in range(len(word) - 1, -1, -1):
        ways = [(best[i + len(p)][0] + s, [p, *best[i + len(p)][1]])
                for p, s in zip(pieces, log_p) if word.startswith(p, i) and i + len(p) in best]
        if ways:
            best[i] = max(ways)
    return (best[0][1], best[0][0]) if 0 in best else ([], -math.inf)

# %% 2.9 | con topk y una lista
def analogy(vectors, a, b, c, exclude=True):
    units = torch.nn.functional.normalize(vectors, dim=-1)
    order = (units @ (units[c] + units[b] - units[a])).argsort(descending=True).tolist()
    return next(i for i in order if not exclude or i not in (a, b, c))

# %% 2.4 | con un diccionario por longitudes, de izquierda a derecha
def longest_match(word, pieces):
    found, start = [], 0
    known = dict.fromkeys(pieces)
    while start != len(word):
        tries = [("##" if start else "") + word[start:end] for end in range(start + 1, len(word) + 1)]
        good = [t for t in tries if t in known]
        if len(good) == 0:
            return ["[UNK]"]
        found += good[-1:]
        start += len(good[-1]) - 2 * (start > 0)
    return found

# %% 2.4 | con una expresión regular, de la pieza más larga a la más corta
import re

def longest_match(word, pieces):
    heads = sorted((p for p in pieces if not p.startswith("##")), key=len, reverse=True)
    tails = sorted((p[2:] for p in pieces if p.startswith("##") and len(p) > 2), key=len, reverse=True)
    out, at = [], 0
    while at < len(word):
        options = tails if at else heads
        found = re.compile("|".join(map(re.escape, options)) or "(?!)").match(word, at)
        if not found or found.end() == at:
            return ["[UNK]"]
        out.append(("##" if at else "") + found.group())
        at = found.end()
    return out

# %% 2.7 | recorriendo la lista desde el principio tras cada unión
def apply_merges(word, merges):
    pieces, rank = list(word), 0
    while rank < len(merges):
        pair = tuple(merges[rank])
        places = [i for i in range(len(pieces) - 1) if (pieces[i], pieces[i + 1]) == pair]
        if places:
            left = places[0]
            pieces[left : left + 2] = [pair[0] + pair[1]]
        rank = 0 if places else rank + 1
    return pieces

# %% 2.7 | recursiva, con las posiciones en un min
def apply_merges(word, merges):
    order = [tuple(m) for m in merges]

    def cut(pieces):
        known = [i for i in range(len(pieces) - 1) if tuple(pieces[i : i + 2]) in order]
        if not known:
            return pieces
        i = min(known, key=lambda i: order.index(tuple(pieces[i : i + 2])))
        return cut(pieces[:i] + ["".join(pieces[i : i + 2])] + pieces[i + 2 :])

    return cut(list(word))

# %% 2.7 | una pasada por la lista, cada unión en toda la palabra, como se aprendieron
def apply_merges(word, merges):
    pieces = list(word)
    for a, b in merges:
        i = 0
        while i + 1 < len(pieces):
            if (pieces[i], pieces[i + 1]) == (a, b):
                pieces[i : i + 2] = [a + b]
            i += 1
    return pieces

# %% 2.8 | recursiva, guardando lo ya calculado
from functools import cache

def best_cut(word, pieces, log_p):
    price = dict(zip(pieces, log_p))

    @cache
    def rest(i):
        if i == len(word):
            return 0.0, ()
        options = [(-math.inf, ())]
        for j in range(i + 1, len(word) + 1):
            if word[i:j] in price and rest(j)[0] > -math.inf:
                options.append((price[word[i:j]] + rest(j)[0], (word[i:j], *rest(j)[1])))
        return max(options)

    total, found = rest(0)
    return list(found), total

# %% 2.8 | hacia delante, empujando desde cada hueco alcanzado
def best_cut(word, pieces, log_p):
    reached = [(-math.inf, [])] * (len(word) + 1)
    reached[0] = (0.0, [])
    for i in range(len(word)):
        total, path = reached[i]
        if total == -math.inf:
            continue
        for piece, score in zip(pieces, log_p):
            end = i + len(piece)
            if word[i:end] == piece and total + score > reached[end][0]:
                reached[end] = (total + score, path + [piece])
    return reached[-1][1], reached[-1][0]

# %% 2.9 | con similitudes de PyTorch
def analogy(vectors, a, b, c, exclude=True):
    unit = lambda i: vectors[i] / vectors[i].square().sum().sqrt()
    target = unit(b) - unit(a) + unit(c)
    scores = torch.cosine_similarity(vectors, target[None], dim=-1).clone()
    if exclude:
        for i in (a, b, c):
            scores[i] = -2.0
    return scores.argmax().item()

# %% 2.9 | palabra a palabra, con listas
def analogy(vectors, a, b, c, exclude=True):
    rows = vectors.tolist()
    size = lambda v: math.sqrt(sum(x * x for x in v))
    hat = [[x / size(row) for x in row] for row in rows]
    goal = [y - x + z for x, y, z in zip(hat[a], hat[b], hat[c])]
    best, found = -math.inf, -1
    for i, row in enumerate(hat):
        likeness = sum(x * y for x, y in zip(row, goal))
        if likeness > best and not (exclude and i in {a, b, c}):
            best, found = likeness, i
    return found
