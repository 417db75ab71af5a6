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
# # Capítulo 17. De secuencia a secuencia: T5
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 17` (o `atento calificar
# 17.1`).

# %%
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 17.1 Tapar tramos (★)


# %%
def corrupt_spans(ids: list[int], hidden: list[bool], vocab: int) -> tuple[list[int], list[int]]:
    """Lo que se lee y lo que se escribe al tapar los tramos que dice ``hidden``.

    Enunciado: ejercicio 17.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 17.1")


# %% [markdown]
# ## 17.2 Dos maneras de barajar (★)
#
# Ejercicio 17.2: «ninguno», «solo las palabras», «solo las filas» o «los dos».

# %%
shuffled = None


# %% [markdown]
# ## 17.3 Tramos y subsecuencias (★)
#
# Ejercicio 17.3: cambia cada `None` por tu número; lo que no sea entero, con tres decimales.

# %%
spans_by_hand = {
    "read": None,  # tokens que se leen
    "written": None,  # tokens que se escriben
    "unigram_f": None,  # F de ROUGE-1
    "lcs": None,  # palabras de la subsecuencia común más larga
    "lcs_f": None,  # F de ROUGE-L
}


# %% [markdown]
# ## 17.4 Rehacer la frase


# %%
def restore_spans(
    source: list[int], written: list[int], vocab: int, n_sentinels: int = 100
) -> list[int]:
    """La frase entera, con cada tramo de ``written`` en el sitio de su centinela.

    Enunciado: ejercicio 17.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 17.4")


# %% [markdown]
# ## 17.5 Cuánto texto cabe


# %%
def raw_length(budget: int, *, density: float = 0.15, mean_length: float = 3.0) -> tuple[int, int]:
    """Los tokens que, una vez tapados, caben en lo que se lee, y los que se escriben entonces.

    Enunciado: ejercicio 17.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 17.5")


# %% [markdown]
# ## 17.6 La atención de T5


# %%
def t5_attention(
    x: Float[Tensor, "batch n d_model"],
    w_query: Float[Tensor, "wide d_model"],
    w_key: Float[Tensor, "wide d_model"],
    w_value: Float[Tensor, "wide d_model"],
    w_output: Float[Tensor, "d_model wide"],
    table: Float[Tensor, "bucket head"],
    bucket: Int[Tensor, "n n"],
    mask: Bool[Tensor, "batch n"] | None = None,
) -> Float[Tensor, "batch n d_model"]:
    """La autoatención de T5: sin dividir y con un sesgo por cabeza y cubo.

    Enunciado: ejercicio 17.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 17.6")


# %% [markdown]
# ## 17.7 ROUGE-L


# %%
def rouge_l(written: list[str], reference: list[str]) -> tuple[float, float, float]:
    """La precisión, la cobertura y la F de la subsecuencia común más larga.

    Enunciado: ejercicio 17.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 17.7")


# %% [markdown]
# ## 17.8 ¿Quién se queda a la vista?


# %%
def hidden_chances(n: int, hidden: int, spans: int) -> Float[Tensor, " n"]:
    """La probabilidad de que se tape cada posición.

    Enunciado: ejercicio 17.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 17.8")
