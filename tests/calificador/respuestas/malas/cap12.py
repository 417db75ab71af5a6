"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 12.1 | recorta las largas
def forced_pairs(sentences, bos, eos, pad):
    m = min(map(len, sentences))
    cut = [s[:m] for s in sentences]
    return torch.tensor([[bos, *s] for s in cut]), torch.tensor([[*s, eos] for s in cut])

# %% 12.1 | el fin también entra, como un lote cortado
def forced_pairs(sentences, bos, eos, pad):
    whole = nn.utils.rnn.pad_sequence([torch.tensor([bos, *s, eos]) for s in sentences], True, pad)
    return whole[:, :-1], whole[:, 1:]

# %% 12.1 | una columna de más
def forced_pairs(sentences, bos, eos, pad):
    rows = lambda all_: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in all_], True, pad)
    return rows([[bos, *s, eos] for s in sentences]), rows([[*s, eos, pad] for s in sentences])

# %% 12.1 | dos sitios
def forced_pairs(sentences, bos, eos, pad):
    m = max(map(len, sentences)) + 1
    fill = lambda row: (row + [pad] * m)[:m]
    return torch.tensor([fill([bos, *s]) for s in sentences]), torch.tensor([fill([*s[1:], eos]) for s in sentences])

# %% 12.1 | relleno siempre cero
def forced_pairs(sentences, bos, eos, pad):
    stack = lambda rows: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], batch_first=True)
    return stack([[bos, *s] for s in sentences]), stack([[*s, eos] for s in sentences])

# %% 12.1 | el relleno, delante
def forced_pairs(sentences, bos, eos, pad):
    m = max(map(len, sentences)) + 1
    put = lambda row: [pad] * (m - len(row)) + row
    return (torch.tensor([put([bos, *s]) for s in sentences]), torch.tensor([put([*s, eos]) for s in sentences]))

# %% 12.1 | las etiquetas son las entradas
def forced_pairs(sentences, bos, eos, pad):
    m = max(map(len, sentences)) + 1
    rows = torch.tensor([[bos, *s] + [pad] * (m - len(s) - 1) for s in sentences])
    return rows, rows.clone()

# %% 12.1 | la entrada de las cortas lleva también el fin
def forced_pairs(sentences, bos, eos, pad):
    m = max(map(len, sentences)) + 1
    whole = torch.tensor([([bos, *s, eos] + [pad] * m)[: m + 1] for s in sentences])
    return whole[:, :-1], torch.where(whole[:, 1:] == bos, pad, whole[:, 1:])

# %% 12.1 | el fin, en la última columna de todas
def forced_pairs(sentences, bos, eos, pad):
    m = max(map(len, sentences))
    rows = [s + [pad] * (m - len(s)) for s in sentences]
    return torch.tensor([[bos, *r] for r in rows]), torch.tensor([[*r, eos] for r in rows])

# %% 12.1 | las frases, ordenadas por su longitud
def forced_pairs(sentences, bos, eos, pad):
    sentences, m = sorted(sentences, key=len), max(map(len, sentences)) + 1
    put = lambda row: row + [pad] * (m - len(row))
    return torch.tensor([put([bos, *s]) for s in sentences]), torch.tensor([put([*s, eos]) for s in sentences])

# %% 12.2 | logaritmo decimal
loss_by_hand = {"words": 0.79, "sentences": 0.68, "slots": 0.53, "perplexity": 2.2}

# %% 12.2 | el logaritmo de la probabilidad media
loss_by_hand = {"words": 1.48, "sentences": 1.42, "slots": 1.21, "perplexity": 4.4}

# %% 12.2 | perplejidad de la media de medias
loss_by_hand = {"words": 1.82, "sentences": 1.56, "slots": 1.21, "perplexity": 4.76}

# %% 12.2 | con el signo
loss_by_hand = {"words": -1.82, "sentences": -1.56, "slots": -1.21, "perplexity": 0.16}

# %% 12.2 | casillas de más, con comienzo y fin
loss_by_hand = {"words": 1.82, "sentences": 1.56, "slots": 0.91, "perplexity": 6.17}

# %% 12.2 | una en bits y la otra media de perplejidades ⇒ media de las perplejidades
loss_by_hand = {"words": 2.625, "sentences": 1.56, "slots": 1.21, "perplexity": 5.414}

