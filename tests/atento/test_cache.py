"""La caché de claves y valores: crece solo cuando todo va bien, y rechaza lo que no casa.

Que generar con ella da lo mismo que sin ella, con todas las variantes, está en
test_attention_extensions.
"""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import masks
from atento.attention import MultiHeadAttention
from atento.cache import KVCache, places


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


def test_places_are_the_given_ones_or_follow_the_cache():
    x, given_ones = torch.randn(1, 2, 8), torch.tensor([[7, 3, 5, 1, 9]])
    assert places(x, given_ones, [None] * 3) is given_ones
    assert places(x).tolist() == [0, 1]
    assert places(x, cache=[None] * 3).tolist() == [0, 1, 2, 3, 4]


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


# --- El sitio de sobra ----------------------------------------------------------------------------


def rows(n, seed=0, **options):
    return torch.randn(2, 3, n, 4, generator=torch.Generator().manual_seed(seed), **options)


@torch.no_grad()
def grown(sizes):
    """Una caché que ha crecido a trozos, y las claves que se le dieron."""
    cache, pieces = KVCache(), [rows(size, seed) for seed, size in enumerate(sizes)]
    for piece in pieces:
        cache.append(piece, -piece)
    return cache, torch.cat(pieces, dim=-2)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_growing_keeps_every_row(sizes):
    cache, keys = grown(sizes)
    assert torch.equal(cache.key, keys) and torch.equal(cache.value, -keys)


@torch.no_grad()
def test_adding_a_row_does_not_copy_the_others():
    cache, seen = KVCache(), set()
    for i in range(64):
        cache.append(rows(1, i), rows(1, i))
        seen.add(cache.key.data_ptr())
    assert len(seen) <= 7, "la tabla se dobla: de 1 a 64 filas, seis mudanzas como mucho"


@torch.no_grad()
def test_two_paths_from_the_same_state_do_not_touch_each_other():
    cache, keys = grown([3, 1, 1])
    before = cache.copy()
    one, two = rows(1, 10), rows(2, 11)
    first, other = cache.copy(), cache.copy()
    first.append(one, -one), other.append(two, -two), first.append(two, -two)
    cache.append(two[..., :1, :], one)
    assert torch.equal(before.key, keys) and len(before) == 5
    assert torch.equal(first.key, torch.cat([keys, one, two], dim=-2))
    assert torch.equal(other.key, torch.cat([keys, two], dim=-2))
    assert torch.equal(cache.value, torch.cat([-keys, one], dim=-2))


@torch.no_grad()
def test_what_joined_gave_never_changes():
    cache, keys = grown([2, 1])
    first, _ = cache.joined(rows(1, 5), rows(1, 5))
    second, _ = cache.joined(rows(1, 6), rows(1, 6))
    assert len(cache) == 3 and torch.equal(cache.key, keys)
    assert torch.equal(first, torch.cat([keys, rows(1, 5)], dim=-2))
    assert torch.equal(second, torch.cat([keys, rows(1, 6)], dim=-2))


@torch.no_grad()
def test_selected_rows_grow_by_themselves():
    cache, keys = grown([2, 1])
    order = torch.tensor([1, 1, 0])
    chosen, new = cache.select(order), rows(1, 7)[order]
    chosen.append(new, new)
    cache.append(rows(1, 8), rows(1, 8))
    assert torch.equal(chosen.key, torch.cat([keys[order], new], dim=-2))
    assert torch.equal(cache.key, torch.cat([keys, rows(1, 8)], dim=-2))
    chosen.append(new, -new), chosen.append(-new, new)  # la segunda vez, ya con sitio de sobra
    assert torch.equal(chosen.key, torch.cat([keys[order], new, new, -new], dim=-2))
    assert torch.equal(chosen.select(order).key, chosen.key[order])


@torch.no_grad()
def test_storing_other_tensors_leaves_the_room():
    cache, _ = grown([2, 1])
    mine = rows(3, 9)
    cache.store(mine, mine)
    key, _ = cache.append(rows(1, 10), rows(1, 10))
    assert torch.equal(key, torch.cat([mine, rows(1, 10)], dim=-2))
    cache.reset()
    cache.append(mine, mine)
    assert torch.equal(cache.key, mine)


def test_the_room_goes_with_its_mode():
    """Lo escrito en modo de inferencia se puede seguir fuera, con gradientes o sin ellos."""
    cache, keys = KVCache(), rows(2)
    with torch.inference_mode():
        cache.append(keys, keys)
        cache.append(rows(1, 1), rows(1, 1))
    with torch.no_grad():
        cache.append(rows(1, 2), rows(1, 2))
        cache.append(rows(1, 3), rows(1, 3))
    with torch.inference_mode():
        cache.append(rows(1, 4), rows(1, 4))
    new = rows(1, 5).requires_grad_()
    key, _ = cache.append(new, new)
    key.sum().backward()
    assert torch.equal(new.grad, torch.ones_like(new)) and len(cache) == 7
    expected = torch.cat([keys, *(rows(1, i) for i in range(1, 6))], dim=-2)
    assert torch.equal(cache.key.detach(), expected)


def test_gradients_survive_a_path_without_them():
    """Con gradientes no se escribe en el sitio: lo que el grafo guardó sigue siendo suyo."""
    module, x = MultiHeadAttention(8, 2), torch.randn(1, 4, 8, requires_grad=True)
    cache = KVCache()
    module(x[:, :2], mask=masks.causal_mask(2), cache=cache)
    output, _ = module(x[:, 2:3], cache=cache)
    with torch.no_grad():
        module(x[:, 3:], cache=cache.copy())
        module(x[:, 3:], cache=cache.copy())
    ours = torch.autograd.grad(output.square().sum(), x)[0]
    whole, _ = module(x[:, :3], mask=masks.causal_mask(3))
    close(ours, torch.autograd.grad(whole[:, -1:].square().sum(), x)[0], 1e-5)


@torch.no_grad()
def test_the_room_is_not_for_another_type_nor_for_mapped_tensors():
    cache, keys = grown([2, 1])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = rows(1, 4).bfloat16()
        key, _ = cache.copy().append(half, half)
    assert key.dtype == torch.float32
    close(key[..., 3:, :], half.float(), 0)
    many = torch.stack([rows(1, 5), rows(1, 6)])
    mapped = torch.func.vmap(lambda new: cache.joined(new, -new)[0])(many)
    for i in range(2):
        assert torch.equal(mapped[i], torch.cat([keys, many[i]], dim=-2))
    cache.key, cache.value = cache.key.to("meta"), cache.value.to("meta")
    assert cache.append(many[0].to("meta"), many[0].to("meta"))[0].shape == (2, 3, 4, 4)


@torch.no_grad()
def test_keys_and_values_come_in_pairs():
    cache, _ = grown([2, 1])
    with pytest.raises(ValueError, match=r"value \(nuevo\): el eje «key» mide 1.*debe medir 2"):
        cache.append(rows(2), rows(1))
    assert len(cache) == 3


@torch.no_grad()
def test_a_deep_copy_grows_alone():
    cache, keys = grown([2, 1])
    other = copy.deepcopy(cache)
    other.append(rows(1, 4), rows(1, 4)), cache.append(rows(1, 5), rows(1, 5))
    assert torch.equal(other.key, torch.cat([keys, rows(1, 4)], dim=-2))
    assert torch.equal(cache.key, torch.cat([keys, rows(1, 5)], dim=-2))
