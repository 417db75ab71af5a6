"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 13.1 | la peor palabra
def write(logits, prefix, *, eos_id, max_length, stop=()):
    text, n = list(prefix), len(prefix)
    for _ in range(max_length):
        text.append(torch.argmin(logits[text[-1]]).item())
        new = text[n:]
        if new[-1] == eos_id or (len(stop) > 0 and new[-len(stop):] == list(stop)):
            break
    return text[n:]

# %% 13.1 | la regla, como conjunto
def write(logits, prefix, *, eos_id, max_length, stop=()):
    text, n = list(prefix), len(prefix)
    for _ in range(max_length):
        text.append(torch.argmax(logits[text[-1]]).item())
        new = text[n:]
        if new[-1] == eos_id or (len(stop) > 0 and set(stop) <= set(new)):
            break
    return text[n:]

# %% 13.1 | quita las palabras de la regla
def write(logits, prefix, *, eos_id, max_length, stop=()):
    text, n = list(prefix), len(prefix)
    for _ in range(max_length):
        text.append(torch.argmax(logits[text[-1]]).item())
        new = text[n:]
        if new[-1] == eos_id or (len(stop) > 0 and new[-len(stop):] == list(stop)):
            break
    new = text[n:]
    return new[:-len(stop)] if stop and new[-len(stop):] == list(stop) else new

# %% 13.1 | media de las filas del texto
def write(logits, prefix, *, eos_id, max_length, stop=()):
    text, n = list(prefix), len(prefix)
    for _ in range(max_length):
        text.append(torch.argmax(logits[text].mean(0)).item())
        new = text[n:]
        if new[-1] == eos_id or (len(stop) > 0 and new[-len(stop):] == list(stop)):
            break
    return text[n:]

# %% 13.1 | solo mira si la última es la última de la regla
def write(logits, prefix, *, eos_id, max_length, stop=()):
    text, n = list(prefix), len(prefix)
    for _ in range(max_length):
        text.append(torch.argmax(logits[text[-1]]).item())
        new = text[n:]
        if new[-1] == eos_id or (len(stop) > 0 and new[-1] == stop[-1]):
            break
    return text[n:]

# %% 13.1 | rellena hasta la longitud
def write(logits, prefix, *, eos_id, max_length, stop=()):
    text, n = list(prefix), len(prefix)
    for _ in range(max_length):
        text.append(torch.argmax(logits[text[-1]]).item())
        new = text[n:]
        if new[-1] == eos_id or (len(stop) > 0 and new[-len(stop):] == list(stop)):
            break
    return text[n:] + [eos_id] * (max_length - len(text) + n)

# %% 13.1 | solo conoce reglas de dos palabras
def write(logits, prefix, *, eos_id, max_length, stop=()):
    text, n = list(prefix), len(prefix)
    for _ in range(max_length):
        text.append(torch.argmax(logits[text[-1]]).item())
        new = text[n:]
        if new[-1] == eos_id or (len(stop) > 1 and new[-2:] == list(stop)[-2:] and len(new) >= 2):
            break
    return text[n:]

# %% 13.1 | no escribe si el prefijo ya trae el fin
def write(logits, prefix, *, eos_id, max_length, stop=()):
    text, n = list(prefix), len(prefix)
    while len(text) - n < max_length and eos_id not in text:
        text.append(torch.argmax(logits[text[-1]]).item())
        if stop and text[n:][-len(stop):] == list(stop):
            break
    return text[n:]

# %% 13.1 | compara los números pegados ⇒ cadenas
def write(logits, prefix, *, eos_id, max_length, stop=()):
    out, last = [], prefix[-1]
    while len(out) < max_length:
        last = int(logits[last].argmax())
        out.append(last)
        if last == eos_id or stop and "".join(map(str, out)).endswith("".join(map(str, stop))):
            break
    return out

# %% 13.1 | compara los números separados por espacios
def write(logits, prefix, *, eos_id, max_length, stop=()):
    out, last = [], prefix[-1]
    while len(out) < max_length:
        last = int(logits[last].argmax())
        out.append(last)
        if last == eos_id or stop and " ".join(map(str, out)).endswith(" ".join(map(str, stop))):
            break
    return out

# %% 13.1 | escribe al menos una ⇒ no se escribe ninguna
def write(logits, prefix, *, eos_id, max_length, stop=()):
    out = [int(logits[prefix[-1]].argmax())]
    while len(out) < max_length and out[-1] != eos_id and not (stop and out[-len(stop):] == list(stop)):
        out.append(int(logits[out[-1]].argmax()))
    return out

# %% 13.2 | redondea a un decimal
tree_by_hand = {"greedy": 0.2, "best": 0.4, "tie": 0.3}

# %% 13.2 | la voraz, sin el punto ni «tren»
tree_by_hand = {"greedy": 0.55, "best": 0.36, "tie": 0.33}

# %% 13.2 | suma las de «el»
tree_by_hand = {"greedy": 0.22, "best": 0.55, "tie": 0.33}

# %% 13.2 | empate a un medio
tree_by_hand = {"greedy": 0.22, "best": 0.36, "tie": 0.5}

# %% 13.2 | barco
tree_by_hand = {"greedy": 0.19, "best": 0.36, "tie": 0.33}

