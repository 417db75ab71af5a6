"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 21.1 | en kilohercios
sampling_by_hand = {"heard": 1.5, "far": 2.5, "same": 5, "least": 6.8, "wheel": -2}

# %% 21.1 | se pliega en 8000
sampling_by_hand = {"heard": 6500, "far": 10500, "same": 3, "least": 6800, "wheel": 22}

# %% 21.1 | cuenta los múltiplos
sampling_by_hand = {"heard": 1500, "far": 2500, "same": 13, "least": 6800, "wheel": -2}

# %% 21.1 | el doble del doble
sampling_by_hand = {"heard": 1500, "far": 2500, "same": 5, "least": 13600, "wheel": -2}

# %% 21.1 | la rueda en fracción
sampling_by_hand = {"heard": 1500, "far": 2500, "same": 5, "least": 6800, "wheel": -2 / 24}

# %% 21.1 | la rueda, al derecho ⇒ lleva signo menos
sampling_by_hand = {"heard": 1500, "far": 2500, "same": 5, "least": 6800, "wheel": 2}

# %% 21.1 | el primer entero que sirve ⇒ no el primer número que lo supera
sampling_by_hand = {"heard": 1500, "far": 2500, "same": 5, "least": 6801, "wheel": -2}

# %% 21.2 | solo los cosenos
def spectrum_at(signal, frequencies, rate):
    n = torch.arange(signal.shape[1]).double()
    return (signal @ (2 * math.pi * torch.outer(n, frequencies) / rate).cos()).to(torch.complex128)

# %% 21.2 | pliega las frecuencias y pierde el signo
def spectrum_at(signal, frequencies, rate):
    rest = frequencies % rate
    f = torch.minimum(rest, rate - rest)
    n = torch.arange(signal.shape[1]).double()
    return signal.to(torch.complex128) @ torch.exp(-2j * math.pi * torch.outer(n, f) / rate)

# %% 21.2 | el tiempo, centrado
def spectrum_at(signal, frequencies, rate):
    n = torch.arange(signal.shape[1]).double() - signal.shape[1] / 2
    return signal.to(torch.complex128) @ torch.exp(-2j * math.pi * torch.outer(n, frequencies) / rate)

# %% 21.2 | con ventana
def spectrum_at(signal, frequencies, rate):
    n = torch.arange(signal.shape[1]).double()
    x = (signal * torch.hann_window(signal.shape[1])).to(torch.complex128)
    return x @ torch.exp(-2j * math.pi * torch.outer(n, frequencies) / rate)

# %% 21.2 | la integral, con el paso del tiempo
def spectrum_at(signal, frequencies, rate):
    n = torch.arange(signal.shape[1]).double()
    x = signal.to(torch.complex128) / rate
    return x @ torch.exp(-2j * math.pi * torch.outer(n, frequencies) / rate)

# %% 21.2 | con exponenciales y más ⇒ exponente lleva signo menos
def spectrum_at(signal, frequencies, rate):
    n = torch.arange(signal.shape[1]).double()
    return signal.to(torch.complex128) @ torch.exp(2j * math.pi * torch.outer(n, frequencies) / rate)

# %% 21.2 | el módulo, con la transformada muestra a muestra ⇒ queda solo el módulo
def spectrum_at(signal, frequencies, rate):
    n = torch.arange(signal.shape[1]).double()
    wheel = torch.exp(-2j * math.pi * torch.outer(n, frequencies) / rate)
    return (signal.to(torch.complex128) @ wheel).abs()

# %% 21.2 | la parte real ⇒ falta la parte imaginaria
def spectrum_at(signal, frequencies, rate):
    n = torch.arange(signal.shape[1]).double()
    wheel = torch.exp(-2j * math.pi * torch.outer(n, frequencies) / rate)
    return (signal.to(torch.complex128) @ wheel).real

