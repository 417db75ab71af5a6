"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 10.1 | el signo perdido en el producto
gradient_by_hand = {"plain": 0.04, "stream": 1.08, "one": 0.3, "two": -0.18}

# %% 10.1 | redondea a un decimal
gradient_by_hand = {"plain": 0.0, "stream": 1.1, "one": 0.3, "two": -0.2}

# %% 10.1 | los de dos cuentan también el de tres
gradient_by_hand = {"plain": -0.04, "stream": 1.08, "one": 0.3, "two": -0.22}

# %% 10.1 | residual solo en la última
gradient_by_hand = {"plain": -0.04, "stream": -0.24, "one": 0.3, "two": -0.18}

# %% 10.1 | cada camino contado dos veces
gradient_by_hand = {"plain": -0.04, "stream": 1.08, "one": 0.6, "two": -0.36}

# %% 10.2 | sin restar la media
norm_by_hand = {"layer": -0.33, "eps": 1.4, "rms": -0.2, "shifted": -1.67}

# %% 10.2 | la desviación media en lugar de la típica
norm_by_hand = {"layer": -2.0, "eps": 0.6, "rms": -0.2, "shifted": -2.0}

# %% 10.2 | el signo
norm_by_hand = {"layer": 1.67, "eps": 0.6, "rms": 0.2, "shifted": 1.67}

# %% 10.2 | ε restada
norm_by_hand = {"layer": -1.67, "eps": 1.13, "rms": -0.2, "shifted": -1.67}

# %% 10.2 | RMS entre la suma de valores absolutos
norm_by_hand = {"layer": -1.67, "eps": 0.6, "rms": -0.06, "shifted": -1.67}

# %% 10.3 | otra frase
scaled_gradient = "diez veces mayor"

# %% 10.3 | un número
scaled_gradient = 0.1

# %% 10.3 | lo añadido no cambia, y su derivada tampoco
scaled_gradient = "lo mismo"

# %% 10.3 | la regla de la cadena, con el factor a favor
scaled_gradient = "diez veces más"

# %% 10.3 | cuenta el factor dos veces
scaled_gradient = "cien veces menos"

# %% 10.4 | normaliza solo la entrada de la red densa
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        x = x + self.attend(x, mask)
        return x + self.dense(self.norm_feed_forward(x)) + 0 * self.norm_attention(x)

# %% 10.4 | post también cuando se pide pre
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        x = self.norm_attention(x + self.attend(x, mask))
        return self.norm_feed_forward(x + self.dense(x))

# %% 10.4 | pre también cuando se pide post
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        x = x + self.attend(self.norm_attention(x), mask)
        return x + self.dense(self.norm_feed_forward(x))

# %% 10.4 | las normas cambiadas de sitio
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        if self.pre:
            x = x + self.attend(self.norm_feed_forward(x), mask)
            return x + self.dense(self.norm_attention(x))
        x = self.norm_feed_forward(x + self.attend(x, mask))
        return self.norm_attention(x + self.dense(x))

# %% 10.4 | la red densa antes que la atención
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        if self.pre:
            x = x + self.dense(self.norm_feed_forward(x))
            return x + self.attend(self.norm_attention(x), mask)
        x = self.norm_feed_forward(x + self.dense(x))
        return self.norm_attention(x + self.attend(x, mask))

# %% 10.4 | suma la entrada del bloque otra vez
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        entry = x
        if self.pre:
            x = x + self.attend(self.norm_attention(x), mask)
            return entry + x + self.dense(self.norm_feed_forward(x))
        x = self.norm_attention(x + self.attend(x, mask))
        return self.norm_feed_forward(entry + x + self.dense(x))

# %% 10.4 | media de las dos en lugar de suma
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        if self.pre:
            x = (x + self.attend(self.norm_attention(x), mask)) / 2
            return (x + self.dense(self.norm_feed_forward(x))) / 2
        x = self.norm_attention((x + self.attend(x, mask)) / 2)
        return self.norm_feed_forward((x + self.dense(x)) / 2)

# %% 10.4 | GELU
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        dense = lambda y: self.contract(F.gelu(self.expand(y)))
        if self.pre:
            x = x + self.attend(self.norm_attention(x), mask)
            return x + dense(self.norm_feed_forward(x))
        x = self.norm_attention(x + self.attend(x, mask))
        return self.norm_feed_forward(x + dense(x))

