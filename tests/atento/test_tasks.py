"""Las puertas comunes de las tareas: lo último que se admite y lo primero que no."""

import pytest
import torch

from atento.tasks import addition, copying, expressions, writing
from atento.tasks.addition import Sum

WIDTHS = {copying: "lengths", addition: "digits", expressions: "depths"}
MOST = {addition: 9, expressions: 8}
TASKS = pytest.mark.parametrize("task", WIDTHS, ids=lambda task: task.__name__.split(".")[-1])


@TASKS
def test_nothing_is_drawn_when_nothing_is_asked(task):
    assert task.generate(0, 0) == [] and task.batches(0, 1, 0) == []
    assert len(task.batches(1, 1, 0)) == 1 and task.batches(1, 1, 0)[0].source.shape[0] == 1


@TASKS
@pytest.mark.parametrize("n", [-1, 1.0, True, "1"])
def test_how_many_is_a_whole_number(task, n):
    for call in (lambda: task.generate(n, 0), lambda: task.batches(n, 1, 0)):
        with pytest.raises((TypeError, ValueError), match="^n: "):
            call()
    with pytest.raises((TypeError, ValueError), match="^size: "):
        task.batches(1, 0 if n == -1 else n, 0)


@TASKS
def test_the_width_is_one_or_several_positive_numbers(task):
    name = WIDTHS[task]
    for wrong in (
        0,
        -1,
        [],
        [1, 0],
        1.0,
        True,
        [True],
        [MOST.get(task, 10**9) + 1] * (task in MOST),
    ):
        for call in (task.generate, lambda *a, **k: task.batches(1, *a, **k)):
            with pytest.raises(ValueError, match=f"^{name}: se esperaban enteros"):
                call(1, 0, **{name: wrong})
    assert len(task.generate(2, 0, **{name: MOST.get(task, 1)})) == 2
    assert len(task.generate(2, 0, **{name: 1})) == 2


@TASKS
def test_the_randomness_is_a_generator_or_a_seed(task):
    for wrong in ("0", None, 1.5, True):
        for call in (task.generate, lambda *a: task.batches(1, *a)):
            with pytest.raises(TypeError, match="^rng: "):
                call(1, wrong)
    one, other = (task.generate(3, torch.Generator().manual_seed(4)) for _ in range(2))
    assert one == other and task.generate(3, 4) == task.generate(3, 4) != task.generate(3, 5)


@pytest.mark.parametrize("task", [addition, expressions])
def test_the_split_is_one_of_two(task):
    for call in (task.generate, lambda *a, **k: task.batches(1, *a, **k)):
        with pytest.raises(ValueError, match="^split: se esperaba uno de train, test; llegó 'dev'"):
            call(1, 0, split="dev")
    for split in ("train", "test"):
        drawn = task.generate(20, 0, split=split)
        kept = [task.is_held_out(*(x[:2] if task is addition else [x])) for x in drawn]
        assert set(kept) == {split == "test"}


@pytest.mark.parametrize("task", [addition, expressions])
def test_only_numbers_of_the_vocabulary_are_read(task):
    last = task.VOCAB_SIZE - 1
    assert isinstance(task.decode([last]), str) and task.decode([]) == ""
    assert task.decode(torch.tensor([last])) == task.decode([last])
    for wrong in (-1, last + 1, 1.0, "1"):
        with pytest.raises(ValueError, match=f"^ids: se esperaban números de 0 a {last}; llegó"):
            task.decode([wrong])
    for wrong in (3, None):
        with pytest.raises(TypeError, match="^text: se esperaba un texto"):
            task.encode(wrong)


@pytest.mark.parametrize("example", [
    Sum(10, 1, 1), Sum(1, 10, 1), Sum(-1, 1, 1), Sum(1, 1, 0), Sum(1, 1, 10), (1, 1, 1),
])  # fmt: skip
def test_a_sum_fits_in_its_digits(example):
    for call in (addition.carries, addition.longest_chain, lambda x: addition.batch([x])):
        with pytest.raises(ValueError, match="^examples: "):
            call(example)


def test_the_largest_and_the_smallest_sums_are_sums():
    assert addition.carries(Sum(9, 9, 1)) == (True,) and addition.carries(Sum(0, 0, 1)) == (False,)
    nines = Sum(10**9 - 1, 10**9 - 1, 9)
    assert addition.carries(nines) == (True,) * 9 and addition.longest_chain(nines) == 9
    assert addition.longest_chain(Sum(12, 34, 2)) == 0
    assert addition.longest_chain(Sum(90909, 90909, 5)) == 1


def test_how_many_carries_are_asked_is_what_they_carry():
    for k in range(3):
        sums = addition.generate(20, 1, digits=2, carries=k)
        assert {sum(addition.carries(x)) for x in sums} == {k}
    for wrong in (-1, True, 1.0):
        with pytest.raises((TypeError, ValueError), match="^carries: "):
            addition.generate(1, 0, digits=2, carries=wrong)
    with pytest.raises(ValueError, match="^carries: se esperaba un entero de 0 a digits = 2; lleg"):
        addition.generate(1, 0, digits=(3, 2), carries=3)
    with pytest.raises(TypeError, match="^reverse: "):
        addition.batches(1, 1, 0, reverse=1)
    for a, b in ((-1, 0), (0, -1), (0.0, 1), (1, True)):
        with pytest.raises((TypeError, ValueError), match="^[ab]: "):
            addition.is_held_out(a, b)


def test_the_marks_and_their_means():
    assert writing.mark([1, 2, 3], [1, 0, 3, 4]) == (False, 2, 4)
    assert writing.mark((1, 2), [1, 2]) == (True, 2, 2)
    found = writing.means([(True, 2, 2), (False, 1, 4)])
    assert found == {"exact": 0.5, "token": 0.5, "n": 2}
    by = writing.means_by(["b", "a", "b"], [(True, 1, 1), (False, 0, 2), (False, 1, 2)])
    assert list(by) == ["a", "b"] and by["a"] == {"exact": 0.0, "token": 0.0, "n": 1}
    assert by["b"] == {"exact": 0.5, "token": pytest.approx(2 / 3), "n": 2}
    assert writing.pad([[3], [4, 5]]).tolist() == [[3, writing.PAD_ID], [4, 5]]
