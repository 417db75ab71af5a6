"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 6.1 | con decimales a mano
kept_by_hand = {"large": 0.9, "small": 0.1, "third": 0.33, "heads": 5}

# %% 6.1 | con fracciones
kept_by_hand = {"large": 9 / 10, "small": 1 / 10, "third": 1 / 3, "heads": 5.0}

# %% 6.1 | calculada
row = torch.tensor([3.0, 1.0])
kept = row**2 / (row**2).sum()
kept_by_hand = {"large": float(kept[0]), "small": float(kept[1]), "third": 1 / 3, "heads": 5}

# %% 6.2 | escrita
mixed_word = "el"

# %% 6.2 | contada
mixed_word = "las niñas que vio el perro corren".split()[torch.arange(42).view(3, 7, 2)[1, -1, 0].item() // 6]

# %% 6.3 | la cuenta cerrada
def layer_cost(n, d_model, n_heads):
    return 4 * d_model * (d_model + 1), 2 * n * d_model * (2 * d_model + n), n_heads * n**2

# %% 6.3 | con formas, cabeza a cabeza
def layer_cost(n, d_model, n_heads):
    products = [(n, d_model, d_model)] * 4
    for _ in range(n_heads):
        products += [(n, d_model // n_heads, n), (n, n, d_model // n_heads)]
    return 4 * (d_model**2 + d_model), sum(a * b * c for a, b, c in products), n * n * n_heads

# %% 6.3 | una lista
def layer_cost(n, d_model, n_heads):
    return [4 * d_model**2 + 4 * d_model, 4 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n * n]

# %% 6.4 | suma de cabezas, en un bucle
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    total, width = 0, x.shape[-1] // n_heads
    for i in range(n_heads):
        mine = slice(i * width, (i + 1) * width)
        scores = (x @ w_query[:, mine]) @ (z @ w_key[:, mine]).mT / width**0.5
        if mask is not None:
            scores = torch.where(mask, scores, -math.inf)
        total = total + scores.softmax(-1) @ (z @ w_value[:, mine]) @ w_output[mine]
    return total

# %% 6.4 | einsum
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    cut = lambda w: w.reshape(w.shape[0], n_heads, -1)
    q = torch.einsum("...nd,dhk->...nhk", x, cut(w_query))
    k = torch.einsum("...md,dhk->...mhk", z, cut(w_key))
    v = torch.einsum("...md,dhk->...mhk", z, cut(w_value))
    scores = torch.einsum("...nhk,...mhk->...hnm", q, k) / q.shape[-1] ** 0.5
    scores = scores if mask is None else scores + torch.zeros(mask.shape).double().masked_fill(~mask, -math.inf)
    out = torch.einsum("...hnm,...mhk->...nhk", scores.softmax(-1), v)
    return out.flatten(-2) @ w_output

# %% 6.4 | chunk y cat
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    heads = []
    for q, k, v in zip(*((y @ w).chunk(n_heads, -1) for y, w in ((x, w_query), (z, w_key), (z, w_value)))):
        scores = (q / q.shape[-1] ** 0.5) @ k.transpose(-1, -2)
        if mask is not None:
            scores = scores - 1e30 * (~mask)
        heads.append(torch.softmax(scores, -1) @ v)
    return torch.cat(heads, -1) @ w_output

# %% 6.5 | pseudoinversa
def recovered(weights):
    return torch.linalg.diagonal(torch.linalg.pinv(weights, rtol=1e-9) @ weights)

# %% 6.5 | Gram-Schmidt
def recovered(weights):
    basis = []
    for row in weights:
        for one in basis:
            row = row - (row @ one) * one
        for one in basis:
            row = row - (row @ one) * one
        if row.norm() > 1e-9:
            basis.append(row / row.norm())
    return sum(one**2 for one in basis)

# %% 6.5 | mínimos cuadrados
def recovered(weights):
    target = torch.eye(weights.shape[1], dtype=weights.dtype)
    best = torch.linalg.lstsq(weights.T, target, driver="gelsd").solution
    return 1 - (target - weights.T @ best).square().sum(0)

# %% 6.6 | con un bucle
def heads_needed(targets):
    most = 1
    for wanted in targets:
        if len(wanted) > most:
            most = len(wanted)
    return most

# %% 6.6 | ordenada
def heads_needed(targets):
    return sorted(map(len, targets), reverse=True)[0] or 1

# %% 6.6 | quitando una posición de cada lista en cada cabeza
def heads_needed(targets):
    left, heads = [list(wanted) for wanted in targets], 0
    while any(left):
        left = [wanted[1:] for wanted in left if wanted]
        heads += 1
    return max(heads, 1)

# %% 6.7 | con bucle de cabezas
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        for name in ("query", "key", "value", "output"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x):
        parts = (layer(x).chunk(self.n_heads, -1) for layer in (self.query, self.key, self.value))
        heads = [(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v for q, k, v in zip(*parts)]
        return self.output(torch.cat(heads, -1))

# %% 6.7 | con reshape y permute
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.width = n_heads, d_model // n_heads
        self.query, self.key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.value, self.output = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        cut = lambda y: y.reshape(*y.shape[:-1], self.n_heads, self.width).movedim(-2, -3)
        q, k, v = cut(self.query(x)), cut(self.key(x)), cut(self.value(x))
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.width), dim=-1)
        return self.output((weights @ v).movedim(-3, -2).reshape(*x.shape))

# %% 6.7 | einsum, sin trasponer
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (self.n_heads, -1)) for layer in (self.query, self.key, self.value))
        s = torch.einsum("...ihc,...jhc->...hij", q, k) * q.shape[-1] ** -0.5
        return self.output(torch.einsum("...hij,...jhc->...ihc", s.softmax(-1), v).flatten(-2))