# %% 13.2 | el empate, con la voraz y no con «mañana .»
tree_by_hand = {"greedy": 0.22, "best": 0.36, "tie": 0.28}

# %% 13.2 | el empate, con la que no lleva «.»
tree_by_hand = {"greedy": 0.22, "best": 0.36, "tie": 0.67}

# %% 13.3 | probabilidades sumadas
def beam_step(totals, log_probs, *, beams, eos_id):
    pairs = [(float(totals[i].exp() + log_probs[i, j].exp()), i, j) for i in range(len(totals)) for j in range(log_probs.shape[1])]
    pairs.sort(key=lambda p: -p[0])
    live = [p for p in pairs if p[2] != eos_id][:beams]
    closed = [i for _, i, j in pairs[:beams] if j == eos_id]
    return (torch.tensor([p[1] for p in live]), torch.tensor([p[2] for p in live]), torch.tensor([p[0] for p in live], dtype=totals.dtype), closed)

# %% 13.3 | de peor a mejor en lo devuelto
def beam_step(totals, log_probs, *, beams, eos_id):
    pairs = [(float(totals[i] + log_probs[i, j]), i, j) for i in range(len(totals)) for j in range(log_probs.shape[1])]
    pairs.sort(key=lambda p: -p[0])
    live = [p for p in pairs if p[2] != eos_id][:beams][::-1]
    closed = [i for _, i, j in pairs[:beams] if j == eos_id]
    return (torch.tensor([p[1] for p in live]), torch.tensor([p[2] for p in live]), torch.tensor([p[0] for p in live], dtype=totals.dtype), closed)

# %% 13.3 | las palabras que acaban en lugar de las hipótesis
def beam_step(totals, log_probs, *, beams, eos_id):
    pairs = [(float(totals[i] + log_probs[i, j]), i, j) for i in range(len(totals)) for j in range(log_probs.shape[1])]
    pairs.sort(key=lambda p: -p[0])
    live = [p for p in pairs if p[2] != eos_id][:beams]
    closed = [j for _, i, j in pairs[:beams] if j == eos_id]
    return (torch.tensor([p[1] for p in live]), torch.tensor([p[2] for p in live]), torch.tensor([p[0] for p in live], dtype=totals.dtype), closed)

# %% 13.3 | una de menos
def beam_step(totals, log_probs, *, beams, eos_id):
    pairs = [(float(totals[i] + log_probs[i, j]), i, j) for i in range(len(totals)) for j in range(log_probs.shape[1])]
    pairs.sort(key=lambda p: -p[0])
    live = [p for p in pairs if p[2] != eos_id][:beams - 1]
    closed = [i for _, i, j in pairs[:beams] if j == eos_id]
    return (torch.tensor([p[1] for p in live]), torch.tensor([p[2] for p in live]), torch.tensor([p[0] for p in live], dtype=totals.dtype), closed)

# %% 13.3 | los incrementos, no las sumas
def beam_step(totals, log_probs, *, beams, eos_id):
    pairs = [(float(totals[i] + log_probs[i, j]), i, j) for i in range(len(totals)) for j in range(log_probs.shape[1])]
    pairs.sort(key=lambda p: -p[0])
    live = [p for p in pairs if p[2] != eos_id][:beams]
    closed = [i for _, i, j in pairs[:beams] if j == eos_id]
    return (torch.tensor([p[1] for p in live]), torch.tensor([p[2] for p in live]), torch.tensor([p[0] - float(totals[p[1]]) for p in live], dtype=totals.dtype), closed)

# %% 13.3 | ninguna acaba
def beam_step(totals, log_probs, *, beams, eos_id):
    pairs = [(float(totals[i] + log_probs[i, j]), i, j) for i in range(len(totals)) for j in range(log_probs.shape[1])]
    pairs.sort(key=lambda p: -p[0])
    live = [p for p in pairs if p[2] != eos_id][:beams]
    closed = [i for _, i, j in pairs[:0] if j == eos_id]
    return (torch.tensor([p[1] for p in live]), torch.tensor([p[2] for p in live]), torch.tensor([p[0] for p in live], dtype=totals.dtype), closed)

# %% 13.3 | las que acaban, por su número
def beam_step(totals, log_probs, *, beams, eos_id):
    total = totals.unsqueeze(1) + log_probs
    first = set(total.flatten().topk(beams).indices.tolist())
    closed = [i for i in range(len(totals)) if i * total.shape[1] + eos_id in first]
    going = total.clone()
    going[:, eos_id] = -math.inf
    best, index = going.flatten().topk(beams)
    return index // total.shape[1], index % total.shape[1], best, closed

