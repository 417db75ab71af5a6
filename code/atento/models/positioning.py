"""Piso 6: por dónde entra la posición en un modelo, por su nombre o pieza a pieza."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Int, Real
from torch import Tensor, nn

from atento import positions
from atento.shapes import require_tensor

ADDED = ("sinusoidal", "learned")
RELATIVE = ("rotary", "t5", "alibi", "shaw")
NAMES = ("none", *ADDED, *RELATIVE)
"""Los esquemas con nombre: ninguno, los que se suman a la entrada y los que miran la distancia."""


def consecutive(ids: Int[Tensor, "batch n"]) -> Int[Tensor, " n"]:
    """Las posiciones de siempre, 0, 1, …, n − 1, comunes al lote.

    Errores: ``TypeError`` si ``ids`` no es un tensor.
    """
    require_tensor(ids, name="ids")
    return torch.arange(ids.shape[1], device=ids.device)


@dataclass(frozen=True)
class Positions:
    """Por dónde entra la posición en un codificador-decodificador; lo que falta no entra.

    ``source`` y ``target`` se suman a los embeddings: módulos ``(x, positions) → x``. ``encoder``,
    ``decoder`` y ``cross`` son las opciones de cada atención, ``{"rotary": …}`` o
    ``{"score_bias": …}``; las capas de una pila comparten el módulo. ``places`` da, de los números
    de una frase, (batch, n), sus posiciones, (n,) o (batch, n): con ella una posición puede ser,
    por ejemplo, el lugar de una cifra. La de cada columna solo puede depender de las anteriores
    y de ella.
    """

    source: Callable[[Tensor, Tensor], Tensor] | None = None
    target: Callable[[Tensor, Tensor], Tensor] | None = None
    encoder: Mapping[str, Any] = field(default_factory=dict)
    decoder: Mapping[str, Any] = field(default_factory=dict)
    cross: Mapping[str, Any] = field(default_factory=dict)
    places: Callable[[Tensor], Real[Tensor, "..."]] = consecutive


def added(name: str, *, d_model: int, max_len: int) -> nn.Module | None:
    """El módulo que se suma a la entrada con ese esquema, o ``None`` si no suma nada."""
    if name == "sinusoidal":
        return positions.Sinusoidal(d_model)
    return positions.Learned(max_len, d_model) if name == "learned" else None


def attention_options(
    name: str, *, d_head: int, n_heads: int, max_len: int, causal: bool = False
) -> dict[str, nn.Module]:
    """Las opciones de ``MultiHeadAttention`` con ese esquema; vacías si no toca la atención.

    «t5», con ``causal``, guarda todos sus cubos para las claves anteriores.
    """
    if name == "rotary":
        return {"rotary": positions.Rotary(d_head)}
    if name == "t5":
        return {"score_bias": positions.RelativeBias(n_heads, bidirectional=not causal)}
    if name == "alibi":
        return {"score_bias": positions.Alibi(n_heads)}
    if name == "shaw":
        return {"score_bias": positions.ShawRelative(d_head, min(16, max_len))}
    return {}
