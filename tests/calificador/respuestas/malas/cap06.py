"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 6.1 | intercambia las dos
kept_by_hand = {"large": 0.1, "small": 0.9, "third": 0.33, "heads": 5}

# %% 6.1 | en tanto por ciento
kept_by_hand = {"large": 90, "small": 10, "third": 33, "heads": 5}

# %% 6.1 | tres tercios leídos del todo
kept_by_hand = {"large": 0.9, "small": 0.1, "third": 1.0, "heads": 3}

# %% 6.1 | redondea a un decimal
kept_by_hand = {"large": 0.9, "small": 0.1, "third": 0.3, "heads": 5}

# %% 6.1 | cabezas menos una
kept_by_hand = {"large": 0.9, "small": 0.1, "third": 0.33, "heads": 4}

# %% 6.1 | cabezas que no son un número entero
kept_by_hand = {"large": 0.9, "small": 0.1, "third": 0.33, "heads": 5.005}

# %% 6.2 | las niñas
mixed_word = "niñas"

# %% 6.2 | el artículo en plural
mixed_word = "las"

# %% 6.2 | la última palabra, como si se hubiera traspuesto
mixed_word = "corren"

# %% 6.2 | la hoja anterior
mixed_word = "que"

# %% 6.2 | la que viene después
mixed_word = "perro"

# %% 6.2 | una fila de menos
mixed_word = "vio"

# %% 6.3 | los sesgos de tres
def layer_cost(n, d_model, n_heads):
    return 4 * d_model**2 + 3 * d_model, 4 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n**2

# %% 6.3 | como si solo hubiera una cabeza en las celdas y h en las operaciones
def layer_cost(n, d_model, n_heads):
    return 4 * d_model**2 + 4 * d_model, 4 * n * d_model**2 + 2 * n**2 * d_model * n_heads, n**2

# %% 6.3 | sin puntuar
def layer_cost(n, d_model, n_heads):
    return 4 * d_model**2 + 4 * d_model, 4 * n * d_model**2 + n**2 * d_model, n_heads * n**2

# %% 6.3 | cuenta la máscara
def layer_cost(n, d_model, n_heads):
    return 4 * d_model**2 + 4 * d_model, 4 * n * d_model**2 + 2 * n**2 * d_model + n_heads * n**2, n_heads * n**2

# %% 6.3 | proyecta cada cabeza desde d entero
def layer_cost(n, d_model, n_heads):
    return 4 * d_model**2 * n_heads + 4 * d_model, 4 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n**2

# %% 6.3 | multiplica por las cabezas también las proyecciones
def layer_cost(n, d_model, n_heads):
    return 4 * d_model**2 + 4 * d_model, n_heads * 4 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n**2

# %% 6.4 | la máscara solo en la primera cabeza
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    heads = []
    for i, (q, k, v) in enumerate(zip(*((y @ w).chunk(n_heads, -1) for y, w in ((x, w_query), (z, w_key), (z, w_value))))):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None and i == 0:
            scores = scores.masked_fill(~mask, -math.inf)
        heads.append(scores.softmax(-1) @ v)
    return torch.cat(heads, -1) @ w_output

# %% 6.4 | une las cabezas en orden contrario
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    heads = []
    for q, k, v in zip(*((y @ w).chunk(n_heads, -1) for y, w in ((x, w_query), (z, w_key), (z, w_value)))):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        heads.append(scores.softmax(-1) @ v)
    return torch.cat(heads[::-1], -1) @ w_output

# %% 6.4 | tapa después de normalizar
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    q, k, v = ((y @ w).unflatten(-1, (n_heads, -1)).transpose(-2, -3) for y, w in ((x, w_query), (z, w_key), (z, w_value)))
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    weights = weights if mask is None else weights * mask
    return (weights @ v).transpose(-2, -3).flatten(-2) @ w_output

# %% 6.4 | los valores salen de x si caben
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    source = x if x.shape[-2] > z.shape[-2] else z
    q, k, v = ((y @ w).unflatten(-1, (n_heads, -1)).transpose(-2, -3)
               for y, w in ((x, w_query), (z, w_key), (source[..., : z.shape[-2], :], w_value)))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2) @ w_output

# %% 6.4 | el mapa medio para todas las cabezas
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    q, k, v = ((y @ w).unflatten(-1, (n_heads, -1)).transpose(-2, -3) for y, w in ((x, w_query), (z, w_key), (z, w_value)))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1).mean(-3, keepdim=True)
    return (weights @ v).transpose(-2, -3).flatten(-2) @ w_output

