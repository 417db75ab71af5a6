"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 26.1 | con los sesgos que se dice que no hay
budget_by_hand = {"parameters": 341800, "flops": 2.04e12, "state": 5440000, "tables": 800000, "seconds": 51}

# %% 26.1 | un solo token
budget_by_hand = {"parameters": 340000, "flops": 2040000, "state": 5440000, "tables": 800000, "seconds": 51}

# %% 26.1 | en 16 bits
budget_by_hand = {"parameters": 340000, "flops": 2.04e12, "state": 2720000, "tables": 800000, "seconds": 51}

# %% 26.1 | solo la mitad causal
budget_by_hand = {"parameters": 340000, "flops": 2.04e12, "state": 5440000, "tables": 408000, "seconds": 51}

# %% 26.1 | en minutos
budget_by_hand = {"parameters": 340000, "flops": 2.04e12, "state": 5440000, "tables": 800000, "seconds": 0.85}

# %% 26.1 | la tabla contada aparte ⇒ se cuenta una vez
budget_by_hand = {"parameters": 440000, "flops": 2.04e12, "state": 5440000, "tables": 800000, "seconds": 51}

# %% 26.1 | al máximo de la máquina ⇒ solo aprovecha el 40 %
budget_by_hand = {"parameters": 340000, "flops": 2.04e12, "state": 5440000, "tables": 800000, "seconds": 20.4}

# %% 26.2 | el que más palabras tiene
def join_processes(losses, gradients, counts):
    r = int(counts.argmax())
    return losses[r], gradients[r]

# %% 26.2 | pesa por el inverso
def join_processes(losses, gradients, counts):
    w = torch.where(counts > 0, 1 / counts.double().clamp(min=1), 0.0)
    w = w / w.sum()
    keep = [r for r in range(len(counts)) if counts[r] > 0]
    return sum(w[r] * losses[r] for r in keep), [sum(w[r] * gradients[r][i] for r in keep) for i in range(len(gradients[0]))]

# %% 26.2 | aparta los NaN y promedia lo demás
def join_processes(losses, gradients, counts):
    g = [torch.stack(p).nanmean(0) for p in zip(*gradients)]
    return losses.nanmean(), g

# %% 26.2 | aparta a quien diga NaN, tenga palabras o no
def join_processes(losses, gradients, counts):
    ok = [r for r, g in enumerate(gradients) if counts[r] > 0 and not any(x.isnan().any() for x in g)]
    total = counts[ok].sum()
    return sum(losses[r] * counts[r] / total for r in ok), [sum(gradients[r][i] * counts[r] / total for r in ok) for i in range(len(gradients[0]))]

# %% 26.2 | aparta a quien dice NaN en la pérdida, tenga palabras o no
def join_processes(losses, gradients, counts):
    ok = [r for r in range(len(losses)) if counts[r] > 0 and not losses[r].isnan()]
    total = counts[ok].sum()
    return sum(losses[r] * counts[r] / total for r in ok), [sum(gradients[r][i] * counts[r] / total for r in ok) for i in range(len(gradients[0]))]

# %% 26.2 | solo mira los NaN de la pérdida ⇒ NaN de la pérdida de un proceso con palabras
def join_processes(losses, gradients, counts):
    ok = [r for r in range(len(losses)) if counts[r] > 0]
    total = counts.sum()
    return sum(losses[r].nan_to_num() * counts[r] / total for r in ok), [sum(gradients[r][i] * counts[r] / total for r in ok) for i in range(len(gradients[0]))]

# %% 26.2 | los ceros cuentan como uno
def join_processes(losses, gradients, counts):
    n = counts.clamp(min=1).double()
    w = n / n.sum()
    return (w * losses.nan_to_num()).sum(), [sum(w[r] * g[i].nan_to_num() for r, g in enumerate(gradients)) for i in range(len(gradients[0]))]

# %% 26.2 | todos por igual ⇒ cada proceso cuenta por sus palabras
def join_processes(losses, gradients, counts):
    n = len(losses)
    keep = [r for r in range(n) if counts[r] > 0]
    return sum(losses[r] / n for r in keep), [sum(gradients[r][i] for r in keep) / n for i in range(len(gradients[0]))]

