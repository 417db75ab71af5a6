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
# # Capítulo 16. Decodificadores: GPT
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 16` (o `atento calificar
# 16.2`).

# %%
import torch
from jaxtyping import Float, Int
from torch import Tensor

# %% [markdown]
# ## 16.1 Un texto, dos tokenizadores (★)
#
# Ejercicio 16.1: cambia cada `None` por tu número, con dos decimales.

# %%
bits_by_hand = {
    "bits": None,  # los bits del texto entero
    "nats": None,  # nats por token
    "perplexity": None,  # por token
    "bpc": None,  # bits por carácter
    "other": None,  # bits por carácter del otro modelo
}

# %% [markdown]
# ## 16.2 La pérdida de un modelo de lenguaje (★)


# %%
def next_token_loss(
    logits: Float[Tensor, "batch n vocab"], ids: Int[Tensor, "batch n"], pad_id: int | None = None
) -> Float[Tensor, ""]:
    """Los nats por token de predecir cada token con lo anterior, sin contar el relleno.

    Enunciado: ejercicio 16.2 del capítulo.
    """
    raise NotImplementedError("Ejercicio 16.2")


# %% [markdown]
# ## 16.3 Sin máscara (★)
#
# Ejercicio 16.3: «no cambia», «sube», «baja y escribe mejor» o «baja y escribe peor».

# %%
without_mask = None

# %% [markdown]
# ## 16.4 Kneser-Ney de dos en dos


# %%
def kneser_ney_bigram(
    ids: Int[Tensor, " n"], vocab: int, discount: float = 0.75
) -> Float[Tensor, "vocab vocab"]:
    """La probabilidad de que a cada símbolo, en su fila, le siga cada uno.

    Enunciado: ejercicio 16.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 16.4")


# %% [markdown]
# ## 16.5 Un texto más largo que el contexto


# %%
def windowed_bpc(
    log_probs: Float[Tensor, "n n"], characters: int, *, window: int, stride: int
) -> float:
    """Los bits por carácter de un texto leído con una ventana que avanza.

    Enunciado: ejercicio 16.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 16.5")


# %% [markdown]
# ## 16.6 El GPT más profundo que cabe


# %%
def deepest_gpt(
    budget: int, *, vocab: int, context: int, d_model: int, tied: bool = True
) -> tuple[int, int]:
    """Las capas del GPT más profundo que cabe en ``budget`` parámetros, y cuántos tiene.

    Enunciado: ejercicio 16.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 16.6")


# %% [markdown]
# ## 16.7 Buscar cabezas de inducción


# %%
def induction_scores(
    weights: Float[Tensor, "heads n n"], ids: Int[Tensor, " n"]
) -> Float[Tensor, " heads"]:
    """El peso medio que cada cabeza pone en lo que siguió a su token la vez anterior.

    Enunciado: ejercicio 16.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 16.7")


# %% [markdown]
# ## 16.8 Predecir un modelo que no existe


# %%
def extrapolate(
    sizes: Float[Tensor, " n"], losses: Float[Tensor, " n"], size: float, t: float = 2.0
) -> tuple[float, float, float, float]:
    """La ley de potencias a·N^(−b) de unas pérdidas y el intervalo que predice para otro tamaño.

    Enunciado: ejercicio 16.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 16.8")
