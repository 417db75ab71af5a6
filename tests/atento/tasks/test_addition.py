"""Sumar: lo reservado no sale al entrenar, las llevadas son las de siempre y nada se regala."""

import re
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.models.positioning import Positions, attention_options
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.tasks import addition
from atento.tasks.addition import Sum

BOTH = pytest.mark.parametrize("reverse", [True, False])
DIGITS = st.integers(1, addition.MAX_DIGITS)


@st.composite
def sums(draw, digits=DIGITS):
    n = draw(digits)
    number = st.integers(0, 10**n - 1)
    return Sum(draw(number), draw(number), n)


def calculator(reverse):
    """Lee los números, suma y escribe: lo que haría un modelo perfecto."""

    def write(source):
        rows = []
        for row in source.tolist():
            a, b = addition.decode(row).split("+")
            text = f"{int(a) + int(b):0{len(a) + 1}}"
            rows.append([3 + int(digit) for digit in (text[::-1] if reverse else text)] + [2])
        width = max(map(len, rows))
        return torch.tensor([row + [0] * (width - len(row)) for row in rows])

    return write


# --- Lo reservado ---------------------------------------------------------------------------------


@given(digits=st.lists(st.integers(1, 4), min_size=1), seed=st.integers(0, 10**6))
def test_no_test_sum_is_ever_trained(digits, seed):
    """Ni en otro orden ni con más ceros delante."""
    train = addition.generate(60, seed, digits=digits)
    test = addition.generate(60, seed, digits=digits, split="test")
    assert {x.digits for x in train + test} <= set(digits)
    pairs = [{frozenset(x[:2]) for x in some} for some in (train, test)]
    assert not pairs[0] & pairs[1]
    assert not any(addition.is_held_out(*x[:2]) for x in train)
    assert all(addition.is_held_out(*x[:2]) for x in test)


@given(sums())
def test_holding_out_ignores_the_order(example):
    assert addition.is_held_out(*example[:2]) == addition.is_held_out(*example[:2][::-1])


def test_one_in_ten_is_held_out_whatever_it_is():
    """De las 500 500 parejas de tres cifras; y lo mismo entre las que llevan 0, 1, 2 y 3 veces."""
    a, b = torch.triu_indices(1000, 1000)
    pairs = torch.stack([a, b], 1)
    held, carries = addition._held_out(pairs), addition._carries(pairs, 3).sum(1)
    for chosen in [torch.ones_like(held), *(carries == k for k in range(4))]:
        assert held[chosen].float().mean().item() == pytest.approx(0.1, abs=0.005)
    assert held[:1000].float().mean().item() == pytest.approx(0.1, abs=0.04)  # las de 0 + b
    assert addition.generate(9, 0, digits=1, split="test")


@given(sums())
def test_what_is_held_out_is_what_the_stored_models_never_saw(example):
    """La cuenta, con enteros sin límite: si cambia o se desborda, lo guardado ya ha visto parte."""
    prime, (low, high) = 2**31 - 1, sorted(example[:2])
    mixed = (low % prime * 48_271 + high % prime * 69_621) % prime
    assert addition.is_held_out(*example[:2]) == (mixed * mixed % prime % 10 == 0)


def test_held_out_lists_every_reserved_sum_in_order():
    assert [x[:2] for x in addition.held_out(1)] == [
        (0, 0), (2, 9), (3, 3), (6, 6), (8, 9), (9, 2), (9, 8),
    ]  # fmt: skip
    every = [Sum(a, b, 2) for a in range(100) for b in range(100)]
    assert addition.held_out(2) == [x for x in every if addition.is_held_out(*x[:2])]
    assert {x.digits for x in addition.held_out()} == {3}
    with pytest.raises(ValueError, match="^digits: "):
        addition.held_out(4)


def test_batches_hold_out_too():
    for split in ("train", "test"):
        for lot in addition.batches(4, 32, 1, digits=(2, 3), split=split):
            texts = [addition.decode(row).split("+") for row in lot.source]
            assert all(addition.is_held_out(int(a), int(b)) == (split == "test") for a, b in texts)


# --- Sorteos --------------------------------------------------------------------------------------


def test_reproducible_and_advances():
    a, b = rng.generator(4), rng.generator(4)
    first = addition.generate(50, a)
    assert first == addition.generate(50, b) == addition.generate(50, 4) != addition.generate(50, a)
    lots, again = addition.batches(3, 5, 1), addition.batches(3, 5, 1)
    assert all(torch.equal(x.source, y.source) for x, y in zip(lots, again, strict=True))


