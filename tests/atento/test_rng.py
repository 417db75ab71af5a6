import random

import numpy as np
import pytest
import torch

from atento import rng


def draws():
    return random.random(), float(np.random.rand()), torch.rand(3).tolist()


def test_same_seed_same_numbers():
    rng.seed_all(7)
    first = draws()
    rng.seed_all(7)
    assert draws() == first
    rng.seed_all(8)
    assert draws() != first


def test_seed_all_returns_a_seeded_generator():
    one, other = rng.seed_all(3), rng.generator(3)
    assert torch.equal(torch.rand(4, generator=one), torch.rand(4, generator=other))


def test_generator_leaves_the_global_state_alone():
    rng.seed_all(1)
    expected = draws()
    rng.seed_all(1)
    torch.rand(10, generator=rng.generator(99))
    assert draws() == expected


def test_generator_on_device(device):
    assert rng.generator(0, device=device).device.type == device.type


def test_numpy_integers_are_integers():
    assert rng.generator(np.int64(5)).initial_seed() == 5


@pytest.mark.parametrize("function", [rng.seed_all, rng.generator])
@pytest.mark.parametrize(
    ("seed", "kind"),
    [(1.0, TypeError), ("1", TypeError), (True, TypeError), (None, TypeError)]
    + [(-1, ValueError), (2**32, ValueError)],
)
def test_bad_seed(function, seed, kind):
    with pytest.raises(kind, match="seed: se esperaba un entero"):
        function(seed)


def test_snapshot_brings_back_every_generator(tmp_path):
    rng.seed_all(3)
    random.random(), np.random.randn(), torch.randn(2)  # con la normal de NumPy a medias
    path = tmp_path / "azar.pt"
    torch.save(rng.snapshot(), path)
    first = random.random(), random.gauss(0, 1), np.random.randn(3).tolist(), torch.rand(3).tolist()
    rng.seed_all(99)
    rng.restore(torch.load(path, weights_only=True))
    again = random.random(), random.gauss(0, 1), np.random.randn(3).tolist(), torch.rand(3).tolist()
    assert again == first
