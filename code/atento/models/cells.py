"""Piso 6: las celdas recurrentes, escritas del todo: la simple, la LSTM y la GRU.

Llevan los nombres de parámetros de PyTorch: sus pesos se copian con ``load_state_dict``. Una celda
da un paso; :func:`unroll` la aplica posición a posición.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from atento.checks import cells as checks
from atento.shapes import typed

Recurrent = Tensor | tuple[Tensor, Tensor]
"""El estado de una celda: ``h`` o, en la LSTM, ``(h, c)``; cada uno (batch, d_hidden)."""


class _Cell(nn.Module):
    """Parámetros comunes: ``gates`` bloques de pesos de entrada y de estado, apilados."""

    gates = 1

    @typed(validate=checks.cell)
    def __init__(self, d_input: int, d_hidden: int) -> None:
        super().__init__()
        self.d_input, self.d_hidden = d_input, d_hidden
        self.weight_ih = nn.Parameter(torch.empty(self.gates * d_hidden, d_input))
        self.weight_hh = nn.Parameter(torch.empty(self.gates * d_hidden, d_hidden))
        self.bias_ih = nn.Parameter(torch.empty(self.gates * d_hidden))
        self.bias_hh = nn.Parameter(torch.empty(self.gates * d_hidden))
        bound = d_hidden**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def _affine(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        return x @ self.weight_ih.T + self.bias_ih, h @ self.weight_hh.T + self.bias_hh

    def initial(self, x: Float[Tensor, "batch d_input"]) -> Recurrent:
        """Estado de partida: ceros (batch, d_hidden)."""
        return x.new_zeros(x.shape[0], self.d_hidden)


class RNNCell(_Cell):
    r"""Celda simple: :math:`h' = \tanh(W_{ih}x + b_{ih} + W_{hh}h + b_{hh})`.

    Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (batch, d_input) o el estado no es
    (batch, d_hidden), del tipo de los pesos.
    Fuente: Elman (1990).
    """

    @typed(validate=checks.single)
    def forward(
        self,
        x: Float[Tensor, "batch d_input"],
        state: Float[Tensor, "batch d_hidden"] | None = None,
    ) -> Float[Tensor, "batch d_hidden"]:
        """Un paso: estado nuevo a partir de la entrada y del estado anterior (``None``: ceros)."""
        h = self.initial(x) if state is None else state
        from_input, from_state = self._affine(x, h)
        return torch.tanh(from_input + from_state)


class LSTMCell(_Cell):
    """Celda LSTM: puertas de entrada, olvido y salida, y una memoria ``c``.

    A la memoria se le suma algo en cada paso, después de multiplicarla por la puerta de olvido: con
    la puerta abierta del todo, pasa sin cambios, y el gradiente también. El estado es el par
    ``(h, c)``, los dos (batch, d_hidden).

    Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (batch, d_input) o el estado no es ese
    par, del tipo de los pesos.
    Fuente: Hochreiter y Schmidhuber (1997), con la puerta de olvido de Gers et al. (2000).
    """

    gates = 4

    def initial(self, x: Float[Tensor, "batch d_input"]) -> tuple[Tensor, Tensor]:
        """Estado de partida: dos tensores de ceros (batch, d_hidden)."""
        return super().initial(x), super().initial(x)

    @typed(validate=checks.double)
    def forward(
        self, x: Float[Tensor, "batch d_input"], state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Float[Tensor, "batch d_hidden"], Float[Tensor, "batch d_hidden"]]:
        """Un paso: ``(h, c)`` nuevos, de (batch, d_hidden), a partir de la entrada y de los
        anteriores."""
        h, c = self.initial(x) if state is None else state
        from_input, from_state = self._affine(x, h)
        enter, forget, candidate, output = (from_input + from_state).chunk(4, dim=-1)
        c = forget.sigmoid() * c + enter.sigmoid() * candidate.tanh()
        return output.sigmoid() * c.tanh(), c


class GRUCell(_Cell):
    """Celda GRU: una puerta de reinicio y otra de actualización, sin memoria aparte.

    La puerta de reinicio multiplica a :math:`W_{hn}h + b_{hn}`, como en PyTorch; Cho et al. (2014)
    multiplican a ``h`` antes de la matriz.

    Errores: los de :class:`RNNCell`.
    Fuente: Cho et al. (2014), ec. 5–8.
    """

    gates = 3

    @typed(validate=checks.single)
    def forward(
        self,
        x: Float[Tensor, "batch d_input"],
        state: Float[Tensor, "batch d_hidden"] | None = None,
    ) -> Float[Tensor, "batch d_hidden"]:
        """Un paso: estado nuevo a partir de la entrada y del estado anterior (``None``: ceros)."""
        h = self.initial(x) if state is None else state
        from_input, from_state = self._affine(x, h)
        reset_x, update_x, new_x = from_input.chunk(3, dim=-1)
        reset_h, update_h, new_h = from_state.chunk(3, dim=-1)
        reset, update = (reset_x + reset_h).sigmoid(), (update_x + update_h).sigmoid()
        new = torch.tanh(new_x + reset * new_h)
        return (1 - update) * new + update * h


CELLS = {"rnn": RNNCell, "lstm": LSTMCell, "gru": GRUCell}


@typed(validate=checks.unroll)
def unroll(
    cell: nn.Module,
    x: Float[Tensor, "batch time d_input"],
    valid: Bool[Tensor, "batch time"] | None = None,
) -> tuple[Tensor, Recurrent]:
    """Aplica ``cell`` posición a posición y devuelve los estados y el último.

    Los estados ``h`` son (batch, time, d_hidden). Donde ``valid`` es falso (relleno) el estado se
    conserva y la salida es 0, como con las secuencias empaquetadas de PyTorch.

    Errores: ``TypeError`` o ``ValueError`` si ``cell`` no es una de :data:`CELLS`, si ``x`` no es
    (batch, time, d_input) con time ≥ 1, o si ``valid`` no es booleana (batch, time).
    """
    forward = type(cell).forward
    step = getattr(forward, "unchecked", forward)  # la entrada entera ya está validada
    state, outputs = cell.initial(x[:, 0]), []
    for t in range(x.shape[1]):
        new = step(cell, x[:, t], state)
        state = new if valid is None else _select(valid[:, t, None], new, state)
        h = hidden(state)
        outputs.append(h if valid is None else h * valid[:, t, None])
    return torch.stack(outputs, dim=1), state


def hidden(state: Recurrent) -> Float[Tensor, "batch d_hidden"]:
    """Devuelve ``h`` de un estado, que en la LSTM es el primero del par."""
    return state[0] if isinstance(state, tuple) else state


def _select(keep: Tensor, new: Recurrent, old: Recurrent) -> Recurrent:
    if isinstance(new, tuple):
        return tuple(torch.where(keep, a, b) for a, b in zip(new, old, strict=True))
    return torch.where(keep, new, old)
