"""Concordancia: las frases concuerdan, la reserva se cumple y el examen distingue a quien sabe."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.tasks import agreement
from atento.tasks.agreement import FEATURES, PARTS, WORDS, Pair, traits


def form(row, features):
    return row.split()[FEATURES.index(features)]


def oracle(sentences, answer):
    """Un modelo que da 1 a la palabra que diga ``answer(frase, sitio)`` donde está lo tapado."""
    known = {tuple(agreement.batch([s])[0].tolist()): s for s in sentences}

    def model(ids):
        logits = torch.zeros(*ids.shape, len(WORDS))
        for row, line in enumerate(ids.tolist()):
            place = line.index(agreement.MASK_ID)
            whole = next(s for key, s in known.items() if fits(key, line, place))
            word = answer(whole, place - 1)
            logits[row, place, WORDS.index(word)] = 1
        return logits

    return model


def fits(key, line, place):
    shown = [x for x in line if x != agreement.PAD_ID]
    return len(key) == len(shown) and all(
        a == b for i, (a, b) in enumerate(zip(key, shown, strict=True)) if i != place
    )


@given(seed=st.integers(0, 10**6), split=st.sampled_from(["train", "test"]))
def test_every_sentence_agrees(seed, split):
    for s in agreement.generate(5, seed, split=split):
        assert len(s.agreeing) == len(PARTS) and list(s.agreeing) == sorted(set(s.agreeing))
        assert all(s.subject in traits(s.words[i]) for i in s.agreeing)
        assert s.words[s.agreeing[3]] in ("está", "están")
        pair = (
            agreement.others(s.words[1], include=True)[0],
            agreement.others(s.words[-1], include=True)[0],
        )
        assert agreement.is_reserved(*pair) == (split == "test")


@given(seed=st.integers(0, 10**6))
def test_the_verb_agrees_with_who_acts(seed):
    for s in agreement.generate(5, seed):
        verb = s.words[s.words.index("que") + 1]
        acts = "a" in s.words
        assert (s.subject if acts else s.other) in traits(verb)
        assert (s.roles[1] == 1) == acts and sorted(set(s.roles)) == [0, 1, 2]
        assert s.roles.count(1) == s.roles.count(2) == 1
        other = s.words[s.roles.index(2 if acts else 1)]
        assert s.other in traits(other) and s.subject in traits(s.words[1])


def test_what_is_said_of_the_subject():
    good = {x for row in agreement.POSITIVE for x in row.split()}
    sentences = agreement.generate(200, 3)
    for s in sentences:
        assert s.positive == ((s.words[-1] in good) != ("no" in s.words))
    assert 0.35 < sum(s.positive for s in sentences) / 200 < 0.65
    assert 0.15 < sum(s.subject == s.other for s in sentences) / 200 < 0.35


def test_without_agreement_each_form_is_a_draw():
    plain = agreement.generate(400, 5, agree=False)
    for part in range(len(PARTS)):
        right = [s.subject in traits(s.words[s.agreeing[part]]) for s in plain]
        chance = 0.5 if PARTS[part] == "cópula" else 0.25
        assert abs(sum(right) / 400 - chance) < 0.09


def test_no_pair_is_in_both_parts():
    train, test = (agreement.generate(1500, 1, split=x) for x in ("train", "test"))
    pairs = [
        {
            (
                agreement.others(s.words[1], include=True)[0],
                agreement.others(s.words[-1], include=True)[0],
            )
            for s in x
        }
        for x in (train, test)
    ]
    every = len(agreement.NOUNS) * len(agreement.POSITIVE + agreement.NEGATIVE)
    assert not pairs[0] & pairs[1] and len(pairs[0] | pairs[1]) == every
    assert 0.1 < len(pairs[1]) / every < 0.35


def test_numbers_and_labels():
    sentences = agreement.generate(3, 2)
    ids, labels = agreement.batch(sentences), agreement.labels(sentences)
    assert ids.shape == labels.shape
    for row, line, s in zip(ids.tolist(), labels.tolist(), sentences, strict=True):
        n = len(s.words)
        assert [WORDS[x] for x in row[: n + 2]] == ["[CLS]", *s.words, "[SEP]"]
        assert line[1 : n + 1] == list(s.roles) and line[0] == line[n + 1] == -100
        assert set(row[n + 2 :]) <= {agreement.PAD_ID} and set(line[n + 2 :]) <= {-100}
    assert len(set(WORDS)) == len(WORDS) == agreement.VOCAB_SIZE


def test_score_knows_who_knows():
    sentences = agreement.generate(40, 7, split="test")
    perfect = oracle(sentences, lambda s, i: s.words[i])
    assert agreement.score(perfect, sentences)["agree"] == 1.0
    synonym = oracle(
        sentences, lambda s, i: form(agreement.ADJECTIVES[0], s.subject)
    )  # otra palabra con los mismos rasgos también concuerda
    assert agreement.score(synonym, sentences)["agree"] == 1.0
    nearest = oracle(sentences, lambda s, i: form(agreement.ADJECTIVES[0], s.other))
    found = agreement.score(nearest, sentences)
    equal = sum(s.subject == s.other for s in sentences) / 40
    assert found["agree"] == pytest.approx(equal) and found["n"] == 200
    always = oracle(sentences, lambda s, i: "negro")
    masculine = sum(s.subject == "ms" for s in sentences) / 40
    assert set(agreement.score(always, sentences, batch_size=7)["by_part"].values()) == {masculine}


def test_minimal_pairs():
    sentences = agreement.generate(60, 8, split="test")
    pairs = agreement.minimal_pairs(sentences, 1)
    for pair, s in zip(pairs, sentences, strict=True):
        assert pair.place in s.agreeing and s.subject not in traits(pair.wrong)
        assert pair.wrong in agreement.others(s.words[pair.place])
    assert {s.agreeing.index(p.place) for p, s in zip(pairs, sentences, strict=True)} == set(
        range(5)
    )
    assert agreement.prefers(oracle(sentences, lambda s, i: s.words[i]), pairs) == 1.0
    wrong = {(p.sentence, p.place): p.wrong for p in pairs}
    assert agreement.prefers(oracle(sentences, lambda s, i: wrong[s, i]), pairs) == 0.0
    assert agreement.prefers(lambda ids: torch.zeros(*ids.shape, len(WORDS)), pairs) == 0.0


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "n: ", lambda: agreement.generate(-1, 0)),
        (
            ValueError,
            "split: se esperaba una de train, test",
            lambda: agreement.generate(1, 0, split="x"),
        ),
        (TypeError, "rng: ", lambda: agreement.generate(1, "0")),
        (ValueError, "sentences: se esperaba al menos una", lambda: agreement.batch([])),
        (ValueError, "sentences: ", lambda: agreement.score(None, [])),
        (ValueError, "sentences: ", lambda: agreement.prefers(None, [])),
        (
            ValueError,
            "batch_size: ",
            lambda: agreement.score(None, agreement.generate(1, 0), batch_size=0),
        ),
        (ValueError, "word: ", lambda: traits("pingüino")),
        (ValueError, "word: .* varias formas", lambda: agreement.others("que")),
        (ValueError, "words: .*'pingüino'", lambda: agreement.encode(["pingüino"])),
        (ValueError, "words: se esperaba una lista", lambda: agreement.encode("gata")),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_same_seed_same_sentences():
    assert agreement.generate(5, 3) == agreement.generate(5, rng.generator(3))
    assert agreement.generate(5, 3) != agreement.generate(5, 4)
    assert isinstance(agreement.minimal_pairs(agreement.generate(1, 0), 0)[0], Pair)
    assert len({s.subject for s in agreement.generate(50, 0)}) == len(FEATURES)
