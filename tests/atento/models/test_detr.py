"""DETR: igual al decodificador y a la pérdida de transformers, y el reparto, contra todos."""

from dataclasses import replace
from functools import partial
from itertools import permutations
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.boxes import giou, to_center, to_corners
from atento.models.detr import (
    Backbone,
    Detections,
    Detr,
    DetrConfig,
    DetrDecoderBlock,
    GridConfig,
    GridEncoder,
    assign,
    cell_classes,
    cell_loss,
    conv_block,
    flatten_pairs,
    losses,
    matched_losses,
    matching_cost,
    set_loss,
    sine_positions,
)
from atento.models.weights import from_detr

F64 = torch.float64
SIZES = {"queries": 5, "classes": 3, "widths": (4, 8), "d_model": 16, "n_heads": 4, "d_ff": 24}
GRID = {name: size for name, size in SIZES.items() if name != "queries"}
OPTIONS = [(False, False), (True, False), (False, True), (True, True)]
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    return DetrConfig(**{"image_size": 16, **SIZES, **changes})


def images(count=2, seed=0, dtype=F64):
    return torch.randn((count, 1, 16, 16), generator=rng.generator(seed), dtype=dtype)


def drawn(seed=0, batch=2, objects=(2, 3), queries=5, classes=3):
    """Lo contestado al azar y los objetos que había."""
    source = rng.generator(seed)
    size = (batch, queries)
    logits = torch.randn(*size, classes + 1, generator=source, dtype=F64, requires_grad=True)
    boxes = 0.2 + 0.6 * torch.rand(*size, 4, generator=source, dtype=F64)
    targets = []
    for count in objects:
        labels = torch.randint(classes, (count,), generator=source)
        center = 0.3 + 0.4 * torch.rand(count, 4, generator=source, dtype=F64)
        targets.append((labels, to_corners(center)))
    return Detections(logits, boxes.requires_grad_()), targets


