"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 15.1 | escrita
masking_by_hand = {"altered": 133.5, "intact": 16.5, "asked": 3.41, "loss": 2.30}

# %% 15.1 | con fracciones
masking_by_hand = {"altered": 1000 * (0.12 + 0.015 * 9 / 10), "intact": 15 + 1.5, "asked": 100 * 3 / 88, "loss": math.log(2) + math.log(5)}

# %% 15.2 | escrita
uncovered_loss = "baja casi a cero"

# %% 15.3 | con listas
def mask_tokens(ids, chance, fate, other, *, mask_id, special, fraction=0.15):
    seen, labels = ids.tolist(), [[0] * ids.shape[1] for _ in ids]
    for i, row in enumerate(ids.tolist()):
        for j, word in enumerate(row):
            if word in special or chance[i, j] >= fraction:
                continue
            labels[i][j] = word
            if fate[i, j] < 0.8:
                seen[i][j] = mask_id
            elif fate[i, j] < 0.9:
                seen[i][j] = int(other[i, j])
    return torch.tensor(seen), torch.tensor(labels)

# %% 15.3 | cambiando una copia con índices
def mask_tokens(ids, chance, fate, other, *, mask_id, special, fraction=0.15):
    chosen = chance < fraction
    for mark in special:
        chosen = chosen & (ids != mark)
    seen, labels = ids.clone(), torch.zeros_like(ids)
    labels[chosen] = ids[chosen]
    swap = chosen & (fate < 0.9)
    seen[swap] = other[swap]
    seen[chosen & (fate < 0.8)] = mask_id
    return seen, labels

# %% 15.3 | con productos de ceros y unos
def mask_tokens(ids, chance, fate, other, *, mask_id, special, fraction=0.15):
    mark = (ids.unsqueeze(-1) == torch.tensor(special)).any(-1)
    c = (chance < fraction).long() * (1 - mark.long())
    a, b = (fate < 0.8).long(), (fate < 0.9).long()
    return (1 - c) * ids + c * (a * mask_id + (b - a) * other + (1 - b) * ids), c * ids

# %% 15.4 | con la entropía cruzada de PyTorch
def masked_loss(states, labels, matrix, bias, pad_id=0):
    if (labels == pad_id).all():
        return torch.tensor(0.0)
    scores = nn.functional.linear(states, matrix, bias)
    return nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten(), ignore_index=pad_id)

# %% 15.4 | pregunta a pregunta
def masked_loss(states, labels, matrix, bias, pad_id=0):
    costs = []
    for x, k in zip(states.flatten(0, 1), labels.flatten().tolist()):
        if k != pad_id:
            z = matrix @ x + bias
            costs.append((z - z.max()).exp().sum().log() + z.max() - z[k])
    return sum(costs) / len(costs) if costs else 0.0

# %% 15.4 | con una máscara de pesos
def masked_loss(states, labels, matrix, bias, pad_id=0):
    logp = (torch.einsum("bnd,vd->bnv", states, matrix) + bias).log_softmax(-1)
    weight = (labels != pad_id).double()
    picked = (logp * nn.functional.one_hot(labels, len(matrix))).sum(-1)
    return -(picked * weight).sum() / weight.sum().clamp(min=1)

# %% 15.5 | frase a frase
def compare_sentences(states, real):
    vectors = torch.stack([s[r].mean(0) if r.any() else torch.zeros(s.shape[1], dtype=s.dtype) for s, r in zip(states, real)])
    def cosine(a, b):
        size = a.norm() * b.norm()
        return a @ b / size if size > 0 else torch.zeros((), dtype=a.dtype)
    return vectors, torch.stack([torch.stack([cosine(a, b) for b in vectors]) for a in vectors])

# %% 15.5 | pesos y la función de PyTorch
def compare_sentences(states, real):
    weight = real.double() / real.sum(1, keepdim=True).clamp(min=1)
    vectors = torch.einsum("bn,bnd->bd", weight, states)
    return vectors, nn.functional.cosine_similarity(vectors[:, None], vectors[None], dim=-1)

# %% 15.5 | el coseno no sabe de medias ni de sumas
def compare_sentences(states, real):
    total = (states * real[:, :, None]).sum(1)
    vectors = torch.nan_to_num(total / real.sum(1)[:, None])
    unit = nn.functional.normalize(total, dim=1)
    return vectors, unit @ unit.T

# %% 15.6 | con una lista de capas y sus tamaños
def family_parameters(vocab, d_model, d_ff, n_layers, max_len, n_segments=2, *, factor=None, shared=False):
    linear = lambda a, b: a * b + b
    e = factor or d_model
    entry = vocab * e + max_len * e + n_segments * e + e + e + (linear(e, d_model) if factor else 0)
    block = 4 * linear(d_model, d_model) + linear(d_model, d_ff) + linear(d_ff, d_model) + 2 * (d_model + d_model)
    return entry, block * (1 if shared else n_layers)

# %% 15.6 | desarrollada
def family_parameters(vocab, d_model, d_ff, n_layers, max_len, n_segments=2, *, factor=None, shared=False):
    d, f = d_model, d_ff
    e = d if factor is None else factor
    entry = e * (vocab + max_len + n_segments + 2) + (0 if factor is None else d * e + d)
    return entry, (4 * d**2 + 2 * d * f + 9 * d + f) * n_layers ** (not shared)

