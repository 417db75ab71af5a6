"""Las parejas contiguas de un corpus, con sus cuentas al día tras cada unión.

Contar de nuevo todo el corpus en cada unión costaría (uniones × corpus). Aquí se sabe en qué
palabras está cada pareja y solo se recuentan esas; la mejor se saca de un montículo. Una entrada
del montículo puede haberse quedado vieja: se comprueba al sacarla y, si lo es, se vuelve a meter
con su valor de ahora, que nunca es mayor, porque las que crecen se meten cada vez que crecen.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

Pair = tuple[str, str]


class PairIndex:
    """Palabras cortadas en símbolos y cuentas de sus parejas contiguas.

    ``words``: cuántas veces sale cada palabra, dada como tupla de símbolos; ``alphabet``: los
    símbolos, por orden, que es el que deshace los empates; ``least``: con menos apariciones, una
    pareja no cuenta.
    """

    def __init__(
        self, words: Mapping[tuple[str, ...], int], alphabet: Iterable[str], least: int = 1
    ) -> None:
        self.words = [list(word) for word in words]
        self.times = list(words.values())
        self.ids = {symbol: i for i, symbol in enumerate(alphabet)}
        self.least = least
        self.counts: Counter[Pair] = Counter()
        self._where: defaultdict[Pair, set[int]] = defaultdict(set)
        for i, (symbols, times) in enumerate(zip(self.words, self.times, strict=True)):
            for pair in pairwise(symbols):
                self.counts[pair] += times
                self._where[pair].add(i)
        self._heap: list[tuple] | None = None  # hasta que se pida la primera

    def score(self, pair: Pair) -> float:
        """Lo que vale unir una pareja: aquí, las veces que sale."""
        return self.counts[pair]

    def join(self, left: str, right: str) -> str:
        """El símbolo que resulta de unir dos."""
        return left + right

    def best(self) -> Pair | None:
        """La pareja que más vale, o ``None``; a igualdad, la de símbolos más antiguos."""
        if self._heap is None:
            self._heap = sorted(map(self._entry, self.counts))
        while self._heap:
            entry = self._heap[0]
            pair = entry[-1]
            if self.counts[pair] < self.least:
                heapq.heappop(self._heap)
            elif entry != (fresh := self._entry(pair)):
                heapq.heapreplace(self._heap, fresh)
            else:
                return pair
        return None

    def merge(self, pair: Pair) -> str:
        """Une la pareja en todas las palabras, pone las cuentas al día y devuelve el símbolo."""
        new = self.join(*pair)
        self.ids.setdefault(new, len(self.ids))
        changes: Counter[Pair] = Counter()
        joined = 0
        for i in self._where.pop(pair, ()):
            before, times = self.words[i], self.times[i]
            after = self.words[i] = merged(before, pair, new)
            joined += times * (len(before) - len(after))
            for old in pairwise(before):
                changes[old] -= times
            for young in pairwise(after):
                changes[young] += times
                self._where[young].add(i)
        self._update(pair, new, changes, joined)
        return new

    def _update(self, pair: Pair, new: str, changes: Counter[Pair], joined: int) -> None:
        self.counts.update(changes)
        self._push(changed for changed, by in changes.items() if by > 0)

    def _push(self, pairs: Iterable[Pair]) -> None:
        for pair in pairs if self._heap is not None else ():
            heapq.heappush(self._heap, self._entry(pair))

    def _entry(self, pair: Pair) -> tuple:
        left, right = pair
        return (-self.score(pair), self.ids[left], self.ids[right], pair)


def merged(symbols: list[str], pair: Pair, new: str) -> list[str]:
    """Los símbolos de una palabra con la pareja unida, de izquierda a derecha."""
    out: list[str] = []
    i, last = 0, len(symbols) - 1
    while i <= last:
        if i < last and symbols[i] == pair[0] and symbols[i + 1] == pair[1]:
            out.append(new)
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out
