"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 24.1 | escalada con la raíz
def kernel_average(query, keys, values, counts, *, beta=1.0):
    scores = beta * keys @ query / math.sqrt(len(query)) + counts.log()
    return scores.softmax(0) @ values

# %% 24.1 | las veces, sumadas a la puntuación
def kernel_average(query, keys, values, counts, *, beta=1.0):
    scores = beta * keys @ query + counts
    return scores.masked_fill(counts == 0, -math.inf).softmax(0) @ values

# %% 24.1 | el valor de la clave más parecida
def kernel_average(query, keys, values, counts, *, beta=1.0):
    scores = (keys @ query).masked_fill(counts == 0, -math.inf)
    return values[scores.argmax()]

# %% 24.1 | con el coseno
def kernel_average(query, keys, values, counts, *, beta=1.0):
    scores = beta * nn.functional.cosine_similarity(keys, query[None], dim=1) + counts.log()
    return scores.softmax(0) @ values

# %% 24.1 | la que no se ha visto cuenta una vez
def kernel_average(query, keys, values, counts, *, beta=1.0):
    return (beta * keys @ query + counts.clamp(min=1).log()).softmax(0) @ values

# %% 24.1 | acotando la exponencial ⇒ desborda
def kernel_average(query, keys, values, counts, *, beta=1.0):
    kernel = counts * torch.exp(beta * keys @ query)
    return kernel @ values / kernel.sum()

# %% 24.2 | todo en nats ⇒ en bits el logaritmo es en base 2
entropy_by_hand = {"bits": 1.213, "choices": 3.364, "cold": 0.727, "frozen": 1.099, "hot": 1.386}

# %% 24.2 | la temperatura multiplica los pesos
entropy_by_hand = {"bits": 1.75, "choices": 3.364, "cold": 0.25, "frozen": 1.585, "hot": 2}

# %% 24.2 | la cuarta también cuenta
entropy_by_hand = {"bits": 1.75, "choices": 3.364, "cold": 0.727, "frozen": 1.777, "hot": 2}

# %% 24.2 | la media de las claves
entropy_by_hand = {"bits": 1.75, "choices": 3.5, "cold": 0.727, "frozen": 1.585, "hot": 2}

# %% 24.2 | sin ordenar los límites
entropy_by_hand = {"bits": 1.75, "choices": 3.364, "cold": 0.727, "frozen": 2.585, "hot": math.inf}

# %% 24.2 | con temperatura 2 ⇒ las puntuaciones se doblan
entropy_by_hand = {"bits": 1.75, "choices": 3.364, "cold": 0.369, "frozen": 1.585, "hot": 2}

# %% 24.2 | los límites, en nats ⇒ en bits el logaritmo es en base 2
entropy_by_hand = {"bits": 1.75, "choices": 3.364, "cold": 0.727, "frozen": 1.0986, "hot": 1.3863}

# %% 24.3 | dos teoremas ⇒ le falta una hipótesis
kinds_of_claim = "teorema, teorema, medida, analogía"

# %% 24.3 | dos falsas ⇒ una media pesada no sale
kinds_of_claim = "falsa, falsa, medida, analogía"

# %% 24.3 | la tercera, para todas ⇒ veinte no son todas
kinds_of_claim = "teorema, falsa, teorema, analogía"

# %% 24.3 | la cuarta se mide ⇒ Mientras no se diga
kinds_of_claim = "teorema, falsa, medida, medida"

# %% 24.3 | fuera de las opciones
kinds_of_claim = "teorema"

# %% 24.3 | al revés
kinds_of_claim = "analogía, medida, falsa, teorema"

# %% 24.4 | la distancia al patrón más cercano
def hopfield_energy(states, patterns, *, beta):
    far = torch.cdist(states, patterns) ** 2 / 2
    near = far.min(dim=1)
    return near.values, states - patterns[near.indices]

# %% 24.4 | la de Hopfield clásica
def hopfield_energy(states, patterns, *, beta):
    scores = states @ patterns.T
    return -beta * scores.square().sum(-1) / 2, -beta * scores @ patterns

# %% 24.4 | la softmax, sobre los estados
def hopfield_energy(states, patterns, *, beta):
    scores = beta * states @ patterns.T
    energy = states.square().sum(1) / 2 - scores.logsumexp(1) / beta
    energy = energy + math.log(len(patterns)) / beta + patterns.square().sum(1).max() / 2
    return energy, states - scores.softmax(0) @ patterns

