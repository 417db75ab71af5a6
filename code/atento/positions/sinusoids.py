"""Las sinusoides: cada pareja de componentes es la aguja de un reloj, cada una a su velocidad."""

import math

import torch
from jaxtyping import Float, Real
from torch import Tensor, nn

from atento.checks import positions as checks
from atento.shapes import is_plain, is_readable, typed

BASE = 10000.0
LONGEST = 2**13  # filas de la tabla que se guarda, como mucho


@typed(validate=checks.frequencies)
def frequencies(
    d: int, base: float = BASE, *, dtype: torch.dtype | None = None
) -> Float[Tensor, " pair"]:
    """Devuelve las ``d / 2`` frecuencias ``ω_i = base^(-2i/d)``, en radianes por posición.

    Van de 1 a casi ``1 / base``. El índice ``i`` cuenta parejas, de 0 a ``d/2 - 1``. Se calculan
    con 64 bits y se redondean a ``dtype`` (si no se da, el predeterminado de PyTorch).

    Errores: ``TypeError`` o ``ValueError`` si ``d`` no es un entero positivo y par o ``base`` no
    es un número mayor que 1.
    Fuente: Vaswani et al. (2017), § 3.5.
    """
    return _frequencies(d, base, None).to(dtype or torch.get_default_dtype())


def wavelengths(
    d: int, base: float = BASE, *, dtype: torch.dtype | None = None
) -> Float[Tensor, " pair"]:
    """Devuelve los periodos ``2π / ω_i``, en posiciones: de 2π a casi ``2π · base``.

    Errores: los de :func:`frequencies`.
    Fuente: Vaswani et al. (2017), § 3.5.
    """
    exact = frequencies(d, base, dtype=torch.float64)
    return (2 * math.pi / exact).to(dtype or torch.get_default_dtype())


@typed(validate=checks.sinusoidal)
def sinusoidal(
    positions: Real[Tensor, "*batch n"],
    d_model: int,
    base: float = BASE,
    *,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "*batch n d_model"]:
    """Devuelve la codificación sinusoidal de cada posición, ``(…, n, d_model)``.

    La componente ``2i`` es ``sen(ω_i · pos)`` y la ``2i + 1``, ``cos(ω_i · pos)``. Cada vector mide
    ``√(d_model / 2)``. ``dtype``, como en :func:`frequencies`.

    Errores: ``TypeError`` si ``positions`` no es un tensor de números reales; los de
    :func:`frequencies` para ``d_model`` y ``base``.
    Fuente: Vaswani et al. (2017), § 3.5.
    """
    angle = angles(positions, d_model, base)  # (…, n, pair)
    code = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)  # (…, n, d_model)
    return code.to(dtype or torch.get_default_dtype())


@typed(validate=checks.shift_rotation)
def shift_rotation(
    delta: float, d: int, base: float = BASE, *, dtype: torch.dtype | None = None
) -> Float[Tensor, "d d"]:
    """Devuelve la matriz ``M`` que adelanta ``delta`` posiciones: ``PE(p + delta) = M PE(p)``.

    Es la misma para toda ``p``: ``d / 2`` giros de 2 × 2, uno por frecuencia, en la diagonal.

    Errores: los de :func:`frequencies`, y ``TypeError`` si ``delta`` no es un número.
    Fuente: Vaswani et al. (2017), § 3.5, donde se enuncia sin escribir la matriz.
    """
    angle = delta * frequencies(d, base, dtype=torch.float64)
    cos, sin = angle.cos(), angle.sin()
    blocks = torch.stack((cos, sin, -sin, cos), dim=-1).view(-1, 2, 2)  # (pair, 2, 2)
    return torch.block_diag(*blocks).to(dtype or torch.get_default_dtype())


class Sinusoidal(nn.Module):
    """Suma a ``x`` la codificación sinusoidal de sus posiciones; no aprende nada ni tiene límite.

    Errores: ``TypeError`` o ``ValueError`` si ``d_model`` no es un entero positivo y par o ``base``
    no es un número mayor que 1.
    Fuente: Vaswani et al. (2017), § 3.5.
    """

    @typed(validate=checks.sinusoidal_module)
    def __init__(self, d_model: int, *, base: float = BASE) -> None:
        super().__init__()
        self.d_model, self.base = d_model, base
        self._table: Tensor | None = None

    @typed(validate=checks.added)
    def forward(
        self, x: Float[Tensor, "*batch n d_model"], positions: Real[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d_model"]:
        """Devuelve ``x + PE(positions)``; sin ``positions``, que es ``(n,)`` o ``(…, n)``, 0…n − 1.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no mide ``d_model`` o ``positions`` no
        tiene una posición por fila.
        """
        if positions is None:
            return x + self._rows(x, x.shape[-2])
        n = _counted(positions)
        if n is not None:
            return x + self._rows(x, n)[positions]
        return x + sinusoidal.unchecked(positions, self.d_model, self.base, dtype=x.dtype)

    def _rows(self, x: Tensor, n: int) -> Tensor:
        """Las ``n`` primeras filas, guardadas de una vez para otra; si no llegan, el doble."""
        table, kind = self._table, (x.dtype, x.device)
        if table is None or table.shape[0] < n or (table.dtype, table.device) != kind:
            with torch.inference_mode(False):  # servirán también al entrenar
                places = torch.arange(n if table is None else 2 * n, device=x.device)
                table = sinusoidal.unchecked(places, self.d_model, self.base, dtype=x.dtype)
            if is_readable(x):
                self._table = table
        return table[:n]

    def extra_repr(self) -> str:
        return f"d_model={self.d_model}, base={self.base}"


def _counted(positions: Tensor) -> int | None:
    """Cuántas filas de tabla hacen falta, o ``None`` si no conviene mirarlo o no sirve una tabla.

    No sirve si alguna posición no es entera, es negativa o está demasiado lejos.
    """
    if not is_plain(positions):
        return None
    if positions.dtype != torch.int64 or not positions.is_cpu or not positions.numel():
        return None
    low, high = (int(end) for end in positions.aminmax())
    return high + 1 if low >= 0 and high < LONGEST else None


def angles(positions: Real[Tensor, "*batch n"], d: int, base: float) -> Float[Tensor, "*batch n p"]:
    """Devuelve los ángulos ``ω_i · pos``, ``(…, n, d/2)``, con la mayor precisión que haya."""
    speed = _frequencies(d, base, positions.device)
    return positions.to(speed.dtype).unsqueeze(-1) * speed


def _frequencies(d: int, base: float, device: torch.device | None) -> Float[Tensor, " pair"]:
    precise = torch.float32 if device is not None and device.type == "mps" else torch.float64
    return base ** (-torch.arange(0, d, 2, dtype=precise, device=device) / d)
