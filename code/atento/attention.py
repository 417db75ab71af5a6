"""Piso 3: la atención.

Los pasos se llaman igual en todo el libro: proyectar → repartir en cabezas → puntuar → escalar →
enmascarar → normalizar → promediar → unir. Hay dos formas con la misma respuesta: la explícita, que
devuelve los pesos para mirarlos, y la fusionada, que no los guarda y es más rápida.

Las máscaras son booleanas, con ``True`` donde se puede atender, y se difunden hasta
``(…, query, key)``. Una consulta que no puede atender a ninguna clave recibe pesos 0 y salida 0,
sin NaN hacia delante ni hacia atrás: así responde ``F.scaled_dot_product_attention`` desde PyTorch
2.5, mientras que ``nn.MultiheadAttention`` devuelve NaN.
"""

from functools import partial

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn

from atento import masks, shapes, similarity
from atento.shapes import typed

# --- La puerta: qué se acepta ---------------------------------------------------------------------


def _require_mask(
    mask: Tensor | None, scores_shape: tuple[int, ...], like: Tensor, axes: str
) -> None:
    if mask is None:
        return
    shapes.require_boolean(mask, name="mask")
    shapes.require_broadcastable(mask, scores_shape, name="mask", axes=axes)
    if mask.device != like.device:
        raise ValueError(
            f"mask: está en {mask.device} y query en {like.device}; muévela con "
            f"mask.to(query.device)."
        )


def _require_inputs(query, key, value, mask, scale, dropout) -> None:
    similarity.require_pair(query, key)
    shapes.require_floating(value, name="value")
    shapes.require_same_kind(value, key, name="value", reference_name="key")
    if value.shape[:-1] != key.shape[:-1]:
        raise ValueError(
            f"value: se esperaba un valor por clave, con los ejes (…, key) = "
            f"{tuple(key.shape[:-1])}; llegó la forma {tuple(value.shape)}."
        )
    _require_mask(mask, (*query.shape[:-1], key.shape[-2]), query, "(…, query, key)")
    if scale is not None:
        shapes.require_positive(scale, name="scale")
    shapes.require_probability(dropout, name="dropout")


