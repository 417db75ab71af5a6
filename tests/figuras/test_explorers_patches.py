"""Los parches del sumador, sin navegador: su gemelo en Python es la biblioteca con ganchos, da los
números de la figura del capítulo 25 y contesta lo que se pregunta.
"""

import base64
import json
import re

import pytest
import torch
from muestras import make_adder, make_patches

from atento import trained
from atento.interpret import patch_effects
from atento.tasks import addition
from atento.tasks.addition import Sum
from figuras.explorers import base
from figuras.explorers.patches import READS, WRITES, returned

COLUMNS = [[0, 4], [1, 5], [2, 6], [3], [7]], [[k] for k in range(5)]
PAIRS = {
    "la llevada": (Sum(458, 367), Sum(408, 317), 2),
    "un 9": (Sum(458, 342), Sum(450, 340), 2),
    "todo nueves": (Sum(459, 542), Sum(458, 541), 3),
    "desde las unidades": (Sum(458, 327), Sum(451, 324), 1),
    "una cifra": (Sum(312, 204), Sum(512, 204), 2),
}


@pytest.fixture(scope="module")
def adder():
    return trained.adder()


def effects(adder, one, two, step, good, wrong):
    """Los dos mapas, con los ganchos de la biblioteca y el modelo de 32 bits."""
    rows = torch.arange(len(good))

    def edge(logits):
        return (logits[rows, step, good] - logits[rows, step, wrong]).mean().item()

    return [
        patch_effects(
            adder, one, two, [place.site for place in places], edge, positions=columns
        ).restored
        for places, columns in zip((READS, WRITES), COLUMNS, strict=True)
    ]


# --- El gemelo ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("clean", "corrupted", "step"), PAIRS.values(), ids=PAIRS)
def test_each_patch_is_the_one_of_the_hooks(adder, clean, corrupted, step):
    one, two = (addition.batch([x]) for x in (clean, corrupted))
    found = make_patches().compute(clean, corrupted)
    assert found["read"].shape == (8, 5, 5, 14) and found["write"].shape == (13, 5, 5, 14)
    with torch.no_grad():
        for key, x in (("clean", one), ("corrupted", two)):
            torch.testing.assert_close(
                found[key].float(), adder(x.source, x.inputs)[0], rtol=0, atol=1e-4
            )
    good, wrong = one.labels[:, step], two.labels[:, step]
    wanted = effects(adder, (one.source, one.inputs), (two.source, two.inputs), step, good, wrong)
    for mine, theirs in zip(returned(found, step), wanted, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-4)


