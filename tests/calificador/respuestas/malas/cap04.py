"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 4.4 | solo difunde ejes de igual número
def attention_shapes(q, k, v):
    b = [max(x) for x in zip(q[:-2], k[:-2])]
    return [[*b, q[-2], k[-2]], [*b, q[-2], k[-2]], [*b, q[-2], v[-1]]]

# %% 4.4 | los pesos, sin el eje de las claves
def attention_shapes(query_shape, key_shape, value_shape):
    b = list(torch.broadcast_shapes(query_shape[:-2], key_shape[:-2]))
    o = list(torch.broadcast_shapes(b, value_shape[:-2]))
    return [[*b, query_shape[-2], key_shape[-2]], [*b, query_shape[-2]], [*o, query_shape[-2], value_shape[-1]]]

# %% 4.4 | la salida, con la anchura de las claves
def attention_shapes(query_shape, key_shape, value_shape):
    b = list(torch.broadcast_shapes(query_shape[:-2], key_shape[:-2]))
    o = list(torch.broadcast_shapes(b, value_shape[:-2]))
    s = [*b, query_shape[-2], key_shape[-2]]
    return [s, s, [*o, query_shape[-2], key_shape[-1]]]

# %% 4.4 | los ejes de lote de los valores llegan también a las puntuaciones
def attention_shapes(query_shape, key_shape, value_shape):
    b = list(torch.broadcast_shapes(query_shape[:-2], key_shape[:-2], value_shape[:-2]))
    s = [*b, query_shape[-2], key_shape[-2]]
    return [s, s, [*b, query_shape[-2], value_shape[-1]]]

# %% 4.4 | difunde los ejes alineados por la izquierda
def attention_shapes(query_shape, key_shape, value_shape):
    def join(*shapes):
        n = max(map(len, shapes))
        return [max(c) for c in zip(*([*s, *[1] * (n - len(s))] for s in shapes))]
    b = join(query_shape[:-2], key_shape[:-2])
    s = [*b, query_shape[-2], key_shape[-2]]
    return [s, s, [*join(b, value_shape[:-2]), query_shape[-2], value_shape[-1]]]

# %% 4.4 | la salida tiene una fila por clave
def attention_shapes(query_shape, key_shape, value_shape):
    b = list(torch.broadcast_shapes(query_shape[:-2], key_shape[:-2]))
    o = list(torch.broadcast_shapes(b, value_shape[:-2]))
    s = [*b, query_shape[-2], key_shape[-2]]
    return [s, s, [*o, key_shape[-2], value_shape[-1]]]

# %% 4.4 | sin ejes de lote
def attention_shapes(query_shape, key_shape, value_shape):
    s = [query_shape[-2], key_shape[-2]]
    return [s, s, [query_shape[-2], value_shape[-1]]]

# %% 4.4 | suma los ejes de lote de cada uno
def attention_shapes(query_shape, key_shape, value_shape):
    b = [*query_shape[:-2], *key_shape[:-2]]
    s = [*b, query_shape[-2], key_shape[-2]]
    return [s, s, [*b, query_shape[-2], value_shape[-1]]]

# %% 4.1 | la nula compite con el valor absoluto
def softmax_with_null(scores, null_score):
    e = torch.cat([scores, torch.full_like(scores[..., :1], abs(null_score))], -1)
    return e.softmax(-1)[..., :-1]

# %% 4.1 | acota las puntuaciones para que no desborden
def softmax_with_null(scores, null_score):
    e = scores.clamp(-50, 50).exp()
    return e / (e.sum(-1, keepdim=True) + math.exp(null_score))

# %% 4.1 | reparte entre las demás lo que se lleva la nula
def softmax_with_null(scores, null_score):
    e = torch.cat([scores, torch.full_like(scores[..., :1], null_score)], -1).softmax(-1)[..., :-1]
    return e / e.sum(-1, keepdim=True)

# %% 4.1 | resta la puntuación nula antes de la softmax
def softmax_with_null(scores, null_score):
    return (scores - null_score).softmax(-1)

# %% 4.1 | una sigmoide por clave, cada una contra la nula
def softmax_with_null(scores, null_score):
    return torch.sigmoid(scores - null_score)