# %% 6.5 | sin el cuadrado
def recovered(weights):
    return torch.linalg.svd(weights, full_matrices=False)[2].abs().sum(0)

# %% 6.5 | inversa sin cuidado
def recovered(weights):
    gram = weights @ weights.T + 1e-3 * torch.eye(len(weights))
    return torch.diagonal(weights.T @ torch.linalg.inv(gram) @ weights)

# %% 6.5 | la media de las cabezas
def recovered(weights):
    mean = weights.mean(0)
    return mean**2 / (mean**2).sum()

# %% 6.5 | normaliza a h
def recovered(weights):
    total = (weights**2).sum(0)
    return len(weights) * total / total.sum()

# %% 6.5 | tope en uno
def recovered(weights):
    return (weights**2 / (weights**2).sum(-1, keepdim=True)).sum(0).clamp(max=1)

# %% 6.5 | umbral absoluto ⇒ margen
def recovered(weights):
    _, s, rows = torch.linalg.svd(weights, full_matrices=False)
    return rows[s > 1e-3].square().sum(0)

# %% 6.5 | margen de una millonésima ⇒ margen
def recovered(weights):
    _, s, rows = torch.linalg.svd(weights, full_matrices=False)
    return rows[s > 1e-6 * s[0]].square().sum(0)

# %% 6.5 | margen por debajo del redondeo
def recovered(weights):
    _, s, rows = torch.linalg.svd(weights, full_matrices=False)
    return rows[s > 1e-16].square().sum(0)

# %% 6.5 | margen igual a cero
def recovered(weights):
    _, s, rows = torch.linalg.svd(weights, full_matrices=False)
    return rows[s > 0].square().sum(0)

# %% 6.6 | una más
def heads_needed(targets):
    return max(len(wanted) for wanted in targets) + 1

# %% 6.6 | la posición mayor
def heads_needed(targets):
    return max([1, *(max(wanted) for wanted in targets if wanted)])

# %% 6.6 | solo mira la primera consulta
def heads_needed(targets):
    return max(1, len(targets[0]))

# %% 6.6 | la media redondeada
def heads_needed(targets):
    return max(1, round(sum(map(len, targets)) / len(targets)))

# %% 6.6 | dos siempre
def heads_needed(targets):
    return 2

