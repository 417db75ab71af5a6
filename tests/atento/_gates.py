"""Cada puerta, frente a la firma de lo que guarda: si difieren, comprueba otra cosa."""

import importlib
import inspect
from collections.abc import Callable, Iterator

from _public import modules


def _everything(module: str) -> Iterator[Callable]:
    """Las funciones del módulo y de los que cuelgan de él, y los métodos de sus clases."""
    for name in modules():
        if f"{name}.".startswith(f"{module}."):
            for thing in vars(importlib.import_module(name)).values():
                yield from vars(thing).values() if isinstance(thing, type) else [thing]


def guarded(module: str) -> dict[str, tuple[Callable, Callable]]:
    """Cada función que decora ``typed``, por su nombre, con su puerta."""
    found = {}
    for thing in _everything(module):
        own = getattr(thing, "__module__", None) or ""
        if hasattr(thing, "unchecked") and f"{own}.".startswith(f"{module}."):
            gate = inspect.getclosurevars(thing).nonlocals["validate"]
            if gate is not None:
                found[f"{thing.__module__}.{thing.__qualname__}"] = (thing.unchecked, gate)
    return found


def _defaults(function: Callable) -> dict[str, object]:
    return {n: p.default for n, p in inspect.signature(function).parameters.items()}


def same_defaults(module: str) -> None:
    """Falla si una puerta de ``module`` y su función no tienen los mismos valores por defecto."""
    pairs = guarded(module)
    assert pairs, f"en {module} no hay puertas"
    for name, (function, gate) in pairs.items():
        assert _defaults(gate) == _defaults(function), name
