"""Vocales: la síntesis por otro camino, lo que se reserva, y que una regla las reconoce."""

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.signal
import torch
from hypothesis import given
from hypothesis import strategies as st
from nltk import edit_distance

from atento import audio
from atento.tasks import vowels
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID, PAD_ID
from atento.tasks.vowels import RATE, SECONDS, VOWELS, Example

SAMPLES = round(RATE * SECONDS)


def sections(formants, bandwidths):
    """Los resonadores de Klatt, como los quiere scipy, con los labios delante."""
    rows = [[1, -1, 0, 1, 0, 0]]
    for center, width in [(0, 100), *zip(formants, bandwidths, strict=True)]:
        pole = np.exp(-math.pi * width / RATE + 2j * math.pi * center / RATE)
        down = [1, -2 * pole.real, abs(pole) ** 2]
        rows.append([sum(down), 0, 0, *down])
    return np.array(rows)


@given(name=st.sampled_from(VOWELS), tract=st.floats(0.8, 1.2))
def test_the_tract_equals_scipy(name, tract):
    formants = [tract * f for f in vowels.FORMANTS[name]]
    hertz = torch.linspace(1, 3_999, 97, dtype=torch.float64)
    _, expected = scipy.signal.sosfreqz(
        sections(formants, vowels.BANDWIDTHS), 2 * math.pi * hertz.numpy() / RATE
    )
    torch.testing.assert_close(vowels.response(hertz, formants), torch.as_tensor(expected))


