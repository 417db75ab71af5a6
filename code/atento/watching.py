"""Piso 4: mirar los pesos de cada atención de un modelo, sin que él los devuelva."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jaxtyping import Float
from torch import Tensor, nn

from atento.amounts import require_kind
from atento.attention import MultiHeadAttention


@contextmanager
def watching(model: nn.Module) -> Iterator[dict[str, Float[Tensor, "*batch head query key"]]]:
    """Dentro de un ``with``, deja en un diccionario los pesos de cada atención de ``model``.

    Cada :class:`MultiHeadAttention` deja los de su última llamada, ``(…, head, query, key)`` y sin
    gradiente, con su nombre: ``maps["decoder.blocks.0.cross_attention"]``. No hace falta que el
    modelo los devuelva; mientras tanto se usa la forma explícita.

    Errores: ``TypeError`` si ``model`` no es un módulo; ``ValueError`` si no tiene atenciones.
    """
    require_kind(model, nn.Module, name="model", wanted="un nn.Module")
    found = {n: m for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)}
    if not found:
        raise ValueError("model: se esperaba alguna MultiHeadAttention dentro; no hay ninguna.")
    maps: dict[str, Tensor] = {}
    hooks = []
    for name, module in found.items():
        hooks.append(module.register_forward_pre_hook(_ask_for_weights, with_kwargs=True))
        hooks.append(module.register_forward_hook(_keeper(maps, name)))
    try:
        yield maps
    finally:
        for hook in hooks:
            hook.remove()


def _ask_for_weights(module: nn.Module, args: tuple, options: dict) -> tuple[tuple, dict]:
    return args, {**options, "need_weights": True}


def _keeper(maps: dict[str, Tensor], name: str) -> Callable:
    def keep(module: nn.Module, args: tuple, output: tuple[Tensor, Tensor]) -> None:
        maps[name] = output[1].detach()

    return keep
