"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 7.1 | tapa la diagonal
masked_by_hand = {"free": 0.188, "causal": 0.75, "both": 1, "late": 0.188}

# %% 7.1 | tapa «perro»
masked_by_hand = {"free": 0.188, "causal": 0, "both": 0, "late": 0}

# %% 7.1 | todo con la causal
masked_by_hand = {"free": 0.375, "causal": 0.375, "both": 0.375, "late": 0.375}

# %% 7.1 | redondea a dos cifras
masked_by_hand = {"free": 0.19, "causal": 0.38, "both": 0.43, "late": 0.19}

# %% 7.1 | da los pesos de «canta»
masked_by_hand = {"free": 0.25, "causal": 0.5, "both": 0.571, "late": 0.25}

# %% 7.2 | dice a
leaky_line = "a"

# %% 7.2 | dice b
leaky_line = "b"

# %% 7.2 | dice c
leaky_line = "c"

# %% 7.2 | la línea entera
leaky_line = "scores.softmax(-1) * causal"

# %% 7.2 | ninguna
leaky_line = "ninguna"

# %% 7.3 | renormaliza lo tapado, y pierde las puntuaciones enormes
def masked_softmax(scores, mask):
    w = scores.exp() * mask
    return w / w.sum(-1, keepdim=True).clamp(min=1e-12)

# %% 7.3 | quita las filas sin nadie solo si no hay lote
def masked_softmax(scores, mask):
    w = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return w.nan_to_num() if scores.dim() == 2 else w

# %% 7.3 | suma la máscara y limpia los NaN
def masked_softmax(scores, mask):
    added = scores + torch.where(mask, 0.0, float("-inf"))
    return added.softmax(-1).nan_to_num()

# %% 7.3 | usa el mínimo de float32
def masked_softmax(scores, mask):
    w = scores.masked_fill(~mask, -1e6).softmax(-1)
    return w * mask

# %% 7.3 | las filas sin nadie miran a la primera clave
def masked_softmax(scores, mask):
    mask = mask.clone()
    mask[..., 0] |= ~mask.any(-1)
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)

# %% 7.4 | una capa de más
reach_by_hand = {"three": 17, "layers": 9, "prefix": 10, "late": 30}

# %% 7.4 | cuenta solo las nuevas
reach_by_hand = {"three": 12, "layers": 8, "prefix": 9, "late": 29}

# %% 7.4 | ventana hacia los dos lados
reach_by_hand = {"three": 25, "layers": 4, "prefix": 10, "late": 30}

# %% 7.4 | prefijo sumado
reach_by_hand = {"three": 13, "layers": 8, "prefix": 14, "late": 40}

# %% 7.4 | potencias
reach_by_hand = {"three": 125, "layers": 3, "prefix": 10, "late": 30}

# %% 7.5 | la cruzada, causal
def translator_masks(source, target, pad_id=0):
    n, m = target.shape[1], source.shape[1]
    s, t = (source != pad_id)[:, None, None], (target != pad_id)[:, None, None]
    return s, t & torch.ones(n, n).bool().tril(), s & torch.ones(n, m).bool().tril()

# %% 7.5 | relleno en claves y consultas
def translator_masks(source, target, pad_id=0):
    n = target.shape[1]
    s, t = source != pad_id, target != pad_id
    both = t[:, None, None, :] & t[:, None, :, None]
    return s[:, None, None], both & torch.ones(n, n).bool().tril(), s[:, None, None]

# %% 7.5 | enteros en lugar de booleanos
def translator_masks(source, target, pad_id=0):
    n = target.shape[1]
    s = (source != pad_id)[:, None, None].long()
    return s, (target != pad_id)[:, None, None].long() * torch.ones(n, n).long().tril(), s

# %% 7.5 | codificador causal
def translator_masks(source, target, pad_id=0):
    n, m = target.shape[1], source.shape[1]
    s, t = (source != pad_id)[:, None, None], (target != pad_id)[:, None, None]
    return s & torch.ones(m, m).bool().tril(), t & torch.ones(n, n).bool().tril(), s

# %% 7.5 | mira si el número es mayor que el relleno en la primera frase
def translator_masks(source, target, pad_id=0):
    n = target.shape[1]
    s = (source[:1] != pad_id)[:, None, None].expand(len(source), 1, 1, -1)
    return s, (target != pad_id)[:, None, None] & torch.ones(n, n).bool().tril(), s

