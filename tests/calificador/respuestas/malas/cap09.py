"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 9.1 | pendientes en progresión aritmética
def alibi_bias(n_query, n_key, n_heads):
    slope = torch.arange(1, n_heads + 1) / n_heads / 2
    i = torch.arange(n_key - n_query, n_key)[:, None]
    d = i - torch.arange(n_key)
    return (-slope[:, None, None] * d).masked_fill(d < 0, -math.inf)

# %% 9.1 | cabezas en orden contrario
def alibi_bias(n_query, n_key, n_heads):
    slope = 2.0 ** (-8 * torch.arange(n_heads, 0, -1) / n_heads)
    i = torch.arange(n_key - n_query, n_key)[:, None]
    d = i - torch.arange(n_key)
    return (-slope[:, None, None] * d).masked_fill(d < 0, -math.inf)

# %% 9.1 | multiplica por una máscara y salen NaN
def alibi_bias(n_query, n_key, n_heads):
    slope = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    i = torch.arange(n_key - n_query, n_key)[:, None]
    d = i - torch.arange(n_key)
    return -slope[:, None, None] * d + torch.where(d < 0, 1.0, 0.0) * -math.inf

# %% 9.1 | solo lo que resta la clave, sin la consulta
def alibi_bias(n_query, n_key, n_heads):
    slope = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    j = torch.arange(n_key).double()
    bias = (slope[:, None] * j)[:, None].expand(-1, n_query, -1)
    return bias.masked_fill(j > torch.arange(n_key - n_query, n_key)[:, None], -math.inf)

# %% 9.1 | un número muy grande en vez de infinito
def alibi_bias(n_query, n_key, n_heads):
    slope = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    i = torch.arange(n_key - n_query, n_key)[:, None]
    d = i - torch.arange(n_key)
    return (-slope[:, None, None] * d).masked_fill(d < 0, -1e9)

# %% 9.2 | la suma de los sitios en lugar de la diferencia
turned_by_hand = {"first": -1, "score": -1.964, "shifted": -1.964, "swapped": -1.964}

# %% 9.2 | treinta grados de diferencia
turned_by_hand = {"first": -1, "score": 4.964, "shifted": 4.964, "swapped": 1.964}

# %% 9.2 | cambia al adelantar
turned_by_hand = {"first": -1, "score": 4.598, "shifted": 1.964, "swapped": -0.598}

# %% 9.2 | signo de la primera
turned_by_hand = {"first": 1, "score": 4.598, "shifted": 4.598, "swapped": -0.598}

# %% 9.2 | todo ceros
turned_by_hand = {"first": 0, "score": 0, "shifted": 0, "swapped": 0}

# %% 9.2 | la puntuación sin girar
turned_by_hand = {"first": -1, "score": 4, "shifted": 4, "swapped": 4}

# %% 9.2 | la segunda componente
turned_by_hand = {"first": 2, "score": 4.598, "shifted": 4.598, "swapped": -0.598}

# %% 9.2 | las claves no giran
turned_by_hand = {"first": -1, "score": 3, "shifted": -3.330, "swapped": 4.964}

# %% 9.2 | la desplazada, con el signo cambiado ⇒ signo contrario
turned_by_hand = {"first": -1.0, "score": 4.598, "shifted": -4.598, "swapped": -0.598}

# %% 9.3 | seno y coseno cambiados
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = positions[..., None] * base ** (-torch.arange(0, d, 2).double() / d)
    angle = angle[:, None] if angle.ndim == 3 else angle
    sin, cos = angle.cos(), angle.sin()
    if layout == "half":
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

# %% 9.3 | una frecuencia por componente
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = positions[..., None] * base ** (-torch.arange(d).double() / d)
    angle = angle[:, None] if angle.ndim == 3 else angle
    if layout == "half":
        a, b = x.chunk(2, -1)
        other = torch.cat([-b, a], -1)
    else:
        other = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * angle.cos() + other * angle.sin()

# %% 9.3 | suma la codificación en lugar de girar
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = positions[..., None] * base ** (-torch.arange(0, d, 2).double() / d)
    angle = angle[:, None] if angle.ndim == 3 else angle
    code = (angle.sin(), angle.cos())
    return x + (torch.cat(code, -1) if layout == "half" else torch.stack(code, -1).flatten(-2))

