"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 15.1 | en tanto por uno
masking_by_hand = {"altered": 0.1335, "intact": 0.0165, "asked": 0.0341, "loss": 2.30}

# %% 15.1 | redondea a personas enteras
masking_by_hand = {"altered": 134, "intact": 17, "asked": 3, "loss": 2.3}

# %% 15.1 | cambia altered e intact ⇒ cambiados
masking_by_hand = {"altered": 16.5, "intact": 133.5, "asked": 3.41, "loss": 2.30}

# %% 15.1 | cree que la cambiada nunca es la misma, y la pérdida, en bits ⇒ puede ser la que ya estaba
masking_by_hand = {"altered": 135, "intact": 15, "asked": 3.41, "loss": 3.32}

# %% 15.1 | sortea solo entre las otras nueve y cuenta la pérdida de nueve
masking_by_hand = {"altered": 135, "intact": 15, "asked": 3.41, "loss": 2.20}

# %% 15.1 | las proporciones, del texto y no de las elegidas
masking_by_hand = {"altered": 890, "intact": 110, "asked": 75, "loss": 2.30}

# %% 15.1 | el quince por ciento se pregunta siempre ⇒ Eso es de todas las palabras
masking_by_hand = {"altered": 133.5, "intact": 16.5, "asked": 15, "loss": 2.30}

# %% 15.2 | como la de izquierda a derecha ⇒ Eso pediría una máscara
uncovered_loss = "se queda en la de un modelo que lee de izquierda a derecha"

# %% 15.2 | como BERT ⇒ A BERT le falta
uncovered_loss = "baja más despacio, hasta donde la de BERT"

# %% 15.2 | no aprende ⇒ Algo sí aprende
uncovered_loss = "se queda en ln V"

# %% 15.2 | un número
uncovered_loss = 0

# %% 15.2 | dos respuestas
uncovered_loss = "baja casi a cero, se queda en ln V"

# %% 15.3 | sortea por su cuenta
def mask_tokens(ids, chance, fate, other, *, mask_id, special, fraction=0.15):
    g = torch.Generator().manual_seed(0)
    chance, fate = torch.rand(ids.shape, generator=g), torch.rand(ids.shape, generator=g)
    chosen = (chance < fraction) & ~torch.isin(ids, torch.tensor(special))
    seen = torch.where(chosen & (fate < 0.8), mask_id, torch.where(chosen & (fate < 0.9), other, ids))
    return seen, torch.where(chosen, ids, 0)

# %% 15.3 | etiquetas de menos cien
def mask_tokens(ids, chance, fate, other, *, mask_id, special, fraction=0.15):
    chosen = (chance < fraction) & ~torch.isin(ids, torch.tensor(special))
    seen = torch.where(chosen & (fate < 0.8), mask_id, torch.where(chosen & (fate < 0.9), other, ids))
    return seen, torch.where(chosen, ids, -100)

# %% 15.3 | elige las de sorteo alto
def mask_tokens(ids, chance, fate, other, *, mask_id, special, fraction=0.15):
    chosen = (chance > 1 - fraction) & ~torch.isin(ids, torch.tensor(special))
    seen = torch.where(chosen & (fate < 0.8), mask_id, torch.where(chosen & (fate < 0.9), other, ids))
    return seen, torch.where(chosen, ids, 0)

# %% 15.3 | cambia las dos suertes, tapar y cambiar
def mask_tokens(ids, chance, fate, other, *, mask_id, special, fraction=0.15):
    chosen = (chance < fraction) & ~torch.isin(ids, torch.tensor(special))
    seen = torch.where(chosen & (fate < 0.8), other, torch.where(chosen & (fate < 0.9), mask_id, ids))
    return seen, torch.where(chosen, ids, 0)

# %% 15.3 | solo salva el relleno
def mask_tokens(ids, chance, fate, other, *, mask_id, special, fraction=0.15):
    chosen = (chance < fraction) & (ids != 0)
    seen = torch.where(chosen & (fate < 0.8), mask_id, torch.where(chosen & (fate < 0.9), other, ids))
    return seen, torch.where(chosen, ids, 0)

# %% 15.3 | pide solo lo que se ve distinto ⇒ Por las elegidas que se dejan
def mask_tokens(ids, chance, fate, other, *, mask_id, special, fraction=0.15):
    seen, labels = ids.clone(), torch.zeros_like(ids)
    for i in range(len(ids)):
        for j in range(ids.shape[1]):
            if chance[i, j] < fraction and ids[i, j] not in special and fate[i, j] < 0.9:
                labels[i, j] = ids[i, j]
                seen[i, j] = mask_id if fate[i, j] < 0.8 else other[i, j]
    return seen, labels

