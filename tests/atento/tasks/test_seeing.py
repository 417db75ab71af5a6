"""Puntuar lo que se ve: casos hechos a mano, la fuerza bruta y scikit-learn."""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento.tasks import scenes, seeing
from atento.tasks.scenes import Objects, Panoptic
from atento.tasks.seeing import Found, average_precision, hits, mean_iou, panoptic_quality


def box(x0, y0, x1, y1):
    return [float(x0), float(y0), float(x1), float(y1)]


def objects(*rows):
    labels = torch.tensor([row[0] for row in rows], dtype=torch.long)
    return Objects(labels, torch.tensor([row[1] for row in rows]).reshape(-1, 4))


def found(*rows):
    labels = torch.tensor([row[0] for row in rows], dtype=torch.long)
    scores = torch.tensor([row[1] for row in rows])
    return Found(labels, scores, torch.tensor([row[2] for row in rows]).reshape(-1, 4))


# --- Detección ------------------------------------------------------------------------------------


def test_by_hand():
    """Cuatro hallazgos de dos objetos: bien, repetido, corrido y, el último, bien."""
    truth = [objects((3, box(0, 0, 4, 4)), (3, box(10, 0, 14, 4)))]
    said = [
        found(
            (3, 0.9, box(0, 0, 4, 4)),
            (3, 0.8, box(0, 0, 4, 5)),  # el mismo otra vez
            (3, 0.7, box(12, 0, 16, 4)),  # IoU 1/3
            (3, 0.6, box(10, 0, 14, 5)),  # IoU 0.8
        )
    ]
    marks = average_precision(said, truth)
    assert marks["ap"] == pytest.approx(0.5 * 1 + 0.5 * 2 / 4)
    assert marks["recall"] == 1 and marks["iou"] == pytest.approx((1 + 0.8) / 2)
    strict = average_precision(said, truth, threshold=0.9)
    assert strict["ap"] == pytest.approx(0.5) and strict["recall"] == 0.5


def test_classes_weigh_the_same_and_the_score_only_orders():
    truth = [objects((0, box(0, 0, 2, 2)), (1, box(4, 4, 6, 6))), objects((0, box(0, 0, 2, 2)))]
    right = [
        found((0, 0.1, box(0, 0, 2, 2)), (1, 0.2, box(4, 4, 6, 6))),
        found((0, 0.3, box(0, 0, 2, 2))),
    ]
    marks = average_precision(right, truth)
    assert marks["ap"] == 1 and marks["by_class"] == {0: 1.0, 1: 1.0}
    scaled = [x._replace(scores=x.scores**3 - 5) for x in right]
    assert average_precision(scaled, truth) == marks
    confused = [right[0]._replace(labels=torch.tensor([0, 0])), right[1]]
    worse = average_precision(confused, truth)
    assert worse["by_class"][1] == 0 and 0 < worse["by_class"][0] < 1
    none = average_precision([found(), found()], truth)
    assert none["ap"] == none["iou"] == none["recall"] == 0


def overlap(a, b):
    """El IoU de dos cajas de enteros, contando celdas."""
    cells = [
        {(x, y) for x in range(int(c[0]), int(c[2])) for y in range(int(c[1]), int(c[3]))}
        for c in (a, b)
    ]
    return len(cells[0] & cells[1]) / len(cells[0] | cells[1])


def brute(said, truth, label, threshold):
    """La curva punto a punto: con cada k, se rehace el reparto y se cuenta desde el principio."""
    rows = [
        (float(score), i, image, b)
        for image, one in enumerate(said)
        for i, (k, score, b) in enumerate(zip(*(x.tolist() for x in one), strict=True))
        if k == label
    ]
    rows.sort(key=lambda row: -row[0])
    there = {
        (image, i): b
        for image, one in enumerate(truth)
        for i, (k, b) in enumerate(zip(*(x.tolist() for x in one), strict=True))
        if k == label
    }
    curve = []
    for k in range(1, len(rows) + 1):
        free, good = dict(there), 0
        for _, _, image, b in rows[:k]:
            near = {key: overlap(b, c) for key, c in free.items() if key[0] == image}
            best = max(near, key=near.get, default=None)
            if best is not None and near[best] >= threshold:
                good += 1
                del free[best]
        curve.append((good / len(there), good / k))
    area, total = 0.0, len(there)
    for step in range(1, total + 1):
        area += max((p for r, p in curve if r >= step / total - 1e-12), default=0.0) / total
    return area