# %% 9.3 | sin atender a los sitios dados
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    cos, sin = angle.cos(), angle.sin()
    if layout == "half":
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

# %% 9.3 | repite los cosenos intercalados con parejas por mitades
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = positions[..., None] * base ** (-torch.arange(0, d, 2).double() / d)
    angle = angle[:, None] if angle.ndim == 3 else angle
    cos, sin = (t.repeat_interleave(2, -1) for t in (angle.cos(), angle.sin()))
    a, b = x.chunk(2, -1)
    other = torch.cat([-b, a], -1)
    if layout == "interleaved":
        other = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * cos + other * sin

# %% 9.3 | corta el gradiente
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = positions[..., None] * base ** (-torch.arange(0, d, 2).double() / d)
    angle = angle[:, None] if angle.ndim == 3 else angle
    cos, sin = angle.cos(), angle.sin()
    x = x.detach()
    if layout == "half":
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

# %% 9.3 | valor absoluto del sitio ⇒ negativos
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = positions.abs()[..., None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angle = angle[:, None] if angle.ndim == 3 else angle
    c, s = angle.cos(), angle.sin()
    if layout == "half":
        a, b = x.chunk(2, -1)
        return torch.cat([a * c - b * s, a * s + b * c], -1)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)

# %% 9.3 | exponente −r/d, con r la pareja ⇒ −2r/d
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = positions[..., None] * base ** (-torch.arange(d // 2, dtype=x.dtype) / d)
    angle = angle[:, None] if angle.ndim == 3 else angle
    c, s = angle.cos(), angle.sin()
    if layout == "half":
        a, b = x.chunk(2, -1)
        return torch.cat([a * c - b * s, a * s + b * c], -1)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)

# %% 9.3 | las dos disposiciones, concatenadas por mitades
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = positions[..., None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angle = angle[:, None] if angle.ndim == 3 else angle
    c, s = angle.cos(), angle.sin()
    a, b = (x[..., : d // 2], x[..., d // 2 :]) if layout == "half" else (x[..., ::2], x[..., 1::2])
    return torch.cat([a * c - b * s, a * s + b * c], -1)

# %% 9.3 | ángulos concatenados por mitades y parejas contiguas
def apply_rope(x, positions, base=10000.0, layout="interleaved"):
    d = x.shape[-1]
    angle = positions[..., None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angle = angle[:, None] if angle.ndim == 3 else angle
    angle = torch.cat([angle, angle], -1)
    if layout == "half":
        a, b = x.chunk(2, -1)
        turned = torch.cat([-b, a], -1)
    else:
        turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * angle.cos() + turned * angle.sin()

# %% 9.4 | nada
values_turned_too = "nada"

# %% 9.4 | las dos cosas
values_turned_too = "los pesos y las salidas"

# %% 9.4 | los pesos
values_turned_too = "los pesos"

# %% 9.4 | todo
values_turned_too = "todo"

# %% 9.4 | contesta por los valores
values_turned_too = "los valores"

# %% 9.5 | sin el cubo de la frontera
def t5_bucket(relative, n_buckets=32, max_distance=128):
    m = n_buckets // 2
    e = m // 2
    d = relative.abs()
    far = e + (torch.log(d.clamp(min=1) / e) / math.log(max_distance / e) * (m - e)).long()
    return torch.where(d <= e + 1, d, far.clamp(max=m - 1)) + m * (relative > 0)

# %% 9.5 | logaritmo en base 2 sin normalizar
def t5_bucket(relative, n_buckets=32, max_distance=128):
    m = n_buckets // 2
    e = m // 2
    d = relative.abs()
    far = e + torch.log2(d.clamp(min=1) / e).long()
    return torch.where(d < e, d, far.clamp(max=m - 1)) + m * (relative > 0)

# %% 9.5 | causal
def t5_bucket(relative, n_buckets=32, max_distance=128):
    m, e = n_buckets, n_buckets // 2
    d = (-relative).clamp(min=0)
    far = e + (torch.log(d.clamp(min=1) / e) / math.log(max_distance / e) * (m - e)).long()
    return torch.where(d < e, d, far.clamp(max=m - 1))

# %% 9.5 | devuelve reales
def t5_bucket(relative, n_buckets=32, max_distance=128):
    m = n_buckets // 2
    e = m // 2
    d = relative.abs().double()
    far = e + torch.floor(torch.log(d.clamp(min=e) / e) / math.log(max_distance / e) * (m - e))
    return torch.where(d < e, d, far.clamp(max=m - 1)) + m * (relative > 0)

# %% 9.5 | recorta sin logaritmo
def t5_bucket(relative, n_buckets=32, max_distance=128):
    m = n_buckets // 2
    return relative.abs().clamp(max=m - 1) + m * (relative > 0)

# %% 9.6 | el vector de la distancia, sumado a la consulta
def shaw_attention(query, key, value, key_table, value_table):
    n, k = query.shape[-2], len(key_table) // 2
    row = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k) + k
    q = query[..., :, None, :] + key_table[row]
    w = ((q * key[..., None, :, :]).sum(-1) / math.sqrt(query.shape[-1])).softmax(-1)
    return w @ value + torch.einsum("...ij,ijv->...iv", w, value_table[row])

# %% 9.6 | los valores con la tabla sin pesar
def shaw_attention(query, key, value, key_table, value_table):
    n, k = query.shape[-2], len(key_table) // 2
    row = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k) + k
    s = query @ key.mT + torch.einsum("...id,ijd->...ij", query, key_table[row])
    w = (s / math.sqrt(query.shape[-1])).softmax(-1)
    return w @ value + value_table[row].sum(1)

# %% 9.6 | recorta a un sitio menos
def shaw_attention(query, key, value, key_table, value_table):
    n, k = query.shape[-2], len(key_table) // 2
    row = (torch.arange(n) - torch.arange(n)[:, None]).clamp(1 - k, k - 1) + k
    s = query @ key.mT + torch.einsum("...id,ijd->...ij", query, key_table[row])
    w = (s / math.sqrt(query.shape[-1])).softmax(-1)
    return w @ value + torch.einsum("...ij,ijv->...iv", w, value_table[row])

# %% 9.6 | con máscara causal
def shaw_attention(query, key, value, key_table, value_table):
    n, k = query.shape[-2], len(key_table) // 2
    row = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k) + k
    s = query @ key.mT + torch.einsum("...id,ijd->...ij", query, key_table[row])
    s = s.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf)
    w = (s / math.sqrt(query.shape[-1])).softmax(-1)
    return w @ value + torch.einsum("...ij,ijv->...iv", w, value_table[row])

# %% 9.6 | distancia sin signo
def shaw_attention(query, key, value, key_table, value_table):
    n, k = query.shape[-2], len(key_table) // 2
    row = (torch.arange(n) - torch.arange(n)[:, None]).abs().clamp(max=k) + k
    s = query @ key.mT + torch.einsum("...id,ijd->...ij", query, key_table[row])
    w = (s / math.sqrt(query.shape[-1])).softmax(-1)
    return w @ value + torch.einsum("...ij,ijv->...iv", w, value_table[row])

# %% 9.6 | olvida los ejes de delante
def shaw_attention(query, key, value, key_table, value_table):
    n, k = query.shape[-2], len(key_table) // 2
    row = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k) + k
    q, ks, v = (t.reshape(-1, *t.shape[-2:])[0] for t in (query, key, value))
    s = q @ ks.mT + torch.einsum("id,ijd->ij", q, key_table[row])
    w = (s / math.sqrt(query.shape[-1])).softmax(-1)
    out = w @ v + torch.einsum("ij,ijv->iv", w, value_table[row])
    return out.expand(*query.shape[:-1], value.shape[-1])

