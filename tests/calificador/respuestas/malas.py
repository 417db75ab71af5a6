"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 3.6 | tapa por longitud, como si lo no válido estuviera siempre al final
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = torch.tanh((query @ w_q)[:, None] + keys @ w_k) @ v
    ok = torch.arange(s.shape[1]) < valid.sum(-1, keepdim=True)
    return (s.masked_fill(~ok, -math.inf).softmax(-1)[:, None] @ keys)[:, 0]

# %% 3.6 | quita las claves nulas en lugar de las no válidas
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = torch.tanh((query @ w_q)[:, None] + keys @ w_k) @ v
    return (s.masked_fill((keys == 0).all(-1), -math.inf).softmax(-1)[:, None] @ keys)[:, 0]

# %% 3.6 | sin gradiente para la máscara ni las claves
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = (torch.tanh((query @ w_q)[:, None] + keys @ w_k) @ v).masked_fill(~valid, -math.inf)
    return (s.softmax(-1)[:, None] @ keys.detach())[:, 0]

# %% 3.3 | parte por filas en lugar de por puertas
def lstm_step(x, h, c, w_x, w_h, b):
    a = (x @ w_x + h @ w_h + b).reshape(len(x), -1, 4)
    i, f, g, o = a.unbind(-1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c

# %% 3.3 | el orden de puertas de otra biblioteca (i, g, f, o)
def lstm_step(x, h, c, w_x, w_h, b):
    i, g, f, o = (x @ w_x + h @ w_h + b).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c

# %% 3.3 | ata el olvido a la entrada
def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, -1)
    c = (1 - i.sigmoid()) * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c

# %% 3.3 | la memoria, sin gradiente
def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, -1)
    c = f.sigmoid() * c.detach() + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c

# %% 3.3 | solo el estado
def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, -1)
    return o.sigmoid() * (f.sigmoid() * c + i.sigmoid() * g.tanh()).tanh()

# %% 3.4 | reparte por igual
weights_by_hand = {"la": 0.333, "casa": 0.333, "context": 0.667}

# %% 3.4 | con un cero de más en la diferencia
weights_by_hand = {"la": 0.308, "casa": 0.346, "context": 0.654}

# %% 3.4 | los de la consulta (1, 0)
weights_by_hand = {"la": 0.041, "casa": 0.866, "context": 0.907}

# %% 3.4 | cambia «la» por «casa»
weights_by_hand = {"la": 0.409, "casa": 0.182, "context": 0.591}

# %% 3.4 | redondea a un decimal
weights_by_hand = {"la": 0.2, "casa": 0.4, "context": 0.6}

# %% 3.5 | mezcla las frases del lote
def decoder_step(x, h, states, weights, cell):
    w_x, w_c, w_h, b = cell
    c = (weights[:1, :, None] * states).sum(1)
    return torch.tanh(x @ w_x + c @ w_c + h @ w_h + b)

# %% 3.5 | vuelve a normalizar los pesos
def decoder_step(x, h, states, weights, cell):
    w_x, w_c, w_h, b = cell
    c = (weights.softmax(-1)[:, :, None] * states).sum(1)
    return torch.tanh(x @ w_x + c @ w_c + h @ w_h + b)

# %% 3.7 | usa la longitud media del lote
def mean_state(states, lengths):
    word = torch.arange(states.shape[1]) < lengths[:, None]
    return (states * word[:, :, None]).sum(1) / lengths.double().mean()

# %% 3.7 | deduce el relleno de los ceros
def mean_state(states, lengths):
    word = (states != 0).any(-1, keepdim=True)
    return (states * word).sum(1) / word.sum(1)

# %% 3.2 | menor o igual
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    p = [fidelity ** (n * (n - 1) / 2) for n in lengths]
    return [i for i in sorted(range(len(p)), key=lambda i: p[i]) if p[i] <= threshold]

# %% 3.2 | ignora los argumentos y usa los números del enunciado
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    p = [0.99 ** (n * (n - 1) / 2) for n in lengths]
    return [i for i in sorted(range(len(p)), key=lambda i: p[i]) if p[i] < 0.5]

# %% 3.2 | ignora el umbral
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    p = [fidelity ** (n * (n - 1) / 2) for n in lengths]
    return [i for i in sorted(range(len(p)), key=lambda i: p[i]) if p[i] < 0.5]

# %% 3.2 | la longitud límite, escrita a mano
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    return [i for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]) if lengths[i] >= 13]

# %% 3.8 | no mira la última pareja
def inverted_pairs(weights, valid):
    b = weights.masked_fill(~valid, -1.0).argmax(-1).tolist()
    return [t for t in range(len(b) - 2) if b[t] == b[t + 1] + 1]

