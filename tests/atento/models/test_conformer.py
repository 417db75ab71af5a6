"""Conformer: igual a la capa de transformers, y lo que ve su convolución."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from atento import rng
from atento.attention import MultiHeadAttention
from atento.blocks import Encoder
from atento.models.conformer import ConformerBlock, ConvolutionModule, SwishFeedForward
from atento.models.weights import from_conformer
from atento.positions import Rotary

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def rows(dtype=torch.float64, n=9):
    return torch.randn(3, n, 16, generator=rng.generator(1), dtype=dtype)


def block(**options):
    return ConformerBlock(MultiHeadAttention(16, 4, **options), 24, 5)


def theirs(dtype):
    from transformers import Wav2Vec2ConformerConfig
    from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as modeling

    options = {"hidden_size": 16, "num_attention_heads": 4, "intermediate_size": 24}
    options |= {"hidden_act": "swish", "conv_depthwise_kernel_size": 5}
    options |= {"position_embeddings_type": None, "attn_implementation": "eager"}
    options |= dict.fromkeys(("hidden_dropout", "activation_dropout", "attention_dropout"), 0.0)
    made = Wav2Vec2ConformerConfig(**options, conformer_conv_dropout=0.0)
    layer = modeling.Wav2Vec2ConformerEncoderLayer(made)
    for name, parameter in layer.named_parameters():
        nn.init.normal_(parameter, float("norm.weight" in name), std=0.3)
    layer.conv_module.batch_norm.running_mean.normal_()
    layer.conv_module.batch_norm.running_var.uniform_(0.5, 2)
    return layer.to(dtype)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(dtype, training, shape_checks):
    oracle = theirs(dtype).train(training)
    ours = block().to(dtype).train(training)
    ours.load_state_dict(from_conformer(oracle.state_dict()))
    x = rows(dtype)
    mine, other = ours(x), oracle(x)
    close(mine, other, TOLERANCE[dtype])
    mine.square().sum().backward()
    other.square().sum().backward()
    renamed = from_conformer({n: p.grad for n, p in oracle.named_parameters()})
    own = dict(ours.named_parameters())
    assert own.keys() == renamed.keys()
    for name, parameter in own.items():
        expected = renamed[name]
        close(parameter.grad, expected, TOLERANCE[dtype] * max(1.0, expected.abs().max().item()))
    for name, buffer in from_conformer(oracle.state_dict()).items():
        if "running" in name:
            close(ours.state_dict()[name], buffer, TOLERANCE[dtype])


def test_it_stacks_and_can_be_masked():
    net = Encoder([block(rotary=Rotary(4)), block()]).double().eval()
    layers = [theirs(torch.float64).state_dict() for _ in range(2)]
    state = {f"layers.{i}.{n}": t for i, layer in enumerate(layers) for n, t in layer.items()}
    net.load_state_dict(from_conformer(state))
    x = rows()
    assert net(x).shape == x.shape
    mask = torch.ones(9, 9, dtype=torch.bool)
    mask[:, 8] = False
    other = x.clone()
    other[:, 8] = x[:, 0]
    one = net.blocks[1]
    masked = (one(other, mask) - one(x, mask)).abs().amax(dim=(0, 2)) > 1e-9
    assert masked.tolist() == [False] * 6 + [True] * 3  # solo lo oyen las vecinas
    assert ((one(other) - one(x)).abs().amax(dim=(0, 2)) > 1e-9).all()


def test_the_convolution_sees_its_neighbours_and_not_other_components():
    module = ConvolutionModule(16, 5).double().eval()
    x = rows(n=11).requires_grad_()
    (slope,) = torch.autograd.grad(module(x)[0, 5].sum(), x)
    assert slope.abs().sum((0, 2)).nonzero().flatten().tolist() == [3, 4, 5, 6, 7]
    mixed = module.filters(x.mT).mT
    (slope,) = torch.autograd.grad(mixed[0, 5, 2], x)
    assert slope.abs().sum((0, 1)).nonzero().flatten().tolist() == [2]


def test_each_dense_net_adds_half():
    net = block().double().eval()
    x = rows()
    for part in (net.attention.project_output, net.convolution.contract, net.second.contract):
        nn.init.zeros_(part.weight)
    half = x + net.first(net.add_first.norm(x)) / 2
    close(net(x), net.final_norm(half))
    dense = SwishFeedForward(16, 24).double()
    hidden = dense.expand(x)
    close(dense(x), dense.contract(hidden * hidden.sigmoid()))
    assert not torch.allclose(dense(x), dense.contract(F.relu(hidden)))


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "attention: ", lambda: ConformerBlock(nn.Linear(4, 4), 8)),
        (ValueError, "kernel_size: .*impar", lambda: ConvolutionModule(16, 4)),
        (ValueError, "d_ff: ", lambda: ConformerBlock(MultiHeadAttention(16, 4), 0)),
        (ValueError, "x: .*n, 16", lambda: block()(torch.ones(9, 16))),
        (TypeError, "x: ", lambda: block()(torch.ones(1, 9, 16, dtype=torch.long))),
        (ValueError, "state: .*Conformer", lambda: from_conformer({"a.b": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_conformer([1])),
        (TypeError, "attention: ", lambda: ConformerBlock(SimpleNamespace(d_model=4), 8)),
        (ValueError, "d_model: ", lambda: ConvolutionModule(0, 5)),
        (ValueError, "kernel_size: .*mayor", lambda: ConvolutionModule(16, 0)),
        (ValueError, "kernel_size: ", lambda: ConformerBlock(MultiHeadAttention(16, 4), 24, 4)),
        (
            ValueError,
            "dropout: ",
            lambda: ConformerBlock(MultiHeadAttention(16, 4), 24, dropout=1.0),
        ),
        (ValueError, "x: .*n, 16", lambda: ConvolutionModule(16, 5)(torch.ones(9, 16))),
        (ValueError, "x: .*vacíos", lambda: ConvolutionModule(16, 5)(torch.ones(1, 0, 16))),
        (TypeError, "x: ", lambda: ConvolutionModule(16, 5)(torch.ones(1, 9, 16).long())),
        (ValueError, "x: .*dos posiciones", lambda: ConvolutionModule(16, 5)(torch.ones(1, 1, 16))),
        (ValueError, "x: .*dos posiciones", lambda: block().train()(torch.ones(1, 1, 16))),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert ConvolutionModule(16, 1).eval()(torch.ones(1, 1, 16)).shape == (1, 1, 16)
    for shape in ((2, 1, 16), (1, 2, 16)):  # al entrenar, dos posiciones bastan
        assert ConvolutionModule(16, 1)(torch.ones(shape)).shape == shape
