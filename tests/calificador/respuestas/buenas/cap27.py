"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 27.1 | coseno a coseno
def association_effect(x, y, a, b):
    def one(w):
        sides = [torch.stack([torch.dot(w, v) / (w.norm() * v.norm()) for v in g]).mean() for g in (a, b)]
        return sides[0] - sides[1]

    first, second = torch.stack([one(w) for w in x]), torch.stack([one(w) for w in y])
    s = torch.cat([first, second])
    return s, (first.mean() - second.mean()) / s.std()

# %% 27.1 | con la similitud de PyTorch
def association_effect(x, y, a, b):
    words = torch.cat([x, y])
    near = [nn.functional.cosine_similarity(words[:, None], g[None], dim=-1).mean(1) for g in (a, b)]
    s = near[0] - near[1]
    deviation = ((s - s.mean()).square().sum() / (len(s) - 1)).sqrt()
    return s, (s[: len(x)].mean() - s[len(x) :].mean()) / deviation

# %% 27.1 | con los centros de los unitarios
def association_effect(x, y, a, b):
    unit = [nn.functional.normalize(g, dim=-1) for g in (x, y, a, b)]
    line = unit[2].mean(0) - unit[3].mean(0)
    s = torch.cat(unit[:2]) @ line
    return s, (s[: len(x)].sum() / len(x) - s[len(x) :].sum() / len(y)) / torch.std(s)

# %% 27.2 | escrita
shrunk = "no cambia"

# %% 27.3 | escrita
exposure_by_hand = {"first": 12, "middle": 7, "rank": 8, "luck": 0.00390625, "low": 4, "high": 7.2}

# %% 27.3 | con cuentas
exposure_by_hand = {"first": 12.0, "middle": 12 - 5, "rank": 2**3, "luck": 1 / 256, "low": 20 * 0.2, "high": 20 * 0.3 * 1.2}

# %% 27.4 | con números en binario
def exact_p(first, second):
    whole, n = torch.cat([first, second]).tolist(), len(first)
    seen = sum(first.tolist()) / n - sum(second.tolist()) / len(second)
    found = []
    for mask in range(2 ** len(whole)):
        mine = [x for i, x in enumerate(whole) if mask >> i & 1]
        if len(mine) == n:
            found.append(sum(mine) / n - (sum(whole) - sum(mine)) / (len(whole) - n))
    one = sum(x > seen - 1e-9 for x in found) / len(found)
    return one, sum(abs(x) > abs(seen) - 1e-9 for x in found) / len(found)

# %% 27.4 | todos a la vez
def exact_p(first, second):
    whole, n = torch.cat([first, second]), len(first)
    chosen = torch.combinations(torch.arange(len(whole)), n)
    sums = whole[chosen].sum(1)
    gaps = sums / n - (whole.sum() - sums) / (len(whole) - n)
    seen = first.mean() - second.mean()
    one = (gaps >= seen - 1e-9).double().mean().item()
    return one, (gaps.abs() >= seen.abs() - 1e-9).double().mean().item()

# %% 27.4 | recursiva
def exact_p(first, second):
    values, n = [*first.tolist(), *second.tolist()], len(first)
    m, total = len(second), sum(first.tolist()) + sum(second.tolist())

    def sums(start, left):
        if left == 0:
            yield 0.0
            return
        for i in range(start, len(values) - left + 1):
            for rest in sums(i + 1, left - 1):
                yield values[i] + rest

    seen = first.mean().item() - second.mean().item()
    gaps = [s / n - (total - s) / m for s in sums(0, n)]
    count = len(gaps)
    return sum(g >= seen - 1e-9 for g in gaps) / count, sum(abs(g) >= abs(seen) - 1e-9 for g in gaps) / count

# %% 27.5 | con índices de grupo
def group_rates(deserves, said, group):
    n = int(group.max()) + 1
    count = lambda mask: torch.bincount(group[mask], minlength=n).double()
    everyone = torch.ones_like(said)
    rates = torch.stack(
        [
            count(said) / count(everyone),
            count(said & deserves) / count(said),
            count(~said & deserves) / count(deserves),
            count(said & ~deserves) / count(~deserves),
        ],
        dim=1,
    )
    return rates, rates.max(0).values - rates.min(0).values

