"""LSH: cada consulta solo puntúa las claves que caen en su cubo, que suelen ser las parecidas."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from atento.checks import efficient as checks
from atento.efficient.substitution import EfficientAttention, read_mask
from atento.shapes import typed


@typed(validate=checks.rotations)
def draw_rotations(
    rounds: int, d_head: int, buckets: int, *, generator: torch.Generator | None = None
) -> Float[Tensor, "round d_head half"]:
    """Sortea los giros de cada ronda, ``(round, d_head, buckets / 2)``.

    Con ``buckets=1`` no hay giro, y todo cae en el mismo cubo.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos o ``buckets`` no es 1 ni
    par.
    """
    return torch.randn(rounds, d_head, buckets // 2, generator=generator)


@typed(validate=checks.buckets)
def lsh_buckets(
    x: Float[Tensor, "*batch n d_head"], rotations: Float[Tensor, "round d_head half"]
) -> Int[Tensor, "*batch round n"]:
    """El cubo de cada vector en cada ronda: hacia qué dirección de las sorteadas apunta.

    Hay dos cubos por dirección, el de quien apunta a ella y el de quien apunta al contrario. Dos
    vectores caen en el mismo con más probabilidad cuanto menor es su ángulo; la norma no cuenta.

    Errores: ``TypeError`` o ``ValueError`` si ``x`` no es (…, n, d_head) o los giros no casan.
    Fuente: Kitaev et al. (2020), § 2.
    """
    if rotations.shape[-1] == 0:
        return torch.zeros(*x.shape[:-2], len(rotations), x.shape[-2], dtype=torch.long).to(
            x.device
        )
    turned = x.unsqueeze(-3) @ rotations  # (…, round, n, half)
    return torch.cat([turned, -turned], dim=-1).argmax(dim=-1)


class _Plan(NamedTuple):
    """Cómo se ordenan las consultas y las claves, juntas, en cada ronda.

    ``order`` ``(…, round, place)`` dice quién está en cada sitio: las ``n`` primeras son consultas
    y las demás, claves. ``bucket`` y ``chunk`` ``(…, round, item)``, en qué cubo y en qué trozo
    está cada una, y ``position`` ``(item,)``, en qué lugar de la secuencia.
    """

    order: Tensor
    bucket: Tensor
    chunk: Tensor
    position: Tensor
    size: int


def _plan(query: Tensor, key: Tensor, rotations: Tensor, chunk: int | None) -> _Plan:
    n, m = query.shape[-2], key.shape[-2]
    items = torch.cat([query, key], dim=-2).detach()
    bucket = lsh_buckets(items, rotations)  # (…, round, item)
    position = torch.cat([torch.arange(m - n, m), torch.arange(m)]).to(query.device)
    last = torch.arange(n + m, device=query.device) < n  # a igual posición, la clave va delante
    order = (bucket * (2 * m) + 2 * position + last).argsort(dim=-1)
    size = chunk or -(-2 * (n + m) // max(1, 2 * rotations.shape[-1]))
    return _Plan(order, bucket, order.argsort(dim=-1) // size, position, size)


@typed(validate=checks.hashed)
def lsh_attention(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    value: Float[Tensor, "*batch key d_value"],
    rotations: Float[Tensor, "round d_head half"],
    *,
    causal: bool = False,
    keys: Bool[Tensor, "..."] | None = None,
    chunk: int | None = None,
    scale: float | None = None,
) -> Float[Tensor, "*batch query d_value"]:
    """La atención entre quienes comparten cubo en alguna ronda, sin formar la tabla de todos.

    En cada ronda se ordenan por cubo, las consultas y las claves juntas, se parten en trozos de
    ``chunk`` (si no se dice, el doble de lo que toca a un cubo) y cada trozo mira el suyo y los
    contiguos. Las rondas se juntan con sus ``logsumexp``: lo que sale es softmax sobre todas las
    parejas que se han visto, contada cada una una vez. Quien no encuentra ninguna recibe 0.
    ``keys``, si se da, es ``False`` en las claves de relleno y se difunde hasta (…, key).

    Errores: los de ``scaled_dot_product_attention``, y si los giros no casan o ``chunk`` no es un
    entero positivo.
    Fuente: Kitaev et al. (2020), § 2. Reformer comparte consultas y claves; aquí son las del
    modelo, y por eso van juntas al ordenar, que cuesta unas cuatro veces más.
    """
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    plan = _plan(query, key, rotations, chunk)
    blank = value.new_zeros(*value.shape[:-2], query.shape[-2], value.shape[-1])
    points = torch.cat([query * scale, key], dim=-2)  # (…, item, d_head)
    values = torch.cat([blank, value], dim=-2)  # (…, item, d_value)
    real = _real(query, key, keys)  # (…, item): las claves que cuentan
    outputs, sums = [], []
    for r in range(len(rotations)):
        mixed, total = _one_round(plan, r, points, values, real, causal)
        outputs.append(mixed[..., : query.shape[-2], :])
        sums.append(total[..., : query.shape[-2], None])
    total = torch.stack(sums).logsumexp(dim=0)
    total = total.masked_fill(total == float("-inf"), 0.0)  # no ha encontrado a nadie
    shares = (torch.stack(sums) - total).exp()  # lo que pesa cada ronda: (round, …, query, 1)
    return (shares * torch.stack(outputs)).sum(dim=0)


def _one_round(plan, r, points, values, real, causal) -> tuple[Tensor, Tensor]:
    """La salida ``(…, item, d_value)`` y el ``logsumexp`` ``(…, item)`` de una ronda."""
    order = _padded(plan.order[..., r, :], plan.size)  # (…, chunk, size); −1 donde no hay nadie
    around = _with_neighbours(order, causal)  # (…, chunk, 2 o 3 · size)
    scores = _take(points, order) @ _take(points, around).mT  # (…, chunk, size, around)
    row, column = order.clamp(min=0), around.clamp(min=0)
    met = _meetings(plan, row, column)  # en cuántas rondas se ven
    seen = _look(plan.bucket[..., r, :], row)[..., :, None]
    allowed = seen == _look(plan.bucket[..., r, :], column)[..., None, :]
    allowed = allowed & (_look(real, column) & (around >= 0))[..., None, :]
    if causal:
        allowed = allowed & (
            plan.position[column][..., None, :] <= plan.position[row][..., :, None]
        )
    scores = (scores - met.clamp(min=1).to(scores.dtype).log()).masked_fill(~allowed, float("-inf"))
    total = scores.logsumexp(dim=-1, keepdim=True)
    weights = (scores - total.masked_fill(total == float("-inf"), 0.0)).exp()
    mixed = weights @ _take(values, around)  # (…, chunk, size, d_value)
    back = plan.order[..., r, :].argsort(dim=-1)  # de vuelta a su sitio
    items = back.shape[-1]
    mixed, total = mixed.flatten(-3, -2)[..., :items, :], total.flatten(-3)[..., :items]
    return _rows(mixed, back), total.gather(-1, back)


def _meetings(plan: _Plan, row: Tensor, column: Tensor) -> Tensor:
    """En cuántas rondas comparten cubo y trozos contiguos: ``(…, chunk, size, around)``."""
    count: Any = 0
    for r in range(plan.order.shape[-2]):
        bucket, chunk = plan.bucket[..., r, :], plan.chunk[..., r, :]
        same = _look(bucket, row)[..., :, None] == _look(bucket, column)[..., None, :]
        apart = _look(chunk, row)[..., :, None] - _look(chunk, column)[..., None, :]
        count = count + (same & (apart.abs() <= 1)).int()
    return count


def _real(query: Tensor, key: Tensor, keys: Tensor | None) -> Bool[Tensor, "*batch item"]:
    real = key.new_ones(key.shape[:-1], dtype=torch.bool)
    real = real if keys is None else real & keys
    return torch.cat([query.new_zeros(query.shape[:-1], dtype=torch.bool), real], dim=-1)


def _padded(order: Tensor, size: int) -> Tensor:
    missing = -order.shape[-1] % size
    return torch.nn.functional.pad(order, (0, missing), value=-1).unflatten(-1, (-1, size))


def _with_neighbours(order: Tensor, causal: bool) -> Tensor:
    """Cada trozo con el de antes y, si hace falta, el de después; −1 más allá de los bordes."""
    none = torch.full_like(order[..., :1, :], -1)
    before = torch.cat([none, order[..., :-1, :]], dim=-2)
    if causal:  # el que sigue solo tiene lo que vino después, u otro cubo
        return torch.cat([before, order], dim=-1)
    return torch.cat([before, order, torch.cat([order[..., 1:, :], none], dim=-2)], dim=-1)


def _look(table: Tensor, where: Tensor) -> Tensor:
    """Lo que ``table``, ``(…, item)``, dice de cada uno de ``where``, ``(…, chunk, size)``."""
    return table.gather(-1, where.flatten(-2)).unflatten(-1, where.shape[-2:])


def _rows(x: Tensor, where: Tensor) -> Tensor:
    """Las filas ``where``, (…, k), de ``x``, ``(…, item, d)``."""
    return x.gather(-2, where.unsqueeze(-1).expand(*where.shape, x.shape[-1]))


def _take(x: Tensor, where: Tensor) -> Tensor:
    """Los vectores de cada trozo: ``(…, chunk, size, d)``. Donde no hay nadie, uno cualquiera."""
    found = _rows(x, where.clamp(min=0).flatten(-2))
    return found.unflatten(-2, where.shape[-2:])


@typed(validate=checks.hashed_mask)
def lsh_mask(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    rotations: Float[Tensor, "round d_head half"],
    *,
    chunk: int | None = None,
) -> Bool[Tensor, "*batch query key"]:
    """Qué parejas ve :func:`lsh_attention` en alguna ronda, como tabla, para mirarla.

    Errores: los de :func:`lsh_attention`.
    """
    n, plan = query.shape[-2], _plan(query, key, rotations, chunk)
    same = plan.bucket[..., :n, None] == plan.bucket[..., None, n:]  # (…, round, query, key)
    apart = plan.chunk[..., :n, None] - plan.chunk[..., None, n:]
    return (same & (apart.abs() <= 1)).any(dim=-3)


class LshAttention(EfficientAttention):
    """La multicabeza con :func:`lsh_attention`; los giros se sortean al construir y se quedan.

    Errores: los de :class:`EfficientAttention` y los de :func:`draw_rotations`.
    Fuente: Kitaev et al. (2020), § 2.
    """

    rotations: Tensor

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        buckets: int,
        rounds: int = 1,
        chunk: int | None = None,
        generator: torch.Generator | None = None,
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        checks.chunk(chunk)
        self.buckets, self.rounds, self.chunk = buckets, rounds, chunk
        rotations = draw_rotations(rounds, self.d_head, buckets, generator=generator)
        self.register_buffer("rotations", rotations)

    def redraw(self, generator: torch.Generator | None = None) -> None:
        """Sortea otros giros."""
        new = draw_rotations(self.rounds, self.d_head, self.buckets, generator=generator)
        self.rotations = new.to(self.rotations)

    def scores(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
    ) -> Float[Tensor, "*batch head query key"]:
        """Las puntuaciones de siempre, con ``-inf`` entre quienes no se ven en ninguna ronda."""
        allowed = lsh_mask(query, key, self.rotations, chunk=self.chunk)
        return super().scores(query, key).masked_fill(~allowed, float("-inf"))

    def mix(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
        value: Float[Tensor, "*batch head key d_head"],
        mask: Bool[Tensor, "..."] | None,
        bias: Float[Tensor, "..."] | None,
    ) -> Float[Tensor, "*batch head query d_head"]:
        """Cada consulta, con las claves de sus cubos."""
        causal, keys = read_mask(mask, query.shape[-2], key.shape[-2])
        options = {"causal": causal or self.causal, "keys": keys, "chunk": self.chunk}
        return lsh_attention(query, key, value, self.rotations, **options)
