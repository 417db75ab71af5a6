"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 21.1 | escrita
sampling_by_hand = {"heard": 1500, "far": 2500, "same": 5, "least": 6800, "wheel": -2}

# %% 21.1 | con cuentas
sampling_by_hand = {
    "heard": abs(6500 - 8000),
    "far": 18500 - 2 * 8000.0,
    "same": len([1500, 6500, 9500, 14500, 17500]),
    "least": 3400 * 2.0,
    "wheel": 22 - 24,
}

# %% 21.2 | suma a suma
def spectrum_at(signal, frequencies, rate):
    out = torch.zeros(signal.shape[0], len(frequencies), dtype=torch.complex128)
    for b in range(signal.shape[0]):
        for k, f in enumerate(frequencies.tolist()):
            total = 0j
            for n, x in enumerate(signal[b].tolist()):
                turn = -2 * math.pi * f * n / rate
                total += x * complex(math.cos(turn), math.sin(turn))
            out[b, k] = total
    return out

# %% 21.2 | con exponenciales complejas
def spectrum_at(signal, frequencies, rate):
    n = torch.arange(signal.shape[-1])
    wheel = torch.exp(-2j * math.pi * n[:, None] * frequencies[None, :] / rate)
    return torch.einsum("bn,nf->bf", signal.to(wheel.dtype), wheel)

# %% 21.2 | con una rueda que gira
def spectrum_at(signal, frequencies, rate):
    step = torch.polar(torch.ones_like(frequencies), -2 * math.pi * frequencies / rate)
    total = torch.zeros(len(signal), len(frequencies), dtype=step.dtype)
    for x in signal.flip(1).T:
        total = total * step + x[:, None]
    return total

# %% 21.3 | escrita
window_doubled = "solo la del tono"

