"""FAVOR+: en promedio, la exponencial; y cuánto se aparta de ella."""

import math

import pytest
import torch

from atento import efficient as ef
from atento import rng
from atento.attention import MultiHeadAttention, scaled_dot_product_attention

F64 = torch.float64


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=rng.generator(seed), dtype=F64)


def close(a, b, tolerance=1e-9):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


def estimates(x, y, times, features, orthogonal, seed=0):
    """Muchas estimaciones de exp(x · y), cada una con sus direcciones."""
    dice, found = rng.generator(seed), []
    for _ in range(times):
        w = ef.draw_directions(features, len(x), orthogonal=orthogonal, generator=dice).double()
        a, b = ef.positive_features(torch.stack([x, y]), w)
        found.append(a @ b)
    return torch.stack(found)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_unbiased(orthogonal):
    """La media de 1500 se aparta de exp(x · y) menos de cinco errores típicos."""
    x, y = 0.4 * draw(4), 0.4 * draw(4, seed=1)
    found = estimates(x, y, 1500, 8, orthogonal)
    wanted = math.exp(x @ y)
    error = found.std().item() / math.sqrt(len(found))
    assert abs(found.mean().item() - wanted) < 5 * error < 0.15 * wanted


def test_its_variance_is_the_closed_one_and_orthogonal_varies_less():
    """Var = exp(‖x + y‖²) · exp(2 x · y) · (1 − exp(−‖x + y‖²)) / features, si son independientes.

    Choromanski et al. (2021), lema 2.
    """
    x, y = 0.4 * draw(4), 0.4 * draw(4, seed=1)
    size = (x + y).square().sum().item()
    wanted = math.exp(size + 2 * (x @ y).item()) * (1 - math.exp(-size)) / 8
    free, square = (estimates(x, y, 1500, 8, orthogonal).var().item() for orthogonal in (0, 1))
    assert abs(free / wanted - 1) < 0.25
    assert square < 0.9 * free


def test_directions():
    w = ef.draw_directions(10, 4, generator=rng.generator(0)).double()
    for group in w.split(4):
        gram = group @ group.T
        close(gram, torch.diag(gram.diagonal()), 1e-5)
    many = torch.cat(
        [ef.draw_directions(4, 4, generator=rng.generator(seed)) for seed in range(1500)]
    )
    close(many.mean(0), torch.zeros(4), 5 / math.sqrt(6000))
    close(many.T @ many / len(many), torch.eye(4), 0.1)
    squares = many.square().sum(-1)  # chi cuadrado con 4 grados: media 4 y varianza 8
    assert abs(squares.mean() - 4) < 5 * math.sqrt(8 / 6000)


def test_more_features_come_closer_to_exact_attention():
    layer = MultiHeadAttention(16, 2).double()
    x = draw(1, 20, 16) / 2
    exact = layer(x)[0]
    errors = []
    for features in (8, 128, 2048):
        options = {"features": features, "generator": rng.generator(4)}
        found = ef.with_attention(layer, ef.PerformerAttention, **options)(x)[0]
        errors.append((found - exact).norm().item())
    assert errors[0] > 2 * errors[1] > 4 * errors[2]  # con 16 veces más, la cuarta parte


def test_by_hand():
    """x = (1, 0), ω = (2, 0) y (0, 1): exp(2 − ½) / √2 y exp(0 − ½) / √2."""
    x = torch.tensor([[1.0, 0.0]], dtype=F64)
    w = torch.tensor([[2.0, 0.0], [0.0, 1.0]], dtype=F64)
    wanted = torch.tensor([[math.exp(1.5), math.exp(-0.5)]], dtype=F64) / math.sqrt(2)
    close(ef.positive_features(x, w), wanted)


def test_what_is_subtracted_goes_away():
    """Los rasgos de la capa, divididos entre su mayor, dan la misma atención que sin dividir."""
    rng.seed_all(0)
    layer = ef.PerformerAttention(8, 2, features=6).double()
    query, key, value = draw(2, 5, 4), draw(2, 5, 4, seed=1), draw(2, 5, 4, seed=2)
    root = 4**-0.25
    plain = [ef.positive_features(x * root, layer.directions) for x in (query, key)]
    for causal in (False, True):
        ours = ef.linear_attention(*layer.features(query, key), value, causal=causal)
        close(ours, ef.linear_attention(*plain, value, causal=causal))
    huge = layer.features(30 * query, 30 * key)
    assert all(x.isfinite().all() and x.max() <= 1 for x in huge)
    exact = scaled_dot_product_attention(query, key, value)[0]
    assert not torch.allclose(ef.linear_attention(*plain, value), exact)  # es una estimación


def test_redraw():
    layer = ef.PerformerAttention(8, 2, features=6, generator=rng.generator(1))
    before = layer.directions.clone()
    layer.redraw(rng.generator(2))
    assert layer.directions.shape == (6, 4) and not torch.equal(before, layer.directions)
    layer.redraw(rng.generator(1))
    assert torch.equal(layer.directions, before)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "features: ", lambda: ef.PerformerAttention(8, 2, features=0)),
        (ValueError, "d_head: ", lambda: ef.draw_directions(2, 0)),
        (ValueError, "directions: ", lambda: ef.positive_features(draw(2, 4), draw(4))),
        (ValueError, "directions: ", lambda: ef.positive_features(draw(2, 4), draw(2, 3))),
        (TypeError, "directions: ", lambda: ef.positive_features(draw(2, 4), draw(2, 4).float())),
        (ValueError, "features: .* mayor o igual que 1", lambda: ef.draw_directions(0, 4)),
        (ValueError, "x: .* forma", lambda: ef.positive_features(draw(4), draw(2, 4))),
        (TypeError, "directions: .* coma flotante", lambda: ef.positive_features(
            draw(2, 4), draw(2, 4).long())),
    ],
)  # fmt: skip
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