# %% 13.3 | las que acaban, de menor a mayor suma
def beam_step(totals, log_probs, *, beams, eos_id):
    total = totals.unsqueeze(1) + log_probs
    first = total.flatten().topk(beams).indices.tolist()
    closed = [i // total.shape[1] for i in reversed(first) if i % total.shape[1] == eos_id]
    going = total.clone()
    going[:, eos_id] = -math.inf
    best, index = going.flatten().topk(beams)
    return index // total.shape[1], index % total.shape[1], best, closed

# %% 13.3 | las mejores de 2·beams sin contar las que acaban
def beam_step(totals, log_probs, *, beams, eos_id):
    v = log_probs.shape[1]
    value, index = (totals[:, None] + log_probs).flatten().topk(2 * beams)
    parent, word = index // v, index % v
    going = word != eos_id
    closed = parent[:beams][~going[:beams]].tolist()
    return parent[going][:beams], word[going][:beams], value[going][:beams], closed

# %% 13.3 | solo los beams primeros candidatos
def beam_step(totals, log_probs, *, beams, eos_id):
    v = log_probs.shape[1]
    value, index = (totals[:, None] + log_probs).flatten().topk(beams)
    parent, word = index // v, index % v
    going = word != eos_id
    return parent[going], word[going], value[going], parent[~going].tolist()

# %% 13.3 | la lista de las que acaban, por palabra
def beam_step(totals, log_probs, *, beams, eos_id):
    v = log_probs.shape[1]
    value, index = (totals[:, None] + log_probs).flatten().sort(descending=True)
    parent, word = index // v, index % v
    going = word != eos_id
    closed = word[:beams][~going[:beams]].tolist()
    return parent[going][:beams], word[going][:beams], value[going][:beams], closed

# %% 13.3 | la lista de las que acaban, por su puesto
def beam_step(totals, log_probs, *, beams, eos_id):
    v = log_probs.shape[1]
    value, index = (totals[:, None] + log_probs).flatten().sort(descending=True)
    parent, word = index // v, index % v
    going = word != eos_id
    closed = (~going[:beams]).nonzero().flatten().tolist()
    return parent[going][:beams], word[going][:beams], value[going][:beams], closed

# %% 13.3 | las que acaban, como tensor de sumas
def beam_step(totals, log_probs, *, beams, eos_id):
    v = log_probs.shape[1]
    value, index = (totals[:, None] + log_probs).flatten().sort(descending=True)
    parent, word = index // v, index % v
    going = word != eos_id
    closed = value[:beams][~going[:beams]].tolist()
    return parent[going][:beams], word[going][:beams], value[going][:beams], closed

# %% 13.3 | divide la posición entre las vivas
def beam_step(totals, log_probs, *, beams, eos_id):
    v = len(totals)
    value, index = (totals[:, None] + log_probs).flatten().sort(descending=True)
    parent, word = index // v, index % v
    going = word != eos_id
    closed = parent[:beams][~going[:beams]].tolist()
    return parent[going][:beams], word[going][:beams], value[going][:beams], closed

# %% 13.3 | prohíbe el fin antes de ordenar
def beam_step(totals, log_probs, *, beams, eos_id):
    v = log_probs.shape[1]
    sums = totals[:, None] + log_probs
    closed = [i for i in range(len(totals)) if sums[i, eos_id] >= sums.flatten().topk(beams).values[-1]]
    sums[:, eos_id] = -math.inf
    value, index = sums.flatten().topk(beams)
    return index // v, index % v, value, closed

# %% 13.4 | caliente y fría cambiadas
temperature_by_hand = {"cold": 0.67, "hot": 0.94, "tau": 0.33, "twice": 0.59}

# %% 13.4 | divide las probabilidades
temperature_by_hand = {"cold": 0.8, "hot": 0.8, "tau": 0.33, "twice": 0.8}

# %% 13.4 | τ igual a 3
temperature_by_hand = {"cold": 0.94, "hot": 0.67, "tau": 3.0, "twice": 0.59}

# %% 13.4 | dos veces es lo mismo que una
temperature_by_hand = {"cold": 0.94, "hot": 0.67, "tau": 0.33, "twice": 0.67}

# %% 13.4 | dos veces deshace
temperature_by_hand = {"cold": 0.94, "hot": 0.67, "tau": 0.33, "twice": 0.8}

# %% 13.4 | reparte el exponente entre las dos sin volver a sumar 1
temperature_by_hand = {"cold": 0.64, "hot": 0.89, "tau": 0.33, "twice": 0.95}

# %% 13.4 | divide las probabilidades entre la temperatura
temperature_by_hand = {"cold": 1.6, "hot": 0.4, "tau": 0.33, "twice": 0.2}

# %% 13.4 | la temperatura, con logaritmos de la probabilidad y no de la razón
temperature_by_hand = {"cold": 0.94, "hot": 0.67, "tau": 0.05, "twice": 0.59}

# %% 13.4 | frío y calor cambiados, y la tau inversa ⇒ inversa de la temperatura
temperature_by_hand = {"cold": 0.667, "hot": 0.941, "tau": 3, "twice": 0.586}

# %% 13.4 | frío y calor cambiados, y otra falta ⇒ «cold» y «hot»
temperature_by_hand = {"cold": 0.667, "hot": 0.941, "tau": 7, "twice": 0.586}

# %% 13.5 | un número
nucleus_size = 3

# %% 13.5 | una
nucleus_size = 'una'

# %% 13.5 | dos
nucleus_size = 'dos'

# %% 13.5 | cuatro
nucleus_size = 'cuatro'

# %% 13.5 | todas
nucleus_size = 'cinco'

# %% 13.6 | desde las menos probables
def nucleus(logits, p, temperature=1.0):
    out = []
    for row in logits.reshape(-1, logits.shape[-1]):
        probs = torch.softmax(row / temperature, 0)
        order = sorted(range(len(row)), key=lambda i: float(row[i]))
        total, n = 0.0, 0
        while total < p:
            total += float(probs[order[n]])
            n += 1
        bar = row[order[n - 1]]
        kept = torch.where(row >= bar, probs, torch.zeros_like(probs))
        out.append(kept / kept.sum())
    return torch.stack(out).reshape(logits.shape)

# %% 13.6 | empates fuera, por su sitio
def nucleus(logits, p, temperature=1.0):
    out = []
    for row in logits.reshape(-1, logits.shape[-1]):
        probs = torch.softmax(row / temperature, 0)
        order = sorted(range(len(row)), key=lambda i: float(-row[i]))
        total, n = 0.0, 0
        while total < p:
            total += float(probs[order[n]])
            n += 1
        bar = row[order[n - 1]]
        kept = probs * torch.zeros_like(probs).scatter(0, torch.tensor(order[:n]), 1.0)
        out.append(kept / kept.sum())
    return torch.stack(out).reshape(logits.shape)

# %% 13.6 | solo las que superan el listón
def nucleus(logits, p, temperature=1.0):
    out = []
    for row in logits.reshape(-1, logits.shape[-1]):
        probs = torch.softmax(row / temperature, 0)
        order = sorted(range(len(row)), key=lambda i: float(-row[i]))
        total, n = 0.0, 0
        while total < p:
            total += float(probs[order[n]])
            n += 1
        bar = row[order[n - 1]]
        kept = torch.where((row > bar) | (row == row.max()), probs, torch.zeros_like(probs))
        out.append(kept / kept.sum())
    return torch.stack(out).reshape(logits.shape)

# %% 13.6 | reparte por igual
def nucleus(logits, p, temperature=1.0):
    out = []
    for row in logits.reshape(-1, logits.shape[-1]):
        probs = torch.softmax(row / temperature, 0)
        order = sorted(range(len(row)), key=lambda i: float(-row[i]))
        total, n = 0.0, 0
        while total < p:
            total += float(probs[order[n]])
            n += 1
        bar = row[order[n - 1]]
        kept = torch.where(row >= bar, torch.ones_like(probs), torch.zeros_like(probs))
        out.append(kept / kept.sum())
    return torch.stack(out).reshape(logits.shape)

# %% 13.6 | temperatura a las probabilidades
def nucleus(logits, p, temperature=1.0):
    out = []
    for row in logits.reshape(-1, logits.shape[-1]):
        probs = torch.softmax(row, 0) / temperature
        order = sorted(range(len(row)), key=lambda i: float(-row[i]))
        total, n = 0.0, 0
        while total < p:
            total += float(probs[order[n]])
            n += 1
        bar = row[order[n - 1]]
        kept = torch.where(row >= bar, probs, torch.zeros_like(probs))
        out.append(kept / kept.sum())
    return torch.stack(out).reshape(logits.shape)

# %% 13.6 | el tamaño de la primera fila
def nucleus(logits, p, temperature=1.0):
    out = []
    for row in logits.reshape(-1, logits.shape[-1]):
        probs = torch.softmax(row / temperature, 0)
        order = sorted(range(len(row)), key=lambda i: float(-row[i]))
        total, n = 0.0, 0
        while total < p:
            total += float(probs[order[n]])
            n += 1
        bar = row[order[n - 1]]
        kept = torch.where(row >= bar, probs, torch.zeros_like(probs))
        out.append(kept / kept.sum())
    n = int((out[0] > 0).sum())
    probs = torch.softmax(logits / temperature, -1)
    kept = probs * (probs >= probs.topk(n).values[..., -1:])
    return kept / kept.sum(-1, keepdim=True)

# %% 13.6 | siempre entran al menos dos
def nucleus(logits, p, temperature=1.0):
    out = []
    for row in logits.reshape(-1, logits.shape[-1]):
        probs = torch.softmax(row / temperature, 0)
        order = sorted(range(len(row)), key=lambda i: float(-row[i]))
        total, n = 0.0, 0
        while total < p or n < 2:
            total += float(probs[order[n]])
            n += 1
        kept = torch.where(row >= row[order[n - 1]], probs, torch.zeros_like(probs))
        out.append(kept / kept.sum())
    return torch.stack(out).reshape(logits.shape)

# %% 13.6 | si la primera basta, deja tres
def nucleus(logits, p, temperature=1.0):
    warm = logits / temperature
    ordered = warm.sort(-1, descending=True).values
    k = (ordered.softmax(-1).cumsum(-1) < p).sum(-1, keepdim=True)
    k = torch.where(k == 0, 2, k).clamp(max=logits.shape[-1] - 1)
    return warm.masked_fill(warm < ordered.gather(-1, k), -math.inf).softmax(-1)

# %% 13.6 | empatan las que se parecen ⇒ casi lo mismo
def nucleus(logits, p, temperature=1.0):
    probs = (logits / temperature).softmax(-1)
    ordered = probs.sort(-1, descending=True).values
    crossing = (ordered.cumsum(-1) < p).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
    least = ordered.gather(-1, crossing)
    kept = probs * ((probs > least) | torch.isclose(probs, least)) * (probs > 0)
    return kept / kept.sum(-1, keepdim=True)

# %% 13.6 | deja las que suman hasta p, sin guardar la primera ⇒ la primera
def nucleus(logits, p, temperature=1.0):
    warm = logits / temperature
    ordered, order = warm.sort(-1, descending=True)
    out = ordered.softmax(-1).cumsum(-1) > p
    return warm.masked_fill(torch.zeros_like(out).scatter(-1, order, out), -math.inf).softmax(-1)

# %% 13.7 | un menos p
def keep_min_p(logits, p, at_least=1):
    probs = logits.softmax(-1)
    kept = probs >= (1 - p) * probs.max(-1, keepdim=True).values
    best = logits.topk(at_least, dim=-1).indices
    return kept.scatter(-1, best, True)

# %% 13.7 | menos p
def keep_min_p(logits, p, at_least=1):
    probs = logits.softmax(-1)
    kept = probs >= probs.max(-1, keepdim=True).values - p
    best = logits.topk(at_least, dim=-1).indices
    return kept.scatter(-1, best, True)

# %% 13.7 | p veces la media
def keep_min_p(logits, p, at_least=1):
    probs = logits.softmax(-1)
    kept = probs >= p * probs.mean(-1, keepdim=True)
    best = logits.topk(at_least, dim=-1).indices
    return kept.scatter(-1, best, True)

# %% 13.7 | las peores completan
def keep_min_p(logits, p, at_least=1):
    probs = logits.softmax(-1)
    kept = probs >= p * probs.max(-1, keepdim=True).values
    best = logits.topk(at_least, dim=-1, largest=False).indices
    return kept.scatter(-1, best, True)

# %% 13.7 | el mínimo, en el vocabulario
def keep_min_p(logits, p, at_least=1):
    probs = logits.softmax(-1)
    kept = probs >= p * probs.max(-1, keepdim=True).values
    best = logits.topk(at_least, dim=-1).indices
    kept[..., :at_least] = True
    return kept

# %% 13.7 | números en vez de booleanos
def keep_min_p(logits, p, at_least=1):
    probs = logits.softmax(-1)
    kept = probs >= p * probs.max(-1, keepdim=True).values
    best = logits.topk(at_least, dim=-1).indices
    return kept.scatter(-1, best, True).double()

# %% 13.8 | la voraz
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    live = [([], 0.0)]
    finished = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = words[-1] if words else start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + log_prob))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:1]
    finished += live
    scored = [(words, total / len(words) ** alpha) for words, total in finished]
    return max(scored, key=lambda one: one[1])

