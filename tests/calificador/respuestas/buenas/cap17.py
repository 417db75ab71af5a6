"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 17.1 | mirando el de antes
def corrupt_spans(ids, hidden, vocab):
    starts = [h and not (i and hidden[i - 1]) for i, h in enumerate(hidden)]
    read, written, used = [], [], 0
    for token, h, start in zip(ids, hidden, starts):
        used += start
        if start:
            read += [vocab - used]
            written += [vocab - used]
        if h:
            written += [token]
        else:
            read += [token]
    return read, written + [vocab - used - 1]

# %% 17.1 | por grupos
def corrupt_spans(ids, hidden, vocab):
    from itertools import groupby
    read, written, free = [], [], iter(range(vocab - 1, -1, -1))
    for taken, group in groupby(zip(ids, hidden), key=lambda pair: pair[1]):
        tokens = [token for token, _ in group]
        if taken:
            mark = next(free)
            read.append(mark)
            written += [mark, *tokens]
        else:
            read += tokens
    written.append(next(free))
    return [read, written]

# %% 17.1 | con tensores
def corrupt_spans(ids, hidden, vocab):
    ids, hidden = torch.tensor(ids), torch.tensor(hidden)
    before = torch.cat([torch.zeros(1, dtype=torch.bool), hidden[:-1]])
    number = (hidden & ~before).cumsum(0)
    read, written = [], []
    for i in range(len(ids)):
        if hidden[i] and not before[i]:
            read.append(vocab - int(number[i]))
            written.append(vocab - int(number[i]))
        (written if hidden[i] else read).append(int(ids[i]))
    return read, written + [vocab - 1 - int(number[-1])]

# %% 17.2 | escrita
shuffled = "solo las palabras"

# %% 17.3 | escrita
spans_by_hand = {"read": 180, "written": 41, "unigram_f": 0.923, "lcs": 4, "lcs_f": 0.615}

# %% 17.3 | con fracciones
spans_by_hand = {"read": 170 + 10, "written": 30 + 10 + 1, "unigram_f": 12 / 13, "lcs": 4, "lcs_f": 8 / 13}

# %% 17.4 | buscando en lo escrito
def restore_spans(source, written, vocab, n_sentinels=100):
    is_mark = lambda x: x >= vocab - n_sentinels
    out = []
    for x in source:
        if not is_mark(x):
            out.append(x)
        elif x in written:
            i = written.index(x) + 1
            while i < len(written) and not is_mark(written[i]):
                out.append(written[i])
                i += 1
    return out

# %% 17.4 | trozos desde el final
def restore_spans(source, written, vocab, n_sentinels=100):
    spans, piece = {}, []
    for x in reversed(written):
        if x >= vocab - n_sentinels:
            spans[x] = piece[::-1]
            piece = []
        else:
            piece.append(x)
    return [y for x in source for y in (spans.get(x, ()) if x >= vocab - n_sentinels else (x,))]

# %% 17.4 | con los sitios de los centinelas
def restore_spans(source, written, vocab, n_sentinels=100):
    marks = {*range(vocab - n_sentinels, vocab)}
    places = [i for i, x in enumerate(written) if x in marks] + [len(written)]
    spans = {}
    for i, j in zip(places, places[1:]):
        if written[i] not in spans:
            spans[written[i]] = written[i + 1 : j]
    out = []
    for x in source:
        if x in marks:
            out.extend(spans.get(x, []))
        else:
            out.append(x)
    return out

# %% 17.5 | bajando desde arriba
def raw_length(budget, *, density=0.15, mean_length=3.0):
    def count(n):
        t = max(1, min(n - 1, round(n * density)))
        return t, max(1, min(round(t / mean_length), t, n - t))
    n = 10 * budget
    while True:
        t, s = count(n)
        if n - t + s + 1 <= budget:
            return n, t + s + 2
        n -= 1

# %% 17.5 | por bisección
def raw_length(budget, *, density=0.15, mean_length=3.0):
    def both(n):
        t = sorted((1, round(n * density), n - 1))[1]
        s = min(max(round(t / mean_length), 1), t, n - t)
        return n - t + s + 1, t + s + 2
    low, high = 2, 100 * budget
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if both(middle)[0] <= budget else (low, middle)
    return [low, both(low)[1]]

# %% 17.5 | tapando de verdad
def raw_length(budget, *, density=0.15, mean_length=3.0):
    best = None
    for n in range(2, 8 * budget + 8):
        t = min(n - 1, max(1, round(n * density)))
        s = min(t, n - t, max(1, round(t / mean_length)))
        read = ["token"] * (n - t) + ["mark"] * s + ["end"]
        written = ["token"] * t + ["mark"] * (s + 1) + ["end"]
        if len(read) <= budget:
            best = n, len(written)
    return best

# %% 17.6 | con la atención de PyTorch
def t5_attention(x, w_query, w_key, w_value, w_output, table, bucket, mask=None):
    heads = table.shape[1]
    q, k, v = (torch.nn.functional.linear(x, w).unflatten(-1, (heads, -1)).transpose(1, 2) for w in (w_query, w_key, w_value))
    bias = table[bucket].permute(2, 0, 1)[None].repeat(len(x), 1, 1, 1)
    if mask is not None:
        bias = bias.masked_fill(~mask[:, None, None], -math.inf)
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=1.0)
    return mixed.transpose(1, 2).flatten(2) @ w_output.T

