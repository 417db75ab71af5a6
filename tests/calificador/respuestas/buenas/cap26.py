"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 26.1 | escrita
budget_by_hand = {"parameters": 340000, "flops": 2.04e12, "state": 5440000, "tables": 800000, "seconds": 51}

# %% 26.1 | con cuentas
N = 2 * 12 * 100**2 + 1000 * 100
budget_by_hand = {"parameters": N, "flops": 6 * N * 10**6, "state": 16 * N, "tables": 2 * 5 * 8 * 50 * 50 * 4, "seconds": 6 * N * 1e6 / 4e10}

# %% 26.2 | apilando cada parámetro
def join_processes(losses, gradients, counts):
    some = counts > 0
    shares = counts[some].double() / counts.sum()
    out = []
    for parameter in zip(*gradients):
        stacked = torch.stack(parameter)[some]
        out.append(torch.einsum("r...,r->...", stacked, shares))
    return (losses[some] * shares).sum(), out

# %% 26.2 | sumas, y divide al final, en una tupla
def join_processes(losses, gradients, counts):
    words, loss, sums = 0, 0.0, None
    for l, g, n in zip(losses.tolist(), gradients, counts.tolist()):
        if n == 0:
            continue
        words += n
        loss += n * l
        sums = [n * x for x in g] if sums is None else [a + n * x for a, x in zip(sums, g)]
    return loss / words, tuple(s / words for s in sums)

# %% 26.2 | a cero con where
def join_processes(losses, gradients, counts):
    total = int(counts.sum())
    def keep(r, x):
        return torch.zeros_like(x) if counts[r] == 0 else x * int(counts[r]) / total
    loss = torch.where(counts > 0, losses * counts / total, 0.0).sum()
    return loss, [sum(keep(r, g[i]) for r, g in enumerate(gradients)) for i in range(len(gradients[0]))]

# %% 26.3 | caso a caso
def bytes_per_process(parameters, processes, stage, half):
    part = (parameters + processes - 1) // processes
    whole = [parameters] * 3
    if stage >= 1:
        whole[2] = part
    if stage >= 2:
        whole[1] = part
    if stage == 3:
        whole[0] = part
    bytes_of = (2, 2, 12) if half else (4, 4, 8)
    return [n * b for n, b in zip(whole, bytes_of)]

# %% 26.3 | con ceil, en una tupla
def bytes_per_process(parameters, processes, stage, half):
    part = math.ceil(parameters / processes)
    n = lambda k: part if stage >= k else parameters
    short = 2 if half else 4
    return short * n(3), short * n(2), (8 + 4 * half) * n(1)

