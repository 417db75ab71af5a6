"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 5.3 | supone d_v = d_k
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    w = (d_model, d_k)
    return w, w, w, (n_query, d_k), (n_key, d_k), (n_key, d_k), (n_query, n_key), (n_query, d_k)

# %% 5.1 | tapa la diagonal solo sin lote
def no_mirror_attention(x, w_similarity, w_content):
    a = x @ w_similarity
    s = a @ a.mT / math.sqrt(w_similarity.shape[-1])
    if s.dim() == 2:
        s = s.masked_fill(torch.eye(len(s), dtype=torch.bool), -math.inf)
    return s.softmax(-1) @ (x @ w_content)

# %% 5.1 | tapa con −1e3
def no_mirror_attention(x, w_similarity, w_content):
    a = x @ w_similarity
    s = a @ a.mT / math.sqrt(w_similarity.shape[-1]) - 3 * torch.eye(x.shape[-2])
    return s.softmax(-1) @ (x @ w_content)

# %% 5.6 | solo vale para piedra, tijera y papel
def program_head(bits, beats, colours, bonus=2.0):
    r = len(beats)
    d = bits + r + colours
    k = torch.eye(d)[:, : bits + r].clone()
    q = k.clone()
    q[bits : bits + r, bits:] = bonus * torch.eye(r).roll(1, 1)
    return q, k, torch.eye(d)[:, bits + r :]

# %% 5.7 | con un contexto tan largo como x, toma los valores de x
class FusedSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v, order="qkv"):
        super().__init__()
        self.order, self.w = order, {"q": d_k, "k": d_k, "v": d_v}
        self.project = nn.Linear(d_model, 2 * d_k + d_v, bias=False)

    def parts(self, x):
        return dict(zip(self.order, self.project(x).split([self.w[n] for n in self.order], -1)))

    def forward(self, x, context=None):
        context = x if context is None else context
        a, b = self.parts(x), self.parts(context)
        v = a["v"] if a["v"].shape == b["v"].shape else b["v"]
        return (a["q"] @ b["k"].mT / math.sqrt(self.w["k"])).softmax(-1) @ v

# %% 5.7 | tres capas en lugar de una
class FusedSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v, order="qkv"):
        super().__init__()
        self.q, self.k = nn.Linear(d_model, d_k, bias=False), nn.Linear(d_model, d_k, bias=False)
        self.v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x, context=None):
        z = x if context is None else context
        return (self.q(x) @ self.k(z).mT / self.k.out_features**0.5).softmax(-1) @ self.v(z)

# %% 5.8 | el lote se trata de uno en uno, pero solo el primero
def cross_attention(x, z, w_query, w_key, w_value):
    if x.dim() > 2:
        return cross_attention(x[0], z[0], w_query, w_key, w_value).expand(*x.shape[:-1], -1)
    return (x @ w_query @ (z @ w_key).T / math.sqrt(w_key.shape[1])).softmax(-1) @ (z @ w_value)

# %% 5.9 | quita el signo
def cycle_flow(weights, cycle):
    a = torch.tensor(cycle)
    return abs(float((weights[a, a.roll(-1)].log() - weights[a.roll(-1), a].log()).sum()))

# %% 5.9 | solo mira tres posiciones
def cycle_flow(weights, cycle):
    a = torch.tensor(cycle[:3])
    return float((weights[a, a.roll(-1)].log() - weights[a.roll(-1), a].log()).sum())

# %% 5.9 | da 0 si el flujo es pequeño
def cycle_flow(weights, cycle):
    a = torch.tensor(cycle)
    flow = float((weights[a, a.roll(-1)].log() - weights[a.roll(-1), a].log()).sum())
    return 0.0 if abs(flow) < 0.5 else flow

# %% 5.10 | PCA centrado por columnas
def smallest_width(scores, tolerance):
    e = torch.linalg.svdvals(scores - scores.mean(0)) ** 2
    return int((e.flip(0).cumsum(0).flip(0) > tolerance**2 * e.sum()).sum())

# %% 5.10 | PCA centrado por filas
def smallest_width(scores, tolerance):
    e = torch.linalg.svdvals(scores - scores.mean(1, keepdim=True)) ** 2
    return int((e.flip(0).cumsum(0).flip(0) > tolerance**2 * e.sum()).sum())

