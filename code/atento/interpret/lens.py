"""Leer el flujo residual a media altura, como si el modelo acabara ahí."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from atento.checks import interpret as checks
from atento.interpret.sites import Site, recording
from atento.training import evaluating


def depth_states(
    model: nn.Module, *inputs: Any, stack: str = "encoder"
) -> Float[Tensor, "depth *batch n d_model"]:
    """El flujo residual a cada altura: antes del primer bloque y tras cada uno.

    ``stack`` es el nombre de la pila. La última altura es la de antes de la norma final.

    Errores: ``TypeError`` o ``ValueError`` si ``model`` no es un módulo o ``stack`` no es una pila
    suya, con ``blocks``.
    """
    checks.stack(model, stack)
    n = len(model.get_submodule(f"{stack}.blocks"))  # type: ignore[arg-type]
    sites = [Site(f"{stack}.blocks.0", before=True)]
    sites += [Site(f"{stack}.blocks.{i}") for i in range(n)]
    with evaluating(model), torch.no_grad(), recording(model, sites) as seen:
        model(*inputs)
    return torch.stack([seen[site] for site in sites])


def logit_lens(
    model: nn.Module,
    *inputs: Any,
    stack: str = "encoder",
    read: Callable[[Tensor], Tensor] | None = None,
) -> Float[Tensor, "depth *batch n vocab"]:
    """Lo que diría el modelo si parase a cada altura: la norma final y la matriz de salida.

    ``read`` lleva de los estados ya normalizados, (…, n, d_model), a las puntuaciones; si no se da,
    es ``model.project``. La última altura es lo que dice de verdad. Que a una altura no se lea la
    respuesta no quiere decir que no esté: nadie entrenó a los bloques de abajo para esta matriz.

    Errores: los de :func:`depth_states`, y ``ValueError`` si no hay ``read`` ni ``model.project``.
    Fuente: nostalgebraist (2020).
    """
    states = depth_states(model, *inputs, stack=stack)
    out: Any = checks.reader(model, read)
    pile: Any = model.get_submodule(stack)
    with evaluating(model), torch.no_grad():
        return torch.stack([out(pile.finish(x)) for x in states])
