"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 3.1 | la longitud, con decimales
chance_by_hand = {"five_words": 0.349, "longest": 4.162}

# %% 3.1 | la media de lo que se recuerda de cada palabra
chance_by_hand = {"five_words": 0.819, "longest": 4}

# %% 3.1 | suma las probabilidades en lugar de multiplicarlas
chance_by_hand = {"five_words": 4.095, "longest": 4}

# %% 3.1 | cuenta dos veces cada pareja de palabras
chance_by_hand = {"five_words": 0.122, "longest": 3}

# %% 3.1 | la probabilidad de que salga mal
chance_by_hand = {"five_words": 0.651, "longest": 4}

# %% 3.6 | tapa por longitud, como si lo no válido estuviera siempre al final
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = torch.tanh((query @ w_q)[:, None] + keys @ w_k) @ v
    ok = torch.arange(s.shape[1]) < valid.sum(-1, keepdim=True)
    return (s.masked_fill(~ok, -math.inf).softmax(-1)[:, None] @ keys)[:, 0]

# %% 3.6 | quita las claves nulas en lugar de las no válidas
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = torch.tanh((query @ w_q)[:, None] + keys @ w_k) @ v
    return (s.masked_fill((keys == 0).all(-1), -math.inf).softmax(-1)[:, None] @ keys)[:, 0]

# %% 3.6 | sin gradiente para la máscara ni las claves
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = (torch.tanh((query @ w_q)[:, None] + keys @ w_k) @ v).masked_fill(~valid, -math.inf)
    return (s.softmax(-1)[:, None] @ keys.detach())[:, 0]

# %% 3.6 | escala con la raíz de la anchura
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = torch.tanh((query @ w_q)[:, None] + keys @ w_k) @ v / math.sqrt(len(v))
    return (s.masked_fill(~valid, -math.inf).softmax(-1)[:, None] @ keys)[:, 0]

# %% 3.6 | la tangente, por separado
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = ((query @ w_q).tanh()[:, None] + (keys @ w_k).tanh()) @ v
    return (s.masked_fill(~valid, -math.inf).softmax(-1)[:, None] @ keys)[:, 0]

# %% 3.6 | reparte entre las frases del lote y no entre las claves
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = torch.tanh((query @ w_q)[:, None] + keys @ w_k) @ v
    w = s.masked_fill(~valid, -1e9).softmax(0)
    return (w[:, None] @ keys)[:, 0]

# %% 3.6 | compara las claves con la consulta de la primera frase
def additive_attention(query, keys, w_q, w_k, v, valid):
    s = torch.tanh(query[0] @ w_q + keys @ w_k) @ v
    return (s.masked_fill(~valid, -math.inf).softmax(-1)[:, None] @ keys)[:, 0]

# %% 3.3 | parte por filas en lugar de por puertas
def lstm_step(x, h, c, w_x, w_h, b):
    a = (x @ w_x + h @ w_h + b).reshape(len(x), -1, 4)
    i, f, g, o = a.unbind(-1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c

# %% 3.3 | el orden de puertas de otra biblioteca (i, g, f, o)
def lstm_step(x, h, c, w_x, w_h, b):
    i, g, f, o = (x @ w_x + h @ w_h + b).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c

# %% 3.3 | ata el olvido a la entrada
def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, -1)
    c = (1 - i.sigmoid()) * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c

# %% 3.3 | la memoria, sin gradiente
def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, -1)
    c = f.sigmoid() * c.detach() + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c

# %% 3.3 | solo el estado
def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, -1)
    return o.sigmoid() * (f.sigmoid() * c + i.sigmoid() * g.tanh()).tanh()

# %% 3.4 | reparte por igual
weights_by_hand = {"la": 0.333, "casa": 0.333, "context": 0.667}

# %% 3.4 | con un cero de más en la diferencia
weights_by_hand = {"la": 0.308, "casa": 0.346, "context": 0.654}

# %% 3.4 | los de la consulta (1, 0)
weights_by_hand = {"la": 0.041, "casa": 0.866, "context": 0.907}

# %% 3.4 | cambia «la» por «casa»
weights_by_hand = {"la": 0.409, "casa": 0.182, "context": 0.591}

# %% 3.4 | redondea a un decimal
weights_by_hand = {"la": 0.2, "casa": 0.4, "context": 0.6}

# %% 3.5 | mezcla las frases del lote
def decoder_step(x, h, states, weights, cell):
    w_x, w_c, w_h, b = cell
    c = (weights[:1, :, None] * states).sum(1)
    return torch.tanh(x @ w_x + c @ w_c + h @ w_h + b)

# %% 3.5 | vuelve a normalizar los pesos
def decoder_step(x, h, states, weights, cell):
    w_x, w_c, w_h, b = cell
    c = (weights.softmax(-1)[:, :, None] * states).sum(1)
    return torch.tanh(x @ w_x + c @ w_c + h @ w_h + b)