# %% 4.1 | las claves por debajo de la nula, a cero
def softmax_with_null(scores, null_score):
    return scores.softmax(-1) * (scores > null_score)

# %% 4.1 | la nula compite una vez por cada clave
def softmax_with_null(scores, null_score):
    n = scores.shape[-1]
    return torch.cat([scores, torch.full_like(scores, null_score)], -1).softmax(-1)[..., :n]

# %% 4.3 | otra palabra para lo mismo no es una de las opciones
shift_effect = "no cambia"

# %% 4.3 | contesta por la columna, que tampoco cambia
shift_effect = "todas"

# %% 4.3 | cambia cada una según lo que su consulta puntúe el vector
shift_effect = "según la consulta"

# %% 4.3 | no dice ninguna, sino una frase
shift_effect = "no cambia ninguna"

# %% 4.3 | la palabra sin comillas
shift_effect = "la de tren"

# %% 4.2 | la suma de las exponenciales sin las tres que valen 1
attention_by_hand = {"score": 2.828, "weight": 0.804, "output": 1.196}

# %% 4.2 | la puntuación sin escalar y lo demás bien
attention_by_hand = {"score": 4.0, "weight": 0.704, "output": 1.063}

# %% 4.5 | la escala, después de la softmax
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.mT
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    w = s.softmax(-1) / math.sqrt(query.shape[-1])
    return w @ value, w

# %% 4.5 | tapa con −1e3, que con puntuaciones de miles no es nada
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -1e3)
    w = s.softmax(-1)
    return w @ value, w

# %% 4.5 | la raíz de la dimensión de los valores
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(value.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    w = s.softmax(-1)
    return w @ value, w

# %% 4.5 | los pesos que devuelve son los de antes de tapar
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(query.shape[-1])
    w = s.softmax(-1)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    return s.softmax(-1) @ value, w

# %% 4.5 | traspone todos los ejes de las claves
def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.permute(*range(key.ndim - 1, -1, -1)) / math.sqrt(query.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    w = s.softmax(-1)
    return w @ value, w

# %% 4.2 | normaliza con el máximo y no con la suma
attention_by_hand = {"score": 2.828, "weight": 0.171, "output": 1.063}

# %% 4.2 | olvida dos de las tres palabras con puntuación 0
attention_by_hand = {"score": 2.828, "weight": 0.768, "output": 1.159}

# %% 4.2 | promedia los valores sin pesos
attention_by_hand = {"score": 2.828, "weight": 0.704, "output": 0.68}

# %% 4.2 | la raíz de la norma de la consulta
attention_by_hand = {"score": 2.0, "weight": 0.704, "output": 1.063}

# %% 4.2 | la otra componente de la salida
attention_by_hand = {"score": 2.828, "weight": 0.704, "output": 0.780}

# %% 4.2 | se queda con la mayor y no promedia
attention_by_hand = {"score": 2.828, "weight": 0.704, "output": 1.0}

# %% 4.6 | la primera temperatura de cada fila del lote
def attention_with_temperature(query, key, value, temperature):
    return (query @ key.mT / temperature[:, :1, None]).softmax(-1) @ value

# %% 4.6 | una temperatura media para cada elemento del lote
def attention_with_temperature(query, key, value, temperature):
    return (query @ key.mT / temperature.mean(1)[:, None, None]).softmax(-1) @ value

# %% 4.6 | la temperatura, como una clave
def attention_with_temperature(query, key, value, temperature):
    s = query @ key.mT
    if s.shape[-1] == s.shape[-2]:
        return (s / temperature[:, None]).softmax(-1) @ value
    return (s / temperature[..., None]).softmax(-1) @ value

# %% 4.6 | la temperatura, sobre los pesos ya hechos
def attention_with_temperature(query, key, value, temperature):
    return (query @ key.mT).softmax(-1) / temperature[..., None] @ value

# %% 4.6 | eleva los pesos y no vuelve a repartir
def attention_with_temperature(query, key, value, temperature):
    return (query @ key.mT).softmax(-1) ** (1 / temperature[..., None]) @ value

# %% 4.6 | la temperatura, sin gradiente
def attention_with_temperature(query, key, value, temperature):
    return (query @ key.mT / temperature.detach()[..., None]).softmax(-1) @ value

# %% 4.6 | la temperatura, por la raíz de la anchura
def attention_with_temperature(query, key, value, temperature):
    s = query @ key.mT / (temperature[..., None] * math.sqrt(query.shape[-1]))
    return s.softmax(-1) @ value

# %% 4.6 | multiplica por la temperatura
def attention_with_temperature(query, key, value, temperature):
    return (query @ key.mT * temperature[..., None]).softmax(-1) @ value

# %% 4.6 | la temperatura de cada consulta, normalizada dentro de su lote
def attention_with_temperature(query, key, value, temperature):
    t = temperature / temperature.sum(-1, keepdim=True)
    return (query @ key.mT / t[..., None]).softmax(-1) @ value

# %% 4.7 | tapa con −1e4 y multiplica después por la máscara
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -(query[:, None] - key[None]).square().sum(-1) / (2 * bandwidth**2)
    return (s.masked_fill(~mask, -1e4).softmax(-1) * mask) @ value

# %% 4.7 | tapa con −1e9 y multiplica después por la máscara
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -(query[:, None] - key[None]).square().sum(-1) / (2 * bandwidth**2)
    return (s.masked_fill(~mask, -1e9).softmax(-1) * mask) @ value

# %% 4.7 | el ancho pequeño se acota
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -(query[:, None] - key[None]).square().sum(-1) / (2 * max(bandwidth, 0.05) ** 2)
    return s.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0) @ value

# %% 4.7 | la norma sin elevar al cuadrado
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -torch.cdist(query, key) / (2 * bandwidth**2)
    return s.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0) @ value

