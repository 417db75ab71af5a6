"""La puerta de :mod:`atento.tokenizers`: textos, corpus, vocabularios y números."""

import math
from collections.abc import Collection, Iterable, Sequence
from os import PathLike
from typing import Any

from torch import Generator, Tensor

from atento.amounts import require_number, require_size

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def require_text(text: str, *, name: str = "text") -> None:
    """Lanza ``TypeError`` si no es ``str`` y ``ValueError`` si no se puede escribir en UTF-8."""
    if not isinstance(text, str):
        raise TypeError(f"{name}: se esperaba un texto (str); llegó {type(text).__name__}.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}: se esperaba un texto que se pueda escribir en UTF-8; en la posición "
            f"{error.start} llegó {text[error.start]!r}, media pareja de UTF-16."
        ) from None


def require_corpus(corpus: str | Iterable[str]) -> list[str]:
    """Devuelve los textos del corpus; lanza si no son textos o si en ninguno hay nada."""
    if not isinstance(corpus, Iterable) or isinstance(corpus, bytes):
        raise TypeError(
            f"corpus: se esperaba un texto o una serie de textos; llegó {type(corpus).__name__}."
        )
    texts = [corpus] if isinstance(corpus, str) else list(corpus)
    for i, text in enumerate(texts):
        require_text(text, name="corpus" if isinstance(corpus, str) else f"corpus[{i}]")
    if not any(text.strip() for text in texts):
        raise ValueError(f"corpus: se esperaba algún texto; llegó vacío ({len(texts)} textos).")
    return texts


def require_form(normalization: str | None) -> None:
    """Lanza ``ValueError`` si no es una forma de normalización de Unicode ni ``None``."""
    if normalization is not None and normalization not in FORMS:
        raise ValueError(
            f"normalization: se esperaba una de {', '.join(FORMS)}, o None; llegó "
            f"{normalization!r}."
        )


def require_room(vocab_size: int, special: int, alphabet: int) -> None:
    """Lanza si en ``vocab_size`` no caben los tokens especiales y el alfabeto."""
    require_size(vocab_size, name="vocab_size")
    least = special + alphabet
    if vocab_size < least:
        raise ValueError(
            f"vocab_size: se esperaba al menos {least}, que son {special} tokens especiales y "
            f"{alphabet} símbolos del alfabeto del corpus; llegó {vocab_size}."
        )


def require_special(special: Sequence[str], unk: str | None) -> None:
    """Lanza si un token especial no es un nombre como ``<pad>``, que no se confunde con texto."""
    if isinstance(special, str) or not isinstance(special, Sequence):
        raise TypeError(
            f"special: se esperaba una lista de nombres; llegó {type(special).__name__}."
        )
    for name, token in [*(("special", token) for token in special), ("unk", unk)]:
        if token is not None:
            require_text(token, name=name)
        if token is not None and (len(token) < 3 or token[0] + token[-1] not in ("<>", "[]")):
            raise ValueError(
                f"{name}: se esperaba un nombre entre ángulos o corchetes, como «<pad>» o "
                f"«[PAD]», que ningún trozo de palabra puede tener; llegó {token!r}."
            )


def require_list(values: Iterable, *, name: str, kind: type = Iterable) -> None:
    """Lanza ``TypeError`` si no se puede recorrer o es un texto, que se leería letra a letra."""
    if isinstance(values, str) or not isinstance(values, kind):
        raise TypeError(f"{name}: se esperaba una lista; llegó {type(values).__name__}.")


def require_pieces(vocabulary: Sequence[str]) -> None:
    """Lanza si el vocabulario está vacío, tiene piezas vacías o repetidas."""
    if not all(isinstance(piece, str) for piece in vocabulary):
        raise TypeError("pieces: se esperaba una lista de textos, una pieza en cada uno.")
    if not vocabulary or not all(vocabulary):
        raise ValueError("pieces: se esperaban piezas no vacías; llegó alguna vacía, o ninguna.")
    if len(set(vocabulary)) < len(vocabulary):
        twice = next(piece for i, piece in enumerate(vocabulary) if piece in vocabulary[:i])
        raise ValueError(f"pieces: se esperaban piezas distintas; llegó {twice!r} dos veces.")


