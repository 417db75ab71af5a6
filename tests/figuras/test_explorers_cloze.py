"""La palabra tapada, sin navegador: su gemelo en Python, lo que viaja, lo que se rechaza y lo que
contesta el modelo del libro.
"""

import base64
import json
import re

import pytest
import torch
from muestras import book_cloze, make_cloze, small_bert, small_language_model
from safetensors.torch import load

from atento.models.bert import MaskedWords
from atento.tasks import agreement
from figuras.explorers import base
from figuras.explorers.cloze import TRAITS


@pytest.fixture(scope="module")
def book():
    return book_cloze()


def other_gender(word):
    forms = agreement.others(word, include=True)
    return forms[forms.index(word) ^ 1]


def other_noun(sentence):
    return next(i for i, role in enumerate(sentence.roles) if role and i != 1)


@torch.no_grad()
def favourites(model, rows, places):
    """La palabra preferida en un sitio de cada frase, tapado; todas a la vez, con relleno."""
    lot = [[agreement.CLS_ID, *agreement.encode(row), agreement.SEP_ID] for row in rows]
    ids = torch.zeros(len(lot), max(map(len, lot)), dtype=torch.long)
    for line, row, place in zip(ids, lot, places, strict=True):
        line[: len(row)] = torch.tensor(row)
        line[place + 1] = agreement.MASK_ID
    best = model(ids)[torch.arange(len(lot)), torch.tensor(places) + 1].argmax(-1)
    return [agreement.WORDS[i] for i in best.tolist()]


# --- El gemelo ------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [[0], [10], [0, 2, 8], [3, 10]])
def test_what_it_says_is_what_the_model_says(book, hidden):
    """Con 64 bits, lo del modelo de la biblioteca en 32, hasta 1e-4."""
    words = book.sentences[0].words
    ids = agreement.batch([book.sentences[0]])
    ids[0, [i + 1 for i in hidden]] = agreement.MASK_ID
    with torch.no_grad():
        wanted = book.model(ids)[0, [i + 1 for i in hidden]].softmax(-1)
    found = book.compute(words, hidden)
    assert found["probs"].dtype == torch.float64 and found["probs"].shape == wanted.shape
    torch.testing.assert_close(found["probs"].float(), wanted, rtol=0, atol=1e-4)


def test_the_shares_of_each_trait_are_summed_word_by_word(book):
    found = book.compute(book.sentences[1].words, [0, 8])
    for probs, traits in zip(found["probs"].tolist(), found["traits"].tolist(), strict=True):
        wanted = [0.0] * len(TRAITS)
        for word, share in zip(agreement.WORDS, probs, strict=True):
            of = agreement.traits(word)
            wanted[agreement.FEATURES.index(min(of)) if len(of) == 1 else 4] += share
        assert traits == pytest.approx(wanted, abs=1e-12) and sum(traits) == pytest.approx(1)


def test_what_travels_is_the_vocabulary_and_the_weights():
    made = make_cloze()
    data = json.loads(json.dumps(made.data()))
    forms = [form for rows in data["tables"] for row in rows for form in row.split()]
    assert (*data["marks"], *forms, *data["fixed"]) == agreement.WORDS
    assert data["marks"] == ["[PAD]", "[MASK]", "[CLS]", "[SEP]"]
    assert [tuple(words) for words in data["sentences"]] == [s.words for s in made.sentences]
    ((name, content),) = made.files().items()
    assert re.fullmatch(r"prueba-\w{8}", name) and data["file"] == name
    weights, own = load(base64.b64decode(content)), dict(made.model.named_parameters())
    assert weights.keys() == own.keys()
    assert all(torch.equal(weights[key].float(), own[key]) for key in own)


def test_weights_that_are_not_of_16_bits_are_rounded_and_the_model_is_left_alone():
    model = small_bert()
    with torch.no_grad():
        model.words.dense.weight[0, 0] = 1 / 3
    made = make_cloze(model=model)
    assert made._exact.words.dense.weight[0, 0].item() == torch.tensor(1 / 3).half().item()
    assert model.words.dense.weight[0, 0].item() == torch.tensor(1 / 3).item()


