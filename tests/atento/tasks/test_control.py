"""El carro y el palo: su física por otro camino, el que sabe, y quién se cae."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from torch import nn

from atento.tasks import control as task

STATE = st.tuples(*(st.floats(-x, x) for x in (2.0, 2.0, 1.0, 2.0)))


def exact(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def masses(state, action):
    """Las dos ecuaciones de Lagrange, resueltas a la vez: un sistema de 2 × 2."""
    _, _, angle, spin = state
    total, m, half = task.CART + task.POLE, task.POLE, task.HALF
    matrix = [[total, m * half * np.cos(angle)], [m * half * np.cos(angle), 4 / 3 * m * half**2]]
    push = task.FORCE * action + m * half * spin**2 * np.sin(angle)
    return np.linalg.solve(matrix, [push, m * task.GRAVITY * half * np.sin(angle)])


@given(state=STATE, action=st.floats(-1, 1))
def test_the_accelerations_are_those_of_lagrange(state, action):
    found = task.accelerations(exact(state), exact(action))
    np.testing.assert_allclose([x.item() for x in found], masses(state, action), atol=1e-9)


def test_a_step_follows_the_motion():
    """Con pasos más cortos, el camino es el de un integrador de verdad; sin empujar, no hay energía
    nueva."""
    start = [0.1, -0.2, 0.05, 0.3]

    def slope(_, y):
        return [y[1], masses(y, 0.4)[0], y[3], masses(y, 0.4)[1]]

    goal = solve_ivp(slope, (0, 0.1), start, rtol=1e-10, atol=1e-12).y[:, -1]
    errors = []
    for parts in (5, 10):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(task, "TICK", 0.1 / parts)
            state = exact(start)
            for _ in range(parts):
                state = task.advance(state, exact(0.4))
        errors.append(np.abs(state.numpy() - goal).max())
    assert errors[0] < 0.05 and errors[1] == pytest.approx(errors[0] / 2, rel=0.1)  # orden 1


def test_alone_it_falls_and_the_expert_holds_it():
    rest = torch.zeros(4, dtype=torch.float64)
    no = torch.zeros((), dtype=torch.float64)
    a, b = torch.autograd.functional.jacobian(task.advance, (rest, no))
    gain = torch.tensor(task.gain(), dtype=torch.float64)
    assert torch.linalg.eigvals(a).abs().max() > 1.02
    assert torch.linalg.eigvals(a - b[:, None] * gain).abs().max() < 1
    cost = np.linalg.norm  # ninguna ganancia cercana gasta menos

    def spent(k):
        state, total = torch.tensor([0.1, 0, 0.02, 0]).double(), 0.0
        for _ in range(1500):
            action = -(k * state).sum()
            total += cost(state) ** 2 + action.item() ** 2
            state = a @ state + b * action
        return total

    least = spent(gain)
    for i in range(4):
        for factor in (0.95, 1.05):
            other = gain.clone()
            other[i] *= factor
            assert spent(other) > least


def test_the_examples_are_of_the_expert():
    states, actions = task.generate(40, 0, steps=30)
    assert states.shape == (40, 30, 4) and actions.shape == (40, 30)
    assert torch.equal(actions, task.expert(states)) and actions.abs().max() <= 1
    assert (states[:, 0].abs() <= torch.tensor(task.START)).all()
    assert torch.equal(states, task.generate(40, 0, steps=30).states)
    assert not torch.equal(states, task.generate(40, 1, steps=30).states)
    calm = task.generate(5, 0, steps=30, noise=0.0)
    follow = task.advance(calm.states[:, :-1], calm.actions[:, :-1])
    torch.testing.assert_close(follow, calm.states[:, 1:])
    shaken = task.advance(states[:, :-1], actions[:, :-1])
    assert (shaken - states[:, 1:])[..., 1].std() > 0.02
    assert task.standing(states).float().mean() > 0.95


def test_scores():
    sure = task.score(lambda seen, done: task.expert(seen[:, -1]), 50, 3, steps=100)
    assert sure["survived"] == 1 and sure["steps"] == 100 and sure["n"] == 50
    still = task.score(lambda seen, done: torch.zeros(len(seen)), 50, 3, steps=100)
    assert still["survived"] == 0 and still["steps"] == still["each"].float().mean() < 50


class Watched(nn.Module):
    """Apunta lo que le llega."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def forward(self, states, actions):
        assert not self.training and not torch.is_grad_enabled()
        self.calls.append((states.clone(), actions.clone()))
        return 0.1 * torch.ones(len(states))


def test_a_policy_sees_what_happened():
    net = Watched()
    found = task.score(net, 3, 5, steps=6)
    assert net.training
    for t, (states, actions) in enumerate(net.calls):
        assert states.shape == (3, t + 1, 4) and actions.shape == (3, t)
    states, actions = net.calls[-1]
    assert (actions == 0.1).all()
    up = found["each"] == 6
    assert up.any()
    torch.testing.assert_close(task.advance(states[up, :-1], actions[up]), states[up, 1:])


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, r"states: .*\(…, 4\)", lambda: task.expert(torch.ones(3))),
        (TypeError, "states: ", lambda: task.standing([0.0] * 4)),
        (
            ValueError,
            "actions: .*por estado",
            lambda: task.advance(torch.ones(2, 4), torch.ones(1)),
        ),
        (ValueError, "n: ", lambda: task.generate(-1, 0)),
        (ValueError, "steps: ", lambda: task.generate(1, 0, steps=0)),
        (ValueError, "noise: ", lambda: task.generate(1, 0, noise=-1.0)),
        (TypeError, "rng: ", lambda: task.generate(1, "x")),
        (TypeError, "policy: ", lambda: task.score(3, 1, 0)),
        (
            ValueError,
            r"policy: .*\(2,\)",
            lambda: task.score(lambda s, a: torch.ones(2, 1), 2, 0),
        ),
        (TypeError, "states: ", lambda: task.advance(torch.ones(2, 4).int(), torch.ones(2))),
        (ValueError, "states: ", lambda: task.expert(torch.tensor(1.0))),
        (TypeError, "actions: ", lambda: task.advance(torch.ones(2, 4), torch.ones(2).int())),
        (TypeError, "noise: se esperaba un número", lambda: task.generate(1, 0, noise="1")),
        (ValueError, "n: ", lambda: task.score(len, 0, 0)),
        (TypeError, "rng: ", lambda: task.score(len, 1, True)),
        (ValueError, "steps: ", lambda: task.score(len, 1, 0, steps=0)),
        (TypeError, "policy: .*tensor", lambda: task.score(lambda s, a: [0.0], 1, 0)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert task.expert(torch.ones(4)).shape == ()
    assert len(task.generate(0, 0, steps=1).states) == 0
    assert task.generate(1, 0, steps=1, noise=0.0).actions.shape == (1, 1)
    assert task.score(lambda s, a: s[:, 0, 0], 1, 0, steps=1)["each"].shape == (1,)
