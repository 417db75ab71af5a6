"""La puerta de :mod:`atento.attention`: tensores, máscara, escala, caché y puntos de extensión."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from atento.amounts import require_divisible, require_positive, require_probability, require_size
from atento.checks.positions import require_places
from atento.checks.similarity import require_pair
from atento.shapes import (
    is_enabled,
    require_axis,
    require_boolean,
    require_broadcastable,
    require_finite,
    require_floating,
    require_same_kind,
)

# --- Una cabeza -----------------------------------------------------------------------------------


def explicit(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
) -> None:
    """Lanza si los argumentos de ``scaled_dot_product_attention`` no casan."""
    if is_enabled() or not _alike(query, key, value):
        _require_inputs(query, key, value)
    if mask is not None:
        _require_mask(mask, (*query.shape[:-1], key.shape[-2]), query, "(…, query, key)")
    if scale is not None:
        require_positive(scale, name="scale")
    require_probability(dropout, name="dropout")


def fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    dropout: float = 0.0,
) -> None:
    """Lanza si los argumentos de ``fused_attention`` no casan."""
    explicit(query, key, value, mask, scale=scale, dropout=dropout)
    if causal and query.shape[-2] > key.shape[-2]:
        raise ValueError(
            "causal: se esperaban como mucho tantas consultas como claves, porque las consultas "
            f"son las últimas posiciones; llegaron {query.shape[-2]} consultas y {key.shape[-2]} "
            "claves."
        )


def normalize(scores: Tensor) -> None:
    """Lanza si ``scores`` no es un tensor de coma flotante."""
    require_floating(scores, name="scores")


def attend(
    scores: Tensor, value: Tensor, mask: Tensor | None = None, *, dropout: float = 0.0
) -> None:
    """Lanza si ``scores``, ``(…, query, key)``, y ``value``, ``(…, key, d_value)``, no casan."""
    for name, tensor in (("scores", scores), ("value", value)):
        require_floating(tensor, name=name)
        if tensor.ndim < 2:
            raise ValueError(
                f"{name}: se esperaban al menos dos ejes; llegó {tuple(tensor.shape)}."
            )
    require_same_kind(value, scores, name="value", reference_name="scores")
    goal = (*scores.shape[:-2], scores.shape[-1])
    if tuple(value.shape[:-1]) != goal:
        raise ValueError(
            f"value: se esperaba un valor por clave, con los ejes (…, key) = {goal}; llegó la "
            f"forma {tuple(value.shape)}."
        )
    if mask is not None:
        _require_mask(mask, scores.shape, scores, "(…, query, key)")
    require_probability(dropout, name="dropout")


def _alike(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Dice, casi sin coste, que los tres tienen la misma forma y el mismo tipo y casan."""
    return (
        isinstance(query, Tensor)
        and isinstance(key, Tensor)
        and isinstance(value, Tensor)
        and query.shape == key.shape == value.shape
        and query.dtype == key.dtype == value.dtype
        and query.device == key.device == value.device
        and query.ndim >= 2
        and query.is_floating_point()
    )


def _require_inputs(query: Tensor, key: Tensor, value: Tensor) -> None:
    require_pair(query, key)
    if is_enabled():  # mirar el contenido cuesta una pasada
        require_finite(query, name="query")
    _require_pairs(key, value, seen=key is query)


def _require_pairs(key: Tensor, value: Tensor, *, seen: bool = False) -> None:
    """Lanza si no hay un valor por clave; ``key`` es de coma flotante, y ``seen`` si ya se miró."""
    require_floating(value, name="value")
    require_same_kind(value, key, name="value", reference_name="key")
    if value.shape[:-1] != key.shape[:-1]:
        raise ValueError(
            "value: se esperaba un valor por clave, con los ejes (…, key) = "
            f"{tuple(key.shape[:-1])}; llegó la forma {tuple(value.shape)}."
        )
    if is_enabled():
        if not seen:
            require_finite(key, name="key")
        if value is not key:
            require_finite(value, name="value")


