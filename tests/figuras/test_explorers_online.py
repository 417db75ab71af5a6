"""La softmax por trozos, sin navegador: su gemelo es el de la biblioteca, y lo que se rechaza."""

import itertools
import math
import re

import pytest
import torch
from muestras import TROZOS, make_online

from atento.efficient import online_attention
from figuras.explorers import base
from figuras.explorers.online import ORDERS


def attended(scores, values, block):
    """``(output, logsumexp)`` of one query whose scores are those, with the library."""
    one = torch.ones(1, 1, dtype=torch.float64)
    output, logsumexp = online_attention(
        one, scores[:, None], values[:, None], scale=1.0, block=block
    )
    return float(output), float(logsumexp)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "scores", [[1, 3, 2, 5, 0], [1, 3, 2, 100, 0], [-20.0, 3.5, 1000, 999, -1000]]
)
def test_after_each_block_there_is_what_the_library_has(order, size, scores):
    found = TROZOS.compute(size, order, scores=scores)
    e, read = torch.tensor(scores, dtype=torch.float64), []
    assert sorted(itertools.chain(*found["blocks"])) == list(range(5))
    assert all(len(block) <= size for block in found["blocks"])
    for block, (top, _, total, mixed) in zip(found["blocks"], found["trace"].tolist(), strict=True):
        read += block
        output, logsumexp = attended(e[read], TROZOS.values[read], size)
        assert top == max(scores[j] for j in read)
        assert top + math.log(total) == pytest.approx(logsumexp, abs=1e-9)
        assert mixed / total == pytest.approx(output, abs=1e-9)
    assert found["output"] == pytest.approx(found["whole"], abs=1e-9)


def test_without_rescaling_it_is_another_number_unless_the_largest_is_first():
    for size, order in itertools.product((1, 2, 3, 5), ORDERS):
        right, wrong = (TROZOS.compute(size, order, rescale=x) for x in (True, False))
        assert (abs(wrong["output"] - right["output"]) < 1e-9) == (right["rescaled"] == 0)


def test_the_order_says_which_block_comes_first():
    blocks = {order: TROZOS.compute(2, order)["blocks"] for order in ORDERS}
    assert blocks["given"] == [[0, 1], [2, 3], [4]] == blocks["reversed"][::-1]
    assert blocks["rising"] == [[4], [0, 1], [2, 3]] == blocks["falling"][::-1]
    with pytest.raises(ValueError, match="^order: llegó 'otro'"):
        TROZOS.compute(2, "otro")


def test_what_the_chapter_asks_has_that_answer():
    """Con bloques de uno: dos veces en orden, una al revés y ninguna con el mayor delante."""
    times = [TROZOS.compute(1, order)["rescaled"] for order in ORDERS]
    assert times == [2, 1, 4, 0]


def test_without_javascript_what_is_left_after_each_block_is_told():
    told = TROZOS.static()
    assert "Con bloques de 3, õ / ℓ = 0.9858. De una vez, 0.9858." in told
    for k, (entered, first) in enumerate((("1, 3, 2", "—"), ("5, 0", "0.1353"))):
        row = told[told.index(f'row">{entered}<') :].partition("</tr>")[0]
        top, _, total, mixed = TROZOS.compute(3)["trace"][k].tolist()
        assert re.findall("<td>(.*?)</td>", row) == [
            f"{top:g}", first, base.number(total, 4), base.number(mixed, 4),
        ]  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), [
    ({"scores": [1.0], "values": [1.0]}, "len(scores): llegó 1"),
    ({"scores": [0.0] * 7, "values": [0.0] * 7}, "len(scores): llegó 7"),
    ({"scores": [[1.0, 2.0]]}, "scores: llegó la forma (1, 2)"),
    ({"scores": [1, 2, 3, 4, 2000]}, "scores: llegó [1.0, 2.0, 3.0, 4.0, 2000.0], y 5 valores"),
    ({"values": [1.0, 2.0]}, "scores: llegó [1.0, 3.0, 2.0, 5.0, 0.0], y 2 valores"),
    ({"values": [1, 2, 3, 4, float("inf")]}, "values: hay valores"),
    ({"sizes": (1, 6), "size": 1}, "sizes: llegó 6"),
    ({"sizes": (0, 3)}, "sizes: llegó 0"),
    ({"size": 4}, "size: llegó 4"),
])  # fmt: skip
def test_what_cannot_be_shown_is_named(changes, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        make_online(**changes)
