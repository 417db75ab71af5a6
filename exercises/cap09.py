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
# # Capítulo 9. Posiciones relativas y longitud
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 9` (o `atento calificar
# 9.3`).

# %%
import math

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor

# %% [markdown]
# ## 9.1 ALiBi, con el futuro tapado (★)


# %%
def alibi_bias(n_query: int, n_key: int, n_heads: int) -> Float[Tensor, "head query key"]:
    """El sesgo de cada cabeza, con −∞ en las claves posteriores.

    Enunciado: ejercicio 9.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 9.1")


# %% [markdown]
# ## 9.2 Girar a mano (★)
#
# Ejercicio 9.2: cambia cada `None` por tu número, con tres decimales si no es entero.

# %%
turned_by_hand = {"first": None, "score": None, "shifted": None, "swapped": None}

# %% [markdown]
# ## 9.3 La función central (★)


# %%
def apply_rope(
    x: Float[Tensor, "batch head n d_head"],
    positions: Real[Tensor, "... n"],
    base: float = 10000.0,
    layout: str = "interleaved",
) -> Float[Tensor, "batch head n d_head"]:
    """Gira cada pareja de componentes un ángulo proporcional a su sitio.

    Enunciado: ejercicio 9.3 del capítulo.
    """
    raise NotImplementedError("Ejercicio 9.3")


# %% [markdown]
# ## 9.4 ¿Y si giran también los valores? (★)
#
# Ejercicio 9.4: «nada», «los pesos», «las salidas» o «los pesos y las salidas».

# %%
values_turned_too = None

# %% [markdown]
# ## 9.5 Los cubos de T5


# %%
def t5_bucket(
    relative: Int[Tensor, "..."], n_buckets: int = 32, max_distance: int = 128
) -> Int[Tensor, "..."]:
    """El cubo de cada distancia clave − consulta, con la mitad para las claves posteriores.

    Enunciado: ejercicio 9.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 9.5")


# %% [markdown]
# ## 9.6 Shaw, con sus dos tablas


# %%
def shaw_attention(
    query: Float[Tensor, "... n d"],
    key: Float[Tensor, "... n d"],
    value: Float[Tensor, "... n d_v"],
    key_table: Float[Tensor, "rows d"],
    value_table: Float[Tensor, "rows d_v"],
) -> Float[Tensor, "... n d_v"]:
    """La atención con un vector por distancia sumado a cada clave y otro a cada valor.

    Enunciado: ejercicio 9.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 9.6")


# %% [markdown]
# ## 9.7 Alargar solo si hace falta


# %%
def stretched_angles(
    n: int, d_head: int, trained: int, method: str, base: float = 10000.0
) -> Float[Tensor, "n pair"]:
    """Los ángulos de los sitios 0, …, n − 1, alargados si n pasa de ``trained``.

    Enunciado: ejercicio 9.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 9.7")


# %% [markdown]
# ## 9.8 Un RoPE averiado
#
# El código de abajo tiene tres faltas, todas en `decode_scores`; `_turn` está bien.


# %%
def decode_scores(
    query: Float[Tensor, "batch head n d"],
    key: Float[Tensor, "batch head n d"],
    cached_key: Float[Tensor, "batch head past d"],
    base: float = 10000.0,
) -> Float[Tensor, "batch head n keys"]:
    """Las puntuaciones de las palabras nuevas con las guardadas y con ellas mismas.

    Enunciado: ejercicio 9.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 9.8: borra esta línea y arregla las tres faltas de abajo")
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    speed = base ** (-torch.arange(0, d, 2, dtype=key.dtype) / d)
    angle = torch.arange(past + n, dtype=key.dtype)[:, None] * speed  # (past + n, d / 2)
    query = _turn(query, angle[:n])
    keys = torch.cat([cached_key, key], dim=-2)
    keys = _turn(keys.unflatten(-1, (2, -1)).mT.flatten(-2), angle)
    return query @ keys.mT / math.sqrt(d)


def _turn(x: Tensor, angle: Tensor) -> Tensor:
    """Gira las parejas contiguas: cada una es un número complejo."""
    numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(numbers * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


# %% [markdown]
# ## 9.9 Mudar una caché


# %%
def move_cache(
    key: Float[Tensor, "batch head n d_head"],
    offset: Real[Tensor, " batch"],
    base: float = 10000.0,
    rotary_dim: int | None = None,
) -> Float[Tensor, "batch head n d_head"]:
    """Las claves ya giradas, como si todos sus sitios fueran ``offset`` más.

    Enunciado: ejercicio 9.9 del capítulo.
    """
    raise NotImplementedError("Ejercicio 9.9")
