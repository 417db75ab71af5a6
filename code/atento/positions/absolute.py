"""Las posiciones absolutas que no son sinusoides: el índice tal cual, una tabla, o nada."""

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

from atento.checks import positions as checks
from atento.shapes import typed


class NoPE(nn.Module):
    """No añade ninguna posición. Sin máscara no hay orden; con la causal, la red puede deducirlo.

    La primera posición solo se ve a sí misma, la segunda ve dos, y así: cuántas claves alcanza una
    consulta ya dice dónde está.

    Fuente: Kazemnejad et al. (2023), § 2.
    """

    @typed(validate=checks.unplaced)
    def forward(
        self, x: Float[Tensor, "*batch n d_model"], positions: Real[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d_model"]:
        """Devuelve ``x``; ``positions``, que es ``(n,)`` o ``(…, n)``, no se usa.

        Errores: ``TypeError`` o ``ValueError`` si no casan.
        """
        return x


class RawIndex(nn.Module):
    """Suma el índice a todas las componentes, ``x + scale · posición``: lo que no se debe hacer.

    Crece sin límite, tapa el contenido y es la misma dirección para todas las posiciones.

    Errores: ``TypeError`` o ``ValueError`` si ``scale`` no es un número positivo.
    """

    @typed(validate=checks.raw_index)
    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    @typed(validate=checks.unplaced)
    def forward(
        self, x: Float[Tensor, "*batch n d_model"], positions: Real[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d_model"]:
        """Devuelve ``x + scale · positions``; sin ``positions``, ``(n,)`` o ``(…, n)``, 0…n − 1.

        Errores: ``TypeError`` o ``ValueError`` si ``positions`` no tiene una posición por fila.
        """
        if positions is None:
            positions = torch.arange(x.shape[-2], device=x.device)
        return x.add(positions.to(x.dtype).unsqueeze(-1), alpha=self.scale)

    def extra_repr(self) -> str:
        return f"scale={self.scale}"


class Learned(nn.Module):
    """Suma a ``x`` una fila aprendida por posición; la tabla tiene ``max_len`` filas y ni una más.

    Errores: ``TypeError`` o ``ValueError`` si ``max_len`` o ``d_model`` no son enteros positivos.
    Fuente: Gehring et al. (2017), § 3.1; Phuong y Hutter (2022), algoritmo 2.
    """

    @typed(validate=checks.learned)
    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.max_len, self.d_model = max_len, d_model
        self.table = nn.Parameter(torch.empty(max_len, d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear la tabla, N(0, 0.02²), como BERT y GPT-2."""
        nn.init.normal_(self.table, std=0.02)

    @typed(validate=checks.looked_up)
    def forward(
        self, x: Float[Tensor, "*batch n d_model"], positions: Int[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d_model"]:
        """Devuelve ``x + table[positions]``; sin ``positions``, ``(n,)`` o ``(…, n)``, 0…n − 1.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no mide ``d_model``, si ``positions`` no
        tiene un entero por fila o si alguno no está entre 0 y ``max_len - 1``.
        """
        checks.require_learned(self, x, positions)
        rows = self.table[: x.shape[-2]] if positions is None else self.table[positions]
        return x + rows

    @typed(validate=checks.resized)
    def resized(self, max_len: int) -> nn.Module:
        """Devuelve otra tabla de ``max_len`` filas, interpolada; las de los extremos coinciden.

        La fila ``j`` nueva está en ``j · (L - 1) / (max_len - 1)`` de las ``L`` de antes. No es la
        interpolación de posiciones de RoPE, que está en :class:`Rotary`.

        Errores: ``TypeError`` o ``ValueError`` si ``max_len`` no es un entero positivo.
        Fuente: Dosovitskiy et al. (2021), § 3.2, para imágenes de otra resolución.
        """
        place = torch.linspace(0, self.max_len - 1, max_len, dtype=torch.float64)
        below = place.floor().long()
        above = (below + 1).clamp(max=self.max_len - 1)
        other = Learned(max_len, self.d_model).to(self.table)
        between = (place - below).to(self.table).unsqueeze(-1)  # (max_len, 1)
        with torch.no_grad():
            other.table.copy_(torch.lerp(self.table[below], self.table[above], between))
        return other

    def extra_repr(self) -> str:
        return f"max_len={self.max_len}, d_model={self.d_model}"