# %% 4.7 | exponenciales a mano, con una millonésima para no dividir entre cero
def gaussian_attention(query, key, value, bandwidth, mask):
    e = (-(query[:, None] - key).square().sum(-1) / (2 * bandwidth**2)).exp() * mask
    return e @ value / (e.sum(-1, keepdim=True) + 1e-6)

# %% 4.7 | las filas sin clave, con la media de todos los valores
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -(query[:, None] - key).square().sum(-1) / (2 * bandwidth**2)
    return s.masked_fill(~mask, -1e30).softmax(-1) @ value

# %% 4.7 | una anchura por componente, como si la norma se dividiera entre d
def gaussian_attention(query, key, value, bandwidth, mask):
    s = -(query[:, None] - key).square().mean(-1) / (2 * bandwidth**2)
    return s.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0) @ value

# %% 4.8 | arregla solo las matrices cuadradas
def column_attention(query, key, value):
    w = (key.T @ query / math.sqrt(key.shape[0])).softmax(0)
    return value @ (w if w.shape[0] != w.shape[1] else w.T)

# %% 4.8 | arregla la escala y la traspuesta final, y deja el eje
def column_attention(query, key, value):
    return value @ (key.T @ query / math.sqrt(key.shape[0])).softmax(1)

# %% 4.8 | arregla el eje y la traspuesta final, y deja la escala
def column_attention(query, key, value):
    return value @ (key.T @ query / math.sqrt(key.shape[1])).softmax(0)

# %% 4.8 | divide entre la anchura de los valores
def column_attention(query, key, value):
    return value @ (key.T @ query / math.sqrt(value.shape[0])).softmax(0)

# %% 4.8 | divide entre la anchura, sin la raíz
def column_attention(query, key, value):
    return value @ (key.T @ query / key.shape[0]).softmax(0)

# %% 4.8 | pasa a filas y devuelve filas
def column_attention(query, key, value):
    return (query.T @ key / math.sqrt(key.shape[0])).softmax(-1) @ value.T

# %% 4.8 | traspone los pesos y también los valores de sitio
def column_attention(query, key, value):
    w = (query.T @ key / math.sqrt(key.shape[0])).softmax(1)
    return value @ w if w.shape[0] == w.shape[1] else value @ w.T

# %% 4.8 | reparte entre todas las casillas
def column_attention(query, key, value):
    s = key.T @ query / math.sqrt(key.shape[0])
    return value @ s.flatten().softmax(0).reshape(s.shape)

