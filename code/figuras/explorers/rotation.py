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
    check_option,
    check_table,
    number,
    static_table,
)

__all__ = ["RotationExplorer", "rotation"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RotationExplorer(Explorer):
    """El explorador de RoPE. Se construye con :func:`rotation`.

    ``query`` y ``key`` ``(d,)`` son los vectores sin girar, por parejas contiguas; ``places``,
    cuántos sitios hay; ``factor``, cuánto se alarga, si se puede alargar.
    """

    kind: ClassVar[str] = "rotation"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "chart", "places")
    query: Tensor
    key: Tensor
    base: float
    places: int
    query_place: int
    key_place: int
    pair: int
    factor: float | None
    title: str = "Dos vectores que giran"
    name: str = "rotation"

    def modes(self) -> tuple[str, ...]:
        """Las maneras de alargar que se ofrecen; la primera es no hacer nada."""
        return ("none",) if self.factor is None else ("none", "interpolation", "ntk")

    def rotary(self, mode: str = "none") -> Rotary:
        """El giro de la biblioteca con esa manera de alargar.

        Errores: ``ValueError`` si ``mode`` no está entre los de :meth:`modes`.
        """
        check_option(mode, "mode", self.modes())
        stretch = {} if mode == "none" else {mode: self.factor}
        return Rotary(len(self.query), base=self.base, **stretch)

    def compute(
        self, query_place: int | None = None, key_place: int | None = None, mode: str = "none"
    ) -> dict[str, Tensor]:
        """La misma cuenta que la página, en float64, para dos sitios.

        ``query`` y ``key`` ``(d,)``, los vectores girados; ``parts`` ``(pair,)``, lo que aporta
        cada pareja al producto escalar, y ``score``, su suma. ``curve`` ``(distance, pair)`` son
        esas partes para cada distancia ``clave - consulta``, de ``1 - places`` a ``places - 1``.
        """
        rotary = self.rotary(mode)
        here = self.query_place if query_place is None else query_place
        there = self.key_place if key_place is None else key_place
        query, key = (
            rotary(vector[None], torch.tensor([place]))[0]
            for vector, place in ((self.query, here), (self.key, there))
        )
        parts = _parts(query, key)
        curve = self._curve(rotary)
        return {"query": query, "key": key, "parts": parts, "score": parts.sum(), "curve": curve}

    def _curve(self, rotary: Rotary) -> Tensor:
        distance = torch.arange(1 - self.places, self.places)
        here = (-distance).clamp(min=0)  # la consulta, lo más a la izquierda que cabe
        rows = (len(distance), -1)
        query = rotary(self.query.expand(rows), here)
        return _parts(query, rotary(self.key.expand(rows), here + distance))

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        one = torch.ones(1, dtype=torch.float64)
        return {
            "query": self.query.tolist(),
            "key": self.key.tolist(),
            "places": self.places,
            "queryPlace": self.query_place,
            "keyPlace": self.key_place,
            "pair": self.pair,
            "factor": self.factor,
            "modes": self.modes(),
            "speeds": [self.rotary(mode).angles(one)[0].tolist() for mode in self.modes()],
        }

    def static(self) -> str:
        """Los dos vectores antes y después de girar, y su producto escalar."""
        values = self.compute()
        head = ["vector", "sitio", "sin girar", "girado"]
        rows = [
            [label, str(place), _row(vector), _row(values[name])]
            for label, name, place, vector in (
                ("consulta", "query", self.query_place, self.query),
                ("clave", "key", self.key_place, self.key),
            )
        ]
        distance = number(self.key_place - self.query_place, 0)
        score = number(float(values["score"]))
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
    pair: int = 0,
    factor: float | None = None,
    **texts: Unpack[Texts],
) -> RotationExplorer:
    """Devuelve el explorador de una consulta y una clave ``(d,)`` que giran con RoPE.

    Las parejas son contiguas, ``d`` va de 2 a 8 y los sitios, de 0 a ``places - 1``. La página
    dibuja la pareja que se elija, al principio ``pair``, y la puntuación sin escalar a cada
    distancia. Con ``factor`` se puede además alargar: dividir los sitios entre él, o agrandar la
    base según :func:`atento.positions.ntk_base`.

    Errores: ``ValueError`` si los vectores no miden lo mismo o alguno es nulo, si ``places`` no
    está entre 2 y 200, si un sitio o ``pair`` no existe o si ``factor`` no pasa de 1 o solo hay
    una pareja; los de :class:`atento.positions.Rotary` para ``base``.
    """
    query, key = _vectors(query, key)
    pairs = len(query) // 2
    check_count(places, "places", 2, 200)
    check_count(query_place, "query_place", 0, places - 1)
    check_count(key_place, "key_place", 0, places - 1)
    check_count(pair, "pair", 0, pairs - 1)
    _check_factor(factor, pairs)
    given = _TEXTS[factor is not None]
    explorer = RotationExplorer(
        query=query,
        key=key,
        base=base,
        places=places,
        query_place=query_place,
        key_place=key_place,
        pair=pair,
        factor=None if factor is None else float(factor),
        **{"question": given[0], "answer": given[1]} | texts,
    )
    explorer.data()  # la base la comprueba Rotary
    return explorer


_TEXTS = (
    (
        "Lee la puntuación. Después adelanta las dos a la vez. ¿Qué cambia y qué no?",
        "Las dos flechas giran lo mismo, así que el ángulo entre ellas y la puntuación no cambian."
        " Al mover una sola, sí: de los sitios, la puntuación solo ve la distancia.",
    ),
    (
        "Compara la primera pareja con la última. ¿A cuáles frena cada manera de alargar?",
        "Interpolar frena igual a todas las parejas. Con la base mayor, la primera gira como antes"
        " y la última se frena tanto como al interpolar.",
    ),
)


# --- Las cuentas y la puerta ----------------------------------------------------------------------


def _parts(query: Tensor, key: Tensor) -> Tensor:
    """Lo que aporta cada pareja contigua al producto escalar, ``(…, pair)``."""
    return (query * key).unflatten(-1, (-1, 2)).sum(dim=-1)


def _row(vector: Tensor) -> str:
    return f"({', '.join(number(value) for value in vector.tolist())})"


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


def _check_factor(factor: Any, pairs: int) -> None:
    if factor is None:
        return
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 < factor <= 100:
        raise ValueError(f"factor: llegó {factor!r}; se esperaba un número mayor que 1, hasta 100")
    if pairs == 1:
        raise ValueError("factor: para alargar hacen falta dos parejas y llegó una")
