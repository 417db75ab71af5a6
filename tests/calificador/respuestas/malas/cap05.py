"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 5.3 | crea tensores vacíos
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    x, z = torch.empty(n_query, d_model), torch.empty(n_key, d_model)
    w = [torch.empty(d_model, n) for n in (d_k, d_k, d_v)]
    q, k, v = x @ w[0], z @ w[1], z @ w[2]
    return tuple(tuple(t.shape) for t in (*w, q, k, v, q @ k.T, q @ k.T @ v))

# %% 5.3 | supone d_v = d_k
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    w = (d_model, d_k)
    return w, w, w, (n_query, d_k), (n_key, d_k), (n_key, d_k), (n_query, n_key), (n_query, d_k)

# %% 5.3 | las matrices, como las guarda nn.Linear
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    return ((d_k, d_model), (d_k, d_model), (d_v, d_model), (n_query, d_k), (n_key, d_k), (n_key, d_v),
            (n_query, n_key), (n_query, d_v))

# %% 5.3 | los valores, de la secuencia que pregunta
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    return ((d_model, d_k), (d_model, d_k), (d_model, d_v), (n_query, d_k), (n_key, d_k), (n_query, d_v),
            (n_query, n_key), (n_query, d_v))

# %% 5.3 | las puntuaciones, clave por consulta
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    return ((d_model, d_k), (d_model, d_k), (d_model, d_v), (n_query, d_k), (n_key, d_k), (n_key, d_v),
            (n_key, n_query), (n_query, d_v))

# %% 5.3 | la salida vuelve a la anchura del modelo
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    return ((d_model, d_k), (d_model, d_k), (d_model, d_v), (n_query, d_k), (n_key, d_k), (n_key, d_v),
            (n_query, n_key), (n_query, d_model))

# %% 5.3 | la matriz de las claves, por el número de claves
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    return ((n_query, d_k), (n_key, d_k), (n_key, d_v), (n_query, d_k), (n_key, d_k), (n_key, d_v),
            (n_query, n_key), (n_query, d_v))

# %% 5.3 | las claves, con una columna por clave
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    return ((d_model, d_k), (d_model, d_k), (d_model, d_v), (n_query, d_k), (d_k, n_key), (n_key, d_v),
            (n_query, n_key), (n_query, d_v))

# %% 5.3 | todo con la longitud de las consultas
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    n = n_query
    return (d_model, d_k), (d_model, d_k), (d_model, d_v), (n, d_k), (n, d_k), (n, d_v), (n, n), (n, d_v)

# %% 5.3 | la salida, una fila por clave
def attention_shapes(n_query, n_key, d_model, d_k, d_v):
    return ((d_model, d_k), (d_model, d_k), (d_model, d_v), (n_query, d_k), (n_key, d_k), (n_key, d_v),
            (n_query, n_key), (n_key, d_v))

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

# %% 5.1 | quita la diagonal después de la softmax y no vuelve a repartir
def no_mirror_attention(x, w_similarity, w_content):
    a = x @ w_similarity
    w = (a @ a.mT / math.sqrt(a.shape[-1])).softmax(-1)
    return (w - torch.diag_embed(w.diagonal(dim1=-2, dim2=-1))) @ (x @ w_content)

# %% 5.1 | pone un cero en la diagonal de las puntuaciones
def no_mirror_attention(x, w_similarity, w_content):
    a = x @ w_similarity
    s = a @ a.mT / math.sqrt(a.shape[-1]) * (1 - torch.eye(x.shape[-2]))
    return s.softmax(-1) @ (x @ w_content)

# %% 5.1 | tapa también lo que viene después
def no_mirror_attention(x, w_similarity, w_content):
    a = x @ w_similarity
    s = a @ a.mT / math.sqrt(a.shape[-1])
    s = s.masked_fill(torch.ones_like(s).triu().bool(), -1e30)
    return s.softmax(-1) @ (x @ w_content)

# %% 5.1 | reparte dos veces
def no_mirror_attention(x, w_similarity, w_content):
    a = x @ w_similarity
    w = (a @ a.mT / math.sqrt(a.shape[-1])).softmax(-1)
    w = w.masked_fill(torch.eye(x.shape[-2]).bool(), -math.inf).softmax(-1)
    return w @ (x @ w_content)

# %% 5.1 | escala con la anchura del contenido
def no_mirror_attention(x, w_similarity, w_content):
    a = x @ w_similarity
    s = a @ a.mT / math.sqrt(w_content.shape[-1])
    s = s.masked_fill(torch.eye(x.shape[-2]).bool(), -math.inf)
    return s.softmax(-1) @ (x @ w_content)

