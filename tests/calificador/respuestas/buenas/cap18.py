"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 18.1 | fundiendo primero
def lora_layer(x, weight, down, up, alpha, bias=None):
    rank, _ = down.shape
    merged = weight + up @ down * (alpha / rank)
    return torch.nn.functional.linear(x, merged, bias), merged

# %% 18.1 | con einsum, sumando un rango cada vez
def lora_layer(x, weight, down, up, alpha, bias=None):
    r = up.shape[-1]
    out = torch.einsum("...i,oi->...o", x, weight)
    merged = weight.clone()
    for k in range(r):
        piece = torch.outer(up[:, k], down[k]) * alpha / r
        merged += piece
        out = out + torch.einsum("...i,oi->...o", x, piece)
    return [out if bias is None else out + bias, merged]

# %% 18.1 | con una clase
class Layer(nn.Module):
    def __init__(self, weight, down, up, alpha, bias):
        super().__init__()
        self.weight, self.down, self.up, self.bias = weight, down, up, bias
        self.scaling = alpha / min(down.shape[0], up.shape[1])
    def forward(self, x):
        h = torch.matmul(torch.matmul(x, self.down.transpose(0, 1)), self.up.transpose(0, 1))
        y = torch.matmul(x, self.weight.transpose(0, 1)) + h * self.scaling
        return y if self.bias is None else y + self.bias
def lora_layer(x, weight, down, up, alpha, bias=None):
    layer = Layer(weight, down, up, alpha, bias)
    return layer(x), weight + torch.mm(up * layer.scaling, down)

# %% 18.2 | escrita
moved = "ninguna"

# %% 18.3 | escrita
tuning_by_hand = {"lora": 5120, "times": 51.2, "largest_rank": 204, "forward": 0.433, "reverse": 0.347}

# %% 18.3 | con la cuenta
tuning_by_hand = {
    "lora": 4 * 256 + 1024 * 4,
    "times": 256 * 1024 / 5120,
    "largest_rank": 256 * 1024 // 1280,
    "forward": 5 / 8 * math.log(2),
    "reverse": math.log(2) / 2,
}

# %% 18.4 | capa a capa
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    if step < peak:
        mult = 1 / ratio + (1 - 1 / ratio) * step / peak
    else:
        mult = 1 - (1 - 1 / ratio) * (step - peak) / (steps - peak)
    n_open = min(n_layers, 1 + step // wait)
    out, lr = [], rate * mult
    for i in range(n_layers):
        out.insert(0, lr if i < n_open else 0.0)
        lr /= decay
    return torch.tensor(out, dtype=torch.float64)

# %% 18.4 | con ceros y una rebanada
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    up, down = step / peak, (steps - step) / (steps - peak)
    top = rate * (1 / ratio + min(up, down) * (1 - 1 / ratio))
    rates = torch.zeros(n_layers, dtype=torch.float64)
    first = max(0, n_layers - 1 - step // wait)
    powers = torch.arange(first, n_layers, dtype=torch.float64) - (n_layers - 1)
    rates[first:] = top * decay**powers
    return rates

# %% 18.4 | recursiva
def rates_at(step, n_layers, *, rate, wait, peak, steps, decay=2.6, ratio=32.0):
    height = max(0, 1 - abs(step - peak) / (peak if step <= peak else steps - peak))
    def below(left, now, lr):
        if left == 0:
            return []
        return below(left - 1, now - wait, lr / decay) + [lr if now >= 0 else 0.0]
    top = rate * (height * (ratio - 1) + 1) / ratio
    return torch.tensor(below(n_layers, step, top), dtype=torch.float64)

# %% 18.5 | con las pérdidas de PyTorch
def distill(student, teacher, labels, *, temperature, hard):
    import torch.nn.functional as F
    soft = F.kl_div(
        F.log_softmax(student / temperature, -1),
        F.softmax(teacher.detach() / temperature, -1),
        reduction="batchmean",
    ) * temperature**2
    if (labels == -1).all():
        return (1 - hard) * soft
    return (1 - hard) * soft + hard * F.cross_entropy(student, labels, ignore_index=-1)

# %% 18.5 | con una máscara que multiplica
def distill(student, teacher, labels, *, temperature, hard):
    with torch.no_grad():
        p = (teacher / temperature).softmax(-1)
        entropy = -torch.special.xlogy(p, p).sum(-1)
    cross = -(p * (student / temperature).log_softmax(-1)).sum(-1)
    soft = (cross - entropy).mean() * temperature * temperature
    known = (labels != -1).to(student.dtype)
    right = student.gather(1, labels.clamp(min=0)[:, None])[:, 0] - student.logsumexp(-1)
    return (1 - hard) * soft - hard * (right * known).sum() / known.sum().clamp(min=1)

# %% 18.5 | ejemplo a ejemplo, restando el máximo
def distill(student, teacher, labels, *, temperature, hard):
    def logs(z):
        z = z - z.max()
        return z - z.exp().sum().log()
    soft, right = [], []
    for s, t, y in zip(student, teacher.detach(), labels.tolist()):
        q, p = logs(s / temperature), logs(t / temperature)
        soft.append((p.exp() * (p - q)).sum() * temperature**2)
        if y >= 0:
            right.append(-logs(s)[y])
    total = (1 - hard) * torch.stack(soft).mean()
    return total + hard * torch.stack(right).mean() if right else total

# %% 18.6 | buscando el último aviso anterior
def answer_loss(logits, ids, *, assistant, end):
    n = ids.shape[1]
    place = torch.arange(n).expand_as(ids)
    def last(token):
        found = torch.where(ids == token, place, -1).cummax(1).values
        return torch.cat([torch.full_like(found[:, :1], -1), found[:, :-1]], 1)
    mask = last(assistant) > last(end)
    labels = ids.masked_fill(~mask, -100)
    return mask, torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:])

