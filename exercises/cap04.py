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
# # Capítulo 4. La atención, derivada
#
# Los enunciados están en la sección «Ejercicios» del capítulo. Todos los tensores llegan en
# float64.

# %%
import math

import torch
from torch import Tensor

# %% [markdown]
# ## 4.1 Una clave nula (★)


# %%
def softmax_with_null(scores: Tensor, null_score: float) -> Tensor:
    """Pesos de las claves, ``(…, key) → (…, key)``, cuando compite además una clave nula que luego
    se descarta.
    """
    # Faltan dos líneas: la primera reúne las puntuaciones con la de la clave nula; la segunda
    # normaliza y recorta.
    raise NotImplementedError("Ejercicio 4.1")


# %% [markdown]
# ## 4.2 La misma frase, otra consulta (★)
#
# Ejercicio 4.2: cambia cada `None` por tu número, con tres decimales.

# %%
attention_by_hand = {"score": None, "weight": None, "output": None}

# %% [markdown]
# ## 4.3 El mismo vector sumado a todas las claves (★)
#
# Ejercicio 4.3: una de estas cadenas: "todas", "solo la de «tren»" o "ninguna".

# %%
shift_effect = None

# %% [markdown]
# ## 4.4 Predecir las formas (★)


# %%
def attention_shapes(
    query_shape: list[int], key_shape: list[int], value_shape: list[int]
) -> list[list[int]]:
    """Formas de las puntuaciones, de los pesos y de la salida, en ese orden."""
    raise NotImplementedError("Ejercicio 4.4")


# %% [markdown]
# ## 4.5 La función central (★)


# %%
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Salida ``(…, query, d_v)`` y pesos ``(…, query, key)``, en ese orden.

    query ``(…, query, d_k)``, key ``(…, key, d_k)``, value ``(…, key, d_v)``; mask booleana
    ``(query, key)``, ``True`` donde se puede atender, o ``None``.
    """
    raise NotImplementedError("Ejercicio 4.5")


# %% [markdown]
# ## 4.6 Una temperatura por consulta (★★)


# %%
def attention_with_temperature(
    query: Tensor, key: Tensor, value: Tensor, temperature: Tensor
) -> Tensor:
    """Atención por producto escalar en la que cada consulta tiene su temperatura.

    query ``(batch, query, d_k)``, key ``(batch, key, d_k)``, value ``(batch, key, d_v)``,
    temperature ``(batch, query)`` → ``(batch, query, d_v)``.
    """
    raise NotImplementedError("Ejercicio 4.6")


# %% [markdown]
# ## 4.7 Núcleo gaussiano con máscara (★★)


# %%
def gaussian_attention(
    query: Tensor, key: Tensor, value: Tensor, bandwidth: float, mask: Tensor
) -> Tensor:
    """Nadaraya-Watson con máscara, ``True`` donde se puede atender.

    query ``(query, d)``, key ``(key, d)``, value ``(key, d_v)``, mask ``(query, key)`` → ``(query,
    d_v)``.
    """
    raise NotImplementedError("Ejercicio 4.7")


# %% [markdown]
# ## 4.8 Arreglar la atención por columnas (★★)


# %%
def column_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Atención por columnas: ``(d_attn, l_x)``, ``(d_attn, l_z)``, ``(d_v, l_z)`` → ``(d_v,
    l_x)``."""
    raise NotImplementedError("Ejercicio 4.8: borra esta línea y arregla las tres faltas de abajo")
    scores = key.T @ query / math.sqrt(key.shape[1])
    weights = scores.softmax(dim=1)
    return value @ weights.T


# %% [markdown]
# ## 4.9 Medir la escala que hace falta (★★)


# %%
def score_scale(queries: Tensor, keys: Tensor) -> float:
    """Desviación típica de ``q·k`` al tomar al azar una consulta de ``(N, d)`` y una clave de ``(M,
    d)``.
    """
    raise NotImplementedError("Ejercicio 4.9")


# %% [markdown]
# ## 4.10 La jacobiana sin la jacobiana (★★)


# %%
def softmax_jvp(scores: Tensor, tangent: Tensor, beta: float) -> Tensor:
    """Producto de la jacobiana de ``softmax(beta · scores)`` por ``tangent``, fila a fila: ``(…,
    key) → (…, key)``.
    """
    raise NotImplementedError("Ejercicio 4.10")


# %% [markdown]
# ## 4.11 Quedarse con unas pocas claves (★★)


# %%
def top_attention(
    query: Tensor, key: Tensor, value: Tensor, keep: int = 3, power: float = 0.5
) -> Tensor:
    """Atención con las ``keep`` claves de mayor puntuación ``q·k / d_k**power`` de cada consulta:
    ``(query, d_v)``.
    """
    raise NotImplementedError("Ejercicio 4.11")


# %% [markdown]
# ## 4.12 La temperatura que pide una entropía (★★★)


# %%
def beta_for_entropy(scores: Tensor, entropy: Tensor) -> Tensor:
    """Para cada fila de ``scores`` ``(n, key)``, el beta que da la entropía pedida ``(n,)``, en
    nats.
    """
    raise NotImplementedError("Ejercicio 4.12")


# %% [markdown]
# ## 4.13 Atención que llega a trozos (★★★)


# %%
def absorb_block(
    state: tuple[Tensor, Tensor, Tensor], query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Máximo visto ``(query, 1)``, suma de exponenciales ``(query, 1)`` y suma ponderada ``(query,
    d_v)``, al día.

    state: las tres, antes del bloque. query ``(query, d_k)``, key ``(block, d_k)``, value ``(block,
    d_v)``.
    """
    raise NotImplementedError("Ejercicio 4.13")
