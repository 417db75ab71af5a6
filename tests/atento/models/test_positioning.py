"""Los esquemas con nombre: qué módulo pone cada uno y dónde."""

import pytest
import torch

from atento import positions
from atento.models.positioning import NAMES, added, attention_options, consecutive

SIZES = {"d_head": 6, "n_heads": 4, "max_len": 9}
MODULES = {
    "none": (None, None),
    "sinusoidal": (positions.Sinusoidal, None),
    "learned": (positions.Learned, None),
    "rotary": (None, positions.Rotary),
    "t5": (None, positions.RelativeBias),
    "alibi": (None, positions.Alibi),
    "shaw": (None, positions.ShawRelative),
}


@pytest.mark.parametrize("name", NAMES)
def test_each_scheme_enters_by_one_door(name):
    at_input, in_attention = MODULES[name]
    module, options = added(name, d_model=8, max_len=9), attention_options(name, **SIZES)
    assert module is None if at_input is None else isinstance(module, at_input)
    assert [type(m) for m in options.values()] == ([in_attention] if in_attention else [])


def test_sizes_reach_the_modules():
    assert added("learned", d_model=8, max_len=9).table.shape == (9, 8)
    assert attention_options("rotary", **SIZES)["rotary"].d_head == 6
    both, before = (attention_options("t5", **SIZES, causal=c)["score_bias"] for c in (False, True))
    assert both.bidirectional and not before.bidirectional
    assert consecutive(torch.zeros(2, 4)).tolist() == [0, 1, 2, 3]
