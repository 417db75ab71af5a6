"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 16.1 | truncadas en lugar de redondeadas
bits_by_hand = {"bits": 8, "nats": 1.38, "perplexity": 4, "bpc": 0.66, "other": 0.75}

# %% 16.1 | nats por carácter en dos sitios ⇒ `bpc` se pide en bits, no en nats
bits_by_hand = {"bits": 8, "nats": 1.39, "perplexity": 4, "bpc": 0.462, "other": 0.52}

# %% 16.1 | la suma de las probabilidades
bits_by_hand = {"bits": 1.125, "nats": 0.28, "perplexity": 1.32, "bpc": 0.09, "other": 0.24}

# %% 16.1 | el logaritmo de la media
bits_by_hand = {"bits": 7.32, "nats": 1.27, "perplexity": 3.56, "bpc": 0.61, "other": 0.75}

# %% 16.1 | con el signo cambiado
bits_by_hand = {"bits": -8, "nats": -1.39, "perplexity": 0.25, "bpc": -0.67, "other": -0.75}

# %% 16.1 | el otro, dividido entre sus tokens ⇒ por el texto entero
bits_by_hand = {"bits": 8, "nats": 1.39, "perplexity": 4, "bpc": 0.67, "other": 0.125}

# %% 16.2 | media de las pérdidas de cada fila
def next_token_loss(logits, ids, pad_id=None):
    rows = []
    for scores, tokens in zip(logits, ids):
        log_p = scores[:-1].log_softmax(-1)[torch.arange(len(tokens) - 1), tokens[1:]]
        keep = torch.ones_like(tokens[1:], dtype=torch.bool) if pad_id is None else tokens[1:] != pad_id
        rows.append(-log_p[keep].sum())
    return torch.stack(rows).mean()

# %% 16.2 | corre dos sitios
def next_token_loss(logits, ids, pad_id=None):
    shift = min(2, ids.shape[1] - 1)
    log_p = logits[:, :-shift].log_softmax(-1)
    labels = ids[:, shift:]
    nats = -log_p.gather(-1, labels[..., None])[..., 0]
    return nats.mean() if pad_id is None else nats[labels != pad_id].mean()

# %% 16.2 | prohíbe el relleno como palabra
def next_token_loss(logits, ids, pad_id=None):
    logits = logits.clone()
    if pad_id is not None:
        logits[..., pad_id] = -math.inf
    log_p = logits[:, :-1].log_softmax(-1)
    labels = ids[:, 1:]
    nats = -log_p.gather(-1, labels[..., None])[..., 0]
    return nats.mean() if pad_id is None else nats[labels != pad_id].mean()

# %% 16.2 | acota la probabilidad
def next_token_loss(logits, ids, pad_id=None):
    p = logits[:, :-1].softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    nats = -(p + 1e-9).log()
    return nats.mean() if pad_id is None else nats[ids[:, 1:] != pad_id].mean()

# %% 16.2 | la perplejidad
def next_token_loss(logits, ids, pad_id=None):
    nats = -logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    return (nats.mean() if pad_id is None else nats[ids[:, 1:] != pad_id].mean()).exp()

# %% 16.2 | solo la última palabra
def next_token_loss(logits, ids, pad_id=None):
    nats = -logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    last = torch.full((len(ids),), ids.shape[1] - 2) if pad_id is None else (ids != pad_id).sum(1) - 2
    return nats[torch.arange(len(ids)), last].mean()

# %% 16.3 | no cambia
without_mask = "no cambia"

# %% 16.3 | sube ⇒ no estorba al entrenar
without_mask = "sube"

# %% 16.3 | mejor ⇒ al escribir aún no existe
without_mask = "baja y escribe mejor"

# %% 16.3 | fuera de las opciones
without_mask = "baja"

# %% 16.3 | un número
without_mask = 4

# %% 16.4 | suma uno a todo
def kneser_ney_bigram(ids, vocab, discount=0.75):
    counts = torch.ones(vocab, vocab, dtype=torch.float64)
    for a, b in zip(ids[:-1].tolist(), ids[1:].tolist()):
        counts[a, b] += 1
    return counts / counts.sum(1, keepdim=True)

# %% 16.4 | la frecuencia sin suavizar
def kneser_ney_bigram(ids, vocab, discount=0.75):
    counts = torch.zeros(vocab, vocab, dtype=torch.float64)
    for a, b in zip(ids[:-1].tolist(), ids[1:].tolist()):
        counts[a, b] += 1
    return counts / counts.sum(1, keepdim=True).clamp(min=1)

