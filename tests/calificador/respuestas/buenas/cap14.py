"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 14.1 | escrita
score_by_hand = {"loss": 0.58, "token": 0.83, "exact": 0.5, "sampled": 0.06}

# %% 14.1 | con fracciones y logaritmos
score_by_hand = {"loss": 5 * math.log(2) / 6, "token": 5 / 6, "exact": 1 / 2, "sampled": 1 / 16}

# %% 14.1 | calculada con tensores
p = torch.tensor([0.5, 0.25, 0.5, 1.0, 0.5, 1.0])
score_by_hand = {"loss": float(-p.log().mean()), "token": float((p > 0.3).float().mean()), "exact": 0.5, "sampled": float(p[:4].prod())}

# %% 14.2 | con listas
def exact_and_token(written, wanted, eos_id=2):
    exact = hits = places = 0
    for mine, right in zip(written.tolist(), wanted.tolist()):
        right = right[: right.index(eos_id) + 1]
        if eos_id in mine:
            mine = mine[: mine.index(eos_id) + 1]
        exact += mine == right
        hits += sum(a == b for a, b in zip(mine, right))
        places += len(right)
    return exact / len(written), hits / places

# %% 14.2 | símbolo a símbolo
def exact_and_token(written, wanted, eos_id=2):
    rows = hits = places = 0
    for i in range(wanted.shape[0]):
        stopped = perfect = 0
        for t in range(wanted.shape[1]):
            good = not stopped and t < written.shape[1] and written[i, t].item() == wanted[i, t].item()
            hits, places, perfect = hits + good, places + 1, perfect + (not good)
            stopped = stopped or (t < written.shape[1] and written[i, t].item() == eos_id)
            if wanted[i, t].item() == eos_id:
                break
        rows += perfect == 0
    return rows / wanted.shape[0], hits / places

# %% 14.2 | tapando con −1 y con −2
def exact_and_token(written, wanted, eos_id=2):
    def cut(ids, fill, width):
        last = (ids == eos_id).int().argmax(1, keepdim=True)
        last = torch.where((ids == eos_id).any(1, keepdim=True), last, ids.shape[1])
        ids = ids.masked_fill(torch.arange(ids.shape[1]) > last, fill)
        return torch.nn.functional.pad(ids, (0, width - ids.shape[1]), value=fill)
    width = max(written.shape[1], wanted.shape[1])
    mine, right = cut(written, -2, width), cut(wanted, -1, width)
    asked, same = right != -1, mine == right
    return (same | ~asked).all(1).double().mean(), same.sum().double() / asked.sum()

# %% 14.3 | escrita
short_sighted = "275+528"

# %% 14.3 | con espacios
short_sighted = " 275+528 "

# %% 14.3 | calculada
short_sighted = next(t for t in ("458+367", "199+099", "354+645", "275+528") if any(int(t[k]) + int(t[k + 4]) == 9 and int(t[k + 1 : 3]) + int(t[k + 5 :]) >= 10 ** (2 - k) for k in (0, 1)))

# %% 14.4 | con las llevadas en una lista y mirando hacia atrás
def errors_by_chain(pairs, written, digits):
    counts = [[0, 0] for _ in range(digits + 1)]
    for (a, b), result in zip(pairs.tolist(), written.tolist()):
        carries = [a % 10**k + b % 10**k >= 10**k for k in range(1, digits + 1)]
        for k in range(digits + 1):
            chain = 0
            while chain < k and carries[k - 1 - chain]:
                chain += 1
            counts[chain][0] += 1
            counts[chain][1] += str(a + b).zfill(digits + 1)[-1 - k] != str(result).zfill(digits + 1)[-1 - k]
    return torch.tensor(counts)

