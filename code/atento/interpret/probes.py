"""Sondas lineales: qué se puede leer en unos estados, y cuánto de eso lo pone la sonda."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from atento.checks import interpret as checks
from atento.shapes import typed


class Probe(NamedTuple):
    """Una sonda lineal: ``weight`` (class, d) y ``bias`` (class,)."""

    weight: Float[Tensor, "class d"]
    bias: Float[Tensor, " class"]

    def __call__(self, states: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch class"]:
        """Las puntuaciones de cada clase."""
        return F.linear(states.to(self.weight), self.weight, self.bias)

    def accuracy(self, states: Float[Tensor, "*batch d"], labels: Int[Tensor, "*batch"]) -> float:
        """La parte de ``labels`` que acierta."""
        return (self(states).argmax(dim=-1) == labels).double().mean().item()


@typed(validate=checks.probe)
def fit_probe(
    states: Float[Tensor, "n d"], labels: Int[Tensor, " n"], *, decay: float = 1e-3
) -> Probe:
    """La mejor sonda lineal que lee ``labels`` en ``states``: regresión logística, sin azar.

    Minimiza la entropía cruzada media más ``decay / 2`` por la suma de los cuadrados de la matriz
    (el sesgo no cuenta). El problema es convexo y solo hay un mínimo; se busca en 64 bits.

    Errores: ``TypeError`` o ``ValueError`` si ``states`` no es (n, d), ``labels`` no son enteros
    desde 0, uno por fila, o ``decay`` no es positivo.
    Fuente: Hewitt y Liang (2019), § 2, con una sonda lineal.
    """
    x = states.detach().double()
    weight = x.new_zeros(int(labels.max()) + 1, x.shape[1], requires_grad=True)
    bias = x.new_zeros(len(weight), requires_grad=True)
    options: dict[str, Any] = {"tolerance_grad": 1e-9, "tolerance_change": 1e-15}
    search = torch.optim.LBFGS(
        [weight, bias], max_iter=500, line_search_fn="strong_wolfe", **options
    )

    def cost() -> Tensor:
        search.zero_grad()
        loss = F.cross_entropy(F.linear(x, weight, bias), labels)
        loss = loss + decay / 2 * weight.square().sum()
        loss.backward()
        return loss

    with torch.enable_grad():
        search.step(cost)
    return Probe(weight.detach(), bias.detach())


@typed(validate=checks.control)
def control_labels(
    types: Int[Tensor, " n"],
    labels: Int[Tensor, " n"],
    *,
    generator: torch.Generator | None = None,
) -> Int[Tensor, " n"]:
    """Las etiquetas de la tarea de control: a cada tipo (cada palabra), una al azar y siempre la
    misma.

    Salen con la frecuencia de las de verdad. No dicen nada de la lengua: quien las acierta se ha
    aprendido de memoria qué palabra lleva cuál.

    Errores: ``TypeError`` o ``ValueError`` si no son dos tensores de enteros, (n,), del mismo
    tamaño.
    Fuente: Hewitt y Liang (2019), § 2.1.
    """
    found, where = types.unique(return_inverse=True)
    draw = torch.randint(len(labels), (len(found),), generator=generator)
    return labels[draw][where]


class Probed(NamedTuple):
    """El acierto de la sonda y el de la misma sonda en la tarea de control, en datos apartados."""

    accuracy: float
    control: float

    @property
    def selectivity(self) -> float:
        """Cuánto del acierto no se debe a que la sonda sepa memorizar palabras."""
        return self.accuracy - self.control


@typed(validate=checks.with_control)
def probe_with_control(
    states: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
    types: Int[Tensor, " n"],
    train: Bool[Tensor, " n"],
    *,
    decay: float = 1e-3,
    generator: torch.Generator | None = None,
) -> Probed:
    """Ajusta una sonda con las filas de ``train`` y la mide en las demás; después, su control.

    ``types`` dice qué palabra hay en cada fila.

    Errores: los de :func:`fit_probe` y :func:`control_labels`, y ``ValueError`` si ``train`` no
    deja filas a los dos lados.
    Fuente: Hewitt y Liang (2019), § 2.
    """
    scores = []
    for goal in (labels, control_labels(types, labels, generator=generator)):
        probe = fit_probe(states[train], goal[train], decay=decay)
        scores.append(probe.accuracy(states[~train], goal[~train]))
    return Probed(*scores)
