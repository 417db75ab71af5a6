"""Las posiciones relativas que se suman a las puntuaciones: T5, ALiBi y Shaw."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

from atento.checks import positions as checks
from atento.positions.memory import Memory
from atento.shapes import typed


@typed(validate=checks.pair)
def relative_positions(
    query_positions: Real[Tensor, "..."], key_positions: Real[Tensor, "..."]
) -> Real[Tensor, "..."]:
    """Devuelve ``clave - consulta``, ``(…, query, key)``: negativo si la clave está antes.

    ``query_positions`` es ``(…, query)`` y ``key_positions``, ``(…, key)``.

    Errores: ``TypeError`` o ``ValueError`` si no son tensores de números reales o sus lotes no
    casan.
    """
    return key_positions.unsqueeze(-2) - query_positions.unsqueeze(-1)


# --- T5 -------------------------------------------------------------------------------------------


@typed(validate=checks.relative_bucket)
def relative_bucket(
    relative: Int[Tensor, "..."],
    *,
    n_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
) -> Int[Tensor, "..."]:
    """Devuelve el cubo de cada ``clave - consulta``, de 0 a ``n_buckets - 1``, con la misma forma.

    Las distancias cortas tienen un cubo cada una; las largas se reparten los demás en escala
    logarítmica, y desde ``max_distance`` comparten el último. Con ``bidirectional``, la mitad de
    los cubos es para las claves posteriores; sin él, todas ellas caen en el cubo 0.

    Errores: ``TypeError`` si ``relative`` no es de enteros; ``ValueError`` si ``n_buckets`` no se
    puede repartir o ``max_distance`` no pasa de los cubos de una sola distancia.
    Fuente: Raffel et al. (2020), § 2.1, y su código.
    """
    side = n_buckets // 2 if bidirectional else n_buckets
    distance = relative.abs() if bidirectional else (-relative).clamp(min=0)
    exact = side // 2  # estas distancias tienen cubo propio
    ratio = torch.log(distance.float() / exact) / math.log(max_distance / exact)
    coarse = exact + (ratio.clamp(min=0) * (side - exact)).long()
    bucket = torch.where(distance < exact, distance, coarse.clamp(max=side - 1))
    return bucket + side * (relative > 0) if bidirectional else bucket


class RelativeBias(nn.Module):
    """El sesgo de T5: un número aprendido por cabeza y cubo de distancias.

    Se usa como ``MultiHeadAttention(..., score_bias=RelativeBias(n_heads))``; un mismo módulo puede
    servir a todas las capas, como en T5. Los cubos son los de :func:`relative_bucket`.

    Errores: ``TypeError`` o ``ValueError`` si ``n_heads`` no es un entero positivo; los de
    :func:`relative_bucket` para lo demás.
    Fuente: Raffel et al. (2020), § 2.1. T5, además, no divide las puntuaciones entre ``√d_head``.
    """

    @typed(validate=checks.relative_bias)
    def __init__(
        self,
        n_heads: int,
        *,
        n_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
    ) -> None:
        super().__init__()
        self.n_heads, self.n_buckets, self.max_distance = n_heads, n_buckets, max_distance
        self.bidirectional = bidirectional
        self.table = nn.Parameter(torch.empty(n_buckets, n_heads))
        self._memory = Memory()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear la tabla, N(0, 0.02²)."""
        nn.init.normal_(self.table, std=0.02)

    @typed(validate=checks.integer_bias)
    def forward(
        self, query_positions: Int[Tensor, "..."], key_positions: Int[Tensor, "..."]
    ) -> Float[Tensor, "*batch head query key"]:
        """Devuelve el sesgo de cada pareja, con posiciones ``(…, query)`` y ``(…, key)``.

        Errores: ``TypeError`` si las posiciones no son enteros; ``ValueError`` si sus lotes no
        casan.
        """
        (bucket,) = self._memory.recall(
            self._buckets, query_positions, key_positions, dtype=torch.long
        )
        return F.embedding(bucket, self.table).movedim(-1, -3)  # (…, head, query, key)

    def _buckets(self, query: Tensor, key: Tensor, dtype: torch.dtype) -> tuple[Tensor]:
        bucket = relative_bucket.unchecked(
            relative_positions.unchecked(query, key),
            n_buckets=self.n_buckets,
            max_distance=self.max_distance,
            bidirectional=self.bidirectional,
        )
        return (bucket.to(dtype),)

    def extra_repr(self) -> str:
        return (
            f"n_heads={self.n_heads}, n_buckets={self.n_buckets}, "
            f"max_distance={self.max_distance}, bidirectional={self.bidirectional}"
        )


# --- ALiBi ----------------------------------------------------------------------------------------


def _exponents(n_heads: int) -> list[float]:
    """Los ``e`` de las pendientes ``2^-e``: fracciones binarias, exactas en cualquier tipo."""
    power = 2 ** int(math.log2(n_heads))
    exponents = [8 * (h + 1) / power for h in range(power)]
    if power < n_heads:  # las que faltan salen, alternas, de las de 2 · power cabezas
        exponents += _exponents(2 * power)[0::2][: n_heads - power]
    return exponents


