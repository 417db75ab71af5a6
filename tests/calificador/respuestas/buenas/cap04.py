"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

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

# %% 4.4 | con tensores sin datos
def attention_shapes(query_shape, key_shape, value_shape):
    q, k, v = (torch.empty(s, device="meta") for s in (query_shape, key_shape, value_shape))
    scores = q @ k.transpose(-2, -1)
    return [list(scores.shape), list(scores.shape), list((scores @ v).shape)]

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

# %% 4.8 | columna a columna
def column_attention(query, key, value):
    out = []
    for q in query.T:
        w = (q @ key * len(q) ** -0.5).softmax(0)
        out.append((value * w).sum(1))
    return torch.stack(out, dim=1)

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
