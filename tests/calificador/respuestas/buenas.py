"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

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

# %% 4.4 | crea los tensores vacíos y mira
def attention_shapes(query_shape, key_shape, value_shape):
    q, k, v = (torch.empty(s, device="meta") for s in (query_shape, key_shape, value_shape))
    s = q @ k.transpose(-2, -1)
    return [list(s.shape), list(s.shape), list((s @ v).shape)]

# %% 4.4 | tuplas y la difusión a mano
def attention_shapes(query_shape, key_shape, value_shape):
    def both(a, b):
        n = max(len(a), len(b))
        a, b = [1] * (n - len(a)) + list(a), [1] * (n - len(b)) + list(b)
        return tuple(max(x, y) for x, y in zip(a, b))

    batch = both(query_shape[:-2], key_shape[:-2])
    s = (*batch, query_shape[-2], key_shape[-2])
    return s, s, (*both(batch, value_shape[:-2]), query_shape[-2], value_shape[-1])

# %% 4.1 | con el máximo a mano
def softmax_with_null(scores, null_score):
    top = scores.amax(-1, keepdim=True).clamp(min=null_score)
    exps = (scores - top).exp()
    return exps / (exps.sum(-1, keepdim=True) + (null_score - top).exp())

# %% 4.1 | logaritmo de la suma
def softmax_with_null(scores, null_score):
    total = torch.logaddexp(scores.logsumexp(-1, keepdim=True), torch.tensor(null_score))
    return (scores - total).exp()

# %% 4.1 | la columna nula delante
def softmax_with_null(scores, null_score):
    return torch.nn.functional.pad(scores, (1, 0), value=null_score).softmax(-1)[..., 1:]

# %% 4.2 | redondeada a tres decimales
attention_by_hand = {"score": 2.828, "weight": 0.704, "output": 1.063}

# %% 4.2 | con las exponenciales redondeadas a dos decimales por el camino
attention_by_hand = {"score": 2.83, "weight": 0.7041, "output": 1.063}

# %% 4.3 | escrita a mano
shift_effect = "ninguna"