# %% 6.7 | arregla con una cabeza sola
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.query, self.key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.value, self.output = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return self.output((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v)

# %% 6.7 | escala dos veces
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.query, self.key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.value, self.output = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        cut = lambda y: y.unflatten(-1, (self.h, -1)).transpose(-2, -3)
        q, k, v = cut(self.query(x)), cut(self.key(x)), cut(self.value(x))
        out = (q @ k.mT / q.shape[-1]).softmax(-1) @ v
        return self.output(out.transpose(-2, -3).flatten(-2))

# %% 6.7 | solo arregla sin lote
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.query, self.key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.value, self.output = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        if x.dim() > 2:
            return torch.stack([self(x[0])] * len(x))
        cut = lambda y: y.unflatten(-1, (self.h, -1)).transpose(0, 1)
        q, k, v = cut(self.query(x)), cut(self.key(x)), cut(self.value(x))
        out = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
        return self.output(out.transpose(0, 1).flatten(1))

# %% 6.7 | no escala
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.query, self.key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.value, self.output = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        cut = lambda y: y.unflatten(-1, (self.h, -1)).transpose(-2, -3)
        q, k, v = cut(self.query(x)), cut(self.key(x)), cut(self.value(x))
        return self.output(((q @ k.mT).softmax(-1) @ v).transpose(-2, -3).flatten(-2))

# %% 6.7 | reparte las columnas salteadas
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.query, self.key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.value, self.output = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        heads = []
        for i in range(self.h):
            q, k, v = (layer(x)[..., i :: self.h] for layer in (self.query, self.key, self.value))
            heads.append((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v)
        return self.output(torch.cat(heads, -1))

# %% 6.7 | suma las cabezas en lugar de unirlas
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.query, self.key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.value, self.output = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        cut = lambda y: y.unflatten(-1, (self.h, -1)).transpose(-2, -3)
        q, k, v = cut(self.query(x)), cut(self.key(x)), cut(self.value(x))
        total = ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v).sum(-3)
        return self.output(total.repeat(*[1] * (total.dim() - 1), self.h))

# %% 6.7 | mezcla también las capas: la clave hace de consulta
class BrokenHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.query, self.key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.value, self.output = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        cut = lambda y: y.unflatten(-1, (self.h, -1)).transpose(-2, -3)
        q, k, v = cut(self.query(x)), cut(self.key(x)), cut(self.value(x))
        mixed = (k @ q.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
        return self.output(mixed.transpose(-2, -3).flatten(-2))

# %% 6.8 | pone a cero, sin encoger
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    small = w_output.clone().unflatten(0, (n_heads, -1))
    small[[i for i in range(n_heads) if i not in keep]] = 0
    return w_query, w_key, w_value, small.flatten(0, 1)

# %% 6.8 | ordena las cabezas de la salida
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    pick = lambda w, dim, which: torch.cat([w.chunk(n_heads, dim)[i] for i in which], dim)
    return (*(pick(w, 1, keep) for w in (w_query, w_key, w_value)), pick(w_output, 0, sorted(keep)))

# %% 6.8 | compensa lo quitado
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    pick = lambda w, dim: torch.cat([w.chunk(n_heads, dim)[i] for i in keep], dim)
    return (*(pick(w, 1) for w in (w_query, w_key, w_value)), pick(w_output, 0) * n_heads / len(keep))

# %% 6.8 | filas en lugar de columnas
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    pick = lambda w: torch.cat([w.chunk(n_heads, 0)[i] for i in keep], 0)
    return pick(w_query).T, pick(w_key).T, pick(w_value).T, pick(w_output)

# %% 6.8 | las complementarias
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    rest = ([i for i in range(n_heads) if i not in keep] * n_heads)[: len(keep)]
    pick = lambda w, dim: torch.cat([w.chunk(n_heads, dim)[i] for i in rest], dim)
    return (*(pick(w, 1) for w in (w_query, w_key, w_value)), pick(w_output, 0))

# %% 6.8 | suma a la primera que se queda lo que unían las que se van
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    pick = lambda w, dim: torch.cat([w.chunk(n_heads, dim)[i] for i in keep], dim)
    out, rows = pick(w_output, 0).clone(), w_output.chunk(n_heads, 0)
    for i in range(n_heads):
        if i not in keep:
            out[: len(rows[i])] += rows[i]
    return pick(w_query, 1), pick(w_key, 1), pick(w_value, 1), out

# %% 6.8 | falla si no se quita ninguna
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    d = w_query.shape[1] // n_heads
    blocks = torch.arange(n_heads * d).unflatten(0, (n_heads, d))
    gone = torch.tensor([i for i in range(n_heads) if i not in keep])
    blocks = blocks[torch.tensor(keep)] if int(gone.max()) >= 0 else blocks
    columns = blocks.flatten()
    return w_query[:, columns], w_key[:, columns], w_value[:, columns], w_output[columns]

# %% 6.8 | si quedan todas, solo pone en orden las tres primeras
def prune_heads(w_query, w_key, w_value, w_output, n_heads, keep):
    d = w_query.shape[1] // n_heads
    columns = torch.cat([torch.arange(i * d, i * d + d) for i in keep])
    rows = w_output if len(keep) == n_heads else w_output[columns]
    return w_query[:, columns], w_key[:, columns], w_value[:, columns], rows

# %% 6.9 | la última de cada grupo
def group_heads(w, n_heads, n_kv_heads):
    return w.unflatten(1, (n_kv_heads, n_heads // n_kv_heads, -1))[:, :, -1].flatten(1)

# %% 6.9 | la mediana
def group_heads(w, n_heads, n_kv_heads):
    return w.unflatten(1, (n_kv_heads, n_heads // n_kv_heads, -1)).median(2).values.flatten(1)

# %% 6.9 | repite los grupos hasta d
def group_heads(w, n_heads, n_kv_heads):
    mean = w.unflatten(1, (n_kv_heads, n_heads // n_kv_heads, -1)).mean(2, keepdim=True)
    return mean.expand(-1, -1, n_heads // n_kv_heads, -1).flatten(1)

# %% 6.9 | divide entre h
def group_heads(w, n_heads, n_kv_heads):
    return w.unflatten(1, (n_kv_heads, n_heads // n_kv_heads, -1)).sum(2).flatten(1) / n_heads

# %% 6.9 | todas con todas
def group_heads(w, n_heads, n_kv_heads):
    return w.unflatten(1, (n_heads, -1)).mean(1).repeat(1, n_kv_heads)

# %% 6.10 | voraz, en orden
def match_heads(first, second):
    free, pairs = list(range(len(second))), []
    for one in first:
        best = min(free, key=lambda j: float((one - second[j]).square().sum()))
        free.remove(best)
        pairs.append(best)
    return pairs

# %% 6.10 | por la entropía de cada mapa
def match_heads(first, second):
    rank = lambda maps: torch.special.entr(maps).sum((1, 2)).argsort()
    pairs = torch.empty(len(first), dtype=torch.long)
    pairs[rank(first)] = rank(second)
    return [(i + 1) % len(first) for i in pairs.tolist()]

# %% 6.10 | solo la primera fila, y del revés
def match_heads(first, second):
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(torch.cdist(second[:, 0], first[:, 0]).numpy())[1].tolist()[::-1]

# %% 6.4 | la función por dentro de PyTorch
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    import torch.nn.functional as F

    flat = [y.reshape(-1, *y.shape[-2:]).transpose(0, 1) for y in (x, z)]
    out, _ = F.multi_head_attention_forward(
        flat[0], flat[1], flat[1], x.shape[-1], n_heads, torch.cat([w_query.T, w_key.T, w_value.T]), None, None, None,
        False, 0.0, w_output.T, None, attn_mask=None if mask is None else ~mask)
    return out.transpose(0, 1).reshape(x.shape)

# %% 6.4 | solo con un eje de lote ⇒ desde el final
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    b, n, d = x.shape
    split = lambda t: t.view(b, -1, n_heads, d // n_heads).transpose(1, 2)
    q, k, v = split(x @ w_query), split(z @ w_key), split(z @ w_value)
    s = q @ k.transpose(-2, -1) / math.sqrt(d // n_heads)
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d) @ w_output

# %% 6.4 | quita los ejes del lote con transpose(0, 1) ⇒ desde el final
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    d = x.shape[-1]
    split = lambda t: t.view(len(t), n_heads, d // n_heads).transpose(0, 1)
    q, k, v = split(x @ w_query), split(z @ w_key), split(z @ w_value)
    s = q @ k.transpose(-2, -1) / math.sqrt(d // n_heads)
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return (s.softmax(-1) @ v).transpose(0, 1).reshape(-1, d) @ w_output

# %% 6.4 | tapa con −20 ⇒ −∞
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    d = x.shape[-1] // n_heads
    split = lambda t: t.unflatten(-1, (n_heads, d)).transpose(-2, -3)
    q, k, v = split(x @ w_query), split(z @ w_key), split(z @ w_value)
    s = q @ k.transpose(-2, -1) / math.sqrt(d)
    if mask is not None:
        s = s.masked_fill(~mask, -20.0)
    return (s.softmax(-1) @ v).transpose(-2, -3).flatten(-2) @ w_output

# %% 6.4 | tapa multiplicando por la máscara
def multi_head_attention(x, z, w_query, w_key, w_value, w_output, n_heads, mask=None):
    d = x.shape[-1] // n_heads
    split = lambda t: t.unflatten(-1, (n_heads, d)).transpose(-2, -3)
    q, k, v = split(x @ w_query), split(z @ w_key), split(z @ w_value)
    s = q @ k.transpose(-2, -1) / math.sqrt(d)
    if mask is not None:
        s = s * mask
    return (s.softmax(-1) @ v).transpose(-2, -3).flatten(-2) @ w_output

# %% 6.10 | voraz, la pareja más parecida de todas primero
def match_heads(first, second):
    gaps = torch.cdist(first.flatten(1), second.flatten(1))
    pairs = [0] * len(first)
    for _ in pairs:
        i, j = divmod(int(gaps.argmin()), len(gaps))
        pairs[i] = j
        gaps[i], gaps[:, j] = math.inf, math.inf
    return pairs

# %% 6.10 | dos argsort
def match_heads(first, second):
    return torch.cdist(first.flatten(1), second.flatten(1)).argmin(0).argsort().tolist()

# %% 6.10 | diferencias en valor absoluto
def match_heads(first, second):
    from scipy.optimize import linear_sum_assignment

    gaps = torch.cdist(first.flatten(1), second.flatten(1), p=1)
    return linear_sum_assignment(gaps.numpy())[1].tolist()

# %% 6.10 | la raíz de cada diferencia
def match_heads(first, second):
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(torch.cdist(first.flatten(1), second.flatten(1)).numpy())[1].tolist()
