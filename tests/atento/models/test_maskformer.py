"""MaskFormer: costes, pérdidas y mapas como los de transformers, y el reparto, contra todos."""

from functools import partial
from itertools import permutations
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.boxes import to_corners
from atento.models import detr
from atento.models.maskformer import (
    MaskFormer,
    MaskFormerConfig,
    PixelDecoder,
    Segments,
    assign_segments,
    class_scores,
    dice_loss,
    focal_costs,
    panoptic,
    segment_cost,
    segment_loss,
    segment_losses,
    semantic,
)

F64 = torch.float64
SIZES = {"queries": 5, "classes": 3, "widths": (4, 8), "d_model": 16, "n_heads": 4, "d_ff": 24}
SIZES |= {"mask_width": 8}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    return MaskFormerConfig(**{"image_size": 16, **SIZES, **changes})


def images(count=2, seed=0):
    return torch.randn((count, 1, 16, 16), generator=rng.generator(seed), dtype=F64)


def drawn(seed=0, objects=(2, 3), queries=5, classes=3, side=6):
    """Lo contestado al azar y los trozos que había."""
    source = rng.generator(seed)
    size = (len(objects), queries)
    logits = torch.randn(*size, classes + 1, generator=source, dtype=F64).requires_grad_()
    boxes = 0.2 + 0.6 * torch.rand(*size, 4, generator=source, dtype=F64)
    masks = 2 * torch.randn(*size, side, side, generator=source, dtype=F64)
    targets = []
    for count in objects:
        labels = torch.randint(classes, (count,), generator=source)
        center = 0.3 + 0.4 * torch.rand(count, 4, generator=source, dtype=F64)
        inside = torch.rand(count, side, side, generator=source) < 0.4
        targets.append((labels, to_corners(center), inside))
    return Segments(logits, boxes.requires_grad_(), masks.requires_grad_()), targets


# --- Emparejar y perder ---------------------------------------------------------------------------


def test_the_two_mask_losses_are_those_of_transformers():
    from transformers.models.maskformer import modeling_maskformer as theirs

    source = rng.generator(1)
    logits = torch.randn(4, 30, generator=source, dtype=F64, requires_grad=True)
    masks = (torch.rand(4, 30, generator=source) < 0.3).double()
    close(dice_loss(logits, masks).sum() / 4, theirs.dice_loss(logits, masks, 4))
    within, outside = focal_costs(logits)
    focal = (within * masks + outside * (1 - masks)).mean(1).sum() / 4
    close(focal, theirs.sigmoid_focal_loss(logits, masks, 4))
    (mine,) = torch.autograd.grad(focal, logits)
    (other,) = torch.autograd.grad(theirs.sigmoid_focal_loss(logits, masks, 4), logits)
    close(mine, other)
    plain = sum(focal_costs(logits, gamma=0.0, alpha=0.5))  # de dentro y de fuera, sumados
    close(2 * plain, F.softplus(logits) + F.softplus(-logits))


@given(
    inside=st.lists(st.booleans(), min_size=1, max_size=8),
    chances=st.lists(st.floats(0.01, 0.99), min_size=8, max_size=8),
)
def test_dice_pixel_by_pixel(inside, chances):
    chances = chances[: len(inside)]
    shared = sum(p for p, i in zip(chances, inside, strict=True) if i)
    expected = 1 - (2 * shared + 1) / (sum(chances) + sum(inside) + 1)
    logits = torch.tensor(chances, dtype=F64).logit()
    found = dice_loss(logits, torch.tensor(inside, dtype=F64))
    assert found.item() == pytest.approx(expected, abs=1e-9)


def test_what_is_easy_hardly_counts():
    """Con gamma = 2, un píxel que falla por 0.1 pesa (0.1)² de lo que pesaba."""
    within, outside = focal_costs(torch.tensor([0.9], dtype=F64).logit(), alpha=0.25)
    close(within, -0.25 * 0.1**2 * torch.tensor([0.9], dtype=F64).log())
    close(outside, -0.75 * 0.9**2 * torch.tensor([0.1], dtype=F64).log())