# %% 4.5 | einsum y la máscara como un número que se suma
def scaled_dot_product_attention(query, key, value, mask=None):
    e = torch.einsum("...id,...jd->...ij", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        e = e + torch.zeros(mask.shape, dtype=e.dtype).masked_fill(mask.logical_not(), float("-inf"))
    a = torch.nn.functional.softmax(e, -1)
    return torch.einsum("...ij,...jd->...id", a, value), a

# %% 4.5 | exponenciales a mano, con el máximo restado y la máscara multiplicada
def scaled_dot_product_attention(query, key, value, mask=None):
    s = (query / query.size(-1) ** 0.5).matmul(key.transpose(-1, -2))
    ok = torch.ones_like(s) if mask is None else mask.to(s.dtype).expand_as(s)
    s = torch.where(ok > 0, s, torch.full_like(s, -math.inf))
    e = torch.exp(s - s.max(-1, keepdim=True)[0])
    w = e / e.sum(-1)[..., None]
    return w.matmul(value), w

# %% 4.5 | consulta a consulta y con el logaritmo de la suma
def scaled_dot_product_attention(query, key, value, mask=None):
    rows = []
    for i in range(query.shape[-2]):
        s = (query[..., i : i + 1, :] * key).sum(-1) / math.sqrt(key.shape[-1])
        if mask is not None:
            s = s.masked_fill(mask[i] == False, -math.inf)
        rows.append((s - s.logsumexp(-1, keepdim=True)).exp())
    weights = torch.stack(rows, -2)
    return (weights[..., None] * value[..., None, :, :]).sum(-2), weights

# %% 4.6 | divide la consulta
def attention_with_temperature(query, key, value, temperature):
    return torch.einsum("bqk,bkv->bqv", torch.einsum("bqd,bkd->bqk", query / temperature.unsqueeze(-1), key).softmax(2), value)

# %% 4.6 | lote a lote y consulta a consulta
def attention_with_temperature(query, key, value, temperature):
    out = []
    for q, k, v, t in zip(query, key, value, temperature):
        out.append(torch.stack([torch.softmax(k @ q[i] / t[i], 0) @ v for i in range(len(q))]))
    return torch.stack(out)

# %% 4.6 | exponenciales a mano
def attention_with_temperature(query, key, value, temperature):
    s = torch.bmm(query, key.permute(0, 2, 1)) * temperature.reciprocal()[:, :, None]
    e = torch.exp(s - s.max(-1, keepdim=True).values)
    return torch.bmm(e, value) / e.sum(-1, keepdim=True)

# %% 4.7 | cdist
def gaussian_attention(query, key, value, bandwidth, mask):
    d = torch.cdist(query, key, compute_mode="donot_use_mm_for_euclid_dist")
    return torch.nan_to_num((-d.pow(2) / (2 * bandwidth**2)).masked_fill(~mask, float("-inf")).softmax(-1)) @ value

# %% 4.7 | fila a fila
def gaussian_attention(query, key, value, bandwidth, mask):
    out = torch.zeros(len(query), value.shape[1])
    for i, q in enumerate(query):
        if mask[i].any():
            s = -((q - key[mask[i]]) ** 2).sum(1) / (2 * bandwidth * bandwidth)
            out[i] = torch.softmax(s, 0) @ value[mask[i]]
    return out

# %% 4.7 | where y exponenciales con el máximo restado
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -((query.unsqueeze(1) - key) / bandwidth).pow(2).sum(-1) / 2
    s = torch.where(mask, s, torch.tensor(-math.inf))
    top = s.amax(-1, keepdim=True).clamp(min=-1e300)
    e = (s - top).exp()
    return (e @ value) / e.sum(-1, keepdim=True).clamp(min=1e-300)

# %% 4.8 | einsum
def column_attention(query, key, value):
    w = (torch.einsum("dz,dx->zx", key, query) / len(key) ** 0.5).softmax(0)
    return torch.einsum("zx,vz->vx", w, value)

# %% 4.8 | por filas y traspuesta
def column_attention(query, key, value):
    w = torch.softmax(query.T @ key / math.sqrt(query.shape[0]), dim=1)
    return (w @ value.T).T

# %% 4.9 | segundos momentos menos el cuadrado de la media
def score_scale(queries, keys):
    second = (queries.T @ queries / len(queries) * (keys.T @ keys / len(keys))).sum()
    return float((second - (queries.mean(0) @ keys.mean(0)) ** 2).sqrt())

# %% 4.9 | torch.cov y bucles
def score_scale(queries, keys):
    a, b = torch.cov(queries.T, correction=0), torch.cov(keys.T, correction=0)
    m, n = queries.mean(0), keys.mean(0)
    total = 0.0
    for i in range(len(m)):
        for j in range(len(m)):
            total = total + a[i, j] * b[i, j] + m[i] * m[j] * b[i, j] + n[i] * n[j] * a[i, j]
    return math.sqrt(total)

# %% 4.9 | numpy, y devuelve un tensor de cero ejes
def score_scale(queries, keys):
    import numpy as np

    q, k = queries.numpy(), keys.numpy()
    a, b = np.cov(q.T, bias=True), np.cov(k.T, bias=True)
    m, n = q.mean(0), k.mean(0)
    return torch.tensor(np.sqrt(np.trace(a @ b) + m @ b @ m + n @ a @ n))

# %% 4.10 | einsum
def softmax_jvp(scores, tangent, beta):
    p = torch.softmax(scores * beta, -1)
    pt = p * tangent
    return beta * pt - beta * p * torch.einsum("...k->...", pt)[..., None]

# %% 4.10 | centra la tangente primero
def softmax_jvp(scores, tangent, beta):
    e = (beta * (scores - scores.amax(-1, keepdim=True))).exp()
    z = e.sum(-1, keepdim=True)
    return beta * e / z * (tangent - (e * tangent).sum(-1, keepdim=True) / z)

# %% 4.10 | fila a fila
def softmax_jvp(scores, tangent, beta):
    rows = []
    for s, t in zip(scores.reshape(-1, scores.shape[-1]), tangent.reshape(-1, scores.shape[-1])):
        p = (beta * s).softmax(0)
        rows.append(beta * p * (t - p @ t))
    return torch.stack(rows).reshape(scores.shape)

# %% 4.12 | bisección fila a fila con floats
def beta_for_entropy(scores, entropy):
    out = []
    for row, goal in zip(scores, entropy.tolist()):
        low, high = -25.0, math.log(2e4)
        for _ in range(60):
            mid = (low + high) / 2
            p = (math.exp(mid) * row).softmax(0)
            h = -float((p * p.clamp(min=1e-300).log()).sum())
            low, high = (mid, high) if h > goal else (low, mid)
        out.append(math.exp((low + high) / 2))
    return torch.tensor(out)

# %% 4.12 | bisección lineal, pero con pasos de sobra
def beta_for_entropy(scores, entropy):
    low, high = torch.zeros_like(entropy), torch.full_like(entropy, 1e4)
    for _ in range(90):
        mid = (low + high) / 2
        up = torch.special.entr((mid[:, None] * scores).softmax(-1)).sum(-1) > entropy
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return (low + high) / 2

# %% 4.12 | la escala se quita antes
def beta_for_entropy(scores, entropy):
    size = scores.amax(-1, keepdim=True) - scores.amin(-1, keepdim=True)
    unit = scores / size
    low, high = torch.full_like(entropy, -30.0), torch.full_like(entropy, 30.0)
    for _ in range(70):
        mid = (low + high) / 2
        logs = (mid.exp()[:, None] * unit).log_softmax(-1)
        up = -(logs.exp() * logs).sum(-1) > entropy
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return low.exp() / size[:, 0]

# %% 4.13 | con el logaritmo de las sumas
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = torch.einsum("qd,kd->qk", query, key) * query.shape[-1] ** -0.5
    new = torch.cat([top, s], -1).amax(-1, keepdim=True)
    old = torch.exp(top - new)
    e = torch.exp(s - new)
    return new, old * total + e.sum(1, keepdim=True), old * weighted + torch.einsum("qk,kv->qv", e, value)

# %% 4.13 | clave a clave, y devuelve una lista
def absorb_block(state, query, key, value):
    top, total, weighted = state
    for k, v in zip(key, value):
        s = (query @ k / math.sqrt(len(k)))[:, None]
        new = torch.maximum(top, s)
        total = total * (top - new).exp() + (s - new).exp()
        weighted = weighted * (top - new).exp() + (s - new).exp() * v
        top = new
    return [top, total, weighted]

# %% 4.13 | escribe sobre copias
def absorb_block(state, query, key, value):
    top, total, weighted = (t.clone() for t in state)
    s = (query / math.sqrt(query.shape[1])) @ key.T
    new = torch.where(s.max(-1, keepdim=True).values > top, s.max(-1, keepdim=True).values, top)
    total.mul_((top - new).exp()).add_((s - new).exp().sum(-1, keepdim=True))
    weighted.mul_((top - new).exp()).add_((s - new).exp() @ value)
    return new, total, weighted

# %% 4.11 | solo las claves elegidas
def top_attention(query, key, value, keep=3, power=0.5):
    best = (query @ key.T / query.shape[-1] ** power).topk(keep, dim=-1)
    return (best.values.softmax(-1)[..., None] * value[best.indices]).sum(1)

# %% 4.11 | umbral por la k-ésima
def top_attention(query, key, value, keep=3, power=0.5):
    s = torch.einsum("qd,kd->qk", query, key) * query.shape[1] ** -power
    limit = s.sort(-1, descending=True).values[:, keep - 1 : keep]
    return torch.where(s >= limit, s, -torch.inf).softmax(-1) @ value

# %% 4.11 | fila a fila
def top_attention(query, key, value, keep=3, power=0.5):
    out = []
    for q in query:
        s = key @ q / len(q) ** power
        best = s.argsort(descending=True)[:keep]
        out.append(s[best].softmax(0) @ value[best])
    return torch.stack(out)

# %% 5.3 | listas
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    return [[d_model, d_k], [d_model, d_k], [d_model, d_v], [n_query, d_k], [n_key, d_k], [n_key, d_v], [n_query, n_key],
            [n_query, d_v]]

# %% 5.3 | tensores vacíos
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    x, z = torch.empty(n_query, d_model), torch.empty(n_key, d_model)
    w = [torch.empty(d_model, n) for n in (d_k, d_k, d_v)]
    q, k, v = x @ w[0], z @ w[1], z @ w[2]
    return tuple(tuple(t.shape) for t in (*w, q, k, v, q @ k.T, q @ k.T @ v))

# %% 5.1 | SDPA no, pero sí einsum y fill_diagonal
def no_mirror_attention(x, w_similarity, w_content):
    a = torch.einsum("...nd,ds->...ns", x, w_similarity)
    s = torch.einsum("...is,...js->...ij", a, a) / w_similarity.shape[1] ** 0.5
    mirror = torch.zeros(s.shape[-2:], dtype=torch.bool).fill_diagonal_(True)
    return torch.where(mirror, -math.inf, s).softmax(-1) @ x @ w_content

# %% 5.1 | exponenciales con la diagonal a cero
def no_mirror_attention(x, w_similarity, w_content):
    a = x @ w_similarity
    s = a @ a.mT / math.sqrt(a.shape[-1]) + torch.diag(torch.full((x.shape[-2],), -1e30))
    e = (s - s.amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)) @ (x @ w_content)

