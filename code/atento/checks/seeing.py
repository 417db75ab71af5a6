"""La puerta de :mod:`atento.tasks.seeing`: hallazgos, mapas y trozos."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from atento.amounts import require_number, require_size
from atento.checks.boxes import require_pairs
from atento.shapes import require_boolean, require_integer, require_tensor


def _require_threshold(threshold: float) -> None:
    require_number(threshold, name="threshold")
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"threshold: se esperaba un IoU mayor que 0 y hasta 1; llegó {threshold}.")


def hits(found: Tensor, truth: Tensor, threshold: float = 0.5) -> None:
    """Lanza si ``found`` y ``truth`` no son esquinas o ``threshold`` no es un IoU."""
    _require_threshold(threshold)
    require_pairs(found, truth, names=("found", "truth"))


def precision_area(right: Tensor, total: int) -> None:
    """Lanza si ``right`` no es booleano, (found,), o hay más aciertos que objetos."""
    require_boolean(right, name="right")
    require_size(total, name="total")
    if right.ndim != 1:
        raise ValueError(f"right: se esperaba la forma (found,); llegó {tuple(right.shape)}.")
    if int(right.sum()) > total:
        raise ValueError(
            f"total: se esperaban al menos tantos objetos como aciertos, {int(right.sum())}; llegó "
            f"{total}."
        )


def _require_lists(found: Any, truth: Any) -> None:
    for name, value in (("found", found), ("truth", truth)):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise TypeError(
                f"{name}: se esperaba una lista, con algo por imagen; llegó {type(value).__name__}."
            )
    if not truth or len(found) != len(truth):
        raise ValueError(
            f"found: se esperaba lo de las mismas imágenes que truth, y alguna; llegaron "
            f"{len(found)} y {len(truth)}."
        )


def detection(found: Any, truth: Any, *, threshold: float = 0.5) -> None:
    """Lanza si no son listas de hallazgos y de objetos, o no hay ninguno; el umbral, ``hits``."""
    _require_lists(found, truth)
    for name, items, wanted in (
        ("found", found, ("labels", "scores", "boxes")),
        ("truth", truth, ("labels", "boxes")),
    ):
        for i, item in enumerate(items):
            _require_item(f"{name}[{i}]", item, wanted)
    if not any(len(item.labels) for item in truth):
        raise ValueError("truth: se esperaba al menos un objeto; no hay ninguno.")


def _require_item(name: str, item: Any, wanted: tuple[str, ...]) -> None:
    missing = [field for field in wanted if not hasattr(item, field)]
    if missing:
        raise TypeError(
            f"{name}: se esperaba algo con {', '.join(wanted)}; a {type(item).__name__} le falta "
            f"{missing[0]}."
        )
    for field in wanted:
        require_tensor(getattr(item, field), name=f"{name}.{field}")
    require_integer(item.labels, name=f"{name}.labels")
    sizes = {tuple(getattr(item, field).shape[:1]) for field in wanted}
    if len(sizes) != 1 or () in sizes:
        raise ValueError(
            f"{name}: se esperaba lo mismo de largo en {', '.join(wanted)}; llegaron "
            f"{sorted(sizes)}."
        )


def maps(found: Tensor, truth: Tensor) -> None:
    """Lanza si no son enteros ≥ 0 de la misma forma, (…, row, column)."""
    for name, value in (("found", found), ("truth", truth)):
        require_integer(value, name=name)
        if value.ndim < 2 or not value.numel() or (value < 0).any():
            raise ValueError(
                f"{name}: se esperaban clases ≥ 0, de forma (…, row, column); llegó la forma "
                f"{tuple(value.shape)}, o alguna menor."
            )
    if found.shape != truth.shape:
        raise ValueError(
            f"found: se esperaba la forma de truth, {tuple(truth.shape)}; llegó "
            f"{tuple(found.shape)}."
        )


def panoptic(found: Any, truth: Any) -> None:
    """Lanza si no son listas iguales de largas de mapas con sus clases."""
    _require_lists(found, truth)
    for name, items in (("found", found), ("truth", truth)):
        for i, item in enumerate(items):
            _require_panoptic(f"{name}[{i}]", item)
    for i, (said, there) in enumerate(zip(found, truth, strict=True)):
        if said[0].shape != there[0].shape:
            raise ValueError(
                f"found[{i}]: se esperaba la forma de truth, {tuple(there[0].shape)}; llegó "
                f"{tuple(said[0].shape)}."
            )


def _require_panoptic(name: str, item: Any) -> None:
    if not isinstance(item, tuple) or len(item) != 2:
        raise TypeError(
            f"{name}: se esperaba una pareja, de qué trozo es cada píxel y la clase de cada trozo; "
            f"llegó {type(item).__name__}."
        )
    ids, classes = item
    require_integer(ids, name=f"{name}.ids")
    require_integer(classes, name=f"{name}.classes")
    if ids.ndim != 2 or classes.ndim != 1 or not ids.numel():
        raise ValueError(
            f"{name}: se esperaban las formas (row, column) y (part,); llegaron "
            f"{tuple(ids.shape)} y {tuple(classes.shape)}."
        )
    if ids.min() < 0 or ids.max() >= len(classes):
        raise ValueError(
            f"{name}: se esperaban trozos de 0 a {len(classes) - 1}; llegaron de "
            f"{int(ids.min())} a {int(ids.max())}."
        )
