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
# # Capítulo 18. Ajustar y alinear: soluciones

# %%
import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 18.1 Una capa con LoRA
#
# El desvío baja a `rank` números y vuelve a subir, y entonces se escala. La fundida suma a la
# matriz el mismo producto, con la misma escala; el sesgo no es cosa suya.


# %%
def lora_layer(
    x: Float[Tensor, "*batch d_in"],
    weight: Float[Tensor, "d_out d_in"],
    down: Float[Tensor, "rank d_in"],
    up: Float[Tensor, "d_out rank"],
    alpha: float,
    bias: Float[Tensor, " d_out"] | None = None,
) -> tuple[Float[Tensor, "*batch d_out"], Float[Tensor, "d_out d_in"]]:
    """La salida de una capa con LoRA, y la matriz que, sola, da la misma."""
    scale = alpha / len(down)
    detour = x @ down.mT @ up.mT
    output = x @ weight.mT + scale * detour
    if bias is not None:
        output = output + bias
    return output, weight + scale * (up @ down)


# %% [markdown]
# ## 18.2 Las dos a cero
#
# El gradiente de $B$ lleva un factor $A x$, y el de $A$, un factor $B^\top$. Con las dos a cero,
# los dos gradientes son cero, y siguen siéndolo paso tras paso. Aquí se cuenta con una capa.


# %%
def moved() -> str:
    """La respuesta, tras cien pasos de descenso."""
    rng = torch.Generator().manual_seed(0)
    x, target, weight = (torch.randn(8, 8, generator=rng) for _ in range(3))
    down, up = torch.zeros(2, 8, requires_grad=True), torch.zeros(8, 2, requires_grad=True)
    for _ in range(100):
        loss = (x @ weight.mT + x @ down.mT @ up.mT - target).square().mean()
        steps = torch.autograd.grad(loss, (down, up))
        with torch.no_grad():
            down -= 0.1 * steps[0]
            up -= 0.1 * steps[1]
    names = {(0, 0): "ninguna", (1, 0): "solo A", (0, 1): "solo B", (1, 1): "las dos"}
    return names[int(down.any()), int(up.any())]


# %% [markdown]
# ## 18.3 Números de LoRA y dos divergencias
#
# Con rango $r$ se entrenan $r (256 + 1024)$ números, y la matriz tiene $256 \cdot 1024$. Se ahorra
# hasta $r = 204$. Las razones de las dos políticas son potencias de 2: cada logaritmo es un número
# entero de bits, y un bit son $0.693$ nats. Salen $0.625$ bits en un sentido y $0.5$ en el otro.


# %%
def tuning_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    d_in, d_out, rank = 256, 1024, 4
    policy, reference = (1 / 2, 1 / 4, 1 / 8, 1 / 8), (1 / 8, 1 / 2, 1 / 4, 1 / 8)
    pairs = [*zip(policy, reference, strict=True)]
    full, lora = d_in * d_out, rank * (d_in + d_out)
    return {
        "lora": lora,
        "times": full / lora,
        "largest_rank": (full - 1) // (d_in + d_out),
        "forward": sum(p * math.log(p / q) for p, q in pairs),
        "reverse": sum(q * math.log(q / p) for p, q in pairs),
    }


# %% [markdown]
# ## 18.4 Descongelar poco a poco
#
# Lo que decide una capa es lo lejos que está de la última: cuándo se descongela y cuántas veces se
# divide su tasa. El triángulo es el mismo para todas.


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
    """La tasa de cada capa en un paso, de abajo arriba; 0 si aún está congelada."""
    height = step / peak if step <= peak else (steps - step) / (steps - peak)
    top = rate * (1 + height * (ratio - 1)) / ratio
    depth = torch.arange(n_layers - 1, -1, -1, dtype=torch.float64)  # la última, a 0
    awake = depth * wait <= step
    return torch.where(awake, top / decay**depth, 0.0)


# %% [markdown]
# ## 18.5 Destilar con pocas respuestas
#
# Con `log_softmax` en los dos lados no hay logaritmos de cero. Los ejemplos sin respuesta cuentan
# en la parte blanda y no en la dura, cada una con su promedio.