@given(
    seed=st.integers(0, 10**6),
    queries=st.integers(1, 5),
    data=st.data(),
    weights=st.tuples(*[st.floats(0, 3)] * 5),
)
def test_the_match_is_the_best_of_all(seed, queries, data, weights):
    counts = data.draw(st.lists(st.integers(0, queries), min_size=1, max_size=3))
    segments, targets = drawn(seed, counts, queries)
    names = ("class_cost", "l1_weight", "giou_weight", "focal_weight", "dice_weight")
    c = config(queries=queries, **dict(zip(names, weights, strict=True)))
    pairs = assign_segments(segments, targets, c)
    for image, (pair, target) in enumerate(zip(pairs, targets, strict=True)):
        cost = torch.zeros(queries, len(target[0]), dtype=F64)
        boxed = detr.matching_cost(segments.detections, *target[:2], c)[image]
        for q in range(queries):
            for o, mask in enumerate(target[2]):
                logits, wanted = segments.masks[image, q].flatten(), mask.flatten().double()
                within, outside = focal_costs(logits, gamma=c.gamma, alpha=c.alpha)
                focal = torch.where(wanted > 0, within, outside).mean()
                dice = dice_loss(logits, wanted)
                cost[q, o] = boxed[q, o] + c.focal_weight * focal + c.dice_weight * dice
        close(segment_cost(segments, *target, c)[image], cost)
        every = [
            sum(cost[q, i].item() for i, q in enumerate(chosen))
            for chosen in permutations(range(queries), len(target[0]))
        ]
        paid = sum(cost[q, o].item() for q, o in zip(*(x.tolist() for x in pair), strict=True))
        assert paid == pytest.approx(min(every), abs=1e-9)


@pytest.mark.parametrize("objects", [(2, 3), (1, 5)])
def test_the_loss_is_that_of_transformers_with_gradients(objects):
    """Sin cajas, como en 2021: el emparejamiento y las tres pérdidas."""
    from transformers.models.maskformer.modeling_maskformer import (
        MaskFormerHungarianMatcher,
        MaskFormerLoss,
    )

    drawings = [drawn(seed, objects) for seed in (1, 2)]
    layers, targets = [d for d, _ in drawings], drawings[-1][1]
    flags = {"l1_weight": 0.0, "giou_weight": 0.0, "class_cost": 1.5, "class_weight": 2.0}
    c = config(**flags, focal_weight=4.0, dice_weight=3.0, no_object_weight=0.375)
    matcher = MaskFormerHungarianMatcher(c.class_cost, c.focal_weight, c.dice_weight)
    criterion = MaskFormerLoss(c.classes, matcher, {}, c.no_object_weight).double()
    names = {"loss_cross_entropy": 2.0, "loss_mask": 4.0, "loss_dice": 3.0}
    labels, masks = [t[0] for t in targets], [t[2].double() for t in targets]
    theirs = sum(
        names[name] * value
        for layer in layers
        for name, value in criterion(layer.masks, layer.logits, masks, labels).items()
    )
    ours = segment_loss(layers, targets, c)
    close(ours, theirs)
    inputs = [x for layer in layers for x in (layer.logits, layer.masks)]
    for mine, other in zip(
        torch.autograd.grad(ours, inputs), torch.autograd.grad(theirs, inputs), strict=True
    ):
        close(mine, other)


def test_the_box_losses_are_those_of_detr():
    """Si la máscara no pesa, el reparto y las tres primeras partes son las de un detector."""
    segments, targets = drawn(3)
    c = config(focal_weight=0.0, dice_weight=0.0)
    boxed = [target[:2] for target in targets]
    for mine, other in zip(
        segment_losses(segments, targets, c)[:3],
        detr.losses(segments.detections, boxed, c),
        strict=True,
    ):
        close(mine, other)


def test_the_loss_of_the_model_is_that_of_its_layers_and_its_cells():
    rng.seed_all(1)
    net, x = MaskFormer(config(reference_points=True, cell_weight=3.0)).double(), images()
    _, targets = drawn(3, side=16)
    memory, _ = net.encode(x)
    cells = detr.cell_loss(net.classify_cells(memory), [t[:2] for t in targets], net.config)
    whole = segment_loss(net.every_layer(x), targets, net.config) + 3 * cells
    close(net.loss(x, targets), whole)