def _require_finite(query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        shapes.require_finite(tensor, name=name)


def _check_scores(scores=None) -> None:
    shapes.require_floating(scores, name="scores")


def _check_explicit(
    query=None, key=None, value=None, mask=None, *, scale=None, dropout=0.0
) -> None:
    _require_inputs(query, key, value, mask, scale, dropout)
    _require_finite(query, key, value)


def _check_fused(
    query=None, key=None, value=None, mask=None, *, causal=False, scale=None, dropout=0.0
) -> None:
    _require_inputs(query, key, value, mask, scale, dropout)
    if shapes.is_enabled():  # mirar el contenido cuesta una pasada
        _require_finite(query, key, value)
    if causal and query.shape[-2] > key.shape[-2]:
        raise ValueError(
            f"causal: las consultas son las últimas posiciones de las claves, así que no puede "
            f"haber más consultas ({query.shape[-2]}) que claves ({key.shape[-2]})."
        )


def _check_forward(
    module, query=None, key=None, value=None, mask=None, *, need_weights=False, cache=None
) -> None:
    if key is None and value is not None:
        raise ValueError("value: llegó value sin key; da también key, o ninguno de los dos.")
    key = query if key is None else key
    value = key if value is None else value
    _require_inputs(query, key, value, None, None, 0.0)
    _require_module_inputs(module, query, key, value)
    if cache is not None and not isinstance(cache, KVCache):
        raise TypeError(f"cache: se esperaba un KVCache; llegó {type(cache).__name__}.")
    n_keys = key.shape[-2] + (0 if cache is None else len(cache))
    _require_head_mask(mask, query, (*query.shape[:-2], module.n_heads, query.shape[-2], n_keys))
    if need_weights or shapes.is_enabled():
        _require_finite(query, key, value)


def _require_module_inputs(module, query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        shapes.require_axis(
            tensor, -1, module.d_model, name=name, label="d_model", like="el constructor"
        )
    if not torch.is_autocast_enabled(query.device.type):
        weight = module.project_query.weight
        shapes.require_same_kind(query, weight, name="query", reference_name="project_query.weight")


def _require_head_mask(mask: Tensor | None, query: Tensor, goal: tuple[int, ...]) -> None:
    _require_mask(mask, goal, query, "(…, head, query, key)")
    if mask is not None and 2 < mask.ndim < len(goal) and mask.shape[0] != 1:
        raise ValueError(
            f"mask: le falta el eje «head»: llegó {tuple(mask.shape)} y su primer eje se leería "
            f"como cabezas, no como lote. Usa mask[:, None] para llegar hasta {goal}."
        )


# --- Una cabeza -----------------------------------------------------------------------------------


@typed(validate=_check_scores)
def normalize(scores: Float[Tensor, "*batch query key"]) -> Float[Tensor, "*batch query key"]:
    """Devuelve los pesos: softmax sobre ``key``, o 0 en las filas donde todo es ``-inf``.

    En esas filas softmax daría 0/0 = NaN, también en el gradiente; aquí los dos valen 0.

    Errores: ``TypeError`` si ``scores`` no es un tensor de coma flotante.
    """
    weights = scores.softmax(dim=-1)
    if shapes.is_readable(weights) and not weights[..., :1].isnan().any():
        return weights
    alone = (scores == float("-inf")).all(dim=-1, keepdim=True)  # consultas sin ninguna clave
    return scores.masked_fill(alone, 0.0).softmax(dim=-1).masked_fill(alone, 0.0)


@typed(validate=_check_explicit)
def scaled_dot_product_attention(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    value: Float[Tensor, "*batch key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch query d_value"], Float[Tensor, "*batch query key"]]:
    """Calcula la atención por producto escalar escalado y devuelve ``(output, weights)``.

    Formas: las de la firma; ``mask`` es booleana y se difunde hasta ``(…, query, key)``. ``scale``
    es, si no se da, ``1 / √d_head``. ``dropout`` se aplica siempre que no sea 0, a los pesos con
    los que se promedia; los que se devuelven son los de antes, que suman 1 (o 0 en una fila tapada
    entera).

    Errores: ``TypeError`` por el tipo (enteros, máscara no booleana) y ``ValueError`` por la
    forma, o si hay NaN o infinitos; el mensaje nombra el argumento.
    Fuente: Vaswani et al. (2017), ec. 1.
    """
    if scale is None:
        scale = query.shape[-1] ** -0.5
    scores = query @ key.transpose(-2, -1)  # puntuar: (…, query, key)
    scores = scores * scale  # escalar
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))  # enmascarar
    weights = normalize(scores)  # normalizar: cada fila suma 1
    output = F.dropout(weights, dropout) @ value  # promediar: (…, query, d_value)
    return output, weights


