"""Dígitos: los de scikit-learn, repartidos sin perder ninguno, corridos y puntuados."""

from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento.tasks import digits
from atento.tasks.digits import CLASSES, SIDE, Digits, load, score, shift, split


@cache
def train():
    return split().train


def keys(part, mean=0.0, std=1.0):
    """Cada imagen como enteros de 0 a 16: el mismo dígito, la misma clave."""
    ink = (part.images * std + mean) * digits.INK
    return [tuple(row) for row in ink.round().int().flatten(1).tolist()]


def test_they_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    theirs, ours = load_digits(), load()
    assert len(ours) == 1797 and ours.images.dtype == torch.float32
    assert (ours.images * digits.INK).int().tolist() == theirs.images.astype(int).tolist()
    assert ours.labels.tolist() == theirs.target.tolist()
    assert ours.images.min() == 0 and ours.images.max() == 1 and ours.background == 0


@pytest.mark.parametrize("shares", [(0.1, 0.3), (0.0, 0.5), (0.25, 0.0)])
def test_a_split_loses_none_and_repeats_none(shares):
    validation, test = shares
    parts, whole = split(3, validation=validation, test=test), load()
    ink = [whole.images[whole.labels == k] for k in range(CLASSES)]
    train = parts.train
    std = 1 / (train.images.max() - train.background).item()
    mean = -train.background * std
    found = [key for part in parts for key in keys(part, mean, std)]
    assert sorted(found) == sorted(keys(whole))
    for part, share in zip(parts, (1 - sum(shares), *shares), strict=True):
        for k in range(CLASSES):
            assert abs(int((part.labels == k).sum()) - share * len(ink[k])) <= 1


def test_the_places_are_those_of_the_split():
    whole, parts = load(), split(4)
    for name, part in zip(parts._fields, parts, strict=True):
        assert torch.equal(whole.labels[digits.places(name, 4)], part.labels)
    every = torch.cat([digits.places(name) for name in parts._fields])
    assert torch.equal(every.sort().values, torch.arange(len(whole)))


def test_what_is_learnt_from_has_mean_0_and_deviation_1():
    parts = split()
    assert abs(parts.train.images.mean().item()) < 1e-5
    assert abs(parts.train.images.std().item() - 1) < 1e-5
    for part in parts:
        assert part.images.min().item() == pytest.approx(part.background, abs=1e-6)
    assert abs(parts.test.images.mean().item()) > 1e-5  # con los números de la otra parte


def test_the_seed_decides():
    one, same, other = split(1), split(1), split(2)
    assert torch.equal(one.test.images, same.test.images)
    assert keys(one.test) != keys(other.test)
    assert torch.equal(split(torch.Generator().manual_seed(1)).train.labels, one.train.labels)


@given(few=st.integers(1, 20), more=st.integers(0, 20), seed=st.integers(0, 10**6))
def test_few_are_the_same_of_each_class_and_are_among_more(few, more, seed):
    part = train()
    small, large = part.few(few, seed), part.few(few + more, seed)
    assert torch.bincount(small.labels).tolist() == [few] * CLASSES
    assert {*keys(small)} <= {*keys(large)} <= {*keys(part)}
    assert small.background == part.background


def test_few_are_shuffled_and_all_of_them_can_be_asked():
    part = train()
    labels = part.few(20, 0).labels.tolist()
    assert labels != sorted(labels)
    least = int(torch.bincount(part.labels).min())
    assert len(part.few(least, 0)) == least * CLASSES


@given(down=st.integers(-9, 9), right=st.integers(-9, 9), value=st.floats(-2, 2))
def test_shifting_is_the_loop(down, right, value):
    images = torch.randn(2, 3, SIDE, SIDE - 1)
    moved = shift(images, down, right, background=value)
    for row in range(SIDE):
        for column in range(SIDE - 1):
            r, c = row - down, column - right
            inside = 0 <= r < SIDE and 0 <= c < SIDE - 1
            wanted = images[..., r, c] if inside else torch.full((2, 3), value)
            assert torch.equal(moved[..., row, column], wanted)


def test_what_comes_in_has_no_ink():
    part = split().test
    moved = part.shifted(0, 1)
    assert torch.equal(moved.images[..., 1:], part.images[..., :-1])
    assert (moved.images[..., 0] == part.background).all()
    assert torch.equal(moved.labels, part.labels)
    still = part.shifted(0, 0)
    assert torch.equal(still.images, part.images) and still.images is not part.images


@given(n=st.integers(1, 8), size=st.integers(1, 60), seed=st.integers(0, 10**6))
def test_each_pass_sees_each_one_once(n, size, seed):
    some = load().few(3, 0)
    lots = digits.batches(some, n, size, seed)
    assert [len(labels) for _, labels in lots] == [size] * n
    seen = [key for images, _ in lots for key in keys(Digits(images, torch.zeros(size).long()))]
    for start in range(0, n * size - 29, 30):
        assert sorted(seen[start : start + 30]) == sorted(keys(some))
    known = dict(zip(keys(some), some.labels.tolist(), strict=True))
    said = [label for _, labels in lots for label in labels.tolist()]
    assert [known[key] for key in seen] == said


