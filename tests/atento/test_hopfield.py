"""La memoria de Hopfield: su paso es atención y es un descenso de su energía, y recuerda."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.hopfield import energy, recall, update

F64 = torch.float64


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=rng.generator(seed), dtype=F64)


def close(a, b, tolerance=1e-9):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


@given(
    n=st.integers(1, 4),
    m=st.integers(1, 6),
    d=st.integers(1, 5),
    beta=st.floats(0.05, 20),
    seed=st.integers(0, 10**6),
)
def test_a_step_is_the_gradient_and_never_climbs(n, m, d, beta, seed):
    states, patterns = draw(n, d, seed=seed), draw(m, d, seed=seed + 1)
    states.requires_grad_()
    before = energy(states, patterns, beta=beta)
    (slope,) = torch.autograd.grad(before.sum(), states)
    after = update(states.detach(), patterns, beta=beta)
    close(after, states.detach() - slope)
    assert (energy(after, patterns, beta=beta) <= before + 1e-9).all()
    weights = torch.softmax(beta * states.detach() @ patterns.T, dim=-1)
    close(after, weights @ patterns)


@given(m=st.integers(1, 6), d=st.integers(1, 5), beta=st.floats(0.1, 20), seed=st.integers(0, 99))
def test_bounds_of_the_energy(m, d, beta, seed):
    """Dentro de la envolvente de los patrones está entre 0 y 2 M²."""
    patterns = draw(m, d, seed=seed)
    inside = torch.softmax(draw(5, m, seed=seed + 7), dim=-1) @ patterns
    e = energy(inside, patterns, beta=beta)
    largest = patterns.square().sum(-1).max()
    assert (e >= -1e-9).all() and (e <= 2 * largest + 1e-9).all()


def test_it_remembers_a_broken_pattern_in_one_step():
    patterns = torch.nn.functional.normalize(draw(20, 64), dim=-1)
    broken = patterns + 0.05 * draw(20, 64, seed=1)
    once = update(broken, patterns, beta=64.0)
    close(once, patterns, 1e-4)
    vague = update(broken, patterns, beta=0.1)
    assert (vague - patterns.mean(0)).norm(dim=-1).max() < 0.1  # todo se mezcla


def test_recall_stops_where_nothing_moves():
    patterns = draw(4, 6)
    found = recall(draw(3, 6, seed=2), patterns, beta=1.0, steps=500)
    assert found.settled and len(found.states) == len(found.energies) < 501
    close(update(found.states[-1], patterns, beta=1.0), found.states[-1])
    assert (found.energies.diff(dim=0) <= 1e-12).all()
    short = recall(draw(3, 6, seed=2), patterns, beta=1.0, steps=1)
    assert not short.settled and len(short.states) == 2


def test_the_popular_formula_has_not_the_patterns_as_fixed_points():
    """Con la misma W para puntuar y para el valor, los patrones guardados no se quedan quietos."""
    patterns = torch.nn.functional.normalize(draw(20, 64), dim=-1)
    w = draw(64, 64, seed=3) / 8
    popular = torch.softmax(64 * patterns @ w @ patterns.T, dim=-1) @ patterns @ w
    alike = torch.cosine_similarity
    assert alike(popular, patterns, dim=-1).abs().mean() < 0.5
    assert alike(update(patterns, patterns, beta=64.0), patterns, dim=-1).min() > 0.999


def test_a_batch_of_memories():
    states, patterns = draw(2, 3, 4), draw(2, 5, 4, seed=1)
    whole = update(states, patterns, beta=2.0)
    close(whole[1], update(states[1], patterns[1], beta=2.0))
    assert energy(states, patterns, beta=2.0).shape == (2, 3)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "beta: ", lambda: update(draw(1, 2), draw(3, 2), beta=0.0)),
        (TypeError, "beta: ", lambda: energy(draw(1, 2), draw(3, 2), beta="1")),
        (ValueError, "states: ", lambda: update(draw(2), draw(3, 2), beta=1.0)),
        (ValueError, "patterns: ", lambda: update(draw(1, 2), draw(3, 4), beta=1.0)),
        (ValueError, "patterns: .*lote", lambda: update(draw(2, 1, 2), draw(3, 2), beta=1.0)),
        (ValueError, "patterns: .*vacíos", lambda: update(draw(1, 2), draw(0, 2), beta=1.0)),
        (ValueError, "steps: ", lambda: recall(draw(1, 2), draw(3, 2), beta=1.0, steps=0)),
        (
            ValueError,
            "tolerance: ",
            lambda: recall(draw(1, 2), draw(3, 2), beta=1.0, tolerance=0.0),
        ),
        (TypeError, "states: ", lambda: update(draw(1, 2).long(), draw(3, 2), beta=1.0)),
        (TypeError, "patterns: ", lambda: update(draw(1, 2), draw(3, 2).float(), beta=1.0)),
        (ValueError, "states: ", lambda: recall(draw(2), draw(3, 2), beta=1.0)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
