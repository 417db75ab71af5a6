"""La puerta de :mod:`atento.kneser_ney`: un texto o una tupla, y bastante largos."""

from atento.amounts import require_size


def require_text(text: str | tuple, *, name: str) -> None:
    """Lanza ``TypeError`` si no es un texto ni una tupla."""
    if not isinstance(text, (str, tuple)):
        raise TypeError(
            f"{name}: se esperaba un texto (str) o una tupla; llegó {type(text).__name__}."
        )


def train(text: str | tuple, order: int, alphabet: int) -> None:
    """Lanza si no hay ``order`` símbolos o ``alphabet`` no llega a los que salen."""
    require_text(text, name="text")
    require_size(order, name="order")
    require_size(alphabet, name="alphabet")
    if len(text) < order:
        raise ValueError(f"text: se esperaban al menos {order} símbolos; llegaron {len(text)}.")
    if alphabet < (known := len(set(text))):
        raise ValueError(
            f"alphabet: se esperaba al menos {known}, los símbolos que salen; llegó {alphabet}."
        )
