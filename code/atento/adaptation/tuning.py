"""Qué se entrena de un modelo y a qué paso: congelar, tasas por capa y la triangular sesgada."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import nn

from atento.checks import adaptation as checks
from atento.training import Schedule


class Count(NamedTuple):
    """Cuántos parámetros se entrenan y cuántos hay; los compartidos, una vez."""

    trained: int
    total: int


def count_parameters(model: nn.Module) -> Count:
    """Cuántos parámetros de ``model`` se entrenan, y cuántos hay en total.

    Errores: ``TypeError`` si ``model`` no es un módulo.
    """
    checks.require_module(model)
    sizes = [(p.numel(), p.requires_grad) for p in model.parameters()]
    return Count(sum(n for n, trains in sizes if trains), sum(n for n, _ in sizes))


def freeze(model: nn.Module, *, keep: Sequence[nn.Module] = ()) -> nn.Module:
    """Deja quietos los parámetros de ``model``, menos los de ``keep``, como su cabeza.

    Con ``keep`` vacío no se entrena nada. Un parámetro que ``keep`` comparta con otra parte se
    entrena también en ella.

    Errores: ``TypeError`` si ``model`` o alguno de ``keep`` no es un módulo.
    Fuente: Howard y Ruder (2018), § 3.3, la extracción de rasgos.
    """
    checks.require_module(model)
    checks.require_modules(keep, name="keep")
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for part in keep:
        for parameter in part.parameters():
            parameter.requires_grad_(True)
    return model


def thaw(layers: Sequence[nn.Module], n: int) -> None:
    """Deja entrenar solo las ``n`` últimas de ``layers``, que van de abajo arriba.

    Subir ``n`` de una en una es descongelar poco a poco: primero lo más cercano a la tarea.

    Errores: ``TypeError`` o ``ValueError`` si ``layers`` no son módulos o ``n`` no está entre 0 y
    su número.
    Fuente: Howard y Ruder (2018), § 3.3 (``gradual unfreezing``).
    """
    checks.thaw(layers, n)
    for layer in layers:
        layer.requires_grad_(False)
    for layer in layers[len(layers) - n :]:
        layer.requires_grad_(True)


def layer_groups(
    layers: Sequence[nn.Module], rate: float, *, decay: float = 2.6
) -> list[dict[str, Any]]:
    """Un grupo por capa, de abajo arriba: la última, con tasa ``rate``; cada una, ``decay`` menos.

    Se usa como ``torch.optim.AdamW(layer_groups(layers, 1e-3))``. Un parámetro compartido va en la
    capa más baja de las que lo tienen; lo que no se entrena no entra, y una capa sin nada, tampoco.

    Errores: ``TypeError`` o ``ValueError`` si ``layers`` no son módulos o ``rate`` y ``decay`` no
    son positivos.
    Fuente: Howard y Ruder (2018), § 3.2: η de una capa es la de la de encima entre 2.6.
    """
    checks.layer_groups(layers, rate, decay)
    seen: set[int] = set()
    groups = []
    for i, layer in enumerate(layers):
        new = [p for p in layer.parameters() if p.requires_grad and id(p) not in seen]
        seen |= {id(p) for p in new}
        if new:
            groups.append({"params": new, "lr": rate / decay ** (len(layers) - 1 - i)})
    return groups


def slanted_triangular(steps: int, *, cut: float = 0.1, ratio: float = 32.0) -> Schedule:
    """Multiplicador de la tasa: sube deprisa una parte ``cut`` de los pasos y baja despacio.

    Va de ``1/ratio`` a 1 y vuelve. Devuelve una función del paso, que se cuenta desde 0.

    Errores: ``TypeError`` o ``ValueError`` si ``steps`` no es un entero positivo, ``cut`` no está
    en (0, 1), en el pico no cabe ningún paso o ``ratio`` es menor que 1.
    Fuente: Howard y Ruder (2018), ec. 3.
    """
    checks.slanted_triangular(steps, cut, ratio)
    peak = math.floor(steps * cut)

    def multiplier(step: int) -> float:
        if step < peak:
            height = step / peak
        else:
            height = max(0.0, 1 - (step - peak) / (peak * (1 / cut - 1)))
        return (1 + height * (ratio - 1)) / ratio

    return multiplier