# %% 3.5 | mira solo la palabra de más peso
def decoder_step(x, h, states, weights, cell):
    w_x, w_c, w_h, b = cell
    c = states[torch.arange(len(states)), weights.argmax(-1)]
    return torch.tanh(x @ w_x + c @ w_c + h @ w_h + b)

# %% 3.5 | suma el contexto al estado y no usa su matriz
def decoder_step(x, h, states, weights, cell):
    w_x, w_c, w_h, b = cell
    c = (weights.unsqueeze(-1) * states).sum(1)
    return torch.tanh(x @ w_x + (h + c) @ w_h + b)

# %% 3.5 | la tangente de cada sumando
def decoder_step(x, h, states, weights, cell):
    w_x, w_c, w_h, b = cell
    c = (weights.unsqueeze(-1) * states).sum(1)
    return torch.tanh(x @ w_x) + torch.tanh(c @ w_c) + torch.tanh(h @ w_h + b)

# %% 3.7 | usa la longitud media del lote
def mean_state(states, lengths):
    word = torch.arange(states.shape[1]) < lengths[:, None]
    return (states * word[:, :, None]).sum(1) / lengths.double().mean()

# %% 3.7 | deduce el relleno de los ceros
def mean_state(states, lengths):
    word = (states != 0).any(-1, keepdim=True)
    return (states * word).sum(1) / word.sum(1)

# %% 3.7 | divide entre la frase más larga del lote
def mean_state(states, lengths):
    word = torch.arange(states.shape[1]) < lengths[:, None]
    return (states * word[..., None]).sum(1) / lengths.max()

# %% 3.7 | recorta todas por la más corta
def mean_state(states, lengths):
    return states[:, : int(lengths.min())].mean(1)

# %% 3.7 | quita la última palabra, por si era relleno
def mean_state(states, lengths):
    word = torch.arange(states.shape[1]) < lengths[:, None] - 1
    return (states * word[..., None]).sum(1) / lengths[:, None]

# %% 3.7 | el relleno delante
def mean_state(states, lengths):
    time = states.shape[1]
    word = torch.arange(time) >= time - lengths[:, None]
    return (states * word[..., None]).sum(1) / lengths[:, None]

# %% 3.7 | media de todo ⇒ con relleno
def mean_state(states, lengths):
    return states.mean(dim=1)

# %% 3.7 | divide entre el tiempo
def mean_state(states, lengths):
    word = torch.arange(states.shape[1]) < lengths[:, None]
    return (states * word[..., None]).mean(1)

# %% 3.2 | menor o igual
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    p = [fidelity ** (n * (n - 1) / 2) for n in lengths]
    return [i for i in sorted(range(len(p)), key=lambda i: p[i]) if p[i] <= threshold]

# %% 3.2 | ignora los argumentos y usa los números del enunciado
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    p = [0.99 ** (n * (n - 1) / 2) for n in lengths]
    return [i for i in sorted(range(len(p)), key=lambda i: p[i]) if p[i] < 0.5]

# %% 3.2 | ignora el umbral
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    p = [fidelity ** (n * (n - 1) / 2) for n in lengths]
    return [i for i in sorted(range(len(p)), key=lambda i: p[i]) if p[i] < 0.5]

# %% 3.2 | la longitud límite, escrita a mano
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    return [i for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]) if lengths[i] >= 13]

# %% 3.2 | en el orden en que llegan
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    return [i for i, n in enumerate(lengths) if fidelity ** (n * (n - 1) / 2) < threshold]

# %% 3.2 | exige lo mismo a cada palabra y no a la frase
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    return [i for i in order if fidelity ** (lengths[i] - 1) < threshold]

# %% 3.2 | la última palabra también pierde
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    p = [fidelity ** (n * (n + 1) / 2) for n in lengths]
    return [i for i in sorted(range(len(p)), key=lambda i: p[i]) if p[i] < threshold]

# %% 3.2 | calcula con la probabilidad de que salga mal
def first_failures(lengths, fidelity=0.99, threshold=0.5):
    p = [1 - fidelity ** (n * (n - 1) / 2) for n in lengths]
    return [i for i in sorted(range(len(p)), key=lambda i: p[i]) if p[i] < threshold]

# %% 3.8 | no mira la última pareja
def inverted_pairs(weights, valid):
    b = weights.masked_fill(~valid, -1.0).argmax(-1).tolist()
    return [t for t in range(len(b) - 2) if b[t] == b[t + 1] + 1]

# %% 3.8 | la máscara, como un sufijo que empieza en la primera columna no válida
def inverted_pairs(weights, valid):
    n = int(valid.long().cumprod(0).sum())
    b = weights[:, :n].argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | la máscara, como un sufijo tan largo como columnas no válidas hay
