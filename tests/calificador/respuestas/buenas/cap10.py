"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 10.1 | escrita
gradient_by_hand = {"plain": -0.04, "stream": 1.08, "one": 0.3, "two": -0.18}

# %% 10.1 | con cuentas
gradient_by_hand = {"plain": 0.5 * -0.4 * 0.2, "stream": 1.5 * 0.6 * 1.2, "one": 0.5 - 0.4 + 0.2, "two": -0.2 + 0.1 - 0.08}

# %% 10.1 | por los coeficientes de un polinomio
poly = torch.tensor([1.0])
for w in (0.5, -0.4, 0.2):
    poly = torch.cat([poly, torch.zeros(1)]) + w * torch.cat([torch.zeros(1), poly])
gradient_by_hand = {"plain": float(poly[3]), "stream": float(poly.sum()), "one": float(poly[1]), "two": float(poly[2])}

# %% 10.2 | con dos decimales
norm_by_hand = {"layer": -1.67, "eps": 0.6, "rms": -0.2, "shifted": -1.67}

# %% 10.2 | con fracciones
norm_by_hand = {"layer": -5 / 3, "eps": 3 / 5, "rms": -1 / 5, "shifted": -5 / 3}

# %% 10.2 | calculada
x = torch.tensor([-1.0, 5.0, 5.0, 7.0])
u = x - x.mean()
norm_by_hand = {"layer": float(u[0] / u.square().mean().sqrt()), "eps": float(u[3] / (u.square().mean() + 16).sqrt()),
                "rms": float(x[0] / x.square().mean().sqrt()), "shifted": float(u[0] / u.square().mean().sqrt())}

# %% 10.3 | escrita
scaled_gradient = "diez veces menos"

# %% 10.3 | con espacios
scaled_gradient = " diez veces menos "

# %% 10.4 | con la red densa en línea y sin rama
class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.norm = norm
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention = nn.LayerNorm(d_model)
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.norm_feed_forward = nn.LayerNorm(d_model)

    def add(self, x, norm, sublayer):
        if self.norm == "inside":
            return norm(sublayer(x)) + x
        return x + sublayer(norm(x)) if self.norm == "pre" else norm(x + sublayer(x))

    def forward(self, x, mask=None):
        hidden = mask if mask is None else mask.logical_not()
        x = self.add(x, self.norm_attention, lambda y: self.attention(y, y, y, attn_mask=hidden)[0])
        return self.add(x, self.norm_feed_forward, lambda y: self.contract(torch.relu(self.expand(y))))

# %% 10.4 | acumula sobre la misma variable
class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        if norm not in ("pre", "post", "inside"):
            raise ValueError(norm)
        self.pre, self.post, self.inside = (norm == name for name in ("pre", "post", "inside"))
        self.attention = nn.MultiheadAttention(d_model, n_heads, dropout=0.1)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, mask=None):
        read = self.norm_attention(x) if self.pre else x
        bias = torch.zeros(x.shape[1], x.shape[1]) if mask is None else torch.where(mask, 0.0, -math.inf)
        read = read.transpose(0, 1)  # esta atención quiere las posiciones delante
        update = self.dropout(self.attention(read, read, read, attn_mask=bias)[0].transpose(0, 1))
        stream = x + (self.norm_attention(update) if self.inside else update)
        stream = self.norm_attention(stream) if self.post else stream
        read = self.norm_feed_forward(stream) if self.pre else stream
        update = self.dropout(self.contract(self.expand(read).clamp(min=0)))
        stream = stream + (self.norm_feed_forward(update) if self.inside else update)
        return self.norm_feed_forward(stream) if self.post else stream

# %% 10.4 | la atención, a mano con los parámetros de la capa
class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.attention, self.h = nn.MultiheadAttention(d_model, n_heads, batch_first=True), n_heads
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.forward = {"pre": self.before, "post": self.after, "inside": self.within}[norm]

    def attend(self, x, mask):
        heads = []
        projected = x @ self.attention.in_proj_weight.T + self.attention.in_proj_bias
        for q, k, v in zip(*(part.chunk(self.h, -1) for part in projected.chunk(3, -1))):
            scores = q @ k.mT / q.shape[-1] ** 0.5
            heads.append((scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1) @ v)
        return self.attention.out_proj(torch.cat(heads, -1))

    def dense(self, x):
        return self.contract(self.expand(x).relu())

    def before(self, x, mask=None):
        y = x + self.attend(self.norm_attention(x), mask)
        return y + self.dense(self.norm_feed_forward(y))

    def after(self, x, mask=None):
        y = self.norm_attention(x + self.attend(x, mask))
        return self.norm_feed_forward(y + self.dense(y))

    def within(self, x, mask=None):
        y = x + self.norm_attention(self.attend(x, mask))
        return y + self.norm_feed_forward(self.dense(y))

