"""Unigrama: cada pieza tiene una probabilidad y se elige el corte más probable.

Se entrena al revés que BPE: se empieza con demasiadas piezas y se van quitando las que menos falta
hacen. Entre poda y poda, EM ajusta las probabilidades sin saber cuál es el corte de cada palabra.
"""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import torch
from numpy import ndarray

from atento.amounts import require_size
from atento.checks import tokenizers as checks
from atento.tokenizers.base import UNK, Settings, Tokenizer
from atento.tokenizers.characters import character_counts
from atento.tokenizers.lattice import forward, posteriors, viterbi
from atento.tokenizers.text import count_words

UNKNOWN_PENALTY = 10.0  # nats por debajo de la peor pieza, como en SentencePiece
_LEAST = 0.1  # apariciones que se suponen a la pieza que no sale, para que no valga −∞


# --- Entrenar -------------------------------------------------------------------------------------


def seed_pieces(words: Counter[str], size: int, longest: int) -> Counter[str]:
    """Los trozos de palabra con que se empieza: los ``size`` de mayor (veces × longitud).

    Salen al menos dos veces y no son siempre parte de otro más largo que empieza igual: son los
    nodos internos del árbol de sufijos. Además, todos los caracteres.

    Fuente: Kudo (2018), apartado 3.2.
    """
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for start in range(len(word)):
            for end in range(start + 2, min(start + longest, len(word)) + 1):
                counts[word[start:end]] += times
    swallowed = {piece[:-1] for piece, n in counts.items() if counts.get(piece[:-1]) == n}
    worth = {p: n * len(p) for p, n in counts.items() if n > 1 and p not in swallowed}
    chosen = sorted(worth, key=lambda piece: (-worth[piece], piece))[:size]
    return character_counts(words) + Counter({piece: counts[piece] for piece in chosen})


class Corpus:
    """Unas palabras contadas, como retículos sobre unas piezas numeradas.

    Cada grupo reúne las palabras de una longitud: sus puestos, ``rows``; ``ids[w, i, k]``, el
    número de la pieza que empieza en ``i`` y mide ``k + 1``, o −1; y ``times[w]``, cuántas salen.
    """

    def __init__(self, words: Counter[str], pieces: Iterable[str]) -> None:
        numbers = {piece: i for i, piece in enumerate(pieces)}
        self.n_words, self.n_pieces = len(words), len(numbers)
        longest = max(map(len, numbers))
        lengths: defaultdict[int, list[int]] = defaultdict(list)
        listed = list(words)
        for row, word in enumerate(listed):
            lengths[len(word)].append(row)
        self.groups = [
            (
                np.array(rows),
                np.array([_grid(listed[row], numbers, min(longest, n)) for row in rows], np.int32),
                np.array([words[listed[row]] for row in rows], float),
            )
            for n, rows in lengths.items()
        ]

    def expected_counts(self, scores: ndarray) -> tuple[ndarray, float]:
        """Paso E: las veces que se espera usar cada pieza y la log-verosimilitud del corpus, L.

        ``scores``, las log-probabilidades, y lo esperado son (piece,); L va en nats.
        """
        edge_scores = np.append(scores, -np.inf)  # la última, la −1, es «no hay pieza»
        expected, total = np.zeros(self.n_pieces + 1), 0.0
        for _, ids, times in self.groups:
            used, likelihood = posteriors(edge_scores[ids])
            weights = used * times[:, None, None]
            expected += np.bincount(ids.ravel() + 1, weights.ravel(), self.n_pieces + 1)
            total += float(times @ likelihood)
        return expected[1:], total

    def without_themselves(self, scores: ndarray) -> ndarray:
        """Log-probabilidad del mejor corte de cada palabra en más de una pieza; −∞ si no lo hay.

        ``scores`` es (piece,); devuelve (word,).
        """
        edge_scores, best = np.append(scores, -np.inf), np.empty(self.n_words)
        for rows, ids, _ in self.groups:
            edges, n = edge_scores[ids], ids.shape[1]
            edges[:, 0, n - 1 :] = -np.inf
            best[rows] = viterbi(edges)
        return best


def _grid(word: str, numbers: dict[str, int], longest: int) -> list[list[int]]:
    n = len(word)
    return [
        [numbers.get(word[i : i + k], -1) if i + k <= n else -1 for k in range(1, longest + 1)]
        for i in range(n)
    ]


def maximize(expected: ndarray, scores: ndarray) -> ndarray:
    """Paso M: la probabilidad de cada pieza es su parte de lo esperado; las podadas siguen en −∞.

    ``expected`` y ``scores`` son (piece,). A ninguna pieza viva se le supone menos de una décima de
    aparición, para que no llegue a −∞ por su cuenta.
    """
    counts = np.where(np.isfinite(scores), np.maximum(expected, _LEAST), 0.0)
    with np.errstate(divide="ignore"):
        return np.log(counts) - np.log(counts.sum())


