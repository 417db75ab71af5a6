"""La puerta de :mod:`atento.interpret`: sitios que existen, cabezas, etiquetas y máscaras."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from atento.amounts import require_kind, require_positive, require_size
from atento.shapes import (
    require_boolean,
    require_broadcastable,
    require_floating,
    require_integer,
    require_same_kind,
)


def require_module(model: nn.Module) -> None:
    """Lanza ``TypeError`` si ``model`` no es un módulo."""
    require_kind(model, nn.Module, name="model", wanted="un nn.Module")


def _submodule(model: nn.Module, name: str, wanted: str) -> Any:
    require_kind(name, str, name=wanted, wanted="el nombre de un módulo")
    found = dict(model.named_modules())
    if name not in found:
        some = ", ".join(f"«{n}»" for n in list(found)[1:5])
        raise ValueError(
            f"{wanted}: se esperaba el nombre de un módulo del modelo, como {some}…; llegó "
            f"«{name}»."
        )
    return found[name]


def site(model: nn.Module, sites: Any) -> None:
    """Lanza si el sitio no es un ``Site`` o no existe en el modelo."""
    if not hasattr(sites, "before"):
        raise TypeError(f"sites: se esperaba un sitio o un nombre; llegó {type(sites).__name__}.")
    module = _submodule(model, sites.name, "sites")
    if sites.head is not None:
        if not hasattr(module, "n_heads") or not hasattr(module, "project_output"):
            raise ValueError(
                f"sites: se esperaba una atención en «{sites.name}», porque lleva head; hay "
                f"{type(module).__name__}."
            )
        _head(sites.head, module.n_heads, "sites")


def _head(head: int, n_heads: int, name: str) -> None:
    require_size(head, name=name, least=0)
    if head >= n_heads:
        raise ValueError(f"{name}: se esperaba una cabeza de 0 a {n_heads - 1}; llegó {head}.")


def patch(x: Tensor, values: Any, positions: Sequence[int] | None, site: Any) -> None:
    """Lanza si ``values`` no tiene la forma de lo que pasa, (…, n, d), o no hay esas posiciones."""
    require_floating(values, name="values")
    if values.shape != x.shape:
        raise ValueError(
            f"values: se esperaba en «{site.name}» la forma de lo que pasa, {tuple(x.shape)}; "
            f"llegó {tuple(values.shape)}."
        )
    require_same_kind(values, x, name="values", reference_name="lo que pasa")
    for place in positions or ():
        require_size(place, name="positions", least=0)
        if place >= x.shape[-2]:
            raise ValueError(
                f"positions: se esperaban posiciones menores que {x.shape[-2]} en «{site.name}»; "
                f"llegó {place}."
            )


def heads(heads: Any, found: Mapping[str, Any], means: Any) -> None:
    """Lanza si los nombres no son de atenciones, no hay esas cabezas o las medias no casan."""
    require_kind(heads, Mapping, name="heads", wanted="un diccionario de nombre a cabezas")
    for name, chosen in heads.items():
        if name not in found:
            known = ", ".join(f"«{n}»" for n in found)
            raise ValueError(f"heads: se esperaba una atención de {known}; llegó «{name}».")
        for head in chosen:
            _head(head, found[name].n_heads, "heads")
        if means is not None:
            goal = (found[name].n_heads, found[name].d_head)
            if name not in means or tuple(means[name].shape) != goal:
                raise ValueError(
                    f"means: se esperaba (head, d_head) = {goal} para «{name}», lo que devuelve "
                    f"head_means; llegó {[*means]}."
                )


def maps(weights: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Lanza si los nombres no son de atenciones o sus mapas no son tensores de reales."""
    require_kind(weights, Mapping, name="weights", wanted="un diccionario de nombre a mapa")
    for name, given in weights.items():
        if name not in found:
            known = ", ".join(f"«{n}»" for n in found)
            raise ValueError(f"weights: se esperaba una atención de {known}; llegó «{name}».")
        require_floating(given, name="weights")


def map_fits(name: str, given: Tensor, goal: tuple[int, ...]) -> None:
    """Lanza si el mapa no es el de esa atención, (…, head, query, key)."""
    if tuple(given.shape) != goal:
        raise ValueError(
            f"weights: se esperaba en «{name}» la forma (…, head, query, key), {goal}; llegó "
            f"{tuple(given.shape)}."
        )


def stack(model: nn.Module, stack: str) -> None:
    """Lanza si ``model`` no es un módulo o ``stack`` no es una pila suya."""
    require_module(model)
    found = _submodule(model, stack, "stack")
    if not hasattr(found, "blocks") or not hasattr(found, "finish"):
        raise ValueError(
            f"stack: se esperaba una pila de bloques; «{stack}» es {type(found).__name__}."
        )


def reader(model: nn.Module, read: Callable | None) -> Callable:
    """Devuelve lo que lee las puntuaciones; lanza si no lo hay."""
    out = getattr(model, "project", None) if read is None else read
    if not callable(out):
        raise ValueError(
            f"read: se esperaba una función, porque {type(model).__name__} no tiene matriz de "
            f"salida; llegó {type(read).__name__}."
        )
    return out