# %% 14.4 | con tensores, lugar a lugar
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    chain, total = torch.zeros_like(written), pairs.sum(1)
    for k in range(digits + 1):
        wrong = (total // 10**k - written // 10**k) % 10 != 0
        for c in range(digits + 1):
            table[c] += torch.stack([(chain == c).sum(), (wrong & (chain == c)).sum()])
        carry = (pairs % 10 ** (k + 1)).sum(1) >= 10 ** (k + 1)
        chain = (chain + 1) * carry
    return table

# %% 14.4 | con listas y los textos
def errors_by_chain(pairs, written, digits):
    rows = [[0] * 2 for _ in range(digits + 1)]
    for pair, result in zip(pairs, written):
        a, b = (f"{int(x):0{digits + 1}d}"[::-1] for x in pair)
        mine, chain = f"{int(result):0{digits + 1}d}"[::-1], 0
        for x, y, z in zip(a, b, mine):
            s = int(x) + int(y) + min(chain, 1)
            rows[chain][0] += 1
            rows[chain][1] += int(z) != s % 10
            chain = (chain + 1) * (s > 9)
    return torch.tensor(rows)

# %% 14.5 | con frozenset por columna y números
def leaked(train, test):
    def key(text):
        a, b = map(int, text.split("+"))
        return tuple(frozenset((a // 10**k % 10, b // 10**k % 10)) for k in range(12))
    seen = {key(text) for text in train}
    return [i for i, text in enumerate(test) if key(text) in seen]

# %% 14.5 | el mayor y el menor de cada columna, y un bucle
def leaked(train, test):
    width = max(len(part) for text in [*train, *test] for part in text.split("+"))
    def key(text):
        left, _, right = text.partition("+")
        pairs = list(zip(left.zfill(width), right.zfill(width)))
        return "".join(map(max, pairs)) + "/" + "".join(map(min, pairs))
    known, found = set(map(key, train)), []
    for index in range(len(test)):
        if key(test[index]) in known:
            found.append(index)
    return found

# %% 14.5 | un número por clase, columna a columna
def leaked(train, test):
    def code(a, b):
        if not a and not b:
            return 0
        low, high = sorted((a % 10, b % 10))
        return 100 * code(a // 10, b // 10) + 10 * low + high
    seen = {}
    for text in train:
        seen[code(*map(int, text.split("+")))] = True
    return [i for i, text in enumerate(test) if code(*map(int, text.split("+"))) in seen]

# %% 14.6 | descenso recursivo
def to_prefix(text):
    signs = list(text)
    def term():
        sign = signs.pop(0)
        if sign != "(":
            return sign
        inside = level(0)
        signs.pop(0)
        return inside
    def level(k):
        if k == 2:
            return term()
        left = level(k + 1)
        while signs and signs[0] in ("+-", "*/")[k]:
            sign = signs.pop(0)
            left = sign + left + level(k + 1)
        return left
    return level(0)

# %% 14.6 | busca la operación principal desde el final
def to_prefix(text):
    for group in ("+-", "*/"):
        depth = 0
        for i in reversed(range(len(text))):
            depth += (text[i] == ")") - (text[i] == "(")
            if depth == 0 and text[i] in group:
                return text[i] + to_prefix(text[:i]) + to_prefix(text[i + 1 :])
    return to_prefix(text[1:-1]) if text[0] == "(" else text

# %% 14.6 | sustituyendo trozos hasta que no quede nada
def to_prefix(text):
    import re
    parts = []
    def keep(prefix):
        parts.append(prefix)
        return chr(0x4E00 + len(parts) - 1)
    def value(sign):
        return parts[ord(sign) - 0x4E00] if ord(sign) >= 0x4E00 else sign
    leaf = r"[0-9a-z\u4e00-\u9fff]"
    def join(match):
        left, sign, right = match.groups()
        return keep(sign + value(left) + value(right))
    def flat(inside):
        for group in (r"[*/]", r"[+\-]"):
            while re.search(f"({leaf})({group})({leaf})", inside):
                inside = re.sub(f"({leaf})({group})({leaf})", join, inside, count=1)
        return inside
    while "(" in text:
        text = re.sub(r"\(([^()]*)\)", lambda m: flat(m.group(1)), text, count=1)
    return value(flat(text))

# %% 14.7 | recursiva, con un iterador
def to_infix(text):
    signs, level = iter(text), {"+": 0, "-": 0, "*": 1, "/": 1}
    def read():
        sign = next(signs)
        if sign not in level:
            return sign, 2
        (left, a), (right, b) = read(), read()
        left = "(" + left + ")" if a < level[sign] else left
        right = "(" + right + ")" if b <= level[sign] else right
        return left + sign + right, level[sign]
    return read()[0]

# %% 14.7 | con trozos y su última operación
def to_infix(text):
    stack = []
    for sign in text[::-1]:
        if sign not in "+-*/":
            stack.append((sign, ""))
            continue
        (left, inner), (right, outer) = stack.pop(), stack.pop()
        if inner and inner in "+-" and sign in "*/":
            left = f"({left})"
        if outer and (sign in "*/" or outer in "+-"):
            right = f"({right})"
        stack.append((left + sign + right, sign))
    return stack[-1][0]

# %% 14.7 | todos los paréntesis, y prueba a quitar cada pareja
def to_infix(text):
    def tree(expr):
        for group in ("+-", "*/"):
            depth = 0
            for i in reversed(range(len(expr))):
                depth += (expr[i] == ")") - (expr[i] == "(")
                if depth == 0 and expr[i] in group:
                    return expr[i] + tree(expr[:i]) + tree(expr[i + 1 :])
        return tree(expr[1:-1]) if expr[0] == "(" else expr
    stack = []
    for sign in reversed(text):
        stack.append(f"({stack.pop()}{sign}{stack.pop()})" if sign in "+-*/" else sign)
    expr, i = stack[0], 0
    while i < len(expr):
        if expr[i] == "(":
            depth, j = 1, i
            while depth:
                j += 1
                depth += (expr[j] == "(") - (expr[j] == ")")
            shorter = expr[:i] + expr[i + 1 : j] + expr[j + 1 :]
            if tree(shorter) == text:
                expr = shorter
                continue
        i += 1
    return expr

# %% 14.8 | con una máscara de parejas
def bracket_excess(weights, text):
    n, stack = len(text), []
    pairs = torch.zeros(n, n, dtype=weights.dtype)
    for j, sign in enumerate(text):
        if sign == "(":
            stack.append(j)
        if sign == ")":
            pairs[stack.pop(), j] = 1
    opens, closes = pairs.sum(1), pairs.sum(0)
    count = closes.sum()
    others = opens[:, None] * closes - pairs
    return (weights * (pairs / count - others / (count * (count - 1)))).sum((1, 2))

# %% 14.8 | por profundidad
def bracket_excess(weights, text):
    depth, depths = 0, []
    for sign in text:
        depth += sign == "("
        depths.append(depth)
        depth -= sign == ")"
    closings = [j for j, sign in enumerate(text) if sign == ")"]
    total = torch.zeros(len(weights), dtype=weights.dtype)
    for i, sign in enumerate(text):
        if sign == "(":
            own = next(j for j in closings if j > i and depths[j] == depths[i])
            row = weights[:, i]
            total = total + row[:, own] - (row[:, closings].sum(1) - row[:, own]) / (len(closings) - 1)
    return total / len(closings)

# %% 14.8 | cabeza a cabeza y contando hacia delante
def bracket_excess(weights, text):
    out = []
    for head in weights:
        values = []
        for i in [k for k, s in enumerate(text) if s == "("]:
            balance, own = 1, i
            while balance:
                own += 1
                balance += {"(": 1, ")": -1}.get(text[own], 0)
            rest = [head[i, k] for k, s in enumerate(text) if s == ")" and k != own]
            values.append(head[i, own] - sum(rest) / len(rest))
        out.append(sum(values) / len(values))
    return torch.stack(out)

# %% 14.9 | la fórmula general de segundo grado
def rate_interval(hits, n, z=1.96):
    a, b, c = n + z * z, -(2 * hits + z * z), hits * hits / n
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)

# %% 14.9 | por bisección
def rate_interval(hits, n, z=1.96):
    rate = hits / n
    def outside(p):
        return (rate - p) ** 2 > z * z * p * (1 - p) / n
    def edge(far, near):
        for _ in range(200):
            middle = (far + near) / 2
            far, near = (middle, near) if outside(middle) else (far, middle)
        return near
    return (edge(0.0, rate) if hits else 0.0), (edge(1.0, rate) if hits < n else 1.0)

# %% 14.9 | con las raíces de un polinomio de torch
def rate_interval(hits, n, z=1.96):
    p = torch.tensor(hits / n, dtype=torch.float64)
    e = z * z / n
    middle = (2 * p + e) / (2 * (1 + e))
    half = torch.sqrt((middle**2 - p * p / (1 + e)).clamp(min=0))
    return [float(middle - half), float(middle + half)]

# %% 14.10 | con listas
def carry_rounds(sums):
    state = [1 if s > 9 else -1 if s == 9 else 0 for s in sums.tolist()]
    rows, jump = [state], 1
    while -1 in state:
        state = [(state[k - jump] if k >= jump else 0) if s == -1 else s for k, s in enumerate(state)]
        rows.append(state)
        jump = 2 * jump
    return torch.tensor(rows)

# %% 14.10 | con relleno y sin cat
def carry_rounds(sums):
    rows = [torch.where(sums == 9, -1, (sums > 9).long())]
    for r in range(64):
        last = rows[-1]
        if (last >= 0).all():
            break
        shifted = torch.zeros_like(last)
        shifted[2**r :] = last[: max(0, len(last) - 2**r)]
        rows.append(torch.where(last < 0, shifted, last))
    return torch.stack(rows)

# %% 14.10 | por índices
def carry_rounds(sums):
    n = len(sums)
    state = torch.zeros(n + 1, dtype=torch.long)  # el último hace de «a la derecha de todo»
    state[:n] = (sums > 9).long() - (sums == 9).long()
    rows, jump = [state[:n].clone()], 1
    while (state < 0).any():
        where = torch.arange(n) - jump
        where = torch.where(where < 0, n, where)
        new = torch.where(state[:n] < 0, state[where], state[:n])
        state = torch.cat([new, state[n:]])
        rows.append(new)
        jump *= 2
    return torch.stack(rows)

# %% 14.11 | con una matriz de transición
def exact_rate(digits, reach):
    step = torch.zeros(reach + 1, reach + 1, dtype=torch.float64)  # 0: sin llevada; t + 1: llevada y t nueves
    step[0, 0] = 0.55
    if reach:
        step[:, 1] = 0.45
        step[1:, 0] = 0.45
        for t in range(1, reach):
            step[t, t + 1] = 0.1
    return torch.linalg.matrix_power(step, digits)[0].sum().item()

# %% 14.11 | con un diccionario de estados
def exact_rate(digits, reach):
    states = {-1: 1.0}  # −1: sin llevada
    for _ in range(digits):
        new = {}
        for run, chance in states.items():
            for key, p in ((-1, 0.45), (0, 0.45), (-1 if run < 0 else run + 1, 0.1)):
                if key < reach:
                    new[key] = new.get(key, 0.0) + p * chance
        states = new
    return sum(states.values())

# %% 14.11 | contando con enteros, por la longitud de lo que falta
def exact_rate(digits, reach):
    from functools import lru_cache
    @lru_cache(None)
    def good(left, run):
        if run >= reach:
            return 0
        if left == 0:
            return 1
        return 45 * good(left - 1, -1) + 45 * good(left - 1, 0) + 10 * good(left - 1, -1 if run == -1 else run + 1)
    return good(digits, -1) / 100**digits

# %% 14.12 | quitando los sitios, fila a fila
def hits_by_view(scores, values, labels, place):
    totals = torch.zeros(3, dtype=torch.float64)
    marked = (place >= 0).nonzero().tolist()
    for i, t in marked:
        every = list(range(scores.shape[2]))
        chosen = place[i, t].item()
        for view, kept in enumerate((every, [j for j in every if j != chosen], [chosen])):
            weights = scores[i, t, kept].softmax(0)
            totals[view] += (weights @ values[i, kept]).argmax() == labels[i, t]
    return totals / len(marked)

# %% 14.12 | con pesos sin normalizar, que no cambian cuál es el mayor
def hits_by_view(scores, values, labels, place):
    import torch.nn.functional as F
    marked = place >= 0
    raw = (scores - scores.amax(-1, keepdim=True)).exp()
    own = F.one_hot(place.clamp(min=0), scores.shape[-1]).to(raw)
    views = torch.stack([raw, raw * (1 - own), raw * own])
    right = torch.einsum("vbts,bsk->vbtk", views, values).argmax(-1) == labels
    return (right & marked).double().sum((1, 2)) / marked.sum()

# %% 14.12 | lo que aporta el sitio, sumado y restado
def hits_by_view(scores, values, labels, place):
    batch, step = torch.where(place >= 0)
    chosen, wanted = place[batch, step], labels[batch, step]
    weights = scores.softmax(-1)[batch, step]  # (pasos, source)
    every = torch.einsum("ps,psk->pk", weights, values[batch])
    line = torch.arange(len(batch))
    only = weights[line, chosen][:, None] * values[batch, chosen]
    written = torch.stack([every, every - only, only]).argmax(-1)
    return (written == wanted).double().mean(-1)
