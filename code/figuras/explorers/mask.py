"""El explorador de las máscaras: se pinta quién puede mirar a quién y se ve qué cambia."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento import masks
from atento.attention import normalize
from figuras.explorers.base import (
    Explorer,
    Texts,
    check_count,
    check_labels,
    check_option,
    check_table,
    number,
    static_table,
)

__all__ = ["PRESETS", "MaskExplorer", "mask"]

PRESETS = ("todo", "causal", "relleno", "ventana", "prefijo", "bloque")
"""Las máscaras de partida, en el orden de los botones."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MaskExplorer(Explorer):
    """El explorador de las máscaras. Se construye con :func:`mask`.

    ``scores`` ``(n, n)`` son las puntuaciones ya escaladas; ``padding``, ``window`` y ``prefix``,
    los tamaños de las máscaras de partida; ``preset``, con cuál se empieza.
    """

    kind: ClassVar[str] = "mask"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "cells")
    words: tuple[str, ...]
    scores: Tensor
    preset: str
    padding: int
    window: int
    prefix: int
    layers: int
    title: str = "Pinta la máscara"
    name: str = "mascara"

    def presets(self) -> dict[str, Tensor]:
        """Las máscaras de partida, ``(n, n)`` booleanas: ``True`` es «puede mirar».

        La ventana deja ver las ``window`` últimas posiciones, contando la propia; el prefijo se ve
        entero a sí mismo y lo demás es causal; los bloques son dos mitades que no se ven entre sí.
        """
        n = len(self.words)
        everything, causal = torch.ones(n, n, dtype=torch.bool), masks.causal_mask(n)
        position = torch.arange(n)
        half = position < (n + 1) // 2
        tables = (
            everything,
            causal,
            (position < n - self.padding).expand(n, n),
            causal & everything.triu(1 - self.window),
            causal | (position < self.prefix),
            half[:, None] == half,
        )
        return dict(zip(PRESETS, tables, strict=True))

    def weights(self, allowed: Tensor) -> Tensor:
        """Pesos ``(n, n)`` con la máscara ``allowed``; una fila tapada entera da ceros."""
        return normalize(self.scores.masked_fill(~allowed, float("-inf")))

    def steps(self, allowed: Tensor) -> Tensor:
        """Cuántas capas tarda la posición ``i`` en saber de ``j``: ``(n, n)`` enteros, −1 si nunca.

        De sí misma sabe con 0 capas, por la conexión residual.
        """
        n = len(self.words)
        reach = torch.eye(n, dtype=torch.bool)
        steps = torch.where(reach, 0, -1)
        for layer in range(1, n):
            reach = (reach.double() @ (allowed | torch.eye(n, dtype=torch.bool)).double()) > 0
            steps = torch.where(reach & (steps < 0), layer, steps)
        return steps

    def dead(self, allowed: Tensor) -> list[int]:
        """Las filas de ``allowed`` ``(n, n)`` que no pueden mirar a nadie."""
        return (~allowed.any(-1)).nonzero().flatten().tolist()

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "words": self.words,
            "scores": self.scores.tolist(),
            "presets": {name: table.int().tolist() for name, table in self.presets().items()},
            "preset": self.preset,
            "layers": self.layers,
        }

    def static(self) -> str:
        """Los pesos con la máscara de partida, y cuántas capas tarda en llegar cada noticia."""
        allowed = self.presets()[self.preset]
        weights, steps = self.weights(allowed).tolist(), self.steps(allowed).tolist()
        rows = [[w, *map(number, line)] for w, line in zip(self.words, weights, strict=True)]
        far = [
            [w, *("nunca" if s < 0 else str(s) for s in line)]
            for w, line in zip(self.words, steps, strict=True)
        ]
        first = static_table(f"Pesos con la máscara «{self.preset}»", ["", *self.words], rows)
        return first + static_table("Capas que tarda en saber de", ["", *self.words], far)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return f"Explorador de máscaras: {len(self.words)} posiciones, empieza en «{self.preset}»"


def mask(
    words: Sequence[str],
    scores: Tensor,
    *,
    preset: str = "causal",
    padding: int = 1,
    window: int = 2,
    prefix: int = 2,
    layers: int = 4,
    **texts: Unpack[Texts],
) -> MaskExplorer:
    """Devuelve el explorador de las máscaras sobre puntuaciones ``(n, n)`` ya escaladas.

    Cada casilla se pinta con el ratón, el dedo o el teclado: consulta en la fila, clave en la
    columna. Se ven los pesos o, capa a capa, de qué posiciones puede saber cada una; avisa de las
    filas que no ven a nadie. ``padding`` es cuántas posiciones finales son relleno; ``window`` y
    ``prefix``, el ancho de la ventana y el largo del prefijo;
    ``layers``, hasta cuántas capas llega el mando.

    Errores: ``ValueError`` si no hay de 2 a 8 palabras, si ``scores`` no es cuadrada y finita, si
    ``preset`` no es una de :data:`PRESETS` o si un tamaño se sale de la frase.
    """
    table = check_table(scores, "scores", "(n, n)", (2,))
    if table.shape[0] != table.shape[1] or not 2 <= len(table) <= 8:
        raise ValueError(
            f"scores: llegó la forma {tuple(table.shape)}; se esperaba (n, n), con n de 2 a 8"
        )
    words = check_labels(words, "words", len(table), "posición")
    check_option(preset, "preset", PRESETS)
    for label, size, most in (
        ("padding", padding, len(table) - 1),
        ("window", window, len(table)),
        ("prefix", prefix, len(table)),
        ("layers", layers, 12),
    ):
        check_count(size, label, 1, most)
    return MaskExplorer(
        words=words,
        scores=table,
        preset=preset,
        padding=padding,
        window=window,
        prefix=prefix,
        layers=layers,
        **texts,
    )
