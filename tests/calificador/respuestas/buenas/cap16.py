"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 16.1 | escrita
bits_by_hand = {"bits": 8, "nats": 1.39, "perplexity": 4, "bpc": 0.67, "other": 0.75}

# %% 16.1 | con logaritmos
bits_by_hand = {"bits": math.log2(256), "nats": math.log(4), "perplexity": math.exp(math.log(4)), "bpc": 8 / 12, "other": 9 / 12}

# %% 16.2 | sitio a sitio
def next_token_loss(logits, ids, pad_id=None):
    total, count = 0.0, 0
    for row, tokens in zip(logits, ids.tolist()):
        for scores, token in zip(row[:-1], tokens[1:]):
            if pad_id is None or token != pad_id:
                total = total + torch.logsumexp(scores, 0) - scores[token]
                count += 1
    return total / count

# %% 16.2 | con una máscara que pesa
def next_token_loss(logits, ids, pad_id=None):
    scores = logits[:, :-1] - logits[:, :-1].amax(-1, keepdim=True)
    labels = ids[:, 1:].unsqueeze(-1)
    nats = scores.exp().sum(-1).log() - scores.gather(-1, labels).squeeze(-1)
    weights = torch.ones_like(nats) if pad_id is None else (labels.squeeze(-1) != pad_id).to(nats)
    return (nats * weights).sum() / weights.sum()

# %% 16.2 | con los sitios elegidos
def next_token_loss(logits, ids, pad_id=None):
    keep = torch.ones_like(ids, dtype=torch.bool) if pad_id is None else ids != pad_id
    row, place = keep[:, 1:].nonzero(as_tuple=True)
    return -torch.log_softmax(logits, -1)[row, place, ids[row, place + 1]].sum() / len(row)

# %% 16.3 | escrita
without_mask = "baja y escribe peor"

# %% 16.4 | con conjuntos y fila a fila
def kneser_ney_bigram(ids, vocab, discount=0.75):
    ids = ids.tolist()
    pairs = list(zip(ids, ids[1:]))
    kinds = set(pairs)
    before = [sum(y == b for _, y in kinds) / len(kinds) for b in range(vocab)]
    rows = []
    for a in range(vocab):
        follow = [y for x, y in pairs if x == a]
        if not follow:
            rows.append(before)
            continue
        spare = discount * len(set(follow)) / len(follow)
        rows.append([max(follow.count(b) - discount, 0) / len(follow) + spare * before[b] for b in range(vocab)])
    return torch.tensor(rows, dtype=torch.float64)

# %% 16.4 | lo que falta hasta uno, repartido
def kneser_ney_bigram(ids, vocab, discount=0.75):
    counts = torch.bincount(ids[:-1] * vocab + ids[1:], minlength=vocab * vocab).view(vocab, vocab).double()
    share = (counts > 0).sum(0).double() / (counts > 0).sum()
    rows = (counts - discount).relu() / counts.sum(1, keepdim=True).clamp(min=1)
    return rows + (1 - rows.sum(1, keepdim=True)) * share

# %% 16.4 | pareja a pareja, con diccionarios
def kneser_ney_bigram(ids, vocab, discount=0.75):
    seen = {}
    for a, b in zip(ids[:-1].tolist(), ids[1:].tolist()):
        seen[a, b] = seen.get((a, b), 0) + 1
    table = torch.zeros(vocab, vocab, dtype=torch.float64)
    share = torch.zeros(vocab, dtype=torch.float64)
    for (a, b), times in seen.items():
        share[b] += 1 / len(seen)
        table[a, b] = times - discount
    for a in range(vocab):
        times = sum(n for (x, _), n in seen.items() if x == a)
        kinds = sum(x == a for x, _ in seen)
        table[a] = (table[a] + discount * kinds * share) / times if times else share
    return table

# %% 16.5 | primero, dónde empieza el contexto de cada token
def windowed_bpc(log_probs, characters, *, window, stride):
    last = len(log_probs) - 1
    starts = [*range(0, max(last - window, 0), stride), max(last - window, 0)]
    total = 0.0
    for t in range(1, last + 1):
        start = next(i for i in starts if i + window >= t)
        total += log_probs[start, t].item()
    return -total / (characters * math.log(2))

# %% 16.5 | una máscara de lo que ya se contó
def windowed_bpc(log_probs, characters, *, window, stride):
    n = log_probs.shape[0]
    todo = torch.ones(n, dtype=torch.bool)
    todo[0] = False
    bits, start = torch.zeros((), dtype=torch.float64), 0
    while todo.any():
        if start + window > n - 1:
            start = max(n - 1 - window, 0)
        here = torch.zeros(n, dtype=torch.bool)
        here[start + 1 : start + window + 1] = True
        bits = bits - log_probs[start, here & todo].sum() / math.log(2)
        todo &= ~here
        start += stride
    return bits / characters

