"""Los partes: una sola respuesta, parejas reservadas, líneas de base y marcas."""

import pytest
import torch
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from atento.tasks import reports as rp

LAYOUTS = pytest.mark.parametrize("layout", rp.LAYOUTS)


@pytest.fixture(scope="module")
def many():
    return rp.generate(600, 0)


def pairs(report):
    return [(event.what, event.place) for event in (report.main, report.previous)]


def test_the_same_seed_gives_the_same():
    assert rp.generate(9, 4) == rp.generate(9, torch.Generator().manual_seed(4))
    assert rp.generate(9, 4) != rp.generate(9, 5) and rp.generate(0, 0) == []


def test_held_out_pairs(many):
    assert not any(rp.is_held_out(*pair) for x in many for pair in pairs(x))
    test = rp.generate(600, 0, split="test")
    assert all(rp.is_held_out(*pairs(x)[0]) and not rp.is_held_out(*pairs(x)[1]) for x in test)
    every = [(w, p) for ws in rp.HAPPENINGS.values() for w in ws for p in rp.PLACES]
    reserved = {pair for pair in every if rp.is_held_out(*pair)}
    assert len(reserved) * 6 == len(every) and {pairs(x)[0] for x in test} == reserved
    for i in (0, 1):  # cada suceso y cada lugar reservados se ven al entrenar, con otro
        assert {pair[i] for pair in reserved} <= {p[i] for x in many for p in pairs(x)}


