"""Respuestas buenas escritas de otra manera. Cada celda «# %% ejercicio | cómo» es una entrega entera."""

# %% 12.1 | con pad_sequence
def forced_pairs(sentences, bos, eos, pad):
    whole = [torch.tensor([bos, *words, eos]) for words in sentences]
    stack = lambda rows: nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
    return stack([row[:-1] for row in whole]), stack([row[1:] for row in whole])

# %% 12.1 | llenando dos tablas
def forced_pairs(sentences, bos, eos, pad):
    m = 1 + max(len(s) for s in sentences)
    inputs = torch.full((len(sentences), m), pad)
    labels = inputs.clone()
    inputs[:, 0] = bos
    for i, s in enumerate(sentences):
        inputs[i, 1 : len(s) + 1] = torch.tensor(s)
        labels[i, : len(s)] = torch.tensor(s)
        labels[i, len(s)] = eos
    return inputs, labels

# %% 12.1 | desplazando las entradas
def forced_pairs(sentences, bos, eos, pad):
    m = max(map(len, sentences)) + 1
    inputs = torch.tensor([([bos] + s + [pad] * m)[:m] for s in sentences])
    labels = torch.roll(inputs, -1, dims=1)
    for row, s in zip(labels, sentences):
        row[len(s)] = eos
        row[len(s) + 1 :] = pad
    return inputs, labels

# %% 12.1 | con enteros de 32 bits
def forced_pairs(sentences, bos, eos, pad):
    m = 1 + max(map(len, sentences))
    fill = lambda row: row + [pad] * (m - len(row))
    table = lambda rows: torch.tensor([fill(row) for row in rows], dtype=torch.int32)
    return table([[bos, *s] for s in sentences]), table([[*s, eos] for s in sentences])

# %% 12.2 | con dos decimales
loss_by_hand = {"words": 1.82, "sentences": 1.56, "slots": 1.21, "perplexity": 6.17}

# %% 12.2 | en mitades y con la media geométrica
halves = [[1, 2], [2, 3, 3, 4, 2, 4]]
ln2 = math.log(2)
loss_by_hand = {"words": sum(map(sum, halves)) * ln2 / 8, "sentences": (3 / 2 + 18 / 6) / 2 * ln2,
                "slots": 21 * ln2 / 12, "perplexity": 2 ** (21 / 8)}

# %% 12.3 | tal cual
later_rate = "lo mismo"

# %% 12.4 | un lote que los junta todos, con cross_entropy
def train_step(weight, lots, rate, clip, pad=0):
    wide = max(lot.shape[1] for lot in lots)
    joined = torch.cat([nn.functional.pad(lot, (0, wide - lot.shape[1]), value=pad) for lot in lots])
    table = weight.clone().requires_grad_()
    loss = nn.functional.cross_entropy(table[joined[:, :-1]].transpose(1, 2), joined[:, 1:], ignore_index=pad)
    loss.backward()
    size = table.grad.norm()
    if size > clip:
        table.grad *= clip / size
    return loss.detach(), weight - rate * table.grad

# %% 12.4 | el gradiente a mano
def train_step(weight, lots, rate, clip, pad=0):
    pairs = [(int(a), int(b)) for lot in lots for row in lot for a, b in zip(row, row[1:]) if b != pad]
    gradient, loss = torch.zeros_like(weight), 0.0
    for word, following in pairs:
        p = weight[word].softmax(0)
        loss = loss - torch.log(p[following]) / len(pairs)
        gradient[word] += p / len(pairs)
        gradient[word, following] -= 1 / len(pairs)
    factor = torch.clamp(clip / (gradient.norm() + 1e-12), max=1.0)
    return loss, weight - rate * factor * gradient

# %% 12.4 | acumulando con .backward y medias pesadas
def train_step(weight, lots, rate, clip, pad=0):
    counts = [(lot[:, 1:] != pad).sum() for lot in lots]
    table = nn.Parameter(weight.detach().clone())
    losses = []
    for lot, count in zip(lots, counts):
        mean = nn.functional.cross_entropy(table[lot[:, :-1]].flatten(0, 1), lot[:, 1:].flatten(), ignore_index=pad)
        share = mean * count / sum(counts)
        share.backward()
        losses.append(share.detach())
    norm = float(torch.linalg.vector_norm(table.grad))
    return sum(losses), table.detach() - rate * table.grad * (clip / max(norm, clip))