@typed(validate=_check_fused)
def fused_attention(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    value: Float[Tensor, "*batch key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*batch query d_value"]:
    """Calcula lo mismo con el núcleo fusionado de PyTorch, sin guardar los pesos.

    ``causal=True`` añade la máscara causal con las consultas al final de las claves, como pide la
    caché (``F.scaled_dot_product_attention`` las pone al principio; con tantas consultas como
    claves es igual). Lo demás, como en :func:`scaled_dot_product_attention`.

    Errores: los mismos; los NaN solo se buscan con la comprobación de formas encendida.
    Fuente: Dao et al. (2022), algoritmo 1 (FlashAttention), cuando el dispositivo lo tiene.
    """
    square = query.shape[-2] == key.shape[-2]
    if causal and not (square and mask is None):
        mask = masks.combine(_causal_rows(query, key), mask)
        causal = False
    fused = partial(
        F.scaled_dot_product_attention, is_causal=causal, scale=scale, dropout_p=dropout
    )
    if mask is None:
        return fused(query, key, value)
    mask = mask if mask.ndim >= 2 else torch.atleast_2d(mask)  # PyTorch pide dos ejes
    if query.device.type == "cpu":
        return fused(query, key, value, attn_mask=mask)
    alone = ~mask.any(dim=-1, keepdim=True)  # no todos los núcleos de GPU dan 0 a estas consultas
    return fused(query, key, value, attn_mask=mask | alone).masked_fill(alone, 0.0)


def _causal_rows(query: Tensor, key: Tensor) -> Bool[Tensor, "query key"]:
    """Las últimas filas de la máscara causal: las de las consultas nuevas."""
    n_queries, n_keys = query.shape[-2], key.shape[-2]
    return masks.causal_mask(n_keys, device=query.device)[n_keys - n_queries :]  # (query, key)


# --- Varias cabezas -------------------------------------------------------------------------------


class KVCache:
    """Guarda las claves y los valores ya proyectados, para no repetirlos al generar.

    Cada llamada a :meth:`append` añade posiciones nuevas al final; sirve para una sola capa y una
    sola secuencia (o lote). ``len(cache)`` es el número de posiciones guardadas.
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None  # (…, head, key, d_head)
        self.value: Tensor | None = None  # (…, head, key, d_head)

    def __len__(self) -> int:
        return 0 if self.key is None else self.key.shape[-2]

    def append(
        self, key: Float[Tensor, "*batch new d_head"], value: Float[Tensor, "*batch new d_head"]
    ) -> tuple[Float[Tensor, "*batch key d_head"], Float[Tensor, "*batch key d_head"]]:
        """Añade claves y valores, y devuelve todos los que hay.

        Errores: ``ValueError`` si el lote, las cabezas o la anchura no son los de la caché;
        ``TypeError`` si no lo es el tipo de datos.
        """
        if self.key is not None:
            _require_like(key, self.key, "key")
            _require_like(value, self.value, "value")
            key = torch.cat([self.key, key], dim=-2)  # (…, head, key, d_head)
            value = torch.cat([self.value, value], dim=-2)  # (…, head, key, d_head)
        self.key, self.value = key, value
        return key, value

    def reset(self) -> None:
        """Vacía la caché, para empezar otra secuencia."""
        self.key = self.value = None


def _require_like(new: Tensor, stored: Tensor, name: str) -> None:
    shapes.require_same_kind(new, stored, name=f"{name} (nuevo)", reference_name="cache")
    old, came = tuple(stored.shape), tuple(new.shape)
    if (*old[:-2], old[-1]) != (*came[:-2], came[-1]):
        raise ValueError(
            f"cache: guarda {name} de forma {old} y llega de forma {came}; solo puede cambiar el "
            f"penúltimo eje. Para otra secuencia, usa una caché nueva o cache.reset()."
        )


class MultiHeadAttention(nn.Module):
    """Atención multicabeza: ``n_heads`` atenciones de anchura ``d_model / n_heads``, en paralelo.

    ``scores`` es el punto de extensión de todas las variantes. Diferencias con
    ``nn.MultiheadAttention``: el lote va delante, ``True`` en la máscara permite atender, los
    pesos se devuelven por cabeza y sin dropout, y solo si se piden.

    Errores: ``TypeError`` o ``ValueError`` si ``d_model`` o ``n_heads`` no son enteros positivos,
    si ``d_model`` no es múltiplo de ``n_heads`` o si ``dropout`` no está en [0, 1).
    Fuente: Vaswani et al. (2017), § 3.2.2.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, dropout: float = 0.0
    ) -> None:
        shapes.require_size(d_model, name="d_model")
        shapes.require_size(n_heads, name="n_heads")
        shapes.require_divisible(d_model, n_heads, name="d_model", divisor_name="n_heads")
        shapes.require_probability(dropout, name="dropout")
        super().__init__()
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_model // n_heads
        self.dropout = dropout
        self.project_query = nn.Linear(d_model, d_model, bias=bias)
        self.project_key = nn.Linear(d_model, d_model, bias=bias)
        self.project_value = nn.Linear(d_model, d_model, bias=bias)
        self.project_output = nn.Linear(d_model, d_model, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos (Glorot y Bengio, 2010, ec. 16) y pone los sesgos a 0."""
        projections = (self.project_query, self.project_key, self.project_value)
        for linear in (*projections, self.project_output):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def scores(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
    ) -> Float[Tensor, "*batch head query key"]:
        """Puntúa cada clave para cada consulta, ya escalado y antes de enmascarar.

        Una variante redefine este método; entonces se usa siempre la forma explícita. Un ``-inf``
        prohíbe la pareja, igual que la máscara.
        """
        return similarity.scaled_dot(query, key)  # puntuar y escalar: (…, head, query, key)

    @typed(validate=_check_forward)
    def forward(
        self,
        query: Float[Tensor, "*batch query d_model"],
        key: Float[Tensor, "*batch key d_model"] | None = None,
        value: Float[Tensor, "*batch key d_model"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        need_weights: bool = False,
        cache: KVCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Devuelve siempre la pareja ``(output, weights)``.

        ``output`` es ``(…, query, d_model)``; ``weights`` es ``(…, head, query, key)`` con
        ``need_weights=True`` y ``None`` sin él. Sin ``key``, autoatención; sin ``value``, los
        valores salen de ``key``. Con ``cache``, las claves y los valores de esta llamada se añaden
        a los guardados, y el eje ``key`` los cuenta todos. ``mask`` se difunde hasta
        ``(…, head, query, key)``.

        Errores: los de :func:`scaled_dot_product_attention`, y ``ValueError`` si llega ``value``
        sin ``key`` o una máscara a la que le falta el eje ``head``. Los NaN se buscan con
        ``need_weights=True`` o con la comprobación de formas encendida.
        """
        key = query if key is None else key
        value = key if value is None else value
        query = self._split(self.project_query(query))  # proyectar y repartir en cabezas
        key = self._split(self.project_key(key))  # (…, head, key, d_head)
        value = self._split(self.project_value(value))  # (…, head, key, d_head)
        if cache is not None:
            key, value = cache.append(key, value)
        output, weights = self._attend(query, key, value, mask, need_weights)
        output = rearrange(output, "... head query d_head -> ... query (head d_head)")  # unir
        return self.project_output(output), weights

    def _split(self, x: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch head n d_head"]:
        return rearrange(x, "... n (head d_head) -> ... head n d_head", head=self.n_heads)

    def _attend(self, query, key, value, mask, need_weights) -> tuple[Tensor, Tensor | None]:
        dropout = self.dropout if self.training else 0.0
        inherited = type(self).scores is MultiHeadAttention.scores and "scores" not in vars(self)
        if inherited and not need_weights:
            return fused_attention(query, key, value, mask, dropout=dropout), None
        scores = self.scores(query, key)  # puntuar y escalar: (…, head, query, key)
        self._require_scores(scores, query, key)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))  # enmascarar
        weights = normalize(scores)  # normalizar: cada fila suma 1
        output = F.dropout(weights, dropout) @ value  # promediar: (…, head, query, d_head)
        return output, weights if need_weights else None

    def _require_scores(self, scores: Tensor, query: Tensor, key: Tensor) -> None:
        goal = (*query.shape[:-1], key.shape[-2])
        if tuple(scores.shape) != goal:
            raise ValueError(
                f"scores: {type(self).__name__}.scores debe devolver "
                f"(…, head, query, key) = {goal}; devolvió {tuple(scores.shape)}."
            )

    def extra_repr(self) -> str:
        return f"d_model={self.d_model}, n_heads={self.n_heads}, dropout={self.dropout}"
