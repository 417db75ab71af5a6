"""Otras maneras de dar el orden, en forma breve: convolución, recurrencia, complejos y una red."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

from atento.checks import positions as checks
from atento.positions.relative import relative_positions
from atento.positions.sinusoids import frequencies
from atento.shapes import typed


class Convolutional(nn.Module):
    """Suma a ``x`` una convolución por canal de sus vecinas: el orden sale de quién está al lado.

    ``kernel_size`` cuenta las posiciones que mira. Con ``causal``, solo la propia y las anteriores.

    Errores: ``TypeError`` o ``ValueError`` si los tamaños no son enteros positivos, o si
    ``kernel_size`` es par y no es causal.
    Fuente: Chu et al. (2023), § 3; Baevski et al. (2020), § 2, con grupos de canales y GELU.
    """

    @typed(validate=checks.convolutional)
    def __init__(self, d_model: int, kernel_size: int = 3, *, causal: bool = False) -> None:
        super().__init__()
        self.d_model, self.causal = d_model, causal
        before = kernel_size - 1 if causal else kernel_size // 2
        self.padding = (before, kernel_size - 1 - before)
        self.convolution = nn.Conv1d(d_model, d_model, kernel_size, groups=d_model)

    @typed(validate=checks.from_the_start)
    def forward(
        self, x: Float[Tensor, "*batch n d_model"], positions: Int[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d_model"]:
        """Devuelve ``x`` más su convolución; ``positions``, ``(n,)``, si se da, es 0…n − 1.

        Errores: ``TypeError`` o ``ValueError`` si ``x`` no mide ``d_model`` o ``positions`` no
        empieza en 0: lo que hay antes tendría que estar en ``x``.
        """
        channels = F.pad(x.flatten(0, -3).mT if x.ndim > 2 else x[None].mT, self.padding)
        return x + self.convolution(channels).mT.reshape(x.shape)


class Recurrent(nn.Module):
    """Suma a ``x`` los estados de una GRU que la recorre: el orden sale de leer palabra a palabra.

    Errores: ``TypeError`` o ``ValueError`` si ``d_model`` no es un entero positivo.
    Fuente: Neishi y Yoshinaga (2019), § 3.
    """

    @typed(validate=checks.recurrent)
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.gru = nn.GRU(d_model, d_model, batch_first=True)

    @typed(validate=checks.from_the_start)
    def forward(
        self, x: Float[Tensor, "*batch n d_model"], positions: Int[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d_model"]:
        """Devuelve ``x`` más los estados; ``positions``, ``(n,)``, si se da, es 0…n − 1.

        Errores: los de :class:`Convolutional`.
        """
        states, _ = self.gru(x.flatten(0, -3) if x.ndim > 2 else x[None])
        return x + states.reshape(x.shape)


class ComplexEmbedding(nn.Module):
    """Cada palabra es una onda, ``r · e^(i(ω · pos + θ))``: su amplitud, su frecuencia, su fase.

    Devuelve la parte real y la imaginaria de ``d_model / 2`` complejos, alternas. Las frecuencias
    empiezan siendo las sinusoidales. Moverla ``δ`` posiciones es multiplicarla por ``e^(iωδ)``.

    Errores: ``TypeError`` o ``ValueError`` si ``vocab`` no es un entero positivo o ``d_model`` no
    es positivo y par.
    Fuente: Wang et al. (2020), ec. 6.
    """

    @typed(validate=checks.complex_embedding)
    def __init__(self, vocab: int, d_model: int) -> None:
        super().__init__()
        self.vocab, self.d_model = vocab, d_model
        self.amplitude = nn.Parameter(torch.randn(vocab, d_model // 2))
        self.frequency = nn.Parameter(frequencies(d_model).repeat(vocab, 1))
        self.phase = nn.Parameter(torch.empty(vocab, d_model // 2).uniform_(-torch.pi, torch.pi))

    @typed(validate=checks.embedded)
    def forward(
        self, ids: Int[Tensor, "*batch n"], positions: Real[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d_model"]:
        """Devuelve las ondas en ``positions``, ``(n,)`` o ``(…, n)``; sin ellas, en 0…n − 1.

        Errores: ``TypeError`` si ``ids`` no es de enteros; ``ValueError`` si alguno no está en el
        vocabulario o ``positions`` no tiene una posición por palabra.
        """
        if positions is None:
            positions = torch.arange(ids.shape[-1], device=ids.device)
        place = positions.to(self.frequency.dtype).unsqueeze(-1)
        angle = self.frequency[ids] * place + self.phase[ids]  # (…, n, d_model / 2)
        wave = torch.stack((angle.cos(), angle.sin()), dim=-1)
        return (self.amplitude[ids].unsqueeze(-1) * wave).flatten(-2)


class DynamicBias(nn.Module):
    """El sesgo de cada distancia lo calcula una red pequeña, en vez de salir de una tabla.

    La red recibe ``signo(r) · log(1 + |r|)``, con ``r = clave - consulta``, y da un número por
    cabeza. Se usa como ``score_bias``.

    Errores: ``TypeError`` o ``ValueError`` si ``n_heads`` o ``d_hidden`` no son enteros positivos.
    Fuente: Wang et al. (2022), § 3.3 (CrossFormer); el logaritmo, Liu et al. (2022), ec. 4.
    """

    @typed(validate=checks.dynamic)
    def __init__(self, n_heads: int, d_hidden: int = 16) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.net = nn.Sequential(nn.Linear(1, d_hidden), nn.ReLU(), nn.Linear(d_hidden, n_heads))

    @typed(validate=checks.bias)
    def forward(
        self, query_positions: Real[Tensor, "..."], key_positions: Real[Tensor, "..."]
    ) -> Float[Tensor, "*batch head query key"]:
        """Devuelve el sesgo de cada pareja; posiciones ``(…, query)`` y ``(…, key)``.

        Errores: ``TypeError`` o ``ValueError`` si no son números reales o sus lotes no casan.
        """
        relative = relative_positions.unchecked(query_positions, key_positions)
        relative = relative.to(self.net[0].weight.dtype)
        scaled = relative.sign() * relative.abs().log1p()
        return self.net(scaled.unsqueeze(-1)).movedim(-1, -3)  # (…, head, query, key)
