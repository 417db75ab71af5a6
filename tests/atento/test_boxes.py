"""Cajas: IoU y GIoU contra la cuenta por píxeles y sus cotas, y el emparejamiento, contra todos."""

from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento.boxes import Match, area, giou, iou, match, to_center, to_corners

F64 = torch.float64


@st.composite
def boxes(draw, least=1, most=4, side=8):
    """Cajas de esquinas enteras dentro de una cuadrícula; alguna puede no tener área."""
    rows = []
    for _ in range(draw(st.integers(least, most))):
        xs = sorted(draw(st.tuples(st.integers(0, side), st.integers(0, side))))
        ys = sorted(draw(st.tuples(st.integers(0, side), st.integers(0, side))))
        rows.append([xs[0], ys[0], xs[1], ys[1]])
    return torch.tensor(rows, dtype=F64)


def pixels(box, side=8):
    """Las celdas enteras que cubre una caja."""
    x0, y0, x1, y1 = (int(v) for v in box)
    return {(x, y) for x in range(x0, x1) for y in range(y0, y1)}


def hull(a, b):
    both = torch.stack([a, b])
    return torch.cat([both[:, :2].amin(0), both[:, 2:].amax(0)])


@given(a=boxes(), b=boxes())
def test_overlaps_equal_counting_pixels(a, b):
    one, two = iou(a, b), giou(a, b)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            shared, union = pixels(x) & pixels(y), pixels(x) | pixels(y)
            expected = len(shared) / len(union) if union else 0.0
            assert one[i, j].item() == pytest.approx(expected, abs=1e-12)
            around = len(pixels(hull(x, y)))
            gap = (around - len(union)) / around if around else 0.0
            assert two[i, j].item() == pytest.approx(expected - gap, abs=1e-12)
    assert area(a).tolist() == [len(pixels(x)) for x in a]


@given(a=boxes(), b=boxes(), scale=st.floats(0.1, 10), x=st.floats(-5, 5), y=st.floats(-5, 5))
def test_bounds_and_what_does_not_change_them(a, b, scale, x, y):
    one, two = iou(a, b), giou(a, b)
    assert (one >= 0).all() and (one <= 1).all()
    assert (two >= -1).all() and (two <= one + 1e-12).all()
    assert (giou(a[area(a) > 0], b) > -1).all()  # solo la alcanzan dos cajas sin área
    shift = torch.tensor([x, y, x, y], dtype=F64)
    mirrored = a[:, [1, 0, 3, 2]], b[:, [1, 0, 3, 2]]
    for measure, value in ((iou, one), (giou, two)):
        torch.testing.assert_close(
            measure(a * scale + shift, b * scale + shift), value, atol=1e-9, rtol=0
        )
        torch.testing.assert_close(measure(*mirrored), value)
        torch.testing.assert_close(measure(b, a).T, value)
    solid = a[area(a) > 0]
    assert torch.equal(iou(solid, solid).diagonal(), torch.ones(len(solid), dtype=F64))
    torch.testing.assert_close(giou(solid, solid).diagonal(), torch.ones(len(solid), dtype=F64))


def test_far_apart_only_giou_tells_near_from_far():
    here = torch.tensor([[0.0, 0.0, 1.0, 1.0]], requires_grad=True)
    away = torch.tensor([[2.0, 0.0, 3.0, 1.0], [7.0, 0.0, 8.0, 1.0]])
    assert iou(here, away).tolist() == [[0.0, 0.0]]
    near, far = giou(here, away)[0]
    assert near.item() == pytest.approx(-1 / 3) and far.item() == pytest.approx(-6 / 8)
    (flat,) = torch.autograd.grad(iou(here, away).sum(), here)
    (slope,) = torch.autograd.grad(giou(here, away).sum(), here)
    assert (flat == 0).all() and slope[0, 2] > 0  # alargarla hacia ellas mejora


@given(a=boxes(most=3))
def test_both_ways_of_saying_a_box(a):
    torch.testing.assert_close(to_corners(to_center(a)), a)
    assert to_center(torch.tensor([[0.0, 2.0, 4.0, 8.0]])).tolist() == [[2.0, 5.0, 4.0, 6.0]]


@given(n=st.integers(1, 5), m=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_matching_equals_trying_them_all(n, m, seed):
    cost = torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=F64)
    rows, columns = match(cost)
    assert len(rows) == min(n, m) == len(set(rows.tolist())) == len(set(columns.tolist()))
    wide = cost if n <= m else cost.T
    every = (
        sum(wide[i, j].item() for i, j in enumerate(chosen))
        for chosen in permutations(range(wide.shape[1]), wide.shape[0])
    )
    assert cost[rows, columns].sum().item() == pytest.approx(min(every), abs=1e-9)


def test_the_nearest_for_each_is_not_the_best_for_all():
    """La primera fila prefiere la columna que la segunda necesita."""
    cost = torch.tensor([[1.0, 2.0], [1.5, 9.0]])
    found = match(cost)
    assert isinstance(found, Match) and found.columns.tolist() == [1, 0]
    assert match(torch.zeros(3, 0)).rows.tolist() == []


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, r"boxes: se esperaba la forma \(…, 4\)", lambda: area(torch.ones(3, 2))),
        (TypeError, "boxes: ", lambda: to_center(torch.ones(3, 4, dtype=torch.long))),
        (
            ValueError,
            "a: .* to_corners",
            lambda: iou(torch.tensor([[2.0, 0, 1, 1]]), torch.ones(1, 4)),
        ),
        (ValueError, "b: se esperaba la forma", lambda: giou(torch.ones(1, 4), torch.ones(4))),
        (TypeError, "b: ", lambda: iou(torch.ones(1, 4), torch.ones(1, 4, dtype=F64))),
        (ValueError, r"cost: se esperaba la forma \(n, m\)", lambda: match(torch.ones(2))),
        (ValueError, "cost: .* NaN", lambda: match(torch.full((2, 2), float("nan")))),
        (ValueError, "boxes: se esperaba la forma", lambda: area(torch.tensor(1.0))),
        (ValueError, "boxes: .* to_corners", lambda: area(torch.tensor([2.0, 0, 1, 1]))),
        (ValueError, "b: .* to_corners", lambda: iou(torch.ones(1, 4), -torch.arange(4.0)[None])),
        (ValueError, r"a: se esperaba la forma \(a, 4\)", lambda: iou(*[torch.ones(1, 1, 4)] * 2)),
        (TypeError, "cost: ", lambda: match(torch.ones(2, 2, dtype=torch.long))),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
