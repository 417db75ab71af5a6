"""Pix2Seq: escribir y leer objetos son ida y vuelta, y lo que se entrena es lo que se escribe."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.models.detr import GridConfig, cell_loss, sine_positions
from atento.models.pix2seq import (
    WORDS,
    Pix2Seq,
    Pix2SeqConfig,
    pack,
    read,
    sequence_loss,
    write,
)

F64 = torch.float64
SIZES = {"classes": 3, "widths": (4, 8), "d_model": 16, "n_heads": 4, "d_ff": 24, "bins": 17}
SIZES |= {"n_encoder_layers": 1, "max_objects": 3, "norm": "pre"}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    return Pix2SeqConfig(**{"image_size": 16, **SIZES, **changes})


def images(count=2, seed=0, dtype=F64):
    return torch.randn((count, 1, 16, 16), generator=rng.generator(seed), dtype=dtype)


@st.composite
def listed(draw, most=3, side=16, classes=3):
    """Objetos con las esquinas en bordes de píxel: sus clases y sus cajas."""
    count = draw(st.integers(0, most))
    edge = st.integers(0, side)
    boxes = []
    for _ in range(count):
        x, y = sorted([draw(edge), draw(edge)]), sorted([draw(edge), draw(edge)])
        boxes.append([x[0] / side, y[0] / side, x[1] / side, y[1] / side])
    labels = [draw(st.integers(0, classes - 1)) for _ in range(count)]
    return torch.tensor(labels, dtype=torch.long), torch.tensor(boxes).reshape(-1, 4)


# --- Escribir y leer ------------------------------------------------------------------------------


@given(objects=listed())
def test_there_and_back(objects):
    labels, boxes = objects
    words = write(labels, boxes, config())
    assert len(words) == WORDS * len(labels) + 1 and words[-1] == 2
    found = read(words, config())
    assert torch.equal(found.labels, labels)
    close(found.boxes, boxes, 1e-7)
    assert found.places.tolist() == [WORDS * i + 4 for i in range(len(labels))]
    again = write(found.labels, found.boxes, config())
    assert torch.equal(again, words)


@given(
    numbers=st.lists(st.floats(0, 1), min_size=4, max_size=4),
    bins=st.integers(2, 60),
    label=st.integers(0, 2),
)
def test_a_corner_goes_to_the_nearest_bin(numbers, bins, label):
    x, y = sorted(numbers[:2]), sorted(numbers[2:])
    box = torch.tensor([[x[0], y[0], x[1], y[1]]], dtype=F64)
    found = read(write(torch.tensor([label]), box, config(bins=bins)), config(bins=bins))
    assert found.labels.tolist() == [label]
    assert (found.boxes - box).abs().max() <= 0.5 / (bins - 1) + 1e-6


def test_the_words_by_hand():
    """Un objeto de clase 1 en x de 2 a 6 y de 1 a 4, en una imagen de 16 píxeles y 17 cajones."""
    box = torch.tensor([[2, 1, 6, 4]]) / 16
    words = write(torch.tensor([1]), box, config())
    assert words.tolist() == [3 + 1, 3 + 2, 3 + 4, 3 + 6, 3 + 17 + 1, 2]
    assert config().target_vocab == 3 + 17 + 3 + 1 and config().absent == 23


@given(words=st.lists(st.integers(0, 23), max_size=25))
def test_anything_can_be_read(words):
    """De palabras al azar salen objetos bien hechos, que vuelven a escribirse igual."""
    found = read(torch.tensor(words, dtype=torch.long), config(max_objects=5))
    until = words.index(2) if 2 in words else len(words)
    groups = [words[i : i + 5] for i in range(0, until - 4, 5)]
    good = [
        (i, g)
        for i, g in enumerate(groups)
        if all(3 <= w < 20 for w in g[:4]) and 20 <= g[4] < 23 and g[0] <= g[2] and g[1] <= g[3]
    ]
    assert found.places.tolist() == [5 * i + 4 for i, _ in good]
    again = write(found.labels, found.boxes, config(max_objects=5))
    assert again.tolist() == [w for _, g in good for w in g] + [2]


# --- El lote --------------------------------------------------------------------------------------


@given(objects=st.lists(listed(), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_a_batch_asks_for_the_next_word(objects, seed):
    c = config()
    words, labels, weights = pack(objects, c)
    for row, wanted, weight, target in zip(words, labels, weights, objects, strict=True):
        written = write(*target, c)
        n = len(written)
        assert row[:n].tolist() == [c.bos_id, *written[:-1].tolist()]
        assert wanted[:n].tolist() == written.tolist()
        assert (row[n:] == c.pad_id).all() and (wanted[n:] == c.pad_id).all()
        assert (weight[:n] == 1).all() and (weight[n:] == 0).all()
    shuffled = pack(objects, c, rng.generator(seed))
    for wanted, target in zip(shuffled.labels, objects, strict=True):
        found = read(wanted, c)
        assert sorted(in_pixels(found.labels, found.boxes)) == sorted(in_pixels(*target))


def in_pixels(labels, boxes):
    """Cada objeto, con sus esquinas en píxeles, que son enteros."""
    corners = (boxes * 16).round().int().tolist()
    return [(int(label), *corner) for label, corner in zip(labels, corners, strict=True)]


def test_the_order_is_drawn():
    target = (torch.tensor([0, 1, 2]), torch.tensor([[0.0, 0.0, 0.5, 0.5]] * 3))
    source = rng.generator(0)
    orders = {
        tuple(read(pack([target], config(), source).labels[0], config()).labels.tolist())
        for _ in range(60)
    }
    assert len(orders) == 6


@given(objects=st.lists(listed(), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_invented_objects_fill_the_list(objects, seed):
    c = config(noise=True)
    words, labels, weights = pack(objects, c, rng.generator(seed))
    assert words.shape == labels.shape == (len(objects), WORDS * c.max_objects + 1)
    for row, wanted, weight, target in zip(words, labels, weights, objects, strict=True):
        real = WORDS * len(target[0])
        assert (wanted[-1], row[0]) == (c.eos_id, c.bos_id)
        assert (weight[:real] == 1).all() and weight[-1] == 1
        invented = wanted[real:-1].reshape(-1, WORDS)
        assert (invented[:, 4] == c.absent).all()
        assert (weight[real:-1].reshape(-1, WORDS) == torch.tensor([0.0, 0, 0, 0, 1])).all()
        fed = torch.cat([row[1:], wanted[-1:]])  # lo que se recibe no dice que no esté
        assert len(read(fed, c).labels) == c.max_objects and not (fed == c.absent).any()


@given(seed=st.integers(0, 10**6))
def test_the_weighted_likelihood_word_by_word(seed):
    source = rng.generator(seed)
    logits = torch.randn(2, 3, 5, generator=source, dtype=F64)
    labels = torch.randint(5, (2, 3), generator=source)
    weights = torch.rand(2, 3, generator=source, dtype=F64)
    total = 0.0
    for i in range(2):
        for j in range(3):
            chance = logits[i, j].exp() / logits[i, j].exp().sum()
            total -= weights[i, j] * chance[labels[i, j]].log()
    close(sequence_loss(logits, labels, weights), total / weights.sum())


# --- El modelo ------------------------------------------------------------------------------------


def test_the_words_of_the_coordinates_are_the_places_of_the_picture():
    c = config(position_scale=9.0, temperature=30.0)
    net = Pix2Seq(c).double()
    table = net.embed_target.tokens.weight[c.first_bin : c.first_class] * 4  # √16
    where = torch.arange(17, dtype=F64)[:, None].expand(-1, 2) / 16
    close(table, sine_positions(where, 16, scale=9.0, temperature=30.0), 1e-6)
    x = torch.tensor([[0.25, 0.75]], dtype=F64)
    y_row, x_row = sine_positions(x, 16, scale=9.0, temperature=30.0).split(8, dim=1)
    close(table[12, :8], y_row[0], 1e-6)  # la misma palabra dice la altura…
    close(table[4, 8:], x_row[0], 1e-6)  # … y la anchura
    assert net.project.weight is net.embed_target.tokens.weight
    plain = Pix2Seq(config(place_words=False))
    assert plain.embed_target.tokens.weight[c.first_bin : c.first_class].norm(dim=1).std() > 0.05
    for std in (0.02, 0.5):
        table = Pix2Seq(config(d_model=64, position_std=std)).embed_target.positions.table
        assert 0.9 * std < table.std() < 1.1 * std


@pytest.mark.parametrize("noise", [False, True])
def test_forward_decode_and_steps_agree(noise, shape_checks):
    rng.seed_all(2)
    c = config(noise=noise)
    net, x = Pix2Seq(c).double().eval(), images()
    words = torch.randint(3, 20, (2, 6), generator=rng.generator(3))
    logits = net(x, words)
    assert logits.shape == (2, 6, c.target_vocab)
    memory, places = net.image.encode(x)
    encoded = net.encode(x)
    close(encoded.states, memory + places)
    close(logits, net.decode(words, encoded))
    state = net.start(encoded)
    for n in range(1, 7):
        one, state = net.step(words[:, :n], state)
        close(one, logits[:, n - 1])
    changed = words.clone()
    changed[:, 4] = 3 + (changed[:, 4] - 2) % 17
    close(net(x, changed)[:, :4], logits[:, :4])  # nadie ve lo que viene después
    assert torch.equal(net.generate(x), net.generate(x, cache=False))


@pytest.mark.parametrize("noise", [False, True])
def test_what_is_written_is_well_written(noise):
    rng.seed_all(4)
    net, c = Pix2Seq(config(noise=noise)).double(), config(noise=noise)
    written = net.generate(images(6))
    for row in written.tolist():
        row = row[: row.index(c.eos_id)]
        assert len(row) % WORDS == 0 and (not noise or len(row) == WORDS * c.max_objects)
        for i, word in enumerate(row):
            first = c.first_class if i % WORDS == 4 else c.first_bin
            count = c.classes if i % WORDS == 4 else c.bins
            assert first <= word < first + count
    assert net.legal(0)[c.eos_id].item() is not noise
    assert not net.legal(3)[c.eos_id] and net.legal(15).nonzero().tolist() == [[c.eos_id]]
    assert written.shape[1] <= WORDS * c.max_objects + 1
    free = net.generate(images(6), grammar=False)
    assert free.shape[1] <= WORDS * c.max_objects + 1


def test_the_score_is_the_chance_of_the_class():
    rng.seed_all(5)
    net, c, x = Pix2Seq(config(noise=True)).double(), config(noise=True), images(3)
    written, seen = net.generate(x), net.find(x)
    for i, one in enumerate(seen):
        labels, boxes, places = read(written[i], c)
        assert torch.equal(one.labels, labels)
        close(one.boxes, boxes.double())
        for k, place in enumerate(places.tolist()):
            before = torch.cat([written.new_tensor([c.bos_id]), written[i, :place]])
            chance = net(x[i : i + 1], before[None])[0, -1].softmax(-1)
            close(one.scores[k], chance[c.first_class + labels[k]])
    assert net.training  # se deja como estaba


def test_the_loss_is_that_of_its_parts():
    rng.seed_all(6)
    net, x = Pix2Seq(config(cell_weight=2.0)).double(), images()
    targets = [
        (torch.tensor([1, 2]), torch.tensor([[0, 0, 0.25, 0.5], [0.5, 0.5, 1, 1]], dtype=F64)),
        (torch.tensor([], dtype=torch.long), torch.zeros(0, 4, dtype=F64)),
    ]
    words, labels, weights = pack(targets, net.config, rng.generator(1))
    written = sequence_loss(net(x, words), labels, weights.double())
    cells = cell_loss(net.image.classify_cells(net.image.encode(x)[0]), targets, net.config)
    close(net.loss(x, targets, rng.generator(1)), written + 2 * cells)
    net.loss(x, targets).backward()
    assert all(p.grad is not None for p in net.parameters())


def test_it_learns_to_write_where_a_square_is():
    from atento.training import fit

    source = rng.generator(0)
    x, targets = torch.zeros(8, 1, 16, 16), []
    for i, (left, top) in enumerate(torch.randint(1, 11, (8, 2), generator=source).tolist()):
        x[i, 0, top : top + 4, left : left + 4] = 1
        box = torch.tensor([[left, top, left + 4, top + 4]]) / 16
        targets.append((torch.tensor([i % 2]), box))
    rng.seed_all(0)
    net = Pix2Seq(config(d_model=32, position_scale=8.0, temperature=20.0))
    optimizer = partial(torch.optim.Adam, lr=3e-3)
    fit(net, lambda step: x, lambda m, b: m.loss(b, targets), steps=80, optimizer=optimizer)
    found = net.find(x)
    assert sum(len(one.labels) == 1 for one in found) >= 7
    right = [
        len(one.labels) == 1
        and torch.equal(one.labels, labels)
        and torch.allclose(one.boxes, boxes)
        for one, (labels, boxes) in zip(found, targets, strict=True)
    ]
    assert sum(right) >= 6


# --- Las puertas ----------------------------------------------------------------------------------

LABELS, BOXES = torch.tensor([1]), torch.tensor([[0.0, 0.0, 0.5, 0.5]])
WRITTEN = {"logits": torch.ones(1, 2, 3), "labels": torch.ones(1, 2).long()}


def lost(logits=WRITTEN["logits"], labels=WRITTEN["labels"], weights=None):
    return sequence_loss(logits, labels, torch.ones(1, 2) if weights is None else weights)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una Pix2SeqConfig", lambda: Pix2Seq(GridConfig(16))),
        (TypeError, "config: ", lambda: write(LABELS, BOXES, 3)),
        (ValueError, "bins: ", lambda: config(bins=1)),
        (ValueError, "max_objects: ", lambda: config(max_objects=0)),
        (ValueError, "position_std: ", lambda: config(position_std=0.0)),
        (TypeError, "noise: se esperaba True o False", lambda: config(noise=1)),
        (ValueError, "image_size: ", lambda: config(image_size=18)),
        (ValueError, "labels: .*de 0 a 2", lambda: write(LABELS + 2, BOXES, config())),
        (ValueError, "boxes: .*de 0 a 1", lambda: write(LABELS, 4 * BOXES, config())),
        (
            ValueError,
            "labels: .*max_objects = 3",
            lambda: write(LABELS.repeat(4), BOXES.repeat(4, 1), config()),
        ),
        (TypeError, "words: ", lambda: read(torch.ones(5), config())),
        (
            ValueError,
            "words: se esperaba un solo eje",
            lambda: read(torch.ones(1, 5).long(), config()),
        ),
        (ValueError, "words: .*de 0 a 23", lambda: read(torch.tensor([24]), config())),
        (TypeError, "targets: ", lambda: pack([], config())),
        (TypeError, r"targets\[0\]: ", lambda: pack([LABELS], config())),
        (TypeError, "generator: .*noise", lambda: pack([(LABELS, BOXES)], config(noise=True))),
        (TypeError, "generator: ", lambda: pack([(LABELS, BOXES)], config(), 3)),
        (
            ValueError,
            "weights: .*uno por palabra",
            lambda: sequence_loss(torch.ones(1, 2, 3), torch.ones(1, 2).long(), torch.ones(1, 1)),
        ),
        (
            ValueError,
            "weights: .*≥ 0",
            lambda: sequence_loss(torch.ones(1, 1, 3), torch.ones(1, 1).long(), -torch.ones(1, 1)),
        ),
        (ValueError, "images: ", lambda: Pix2Seq(config()).find(torch.ones(1, 1, 8, 8))),
        (
            ValueError,
            "target: .*3 imágenes",
            lambda: Pix2Seq(config())(images(3), torch.ones(2, 2).long()),
        ),
        (
            ValueError,
            "target: .*16 palabras",
            lambda: Pix2Seq(config())(images(2), torch.full((2, 17), 3)),
        ),
        (TypeError, "strategy: ", lambda: Pix2Seq(config()).generate(images(), strategy=3)),
        (ValueError, "place: ", lambda: Pix2Seq(config()).legal(-1)),
        (TypeError, "config: ", lambda: read(LABELS, 3)),
        (ValueError, "words: .*llegaron de -1", lambda: read(-LABELS, config())),
        (ValueError, "boxes: .*de 0 a 1", lambda: write(LABELS, BOXES - 0.5, config())),
        (ValueError, "boxes: .*por etiqueta", lambda: write(LABELS.repeat(2), BOXES, config())),
        (TypeError, "targets: ", lambda: pack("ab", config())),
        (TypeError, "targets: ", lambda: pack({1}, config())),
        (TypeError, r"targets\[0\]: ", lambda: pack([(LABELS, BOXES, BOXES)], config())),
        (TypeError, r"targets\[0\]: ", lambda: pack([[LABELS, BOXES]], config())),
        (ValueError, "labels: .*de 0 a 2", lambda: pack([(LABELS + 2, BOXES)], config())),
        (TypeError, "config: ", lambda: pack([(LABELS, BOXES)], 3)),
        (TypeError, "logits: ", lambda: lost(torch.ones(1, 2, 3).int())),
        (ValueError, r"logits: .*\(batch, n, vocab\)", lambda: lost(torch.ones(2, 3))),
        (TypeError, "labels: ", lambda: lost(labels=torch.ones(1, 2))),
        (ValueError, "labels: .*uno por palabra", lambda: lost(labels=torch.ones(1, 1).long())),
        (TypeError, "weights: ", lambda: lost(weights=torch.ones(1, 2).int())),
        (TypeError, "images: se esperaba un tensor", lambda: Pix2Seq(config())(3, 3)),
        (TypeError, "target: se esperaba un tensor", lambda: Pix2Seq(config())(images(1), [[3]])),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    config(bins=2)
    whole = torch.tensor([[0.0, 0.0, 1.0, 1.0]])
    assert len(write(LABELS.repeat(3), whole.repeat(3, 1), config())) == 3 * WORDS + 1
    assert len(read(torch.tensor([0, 23]), config()).labels) == 0
    assert lost(weights=torch.tensor([[0.0, 1.0]])).isfinite()
    assert Pix2Seq(config()).double()(images(1), torch.full((1, 16), 3)).shape[1] == 16
    assert Pix2Seq(config()).legal(0).any()