# %% 21.2 | guardado en complex64 ⇒ aquí sale `complex64`
def spectrum_at(signal, frequencies, rate):
    out = torch.zeros(len(signal), len(frequencies), dtype=torch.complex64)
    n = torch.arange(signal.shape[1]).double()
    for k, f in enumerate(frequencies.tolist()):
        turns = 2 * math.pi * f * n / rate
        out[:, k] = torch.complex(signal @ turns.cos(), -(signal @ turns.sin()))
    return out

# %% 21.3 | las dos ⇒ toca el golpe durante el doble
window_doubled = "se estrechan las dos"

# %% 21.3 | el golpe ⇒ sitúa mejor las frecuencias
window_doubled = "solo la del golpe"

# %% 21.3 | ninguna ⇒ cada una mide ahora la mitad
window_doubled = "ninguna"

# %% 21.3 | fuera de las opciones
window_doubled = "el tono"

# %% 21.3 | un número
window_doubled = 2

# %% 21.4 | repite la última muestra
def power_frames(signal, size, hop):
    n = signal.shape[1]
    frames = 1 + max(0, math.ceil((n - size) / hop))
    x = torch.cat([signal, signal[:, -1:].expand(-1, size + (frames - 1) * hop - n)], dim=1)
    return torch.fft.rfft(x.unfold(1, size, hop) * torch.hann_window(size)).abs() ** 2

# %% 21.4 | sin solape
def power_frames(signal, size, hop):
    n = signal.shape[1]
    frames = max(1, math.ceil(n / size))
    x = nn.functional.pad(signal, (0, size * frames - n)).reshape(len(signal), frames, size)
    return torch.fft.rfft(x * torch.hann_window(size)).abs() ** 2

# %% 21.4 | en decibelios
def power_frames(signal, size, hop):
    n = signal.shape[1]
    frames = 1 + max(0, math.ceil((n - size) / hop))
    x = nn.functional.pad(signal, (0, size + (frames - 1) * hop - n)).unfold(1, size, hop)
    return 20 * torch.fft.rfft(x * torch.hann_window(size)).abs().log10()

# %% 21.4 | resta la media de cada marco
def power_frames(signal, size, hop):
    n = signal.shape[1]
    frames = 1 + max(0, math.ceil((n - size) / hop))
    x = nn.functional.pad(signal, (0, size + (frames - 1) * hop - n)).unfold(1, size, hop)
    x = x - x.mean(-1, keepdim=True)
    return torch.fft.rfft(x * torch.hann_window(size)).abs() ** 2

# %% 21.4 | el último marco acaba en la última muestra
def power_frames(signal, size, hop):
    n = signal.shape[1]
    starts = list(range(0, max(n - size, 0) + 1, hop))
    if starts[-1] + size < n:
        starts.append(n - size)
    x = nn.functional.pad(signal, (0, max(size - n, 0)))
    x = torch.stack([x[:, s : s + size] for s in starts], dim=1)
    return torch.fft.rfft(x * torch.hann_window(size)).abs() ** 2

# %% 21.4 | con stft y lo que trae ⇒ no se centran: el primero
def power_frames(signal, size, hop):
    z = torch.stft(signal, size, hop, window=torch.hann_window(size), return_complex=True)
    return z.abs().square().mT

# %% 21.4 | un marco de más y la ventana simétrica ⇒ Son dos errores
def power_frames(signal, size, hop):
    n = signal.shape[1]
    frames = 2 + (n - size) // hop if n >= size else 1
    x = nn.functional.pad(signal, (0, size + (frames - 1) * hop - n)).unfold(1, size, hop)
    return torch.fft.rfft(x * torch.hann_window(size, periodic=False)).abs() ** 2

# %% 21.4 | un marco por avance y la ventana simétrica
def power_frames(signal, size, hop):
    n = signal.shape[1]
    frames = math.ceil(n / hop)
    x = nn.functional.pad(signal, (0, size)).unfold(1, size, hop)[:, :frames]
    return torch.fft.rfft(x * torch.hann_window(size, periodic=False)).abs() ** 2