def inverted_pairs(weights, valid):
    b = weights[:, : int(valid.sum())].argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | quita las columnas no válidas y renumera
def inverted_pairs(weights, valid):
    b = weights[:, valid].argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | no mira la primera pareja
def inverted_pairs(weights, valid):
    b = weights.masked_fill(~valid, -1.0).argmax(-1).tolist()
    return [t for t in range(1, len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | salta las filas que miran a una columna no válida
def inverted_pairs(weights, valid):
    b = weights.argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if valid[b[t]] and valid[b[t + 1]] and b[t] == b[t + 1] + 1]

# %% 3.8 | cualquier paso atrás
def inverted_pairs(weights, valid):
    b = weights.masked_fill(~valid, -1.0).argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if b[t] > b[t + 1]]

# %% 3.8 | también las que van en su orden
def inverted_pairs(weights, valid):
    b = weights.masked_fill(~valid, -1.0).argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if abs(b[t] - b[t + 1]) == 1]

# %% 3.8 | el sitio de la segunda de la pareja
def inverted_pairs(weights, valid):
    b = weights.masked_fill(~valid, -1.0).argmax(-1).tolist()
    return [t for t in range(1, len(b)) if b[t - 1] == b[t] + 1]

# %% 3.8 | mira a qué fila manda más cada columna
def inverted_pairs(weights, valid):
    b = weights.argmax(0)[valid].tolist()
    return [t for t in range(len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | no mira lo no válido, pero lo deja ganar con su fila entera a cero
def inverted_pairs(weights, valid):
    b = (weights * valid.flip(0)).argmax(-1).tolist()
    return [t for t in range(len(b) - 1) if b[t] == b[t + 1] + 1]

# %% 3.8 | cuenta cada cruce una vez por palabra del origen
def inverted_pairs(weights, valid):
    b, seen, out = weights.masked_fill(~valid, -1.0).argmax(-1).tolist(), set(), []
    for t in range(len(b) - 1):
        if b[t] == b[t + 1] + 1 and b[t] not in seen and b[t + 1] not in seen:
            out.append(t)
        seen.add(b[t])
    return out

# %% 3.9 | corta a ocho pasos
def gradient_norms(inputs, w_x, w_h, direction):
    inputs = inputs.clone().requires_grad_()
    h = torch.zeros(len(w_h))
    for i, x in enumerate(inputs):
        h = torch.tanh(x @ w_x + (h.detach() if i == len(inputs) - 8 else h) @ w_h)
    return torch.autograd.grad(h @ direction, inputs)[0].norm(dim=-1).flip(0)

# %% 3.9 | el mayor componente en lugar de la norma
def gradient_norms(inputs, w_x, w_h, direction):
    inputs = inputs.clone().requires_grad_()
    h = torch.zeros(len(w_h))
    for x in inputs:
        h = torch.tanh(x @ w_x + h @ w_h)
    return torch.autograd.grad(h @ direction, inputs)[0].abs().amax(-1).flip(0)

# %% 3.9 | cada paso multiplica por la norma de la matriz
def gradient_norms(inputs, w_x, w_h, direction):
    size = torch.linalg.matrix_norm(w_h, 2)
    first = (w_x @ direction).norm()
    return torch.stack([first * size**t for t in range(len(inputs))])

# %% 3.9 | suma los gradientes de todos los estados y no solo del último
def gradient_norms(inputs, w_x, w_h, direction):
    inputs = inputs.clone().requires_grad_()
    h, total = torch.zeros(len(w_h), dtype=inputs.dtype), 0.0
    for x in inputs:
        h = torch.tanh(x @ w_x + h @ w_h)
        total = total + h @ direction
    return torch.autograd.grad(total, inputs)[0].norm(dim=-1).flip(0)

# %% 3.9 | el gradiente llega solo desde el paso siguiente
def gradient_norms(inputs, w_x, w_h, direction):
    h, hs = torch.zeros(len(w_h), dtype=inputs.dtype), []
    for x in inputs:
        h = torch.tanh(x @ w_x + h @ w_h)
        hs.append(h)
    return torch.stack([(w_x @ ((1 - h**2) * direction)).norm() for h in hs[::-1]])

# %% 3.9 | el producto de las jacobianas, en el otro orden
def gradient_norms(inputs, w_x, w_h, direction):
    h, hs = torch.zeros(len(w_h), dtype=inputs.dtype), []
    for x in inputs:
        h = torch.tanh(x @ w_x + h @ w_h)
        hs.append(h)
    out, left = [], torch.eye(len(w_h), dtype=inputs.dtype)
    for h in hs[::-1]:
        local = torch.diag(1 - h**2)
        out.append((w_x @ left @ local @ direction).norm())
        left = left @ local @ w_h
    return torch.stack(out)
