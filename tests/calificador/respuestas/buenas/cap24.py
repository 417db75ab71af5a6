"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 24.1 | con las veces dentro de la softmax
def kernel_average(query, keys, values, counts, *, beta=1.0):
    return torch.softmax(beta * keys @ query + counts.log(), dim=0) @ values

# %% 24.1 | con las claves escritas de verdad
def kernel_average(query, keys, values, counts, *, beta=1.0):
    index = torch.repeat_interleave(torch.arange(len(keys)), counts.long())
    weights = nn.functional.softmax(beta * (keys[index] * query).sum(1), dim=0)
    return (weights[:, None] * values[index]).sum(0)

# %% 24.1 | con la atención de PyTorch y un bucle de Python para las veces
def kernel_average(query, keys, values, counts, *, beta=1.0):
    seen = [i for i, c in enumerate(counts.tolist()) if c > 0]
    extra = torch.tensor([[math.log(counts[i].item()) for i in seen]], dtype=keys.dtype)
    out = nn.functional.scaled_dot_product_attention(query[None], keys[seen], values[seen], attn_mask=extra, scale=beta)
    return out[0]

# %% 24.1 | acumulando, con el máximo que se va viendo
def kernel_average(query, keys, values, counts, *, beta=1.0):
    top, total, out = -math.inf, 0.0, torch.zeros_like(values[0])
    for k, v, c in zip(keys, values, counts.tolist()):
        if c == 0:
            continue
        s = beta * float(k @ query)
        new = max(top, s)
        old = math.exp(top - new)
        total = total * old + c * math.exp(s - new)
        out = out * old + c * math.exp(s - new) * v
        top = new
    return out / total

# %% 24.2 | escrita
entropy_by_hand = {"bits": 1.75, "choices": 3.364, "cold": 0.727, "frozen": 1.585, "hot": 2}

# %% 24.2 | con cuentas
entropy_by_hand = {
    "bits": 1 / 2 + 2 / 4 + 2 * 3 / 8,
    "choices": 8 / 2**1.25,
    "cold": 16 / 22,
    "frozen": math.log(3) / math.log(2),
    "hot": 2.0,
}

# %% 24.3 | escrita
kinds_of_claim = "teorema, falsa, medida, analogía"

# %% 24.4 | con log_softmax
def hopfield_energy(states, patterns, *, beta):
    scores = beta * torch.einsum("nd,md->nm", states, patterns)
    logs = scores.log_softmax(-1)
    lse = (scores - logs)[:, 0]
    constant = math.log(patterns.shape[0]) / beta + 0.5 * max(float(p @ p) for p in patterns)
    return -lse / beta + 0.5 * (states * states).sum(1) + constant, states - logs.exp() @ patterns

# %% 24.4 | el gradiente, con autograd
def hopfield_energy(states, patterns, *, beta):
    x = states.detach().clone().requires_grad_(True)
    s = x @ patterns.mT
    top = s.max(-1, keepdim=True).values.detach()
    inside = (beta * (s - top)).exp().mean(-1).log() / beta + top[:, 0]
    energy = x.pow(2).sum(-1) / 2 - inside + patterns.pow(2).sum(-1).max() / 2
    (gradient,) = torch.autograd.grad(energy.sum(), x)
    return energy.detach(), gradient

# %% 24.4 | estado a estado, con distancias
def hopfield_energy(states, patterns, *, beta):
    sizes = (patterns**2).sum(1)
    energies, gradients = [], []
    for state in states:
        far = ((state - patterns) ** 2).sum(1) / 2
        low = (far - sizes / 2).min()
        kernel = torch.exp(-beta * (far - sizes / 2 - low))
        energies.append(low - torch.log(kernel.sum()) / beta + math.log(len(patterns)) / beta + sizes.max() / 2)
        gradients.append(((state - patterns) * kernel[:, None]).sum(0) / kernel.sum())
    return torch.stack(energies), torch.stack(gradients)

# %% 24.5 | estado a estado
def settle(states, patterns, *, beta, tolerance=1e-3, most=100):
    ends, counts = [], []
    for x in states:
        for i in range(1, most + 1):
            new = (beta * patterns @ x).softmax(0) @ patterns
            moved = (new - x).abs().max().item()
            x = new
            if moved < tolerance:
                break
        ends.append(x)
        counts.append(i)
    return torch.stack(ends), torch.tensor(counts)

# %% 24.5 | con where
def settle(states, patterns, *, beta, tolerance=1e-3, most=100):
    x, done = states, torch.zeros(len(states), 1, dtype=torch.bool)
    steps = torch.zeros(len(states), 1, dtype=torch.long)
    for _ in range(most):
        new = torch.where(done, x, torch.softmax(x @ patterns.T * beta, 1) @ patterns)
        steps = steps + (~done).long()
        done = done | ((new - x).abs() < tolerance).all(1, keepdim=True)
        x = new
        if done.all():
            break
    return x, steps[:, 0]