# %% 21.4 | marco a marco
def power_frames(signal, size, hop):
    window = torch.tensor([0.5 - 0.5 * math.cos(2 * math.pi * j / size) for j in range(size)])
    out, start = [], 0
    while True:
        piece = signal[:, start : start + size]
        piece = nn.functional.pad(piece, (0, size - piece.shape[1]))
        z = torch.fft.fft(piece * window)[:, : size // 2 + 1]
        out.append(z.real**2 + z.imag**2)
        if start + size >= signal.shape[1]:
            return torch.stack(out, dim=1)
        start += hop

# %% 21.4 | con la STFT de PyTorch
def power_frames(signal, size, hop):
    n = signal.shape[-1]
    frames = 1 + max(0, -(-(n - size) // hop))
    x = nn.functional.pad(signal, (0, (frames - 1) * hop + size - n))
    z = torch.stft(x, size, hop, window=torch.hann_window(size), center=False, return_complex=True)
    return z.abs().pow(2).transpose(1, 2)

# %% 21.4 | con índices y una matriz de cosenos y senos
def power_frames(signal, size, hop):
    b, n = signal.shape
    frames = max(1, (n - size + hop - 1) // hop + 1)
    at = torch.arange(frames)[:, None] * hop + torch.arange(size)
    x = torch.cat([signal, signal.new_zeros(b, size + hop)], dim=1)[:, at]
    j = torch.arange(size).double()
    x = x * torch.sin(math.pi * j / size) ** 2
    turns = 2 * math.pi * torch.outer(j, torch.arange(size // 2 + 1).double()) / size
    return (x @ turns.cos()) ** 2 + (x @ turns.sin()) ** 2

# %% 21.5 | triángulo a triángulo
def log_mel_htk(power, rate, n_mels, *, low=0.0, high=None):
    high = rate / 2 if high is None else high
    def mel(f):
        return 2595 * math.log10(1 + f / 700)
    step = (mel(high) - mel(low)) / (n_mels + 1)
    places = [700 * (10 ** ((mel(low) + i * step) / 2595) - 1) for i in range(n_mels + 2)]
    bins = power.shape[1]
    out = torch.zeros(power.shape[0], n_mels)
    for i in range(1, n_mels + 1):
        a, b, c = places[i - 1 : i + 2]
        for k in range(bins):
            f = k * rate / 2 / (bins - 1)
            if a < f <= b:
                out[:, i - 1] += power[:, k] * (f - a) / (b - a)
            elif b < f < c:
                out[:, i - 1] += power[:, k] * (c - f) / (c - b)
    return torch.log10(torch.clamp(out, min=1e-10))

# %% 21.5 | con logaritmos naturales y where
def log_mel_htk(power, rate, n_mels, *, low=0.0, high=None):
    top = high or rate / 2
    edges = torch.linspace(math.log1p(low / 700), math.log1p(top / 700), n_mels + 2)
    edges = 700 * torch.expm1(edges)
    f = torch.arange(power.shape[1]) * (rate / (2 * power.shape[1] - 2))
    up = (f[:, None] - edges[:-2]) / edges.diff()[:-1]
    down = (edges[2:] - f[:, None]) / edges.diff()[1:]
    tent = torch.where(up < down, up, down).relu()
    energy = torch.matmul(power, tent)
    floor = torch.full_like(energy, 1e-10)
    return torch.where(energy < floor, floor, energy).log() / math.log(10)

# %% 21.5 | con np.interp
import numpy as np
def log_mel_htk(power, rate, n_mels, *, low=0.0, high=None):
    top = rate / 2 if high is None else high
    m = np.linspace(2595 * np.log10(1 + low / 700), 2595 * np.log10(1 + top / 700), n_mels + 2)
    hz = 700 * (np.power(10.0, m / 2595) - 1)
    grid = np.linspace(0, rate / 2, power.shape[1])
    rows = [np.interp(grid, hz[i : i + 3], [0.0, 1.0, 0.0]) for i in range(n_mels)]
    filters = torch.from_numpy(np.stack(rows))
    return (power @ filters.T).clamp_min(1e-10).log10()

# %% 21.6 | mezcla a mezcla, con todas las permutaciones
from itertools import permutations
def pit_loss(estimates, targets):
    def sisnr(e, t):
        e, t = e - e.mean(), t - t.mean()
        p = (e @ t) / (t @ t) * t
        noise = e - p
        return 10 * torch.log10((p @ p) / (noise @ noise))
    losses = []
    for es, ts in zip(estimates, targets):
        options = []
        for order in permutations(range(len(ts))):
            options.append(sum(sisnr(es[i], ts[j]) for j, i in enumerate(order)) / len(ts))
        losses.append(-torch.stack(options).max())
    return torch.stack(losses).mean()

# %% 21.6 | elige sin gradiente, con épsilon
from itertools import permutations
def pit_loss(estimates, targets, eps=1e-8):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    def score(order):
        x = e[:, list(order)]
        a = (x * t).sum(-1, keepdim=True) / (t.pow(2).sum(-1, keepdim=True) + eps)
        p = a * t
        return 10 * torch.log10(p.pow(2).sum(-1) / ((x - p).pow(2).sum(-1) + eps) + eps).mean(-1)
    best = None
    for order in permutations(range(e.shape[1])):
        s = score(order)
        best = s if best is None else torch.where(s > best, s, best)
    return -best.mean()

# %% 21.6 | el SI-SNR al revés, que es simétrico
from itertools import permutations
def pit_loss(estimates, targets):
    t = (targets - targets.mean(-1, keepdim=True)).unsqueeze(2)
    e = (estimates - estimates.mean(-1, keepdim=True)).unsqueeze(1)
    a = (e * t).sum(-1, keepdim=True) / (e * e).sum(-1, keepdim=True)
    table = 10 * (((a * e) ** 2).sum(-1) / ((t - a * e) ** 2).sum(-1)).log10()
    total = 0
    for one in table:
        n = len(one)
        total = total + max(sum(one[j, p[j]] for j in range(n)) / n for p in permutations(range(n)))
    return -total / len(table)

# %% 21.7 | marco a marco
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = []
    for t in range(len(outputs)):
        if any(s <= t < s + span for s in starts):
            hidden.append(t)
    losses = []
    for row, t in enumerate(hidden):
        good = nn.functional.cosine_similarity(outputs[t], targets[t], dim=0) / temperature
        scores = [good]
        for j in negatives[row].tolist():
            if not torch.equal(targets[j], targets[t]):
                scores.append(nn.functional.cosine_similarity(outputs[t], targets[j], dim=0) / temperature)
        losses.append(torch.logsumexp(torch.stack(scores), 0) - good)
    return sum(losses) / len(losses)

# %% 21.7 | con la máscara y la tabla entera de cosenos
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    mask = torch.zeros(len(outputs), dtype=torch.bool)
    for s in starts:
        mask[s : s + span] = True
    hidden = mask.nonzero().squeeze(1)
    o = outputs / outputs.norm(dim=-1, keepdim=True)
    q = targets / targets.norm(dim=-1, keepdim=True)
    table = (o @ q.T)[hidden] / temperature
    right = table.gather(1, hidden[:, None])
    wrong = table.gather(1, negatives)
    twins = (targets[:, None] == targets[None]).all(-1)[hidden].gather(1, negatives)
    wrong = wrong.masked_fill(twins, float("-inf"))
    logits = torch.cat([right, wrong], 1)
    return nn.functional.cross_entropy(logits, torch.zeros(len(hidden), dtype=torch.long))

# %% 21.7 | normaliza y reparte, con un número enorme
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    n = outputs.shape[0]
    hidden = torch.tensor(sorted(set(t for s in starts for t in range(s, min(n, s + span)))))
    cos = nn.CosineSimilarity(dim=-1)
    right = cos(outputs[hidden], targets[hidden]) / temperature
    wrong = cos(outputs[hidden].unsqueeze(1), targets[negatives]) / temperature
    gap = (targets[negatives] - targets[hidden].unsqueeze(1)).abs().sum(-1)
    wrong = torch.where(gap == 0, torch.tensor(-1e30), wrong)
    both = torch.cat([right.unsqueeze(1), wrong], dim=1)
    return (both.logsumexp(1) - right).mean()

# %% 21.8 | hacia atrás, con memoria
from functools import lru_cache
def error_counts(written, wanted):
    total = [0, 0, 0]
    for h, r in zip(written, wanted):
        @lru_cache(maxsize=None)
        def best(i, j):
            if i == 0:
                return (j, 0, 0, j)
            if j == 0:
                return (i, 0, i, 0)
            e, s, d, n = best(i - 1, j - 1)
            w = r[i - 1] != h[j - 1]
            options = [(e + w, s - w, d, n)]
            e, s, d, n = best(i - 1, j)
            options.append((e + 1, s, d + 1, n))
            e, s, d, n = best(i, j - 1)
            options.append((e + 1, s, d, n + 1))
            return min(options)
        for i in range(len(r) + 1):
            for j in range(len(h) + 1):
                best(i, j)
        e, s, d, n = best(len(r), len(h))
        total = [total[0] - s, total[1] + d, total[2] + n]
    return sum(total) / sum(len(r) for r in wanted), *total

# %% 21.8 | la distancia y las sustituciones, y lo demás se despeja
def error_counts(written, wanted):
    S = D = I = 0
    for h, r in zip(written, wanted):
        n, m = len(r), len(h)
        cost = [[0] * (m + 1) for _ in range(n + 1)]
        for i in range(n + 1):
            for j in range(m + 1):
                if i == 0 or j == 0:
                    cost[i][j] = (i + j) * 1000 + i + j
                else:
                    cost[i][j] = min(
                        cost[i - 1][j - 1] + 1000 * (r[i - 1] != h[j - 1]),
                        cost[i - 1][j] + 1001,
                        cost[i][j - 1] + 1001,
                    )
        errors, alone = divmod(cost[n][m], 1000)
        S += errors - alone
        D += (alone + n - m) // 2
        I += (alone - n + m) // 2
    return (S + D + I) / len("".join(wanted)), S, D, I

# %% 21.8 | tabla y camino de vuelta
def error_counts(written, wanted):
    counts = {"s": 0, "d": 0, "i": 0}
    letters = 0
    for hyp, ref in zip(written, wanted):
        letters += len(ref)
        D = {(-1, -1): (0, 0)}
        back = {}
        for i in range(-1, len(ref)):
            for j in range(-1, len(hyp)):
                options = []
                if i >= 0 and j >= 0:
                    c = D[i - 1, j - 1]
                    same = ref[i] == hyp[j]
                    options.append(((c[0] + (not same), c[1]), "=" if same else "s"))
                if i >= 0:
                    c = D[i - 1, j]
                    options.append(((c[0] + 1, c[1] + 1), "d"))
                if j >= 0:
                    c = D[i, j - 1]
                    options.append(((c[0] + 1, c[1] + 1), "i"))
                if options:
                    D[i, j], back[i, j] = min(options, key=lambda o: o[0])
        i, j = len(ref) - 1, len(hyp) - 1
        while (i, j) != (-1, -1):
            what = back[i, j]
            if what != "=":
                counts[what] += 1
            i, j = i - (what != "i"), j - (what != "d")
    total = sum(counts.values())
    return [total / letters, counts["s"], counts["d"], counts["i"]]
