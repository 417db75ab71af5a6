# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Capítulo 26. Escalar: soluciones

# %%
import torch
from jaxtyping import Float, Int
from torch import Tensor

# %% [markdown]
# ## 26.1 El presupuesto de un entrenamiento
#
# Cada bloque tiene 4 matrices de 100 × 100 en la atención y 2 de 100 × 400 en la red. Todas ellas,
# y la de salida, se multiplican por cada token: 2 FLOP por número hacia delante y 4 hacia atrás.
# Como la tabla y la matriz de salida son la misma, aquí se multiplican todos los parámetros. Cada
# uno pide 16 bytes: el peso, su gradiente y dos momentos, de 4 bytes cada cosa.


# %%
def budget_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    d, layers, vocab, tokens, heads = 100, 2, 1000, 10**6, 5
    block = 4 * d * d + 2 * d * 4 * d
    parameters = layers * block + vocab * d
    flops = 6 * parameters * tokens
    pairs = 50 * 50
    return {
        "parameters": parameters,
        "flops": flops,
        "state": (4 + 4 + 8) * parameters,
        "tables": 4 * layers * 8 * heads * pairs,
        "seconds": flops / (0.4 * 10**11),
    }


# %% [markdown]
# ## 26.2 Juntar lo que dice cada proceso
#
# Cada media entra con la parte de las palabras que tenía su proceso. Los que no tienen ninguna se
# apartan antes: multiplicar por cero no quita un NaN. Los demás NaN siguen su camino.


# %%
def join_processes(
    losses: Float[Tensor, " process"],
    gradients: list[list[Tensor]],
    counts: Int[Tensor, " process"],
) -> tuple[Float[Tensor, ""], list[Tensor]]:
    """La pérdida media del lote entero, y su gradiente, un tensor por parámetro."""
    shares = counts.to(losses) / counts.sum()
    active = [r for r, count in enumerate(counts.tolist()) if count > 0]
    loss = sum(shares[r] * losses[r] for r in active)
    joined = [sum(shares[r] * gradients[r][i] for r in active) for i in range(len(gradients[0]))]
    return loss, joined


# %% [markdown]
# ## 26.3 Cuántos bytes le tocan a cada proceso
#
# De cada parámetro se guardan pesos, gradientes y lo del optimizador: 4, 4 y 8 bytes, o 2, 2 y 12.
# Suman 16 de las dos maneras. Cada etapa parte una cosa más, y el trozo se redondea hacia arriba.


