"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 3.1 | tal cual
chance_by_hand = {"five_words": 0.349, "longest": 4}

# %% 3.1 | palabra a palabra, y buscando la longitud
def chance(n):
    return math.prod(0.9 ** (n - 1 - i) for i in range(n))

chance_by_hand = {"five_words": chance(5), "longest": max(n for n in range(1, 50) if chance(n) >= 0.5)}

# %% 3.6 | fila a fila, sin máscara
def additive_attention(query, keys, w_q, w_k, v, valid):
    rows = []
    for q, k, ok in zip(query, keys, valid):
        k = k[ok]
        rows.append(torch.softmax(torch.tanh(q @ w_q + k @ w_k) @ v, 0) @ k)
    return torch.stack(rows)

# %% 3.6 | einsum y pesos multiplicados por la máscara
def additive_attention(query, keys, w_q, w_k, v, valid):
    hidden = torch.einsum("bq,qa->ba", query, w_q)[:, None] + torch.einsum("bkh,ha->bka", keys, w_k)
    e = torch.einsum("bka,a->bk", hidden.tanh(), v).exp() * valid
    return torch.einsum("bk,bkh->bh", e / e.sum(-1, keepdim=True), keys)

# %% 3.6 | un número muy negativo en lugar de −∞
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = torch.tanh((query @ w_q).unsqueeze(1) + keys @ w_k) @ v + (~valid) * -1e9
    return (s.softmax(1).unsqueeze(-1) * keys).sum(1)

# %% 3.3 | una matriz para cada puerta
def lstm_step(x, h, c, w_x, w_h, b):
    d = h.shape[1]
    i, f, g, o = (x @ w_x[:, k:k + d] + h @ w_h[:, k:k + d] + b[k:k + d] for k in range(0, 4 * d, d))
    new = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(new), new

# %% 3.3 | la celda de PyTorch con los pesos puestos
def lstm_step(x, h, c, w_x, w_h, b):
    cell = torch.nn.LSTMCell(x.shape[1], h.shape[1]).double()
    pesos = {"weight_ih": w_x.T, "weight_hh": w_h.T, "bias_ih": b, "bias_hh": 0 * b}
    return torch.func.functional_call(cell, pesos, (x, (h, c)))

# %% 3.3 | entrada y estado en una sola matriz, y la sigmoide por su fórmula
def lstm_step(x, h, c, w_x, w_h, b):
    a = torch.cat([x, h], 1) @ torch.cat([w_x, w_h]) + b
    i, f, g, o = a.reshape(len(x), 4, -1).unbind(1)
    puerta = lambda s: 1 / (1 + torch.exp(-s))
    new = torch.addcmul(puerta(f) * c, puerta(i), g.tanh())
    return puerta(o) * new.tanh(), new

# %% 3.5 | una sola matriz
def decoder_step(x, h, states, weights, cell):
    c = torch.einsum("bs,bsd->bd", weights, states)
    return torch.tanh(torch.cat([x, c, h], -1) @ torch.cat(cell[:3]) + cell[3])

# %% 3.5 | bmm
def decoder_step(x, h, states, weights, cell):
    w_x, w_c, w_h, b = cell
    c = torch.bmm(weights.unsqueeze(1), states).squeeze(1)
    return (b + h.mm(w_h) + c.mm(w_c) + x.mm(w_x)).tanh()

# %% 3.5 | bucles y la tangente por sus exponenciales
def decoder_step(x, h, states, weights, cell):
    w_x, w_c, w_h, b = cell
    out = []
    for i in range(len(x)):
        c = sum(weights[i, j] * states[i, j] for j in range(states.shape[1]))
        z = x[i] @ w_x + c @ w_c + h[i] @ w_h + b
        out.append((z.exp() - (-z).exp()) / (z.exp() + (-z).exp()))
    return torch.stack(out)