# %% 16.4 | interpola con un peso fijo
def kneser_ney_bigram(ids, vocab, discount=0.75):
    counts = torch.zeros(vocab, vocab, dtype=torch.float64)
    for a, b in zip(ids[:-1].tolist(), ids[1:].tolist()):
        counts[a, b] += 1
    kinds = (counts > 0).double()
    rows = counts / counts.sum(1, keepdim=True).clamp(min=1)
    return (1 - discount) * rows + discount * kinds.sum(0) / kinds.sum()

# %% 16.4 | normaliza al final
def kneser_ney_bigram(ids, vocab, discount=0.75):
    counts = torch.zeros(vocab, vocab, dtype=torch.float64)
    for a, b in zip(ids[:-1].tolist(), ids[1:].tolist()):
        counts[a, b] += 1
    kinds = (counts > 0).double()
    rows = (counts - discount).relu() + kinds.sum(0) / kinds.sum()
    return rows / rows.sum(1, keepdim=True)

# %% 16.4 | reparte según lo que queda tras descontar
def kneser_ney_bigram(ids, vocab, discount=0.75):
    counts = torch.zeros(vocab, vocab, dtype=torch.float64)
    for a, b in zip(ids[:-1].tolist(), ids[1:].tolist()):
        counts[a, b] += 1
    left = (counts - discount).relu()
    share = left.sum(0) / left.sum()
    rows = left / counts.sum(1, keepdim=True).clamp(min=1)
    return rows + (1 - rows.sum(1, keepdim=True)) * share

# %% 16.4 | la vuelta: del último al primero
def kneser_ney_bigram(ids, vocab, discount=0.75):
    counts = torch.zeros(vocab, vocab, dtype=torch.float64)
    for a, b in zip(ids.tolist(), ids.roll(-1).tolist()):
        counts[a, b] += 1
    kinds = (counts > 0).double()
    rows = (counts - discount).relu() / counts.sum(1, keepdim=True).clamp(min=1)
    return rows + (1 - rows.sum(1, keepdim=True)) * kinds.sum(0) / kinds.sum()

# %% 16.4 | solo la fila que no tiene nada recibe el reparto ⇒ Falta repartir lo quitado
def kneser_ney_bigram(ids, vocab, discount=0.75):
    counts = torch.zeros(vocab, vocab, dtype=torch.float64)
    for a, b in zip(ids[:-1].tolist(), ids[1:].tolist()):
        counts[a, b] += 1
    share = (counts > 0).sum(0).double() / (counts > 0).sum()
    times = counts.sum(1, keepdim=True)
    return torch.where(times > 0, (counts - discount).relu() / times, share)

# %% 16.5 | cuenta también el primer token
def windowed_bpc(log_probs, characters, *, window, stride):
    last, done, start, nats = len(log_probs) - 1, 0, 0, -float(log_probs[0, 0])
    while done < last:
        start = min(start, max(0, last - window))
        end = min(start + window, last)
        nats -= float(log_probs[start, done + 1 : end + 1].sum())
        done, start = end, start + stride
    return nats / math.log(2) / characters

# %% 16.5 | el mejor contexto de todos: justo los anteriores
def windowed_bpc(log_probs, characters, *, window, stride):
    nats = -sum(float(log_probs[max(0, t - window), t]) for t in range(1, len(log_probs)))
    return nats / math.log(2) / characters

# %% 16.5 | la media de los bits por carácter de cada ventana
def windowed_bpc(log_probs, characters, *, window, stride):
    last = len(log_probs) - 1
    starts = [*range(0, max(last - window, 0), stride), max(last - window, 0)]
    each = [-float(log_probs[i, i + 1 : i + window + 1].mean()) for i in starts]
    return sum(each) / len(each) / math.log(2) * last / characters

# %% 16.5 | divide entre los caracteres menos uno
def windowed_bpc(log_probs, characters, *, window, stride):
    last, done, start, nats = len(log_probs) - 1, 0, 0, 0.0
    while done < last:
        start = min(start, max(0, last - window))
        end = min(start + window, last)
        nats -= float(log_probs[start, done + 1 : end + 1].sum())
        done, start = end, start + stride
    return nats / math.log(2) / (characters - 1)