# %% 21.5 | la escala de Slaney
def log_mel_htk(power, rate, n_mels, *, low=0.0, high=None):
    top = rate / 2 if high is None else high
    def mel(f):
        return f * 15 / 1000 if f < 1000 else 15 + math.log(f / 1000) * 27 / math.log(6.4)
    def hertz(m):
        return m * 1000 / 15 if m < 15 else 1000 * math.exp((m - 15) * math.log(6.4) / 27)
    e = torch.tensor([hertz(m) for m in torch.linspace(mel(low), mel(top), n_mels + 2).tolist()])
    f = torch.linspace(0, rate / 2, power.shape[1])[:, None]
    tent = torch.minimum((f - e[:-2]) / (e[1:-1] - e[:-2]), (e[2:] - f) / (e[2:] - e[1:-1]))
    return (power @ tent.clamp(min=0)).clamp(min=1e-10).log10()

# %% 21.5 | sin recortar los triángulos
def log_mel_htk(power, rate, n_mels, *, low=0.0, high=None):
    top = rate / 2 if high is None else high
    m = torch.linspace(math.log1p(low / 700), math.log1p(top / 700), n_mels + 2)
    e = 700 * torch.expm1(m)
    f = torch.linspace(0, rate / 2, power.shape[1])[:, None]
    tent = torch.minimum((f - e[:-2]) / (e[1:-1] - e[:-2]), (e[2:] - f) / (e[2:] - e[1:-1]))
    return (power @ tent).clamp(min=1e-10).log10()

# %% 21.5 | n_mels vértices
def log_mel_htk(power, rate, n_mels, *, low=0.0, high=None):
    top = rate / 2 if high is None else high
    m = torch.linspace(math.log1p(low / 700), math.log1p(top / 700), n_mels + 3)[:-1]
    e = 700 * torch.expm1(m)
    f = torch.linspace(0, rate / 2, power.shape[1])[:, None]
    tent = torch.minimum((f - e[:-2]) / (e[1:-1] - e[:-2]), (e[2:] - f) / (e[2:] - e[1:-1]))
    return (power @ tent.clamp(min=0)).clamp(min=1e-10).log10()

# %% 21.5 | con la amplitud
def log_mel_htk(power, rate, n_mels, *, low=0.0, high=None):
    top = rate / 2 if high is None else high
    m = torch.linspace(math.log1p(low / 700), math.log1p(top / 700), n_mels + 2)
    e = 700 * torch.expm1(m)
    f = torch.linspace(0, rate / 2, power.shape[1])[:, None]
    tent = torch.minimum((f - e[:-2]) / (e[1:-1] - e[:-2]), (e[2:] - f) / (e[2:] - e[1:-1]))
    return (power.sqrt() @ tent.clamp(min=0)).clamp(min=1e-10).log10()

# %% 21.5 | el suelo, después del logaritmo y de otro valor
def log_mel_htk(power, rate, n_mels, *, low=0.0, high=None):
    top = rate / 2 if high is None else high
    m = torch.linspace(math.log1p(low / 700), math.log1p(top / 700), n_mels + 2)
    e = 700 * torch.expm1(m)
    f = torch.linspace(0, rate / 2, power.shape[1])[:, None]
    tent = torch.minimum((f - e[:-2]) / (e[1:-1] - e[:-2]), (e[2:] - f) / (e[2:] - e[1:-1]))
    logs = (power @ tent.clamp(min=0)).log10()
    return logs.maximum(logs.amax() - 8)

# %% 21.5 | el 2595 con el logaritmo natural en los mels y de vuelta con 1127 ⇒ este es el natural
def log_mel_htk(power, rate, n_mels, *, low=0.0, high=None):
    top = rate / 2 if high is None else high
    m = torch.linspace(1127 * math.log1p(low / 700), 1127 * math.log1p(top / 700), n_mels + 2)
    e = 700 * torch.expm1(m / 1127)
    f = torch.linspace(0, rate / 2, power.shape[1])[:, None]
    tent = torch.minimum((f - e[:-2]) / (e[1:-1] - e[:-2]), (e[2:] - f) / (e[2:] - e[1:-1]))
    return torch.log((power @ tent.clamp(min=0)).clamp(min=1e-10))

