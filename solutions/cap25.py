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
# # Capítulo 25. Mirar dentro: soluciones

# %%
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 25.1 ¿Es de inducción?
#
# Una clave interesa a una consulta si lo que hay **delante** de la clave es el token de la
# consulta. La primera clave no tiene nada delante, y el triángulo de abajo, sin la diagonal, deja
# las que ya han pasado. La media es solo de las consultas que tienen adónde mirar.


# %%
def induction_score(
    weights: Float[Tensor, "head query key"], ids: Int[Tensor, " n"]
) -> Float[Tensor, " head"]:
    """Qué parte de su atención pone cada cabeza en lo que siguió a las apariciones anteriores."""
    target = torch.zeros(len(ids), len(ids), dtype=torch.bool)  # (query, key)
    target[:, 1:] = ids[:, None] == ids[:-1]
    target = target.tril(-1)
    asks = target.any(dim=-1)
    mass = (weights * target).sum(dim=-1)  # (head, query)
    return mass[:, asks].mean(dim=-1)


# %% [markdown]
# ## 25.2 Quitar una cabeza, a cero y a su media
#
# La cabeza A suma siempre lo mismo, 2 · 1 + (−1) · (−2) = 4. A cero, todo baja 4 y el modelo dice
# siempre «no»; en su media no cambia nada. A no distingue unos ejemplos de otros: lo que se ha roto
# es el umbral. La B sí los distingue. En su media, que es 3.2, todos puntúan −7 + 4 + 3.2.


# %%
def ablation_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    right = [True, False, True, False, False]
    first = 2 * 1 + -1 * -2
    second = [6, 2, 5, 2, 1]
    average = sum(second) / len(second)
    rest = -7

    def hits(a: float, b: list[float]) -> int:
        return sum((rest + a + x > 0) == y for x, y in zip(b, right, strict=True))

    return {
        "writes": first,
        "zero": hits(0, second),
        "mean": hits(first, second),
        "score": rest + first + average,
        "hits": hits(first, [average] * len(second)),
    }


# %% [markdown]
# ## 25.3 Lo que está y lo que se usa
#
# La sonda lee los dos rasgos igual de bien, y en los dos su control falla: solo dice que están. El
# borrado y el parche cambian la respuesta con el rasgo que se usa y la dejan como estaba con el
# otro. Para decir que algo se usa hay que tocarlo.


# %%
def tells_apart() -> str:
    """La respuesta, con dos rasgos en unos vectores y un modelo que solo mira el primero."""
    rng = torch.Generator().manual_seed(0)
    axes = torch.linalg.qr(torch.randn(8, 8, generator=rng)).Q
    signs = torch.randint(2, (400, 2), generator=rng) * 2.0 - 1
    x = signs @ axes[:2] + 0.1 * torch.randn(400, 6, generator=rng) @ axes[2:]
    goals = torch.cat([signs, torch.randint(2, (400, 2), generator=rng) * 2.0 - 1], dim=1)

    def answer(x: Tensor) -> Tensor:
        return torch.tanh(x @ axes[0])

    seen = {"sonda": [], "borrado": [], "parche": []}
    for feature in range(2):
        axis = axes[feature]
        goal = goals[:, [feature, feature + 2]]  # el rasgo y sus etiquetas al azar
        probe = torch.linalg.lstsq(x[:200], goal[:200]).solution
        read = ((x[200:] @ probe) * goal[200:] > 0).double().mean(dim=0)
        along = (x @ axis)[:, None] * axis
        seen["sonda"].append(bool(read[0] > 0.9 > read[1]))
        seen["borrado"].append(torch.allclose(answer(x - along), answer(x), atol=1e-3))
        patched = x - along + along.roll(1, 0)
        seen["parche"].append(torch.allclose(answer(patched), answer(x), atol=1e-3))
    differ = [name for name, (used, unused) in seen.items() if used != unused]
    names = {0: "ninguno", 1: "solo la sonda", 2: "el borrado y el parche", 3: "los tres"}
    return names[len(differ)]


# %% [markdown]
# ## 25.4 La lente, y desde dónde está decidido
#
# A cada altura, la norma final y la matriz de salida. Para saber desde dónde no cambia se recorre
# hacia atrás: se cuentan las alturas seguidas, desde la última, que dicen lo mismo que ella. El
# producto acumulado se hace cero en la primera que no, y ya no vuelve.


# %%
def lens(
    states: Float[Tensor, "depth n d_model"],
    gain: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"],
    table: Float[Tensor, "vocab d_model"],
    *,
    eps: float = 1e-5,
) -> tuple[Float[Tensor, "depth n vocab"], Int[Tensor, " n"]]:
    """Lo que diría el modelo si parase a cada altura, y la altura desde la que ya no cambia."""
    centred = states - states.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    scaled = centred / (variance + eps).sqrt()
    logits = (scaled * gain + bias) @ table.T
    said = logits.argmax(dim=-1)  # (depth, n)
    same = (said == said[-1]).long()
    steady = same.flip(0).cumprod(dim=0).sum(dim=0)
    return logits, len(states) - steady


