"""El rango de un cambio, sin navegador: su gemelo en Python, lo que viaja y lo que se rechaza."""

import base64
import json
import re

import numpy as np
import pytest
import torch
from muestras import RANGO, make_lowrank, normal

from atento import trained
from figuras.explorers import base


def test_the_best_approximation_is_the_nearest_of_that_rank():
    made = make_lowrank()
    table = made.change * made.unit
    for rank in range(5):
        found = made.compute(rank)
        gap = (table - found["approx"]).square().sum() / table.square().sum()
        assert float(gap + found["shares"][rank]) == pytest.approx(1, abs=1e-12)
        assert torch.linalg.matrix_rank(found["approx"]) == rank and found["cost"] == 11 * rank
        for seed in range(20):  # ninguna otra de ese rango queda más cerca
            left = torch.linalg.qr(normal(6, max(rank, 1), seed=seed)).Q[:, :rank].double()
            assert (table - left @ (left.T @ table)).square().sum() >= gap * table.square().sum()


def test_what_travels_is_the_change_in_16_bits():
    change = normal(6, 5) * 0.1
    data = json.loads(json.dumps(make_lowrank().data()))
    steps = np.frombuffer(base64.b64decode(data["change"]), "<i2").reshape(data["shape"])
    told = torch.tensor(steps.astype(float)) * data["unit"]
    assert (told - change).abs().max() <= data["unit"] / 2 + 1e-6
    assert abs(steps).max() == 2**15 - 1
    names = [[name for name, _ in RANGO.data()[key]] for key in ("others", "scores")]
    assert names == [["barajado", "W"], ["el mejor", "al azar"]]
    sizes = torch.tensor(RANGO.data()["others"][1][1])
    assert torch.allclose(sizes, torch.linalg.svdvals(normal(9, 30, seed=7)).float(), atol=1e-4)


def test_without_javascript_some_ranks_are_told():
    told = RANGO.static()
    for rank in (0, 1, 2, 4, 8, 12):
        row = told[told.index(f'row">{rank}<') :].partition("</tr>")[0]
        share = base.number(float(RANGO.compute(rank)["shares"][rank]))
        scores = [base.number(row[rank]) for _, row in RANGO.scores]
        assert re.findall("<td>(.*?)</td>", row) == [f"{44 * rank} de 480", share, *scores]


@pytest.mark.parametrize(("changes", "said"), [
    ({"change": torch.zeros(4, 4)}, "change: llegó (4, 4)"),
    ({"change": normal(1, 5)}, "change: llegó (1, 5)"),
    ({"change": normal(65, 5)}, "change: llegó (65, 5)"),
    ({"change": normal(5)}, "change: llegó la forma (5,)"),
    ({"most": 6}, "most: llegó 6"),
    ({"start": 5}, "start: llegó 5"),
    ({"others": {"uno": normal(5)}}, "others: llegó la forma (5,)"),
    ({"others": {k: normal(2, 2) for k in "abc"}}, "others: llegaron 3 matrices"),
    ({"scores": {k: [0.5] * 5 for k in "abc"}}, "scores: llegaron 3 medidas"),
    ({"scores": {"uno": [0.5] * 4}}, "scores: «uno» no lleva 5"),
    ({"scores": {"uno": [0.5] * 4 + [1.5]}}, "scores: «uno» no lleva 5"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_named(changes, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        make_lowrank(**changes)


def test_the_answer_of_the_book_is_right():
    """La del 18: el cambio de la consulta del bloque 2 cabe en menos rango que W y que él mismo
    barajado.
    """
    from safetensors.torch import load

    name = "encoder.blocks.1.attention.project_query.weight"
    was, now = (load(trained._stored(key))[name].double() for key in ("ordenes-18", "instruido-18"))
    change = now - was
    mixed = change.flatten()[torch.randperm(change.numel(), generator=torch.manual_seed(0))]
    share = {}
    for key, table in {"cambio": change, "W": was, "barajado": mixed.view(48, 48)}.items():
        share[key] = make_lowrank(change=table, most=24).compute(24)["shares"]
    enough = int((share["cambio"] >= 0.8).nonzero()[0])
    assert enough == 7 and float(share["cambio"][6]) < 0.79 and float(share["cambio"][7]) > 0.81
    assert share["W"][enough] < 0.6 and share["barajado"][enough] < 0.6
    assert 24 * (48 + 48) == 48 * 48