# %% 16.5 | recursiva
def windowed_bpc(log_probs, characters, *, window, stride):
    last = len(log_probs) - 1

    def rest(start, done):
        if done == last:
            return 0.0
        start = min(start, max(last - window, 0))
        end = min(last, start + window)
        return sum(log_probs[start, t].item() for t in range(done + 1, end + 1)) + rest(start + stride, end)

    return rest(0, 0) / -characters / math.log(2)

# %% 16.6 | capa a capa
def deepest_gpt(budget, *, vocab, context, d_model, tied=True):
    d = d_model
    attention = 4 * (d * d + d)
    dense = d * 4 * d + 4 * d + 4 * d * d + d
    total = vocab * d * (1 if tied else 2) + context * d + 2 * d
    layers = 0
    while total + attention + dense + 4 * d <= budget:
        total, layers = total + attention + dense + 4 * d, layers + 1
    return layers, total

# %% 16.6 | contando las piezas de PyTorch
def deepest_gpt(budget, *, vocab, context, d_model, tied=True):
    with torch.device("meta"):
        one = nn.TransformerEncoderLayer(d_model, 1, 4 * d_model)
    block = sum(p.numel() for p in one.parameters())
    rest = d_model * (vocab + context + 2 + (not tied) * vocab)
    return (budget - rest) // block, rest + (budget - rest) // block * block

# %% 16.6 | con divmod
def deepest_gpt(budget, *, vocab, context, d_model, tied=True):
    rest = (vocab * (2 - tied) + context + 2) * d_model
    layers, spare = divmod(budget - rest, d_model * (12 * d_model + 13))
    return [layers, budget - spare]

# %% 16.7 | buscando hacia atrás
def induction_scores(weights, ids):
    ids = ids.tolist()
    found = []
    for i in range(len(ids)):
        for j in range(i - 1, -1, -1):
            if ids[j] == ids[i]:
                found.append((i, j + 1))
                break
    return sum(weights[:, i, j] for i, j in found) / len(found)

# %% 16.7 | con índices
def induction_scores(weights, ids):
    n = len(ids)
    place = torch.arange(n).expand(n, n)
    before = torch.where((ids[:, None] == ids) & (place < place.T), place, -1).amax(1)
    rows = (before >= 0).nonzero().flatten()
    return weights[:, rows, before[rows] + 1].mean(-1)

# %% 16.7 | cabeza a cabeza, con las listas al revés
def induction_scores(weights, ids):
    out = []
    for head in weights:
        total, count = 0.0, 0
        for i, token in enumerate(ids.tolist()):
            back = ids[:i].flip(0).tolist()
            if token in back:
                total += head[i, i - back.index(token)].item()
                count += 1
        out.append(total / count)
    return torch.tensor(out, dtype=torch.float64)

# %% 16.8 | con mínimos cuadrados de PyTorch
def extrapolate(sizes, losses, size, t=2.0):
    design = torch.stack([torch.ones_like(sizes), sizes.log()], 1).double()
    y = losses.log().double()
    inverse = torch.linalg.inv(design.T @ design)
    line = torch.linalg.lstsq(design, y[:, None]).solution[:, 0]
    noise = ((y - design @ line) ** 2).sum() / (len(y) - 2)
    at = torch.tensor([1.0, math.log(size)], dtype=torch.float64)
    half = t * (noise * (1 + at @ inverse @ at)).sqrt()
    return line[0].exp(), -line[1], (at @ line - half).exp(), (at @ line + half).exp()

# %% 16.8 | con listas
def extrapolate(sizes, losses, size, t=2.0):
    x = [math.log(v) for v in sizes.tolist()]
    y = [math.log(v) for v in losses.tolist()]
    n = len(x)
    mx, my = sum(x) / n, sum(y) / n
    sxx = sum((v - mx) ** 2 for v in x)
    b = -sum((u - mx) * (v - my) for u, v in zip(x, y)) / sxx
    a = math.exp(my + b * mx)
    s2 = sum((v - math.log(a) + b * u) ** 2 for u, v in zip(x, y)) / (n - 2)
    wide = math.exp(t * math.sqrt(s2 * (1 + 1 / n + (math.log(size) - mx) ** 2 / sxx)))
    best = a * size**-b
    return a, b, best / wide, best * wide

# %% 16.8 | en base 10
def extrapolate(sizes, losses, size, t=2.0):
    x, y = sizes.log10(), losses.log10()
    cov = torch.cov(torch.stack([x, y]))
    slope = cov[0, 1] / cov[0, 0]
    height = y.mean() - slope * x.mean()
    s = ((y - height - slope * x).square().sum() / (len(x) - 2)).sqrt()
    u = math.log10(size)
    reach = t * s * (1 + 1 / len(x) + (u - x.mean()) ** 2 / (cov[0, 0] * (len(x) - 1))).sqrt()
    return (10**height).item(), -slope.item(), (10 ** (height + slope * u - reach)).item(), (10 ** (height + slope * u + reach)).item()
