"""Kneser-Ney: contra la fórmula escrita con bucles, y las probabilidades suman 1."""

import math
import random
from collections import Counter

import pytest

from atento.kneser_ney import KneserNey

TEXT = "la casa es blanca y la mesa es blanca. la gata no es blanca, la casa no. " * 2


def noise(n, letters, seed):
    """Letras al azar, unas mucho más frecuentes que otras."""
    source = random.Random(seed)
    return "".join(source.choices(letters, [2.0**-i for i in range(len(letters))], k=n))


def brute(text, order, alphabet, context, symbol):
    """La definición, contando en el texto cada vez: sin tablas y de largo a corto."""
    context = context[max(0, len(context) - order + 1) :]
    n = len(context) + 1
    grams = [text[i : i + n] for i in range(len(text) - n + 1)]
    if n < order:  # cuántos símbolos distintos hay delante
        longer = {text[i : i + n + 1] for i in range(len(text) - n)}
        counts = Counter(gram[1:] for gram in longer)
    else:
        counts = Counter(grams)
    of = [sum(1 for c in counts.values() if c == k) for k in range(5)]
    discount = [0, 0.5, 0.5, 0.5]
    if all(of[1:]):
        y = of[1] / (of[1] + 2 * of[2])
        exact = [0, *(k - (k + 1) * y * of[k + 1] / of[k] for k in (1, 2, 3))]
        if all(0 < exact[k] <= k for k in (1, 2, 3)):
            discount = exact
    own = {gram: c for gram, c in counts.items() if gram[:-1] == context}
    shorter = brute(text, order, alphabet, context[1:], symbol) if context else 1 / alphabet
    if not own:
        return shorter
    total = sum(own.values())
    taken = sum(discount[min(c, 3)] for c in own.values())
    here = own.get(context + symbol, 0)
    return (here - discount[min(here, 3)] + taken * shorter) / total


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_is_the_formula(order):
    text = noise(600, "abcdef", 3)
    model = KneserNey.train(text, order, alphabet=9)
    source = random.Random(0)
    for _ in range(60):
        context = "".join(source.choices("abcdefz", k=source.randrange(6)))
        symbol = source.choice("abcdefz")
        expected = brute(text, order, 9, context, symbol)
        assert model.probability(context, symbol) == pytest.approx(expected, rel=1e-12)


def test_uses_the_three_discounts():
    """El texto de la prueba anterior no cae en el descuento de medio."""
    text = noise(600, "abcdef", 3)
    model = KneserNey.train(text, 3, alphabet=9)
    level = model.levels[2]
    rests = {round(c.rest * 2, 9) for c in level.values()}
    assert len(rests) > 5
    assert KneserNey.train("abab", 2).levels[1]["a"].rest == 0.25  # dos veces, menos medio


@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize("context", ["", "l", "la ", "la casa no", "zzz", "blanca"])
def test_sums_to_one(order, context):
    known = sorted(set(TEXT))
    model = KneserNey.train(TEXT, order, alphabet=40)
    unknown = 40 - len(known)
    total = math.fsum(model.probability(context, c) for c in known)
    assert total + unknown * model.probability(context, "ñ") == pytest.approx(1, abs=1e-12)


def test_bits_add_up_and_a_longer_context_helps():
    held = "la mesa no es blanca y la casa es blanca."
    costs = [KneserNey.train(TEXT, n).bits(held) for n in (1, 2, 4)]
    assert costs[0] > costs[1] > costs[2] > 0
    model = KneserNey.train(TEXT, 3)
    by_hand = -sum(math.log2(model.probability(held[:i], c)) for i, c in enumerate(held))
    assert model.bits(held) == pytest.approx(by_hand) and model.bits("") == 0


def test_counts_company_and_not_appearances():
    """«Francisco» sale mucho, siempre tras «San»: solo, es menos probable que otras palabras."""
    words = tuple(("san francisco " * 8 + "la mesa una mesa otra mesa la casa").split())
    model = KneserNey.train(words, 2)
    assert model.probability(("raro",), "mesa") > model.probability(("raro",), "francisco")
    assert model.probability(("san",), "francisco") > 0.8
    assert KneserNey.train(words, 1).probability((), "francisco") > 0.3


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: KneserNey.train(7, 2), TypeError, "text"),
        (lambda: KneserNey.train(list("abc"), 2), TypeError, "text"),
        (lambda: KneserNey.train("ab", 3), ValueError, "text"),
        (lambda: KneserNey.train("abc", 0), ValueError, "order"),
        (lambda: KneserNey.train("abc", 2.0), TypeError, "order"),
        (lambda: KneserNey.train("abc", 2, alphabet=2), ValueError, "alphabet"),
        (lambda: KneserNey.train("abc", 2).bits(3), TypeError, "text"),
        (lambda: KneserNey.train("abc", 2).probability(3, "a"), TypeError, "context"),
        (lambda: KneserNey.train("abc", 2, alphabet=2.5), TypeError, "alphabet"),
    ],
)
def test_says_what_is_wrong(call, error, says):
    with pytest.raises(error, match=rf"^{says}: "):
        call()
