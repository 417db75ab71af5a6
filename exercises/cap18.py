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
# # Capítulo 18. Ajustar y alinear
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 18` (o `atento calificar
# 18.1`).

# %%
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 18.1 Una capa con LoRA (★)


# %%
def lora_layer(
    x: Float[Tensor, "*batch d_in"],
    weight: Float[Tensor, "d_out d_in"],
    down: Float[Tensor, "rank d_in"],
    up: Float[Tensor, "d_out rank"],
    alpha: float,
    bias: Float[Tensor, " d_out"] | None = None,
) -> tuple[Float[Tensor, "*batch d_out"], Float[Tensor, "d_out d_in"]]:
    """La salida de una capa con LoRA, y la matriz que, sola, da la misma.

    Enunciado: ejercicio 18.1 del capítulo.
    """
    raise NotImplementedError("Ejercicio 18.1")


# %% [markdown]
# ## 18.2 Las dos a cero (★)
#
# Ejercicio 18.2: «ninguna», «solo A», «solo B» o «las dos».

# %%
moved = None


# %% [markdown]
# ## 18.3 Números de LoRA y dos divergencias (★)
#
# Ejercicio 18.3: cambia cada `None` por tu número; lo que no sea exacto, con tres decimales.

# %%
tuning_by_hand = {
    "lora": None,  # números que se entrenan con LoRA
    "times": None,  # veces que caben en la matriz entera
    "largest_rank": None,  # el mayor rango que todavía ahorra
    "forward": None,  # KL de la política a la referencia, en nats
    "reverse": None,  # KL de la referencia a la política, en nats
}


# %% [markdown]
# ## 18.4 Descongelar poco a poco


# %%
def rates_at(
    step: int,
    n_layers: int,
    *,
    rate: float,
    wait: int,
    peak: int,
    steps: int,
    decay: float = 2.6,
    ratio: float = 32.0,
) -> Float[Tensor, " n_layers"]:
    """La tasa de cada capa en un paso, de abajo arriba; 0 si aún está congelada.

    Enunciado: ejercicio 18.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 18.4")


# %% [markdown]
# ## 18.5 Destilar con pocas respuestas


# %%
def distill(
    student: Float[Tensor, "batch vocab"],
    teacher: Float[Tensor, "batch vocab"],
    labels: Int[Tensor, " batch"],
    *,
    temperature: float,
    hard: float,
) -> Float[Tensor, ""]:
    """La pérdida de destilar, con respuestas en algunos ejemplos.

    Enunciado: ejercicio 18.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 18.5")


# %% [markdown]
# ## 18.6 Solo la respuesta


# %%
def answer_loss(
    logits: Float[Tensor, "batch n vocab"],
    ids: Int[Tensor, "batch n"],
    *,
    assistant: int,
    end: int,
) -> tuple[Bool[Tensor, "batch n"], Float[Tensor, ""]]:
    """Qué tokens de unos diálogos ha de escribir el asistente, y lo que cuesta escribirlos.

    Enunciado: ejercicio 18.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 18.6")


# %% [markdown]
# ## 18.7 DPO cuando quien elige se equivoca


# %%
def dpo(
    policy_chosen: Float[Tensor, " batch"],
    policy_rejected: Float[Tensor, " batch"],
    reference_chosen: Float[Tensor, " batch"],
    reference_rejected: Float[Tensor, " batch"],
    *,
    beta: float,
    flip: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """La pérdida de DPO, el margen de cada pareja y su coeficiente en el gradiente.

    Enunciado: ejercicio 18.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 18.7")


# %% [markdown]
# ## 18.8 El gradiente de política, sin derivar


# %%
def policy_step(
    policy: Float[Tensor, "batch options"],
    reference: Float[Tensor, "batch options"],
    rewards: Float[Tensor, "batch options"],
    drawn: Int[Tensor, "batch n"],
    *,
    beta: float,
) -> tuple[Float[Tensor, "batch options"], Float[Tensor, "batch options"]]:
    """Hacia dónde empujan unas muestras a la política, y la mejor política.

    Enunciado: ejercicio 18.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 18.8")
