"""Aprender de preferencias: DPO, sin refuerzo, y el gradiente de política con su freno.

Todo recibe log-probabilidades de frases enteras, (batch,), como las de
:func:`atento.adaptation.sequence_log_probs`. La política es el modelo que cambia; la referencia, el
de partida, que no cambia.
"""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from atento.checks import adaptation as checks
from atento.shapes import typed


@typed(validate=checks.dpo_margin)
def dpo_margin(
    policy_chosen: Float[Tensor, " batch"],
    policy_rejected: Float[Tensor, " batch"],
    reference_chosen: Float[Tensor, " batch"],
    reference_rejected: Float[Tensor, " batch"],
    *,
    beta: float = 0.1,
) -> Float[Tensor, " batch"]:
    """Cuánta más recompensa implícita lleva la preferida, (batch,).

    La recompensa implícita de una respuesta es ``β log(π / π_ref)``: lo que su probabilidad ha
    crecido desde la referencia.

    Errores: ``TypeError`` o ``ValueError`` si no son log-probabilidades, (batch,), o ``beta`` no es
    positivo.
    Fuente: Rafailov et al. (2023), ec. 5 y 6.
    """
    chosen = policy_chosen - reference_chosen.detach()
    rejected = policy_rejected - reference_rejected.detach()
    return beta * (chosen - rejected)


@typed(validate=checks.dpo_margin)
def dpo_loss(
    policy_chosen: Float[Tensor, " batch"],
    policy_rejected: Float[Tensor, " batch"],
    reference_chosen: Float[Tensor, " batch"],
    reference_rejected: Float[Tensor, " batch"],
    *,
    beta: float = 0.1,
) -> Float[Tensor, ""]:
    """``−log σ(margen)``, media de las parejas: la pérdida de DPO, en nats por pareja.

    Su gradiente es ``−β σ(−margen) (∇ log π(preferida) − ∇ log π(rechazada))``: empuja más las
    parejas que el modelo ordena al revés. Vale log 2 mientras la política es la referencia.

    Errores: los de :func:`dpo_margin`.
    Fuente: Rafailov et al. (2023), ec. 7; el gradiente, § 4.
    """
    margin = dpo_margin.unchecked(
        policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=beta
    )
    return -F.logsigmoid(margin).mean()


@typed(validate=checks.leave_one_out)
def leave_one_out(rewards: Float[Tensor, "group samples"]) -> Float[Tensor, "group samples"]:
    """La línea de base de cada muestra: la media de las otras de su grupo, (g, n).

    No mira la recompensa de la propia muestra, y por eso no sesga el gradiente.

    Errores: ``TypeError`` o ``ValueError`` si no son recompensas, (g, n), con dos
    muestras o más por grupo.
    Fuente: Kool, van Hoof y Welling (2019), § 3.
    """
    n = rewards.shape[1]
    return (rewards.sum(dim=1, keepdim=True) - rewards) / (n - 1)


@typed(validate=checks.penalized_rewards)
def penalized_rewards(
    rewards: Float[Tensor, "*batch"],
    policy: Float[Tensor, "*batch"],
    reference: Float[Tensor, "*batch"],
    *,
    beta: float,
) -> Float[Tensor, "*batch"]:
    """La recompensa menos lo que cuesta apartarse: ``r − β log(π / π_ref)``, (…), sin gradiente.

    Su media con la política es ``E[r] − β KL(π ‖ π_ref)``.

    Errores: ``TypeError`` o ``ValueError`` si no son de coma flotante y de la misma forma, o
    ``beta`` no es un número ≥ 0.
    Fuente: Ziegler et al. (2019), ec. 2; Ouyang et al. (2022), ec. 2.
    """
    return rewards - beta * (policy - reference).detach()


@typed(validate=checks.policy_gradient_loss)
def policy_gradient_loss(
    policy: Float[Tensor, "*batch"],
    rewards: Float[Tensor, "*batch"],
    baseline: Float[Tensor, "*batch"] | None = None,
) -> Float[Tensor, ""]:
    """REINFORCE: ``−(r − línea de base) · log π``, media de las muestras escritas por la política.

    Su valor no dice nada; su gradiente, de media, es el de ``−E[r]``. Con :func:`penalized_rewards`
    y cualquier línea de base que no mire la muestra, el de ``−(E[r] − β KL)``.

    Errores: ``TypeError`` o ``ValueError`` si no son de coma flotante y de la misma forma.
    Fuente: Williams (1992), § 4.
    """
    advantage = rewards.detach() - (0.0 if baseline is None else baseline.detach())
    return -(advantage * policy).mean()


@typed(validate=checks.best_policy)
def best_policy(
    reference: Float[Tensor, "*batch options"],
    rewards: Float[Tensor, "*batch options"],
    *,
    beta: float,
) -> Float[Tensor, "*batch options"]:
    """Log-probabilidades de la política que hace máximo ``E[r] − β KL``: ``π_ref e^{r/β} / Z``.

    ``reference`` son las log-probabilidades de todas las respuestas, ``(…, options)``. Es a donde
    van tanto DPO como el refuerzo con KL, si llegan.

    Errores: ``TypeError`` o ``ValueError`` si no son de coma flotante y de la misma forma, o
    ``beta`` no es positivo.
    Fuente: Rafailov et al. (2023), ec. 4.
    """
    return (reference + rewards / beta).log_softmax(dim=-1)
