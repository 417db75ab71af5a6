"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 22.1 | una fila de más
fusions_by_hand = {"rows": 15, "joined": 196, "crossed": 90, "neck": 170, "parameters": 2400}

# %% 22.1 | sin la pareja de cada una consigo
fusions_by_hand = {"rows": 14, "joined": 182, "crossed": 90, "neck": 170, "parameters": 2400}

# %% 22.1 | la cruzada, y lo suyo
fusions_by_hand = {"rows": 14, "joined": 196, "crossed": 106, "neck": 170, "parameters": 2400}

# %% 22.1 | el cuello, solo con lo que lleva a cada lado
fusions_by_hand = {"rows": 14, "joined": 196, "crossed": 90, "neck": 28, "parameters": 2400}

# %% 22.1 | sin la matriz de salida
fusions_by_hand = {"rows": 14, "joined": 196, "crossed": 90, "neck": 170, "parameters": 2200}

# %% 22.1 | en una sola dirección ⇒ Falta la otra dirección
fusions_by_hand = {"rows": 14, "joined": 196, "crossed": 45, "neck": 170, "parameters": 2400}

# %% 22.1 | una secuencia con cuello ⇒ son dos secuencias, no una
fusions_by_hand = {"rows": 14, "joined": 196, "crossed": 90, "neck": 256, "parameters": 2400}

# %% 22.2 | los tipos, leídos como las fusiones del capítulo
def who_sees(plan, a_present, b_present):
    n_a, n = len(a_present), len(a_present) + len(b_present)
    reach, out = torch.eye(n).bool(), []
    for a, b in plan:
        grid = torch.ones(n, n).bool()
        if (a, b) == ("own", "own"):
            grid[:n_a, n_a:] = False
            grid[n_a:, :n_a] = False
        elif (a, b) == ("other", "other"):
            grid[:n_a, :n_a] = torch.eye(n_a).bool()
            grid[n_a:, n_a:] = torch.eye(n - n_a).bool()
        reach = (grid.double() @ reach.double()) > 0
        out.append(reach)
    return torch.stack(out)

# %% 22.2 | una secuencia tras otra, y no a la vez
def who_sees(plan, a_present, b_present):
    n_a, n = len(a_present), len(a_present) + len(b_present)
    present = torch.cat([a_present, b_present])
    in_b = torch.arange(n) >= n_a
    same = in_b[:, None] == in_b
    looks = {"none": same & ~same, "own": same, "other": ~same, "both": same | ~same}
    reach, out = torch.eye(n).bool(), []
    for a, b in plan:
        for kind, rows in ((a, ~in_b), (b, in_b)):
            grid = (looks[kind] & present & rows[:, None]) | torch.eye(n).bool()
            reach = (grid.double() @ reach.double()) > 0
        out.append(reach)
    return torch.stack(out)

# %% 22.2 | en la dirección de las columnas
def who_sees(plan, a_present, b_present):
    n_a, n = len(a_present), len(a_present) + len(b_present)
    present = torch.cat([a_present, b_present])
    in_b = torch.arange(n) >= n_a
    same = in_b[:, None] == in_b
    looks = {"none": same & ~same, "own": same, "other": ~same, "both": same | ~same}
    reach, out = torch.eye(n).bool(), []
    for a, b in plan:
        grid = (torch.where(in_b, looks[b], looks[a]) & present) | torch.eye(n).bool()
        reach = (grid.double() @ reach.double()) > 0
        out.append(reach)
    return torch.stack(out)

# %% 22.2 | el relleno, fuera del todo
def who_sees(plan, a_present, b_present):
    n_a, n = len(a_present), len(a_present) + len(b_present)
    present = torch.cat([a_present, b_present])
    in_b = torch.arange(n) >= n_a
    same = in_b[:, None] == in_b
    looks = {"none": same & ~same, "own": same, "other": ~same, "both": same | ~same}
    reach, out = torch.eye(n).bool(), []
    for a, b in plan:
        grid = torch.where(in_b[:, None], looks[b], looks[a]) | torch.eye(n).bool()
        reach = (grid.double() @ reach.double()) > 0
        out.append(reach & present & present[:, None])
    return torch.stack(out)