def test_the_data_is_the_one_the_stored_runs_saw():
    assert addition.generate(3, 0) == [Sum(760, 963), Sum(379, 427), Sum(503, 497)]
    assert addition.generate(3, 0, digits=(2, 5), split="test") == [
        Sum(66, 56, 2), Sum(14624, 20740, 5), Sum(56993, 87691, 5),
    ]  # fmt: skip


def test_the_draw_is_fair():
    """Cada cifra de cada sumando, por igual: χ² con 9 grados de libertad, al 0.1 %."""
    examples = addition.generate(5000, 0, digits=3)
    texts = [str(x).replace("+", "") for x in examples]
    for place in range(6):
        counts = Counter(text[place] for text in texts)
        assert sum((counts[d] - 500) ** 2 / 500 for d in "0123456789") < 27.9


@given(sums(st.integers(1, 6)))
def test_carries_as_by_hand(example):
    carry, expected = 0, []
    for place in range(example.digits):
        pair = [x // 10**place % 10 for x in example[:2]]
        carry = (sum(pair) + carry) // 10
        expected.append(carry == 1)
    assert addition.carries(example) == tuple(expected)
    runs = [len(run) for run in re.findall("1+", "".join(str(int(x)) for x in expected))]
    assert addition.longest_chain(example) == max(runs, default=0)


@pytest.mark.parametrize("carries", [0, 1, 2, 3])
def test_asking_for_carries(carries):
    examples = addition.generate(40, 1, digits=(3, 4), carries=carries, split="test")
    assert len(examples) == 40
    assert all(sum(addition.carries(x)) == carries for x in examples)


# --- Números y texto ------------------------------------------------------------------------------


def test_batch():
    lot = addition.batch([Sum(310, 98), Sum(5, 7)])
    assert lot.source.tolist() == [[6, 4, 3, 13, 3, 12, 11, 2], [3, 3, 8, 13, 3, 3, 10, 2]]
    assert lot.target.tolist() == [[1, 11, 3, 7, 3, 2], [1, 5, 4, 3, 3, 2]]
    forward = addition.batch([Sum(310, 98)], reverse=False)
    assert forward.target.tolist() == [[1, 3, 7, 3, 11, 2]]
    mixed = addition.batch([Sum(5, 7, 1), Sum(310, 98)])
    assert mixed.source.tolist() == [[8, 13, 10, 2, 0, 0, 0, 0], lot.source[0].tolist()]
    assert mixed.target.tolist() == [[1, 5, 4, 2, 0, 0], lot.target[0].tolist()]


@given(st.lists(sums(), min_size=1, max_size=5), st.booleans())
def test_text_and_numbers_agree(examples, reverse):
    lot = addition.batch(examples, reverse=reverse)
    for example, source, target in zip(examples, lot.source, lot.target, strict=True):
        a, b, digits = example
        assert addition.encode(addition.decode(source), digits=digits) == example
        result = addition.decode(target)[:: -1 if reverse else 1]
        assert result == f"{a + b:0{digits + 1}}"


def test_encode():
    assert addition.encode(" 310 + 98 ") == Sum(310, 98)
    assert addition.encode("0007+1") == Sum(7, 1, 3)
    assert str(Sum(5, 7)) == "005+007" and str(Sum(5, 7, 1)) == "5+7"
    for bad in ("310", "310+", "3a+4", "1+2+3", "-3+4", "", "٣+٤", "3 1+4"):
        with pytest.raises(ValueError, match="^text: se esperaba una suma, como «310.98»; llegó"):
            addition.encode(bad)
    with pytest.raises(ValueError, match="^text: .* de 3 cifras como mucho; llegó «123456»"):
        addition.encode("1+123456")
    with pytest.raises(TypeError, match="^text: se esperaba un texto; llegó int"):
        addition.encode(3)
    with pytest.raises(ValueError, match="^ids: se esperaban números de 0 a 13; llegó 14"):
        addition.decode([14])


def test_places():
    lot = addition.batch([Sum(310, 98), Sum(5, 7, 1)])
    assert addition.places(lot.source).tolist() == [
        [2, 1, 0, -1, 2, 1, 0, -1],
        [0, -1, 0, -1, -1, -1, -1, -1],
    ]
    assert addition.places(lot.target).tolist() == [[0, 1, 2, 3, 4, 5]] * 2
    with pytest.raises(ValueError, match=r"^ids: se esperaba la forma \(batch, n\)"):
        addition.places(lot.source[0])
    with pytest.raises(TypeError, match="^ids: "):
        addition.places(lot.source.float())


def test_places_serve_a_model():
    """Con RoPE según el lugar, la suma no cambia si se intercambian los sumandos: son el mismo
    conjunto de cifras en los mismos lugares."""
    torch.manual_seed(0)
    turn = attention_options("rotary", d_head=4, n_heads=4, max_len=16)
    scheme = Positions(encoder=turn, decoder=turn, cross=turn, places=addition.places)
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24}
    model = Seq2Seq(Seq2SeqConfig(addition.VOCAB_SIZE, **sizes), positions=scheme).double()
    one, other = (addition.batch([x]) for x in (Sum(310, 98), Sum(98, 310)))
    logits = [model(lot.source, lot.inputs) for lot in (one, other)]
    torch.testing.assert_close(*logits, rtol=0, atol=1e-12)
    state = model.start(model.encode(one.source))
    for t in range(1, 5):
        row, state = model.step(one.inputs[:, :t], state)
        torch.testing.assert_close(row, logits[0][:, t - 1], rtol=0, atol=1e-12)


