"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 9.1 | bucles
def alibi_bias(n_query, n_key, n_heads):
    out = torch.full((n_heads, n_query, n_key), -math.inf)
    for h in range(n_heads):
        for row in range(n_query):
            i = n_key - n_query + row
            for j in range(i + 1):
                out[h, row, j] = -(i - j) * 2 ** (-8 * (h + 1) / n_heads)
    return out

# %% 9.1 | potencias de la primera pendiente y suma de una máscara
def alibi_bias(n_query, n_key, n_heads):
    slope = (2 ** (-8 / n_heads)) ** torch.arange(1, n_heads + 1, dtype=torch.float64)
    distance = torch.arange(n_key)[None] - torch.arange(n_key)[-n_query:, None]
    mask = torch.zeros(n_query, n_key).masked_fill(distance > 0, float("-inf"))
    return torch.einsum("h,ij->hij", slope, distance.double()) + mask

# %% 9.1 | la tabla entera y las últimas filas
def alibi_bias(n_query, n_key, n_heads):
    i, j = torch.meshgrid(torch.arange(n_key), torch.arange(n_key), indexing="ij")
    slope = torch.tensor([2.0 ** (-8.0 * h / n_heads) for h in range(1, n_heads + 1)])
    bias = torch.where(j <= i, (j - i).double(), -math.inf)
    return (slope.view(-1, 1, 1) * bias)[:, n_key - n_query :]

# %% 9.2 | tres decimales
turned_by_hand = {"first": -1, "score": 4.598, "shifted": 4.598, "swapped": -0.598}

# %% 9.2 | más decimales
turned_by_hand = {"first": -1.0, "score": 4.59808, "shifted": 4.59808, "swapped": -0.59808}

# %% 9.2 | con números complejos
turn = complex(math.cos(math.pi / 6), math.sin(math.pi / 6))
score = lambda i, j: ((2 + 1j) * turn**i * ((1 + 2j) * turn**j).conjugate()).real
turned_by_hand = {"first": ((2 + 1j) * turn**3).real, "score": score(3, 1), "shifted": score(10, 8),
                  "swapped": score(1, 3)}

