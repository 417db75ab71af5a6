"""Piso 6: Conformer, el bloque que junta atención y convolución para oír.

La atención relaciona lo que está lejos, y la convolución, lo que está al lado. El bloque las pone
una detrás de otra entre dos redes densas que suman la mitad de lo que calculan. Se apila con
:class:`atento.blocks.Encoder`, y los pesos de otros entran por
:func:`atento.models.weights.from_conformer`.
"""

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from atento.cache import Where
from atento.checks import conformer as checks
from atento.checks import layers as pieces
from atento.layers import FeedForward, LayerNorm, Residual
from atento.shapes import typed


class SwishFeedForward(FeedForward):
    """La red densa del Conformer, con swish, x · σ(x), en lugar de ReLU y sin puerta.

    Errores: los de :class:`~atento.layers.FeedForward`.
    Fuente: Gulati et al. (2020), § 2.3 y figura 4.
    """

    @typed(validate=pieces.position_wise)
    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transforma cada posición de ``x`` con los mismos pesos.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es ``(…, d_model)`` de coma flotante.
        """
        return self.contract(self.dropout(F.silu(self.expand(x))))


class ConvolutionModule(nn.Module):
    """La convolución del Conformer: cada posición, con las ``kernel_size`` de su alrededor.

    Una proyección al doble y una puerta, que deja la mitad; un filtro por componente, cada uno con
    la suya; normalización por lotes, swish, y otra proyección. ``kernel_size`` es impar: hay tantas
    posiciones a un lado como al otro.

    Errores: ``TypeError`` o ``ValueError`` si los tamaños no son enteros positivos o
    ``kernel_size`` es par.
    Fuente: Gulati et al. (2020), § 2.2 y figura 2.
    """

    @typed(validate=checks.convolution)
    def __init__(self, d_model: int, kernel_size: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.expand = nn.Linear(d_model, 2 * d_model, bias=False)
        half = kernel_size // 2
        self.filters = nn.Conv1d(
            d_model, d_model, kernel_size, padding=half, groups=d_model, bias=False
        )
        self.norm = nn.BatchNorm1d(d_model)
        self.contract = nn.Linear(d_model, d_model, bias=False)

    @typed(validate=checks.rows)
    def forward(self, x: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n d_model"]:
        """Mezcla cada posición de ``x`` con sus vecinas, componente a componente.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (batch, n, d_model) de coma flotante,
        y ``ValueError`` si se entrena con una sola posición: de ella no hay varianza.
        """
        x = F.glu(self.expand(x), dim=-1)  # (batch, n, d_model)
        x = F.silu(self.norm(self.filters(x.mT)))  # (batch, d_model, n)
        return self.contract(x.mT)  # (batch, n, d_model)


class ConformerBlock(nn.Module):
    """Media red densa, autoatención, convolución, la otra media y una norma al final.

    ``attention`` es una :class:`~atento.attention.MultiHeadAttention`, con las posiciones que se
    quiera: el artículo usa unas relativas. La norma va delante de cada subcapa, y ``dropout``, a su
    salida.

    Errores: ``TypeError`` o ``ValueError`` si ``attention`` no es un módulo con ``d_model``, y los
    de :class:`ConvolutionModule` y :class:`~atento.layers.FeedForward`.
    Fuente: Gulati et al. (2020), § 2.4, ec. 1.
    """

    @typed(validate=checks.block)
    def __init__(
        self, attention: nn.Module, d_ff: int, kernel_size: int = 31, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        d = self.d_model = attention.d_model
        self.first = SwishFeedForward(d, d_ff, dropout=dropout)
        self.attention = attention
        self.convolution = ConvolutionModule(d, kernel_size)
        self.second = SwishFeedForward(d, d_ff, dropout=dropout)
        self.add_first, self.add_attention, self.add_convolution, self.add_second = (
            Residual(d, dropout=dropout) for _ in range(4)
        )
        self.final_norm = LayerNorm(d)

    @typed
    def forward(
        self,
        x: Float[Tensor, "batch n d_model"],
        where: Where | Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """Pasa ``x``, (batch, n, d_model), por las cuatro subcapas.

        ``where`` es, como en :class:`~atento.blocks.EncoderBlock`, una máscara o un
        :class:`~atento.cache.Where`. La convolución no lo mira: el relleno se oye como silencio.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (batch, n, d_model) de coma flotante,
        y los de :meth:`~atento.attention.MultiHeadAttention.forward`.
        """
        own = Where.of(where)
        places = {} if own.positions is None else {"positions": own.positions}
        x = self.add_first(x, lambda y: self.first(y) / 2)
        x = self.add_attention(x, lambda y: self.attention(y, mask=own.mask, **places)[0])
        x = self.add_convolution(x, self.convolution)
        x = self.add_second(x, lambda y: self.second(y) / 2)
        return self.final_norm(x)