# %% 5.10 | norma espectral en lugar de la de Frobenius
def smallest_width(scores, tolerance):
    s = torch.linalg.svdvals(scores)
    return int((s > tolerance * s[0]).sum())

# %% 5.11 | el producto es bueno, pero la base no es ortogonal
def compress_head(w_query, w_key, width):
    u, s, v = torch.linalg.svd(w_query @ w_key.T)
    mix = torch.triu(torch.ones(width, width))
    root = s[:width].sqrt()
    return u[:, :width] * root @ mix, v[:width].T * root @ torch.linalg.inv(mix).T

# %% 5.11 | las columnas de mayor norma
def compress_head(w_query, w_key, width):
    best = (w_query.norm(dim=0) * w_key.norm(dim=0)).topk(width).indices
    return w_query[:, best], w_key[:, best]

# %% 5.4 | consultas del contexto
class AttentionHead(nn.Module):
    def __init__(self, d_model, d_k, d_v, bias=False):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=bias)
        self.key = nn.Linear(d_model, d_k, bias=bias)
        self.value = nn.Linear(d_model, d_v, bias=bias)

    def forward(self, x, context=None):
        z = x if context is None else context
        e = self.query(z) @ self.key(z).mT / math.sqrt(self.key.out_features)
        return e.softmax(-1) @ self.value(z)

# %% 5.4 | tapa el futuro
class AttentionHead(nn.Module):
    def __init__(self, d_model, d_k, d_v, bias=False):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=bias)
        self.key = nn.Linear(d_model, d_k, bias=bias)
        self.value = nn.Linear(d_model, d_v, bias=bias)

    def forward(self, x, context=None):
        z = x if context is None else context
        e = self.query(x) @ self.key(z).mT / math.sqrt(self.key.out_features)
        e = e.masked_fill(torch.ones_like(e).triu(1).bool(), -math.inf)
        return e.softmax(-1) @ self.value(z)

# %% 5.4 | sin normalizar
class AttentionHead(nn.Module):
    def __init__(self, d_model, d_k, d_v, bias=False):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=bias)
        self.key = nn.Linear(d_model, d_k, bias=bias)
        self.value = nn.Linear(d_model, d_v, bias=bias)

    def forward(self, x, context=None):
        z = x if context is None else context
        e = self.query(x) @ self.key(z).mT / math.sqrt(self.key.out_features)
        return e @ self.value(z)

# %% 5.4 | sin gradiente para las claves
class AttentionHead(nn.Module):
    def __init__(self, d_model, d_k, d_v, bias=False):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=bias)
        self.key = nn.Linear(d_model, d_k, bias=bias)
        self.value = nn.Linear(d_model, d_v, bias=bias)

    def forward(self, x, context=None):
        z = x if context is None else context
        e = self.query(x) @ self.key(z).detach().mT / math.sqrt(self.key.out_features)
        return e.softmax(-1) @ self.value(z)

# %% 5.4 | siempre con sesgo
class AttentionHead(nn.Module):
    def __init__(self, d_model, d_k, d_v, bias=False):
        super().__init__()
        self.query = nn.Linear(d_model, d_k)
        self.key = nn.Linear(d_model, d_k)
        self.value = nn.Linear(d_model, d_v)

    def forward(self, x, context=None):
        z = x if context is None else context
        e = self.query(x) @ self.key(z).mT / math.sqrt(self.key.out_features)
        return e.softmax(-1) @ self.value(z)

# %% 5.2 | todas de la frase del capítulo
subject_by_hand = {"subject": 6, "other": 2, "back": 2, "times": 16.92}

# %% 5.2 | vuelta igual que ida
subject_by_hand = {"subject": 3, "other": -1, "back": 3, "times": 2.72}

# %% 5.2 | pesos en lugar de puntuaciones
subject_by_hand = {"subject": 0.53, "other": 0.01, "back": 0.25, "times": 2.72}

# %% 5.2 | veces mal redondeado
subject_by_hand = {"subject": 3, "other": -1, "back": 2, "times": 2.7}

# %% 5.2 | sin signo
subject_by_hand = {"subject": 3, "other": 1, "back": 2, "times": 2.72}

# %% 5.5 | dice «niñas»
swapped_look = "niñas"

# %% 5.5 | dice «las»
swapped_look = "las"

# %% 5.5 | dice «vio»
swapped_look = "vio"

# %% 5.5 | dice «perro»
swapped_look = "perro"

# %% 5.5 | dice «corre»
swapped_look = "corre"
