"""Una pieza por carácter: el vocabulario más corto y las secuencias más largas."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

from atento.checks import tokenizers as checks
from atento.tokenizers.base import UNK, Settings, Tokenizer
from atento.tokenizers.text import count_words


class _Settings(Settings, tag="characters"):
    """Lo que se guarda de un ``Characters``."""


class Characters(Tokenizer):
    """Cada carácter (punto de código de Unicode) es una pieza.

    No pierde nada si conoce todos los caracteres. En NFD, «ñ» son dos.

    Errores: los de :class:`Tokenizer`, y ``ValueError`` si una pieza tiene más de un carácter.
    """

    kind, _saved = "characters", _Settings

    def __init__(
        self,
        pieces: Iterable[str],
        *,
        special: Sequence[str] = (),
        unk: str | None = UNK,
        normalization: str | None = "NFC",
    ) -> None:
        super().__init__(pieces, special=special, unk=unk, normalization=normalization)
        long = next((x for x in self.vocabulary[self.n_first :] if len(x) > 1), None)
        if long is not None:
            raise ValueError(f"pieces: se esperaba un carácter en cada pieza; llegó {long!r}.")

    @classmethod
    def train(
        cls,
        corpus: str | Iterable[str],
        vocab_size: int | None = None,
        *,
        special: Sequence[str] = (),
        unk: str | None = UNK,
        normalization: str | None = "NFC",
    ) -> Self:
        """Toma los caracteres del corpus, por orden de Unicode.

        Con ``vocab_size``, solo los más frecuentes que quepan tras los especiales.

        Errores: ``TypeError`` o ``ValueError`` si el corpus no son textos o no dice nada, o si en
        ``vocab_size`` no cabe ningún carácter.
        """
        checks.require_special(special, unk)
        counts = character_counts(count_words(corpus, normalization))
        if vocab_size is not None:
            first = len(special) + (unk is not None)
            checks.require_room(vocab_size, first, 1)
            common = sorted(counts, key=lambda c: (-counts[c], c))
            counts = Counter(common[: vocab_size - first])
        return cls(sorted(counts), special=special, unk=unk, normalization=normalization)

    def segment(self, word: str) -> list[str]:
        """Los caracteres de la palabra.

        Errores: ``TypeError`` si no es ``str``; ``ValueError`` si está vacía.
        """
        checks.require_word(word)
        return list(word)


def character_counts(words: Counter[str]) -> Counter[str]:
    """Cuántas veces sale cada carácter en unas palabras contadas."""
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for character in word:
            counts[character] += times
    return counts