# %% 13.8 | devuelve la suma sin dividir
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    live = [([], 0.0)]
    finished = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = words[-1] if words else start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + log_prob))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:beams]
    finished += live
    scored = [(words, total / len(words) ** alpha) for words, total in finished]
    best = max(scored, key=lambda one: one[1])
    return best[0], best[1] * len(best[0]) ** alpha

# %% 13.8 | cuenta el comienzo en la longitud
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    live = [([], 0.0)]
    finished = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = words[-1] if words else start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + log_prob))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:beams]
    finished += live
    scored = [(words, total / (len(words) + 1) ** alpha) for words, total in finished]
    return max(scored, key=lambda one: one[1])

# %% 13.8 | sin contar el fin
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    live = [([], 0.0)]
    finished = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = words[-1] if words else start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + log_prob))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:beams]
    finished += live
    scored = [(words, total / max(1, len(words) - (words[-1] == eos_id)) ** alpha) for words, total in finished]
    return max(scored, key=lambda one: one[1])

# %% 13.8 | elige por la suma y divide después
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    live = [([], 0.0)]
    finished = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = words[-1] if words else start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + log_prob))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:beams]
    finished += live
    scored = [(words, total / len(words) ** alpha) for words, total in finished]
    return max(scored, key=lambda one: one[1] * len(one[0]) ** alpha)