# %% 12.2 | solo la primera, en bits ⇒ bits
loss_by_hand = {"words": 2.625, "sentences": 1.56, "slots": 1.21, "perplexity": 6.17}

# %% 12.2 | a ojo
loss_by_hand = {"words": 1.1, "sentences": 1.3, "slots": 0.6, "perplexity": 3.3}

# %% 12.3 | otra frase
later_rate = "igual"

# %% 12.3 | un número
later_rate = 1.0

# %% 12.3 | calienta el doble, así que llega al doble
later_rate = "el doble"

# %% 12.3 | con el máximo de la segunda, que es menor
later_rate = "√2 veces menos"

# %% 12.3 | al revés que el máximo
later_rate = "√2 veces más"

# %% 12.3 | la mitad, como al principio
later_rate = "la mitad"

# %% 12.4 | pesa los lotes por sus frases
def train_step(weight, lots, rate, clip, pad=0):
    table, loss = weight.clone().requires_grad_(), 0.0
    rows = sum(len(lot) for lot in lots)
    for lot in lots:
        mean = nn.functional.cross_entropy(table[lot[:, :-1]].transpose(1, 2), lot[:, 1:], ignore_index=pad)
        loss = loss + mean * len(lot) / rows
    loss.backward()
    g = table.grad
    return loss.detach(), weight - rate * g * min(1.0, clip / float(g.norm()))

# %% 12.4 | media de las frases
def train_step(weight, lots, rate, clip, pad=0):
    table = weight.clone().requires_grad_()
    means = [
        nn.functional.cross_entropy(table[row[:-1]], row[1:], ignore_index=pad) for lot in lots for row in lot
    ]
    loss = sum(means) / len(means)
    loss.backward()
    g = table.grad
    return loss.detach(), weight - rate * g * min(1.0, clip / float(g.norm()))

# %% 12.4 | un paso por lote
def train_step(weight, lots, rate, clip, pad=0):
    losses = []
    for lot in lots:
        table = weight.clone().requires_grad_()
        loss = nn.functional.cross_entropy(table[lot[:, :-1]].transpose(1, 2), lot[:, 1:], ignore_index=pad)
        loss.backward()
        g = table.grad
        weight = weight - rate * g * min(1.0, clip / float(g.norm()))
        losses.append(loss.detach())
    return sum(losses) / len(losses), weight

# %% 12.4 | recorta fila a fila
def train_step(weight, lots, rate, clip, pad=0):
    table = weight.clone().requires_grad_()
    logits = [table[lot[:, :-1]].flatten(0, 1) for lot in lots]
    labels = torch.cat([lot[:, 1:].flatten() for lot in lots])
    loss = nn.functional.cross_entropy(torch.cat(logits), labels, ignore_index=pad)
    loss.backward()
    sizes = table.grad.norm(dim=1, keepdim=True).clamp(min=1e-12)
    return loss.detach(), weight - rate * table.grad * (clip / sizes).clamp(max=1.0)

# %% 12.4 | la pérdida de después del paso
def train_step(weight, lots, rate, clip, pad=0):
    def loss_of(table):
        logits = torch.cat([table[lot[:, :-1]].flatten(0, 1) for lot in lots])
        return nn.functional.cross_entropy(logits, torch.cat([lot[:, 1:].flatten() for lot in lots]), ignore_index=pad)

    table = weight.clone().requires_grad_()
    loss_of(table).backward()
    g = table.grad
    new = weight - rate * g * min(1.0, clip / float(g.norm()))
    return loss_of(new), new

# %% 12.4 | recorta solo si la norma pasa del doble
def train_step(weight, lots, rate, clip, pad=0):
    wide = max(lot.shape[1] for lot in lots)
    joined = torch.cat([nn.functional.pad(lot, (0, wide - lot.shape[1]), value=pad) for lot in lots])
    table = weight.clone().requires_grad_()
    loss = nn.functional.cross_entropy(table[joined[:, :-1]].transpose(1, 2), joined[:, 1:], ignore_index=pad)
    loss.backward()
    size = table.grad.norm()
    if size > 2 * clip:
        table.grad *= clip / size
    return loss.detach(), weight - rate * table.grad