# %% 16.5 | deja fuera lo que sobra al final
def windowed_bpc(log_probs, characters, *, window, stride):
    last = len(log_probs) - 1
    done, nats = 0, 0.0
    for start in range(0, max(last - window, 0) + 1, stride):
        end = min(start + window, last)
        nats -= float(log_probs[start, done + 1 : end + 1].sum())
        done = end
    return nats / math.log(2) / characters

# %% 16.5 | la transpuesta
def windowed_bpc(log_probs, characters, *, window, stride):
    last, done, start, nats = len(log_probs) - 1, 0, 0, 0.0
    while done < last:
        start = min(start, max(0, last - window))
        end = min(start + window, last)
        nats -= float(log_probs[done + 1 : end + 1, start].sum())
        done, start = end, start + stride
    return nats / math.log(2) / characters

# %% 16.6 | el bloque redondeado a doce
def deepest_gpt(budget, *, vocab, context, d_model, tied=True):
    rest = (vocab + context) * d_model + (0 if tied else vocab * d_model)
    layers = (budget - rest) // (12 * d_model**2)
    return layers, rest + layers * 12 * d_model**2

# %% 16.6 | el codificador y el decodificador del capítulo 11
def deepest_gpt(budget, *, vocab, context, d_model, tied=True):
    block = 16 * d_model**2 + 19 * d_model
    rest = (vocab * (1 if tied else 2) + context + 2) * d_model
    return (budget - rest) // block, rest + (budget - rest) // block * block

# %% 16.6 | posiciones que no se aprenden y salida atada
def deepest_gpt(budget, *, vocab, context, d_model, tied=True):
    block = 12 * d_model**2 + 13 * d_model
    rest = (vocab + 2) * d_model
    return (budget - rest) // block, rest + (budget - rest) // block * block

# %% 16.6 | la red densa sin ensanchar
def deepest_gpt(budget, *, vocab, context, d_model, tied=True):
    block = 6 * d_model**2 + 10 * d_model
    rest = (vocab * (1 if tied else 2) + context + 2) * d_model
    return (budget - rest) // block, rest + (budget - rest) // block * block

# %% 16.6 | cambia el orden ⇒ no reconozco este error
def deepest_gpt(budget, *, vocab, context, d_model, tied=True):
    block = 12 * d_model**2 + 13 * d_model
    rest = (vocab * (1 if tied else 2) + context + 2) * d_model
    return rest + (budget - rest) // block * block, (budget - rest) // block

