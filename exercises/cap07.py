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
# # Capítulo 7. Máscaras
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 7` (o `atento calificar 7.1`).

# %%
from torch import Tensor

# %% [markdown]
# ## 7.1 El primero


# %%
def first(x: Tensor) -> Tensor:
    """El doble de ``x``, con su misma forma (n,).

    Enunciado: ejercicio 7.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 7.1")
