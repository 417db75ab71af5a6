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
# Los enunciados están en el capítulo. Se corrige con `atento calificar 15` (o `atento calificar
# 15.3`).

# %%
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 15.1 Mil palabras a examen (★)
#
# Ejercicio 15.1: cambia cada `None` por tu número. `asked`, en tanto por ciento; los decimales, los
# que pide el enunciado.

# %%
masking_by_hand = {
    "altered": None,  # cuántas ve el modelo distintas de como eran
    "intact": None,  # por cuántas se le pregunta viéndolas como eran
    "asked": None,  # de las que no ve tapadas, por qué porcentaje se le pregunta
    "loss": None,  # nats
}

# %% [markdown]
# ## 15.2 Sin tapar nada (★)
#
# Ejercicio 15.2: «baja casi a cero», «se queda en la de un modelo que lee de izquierda a derecha»,
# «baja más despacio, hasta donde la de BERT» o «se queda en ln V».

# %%
uncovered_loss = None

# %% [markdown]
# ## 15.3 Tapar con los sorteos dados (★)


# %%
def mask_tokens(
    ids: Int[Tensor, "batch n"],
    chance: Float[Tensor, "batch n"],
    fate: Float[Tensor, "batch n"],
    other: Int[Tensor, "batch n"],
    *,
    mask_id: int,
    special: list[int],
    fraction: float = 0.15,
) -> tuple[Int[Tensor, "batch n"], Int[Tensor, "batch n"]]:
    """Lo que ve el modelo y lo que se le pregunta, con los sorteos ya hechos.

    Enunciado: ejercicio 15.3 del capítulo.
    """
    raise NotImplementedError("Ejercicio 15.3")


# %% [markdown]
# ## 15.4 Pagar solo por lo preguntado


# %%
def masked_loss(
    states: Float[Tensor, "batch n d_model"],
    labels: Int[Tensor, "batch n"],
    matrix: Float[Tensor, "vocab d_model"],
    bias: Float[Tensor, " vocab"],
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """La entropía cruzada media de las posiciones por las que se pregunta; 0 si no hay ninguna.

    Enunciado: ejercicio 15.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 15.4")


# %% [markdown]
# ## 15.5 El parecido de dos frases


# %%
def compare_sentences(
    states: Float[Tensor, "batch n d_model"], real: Bool[Tensor, "batch n"]
) -> tuple[Float[Tensor, "batch d_model"], Float[Tensor, "batch batch"]]:
    """El vector medio de cada frase y el coseno de cada dos.

    Enunciado: ejercicio 15.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 15.5")


# %% [markdown]
# ## 15.6 La cuenta de la familia


# %%
def family_parameters(
    vocab: int,
    d_model: int,
    d_ff: int,
    n_layers: int,
    max_len: int,
    n_segments: int = 2,
    *,
    factor: int | None = None,
    shared: bool = False,
) -> tuple[int, int]:
    """Los parámetros de la entrada y los de la pila de bloques.

    Enunciado: ejercicio 15.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 15.6")


# %% [markdown]
# ## 15.7 Señalar la respuesta, o que no la hay


# %%
def answer_span(
    start: Float[Tensor, "batch n"],
    end: Float[Tensor, "batch n"],
    allowed: Bool[Tensor, "batch n"],
    max_length: int,
    margin: float = 0.0,
) -> Int[Tensor, "batch 2"]:
    """La primera y la última posición de cada respuesta; (0, 0) si no la hay.

    Enunciado: ejercicio 15.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 15.7")


# %% [markdown]
# ## 15.8 De piezas a entidades


# %%
def read_entities(
    pieces: list[str], scores: Float[Tensor, "n tags"], kinds: list[str]
) -> list[tuple[str, str]]:
    """Las entidades de una frase, con su clase, según la mejor secuencia de etiquetas que vale.

    Enunciado: ejercicio 15.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 15.8")
