"""La softmax por trozos, mientras ocurre: entra un bloque, se reescala lo de antes y se suma."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from figuras.explorers import base
from figuras.explorers.base import Explorer, Texts, check_table, number, static_table

__all__ = ["ORDERS", "OnlineExplorer", "online"]

ORDERS = ("given", "reversed", "rising", "falling")
"""En qué orden entran los bloques: como están, al revés y según su puntuación mayor."""
TRACED = ("e*", "factor", "ℓ", "õ")
LEVELS = (-20, -10, *range(-5, 11), 20, 50, 100, 1000)  # las puntuaciones que se pueden poner


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OnlineExplorer(Explorer):
    """El explorador de la softmax por trozos. Se construye con :func:`online`.

    ``scores`` ``(key,)`` son las puntuaciones de una consulta, ya escaladas, y ``values``
    ``(key,)``, los valores; ``sizes``, los tamaños de bloque que se pueden elegir.
    """

    kind: ClassVar[str] = "online"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "table")
    scores: Tensor
    values: Tensor
    sizes: tuple[int, ...]
    size: int
    title: str = "La softmax por trozos, mientras ocurre"
    question: str | None = "¿En qué orden no hay que reescalar nunca?"
    name: str = "a-trozos"

    def compute(
        self, size: int, order: str = "given", *, scores: Any = None, rescale: bool = True
    ) -> dict[str, Any]:
        """La misma cuenta que la página, en float64, con bloques de ``size``.

        ``blocks`` son las claves de cada bloque, en el orden en que entran, y ``trace``
        ``(block, 4)``, lo que queda tras cada uno: el mayor, por cuánto se multiplica lo de antes,
        la suma y la mezcla sin dividir. ``rescaled`` dice cuántas veces subió el mayor, y
        ``whole``, la softmax de una vez.
        """
        e = self.scores if scores is None else check_table(scores, "scores", "(key,)", (1,))
        blocks = [*torch.arange(len(e)).split(size)]
        if order == "reversed":
            blocks.reverse()
        elif base.check_option(order, "order", ORDERS) != "given":
            sign = 1 if order == "rising" else -1
            blocks.sort(key=lambda block: sign * float(e[block].max()))
        trace, top, total, mixed = [], -math.inf, 0.0, 0.0
        for block in blocks:
            new = max(top, float(e[block].max()))
            factor, weights = math.exp(top - new), (e[block] - new).exp()
            shrink = factor if rescale else 1.0
            total = shrink * total + float(weights.sum())
            mixed = shrink * mixed + float(weights @ self.values[block])
            top = new
            trace.append((top, factor, total, mixed))
        return {
            "blocks": [block.tolist() for block in blocks],
            "trace": torch.tensor(trace, dtype=torch.float64),
            "rescaled": sum(factor < 1 for _, factor, *_ in trace[1:]),
            "output": mixed / total,
            "whole": float(e.softmax(dim=0) @ self.values),
        }

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        scores = self.scores.tolist()
        return {
            "scores": scores,
            "values": self.values.tolist(),
            "sizes": self.sizes,
            "size": self.sizes.index(self.size),
            "levels": sorted({*map(float, LEVELS), *scores}),
            "orders": ORDERS,
            "traced": TRACED,
        }

    def static(self) -> str:
        """Lo que queda tras cada bloque, con el tamaño del principio."""
        found, rows = self.compute(self.size), []
        for block, (top, *others) in zip(found["blocks"], found["trace"].tolist(), strict=True):
            factor, total, mixed = (number(value, 4) for value in others)
            most, *entered = (
                f"{x:g}".replace("-", "−") for x in (top, *self.scores[block].tolist())
            )
            rows.append([", ".join(entered), most, factor if rows else "—", total, mixed])
        output, whole = (number(found[name], 4) for name in ("output", "whole"))
        caption = f"Con bloques de {self.size}, õ / ℓ = {output}. De una vez, {whole}."
        return static_table(caption, ["entran", *TRACED], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        sizes = ", ".join(map(str, self.sizes))
        return f"Softmax por trozos: {len(self.scores)} puntuaciones y bloques de {sizes}"


def online(
    scores: Any, values: Any, *, sizes: Sequence[int], size: int, **texts: Unpack[Texts]
) -> OnlineExplorer:
    """Devuelve el explorador de una consulta que lee sus claves de bloque en bloque.

    Recibe las puntuaciones ``scores`` ``(key,)`` y los valores ``values`` ``(key,)``. El lector
    elige el tamaño de los bloques entre ``sizes``, al principio ``size``, y en qué orden entran;
    cambia las puntuaciones, y puede no reescalar.

    Errores: ``ValueError`` si no son de 2 a 6 puntuaciones, de −1000 a 1000, y otros tantos
    valores; si algún tamaño no está entre 1 y los que son, o si ``size`` no es de ``sizes``.
    """
    e = check_table(scores, "scores", "(key,)", (1,))
    v = check_table(values, "values", "(key,)", (1,))
    base.check_count(len(e), "len(scores)", 2, 6)
    if len(v) != len(e) or float(e.abs().max()) > 1000:
        raise ValueError(
            f"scores: llegó {e.tolist()}, y {len(v)} valores; se esperaban números de −1000 a 1000"
            " y un valor para cada uno"
        )
    known = tuple(base.check_count(each, "sizes", 1, len(e)) for each in sizes)
    base.check_option(size, "size", known)
    return OnlineExplorer(scores=e, values=v, sizes=known, size=size, **texts)