# %% 10.5 | capa a capa
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    linear = lambda a, b: a * b + (b if bias else 0)
    narrow = (n_kv_heads or n_heads) * (d_model // n_heads)
    attention = linear(d_model, d_model) + 2 * linear(d_model, narrow) + linear(d_model, d_model)
    dense = linear(d_model, d_ff) * (2 if gated else 1) + linear(d_ff, d_model)
    return attention, dense, (2 if rms else 4) * d_model

# %% 10.5 | con una lista de entradas y salidas
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    kv = d_model if n_kv_heads is None else n_kv_heads * d_model // n_heads
    attention = [(d_model, width) for width in (d_model, kv, kv, d_model)]
    dense = [(d_model, d_ff)] * (1 + gated) + [(d_ff, d_model)]
    sizes = [sum((rows + bias) * columns for rows, columns in part) for part in (attention, dense)]
    return [*sizes, d_model * (2 if rms else 4)]

# %% 10.5 | desarrollada
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    d, kv = d_model, d_model * (n_kv_heads if n_kv_heads is not None else n_heads) // n_heads
    total = 2 * d * (d + kv), (3 if gated else 2) * d * d_ff, 2 * d if rms else 4 * d
    if not bias:
        return total
    return total[0] + 2 * (d + kv), total[1] + d_ff * (1 + int(gated)) + d, total[2]

# %% 10.6 | con rsqrt y slicing
def partial_rms_norm(x, weight, k, eps=1e-6):
    return x * torch.rsqrt(x.narrow(-1, 0, k).pow(2).mean(-1, keepdim=True) + eps) * weight

# %% 10.6 | con la norma euclídea
def partial_rms_norm(x, weight, k, eps=1e-6):
    size = torch.linalg.vector_norm(x[..., :k], dim=-1, keepdim=True)
    return x / (size**2 / k + eps) ** 0.5 * weight

# %% 10.6 | con einsum y un promedio escrito
def partial_rms_norm(x, weight, k, eps=1e-6):
    first = x[..., :k]
    mean = torch.einsum("...d,...d->...", first, first) / k
    return torch.einsum("...d,d,...->...d", x, weight, (mean + eps) ** -0.5)

# %% 10.7 | con la jacobiana de una posición
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    d = x.shape[-1]
    u = x - x.mean(-1, keepdim=True)
    s = (u.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    n = u / s
    jacobian = (torch.eye(d) - 1 / d - n.unsqueeze(-1) * n.unsqueeze(-2) / d) / s.unsqueeze(-1)
    grad_x = torch.einsum("...i,...ij->...j", grad_output * weight, jacobian)
    return grad_x, torch.einsum("...d,...d->d", grad_output, n), torch.einsum("...d->d", grad_output)

# %% 10.7 | en tres pasos, como el grafo
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    d = x.shape[-1]
    u = x - x.mean(-1, keepdim=True)
    inv = (u.square().sum(-1, keepdim=True) / d + eps) ** -0.5
    g_n = grad_output * weight
    g_inv = (g_n * u).sum(-1, keepdim=True)
    g_u = g_n * inv - g_inv * inv**3 * u / d
    grad_x = g_u - g_u.sum(-1, keepdim=True) / d
    flat = grad_output.flatten(0, -2) if x.dim() > 1 else grad_output[None]
    return [grad_x, (flat * (u * inv).reshape(flat.shape)).sum(0), flat.sum(0)]

# %% 10.7 | posición a posición
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    rows, grads = x.reshape(-1, x.shape[-1]), grad_output.reshape(-1, x.shape[-1])
    out, grad_weight, grad_bias = [], torch.zeros_like(weight), torch.zeros_like(weight)
    for row, grad in zip(rows, grads):
        s = (row.var(correction=0) + eps) ** 0.5
        n = (row - row.mean()) / s
        h = grad * weight
        out.append((h - h.mean() - n * (h @ n) / len(n)) / s)
        grad_weight, grad_bias = grad_weight + grad * n, grad_bias + grad
    return torch.stack(out).reshape(x.shape), grad_weight, grad_bias

# %% 10.8 | con ceil y sigmoide
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = math.ceil(2 * d_ff / (3 * multiple_of)) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        z = self.expand(x)
        return self.contract(z * torch.sigmoid(z) * self.gate(x))

# %% 10.8 | buscando el múltiplo y con nn.SiLU
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = multiple_of
        while 3 * width < 2 * d_ff:
            width += multiple_of
        self.expand = nn.Linear(d_model, width, bias=False)
        self.gate = nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)
        self.activation = nn.SiLU()

    def forward(self, x):
        return self.contract(self.gate(x) * self.activation(self.expand(x)))

# %% 10.8 | sumando antes de dividir
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        step = 3 * multiple_of
        width = (2 * d_ff + step - 1) // step * multiple_of
        for name, a, b in (("expand", d_model, width), ("gate", d_model, width), ("contract", width, d_model)):
            setattr(self, name, nn.Linear(a, b, bias=False))

    def forward(self, x):
        active = torch.nn.functional.silu(x @ self.expand.weight.T)
        return torch.einsum("...a,...a,da->...d", active, self.gate(x), self.contract.weight)

# %% 10.9 | con las piezas de PyTorch
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x, kept):
        norm = lambda y, i: nn.functional.layer_norm(y, y.shape[-1:], self.scale[i], self.shift[i])
        n = x.shape[1]
        mean = torch.ones(n, n).tril() / torch.arange(1, n + 1)[:, None]
        x = x + self.mix(mean @ norm(x, 0)).masked_fill(~kept[0], 0) / (1 - self.rate)
        dense = self.contract(self.expand(norm(x, 1)).relu())
        return x + dense.masked_fill(~kept[1], 0) / (1 - self.rate)