# %% 5.6 | la relación en W_Q, en otra base
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    turn = torch.linalg.qr(torch.randn(bits + r, bits + r))[0]
    q, k = torch.zeros(d, bits + r), torch.eye(d)[:, : bits + r]
    q[:bits, :bits] = torch.eye(bits)
    for p in range(r):
        q[bits + p, bits + beats[p]] = bonus
    return q @ turn, k @ turn, torch.eye(d)[:, bits + r :]

# %% 5.6 | la relación en W_K
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    key = torch.eye(d)[:, : bits + r].clone()
    key[bits : bits + r, bits:] = 0
    for winner, loser in enumerate(beats):
        key[bits + loser, bits + winner] = bonus
    return torch.eye(d)[:, : bits + r], key, torch.eye(d)[:, bits + r :]

# %% 5.7 | chunk no: trozos por índices
class FusedSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v, order="qkv"):
        super().__init__()
        self.project = nn.Linear(d_model, 2 * d_k + d_v, bias=False)
        self.cut, start = {}, 0
        for name in order:
            size = d_v if name == "v" else d_k
            self.cut[name] = slice(start, start + size)
            start += size

    def forward(self, x, context=None):
        z = self.project(x if context is None else context)
        q = self.project(x)[..., self.cut["q"]]
        s = torch.einsum("...id,...jd->...ij", q, z[..., self.cut["k"]]) / q.shape[-1] ** 0.5
        return torch.einsum("...ij,...jv->...iv", torch.softmax(s, -1), z[..., self.cut["v"]])

