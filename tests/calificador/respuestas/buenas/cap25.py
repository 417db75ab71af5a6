"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 25.1 | pareja a pareja
def induction_score(weights, ids):
    rows = []
    for i in range(len(ids)):
        keys = [j for j in range(1, i) if ids[j - 1] == ids[i]]
        if keys:
            rows.append(weights[:, i, keys].sum(dim=1))
    return torch.stack(rows).mean(dim=0)

# %% 25.1 | con roll y einsum
def induction_score(weights, ids):
    before = ids.roll(1).clone()
    before[0] = -1
    n = torch.arange(len(ids))
    target = ((ids[:, None] == before[None, :]) & (n[None, :] < n[:, None])).to(weights.dtype)
    asks = (target.sum(1) > 0).to(weights.dtype)
    return torch.einsum("hqk,qk->h", weights, target) / asks.sum()

# %% 25.1 | cabeza a cabeza
def induction_score(weights, ids):
    seen, targets = {}, []
    for i, token in enumerate(ids.tolist()):
        targets.append([j for j in seen.get(token, []) if j < i])
        seen.setdefault(token, []).append(i + 1)
    out = []
    for head in weights:
        mass = [sum(head[i, j].item() for j in js) for i, js in enumerate(targets) if js]
        out.append(sum(mass) / len(mass))
    return torch.tensor(out, dtype=weights.dtype)

# %% 25.2 | escrita
ablation_by_hand = {"writes": 4, "zero": 3, "mean": 5, "score": 0.2, "hits": 2}

# %% 25.2 | con cuentas
ablation_by_hand = {"writes": 2 + 2, "zero": 3.0, "mean": 5, "score": -7 + 4 + 16 / 5, "hits": 2}

# %% 25.3 | escrita
tells_apart = "el borrado y el parche"

# %% 25.4 | con la norma de PyTorch, y hacia atrás
def lens(states, gain, bias, table, *, eps=1e-5):
    normed = nn.functional.layer_norm(states, (states.shape[-1],), gain, bias, eps)
    logits = normed @ table.T
    said = logits.argmax(-1).tolist()
    out = []
    for i in range(states.shape[1]):
        height = len(said) - 1
        while height and said[height - 1][i] == said[-1][i]:
            height -= 1
        out.append(height)
    return logits, torch.tensor(out)

# %% 25.4 | la última que no coincide, más una
def lens(states, gain, bias, table, *, eps=1e-5):
    var, mean = torch.var_mean(states, dim=-1, correction=0, keepdim=True)
    logits = torch.einsum("lnd,vd->lnv", (states - mean) * torch.rsqrt(var + eps) * gain + bias, table)
    said = logits.max(-1).indices
    other = said != said[-1:]
    heights = torch.arange(1, len(states) + 1)[:, None]
    return logits, (other * heights).amax(0)

# %% 25.4 | altura a altura
def lens(states, gain, bias, table, *, eps=1e-5):
    norm = nn.LayerNorm(states.shape[-1], eps=eps)
    norm.load_state_dict({"weight": gain, "bias": bias})
    logits = torch.stack([norm(x) @ table.mT for x in states]).detach()
    since = torch.zeros(states.shape[1], dtype=torch.long)
    for height in range(1, len(states)):
        changed = logits[height].argmax(-1) != logits[height - 1].argmax(-1)
        since[changed] = height
    return logits, since

# %% 25.5 | con las ecuaciones normales
def selectivity(states, labels, types, control, train):
    x = torch.cat([torch.ones(len(states), 1, dtype=states.dtype), states], 1)
    classes = int(labels.max()) + 1
    def probe(y):
        target = torch.zeros(len(y), classes, dtype=states.dtype)
        target[torch.arange(len(y)), y] = 1
        a, b = x[train], target[train]
        scores = x[~train] @ torch.linalg.solve(a.T @ a, a.T @ b)
        return scores, (scores.argmax(1) == y[~train]).float().mean().item()
    first, second = probe(labels), probe(control[types])
    return torch.stack([first[0], second[0]]), first[1] - second[1]

# %% 25.5 | centrando, y con la pseudoinversa
def selectivity(states, labels, types, control, train):
    fit, test = train.nonzero()[:, 0], (~train).nonzero()[:, 0]
    mean = states[fit].mean(0)
    inverse = torch.linalg.pinv(states[fit] - mean)
    both, right = [], []
    for y in [labels, control.index_select(0, types)]:
        hot = torch.eye(int(labels.max()) + 1, dtype=states.dtype)[y]
        b = hot[fit].mean(0)
        scores = (states[test] - mean) @ (inverse @ (hot[fit] - b)) + b
        both.append(scores)
        right.append(int((scores.argmax(1) == y[test]).sum()))
    return torch.stack(both), (right[0] - right[1]) / len(test)

# %% 25.5 | las dos tareas a la vez, con QR
def selectivity(states, labels, types, control, train):
    goals = torch.stack([labels, control[types]])
    classes = labels.max() + 1
    hot = (goals[..., None] == torch.arange(classes)).to(states.dtype)
    x = nn.functional.pad(states, (0, 1), value=1.0)
    q, r = torch.linalg.qr(x[train])
    weights = torch.linalg.solve_triangular(r, q.T @ hot[:, train], upper=True)
    scores = x[~train] @ weights
    hits = (scores.argmax(-1) == goals[:, ~train]).double().mean(-1)
    return scores, float(hits[0] - hits[1])

