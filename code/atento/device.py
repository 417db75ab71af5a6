"""Piso 1: dónde se calcula."""

import os

import torch

_KINDS = ("cuda", "mps", "cpu")  # orden de preferencia
_CURE = "Quita la variable para elegir solo, o usa ATENTO_DEVICE=cpu, que siempre funciona."


def is_available(kind: str) -> bool:
    """Dice si PyTorch puede usar aquí el tipo de dispositivo ``kind`` («cuda», «mps» o «cpu»)."""
    if kind == "cuda":
        return torch.cuda.is_available()
    if kind == "mps":
        return torch.backends.mps.is_available()
    return kind == "cpu"


def pick() -> torch.device:
    """Elige el dispositivo: CUDA si lo hay; si no, MPS; si no, la CPU.

    La variable de entorno ``ATENTO_DEVICE`` fuerza uno: ``cpu``, ``mps``, ``cuda`` o, con varias
    tarjetas, ``cuda:1``. Vacía equivale a no ponerla.

    Errores: ``ValueError`` si la variable nombra un dispositivo desconocido; ``RuntimeError`` si lo
    nombra bien, pero en esta máquina no está.
    """
    forced = os.environ.get("ATENTO_DEVICE", "").strip().lower()
    if forced:
        return _forced(forced)
    return torch.device(next(kind for kind in _KINDS if is_available(kind)))


def require_device(name: torch.device | str, *, argument: str = "device") -> torch.device:
    """Devuelve el dispositivo que se llama ``name``, si PyTorch lo conoce.

    Errores: ``TypeError`` si no es un texto ni un ``torch.device``; ``ValueError`` si no existe
    ninguno con ese nombre.
    """
    if isinstance(name, torch.device):
        return name
    if not isinstance(name, str):
        raise TypeError(
            f"{argument}: se esperaba un dispositivo, como «cpu»; llegó {type(name).__name__}."
        )
    try:
        return torch.device(name)
    except RuntimeError:
        raise ValueError(
            f"{argument}: se esperaba un dispositivo de PyTorch, como {', '.join(_KINDS)}; llegó "
            f"«{name}». Con device.pick() se elige el mejor que haya."
        ) from None


def _forced(name: str) -> torch.device:
    kind, colon, index = name.partition(":")
    if kind not in _KINDS or (colon and not index.isdecimal()):
        raise ValueError(
            f"ATENTO_DEVICE: se esperaba uno de {', '.join(_KINDS)} (o cuda:1, cuda:2…); "
            f"llegó «{name}». {_CURE}"
        )
    present = is_available(kind)
    if present and kind == "cuda" and index:
        present = int(index) < torch.cuda.device_count()
    if not present:
        raise RuntimeError(
            f"ATENTO_DEVICE: se pidió «{name}», pero PyTorch no lo encuentra en esta "
            f"máquina. {_CURE}"
        )
    return torch.device(name)
