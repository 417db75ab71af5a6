"""Piso 1: las semillas, para que dos ejecuciones den los mismos números."""

import random

import numpy as np
import torch


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

    Errores: los de :func:`seed_all`.
    """
    return torch.Generator(device=device).manual_seed(_require_seed(seed))


def _require_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed: se esperaba un entero; llegó {type(seed).__name__} ({seed!r}).")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: se esperaba un entero entre 0 y 2**32 - 1; llegó {seed}.")
    return int(seed)
