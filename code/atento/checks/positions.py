"""La puerta de :mod:`atento.positions`: anchuras pares, posiciones, distancias y tablas."""

import math
from typing import Any

import torch
from torch import Tensor

from atento.amounts import require_number, require_positive, require_size
from atento.shapes import (
    is_readable,
    require_axis,
    require_broadcastable,
    require_floating,
    require_integer,
    require_same_kind,
    require_tensor,
)

LAYOUTS = ("interleaved", "half")

# --- Números --------------------------------------------------------------------------------------


def _require_even(value: int, *, name: str, least: int = 2) -> None:
    require_size(value, name=name)
    if value % 2 or value < least:
        more = "" if least == 2 else f" y mayor o igual que {least}"
        raise ValueError(
            f"{name}: se esperaba un entero par{more}, porque las componentes van por parejas; "
            f"llegó {value}."
        )


def _require_base(base: float) -> None:
    require_positive(base, name="base")
    if base <= 1:
        raise ValueError(f"base: se esperaba un número mayor que 1; llegó {base}.")


def _require_dtype(dtype: object) -> None:
    if dtype is None or (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        return
    raise TypeError(f"dtype: se esperaba un tipo de coma flotante de PyTorch; llegó {dtype!r}.")


def _require_layout(layout: str) -> None:
    if layout not in LAYOUTS:
        raise ValueError(f"layout: se esperaba uno de {', '.join(LAYOUTS)}; llegó {layout!r}.")


def _require_flag(value: bool, *, name: str) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name}: se esperaba True o False; llegó {value!r}.")


def frequencies(d: int, base: float = 1e4, *, dtype: torch.dtype | None = None) -> None:
    """Lanza si ``d`` no es par, ``base`` no pasa de 1 o ``dtype`` no es de coma flotante."""
    _require_even(d, name="d")
    _require_base(base)
    _require_dtype(dtype)


def sinusoidal(
    positions: Tensor, d_model: int, base: float = 1e4, *, dtype: torch.dtype | None = None
) -> None:
    """Lanza si ``positions``, ``(…, n)``, no es un tensor de números o ``d_model`` no es par."""
    _require_real(positions, name="positions")
    _require_even(d_model, name="d_model")
    _require_base(base)
    _require_dtype(dtype)


def shift_rotation(
    delta: float, d: int, base: float = 1e4, *, dtype: torch.dtype | None = None
) -> None:
    """Lanza si ``delta`` no es un número finito o ``d`` no es par."""
    require_number(delta, name="delta")
    if not math.isfinite(delta):
        raise ValueError(f"delta: se esperaba un número finito; llegó {delta}.")
    frequencies(d, base, dtype=dtype)


# --- Posiciones -----------------------------------------------------------------------------------


def _require_real(positions: Tensor, *, name: str) -> None:
    require_tensor(positions, name=name)
    if positions.is_complex() or positions.dtype == torch.bool:
        kind = str(positions.dtype).removeprefix("torch.")
        raise TypeError(f"{name}: se esperaban posiciones enteras o reales; llegó {kind}.")
    if positions.ndim < 1:
        raise ValueError(f"{name}: se esperaba la forma (n,) o (…, n); llegó un número suelto.")


def require_places(
    positions: Tensor, batch: tuple[int, ...], n: int, like: Tensor, name: str
) -> None:
    """Lanza si ``positions`` no es ``(n,)`` o ``(*batch, n)``, o está en otro dispositivo."""
    _require_real(positions, name=name)
    came, goal = tuple(positions.shape), (*batch, n)
    if came not in ((n,), goal):
        raise ValueError(
            f"{name}: se esperaba una posición por fila, con la forma ({n},) o, de cada ejemplo, "
            f"{goal}; llegó {came}."
        )
    if positions.device != like.device:
        raise ValueError(
            f"{name}: se esperaba en {like.device}, como los vectores; está en {positions.device}."
        )


def _require_range(values: Tensor, size: int, *, name: str, what: str) -> None:
    """Lanza si algún entero no está entre 0 y ``size - 1``."""
    if not is_readable(values) or values.numel() == 0:
        return
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= size:
        raise ValueError(
            f"{name}: se esperaban enteros entre 0 y {size - 1}, porque {what}; llegó "
            f"{low if low < 0 else high}."
        )


