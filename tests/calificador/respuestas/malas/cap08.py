"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 8.1 | las dos cosas
shift_effect = "las filas y los productos"

# %% 8.1 | solo los productos
shift_effect = "los productos entre filas"

# %% 8.1 | nada, porque las agujas dan la vuelta
shift_effect = "nada"

# %% 8.1 | contesta con las columnas
shift_effect = "las columnas"

# %% 8.1 | una frase
shift_effect = "todo menos los productos"

# %% 8.2 | todos senos
def sinusoidal_encoding(positions, d_model, base=10000.0):
    component = torch.arange(d_model, dtype=torch.float64)
    return torch.sin(positions.double()[..., None] * base ** (-(component // 2 * 2) / d_model))

# %% 8.2 | una frecuencia por componente
def sinusoidal_encoding(positions, d_model, base=10000.0):
    k = torch.arange(d_model, dtype=torch.float64)
    angle = positions.double()[..., None] * base ** (-k / d_model)
    return torch.where(k % 2 == 0, angle.sin(), angle.cos())

# %% 8.2 | solo sin lote
def sinusoidal_encoding(positions, d_model, base=10000.0):
    speed = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = positions.double().reshape(-1)[:, None] * speed
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

# %% 8.2 | redondea los sitios
def sinusoidal_encoding(positions, d_model, base=10000.0):
    speed = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = positions.long().double()[..., None] * speed
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

# %% 8.2 | los periodos en lugar de los divisores
def sinusoidal_encoding(positions, d_model, base=10000.0):
    speed = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model) / (2 * math.pi)
    angle = positions.double()[..., None] * speed
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

# %% 8.2 | pierde el signo de los sitios
def sinusoidal_encoding(positions, d_model, base=10000.0):
    speed = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = positions.double().abs()[..., None] * speed
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

# %% 8.2 | la base, con un solo exponente para todas
def sinusoidal_encoding(positions, d_model, base=10000.0):
    speed = torch.logspace(0, -4 * (d_model - 2) / d_model, d_model // 2, dtype=torch.float64)
    angle = positions.double()[..., None] * speed
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

# %% 8.2 | ángulos en 32 bits ⇒ precisión
def sinusoidal_encoding(positions, d_model, base=10000.0):
    pair = torch.arange(0, d_model, 2, dtype=torch.float32)
    angle = positions[..., None].float() * base ** (-pair / d_model)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2).double()

# %% 8.2 | frecuencias en 32 bits ⇒ precisión
def sinusoidal_encoding(positions, d_model, base=10000.0):
    speed = base ** (-torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
    angle = positions[..., None].double() * speed.double()
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

# %% 8.3 | sitio siguiente
clock_by_hand = {"first": 0.909, "last": 0.540, "norm": 2, "product": 0.010}

# %% 8.3 | la norma sin elevar al cuadrado
clock_by_hand = {"first": 0.141, "last": 0.540, "norm": 1.414, "product": 0.010}

# %% 8.3 | el producto de la distancia 2
clock_by_hand = {"first": 0.141, "last": 0.540, "norm": 2, "product": 0.584}

# %% 8.3 | el producto dividido entre dos
clock_by_hand = {"first": 0.141, "last": 0.540, "norm": 2, "product": 0.005}

# %% 8.3 | todo ceros
clock_by_hand = {"first": 0, "last": 0, "norm": 0, "product": 0}

# %% 8.3 | grados en todo
clock_by_hand = {"first": 0.052, "last": 1.000, "norm": 2, "product": 1.999}

# %% 8.3 | seno por coseno en la aguja lenta
clock_by_hand = {"first": 0.141, "last": 0.841, "norm": 2, "product": 0.010}

# %% 8.4 | reshape sin cambiar los ejes
def halves_to_pairs(code):
    return code.reshape(*code.shape[:-1], -1, 2).flatten(-2)

# %% 8.4 | ejes equivocados
def halves_to_pairs(code):
    return code.reshape(*code.shape[:-1], -1, 2).transpose(-2, -1).flatten(-2)

# %% 8.4 | del revés
def halves_to_pairs(code):
    sin, cos = code.chunk(2, dim=-1)
    return torch.stack((sin, cos.flip(-1)), dim=-1).flatten(-2)

# %% 8.4 | repite los senos
def halves_to_pairs(code):
    sin, _ = code.chunk(2, dim=-1)
    return torch.stack((sin, sin), dim=-1).flatten(-2)

# %% 8.4 | solo la primera fila
def halves_to_pairs(code):
    sin, cos = code.chunk(2, dim=-1)
    out = code.clone()
    if code.ndim == 1:
        return torch.stack((sin, cos), dim=-1).flatten(-2)
    out[0] = torch.stack((sin, cos), dim=-1).flatten(-2)[0]
    return out

# %% 8.4 | los cosenos delante
def halves_to_pairs(code):
    sin, cos = code.chunk(2, dim=-1)
    return torch.stack([cos, sin], -1).flatten(-2)

# %% 8.4 | de parejas a mitades, que es la vuelta
def halves_to_pairs(code):
    return torch.cat([code[..., 0::2], code[..., 1::2]], -1)

# %% 8.4 | los cosenos, del último al primero
def halves_to_pairs(code):
    sin, cos = code.chunk(2, dim=-1)
    return torch.stack([sin, cos.flip(-1)], -1).flatten(-2)

# %% 8.4 | aplana todos los ejes
def halves_to_pairs(code):
    flat = code.reshape(-1)
    sin, cos = flat.chunk(2)
    return torch.stack([sin, cos], -1).reshape(code.shape)

# %% 8.5 | el relleno recibe la primera fila
def add_positions(x, table, mask):
    return x + table[(mask.cumsum(1) - 1).clamp(min=0) * mask]

# %% 8.5 | cuenta desde la última
def add_positions(x, table, mask):
    places = mask.flip(1).cumsum(1).flip(1) - mask.long()
    return x + table[places] * mask[..., None]

# %% 8.5 | desplaza por el relleno de delante
def add_positions(x, table, mask):
    first = mask.long().argmax(1, keepdim=True)
    places = (torch.arange(x.shape[1]) - first).clamp(min=0)
    return x + table[places] * mask[..., None]

# %% 8.5 | corta el gradiente de la tabla
def add_positions(x, table, mask):
    return x + table.detach()[(mask.cumsum(1) - 1).clamp(min=0)] * mask[..., None]

# %% 8.5 | la misma máscara para todas
def add_positions(x, table, mask):
    m = mask[:1].expand_as(mask)
    return x + table[(m.cumsum(1) - 1).clamp(min=0)] * m[..., None]

# %% 8.5 | divide entre cero en una frase que es toda relleno
def add_positions(x, table, mask):
    count = mask.sum(1, keepdim=True).to(x.dtype)
    share = mask / count * count
    return x + table[(mask.cumsum(1) - 1).clamp(min=0)] * share[..., None]

# %% 8.6 | redondea el salto
def shift_matrix(delta, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        t = round(delta) * base ** (-i / d_model)
        m[i, i] = m[i + 1, i + 1] = math.cos(t)
        m[i, i + 1], m[i + 1, i] = -math.sin(t), math.sin(t)
    return m

# %% 8.6 | por mitades
def shift_matrix(delta, d_model, base=10000.0):
    w = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model) * delta
    c, s = torch.diag(w.cos()), torch.diag(w.sin())
    return torch.cat([torch.cat([c, -s], 1), torch.cat([s, c], 1)])

# %% 8.6 | olvida los cosenos de la segunda fila
def shift_matrix(delta, d_model, base=10000.0):
    m = torch.eye(d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        t = delta * base ** (-i / d_model)
        m[i, i], m[i, i + 1], m[i + 1, i] = math.cos(t), -math.sin(t), math.sin(t)
    return m

# %% 8.6 | siempre hacia delante
def shift_matrix(delta, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        t = abs(delta) * base ** (-i / d_model)
        m[i, i] = m[i + 1, i + 1] = math.cos(t)
        m[i, i + 1], m[i + 1, i] = -math.sin(t), math.sin(t)
    return m

# %% 8.6 | la identidad
def shift_matrix(delta, d_model, base=10000.0):
    return torch.eye(d_model, dtype=torch.float64)

# %% 8.7 | arregla dos faltas y deja los sitios del lote
def add_sinusoids(x):
    d = x.shape[-1]
    places = torch.arange(x.shape[0], dtype=x.dtype)
    angle = places[:, None] * 10000.0 ** (-2 * torch.arange(d // 2, dtype=x.dtype) / d)
    return x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)[None]

# %% 8.7 | empieza en el sitio 1
def add_sinusoids(x):
    d = x.shape[-1]
    places = torch.arange(1, x.shape[1] + 1, dtype=x.dtype)
    angle = places[:, None] * 10000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    return x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

# %% 8.7 | devuelve solo el código
def add_sinusoids(x):
    d = x.shape[-1]
    angle = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * 10000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2).expand_as(x) + 0 * x

# %% 8.7 | código por mitades
def add_sinusoids(x):
    d = x.shape[-1]
    angle = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * 10000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    return x + torch.cat([angle.sin(), angle.cos()], -1)

# %% 8.7 | multiplica por la raíz de d
def add_sinusoids(x):
    d = x.shape[-1]
    angle = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * 10000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    return x * d**0.5 + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

# %% 8.7 | cambia la base
def add_sinusoids(x):
    d = x.shape[-1]
    angle = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * 1000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    return x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

# %% 8.8 | lee la aguja lenta
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.atan2(code[:, d - 2], code[:, d - 1])
    return (angle * base ** ((d - 2) / d)).round().long().clamp(0, limit - 1)

# %% 8.8 | solo hasta mil
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(min(limit, 1000)).double()[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    return (code @ torch.stack([angle.sin(), angle.cos()], -1).flatten(-2).T).argmax(-1)

# %% 8.8 | lee solo cuatro agujas
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit).double()[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    return (code[:, :8] @ table[:, :8].T).argmax(-1)

# %% 8.8 | devuelve reales
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit).double()[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    return (code @ table.T).argmax(-1).double() + 0.25

# %% 8.8 | en mitades
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit).double()[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    return (code @ torch.cat([angle.sin(), angle.cos()], -1).T).argmax(-1)

# %% 8.8 | valor absoluto del producto de los signos
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit).double()[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    return (code.sign()[:, :4] @ table.sign()[:, :4].T).argmax(-1)

# %% 8.8 | siempre el primero
def read_clock(code, limit, base=10000.0):
    return torch.zeros(len(code), dtype=torch.long)

# %% 8.8 | divide filas y códigos entre su máximo y busca el más cercano
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit, dtype=code.dtype)[:, None] * base ** (-torch.arange(0, d, 2, dtype=code.dtype) / d)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    top = lambda t: t / t.abs().amax(-1, keepdim=True)
    return torch.stack([torch.cdist(top(row)[None], top(table))[0].argmin() for row in code])

# %% 8.8 | divide entre el máximo y suma las diferencias
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit, dtype=code.dtype)[:, None] * base ** (-torch.arange(0, d, 2, dtype=code.dtype) / d)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    code = code / code.abs().amax(-1, keepdim=True)
    return torch.stack([(row - table).abs().sum(-1).argmin() for row in code])

# %% 8.8 | divide entre el máximo y mira la mayor diferencia
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit, dtype=code.dtype)[:, None] * base ** (-torch.arange(0, d, 2, dtype=code.dtype) / d)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    code = code / code.abs().amax(-1, keepdim=True)
    return torch.stack([(row - table).abs().amax(-1).argmin() for row in code])

# %% 8.9 | puntuación dividida entre la raíz de d
def offset_head(offset, d_model, sharpness, base=10000.0):
    m = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        t = offset * base ** (-i / d_model)
        m[i, i] = m[i + 1, i + 1] = math.cos(t)
        m[i, i + 1], m[i + 1, i] = -math.sin(t), math.sin(t)
    return sharpness * m / d_model**0.5, torch.eye(d_model, dtype=torch.float64)

# %% 8.9 | redondea el salto
def offset_head(offset, d_model, sharpness, base=10000.0):
    m = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        t = round(offset) * base ** (-i / d_model)
        m[i, i] = m[i + 1, i + 1] = math.cos(t)
        m[i, i + 1], m[i + 1, i] = -math.sin(t), math.sin(t)
    return sharpness * m, torch.eye(d_model, dtype=torch.float64)

# %% 8.9 | la identidad
def offset_head(offset, d_model, sharpness, base=10000.0):
    eye = torch.eye(d_model, dtype=torch.float64)
    return sharpness * eye, eye

# %% 8.9 | siempre al de delante
def offset_head(offset, d_model, sharpness, base=10000.0):
    m = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        t = -1 * base ** (-i / d_model)
        m[i, i] = m[i + 1, i + 1] = math.cos(t)
        m[i, i + 1], m[i + 1, i] = -math.sin(t), math.sin(t)
    return sharpness * m, torch.eye(d_model, dtype=torch.float64)

# %% 8.9 | solo la aguja rápida
def offset_head(offset, d_model, sharpness, base=10000.0):
    m = torch.eye(d_model, dtype=torch.float64)
    t = offset
    m[:2, :2] = torch.tensor([[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]])
    return sharpness * m, torch.eye(d_model, dtype=torch.float64)

# %% 8.9 | una matriz sola
def offset_head(offset, d_model, sharpness, base=10000.0):
    m = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        t = offset * base ** (-i / d_model)
        m[i, i] = m[i + 1, i + 1] = math.cos(t)
        m[i, i + 1], m[i + 1, i] = -math.sin(t), math.sin(t)
    return sharpness * m