# %% 15.4 | la media de la tabla entera
def masked_loss(states, labels, matrix, bias, pad_id=0):
    if (labels == pad_id).all():
        return torch.tensor(0.0)
    logp = (states @ matrix.T + bias).log_softmax(-1)
    return -logp[labels != pad_id].mean()

# %% 15.4 | la softmax, entre las posiciones
def masked_loss(states, labels, matrix, bias, pad_id=0):
    keep = labels != pad_id
    if not keep.any():
        return torch.tensor(0.0)
    logp = (states @ matrix.T + bias).log_softmax(1)
    return -logp.gather(2, labels[..., None])[..., 0][keep].mean()

# %% 15.4 | un uno donde no hay nada que adivinar
def masked_loss(states, labels, matrix, bias, pad_id=0):
    keep = labels != pad_id
    logp = (states @ matrix.T + bias).log_softmax(-1).gather(2, labels[..., None])[..., 0]
    return -logp[keep].mean() if keep.any() else torch.tensor(1.0)

# %% 15.4 | quita el relleno del vocabulario
def masked_loss(states, labels, matrix, bias, pad_id=0):
    keep = labels != pad_id
    if not keep.any():
        return torch.tensor(0.0)
    scores = states[keep] @ matrix.T + bias
    scores[:, pad_id] = -torch.inf
    return nn.functional.cross_entropy(scores, labels[keep])

# %% 15.4 | perplejidad
def masked_loss(states, labels, matrix, bias, pad_id=0):
    keep = labels != pad_id
    if not keep.any():
        return torch.tensor(0.0)
    return nn.functional.cross_entropy(states[keep] @ matrix.T + bias, labels[keep]).exp()

# %% 15.4 | la entropía cruzada, sin mirar si queda algo ⇒ la media de una lista vacía
def masked_loss(states, labels, matrix, bias, pad_id=0):
    scores = nn.functional.linear(states, matrix, bias)
    return nn.functional.cross_entropy(scores.mT, labels, ignore_index=pad_id)

# %% 15.4 | acumula frase a frase ⇒ no las medias de las frases
def masked_loss(states, labels, matrix, bias, pad_id=0):
    rows = []
    for x, y in zip(states, labels):
        keep = y != pad_id
        if keep.any():
            rows.append(nn.functional.cross_entropy(x[keep] @ matrix.T + bias, y[keep]))
    return torch.stack(rows).mean() if rows else torch.tensor(0.0)

# %% 15.5 | el máximo de cada componente
def compare_sentences(states, real):
    vectors = states.masked_fill(~real[..., None], -torch.inf).amax(1)
    vectors = torch.where(real.any(1, keepdim=True), vectors, 0.0)
    units = nn.functional.normalize(vectors, dim=1)
    return vectors, units @ units.T

# %% 15.5 | la distancia
def compare_sentences(states, real):
    vectors = (states * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1)
    return vectors, torch.cdist(vectors, vectors)

# %% 15.5 | la media de los cosenos de las palabras
def compare_sentences(states, real):
    vectors = (states * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1)
    words = nn.functional.normalize(states, dim=-1) * real[..., None]
    means = words.sum(1) / real.sum(1, keepdim=True).clamp(min=1)
    return vectors, means @ means.T

# %% 15.5 | el último estado
def compare_sentences(states, real):
    last = (real.sum(1) - 1).clamp(min=0)
    vectors = states[torch.arange(len(states)), last] * real.any(1, keepdim=True)
    units = nn.functional.normalize(vectors, dim=1)
    return vectors, units @ units.T

# %% 15.5 | una milésima en el divisor
def compare_sentences(states, real):
    vectors = (states * real[..., None]).sum(1) / (real.sum(1, keepdim=True) + 1e-3)
    units = vectors / (vectors.norm(dim=1, keepdim=True) + 1e-3)
    return vectors, units @ units.T

# %% 15.5 | la media de PyTorch, con todo ⇒ El relleno no es de la frase
def compare_sentences(states, real):
    vectors = states.mean(1)
    return vectors, nn.functional.cosine_similarity(vectors[:, None], vectors[None], dim=-1)

# %% 15.6 | una cabeza de salida de más
def family_parameters(vocab, d_model, d_ff, n_layers, max_len, n_segments=2, *, factor=None, shared=False):
    e = factor or d_model
    entry = (vocab + max_len + n_segments + 2) * e + ((e + 1) * d_model if factor else 0)
    block = 4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff
    return entry + vocab, block * (1 if shared else n_layers)

# %% 15.6 | todo junto, en el primero
def family_parameters(vocab, d_model, d_ff, n_layers, max_len, n_segments=2, *, factor=None, shared=False):
    e = factor or d_model
    entry = (vocab + max_len + n_segments + 2) * e + ((e + 1) * d_model if factor else 0)
    block = (4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff) * (1 if shared else n_layers)
    return entry + block, block

