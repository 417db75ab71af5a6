"""Respuestas buenas, escritas de otra manera. Cada celda es una entrega entera."""

# %% 15.1 | la suma consigo
def first(x):
    return x + x

# %% 15.1 | una división
def first(x):
    return x / 0.5

# %% 15.1 | número por número
def first(x):
    return torch.stack([2 * value for value in x])
