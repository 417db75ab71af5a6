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
# # Capítulo 23. Eficiencia: soluciones

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

# %% [markdown]
# ## 23.1 Operaciones y bytes
#
# Puntuar es un producto de $(n \times 64)$ por $(64 \times n)$ en cada cabeza, y promediar, otro
# igual de caro: entre las ocho, $4 n^2 d$ operaciones. Las cuatro proyecciones son $8 n d^2$. Se
# igualan en $n = 2d$. Los pesos son $n^2$ números por cabeza, y con cinco veces más filas ocupan
# veinticinco veces más. Lo que hay en un trozo no depende de $n$.


# %%
def costs_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    n, d, heads, size = 2000, 512, 8, 2
    return {
        "attention": 4 * n**2 * d / 1e6,
        "project": 8 * n * d**2 / 1e6,
        "even": 2 * d,
        "table": heads * n**2 * size / 1e6,
        "longer": heads * (5 * n) ** 2 * size / 1e6,
        "tile": heads * 100**2 * size / 1e6,
    }


# %% [markdown]
# ## 23.2 Juntar dos respuestas
#
# Cada parte midió sus exponenciales con su máximo. Se pasan las dos sumas al mayor y entonces ya se
# pueden sumar, y también sirven de pesos para las medias. Donde las dos partes están vacías,
# restar $-\infty$ daría NaN: se resta 0.


# %%
def join_blocks(
    first: tuple[
        Float[Tensor, "query 1"],
        Float[Tensor, "query 1"],
        Float[Tensor, "query d_v"],
    ],
    second: tuple[
        Float[Tensor, "query 1"],
        Float[Tensor, "query 1"],
        Float[Tensor, "query d_v"],
    ],
) -> tuple[
    Float[Tensor, "query 1"],
    Float[Tensor, "query 1"],
    Float[Tensor, "query d_v"],
]:
    """El máximo, la suma y la media de todas las claves, a partir de los de dos partes."""
    (top, total, mean), (other_top, other_total, other_mean) = first, second
    new_top = torch.maximum(top, other_top)
    base = new_top.masked_fill(new_top == -math.inf, 0.0)
    left = total * (top - base).exp()
    right = other_total * (other_top - base).exp()
    new_total = left + right
    summed = left * mean + right * other_mean
    return new_top, new_total, summed / new_total.masked_fill(new_total == 0, 1.0)


# %% [markdown]
# ## 23.3 Tres atenciones y un mismo resumen
#
# Con todas las claves iguales, cada consulta puntúa lo mismo a todas: los pesos son $1/n$, y la
# salida, la media de los valores. Por trozos sale lo mismo porque siempre sale lo mismo. En la
# lineal, $\phi(\q) \cdot \phi(\k)$ también es igual para todas, y al normalizar quedan los
# mismos pesos, aunque los rasgos no se parezcan a la exponencial. La ventana promedia tres vecinas:
# los mismos pesos entre sí, pero sobre otros valores.


# %%
def same_answer() -> str:
    """La respuesta, con las tres atenciones sobre unas claves iguales."""
    rng = torch.Generator().manual_seed(0)
    n, d = 8, 4
    query, value = torch.randn(n, d, generator=rng), torch.randn(n, d, generator=rng)
    key = torch.randn(1, d, generator=rng).expand(n, d)
    scores = query @ key.T / math.sqrt(d)

    def average(weights: Tensor) -> Tensor:
        return weights / weights.sum(dim=-1, keepdim=True) @ value

    place = torch.arange(n)
    near = (place[:, None] - place).abs() <= 1
    top = scores.amax(dim=-1, keepdim=True)
    parts = [((s - top).exp(), v) for s, v in zip(scores.split(3, 1), value.split(3), strict=True)]
    total = sum(w.sum(dim=-1, keepdim=True) for w, _ in parts)
    found = {
        "los trozos": sum(w @ v for w, v in parts) / total,
        "la lineal": average((F.elu(query) + 1) @ (F.elu(key) + 1).T),
        "la ventana": average(scores.exp() * near),
    }
    right = scores.softmax(dim=-1) @ value
    same = [name for name, out in found.items() if torch.allclose(out, right, atol=1e-5)]
    names = {0: "ninguna", 1: "solo los trozos", 2: "los trozos y la lineal", 3: "las tres"}
    return names[len(same)]


# %% [markdown]
# ## 23.4 La atención entera, de trozo en trozo
#
# Tres cosas por consulta viajan de un trozo al siguiente: el mayor visto, la suma de exponenciales
# y la suma de valores, sin dividir. Cuando el mayor sube, las otras dos se encogen. La fila que aún
# no ha visto a nadie tiene $-\infty$ en el mayor, y ahí se resta 0: sin eso saldría NaN. Se divide
# una vez, al final.


# %%
def tiled_attention(
    query: Float[Tensor, "query d_head"],
    key: Float[Tensor, "key d_head"],
    value: Float[Tensor, "key d_v"],
    mask: Bool[Tensor, "query key"],
    *,
    block: int,
) -> tuple[Float[Tensor, "query d_v"], Float[Tensor, "piece query"]]:
    """La atención exacta, por trozos de claves, y lo que se llevaba visto tras cada uno."""
    top = query.new_full((len(query), 1), -math.inf)
    total = torch.zeros_like(top)
    mixed = query.new_zeros(len(query), value.shape[1])
    trace = []
    for start in range(0, len(key), block):
        piece = slice(start, start + block)
        scores = query @ key[piece].T / math.sqrt(query.shape[1])  # (query, block)
        scores = scores.masked_fill(~mask[:, piece], -math.inf)
        new_top = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        base = new_top.masked_fill(new_top == -math.inf, 0.0)
        shrink = (top - base).exp()
        weights = (scores - base).exp()
        total = total * shrink + weights.sum(dim=-1, keepdim=True)
        mixed = mixed * shrink + weights @ value[piece]
        top = new_top
        trace.append((top + total.log()).squeeze(-1))
    return mixed / total.masked_fill(total == 0, 1.0), torch.stack(trace)


