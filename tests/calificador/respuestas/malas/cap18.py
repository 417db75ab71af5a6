"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 18.1 | la escala, dos veces en la salida
def lora_layer(x, weight, down, up, alpha, bias=None):
    s = alpha / len(down)
    merged = weight + s * up @ down
    y = x @ weight.T + s * (x @ (s * down).T @ up.T)
    return (y if bias is None else y + bias), merged

# %% 18.1 | aplica los dos desvíos
def lora_layer(x, weight, down, up, alpha, bias=None):
    s = alpha / len(down)
    merged = weight + s * up @ down
    y = x @ merged.T + s * x @ down.T @ up.T
    return (y if bias is None else y + bias), merged

# %% 18.1 | el sesgo también se escala
def lora_layer(x, weight, down, up, alpha, bias=None):
    s = alpha / len(down)
    y = s * x @ down.T @ up.T
    if bias is not None:
        y = y + s * bias
    return y + x @ weight.T, weight + s * up @ down

# %% 18.1 | primero la fundida
def lora_layer(x, weight, down, up, alpha, bias=None):
    merged = weight + alpha / len(down) * up @ down
    return merged, torch.nn.functional.linear(x, merged, bias)

# %% 18.1 | una mezcla de las dos
def lora_layer(x, weight, down, up, alpha, bias=None):
    s = alpha / len(down)
    merged = (1 - s) * weight + s * up @ down
    return torch.nn.functional.linear(x, merged, bias), merged

# %% 18.1 | división entera
def lora_layer(x, weight, down, up, alpha, bias=None):
    merged = weight + alpha // len(down) * up @ down
    return torch.nn.functional.linear(x, merged, bias), merged

# %% 18.1 | alfa sin dividir ⇒ Falta dividir α entre el rango
def lora_layer(x, weight, down, up, alpha, bias=None):
    merged = weight + alpha * (up @ down)
    return torch.nn.functional.linear(x, merged, bias), merged

# %% 18.2 | las dos ⇒ el primer paso mueve B
moved = "las dos"

# %% 18.2 | solo A ⇒ pasa por B
moved = "solo A"

# %% 18.2 | solo B ⇒ lleva el factor A x
moved = "solo B"

# %% 18.2 | fuera de las opciones
moved = "A y B"

# %% 18.2 | un número
moved = 0

# %% 18.3 | en bits ⇒ Está en bits
tuning_by_hand = {"lora": 5120, "times": 51.2, "largest_rank": 204, "forward": 0.625, "reverse": 0.5}

# %% 18.3 | dos capas
tuning_by_hand = {"lora": 10240, "times": 25.6, "largest_rank": 102, "forward": 0.433, "reverse": 0.347}

# %% 18.3 | la media de las dos divergencias
tuning_by_hand = {"lora": 5120, "times": 51.2, "largest_rank": 204, "forward": 0.39, "reverse": 0.39}

# %% 18.3 | repartida entre cuatro
tuning_by_hand = {"lora": 5120, "times": 51.2, "largest_rank": 204, "forward": 0.108, "reverse": 0.087}

# %% 18.3 | con logaritmos decimales
tuning_by_hand = {"lora": 5120, "times": 51.2, "largest_rank": 204, "forward": 0.188, "reverse": 0.151}

# %% 18.3 | con sesgo en LoRA
tuning_by_hand = {"lora": 6144, "times": 42.667, "largest_rank": 203, "forward": 0.433, "reverse": 0.347}

# %% 18.3 | negativas ⇒ tiene el signo contrario
tuning_by_hand = {"lora": 5120, "times": 51.2, "largest_rank": 204, "forward": -0.433, "reverse": -0.347}

# %% 18.3 | del otro lado ⇒ cambiadas
tuning_by_hand = {"lora": 5120, "times": 51.2, "largest_rank": 204, "forward": 0.347, "reverse": 0.433}

# %% 18.4 | cada capa empieza su triángulo al descongelarse
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    out = []
    for k in range(n_layers - 1, -1, -1):
        t = step - k * wait
        h = t / peak if t <= peak else (steps - t) / (steps - peak)
        out.append(rate * (1 + h * (ratio - 1)) / ratio / decay**k if t >= 0 else 0.0)
    return torch.tensor(out, dtype=torch.float64)