# %% 6.8 | unflatten e índices de cabeza
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    cut = [w.unflatten(1, (n_heads, -1))[:, keep].flatten(1) for w in (w_query, w_key, w_value)]
    return (*cut, w_output.unflatten(0, (n_heads, -1))[keep].flatten(0, 1))

# %% 6.8 | chunk
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    pick = lambda w, dim: torch.cat([w.chunk(n_heads, dim)[i] for i in keep], dim)
    return [pick(w_query, 1), pick(w_key, 1), pick(w_value, 1), pick(w_output, 0)]

# %% 6.8 | las claves y las consultas, en otra base dentro de cada cabeza
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    pick = lambda w, dim: torch.cat([w.chunk(n_heads, dim)[i] for i in keep], dim)
    return 2 * pick(w_query, 1), pick(w_key, 1) / 2, pick(w_value, 1).clone(), pick(w_output, 0).contiguous()

# %% 6.9 | bucle
def group_heads(w, n_heads, n_kv_heads):
    size, heads = n_heads // n_kv_heads, w.chunk(n_heads, 1)
    return torch.cat([sum(heads[g * size : (g + 1) * size]) / size for g in range(n_kv_heads)], 1)

# %% 6.9 | matriz que promedia
def group_heads(w, n_heads, n_kv_heads):
    size, d_head = n_heads // n_kv_heads, w.shape[1] // n_heads
    mean = torch.eye(n_kv_heads, dtype=w.dtype).repeat_interleave(size, 0) / size
    return w @ torch.kron(mean, torch.eye(d_head, dtype=w.dtype))

# %% 6.9 | columna a columna
def group_heads(w, n_heads, n_kv_heads):
    d_head, size, columns = w.shape[1] // n_heads, n_heads // n_kv_heads, []
    for g in range(n_kv_heads):
        for c in range(d_head):
            mine = [(g * size + h) * d_head + c for h in range(size)]
            columns.append(w[:, mine].mean(1))
    return torch.stack(columns, 1)

# %% 6.10 | costes en un bucle
def match_heads(first, second):
    from scipy.optimize import linear_sum_assignment

    cost = [[float(((a - b) ** 2).sum()) for b in second] for a in first]
    return [int(j) for j in linear_sum_assignment(cost)[1]]

# %% 6.10 | maximiza el producto en vez de minimizar la distancia
def match_heads(first, second):
    from scipy.optimize import linear_sum_assignment

    score = torch.einsum("hnm,gnm->hg", first, second)
    return linear_sum_assignment(score.numpy(), maximize=True)[1].tolist()

# %% 6.8 | en orden de cabeza, que da la misma suma
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    pick = lambda w, dim: torch.cat([w.chunk(n_heads, dim)[i] for i in sorted(keep)], dim)
    return pick(w_query, 1), pick(w_key, 1), pick(w_value, 1), pick(w_output, 0)

# %% 6.10 | enteros de numpy
def match_heads(first, second):
    from scipy.optimize import linear_sum_assignment

    cost = torch.cdist(first.flatten(1), second.flatten(1)).square()
    return list(linear_sum_assignment(cost.numpy())[1])
