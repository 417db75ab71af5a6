"""Partir un modelo entre procesos: por dentro de cada capa (Megatron) o en trozos (ZeRO, FSDP)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, distributed, nn

from atento.attention import MultiHeadAttention
from atento.checks import scaling as checks
from atento.layers import ACTIVATIONS, FeedForward
from atento.scaling.ring import ring_all_gather, ring_reduce_scatter

# --- Por dentro de una capa -----------------------------------------------------------------------


class _Copy(torch.autograd.Function):
    """Nada hacia delante; hacia atrás, la suma de los gradientes de todos."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        grad = grad.clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(grad)
        return grad


class _Sum(torch.autograd.Function):
    """La suma de lo de todos hacia delante; hacia atrás, nada."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


def copy_in(x: Tensor) -> Tensor:
    """Entra en la parte partida: (…, d) igual hacia delante; hacia atrás suma entre los procesos.

    Errores: ``TypeError`` si ``x`` no es un tensor de coma flotante.
    Fuente: Shoeybi et al. (2019), § 3, la función f.
    """
    checks.floating(x)
    return _Copy.apply(x)


def sum_out(x: Tensor) -> Tensor:
    """Sale de la parte partida: (…, d) suma entre los procesos hacia delante; hacia atrás, igual.

    Errores: ``TypeError`` si ``x`` no es un tensor de coma flotante.
    Fuente: Shoeybi et al. (2019), § 3, la función g.
    """
    checks.floating(x)
    return _Sum.apply(x)


def split_linear(linear: nn.Linear, rank: int, size: int, *, by: str) -> nn.Linear:
    """El trozo ``rank`` de ``size`` de una capa lineal que calcula x W + b.

    ``by="columns"`` da unas columnas de W y su parte del sesgo: salen menos números. Con «rows»,
    unas filas: entran menos números, y el sesgo, que se suma una sola vez, es del proceso 0.

    Errores: ``TypeError`` o ``ValueError`` si no se puede partir así.
    """
    checks.linear(linear, rank, size, by)
    axis = 0 if by == "columns" else 1  # nn.Linear guarda W traspuesta
    weight = linear.weight.detach().chunk(size, axis)[rank].clone()
    own = axis == 0 or rank == 0
    kept = linear.bias is not None and own
    part = nn.Linear(weight.shape[1], weight.shape[0], bias=kept, device="meta")
    part.weight = nn.Parameter(weight)
    if kept:
        bias = linear.bias.detach()
        part.bias = nn.Parameter(bias.chunk(size)[rank].clone() if axis == 0 else bias.clone())
    return part


class SplitFeedForward(nn.Module):
    """Una red densa partida: la primera capa por columnas, la segunda por filas y una suma.

    Errores: ``TypeError`` o ``ValueError`` si no se puede partir.
    Fuente: Shoeybi et al. (2019), § 3, ec. 2 y fig. 3a.
    """

    def __init__(self, dense: FeedForward, rank: int, size: int) -> None:
        super().__init__()
        checks.dense(dense, size)
        self.expand = split_linear(dense.expand, rank, size, by="columns")
        self.activation = ACTIVATIONS[dense.activation]
        self.contract = split_linear(dense.contract, rank, size, by="rows")

    def forward(self, x: Tensor) -> Tensor:
        """De (…, d_model) a (…, d_model), igual que la entera."""
        return sum_out(self.contract(self.activation(self.expand(copy_in(x)))))


class SplitAttention(nn.Module):
    """Una multicabeza partida: cada proceso, unas cabezas enteras, y una suma al unir.

    Errores: ``TypeError`` o ``ValueError`` si no se puede partir.
    Fuente: Shoeybi et al. (2019), § 3 y fig. 3b.
    """

    def __init__(self, attention: MultiHeadAttention, rank: int, size: int) -> None:
        super().__init__()
        checks.heads(attention, size)
        part = self.attention = MultiHeadAttention(attention.d_model, attention.n_heads)
        for name in ("project_query", "project_key", "project_value"):
            setattr(part, name, split_linear(getattr(attention, name), rank, size, by="columns"))
        part.project_output = split_linear(attention.project_output, rank, size, by="rows")
        part.n_heads = part.n_kv_heads = attention.n_heads // size

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Autoatención de (batch, n, d_model) a (batch, n, d_model), igual que la entera."""
        return sum_out(self.attention(copy_in(x), mask=mask)[0])


# --- En trozos ------------------------------------------------------------------------------------


class Shard:
    """Los parámetros de un modelo repartidos entre procesos: ZeRO-3, o FSDP con una sola unidad.

    ``own`` es lo que guarda este proceso, un vector con la enésima parte de todos los parámetros, y
    lo único que ve el optimizador. Los del modelo están vacíos salvo dentro de :meth:`gathered`.

    Errores: ``TypeError`` o ``ValueError`` si el modelo no tiene parámetros de una sola precisión.
    Fuente: Rajbhandari et al. (2020), § 5.3; Zhao et al. (2023), § 3.
    """

    def __init__(self, model: nn.Module) -> None:
        self._parameters = checks.shard(model)
        self._shapes = [p.shape for p in self._parameters]
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self.own = nn.Parameter(self._pieces([p.detach() for p in self._parameters])[self.rank])
        self._release()

    def _pieces(self, tensors: list[Tensor]) -> list[Tensor]:
        """Todos los números en fila, en tantos trozos iguales como procesos."""
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        flat = torch.nn.functional.pad(flat, (0, -flat.numel() % self.size))
        return [piece.clone() for piece in flat.chunk(self.size)]

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Dentro, el modelo está entero; al salir, los gradientes se han sumado y repartido.

        Queda en ``own.grad`` la media entre los procesos de esa parte del gradiente.
        """
        pieces = [torch.empty_like(self.own.data) for _ in range(self.size)]
        pieces[self.rank].copy_(self.own.data)
        ring_all_gather(pieces)
        flat, start = torch.cat(pieces), 0
        for p, shape in zip(self._parameters, self._shapes, strict=True):
            p.data = flat[start : start + shape.numel()].view(shape)
            start += shape.numel()
        try:
            yield
            if any(p.grad is not None for p in self._parameters):
                self._scatter()
        finally:
            self._release()

    def _scatter(self) -> None:
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._parameters]
        pieces = self._pieces(grads)
        ring_reduce_scatter(pieces)
        self.own.grad = pieces[self.rank] / self.size

    def _release(self) -> None:
        for p in self._parameters:
            p.grad, p.data = None, p.data.new_empty(0)
