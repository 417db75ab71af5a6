"""La puerta de :mod:`atento.blocks`: piezas de la misma anchura y una memoria por bloque."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from atento.checks.positions import require_places
from atento.shapes import require_axis, require_boolean, require_floating


def encoder_block(
    self: Any,
    attention: nn.Module,
    feed_forward: nn.Module,
    *,
    norm: str = "pre",
    normalization: str = "layer",
    dropout: float = 0.0,
) -> None:
    """Lanza si las piezas no son módulos de la misma anchura; lo demás lo mira ``Residual``."""
    _require_parts(attention=attention, feed_forward=feed_forward)


def decoder_block(
    self: Any,
    attention: nn.Module,
    cross_attention: nn.Module,
    feed_forward: nn.Module,
    *,
    norm: str = "pre",
    normalization: str = "layer",
    dropout: float = 0.0,
) -> None:
    """Lanza si las piezas no son módulos de la misma anchura; lo demás lo mira ``Residual``."""
    _require_parts(attention=attention, cross_attention=cross_attention, feed_forward=feed_forward)
    if cross_attention is attention:
        raise ValueError(
            "cross_attention: se esperaba otra atención, con sus propias matrices; llegó la misma "
            "que en attention."
        )


def _require_parts(**parts: nn.Module) -> None:
    for name, part in parts.items():
        if not isinstance(part, nn.Module):
            raise TypeError(f"{name}: se esperaba un nn.Module; llegó {type(part).__name__}.")
    width = getattr(parts["attention"], "d_model", None)
    if width is None:
        raise TypeError(
            f"attention: se esperaba una atención con d_model, como MultiHeadAttention; llegó "
            f"{type(parts['attention']).__name__}."
        )
    for name, part in parts.items():
        other = getattr(part, "d_model", width)  # una red ajena puede no decir su anchura
        if other != width:
            raise ValueError(
                f"{name}: se esperaba d_model = {width}, como attention; llegó {other}."
            )


def encode(self: Any, x: Tensor, where: Any | None = None) -> None:
    """Lanza si ``x`` no es ``(…, n, d_model)`` o ``where`` no casa con él."""
    _require_states(self, x)
    _require_own(x, where, name="where")


def decode(
    self: Any, x: Tensor, memory: Any, own: Any | None = None, crossed: Any | None = None
) -> None:
    """Lanza si ``x`` no es ``(…, n, d_model)``, ``own`` no casa con él o falta la memoria."""
    _require_states(self, x)
    if memory is None:
        raise TypeError("memory: se esperaba la salida del codificador; llegó None.")
    _require_own(x, own, name="own")
    cache = _require_where(crossed, name="crossed")
    if cache is not None:
        raise ValueError(
            f"crossed: no se esperaba una caché, porque la memoria no crece; llegó "
            f"{type(cache).__name__}. La de lo ya escrito va en own."
        )


def _require_own(x: Tensor, where: Any, *, name: str) -> None:
    """Lanza si ``where`` no sirve para la autoatención de ``x``; lo demás lo mira la atención."""
    cache = _require_where(where, name=name)
    if cache is not None and not hasattr(cache, "joined"):
        raise TypeError(f"cache: se esperaba un KVCache; llegó {type(cache).__name__}.")
    if getattr(where, "positions", None) is not None:
        n = x.shape[-2] + (0 if cache is None else len(cache))
        require_places(where.positions, tuple(x.shape[:-2]), n, x, "positions")


def _require_where(where: Any, *, name: str) -> Any | None:
    """Devuelve la caché que lleva, o ``None``; lanza si no es ni una máscara ni un ``Where``."""
    if where is None:
        return None
    if isinstance(where, Tensor):
        require_boolean(where, name="mask")
        return None
    if not hasattr(where, "cache"):
        raise TypeError(
            f"{name}: se esperaba una máscara booleana o un Where; llegó {type(where).__name__}."
        )
    return where.cache


def _require_states(self: Any, x: Tensor) -> None:
    require_floating(x, name="x")
    if x.ndim < 2:
        raise ValueError(f"x: se esperaba la forma (…, n, d_model); llegó {tuple(x.shape)}.")
    width = self.attention.d_model
    require_axis(x, -1, width, name="x", label="d_model", like="el constructor")


def stack(self: Any, blocks: Sequence[nn.Module], final_norm: nn.Module | None = None) -> None:
    """Lanza si ``blocks`` no es una lista de módulos con al menos uno."""
    if not isinstance(blocks, (list, tuple, nn.ModuleList)):
        raise TypeError(f"blocks: se esperaba una lista; llegó {type(blocks).__name__}.")
    if not len(blocks):
        raise ValueError("blocks: se esperaba al menos un bloque; no llegó ninguno.")
    for position, block in enumerate(blocks):
        if not isinstance(block, nn.Module):
            raise TypeError(
                f"blocks[{position}]: se esperaba un nn.Module; llegó {type(block).__name__}."
            )


def one_each(values: Any, n_blocks: int, *, name: str) -> list:
    """Devuelve una lista con un valor por bloque (``None`` en todos si no hay valores), o lanza."""
    if values is not None and not isinstance(values, (list, tuple)):
        raise TypeError(
            f"{name}: se esperaba una lista, con uno por bloque; llegó {type(values).__name__}."
        )
    values = [None] * n_blocks if values is None else list(values)
    if len(values) != n_blocks:
        raise ValueError(f"{name}: se esperaba uno por bloque, {n_blocks}; llegaron {len(values)}.")
    return values