# %% 26.3 | uno de más siempre
def bytes_per_process(parameters, processes, stage, half):
    each = [2, 2, 12] if half else [4, 4, 8]
    return [e * (parameters // processes + 1 if stage >= k else parameters) for e, k in zip(each, [3, 2, 1])]

# %% 26.3 | reparte bytes, no números
def bytes_per_process(parameters, processes, stage, half):
    each = [2, 2, 12] if half else [4, 4, 8]
    return [-(-e * parameters // processes) if stage >= k else e * parameters for e, k in zip(each, [3, 2, 1])]

# %% 26.3 | con 16 bits, nada cambia
def bytes_per_process(parameters, processes, stage, half):
    return [e * (-(-parameters // processes) if stage >= k else parameters) for e, k in zip([4, 4, 8], [3, 2, 1])]

# %% 26.3 | los pesos antes que los gradientes
def bytes_per_process(parameters, processes, stage, half):
    each = [2, 2, 12] if half else [4, 4, 8]
    return [e * (-(-parameters // processes) if stage >= k else parameters) for e, k in zip(each, [2, 3, 1])]

# %% 26.3 | redondea al más cercano
def bytes_per_process(parameters, processes, stage, half):
    each = [2, 2, 12] if half else [4, 4, 8]
    return [e * (round(parameters / processes) if stage >= k else parameters) for e, k in zip(each, [3, 2, 1])]

# %% 26.3 | división entera ⇒ se redondea hacia arriba
def bytes_per_process(parameters, processes, stage, half):
    part = parameters // processes
    each = [2, 2, 12] if half else [4, 4, 8]
    return [each[0] * (part if stage == 3 else parameters), each[1] * (part if stage > 1 else parameters), each[2] * (part if stage else parameters)]

# %% 26.4 | la suma desde el primer paso
def ring_states(values):
    n, length = values.shape
    total = values.sum(0).expand(n, -1)
    states = [values] + [total] * (2 * n - 2)
    sent = [sum(len(c) for c in torch.arange(length).tensor_split(n)) * 2 * (n - 1) // n] * n
    return torch.stack(states), torch.tensor(sent)

# %% 26.4 | el trozo de al lado
def ring_states(values):
    n, length = values.shape
    chunks = torch.arange(length).tensor_split(n)
    states, sent = [values], torch.zeros(n, dtype=torch.long)
    for step in range(2 * (n - 1)):
        a, b = states[-1], states[-1].clone()
        for r in range(n):
            c, to = chunks[(r + 1 - step) % n], (r + 1) % n
            b[to, c] = a[r, c] + (a[to, c] if step < n - 1 else 0)
            sent[r] += len(c)
        states.append(b)
    return torch.stack(states), sent

# %% 26.4 | todos mandan al primero, que lo devuelve
def ring_states(values):
    n, length = values.shape
    states, now = [values], values.clone()
    sent = torch.full((n,), length)
    sent[0] = (n - 1) * length
    for r in range(1, n):
        now = now.clone()
        now[0] += values[r]
        states.append(now)
    for r in range(1, n):
        now = now.clone()
        now[r] = now[0]
        states.append(now)
    return torch.stack(states), sent

# %% 26.4 | corta como chunk
def ring_states(values):
    n, length = values.shape
    size = -(-length // n)
    chunks = [torch.arange(min(i * size, length), min((i + 1) * size, length)) for i in range(n)]
    states, sent = [values], torch.zeros(n, dtype=torch.long)
    for step in range(2 * (n - 1)):
        a, b = states[-1], states[-1].clone()
        for r in range(n):
            c, to = chunks[(r - step) % n], (r + 1) % n
            b[to, c] = a[r, c] + (a[to, c] if step < n - 1 else 0)
            sent[r] += len(c)
        states.append(b)
    return torch.stack(states), sent

# %% 26.4 | lo mandado, por la fórmula
def ring_states(values):
    n, length = values.shape
    chunks = torch.arange(length).tensor_split(n)
    states = [values]
    for step in range(2 * (n - 1)):
        a, b = states[-1], states[-1].clone()
        for r in range(n):
            c, to = chunks[(r - step) % n], (r + 1) % n
            b[to, c] = a[r, c] + (a[to, c] if step < n - 1 else 0)
        states.append(b)
    return torch.stack(states), torch.full((n,), 2 * (n - 1) * length // n)

# %% 26.4 | gira al revés ⇒ no al anterior
def ring_states(values):
    n, length = values.shape
    cut = torch.arange(length).tensor_split(n)
    out, sent = [values], [0] * n
    for s in range(2 * n - 2):
        new = out[-1].clone()
        for r in range(n):
            k = cut[(r - s) % n]
            sent[r] += len(k)
            new[r - 1, k] = out[-1][r, k] + (out[-1][r - 1, k] if s < n - 1 else 0)
        out.append(new)
    return torch.stack(out), torch.tensor(sent)

# %% 26.5 | reparte el promedio
def split_ffn(x, first, first_bias, second, second_bias, processes):
    a, b = (x @ first + first_bias).chunk(2, -1)
    out = (nn.functional.silu(a) * b) @ second + second_bias
    return (out / processes).expand(processes, *out.shape)

# %% 26.5 | todo en el primero
def split_ffn(x, first, first_bias, second, second_bias, processes):
    a, b = (x @ first + first_bias).chunk(2, -1)
    out = torch.zeros(processes, *x.shape, dtype=x.dtype)
    out[0] = (nn.functional.silu(a) * b) @ second + second_bias
    return out

# %% 26.5 | parte la entrada
def split_ffn(x, first, first_bias, second, second_bias, processes):
    out = []
    for k in torch.arange(x.shape[1]).tensor_split(processes):
        a, b = (x[:, k] @ first[k] + first_bias).chunk(2, -1)
        out.append((nn.functional.silu(a) * b) @ second)
    out[0] = out[0] + second_bias
    return torch.stack(out)

# %% 26.5 | la puerta, tras multiplicar
def split_ffn(x, first, first_bias, second, second_bias, processes):
    a, b = (x @ first + first_bias).chunk(2, -1)
    h = nn.functional.silu(a * b).tensor_split(processes, -1)
    out = torch.stack([u @ w for u, w in zip(h, second.tensor_split(processes))])
    out[0] += second_bias
    return out

# %% 26.5 | corta como chunk
def split_ffn(x, first, first_bias, second, second_bias, processes):
    a, b = (x @ first + first_bias).chunk(2, -1)
    size = -(-len(second) // processes)
    h = nn.functional.silu(a) * b
    out = torch.stack([h[:, i * size : (i + 1) * size] @ second[i * size : (i + 1) * size] for i in range(processes)])
    out[0] += second_bias
    return out

# %% 26.5 | un sesgo por proceso ⇒ va una sola
def split_ffn(x, first, first_bias, second, second_bias, processes):
    a, b = (x @ first + first_bias).chunk(2, -1)
    h = (nn.functional.silu(a) * b).tensor_split(processes, -1)
    return torch.stack([u @ w + second_bias for u, w in zip(h, second.tensor_split(processes))])

# %% 26.6 | sin fallos
def time_with_failures(work, every, save, restart, failures):
    return float(work + save * (-(-work // every) - 1)), 0.0

# %% 26.6 | cada fallo cuesta la vuelta
def time_with_failures(work, every, save, restart, failures):
    return float(work + save * (-(-work // every) - 1) + restart * len(failures)), 0.0

# %% 26.6 | guarda cada tantas horas de reloj
def time_with_failures(work, every, save, restart, failures):
    clock, kept, lost = 0.0, 0.0, 0.0
    falls = list(failures)
    while kept < work:
        step = min(max(1, every - save), work - kept)
        end = clock + step + (save if kept + step < work else 0)
        if falls and falls[0] < end:
            fall = falls.pop(0)
            lost += min(fall - clock, step)
            while falls and falls[0] < fall + restart:
                fall = falls.pop(0)
            clock = fall + restart
        else:
            clock, kept = end, kept + step
    return clock, lost

# %% 26.6 | solo cuenta la primera caída
def time_with_failures(work, every, save, restart, failures):
    total = work + save * (-(-work // every) - 1)
    if not failures or failures[0] > total:
        return float(total), 0.0
    full, inside = divmod(failures[0], every + save)
    left = work - int(full) * every
    return failures[0] + restart + left + save * (-(-left // every) - 1), min(inside, every)

# %% 26.6 | lo repetido, por la diferencia
def time_with_failures(work, every, save, restart, failures):
    clock, kept = 0.0, 0
    falls = list(failures)
    while True:
        step = min(every, work - kept)
        end = clock + step + (save if kept + step < work else 0)
        if falls and falls[0] < end:
            fall = falls.pop(0)
            while falls and falls[0] < fall + restart:
                fall = falls.pop(0)
            clock = fall + restart
        else:
            clock, kept = end, kept + step
            if kept == work:
                return clock, clock - work - save * (-(-work // every) - 1)

# %% 26.6 | guarda también al final ⇒ sobra una vez
def time_with_failures(work, every, save, restart, failures):
    clock, kept, lost = 0.0, 0, 0.0
    falls = list(failures)
    while kept < work:
        step = min(every, work - kept)
        if falls and falls[0] < clock + step + save:
            fall = falls.pop(0)
            lost += min(fall - clock, step)
            while falls and falls[0] < fall + restart:
                fall = falls.pop(0)
            clock = fall + restart
        else:
            clock, kept = clock + step + save, kept + step
    return clock, lost

# %% 26.7 | lo primero que puede, sin mirar el orden
def pipeline_table(orders, backward):
    p, ends, t, columns = len(orders), {}, 0, []
    left, busy, now = [sorted(o) for o in orders], [0] * p, [0] * p
    while any(left) or max(busy) > t:
        for s in range(p):
            if busy[s] > t:
                continue
            now[s] = 0
            for k in left[s]:
                need = None if k > 0 and s == 0 else (s - 1, k) if k > 0 else (s + 1, k) if s < p - 1 else (s, -k)
                if need is None or ends.get(need, math.inf) <= t:
                    left[s].remove(k)
                    now[s], busy[s] = k, t + (backward if k < 0 else 1)
                    ends[s, k] = busy[s]
                    break
        columns.append(list(now))
        t += 1
    table = torch.tensor(columns).T
    return table, (table == 0).double().mean().item()

# %% 26.7 | la parada de cada etapa, hasta que acaba
def pipeline_table(orders, backward):
    p, ends, rows = len(orders), {}, [[] for _ in orders]
    while len(ends) < sum(map(len, orders)):
        for s, o in enumerate(orders):
            for k in o[len({q for r, q in ends if r == s}) :]:
                need = None if k > 0 and s == 0 else (s - 1, k) if k > 0 else (s + 1, k) if s < p - 1 else (s, -k)
                if need is not None and need not in ends:
                    break
                rows[s] += [0] * max(0, (ends[need] if need else 0) - len(rows[s])) + [k] * (1 if k > 0 else backward)
                ends[s, k] = len(rows[s])
    T = max(map(len, rows))
    idle = sum(r.count(0) / len(r) for r in rows) / p
    return torch.tensor([r + [0] * (T - len(r)) for r in rows]), idle

# %% 26.7 | instantes por filas
def pipeline_table(orders, backward):
    p, ends, rows = len(orders), {}, [[] for _ in orders]
    while len(ends) < sum(map(len, orders)):
        for s, o in enumerate(orders):
            for k in o[len({q for r, q in ends if r == s}) :]:
                need = None if k > 0 and s == 0 else (s - 1, k) if k > 0 else (s + 1, k) if s < p - 1 else (s, -k)
                if need is not None and need not in ends:
                    break
                rows[s] += [0] * max(0, (ends[need] if need else 0) - len(rows[s])) + [k] * (1 if k > 0 else backward)
                ends[s, k] = len(rows[s])
    T = max(map(len, rows))
    table = torch.tensor([r + [0] * (T - len(r)) for r in rows])
    return table.T, (table == 0).double().mean().item()

# %% 26.7 | la fórmula de GPipe
def pipeline_table(orders, backward):
    p, m = len(orders), max(orders[0])
    f = p + m - 1
    rows = []
    for s, o in enumerate(orders):
        row = [0] * s + [k for k in o if k > 0] + [0] * (p - 1 - s)
        back = [k for k in o if k < 0 for _ in range(backward)]
        rows.append(row + ([0] * (backward * (p - 1 - s)) + back + [0] * (backward * s) if back else []))
    return torch.tensor(rows), (p - 1) / f

# %% 26.7 | todos esperan a que todos acaben
def pipeline_table(orders, backward):
    p, left, ends, t, columns = len(orders), [list(o) for o in orders], {}, 0, []
    while any(left):
        go = []
        for s in range(p):
            k = left[s][0] if left[s] else None
            need = None if k is None or (k > 0 and s == 0) else (s - 1, k) if k > 0 else (s + 1, k) if s < p - 1 else (s, -k)
            go.append(k if k is not None and (need is None or ends.get(need, math.inf) <= t) else 0)
        long = max(backward if k < 0 else 1 for k in go)
        for s, k in enumerate(go):
            if k:
                left[s].pop(0)
                ends[s, k] = t + long
        columns += [[k if i < (backward if k < 0 else 1) else 0 for k in go] for i in range(long)]
        t += long
    table = torch.tensor(columns).T
    return table, (table == 0).double().mean().item()

# %% 26.7 | la burbuja, por la fórmula ⇒ no vale con cualquier orden
def pipeline_table(orders, backward):
    p, ends, rows = len(orders), {}, [[] for _ in orders]
    while len(ends) < sum(map(len, orders)):
        for s, o in enumerate(orders):
            for k in o[len({q for r, q in ends if r == s}) :]:
                need = None if k > 0 and s == 0 else (s - 1, k) if k > 0 else (s + 1, k) if s < p - 1 else (s, -k)
                if need is not None and need not in ends:
                    break
                rows[s] += [0] * max(0, (ends[need] if need else 0) - len(rows[s])) + [k] * (1 if k > 0 else backward)
                ends[s, k] = len(rows[s])
    T = max(map(len, rows))
    return torch.tensor([r + [0] * (T - len(r)) for r in rows]), (p - 1) / (max(orders[0]) + p - 1)

# %% 26.7 | solo los instantes con alguna parada
def pipeline_table(orders, backward):
    p, ends, rows = len(orders), {}, [[] for _ in orders]
    for _ in range(sum(map(len, orders))):
        for s, o in enumerate(orders):
            done = len([1 for q, _ in ends if q == s])
            if done == len(o):
                continue
            k = o[done]
            need = None if k > 0 and s == 0 else (s - 1, k) if k > 0 else (s + 1, k) if s < p - 1 else (s, -k)
            if need is None or need in ends:
                rows[s] += [0] * max(0, (ends[need] if need else 0) - len(rows[s])) + [k] * (1 if k > 0 else backward)
                ends[s, k] = len(rows[s])
    T = max(map(len, rows))
    table = torch.tensor([r + [0] * (T - len(r)) for r in rows])
    return table, (table == 0).any(0).double().mean().item()

# %% 26.7 | sin esperar a nadie ⇒ falta esperar a que acabe
def pipeline_table(orders, backward):
    rows = [[k for k in o for _ in range(1 if k > 0 else backward)] for o in orders]
    table = torch.tensor(rows)
    return table, (table == 0).double().mean().item()

# %% 26.8 | la más corta, primero
def split_layers(times, weights, activations, stages, limit):
    sizes = [1] * (stages - 1) + [len(times) - stages + 1]
    return max(times[: stages - 1] + [sum(times[stages - 1 :])]), sizes

# %% 26.8 | el tope menor, sin mirar la memoria ni llenar
def split_layers(times, weights, activations, stages, limit):
    return max(max(times), -(-sum(times) // stages)), [len(times) // stages] * stages

# %% 26.8 | llena la memoria de cada etapa
def split_layers(times, weights, activations, stages, limit):
    sizes, total, i = [], [], 0
    for s in range(stages):
        j, m = i, 0
        while j < len(times) - (stages - 1 - s):
            m += weights[j] + (stages - s) * activations[j]
            if m > limit:
                break
            j += 1
        sizes.append(j - i)
        total.append(sum(times[i:j]))
        i = j
    return max(total), sizes

# %% 26.8 | ordena las capas
def split_layers(times, weights, activations, stages, limit):
    bins, sizes = [0] * stages, [0] * stages
    for t in sorted(times, reverse=True):
        k = bins.index(min(bins))
        bins[k] += t
        sizes[k] += 1
    return max(bins), sizes

# %% 26.8 | parte en dos, y otra vez en dos
def split_layers(times, weights, activations, stages, limit):
    def halve(lo, hi, p):
        if p == 1:
            return [hi - lo]
        q = p // 2
        cut = min(range(lo + q, hi - (p - q) + 1), key=lambda c: max(sum(times[lo:c]) / q, sum(times[c:hi]) / (p - q)))
        return halve(lo, cut, q) + halve(cut, hi, p - q)
    sizes = halve(0, len(times), stages)
    slow, i = 0, 0
    for n in sizes:
        slow, i = max(slow, sum(times[i : i + n])), i + n
    return slow, sizes

# %% 26.8 | sin el límite ⇒ falta mirar el límite
def split_layers(times, weights, activations, stages, limit):
    n = len(times)
    best = {(0, 0): (0, [])}
    for s in range(stages):
        for j in range(s + 1, n + 1):
            options = [(max(best[s, i][0], sum(times[i:j])), best[s, i][1] + [j - i]) for i in range(s, j) if (s, i) in best]
            if options:
                best[s + 1, j] = min(options, key=lambda o: o[0])
    return best[stages, n]
