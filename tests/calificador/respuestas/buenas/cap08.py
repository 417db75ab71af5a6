"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 8.1 | tal cual
shift_effect = "las filas"

# %% 8.2 | bucle y asignación por columnas
def sinusoidal_encoding(positions, d_model, base=10000.0):
    p = positions.to(torch.float64)
    out = torch.empty(*p.shape, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        angle = p / base ** (2 * i / d_model)
        out[..., 2 * i], out[..., 2 * i + 1] = torch.sin(angle), torch.cos(angle)
    return out

# %% 8.2 | exponencial de un logaritmo y coseno como seno adelantado
def sinusoidal_encoding(positions, d_model, base=10000.0):
    component = torch.arange(d_model)
    speed = torch.exp(-(component // 2 * 2).double() * math.log(base) / d_model)
    phase = (component % 2).double() * math.pi / 2
    return torch.sin(positions.double()[..., None] * speed + phase)

# %% 8.2 | números complejos
def sinusoidal_encoding(positions, d_model, base=10000.0):
    speed = torch.tensor([base ** (-i / d_model) for i in range(0, d_model, 2)], dtype=torch.float64)
    angle = positions.double()[..., None] * speed
    z = torch.view_as_real(torch.polar(torch.ones_like(angle), angle))
    return z.flip(-1).reshape(*positions.shape, d_model)

# %% 8.3 | tres decimales
clock_by_hand = {"first": 0.141, "last": 0.540, "norm": 2, "product": 0.010}

# %% 8.3 | más decimales
clock_by_hand = {"first": 0.14112, "last": 0.540302, "norm": 2.0, "product": 0.009558}

# %% 8.3 | con las dos filas escritas
row = lambda p: torch.tensor([math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)])
clock_by_hand = {"first": row(3)[0].item(), "last": row(100)[3].item(),
                 "norm": float(row(7) @ row(7)), "product": float(row(5) @ row(8))}

# %% 8.4 | índices
def halves_to_pairs(code):
    d = code.shape[-1]
    return code[..., torch.arange(d).reshape(2, d // 2).T.reshape(-1)]

# %% 8.4 | apilar
def halves_to_pairs(code):
    sin, cos = code.chunk(2, dim=-1)
    return torch.stack((sin, cos), dim=-1).reshape(code.shape)

# %% 8.4 | asignación
def halves_to_pairs(code):
    out = torch.empty_like(code)
    half = code.shape[-1] // 2
    out[..., ::2], out[..., 1::2] = code[..., :half], code[..., half:]
    return out

# %% 8.5 | bucle
def add_positions(x, table, mask):
    rows = []
    for frase, vale in zip(x, mask):
        sitio, nuevas = 0, []
        for palabra, si in zip(frase, vale):
            nuevas.append(palabra + table[sitio] if si else palabra)
            sitio += int(si)
        rows.append(torch.stack(nuevas))
    return torch.stack(rows)

# %% 8.5 | one-hot por la tabla
def add_positions(x, table, mask):
    m = mask.to(x.dtype)
    places = (m.cumsum(-1) - 1).clamp_min(0).long()
    one_hot = torch.nn.functional.one_hot(places, len(table)).to(x.dtype)
    return x + (one_hot * m[..., None]) @ table

# %% 8.5 | torch.where
def add_positions(x, table, mask):
    before = mask.long().cumsum(1) - mask.long()
    return torch.where(mask[:, :, None], x + table[before.clamp(max=len(table) - 1)], x)

# %% 8.6 | block_diag
def shift_matrix(delta, d_model, base=10000.0):
    blocks = []
    for i in range(d_model // 2):
        t = torch.tensor(delta * base ** (-2 * i / d_model), dtype=torch.float64)
        blocks.append(torch.stack([torch.stack([t.cos(), -t.sin()]), torch.stack([t.sin(), t.cos()])]))
    return torch.block_diag(*blocks)

# %% 8.6 | exponencial de una matriz
def shift_matrix(delta, d_model, base=10000.0):
    a = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        w = base ** (-i / d_model)
        a[i, i + 1], a[i + 1, i] = -w * delta, w * delta
    return torch.linalg.matrix_exp(a)

# %% 8.6 | multiplicando números complejos
def shift_matrix(delta, d_model, base=10000.0):
    turn = torch.exp(1j * delta * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model))
    out = torch.zeros(d_model, d_model, dtype=torch.float64)
    for row in range(d_model):
        one = torch.zeros(d_model, dtype=torch.float64)
        one[row] = 1
        code = torch.complex(one[1::2], one[0::2]) * turn  # coseno y seno de cada aguja
        out[row] = torch.stack([code.imag, code.real], -1).flatten()
    return out

# %% 8.7 | por columnas
def add_sinusoids(x):
    n, d = x.shape[1:]
    angle = torch.arange(n).double()[:, None] / 10000.0 ** (torch.arange(0, d, 2).double() / d)
    code = torch.zeros(n, d, dtype=x.dtype)
    code[:, 0::2], code[:, 1::2] = angle.sin(), angle.cos()
    return x + code

# %% 8.7 | con einsum
def add_sinusoids(x):
    d = x.shape[-1]
    places = torch.arange(x.shape[-2], dtype=x.dtype)
    angle = torch.einsum("n,p->np", places, 10000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d))
    return x + torch.stack([angle.sin(), angle.cos()], -1).reshape(1, -1, d)

# %% 8.7 | número a número
def add_sinusoids(x):
    batch, n, d = x.shape
    code = [[(math.cos if c % 2 else math.sin)(p / 10000.0 ** ((c - c % 2) / d)) for c in range(d)]
            for p in range(n)]
    return x + torch.tensor(code, dtype=x.dtype).expand(batch, n, d)

# %% 8.8 | distancia tras normalizar
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit).double()[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    unit = code / code.norm(dim=-1, keepdim=True) * (d / 2) ** 0.5
    return torch.cdist(unit, table).argmin(-1)

# %% 8.8 | fila a fila
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit).double()[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    found = [(angle.sin() @ c[0::2] + angle.cos() @ c[1::2]).argmax() for c in code]
    return torch.stack(found)

# %% 8.8 | enteros de 32 bits
def read_clock(code, limit, base=10000.0):
    d = code.shape[-1]
    angle = torch.arange(limit).double()[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    table = torch.cat([angle.sin(), angle.cos()], -1)
    halves = torch.cat([code[:, 0::2], code[:, 1::2]], -1)
    return (halves @ table.T).argmax(dim=1).int()

# %% 8.9 | el giro en la clave
def offset_head(offset, d_model, sharpness, base=10000.0):
    m = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        t = offset * base ** (-i / d_model)
        m[i : i + 2, i : i + 2] = torch.tensor([[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]])
    return sharpness * torch.eye(d_model, dtype=torch.float64), m.T

# %% 8.9 | medio giro y media nitidez a cada lado
def offset_head(offset, d_model, sharpness, base=10000.0):
    def half(step):
        m = torch.zeros(d_model, d_model, dtype=torch.float64)
        for i in range(0, d_model, 2):
            t = step * base ** (-i / d_model)
            m[i, i] = m[i + 1, i + 1] = math.cos(t)
            m[i, i + 1], m[i + 1, i] = -math.sin(t), math.sin(t)
        return sharpness**0.5 * m
    return half(offset / 2), half(-offset / 2)

# %% 8.9 | con los códigos de dos sitios y la inversa
def offset_head(offset, d_model, sharpness, base=10000.0):
    speed = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    def code(places):
        angle = places[:, None] * speed
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    places = torch.arange(8 * d_model, dtype=torch.float64) * 1.7 * base / 100
    shift = torch.linalg.lstsq(code(places), code(places + offset)).solution
    return shift * sharpness, torch.eye(d_model, dtype=torch.float64)