# %% 22.2 | cuenta los caminos
def who_sees(plan, a_present, b_present):
    n_a, n = len(a_present), len(a_present) + len(b_present)
    present = torch.cat([a_present, b_present])
    in_b = torch.arange(n) >= n_a
    same = in_b[:, None] == in_b
    looks = {"none": same & ~same, "own": same, "other": ~same, "both": same | ~same}
    reach, out = torch.eye(n), []
    for a, b in plan:
        grid = (torch.where(in_b[:, None], looks[b], looks[a]) & present) | torch.eye(n).bool()
        reach = grid.double() @ reach
        out.append(reach)
    return torch.stack(out)

# %% 22.2 | sin el atajo ⇒ por la conexión residual
def who_sees(plan, a_present, b_present):
    n_a, n = len(a_present), len(a_present) + len(b_present)
    reach, out = torch.eye(n), []
    for a, b in plan:
        grid = torch.zeros(n, n)
        for first, last, kind in ((0, n_a, a), (n_a, n, b)):
            if kind in ("own", "both"):
                grid[first:last, first:last] = 1
            if kind in ("other", "both"):
                grid[first:last, :first] = 1
                grid[first:last, last:] = 1
        reach = ((grid * torch.cat([a_present, b_present])) @ reach > 0).double()
        out.append(reach > 0)
    return torch.stack(out)

# %% 22.3 | solo la B ⇒ Con dos capas también se puede
can_answer = "solo B"

# %% 22.3 | el orden ⇒ En el D
can_answer = "B y C"

# %% 22.3 | todas ⇒ «siete» es otra fila
can_answer = "las cuatro"

# %% 22.3 | fuera de las opciones
can_answer = "C y D"

# %% 22.3 | un número
can_answer = 3

# %% 22.4 | la escala, después de la exponencial del tope
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    a, b = nn.functional.normalize(images, dim=1), nn.functional.normalize(texts, dim=1)
    logits = log_scale.clamp(max=max_scale).exp() * a @ b.T
    q = (ids[:, None] == ids).double()
    q = q / q.sum(1, keepdim=True)
    return -((q * logits.log_softmax(1)).sum(1).mean() + (q * logits.log_softmax(0)).sum(0).mean()) / 2

# %% 22.4 | normaliza todo el lote junto
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    a, b = images / images.norm(), texts / texts.norm()
    logits = log_scale.exp().clamp(max=max_scale) * a @ b.T
    q = (ids[:, None] == ids).double()
    q = q / q.sum(1, keepdim=True)
    return -((q * logits.log_softmax(1)).sum(1).mean() + (q * logits.log_softmax(0)).sum(0).mean()) / 2

# %% 22.4 | quita los repetidos
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    seen, keep = set(), []
    for i, x in enumerate(ids.tolist()):
        if x not in seen:
            seen.add(x)
            keep.append(i)
    a, b = nn.functional.normalize(images[keep], dim=1), nn.functional.normalize(texts[keep], dim=1)
    logits = log_scale.exp().clamp(max=max_scale) * a @ b.T
    return -(logits.log_softmax(1).diagonal().mean() + logits.log_softmax(0).diagonal().mean()) / 2

# %% 22.4 | no los cuenta como rivales
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    a, b = nn.functional.normalize(images, dim=1), nn.functional.normalize(texts, dim=1)
    logits = log_scale.exp().clamp(max=max_scale) * a @ b.T
    twin = (ids[:, None] == ids) & ~torch.eye(len(ids)).bool()
    logits = logits.masked_fill(twin, -torch.inf)
    return -(logits.log_softmax(1).diagonal().mean() + logits.log_softmax(0).diagonal().mean()) / 2

# %% 22.4 | una sola probabilidad para toda la tabla
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    a, b = nn.functional.normalize(images, dim=1), nn.functional.normalize(texts, dim=1)
    logits = log_scale.exp().clamp(max=max_scale) * a @ b.T
    q = (ids[:, None] == ids).double()
    return -(q / q.sum() * logits.flatten().log_softmax(0).view_as(logits)).sum()

# %% 22.4 | con la sigmoide
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    a, b = nn.functional.normalize(images, dim=1), nn.functional.normalize(texts, dim=1)
    logits = log_scale.exp().clamp(max=max_scale) * a @ b.T
    q = (ids[:, None] == ids).double()
    return nn.functional.binary_cross_entropy_with_logits(logits, q, reduction="sum") / len(ids)

# %% 22.4 | la diagonal ⇒ no solo con el de su sitio
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    a, b = nn.functional.normalize(images, dim=1), nn.functional.normalize(texts, dim=1)
    logits = log_scale.exp().clamp(max=max_scale) * a @ b.T
    return -(logits.log_softmax(1).diagonal().mean() + logits.log_softmax(0).diagonal().mean()) / 2