# %% 3.7 | frase a frase
def mean_state(states, lengths):
    return torch.stack([row[:n].mean(0) for row, n in zip(states, lengths.tolist())])

# %% 3.7 | suma acumulada
def mean_state(states, lengths):
    last = states.cumsum(1)[torch.arange(len(states)), lengths - 1]
    return last / lengths.unsqueeze(-1)

# %% 3.7 | pesos y einsum
def mean_state(states, lengths):
    w = (torch.arange(states.shape[1])[None] < lengths[:, None]).double() / lengths[:, None]
    return torch.einsum("bt,btd->bd", w, states)

# %% 3.2 | multiplica palabra a palabra
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    p = []
    for n in lengths:
        chance = 1.0
        for i in range(n):
            chance *= fidelity ** (n - 1 - i)
        p.append(chance)
    return sorted((i for i, c in enumerate(p) if c < threshold), key=lambda i: (p[i], i))

# %% 3.2 | una lista de parejas ordenada
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    pairs = sorted((math.pow(fidelity, n * (n - 1) // 2), i) for i, n in enumerate(lengths))
    return [i for chance, i in pairs if chance < threshold]

# %% 3.2 | de la más larga a la más corta
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    return [i for i in order if fidelity ** (lengths[i] * (lengths[i] - 1) / 2) < threshold]

# %% 3.4 | tal cual
weights_by_hand = {"la": 0.182, "casa": 0.409, "context": 0.591}

# %% 3.4 | con las tangentes redondeadas del enunciado
la, other = math.exp(-4 * 2 * 0.964), math.exp(-4 * (0.964 + 0.762))
weights_by_hand = {"la": la / (la + 2 * other), "casa": other / (la + 2 * other),
                   "context": (la + other) / (la + 2 * other)}

# %% 3.8 | bucle sobre las filas
def inverted_pairs(weights, valid):
    best = []
    for row in weights.tolist():
        best.append(max((w, j) for j, w in enumerate(row) if valid[j])[1])
    return [t for t, (a, b) in enumerate(zip(best, best[1:])) if a - b == 1]

# %% 3.8 | multiplica por la máscara y usa diff
def inverted_pairs(weights, valid):
    best = (weights * valid).argmax(1)
    return (best.diff() == -1).nonzero().flatten().tolist()

# %% 3.8 | numpy
def inverted_pairs(weights, valid):
    import numpy as np

    w = np.where(valid.numpy()[None], weights.numpy(), -np.inf)
    best = w.argmax(axis=1)
    return [int(t) for t in np.flatnonzero(best[:-1] - best[1:] == 1)]

# %% 3.9 | autograd
def gradient_norms(inputs, w_x, w_h, direction):
    inputs = inputs.clone().requires_grad_()
    h = torch.zeros(len(w_h), dtype=inputs.dtype)
    for x in inputs:
        h = torch.tanh(x @ w_x + h @ w_h)
    return torch.autograd.grad(h @ direction, inputs)[0].norm(dim=-1).flip(0)

# %% 3.9 | una entrada cada vez, con backward
def gradient_norms(inputs, w_x, w_h, direction):
    xs = [x.clone().requires_grad_() for x in inputs]
    h = inputs.new_zeros(w_h.shape[1])
    for x in xs:
        h = (x @ w_x + h @ w_h).tanh()
    (h * direction).sum().backward()
    return torch.stack([x.grad.square().sum().sqrt() for x in reversed(xs)])

# %% 3.9 | producto de jacobianas
def gradient_norms(inputs, w_x, w_h, direction):
    h, hs = torch.zeros(len(w_h)), []
    for x in inputs:
        h = torch.tanh(x @ w_x + h @ w_h)
        hs.append(h)
    out, left = [], torch.eye(len(w_h))
    for h in hs[::-1]:
        local = torch.diag(1 - h**2)
        out.append((w_x @ local @ left @ direction).norm())
        left = w_h @ local @ left
    return torch.stack(out)
