"""La puerta de :mod:`atento.scaling`: tamaños, tiempos, y capas que se pueden partir."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import torch
from torch import Tensor, distributed, nn

from atento.amounts import (
    require_divisible,
    require_kind,
    require_number,
    require_positive,
    require_size,
)
from atento.shapes import require_floating


def sizes(**values: int) -> None:
    """Lanza si alguno no es un entero positivo."""
    for name, value in values.items():
        require_size(value, name=name)


def decoder(self: Any) -> None:
    """Lanza si un campo no es un entero positivo, o las cabezas no dividen a la anchura."""
    fields = {name: value for name, value in vars(self).items() if name != "d_ff"}
    sizes(**fields, **({} if self.d_ff is None else {"d_ff": self.d_ff}))
    require_divisible(self.d_model, self.n_heads, name="d_model", divisor_name="n_heads")


def memory(
    parameters: int,
    precision: str,
    known: Collection[str],
    processes: int,
    stage: int,
    activations: float,
) -> None:
    """Lanza si no son tamaños, una precisión de ``known`` y una etapa de 0 a 3."""
    sizes(parameters=parameters, processes=processes)
    if precision not in known:
        options = " o ".join(f"«{name}»" for name in known)
        raise ValueError(f"precision: se esperaba {options}; llegó {precision!r}.")
    require_size(stage, name="stage", least=0)
    if stage > 3:
        raise ValueError(f"stage: se esperaba una etapa de 0 a 3; llegó {stage}.")
    require_number(activations, name="activations")
    if not activations >= 0:
        raise ValueError(f"activations: se esperaba un número no negativo; llegó {activations}.")


def _callable(function: Callable) -> None:
    if not callable(function):
        kind = type(function).__name__
        raise TypeError(f"function: se esperaba algo que se pueda llamar; llegó {kind}.")


def saved(function: Callable, parameters: Iterable[Tensor]) -> list[Tensor]:
    """Los parámetros, en una lista; lanza si no son tensores, o ``function`` no se puede llamar."""
    _callable(function)
    found = list(parameters)
    for parameter in found:
        require_kind(parameter, Tensor, name="parameters", wanted="tensores")
    return found


def processes(function: Callable, size: int, seconds: float) -> None:
    """Lanza si no es una función, un número de procesos y un plazo."""
    _callable(function)
    require_size(size, name="size")
    require_positive(seconds, name="seconds")


# --- Entre procesos -------------------------------------------------------------------------------


def _team(name: str) -> tuple[int, int]:
    if not distributed.is_initialized():
        raise ValueError(
            f"{name}: se esperaba que hubiera procesos que se hablan; se llama dentro de "
            "run_processes o de torchrun."
        )
    return distributed.get_rank(), distributed.get_world_size()


def ring(pieces: list[Tensor]) -> tuple[int, int]:
    """Cuál es este proceso y cuántos son; lanza si no hay tantos trozos iguales."""
    require_kind(pieces, list, name="pieces", wanted="una lista de tensores")
    for piece in pieces:
        require_floating(piece, name="pieces")
    rank, size = _team("pieces")
    if len(pieces) != size or len({(piece.shape, piece.dtype) for piece in pieces}) != 1:
        shapes = [tuple(piece.shape) for piece in pieces]
        raise ValueError(f"pieces: se esperaban {size} trozos iguales; llegaron {shapes}.")
    return rank, size


def reduced(tensor: Tensor) -> int:
    """Cuántos procesos son; lanza si ``tensor`` no es de coma flotante."""
    require_floating(tensor, name="tensor")
    return _team("tensor")[1]


def floating(x: Tensor) -> None:
    """Lanza si ``x`` no es de coma flotante o no hay procesos."""
    require_floating(x, name="x")
    _team("x")


# --- Partir ---------------------------------------------------------------------------------------


def linear(linear: nn.Linear, rank: int, size: int, by: str) -> None:
    """Lanza si no es una capa lineal cuya anchura se parta en ``size``, o no hay parte ``rank``."""
    require_kind(linear, nn.Linear, name="linear", wanted="un nn.Linear")
    require_size(size, name="size")
    require_size(rank, name="rank", least=0)
    if rank >= size:
        raise ValueError(f"rank: se esperaba un proceso de 0 a {size - 1}; llegó {rank}.")
    if by not in ("columns", "rows"):
        raise ValueError(f"by: se esperaba «columns» o «rows»; llegó {by!r}.")
    wide = linear.out_features if by == "columns" else linear.in_features
    require_divisible(wide, size, name="linear", divisor_name="size")


def dense(dense: Any, size: int) -> None:
    """Lanza si no es una red densa de dos capas."""
    require_size(size, name="size")
    if getattr(dense, "gate", 0) is not None:
        kind = f"{type(dense).__name__}({getattr(dense, 'activation', '')})"
        raise TypeError(f"dense: se esperaba una FeedForward de dos capas; llegó {kind}.")


def heads(attention: Any, size: int) -> None:
    """Lanza si no es una multicabeza corriente cuyas cabezas se repartan entre ``size``."""
    require_size(size, name="size")
    if not hasattr(attention, "project_query") or not hasattr(attention, "n_heads"):
        kind = type(attention).__name__
        raise TypeError(f"attention: se esperaba una MultiHeadAttention; llegó {kind}.")
    require_divisible(attention.n_heads, size, name="attention", divisor_name="size")
    plain = attention.rotary is None and attention.score_bias is None
    if not plain or attention.n_kv_heads != attention.n_heads:
        raise ValueError(
            "attention: se esperaba una multicabeza sin sesgos de posición ni claves compartidas; "
            f"llegó {attention}."
        )


def shard(model: nn.Module) -> list[nn.Parameter]:
    """Los parámetros del modelo; lanza si no hay, o no son de una sola precisión."""
    require_kind(model, nn.Module, name="model", wanted="un nn.Module")
    found = list(model.parameters())
    if len({(p.dtype, p.device) for p in found}) != 1:
        raise ValueError(
            "model: se esperaban parámetros de una sola precisión y un solo dispositivo; hay "
            f"{len(found)} parámetros."
        )
    _team("model")
    return found


# --- Tiempos --------------------------------------------------------------------------------------


def times(**values: float) -> None:
    """Lanza si alguno no es un número positivo."""
    for name, value in values.items():
        require_positive(value, name=name)


def running(work: float, every: float, save: float, restart: float, between: float) -> None:
    """Lanza si no son positivos, o si no se acabaría nunca."""
    times(work=work, every=every, save=save, restart=restart, between=between)
    if every + save > 20 * between:
        raise ValueError(
            "every: se esperaba guardar antes de que pasen veinte fallos, o no se acabaría nunca; "
            f"llegó {every}, con {between} entre fallos."
        )


def dice(generator: torch.Generator) -> None:
    """Lanza si no es un generador."""
    require_kind(generator, torch.Generator, name="generator", wanted="un torch.Generator")