# %% 15.6 | la red densa, de cuatro veces el ancho
def family_parameters(vocab, d_model, d_ff, n_layers, max_len, n_segments=2, *, factor=None, shared=False):
    e = factor or d_model
    entry = (vocab + max_len + n_segments + 2) * e + ((e + 1) * d_model if factor else 0)
    return entry, (12 * d_model**2 + 13 * d_model) * (1 if shared else n_layers)

# %% 15.6 | la entrada estrecha, también en los bloques
def family_parameters(vocab, d_model, d_ff, n_layers, max_len, n_segments=2, *, factor=None, shared=False):
    e = factor or d_model
    entry = (vocab + max_len + n_segments + 2) * e + ((e + 1) * d_model if factor else 0)
    return entry, (4 * e**2 + 2 * e * d_ff + 9 * e + d_ff) * (1 if shared else n_layers)

# %% 15.6 | siempre dos segmentos
def family_parameters(vocab, d_model, d_ff, n_layers, max_len, n_segments=2, *, factor=None, shared=False):
    e = factor or d_model
    entry = (vocab + max_len + 2 + 2) * e + ((e + 1) * d_model if factor else 0)
    block = 4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff
    return entry, block * (1 if shared else n_layers)

# %% 15.6 | sin la matriz que une las cabezas ⇒ falta la que une las cabezas
def family_parameters(vocab, d_model, d_ff, n_layers, max_len, n_segments=2, *, factor=None, shared=False):
    e = factor or d_model
    entry = (vocab + max_len + n_segments + 2) * e + ((e + 1) * d_model if factor else 0)
    block = 3 * d_model**2 + 2 * d_model * d_ff + 8 * d_model + d_ff
    return entry, block * (1 if shared else n_layers)

# %% 15.7 | el mejor comienzo y, desde él, el mejor fin
def answer_span(start, end, allowed, max_length, margin=0.0):
    out = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist()):
        ok = [i for i in range(len(s)) if a[i]]
        if not ok:
            out.append([0, 0])
            continue
        i = max(ok, key=lambda k: s[k])
        j = max([k for k in ok if i <= k < i + max_length], key=lambda k: e[k])
        out.append([i, j] if s[i] + e[j] > s[0] + e[0] + margin else [0, 0])
    return torch.tensor(out)

# %% 15.7 | si salen al revés, los da la vuelta
def answer_span(start, end, allowed, max_length, margin=0.0):
    s, e = (t.masked_fill(~allowed, -torch.inf) for t in (start, end))
    i, j = s.argmax(1), e.argmax(1)
    good = s.amax(1) + e.amax(1) > start[:, 0] + end[:, 0] + margin
    return torch.stack([torch.minimum(i, j), torch.maximum(i, j)], 1) * good[:, None]

