"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 17.1 | el centinela, detrás de su tramo
def corrupt_spans(ids, hidden, vocab):
    read, written, mark = [], [], vocab - 1
    for i, (token, h) in enumerate(zip(ids, hidden)):
        (written if h else read).append(token)
        if h and (i + 1 == len(ids) or not hidden[i + 1]):
            read.append(mark)
            written.append(mark)
            mark -= 1
    return read, [*written, mark]

# %% 17.1 | primero lo escrito
def corrupt_spans(ids, hidden, vocab):
    read, written, mark = [], [], vocab - 1
    for i, (token, h) in enumerate(zip(ids, hidden)):
        if h and not (i and hidden[i - 1]):
            read.append(mark)
            written.append(mark)
            mark -= 1
        (written if h else read).append(token)
    return [*written, mark], read

# %% 17.1 | cierra con el fin
def corrupt_spans(ids, hidden, vocab):
    read, written, mark = [], [], vocab - 1
    for i, (token, h) in enumerate(zip(ids, hidden)):
        if h and not (i and hidden[i - 1]):
            read.append(mark)
            written.append(mark)
            mark -= 1
        (written if h else read).append(token)
    return read, [*written, 1]

# %% 17.1 | mira el último en lugar del anterior
def corrupt_spans(ids, hidden, vocab):
    read, written, mark = [], [], vocab - 1
    for i, (token, h) in enumerate(zip(ids, hidden)):
        if h and not hidden[i - 1]:
            read.append(mark)
            written.append(mark)
            mark -= 1
        (written if h else read).append(token)
    return read, [*written, mark]

# %% 17.1 | el cierre, también en lo leído
def corrupt_spans(ids, hidden, vocab):
    read, written, mark = [], [], vocab - 1
    for i, (token, h) in enumerate(zip(ids, hidden)):
        if h and not (i and hidden[i - 1]):
            read.append(mark)
            written.append(mark)
            mark -= 1
        (written if h else read).append(token)
    return [*read, mark], [*written, mark]

# %% 17.1 | el centinela dice el sitio
def corrupt_spans(ids, hidden, vocab):
    read, written = [], []
    for i, (token, h) in enumerate(zip(ids, hidden)):
        if h and not (i and hidden[i - 1]):
            read.append(vocab - 1 - i)
            written.append(vocab - 1 - i)
        (written if h else read).append(token)
    return read, [*written, vocab - 1 - len(ids)]

# %% 17.2 | ninguno ⇒ cambia las distancias
shuffled = "ninguno"

# %% 17.2 | solo las filas ⇒ Al revés
shuffled = "solo las filas"

# %% 17.2 | los dos ⇒ no lleva posiciones
shuffled = "los dos"

# %% 17.2 | fuera de las opciones
shuffled = "las palabras"

# %% 17.2 | un número
shuffled = 1

# %% 17.3 | diez tramos de más al leer y al escribir
spans_by_hand = {"read": 190, "written": 51, "unigram_f": 0.923, "lcs": 4, "lcs_f": 0.615}

# %% 17.3 | con el fin
spans_by_hand = {"read": 181, "written": 42, "unigram_f": 0.923, "lcs": 4, "lcs_f": 0.615}

# %% 17.3 | en tanto por ciento
spans_by_hand = {"read": 180, "written": 41, "unigram_f": 92.3, "lcs": 4, "lcs_f": 61.5}

# %% 17.3 | una subsecuencia más corta
spans_by_hand = {"read": 180, "written": 41, "unigram_f": 0.923, "lcs": 3, "lcs_f": 0.462}

# %% 17.3 | cinco en orden
spans_by_hand = {"read": 180, "written": 41, "unigram_f": 0.923, "lcs": 5, "lcs_f": 0.769}

# %% 17.3 | sin los centinelas de lo leído ⇒ `read` cuenta también un centinela por tramo
spans_by_hand = {"read": 170, "written": 40, "unigram_f": 0.857, "lcs": 4, "lcs_f": 0.571}

# %% 17.4 | conserva los centinelas delante de su tramo
def restore_spans(source, written, vocab, n_sentinels=100):
    spans, current = {}, []
    for x in written:
        if x >= vocab - n_sentinels:
            current = spans.setdefault(x, []) if x not in spans else []
        else:
            current.append(x)
    return [y for x in source for y in [x, *(spans.get(x, []) if x >= vocab - n_sentinels else [])]]

