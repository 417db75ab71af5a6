"""Analizar expresiones: de ``(3+x)*2`` a su árbol, escrito en orden prefijo, ``*+3x2``.

Una expresión es una hoja (una cifra o una letra) o una operación de dos expresiones. Se lee con
todos sus paréntesis menos los de fuera, y se escribe la operación delante: como cada una lleva
exactamente dos operandos, el prefijo no necesita paréntesis y dice un solo árbol. Para saber qué
operación va primero hay que encontrar el paréntesis que cierra cada uno: cuanto más hondo es el
árbol, más lejos está.

Uno de cada diez árboles se reserva (:func:`is_held_out`): con ``split="train"`` no sale ninguno, y
con ``split="test"`` todos lo son. La profundidad se elige con ``depths``: reservar una es no
pedirla al entrenar.

El vocabulario tiene ``VOCAB_SIZE`` = 22 números: relleno, comienzo, fin y 19 signos.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from atento.amounts import require_kind, require_size
from atento.tasks import writing
from atento.tasks.translation.sentences import python_rng
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID, PAD_ID, Batch

OPERATIONS = "+-*/"
LEAVES = "0123456789xyz"
SIGNS = "()" + OPERATIONS + LEAVES
FIRST_SIGN = EOS_ID + 1
VOCAB_SIZE = FIRST_SIGN + len(SIGNS)
MAX_DEPTH = 8
HELD_OUT = 10  # de cada cuántos árboles se reserva uno
POOL = 16  # de cuántos lotes se juntan los ejemplos para repartirlos por longitudes

_ID = {sign: FIRST_SIGN + i for i, sign in enumerate(SIGNS)}

Tree = str | tuple[str, "Tree", "Tree"]
"""Un árbol: una hoja, «3», o ``(operación, izquierda, derecha)``."""


# --- Árboles --------------------------------------------------------------------------------------


def generate(
    n: int,
    rng: torch.Generator | int,
    *,
    depths: int | Sequence[int] = range(1, 4),
    split: str = "train",
) -> list[Tree]:
    """Sortea ``n`` árboles; con la misma semilla, los mismos.

    ``depths`` es la profundidad o las opciones entre las que se sortea la de cada uno, por igual.
    En uno de profundidad d, uno de los dos lados mide d − 1 y el otro, lo que salga de 0 a d − 1.
    ``split`` es ``"train"`` o ``"test"`` (:func:`is_held_out`).

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0, ``depths`` no está entre 1
    y 8, ``split`` no es una de las dos o ``rng`` no es un generador ni un entero.
    """
    require_size(n, name="n", least=0)
    options = writing.require_options(depths, name="depths", most=MAX_DEPTH)
    wanted, source = writing.require_split(split) == "test", python_rng(rng)
    trees: list[Tree] = []
    while len(trees) < n:
        tree = _grow(source.choice(options), source)
        if _held_out(prefix(tree)) == wanted:
            trees.append(tree)
    return trees


def is_held_out(tree: Tree) -> bool:
    """Si ese árbol está reservado para probar; lo decide una función fija, y ninguna semilla.

    Errores: ``ValueError`` si no es un árbol.
    """
    _require_trees([tree])
    return _held_out(prefix(tree))


def depth(tree: Tree) -> int:
    """Cuántas operaciones hay de la raíz a la hoja más honda; 0 en una hoja."""
    return 0 if isinstance(tree, str) else 1 + max(depth(tree[1]), depth(tree[2]))


def infix(tree: Tree) -> str:
    """La expresión, con todos los paréntesis menos los de fuera: «(3+x)*2»."""
    if isinstance(tree, str):
        return tree
    left, right = (infix(x) if isinstance(x, str) else f"({infix(x)})" for x in tree[1:])
    return left + tree[0] + right


def prefix(tree: Tree) -> str:
    """El árbol en orden prefijo: primero la operación y después sus dos lados, ``*+3x2``."""
    return tree if isinstance(tree, str) else tree[0] + prefix(tree[1]) + prefix(tree[2])


def from_prefix(text: str) -> Tree:
    """El árbol de un texto en orden prefijo; es el inverso de :func:`prefix`.

    Errores: ``TypeError`` si ``text`` no es un texto; ``ValueError`` si lleva un signo que no es,
    falta un operando o sobra algo.
    """
    _require_text(text, OPERATIONS + LEAVES)
    tree, rest = _read_prefix(text, text)
    if rest:
        raise ValueError(f"text: se esperaba un solo árbol; en «{text}» sobra «{rest}».")
    return tree


def from_infix(text: str) -> Tree:
    """El árbol de una expresión con todos sus paréntesis; es el inverso de :func:`infix`.

    Errores: ``TypeError`` si ``text`` no es un texto; ``ValueError`` si lleva un signo que no es,
    falta algo o hay dos operaciones sin paréntesis, como en «3+x*2».
    """
    _require_text(text, SIGNS)
    tree, rest = _read_infix(text, text)
    if rest:
        raise ValueError(f"text: se esperaba una expresión; en «{text}» sobra «{rest}».")
    return tree


def _grow(size: int, source: random.Random) -> Tree:
    """Un árbol de profundidad exacta."""
    if size == 0:
        return source.choice(LEAVES)
    sides = [_grow(size - 1, source), _grow(int(source.random() * size), source)]
    if source.random() < 0.5:
        sides.reverse()
    return source.choice(OPERATIONS), *sides


def _held_out(text: str) -> bool:
    return zlib.crc32(text.encode()) % HELD_OUT == 0


def _read_prefix(text: str, whole: str) -> tuple[Tree, str]:
    """El árbol del principio y lo que queda."""
    if not text:
        raise ValueError(f"text: a «{whole}» le falta un operando.")
    sign, rest = text[0], text[1:]
    if sign in LEAVES:
        return sign, rest
    left, rest = _read_prefix(rest, whole)
    right, rest = _read_prefix(rest, whole)
    return (sign, left, right), rest


def _read_infix(text: str, whole: str) -> tuple[Tree, str]:
    """Un término y, si le sigue una operación, otro; y lo que queda."""
    left, rest = _read_term(text, whole)
    if not rest or rest[0] not in OPERATIONS:
        return left, rest
    right, after = _read_term(rest[1:], whole)
    return (rest[0], left, right), after


def _read_term(text: str, whole: str) -> tuple[Tree, str]:
    """Una hoja o una operación entre paréntesis, y lo que queda."""
    if text and text[0] in LEAVES:
        return text[0], text[1:]
    if not text or text[0] != "(":
        raise ValueError(f"text: en «{whole}» falta un operando antes de «{text}».")
    tree, rest = _read_infix(text[1:], whole)
    if not rest or rest[0] != ")" or isinstance(tree, str):
        raise ValueError(f"text: en «{whole}» hay paréntesis que no abrazan una operación.")
    return tree, rest[1:]


# --- Números y texto ------------------------------------------------------------------------------


def encode(text: str) -> list[int]:
    """Los números de los signos de un texto, uno por signo, sin fin.

    Errores: ``TypeError`` si ``text`` no es un texto; ``ValueError`` si algún signo no está.
    """
    _require_text(text, SIGNS)
    return [_ID[sign] for sign in text]


def decode(ids: Iterable[int]) -> str:
    """El texto de unos números, hasta el fin y sin comienzo ni relleno.

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
            signs.append(SIGNS[i - FIRST_SIGN])
    return "".join(signs)


