"""Piso 2: las similitudes, o cuánto se parece cada consulta a cada clave.

Todas reciben consultas ``(…, query, d)`` y claves ``(…, key, d)`` y devuelven puntuaciones
``(…, query, key)``, sin enmascarar ni normalizar. Los ejes de delante deben coincidir: nada se
difunde en silencio. Con cualquiera de ellas, ``softmax`` sobre ``key`` da pesos de atención.
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from atento.shapes import require_axis, require_floating, require_positive, require_same_kind, typed


def require_pair(query: Tensor, key: Tensor, *, same_width: bool = True) -> None:
    """Lanza si ``query`` y ``key`` no son ``(…, posiciones, d)`` del mismo tipo y lotes iguales."""
    for name, tensor in (("query", query), ("key", key)):
        require_floating(tensor, name=name)
        if tensor.ndim < 2:
            raise ValueError(
                f"{name}: se esperaba la forma (…, {name}, d); llegó {tuple(tensor.shape)}."
            )
    require_same_kind(key, query, name="key", reference_name="query")
    if key.shape[:-2] != query.shape[:-2]:
        raise ValueError(
            f"key: los ejes de lote son {tuple(key.shape[:-2])}, pero los de query son "
            f"{tuple(query.shape[:-2])}; deben coincidir."
        )
    if same_width:
        require_axis(key, -1, query.shape[-1], name="key", label="d_head", like="query")


def _parameter(
    value: Tensor, name: str, axes: tuple[str, ...], sizes: tuple[int | None, ...]
) -> None:
    require_floating(value, name=name)
    fits = value.ndim == len(sizes)
    fits = fits and all(s in (None, v) for s, v in zip(sizes, value.shape, strict=True))
    if not fits:
        wanted = ", ".join(a if s is None else f"{a}={s}" for a, s in zip(axes, sizes, strict=True))
        raise ValueError(f"{name}: se esperaba la forma ({wanted}); llegó {tuple(value.shape)}.")


def _check_dot(query=None, key=None) -> None:
    require_pair(query, key)


def _check_scaled_dot(query=None, key=None, *, scale=None) -> None:
    require_pair(query, key)
    if scale is not None:
        require_positive(scale, name="scale")


def _check_bilinear(query=None, key=None, *, weight=None) -> None:
    require_pair(query, key, same_width=False)
    _parameter(weight, "weight", ("d_query", "d_key"), (query.shape[-1], key.shape[-1]))


def _check_additive(query=None, key=None, *, w_q=None, w_k=None, v=None) -> None:
    require_pair(query, key, same_width=False)
    _parameter(w_q, "w_q", ("d_query", "d_hidden"), (query.shape[-1], None))
    _parameter(w_k, "w_k", ("d_key", "d_hidden"), (key.shape[-1], w_q.shape[-1]))
    _parameter(v, "v", ("d_hidden",), (w_q.shape[-1],))


def _check_gaussian(query=None, key=None, *, bandwidth=1.0) -> None:
    require_pair(query, key)
    require_positive(bandwidth, name="bandwidth")


@typed(validate=_check_dot)
def dot(
    query: Float[Tensor, "*batch query d_head"], key: Float[Tensor, "*batch key d_head"]
) -> Float[Tensor, "*batch query key"]:
    """Devuelve el producto escalar de cada consulta con cada clave, ``q · k``.

    Errores: ``TypeError`` o ``ValueError`` si los tensores no son de coma flotante o no casan.
    Fuente: Luong et al. (2015), ec. 8, «dot».
    """
    return query @ key.transpose(-2, -1)  # (…, query, key)


@typed(validate=_check_scaled_dot)
def scaled_dot(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    *,
    scale: float | None = None,
) -> Float[Tensor, "*batch query key"]:
    """Devuelve el producto escalar por ``scale``; sin él, ``q · k / √d``.

    Con componentes independientes de media 0 y varianza 1, las puntuaciones tienen varianza 1.

    Errores: los de :func:`dot`, y ``ValueError`` si ``scale`` no es positivo.
    Fuente: Vaswani et al. (2017), ec. 1.
    """
    if scale is None:
        scale = query.shape[-1] ** -0.5
    return query @ key.transpose(-2, -1) * scale  # (…, query, key)


@typed(validate=_check_bilinear)
def bilinear(
    query: Float[Tensor, "*batch query d_query"],
    key: Float[Tensor, "*batch key d_key"],
    *,
    weight: Float[Tensor, "d_query d_key"],
) -> Float[Tensor, "*batch query key"]:
    """Devuelve la forma bilineal ``q W kᵀ``; consulta y clave pueden medir distinto.

    Errores: ``TypeError`` o ``ValueError`` si ``weight`` no tiene la forma ``(d_query, d_key)``.
    Fuente: Luong et al. (2015), ec. 8, «general».
    """
    return query @ weight @ key.transpose(-2, -1)  # (…, query, key)


@typed(validate=_check_additive)
def additive(
    query: Float[Tensor, "*batch query d_query"],
    key: Float[Tensor, "*batch key d_key"],
    *,
    w_q: Float[Tensor, "d_query d_hidden"],
    w_k: Float[Tensor, "d_key d_hidden"],
    v: Float[Tensor, " d_hidden"],
) -> Float[Tensor, "*batch query key"]:
    """Devuelve la puntuación de la atención aditiva, ``tanh(q W_q + k W_k) · v``.

    Guarda un vector de ``d_hidden`` componentes por cada par: gasta ``query · key · d_hidden``.

    Errores: ``TypeError`` o ``ValueError`` si los parámetros no tienen las formas de la firma.
    Fuente: Bahdanau et al. (2015), § A.1.2 (allí, ``W_a``, ``U_a``, ``v_a`` y columnas).
    """
    query = (query @ w_q).unsqueeze(-2)  # (…, query, 1, d_hidden)
    key = (key @ w_k).unsqueeze(-3)  # (…, 1, key, d_hidden)
    return (query + key).tanh() @ v  # (…, query, key)


@typed(validate=_check_gaussian)
def gaussian(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    *,
    bandwidth: float = 1.0,
) -> Float[Tensor, "*batch query key"]:
    """Devuelve el exponente del núcleo gaussiano, ``-‖q - k‖² / 2h²``.

    Con ``softmax``, da el estimador de Nadaraya-Watson con ancho de banda ``bandwidth`` (en las
    unidades de ``query`` y ``key``). Gasta ``query · key · d_head`` de memoria.

    Errores: los de :func:`dot`, y ``ValueError`` si ``bandwidth`` no es positivo.
    Fuente: Nadaraya (1964) y Watson (1964).
    """
    difference = query.unsqueeze(-2) - key.unsqueeze(-3)  # (…, query, key, d_head)
    return -difference.square().sum(-1) / (2 * bandwidth**2)  # (…, query, key)


_BY_NAME = {f.__name__: f for f in (dot, scaled_dot, bilinear, additive, gaussian)}


def get(name: str) -> Callable[..., Tensor]:
    """Devuelve la similitud que se llama ``name``.

    Errores: ``ValueError`` si no existe ninguna con ese nombre; el mensaje las enumera.
    """
    if name not in _BY_NAME:
        raise ValueError(f"name: se esperaba una de {', '.join(_BY_NAME)}; llegó {name!r}.")
    return _BY_NAME[name]