# %% 5.7 | la matriz cortada en lugar de la salida
class FusedSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v, order="qkv"):
        super().__init__()
        self.project = nn.Linear(d_model, d_k + d_k + d_v, bias=False)
        self.order, self.sizes = order, [d_v if n == "v" else d_k for n in order]

    def forward(self, x, context=None):
        if context is None:
            context = x
        w = dict(zip(self.order, self.project.weight.split(self.sizes)))
        s = (x @ w["q"].T) @ (context @ w["k"].T).mT * w["k"].shape[0] ** -0.5
        return s.softmax(-1) @ (context @ w["v"].T)

# %% 5.8 | einsum
def cross_attention(x, z, w_query, w_key, w_value):
    s = torch.einsum("...id,dk,...jk->...ij", x, w_query, z @ w_key) / w_query.shape[1] ** 0.5
    return torch.softmax(s, dim=-1) @ z @ w_value

# %% 5.8 | traspuesta y softmax en el otro eje, que también vale
def cross_attention(x, z, w_query, w_key, w_value):
    s = (z @ w_key) @ (x @ w_query).mT / math.sqrt(w_key.shape[1])
    return s.softmax(dim=-2).mT @ (z @ w_value)

# %% 5.9 | bucle
def cycle_flow(weights, cycle):
    total = 0.0
    for t in range(len(cycle)):
        i, j = cycle[t], cycle[(t + 1) % len(cycle)]
        total += math.log(weights[i, j]) - math.log(weights[j, i])
    return total