# %% 10.4 | normaliza sobre las posiciones
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        norm = lambda layer, y: F.layer_norm(y.mT, y.shape[1:2]).mT * layer.weight + layer.bias
        if self.pre:
            x = x + self.attend(norm(self.norm_attention, x), mask)
            return x + self.dense(norm(self.norm_feed_forward, x))
        x = norm(self.norm_attention, x + self.attend(x, mask))
        return norm(self.norm_feed_forward, x + self.dense(x))

# %% 10.4 | ReLU también sobre lo que se suma
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.pre, self.inside = norm == "pre", norm == "inside"
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def attend(self, x, mask):
        return self.attention(x, x, x, attn_mask=None if mask is None else ~mask)[0]

    def dense(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, mask=None):
        if self.inside:
            x = x + self.norm_attention(self.attend(x, mask))
            return x + self.norm_feed_forward(self.dense(x))
        if self.pre:
            x = x + self.attend(self.norm_attention(x), mask)
            return x + self.dense(self.norm_feed_forward(x)).relu()
        x = self.norm_attention(x + self.attend(x, mask))
        return self.norm_feed_forward(x + self.dense(x).relu())

# %% 10.4 | la capa de PyTorch
class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, 0.0, batch_first=True, norm_first=norm == "pre")

    def forward(self, x, mask=None):
        return self.layer(x, src_mask=None if mask is None else ~mask)

# %% 10.5 | construye las capas, aunque vacías
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    with torch.device("meta"):
        kv = d_model if n_kv_heads is None else n_kv_heads * d_model // n_heads
        attention = [nn.Linear(d_model, w, bias=bias) for w in (d_model, kv, kv)] + [nn.Linear(d_model, d_model, bias=bias)]
        dense = [nn.Linear(d_model, d_ff, bias=bias) for _ in range(1 + gated)] + [nn.Linear(d_ff, d_model, bias=bias)]
        norms = [(nn.RMSNorm if rms else nn.LayerNorm)(d_model) for _ in range(2)]
    return [sum(p.numel() for m in part for p in m.parameters()) for part in (attention, dense, norms)]

# %% 10.4 | otro eps ⇒ épsilon
import torch.nn.functional as F
class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.where = norm
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention = nn.LayerNorm(d_model, eps=1e-6)
        self.norm_feed_forward = nn.LayerNorm(d_model, eps=1e-6)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    def forward(self, x, mask=None):
        look = lambda y: self.attention(y, y, y, attn_mask=None if mask is None else ~mask)[0]
        dense = lambda y: self.contract(F.relu(self.expand(y)))
        for norm, part in ((self.norm_attention, look), (self.norm_feed_forward, dense)):
            if self.where == "pre":
                x = x + part(norm(x))
            elif self.where == "post":
                x = norm(x + part(x))
            else:
                x = x + norm(part(x))
        return x

# %% 10.4 | calcula en 32 bits ⇒ precisión
import torch.nn.functional as F
class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm="pre"):
        super().__init__()
        self.where = norm
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    def forward(self, x, mask=None):
        look = lambda y: self.attention(y, y, y, attn_mask=None if mask is None else ~mask)[0]
        dense = lambda y: self.contract(F.relu(self.expand(y)))
        for norm, part in ((self.norm_attention, look), (self.norm_feed_forward, dense)):
            if self.where == "pre":
                x = x + part(norm(x)).float().double()
            elif self.where == "post":
                x = norm((x + part(x)).float().double())
            else:
                x = x + norm(part(x).float().double())
        return x

# %% 10.5 | doce d al cuadrado
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    return 4 * d_model**2, 8 * d_model**2, 4 * d_model

# %% 10.5 | cabezas de ancho d
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    linear = lambda a, b: a * b + b * bias
    kv = d_model * (n_kv_heads or n_heads)
    dense = linear(d_model, d_ff) * (1 + gated) + linear(d_ff, d_model)
    return 2 * linear(d_model, d_model * n_heads) + 2 * linear(d_model, kv), dense, (2 if rms else 4) * d_model

