"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 15.1 | suma dos
def first(x):
    return x + 2

# %% 15.1 | la mitad
def first(x):
    return x / 2

# %% 15.1 | repite en lugar de doblar
def first(x):
    return torch.cat([x, x])

# %% 15.1 | solo el primero
def first(x):
    return torch.cat([2 * x[:1], x[1:]])

# %% 15.1 | sin signo
def first(x):
    return 2 * x.abs()
