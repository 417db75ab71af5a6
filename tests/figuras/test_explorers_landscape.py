"""El terreno de una memoria, sin navegador: su gemelo en Python, su tabla y lo que se rechaza."""

import re

import pytest
import torch
from muestras import TERRENO, make_landscape

from figuras.explorers import base


def energy_by_hand(z, patterns, beta):
    """La energía como la da el capítulo, con la constante que la deja en 0 como poco."""
    inside = sum(torch.exp(beta * (x @ z)) for x in patterns) / len(patterns)
    return z @ z / 2 + max(x @ x for x in patterns) / 2 - inside.log() / beta


@pytest.mark.parametrize("beta", [0.25, 1.0, 7.0])
@pytest.mark.parametrize("state", [(2.0, 1.0), (-0.3, 0.1), (0.0, -2.0)])
def test_the_path_is_attention_again_and_again_and_goes_down(state, beta):
    made = make_landscape()
    found = made.compute(state, beta)
    path, energies = found["path"], found["energies"]
    assert torch.equal(path[0], torch.tensor(state, dtype=torch.float64))
    for here, there in zip(path, path[1:], strict=False):
        scores = torch.stack([beta * (x @ here) for x in made.patterns])
        assert torch.allclose(there, scores.exp() / scores.exp().sum() @ made.patterns, atol=1e-9)
    for z, told in zip(path, energies, strict=True):
        assert told == pytest.approx(float(energy_by_hand(z, made.patterns, beta)), abs=1e-9)
    assert (energies.diff() <= 1e-12).all() and energies.min() >= 0
    assert found["weights"].sum() == pytest.approx(1)
    assert found["settled"] == bool((path[-1] - path[-2]).abs().max() < 1e-4)


def test_small_beta_mixes_and_large_beta_remembers():
    made = make_landscape()
    for beta, low, high in ((0.25, 0.3, 0.5), (8.0, 0.99, 1.0)):
        assert low < float(made.compute(beta=beta)["weights"].max()) <= high
    assert int(made.compute((-0.5, -0.1), 8.0)["weights"].argmax()) == 2  # desde cerca de «pan»


def test_without_javascript_three_betas_are_told():
    told = TERRENO.static()
    for beta in (0.25, 0.7, 16.0):
        found = TERRENO.compute(beta=beta)
        row = told[told.index(f'row">{base.number(beta)}<') :].partition("</tr>")[0]
        place, *weights = re.findall("<td>(.*?)</td>", row)
        assert place == f"({', '.join(base.number(x) for x in found['path'][-1].tolist())})"
        assert weights == [base.number(w) for w in found["weights"].tolist()]


def test_everything_fits_in_the_square():
    left, right, bottom, top = TERRENO.limits
    assert right - left == pytest.approx(top - bottom)
    for x, y in [*TERRENO.patterns.tolist(), TERRENO.start.tolist(), [0.0, 0.0]]:
        assert left < x < right and bottom < y < top


@pytest.mark.parametrize(("changes", "said"), [
    ({"patterns": [[1.0, 0.0]]}, "patterns: llegó la forma (1, 2)"),
    ({"patterns": torch.zeros(7, 2), "words": list("abcdefg")}, "patterns: llegó la forma (7, 2)"),
    ({"patterns": torch.zeros(3, 3)}, "patterns: llegó la forma (3, 3)"),
    ({"patterns": torch.zeros(3)}, "patterns: llegó la forma (3,)"),
    ({"start": [1.0]}, "start: llegó la forma (1,)"),
    ({"start": [1.0, float("nan")]}, "start: hay valores"),
    ({"words": ["una"]}, "words: llegaron 1 rótulos"),
    ({"beta": 0.1}, "beta: llegó 0.1"),
    ({"beta": float("nan")}, "beta: llegó nan"),
    ({"betas": (2.0, 1.0)}, "beta: llegó 1.0"),
    ({"betas": (0.0, 4.0)}, "beta: llegó 1.0"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_named(changes, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        make_landscape(**changes)
