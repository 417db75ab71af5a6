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

# %% 22.2 | los tipos, leídos como las fusiones del capítulo
def who_sees(plan, a_present, b_present):
    n_a, n = len(a_present), len(a_present) + len(b_present)
    side, eye, out = torch.arange(n) >= n_a, torch.eye(n).bool(), []
    same, reach = side[:, None] == side, torch.eye(n)
    grids = {("own", "own"): same, ("other", "other"): ~same | eye}
    for pair in plan:
        reach = (grids.get(tuple(pair), same | ~same).double() @ reach > 0).double()
        out.append(reach > 0)
    return torch.stack(out)

# %% 22.2 | una secuencia tras otra, y no a la vez
def who_sees(plan, a_present, b_present):
    shown, side = torch.cat([a_present, b_present]), [0] * len(a_present) + [1] * len(b_present)
    know, out = [{i} for i in range(len(side))], []
    for pair in plan:
        for i, s in enumerate(side):
            wanted = {"none": (), "own": (s,), "other": (1 - s,), "both": (0, 1)}[pair[s]]
            know[i] = know[i].union(*(know[j] for j, z in enumerate(side) if z in wanted and shown[j]))
        out.append([[j in k for j in range(len(side))] for k in know])
    return torch.tensor(out)

# %% 22.2 | el relleno, fuera del todo
def who_sees(plan, a_present, b_present):
    shown, side = torch.cat([a_present, b_present]), [0] * len(a_present) + [1] * len(b_present)
    know, out = [{i} for i in range(len(side))], []
    for pair in plan:
        sees = [{"none": (), "own": (s,), "other": (1 - s,), "both": (0, 1)}[pair[s]] for s in side]
        know = [know[i].union(*(know[j] for j, z in enumerate(side) if z in sees[i])) for i in range(len(side))]
        out.append([[j in k for j in range(len(side))] for k in know])
    return torch.tensor(out) & shown & shown[:, None]

# %% 22.2 | solo las dos últimas capas
def who_sees(plan, a_present, b_present):
    shown, side = torch.cat([a_present, b_present]), [0] * len(a_present) + [1] * len(b_present)
    before, out = torch.eye(len(side)), []
    for pair in plan:
        sees = [{"none": (), "own": (s,), "other": (1 - s,), "both": (0, 1)}[pair[s]] for s in side]
        grid = torch.tensor([[float((z in w and bool(shown[j])) or i == j) for j, z in enumerate(side)] for i, w in enumerate(sees)])
        out.append(grid @ before > 0)
        before = grid
    return torch.stack(out)

# %% 22.2 | cuenta los caminos
def who_sees(plan, a_present, b_present):
    shown, side = torch.cat([a_present, b_present]), [0] * len(a_present) + [1] * len(b_present)
    reach, out = torch.eye(len(side)), []
    for pair in plan:
        sees = [{"none": (), "own": (s,), "other": (1 - s,), "both": (0, 1)}[pair[s]] for s in side]
        grid = torch.tensor([[float((z in w and bool(shown[j])) or i == j) for j, z in enumerate(side)] for i, w in enumerate(sees)])
        reach = grid @ reach
        out.append(reach)
    return torch.stack(out)

# %% 22.2 | sin el atajo ⇒ por la conexión residual
def who_sees(plan, a_present, b_present):
    shown, side = torch.cat([a_present, b_present]), [0] * len(a_present) + [1] * len(b_present)
    reach, out = torch.eye(len(side)), []
    for pair in plan:
        sees = [{"none": (), "own": (s,), "other": (1 - s,), "both": (0, 1)}[pair[s]] for s in side]
        grid = torch.tensor([[float(z in w and bool(shown[j])) for j, z in enumerate(side)] for w in sees])
        reach = (grid @ reach > 0).double()
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

# %% 22.5 | los empates, por sorteo
def recall_at(similarity, owner, ks):
    own = owner == torch.arange(len(similarity))[:, None]
    def part(x, fine):
        best = torch.where(fine, x, -torch.inf).amax(1, keepdim=True)
        ahead, tied = ((x > best) & ~fine).sum(1), ((x == best) & ~fine).sum(1)
        return [((k - ahead) / (tied + 1)).clamp(0, 1).mean().item() for k in ks]
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

