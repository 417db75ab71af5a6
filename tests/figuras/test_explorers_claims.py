"""Los dígitos que se mueven, sin navegador: su gemelo en Python, lo que viaja, lo que se rechaza y
de quién es cada dígito en la escena del libro.
"""

import base64
import itertools
import json
import re

import pytest
import torch
from muestras import book_claims, make_claims, small_bert, small_detr
from safetensors.torch import load

from atento.models.detr import assign, matching_cost
from atento.tasks import scenes
from figuras.explorers import base
from figuras.explorers.claims import _said


@pytest.fixture(scope="module")
def book():
    return book_claims()


MOVED = {
    "al abrirse": [(0, 33, 21), (1, 11, 27), (2, 15, 5)],
    "el 7, al otro lado": [(0, 33, 21), (1, 29, 27), (2, 15, 5)],
    "se pisan": [(0, 20, 10), (1, 18, 12), (2, 19, 14)],
    "cuatro": [(0, 0, 0), (1, 30, 0), (5, 0, 26), (8, 30, 26)],
    "uno": [(4, 16, 14)],
}


@pytest.mark.parametrize(
    ("digit", "probability", "told"),
    [(9, 0.6, "9, con 0.60"), (0, 0.51, "0, con 0.51"), (9, 0.5, "nada"), (10, 0.9, "nada")],
)
def test_what_a_query_says_in_the_table(digit, probability, told):
    """Los diez dígitos y, en la última casilla, nada."""
    probs = torch.full((11,), (1 - probability) / 10, dtype=torch.float64)
    probs[digit] = probability
    assert _said(probs) == told


# --- El gemelo ------------------------------------------------------------------------------------


@pytest.mark.parametrize("objects", MOVED.values(), ids=MOVED)
def test_what_it_says_and_costs_is_what_the_model_says_and_costs(book, objects):
    """Con 64 bits, lo del modelo y las funciones de la biblioteca en 32, hasta 1e-4."""
    image, labels, boxes = book.draw(objects)
    with torch.no_grad():
        wanted = book.model(image.float()[None, None])
    found = book.compute(objects)
    close = {"rtol": 0, "atol": 1e-4}
    assert found["probs"].dtype == torch.float64 and found["probs"].shape == (12, 11)
    torch.testing.assert_close(found["probs"].float(), wanted.logits[0].softmax(-1), **close)
    torch.testing.assert_close(found["boxes"].float(), wanted.boxes[0], **close)
    costs = matching_cost(wanted, labels, boxes.float(), book.model.config)[0]
    torch.testing.assert_close(found["costs"].float(), costs, **close)
    torch.testing.assert_close(found["parts"].sum(-1), found["costs"], rtol=0, atol=1e-9)
    (pair,) = assign(wanted, [(labels, boxes.float())], book.model.config)
    owners = dict(zip(pair.columns.tolist(), pair.rows.tolist(), strict=True))
    assert found["owners"].tolist() == [owners[i] for i in range(len(objects))]


@pytest.mark.parametrize("objects", MOVED.values(), ids=MOVED)
def test_no_other_sharing_costs_less(book, objects):
    found = book.compute(objects)
    every = torch.tensor(list(itertools.permutations(range(12), len(objects))))
    totals = found["costs"][every, torch.arange(len(objects))].sum(dim=1)
    assert found["owners"].tolist() == every[totals.argmin()].tolist()


def test_the_canvas_is_the_scene():
    for seed in range(4):
        scene = scenes.generate(1, seed, split="test", counts=seed + 1)[0]
        made = make_claims(scene=scene)
        image, labels, boxes = made.draw(made.start)
        assert (image - scene.image).abs().max() < 1 / 4095
        assert torch.equal(labels, scene.labels)
        torch.testing.assert_close(boxes.float(), scene.boxes)


def test_where_two_meet_the_darker_ink_stays(book):
    (stamp, x, y), other = (0, 20, 10), (1, 18, 12)
    one, two = (book.draw([each])[0] for each in ((stamp, x, y), other))
    both = book.draw([(stamp, x, y), other])[0]
    assert ((one > 0) & (two > 0)).any() and torch.equal(both, torch.maximum(one, two))


# --- Lo que viaja ---------------------------------------------------------------------------------


def test_what_travels_is_the_ink_the_places_the_first_answer_and_the_weights(book):
    data = json.loads(json.dumps(book.data()))
    tones = [
        [[int(row[k : k + 3], 16) for k in range(0, len(row), 3)] for row in rows]
        for _, rows in data["stamps"]
    ]
    assert tones == [stamp.ink.tolist() for stamp in book.stamps]
    assert [label for label, _ in data["stamps"]][:3] == [3, 7, 3]
    assert sorted(label for label, _ in data["stamps"][2:]) == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    assert data["start"] == [[0, 33, 21], [1, 11, 27], [2, 15, 5]]
    first = book.compute(book.start)
    for key, value in data["first"].items():
        torch.testing.assert_close(torch.tensor(value).double(), first[key], rtol=0, atol=1e-5)
    assert data["weights"] == [1, 5, 2]
    starts = book.model.starts.detach().sigmoid()[:, :2]
    torch.testing.assert_close(torch.tensor(data["points"]), starts, rtol=0, atol=1e-5)
    ((name, content),) = book.files().items()
    assert re.fullmatch(r"libro-\w{8}", name) and data["file"] == name
    assert len(content) < 1_000_000, "pesa más de lo que se promete"
    weights, own = load(base64.b64decode(content)), dict(book.model.named_parameters())
    assert weights.keys() == own.keys()
    assert all(torch.equal(weights[key].float(), own[key]) for key in own)


