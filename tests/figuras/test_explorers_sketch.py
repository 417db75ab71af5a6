"""El dígito que se dibuja, sin navegador: su gemelo en Python, lo que viaja, lo que se rechaza y lo
que contesta el modelo del libro.
"""

import base64
import json
import re
from dataclasses import replace

import pytest
import torch
from muestras import book_sketch, make_sketch, small_bert, small_vit
from safetensors.torch import load

from atento.models.vit import patchify
from atento.tasks import digits
from atento.watching import watching
from figuras.explorers import base

THREE = digits.load().chosen(torch.arange(3))


@pytest.fixture(scope="module")
def book():
    return book_sketch()


def read_as(explorer, levels):
    """La imagen normalizada, (1, 1, 8, 8), tal como la recibe el modelo en 32 bits."""
    return explorer.blank + (explorer.full - explorer.blank) * levels.float()[None, None] / 16


# --- El gemelo ------------------------------------------------------------------------------------


@pytest.mark.parametrize("moves", [(0, 0), (0, 1), (0, 2), (-1, 3), (6, -2)])
def test_what_it_says_is_what_the_model_says(book, moves):
    """Con 64 bits, lo del modelo de la biblioteca en 32, hasta 1e-4."""
    down, right = moves
    for levels in book.levels[[3, 8]]:
        image = read_as(book, levels.roll(moves, (0, 1)))
        with torch.no_grad(), watching(book.model) as maps:
            wanted = book.model(image)[0].softmax(-1)
        found = book.compute(levels, down=down, right=right)
        assert found["probs"].dtype == torch.float64 and found["looks"].shape == (2, 4, 17)
        torch.testing.assert_close(found["probs"].float(), wanted, rtol=0, atol=1e-4)
        torch.testing.assert_close(found["patches"].float(), patchify(image, 2)[0])
        for layer, looks in enumerate(found["looks"].float()):
            own = maps[f"encoder.blocks.{layer}.attention"][0, :, 0]
            torch.testing.assert_close(looks, own, rtol=0, atol=1e-4)


@pytest.mark.parametrize("moves", [(0, 2), (4, -2), (2, 6)])
def test_moved_with_its_positions_it_says_the_same_and_looks_at_the_same_patches(book, moves):
    down, right = moves
    for levels in book.levels[[3, 5]]:
        before = book.compute(levels)
        after = book.compute(levels, down=down, right=right, follow=True)
        torch.testing.assert_close(after["probs"], before["probs"], rtol=0, atol=1e-9)
        looks = before["looks"][..., 1:].unflatten(-1, (4, 4)).roll((down // 2, right // 2), (2, 3))
        torch.testing.assert_close(after["looks"][..., 1:].unflatten(-1, (4, 4)), looks)
        again = book.compute(levels)
        assert all(torch.equal(again[key], before[key]) for key in before), "la tabla no vuelve"


def test_positions_move_by_whole_patches():
    made = make_sketch()
    levels = made.levels[0]
    for right, whole in ((1, 0), (3, 2), (-1, -2)):
        found = made.compute(levels.roll(whole - right, 1), right=right, follow=True)
        wanted = made.compute(levels.roll(0, 1), right=whole, follow=True)
        torch.testing.assert_close(found["probs"], wanted["probs"])


def test_what_travels_is_the_ink_and_the_weights():
    made = make_sketch()
    data = json.loads(json.dumps(made.data()))
    assert [label for label, _ in data["digits"]] == ["0", "1", "2"] and data["layers"] == 2
    ink = torch.tensor([[int(letter, 17) for letter in row] for _, row in data["digits"]])
    assert torch.equal(ink.view(-1, 8, 8) / 16, THREE.images) and int(ink.max()) == 16
    ((name, content),) = made.files().items()
    assert re.fullmatch(r"prueba-\w{8}", name) and data["file"] == name
    weights, own = load(base64.b64decode(content)), dict(made.model.named_parameters())
    assert weights.keys() == own.keys()
    assert all(torch.equal(weights[key].float(), own[key]) for key in own)


def test_normalized_digits_keep_their_ink():
    wanted = make_sketch().levels
    mean, std = 0.3, 0.4
    moved = replace(THREE, images=(THREE.images - mean) / std, background=-mean / std)
    made = make_sketch(digits=moved, full=(1 - mean) / std)
    assert torch.equal(made.levels, wanted) and made.blank == -mean / std
    image = made.compute(wanted[1])["patches"]
    torch.testing.assert_close(image.float(), patchify(moved.images[1:2, None], 2)[0])


def test_without_javascript_each_digit_is_moved():
    made = make_sketch()
    told = made.static()
    assert told.count("<tr>") == 1 + 3
    for label, levels in enumerate(made.levels):
        row = told[told.index(f"un {label}<") :].partition("</tr>")[0]
        found = [made.compute(levels, right=right)["probs"] for right in (0, 1, 2)]
        wanted = [f"{int(p.argmax())}, con {base.number(float(p.max()))}" for p in found]
        assert re.findall("<td>(.*?)</td>", row) == wanted


@pytest.mark.parametrize(("changes", "error", "said"), [
    ({"model": small_bert()}, TypeError, "model: se esperaba un Vit; llegó MaskedWords"),
    ({"model": small_vit(patch_size=4)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_vit(pooling="mean")}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_vit(distilled=True)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_vit(channels=3)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_vit(classes=9)}, ValueError, "model: la página solo ejecuta"),
    ({"digits": THREE.chosen(torch.arange(0))}, ValueError, "digits: llegaron 0"),
    ({"digits": digits.load().chosen(torch.arange(11))}, ValueError, "digits: llegaron 11"),
    ({"full": 1.1}, ValueError, "digits: con tinta de 0.00 a 1.10 hay píxeles"),
    ({"full": 0.5}, ValueError, "digits: con tinta de 0.00 a 0.50 hay píxeles"),
    ({"start": 3}, ValueError, "start: llegó 3"),
])  # fmt: skip
def test_what_the_page_cannot_run_is_named(changes, error, said):
    with pytest.raises(error, match=f"^{re.escape(said)}"):
        make_sketch(**changes)
    assert len(make_sketch(digits=digits.load().chosen(torch.arange(10))).data()["digits"]) == 10


# --- Lo que contesta el modelo del libro ----------------------------------------------------------


def test_the_answer_of_the_book_is_right(book):
    """La del capítulo: el 3 se reconoce corrido un píxel y no un parche; con sus posiciones, sí."""
    said, sure = {}, {}
    for name, moves in {"sitio": {}, "píxel": {"right": 1}, "parche": {"right": 2},
                        "los dos": {"right": 2, "follow": True}}.items():  # fmt: skip
        found = torch.stack([book.compute(levels, **moves)["probs"] for levels in book.levels])
        said[name], sure[name] = found.argmax(-1).tolist(), found.max(-1).values
    assert book.start == 3 and list(book.labels) == list(range(10))
    assert [said[name][3] for name in said] == [3, 3, 2, 3]
    assert all(sure[name][3] > 0.9 for name in said), "casi empatan"
    hits = {name: sum(a == b for a, b in enumerate(row)) for name, row in said.items()}
    assert hits == {"sitio": 10, "píxel": 3, "parche": 0, "los dos": 10}


def test_a_blank_sheet_is_also_some_digit(book):
    probs = book.compute(torch.zeros(8, 8, dtype=torch.long))["probs"]
    assert int(probs.argmax()) == 7 and 0.6 < float(probs.max()) < 0.9