# %% 21.6 | el error cuadrático
import itertools
def pit_loss(estimates, targets):
    table = -((estimates[:, :, None] - targets[:, None]) ** 2).mean(-1)
    n = table.shape[1]
    totals = [table[:, list(p), list(range(n))].mean(1) for p in itertools.permutations(range(n))]
    return -torch.stack(totals).amax(0).mean()

# %% 21.6 | solo corre el orden
import itertools
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r2 = nn.functional.cosine_similarity(e[:, :, None], t[:, None], dim=-1) ** 2
    table = 10 * (r2 / (1 - r2)).log10()
    n = table.shape[1]
    totals = [torch.stack([table[:, (j + k) % n, j] for j in range(n)]).mean(0) for k in range(n)]
    return -torch.stack(totals).amax(0).mean()

# %% 21.6 | la media antes del logaritmo
import itertools
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r2 = nn.functional.cosine_similarity(e[:, :, None], t[:, None], dim=-1) ** 2
    table = r2 / (1 - r2)
    n = table.shape[1]
    totals = [table[:, list(p), list(range(n))].mean(1) for p in itertools.permutations(range(n))]
    return -10 * torch.stack(totals).amax(0).mean().log10()

# %% 21.6 | el reparto de la primera mezcla
import itertools
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r2 = nn.functional.cosine_similarity(e[:, :, None], t[:, None], dim=-1) ** 2
    table = 10 * (r2 / (1 - r2)).log10()
    n = table.shape[1]
    every = list(itertools.permutations(range(n)))
    best = max(every, key=lambda p: float(table[0, list(p), list(range(n))].sum()))
    return -table[:, list(best), list(range(n))].mean()

# %% 21.6 | sin gradiente
import itertools
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r2 = nn.functional.cosine_similarity(e[:, :, None], t[:, None], dim=-1) ** 2
    table = 10 * (r2 / (1 - r2)).log10()
    n = table.shape[1]
    totals = [table[:, list(p), list(range(n))].mean(1) for p in itertools.permutations(range(n))]
    return torch.tensor(-torch.stack(totals).amax(0).mean().item())

# %% 21.6 | sin probar repartos ⇒ hay que probar todos los repartos
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r2 = nn.functional.cosine_similarity(e, t, dim=-1) ** 2
    return -(10 * (r2 / (1 - r2)).log10()).mean()

# %% 21.6 | elige por el coseno ⇒ puede ganar otro
import itertools
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r = nn.functional.cosine_similarity(e[:, :, None], t[:, None], dim=-1).abs()
    table = 10 * (r**2 / (1 - r**2)).log10()
    n = table.shape[1]
    total = 0
    for like, pairs in zip(r, table):
        every = [(list(p), list(range(n))) for p in itertools.permutations(range(n))]
        total = total - pairs[max(every, key=lambda p: float(like[p].sum()))].mean()
    return total / len(table)

# %% 21.6 | elige por el coseno al cuadrado ⇒ puede ganar otro
import itertools
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r = nn.functional.cosine_similarity(e[:, :, None], t[:, None], dim=-1).abs()
    table = 10 * (r**2 / (1 - r**2)).log10()
    n = table.shape[1]
    total = 0
    for like, pairs in zip(r**2, table):
        every = [(list(p), list(range(n))) for p in itertools.permutations(range(n))]
        total = total - pairs[max(every, key=lambda p: float(like[p].sum()))].mean()
    return total / len(table)

# %% 21.6 | elige por la razón sin logaritmo ⇒ puede ganar otro
import itertools
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r = nn.functional.cosine_similarity(e[:, :, None], t[:, None], dim=-1).abs()
    table = 10 * (r**2 / (1 - r**2)).log10()
    n = table.shape[1]
    total = 0
    for like, pairs in zip(r**2 / (1 - r**2), table):
        every = [(list(p), list(range(n))) for p in itertools.permutations(range(n))]
        total = total - pairs[max(every, key=lambda p: float(like[p].sum()))].mean()
    return total / len(table)

