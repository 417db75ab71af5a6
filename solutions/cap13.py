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
# # Capítulo 13. Generar: soluciones

# %%
import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 13.1 El bucle
#
# Tres paradas: la palabra de fin, que se escribe; las últimas palabras **generadas**, que no
# incluyen las del prefijo; y la longitud, que tampoco las cuenta.


# %%
def write(
    logits: Float[Tensor, "vocab vocab"],
    prefix: Sequence[int],
    *,
    eos_id: int,
    max_length: int,
    stop: Sequence[int] = (),
) -> list[int]:
    """Escribe cada vez la palabra de mayor puntuación, hasta una de las tres paradas."""
    written: list[int] = []
    last = prefix[-1]
    while len(written) < max_length:
        last = int(logits[last].argmax())
        written.append(last)
        if last == eos_id:
            break
        if stop and written[-len(stop) :] == list(stop):
            break
    return written


# %% [markdown]
# ## 13.2 Un árbol a mano
#
# La voraz empieza por «el», con 0.55, y sigue por «tren»: $0.55 \cdot 0.4 \cdot 1 = 0.22$. Por
# «mañana .» se llega a $0.45 \cdot 0.8 = 0.36$. Si «mañana» tiene probabilidad $x$, la de «el tren
# .» es $0.4 (1 - x)$ y la de «mañana .», $0.8 x$: empatan en $x = 1/3$.


# %%
def tree_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    first = {"el": 0.55, "mañana": 0.45}
    after = {"el": {"tren": 0.4, "barco": 0.35, "avión": 0.25}, "mañana": {".": 0.8, "no": 0.2}}
    top = max(first, key=first.get)
    best = max(first[one] * share for one in first for share in after[one].values())
    to_noun, to_end = max(after["el"].values()), after["mañana"]["."]
    return {
        "greedy": first[top] * max(after[top].values()),
        "best": best,
        "tie": to_noun / (to_noun + to_end),
    }


# %% [markdown]
# ## 13.3 Un paso del haz
#
# Se suman las log-probabilidades y se ordenan **todas** las parejas hipótesis–palabra juntas. Solo
# se guardan las que acaban entre las `beams` primeras; siguen las `beams` mejores que no acaban,
# aunque haya que bajar más en la lista.


# %%
def beam_step(
    totals: Float[Tensor, " live"],
    log_probs: Float[Tensor, "live vocab"],
    *,
    beams: int,
    eos_id: int,
) -> tuple[Int[Tensor, " beams"], Int[Tensor, " beams"], Float[Tensor, " beams"], list[int]]:
    """De qué hipótesis viene cada una de las que siguen, su palabra, su suma, y cuáles acaban."""
    vocab = log_probs.shape[1]
    candidates = (totals[:, None] + log_probs).flatten()  # (live · vocab,)
    order = candidates.argsort(descending=True)
    parents, words = order // vocab, order % vocab
    ends = words == eos_id
    closed = parents[:beams][ends[:beams]].tolist()
    going = (~ends).nonzero().flatten()[:beams]
    return parents[going], words[going], candidates[order[going]], closed


# %% [markdown]
# ## 13.4 La temperatura, a mano
#
# Las dos probabilidades están en proporción 4 : 1, y la temperatura eleva esa razón a $1/\tau$.
# Con $\tau = 0.5$, 16 : 1, y queda $16/17 = 0.94$; con $\tau = 2$, 2 : 1, y queda $2/3 = 0.67$. La
# razón es $64 = 4^3$ con $\tau = 1/3$. Aplicar $\tau = 2$ dos veces es aplicar $\tau = 4$: razón
# $\sqrt 2 : 1$, y queda 0.59.


# %%
def temperature_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    ratio = 0.8 / 0.2

    def share(temperature):
        odds = ratio ** (1 / temperature)
        return odds / (1 + odds)

    return {
        "cold": share(0.5),
        "hot": share(2.0),
        "tau": math.log(ratio) / math.log(64),
        "twice": share(2.0 * 2.0),
    }


# %% [markdown]
# ## 13.5 Cuántas quedan
#
# Con $\tau = 0.5$ cada probabilidad queda proporcional a su cuadrado: 0.561, 0.316, 0.079, 0.035 y
# 0.009. Las dos primeras juntan 0.877, que no llega a 0.9; la tercera cruza, y entra. Al revés
# (primero el núcleo y después la temperatura) quedarían cuatro.


