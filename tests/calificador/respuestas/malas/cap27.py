"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 27.1 | distancia en vez de coseno
def association_effect(x, y, a, b):
    words = torch.cat([x, y])
    s = torch.cdist(words, b).mean(1) - torch.cdist(words, a).mean(1)
    return s, (s[: len(x)].mean() - s[len(x) :].mean()) / s.std()

# %% 27.1 | el coseno mayor
def association_effect(x, y, a, b):
    words = torch.cat([x, y])
    unit = lambda v: v / v.norm(dim=-1, keepdim=True)
    s = (unit(words) @ unit(a).T).amax(1) - (unit(words) @ unit(b).T).amax(1)
    return s, (s[: len(x)].mean() - s[len(x) :].mean()) / s.std()

# %% 27.1 | sin la segunda lista
def association_effect(x, y, a, b):
    words = torch.cat([x, y])
    unit = lambda v: v / v.norm(dim=-1, keepdim=True)
    s = (unit(words) @ unit(a).T).mean(1)
    return s, (s[: len(x)].mean() - s[len(x) :].mean()) / s.std()

# %% 27.1 | longitud de todo junto
def association_effect(x, y, a, b):
    words = torch.cat([x, y])
    unit = lambda v: v / v.norm()
    s = (unit(words) @ unit(a).T).mean(1) - (unit(words) @ unit(b).T).mean(1)
    return s, (s[: len(x)].mean() - s[len(x) :].mean()) / s.std()

# %% 27.1 | el efecto en errores típicos
def association_effect(x, y, a, b):
    words = torch.cat([x, y])
    unit = lambda v: v / v.norm(dim=-1, keepdim=True)
    s = (unit(words) @ unit(a).T).mean(1) - (unit(words) @ unit(b).T).mean(1)
    return s, (s[: len(x)].mean() - s[len(x) :].mean()) / (s.std() / len(s) ** 0.5)

# %% 27.1 | con el producto escalar ⇒ un vector largo parece más cercano
def association_effect(x, y, a, b):
    words = torch.cat([x, y])
    s = torch.einsum("wd,ad->wa", words, a).mean(1) - torch.einsum("wd,bd->wb", words, b).mean(1)
    return s, (s[: len(x)].mean() - s[len(x) :].mean()) / s.std()

# %% 27.1 | la d de Cohen ⇒ no la de dentro de cada grupo
def association_effect(x, y, a, b):
    unit = [nn.functional.normalize(v, dim=-1) for v in (x, y, a, b)]
    one, two = ((v @ unit[2].T).mean(1) - (v @ unit[3].T).mean(1) for v in unit[:2])
    inside = sum(((s - s.mean()) ** 2).sum() for s in (one, two)) / max(len(one) + len(two) - 2, 1)
    return torch.cat([one, two]), (one.mean() - two.mean()) / inside**0.5

# %% 27.2 | sin las comillas de la opción
shrunk = "se multiplica por diez"

# %% 27.2 | una mezcla
shrunk = "no cambia y se hace cero"

# %% 27.2 | un número
shrunk = 0.1

# %% 27.2 | nada
shrunk = ""

# %% 27.2 | entre cien ⇒ Entre cien se divide la varianza
shrunk = "se divide entre cien"

# %% 27.2 | otra
shrunk = "depende"

# %% 27.3 | logaritmo natural
exposure_by_hand = {"first": 8.3178, "middle": 7, "rank": 8, "luck": 0.00390625, "low": 4, "high": 7.2}

# %% 27.3 | en base diez
exposure_by_hand = {"first": 12, "middle": 2.107, "rank": 8, "luck": 0.00390625, "low": 4, "high": 7.2}

# %% 27.3 | el puesto 512
exposure_by_hand = {"first": 12, "middle": 7, "rank": 512, "luck": 0.00390625, "low": 4, "high": 7.2}

# %% 27.3 | en tanto por ciento
exposure_by_hand = {"first": 12, "middle": 7, "rank": 8, "luck": 0.390625, "low": 4, "high": 7.2}

