"""Piso 2: las piezas de un bloque que no son la atención.

Normalizar cada posición, transformarla por su cuenta y sumar lo nuevo a lo que había. Ninguna mira
otras posiciones: todas actúan sobre el último eje de un tensor ``(…, d_model)``.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

from atento.checks import layers as checks
from atento.shapes import typed

# --- Normalizar -----------------------------------------------------------------------------------


@typed(validate=checks.layer_norm)
def layer_norm(
    x: Float[Tensor, "*batch d_model"],
    weight: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"],
    eps: float = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    """Normaliza cada posición: media 0 y varianza 1 en su último eje, y después escala y desplaza.

    La varianza divide por ``d_model``, no por ``d_model - 1``, y ``eps`` se suma a ella, dentro de
    la raíz. Es :class:`LayerNorm` escrita paso a paso.

    Errores: ``TypeError`` o ``ValueError`` si ``weight`` o ``bias`` no miden lo que el último eje
    de ``x``.
    Fuente: Ba et al. (2016), ec. 4.
    """
    mean = x.mean(dim=-1, keepdim=True)  # (…, 1)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)  # (…, 1)
    return weight * (x - mean) / torch.sqrt(variance + eps) + bias


@typed(validate=checks.rms_norm)
def rms_norm(
    x: Float[Tensor, "*batch d_model"], weight: Float[Tensor, " d_model"], eps: float = 1e-6
) -> Float[Tensor, "*batch d_model"]:
    """Divide cada posición por su media cuadrática y escala; ni centra ni desplaza.

    Es :class:`RMSNorm` escrita paso a paso.

    Errores: los de :func:`layer_norm`.
    Fuente: Zhang y Sennrich (2019), ec. 4.
    """
    mean_square = x.square().mean(dim=-1, keepdim=True)  # (…, 1)
    return weight * x / torch.sqrt(mean_square + eps)


class LayerNorm(nn.Module):
    """Normalización de capa con parámetros: ``weight`` empieza en 1 y ``bias`` en 0.

    Da lo mismo que :func:`layer_norm`, con el núcleo fundido de PyTorch; los parámetros se llaman
    como los de ``nn.LayerNorm``.

    Errores: ``TypeError`` o ``ValueError`` si ``d_model`` o ``eps`` no son positivos.
    Fuente: Ba et al. (2016), ec. 4.
    """

    @typed(validate=checks.norm)
    def __init__(self, d_model: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    @typed(validate=checks.position_wise)
    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normaliza cada posición de ``x``.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es ``(…, d_model)`` de coma flotante.
        """
        return F.layer_norm(x, (self.d_model,), self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.d_model}, eps={self.eps}"


