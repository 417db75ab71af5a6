"""Escenas: las cuatro maneras de decir lo que hay coinciden, y nada se toca ni se repite."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento.boxes import iou
from atento.tasks import digits, scenes
from atento.tasks.scenes import BACKGROUND, SIDE, Scene


@given(seed=st.integers(0, 10**6), split=st.sampled_from(["train", "validation", "test"]))
def test_boxes_hug_the_pixels_and_do_not_touch(seed, split):
    for scene in scenes.generate(3, seed, split=split):
        assert 1 <= len(scene.labels) <= scenes.MOST
        assert len(scene.masks) == len(scene.labels) == len(scene.boxes)
        for mask, box in zip(scene.masks, scene.boxes, strict=True):
            rows, columns = mask.any(1).nonzero(), mask.any(0).nonzero()
            hug = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            assert (box * SIDE).round().int().tolist() == [int(x) for x in hug]
        shared = iou(scene.boxes, scene.boxes) - torch.eye(len(scene.boxes))
        assert shared.abs().max() < 1e-6
        assert (scene.masks.sum(0) <= 1).all()


@given(seed=st.integers(0, 10**6))
def test_the_maps_agree(seed):
    (scene,) = scenes.generate(1, seed)
    ids, classes = scene.panoptic
    assert classes.tolist() == [BACKGROUND, *scene.labels.tolist()]
    assert torch.equal((ids > 0), scene.masks.any(0))
    for i, label in enumerate(scene.labels.tolist()):
        assert torch.equal(ids == i + 1, scene.masks[i])
        assert (scene.semantic[scene.masks[i]] == label).all()
    assert torch.equal(scene.semantic == BACKGROUND, ids == 0)
    labels, boxes, masks = scene.parts
    assert torch.equal(labels, classes)
    assert torch.equal((masks.int() * torch.arange(len(labels))[:, None, None]).sum(0), ids)
    assert (masks.sum(0) == 1).all()  # cada píxel es de un trozo y solo de uno
    assert boxes[0].tolist() == [0, 0, 1, 1] and torch.equal(boxes[1:], scene.boxes)
    assert torch.equal(scene.ids > 0, scene.image >= scenes.VISIBLE)
    assert scene.image.min() == 0 and scene.image.max() <= 1


def test_the_seed_decides_and_counts_are_obeyed():
    one, same, other = (scenes.generate(5, seed) for seed in (1, 1, 2))
    assert all(torch.equal(a.image, b.image) for a, b in zip(one, same, strict=True))
    assert not all(torch.equal(a.image, b.image) for a, b in zip(one, other, strict=True))
    assert {len(s.labels) for s in scenes.generate(60, 0)} == {1, 2, 3, 4}
    assert {len(s.labels) for s in scenes.generate(20, 0, counts=[2, 4])} == {2, 4}
    assert {len(s.labels) for s in scenes.generate(5, 0, counts=3)} == {3}


def test_every_digit_and_every_corner():
    many = scenes.generate(400, 3)
    labels = torch.cat([s.labels for s in many])
    assert labels.unique().tolist() == list(range(10))
    assert (torch.bincount(labels) / len(labels)).sub(0.1).abs().max() < 0.04
    inked = torch.stack([s.ids > 0 for s in many]).float().mean(0)
    assert inked[2:-2, 2:-2].min() > 0
    sides = torch.cat([(s.boxes[:, 3] - s.boxes[:, 1]) * SIDE for s in many])
    found = set(sides.round().int().tolist())  # casi todos llenan su alto
    assert {*scenes.SIZES} <= found and max(found) == max(scenes.SIZES)


def test_the_test_has_digits_never_seen():
    """Cada trozo de escena, devuelto a su dígito: los de prueba son de la otra parte."""
    ink = digits.load().images
    parts = {name: set(digits.places(name).tolist()) for name in ("train", "test")}
    for split, own in parts.items():
        stamps = scenes._stamps(split)
        assert len(stamps) == len(own)
        labels = [row[0].label for row in stamps]
        assert labels == digits.load().labels[sorted(own)].tolist()
        whole = scenes._cut(scenes._grown(ink[min(own)][None], 10)[0], 0)
        assert torch.equal(whole.ink, stamps[0][0].ink)
    assert not parts["train"] & parts["test"]


def test_a_batch_is_what_a_detector_reads():
    some = scenes.generate(4, 9)
    images, targets = scenes.batch(some)
    assert images.shape == (4, 1, SIDE, SIDE)
    for scene, image, target in zip(some, images, targets, strict=True):
        assert torch.equal(image[0], scene.image)
        assert torch.equal(target.labels, scene.labels)
        assert torch.equal(target.boxes, scene.boxes)


def made(**changes):
    fields = {"image": torch.zeros(SIDE, SIDE), "labels": torch.zeros(1).long()}
    fields |= {"boxes": torch.tensor([[0.0, 0, 1, 1]]), "ids": torch.zeros(SIDE, SIDE).long()}
    return Scene(**{**fields, **changes})


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "n: ", lambda: scenes.generate(-1, 0)),
        (TypeError, "rng: ", lambda: scenes.generate(1, "x")),
        (ValueError, "split: ", lambda: scenes.generate(1, 0, split="all")),
        (ValueError, "counts: .*de 1 a 4", lambda: scenes.generate(1, 0, counts=5)),
        (ValueError, "counts: ", lambda: scenes.generate(1, 0, counts=[])),
        (ValueError, "scenes: ", lambda: scenes.batch([])),
        (TypeError, "scenes: ", lambda: scenes.batch([1])),
        (TypeError, "image: ", lambda: made(image=3)),
        (ValueError, "ids: .*40", lambda: made(ids=torch.zeros(8, 8).long())),
        (ValueError, "boxes: .*por etiqueta", lambda: made(boxes=torch.zeros(2, 4))),
        (ValueError, "boxes: .*esquinas", lambda: made(boxes=torch.tensor([[1.0, 0, 0, 1]]))),
        (TypeError, "rng: ", lambda: scenes.generate(1, True)),
        (ValueError, "counts: ", lambda: scenes.generate(1, 0, counts=True)),
        (ValueError, "counts: ", lambda: scenes.generate(1, 0, counts=[1, 0])),
        (ValueError, "counts: ", lambda: scenes.generate(1, 0, counts=[1, 5])),
        (ValueError, "counts: ", lambda: scenes.generate(1, 0, counts=[1, 2.0])),
        (ValueError, "counts: .*'12'", lambda: scenes.generate(1, 0, counts="12")),
        (ValueError, "counts: ", lambda: scenes.generate(1, 0, counts={1})),
        (ValueError, "scenes: ", lambda: scenes.batch("ab")),
        (ValueError, "scenes: ", lambda: scenes.batch({1})),
        (TypeError, "labels: ", lambda: made(labels=torch.zeros(1))),
        (TypeError, "boxes: ", lambda: made(boxes=torch.zeros(1, 4).int())),
        (TypeError, "boxes: ", lambda: made(boxes=[[0.0, 0, 1, 1]])),
        (TypeError, "ids: ", lambda: made(ids=torch.zeros(SIDE, SIDE))),
        (ValueError, "boxes: .*por etiqueta", lambda: made(labels=torch.tensor(1))),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert scenes.generate(0, 0) == []
    for count in (1, 4):
        assert len(scenes.generate(1, 0, counts=[count])[0].labels) == count