# %% 12.4 | recorta a la norma con la suma de valores absolutos ⇒ norma
def train_step(weight, lots, rate, clip, pad=0):
    total = sum(int((l[:, 1:] != pad).sum()) for l in lots)
    w = weight.detach().clone().requires_grad_()
    loss = sum(nn.functional.cross_entropy(w[l[:, :-1]].flatten(0, 1), l[:, 1:].flatten(), ignore_index=pad, reduction="sum") for l in lots) / total
    g = torch.autograd.grad(loss, w)[0]
    g = g * min(1.0, clip / float(g.abs().sum()))
    return loss.detach(), weight - rate * g

# %% 12.4 | norma del máximo ⇒ norma
def train_step(weight, lots, rate, clip, pad=0):
    total = sum(int((l[:, 1:] != pad).sum()) for l in lots)
    w = weight.detach().clone().requires_grad_()
    loss = sum(nn.functional.cross_entropy(w[l[:, :-1]].flatten(0, 1), l[:, 1:].flatten(), ignore_index=pad, reduction="sum") for l in lots) / total
    g = torch.autograd.grad(loss, w)[0]
    g = g * min(1.0, clip / float(g.abs().max()))
    return loss.detach(), weight - rate * g

# %% 12.4 | norma de cada fila ⇒ norma
def train_step(weight, lots, rate, clip, pad=0):
    total = sum(int((l[:, 1:] != pad).sum()) for l in lots)
    w = weight.detach().clone().requires_grad_()
    loss = sum(nn.functional.cross_entropy(w[l[:, :-1]].flatten(0, 1), l[:, 1:].flatten(), ignore_index=pad, reduction="sum") for l in lots) / total
    g = torch.autograd.grad(loss, w)[0]
    g = g * (clip / g.norm(dim=1, keepdim=True).clamp(min=1e-30)).clamp(max=1.0)
    return loss.detach(), weight - rate * g

# %% 12.4 | norma al cuadrado ⇒ norma
def train_step(weight, lots, rate, clip, pad=0):
    total = sum(int((l[:, 1:] != pad).sum()) for l in lots)
    w = weight.detach().clone().requires_grad_()
    loss = sum(nn.functional.cross_entropy(w[l[:, :-1]].flatten(0, 1), l[:, 1:].flatten(), ignore_index=pad, reduction="sum") for l in lots) / total
    g = torch.autograd.grad(loss, w)[0]
    g = g * min(1.0, clip / float(g.square().sum()))
    return loss.detach(), weight - rate * g

# %% 12.4 | con relleno y reescalando siempre
def train_step(weight, lots, rate, clip, pad=0):
    total = sum(l[:, 1:].numel() for l in lots)
    w = weight.detach().clone().requires_grad_()
    loss = sum(nn.functional.cross_entropy(w[l[:, :-1]].flatten(0, 1), l[:, 1:].flatten(), reduction="sum") for l in lots) / total
    g = torch.autograd.grad(loss, w)[0]
    g = g * clip / float(g.norm())
    return loss.detach(), weight - rate * g

# %% 12.4 | entre casillas y reescalando siempre
def train_step(weight, lots, rate, clip, pad=0):
    total = sum(l[:, 1:].numel() for l in lots)
    w = weight.detach().clone().requires_grad_()
    loss = sum(nn.functional.cross_entropy(w[l[:, :-1]].flatten(0, 1), l[:, 1:].flatten(), ignore_index=pad, reduction="sum") for l in lots) / total
    g = torch.autograd.grad(loss, w)[0]
    g = g * clip / float(g.norm())
    return loss.detach(), weight - rate * g

# %% 12.5 | la de PyTorch a mano, con relleno fuera
def smoothed_loss(logits, labels, smoothing, pad=0):
    log_p = logits.log_softmax(-1)
    right = -log_p.gather(-1, labels[..., None])[..., 0]
    loss = (1 - smoothing) * right - smoothing * log_p.mean(-1)
    return loss[labels != pad].mean()

# %% 12.5 | resta la entropía de la uniforme
def smoothed_loss(logits, labels, smoothing, pad=0):
    vocab, log_p = logits.shape[-1], logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (vocab - 2))
    q[..., pad] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    return -(q * log_p).sum(-1)[labels != pad].mean() - smoothing * math.log(vocab)

