"""La puerta de :mod:`atento.tasks.control`: estados, acciones y políticas."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from atento.amounts import require_number, require_size
from atento.shapes import require_floating, require_tensor


def expert(states: Tensor) -> None:
    """Lanza si ``states`` no es (…, 4) de coma flotante."""
    require_floating(states, name="states")
    if states.ndim < 1 or states.shape[-1] != 4:
        raise ValueError(f"states: se esperaba la forma (…, 4); llegó {tuple(states.shape)}.")


def advance(states: Tensor, actions: Tensor) -> None:
    """Lanza si no hay una acción por estado."""
    expert(states)
    require_floating(actions, name="actions")
    if actions.shape != states.shape[:-1]:
        raise ValueError(
            f"actions: se esperaba la forma {tuple(states.shape[:-1])}, una acción por estado; "
            f"llegó {tuple(actions.shape)}."
        )


def generate(n: int, rng: Any, *, steps: int = 50, noise: float = 0.5) -> None:
    """Lanza si lo pedido no se puede sortear; ``rng`` lo mira quien lo usa."""
    require_size(n, name="n", least=0)
    require_size(steps, name="steps")
    require_number(noise, name="noise")
    if noise < 0:
        raise ValueError(f"noise: se esperaba un número ≥ 0; llegó {noise}.")


def score(policy: Callable, n: int, rng: Any, *, steps: int = 200) -> None:
    """Lanza si ``policy`` no es una función o lo demás no es lo dicho."""
    if not callable(policy):
        raise TypeError(f"policy: se esperaba una función; llegó {type(policy).__name__}.")
    require_size(n, name="n")
    require_size(steps, name="steps")


def require_actions(actions: Any, n: int) -> Tensor:
    """Devuelve lo que dijo la política, o lanza si no es una acción por carro."""
    require_tensor(actions, name="policy")
    if tuple(actions.shape) != (n,):
        raise ValueError(
            f"policy: se esperaba que devolviera la forma ({n},); devolvió {tuple(actions.shape)}."
        )
    return actions
