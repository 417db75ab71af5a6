"""Sitios de un modelo: leer lo que pasa por ellos, y poner otra cosa."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from atento.checks import interpret as checks
from atento.training import evaluating


class Site(NamedTuple):
    """Un sitio de un modelo, por donde pasan vectores (…, n, d).

    ``name`` es el de un módulo (``"encoder.blocks.0"``, el flujo residual tras el primer bloque);
    con ``before``, lo que le entra y no lo que sale. Con ``head``, el módulo es una atención, y el
    sitio, lo que promedia esa cabeza, (…, n, d_head), antes de unirlas.
    """

    name: str
    head: int | None = None
    before: bool = False


@contextmanager
def recording(
    model: nn.Module, sites: Sequence[Site | str]
) -> Iterator[dict[Site, Float[Tensor, "*batch n d"]]]:
    """Dentro de un ``with``, deja en un diccionario lo que pasa por cada sitio, sin gradiente.

    De cada uno queda lo de la última llamada, con su :class:`Site`. Una cadena es el sitio de ese
    nombre.

    Errores: ``TypeError`` o ``ValueError`` si ``model`` no es un módulo o un sitio no existe en él.
    """
    found: dict[Site, Tensor] = {}

    def keeper(site: Site) -> Callable:
        def keep(x: Tensor) -> Tensor:
            found[site] = x.detach().clone()
            return x

        return keep

    with _attached(model, {site: keeper(site) for site in located(model, sites)}):
        yield found


@contextmanager
def patching(
    model: nn.Module,
    values: Mapping[Site | str, Float[Tensor, "*batch n d"]],
    positions: Sequence[int] | None = None,
) -> Iterator[None]:
    """Dentro de un ``with``, por cada sitio pasa lo que diga ``values`` y no lo que toque.

    Los valores tienen la forma de lo que pasa, (…, n, d), como los deja :func:`recording`. Con
    ``positions`` solo cambian esas filas; lo demás sigue su camino. Deja pasar el gradiente.

    Errores: los de :func:`recording`, y al llamar al modelo si un valor no tiene la forma de lo que
    pasa o una posición no existe.
    Fuente: Vig et al. (2020), § 3; Meng et al. (2022), § 2.1.
    """
    sites = located(model, values)
    new = dict(zip(sites, values.values(), strict=True))

    def changer(site: Site) -> Callable:
        def change(x: Tensor) -> Tensor:
            checks.patch(x, new[site], positions, site)
            if positions is None:
                return new[site]
            rows = torch.tensor([*positions], dtype=torch.long, device=x.device)
            return x.index_copy(-2, rows, new[site].index_select(-2, rows))

        return change

    with _attached(model, {site: changer(site) for site in sites}):
        yield


def located(model: nn.Module, sites: Any) -> list[Site]:
    """Los sitios, después de ver que existen; una cadena es el de ese nombre.

    Errores: ``TypeError`` o ``ValueError`` si ``model`` no es un módulo o alguno no existe en él.
    """
    checks.require_module(model)
    found = [Site(site) if isinstance(site, str) else site for site in sites]
    for site in found:
        checks.site(model, site)
    return found


@contextmanager
def _attached(model: nn.Module, changes: Mapping[Site, Callable]) -> Iterator[None]:
    """Pasa por ``change(x)`` lo que hay en cada sitio, y al acabar lo quita."""
    hooks = [_attach(model.get_submodule(s.name), s, change) for s, change in changes.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _attach(module: Any, site: Site, change: Callable) -> Any:
    def after(_: nn.Module, args: tuple, output: Any) -> Any:
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    def before(_: nn.Module, args: tuple) -> tuple:
        return (change(args[0]), *args[1:])

    def one_head(_: nn.Module, args: tuple) -> tuple:
        heads = list(args[0].split(module.d_head, dim=-1))  # cada una, (…, n, d_head)
        heads[site.head or 0] = change(heads[site.head or 0])
        return (torch.cat(heads, dim=-1), *args[1:])

    if site.head is not None:
        return module.project_output.register_forward_pre_hook(one_head)
    if site.before:
        return module.register_forward_pre_hook(before)
    return module.register_forward_hook(after)


# --- Parchear, sitio a sitio ----------------------------------------------------------------------


class Patched(NamedTuple):
    """Lo que hace cada parche: ``restored`` ``(site, position)`` es la parte de la diferencia entre
    ``corrupted`` y ``clean`` que vuelve; 0, nada, y 1, toda.
    """

    restored: Float[Tensor, "site position"]
    clean: float
    corrupted: float


def patch_effects(
    model: nn.Module,
    clean: Any,
    corrupted: Any,
    sites: Sequence[Site | str],
    metric: Callable[[Any], Any],
    *,
    positions: Sequence[Sequence[int] | None],
) -> Patched:
    """Cuánto de la respuesta buena vuelve al poner en un sitio lo que había con la entrada buena.

    Se llama a ``model(*clean)`` y se guarda lo que pasa por cada sitio; después, por cada sitio y
    cada grupo de ``positions`` (``None``, todas), a ``model(*corrupted)`` con solo eso cambiado.
    ``metric`` convierte en un número lo que devuelve el modelo. Las dos entradas, un tensor (…, n)
    o una tupla de argumentos, tienen la misma forma.

    Errores: los de :func:`patching`, y ``ValueError`` si las dos entradas dan la misma medida.
    Fuente: Vig et al. (2020), § 3; Meng et al. (2022), § 2.1.
    """
    sites = located(model, sites)
    good, bad = checks.pair(clean, corrupted, metric)
    with evaluating(model), torch.no_grad():
        with recording(model, sites) as seen:
            best = float(metric(model(*good)))
        worst = float(metric(model(*bad)))
        checks.different(best, worst)
        rows = []
        for site in sites:
            row = []
            for group in positions:
                with patching(model, {site: seen[site]}, group):
                    row.append(float(metric(model(*bad))))
            rows.append(row)
    restored = (torch.tensor(rows, dtype=torch.float64) - worst) / (best - worst)
    return Patched(restored, best, worst)