def test_the_pairs_of_the_chapter_give_the_numbers_of_its_figure(adder):
    """Con las sumas de la página, la media de la ventaja de todas sus parejas es la de su figura:
    la llevada, en las decenas al entrar y en las centenas tras leer.
    """
    sums = addition.batch(addition.generate(16, 999_999, split="test"))
    tens = (sums.source[:, [1, 5]] - addition.ZERO_ID).sum(1)
    clean, wrote, tens = sums.source[tens != 9], sums.inputs[tens != 9], tens[tens != 9]
    other = torch.where(tens < 9, tens + 10, tens - 10)
    bad = clean.clone()
    bad[:, [1, 5]] = torch.stack([other // 2, other - other // 2], 1) + addition.ZERO_ID
    good, wrong = (adder(x, wrote)[:, 2].argmax(-1) for x in (clean, bad))
    wanted = effects(adder, (clean, wrote), (bad, wrote), 2, good, wrong)
    edges = {key: [] for key in ("clean", "corrupted", "read", "write")}
    for i in range(len(clean)):
        found = make_patches().compute(
            *(addition.encode(addition.decode(x[i])) for x in (clean, bad))
        )
        for key, logits in found.items():
            edges[key].append(logits[..., 2, good[i]] - logits[..., 2, wrong[i]])
    mean = {key: torch.stack(values).mean(0) for key, values in edges.items()}
    for key, theirs in zip(("read", "write"), wanted, strict=True):
        mine = (mean[key] - mean["corrupted"]) / (mean["clean"] - mean["corrupted"])
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-4)
    assert wanted[0][0, 1] > 0.98 and wanted[0][-1, 0] > 0.98 and wanted[0][-1, 1].abs() < 0.03


def test_a_digit_that_does_not_change_has_nothing_to_return():
    with pytest.raises(ValueError, match="^step: llegó 0"):
        returned(make_patches().compute(), 0)
    with pytest.raises(TypeError, match="^corrupted: "):
        make_patches().compute(Sum(1, 2))


# --- Lo que viaja ---------------------------------------------------------------------------------


def test_what_travels_is_the_pairs_the_places_and_the_weights_of_the_adder():
    explorer = make_patches(pairs={"una": ("1 + 2", "1 + 3"), "otra": ("009+1", "8 + 1")})
    data = json.loads(json.dumps(explorer.data()))
    assert data["pairs"] == {"una": [[1, 2], [1, 3]], "otra": [[9, 1], [8, 1]]}
    found = explorer.compute()
    for sent, key in zip(data["first"], ("clean", "corrupted"), strict=True):
        torch.testing.assert_close(torch.tensor(sent).double(), found[key], rtol=0, atol=1e-4)
    assert [stack["groups"] for stack in data["stacks"]] == list(COLUMNS)
    assert [len(stack["rows"]) for stack in data["stacks"]] == [8, 13]
    assert explorer.files() == make_adder().files(), "los pesos no son los del sumador vivo"
    ((name, content),) = explorer.files().items()
    assert data["file"] == name and len(content) < 1_000_000
    assert base64.b64decode(content) == trained.stored_bytes()


def test_without_javascript_the_first_map_is_told():
    explorer = make_patches()
    told, maps = explorer.static(), returned(explorer.compute(), 2)
    assert "458 + 367" in told and "al escribir las centenas" in told
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', told)
    wanted = [
        (place.name, [base.number(x) for x in line.tolist()])
        for places, back in zip((READS, WRITES), maps, strict=True)
        for place, line in zip(places, back, strict=True)
        if place.site.head is None
    ]
    assert [(name, re.findall("<td>(.*?)</td>", cells)) for name, cells in rows] == wanted
    assert len(wanted) == 9


# --- Lo que se rechaza ----------------------------------------------------------------------------


@pytest.mark.parametrize(("pairs", "said"), [
    ({}, "pairs: no llegó ninguna"),
    ({"x": "1 + 2"}, "pairs: en «x» llegó '1 + 2'; se esperaban dos sumas"),
    ({"x": ("1 + 2",)}, "pairs: en «x» llegó ('1 + 2',); se esperaban dos sumas"),
    ({"x": ("1 + 2", "1234 + 1")}, "pairs: en «x» llegó ('1 + 2', '1234 + 1'). Solo ha aprendido"),
    ({"x": ("uno", "1 + 1")}, "pairs: en «x» llegó"),
    ({"x": ("1 + 2", "2 + 1")}, "pairs: las dos sumas de la primera dan lo mismo"),
])  # fmt: skip
def test_the_pair_that_cannot_be_patched_is_named(pairs, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        make_patches(pairs=pairs)


# --- Lo que se pregunta en el capítulo ------------------------------------------------------------


def test_the_answer_of_the_book_is_right():
    """Con todo nueves nada vuelve por la lectura, y casi todo por la última cifra escrita; la cifra
    cambiada la trae una cabeza, y la llevada, varias.
    """
    maps = {
        name: returned(make_patches().compute(clean, corrupted), step)
        for name, (clean, corrupted, step) in PAIRS.items()
    }
    assert maps["todo nueves"][0].abs().max() < 0.06 and maps["todo nueves"][1][0, 3] > 0.95
    crossing = [i for i, row in enumerate(WRITES) if row.name.startswith("cruza ")]
    assert len(crossing) == 4
    digit = maps["una cifra"][1][crossing, 2].sort().values
    assert digit[-1] > 0.95 and digit[:-1].abs().max() < 0.05
    assert (maps["la llevada"][1][crossing, 2] > 0.2).sum() >= 2
    assert maps["desde las unidades"][0][-1, 1] > 0.97  # tras leer, en las decenas
