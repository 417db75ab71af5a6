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
# # Capítulo 16. Decodificadores: GPT: soluciones

# %%
from torch import Tensor

# %% [markdown]
# ## 16.1 El primero
#
# PENDIENTE: por qué es así.


# %%
def first(x: Tensor) -> Tensor:
    return 2 * x