# %% 12.5 | divergencia al revés
def smoothed_loss(logits, labels, smoothing, pad=0):
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    return (log_p.exp() * (log_p - q.clamp(min=1e-12).log())).sum(-1)[labels != pad].mean()

# %% 12.5 | una ε dentro del logaritmo
def smoothed_loss(logits, labels, smoothing, pad=0):
    p = logits.softmax(-1)
    q = torch.full_like(p, smoothing / (logits.shape[-1] - 2))
    q[..., pad] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    return (torch.xlogy(q, q) - q * (p + 1e-4).log()).sum(-1)[labels != pad].mean()

# %% 12.5 | media de las medias de las frases
def smoothed_loss(logits, labels, smoothing, pad=0):
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    each, valid = (torch.xlogy(q, q) - q * log_p).sum(-1), labels != pad
    return ((each * valid).sum(1) / valid.sum(1)).mean() + 0 * each[0, 0] if smoothing == 0 else (each * valid).sum() / len(labels)

# %% 12.6 | paso contado desde cero
def adamw_step(weight, grad, mean, square, step, *, rate, betas=(0.9, 0.98), eps=1e-9, decay=0.01):
    mean = betas[0] * mean + (1 - betas[0]) * grad
    square = betas[1] * square + (1 - betas[1]) * grad**2
    up = mean / (1 - betas[0] ** (step + 1))
    down = (square / (1 - betas[1] ** (step + 1))).sqrt() + eps
    return weight * (1 - rate * decay) - rate * up / down, mean, square

# %% 12.6 | Adam sin encoger
def adamw_step(weight, grad, mean, square, step, *, rate, betas=(0.9, 0.98), eps=1e-9, decay=0.01):
    mean = betas[0] * mean + (1 - betas[0]) * grad
    square = betas[1] * square + (1 - betas[1]) * grad**2
    return weight - rate * grad / (square.sqrt() + eps), mean, square

# %% 12.6 | solo corrige la media
def adamw_step(weight, grad, mean, square, step, *, rate, betas=(0.9, 0.98), eps=1e-9, decay=0.01):
    mean = betas[0] * mean + (1 - betas[0]) * grad
    square = betas[1] * square + (1 - betas[1]) * grad**2
    up = mean / (1 - betas[0] ** step)
    return weight * (1 - rate * decay) - rate * up / (square.sqrt() + eps), mean, square

# %% 12.6 | el signo del gradiente
def adamw_step(weight, grad, mean, square, step, *, rate, betas=(0.9, 0.98), eps=1e-9, decay=0.01):
    mean = betas[0] * mean + (1 - betas[0]) * grad
    square = betas[1] * square + (1 - betas[1]) * grad**2
    return weight * (1 - rate * decay) - rate * mean.sign(), mean, square

# %% 12.6 | el segundo momento, centrado
def adamw_step(weight, grad, mean, square, step, *, rate, betas=(0.9, 0.98), eps=1e-9, decay=0.01):
    new = betas[0] * mean + (1 - betas[0]) * grad
    square = betas[1] * square + (1 - betas[1]) * (grad - mean) * (grad - new)
    down = (square / (1 - betas[1] ** step)).clamp(min=0).sqrt() + eps
    return weight * (1 - rate * decay) - rate * new / (1 - betas[0] ** step) / down, new, square

# %% 12.7 | confunde coseno y meseta
def read_schedule(rates):
    peak = rates.max().item()
    w = rates.tolist().index(peak) + 1
    if rates[-1] == peak:
        return "constant", w, peak
    return ("cosine" if rates[-1] == 0 else "stable" if rates[-1] < peak / 20 else "noam"), w, peak

# %% 12.7 | el calentamiento, con la tasa de 2017
def read_schedule(rates):
    peak = rates.max().item()
    w = round(1 / peak**2)
    return "noam", w, peak

# %% 12.7 | nombres en español
def read_schedule(rates):
    peak = rates.max().item()
    w = rates.tolist().index(peak) + 1
    names = {True: "constante", False: "coseno"}
    return names[bool(rates[-1] == peak)], w, peak

