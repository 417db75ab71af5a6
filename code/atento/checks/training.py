"""La puerta de :mod:`atento.training`: puntuaciones, respuestas y parámetros."""

from torch import Tensor, nn

from atento.numbers import require_number, require_probability, require_size
from atento.shapes import is_readable, require_floating, require_integer


def cross_entropy(
    logits: Tensor, labels: Tensor, *, pad_id: int | None = None, smoothing: float = 0.0
) -> None:
    """Lanza si ``logits``, ``(…, vocab)``, y ``labels``, ``(…)``, no casan."""
    require_floating(logits, name="logits")
    require_integer(labels, name="labels")
    if logits.ndim == 0 or labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"labels: se esperaba una palabra por fila de logits, {tuple(logits.shape[:-1])}; "
            f"llegó {tuple(labels.shape)}."
        )
    require_probability(smoothing, name="smoothing")
    if pad_id is not None:
        require_size(pad_id, name="pad_id", least=None)
    if is_readable(labels):
        _require_known(labels if pad_id is None else labels[labels != pad_id], logits.shape[-1])


def _require_known(labels: Tensor, vocab: int) -> None:
    if not labels.numel():
        return
    lowest, highest = (int(x) for x in labels.aminmax())
    if lowest < 0 or highest >= vocab:
        came = lowest if lowest < 0 else highest
        raise ValueError(f"labels: se esperaban números entre 0 y {vocab - 1}; llegó {came}.")


def parameter_groups(model: nn.Module, *, weight_decay: float = 0.01) -> None:
    """Lanza si ``model`` no es un módulo o ``weight_decay`` es negativo."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model: se esperaba un nn.Module; llegó {type(model).__name__}.")
    require_number(weight_decay, name="weight_decay")
    if not weight_decay >= 0:
        raise ValueError(
            f"weight_decay: se esperaba un número mayor o igual que 0; llegó {weight_decay}."
        )
