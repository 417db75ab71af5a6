"""Números y sus nombres: las letras, los reservados, y la búsqueda de la pareja."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento.tasks import captions as task
from atento.tasks import digits, multimodal

UNITS = "un dós trés cuatro cinco séis siete ocho nueve".split()


def test_the_names_follow_the_rule():
    """Por otro camino: de la decena y la unidad, con sus tildes."""
    names = [task.spelled(n) for n in range(100)]
    assert len(set(names)) == 100
    assert names[10:16] == "diez once doce trece catorce quince".split()
    plain = str.maketrans("óéáíú", "oeaiu")
    for n in range(16, 100):
        tens, units = divmod(n, 10)
        if tens >= 3:
            ten = "treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()[tens - 3]
            assert names[n] == (f"{ten} y {names[units]}" if units else ten)
        elif units:
            together = {1: "dieci", 2: "veinti"}[tens] + UNITS[units - 1]
            together += "o" if units == 1 else ""
            assert names[n].translate(plain) == together.translate(plain)
            # llevan tilde las que acaban en vocal tónica o en «s»: las agudas
            assert (names[n] != names[n].translate(plain)) == (units in (2, 3, 6))
    assert names[20] == "veinte" and names[47] == "cuarenta y siete"


def test_what_is_reserved():
    unseen = task.numbers_of("unseen")
    assert len(unseen) == 20 and 47 in unseen
    assert sorted(unseen + task.numbers_of("seen")) == task.numbers_of() == [*range(100)]
    assert set(Counter(n // 10 for n in unseen).values()) == {2, 3} and min(unseen) >= 20
    assert Counter(n % 10 for n in unseen) == dict.fromkeys((1, 3, 5, 7, 9), 4)
    seen = task.numbers_of("seen")
    for n in unseen:  # su decena y su unidad salen en otros, con el mismo trozo de nombre
        assert any(m // 10 == n // 10 for m in seen) and any(m % 10 == n % 10 for m in seen)


@given(seed=st.integers(0, 10**6), numbers=st.sampled_from(["seen", "unseen", "any"]))
def test_the_image_has_the_digits_of_the_text(seed, numbers):
    examples = task.generate(4, seed, split="test", numbers=numbers)
    images, text, wanted = task.batch(examples)
    whole = multimodal.normalized()
    for image, row, number, example in zip(images, text, wanted.tolist(), examples, strict=True):
        assert "".join(task.VOCABULARY.decode(row)) == task.spelled(number)
        assert number == example.number and number in task.numbers_of(numbers)
        halves = image[0, 4:12].split(8, dim=1)
        for half, place, digit in zip(halves, example.places, divmod(number, 10), strict=True):
            assert torch.equal(half, whole.images[place]) and whole.labels[place] == digit
            assert place in digits.places("test")
        rest = image[0].clone()
        rest[4:12] = whole.background
        assert (rest == torch.tensor(whole.background)).all()


def test_texts_end_and_are_padded():
    text = task.texts([0, 54])
    assert text.shape == (2, task.LENGTH)
    for row, name in zip(text.tolist(), ("cero", "cincuenta y cuatro"), strict=True):
        assert row.index(2) == len(name) and not any(row[len(name) + 1 :])


def test_distinct_numbers_and_the_seed():
    lot = task.generate(64, 0, distinct=True)
    assert len({e.number for e in lot}) == 64
    assert task.generate(5, 1) == task.generate(5, 1) != task.generate(5, 2)
    train, test = ({p for e in task.generate(500, 1, split=s) for p in e.places} for s in PARTS)
    assert not train & test


PARTS = ("train", "test")


def knows(images, text):
    """Lee las dos cosas sin equivocarse."""
    known = multimodal.normalized()
    names = ["".join(task.VOCABULARY.decode(row)) for row in text]
    rows = []
    for image in images:
        read = 0
        for half in image[0, 4:12].split(8, dim=1):
            place = (known.images == half).flatten(1).all(1).nonzero()[0]
            read = 10 * read + int(known.labels[place])
        rows.append([float(name == task.spelled(read)) for name in names])
    return torch.tensor(rows)


def test_scores():
    examples = task.generate(30, 3, split="test", numbers="unseen")
    for among, candidates in (("any", 100), ("unseen", 20)):
        found = task.score(knows, examples, among=among)
        assert found == {"text_of_image": 1, "image_of_text": 1, "n": 30, "candidates": candidates}
    first = task.score(lambda i, t: torch.eye(len(t))[[0] * len(i)], examples, among="unseen")
    wanted = sum(e.number == 23 for e in examples) / 30
    assert first["text_of_image"] == pytest.approx(wanted)
    shuffled = task.score(lambda i, t: knows(i, t).roll(1, dims=0), examples, among="unseen")
    assert shuffled["image_of_text"] < 0.5


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "number: .*de 0 a 99", lambda: task.spelled(100)),
        (TypeError, "number: ", lambda: task.is_held_out(2.0)),
        (ValueError, "numbers: ", lambda: task.numbers_of("all")),
        (ValueError, "n: ", lambda: task.generate(-1, 0)),
        (ValueError, "n: .*80", lambda: task.generate(81, 0, distinct=True)),
        (ValueError, "split: ", lambda: task.generate(1, 0, split="all")),
        (TypeError, "rng: ", lambda: task.generate(1, None)),
        (TypeError, "numbers: ", lambda: task.texts([])),
        (ValueError, "numbers: ", lambda: task.texts([-1])),
        (ValueError, "examples: ", lambda: task.batch([])),
        (TypeError, "examples: ", lambda: task.batch(multimodal.generate(1, 0))),
        (TypeError, "model: ", lambda: task.score(3, task.generate(1, 0))),
        (
            ValueError,
            "among: ",
            lambda: task.score(knows, task.generate(1, 0), among="unseen"),
        ),
        (
            ValueError,
            r"model: .*\(1, 100\)",
            lambda: task.score(lambda i, t: torch.ones(1), task.generate(1, 0)),
        ),
        (ValueError, "number: .*mayor o igual", lambda: task.spelled(-1)),
        (ValueError, "numbers: ", lambda: task.generate(1, 0, numbers="all")),
        (ValueError, "n: .*20", lambda: task.generate(21, 0, numbers="unseen", distinct=True)),
        (ValueError, "n: .*100", lambda: task.generate(101, 0, numbers="any", distinct=True)),
        (TypeError, "numbers: .*lista", lambda: task.texts("ab")),
        (TypeError, "numbers: .*lista", lambda: task.texts({1})),
        (ValueError, "numbers: .*de 0 a 99", lambda: task.texts([100])),
        (TypeError, "examples: ", lambda: task.score(knows, [1])),
        (ValueError, "among: .*una de", lambda: task.score(knows, task.generate(1, 0), among="x")),
        (ValueError, "device: ", lambda: task.score(knows, task.generate(1, 0), device="x")),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert task.generate(0, 0) == []
    for numbers, n in (("seen", 80), ("unseen", 20), ("any", 100)):
        assert len(task.generate(n, 0, numbers=numbers, distinct=True)) == n
    assert len(task.texts([0, 99])) == 2 and task.spelled(0) != task.spelled(99)