# %% 3.8 | la máscara, como un sufijo que empieza en la primera columna no válida
def inverted_pairs(weights, valid):
    n = int(valid.long().cumprod(0).sum())
    b = weights[:, :n].argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | la máscara, como un sufijo tan largo como columnas no válidas hay
def inverted_pairs(weights, valid):
    b = weights[:, : int(valid.sum())].argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | quita las columnas no válidas y renumera
def inverted_pairs(weights, valid):
    b = weights[:, valid].argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | no mira la primera pareja
def inverted_pairs(weights, valid):
    b = weights.masked_fill(~valid, -1.0).argmax(-1).tolist()
    return [t for t in range(1, len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | salta las filas que miran a una columna no válida
def inverted_pairs(weights, valid):
    b = weights.argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if valid[b[t]] and valid[b[t + 1]] and b[t] == b[t + 1] + 1]

# %% 3.9 | corta a ocho pasos
def gradient_norms(inputs, w_x, w_h, direction):
    inputs = inputs.clone().requires_grad_()
    h = torch.zeros(len(w_h))
    for i, x in enumerate(inputs):
        h = torch.tanh(x @ w_x + (h.detach() if i == len(inputs) - 8 else h) @ w_h)
    return torch.autograd.grad(h @ direction, inputs)[0].norm(dim=-1).flip(0)

# %% 3.9 | el mayor componente en lugar de la norma
def gradient_norms(inputs, w_x, w_h, direction):
    inputs = inputs.clone().requires_grad_()
    h = torch.zeros(len(w_h))
    for x in inputs:
        h = torch.tanh(x @ w_x + h @ w_h)
    return torch.autograd.grad(h @ direction, inputs)[0].abs().amax(-1).flip(0)

# %% 4.4 | solo difunde ejes de igual número
def attention_shapes(q, k, v):
    b = [max(x) for x in zip(q[:-2], k[:-2])]
    return [[*b, q[-2], k[-2]], [*b, q[-2], k[-2]], [*b, q[-2], v[-1]]]

# %% 4.1 | la nula compite con el valor absoluto
def softmax_with_null(scores, null_score):
    e = torch.cat([scores, torch.full_like(scores[..., :1], abs(null_score))], -1)
    return e.softmax(-1)[..., :-1]

# %% 4.1 | acota las puntuaciones para que no desborden
def softmax_with_null(scores, null_score):
    e = scores.clamp(-50, 50).exp()
    return e / (e.sum(-1, keepdim=True) + math.exp(null_score))

# %% 4.3 | otra palabra para lo mismo no es una de las opciones
shift_effect = "no cambia"

# %% 4.3 | contesta por la columna, que tampoco cambia
shift_effect = "todas"

# %% 4.2 | la suma de las exponenciales sin las tres que valen 1
attention_by_hand = {"score": 2.828, "weight": 0.804, "output": 1.196}

# %% 4.2 | la puntuación sin escalar y lo demás bien
attention_by_hand = {"score": 4.0, "weight": 0.704, "output": 1.063}

# %% 4.5 | la escala, después de la softmax
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.mT
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    w = s.softmax(-1) / math.sqrt(query.shape[-1])
    return w @ value, w

# %% 4.5 | tapa con −1e3, que con puntuaciones de miles no es nada
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -1e3)
    w = s.softmax(-1)
    return w @ value, w

# %% 4.5 | la raíz de la dimensión de los valores
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(value.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    w = s.softmax(-1)
    return w @ value, w

# %% 4.5 | los pesos que devuelve son los de antes de tapar
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(query.shape[-1])
    w = s.softmax(-1)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    return s.softmax(-1) @ value, w

# %% 4.5 | traspone todos los ejes de las claves
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.permute(*range(key.ndim - 1, -1, -1)) / math.sqrt(query.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    w = s.softmax(-1)
    return w @ value, w

# %% 4.2 | normaliza con el máximo y no con la suma
attention_by_hand = {"score": 2.828, "weight": 0.171, "output": 1.063}

# %% 4.2 | olvida dos de las tres palabras con puntuación 0
attention_by_hand = {"score": 2.828, "weight": 0.768, "output": 1.159}

# %% 4.2 | promedia los valores sin pesos
attention_by_hand = {"score": 2.828, "weight": 0.704, "output": 0.68}

# %% 4.6 | la primera temperatura de cada fila del lote
def attention_with_temperature(query, key, value, temperature):
    return (query @ key.mT / temperature[:, :1, None]).softmax(-1) @ value

# %% 4.7 | tapa con −1e4 y multiplica después por la máscara
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -(query[:, None] - key[None]).square().sum(-1) / (2 * bandwidth**2)
    return (s.masked_fill(~mask, -1e4).softmax(-1) * mask) @ value

# %% 4.7 | tapa con −1e9 y multiplica después por la máscara
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -(query[:, None] - key[None]).square().sum(-1) / (2 * bandwidth**2)
    return (s.masked_fill(~mask, -1e9).softmax(-1) * mask) @ value

# %% 4.7 | el ancho pequeño se acota
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -(query[:, None] - key[None]).square().sum(-1) / (2 * max(bandwidth, 0.05) ** 2)
    return s.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0) @ value

# %% 4.8 | arregla solo las matrices cuadradas
def column_attention(query, key, value):
    w = (key.T @ query / math.sqrt(key.shape[0])).softmax(0)
    return value @ (w if w.shape[0] != w.shape[1] else w.T)

# %% 4.9 | resta las medias y contesta a otra pregunta
def score_scale(queries, keys):
    a, b = queries - queries.mean(0), keys - keys.mean(0)
    return math.sqrt(float(((a.T @ a / len(a)) * (b.T @ b / len(b))).sum()))

# %% 4.9 | la matriz entera de productos
def score_scale(queries, keys):
    return float((queries @ keys.T).std(correction=0))

# %% 4.9 | empareja la primera consulta con la primera clave
def score_scale(queries, keys):
    n = min(len(queries), len(keys))
    return float((queries[:n] * keys[:n]).sum(-1).std(correction=0))

# %% 4.9 | una muestra de mil parejas
def score_scale(queries, keys):
    return float((queries[:1000] @ keys[:1000].T).std(correction=0))

# %% 4.10 | construye la matriz
def softmax_jvp(scores, tangent, beta):
    p = (beta * scores).softmax(-1)
    j = beta * (torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2))
    return torch.einsum("...ij,...j->...i", j, tangent)