# %% 18.6 | por trozos
def answer_loss(logits, ids, *, assistant, end):
    mask, costs = torch.zeros(ids.shape, dtype=torch.bool), []
    for b, row in enumerate(ids.tolist()):
        t = 0
        while t < len(row):
            if row[t] == assistant:
                t += 1
                while t < len(row):
                    mask[b, t] = True
                    costs.append(logits[b, t - 1].logsumexp(-1) - logits[b, t - 1, row[t]])
                    t += 1
                    if row[t - 1] == end:
                        break
            else:
                t += 1
    return mask, torch.stack(costs).mean()

# %% 18.6 | contando marcas y respuestas cerradas
def answer_loss(logits, ids, *, assistant, end):
    opened, state = [], torch.zeros(len(ids), dtype=torch.bool)
    for column in ids.T:
        opened.append(state)
        state = (state & (column != end)) | (column == assistant)
    mask = torch.stack(opened, 1)
    log_p = logits - logits.logsumexp(-1, keepdim=True)
    b, t = mask.nonzero(as_tuple=True)
    return mask, -log_p[b, t - 1, ids[b, t]].sum() / len(b)

# %% 18.7 | con autograd
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    m = (beta * (policy_chosen - policy_rejected - reference_chosen + reference_rejected)).detach().requires_grad_()
    soft = torch.nn.functional.softplus
    loss = ((1 - flip) * soft(-m) + flip * soft(m)).mean()
    (slope,) = torch.autograd.grad(loss, m)
    return loss.detach(), m.detach(), -beta * slope

# %% 18.7 | con la entropía cruzada binaria
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    ratio = lambda policy, reference: policy - reference
    margin = beta * ratio(policy_chosen, reference_chosen) - beta * ratio(policy_rejected, reference_rejected)
    target = torch.full_like(margin, 1 - flip)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(margin, target)
    return loss, margin, beta * (target - margin.sigmoid()) / margin.numel()

# %% 18.7 | pareja a pareja
def dpo(policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta, flip=0.0):
    def log_sigmoid(v):
        return -math.log1p(math.exp(-v)) if v > 0 else v - math.log1p(math.exp(v))
    losses, margins, pushes = [], [], []
    for a, b, c, d in zip(policy_chosen.tolist(), policy_rejected.tolist(), reference_chosen.tolist(), reference_rejected.tolist()):
        m = beta * ((a - c) - (b - d))
        margins.append(m)
        losses.append(-(1 - flip) * log_sigmoid(m) - flip * log_sigmoid(-m))
        pushes.append(beta * (math.exp(log_sigmoid(-m)) - flip) / len(policy_chosen))
    new = lambda x: torch.tensor(x, dtype=policy_chosen.dtype)
    return new(sum(losses) / len(losses)), new(margins), new(pushes)

# %% 18.8 | con autograd
def policy_step(policy, reference, rewards, drawn, *, beta):
    policy = policy.clone().requires_grad_()
    log_p, log_ref = policy.log_softmax(-1), reference.log_softmax(-1)
    took, ref = log_p.gather(1, drawn), log_ref.gather(1, drawn)
    net = rewards.gather(1, drawn) - beta * (took - ref).detach()
    n = drawn.shape[1]
    others = (net.sum(1, keepdim=True) - net) / (n - 1)
    ((net - others) * took).mean(1).sum().backward()
    best = log_ref + rewards / beta
    return policy.grad, best - best.logsumexp(-1, keepdim=True)

# %% 18.8 | sin normalizar lo que no hace falta
def policy_step(policy, reference, rewards, drawn, *, beta):
    n = drawn.shape[1]
    net = torch.take_along_dim(rewards - beta * policy + beta * reference, drawn, 1)
    advantage = (net - net.mean(1, keepdim=True)) * n / (n - 1)
    gradient = torch.zeros_like(policy).scatter_add(1, drawn, advantage / n)
    return gradient, torch.log_softmax(reference + rewards / beta, 1)

# %% 18.8 | muestra a muestra
def policy_step(policy, reference, rewards, drawn, *, beta):
    gradient = torch.zeros_like(policy)
    p, q = policy.softmax(-1), reference.softmax(-1)
    for b in range(len(drawn)):
        net = [rewards[b, y] - beta * (p[b, y] / q[b, y]).log() for y in drawn[b]]
        for i, y in enumerate(drawn[b]):
            rest = net[:i] + net[i + 1 :]
            unit = torch.zeros_like(p[b])
            unit[y] = 1
            gradient[b] += (net[i] - sum(rest) / len(rest)) * (unit - p[b]) / len(net)
    best = q.log() + (rewards - rewards.amax(1, keepdim=True)) / beta
    return gradient, best.log_softmax(1)