def ids(ids: Tensor) -> None:
    """Lanza si ``ids`` no es un tensor de enteros, (…, n)."""
    require_integer(ids, name="ids")
    if ids.ndim == 0:
        raise ValueError("ids: se esperaba la forma (…, n); llegó un solo número.")


def size(n: int) -> None:
    """Lanza si ``n`` no es un entero positivo."""
    require_size(n, name="n")


def mass(weights: Tensor, target: Tensor) -> None:
    """Lanza si ``target`` no se difunde hasta (…, query, key) o no señala a nadie."""
    require_floating(weights, name="weights")
    if weights.ndim < 3:
        raise ValueError(
            f"weights: se esperaba la forma (…, head, query, key); llegó {tuple(weights.shape)}."
        )
    require_boolean(target, name="target")
    goal = (*weights.shape[:-3], *weights.shape[-2:])
    require_broadcastable(target, goal, name="target", axes="(…, query, key)")
    _some(target)


def chance(target: Tensor) -> None:
    """Lanza si ``target`` no es booleano, (…, n, n), o no señala a nadie."""
    require_boolean(target, name="target")
    if target.ndim < 2 or target.shape[-1] != target.shape[-2]:
        raise ValueError(f"target: se esperaba la forma (…, n, n); llegó {tuple(target.shape)}.")
    _some(target)


def _some(target: Tensor) -> None:
    if not target.any():
        raise ValueError("target: se esperaba alguna pareja señalada; no hay ninguna.")


def repeated(
    batch: int, length: int, vocab: int, *, generator: torch.Generator | None = None
) -> None:
    """Lanza si no son enteros positivos o ``length`` pasa de ``vocab``."""
    for name, value in (("batch", batch), ("length", length), ("vocab", vocab)):
        require_size(value, name=name)
    if length > vocab:
        raise ValueError(
            f"length: se esperaban como mucho los {vocab} del vocabulario, para no repetir; llegó "
            f"{length}."
        )


def pair(clean: Any, corrupted: Any, metric: Any) -> tuple[tuple, tuple]:
    """Devuelve las dos entradas como tuplas; lanza si no casan o ``metric`` no es una función."""
    if not callable(metric):
        raise TypeError(f"metric: se esperaba una función; llegó {type(metric).__name__}.")
    both = [x if isinstance(x, tuple) else (x,) for x in (clean, corrupted)]
    shapes = [[getattr(x, "shape", None) for x in one] for one in both]
    if shapes[0] != shapes[1]:
        raise ValueError("corrupted: se esperaba una entrada con la forma de clean; no la tiene.")
    return both[0], both[1]


def different(best: float, worst: float) -> None:
    """Lanza ``ValueError`` si no hay diferencia que devolver."""
    if best == worst or not math.isfinite(best - worst):
        raise ValueError(
            f"metric: se esperaba que las dos entradas diesen medidas distintas y finitas; dan "
            f"{best} y {worst}."
        )


def probe(states: Tensor, labels: Tensor, *, decay: float = 1e-3) -> None:
    """Lanza si ``states`` no es (n, d), ``labels`` no es (n,) o ``decay`` no es positivo."""
    require_floating(states, name="states")
    if states.ndim != 2 or 0 in states.shape:
        raise ValueError(f"states: se esperaba la forma (n, d); llegó {tuple(states.shape)}.")
    _labels(labels, len(states), "labels")
    require_positive(decay, name="decay")


def _labels(labels: Tensor, n: int, name: str) -> None:
    require_integer(labels, name=name)
    if tuple(labels.shape) != (n,) or n == 0:
        raise ValueError(f"{name}: se esperaba la forma ({n},); llegó {tuple(labels.shape)}.")
    if labels.min() < 0:
        raise ValueError(f"{name}: se esperaban enteros desde 0; llegó {int(labels.min())}.")


def control(types: Tensor, labels: Tensor, *, generator: torch.Generator | None = None) -> None:
    """Lanza si no son dos tensores de enteros, (n,), del mismo tamaño."""
    require_integer(labels, name="labels")
    _labels(labels, len(labels) if labels.ndim else 0, "labels")
    _labels(types, len(labels), "types")


def with_control(
    states: Tensor,
    labels: Tensor,
    types: Tensor,
    train: Tensor,
    *,
    decay: float = 1e-3,
    generator: torch.Generator | None = None,
) -> None:
    """Lanza si los tensores no tienen ``n`` filas o ``train`` no las reparte."""
    probe(states, labels, decay=decay)
    _labels(types, len(states), "types")
    require_boolean(train, name="train")
    if tuple(train.shape) != (len(states),) or train.all() or not train.any():
        raise ValueError(
            f"train: se esperaba (n,) = ({len(states)},), con filas de los dos lados; llegó "
            f"{tuple(train.shape)}, con {int(train.sum())} dentro."
        )
