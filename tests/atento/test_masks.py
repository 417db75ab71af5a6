import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from atento import masks


@given(st.integers(0, 12))
def test_causal_mask_allows_the_past_and_the_present(n):
    mask = masks.causal_mask(n)
    assert mask.dtype == torch.bool and mask.shape == (n, n)
    assert all(bool(mask[i, j]) == (j <= i) for i in range(n) for j in range(n))


def test_causal_mask_on_device(device):
    assert masks.causal_mask(3, device=device).device.type == device.type


@pytest.mark.parametrize(("n", "kind"), [(-1, ValueError), (2.0, TypeError), (None, TypeError)])
def test_causal_mask_bad_size(n, kind):
    with pytest.raises(kind, match="n: se esperaba un entero"):
        masks.causal_mask(n)


def test_causal_mask_agrees_with_pytorch():
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    ours = F.scaled_dot_product_attention(x, x, x, attn_mask=masks.causal_mask(5))
    theirs = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_padding_mask_has_axes_for_head_and_query(shape_checks):
    ids = torch.tensor([[5, 3, 0], [4, 0, 0]])
    mask = masks.padding_mask(ids)
    assert mask.shape == (2, 1, 1, 3)
    assert mask.squeeze().tolist() == [[True, True, False], [True, False, False]]
    assert masks.padding_mask(ids, pad_id=3)[0].flatten().tolist() == [True, False, True]
    assert masks.padding_mask(ids)[:, 0].shape == (2, 1, 3)


@pytest.mark.parametrize(
    ("ids", "pad_id", "kind", "name"),
    [
        (torch.ones(2, 3), 0, TypeError, "ids"),
        (torch.ones(2, 3).bool(), 0, TypeError, "ids"),
        ([[1, 0]], 0, TypeError, "ids"),
        (torch.ones(3).long(), 0, ValueError, "ids"),
        (torch.ones(2, 3).long(), 0.0, TypeError, "pad_id"),
        (torch.ones(2, 3).long(), None, TypeError, "pad_id"),
    ],
)
def test_padding_mask_bad_input(shape_checks, ids, pad_id, kind, name):
    with pytest.raises(kind, match=f"^{name}: se esperaba"):
        masks.padding_mask(ids, pad_id)


def test_combine_is_a_broadcast_and():
    ids = torch.tensor([[5, 3, 0], [4, 0, 0]])
    both = masks.combine(None, masks.padding_mask(ids), masks.causal_mask(3))
    assert both.shape == (2, 1, 3, 3)
    expected = [[i >= j and bool(ids[0, j]) for j in range(3)] for i in range(3)]
    assert both[0, 0].tolist() == expected


def test_combine_of_nothing_is_no_mask():
    assert masks.combine() is None and masks.combine(None, None) is None
    mask = masks.causal_mask(2)
    assert torch.equal(masks.combine(mask), mask)


@given(st.permutations(range(3)))
def test_combine_does_not_depend_on_the_order(order):
    parts = [masks.causal_mask(4), torch.rand(2, 1, 1, 4) > 0.5, torch.rand(4, 4) > 0.5]
    assert torch.equal(masks.combine(*parts), masks.combine(*(parts[i] for i in order)))


def test_combine_bad_input():
    good = masks.causal_mask(3)
    with pytest.raises(TypeError, match=r"masks\[1\]: se esperaba una máscara booleana.*float32"):
        masks.combine(good, good.float())
    with pytest.raises(ValueError, match=r"masks\[1\]: su forma \(4, 4\) no se difunde.*\(3, 3\)"):
        masks.combine(good, masks.causal_mask(4))


def test_new_rows_are_the_last_of_the_causal_mask():
    for n, seen in ((1, 0), (5, 0), (5, 3), (5, 4)):
        rows = masks.new_rows(n, seen)
        expected = masks.causal_mask(n)[seen:]
        if seen == n - 1:
            assert rows is None and expected.all()
        else:
            assert torch.equal(rows, expected)