def draw(seed):
    source = random.Random(seed)

    def one_box():
        x, y = source.randrange(6), source.randrange(6)
        return box(x, y, x + source.randint(2, 4), y + source.randint(2, 4))

    truth, said = [], []
    scores = source.sample(range(100), 40)
    for _ in range(source.randint(1, 3)):
        rows = [(source.randrange(2), one_box()) for _ in range(source.randint(1, 3))]
        truth.append(objects(*rows))
        near = [(k, [v + source.choice((0, 0, 1)) for v in b]) for k, b in rows]
        near += [(source.randrange(2), one_box()) for _ in range(source.randrange(4))]
        said.append(found(*[(k, float(scores.pop()), b) for k, b in near]))
    return said, truth


@given(seed=st.integers(0, 10**6), threshold=st.sampled_from([0.3, 0.5, 0.7]))
def test_the_area_is_that_of_the_curve_point_by_point(seed, threshold):
    said, truth = draw(seed)
    marks = average_precision(said, truth, threshold=threshold)
    for label, area in marks["by_class"].items():
        assert area == pytest.approx(brute(said, truth, label, threshold), abs=1e-9)
    present = {int(k) for one in truth for k in one.labels}
    assert {*marks["by_class"]} == present
    assert marks["ap"] == pytest.approx(sum(marks["by_class"].values()) / len(present))


def test_each_object_is_found_once():
    there = torch.tensor([box(0, 0, 2, 2), box(0, 0, 2, 3)])
    twice = there[[0, 0, 1]]
    assert hits(twice, there).tolist() == [True, True, False]
    assert hits(twice, there, 0.9).tolist() == [True, False, True]
    assert hits(there[:0], there).tolist() == [] and hits(twice, there[:0]).tolist() == [False] * 3


# --- Semántica ------------------------------------------------------------------------------------


def test_by_hand_pixel_by_pixel():
    truth = torch.tensor([[0, 0, 1], [0, 1, 1]])
    said = torch.tensor([[0, 1, 1], [0, 1, 2]])
    marks = mean_iou(said, truth)
    assert marks["by_class"] == pytest.approx({0: 2 / 3, 1: 2 / 4, 2: 0.0})
    assert marks["miou"] == pytest.approx((2 / 3 + 2 / 4) / 3)
    assert marks["accuracy"] == pytest.approx(4 / 6)
    assert mean_iou(truth, truth)["miou"] == 1


@given(seed=st.integers(0, 10**6), classes=st.integers(1, 4))
def test_the_mean_is_that_of_scikit_learn(seed, classes):
    from sklearn.metrics import jaccard_score

    source = torch.Generator().manual_seed(seed)
    said, truth = torch.randint(classes, (2, 3, 4, 5), generator=source)
    theirs = jaccard_score(truth.flatten(), said.flatten(), average="macro")
    assert mean_iou(said, truth)["miou"] == pytest.approx(theirs, abs=1e-6)


# --- Panóptica ------------------------------------------------------------------------------------


def panoptic(ids, classes):
    return Panoptic(torch.tensor(ids), torch.tensor(classes))


def test_quality_by_hand():
    """Un objeto bien, uno partido en dos y uno de otra clase; el fondo paga lo que falta."""
    truth = panoptic([[1, 1, 1, 1, 2, 2, 2, 2], [0, 0, 0, 0, 3, 3, 0, 0]], [9, 4, 4, 5])
    said = panoptic([[1, 1, 1, 0, 2, 2, 3, 3], [0, 0, 0, 0, 4, 4, 0, 0]], [9, 4, 4, 4, 6])
    marks = panoptic_quality([said], [truth])
    four = marks["by_class"][4]
    assert four["sq"] == pytest.approx(3 / 4)  # la mitad justa de un objeto no casa
    assert four["rq"] == pytest.approx(1 / (1 + 0.5 * 2 + 0.5 * 1))
    assert four["pq"] == pytest.approx(four["sq"] * four["rq"])
    assert marks["by_class"][9]["pq"] == pytest.approx(6 / 7)
    assert marks["by_class"][5]["pq"] == marks["by_class"][6]["pq"] == 0
    assert marks["pq"] == pytest.approx((four["pq"] + 6 / 7) / 4)