# %%
def bytes_per_process(parameters: int, processes: int, stage: int, half: bool) -> list[int]:
    """Los bytes de los pesos, de los gradientes y de lo que guarda el optimizador."""
    each = [2, 2, 4 + 4 + 4] if half else [4, 4, 4 + 4]
    part = -(-parameters // processes)
    split_from = [3, 2, 1]
    return [
        size * (part if stage >= first else parameters)
        for size, first in zip(each, split_from, strict=True)
    ]


# %% [markdown]
# ## 26.4 El anillo, paso a paso
#
# Manda cada uno el trozo que acaba de recibir, así que en el paso s es el r − s. En la primera
# vuelta se suma, y al acabarla el proceso r tiene entero el trozo r + 1, que es el que acaba de
# recibir y el primero que manda en la segunda. Ahí se copia.


# %%
def ring_states(
    values: Float[Tensor, "process length"],
) -> tuple[Float[Tensor, "step process length"], Int[Tensor, " process"]]:
    """Lo que tienen todos tras cada paso de la reducción, y cuántos números manda cada uno."""
    n, length = values.shape
    chunks = torch.arange(length).tensor_split(n)
    states, sent = [values], torch.zeros(n, dtype=torch.long)
    for step in range(2 * (n - 1)):
        before, after = states[-1], states[-1].clone()
        for r in range(n):
            chunk, to = chunks[(r - step) % n], (r + 1) % n
            kept = before[to, chunk] if step < n - 1 else 0
            after[to, chunk] = kept + before[r, chunk]
            sent[r] += len(chunk)
        states.append(after)
    return torch.stack(states), sent


# %% [markdown]
# ## 26.5 Una red con puerta, partida
#
# A cada proceso le tocan las mismas componentes de las tres matrices: unas columnas de la primera
# mitad, las mismas de la segunda mitad y las filas que las recogen. Cortar `first` en trozos
# seguidos mezclaría puertas con lo que no es suyo. El segundo sesgo entra una sola vez.


# %%
def split_ffn(
    x: Float[Tensor, "n d_model"],
    first: Float[Tensor, "d_model two_d_ff"],
    first_bias: Float[Tensor, " two_d_ff"],
    second: Float[Tensor, "d_ff d_model"],
    second_bias: Float[Tensor, " d_model"],
    processes: int,
) -> Float[Tensor, "process n d_model"]:
    """Lo que pone cada proceso en la única suma de una red SwiGLU partida."""
    d_ff = len(second)
    parts = []
    for own in torch.arange(d_ff).tensor_split(processes):
        gate = x @ first[:, own] + first_bias[own]
        up = x @ first[:, d_ff + own] + first_bias[d_ff + own]
        parts.append(torch.nn.functional.silu(gate) * up @ second[own])
    parts[0] = parts[0] + second_bias
    return torch.stack(parts)


# %% [markdown]
# ## 26.6 Un entrenamiento con fallos
#
# Se avanza de tramo en tramo: trabajar hasta el siguiente punto y guardarlo. Si el tramo acaba
# antes de la caída, vale entero. Si no, se cuenta el trabajo hecho en él, se salta a la hora de la
# caída y se añade la vuelta, que otra caída puede hacer empezar de nuevo.


# %%
def time_with_failures(
    work: int, every: int, save: int, restart: int, failures: list[float]
) -> tuple[float, float]:
    """La hora de reloj a la que acaba y las horas de trabajo que hubo que repetir."""
    clock, saved, again = 0.0, 0, 0.0
    falls = list(failures)
    while True:
        stretch = min(every, work - saved)
        last = saved + stretch == work
        end = clock + stretch + (0 if last else save)
        if not falls or falls[0] > end:
            clock, saved = end, saved + stretch
            if last:
                return clock, again
            continue
        fall = falls.pop(0)
        again += min(fall - clock, stretch)
        while falls and falls[0] < fall + restart:
            fall = falls.pop(0)
        clock = fall + restart


# %% [markdown]
# ## 26.7 El calendario de una tubería
#
# Lo que se hace, con su etapa, acaba a una hora que depende de dos: la de lo anterior en la misma
# etapa y la de lo que hace falta de otra. Se da vueltas por las etapas, y cada una avanza mientras
# sepa las dos.


# %%
def pipeline_table(
    orders: list[list[int]], backward: int
) -> tuple[Int[Tensor, "stage time"], float]:
    """Qué hace cada etapa en cada instante, y la parte de la tabla en que están paradas."""
    last = len(orders) - 1
    ends: dict[tuple[int, int], int] = {}
    spans: list[tuple[int, int, int, int]] = []
    done, free = [0] * len(orders), [0] * len(orders)
    while done != [len(order) for order in orders]:
        for s, order in enumerate(orders):
            while done[s] < len(order):
                item = order[done[s]]
                if item > 0:
                    needs = (s - 1, item) if s > 0 else None
                else:
                    needs = (s + 1, item) if s < last else (s, -item)
                if needs is not None and needs not in ends:
                    break
                start = max(free[s], ends[needs] if needs is not None else 0)
                free[s] = start + (1 if item > 0 else backward)
                ends[s, item] = free[s]
                spans.append((s, start, free[s], item))
                done[s] += 1
    table = torch.zeros(len(orders), max(free), dtype=torch.long)
    for s, start, end, item in spans:
        table[s, start:end] = item
    return table, (table == 0).double().mean().item()


# %% [markdown]
# ## 26.8 Qué capas van en cada etapa
#
# Se empieza por el final. `best[s][i]` es lo mejor que pueden hacer las etapas desde la s con las
# capas desde la i: se prueba cuántas lleva la s, y el resto ya está resuelto. Son unas p L²
# cuentas, y la memoria solo descarta tramos.


# %%
def split_layers(
    times: list[int], weights: list[int], activations: list[int], stages: int, limit: int
) -> tuple[int, list[int]]:
    """El menor tiempo posible de la etapa más lenta y cuántas capas lleva cada una."""
    layers = len(times)
    best: dict[tuple[int, int], tuple[float, list[int]]] = {(stages, layers): (0, [])}
    for s in reversed(range(stages)):
        for i in range(layers):
            time = memory = 0
            for j in range(i, layers):
                time += times[j]
                memory += weights[j] + (stages - s) * activations[j]
                if memory > limit:
                    break
                if (s + 1, j + 1) not in best:
                    continue
                rest, sizes = best[s + 1, j + 1]
                slowest = max(time, rest)
                if (s, i) not in best or slowest < best[s, i][0]:
                    best[s, i] = slowest, [j + 1 - i, *sizes]
    return best[0, 0]