# %% 22.6 | los sentidos no miran al cuello
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def look(x, y, w):
        return x + torch.softmax((x @ w[0]) @ (y @ w[1]).T / x.shape[1] ** 0.5, 1) @ (y @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = look(a, a, p), look(b, b, q)
            continue
        x, y = torch.cat([a, neck]), torch.cat([b, neck])
        neck = (look(neck, x, p) + look(neck, y, q)) / 2
        a, b = look(a, a, p), look(b, b, q)
    return a, b, neck

# %% 22.6 | el cuello mira primero, y después los sentidos al cuello nuevo
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def look(x, y, w):
        return x + torch.softmax((x @ w[0]) @ (y @ w[1]).T / x.shape[1] ** 0.5, 1) @ (y @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = look(a, a, p), look(b, b, q)
            continue
        x, y = torch.cat([a, neck]), torch.cat([b, neck])
        neck = (look(neck, x, p) + look(neck, y, q)) / 2
        a, b = look(a, torch.cat([a, neck]), p), look(b, torch.cat([b, neck]), q)
    return a, b, neck

# %% 22.6 | el cuello no se mira a sí mismo
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def look(x, y, w):
        return x + torch.softmax((x @ w[0]) @ (y @ w[1]).T / x.shape[1] ** 0.5, 1) @ (y @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = look(a, a, p), look(b, b, q)
            continue
        x, y = torch.cat([a, neck]), torch.cat([b, neck])
        neck, a, b = (look(neck, a, p) + look(neck, b, q)) / 2, look(a, x, p), look(b, y, q)
    return a, b, neck

# %% 22.6 | la media, pesada por las filas
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def look(x, y, w):
        return x + torch.softmax((x @ w[0]) @ (y @ w[1]).T / x.shape[1] ** 0.5, 1) @ (y @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = look(a, a, p), look(b, b, q)
            continue
        x, y = torch.cat([a, neck]), torch.cat([b, neck])
        n, m = len(a) + 1, len(b)
        neck, a, b = (n * look(neck, x, p) + m * look(neck, y, q)) / (n + m), look(a, x, p), look(b, y, q)
    return a, b, neck

# %% 22.6 | el cuello vuelve a sumar lo que era
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def look(x, y, w):
        return x + torch.softmax((x @ w[0]) @ (y @ w[1]).T / x.shape[1] ** 0.5, 1) @ (y @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = look(a, a, p), look(b, b, q)
            continue
        x, y = torch.cat([a, neck]), torch.cat([b, neck])
        neck = neck + (look(neck, x, p) + look(neck, y, q)) / 2
        a, b = look(a, x, p), look(b, y, q)
    return a, b, neck

# %% 22.6 | uno tras otro ⇒ aquí b recibe el que ya ha pasado por a
def bottleneck(a, b, neck, a_weights, b_weights, *, fuse_from=0):
    def look(x, y, w):
        return x + torch.softmax((x @ w[0]) @ (y @ w[1]).T / x.shape[1] ** 0.5, 1) @ (y @ w[2])
    for i, (p, q) in enumerate(zip(a_weights, b_weights)):
        if i < fuse_from:
            a, b = look(a, a, p), look(b, b, q)
            continue
        x, y = torch.cat([a, neck]), torch.cat([b, neck])
        one = look(neck, x, p)
        y = torch.cat([b, one])
        neck, a, b = (one + look(one, y, q)) / 2, look(a, x, p), look(b, y, q)
    return a, b, neck

# %% 22.7 | el separador, dentro de los intervalos
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top, k, first, sep = math.log(mu * limit + 1), len(values), vocab, vocab + bins
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    def undo(x):
        return x.sign() * ((x.abs() * top).exp() - 1) / mu
    c = (2 * i + 1) / bins - 1
    back = torch.cat([undo(c[:k]), c[k:]])
    sep = vocab + bins - 1
    return torch.cat([vocab + i[:k], torch.tensor([sep]), first + i[k:]]), back

# %% 22.7 | devuelve los números tal como entraron
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top, k, first, sep = math.log(mu * limit + 1), len(values), vocab, vocab + bins
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    def undo(x):
        return x.sign() * ((x.abs() * top).exp() - 1) / mu
    c = (2 * i + 1) / bins - 1
    back = torch.cat([undo(c[:k]), c[k:]])
    back = torch.cat([values, actions])
    return torch.cat([vocab + i[:k], torch.tensor([sep]), first + i[k:]]), back

# %% 22.7 | las acciones, en intervalos propios
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top, k, first, sep = math.log(mu * limit + 1), len(values), vocab, vocab + bins
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    def undo(x):
        return x.sign() * ((x.abs() * top).exp() - 1) / mu
    c = (2 * i + 1) / bins - 1
    back = torch.cat([undo(c[:k]), c[k:]])
    first, sep = vocab + bins, vocab + 2 * bins
    return torch.cat([vocab + i[:k], torch.tensor([sep]), first + i[k:]]), back

# %% 22.7 | la media de los bordes descomprimidos
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top, k, first, sep = math.log(mu * limit + 1), len(values), vocab, vocab + bins
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    def undo(x):
        return x.sign() * ((x.abs() * top).exp() - 1) / mu
    c = (2 * i + 1) / bins - 1
    back = torch.cat([undo(c[:k]), c[k:]])
    low, high = 2 * i / bins - 1, 2 * (i + 1) / bins - 1
    back = torch.cat([(undo(low[:k]) + undo(high[:k])) / 2, (low[k:] + high[k:]) / 2])
    return torch.cat([vocab + i[:k], torch.tensor([sep]), first + i[k:]]), back

# %% 22.7 | intervalos contados desde 1
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top, k, first, sep = math.log(mu * limit + 1), len(values), vocab, vocab + bins
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    def undo(x):
        return x.sign() * ((x.abs() * top).exp() - 1) / mu
    c = (2 * i + 1) / bins - 1
    back = torch.cat([undo(c[:k]), c[k:]])
    i = i + 1
    return torch.cat([vocab + i[:k], torch.tensor([sep]), first + i[k:]]), back

# %% 22.7 | el borde izquierdo ⇒ Se recupera el centro
def gato_tokens(values, actions, vocab, bins, *, mu=100.0, limit=256.0):
    top, k, first, sep = math.log(mu * limit + 1), len(values), vocab, vocab + bins
    y = torch.cat([values.sign() * (mu * values.abs() + 1).log() / top, actions])
    i = ((y + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    def undo(x):
        return x.sign() * ((x.abs() * top).exp() - 1) / mu
    c = (2 * i + 1) / bins - 1
    back = torch.cat([undo(c[:k]), c[k:]])
    c = 2 * i / bins - 1
    back = torch.cat([undo(c[:k]), c[k:]])
    return torch.cat([vocab + i[:k], torch.tensor([sep]), first + i[k:]]), back

# %% 22.8 | en veces, sin dividir
def blind_scores(train, test):
    tr, te = train.tolist(), test.tolist()
    out = torch.zeros(1 + max(r[2] for r in te), 2, 4)
    def best(rows, answer):
        h = {}
        for r in rows:
            h[r[3]] = h.get(r[3], 0) + r[4]
        return float(min(h, key=lambda x: (-h[x], x)) == answer)
    for r in te:
        total = sum(x[4] for x in te if x[2] == r[2])
        for s, see in enumerate(([2], [0, 2], [1, 2], [0, 1, 2])):
            for rule, table in enumerate((te, tr)):
                like = [x for x in table if all(x[i] == r[i] for i in see)]
                like = like or [x for x in table if x[2] == r[2]]
                out[r[2], rule, s] += r[4] * best(like, r[3])
    return out

# %% 22.8 | entre todas las preguntas
def blind_scores(train, test):
    tr, te = train.tolist(), test.tolist()
    out = torch.zeros(1 + max(r[2] for r in te), 2, 4)
    def best(rows, answer):
        h = {}
        for r in rows:
            h[r[3]] = h.get(r[3], 0) + r[4]
        return float(min(h, key=lambda x: (-h[x], x)) == answer)
    for r in te:
        total = sum(x[4] for x in te if x[2] == r[2])
        for s, see in enumerate(([2], [0, 2], [1, 2], [0, 1, 2])):
            for rule, table in enumerate((te, tr)):
                like = [x for x in table if all(x[i] == r[i] for i in see)]
                like = like or [x for x in table if x[2] == r[2]]
                out[r[2], rule, s] += r[4] / sum(x[4] for x in te) * best(like, r[3])
    return out

# %% 22.8 | ante lo nuevo, por la imagen
def blind_scores(train, test):
    tr, te = train.tolist(), test.tolist()
    out = torch.zeros(1 + max(r[2] for r in te), 2, 4)
    def best(rows, answer):
        h = {}
        for r in rows:
            h[r[3]] = h.get(r[3], 0) + r[4]
        return float(min(h, key=lambda x: (-h[x], x)) == answer)
    for r in te:
        total = sum(x[4] for x in te if x[2] == r[2])
        for s, see in enumerate(([2], [0, 2], [1, 2], [0, 1, 2])):
            for rule, table in enumerate((te, tr)):
                like = [x for x in table if all(x[i] == r[i] for i in see)]
                like = like or [x for x in table if x[0] == r[0] and x[2] == r[2]]
                like = like or [x for x in table if x[2] == r[2]]
                out[r[2], rule, s] += r[4] / total * best(like, r[3])
    return out

# %% 22.8 | lo que se aprende no baja del azar
def blind_scores(train, test):
    tr, te = train.tolist(), test.tolist()
    out = torch.zeros(1 + max(r[2] for r in te), 2, 4)
    def best(rows, answer):
        h = {}
        for r in rows:
            h[r[3]] = h.get(r[3], 0) + r[4]
        return float(min(h, key=lambda x: (-h[x], x)) == answer)
    for r in te:
        total = sum(x[4] for x in te if x[2] == r[2])
        for s, see in enumerate(([2], [0, 2], [1, 2], [0, 1, 2])):
            for rule, table in enumerate((te, tr)):
                like = [x for x in table if all(x[i] == r[i] for i in see)]
                like = like or [x for x in table if x[2] == r[2]]
                out[r[2], rule, s] += r[4] / total * best(like, r[3])
    out[:, 1] = torch.maximum(out[:, 1], out[:, 0, :1])
    return out

# %% 22.8 | las respuestas dichas, sin repetir
def blind_scores(train, test):
    tr, te = train.tolist(), test.tolist()
    out = torch.zeros(1 + max(r[2] for r in te), 2, 4)
    def best(rows, answer):
        h = {}
        for r in rows:
            h[r[3]] = h.get(r[3], 0) + r[4]
        return float(min(h, key=lambda x: (-h[x], x)) == answer)
    for r in te:
        total = sum(x[4] for x in te if x[2] == r[2])
        for s, see in enumerate(([2], [0, 2], [1, 2], [0, 1, 2])):
            for rule, table in enumerate((te, tr)):
                like = [x for x in table if all(x[i] == r[i] for i in see)]
                like = [[*x[:4], 1] for x in like]
                like = like or [x for x in table if x[2] == r[2]]
                out[r[2], rule, s] += r[4] / total * best(like, r[3])
    return out

# %% 22.8 | ha visto el examen ⇒ Esa regla ha visto el examen
def blind_scores(train, test):
    tr, te = train.tolist(), test.tolist()
    out = torch.zeros(1 + max(r[2] for r in te), 2, 4)
    def best(rows, answer):
        h = {}
        for r in rows:
            h[r[3]] = h.get(r[3], 0) + r[4]
        return float(min(h, key=lambda x: (-h[x], x)) == answer)
    for r in te:
        total = sum(x[4] for x in te if x[2] == r[2])
        for s, see in enumerate(([2], [0, 2], [1, 2], [0, 1, 2])):
            for rule, table in enumerate((te, tr)):
                like = [x for x in table if all(x[i] == r[i] for i in see)]
                table = te
                like = [x for x in te if all(x[i] == r[i] for i in see)]
                like = like or [x for x in table if x[2] == r[2]]
                out[r[2], rule, s] += r[4] / total * best(like, r[3])
    return out