def test_without_javascript_each_cost_is_told_and_the_owners_are_marked(book):
    told, found = book.static(), book.compute(book.start)
    rows = re.findall(r'<tr><th scope="row">consulta (\d+)</th>(.*?)</tr>', told)
    assert [int(number) - 1 for number, _ in rows] == book.relevant(found)
    for number, cells in rows:
        said, *costs = re.findall("<td>(.*?)</td>", cells)
        query = int(number) - 1
        mine = [query == owner for owner in found["owners"].tolist()]
        wanted = [base.number(float(cost)) for cost in found["costs"][query]]
        assert costs == [c + (" ✓" if m else "") for c, m in zip(wanted, mine, strict=True)]
        sure = float(found["probs"][query, :-1].max())
        assert (said == "nada") == (sure <= 0.5) and (said == "nada" or base.number(sure) in said)
    assert told.count("✓") == 3 + 1  # los tres, y lo que el título dice que son


def test_the_queries_shown_are_those_that_matter(book):
    for objects in MOVED.values():
        found = book.compute(objects)
        shown = book.relevant(found)
        assert shown == sorted(set(shown)) and set(found["owners"].tolist()) <= set(shown)
        for query in range(12):
            answers = float(found["probs"][query, :-1].max()) > 0.5
            cheap = any(int((column < column[query]).sum()) < 2 for column in found["costs"].T)
            assert (query in shown) == (answers or cheap or query in found["owners"].tolist())


# --- Lo que se rechaza ----------------------------------------------------------------------------

SCENE = scenes.generate(1, 0, split="test", counts=2)[0]
EMPTY = scenes.Scene(
    torch.zeros(40, 40), torch.zeros(0, dtype=torch.long), torch.zeros(0, 4),
    torch.zeros(40, 40, dtype=torch.long),
)  # fmt: skip


@pytest.mark.parametrize(("changes", "error", "said"), [
    ({"model": small_bert()}, TypeError, "model: se esperaba un Detr; llegó MaskedWords"),
    ({"model": small_detr(norm="post")}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_detr(refine=False)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_detr(reference_points=False)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_detr(channels=3)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_detr(classes=9)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_detr(image_size=48)}, ValueError, "model: la página solo ejecuta"),
    ({"model": small_detr(queries=3)}, ValueError, "model.config.queries: llegó 3"),
    ({"scene": "una"}, TypeError, "scene: se esperaba una escena; llegó str"),
    ({"others": [SCENE, 3]}, TypeError, "others: se esperaba una escena; llegó int"),
    ({"scene": EMPTY}, ValueError, "scene: llegó 0"),
])  # fmt: skip
def test_what_the_page_cannot_run_is_named(changes, error, said):
    with pytest.raises(error, match=f"^{re.escape(said)}"):
        make_claims(**changes)
    assert len(make_claims(scene=SCENE, others=()).stamps) == 2


# --- De quién es cada dígito, en la escena del libro ----------------------------------------------


def seven(book, x):
    """Con la esquina del 7 en esa columna: de quién es, y qué consultas dicen 7."""
    found = book.compute([(0, 33, 21), (1, x, 27), (2, 15, 5)])
    sure = (found["probs"][:, 7] > 0.5).nonzero().flatten()
    return int(found["owners"][1]) + 1, (sure + 1).tolist()


def test_the_answer_of_the_book_is_right(book):
    """La del capítulo: a la izquierda el 7 es de la 7; en su sitio, de la 10; después, de la 5, y
    al fondo, de la 12. En los cambios contestan las dos, o ninguna.
    """
    owners, said = zip(*(seven(book, x) for x in range(33)), strict=True)
    assert owners == (*[7] * 8, *[10] * 8, *[5] * 12, *[12] * 5)
    assert {x: names for x, names in enumerate(said) if names != [owners[x]]} == {
        8: [7, 10], 15: [5, 10], 16: [5, 10], 27: [],
    }  # fmt: skip


def test_a_change_of_owner_can_move_another(book):
    """Al subir el 7 junto al 3 de arriba, el 3 también cambia."""
    for y, owners in ((14, [8, 6, 2]), (12, [8, 6, 9])):
        found = book.compute([(0, 33, 21), (1, 11, y), (2, 15, 5)])
        assert (found["owners"] + 1).tolist() == owners
