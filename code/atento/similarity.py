"""Piso 2: las similitudes, o cuánto se parece cada consulta a cada clave.

Todas reciben consultas ``(…, query, d)`` y claves ``(…, key, d)`` y devuelven puntuaciones
``(…, query, key)``, sin enmascarar ni normalizar. Los ejes de delante deben coincidir: nada se
difunde en silencio. Con cualquiera de ellas, ``softmax`` sobre ``key`` da pesos de atención.
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from atento.checks import similarity as checks
from atento.shapes import typed


@typed(validate=checks.dot)
def dot(
    query: Float[Tensor, "*batch query d_head"], key: Float[Tensor, "*batch key d_head"]
) -> Float[Tensor, "*batch query key"]:
    """Devuelve el producto escalar de cada consulta con cada clave, ``q · k``.

    Errores: ``TypeError`` o ``ValueError`` si los tensores no son de coma flotante o no casan.
    Fuente: Luong et al. (2015), ec. 8, «dot».
    """
    return query @ key.mT  # (…, query, key)


@typed(validate=checks.scaled_dot)
def scaled_dot(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    *,
    scale: float | None = None,
) -> Float[Tensor, "*batch query key"]:
    """Devuelve el producto escalar por ``scale``; sin él, ``q · k / √d``.

    Con componentes independientes de media 0 y varianza 1, las puntuaciones tienen varianza 1. Se
    escala antes del producto, para que en 16 bits no desborde.

    Errores: los de :func:`dot`, y ``ValueError`` si ``scale`` no es positivo.
    Fuente: Vaswani et al. (2017), ec. 1.
    """
    if scale is None:
        scale = query.shape[-1] ** -0.5
    return (query * scale) @ key.mT  # (…, query, key)


@typed(validate=checks.bilinear)
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
    return query @ weight @ key.mT  # (…, query, key)


@typed(validate=checks.additive)
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

    Errores: ``TypeError`` o ``ValueError`` si los parámetros no tienen las formas o el tipo de la
    firma.
    Fuente: Bahdanau et al. (2015), § A.1.2 (allí, ``W_a``, ``U_a``, ``v_a`` y columnas).
    """
    query = (query @ w_q).unsqueeze(-2)  # (…, query, 1, d_hidden)
    key = (key @ w_k).unsqueeze(-3)  # (…, 1, key, d_hidden)
    return (query + key).tanh() @ v  # (…, query, key)


@typed(validate=checks.gaussian)
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
    if not isinstance(name, str) or name not in _BY_NAME:
        raise ValueError(f"name: se esperaba una de {', '.join(_BY_NAME)}; llegó {name!r}.")
    return _BY_NAME[name]