# %% 13.8 | mira siempre el comienzo
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    live = [([], 0.0)]
    finished = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + log_prob))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:beams]
    finished += live
    scored = [(words, total / len(words) ** alpha) for words, total in finished]
    return max(scored, key=lambda one: one[1])

# %% 13.8 | para con el doble de acabadas que de anchura
def broken_beam(log_probs, start, *, beams, eos_id, max_length, alpha=0.0):
    live = [([], 0.0)]
    finished = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = words[-1] if words else start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + log_prob))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:beams]
        if len(finished) >= 2 * beams:
            live = []
            break
    scored = [(words, total / len(words) ** alpha) for words, total in finished + live]
    return max(scored, key=lambda one: one[1])

# %% 13.9 | sin escalar
def cached_attention(x, past_key, past_value, w_query, w_key, w_value):
    h, dh = past_key.shape[1], past_key.shape[3]
    outs = []
    for t in range(x.shape[1]):
        q, k, v = ((x[:, t] @ w).view(len(x), h, 1, dh) for w in (w_query, w_key, w_value))
        past_key, past_value = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
        weights = (q @ past_key.transpose(2, 3)).softmax(-1)
        outs.append((weights @ past_value).reshape(len(x), -1))
    return torch.stack(outs, 1), past_key, past_value

