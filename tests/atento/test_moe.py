"""Mezcla de expertos: igual al bucle, sitio por orden de llegada y reparto parejo."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.attention import MultiHeadAttention
from atento.blocks import EncoderBlock
from atento.moe import MixtureOfExperts, balance_loss, route

F64 = torch.float64


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=rng.generator(seed), dtype=F64)


def close(a, b, tolerance=1e-9):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


@given(
    tokens=st.integers(1, 7),
    experts=st.integers(1, 4),
    k=st.integers(1, 4),
    room=st.none() | st.integers(1, 4),
    seed=st.integers(0, 10**6),
)
def test_routing_equals_serving_one_by_one(tokens, experts, k, room, seed):
    k = min(k, experts)
    logits = draw(tokens, experts, seed=seed)
    found = route(logits, k, room)
    served = dict.fromkeys(range(experts), 0)
    p = logits.softmax(-1)
    order = p.argsort(dim=-1, descending=True)[:, :k]
    assert torch.equal(found.chosen, order)
    for choice in range(k):
        for token in range(tokens):
            expert = int(order[token, choice])
            served[expert] += 1
            assert found.kept[token, choice].item() == (room is None or served[expert] <= room)
            total = p[token, order[token]].sum() if k > 1 else 1.0
            close(found.weights[token, choice], p[token, expert] / total)
    close(found.load, torch.tensor([served[e] / (tokens * k) for e in range(experts)], dtype=F64))


@pytest.mark.parametrize(("k", "factor"), [(1, None), (2, None), (2, 0.75), (3, 1.0)])
def test_the_mixture_is_the_weighted_sum_of_its_experts(k, factor, shape_checks):
    rng.seed_all(2)
    net = MixtureOfExperts(6, 9, 3, top_k=k, capacity_factor=factor).double()
    x = draw(2, 5, 6)
    output = net(x).reshape(-1, 6)
    routing, tokens = net.routing, x.reshape(-1, 6)
    for t, token in enumerate(tokens):
        expected = torch.zeros(6, dtype=F64)
        for choice in range(k):
            if routing.kept[t, choice]:
                expert = net.experts[routing.chosen[t, choice]]
                expected = expected + routing.weights[t, choice] * expert(token)
        close(output[t], expected)
    assert (routing.dropped > 0) == (factor == 0.75)
    if factor == 0.75:  # caben techo(0.75 · 10 · 2 / 3) = 5 en cada uno
        assert max((routing.chosen[routing.kept] == e).sum() for e in range(3)) == 5


def test_one_expert_is_the_dense_layer():
    net = MixtureOfExperts(4, 8, 1).double()
    x = draw(3, 4)
    close(net(x), net.experts[0](x))


def test_every_used_expert_and_the_router_learn():
    rng.seed_all(0)
    net = MixtureOfExperts(4, 8, 3, top_k=1).double()
    net(draw(40, 4)).square().sum().backward()
    assert (net.routing.load > 0).all() and net.router.weight.grad.abs().max() > 0
    assert all(e.expand.weight.grad.abs().max() > 0 for e in net.experts)


def test_balance():
    """Parejo, 1; todo a uno, cuatro con cuatro expertos. Y bajarla lo empareja."""
    even = route(8 * torch.eye(4, dtype=F64), 1)
    close(balance_loss(even), torch.tensor(1.0, dtype=F64))
    crowded = route(torch.tensor([[50.0, 0, 0, 0]] * 6, dtype=F64), 1)
    close(balance_loss(crowded), torch.tensor(4.0, dtype=F64), 1e-6)
    logits = (draw(64, 4) + torch.tensor([2.0, 0, 0, 0])).requires_grad_()
    before = balance_loss(route(logits, 1))
    for _ in range(50):
        (slope,) = torch.autograd.grad(balance_loss(route(logits, 1)), logits)
        logits = (logits - 20 * slope).detach().requires_grad_()
    assert before > 1.5 > 1.2 > balance_loss(route(logits, 1))


def test_inside_a_block():
    block = EncoderBlock(MultiHeadAttention(8, 2), MixtureOfExperts(8, 16, 4, top_k=2)).double()
    assert block(draw(2, 5, 8)).shape == (2, 5, 8)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "top_k: .* 2 expertos", lambda: MixtureOfExperts(4, 8, 2, top_k=3)),
        (ValueError, "n_experts: ", lambda: MixtureOfExperts(4, 8, 0)),
        (ValueError, "capacity_factor: ", lambda: MixtureOfExperts(4, 8, 2, capacity_factor=0.0)),
        (ValueError, "activation: ", lambda: MixtureOfExperts(4, 8, 2, activation="tanh")),
        (ValueError, "x: ", lambda: MixtureOfExperts(4, 8, 2)(torch.ones(3, 5))),
        (ValueError, "logits: se esperaba la forma", lambda: route(torch.ones(3), 1)),
        (ValueError, "capacity: ", lambda: route(torch.ones(3, 2), 1, 0)),
        (TypeError, "routing: ", lambda: balance_loss(torch.ones(2))),
        (ValueError, "d_model: ", lambda: MixtureOfExperts(0, 8, 2)),
        (ValueError, "d_ff: ", lambda: MixtureOfExperts(4, 0, 2)),
        (ValueError, "top_k: .* mayor o igual que 1", lambda: MixtureOfExperts(4, 8, 2, top_k=0)),
        (TypeError, "x: ", lambda: MixtureOfExperts(4, 8, 2)(torch.ones(3, 4).long())),
        (ValueError, "x: .* «d_model»", lambda: MixtureOfExperts(4, 8, 2)(torch.tensor(1.0))),
        (TypeError, "logits: ", lambda: route(torch.ones(3, 2).long(), 1)),
        (ValueError, "logits: se esperaba la forma", lambda: route(torch.ones(3, 0), 1)),
        (ValueError, "top_k: .* 2 expertos; llegó 3", lambda: route(torch.ones(3, 2), 3)),
        (TypeError, "routing: ", lambda: balance_loss((1, 2))),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
