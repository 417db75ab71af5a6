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
# Los enunciados están en el capítulo.
# Se corrige con `atento calificar 16` (o `atento calificar 16.1`).

# %%
from torch import Tensor

# %% [markdown]
# ## 16.1 El primero


# %%
def first(x: Tensor) -> Tensor:
    """El doble de ``x``, con su misma forma (n,).

    Enunciado: ejercicio 16.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 16.1")