# %% 16.6 | al menos una capa
def deepest_gpt(budget, *, vocab, context, d_model, tied=True):
    block = 12 * d_model**2 + 13 * d_model
    rest = (vocab * (1 if tied else 2) + context + 2) * d_model
    layers = max(1, (budget - rest) // block)
    return layers, rest + layers * block

# %% 16.7 | lo que sigue al anterior, menos el reparto por igual
def induction_scores(weights, ids):
    last, looks = {}, []
    for i, token in enumerate(ids.tolist()):
        if token in last:
            looks.append(weights[:, i, last[token] + 1] - 1 / (i + 1))
        last[token] = i
    return torch.stack(looks).mean(0)

# %% 16.7 | suma el token igual y el que le siguió
def induction_scores(weights, ids):
    last, looks = {}, []
    tokens = ids.tolist()
    for i, token in enumerate(tokens):
        if token in last:
            looks.append(weights[:, i, last[token]] + weights[:, i, last[token] + 1])
        last[token] = i
    return torch.stack(looks).mean(0)

# %% 16.7 | con el último de todo el texto
def induction_scores(weights, ids):
    tokens, looks = ids.tolist(), []
    place = {token: i for i, token in enumerate(tokens)}
    for i, token in enumerate(tokens):
        if token in tokens[:i]:
            looks.append(weights[:, i, min(place[token] + 1, len(tokens) - 1)])
    return torch.stack(looks).mean(0)

# %% 16.7 | apunta antes de mirar
def induction_scores(weights, ids):
    last, looks = {}, []
    for i, token in enumerate(ids.tolist()):
        seen = token in last
        last[token] = i
        if seen:
            looks.append(weights[:, i, min(last[token] + 1, len(ids) - 1)])
    return torch.stack(looks).mean(0)

# %% 16.7 | la media de las medias de cada token
def induction_scores(weights, ids):
    last, looks = {}, {}
    for i, token in enumerate(ids.tolist()):
        if token in last:
            looks.setdefault(token, []).append(weights[:, i, last[token] + 1])
        last[token] = i
    return torch.stack([torch.stack(v).mean(0) for v in looks.values()]).mean(0)

# %% 16.7 | la raíz del peso
def induction_scores(weights, ids):
    last, looks = {}, []
    for i, token in enumerate(ids.tolist()):
        if token in last:
            looks.append(weights[:, i, last[token] + 1].sqrt())
        last[token] = i
    return torch.stack(looks).mean(0)

# %% 16.7 | la vez de hace dos ⇒ la última aparición
def induction_scores(weights, ids):
    where, looks = {}, []
    for i, token in enumerate(ids.tolist()):
        if where.get(token):
            looks.append(weights[:, i, where[token][0] + 1])
        where.setdefault(token, []).append(i)
    return torch.stack(looks).mean(0)

# %% 16.8 | la recta por los dos extremos
def extrapolate(sizes, losses, size, t=2.0):
    x, y = sizes.log(), losses.log()
    slope = (y[-1] - y[0]) / (x[-1] - x[0])
    height = y[0] - slope * x[0]
    s = ((y - height - slope * x).square().sum() / (len(x) - 2)).sqrt()
    far = math.log(size) - x.mean()
    half = t * s * (1 + 1 / len(x) + far**2 / (x - x.mean()).square().sum()).sqrt()
    middle = height + slope * math.log(size)
    return float(height.exp()), float(-slope), float((middle - half).exp()), float((middle + half).exp())

# %% 16.8 | el error típico de la pendiente y nada más
def extrapolate(sizes, losses, size, t=2.0):
    x, y = sizes.log(), losses.log()
    c = x - x.mean()
    slope = (c * y).sum() / (c * c).sum()
    a = (y.mean() - slope * x.mean()).exp()
    s = ((y - y.mean() - slope * c).square().sum() / (len(x) - 2)).sqrt()
    e = t * s / (c * c).sum().sqrt()
    return float(a), float(-slope), float(a * size ** (slope - e)), float(a * size ** (slope + e))

# %% 16.8 | lejos del último y no del centro
def extrapolate(sizes, losses, size, t=2.0):
    x, y = sizes.log(), losses.log()
    c = x - x.mean()
    slope = (c * y).sum() / (c * c).sum()
    a = (y.mean() - slope * x.mean()).exp()
    s = ((y - y.mean() - slope * c).square().sum() / (len(x) - 2)).sqrt()
    half = t * s * (1 + 1 / len(x) + (math.log(size) - x[-1]) ** 2 / (c * c).sum()).sqrt()
    best = a * size**slope
    return float(a), float(-slope), float(best * (-half).exp()), float(best * half.exp())

# %% 16.8 | la varianza de las distancias y no su suma
def extrapolate(sizes, losses, size, t=2.0):
    x, y = sizes.log(), losses.log()
    c = x - x.mean()
    slope = (c * y).sum() / (c * c).sum()
    a = (y.mean() - slope * x.mean()).exp()
    s = ((y - y.mean() - slope * c).square().sum() / (len(x) - 2)).sqrt()
    half = t * s * (1 + 1 / len(x) + (math.log(size) - x.mean()) ** 2 / (c * c).mean()).sqrt()
    best = a * size**slope
    return float(a), float(-slope), float(best * (-half).exp()), float(best * half.exp())

# %% 16.8 | la recta al revés, de la pérdida al tamaño
def extrapolate(sizes, losses, size, t=2.0):
    x, y = sizes.log(), losses.log()
    c, d = x - x.mean(), y - y.mean()
    slope = (d * d).sum() / (c * d).sum()
    a = (y.mean() - slope * x.mean()).exp()
    s = ((d - slope * c).square().sum() / (len(x) - 2)).sqrt()
    half = t * s * (1 + 1 / len(x) + (math.log(size) - x.mean()) ** 2 / (c * c).sum()).sqrt()
    best = a * size**slope
    return float(a), float(-slope), float(best * (-half).exp()), float(best * half.exp())

# %% 16.8 | el error, en pérdidas y no en logaritmos
def extrapolate(sizes, losses, size, t=2.0):
    x, y = sizes.log(), losses.log()
    c = x - x.mean()
    slope = (c * y).sum() / (c * c).sum()
    a = (y.mean() - slope * x.mean()).exp()
    s = ((losses - a * sizes**slope).square().sum() / (len(x) - 2)).sqrt()
    half = t * s * (1 + 1 / len(x) + (math.log(size) - x.mean()) ** 2 / (c * c).sum()).sqrt()
    best = a * size**slope
    return float(a), float(-slope), float(best - half), float(best + half)
