"""Sumar cifra a cifra: la tarea en la que cada paso depende del anterior, por la llevada.

Una suma se escribe con todos sus ceros, «310+098», y el resultado con una cifra más, «0408» o, del
revés, «8040»: así el modelo escribe primero las unidades, y cuando le toca una cifra ya tiene
delante, o en lo que acaba de escribir, todo lo que la decide.

Uno de cada diez pares de sumandos se reserva (:func:`is_held_out`), en cualquier orden y con
cualquier número de ceros delante: con ``split="train"`` no sale ninguno, y con ``split="test"``
todos lo son.

El vocabulario tiene ``VOCAB_SIZE`` = 14 números: relleno, comienzo, fin, las diez cifras y «+».
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from atento.amounts import require_kind, require_size
from atento.shapes import require_integer
from atento.tasks import writing
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID, PAD_ID, Batch

ZERO_ID = EOS_ID + 1
PLUS_ID = ZERO_ID + 10
VOCAB_SIZE = PLUS_ID + 1
MAX_DIGITS = 9
HELD_OUT = 10  # de cada cuántos pares se reserva uno

_PRIME = 2**31 - 1
_SUM = re.compile(r"\s*(\d+)\s*\+\s*(\d+)\s*", re.ASCII)


class Sum(NamedTuple):
    """Una suma: los sumandos y con cuántas cifras se escribe cada uno."""

    a: int
    b: int
    digits: int = 3

    def __str__(self) -> str:
        return f"{self.a:0{self.digits}}+{self.b:0{self.digits}}"


# --- Sumas, llevadas y reserva --------------------------------------------------------------------


def generate(
    n: int,
    rng: torch.Generator | int,
    *,
    digits: int | Sequence[int] = 3,
    split: str = "train",
    carries: int | None = None,
) -> list[Sum]:
    """Sortea ``n`` sumas; con la misma semilla, las mismas.

    ``digits`` es el número de cifras o las opciones entre las que se sortea el de cada una; los
    sumandos se sortean por igual entre todos los que caben. ``split`` es ``"train"`` o ``"test"``
    (:func:`is_held_out`). Con ``carries``, todas llevan exactamente ese número de veces.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0, ``digits`` no está entre 1
    y 9, ``split`` no es una de las dos, ``carries`` no está entre 0 y ``digits`` o no hay sumas
    así, o ``rng`` no es un generador ni un entero.
    """
    require_size(n, name="n", least=0)
    options = writing.require_options(digits, name="digits", most=MAX_DIGITS)
    writing.require_split(split)
    if carries is not None:
        require_size(carries, name="carries", least=0)
        if carries > min(options):
            raise ValueError(
                f"carries: se esperaba un entero de 0 a digits = {min(options)}; llegó {carries}."
            )
    source = writing.require_rng(rng)
    chosen = torch.tensor(options)[writing.draw(len(options), n, source)]
    pairs = torch.zeros(n, 2, dtype=torch.long)
    for width in sorted(set(chosen.tolist())):
        rows = chosen == width
        pairs[rows] = _pairs(int(rows.sum()), width, split, carries, source)
    rows = zip(*pairs.T.tolist(), chosen.tolist(), strict=True)
    return [Sum(*row) for row in rows]


def is_held_out(a: int, b: int) -> bool:
    """Si esa pareja de sumandos, en cualquier orden, está reservada para probar.

    Lo decide una función fija de los dos números, así que ninguna semilla la cambia.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros ≥ 0.
    """
    require_size(a, name="a", least=0)
    require_size(b, name="b", least=0)
    return bool(_held_out(torch.tensor([[a, b]])))


def held_out(digits: int = 3) -> list[Sum]:
    """Todas las sumas reservadas de números de hasta ``digits`` cifras, en orden.

    Errores: ``ValueError`` si ``digits`` no es 1, 2 o 3: de más cifras son demasiadas.
    """
    (digits,) = writing.require_options(digits, name="digits", most=3)
    numbers = torch.arange(10**digits)
    pairs = torch.cartesian_prod(numbers, numbers)
    return [Sum(a, b, digits) for a, b in pairs[_held_out(pairs)].tolist()]


def carries(example: Sum) -> tuple[bool, ...]:
    """En qué sitios se lleva una, de las unidades hacia arriba; ``(True, False)`` en 18 + 3.

    Errores: ``ValueError`` si ``example`` no es una suma cuyos sumandos caben en sus cifras.
    """
    _require_sums([example])
    return tuple(_carries(torch.tensor([example[:2]]), example.digits)[0].tolist())


def longest_chain(example: Sum) -> int:
    """Cuántos sitios seguidos, como mucho, pasan la llevada al siguiente.

    Errores: los de :func:`carries`.
    """
    runs = "".join("1" if carry else " " for carry in carries(example)).split()
    return max(map(len, runs), default=0)


def _pairs(
    n: int, digits: int, split: str, carries: int | None, source: torch.Generator
) -> Int[Tensor, "n 2"]:
    """Sortea sin parar y se queda con las que valen."""
    kept, found, tries = [], 0, 0
    while found < n:
        pairs = writing.draw(10**digits, 2 * max(n, 512), source).view(-1, 2)
        good = _held_out(pairs) == (split == "test")
        if carries is not None:
            good &= _carries(pairs, digits).sum(1) == carries
        kept.append(pairs[good])
        found, tries = found + len(kept[-1]), tries + 1
        if tries == 2000 and not found:
            raise ValueError(
                f"carries: no hay sumas de {digits} cifras que lleven {carries} veces en «{split}»."
            )
    return torch.cat(kept)[:n] if kept else torch.zeros(0, 2, dtype=torch.long)


def _held_out(pairs: Int[Tensor, "n 2"]) -> Bool[Tensor, " n"]:
    low, high = pairs.aminmax(dim=1)
    mixed = (low % _PRIME * 48_271 + high % _PRIME * 69_621) % _PRIME
    return mixed * mixed % _PRIME % HELD_OUT == 0


def _carries(pairs: Int[Tensor, "n 2"], digits: int) -> Bool[Tensor, "n digits"]:
    powers = 10 ** torch.arange(1, digits + 1)  # hay llevada si lo de abajo no cabe
    return (pairs[:, :, None] % powers).sum(1) >= powers


# --- Números y texto ------------------------------------------------------------------------------


def batch(examples: Sequence[Sum], *, reverse: bool = True) -> Batch:
    """Convierte sumas en un lote de números, con relleno al final.

    ``source``, ``(batch, 2 · digits + 2)``, son las cifras, el «+» y el fin; ``target``,
    ``(batch, digits + 3)``, el comienzo, el resultado (con ``reverse``, de las unidades hacia
    arriba) y el fin; ``inputs`` y ``labels`` son ``target`` sin la última y sin la primera columna.

    Errores: ``TypeError`` si ``reverse`` no es un booleano; ``ValueError`` si no hay sumas o algún
    sumando no cabe en sus cifras.
    """
    _require_sums(examples)
    _require_reverse(reverse)
    pairs = torch.tensor([example[:2] for example in examples])
    widths = [example.digits for example in examples]
    if min(widths) == max(widths):
        return _even_batch(pairs, widths[0], reverse)
    rows = [_even_batch(pairs[i : i + 1], width, reverse) for i, width in enumerate(widths)]
    return Batch(*(writing.pad([x[i][0].tolist() for x in rows]) for i in (0, 1)))


def batches(
    n: int,
    size: int,
    rng: torch.Generator | int,
    *,
    digits: int | Sequence[int] = 3,
    reverse: bool = True,
    split: str = "train",
) -> list[Batch]:
    """``n`` lotes de ``size`` sumas, cada uno de un solo número de cifras, que se sortea.

    Errores: los de :func:`generate` y :func:`batch`, y los mismos si ``size`` no es un entero
    positivo.
    """
    require_size(n, name="n", least=0)
    require_size(size, name="size")
    _require_reverse(reverse)
    options = writing.require_options(digits, name="digits", most=MAX_DIGITS)
    source = writing.require_rng(rng)
    chosen = [options[i] for i in writing.draw(len(options), n, source).tolist()]
    return [
        batch(generate(size, source, digits=width, split=split), reverse=reverse)
        for width in chosen
    ]


def encode(text: str, *, digits: int = 3) -> Sum:
    """La suma que dice un texto como «310+98».

    Errores: ``TypeError`` si ``text`` no es un texto; ``ValueError`` si no son dos números con un
    «+» en medio o alguno no cabe en ``digits`` cifras.
    """
    if not isinstance(text, str):
        raise TypeError(f"text: se esperaba un texto; llegó {type(text).__name__}.")
    writing.require_options(digits, name="digits", most=MAX_DIGITS)
    found = _SUM.fullmatch(text)
    if found is None:
        raise ValueError(f"text: se esperaba una suma, como «310+98»; llegó «{text}».")
    for number in found.groups():
        if len(number.lstrip("0")) > digits:
            raise ValueError(
                f"text: se esperaban números de {digits} cifras como mucho; llegó «{number}»."
            )
    return Sum(int(found[1]), int(found[2]), digits)


def decode(ids: Iterable[int]) -> str:
    """El texto de unos números, en el orden en que están, hasta el fin y sin comienzo ni relleno.

    Errores: ``TypeError`` si no son una lista; ``ValueError`` si alguno no es del vocabulario.
    """
    require_kind(ids, Iterable, name="ids", wanted="una lista de números")
    signs = []
    for i in ids.tolist() if isinstance(ids, Tensor) else ids:
        if not isinstance(i, int) or not 0 <= i < VOCAB_SIZE:
            raise ValueError(f"ids: se esperaban números de 0 a {VOCAB_SIZE - 1}; llegó {i!r}.")
        if i == EOS_ID:
            break
        if i not in (PAD_ID, BOS_ID):
            signs.append("+" if i == PLUS_ID else str(i - ZERO_ID))
    return "".join(signs)


def places(ids: Int[Tensor, "batch n"]) -> Int[Tensor, "batch n"]:
    """El lugar de cada cifra: 0 las unidades, 1 las decenas… Sirve de ``Positions.places``.

    En una suma, el de cada cifra dentro de su sumando, y −1 en lo demás; en un resultado del revés,
    que empieza por el comienzo, el de la cifra que toca escribir. Con él, «gira según el lugar»
    significa lo mismo en las dos pilas, y las cifras que se suman están a distancia 0.

    Errores: ``TypeError`` si ``ids`` no es de enteros; ``ValueError`` si no es (batch, n).
    """
    require_integer(ids, name="ids")
    if ids.ndim != 2:
        raise ValueError(f"ids: se esperaba la forma (batch, n); llegó {tuple(ids.shape)}.")
    columns = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    digit = (ids >= ZERO_ID) & (ids < PLUS_ID)
    ahead = digit.flip(1).cumsum(1).flip(1)  # las cifras de aquí al final
    second = (ahead * (ids == PLUS_ID)).amax(1, keepdim=True)  # las del segundo sumando
    first = (ids == PLUS_ID).flip(1).cumsum(1).flip(1) > 0
    place = torch.where(digit, ahead - 1 - second * first, -1)
    written = ids[:, :1] == BOS_ID  # un resultado
    return torch.where(written, columns, place)


def _even_batch(pairs: Int[Tensor, "n 2"], digits: int, reverse: bool) -> Batch:
    """Un lote con las mismas cifras en todas las sumas."""
    result = _digits(pairs.sum(1), digits + 1)
    result = result.flip(1) if reverse else result
    plus, start, end = (
        torch.full((len(pairs), 1), i, dtype=torch.long) for i in (PLUS_ID, BOS_ID, EOS_ID)
    )
    a, b = (_digits(pairs[:, i], digits) for i in (0, 1))
    return Batch(torch.cat([a, plus, b, end], 1), torch.cat([start, result, end], 1))


def _digits(numbers: Int[Tensor, " n"], width: int) -> Int[Tensor, "n width"]:
    powers = 10 ** torch.arange(width - 1, -1, -1)
    return numbers[:, None] // powers % 10 + ZERO_ID


# --- Escribir y puntuar ---------------------------------------------------------------------------


def answers(
    model: Any,
    examples: Sequence[Sum],
    *,
    reverse: bool = True,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> list[list[int]]:
    """Lo que ``model`` escribe ante cada suma, hasta el fin, que va incluido si lo escribió.

    Errores: los de :func:`atento.tasks.writing.write` y :func:`batch`.
    """

    def lot(chosen: Sequence[Sum]) -> Batch:
        return batch(chosen, reverse=reverse)

    return writing.write(
        model, examples, lot, size=lambda x: x.digits, batch_size=batch_size, device=device
    )


def score(
    model: Any,
    examples: Sequence[Sum],
    *,
    reverse: bool = True,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Puntúa los resultados de ``model``, sin ayuda al escribir.

    ``exact`` es la proporción de sumas con todas las cifras y el fin en su sitio; ``token``, la de
    sitios acertados. ``by_digits``, ``by_carries`` y ``by_chain`` dan lo mismo, con su ``n``, por
    el número de cifras, el de llevadas y la cadena más larga; ``by_place``, el acierto en cada
    lugar del resultado, de las unidades hacia arriba.

    Errores: los de :func:`answers`.
    """
    outputs = answers(model, examples, reverse=reverse, batch_size=batch_size, device=device)
    wanted = [batch([x], reverse=reverse).labels[0].tolist() for x in examples]
    marks = [writing.mark(*pair) for pair in zip(outputs, wanted, strict=True)]
    keys = {
        "by_digits": [x.digits for x in examples],
        "by_carries": [sum(carries(x)) for x in examples],
        "by_chain": [longest_chain(x) for x in examples],
    }
    groups = {name: writing.means_by(values, marks) for name, values in keys.items()}
    return {**writing.means(marks), **groups, "by_place": _by_place(outputs, wanted, reverse)}


def _by_place(
    outputs: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]], reverse: bool
) -> dict[int, float]:
    hits: dict[int, list[bool]] = {}
    for written, right in zip(outputs, wanted, strict=True):
        n = len(right) - 1  # sin el fin
        for column in range(n):
            same = column < len(written) and written[column] == right[column]
            hits.setdefault(column if reverse else n - 1 - column, []).append(same)
    return {place: sum(hits[place]) / len(hits[place]) for place in sorted(hits)}


# --- Las puertas ----------------------------------------------------------------------------------


def _require_reverse(reverse: bool) -> None:
    if not isinstance(reverse, bool):
        raise TypeError(f"reverse: se esperaba True o False; llegó {reverse!r}.")


def _require_sums(examples: Sequence[Sum]) -> None:
    writing.require_examples(examples)
    for example in examples:
        if not isinstance(example, Sum):
            raise ValueError(f"examples: se esperaban sumas, como Sum(310, 98); llegó {example!r}.")
        a, b, digits = example
        if not (1 <= digits <= MAX_DIGITS and 0 <= min(a, b) and max(a, b) < 10**digits):
            raise ValueError(
                f"examples: se esperaban sumandos de {digits} cifras como mucho; llegó {example!r}."
            )
