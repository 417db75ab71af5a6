"""Lo que ya se calculó para unas posiciones, que todas las capas piden igual."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from atento.shapes import is_plain

SLOTS, LARGEST = 4, 2**22  # cuántos resultados se guardan, y de cuántos elementos como mucho


class Memory:
    """Guarda los últimos resultados de una función de las posiciones, que no lleva gradiente.

    Solo en la CPU, donde comparar dos listas de posiciones cuesta menos que repetir la cuenta; al
    compilar, con tensores sin datos o en una GPU se calcula cada vez.
    """

    def __init__(self) -> None:
        self._entries: tuple[tuple[tuple[Tensor, ...], torch.dtype, Any], ...] = ()

    def recall(self, compute: Callable, *positions: Tensor, dtype: torch.dtype) -> Any:
        """Devuelve ``compute(*positions, dtype)``, calculado ahora o antes; posiciones (…, n)."""
        for place in positions:
            if not _comparable(place):
                return compute(*positions, dtype)
        for known, kind, result in self._entries:
            if kind == dtype and all(map(_equal, known, positions)):
                return result
        with torch.inference_mode(False), torch.no_grad():  # servirá también al entrenar
            known = tuple(p.clone() for p in positions)
            result = compute(*known, dtype)
        if result[0].numel() <= LARGEST:
            self._entries = ((known, dtype, result), *self._entries[: SLOTS - 1])
        return result

    def __deepcopy__(self, copies: dict) -> "Memory":
        return Memory()

    def __reduce__(self) -> tuple:
        return Memory, ()


def _comparable(positions: Tensor) -> bool:
    return is_plain(positions) and positions.is_cpu and not positions.requires_grad


def _equal(known: Tensor, positions: Tensor) -> bool:
    return known.dtype == positions.dtype and torch.equal(known, positions)
