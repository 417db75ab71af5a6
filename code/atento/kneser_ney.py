"""Piso 5: el modelo de n-gramas de Kneser y Ney, la línea de base de un modelo de lenguaje.

Cuenta qué símbolo sigue a los ``order - 1`` anteriores. A lo visto le quita un poco, el descuento,
y lo reparte según lo que sigue a un contexto más corto. En los órdenes menores no se cuentan
apariciones: se cuenta detrás de cuántos símbolos distintos ha salido cada n-grama.

Los símbolos son los caracteres de un texto (``str``) o los elementos de una tupla.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from atento.checks import kneser_ney as checks

ALPHABET = 256  # cuántos símbolos puede haber, vistos o no


class Continuations(NamedTuple):
    """Lo que se sabe de un contexto: qué le sigue, ya descontado, y cuánto pasa al más corto."""

    shares: dict[Hashable, float]
    rest: float


@dataclass(frozen=True, slots=True)
class KneserNey:
    """Un modelo de n-gramas ya contado; se construye con :meth:`train`.

    ``levels[k]`` lleva, de cada contexto de ``k`` símbolos, sus :class:`Continuations`.

    Fuente: Kneser y Ney (1995); interpolado y con tres descuentos, Chen y Goodman (1999), § 3.
    """

    order: int
    alphabet: int
    levels: tuple[dict[Any, Continuations], ...]

    @classmethod
    def train(cls, text: str | tuple, order: int, *, alphabet: int = ALPHABET) -> KneserNey:
        """Cuenta los n-gramas de ``text``, hasta ``order`` símbolos.

        ``alphabet`` es cuántos símbolos puede haber: a los que no salen también les toca algo.

        Errores: ``TypeError`` si ``text`` no es un texto o una tupla; ``ValueError`` si tiene menos
        de ``order`` símbolos, ``order`` no es positivo o ``alphabet`` no llega a los que salen.
        """
        checks.train(text, order, alphabet)
        grams = [Counter(_grams(text, n)) for n in range(1, order + 1)]
        kept = [_endings(longer) for longer in grams[1:]]  # detrás de cuántos distintos
        return cls(order, alphabet, tuple(_level(counts) for counts in [*kept, grams[-1]]))

    def probability(self, context: str | tuple, symbol: Hashable) -> float:
        """La probabilidad de que a ``context`` le siga ``symbol``.

        Del contexto cuentan los ``order - 1`` últimos símbolos, o los que haya.

        Errores: ``TypeError`` si ``context`` no es un texto o una tupla.
        """
        checks.require_text(context, name="context")
        return self._probability(context, symbol)

    def bits(self, text: str | tuple) -> float:
        """Los bits que cuesta ``text`` entero, símbolo a símbolo, empezando sin contexto.

        Errores: ``TypeError`` si ``text`` no es un texto o una tupla.
        """
        checks.require_text(text, name="text")
        reach = self.order - 1
        pieces = (
            self._probability(text[max(0, i - reach) : i], symbol) for i, symbol in enumerate(text)
        )
        return -math.fsum(map(math.log2, pieces))

    def _probability(self, context: Any, symbol: Hashable) -> float:
        reach = min(self.order - 1, len(context))
        p = 1 / self.alphabet
        for length, level in enumerate(self.levels[: reach + 1]):  # del más corto al más largo
            found = level.get(context[len(context) - length :])
            if found is not None:
                p = found.shares.get(symbol, 0.0) + found.rest * p
        return p


def _grams(text: Any, n: int) -> list[Any]:
    """Todos los trozos de ``n`` símbolos seguidos."""
    return [text[i : i + n] for i in range(len(text) - n + 1)]


def _endings(longer: Counter) -> Counter:
    """Detrás de cuántos símbolos distintos sale cada n-grama, según los de un símbolo más."""
    return Counter(gram[1:] for gram in longer)


def _level(counts: Counter) -> dict[Any, Continuations]:
    """Las continuaciones de cada contexto, descontadas."""
    discount = _discounts(counts)
    followers: dict[Any, list[tuple[Hashable, int]]] = defaultdict(list)
    for gram, times in counts.items():
        followers[gram[:-1]].append((gram[-1], times))
    level = {}
    for context, found in followers.items():
        total = sum(times for _, times in found)
        taken = [discount[min(times, 3)] for _, times in found]
        shares = {s: (n - d) / total for (s, n), d in zip(found, taken, strict=True)}
        level[context] = Continuations(shares, sum(taken) / total)
    return level


def _discounts(counts: Counter) -> dict[int, float]:
    """Cuánto se quita a lo visto una vez, dos y tres o más.

    Se estima de cuántos n-gramas salen una, dos, tres y cuatro veces; si de alguno no hay, o la
    cuenta no da un descuento posible, se quita medio a todos.

    Fuente: Chen y Goodman (1999), ec. 26.
    """
    seen = Counter(min(times, 5) for times in counts.values())
    n = [seen[times] for times in range(5)]
    if all(n[1:]):
        y = n[1] / (n[1] + 2 * n[2])
        found = {times: times - (times + 1) * y * n[times + 1] / n[times] for times in (1, 2, 3)}
        if all(0 < d <= times for times, d in found.items()):
            return found
    return dict.fromkeys((1, 2, 3), 0.5)