# --- El modelo ------------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
def test_masks_are_products_and_the_rest_is_detr(masked, shape_checks):
    """Quitadas las máscaras y sin mirar por ellas, contesta lo que el detector con sus pesos."""
    rng.seed_all(2)
    net = MaskFormer(config(reference_points=True, refine=True, masked=masked)).double()
    found = net.every_layer(images())
    assert [tuple(x.shape) for x in found[0]] == [(2, 5, 4), (2, 5, 4), (2, 5, 16, 16)]
    plain = detr.Detr(detr.DetrConfig(**detr_options(net.config))).double()
    plain.load_state_dict(net.state_dict(), strict=False)
    theirs = plain.every_layer(images())
    same = [torch.allclose(a.logits, b.logits) for a, b in zip(found, theirs, strict=True)]
    assert same == ([True, False, False] if masked else [True, True, True])
    seen, pixels = [], []
    net.draw.register_forward_hook(lambda module, args, out: seen.append(out))
    net.pixels.register_forward_hook(lambda module, args, out: pixels.append(out))
    last = net(images())
    product = (seen[-1][:, :, :, None, None] * pixels[0][:, None]).sum(2)
    close(last.masks, product)


def test_the_pixels_know_where_they_are():
    """En una imagen en blanco las celdas son iguales, y lo que leen los píxeles, no."""
    rng.seed_all(4)
    net, read = MaskFormer(config()).double(), []
    net.pixels.register_forward_pre_hook(lambda module, args: read.append(args[0]))
    blank = torch.zeros(1, 1, 16, 16, dtype=F64)
    net(blank)
    memory, places = net.encode(blank)
    close(memory, memory[:, :1].expand_as(memory))
    close(read[0].flatten(2).mT, memory + places)


def test_a_query_draws_where_its_box_is():
    """Lo que dibuja sale de su estado y del centro de su caja, y por ahí no hay gradiente."""
    rng.seed_all(5)
    net, drawn = MaskFormer(config(refine=True, reference_points=True)).double(), []
    net.draw.register_forward_pre_hook(lambda module, args: drawn.append(args[0]))
    states = []
    net.decoder_norm.register_forward_hook(lambda module, args, out: states.append(out))
    found = net.every_layer(images())
    for read, seen, answer in zip(drawn, states, found, strict=True):
        close(read, seen + net.place(answer.boxes[..., :2]))
    found[-1].masks.sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in net.locate.parameters())


def detr_options(c):
    names = detr.DetrConfig.__dataclass_fields__
    return {name: getattr(c, name) for name in names}


def test_a_layer_looks_only_inside_the_mask_of_the_one_before():
    """Si una máscara tapa solo la esquina, fuera de ella da igual lo que haya; sin máscara, no."""
    rng.seed_all(3)
    net = MaskFormer(config(n_encoder_layers=1, masked=True)).double()
    weights = []
    for block in net.decoder:
        block.register_forward_pre_hook(lambda module, args: weights.append(args[4]))
    net.every_layer(images())
    assert weights[0] is None  # la primera lo ve todo
    masks = net.every_layer(images())[0].masks
    small = F.avg_pool2d(masks, 4).flatten(2)  # (batch, query, celda)
    expected = (small > 0) | ~(small > 0).any(-1, keepdim=True)
    assert torch.equal(weights[1][:, 0], expected)
    assert not expected.all()


def test_nobody_looks_at_nothing():
    """Una máscara vacía deja mirar a todas las celdas: sin ella saldrían NaN."""
    net = MaskFormer(config(masked=True)).double()
    torch.nn.init.zeros_(net.pixels.project.weight)
    torch.nn.init.zeros_(net.pixels.project.bias)  # el producto es 0 en todas partes
    assert all(x.isfinite().all() for x in net(images()))


def test_the_pixel_decoder_level_by_level():
    rng.seed_all(4)
    c = config()
    net, backbone = PixelDecoder(c), detr.Backbone(c)
    scales = backbone.scales(images().float())
    assert [x.shape[1:] for x in scales] == [(1, 16, 16), (4, 8, 8), (8, 4, 4)]
    cells = backbone.cells(scales[-1])
    close(cells, backbone(images().float()), 1e-6)
    x = net.begin(cells)
    for i, seen in enumerate((scales[1], scales[0])):
        x = x.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
        x = net.merge[i](x + net.laterals[i](seen))
    close(net(cells, scales[:-1]), net.project(x), 1e-6)