# %% 27.5 | persona a persona
def group_rates(deserves, said, group):
    rows = []
    for g in sorted(set(group.tolist())):
        table = {(a, b): 0 for a in (True, False) for b in (True, False)}
        for d, s, h in zip(deserves.tolist(), said.tolist(), group.tolist()):
            if h == g:
                table[d, s] += 1
        yes, good = table[True, True] + table[False, True], table[True, True] + table[True, False]
        bad = table[False, True] + table[False, False]
        rows.append([yes / (good + bad), table[True, True] / yes, table[True, False] / good, table[False, True] / bad])
    rates = torch.tensor(rows, dtype=torch.float64)
    return rates, torch.tensor([max(c) - min(c) for c in zip(*rows)], dtype=torch.float64)

# %% 27.5 | con one-hot
def group_rates(deserves, said, group):
    hot = nn.functional.one_hot(group).double()
    d, s = deserves.double(), said.double()
    share = lambda top, bottom: (hot.T @ top) / (hot.T @ bottom)
    rates = torch.stack([share(s, torch.ones_like(s)), share(d * s, s), share(d * (1 - s), d), share((1 - d) * s, 1 - d)], 1)
    return rates, rates.amax(0) - rates.amin(0)

# %% 27.5 | contada en 32 bits
def group_rates(deserves, said, group):
    rows = []
    for g in range(int(group.max()) + 1):
        d, s = deserves[group == g], said[group == g]
        rows.append(torch.stack([s.float().mean(), d[s].float().mean(), 1 - s[d].float().mean(), s[~d].float().mean()]))
    rates = torch.stack(rows).double()
    return rates, rates.amax(0) - rates.amin(0)

# %% 27.6 | con autovectores
def remove_direction(x, left, right):
    gap = left - right
    unit = torch.linalg.eigh(gap.T @ gap).eigenvectors[:, -1]
    rest = x @ (torch.eye(x.shape[1], dtype=x.dtype) - torch.outer(unit, unit))
    return nn.functional.normalize(rest, dim=-1)

# %% 27.6 | por potencias
def remove_direction(x, left, right):
    gap = left - right
    v = gap[0]
    for _ in range(500):
        v = gap.T @ (gap @ v)
        v = v / v.norm()
    rest = x - torch.outer(x @ v, v)
    return rest / rest.square().sum(1, keepdim=True).sqrt()

# %% 27.6 | por el vector de la izquierda
def remove_direction(x, left, right):
    gap = right - left
    u = torch.linalg.svd(gap).U[:, 0]
    line = u @ gap
    line = line / line.norm()
    rest = torch.stack([row - torch.dot(row, line) * line for row in x])
    return torch.stack([row / row.norm() for row in rest])

# %% 27.7 | en anchura
def near_duplicates(texts, n, threshold):
    grams = []
    for t in texts:
        own = {tuple(t[i : i + n]) for i in range(len(t) - n + 1)}
        grams.append(own or {tuple(t)})
    done, kept = set(), []
    for i in range(len(texts)):
        if i in done:
            continue
        kept.append(i)
        queue = [i]
        while queue:
            one = queue.pop()
            done.add(one)
            for j in range(len(texts)):
                if j not in done and len(grams[one] & grams[j]) >= threshold * len(grams[one] | grams[j]) - 1e-9:
                    queue.append(j)
    return kept

# %% 27.7 | uniendo conjuntos
def near_duplicates(texts, n, threshold):
    def grams(t):
        return {str(t[i : i + n]) for i in range(len(t) - n + 1)} if len(t) >= n else {str(t)}

    groups = []
    for i, t in enumerate(texts):
        own = grams(t)
        near = [g for g in groups if any(len(own & o) / len(own | o) >= threshold - 1e-9 for _, o in g)]
        groups = [g for g in groups if g not in near] + [[(i, own)] + [x for g in near for x in g]]
    return sorted(min(i for i, _ in g) for g in groups)

# %% 27.7 | con la matriz cerrada
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(1, len(t) - n + 1))} for t in texts]
    near = torch.tensor([[len(a & b) / len(a | b) >= threshold - 1e-9 for b in grams] for a in grams]).double()
    for _ in texts:
        near = ((near @ near) > 0).double()
    first = near.argmax(1).tolist()
    return sorted(set(first))
