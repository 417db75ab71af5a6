"""Las cabezas: quitarlas, cambiarles el mapa, y medir a quién miran."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.checks import interpret as checks
from atento.interpret.sites import Site, recording
from atento.shapes import typed
from atento.training import evaluating


def head_means(model: nn.Module, *inputs: Any) -> dict[str, Float[Tensor, "head d_head"]]:
    """Lo que da cada cabeza de media, en todas las muestras y posiciones de ``inputs``.

    Devuelve un tensor (head, d_head) por atención, con su nombre: es lo que
    :func:`without_heads` pone en el sitio de la que quita.

    Errores: ``TypeError`` o ``ValueError`` si ``model`` no es un módulo con atenciones.
    """
    found = _attentions(model)
    sites = [Site(name, head) for name, part in found.items() for head in range(part.n_heads)]
    with evaluating(model), torch.no_grad(), recording(model, sites) as seen:
        model(*inputs)
    means = {site: x.flatten(0, -2).mean(dim=0) for site, x in seen.items()}
    return {
        name: torch.stack([means[Site(name, head)] for head in range(part.n_heads)])
        for name, part in found.items()
    }


def without_heads(
    model: nn.Module,
    heads: Mapping[str, Sequence[int]],
    *,
    means: Mapping[str, Float[Tensor, "head d_head"]] | None = None,
) -> nn.Module:
    """Una copia de ``model`` sin esas cabezas, ``{"encoder.blocks.0.attention": [0, 2]}``.

    Quitar una es borrar de la matriz de salida las columnas por las que llega. Con ``means``, lo
    que devolvió :func:`head_means`, (head, d_head) por atención, en su lugar queda siempre su
    media, que se suma al sesgo: así el modelo no ve un cero que nunca había visto.

    Errores: ``TypeError`` o ``ValueError`` si ``model`` no es un módulo, el nombre no es el de una
    atención suya, la cabeza no existe o las medias no son (head, d_head).
    Fuente: Michel et al. (2019), § 2.3.
    """
    checks.require_module(model)
    twin = copy.deepcopy(model)
    found = _attentions(twin)
    checks.heads(heads, found, means)
    for name, chosen in heads.items():
        output = found[name].project_output
        for head in chosen:
            columns = slice(head * found[name].d_head, (head + 1) * found[name].d_head)
            with torch.no_grad():
                if means is not None:
                    _add_bias(output, output.weight[:, columns] @ means[name][head])
                output.weight[:, columns] = 0
    return twin


def _attentions(model: nn.Module) -> dict[str, MultiHeadAttention]:
    checks.require_module(model)
    found = {n: m for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)}
    if not found:
        raise ValueError("model: se esperaba alguna MultiHeadAttention dentro; no hay ninguna.")
    return found


def _add_bias(linear: nn.Linear, extra: Tensor) -> None:
    if linear.bias is None:
        linear.bias = nn.Parameter(torch.zeros_like(extra))
    linear.bias.add_(extra)


@contextmanager
def mixing(
    model: nn.Module, weights: Mapping[str, Float[Tensor, "*batch head query key"]]
) -> Iterator[None]:
    """Dentro de un ``with``, esas atenciones mezclan sus valores con ``weights``, no con los suyos.

    ``weights`` lleva el mapa de cada atención con su nombre, como los deja
    :func:`atento.watching.watching`: con los mismos, nada cambia. Los valores son los de cada
    llamada, y el modelo queda como estaba.

    Errores: ``TypeError`` o ``ValueError`` si ``model`` no es un módulo con atenciones o el nombre
    no es el de una suya; ``ValueError``, al llamar al modelo, si un mapa no es (…, head, query,
    key).
    Fuente: Jain y Wallace (2019), § 4.2 (mapas cambiados con los mismos valores).
    """
    found = _attentions(model)
    checks.maps(weights, found)
    hooks: list[Any] = []
    for name, given in weights.items():
        keep, mix = _mixer(name, found[name], given)
        hooks.append(found[name].project_value.register_forward_hook(keep))
        hooks.append(found[name].project_output.register_forward_pre_hook(mix))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _mixer(name: str, part: MultiHeadAttention, given: Tensor) -> tuple[Callable, Callable]:
    """Los dos ganchos: el que guarda los valores y el que los mezcla con ``given``."""
    values: list[Tensor] = []

    def keep(_: nn.Module, args: tuple, output: Tensor) -> None:
        values[:] = [output.unflatten(-1, (part.n_kv_heads, -1)).transpose(-3, -2)]

    def mix(_: nn.Module, args: tuple) -> tuple:
        v = values[0].repeat_interleave(part.n_heads // part.n_kv_heads, dim=-3)
        checks.map_fits(name, given, (*v.shape[:-2], args[0].shape[-2], v.shape[-2]))
        return ((given @ v).transpose(-3, -2).flatten(-2),)

    return keep, mix


# --- A quién miran --------------------------------------------------------------------------------


@typed(validate=checks.ids)
def induction_target(ids: Int[Tensor, "*batch n"]) -> Bool[Tensor, "*batch query key"]:
    """Dónde miraría una cabeza de inducción: al que siguió a cada aparición anterior.

    Errores: ``TypeError`` o ``ValueError`` si ``ids`` no es un tensor de enteros, (…, n).
    Fuente: Olsson et al. (2022), § 1 (definición).
    """
    before = ids.roll(1, dims=-1)  # qué había antes de cada clave
    same = ids.unsqueeze(-1) == before.unsqueeze(-2)  # (…, query, key)
    same[..., 0] = False  # antes de la primera no había nada
    return same & torch.ones_like(same).tril(-1)


def previous_target(n: int) -> Bool[Tensor, "query key"]:
    """Dónde miraría una cabeza que mira siempre a la palabra anterior: (n, n).

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero positivo.
    """
    checks.size(n)
    return torch.ones(n, n, dtype=torch.bool).tril(-1) & torch.ones(n, n, dtype=torch.bool).triu(-1)


@typed(validate=checks.mass)
def mass_on(
    weights: Float[Tensor, "*batch head query key"], target: Bool[Tensor, "..."]
) -> Float[Tensor, " head"]:
    """Qué parte de su atención pone cada cabeza en ``target``, de media.

    ``target`` se difunde hasta (…, query, key), y la media es de las consultas que tienen adónde
    mirar. Con ``induction_target(ids)`` es la puntuación de inducción. ``weights`` son los de una
    atención, como los da ``watching``.

    Errores: ``TypeError`` o ``ValueError`` si no casan o ninguna consulta tiene adónde mirar.
    Fuente: Olsson et al. (2022), la puntuación de coincidencia de prefijo.
    """
    target = target.expand(*weights.shape[:-3], *weights.shape[-2:])  # (…, query, key)
    mass = (weights * target.unsqueeze(-3)).sum(dim=-1)  # (…, head, query)
    return mass.movedim(-2, 0)[:, target.any(dim=-1)].mean(dim=-1)


@typed(validate=checks.chance)
def chance_on(target: Bool[Tensor, "*batch query key"]) -> float:
    """Lo que daría :func:`mass_on` a quien repartiese por igual entre lo que ya ha pasado.

    Errores: los de :func:`mass_on`.
    """
    n = target.shape[-1]
    uniform = torch.ones(n, n, dtype=torch.float64).tril() / torch.arange(1, n + 1)[:, None]
    weights = uniform.expand(*target.shape[:-2], 1, n, n)
    return mass_on(weights, target.cpu()).item()


@typed(validate=checks.repeated)
def repeated_sequences(
    batch: int, length: int, vocab: int, *, generator: torch.Generator | None = None
) -> Int[Tensor, "batch twice"]:
    """Filas al azar, sin repetir token, escritas dos veces: (batch, 2 · length).

    En la segunda mitad, quien copie lo que siguió acierta siempre, y nadie más puede saberlo.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos o ``length`` pasa de
    ``vocab``.
    """
    noise = torch.rand(batch, vocab, generator=generator)
    row = noise.argsort(dim=-1)[:, :length]  # (batch, length)
    return torch.cat([row, row], dim=-1)