# %% 10.9 | la mínima: tres líneas cambiadas
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale = nn.Parameter(torch.ones(2, d_model))
        self.shift = nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def normalize(self, x, which):
        deviation = x - x.mean(dim=-1, keepdim=True)
        variance = deviation.square().mean(dim=-1, keepdim=True)
        return self.scale[which] * deviation / torch.sqrt(variance + 1e-5) + self.shift[which]

    def drop(self, x, kept):
        return x * kept / (1 - self.rate)

    def forward(self, x, kept):
        count = torch.arange(1, x.shape[1] + 1)[:, None]
        normed = self.normalize(x, 0)
        x = x + self.drop(self.mix(normed.cumsum(dim=1) / count), kept[0])
        y = self.normalize(x, 1)
        hidden = torch.relu(self.expand(y))
        return x + self.drop(self.contract(hidden), kept[1])

# %% 10.9 | con un bucle sobre las posiciones
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.keep = 1 - rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def norm(self, x, i):
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + 1e-5) * self.scale[i] + self.shift[i]

    def forward(self, x, kept):
        y = self.norm(x, 0)
        means = torch.stack([y[:, : t + 1].mean(1) for t in range(y.shape[1])], 1)
        x = x + self.mix(means) * kept[0] / self.keep
        return x + self.contract(self.expand(self.norm(x, 1)).clamp(min=0)) * kept[1] / self.keep

# %% 10.10 | con la matriz que centra
def fold_norm(gamma, beta, weight, bias):
    d = len(gamma)
    center = torch.eye(d) - torch.ones(d, d) / d
    return weight @ torch.diag(gamma) @ center, torch.mv(weight, beta) + bias

# %% 10.10 | leyendo la capa en la base canónica
def fold_norm(gamma, beta, weight, bias):
    basis = torch.eye(len(gamma))
    centered = basis - basis.mean(0)
    columns = [weight @ (gamma * one) for one in centered]
    return torch.stack(columns, dim=1), (weight * beta).sum(1) + bias

# %% 10.10 | con einsum
def fold_norm(gamma, beta, weight, bias):
    total = torch.einsum("md,d->m", weight, gamma) / len(gamma)
    return [torch.einsum("md,d->md", weight, gamma) - total[:, None], torch.einsum("md,d->m", weight, beta) + bias]

# %% 10.11 | de la más larga a la más corta, en el sitio
def gradient_by_length(jacobians, gradient):
    parts = [gradient] + [torch.zeros_like(gradient) for _ in jacobians]
    for l in range(len(jacobians) - 1, -1, -1):
        for k in range(len(jacobians), 0, -1):
            parts[k] = parts[k] + parts[k - 1] @ jacobians[l]
    return torch.stack(parts)

# %% 10.11 | con polinomios de matrices
def gradient_by_length(jacobians, gradient):
    L, d, _ = jacobians.shape
    total = [torch.eye(d)] + [torch.zeros(d, d)] * L
    for J in jacobians:
        total = [total[0]] + [total[k] + J @ total[k - 1] for k in range(1, L + 1)]
    return torch.stack([gradient @ matrix for matrix in total])

# %% 10.11 | recursiva con memoria
def gradient_by_length(jacobians, gradient):
    memo = {}

    def part(layer, k):
        if k < 0 or k > len(jacobians) - layer:
            return torch.zeros_like(gradient)
        if layer == len(jacobians):
            return gradient
        if (layer, k) not in memo:
            memo[layer, k] = part(layer + 1, k) + jacobians[layer].T @ part(layer + 1, k - 1)
        return memo[layer, k]

    return torch.stack([part(0, k) for k in range(len(jacobians) + 1)])