# %% 7.6 | suma en lugar de multiplicar
def leaks(layer_masks):
    n = layer_masks.shape[-1]
    known = layer_masks.sum(0) > 0
    known = known | ((known.double() @ known.double()) > 0)
    return [tuple(p) for p in known.triu(1).nonzero().tolist()]

# %% 7.6 | solo la última capa
def leaks(layer_masks):
    return [tuple(p) for p in layer_masks[-1].triu(1).nonzero().tolist()]

# %% 7.6 | orden inverso
def leaks(layer_masks):
    n = layer_masks.shape[-1]
    known = torch.eye(n)
    for m in layer_masks.flip(0):
        known = (m.float() + torch.eye(n)) @ known
    return [tuple(p) for p in known.triu(1).nonzero().tolist()]

# %% 7.6 | desordenada
def leaks(layer_masks):
    n = layer_masks.shape[-1]
    known = torch.eye(n)
    for m in layer_masks:
        known = (m.float() + torch.eye(n)) @ known
    return [tuple(p) for p in known.triu(1).nonzero().tolist()][::-1]

# %% 7.6 | solo vecinas
def leaks(layer_masks):
    n = layer_masks.shape[-1]
    known = torch.eye(n)
    for m in layer_masks:
        known = (m.float() + torch.eye(n)) @ known
    return [(i, j) for i, j in known.triu(1).nonzero().tolist() if j == i + 1]

# %% 7.6 | sin las conexiones residuales
def leaks(layer_masks):
    known = torch.eye(layer_masks.shape[-1], dtype=torch.float64)
    for m in layer_masks:
        known = ((m.double() @ known) > 0).double()
    return [(i, j) for i, j in known.triu(1).nonzero().tolist()]

# %% 7.6 | basta con que alguna capa lo deje ver directamente
def leaks(layer_masks):
    return [(i, j) for i, j in layer_masks.any(0).triu(1).nonzero().tolist()]

# %% 7.6 | repite la primera capa
def leaks(layer_masks):
    n = layer_masks.shape[-1]
    step = (layer_masks[0] | torch.eye(n).bool()).double()
    known = torch.linalg.matrix_power(step, len(layer_masks)) > 0
    return [(i, j) for i, j in known.triu(1).nonzero().tolist()]

# %% 7.7 | divide entre las frases
def padded_loss(scores, target, pad_id=0):
    p = -scores.log_softmax(-1).gather(-1, target[..., None])[..., 0]
    return (p * (target != pad_id)).sum() / len(target)

# %% 7.7 | mediana de frases
def padded_loss(scores, target, pad_id=0):
    p = -scores.log_softmax(-1).gather(-1, target[..., None])[..., 0]
    words = (target != pad_id)
    per = (p * words).sum(1) / words.sum(1).clamp(min=1)
    return per.sum() / (words.any(1)).sum().clamp(min=1)

# %% 7.7 | quita el relleno de las probabilidades
def padded_loss(scores, target, pad_id=0):
    hidden = scores.clone()
    hidden[..., pad_id] = float("-inf")
    p = -hidden.log_softmax(-1).gather(-1, target[..., None])[..., 0]
    words = target != pad_id
    return p[words].sum() / words.sum().clamp(min=1)

# %% 7.7 | sin palabras, una constante sin gradiente ni cero
def padded_loss(scores, target, pad_id=0):
    words = target != pad_id
    p = -scores.log_softmax(-1).gather(-1, target[..., None])[..., 0]
    return p[words].mean()

# %% 7.7 | logaritmo en base 2
def padded_loss(scores, target, pad_id=0):
    words = target != pad_id
    p = -scores.log_softmax(-1).gather(-1, target[..., None])[..., 0] / math.log(2)
    return (p * words).sum() / words.sum().clamp(min=1)

# %% 7.8 | aditiva con el mínimo de la precisión
def translate_mask(mask, target):
    table = {"sdpa": mask, "nn": ~mask, "int": mask.long()}
    lowest = torch.finfo(torch.float64).min
    return table.get(target, torch.zeros(mask.shape).double().masked_fill(~mask, lowest))

# %% 7.8 | nn como sdpa
def translate_mask(mask, target):
    if target == "additive":
        return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, float("-inf"))
    return mask.long() if target == "int" else mask

# %% 7.8 | logaritmo de la máscara negada
def translate_mask(mask, target):
    table = {"sdpa": mask, "nn": ~mask, "int": mask.long(), "additive": (~mask).double().log()}
    return table[target]