@typed(validate=checks.alibi)
def alibi_slopes(n_heads: int, *, dtype: torch.dtype | None = None) -> Float[Tensor, " head"]:
    """Devuelve la pendiente de cada cabeza: con 8, 1/2, 1/4, …, 1/256.

    Con una potencia de 2 son ``2^(-8h/n_heads)``; si no, las de la potencia inferior y, para las
    cabezas que faltan, una de cada dos de las de la siguiente.

    Errores: ``TypeError`` o ``ValueError`` si ``n_heads`` no es un entero positivo.
    Fuente: Press et al. (2022), § 3, y su código para las que no son potencia de 2.
    """
    exponents = torch.tensor(_exponents(n_heads), dtype=torch.float64)
    return torch.exp2(-exponents).to(dtype or torch.get_default_dtype())


def _distances(query: Tensor, key: Tensor, dtype: torch.dtype) -> tuple[Tensor]:
    return (relative_positions.unchecked(query, key).abs().to(dtype),)


class Alibi(nn.Module):
    """ALiBi: resta a cada puntuación la distancia por la pendiente de la cabeza; no aprende nada.

    Se usa como ``MultiHeadAttention(..., score_bias=Alibi(n_heads))``. Sin máscara causal, las
    claves posteriores restan lo mismo que las anteriores.

    Errores: ``TypeError`` o ``ValueError`` si ``n_heads`` no es un entero positivo.
    Fuente: Press et al. (2022), § 3.
    """

    @typed(validate=checks.alibi_module)
    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        powers = -torch.tensor(_exponents(n_heads)).view(-1, 1, 1)  # (head, 1, 1)
        self.powers: Tensor
        self.register_buffer("powers", powers, persistent=False)
        self._memory = Memory()

    @typed(validate=checks.bias)
    def forward(
        self, query_positions: Real[Tensor, "..."], key_positions: Real[Tensor, "..."]
    ) -> Float[Tensor, "*batch head query key"]:
        """Devuelve ``-pendiente · |clave - consulta|``; posiciones ``(…, query)`` y ``(…, key)``.

        Errores: ``TypeError`` o ``ValueError`` si no son números reales o sus lotes no casan.
        """
        slopes = torch.exp2(self.powers)  # exactas en cualquier tipo: se guarda el exponente
        (distance,) = self._memory.recall(
            _distances, query_positions, key_positions, dtype=slopes.dtype
        )
        return -slopes * distance.unsqueeze(-3)  # (…, head, query, key)

    def extra_repr(self) -> str:
        return f"n_heads={self.n_heads}"


# --- Shaw -----------------------------------------------------------------------------------------


class ShawRelative(nn.Module):
    """Posición relativa de Shaw: suma a cada clave un vector aprendido de su distancia.

    La puntuación es ``q · (k + a) / √d_head``, con un vector ``a`` por distancia
    ``clave - consulta``, recortada a ``[-max_distance, max_distance]`` y común a las cabezas. Se
    usa como ``MultiHeadAttention(..., score_bias=ShawRelative(d_head, max_distance))``; como
    depende de la consulta, pide verla (``needs_query``). No incluye los vectores que el artículo
    suma también a los valores: según su tabla 3, quitarlos no cuesta nada.

    Errores: ``TypeError`` o ``ValueError`` si ``d_head`` o ``max_distance`` no son enteros
    positivos.
    Fuente: Shaw et al. (2018), ec. 4 y 5.
    """

    needs_query = True

    @typed(validate=checks.shaw)
    def __init__(self, d_head: int, max_distance: int) -> None:
        super().__init__()
        self.d_head, self.max_distance = d_head, max_distance
        self.table = nn.Parameter(torch.empty(2 * max_distance + 1, d_head))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear la tabla (Glorot y Bengio, 2010, ec. 16)."""
        nn.init.xavier_uniform_(self.table)

    @typed(validate=checks.query_bias)
    def forward(
        self,
        query_positions: Int[Tensor, "..."],
        key_positions: Int[Tensor, "..."],
        query: Float[Tensor, "*batch head query d_head"],
    ) -> Float[Tensor, "*batch head query key"]:
        """Devuelve ``q · a / √d_head``; posiciones ``(…, query)`` y ``(…, key)``.

        Errores: ``TypeError`` o ``ValueError`` si las posiciones no son enteros o no casan con
        ``query``, o si ``query`` no mide ``d_head``.
        """
        products = (query * self.d_head**-0.5) @ self.table.mT  # (…, head, query, 2k + 1)
        row = relative_positions.unchecked(query_positions, key_positions)
        row = row.clamp(-self.max_distance, self.max_distance) + self.max_distance
        row = row.unsqueeze(-3)  # (…, 1, query, key): las mismas en todas las cabezas
        return products.gather(-1, row.expand(*query.shape[:-1], row.shape[-1]))

    def extra_repr(self) -> str:
        return f"d_head={self.d_head}, max_distance={self.max_distance}"
