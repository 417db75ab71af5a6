"""Las vocales y el ruido de voice.js, en Python: las mismas cuentas y el mismo azar."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from atento.tasks import vowels
from atento.tasks.vowels import FORMANTS, RATE

__all__ = ["hiss", "vowel"]

_LOUD, _WORD = 0.1, np.uint64(0xFFFFFFFF)


def vowel(spot: Sequence[float], pitch: float, seconds: float) -> Tensor:
    """Una vocal, (samples,), como la de :func:`atento.tasks.vowels.vowel`, de dos formantes."""
    harmonics = pitch * torch.arange(1, max(2, math.ceil(RATE / 2 / pitch)), dtype=torch.float64)
    passed = vowels.response(harmonics, [*spot, *FORMANTS["a"][2:]])
    times = torch.arange(max(1, round(seconds * RATE)), dtype=torch.float64) / RATE
    angles = 2 * math.pi * torch.outer(harmonics, times) + passed.angle()[:, None]
    edge = torch.minimum(times, times.flip(0)).clamp(max=0.02) / 0.02
    wave = passed.abs() @ angles.cos() * (1 - (math.pi * edge).cos()) / 2
    return _LOUD * wave / wave.square().mean().sqrt().clamp(min=1e-6)


def _times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a * b & _WORD


def hiss(n: int, seed: int) -> Tensor:
    """Ruido normal, (n,), tan fuerte como una vocal: «mulberry32» con Box y Muller, como en la
    página."""
    shift = [np.uint64(k) for k in (15, 7, 14, 1, 61)]
    places = np.arange(1, 2 * n + 1, dtype=np.uint64)
    t = (_times(places, np.uint64(0x6D2B79F5)) + np.uint64(seed)) & _WORD
    t = _times(t ^ (t >> shift[0]), t | shift[3])
    t = t ^ ((t + _times(t ^ (t >> shift[1]), t | shift[4])) & _WORD)
    chance = (t ^ (t >> shift[2])) / 2**32
    normal = np.sqrt(-2 * np.log(1 - chance[::2])) * np.cos(2 * np.pi * chance[1::2])
    return _LOUD * torch.from_numpy(normal)