# %% 5.9 | logaritmo del cociente, como tensor de cero ejes
def cycle_flow(weights, cycle):
    ratio = (weights / weights.T).log()
    return sum(ratio[a, b] for a, b in zip(cycle, cycle[1:] + cycle[:1]))

# %% 5.10 | prueba cada rango
def smallest_width(scores, tolerance):
    u, s, v = torch.linalg.svd(scores, full_matrices=False)
    for r in range(len(s) + 1):
        if torch.linalg.norm(scores - u[:, :r] * s[:r] @ v[:r]) <= tolerance * torch.linalg.norm(scores):
            return r

# %% 5.10 | valores propios de SᵀS
def smallest_width(scores, tolerance):
    if tolerance < 1e-4:
        return int(torch.linalg.matrix_rank(scores))
    e = torch.linalg.eigvalsh(scores.T @ scores).clamp(min=0)
    return int((e.cumsum(0) > tolerance**2 * e.sum()).sum())

# %% 5.11 | la SVD de la matriz entera
def compress_head(w_query, w_key, width):
    u, s, v = torch.linalg.svd(w_query @ w_key.T, full_matrices=False)
    r = s[:width].sqrt()
    return u[:, :width] * r, v[:width].mT * r

# %% 5.11 | otro orden y otros signos
def compress_head(w_query, w_key, width):
    u, s, v = torch.linalg.svd(w_query @ w_key.T, full_matrices=False)
    r = s[:width].sqrt() * torch.tensor([(-1.0) ** i for i in range(width)])
    return (u[:, :width] * r).flip(1), (v[:width].T * r).flip(1)

# %% 5.4 | funciones de PyTorch y raíz de la consulta
class AttentionHead(nn.Module):
    def __init__(self, d_model, d_k, d_v, bias=False):
        super().__init__()
        self.query, self.key = (nn.Linear(d_model, d_k, bias=bias) for _ in range(2))
        self.value = nn.Linear(d_model, d_v, bias=bias)

    def forward(self, x, context=None):
        z = context if context is not None else x
        q, k = self.query(x), self.key(z)
        e = torch.einsum("...nd,...md->...nm", q, k) * q.shape[-1] ** -0.5
        return torch.einsum("...nm,...mv->...nv", torch.softmax(e, -1), self.value(z))

# %% 5.4 | escala la consulta antes de puntuar
class AttentionHead(nn.Module):
    def __init__(self, d_model, d_k, d_v, bias=False):
        super().__init__()
        self.scale = d_k ** 0.5
        self.value = nn.Linear(d_model, d_v, bias)
        self.key = nn.Linear(d_model, d_k, bias)
        self.query = nn.Linear(d_model, d_k, bias)

    def forward(self, x, context=None):
        if context is None:
            context = x
        e = (self.query(x) / self.scale) @ self.key(context).mT
        a = (e - e.amax(-1, keepdim=True)).exp()
        return a @ self.value(context) / a.sum(-1, keepdim=True)

# %% 5.4 | promedia antes de proyectar el valor
class AttentionHead(nn.Module):
    def __init__(self, d_model, d_k, d_v, bias=False):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=bias)
        self.key = nn.Linear(d_model, d_k, bias=bias)
        self.value = nn.Linear(d_model, d_v, bias=bias)

    def forward(self, x, context=None):
        z = x if context is None else context
        a = (self.query(x) @ self.key(z).mT / math.sqrt(self.query.out_features)).softmax(-1)
        return self.value(a @ z)

# %% 5.2 | con fracciones y más decimales
subject_by_hand = {"subject": 3.0, "other": -1.0, "back": 2.0, "times": 2.718281828}

# %% 5.2 | enteros
subject_by_hand = {"subject": 3, "other": -1, "back": 2, "times": 2.72}

# %% 5.5 | tal cual
swapped_look = "corren"

# %% 5.5 | sale de una función
swapped_look = max(["las", "niñas", "vio", "perro", "corren"], key=len)
