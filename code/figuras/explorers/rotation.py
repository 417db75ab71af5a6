"""El explorador de los dos vectores que giran: consulta y clave, cada una según su sitio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento.positions import Rotary
from figuras.explorers.base import (
    Explorer,
    Texts,
    check_count,
    check_table,
    number,
    point,
    static_table,
)

__all__ = ["RotationExplorer", "rotation"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RotationExplorer(Explorer):
    """El explorador de RoPE. Se construye con :func:`rotation`.

    ``query`` y ``key`` ``(d,)`` son los vectores sin girar, por parejas contiguas; ``rotary``, el
    giro de la biblioteca, y ``places``, cuántos sitios hay.
    """

    kind: ClassVar[str] = "rotation"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "chart", "places", "sides")
    query: Tensor
    key: Tensor
    rotary: Rotary
    places: int
    query_place: int
    key_place: int
    title: str = "Dos vectores que giran"
    question: str | None = (
        "Lee la puntuación. Después adelanta las dos a la vez. ¿Qué cambia y qué no?"
    )
    answer: str | None = (
        "Las dos flechas giran lo mismo, así que el ángulo entre ellas y la puntuación no cambian."
        " Al mover una sola, sí: de los sitios, la puntuación solo ve la distancia."
    )
    name: str = "rotation"

    def compute(
        self, query_place: int | None = None, key_place: int | None = None
    ) -> dict[str, Tensor]:
        """La misma cuenta que la página, en float64, para dos sitios.

        ``query`` y ``key`` ``(d,)``, los vectores girados; ``parts`` ``(pair,)``, lo que aporta
        cada pareja al producto escalar, y ``score``, su suma. ``curve`` ``(distance, pair)`` son
        esas partes para cada distancia ``clave - consulta``, de ``1 - places`` a ``places - 1``.
        """
        here = self.query_place if query_place is None else query_place
        there = self.key_place if key_place is None else key_place
        query, key = (
            self.rotary(vector[None], torch.tensor([place]))[0]
            for vector, place in ((self.query, here), (self.key, there))
        )
        parts = _parts(query, key)
        distance = torch.arange(1 - self.places, self.places)
        left = (-distance).clamp(min=0)  # la consulta, lo más a la izquierda que cabe
        rows = (len(distance), -1)
        first = self.rotary(self.query.expand(rows), left)
        curve = _parts(first, self.rotary(self.key.expand(rows), left + distance))
        return {"query": query, "key": key, "parts": parts, "score": parts.sum(), "curve": curve}

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript; del giro, cuánto gira cada pareja de un sitio a otro."""
        one = torch.ones(1, dtype=torch.float64)
        return super().data() | {"rotary": self.rotary.angles(one)[0].tolist()}

    def static(self) -> str:
        """Los dos vectores antes y después de girar, y su producto escalar."""
        values = self.compute()
        head = ["vector", "sitio", "sin girar", "girado"]
        rows = [
            [label, str(place), point(vector), point(values[name])]
            for label, name, place, vector in (
                ("consulta", "query", self.query_place, self.query),
                ("clave", "key", self.key_place, self.key),
            )
        ]
        distance = number(self.key_place - self.query_place, 0)
        score = number(values["score"])
        caption = f"A distancia {distance}, el producto de los vectores girados es {score}"
        return static_table(caption, head, rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return (
            f"Explorador de RoPE: {len(self.query) // 2} parejas que giran y {self.places} sitios"
        )


def rotation(
    query: Tensor,
    key: Tensor,
    *,
    base: float = 10000.0,
    places: int = 40,
    query_place: int = 3,
    key_place: int = 7,
    **texts: Unpack[Texts],
) -> RotationExplorer:
    """Devuelve el explorador de una consulta y una clave ``(d,)`` que giran con RoPE.

    Las parejas son contiguas, ``d`` va de 2 a 8 y los sitios, de 0 a ``places - 1``. La página
    dibuja la pareja que se elija y la puntuación sin escalar a cada distancia.

    Errores: ``ValueError`` si los vectores no miden lo mismo o alguno es nulo, si ``places`` no
    está entre 2 y 200 o si un sitio no existe; los de :class:`atento.positions.Rotary` para
    ``base``.
    """
    query, key = _vectors(query, key)
    check_count(places, "places", 2, 200)
    check_count(query_place, "query_place", 0, places - 1)
    check_count(key_place, "key_place", 0, places - 1)
    return RotationExplorer(
        query=query,
        key=key,
        rotary=Rotary(len(query), base=base),
        places=places,
        query_place=query_place,
        key_place=key_place,
        **texts,
    )


# --- Las cuentas y la puerta ----------------------------------------------------------------------


def _parts(query: Tensor, key: Tensor) -> Tensor:
    """Lo que aporta cada pareja contigua al producto escalar, ``(…, pair)``."""
    return (query * key).unflatten(-1, (-1, 2)).sum(dim=-1)


def _vectors(query: Any, key: Any) -> tuple[Tensor, Tensor]:
    query, key = (check_table(v, n, "(d,)", (1,)) for v, n in ((query, "query"), (key, "key")))
    if len(query) % 2 or len(query) > 8:
        raise ValueError(f"query: llegaron {len(query)} componentes; se esperaban 2, 4, 6 u 8")
    if len(key) != len(query):
        raise ValueError(f"key: llegaron {len(key)} componentes; se esperaban {len(query)}")
    for name, vector in (("query", query), ("key", key)):
        if not vector.any():
            raise ValueError(f"{name}: llegó el vector nulo, que no tiene adónde girar")
    return query, key
