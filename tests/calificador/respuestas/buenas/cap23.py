"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 23.1 | escrita
costs_by_hand = {"attention": 8192, "project": 4194, "even": 1024, "table": 64, "longer": 1600, "tile": 0.16}

# %% 23.1 | con cuentas
costs_by_hand = {
    "attention": 8 * 2 * (2 * 2000 * 2000 * 64) / 10**6,
    "project": 4 * 2 * 2000 * 512 * 512 / 10**6,
    "even": 8 * 512**2 / (4 * 512),
    "table": 8 * 2000**2 * 2 / 10**6,
    "longer": 64 * 25,
    "tile": 8 * 20_000 / 10**6,
}

# %% 23.2 | con logaritmos
def join_blocks(first, second):
    (m, a, o), (n, b, p) = first, second
    logs = torch.cat([m + a.log(), n + b.log()], dim=-1)
    both = logs.logsumexp(-1, keepdim=True)
    shares = (logs - both).exp().nan_to_num(0.0)
    top = torch.maximum(m, n)
    return top, (both - top).exp().nan_to_num(0.0), shares[:, :1] * o + shares[:, 1:] * p

# %% 23.2 | con la distancia entre los dos máximos
def join_blocks(first, second):
    (m, a, o), (n, b, p) = first, second
    gap = torch.where(m == n, torch.zeros_like(m), n - m)
    a, b = a * (-gap.clamp(min=0)).exp(), b * gap.clamp(max=0).exp()
    mean = torch.where(a + b > 0, (a * o + b * p) / (a + b), torch.zeros_like(o))
    return torch.where(gap > 0, n, m), a + b, mean

# %% 23.2 | fila a fila
def join_blocks(first, second):
    rows = []
    for m, a, o, n, b, p in zip(*first, *second):
        if a == 0 or b == 0:
            rows.append((n, b, p) if a == 0 else (m, a, o))
            continue
        top = max(m, n)
        a, b = a * math.exp(m - top), b * math.exp(n - top)
        rows.append((top, a + b, o + b / (a + b) * (p - o)))
    return tuple(torch.stack(x) for x in zip(*rows))

# %% 23.3 | escrita
same_answer = "los trozos y la lineal"

# %% 23.4 | lleva la media ya dividida y el logaritmo de la suma
def tiled_attention(query, key, value, mask, *, block):
    seen = torch.full((len(query),), -math.inf, dtype=query.dtype)
    out, trace = torch.zeros(len(query), value.shape[1], dtype=query.dtype), []
    for k, v, m in zip(key.split(block), value.split(block), mask.split(block, 1)):
        s = torch.where(m, query @ k.T * k.shape[1] ** -0.5, -math.inf)
        new = torch.logaddexp(seen, s.logsumexp(1))
        safe = torch.where(new.isinf(), 0.0, new)
        out = out * (seen - safe).exp()[:, None] + (s - safe[:, None]).exp() @ v
        seen = new
        trace.append(seen)
    return out, torch.stack(trace)

# %% 23.4 | consulta a consulta, sin tensores
def tiled_attention(query, key, value, mask, *, block):
    outputs, trace = [], []
    for q, row in zip((query / math.sqrt(query.shape[1])).tolist(), mask.tolist()):
        top, total, mixed, marks = -math.inf, 0.0, [0.0] * value.shape[1], []
        for j, (k, v) in enumerate(zip(key.tolist(), value.tolist())):
            if row[j]:
                s = sum(a * b for a, b in zip(q, k))
                new = max(top, s)
                old, w = math.exp(top - new), math.exp(s - new)
                total, top = total * old + w, new
                mixed = [x * old + w * y for x, y in zip(mixed, v)]
            if (j + 1) % block == 0 or j + 1 == len(key):
                marks.append(top + math.log(total) if total else -math.inf)
        outputs.append([x / total if total else 0.0 for x in mixed])
        trace.append(marks)
    return torch.tensor(outputs, dtype=query.dtype), torch.tensor(trace, dtype=query.dtype).T