def _require_mask(mask: Tensor, goal: tuple[int, ...], like: Tensor, axes: str) -> None:
    require_boolean(mask, name="mask")
    if mask.shape != goal[-2:]:  # lo más común: una sola máscara (query, key)
        require_broadcastable(mask, goal, name="mask", axes=axes)
    if mask.device != like.device:
        raise ValueError(
            f"mask: se esperaba en {like.device}, como query; está en {mask.device}. Muévela con "
            "mask.to(query.device)."
        )


# --- Varias cabezas -------------------------------------------------------------------------------


def module(
    self: Any,
    d_model: int,
    n_heads: int,
    *,
    n_kv_heads: int | None = None,
    bias: bool = True,
    dropout: float = 0.0,
    rotary: Callable | None = None,
    score_bias: Callable | None = None,
) -> None:
    """Lanza si ``MultiHeadAttention`` no puede construirse con esos números."""
    require_size(d_model, name="d_model")
    require_size(n_heads, name="n_heads")
    require_divisible(d_model, n_heads, name="d_model", divisor_name="n_heads")
    if n_kv_heads is not None:
        require_size(n_kv_heads, name="n_kv_heads")
        require_divisible(n_heads, n_kv_heads, name="n_heads", divisor_name="n_kv_heads")
    require_probability(dropout, name="dropout")
    for name, function in (("rotary", rotary), ("score_bias", score_bias)):
        if function is not None and not callable(function):
            raise TypeError(
                f"{name}: se esperaba una función o un módulo; llegó {type(function).__name__}."
            )


def forward(
    self: Any,
    query: Tensor,
    key: Any = None,
    value: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    need_weights: bool = False,
    cache: Any | None = None,
    positions: Tensor | None = None,
    key_positions: Tensor | None = None,
) -> None:
    """Lanza si los argumentos de ``MultiHeadAttention.forward`` no casan con el módulo."""
    alone = key is None
    if key is None and value is not None:
        raise ValueError("value: llegó value sin key; da también key, o ninguno de los dos.")
    if hasattr(key, "key"):  # una memoria ya proyectada
        _require_memory(self, query, key, value, cache)
        key = key.key
    else:
        key = query if key is None else key
        _require_states(self, query, key, key if value is None else value)
    if cache is not None and not hasattr(cache, "joined"):
        raise TypeError(f"cache: se esperaba un KVCache; llegó {type(cache).__name__}.")
    stored = 0 if cache is None else len(cache)
    n_keys = stored + key.shape[-2]
    if positions is not None or key_positions is not None:
        _require_positions(self, query, positions, key_positions, n_keys, alone and stored > 0)
    if mask is not None:
        goal = (*query.shape[:-2], self.n_heads, query.shape[-2], n_keys)
        _require_head_mask(mask, query, goal)


def remember(
    self: Any,
    key: Tensor,
    value: Tensor | None = None,
    *,
    key_positions: Tensor | None = None,
) -> None:
    """Lanza si ``key``, ``value``, ``(…, key, d_model)``, y las posiciones no casan."""
    require_floating(key, name="key")
    if key.ndim < 2:
        raise ValueError(f"key: se esperaba la forma (…, key, d); llegó {tuple(key.shape)}.")
    value = key if value is None else value
    _require_pairs(key, value)
    _require_width(self, key=key, value=value)
    if key_positions is not None:
        n = key.shape[-2]
        require_places(key_positions, tuple(key.shape[:-2]), n, key, "key_positions")


def _require_states(self: Any, query: Tensor, key: Tensor, value: Tensor) -> None:
    if is_enabled() or not _alike(query, key, value):
        _require_inputs(query, key, value)
    _require_width(self, query=query, key=key, value=value)


