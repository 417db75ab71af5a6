"""El terreno de una memoria de Hopfield: adónde baja un estado según β y desde dónde sale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento.hopfield import energy, recall
from figuras.explorers.base import (
    Explorer,
    Texts,
    check_labels,
    check_table,
    number,
    point,
    static_table,
)

__all__ = ["LandscapeExplorer", "landscape"]

STEPS, TOLERANCE = 60, 1e-4  # cuándo se da por parado; iguales en landscape.js
RECALLED = 0.9  # desde qué peso se dice que recuerda


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LandscapeExplorer(Explorer):
    """El explorador del terreno. Se construye con :func:`landscape`.

    ``patterns`` ``(m, 2)`` son los recuerdos, ``start`` ``(2,)``, el estado del principio, y
    ``beta``, la inversa de la temperatura del principio.
    """

    kind: ClassVar[str] = "landscape"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "drag", "field", "beside")
    words: tuple[str, ...]
    patterns: Tensor
    start: Tensor
    beta: float
    betas: tuple[float, float]
    limits: tuple[float, float, float, float]
    title: str = "El terreno de una memoria"
    question: str | None = "¿Desde qué β se llega a un solo recuerdo, y no a una mezcla?"
    name: str = "terreno"

    def compute(
        self, state: Sequence[float] | Tensor | None = None, beta: float | None = None
    ) -> dict[str, Any]:
        """La misma cuenta que la página, en float64, desde ``state`` ``(2,)``.

        ``path`` ``(step, 2)`` y ``energies`` ``(step,)`` son el camino y su energía; ``weights``
        ``(m,)``, lo que se parece a cada recuerdo el estado en que acaba, y ``settled``, si se ha
        parado.
        """
        state = self.start if state is None else torch.as_tensor(state, dtype=torch.float64)
        beta = self.beta if beta is None else beta
        walked = recall(
            state[None], self.patterns, beta=beta, steps=STEPS, tolerance=TOLERANCE
        )  # (step, 1, 2)
        path = walked.states[:, 0]
        return {
            "path": path,
            "energies": energy(path, self.patterns, beta=beta),
            "weights": (beta * self.patterns @ path[-1]).softmax(dim=-1),
            "settled": walked.settled,
        }

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "words": self.words,
            "patterns": self.patterns.tolist(),
            "start": self.start.tolist(),
            "beta": self.beta,
            "betas": self.betas,
            "limits": self.limits,
            "steps": STEPS,
            "tolerance": TOLERANCE,
            "recalled": RECALLED,
        }

    def static(self) -> str:
        """Dónde acaba el estado del principio con la β menor, la del principio y la mayor."""
        rows = []
        for beta in sorted({self.betas[0], self.beta, self.betas[1]}):
            found = self.compute(beta=beta)
            weights = map(number, found["weights"].tolist())
            rows.append([number(beta), point(found["path"][-1]), *weights])
        return static_table(
            f"Adónde se llega desde {point(self.start)}, y cuánto pesa allí cada recuerdo",
            ["β", "acaba en", *self.words],
            rows,
        )

    def summary(self) -> str:
        """Una línea para la terminal."""
        return f"Terreno de una memoria: {len(self.words)} recuerdos y β de {number(self.beta)}"


def landscape(
    words: Sequence[str],
    patterns: Any,
    start: Any,
    *,
    beta: float = 1.0,
    betas: tuple[float, float] = (0.25, 16.0),
    **texts: Unpack[Texts],
) -> LandscapeExplorer:
    """Devuelve el explorador de la energía de unos recuerdos ``patterns`` ``(m, 2)``.

    Se mueve el estado, que sale de ``start`` ``(2,)``, y se elige β entre las dos de ``betas``. La
    página pinta la energía, el camino hasta donde el estado se para y cuánto pesa allí cada
    recuerdo, que se llama como diga ``words`` ``(m,)``.

    Errores: ``ValueError`` si los números no tienen esas formas, hay menos de dos recuerdos o más
    de seis, o ``beta`` no está entre las de ``betas``, positivas y distintas.
    """
    patterns = check_table(patterns, "patterns", "(m, 2)", (2,), last=2)
    start = check_table(start, "start", "(2,)", (1,), last=2)
    if not 2 <= len(patterns) <= 6:
        raise ValueError(
            f"patterns: llegó la forma {tuple(patterns.shape)}; se esperaba (m, 2), con m de 2 a 6"
        )
    least, most = betas
    if not 0 < least < most <= 64 or not math.isfinite(beta) or not least <= beta <= most:
        raise ValueError(
            f"beta: llegó {beta!r}, con betas={betas}; se esperaban dos números positivos, menor y"
            " mayor, hasta 64, y beta entre los dos"
        )
    return LandscapeExplorer(
        words=check_labels(words, "words", len(patterns), "recuerdo"),
        patterns=patterns,
        start=start,
        beta=float(beta),
        betas=(float(least), float(most)),
        limits=_limits(torch.cat([patterns, start[None]])),
        **texts,
    )


def _limits(points: Tensor) -> tuple[float, float, float, float]:
    """Un cuadrado con todos los puntos y el origen, y aire alrededor."""
    points = torch.cat([points, points.new_zeros(1, 2)])
    low, high = points.amin(dim=0), points.amax(dim=0)
    half = 0.65 * float((high - low).amax()) or 1.0
    x, y = ((low + high) / 2).tolist()
    left, right, bottom, top = (round(v, 2) for v in (x - half, x + half, y - half, y + half))
    return left, right, bottom, top