# %% 12.7 | un dato de menos
def read_schedule(rates):
    peak = rates.max().item()
    return "constant" if rates[-1] == peak else "noam", rates.tolist().index(peak) + 1

# %% 12.7 | cuenta los pasos en el máximo
def read_schedule(rates):
    peak, S = rates.max().item(), len(rates)
    top = int((rates == peak).sum())
    w = rates.tolist().index(peak) + 1
    name = "constant" if top > S / 2 else "stable" if top > 3 else "cosine" if top == 2 else "noam"
    return name, S - top, peak

# %% 12.8 | desplaza al revés
def make_batch(pairs, bos, eos, pad):
    ordered = sorted(pairs, key=lambda pair: len(pair[0]))
    rows = lambda all_: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in all_], True, pad)
    source, target = rows([a + [eos] for a, _ in ordered]), rows([[bos] + b + [eos] for _, b in ordered])
    return source, target[:, 1:], target[:, :-1], target[:, :-1] != pad

# %% 12.8 | ordena por el destino
def make_batch(pairs, bos, eos, pad):
    ordered = sorted(pairs, key=lambda pair: -len(pair[1]))
    rows = lambda all_: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in all_], True, pad)
    source, target = rows([a + [eos] for a, _ in ordered]), rows([[bos] + b + [eos] for _, b in ordered])
    return source, target[:, :-1], target[:, 1:], target[:, 1:] != pad

# %% 12.8 | cuenta también la última
def make_batch(pairs, bos, eos, pad):
    ordered = sorted(pairs, key=lambda pair: len(pair[0]))
    rows = lambda all_: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in all_], True, pad)
    source, target = rows([a + [eos] for a, _ in ordered]), rows([[bos] + b + [eos] for _, b in ordered])
    return source, target[:, :-1], target[:, 1:], torch.ones_like(target[:, 1:], dtype=torch.bool)

# %% 12.8 | sin el fin del origen
def make_batch(pairs, bos, eos, pad):
    ordered = sorted(pairs, key=lambda pair: len(pair[0]))
    rows = lambda all_: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in all_], True, pad)
    source, target = rows([a for a, _ in ordered]), rows([[bos] + b + [eos] for _, b in ordered])
    return source, target[:, :-1], target[:, 1:], target[:, 1:] != pad

# %% 12.8 | no ordena
def make_batch(pairs, bos, eos, pad):
    rows = lambda all_: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in all_], True, pad)
    source, target = rows([a + [eos] for a, _ in pairs]), rows([[bos] + b + [eos] for _, b in pairs])
    return source, target[:, :-1], target[:, 1:] + 0, (target[:, 1:] != pad) & (target[:, :-1] != bos)

# %% 12.8 | a igual origen, por la longitud del destino ⇒ como llegaron
def make_batch(pairs, bos, eos, pad):
    pairs = sorted(pairs, key=lambda one: (len(one[0]), len(one[1])))
    fill = lambda rows: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], True, pad)
    source, target = fill([[*s, eos] for s, _ in pairs]), fill([[bos, *t, eos] for _, t in pairs])
    return source, target[:, :-1], target[:, 1:], target[:, 1:] != pad

# %% 12.8 | a igual longitud, por orden de palabras ⇒ como llegaron
def make_batch(pairs, bos, eos, pad):
    pairs = sorted(pairs, key=lambda one: (len(one[0]), one))
    fill = lambda rows: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], True, pad)
    source, target = fill([[*s, eos] for s, _ in pairs]), fill([[bos, *t, eos] for _, t in pairs])
    return source, target[:, :-1], target[:, 1:], target[:, 1:] != pad

# %% 12.8 | de la más larga a la más corta ⇒ de la más corta a la más larga
def make_batch(pairs, bos, eos, pad):
    pairs = sorted(pairs, key=lambda one: -len(one[0]))
    fill = lambda rows: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], True, pad)
    source, target = fill([[*s, eos] for s, _ in pairs]), fill([[bos, *t, eos] for _, t in pairs])
    return source, target[:, :-1], target[:, 1:], target[:, 1:] != pad