# %% 10.5 | la puerta estrecha la red a dos tercios
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    linear = lambda a, b: a * b + b * bias
    kv = d_model * (n_kv_heads or n_heads) // n_heads
    width = 2 * d_ff // 3 if gated else d_ff
    dense = linear(d_model, width) * (1 + gated) + linear(width, d_model)
    return 2 * linear(d_model, d_model) + 2 * linear(d_model, kv), dense, (2 if rms else 4) * d_model

# %% 10.5 | el sesgo mide lo que entra
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    linear = lambda a, b: a * b + a * bias
    kv = d_model * (n_kv_heads or n_heads) // n_heads
    dense = linear(d_model, d_ff) * (1 + gated) + linear(d_ff, d_model)
    return 2 * linear(d_model, d_model) + 2 * linear(d_model, kv), dense, (2 if rms else 4) * d_model

# %% 10.5 | sin sesgos, las normas también los pierden
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    linear = lambda a, b: a * b + b * bias
    kv = d_model * (n_kv_heads or n_heads) // n_heads
    dense = linear(d_model, d_ff) * (1 + gated) + linear(d_ff, d_model)
    return 2 * linear(d_model, d_model) + 2 * linear(d_model, kv), dense, 2 * d_model * (1 + (bias and not rms))

# %% 10.5 | claves y valores compartidos en una sola matriz
def block_parameters(d_model, n_heads, d_ff, *, n_kv_heads=None, gated=False, bias=True, rms=False):
    linear = lambda a, b: a * b + b * bias
    kv = d_model * (n_kv_heads or n_heads) // n_heads
    dense = linear(d_model, d_ff) * (1 + gated) + linear(d_ff, d_model)
    return 2 * linear(d_model, d_model) + linear(d_model, kv) * (1 if n_kv_heads else 2), dense, (2 if rms else 4) * d_model

# %% 10.6 | deja las demás sin dividir
def partial_rms_norm(x, weight, k, eps=1e-6):
    y = x.clone()
    y[..., :k] = y[..., :k] / (y[..., :k].square().mean(-1, keepdim=True) + eps).sqrt()
    return y * weight

# %% 10.6 | valor absoluto medio
def partial_rms_norm(x, weight, k, eps=1e-6):
    return weight * x / (x[..., :k].abs().mean(-1, keepdim=True) + eps)

# %% 10.6 | la media dentro, al cuadrado
def partial_rms_norm(x, weight, k, eps=1e-6):
    return weight * x / (x[..., :k].mean(-1, keepdim=True).square() + eps).sqrt()

# %% 10.6 | ε al cuadrado
def partial_rms_norm(x, weight, k, eps=1e-6):
    return weight * x / (x[..., :k].square().mean(-1, keepdim=True) + eps**2).sqrt()

# %% 10.6 | ε como suelo
def partial_rms_norm(x, weight, k, eps=1e-6):
    return weight * x / x[..., :k].square().mean(-1, keepdim=True).clamp(min=eps).sqrt()

# %% 10.6 | entre k − 1
def partial_rms_norm(x, weight, k, eps=1e-6):
    return weight * x / (x[..., :k].square().sum(-1, keepdim=True) / max(k - 1, 1) + eps).sqrt()

# %% 10.6 | uno más la escala
def partial_rms_norm(x, weight, k, eps=1e-6):
    return (1 + weight) * x / (x[..., :k].square().mean(-1, keepdim=True) + eps).sqrt()

# %% 10.6 | normaliza el primer eje
def partial_rms_norm(x, weight, k, eps=1e-6):
    return weight * x / (x[..., :k].square().mean(0, keepdim=True).mean(-1, keepdim=True) + eps).sqrt()

# %% 10.7 | el signo de la parte radial
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    s = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    n, h = (x - x.mean(-1, keepdim=True)) / s, grad_output * weight
    grad_x = (h - h.mean(-1, keepdim=True) + n * (h * n).mean(-1, keepdim=True)) / s
    return grad_x, (grad_output * n).reshape(-1, len(weight)).sum(0), grad_output.reshape(-1, len(weight)).sum(0)

# %% 10.7 | suma solo el primer eje
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    s = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    n, h = (x - x.mean(-1, keepdim=True)) / s, grad_output * weight
    grad_x = (h - h.mean(-1, keepdim=True) - n * (h * n).mean(-1, keepdim=True)) / s
    if x.dim() == 1:
        return grad_x, grad_output * n, grad_output
    return grad_x, (grad_output * n).sum(0), grad_output.sum(0)