# --- De las respuestas a los mapas ----------------------------------------------------------------


def test_semantic_is_that_of_transformers():
    from transformers import MaskFormerImageProcessor

    segments, _ = drawn(5)
    outputs = {"class_queries_logits": segments.logits, "masks_queries_logits": segments.masks}
    theirs = MaskFormerImageProcessor().post_process_semantic_segmentation(
        SimpleNamespace(**outputs)
    )
    assert torch.equal(semantic(segments), torch.stack(theirs))
    assert class_scores(segments).shape == (2, 3, 6, 6)


def sure(seed, kinds):
    """Unas consultas seguras de su clase; las de las que son alguien se reparten los píxeles."""
    source = rng.generator(seed)
    masks = torch.randn(1, len(kinds), 6, 6, generator=source, dtype=F64)
    alive = masks[:, [i for i, kind in enumerate(kinds) if kind < 3]]
    masks = masks - alive.topk(2, dim=1).values.mean(1, keepdim=True)  # de ellas, una positiva
    logits = 50 * F.one_hot(torch.tensor([kinds]), 4).double()
    return Segments(logits, torch.rand(1, len(kinds), 4, dtype=F64), 8 * masks)


@pytest.mark.parametrize("seed", range(5))
def test_panoptic_is_that_of_transformers(seed):
    """Con máscaras que no se pisan las dos maneras de contar un píxel dudoso son la misma."""
    from transformers import MaskFormerImageProcessor

    segments = sure(seed, [2, 0, 3, 1, 0])  # la tercera no es nadie
    outputs = {"class_queries_logits": segments.logits, "masks_queries_logits": segments.masks}
    (theirs,) = MaskFormerImageProcessor().post_process_panoptic_segmentation(
        SimpleNamespace(**outputs), label_ids_to_fuse=set()
    )
    (ours,) = panoptic(segments, rest=2)
    kinds = {part["id"]: part["label_id"] for part in theirs["segments_info"]}
    for here, there in zip(
        ours.ids.flatten().tolist(), theirs["segmentation"].flatten().tolist(), strict=True
    ):
        assert ours.classes[here] == kinds.get(int(there), 2)
    assert ours.classes.tolist()[0] == 2 and len(ours.classes) == len(kinds) + (
        2 not in kinds.values()
    )


def by_hand(segments, rest, least, overlap):
    """La inferencia, píxel a píxel y sin atajos."""
    chance = segments.logits[0].softmax(-1)
    inside = segments.masks[0].sigmoid()
    score, label = chance.max(-1)
    alive = [q for q in range(len(label)) if label[q] < chance.shape[-1] - 1 and score[q] > least]
    rows, columns = inside.shape[1:]
    mine = {q: [] for q in alive}
    for y in range(rows):
        for x in range(columns):
            if alive:
                best = max(alive, key=lambda q: score[q] * inside[q, y, x])
                if inside[best, y, x] >= 0.5:
                    mine[best].append((y, x))
    ids, classes = torch.zeros(rows, columns, dtype=torch.long), [rest]
    for q in alive:
        area = int((inside[q] >= 0.5).sum())
        if label[q] != rest and mine[q] and len(mine[q]) >= overlap * area:
            for y, x in mine[q]:
                ids[y, x] = len(classes)
            classes.append(int(label[q]))
    return ids, classes


@given(
    seed=st.integers(0, 10**6),
    rest=st.integers(0, 2),
    least=st.floats(0, 0.9),
    overlap=st.floats(0, 1),
)
def test_panoptic_pixel_by_pixel(seed, rest, least, overlap):
    segments, _ = drawn(seed, (1,))
    segments = segments._replace(logits=3 * segments.logits)
    (ours,) = panoptic(segments, rest=rest, least=least, overlap=overlap)
    ids, classes = by_hand(segments, rest, least, overlap)
    assert torch.equal(ours.ids, ids) and ours.classes.tolist() == classes


