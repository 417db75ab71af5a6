"""Piso 2: lo que una atención recibe además de vectores: qué hay guardado, a quién mirar y dónde.

Las claves y los valores ya proyectados se guardan para no repetirlos al generar (:class:`KVCache`)
o al leer muchas veces la misma memoria (:class:`Memory`).
"""

from collections.abc import Sequence, Sized
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from atento.shapes import (
    is_plain,
    require_axis,
    require_floating,
    require_same_kind,
    require_tensor,
)


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

    Sin gradientes, lo guardado está al principio de una tabla con sitio de sobra, que se hace el
    doble de larga cuando se llena: añadir una posición no vuelve a copiar las anteriores. Tras
    elegir filas, que ya copia, se espera a que crezca dos veces.
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None  # (…, head, key, d_head)
        self.value: Tensor | None = None  # (…, head, key, d_head)
        self._room: _Room | None = None
        self._chosen = False  # recién elegidas sus filas: el haz las vuelve a elegir en cada paso

    def __len__(self) -> int:
        return 0 if self.key is None else self.key.shape[-2]

    def joined(
        self, key: Float[Tensor, "*batch new d_head"], value: Float[Tensor, "*batch new d_head"]
    ) -> tuple[Float[Tensor, "*batch key d_head"], Float[Tensor, "*batch key d_head"]]:
        """Devuelve lo guardado seguido de lo nuevo, sin guardarlo todavía.

        Errores: ``ValueError`` si el lote, las cabezas o la anchura no son los de la caché;
        ``TypeError`` si no lo es el tipo de datos.
        """
        if self.key is None or self.value is None:
            return key, value
        _require_like(key, self.key, "key")
        _require_like(value, self.value, "value")
        require_axis(value, -2, key.shape[-2], name="value (nuevo)", label="key", like="key")
        room = self._find_room(Memory(self.key, self.value), Memory(key, value))
        if room is not None:
            return room.write(key, value)
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

    def _find_room(self, stored: Memory, new: Memory) -> "_Room | None":
        """Las tablas donde escribir detrás de lo guardado, si hay; si puede, las hace."""
        if not _plain(*new) or any(a.dtype != b.dtype for a, b in zip(new, stored, strict=True)):
            return None
        room, rows = self._room, new.key.shape[-2]
        if room is not None and room.follows(*stored, rows):
            return room
        if self._chosen or not _plain(*stored):
            self._chosen = False
            return None
        self._room = _Room(*stored, 2 * (len(self) + rows))
        return self._room

    def copy(self) -> "KVCache":
        """Devuelve otra caché con lo mismo; al crecer una, la otra no cambia. No copia números."""
        other = KVCache()
        other.key, other.value = self.key, self.value
        other._room, other._chosen = self._room, self._chosen
        return other

    def select(self, rows: Int[Tensor, " new_batch"]) -> "KVCache":
        """Devuelve otra caché con esas filas del lote, en ese orden, que pueden repetirse."""
        other = KVCache()
        if self.key is not None and self.value is not None:
            other.key, other.value, other._chosen = self.key[rows], self.value[rows], True
        return other

    def reset(self) -> None:
        """Vacía la caché, para empezar otra secuencia."""
        self.key = self.value = self._room = None
        self._chosen = False


# --- Dónde está cada fila -------------------------------------------------------------------------


class Where(NamedTuple):
    """A quién puede atender cada fila, en qué lugar está y qué filas van guardadas delante.

    Es lo que llevan consigo, de bloque en bloque, los vectores de una pila. ``mask`` es booleana y
    se difunde hasta (…, head, query, key). ``positions``, (key,) o (…, key), cuenta las filas
    guardadas y las nuevas; sin ella, son 0, 1, 2… En una pila, ``cache`` es una lista, con una
    caché por bloque. Donde se espera un ``Where`` vale una máscara suelta.
    """

    mask: Bool[Tensor, "..."] | None = None
    positions: Real[Tensor, "..."] | None = None
    cache: KVCache | Sequence[KVCache] | None = None

    @classmethod
    def of(cls, value: 'Where | Bool[Tensor, "..."] | None') -> "Where":
        """El mismo ``Where``, o el que lleva solo esa máscara."""
        return value if isinstance(value, Where) else cls(value)


def places(
    x: Float[Tensor, "*batch n d"],
    positions: Real[Tensor, "*batch key"] | None = None,
    cache: Sized | None = None,
) -> Real[Tensor, "*batch key"]:
    """Dónde están las filas guardadas y las de ``x``: lo que diga ``positions``, o 0, 1, 2…

    Errores: ``TypeError`` si ``x`` no es un tensor.
    """
    require_tensor(x, name="x")
    if positions is not None:
        return positions
    return torch.arange((0 if cache is None else len(cache)) + x.shape[-2], device=x.device)


def newest(
    positions: Real[Tensor, "*batch key"], x: Float[Tensor, "*batch n d"]
) -> Real[Tensor, "*batch n"]:
    """De las posiciones, las de ``x``, que son las últimas.

    Errores: ``TypeError`` si alguno no es un tensor.
    """
    require_tensor(positions, name="positions")
    require_tensor(x, name="x")
    return positions[..., positions.shape[-1] - x.shape[-2] :]


# --- Las tablas de la caché -----------------------------------------------------------------------


class _Room:
    """Dos tablas con sitio de sobra. Las comparten las cachés que fueron copia una de otra.

    Una fila se escribe una sola vez: la ocupa la primera caché que llega a ella. Si otra copia
    quiere seguir desde el mismo sitio, :meth:`follows` dice que no, y se hace sus propias tablas.
    """

    def __init__(self, key: Tensor, value: Tensor, capacity: int) -> None:
        self.key, self.value = (
            x.new_empty((*x.shape[:-2], capacity, x.shape[-1])) for x in (key, value)
        )
        self.used = 0
        self.write(key, value)

    def follows(self, key: Tensor, value: Tensor, new: int) -> bool:
        """Dice si ``key`` y ``value`` son todo lo escrito y detrás caben ``new`` filas."""
        same = key.data_ptr() == self.key.data_ptr() and value.data_ptr() == self.value.data_ptr()
        fits = self.used == key.shape[-2] and self.used + new <= self.key.shape[-2]
        return same and fits and (torch.is_inference_mode_enabled() or not self.key.is_inference())

    def write(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Escribe las filas siguientes y devuelve las que ya hay, (…, head, key, d_head)."""
        start, self.used = self.used, self.used + key.shape[-2]
        for table, rows in ((self.key, key), (self.value, value)):
            table[..., start : self.used, :] = rows
        return self.key[..., : self.used, :], self.value[..., : self.used, :]


def _plain(key: Tensor, value: Tensor) -> bool:
    """Dice si se pueden copiar dentro de otros: sin gradientes, ``torch.func`` ni compilador."""
    return not torch.is_grad_enabled() and is_plain(key) and is_plain(value)


def _require_like(new: Tensor, stored: Tensor, name: str) -> None:
    require_floating(new, name=f"{name} (nuevo)")
    require_same_kind(new, stored, name=f"{name} (nuevo)", reference_name="cache")
    old, came = tuple(stored.shape), tuple(new.shape)
    if (*old[:-2], old[-1]) != (*came[:-2], came[-1]):
        raise ValueError(
            f"cache: guarda {name} de forma {old} y llega de forma {came}; solo puede cambiar el "
            f"penúltimo eje. Para otra secuencia, usa una caché nueva o cache.reset()."
        )