def require_merges(merges: Sequence[tuple[str, str]], pieces: Iterable[str]) -> None:
    """Lanza si una unión no junta dos piezas conocidas en otra también conocida."""
    require_list(merges, name="merges", kind=Collection)
    known = set(pieces)
    for i, merge in enumerate(merges):
        listed = isinstance(merge, (tuple, list)) and all(isinstance(x, str) for x in merge)
        if not listed or len(merge) != 2:
            raise TypeError(f"merges[{i}]: se esperaba una pareja de piezas; llegó {merge!r}.")
        left, right = merge
        missing = next((x for x in (left, right, left + right) if x not in known), None)
        if missing is not None:
            raise ValueError(
                f"merges[{i}]: se esperaban piezas del vocabulario; {missing!r} no está en él."
            )
    if len({tuple(merge) for merge in merges}) < len(merges):
        raise ValueError("merges: se esperaban uniones distintas; llegó alguna repetida.")


def require_bytes(pieces: Iterable[str], symbols: Iterable[str]) -> None:
    """Lanza si las piezas no se escriben con los símbolos de los 256 bytes, o falta alguno."""
    symbols, pieces = set(symbols), set(pieces)
    strange = next((piece for piece in pieces if not symbols.issuperset(piece)), None)
    if strange is not None or not symbols <= pieces:
        came = "falta alguno" if strange is None else f"llegó {strange!r}"
        raise ValueError(
            f"pieces: con byte_level se esperaban piezas escritas con los símbolos de los 256 "
            f"bytes, y los 256; {came}."
        )


def require_option(value: str, options: Iterable[str], *, name: str) -> None:
    """Lanza ``ValueError`` si no es una de las opciones."""
    if value not in options:
        raise ValueError(f"{name}: se esperaba una de {', '.join(options)}; llegó {value!r}.")


def require_scores(scores: Sequence[float], pieces: Sequence[str]) -> None:
    """Lanza si no hay una log-probabilidad finita, como mucho 0, por pieza."""
    require_list(scores, name="scores", kind=Collection)
    if len(scores) != len(pieces):
        raise ValueError(
            f"scores: se esperaba un número por pieza, {len(pieces)}; llegaron {len(scores)}."
        )
    for i, score in enumerate(scores):
        if not isinstance(score, (int, float)):
            raise TypeError(f"scores[{i}]: se esperaba un número; llegó {type(score).__name__}.")
        if not (math.isfinite(score) and score <= 0):
            raise ValueError(
                f"scores[{i}]: se esperaba el logaritmo de una probabilidad, finito y como mucho "
                f"0; llegó {score}."
            )


def require_ids(ids: Any, size: int) -> list[int]:
    """Devuelve los números como lista; lanza si no son enteros de ``0`` a ``size − 1``."""
    if isinstance(ids, Tensor):
        if ids.ndim != 1:
            raise ValueError(f"ids: se esperaba un solo eje, (n,); llegó {tuple(ids.shape)}.")
        ids = ids.tolist()
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise TypeError(f"ids: se esperaba una fila de enteros; llegó {type(ids).__name__}.")
    row = list(ids)
    for i in row:
        if isinstance(i, bool) or not hasattr(i, "__index__"):
            raise TypeError(f"ids: se esperaba una fila de enteros; llegó {type(i).__name__}.")
        if not 0 <= i < size:
            raise ValueError(f"ids: se esperaban números de 0 a {size - 1}; llegó {i}.")
    return [int(i) for i in row]


def require_path(path: Any) -> None:
    """Lanza ``TypeError`` si no es una ruta."""
    if not isinstance(path, (str, PathLike)):
        raise TypeError(f"path: se esperaba una ruta; llegó {type(path).__name__}.")


def require_word(word: str) -> None:
    """Lanza si ``word`` no es un texto con al menos un carácter."""
    require_text(word, name="word")
    if not word:
        raise ValueError("word: se esperaba al menos un carácter; llegó el texto vacío.")


def require_draw(word: str, generator: Any, power: float) -> None:
    """Lanza si no se puede cortar ``word`` al azar con ese generador y esa potencia."""
    require_word(word)
    if not isinstance(generator, Generator):
        raise TypeError(
            f"generator: se esperaba un generador de PyTorch, como los de atento.rng; llegó "
            f"{type(generator).__name__}."
        )
    require_number(power, name="power")
    if not 0 <= power < math.inf:
        raise ValueError(f"power: se esperaba un número finito, como poco 0; llegó {power}.")
