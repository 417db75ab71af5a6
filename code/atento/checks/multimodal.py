"""La puerta de :mod:`atento.tasks.multimodal`: parejas de cifras, preguntas y sentidos."""

from collections.abc import Callable, Sequence
from typing import Any

from atento.amounts import require_size
from atento.checks.layers import require_option
from atento.device import require_device
from atento.shapes import require_tensor

_SENSES = ("seen", "told")
_PAIRS = ("seen", "unseen", "any")
_PARTS = ("train", "validation", "test")


def require_digit(value: Any, *, name: str, most: int = 9) -> None:
    """Lanza si ``value`` no es un entero de 0 a ``most``."""
    require_size(value, name=name, least=0)
    if value > most:
        raise ValueError(f"{name}: se esperaba un entero de 0 a {most}; llegó {value}.")


def is_held_out(seen: int, told: int) -> None:
    """Lanza si no son dos cifras."""
    require_digit(seen, name="seen")
    require_digit(told, name="told")


def generate(
    n: int,
    rng: Any,
    *,
    split: str = "train",
    pairs: str = "seen",
    questions: Sequence[str] | None = None,
) -> None:
    """Lanza si lo pedido no se puede sortear; ``rng`` y ``pairs`` los mira quien los usa."""
    require_size(n, name="n", least=0)
    require_option(split, _PARTS, name="split")
    if questions is not None and (
        isinstance(questions, str) or not isinstance(questions, Sequence) or not questions
    ):
        raise TypeError(f"questions: se esperaba una lista de preguntas; llegó {questions!r}.")


def require_senses(senses: Any) -> None:
    """Lanza si ``senses`` no son, sin repetir, algunos de los dos sentidos."""
    if isinstance(senses, str) or not isinstance(senses, Sequence):
        raise TypeError(f"senses: se esperaba una tupla de sentidos; llegó {senses!r}.")
    for sense in senses:
        require_option(sense, _SENSES, name="senses")


def require_examples(examples: Any, field: str = "question") -> None:
    """Lanza si ``examples`` no son ejemplos de la tarea o no hay ninguno."""
    if not isinstance(examples, Sequence) or isinstance(examples, str) or not examples:
        raise ValueError(f"examples: se esperaba al menos un ejemplo; llegó {examples!r}.")
    for example in examples:
        if not hasattr(example, field):
            raise TypeError(f"examples: se esperaban ejemplos; llegó {type(example).__name__}.")


def batch(examples: Any, *, senses: Sequence[str] = _SENSES) -> None:
    """Lanza si no son ejemplos o los sentidos no son de los dos."""
    require_examples(examples)
    require_senses(senses)


def ceiling(senses: Sequence[str], *, pairs: str = "seen") -> None:
    """Lanza si los sentidos o las parejas no son de los suyos."""
    require_senses(senses)
    require_option(pairs, _PAIRS, name="pairs")


def score(
    model: Callable,
    examples: Any,
    *,
    senses: Sequence[str] = _SENSES,
    batch_size: int = 512,
    device: Any = "cpu",
) -> None:
    """Lanza si ``model`` no es una función o lo demás no es lo dicho; los ejemplos, al usarlos."""
    require_model(model)
    require_size(batch_size, name="batch_size")
    require_device(device)


def require_model(model: Any) -> None:
    """Lanza ``TypeError`` si ``model`` no se puede llamar."""
    if not callable(model):
        raise TypeError(f"model: se esperaba una función; llegó {type(model).__name__}.")


def require_logits(logits: Any, shape: tuple[int, int]) -> Any:
    """Devuelve las puntuaciones, o lanza si no tienen esa forma."""
    require_tensor(logits, name="model")
    if tuple(logits.shape) != shape:
        raise ValueError(
            f"model: se esperaba que devolviera la forma {shape}; devolvió {tuple(logits.shape)}."
        )
    return logits
