"""El modelo que continúa un texto, sin navegador: su gemelo en Python, lo que viaja y lo que se
rechaza.
"""

import base64
import json
import re

import pytest
import torch
from muestras import SMALL_BPE, book_completion, make_completion, small_language_model
from safetensors.torch import load

from atento import rng
from atento.decoding import keep_top_k, keep_top_p, sample, with_temperature
from atento.models.gpt import Gpt, GptConfig
from atento.tokenizers import BPE, Characters
from figuras.explorers.completion import LONGEST, complaint

PROMPTS = ["La atención", "¿", " ", "\n", "La clave de una palabra se compara con la", "🙂 y ñ"]


@pytest.fixture(scope="module")
def book():
    return book_completion()


@pytest.mark.parametrize("prompt", PROMPTS)
def test_what_may_follow_is_what_the_model_says(book, prompt):
    """Con 64 bits, lo del modelo de la biblioteca en 32, hasta 1e-4."""
    ids = torch.tensor([book.tokenizer.encode(prompt)])
    found = book.compute(prompt)
    with torch.no_grad():
        logits = book.model(ids)[0, -1]
    assert found["ids"].tolist() == ids[0].tolist() and found["logits"].dtype == torch.float64
    torch.testing.assert_close(found["logits"].float(), logits, rtol=0, atol=1e-4)
    torch.testing.assert_close(found["probs"].float(), logits.softmax(-1), rtol=0, atol=1e-6)


def test_the_filters_are_those_of_the_library_in_their_order(book):
    found = book.compute(temperature=0.7, top_k=9, top_p=0.6)
    kept = keep_top_p(keep_top_k(with_temperature(found["logits"], 0.7), 9), 0.6)
    torch.testing.assert_close(found["probs"], kept.softmax(-1), rtol=0, atol=1e-12)
    assert 1 < (found["probs"] > 0).sum() < 9


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.2}, {"temperature": 1.5}, {"top_k": 5, "top_p": 0.9}]
)
def test_what_it_writes_is_what_generate_writes(book, options):
    ids = torch.tensor([book.tokenizer.encode(book.start)])
    for seed in (1, 7):
        generator = rng.generator(seed)
        rest = {"eos_id": -1, "max_length": 30, "strategy": sample, "generator": generator}
        theirs = book.model.generate(ids, **rest, **options)[0].tolist()
        assert book.written(30, seed=seed, **options) == theirs
    assert book.written(5) == book.written(30)[:5] == book.written(5, seed=1)


def test_only_the_end_of_a_long_text_is_read():
    short = make_completion(context=6)
    text = "la casa blanca y la niña negra en casa, la niña"
    ids = torch.tensor(SMALL_BPE.encode(text))
    with torch.no_grad():
        seen, whole = (short._exact(row[None])[0, -1] for row in (ids[-6:], ids))
    torch.testing.assert_close(short.compute(text)["logits"], seen, rtol=0, atol=1e-12)
    assert len(ids) > 12 and (seen - whole).abs().max() > 1e-3


def test_the_weights_and_the_merges_travel_whole():
    made = make_completion()
    (name,), (content,) = made.files().keys(), made.files().values()
    data = made.data()
    assert re.fullmatch(r"prueba-\w{8}", name) and data["file"] == name
    weights = load(base64.b64decode(content))
    own = dict(made.model.named_parameters())
    assert weights.keys() == own.keys()
    assert all(torch.equal(weights[key].float(), own[key]) for key in own)
    pieces = list(SMALL_BPE.vocabulary[:256])
    for left, right in zip(data["merges"][::2], data["merges"][1::2], strict=True):
        pieces.append(pieces[left] + pieces[right])
    assert tuple(pieces) == SMALL_BPE.vocabulary and json.dumps(data)