def prune(scores: ndarray, expected: ndarray, alternatives: ndarray, keep: int) -> ndarray:
    """Deja las ``keep`` piezas cuya falta costaría más, y pone las demás a −∞.

    Quitar una pieza cuesta las veces que se usa por lo que se pierde al decirla con otras, que es
    ``scores − alternatives``. Un carácter no tiene otro corte: quitarlo costaría infinito. Todas
    las formas son (piece,).

    Fuente: Kudo (2018), apartado 3.2, con el mejor corte en lugar de todos, como SentencePiece.
    """
    alive = np.isfinite(scores)
    loss = np.full_like(scores, -np.inf)
    loss[alive] = np.maximum(expected[alive], _LEAST) * (scores[alive] - alternatives[alive])
    kept = np.argsort(-loss, kind="stable")[:keep]
    pruned = np.full_like(scores, -np.inf)
    pruned[kept] = scores[kept]
    return pruned


def learn_scores(
    words: Counter[str], seed: Counter[str], size: int, shrink: float = 0.75
) -> dict[str, float]:
    """Alterna EM y poda hasta quedarse con ``size`` piezas y sus log-probabilidades.

    Fuente: Kudo (2018), apartado 3.2.
    """
    corpus, themselves = Corpus(words, seed), Corpus(Counter(dict.fromkeys(seed, 1)), seed)
    scores = maximize(np.array(list(seed.values()), float), np.zeros(len(seed)))
    while True:
        for _ in range(2):
            expected, _ = corpus.expected_counts(scores)
            scores = maximize(expected, scores)
        alive = int(np.isfinite(scores).sum())
        if alive <= size:
            return {p: s for p, s in zip(seed, scores.tolist(), strict=True) if s > -math.inf}
        keep = max(size, int(shrink * alive))
        scores = prune(scores, expected, themselves.without_themselves(scores), keep)