# %% 17.4 | se para en el primero repetido
def restore_spans(source, written, vocab, n_sentinels=100):
    spans, current = {}, []
    for x in written:
        if x in spans:
            break
        if x >= vocab - n_sentinels:
            current = spans[x] = []
        else:
            current.append(x)
    return [y for x in source for y in (spans.get(x, []) if x >= vocab - n_sentinels else [x])]

# %% 17.4 | el tramo, del revés
def restore_spans(source, written, vocab, n_sentinels=100):
    spans, current = {}, []
    for x in written:
        if x >= vocab - n_sentinels:
            current = [] if x in spans else spans.setdefault(x, [])
        else:
            current.insert(0, x)
    return [y for x in source for y in (spans.get(x, []) if x >= vocab - n_sentinels else [x])]

# %% 17.4 | todo lo escrito, en cada hueco
def restore_spans(source, written, vocab, n_sentinels=100):
    words = [x for x in written if x < vocab - n_sentinels]
    return [y for x in source for y in (words if x >= vocab - n_sentinels else [x])]

# %% 17.4 | solo quita los centinelas
def restore_spans(source, written, vocab, n_sentinels=100):
    return [x for x in [*source, *written] if x < vocab - n_sentinels]

# %% 17.4 | los sobrantes, en el tramo anterior
def restore_spans(source, written, vocab, n_sentinels=100):
    spans, current = {}, []
    for x in written:
        if x >= vocab - n_sentinels:
            if x in source:
                current = [] if x in spans else spans.setdefault(x, [])
        else:
            current.append(x)
    return [y for x in source for y in (spans.get(x, []) if x >= vocab - n_sentinels else [x])]

# %% 17.5 | la fórmula sin redondear
def raw_length(budget, *, density=0.15, mean_length=3.0):
    n = max(2, int((budget - 1) / (1 - density + density / mean_length)))
    return n, int(n * density + n * density / mean_length) + 2

# %% 17.5 | los dos lados juntos
def raw_length(budget, *, density=0.15, mean_length=3.0):
    n = 2
    while True:
        t = min(max(round((n + 1) * density), 1), n)
        s = min(max(round(t / mean_length), 1), t, n + 1 - t)
        if n + 1 + 2 * s + 3 > budget:
            break
        n += 1
    t = min(max(round(n * density), 1), n - 1)
    return n, t + min(max(round(t / mean_length), 1), t, n - t) + 2

# %% 17.5 | sin el fin en ningún lado
def raw_length(budget, *, density=0.15, mean_length=3.0):
    def both(n):
        t = min(max(round(n * density), 1), n - 1)
        s = min(max(round(t / mean_length), 1), t, n - t)
        return n - t + s, t + s + 1
    n = 2
    while both(n + 1)[0] <= budget:
        n += 1
    return n, both(n)[1]

# %% 17.5 | el primero que llena
def raw_length(budget, *, density=0.15, mean_length=3.0):
    def both(n):
        t = min(max(round(n * density), 1), n - 1)
        s = min(max(round(t / mean_length), 1), t, n - t)
        return n - t + s + 1, t + s + 2
    n = 2
    while both(n)[0] < budget:
        n += 1
    return n, both(n)[1]

# %% 17.5 | hacia arriba
def raw_length(budget, *, density=0.15, mean_length=3.0):
    def both(n):
        t = min(max(math.ceil(n * density), 1), n - 1)
        s = min(max(math.ceil(t / mean_length), 1), t, n - t)
        return n - t + s + 1, t + s + 2
    n = 2
    while both(n + 1)[0] <= budget:
        n += 1
    return n, both(n)[1]

# %% 17.5 | el orden cambiado ⇒ no reconozco este error
def raw_length(budget, *, density=0.15, mean_length=3.0):
    def both(n):
        t = min(max(round(n * density), 1), n - 1)
        s = min(max(round(t / mean_length), 1), t, n - t)
        return n - t + s + 1, t + s + 2
    n = 2
    while both(n + 1)[0] <= budget:
        n += 1
    return both(n)[1], n

