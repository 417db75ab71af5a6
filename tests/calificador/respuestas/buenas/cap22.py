"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 22.1 | escrita
fusions_by_hand = {"rows": 14, "joined": 196, "crossed": 90, "neck": 170, "parameters": 2400}

# %% 22.1 | con cuentas
fusions_by_hand = {"rows": 9 + 5, "joined": 14**2, "crossed": 45 + 45.0, "neck": 11 * 11 + 7 * 7, "parameters": 2 * (400 + 800)}

# %% 22.2 | con conjuntos
def who_sees(plan, a_present, b_present):
    n_a, n = len(a_present), len(a_present) + len(b_present)
    shown = a_present.tolist() + b_present.tolist()
    known, out = [{i} for i in range(n)], []
    for kinds in plan:
        fresh = []
        for i in range(n):
            side = int(i >= n_a)
            got = set(known[i])
            for j in range(n):
                like = int(j >= n_a) == side
                kind = kinds[side]
                if shown[j] and (kind == "both" or (kind == "own" and like) or (kind == "other" and not like)):
                    got |= known[j]
            fresh.append(got)
        known = fresh
        out.append([[j in known[i] for j in range(n)] for i in range(n)])
    return torch.tensor(out)

# %% 22.2 | por bloques
def who_sees(plan, a_present, b_present):
    n_a, n_b = len(a_present), len(b_present)
    reach = torch.eye(n_a + n_b).bool()
    layers = []
    for a, b in plan:
        grid = torch.eye(n_a + n_b).bool()
        if a in ("own", "both"):
            grid[:n_a, :n_a] |= a_present
        if a in ("other", "both"):
            grid[:n_a, n_a:] |= b_present
        if b in ("other", "both"):
            grid[n_a:, :n_a] |= a_present
        if b in ("own", "both"):
            grid[n_a:, n_a:] |= b_present
        reach = (grid[:, :, None] & reach[None]).any(dim=1)
        layers.append(reach)
    return torch.stack(layers)

# %% 22.2 | moviendo la entrada
def who_sees(plan, a_present, b_present):
    present = torch.cat([a_present, b_present]).double()
    b = torch.cat([torch.zeros(len(a_present)), torch.ones(len(b_present))]).double()
    same = torch.outer(b, b) + torch.outer(1 - b, 1 - b)
    grids = {"none": 0 * same, "own": same, "other": 1 - same, "both": 0 * same + 1}
    x = torch.eye(len(b), dtype=torch.float64)
    seen = []
    for first, second in plan:
        step = ((1 - b)[:, None] * grids[first] + b[:, None] * grids[second]) * present
        x = x + step @ x
        seen.append(x != 0)
    return torch.stack(seen, dim=0)

# %% 22.3 | escrita
can_answer = "B, C y D"

# %% 22.4 | con log_softmax
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    a = nn.functional.normalize(images, dim=1)
    b = nn.functional.normalize(texts, dim=1)
    scale = torch.minimum(torch.exp(log_scale), torch.tensor(max_scale, dtype=images.dtype))
    logits = a @ b.mT * scale
    same = ids.unsqueeze(0) == ids.unsqueeze(1)
    goal = same / same.sum(1, keepdim=True)
    rows = -(goal * torch.log_softmax(logits, 1)).sum(1)
    columns = -(goal * torch.log_softmax(logits, 0)).sum(0)
    return 0.5 * rows.mean() + 0.5 * columns.mean()

# %% 22.4 | ejemplo a ejemplo
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    scale = log_scale.clamp(max=math.log(max_scale)).exp()
    n = len(ids)
    total = 0
    for x, y in ((images, texts), (texts, images)):
        for i in range(n):
            cosines = torch.stack([x[i] @ y[j] / (x[i].norm() * y[j].norm()) for j in range(n)])
            scores = scale * cosines
            top = scores.max()
            log_z = top + (scores - top).exp().sum().log()
            good = [j for j in range(n) if ids[j] == ids[i]]
            total = total + sum(log_z - scores[j] for j in good) / len(good)
    return total / (2 * n)

# %% 22.4 | la divergencia, más la entropía de la diana
def contrastive_loss(images, texts, log_scale, ids, *, max_scale=100.0):
    scale = log_scale.exp()
    if scale > max_scale:
        scale = scale * 0 + max_scale
    cosines = nn.functional.cosine_similarity(images[:, None, :], texts[None, :, :], dim=-1)
    both = torch.stack([cosines, cosines.T]) * scale
    log_p = nn.functional.log_softmax(both, dim=-1)
    q = (ids[:, None] == ids[None, :]).double()
    q = q / q.sum(0)
    entropy = -torch.special.xlogy(q, q).sum() / len(ids)
    kl = nn.functional.kl_div(log_p, q.expand_as(log_p), reduction="sum") / (2 * len(ids))
    return kl + entropy

