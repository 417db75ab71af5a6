"""WordPiece: se une lo que más sube la verosimilitud y se corta por la pieza más larga que encaja.

Las piezas que no empiezan palabra llevan «##» delante: «tokens» → «token», «##s». Los espacios se
pierden y cada signo es una palabra: por eso ``decode`` no devuelve el texto, sino sus palabras y
signos separados por un espacio.

El código con el que se entrenó el vocabulario de BERT no se publicó. Schuster y Nakajima (2012)
dicen que en cada paso se añade la pieza «que más aumenta la verosimilitud del corpus»: es
``score="likelihood"``. Lo que suele explicarse, n(ab) / (n(a) n(b)), es ``score="ratio"``: mira
cuánto se atraen dos símbolos y no cuántas veces salen, así que prefiere los raros. La biblioteca
``tokenizers`` hace en realidad BPE con «##»: es ``score="count"``.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from atento.amounts import require_size
from atento.checks import tokenizers as checks
from atento.tokenizers.base import UNK, Settings, Tokenizer
from atento.tokenizers.bpe import learn_merges
from atento.tokenizers.pairs import Pair, PairIndex
from atento.tokenizers.text import count_words, normalize, split_bare_words

PREFIX = "##"


# --- Cuánto vale unir -----------------------------------------------------------------------------


def count(n: int, left: int, right: int, total: int) -> float:
    """Las veces que sale la pareja, como en BPE."""
    return n


def ratio(n: int, left: int, right: int, total: int) -> float:
    """Las veces que sale la pareja entre las que saldría al azar, salvo una constante."""
    return n / (left * right)


def likelihood(n: int, left: int, right: int, total: int) -> float:
    """Lo que sube la log-verosimilitud del corpus al unir dos símbolos distintos, en nats.

    La probabilidad de un símbolo es su parte del total, N, y la del corpus, el producto:
    L = Σ n(s) log n(s) − N log N. Al unir, n(ab) = ``n``; n(a), n(b) y N bajan en ``n``.

    Fuente: Schuster y Nakajima (2012), apartado 3.
    """
    gain = _xlogx(n) + _xlogx(left - n) - _xlogx(left) + _xlogx(right - n) - _xlogx(right)
    return gain - _xlogx(total - n) + _xlogx(total)


SCORES = {"likelihood": likelihood, "ratio": ratio, "count": count}


def _xlogx(x: int) -> float:
    return x * math.log(x) if x > 0 else 0.0


class ScoredPairs(PairIndex):
    """Parejas puntuadas también por lo que sale cada símbolo, con «##» en los que continúan."""

    def __init__(
        self,
        words: Mapping[tuple[str, ...], int],
        alphabet: Iterable[str],
        least: int = 1,
        score: str = "likelihood",
    ) -> None:
        super().__init__(words, alphabet, least)
        self._value = SCORES[score]
        self.symbols: Counter[str] = Counter()
        for symbols, times in words.items():
            for symbol in symbols:
                self.symbols[symbol] += times
        self.total = self.symbols.total()
        self._near: defaultdict[str, set[Pair]] = defaultdict(set)
        self._meet(self.counts)

    def score(self, pair: Pair) -> float:
        """Lo que vale unir la pareja según el criterio elegido.

        Para la verosimilitud, tres símbolos iguales seguidos se tocan dos veces y se unen una.
        """
        left, right, n = self.symbols[pair[0]], self.symbols[pair[1]], self.counts[pair]
        if pair[0] == pair[1] and self._value is likelihood:
            n = min(n, left // 2)
            left -= n  # el segundo se toma de lo que deja el primero: n(a) baja en 2n
        return self._value(n, left, right, self.total)

    def join(self, left: str, right: str) -> str:
        """``to`` y ``##ken`` dan ``token``."""
        return left + right.removeprefix(PREFIX)

    def best(self) -> Pair | None:
        """La pareja que más vale, o ``None`` si ninguna mejora."""
        pair = super().best()
        return pair if pair and self.score(pair) > 0 else None

    def _update(self, pair: Pair, new: str, changes: Counter[Pair], joined: int) -> None:
        self.symbols.update({new: joined})
        for symbol in pair:
            self.symbols[symbol] -= joined
        self.total -= joined
        self.counts.update(changes)
        self._meet(changed for changed, by in changes.items() if by > 0)
        touched = (self._near[symbol] for symbol in {*pair, new})  # n(a) y n(b) han bajado
        self._push(near for near in set().union(*touched) if self.counts[near] >= self.least)

    def _meet(self, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            self._near[pair[0]].add(pair)
            self._near[pair[1]].add(pair)


# --- El tokenizador -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """Un paso al cortar una palabra: las piezas probadas, de larga a corta, y la que encajó."""

    start: int
    tried: tuple[str, ...]
    piece: str | None


class _Settings(Settings, tag="wordpiece"):
    """Lo que se guarda de un ``WordPiece``."""


class WordPiece(Tokenizer):
    """Corta cada palabra por la pieza más larga que encaja, de izquierda a derecha.

    Si en algún punto no encaja ninguna, la palabra entera es ``unk``. No hay longitud máxima de
    palabra (en el código de BERT, las de más de 200 caracteres son ``[UNK]``).

    ``decode`` pierde los espacios del texto: «¿Qué tal?» vuelve como «¿ Qué tal ?». Lo que se
    cumple es que ``encode(decode(ids)) == ids`` si ``ids`` salió de ``encode`` sin desconocidos.

    Errores: los de :class:`Tokenizer`.
    Fuente: Schuster y Nakajima (2012); Devlin et al. (2019), código publicado.
    """

    kind, _saved = "wordpiece", _Settings

    def __init__(
        self,
        pieces: Iterable[str],
        *,
        special: Sequence[str] = (),
        unk: str | None = UNK,
        normalization: str | None = "NFC",
    ) -> None:
        super().__init__(pieces, special=special, unk=unk, normalization=normalization)
        self._known = set(self.vocabulary[self.n_first :])
        self._longest = max(map(len, self._known), default=1)

    @classmethod
    def train(
        cls,
        corpus: str | Iterable[str],
        vocab_size: int,
        *,
        score: str = "likelihood",
        min_count: int = 2,
        special: Sequence[str] = (),
        unk: str | None = UNK,
        normalization: str | None = "NFC",
    ) -> Self:
        """Aprende las piezas de un corpus: une, cada vez, la pareja de mayor ``score``.

        ``score``: ``"likelihood"``, ``"ratio"`` o ``"count"``; el módulo dice de quién es cada uno.
        El alfabeto son los caracteres del corpus, y otra vez con «##» los que continúan palabra.
        Acaba antes de ``vocab_size`` si ninguna pareja sale ``min_count`` veces o mejora nada.

        Errores: ``TypeError`` o ``ValueError`` si el corpus no son textos o no dice nada, si en
        ``vocab_size`` no caben los especiales y el alfabeto o si ``score`` no existe.
        """
        require_size(min_count, name="min_count")
        checks.require_special(special, unk)
        checks.require_option(score, SCORES, name="score")
        counts = count_words(corpus, normalization, split_bare_words)
        words = {_symbols(word): times for word, times in counts.items()}
        alphabet = sorted({c for word in counts for c in word})
        alphabet += sorted({symbol for word in words for symbol in word[1:]})
        first = len(special) + (unk is not None)
        checks.require_room(vocab_size, first, len(alphabet))
        pairs = ScoredPairs(words, alphabet, min_count, score)
        learn_merges(pairs, vocab_size - first)
        return cls(pairs.ids, special=special, unk=unk, normalization=normalization)

    def words(self, text: str) -> list[str]:
        """Normaliza el texto y lo separa en palabras y signos, sin los espacios.

        Errores: ``TypeError`` si ``text`` no es ``str``; ``ValueError`` si no cabe en UTF-8.
        """
        return split_bare_words(normalize(text, self.normalization))

    def segment(self, word: str) -> list[str]:
        """Corta una palabra; si en algún punto no encaja nada, la devuelve entera, desconocida.

        Errores: ``TypeError`` si no es ``str``; ``ValueError`` si está vacía.
        """
        matches = self.matches_of(word)
        if matches[-1].piece is None:
            return [word]
        return [match.piece for match in matches]

    def matches_of(self, word: str) -> list[Match]:
        """Los pasos con los que se corta una palabra, para mirarlos: ``(start, tried, piece)``.

        ``piece`` es ``None`` en el último paso si no encajó nada.

        Errores: ``TypeError`` si no es ``str``; ``ValueError`` si está vacía.
        """
        checks.require_word(word)
        matches, start = [], 0
        while start < len(word):
            tried = self._candidates(word, start)
            hit = next((i for i, piece in enumerate(tried) if piece in self._known), None)
            if hit is None:
                return [*matches, Match(start, tuple(tried), None)]
            matches.append(Match(start, tuple(tried[: hit + 1]), tried[hit]))
            start += len(tried[hit]) - (len(PREFIX) if start else 0)
        return matches

    def _candidates(self, word: str, start: int) -> list[str]:
        """Lo que puede ir en ``start``, de la pieza más larga a la más corta."""
        prefix = PREFIX if start else ""
        last = min(len(word), start + self._longest)
        return [prefix + word[start:end] for end in range(last, start, -1)]

    def _join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces).replace(" " + PREFIX, "")


def _symbols(word: str) -> tuple[str, ...]:
    return (word[0], *(PREFIX + character for character in word[1:]))
