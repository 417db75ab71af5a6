"""La puerta de :mod:`atento.tasks.captions`: números de dos cifras y sus nombres."""

from collections.abc import Callable, Sequence
from typing import Any

from atento.amounts import require_size
from atento.checks.layers import require_option
from atento.checks.multimodal import (
    require_digit,
    require_examples,
    require_model,
)
from atento.device import require_device

_NUMBERS = ("seen", "unseen", "any")
_PARTS = ("train", "validation", "test")


def spelled(number: int) -> None:
    """Lanza si no es un entero de 0 a 99."""
    require_digit(number, name="number", most=99)


def numbers_of(numbers: str = "any") -> None:
    """Lanza si no es una de las clases de números."""
    require_option(numbers, _NUMBERS, name="numbers")


def generate(
    n: int, rng: Any, *, split: str = "train", numbers: str = "seen", distinct: bool = False
) -> None:
    """Lanza si lo pedido no se puede sortear; ``rng`` lo mira quien lo usa."""
    require_size(n, name="n", least=0)
    require_option(split, _PARTS, name="split")
    numbers_of(numbers)
    most = {"seen": 80, "unseen": 20, "any": 100}[numbers]
    if distinct and n > most:
        raise ValueError(f"n: se esperaban {most} números distintos como mucho; llegó {n}.")


def texts(numbers: Any) -> None:
    """Lanza si ``numbers`` no son enteros de 0 a 99, o no hay ninguno."""
    if isinstance(numbers, str) or not isinstance(numbers, Sequence) or not numbers:
        raise TypeError(f"numbers: se esperaba una lista de números; llegó {numbers!r}.")
    for number in numbers:
        require_digit(number, name="numbers", most=99)


def batch(examples: Any) -> None:
    """Lanza si no son ejemplos o no hay ninguno."""
    require_examples(examples, "number")


def score(model: Callable, examples: Any, *, among: str = "any", device: Any = "cpu") -> None:
    """Lanza si ``model`` no es una función o lo demás no es lo dicho; los ejemplos, al usarlos."""
    require_model(model)
    require_option(among, _NUMBERS, name="among")
    require_device(device)
