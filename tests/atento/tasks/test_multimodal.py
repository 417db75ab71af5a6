"""Preguntas para dos sentidos: respuestas, parejas reservadas, y lo que pone cada sentido."""

import itertools
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento.tasks import digits
from atento.tasks import multimodal as task
from atento.tasks.multimodal import ANSWERS, NAMES, QUESTIONS, SENSES

DIGIT = st.integers(0, 9)
QUESTION = st.sampled_from(list(QUESTIONS))


def told_in(text):
    """La cifra que dice una frase, por sus palabras."""
    (name,) = set(text.split(" . ")[0].split()) & set(NAMES)
    return NAMES.index(name)


def understood(seen, text):
    """La respuesta de quien entiende la frase: otro camino, contando con rangos."""
    told, question = told_in(text), text.split(" . ")[1]
    low, high = sorted((seen, told))
    facts = {
        "qué cifra se ve": seen,
        "qué cifra se dice": told,
        "cuál es mayor": high,
        "cuál es menor": low,
        "cuánto suman": len([*range(seen), *range(told)]),
        "cuántas son pares": len([x for x in (seen, told) if x in (0, 2, 4, 6, 8)]),
        "cuántas pasan de cuatro": len([x for x in (seen, told) if x in range(5, 10)]),
        "son iguales": low == high,
        "es mayor la vista": seen in range(told + 1, 10),
        "es par la suma": bool(seen % 2) == bool(told % 2),
        "son pares las dos": {seen, told} <= {0, 2, 4, 6, 8},
        "suman más de nueve": len(str(seen + told)) == 2,
    }
    fact = facts[question]
    return {True: "sí", False: "no"}[fact] if isinstance(fact, bool) else str(fact)


@given(seed=st.integers(0, 10**6), pairs=st.sampled_from(["seen", "unseen", "any"]))
def test_the_answer_is_that_of_who_sees_and_reads(seed, pairs):
    for example in task.generate(5, seed, split="test", pairs=pairs):
        assert digits.load().labels[example.place] == example.seen
        assert told_in(example.text) == example.told
        assert (
            example.answer == understood(example.seen, example.text) and example.answer in ANSWERS
        )
        assert pairs == "any" or task.is_held_out(example.seen, example.told) == (pairs == "unseen")


def test_twelve_questions_and_what_is_reserved():
    assert len(QUESTIONS) == 12 and len(ANSWERS) == 21
    seen, unseen = task.pairs_of("seen"), task.pairs_of("unseen")
    assert len(seen) == 80 and len(unseen) == 20 and not {*seen} & {*unseen}
    assert sorted(seen + unseen) == task.pairs_of() == [*itertools.product(range(10), repeat=2)]
    for sense in (0, 1):
        assert Counter(pair[sense] for pair in unseen) == dict.fromkeys(range(10), 2)
    for question, answer in QUESTIONS.items():  # lo que hay que contestar, al entrenar ha salido
        assert {answer(*p) for p in unseen} <= {answer(*p) for p in seen}, question


def test_no_handwriting_is_shared():
    drawn = {s: {e.place for e in task.generate(2000, 1, split=s)} for s in ("train", "test")}
    assert not drawn["train"] & drawn["test"]
    assert drawn["test"] <= set(digits.places("test").tolist())


def test_everything_is_drawn_alike():
    many = task.generate(6000, 0)
    for field, kinds in (("question", 12), ("saying", 3), ("seen", 10), ("told", 10)):
        counts = Counter(getattr(e, field) for e in many)
        assert len(counts) == kinds
        assert (
            max(counts.values()) < 1.2 * 6000 / kinds and min(counts.values()) > 0.8 * 6000 / kinds
        )
    assert task.generate(5, 3) == task.generate(5, 3) != task.generate(5, 4)
    few = task.generate(20, 0, questions=["son iguales"])
    assert {e.question for e in few} == {"son iguales"}


def test_a_batch_says_the_same():
    examples = task.generate(40, 2, pairs="any")
    images, text, answers = task.batch(examples)
    assert images.shape == (40, 1, 8, 8) and text.shape == (40, task.LENGTH)
    parts = digits.split()
    normal = {tuple(x.flatten().tolist()) for x in parts.train.images}
    for image, row, answer, example in zip(images, text, answers, examples, strict=True):
        assert tuple(image.flatten().tolist()) in normal
        assert " ".join(task.VOCABULARY.decode(row)) == example.text
        assert (row.ne(0).int().diff() <= 0).all()  # el relleno, detrás
        assert ANSWERS[answer] == example.answer
    assert len({int(row.ne(0).sum()) for row in text}) > 3


def test_each_sense_can_be_taken_away():
    examples = task.generate(30, 5)
    whole, parts = task.batch(examples), digits.split()
    blind, deaf, neither = (task.batch(examples, senses=s) for s in (("told",), ("seen",), ()))
    assert torch.equal(blind.text, whole.text) and torch.equal(deaf.images, whole.images)
    assert (blind.images == parts.train.background).all()
    assert torch.equal(neither.images, blind.images) and torch.equal(neither.text, deaf.text)
    words = [task.VOCABULARY.decode(row) for row in deaf.text]
    assert words == [e.question.split() for e in examples]
    assert all(torch.equal(b.answers, whole.answers) for b in (blind, deaf, neither))


