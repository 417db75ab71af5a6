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
# # Capítulo 21. Oír
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 21` (o `atento calificar
# 21.1`).

# %%
import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor

# %% [markdown]
# ## 21.1 Muestrear a mano (★)
#
# Ejercicio 21.1: cambia cada `None` por tu número.

# %%
sampling_by_hand = {
    "heard": None,  # qué se oye en lugar de 6500 Hz
    "far": None,  # y en lugar de 18 500 Hz
    "same": None,  # cuántos tonos, hasta 20 000 Hz, se oyen como 1500 Hz
    "least": None,  # muestras por segundo que hay que superar
    "wheel": None,  # vueltas por segundo que parece dar la rueda
}


# %% [markdown]
# ## 21.2 Cuánto hay de cada frecuencia (★)


# %%
def spectrum_at(
    signal: Float[Tensor, "batch samples"], frequencies: Float[Tensor, " bin"], rate: float
) -> Complex[Tensor, "batch bin"]:
    """La transformada de Fourier de cada señal, en las frecuencias que se pidan.

    Enunciado: ejercicio 21.2 del capítulo.
    """
    raise NotImplementedError("Ejercicio 21.2")


# %% [markdown]
# ## 21.3 Un golpe y un tono (★)
#
# Ejercicio 21.3: «se estrechan las dos», «solo la del golpe», «solo la del tono» o «ninguna».

# %%
window_doubled = None


# %% [markdown]
# ## 21.4 El espectrograma, marco a marco


# %%
def power_frames(
    signal: Float[Tensor, "batch samples"], size: int, hop: int
) -> Float[Tensor, "batch frame bin"]:
    """La potencia de cada frecuencia en cada marco, con ventana de Hann y sin perder el final.

    Enunciado: ejercicio 21.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 21.4")


# %% [markdown]
# ## 21.5 Triángulos en la escala mel


# %%
def log_mel_htk(
    power: Float[Tensor, "frame bin"],
    rate: float,
    n_mels: int,
    *,
    low: float = 0.0,
    high: float | None = None,
) -> Float[Tensor, "frame mel"]:
    """El logaritmo de lo que cae en cada triángulo, con los triángulos de HTK.

    Enunciado: ejercicio 21.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 21.5")


# %% [markdown]
# ## 21.6 Separar sin saber quién es quién


# %%
def pit_loss(
    estimates: Float[Tensor, "batch voice samples"], targets: Float[Tensor, "batch voice samples"]
) -> Float[Tensor, ""]:
    """Menos el SI-SNR medio de las voces separadas, con el mejor reparto en cada mezcla.

    Enunciado: ejercicio 21.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 21.6")


# %% [markdown]
# ## 21.7 Tapar tramos y elegir


# %%
def hidden_loss(
    outputs: Float[Tensor, "frame d"],
    targets: Float[Tensor, "frame d"],
    starts: list[int],
    span: int,
    negatives: Int[Tensor, "hidden k"],
    *,
    temperature: float = 0.1,
) -> Float[Tensor, ""]:
    """La pérdida contrastiva de wav2vec 2.0 en los marcos tapados.

    Enunciado: ejercicio 21.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 21.7")


# %% [markdown]
# ## 21.8 De qué clase son los errores


# %%
def error_counts(written: list[str], wanted: list[str]) -> tuple[float, int, int, int]:
    """La CER de unas transcripciones y cuántas sustituciones, borrados e inserciones tienen.

    Enunciado: ejercicio 21.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 21.8")