# %% 9.7 | divide la frecuencia de la base por el factor también con ntk
def stretched_angles(n, d_head, trained, method, base=10000.0):
    s = max(1.0, n / trained)
    w = base ** (-torch.arange(0, d_head, 2).double() / d_head)
    return torch.arange(n)[:, None] * w / s

# %% 9.7 | base por el factor al revés
def stretched_angles(n, d_head, trained, method, base=10000.0):
    s = max(1.0, n / trained)
    if method == "ntk":
        base, s = base * s ** ((d_head - 2) / d_head), 1.0
    w = base ** (-torch.arange(0, d_head, 2).double() / d_head)
    return torch.arange(n)[:, None] / s * w

# %% 9.7 | interpola con los extremos
def stretched_angles(n, d_head, trained, method, base=10000.0):
    s = max(1.0, n / trained)
    places = torch.arange(n).double()
    if method == "interpolation" and n > trained:
        places = places * (trained - 1) / (n - 1)
    if method == "ntk":
        base = base * s ** (d_head / (d_head - 2))
    return places[:, None] * base ** (-torch.arange(0, d_head, 2).double() / d_head)

# %% 9.7 | recorta los sitios que se pasan
def stretched_angles(n, d_head, trained, method, base=10000.0):
    s = max(1.0, n / trained)
    places = torch.arange(n).double()
    if method == "interpolation":
        places = places.clamp(max=trained - 1)
    else:
        base = base * s ** (d_head / (d_head - 2))
    return places[:, None] * base ** (-torch.arange(0, d_head, 2).double() / d_head)