# --- Cortar ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Edge:
    """Una pieza en un lugar de la palabra; ``posterior``: probabilidad de que el corte la use."""

    start: int
    end: int
    piece: str
    score: float
    posterior: float


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Una manera de cortar una palabra y su log-probabilidad, la suma de las de sus piezas."""

    pieces: tuple[str, ...]
    score: float


class _Settings(Settings, tag="unigram"):
    """Lo que se guarda de un ``Unigram``."""

    scores: list[float]


class Unigram(Tokenizer):
    """Piezas con probabilidad; una palabra se corta por el camino más probable de su retículo.

    Un carácter desconocido puede ir en cualquier corte con 10 nats menos que la peor pieza, y es un
    ``unk``. (La biblioteca ``tokenizers`` da uno solo por cada tira de desconocidos; aquí, uno por
    carácter.)

    ``scores``: log-probabilidades en nats, en el orden de ``pieces``.

    Errores: los de :class:`Tokenizer`, y ``TypeError`` o ``ValueError`` si no hay una
    log-probabilidad finita por pieza.
    Fuente: Kudo (2018).
    """

    kind, _saved = "unigram", _Settings

    def __init__(
        self,
        pieces: Iterable[str],
        scores: Sequence[float],
        *,
        special: Sequence[str] = (),
        unk: str | None = UNK,
        normalization: str | None = "NFC",
    ) -> None:
        super().__init__(pieces, special=special, unk=unk, normalization=normalization)
        own = self.vocabulary[self.n_first :]
        checks.require_scores(scores, own)
        self.scores = tuple(scores)
        self._score_of = dict(zip(own, self.scores, strict=True))
        self._longest = max(map(len, own), default=1)
        self._unknown = min(self.scores, default=0.0) - UNKNOWN_PENALTY

    @classmethod
    def train(
        cls,
        corpus: str | Iterable[str],
        vocab_size: int,
        *,
        seed_size: int | None = None,
        longest: int = 16,
        special: Sequence[str] = (),
        unk: str | None = UNK,
        normalization: str | None = "NFC",
    ) -> Self:
        """Aprende piezas y probabilidades de un corpus, de más a menos piezas.

        ``seed_size``: piezas de más de un carácter con que se empieza (si no se dice, diez veces
        ``vocab_size``); ``longest``: caracteres de la pieza más larga. Queda con menos de
        ``vocab_size`` si el corpus no da para más.

        Errores: ``TypeError`` o ``ValueError`` si el corpus no son textos o no dice nada, o si en
        ``vocab_size`` no caben los especiales y el alfabeto.
        """
        checks.require_special(special, unk)
        require_size(longest, name="longest", least=2)
        words = count_words(corpus, normalization)
        first = len(special) + (unk is not None)
        checks.require_room(vocab_size, first, len(character_counts(words)))
        seed_size = 10 * vocab_size if seed_size is None else seed_size
        require_size(seed_size, name="seed_size")
        seed = seed_pieces(words, seed_size, longest)
        scores = learn_scores(words, seed, vocab_size - first)
        pieces = sorted(scores, key=lambda piece: (-scores[piece], piece))
        options = dict(special=special, unk=unk, normalization=normalization)
        return cls(pieces, [scores[piece] for piece in pieces], **options)

    def segment(self, word: str) -> list[str]:
        """Corta una palabra por el camino más probable.

        Errores: ``TypeError`` si no es ``str``; ``ValueError`` si está vacía.
        Fuente: Viterbi (1967).
        """
        checks.require_word(word)
        best, came_from = [0.0], [0]  # la mejor log-probabilidad hasta cada hueco, y desde dónde
        for end in range(1, len(word) + 1):
            found, origin = -math.inf, 0
            for start, _, score in self._edges_into(word, end):
                if best[start] + score > found:
                    found, origin = best[start] + score, start
            best.append(found)
            came_from.append(origin)
        cuts = [len(word)]
        while cuts[-1] > 0:
            cuts.append(came_from[cuts[-1]])
        return [word[start:end] for end, start in pairwise(cuts)][::-1]

    def lattice(self, word: str) -> list[Edge]:
        """Las aristas del retículo de una palabra, con su log-probabilidad y su probabilidad.

        Errores: ``TypeError`` si no es ``str``; ``ValueError`` si está vacía.
        """
        checks.require_word(word)
        grid = self._grid(word)
        used = posteriors(grid)[0]
        return [
            Edge(i, i + k + 1, word[i : i + k + 1], float(grid[0, i, k]), float(used[0, i, k]))
            for _, i, k in np.argwhere(np.isfinite(grid)).tolist()
        ]

    def sample(self, word: str, generator: torch.Generator, power: float = 1.0) -> list[str]:
        """Corta una palabra al azar, cada corte según su probabilidad elevada a ``power``.

        Con 0 todos los cortes son igual de probables; cuanto mayor, más sale el mejor. Entrenar un
        modelo viendo cada vez un corte distinto es la regularización por subpalabras.

        Errores: ``TypeError`` o ``ValueError`` si ``word`` no es un texto con algo, ``generator``
        no es un generador de PyTorch o ``power`` no es un número finito mayor o igual que 0.
        Fuente: Kudo (2018), apartado 3.3.
        """
        checks.require_draw(word, generator, power)
        grid = self._grid(word)
        grid[np.isfinite(grid)] *= power
        reach = forward(grid)[0]
        pieces, end = [], len(word)
        while end > 0:  # desde el final: de dónde se llega, según lo probable que sea llegar
            starts = np.arange(max(0, end - self._longest), end)
            chances = np.exp(reach[starts] + grid[0, starts, end - starts - 1] - reach[end])
            drawn = torch.multinomial(torch.from_numpy(chances), 1, generator=generator)
            pieces.append(word[starts[drawn.item()] : end])
            end = int(starts[drawn.item()])
        return pieces[::-1]

    def segmentations(self, word: str, n: int = 10) -> list[Segmentation]:
        """Los ``n`` mejores cortes de una palabra, del más al menos probable.

        Errores: ``TypeError`` o ``ValueError`` si ``word`` no es un texto con algo o ``n`` no es un
        entero positivo.
        Fuente: Kudo (2018), apartado 3.3.
        """
        checks.require_word(word)
        require_size(n, name="n")
        best = [[Segmentation((), 0.0)]]  # los n mejores hasta cada hueco
        for end in range(1, len(word) + 1):
            paths = (
                Segmentation((*path.pieces, word[start:end]), path.score + score)
                for start, _, score in self._edges_into(word, end)
                for path in best[start]
            )
            best.append(heapq.nlargest(n, paths, key=lambda path: path.score))
        return best[-1]

    def _grid(self, word: str) -> ndarray:
        """Las aristas de una palabra, (1, start, length), como las piden los retículos."""
        grid = np.full((1, len(word), min(self._longest, len(word))), -np.inf)
        for end in range(1, len(word) + 1):
            for start, _, score in self._edges_into(word, end):
                grid[0, start, end - start - 1] = score
        return grid

    def _edges_into(self, word: str, end: int) -> Iterator[tuple[int, int, float]]:
        """Las piezas que acaban en ``end``; un carácter que no es pieza vale como desconocido."""
        for start in range(max(0, end - self._longest), end):
            score = self._score_of.get(word[start:end])
            if score is None and start == end - 1:
                score = self._unknown
            if score is not None:
                yield start, end, score
