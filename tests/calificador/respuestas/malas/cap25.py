"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 25.1 | a la posición anterior, repita o no
def induction_score(weights, ids):
    n = torch.arange(1, len(ids))
    return weights[:, n, n - 1].mean(dim=1)

# %% 25.1 | la mayor de las que interesan
def induction_score(weights, ids):
    target = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    target[:, 1:] = ids[:, None] == ids[:-1]
    target = target.tril(-1)
    return (weights * target).amax(-1)[:, target.any(-1)].mean(-1)

# %% 25.1 | media de las parejas
def induction_score(weights, ids):
    target = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    target[:, 1:] = ids[:, None] == ids[:-1]
    target = target.tril(-1)
    return weights[:, target].mean(-1)

# %% 25.1 | la segunda mitad entera
def induction_score(weights, ids):
    target = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    target[:, 1:] = ids[:, None] == ids[:-1]
    target = target.tril(-1)
    return (weights * target).sum(-1)[:, len(ids) // 2 :].mean(-1)

# %% 25.1 | solo lo que siguió a la primera
def induction_score(weights, ids):
    first = (ids[:, None] == ids).long().argmax(1)
    asks = (first + 1 < torch.arange(len(ids))).nonzero()[:, 0]
    return weights[:, asks, first[asks] + 1].mean(1)

# %% 25.1 | a la anterior aparición ⇒ se pide lo que la siguió
def induction_score(weights, ids):
    rows = []
    for i, token in enumerate(ids.tolist()):
        keys = [j for j in range(i) if ids[j] == token]
        if keys:
            rows.append(weights[:, i, keys].sum(1))
    return torch.stack(rows).mean(0)

# %% 25.1 | entre todas las consultas ⇒ no entran en la media
def induction_score(weights, ids):
    out = 0
    for i in range(len(ids)):
        for j in range(1, i):
            if ids[j - 1] == ids[i]:
                out = out + weights[:, i, j]
    return out / len(ids)

# %% 25.2 | los pesos sin la cabeza
ablation_by_hand = {"writes": -1, "zero": 3, "mean": 5, "score": 0.2, "hits": 2}

# %% 25.2 | siempre sí
ablation_by_hand = {"writes": 4, "zero": 2.5, "mean": 5, "score": 0.2, "hits": 2}

# %% 25.2 | la media da la mitad
ablation_by_hand = {"writes": 4, "zero": 3, "mean": 2.5, "score": 0.2, "hits": 2}

# %% 25.2 | la suma de B
ablation_by_hand = {"writes": 4, "zero": 3, "mean": 5, "score": 13, "hits": 2}

# %% 25.2 | solo uno
ablation_by_hand = {"writes": 4, "zero": 3, "mean": 5, "score": 0.2, "hits": 1}

# %% 25.2 | B a cero y no en su media ⇒ la media de B: aquí se ha puesto a cero
ablation_by_hand = {"writes": 4, "zero": 3, "mean": 5, "score": -3, "hits": 2}

# %% 25.2 | con el signo perdido ⇒ su producto es positivo
ablation_by_hand = {"writes": 0, "zero": 3, "mean": 5, "score": 0.2, "hits": 2}

# %% 25.3 | la sonda ⇒ lee los dos igual de bien
tells_apart = "solo la sonda"

# %% 25.3 | los tres ⇒ sale igual con los dos
tells_apart = "los tres"

# %% 25.3 | ninguno ⇒ la respuesta cambia
tells_apart = "ninguno"

# %% 25.3 | fuera de las opciones
tells_apart = "el borrado"

# %% 25.3 | un número
tells_apart = 2

# %% 25.4 | la norma RMS con sesgo
def lens(states, gain, bias, table, *, eps=1e-5):
    x = states * (states.square().mean(-1, keepdim=True) + eps).rsqrt() * gain + bias
    logits = (x - x.mean(-1, keepdim=True)) @ table.T
    said = logits.argmax(-1)
    return logits, len(said) - (said == said[-1]).long().flip(0).cumprod(0).sum(0)

# %% 25.4 | la norma, solo en la última altura
def lens(states, gain, bias, table, *, eps=1e-5):
    x = states.clone()
    x[-1] = nn.functional.layer_norm(x[-1], x.shape[-1:], gain, bias, eps)
    logits = x @ table.T
    said = logits.argmax(-1)
    return logits, len(said) - (said == said[-1]).long().flip(0).cumprod(0).sum(0)

# %% 25.4 | compara con la altura anterior, y se queda con el primer cambio
def lens(states, gain, bias, table, *, eps=1e-5):
    logits = nn.functional.layer_norm(states, states.shape[-1:], gain, bias, eps) @ table.T
    said, out = logits.argmax(-1), []
    for column in said.T.tolist():
        changes = [h for h in range(1, len(column)) if column[h] != column[h - 1]]
        out.append(changes[0] if changes else 0)
    return logits, torch.tensor(out)

# %% 25.4 | todas las posiciones a la vez
def lens(states, gain, bias, table, *, eps=1e-5):
    logits = nn.functional.layer_norm(states, states.shape[-1:], gain, bias, eps) @ table.T
    said = logits.argmax(-1)
    since = len(said) - (said == said[-1]).long().flip(0).cumprod(0).sum(0)
    return logits, torch.full_like(since, int(since.max()))

# %% 25.4 | la matriz, y después la norma
def lens(states, gain, bias, table, *, eps=1e-5):
    logits = (states * gain + bias) @ table.T
    logits = nn.functional.layer_norm(logits, logits.shape[-1:], eps=eps)
    said = logits.argmax(-1)
    return logits, len(said) - (said == said[-1]).long().flip(0).cumprod(0).sum(0)

# %% 25.4 | la primera que acierta ⇒ no la primera vez que lo dice
def lens(states, gain, bias, table, *, eps=1e-5):
    logits = nn.functional.layer_norm(states, states.shape[-1:], gain, bias, eps) @ table.T
    said = logits.argmax(-1).tolist()
    since = [[row[i] for row in said].index(said[-1][i]) for i in range(states.shape[1])]
    return logits, torch.tensor(since)

# %% 25.5 | con una penalización
def selectivity(states, labels, types, control, train):
    x, hot = nn.functional.pad(states, (0, 1), value=1.0), torch.eye(int(labels.max()) + 1)
    goals = [labels, control[types]]
    w = [x[train].T @ x[train] + torch.eye(x.shape[1])] * 2
    s = torch.stack([x[~train] @ torch.linalg.solve(a, x[train].T @ hot[y][train]) for a, y in zip(w, goals)])
    hits = [(a.argmax(1) == y[~train]).double().mean().item() for a, y in zip(s, goals)]
    return s, hits[0] - hits[1]

# %% 25.5 | dianas de más y menos uno
def selectivity(states, labels, types, control, train):
    x, hot = nn.functional.pad(states, (0, 1), value=1.0), 2 * torch.eye(int(labels.max()) + 1) - 1
    goals = [labels, control[types]]
    s = torch.stack([x[~train] @ (torch.linalg.pinv(x[train]) @ hot[y][train]) for y in goals])
    hits = [(a.argmax(1) == y[~train]).double().mean().item() for a, y in zip(s, goals)]
    return s, hits[0] - hits[1]

# %% 25.5 | ajusta con las apartadas
def selectivity(states, labels, types, control, train):
    x, hot = nn.functional.pad(states, (0, 1), value=1.0), torch.eye(int(labels.max()) + 1)
    goals = [labels, control[types]]
    s = torch.stack([x[train] @ (torch.linalg.pinv(x[~train]) @ hot[y][~train]) for y in goals])
    hits = [(a.argmax(1) == y[train]).double().mean().item() for a, y in zip(s, goals)]
    return s, hits[0] - hits[1]

# %% 25.5 | el control, al revés las etiquetas
def selectivity(states, labels, types, control, train):
    x, hot = nn.functional.pad(states, (0, 1), value=1.0), torch.eye(int(labels.max()) + 1)
    goals = [labels, labels.flip(0)]
    s = torch.stack([x[~train] @ (torch.linalg.pinv(x[train]) @ hot[y][train]) for y in goals])
    hits = [(a.argmax(1) == y[~train]).double().mean().item() for a, y in zip(s, goals)]
    return s, hits[0] - hits[1]

# %% 25.5 | resta lo que saldría por azar
def selectivity(states, labels, types, control, train):
    x, hot = nn.functional.pad(states, (0, 1), value=1.0), torch.eye(int(labels.max()) + 1)
    goals = [labels, control[types]]
    s = torch.stack([x[~train] @ (torch.linalg.pinv(x[train]) @ hot[y][train]) for y in goals])
    return s, (s[0].argmax(1) == labels[~train]).double().mean().item() - 1 / len(hot)

# %% 25.6 | pone a cero las componentes
def erase(x, directions, *, mean=None):
    touched = (directions != 0).any(0)
    out = x.clone()
    out[:, touched] = 0 if mean is None else mean[touched]
    return out

# %% 25.6 | solo la primera
def erase(x, directions, *, mean=None):
    u = directions[0] / directions[0].norm()
    m = torch.zeros_like(x[0]) if mean is None else mean
    return x - torch.outer((x - m) @ u, u)

# %% 25.6 | conserva la norma
def erase(x, directions, *, mean=None):
    p = torch.linalg.pinv(directions) @ directions
    out = x - x @ p + (0 if mean is None else mean @ p)
    return out * x.norm(dim=1, keepdim=True) / out.norm(dim=1, keepdim=True)

# %% 25.6 | solo lo que va a favor
def erase(x, directions, *, mean=None):
    p = torch.linalg.pinv(directions) @ directions
    m = torch.zeros_like(x[0]) if mean is None else mean
    along = (x - m) @ p
    return x - along.clamp(min=0)

# %% 25.6 | centra con la media que llega, y no la devuelve
def erase(x, directions, *, mean=None):
    p = torch.linalg.pinv(directions) @ directions
    y = x if mean is None else x - mean
    return y - y @ p

# %% 25.7 | la diferencia de cada sitio, sin volver a calcular
def patch_map(clean, corrupted, mixes, weights, read):
    gaps = [(clean - corrupted) @ read]
    for m, w in zip(mixes, weights):
        clean = clean + torch.tanh(m @ clean @ w)
        corrupted = corrupted + torch.tanh(m @ corrupted @ w)
        gaps.append((clean - corrupted) @ read)
    return torch.stack(gaps) / gaps[-1][-1]

# %% 25.7 | desde la posición en adelante
def patch_map(clean, corrupted, mixes, weights, read):
    def run(x, first=0):
        for m, w in zip(mixes[first:], weights[first:]):
            x = x + torch.tanh(m @ x @ w)
        return x[-1] @ read
    a, b, rows = clean, corrupted, []
    for i in range(len(mixes) + 1):
        rows.append([run(torch.cat([b[:j], a[j:]]), i) for j in range(len(a))])
        if i < len(mixes):
            a, b = (x + torch.tanh(mixes[i] @ x @ weights[i]) for x in (a, b))
    out = (torch.tensor(rows) - run(corrupted)) / (run(clean) - run(corrupted))
    return out

# %% 25.7 | lo que se separan las entradas
def patch_map(clean, corrupted, mixes, weights, read):
    gaps = (clean - corrupted).norm(dim=1)
    return (gaps / gaps.sum()).repeat(len(mixes) + 1, 1)

# %% 25.7 | solo cuenta la última casilla
def patch_map(clean, corrupted, mixes, weights, read):
    out = torch.zeros(len(mixes) + 1, len(clean))
    out[-1, -1] = 1
    return out

# %% 25.7 | a cualquier altura, la última posición
def patch_map(clean, corrupted, mixes, weights, read):
    return torch.eye(len(clean))[-1].repeat(len(mixes) + 1, 1)

# %% 25.7 | lo estropeado en la buena ⇒ no lo estropeado en la buena
def patch_map(clean, corrupted, mixes, weights, read):
    def run(x, first=0):
        for m, w in zip(mixes[first:], weights[first:]):
            x = x + torch.tanh(m @ x @ w)
        return x[-1] @ read
    a, b, rows = clean, corrupted, []
    for i in range(len(mixes) + 1):
        rows.append([run(torch.cat([a[:j], b[j : j + 1], a[j + 1 :]]), i) for j in range(len(a))])
        if i < len(mixes):
            a, b = (x + torch.tanh(mixes[i] @ x @ weights[i]) for x in (a, b))
    out = (torch.tensor(rows) - run(corrupted)) / (run(clean) - run(corrupted))
    return out

# %% 25.8 | baraja los pesos
def same_output(weights, values, toward):
    return weights.flip(-1)

# %% 25.8 | solo reparte entre las iguales
def same_output(weights, values, toward):
    out = weights.clone()
    for i in range(len(weights)):
        for j in range(len(values)):
            like = (values == values[j]).all(1) & (weights[i] > 0)
            if like.any():
                out[i, like] = weights[i, like].mean()
    return out

# %% 25.8 | mezcla a medias con el que se pide
def same_output(weights, values, toward):
    return (weights + toward) / 2

# %% 25.8 | todas las filas con el mismo núcleo, y normaliza
def same_output(weights, values, toward):
    c = nn.functional.pad(values, (0, 1), value=1.0)
    d = toward - weights
    d = d - d @ c @ torch.linalg.pinv(c, rtol=1e-9)
    out = (weights + d).clamp(min=0) * (weights > 0)
    return out / out.sum(-1, keepdim=True)

# %% 25.8 | avanza sin parar hasta que uno es cero
def same_output(weights, values, toward):
    out = weights.clone()
    for i, now in enumerate(weights):
        k = now > 0
        c = nn.functional.pad(values[k], (0, 1), value=1.0)
        d = (toward[i] - now)[k]
        d = d - c @ (torch.linalg.pinv(c, rtol=1e-9) @ d)
        if (d < -1e-9).any():
            out[i, k] = now[k] + d * (now[k] / -d)[d < -1e-9].min()
    return out

# %% 25.8 | un paso entero ⇒ pesos negativos
def same_output(weights, values, toward):
    out = weights.clone()
    for i, now in enumerate(weights):
        k = now > 0
        c = nn.functional.pad(values[k], (0, 1), value=1.0)
        d = (toward[i] - now)[k]
        out[i, k] = now[k] + d - c @ (torch.linalg.pinv(c, rtol=1e-9) @ d)
    return out