# %% 9.7 | alarga solo los sitios nuevos
def stretched_angles(n, d_head, trained, method, base=10000.0):
    s = max(1.0, n / trained)
    places = torch.arange(n).double()
    if method == "interpolation":
        places = torch.where(places < trained, places, places / s)
    else:
        base = base * s ** (d_head / (d_head - 2))
    return places[:, None] * base ** (-torch.arange(0, d_head, 2).double() / d_head)

# %% 9.8 | sin escalar
def decode_scores(query, key, cached_key, base=10000.0):
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    angle = torch.arange(past, past + n)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    keys = torch.cat([cached_key, turn(key, angle)], -2)
    return turn(query, angle) @ keys.mT

def turn(x, angle):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)

# %% 9.8 | las nuevas delante
def decode_scores(query, key, cached_key, base=10000.0):
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    angle = torch.arange(past, past + n)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    keys = torch.cat([turn(key, angle), cached_key], -2)
    return turn(query, angle) @ keys.mT / d**0.5

def turn(x, angle):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)

# %% 9.8 | todas las nuevas en el mismo sitio
def decode_scores(query, key, cached_key, base=10000.0):
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    angle = torch.full((n, 1), past) * base ** (-torch.arange(0, d, 2) / d)
    keys = torch.cat([cached_key, turn(key, angle)], -2)
    return turn(query, angle) @ keys.mT / d**0.5

def turn(x, angle):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)

# %% 9.8 | un sitio de más
def decode_scores(query, key, cached_key, base=10000.0):
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    angle = torch.arange(past + 1, past + n + 1)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    keys = torch.cat([cached_key, turn(key, angle)], -2)
    return turn(query, angle) @ keys.mT / d**0.5

def turn(x, angle):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)

# %% 9.8 | tapa las nuevas posteriores
def decode_scores(query, key, cached_key, base=10000.0):
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    angle = torch.arange(past, past + n)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    keys = torch.cat([cached_key, turn(key, angle)], -2)
    scores = turn(query, angle) @ keys.mT / d**0.5
    return scores.masked_fill(torch.ones(n, past + n).triu(past + 1).bool(), -math.inf)

def turn(x, angle):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)

# %% 9.9 | suma el salto a los números
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    return key + offset[:, None, None, None]

# %% 9.9 | salto entero
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(0, w, 2) / w)
    angle = (offset.long()[:, None] * speed)[:, None, None]
    a, b = key[..., 0:w:2], key[..., 1:w:2]
    c, s = angle.cos(), angle.sin()
    moved = torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)
    return torch.cat([moved, key[..., w:]], -1)

# %% 9.9 | por mitades
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(0, w, 2) / w)
    angle = (offset[:, None] * speed)[:, None, None]
    a, b = key[..., :w].chunk(2, -1)
    c, s = angle.cos(), angle.sin()
    return torch.cat([a * c - b * s, a * s + b * c, key[..., w:]], -1)

