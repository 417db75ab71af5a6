"""La puerta de :mod:`atento.models.cells`: entradas, estados y relleno."""

from typing import Any

from torch import Tensor

from atento.amounts import require_size
from atento.checks.similarity import require_shape
from atento.shapes import require_boolean, require_same_kind


def cell(self: Any, d_input: int, d_hidden: int) -> None:
    """Lanza si las anchuras no son enteros positivos."""
    require_size(d_input, name="d_input")
    require_size(d_hidden, name="d_hidden")


def single(self: Any, x: Tensor, state: Tensor | None = None) -> None:
    """Lanza si ``x`` no es ``(batch, d_input)`` o ``state`` no es ``(batch, d_hidden)``."""
    _require_input(self, x)
    if isinstance(state, tuple):
        raise TypeError("state: se esperaba un tensor; llegó un par, que es el estado de la LSTM.")
    if state is not None:
        _require_state(self, state, x, "state")


def double(self: Any, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> None:
    """Lanza si ``x`` no es ``(batch, d_input)`` o ``state`` no es un par ``(batch, d_hidden)``."""
    _require_input(self, x)
    if state is None:
        return
    if not isinstance(state, tuple) or len(state) != 2:
        raise TypeError(f"state: se esperaba el par (h, c); llegó {_describe(state)}.")
    for name, part in zip(("state[0]", "state[1]"), state, strict=True):
        _require_state(self, part, x, name)


def unroll(cell: Any, x: Tensor, valid: Tensor | None = None) -> None:
    """Lanza si ``cell`` no es una celda de la biblioteca o ``x`` y ``valid`` no casan."""
    if not hasattr(cell, "d_input") or not hasattr(cell, "initial"):
        raise TypeError(
            f"cell: se esperaba una celda de atento.models.cells; llegó {type(cell).__name__}."
        )
    require_shape(x, "x", ("batch", "time ≥ 1", "d_input"), (None, None, cell.d_input))
    for parameter in cell.parameters():
        require_same_kind(x, parameter, name="x", reference_name="los pesos")
    if x.shape[1] == 0:
        raise ValueError(f"x: se esperaba time ≥ 1; llegó la forma {tuple(x.shape)}.")
    if valid is None:
        return
    require_boolean(valid, name="valid")
    if valid.shape != x.shape[:2]:
        raise ValueError(
            f"valid: se esperaba la forma (batch, time) = {tuple(x.shape[:2])}; llegó "
            f"{tuple(valid.shape)}."
        )


def _require_input(self: Any, x: Tensor) -> None:
    require_shape(x, "x", ("batch", "d_input"), (None, self.d_input))
    require_same_kind(x, self.weight_ih, name="x", reference_name="los pesos")


def _require_state(self: Any, state: Tensor, x: Tensor, name: str) -> None:
    require_shape(state, name, ("batch", "d_hidden"), (x.shape[0], self.d_hidden))
    require_same_kind(state, x, name=name, reference_name="x")


def _describe(state: object) -> str:
    if isinstance(state, Tensor):
        return f"un tensor de forma {tuple(state.shape)}"
    return type(state).__name__