def test_a_hidden_segment_is_dropped():
    """La segunda, menos segura, pierde casi toda su máscara debajo de la primera."""
    masks = torch.full((1, 2, 4, 4), -9.0)
    masks[0, 0, :, :3] = 9
    masks[0, 1, :, 1:] = 9
    logits = torch.tensor([[[9.0, 0, 0], [0, 3.0, 0]]])
    segments = Segments(logits, torch.rand(1, 2, 4), masks)
    (strict,) = panoptic(segments, rest=1, overlap=0.8)
    assert strict.classes.tolist() == [1, 0] and (strict.ids[:, 3] == 0).all()
    (loose,) = panoptic(segments, rest=5, overlap=0.3)
    assert loose.classes.tolist() == [5, 0, 1]
    assert loose.ids.tolist() == [[1, 1, 1, 2]] * 4


# --- Aprender -------------------------------------------------------------------------------------


def test_it_learns_the_pixels_of_a_square():
    from atento.training import fit

    source = rng.generator(0)
    corners = torch.randint(1, 11, (8, 2), generator=source)
    x, targets = torch.zeros(8, 1, 16, 16), []
    for i, (left, top) in enumerate(corners.tolist()):
        x[i, 0, top : top + 4, left : left + 4] = 1
        box = torch.tensor([[0, 0, 16, 16], [left, top, left + 4, top + 4]]) / 16
        inside = x[i, 0] > 0
        targets.append((torch.tensor([1, 0]), box, torch.stack([~inside, inside])))
    rng.seed_all(0)
    options = {"reference_points": True, "refine": True, "norm": "pre", "n_encoder_layers": 1}
    options |= {"n_decoder_layers": 1, "queries": 4, "classes": 2, "d_model": 32}
    net = MaskFormer(config(**options, position_scale=8.0, temperature=20.0))
    optimizer = partial(torch.optim.Adam, lr=3e-3)
    fit(net, lambda step: x, lambda m, b: m.loss(b, targets), steps=40, optimizer=optimizer)
    found = semantic(net.eval()(x))
    wanted = torch.stack([target[2][0] for target in targets])  # el fondo es la clase 1
    assert ((found == 1) == wanted).float().mean() > 0.98


# --- Las puertas ----------------------------------------------------------------------------------

SEEN, THERE = drawn()