@pytest.mark.parametrize("senses", [(), ("seen",), ("told",), SENSES], ids=str)
@pytest.mark.parametrize("pairs", ["seen", "unseen"])
def test_the_ceiling_is_that_of_the_best_table(senses, pairs):
    """Probando todas las respuestas posibles para cada cosa que se sabe, ninguna pasa de ahí."""
    found = task.ceiling(senses, pairs=pairs)
    options = task.pairs_of(pairs)
    for question, answer in QUESTIONS.items():
        right = 0
        keys = [tuple(x for s, x in zip(SENSES, p, strict=True) if s in senses) for p in options]
        for key in set(keys):
            own = [answer(*p) for p, k in zip(options, keys, strict=True) if k == key]
            right += max(sum(a == b for b in own) for a in ANSWERS)
        assert found["by_question"][question] == pytest.approx(right / len(options))
    assert found["accuracy"] == pytest.approx(sum(found["by_question"].values()) / 12)
    assert (found["accuracy"] == 1) == (senses == SENSES)


def test_ten_questions_need_both():
    one = [task.ceiling((sense,))["by_question"] for sense in SENSES]
    alone = [q for q in QUESTIONS if max(o[q] for o in one) == 1]
    assert alone == ["qué cifra se ve", "qué cifra se dice"]


class Reader(nn.Module):
    """Contesta siempre bien, mirando qué dígito es cada imagen."""

    def forward(self, images, text):
        assert not self.training and not torch.is_grad_enabled()
        known = task.normalized()
        rows = []
        for image, row in zip(images[:, 0], text, strict=True):
            place = (known.images == image).flatten(1).all(1).nonzero()[0]
            words = " ".join(task.VOCABULARY.decode(row))
            rows.append(ANSWERS.index(understood(int(known.labels[place]), words)))
        return torch.eye(len(ANSWERS))[rows]


def test_scores():
    examples = task.generate(30, 7, pairs="unseen")
    found = task.score(Reader(), examples, batch_size=8)
    assert found["accuracy"] == 1 and found["n"] == 30 and found["right"].all()
    no = ANSWERS.index("no")
    found = task.score(lambda images, text: torch.eye(21)[[no] * len(text)], examples)
    wanted = [e.answer == "no" for e in examples]
    assert found["right"].tolist() == wanted and found["accuracy"] == pytest.approx(
        sum(wanted) / 30
    )
    for question, value in found["by_question"].items():
        own = [e.answer == "no" for e in examples if e.question == question]
        assert value == pytest.approx(sum(own) / len(own))
    assert list(found["by_question"]) == [
        q for q in QUESTIONS if q in {e.question for e in examples}
    ]


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "n: ", lambda: task.generate(-1, 0)),
        (TypeError, "rng: ", lambda: task.generate(1, "x")),
        (ValueError, "split: ", lambda: task.generate(1, 0, split="all")),
        (ValueError, "pairs: ", lambda: task.generate(1, 0, pairs="all")),
        (ValueError, "pairs: ", lambda: task.pairs_of("none")),
        (ValueError, "questions: .*qué", lambda: task.generate(1, 0, questions=["qué"])),
        (TypeError, "questions: ", lambda: task.generate(1, 0, questions=[])),
        (ValueError, "seen: .*de 0 a 9", lambda: task.is_held_out(10, 0)),
        (TypeError, "told: ", lambda: task.is_held_out(1, "x")),
        (ValueError, "examples: ", lambda: task.batch([])),
        (TypeError, "examples: ", lambda: task.batch([1])),
        (ValueError, "senses: ", lambda: task.batch(task.generate(1, 0), senses=("image",))),
        (TypeError, "senses: ", lambda: task.ceiling("seen")),
        (TypeError, "model: ", lambda: task.score(3, task.generate(1, 0))),
        (
            ValueError,
            r"model: .*\(1, 21\)",
            lambda: task.score(lambda i, t: torch.ones(1, 10), task.generate(1, 0)),
        ),
        (TypeError, "rng: ", lambda: task.generate(1, True)),
        (TypeError, "questions: ", lambda: task.generate(1, 0, questions="qué")),
        (TypeError, "questions: ", lambda: task.generate(1, 0, questions={"son iguales"})),
        (ValueError, "seen: .*mayor o igual", lambda: task.is_held_out(-1, 0)),
        (TypeError, "senses: ", lambda: task.ceiling({"seen"})),
        (ValueError, "examples: ", lambda: task.batch("ab")),
        (ValueError, "examples: ", lambda: task.batch({1})),
        (TypeError, "examples: ", lambda: task.score(len, [1])),
        (ValueError, "senses: ", lambda: task.score(len, task.generate(1, 0), senses=("image",))),
        (ValueError, "batch_size: ", lambda: task.score(len, task.generate(1, 0), batch_size=0)),
        (ValueError, "device: ", lambda: task.score(len, task.generate(1, 0), device="x")),
        (TypeError, "model: .*tensor", lambda: task.score(lambda i, t: [1], task.generate(1, 0))),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert task.generate(0, 0) == []
    assert len(task.batch(task.generate(1, 0), senses=()).answers) == 1
    for seen, told in ((0, 9), (9, 0)):
        assert task.is_held_out(seen, told) in (True, False)
