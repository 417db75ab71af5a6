"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 23.1 | sin pasar a millones
costs_by_hand = {"attention": 8192e6, "project": 4194e6, "even": 1024, "table": 64e6, "longer": 1.6e9, "tile": 160_000}

# %% 23.1 | todo, de una cabeza ⇒ «attention»: son las operaciones de una sola cabeza
costs_by_hand = {"attention": 1024, "project": 524.288, "even": 128, "table": 8, "longer": 200, "tile": 0.02}

# %% 23.1 | en MiB
costs_by_hand = {"attention": 8192, "project": 4194.304, "even": 1024, "table": 61.04, "longer": 1525.9, "tile": 0.153}

# %% 23.1 | solo la mitad causal
costs_by_hand = {"attention": 4096, "project": 4194.304, "even": 2048, "table": 32, "longer": 800, "tile": 0.16}

# %% 23.1 | los trozos que hacen falta, y no lo que hay a la vez ⇒ tile
costs_by_hand = {"attention": 8192, "project": 4194.304, "even": 1024, "table": 64, "longer": 1600, "tile": 400}

# %% 23.1 | con 32 bits ⇒ Un número de 16 bits son 2 bytes, no 4
costs_by_hand = {"attention": 8192, "project": 4194.304, "even": 1024, "table": 128, "longer": 3200, "tile": 0.32}

# %% 23.2 | suma las tres cosas
def join_blocks(first, second):
    return tuple(a + b for a, b in zip(first, second))

# %% 23.2 | pesa con los máximos
def join_blocks(first, second):
    (m, a, o), (n, b, p) = first, second
    w = torch.cat([m, n], 1).softmax(1).nan_to_num()
    top = torch.maximum(m, n)
    base = top.masked_fill(top.isinf(), 0)
    return top, a * (m - base).exp() + b * (n - base).exp(), w[:, :1] * o + w[:, 1:] * p

# %% 23.2 | rellena los vacíos con un máximo de 0
def join_blocks(first, second):
    (m, a, o), (n, b, p) = (tuple(x.masked_fill(x.isinf(), 0.0) for x in y) for y in (first, second))
    top = torch.maximum(m, n)
    a, b = a * (m - top).exp(), b * (n - top).exp()
    return top, a + b, (a * o + b * p) / (a + b).clamp(min=1e-30)

# %% 23.2 | un épsilon en la división
def join_blocks(first, second):
    (m, a, o), (n, b, p) = first, second
    top = torch.maximum(m, n).clamp(min=-1e30)
    a, b = a * (m - top).exp(), b * (n - top).exp()
    return torch.maximum(m, n), a + b, (a * o + b * p) / (a + b + 1e-6)

# %% 23.2 | un solo máximo para todas las consultas
def join_blocks(first, second):
    (m, a, o), (n, b, p) = first, second
    top = torch.maximum(m, n).max()
    a, b = a * (m - top).exp(), b * (n - top).exp()
    return top.expand_as(m), a + b, ((a * o + b * p) / (a + b)).nan_to_num(0.0)

# %% 23.2 | no divide ⇒ Sale la suma de valores
def join_blocks(first, second):
    (m, a, o), (n, b, p) = first, second
    top = torch.maximum(m, n)
    base = top.clamp(min=-1e300)
    a, b = a * (m - base).exp(), b * (n - base).exp()
    return top, a + b, a * o + b * p

# %% 23.2 | olvida las dos sumas ⇒ Falta ℓ
def join_blocks(first, second):
    (m, _, o), (n, _, p) = first, second
    top = torch.maximum(m, n)
    base = torch.where(top.isinf(), torch.zeros_like(top), top)
    a, b = (m - base).exp(), (n - base).exp()
    return top, a + b, (a * o + b * p) / torch.where(a + b > 0, a + b, torch.ones_like(a))

# %% 23.2 | las sumas tal cual, y la media bien ⇒ las dos sumas van respecto a máximos distintos
def join_blocks(first, second):
    (m, a, o), (n, b, p) = first, second
    shares = torch.cat([m + a.log(), n + b.log()], 1).softmax(1).nan_to_num()
    return torch.maximum(m, n), a + b, shares[:, :1] * o + shares[:, 1:] * p

# %% 23.3 | ninguna
same_answer = "ninguna"

