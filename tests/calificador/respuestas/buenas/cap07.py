"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 7.1 | fracciones
masked_by_hand = {"free": 3 / 16, "causal": 3 / 8, "both": 3 / 7, "late": 3 / 16}

# %% 7.1 | tres decimales
masked_by_hand = {"free": 0.188, "causal": 0.375, "both": 0.429, "late": 0.188}

# %% 7.1 | tres decimales, hacia abajo
masked_by_hand = {"free": 0.187, "causal": 0.375, "both": 0.4286, "late": 0.187}

# %% 7.2 | la letra
leaky_line = "d"

# %% 7.2 | con comillas simples
leaky_line = 'd'

# %% 7.2 | calculada
leaky_line = "abcd"[-1]

# %% 7.3 | where y exponenciales
def masked_softmax(scores, mask):
    top = torch.where(mask, scores, -math.inf).amax(-1, keepdim=True)
    top = torch.where(top.isinf(), 0.0, top)
    e = torch.where(mask, (torch.where(mask, scores, top) - top).exp(), 0.0)
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total == 0, 1.0, total)

# %% 7.3 | softmax y limpiar
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)

# %% 7.3 | añade una clave que nadie recibe
def masked_softmax(scores, mask):
    hidden = torch.where(mask, scores, -math.inf)
    alone = ~mask.expand(scores.shape).any(-1, keepdim=True)
    extra = torch.zeros_like(hidden[..., :1]).masked_fill(~alone, -math.inf)
    return torch.cat([hidden, extra], -1).softmax(-1)[..., :-1]

# %% 7.4 | números
reach_by_hand = {"three": 13, "layers": 8, "prefix": 10, "late": 30}

