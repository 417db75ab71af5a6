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
# # Capítulo 4. La atención, derivada: soluciones

# %%
import math

import torch
from torch import Tensor

# %% [markdown]
# ## 4.1 Una clave nula
#
# La clave nula es una columna más. `torch.softmax` resta el máximo, así que no desborda.


# %%
def softmax_with_null(scores: Tensor, null_score: float) -> Tensor:
    """Pesos de las claves, ``(…, key) → (…, key)``, cuando compite además una clave nula que luego
    se descarta.
    """
    extended = torch.cat(
        [scores, torch.full_like(scores[..., :1], null_score)], dim=-1
    )  # (…, key + 1)
    return extended.softmax(dim=-1)[..., :-1]  # (…, key)


# %% [markdown]
# ## 4.2 La misma frase, otra consulta
#
# Con la consulta (2, 0) solo cuenta la primera componente de las claves: 4 para «estación», 2 para
# «tren» y 0 para las demás, todo entre la raíz de 2.


# %%
def attention_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    query = (2.0, 0.0)
    keys = [
        (0.0, 0.5),
        (0.0, 0.0),
        (2.0, 0.0),
        (0.0, 1.0),
        (1.0, 2.0),
    ]  # pasó, la, estación, del, tren
    values = [(0.4, 0.4), (0.0, 0.0), (1.0, 1.0), (0.0, 0.0), (2.0, 0.0)]  # (transporte, época)
    scores = [(query[0] * k[0] + query[1] * k[1]) / math.sqrt(2) for k in keys]
    exps = [math.exp(score) for score in scores]
    weights = [e / sum(exps) for e in exps]
    output = sum(w * v[0] for w, v in zip(weights, values, strict=True))
    return {"score": scores[2], "weight": weights[2], "output": output}


# %% [markdown]
# ## 4.3 El mismo vector sumado a todas las claves
#
# `q·(k + c) = q·k + q·c`, y `q·c` es el mismo número en toda la fila: la softmax no lo ve.


# %%
def shift_effect() -> str:
    """La respuesta, calculada con una frase cualquiera de cinco palabras."""
    rng = torch.Generator().manual_seed(4)
    query, key, shift = (torch.randn(n, 2, generator=rng, dtype=torch.float64) for n in (5, 5, 1))
    change = (query @ (key + shift).T).softmax(-1) - (query @ key.T).softmax(-1)
    changed = int((change.abs().amax(-1) > 1e-9).sum())
    return {0: "ninguna", 1: "solo la de «tren»"}.get(changed, "todas")


# %% [markdown]
# ## 4.4 Predecir las formas
#
# Los dos últimos ejes los deciden los productos; los demás se difunden. La salida puede tener más
# ejes de lote que los pesos, si los trae `value`.


# %%
def shared_shape(one: list[int], other: list[int]) -> list[int]:
    """La forma a la que se difunden dos tensores de esas formas."""
    return list(torch.broadcast_tensors(torch.empty(one), torch.empty(other))[0].shape)


def attention_shapes(
    query_shape: list[int], key_shape: list[int], value_shape: list[int]
) -> list[list[int]]:
    """Formas de las puntuaciones, de los pesos y de la salida, en ese orden."""
    batch = shared_shape(query_shape[:-2], key_shape[:-2])
    scores = [*batch, query_shape[-2], key_shape[-2]]  # (query, d_k)(d_k, key) → (query, key)
    batch = shared_shape(batch, value_shape[:-2])
    output = [*batch, query_shape[-2], value_shape[-1]]  # (query, key)(key, d_v) → (query, d_v)
    return [scores, list(scores), output]


# %% [markdown]
# ## 4.5 La función central
#
# Un paso por línea, con los nombres del capítulo. La softmax de PyTorch ya resta el máximo.


# %%
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Salida ``(…, query, d_v)`` y pesos ``(…, query, key)``, en ese orden.

    query ``(…, query, d_k)``, key ``(…, key, d_k)``, value ``(…, key, d_v)``; mask booleana
    ``(query, key)``, ``True`` donde se puede atender, o ``None``.
    """
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # puntuar y escalar: (…, query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)  # enmascarar
    weights = scores.softmax(dim=-1)  # normalizar: cada fila suma 1
    return weights @ value, weights  # promediar: (…, query, d_v)


# %% [markdown]
# ## 4.6 Una temperatura por consulta
#
# La temperatura es de la consulta: su eje es el penúltimo de las puntuaciones, y hay que añadirle
# el último.


# %%
def attention_with_temperature(
    query: Tensor, key: Tensor, value: Tensor, temperature: Tensor
) -> Tensor:
    """Atención por producto escalar en la que cada consulta tiene su temperatura.

    query ``(batch, query, d_k)``, key ``(batch, key, d_k)``, value ``(batch, key, d_v)``,
    temperature ``(batch, query)`` → ``(batch, query, d_v)``.
    """
    scores = query @ key.transpose(-2, -1) / temperature[..., None]  # (batch, query, key)
    return scores.softmax(dim=-1) @ value


# %% [markdown]
# ## 4.7 Núcleo gaussiano con máscara
#
# Las filas tapadas enteras se dejan sin tapar mientras se normaliza (para no hacer 0/0) y se anulan
# al final.


# %%
def gaussian_attention(
    query: Tensor, key: Tensor, value: Tensor, bandwidth: float, mask: Tensor
) -> Tensor:
    """Nadaraya-Watson con máscara, ``True`` donde se puede atender.

    query ``(query, d)``, key ``(key, d)``, value ``(key, d_v)``, mask ``(query, key)`` → ``(query,
    d_v)``.
    """
    squared = (query[:, None] - key[None]).square().sum(dim=-1)  # (query, key)
    scores = -squared / (2 * bandwidth**2)
    alone = ~mask.any(dim=-1, keepdim=True)  # (query, 1)
    weights = scores.masked_fill(~(mask | alone), -math.inf).softmax(dim=-1)
    return weights.masked_fill(alone, 0.0) @ value


# %% [markdown]
# ## 4.8 Arreglar la atención por columnas
#
# Las tres faltas: se dividía entre la raíz de la longitud y no de la dimensión; la softmax recorría
# las consultas; y la traspuesta final solo encaja, por casualidad, si hay tantas consultas como
# claves.


# %%
def column_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Atención por columnas: ``(d_attn, l_x)``, ``(d_attn, l_z)``, ``(d_v, l_z)`` → ``(d_v,
    l_x)``."""
    scores = key.T @ query / math.sqrt(key.shape[0])  # (l_z, l_x)
    weights = scores.softmax(dim=0)  # cada columna suma 1
    return value @ weights  # (d_v, l_z)(l_z, l_x)