# %% 5.1 | compara el contenido
def no_mirror_attention(x, w_similarity, w_content):
    c = x @ w_content
    s = (c @ c.mT / math.sqrt(c.shape[-1])).masked_fill(torch.eye(x.shape[-2]).bool(), -math.inf)
    return s.softmax(-1) @ c

# %% 5.6 | solo vale para piedra, tijera y papel
def program_head(bits, beats, colours, bonus=2.0):
    r = len(beats)
    d = bits + r + colours
    k = torch.eye(d)[:, : bits + r].clone()
    q = k.clone()
    q[bits : bits + r, bits:] = bonus * torch.eye(r).roll(1, 1)
    return q, k, torch.eye(d)[:, bits + r :]

# %% 5.6 | premia a quien le gana
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    eye = torch.eye(d, dtype=torch.float64)
    q = eye[:, : bits + r].clone()
    q[bits : bits + r, bits:] = 0
    for winner, loser in enumerate(beats):
        q[bits + loser, bits + winner] = bonus
    return q, eye[:, : bits + r], eye[:, bits + r :]

# %% 5.6 | premia a quien sacó lo mismo
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    eye = torch.eye(d, dtype=torch.float64)
    q = eye[:, : bits + r].clone()
    q[bits:, bits:] *= bonus
    return q, eye[:, : bits + r], eye[:, bits + r :]

# %% 5.6 | el premio, en la consulta y en la clave
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    eye = torch.eye(d, dtype=torch.float64)
    q, k = eye[:, : bits + r].clone(), eye[:, : bits + r].clone()
    q[bits : bits + r, bits:] = 0
    for winner, loser in enumerate(beats):
        q[bits + winner, bits + loser] = bonus
    k[bits:, bits:] *= bonus
    return q, k, eye[:, bits + r :]

# %% 5.6 | olvida la mesa
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    q, k = torch.zeros(d, r, dtype=torch.float64), torch.zeros(d, r, dtype=torch.float64)
    for winner, loser in enumerate(beats):
        q[bits + winner, loser] = bonus
        k[bits + winner, winner] = 1
    return q, k, torch.eye(d, dtype=torch.float64)[:, bits + r :]

# %% 5.6 | multiplica el premio por la mesa, como si se sumaran los vectores
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    eye = torch.eye(d, dtype=torch.float64)
    q = eye[:, : bits + r].clone()
    q[bits : bits + r, bits:] = 0
    for winner, loser in enumerate(beats):
        q[bits + winner, bits + loser] = bonus
    return bonus * q, eye[:, : bits + r], eye[:, bits + r :]

# %% 5.6 | divide entre la raíz, aunque se pide sin escalar
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    eye = torch.eye(d, dtype=torch.float64)
    q = eye[:, : bits + r].clone()
    q[bits : bits + r, bits:] = 0
    for winner, loser in enumerate(beats):
        q[bits + winner, bits + loser] = bonus
    return q / math.sqrt(bits + r), eye[:, : bits + r], eye[:, bits + r :]

# %% 5.6 | cree que gana quien viene detrás en la lista
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    eye = torch.eye(d, dtype=torch.float64)
    q = eye[:, : bits + r].clone()
    q[bits : bits + r, bits:] = bonus * torch.eye(r, dtype=torch.float64).roll(-1, 1)
    return q, eye[:, : bits + r], eye[:, bits + r :]

# %% 5.6 | entrega también la jugada
def program_head(bits, beats, colours, bonus=2.0):
    r, d = len(beats), bits + len(beats) + colours
    eye = torch.eye(d, dtype=torch.float64)
    q = eye[:, : bits + r].clone()
    q[bits : bits + r, bits:] = 0
    for winner, loser in enumerate(beats):
        q[bits + winner, bits + loser] = bonus
    return q, eye[:, : bits + r], eye[:, bits:]

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

# %% 5.7 | tres trozos iguales
class FusedSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v, order="qkv"):
        super().__init__()
        self.order, self.d_k = order, d_k
        self.project = nn.Linear(d_model, 2 * d_k + d_v, bias=False)

    def forward(self, x, context=None):
        z = x if context is None else context
        a, b = (dict(zip(self.order, self.project(y).tensor_split(3, -1))) for y in (x, z))
        return (a["q"] @ b["k"].mT / math.sqrt(self.d_k)).softmax(-1) @ b["v"]