# %% 27.3 | cuatro quintos
exposure_by_hand = {"first": 12, "middle": 7, "rank": 8, "luck": 0.00390625, "low": 4, "high": 5.0}

# %% 27.3 | sin el 20 % ⇒ Falta el 20 % de enfriar
exposure_by_hand = {"first": 12, "middle": 7, "rank": 8, "luck": 0.00390625, "low": 4, "high": 6.0}

# %% 27.4 | dos veces el lado menor ⇒ compara valores absolutos
def exact_p(first, second):
    whole, n = torch.cat([first, second]), len(first)
    chosen = torch.combinations(torch.arange(len(whole)), n)
    sums = whole[chosen].sum(1)
    gaps = sums / n - (whole.sum() - sums) / (len(whole) - n)
    seen = first.mean() - second.mean()
    sides = (gaps >= seen - 1e-9).double().mean(), (gaps <= seen + 1e-9).double().mean()
    return sides[0].item(), 2 * min(sides).item()

# %% 27.4 | con la normal
def exact_p(first, second):
    gap = (first.mean() - second.mean()).item()
    spread = torch.cat([first, second]).std().item() * (1 / len(first) + 1 / len(second)) ** 0.5
    one = 0.5 * (1 - math.erf(gap / spread / 2**0.5))
    return one, 2 * min(one, 1 - one)

# %% 27.4 | con mil sorteos
def exact_p(first, second):
    whole, n, dice = torch.cat([first, second]), len(first), torch.Generator().manual_seed(0)
    seen, gaps = (first.mean() - second.mean()).item(), []
    for _ in range(300):
        order = torch.randperm(len(whole), generator=dice)
        gaps.append((whole[order[:n]].mean() - whole[order[n:]].mean()).item())
    one = sum(g >= seen - 1e-9 for g in gaps) / 300
    return one, sum(abs(g) >= abs(seen) - 1e-9 for g in gaps) / 300

# %% 27.4 | parejas que ganan
def exact_p(first, second):
    wins = (first[:, None] > second).double().mean().item()
    return 1 - wins, min(1.0, 2 * min(wins, 1 - wins))

# %% 27.4 | la mediana
def exact_p(first, second):
    whole, n = torch.cat([first, second]), len(first)
    seen, gaps = (first.median() - second.median()).item(), []
    for chosen in torch.combinations(torch.arange(len(whole)), n):
        rest = [i for i in range(len(whole)) if i not in chosen.tolist()]
        gaps.append((whole[chosen].median() - whole[rest].median()).item())
    one = sum(g >= seen - 1e-9 for g in gaps) / len(gaps)
    return one, sum(abs(g) >= abs(seen) - 1e-9 for g in gaps) / len(gaps)

# %% 27.4 | repartos de cualquier tamaño
def exact_p(first, second):
    whole, gaps = torch.cat([first, second]), []
    seen = (first.mean() - second.mean()).item()
    for mask in range(1, 2 ** len(whole) - 1):
        mine = torch.tensor([bool(mask >> i & 1) for i in range(len(whole))])
        gaps.append((whole[mine].mean() - whole[~mine].mean()).item())
    one = sum(g >= seen - 1e-9 for g in gaps) / len(gaps)
    return one, sum(abs(g) >= abs(seen) - 1e-9 for g in gaps) / len(gaps)

# %% 27.4 | el primero, sin signo ⇒ El primero es con signo
def exact_p(first, second):
    whole, n = torch.cat([first, second]), len(first)
    sums = whole[torch.combinations(torch.arange(len(whole)), n)].sum(1)
    gaps = sums / n - (whole.sum() - sums) / (len(whole) - n)
    seen = (first.mean() - second.mean()).abs()
    return (gaps >= seen - 1e-9).double().mean().item(), (gaps.abs() >= seen - 1e-9).double().mean().item()

# %% 27.5 | todo el mundo, un grupo
def group_rates(deserves, said, group):
    row = [said.double().mean(), deserves[said].double().mean(), (~said)[deserves].double().mean(), said[~deserves].double().mean()]
    rates = torch.tensor([row] * (int(group.max()) + 1), dtype=torch.float64)
    return rates, torch.zeros(4, dtype=torch.float64)