# %% 22.5 | ordenando, con los malos delante
def recall_at(similarity, owner, ks):
    def fraction(scores, good):
        lists = []
        for row, fine in zip(scores.tolist(), good.tolist()):
            order = sorted(range(len(row)), key=lambda j: (-row[j], fine[j]))
            lists.append([fine[j] for j in order])
        return [sum(any(line[:k]) for line in lists) / len(lists) for k in ks]
    good = torch.arange(similarity.shape[0])[:, None] == owner[None, :]
    return fraction(similarity, good), fraction(similarity.T, good.T)

# %% 22.5 | con el k-ésimo de los malos
def recall_at(similarity, owner, ks):
    own = torch.nn.functional.one_hot(owner, len(similarity)).T.bool()
    def part(x, own):
        best = torch.where(own, x, torch.full_like(x, -torch.inf)).max(1).values
        rivals = torch.where(own, torch.full_like(x, -torch.inf), x).sort(1, descending=True).values
        out = []
        for k in ks:
            if k > x.shape[1]:
                out.append(1.0)
            else:
                out.append((best > rivals[:, k - 1]).float().mean())
        return out
    return part(similarity, own), part(similarity.T, own.T)

# %% 22.5 | búsqueda a búsqueda
def recall_at(similarity, owner, ks):
    images, texts = similarity.shape
    first = [0] * len(ks)
    for i in range(images):
        best = max(similarity[i, t].item() for t in range(texts) if owner[t] == i)
        ahead = sum(1 for t in range(texts) if owner[t] != i and similarity[i, t].item() >= best)
        for p, k in enumerate(ks):
            first[p] += ahead < k
    second = [0] * len(ks)
    for t in range(texts):
        mine = similarity[owner[t], t].item()
        ahead = sum(1 for i in range(images) if i != owner[t] and similarity[i, t].item() >= mine)
        for p, k in enumerate(ks):
            second[p] += ahead < k
    return [x / images for x in first], [x / texts for x in second]

# %% 22.6 | con la atención de PyTorch
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def layer(x, w):
        q, k, v = (torch.einsum("nd,de->ne", x, m) for m in w)
        return x + nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    for i in range(len(a_weights)):
        if i >= fuse_from:
            one = layer(torch.vstack((a, neck)), a_weights[i])
            two = layer(torch.vstack((b, neck)), b_weights[i])
            a, left = one.split([len(a), len(neck)])
            b, right = two.split([len(b), len(neck)])
            neck = 0.5 * left + 0.5 * right
        else:
            a, b = layer(a, a_weights[i]), layer(b, b_weights[i])
    return a, b, neck

# %% 22.6 | el cuello, delante
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    k, d = neck.shape
    streams = [a, b]
    for i, both in enumerate(zip(a_weights, b_weights)):
        necks = []
        for s in range(2):
            x = streams[s] if i < fuse_from else torch.cat([neck, streams[s]])
            scores = (x @ both[s][0]) @ (x @ both[s][1]).T * d**-0.5
            x = x + torch.softmax(scores, 1) @ (x @ both[s][2])
            if i >= fuse_from:
                necks.append(x[:k])
                x = x[k:]
            streams[s] = x
        if necks:
            neck = torch.stack(necks).mean(0)
    return streams[0], streams[1], neck

# %% 22.6 | fila a fila
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def update(rows, w):
        keys, values = rows @ w[1], rows @ w[2]
        out = []
        for row in rows:
            e = torch.exp((keys @ (row @ w[0])) / math.sqrt(len(row)))
            out.append(row + (e / e.sum()) @ values)
        return torch.stack(out)
    for i in range(len(a_weights)):
        extra = neck if i >= fuse_from else neck[:0]
        x, y = update(torch.cat([a, extra]), a_weights[i]), update(torch.cat([b, extra]), b_weights[i])
        n_a, n_b = len(a), len(b)
        if len(extra):
            neck = (x[n_a:] + y[n_b:]) / 2
        a, b = x[:n_a], y[:n_b]
    return a, b, neck

# %% 22.7 | con bucketize y log1p
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    edges = torch.linspace(-1, 1, bins + 1, dtype=values.dtype)
    def cell(x):
        return (torch.bucketize(x.contiguous(), edges, right=True) - 1).clamp(0, bins - 1)
    squashed = torch.copysign(torch.log1p(mu * values.abs()), values) / math.log1p(mu * limit)
    v, a = cell(squashed), cell(actions)
    ids = torch.cat([v + vocab, torch.full((1,), vocab + bins), a + vocab])
    middles = (edges[1:] + edges[:-1]) / 2
    m = middles[v]
    back = torch.copysign(torch.expm1(m.abs() * math.log1p(mu * limit)), m) / mu
    return ids, torch.cat([back, middles[a]])

