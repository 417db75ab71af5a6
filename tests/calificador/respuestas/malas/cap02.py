"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 2.1 | la segunda, contada antes de la primera unión
merges_by_hand = {"first": 14, "second": 14, "pieces": 5}

# %% 2.1 | cuenta letras sueltas
merges_by_hand = {"first": 20, "second": 14, "pieces": 5}

# %% 2.1 | la tercera unión es «anta», y queda en cuatro
merges_by_hand = {"first": 14, "second": 11, "pieces": 4}

# %% 2.1 | la segunda, sin «cantan», que ya se ha gastado
merges_by_hand = {"first": 14, "second": 8, "pieces": 5}

# %% 2.1 | cuenta las uniones que se aplican y no las piezas que quedan
merges_by_hand = {"first": 14, "second": 11, "pieces": 3}

# %% 2.2 | el doble de veces lo cambia todo
repeated_corpus = "todas"

# %% 2.2 | cambian las de los empates
repeated_corpus = "algunas"

# %% 2.2 | contesta con un número
repeated_corpus = "0"

# %% 2.2 | la palabra en masculino
repeated_corpus = "ninguno"

# %% 2.2 | una frase
repeated_corpus = "no cambia ninguna"

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

# %% 2.3 | cada palabra pesa por sus letras además de por sus veces
def learn_merges(words, times, n_merges):
    rows, out = [list(w) for w in words], []
    for _ in range(n_merges):
        pairs = {}
        for row, n in zip(rows, times):
            for pair in zip(row, row[1:]):
                pairs[pair] = pairs.get(pair, 0) + n * len(row)
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

# %% 2.4 | empieza por el final: el sufijo más largo primero
def longest_match(word, pieces):
    out, end = [], len(word)
    while end > 0:
        for start in range(end):
            piece = ("##" if start else "") + word[start:end]
            if piece in pieces:
                out.insert(0, piece)
                end = start
                break
        else:
            return ["[UNK]"]
    return out

# %% 2.4 | la letra que no encaja es desconocida y las demás siguen
def longest_match(word, pieces):
    out, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            if mark + word[start:end] in pieces:
                out.append(mark + word[start:end])
                start = end
                break
        else:
            out.append("[UNK]")
            start += 1
    return out

# %% 2.4 | elige la pieza más larga de toda la palabra y corta alrededor
def longest_match(word, pieces):
    def cut(text, first):
        if not text:
            return []
        for size in range(len(text), 0, -1):
            for i in range(len(text) - size + 1):
                piece = ("" if first and i == 0 else "##") + text[i : i + size]
                if piece in pieces:
                    return cut(text[:i], first) + [piece] + cut(text[i + size :], False)
        return ["[UNK]"]

    out = cut(word, True)
    return ["[UNK]"] if "[UNK]" in out else out

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

# %% 2.5 | cada aparición pesa menos cuanto más se repite
def embedding_gradient(ids, grad_output, vocab):
    out = torch.zeros(vocab, grad_output.shape[1], dtype=grad_output.dtype)
    times = torch.bincount(ids, minlength=vocab).clamp(min=1)
    return out.index_add(0, ids, grad_output) / times[:, None] ** 0.5

# %% 2.5 | deja las filas en el orden en que llegan
def embedding_gradient(ids, grad_output, vocab):
    seen = list(dict.fromkeys(ids.tolist()))
    out = torch.zeros(vocab, grad_output.shape[1], dtype=grad_output.dtype)
    for i, row in zip(ids.tolist(), grad_output):
        out[seen.index(i)] += row
    return out

# %% 2.5 | multiplica por el número de token
def embedding_gradient(ids, grad_output, vocab):
    out = torch.zeros(vocab, grad_output.shape[1], dtype=grad_output.dtype)
    return out.index_add(0, ids, grad_output * ids[:, None])

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

# %% 2.6 | la media de las falsas y no la suma
def sgns_gradient(center, context, noise):
    real = (torch.sigmoid(center @ context) - 1) * context
    return real + (torch.sigmoid(noise @ center)[:, None] * noise).mean(0)