# %% 25.6 | con la pseudoinversa
def erase(x, directions, *, mean=None):
    project = torch.linalg.pinv(directions) @ directions
    if mean is None:
        return x - x @ project
    return x - x @ project + mean @ project

# %% 25.6 | Gram-Schmidt, con su umbral
def erase(x, directions, *, mean=None):
    basis = []
    for v in directions:
        size = v.norm()
        for u in basis:
            v = v - (v @ u) * u
        for u in basis:
            v = v - (v @ u) * u
        if v.norm() > 1e-8 * (size + 1e-30):
            basis.append(v / v.norm())
    out = x.clone()
    for u in basis:
        out -= torch.outer(out @ u, u)
        if mean is not None:
            out += (mean @ u) * u
    return out

# %% 25.6 | con los autovectores
def erase(x, directions, *, mean=None):
    values, vectors = torch.linalg.eigh(directions.T @ directions)
    free = vectors[:, values < 1e-9 * values.max()]
    keep = free @ free.T
    if mean is None:
        return x @ keep
    return mean + (x - mean) @ keep

# %% 25.7 | con índices
def patch_map(clean, corrupted, mixes, weights, read):
    def run(x, first=0):
        states = [x]
        for layer in range(first, len(mixes)):
            x = x + torch.tanh(mixes[layer] @ x @ weights[layer])
            states.append(x)
        return states, torch.dot(x[-1], read)
    good, best = run(clean)
    bad, worst = run(corrupted)
    rows = []
    for height, (a, b) in enumerate(zip(good, bad)):
        row = []
        for i in range(len(a)):
            x = torch.cat([b[:i], a[i : i + 1], b[i + 1 :]])
            row.append((run(x, height)[1] - worst) / (best - worst))
        rows.append(torch.stack(row))
    return torch.stack(rows)

# %% 25.7 | todos los parches de una altura a la vez
def patch_map(clean, corrupted, mixes, weights, read):
    def layer(x, i):
        return x + (mixes[i] @ x @ weights[i]).tanh()
    n, depth = len(clean), len(mixes)
    pick = torch.eye(n, dtype=torch.bool)[:, :, None]
    a, b, many = clean, corrupted, []
    for i in range(depth + 1):
        many = many + [torch.where(pick, a, b)]
        if i < depth:
            many = [layer(x, i) for x in many]
            a, b = layer(a, i), layer(b, i)
    worst = b[-1] @ read
    return (torch.stack(many)[:, :, -1] @ read - worst) / (a[-1] @ read - worst)

# %% 25.7 | volviendo a empezar cada vez
def patch_map(clean, corrupted, mixes, weights, read):
    def run(x, at=None, place=None, kept=None):
        seen = []
        for i in range(len(mixes) + 1):
            if i:
                x = x + torch.tanh(torch.einsum("qk,kd,de->qe", mixes[i - 1], x, weights[i - 1]))
            if at == i:
                x = x.clone()
                x[place] = kept[i][place]
            seen.append(x)
        return seen, (x[-1] * read).sum()
    kept, best = run(clean)
    _, worst = run(corrupted)
    out = torch.zeros(len(mixes) + 1, len(clean), dtype=clean.dtype)
    for i in range(len(mixes) + 1):
        for place in range(len(clean)):
            out[i, place] = (run(corrupted, i, place, kept)[1] - worst) / (best - worst)
    return out

# %% 25.8 | con la pseudoinversa
def same_output(weights, values, toward):
    out = torch.zeros_like(weights)
    for i in range(len(weights)):
        keys = weights[i].nonzero()[:, 0]
        c = torch.cat([values[keys], torch.ones(len(keys), 1, dtype=values.dtype)], 1)
        d = toward[i, keys] - weights[i, keys]
        d = d - c @ (torch.linalg.pinv(c, rtol=1e-10) @ d)
        t = 1.0
        for w, s in zip(weights[i, keys].tolist(), d.tolist()):
            if w + s < 0:
                t = min(t, -w / s)
        out[i, keys] = weights[i, keys] + t * d
    return out

# %% 25.8 | con una base del núcleo
def same_output(weights, values, toward):
    rows = []
    for now, goal in zip(weights, toward):
        m = now != 0
        c = torch.cat([values[m].T, torch.ones(1, int(m.sum()), dtype=values.dtype)])
        _, s, vh = torch.linalg.svd(c)
        rank = int((s > s.max() * 1e-8).sum())
        kernel = vh[rank:]
        step = torch.zeros_like(now)
        step[m] = ((goal - now)[m] @ kernel.T) @ kernel
        ratio = torch.where(step < -1e-12, now / (-step).clamp(min=1e-12), torch.inf)
        rows.append(now + min(1.0, float(ratio.min())) * step)
    return torch.stack(rows)

# %% 25.8 | mínimos cuadrados, con lo tapado a cero
def same_output(weights, values, toward):
    out = []
    for now, goal in zip(weights, toward):
        seen = (now > 0).to(now.dtype)
        c = nn.functional.pad(values, (0, 1), value=1.0) * seen[:, None]
        step = (goal - now) * seen
        step = (step - c @ torch.linalg.lstsq(c, step[:, None], driver="gelsd", rcond=1e-9).solution[:, 0]) * seen
        tight = (now + step < 0) & (seen > 0)
        t = (now[tight] / -step[tight]).min() if tight.any() else 1.0
        out.append(now + t * step)
    return torch.stack(out)