# %% 22.7 | número a número
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    width = 2 / bins
    ids, back = [], []
    for x in values.tolist():
        y = math.log(mu * abs(x) + 1) / math.log(mu * limit + 1)
        y = y if x > 0 else -y
        i = min(max(math.floor((y + 1) / width), 0), bins - 1)
        ids.append(vocab + i)
        centre = -1 + width * (i + 0.5)
        size = ((mu * limit + 1) ** abs(centre) - 1) / mu
        back.append(size if centre > 0 else -size)
    ids.append(vocab + bins)
    for x in actions.tolist():
        i = min(max(math.floor((x + 1) / width), 0), bins - 1)
        ids.append(vocab + i)
        back.append(-1 + width * (i + 0.5))
    return torch.tensor(ids), torch.tensor(back, dtype=values.dtype)

# %% 22.7 | recortando antes
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    y = torch.where(values < 0, -1.0, 1.0) * torch.log(1 + mu * abs(values)) / torch.log(torch.tensor(1 + mu * limit))
    x = torch.cat([y, actions]).clamp(-1, 1)
    index = torch.floor(bins * (x + 1) / 2).int().clamp(max=bins - 1)
    centres = (index + 0.5) * 2 / bins - 1
    ids = index + vocab
    k = len(values)
    ids = torch.cat([ids[:k], torch.tensor([vocab + bins], dtype=torch.int32), ids[k:]])
    c = centres[:k]
    centres[:k] = torch.sign(c) / mu * (torch.pow(torch.tensor(1 + mu * limit), abs(c)) - 1)
    return ids, centres

# %% 22.8 | con tensores de cuentas
def blind_scores(train, test):
    sizes = torch.cat([train, test])[:, :4].amax(0) + 1
    def cube(table):
        counts = torch.zeros(*sizes.tolist())
        counts.index_put_(tuple(table[:, :4].T), table[:, 4].to(counts), accumulate=True)
        return counts
    a, b = cube(train), cube(test)
    total = b.sum((0, 1, 3))
    usual = a.sum((0, 1)).argmax(-1)
    columns = []
    for hide in [(0, 1), (1,), (0,), ()]:
        x, y = (a.sum(hide, keepdim=True), b.sum(hide, keepdim=True)) if hide else (a, b)
        pick = torch.where(x.sum(-1) > 0, x.argmax(-1), usual)
        top = y.amax(-1).sum((0, 1)) / total
        got = y.gather(-1, pick[..., None])[..., 0].sum((0, 1)) / total
        columns.append(torch.stack([top, got], -1))
    return torch.stack(columns, -1)

# %% 22.8 | fila a fila
def blind_scores(train, test):
    train, test = train.tolist(), test.tolist()
    questions = 1 + max(r[2] for r in test)
    answers = sorted({r[3] for r in train + test})
    out = torch.zeros(questions, 2, 4)
    def like(r, s, see_image, see_text):
        return r[2] == s[2] and (not see_image or r[0] == s[0]) and (not see_text or r[1] == s[1])
    def best(rows):
        return max(answers, key=lambda x: (sum(r[4] for r in rows if r[3] == x), -x))
    for q in range(questions):
        asked = [r for r in test if r[2] == q]
        total = sum(r[4] for r in asked)
        for s, (i, t) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
            for r in asked:
                if r[3] == best([x for x in test if like(r, x, i, t)]):
                    out[q, 0, s] += r[4] / total
                known = [x for x in train if like(r, x, i, t)] or [x for x in train if x[2] == q]
                if r[3] == best(known):
                    out[q, 1, s] += r[4] / total
    return out

# %% 22.8 | pregunta a pregunta
def blind_scores(train, test):
    answers = int(torch.cat([train, test])[:, 3].max()) + 1
    def votes(rows):
        return torch.bincount(rows[:, 3], rows[:, 4].double(), minlength=answers)
    out = []
    for q in range(int(test[:, 2].max()) + 1):
        tr, te = train[train[:, 2] == q], test[test[:, 2] == q]
        rules = torch.zeros(2, 4)
        for s, see in enumerate(([2], [0], [1], [0, 1])):
            for key in te[:, see].unique(dim=0):
                asked = votes(te[(te[:, see] == key).all(1)])
                known = votes(tr[(tr[:, see] == key).all(1)])
                pick = (known if known.any() else votes(tr)).argmax()
                rules[:, s] += torch.stack([asked.max(), asked[pick]])
        out.append(rules / te[:, 4].sum())
    return torch.stack(out)