# %%
def distill(
    student: Float[Tensor, "batch vocab"],
    teacher: Float[Tensor, "batch vocab"],
    labels: Int[Tensor, " batch"],
    *,
    temperature: float,
    hard: float,
) -> Float[Tensor, ""]:
    """La pérdida de destilar, con respuestas en algunos ejemplos."""
    log_q = (student / temperature).log_softmax(dim=-1)
    log_p = (teacher.detach() / temperature).log_softmax(dim=-1)
    soft = temperature**2 * (log_p.exp() * (log_p - log_q)).sum(dim=-1).mean()
    known = labels >= 0
    if not known.any():
        return (1 - hard) * soft
    log_right = student.log_softmax(dim=-1)[known, labels[known]]
    return (1 - hard) * soft - hard * log_right.mean()


# %% [markdown]
# ## 18.6 Solo la respuesta
#
# Se recorre la fila con una variable que dice si habla el asistente. Su marca la enciende a partir
# del token siguiente, y el `end` la apaga después de contarse. La primera columna nunca se aprende,
# y por eso basta puntuar de la segunda en adelante.


# %%
def answer_loss(
    logits: Float[Tensor, "batch n vocab"],
    ids: Int[Tensor, "batch n"],
    *,
    assistant: int,
    end: int,
) -> tuple[Bool[Tensor, "batch n"], Float[Tensor, ""]]:
    """Qué tokens de unos diálogos ha de escribir el asistente, y lo que cuesta escribirlos."""
    mask = torch.zeros_like(ids, dtype=torch.bool)
    for row, taken in zip(ids.tolist(), mask, strict=True):
        speaking = False
        for t, token in enumerate(row):
            taken[t] = speaking
            if token == assistant:
                speaking = True
            elif token == end:
                speaking = False
    log_p = logits[:, :-1].log_softmax(dim=-1)  # el sitio t puntúa al token t + 1
    log_right = log_p.gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return mask, -log_right[mask[:, 1:]].mean()


# %% [markdown]
# ## 18.7 DPO cuando quien elige se equivoca
#
# Se deriva la pérdida de una pareja respecto de su margen: $-(1 - \varepsilon) \sigma(-m) +
# \varepsilon \sigma(m)$. El margen lleva delante una $\beta$, y la media, un $1/\text{batch}$. Sin
# ruido, el coeficiente no es nunca negativo: por separada que esté la pareja, se sigue empujando.
# Con ruido cambia de signo en cuanto $\sigma(m) > 1 - \varepsilon$.


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
    """La pérdida de DPO, el margen de cada pareja y su coeficiente en el gradiente."""
    chosen = policy_chosen - reference_chosen
    rejected = policy_rejected - reference_rejected
    margin = beta * (chosen - rejected)
    losses = -(1 - flip) * F.logsigmoid(margin) - flip * F.logsigmoid(-margin)
    push = (1 - flip) * torch.sigmoid(-margin) - flip * torch.sigmoid(margin)
    return losses.mean(), margin, beta * push / len(margin)


# %% [markdown]
# ## 18.8 El gradiente de política, sin derivar
#
# El gradiente de $\log \pi(y)$ respecto de las puntuaciones es un 1 en $y$ menos $\pi$. Las
# ventajas de una pregunta suman cero, así que la parte de $\pi$ se va al sumar. Aun así se
# escribe, que con otra línea de base no se iría. El óptimo sale de igualar a cero la derivada del
# objetivo: $\pi_{\text{ref}}$ por la exponencial de la recompensa entre $\beta$, normalizado.


# %%
def policy_step(
    policy: Float[Tensor, "batch options"],
    reference: Float[Tensor, "batch options"],
    rewards: Float[Tensor, "batch options"],
    drawn: Int[Tensor, "batch n"],
    *,
    beta: float,
) -> tuple[Float[Tensor, "batch options"], Float[Tensor, "batch options"]]:
    """Hacia dónde empujan unas muestras a la política, y la mejor política."""
    log_p, log_ref = policy.log_softmax(dim=-1), reference.log_softmax(dim=-1)
    net = (rewards - beta * (log_p - log_ref)).gather(1, drawn)  # (batch, n)
    n = drawn.shape[1]
    baseline = (net.sum(dim=1, keepdim=True) - net) / (n - 1)
    advantage = net - baseline
    score = F.one_hot(drawn, policy.shape[1]) - log_p.exp()[:, None, :]  # un vector por muestra
    gradient = (advantage[..., None] * score).mean(dim=1)
    return gradient, (log_ref + rewards / beta).log_softmax(dim=-1)