class RMSNorm(nn.Module):
    """Normalización por la media cuadrática, con un solo parámetro: ``weight`` empieza en 1.

    Da lo mismo que :func:`rms_norm`, con el núcleo fundido de PyTorch.

    Errores: los de :class:`LayerNorm`.
    Fuente: Zhang y Sennrich (2019), ec. 4.
    """

    @typed(validate=checks.root_norm)
    def __init__(self, d_model: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))

    @typed(validate=checks.position_wise)
    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normaliza cada posición de ``x``.

        Errores: los de :meth:`LayerNorm.forward`.
        """
        return F.rms_norm(x, (self.d_model,), self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.d_model}, eps={self.eps}"


NORMALIZATIONS = {"layer": LayerNorm, "rms": RMSNorm}
"""Las normalizaciones, por su nombre en las configuraciones."""


# --- Transformar ----------------------------------------------------------------------------------

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "swiglu": F.silu,
}
"""Las no linealidades de la red densa; ``swiglu`` multiplica, además, por una puerta."""


class Dropout(nn.Dropout):
    """Desactivación aleatoria: la de PyTorch al entrenar; al evaluar no llama a nada.

    ``nn.Dropout``, aunque no cambie ``x``, pasa por tres funciones, y al generar se la llama en
    cada subcapa de cada paso.
    """

    def forward(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """Al entrenar anula componentes de ``x``, (…, d); al evaluar es ``x``."""
        return super().forward(x) if self.training else x


class FeedForward(nn.Module):
    """Red densa por posición: de ``d_model`` a ``d_ff``, una no linealidad, y de vuelta.

    Con ``activation="swiglu"``, la capa interna se multiplica por una segunda proyección, sin
    activar (la puerta): tres matrices en lugar de dos, así que con ``d_ff`` a 2/3 cuesta lo mismo.
    ``dropout`` se aplica a la capa interna.

    Errores: ``TypeError`` o ``ValueError`` si una anchura no es un entero positivo, ``activation``
    no es «relu», «gelu» ni «swiglu», o ``dropout`` no está en [0, 1).
    Fuente: Vaswani et al. (2017), ec. 2; la puerta, Shazeer (2020), ec. 6.
    """

    @typed(validate=checks.feed_forward)
    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str = "relu",
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.d_model, self.d_ff, self.activation = d_model, d_ff, activation
        self.expand = nn.Linear(d_model, d_ff, bias=bias)
        self.gate = nn.Linear(d_model, d_ff, bias=bias) if activation == "swiglu" else None
        self.contract = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos (Glorot y Bengio, 2010, ec. 16) y pone los sesgos a 0."""
        for linear in filter(None, (self.expand, self.gate, self.contract)):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    @typed(validate=checks.position_wise)
    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transforma cada posición de ``x`` con los mismos pesos.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es ``(…, d_model)`` de coma flotante.
        """
        hidden = ACTIVATIONS[self.activation](self.expand(x))  # (…, d_ff)
        if self.gate is not None:
            hidden = hidden * self.gate(x)  # (…, d_ff)
        return self.contract(self.dropout(hidden))  # (…, d_model)

    def extra_repr(self) -> str:
        return f"activation={self.activation!r}"


# --- Sumar a lo que había -------------------------------------------------------------------------


class Residual(nn.Module):
    """Conexión residual: suma a ``x`` lo que una subcapa calcula con ella.

    - ``norm="pre"``: ``x + subcapa(normalizar(x))``; el flujo residual nunca se normaliza;
    - ``norm="post"``: ``normalizar(x + subcapa(x))``, como en 2017.

    ``dropout`` se aplica a la salida de la subcapa, antes de sumar. ``normalization`` es «layer» o
    «rms».

    Errores: ``TypeError`` o ``ValueError`` si un argumento no es uno de los dichos.
    Fuente: Vaswani et al. (2017), § 3.1; «pre», Xiong et al. (2020).
    """

    @typed(validate=checks.residual)
    def __init__(
        self,
        d_model: int,
        *,
        norm: str = "pre",
        normalization: str = "layer",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.is_pre = norm == "pre"
        self.norm = NORMALIZATIONS[normalization](d_model)
        self.dropout = Dropout(dropout)

    @typed(validate=checks.sublayer)
    def forward(
        self, x: Float[Tensor, "*batch d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "*batch d_model"]:
        """Aplica ``sublayer``, una función que no cambia la forma de ``x``, (…, d_model).

        Errores: ``TypeError`` si ``sublayer`` no es una función; ``ValueError`` si cambia la forma.
        """
        update = sublayer(self.norm(x) if self.is_pre else x)
        checks.require_update(update, x)
        x = x + self.dropout(update)  # (…, d_model)
        return x if self.is_pre else self.norm(x)

    def extra_repr(self) -> str:
        return f"norm={'pre' if self.is_pre else 'post'!r}"


# --- La entrada -----------------------------------------------------------------------------------


class TokenEmbedding(nn.Module):
    """La entrada de una pila: el embedding de cada token, por √d_model, y su posición.

    ``positions`` es una función o un módulo ``(x, positions) → x``, como los que se suman en
    :mod:`atento.positions`; con ``None``, la posición no entra por aquí. Los pesos se sortean con
    desviación 1/√d_model: al multiplicar por √d_model, los embeddings tienen varianza 1.

    Errores: ``TypeError`` o ``ValueError`` si un tamaño no es un entero positivo, ``positions`` no
    es una función o ``dropout`` no está en [0, 1).
    Fuente: Vaswani et al. (2017), §§ 3.4 y 3.5.
    """

    @typed(validate=checks.embedding)
    def __init__(
        self,
        vocab: int,
        d_model: int,
        *,
        positions: Callable[[Tensor, Tensor], Tensor] | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.vocab, self.d_model, self.positions = vocab, d_model, positions
        self.tokens = nn.Embedding(vocab, d_model)
        self.dropout = Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los embeddings, con desviación 1/√d_model."""
        nn.init.normal_(self.tokens.weight, std=self.d_model**-0.5)

    @typed(validate=checks.embed)
    def forward(
        self, ids: Int[Tensor, "batch n"], positions: Real[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        """Embeddings de ``ids``, que están en ``positions``, (n,) o (batch, n); sin ellas, 0…n − 1.

        Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario,
        (batch, n), o la función ``positions`` cambia la forma.
        """
        x = self.tokens(ids) * self.d_model**0.5  # (batch, n, d_model)
        if self.positions is not None:
            if positions is None:
                positions = torch.arange(ids.shape[1], device=ids.device)
            x = checks.require_placed(self.positions(x, positions), x)
        return self.dropout(x)