# %% 21.6 | elige por la peor voz ⇒ aunque su peor voz
import itertools
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r = nn.functional.cosine_similarity(e[:, :, None], t[:, None], dim=-1).abs()
    table = 10 * (r**2 / (1 - r**2)).log10()
    n = table.shape[1]
    total = 0
    for like, pairs in zip(table, table):
        every = [(list(p), list(range(n))) for p in itertools.permutations(range(n))]
        total = total - pairs[max(every, key=lambda p: float(like[p].min()))].mean()
    return total / len(table)

# %% 21.6 | elige por el logaritmo del coseno
import itertools
def pit_loss(estimates, targets):
    e = estimates - estimates.mean(-1, keepdim=True)
    t = targets - targets.mean(-1, keepdim=True)
    r = nn.functional.cosine_similarity(e[:, :, None], t[:, None], dim=-1).abs()
    table = 10 * (r**2 / (1 - r**2)).log10()
    n = table.shape[1]
    total = 0
    for like, pairs in zip(r.log(), table):
        every = [(list(p), list(range(n))) for p in itertools.permutations(range(n))]
        total = total - pairs[max(every, key=lambda p: float(like[p].sum()))].mean()
    return total / len(table)

# %% 21.7 | solo donde empiezan
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = torch.tensor(sorted(starts))
    options = torch.cat([targets[hidden][:, None], targets[negatives[: len(hidden)]]], 1)
    scores = nn.functional.cosine_similarity(outputs[hidden][:, None], options, dim=-1) / temperature
    return -scores.log_softmax(-1)[:, 0].mean()

# %% 21.7 | el error cuadrático
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = torch.tensor(sorted({t for s in starts for t in range(s, min(s + span, len(outputs)))}))
    return (outputs[hidden] - targets[hidden]).square().mean()

# %% 21.7 | menos el coseno del verdadero
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = torch.tensor(sorted({t for s in starts for t in range(s, min(s + span, len(outputs)))}))
    return -nn.functional.cosine_similarity(outputs[hidden], targets[hidden], dim=-1).mean() / temperature

# %% 21.7 | sin logaritmo
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = torch.tensor(sorted({t for s in starts for t in range(s, min(s + span, len(outputs)))}))
    options = torch.cat([targets[hidden][:, None], targets[negatives]], 1)
    scores = nn.functional.cosine_similarity(outputs[hidden][:, None], options, dim=-1) / temperature
    return 1 - scores.softmax(-1)[:, 0].mean()

# %% 21.7 | todos los marcos son negativos
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = torch.tensor(sorted({t for s in starts for t in range(s, min(s + span, len(outputs)))}))
    table = nn.functional.cosine_similarity(outputs[hidden][:, None], targets[None], dim=-1)
    return nn.functional.cross_entropy(table / temperature, hidden)

# %% 21.7 | los iguales cuentan ⇒ que son el mismo vector
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = torch.tensor(sorted({t for s in starts for t in range(s, min(s + span, len(outputs)))}))
    options = torch.cat([targets[hidden][:, None], targets[negatives]], 1)
    scores = nn.functional.cosine_similarity(outputs[hidden][:, None], options, dim=-1) / temperature
    return nn.functional.cross_entropy(scores, torch.zeros(len(hidden), dtype=torch.long))

# %% 21.7 | es el mismo vector si tiene coseno 1 ⇒ Un vector y su doble
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = torch.tensor(sorted({t for s in starts for t in range(s, min(s + span, len(outputs)))}))
    options = torch.cat([targets[hidden][:, None], targets[negatives]], 1)
    scores = nn.functional.cosine_similarity(outputs[hidden][:, None], options, dim=-1) / temperature
    cosines = nn.functional.cosine_similarity(options[:, 1:], options[:, :1], dim=-1)
    same = cosines > 1 - 1e-6
    same = torch.cat([torch.zeros(len(hidden), 1, dtype=torch.bool), same], 1)
    return -scores.masked_fill(same, -math.inf).log_softmax(-1)[:, 0].mean()