# %% 9.3 | números complejos
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    speed = torch.exp(-torch.arange(0, d, 2) / d * math.log(base))
    angle = positions.double().unsqueeze(-1) * speed
    if positions.ndim == 2:
        angle = angle.unsqueeze(1)
    if layout == "half":
        x = x.unflatten(-1, (2, d // 2)).transpose(-1, -2)
    else:
        x = x.unflatten(-1, (d // 2, 2))
    z = torch.view_as_complex(x.contiguous()) * torch.polar(torch.ones_like(angle), angle)
    y = torch.view_as_real(z)
    return (y.transpose(-1, -2) if layout == "half" else y).reshape(*x.shape[:-2], d)

# %% 9.3 | la otra mitad, como en Llama
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    speed = 1.0 / base ** (torch.arange(0, d, 2).double() / d)
    angle = torch.einsum("...n,p->...np", positions.double(), speed)
    if angle.ndim > 2:
        angle = angle[:, None]
    if layout == "half":
        angle = torch.cat([angle, angle], -1)
        other = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], -1)
    else:
        angle = angle.repeat_interleave(2, -1)
        other = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(x.shape)
    return x * angle.cos() + other * angle.sin()

# %% 9.3 | ángulos en float32
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    speed = 1.0 / base ** (torch.arange(0, d, 2, dtype=torch.float32) / d)
    angle = (positions.float()[..., None] * speed).to(torch.float32)
    angle = angle[:, None] if angle.ndim == 3 else angle
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    if layout == "half":
        a, b = x[..., : d // 2], x[..., d // 2 :]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)

# %% 9.3 | matrices de giro
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    batch, head, n, d = x.shape
    first = torch.arange(d // 2) if layout == "half" else torch.arange(0, d, 2)
    second = first + (d // 2 if layout == "half" else 1)
    angle = positions.double().expand(batch, n)[..., None] * base ** (-torch.arange(0, d, 2) / d)
    turn = torch.zeros(batch, n, d, d)
    turn[..., first, first] = turn[..., second, second] = angle.cos()
    turn[..., first, second], turn[..., second, first] = -angle.sin(), angle.sin()
    return torch.einsum("bnij,bhnj->bhni", turn, x)

# %% 9.4 | tal cual
values_turned_too = "las salidas"

# %% 9.5 | bucle con math
def t5_bucket(relative, n_buckets=32, max_distance=128):
    m = n_buckets // 2
    e = m // 2
    def one(delta):
        d = abs(delta)
        side = m if delta > 0 else 0
        if d < e:
            return side + d
        return side + min(m - 1, e + math.floor((m - e) * math.log(d / e) / math.log(max_distance / e)))
    return torch.tensor([one(x) for x in relative.flatten().tolist()]).view(relative.shape)

# %% 9.5 | en int32
def t5_bucket(relative, n_buckets=32, max_distance=128):
    side, exact = n_buckets // 2, n_buckets // 4
    out = torch.empty_like(relative, dtype=torch.int32)
    for place, gap in enumerate(relative.flatten().tolist()):
        far = abs(gap)
        if far >= exact:
            part = math.log(far / exact) / math.log(max_distance / exact)
            far = min(side - 1, exact + int(part * (side - exact)))
        out.view(-1)[place] = far + side * (gap > 0)
    return out

# %% 9.5 | como el código de T5
def t5_bucket(relative, n_buckets=32, max_distance=128):
    n_buckets //= 2
    buckets = (relative > 0).to(torch.long) * n_buckets
    relative = torch.abs(relative)
    exact = n_buckets // 2
    small = relative < exact
    large = exact + (
        torch.log(relative.float() / exact) / math.log(max_distance / exact) * (n_buckets - exact)
    ).to(torch.long)
    large = torch.min(large, torch.full_like(large, n_buckets - 1))
    return buckets + torch.where(small, relative, large)

# %% 9.5 | contando bordes
def t5_bucket(relative, n_buckets=32, max_distance=128):
    m = n_buckets // 2
    e = m // 2
    k = torch.arange(1, m - e)
    edges = torch.cat([torch.arange(1, e + 1), e * (max_distance / e) ** (k / (m - e))])
    return (relative.abs()[..., None] >= edges).sum(-1) + m * (relative > 0)

# %% 9.6 | claves y valores sumados de una vez
def shaw_attention(query, key, value, key_table, value_table):
    n, k = query.size(-2), key_table.size(0) // 2
    row = (torch.arange(n).unsqueeze(0) - torch.arange(n).unsqueeze(1)).clamp(-k, k) + k
    keys = key.unsqueeze(-3) + key_table[row]
    values = value.unsqueeze(-3) + value_table[row]
    s = (keys @ query.unsqueeze(-1)).squeeze(-1) / query.size(-1) ** 0.5
    return (s.softmax(-1).unsqueeze(-2) @ values).squeeze(-2)

# %% 9.6 | con bucles
def shaw_attention(query, key, value, key_table, value_table):
    n, k = query.shape[-2], key_table.shape[0] // 2
    rows = []
    for i in range(n):
        index = [min(max(j - i, -k), k) + k for j in range(n)]
        s = ((key + key_table[index]) * query[..., i : i + 1, :]).sum(-1) / math.sqrt(query.shape[-1])
        w = torch.exp(s - s.logsumexp(-1, keepdim=True))
        rows.append((w.unsqueeze(-1) * (value + value_table[index])).sum(-2))
    return torch.stack(rows, dim=-2)

# %% 9.6 | productos con toda la tabla y gather
def shaw_attention(query, key, value, key_table, value_table):
    n, k = query.shape[-2], key_table.shape[0] // 2
    place = torch.arange(n)
    row = torch.clamp(place[None] - place[:, None], -k, k) + k
    far = (query @ key_table.T).gather(-1, row.expand(*query.shape[:-1], n))
    w = torch.softmax((query @ key.transpose(-1, -2) + far) * query.shape[-1] ** -0.5, -1)
    by_row = torch.zeros(*w.shape[:-1], 2 * k + 1).scatter_add(-1, row.expand_as(w), w)
    return w @ value + by_row @ value_table

# %% 9.7 | con una condición delante
def stretched_angles(n, d_head, trained, method, base=10000.0):
    pair = torch.arange(d_head // 2, dtype=torch.float64)
    places = torch.arange(n, dtype=torch.float64)
    if n > trained and method == "ntk":
        base *= (n / trained) ** (d_head / (d_head - 2))
    if n > trained and method == "interpolation":
        places *= trained / n
    return torch.outer(places, base ** (-2 * pair / d_head))

# %% 9.7 | frenando cada pareja
def stretched_angles(n, d_head, trained, method, base=10000.0):
    s, pairs = max(n / trained, 1), d_head // 2
    r = torch.arange(pairs).double()
    brake = s ** (r / (pairs - 1)) if method == "ntk" else torch.full((pairs,), float(s))
    return torch.arange(n)[:, None] * base ** (-r / pairs) / brake

# %% 9.7 | bucles
def stretched_angles(n, d_head, trained, method, base=10000.0):
    s = 1 if n <= trained else n / trained
    b = base if method == "interpolation" else base * s ** (d_head / (d_head - 2))
    shrink = s if method == "interpolation" else 1
    return torch.tensor([[p / shrink / b ** (2 * r / d_head) for r in range(d_head // 2)] for p in range(n)])

# %% 9.8 | desgirando la consulta hasta el origen
def decode_scores(query, key, cached_key, base=10000.0):
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    angle = torch.arange(past, past + n)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    z = torch.polar(torch.ones_like(angle), angle)
    as_complex = lambda x: torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    q, k = as_complex(query) * z, torch.cat([as_complex(cached_key), as_complex(key) * z], -2)
    return (q @ k.mH).real / math.sqrt(d)

# %% 9.8 | por partes
def decode_scores(query, key, cached_key, base=10000.0):
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    speed = base ** (-torch.arange(0, d, 2).double() / d)
    def turn(x, first):
        angle = (first + torch.arange(x.shape[-2]))[:, None] * speed
        angle = angle.repeat_interleave(2, -1)
        other = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
        return x * angle.cos() + other * angle.sin()
    old = turn(query, past) @ cached_key.transpose(-1, -2)
    new = turn(query, 0) @ turn(key, 0).transpose(-1, -2)
    return torch.cat([old, new], -1) / d**0.5

# %% 9.8 | con lo del esqueleto
def decode_scores(query, key, cached_key, base=10000.0):
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    speed = base ** (-torch.arange(0, d, 2, dtype=key.dtype) / d)
    angle = torch.arange(past + n, dtype=key.dtype)[:, None] * speed
    keys = torch.cat([cached_key, _turn(key, angle[-n:])], dim=-2)
    return _turn(query, angle[-n:]) @ keys.mT / math.sqrt(d)

def _turn(x, angle):
    numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(numbers * torch.polar(torch.ones_like(angle), angle)).flatten(-2)

# %% 9.9 | números complejos
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = rotary_dim or key.shape[-1]
    angle = offset.double()[:, None, None, None] * base ** (-torch.arange(0, w, 2).double() / w)
    z = torch.view_as_complex(key[..., :w].unflatten(-1, (-1, 2)).contiguous())
    moved = torch.view_as_real(z * torch.exp(1j * angle)).flatten(-2)
    return torch.cat((moved, key[..., w:]), dim=-1)

# %% 9.9 | asignando por columnas
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    out = key.clone()
    for r in range(w // 2):
        t = (offset / base ** (2 * r / w)).view(-1, 1, 1)
        a, b = key[..., 2 * r], key[..., 2 * r + 1]
        out[..., 2 * r] = a * torch.cos(t) - b * torch.sin(t)
        out[..., 2 * r + 1] = a * torch.sin(t) + b * torch.cos(t)
    return out

# %% 9.9 | una matriz por ejemplo
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    d = key.shape[-1]
    w = d if rotary_dim is None else rotary_dim
    turns = []
    for delta in offset.tolist():
        m = torch.eye(d)
        for i in range(0, w, 2):
            t = delta * base ** (-i / w)
            m[i, i] = m[i + 1, i + 1] = math.cos(t)
            m[i, i + 1], m[i + 1, i] = math.sin(t), -math.sin(t)
        turns.append(m)
    return key @ torch.stack(turns)[:, None]
