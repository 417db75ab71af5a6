"""Pesos en 8 bits: el error que prometen, la memoria que ahorran y lo que no cambian."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento import rng
from atento.models.gpt import Gpt, GptConfig
from atento.quantize import Int8Linear, quantize_rows, quantized, stored_bytes


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=rng.generator(seed), dtype=dtype)


@given(
    rows=st.integers(1, 5),
    columns=st.integers(1, 6),
    size=st.floats(1e-3, 1e3),
    seed=st.integers(0, 999),
)
def test_no_weight_moves_more_than_half_a_step(rows, columns, size, seed):
    weight = size * draw(rows, columns, seed=seed)
    packed = quantize_rows(weight)
    assert (
        packed.values.dtype == torch.int8 and packed.values.abs().amax(-1).tolist() == [127] * rows
    )
    moved = (packed.weight - weight).abs()
    assert (moved <= packed.scale[:, None] / 2 * (1 + 1e-9)).all()
    assert torch.equal(packed.scale, weight.abs().amax(-1) / 127)
    again = quantize_rows(packed.weight)
    assert torch.equal(again.values, packed.values)  # lo redondeado ya no se mueve


def test_by_hand():
    """[1, −0.5, 0.26] con escala 1/127: 127, −63.5 → −64 y 33.02 → 33."""
    packed = quantize_rows(torch.tensor([[1.0, -0.5, 0.26], [0.0, 0.0, 0.0]]))
    assert packed.values.tolist() == [[127, -64, 33], [0, 0, 0]]
    assert packed.scale.tolist() == pytest.approx([1 / 127, 1.0])


def test_each_row_has_its_own_scale():
    """Una fila enorme no estropea a la pequeña, que con una sola escala sería todo ceros."""
    weight = torch.tensor([[1000.0, 3.0], [0.001, 0.0005]])
    packed = quantize_rows(weight)
    assert packed.values[1].tolist() == [127, 64]
    assert (weight[1] / (1000 / 127)).round().abs().max() == 0


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_multiplies_by_what_it_stores(bias, shape_checks):
    linear = nn.Linear(6, 4, bias=bias).double()
    layer = Int8Linear(linear)
    x = draw(2, 3, 6)
    expected = x @ layer.weight.T + (linear.bias if bias else 0)
    torch.testing.assert_close(layer(x), expected, rtol=0, atol=1e-9)
    assert not list(layer.parameters()) and (layer(x) - linear(x)).abs().max() > 0
    bound = x.abs().sum(-1, keepdim=True) * layer.scale / 2
    assert ((layer(x) - linear(x)).abs() <= bound + 1e-9).all()


def test_a_model_keeps_its_answers_and_a_quarter_of_its_weights():
    rng.seed_all(0)
    model = Gpt(
        GptConfig(40, d_model=64, n_heads=4, d_ff=256, n_layers=2, max_len=16, init_std=0.1)
    )
    small = quantized(model)
    ids = torch.randint(40, (4, 12), generator=rng.generator(1))
    before, after = model.eval()(ids), small(ids)
    error = (before - after).abs().max() / before.std()
    assert 0 < error < 0.1
    assert (before.argmax(-1) == after.argmax(-1)).float().mean() > 0.9
    assert isinstance(small.encoder.blocks[0].attention.project_query, Int8Linear)
    assert isinstance(model.project, nn.Linear)  # el de antes no cambia
    lines = [m for m in model.encoder.modules() if isinstance(m, nn.Linear)]
    own = sum(m.weight.numel() for m in lines)
    saved = stored_bytes(model.encoder) - stored_bytes(small.encoder)
    assert saved == 3 * own - 4 * sum(m.out_features for m in lines)
    assert stored_bytes(model) == 4 * sum(p.numel() for p in model.parameters())


def test_a_single_layer_and_no_layers():
    assert isinstance(quantized(nn.Linear(2, 2)), Int8Linear)
    assert stored_bytes(quantized(nn.ReLU())) == 0


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "weight: se esperaba la forma", lambda: quantize_rows(torch.ones(3))),
        (TypeError, "weight: ", lambda: quantize_rows(torch.ones(2, 2, dtype=torch.long))),
        (ValueError, "weight: .* NaN", lambda: quantize_rows(torch.full((1, 1), torch.inf))),
        (TypeError, "linear: se esperaba un nn.Linear", lambda: Int8Linear(nn.ReLU())),
        (ValueError, "x: ", lambda: Int8Linear(nn.Linear(3, 2))(torch.ones(2))),
        (TypeError, "model: se esperaba un nn.Module", lambda: quantized("modelo")),
        (TypeError, "model: ", lambda: stored_bytes(None)),
        (ValueError, "weight: .* sin ejes vacíos", lambda: quantize_rows(torch.ones(2, 0))),
        (TypeError, "x: ", lambda: Int8Linear(nn.Linear(3, 2))(torch.ones(3).long())),
        (ValueError, "x: .* «in_features»", lambda: Int8Linear(nn.Linear(3, 2))(torch.tensor(1.0))),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
