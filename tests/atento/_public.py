"""Lo público de la biblioteca, recorrido entero: lo que prueba test_missing."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator

import atento

DOORS = ("require_", "is_enabled", "is_readable", "is_plain")
GUARDS = "atento.checks"  # las puertas reciben lo que su función: quien explica es ella


def modules() -> list[str]:
    """Los módulos del paquete, menos las puertas."""
    found = pkgutil.walk_packages(atento.__path__, "atento.")
    return [m.name for m in found if not m.name.startswith(GUARDS)]


def public() -> Iterator[tuple[str, Callable]]:
    """Cada función, constructor y método públicos, con su nombre; los métodos, sin objeto."""
    for module in modules():
        for name, thing in vars(importlib.import_module(module)).items():
            if name.startswith(("_", *DOORS)) or getattr(thing, "__module__", None) != module:
                continue
            path = f"{module.removeprefix('atento.')}.{name}"
            if isinstance(thing, type):
                yield path, thing
                yield from _methods(path, thing)
            elif inspect.isroutine(thing) or hasattr(thing, "cache_clear"):
                yield path, thing


def _methods(path: str, kind: type) -> Iterator[tuple[str, Callable]]:
    for name in dir(kind):
        owner = next(base for base in kind.__mro__ if name in vars(base))
        ours = owner.__module__.startswith("atento") or name == "forward"
        member = inspect.getattr_static(kind, name)
        if name.startswith("_") and name != "__call__" or not ours:
            continue
        if isinstance(member, classmethod | staticmethod):
            yield f"{path}.{name}", getattr(kind, name)
        elif inspect.isfunction(member) and member.__name__ == name:
            yield f"{path}.{name}", _on_nothing(member)


def _on_nothing(method: Callable) -> Callable:
    """El método, llamado con un objeto que no sirve: se rechaza antes de mirarlo."""

    def call(*args, **kwargs):
        return method(None, *args, **kwargs)

    parameters = list(inspect.signature(method).parameters.values())[1:]
    call.__signature__ = inspect.Signature(parameters)
    return call
