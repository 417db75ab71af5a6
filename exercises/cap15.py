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
# # Capítulo 15. Codificadores: BERT
#
# Los enunciados están en el capítulo.
# Se corrige con `atento calificar 15` (o `atento calificar 15.1`).

# %%
from torch import Tensor

# %% [markdown]
# ## 15.1 El primero


# %%
def first(x: Tensor) -> Tensor:
    """El doble de ``x``, con su misma forma (n,).

    Enunciado: ejercicio 15.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 15.1")
