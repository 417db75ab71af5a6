"""Piso 2: la caché de claves y valores, para no repetirlos al generar."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from atento.shapes import require_floating, require_same_kind


class Memory(NamedTuple):
    """Las claves y los valores de una memoria, ya proyectados: se calculan una vez y no crecen.

    Los devuelve ``MultiHeadAttention.remember``; la atención cruzada los recibe en lugar de la
    memoria. Sirve para una sola capa.
    """

    key: Tensor  # (…, head, key, d_head)
    value: Tensor  # (…, head, key, d_head)


class KVCache:
    """Guarda las claves y los valores ya proyectados, y girados si el modelo los gira.

    Cada llamada a :meth:`append` añade posiciones nuevas al final; sirve para una sola capa y una
    sola secuencia (o lote). ``len(cache)`` es el número de posiciones guardadas.
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None  # (…, head, key, d_head)
        self.value: Tensor | None = None  # (…, head, key, d_head)

    def __len__(self) -> int:
        return 0 if self.key is None else self.key.shape[-2]

    def joined(
        self, key: Float[Tensor, "*batch new d_head"], value: Float[Tensor, "*batch new d_head"]
    ) -> tuple[Float[Tensor, "*batch key d_head"], Float[Tensor, "*batch key d_head"]]:
        """Devuelve lo guardado seguido de lo nuevo, sin guardarlo todavía.

        Errores: ``ValueError`` si el lote, las cabezas o la anchura no son los de la caché;
        ``TypeError`` si no lo es el tipo de datos.
        """
        if self.key is None:
            return key, value
        _require_like(key, self.key, "key")
        _require_like(value, self.value, "value")
        return torch.cat([self.key, key], dim=-2), torch.cat([self.value, value], dim=-2)

    def store(
        self, key: Float[Tensor, "*batch key d_head"], value: Float[Tensor, "*batch key d_head"]
    ) -> None:
        """Guarda lo que devolvió :meth:`joined`; hasta entonces la caché no crece."""
        self.key, self.value = key, value

    def append(
        self, key: Float[Tensor, "*batch new d_head"], value: Float[Tensor, "*batch new d_head"]
    ) -> tuple[Float[Tensor, "*batch key d_head"], Float[Tensor, "*batch key d_head"]]:
        """Añade claves y valores, y devuelve todos los que hay.

        Errores: los de :meth:`joined`.
        """
        key, value = self.joined(key, value)
        self.store(key, value)
        return key, value

    def copy(self) -> "KVCache":
        """Devuelve otra caché con lo mismo; al crecer una, la otra no cambia. No copia números."""
        other = KVCache()
        other.key, other.value = self.key, self.value
        return other

    def select(self, rows: Int[Tensor, " new_batch"]) -> "KVCache":
        """Devuelve otra caché con esas filas del lote, en ese orden, que pueden repetirse."""
        other = KVCache()
        if self.key is not None:
            other.key, other.value = self.key[rows], self.value[rows]
        return other

    def reset(self) -> None:
        """Vacía la caché, para empezar otra secuencia."""
        self.key = self.value = None


def _require_like(new: Tensor, stored: Tensor, name: str) -> None:
    require_floating(new, name=f"{name} (nuevo)")
    require_same_kind(new, stored, name=f"{name} (nuevo)", reference_name="cache")
    old, came = tuple(stored.shape), tuple(new.shape)
    if (*old[:-2], old[-1]) != (*came[:-2], came[-1]):
        raise ValueError(
            f"cache: guarda {name} de forma {old} y llega de forma {came}; solo puede cambiar el "
            f"penúltimo eje. Para otra secuencia, usa una caché nueva o cache.reset()."
        )