# %% 17.6 | el sesgo, en los valores
def t5_attention(x, w_query, w_key, w_value, w_output, table, bucket, mask=None):
    h = table.shape[1]
    q, k, v = ((x @ w.T).unflatten(-1, (h, -1)).transpose(1, 2) for w in (w_query, w_key, w_value))
    s = q @ k.mT
    if mask is not None:
        s = s.masked_fill(~mask[:, None, None], -math.inf)
    mixed = s.softmax(-1) @ v + table[bucket].movedim(-1, 0).mean(-1, keepdim=True)
    return mixed.transpose(1, 2).flatten(2) @ w_output.T

# %% 17.6 | clave y valor cambiados
def t5_attention(x, w_query, w_key, w_value, w_output, table, bucket, mask=None):
    h = table.shape[1]
    q, v, k = ((x @ w.T).unflatten(-1, (h, -1)).transpose(1, 2) for w in (w_query, w_key, w_value))
    s = q @ k.mT + table[bucket].movedim(-1, 0)
    if mask is not None:
        s = s.masked_fill(~mask[:, None, None], -math.inf)
    return (s.softmax(-1) @ v).transpose(1, 2).flatten(2) @ w_output.T

# %% 17.6 | divide por la anchura del modelo
def t5_attention(x, w_query, w_key, w_value, w_output, table, bucket, mask=None):
    h = table.shape[1]
    q, k, v = ((x @ w.T).unflatten(-1, (h, -1)).transpose(1, 2) for w in (w_query, w_key, w_value))
    s = q @ k.mT / x.shape[-1] + table[bucket].movedim(-1, 0)
    if mask is not None:
        s = s.masked_fill(~mask[:, None, None], -math.inf)
    return (s.softmax(-1) @ v).transpose(1, 2).flatten(2) @ w_output.T

# %% 17.6 | tapa a quien mira
def t5_attention(x, w_query, w_key, w_value, w_output, table, bucket, mask=None):
    h = table.shape[1]
    q, k, v = ((x @ w.T).unflatten(-1, (h, -1)).transpose(1, 2) for w in (w_query, w_key, w_value))
    s = q @ k.mT + table[bucket].movedim(-1, 0)
    p = s.softmax(-1)
    if mask is not None:
        p = p * mask[:, None, :, None]
    return (p @ v).transpose(1, 2).flatten(2) @ w_output.T

# %% 17.6 | borra el relleno después de normalizar
def t5_attention(x, w_query, w_key, w_value, w_output, table, bucket, mask=None):
    h = table.shape[1]
    q, k, v = ((x @ w.T).unflatten(-1, (h, -1)).transpose(1, 2) for w in (w_query, w_key, w_value))
    p = (q @ k.mT + table[bucket].movedim(-1, 0)).softmax(-1)
    if mask is not None:
        p = p * mask[:, None, None]
    return (p @ v).transpose(1, 2).flatten(2) @ w_output.T

# %% 17.6 | la tabla, en otro orden
def t5_attention(x, w_query, w_key, w_value, w_output, table, bucket, mask=None):
    h = table.shape[1]
    q, k, v = ((x @ w.T).unflatten(-1, (h, -1)).transpose(1, 2) for w in (w_query, w_key, w_value))
    s = q @ k.mT + table.flip(0)[bucket].movedim(-1, 0)
    if mask is not None:
        s = s.masked_fill(~mask[:, None, None], -math.inf)
    return (s.softmax(-1) @ v).transpose(1, 2).flatten(2) @ w_output.T

# %% 17.7 | con difflib ⇒ por el trozo seguido más largo
def rouge_l(written, reference):
    from difflib import SequenceMatcher
    blocks = SequenceMatcher(None, written, reference, autojunk=False).get_matching_blocks()
    c = sum(block.size for block in blocks)
    return (c / len(written), c / len(reference), 2 * c / (len(written) + len(reference))) if c else (0.0, 0.0, 0.0)

# %% 17.7 | con conjuntos
def rouge_l(written, reference):
    c = len(set(written) & set(reference))
    return (c / len(set(written)), c / len(set(reference)), 2 * c / (len(set(written)) + len(set(reference)))) if c else (0.0, 0.0, 0.0)

# %% 17.7 | palabras en el mismo sitio
def rouge_l(written, reference):
    c = sum(a == b for a, b in zip(written, reference))
    return (c / len(written), c / len(reference), 2 * c / (len(written) + len(reference))) if c else (0.0, 0.0, 0.0)

