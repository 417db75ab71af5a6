"""La caché de claves y valores: crece solo cuando todo va bien, y rechaza lo que no casa.

Que generar con ella da lo mismo que sin ella, con todas las variantes, está en test_extensions.
"""

import pytest
import torch

from atento import masks
from atento.attention import MultiHeadAttention
from atento.cache import KVCache


def close(ours, theirs, tolerance):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def test_cache_keeps_gradients_and_can_be_reset():
    module, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8, requires_grad=True)
    cache = KVCache()
    for i in range(3):
        output, _ = module(x[:, i : i + 1], cache=cache)
    whole, _ = module(x, mask=masks.causal_mask(3))
    ours, theirs = (torch.autograd.grad(y.square().sum(), x) for y in (output, whole[:, -1:]))
    close(ours[0], theirs[0], 1e-5)
    cache.reset()
    assert len(cache) == 0 and cache.key is None and cache.value is None


def test_cache_with_padding():
    module, x = MultiHeadAttention(8, 2), torch.randn(2, 4, 8)
    mask = masks.padding_mask(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))
    cache = KVCache()
    module(x[:, :3], mask=mask[..., :3], cache=cache)
    output, weights = module(x[:, 3:], mask=mask, cache=cache, need_weights=True)
    assert output.shape == (2, 1, 8) and weights.shape == (2, 2, 1, 4)
    assert (weights[0, ..., 0] == 0).all() and (weights[1, ..., 0] > 0).all()


def test_cache_errors_leave_the_cache_as_it_was():
    module, cache = MultiHeadAttention(8, 2), KVCache()
    module(torch.randn(2, 3, 8), cache=cache)
    with pytest.raises(ValueError, match="cache: guarda key de forma"):
        module(torch.randn(1, 1, 8), cache=cache)
    with pytest.raises(ValueError, match=r"mask: .*= \(2, 2, 1, 4\); llegó \(1, 1, 1, 3\)"):
        module(torch.randn(2, 1, 8), mask=torch.ones(1, 1, 1, 3).bool(), cache=cache)
    with pytest.raises(TypeError, match="cache: se esperaba un KVCache; llegó dict"):
        module(torch.randn(2, 1, 8), cache={})
    with pytest.raises(TypeError, match="key .*float32.*float64"):
        cache.append(
            torch.randn(2, 2, 1, 4, dtype=torch.float64),
            torch.randn(2, 2, 1, 4, dtype=torch.float64),
        )
    assert len(cache) == 3 and cache.value.shape == (2, 2, 3, 4)


def test_joined_does_not_store_until_told():
    cache, new = KVCache(), torch.randn(1, 2, 3, 4)
    key, value = cache.joined(new, 2 * new)
    assert len(cache) == 0 and torch.equal(key, new) and torch.equal(value, 2 * new)
    cache.store(key, value)
    key, value = cache.append(new[..., :1, :], new[..., :1, :])
    assert len(cache) == 4 and torch.equal(key[..., :3, :], new) and cache.value is value
    with pytest.raises(TypeError, match=r"key \(nuevo\): se esperaba un tensor"):
        cache.append([1.0], new)
