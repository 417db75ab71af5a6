"""Piso 1: los números que se dan al construir; tamaños, probabilidades y cantidades positivas."""

import math


def require_size(value: int, *, name: str, least: int | None = 1) -> None:
    """Lanza ``TypeError`` si no es un entero y ``ValueError`` si es menor que ``least``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: se esperaba un entero; llegó {type(value).__name__} ({value!r}).")
    if least is not None and value < least:
        raise ValueError(f"{name}: se esperaba un entero mayor o igual que {least}; llegó {value}.")


def require_kind(value: object, kind: type | tuple[type, ...], *, name: str, wanted: str) -> None:
    """Lanza ``TypeError`` si ``value`` no es un objeto de esa clase; ``wanted`` la dice."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}: se esperaba {wanted}; llegó {type(value).__name__}.")


def require_divisible(value: int, divisor: int, *, name: str, divisor_name: str) -> None:
    """Lanza ``ValueError`` si ``value`` no es múltiplo de ``divisor``."""
    if value % divisor:
        raise ValueError(
            f"{name}: se esperaba un múltiplo de {divisor_name} = {divisor}; llegó {value}, "
            f"y el resto es {value % divisor}."
        )


def require_number(value: float, *, name: str) -> None:
    """Lanza ``TypeError`` si no es un número de Python (``True`` y ``False`` no lo son)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: se esperaba un número; llegó {type(value).__name__}.")


def require_probability(value: float, *, name: str) -> None:
    """Lanza ``TypeError`` si no es un número y ``ValueError`` si no está en [0, 1)."""
    require_number(value, name=name)
    if not 0.0 <= value < 1.0:
        raise ValueError(f"{name}: se esperaba una probabilidad en [0, 1); llegó {value}.")


def require_positive(value: float, *, name: str) -> None:
    """Lanza ``TypeError`` si no es un número y ``ValueError`` si no es finito y mayor que 0."""
    require_number(value, name=name)
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name}: se esperaba un número finito mayor que 0; llegó {value}.")