def far(**fields):
    return SEEN._replace(**fields)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una MaskFormerConfig", lambda: MaskFormer(3)),
        (TypeError, "config: ", lambda: PixelDecoder(detr.DetrConfig(16))),
        (TypeError, "config: ", lambda: assign_segments(SEEN, THERE, detr.DetrConfig(16))),
        (ValueError, "mask_width: ", lambda: config(mask_width=0)),
        (ValueError, "focal_weight: ", lambda: config(focal_weight=-1.0)),
        (ValueError, "alpha: .*entre 0 y 1", lambda: config(alpha=1.5)),
        (TypeError, "masked: ", lambda: config(masked=1)),
        (ValueError, "image_size: ", lambda: config(image_size=18)),
        (ValueError, "images: ", lambda: MaskFormer(config())(torch.ones(1, 1, 8, 8))),
        (ValueError, "gamma: ", lambda: focal_costs(torch.ones(2), gamma=-1.0)),
        (
            ValueError,
            "masks: se esperaba la forma",
            lambda: dice_loss(torch.ones(3), torch.ones(2)),
        ),
        (TypeError, "segments: se esperaban Segments", lambda: semantic(3)),
        (
            ValueError,
            r"segments.masks: .*\(2, 5, row, column\)",
            lambda: semantic(SEEN._replace(masks=SEEN.masks[:, :2])),
        ),
        (
            ValueError,
            r"segments.boxes: ",
            lambda: class_scores(SEEN._replace(boxes=SEEN.boxes[:, :2])),
        ),
        (ValueError, "targets: .*2 imágenes", lambda: assign_segments(SEEN, THERE[:1], config())),
        (
            TypeError,
            r"targets\[0\]: .*máscaras",
            lambda: assign_segments(SEEN, [t[:2] for t in THERE], config()),
        ),
        (
            ValueError,
            r"targets\[1\]: se esperaba una máscara por trozo",
            lambda: segment_losses(SEEN, [THERE[0], (*THERE[1][:2], THERE[0][2])], config()),
        ),
        (
            TypeError,
            "masks: ",
            lambda: segment_cost(SEEN, *THERE[0][:2], THERE[0][2].double(), config()),
        ),
        (TypeError, "layers: ", lambda: segment_loss([], THERE, config())),
        (TypeError, "rest: ", lambda: panoptic(SEEN, rest=None)),
        (ValueError, "least: ", lambda: panoptic(SEEN, rest=0, least=2.0)),
        (ValueError, "overlap: ", lambda: panoptic(SEEN, rest=0, overlap=-1.0)),
        (TypeError, "alpha: se esperaba un número", lambda: config(alpha="1")),
        (TypeError, "logits: ", lambda: focal_costs(torch.ones(2).int())),
        (TypeError, "gamma: se esperaba un número", lambda: focal_costs(torch.ones(2), gamma="2")),
        (ValueError, "alpha: ", lambda: focal_costs(torch.ones(2), alpha=2.0)),
        (TypeError, "logits: ", lambda: dice_loss(torch.ones(3).int(), torch.ones(3))),
        (TypeError, "masks: .*flotante", lambda: dice_loss(torch.ones(3), torch.ones(3).int())),
        (ValueError, "masks: .*un eje", lambda: dice_loss(*torch.ones(2))),
        (TypeError, "segments: ", lambda: semantic(SEEN.detections)),
        (TypeError, "segments: ", lambda: semantic(SimpleNamespace(masks=SEEN.masks))),
        (TypeError, "segments.logits: ", lambda: semantic(far(logits=SEEN.logits.long()))),
        (ValueError, "segments.logits: ", lambda: semantic(far(logits=SEEN.logits[0]))),
        (ValueError, "segments.logits: ", lambda: semantic(far(logits=SEEN.logits[..., :0]))),
        (ValueError, "segments.masks: ", lambda: semantic(far(masks=SEEN.masks[..., 0]))),
        (TypeError, "config: .*MaskFormerConfig", lambda: segment_cost(SEEN, *THERE[0], None)),
        (TypeError, "segments: ", lambda: segment_cost(3, *THERE[0], config())),
        (TypeError, "labels: ", lambda: segment_cost(SEEN, [1], *THERE[0][1:], config())),
        (
            ValueError,
            "masks: .*por trozo",
            lambda: segment_cost(SEEN, *THERE[0][:2], THERE[1][2], config()),
        ),
        (TypeError, "segments: ", lambda: assign_segments(3, THERE, config())),
        (TypeError, "targets: .*una lista", lambda: assign_segments(SEEN, "ab", config())),
        (TypeError, r"targets\[0\]: .*máscaras", lambda: assign_segments(SEEN, [3, 4], config())),
        (TypeError, "layers: ", lambda: segment_loss((SEEN,), THERE, config())),
        (TypeError, "config: ", lambda: segment_loss([SEEN], THERE, None)),
        (TypeError, r"layers\[1\]: ", lambda: segment_loss([SEEN, 3], THERE, config())),
        (
            ValueError,
            r"layers\[1\].logits: .*\(2, 5, 4\)",
            lambda: segment_loss([SEEN, Segments(*(x[:1] for x in SEEN))], THERE, config()),
        ),
        (
            ValueError,
            r"layers\[1\].masks: .*\(2, 5, 6, 6\)",
            lambda: segment_loss([SEEN, far(masks=SEEN.masks[..., 1:])], THERE, config()),
        ),
        (TypeError, "segments: ", lambda: panoptic(3, rest=0)),
        (ValueError, "rest: ", lambda: panoptic(SEEN, rest=-1)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    config(alpha=0.0, focal_weight=0.0)
    config(alpha=1.0)
    assert focal_costs(torch.ones(2), gamma=0.0)[0].shape == (2,)
    assert dice_loss(torch.ones(1), torch.ones(1)).ndim == 0
    assert len(panoptic(SEEN, rest=0, least=0.0, overlap=1.0)) == 2
    assert len(panoptic(SEEN, rest=0, least=1.0, overlap=0.0)) == 2
