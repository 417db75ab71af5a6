"""Las vocales que se mueven, sin navegador: la voz es la de la tarea; su gemelo, lo que viaja, lo
que se rechaza y lo que oye el modelo del libro.
"""

import base64
import json
import re

import pytest
import torch
from muestras import book_hearing, make_hearing, small_bert, small_whisper
from safetensors.torch import load

from atento.tasks import vowels
from atento.tasks.vowels import FORMANTS
from atento.watching import watching
from figuras.explorers import base, voice

E, I = (FORMANTS[name][:2] for name in "ei")  # noqa: E741  # la vocal


@pytest.fixture(scope="module")
def book():
    return book_hearing()


def say(explorer, middle=None, **changes):
    """Lo del principio, con otra vocal en medio o con otros cambios."""
    first, own, last = explorer.start.spots
    return explorer.start._replace(spots=(first, middle or own, last), **changes)


# --- La voz ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "pitch"), [("a", 90.0), ("e", 137.5), ("u", 400.0)])
def test_a_vowel_is_the_one_of_the_task(name, pitch):
    wanted = vowels.vowel(name, pitch, 0.15)
    found = voice.vowel(FORMANTS[name][:2], pitch, 0.15)
    assert found.dtype == torch.float64 and found.shape == wanted.shape
    torch.testing.assert_close(found.float(), wanted, rtol=0, atol=2e-4)


def test_noise_is_normal_repeatable_and_as_loud_as_a_vowel():
    one, two = voice.hiss(12_800, 1), voice.hiss(12_800, 2)
    assert torch.equal(one, voice.hiss(12_800, 1)) and torch.equal(one[:50], voice.hiss(50, 1))
    assert abs(float(one.std()) / 0.1 - 1) < 0.02 and abs(float(one.mean())) < 0.003
    assert abs(float((one / one.std()).pow(4).mean()) - 3) < 0.15
    others = [one[1:], two[1:], two[:-1]]  # ni consigo mismo ni con el de otra semilla
    assert all(abs(float(torch.corrcoef(torch.stack([one[:-1], x]))[0, 1])) < 0.03 for x in others)


def test_what_is_said_has_its_vowels_in_their_places():
    made = make_hearing(word="iu")
    wave = made.sound(made.start._replace(noise=None, seconds=0.1))
    assert len(wave) == 12_800
    loud = wave.view(-1, 80).square().mean(1) > 1e-4  # cada 10 ms
    edges = (loud[1:] != loud[:-1]).nonzero().flatten().tolist()
    assert edges == [5, 15, 21, 31]  # suena de 0.06 a 0.16 y de 0.22 a 0.32
    hissed = made.sound(made.start._replace(noise=20.0, seconds=0.1)) - wave
    torch.testing.assert_close(hissed, 0.1 * voice.hiss(12_800, 1))


# --- El gemelo ------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"noise": None}, {"pitch": 210.0, "noise": -4.0}])
def test_what_it_hears_is_what_the_model_hears(book, changes):
    """Con 64 bits, lo del modelo de la biblioteca en 32, hasta 1e-4."""
    said = say(book, (372.0, 1980.0), **changes)
    found = book.compute(said)
    features = vowels.features(book.sound(said).float())[None]
    torch.testing.assert_close(found["features"].float(), features[0], rtol=0, atol=1e-4)
    begun = torch.tensor([[1, *found["written"][:-1]]])
    with torch.no_grad(), watching(book.model) as maps:
        wanted = book.model(features, begun)[0].softmax(-1)
    torch.testing.assert_close(found["probs"].float(), wanted, rtol=0, atol=1e-4)
    assert found["looks"].shape == (2, 4, len(found["written"]), 80)
    for layer, looks in enumerate(found["looks"].float()):
        own = maps[f"decoder.blocks.{layer}.cross_attention"][0]
        torch.testing.assert_close(looks, own, rtol=0, atol=1e-4)
    assert found["written"] == wanted.argmax(-1).tolist()
    written = book.model.generate(features, max_length=8)[0].tolist()
    assert written[: len(found["written"])] == found["written"]


def test_it_stops_at_the_end_or_after_nine(book):
    assert book.compute(book.start)["written"][-1] == 2
    model = small_whisper()
    with torch.no_grad():
        model.embed_target.tokens.weight[2] = 0
        model.embed_target.tokens.weight[5] *= 9  # o la «i» o lo contrario: el fin no gana
    found = make_hearing(model=model).compute(make_hearing().start)
    assert len(found["written"]) == 9 and len(found["probs"]) == 9 and 2 not in found["written"]