# %% 4.9 | resta las medias y contesta a otra pregunta
def score_scale(queries, keys):
    a, b = queries - queries.mean(0), keys - keys.mean(0)
    return math.sqrt(float(((a.T @ a / len(a)) * (b.T @ b / len(b))).sum()))

# %% 4.9 | la matriz entera de productos
def score_scale(queries, keys):
    return float((queries @ keys.T).std(correction=0))

# %% 4.9 | empareja la primera consulta con la primera clave
def score_scale(queries, keys):
    n = min(len(queries), len(keys))
    return float((queries[:n] * keys[:n]).sum(-1).std(correction=0))

# %% 4.9 | una muestra de mil parejas
def score_scale(queries, keys):
    return float((queries[:1000] @ keys[:1000].T).std(correction=0))

# %% 4.9 | solo la traza, como si las medias fueran nulas
def score_scale(queries, keys):
    return math.sqrt(float(((queries.T @ queries / len(queries)) * (keys.T @ keys / len(keys))).sum()))

# %% 4.9 | olvida uno de los dos términos de las medias
def score_scale(queries, keys):
    a, b = torch.cov(queries.T, correction=0), torch.cov(keys.T, correction=0)
    m = queries.mean(0)
    return float(((a * b).sum() + m @ b @ m).sqrt())

# %% 4.9 | la varianza, sin la raíz
def score_scale(queries, keys):
    a, b = torch.cov(queries.T, correction=0), torch.cov(keys.T, correction=0)
    m, n = queries.mean(0), keys.mean(0)
    return float((a * b).sum() + m @ b @ m + n @ a @ n)

# %% 4.9 | las covarianzas, componente a componente
def score_scale(queries, keys):
    a, b = queries.var(0, correction=0), keys.var(0, correction=0)
    m, n = queries.mean(0), keys.mean(0)
    return float((a * b + m**2 * b + n**2 * a).sum().sqrt())

# %% 4.9 | la raíz de la dimensión
def score_scale(queries, keys):
    return math.sqrt(queries.shape[1]) * float(queries.std(correction=0) * keys.std(correction=0))

# %% 4.9 | el producto de las desviaciones típicas de cada componente
def score_scale(queries, keys):
    return float((queries.std(0, correction=0) * keys.std(0, correction=0)).sum())

# %% 4.10 | construye la matriz
def softmax_jvp(scores, tangent, beta):
    p = (beta * scores).softmax(-1)
    j = beta * (torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2))
    return torch.einsum("...ij,...j->...i", j, tangent)

# %% 4.10 | deriva con autograd
def softmax_jvp(scores, tangent, beta):
    return torch.func.jvp(lambda s: (beta * s).softmax(-1), (scores,), (tangent,))[1]

# %% 4.10 | diferencias finitas gruesas
def softmax_jvp(scores, tangent, beta):
    h = 1e-3
    return ((beta * (scores + h * tangent)).softmax(-1) - (beta * (scores - h * tangent)).softmax(-1)) / (2 * h)

# %% 4.10 | la jacobiana de los logaritmos
def softmax_jvp(scores, tangent, beta):
    p = (beta * scores).softmax(-1)
    return beta * (tangent - (p * tangent).sum(-1, keepdim=True))

# %% 4.10 | solo la diagonal de la jacobiana
def softmax_jvp(scores, tangent, beta):
    p = (beta * scores).softmax(-1)
    return beta * p * (1 - p) * tangent

# %% 4.10 | centra con la media corriente y no con la de los pesos
def softmax_jvp(scores, tangent, beta):
    p = (beta * scores).softmax(-1)
    return beta * p * (tangent - tangent.mean(-1, keepdim=True))

# %% 4.10 | olvida la beta de fuera
def softmax_jvp(scores, tangent, beta):
    p = (beta * scores).softmax(-1)
    return p * (tangent - (p * tangent).sum(-1, keepdim=True))

# %% 4.10 | la softmax de la tangente
def softmax_jvp(scores, tangent, beta):
    p, t = (beta * scores).softmax(-1), (beta * tangent).softmax(-1)
    return p * (t - (p * t).sum(-1, keepdim=True))

# %% 4.10 | el producto por la tangente, fuera de la jacobiana
def softmax_jvp(scores, tangent, beta):
    p = (beta * scores).softmax(-1)
    return beta * p * (1 - p).sum(-1, keepdim=True) * tangent

