"""``watching``: los pesos de cada atención de un modelo, mientras alguien mira."""

import pytest
import torch
from torch import nn

from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.watching import watching

SOURCE = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 4, 0, 0]])
TARGET = torch.tensor([[1, 3, 4, 5], [1, 6, 7, 8]])


def model(**changes):
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "tying": "none"}
    return Seq2Seq(Seq2SeqConfig.tiny(11, **sizes, **changes)).double().eval()


def test_every_map_while_somebody_watches(shape_checks):
    net = model(positions="rotary", cross_positions="t5")
    expected = net(SOURCE, TARGET)
    with watching(net) as maps:
        torch.testing.assert_close(net(SOURCE, TARGET), expected, rtol=0, atol=1e-9)
    kinds = ["encoder.blocks.{}.attention", "decoder.blocks.{}.attention"]
    kinds.append("decoder.blocks.{}.cross_attention")
    assert set(maps) == {kind.format(i) for kind in kinds for i in (0, 1)}
    cross = maps["decoder.blocks.1.cross_attention"]
    assert cross.shape == (2, 4, 4, 5) and not cross.requires_grad
    assert (cross.sum(-1) - 1).abs().max() < 1e-9
    assert (cross[1, :, :, 3:] == 0).all()  # el relleno
    own = maps["decoder.blocks.0.attention"]
    assert (own.triu(1) == 0).all()  # el futuro
    before = dict(maps)
    net(SOURCE[:1], TARGET[:1])  # fuera, nadie mira
    assert all(maps[name] is before[name] for name in maps)


def test_nobody_is_left_watching_after_an_error():
    net = model()
    with pytest.raises(ZeroDivisionError), watching(net):
        raise ZeroDivisionError
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())


@pytest.mark.parametrize(
    ("thing", "kind", "message"),
    [
        (3, TypeError, "model: se esperaba un nn.Module; llegó int"),
        (nn.Linear(2, 2), ValueError, "model: se esperaba alguna MultiHeadAttention"),
    ],
)
def test_what_cannot_be_watched(thing, kind, message):
    with pytest.raises(kind, match=message), watching(thing):
        pass
