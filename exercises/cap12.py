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
# # Capítulo 12. Entrenarlo
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 12` (o `atento calificar
# 12.4`).

# %%
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

# %% [markdown]
# ## 12.1 Entradas y etiquetas (★)


# %%
def forced_pairs(
    sentences: list[list[int]], bos: int, eos: int, pad: int
) -> tuple[Int[Tensor, "batch m"], Int[Tensor, "batch m"]]:
    """Lo que entra en el decodificador y lo que debe predecir, corridos un sitio.

    Enunciado: ejercicio 12.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 12.1")


# %% [markdown]
# ## 12.2 Cuatro números para un lote (★)
#
# Ejercicio 12.2: cambia cada `None` por tu número, con dos decimales.

# %%
loss_by_hand = {
    "words": None,  # pérdida media por palabra, en nats
    "sentences": None,  # media de las medias de las dos frases
    "slots": None,  # suma de las pérdidas entre todas las casillas
    "perplexity": None,  # perplejidad por palabra
}

# %% [markdown]
# ## 12.3 El doble de calentamiento (★)
#
# Ejercicio 12.3: «lo mismo», «el doble», «la mitad», «√2 veces menos» o «√2 veces más».

# %%
later_rate = None

# %% [markdown]
# ## 12.4 Un paso entero (★)


# %%
def train_step(
    weight: Float[Tensor, "vocab vocab"],
    lots: list[Int[Tensor, "batch m"]],
    rate: float,
    clip: float,
    pad: int = 0,
) -> tuple[Float[Tensor, ""], Float[Tensor, "vocab vocab"]]:
    """La pérdida de todos los lotes juntos y los pesos tras un paso.

    Enunciado: ejercicio 12.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 12.4")


# %% [markdown]
# ## 12.5 Repartir sin regalar


# %%
def smoothed_loss(
    logits: Float[Tensor, "batch m vocab"],
    labels: Int[Tensor, "batch m"],
    smoothing: float,
    pad: int = 0,
) -> Float[Tensor, ""]:
    """Entropía cruzada suavizada sin dar nada al relleno, menos lo inevitable.

    Enunciado: ejercicio 12.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 12.5")


# %% [markdown]
# ## 12.6 Un paso de AdamW


# %%
def adamw_step(
    weight: Float[Tensor, "*shape"],
    grad: Float[Tensor, "*shape"],
    mean: Float[Tensor, "*shape"],
    square: Float[Tensor, "*shape"],
    step: int,
    *,
    rate: float,
    betas: tuple[float, float] = (0.9, 0.98),
    eps: float = 1e-9,
    decay: float = 0.01,
) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """El parámetro y sus dos momentos tras el paso ``step``, contado desde 1.

    Enunciado: ejercicio 12.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 12.6")


# %% [markdown]
# ## 12.7 Un calendario por su curva


# %%
def read_schedule(rates: Float[Tensor, " S"]) -> tuple[str, int, float]:
    """El nombre del calendario, el paso en que llega al máximo y cuánto vale.

    Enunciado: ejercicio 12.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 12.7")


# %% [markdown]
# ## 12.8 Un lote que hace trampa
#
# Al borrar el `raise`, el código de abajo se ejecuta sin avisos, y tiene tres faltas.


# %%
def make_batch(
    pairs: list[tuple[list[int], list[int]]], bos: int, eos: int, pad: int
) -> tuple[
    Int[Tensor, "batch n"],
    Int[Tensor, "batch m"],
    Int[Tensor, "batch m"],
    Bool[Tensor, "batch m"],
]:
    """El origen, las entradas, las etiquetas y cuáles cuentan.

    Enunciado: ejercicio 12.8 del capítulo.
    """
    raise NotImplementedError(
        "Ejercicio 12.8: borra esta línea y arregla las tres faltas de la función"
    )
    ordered = sorted(pairs, key=lambda pair: len(pair[0]))  # poco relleno en el origen
    sources = [torch.tensor([*source, eos]) for source, _ in ordered]
    targets = [torch.tensor([bos, *target, eos]) for _, target in pairs]
    source = nn.utils.rnn.pad_sequence(sources, batch_first=True, padding_value=pad)
    target = nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=eos)
    inputs, labels = target[:, :-1], target[:, :-1]
    return source, inputs, labels, labels != pad


# %% [markdown]
# ## 12.9 Juntar perplejidades


# %%
def corpus_perplexity(
    losses: Float[Tensor, " lots"], tokens: Int[Tensor, " lots"], words: Int[Tensor, " lots"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """La perplejidad por pieza y por palabra de todos los lotes.

    Enunciado: ejercicio 12.9 del capítulo.
    """
    raise NotImplementedError("Ejercicio 12.9")


# %% [markdown]
# ## 12.10 El factor que sube y baja


# %%
def scaled_training(
    weight: Float[Tensor, " d"],
    gradients: Float[Tensor, "S d"],
    scale: float,
    rate: float,
    interval: int,
) -> tuple[Float[Tensor, " d"], float, int]:
    """Los pesos y el factor al final, y cuántos pasos se han saltado.

    Enunciado: ejercicio 12.10 del capítulo.
    """
    raise NotImplementedError("Ejercicio 12.10")


# %% [markdown]
# ## 12.11 Seguir donde se cortó


# %%
def resume_run(
    weight: Float[Tensor, " d"],
    mean: Float[Tensor, " d"],
    square: Float[Tensor, " d"],
    step: int,
    inputs: Float[Tensor, "S n d"],
    targets: Float[Tensor, "S n"],
    *,
    rate: float,
    warmup: int,
    drop: float,
    seed: int,
) -> tuple[Float[Tensor, " rest"], Float[Tensor, " d"]]:
    """Las pérdidas de los pasos que faltan y los pesos del final.

    Enunciado: ejercicio 12.11 del capítulo.
    """
    raise NotImplementedError("Ejercicio 12.11")