# %% 5.7 | también la consulta sale del contexto
class FusedSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v, order="qkv"):
        super().__init__()
        self.order, self.sizes = order, [d_v if n == "v" else d_k for n in order]
        self.project = nn.Linear(d_model, 2 * d_k + d_v, bias=False)

    def forward(self, x, context=None):
        z = x if context is None else context
        p = dict(zip(self.order, self.project(z).split(self.sizes, -1)))
        return (p["q"] @ p["k"].mT / math.sqrt(p["k"].shape[-1])).softmax(-1) @ p["v"]

# %% 5.7 | escala con la suma de las tres anchuras
class FusedSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v, order="qkv"):
        super().__init__()
        self.order, self.sizes = order, [d_v if n == "v" else d_k for n in order]
        self.project = nn.Linear(d_model, 2 * d_k + d_v, bias=False)

    def forward(self, x, context=None):
        z = x if context is None else context
        a, b = (dict(zip(self.order, self.project(y).split(self.sizes, -1))) for y in (x, z))
        return (a["q"] @ b["k"].mT / math.sqrt(self.project.out_features)).softmax(-1) @ b["v"]

# %% 5.7 | si hay contexto, atiende a las dos secuencias
class FusedSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v, order="qkv"):
        super().__init__()
        self.order, self.sizes = order, [d_v if n == "v" else d_k for n in order]
        self.project = nn.Linear(d_model, 2 * d_k + d_v, bias=False)

    def forward(self, x, context=None):
        z = x if context is None else torch.cat([x, context], -2)
        a, b = (dict(zip(self.order, self.project(y).split(self.sizes, -1))) for y in (x, z))
        return (a["q"] @ b["k"].mT / math.sqrt(b["k"].shape[-1])).softmax(-1) @ b["v"]

# %% 5.8 | el lote se trata de uno en uno, pero solo el primero
def cross_attention(x, z, w_query, w_key, w_value):
    if x.dim() > 2:
        return cross_attention(x[0], z[0], w_query, w_key, w_value).expand(*x.shape[:-1], -1)
    return (x @ w_query @ (z @ w_key).T / math.sqrt(w_key.shape[1])).softmax(-1) @ (z @ w_value)

# %% 5.8 | traspone con T, que con lote da la vuelta a todo
def cross_attention(x, z, w_query, w_key, w_value):
    k = (z @ w_key).permute(*range(z.dim() - 1, -1, -1))
    return ((x @ w_query) @ k / math.sqrt(w_key.shape[1])).softmax(-1) @ (z @ w_value)

# %% 5.8 | la raíz de la anchura del modelo
def cross_attention(x, z, w_query, w_key, w_value):
    s = (x @ w_query) @ (z @ w_key).mT / math.sqrt(x.shape[-1])
    return s.softmax(-1) @ (z @ w_value)

# %% 5.8 | reparte entre las consultas
def cross_attention(x, z, w_query, w_key, w_value):
    s = (x @ w_query) @ (z @ w_key).mT / math.sqrt(w_key.shape[-1])
    return s.softmax(-2) @ (z @ w_value)

# %% 5.8 | pregunta la otra secuencia
def cross_attention(x, z, w_query, w_key, w_value):
    s = (z @ w_query) @ (x @ w_key).mT / math.sqrt(w_key.shape[-1])
    return s.softmax(-1).mT @ (z @ w_value)

# %% 5.8 | la raíz del número de claves
def cross_attention(x, z, w_query, w_key, w_value):
    s = (x @ w_query) @ (z @ w_key).mT / math.sqrt(z.shape[-2])
    return s.softmax(-1) @ (z @ w_value)

# %% 5.8 | también los valores, de las consultas
def cross_attention(x, z, w_query, w_key, w_value):
    s = (x @ w_query) @ (z @ w_key).mT / math.sqrt(w_key.shape[-1])
    return s.softmax(-1) @ (z @ w_key)

# %% 5.8 | promedia antes de proyectar, con las consultas
def cross_attention(x, z, w_query, w_key, w_value):
    w = ((x @ w_query) @ (z @ w_key).mT / math.sqrt(w_key.shape[-1])).softmax(-1)
    return w @ z.mean(-2, keepdim=True).expand_as(z) @ w_value

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

# %% 5.9 | los productos, sin logaritmos
def cycle_flow(weights, cycle):
    a = torch.tensor(cycle)
    return float(weights[a, a.roll(-1)].prod() - weights[a.roll(-1), a].prod())