def batch(trees: Sequence[Tree]) -> Batch:
    """Convierte árboles en un lote de números, con relleno al final.

    ``source``, ``(batch, source)``, es la expresión y el fin; ``target``, ``(batch, target)``, el
    comienzo, el prefijo y el fin; ``inputs`` y ``labels`` son ``target`` sin la última y sin la
    primera columna.

    Errores: ``ValueError`` si no hay árboles o algo no lo es.
    """
    _require_trees(trees)
    return Batch(
        writing.pad([[*encode(infix(tree)), EOS_ID] for tree in trees]),
        writing.pad([[BOS_ID, *encode(prefix(tree)), EOS_ID] for tree in trees]),
    )


def batches(
    n: int,
    size: int,
    rng: torch.Generator | int,
    *,
    depths: int | Sequence[int] = range(1, 4),
    split: str = "train",
) -> list[Batch]:
    """``n`` lotes de ``size`` árboles; los de un lote se parecen en longitud.

    Se sortean los de ``POOL`` lotes, se ordenan por longitud, se cortan y los lotes se barajan: así
    se gasta poco en relleno.

    Errores: los de :func:`generate`, y los mismos si ``size`` no es un entero positivo.
    """
    require_size(n, name="n", least=0)
    require_size(size, name="size")
    source, lots = python_rng(rng), []
    while len(lots) < n:
        together = min(POOL, n - len(lots))
        pool = generate(together * size, source.getrandbits(32), depths=depths, split=split)
        pool.sort(key=lambda tree: len(prefix(tree)))
        cut = [batch(pool[i : i + size]) for i in range(0, len(pool), size)]
        source.shuffle(cut)
        lots += cut
    return lots