# %% 18.4 | la más baja de las abiertas lleva la tasa entera
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    h = step / peak if step <= peak else (steps - step) / (steps - peak)
    top = rate * (1 + h * (ratio - 1)) / ratio
    n_open = min(n_layers, 1 + step // wait)
    rates = [top / decay**i for i in range(n_open)]
    return torch.tensor([0.0] * (n_layers - n_open) + rates, dtype=torch.float64)

# %% 18.4 | las congeladas no salen
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    h = step / peak if step <= peak else (steps - step) / (steps - peak)
    top = rate * (1 + h * (ratio - 1)) / ratio
    n_open = min(n_layers, 1 + step // wait)
    return torch.tensor([top / decay**k for k in range(n_open - 1, -1, -1)], dtype=torch.float64)

# %% 18.4 | baja hasta cero
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    if step <= peak:
        mult = (1 + step / peak * (ratio - 1)) / ratio
    else:
        mult = (steps - step) / (steps - peak)
    k = torch.arange(n_layers - 1, -1, -1).double()
    return torch.where(k * wait <= step, rate * mult / decay**k, 0.0)

# %% 18.4 | redondea las capas hacia arriba
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    h = step / peak if step <= peak else (steps - step) / (steps - peak)
    k = torch.arange(n_layers - 1, -1, -1).double()
    n_open = 1 + math.ceil(step / wait)
    return torch.where(k < n_open, rate * (1 + h * (ratio - 1)) / ratio / decay**k, 0.0)

# %% 18.4 | el pico, en 1/ratio
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    h = step / peak if step <= peak else (steps - step) / (steps - peak)
    k = torch.arange(n_layers - 1, -1, -1).double()
    return torch.where(k * wait <= step, rate * h / ratio / decay**k, 0.0)

# %% 18.4 | en 32 bits
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    h = step / peak if step <= peak else (steps - step) / (steps - peak)
    k = torch.arange(n_layers - 1, -1, -1).float()
    return torch.where(k * wait <= step, rate * (1 + h * (ratio - 1)) / ratio / decay**k, 0.0)

# %% 18.5 | la raíz de T
def distill(student, teacher, labels, *, temperature, hard):
    import torch.nn.functional as F
    soft = F.kl_div((student / temperature).log_softmax(-1), (teacher.detach() / temperature).softmax(-1), reduction="batchmean")
    known = labels >= 0
    out = (1 - hard) * soft * math.sqrt(temperature)
    return out + hard * F.cross_entropy(student[known], labels[known]) if known.any() else out

# %% 18.5 | multiplica por T en lugar de dividir
def distill(student, teacher, labels, *, temperature, hard):
    import torch.nn.functional as F
    soft = F.kl_div((student * temperature).log_softmax(-1), (teacher.detach() * temperature).softmax(-1), reduction="batchmean")
    known = labels >= 0
    out = (1 - hard) * soft * temperature**2
    return out + hard * F.cross_entropy(student[known], labels[known]) if known.any() else out

# %% 18.5 | error cuadrático de las puntuaciones
def distill(student, teacher, labels, *, temperature, hard):
    import torch.nn.functional as F
    soft = (student - teacher.detach()).square().mean()
    known = labels >= 0
    out = (1 - hard) * soft
    return out + hard * F.cross_entropy(student[known], labels[known]) if known.any() else out

# %% 18.5 | sin respuesta, responde el maestro
def distill(student, teacher, labels, *, temperature, hard):
    import torch.nn.functional as F
    teacher = teacher.detach()
    soft = F.kl_div((student / temperature).log_softmax(-1), (teacher / temperature).softmax(-1), reduction="batchmean")
    labels = torch.where(labels < 0, teacher.argmax(-1), labels)
    return (1 - hard) * soft * temperature**2 + hard * F.cross_entropy(student, labels)

# %% 18.5 | solo la blanda
def distill(student, teacher, labels, *, temperature, hard):
    import torch.nn.functional as F
    soft = F.kl_div((student / temperature).log_softmax(-1), (teacher.detach() / temperature).softmax(-1), reduction="batchmean")
    return soft * temperature**2

# %% 18.5 | el alumno tampoco recibe gradiente
def distill(student, teacher, labels, *, temperature, hard):
    import torch.nn.functional as F
    with torch.no_grad():
        soft = F.kl_div((student / temperature).log_softmax(-1), (teacher / temperature).softmax(-1), reduction="batchmean")
        known = labels >= 0
        out = (1 - hard) * soft * temperature**2
        return out + hard * F.cross_entropy(student[known], labels[known]) if known.any() else out

# %% 18.5 | reduction="mean" ⇒ batchmean
def distill(student, teacher, labels, *, temperature, hard):
    import torch.nn.functional as F
    soft = F.kl_div((student / temperature).log_softmax(-1), (teacher.detach() / temperature).softmax(-1), reduction="mean")
    known = labels >= 0
    out = (1 - hard) * soft * temperature**2
    return out + hard * F.cross_entropy(student[known], labels[known]) if known.any() else out

# %% 18.6 | la marca sí, el end no
def answer_loss(logits, ids, *, assistant, end):
    mask = torch.zeros_like(ids, dtype=torch.bool)
    for b, row in enumerate(ids.tolist()):
        on = False
        for t, x in enumerate(row):
            on = (on or x == assistant) and x != end
            mask[b, t] = on
    labels = ids.masked_fill(~mask, -100)[:, 1:]
    return mask, torch.nn.functional.cross_entropy(logits[:, :-1].mT, labels)

# %% 18.6 | desde la primera marca hasta el último end
def answer_loss(logits, ids, *, assistant, end):
    mask = torch.zeros_like(ids, dtype=torch.bool)
    for b, row in enumerate(ids.tolist()):
        if assistant in row and end in row:
            mask[b, row.index(assistant) + 1 : len(row) - row[::-1].index(end)] = True
    labels = ids.masked_fill(~mask, -100)[:, 1:]
    return mask, torch.nn.functional.cross_entropy(logits[:, :-1].mT, labels)

# %% 18.6 | si se corta, no cuenta
def answer_loss(logits, ids, *, assistant, end):
    mask = torch.zeros_like(ids, dtype=torch.bool)
    for b, row in enumerate(ids.tolist()):
        for t, x in enumerate(row):
            if x == assistant and end in row[t:]:
                mask[b, t + 1 : row.index(end, t) + 1] = True
    labels = ids.masked_fill(~mask, -100)[:, 1:]
    return mask, torch.nn.functional.cross_entropy(logits[:, :-1].mT, labels)

# %% 18.6 | hasta la marca siguiente
def answer_loss(logits, ids, *, assistant, end):
    mask = torch.zeros_like(ids, dtype=torch.bool)
    user = int(ids[0, 0])
    for b, row in enumerate(ids.tolist()):
        on = False
        for t, x in enumerate(row):
            if x == user:
                on = False
            mask[b, t] = on
            on = on or x == assistant
    labels = ids.masked_fill(~mask, -100)[:, 1:]
    return mask, torch.nn.functional.cross_entropy(logits[:, :-1].mT, labels)

# %% 18.6 | la máscara, con números
def answer_loss(logits, ids, *, assistant, end):
    mask = torch.zeros_like(ids)
    for b, row in enumerate(ids.tolist()):
        on = 0
        for t, x in enumerate(row):
            mask[b, t] = on
            on = 1 if x == assistant else 0 if x == end else on
    labels = ids.masked_fill(mask == 0, -100)[:, 1:]
    return mask, torch.nn.functional.cross_entropy(logits[:, :-1].mT, labels)

# %% 18.6 | media por diálogo, también los vacíos
def answer_loss(logits, ids, *, assistant, end):
    mask = torch.zeros_like(ids, dtype=torch.bool)
    for b, row in enumerate(ids.tolist()):
        on = False
        for t, x in enumerate(row):
            mask[b, t] = on
            on = True if x == assistant else False if x == end else on
    cost = -logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    kept = mask[:, 1:]
    return mask, ((cost * kept).sum(1) / kept.sum(1).clamp(min=1)).mean()

# %% 18.6 | la perplejidad
def answer_loss(logits, ids, *, assistant, end):
    mask = torch.zeros_like(ids, dtype=torch.bool)
    for b, row in enumerate(ids.tolist()):
        on = False
        for t, x in enumerate(row):
            mask[b, t] = on
            on = True if x == assistant else False if x == end else on
    labels = ids.masked_fill(~mask, -100)[:, 1:]
    return mask, torch.nn.functional.cross_entropy(logits[:, :-1].mT, labels).exp()

# %% 18.7 | pérdida cuadrática, como IPO
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    h = policy_chosen - reference_chosen - policy_rejected + reference_rejected
    return (h - 1 / (2 * beta)).square().mean(), beta * h, 2 * (1 / (2 * beta) - h) / len(h)

# %% 18.7 | tres números
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    m = beta * (policy_chosen - reference_chosen - policy_rejected + reference_rejected)
    s = torch.nn.functional.logsigmoid
    c = beta * (torch.sigmoid(-m) - flip) / len(m)
    return (-(1 - flip) * s(m) - flip * s(-m)).mean(), m.mean(), c.mean()

# %% 18.7 | una pérdida por pareja
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    m = beta * (policy_chosen - reference_chosen - policy_rejected + reference_rejected)
    s = torch.nn.functional.logsigmoid
    return -(1 - flip) * s(m) - flip * s(-m), m, beta * (torch.sigmoid(-m) - flip) / len(m)

# %% 18.7 | la referencia, restada dos veces
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    m = beta * (policy_chosen - 2 * reference_chosen - policy_rejected + 2 * reference_rejected)
    s = torch.nn.functional.logsigmoid
    return (-(1 - flip) * s(m) - flip * s(-m)).mean(), m, beta * (torch.sigmoid(-m) - flip) / len(m)

# %% 18.7 | el ruido encoge el margen
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    m = (1 - 2 * flip) * beta * (policy_chosen - reference_chosen - policy_rejected + reference_rejected)
    return -torch.nn.functional.logsigmoid(m).mean(), m, beta * torch.sigmoid(-m) / len(m)

# %% 18.7 | razones en lugar de restas
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    m = beta * (policy_chosen / reference_chosen - policy_rejected / reference_rejected)
    s = torch.nn.functional.logsigmoid
    return (-(1 - flip) * s(m) - flip * s(-m)).mean(), m, beta * (torch.sigmoid(-m) - flip) / len(m)

# %% 18.7 | beta entre medias, al cuadrado
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    m = beta * (policy_chosen - reference_chosen - policy_rejected + reference_rejected)
    s = torch.nn.functional.logsigmoid
    return (-(1 - flip) * s(m) - flip * s(-m)).mean(), m, beta**2 * (torch.sigmoid(-m) - flip) / len(m)

# %% 18.8 | el gradiente exacto, sin mirar lo que ha salido
def policy_step(policy, reference, rewards, drawn, *, beta):
    log_p, log_ref = policy.log_softmax(-1), reference.log_softmax(-1)
    net = rewards - beta * (log_p - log_ref)
    gradient = log_p.exp() * (net - (log_p.exp() * net).sum(-1, keepdim=True))
    return gradient, (log_ref + rewards / beta).log_softmax(-1)

# %% 18.8 | la línea de base, de la muestra anterior
def policy_step(policy, reference, rewards, drawn, *, beta):
    log_p, log_ref = policy.log_softmax(-1), reference.log_softmax(-1)
    net = (rewards - beta * (log_p - log_ref)).gather(1, drawn)
    score = torch.nn.functional.one_hot(drawn, policy.shape[1]) - log_p.exp()[:, None]
    gradient = ((net - net.roll(1, 1))[..., None] * score).mean(1)
    return gradient, (log_ref + rewards / beta).log_softmax(-1)

# %% 18.8 | cada respuesta, una vez
def policy_step(policy, reference, rewards, drawn, *, beta):
    log_p, log_ref = policy.log_softmax(-1), reference.log_softmax(-1)
    net = (rewards - beta * (log_p - log_ref)).gather(1, drawn)
    n = drawn.shape[1]
    advantage = (net - net.mean(1, keepdim=True)) / (n - 1)
    gradient = torch.zeros_like(policy).scatter(1, drawn, advantage)
    return gradient, (log_ref + rewards / beta).log_softmax(-1)

# %% 18.8 | la mejor, toda a una
def policy_step(policy, reference, rewards, drawn, *, beta):
    log_p, log_ref = policy.log_softmax(-1), reference.log_softmax(-1)
    net = (rewards - beta * (log_p - log_ref)).gather(1, drawn)
    n = drawn.shape[1]
    gradient = torch.zeros_like(policy).scatter_add(1, drawn, (net - net.mean(1, keepdim=True)) / (n - 1))
    best = torch.full_like(policy, -torch.inf).scatter(1, rewards.argmax(1, keepdim=True), 0.0)
    return gradient, best

# %% 18.8 | el freno con la divergencia entera
def policy_step(policy, reference, rewards, drawn, *, beta):
    log_p, log_ref = policy.log_softmax(-1), reference.log_softmax(-1)
    kl = (log_p.exp() * (log_p - log_ref)).sum(-1, keepdim=True)
    net = rewards.gather(1, drawn) - beta * kl
    n = drawn.shape[1]
    gradient = torch.zeros_like(policy).scatter_add(1, drawn, (net - net.mean(1, keepdim=True)) / (n - 1))
    return gradient, (log_ref + beta * rewards).log_softmax(-1)

# %% 18.8 | la mejor de las otras
def policy_step(policy, reference, rewards, drawn, *, beta):
    log_p, log_ref = policy.log_softmax(-1), reference.log_softmax(-1)
    net = (rewards - beta * (log_p - log_ref)).gather(1, drawn)
    n = drawn.shape[1]
    base = torch.stack([net[:, [j for j in range(n) if j != i]].max(1).values for i in range(n)], 1)
    score = torch.nn.functional.one_hot(drawn, policy.shape[1]) - log_p.exp()[:, None]
    gradient = ((net - base)[..., None] * score).mean(1)
    return gradient, (log_ref + rewards / beta).log_softmax(-1)
