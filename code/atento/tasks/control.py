"""Un carro que sostiene un palo: empujar a un lado o al otro para que no se caiga.

El palo va articulado en el carro, y solo se puede empujar el carro. Un estado son cuatro números,
(…, 4): dónde está el carro (m), a qué velocidad va (m/s), cuánto se inclina el palo (rad) y a qué
velocidad (rad/s). La acción va de −1 a 1 y multiplica a ``FORCE``. Se mira y se empuja cincuenta
veces por segundo. Se acaba cuando el carro se sale o el palo se inclina demasiado.

Quien sabe hacerlo, :func:`expert`, empuja en proporción al estado, con la ganancia que menos gasta
cerca del equilibrio. De él son los ejemplos de :func:`generate`.

Fuente: Barto, Sutton y Anderson (1983), apéndice, sin el rozamiento.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.linalg import solve_discrete_are
from torch import Tensor, nn

from atento.checks import control as checks
from atento.shapes import typed
from atento.tasks import writing
from atento.training import evaluating

GRAVITY, CART, POLE, HALF = 9.8, 1.0, 0.1, 0.5
"""La gravedad (m/s²), las dos masas (kg) y medio palo (m)."""

FORCE, TICK = 10.0, 0.02
"""La fuerza mayor (N) y lo que dura un paso (s)."""

LIMITS = (2.4, 12 * torch.pi / 180)
"""Hasta dónde pueden ir el carro (m) y el palo (rad)."""

START = (0.5, 0.5, 0.1, 0.5)
"""Se empieza, en cada número, como mucho a esta distancia de 0."""


@typed(validate=checks.advance)
def accelerations(
    states: Float[Tensor, "*batch 4"], actions: Float[Tensor, " *batch"]
) -> tuple[Float[Tensor, " *batch"], Float[Tensor, " *batch"]]:
    """La aceleración del carro (m/s²) y la del palo (rad/s²).

    Errores: ``TypeError`` o ``ValueError`` si no hay una acción por estado, (…, 4).
    Fuente: Barto, Sutton y Anderson (1983), apéndice.
    """
    angle, spin = states[..., 2], states[..., 3]
    total, sine, cosine = CART + POLE, angle.sin(), angle.cos()
    pushed = (FORCE * actions.clamp(-1, 1) + POLE * HALF * spin**2 * sine) / total
    turned = GRAVITY * sine - cosine * pushed
    turned = turned / (HALF * (4 / 3 - POLE * cosine**2 / total))
    return pushed - POLE * HALF * turned * cosine / total, turned


@typed(validate=checks.advance)
def advance(
    states: Float[Tensor, "*batch 4"], actions: Float[Tensor, " *batch"]
) -> Float[Tensor, "*batch 4"]:
    """Los estados un paso después, por el método de Euler; la acción se recorta a [−1, 1].

    Errores: los de :func:`accelerations`.
    """
    cart, pole = accelerations(states, actions)
    change = torch.stack([states[..., 1], cart, states[..., 3], pole], dim=-1)
    return states + TICK * change


@typed(validate=checks.expert)
def standing(states: Float[Tensor, "*batch 4"]) -> Bool[Tensor, " *batch"]:
    """Dice qué estados están dentro de ``LIMITS``.

    Errores: ``TypeError`` o ``ValueError`` si ``states`` no es (…, 4) de coma flotante.
    """
    return (states[..., 0].abs() <= LIMITS[0]) & (states[..., 2].abs() <= LIMITS[1])


@cache
def gain() -> tuple[float, ...]:
    """Cuánto pesa cada número del estado en lo que empuja quien sabe.

    Cerca del equilibrio el paso es casi lineal, y esta ganancia hace mínima la suma de los
    cuadrados del estado y de la acción (un regulador cuadrático).
    """
    rest, still = torch.zeros(4, dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    found: Any = torch.autograd.functional.jacobian(advance, (rest, still))
    a, b = found[0].numpy(), found[1].numpy()[:, None]
    cost = solve_discrete_are(a, b, np.eye(4), np.eye(1))
    return tuple(np.linalg.solve(np.eye(1) + b.T @ cost @ b, b.T @ cost @ a)[0].tolist())


@typed(validate=checks.expert)
def expert(states: Float[Tensor, "*batch 4"]) -> Float[Tensor, " *batch"]:
    """Lo que empuja quien sabe, en [−1, 1].

    Errores: los de :func:`standing`.
    """
    weights = torch.tensor(gain(), dtype=states.dtype, device=states.device)
    return -(states * weights).sum(dim=-1).clamp(-1, 1)


# --- Generar y puntuar ----------------------------------------------------------------------------


class Episodes(NamedTuple):
    """Los estados, ``(episode, step, 4)``, y lo que ante cada uno haría quien sabe."""

    states: Float[Tensor, "episode step 4"]
    actions: Float[Tensor, "episode step"]


@typed(validate=checks.generate)
def generate(
    n: int, rng: torch.Generator | int, *, steps: int = 50, noise: float = 0.5
) -> Episodes:
    """``n`` episodios de ``steps`` pasos; con la misma semilla, los mismos.

    Se empuja lo que dice :func:`expert` más un ruido normal de desviación ``noise``, y se apunta lo
    que él dijo: así hay también ejemplos de enderezar lo que se tuerce.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0, ``steps`` no es positivo,
    ``noise`` es negativo o ``rng`` no es un generador ni un entero.
    """
    source = writing.require_rng(rng)
    state = _start(n, source)
    states, actions = [], []
    for _ in range(steps):
        states.append(state)
        actions.append(expert(state))
        shake = noise * torch.randn(n, generator=source, device=source.device).cpu()
        state = advance(state, actions[-1] + shake)
    return Episodes(torch.stack(states, dim=1), torch.stack(actions, dim=1))


def _start(n: int, source: torch.Generator) -> Tensor:
    uniform = torch.rand(n, 4, generator=source, device=source.device).cpu()
    return (2 * uniform - 1) * torch.tensor(START)


@typed(validate=checks.score)
def score(
    policy: Callable[[Tensor, Tensor], Tensor],
    n: int,
    rng: torch.Generator | int,
    *,
    steps: int = 200,
) -> dict[str, Any]:
    """Deja a ``policy`` al mando de ``n`` carros durante ``steps`` pasos, como mucho.

    ``policy`` recibe lo que ha visto cada uno, (n, t, 4), y lo que ha hecho, (n, t − 1), y da lo
    que hace, (n,). ``survived`` es la parte que llega al final en pie; ``steps``, cuántos pasos
    aguantan de media; ``each``, (n,), los de cada uno. Un módulo se examina evaluando y sin
    gradientes.

    Errores: ``TypeError`` o ``ValueError`` si ``policy`` no es una función o no da (n,), ``n`` o
    ``steps`` no son positivos o ``rng`` no es un generador ni un entero.
    """
    state = _start(n, writing.require_rng(rng))
    states, actions = state[:, None], state.new_zeros(n, 0)
    alive, each = torch.ones(n, dtype=torch.bool), torch.zeros(n, dtype=torch.long)
    with torch.no_grad(), evaluating(policy) if isinstance(policy, nn.Module) else nullcontext():
        for _ in range(steps):
            action = checks.require_actions(policy(states, actions), n).to(state)
            state = advance(state, action)
            alive = alive & standing(state)
            each += alive
            if not alive.any():
                break
            state = torch.where(alive[:, None], state, 0.0)  # el caído no sigue
            states = torch.cat([states, state[:, None]], dim=1)  # (n, t, 4)
            actions = torch.cat([actions, action[:, None]], dim=1)  # (n, t - 1)
    return {
        "survived": alive.float().mean().item(),
        "steps": each.float().mean().item(),
        "n": n,
        "each": each,
    }