# %% 21.7 | es el mismo vector si tiene la misma norma ⇒ en otro orden son otro vector
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = torch.tensor(sorted({t for s in starts for t in range(s, min(s + span, len(outputs)))}))
    options = torch.cat([targets[hidden][:, None], targets[negatives]], 1)
    scores = nn.functional.cosine_similarity(outputs[hidden][:, None], options, dim=-1) / temperature
    one = options.norm(dim=-1)
    same = one[:, 1:] == one[:, :1]
    same = torch.cat([torch.zeros(len(hidden), 1, dtype=torch.bool), same], 1)
    return -scores.masked_fill(same, -math.inf).log_softmax(-1)[:, 0].mean()

# %% 21.7 | es el mismo vector si tiene la misma suma ⇒ en otro orden son otro vector
def hidden_loss(outputs, targets, starts, span, negatives, *, temperature=0.1):
    hidden = torch.tensor(sorted({t for s in starts for t in range(s, min(s + span, len(outputs)))}))
    options = torch.cat([targets[hidden][:, None], targets[negatives]], 1)
    scores = nn.functional.cosine_similarity(outputs[hidden][:, None], options, dim=-1) / temperature
    one = options.sum(-1)
    same = one[:, 1:] == one[:, :1]
    same = torch.cat([torch.zeros(len(hidden), 1, dtype=torch.bool), same], 1)
    return -scores.masked_fill(same, -math.inf).log_softmax(-1)[:, 0].mean()

# %% 21.8 | con difflib
import difflib
def error_counts(written, wanted):
    s = d = i = 0
    for h, r in zip(written, wanted):
        for tag, a, b, c, e in difflib.SequenceMatcher(None, r, h, autojunk=False).get_opcodes():
            if tag == "replace":
                both = min(b - a, e - c)
                s, d, i = s + both, d + (b - a) - both, i + (e - c) - both
            elif tag == "delete":
                d += b - a
            elif tag == "insert":
                i += e - c
    return (s + d + i) / sum(map(len, wanted)), s, d, i

# %% 21.8 | por bolsas de letras
from collections import Counter
def error_counts(written, wanted):
    s = d = i = 0
    for h, r in zip(written, wanted):
        lost, extra = Counter(r) - Counter(h), Counter(h) - Counter(r)
        a, b = sum(lost.values()), sum(extra.values())
        s, d, i = s + min(a, b), d + a - min(a, b), i + b - min(a, b)
    return (s + d + i) / sum(map(len, wanted)), s, d, i

# %% 21.8 | primera fila a cero
def error_counts(written, wanted):
    S = D = I = 0
    for h, r in zip(written, wanted):
        row = [(0, 0, 0, 0)] * (len(h) + 1)
        for i, a in enumerate(r, 1):
            above, row = row, [(i, 0, i, 0)]
            for j, b in enumerate(h, 1):
                p, q, z = above[j - 1], above[j], row[-1]
                row.append(min((p[0] + (a != b), p[1] - (a != b), p[2], p[3]),
                               (q[0] + 1, q[1], q[2] + 1, q[3]), (z[0] + 1, z[1], z[2], z[3] + 1)))
        S, D, I = S - row[-1][1], D + row[-1][2], I + row[-1][3]
    return (S + D + I) / sum(map(len, wanted)), S, D, I

# %% 21.8 | por palabras
def error_counts(written, wanted):
    s = sum(h != r for h, r in zip(written, wanted))
    return s / len(wanted), s, 0, 0

# %% 21.8 | con las letras acertadas en orden
def error_counts(written, wanted):
    S = D = I = 0
    for h, r in zip(written, wanted):
        row = [0] * (len(h) + 1)
        for a in r:
            above, row = row, [0]
            for j, b in enumerate(h):
                row.append(above[j] + 1 if a == b else max(above[j + 1], row[-1]))
        lost, extra = len(r) - row[-1], len(h) - row[-1]
        s = min(lost, extra)
        S, D, I = S + s, D + lost - s, I + extra - s
    return (S + D + I) / sum(map(len, wanted)), S, D, I

