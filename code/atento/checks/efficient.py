"""La puerta de :mod:`atento.efficient`: tensores que casan, tamaños, y qué atención se cambia."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from atento.amounts import require_kind, require_size
from atento.checks.attention import explicit
from atento.shapes import (
    require_axis,
    require_boolean,
    require_broadcastable,
    require_floating,
    require_same_kind,
)

# --- Cambiar una por otra -------------------------------------------------------------------------


def substitute(self: Any, causal: bool) -> None:
    """Lanza si ``causal`` no es un sí o un no, o hay un sesgo que la variante no puede usar."""
    require_kind(causal, bool, name="causal", wanted="True o False")
    if self.score_bias is not None and not self.takes_bias:
        raise ValueError(
            f"score_bias: {type(self).__name__} no forma la tabla (query, key) y no puede sumarle "
            f"un sesgo; llegó {type(self.score_bias).__name__}."
        )


def like(attention: Any) -> None:
    """Lanza si ``attention`` no es una multicabeza corriente, de las que se pueden cambiar."""
    if not hasattr(attention, "project_query") or not hasattr(attention, "d_head"):
        raise TypeError(
            f"attention: se esperaba una MultiHeadAttention; llegó {type(attention).__name__}."
        )
    own = hasattr(attention, "mix") or attention._can_fuse()
    if not own or attention.d_head * attention.n_heads != attention.d_model:
        raise ValueError(
            "attention: se esperaba una que puntúe con el producto escalar y cuyas cabezas midan "
            f"d_model / n_heads; llegó {type(attention).__name__}."
        )


def mixing(self: Any) -> None:
    """Lanza si se entrena con dropout en unos pesos que no se forman."""
    if self.training and self.dropout:
        raise ValueError(
            f"dropout: {type(self).__name__} no forma los pesos y no puede quitar algunos; se "
            f"esperaba 0 al entrenar, y llegó {self.dropout}."
        )


def replace(model: nn.Module, kind: Any, *, within: str = "", **options: Any) -> None:
    """Lanza ``TypeError`` si ``model`` no es un módulo o ``kind`` no es una clase de estas."""
    require_kind(model, nn.Module, name="model", wanted="un nn.Module")
    require_kind(within, str, name="within", wanted="el nombre de una parte del modelo")
    if not (isinstance(kind, type) and hasattr(kind, "like")):
        raise TypeError(f"kind: se esperaba una de las clases de atento.efficient; llegó {kind!r}.")


def require_some(found: Sequence[str], within: str) -> None:
    """Lanza ``ValueError`` si no hay ninguna atención que cambiar."""
    if not found:
        where = f" en «{within}»" if within else ""
        raise ValueError(f"model: se esperaba alguna MultiHeadAttention{where}; no hay ninguna.")


def past(n_queries: int, n_keys: int) -> None:
    """Lanza si no son tamaños, o hay más consultas que claves."""
    require_size(n_queries, name="n_queries", least=0)
    require_size(n_keys, name="n_keys", least=0)
    if n_queries > n_keys:
        raise ValueError(
            "n_queries: se esperaban como mucho tantas consultas como claves, porque son las "
            f"últimas posiciones; llegaron {n_queries} consultas y {n_keys} claves."
        )


def reading(mask: Tensor | None, n_queries: int, n_keys: int) -> None:
    """Lanza si ``mask`` no es booleana o no se difunde hasta (…, query, key)."""
    require_size(n_queries, name="n_queries")
    require_size(n_keys, name="n_keys")
    if mask is not None:
        require_boolean(mask, name="mask")
        goal = (*mask.shape[:-2], n_queries, n_keys)
        require_broadcastable(mask, goal, name="mask", axes="(…, query, key)")


# --- Tamaños --------------------------------------------------------------------------------------


def pieces(n: int, block: int) -> None:
    """Lanza si ``n`` no es un entero o ``block`` no es positivo."""
    require_size(n, name="n", least=0)
    require_size(block, name="block")


def sizes(n: int, d: int, keys: int | None, **others: int) -> int:
    """Devuelve cuántas claves hay; lanza si algún tamaño no es un entero positivo."""
    m = n if keys is None else keys
    for name, value in {"n": n, "d": d, "keys": m, **others}.items():
        require_size(value, name=name)
    return m


def window(window: int, global_at: Sequence[int]) -> None:
    """Lanza si ``window`` no es un entero, 0 o más, o ``global_at`` no son posiciones distintas."""
    require_size(window, name="window", least=0)
    for place in global_at:
        require_size(place, name="global_at", least=0)
    if len(set(global_at)) != len(global_at):
        raise ValueError(f"global_at: se esperaban posiciones distintas; llegó {[*global_at]}.")


def chunk(chunk: int | None) -> None:
    """Lanza si ``chunk`` no es un entero positivo ni ``None``."""
    _require_chunk(chunk)


def _require_chunk(chunk: int | None) -> None:
    if chunk is not None:
        require_size(chunk, name="chunk")


def pooling(n: int, rank: int) -> None:
    """Lanza si no son enteros positivos o ``rank`` pasa de ``n``."""
    require_size(n, name="n")
    require_size(rank, name="rank")
    if rank > n:
        raise ValueError(f"rank: se esperaban como mucho tantos grupos como n = {n}; llegó {rank}.")


def short(self: Any, max_len: int, rank: int) -> None:
    """Lanza si ``max_len`` no es positivo o se pide causal; ``rank`` lo mira ``mean_pooling``."""
    require_size(max_len, name="max_len")
    if self.causal:
        _not_causal("True")


def shortened(self: Any, n: int, causal: bool) -> None:
    """Lanza si hay más claves que columnas o la máscara es causal."""
    if n > self.max_len:
        raise ValueError(f"key: se esperaban como mucho max_len = {self.max_len}; llegaron {n}.")
    if causal:
        _not_causal("una máscara causal")


def _not_causal(came: str) -> None:
    raise ValueError(
        "causal: se esperaba False, porque en Linformer cada mezcla tiene de todas las posiciones, "
        f"también de las que siguen; llegó {came}."
    )


# --- Tensores -------------------------------------------------------------------------------------


def _three(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    causal: bool,
    scale: Any = None,
    mask: Tensor | None = None,
) -> None:
    explicit(query, key, value, mask, scale=scale)
    if query.shape[-2] == 0 or key.shape[-2] == 0:
        raise ValueError("query: se esperaba alguna consulta y alguna clave; no llegó ninguna.")
    if causal:
        past(query.shape[-2], key.shape[-2])


def _require_bias(bias: Tensor | None, query: Tensor, key: Tensor) -> None:
    if bias is not None:
        require_floating(bias, name="bias")
        goal = (*query.shape[:-1], key.shape[-2])
        require_broadcastable(bias, goal, name="bias", axes="(…, query, key)")


def _require_keys(keys: Tensor | None, key: Tensor) -> None:
    if keys is not None:
        require_boolean(keys, name="keys")
        require_broadcastable(keys, key.shape[:-1], name="keys", axes="(…, key)")


def online(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    bias: Tensor | None = None,
    block: int = 64,
) -> None:
    """Lanza si los argumentos de ``online_attention`` no casan."""
    _three(query, key, value, causal, scale, mask)
    _require_bias(bias, query, key)  # block lo mira blocks


def window_mask(
    n_queries: int,
    n_keys: int,
    window: int,
    *,
    causal: bool = False,
    global_at: Sequence[int] = (),
    device: torch.device | str | None = None,
) -> None:
    """Lanza si los tamaños no casan o las globales no son posiciones de las claves."""
    past(n_queries, n_keys)
    _require_window(window, global_at, n_keys)


def _require_window(size: int, global_at: Sequence[int], n_keys: int) -> None:
    window(size, global_at)
    if global_at and max(global_at) >= n_keys:
        raise ValueError(
            f"global_at: se esperaban posiciones menores que {n_keys}; llegó {max(global_at)}."
        )


def windowed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    window: int,
    causal: bool = False,
    global_at: Sequence[int] = (),
    scale: float | None = None,
    bias: Tensor | None = None,
    block: int | None = None,
) -> None:
    """Lanza si los argumentos de ``window_attention`` no casan."""
    _three(query, key, value, True, scale, mask)
    _require_bias(bias, query, key)
    if block is not None:
        require_size(block, name="block")
    _require_window(window, global_at, key.shape[-2])


def rotations(
    rounds: int, d_head: int, buckets: int, *, generator: torch.Generator | None = None
) -> None:
    """Lanza si no son enteros positivos o ``buckets`` no es 1 ni par."""
    for name, value in (("rounds", rounds), ("d_head", d_head), ("buckets", buckets)):
        require_size(value, name=name)
    if buckets != 1 and buckets % 2:
        raise ValueError(f"buckets: se esperaba 1 o un número par; llegó {buckets}.")


def buckets(x: Tensor, rotations: Tensor) -> None:
    """Lanza si ``x`` no es (…, n, d_head) o los giros no son ``(round, d_head, half)``."""
    features(x)
    require_floating(rotations, name="rotations")
    if rotations.ndim != 3 or len(rotations) == 0:
        raise ValueError(
            "rotations: se esperaban tres ejes, con alguna ronda y d_head en medio; llegó "
            f"{tuple(rotations.shape)}."
        )
    require_axis(rotations, 1, x.shape[-1], name="rotations", label="d_head", like="x")
    require_same_kind(rotations, x, name="rotations", reference_name="x")


def hashed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    rotations: Tensor,
    *,
    causal: bool = False,
    keys: Tensor | None = None,
    chunk: int | None = None,
    scale: float | None = None,
) -> None:
    """Lanza si los argumentos de ``lsh_attention`` no casan."""
    _three(query, key, value, True, scale)
    _require_chunk(chunk)  # los giros los mira lsh_buckets
    _require_keys(keys, key)


def hashed_mask(query: Tensor, key: Tensor, rotations: Tensor, *, chunk: int | None = None) -> None:
    """Lanza si los argumentos de ``lsh_mask`` no casan."""
    _three(query, key, key, True)
    _require_chunk(chunk)


def features(x: Tensor) -> None:
    """Lanza si ``x`` no es (…, n, d_head) de coma flotante."""
    require_floating(x, name="x")
    if x.ndim < 2:
        raise ValueError(f"x: se esperaba la forma (…, n, d_head); llegó {tuple(x.shape)}.")


def linear(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    causal: bool = False,
    keys: Tensor | None = None,
    block: int = 64,
) -> None:
    """Lanza si los argumentos de ``linear_attention`` no casan."""
    _three(query, key, value, causal)
    _require_keys(keys, key)
    require_size(block, name="block")


def linear_step(query: Tensor, key: Tensor, value: Tensor, state: Any = None) -> None:
    """Lanza si los argumentos de ``linear_step`` no casan."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        require_floating(tensor, name=name)
    if key.shape != query.shape:
        raise ValueError(
            f"key: se esperaba la forma de query, {tuple(query.shape)}; llegó {tuple(key.shape)}."
        )
    if value.shape[:-1] != key.shape[:-1]:
        raise ValueError(
            f"value: se esperaban los ejes de lote de key, {tuple(key.shape[:-1])}; llegó "
            f"{tuple(value.shape)}."
        )
    if state is not None:
        require_kind(state, tuple, name="state", wanted="el LinearState del paso anterior")