# %% 22.5 | como los ordena topk
def recall_at(similarity, owner, ks):
    own = owner == torch.arange(len(similarity))[:, None]
    def part(x, fine):
        order = x.argsort(dim=1, descending=True, stable=True)
        line = fine.gather(1, order)
        return [line[:, :k].any(1).double().mean().item() for k in ks]
    return part(similarity, own), part(similarity.T, own.T)

# %% 22.5 | cuántos de los suyos encuentra
def recall_at(similarity, owner, ks):
    own = owner == torch.arange(len(similarity))[:, None]
    def part(x, fine):
        best = torch.where(fine, -torch.inf, x).sort(1, descending=True).values
        out = []
        for k in ks:
            bar = best[:, min(k, x.shape[1]) - 1 : min(k, x.shape[1])]
            out.append((((x > bar) & fine).sum(1) / fine.sum(1)).mean().item())
        return out
    return part(similarity, own), part(similarity.T, own.T)

# %% 22.5 | el texto i es el de la imagen i
def recall_at(similarity, owner, ks):
    n = min(similarity.shape)
    mine = similarity.diagonal()[:n]
    ahead = (similarity[:n] >= mine[:, None]).sum(1) - 1
    other = (similarity[:, :n] >= mine).sum(0) - 1
    return [(ahead < k).double().mean().item() for k in ks], [(other < k).double().mean().item() for k in ks]

# %% 22.5 | empata: nadie acierta
def recall_at(similarity, owner, ks):
    own = owner == torch.arange(len(similarity))[:, None]
    def part(x, fine):
        best = torch.where(fine, x, -torch.inf).amax(1, keepdim=True)
        ahead, tied = ((x > best) & ~fine).sum(1), ((x == best) & ~fine).sum(1)
        return [((ahead < k) & (tied == 0)).double().mean().item() for k in ks]
    return part(similarity, own), part(similarity.T, own.T)

# %% 22.5 | en porcentaje
def recall_at(similarity, owner, ks):
    own = owner == torch.arange(len(similarity))[:, None]
    def part(x, fine):
        best = torch.where(fine, x, -torch.inf).amax(1, keepdim=True)
        ahead = ((x >= best) & ~fine).sum(1)
        return [100 * (ahead < k).double().mean().item() for k in ks]
    return part(similarity, own), part(similarity.T, own.T)

# %% 22.5 | los empates, a favor ⇒ se cuenta lo peor
def recall_at(similarity, owner, ks):
    own = owner == torch.arange(len(similarity))[:, None]
    def part(x, fine):
        best = torch.where(fine, x, -torch.inf).amax(1, keepdim=True)
        return [((x > best).sum(1) < k).double().mean().item() for k in ks]
    return part(similarity, own), part(similarity.T, own.T)

