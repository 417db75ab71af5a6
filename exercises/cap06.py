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
# # Capítulo 6. Varias cabezas
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 6` (o `atento calificar
# 6.2`).

# %%
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

# %% [markdown]
# ## 6.1 Una fila, varias palabras (★)
#
# Ejercicio 6.1: cambia cada `None` por tu número, con dos decimales si no es entero.

# %%
kept_by_hand = {
    "large": None,  # R² del que pesa 3/4
    "small": None,  # R² del que pesa 1/4
    "third": None,  # R² de cualquiera de los tres que pesan 1/3
    "heads": None,  # cabezas para leer cinco contenidos
}

# %% [markdown]
# ## 6.2 La hoja equivocada (★)
#
# Ejercicio 6.2: «las», «niñas», «que», «vio», «el», «perro» o «corren».

# %%
mixed_word = None

# %% [markdown]
# ## 6.3 Contar sin ejecutar (★)


# %%
def layer_cost(n: int, d_model: int, n_heads: int) -> tuple[int, int, int]:
    """Parámetros, multiplicaciones y celdas de los mapas.

    Enunciado: ejercicio 6.3 del capítulo.
    """
    raise NotImplementedError("Ejercicio 6.3")


# %% [markdown]
# ## 6.4 La función central (★)


# %%
def multi_head_attention(
    x: Float[Tensor, "*batch n d"],
    z: Float[Tensor, "*batch m d"],
    w_query: Float[Tensor, "d d"],
    w_key: Float[Tensor, "d d"],
    w_value: Float[Tensor, "d d"],
    w_output: Float[Tensor, "d d"],
    n_heads: int,
    mask: Bool[Tensor, "n m"] | None = None,
) -> Float[Tensor, "*batch n d"]:
    """Atención multicabeza de ``x`` sobre ``z``.

    Enunciado: ejercicio 6.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 6.4")


# %% [markdown]
# ## 6.5 Cuánto se lee de cada palabra


# %%
def recovered(weights: Float[Tensor, "h m"]) -> Float[Tensor, " m"]:
    """R² de cada contenido.

    Enunciado: ejercicio 6.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 6.5")


# %% [markdown]
# ## 6.6 Cuántas cabezas hacen falta


# %%
def heads_needed(targets: list[list[int]]) -> int:
    """El menor número de cabezas con el que todas las consultas leen lo que piden.

    Enunciado: ejercicio 6.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 6.6")


# %% [markdown]
# ## 6.7 Una clase averiada
#
# Al borrar el `raise`, el código de abajo se ejecuta sin avisos, y tiene tres faltas.


# %%
class BrokenHeads(nn.Module):
    """Atención multicabeza sin sesgos, con las capas ``query``, ``key``, ``value`` y ``output``.

    Enunciado: ejercicio 6.7 del capítulo.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

    def split(self, y: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch head n d_head"]:
        """Reparte las columnas entre las cabezas."""
        raise NotImplementedError(
            "Ejercicio 6.7: borra esta línea y arregla las tres faltas de la clase"
        )
        *batch, n, d_model = y.shape
        return y.reshape(*batch, self.n_heads, n, d_model // self.n_heads)

    def forward(self, x: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch n d_model"]:
        """Autoatención."""
        query, key, value = (
            self.split(self.query(x)),
            self.split(self.key(x)),
            self.split(self.value(x)),
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(x.shape[-1])
        mixed = scores.softmax(dim=-1) @ value
        return self.output(mixed.reshape(x.shape))


# %% [markdown]
# ## 6.8 Podar de verdad


# %%
def prune_heads(
    w_query: Float[Tensor, "d d"],
    w_key: Float[Tensor, "d d"],
    w_value: Float[Tensor, "d d"],
    w_output: Float[Tensor, "d d"],
    n_heads: int,
    keep: list[int],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Las cuatro matrices con solo las cabezas de ``keep``.

    Enunciado: ejercicio 6.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 6.8")


# %% [markdown]
# ## 6.9 De muchas claves a pocas


# %%
def group_heads(w: Float[Tensor, "d d"], n_heads: int, n_kv_heads: int) -> Float[Tensor, "d d_kv"]:
    """La media de las cabezas de cada grupo.

    Enunciado: ejercicio 6.9 del capítulo.
    """
    raise NotImplementedError("Ejercicio 6.9")


# %% [markdown]
# ## 6.10 Emparejar cabezas de dos semillas


# %%
def match_heads(first: Float[Tensor, "h n m"], second: Float[Tensor, "h n m"]) -> list[int]:
    """La permutación que empareja las cabezas con el menor coste.

    Enunciado: ejercicio 6.10 del capítulo.
    """
    raise NotImplementedError("Ejercicio 6.10")
