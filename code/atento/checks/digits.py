"""La puerta de :mod:`atento.tasks.digits`: imágenes de 8 × 8, repartos y corrimientos."""

from typing import Any

import torch
from torch import Tensor

from atento.amounts import require_number, require_probability, require_size
from atento.checks.layers import require_option
from atento.shapes import require_floating, require_integer, require_tensor

_SIDE, _CLASSES = 8, 10
_PARTS = ("train", "validation", "test")


def _require_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, (int, torch.Generator)):
        raise TypeError(
            f"seed: se esperaba un torch.Generator o un entero; llegó {type(seed).__name__}."
        )


def _require_digits(digits: Any) -> None:
    if not hasattr(digits, "background"):
        raise TypeError(f"digits: se esperaba un Digits; llegó {type(digits).__name__}.")
    if not len(digits):
        raise ValueError("digits: se esperaba al menos una imagen; no llegó ninguna.")


def fields(digits: Any) -> None:
    """Lanza si un campo de ``Digits`` no es lo que su nombre dice."""
    require_floating(digits.images, name="images")
    require_integer(digits.labels, name="labels")
    require_number(digits.background, name="background")
    if digits.images.ndim != 3 or tuple(digits.images.shape[1:]) != (_SIDE, _SIDE):
        raise ValueError(
            f"images: se esperaba la forma (n, {_SIDE}, {_SIDE}); llegó "
            f"{tuple(digits.images.shape)}."
        )
    if tuple(digits.labels.shape) != (len(digits.images),):
        raise ValueError(
            f"labels: se esperaba una por imagen, ({len(digits.images)},); llegó "
            f"{tuple(digits.labels.shape)}."
        )
    if ((digits.labels < 0) | (digits.labels >= _CLASSES)).any():
        raise ValueError(
            f"labels: se esperaban de 0 a {_CLASSES - 1}; llegaron de {int(digits.labels.min())} "
            f"a {int(digits.labels.max())}."
        )


def chosen(self: Any, places: Tensor) -> None:
    """Lanza si ``places`` no son sitios, (m,)."""
    require_integer(places, name="places")
    if places.ndim != 1 or ((places < 0) | (places >= len(self))).any():
        raise ValueError(
            f"places: se esperaban sitios de 0 a {len(self) - 1}, de forma (m,); llegó "
            f"{tuple(places.shape)}, o alguno que no lo es."
        )


def few(self: Any, per_class: int, rng: Any) -> None:
    """Lanza si no hay tantas imágenes de cada clase; ``rng`` lo mira quien lo usa."""
    require_size(per_class, name="per_class")
    least = int(torch.bincount(self.labels, minlength=_CLASSES).min())
    if per_class > least:
        raise ValueError(
            f"per_class: se esperaban como mucho {least}, las de la clase con menos; llegó "
            f"{per_class}."
        )


def split(seed: Any = 0, *, validation: float = 0.1, test: float = 0.3) -> None:
    """Lanza si no queda nada para entrenar."""
    _require_seed(seed)
    require_probability(validation, name="validation")
    require_probability(test, name="test")
    if validation + test >= 1:
        raise ValueError(
            f"test: se esperaba que con validation = {validation} sumara menos de 1; llegó {test}."
        )


def places(part: str, seed: Any = 0) -> None:
    """Lanza si ``part`` no es una de las tres partes."""
    require_option(part, _PARTS, name="part")
    _require_seed(seed)


def shift(images: Tensor, down: int, right: int, *, background: float = 0.0) -> None:
    """Lanza si ``images`` no es (…, height, width) de coma flotante o lo demás no son números."""
    require_floating(images, name="images")
    if images.ndim < 2:
        raise ValueError(
            f"images: se esperaba la forma (…, height, width); llegó {tuple(images.shape)}."
        )
    require_size(down, name="down", least=None)
    require_size(right, name="right", least=None)
    require_number(background, name="background")


def batches(digits: Any, n: int, size: int, rng: Any) -> None:
    """Lanza si no es un ``Digits`` con algo o los tamaños no son positivos; ``rng``, al usarlo."""
    _require_digits(digits)
    require_size(n, name="n")
    require_size(size, name="size")


def score(model: Any, digits: Any, *, batch_size: int = 512) -> None:
    """Lanza si ``model`` no es una función o ``digits`` no es un ``Digits`` con algo."""
    if not callable(model):
        raise TypeError(f"model: se esperaba una función; llegó {type(model).__name__}.")
    _require_digits(digits)
    require_size(batch_size, name="batch_size")


def require_logits(logits: Tensor, images: Tensor) -> Tensor:
    """Lanza si el modelo no ha dado (batch, class), con una fila por imagen."""
    require_tensor(logits, name="model")
    if logits.ndim != 2 or len(logits) != len(images):
        raise ValueError(
            f"model: se esperaba que diera la forma (batch={len(images)}, class); dio "
            f"{tuple(logits.shape)}."
        )
    return logits