# %% 22.6 | los cuellos solo miran
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def look(x, y, w):
        s = (x @ w[0]) @ (y @ w[1]).T / x.shape[1] ** 0.5
        return x + s.softmax(-1) @ (y @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = look(a, a, p), look(b, b, q)
        else:
            n = (look(neck, torch.cat([a, neck]), p) + look(neck, torch.cat([b, neck]), q)) / 2
            a, b, neck = look(a, a, p), look(b, b, q), n
    return a, b, neck

# %% 22.6 | el cuello mira primero, y después los sentidos al cuello
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def look(x, y, w):
        s = (x @ w[0]) @ (y @ w[1]).T / x.shape[1] ** 0.5
        return x + s.softmax(-1) @ (y @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = look(a, a, p), look(b, b, q)
        else:
            neck = (look(neck, torch.cat([a, neck]), p) + look(neck, torch.cat([b, neck]), q)) / 2
            a, b = look(a, torch.cat([a, neck]), p), look(b, torch.cat([b, neck]), q)
    return a, b, neck

# %% 22.6 | dos cuellos que no se juntan hasta el final
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def step(x, w):
        s = (x @ w[0]) @ (x @ w[1]).T / x.shape[1] ** 0.5
        return x + s.softmax(-1) @ (x @ w[2])
    one = two = neck
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = step(a, p), step(b, q)
            continue
        a, one = step(torch.cat([a, one]), p).split([len(a), len(neck)])
        b, two = step(torch.cat([b, two]), q).split([len(b), len(neck)])
    return a, b, (one + two) / 2

# %% 22.6 | softmax por columnas
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def step(x, w):
        s = (x @ w[0]) @ (x @ w[1]).T / x.shape[1] ** 0.5
        return x + s.softmax(0) @ (x @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = step(a, p), step(b, q)
            continue
        a, one = step(torch.cat([a, neck]), p).split([len(a), len(neck)])
        b, two = step(torch.cat([b, neck]), q).split([len(b), len(neck)])
        neck = (one + two) / 2
    return a, b, neck

# %% 22.6 | la media, pesada por las filas
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def step(x, w):
        s = (x @ w[0]) @ (x @ w[1]).T / x.shape[1] ** 0.5
        return x + s.softmax(-1) @ (x @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = step(a, p), step(b, q)
            continue
        a, one = step(torch.cat([a, neck]), p).split([len(a), len(neck)])
        b, two = step(torch.cat([b, neck]), q).split([len(b), len(neck)])
        neck = (one * (len(a) + 1) + two * len(b)) / (len(a) + 1 + len(b))
    return a, b, neck

# %% 22.6 | el orden del artículo, uno tras otro ⇒ aquí b recibe el que ya ha pasado por a
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def step(x, w):
        s = (x @ w[0]) @ (x @ w[1]).T / x.shape[1] ** 0.5
        return x + s.softmax(-1) @ (x @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = step(a, p), step(b, q)
            continue
        a, one = step(torch.cat([a, neck]), p).split([len(a), len(neck)])
        b, two = step(torch.cat([b, one]), q).split([len(b), len(neck)])
        neck = (one + two) / 2
    return a, b, neck

# %% 22.7 | el separador, también entre los números
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top = math.log(mu * limit + 1)
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, values[:1] * 0, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    c = (2 * i + 1) / bins - 1
    k = len(values)
    c = torch.cat([c[:k].sign() * ((c[:k].abs() * top).exp() - 1) / mu, c[k + 1 :]])
    i = i + vocab
    i[k] = vocab + bins - 1
    return i, c

# %% 22.7 | devuelve los números tal como entraron
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top = math.log(mu * limit + 1)
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1) + vocab
    k = len(values)
    return torch.cat([i[:k], torch.tensor([vocab + bins]), i[k:]]), torch.cat([values, actions])

# %% 22.7 | las acciones, en intervalos propios
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top = math.log(mu * limit + 1)
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    c = (2 * i + 1) / bins - 1
    k = len(values)
    c = torch.cat([c[:k].sign() * ((c[:k].abs() * top).exp() - 1) / mu, c[k:]])
    sep = torch.tensor([vocab + 2 * bins])
    return torch.cat([vocab + i[:k], sep, vocab + bins + i[k:]]), c

# %% 22.7 | la media de los bordes descomprimidos
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top = math.log(mu * limit + 1)
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    def undo(x):
        return x.sign() * ((x.abs() * top).exp() - 1) / mu
    k = len(values)
    low, high = 2 * i / bins - 1, 2 * (i + 1) / bins - 1
    back = torch.cat([(undo(low[:k]) + undo(high[:k])) / 2, (low[k:] + high[k:]) / 2])
    return torch.cat([vocab + i[:k], torch.tensor([vocab + bins]), vocab + i[k:]]), back

# %% 22.7 | la ley mu del sonido, dividiendo antes entre el límite
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    x = values / limit
    y = torch.cat([x.sign() * (mu * x.abs() + 1).log() / math.log(mu + 1), actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    c = (2 * i + 1) / bins - 1
    k = len(values)
    back = limit * c[:k].sign() * ((mu + 1) ** c[:k].abs() - 1) / mu
    return torch.cat([vocab + i[:k], torch.tensor([vocab + bins]), vocab + i[k:]]), torch.cat([back, c[k:]])

# %% 22.7 | el borde izquierdo ⇒ Se recupera el centro
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top = math.log(mu * limit + 1)
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    c, k = -1 + 2 * i / bins, len(values)
    c = torch.cat([c[:k].sign() * ((c[:k].abs() * top).exp() - 1) / mu, c[k:]])
    return torch.cat([vocab + i[:k], torch.tensor([vocab + bins]), vocab + i[k:]]), c

# %% 22.8 | el techo de todas las preguntas juntas
def blind_scores(train, test):
    q = int(test[:, 2].max()) + 1
    out = torch.zeros(q, 2, 4)
    for s, see in enumerate(([], [0], [1], [0, 1])):
        top = got = 0
        for key in {tuple(r[i] for i in see) for r in test.tolist()}:
            def histogram(t):
                h = Counter()
                for r in t.tolist():
                    if tuple(r[i] for i in see) == key:
                        h[r[3]] += r[4]
                return h
            te, tr = histogram(test), histogram(train)
            top += max(te.values())
            got += te[min(tr, key=lambda x: (-tr[x], x))] if tr else 0
        out[:, 0, s], out[:, 1, s] = top / test[:, 4].sum(), got / test[:, 4].sum()
    return out

# %% 22.8 | lo aprendido no pasa del techo: el menor de los dos
def blind_scores(train, test):
    out = torch.zeros(int(test[:, 2].max()) + 1, 2, 4)
    for q in range(len(out)):
        for s, see in enumerate(([], [0], [1], [0, 1])):
            for rule, table in enumerate((test, train)):
                rows = table[table[:, 2] == q].tolist()
                groups = {}
                for r in rows:
                    g = groups.setdefault(tuple(r[i] for i in see), {})
                    g[r[3]] = g.get(r[3], 0) + r[4]
                out[q, rule, s] = sum(max(g.values()) for g in groups.values()) / sum(r[4] for r in rows)
    return out

# %% 22.8 | ante lo nuevo, el sentido que sí conoce
def blind_scores(train, test):
    tr, te = train.tolist(), test.tolist()
    out = torch.zeros(1 + max(r[2] for r in te), 2, 4)
    def best(rows):
        h = {}
        for r in rows:
            h[r[3]] = h.get(r[3], 0) + r[4]
        return min(h, key=lambda x: (-h[x], x)) if h else None
    for q in range(len(out)):
        mine, total = [r for r in te if r[2] == q], sum(r[4] for r in te if r[2] == q)
        for s, see in enumerate(([], [0], [1], [0, 1])):
            for r in mine:
                like = lambda x, see=see: x[2] == q and all(x[i] == r[i] for i in see)
                out[q, 0, s] += r[4] / total * (r[3] == best([x for x in te if like(x)]))
                pick = best([x for x in tr if like(x)])
                if pick is None:
                    pick = best([x for x in tr if x[2] == q and x[0] == r[0]])
                if pick is None:
                    pick = best([x for x in tr if x[2] == q])
                out[q, 1, s] += r[4] / total * (r[3] == pick)
    return out

# %% 22.8 | responde al azar según las veces
def blind_scores(train, test):
    tr, te = train.tolist(), test.tolist()
    out = torch.zeros(1 + max(r[2] for r in te), 2, 4)
    for q in range(len(out)):
        total = sum(r[4] for r in te if r[2] == q)
        for s, see in enumerate(([], [0], [1], [0, 1])):
            for r in (r for r in te if r[2] == q):
                for rule, table in enumerate((te, tr)):
                    like = [x for x in table if x[2] == q and all(x[i] == r[i] for i in see)]
                    like = like or [x for x in table if x[2] == q]
                    right = sum(x[4] for x in like if x[3] == r[3])
                    out[q, rule, s] += r[4] / total * right / sum(x[4] for x in like)
    return out

# %% 22.8 | en veces, sin dividir
def blind_scores(train, test):
    tr, te = train.tolist(), test.tolist()
    out = torch.zeros(1 + max(r[2] for r in te), 2, 4)
    def best(rows):
        h = {}
        for r in rows:
            h[r[3]] = h.get(r[3], 0) + r[4]
        return min(h, key=lambda x: (-h[x], x))
    for r in te:
        for s, see in enumerate(([2], [0, 2], [1, 2], [0, 1, 2])):
            for rule, table in enumerate((te, tr)):
                like = [x for x in table if all(x[i] == r[i] for i in see)]
                like = like or [x for x in table if x[2] == r[2]]
                out[r[2], rule, s] += r[4] * (best(like) == r[3])
    return out

# %% 22.8 | ha visto el examen ⇒ Esa regla ha visto el examen
def blind_scores(train, test):
    out = torch.zeros(int(test[:, 2].max()) + 1, 2, 4)
    for q in range(len(out)):
        rows = test[test[:, 2] == q].tolist()
        for s, see in enumerate(([], [0], [1], [0, 1])):
            groups = {}
            for r in rows:
                g = groups.setdefault(tuple(r[i] for i in see), {})
                g[r[3]] = g.get(r[3], 0) + r[4]
            out[q, :, s] = sum(max(g.values()) for g in groups.values()) / sum(r[4] for r in rows)
    return out