# %% 12.5 | sin construir el reparto
def smoothed_loss(logits, labels, smoothing, pad=0):
    vocab, log_p = logits.shape[-1], logits.log_softmax(-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    others = log_p.sum(-1) - right - log_p[..., pad]
    cross = -(1 - smoothing) * right - smoothing / (vocab - 2) * others
    sure = (1 - smoothing) * math.log(1 - smoothing)
    entropy = -sure - (smoothing * math.log(smoothing / (vocab - 2)) if smoothing else 0.0)
    valid = labels != pad
    return (cross - entropy)[valid].mean()

# %% 12.5 | palabra a palabra
def smoothed_loss(logits, labels, smoothing, pad=0):
    flat, words, terms = logits.flatten(0, -2), labels.flatten().tolist(), []
    for row, word in zip(flat, words):
        if word == pad:
            continue
        q = torch.tensor([smoothing / (len(row) - 2)] * len(row))
        q[word], q[pad] = 1 - smoothing, 0.0
        used = q > 0
        terms.append((q[used] * (q[used].log() - (row - row.logsumexp(0))[used])).sum())
    return torch.stack(terms).mean()

# %% 12.5 | con one_hot y las filas válidas
def smoothed_loss(logits, labels, smoothing, pad=0):
    keep = labels != pad
    log_p, right = torch.log_softmax(logits[keep], -1), nn.functional.one_hot(labels[keep], logits.shape[-1])
    share = 1 - right
    share = share * (torch.arange(logits.shape[-1]) != pad)
    q = right * (1 - smoothing) + share * smoothing / share.sum(-1, keepdim=True)
    return (torch.special.xlogy(q, q) - q * log_p).sum() / keep.sum()

# %% 12.6 | con lerp y addcdiv
def adamw_step(weight, grad, mean, square, step, *, rate, betas=(0.9, 0.98), eps=1e-9, decay=0.01):
    mean = torch.lerp(grad, mean, betas[0])
    square = torch.lerp(grad * grad, square, betas[1])
    bias = [1 - beta**step for beta in betas]
    denominator = square.sqrt() / bias[1] ** 0.5 + eps
    return torch.addcdiv(weight - rate * decay * weight, mean, denominator, value=-rate / bias[0]), mean, square

# %% 12.6 | restando en dos veces
def adamw_step(weight, grad, mean, square, step, *, rate, betas=(0.9, 0.98), eps=1e-9, decay=0.01):
    new_mean = mean + (1 - betas[0]) * (grad - mean)
    new_square = square + (1 - betas[1]) * (grad.pow(2) - square)
    move = new_mean / (1 - betas[0] ** step) / (torch.sqrt(new_square / (1 - betas[1] ** step)) + eps)
    return weight - rate * (move + decay * weight), new_mean, new_square

# %% 12.6 | componente a componente
def adamw_step(weight, grad, mean, square, step, *, rate, betas=(0.9, 0.98), eps=1e-9, decay=0.01):
    new = [torch.empty_like(weight).flatten() for _ in range(3)]
    for i, (w, g, m, s) in enumerate(zip(*(t.flatten().tolist() for t in (weight, grad, mean, square)))):
        m = betas[0] * m + (1 - betas[0]) * g
        s = betas[1] * s + (1 - betas[1]) * g * g
        up = m / (1 - betas[0] ** step)
        down = math.sqrt(s / (1 - betas[1] ** step)) + eps
        new[0][i], new[1][i], new[2][i] = w - rate * decay * w - rate * up / down, m, s
    return tuple(t.reshape(weight.shape) for t in new)

# %% 12.7 | mirando tres sitios
def read_schedule(rates):
    peak = rates.max().item()
    top = [i for i, value in enumerate(rates.tolist()) if value == peak]
    warmup, S = top[0] + 1, len(rates)
    if len(top) == S - warmup + 1:
        return "constant", warmup, peak
    if abs(rates[-1].item() - peak * (warmup / S) ** 0.5) < 1e-9 * peak:
        return "noam", warmup, peak
    return ("stable" if rates[-1] == 0 else "cosine"), warmup, peak

# %% 12.7 | comparando la curva entera
def read_schedule(rates):
    S, peak = len(rates), max(rates.tolist())
    w = rates.tolist().index(peak) + 1
    fall = round(S / 5)
    shapes = {
        "constant": lambda s: 1.0,
        "noam": lambda s: math.sqrt(w / s),
        "cosine": lambda s: 0.5 + 0.5 * math.cos(math.pi * (s - 1 - w) / (S - w)),
        "stable": lambda s: min(1.0, (S - s) / fall),
    }
    for name, shape in shapes.items():
        curve = torch.tensor([peak * (s / w if s <= w else shape(s)) for s in range(1, S + 1)])
        if torch.allclose(curve, rates, atol=1e-9 * peak):
            return name, w, peak

# %% 12.7 | por las diferencias
def read_schedule(rates):
    peak, S = float(torch.max(rates)), len(rates)
    w = next(i for i in range(S) if float(rates[i]) == peak) + 1
    tail = rates[w:] / peak
    if bool((tail == 1).all()):
        return "constant", w, peak
    s = torch.arange(w + 1, S + 1)
    if float((tail**2 * s - w).abs().max()) < 1e-6:
        return "noam", w, peak
    return "stable" if float(tail[-1]) == 0 else "cosine", w, peak

# %% 12.8 | la mínima: tres cambios
def make_batch(pairs, bos, eos, pad):
    ordered = sorted(pairs, key=lambda pair: len(pair[0]))
    sources = [torch.tensor([*source, eos]) for source, _ in ordered]
    targets = [torch.tensor([bos, *target, eos]) for _, target in ordered]
    source = nn.utils.rnn.pad_sequence(sources, batch_first=True, padding_value=pad)
    target = nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=pad)
    return source, target[:, :-1], target[:, 1:], target[:, 1:] != pad

