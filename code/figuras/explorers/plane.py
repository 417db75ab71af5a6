"""El plano: una consulta, sus claves y sus valores como flechas de dos componentes que se mueven
con la mano.
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
    check_labels,
    check_table,
    number,
    static_table,
)

__all__ = ["PlaneExplorer", "plane"]

_MOVABLE = ("query", "key", "value")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PlaneExplorer(Explorer):
    """El explorador del plano. Se construye con :func:`plane`.

    ``query`` ``(2,)``, ``key`` y ``value`` ``(key, 2)`` son las posiciones iniciales; con ``tied``
    cada valor es su clave y se mueve con ella.
    """

    kind: ClassVar[str] = "plane"
    pieces: ClassVar[tuple[str, ...]] = ("field",)
    words: tuple[str, ...]
    query_word: str
    query: Tensor
    key: Tensor
    value: Tensor
    tied: bool
    self_index: int | None
    present: tuple[bool, ...]
    move: tuple[str, ...]
    hull: bool
    scale: bool
    temperature: float
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
        value: Tensor | None = None,
        present: Sequence[bool] | None = None,
        temperature: float | None = None,
    ) -> dict[str, Tensor]:
        """Lo que muestra la página: el gemelo en Python, en float64.

        ``query`` ``(2,)``, ``key`` y ``value`` ``(key, 2)`` sustituyen a las posiciones iniciales;
        con ``tied``, los valores son las claves salvo que se den. ``present`` dice qué palabras
        están en la frase. Devuelve ``scores`` y ``weights`` ``(key,)`` y ``output`` ``(2,)``; sin
        ninguna palabra, pesos y salida son 0.
        """
        query = self.query if query is None else query
        value = key if value is None and self.tied else value
        key = self.key if key is None else key
        value = self.value if value is None else value
        present = torch.tensor(self.present if present is None else present)
        temperature = self.temperature if temperature is None else temperature
        scores = key @ query
        divided = scores / ((math.sqrt(2) if self.scale else 1.0) * temperature)
        weights = divided.masked_fill(~present, -math.inf).softmax(dim=-1).nan_to_num(0.0)
        return {"scores": scores, "weights": weights, "output": weights @ value}

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "words": self.words,
            "queryWord": self.query_word,
            "query": self.query.tolist(),
            "key": self.key.tolist(),
            "value": None if self.tied else self.value.tolist(),
            "selfIndex": self.self_index,
            "present": self.present,
            "move": self.move,
            "hull": self.hull,
            "scale": self.scale,
            "temperature": self.temperature,
            "limits": self.limits,
            "axes": self.axes,
            "controls": self.controls,
        }

    def static(self) -> str:
        """Tabla con las posiciones, las puntuaciones, los pesos y la salida del estado inicial."""
        values = self.compute()
        rows = [
            [word, _point(key), _point(value), number(score), number(weight)]
            for word, key, value, score, weight in zip(
                self.words,
                self.key.tolist(),
                self.value.tolist(),
                values["scores"],
                values["weights"],
                strict=True,
            )
        ]
        caption = (
            f"La consulta de «{self.query_word}», {_point(self.query.tolist())}, "
            f"da la salida {_point(values['output'].tolist())}"
        )
        return static_table(caption, ["palabra", "clave", "valor", "puntuación", "peso"], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        output = _point(self.compute()["output"].tolist())
        return (
            f"Vectores en el plano: la consulta «{self.query_word}» y {len(self.words)} claves;"
            f" salida {output}"
        )


def plane(
    words: Sequence[str],
    query: Tensor,
    key: Tensor,
    value: Tensor | None = None,
    *,
    query_word: str = "consulta",
    self_index: int | None = None,
    present: Sequence[bool] | None = None,
    move: Sequence[str] = ("query", "key"),
    hull: bool = False,
    scale: bool = True,
    temperature: float = 1.0,
    limits: tuple[float, float, float, float] | None = None,
    axes: tuple[str, str] = ("", ""),
    controls: Sequence[str] = (),
    **texts: Unpack[Texts],
) -> PlaneExplorer:
    """Devuelve el explorador de vectores en un plano.

    ``query`` ``(2,)`` es la consulta de ``query_word``; ``key`` ``(key, 2)``, las claves de
    ``words``; ``value`` ``(key, 2)``, sus valores. Sin ``value``, cada palabra tiene un solo vector
    que hace de clave y de valor. Con ``self_index``, la consulta es además el vector de esa
    palabra, y se mueven juntos.

    ``move`` dice qué se arrastra: ``query``, ``key``, ``value``. ``hull`` pinta la envolvente
    convexa de los valores. ``controls``: ``words`` (quitar y poner palabras de la frase;
    ``present`` dice cuáles están al principio) y ``temperature``. ``scale`` divide entre ``√2``.
    ``limits`` es ``(x_min, x_max, y_min, y_max)``, un cuadrado; sin él se calcula. ``axes`` nombra
    las dos componentes. ``question`` se lee arriba y ``answer`` queda plegada.

    Errores: ``ValueError`` si las formas o los rótulos no casan, si hay números no finitos o fuera
    de ``limits``.
    """
    vectors = _vectors(query, key, value, self_index)
    count = len(vectors["key"])
    return PlaneExplorer(
        **vectors,
        words=check_labels(words, "words", count, "clave"),
        query_word=check_labels([query_word], "query_word", 1, "consulta")[0],
        present=_present(present, count),
        move=_some(move, "move", _MOVABLE[: 2 if value is None else 3]),
        hull=bool(hull),
        scale=bool(scale),
        temperature=_temperature(temperature),
        limits=_limits(limits, vectors),
        axes=_axes(axes),
        controls=_some(controls, "controls", ("words", "temperature")),
        **texts,
    )


def _vectors(query: Any, key: Any, value: Any, self_index: int | None) -> dict[str, Any]:
    """Los vectores comprobados, si los valores son las claves y de qué palabra es la consulta."""
    query, key, values = _tables(query, key, value)
    _check_self(self_index, query, key)
    tied = value is None
    return {"query": query, "key": key, "value": values, "tied": tied, "self_index": self_index}


def _temperature(temperature: float) -> float:
    if not 0.1 <= temperature <= 10:
        raise ValueError(f"temperature: llegó {temperature}; se esperaba un número de 0.1 a 10")
    return float(temperature)


def _tables(query: Any, key: Any, value: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Consulta, claves y valores; sin valores, son las claves."""
    key = check_table(key, "key", "(key, 2)", (2,))
    query = check_table(query, "query", "(2,)", (1,))
    value = key if value is None else check_table(value, "value", "(key, 2)", (2,))
    pairs = (("query", query, (2,)), ("key", key, (len(key), 2)), ("value", value, (len(key), 2)))
    for name, table, shape in pairs:
        if tuple(table.shape) != shape:
            raise ValueError(f"{name}: llegó la forma {tuple(table.shape)}; se esperaba {shape}")
    return query, key, value