def test_without_javascript_each_agreeing_word_is_hidden_in_turn():
    made = make_cloze()
    sentence, told = made.sentences[0], make_cloze().static()
    assert told.count("<tr>") == 1 + len(agreement.PARTS) and str(sentence) in told
    for part, place in zip(agreement.PARTS, sentence.agreeing, strict=True):
        found = made.compute(sentence.words, [place])
        best = agreement.WORDS[int(found["probs"][0].argmax())]
        row = told[told.index(f"{part}, «{sentence.words[place]}»") :].partition("</tr>")[0]
        share, most = (base.number(found[key][0].max()) for key in ("probs", "traits"))
        kind = TRAITS[int(found["traits"][0].argmax())]
        assert re.findall("<td>(.*?)</td>", row) == [best, share, kind, most]


@pytest.mark.parametrize(("changes", "error", "said"), [
    ({"model": small_language_model()}, TypeError, "model: se esperaba un MaskedWords; llegó Lang"),
    ({"model": small_bert(vocab=90)}, ValueError, "model: se esperaban las"),
    ({"model": small_bert(n_segments=0)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_bert(first_position=2)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_bert(max_len=10)}, ValueError, "sentences: llegó una de"),
    ({"sentences": []}, ValueError, "sentences: llegaron 0 frases"),
    ({"sentences": agreement.generate(13, 4)}, ValueError, "sentences: llegaron 13 frases"),
])  # fmt: skip
def test_what_the_page_cannot_run_is_named(changes, error, said):
    with pytest.raises(error, match=f"^{re.escape(said)}"):
        make_cloze(**changes)
    assert len(make_cloze(sentences=agreement.generate(12, 4)).data()["sentences"]) == 12


# --- Lo que contesta el modelo del libro ----------------------------------------------------------


def test_the_answer_of_the_book_is_right(book):
    """La del capítulo: qué palabra, sola, cambia el género de la última, y en cuántas frases."""
    spots = {"determiner": lambda s: 0, "noun": lambda s: 1, "adjective": lambda s: 2,
             "other": other_noun}  # fmt: skip
    changed = dict.fromkeys(spots, 0)
    for name, spot in spots.items():
        for i, sentence in enumerate(book.sentences):
            words = list(sentence.words)
            words[spot(sentence)] = other_gender(words[spot(sentence)])
            shares = book.compute(words, [len(words) - 1])["traits"][0]
            turns = (
                TRAITS[int(shares.argmax())] != TRAITS[agreement.FEATURES.index(sentence.subject)]
            )
            changed[name] += turns
            assert abs(float(shares.topk(2).values.diff())) > 0.1, "casi empatan"
            if i == 0:
                assert turns == (name == "determiner")
    assert changed == {"determiner": 5, "noun": 0, "adjective": 0, "other": 0}


def test_the_other_noun_never_turns_it_and_the_first_two_words_always_do(book: MaskedWords):
    """En las 500 frases del examen: cambiar el otro nombre y su determinante no cambia los rasgos
    de la última, y cambiar el determinante y el nombre del sujeto los cambia siempre."""
    exam = agreement.generate(500, 1015, split="test")
    last = [len(s.words) - 1 for s in exam]
    turns = {}
    for name, spots in {"other": lambda s: (other_noun(s) - 1, other_noun(s)),
                        "subject": lambda s: (0, 1)}.items():  # fmt: skip
        rows = [
            [other_gender(w) if i in spots(s) else w for i, w in enumerate(s.words)] for s in exam
        ]
        best = favourites(book.model, rows, last)
        turns[name] = sum(
            s.subject not in agreement.traits(w) for s, w in zip(exam, best, strict=True)
        )
    assert turns == {"other": 0, "subject": 500}