# %% 4.12 | cuarenta pasos lineales
def beta_for_entropy(scores, entropy):
    low, high = torch.zeros_like(entropy), torch.full_like(entropy, 1e4)
    for _ in range(40):
        mid = (low + high) / 2
        up = torch.special.entr((mid[:, None] * scores).softmax(-1)).sum(-1) > entropy
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return (low + high) / 2

# %% 4.12 | se para con un error absoluto de 1e-7
def beta_for_entropy(scores, entropy):
    low, high = torch.zeros_like(entropy), torch.full_like(entropy, 1e4)
    while float((high - low).max()) > 1e-7:
        mid = (low + high) / 2
        up = torch.special.entr((mid[:, None] * scores).softmax(-1)).sum(-1) > entropy
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return (low + high) / 2

# %% 4.12 | Newton sin guardas desde β = 1
def beta_for_entropy(scores, entropy):
    b = torch.ones_like(entropy)
    for _ in range(50):
        p = (b[:, None] * scores).softmax(-1)
        mean = (p * scores).sum(-1)
        slope = -b * ((p * scores.square()).sum(-1) - mean.square())
        b = b - (torch.special.entr(p).sum(-1) - entropy) / slope
    return b

# %% 4.12 | la entropía, en bits
def beta_for_entropy(scores, entropy):
    low, high = torch.full_like(entropy, -30.0), torch.full_like(entropy, math.log(1e4))
    for _ in range(90):
        mid = (low + high) / 2
        p = (mid.exp()[:, None] * scores).softmax(-1)
        up = torch.special.entr(p).sum(-1) / math.log(2) > entropy
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return low.exp()

# %% 4.12 | una rejilla de mil valores
def beta_for_entropy(scores, entropy):
    grid = torch.logspace(-6, 4, 1000, dtype=scores.dtype)
    h = torch.special.entr((grid[:, None, None] * scores).softmax(-1)).sum(-1)
    return grid[(h - entropy).abs().argmin(0)]

# %% 4.12 | una sola beta para todas las filas
def beta_for_entropy(scores, entropy):
    low, high = -30.0, math.log(1e4)
    for _ in range(90):
        mid = (low + high) / 2
        p = (math.exp(mid) * scores).softmax(-1)
        up = torch.special.entr(p).sum(-1).mean() > entropy.mean()
        low, high = (mid, high) if up else (low, mid)
    return torch.full_like(entropy, math.exp(low))

# %% 4.12 | la entropía que falta y no la que hay
def beta_for_entropy(scores, entropy):
    low, high = torch.full_like(entropy, -30.0), torch.full_like(entropy, math.log(1e4))
    goal = math.log(scores.shape[-1]) - entropy
    for _ in range(90):
        mid = (low + high) / 2
        up = torch.special.entr((mid.exp()[:, None] * scores).softmax(-1)).sum(-1) > goal
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return low.exp()

# %% 4.12 | pocas vueltas
def beta_for_entropy(scores, entropy):
    low, high = torch.full_like(entropy, -30.0), torch.full_like(entropy, math.log(1e4))
    for _ in range(20):
        mid = (low + high) / 2
        up = torch.special.entr((mid.exp()[:, None] * scores).softmax(-1)).sum(-1) > entropy
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return low.exp()

# %% 4.13 | recalcula con el último bloque nada más
def absorb_block(state, query, key, value):
    s = query @ key.T / math.sqrt(query.shape[-1])
    top = s.amax(-1, keepdim=True)
    e = (s - top).exp()
    return top, e.sum(-1, keepdim=True), e @ value

# %% 4.13 | sin restar el máximo
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = query @ key.T / math.sqrt(query.shape[-1])
    e = s.exp()
    return torch.maximum(top, s.amax(-1, keepdim=True)), total + e.sum(-1, keepdim=True), weighted + e @ value

# %% 4.13 | un solo máximo para todas las consultas
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = query @ key.T / math.sqrt(query.shape[-1])
    new = torch.maximum(top, s.amax(-1, keepdim=True)).amax().expand_as(top)
    e = (s - new).exp()
    c = (top - new).exp()
    return new, total * c + e.sum(-1, keepdim=True), weighted * c + e @ value

