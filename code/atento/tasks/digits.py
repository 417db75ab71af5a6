"""Dígitos manuscritos: las 1797 imágenes de 8 × 8 que vienen con scikit-learn.

Nada se descarga. Son la parte de prueba de un conjunto mayor: de cada dígito, escrito por una de
trece personas en 32 × 32 puntos blancos o negros, se cuenta cuántos negros hay en cada cuadro de
4 × 4, de 0 a 16. :func:`load` los da todos, con la tinta de 0 a 1; :func:`split` los reparte en
tres partes y los normaliza con la media y la desviación de la primera.

No dice quién escribió cada uno: las tres partes tienen letra de las mismas personas, y con letra
nueva se acierta menos.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from atento.checks import digits as checks
from atento.shapes import typed
from atento.tasks import writing
from atento.training import evaluating

SIDE = 8
"""El lado de cada imagen, en píxeles."""

CLASSES = 10
"""Cuántas clases hay: del 0 al 9."""

INK = 16
"""El valor de un píxel lleno de tinta en scikit-learn: aquí es 1."""


@dataclass(frozen=True)
class Digits:
    """Unas imágenes y lo que dice cada una.

    ``images``, (n, 8, 8), de coma flotante; ``labels``, (n,), enteros de 0 a 9; ``background`` es
    lo que vale un píxel sin tinta, que tras normalizar no es 0.

    Errores: ``TypeError`` o ``ValueError`` si no son eso.
    """

    images: Float[Tensor, "n 8 8"]
    labels: Int[Tensor, " n"]
    background: float = 0.0

    def __post_init__(self) -> None:
        checks.fields(self)

    def __len__(self) -> int:
        return len(self.labels)

    def chosen(self, places: Int[Tensor, " m"]) -> "Digits":
        """Las de esos sitios, en ese orden.

        Errores: ``TypeError`` o ``ValueError`` si ``places`` no son sitios, (m,).
        """
        checks.chosen(self, places)
        return replace(self, images=self.images[places], labels=self.labels[places])

    def few(self, per_class: int, rng: torch.Generator | int) -> "Digits":
        """``per_class`` imágenes de cada dígito, al azar y barajadas.

        Con la misma semilla, las de una cantidad están entre las de otra mayor.

        Errores: ``TypeError`` o ``ValueError`` si ``per_class`` no es un entero positivo, hay menos
        de alguna clase o ``rng`` no es un generador ni un entero.
        """
        checks.few(self, per_class, rng)
        source = writing.require_rng(rng)
        order = torch.randperm(len(self), generator=source)
        labels = self.labels[order]
        ranks = (labels[:, None] == torch.arange(CLASSES)).cumsum(dim=0)  # (n, class)
        rank = ranks.gather(1, labels[:, None]).squeeze(1)  # (n,): el cuánto de su clase es
        return self.chosen(order[rank <= per_class])

    def shifted(self, down: int, right: int) -> "Digits":
        """Las mismas, corridas con :func:`shift`.

        Errores: los de :func:`shift`.
        """
        moved = shift(self.images, down, right, background=self.background)
        return replace(self, images=moved)


class Parts(NamedTuple):
    """El reparto: con qué se aprende, con qué se elige y con qué se examina."""

    train: Digits
    validation: Digits
    test: Digits


# --- Cargar y repartir ----------------------------------------------------------------------------


@cache
def load() -> Digits:
    """Las 1797, en el orden de scikit-learn y con la tinta de 0 (nada) a 1.

    Fuente: Alpaydin y Kaynak (1998), por :func:`sklearn.datasets.load_digits`.
    """
    from sklearn.datasets import load_digits  # tarda, y solo hace falta aquí

    found: Any = load_digits()
    images = torch.as_tensor(found.images, dtype=torch.float32) / INK
    return Digits(images, torch.as_tensor(found.target, dtype=torch.long))


@typed(validate=checks.split)
def split(seed: torch.Generator | int = 0, *, validation: float = 0.1, test: float = 0.3) -> Parts:
    """Reparte las 1797 en tres, con la misma proporción de cada dígito en todas, y las normaliza.

    A cada píxel se le resta la media de los de entrenamiento y se divide entre su desviación: dos
    números, los mismos para todos los píxeles. El reparto lo decide ``seed``.

    Errores: ``TypeError`` o ``ValueError`` si ``seed`` no es un generador ni un entero, o
    ``validation`` y ``test`` no son proporciones que dejen algo para entrenar.
    """
    whole, source = load(), writing.require_rng(seed)
    places: list[list[Tensor]] = [[], [], []]
    for digit in range(CLASSES):
        own = (whole.labels == digit).nonzero().squeeze(1)
        own = own[torch.randperm(len(own), generator=source)]
        sizes = [round(len(own) * share) for share in (validation, test)]
        cut = own.split([len(own) - sum(sizes), *sizes])
        for part, chosen in zip(places, cut, strict=True):
            part.append(chosen)
    parts = [whole.chosen(torch.cat(part).sort().values) for part in places]
    ink = parts[0].images
    return Parts(*(_normalized(part, ink.mean().item(), ink.std().item()) for part in parts))


def _normalized(part: Digits, mean: float, std: float) -> Digits:
    return Digits((part.images - mean) / std, part.labels, (part.background - mean) / std)


# --- Mover, hacer lotes y puntuar -----------------------------------------------------------------


@typed(validate=checks.shift)
def shift(
    images: Float[Tensor, "*batch height width"],
    down: int,
    right: int,
    *,
    background: float = 0.0,
) -> Float[Tensor, "*batch height width"]:
    """Corre cada imagen ``down`` píxeles hacia abajo y ``right`` hacia la derecha.

    Con números negativos, hacia arriba y hacia la izquierda. Lo que sale se pierde, y lo que entra
    vale ``background``.

    Errores: ``TypeError`` o ``ValueError`` si ``images`` no es (…, height, width) de coma flotante,
    ``down`` o ``right`` no son enteros o ``background`` no es un número.
    """
    height, width = images.shape[-2:]
    moved = torch.full_like(images, background)
    rows, columns = height - abs(down), width - abs(right)
    if rows > 0 and columns > 0:
        seen = images[..., max(-down, 0) :, max(-right, 0) :][..., :rows, :columns]
        moved[..., max(down, 0) :, max(right, 0) :][..., :rows, :columns] = seen
    return moved


@typed(validate=checks.batches)
def batches(
    digits: Digits, n: int, size: int, rng: torch.Generator | int
) -> list[tuple[Float[Tensor, "batch 8 8"], Int[Tensor, " batch"]]]:
    """``n`` lotes de ``size`` imágenes con sus etiquetas, pasada tras pasada.

    Cada pasada baraja todas y las ve una vez. Si ``size`` no divide a cuántas son, el lote que
    queda a medias se acaba con las primeras de la siguiente.

    Errores: ``TypeError`` o ``ValueError`` si ``digits`` no es un :class:`Digits`, ``n`` o ``size``
    no son enteros positivos o ``rng`` no es un generador ni un entero.
    """
    source = writing.require_rng(rng)
    passes = -(-n * size // len(digits))
    order = torch.cat([torch.randperm(len(digits), generator=source) for _ in range(passes)])
    lots = order[: n * size].split(size)
    return [(digits.images[lot], digits.labels[lot]) for lot in lots]


@typed(validate=checks.score)
def score(
    model: Callable[[Tensor], Tensor], digits: Digits, *, batch_size: int = 512
) -> dict[str, Any]:
    """Qué parte acierta ``model``, que va de imágenes (batch, 8, 8) a puntuaciones (batch, class).

    ``accuracy`` es la de todas y ``by_class``, la de cada dígito que haya; ``n``, cuántas son;
    ``right``, (n,), cuáles. Un módulo se examina evaluando y sin gradientes.

    Errores: ``TypeError`` o ``ValueError`` si ``model`` no es una función, no da (batch, class),
    ``digits`` no es un :class:`Digits` o ``batch_size`` no es un entero positivo.
    """
    found = torch.cat([*_answers(model, digits.images, batch_size)])
    right = found == digits.labels
    present = digits.labels.unique().tolist()
    by_class = {k: right[digits.labels == k].float().mean().item() for k in present}
    accuracy = right.float().mean().item()
    return {"accuracy": accuracy, "by_class": by_class, "n": len(digits), "right": right}


@torch.no_grad()
def _answers(model: Callable[[Tensor], Tensor], images: Tensor, size: int) -> Iterator[Tensor]:
    """La clase que más puntúa en cada imagen, lote a lote."""
    if isinstance(model, nn.Module):
        with evaluating(model):
            yield from (checks.require_logits(model(x), x).argmax(-1) for x in images.split(size))
    else:
        yield from (checks.require_logits(model(x), x).argmax(-1) for x in images.split(size))