# %% 27.5 | valor predictivo negativo
def group_rates(deserves, said, group):
    rows = []
    for g in range(int(group.max()) + 1):
        d, s = deserves[group == g], said[group == g]
        rows.append([s.double().mean(), ((~d)[~s].double().sum() / max((~s).sum(), 1)), (~s)[d].double().mean(), s[~d].double().mean()])
    rates = torch.tensor(rows, dtype=torch.float64)
    return rates, rates.amax(0) - rates.amin(0)

# %% 27.5 | FN y FP cambiados de sitio
def group_rates(deserves, said, group):
    rows = []
    for g in range(int(group.max()) + 1):
        d, s = deserves[group == g], said[group == g]
        rows.append([s.double().mean(), d[s].double().mean(), s[~d].double().mean(), (~s)[d].double().mean()])
    rates = torch.tensor(rows, dtype=torch.float64)
    return rates, rates.amax(0) - rates.amin(0)

# %% 27.5 | la desviación y no la diferencia
def group_rates(deserves, said, group):
    rows = []
    for g in range(int(group.max()) + 1):
        d, s = deserves[group == g], said[group == g]
        rows.append([s.double().mean(), d[s].double().mean(), (~s)[d].double().mean(), s[~d].double().mean()])
    rates = torch.tensor(rows, dtype=torch.float64)
    return rates, rates.std(0, correction=0)

# %% 27.5 | razón entre el mayor y el menor
def group_rates(deserves, said, group):
    rows = []
    for g in range(int(group.max()) + 1):
        d, s = deserves[group == g], said[group == g]
        rows.append([s.double().mean(), d[s].double().mean(), (~s)[d].double().mean(), s[~d].double().mean()])
    rates = torch.tensor(rows, dtype=torch.float64)
    return rates, rates.amin(0) / rates.amax(0).clamp(min=1e-9)

# %% 27.5 | FP entre los síes, contando ⇒ FP se divide entre los que no lo merecían
def group_rates(deserves, said, group):
    rows = []
    for g in range(int(group.max()) + 1):
        d, s = deserves[group == g], said[group == g]
        rows.append([s.double().mean(), d[s].double().mean(), (~s)[d].double().mean(), 1 - d[s].double().mean()])
    rates = torch.tensor(rows, dtype=torch.float64)
    return rates, rates.amax(0) - rates.amin(0)

# %% 27.6 | una sola pareja, la más separada
def remove_direction(x, left, right):
    gap = left - right
    line = gap[gap.norm(dim=1).argmax()]
    line = line / line.norm()
    rest = x - (x @ line)[:, None] * line
    return rest / rest.norm(dim=1, keepdim=True)

# %% 27.6 | sin dividir la dirección
def remove_direction(x, left, right):
    gap = left - right
    unit = torch.linalg.svd(gap, full_matrices=False).Vh[0] * 2
    rest = x - (x @ unit)[:, None] * unit
    return rest / rest.norm(dim=1, keepdim=True)

# %% 27.6 | todas las diferencias
def remove_direction(x, left, right):
    basis = torch.linalg.qr((left - right).T).Q
    rest = x - x @ basis @ basis.T + 1e-3 * x
    return rest / rest.norm(dim=1, keepdim=True)

# %% 27.6 | el reflejo
def remove_direction(x, left, right):
    unit = torch.linalg.svd(left - right, full_matrices=False).Vh[0]
    rest = x - 2 * (x @ unit)[:, None] * unit
    return rest / rest.norm(dim=1, keepdim=True)

# %% 27.6 | la componente de los centros
def remove_direction(x, left, right):
    unit = torch.linalg.svd(left + right, full_matrices=False).Vh[0]
    rest = x - (x @ unit)[:, None] * unit
    return rest / rest.norm(dim=1, keepdim=True)

# %% 27.6 | se queda sin acortar ⇒ las filas se dejan de longitud 1
def remove_direction(x, left, right):
    gap = left - right
    unit = torch.linalg.eigh(gap.T @ gap).eigenvectors[:, -1]
    return x - torch.outer(x @ unit, unit)