def test_what_travels_is_the_start_and_the_weights():
    made = make_hearing(word="aeiou", moves=4)
    data = json.loads(json.dumps(made.data()))
    assert (
        data["moves"] == 4 and data["depth"] == [1, 2] and data["vowels"]["a"][2:] == [2500, 3500]
    )
    assert data["start"]["spots"] == [list(FORMANTS[name][:2]) for name in "aeiou"]
    assert [data["letters"][i] for i in vowels.VOCABULARY.encode(list("aeiou"))] == list("aeiou")
    ((name, content),) = made.files().items()
    assert re.fullmatch(r"prueba-\w{8}", name) and data["file"] == name
    weights, own = load(base64.b64decode(content)), dict(made.model.named_parameters())
    assert weights.keys() == own.keys()
    assert all(torch.equal(weights[key].float(), own[key]) for key in own)
    assert len(next(iter(book_hearing().files().values()))) < 1e6


def test_without_javascript_the_same_word_is_heard_in_other_ways():
    made = make_hearing()
    told = made.static()
    changes = {
        "al abrirlo": {},
        "a 400 Hz": {"pitch": 400.0},
        "sin ruido": {"noise": None},
        "ruido como la voz": {"noise": 0.0},
        "6 dB más de ruido": {"noise": -6.0},
    }
    assert told.count("<tr>") == 1 + len(changes) and "«oea»" in told
    for name, change in changes.items():
        found = made.compute(made.start._replace(**change))
        least = base.number(min(row.max().item() for row in found["probs"]))
        row = told[told.index(f">{name}<") :].partition("</tr>")[0]
        assert re.findall("<td>(.*?)</td>", row) == [found["word"], least]


@pytest.mark.parametrize(("changes", "error", "said"), [
    ({"model": small_bert()}, TypeError, "model: se esperaba un Whisper; llegó MaskedWords"),
    ({"model": small_whisper(n_mels=80)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_whisper(audio_len=90)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_whisper(vocab=9)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_whisper(max_len=8)}, ValueError, "model: la página solo ejecuta"),
    ({"word": "a"}, ValueError, "word: llegó 'a'"),
    ({"word": "aeioua"}, ValueError, "word: llegó 'aeioua'"),
    ({"word": "ola"}, ValueError, "word: llegó 'ola'"),
    ({"word": ["a", "e"]}, ValueError, "word: llegó"),
    ({"moves": 3}, ValueError, "moves: llegó 3"),
])  # fmt: skip
def test_what_the_page_cannot_run_is_named(changes, error, said):
    with pytest.raises(error, match=f"^{re.escape(said)}"):
        make_hearing(**changes)


# --- Lo que oye el modelo del libro ---------------------------------------------------------------


def test_with_noise_the_first_formant_decides_and_without_it_either_does(book):
    """Lo que pregunta el capítulo: de la «e» a la «i», con el ruido de entrenar y sin él."""
    heard = {
        (noise, name): book.compute(say(book, middle, noise=noise))
        for noise in (10.0, None)
        for name, middle in {"e": E, "F1": (I[0], E[1]), "F2": (E[0], I[1]), "i": I}.items()
    }
    words = {key: found["word"] for key, found in heard.items()}
    assert [words[10.0, name] for name in ("e", "F1", "F2", "i")] == ["oea", "oia", "oea", "oia"]
    assert [words[None, name] for name in ("e", "F1", "F2", "i")] == ["oea", "oia", "oia", "oia"]
    assert all(float(found["probs"][1].max()) > 0.6 for found in heard.values()), "casi empatan"


def test_the_pitch_does_not_change_what_is_heard_until_it_leaves_what_was_heard(book):
    """De 80 a 250 Hz, que es lo que oyó, da igual; a 400, no."""
    for pitch in (80.0, 120.0, 180.0, 250.0):
        for middle, word in ((E, "oea"), (I, "oia")):
            assert book.compute(say(book, middle, pitch=pitch))["word"] == word
    assert book.compute(say(book, pitch=400.0))["word"] != "oea"


def test_with_too_much_noise_it_hears_an_a(book):
    assert book.compute(say(book, noise=5.0))["word"] == "oea"
    assert book.compute(say(book, noise=-8.0))["word"].strip("a") == ""