def _require_memory(
    self: Any, query: Tensor, memory: Any, value: Tensor | None, cache: Any | None
) -> None:
    for name, extra in (("value", value), ("cache", cache)):
        if extra is not None:
            raise ValueError(
                f"{name}: no se esperaba, porque key es una memoria ya proyectada, que no crece; "
                f"llegó {type(extra).__name__}."
            )
    require_floating(query, name="query")
    if query.ndim < 2:
        raise ValueError(f"query: se esperaba la forma (…, query, d); llegó {tuple(query.shape)}.")
    _require_width(self, query=query)
    goal = (*query.shape[:-2], self.n_kv_heads, memory.key.shape[-2], self.d_head)
    for tensor in memory:
        if tuple(tensor.shape) != goal:
            raise ValueError(
                f"key: se esperaba una memoria (…, head, key, d_head) = {goal}, según query y el "
                f"constructor; llegó {tuple(tensor.shape)}."
            )
    require_same_kind(memory.key, query, name="key", reference_name="query")


def _require_width(self: Any, **states: Tensor) -> None:
    for name, tensor in states.items():
        require_axis(tensor, -1, self.d_model, name=name, label="d_model", like="el constructor")
    weight = getattr(self.project_query, "weight", None)  # una proyección envuelta puede no tenerlo
    if isinstance(weight, Tensor) and weight.is_floating_point():
        name, first = next(iter(states.items()))  # los demás ya son como él
        require_same_kind(first, weight, name=name, reference_name="project_query.weight")


def _require_positions(
    self: Any,
    query: Tensor,
    positions: Tensor | None,
    key_positions: Tensor | None,
    n_keys: int,
    grown: bool,
) -> None:
    batch = tuple(query.shape[:-2])
    if positions is not None:
        require_places(positions, batch, query.shape[-2], query, "positions")
    if key_positions is not None:
        require_places(key_positions, batch, n_keys, query, "key_positions")
    elif grown and self.score_bias is not None:
        raise ValueError(
            f"key_positions: se esperaban las posiciones de las {n_keys} claves, guardadas y "
            f"nuevas, porque la caché no guarda dónde estaban y score_bias las necesita; no llegó."
        )


def _require_head_mask(mask: Tensor, query: Tensor, goal: tuple[int, ...]) -> None:
    _require_mask(mask, goal, query, "(…, head, query, key)")
    if 2 < mask.ndim < len(goal) and mask.shape[0] != 1:
        raise ValueError(
            f"mask: se esperaba el eje «head» y llegó {tuple(mask.shape)}: su primer eje se leería "
            f"como cabezas, no como lote. Usa mask[:, None] para llegar hasta {goal}."
        )


def require_scores(scores: Tensor, goal: tuple[int, ...], *, name: str) -> None:
    """Lanza ``ValueError`` si lo que devolvió una variante no es ``(…, head, query, key)``."""
    require_floating(scores, name=name)
    if tuple(scores.shape) != goal:
        raise ValueError(
            f"{name}: se esperaba que devolviera (…, head, query, key) = {goal}; devolvió "
            f"{tuple(scores.shape)}."
        )


def require_bias(bias: Tensor, goal: tuple[int, ...], like: Tensor, *, name: str) -> None:
    """Lanza si ``bias`` no es flotante o no se difunde hasta ``(…, head, query, key)``."""
    require_floating(bias, name=name)
    require_broadcastable(bias, goal, name=name, axes="(…, head, query, key)")
    if bias.device != like.device:
        raise ValueError(
            f"{name}: se esperaba en {like.device}, como query; está en {bias.device}."
        )


def require_turned(turned: Tensor, x: Tensor, *, name: str) -> None:
    """Lanza ``ValueError`` si girar ``x`` ha cambiado su forma, ``(…, head, n, d_head)``."""
    require_floating(turned, name=name)
    if turned.shape != x.shape:
        raise ValueError(
            f"{name}: se esperaba que devolviera la forma que recibe, {tuple(x.shape)}; devolvió "
            f"{tuple(turned.shape)}."
        )
