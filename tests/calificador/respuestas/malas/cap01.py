"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 1.1 | los pesos de la pregunta del capítulo
weights_by_hand = {"llave": 0.610, "cajon": 0.224, "gender": 0.387}

# %% 1.1 | la que gana se lo lleva todo
weights_by_hand = {"llave": 1.0, "cajon": 0.0, "gender": 1.0}

# %% 1.1 | el primer número de lo que se lleva
weights_by_hand = {"llave": 0.831, "cajon": 0.041, "gender": 1.703}

# %% 1.1 | olvida las palabras que no son de metal
weights_by_hand = {"llave": 0.953, "cajon": 0.047, "gender": 0.905}

# %% 1.1 | divide los parecidos entre la raíz de dos, como en el Transformer
weights_by_hand = {"llave": 0.703, "cajon": 0.084, "gender": 0.749}

# %% 1.1 | solo suma lo de las femeninas
weights_by_hand = {"llave": 0.831, "cajon": 0.041, "gender": 0.943}

# %% 1.2 | sin lote, con transpuesta de todos los ejes
def look_at_all(askers, words):
    if words.dim() > 2:
        words = words.mean(0).expand_as(words)
    return (askers @ words.mT).softmax(-1) @ words

# %% 1.2 | compara con la distancia
def look_at_all(askers, words):
    return (-torch.cdist(askers, words)).softmax(-1) @ words

# %% 1.2 | con similitud del coseno
def look_at_all(askers, words):
    a = askers / askers.norm(dim=-1, keepdim=True)
    w = words / words.norm(dim=-1, keepdim=True)
    return (a @ w.mT).softmax(-1) @ words

# %% 1.2 | se lleva también lo suyo
def look_at_all(askers, words):
    return askers + (askers @ words.mT).softmax(-1) @ words

# %% 1.2 | un solo peso por palabra para todas
def look_at_all(askers, words):
    return ((askers @ words.mT).mean(-2, keepdim=True).softmax(-1) @ words).expand_as(askers)

