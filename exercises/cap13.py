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
# # Capítulo 13. Generar
#
# Los enunciados están en el capítulo.
# Se corrige con `atento calificar 13` (o `atento calificar 13.1`).

# %%
from torch import Tensor

# %% [markdown]
# ## 13.1 El primero


# %%
def first(x: Tensor) -> Tensor:
    """El doble de ``x``, con su misma forma (n,).

    Enunciado: ejercicio 13.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 13.1")