def _present(present: Sequence[bool] | None, count: int) -> tuple[bool, ...]:
    marks = (True,) * count if present is None else tuple(map(bool, present))
    if len(marks) != count:
        raise ValueError(
            f"present: llegaron {len(marks)} marcas; se esperaban {count}, una por palabra"
        )
    return marks


def _axes(axes: Sequence[str]) -> tuple[str, str]:
    if isinstance(axes, str) or len(axes) != 2 or not all(isinstance(axis, str) for axis in axes):
        raise ValueError(f"axes: llegó {axes!r}; se esperaban dos textos")
    return tuple(axes)


def _check_self(self_index: int | None, query: Tensor, key: Tensor) -> None:
    if self_index is None:
        return
    if not 0 <= self_index < len(key):
        raise ValueError(
            f"self_index: llegó {self_index}; se esperaba una palabra de 0 a {len(key) - 1}"
        )
    if not torch.equal(query, key[self_index]):
        raise ValueError("self_index: la clave de esa palabra debe ser igual que query")


def _some(chosen: Sequence[str], name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(chosen, str) or not set(chosen) <= set(known):
        raise ValueError(f"{name}: llegó {chosen!r}; se esperaban algunos de {', '.join(known)}")
    return tuple(item for item in known if item in chosen)


def _limits(limits: Any, vectors: dict[str, Any]) -> tuple[float, float, float, float]:
    """Un cuadrado con todos los puntos y el origen dentro."""
    points = torch.cat([vectors["query"][None], vectors["key"], vectors["value"]])
    if limits is None:
        low, high = points.amin().clamp(max=0).item(), points.amax().clamp(min=0).item()
        margin = 0.25 * (high - low) or 1.0
        low, high = low - (margin if low < 0 else 0.12 * (high - low)), high + margin
        return low, high, low, high
    if (
        len(limits) != 4
        or not math.isclose(limits[1] - limits[0], limits[3] - limits[2])
        or limits[1] <= limits[0]
    ):
        raise ValueError(
            f"limits: llegó {limits!r}; se esperaba un cuadrado, (x_min, x_max, y_min, y_max)"
        )
    x, y = points[:, 0], points[:, 1]
    if x.min() < limits[0] or x.max() > limits[1] or y.min() < limits[2] or y.max() > limits[3]:
        raise ValueError(f"limits: {limits!r} deja fuera algún vector")
    return tuple(map(float, limits))


def _point(pair: Sequence[float]) -> str:
    return f"({number(pair[0])}, {number(pair[1])})"