# %% 7.8 | enteros de 32 bits
def translate_mask(mask, target):
    table = {"sdpa": mask, "nn": ~mask, "int": mask.int(), "additive": mask.double().log()}
    return table[target]

# %% 7.8 | traspuesta
def translate_mask(mask, target):
    mask = mask.mT
    table = {"sdpa": mask, "nn": ~mask, "int": mask.long(), "additive": mask.double().log()}
    return table[target]

# %% 7.9 | arregla la escala y el orden, pero no el relleno
def masked_attention(query, key, value, valid):
    n = query.shape[-2]
    s = query @ key.mT / math.sqrt(query.shape[-1])
    return s.masked_fill(~torch.ones(n, n).tril().bool(), float("-inf")).softmax(-1) @ value

# %% 7.9 | pone los valores del relleno a cero y no toca los pesos
def masked_attention(query, key, value, valid):
    n = query.shape[-2]
    s = query @ key.mT / math.sqrt(query.shape[-1])
    w = s.masked_fill(~torch.ones(n, n).tril().bool(), float("-inf")).softmax(-1)
    return w @ (value * valid[:, None, :, None])

# %% 7.9 | escala sin raíz
def masked_attention(query, key, value, valid):
    n, d = query.shape[-2:]
    ok = torch.ones(n, n).tril().bool() & valid[:, None, None]
    return (query @ key.mT / d).masked_fill(~ok, float("-inf")).softmax(-1) @ value

# %% 7.9 | pone la puntuación a cero
def masked_attention(query, key, value, valid):
    n, d = query.shape[-2:]
    ok = torch.ones(n, n).tril().bool() & valid[:, None, None]
    return (query @ key.mT / math.sqrt(d)).masked_fill(~ok, 0.0).softmax(-1) @ value

# %% 7.9 | quita las claves de relleno de toda la frase si lo es la primera cabeza
def masked_attention(query, key, value, valid):
    n, d = query.shape[-2:]
    ok = torch.ones(n, n).tril().bool() & valid[:1, None, None]
    return (query @ key.mT / math.sqrt(d)).masked_fill(~ok, float("-inf")).softmax(-1) @ value

# %% 7.9 | el relleno no pregunta, y su fila sale con ceros
def masked_attention(query, key, value, valid):
    n, d = query.shape[-2:]
    ok = torch.ones(n, n).tril().bool() & valid[:, None, None]
    out = (query @ key.mT / math.sqrt(d)).masked_fill(~ok, -math.inf).softmax(-1) @ value
    return out * valid[:, None, :, None]

# %% 7.9 | la causal deja fuera a la propia palabra, menos a la primera
def masked_attention(query, key, value, valid):
    n, d = query.shape[-2:]
    ok = torch.ones(n, n).tril(-1).bool() & valid[:, None, None]
    ok[..., 0, 0] = True
    return (query @ key.mT / math.sqrt(d)).masked_fill(~ok, -math.inf).softmax(-1) @ value

# %% 7.10 | números mayores o iguales
def packed_mask(document):
    n = document.shape[1]
    ok = (document[:, :, None] >= document[:, None]) & torch.ones(n, n).bool().tril()
    return (ok & (document >= 0)[:, :, None] & (document >= 0)[:, None])[:, None]

# %% 7.10 | sin tapar el relleno
def packed_mask(document):
    n = document.shape[1]
    return ((document[:, :, None] == document[:, None]) & torch.ones(n, n).bool().tril())[:, None]

# %% 7.10 | solo la frase de al lado
def packed_mask(document):
    n = document.shape[1]
    ok = torch.eye(n).bool() | torch.ones(n, n).bool().tril(-1).triu(-1)
    return (ok & (document[:, :, None] == document[:, None]) & (document >= 0)[:, :, None])[:, None]

# %% 7.10 | sin causal
def packed_mask(document):
    return ((document[:, :, None] == document[:, None]) & (document >= 0)[:, :, None])[:, None]

# %% 7.10 | tapa la frase con el mismo número que la primera
def packed_mask(document):
    n = document.shape[1]
    same = (document[:, :, None] == document[:, None]) & torch.ones(n, n).bool().tril()
    return (same & (document != document[:, :1])[:, :, None])[:, None]

# %% 7.10 | solo ve las que van seguidas, y un relleno en medio corta la frase
def packed_mask(document):
    n = document.shape[1]
    new = torch.cat([torch.ones_like(document[:, :1]), (document.diff(dim=1) != 0).long()], 1)
    piece = new.cumsum(1)
    ok = (piece[:, :, None] == piece[:, None]) & (document != -1)[:, None] & torch.ones(n, n).bool().tril()
    return ok[:, None]

