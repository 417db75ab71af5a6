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
# # Capítulo 14. Tres laboratorios
#
# Los enunciados están en el capítulo.
# Se corrige con `atento calificar 14` (o `atento calificar 14.1`).

# %%
from torch import Tensor

# %% [markdown]
# ## 14.1 El primero


# %%
def first(x: Tensor) -> Tensor:
    """El doble de ``x``, con su misma forma (n,).

    Enunciado: ejercicio 14.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 14.1")