def oracle(dtype=F64):
    """El codificador, el decodificador y las cabezas de transformers, sin su convolución."""
    import transformers
    from transformers.models.detr import modeling_detr as theirs

    sizes = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 3, "num_queries": 5}
    sizes |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    sizes |= {"encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "dropout": 0.0, "num_labels": 3}
    made = transformers.DetrConfig(**sizes, attention_dropout=0.0, auxiliary_loss=False)

    class Whole(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = torch.nn.Module()
            self.model.encoder = theirs.DetrEncoder(made)
            self.model.decoder = theirs.DetrDecoder(made)
            self.model.query_position_embeddings = torch.nn.Embedding(5, 16)
            self.class_labels_classifier = torch.nn.Linear(16, 4)
            self.bbox_predictor = theirs.DetrMLPPredictionHead(16, 16, 4, 3)

        def forward(self, cells, places):
            places = places.expand_as(cells)
            memory = self.model.encoder(
                inputs_embeds=cells, spatial_position_embeddings=places
            ).last_hidden_state
            own = self.model.query_position_embeddings.weight.expand(len(cells), -1, -1)
            seen = self.model.decoder(
                inputs_embeds=torch.zeros_like(own),
                encoder_hidden_states=memory,
                spatial_position_embeddings=places,
                object_queries_position_embeddings=own,
            ).last_hidden_state
            return self.class_labels_classifier(seen), self.bbox_predictor(seen).sigmoid(), memory

    model = Whole().to(dtype)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(dtype, shape_checks):
    rng.seed_all(4)
    theirs, ours = oracle(dtype), Detr(config()).to(dtype)
    found = ours.load_state_dict(from_detr(theirs.state_dict()), strict=False)
    assert not found.unexpected_keys
    assert all(name.startswith("backbone.") for name in found.missing_keys)
    x = images(dtype=dtype)
    cells = ours.backbone(x).flatten(2).mT
    _, places = ours.encode(x)
    logits, boxes, memory = theirs(cells.detach(), places)
    mine = ours(x)
    close(ours.encode(x)[0], memory, TOLERANCE[dtype])
    close(mine.logits, logits, TOLERANCE[dtype])
    close(mine.boxes, boxes, TOLERANCE[dtype])
    (mine.logits.square().mean() + mine.boxes.square().mean()).backward()
    (logits.square().mean() + boxes.square().mean()).backward()
    renamed = from_detr({n: p.grad for n, p in theirs.named_parameters() if p.grad is not None})
    own = dict(ours.named_parameters())
    assert {name for name in own if not name.startswith("backbone.")} == renamed.keys()
    for name, expected in renamed.items():
        room = TOLERANCE[dtype] * max(1.0, expected.abs().max().item())
        close(own[name].grad, expected, room)


def test_positions_are_those_of_transformers():
    from transformers.models.detr.modeling_detr import DetrSinePositionEmbedding

    theirs = DetrSinePositionEmbedding(8, normalize=True)((1, 0, 3, 5), "cpu", F64)
    down, right = torch.meshgrid(torch.arange(1, 4) / 3, torch.arange(1, 6) / 5, indexing="ij")
    ours = sine_positions(torch.stack([right, down], -1).double(), 16)
    close(ours.permute(2, 0, 1)[None], theirs, 1e-5)  # allí se divide entre el lado más 1e-6


def test_the_fastest_sine_and_the_slowest():
    ends = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=F64)
    here, there = sine_positions(ends, 16, scale=3.0, temperature=81.0)
    assert torch.equal(here[:8], there[:8])  # la altura es la misma
    angles = 3.0 / 81.0 ** (torch.arange(4) / 4)
    close(there[8::2], angles.double().sin(), 1e-6)
    close(there[9::2], angles.double().cos(), 1e-6)


@pytest.mark.parametrize("reference_points, refine", OPTIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_boxes_by_their_definition(reference_points, refine, norm, shape_checks):
    """Cada capa corrige la caja de partida, o la de la capa anterior; sin puntos, la de partida es
    el medio de la imagen."""
    rng.seed_all(3)
    net = Detr(config(reference_points=reference_points, refine=refine, norm=norm)).double()
    torch.nn.init.normal_(net.locate[-1].weight)
    seen = []
    net.locate.register_forward_hook(lambda module, x, update: seen.append(update))
    answers = net.every_layer(images())
    assert len(answers) == 3 and answers[0].logits.shape == (2, 5, 4)
    box = net.starts if reference_points else torch.zeros(4, dtype=F64)
    for update, answer in zip(seen, answers, strict=True):
        close(answer.boxes, (box + update).sigmoid())
        box = answer.boxes.logit() if refine else box
    last = net(images())
    close(last.logits, answers[-1].logits)


def positions_of(net):
    """Dónde está cada consulta al entrar en cada capa."""
    seen = []
    hooks = [
        block.register_forward_pre_hook(lambda module, args: seen.append(args[1]))
        for block in net.decoder
    ]
    net(images())
    for hook in hooks:
        hook.remove()
    return seen


def test_a_query_with_a_point_moves_with_its_box():
    rng.seed_all(3)
    moves, stays = (Detr(config(reference_points=True, refine=r)).double() for r in (True, False))
    torch.nn.init.constant_(moves.locate[-1].bias, 1.0)
    stays.load_state_dict(moves.state_dict())
    first, second, _ = positions_of(stays)
    assert torch.equal(first, second)
    first, second, _ = positions_of(moves)
    assert not torch.allclose(first, second)
    close(first[0], sine_positions(moves.starts[:, :2].sigmoid(), 16))
    sides = moves.starts[:, 2:].sigmoid()
    close(sides, torch.full_like(sides, 1 / 3))
    boxes = moves.every_layer(images())[0].boxes
    close(second, sine_positions(boxes[..., :2], 16))


def test_no_gradient_goes_through_the_box_that_is_corrected():
    """La segunda caja no enseña nada a la corrección de la primera."""
    net = Detr(config(reference_points=True, refine=True)).double()
    torch.nn.init.normal_(net.locate[-1].weight)
    updates = []
    net.locate.register_forward_hook(lambda module, x, update: updates.append(update))
    first, second, _ = net.every_layer(images())
    slopes = torch.autograd.grad(second.boxes.sum(), updates[:2], allow_unused=True)
    assert slopes[0] is None and slopes[1].all()


def test_the_picture_has_places_and_queries_have_none():
    """Sin posiciones daría igual el orden de las celdas; el de las consultas sí da igual."""
    net = Detr(config()).double()
    x = images()
    cells, places = net.encode(x)
    assert cells.shape == (2, 16, 16) and places.shape == (1, 16, 16)
    order = torch.randperm(5)
    plain = net(x)
    with torch.no_grad():
        net.queries.copy_(net.queries[order].clone())
    close(net(x).logits, plain.logits[:, order])
    close(net(x).boxes, plain.boxes[:, order])


def test_the_reader_alone_is_that_of_the_detector():
    """Quien lee la imagen no sabe de consultas: con los mismos pesos, las mismas celdas."""
    net = Detr(config(cell_weight=2.0)).double()
    alone = GridEncoder(GridConfig(**{"image_size": 16, **GRID}, cell_weight=2.0)).double()
    found = alone.load_state_dict(net.state_dict(), strict=False)
    assert not found.missing_keys
    for mine, other in zip(alone.encode(images()), net.encode(images()), strict=True):
        close(mine, other)
    targets = [(torch.tensor([1]), torch.tensor([[0.0, 0.0, 0.5, 0.5]], dtype=F64))] * 2
    memory, _ = alone.encode(images())
    assert alone.classify_cells is not None
    cells = cell_loss(alone.classify_cells(memory), targets, alone.config)
    close(alone.auxiliary_loss(memory, targets), 2 * cells)
    assert Detr(config()).double().auxiliary_loss(memory, targets).item() == 0


def test_a_mask_hides_cells_from_a_query():
    block, source = DetrDecoderBlock(config()).double(), rng.generator(1)
    x, own, memory, places = (
        torch.randn(1, n, 16, generator=source, dtype=F64) for n in (5, 5, 16, 16)
    )
    mask = torch.ones(5, 16, dtype=torch.bool)
    close(block(x, own, memory, places, mask), block(x, own, memory, places))
    mask[0, 3] = False
    changed = memory.clone()
    changed[0, 3] += 1
    before, after = (block(x, own, m, places, mask) for m in (memory, changed))
    close(before[:, 0], after[:, 0])
    assert not torch.allclose(before[:, 1:], after[:, 1:])


def test_backbone_halves_the_side_each_time():
    rows = Backbone(config(widths=(4, 8, 12)))(images().float())
    assert rows.shape == (2, 16, 2, 2) and config(widths=(4, 8, 12)).side == 2


def test_what_is_found():
    net = Detr(config()).double()
    logits, boxes = net(images())
    chance = logits.softmax(-1)
    for i, one in enumerate(net.find(images())):
        assert torch.equal(one.labels, logits[i, :, :3].argmax(-1))
        close(one.scores, chance[i].gather(1, one.labels[:, None])[:, 0])
        close(to_center(one.boxes), boxes[i])


# --- Emparejar ------------------------------------------------------------------------------------


def by_hand(detections, image, target, c):
    """El coste de cada pareja, con la ecuación y sin atajos."""
    labels, boxes = target
    logits, found = (x[image] for x in detections)
    rows = []
    for query in range(len(found)):
        chance = logits[query].exp() / logits[query].exp().sum()
        one = to_corners(found[query : query + 1])
        rows.append(
            [
                -c.class_cost * chance[label]
                + c.l1_weight * (found[query] - to_center(box)).abs().sum()
                - c.giou_weight * giou(one, box[None])[0, 0]
                for label, box in zip(labels, boxes, strict=True)
            ]
        )
    return torch.tensor([[x.item() for x in row] for row in rows], dtype=F64)


@given(
    seed=st.integers(0, 10**6),
    queries=st.integers(1, 6),
    data=st.data(),
    weights=st.tuples(st.floats(0, 3), st.floats(0, 3), st.floats(0, 3)),
)
def test_the_match_is_the_best_of_all(seed, queries, data, weights):
    counts = data.draw(st.lists(st.integers(0, queries), min_size=1, max_size=3))
    detections, targets = drawn(seed, len(counts), counts, queries)
    names = ("class_cost", "l1_weight", "giou_weight")
    c = config(queries=queries, **dict(zip(names, weights, strict=True)))
    pairs = assign(detections, targets, c)
    for image, (pair, target) in enumerate(zip(pairs, targets, strict=True)):
        cost = by_hand(detections, image, target, c)
        close(matching_cost(detections, *target, c)[image].detach(), cost.reshape(queries, -1))
        assert sorted(pair.columns.tolist()) == [*range(len(target[0]))]
        every = [
            sum(cost[query, i].item() for i, query in enumerate(chosen))
            for chosen in permutations(range(queries), len(target[0]))
        ]
        paid = sum(cost[q, o].item() for q, o in zip(*(x.tolist() for x in pair), strict=True))
        assert paid == pytest.approx(min(every), abs=1e-9)


def test_the_match_does_not_look_at_the_other_pictures():
    detections, targets = drawn(5)
    together = assign(detections, targets, config())
    for i, target in enumerate(targets):
        alone = Detections(*(x[i : i + 1] for x in detections))
        (pair,) = assign(alone, [target], config())
        assert torch.equal(pair.rows, together[i].rows)
        assert torch.equal(pair.columns, together[i].columns)


# --- Perder ---------------------------------------------------------------------------------------


def their_loss(layers, targets, c):
    """La pérdida de transformers, con sus nombres."""
    from transformers.loss.loss_for_object_detection import HungarianMatcher, ImageLoss

    weights = {"loss_ce": c.class_weight, "loss_bbox": c.l1_weight, "loss_giou": c.giou_weight}
    matcher = HungarianMatcher(c.class_cost, c.l1_weight, c.giou_weight)
    criterion = ImageLoss(matcher, c.classes, c.no_object_weight, ["labels", "boxes"]).double()
    rows = [{"class_labels": t[0], "boxes": to_center(t[1])} for t in targets]
    each = [{"logits": x.logits, "pred_boxes": x.boxes} for x in layers]
    found = criterion({**each[-1], "auxiliary_outputs": each[:-1]}, rows)
    return sum(weights[name.rstrip("_0123456789")] * value for name, value in found.items())


@pytest.mark.parametrize("objects", [(2, 3), (0, 4), (5, 1)])
def test_the_loss_is_that_of_transformers_with_gradients(objects):
    drawings = [drawn(seed, objects=objects) for seed in (1, 2, 3)]
    layers, targets = [d for d, _ in drawings], drawings[-1][1]
    c = config(no_object_weight=0.375, class_weight=2.0, class_cost=3.0)
    ours, theirs = set_loss(layers, targets, c), their_loss(layers, targets, c)
    close(ours, theirs)
    inputs = [x for layer in layers for x in layer]
    for mine, other in zip(
        torch.autograd.grad(ours, inputs), torch.autograd.grad(theirs, inputs), strict=True
    ):
        close(mine, other)


def test_the_loss_by_hand():
    """Dos consultas y un objeto: la segunda lo tiene clavado y la primera dice que no hay nada."""
    c = config(queries=2, no_object_weight=0.5)
    box = torch.tensor([0.25, 0.25, 0.5, 0.5], dtype=F64)
    logits = torch.tensor([[[0.0, 0, 0, 9], [0, 9, 0, 0]]], dtype=F64)
    other = torch.tensor([0.9, 0.9, 0.1, 0.1], dtype=F64)
    detections = Detections(logits, torch.stack([other, box])[None])
    targets = [(torch.tensor([1]), to_corners(box)[None])]
    parts = losses(detections, targets, c)
    miss = -torch.tensor(9.0, dtype=F64) + torch.logsumexp(logits[0, 0], 0)
    close(parts.classes, miss)  # las dos fallan lo mismo: pesadas, también
    close(parts.l1, torch.zeros((), dtype=F64))
    close(parts.giou, torch.zeros((), dtype=F64))
    swapped = Detections(logits.flip(1), detections.boxes)
    worse = losses(swapped, targets, replace(c, class_cost=0.0))
    nats = miss + 9
    close(worse.classes, nats)  # la caja manda: las dos se equivocan de clase


def test_a_perfect_answer_costs_nothing_and_an_empty_picture_is_a_class():
    c = config()
    detections, targets = drawn(1, objects=(0, 0))
    sure = torch.zeros_like(detections.logits)
    sure[..., -1] = 99
    assert set_loss([Detections(sure, detections.boxes)], targets, c).item() < 1e-9
    wrong = Detections(-sure, detections.boxes)
    assert set_loss([wrong], targets, c).item() > 50


def test_the_losses_are_those_of_the_pairs_that_are_given():
    """Con otro reparto salen las de esas parejas: aquí, la consulta que no tocaba."""
    detections, targets = drawn(2, objects=(1, 2))
    pairs = assign(detections, targets, config())
    for mine, other in zip(
        matched_losses(detections, targets, pairs, config()),
        losses(detections, targets, config()),
        strict=True,
    ):
        close(mine, other)
    moved = [pairs[0]._replace(rows=(pairs[0].rows + 1) % 5), pairs[1]]
    worse = matched_losses(detections, targets, moved, config())
    query, box = int(moved[0].rows[0]), targets[0][1][0]
    first = (detections.boxes[0, query] - to_center(box)).abs().sum()
    second = detections.boxes[1, pairs[1].rows] - to_center(targets[1][1][pairs[1].columns])
    close(worse.l1, (first + second.abs().sum()) / 3)
    flat = flatten_pairs(pairs)
    assert flat.image.tolist() == [0, 1, 1] and flat.object[0] == 0


def test_auxiliary_losses_are_one_per_layer():
    drawings = [drawn(seed) for seed in (1, 2, 3)]
    layers, targets = [d for d, _ in drawings], drawings[0][1]
    each = [set_loss([layer], targets, config()) for layer in layers]
    close(set_loss(layers, targets, config()), torch.stack(each).sum())


def test_cells_know_what_covers_their_middle():
    """Rejilla de 4 × 4: una caja que llega justo al centro de una celda la tapa por la izquierda y
    por arriba, y no por la derecha ni por abajo, y de dos que se pisan manda la última."""
    boxes = torch.tensor([[0.125, 0.125, 0.625, 0.875], [0.3, 0.3, 0.5, 0.5]])
    cells = cell_classes(
        [(torch.tensor([2, 0]), boxes), (torch.tensor([]).long(), boxes[:0])], config()
    )
    assert cells[0].reshape(4, 4).tolist() == [[2, 2, 3, 3], [2, 0, 3, 3], [2, 2, 3, 3], [3] * 4]
    assert (cells[1] == 3).all()


def test_the_loss_of_the_cells_by_hand_and_with_the_rest():
    c = config(no_object_weight=0.5, cell_weight=3.0, reference_points=True)
    targets = [(torch.tensor([1]), torch.tensor([[0.0, 0.0, 0.25, 0.25]], dtype=F64))] * 2
    flat = torch.zeros(2, 16, 4, dtype=F64)
    close(cell_loss(flat, targets, c), torch.tensor(4.0, dtype=F64).log())
    sure = flat.clone()
    sure[:, 0, 1] = 9  # la que tiene objeto acierta; las otras 15 pesan la mitad
    right = torch.logsumexp(sure[0, 0], 0) - 9
    close(cell_loss(sure, targets, c), (right + 7.5 * flat[0, 1].logsumexp(0)) / 8.5)
    rng.seed_all(1)
    net, x = Detr(c).double(), images()
    assert net.classify_cells is not None
    memory, _ = net.encode(x)
    cells = cell_loss(net.classify_cells(memory), targets, c)
    close(net.loss(x, targets), set_loss(net.every_layer(x), targets, c) + 3 * cells)
    plain = Detr(config()).double()
    assert plain.classify_cells is None
    close(plain.loss(x, targets), set_loss(plain.every_layer(x), targets, plain.config))


# --- Aprender -------------------------------------------------------------------------------------


def test_it_learns_where_a_square_is():
    from atento.training import fit

    source = rng.generator(0)
    places = torch.randint(1, 11, (8, 2), generator=source)
    x = torch.zeros(8, 1, 16, 16)
    targets = []
    for i, (left, top) in enumerate(places.tolist()):
        x[i, 0, top : top + 4, left : left + 4] = 1
        corners = torch.tensor([[left, top, left + 4, top + 4]]) / 16
        targets.append((torch.tensor([0]), corners))
    rng.seed_all(0)
    options = {"reference_points": True, "refine": True, "norm": "pre"}
    options |= {"n_encoder_layers": 1, "n_decoder_layers": 2, "queries": 3, "classes": 1}
    c = config(**options, position_scale=8.0, temperature=20.0)
    net = Detr(c)

    def loss(model, batch):
        return model.loss(batch, targets)

    optimizer = partial(torch.optim.Adam, lr=3e-3)
    history = fit(net, lambda step: x, loss, steps=80, optimizer=optimizer)
    assert history.loss[-1] < history.loss[0] / 2


# --- Las puertas ----------------------------------------------------------------------------------

SEEN, THERE = drawn()


def far(**fields):
    return SEEN._replace(**fields)


def seen(detections=None, targets=None):
    return assign(detections or SEEN, targets or THERE, config())


def cost(**changes):
    given = {"detections": SEEN, "labels": torch.tensor([1]), "boxes": THERE[0][1][:1]}
    return matching_cost(**{**given, "config": config(), **changes})


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una DetrConfig", lambda: Detr(3)),
        (TypeError, "config: ", lambda: assign(SEEN, THERE, None)),
        (ValueError, "image_size: se esperaba un múltiplo", lambda: config(image_size=18)),
        (ValueError, "widths: ", lambda: config(widths=())),
        (ValueError, "d_model: .*n_heads", lambda: config(n_heads=3)),
        (ValueError, "norm: ", lambda: config(norm="no")),
        (TypeError, "refine: se esperaba True o False", lambda: config(refine=1)),
        (ValueError, "l1_weight: ", lambda: config(l1_weight=-1.0)),
        (ValueError, "images: ", lambda: Detr(config())(torch.ones(1, 1, 8, 8))),
        (ValueError, "points: ", lambda: sine_positions(torch.ones(3), 8)),
        (ValueError, "d_model: ", lambda: sine_positions(torch.ones(2), 6)),
        (TypeError, "detections: ", lambda: assign(3, THERE, config())),
        (
            ValueError,
            r"detections.logits: .*query, 5",
            lambda: assign(SEEN, THERE, config(classes=4)),
        ),
        (
            ValueError,
            r"detections.boxes: ",
            lambda: assign(far(boxes=SEEN.boxes[:, :2]), THERE, config()),
        ),
        (ValueError, "targets: .*2 imágenes", lambda: assign(SEEN, THERE[:1], config())),
        (TypeError, r"targets\[0\]: ", lambda: assign(SEEN, [1, 2], config())),
        (
            ValueError,
            r"targets\[0\]: .*consultas, 5; llegaron 6",
            lambda: losses(SEEN, [(THERE[0][0][[0] * 6], THERE[0][1][[0] * 6])] * 2, config()),
        ),
        (
            ValueError,
            "labels: .*de 0 a 2",
            lambda: matching_cost(SEEN, torch.tensor([3]), THERE[0][1][:1], config()),
        ),
        (
            ValueError,
            "boxes: .*to_corners",
            lambda: matching_cost(SEEN, torch.tensor([1]), -THERE[0][1][:1], config()),
        ),
        (TypeError, "layers: ", lambda: set_loss([], THERE, config())),
        (ValueError, "cell_weight: ", lambda: config(cell_weight=-1.0)),
        (TypeError, "config: se esperaba una GridConfig", lambda: Backbone(3)),
        (TypeError, "config: se esperaba una DetrConfig", lambda: Detr(GridConfig(16))),
        (ValueError, "kernel_size: ", lambda: conv_block(2, 2, stride=1, kernel_size=2)),
        (TypeError, "pairs: ", lambda: flatten_pairs([])),
        (ValueError, "pairs: .*por imagen, 2", lambda: matched_losses(SEEN, THERE, [], config())),
        (TypeError, r"pairs\[0\]: ", lambda: matched_losses(SEEN, THERE, [1, 2], config())),
        (ValueError, "targets: ", lambda: cell_classes([], config())),
        (TypeError, "targets: ", lambda: cell_classes(3, config())),
        (
            ValueError,
            r"logits: .*\(batch, 16, 4\)",
            lambda: cell_loss(torch.ones(2, 9, 4), THERE, config()),
        ),
        (
            ValueError,
            "targets: .*2 imágenes",
            lambda: cell_loss(torch.ones(2, 16, 4), THERE[:1], config()),
        ),
        (ValueError, "state: .* DETR", lambda: from_detr({"x.weight": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_detr([1])),
        (ValueError, "classes: ", lambda: config(classes=0)),
        (ValueError, "n_convs: ", lambda: config(n_convs=-1)),
        (TypeError, "widths: se esperaba una tupla", lambda: config(widths=[4, 8])),
        (ValueError, r"widths\[0\]: ", lambda: config(widths=(0, 8))),
        (ValueError, "d_model: .*senos", lambda: config(d_model=18, n_heads=2)),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (ValueError, "position_scale: ", lambda: config(position_scale=0.0)),
        (ValueError, "queries: ", lambda: config(queries=0)),
        (ValueError, r"d_model: .*4 \* n_heads", lambda: config(reference_points=True, n_heads=8)),
        (TypeError, "l1_weight: se esperaba un número", lambda: config(l1_weight="1")),
        (ValueError, "before: ", lambda: conv_block(0, 2, stride=1, kernel_size=3)),
        (TypeError, "points: ", lambda: sine_positions(torch.ones(2).long(), 8)),
        (ValueError, r"points: .*\(…, 2\)", lambda: sine_positions(torch.tensor(1.0), 8)),
        (ValueError, "d_model: .*mayor", lambda: sine_positions(torch.ones(2), 0)),
        (ValueError, "scale: ", lambda: sine_positions(torch.ones(2), 8, scale=0.0)),
        (ValueError, "temperature: ", lambda: sine_positions(torch.ones(2), 8, temperature=0.0)),
        (TypeError, "detections.logits: ", lambda: seen(far(logits=SEEN.logits.long()))),
        (TypeError, "detections.boxes: ", lambda: seen(far(boxes=SEEN.boxes.long()))),
        (ValueError, "detections.logits: ", lambda: seen(far(logits=SEEN.logits[0]))),
        (TypeError, "detections: ", lambda: cost(detections=3)),
        (TypeError, "detections: ", lambda: cost(detections=SimpleNamespace(logits=SEEN.logits))),
        (TypeError, "labels: ", lambda: cost(labels=torch.ones(1))),
        (ValueError, "boxes: .*por etiqueta", lambda: cost(labels=torch.tensor([1, 1]))),
        (ValueError, "boxes: .*por etiqueta", lambda: cost(labels=torch.tensor(1))),
        (ValueError, "labels: .*llegaron de -1", lambda: cost(labels=torch.tensor([-1]))),
        (TypeError, "config: se esperaba una DetrConfig", lambda: cost(config=None)),
        (TypeError, "targets: se esperaba una lista", lambda: assign(SEEN, "ab", config())),
        (TypeError, r"targets\[1\]: .*pareja", lambda: seen(targets=[THERE[0], THERE[1] * 2])),
        (TypeError, r"targets\[1\]: .*pareja", lambda: seen(targets=[THERE[0], [*THERE[1]]])),
        (ValueError, "labels: ", lambda: seen(targets=[THERE[0], (THERE[1][0] + 3, THERE[1][1])])),
        (TypeError, "pairs: ", lambda: flatten_pairs("ab")),
        (TypeError, "pairs: ", lambda: flatten_pairs({1})),
        (TypeError, r"pairs\[0\]: ", lambda: flatten_pairs([1, 2])),
        (TypeError, "detections: ", lambda: matched_losses(3, THERE, [], config())),
        (ValueError, "pairs: ", lambda: matched_losses(SEEN, THERE, {1, 2}, config())),
        (TypeError, "layers: ", lambda: set_loss((SEEN,), THERE, config())),
        (TypeError, "config: ", lambda: set_loss([SEEN], THERE, None)),
        (TypeError, r"layers\[1\]: ", lambda: set_loss([SEEN, 3], THERE, config())),
        (
            ValueError,
            r"layers\[1\].logits: .*\(2, 5, 4\)",
            lambda: set_loss([SEEN, Detections(*(x[:1] for x in SEEN))], THERE, config()),
        ),
        (ValueError, "targets: .*2 imágenes", lambda: set_loss([SEEN], THERE[:1], config())),
        (TypeError, "config: se esperaba una GridConfig", lambda: cell_classes(THERE, None)),
        (TypeError, "config: ", lambda: cell_loss(torch.ones(2, 16, 4), THERE, None)),
        (TypeError, "logits: ", lambda: cell_loss(torch.ones(2, 16, 4).int(), THERE, config())),
        (ValueError, "logits: ", lambda: cell_loss(torch.ones(16, 4), THERE, config())),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    config(d_model=12, n_heads=3, reference_points=True)
    config(l1_weight=0.0, n_convs=0, n_encoder_layers=0)
    full = [(label.repeat(5)[:5], box.repeat(5, 1)[:5]) for label, box in THERE]
    assert [len(pair.rows) for pair in assign(SEEN, full, config())] == [5, 5]
    assert cost(labels=torch.tensor([2])).shape == (2, 5, 1)
