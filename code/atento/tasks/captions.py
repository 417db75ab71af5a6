"""Imágenes con su texto: números de dos cifras escritos a mano, y su nombre, letra a letra.

La imagen, de 16 × 16, lleva dos dígitos de :mod:`atento.tasks.digits` uno al lado del otro; el
texto es el nombre del número, «cuarenta y siete». De los cien, del 00 al 99, se reservan veinte que
al entrenar no salen nunca, aunque sus decenas y sus unidades salgan en otros. La letra de la prueba
tampoco es la del entrenamiento.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from atento.checks import captions as checks
from atento.checks.multimodal import require_logits
from atento.device import require_device
from atento.shapes import typed
from atento.tasks import digits, multimodal, writing
from atento.tasks.translation.sentences import python_rng
from atento.tasks.translation.vocabulary import EOS_ID, Vocabulary
from atento.training import evaluating

SIDE = 16
"""El lado de la imagen, en píxeles."""

NUMBERS = ("seen", "unseen", "any")
"""Los números: los que se entrenan, los reservados y todos."""

_TEENS = "diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve".split()
_TWENTIES = "veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis".split()
_TENS = "treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()


@typed(validate=checks.spelled)
def spelled(number: int) -> str:
    """El nombre de un número de 0 a 99.

    Errores: ``TypeError`` o ``ValueError`` si no es un entero de 0 a 99.
    """
    tens, units = divmod(number, 10)
    if tens == 0:
        return multimodal.NAMES[units]
    if tens == 1:
        return _TEENS[units]
    if tens == 2 and units:
        return _TWENTIES[units - 1] if units < 7 else f"veinti{multimodal.NAMES[units]}"
    ten = "veinte" if tens == 2 else _TENS[tens - 3]
    return f"{ten} y {multimodal.NAMES[units]}" if units else ten


VOCABULARY = Vocabulary("".join(map(spelled, range(100))))
"""Las letras de los nombres, y el espacio; las tres primeras son relleno, comienzo y fin."""

LENGTH = 1 + max(len(spelled(number)) for number in range(100))
"""Lo que ocupa el nombre más largo, con el fin."""


class Example(NamedTuple):
    """Un número, y los sitios de sus dos dígitos en :func:`atento.tasks.digits.load`."""

    number: int
    places: tuple[int, int]

    def __str__(self) -> str:
        return f"[{self.number:02d}] «{spelled(self.number)}»"


# --- Generar --------------------------------------------------------------------------------------


@typed(validate=checks.spelled)
def is_held_out(number: int) -> bool:
    """Dice si un número está reservado: desde el 20, los que dan resto 3 al dividir entre 4.

    Son veinte, dos o tres por decena y cuatro por cifra impar de las unidades.

    Errores: ``TypeError`` o ``ValueError`` si no es un entero de 0 a 99.
    """
    return number >= 20 and number % 4 == 3


@typed(validate=checks.numbers_of)
def numbers_of(numbers: str = "any") -> list[int]:
    """Los números de una clase: 80 que se entrenan, 20 reservados o los 100.

    Errores: ``ValueError`` si ``numbers`` no es una de ``NUMBERS``.
    """
    return [n for n in range(100) if numbers == "any" or is_held_out(n) == (numbers == "unseen")]


@typed(validate=checks.generate)
def generate(
    n: int,
    rng: torch.Generator | int,
    *,
    split: str = "train",
    numbers: str = "seen",
    distinct: bool = False,
) -> list[Example]:
    """Sortea ``n`` ejemplos; con la misma semilla, los mismos.

    ``split`` dice de qué parte de :func:`atento.tasks.digits.split` sale la letra: «train»,
    «validation» o «test». Con ``distinct``, ningún número sale dos veces: en un lote así, ningún
    texto vale para dos imágenes.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0, no hay tantos números
    distintos, ``split`` o ``numbers`` no son de los suyos o ``rng`` no es un generador ni un
    entero.
    """
    source, options = python_rng(rng), numbers_of(numbers)
    written = multimodal._written(split)
    chosen = source.sample(options, n) if distinct else source.choices(options, k=n)
    return [
        Example(x, (source.choice(written[x // 10]), source.choice(written[x % 10])))
        for x in chosen
    ]


# --- Lotes y puntuar ------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Un lote: imágenes (batch, 1, 16, 16), sus textos (batch, length) y sus números (batch,).

    Cada texto acaba en el fin, y detrás lleva relleno.
    """

    images: Float[Tensor, "batch 1 16 16"]
    text: Int[Tensor, "batch length"]
    numbers: Int[Tensor, " batch"]

    def to(self, device: torch.device | str) -> "Batch":
        """El mismo lote, en otro dispositivo.

        Errores: ``ValueError`` si no existe ``device``.
        """
        where = require_device(device)
        return Batch(*(tensor.to(where) for tensor in self))