def test_who_tells_all_has_one_and_the_names_of_the_parts_do_not_matter():
    some = [scene.panoptic for scene in scenes.generate(6, 1)]
    marks = panoptic_quality(some, some)
    assert marks["pq"] == marks["sq"] == marks["rq"] == 1
    renamed = []
    for ids, classes in some:
        order = torch.randperm(len(classes))
        renamed.append(Panoptic(order[ids], classes[order.argsort()]))
    assert panoptic_quality(renamed, some)["pq"] == 1
    empty = [Panoptic(ids * 0, classes[:1]) for ids, classes in some]
    flat = panoptic_quality(empty, some)
    assert flat["by_class"][scenes.BACKGROUND]["rq"] == 1
    assert flat["pq"] == pytest.approx(
        flat["by_class"][scenes.BACKGROUND]["sq"] / len(flat["by_class"])
    )


@given(seed=st.integers(0, 10**6), parts=st.integers(1, 4), images=st.integers(1, 3))
def test_quality_equals_the_loop(seed, parts, images):
    """La ecuación, con conjuntos de píxeles y todas las parejas."""
    source = torch.Generator().manual_seed(seed)

    def one():
        ids = torch.randint(parts, (4, 4), generator=source)
        return Panoptic(ids, torch.randint(2, (parts,), generator=source))

    truth = [one() for _ in range(images)]
    said = [
        Panoptic(torch.where(torch.rand(4, 4, generator=source) < 0.2, 0, t.ids), t.classes)
        for t in truth
    ]

    def pieces(maps):
        cells = {}
        for image, (ids, classes) in enumerate(maps):
            for place, i in enumerate(ids.flatten().tolist()):
                cells.setdefault((image, i, int(classes[i])), set()).add((image, place))
        return cells

    mine, theirs = pieces(said), pieces(truth)
    marks = panoptic_quality(said, truth)
    labels = {key[2] for key in (*mine, *theirs)}
    assert {*marks["by_class"]} == labels
    for label in labels:
        a = [cells for key, cells in mine.items() if key[2] == label]
        b = [cells for key, cells in theirs.items() if key[2] == label]
        shared = [len(x & y) / len(x | y) for x in a for y in b]
        good = [v for v in shared if v > 0.5]
        wanted = sum(good) / (len(good) + (len(a) + len(b) - 2 * len(good)) / 2)
        assert marks["by_class"][label]["pq"] == pytest.approx(wanted)