def test_the_score_counts():
    some = load().few(4, 1)
    truth = {key: label for key, label in zip(keys(some), some.labels.tolist(), strict=True)}

    def knows(images):
        rows = keys(Digits(images, torch.zeros(len(images)).long()))
        return torch.eye(CLASSES)[[truth[row] if truth[row] != 7 else 1 for row in rows]]

    marks = score(knows, some, batch_size=7)
    assert marks["n"] == 40 and marks["accuracy"] == pytest.approx(0.9)
    assert marks["by_class"] == {k: float(k != 7) for k in range(CLASSES)}
    assert torch.equal(marks["right"], some.labels != 7)
    only = some.chosen((some.labels == 7).nonzero().squeeze(1))
    assert score(knows, only)["by_class"] == {7: 0.0}


def test_a_module_is_examined_evaluating_and_comes_back_as_it_was():
    net = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, CLASSES))
    some = load().few(20, 1)
    first, second = score(net, some), score(net, some)
    assert torch.equal(first["right"], second["right"]) and net.training
    assert net[2].weight.grad is None


def test_pixels_are_not_enough_but_say_a_lot():
    """Una regresión logística acierta más de nueve de cada diez, y no todas."""
    from sklearn.linear_model import LogisticRegression

    train, _, test = split()
    model = LogisticRegression(max_iter=200).fit(train.images.flatten(1), train.labels)
    assert 0.92 < model.score(test.images.flatten(1), test.labels) < 0.99


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "images: ", lambda: Digits([1], torch.ones(1).long())),
        (ValueError, "images: .*8, 8", lambda: Digits(torch.ones(1, 8, 7), torch.ones(1).long())),
        (ValueError, "labels: .*una por", lambda: Digits(torch.ones(2, 8, 8), torch.ones(1).int())),
        (ValueError, "labels: .*a 9;", lambda: Digits(torch.ones(1, 8, 8), torch.tensor([10]))),
        (TypeError, "places: ", lambda: load().chosen(torch.ones(2))),
        (ValueError, "places: ", lambda: load().chosen(torch.tensor([1797]))),
        (ValueError, "per_class: .*174", lambda: load().few(175, 0)),
        (TypeError, "rng: ", lambda: load().few(1, "x")),
        (TypeError, "seed: ", lambda: split("x")),
        (ValueError, "part: ", lambda: digits.places("all")),
        (ValueError, "validation: ", lambda: split(validation=1.5)),
        (ValueError, "test: .*menos de 1", lambda: split(validation=0.5, test=0.5)),
        (ValueError, "images: ", lambda: shift(torch.ones(3), 1, 1)),
        (TypeError, "down: ", lambda: load().shifted(0.5, 1)),
        (TypeError, "background: ", lambda: shift(torch.ones(3, 3), 1, 1, background=None)),
        (TypeError, "digits: ", lambda: digits.batches([1], 1, 1, 0)),
        (ValueError, "size: ", lambda: digits.batches(load(), 1, 0, 0)),
        (TypeError, "model: ", lambda: score(3, load())),
        (ValueError, "model: .*class", lambda: score(lambda x: x, load())),
        (ValueError, "digits: ", lambda: score(len, load().chosen(torch.ones(0).long()))),
        (TypeError, "labels: ", lambda: Digits(torch.ones(1, 8, 8), torch.ones(1))),
        (ValueError, "images: ", lambda: Digits(torch.ones(8, 8), torch.ones(8).long())),
        (ValueError, "labels: .*de -1", lambda: Digits(torch.ones(1, 8, 8), torch.tensor([-1]))),
        (
            TypeError,
            "background: ",
            lambda: Digits(torch.ones(1, 8, 8), torch.ones(1).long(), None),
        ),
        (ValueError, "places: ", lambda: load().chosen(torch.tensor([[1]]))),
        (ValueError, "places: ", lambda: load().chosen(torch.tensor([-1]))),
        (ValueError, "per_class: .*mayor", lambda: load().few(0, 0)),
        (TypeError, "rng: ", lambda: load().few(1, True)),
        (TypeError, "seed: ", lambda: split(True)),
        (ValueError, "test: se esperaba una probabilidad", lambda: split(test=1.5)),
        (TypeError, "seed: ", lambda: digits.places("train", "x")),
        (TypeError, "images: ", lambda: shift(torch.ones(3, 3).int(), 1, 1)),
        (TypeError, "right: ", lambda: load().shifted(1, 0.5)),
        (ValueError, "n: ", lambda: digits.batches(load(), 0, 1, 0)),
        (TypeError, "rng: ", lambda: digits.batches(load(), 1, 1, "x")),
        (ValueError, "batch_size: ", lambda: score(len, load(), batch_size=0)),
        (TypeError, "model: .*tensor", lambda: score(lambda x: [1], load())),
        (ValueError, "model: .*batch=", lambda: score(lambda x: x[:1, 0], load())),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    ends = Digits(torch.ones(2, 8, 8), torch.tensor([0, 9]))
    assert ends.chosen(torch.tensor([1, 0])).labels.tolist() == [9, 0]
    assert len(load().few(174, 0)) == 1740
    assert len(split(validation=0.5, test=0.49).train)
    assert shift(torch.ones(1, 1), 0, 0).shape == (1, 1)