# %% 23.4 | los trozos aparte, y después se juntan
def tiled_attention(query, key, value, mask, *, block):
    parts = []
    for i in range(0, key.size(0), block):
        s = (query @ key[i : i + block].mT).div(query.size(-1) ** 0.5)
        s = s.masked_fill(mask[:, i : i + block].logical_not(), float("-inf"))
        parts.append((s.logsumexp(-1), s.softmax(-1).nan_to_num() @ value[i : i + block]))
    logs = torch.stack([a for a, _ in parts])
    shares = logs.softmax(0).nan_to_num()
    return torch.einsum("pq,pqv->qv", shares, torch.stack([o for _, o in parts])), logs.logcumsumexp(0)

# %% 23.4 | la tabla entera, que la nota no distingue, y lo visto de un golpe
def tiled_attention(query, key, value, mask, *, block):
    s = (query @ key.T / math.sqrt(query.shape[1])).masked_fill(~mask, -math.inf)
    ends = [min(i + block, len(key)) - 1 for i in range(0, len(key), block)]
    return s.softmax(1).nan_to_num(0.0) @ value, s.T.logcumsumexp(0)[ends]

# %% 23.5 | con una columna de unos en los valores
def linear_attention(query, key, value, state=None):
    q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (query, key))
    v = torch.cat([value, torch.ones_like(value[:, :1])], 1)
    sums = torch.cumsum(k.unsqueeze(2) * v.unsqueeze(1), 0)
    if state is not None:
        sums = sums + torch.cat([state[0], state[1][:, None]], 1)
    out = (q.unsqueeze(1) @ sums).squeeze(1)
    return out[:, :-1] / out[:, -1:], (sums[-1, :, :-1], sums[-1, :, -1])

# %% 23.5 | por trozos, con la tabla pequeña
def linear_attention(query, key, value, state=None):
    f = lambda x: nn.functional.elu(x) + 1
    S, z = state or (value.new_zeros(key.shape[1], value.shape[1]), key.new_zeros(key.shape[1]))
    out = []
    for q, k, v in zip(*(x.split(256) for x in (f(query), f(key), value))):
        table = (q @ k.T).tril()
        out.append((q @ S + table @ v) / (q @ z + table.sum(1))[:, None])
        S, z = S + k.T @ v, z + k.sum(0)
    return torch.cat(out), (S, z)

# %% 23.5 | con lo leído delante de la primera fila
def linear_attention(query, key, value, state=None):
    q, k = nn.ELU()(query) + 1, nn.ELU()(key) + 1
    d, dv = k.shape[1], value.shape[1]
    S0, z0 = state if state is not None else (torch.zeros(d, dv, dtype=k.dtype), torch.zeros(d, dtype=k.dtype))
    S = torch.cat([S0[None], torch.einsum("nd,nv->ndv", k, value)]).cumsum(0)[1:]
    z = torch.cat([z0[None], k]).cumsum(0)[1:]
    return (q[:, :, None] * S).sum(1) / (q * z).sum(1)[:, None], (S[-1], z[-1])

# %% 23.6 | pareja a pareja
def sparse_mask(n, window, global_at, *, dilation=1, causal=False):
    def sees(i, j):
        if causal and j > i:
            return False
        near = abs(i - j) in range(0, window * dilation + 1, dilation)
        return near or i in global_at or j in global_at
    return torch.tensor([[sees(i, j) for j in range(n)] for i in range(n)])

# %% 23.6 | por diagonales
def sparse_mask(n, window, global_at, *, dilation=1, causal=False):
    mask = torch.eye(n, dtype=torch.bool)
    for step in range(1, window + 1):
        off = step * dilation
        if off < n:
            mask |= torch.diag(torch.ones(n - off), off).bool() | torch.diag(torch.ones(n - off), -off).bool()
    for g in global_at:
        mask[g] = mask[:, g] = True
    return mask.tril() if causal else mask

# %% 23.6 | con isin
def sparse_mask(n, window, global_at, *, dilation=1, causal=False):
    i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    steps = dilation * torch.arange(-window, window + 1)
    g = torch.tensor(global_at, dtype=torch.long)
    out = torch.isin(j - i, steps) | torch.isin(i, g) | torch.isin(j, g)
    return torch.logical_and(out, j <= i) if causal else out