# %% 23.3 | solo los trozos ⇒ claves iguales tienen rasgos iguales
same_answer = "solo los trozos"

# %% 23.3 | las tres ⇒ promedia otros valores
same_answer = "las tres"

# %% 23.3 | otra opción
same_answer = "la lineal y la ventana"

# %% 23.3 | un número
same_answer = 2

# %% 23.4 | la atención de siempre, y lo visto entero
def tiled_attention(query, key, value, mask, *, block):
    s = (query @ key.T / math.sqrt(query.shape[1])).masked_fill(~mask, -math.inf)
    pieces = -(-len(key) // block)
    return s.softmax(1).nan_to_num(0.0) @ value, s.logsumexp(1).expand(pieces, -1)

# %% 23.4 | también trocea las consultas: cada trozo, con el suyo
def tiled_attention(query, key, value, mask, *, block):
    s = (query @ key.T / math.sqrt(query.shape[1])).masked_fill(~mask, -math.inf)
    same = torch.arange(len(query))[:, None] // block == torch.arange(len(key)) // block
    marks = [s[:, : i + block].logsumexp(1) for i in range(0, len(key), block)]
    return s.masked_fill(~same, -math.inf).softmax(1).nan_to_num(0.0) @ value, torch.stack(marks)

# %% 23.4 | en 32 bits
def tiled_attention(query, key, value, mask, *, block):
    s = (query.float() @ key.float().T / math.sqrt(query.shape[1])).masked_fill(~mask, -math.inf)
    marks = [s[:, : i + block].logsumexp(1) for i in range(0, len(key), block)]
    return (s.softmax(1).nan_to_num(0.0) @ value.float()).double(), torch.stack(marks).double()

# %% 23.4 | la fila que no mira a nadie, con la media
def tiled_attention(query, key, value, mask, *, block):
    s = (query @ key.T / math.sqrt(query.shape[1])).masked_fill(~mask, -math.inf)
    marks = [s[:, : i + block].logsumexp(1) for i in range(0, len(key), block)]
    return s.softmax(1).nan_to_num(1 / len(key)) @ value, torch.stack(marks)

# %% 23.4 | empieza en 0 y no en menos infinito
def tiled_attention(query, key, value, mask, *, block):
    top, total, mixed, marks = torch.zeros(len(query), 1), 0.0, 0.0, []
    for i in range(0, len(key), block):
        s = query @ key[i : i + block].T / math.sqrt(query.shape[1])
        s = s.masked_fill(~mask[:, i : i + block], -math.inf)
        new = torch.maximum(top, s.amax(1, keepdim=True))
        w, old = (s - new).exp(), (top - new).exp()
        total, mixed, top = total * old + w.sum(1, keepdim=True), mixed * old + w @ value[i : i + block], new
        marks.append((total.log() + top)[:, 0])
    return mixed / (total + 1e-6), torch.stack(marks)

# %% 23.4 | no acumula lo visto ⇒ es lo del trozo solo
def tiled_attention(query, key, value, mask, *, block):
    s = (query @ key.T / math.sqrt(query.shape[1])).masked_fill(~mask, -math.inf)
    return s.softmax(1).nan_to_num(0.0) @ value, torch.stack([x.logsumexp(1) for x in s.split(block, 1)])

# %% 23.5 | la tabla entera ⇒ El resultado es bueno, pero la tabla de todas con todas no cabe
def linear_attention(query, key, value, state=None):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    S, z = state or (torch.zeros(k.shape[1], value.shape[1]), torch.zeros(k.shape[1]))
    table = torch.tril(q @ k.T)
    out = (table @ value + q @ S) / (table.sum(1) + q @ z)[:, None]
    return out, (S + k.T @ value, z + k.sum(0))

# %% 23.5 | olvida lo causal y forma la tabla ⇒ Cada fila mira también a las de después
def linear_attention(query, key, value, state=None):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    S, z = state or (0 * k.T @ value, 0 * k[0])
    w = torch.einsum("id,jd->ij", q, k)
    return (q @ S + w @ value) / (q @ z + w.sum(1)).unsqueeze(1), (S + k.T @ value, z + k.sum(0))

# %% 23.5 | olvida lo causal, sin tabla ⇒ Cada fila suma hasta ella; aquí lo suma todo
def linear_attention(query, key, value, state=None):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    S, z = k.T @ value, k.sum(0)
    if state is not None:
        S, z = S + state[0], z + state[1]
    return q @ S / (q @ z)[:, None], (S, z)

# %% 23.5 | suma después de mirar ⇒ La primera fila no se ve a sí misma
def linear_attention(query, key, value, state=None):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    pairs, zero = k[:, :, None] * value[:, None], 0
    S, z = state or (zero, zero)
    S, z = pairs.cumsum(0) + S, k.cumsum(0) + z
    before = S - pairs, z - k
    return torch.einsum("nf,nfv->nv", q, before[0]) / (q * before[1]).sum(1, keepdim=True), (S[-1], z[-1])

# %% 23.5 | mira hacia delante y no hacia atrás
def linear_attention(query, key, value, state=None):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    S, z = (k[:, :, None] * value[:, None]).flip(0).cumsum(0).flip(0), k.flip(0).cumsum(0).flip(0)
    if state is not None:
        S, z = S + state[0], z + state[1]
    return torch.einsum("nf,nfv->nv", q, S) / (q * z).sum(1, keepdim=True), (S[0], z[0])

# %% 23.5 | softmax de los rasgos
def linear_attention(query, key, value, state=None):
    q, k = query.softmax(1), key.softmax(1)
    S, z = state or (0, 0)
    S, z = S + (k[:, :, None] * value[:, None]).cumsum(0), z + k.cumsum(0)
    return torch.einsum("nf,nfv->nv", q, S) / (q * z).sum(1, keepdim=True), (S[-1], z[-1])

# %% 23.5 | olvida la mitad en cada paso
def linear_attention(query, key, value, state=None):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    S, z = state or (0, 0)
    out = []
    for i in range(min(len(q), 50)):
        S, z = S / 2 + torch.outer(k[i], value[i]), z / 2 + k[i]
        out.append(q[i] @ S / (q[i] @ z))
    return torch.stack(out), (S, z)

# %% 23.5 | un épsilon que no se pide
def linear_attention(query, key, value, state=None):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    S, z = state or (0, 0)
    S, z = S + (k[:, :, None] * value[:, None]).cumsum(0), z + k.cumsum(0)
    return torch.einsum("nf,nfv->nv", q, S) / ((q * z).sum(1, keepdim=True) + 1e-6), (S[-1], z[-1])

# %% 23.5 | lo leído, solo en la primera fila
def linear_attention(query, key, value, state=None):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    S, z = (k[:, :, None] * value[:, None]).cumsum(0), k.cumsum(0)
    last = S[-1].clone(), z[-1].clone()
    if state is not None:
        S[0], z[0], last = S[0] + state[0], z[0] + state[1], (last[0] + state[0], last[1] + state[1])
    return torch.einsum("nf,nfv->nv", q, S) / (q * z).sum(1, keepdim=True), last

# %% 23.5 | no usa lo leído ⇒ El estado que llega no se usa
def linear_attention(query, key, value, state=None):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    S, z = (k[:, :, None] * value[:, None]).cumsum(0), k.cumsum(0)
    return torch.einsum("nf,nfv->nv", q, S) / (q * z).sum(1, keepdim=True), (S[-1], z[-1])

# %% 23.6 | da la vuelta
def sparse_mask(n, window, global_at, *, dilation=1, causal=False):
    gap = (torch.arange(n)[:, None] - torch.arange(n)) % n
    out = torch.isin(gap, torch.arange(-window, window + 1) * dilation % n)
    for g in global_at:
        out[g] = out[:, g] = True
    return out.tril() if causal else out

# %% 23.6 | ventanas fijas, sin solape
def sparse_mask(n, window, global_at, *, dilation=1, causal=False):
    part = torch.arange(n) // (window + 1)
    out = part[:, None] == part
    for g in global_at:
        out[g] = out[:, g] = True
    return out.tril() if causal else out

# %% 23.6 | la máscara al revés, con lo que se tapa
def sparse_mask(n, window, global_at, *, dilation=1, causal=False):
    gap = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    out = (gap <= window * dilation) & (gap % dilation == 0)
    for g in global_at:
        out[g] = out[:, g] = True
    return ~(out.tril() if causal else out)

# %% 23.6 | el hueco es lo que se salta
def sparse_mask(n, window, global_at, *, dilation=1, causal=False):
    gap = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    out = (gap <= window * dilation) & (gap % (dilation + 1) == 0) if dilation > 1 else gap <= window
    for g in global_at:
        out[g] = out[:, g] = True
    return out.tril() if causal else out

# %% 23.6 | las globales también con huecos
def sparse_mask(n, window, global_at, *, dilation=1, causal=False):
    gap = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    out = gap <= window * dilation
    for g in global_at:
        out[g] = out[:, g] = True
    out &= gap % dilation == 0
    return out.tril() if causal else out

# %% 23.6 | las globales no miran a todas ⇒ ellas también miran a todas
def sparse_mask(n, window, global_at, *, dilation=1, causal=False):
    gap = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    out = (gap <= window * dilation) & (gap % dilation == 0)
    out[:, global_at] = True
    return out.tril() if causal else out

# %% 23.7 | olvida el valor absoluto ⇒ El mayor se busca sin mirar el signo
def quantize_groups(weight, group, *, bits=8):
    g = weight.reshape(len(weight), -1, group)
    s = g.max(-1).values / (2 ** (bits - 1) - 1)
    s[s == 0] = 1.0
    q = torch.round(g / s.unsqueeze(-1))
    return q.long().reshape(weight.shape), s, (q * s.unsqueeze(-1)).reshape(weight.shape)

# %% 23.7 | una escala por columna
def quantize_groups(weight, group, *, bits=8):
    s = weight.abs().amax(0) / (2 ** (bits - 1) - 1)
    q = (weight / s.masked_fill(s == 0, 1)).round()
    return q.int(), s.reshape(1, -1, group).amax(-1).expand(len(weight), -1), q * s

# %% 23.7 | con punto cero
def quantize_groups(weight, group, *, bits=8):
    g = weight.unflatten(1, (-1, group))
    low, high = g.amin(-1, keepdim=True), g.amax(-1, keepdim=True)
    s = (high - low).clamp(min=1e-12) / (2**bits - 1)
    q = ((g - low) / s).round() - 2 ** (bits - 1)
    return q.flatten(1).int(), s[..., 0], ((q + 2 ** (bits - 1)) * s + low).flatten(1)

# %% 23.7 | el redondeo, con pasos potencia de dos
def quantize_groups(weight, group, *, bits=8):
    g = weight.unflatten(1, (-1, group))
    big = g.abs().amax(-1) / (2 ** (bits - 1) - 1)
    s = torch.where(big > 0, 2.0 ** big.clamp(min=1e-300).log2().ceil(), 1.0)
    q = (g / s[..., None]).round()
    return q.flatten(1).int(), s, (q * s[..., None]).flatten(1)

# %% 23.7 | la escala, de la desviación típica
def quantize_groups(weight, group, *, bits=8):
    g = weight.unflatten(1, (-1, group))
    n = 2 ** (bits - 1) - 1
    s = 3 * g.std(-1).clamp(min=1e-12) / n
    q = (g / s[..., None]).round().clamp(-n, n)
    return q.flatten(1).int(), s, (q * s[..., None]).flatten(1)

# %% 23.7 | los enteros con decimales ⇒ hay decimales donde se piden enteros
def quantize_groups(weight, group, *, bits=8):
    g = weight.unflatten(1, (-1, group))
    s = g.abs().amax(-1) / (2 ** (bits - 1) - 1)
    s = s.masked_fill(s == 0, 1.0)
    q = g / s[..., None]
    return q.flatten(1), s, weight

# %% 23.7 | reparte entre todos los niveles
def quantize_groups(weight, group, *, bits=8):
    g = weight.unflatten(1, (-1, group))
    s = 2 * g.abs().amax(-1) / (2**bits - 1)
    s = s.masked_fill(s == 0, 1.0)
    n = 2 ** (bits - 1) - 1
    q = (g / s[..., None]).round().clamp(-n, n)
    return q.flatten(1).int(), s, (q * s[..., None]).flatten(1)

# %% 23.7 | una escala para cada fila ⇒ hay una para toda la fila
def quantize_groups(weight, group, *, bits=8):
    s = weight.abs().amax(1, keepdim=True) / (2 ** (bits - 1) - 1)
    s = s.masked_fill(s == 0, 1.0)
    q = (weight / s).round()
    return q.int(), s.expand(-1, weight.shape[1] // group), q * s

# %% 23.8 | pesa con la puntuación
def expert_layer(x, logits, experts, *, top_k, capacity):
    p = logits.softmax(1)
    w, c = p.topk(top_k)
    order = w[:, 0].argsort(descending=True)
    hot = nn.functional.one_hot(c[order].T.flatten(), len(experts))
    kept = torch.empty(len(x), top_k, dtype=torch.bool)
    kept[order] = ((hot.cumsum(0) * hot).sum(1) <= capacity).reshape(top_k, -1).T
    out = torch.einsum("tk,td,tkde->te", logits.topk(top_k)[0] * kept, x, experts[c])
    return out, kept, len(experts) * (hot.double().mean(0) * p.mean(0)).sum()

# %% 23.8 | todos los expertos responden
def expert_layer(x, logits, experts, *, top_k, capacity):
    p = logits.softmax(1)
    c = p.topk(top_k)[1]
    hot = nn.functional.one_hot(c.flatten(), len(experts)).double()
    kept = torch.ones(len(x), top_k, dtype=torch.bool)
    return torch.einsum("te,td,edf->tf", p, x, experts), kept, len(experts) * (hot.mean(0) * p.mean(0)).sum()

# %% 23.8 | quien no cabe va a su siguiente
def expert_layer(x, logits, experts, *, top_k, capacity):
    p = logits.softmax(1)
    room, kept = [capacity] * len(experts), torch.zeros(len(x), top_k, dtype=torch.bool)
    gate = torch.zeros_like(p)
    c = p.argsort(1, descending=True)
    for t in p.amax(1).argsort(descending=True).tolist():
        free = [e for e in c[t].tolist() if room[e] > 0][:top_k]
        for i, e in enumerate(free):
            room[e] -= 1
            kept[t, i] = gate[t, e] = True
    load = nn.functional.one_hot(c[:, :top_k].flatten(), len(experts)).double().mean(0)
    return torch.einsum("te,td,edf->tf", gate * p, x, experts), kept, len(experts) * (load * p.mean(0)).sum()

# %% 23.8 | sin sitio en la primera, tampoco en las demás
def expert_layer(x, logits, experts, *, top_k, capacity):
    p = logits.softmax(1)
    w, c = p.topk(top_k)
    order = w[:, 0].argsort(descending=True)
    hot = nn.functional.one_hot(c[order].T.flatten(), len(experts))
    kept = torch.empty(len(x), top_k, dtype=torch.bool)
    kept[order] = ((hot.cumsum(0) * hot).sum(1) <= capacity).reshape(top_k, -1).T
    kept = kept.cumprod(1).bool()
    out = torch.einsum("tk,td,tkde->te", w * kept, x, experts[c])
    return out, kept, len(experts) * (hot.double().mean(0) * p.mean(0)).sum()

# %% 23.8 | el equilibrio, con la entropía
def expert_layer(x, logits, experts, *, top_k, capacity):
    p = logits.softmax(1)
    w, c = p.topk(top_k)
    hot = nn.functional.one_hot(c[w[:, 0].argsort(descending=True)].T.flatten(), len(experts))
    kept = torch.empty(len(x), top_k, dtype=torch.bool)
    kept[w[:, 0].argsort(descending=True)] = ((hot.cumsum(0) * hot).sum(1) <= capacity).reshape(top_k, -1).T
    out = torch.einsum("tk,td,tkde->te", w * kept, x, experts[c])
    return out, kept, -(p.mean(0) * p.mean(0).log()).sum()

# %% 23.8 | la capacidad, por elección ⇒ no se vuelven a llenar
def expert_layer(x, logits, experts, *, top_k, capacity):
    p = logits.softmax(1)
    w, c = p.topk(top_k)
    order = w[:, 0].argsort(descending=True)
    kept = torch.empty(len(x), top_k, dtype=torch.bool)
    for i in range(top_k):
        hot = nn.functional.one_hot(c[order, i], len(experts))
        kept[order, i] = (hot.cumsum(0) * hot).sum(1) <= capacity
    out = torch.einsum("tk,td,tkde->te", w * kept, x, experts[c])
    load = nn.functional.one_hot(c.flatten(), len(experts)).double().mean(0)
    return out, kept, len(experts) * (load * p.mean(0)).sum()