# %% 17.6 | cabeza a cabeza, sumando lo que aporta cada una
def t5_attention(x, w_query, w_key, w_value, w_output, table, bucket, mask=None):
    heads = table.shape[1]
    wide = len(w_query) // heads
    total = 0
    for h in range(heads):
        rows = slice(h * wide, (h + 1) * wide)
        scores = x @ w_query[rows].T @ w_key[rows] @ x.mT + table[:, h][bucket]
        if mask is not None:
            scores = torch.where(mask[:, None], scores, -torch.inf)
        total = total + scores.softmax(-1) @ x @ w_value[rows].T @ w_output[:, rows].T
    return total

# %% 17.6 | con einsum y una softmax escrita
def t5_attention(x, w_query, w_key, w_value, w_output, table, bucket, mask=None):
    b, n, _ = x.shape
    h = table.shape[1]
    q = torch.einsum("bnd,wd->bnw", x, w_query).view(b, n, h, -1)
    k = torch.einsum("bnd,wd->bnw", x, w_key).view(b, n, h, -1)
    v = torch.einsum("bnd,wd->bnw", x, w_value).view(b, n, h, -1)
    e = torch.einsum("bihc,bjhc->bijh", q, k) + table[bucket]
    p = (e - e.amax(2, keepdim=True)).exp()
    if mask is not None:
        p = p * mask[:, None, :, None]
    p = p / p.sum(2, keepdim=True)
    return torch.einsum("bijh,bjhc->bihc", p, v).reshape(b, n, -1) @ w_output.mT

# %% 17.7 | con la tabla entera
def rouge_l(written, reference):
    n, m = len(written), len(reference)
    table = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n):
        for j in range(m):
            if written[i] == reference[j]:
                table[i + 1][j + 1] = table[i][j] + 1
            else:
                table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j])
    common = table[n][m]
    return common / max(n, 1), common / m, 2 * common / (n + m)

# %% 17.7 | recursiva, con memoria
def rouge_l(written, reference):
    from functools import cache

    @cache
    def common(i, j):
        if i == 0 or j == 0:
            return 0
        if written[i - 1] == reference[j - 1]:
            return common(i - 1, j - 1) + 1
        return max(common(i - 1, j), common(i, j - 1))

    c = common(len(written), len(reference))
    if not c:
        return 0, 0, 0
    p, r = c / len(written), c / len(reference)
    return [p, r, 1 / ((1 / p + 1 / r) / 2)]

# %% 17.7 | con la creciente más larga
def rouge_l(written, reference):
    from bisect import bisect_left
    tops = []
    for word in written:
        for j in reversed([j for j, other in enumerate(reference) if other == word]):
            place = bisect_left(tops, j)
            tops[place : place + 1] = [j]
    c = len(tops)
    return (c / len(written), c / len(reference), 2 * c / (len(written) + len(reference))) if c else (0.0, 0.0, 0.0)

# %% 17.8 | contando hacia delante y hacia atrás
def hidden_chances(n, hidden, spans):
    from functools import cache

    @cache
    def ways(left, hides, runs, last):
        if left == 0:
            return int(hides == 0 and runs == 0 and last == 1)
        out = ways(left - 1, hides, runs, 0)
        if hides and (last or runs):
            out += ways(left - 1, hides - 1, runs - (last == 0), 1)
        return out

    now, chances = {(hidden, spans, 0): 1}, [0.0]
    total = ways(n - 1, hidden, spans, 0)
    for t in range(1, n):
        after = {}
        for (h, r, last), count in now.items():
            after[h, r, 0] = after.get((h, r, 0), 0) + count
            if h and (last or r):
                key = h - 1, r - (last == 0), 1
                after[key] = after.get(key, 0) + count
        now = after
        chances.append(sum(c * ways(n - 1 - t, *key) for key, c in now.items() if key[2]) / total)
    return torch.tensor(chances, dtype=torch.float64)

# %% 17.8 | tramo a tramo, con dónde empieza y cuánto mide
def hidden_chances(n, hidden, spans):
    seen = n - hidden

    def parts(m, r):
        if r == 0:
            return int(m == 0)
        return math.comb(m - 1, r - 1) if m >= r else 0

    out = torch.zeros(n, dtype=torch.float64)
    total = parts(seen, spans) * parts(hidden, spans)
    for k in range(spans):
        for a in range(k + 1, seen + 1):
            free = parts(a, k + 1) * parts(seen - a, spans - k - 1)
            for b in range(k, hidden):
                for size in range(1, hidden - b + 1):
                    p = free * parts(b, k) * parts(hidden - b - size, spans - k - 1) / total
                    out[a + b : a + b + size] += p
    return out

# %% 17.8 | la diferencia de cuántos empiezan y cuántos acaban
def hidden_chances(n, hidden, spans):
    def law(m):
        rows = [[0.0] * (m + 1) for _ in range(spans + 1)]
        rows[0][0] = 1.0
        for r in range(1, spans + 1):
            for s in range(r, m + 1):
                rest, pieces = m - s, spans - r
                after = int(rest == 0) if pieces == 0 else (math.comb(rest - 1, pieces - 1) if rest >= pieces else 0)
                rows[r][s] = math.comb(s - 1, r - 1) * after / math.comb(m - 1, spans - 1)
        return rows

    seen_law, hidden_law = law(n - hidden), law(hidden)
    change = torch.zeros(n + 1, dtype=torch.float64)
    for k in range(spans):
        for a, p in enumerate(seen_law[k + 1]):
            for b in range(hidden + 1):
                change[a + b] += p * hidden_law[k][b]
                change[a + b] -= p * hidden_law[k + 1][b]
    return change.cumsum(0)[:n]