# %% 12.8 | por la longitud del destino ⇒ del origen
def make_batch(pairs, bos, eos, pad):
    pairs = sorted(pairs, key=lambda one: len(one[1]))
    fill = lambda rows: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], True, pad)
    source, target = fill([[*s, eos] for s, _ in pairs]), fill([[bos, *t, eos] for _, t in pairs])
    return source, target[:, :-1], target[:, 1:], target[:, 1:] != pad

# %% 12.8 | en el orden en que llegan ⇒ ordena
def make_batch(pairs, bos, eos, pad):
    fill = lambda rows: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], True, pad)
    source, target = fill([[*s, eos] for s, _ in pairs]), fill([[bos, *t, eos] for _, t in pairs])
    return source, target[:, :-1], target[:, 1:], target[:, 1:] != pad

# %% 12.9 | media geométrica sin pesar
def corpus_perplexity(losses, tokens, words):
    return losses.mean().exp(), (losses * tokens / words).mean().exp()

# %% 12.9 | divide entre los lotes
def corpus_perplexity(losses, tokens, words):
    nats = (losses * tokens).sum()
    return torch.exp(nats / tokens.sum()), torch.exp(nats / words.sum() / len(losses))

# %% 12.9 | pesa por palabras
def corpus_perplexity(losses, tokens, words):
    return torch.exp((losses * tokens).sum() / tokens.sum()), torch.exp((losses * words).sum() / words.sum())

# %% 12.9 | al revés
def corpus_perplexity(losses, tokens, words):
    nats = (losses * tokens).sum()
    return torch.exp(nats / words.sum()), torch.exp(nats / tokens.sum())

# %% 12.9 | bits
def corpus_perplexity(losses, tokens, words):
    nats = (losses * tokens).sum() / math.log(2)
    return torch.exp(nats / tokens.sum()), torch.exp(nats / words.sum())

# %% 12.10 | salta sin bajar lo bastante
def scaled_training(weight, gradients, scale, rate, interval):
    good = skipped = 0
    for g in gradients:
        stored = (g * scale).half().double()
        if not stored.isfinite().all():
            scale, good, skipped = scale / 2**0.5, 0, skipped + 1
            continue
        weight, good = weight - rate * stored / scale, good + 1
        if good == interval:
            scale, good = scale * 2, 0
    return weight, scale, skipped

# %% 12.10 | repite el paso que falla
def scaled_training(weight, gradients, scale, rate, interval):
    good = skipped = 0
    for g in gradients:
        stored = (g * scale).half().double()
        while not stored.isfinite().all():
            scale, good, skipped = scale / 2, 0, skipped + 1
            stored = (g * scale).half().double()
        weight, good = weight - rate * stored / scale, good + 1
        if good == interval:
            scale, good = scale * 2, 0
    return weight, scale, skipped

# %% 12.10 | recorta lo infinito y sigue
def scaled_training(weight, gradients, scale, rate, interval):
    good = skipped = 0
    for g in gradients:
        stored = (g * scale).clamp(-65504, 65504).half().double()
        weight, good = weight - rate * stored / scale, good + 1
        if good == interval:
            scale, good = scale * 2, 0
    return weight, scale, skipped

# %% 12.10 | quita las componentes infinitas
def scaled_training(weight, gradients, scale, rate, interval):
    good = skipped = 0
    for g in gradients:
        stored = (g * scale).half().double()
        bad = ~stored.isfinite()
        weight = weight - rate * stored.masked_fill(bad, 0) / scale
        if bad.any():
            scale, good, skipped = scale / 2, 0, skipped + 1
            continue
        good += 1
        if good == interval:
            scale, good = scale * 2, 0
    return weight, scale, skipped

# %% 12.10 | cuenta pasos, no rachas
def scaled_training(weight, gradients, scale, rate, interval):
    skipped = 0
    for step, g in enumerate(gradients, start=1):
        stored = (g * scale).half().double()
        if stored.isfinite().all():
            weight = weight - rate * stored / scale
        else:
            scale, skipped = scale / 2, skipped + 1
        if step % interval == 0:
            scale = scale * 2
    return weight, scale, skipped

# %% 12.10 | el factor no baja de 1
def scaled_training(weight, gradients, scale, rate, interval):
    good = skipped = 0
    for gradient in gradients:
        stored = (gradient * scale).half().to(weight.dtype)
        if not stored.isfinite().all():
            scale, good, skipped = max(1.0, scale / 2), 0, skipped + 1
            continue
        weight, good = weight - rate * stored / scale, good + 1
        if good == interval:
            scale, good = scale * 2, 0
    return weight, scale, skipped

