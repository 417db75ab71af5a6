"""Codificación por pares de bytes (BPE): se une, una vez tras otra, la pareja más frecuente.

Sennrich et al. (2016) señalan el final de cada palabra con «</w>»; aquí, como en GPT-2, lo que se
señala es el comienzo, y la señal es el propio espacio: « niño» es una palabra de cinco símbolos.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from atento.amounts import require_size
from atento.checks import tokenizers as checks
from atento.tokenizers.base import UNK, Settings, Tokenizer
from atento.tokenizers.pairs import Pair, PairIndex
from atento.tokenizers.text import count_words, visible

_NEVER = float("inf")


def byte_alphabet() -> dict[int, str]:
    """Un carácter visible para cada uno de los 256 bytes; los que ya lo son se quedan igual.

    Fuente: Radford et al. (2019), ``bytes_to_unicode`` del código publicado de GPT-2.
    """
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {b: chr(256 + i) for i, b in enumerate(others)}


BYTES = byte_alphabet()
_FROM_BYTES = {character: byte for byte, character in BYTES.items()}


# --- Entrenar -------------------------------------------------------------------------------------


def learn_merges(pairs: PairIndex, vocab_size: int) -> list[Pair]:
    """Une la pareja más frecuente hasta tener ``vocab_size`` símbolos o quedarse sin parejas.

    Devuelve las uniones por orden. A igualdad gana la pareja cuyos símbolos llegaron antes al
    vocabulario. Unir dos veces lo mismo por caminos distintos (``a`` + ``bc``, ``ab`` + ``c``) da
    dos uniones y un solo símbolo.

    Fuente: Sennrich et al. (2016), algoritmo 1.
    """
    merges: list[Pair] = []
    while len(pairs.ids) < vocab_size and (pair := pairs.best()):
        merges.append(pair)
        pairs.merge(pair)
    return merges


# --- Cortar ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Merge:
    """Un paso al cortar una palabra: qué unión se aplica, su número y cómo queda la palabra."""

    rank: int
    pair: Pair
    pieces: tuple[str, ...]


def apply_merges(symbols: Sequence[str], ranks: dict[Pair, int]) -> Iterator[Merge]:
    """Aplica a una palabra las uniones aprendidas, y da cada paso.

    Cada vez se une la pareja que se aprendió antes y, si sale varias veces, la de más a la
    izquierda.

    Fuente: Sennrich et al. (2016), apartado 3.2.
    """
    pieces = list(symbols)
    waiting = [ranks.get(pair, _NEVER) for pair in pairwise(pieces)]
    while waiting and (rank := min(waiting)) < _NEVER:
        i = waiting.index(rank)
        pair = (pieces[i], pieces[i + 1])
        pieces[i : i + 2] = ["".join(pair)]
        del waiting[i]
        for j in range(max(i - 1, 0), min(i + 1, len(waiting))):  # las dos parejas vecinas
            waiting[j] = ranks.get((pieces[j], pieces[j + 1]), _NEVER)
        yield Merge(rank, pair, tuple(pieces))


class _Settings(Settings, tag="bpe"):
    """Lo que se guarda de un ``BPE``."""

    merges: list[tuple[str, str]]
    byte_level: bool


class BPE(Tokenizer):
    """Piezas que resultan de uniones aprendidas, sobre caracteres o sobre bytes.

    Con ``byte_level=True`` el alfabeto son los 256 bytes de UTF-8, cada uno escrito con un carácter
    visible (el espacio es «Ġ», y «ñ», que son dos bytes, «Ã±»): nada es desconocido y no se pierde
    nada. Sin él, el alfabeto son los caracteres del corpus, y los demás son ``unk``. Unos números
    que cortan un carácter por la mitad se decodifican con «�».

    Errores: los de :class:`Tokenizer`, y ``TypeError`` o ``ValueError`` si una unión no junta dos
    piezas del vocabulario en otra.
    Fuente: Sennrich et al. (2016); sobre bytes, Radford et al. (2019).
    """

    kind, _saved = "bpe", _Settings

    def __init__(
        self,
        pieces: Iterable[str],
        merges: Sequence[Pair],
        *,
        byte_level: bool = False,
        special: Sequence[str] = (),
        unk: str | None = UNK,
        normalization: str | None = "NFC",
    ) -> None:
        super().__init__(pieces, special=special, unk=unk, normalization=normalization)
        checks.require_merges(merges, self.vocabulary[self.n_first :])
        self.merges, self.byte_level = tuple((left, right) for left, right in merges), byte_level
        self._ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        if byte_level:
            checks.require_bytes(self.vocabulary[self.n_first :], BYTES.values())

    @classmethod
    def train(
        cls,
        corpus: str | Iterable[str],
        vocab_size: int,
        *,
        byte_level: bool = False,
        min_count: int = 2,
        special: Sequence[str] = (),
        unk: str | None = UNK,
        normalization: str | None = "NFC",
    ) -> Self:
        """Aprende las uniones de un corpus, hasta tener ``vocab_size`` piezas con los especiales.

        Acaba antes, con menos piezas, si ninguna pareja sale ya ``min_count`` veces.

        Errores: ``TypeError`` o ``ValueError`` si el corpus no son textos o no dice nada, o si en
        ``vocab_size`` no caben los especiales y el alfabeto.
        """
        require_size(min_count, name="min_count")
        checks.require_special(special, unk)
        counts = count_words(corpus, normalization)
        symbols = {_symbols(word, byte_level): times for word, times in counts.items()}
        alphabet = sorted(BYTES.values()) if byte_level else sorted({c for w in symbols for c in w})
        first = len(special) + (unk is not None)
        checks.require_room(vocab_size, first, len(alphabet))
        pairs = PairIndex(symbols, alphabet, min_count)
        merges = learn_merges(pairs, vocab_size - first)
        options = dict(special=special, unk=unk, normalization=normalization)
        return cls(pairs.ids, merges, byte_level=byte_level, **options)

    def segment(self, word: str) -> list[str]:
        """Corta una palabra: sus símbolos, con todas las uniones que se pueden aplicar.

        Errores: ``TypeError`` si no es ``str``; ``ValueError`` si está vacía.
        """
        checks.require_word(word)
        pieces = _symbols(word, self.byte_level)
        for step in apply_merges(pieces, self._ranks):
            pieces = step.pieces
        return list(pieces)

    def merges_of(self, word: str) -> list[Merge]:
        """Los pasos con los que se corta una palabra, para mirarlos: ``(rank, pair, pieces)``.

        La lista está vacía si no se une nada. ``word`` lleva delante su espacio si lo tiene.

        Errores: ``TypeError`` si no es ``str``; ``ValueError`` si está vacía.
        """
        checks.require_word(word)
        return list(apply_merges(_symbols(word, self.byte_level), self._ranks))

    def _join(self, pieces: Sequence[str]) -> str:
        if not self.byte_level:
            return "".join(pieces)
        return b"".join(map(self._raw, pieces)).decode("utf-8", errors="replace")

    def _visible(self, piece: str) -> str:
        text = self._raw(piece).decode(errors="backslashreplace") if self.byte_level else piece
        return visible(text)

    def _raw(self, piece: str) -> bytes:
        """Los bytes que dice una pieza; un token especial no está escrito con bytes."""
        if self._ids[piece] < self.n_first:
            return piece.encode()
        return bytes(_FROM_BYTES[character] for character in piece)


def _symbols(word: str, byte_level: bool) -> tuple[str, ...]:
    return tuple(BYTES[byte] for byte in word.encode()) if byte_level else tuple(word)
