# %% [markdown]
# Esqueletos del curso de prueba, capítulo 91.

# %%
from jaxtyping import Bool, Float
from torch import Tensor


# %%
def masked_softmax(
    scores: Float[Tensor, "query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "query key"]:
    """Ejercicio 91.1."""
    raise NotImplementedError("Ejercicio 91.1")


# %%
def attend(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Ejercicio 91.2."""
    raise NotImplementedError("Ejercicio 91.2")


# %%
def output_shape(n_query: int, n_key: int, d_value: int) -> tuple[int, ...]:
    """Ejercicio 91.3."""
    raise NotImplementedError("Ejercicio 91.3")


# %%
def scale_scores(
    scores: Float[Tensor, "query key"], *, power: float = 0.5
) -> Float[Tensor, "query key"]:
    """Ejercicio 91.4."""
    raise NotImplementedError("Ejercicio 91.4")


# %%
def unit_vector(vector: Float[Tensor, "d"]) -> Float[Tensor, "d"]:
    """Ejercicio 91.5."""
    raise NotImplementedError("Ejercicio 91.5")
