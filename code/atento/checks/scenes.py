"""La puerta de :mod:`atento.tasks.scenes`: escenas de dígitos y lo que se pide de ellas."""

from collections.abc import Sequence
from typing import Any

from atento.amounts import require_size
from atento.checks.boxes import corners
from atento.checks.layers import require_option
from atento.shapes import require_floating, require_integer

_SIDE, _MOST = 40, 4
_PARTS = ("train", "validation", "test")


def fields(scene: Any) -> None:
    """Lanza si un campo de ``Scene`` no es lo que su nombre dice."""
    require_floating(scene.image, name="image")
    require_integer(scene.labels, name="labels")
    require_floating(scene.boxes, name="boxes")
    require_integer(scene.ids, name="ids")
    for name in ("image", "ids"):
        if tuple(getattr(scene, name).shape) != (_SIDE, _SIDE):
            raise ValueError(
                f"{name}: se esperaba la forma ({_SIDE}, {_SIDE}); llegó "
                f"{tuple(getattr(scene, name).shape)}."
            )
    if scene.labels.ndim != 1 or tuple(scene.boxes.shape) != (len(scene.labels), 4):
        raise ValueError(
            f"boxes: se esperaba una caja por etiqueta, (object, 4); llegó "
            f"{tuple(scene.boxes.shape)} con labels {tuple(scene.labels.shape)}."
        )
    corners(scene.boxes)


def generate(n: int, rng: Any, *, split: str = "train", counts: Any = range(1, _MOST + 1)) -> None:
    """Lanza si lo pedido no se puede sortear; ``rng`` lo mira quien lo usa."""
    require_size(n, name="n", least=0)
    require_option(split, _PARTS, name="split")
    options = [counts] if isinstance(counts, int) else counts
    whole = isinstance(options, Sequence) and not isinstance(options, str) and len(options) > 0
    if not whole or any(
        isinstance(x, bool) or not isinstance(x, int) or not 1 <= x <= _MOST for x in options
    ):
        raise ValueError(f"counts: se esperaban enteros de 1 a {_MOST}; llegó {counts!r}.")


def batch(scenes: Any) -> None:
    """Lanza si ``scenes`` no son escenas o no hay ninguna."""
    if not isinstance(scenes, Sequence) or isinstance(scenes, str) or not scenes:
        raise ValueError(f"scenes: se esperaba al menos una escena; llegó {scenes!r}.")
    for scene in scenes:
        if not hasattr(scene, "ids"):
            raise TypeError(f"scenes: se esperaban Scene; llegó {type(scene).__name__}.")
