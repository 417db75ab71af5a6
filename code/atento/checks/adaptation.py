"""La puerta de :mod:`atento.adaptation`: qué se ajusta y con qué log-probabilidades."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from atento.amounts import require_kind, require_number, require_positive, require_size
from atento.checks.training import cross_entropy
from atento.shapes import require_boolean, require_floating, require_integer


def require_module(model: Any, *, name: str = "model") -> None:
    """Lanza ``TypeError`` si no es un ``nn.Module``."""
    require_kind(model, nn.Module, name=name, wanted="un nn.Module")


def require_modules(layers: Any, *, name: str = "layers") -> None:
    """Lanza ``TypeError`` si no es una secuencia de módulos."""
    if isinstance(layers, (nn.ModuleList, nn.Sequential)):
        return
    require_kind(layers, Sequence, name=name, wanted="una secuencia de módulos")
    for i, layer in enumerate(layers):
        require_module(layer, name=f"{name}[{i}]")


# --- LoRA -----------------------------------------------------------------------------------------


def lora_linear(
    self: nn.Module, linear: nn.Linear, rank: int, *, alpha: float | None = None
) -> None:
    """Lanza si no es una capa lineal o el rango no cabe en su matriz."""
    require_kind(linear, nn.Linear, name="linear", wanted="una nn.Linear")
    require_rank(rank, linear)
    if alpha is not None:
        require_positive(alpha, name="alpha")


def require_rank(rank: int, linear: nn.Linear, of: str = "linear") -> None:
    """Lanza si el rango no está entre 1 y el lado menor de la matriz."""
    require_size(rank, name="rank")
    most = min(linear.in_features, linear.out_features)
    if rank > most:
        raise ValueError(
            f"rank: se esperaba un entero de 1 a {most}, el lado menor de {of}; llegó {rank}."
        )


def lora_forward(self: Any, x: Tensor) -> None:
    """Lanza si ``x`` no es ``(…, in)`` de coma flotante."""
    require_floating(x, name="x")
    if x.ndim == 0 or x.shape[-1] != self.in_features:
        raise ValueError(
            f"x: se esperaba la forma (…, {self.in_features}); llegó {tuple(x.shape)}."
        )


def add_lora(model: nn.Module, rank: int, targets: Sequence[str]) -> None:
    """Lanza si no es un módulo, el rango no es positivo o ``targets`` no son nombres."""
    require_module(model)
    require_size(rank, name="rank")
    if isinstance(targets, str) or not isinstance(targets, Sequence) or not targets:
        raise TypeError(f"targets: se esperaba una secuencia de nombres; llegó {targets!r}.")


def lora_targets(model: nn.Module, targets: Sequence[str], rank: int) -> list[str]:
    """Los nombres de las capas que se adaptan; lanza si no hay ninguna o no se puede."""
    layers = {n: m for n, m in model.named_modules() if isinstance(m, nn.Linear) and n}
    found = [n for n in layers if n in targets or n.rpartition(".")[2] in targets]
    if not found:
        raise ValueError(
            f"targets: se esperaba el nombre de alguna capa lineal; ninguna acaba en "
            f"{', '.join(map(str, targets))}."
        )
    owners = [id(p) for _, p in model.named_parameters(remove_duplicate=False)]
    for name in found:
        if hasattr(layers[name], "down"):
            raise ValueError(f"model: se esperaba sin LoRA; «{name}» ya la lleva.")
        if owners.count(id(layers[name].weight)) > 1:
            raise ValueError(
                f"targets: se esperaban capas con su propia matriz; «{name}» la comparte con otra."
            )
        require_rank(rank, layers[name], of=f"«{name}»")
    return found


# --- Congelar y tasas -----------------------------------------------------------------------------


def thaw(layers: Sequence[nn.Module], n: int) -> None:
    """Lanza si no son módulos o ``n`` no está entre 0 y su número."""
    require_modules(layers)
    require_size(n, name="n", least=0)
    if n > len(layers):
        raise ValueError(
            f"n: se esperaba un entero de 0 a {len(layers)}, las capas que hay; llegó {n}."
        )


def layer_groups(layers: Sequence[nn.Module], rate: float, decay: float) -> None:
    """Lanza si no son módulos o las tasas no son positivas."""
    require_modules(layers)
    require_positive(rate, name="rate")
    require_positive(decay, name="decay")


def slanted_triangular(steps: int, cut: float, ratio: float) -> None:
    """Lanza si el triángulo no cabe en los pasos."""
    require_size(steps, name="steps")
    require_number(cut, name="cut")
    require_number(ratio, name="ratio")
    if not 0 < cut < 1 or math.floor(steps * cut) < 1:
        raise ValueError(
            f"cut: se esperaba entre 0 y 1, y que en steps = {steps} quepa al menos un paso de "
            f"subida; llegó {cut}."
        )
    if not 1 <= ratio < math.inf:
        raise ValueError(f"ratio: se esperaba un número finito ≥ 1; llegó {ratio}.")


# --- Pérdidas -------------------------------------------------------------------------------------


def _require_alike(**tensors: Tensor) -> None:
    """Lanza si no son todos de coma flotante y de la misma forma que el primero."""
    for name, tensor in tensors.items():
        require_floating(tensor, name=name)
    first, *_ = tensors
    shape = tensors[first].shape
    for name, tensor in tensors.items():
        if tensor.shape != shape:
            raise ValueError(
                f"{name}: se esperaba la forma de {first}, {tuple(shape)}; llegó "
                f"{tuple(tensor.shape)}."
            )


def _require_axes(tensor: Tensor, axes: int, *, name: str, wanted: str) -> None:
    if tensor.ndim != axes:
        raise ValueError(f"{name}: se esperaba la forma {wanted}; llegó {tuple(tensor.shape)}.")


def _require_some(tensor: Tensor, *, name: str, wanted: str) -> None:
    if tensor.ndim == 0 or tensor.numel() == 0:
        raise ValueError(f"{name}: se esperaba la forma {wanted}; llegó {tuple(tensor.shape)}.")


def distillation_loss(
    student: Tensor,
    teacher: Tensor,
    labels: Tensor | None = None,
    *,
    temperature: float = 2.0,
    hard: float = 0.0,
) -> None:
    """Lanza si las puntuaciones no casan o falta con qué comparar."""
    _require_alike(student=student, teacher=teacher)
    _require_some(student, name="student", wanted="(…, vocab)")
    require_positive(temperature, name="temperature")
    require_number(hard, name="hard")
    if not 0 <= hard <= 1:
        raise ValueError(f"hard: se esperaba un número entre 0 y 1; llegó {hard}.")
    if hard and labels is None:
        raise ValueError(f"labels: con hard = {hard} se esperaban las respuestas; llegó None.")
    if labels is not None:
        cross_entropy(student, labels)


def sequence_log_probs(logits: Tensor, labels: Tensor, mask: Tensor | None = None) -> None:
    """Lanza si no hay una palabra y un sí o no por fila de puntuaciones."""
    require_floating(logits, name="logits")
    _require_axes(logits, 3, name="logits", wanted="(batch, n, vocab)")
    cross_entropy(logits, labels)
    if mask is not None:
        require_boolean(mask, name="mask")
        if mask.shape != labels.shape:
            raise ValueError(
                f"mask: se esperaba la forma de labels, {tuple(labels.shape)}; llegó "
                f"{tuple(mask.shape)}."
            )


def token_kl(policy: Tensor, reference: Tensor) -> None:
    """Lanza si no son puntuaciones de la misma forma."""
    _require_alike(policy=policy, reference=reference)
    _require_some(policy, name="policy", wanted="(…, vocab)")


def exact_kl(policy: Callable, reference: Callable, start: Tensor, length: int) -> None:
    """Lanza si no son funciones o no hay por dónde empezar."""
    for name, function in (("policy", policy), ("reference", reference)):
        if not callable(function):
            raise TypeError(f"{name}: se esperaba una función; llegó {type(function).__name__}.")
    require_integer(start, name="start")
    if start.ndim != 1 or not len(start):
        raise ValueError(f"start: se esperaba la forma (start,); llegó {tuple(start.shape)}.")
    require_size(length, name="length")


def require_few(n: int, most: int) -> None:
    """Lanza ``ValueError`` si hay demasiadas frases que recorrer."""
    if n > most:
        raise ValueError(
            f"length: se esperaban {most} frases como mucho; hay {n}. Acorta length o el "
            "vocabulario."
        )


def dpo_margin(
    policy_chosen: Tensor,
    policy_rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    *,
    beta: float = 0.1,
) -> None:
    """Lanza si no son cuatro filas de log-probabilidades, (batch,)."""
    _require_alike(
        policy_chosen=policy_chosen,
        policy_rejected=policy_rejected,
        reference_chosen=reference_chosen,
        reference_rejected=reference_rejected,
    )
    _require_axes(policy_chosen, 1, name="policy_chosen", wanted="(batch,)")
    _require_log_probs(policy_chosen, name="policy_chosen")
    require_positive(beta, name="beta")


def _require_log_probs(values: Tensor, *, name: str) -> None:
    """Lanza ``ValueError`` si alguna es mayor que 0: son probabilidades, o puntuaciones."""
    highest = values.detach().max() if values.numel() else torch.zeros(())
    if highest > 1e-3:
        raise ValueError(
            f"{name}: se esperaban log-probabilidades, que no pasan de 0; llegó {float(highest):g}."
        )


def leave_one_out(rewards: Tensor) -> None:
    """Lanza si no son recompensas en grupos de dos o más."""
    require_floating(rewards, name="rewards")
    if rewards.ndim != 2 or rewards.shape[1] < 2:
        raise ValueError(
            "rewards: se esperaba la forma (g, n), con dos muestras o más; llegó "
            f"{tuple(rewards.shape)}."
        )


def penalized_rewards(rewards: Tensor, policy: Tensor, reference: Tensor, *, beta: float) -> None:
    """Lanza si no son de la misma forma o ``beta`` es negativo."""
    _require_alike(rewards=rewards, policy=policy, reference=reference)
    require_number(beta, name="beta")
    if not 0 <= beta < math.inf:
        raise ValueError(f"beta: se esperaba un número finito ≥ 0; llegó {beta}.")


def policy_gradient_loss(policy: Tensor, rewards: Tensor, baseline: Tensor | None = None) -> None:
    """Lanza si no son de la misma forma."""
    optional = {} if baseline is None else {"baseline": baseline}
    _require_alike(policy=policy, rewards=rewards, **optional)


def best_policy(reference: Tensor, rewards: Tensor, *, beta: float) -> None:
    """Lanza si no son de la misma forma o ``beta`` no es positivo."""
    _require_alike(reference=reference, rewards=rewards)
    _require_some(reference, name="reference", wanted="(…, options)")
    require_positive(beta, name="beta")