# %% 4.13 | suma lo viejo sin pasarlo al máximo nuevo
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = query @ key.T / math.sqrt(query.shape[-1])
    new = torch.maximum(top, s.amax(-1, keepdim=True))
    e = (s - new).exp()
    return new, total + e.sum(-1, keepdim=True), weighted + e @ value

# %% 4.13 | guarda la media ya dividida
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = query @ key.T / math.sqrt(query.shape[-1])
    new = torch.maximum(top, s.amax(-1, keepdim=True))
    e, old = (s - new).exp(), (top - new).exp()
    count = total * old + e.sum(-1, keepdim=True)
    return new, count, (weighted * old + e @ value) / count

# %% 4.13 | el máximo de los productos, sin escalar
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = query @ key.T
    new = torch.maximum(top, s.amax(-1, keepdim=True))
    e, old = ((s - new) / math.sqrt(query.shape[-1])).exp(), ((top - new) / math.sqrt(query.shape[-1])).exp()
    return new, total * old + e.sum(-1, keepdim=True), weighted * old + e @ value

# %% 4.13 | corrige la suma y olvida la suma ponderada
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = query @ key.T / math.sqrt(query.shape[-1])
    new = torch.maximum(top, s.amax(-1, keepdim=True))
    e = (s - new).exp()
    return new, total * (top - new).exp() + e.sum(-1, keepdim=True), weighted + e @ value

# %% 4.13 | el peso viejo, al revés
def absorb_block(state, query, key, value):
    top, total, weighted = state
    s = query @ key.T / math.sqrt(query.shape[-1])
    new = torch.maximum(top, s.amax(-1, keepdim=True))
    e, old = (s - new).exp(), (new - top).clamp(max=50).exp()
    return new, total * old + e.sum(-1, keepdim=True), weighted * old + e @ value

# %% 4.11 | ignora keep y power
def top_attention(query, key, value, keep=3, power=0.5):
    s = query @ key.T / query.shape[-1] ** 0.5
    kept = torch.zeros_like(s, dtype=torch.bool).scatter(-1, s.topk(3, -1).indices, True)
    return s.masked_fill(~kept, -math.inf).softmax(-1) @ value

# %% 4.11 | las mismas claves para todas las consultas
def top_attention(query, key, value, keep=3, power=0.5):
    s = query @ key.T / query.shape[-1] ** power
    return s[:, s.sum(0).topk(keep).indices].softmax(-1) @ value[s.sum(0).topk(keep).indices]

# %% 4.11 | conserva las de mayor valor absoluto
def top_attention(query, key, value, keep=3, power=0.5):
    s = query @ key.T / query.shape[-1] ** power
    best = s.abs().topk(keep, -1).indices
    kept = torch.full_like(s, -math.inf).scatter(-1, best, s.gather(-1, best))
    return kept.softmax(-1) @ value

# %% 4.11 | las demás, con puntuación cero
def top_attention(query, key, value, keep=3, power=0.5):
    s = query @ key.T / query.shape[-1] ** power
    best = s.topk(keep, -1)
    return torch.zeros_like(s).scatter(-1, best.indices, best.values).softmax(-1) @ value

# %% 4.11 | las primeras claves
def top_attention(query, key, value, keep=3, power=0.5):
    s = query @ key[:keep].T / query.shape[-1] ** power
    return s.softmax(-1) @ value[:keep]

# %% 4.11 | escala después de repartir
def top_attention(query, key, value, keep=3, power=0.5):
    best = (query @ key.T).topk(keep, -1)
    w = best.values.softmax(-1) / query.shape[-1] ** power
    return (w[..., None] * value[best.indices]).sum(1)

# %% 4.11 | las de mayor peso acumulado hasta llegar a la mitad
def top_attention(query, key, value, keep=3, power=0.5):
    w = (query @ key.T / query.shape[-1] ** power).softmax(-1)
    order = w.sort(-1, descending=True)
    kept = (order.values.cumsum(-1) - order.values < 0.5).double() * order.values
    w = torch.zeros_like(w).scatter(-1, order.indices, kept)
    return w / w.sum(-1, keepdim=True) @ value
