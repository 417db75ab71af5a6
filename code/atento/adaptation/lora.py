"""LoRA: los pesos se quedan quietos y se aprende lo que se les suma, de rango pequeño."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from atento.checks import adaptation as checks
from atento.shapes import typed

ATTENTION = ("project_query", "project_value")
"""Las proyecciones que adapta el artículo: la de las consultas y la de los valores."""


class LoraLinear(nn.Linear):
    """Una capa lineal quieta más un producto de dos matrices finas: ``x Wᵀ + (α/r) x Aᵀ Bᵀ``.

    ``down`` es A, ``(rank, in)``, que se sortea con desviación 1/√in, y ``up`` es B, ``(out,
    rank)``, que empieza a cero: al principio la capa hace lo mismo que antes. El peso y el sesgo
    son los de ``linear``, los mismos tensores, y dejan de entrenarse.

    Errores: ``TypeError`` si ``linear`` no es una ``nn.Linear``; ``ValueError`` si ``rank`` no está
    entre 1 y el lado menor de la matriz o ``alpha`` no es positivo.
    Fuente: Hu et al. (2022), § 4.1.
    """

    @typed(validate=checks.lora_linear)
    def __init__(self, linear: nn.Linear, rank: int, *, alpha: float | None = None) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        for parameter in linear.parameters():
            parameter.requires_grad_(False)
        self.rank, self.alpha = rank, float(rank if alpha is None else alpha)
        self.down = nn.Parameter(linear.weight.new_empty(rank, linear.in_features))
        self.up = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))
        nn.init.normal_(self.down, std=linear.in_features**-0.5)

    @typed(validate=checks.lora_forward)
    def forward(self, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        """La salida de siempre más la del desvío, sin formar nunca la matriz B A.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es ``(…, in)`` de coma flotante.
        """
        detour = F.linear(F.linear(x, self.down), self.up)  # (…, rank) y (…, out)
        return F.linear(x, self.weight, self.bias) + self.alpha / self.rank * detour

    def merged(self) -> nn.Linear:
        """Una capa lineal corriente que hace lo mismo: ``W + (α/r) B A``.

        Fuente: Hu et al. (2022), § 4.1: al usarla, no cuesta nada.
        """
        out, inside = self.out_features, self.in_features
        linear = nn.Linear(inside, out, bias=self.bias is not None).to(self.weight)
        with torch.no_grad():
            linear.weight.copy_(self.weight + self.alpha / self.rank * self.up @ self.down)
            if self.bias is not None:
                linear.bias.copy_(self.bias)
        return linear


def add_lora(
    model: nn.Module,
    rank: int,
    *,
    alpha: float | None = None,
    targets: Sequence[str] = ATTENTION,
) -> nn.Module:
    """Congela ``model`` y le pone LoRA a las capas lineales que se llaman como en ``targets``.

    Cambia el modelo y lo devuelve. ``targets`` se compara con el último trozo del nombre
    (``"project_query"``) o con el nombre entero. Una capa que comparta su matriz con otra
    (la de salida, atada a los embeddings) no se puede fundir, y no se admite.

    Errores: ``TypeError`` o ``ValueError`` si ``model`` no es un módulo o ya lleva LoRA, ninguna
    capa se llama así, alguna comparte su matriz, o los de :class:`LoraLinear`.
    Fuente: Hu et al. (2022), § 4.2.
    """
    checks.add_lora(model, rank, targets)
    found = checks.lora_targets(model, targets, rank)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for name in found:
        parent, _, last = name.rpartition(".")
        layer = LoraLinear(model.get_submodule(name), rank, alpha=alpha)
        setattr(model.get_submodule(parent), last, layer)
    return model


def merge(model: nn.Module) -> nn.Module:
    """Funde cada LoRA en su matriz: las capas vuelven a ser corrientes. Cambia el modelo.

    Lo fundido se puede entrenar; lo demás sigue quieto (:func:`atento.adaptation.thaw`).

    Errores: ``TypeError`` si ``model`` no es un módulo; ``ValueError`` si no lleva LoRA.
    """
    checks.require_module(model)
    found = [n for n, m in model.named_modules() if isinstance(m, LoraLinear)]
    if not found or "" in found:
        raise ValueError(
            "model: se esperaba un modelo con capas LoraLinear dentro; no hay ninguna."
        )
    for name in found:
        parent, _, last = name.rpartition(".")
        layer = model.get_submodule(name)
        assert isinstance(layer, LoraLinear)
        setattr(model.get_submodule(parent), last, layer.merged())
    return model


def lora_size(d_in: int, d_out: int, rank: int) -> int:
    """Cuántos números se entrenan en una capa: ``rank · (d_in + d_out)``, y no ``d_in · d_out``.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    """
    for name, value in (("d_in", d_in), ("d_out", d_out), ("rank", rank)):
        checks.require_size(value, name=name)
    return rank * (d_in + d_out)
