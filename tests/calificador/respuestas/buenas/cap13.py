"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo» es una entrega entera."""

# %% 13.1 | con todo el texto y un for
def write(logits, prefix, *, eos_id, max_length, stop=()):
    text, n = list(prefix), len(prefix)
    for _ in range(max_length):
        text.append(torch.argmax(logits[text[-1]]).item())
        new = text[n:]
        if new[-1] == eos_id or (len(stop) > 0 and len(new) >= len(stop) and new[-len(stop):] == list(stop)):
            break
    return text[n:]

# %% 13.1 | con max de Python y tuplas
def write(logits, prefix, *, eos_id, max_length, stop=()):
    out = ()
    word = prefix[-1]
    while len(out) < max_length:
        row = logits[word].tolist()
        word = row.index(max(row))
        out += (word,)
        if word == eos_id or (stop and out[len(out) - len(stop):] == tuple(stop) and len(out) >= len(stop)):
            break
    return list(out)

# %% 13.1 | recursiva
def write(logits, prefix, *, eos_id, max_length, stop=()):
    def go(last, done):
        if len(done) == max_length:
            return done
        word = int(logits[last].max(dim=0).indices)
        done = done + [word]
        if word == eos_id or (stop and done[-len(stop):] == list(stop)):
            return done
        return go(word, done)
    return go(prefix[-1], [])

# %% 13.2 | con dos decimales
tree_by_hand = {"greedy": 0.22, "best": 0.36, "tie": 0.33}

# %% 13.2 | con fracciones
from fractions import Fraction

tie = Fraction(2, 5) / (Fraction(2, 5) + Fraction(4, 5))
tree_by_hand = {"greedy": 0.55 * 0.4, "best": 0.45 * 0.8, "tie": float(tie)}

# %% 13.3 | con una lista de parejas
def beam_step(totals, log_probs, *, beams, eos_id):
    pairs = [(float(totals[i] + log_probs[i, j]), i, j) for i in range(len(totals)) for j in range(log_probs.shape[1])]
    pairs.sort(key=lambda p: -p[0])
    live = [p for p in pairs if p[2] != eos_id][:beams]
    closed = [i for _, i, j in pairs[:beams] if j == eos_id]
    return (torch.tensor([p[1] for p in live]), torch.tensor([p[2] for p in live]), torch.tensor([p[0] for p in live], dtype=totals.dtype), closed)

