"""Piso 5: mezcla de expertos, una red densa de la que cada posición usa solo un trozo.

Un encaminador puntúa los expertos; cada posición va a los ``top_k`` que más puntúan, que responden
pesados por su puntuación. Con ``capacity``, un experto atiende a tantas posiciones y las que llegan
tarde se quedan sin él: sale 0, y la conexión residual deja lo que había.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.checks import moe as checks
from atento.layers import FeedForward
from atento.shapes import typed


class Routing(NamedTuple):
    """Adónde va cada posición: ``probabilities`` (token, expert); ``chosen``, ``weights`` y
    ``kept`` (token, choice).

    ``kept`` es ``False`` donde el experto estaba lleno.
    """

    probabilities: Float[Tensor, "token expert"]
    chosen: Int[Tensor, "token choice"]
    weights: Float[Tensor, "token choice"]
    kept: Bool[Tensor, "token choice"]

    @property
    def load(self) -> Float[Tensor, " expert"]:
        """La parte de las elecciones que le toca a cada experto, quepan o no; suma 1."""
        counts = self.chosen.flatten().bincount(minlength=self.probabilities.shape[-1])
        return counts.to(self.probabilities.dtype) / self.chosen.numel()

    @property
    def dropped(self) -> float:
        """La parte de las elecciones que no cupo."""
        return 1.0 - self.kept.float().mean().item()


@typed(validate=checks.route)
def route(
    logits: Float[Tensor, "token expert"], top_k: int, capacity: int | None = None
) -> Routing:
    """Elige los ``top_k`` expertos de cada posición y reparte entre ellos una unidad de peso.

    Con un solo experto por posición su peso es su probabilidad, sin repartir, para que el
    encaminador reciba gradiente. Los sitios se dan por orden de llegada: primero la primera
    elección de todas las posiciones y después la segunda.

    Errores: ``TypeError`` o ``ValueError`` si ``logits`` no es (token, expert) de coma flotante,
    ``top_k`` no está entre 1 y el número de expertos o ``capacity`` no es un entero positivo.
    Fuente: Shazeer et al. (2017), § 2.1; Fedus et al. (2022), § 2.1 y 2.2.
    """
    probabilities = logits.softmax(dim=-1)  # (token, expert)
    weights, chosen = probabilities.topk(top_k, dim=-1)  # (token, choice)
    if top_k > 1:
        weights = weights / weights.sum(dim=-1, keepdim=True)
    kept = torch.ones_like(chosen, dtype=torch.bool)
    if capacity is not None:
        arrival = chosen.T.flatten()  # la primera elección de todos, la segunda de todos…
        asked = nn.functional.one_hot(arrival, logits.shape[-1])  # (choice · token, expert)
        place = asked.cumsum(dim=0).gather(1, arrival[:, None]).squeeze(1)  # 1, 2, 3…
        kept = (place <= capacity).reshape(top_k, -1).T
    return Routing(probabilities, chosen, weights, kept)


@typed(validate=checks.balance)
def balance_loss(routing: Routing) -> Float[Tensor, ""]:
    """Lo desigual que es el reparto: 1 si es parejo y hasta el número de expertos si no.

    Es ``expertos · Σ f · P``, donde ``f`` es la parte de las elecciones de cada experto, sin
    gradiente, y ``P``, su probabilidad media.

    Errores: ``TypeError`` si ``routing`` no es un :class:`Routing`.
    Fuente: Fedus et al. (2022), ec. 4 a 6.
    """
    mean = routing.probabilities.mean(dim=0)  # (expert,)
    return len(mean) * (routing.load * mean).sum()


class MixtureOfExperts(nn.Module):
    """``n_experts`` redes densas y un encaminador; cambia la red densa de un bloque por esta.

    ``capacity_factor`` da a cada experto ese múltiplo de las posiciones que le tocarían a partes
    iguales, redondeado hacia arriba; sin él cabe todo. El último reparto queda en ``routing``, de
    donde sale :func:`balance_loss`.

    Errores: ``TypeError`` o ``ValueError`` si un tamaño no es un entero positivo, ``top_k`` pasa de
    ``n_experts`` o ``capacity_factor`` no es positivo.
    Fuente: Shazeer et al. (2017), § 2; Fedus et al. (2022), § 2.
    """

    @typed(validate=checks.mixture)
    def __init__(
        self,
        d_model: int,
        d_ff: int,
        n_experts: int,
        *,
        top_k: int = 1,
        capacity_factor: float | None = None,
        activation: str = "relu",
    ) -> None:
        super().__init__()
        self.d_model, self.top_k, self.capacity_factor = d_model, top_k, capacity_factor
        self.router = nn.Linear(d_model, n_experts, bias=False)
        experts = (FeedForward(d_model, d_ff, activation=activation) for _ in range(n_experts))
        self.experts = nn.ModuleList(experts)
        self.routing: Routing | None = None

    @typed(validate=checks.mix)
    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Cada posición de ``x``, por sus expertos.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es ``(…, d_model)`` de coma flotante.
        """
        tokens = x.reshape(-1, self.d_model)  # (token, d_model)
        self.routing = route(self.router(tokens), self.top_k, self._capacity(len(tokens)))
        output = torch.zeros_like(tokens)
        for e, expert in enumerate(self.experts):
            token, choice = torch.where((self.routing.chosen == e) & self.routing.kept)
            weight = self.routing.weights[token, choice].unsqueeze(-1)  # (served, 1)
            output = output.index_add(0, token, weight * expert(tokens[token]))
        return output.reshape(x.shape)

    def _capacity(self, tokens: int) -> int | None:
        """Cuántas posiciones caben en cada experto."""
        if self.capacity_factor is None:
            return None
        fair = self.capacity_factor * tokens * self.top_k / len(self.experts)
        return max(1, -int(-fair // 1))

    def extra_repr(self) -> str:
        return f"top_k={self.top_k}, capacity_factor={self.capacity_factor}"