# %% 10.7 | la radial sumada y no promediada
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    s = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    n, h = (x - x.mean(-1, keepdim=True)) / s, grad_output * weight
    grad_x = (h - h.mean(-1, keepdim=True) - n * (h * n).sum(-1, keepdim=True)) / s
    return grad_x, (grad_output * n).reshape(-1, len(weight)).sum(0), grad_output.reshape(-1, len(weight)).sum(0)

# %% 10.7 | entre la varianza
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    v = x.var(-1, correction=0, keepdim=True) + eps
    n, h = (x - x.mean(-1, keepdim=True)) / v.sqrt(), grad_output * weight
    grad_x = (h - h.mean(-1, keepdim=True) - n * (h * n).mean(-1, keepdim=True)) / v
    return grad_x, (grad_output * n).reshape(-1, len(weight)).sum(0), grad_output.reshape(-1, len(weight)).sum(0)

# %% 10.7 | proyecta con el vector unitario, sin contar la ε
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    u = x - x.mean(-1, keepdim=True)
    s = (u.square().mean(-1, keepdim=True) + eps).sqrt()
    unit, h = u / u.norm(dim=-1, keepdim=True), grad_output * weight
    grad_x = (h - h.mean(-1, keepdim=True) - unit * (h * unit).sum(-1, keepdim=True)) / s
    return grad_x, (grad_output * u / s).reshape(-1, len(weight)).sum(0), grad_output.reshape(-1, len(weight)).sum(0)

# %% 10.7 | quita la escala al final
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    s = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    n = (x - x.mean(-1, keepdim=True)) / s
    h = grad_output
    grad_x = weight * (h - h.mean(-1, keepdim=True) - n * (h * n).mean(-1, keepdim=True)) / s
    return grad_x, (grad_output * n).reshape(-1, len(weight)).sum(0), grad_output.reshape(-1, len(weight)).sum(0)

# %% 10.7 | escala y desplazamiento cambiados
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    s = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    n, h = (x - x.mean(-1, keepdim=True)) / s, grad_output * weight
    grad_x = (h - h.mean(-1, keepdim=True) - n * (h * n).mean(-1, keepdim=True)) / s
    return grad_x, grad_output.reshape(-1, len(weight)).sum(0), (grad_output * n).reshape(-1, len(weight)).sum(0)

# %% 10.7 | con la diferenciación automática
def layer_norm_backward(x, weight, grad_output, eps=1e-5):
    leaves = [t.detach().clone().requires_grad_() for t in (x, weight, torch.zeros_like(weight))]
    out = torch.nn.functional.layer_norm(leaves[0], weight.shape, leaves[1], leaves[2], eps)
    return list(torch.autograd.grad(out, leaves, grad_output))

# %% 10.8 | redondea al más cercano
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = max(1, round(2 * d_ff / 3 / multiple_of)) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        return self.contract(nn.functional.silu(self.expand(x)) * self.gate(x))