def _require_rows(x: Tensor, positions: Tensor | None, width: int | None = None) -> None:
    require_floating(x, name="x")
    if x.ndim < 2:
        raise ValueError(f"x: se esperaba la forma (…, n, d_model); llegó {tuple(x.shape)}.")
    if width is not None:
        require_axis(x, -1, width, name="x", label="d_model", like="el constructor")
    if positions is not None:
        require_places(positions, tuple(x.shape[:-2]), x.shape[-2], x, "positions")


def placed(self: Any, positions: Tensor) -> None:
    """Lanza si ``positions``, ``(…, n)``, no es un tensor de números."""
    _require_real(positions, name="positions")


# --- Sumadas a la entrada -------------------------------------------------------------------------


def sinusoidal_module(self: Any, d_model: int, *, base: float = 1e4) -> None:
    """Lanza si ``Sinusoidal`` no puede construirse."""
    _require_even(d_model, name="d_model")
    _require_base(base)


def raw_index(self: Any, scale: float = 1.0) -> None:
    """Lanza si ``scale`` no es un número positivo."""
    require_positive(scale, name="scale")


def unplaced(self: Any, x: Tensor, positions: Tensor | None = None) -> None:
    """Lanza si ``x``, ``(…, n, d)``, y ``positions`` no casan; vale cualquier anchura."""
    _require_rows(x, positions)


def added(self: Any, x: Tensor, positions: Tensor | None = None) -> None:
    """Lanza si ``x`` no mide ``d_model`` o ``positions`` no tiene una posición por fila."""
    _require_rows(x, positions, self.d_model)


def learned(self: Any, max_len: int, d_model: int) -> None:
    """Lanza si los tamaños no son enteros positivos."""
    require_size(max_len, name="max_len")
    require_size(d_model, name="d_model")


def looked_up(self: Any, x: Tensor, positions: Tensor | None = None) -> None:
    """Lanza si ``x`` no casa con la tabla o ``positions`` no son enteros, uno por fila."""
    if positions is not None:
        require_integer(positions, name="positions")
    _require_rows(x, positions, self.d_model)
    require_same_kind(x, self.table, name="x", reference_name="table")


def require_learned(self: Any, x: Tensor, positions: Tensor | None) -> None:
    """Lanza si alguna posición no está en la tabla, que puede pasar en cualquier paso."""
    what = f"la tabla aprendió max_len = {self.max_len} posiciones"
    if positions is not None:
        _require_range(positions, self.max_len, name="positions", what=what)
    elif x.shape[-2] > self.max_len:
        raise ValueError(
            f"x: se esperaban como mucho {self.max_len} filas, porque {what}; llegaron "
            f"{x.shape[-2]}. Con resized({x.shape[-2]}) se interpola una tabla mayor."
        )


def resized(self: Any, max_len: int) -> None:
    """Lanza si ``max_len`` no es un entero positivo."""
    require_size(max_len, name="max_len")


def convolutional(self: Any, d_model: int, kernel_size: int = 3, *, causal: bool = False) -> None:
    """Lanza si los tamaños no son positivos o la ventana, par, no puede centrarse."""
    require_size(d_model, name="d_model")
    require_size(kernel_size, name="kernel_size")
    _require_flag(causal, name="causal")
    if kernel_size % 2 == 0 and not causal:
        raise ValueError(
            f"kernel_size: se esperaba un número impar, para mirar lo mismo a cada lado; llegó "
            f"{kernel_size}. Con causal=True puede ser par."
        )


def recurrent(self: Any, d_model: int) -> None:
    """Lanza si ``d_model`` no es un entero positivo."""
    require_size(d_model, name="d_model")


def from_the_start(self: Any, x: Tensor, positions: Tensor | None = None) -> None:
    """Lanza si ``x`` no mide ``d_model`` o las posiciones no son 0, 1, …, n − 1."""
    _require_rows(x, positions, self.d_model)
    if positions is None or not is_readable(positions):
        return
    if not (positions == torch.arange(x.shape[-2], device=x.device)).all():
        raise ValueError(
            f"positions: se esperaba 0, 1, …, {x.shape[-2] - 1}, porque {type(self).__name__} lee "
            f"la secuencia desde el principio y no puede empezar a la mitad (con caché, tampoco); "
            f"llegó {positions.tolist()}."
        )