# %% 5.9 | no cierra el ciclo
def cycle_flow(weights, cycle):
    return sum(math.log(weights[i, j] / weights[j, i]) for i, j in zip(cycle, cycle[1:]))

# %% 5.9 | recorre las posiciones por orden
def cycle_flow(weights, cycle):
    a = torch.tensor(sorted(cycle))
    return float((weights[a, a.roll(-1)] / weights[a.roll(-1), a]).log().sum())

# %% 5.9 | logaritmo en base dos
def cycle_flow(weights, cycle):
    a = torch.tensor(cycle)
    return float((weights[a, a.roll(-1)] / weights[a.roll(-1), a]).log2().sum())

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

# %% 5.10 | la suma de los valores singulares, en lugar de la de sus cuadrados
def smallest_width(scores, tolerance):
    s = torch.linalg.svdvals(scores)
    return int((s.flip(0).cumsum(0).flip(0) > tolerance * s.sum()).sum())

# %% 5.10 | cuenta los que pasan de la tolerancia por la norma
def smallest_width(scores, tolerance):
    s = torch.linalg.svdvals(scores)
    return int((s > tolerance * s.norm()).sum())

# %% 5.10 | quita columnas de menor norma
def smallest_width(scores, tolerance):
    e = scores.square().sum(0).sort(descending=True).values
    return int((e.flip(0).cumsum(0).flip(0) > tolerance**2 * e.sum()).sum())

# %% 5.10 | la mitad de las dimensiones que hacen falta, por repartirlas entre Q y K
def smallest_width(scores, tolerance):
    e = torch.linalg.svdvals(scores) ** 2
    return (int((e.flip(0).cumsum(0).flip(0) > tolerance**2 * e.sum()).sum()) + 1) // 2

# %% 5.10 | las que explican esa parte, y no las que dejan fuera esa parte
def smallest_width(scores, tolerance):
    e = torch.linalg.svdvals(scores) ** 2
    return int((e.cumsum(0) < tolerance**2 * e.sum()).sum()) + 1

# %% 5.10 | el rango con la tolerancia de PyTorch
def smallest_width(scores, tolerance):
    return int(torch.linalg.matrix_rank(scores, rtol=tolerance / 2))

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

# %% 5.11 | las primeras columnas
def compress_head(w_query, w_key, width):
    return w_query[:, :width], w_key[:, :width]

# %% 5.11 | comprime cada matriz por su lado
def compress_head(w_query, w_key, width):
    def small(w):
        u, s, _ = torch.linalg.svd(w, full_matrices=False)
        return u[:, :width] * s[:width]
    return small(w_query), small(w_key)

# %% 5.11 | las direcciones, sin sus valores singulares
def compress_head(w_query, w_key, width):
    u, s, v = torch.linalg.svd(w_query @ w_key.T, full_matrices=False)
    return u[:, :width], v[:width].T

# %% 5.11 | las direcciones de menos peso
def compress_head(w_query, w_key, width):
    u, s, v = torch.linalg.svd(w_query @ w_key.T, full_matrices=False)
    k = w_query.shape[1]
    root = s[k - width : k].sqrt()
    return u[:, k - width : k] * root, v[k - width : k].T * root

# %% 5.11 | los valores singulares enteros, en la consulta
def compress_head(w_query, w_key, width):
    u, s, v = torch.linalg.svd(w_query @ w_key.T, full_matrices=False)
    return u[:, :width] * s[:width], v[:width].T

# %% 5.11 | los valores singulares enteros, en las dos
def compress_head(w_query, w_key, width):
    u, s, v = torch.linalg.svd(w_query @ w_key.T, full_matrices=False)
    return u[:, :width] * s[:width], v[:width].T * s[:width]

# %% 5.11 | el circuito, al revés
def compress_head(w_query, w_key, width):
    u, s, v = torch.linalg.svd(w_key @ w_query.T, full_matrices=False)
    root = s[:width].sqrt()
    return u[:, :width] * root, v[:width].T * root

# %% 5.11 | una base de las consultas y otra de las claves, sin casar
def compress_head(w_query, w_key, width):
    u1, s1, _ = torch.linalg.svd(w_query, full_matrices=False)
    u2, s2, _ = torch.linalg.svd(w_key, full_matrices=False)
    root = (s1[:width] * s2[:width]).sqrt()
    return u1[:, :width] * root, u2[:, :width] * root

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

# %% 5.2 | cuenta el cociente con las puntuaciones y no con sus exponenciales
subject_by_hand = {"subject": 3, "other": -1, "back": 2, "times": 1.5}

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