# %% 24.4 | sin los términos constantes
def hopfield_energy(states, patterns, *, beta):
    scores = beta * states @ patterns.T
    return states.square().sum(1) / 2 - scores.logsumexp(1) / beta, states - scores.softmax(1) @ patterns

# %% 24.4 | la energía de todos juntos
def hopfield_energy(states, patterns, *, beta):
    scores = beta * states @ patterns.T
    energy = states.square().sum() / 2 - scores.flatten().logsumexp(0) / beta
    energy = energy + math.log(len(patterns)) / beta + patterns.square().sum(1).max() / 2
    return energy.expand(len(states)), states - scores.softmax(1) @ patterns

# %% 24.4 | el paso en lugar del gradiente ⇒ Eso es el paso siguiente
def hopfield_energy(states, patterns, *, beta):
    scores = beta * states @ patterns.T
    energy = states.square().sum(1) / 2 - scores.logsumexp(1) / beta
    energy = energy + math.log(len(patterns)) / beta + patterns.square().sum(1).max() / 2
    return energy, scores.softmax(1) @ patterns

# %% 24.5 | todos los pasos de golpe
def settle(states, patterns, *, beta, tolerance=1e-3, most=100):
    for _ in range(most):
        states = (beta * states @ patterns.T).softmax(1) @ patterns
    return states, torch.full((len(states),), most)

# %% 24.5 | un solo paso
def settle(states, patterns, *, beta, tolerance=1e-3, most=100):
    return (beta * states @ patterns.T).softmax(1) @ patterns, torch.ones(len(states), dtype=torch.long)

# %% 24.5 | el patrón al que se acerca
def settle(states, patterns, *, beta, tolerance=1e-3, most=100):
    steps = torch.zeros(len(states), dtype=torch.long)
    x = states
    for i in range(most):
        new = (beta * x @ patterns.T).softmax(1) @ patterns
        steps = torch.where((steps == 0) & ((new - x).abs().amax(1) < tolerance), i + 1, steps)
        x = new
    return patterns[torch.cdist(x, patterns).argmin(1)], torch.where(steps == 0, most, steps)

# %% 24.5 | a medio paso
def settle(states, patterns, *, beta, tolerance=1e-3, most=100):
    ends, counts = [], []
    for x in states:
        for i in range(1, most + 1):
            step = ((beta * patterns @ x).softmax(0) @ patterns - x) / 2
            x = x + step
            if step.abs().max() < tolerance:
                break
        ends.append(x)
        counts.append(i)
    return torch.stack(ends), torch.tensor(counts)

# %% 24.5 | cuenta desde cero y sin dar el paso pequeño
def settle(states, patterns, *, beta, tolerance=1e-3, most=100):
    ends, counts = [], []
    for x in states:
        for i in range(most):
            new = (beta * patterns @ x).softmax(0) @ patterns
            if (new - x).abs().max() < tolerance:
                break
            x = new
        ends.append(x)
        counts.append(i)
    return torch.stack(ends), torch.tensor(counts)

# %% 24.5 | se paran todos a la vez ⇒ aquí siguen hasta que paran todos
def settle(states, patterns, *, beta, tolerance=1e-3, most=100):
    for i in range(1, most + 1):
        new = (beta * states @ patterns.T).softmax(1) @ patterns
        moved = (new - states).abs().amax()
        states = new
        if moved < tolerance:
            break
    return states, torch.full((len(states),), i)

# %% 24.6 | el rango, en números
def outside_mean(x, maps, weights, *, skip=False):
    out = [x]
    for a, w in zip(maps, weights):
        out.append(a @ out[-1] @ w + (out[-1] if skip else 0))
    return torch.stack([torch.linalg.matrix_rank(h).double() for h in out])

# %% 24.6 | un vector por cabeza: la media de las normas
def outside_mean(x, maps, weights, *, skip=False):
    out = [x]
    for a, w in zip(maps, weights):
        out.append(a @ out[-1] @ w + (out[-1] if skip else 0))
    return torch.stack([((h - h.mean(0)).norm(dim=1) / h.norm(dim=1)).mean() for h in out])