# %% [markdown]
# ## 23.5 Leer sin guardar lo leído
#
# El producto de rasgos se puede reordenar: la consulta sale fuera de la suma, y lo que queda dentro
# no depende de ella. Así que basta llevar dos sumas acumuladas. Lo leído antes ya está sumado en el
# estado, y solo hay que añadirlo a todas.


# %%
def linear_attention(
    query: Float[Tensor, "n d"],
    key: Float[Tensor, "n d"],
    value: Float[Tensor, "n d_v"],
    state: tuple[Float[Tensor, "d d_v"], Float[Tensor, " d"]] | None = None,
) -> tuple[Float[Tensor, "n d_v"], tuple[Float[Tensor, "d d_v"], Float[Tensor, " d"]]]:
    """La atención lineal causal, que sigue desde un resumen de lo leído y devuelve el nuevo."""
    asked, offered = F.elu(query) + 1, F.elu(key) + 1
    pairs = (offered[:, :, None] * value[:, None, :]).cumsum(dim=0)  # (n, d, d_v)
    total = offered.cumsum(dim=0)  # (n, d)
    if state is not None:
        pairs, total = pairs + state[0], total + state[1]
    weight = (asked * total).sum(dim=-1, keepdim=True)
    output = torch.einsum("nf,nfv->nv", asked, pairs) / weight
    return output, (pairs[-1], total[-1])


# %% [markdown]
# ## 23.6 La ventana con huecos
#
# Una tabla de distancias lo dice todo: están en la ventana las que son múltiplo de la dilatación y
# no pasan de `window` veces ella. Las globales añaden sus filas y sus columnas. La causalidad se
# pone al final, para que tape también lo que han añadido ellas.


# %%
def sparse_mask(
    n: int, window: int, global_at: list[int], *, dilation: int = 1, causal: bool = False
) -> Bool[Tensor, "n n"]:
    """Quién puede mirar a quién con una ventana, que puede tener huecos, y unas globales."""
    place = torch.arange(n)
    gap = (place[:, None] - place).abs()
    seen = (gap <= window * dilation) & (gap % dilation == 0)
    seen[global_at, :] = True
    seen[:, global_at] = True
    return seen & (place <= place[:, None]) if causal else seen


# %% [markdown]
# ## 23.7 Enteros por grupos
#
# Se separa el eje de las columnas en (grupo, sitio). Cada grupo tiene su escala, la que lleva su
# mayor valor absoluto justo al mayor entero, y así ningún peso se mueve más de media escala. Con un
# grupo por fila es lo del capítulo.


# %%
def quantize_groups(
    weight: Float[Tensor, "rows columns"], group: int, *, bits: int = 8
) -> tuple[Int[Tensor, "rows columns"], Float[Tensor, "rows group"], Float[Tensor, "rows columns"]]:
    """Los enteros, las escalas por grupo y la matriz que representan."""
    top = 2 ** (bits - 1) - 1
    pieces = weight.unflatten(1, (-1, group))  # (rows, group, place)
    largest = pieces.abs().amax(dim=-1)
    scale = torch.where(largest > 0, largest / top, 1.0)
    values = (pieces / scale[..., None]).round()
    restored = values * scale[..., None]
    return values.flatten(1).to(torch.int8), scale, restored.flatten(1)


# %% [markdown]
# ## 23.8 Los sitios de cada experto
#
# El reparto va en un bucle porque cada sitio depende de los anteriores. El orden es el mismo en
# todos los turnos: por la probabilidad de la primera elección. Así, cuando falta sitio, se queda
# fuera quien menos seguro estaba y no quien llegó tarde. La pérdida cuenta las elecciones, quepan o
# no. Las cuentas no tienen gradiente y las probabilidades sí.


# %%
def expert_layer(
    x: Float[Tensor, "token d"],
    logits: Float[Tensor, "token expert"],
    experts: Float[Tensor, "expert d d"],
    *,
    top_k: int,
    capacity: int,
) -> tuple[Float[Tensor, "token d"], Bool[Tensor, "token choice"], Float[Tensor, ""]]:
    """La salida de unos expertos con sitios contados, quién cupo y la pérdida de equilibrio."""
    probabilities = logits.softmax(dim=-1)
    weights, chosen = probabilities.topk(top_k, dim=-1)  # (token, choice)
    kept = torch.zeros_like(chosen, dtype=torch.bool)
    room = [capacity] * len(experts)
    order = weights[:, 0].argsort(descending=True).tolist()
    for choice in range(top_k):
        for token in order:
            wanted = int(chosen[token, choice])
            if room[wanted] > 0:
                room[wanted] -= 1
                kept[token, choice] = True
    answers = torch.einsum("td,tkde->tke", x, experts[chosen])  # (token, choice, d)
    output = ((weights * kept)[..., None] * answers).sum(dim=1)
    load = chosen.flatten().bincount(minlength=len(experts)).to(x.dtype) / chosen.numel()
    balance = len(experts) * (load * probabilities.mean(dim=0)).sum()
    return output, kept, balance
