"""Dibujar, borrar y correr un dígito, y ver qué contesta un ViT y a qué parches mira."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento.models.vit import Vit, patchify
from atento.tasks.digits import INK, SIDE, Digits
from atento.watching import watching
from figuras.explorers.base import Texts, check_count, check_kind, number, static_table
from figuras.explorers.live import LiveExplorer

__all__ = ["SketchExplorer", "sketch"]

_PATCH = 2
_ACROSS = SIDE // _PATCH
_MOST = 10
_DIGITS = "0123456789abcdefg"  # la tinta de un píxel, de 0 a 16, en una letra


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SketchExplorer(LiveExplorer):
    """La hoja en la que se dibuja. Se construye con :func:`sketch`."""

    kind: ClassVar[str] = "sketch"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "lots", "file")
    scripts: ClassVar[tuple[str, ...]] = ("transformer", "vit")
    model: Vit
    levels: Tensor  # (n, 8, 8), enteros de 0 a 16
    labels: tuple[int, ...]
    blank: float
    full: float
    start: int
    title: str = "Dibuja un dígito y córrelo"
    name: str = "hoja"

    def compute(
        self, levels: Tensor, *, down: int = 0, right: int = 0, follow: bool = False
    ) -> dict[str, Tensor]:
        """Lo que dice el modelo de una hoja corrida, con los pesos de la página y 64 bits.

        ``levels``, (8, 8), es la tinta de cada píxel, de 0 a 16. Se corre ``down`` píxeles hacia
        abajo y ``right`` hacia la derecha, y lo que sale por un lado entra por el otro; con
        ``follow`` se corren también las posiciones, de parche en parche. ``patches`` (16, 4) son
        los parches tal como llegan; ``probs`` (10,), la probabilidad de cada dígito; ``looks``
        (capa, cabeza, 17), los pesos de la fila CLS, que es la primera.
        """
        moved = levels.roll((down, right), (0, 1)).double()
        image = self.blank + (self.full - self.blank) * moved[None, None] / INK
        model, table = self._exact, self._exact.embed.positions.table
        own = table.detach().clone()
        with torch.no_grad(), watching(model) as maps:
            if follow:
                steps = (down // _PATCH, right // _PATCH)
                grid = own[1:].view(_ACROSS, _ACROSS, -1).roll(steps, (0, 1))
                table[1:] = grid.flatten(0, 1)
            probs = model(image)[0].softmax(dim=-1)
            table.copy_(own)
        looks = [maps[f"encoder.blocks.{k}.attention"] for k in range(model.config.n_layers)]
        return {
            "patches": patchify(image, _PATCH)[0],
            "probs": probs,
            "looks": torch.cat(looks)[:, :, 0],
        }

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript; cada dígito, en 64 letras, una por píxel."""
        rows = ("".join(_DIGITS[level] for level in one.flatten()) for one in self.levels)
        return {
            "digits": [[str(label), row] for label, row in zip(self.labels, rows, strict=True)],
            "start": self.start,
            "blank": self.blank,
            "full": self.full,
            "layers": self.model.config.n_layers,
            "file": self._file,
        }

    def static(self) -> str:
        """De cada dígito, qué dice en su sitio, corrido un píxel y corrido un parche."""
        rows = []
        for label, levels in zip(self.labels, self.levels, strict=True):
            found = [self.compute(levels, right=right)["probs"] for right in (0, 1, _PATCH)]
            said = (f"{int(probs.argmax())}, con {number(float(probs.max()))}" for probs in found)
            rows.append([f"un {label}", *said])
        head = ["a la derecha", "nada", "un píxel", "un parche"]
        return static_table("Lo que dice el modelo de cada dígito, según se corre", head, rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return f"Hoja de 8 × 8 y {len(self.labels)} dígitos; modelo vivo de {self._size} parámetros"


def sketch(
    model: Vit, digits: Digits, *, full: float, start: int = 0, **texts: Unpack[Texts]
) -> SketchExplorer:
    """Devuelve el explorador en el que se dibuja y se corre un dígito, y ``model`` lo lee.

    Los ``digits`` son de los que se puede partir, normalizados como los que ``model`` lee: un píxel
    sin tinta vale ``digits.background``, y uno lleno, ``full``. Se abre con el de sitio ``start``.
    Se dibuja en 32 × 32 puntos, y de cada cuadro de 4 × 4 se cuenta la tinta, de 0 a 16, como en
    :mod:`atento.tasks.digits`. Se ven las probabilidades, los parches y los pesos de la fila CLS en
    cada cabeza. El modelo lo ejecuta un guion propio en la página, sin servidor, con los pesos en
    16 bits, que se piden al primer cambio.

    Errores: ``TypeError`` si ``model`` no es un ``Vit``; ``ValueError`` si la página no sabe
    ejecutarlo, no hay de 1 a 10 dígitos, sus píxeles no tienen los 17 valores o ``start`` no es el
    sitio de uno.
    """
    check_kind(model, "model", Vit)
    c = model.config
    sizes = (c.image_size, c.patch_size, c.channels, c.classes)
    if sizes != (SIDE, _PATCH, 1, 10) or c.pooling != "cls" or c.distilled:
        raise ValueError(
            "model: la página solo ejecuta los de 8 × 8 píxeles, parches de 2 × 2, un canal, diez"
            " clases y solo la fila CLS añadida."
        )
    if not 1 <= len(digits) <= _MOST:
        raise ValueError(f"digits: llegaron {len(digits)}; se esperaban de 1 a {_MOST}.")
    inked = (digits.images.double() - digits.background) / (full - digits.background) * INK
    levels = inked.round()
    known = ((inked - levels).abs() < 1e-3) & (levels >= 0) & (levels <= INK)
    if not bool(known.all()):
        raise ValueError(
            f"digits: con tinta de {number(digits.background)} a {number(full)} hay píxeles que no"
            f" son de los {INK + 1} valores."
        )
    check_count(start, "start", 0, len(digits) - 1)
    return SketchExplorer(
        model=model,
        levels=levels.long(),
        labels=tuple(digits.labels.tolist()),
        blank=float(digits.background),
        full=float(full),
        start=start,
        **texts,
    )