# %%
def nucleus_size() -> str:
    """La respuesta, contada."""
    probs = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05], dtype=torch.float64)
    reached = (probs.log() / 0.5).softmax(dim=0).cumsum(dim=0)
    names = {2: "dos", 3: "tres", 4: "cuatro", 5: "cinco"}
    return names[int((reached < 0.9).sum()) + 1]


# %% [markdown]
# ## 13.6 El núcleo, con sus empates
#
# Se ordenan las probabilidades y se busca la primera posición en la que la suma llega a `p`. La
# puntuación de esa palabra es el listón: se quedan todas las que lo alcanzan, así que entran las
# que empatan con ella. Comparar con el listón ahorra deshacer la ordenación.


# %%
def nucleus(
    logits: Float[Tensor, "*batch vocab"], p: float, temperature: float = 1.0
) -> Float[Tensor, "*batch vocab"]:
    """Las probabilidades tras la temperatura y el núcleo; las que empatan, entran juntas."""
    warm = logits / temperature
    ordered = warm.sort(dim=-1, descending=True).values
    reached = ordered.softmax(dim=-1).cumsum(dim=-1)
    crossing = (reached < p).sum(dim=-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
    least = ordered.gather(-1, crossing)  # (…, 1): la puntuación de la que cruza
    return warm.masked_fill(warm < least, -math.inf).softmax(dim=-1)


# %% [markdown]
# ## 13.7 min-p, con un mínimo
#
# La probabilidad de una palabra dividida entre la de la mejor es $e^{z_i - \max z}$: basta comparar
# diferencias de puntuaciones con $\ln p$. Si quedan pocas, entran las mejores hasta `at_least`.


# %%
def keep_min_p(
    logits: Float[Tensor, "*batch vocab"], p: float, at_least: int = 1
) -> Bool[Tensor, "*batch vocab"]:
    """Qué palabras quedan: las de probabilidad al menos ``p`` veces la mayor, y no menos de
    ``at_least``."""
    gap = logits - logits.amax(dim=-1, keepdim=True)
    rank = logits.argsort(dim=-1, descending=True).argsort(dim=-1)  # 0, la mejor
    return (gap >= math.log(p)) | (rank < at_least)


# %% [markdown]
# ## 13.8 Un haz averiado
#
# Las tres faltas: se sumaban probabilidades, que se multiplican (lo que se suma son logaritmos); la
# búsqueda paraba en cuanto acababa una; y la puntuación dividía entre la longitud máxima, la misma
# para todas, en vez de entre la de cada frase.


# %%
def broken_beam(
    log_probs: Float[Tensor, "vocab vocab"],
    start: int,
    *,
    beams: int,
    eos_id: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[list[int], float]:
    """La frase de mayor puntuación que encuentra el haz, y su puntuación."""
    live: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[tuple[list[int], float]] = []
    for _ in range(max_length):
        grown = []
        for words, total in live:
            last = words[-1] if words else start
            for word, log_prob in enumerate(log_probs[last].tolist()):
                grown.append(([*words, word], total + log_prob))
        grown.sort(key=lambda one: one[1], reverse=True)
        finished += [one for one in grown[:beams] if one[0][-1] == eos_id]
        live = [one for one in grown if one[0][-1] != eos_id][:beams]
    finished += live  # las que corta la longitud
    scored = [(words, total / len(words) ** alpha) for words, total in finished]
    return max(scored, key=lambda one: one[1])


# %% [markdown]
# ## 13.9 Una caché propia
#
# Solo se proyecta lo nuevo. Las claves y los valores de antes se ponen delante, y la máscara deja
# que la posición nueva $i$ mire las `past` anteriores y las nuevas hasta ella.


# %%
def cached_attention(
    x: Float[Tensor, "batch new d"],
    past_key: Float[Tensor, "batch head past d_head"],
    past_value: Float[Tensor, "batch head past d_head"],
    w_query: Float[Tensor, "d d"],
    w_key: Float[Tensor, "d d"],
    w_value: Float[Tensor, "d d"],
) -> tuple[
    Float[Tensor, "batch new d"],
    Float[Tensor, "batch head total d_head"],
    Float[Tensor, "batch head total d_head"],
]:
    """La salida de las posiciones nuevas, y la caché con ellas."""
    heads, past, d_head = past_key.shape[1:]
    query, key, value = (
        (x @ w).unflatten(-1, (heads, d_head)).transpose(1, 2) for w in (w_query, w_key, w_value)
    )  # (batch, head, new, d_head)
    key = torch.cat([past_key, key], dim=2)
    value = torch.cat([past_value, value], dim=2)
    new = x.shape[1]
    seen = torch.ones(new, past + new, dtype=torch.bool).tril(diagonal=past)
    scores = (query @ key.mT / math.sqrt(d_head)).masked_fill(~seen, -math.inf)
    output = scores.softmax(dim=-1) @ value
    return output.transpose(1, 2).flatten(2), key, value


# %% [markdown]
# ## 13.10 Un lote con compañía
#
# De cada fila se mira su última palabra de verdad, no la última columna. Una fila que ha acabado
# escribe relleno hasta que acaban las demás, y el bucle para cuando han acabado todas.


# %%
def write_batch(
    logits: Float[Tensor, "vocab vocab"],
    prompts: Int[Tensor, "batch n"],
    *,
    eos_id: int,
    pad_id: int,
    max_length: int,
) -> Int[Tensor, "batch length"]:
    """Lo que escribe cada fila, como si estuviera sola, y relleno detrás."""
    rows = torch.arange(len(prompts))
    last = prompts[rows, (prompts != pad_id).sum(dim=1) - 1]
    done = torch.zeros(len(prompts), dtype=torch.bool)
    columns: list[Tensor] = []
    while len(columns) < max_length and not done.all():
        last = torch.where(done, last, logits[last].argmax(dim=-1))
        columns.append(last.masked_fill(done, pad_id))
        done = done | (last == eos_id)
    return torch.stack(columns, dim=1)


# %% [markdown]
# ## 13.11 Qué frase gana según α
#
# Con $s_i = \ln p_i < 0$, gana la de menor $|s_i| / \ell_i^\alpha$, es decir, la de menor
# $\ln |s_i| - \alpha \ln \ell_i$: una **recta** en $\alpha$ por frase, y la respuesta es el borde
# de abajo de todas ellas. Desde la que gana, la siguiente es la más larga cuya recta corta antes a
# la suya.


# %%
def winners_by_alpha(log_probs: Sequence[float], lengths: Sequence[int]) -> list[tuple[int, float]]:
    """Las frases que ganan con algún α ≥ 0, en orden, y el α desde el que gana cada una."""
    now = max(range(len(lengths)), key=lambda i: log_probs[i])
    found = [(now, 0.0)]
    while True:
        crossings = [
            (math.log(log_probs[i] / log_probs[now]) / math.log(lengths[i] / lengths[now]), i)
            for i in range(len(lengths))
            if lengths[i] > lengths[now]
        ]
        if not crossings:
            return found
        alpha, now = min(crossings)
        found.append((now, alpha))


# %% [markdown]
# ## 13.12 ¿Sortea bien?
#
# Una sola palabra imposible basta para suspender. Las demás se comparan con lo esperado, $N p_i$.
# Las que se esperan menos de cinco veces van juntas, y los grados de libertad son los grupos menos
# uno.


# %%
def chi_square(
    counts: Int[Tensor, " vocab"],
    logits: Float[Tensor, " vocab"],
    *,
    temperature: float = 1.0,
    top_k: int,
) -> tuple[float, int]:
    """El estadístico χ² de un sorteo con temperatura y top-k, y sus grados de libertad."""
    warm = logits / temperature
    kept = torch.zeros_like(logits, dtype=torch.bool)
    kept[warm.topk(top_k).indices] = True
    expected = counts.sum() * warm.masked_fill(~kept, -math.inf).softmax(dim=0)
    small = kept & (expected < 5)
    large = kept & ~small
    seen, hoped = counts[large].double(), expected[large]
    if small.any():
        seen = torch.cat([seen, counts[small].sum()[None].double()])
        hoped = torch.cat([hoped, expected[small].sum()[None]])
    if counts[~kept].any():
        return math.inf, len(hoped) - 1
    return float(((seen - hoped) ** 2 / hoped).sum()), len(hoped) - 1