# --- Puntuar --------------------------------------------------------------------------------------


@BOTH
def test_the_calculator_gets_everything(reverse):
    examples = addition.generate(120, 3, digits=(1, 2, 3), split="test")
    best = addition.score(calculator(reverse), examples, reverse=reverse, batch_size=17)
    assert best["exact"] == best["token"] == 1.0 and best["n"] == 120
    assert set(best["by_digits"]) == {1, 2, 3} and set(best["by_carries"]) == {0, 1, 2, 3}
    for group in ("by_digits", "by_carries", "by_chain"):
        assert sum(row["n"] for row in best[group].values()) == 120
    assert best["by_place"] == {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}
    if reverse:
        assert addition.score(calculator(False), examples)["exact"] < 0.2


@BOTH
def test_who_forgets_to_carry_fails_where_there_is_a_carry(reverse):
    def without_carrying(source):
        rows = []
        for row in source.tolist():
            a, b = addition.decode(row).split("+")
            digits = [(int(x) + int(y)) % 10 for x, y in zip(a, b, strict=True)]
            digits = [0, *digits]
            rows.append([3 + d for d in (digits[::-1] if reverse else digits)] + [2])
        return torch.tensor(rows)

    examples = addition.generate(400, 5, split="test")
    marks = addition.score(without_carrying, examples, reverse=reverse)
    assert {k: row["exact"] for k, row in marks["by_carries"].items()} == {0: 1, 1: 0, 2: 0, 3: 0}
    places = marks["by_place"]
    assert places[0] == 1.0 and all(0.3 < places[k] < 0.7 for k in (1, 2, 3))


def test_not_stopping_is_a_mistake():
    def endless(source):
        return torch.cat([calculator(True)(source)[:, :-1], source[:, :1]], 1)

    marks = addition.score(endless, addition.generate(20, 0))
    assert marks["exact"] == 0 and marks["token"] == pytest.approx(0.8)
    assert set(marks["by_place"].values()) == {1.0}


# --- Lo que se rechaza ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "n: ", lambda: addition.generate(-1, 0)),
        (
            ValueError,
            "digits: se esperaban enteros de 1 a 9; llegó 0",
            lambda: addition.generate(1, 0, digits=0),
        ),
        (ValueError, "digits: .*llegó 10", lambda: addition.batches(1, 1, 0, digits=10)),
        (ValueError, "digits: .*llegó 2.5", lambda: addition.encode("1+2", digits=2.5)),
        (ValueError, "split: se esperaba", lambda: addition.generate(1, 0, split="dev")),
        (
            ValueError,
            "carries: se esperaba un entero de 0 a digits = 2; llegó 3",
            lambda: addition.generate(1, 0, digits=(2, 3), carries=3),
        ),
        (
            ValueError,
            "carries: se esperaba un entero mayor",
            lambda: addition.generate(1, 0, carries=-1),
        ),
        (TypeError, "rng: ", lambda: addition.generate(1, "0")),
        (ValueError, "size: ", lambda: addition.batches(1, 0, 0)),
        (
            TypeError,
            "reverse: se esperaba True o False",
            lambda: addition.batch([Sum(1, 2)], reverse=1),
        ),
        (ValueError, "examples: se esperaba al menos un ejemplo", lambda: addition.batch([])),
        (
            ValueError,
            r"examples: se esperaban sumas, como Sum\(310, 98\)",
            lambda: addition.batch([(1, 2)]),
        ),
        (
            ValueError,
            "examples: se esperaban sumandos de 1 cifras",
            lambda: addition.carries(Sum(10, 2, 1)),
        ),
        (ValueError, "examples: se esperaban sumandos", lambda: addition.batch([Sum(-1, 2)])),
        (ValueError, "a: ", lambda: addition.is_held_out(-1, 2)),
        (TypeError, "model: ", lambda: addition.score(3, [Sum(1, 2)])),
        (
            ValueError,
            "device: ",
            lambda: addition.score(calculator(True), [Sum(1, 2)], device="gpu"),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
