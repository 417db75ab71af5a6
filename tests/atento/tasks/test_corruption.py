"""Tapar fragmentos: la cuenta de T5, y que de lo leído y lo escrito sale la frase entera."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.tasks import corruption as co

SENTINELS = [f"<{i}>" for i in range(100)]
PAPER = "Thank you for inviting me to your party last week".split()


def test_the_example_of_the_paper():
    source, target = co.corrupt(PAPER, [(2, 4), (8, 9)], ["<X>", "<Y>", "<Z>"])
    assert source == "Thank you <X> me to your party <Y> week".split()
    assert target == "<X> for inviting <Y> last <Z>".split()
    assert co.restore(source, target, ["<X>", "<Y>", "<Z>"]) == PAPER


@given(st.integers(2, 120), st.floats(0.0, 0.99), st.floats(0.5, 12.0), st.integers(0, 1000))
def test_nothing_is_lost(n, density, mean_length, seed):
    options = {"density": density, "mean_length": mean_length}
    hidden, spans = co.spans_of(n, **options)
    found = co.hidden_spans(n, seed, **options)
    assert len(found) == spans and sum(b - a for a, b in found) == hidden
    assert found[0][0] > 0 and found[-1][1] == n  # se empieza por lo visto y se alterna
    assert all(b < c for (_, b), (c, _) in zip(found, found[1:], strict=False))
    words = [*range(n)]
    source, target = co.corrupt(words, found, SENTINELS)
    assert len(source) == n - hidden + spans and len(target) == hidden + spans + 1
    assert co.restore(source, target, SENTINELS) == words
    kept = {w for w in source if w not in SENTINELS}
    assert kept.isdisjoint(target) and kept | {w for w in target if w not in SENTINELS} == {*words}


def test_the_lengths_are_those_of_t5():
    """512 palabras leídas y 114 escritas, con fin, que salen de 568: las del código publicado."""
    hidden, spans = co.spans_of(568)
    assert (hidden, spans) == (85, 28)
    assert 568 - hidden + spans + 1 == 512 and hidden + spans + 1 == 114
    assert co.spans_of(2) == (1, 1) and co.spans_of(100, density=0.0) == (1, 1)


def test_every_way_of_hiding_is_as_likely():
    source = rng.generator(0)
    found = Counter(
        tuple(co.hidden_spans(8, source, density=0.5, mean_length=2.0)) for _ in range(9000)
    )
    assert len(found) == 9  # 4 vistas y 4 tapadas, cada una en dos trozos: 3 · 3
    chi = sum((k - 1000) ** 2 / 1000 for k in found.values())
    assert chi < 26.1  # el 99.9 % de una χ² de ocho grados


def test_what_a_model_leaves_out_stays_empty():
    assert co.restore(["a", "<0>", "b", "<1>"], ["<1>", "c"], SENTINELS) == ["a", "b", "c"]
    assert co.corrupt("abc", [], ["#"]) == (["a", "b", "c"], ["#"])


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "n: ", lambda: co.spans_of(1)),
        (ValueError, "density: ", lambda: co.spans_of(9, density=1.0)),
        (ValueError, "mean_length: ", lambda: co.spans_of(9, mean_length=0)),
        (TypeError, "rng: ", lambda: co.hidden_spans(9, "0")),
        (ValueError, "spans: ", lambda: co.corrupt(PAPER, [(3, 4), (4, 5)], SENTINELS)),
        (ValueError, "spans: ", lambda: co.corrupt(PAPER, [(3, 3)], SENTINELS)),
        (ValueError, "spans: ", lambda: co.corrupt(PAPER, [(3, 11)], SENTINELS)),
        (ValueError, "sentinels: .* 2 o más", lambda: co.corrupt(PAPER, [(3, 4)], ["<0>"])),
        (ValueError, "sentinels: .* distintos", lambda: co.restore(PAPER, PAPER, ["<0>"] * 2)),
        (ValueError, "sentinels: .* 'you'", lambda: co.corrupt(PAPER, [(3, 4)], ["you", "x"])),
        (TypeError, "target: ", lambda: co.restore(PAPER, 3, SENTINELS)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