# %% 24.6 | fuera del mejor rango 1
def outside_mean(x, maps, weights, *, skip=False):
    out = [x]
    for a, w in zip(maps, weights):
        out.append(a @ out[-1] @ w + (out[-1] if skip else 0))
    sizes = [torch.linalg.svdvals(h) for h in out]
    return torch.stack([s[1:].norm() / s.norm() for s in sizes])

# %% 24.6 | la parte común
def outside_mean(x, maps, weights, *, skip=False):
    out = [x]
    for a, w in zip(maps, weights):
        out.append(a @ out[-1] @ w + (out[-1] if skip else 0))
    return torch.stack([math.sqrt(len(h)) * h.mean(0).norm() / h.norm() for h in out])

# %% 24.6 | la norma espectral
def outside_mean(x, maps, weights, *, skip=False):
    out = [x]
    for a, w in zip(maps, weights):
        out.append(a @ out[-1] @ w + (out[-1] if skip else 0))
    return torch.stack([torch.linalg.matrix_norm(h - h.mean(0), 2) / torch.linalg.matrix_norm(h, 2) for h in out])

# %% 24.6 | con el residuo olvidado ⇒ falta sumar lo que entró
def outside_mean(x, maps, weights, *, skip=False):
    out = [x]
    for a, w in zip(maps, weights):
        out.append(a @ out[-1] @ w)
    return torch.stack([(h - h.mean(0)).norm() / h.norm() for h in out])

# %% 24.7 | los valores singulares
def frequency_gains(maps, *, times=1):
    sizes = torch.linalg.svdvals(torch.linalg.matrix_power(maps, times))
    return sizes[:, : maps.shape[-1] // 2 + 1]

# %% 24.7 | los autovalores
def frequency_gains(maps, *, times=1):
    sizes = torch.linalg.eigvals(maps).abs() ** times
    return sizes.sort(descending=True).values[:, : maps.shape[-1] // 2 + 1]

# %% 24.7 | de la fila media
def frequency_gains(maps, *, times=1):
    power = torch.linalg.matrix_power(maps, times)
    return torch.fft.rfft(power.mean(dim=1)).abs()

# %% 24.7 | del filtro medio, por diagonales
def frequency_gains(maps, *, times=1):
    n = maps.shape[-1]
    rows = torch.stack([maps[:, i].roll(-i, -1) for i in range(n)], 1).mean(1)
    return torch.fft.rfft(rows).abs() ** times

# %% 24.7 | respecto a la constante
def frequency_gains(maps, *, times=1):
    power = torch.linalg.matrix_power(maps, times)
    centred = power - power.mean(dim=1, keepdim=True)
    return torch.fft.rfft(centred).abs().square().sum(1).div(maps.shape[-1]).sqrt()

# %% 24.7 | eleva la ganancia ⇒ se eleva el mapa, no la ganancia
def frequency_gains(maps, *, times=1):
    seen = torch.fft.rfft(maps, norm="ortho")
    return torch.linalg.vector_norm(seen, dim=1) ** times

# %% 24.8 | todas por igual
def long_run(weights, start):
    return torch.full_like(start, 1 / len(start)), 1

# %% 24.8 | donde se empieza
def long_run(weights, start):
    return start, len(weights)

# %% 24.8 | el primer autovector por la izquierda
def long_run(weights, start):
    values, vectors = torch.linalg.eig(weights.T)
    vector = vectors[:, values.real.argmax()].real
    return vector / vector.sum(), 1

# %% 24.8 | la media de los cien primeros pasos
def long_run(weights, start):
    total, now = torch.zeros_like(start), start
    for _ in range(100):
        total, now = total + now, now @ weights
    return total / 100, int((torch.linalg.eigvals(weights) - 1).abs().lt(1e-9).sum())

# %% 24.8 | el salto al azar de PageRank
def long_run(weights, start):
    n = len(weights)
    jump = 0.85 * weights + 0.15 / n
    return start @ torch.linalg.matrix_power(jump, 200), 1

# %% 24.8 | una potencia par ⇒ una potencia alta
def long_run(weights, start):
    one = (torch.linalg.eigvals(weights) - 1).abs() < 1e-7
    for _ in range(64):
        start = start @ weights
    return start, int(one.sum())