# %% 21.8 | vuelta atrás, con la diagonal primero y después los borrados ⇒ Preferir la diagonal
def error_counts(written, wanted):
    S = D = I = 0
    for h, r in zip(written, wanted):
        t = [[i + j for j in range(len(h) + 1)] for i in range(len(r) + 1)]
        for i in range(1, len(r) + 1):
            for j in range(1, len(h) + 1):
                t[i][j] = min(t[i - 1][j - 1] + (r[i - 1] != h[j - 1]), t[i - 1][j] + 1, t[i][j - 1] + 1)
        i, j = len(r), len(h)
        while i > 0 or j > 0:
            if i > 0 and j > 0 and t[i][j] == t[i - 1][j - 1] + (r[i - 1] != h[j - 1]):
                S += r[i - 1] != h[j - 1]
                i, j = i - 1, j - 1
            elif i > 0 and t[i][j] == t[i - 1][j] + 1:
                i, D = i - 1, D + 1
            else:
                j, I = j - 1, I + 1
    return (S + D + I) / sum(map(len, wanted)), S, D, I

# %% 21.8 | vuelta atrás, con la diagonal primero y después las inserciones
def error_counts(written, wanted):
    S = D = I = 0
    for h, r in zip(written, wanted):
        t = [[i + j for j in range(len(h) + 1)] for i in range(len(r) + 1)]
        for i in range(1, len(r) + 1):
            for j in range(1, len(h) + 1):
                t[i][j] = min(t[i - 1][j - 1] + (r[i - 1] != h[j - 1]), t[i - 1][j] + 1, t[i][j - 1] + 1)
        i, j = len(r), len(h)
        while i > 0 or j > 0:
            if i > 0 and j > 0 and t[i][j] == t[i - 1][j - 1] + (r[i - 1] != h[j - 1]):
                S += r[i - 1] != h[j - 1]
                i, j = i - 1, j - 1
            elif j > 0 and t[i][j] == t[i][j - 1] + 1:
                j, I = j - 1, I + 1
            else:
                i, D = i - 1, D + 1
    return (S + D + I) / sum(map(len, wanted)), S, D, I

# %% 21.8 | hacia delante, con la diagonal primero
def error_counts(written, wanted):
    S = D = I = 0
    for h, r in zip(written, wanted):
        h, r = h[::-1], r[::-1]
        t = [[i + j for j in range(len(h) + 1)] for i in range(len(r) + 1)]
        for i in range(1, len(r) + 1):
            for j in range(1, len(h) + 1):
                t[i][j] = min(t[i - 1][j - 1] + (r[i - 1] != h[j - 1]), t[i - 1][j] + 1, t[i][j - 1] + 1)
        i, j = len(r), len(h)
        while i > 0 or j > 0:
            if i > 0 and j > 0 and t[i][j] == t[i - 1][j - 1] + (r[i - 1] != h[j - 1]):
                S += r[i - 1] != h[j - 1]
                i, j = i - 1, j - 1
            elif i > 0 and t[i][j] == t[i - 1][j] + 1:
                i, D = i - 1, D + 1
            else:
                j, I = j - 1, I + 1
    return (S + D + I) / sum(map(len, wanted)), S, D, I

# %% 21.8 | entre lo escrito ⇒ no entre las escritas
def error_counts(written, wanted):
    S = D = I = 0
    for h, r in zip(written, wanted):
        row = [(j, 0, 0, j) for j in range(len(h) + 1)]
        for i, a in enumerate(r, 1):
            above, row = row, [(i, 0, i, 0)]
            for j, b in enumerate(h, 1):
                p, q, z = above[j - 1], above[j], row[-1]
                row.append(min((p[0] + (a != b), p[1] - (a != b), p[2], p[3]),
                               (q[0] + 1, q[1], q[2] + 1, q[3]), (z[0] + 1, z[1], z[2], z[3] + 1)))
        S, D, I = S - row[-1][1], D + row[-1][2], I + row[-1][3]
    return (S + D + I) / sum(map(len, written)), S, D, I