# %% [markdown]
# ## 25.5 Una sonda y su control
#
# La misma sonda se ajusta dos veces: con las etiquetas de verdad y con las de control, que son las
# que tocaron a cada palabra. Las dos se miden en filas que ninguna ha visto. La resta es lo que no
# se explica por saberse las palabras de memoria.


# %%
def selectivity(
    states: Float[Tensor, "n d_model"],
    labels: Int[Tensor, " n"],
    types: Int[Tensor, " n"],
    control: Int[Tensor, " word"],
    train: Bool[Tensor, " n"],
) -> tuple[Float[Tensor, "task test class"], float]:
    """Las puntuaciones de la sonda y de su control, en las filas apartadas, y la selectividad."""
    x = torch.cat([states, torch.ones_like(states[:, :1])], dim=1)
    classes = int(labels.max()) + 1
    scores, hits = [], []
    for goal in (labels, control[types]):
        wanted = torch.nn.functional.one_hot(goal, classes).to(x)
        probe = torch.linalg.lstsq(x[train], wanted[train]).solution
        scores.append(x[~train] @ probe)  # (test, class)
        right = scores[-1].argmax(dim=-1) == goal[~train]
        hits.append(right.double().mean().item())
    return torch.stack(scores), hits[0] - hits[1]


# %% [markdown]
# ## 25.6 Borrar direcciones
#
# Si las direcciones no son ortogonales, quitar lo de una devuelve parte de la otra: hace falta una
# base ortonormal de lo que abarcan entre todas. La da la SVD, sin los valores singulares nulos, que
# salen si una dirección es combinación de las demás.


# %%
def erase(
    x: Float[Tensor, "n d_model"],
    directions: Float[Tensor, "k d_model"],
    *,
    mean: Float[Tensor, " d_model"] | None = None,
) -> Float[Tensor, "n d_model"]:
    """Los vectores sin lo que va por esas direcciones, o con lo que lleva la media."""
    _, sizes, axes = torch.linalg.svd(directions, full_matrices=False)
    basis = axes[sizes > 1e-9 * sizes.max()]  # (rank, d_model)
    centre = torch.zeros_like(x[0]) if mean is None else mean
    return x - (x - centre) @ basis.T @ basis


# %% [markdown]
# ## 25.7 El mapa de parches
#
# Cada casilla es una ejecución: los estados de la entrada estropeada a esa altura, con **una** fila
# de la buena, y desde ahí, las capas que faltan. La altura 0 es la entrada, y la última, la salida:
# ahí solo cuenta la posición que se lee.


# %%
def patch_map(
    clean: Float[Tensor, "n d_model"],
    corrupted: Float[Tensor, "n d_model"],
    mixes: Float[Tensor, "layer n n"],
    weights: Float[Tensor, "layer d_model d_model"],
    read: Float[Tensor, " d_model"],
) -> Float[Tensor, "depth n"]:
    """Qué parte de la diferencia vuelve al parchear cada altura y cada posición."""

    def heights(x: Tensor, first: int = 0) -> list[Tensor]:
        out = [x]
        for mix, weight in zip(mixes[first:], weights[first:], strict=True):
            out.append(out[-1] + torch.tanh(mix @ out[-1] @ weight))
        return out

    good, bad = heights(clean), heights(corrupted)
    best, worst = good[-1][-1] @ read, bad[-1][-1] @ read
    effects = read.new_zeros(len(good), len(clean))
    for height in range(len(good)):
        for place in range(len(clean)):
            mixed = bad[height].clone()
            mixed[place] = good[height][place]
            effects[height, place] = heights(mixed, height)[-1][-1] @ read
    return (effects - worst) / (best - worst)


# %% [markdown]
# ## 25.8 Otro mapa, la misma salida
#
# Un cambio de una fila no se nota si no mueve la salida ni la suma de los pesos: ha de ser
# perpendicular a las columnas de los valores y a la de unos, contando solo las claves visibles. Se
# quita de lo que falta para llegar a `toward` lo que va por esas columnas, y se avanza hasta llegar
# o hasta que un peso sea cero. Si hay tantas columnas independientes como claves, no queda nada: no
# hay otro mapa.


# %%
def same_output(
    weights: Float[Tensor, "query key"],
    values: Float[Tensor, "key d_model"],
    toward: Float[Tensor, "query key"],
) -> Float[Tensor, "query key"]:
    """Otro mapa de atención con la misma salida, llevado hacia el que se pida."""
    other = weights.clone()
    columns = torch.cat([values, torch.ones_like(values[:, :1])], dim=1)
    for row, (now, goal) in enumerate(zip(weights, toward, strict=True)):
        seen = now > 0
        axes, sizes, _ = torch.linalg.svd(columns[seen], full_matrices=False)
        axes = axes[:, sizes > 1e-9 * sizes.max()]
        step = goal[seen] - now[seen]
        step = step - axes @ (axes.T @ step)
        falls = step < 0
        room = (now[seen][falls] / -step[falls]).tolist()
        other[row, seen] = now[seen] + min([1.0, *room]) * step
    return other
