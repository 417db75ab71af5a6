"""Las normas, la red densa, los residuales y los embeddings: frente a PyTorch y a mano."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento import positions
from atento.layers import (
    Dropout,
    FeedForward,
    LayerNorm,
    Residual,
    RMSNorm,
    TokenEmbedding,
    layer_norm,
    rms_norm,
)

F64 = torch.float64


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def gradients(output, inputs):
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    return torch.autograd.grad((output * weights).sum(), inputs)


def same_with_gradients(ours, theirs, inputs):
    close(ours, theirs)
    for mine, yours in zip(gradients(ours, inputs), gradients(theirs, inputs), strict=True):
        close(mine, yours)


# --- Normalizar -----------------------------------------------------------------------------------


@given(
    shape=st.sampled_from([(5,), (3, 4), (2, 3, 8), (1, 1)]),
    scale=st.sampled_from([1e-3, 1.0, 1e4]),
    eps=st.sampled_from([1e-12, 1e-5, 0.1]),
)
def test_norms_equal_pytorch_with_gradients(shape, scale, eps):
    x = (torch.randn(shape, dtype=F64) * scale + scale).requires_grad_()
    weight, bias = torch.randn(2, shape[-1], dtype=F64).unbind()
    inputs = [x, weight.requires_grad_(), bias.requires_grad_()]
    theirs = F.layer_norm(x, shape[-1:], weight, bias, eps)
    if shape[-1] > 1:  # con una sola componente la derivada es 0 · ∞ si eps es diminuto
        same_with_gradients(layer_norm(*inputs, eps), theirs, inputs)
    same_with_gradients(
        rms_norm(x, weight, eps), F.rms_norm(x, shape[-1:], weight, eps), inputs[:2]
    )


@pytest.mark.parametrize("dtype", [F64, torch.float32])
def test_modules_equal_the_written_out_functions(dtype, shape_checks):
    x = torch.randn(2, 3, 8, dtype=dtype) * 5 + 2
    norm, rms = LayerNorm(8).to(dtype), RMSNorm(8).to(dtype)
    for module in (norm, rms):
        nn.init.uniform_(module.weight, 0.5, 2.0)
    nn.init.normal_(norm.bias)
    tolerance = 1e-9 if dtype == F64 else 1e-5
    close(norm(x), layer_norm(x, norm.weight, norm.bias, norm.eps), tolerance)
    close(rms(x), rms_norm(x, rms.weight, rms.eps), tolerance)
    theirs = nn.LayerNorm(8).to(dtype)
    theirs.load_state_dict(norm.state_dict())  # los mismos nombres
    assert torch.equal(norm(x), theirs(x))


def test_layer_norm_by_hand():
    """Media 3 y varianza 8/4 = 2 (con n - 1 sería 8/3)."""
    x = torch.tensor([1.0, 3.0, 5.0, 3.0], dtype=F64)
    expected = torch.tensor([-2.0, 0.0, 2.0, 0.0], dtype=F64) / 2**0.5
    close(layer_norm(x, torch.ones(4, dtype=F64), torch.zeros(4, dtype=F64), 1e-15), expected)
    close(rms_norm(x, torch.ones(4, dtype=F64), 1e-15), x / 11**0.5)


def test_constant_rows_give_the_bias_without_nan():
    norm = LayerNorm(4)
    x = torch.full((2, 4), 7.0, requires_grad=True)
    norm(x).sum().backward()
    assert (norm(x) == 0).all() and x.grad.isfinite().all()


@given(shift=st.floats(-10, 10), scale=st.floats(0.1, 10))
def test_layer_norm_ignores_shift_and_scale_and_rms_only_scale(shift, scale):
    x, one, zero = torch.randn(3, 6, dtype=F64), torch.ones(6, dtype=F64), torch.zeros(6, dtype=F64)
    close(layer_norm(scale * x + shift, one, zero, 1e-14), layer_norm(x, one, zero, 1e-14), 1e-8)
    close(rms_norm(scale * x, one, 1e-14), rms_norm(x, one, 1e-14), 1e-8)


# --- Transformar ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_feed_forward_written_out(activation, bias, shape_checks):
    net = FeedForward(6, 10, activation=activation, bias=bias).double().eval()
    if bias:
        for linear in filter(None, (net.expand, net.gate, net.contract)):
            nn.init.normal_(linear.bias)
    x = torch.randn(2, 3, 6, dtype=F64, requires_grad=True)

    def through(linear, y):
        return y @ linear.weight.T + (linear.bias if bias else 0)

    hidden = through(net.expand, x)
    if activation == "relu":
        hidden = hidden.clamp(min=0)
    elif activation == "gelu":
        hidden = hidden * 0.5 * (1 + torch.erf(hidden / 2**0.5))
    else:
        hidden = hidden / (1 + (-hidden).exp()) * through(net.gate, x)
    same_with_gradients(net(x), through(net.contract, hidden), [x, *net.parameters()])


def test_feed_forward_does_not_mix_positions():
    net, x = FeedForward(6, 10).double(), torch.randn(2, 5, 6, dtype=F64)
    alone = torch.stack([net(x[:, i]) for i in range(5)], dim=1)
    close(net(x), alone)


def test_swiglu_costs_the_same_with_two_thirds():
    def count(net):
        return sum(p.numel() for p in net.parameters())

    two = FeedForward(12, 48, bias=False)
    three = FeedForward(12, 32, activation="swiglu", bias=False)
    assert count(two) == count(three) == 2 * 12 * 48


def test_dropout_acts_on_the_inner_layer_and_only_in_training():
    net = FeedForward(4, 1000, dropout=0.5).double()
    x = torch.randn(1, 4, dtype=F64)
    seen = []
    net.contract.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    hidden = F.relu(net.expand(x))
    net(x)
    net.eval()(x)
    kept = seen[0] != 0
    alive = int((hidden > 0).sum())
    assert 0.3 < int(kept.sum()) / alive < 0.7
    close(seen[0][kept], 2 * hidden[kept])  # se reparte lo que falta
    close(seen[1], hidden)


def test_dropout_is_pytorchs_when_training_and_nothing_when_evaluating():
    x, ours, theirs = torch.randn(5, 40), Dropout(0.3), nn.Dropout(0.3)
    seen = []
    ours.register_forward_hook(lambda module, inputs, output: seen.append(output))
    torch.manual_seed(0)
    expected = theirs(x)
    torch.manual_seed(0)
    assert torch.equal(ours(x), expected) and not torch.equal(expected, x)
    assert ours.eval()(x) is x
    assert len(seen) == 2  # quien mire la pieza ve también lo que pasa al evaluar


# --- Sumar ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalization", ["layer", "rms"])
def test_residual_pre_and_post(normalization, shape_checks):
    x = torch.randn(2, 3, 6, dtype=F64)
    pre = Residual(6, norm="pre", normalization=normalization).double()
    post = Residual(6, norm="post", normalization=normalization).double()
    close(pre(x, torch.sin), x + pre.norm(x).sin())
    close(post(x, torch.sin), post.norm(x + x.sin()))


def test_residual_dropout_never_touches_the_stream():
    x, residual = torch.randn(4, 200, dtype=F64), Residual(200, dropout=0.5).double()
    update = residual(x, torch.ones_like) - x
    assert set(update.unique().round().tolist()) == {0.0, 2.0}


# --- La entrada -----------------------------------------------------------------------------------


def test_embedding_scales_and_places(shape_checks):
    ids = torch.tensor([[3, 1, 4], [1, 5, 0]])
    embed = TokenEmbedding(9, 16, positions=positions.Sinusoidal(16)).double()
    table = positions.sinusoidal(torch.arange(10), 16, dtype=F64)
    close(embed(ids), embed.tokens.weight[ids] * 4 + table[:3])
    close(embed(ids, torch.arange(5, 8)), embed.tokens.weight[ids] * 4 + table[5:8])
    each = torch.tensor([[2, 0, 1], [9, 9, 3]])
    close(embed(ids, each), embed.tokens.weight[ids] * 4 + table[each])
    plain = TokenEmbedding(9, 16).double()
    close(plain(ids), plain.tokens.weight[ids] * 4)


def test_embeddings_enter_with_unit_variance():
    embed = TokenEmbedding(500, 256)
    assert abs(embed(torch.arange(500)[None]).var().item() - 1) < 0.05


# --- Lo que se rechaza ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "d_model: se esperaba un entero mayor", lambda: LayerNorm(0)),
        (ValueError, "eps: se esperaba", lambda: RMSNorm(4, eps=-1.0)),
        (TypeError, "x: se esperaba un tensor de coma", lambda: LayerNorm(4)(torch.arange(4))),
        (ValueError, "x: el eje «d_model».* mide 5", lambda: LayerNorm(4)(torch.ones(2, 5))),
        (ValueError, "x: el eje «d_model».* mide 5", lambda: FeedForward(4, 8)(torch.ones(5))),
        (TypeError, "x: se esperaba float32", lambda: FeedForward(4, 8)(torch.ones(4).double())),
        (
            ValueError,
            "bias: se esperaba la forma",
            lambda: layer_norm(torch.ones(2, 3), torch.ones(3), torch.ones(1)),
        ),
        (
            ValueError,
            "activation: se esperaba una de relu, gelu, swiglu; llegó 'tanh'",
            lambda: FeedForward(4, 8, activation="tanh"),
        ),
        (ValueError, "norm: se esperaba una de pre, post", lambda: Residual(4, norm="both")),
        (ValueError, "normalization: ", lambda: Residual(4, normalization="batch")),
        (ValueError, "dropout: ", lambda: Residual(4, dropout=1.0)),
        (TypeError, "sublayer: se esperaba una función", lambda: Residual(4)(torch.ones(4), 3)),
        (
            TypeError,
            "sublayer: .* devolvió una tupla",
            lambda: Residual(4)(torch.ones(2, 4), lambda x: (x, None)),
        ),
        (
            ValueError,
            "sublayer: se esperaba que devolviera la forma",
            lambda: Residual(4)(torch.ones(2, 4), lambda x: x[:1]),
        ),
        (ValueError, "ids: se esperaban números entre 0 y 8; llegó 9", lambda: _embed([[9]])),
        (TypeError, "ids: se esperaba un tensor de enteros", lambda: _embed([[0.5]])),
        (ValueError, "ids: se esperaba la forma", lambda: _embed([1])),
        (
            TypeError,
            "positions: se esperaba una función",
            lambda: TokenEmbedding(9, 4, positions=3),
        ),
        (
            ValueError,
            "positions: se esperaba que devolviera la forma de x",
            lambda: TokenEmbedding(9, 4, positions=lambda x, p: x[0])(torch.ones(2, 3).long()),
        ),
        (
            ValueError,
            "positions: se esperaba una posición por fila",
            lambda: TokenEmbedding(9, 4)(torch.ones(2, 3).long(), torch.arange(2)),
        ),
        (ValueError, "d_model: se esperaba un entero mayor", lambda: RMSNorm(0)),
        (ValueError, "eps: se esperaba", lambda: LayerNorm(4, eps=0.0)),
        (ValueError, "x: .* un escalar", lambda: rms_norm(torch.tensor(1.0), torch.tensor(1.0))),
        (ValueError, "x: .* un escalar", lambda: LayerNorm(4)(torch.tensor(1.0))),
        (TypeError, "x: .*coma", lambda: layer_norm(torch.ones(2, 3).long(), *[torch.ones(3)] * 2)),
        (TypeError, "weight: .*coma", lambda: rms_norm(torch.ones(2, 3), torch.ones(3).long())),
        (TypeError, "weight: .* como x", lambda: rms_norm(torch.ones(3), torch.ones(3).double())),
        (ValueError, "eps: se esperaba", lambda: rms_norm(*[torch.ones(3)] * 2, eps=0.0)),
        (ValueError, "eps: se esperaba", lambda: layer_norm(*[torch.ones(3)] * 3, eps=0.0)),
        (ValueError, "d_model: se esperaba un entero mayor", lambda: FeedForward(0, 8)),
        (ValueError, "d_ff: se esperaba un entero mayor", lambda: FeedForward(4, 0)),
        (ValueError, "dropout: ", lambda: FeedForward(4, 8, dropout=1.0)),
        (ValueError, "d_model: se esperaba un entero mayor", lambda: Residual(0)),
        (TypeError, "x: .*coma", lambda: Residual(4, norm="post")(torch.ones(4).long(), abs)),
        (TypeError, "sublayer: se esperaba un tensor", lambda: Residual(4)(torch.ones(4), len)),
        (ValueError, "vocab: se esperaba un entero mayor", lambda: TokenEmbedding(0, 4)),
        (ValueError, "d_model: se esperaba un entero mayor", lambda: TokenEmbedding(9, 0)),
        (ValueError, "dropout: ", lambda: TokenEmbedding(9, 4, dropout=1.0)),
        (TypeError, "ids: se esperaba int64; llegó int16", lambda: TokenEmbedding(9, 4)(
            torch.ones(2, 3).short())),
        (ValueError, "ids: se esperaban números entre 0 y 8; llegó -1", lambda: _embed([[-1]])),
        (TypeError, "positions: se esperaba un tensor", lambda: TokenEmbedding(
            9, 4, positions=lambda x, p: 3)(torch.ones(2, 3).long())),
    ],
)  # fmt: skip
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def _embed(ids):
    return TokenEmbedding(9, 4)(torch.tensor(ids))