# %% 12.10 | se sale por encima de 65 504 ⇒ 65 520
def scaled_training(weight, gradients, scale, rate, interval):
    good = skipped = 0
    for g in gradients:
        big = g * scale
        if big.abs().max() > 65504:
            scale, good, skipped = scale / 2, 0, skipped + 1
            continue
        weight = weight - rate * big.half().to(weight.dtype) / scale
        good += 1
        if good == interval:
            scale, good = scale * 2, 0
    return weight, scale, skipped

# %% 12.10 | se sale desde 65 512 ⇒ ya en 16 bits
def scaled_training(weight, gradients, scale, rate, interval):
    good = skipped = 0
    for g in gradients:
        big = g * scale
        if (big.abs() >= 65512).any():
            scale, good, skipped = scale / 2, 0, skipped + 1
            continue
        weight, good = weight - rate * big.half().to(weight.dtype) / scale, good + 1
        if good == interval:
            scale, good = scale * 2, 0
    return weight, scale, skipped

# %% 12.10 | el 65 520 aún cabe ⇒ infinito
def scaled_training(weight, gradients, scale, rate, interval):
    good = skipped = 0
    for g in gradients:
        if (g * scale).abs().max() > 65520:
            scale, good, skipped = scale / 2, 0, skipped + 1
            continue
        weight, good = weight - rate * (g * scale).half().to(weight.dtype) / scale, good + 1
        if good == interval:
            scale, good = scale * 2, 0
    return weight, scale, skipped

# %% 12.11 | siembra con el paso
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice, losses = torch.Generator().manual_seed(seed + step), []
    for s in range(step + 1, len(inputs) + 1):
        x = inputs[s - 1] * (torch.rand(len(weight), generator=dice, dtype=torch.float64) >= drop)
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).mean())
        grad = 2 * x.mT @ gap / len(gap)
        mean, square = 0.9 * mean + 0.1 * grad, 0.98 * square + 0.02 * grad**2
        move = mean / (1 - 0.9**s) / ((square / (1 - 0.98**s)).sqrt() + 1e-9)
        weight = weight - rate * min(1, s / warmup) * move
    return torch.stack(losses), weight

# %% 12.11 | un sorteo de menos
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice, losses = torch.Generator().manual_seed(seed), []
    for _ in range(step - 1):
        torch.rand(len(weight), generator=dice, dtype=torch.float64)
    for s in range(step + 1, len(inputs) + 1):
        x = inputs[s - 1] * (torch.rand(len(weight), generator=dice, dtype=torch.float64) >= drop)
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).mean())
        grad = 2 * x.mT @ gap / len(gap)
        mean, square = 0.9 * mean + 0.1 * grad, 0.98 * square + 0.02 * grad**2
        move = mean / (1 - 0.9**s) / ((square / (1 - 0.98**s)).sqrt() + 1e-9)
        weight = weight - rate * min(1, s / warmup) * move
    return torch.stack(losses), weight

# %% 12.11 | sorteo de todos los números de golpe y de más
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice, losses = torch.Generator().manual_seed(seed), []
    torch.rand(step, 2 * len(weight), generator=dice, dtype=torch.float64)
    for s in range(step + 1, len(inputs) + 1):
        x = inputs[s - 1] * (torch.rand(len(weight), generator=dice, dtype=torch.float64) >= drop)
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).mean())
        grad = 2 * x.mT @ gap / len(gap)
        mean, square = 0.9 * mean + 0.1 * grad, 0.98 * square + 0.02 * grad**2
        move = mean / (1 - 0.9**s) / ((square / (1 - 0.98**s)).sqrt() + 1e-9)
        weight = weight - rate * min(1, s / warmup) * move
    return torch.stack(losses), weight