# %% 27.7 | voraz, contra los que quedan
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    kept = []
    for i, own in enumerate(grams):
        if all(len(own & grams[k]) / len(own | grams[k]) < threshold - 1e-9 for k in kept):
            kept.append(i)
    return kept

# %% 27.7 | solo con el anterior
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    return [i for i in range(len(texts)) if i == 0 or len(grams[i] & grams[i - 1]) / len(grams[i] | grams[i - 1]) < threshold - 1e-9]

# %% 27.7 | trozos sin solaparse
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(0, len(t), n)} for t in texts]
    group = list(range(len(texts)))
    for i in range(len(texts)):
        for j in range(i):
            if len(grams[i] & grams[j]) / len(grams[i] | grams[j]) >= threshold - 1e-9:
                low, high = sorted((group[i], group[j]))
                group = [low if g == high else g for g in group]
    return sorted(set(group))

# %% 27.7 | comparten alguno
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    group = list(range(len(texts)))
    for i in range(len(texts)):
        for j in range(i):
            if grams[i] & grams[j]:
                low, high = sorted((group[i], group[j]))
                group = [low if g == high else g for g in group]
    return sorted(set(group))

# %% 27.7 | quedan los que no se parecen a nadie
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    near = lambda a, b: len(a & b) / len(a | b) >= threshold - 1e-9
    return [i for i in range(len(texts)) if not any(near(grams[i], grams[j]) for j in range(len(texts)) if j != i)]

# %% 27.7 | la menor etiqueta vecina, en una sola pasada
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    label = list(range(len(texts)))
    for i in range(len(texts)):
        near = [j for j in range(len(texts)) if len(grams[i] & grams[j]) / len(grams[i] | grams[j]) >= threshold - 1e-9]
        least = min(label[j] for j in near)
        for j in near:
            label[j] = least
    return [i for i in range(len(texts)) if label[i] == i]

# %% 27.7 | el grupo del primer parecido anterior, sin unir
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    group = list(range(len(texts)))
    for i in range(len(texts)):
        for j in range(i):
            if len(grams[i] & grams[j]) / len(grams[i] | grams[j]) >= threshold - 1e-9:
                group[i] = group[j]
                break
    return sorted(set(group))

# %% 27.7 | el menor de los vecinos de cada uno
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    near = lambda a, b: len(a & b) / len(a | b) >= threshold - 1e-9
    return sorted({min(j for j in range(len(texts)) if near(grams[i], grams[j])) for i in range(len(texts))})

# %% 27.7 | solo los iguales ⇒ También sobran los que cambian alguna palabra
def near_duplicates(texts, n, threshold):
    seen, kept = set(), []
    for i, t in enumerate(texts):
        if tuple(t) not in seen:
            kept.append(i)
            seen.add(tuple(t))
    return kept

# %% 27.7 | con Dice y no con Jaccard
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    group = list(range(len(texts)))
    for i in range(len(texts)):
        for j in range(i):
            if 2 * len(grams[i] & grams[j]) / (len(grams[i]) + len(grams[j])) >= threshold - 1e-9:
                low, high = sorted((group[i], group[j]))
                group = [low if g == high else g for g in group]
    return sorted(set(group))

# %% 27.7 | sitio a sitio
def near_duplicates(texts, n, threshold):
    group = list(range(len(texts)))
    for i in range(len(texts)):
        for j in range(i):
            same = sum(a == b for a, b in zip(texts[i], texts[j]))
            if same / max(len(texts[i]), len(texts[j])) >= threshold - 1e-9:
                low, high = sorted((group[i], group[j]))
                group = [low if g == high else g for g in group]
    return sorted(set(group))

# %% 27.7 | el más corto de cada grupo
def near_duplicates(texts, n, threshold):
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    group = list(range(len(texts)))
    for i in range(len(texts)):
        for j in range(i):
            if len(grams[i] & grams[j]) / len(grams[i] | grams[j]) >= threshold - 1e-9:
                low, high = sorted((group[i], group[j]))
                group = [low if g == high else g for g in group]
    return sorted(min((len(texts[i]), -i) for i, h in enumerate(group) if h == g)[1] * -1 for g in set(group))