def test_weights_that_are_not_of_16_bits_are_rounded_and_the_model_is_left_alone():
    model = small_language_model()
    with torch.no_grad():
        model.project.weight[0, 0] = 1 / 3
    made = make_completion(model=model)
    expected = torch.tensor(1 / 3).half().item()
    assert made._exact.project.weight[0, 0].item() == expected != 1 / 3
    assert model.project.weight[0, 0].item() == torch.tensor(1 / 3).item()


def test_without_javascript_what_may_follow_and_three_samples_are_read():
    told = make_completion(start="la <b>casa</b>").static()
    assert told.count("<tr>") == 9 and told.count("<p><strong>τ = ") == 3
    assert "la &lt;b&gt;casa&lt;/b&gt;" in told and "la <b>" not in told
    best = make_completion().compute()["probs"].max().item()
    told = make_completion().static()
    assert f"<td>{best:.3f}</td>" in told
    in_the_middle = re.findall(r"<td>([\d.]+)</td>", told)[1::3]  # los de τ = 1, de más a menos
    assert in_the_middle == sorted(in_the_middle, reverse=True) and len(in_the_middle) == 8


def test_a_start_that_cannot_be_is_told_in_one_line():
    assert complaint("a" * LONGEST) == complaint(" ") == ""
    for text in ("", "a" * (LONGEST + 1), "ñ" * 10_000):
        said = complaint(text)
        assert 20 < len(said) < 90 and "\n" not in said
        with pytest.raises(ValueError, match=r"^start: llegó ") as error:
            make_completion(start=text)
        assert str(error.value).endswith(said)
        with pytest.raises(ValueError, match=rf"^text: llegaron {len(text)} caracteres"):
            make_completion().compute(text)


WITH_PAD = BPE.train("la casa " * 9, 270, byte_level=True, unk=None, special=["<pad>"])
WITHOUT_NFC = BPE.train("la casa " * 9, 270, byte_level=True, unk=None, normalization=None)


@pytest.mark.parametrize(("changes", "error", "said"), [
    ({"model": torch.nn.Linear(2, 2)}, TypeError, "model: se esperaba un LanguageModel; llegó L"),
    ({"model": Gpt(GptConfig(276, d_model=16, n_layers=1))}, ValueError,
     "model: la página solo ejecuta los de LanguageConfig; llegó uno de GptConfig"),
    ({"model": small_language_model(causal=False)}, ValueError, "causal=True; llegó False"),
    ({"model": small_language_model(positions="sinusoidal")}, ValueError,
     "positions='rotary'; llegó 'sinusoidal'"),
    ({"model": small_language_model(activation="gelu")}, ValueError, "activation='relu'; llegó"),
    ({"model": small_language_model(norm_first=False)}, ValueError, "norm_first=True; llegó"),
    ({"tokenizer": Characters.train("la casa")}, TypeError, "tokenizer: se esperaba un BPE; llegó"),
    ({"tokenizer": BPE.train("la casa", 20)}, ValueError, "tokenizer: se esperaba un BPE de bytes"),
    ({"tokenizer": WITH_PAD}, ValueError, "tokenizer: se esperaba un BPE de bytes"),
    ({"tokenizer": WITHOUT_NFC}, ValueError, "tokenizer: se esperaba un BPE de bytes, NFC"),
    ({"model": small_language_model(300)}, ValueError,
     "tokenizer: se esperaban las 300 piezas del modelo; llegaron 276"),
    ({"seed": -1}, ValueError, "seed: llegó -1"), ({"seed": 2**32}, ValueError, "seed: llegó"),
    ({"seed": True}, ValueError, "seed: llegó True"),
    ({"context": 0}, ValueError, "context: llegó 0"), ({"context": 513}, ValueError, "context: ll"),
])  # fmt: skip
def test_what_the_page_cannot_run_is_named(changes, error, said):
    with pytest.raises(error, match=re.escape(said)):
        make_completion(**changes)


def test_tied_weights_travel_once():
    made = make_completion(model=small_language_model(tying=True))
    (content,) = made.files().values()
    assert "project.weight" not in load(base64.b64decode(content))
    assert len(made.written(3)) == 3