# %% 13.3 | con dos topk
def beam_step(totals, log_probs, *, beams, eos_id):
    total = totals.unsqueeze(1) + log_probs
    first = total.flatten().topk(beams).indices
    closed = [int(i) // total.shape[1] for i in first if int(i) % total.shape[1] == eos_id]
    going = total.clone()
    going[:, eos_id] = -math.inf
    best, index = going.flatten().topk(beams)
    return torch.div(index, total.shape[1], rounding_mode="floor"), index % total.shape[1], best, closed

# %% 13.3 | con unravel_index
def beam_step(totals, log_probs, *, beams, eos_id):
    total = log_probs + totals[:, None]
    order = torch.sort(total.reshape(-1), descending=True).indices
    parents, words = torch.unravel_index(order, total.shape)
    keep = words != eos_id
    closed = [int(p) for p, w in list(zip(parents, words))[:beams] if w == eos_id]
    return parents[keep][:beams], words[keep][:beams], total[parents, words][keep][:beams], closed

# %% 13.4 | con dos decimales
temperature_by_hand = {"cold": 0.94, "hot": 0.67, "tau": 0.33, "twice": 0.59}

# %% 13.4 | con potencias de las probabilidades
def heat(probs, tau):
    powers = [p ** (1 / tau) for p in probs]
    return [p / sum(powers) for p in powers]

temperature_by_hand = {"cold": heat([0.8, 0.2], 0.5)[0], "hot": heat([0.8, 0.2], 2)[0],
                       "tau": 1 / 3, "twice": heat(heat([0.8, 0.2], 2), 2)[0]}

# %% 13.5 | tal cual
nucleus_size = "tres"

# %% 13.6 | deshaciendo la ordenación
def nucleus(logits, p, temperature=1.0):
    probs = (logits / temperature).softmax(-1)
    ordered, order = probs.sort(-1, descending=True)
    before = ordered.cumsum(-1) - ordered
    keep = before < p - 1e-12
    last = torch.where(keep, ordered, math.inf).amin(-1, keepdim=True)
    kept = probs * (probs >= last * (1 - 1e-12))
    return kept / kept.sum(-1, keepdim=True)

# %% 13.6 | fila a fila
def nucleus(logits, p, temperature=1.0):
    out = []
    for row in logits.reshape(-1, logits.shape[-1]):
        probs = torch.softmax(row / temperature, 0)
        order = sorted(range(len(row)), key=lambda i: float(-row[i]))
        total, n = 0.0, 0
        while total < p:
            total += float(probs[order[n]])
            n += 1
        bar = row[order[n - 1]]
        kept = torch.where(row >= bar, probs, torch.zeros_like(probs))
        out.append(kept / kept.sum())
    return torch.stack(out).reshape(logits.shape)

# %% 13.6 | contando cuánto pesan las que ganan a cada palabra
def nucleus(logits, p, temperature=1.0):
    probs = (logits / temperature).softmax(-1)
    better = logits[..., None, :] > logits[..., :, None]
    ahead = (better * probs[..., None, :]).sum(-1)
    kept = probs * (ahead < p) * (logits > -math.inf)
    return kept / kept.sum(-1, keepdim=True)

# %% 13.7 | con probabilidades y topk
def keep_min_p(logits, p, at_least=1):
    probs = logits.softmax(-1)
    kept = probs >= p * probs.max(-1, keepdim=True).values
    best = logits.topk(at_least, dim=-1).indices
    return kept.scatter(-1, best, True)

# %% 13.7 | con el listón de la peor de las mejores
def keep_min_p(logits, p, at_least=1):
    bar = logits.max(-1, keepdim=True).values + math.log(p)
    least = logits.sort(-1, descending=True).values[..., at_least - 1 : at_least]
    return logits >= torch.minimum(bar, least)

# %% 13.7 | fila a fila
def keep_min_p(logits, p, at_least=1):
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        n = max(at_least, int((torch.exp(row - row.max()) >= p).sum()))
        mask = torch.zeros(len(row), dtype=torch.bool)
        mask[row.argsort(descending=True)[:n]] = True
        rows.append(mask)
    return torch.stack(rows).reshape(logits.shape)

# %% 13.8 | con tensores
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    live, done = [((start,), 0.0)], []
    for t in range(max_length):
        total = torch.stack([log_probs[w[-1]] + s for w, s in live])
        order = total.flatten().argsort(descending=True).tolist()
        grown = [(live[i // len(log_probs)][0] + (i % len(log_probs),), float(total.flatten()[i])) for i in order]
        done += [g for g in grown[:beams] if g[0][-1] == eos_id]
        live = [g for g in grown if g[0][-1] != eos_id][:beams]
    best = max(done + live, key=lambda g: g[1] / (len(g[0]) - 1) ** alpha)
    return list(best[0][1:]), best[1] / (len(best[0]) - 1) ** alpha

# %% 13.8 | guardando solo la mejor
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    best, live = (-math.inf, []), [([], 0.0)]
    for length in range(1, max_length + 1):
        grown = sorted(((s + float(lp), [*w, v]) for w, s in live for v, lp in enumerate(log_probs[w[-1] if w else start])), reverse=True)
        live = []
        for rank, (s, w) in enumerate(grown):
            if w[-1] == eos_id:
                if rank < beams:
                    best = max(best, (s / length**alpha, w))
            elif len(live) < beams:
                live.append((w, s))
    for w, s in live:
        best = max(best, (s / max_length**alpha, w))
    return best[1], best[0]

# %% 13.8 | la mínima: tres cambios
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    live = [([], 0.0)]
    finished = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = words[-1] if words else start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + log_prob))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:beams]
    finished += live
    scored = [(words, total / len(words) ** alpha) for words, total in finished]
    return max(scored, key=lambda one: one[1])

# %% 13.9 | posición a posición, como al generar
def cached_attention(x, past_key, past_value, w_query, w_key, w_value):
    h, dh = past_key.shape[1], past_key.shape[3]
    outs = []
    for t in range(x.shape[1]):
        q, k, v = ((x[:, t] @ w).view(len(x), h, 1, dh) for w in (w_query, w_key, w_value))
        past_key, past_value = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
        weights = (q @ past_key.transpose(2, 3) / dh**0.5).softmax(-1)
        outs.append((weights @ past_value).reshape(len(x), -1))
    return torch.stack(outs, 1), past_key, past_value

# %% 13.9 | cabeza a cabeza
def cached_attention(x, past_key, past_value, w_query, w_key, w_value):
    b, h, past, dh = past_key.shape
    outs, keys, values = [], [], []
    for k in range(h):
        cols = slice(k * dh, (k + 1) * dh)
        key = torch.cat([past_key[:, k], x @ w_key[:, cols]], 1)
        value = torch.cat([past_value[:, k], x @ w_value[:, cols]], 1)
        scores = (x @ w_query[:, cols]) @ key.mT / math.sqrt(dh)
        future = torch.arange(key.shape[1]) > past + torch.arange(x.shape[1])[:, None]
        outs.append(scores.masked_fill(future, -math.inf).softmax(-1) @ value)
        keys.append(key)
        values.append(value)
    return torch.cat(outs, -1), torch.stack(keys, 1), torch.stack(values, 1)

# %% 13.9 | con einsum y exponenciales
def cached_attention(x, past_key, past_value, w_query, w_key, w_value):
    b, h, past, dh = past_key.shape
    new = x.shape[1]
    heads = lambda w: torch.einsum("bnd,dhe->bhne", x, w.reshape(-1, h, dh))
    key, value = torch.cat((past_key, heads(w_key)), -2), torch.cat((past_value, heads(w_value)), -2)
    scores = torch.einsum("bhne,bhme->bhnm", heads(w_query), key) / dh**0.5
    allowed = torch.arange(past + new)[None] <= torch.arange(past, past + new)[:, None]
    e = torch.exp(scores - scores.amax(-1, keepdim=True)) * allowed
    out = torch.einsum("bhnm,bhme->bnhe", e / e.sum(-1, keepdim=True), value)
    return out.reshape(b, new, h * dh), key, value

# %% 13.10 | fila a fila
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    rows = []
    for prompt in prompts.tolist():
        last, row = [w for w in prompt if w != pad_id][-1], []
        while len(row) < max_length and eos_id not in row:
            last = int(logits[last].argmax())
            row.append(last)
        rows.append(row)
    longest = max(map(len, rows))
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])