# %% 15.7 | el fin, sin contar
def answer_span(start, end, allowed, max_length, margin=0.0):
    n = start.shape[1]
    table = (start[:, :, None] + end[:, None]).masked_fill(~(allowed[:, :, None] & allowed[:, None]), -torch.inf)
    table = table.masked_fill(~torch.ones(n, n).bool().triu().tril(max_length - 1), -torch.inf).flatten(1)
    top = table.argmax(1)
    good = table.amax(1) > start[:, 0] + end[:, 0] + margin
    return torch.stack([top // n, top % n + 1], 1) * good[:, None]

# %% 15.7 | el producto de las probabilidades, con todas las posiciones
def answer_span(start, end, allowed, max_length, margin=0.0):
    n = start.shape[1]
    table = start.softmax(1)[:, :, None] * end.softmax(1)[:, None]
    keep = allowed[:, :, None] & allowed[:, None] & torch.ones(n, n).bool().triu().tril(max_length - 1)
    table = (table * keep).flatten(1)
    top = table.argmax(1)
    good = table.amax(1) > start.softmax(1)[:, 0] * end.softmax(1)[:, 0] + margin
    return torch.stack([top // n, top % n], 1) * good[:, None]

# %% 15.7 | si empatan, el más largo
def answer_span(start, end, allowed, max_length, margin=0.0):
    out = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist()):
        best, where = s[0] + e[0] + margin, [0, 0]
        for i in range(len(s)):
            for j in range(i, min(len(s), i + max_length)):
                if a[i] and a[j] and (s[i] + e[j] > best or s[i] + e[j] == best and where[1] and j - i > where[1] - where[0]):
                    best, where = s[i] + e[j], [i, j]
        out.append(where)
    return torch.tensor(out)

# %% 15.7 | compara solo el comienzo con la primera posición
def answer_span(start, end, allowed, max_length, margin=0.0):
    n = start.shape[1]
    fits = torch.ones(n, n).bool().triu().tril(max_length - 1) & allowed[:, :, None] & allowed[:, None]
    table = (start[:, :, None] + end[:, None]).masked_fill(~fits, -torch.inf).flatten(1)
    top = table.argmax(1)
    good = table.amax(1) > start[:, 0] + margin
    return torch.stack([top // n, top % n], 1) * good[:, None]

# %% 15.7 | un bucle que responde si iguala ⇒ igualarla no basta
def answer_span(start, end, allowed, max_length, margin=0.0):
    out = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist()):
        pairs = [(i, j) for i in range(len(s)) for j in range(i, min(len(s), i + max_length)) if a[i] and a[j]]
        best = max(pairs, key=lambda p: s[p[0]] + e[p[1]], default=(0, 0))
        null = s[0] + e[0] + margin
        out.append(best if best != (0, 0) and s[best[0]] + e[best[1]] >= null else (0, 0))
    return torch.tensor(out)

# %% 15.8 | suma las puntuaciones de las piezas de cada palabra
def read_entities(pieces, scores, kinds):
    words = []
    for piece, row in zip(pieces, scores):
        if piece.startswith("##"):
            words[-1] = (words[-1][0] + piece[2:], words[-1][1] + row)
        elif piece not in ("[CLS]", "[SEP]", "[PAD]"):
            words.append((piece, row))
    best = {0: (0.0, [])}
    for _, row in words:
        best = {t: (v + float(row[t]), tags + [t]) for t in range(len(row)) for v, tags in [max((best[k] for k in best if t == 0 or t % 2 or k in (t - 1, t)), default=(-1e9, []))]}
    out = []
    for (text, _), t in zip(words, max(best.values())[1]):
        if t % 2:
            out.append((kinds[t // 2], text))
        elif t and out:
            out[-1] = (out[-1][0], out[-1][1] + " " + text)
    return out

# %% 15.8 | la que más puntúa, y una I suelta se pega a la entidad anterior
def read_entities(pieces, scores, kinds):
    out, now = [], 0
    for piece, row in zip(pieces, scores):
        if piece.startswith("##"):
            if now and out:
                out[-1] = (out[-1][0], out[-1][1] + piece[2:])
            continue
        now = 0 if piece in ("[CLS]", "[SEP]", "[PAD]") else int(row.argmax())
        if now % 2:
            out.append((kinds[now // 2], piece))
        elif now and out:
            out[-1] = (out[-1][0], out[-1][1] + " " + piece)
    return out

# %% 15.8 | cada palabra, una entidad
def read_entities(pieces, scores, kinds):
    out, now = [], 0
    for piece, row in zip(pieces, scores):
        if piece.startswith("##"):
            if now:
                out[-1] = (out[-1][0], out[-1][1] + piece[2:])
            continue
        now = 0 if piece in ("[CLS]", "[SEP]", "[PAD]") else int(row.argmax())
        if now:
            out.append((kinds[(now - 1) // 2], piece))
    return out

# %% 15.8 | solo la primera pieza de cada palabra
def read_entities(pieces, scores, kinds):
    out, before = [], 0
    for piece, row in zip(pieces, scores):
        if piece.startswith("##") or piece in ("[CLS]", "[SEP]", "[PAD]"):
            continue
        tags = [t for t in range(len(row)) if t == 0 or t % 2 or before in (t, t - 1)]
        before = max(tags, key=lambda t: float(row[t]))
        if before % 2:
            out.append((kinds[before // 2], piece))
        elif before:
            out[-1] = (out[-1][0], out[-1][1] + " " + piece)
    return out

# %% 15.8 | las columnas, primero las B y después las I
def read_entities(pieces, scores, kinds):
    out, now, k = [], 0, len(kinds)
    for piece, row in zip(pieces, scores):
        if piece.startswith("##"):
            if now and out:
                out[-1] = (out[-1][0], out[-1][1] + piece[2:])
            continue
        now = 0 if piece in ("[CLS]", "[SEP]", "[PAD]") else int(row.argmax())
        if 0 < now <= k:
            out.append((kinds[now - 1], piece))
        elif now and out:
            out[-1] = (out[-1][0], out[-1][1] + " " + piece)
    return out

# %% 15.8 | remienda después: la I suelta pasa a B ⇒ una I suelta abre entidad
def read_entities(pieces, scores, kinds):
    best = scores.argmax(1).tolist()
    words, tags = [], []
    for piece, t in zip(pieces, best):
        if piece.startswith("##"):
            if words:
                words[-1] += piece[2:]
        elif piece not in ("[CLS]", "[SEP]", "[PAD]"):
            if t and t % 2 == 0 and (not tags or tags[-1] not in (t, t - 1)):
                t -= 1
            words.append(piece)
            tags.append(t)
    out = []
    for word, t in zip(words, tags):
        if t % 2:
            out.append([kinds[t // 2], word])
        elif t:
            out[-1][1] += " " + word
    return [tuple(x) for x in out]
