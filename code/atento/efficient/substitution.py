"""Cambiar la atención de un modelo por otra, con los mismos pesos."""

import copy
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.checks import efficient as checks
from atento.shapes import typed


class EfficientAttention(MultiHeadAttention):
    """Una :class:`~atento.attention.MultiHeadAttention` que promedia de otra manera.

    Una variante escribe dos métodos con la misma respuesta, como toda atención del libro:
    :meth:`mix`, que no forma la tabla de todos con todos, y :meth:`scores`, que sí, para mirar los
    pesos. Se proyecta, se gira, se guarda en la caché y se une igual que siempre. ``causal=True``
    pone la máscara causal sin que nadie la construya.

    No admite dropout en los pesos al entrenar ni, salvo que ``takes_bias`` lo diga, un
    ``score_bias``.

    Errores: los de :class:`~atento.attention.MultiHeadAttention`, y ``ValueError`` si llega un
    ``score_bias`` que no puede usar.
    """

    takes_bias: ClassVar[bool] = False

    def __init__(self, d_model: int, n_heads: int, *, causal: bool = False, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        checks.substitute(self, causal)
        self.causal = causal

    @classmethod
    def like(cls, attention: MultiHeadAttention, **options: Any) -> "EfficientAttention":
        """Una de esta clase con las proyecciones de ``attention``, que comparten las dos.

        Errores: ``TypeError`` o ``ValueError`` si ``attention`` no es una atención multicabeza que
        puntúe como la de 2017, o los de la clase.
        """
        checks.like(attention)
        sizes: dict[str, Any] = {"n_kv_heads": attention.n_kv_heads, "dropout": attention.dropout}
        places: dict[str, Any] = {"rotary": attention.rotary, "score_bias": attention.score_bias}
        twin = cls(attention.d_model, attention.n_heads, **sizes, **places, **options)
        twin.to(attention.project_output.weight).train(attention.training)
        for name in ("project_query", "project_key", "project_value", "project_output"):
            setattr(twin, name, getattr(attention, name))
        return twin

    def mix(
        self,
        query: Float[Tensor, "*batch head query d_head"],
        key: Float[Tensor, "*batch head key d_head"],
        value: Float[Tensor, "*batch head key d_head"],
        mask: Bool[Tensor, "..."] | None,
        bias: Float[Tensor, "..."] | None,
    ) -> Float[Tensor, "*batch head query d_head"]:
        """De puntuar a promediar, sin formar la tabla (query, key). Lo escribe cada variante."""
        raise NotImplementedError(f"{type(self).__name__}.mix")

    def _can_fuse(self) -> bool:
        return True

    def _fuse(self, query, key, value, mask, bias) -> Float[Tensor, "*batch head query d_head"]:
        checks.mixing(self)
        return self.mix(query, self._share(key), self._share(value), mask, bias)

    def _biased(self, scores, query, key, bias) -> Float[Tensor, "*batch head query key"]:
        scores = super()._biased(scores, query, key, bias)
        if not self.causal:
            return scores
        return scores.masked_fill(~past(*scores.shape[-2:], device=scores.device), float("-inf"))


@typed(validate=checks.replace)
def with_attention(
    model: nn.Module, kind: type[EfficientAttention], *, within: str = "", **options: Any
) -> nn.Module:
    """Una copia de ``model`` con todas sus atenciones de la clase ``kind`` y los mismos pesos.

    ``within`` limita el cambio a las que cuelgan de ese nombre (``"encoder"``); ``options`` son las
    de la clase: ``with_attention(model, WindowAttention, window=16)``.

    Errores: ``TypeError`` o ``ValueError`` si ``model`` no es un módulo, ``kind`` no es una
    :class:`EfficientAttention` o no hay ninguna atención que cambiar, y los de la clase.
    """
    twin = copy.deepcopy(model)
    if isinstance(twin, MultiHeadAttention):
        return kind.like(twin, **options)
    found = [n for n, part in twin.named_modules() if isinstance(part, MultiHeadAttention)]
    found = [n for n in found if not within or f"{n}.".startswith(f"{within}.")]
    checks.require_some(found, within)
    for name in found:
        parent, _, last = name.rpartition(".")
        attention: Any = twin.get_submodule(name)
        setattr(twin.get_submodule(parent), last, kind.like(attention, **options))
    return twin


def past(
    n_queries: int, n_keys: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "query key"]:
    """La máscara causal cuando las consultas son las últimas posiciones: (query, key).

    Errores: ``TypeError`` o ``ValueError`` si no son enteros, o hay más consultas que claves.
    """
    checks.past(n_queries, n_keys)
    ahead = n_keys - n_queries
    return torch.ones(n_queries, n_keys, dtype=torch.bool, device=device).tril(ahead)


@typed(validate=checks.reading)
def read_mask(
    mask: Bool[Tensor, "..."] | None, n_queries: int, n_keys: int
) -> tuple[bool, Bool[Tensor, "*batch key"] | None]:
    """Lo que dice una máscara, en poco sitio: si es causal y qué claves no son relleno.

    Devuelve ``(causal, keys)``; ``keys`` es ``None`` si se puede atender a todas.

    Errores: ``ValueError`` si la máscara dice otra cosa, porque quien no forma la tabla (query,
    key) no puede tapar parejas sueltas.
    """
    if mask is None:
        return False, None
    mask = torch.atleast_2d(mask)
    mask = mask.expand(*mask.shape[:-1], n_keys)
    keys = mask[..., -1, :]  # la última consulta ve todo lo que se puede ver
    if mask.shape[-2] == 1 or torch.equal(mask, keys.unsqueeze(-2).expand_as(mask)):
        return False, _none_if_all(keys)
    seen = past(n_queries, n_keys, device=mask.device)
    if not torch.equal(mask, keys.unsqueeze(-2) & seen):
        raise ValueError(
            "mask: se esperaba la causal, una que tape claves enteras (relleno) o las dos juntas; "
            f"llegó otra, de forma {tuple(mask.shape)}."
        )
    return True, _none_if_all(keys)


def _none_if_all(keys: Tensor) -> Tensor | None:
    return None if bool(keys.all()) else keys
