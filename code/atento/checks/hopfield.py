"""La puerta de :mod:`atento.hopfield`: estados, patrones y ``beta``."""

from torch import Tensor

from atento.amounts import require_positive, require_size
from atento.shapes import require_axis, require_floating, require_same_kind


def memory(states: Tensor, patterns: Tensor, *, beta: float) -> None:
    """Lanza si ``states``, (…, n, d), y ``patterns``, (…, m, d), no casan o ``beta`` no es > 0."""
    for name, value in (("states", states), ("patterns", patterns)):
        require_floating(value, name=name)
        if value.ndim < 2 or 0 in value.shape:
            raise ValueError(
                f"{name}: se esperaba la forma (…, {name}, d), sin ejes vacíos; llegó "
                f"{tuple(value.shape)}."
            )
    require_same_kind(patterns, states, name="patterns", reference_name="states")
    if patterns.shape[:-2] != states.shape[:-2]:
        raise ValueError(
            f"patterns: se esperaban los ejes de lote de states, {tuple(states.shape[:-2])}; "
            f"llegaron {tuple(patterns.shape[:-2])}."
        )
    require_axis(patterns, -1, states.shape[-1], name="patterns", label="d", like="states")
    require_positive(beta, name="beta")


def recall(
    states: Tensor,
    patterns: Tensor,
    *,
    beta: float,
    steps: int = 50,
    tolerance: float = 1e-9,
) -> None:
    """Lanza si ``states`` y ``patterns``, (…, n, d), no casan o las vueltas no son positivas."""
    memory(states, patterns, beta=beta)
    require_size(steps, name="steps")
    require_positive(tolerance, name="tolerance")