@LAYOUTS
def test_every_question_has_one_answer_in_its_place(layout):
    for report in rp.generate(150, 1, layout=layout):
        asked = rp.questions(report)
        assert len({q.words for q in asked}) == len(asked) == 8
        for i, q in enumerate(asked):
            event = (report.main, report.previous)[i // 4]
            assert " ".join(q.answer) == getattr(event, q.about)
            heading = report.sections[report.segments[q.start]].heading
            assert heading == ("hechos", "antecedentes")[i // 4]
            assert event.what.split()[1] in q.words
            assert report.segments[q.end] == report.segments[q.start]


@LAYOUTS
def test_the_parts_are_the_whole(layout):
    for report in rp.generate(20, 2, layout=layout):
        assert tuple(s.heading for s in report.sections) == rp.LAYOUTS[layout]
        assert len(report.segments) == len(report.words) == 51
        parts = [[w for w, k in zip(report.words, report.segments, strict=True) if k == i]
                 for i in range(3)]  # fmt: skip
        assert parts == [[s.heading, ":", *s.words] for s in report.sections]
        assert len({report.main.place, report.previous.place}) == 2
        assert report.kind != report.previous.kind


def test_no_word_alone_says_the_kind(many):
    """Cada palabra sale lo mismo en los dos sucesos: contar palabras es echarlo a suertes."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    names = sorted(rp.spoken())

    def counts(examples):
        return np.array([[x.words.count(w) for w in names] for x in examples])

    model = LogisticRegression(max_iter=300).fit(counts(many), [x.kind for x in many])
    test = rp.generate(300, 8)
    assert 0.35 < model.score(counts(test), [x.kind for x in test]) < 0.65


def test_reads_as_spanish():
    report = rp.generate(1, 0)[0]
    text = str(report)
    assert text.startswith(
        "Antecedentes: El lunes hubo un apagón en la residencia por el óxido. Avi"
    )
    assert [line.split(":")[0] for line in text.splitlines()] == [
        "Antecedentes",
        "Hechos",
        "Medidas",
    ]
    asked = rp.questions(report, ["person"])
    assert rp.prose(asked[1].words) == "¿Quién avisó del apagón?"


def test_numbers_and_back(many):
    vocabulary = rp.vocabulary()
    lot = rp.batch(many[:5])
    for x, source, target in zip(many, lot.source, lot.target, strict=False):
        assert tuple(vocabulary.decode(source)) == x.words
        assert tuple(vocabulary.decode(target)) == x.headline
    kinds = rp.labelled(many[:5])
    assert kinds.ids.shape == kinds.segments.shape and kinds.ids[0, 0] == rp.BOS_ID
    assert [rp.KINDS[i] for i in kinds.labels.tolist()] == [x.kind for x in many[:5]]
    assert kinds.segments[0, 1:-1].tolist() == list(many[0].segments)
    questions = [q for x in many[:5] for q in rp.questions(x)]
    asked = rp.asked(questions)
    for q, ids, kind, a, b in zip(questions, *asked, strict=True):
        assert tuple(vocabulary.decode(ids[a : b + 1])) == q.answer
        assert kind[a] == kind[b] == 1 and kind[: len(q.words) + 2].sum() == 0
    assert len(rp.batches(2, 3, 0, split="test")) == 2


def test_the_baselines():
    chronicle, pyramid = (rp.generate(300, 3, layout=x) for x in ("chronicle", "pyramid"))
    assert rp.kind_score([*map(rp.first_kind, chronicle)], chronicle)["exact"] == 0
    assert rp.kind_score([*map(rp.first_kind, pyramid)], pyramid)["exact"] == 1
    marks = [rp.headline_score([*map(rp.lead, x)], x) for x in (chronicle, pyramid)]
    assert marks[0]["rougeL"] < 0.4 < 0.7 < marks[1]["rougeL"] < 1
    assert len(rp.lead(pyramid[0], 4)) == 4
    asked = [q for x in chronicle for q in rp.questions(x)]
    found = rp.answer_score([*map(rp.first_span, asked)], asked)
    assert found["exact"] == 0.5 and 0.5 < found["f1"] < 0.8


def test_the_marks_by_hand():
    (report,) = rp.generate(1, 0)  # ampliación en el museo por las goteras
    perfect = rp.headline_score([report.headline], [report])
    assert perfect["exact"] == perfect["rouge1"] == perfect["rougeL"] == 1 and perfect["n"] == 1
    assert perfect["bleu"] == pytest.approx(100)
    found = rp.headline_score([["el", "museo", "en", "ampliación"]], [report])
    # cuatro palabras buenas de cuatro escritas y siete pedidas; una pareja de tres y seis
    assert found["rouge1"] == pytest.approx(8 / 11) and found["rouge2"] == pytest.approx(2 / 9)
    assert found["rougeL"] == pytest.approx(4 / 11) and found["exact"] == 0
    question = rp.questions(report, ["place"])[0]
    assert rp.answer_score([["museo"]], [question])["f1"] == pytest.approx(2 / 3)
    assert rp.answer_score([[]], [question]) == {"exact": 0, "f1": 0, "n": 1}


def test_the_words_of_rouge_are_english():
    """Por qué no se usa su separador: parte «avería» y suma aciertos que no son."""
    assert DefaultTokenizer(use_stemmer=False).tokenize("avería") == ["aver", "a"]
    theirs = RougeScorer(["rouge1"]).score("añil", "aéreo il")["rouge1"].fmeasure
    assert theirs > 0


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "layout: ", lambda: rp.generate(1, 0, layout="x")),
        (ValueError, "split: ", lambda: rp.generate(1, 0, split="x")),
        (ValueError, "what: ", lambda: rp.is_held_out("el x", "el museo")),
        (ValueError, "place: ", lambda: rp.is_held_out("el robo", "x")),
        (TypeError, "report: ", lambda: rp.questions(3)),
        (ValueError, "about: ", lambda: rp.questions(rp.generate(1, 0)[0], ["x"])),
        (ValueError, "examples: ", lambda: rp.batch([3])),
        (ValueError, "examples: ", lambda: rp.asked([])),
        (ValueError, "written: ", lambda: rp.headline_score([], rp.generate(1, 0))),
        (ValueError, "words: ", lambda: rp.lead(rp.generate(1, 0)[0], 0)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