# %% 10.8 | múltiplo de más, por si acaso
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = (2 * d_ff // 3 // multiple_of + 1) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        return self.contract(nn.functional.silu(self.expand(x)) * self.gate(x))

# %% 10.8 | cuatro tercios
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = -(-4 * d_ff // (3 * multiple_of)) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        return self.contract(nn.functional.silu(self.expand(x)) * self.gate(x))

# %% 10.8 | mitad
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = -(-d_ff // (2 * multiple_of)) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        return self.contract(nn.functional.silu(self.expand(x)) * self.gate(x))

# %% 10.8 | redondea antes de los dos tercios
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = -(-d_ff // multiple_of) * multiple_of * 2 // 3
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        return self.contract(nn.functional.silu(self.expand(x)) * self.gate(x))

# %% 10.8 | las dos activadas
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = -(-2 * d_ff // (3 * multiple_of)) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        return self.contract(nn.functional.silu(self.expand(x)) * nn.functional.silu(self.gate(x)))

# %% 10.8 | ReLU
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = -(-2 * d_ff // (3 * multiple_of)) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        return self.contract(self.expand(x).relu() * self.gate(x))

# %% 10.8 | residual dentro
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = -(-2 * d_ff // (3 * multiple_of)) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        return x + self.contract(nn.functional.silu(self.expand(x)) * self.gate(x))

# %% 10.8 | la puerta lee lo activado
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = -(-2 * d_ff // (3 * multiple_of)) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width, bias=False), nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        return self.contract(nn.functional.silu(self.expand(x)) * self.expand(x))

# %% 10.8 | con sesgos
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, multiple_of=4):
        super().__init__()
        width = -(-2 * d_ff // (3 * multiple_of)) * multiple_of
        self.expand, self.gate = nn.Linear(d_model, width), nn.Linear(d_model, width)
        self.contract = nn.Linear(width, d_model)

    def forward(self, x):
        return self.contract(nn.functional.silu(self.expand(x)) * self.gate(x))

# %% 10.9 | el dropout sobre lo que lee la subcapa
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def norm(self, x, i):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale[i], self.shift[i])

    def drop(self, x, kept):
        return x * kept / (1 - self.rate)

    def causal(self, y):
        return self.mix(y.cumsum(1) / torch.arange(1, y.shape[1] + 1)[:, None])

    def forward(self, x, kept):
        x = x + self.causal(self.drop(self.norm(x, 0), kept[0]))
        return x + self.contract(self.expand(self.drop(self.norm(x, 1), kept[1])).relu())

# %% 10.9 | sin compensar lo descartado
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def norm(self, x, i):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale[i], self.shift[i])

    def drop(self, x, kept):
        return x * kept / (1 - self.rate)

    def causal(self, y):
        return self.mix(y.cumsum(1) / torch.arange(1, y.shape[1] + 1)[:, None])

    def forward(self, x, kept):
        x = x + self.causal(self.norm(x, 0)) * kept[0]
        return x + self.contract(self.expand(self.norm(x, 1)).relu()) * kept[1]

# %% 10.9 | guarda y borra al revés
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def norm(self, x, i):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale[i], self.shift[i])

    def drop(self, x, kept):
        return x * kept / (1 - self.rate)

    def causal(self, y):
        return self.mix(y.cumsum(1) / torch.arange(1, y.shape[1] + 1)[:, None])

    def forward(self, x, kept):
        x = x + self.drop(self.causal(self.norm(x, 0)), ~kept[0])
        return x + self.drop(self.contract(self.expand(self.norm(x, 1)).relu()), ~kept[1])

# %% 10.9 | la misma máscara en las dos subcapas
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def norm(self, x, i):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale[i], self.shift[i])

    def drop(self, x, kept):
        return x * kept / (1 - self.rate)

    def causal(self, y):
        return self.mix(y.cumsum(1) / torch.arange(1, y.shape[1] + 1)[:, None])

    def forward(self, x, kept):
        x = x + self.drop(self.causal(self.norm(x, 0)), kept[0])
        return x + self.drop(self.contract(self.expand(self.norm(x, 1)).relu()), kept[0])

# %% 10.9 | pasa a posnormalización
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def norm(self, x, i):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale[i], self.shift[i])

    def drop(self, x, kept):
        return x * kept / (1 - self.rate)

    def causal(self, y):
        return self.mix(y.cumsum(1) / torch.arange(1, y.shape[1] + 1)[:, None])

    def forward(self, x, kept):
        x = self.norm(x + self.drop(self.causal(x), kept[0]), 0)
        return self.norm(x + self.drop(self.contract(self.expand(x).relu()), kept[1]), 1)

# %% 10.9 | dropout también sobre la primera suma
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def norm(self, x, i):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale[i], self.shift[i])

    def drop(self, x, kept):
        return x * kept / (1 - self.rate)

    def causal(self, y):
        return self.mix(y.cumsum(1) / torch.arange(1, y.shape[1] + 1)[:, None])

    def forward(self, x, kept):
        x = self.drop(x + self.causal(self.norm(x, 0)), kept[0])
        return x + self.drop(self.contract(self.expand(self.norm(x, 1)).relu()), kept[1])

# %% 10.9 | quita el dropout
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def norm(self, x, i):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale[i], self.shift[i])

    def drop(self, x, kept):
        return x * kept / (1 - self.rate)

    def causal(self, y):
        return self.mix(y.cumsum(1) / torch.arange(1, y.shape[1] + 1)[:, None])

    def forward(self, x, kept):
        x = x + self.causal(self.norm(x, 0))
        return x + self.contract(self.expand(self.norm(x, 1)).relu())

# %% 10.9 | la media mira a toda la frase
class BrokenBlock(nn.Module):
    def __init__(self, d_model, d_ff, rate):
        super().__init__()
        self.rate = rate
        self.scale, self.shift = nn.Parameter(torch.ones(2, d_model)), nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def norm(self, x, i):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale[i], self.shift[i])

    def drop(self, x, kept):
        return x * kept / (1 - self.rate)

    def causal(self, y):
        return self.mix(y.cumsum(1) / torch.arange(1, y.shape[1] + 1)[:, None])

    def forward(self, x, kept):
        x = x + self.drop(self.mix(self.norm(x, 0).mean(1, keepdim=True).expand_as(x)), kept[0])
        return x + self.drop(self.contract(self.expand(self.norm(x, 1)).relu()), kept[1])