# %% 15.6 | sumando formas
def family_parameters(vocab, d_model, d_ff, n_layers, max_len, n_segments=2, *, factor=None, shared=False):
    e = factor if factor is not None else d_model
    shapes = [(vocab, e), (max_len, e), (n_segments, e), (e,), (e,)]
    if factor is not None:
        shapes += [(d_model, e), (d_model,)]
    block = [(d_model, d_model), (d_model,)] * 4 + [(d_ff, d_model), (d_ff,), (d_model, d_ff), (d_model,)] + [(d_model,)] * 4
    return sum(map(math.prod, shapes)), sum(map(math.prod, block)) * (1 if shared else n_layers)

# %% 15.7 | un bucle doble
def answer_span(start, end, allowed, max_length, margin=0.0):
    rows = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist()):
        best, where = s[0] + e[0] + margin, [0, 0]
        for i in range(len(s)):
            for j in range(i, min(len(s), i + max_length)):
                if a[i] and a[j] and s[i] + e[j] > best:
                    best, where = s[i] + e[j], [i, j]
        rows.append(where)
    return torch.tensor(rows)

# %% 15.7 | por longitudes, y un sorteo de empates con índices
def answer_span(start, end, allowed, max_length, margin=0.0):
    batch, n = start.shape
    s, e = (t.masked_fill(~allowed, -math.inf) for t in (start, end))
    out = torch.zeros(batch, 2, dtype=torch.long)
    for b in range(batch):
        found = []
        for i in range(n):
            window = e[b, i : i + max_length]
            j = int(window.argmax())
            found.append((float(s[b, i] + window[j]), -i, i + j))
        score, i, j = max(found, key=lambda t: t[:2])
        if score > start[b, 0] + end[b, 0] + margin:
            out[b] = torch.tensor([-i, j])
    return out

# %% 15.7 | con distancias y nonzero
def answer_span(start, end, allowed, max_length, margin=0.0):
    n = start.shape[1]
    gap = torch.arange(n)[None] - torch.arange(n)[:, None]
    fits = (gap >= 0) & (gap < max_length)
    answers = []
    for s, e, a in zip(start, end, allowed):
        table = torch.where(fits & a[:, None] & a[None], s[:, None] + e, -torch.inf)
        top = table.max()
        answers.append((table == top).nonzero()[0] if top > s[0] + e[0] + margin else torch.tensor([0, 0]))
    return torch.stack(answers)

# %% 15.8 | todas las secuencias, recortando las que no valen
def read_entities(pieces, scores, kinds):
    words = []
    for piece, row in zip(pieces, scores.tolist()):
        if piece.startswith("##"):
            if words:
                words[-1][0] += piece[2:]
        elif piece not in ("[CLS]", "[SEP]", "[PAD]"):
            words.append([piece, row])
    best = {0: (0.0, [])}
    for _, row in words:
        new = {}
        for t, x in enumerate(row):
            before = [v for k, v in best.items() if t == 0 or t % 2 or k in (t - 1, t)]
            if before:
                total, tags = max(before)
                new[t] = (total + x, tags + [t])
        best = new
    tags, out = max(best.values())[1], []
    for (text, _), t in zip(words, tags):
        if t % 2:
            out.append([kinds[t // 2], text])
        elif t:
            out[-1][1] += " " + text
    return [tuple(x) for x in out]

# %% 15.8 | de atrás adelante, con memoria
def read_entities(pieces, scores, kinds):
    heads = [i for i, p in enumerate(pieces) if p[:2] != "##" and p not in {"[CLS]", "[SEP]", "[PAD]"}]
    memo = {}
    def follow(k, before):
        if k == len(heads):
            return 0.0, ()
        if (k, before) not in memo:
            options = []
            for t in range(scores.shape[1]):
                if t and t % 2 == 0 and before not in (t, t - 1):
                    continue
                rest, path = follow(k + 1, t)
                options.append((float(scores[heads[k], t]) + rest, (t, *path)))
            memo[k, before] = max(options)
        return memo[k, before]
    out = []
    for i, t in zip(heads, follow(0, 0)[1]):
        text = pieces[i]
        for extra in pieces[i + 1 :]:
            if extra[:2] != "##":
                break
            text += extra[2:]
        if t and t % 2 == 0:
            kind, old = out.pop()
            text = old + " " + text
        if t:
            out.append((kinds[(t - 1) // 2], text))
    return out

# %% 15.8 | con una matriz de castigos
def read_entities(pieces, scores, kinds):
    T = scores.shape[1]
    cost = torch.zeros(T, T, dtype=scores.dtype)
    for t in range(2, T, 2):
        cost[:, t] = -math.inf
        cost[t - 1, t] = cost[t, t] = 0
    texts, rows = [], []
    for piece, row in zip(pieces, scores):
        if piece.startswith("##") and texts:
            texts[-1] = texts[-1] + piece.removeprefix("##")
        elif piece not in ("[CLS]", "[SEP]", "[PAD]"):
            texts.append(piece)
            rows.append(row)
    if not rows:
        return []
    value, back = rows[0] + cost[0], []
    for row in rows[1:]:
        value, came = (value[:, None] + cost + row).max(0)
        back.append(came)
    t = int(value.argmax())
    tags = [t]
    for came in back[::-1]:
        t = int(came[t])
        tags.append(t)
    groups = []
    for text, t in zip(texts, tags[::-1]):
        if t and t % 2:
            groups.append((kinds[t // 2], [text]))
        elif t:
            groups[-1][1].append(text)
    return [(kind, " ".join(words)) for kind, words in groups]