ONE = [objects((0, box(0, 0, 1, 1)))]
FLAT = torch.zeros(2, 2, dtype=torch.long)
SEEN, TURNED = found((0, 0.5, box(0, 0, 1, 1))), -torch.arange(4.0)[None]


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "threshold: ", lambda: average_precision([found()], ONE, threshold=0.0)),
        (ValueError, "found: .*mismas imágenes", lambda: average_precision([], ONE)),
        (TypeError, "found: ", lambda: average_precision("x", ONE)),
        (TypeError, r"found\[0\]: .*scores", lambda: average_precision(ONE, ONE)),
        (
            ValueError,
            "truth: .*al menos un objeto",
            lambda: average_precision([found()], [found()]),
        ),
        (TypeError, "right: ", lambda: seeing.precision_area(torch.ones(2), 1)),
        (ValueError, "total: ", lambda: seeing.precision_area(torch.ones(2).bool(), 1)),
        (ValueError, "found: ", lambda: hits(torch.ones(2), torch.ones(1, 4))),
        (ValueError, "found: .*truth", lambda: mean_iou(FLAT, FLAT[:1])),
        (TypeError, "truth: ", lambda: mean_iou(FLAT, FLAT.float())),
        (ValueError, "found: .*≥ 0", lambda: mean_iou(FLAT - 1, FLAT)),
        (TypeError, r"found\[0\]: ", lambda: panoptic_quality([FLAT], [FLAT])),
        (
            ValueError,
            r"truth\[0\]: .*trozos de 0 a 0",
            lambda: panoptic_quality([(FLAT, FLAT[0])], [(FLAT + 1, FLAT[0, :1])]),
        ),
        (
            ValueError,
            r"found\[0\]: .*forma de truth",
            lambda: panoptic_quality([(FLAT[:1], FLAT[0])], [(FLAT, FLAT[0])]),
        ),
        (TypeError, "threshold: ", lambda: average_precision([found()], ONE, threshold="x")),
        (ValueError, "threshold: ", lambda: average_precision([found()], ONE, threshold=1.5)),
        (ValueError, "threshold: ", lambda: hits(*torch.zeros(2, 1, 4), 0.0)),
        (TypeError, "found: ", lambda: hits(FLAT, torch.ones(1, 4))),
        (ValueError, "truth: .*esquinas", lambda: hits(torch.ones(1, 4), TURNED)),
        (ValueError, "found: .*esquinas", lambda: hits(TURNED, torch.ones(1, 4))),
        (TypeError, "truth: .*como found", lambda: hits(FLAT.new_zeros(1, 4).half(), TURNED.abs())),
        (ValueError, "right: ", lambda: seeing.precision_area(torch.zeros(1, 2).bool(), 1)),
        (ValueError, "total: .*mayor", lambda: seeing.precision_area(torch.zeros(2).bool(), 0)),
        (ValueError, "found: .*y alguna", lambda: average_precision([], [])),
        (TypeError, "truth: se esperaba una lista", lambda: panoptic_quality([FLAT], {1})),
        (TypeError, r"truth\[0\]: .*boxes", lambda: average_precision([found()], [3])),
        (
            TypeError,
            r"truth\[0\].labels: .*enteros",
            lambda: average_precision([found()], [Objects(torch.ones(1), torch.zeros(1, 4))]),
        ),
        (
            TypeError,
            r"found\[0\].scores: se esperaba un tensor",
            lambda: average_precision([SEEN._replace(scores=[0.5])], ONE),
        ),
        (
            ValueError,
            r"found\[0\]: .*mismo de largo",
            lambda: average_precision([SEEN._replace(scores=torch.ones(2))], ONE),
        ),
        (
            ValueError,
            r"truth\[0\]: .*mismo de largo",
            lambda: average_precision([SEEN], [Objects(torch.tensor(1), torch.tensor(1.0))]),
        ),
        (ValueError, "found: .*column", lambda: mean_iou(FLAT[0], FLAT[0])),
        (ValueError, "found: .*column", lambda: mean_iou(FLAT[:0], FLAT[:0])),
        (ValueError, "found: ", lambda: panoptic_quality([], [])),
        (TypeError, r"found\[0\]: ", lambda: panoptic_quality([(FLAT,)], [FLAT])),
        (TypeError, r"found\[0\].ids: ", lambda: panoptic_quality([(FLAT.float(), FLAT[0])], [1])),
        (
            TypeError,
            r"found\[0\].classes: ",
            lambda: panoptic_quality([(FLAT, torch.ones(1))], [1]),
        ),
        (ValueError, r"found\[0\]: .*formas", lambda: panoptic_quality([(FLAT[0], FLAT[0])], [1])),
        (ValueError, r"found\[0\]: .*formas", lambda: panoptic_quality([(FLAT, FLAT)], [1])),
        (ValueError, r"found\[0\]: .*formas", lambda: panoptic_quality([(FLAT[:0], FLAT[0])], [1])),
        (
            ValueError,
            r"found\[0\]: .*llegaron de -1",
            lambda: panoptic_quality([(FLAT - 1, FLAT[0])], [1]),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    corners = torch.tensor([box(0, 0, 1, 1)])
    assert hits(corners, corners, 1.0).all()
    assert seeing.precision_area(torch.ones(1).bool(), 1) == 1
    assert mean_iou(FLAT[:1, :1], FLAT[:1, :1])["miou"] == 1
    assert panoptic_quality([(FLAT, FLAT[0, :1])], [(FLAT, FLAT[0, :1])])["pq"] == 1