# %% 13.10 | con gather y un tensor lleno de relleno
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    nxt = logits.argmax(-1)
    lengths = prompts.ne(pad_id).sum(1, keepdim=True)
    last = prompts.gather(1, lengths - 1).squeeze(1)
    out = torch.full((len(prompts), max_length), pad_id)
    active, used = torch.ones(len(prompts), dtype=torch.bool), 0
    for t in range(max_length):
        if not active.any():
            break
        last = nxt[last]
        out[active, t] = last[active]
        active &= last != eos_id
        used = t + 1
    return out[:, :used]

# %% 13.10 | escribe de más y recorta
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    last = torch.tensor([[w for w in row if w != pad_id][-1] for row in prompts.tolist()])
    columns = []
    for _ in range(max_length):
        last = logits[last].argmax(1)
        columns.append(last)
    out = torch.stack(columns, 1)
    after = (out == eos_id).int().cumsum(1) - (out == eos_id).int() > 0
    out = out.masked_fill(after, pad_id)
    return out[:, : int((~after).sum(1).max())]

# %% 13.11 | bisección entre cambios
def winners_by_alpha(log_probs, lengths):
    n = len(lengths)
    cuts = sorted({math.log(log_probs[i] / log_probs[j]) / math.log(lengths[i] / lengths[j]) for i in range(n) for j in range(n) if lengths[i] > lengths[j]})
    cuts = [0.0] + [c for c in cuts if c > 0]
    found = []
    for a, b in zip(cuts, cuts[1:] + [cuts[-1] + 1]):
        alpha = (a + b) / 2
        best = max(range(n), key=lambda i: log_probs[i] / lengths[i] ** alpha)
        if not found or found[-1][0] != best:
            found.append((best, a))
    return found