# %% 13.9 | traspone las matrices
def cached_attention(x, past_key, past_value, w_query, w_key, w_value):
    h, dh = past_key.shape[1], past_key.shape[3]
    outs = []
    for t in range(x.shape[1]):
        q, k, v = ((x[:, t] @ w.T).view(len(x), h, 1, dh) for w in (w_query, w_key, w_value))
        past_key, past_value = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
        weights = (q @ past_key.transpose(2, 3) / dh**0.5).softmax(-1)
        outs.append((weights @ past_value).reshape(len(x), -1))
    return torch.stack(outs, 1), past_key, past_value

# %% 13.9 | clave y valor cambiados
def cached_attention(x, past_key, past_value, w_query, w_key, w_value):
    h, dh = past_key.shape[1], past_key.shape[3]
    outs = []
    for t in range(x.shape[1]):
        q, k, v = ((x[:, t] @ w).view(len(x), h, 1, dh) for w in (w_query, w_value, w_key))
        past_key, past_value = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
        weights = (q @ past_key.transpose(2, 3) / dh**0.5).softmax(-1)
        outs.append((weights @ past_value).reshape(len(x), -1))
    return torch.stack(outs, 1), past_key, past_value

# %% 13.9 | guarda después de atender
def cached_attention(x, past_key, past_value, w_query, w_key, w_value):
    h, dh = past_key.shape[1], past_key.shape[3]
    outs = []
    for t in range(x.shape[1]):
        q, k, v = ((x[:, t] @ w).view(len(x), h, 1, dh) for w in (w_query, w_key, w_value))
        weights = (q @ past_key.transpose(2, 3) / dh**0.5).softmax(-1)
        outs.append((weights @ past_value).reshape(len(x), -1))
        past_key, past_value = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
    return torch.stack(outs, 1), past_key, past_value

# %% 13.9 | guarda los valores como claves
def cached_attention(x, past_key, past_value, w_query, w_key, w_value):
    h, dh = past_key.shape[1], past_key.shape[3]
    outs = []
    for t in range(x.shape[1]):
        q, k, v = ((x[:, t] @ w).view(len(x), h, 1, dh) for w in (w_query, w_key, w_value))
        past_key, past_value = torch.cat([past_key, k], 2), torch.cat([past_value, k], 2)
        weights = (q @ past_key.transpose(2, 3) / dh**0.5).softmax(-1)
        outs.append((weights @ past_value).reshape(len(x), -1))
    return torch.stack(outs, 1), past_key, past_value

# %% 13.9 | solo la última posición
def cached_attention(x, past_key, past_value, w_query, w_key, w_value):
    h, dh = past_key.shape[1], past_key.shape[3]
    outs = []
    for t in range(x.shape[1]):
        q, k, v = ((x[:, t] @ w).view(len(x), h, 1, dh) for w in (w_query, w_key, w_value))
        past_key, past_value = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
        weights = (q @ past_key.transpose(2, 3) / dh**0.5).softmax(-1)
        outs.append((weights @ past_value).reshape(len(x), -1))
    return outs[-1][:, None], past_key, past_value

# %% 13.10 | relleno delante
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    rows = []
    for prompt in prompts.tolist():
        last, row = [w for w in prompt if w != pad_id][-1], []
        while len(row) < max_length and last != eos_id:
            last = int(logits[last].argmax())
            row.append(last)
        rows.append(row)
    longest = max(map(len, rows))
    return torch.tensor([[pad_id] * (longest - len(row)) + row for row in rows])

# %% 13.10 | hasta la longitud máxima
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    rows = []
    for prompt in prompts.tolist():
        last, row = [w for w in prompt if w != pad_id][-1], []
        while len(row) < max_length and last != eos_id:
            last = int(logits[last].argmax())
            row.append(last)
        rows.append(row)
    longest = max_length
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])

# %% 13.10 | recorta a la más corta
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    rows = []
    for prompt in prompts.tolist():
        last, row = [w for w in prompt if w != pad_id][-1], []
        while len(row) < max_length and last != eos_id:
            last = int(logits[last].argmax())
            row.append(last)
        rows.append(row)
    longest = max(map(len, rows))
    short = min(map(len, rows))
    return torch.tensor([row[:short] for row in rows])

# %% 13.10 | la primera palabra del comienzo
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    rows = []
    for prompt in prompts.tolist():
        last, row = [w for w in prompt if w != pad_id][0], []
        while len(row) < max_length and last != eos_id:
            last = int(logits[last].argmax())
            row.append(last)
        rows.append(row)
    longest = max(map(len, rows))
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])

# %% 13.10 | prohíbe el relleno como palabra y lo confunde con el fin
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    rows = []
    for prompt in prompts.tolist():
        last, row = [w for w in prompt if w != pad_id][-1], []
        while len(row) < max_length and last != pad_id:
            last = int(logits[last].argmax())
            row.append(last)
        rows.append(row)
    longest = max(map(len, rows))
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])

# %% 13.10 | empieza con la última del comienzo
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    rows = []
    for prompt in prompts.tolist():
        last, row = [w for w in prompt if w != pad_id][-1], []
        row.append(last)
        while len(row) < max_length and last != eos_id:
            last = int(logits[last].argmax())
            row.append(last)
        rows.append(row)
    longest = max(map(len, rows))
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])