# %% 4.10 | deriva con autograd
def softmax_jvp(scores, tangent, beta):
    return torch.func.jvp(lambda s: (beta * s).softmax(-1), (scores,), (tangent,))[1]

# %% 4.10 | diferencias finitas gruesas
def softmax_jvp(scores, tangent, beta):
    h = 1e-3
    return ((beta * (scores + h * tangent)).softmax(-1) - (beta * (scores - h * tangent)).softmax(-1)) / (2 * h)

# %% 4.12 | cuarenta pasos lineales
def beta_for_entropy(scores, entropy):
    low, high = torch.zeros_like(entropy), torch.full_like(entropy, 1e4)
    for _ in range(40):
        mid = (low + high) / 2
        up = torch.special.entr((mid[:, None] * scores).softmax(-1)).sum(-1) > entropy
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return (low + high) / 2

# %% 4.12 | se para con un error absoluto de 1e-7
def beta_for_entropy(scores, entropy):
    low, high = torch.zeros_like(entropy), torch.full_like(entropy, 1e4)
    while float((high - low).max()) > 1e-7:
        mid = (low + high) / 2
        up = torch.special.entr((mid[:, None] * scores).softmax(-1)).sum(-1) > entropy
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return (low + high) / 2

# %% 4.12 | Newton sin guardas desde β = 1
def beta_for_entropy(scores, entropy):
    b = torch.ones_like(entropy)
    for _ in range(50):
        p = (b[:, None] * scores).softmax(-1)
        mean = (p * scores).sum(-1)
        slope = -b * ((p * scores.square()).sum(-1) - mean.square())
        b = b - (torch.special.entr(p).sum(-1) - entropy) / slope
    return b

# %% 4.13 | recalcula con el último bloque nada más
def absorb_block(state, query, key, value):
    s = query @ key.T / math.sqrt(query.shape[-1])
    top = s.amax(-1, keepdim=True)
    e = (s - top).exp()
    return top, e.sum(-1, keepdim=True), e @ value

# %% 4.13 | sin restar el máximo
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = query @ key.T / math.sqrt(query.shape[-1])
    e = s.exp()
    return torch.maximum(top, s.amax(-1, keepdim=True)), total + e.sum(-1, keepdim=True), weighted + e @ value

# %% 4.13 | un solo máximo para todas las consultas
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = query @ key.T / math.sqrt(query.shape[-1])
    new = torch.maximum(top, s.amax(-1, keepdim=True)).amax().expand_as(top)
    e = (s - new).exp()
    c = (top - new).exp()
    return new, total * c + e.sum(-1, keepdim=True), weighted * c + e @ value

# %% 4.11 | ignora keep y power
def top_attention(query, key, value, keep=3, power=0.5):
    s = query @ key.T / query.shape[-1] ** 0.5
    kept = torch.zeros_like(s, dtype=torch.bool).scatter(-1, s.topk(3, -1).indices, True)
    return s.masked_fill(~kept, -math.inf).softmax(-1) @ value

# %% 4.11 | las mismas claves para todas las consultas
def top_attention(query, key, value, keep=3, power=0.5):
    s = query @ key.T / query.shape[-1] ** power
    return s[:, s.sum(0).topk(keep).indices].softmax(-1) @ value[s.sum(0).topk(keep).indices]

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
