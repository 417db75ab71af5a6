"""La prosa guardada: frases enteras en español, sin restos de lo que no se lee, y su reparto."""

import json
import re
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from atento.tasks import prose

ROOT = Path(__file__).resolve().parents[3]
LEFTOVERS = re.compile(
    r"[$`{}<>|\\@#_=^~\[\]\ufffc\"]|://|www\.|\bimport\b|\btorch\.|\bself\.|\t|  "
)
PAIRS = ("«»", "()", "“”", "¿?", "¡!")


@pytest.fixture(scope="module")
def book():
    return prose.load()


def faults(sentence):
    """Lo que no puede quedar en una frase de la prosa."""
    found = [f"resto {m[0]!r}" for m in LEFTOVERS.finditer(sentence)]
    found += [f"{a}{b} sin pareja" for a, b in PAIRS if sentence.count(a) != sentence.count(b)]
    if not re.search(r"[.!?…][»)”]*$", sentence):
        found.append("no acaba en punto")
    # «« atención» es una pieza»: un token puede empezar por su espacio
    if not re.match(r"(?:« ?|[¿¡(“])*[^\W\d_]|[«(]*[\d−+]", sentence):
        found.append("no empieza por palabra ni número")
    return found


def test_every_sentence_can_be_read_aloud(book):
    bad = [(s, f) for s in book.sentences() if (f := faults(s))]
    assert not bad, bad[:5]


@pytest.mark.parametrize(
    "broken",
    [
        "La matriz $W$ gira.",
        "La clase `Linear` proyecta.",
        "Lo dice {ref}`otra`.",
        "Está en https://ejemplo.es todo.",
        "Lo llama «atención.",
        "¿Y si no cabe.",
        "Con esta cuenta:",
        " Una sangría.",
        "Hay  dos espacios.",
        "Se usa torch.nn para todo.",
    ],
)
def test_the_rule_catches(broken):
    assert faults(broken)


def test_the_snapshot_is_whole(book):
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", book.date)
    assert {f"{n:02}" for n in range(15)} | {"glosario"} <= set(book.chapters)
    assert list(book.chapters) == list(book.titles) and all(book.titles.values())
    assert prose.digest(book.chapters) == book.digest
    assert len(book.text().split()) > 60_000
    assert all(line == line.strip() and line for line in book.text().splitlines())


def test_it_is_spanish(book):
    """Las palabras más frecuentes son las del español, en todos los capítulos."""
    for key in book.chapters:
        words = re.findall(r"\w+", book.text([key]).lower())
        common = sum(w in set("de la el que en y a los se un una las".split()) for w in words)
        assert 0.25 < common / len(words) < 0.5, key


def test_chapters_keep_the_order_of_the_book(book):
    assert book.text(["05", "03"]) == book.chapters["03"] + "\n" + book.chapters["05"]
    assert book.text() == "\n".join(book.chapters.values())
    assert book.sentences(["04"]) == prose.split_sentences(book.chapters["04"])
    assert len(book.sentences()) == sum(len(book.sentences([key])) for key in book.chapters)


def test_split_by_whole_chapters(book):
    train, test = book.split(held_out=["04"])
    assert list(test.chapters) == ["04"] and "04" not in train.chapters
    assert {**train.chapters, **test.chapters} == book.chapters
    assert train.date == test.date == book.date and train.digest != test.digest != book.digest
    assert test.digest == prose.digest({"04": book.chapters["04"]})


def test_split_sentences():
    text = (
        "Lo dijo Bahdanau et al. La red (p. ej. Una LSTM) calla. ¿Sí? «No. Nunca.» ¡Ya!\nOtro… Y "
        "3.5 más. 22 menos."
    )
    assert prose.split_sentences(text) == [
        "Lo dijo Bahdanau et al. La red (p. ej. Una LSTM) calla.",
        "¿Sí?",
        "«No. Nunca.»",
        "¡Ya!",
        "Otro…",
        "Y 3.5 más.",
        "22 menos.",
    ]
    assert prose.split_sentences("") == [] == prose.split_sentences("\n \n")


def test_sentences_lose_nothing(book):
    text = book.chapters["05"]
    assert " ".join(book.sentences(["05"])).split() == text.split()


def test_errors(book):
    with pytest.raises(ValueError, match=r"^chapters: se esperaban capítulos de la prosa .*'99'"):
        book.text(["04", "99"])
    with pytest.raises(TypeError, match="^chapters: se esperaba una lista .* llegó '04'"):
        book.sentences("04")
    with pytest.raises(TypeError, match="^held_out: se esperaba una lista"):
        book.split(4)
    for held_out in ([], list(book.chapters)):
        with pytest.raises(ValueError, match="^held_out: se esperaba al menos un capítulo"):
            book.split(held_out)
    with pytest.raises(TypeError, match="^text: se esperaba un texto; llegó list"):
        prose.split_sentences(["a"])


def test_the_wheel_carries_it(tmp_path):
    """Lo que se instala lleva la prosa, byte a byte."""
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        carried = wheel.read("atento/datos/prosa.json")
    assert carried == (files("atento") / "datos" / "prosa.json").read_bytes()
    assert json.loads(carried)["command"] == "make prosa"
