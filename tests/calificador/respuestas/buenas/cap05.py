"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 5.3 | listas
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    return [[d_model, d_k], [d_model, d_k], [d_model, d_v], [n_query, d_k], [n_key, d_k], [n_key, d_v], [n_query, n_key],
            [n_query, d_v]]

# %% 5.3 | con torch.Size
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    query, keys = [torch.Size((rows, d_k)) for rows in (n_query, n_key)]
    matrices = [torch.Size((d_model, width)) for width in (d_k, d_k, d_v)]
    return *matrices, query, keys, torch.Size((n_key, d_v)), torch.Size((n_query, n_key)), torch.Size((n_query, d_v))

# %% 5.3 | con un producto de formas
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    times = lambda a, b: (a[0], b[1])
    x, z, w_k, w_v = (n_query, d_model), (n_key, d_model), (d_model, d_k), (d_model, d_v)
    q, k, v = times(x, w_k), times(z, w_k), times(z, w_v)
    scores = times(q, k[::-1])
    return w_k, w_k, w_v, q, k, v, scores, times(scores, v)

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

# %% 5.1 | posición a posición, sin su propia fila
def no_mirror_attention(x, w_similarity, w_content):
    a, c, rows = x @ w_similarity, x @ w_content, []
    n = x.shape[-2]
    for i in range(n):
        others = [j for j in range(n) if j != i]
        s = (a[..., others, :] @ a[..., i, :, None]).squeeze(-1) / a.shape[-1] ** 0.5
        rows.append((s.softmax(-1).unsqueeze(-1) * c[..., others, :]).sum(-2))
    return torch.stack(rows, -2)

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

# %% 5.6 | la raíz del premio a cada lado
def program_head(bits, beats, colours, bonus=2.0):
    r = len(beats)
    table, moves, paint = torch.eye(bits), torch.eye(r), torch.eye(colours)
    none = torch.zeros(colours, bits + r)
    key = torch.cat([torch.block_diag(table, moves * bonus**0.5), none]).double()
    query = torch.cat([torch.block_diag(table, moves[beats] * bonus**0.5), none]).double()
    return query, key, torch.cat([torch.zeros(bits + r, colours), paint]).double()

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

# %% 5.7 | funciones sobre los trozos de la matriz, y el máximo a mano
class FusedSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v, order="qkv"):
        super().__init__()
        self.project = nn.Linear(d_model, 2 * d_k + d_v, bias=False)
        widths, self.rows, at = {"q": d_k, "k": d_k, "v": d_v}, {}, 0
        for letter in order:
            self.rows[letter] = range(at, at + widths[letter])
            at += widths[letter]

    def forward(self, x, context=None):
        take = lambda y, letter: nn.functional.linear(y, self.project.weight[list(self.rows[letter])])
        z = x if context is None else context
        s = (take(x, "q").unsqueeze(-2) * take(z, "k").unsqueeze(-3)).sum(-1) / len(self.rows["k"]) ** 0.5
        e = (s - s.amax(-1, keepdim=True)).exp()
        return e @ take(z, "v") / e.sum(-1, keepdim=True)

# %% 5.8 | einsum
def cross_attention(x, z, w_query, w_key, w_value):
    s = torch.einsum("...id,dk,...jk->...ij", x, w_query, z @ w_key) / w_query.shape[1] ** 0.5
    return torch.softmax(s, dim=-1) @ z @ w_value

# %% 5.8 | traspuesta y softmax en el otro eje, que también vale
def cross_attention(x, z, w_query, w_key, w_value):
    s = (z @ w_key) @ (x @ w_query).mT / math.sqrt(w_key.shape[1])
    return s.softmax(dim=-2).mT @ (z @ w_value)

# %% 5.8 | consulta a consulta
def cross_attention(x, z, w_query, w_key, w_value):
    k, v, rows = z @ w_key, z @ w_value, []
    for i in range(x.shape[-2]):
        q = x[..., i : i + 1, :] @ w_query
        w = ((q * k).sum(-1) / k.shape[-1] ** 0.5).softmax(-1)
        rows.append((w[..., None] * v).sum(-2))
    return torch.stack(rows, -2)

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

# %% 5.9 | con una matriz que marca los pasos del ciclo
def cycle_flow(weights, cycle):
    n = len(weights)
    step = torch.zeros(n, n, dtype=weights.dtype)
    for t, i in enumerate(cycle):
        step[cycle[t - 1], i] += 1
    return float(((step - step.T) * weights.log()).sum())

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

# %% 5.10 | quita direcciones de una en una mientras quepa el error
def smallest_width(scores, tolerance):
    sizes = torch.linalg.svdvals(scores).tolist()
    room, lost = (tolerance * math.sqrt(sum(s * s for s in sizes))) ** 2, 0.0
    while sizes and lost + sizes[-1] ** 2 <= room:
        lost += sizes.pop() ** 2
    return len(sizes)

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

# %% 5.11 | QR de cada factor y la SVD de lo pequeño
def compress_head(w_query, w_key, width):
    q1, r1 = torch.linalg.qr(w_query)
    q2, r2 = torch.linalg.qr(w_key)
    u, s, vh = torch.linalg.svd(r1 @ r2.T)
    root = torch.diag(s[:width] ** 0.5)
    return q1 @ u[:, :width] @ root, q2 @ vh.T[:, :width] @ root

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