def complex_embedding(self: Any, vocab: int, d_model: int) -> None:
    """Lanza si ``vocab`` no es positivo o ``d_model`` no es par."""
    require_size(vocab, name="vocab")
    _require_even(d_model, name="d_model")


def embedded(self: Any, ids: Tensor, positions: Tensor | None = None) -> None:
    """Lanza si ``ids``, ``(…, n)``, no está en el vocabulario o ``positions`` no casa."""
    require_integer(ids, name="ids")
    if ids.ndim < 1:
        raise ValueError("ids: se esperaba la forma (…, n); llegó un número suelto.")
    _require_range(ids, self.vocab, name="ids", what=f"el vocabulario tiene {self.vocab} palabras")
    if positions is not None:
        require_places(positions, tuple(ids.shape[:-1]), ids.shape[-1], ids, "positions")


# --- Girando --------------------------------------------------------------------------------------


def rotate(x: Tensor, angles: Tensor, *, layout: str = "interleaved") -> None:
    """Lanza si ``x``, ``(…, d)``, es impar o ``angles`` no se difunde hasta ``(…, d/2)``."""
    require_floating(x, name="x")
    require_floating(angles, name="angles")
    _require_layout(layout)
    if x.ndim < 1 or x.shape[-1] % 2:
        raise ValueError(f"x: se esperaba una anchura par; llegó la forma {tuple(x.shape)}.")
    goal = (*x.shape[:-1], x.shape[-1] // 2)
    require_broadcastable(angles, goal, name="angles", axes="(…, d/2)")


def ntk_base(base: float, factor: float, d: int) -> None:
    """Lanza si los números no son positivos o ``d`` no es par y mayor que 2."""
    _require_base(base)
    require_positive(factor, name="factor")
    _require_even(d, name="d", least=4)


def rotary(
    self: Any,
    d_head: int,
    *,
    base: float = 1e4,
    rotary_dim: int | None = None,
    interpolation: float = 1.0,
    ntk: float = 1.0,
    layout: str = "interleaved",
) -> None:
    """Lanza si ``Rotary`` no puede construirse con esos números."""
    if rotary_dim is None:
        _require_even(d_head, name="d_head")
    else:
        require_size(d_head, name="d_head")
        _require_even(rotary_dim, name="rotary_dim")
        if rotary_dim > d_head:
            raise ValueError(
                f"rotary_dim: se esperaba como mucho d_head = {d_head}; llegó {rotary_dim}."
            )
    _require_base(base)
    require_positive(interpolation, name="interpolation")
    require_positive(ntk, name="ntk")
    if ntk != 1:
        name, turning = ("d_head", d_head) if rotary_dim is None else ("rotary_dim", rotary_dim)
        _require_even(turning, name=name, least=4)
    _require_layout(layout)


def _fits(x: Tensor, positions: Tensor, width: int) -> bool:
    """Dice, casi sin coste, que hay una posición entera por fila y la anchura es la debida."""
    return (
        isinstance(x, Tensor)
        and isinstance(positions, Tensor)
        and x.is_floating_point()
        and x.ndim >= 2
        and x.shape[-1] == width
        and positions.dtype == torch.int64
        and positions.shape == x.shape[-2:-1]
        and positions.device == x.device
    )


def turned(self: Any, x: Tensor, positions: Tensor) -> None:
    """Lanza si ``x``, ``(…, head, n, d_head)``, no casa con ``positions``, ``(…, n)``."""
    if _fits(x, positions, self.d_head):
        return
    require_floating(x, name="x")
    if x.ndim < 2:
        raise ValueError(f"x: se esperaba la forma (…, head, n, d_head); llegó {tuple(x.shape)}.")
    require_axis(x, -1, self.d_head, name="x", label="d_head", like="el constructor")
    require_places(positions, tuple(x.shape[:-3]), x.shape[-2], x, "positions")


# --- Sumadas a las puntuaciones -------------------------------------------------------------------


def pair(query_positions: Tensor, key_positions: Tensor) -> None:
    """Lanza si no son ``(…, query)`` y ``(…, key)`` con el mismo lote (o sin él) y dispositivo."""
    _require_real(query_positions, name="query_positions")
    _require_real(key_positions, name="key_positions")
    batches = query_positions.shape[:-1], key_positions.shape[:-1]
    if all(batches) and batches[0] != batches[1]:
        raise ValueError(
            f"key_positions: se esperaban los ejes de lote de query_positions, "
            f"{tuple(batches[0])}; llegaron {tuple(batches[1])}."
        )
    if query_positions.device != key_positions.device:
        raise ValueError(
            f"key_positions: se esperaba en {query_positions.device}, como query_positions; está "
            f"en {key_positions.device}."
        )


def bias(self: Any, query_positions: Tensor, key_positions: Tensor) -> None:
    """Lanza si las posiciones, ``(…, query)`` y ``(…, key)``, no casan."""
    pair(query_positions, key_positions)


def integer_bias(self: Any, query_positions: Tensor, key_positions: Tensor) -> None:
    """Lanza si las posiciones, ``(…, query)`` y ``(…, key)``, no son enteras o no casan."""
    require_integer(query_positions, name="query_positions")
    require_integer(key_positions, name="key_positions")
    pair(query_positions, key_positions)


def query_bias(self: Any, query_positions: Tensor, key_positions: Tensor, query: Tensor) -> None:
    """Lanza si las posiciones no son enteras o no casan con ``query``, ``(…, query, d_head)``."""
    integer_bias(self, query_positions, key_positions)
    require_floating(query, name="query")
    require_axis(query, -1, self.d_head, name="query", label="d_head", like="el constructor")
    require_same_kind(query, self.table, name="query", reference_name="table")
    batch = tuple(query.shape[:-3])
    require_places(query_positions, batch, query.shape[-2], query, "query_positions")
    require_places(key_positions, batch, key_positions.shape[-1], query, "key_positions")


def _require_buckets(n_buckets: int, max_distance: int, bidirectional: bool) -> None:
    require_size(n_buckets, name="n_buckets")
    require_size(max_distance, name="max_distance")
    _require_flag(bidirectional, name="bidirectional")
    least = 4 if bidirectional else 2
    if n_buckets % least:
        raise ValueError(
            f"n_buckets: se esperaba un múltiplo de {least}, para repartir los cubos; llegó "
            f"{n_buckets}."
        )
    exact = n_buckets // least
    if max_distance <= exact:
        raise ValueError(
            f"max_distance: se esperaba más de {exact}, porque con n_buckets = {n_buckets} esas "
            f"distancias ya tienen cada una su cubo; llegó {max_distance}."
        )


def relative_bucket(
    relative: Tensor, *, n_buckets: int = 32, max_distance: int = 128, bidirectional: bool = True
) -> None:
    """Lanza si ``relative``, de cualquier forma, no es de enteros o no se pueden hacer cubos."""
    require_integer(relative, name="relative")
    _require_buckets(n_buckets, max_distance, bidirectional)


def relative_bias(
    self: Any,
    n_heads: int,
    *,
    n_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
) -> None:
    """Lanza si ``RelativeBias`` no puede construirse con esos números."""
    require_size(n_heads, name="n_heads")
    _require_buckets(n_buckets, max_distance, bidirectional)


def alibi(n_heads: int, *, dtype: torch.dtype | None = None) -> None:
    """Lanza si ``n_heads`` no es un entero positivo."""
    require_size(n_heads, name="n_heads")
    _require_dtype(dtype)


def alibi_module(self: Any, n_heads: int) -> None:
    """Lanza si ``n_heads`` no es un entero positivo."""
    require_size(n_heads, name="n_heads")


def shaw(self: Any, d_head: int, max_distance: int) -> None:
    """Lanza si ``d_head`` o ``max_distance`` no son enteros positivos."""
    require_size(d_head, name="d_head")
    require_size(max_distance, name="max_distance")


def dynamic(self: Any, n_heads: int, d_hidden: int = 16) -> None:
    """Lanza si ``n_heads`` o ``d_hidden`` no son enteros positivos."""
    require_size(n_heads, name="n_heads")
    require_size(d_hidden, name="d_hidden")
