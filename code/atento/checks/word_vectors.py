"""La puerta de :mod:`atento.word_vectors`: frases, recuentos, parejas y palabras conocidas."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from atento.amounts import require_number, require_positive, require_size
from atento.checks.similarity import require_shape
from atento.shapes import require_finite, require_floating, require_integer

WEIGHTS = ("harmonic", "linear", "flat")


def require_text(text: str, *, name: str) -> None:
    """Lanza ``TypeError`` si ``text`` no es un texto."""
    if not isinstance(text, str):
        raise TypeError(f"{name}: se esperaba un texto; llegó {type(text).__name__}.")


def sentences(sentences: Iterable[Any], min_count: int) -> None:
    """Lanza si ``sentences`` no es una colección de textos o de listas de palabras."""
    require_size(min_count, name="min_count")
    if isinstance(sentences, str) or not isinstance(sentences, Sequence):
        raise TypeError(
            f"sentences: se esperaba una lista de frases; llegó {type(sentences).__name__}."
        )
    for row in sentences:
        listed = isinstance(row, Sequence) and all(isinstance(word, str) for word in row)
        if not listed:
            raise TypeError(f"sentences: se esperaban textos o listas de palabras; llegó {row!r}.")


def require_words(words: Sequence[str], min_count: int) -> None:
    """Lanza ``ValueError`` si no queda ninguna palabra."""
    if not words:
        raise ValueError(
            f"sentences: se esperaba alguna palabra que saliera {min_count} veces o más "
            f"(min_count); no hay ninguna."
        )


def radius_pairs(ids: Tensor, sentence: Tensor, radius: Tensor) -> None:
    """Lanza si los tres no son de enteros, (n,)."""
    for name, value in (("ids", ids), ("sentence", sentence), ("radius", radius)):
        require_integer(value, name=name)
        if value.ndim != 1 or value.shape != ids.shape:
            raise ValueError(
                f"{name}: se esperaba la forma (n,), como ids {tuple(ids.shape)}; llegó "
                f"{tuple(value.shape)}."
            )


def _require_counts(counts: Tensor) -> None:
    require_integer(counts, name="counts")
    if counts.ndim != 1 or not len(counts) or (counts < 1).any():
        raise ValueError(
            f"counts: se esperaban recuentos positivos, (vocab,); llegó la forma "
            f"{tuple(counts.shape)}, con mínimo {counts.min().item() if counts.numel() else '—'}."
        )


def keep(counts: Tensor, threshold: float = 1e-3) -> None:
    """Lanza si los recuentos o el umbral no son positivos."""
    _require_counts(counts)
    require_positive(threshold, name="threshold")


def noise(counts: Tensor, power: float = 0.75) -> None:
    """Lanza si los recuentos no son positivos o la potencia es negativa."""
    _require_counts(counts)
    _require_not_negative(power, name="power")


def _require_not_negative(value: float, *, name: str) -> None:
    require_number(value, name=name)
    if not value >= 0:
        raise ValueError(f"{name}: se esperaba un número mayor o igual que 0; llegó {value}.")


def _require_corpus(corpus: Any) -> None:
    if not all(hasattr(corpus, name) for name in ("words", "counts", "ids", "sentence")):
        raise TypeError(
            f"corpus: se esperaba un Corpus, el que da read(frases); llegó {type(corpus).__name__}."
        )


def cooccurrence(corpus: Any, *, window: int = 5, weights: str = "harmonic") -> None:
    """Lanza si ``corpus``, ``window`` o ``weights`` no valen."""
    _require_corpus(corpus)
    require_size(window, name="window")
    if weights not in WEIGHTS:
        raise ValueError(f"weights: se esperaba una de {', '.join(WEIGHTS)}; llegó {weights!r}.")


def module(self: Any, vocab: int, d_model: int) -> None:
    """Lanza si los tamaños no son enteros positivos."""
    require_size(vocab, name="vocab")
    require_size(d_model, name="d_model")


def skipgram(self: Any, center: Tensor, context: Tensor) -> None:
    """Lanza si los números no son palabras del vocabulario o los lotes no casan."""
    _pairs(self, ("center", "context"), center, context)


def glove(self: Any, row: Tensor, column: Tensor) -> None:
    """Lanza si los números no son palabras del vocabulario o los lotes no casan."""
    _pairs(self, ("row", "column"), row, column)


def _pairs(self: Any, names: tuple[str, str], first: Tensor, second: Tensor) -> None:
    vocab = self.center.num_embeddings
    for name, value in zip(names, (first, second), strict=True):
        require_integer(value, name=name)
        if value.numel() and not 0 <= int(value.min()) <= int(value.max()) < vocab:
            raise ValueError(
                f"{name}: se esperaban números de 0 a {vocab - 1}; llegaron de "
                f"{int(value.min())} a {int(value.max())}."
            )
    if first.ndim != 1:
        raise ValueError(f"{names[0]}: se esperaba la forma (batch,); llegó {tuple(first.shape)}.")
    if second.shape[:1] != first.shape or second.ndim > 2:
        raise ValueError(
            f"{names[1]}: se esperaba la forma (batch,) o (batch, negatives), como {names[0]} "
            f"{tuple(first.shape)}; llegó {tuple(second.shape)}."
        )


def _require_rng(rng: torch.Generator) -> None:
    if not isinstance(rng, torch.Generator):
        raise TypeError(f"rng: se esperaba un torch.Generator; llegó {type(rng).__name__}.")


def skipgram_batches(
    corpus: Any,
    size: int,
    rng: torch.Generator,
    window: int,
    negatives: int,
    threshold: float | None,
) -> None:
    """Lanza si algo no vale o en el texto no hay dos palabras juntas."""
    _require_corpus(corpus)
    for name, value in (("size", size), ("window", window), ("negatives", negatives)):
        require_size(value, name=name)
    _require_rng(rng)
    if threshold is not None:
        require_positive(threshold, name="threshold")
    if not (corpus.sentence[1:] == corpus.sentence[:-1]).any():
        raise ValueError(
            "corpus: se esperaba alguna frase con dos palabras del vocabulario; no hay ninguna."
        )


def require_some(pairs: Tensor, threshold: float | None) -> None:
    """Lanza ``ValueError`` si una vuelta al texto no deja parejas, (pairs, 2)."""
    if not len(pairs):
        raise ValueError(
            f"threshold: se esperaba un umbral que dejara alguna pareja del texto; con {threshold} "
            f"no queda ninguna."
        )


def _require_square(matrix: Tensor, *, name: str) -> None:
    require_floating(matrix, name=name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(
            f"{name}: se esperaba la forma (vocab, vocab); llegó {tuple(matrix.shape)}."
        )
    require_finite(matrix, name=name)


def _require_matrix(counts: Tensor) -> None:
    _require_square(counts, name="counts")
    if (counts < 0).any() or not (counts > 0).any():
        raise ValueError("counts: se esperaban recuentos, ninguno negativo y alguno mayor que 0.")


def glove_weight(counts: Tensor, *, x_max: float = 100.0, power: float = 0.75) -> None:
    """Lanza si los recuentos no son de coma flotante o los números no son positivos."""
    require_floating(counts, name="counts")
    require_positive(x_max, name="x_max")
    require_positive(power, name="power")


def glove_batches(
    counts: Tensor, size: int, rng: torch.Generator, x_max: float, power: float
) -> None:
    """Lanza si los recuentos, el azar o los números no valen."""
    _require_matrix(counts)
    require_size(size, name="size")
    _require_rng(rng)
    require_positive(x_max, name="x_max")
    require_positive(power, name="power")


def ppmi(counts: Tensor, *, shift: float = 1.0, power: float = 1.0) -> None:
    """Lanza si los recuentos o los números no valen."""
    _require_matrix(counts)
    require_positive(shift, name="shift")
    require_positive(power, name="power")


def svd_vectors(matrix: Tensor, d_model: int, *, power: float = 0.5) -> None:
    """Lanza si la matriz no es cuadrada, ``d_model`` no cabe o ``power`` es negativo."""
    _require_square(matrix, name="matrix")
    require_size(d_model, name="d_model")
    _require_not_negative(power, name="power")
    if d_model > len(matrix):
        raise ValueError(
            f"d_model: se esperaba un entero de 1 a vocab = {len(matrix)}; llegó {d_model}."
        )


def vectors(words: Sequence[str], vectors: Tensor) -> None:
    """Lanza si no hay un vector (vocab, d_model) por palabra, distinto de 0, o alguna se repite."""
    if isinstance(words, str) or not isinstance(words, Sequence) or not words:
        raise TypeError(f"words: se esperaba una lista de palabras; llegó {words!r}.")
    if len(set(words)) != len(words):
        repeated = next(word for word in words if list(words).count(word) > 1)
        raise ValueError(f"words: se esperaban palabras distintas; se repite {repeated!r}.")
    require_shape(vectors, "vectors", ("vocab", "d_model"), (len(words), None))
    require_finite(vectors, name="vectors")
    null = (vectors == 0).all(dim=-1)
    if null.any():
        word = words[int(null.int().argmax())]
        raise ValueError(
            f"vectors: se esperaban vectores distintos de 0; el de {word!r} es 0 y no tiene coseno."
        )


def require_known(word: str, ids: Mapping[str, int], *, name: str) -> int:
    """El número de ``word``; lanza ``ValueError`` si no está entre las palabras con vector."""
    if word not in ids:
        raise ValueError(f"{name}: se esperaba una palabra con vector; {word!r} no lo tiene.")
    return ids[word]


def require_pairs(pairs: Iterable[Sequence[str]]) -> list[Any]:
    """Las parejas; lanza ``TypeError`` si no son de dos palabras."""
    return _require_rows(pairs, 2, "pairs", "parejas (a, b)")


def require_questions(questions: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Las preguntas; lanza ``TypeError`` si no son de cuatro palabras."""
    return _require_rows(questions, 4, "questions", "analogías (a, b, c, d)")


def _require_rows(rows: Iterable, width: int, name: str, what: str) -> list[tuple[str, ...]]:
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise TypeError(f"{name}: se esperaban {what} de palabras; llegó {rows!r}.")
    listed = list(rows)
    for row in listed:
        words = isinstance(row, (tuple, list)) and all(isinstance(word, str) for word in row)
        if not words or len(row) != width:
            raise TypeError(f"{name}: se esperaban {what} de palabras; llegó {row!r}.")
    return [tuple(row) for row in listed]


def require_known_questions(known: Sequence, asked: Sequence) -> None:
    """Lanza ``ValueError`` si no se puede hacer ninguna pregunta."""
    if not known:
        raise ValueError(
            f"questions: se esperaba alguna analogía de palabras con vector; de {len(asked)} no la "
            f"hay."
        )