# %% [markdown]
# ## 4.9 Medir la escala que hace falta
#
# Con medias distintas de 0, `q·k = (q − μ_q)·(k − μ_k) + μ_q·(k − μ_k) + μ_k·(q − μ_q) + μ_q·μ_k`:
# los tres primeros términos no están correlacionados entre sí y sus varianzas se suman; el cuarto
# es una constante. La traza `tr(AB)` con `B` simétrica es la suma de los productos elemento a
# elemento.


# %%
def score_scale(queries: Tensor, keys: Tensor) -> float:
    """Desviación típica de ``q·k`` al tomar al azar una consulta de ``(N, d)`` y una clave de ``(M,
    d)``.
    """

    def covariance(samples: Tensor) -> Tensor:
        centered = samples - samples.mean(dim=0)
        return centered.T @ centered / len(samples)  # (d, d)

    mean_q, mean_k = queries.mean(dim=0), keys.mean(dim=0)
    cov_q, cov_k = covariance(queries), covariance(keys)
    spread = (cov_q * cov_k).sum()  # tr(Σ_q Σ_k), el teorema de la varianza
    shift_q = mean_q @ cov_k @ mean_q
    shift_k = mean_k @ cov_q @ mean_k
    return math.sqrt(float(spread + shift_q + shift_k))


# %% [markdown]
# ## 4.10 La jacobiana sin la jacobiana
#
# `J = beta (diag(p) − p pᵀ)`, luego `J t = beta (p ∘ t − p ⟨p, t⟩)`: basta un producto escalar por
# fila.


# %%
def softmax_jvp(scores: Tensor, tangent: Tensor, beta: float) -> Tensor:
    """Producto de la jacobiana de ``softmax(beta · scores)`` por ``tangent``, fila a fila: ``(…,
    key) → (…, key)``.
    """
    weights = (beta * scores).softmax(dim=-1)
    mean = (weights * tangent).sum(dim=-1, keepdim=True)  # ⟨p, t⟩
    return beta * weights * (tangent - mean)


# %% [markdown]
# ## 4.11 Quedarse con unas pocas claves
#
# Tapar antes de normalizar basta: los pesos de las claves conservadas ya suman 1.


# %%
def top_attention(
    query: Tensor, key: Tensor, value: Tensor, keep: int = 3, power: float = 0.5
) -> Tensor:
    """Atención con las ``keep`` claves de mayor puntuación ``q·k / d_k**power`` de cada consulta:
    ``(query, d_v)``.
    """
    scores = query @ key.T / query.shape[-1] ** power  # (query, key)
    kept = torch.zeros_like(scores, dtype=torch.bool).scatter(
        -1, scores.topk(keep, dim=-1).indices, True
    )
    return scores.masked_fill(~kept, -math.inf).softmax(dim=-1) @ value


# %% [markdown]
# ## 4.12 La temperatura que pide una entropía
#
# La entropía baja al crecer beta: si en el punto medio es mayor que la pedida, hay que subir. El
# intervalo cubre muchos órdenes de magnitud y la bisección se hace en su logaritmo.


# %%
def beta_for_entropy(scores: Tensor, entropy: Tensor) -> Tensor:
    """Para cada fila de ``scores`` ``(n, key)``, el beta que da la entropía pedida ``(n,)``, en
    nats.
    """
    low = torch.full_like(entropy, math.log(1e-8))
    high = torch.full_like(entropy, math.log(1e4))
    for _ in range(80):
        middle = (low + high) / 2
        weights = (middle.exp()[:, None] * scores).softmax(dim=-1)
        too_flat = torch.special.entr(weights).sum(dim=-1) > entropy
        low, high = torch.where(too_flat, middle, low), torch.where(too_flat, high, middle)
    return ((low + high) / 2).exp()


# %% [markdown]
# ## 4.13 Atención que llega a trozos
#
# Cuando aparece un máximo mayor, todo lo acumulado se refería al anterior: se multiplica por
# `exp(viejo − nuevo)`. Es la idea de FlashAttention, que vuelve en el capítulo 23.


# %%
def absorb_block(
    state: tuple[Tensor, Tensor, Tensor], query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Máximo visto ``(query, 1)``, suma de exponenciales ``(query, 1)`` y suma ponderada ``(query,
    d_v)``, al día.

    state: las tres, antes del bloque. query ``(query, d_k)``, key ``(block, d_k)``, value ``(block,
    d_v)``.
    """
    top, total, weighted = state
    scores = query @ key.T / math.sqrt(query.shape[-1])  # (query, block)
    new_top = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    correction = (top - new_top).exp()  # lo acumulado se refería al máximo anterior
    exps = (scores - new_top).exp()
    new_total = total * correction + exps.sum(dim=-1, keepdim=True)
    new_weighted = weighted * correction + exps @ value
    return new_top, new_total, new_weighted
