"""Lo común de las pruebas de la biblioteca y de los dibujos: semilla, dispositivos y formas."""

import pytest
import torch
from hypothesis import HealthCheck, settings

from atento import rng, shapes

settings.register_profile(
    "atento",
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("atento")

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.fixture(autouse=True)
def _seeded():
    """Cada prueba empieza con la misma semilla y con la comprobación apagada."""
    shapes.disable()
    rng.seed_all(0)
    yield
    shapes.disable()


@pytest.fixture(params=DEVICES)
def device(request):
    return torch.device(request.param)


@pytest.fixture(params=[False, True], ids=["sin-formas", "con-formas"])
def shape_checks(request):
    with shapes.checked(request.param):
        yield request.param