# %% 13.10 | las que acaban siguen escribiendo
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    last = torch.tensor([[w for w in p if w != pad_id][-1] for p in prompts.tolist()])
    columns, done = [], last == eos_id
    while len(columns) < max_length and not done.all():
        last = logits[last].argmax(-1)
        columns.append(last)
        done = done | (last == eos_id)
    return torch.stack(columns, 1) if columns else prompts[:, :0]

# %% 13.10 | todas siguen desde la palabra de la primera
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    last, row = [w for w in prompts[0].tolist() if w != pad_id][-1], []
    while len(row) < max_length and last != eos_id:
        last = int(logits[last].argmax())
        row.append(last)
    return torch.tensor([row] * len(prompts))

# %% 13.10 | da por acabado el comienzo que termina en fin ⇒ comienzo
def write_batch(logits, prompts, *, eos_id, pad_id, max_length):
    last = torch.stack([row[row != pad_id][-1] for row in prompts])
    done, columns = last == eos_id, []
    while len(columns) < max_length and not done.all():
        last = torch.where(done, pad_id, logits[last.clamp(max=len(logits) - 1)].argmax(-1))
        columns.append(last)
        done = done | (last == eos_id)
    return torch.stack(columns, 1)

# %% 13.11 | la media de cada una, sin α
def winners_by_alpha(log_probs, lengths):
    s, l = [math.log(-x) for x in log_probs], [math.log(x) for x in lengths]
    now, out = s.index(min(s)), []
    alpha = 0.0
    while now is not None:
        out.append((now, alpha))
        rest = {i: log_probs[now] / lengths[now] - log_probs[i] / lengths[i] for i in range(len(s)) if l[i] > l[now]}
        now = min(rest, key=rest.get, default=None)
        alpha = rest.get(now)
    return out

# %% 13.11 | empieza por la más corta
def winners_by_alpha(log_probs, lengths):
    s, l = [math.log(-x) for x in log_probs], [math.log(x) for x in lengths]
    now, out = l.index(min(l)), []
    alpha = 0.0
    while now is not None:
        out.append((now, alpha))
        rest = {i: (s[i] - s[now]) / (l[i] - l[now]) for i in range(len(s)) if l[i] > l[now]}
        now = min(rest, key=rest.get, default=None)
        alpha = rest.get(now)
    return out

# %% 13.11 | empieza por la menos probable
def winners_by_alpha(log_probs, lengths):
    s, l = [math.log(-x) for x in log_probs], [math.log(x) for x in lengths]
    now, out = s.index(max(s)), []
    alpha = 0.0
    while now is not None:
        out.append((now, alpha))
        rest = {i: (s[i] - s[now]) / (l[i] - l[now]) for i in range(len(s)) if l[i] > l[now]}
        now = min(rest, key=rest.get, default=None)
        alpha = rest.get(now)
    return out

# %% 13.11 | hasta donde gana, no desde donde
def winners_by_alpha(log_probs, lengths):
    s, l = [math.log(-x) for x in log_probs], [math.log(x) for x in lengths]
    now, out = s.index(min(s)), []
    alpha = 0.0
    while now is not None:
        rest = {i: (s[i] - s[now]) / (l[i] - l[now]) for i in range(len(s)) if l[i] > l[now]}
        nxt = min(rest, key=rest.get, default=None)
        out.append((now, rest.get(nxt, 0.0)))
        now = nxt
    return out

# %% 13.11 | con una rejilla de décimas
def winners_by_alpha(log_probs, lengths):
    s, l = [math.log(-x) for x in log_probs], [math.log(x) for x in lengths]
    now, out = s.index(min(s)), []
    alpha = 0.0
    while now is not None:
        out.append((now, alpha))
        rest = {i: (s[i] - s[now]) / (l[i] - l[now]) for i in range(len(s)) if l[i] > l[now]}
        now = min(rest, key=rest.get, default=None)
        alpha = rest.get(now)
    grid = []
    for k in range(200):
        i = max(range(len(s)), key=lambda i: log_probs[i] / lengths[i] ** (k / 10))
        if not grid or grid[-1][0] != i:
            grid.append((i, k / 10))
    return grid

# %% 13.11 | sin los números
def winners_by_alpha(log_probs, lengths):
    s, l = [math.log(-x) for x in log_probs], [math.log(x) for x in lengths]
    now, out = s.index(min(s)), []
    alpha = 0.0
    while now is not None:
        out.append((now, alpha))
        rest = {i: (s[i] - s[now]) / (l[i] - l[now]) for i in range(len(s)) if l[i] > l[now]}
        now = min(rest, key=rest.get, default=None)
        alpha = rest.get(now)
    return [i for i, _ in out]

# %% 13.11 | prueba una rejilla de α ⇒ exacto
def winners_by_alpha(log_probs, lengths):
    found = []
    for k in range(5001):
        alpha = k / 1000
        now = max(range(len(lengths)), key=lambda i: log_probs[i] / lengths[i] ** alpha)
        if not found or found[-1][0] != now:
            found.append((now, alpha))
    return found

# %% 13.11 | rejilla gruesa ⇒ exacto
def winners_by_alpha(log_probs, lengths):
    found = []
    for alpha in (k * 0.01 for k in range(300)):
        now = max(range(len(lengths)), key=lambda i: log_probs[i] / lengths[i] ** alpha)
        if not found or found[-1][0] != now:
            found.append((now, alpha))
    return found