# %% 13.11 | envolvente con pila
def winners_by_alpha(log_probs, lengths):
    lines = sorted(((math.log(l), math.log(-s), i) for i, (s, l) in enumerate(zip(log_probs, lengths))))
    start = min(lines, key=lambda one: one[1])
    stack = [(start, 0.0)]
    for line in lines:
        if line[0] <= start[0]:
            continue
        while True:
            top, since = stack[-1]
            if line[0] == top[0]:
                if line[1] >= top[1]:
                    break
                stack.pop()
                continue
            cut = (line[1] - top[1]) / (line[0] - top[0])
            if cut <= since:
                stack.pop()
                continue
            stack.append((line, cut))
            break
    return [(line[2], since) for line, since in stack]

# %% 13.11 | paso a paso con una lista de las que quedan
def winners_by_alpha(log_probs, lengths):
    s, l = [math.log(-x) for x in log_probs], [math.log(x) for x in lengths]
    now, out = s.index(min(s)), []
    alpha = 0.0
    while now is not None:
        out.append([now, alpha])
        rest = {i: (s[i] - s[now]) / (l[i] - l[now]) for i in range(len(s)) if l[i] > l[now]}
        now = min(rest, key=rest.get, default=None)
        alpha = rest.get(now)
    return [tuple(pair) for pair in out]

# %% 13.12 | con bucles
def chi_square(counts, logits, *, temperature=1.0, top_k):
    order = sorted(range(len(logits)), key=lambda i: -float(logits[i]))[:top_k]
    weights = {i: math.exp(float(logits[i]) / temperature) for i in order}
    total = int(counts.sum())
    groups, rare = [], [0, 0.0]
    for i, w in weights.items():
        e = total * w / sum(weights.values())
        if e < 5:
            rare = [rare[0] + int(counts[i]), rare[1] + e]
        else:
            groups.append((int(counts[i]), e))
    if rare[1]:
        groups.append(tuple(rare))
    bad = any(int(counts[i]) for i in range(len(logits)) if i not in weights)
    stat = math.inf if bad else sum((n - e) ** 2 / e for n, e in groups)
    return stat, len(groups) - 1

# %% 13.12 | con máscaras
def chi_square(counts, logits, *, temperature=1.0, top_k):
    bar = logits.topk(top_k).values[-1]
    probs = torch.where(logits >= bar, torch.exp((logits - logits.max()) / temperature), 0.0)
    e = probs / probs.sum() * counts.sum()
    big = e >= 5
    rare = (e > 0) & ~big
    seen, hope = list(counts[big].tolist()), e[big].tolist()
    if rare.any():
        seen.append(counts[rare].sum().item())
        hope.append(e[rare].sum().item())
    if counts[e == 0].sum() > 0:
        return float("inf"), len(hope) - 1
    return sum((a - b) ** 2 / b for a, b in zip(seen, hope)), len(hope) - 1

# %% 13.12 | con índices de grupo y scatter_add
def chi_square(counts, logits, *, temperature=1.0, top_k):
    kept = logits.argsort(descending=True)[:top_k]
    hope = (logits[kept] / temperature).softmax(0) * counts.sum()
    seen = counts[kept].to(hope.dtype)
    group = torch.where(hope < 5, 0, torch.arange(1, top_k + 1))
    hoped = torch.zeros(top_k + 1, dtype=hope.dtype).scatter_add(0, group, hope)
    came = torch.zeros(top_k + 1, dtype=hope.dtype).scatter_add(0, group, seen)
    used = hoped > 0
    stat = ((came - hoped)[used].square() / hoped[used]).sum().item()
    return (stat if int(counts.sum()) == int(seen.sum()) else math.inf), int(used.sum()) - 1