# %% 2.6 | olvida la derivada de lo de dentro: los pesos, por el centro
def sgns_gradient(center, context, noise):
    real = torch.sigmoid(center @ context) - 1
    return (real + torch.sigmoid(noise @ center).sum()) * center

# %% 2.6 | una softmax entre la vecina y las falsas
def sgns_gradient(center, context, noise):
    rows = torch.cat([context[None], noise])
    return (rows @ center).softmax(0) @ rows - context

# %% 2.6 | la sigmoide como cociente de exponenciales, que desborda
def sgns_gradient(center, context, noise):
    sigma = lambda s: s.exp() / (1 + s.exp())
    return (sigma(center @ context) - 1) * context + sigma(noise @ center) @ noise

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

# %% 2.7 | une con replace, que no ve dónde empieza cada pieza
def apply_merges(word, merges):
    rank, pieces = {tuple(m): r for r, m in enumerate(merges)}, list(word)
    while True:
        pairs = [p for p in zip(pieces, pieces[1:]) if p in rank]
        if not pairs:
            return pieces
        best = min(pairs, key=rank.get)
        pieces = "|".join(pieces).replace("|".join(best), "".join(best)).split("|")

# %% 2.7 | la pareja se busca pegada, así que vale cualquier corte de las mismas letras
def apply_merges(word, merges):
    glued, pieces = ["".join(m) for m in merges], list(word)
    while True:
        found = [(glued.index(a + b), i) for i, (a, b) in enumerate(zip(pieces, pieces[1:])) if a + b in glued]
        if not found:
            return pieces
        i = min(found)[1]
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]

# %% 2.7 | la que más veces sale, y a igualdad la que se aprendió antes
def apply_merges(word, merges):
    rank, pieces = {tuple(m): r for r, m in enumerate(merges)}, list(word)
    while True:
        pairs = [p for p in zip(pieces, pieces[1:]) if p in rank]
        if not pairs:
            return pieces
        best = min(pairs, key=lambda p: (-pairs.count(p), rank[p]))
        i = next(i for i in range(len(pieces)) if tuple(pieces[i : i + 2]) == best)
        pieces[i : i + 2] = ["".join(best)]

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

# %% 2.8 | el corte con menos piezas
def best_cut(word, pieces, log_p):
    scores, best = dict(zip(pieces, log_p)), [[]]
    for j in range(1, len(word) + 1):
        ways = [[*best[i], word[i:j]] for i in range(j) if best[i] is not None and word[i:j] in scores]
        best.append(min(ways, key=len) if ways else None)
    return (best[-1], sum(scores[p] for p in best[-1])) if best[-1] else ([], -math.inf)

# %% 2.8 | voraz desde el final
def best_cut(word, pieces, log_p):
    scores, out, end = dict(zip(pieces, log_p)), [], len(word)
    while end > 0:
        fits = [i for i in range(end) if word[i:end] in scores]
        if not fits:
            return [], -math.inf
        i = max(fits, key=lambda i: scores[word[i:end]])
        out.insert(0, word[i:end])
        end = i
    return out, sum(scores[p] for p in out)

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

# %% 2.9 | normaliza la tabla, pero no el destino
def analogy(vectors, a, b, c, exclude=True):
    units = vectors / vectors.norm(dim=1, keepdim=True)
    scores = units @ (vectors[b] - vectors[a] + vectors[c])
    if exclude:
        scores[[a, b, c]] = -math.inf
    return int(scores.argmax())

# %% 2.9 | quita las dadas del resultado y devuelve el puesto en lo que queda
def analogy(vectors, a, b, c, exclude=True):
    units = vectors / vectors.norm(dim=1, keepdim=True)
    scores = units @ (units[b] - units[a] + units[c])
    if exclude:
        scores = scores[[i for i in range(len(scores)) if i not in (a, b, c)]]
    return int(scores.argmax())

# %% 2.9 | suma en lugar de restar la primera
def analogy(vectors, a, b, c, exclude=True):
    units = vectors / vectors.norm(dim=1, keepdim=True)
    scores = units @ (units[b] + units[a] + units[c])
    if exclude:
        scores[[a, b, c]] = -math.inf
    return int(scores.argmax())