# %% 1.3 | filtro centrado
def steps_to_reach(distance, kernel):
    return distance, -(-distance // ((kernel - 1) // 2)), 1

# %% 1.3 | capas con filtros que se doblan
def steps_to_reach(distance, kernel):
    layers, reached = 0, 0
    while reached < distance:
        reached += (kernel - 1) * 2**layers
        layers += 1
    return distance, layers, 1

# %% 1.3 | la recurrencia también salta
def steps_to_reach(distance, kernel):
    layers = -(-distance // (kernel - 1))
    return layers, layers, 1

# %% 1.3 | la atención, un logaritmo
def steps_to_reach(distance, kernel):
    return distance, -(-distance // (kernel - 1)), distance.bit_length()

# %% 1.3 | solo filtros de tres
def steps_to_reach(distance, kernel):
    return distance, -(-distance // 2), 1

# %% 1.4 | ventana centrada
def row_answers(lit, asked, reach=3):
    padded = torch.nn.functional.pad(lit, (reach // 2, reach // 2))
    near = padded.unfold(1, reach, 1).sum(-1)[:, : lit.shape[1]]
    return near % 2, lit.cumsum(1) % 2, lit.gather(1, asked)

# %% 1.4 | alguna en lugar de impar
def row_answers(lit, asked, reach=3):
    near = torch.nn.functional.pad(lit, (reach - 1, 0)).unfold(1, reach, 1).sum(-1)
    return (near > 0).long(), (lit.cumsum(1) > 0).long(), lit.gather(1, asked)

# %% 1.4 | la cuenta sin el resto
def row_answers(lit, asked, reach=3):
    near = torch.nn.functional.pad(lit, (reach - 1, 0)).unfold(1, reach, 1).sum(-1)
    return near, lit.cumsum(1), lit.gather(1, asked)

# %% 1.4 | la luz de quien pregunta, no la del sitio
def row_answers(lit, asked, reach=3):
    near = torch.nn.functional.pad(lit, (reach - 1, 0)).unfold(1, reach, 1).sum(-1)
    return near % 2, lit.cumsum(1) % 2, lit

# %% 1.4 | alcance fijo de tres
def row_answers(lit, asked, reach=3):
    near = torch.nn.functional.pad(lit, (2, 0)).unfold(1, 3, 1).sum(-1)
    return near % 2, lit.cumsum(1) % 2, lit.gather(1, asked)

# %% 1.5 | solo mira a la anterior
def serial_steps(needs):
    best = run = 0
    for i, before in enumerate(needs):
        run = run + 1 if i - 1 in before else 1
        best = max(best, run)
    return best

# %% 1.5 | la que más necesita
def serial_steps(needs):
    return 1 + max((len(b) for b in needs), default=-1)

# %% 1.5 | las que necesitan a alguien
def serial_steps(needs):
    return sum(bool(b) for b in needs) + bool(needs)

# %% 1.5 | solo la última de las que necesita
def serial_steps(needs):
    ends = []
    for b in needs:
        ends.append(1 + (ends[b[0]] if b else 0))
    return max(ends, default=0)

# %% 1.5 | los primeros y los últimos
def serial_steps(needs):
    return 0 if not needs else 1 if not any(needs) else 2

# %% 1.6 | sin sesgos
def match_widths(d, reach, width):
    goal = width * d * reach
    near = lambda f: min(range(1, goal + 1), key=lambda h: abs(f(h) - goal))
    return near(lambda h: 4 * h * (d + h)), near(lambda h: 3 * h * d)

# %% 1.6 | el ancho de la convolución para las dos
def match_widths(d, reach, width):
    return width, width

# %% 1.6 | redondea una raíz
def match_widths(d, reach, width):
    goal = width * (d * reach + 1)
    return max(1, int((goal / 4) ** 0.5) - d // 2), round(goal / (3 * d + 3))

# %% 1.6 | con proyección de salida
def match_widths(d, reach, width):
    goal = width * (d * reach + 1)
    near = lambda f: min(range(1, goal + 1), key=lambda h: abs(f(h) - goal))
    return near(lambda h: 4 * h * (d + h + 2)), near(lambda h: 3 * h * (d + 1) + h * h + h)

# %% 1.6 | el siguiente que no se queda corto
def match_widths(d, reach, width):
    goal = width * (d * reach + 1)
    up = lambda f: next(h for h in range(1, goal + 1) if f(h) >= goal)
    return up(lambda h: 4 * h * (d + h + 2)), up(lambda h: 3 * h * (d + 1))

# %% 1.7 | renormaliza mal el principio: lo que falta va a la propia
def filter_scores(weights, n):
    table = torch.zeros(n, n, dtype=weights.dtype)
    for i in range(n):
        for back in range(len(weights)):
            table[i, max(i - back, 0)] += weights[back]
    return table.log()

# %% 1.7 | simétrico
def filter_scores(weights, n):
    gap = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    padded = torch.cat([weights, torch.zeros(n, dtype=weights.dtype)])
    return padded[gap].log()

# %% 1.7 | un número muy negativo, pero no bastante
def filter_scores(weights, n):
    scores = torch.full((n, n), -5.0, dtype=weights.dtype)
    for back in range(min(len(weights), n)):
        scores[torch.arange(back, n), torch.arange(n - back)] = weights[back].log()
    return scores

# %% 1.7 | no corta el filtro
def filter_scores(weights, n):
    scores = torch.full((n, n), -torch.inf, dtype=weights.dtype)
    for i in range(n):
        for back in range(len(weights)):
            scores[i, (i - back) % n] = weights[back].log()
    return scores

# %% 1.7 | devuelve los pesos y no las puntuaciones
def filter_scores(weights, n):
    table = torch.zeros(n, n, dtype=weights.dtype)
    for back in range(min(len(weights), n)):
        table[torch.arange(back, n), torch.arange(n - back)] = weights[back]
    return table / table.sum(-1, keepdim=True)

# %% 1.4 | en coma flotante
def row_answers(lit, asked, reach=3):
    near = torch.nn.functional.pad(lit, (reach - 1, 0)).unfold(1, reach, 1).sum(-1)
    return tuple(v.double() for v in (near % 2, lit.cumsum(1) % 2, lit.gather(1, asked)))

# %% 1.5 | solo las dos primeras que necesita
def serial_steps(needs):
    ends = []
    for b in needs:
        ends.append(1 + max((ends[i] for i in b[:2]), default=0))
    return max(ends, default=0)

# %% 1.5 | solo las dos últimas que necesita
def serial_steps(needs):
    ends = []
    for b in needs:
        ends.append(1 + max((ends[i] for i in b[-2:]), default=0))
    return max(ends, default=0)

# %% 1.6 | un sesgo por puerta
def match_widths(d, reach, width):
    goal = width * (d * reach + 1)
    near = lambda f: min(range(1, goal + 1), key=lambda h: abs(f(h) - goal))
    return near(lambda w: 4 * w * (d + w + 1)), near(lambda w: 3 * w * (d + 1))

# %% 1.6 | el mayor de dos a igual distancia
def match_widths(d, reach, width):
    goal = width * (d * reach + 1)
    near = lambda f: min(range(goal, 0, -1), key=lambda h: abs(f(h) - goal))
    return near(lambda w: 4 * w * (d + w + 2)), near(lambda w: 3 * w * (d + 1))