# %% 26.3 | con un tensor
def bytes_per_process(parameters, processes, stage, half):
    padded = parameters + (-parameters) % processes
    size = torch.tensor([2, 2, 12] if half else [4, 4, 8])
    cut = torch.tensor([stage > 2, stage > 1, stage > 0])
    return torch.where(cut, size * (padded // processes), size * parameters)

# %% 26.4 | con listas de trozos y lo último recibido
def ring_states(values):
    n = len(values)
    pieces = [list(row.tensor_split(n)) for row in values]
    last, sent = list(range(n)), [0] * n
    states = [values.clone()]
    for step in range(2 * n - 2):
        mail = [(r, last[r], pieces[r][last[r]]) for r in range(n)]
        for r, k, data in mail:
            sent[r] += data.numel()
            to = (r + 1) % n
            pieces[to][k] = pieces[to][k] + data if step < n - 1 else data
            last[to] = k
        states.append(torch.stack([torch.cat(p) for p in pieces]))
    return torch.stack(states), torch.tensor(sent)

# %% 26.4 | con máscaras y roll, todos a la vez
def ring_states(values):
    n, length = values.shape
    size, extra = divmod(length, n)
    owner = torch.repeat_interleave(torch.arange(n), torch.tensor([size + (i < extra) for i in range(n)]))
    now, out, sent = values, [values], torch.zeros(n)
    ranks = torch.arange(n)[:, None]
    for step in range(2 * n - 2):
        sends = owner == (ranks - step) % n
        sent = sent + sends.sum(1)
        arrives = sends.roll(1, 0)
        data = now.roll(1, 0)
        now = torch.where(arrives, data + now if step < n - 1 else data, now)
        out.append(now)
    return torch.stack(out), sent.long()

# %% 26.4 | dos vueltas, con slices
def ring_states(values):
    n, length = values.shape
    ends = [0]
    for k in range(n):
        ends.append(ends[-1] + length // n + (k < length % n))
    cut = [slice(a, b) for a, b in zip(ends, ends[1:])]
    x, states, sent = values.clone(), [values.clone()], [0 for _ in range(n)]
    for step in range(n - 1):
        for r in range(n):
            k = cut[(r - step) % n]
            x[(r + 1) % n, k] += x[r, k]
            sent[r] += k.stop - k.start
        states.append(x.clone())
    for step in range(n - 1):
        for r in range(n):
            k = cut[(r + 1 - step) % n]
            x[(r + 1) % n, k] = x[r, k]
            sent[r] += k.stop - k.start
        states.append(x.clone())
    return torch.stack(states), torch.tensor(sent)

# %% 26.5 | partiendo las mitades
def split_ffn(x, first, first_bias, second, second_bias, processes):
    w1, w3 = first.chunk(2, dim=1)
    b1, b3 = first_bias.chunk(2)
    out = []
    for a, p, b, q, c in zip(w1.tensor_split(processes, 1), b1.tensor_split(processes), w3.tensor_split(processes, 1), b3.tensor_split(processes), second.tensor_split(processes)):
        z = x @ a + p
        out.append((z * torch.sigmoid(z) * (x @ b + q)) @ c)
    out[0] += second_bias
    return torch.stack(out)

# %% 26.5 | todo lo de en medio, y luego por trozos
def split_ffn(x, first, first_bias, second, second_bias, processes):
    h = x @ first + first_bias
    d = second.shape[0]
    mid = nn.functional.silu(h[:, :d]) * h[:, d:]
    out = torch.zeros(processes, *x.shape, dtype=x.dtype)
    start = 0
    for r in range(processes):
        size = d // processes + (1 if r < d % processes else 0)
        out[r] = mid[:, start : start + size] @ second[start : start + size]
        start += size
    out[0] += second_bias
    return out

# %% 26.5 | con una máscara y einsum
def split_ffn(x, first, first_bias, second, second_bias, processes):
    d = len(second)
    gate, up = (torch.einsum("nd,df->nf", x, first) + first_bias).split(d, dim=-1)
    mine = torch.zeros(processes, d, dtype=x.dtype)
    for r, k in enumerate(torch.arange(d).tensor_split(processes)):
        mine[r, k] = 1
    parts = torch.einsum("nf,rf,fd->rnd", gate * gate.sigmoid() * up, mine, second)
    once = torch.zeros(processes, 1, 1, dtype=x.dtype)
    once[0] = 1
    return parts + once * second_bias

# %% 26.6 | suceso a suceso
def time_with_failures(work, every, save, restart, failures):
    events = iter(list(failures) + [math.inf])
    fall = next(events)
    now, kept, lost = 0, 0, 0
    while kept < work:
        goal = min(kept + every, work)
        done = now + goal - kept
        safe = done if goal == work else done + save
        if safe < fall:
            now, kept = safe, goal
        else:
            lost += min(done, fall) - now
            back = fall + restart
            fall = next(events)
            while fall < back:
                back = fall + restart
                fall = next(events)
            now = back
    return now, lost

# %% 26.6 | de una vida a otra, con división entera
def time_with_failures(work, every, save, restart, failures):
    saved, repeated, start = 0, 0, 0
    for fall in failures:
        left = work - saved
        need = left + save * (-(-left // every) - 1)
        if start + need < fall:
            break
        if fall > start:
            alive = fall - start
            full = int(alive // (every + save))
            inside = alive - full * (every + save)
            repeated += min(inside, every)
            saved += full * every
        start = fall + restart
    left = work - saved
    return float(start + left + save * (-(-left // every) - 1)), float(repeated)

# %% 26.6 | a pasos de un dieciseisavo
def time_with_failures(work, every, save, restart, failures):
    k = 16
    falls = {int(round(f * k)) for f in failures}
    t = done = kept = lost = wait = saving = 0
    while True:
        if t in falls:
            lost += done - kept
            done, saving, wait = kept, 0, restart * k
        t += 1
        if wait:
            wait -= 1
        elif saving:
            saving -= 1
            if saving == 0:
                kept = done
        else:
            done += 1
            if done == work * k:
                return t / k, lost / k
            if done - kept == every * k:
                saving = save * k

# %% 26.7 | instante a instante
def pipeline_table(orders, backward):
    p = len(orders)
    left = [list(o) for o in orders]
    busy, ends, columns, t = [0] * p, {}, [], 0
    now = [0] * p
    while any(left) or max(busy) > t:
        for s in range(p):
            if busy[s] > t:
                continue
            now[s] = 0
            if left[s]:
                k = left[s][0]
                if k > 0:
                    ready = s == 0 or ends.get((s - 1, k), math.inf) <= t
                elif s == p - 1:
                    ready = ends.get((s, -k), math.inf) <= t
                else:
                    ready = ends.get((s + 1, k), math.inf) <= t
                if ready:
                    now[s] = left[s].pop(0)
                    busy[s] = t + (backward if k < 0 else 1)
                    ends[s, k] = busy[s]
        columns.append(list(now))
        t += 1
    table = torch.tensor(columns).T
    return table, int((table == 0).sum()) / table.numel()

# %% 26.7 | recursiva, con memoria
def pipeline_table(orders, backward):
    from functools import lru_cache
    p = len(orders)
    place = [{k: i for i, k in enumerate(o)} for o in orders]
    @lru_cache(None)
    def end(s, k):
        i = place[s][k]
        start = end(s, orders[s][i - 1]) if i else 0
        if k > 0 and s > 0:
            start = max(start, end(s - 1, k))
        if k < 0:
            start = max(start, end(s + 1, k) if s < p - 1 else end(s, -k))
        return start + (1 if k > 0 else backward)
    T = max(end(s, k) for s, o in enumerate(orders) for k in o)
    table = torch.zeros(p, T, dtype=torch.int64)
    for s, o in enumerate(orders):
        for k in o:
            e = end(s, k)
            table[s, e - (1 if k > 0 else backward) : e] = k
    work = sum(1 if k > 0 else backward for o in orders for k in o)
    return table, 1 - work / (p * T)

# %% 26.7 | repetir hasta que no cambia
def pipeline_table(orders, backward):
    p = len(orders)
    start = {(s, k): 0 for s in range(p) for k in orders[s]}
    long = lambda k: 1 if k > 0 else backward
    changed = True
    while changed:
        changed = False
        for s in range(p):
            before = 0
            for k in orders[s]:
                if k > 0:
                    other = (s - 1, k) if s else None
                else:
                    other = (s + 1, k) if s + 1 < p else (s, -k)
                t = max(before, start[other] + long(other[1]) if other else 0)
                if t > start[s, k]:
                    start[s, k], changed = t, True
                before = start[s, k] + long(k)
    T = max(t + long(k) for (s, k), t in start.items())
    rows = [[0] * T for _ in range(p)]
    for (s, k), t in start.items():
        rows[s][t : t + long(k)] = [k] * long(k)
    return torch.tensor(rows), sum(row.count(0) for row in rows) / (p * T)

# %% 26.8 | tope y llenar
def split_layers(times, weights, activations, stages, limit):
    n = len(times)
    def fill(top):
        sizes, i = [], 0
        for s in range(stages):
            t = m = 0
            j = i
            while j < n - (stages - 1 - s):
                m += weights[j] + (stages - s) * activations[j]
                t += times[j]
                if t > top or m > limit:
                    break
                j += 1
            if j == i:
                return None
            sizes.append(j - i)
            i = j
        return sizes if i == n else None
    low, high = max(times), sum(times)
    while low < high:
        middle = (low + high) // 2
        if fill(middle):
            high = middle
        else:
            low = middle + 1
    return low, fill(low)

# %% 26.8 | con memoria y hacia delante
def split_layers(times, weights, activations, stages, limit):
    from functools import lru_cache
    T, W, A = [0], [0], [0]
    for t, w, a in zip(times, weights, activations):
        T.append(T[-1] + t)
        W.append(W[-1] + w)
        A.append(A[-1] + a)
    @lru_cache(None)
    def go(s, i):
        if s == stages:
            return (0, ()) if i == len(times) else (math.inf, ())
        best = (math.inf, ())
        for j in range(i + 1, len(times) + 1):
            if W[j] - W[i] + (stages - s) * (A[j] - A[i]) <= limit:
                slow, sizes = go(s + 1, j)
                slow = max(slow, T[j] - T[i])
                if slow < best[0]:
                    best = (slow, (j - i, *sizes))
        return best
    slow, sizes = go(0, 0)
    return slow, list(sizes)

# %% 26.8 | desde la primera etapa, con punteros
def split_layers(times, weights, activations, stages, limit):
    n = len(times)
    now, back = {0: 0}, []
    for s in range(stages):
        nxt, frm = {}, {}
        for i, slow in now.items():
            t = m = 0
            for j in range(i, n):
                t += times[j]
                m += weights[j] + (stages - s) * activations[j]
                if m > limit:
                    break
                v = max(slow, t)
                if v <= nxt.get(j + 1, math.inf):
                    nxt[j + 1], frm[j + 1] = v, i
        now = nxt
        back.append(frm)
    sizes, j = [], n
    for frm in reversed(back):
        sizes.append(j - frm[j])
        j = frm[j]
    return torch.tensor(now[n]), torch.tensor(sizes[::-1])