# --- Escribir y puntuar ---------------------------------------------------------------------------


def answers(
    model: Any,
    trees: Sequence[Tree],
    *,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> list[list[int]]:
    """Lo que ``model`` escribe ante cada expresión, hasta el fin, incluido si lo escribió.

    Errores: los de :func:`atento.tasks.writing.write` y :func:`batch`.
    """
    size = {"size": lambda tree: len(prefix(tree))}
    return writing.write(model, trees, batch, **size, batch_size=batch_size, device=device)


def score(
    model: Any,
    trees: Sequence[Tree],
    *,
    batch_size: int = 256,
    device: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Puntúa los árboles que escribe ``model``, sin ayuda al escribir.

    ``exact`` es la proporción de árboles idénticos; ``token``, la de sitios acertados, contando el
    fin; ``valid``, la de respuestas que son un árbol, el que sea. ``by_depth`` y ``by_length``
    (signos de la expresión) dan ``exact``, ``token`` y su ``n`` por separado.

    Errores: los de :func:`answers`.
    """
    outputs = answers(model, trees, batch_size=batch_size, device=device)
    marks = [
        writing.mark(written, [*encode(prefix(tree)), EOS_ID])
        for written, tree in zip(outputs, trees, strict=True)
    ]
    return {
        **writing.means(marks),
        "valid": sum(map(_is_valid, outputs)) / len(outputs),
        "by_depth": writing.means_by(map(depth, trees), marks),
        "by_length": writing.means_by((len(infix(tree)) for tree in trees), marks),
    }


def _is_valid(written: Sequence[int]) -> bool:
    """Si lo escrito es un árbol y acaba en fin."""
    if not written or written[-1] != EOS_ID:
        return False
    try:
        from_prefix(decode(written))
    except ValueError:
        return False
    return True


# --- Las puertas ----------------------------------------------------------------------------------


def _require_text(text: str, signs: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"text: se esperaba un texto; llegó {type(text).__name__}.")
    strange = [sign for sign in text if sign not in signs]
    if strange:
        raise ValueError(f"text: se esperaban signos de «{signs}»; llegó «{strange[0]}».")


def _require_trees(trees: Sequence[Tree]) -> None:
    writing.require_examples(trees)
    for tree in trees:
        if not _is_tree(tree):
            raise ValueError(f"trees: se esperaban árboles, como ('+', '3', 'x'); llegó {tree!r}.")


def _is_tree(tree: Any) -> bool:
    if isinstance(tree, str):
        return len(tree) == 1 and tree in LEAVES
    if not isinstance(tree, tuple) or len(tree) != 3 or tree[0] not in tuple(OPERATIONS):
        return False
    return _is_tree(tree[1]) and _is_tree(tree[2])
