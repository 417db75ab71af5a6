"""La puerta de :mod:`atento.similarity`: consultas, claves y los parámetros de cada similitud."""

from collections.abc import Sequence

from torch import Tensor

from atento.amounts import require_positive
from atento.shapes import require_axis, require_floating, require_same_kind


def require_pair(query: Tensor, key: Tensor, *, same_width: bool = True) -> None:
    """Lanza si ``query`` y ``key`` no son ``(…, posiciones, d)`` del mismo tipo y lotes iguales."""
    require_floating(query, name="query")
    require_floating(key, name="key")
    if query.ndim < 2 or key.ndim < 2:
        name, came = ("query", query) if query.ndim < 2 else ("key", key)
        raise ValueError(f"{name}: se esperaba la forma (…, {name}, d); llegó {tuple(came.shape)}.")
    require_same_kind(key, query, name="key", reference_name="query")
    if key.shape[:-2] != query.shape[:-2]:
        raise ValueError(
            f"key: se esperaban los ejes de lote de query, {tuple(query.shape[:-2])}; llegaron "
            f"{tuple(key.shape[:-2])}."
        )
    if same_width:
        require_axis(key, -1, query.shape[-1], name="key", label="d_head", like="query")


def require_shape(
    value: Tensor, name: str, axes: Sequence[str], sizes: Sequence[int | None]
) -> None:
    """Lanza si ``value`` no es de coma flotante o no mide ``sizes`` (``None``: lo que sea)."""
    require_floating(value, name=name)
    fits = value.ndim == len(sizes)
    if fits and all(s in (None, v) for s, v in zip(sizes, value.shape, strict=True)):
        return
    wanted = ", ".join(a if s is None else f"{a}={s}" for a, s in zip(axes, sizes, strict=True))
    raise ValueError(f"{name}: se esperaba la forma ({wanted}); llegó {tuple(value.shape)}.")


def _parameter(value: Tensor, name: str, axes: Sequence[str], sizes, query: Tensor) -> None:
    require_shape(value, name, axes, sizes)
    require_same_kind(value, query, name=name, reference_name="query")


def dot(query: Tensor, key: Tensor) -> None:
    """Lanza si ``query`` y ``key``, ``(…, posiciones, d)``, no casan."""
    require_pair(query, key)


def scaled_dot(query: Tensor, key: Tensor, *, scale: float | None = None) -> None:
    """Lanza si ``query`` y ``key``, ``(…, posiciones, d)``, no casan o ``scale`` no es positivo."""
    require_pair(query, key)
    if scale is not None:
        require_positive(scale, name="scale")


def bilinear(query: Tensor, key: Tensor, *, weight: Tensor) -> None:
    """Lanza si ``weight`` no es ``(d_query, d_key)``."""
    require_pair(query, key, same_width=False)
    sizes = (query.shape[-1], key.shape[-1])
    _parameter(weight, "weight", ("d_query", "d_key"), sizes, query)


def additive(query: Tensor, key: Tensor, *, w_q: Tensor, w_k: Tensor, v: Tensor) -> None:
    """Lanza si ``w_q``, ``w_k`` o ``v`` no son ``(d, d_hidden)`` y ``(d_hidden,)``."""
    require_pair(query, key, same_width=False)
    _parameter(w_q, "w_q", ("d_query", "d_hidden"), (query.shape[-1], None), query)
    _parameter(w_k, "w_k", ("d_key", "d_hidden"), (key.shape[-1], w_q.shape[-1]), query)
    _parameter(v, "v", ("d_hidden",), (w_q.shape[-1],), query)


def gaussian(query: Tensor, key: Tensor, *, bandwidth: float = 1.0) -> None:
    """Lanza si ``query`` y ``key``, ``(…, posiciones, d)``, no casan o el ancho no es positivo."""
    require_pair(query, key)
    require_positive(bandwidth, name="bandwidth")