@typed(validate=checks.texts)
def texts(numbers: Sequence[int]) -> Int[Tensor, "n length"]:
    """Los nombres de unos números, letra a letra, con el fin y relleno hasta ``LENGTH``.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros de 0 a 99, o no hay ninguno.
    """
    rows = [[*VOCABULARY.encode([*spelled(number)]), EOS_ID] for number in numbers]
    return writing.pad([*rows, [0] * LENGTH])[:-1]


@typed(validate=checks.batch)
def batch(examples: Sequence[Example]) -> Batch:
    """Los ejemplos como los lee un modelo: la fila ``i`` del texto dice la imagen ``i``.

    Errores: ``TypeError`` o ``ValueError`` si no hay ejemplos o alguno no lo es.
    """
    known = multimodal.normalized()
    pairs = known.images[torch.tensor([e.places for e in examples])]  # (batch, 2, 8, 8)
    images = pairs.new_full((len(examples), 1, SIDE, SIDE), known.background)
    top = (SIDE - digits.SIDE) // 2
    images[:, 0, top : top + digits.SIDE] = torch.cat([pairs[:, 0], pairs[:, 1]], dim=-1)
    numbers = [e.number for e in examples]
    return Batch(images, texts(numbers), torch.tensor(numbers))


@typed(validate=checks.score)
def score(
    model: Callable[[Tensor, Tensor], Tensor],
    examples: Sequence[Example],
    *,
    among: str = "any",
    device: torch.device | str = "cpu",
) -> dict[str, float]:
    """Cuántas veces se encuentra la pareja; ``model`` da similitudes ``(image, text)``.

    ``text_of_image`` es la parte de las imágenes a las que se parece más su nombre que los demás
    candidatos, que son los números de ``among``; ``image_of_text``, la de los nombres a los que se
    parece más una imagen suya, entre las de ``examples``; ``n`` y ``candidates``, cuántas imágenes
    y cuántos nombres. Un módulo se examina evaluando y sin gradientes.

    Errores: los de :func:`batch`, y ``TypeError`` o ``ValueError`` si ``model`` no es una función o
    no da ``(image, text)``, ``among`` no es una de ``NUMBERS``, le faltan números de ``examples`` o
    no existe ``device``.
    """
    whole, options = batch(examples), numbers_of(among)
    if not set(whole.numbers.tolist()) <= set(options):
        raise ValueError(f"among: se esperaba que tuviera los números de examples; llegó {among}.")
    with torch.no_grad(), evaluating(model) if isinstance(model, nn.Module) else nullcontext():
        found = model(whole.images.to(device), texts(options).to(device))
    alike = require_logits(found, (len(examples), len(options))).cpu()
    candidates = torch.tensor(options)
    named = candidates[alike.argmax(dim=1)] == whole.numbers  # (image,)
    present = torch.isin(candidates, whole.numbers)
    shown = whole.numbers[alike.argmax(dim=0)] == candidates  # (text,)
    return {
        "text_of_image": named.float().mean().item(),
        "image_of_text": shown[present].float().mean().item(),
        "n": len(examples),
        "candidates": len(options),
    }
