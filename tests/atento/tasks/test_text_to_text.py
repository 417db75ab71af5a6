"""Todo como texto a texto: los mismos datos que cada tarea, con su prefijo y un vocabulario."""

import pytest
import torch

from atento.models.t5 import T5, T5Config
from atento.tasks import addition, corruption, reports, translation
from atento.tasks import text_to_text as tt

EVERY = pytest.mark.parametrize("task", tt.PREFIXES)


@EVERY
@pytest.mark.parametrize("split", ["train", "test"])
def test_each_task_reads_and_writes_words_of_the_common_vocabulary(task, split):
    examples = tt.generate(60, 0, task=task, split=split)
    assert examples == tt.generate(60, torch.Generator().manual_seed(0), task=task, split=split)
    lot, vocabulary = tt.batch(examples), tt.vocabulary()
    for x, source, target in zip(examples, lot.source, lot.target, strict=True):
        assert x.task == task and x.source[:2] == tt.PREFIXES[task]
        assert tuple(vocabulary.decode(source)) == x.source
        assert tuple(vocabulary.decode(target)) == x.target


def reserved(example):
    origin = example.origin
    if example.task == "translate":
        return any(translation.is_held_out(*pair) for pair in origin.pairs)
    if example.task == "add":
        return addition.is_held_out(origin.a, origin.b)
    event = getattr(origin, "report", origin).main
    return reports.is_held_out(event.what, event.place)


@EVERY
def test_what_is_reserved_is_reserved_here_too(task):
    for split in ("train", "test"):
        assert {reserved(x) for x in tt.generate(80, 1, task=task, split=split)} == {
            split == "test"
        }


def test_the_answers_are_right():
    for x in tt.generate(80, 2, task="add"):
        a, b = ("".join(reversed(part)) for part in "".join(x.source[2:]).split("+"))
        assert int(a) + int(b) == int("".join(reversed(x.target))) == x.origin.a + x.origin.b
    assert str(tt.adding(addition.Sum(310, 98))) == "suma : 0 1 3 + 8 9 0 → 8 0 4 0"
    for x in tt.generate(30, 2, task="answer"):
        assert x.target == x.origin.answer and " ".join(x.target) in " ".join(x.source)
    for x in tt.generate(30, 2, task="classify"):
        assert x.target == (x.origin.kind,)
    assert {x.origin.clauses for x in tt.generate(30, 2, clauses=2)} == {2}


def test_a_word_of_both_languages_has_one_number():
    vocabulary = tt.vocabulary()
    assert len(vocabulary) == len(set(vocabulary.words))
    spanish, english = translation.vocabularies()
    assert {"a", "no"} & set(spanish.words) & set(vocabulary.words)
    assert set(spanish.words) | set(english.words) | set(tt.SENTINELS) <= set(vocabulary.words)


def test_hidden_spans_are_words_of_the_vocabulary_too():
    x = tt.generate(1, 0, clauses=2)[0].source
    source, target = corruption.corrupt(x, corruption.hidden_spans(len(x), 0), tt.SENTINELS)
    ids = [tt.vocabulary().encode(words) for words in (source, target)]
    back = [tt.vocabulary().decode(row) for row in ids]
    assert tuple(corruption.restore(*back, tt.SENTINELS)) == x


def test_turns():
    lots = tt.batches(4, 3, 0, turns=["add", ("translate", {"clauses": 1})])
    prefixes = [tt.vocabulary().decode(lot.source[0])[0] for lot in lots]
    assert prefixes == ["suma", "traduce"] * 2 and lots[0].source.shape[0] == 3
    assert torch.equal(lots[0].source, tt.batches(1, 3, 0, turns=["add"])[0].source)


def test_score_counts_by_task():
    examples = tt.generate(5, 0, task="add") + tt.generate(7, 0, task="answer")
    rows = {tuple(tt.batch([x]).source[0].tolist()): tt.batch([x]).labels[0] for x in examples}

    def oracle(source):
        found = [rows[tuple(i for i in row if i)] for row in source.tolist()]
        return torch.nn.utils.rnn.pad_sequence(found, batch_first=True)

    found = tt.score(oracle, examples)
    assert found["exact"] == 1 and found["by_task"]["answer"]["n"] == 7
    net = T5(T5Config(len(tt.vocabulary()), d_model=8, n_heads=2, d_ff=8, bos_id=1, eos_id=2))
    assert tt.score(net, examples)["exact"] < 0.5
    assert len(tt.answers(net, examples)) == 12


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("task: ", lambda: tt.generate(1, 0, task="x")),
        ("split: ", lambda: tt.generate(1, 0, split="x")),
        ("turns: ", lambda: tt.batches(1, 1, 0, turns="add")),
        ("turns: ", lambda: tt.batches(1, 1, 0, turns=[])),
        ("task: ", lambda: tt.batches(1, 1, 0, turns=["x"])),
        ("examples: ", lambda: tt.batch([])),
        ("examples: ", lambda: tt.batch([3])),
    ],
)
def test_bad_input_is_named(message, call):
    with pytest.raises(ValueError, match="^" + message):
        call()
