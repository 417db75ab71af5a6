"""RoPE: girar consultas y claves, para que su producto dependa solo de la distancia."""

import torch
from jaxtyping import Float, Real
from torch import Tensor, nn

from atento.checks import positions as checks
from atento.positions.memory import Memory
from atento.positions.sinusoids import BASE, angles
from atento.shapes import typed


@typed(validate=checks.rotate)
def rotate(
    x: Float[Tensor, "*batch d"], angles: Float[Tensor, "..."], *, layout: str = "interleaved"
) -> Float[Tensor, "*batch d"]:
    """Gira cada pareja de componentes de ``x`` su ángulo; ``angles`` se difunde hasta ``(…, d/2)``.

    Con ``layout="interleaved"`` las parejas son ``(2i, 2i + 1)``, como en el artículo; con
    ``"half"``, ``(i, i + d/2)``, como en GPT-NeoX. Es lo mismo con las componentes en otro orden,
    pero los pesos entrenados con una no valen para la otra.

    Errores: ``TypeError`` o ``ValueError`` si la anchura es impar, ``angles`` no se difunde o
    ``layout`` no existe.
    Fuente: Su et al. (2024), ec. 34.
    """
    return _turn(x, _clock(angles, x.dtype, layout), layout)


def _turn(x: Tensor, clock: tuple[Tensor, ...], layout: str) -> Tensor:
    if len(clock) == 1:
        return _turn_complex(x, *clock)
    cos, sin = clock
    if layout == "half":
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def _turn_complex(x: Tensor, spin: Tensor) -> Tensor:
    """Cada pareja contigua es un complejo, y girarla es multiplicarlo; mucho más rápido."""
    pairs = x if x.dtype in (torch.float32, torch.float64) else x.float()
    pairs = pairs.unflatten(-1, (-1, 2))
    try:
        numbers = torch.view_as_complex(pairs)
    except RuntimeError:  # en memoria las parejas no están juntas: se copian
        numbers = torch.view_as_complex(pairs.clone(memory_format=torch.contiguous_format))
    return torch.view_as_real(numbers * spin).flatten(-2).to(x.dtype)


def _clock(angle: Tensor, dtype: torch.dtype, layout: str) -> tuple[Tensor, ...]:
    """Coseno y seno; o, con parejas contiguas y donde hay complejos, ``(cos + i sen,)``."""
    cos, sin = angle.cos(), angle.sin()
    if layout == "half" or torch.compiler.is_compiling() or angle.device.type == "mps":
        return cos.to(dtype), sin.to(dtype)
    wide = torch.promote_types(dtype, torch.float32)  # con 16 bits se gira en 32
    return (torch.complex(cos.to(wide), sin.to(wide)),)


@typed(validate=checks.ntk_base)
def ntk_base(base: float, factor: float, d: int) -> float:
    """Devuelve la base «NTK-aware», ``base · factor^(d / (d - 2))``.

    La frecuencia más alta no cambia y la más baja se divide entre ``factor``: ninguna sube.

    Errores: ``TypeError`` o ``ValueError`` si los números no son positivos o ``d`` no es par y
    mayor que 2.
    Fuente: bloc97 (2023); Peng et al. (2024), § 3.1.
    """
    return base * factor ** (d / (d - 2))


class Rotary(nn.Module):
    """RoPE: gira cada pareja de componentes un ángulo proporcional a la posición.

    Así ``⟨R_m q, R_n k⟩`` depende solo de ``m - n``, y ninguna norma cambia. Se usa como
    ``MultiHeadAttention(..., rotary=Rotary(d_head))``; un mismo módulo sirve a todas las capas.

    - ``rotary_dim``: cuántas componentes giran, las primeras; sin él, todas.
    - ``interpolation``: las posiciones se dividen entre este factor (interpolación de posiciones).
    - ``ntk``: la base crece según :func:`ntk_base`.
    - ``layout``: qué componentes forman pareja; véase :func:`rotate`.

    Errores: ``TypeError`` o ``ValueError`` si ``d_head`` o ``rotary_dim`` no son pares, si los
    factores no son positivos o si ``layout`` no existe.
    Fuente: Su et al. (2024), ec. 34; la interpolación, Chen et al. (2023), ec. 4.
    """

    @typed(validate=checks.rotary)
    def __init__(
        self,
        d_head: int,
        *,
        base: float = BASE,
        rotary_dim: int | None = None,
        interpolation: float = 1.0,
        ntk: float = 1.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__()
        self.d_head, self.layout, self.interpolation = d_head, layout, interpolation
        self.rotary_dim = d_head if rotary_dim is None else rotary_dim
        self.base = base if ntk == 1 else ntk_base(base, ntk, self.rotary_dim)
        self._memory = Memory()

    @typed(validate=checks.turned)
    def forward(
        self, x: Float[Tensor, "*batch n d_head"], positions: Real[Tensor, "..."]
    ) -> Float[Tensor, "*batch n d_head"]:
        """Gira ``x``, ``(…, head, n, d_head)``, según ``positions``, ``(n,)`` o ``(…, n)``.

        Las posiciones pueden ser cualesquiera: negativas, repetidas o fraccionarias.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no mide ``d_head`` o ``positions`` no tiene
        una posición por fila.
        """
        clock = self._memory.recall(self._clock, positions, dtype=x.dtype)
        if self.rotary_dim == self.d_head:
            return _turn(x, clock, self.layout)
        turning, still = x[..., : self.rotary_dim], x[..., self.rotary_dim :]
        return torch.cat((_turn(turning, clock, self.layout), still), dim=-1)

    @typed(validate=checks.placed)
    def angles(self, positions: Real[Tensor, "*batch n"]) -> Float[Tensor, "*batch n pair"]:
        """Devuelve los ángulos de cada posición, ``(…, n, rotary_dim / 2)``, en radianes.

        Errores: ``TypeError`` si ``positions`` no es un tensor de números reales.
        """
        return angles(positions, self.rotary_dim, self.base) / self.interpolation

    def _clock(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
        angle = self.angles(positions)
        if angle.ndim > 2:
            angle = angle.unsqueeze(-3)  # (batch, 1, n, pair): lo mismo en todas las cabezas
        return _clock(angle, dtype, self.layout)

    def extra_repr(self) -> str:
        return (
            f"d_head={self.d_head}, base={self.base}, rotary_dim={self.rotary_dim}, "
            f"interpolation={self.interpolation}, layout={self.layout!r}"
        )