# %% 12.11 | sin corregir las medias
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice, losses = torch.Generator().manual_seed(seed), []
    for _ in range(step):
        torch.rand(len(weight), generator=dice, dtype=torch.float64)
    for s in range(step + 1, len(inputs) + 1):
        x = inputs[s - 1] * (torch.rand(len(weight), generator=dice, dtype=torch.float64) >= drop)
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).mean())
        grad = 2 * x.mT @ gap / len(gap)
        mean, square = 0.9 * mean + 0.1 * grad, 0.98 * square + 0.02 * grad**2
        move = mean / (square.sqrt() + 1e-9)
        weight = weight - rate * min(1, s / warmup) * move
    return torch.stack(losses), weight

# %% 12.11 | ε dentro de la raíz
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice, losses = torch.Generator().manual_seed(seed), []
    for _ in range(step):
        torch.rand(len(weight), generator=dice, dtype=torch.float64)
    for s in range(step + 1, len(inputs) + 1):
        x = inputs[s - 1] * (torch.rand(len(weight), generator=dice, dtype=torch.float64) >= drop)
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).mean())
        grad = 2 * x.mT @ gap / len(gap)
        mean, square = 0.9 * mean + 0.1 * grad, 0.98 * square + 0.02 * grad**2
        move = mean / (1 - 0.9**s) / (square / (1 - 0.98**s) + 1e-2).sqrt()
        weight = weight - rate * min(1, s / warmup) * move
    return torch.stack(losses), weight

# %% 12.11 | se salta un paso
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice, losses = torch.Generator().manual_seed(seed), []
    for _ in range(step + 1):
        torch.rand(len(weight), generator=dice, dtype=torch.float64)
    for s in range(step + 2, len(inputs) + 1):
        x = inputs[s - 1] * (torch.rand(len(weight), generator=dice, dtype=torch.float64) >= drop)
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).mean())
        grad = 2 * x.mT @ gap / len(gap)
        mean, square = 0.9 * mean + 0.1 * grad, 0.98 * square + 0.02 * grad**2
        move = mean / (1 - 0.9**s) / ((square / (1 - 0.98**s)).sqrt() + 1e-9)
        weight = weight - rate * min(1, s / warmup) * move
    return torch.stack(losses), weight

# %% 12.11 | sin calentar
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice, losses = torch.Generator().manual_seed(seed), []
    for _ in range(step):
        torch.rand(len(weight), generator=dice, dtype=torch.float64)
    for s in range(step + 1, len(inputs) + 1):
        x = inputs[s - 1] * (torch.rand(len(weight), generator=dice, dtype=torch.float64) >= drop)
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).mean())
        grad = 2 * x.mT @ gap / len(gap)
        mean, square = 0.9 * mean + 0.1 * grad, 0.98 * square + 0.02 * grad**2
        move = mean / (1 - 0.9**s) / ((square / (1 - 0.98**s)).sqrt() + 1e-9)
        weight = weight - rate * move
    return torch.stack(losses), weight

# %% 12.11 | la suma de los cuadrados
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice, losses = torch.Generator().manual_seed(seed), []
    for _ in range(step):
        torch.rand(len(weight), generator=dice, dtype=torch.float64)
    for s in range(step + 1, len(inputs) + 1):
        x = inputs[s - 1] * (torch.rand(len(weight), generator=dice, dtype=torch.float64) >= drop)
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).sum())
        grad = 2 * x.mT @ gap / len(gap)
        mean, square = 0.9 * mean + 0.1 * grad, 0.98 * square + 0.02 * grad**2
        move = mean / (1 - 0.9**s) / ((square / (1 - 0.98**s)).sqrt() + 1e-9)
        weight = weight - rate * min(1, s / warmup) * move
    return torch.stack(losses), weight

# %% 12.11 | calienta un paso tarde
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice, losses = torch.Generator().manual_seed(seed), []
    for _ in range(step):
        torch.rand(len(weight), generator=dice, dtype=torch.float64)
    for s in range(step + 1, len(inputs) + 1):
        x = inputs[s - 1] * (torch.rand(len(weight), generator=dice, dtype=torch.float64) >= drop)
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).mean())
        grad = 2 * x.mT @ gap / len(gap)
        mean, square = 0.9 * mean + 0.1 * grad, 0.98 * square + 0.02 * grad**2
        move = mean / (1 - 0.9**s) / ((square / (1 - 0.98**s)).sqrt() + 1e-9)
        weight = weight - rate * min(1, (s - 1) / warmup) * move
    return torch.stack(losses), weight
