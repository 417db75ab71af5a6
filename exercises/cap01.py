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
# # Capítulo 1. Lo que cambió en 2017
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 1` (o `atento calificar 1.1`).

# %%
from torch import Tensor

# %% [markdown]
# ## 1.1 El primero


# %%
def first(x: Tensor) -> Tensor:
    """El doble de ``x``, con su misma forma (n,).

    Enunciado: ejercicio 1.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 1.1")