# %% 7.4 | con la cuenta
reach_by_hand = {"three": 1 + 3 * 4, "layers": -(-29 // 4), "prefix": 10, "late": 30}

# %% 7.4 | en otro orden
reach_by_hand = {"late": 30, "prefix": 10, "layers": 8, "three": 13}

# %% 7.5 | con índices
def translator_masks(source, target, pad_id=0):
    spot = torch.arange(target.shape[1])
    s = source.ne(pad_id).unsqueeze(1).unsqueeze(1)
    return s, target.ne(pad_id)[:, None, None] & (spot <= spot[:, None]), s.clone()

# %% 7.5 | frase a frase
def translator_masks(source, target, pad_id=0):
    n = target.shape[1]
    low = torch.ones(n, n).tril() > 0
    s = torch.stack([line != pad_id for line in source])[:, None, None]
    t = torch.stack([low & (line != pad_id) for line in target])[:, None]
    return s, t, s

# %% 7.5 | lista y no tupla
def translator_masks(source, target, pad_id=0):
    n = target.shape[1]
    s = ~(source == pad_id).view(len(source), 1, 1, -1)
    t = ~((target == pad_id).view(len(target), 1, 1, -1) | torch.ones(n, n).triu(1).bool())
    return [s, t, s]

# %% 7.6 | conjuntos
def leaks(layer_masks):
    n = layer_masks.shape[-1]
    knows = [{i} for i in range(n)]
    for mask in layer_masks.tolist():
        knows = [knows[i].union(*(knows[j] for j in range(n) if mask[i][j])) for i in range(n)]
    return [(i, j) for i in range(n) for j in sorted(knows[i]) if j > i]

# %% 7.6 | productos sin recortar
def leaks(layer_masks):
    eye = torch.eye(layer_masks.shape[-1]).double()
    total = eye
    for mask in layer_masks:
        total = (mask.double() + eye) @ total
    return [(int(i), int(j)) for i, j in (total > 0).nonzero() if j > i]

# %% 7.6 | de la última a la primera
def leaks(layer_masks):
    eye = torch.eye(layer_masks.shape[-1]).bool()
    total = eye.float()
    for mask in layer_masks.flip(0):
        total = (total @ (mask | eye).float()).clamp(max=1)
    return [tuple(p) for p in total.triu(1).nonzero().tolist()]

# %% 7.7 | con índices booleanos
def padded_loss(scores, target, pad_id=0):
    words = target != pad_id
    rows, ids = scores[words], target[words]
    if len(ids) == 0:
        return scores.sum() * 0
    return -rows.log_softmax(-1)[torch.arange(len(ids)), ids].mean()

# %% 7.7 | logsumexp
def padded_loss(scores, target, pad_id=0):
    words = (target != pad_id).to(scores.dtype)
    surprise = scores.logsumexp(-1) - scores.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return (surprise * words).sum() / max(int(words.sum()), 1)

# %% 7.7 | one-hot
def padded_loss(scores, target, pad_id=0):
    hot = torch.nn.functional.one_hot(target, scores.shape[-1]) * (target != pad_id)[..., None]
    return -(hot * scores.log_softmax(-1)).sum() / hot.sum().clamp(min=1)

# %% 7.8 | tabla y logaritmo
def translate_mask(mask, target):
    return {"sdpa": mask, "nn": ~mask, "int": mask.to(torch.int64), "additive": mask.double().log()}[target]

# %% 7.8 | con la aditiva en float32
def translate_mask(mask, target):
    table = {"sdpa": mask, "nn": ~mask, "int": mask.long()}
    return table.get(target, torch.zeros(mask.shape).masked_fill(~mask, float("-inf")))

# %% 7.8 | where
def translate_mask(mask, target):
    if target == "sdpa":
        return mask
    if target == "nn":
        return mask.logical_not()
    yes, no = (1, 0) if target == "int" else (0.0, -math.inf)
    dtype = torch.int64 if target == "int" else torch.float64
    return torch.where(mask, torch.tensor(yes, dtype=dtype), torch.tensor(no, dtype=dtype))

# %% 7.8 | match
def translate_mask(mask, target):
    match target:
        case "nn":
            return mask == False
        case "int":
            return 1 * mask
        case "additive":
            return torch.full(mask.shape, -math.inf, dtype=torch.float64).masked_fill(mask, 0)
    return mask | False

# %% 7.9 | aditiva
def masked_attention(query, key, value, valid):
    n, d = query.shape[-2:]
    ok = torch.ones(n, n).bool().tril() & valid[:, None, None]
    bias = torch.zeros(ok.shape, dtype=query.dtype).masked_fill(~ok, -math.inf)
    return (query @ key.mT / d**0.5 + bias).softmax(-1) @ value

# %% 7.9 | renormaliza
def masked_attention(query, key, value, valid):
    n, d = query.shape[-2:]
    ok = torch.ones(n, n).bool().tril() & valid[:, None, None]
    w = (query @ key.mT / d**0.5).exp() * ok
    return w / w.sum(-1, keepdim=True) @ value

# %% 7.9 | einsum
def masked_attention(query, key, value, valid):
    n, d = query.shape[-2:]
    scores = torch.einsum("bhid,bhjd->bhij", query, key) * d**-0.5
    hide = torch.ones(n, n).triu(1).bool() | ~valid[:, None, None]
    return torch.einsum("bhij,bhjd->bhid", torch.where(hide, -math.inf, scores).softmax(-1), value)

# %% 7.10 | bucles
def packed_mask(document):
    n = document.shape[1]
    rows = [[[[a[i] == a[j] and a[i] != -1 and j <= i for j in range(n)] for i in range(n)]] for a in document.tolist()]
    return torch.tensor(rows)

# %% 7.10 | quita el relleno de claves y consultas
def packed_mask(document):
    spot, word = torch.arange(document.shape[1]), document != -1
    same = document.unsqueeze(2) == document.unsqueeze(1)
    return (same & word.unsqueeze(2) & word.unsqueeze(1) & (spot <= spot[:, None])).unsqueeze(1)

# %% 7.10 | números nuevos para el relleno
def packed_mask(document):
    n = document.shape[1]
    fresh = torch.where(document == -1, -1 - torch.arange(n), document)
    ok = (fresh[:, :, None] == fresh[:, None, :]).tril()
    return (ok & (fresh >= 0)[:, :, None])[:, None]

# %% 7.2 | mayúscula
leaky_line = "D"

# %% 7.2 | con comillas angulares
leaky_line = "«d»"

# %% 7.3 | el máximo de lo permitido
def masked_softmax(scores, mask):
    low = scores.masked_fill(~mask, -math.inf)
    top = low.amax(-1, keepdim=True).nan_to_num(neginf=0.0).detach()
    e = (low - top).exp()
    return e / e.sum(-1, keepdim=True).clamp(min=1e-30)

# %% 7.8 | logaritmo en float32
def translate_mask(mask, target):
    table = {"sdpa": mask, "nn": ~mask, "int": mask.to(torch.int64)}
    return table[target] if target in table else mask.float().log()

# %% 7.8 | aditiva en float16
def translate_mask(mask, target):
    if target == "additive":
        return torch.zeros_like(mask, dtype=torch.float16).masked_fill(~mask, float("-inf"))
    return {"sdpa": mask, "nn": ~mask, "int": mask.long()}[target]