# %% 10.10 | centra y reescala
def fold_norm(gamma, beta, weight, bias):
    scaled = weight * gamma
    return (scaled - scaled.mean(1, keepdim=True)) / scaled.std(1, keepdim=True), bias + weight @ beta

# %% 10.10 | la escala por filas si la matriz es cuadrada
def fold_norm(gamma, beta, weight, bias):
    scaled = weight * (gamma[:, None] if len(weight) == len(gamma) else gamma)
    return scaled - scaled.mean(1, keepdim=True), bias + weight @ beta

# %% 10.10 | el desplazamiento escalado
def fold_norm(gamma, beta, weight, bias):
    scaled = weight * gamma
    return scaled - scaled.mean(1, keepdim=True), bias + scaled @ beta

# %% 10.10 | divide entre la escala
def fold_norm(gamma, beta, weight, bias):
    scaled = weight / gamma
    return scaled - scaled.mean(1, keepdim=True), bias + weight @ beta

# %% 10.10 | resta la suma
def fold_norm(gamma, beta, weight, bias):
    scaled = weight * gamma
    return scaled - scaled.sum(1, keepdim=True), bias + weight @ beta

# %% 10.10 | resta la media de toda la matriz
def fold_norm(gamma, beta, weight, bias):
    scaled = weight * gamma
    return scaled - scaled.mean(), bias + weight @ beta

# %% 10.11 | todo en la fila del camino más largo
def gradient_by_length(jacobians, gradient):
    parts = torch.zeros(len(jacobians) + 1, len(gradient))
    for jacobian in reversed(jacobians):
        gradient = gradient + gradient @ jacobian
    parts[-1] = gradient
    return parts

# %% 10.11 | solo caminos de subcapas seguidas
def gradient_by_length(jacobians, gradient):
    parts = [gradient]
    for k in range(1, len(jacobians) + 1):
        total = 0
        for start in range(len(jacobians) - k + 1):
            row = gradient
            for jacobian in reversed(jacobians[start : start + k]):
                row = row @ jacobian
            total = total + row
        parts.append(total)
    return torch.stack(parts)

# %% 10.11 | como si conmutaran
def gradient_by_length(jacobians, gradient):
    row, parts = gradient, [gradient]
    for k in range(1, len(jacobians) + 1):
        row = row @ jacobians.mean(0)
        parts.append(math.comb(len(jacobians), k) * row)
    return torch.stack(parts)

# %% 10.11 | por la derecha
def gradient_by_length(jacobians, gradient):
    parts = [gradient] + [torch.zeros_like(gradient)] * len(jacobians)
    for jacobian in reversed(jacobians):
        parts = [parts[0]] + [parts[k] + jacobian @ parts[k - 1] for k in range(1, len(parts))]
    return torch.stack(parts)

# %% 10.11 | recorre los caminos y se corta en diez subcapas
def gradient_by_length(jacobians, gradient):
    from itertools import combinations

    count = min(len(jacobians), 10)
    parts = torch.zeros(len(jacobians) + 1, len(gradient))
    for k in range(count + 1):
        for chosen in combinations(range(count), k):
            row = gradient
            for i in reversed(chosen):
                row = row @ jacobians[i]
            parts[k] += row
    return parts

# %% 10.11 | en lugar de cuántas, cuál fue la última
def gradient_by_length(jacobians, gradient):
    parts, total = [gradient], gradient
    for jacobian in reversed(jacobians):
        parts.append(total @ jacobian)
        total = total + parts[-1]
    return torch.stack(parts)
