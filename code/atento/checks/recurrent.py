"""La puerta de :mod:`atento.models.recurrent`: frases numeradas, relleno y estado."""

from typing import Any

import torch
from torch import Tensor, nn

from atento.amounts import require_size
from atento.checks.training import config_of
from atento.shapes import is_readable, require_integer


def require_id(value: int, vocab: int, *, name: str) -> None:
    """Lanza si ``value`` no es un número de un vocabulario de ``vocab`` palabras."""
    require_size(value, name=name, least=0)
    if value >= vocab:
        raise ValueError(f"{name}: se esperaba menor que el vocabulario, {vocab}; llegó {value}.")


def require_ids(ids: Tensor, vocab: int, *, name: str) -> None:
    """Lanza si ``ids`` no es ``(batch, posiciones)``, o algún número no cabe en ``vocab``."""
    require_integer(ids, name=name)
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(
            f"{name}: se esperaba int64; llegó {str(ids.dtype).removeprefix('torch.')}. "
            f"Conviértelo con {name}.long()."
        )
    if ids.ndim != 2 or ids.shape[1] == 0:
        raise ValueError(
            f"{name}: se esperaba la forma (batch, {name}) con {name} ≥ 1; llegó "
            f"{tuple(ids.shape)}."
        )
    if ids.shape[0] == 0:
        raise ValueError(f"{name}: se esperaba al menos una frase; llegó {tuple(ids.shape)}.")
    if is_readable(ids):
        _require_known(ids, vocab, name)


def _require_known(ids: Tensor, vocab: int, name: str) -> None:
    lowest, highest = (int(x) for x in ids.aminmax())
    if lowest < 0 or highest >= vocab:
        came = lowest if lowest < 0 else highest
        raise ValueError(f"{name}: se esperaban números entre 0 y {vocab - 1}; llegó {came}.")


def config(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``RecurrentConfig``."""
    if not hasattr(config, "cell"):
        raise TypeError(
            "config: se esperaba la configuración de un modelo recurrente; llegó "
            f"{type(config).__name__}."
        )


def encode(self: Any, source: Tensor) -> None:
    """Lanza si ``source`` no es ``(batch, source)``, con frases sin huecos y relleno al final."""
    require_ids(source, self.config.source_vocab, name="source")
    if not is_readable(source):
        return
    valid = source != self.config.pad_id
    if not valid[:, :1].all():
        raise ValueError(
            "source: se esperaba al menos una palabra por frase, y al principio; llegaron frases "
            "vacías (solo relleno) o que empiezan por relleno."
        )
    if (valid[:, 1:] & ~valid[:, :-1]).any():
        raise ValueError(
            "source: se esperaba el relleno al final de cada frase; llegó con relleno en medio."
        )


def forward(self: Any, source: Tensor, target: Tensor) -> None:
    """Lanza si ``source`` y ``target``, ``(batch, posiciones)``, no sirven o no son parejas."""
    encode(self, source)
    require_ids(target, self.config.target_vocab, name="target")
    _require_pairs(target, source.shape[0], name="target")


def step(self: Any, ids: Tensor, state: Any) -> None:
    """Lanza si ``ids``, ``(batch, length)``, o el estado no sirven."""
    require_ids(ids, self.config.target_vocab, name="ids")
    if not hasattr(state, "memory"):
        raise TypeError(
            f"state: se esperaba el estado que devuelve encode; llegó {type(state).__name__}."
        )
    _require_pairs(ids, state.memory.summary.shape[0], name="ids")


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> None:
    """Lanza si el lote no es la pareja ``(source, target)`` o ``target`` no da para predecir."""
    if not isinstance(batch, tuple) or len(batch) != 2:
        raise TypeError(
            f"batch: se esperaba la pareja (source, target); llegó {type(batch).__name__}."
        )
    target = batch[1]
    require_ids(target, config_of(model).target_vocab, name="target")
    if target.shape[1] < 2:
        raise ValueError(
            "target: se esperaban al menos dos columnas, comienzo y una palabra; llegó "
            f"{tuple(target.shape)}."
        )


def _require_pairs(ids: Tensor, n_sentences: int, *, name: str) -> None:
    if ids.shape[0] != n_sentences:
        raise ValueError(
            f"{name}: el eje «batch» mide {ids.shape[0]}, pero hay {n_sentences} frases en source."
        )
