"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 2.3 | cuenta las parejas una sola vez, al principio
from collections import Counter

def learn_merges(words, times, n_merges):
    pairs = Counter()
    for word, n in zip(words, times):
        for a, b in zip(word, word[1:]):
            pairs[a, b] += n
    return sorted(pairs, key=lambda p: (-pairs[p], p))[:n_merges]

# %% 2.3 | une con replace sobre el texto, sin mirar los límites de los símbolos
from collections import Counter

def learn_merges(words, times, n_merges):
    rows, out = [" ".join(w) for w in words], []
    for _ in range(n_merges):
        pairs = Counter()
        for row, n in zip(rows, times):
            symbols = row.split()
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        out.append(best)
        rows = [row.replace(best[0] + " " + best[1], best[0] + best[1], 1) for row in rows]
    return out

# %% 2.3 | gana la primera en llegar en los empates
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
        best = pairs.most_common(1)[0][0]
        out.append(best)
        for row in rows:
            i = 0
            while i + 1 < len(row):
                if (row[i], row[i + 1]) == best:
                    row[i : i + 2] = [row[i] + row[i + 1]]
                i += 1
    return out

# %% 2.3 | cuenta en cuántas palabras está la pareja
from collections import Counter

def learn_merges(words, times, n_merges):
    rows, out = [list(w) for w in words], []
    for _ in range(n_merges):
        pairs = Counter()
        for row in rows:
            pairs.update(set(zip(row, row[1:])))
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        out.append(best)
        for row in rows:
            i = 0
            while i + 1 < len(row):
                if (row[i], row[i + 1]) == best:
                    row[i : i + 2] = [row[i] + row[i + 1]]
                i += 1
    return out

# %% 2.3 | devuelve las piezas unidas y no las parejas
def learn_merges(words, times, n_merges):
    return ["".join(w[:2]) for w in words][:n_merges]

# %% 2.4 | vuelve atrás: busca cualquier corte que encaje
def longest_match(word, pieces):
    def cut(start):
        if start == len(word):
            return []
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in pieces:
                rest = cut(end)
                if rest is not None:
                    return [piece, *rest]
        return None
    found = cut(0)
    return ["[UNK]"] if found is None else found

# %% 2.4 | acepta la pieza sin almohadillas si no está con ellas
def longest_match(word, pieces):
    out, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            bare, marked = word[start:end], "##" + word[start:end]
            if (marked if start else bare) in pieces or bare in pieces:
                out.append(marked if start else bare)
                start = end
                break
        else:
            return ["[UNK]"]
    return out

# %% 2.4 | avanza lo que mide la pieza con sus almohadillas
def longest_match(word, pieces):
    out, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in pieces:
                out.append(piece)
                start += len(piece)
                break
        else:
            return ["[UNK]"]
    return out

# %% 2.5 | los números de token, de uno en uno y con igual
def embedding_gradient(ids, grad_output, vocab):
    out = torch.zeros(vocab, grad_output.shape[1], dtype=torch.float64)
    for i, row in zip(ids.tolist(), grad_output):
        out[i] = row
    return out

# %% 2.5 | suma todo en todas las filas usadas
def embedding_gradient(ids, grad_output, vocab):
    out = torch.zeros(vocab, grad_output.shape[1], dtype=torch.float64)
    out[ids] = grad_output.sum(0)
    return out

# %% 2.5 | tantas filas como el mayor identificador
def embedding_gradient(ids, grad_output, vocab):
    out = torch.zeros(int(ids.max()) + 1, grad_output.shape[1], dtype=torch.float64)
    return out.index_add(0, ids, grad_output)

# %% 2.6 | el gradiente respecto de la vecina
def sgns_gradient(center, context, noise):
    return (torch.sigmoid(center @ context) - 1) * center

# %% 2.6 | solo la primera falsa
def sgns_gradient(center, context, noise):
    real = (torch.sigmoid(center @ context) - 1) * context
    return real + torch.sigmoid(noise[0] @ center) * noise[0]

# %% 2.6 | la sigmoide de la suma
def sgns_gradient(center, context, noise):
    real = (torch.sigmoid(center @ context) - 1) * context
    return real + torch.sigmoid((noise @ center).sum()) * noise.sum(0)

# %% 2.7 | aplica cada unión una vez, en toda la palabra, con replace
def apply_merges(word, merges):
    text = " ".join(word)
    for a, b in merges:
        text = text.replace(f"{a} {b}", a + b, 1)
    return text.split()

# %% 2.7 | la pieza más larga que se pueda formar
def apply_merges(word, merges):
    known, out, start = {a + b for a, b in merges} | set(word), [], 0
    while start < len(word):
        end = max(e for e in range(start + 1, len(word) + 1) if word[start:e] in known)
        out.append(word[start:end])
        start = end
    return out

# %% 2.8 | voraz: la pieza más larga
def best_cut(word, pieces, log_p):
    scores, out, start = dict(zip(pieces, log_p)), [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            if word[start:end] in scores:
                out.append(word[start:end])
                start = end
                break
        else:
            return [], -math.inf
    return out, sum(scores[p] for p in out)

# %% 2.8 | voraz: la pieza más probable
def best_cut(word, pieces, log_p):
    scores, out, start = dict(zip(pieces, log_p)), [], 0
    while start < len(word):
        fits = [p for p in scores if word.startswith(p, start)]
        if not fits:
            return [], -math.inf
        out.append(max(fits, key=scores.get))
        start += len(out[-1])
    return out, sum(scores[p] for p in out)

# %% 2.8 | la media por pieza en lugar de la suma
def best_cut(word, pieces, log_p):
    scores = dict(zip(pieces, log_p))
    best = [([], 0.0)]
    for j in range(1, len(word) + 1):
        ways = [([*best[i][0], word[i:j]], best[i][1] + scores[word[i:j]])
                for i in range(j) if best[i] and word[i:j] in scores]
        best.append(max(ways, key=lambda w: w[1] / len(w[0])) if ways else None)
    return best[-1] or ([], -math.inf)

# %% 2.9 | el producto escalar sin normas
def analogy(vectors, a, b, c, exclude=True):
    scores = vectors @ (vectors[b] - vectors[a] + vectors[c])
    if exclude:
        scores[[a, b, c]] = -math.inf
    return int(scores.argmax())

# %% 2.9 | la segunda mejor en lugar de quitar las dadas
def analogy(vectors, a, b, c, exclude=True):
    units = vectors / vectors.norm(dim=1, keepdim=True)
    order = (units @ (units[b] - units[a] + units[c])).argsort(descending=True)
    return int(order[1 if exclude else 0])

# %% 2.9 | la distancia euclídea a los vectores sin normalizar
def analogy(vectors, a, b, c, exclude=True):
    distance = (vectors - (vectors[b] - vectors[a] + vectors[c])).norm(dim=1)
    if exclude:
        distance[[a, b, c]] = math.inf
    return int(distance.argmin())