@pytest.mark.parametrize("name", VOWELS)
@pytest.mark.parametrize("period", [81, 51, 33])  # impar: ningún múltiplo cae en la mitad
def test_a_vowel_is_pulses_through_the_tract(name, period):
    """Sumar los múltiplos del tono da lo mismo que filtrar un tren de pulsos, ya arrancado."""
    n = 1_600
    pulses = np.zeros(8 * n)
    pulses[::period] = 1
    tract = sections(vowels.FORMANTS[name], vowels.BANDWIDTHS)
    start = (4 * n) // period * period
    filtered = scipy.signal.sosfilt(tract, pulses)[start : start + n]
    made = vowels.vowel(name, RATE / period, n / RATE)
    assert made[0].abs() < 1e-6 and made.square().mean().sqrt() == pytest.approx(0.1, rel=1e-4)
    ours, theirs = (x[400:-400] for x in (made, torch.as_tensor(filtered).float()))
    torch.testing.assert_close(ours / ours.norm(), theirs / theirs.norm(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", VOWELS)
@pytest.mark.parametrize("tract", [0.92, 1.0, 1.08])
def test_the_formants_are_where_they_should(name, tract):
    """Los formantes que se miden son los que se pusieron, también con otro tono."""
    for pitch in (95.0, 130.0, 180.0, 240.0):
        found = vowels.measured_formants(vowels.vowel(name, pitch, 0.15, tract=tract))
        for measured, wanted in zip(found, vowels.FORMANTS[name], strict=False):
            assert abs(measured - tract * wanted) < max(0.6 * pitch, 40)  # medio armónico
        assert vowels.nearest(found) == name


def test_a_rule_hears_them_all_and_noise_confuses_it():
    clean = vowels.score(vowels.by_rule, vowels.generate(150, 3, noise=None))
    noisy = vowels.score(vowels.by_rule, vowels.generate(150, 3))
    assert clean["exact"] >= 0.99 and clean["cer"] < 0.01
    assert 0.1 < noisy["cer"] < 0.6 and noisy["n"] == 150
    assert set(noisy["by_length"]) == set(vowels.LENGTHS)


def test_a_sound_is_always_the_same():
    one, two = (vowels.generate(6, seed) for seed in (4, 4))
    assert one == two and vowels.generate(6, 5) != one
    heard = vowels.sound(one[0])
    assert torch.equal(heard, vowels.sound(two[0])) and heard.shape == (SAMPLES,)
    assert not torch.equal(heard, vowels.sound(one[0]._replace(seed=0)))


@pytest.mark.parametrize("noise", [5.0, 20.0])
def test_noise_is_what_it_says(noise):
    (example,) = vowels.generate(1, 0, noise=noise, lengths=5)
    clean, noisy = vowels.sound(example._replace(noise=None)), vowels.sound(example)
    loud = clean[clean.abs() > 0].square().mean() / (noisy - clean).square().mean()
    assert 10 * loud.log10().item() == pytest.approx(noise, abs=0.3)


# --- Lo que se reserva ----------------------------------------------------------------------------


def test_each_vowel_starts_and_ends_one_held_out_pair():
    held = [a + b for a in VOWELS for b in VOWELS if vowels.is_held_out(a + b)]
    assert held == ["ai", "eo", "iu", "oa", "ue"]


@given(seed=st.integers(0, 999), lengths=st.sampled_from([2, (2, 3), 5, (2, 3, 4, 5)]))
def test_pairs_are_held_out(seed, lengths):
    for split, some in (("train", False), ("test", True)):
        for example in vowels.generate(8, seed, split=split, lengths=lengths):
            pairs = map("".join, pairwise(example.vowels))
            assert any(map(vowels.is_held_out, pairs)) == some
            assert len(example.vowels) in np.atleast_1d(lengths)
            assert sum(example.lengths) + sum(example.gaps) <= SECONDS


@given(seed=st.integers(0, 999))
def test_pitches_are_held_out(seed):
    low, high = vowels.HELD_OUT_PITCHES
    for split, inside in (("train", False), ("test", True)):
        made = vowels.generate(8, seed, split=split, held_out="pitch", lengths=(1, 2))
        assert all((low <= x.pitch < high) == inside for x in made)
        assert all(vowels.PITCHES[0] <= x.pitch <= vowels.PITCHES[1] for x in made)


def test_everything_that_may_appear_does():
    made = vowels.generate(400, 0)
    assert {a + b for x in made for a, b in pairwise(x.vowels)} == {
        a + b for a in VOWELS for b in VOWELS if not vowels.is_held_out(a + b)
    }
    tones = torch.tensor([x.pitch for x in vowels.generate(400, 0, held_out="pitch")])
    counts = torch.histc(tones, 16, *vowels.PITCHES)  # de 10 en 10 hercios
    assert (counts[5:8] == 0).all() and (counts[[*range(5), *range(8, 16)]] > 10).all()


# --- Lotes, mezclas y notas -----------------------------------------------------------------------


def test_a_batch_is_what_is_heard_and_what_is_written():
    examples = vowels.generate(5, 1)
    source, target = vowels.batch(examples)
    assert source.shape == (5, SAMPLES // vowels.HOP, vowels.N_MELS)
    for example, heard, row in zip(examples, source, target, strict=True):
        alone = audio.log_mel(vowels.sound(example), RATE, size=256, hop=80, n_mels=40)
        torch.testing.assert_close(heard, alone)
        n = len(example.vowels) + 2
        assert row[0] == BOS_ID and row[n - 1] == EOS_ID and (row[n:] == PAD_ID).all()
        assert "".join(vowels.VOCABULARY.decode(row)) == example.vowels


@pytest.mark.parametrize("split", ["train", "test"])
def test_mixtures_add_up_and_can_be_told_apart(split):
    pairs = vowels.mixtures(6, 2, split=split)
    heard, voices = vowels.mix(pairs)
    assert heard.shape == (6, SAMPLES) and voices.shape == (6, 2, SAMPLES)
    torch.testing.assert_close(heard, voices.sum(dim=1))
    for pair in pairs:
        tones = sorted(x.pitch for x in pair)
        assert tones[1] >= 1.25 * tones[0] and all(x.noise is None for x in pair)
    mixed = audio.separation(heard[:, None].expand_as(voices), voices).si_snr
    assert mixed.abs().max() < 6  # ninguna voz tapa a la otra
    assert (audio.separation(voices.flip(1), voices).si_snr > 40).all()


@given(a=st.text("aei", max_size=7), b=st.text("aei", max_size=7))
def test_edits_equal_nltk(a, b):
    assert vowels.edits(a, b) == vowels.edits(b, a) == edit_distance(a, b)


class Parrot:
    """Un modelo que da pasos y escribe siempre lo mismo."""

    def __init__(self, word):
        self.ids = [*vowels.VOCABULARY.encode(list(word)), EOS_ID]

    def encode(self, source):
        assert source.shape[1:] == (160, 40)
        return source

    def start(self, encoded):
        return 0

    def step(self, ids, state):
        logits = torch.zeros(len(ids), len(vowels.VOCABULARY))
        logits[:, self.ids[min(state, len(self.ids) - 1)]] = 1
        return logits, state + 1


def test_scores_a_model_that_takes_steps(monkeypatch):
    from contextlib import nullcontext

    monkeypatch.setattr(vowels, "evaluating", lambda model: nullcontext())
    examples = vowels.generate(9, 0, lengths=(2, 3))
    assert vowels.transcribe(Parrot("aei"), examples, batch_size=4) == ["aei"] * 9
    found = vowels.score(Parrot("aei"), examples)
    wrong = sum(edit_distance("aei", x.vowels) for x in examples)
    assert found["cer"] == pytest.approx(wrong / sum(len(x.vowels) for x in examples))
    assert found["exact"] == sum(x.vowels == "aei" for x in examples) / 9


EXAMPLE = Example("a", 100.0, 1.0, (0.1,), (0.1,), None, 0)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "name: se esperaba una de a, e", lambda: vowels.vowel("ñ", 100.0, 0.1)),
        (ValueError, "pitch: ", lambda: vowels.vowel("a", 0.0, 0.1)),
        (TypeError, "example: ", lambda: vowels.sound("a")),
        (ValueError, "example: .*1.6 s", lambda: vowels.sound(EXAMPLE._replace(lengths=(2.0,)))),
        (ValueError, "pair: ", lambda: vowels.is_held_out("ax")),
        (ValueError, "split: ", lambda: vowels.generate(1, 0, split="x")),
        (ValueError, "held_out: ", lambda: vowels.generate(1, 0, held_out="x")),
        (ValueError, "lengths: .*de 1 a 5", lambda: vowels.generate(1, 0, lengths=6)),
        (
            ValueError,
            "lengths: .*dos vocales",
            lambda: vowels.generate(1, 0, split="test", lengths=1),
        ),
        (ValueError, "noise: ", lambda: vowels.generate(1, 0, noise=-3.0)),
        (ValueError, "apart: ", lambda: vowels.mixtures(1, 0, apart=3.0)),
        (ValueError, "pairs: ", lambda: vowels.mix([(EXAMPLE,)])),
        (TypeError, "pairs: ", lambda: vowels.mix([("a", "e")])),
        (ValueError, "bandwidths: ", lambda: vowels.response(torch.ones(1), [500.0])),
        (ValueError, "formants: .*dos", lambda: vowels.nearest((500.0,))),
        (ValueError, "signal: ", lambda: vowels.measured_formants(torch.ones(5))),
        (ValueError, "signal: ", lambda: vowels.by_rule(torch.ones(2, 800))),
        (TypeError, "examples: ", lambda: vowels.batch(["a"])),
        (TypeError, "model: ", lambda: vowels.transcribe(3, [EXAMPLE])),
        (TypeError, "wanted: ", lambda: vowels.edits("a", 3)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_silence_has_no_formants():
    assert vowels.measured_formants(torch.zeros(100)) is None
    assert str(EXAMPLE) == "«a» a 100 Hz"