# %% 12.8 | con listas
def make_batch(pairs, bos, eos, pad):
    def table(rows):
        return torch.tensor([row + [pad] * (max(map(len, rows)) - len(row)) for row in rows])

    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]))
    source = table([pairs[i][0] + [eos] for i in order])
    whole = table([[bos] + pairs[i][1] + [eos] for i in order])
    lengths = torch.tensor([len(pairs[i][1]) + 1 for i in order])
    counted = torch.arange(whole.shape[1] - 1) < lengths[:, None]
    return source, whole[:, :-1], whole[:, 1:], counted

# %% 12.8 | ordenando las filas ya hechas
def make_batch(pairs, bos, eos, pad):
    pad_rows = lambda rows: nn.utils.rnn.pad_sequence(rows, True, pad)
    source = pad_rows([torch.tensor(a + [eos]) for a, _ in pairs])
    target = pad_rows([torch.tensor([bos] + b + [eos]) for _, b in pairs])
    order = torch.tensor([len(a) for a, _ in pairs]).sort(stable=True).indices
    source, target = source[order], target[order]
    inputs, labels = target[:, :-1], target[:, 1:]
    return source, inputs, labels, labels.ne(pad)

# %% 12.9 | con medias pesadas
def corpus_perplexity(losses, tokens, words):
    mean = torch.sum(losses * tokens / tokens.sum())
    return mean.exp(), (mean * tokens.sum() / words.sum()).exp()

# %% 12.9 | lote a lote
def corpus_perplexity(losses, tokens, words):
    nats = sum(float(a) * int(b) for a, b in zip(losses, tokens))
    return math.exp(nats / int(tokens.sum())), math.exp(nats / int(words.sum()))

# %% 12.9 | elevando la perplejidad por pieza
def corpus_perplexity(losses, tokens, words):
    total = tokens.sum()
    each = torch.exp((losses @ tokens.to(losses.dtype)) / total)
    return [each, each ** (total / words.sum())]

# %% 12.10 | con la racha calculada aparte
def scaled_training(weight, gradients, scale, rate, interval):
    weight, streak, skipped = weight.clone(), 0, 0
    for g in gradients:
        half = torch.as_tensor(scale * g, dtype=torch.float16)
        if torch.isinf(half).any() or torch.isnan(half).any():
            skipped += 1
            scale *= 0.5
            streak = 0
        else:
            weight -= rate * (half.to(g.dtype) / scale)
            streak += 1
            if streak % interval == 0:
                scale *= 2
                streak = 0
    return weight, scale, skipped