# %% 9.9 | giran las últimas
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    d = key.shape[-1]
    w = d if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(0, w, 2) / w)
    angle = (offset[:, None] * speed)[:, None, None]
    a, b = key[..., d - w :: 2], key[..., d - w + 1 :: 2]
    c, s = angle.cos(), angle.sin()
    moved = torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)
    return torch.cat([key[..., : d - w], moved], -1)

# %% 9.9 | borra lo que no gira
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(0, w, 2) / w)
    angle = (offset[:, None] * speed)[:, None, None]
    a, b = key[..., 0:w:2], key[..., 1:w:2]
    c, s = angle.cos(), angle.sin()
    moved = torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)
    return torch.cat([moved, 0 * key[..., w:]], -1)

# %% 9.9 | el salto del primero para todos
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    angle = offset[0] * base ** (-torch.arange(0, w, 2) / w)
    a, b = key[..., 0:w:2], key[..., 1:w:2]
    c, s = angle.cos(), angle.sin()
    moved = torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)
    return torch.cat([moved, key[..., w:]], -1)

# %% 9.9 | por mitades ⇒ contiguas
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    angle = (offset[:, None] * base ** (-torch.arange(0, w, 2, dtype=key.dtype) / w))[:, None, None]
    c, s = angle.cos(), angle.sin()
    a, b = key[..., : w // 2], key[..., w // 2 : w]
    return torch.cat([a * c - b * s, a * s + b * c, key[..., w:]], -1)

# %% 9.9 | gira las últimas ⇒ primeras
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(0, w, 2, dtype=key.dtype) / w)
    angle = (offset[:, None] * speed)[:, None, None]
    c, s = angle.cos(), angle.sin()
    rest, key = key[..., : key.shape[-1] - w], key[..., key.shape[-1] - w :]
    a, b = key[..., ::2], key[..., 1::2]
    return torch.cat([rest, torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)], -1)

# %% 9.9 | olvida devolver lo que no gira
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(0, w, 2, dtype=key.dtype) / w)
    angle = (offset[:, None] * speed)[:, None, None]
    c, s = angle.cos(), angle.sin()
    a, b = key[..., :w:2], key[..., 1:w:2]
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)

# %% 9.9 | el salto, entero
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(0, w, 2, dtype=key.dtype) / w)
    angle = (offset.long()[:, None] * speed)[:, None, None]
    c, s = angle.cos(), angle.sin()
    a, b = key[..., :w:2], key[..., 1:w:2]
    return torch.cat([torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2), key[..., w:]], -1)

# %% 9.9 | exponente −r/d
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(w // 2, dtype=key.dtype) / w)
    angle = (offset[:, None] * speed)[:, None, None]
    c, s = angle.cos(), angle.sin()
    a, b = key[..., :w:2], key[..., 1:w:2]
    return torch.cat([torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2), key[..., w:]], -1)

# %% 9.9 | los sitios de la caché empiezan en el salto
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(0, w, 2, dtype=key.dtype) / w)
    place = offset[:, None] + torch.arange(key.shape[2])
    angle = (place[..., None] * speed)[:, None]
    c, s = angle.cos(), angle.sin()
    a, b = key[..., :w:2], key[..., 1:w:2]
    return torch.cat([torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2), key[..., w:]], -1)

# %% 9.9 | el doble de salto
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    angle = 2 * (offset[:, None] * base ** (-torch.arange(0, w, 2, dtype=key.dtype) / w))[:, None, None]
    a, b = key[..., :w:2], key[..., 1:w:2]
    turned = [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.cat([torch.stack(turned, -1).flatten(-2), key[..., w:]], -1)

# %% 9.9 | un seno sin su signo
def move_cache(key, offset, base=10000.0, rotary_dim=None):
    w = key.shape[-1] if rotary_dim is None else rotary_dim
    angle = (offset[:, None] * base ** (-torch.arange(0, w, 2, dtype=key.dtype) / w))[:, None, None]
    a, b = key[..., :w:2], key[..., 1:w:2]
    turned = [a * angle.cos() + b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.cat([torch.stack(turned, -1).flatten(-2), key[..., w:]], -1)
