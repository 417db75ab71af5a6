"""LSH: quién cae con quién, y la atención exacta entre quienes se han visto."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import efficient as ef
from atento import rng
from atento.attention import scaled_dot_product_attention

F64 = torch.float64


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=rng.generator(seed), dtype=F64)


def close(a, b, tolerance=1e-9):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


def turns(rounds, d, buckets, seed=0):
    return ef.draw_rotations(rounds, d, buckets, generator=rng.generator(seed)).double()


def met(query, key, rotations, size):
    """Fuerza bruta: ordenar a mano en cada ronda y ver quién está cerca de quién."""
    n, m = len(query), len(key)
    seen = torch.zeros(n, m, dtype=torch.bool)
    for turn in rotations:
        line = []
        for kind, vectors, first in (("k", key, 0), ("q", query, m - n)):
            for i, x in enumerate(vectors):
                sides = [(x @ column).item() for column in turn.T]
                sides += [-s for s in sides]
                bucket = sides.index(max(sides)) if sides else 0
                line.append((bucket, first + i, kind, i))
        line.sort()
        for a, (b, _, kind, i) in enumerate(line):
            for c, (d, _, other, j) in enumerate(line):
                near = abs(a // size - c // size) <= 1
                if kind == "q" and other == "k" and b == d and near:
                    seen[i, j] = True
    return seen


@given(
    n=st.integers(1, 9),
    more=st.integers(0, 4),
    rounds=st.integers(1, 3),
    buckets=st.sampled_from([1, 2, 4]),
    chunk=st.integers(1, 30),
    causal=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_exact_attention_among_those_who_met(n, more, rounds, buckets, chunk, causal, seed):
    m = n + more
    query, key, value = draw(n, 4, seed=seed), draw(m, 4, seed=seed + 1), draw(m, 3, seed=seed + 2)
    rotations = turns(rounds, 4, buckets, seed)
    seen = met(query, key, rotations, chunk)
    assert torch.equal(ef.lsh_mask(query, key, rotations, chunk=chunk), seen)
    keys = draw(m, seed=seed + 3) > -1
    found = ef.lsh_attention(query, key, value, rotations, causal=causal, keys=keys, chunk=chunk)
    allowed = seen & keys & (ef.past(n, m) if causal else True)
    close(found, scaled_dot_product_attention(query, key, value, allowed)[0])


@pytest.mark.parametrize("causal", [False, True])
def test_exact_when_everything_falls_in_one_bucket(causal):
    query, key, value = draw(2, 3, 11, 8), draw(2, 3, 11, 8, seed=1), draw(2, 3, 11, 8, seed=2)
    whole = ef.past(11, 11) if causal else None
    exact = scaled_dot_product_attention(query, key, value, whole)[0]
    close(ef.lsh_attention(query, key, value, turns(2, 8, 1), causal=causal), exact)
    cone = draw(8, seed=3) * 100  # todos apuntan casi igual
    query, key = query + cone, key + cone
    rotations = turns(2, 8, 8)
    assert (ef.lsh_buckets(query, rotations).diff(dim=-1) == 0).all()
    exact = scaled_dot_product_attention(query, key, value, whole)[0]
    close(ef.lsh_attention(query, key, value, rotations, causal=causal, chunk=22), exact, 1e-7)


def test_more_rounds_see_more_and_miss_less():
    query, value = 2 * draw(64, 8), draw(64, 4, seed=2)
    exact = scaled_dot_product_attention(query, query, value)[0]
    shares, errors = [], []
    for rounds in (1, 4, 16):
        rotations = turns(rounds, 8, 8, seed=5)
        shares.append(ef.lsh_mask(query, query, rotations).double().mean().item())
        found = ef.lsh_attention(query, query, value, rotations)
        errors.append((found - exact).norm().item())
    assert shares == sorted(shares) and errors == sorted(errors, reverse=True)
    assert errors[0] > 3 * errors[-1]


def test_what_falls_together_is_what_points_alike():
    """Con dos cubos, la probabilidad de caer juntos es 1 − ángulo / π (Charikar, 2002)."""
    rotations = turns(20_000, 2, 2, seed=1)
    for angle in (0.3, 1.0, 2.5):
        pair = torch.tensor([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], dtype=F64)
        a, b = ef.lsh_buckets(pair, rotations).unbind(-1)
        rate, wanted = (a == b).double().mean().item(), 1 - angle / math.pi
        assert abs(rate - wanted) < 5 * math.sqrt(wanted * (1 - wanted) / 20_000)
    assert torch.equal(ef.lsh_buckets(pair, rotations), ef.lsh_buckets(7 * pair, rotations))


def test_gradients_are_those_of_exact_attention_among_those_who_met():
    leaves = [draw(9, 4, seed=i).requires_grad_() for i in range(3)]
    rotations = turns(2, 4, 4)
    aim = draw(9, 4, seed=8)
    ours = torch.autograd.grad((ef.lsh_attention(*leaves, rotations) * aim).sum(), leaves)
    seen = ef.lsh_mask(leaves[0], leaves[1], rotations)
    theirs = (scaled_dot_product_attention(*leaves, seen)[0] * aim).sum()
    assert not seen.any(-1).all() or seen.any()
    for a, b in zip(ours, torch.autograd.grad(theirs, leaves), strict=True):
        close(a, b)


def test_who_finds_nobody_gets_zero():
    query, key = torch.tensor([[1.0, 0.0]], dtype=F64), torch.tensor([[-1.0, 0.0]], dtype=F64)
    leaves = [query.requires_grad_(), key.requires_grad_()]
    found = ef.lsh_attention(*leaves, draw(1, 3), turns(3, 2, 2))
    assert (found == 0).all()
    found.sum().backward()
    assert (query.grad == 0).all() and (key.grad == 0).all()


def test_redraw():
    layer = ef.LshAttention(8, 2, buckets=4, generator=rng.generator(1)).double()
    before = layer.rotations.clone()
    layer.redraw(rng.generator(2))
    assert layer.rotations.dtype == F64 and not torch.equal(before, layer.rotations)
    layer.redraw(rng.generator(1))
    close(layer.rotations, before, 1e-6)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "buckets: .* par", lambda: ef.draw_rotations(1, 4, 3)),
        (ValueError, "rounds: ", lambda: ef.draw_rotations(0, 4, 2)),
        (ValueError, "rotations: ", lambda: ef.lsh_buckets(draw(2, 4), draw(4, 2))),
        (ValueError, "rotations: ", lambda: ef.lsh_buckets(draw(2, 4), draw(1, 3, 2))),
        (TypeError, "rotations: ", lambda: ef.lsh_buckets(draw(2, 4), draw(1, 4, 2).float())),
        (ValueError, "chunk: ", lambda: ef.LshAttention(8, 2, buckets=2, chunk=0)),
        (
            ValueError,
            "chunk: ",
            lambda: ef.lsh_mask(draw(2, 4), draw(2, 4), turns(1, 4, 2), chunk=0),
        ),
        (
            ValueError,
            "n_queries: ",
            lambda: ef.lsh_attention(draw(3, 4), draw(2, 4), draw(2, 4), turns(1, 4, 2)),
        ),
        (ValueError, "d_head: .* mayor o igual que 1", lambda: ef.draw_rotations(1, 0, 2)),
        (ValueError, "buckets: .* mayor o igual que 1", lambda: ef.draw_rotations(1, 4, 0)),
        (ValueError, "x: .* forma", lambda: ef.lsh_buckets(draw(4), turns(1, 4, 4))),
        (TypeError, "rotations: .* coma", lambda: ef.lsh_buckets(draw(2, 4), draw(1, 4, 2).long())),
        (ValueError, "rotations: .* alguna ronda", lambda: ef.lsh_buckets(
            draw(2, 4), draw(0, 4, 2))),
        (ValueError, "n_queries: ", lambda: ef.lsh_mask(draw(3, 4), draw(2, 4), turns(1, 4, 4))),
        (ValueError, "value: ", lambda: ef.lsh_attention(
            draw(2, 4), draw(2, 4), draw(3, 4), turns(1, 4, 4))),
        (ValueError, "scale: ", lambda: ef.lsh_attention(
            *[draw(2, 4)] * 3, turns(1, 4, 4), scale=0.0)),
        (TypeError, "keys: ", lambda: ef.lsh_attention(
            *[draw(2, 4)] * 3, turns(1, 4, 4), keys=torch.ones(2))),
        (ValueError, "rotations: ", lambda: ef.lsh_attention(*[draw(2, 4)] * 3, draw(1, 3, 2))),
        (ValueError, "chunk: ", lambda: ef.lsh_attention(
            *[draw(2, 4)] * 3, turns(1, 4, 4), chunk=0)),
    ],
)  # fmt: skip
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