# %% 7.10 | las mismas frases para todo el lote
def packed_mask(document):
    first, n = document[:1], document.shape[1]
    ok = (first[:, :, None] == first[:, None]) & (first != -1)[:, None] & torch.ones(n, n).bool().tril()
    return ok[:, None].expand(len(document), -1, -1, -1)

# %% 7.10 | el relleno se mira a sí mismo
def packed_mask(document):
    n = document.shape[1]
    ok = (document[:, :, None] == document[:, None]) & (document != -1)[:, None] & torch.ones(n, n).bool().tril()
    return (ok | torch.eye(n).bool())[:, None]

# %% 7.10 | empieza una frase nueva cada vez que baja el número
def packed_mask(document):
    n = document.shape[1]
    new = torch.cat([torch.zeros_like(document[:, :1]), (document.diff(dim=1) < 0).long()], 1).cumsum(1)
    ok = (new[:, :, None] == new[:, None]) & (document != -1)[:, None] & torch.ones(n, n).bool().tril()
    return (ok & (document != -1)[:, :, None])[:, None]

# %% 7.2 | dos letras
leaky_line = "cd"

# %% 7.3 | resta el máximo de todo el tensor
def masked_softmax(scores, mask):
    e = (scores - scores.max()).exp() * mask
    return e / e.sum(-1, keepdim=True).clamp(min=1e-300)

# %% 7.3 | diez mil millones
def masked_softmax(scores, mask):
    alone = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask, -1e10).masked_fill(alone, 0.0).softmax(-1).masked_fill(~mask, 0.0)

# %% 7.5 | palabras, las mayores que el relleno
def translator_masks(source, target, pad_id=0):
    n = target.shape[1]
    s, t = (source > pad_id)[:, None, None], (target > pad_id)[:, None, None]
    return s, t & torch.ones(n, n).bool().tril(), s

# %% 7.5 | el relleno, siempre al final
def translator_masks(source, target, pad_id=0):
    m, n = source.shape[1], target.shape[1]
    s = torch.arange(m) < (source != pad_id).sum(1)[:, None, None, None]
    t = torch.arange(n) < (target != pad_id).sum(1)[:, None, None, None]
    return s, t & torch.ones(n, n).bool().tril(), s

# %% 7.7 | palabras, las mayores que el relleno
def padded_loss(scores, target, pad_id=0):
    words = target > pad_id
    p = -scores.log_softmax(-1).gather(-1, target[..., None])[..., 0]
    return (p * words).sum() / words.sum().clamp(min=1)

# %% 7.7 | el relleno, siempre al final
def padded_loss(scores, target, pad_id=0):
    words = torch.arange(target.shape[1]) < (target != pad_id).sum(1, keepdim=True)
    p = -scores.log_softmax(-1).gather(-1, target[..., None])[..., 0]
    return (p * words).sum() / words.sum().clamp(min=1)

# %% 7.7 | la softmax y después el logaritmo ⇒ logaritmo de la softmax
def padded_loss(scores, target, pad_id=0):
    words = target != pad_id
    logs = scores.softmax(-1).log()
    right = logs.gather(-1, target.masked_fill(~words, 0)[..., None])[..., 0]
    return -right.masked_fill(~words, 0.0).sum() / words.sum().clamp(min=1)

# %% 7.8 | solo con dos ejes
def translate_mask(mask, target):
    rows, columns = mask.shape
    table = {"sdpa": mask, "nn": ~mask, "int": mask.long(), "additive": mask.double().log()}
    return table[target].reshape(rows, columns)

# %% 7.8 | cero por infinito en float32
def translate_mask(mask, target):
    table = {"sdpa": mask, "nn": ~mask, "int": mask.long()}
    return table[target] if target in table else (~mask).float() * -math.inf

# %% 7.8 | aditiva con un uno donde se puede
def translate_mask(mask, target):
    table = {"sdpa": mask, "nn": ~mask, "int": mask.long()}
    return table[target] if target in table else torch.where(mask, 1.0, -math.inf)

# %% 7.8 | tapar es multiplicar por cero, también en la aditiva
def translate_mask(mask, target):
    return {"sdpa": mask, "nn": ~mask, "int": mask.long(), "additive": mask.double()}[target]
