"""Tres maneras de llegar de una palabra a otra: por una recurrencia, por una convolución y por una
atención.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from figuras.explorers.base import Explorer, Texts, check_count, check_labels, static_table

_LANES = ("recurrencia", "convolución", "atención")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PathsExplorer(Explorer):
    """Lo que devuelve :func:`paths`. ``route(start, end, kernel)`` hace la misma cuenta que la
    página.
    """

    words: tuple[str, ...]
    start: int
    end: int
    kernel: int
    goal: int | None
    title: str = "Tres maneras de llegar"
    name: str = "caminos"
    kind: ClassVar[str] = "paths"

    def route(self, start: int, end: int, kernel: int) -> dict[str, list[int]]:
        """Por qué posiciones pasa lo que va de ``start`` a ``end``, por cada uno de los tres
        caminos.
        """
        reach = kernel - 1
        jumps = [*range(start, end, reach), end]
        return dict(zip(_LANES, (list(range(start, end + 1)), jumps, [start, end]), strict=True))

    def reached(self, start: int, end: int, kernel: int) -> bool:
        """Si, entre las dos palabras de la pregunta, la convolución llega en las capas pedidas y,
        con un filtro menor, no llegaría.
        """
        layers = [
            len(self.route(start, end, k)["convolución"]) - 1 for k in (kernel, max(kernel - 1, 2))
        ]
        return (
            self.goal is not None
            and (start, end) == (self.start, self.end)
            and layers[0] <= self.goal
            and (kernel == 2 or layers[1] > self.goal)
        )

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "words": self.words,
            "start": self.start,
            "end": self.end,
            "kernel": self.kernel,
            "goal": self.goal,
        }

    def static(self) -> str:
        """Los tres caminos del estado inicial, escritos."""
        rows = [
            [lane, str(len(path) - 1), " → ".join(self.words[i] for i in path)]
            for lane, path in self.route(self.start, self.end, self.kernel).items()
        ]
        caption = (
            f"De «{self.words[self.start]}» a «{self.words[self.end]}», con un filtro de"
            f" {self.kernel}"
        )
        return static_table(caption, ["por dónde", "saltos", "camino"], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return f"Explorador de caminos: {len(self.words)} palabras, filtro de {self.kernel}"


def paths(
    words: Sequence[str],
    *,
    start: int = 0,
    end: int | None = None,
    kernel: int = 3,
    goal: int | None = None,
    **texts: Unpack[Texts],
) -> PathsExplorer:
    """Devuelve el explorador de los caminos entre dos palabras de una frase, que se tocan con el
    dedo.

    ``words`` son de 3 a 16 palabras; ``start`` y ``end``, de cuál a cuál al abrirse (``end``, si
    falta, la última);
    ``kernel``, cuántas palabras abarca el filtro de la convolución: la propia y las de delante.
    ``goal``: número de capas en las que hay que llegar, si la pregunta es con qué filtro se
    consigue.

    Errores: ``ValueError`` si los rótulos no sirven, si ``start`` no va antes que ``end`` o si
    ``kernel`` no está entre 2 y el número de palabras.
    """
    labels = check_labels(words, "words", len(words), "palabra")
    if not 3 <= len(labels) <= 16:
        raise ValueError(f"words: llegaron {len(labels)} palabras; se esperaban de 3 a 16")
    end = len(labels) - 1 if end is None else end
    if not 0 <= start < end < len(labels):
        raise ValueError(
            f"start: llegó {start}, con end = {end}; se esperaba 0 ≤ start < end < {len(labels)}"
        )
    check_count(kernel, "kernel", 2, len(labels))
    if goal is not None and goal < 1:
        raise ValueError(f"goal: llegó {goal}; se esperaba un entero mayor o igual que 1")
    return PathsExplorer(words=labels, start=start, end=end, kernel=kernel, goal=goal, **texts)