def directions(
    features: int,
    d_head: int,
    *,
    orthogonal: bool = True,
    generator: torch.Generator | None = None,
) -> None:
    """Lanza si los tamaños no son enteros positivos."""
    require_size(features, name="features")
    require_size(d_head, name="d_head")


def positive(x: Tensor, directions: Tensor) -> None:
    """Lanza si ``x`` no es (…, n, d_head) o las direcciones no son ``(feature, d_head)``."""
    features(x)
    require_floating(directions, name="directions")
    if directions.ndim != 2:
        raise ValueError(
            "directions: se esperaban dos ejes, con d_head al final; llegó "
            f"{tuple(directions.shape)}."
        )
    require_axis(directions, 1, x.shape[-1], name="directions", label="d_head", like="x")
    require_same_kind(directions, x, name="directions", reference_name="x")


def linformer(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    shorten_key: Tensor,
    shorten_value: Tensor,
    *,
    keys: Tensor | None = None,
    scale: float | None = None,
) -> None:
    """Lanza si los argumentos de ``linformer_attention`` no casan."""
    _three(query, key, value, False, scale)
    _require_keys(keys, key)
    for name, mix in (("shorten_key", shorten_key), ("shorten_value", shorten_value)):
        require_floating(mix, name=name)
        if mix.ndim != 2 or mix.shape != (shorten_key.shape[0], key.shape[-2]):
            raise ValueError(
                f"{name}: se esperaba (rank, key), con {key.shape[-2]} claves; llegó "
                f"{tuple(mix.shape)}."
            )


def counted(function: Callable) -> None:
    """Lanza ``TypeError`` si ``function`` no se puede llamar."""
    if not callable(function):
        raise TypeError(f"function: se esperaba una función; llegó {type(function).__name__}.")
