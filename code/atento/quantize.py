"""Piso 5: guardar los pesos en enteros de 8 bits.

Cada fila de una matriz se guarda como enteros de −127 a 127 y un número, su escala: la fila vale
enteros por escala. Ocupa la cuarta parte que en 32 bits, y ningún peso se mueve más de media
escala.
"""

import copy
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int8
from torch import Tensor, nn

from atento.checks import quantize as checks
from atento.shapes import typed

LEVELS = 127
"""El mayor entero que se usa: la escala va de −127 a 127, y el 0 es el 0."""


class Quantized(NamedTuple):
    """Una matriz en 8 bits: ``values`` (rows, columns), enteros, y ``scale`` (rows,)."""

    values: Int8[Tensor, "rows columns"]
    scale: Float[Tensor, " rows"]

    @property
    def weight(self) -> Float[Tensor, "rows columns"]:
        """La matriz que estos enteros representan."""
        return self.values.to(self.scale.dtype) * self.scale.unsqueeze(-1)


@typed(validate=checks.rows)
def quantize_rows(weight: Float[Tensor, "rows columns"]) -> Quantized:
    """Redondea cada fila a 255 niveles repartidos por igual; el mayor de su fila es ±127.

    Una fila de ceros queda de ceros, con escala 1.

    Errores: ``TypeError`` o ``ValueError`` si ``weight`` no es (rows, columns) de coma flotante y
    finita.
    Fuente: Dettmers et al. (2022), § 2, cuantización por vectores con el máximo absoluto.
    """
    largest = weight.abs().amax(dim=-1)  # (rows,)
    scale = torch.where(largest > 0, largest / LEVELS, 1.0).to(weight.dtype)
    values = (weight / scale.unsqueeze(-1)).round().clamp(-LEVELS, LEVELS).to(torch.int8)
    return Quantized(values, scale)


class Int8Linear(nn.Module):
    """Una capa lineal que guarda su matriz en 8 bits; el sesgo y las cuentas, como estaban.

    Se hace con :meth:`from_linear` y no se entrena: los pesos son memoria y no parámetros. Al
    multiplicar se desempaqueta la matriz, así que ahorra memoria y no tiempo.

    Errores: ``TypeError`` si ``linear`` no es un ``nn.Linear``.
    """

    values: Tensor
    scale: Tensor
    bias: Tensor | None

    @typed(validate=checks.linear)
    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        packed = quantize_rows(linear.weight.detach())
        self.register_buffer("values", packed.values)
        self.register_buffer("scale", packed.scale)
        bias = None if linear.bias is None else linear.bias.detach().clone()
        self.register_buffer("bias", bias)

    @property
    def weight(self) -> Float[Tensor, "out in"]:
        """La matriz, desempaquetada."""
        return Quantized(self.values, self.scale).weight

    @typed(validate=checks.apply)
    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """``x`` por la matriz guardada, más el sesgo.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (…, in_features) de coma flotante.
        """
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}"


@typed(validate=checks.module)
def quantized(model: nn.Module) -> nn.Module:
    """Una copia de ``model``, evaluando, con todas sus capas lineales en 8 bits.

    Las matrices atadas a un embedding se guardan aparte: el embedding queda como estaba.

    Errores: ``TypeError`` si ``model`` no es un módulo.
    """
    twin = copy.deepcopy(model).eval()
    if isinstance(twin, nn.Linear):
        return Int8Linear(twin)
    for module in list(twin.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Int8Linear(child))
    return twin


@typed(validate=checks.module)
def stored_bytes(model: nn.Module) -> int:
    """Lo que ocupan los parámetros y la memoria de ``model``; lo compartido, una vez. En bytes.

    Errores: ``TypeError`` si ``model`` no es un módulo.
    """
    tensors = {t.data_ptr(): t for t in (*model.parameters(), *model.buffers()) if t.numel()}
    return sum(t.numel() * t.element_size() for t in tensors.values())