# %% 23.7 | grupo a grupo
def quantize_groups(weight, group, *, bits=8):
    n = 2 ** (bits - 1) - 1
    q, back = torch.zeros(weight.shape, dtype=torch.int32), torch.zeros_like(weight)
    s = torch.ones(weight.shape[0], weight.shape[1] // group, dtype=weight.dtype)
    for i in range(weight.shape[0]):
        for j in range(s.shape[1]):
            piece = weight[i, j * group : (j + 1) * group]
            if piece.any():
                s[i, j] = piece.abs().max() / n
            for k, w in enumerate(piece.tolist()):
                q[i, j * group + k] = round(w / s[i, j].item())
                back[i, j * group + k] = q[i, j * group + k] * s[i, j]
    return q, s, back

# %% 23.7 | los grupos como filas, multiplicando por la inversa
def quantize_groups(weight, group, *, bits=8):
    n = (1 << (bits - 1)) - 1
    rows = weight.reshape(-1, group)
    big = rows.abs().max(1, keepdim=True).values
    s = big.div(n).masked_fill(big == 0, 1)
    q = torch.clamp(torch.floor(rows * (1 / s) + 0.5), -n, n).long()
    return q.view_as(weight), s.reshape(len(weight), -1), (q * s).view_as(weight)

# %% 23.7 | con la escala repetida
def quantize_groups(weight, group, *, bits=8):
    n = int("1" * (bits - 1), 2)
    pieces = torch.stack(weight.split(group, dim=1), 1)
    s = torch.linalg.vector_norm(pieces, float("inf"), dim=2) / n
    s[s == 0] = 1.0
    wide = s.repeat_interleave(group, 1)
    q = torch.round(weight / wide)
    return q.to(torch.int16), s, q * wide

# %% 23.8 | la cola de cada experto
def expert_layer(x, logits, experts, *, top_k, capacity):
    p = torch.softmax(logits, 1)
    order = p.argsort(1, descending=True)[:, :top_k]
    kept = torch.zeros(len(x), top_k, dtype=torch.bool)
    first = p.amax(1).tolist()
    out = torch.zeros_like(x)
    asked = torch.zeros(len(experts), dtype=x.dtype)
    for e, W in enumerate(experts):
        line = [(c, t) for t in range(len(x)) for c in range(top_k) if order[t, c] == e]
        asked[e] = len(line)
        for c, t in sorted(line, key=lambda u: (u[0], -first[u[1]]))[:capacity]:
            kept[t, c] = True
            out = out + nn.functional.one_hot(torch.tensor(t), len(x))[:, None] * p[t, e] * (x[t] @ W)
    return out, kept, len(experts) * (asked / asked.sum() * p.mean(0)).sum()

# %% 23.8 | con sumas acumuladas
def expert_layer(x, logits, experts, *, top_k, capacity):
    p = logits.softmax(-1)
    w, c = p.topk(top_k)
    order = torch.argsort(-w[:, 0])
    line = c[order].T.reshape(-1)
    hot = nn.functional.one_hot(line, len(experts))
    place = (hot.cumsum(0) * hot).sum(1)
    kept = torch.empty(len(x), top_k, dtype=torch.bool)
    kept[order] = (place <= capacity).reshape(top_k, -1).T
    gate = torch.zeros_like(p).scatter(1, c, w * kept)
    out = torch.einsum("te,td,edf->tf", gate, x, experts)
    load = hot.to(p.dtype).mean(0)
    return out, kept, len(experts) * load @ p.mean(0)

# %% 23.8 | con un diccionario de sitios
def expert_layer(x, logits, experts, *, top_k, capacity):
    E = logits.shape[1]
    p = logits.exp() / logits.exp().sum(-1, keepdim=True)
    used, rows = {e: 0 for e in range(E)}, [[False] * top_k for _ in x]
    picks = [sorted(range(E), key=lambda e: -p[t, e].item())[:top_k] for t in range(len(x))]
    queue = sorted(range(len(x)), key=lambda t: -p[t, picks[t][0]].item())
    sums = [torch.zeros(x.shape[1], dtype=x.dtype) for _ in x]
    for c in range(top_k):
        for t in queue:
            e = picks[t][c]
            if used[e] < capacity:
                used[e] += 1
                rows[t][c] = True
                sums[t] = sums[t] + p[t, e] * (experts[e].T @ x[t])
    flat = [e for some in picks for e in some]
    balance = sum(flat.count(e) / len(flat) * p[:, e].mean() for e in range(E)) * E
    return torch.stack(sums), torch.tensor(rows), balance