# %% 17.7 | la media geométrica
def rouge_l(written, reference):
    row = [0] * (len(reference) + 1)
    for w in written:
        old, row = row, [0]
        for j, o in enumerate(reference):
            row.append(old[j] + 1 if w == o else max(old[j + 1], row[j]))
    p, r = row[-1] / max(len(written), 1), row[-1] / len(reference)
    return p, r, math.sqrt(p * r)

# %% 17.7 | F sin el dos
def rouge_l(written, reference):
    row = [0] * (len(reference) + 1)
    for w in written:
        old, row = row, [0]
        for j, o in enumerate(reference):
            row.append(old[j] + 1 if w == o else max(old[j + 1], row[j]))
    p, r = row[-1] / max(len(written), 1), row[-1] / len(reference)
    return p, r, p * r / (p + r) if p else 0.0

# %% 17.7 | vacío vale uno
def rouge_l(written, reference):
    if not written:
        return 1.0, 0.0, 0.0
    row = [0] * (len(reference) + 1)
    for w in written:
        old, row = row, [0]
        for j, o in enumerate(reference):
            row.append(old[j] + 1 if w == o else max(old[j + 1], row[j]))
    c = row[-1]
    return c / len(written), c / len(reference), 2 * c / (len(written) + len(reference))

# %% 17.8 | todas igual menos los extremos
def hidden_chances(n, hidden, spans):
    p = torch.full((n,), (hidden - 1) / max(n - 2, 1), dtype=torch.float64)
    p[0], p[-1] = 0, 1
    return p

# %% 17.8 | crece en línea recta
def hidden_chances(n, hidden, spans):
    return torch.linspace(0, 1, n, dtype=torch.float64)

# %% 17.8 | sorteando cien veces
def hidden_chances(n, hidden, spans):
    counts = torch.zeros(n, dtype=torch.float64)
    for _ in range(100):
        pieces = []
        for total in (n - hidden, hidden):
            cuts = [0, *sorted((torch.randperm(total - 1)[: spans - 1] + 1).tolist()), total]
            pieces.append([b - a for a, b in zip(cuts, cuts[1:])])
        counts += torch.tensor([x for a, b in zip(*pieces) for x in [0.0] * a + [1.0] * b], dtype=torch.float64)
    return counts / 100

# %% 17.8 | normalizada para que sume uno
def hidden_chances(n, hidden, spans):
    seen = n - hidden

    def parts(m, r):
        return int(m == 0) if r == 0 else (math.comb(m - 1, r - 1) if m >= r else 0)

    out = torch.zeros(n, dtype=torch.float64)
    for k in range(spans):
        for a in range(k + 1, seen + 1):
            for b in range(hidden):
                if b >= k and hidden - 1 - b >= spans - 1 - k:
                    out[a + b] += parts(a, k + 1) * parts(seen - a, spans - k - 1) * math.comb(b, k) * math.comb(hidden - 1 - b, spans - 1 - k)
    return out / out.sum()

# %% 17.8 | con trozos que pueden estar vacíos
def hidden_chances(n, hidden, spans):
    seen = n - hidden

    def parts(m, r):
        return int(m == 0) if r == 0 else math.comb(m + r - 1, r - 1)

    out = torch.zeros(n, dtype=torch.float64)
    total = parts(seen, spans) * parts(hidden, spans)
    for k in range(spans):
        for a in range(seen + 1):
            free = parts(a, k + 1) * parts(seen - a, spans - k - 1)
            for b in range(hidden + 1):
                for size in range(1, hidden - b + 1):
                    out[a + b : a + b + size] += free * parts(b, k) * parts(hidden - b - size, spans - k - 1) / total
    return out

# %% 17.8 | empieza por cualquiera de los dos
def hidden_chances(n, hidden, spans):
    seen = n - hidden

    def parts(m, r):
        return int(m == 0) if r == 0 else (math.comb(m - 1, r - 1) if m >= r else 0)

    out = torch.zeros(n, dtype=torch.float64)
    total = parts(seen, spans) * parts(hidden, spans)
    for k in range(spans):
        for a in range(k + 1, seen + 1):
            for b in range(hidden):
                free = parts(a, k + 1) * parts(seen - a, spans - k - 1)
                out[a + b] += free * math.comb(b, k) * math.comb(hidden - 1 - b, spans - 1 - k) / total
    return (out + out.flip(0)) / 2