# %% 12.10 | con un exponente entero
def scaled_training(weight, gradients, scale, rate, interval):
    power, left, skipped = 0, interval, 0
    for g in gradients:
        now = scale * 2.0**power
        seen = (g * now).half().double()
        if seen.abs().max() == math.inf:
            power, left, skipped = power - 1, interval, skipped + 1
            continue
        weight, left = weight - rate / now * seen, left - 1
        if left == 0:
            power, left = power + 1, interval
    return weight, scale * 2.0**power, skipped

# %% 12.10 | recursiva
def scaled_training(weight, gradients, scale, rate, interval, good=0):
    if len(gradients) == 0:
        return weight, scale, 0
    first, rest = gradients[0], gradients[1:]
    stored = (first * scale).to(torch.float16)
    if not stored.isfinite().all():
        w, s, k = scaled_training(weight, rest, scale / 2, rate, interval, 0)
        return w, s, k + 1
    weight = weight - rate * stored.to(weight.dtype) / scale
    if good + 1 == interval:
        return scaled_training(weight, rest, scale * 2, rate, interval, 0)
    return scaled_training(weight, rest, scale, rate, interval, good + 1)

# %% 12.11 | con los sorteos hechos antes
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    dice = torch.Generator().manual_seed(seed)
    rolls = [torch.rand(weight.numel(), generator=dice, dtype=torch.float64) for _ in range(inputs.shape[0])]
    losses, b1, b2 = [], 0.9, 0.98
    for i in range(step, inputs.shape[0]):
        x = inputs[i].masked_fill(rolls[i] < drop, 0)
        error = x.matmul(weight) - targets[i]
        losses.append(error.square().mean())
        grad = 2 / error.numel() * (error[:, None] * x).sum(0)
        mean = mean.lerp(grad, 1 - b1)
        square = b2 * square + (1 - b2) * grad * grad
        first, second = mean / (1 - b1 ** (i + 1)), square / (1 - b2 ** (i + 1))
        now = rate if i + 1 >= warmup else rate * (i + 1) / warmup
        weight = weight - now * first / (second.sqrt() + 1e-9)
    return torch.stack(losses), weight

# %% 12.11 | con autograd
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    state = torch.Generator()
    state.manual_seed(seed)
    theta = weight.clone().requires_grad_(True)
    losses = torch.empty(len(inputs) - step, dtype=weight.dtype)
    for s, (x, y) in enumerate(zip(inputs, targets), start=1):
        off = torch.rand(len(theta), generator=state, dtype=torch.float64) < drop
        if s <= step:
            continue
        loss = (((x * ~off) @ theta - y) ** 2).mean()
        (g,) = torch.autograd.grad(loss, theta)
        losses[s - step - 1] = loss.item()
        mean = 0.9 * mean + (1 - 0.9) * g
        square = 0.98 * square + (1 - 0.98) * g.pow(2)
        size = (square / (1 - 0.98**s)).sqrt() + 1e-9
        with torch.no_grad():
            theta -= rate * min(s / warmup, 1.0) * (mean / (1 - 0.9**s)) / size
    return losses, theta.detach()

# %% 12.11 | todos los sorteos en una matriz y el gradiente con vmap
def resume_run(weight, mean, square, step, inputs, targets, *, rate, warmup, drop, seed):
    rolls = torch.rand(len(inputs), len(weight), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    seen = torch.where(rolls[:, None] < drop, 0.0, inputs)
    def loss_of(w, s):
        return torch.nn.functional.mse_loss(seen[s] @ w, targets[s])
    losses = []
    for s in range(step, len(inputs)):
        grad, loss = torch.func.grad_and_value(loss_of)(weight, s)
        mean = mean + 0.1 * (grad - mean)
        square = square + 0.02 * (grad**2 - square)
        top = rate * min(1.0, (s + 1) / warmup) / (1 - 0.9 ** (s + 1))
        weight = weight - top * mean / (torch.sqrt(square / (1 - 0.98 ** (s + 1))) + 1e-9)
        losses.append(loss)
    return torch.stack(losses), weight