# %% 24.5 | guarda el camino y busca después
def settle(states, patterns, *, beta, tolerance=1e-3, most=100):
    path = [states]
    while len(path) <= most:
        path.append(nn.functional.scaled_dot_product_attention(path[-1], patterns, patterns, scale=beta))
    path = torch.stack(path)
    small = (path[1:] - path[:-1]).abs().amax(2) < tolerance
    small[-1] = True
    steps = small.long().argmax(0) + 1
    return path[steps, torch.arange(len(states))], steps

# %% 24.6 | con la desviación de cada columna
def outside_mean(x, maps, weights, *, skip=False):
    out = []
    for layer in range(len(maps) + 1):
        var = x.var(dim=0, correction=0).sum() * len(x)
        out.append((var / (x * x).sum()).sqrt())
        if layer < len(maps):
            x = maps[layer] @ (x @ weights[layer]) + (x if skip else 0)
    return torch.stack(out)

# %% 24.6 | con la matriz que centra
def outside_mean(x, maps, weights, *, skip=False):
    n = x.shape[0]
    centre = torch.eye(n, dtype=x.dtype) - 1 / n
    def share(x):
        return torch.linalg.matrix_norm(centre @ x) / torch.linalg.matrix_norm(x)
    sizes = [share(x)]
    for a, w in zip(maps, weights):
        x = torch.einsum("ij,jd,de->ie", a, x, w) + skip * x
        sizes.append(share(x))
    return torch.stack(sizes)

# %% 24.6 | en números de Python
def outside_mean(x, maps, weights, *, skip=False):
    heights = [x]
    for i in range(maps.shape[0]):
        step = maps[i].matmul(heights[-1]).matmul(weights[i])
        if skip:
            step = step + heights[-1]
        heights.append(step)
    answer = []
    for h in heights:
        rows = (h - h.sum(0) / h.shape[0]).flatten().tolist()
        answer.append(math.sqrt(sum(v * v for v in rows)) / math.sqrt(sum(v * v for v in h.flatten().tolist())))
    return torch.tensor(answer, dtype=x.dtype)

# %% 24.7 | con cosenos y senos
def frequency_gains(maps, *, times=1):
    n = maps.shape[-1]
    turns = 2 * math.pi * torch.outer(torch.arange(n, dtype=maps.dtype), torch.arange(n // 2 + 1, dtype=maps.dtype)) / n
    c, s = turns.cos(), turns.sin()
    before = (c**2 + s**2).sum(0)
    for _ in range(times):
        c, s = maps @ c, maps @ s
    return ((c**2 + s**2).sum(-2) / before).sqrt().expand(len(maps), -1)

# %% 24.7 | con la matriz de Fourier
def frequency_gains(maps, *, times=1):
    n = maps.shape[-1]
    waves = torch.fft.ifft(torch.eye(n, dtype=torch.complex128), norm="ortho")[:, : n // 2 + 1]
    out = waves.expand(len(maps), n, -1)
    for _ in range(times):
        out = maps.to(out.dtype) @ out
    return torch.linalg.vector_norm(out, dim=1)

# %% 24.7 | cabeza a cabeza, con Parseval en las consultas
def frequency_gains(maps, *, times=1):
    rows = []
    for a in maps:
        p = torch.eye(len(a), dtype=a.dtype)
        for _ in range(times):
            p = a @ p
        table = torch.fft.fft2(p)[:, : len(a) // 2 + 1]
        rows.append(table.abs().pow(2).sum(0).sqrt() / len(a))
    return torch.stack(rows)

# %% 24.8 | quieto la mitad de las veces
def long_run(weights, start):
    lazy = (weights + torch.eye(len(weights), dtype=weights.dtype)) / 2
    far = torch.linalg.matrix_power(lazy, 2**12)
    return start @ far, round(far.trace().item())

# %% 24.8 | grupo a grupo
def long_run(weights, start):
    n = len(weights)
    reach = torch.linalg.matrix_power((weights > 0).double() + torch.eye(n), n) > 0
    closed = [i for i in range(n) if all(reach[j, i] for j in range(n) if reach[i, j])]
    groups = {tuple(reach[i].nonzero()[:, 0].tolist()) for i in closed}
    passing = [i for i in range(n) if i not in closed]
    out = torch.zeros_like(start)
    for group in groups:
        g = list(group)
        inside = weights[g][:, g]
        system = torch.cat([inside.T - torch.eye(len(g)), torch.ones(1, len(g))])
        goal = torch.zeros(len(g) + 1, 1)
        goal[-1] = 1
        share = torch.linalg.lstsq(system, goal).solution[:, 0]
        mass = start[g].sum()
        if passing:
            leave = torch.eye(len(passing)) - weights[passing][:, passing]
            mass = mass + start[passing] @ torch.linalg.solve(leave, weights[passing][:, g].sum(1))
        out[g] = mass * share
    return out, len(groups)

# %% 24.8 | con los autovectores
def long_run(weights, start):
    values, vectors = torch.linalg.eig(weights)
    one = (values - 1).abs() < 1e-7
    right = vectors[:, one].real
    values, vectors = torch.linalg.eig(weights.T)
    left = vectors[:, (values - 1).abs() < 1e-7].real
    return start @ right @ torch.linalg.inv(left.T @ right) @ left.T, int(one.sum())
