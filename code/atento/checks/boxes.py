"""La puerta de :mod:`atento.boxes`: cajas como esquinas o como centro, y costes."""

from torch import Tensor

from atento.shapes import require_floating, require_same_kind


def _require_four(value: Tensor, name: str, *, flat: bool = False) -> None:
    require_floating(value, name=name)
    if value.ndim < 1 or value.shape[-1] != 4 or (flat and value.ndim != 2):
        wanted = f"({name}, 4)" if flat else "(…, 4)"
        raise ValueError(f"{name}: se esperaba la forma {wanted}; llegó {tuple(value.shape)}.")


def _require_corners(value: Tensor, name: str, *, flat: bool = False) -> None:
    _require_four(value, name, flat=flat)
    turned = value[..., 2:] < value[..., :2]
    if turned.any():
        box = value[turned.any(dim=-1)][0].tolist()
        raise ValueError(
            f"{name}: se esperaban esquinas (x0, y0, x1, y1) con x0 ≤ x1 e y0 ≤ y1; llegó {box}. "
            f"Si son centro y tamaño, pásalas antes por to_corners."
        )


def boxes(boxes: Tensor) -> None:
    """Lanza si ``boxes`` no es (…, 4) de coma flotante."""
    _require_four(boxes, "boxes")


def corners(boxes: Tensor) -> None:
    """Lanza si ``boxes`` no son esquinas, (…, 4), en orden."""
    _require_corners(boxes, "boxes")


def pairs(a: Tensor, b: Tensor) -> None:
    """Lanza si ``a``, (n, 4), y ``b``, (m, 4), no son esquinas del mismo tipo."""
    require_pairs(a, b, names=("a", "b"))


def require_pairs(a: Tensor, b: Tensor, *, names: tuple[str, str]) -> None:
    """Lo mismo, con los nombres que les da quien los recibe."""
    _require_corners(a, names[0], flat=True)
    _require_corners(b, names[1], flat=True)
    require_same_kind(b, a, name=names[1], reference_name=names[0])


def match(cost: Tensor) -> None:
    """Lanza si ``cost`` no es (n, m) de coma flotante y finito."""
    require_floating(cost, name="cost")
    if cost.ndim != 2:
        raise ValueError(f"cost: se esperaba la forma (n, m); llegó {tuple(cost.shape)}.")
    if not cost.isfinite().all():
        raise ValueError("cost: se esperaban costes finitos; llegó algún NaN o infinito.")
