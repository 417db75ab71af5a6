"""Piso 7: ajustar un modelo que ya sabe algo, y alinearlo con lo que se prefiere.

Nada de aquí conoce un modelo concreto: lo que se ajusta es un ``nn.Module`` con sus capas, y lo que
se alinea llega como log-probabilidades o como una función de números a puntuaciones.

- ``lora``: dejar los pesos quietos y sumarles un producto de rango pequeño.
- ``tuning``: congelar, descongelar por capas, una tasa por capa y la tasa triangular sesgada.
- ``distillation``: aprender de lo que responde otro modelo.
- ``divergence``: lo que se ha apartado un modelo de otro, exacto.
- ``preferences``: DPO, y el gradiente de política con lo que cuesta apartarse.
"""

from atento.adaptation.distillation import distillation_loss
from atento.adaptation.divergence import (
    exact_kl,
    sequence_log_probs,
    token_kl,
)
from atento.adaptation.lora import LoraLinear, add_lora, lora_size, merge
from atento.adaptation.preferences import (
    best_policy,
    dpo_loss,
    dpo_margin,
    leave_one_out,
    penalized_rewards,
    policy_gradient_loss,
)
from atento.adaptation.tuning import (
    Count,
    count_parameters,
    freeze,
    layer_groups,
    slanted_triangular,
    thaw,
)

__all__ = [
    "Count",
    "LoraLinear",
    "add_lora",
    "best_policy",
    "count_parameters",
    "distillation_loss",
    "dpo_loss",
    "dpo_margin",
    "exact_kl",
    "freeze",
    "layer_groups",
    "leave_one_out",
    "lora_size",
    "merge",
    "penalized_rewards",
    "policy_gradient_loss",
    "sequence_log_probs",
    "slanted_triangular",
    "thaw",
    "token_kl",
]