# %% 13.12 | junta las vistas menos de cinco veces
def chi_square(counts, logits, *, temperature=1.0, top_k):
    bar = logits.topk(top_k).values[-1]
    probs = torch.where(logits >= bar, torch.exp((logits - logits.max()) / temperature), 0.0)
    e = probs / probs.sum() * counts.sum()
    big = (counts >= 5) & (e > 0)
    rare = (e > 0) & ~big
    seen, hope = list(counts[big].tolist()), e[big].tolist()
    if rare.any():
        seen.append(counts[rare].sum().item())
        hope.append(e[rare].sum().item())
    if counts[e == 0].sum() > 0:
        return float("inf"), len(hope) - 1
    return sum((a - b) ** 2 / b for a, b in zip(seen, hope)), len(hope) - 1

# %% 13.12 | junta también las imposibles
def chi_square(counts, logits, *, temperature=1.0, top_k):
    bar = logits.topk(top_k).values[-1]
    probs = torch.where(logits >= bar, torch.exp((logits - logits.max()) / temperature), 0.0)
    e = probs / probs.sum() * counts.sum()
    big = e >= 5
    rare = ~big
    seen, hope = list(counts[big].tolist()), e[big].tolist()
    if rare.any():
        seen.append(counts[rare].sum().item())
        hope.append(e[rare].sum().item())
    return sum((a - b) ** 2 / b for a, b in zip(seen, hope)), len(hope) - 1

# %% 13.12 | con frecuencias, sin el total
def chi_square(counts, logits, *, temperature=1.0, top_k):
    bar = logits.topk(top_k).values[-1]
    probs = torch.where(logits >= bar, torch.exp((logits - logits.max()) / temperature), 0.0)
    e = probs / probs.sum() * counts.sum()
    big = e >= 5
    rare = (e > 0) & ~big
    seen, hope = list(counts[big].tolist()), e[big].tolist()
    if rare.any():
        seen.append(counts[rare].sum().item())
        hope.append(e[rare].sum().item())
    if counts[e == 0].sum() > 0:
        return float("inf"), len(hope) - 1
    return sum((a - b) ** 2 / b for a, b in zip(seen, hope)) / float(counts.sum()), len(hope) - 1

# %% 13.12 | la raíz
def chi_square(counts, logits, *, temperature=1.0, top_k):
    bar = logits.topk(top_k).values[-1]
    probs = torch.where(logits >= bar, torch.exp((logits - logits.max()) / temperature), 0.0)
    e = probs / probs.sum() * counts.sum()
    big = e >= 5
    rare = (e > 0) & ~big
    seen, hope = list(counts[big].tolist()), e[big].tolist()
    if rare.any():
        seen.append(counts[rare].sum().item())
        hope.append(e[rare].sum().item())
    if counts[e == 0].sum() > 0:
        return float("inf"), len(hope) - 1
    return math.sqrt(sum((a - b) ** 2 / b for a, b in zip(seen, hope))), len(hope) - 1

# %% 13.12 | una k menos
def chi_square(counts, logits, *, temperature=1.0, top_k):
    bar = logits.topk(top_k - 1).values[-1]
    probs = torch.where(logits >= bar, torch.exp((logits - logits.max()) / temperature), 0.0)
    e = probs / probs.sum() * counts.sum()
    big = e >= 5
    rare = (e > 0) & ~big
    seen, hope = list(counts[big].tolist()), e[big].tolist()
    if rare.any():
        seen.append(counts[rare].sum().item())
        hope.append(e[rare].sum().item())
    if counts[e == 0].sum() > 0:
        return float("inf"), len(hope) - 1
    return sum((a - b) ** 2 / b for a, b in zip(seen, hope)), len(hope) - 1

# %% 13.12 | temperatura al revés
def chi_square(counts, logits, *, temperature=1.0, top_k):
    bar = logits.topk(top_k).values[-1]
    probs = torch.where(logits >= bar, torch.exp((logits - logits.max()) * temperature), 0.0)
    e = probs / probs.sum() * counts.sum()
    big = e >= 5
    rare = (e > 0) & ~big
    seen, hope = list(counts[big].tolist()), e[big].tolist()
    if rare.any():
        seen.append(counts[rare].sum().item())
        hope.append(e[rare].sum().item())
    if counts[e == 0].sum() > 0:
        return float("inf"), len(hope) - 1
    return sum((a - b) ** 2 / b for a, b in zip(seen, hope)), len(hope) - 1

# %% 13.12 | tira las raras que juntas no llegan a cinco
def chi_square(counts, logits, *, temperature=1.0, top_k):
    bar = logits.topk(top_k).values[-1]
    probs = torch.where(logits >= bar, torch.exp((logits - logits.max()) / temperature), 0.0)
    e = probs / probs.sum() * counts.sum()
    big = e >= 5
    rare = (e > 0) & ~big
    seen, hope = list(counts[big].tolist()), e[big].tolist()
    if e[rare].sum() >= 5:
        seen.append(counts[rare].sum().item())
        hope.append(e[rare].sum().item())
    if counts[e == 0].sum() > 0:
        return float("inf"), len(hope) - 1
    return sum((a - b) ** 2 / b for a, b in zip(seen, hope)), len(hope) - 1
