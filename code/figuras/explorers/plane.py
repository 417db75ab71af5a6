"""El plano: una consulta y las claves de unas palabras, que son también sus valores, como flechas
de dos componentes que se mueven con la mano.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from figuras.explorers.base import (
    Explorer,
    Texts,
    check_count,
    check_labels,
    check_some,
    check_table,
    number,
    point,
    static_table,
)

__all__ = ["PlaneExplorer", "plane"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PlaneExplorer(Explorer):
    """El explorador del plano. Se construye con :func:`plane`.

    ``query`` ``(2,)`` y ``key`` ``(key, 2)`` son las posiciones iniciales; cada clave es también
    el valor de su palabra.
    """

    kind: ClassVar[str] = "plane"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "drag", "field", "beside")
    words: tuple[str, ...]
    query_word: str
    query: Tensor
    key: Tensor
    self_index: int | None
    move: tuple[str, ...]
    limits: tuple[float, float, float, float]
    axes: tuple[str, str]
    controls: tuple[str, ...]
    title: str = "La mezcla, en el plano"
    name: str = "plano"

    def compute(
        self,
        *,
        query: Tensor | None = None,
        key: Tensor | None = None,
        present: Sequence[bool] | None = None,
        temperature: float = 1.0,
    ) -> dict[str, Tensor]:
        """Lo que muestra la página: el gemelo en Python, en float64.

        ``query`` ``(2,)`` y ``key`` ``(key, 2)`` sustituyen a las posiciones iniciales;
        ``present`` dice qué palabras están en la frase: sin él, todas. Devuelve ``scores`` y
        ``weights`` ``(key,)`` y ``output`` ``(2,)``; sin ninguna palabra, pesos y salida son 0.
        """
        query = self.query if query is None else query
        key = self.key if key is None else key
        stays = torch.ones(len(key), dtype=torch.bool) if present is None else torch.tensor(present)
        scores = key @ query
        divided = scores / (math.sqrt(2) * temperature)
        weights = divided.masked_fill(~stays, -math.inf).softmax(dim=-1).nan_to_num(0.0)
        return {"scores": scores, "weights": weights, "output": weights @ key}

    def static(self) -> str:
        """Tabla con las posiciones, las puntuaciones, los pesos y la salida del estado inicial."""
        values = self.compute()
        columns = (self.words, self.key, values["scores"], values["weights"])
        rows = [
            [word, point(key), number(score), number(weight)]
            for word, key, score, weight in zip(*columns, strict=True)
        ]
        caption = (
            f"La consulta de «{self.query_word}», {point(self.query)}, "
            f"da la salida {point(values['output'])}"
        )
        return static_table(caption, ["palabra", "clave y valor", "puntuación", "peso"], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return (
            f"Vectores en el plano: la consulta «{self.query_word}» y {len(self.words)} claves;"
            f" salida {point(self.compute()['output'])}"
        )


def plane(
    words: Sequence[str],
    query: Tensor,
    key: Tensor,
    *,
    query_word: str = "consulta",
    self_index: int | None = None,
    move: Sequence[str] = ("query", "key"),
    limits: tuple[float, float, float, float] | None = None,
    axes: tuple[str, str] = ("", ""),
    controls: Sequence[str] = (),
    **texts: Unpack[Texts],
) -> PlaneExplorer:
    """Devuelve el explorador de vectores en un plano.

    ``query`` ``(2,)`` es la consulta de ``query_word``; ``key`` ``(key, 2)``, los vectores de
    ``words``, que hacen de clave y de valor. Con ``self_index``, la consulta es además el vector
    de esa palabra, y se mueven juntos. La página pinta todas las mezclas posibles: la envolvente
    convexa de los valores.

    ``move`` dice qué se arrastra: ``query``, ``key``. ``controls``: ``words`` (quitar y poner
    palabras de la frase) y ``temperature``. ``limits`` es ``(x_min, x_max, y_min, y_max)``, un
    cuadrado; sin él se calcula. ``axes`` nombra las dos componentes. ``question`` se lee arriba y
    ``answer`` queda plegada.

    Errores: ``ValueError`` si las formas o los rótulos no casan, si hay números no finitos o fuera
    de ``limits``.
    """
    query = check_table(query, "query", "(2,)", (1,), last=2)
    key = check_table(key, "key", "(key, 2)", (2,), last=2)
    if self_index is not None:
        check_count(self_index, "self_index", 0, len(key) - 1)
        if not torch.equal(query, key[self_index]):
            raise ValueError("self_index: la clave de esa palabra debe ser igual que query")
    if isinstance(axes, str) or len(axes) != 2 or not all(isinstance(axis, str) for axis in axes):
        raise ValueError(f"axes: llegó {axes!r}; se esperaban dos textos")
    return PlaneExplorer(
        words=check_labels(words, "words", len(key), "clave"),
        query_word=check_labels([query_word], "query_word", 1, "consulta")[0],
        query=query,
        key=key,
        self_index=self_index,
        move=check_some(move, "move", ("query", "key")),
        limits=_limits(limits, torch.cat([query[None], key])),
        axes=tuple(axes),
        controls=check_some(controls, "controls", ("words", "temperature")),
        **texts,
    )


def _limits(limits: Any, points: Tensor) -> tuple[float, float, float, float]:
    """Un cuadrado con todos los puntos y el origen dentro."""
    if limits is None:
        low, high = points.amin().clamp(max=0).item(), points.amax().clamp(min=0).item()
        margin = 0.25 * (high - low) or 1.0
        low, high = low - (margin if low < 0 else 0.12 * (high - low)), high + margin
        return low, high, low, high
    sides = [high - low for low, high in zip(limits[::2], limits[1::2], strict=False)]
    if len(limits) != 4 or not math.isclose(*sides) or sides[0] <= 0:
        raise ValueError(
            f"limits: llegó {limits!r}; se esperaba un cuadrado, (x_min, x_max, y_min, y_max)"
        )
    corners = torch.tensor(limits, dtype=torch.float64).view(2, 2)  # (x e y, menor y mayor)
    if (points < corners[:, 0]).any() or (points > corners[:, 1]).any():
        raise ValueError(f"limits: {limits!r} deja fuera algún vector")
    return tuple(map(float, limits))
