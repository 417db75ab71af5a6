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
# # Capítulo 15. Codificadores: BERT: soluciones

# %%
from torch import Tensor

# %% [markdown]
# ## 15.1 El primero
#
# PENDIENTE: por qué es así.


# %%
def first(x: Tensor) -> Tensor:
    return 2 * x
