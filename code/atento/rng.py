"""Piso 1: las semillas, para que dos ejecuciones den los mismos números."""

import random
from typing import Any

import numpy as np
import torch

from atento.device import require_device


def seed_all(seed: int) -> torch.Generator:
    """Siembra ``random``, NumPy y PyTorch (CPU, CUDA y MPS) y devuelve un generador con esa
    semilla.

    Errores: ``TypeError`` si ``seed`` no es un entero; ``ValueError`` si no está entre 0 y 2³² − 1
    (el límite de NumPy).
    """
    seed = _require_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)  # también siembra CUDA y MPS
    return generator(seed)


def generator(seed: int, *, device: torch.device | str = "cpu") -> torch.Generator:
    """Devuelve un generador de PyTorch con su propia semilla, que no toca el estado global.

    Errores: los de :func:`seed_all`, y ``ValueError`` si no existe ``device``.
    """
    return torch.Generator(device=require_device(device)).manual_seed(_require_seed(seed))


def _require_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed: se esperaba un entero; llegó {type(seed).__name__} ({seed!r}).")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: se esperaba un entero entre 0 y 2**32 - 1; llegó {seed}.")
    return int(seed)


def snapshot() -> dict[str, Any]:
    """Devuelve el estado de todos los generadores globales, para volver a él con :func:`restore`.

    Solo contiene tensores, números y tuplas: se guarda con ``torch.save`` y se lee con
    ``weights_only=True``.
    """
    state: Any = np.random.get_state()  # la tupla de Mersenne Twister
    name, keys, *rest = state
    return {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(keys.astype(np.int64)), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def restore(state: dict[str, Any]) -> None:
    """Deja los generadores globales como estaban en :func:`snapshot`."""
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
