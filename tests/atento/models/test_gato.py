"""Gato: números en intervalos, secuencias de ida y vuelta, qué se aprende y qué no se confunde."""

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.models.gato import (
    ACTION,
    IMAGE,
    PADDING,
    SEPARATOR,
    TEXT,
    VALUE,
    Gato,
    GatoConfig,
    Step,
    from_bins,
    gato_loss,
    mu_law,
    pack,
    pack_episodes,
    to_bins,
    undo_mu_law,
    unpack,
)

SIZES = {"image_size": 4, "patch_size": 2, "channels": 1, "max_place": 8}
SIZES |= {"d_model": 16, "n_heads": 2, "d_ff": 24, "n_layers": 2}


def config(**changes):
    return GatoConfig(**{"vocab": 10, "bins": 32, **SIZES, **changes})


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def words(*ids):
    return torch.tensor(ids)


def full_step(seed=0):
    source = rng.generator(seed)
    image = torch.rand(1, 4, 4, generator=source)
    return Step(words(3, 9), image, torch.tensor([0.2, -3.0]), torch.tensor([0.5, -1.0]))


def test_the_weights_are_drawn_with_the_asked_deviation():
    net = Gato(config(d_model=64, d_ff=128, init_std=0.07))
    weights = torch.cat([p.flatten() for n, p in net.named_parameters() if "expand.weight" in n])
    assert len(weights) == 2 * 64 * 128
    assert abs(weights.mean()) < 0.002 and abs(weights.std() - 0.07) < 0.002
    assert not net.project.bias.any()


# --- Los números ----------------------------------------------------------------------------------


@given(x=st.floats(-300, 300))
def test_the_law_is_that_of_the_paper(x):
    """F(x) = sgn(x) log(|x| μ + 1) / log(M μ + 1), con μ = 100 y M = 256."""
    by_hand = math.copysign(math.log(abs(x) * 100 + 1) / math.log(256 * 100 + 1), x)
    found = mu_law(torch.tensor(x, dtype=torch.float64))
    assert found.item() == pytest.approx(by_hand, abs=1e-12)
    assert undo_mu_law(found).item() == pytest.approx(x, abs=1e-9)
    assert (abs(x) <= 256) == (abs(found.item()) <= 1)


@given(x=st.floats(-1, 1), bins=st.sampled_from([2, 7, 64, 1024]))
def test_each_number_falls_in_its_bin(x, bins):
    number = int(to_bins(torch.tensor(x, dtype=torch.float64), bins))
    width = 2 / bins
    assert 0 <= number < bins
    assert -1 + number * width <= x + 1e-12 and x <= -1 + (number + 1) * width + 1e-12
    center = from_bins(torch.tensor(number), bins).item()
    assert abs(center - x) <= width / 2 + 1e-6
    assert int(to_bins(torch.tensor(center), bins)) == number


def test_what_is_out_goes_to_the_ends():
    assert to_bins(torch.tensor([-5.0, -1.0, 1.0, 5.0]), 1024).tolist() == [0, 0, 1023, 1023]
    ids = torch.arange(1024)
    assert torch.equal(to_bins(from_bins(ids, 1024), 1024), ids)


def test_small_numbers_get_more_bins():
    """Cerca de 0 los intervalos son más estrechos que lejos: es para lo que está la ley."""
    ids = torch.arange(1024)
    edges = undo_mu_law(from_bins(ids, 1024))
    widths = edges.diff()
    assert widths[511] < 1e-3 < 1 < widths[-1]
    assert (widths[512:].diff() > 0).all()


# --- La secuencia ---------------------------------------------------------------------------------


def test_a_step_in_order():
    c = config()
    packed = pack([[full_step()]], c)
    kinds = [TEXT] * 2 + [IMAGE] * 4 + [VALUE] * 2 + [SEPARATOR] + [ACTION] * 2
    assert packed.kinds[0].tolist() == kinds
    assert packed.places[0].tolist() == [*range(8), -1, -1, -1]
    assert packed.cells[0].tolist() == [0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0]
    ids = packed.ids[0].tolist()
    assert ids[:2] == [3, 9] and ids[8] == c.separator == 42
    law = [math.copysign(math.log(abs(x) * 100 + 1) / math.log(25601), x) for x in (0.2, -3.0)]
    assert ids[6:8] == [10 + math.floor((x + 1) * 16) for x in law]
    assert ids[9:] == [10 + 24, 10 + 0]  # las acciones, sin la ley
    patch = full_step().image[0, :2, 2:].flatten()
    close(packed.patches[0, 3], (2 * patch - 1) / math.sqrt(2), 1e-6)
    assert not packed.patches[0, [0, 1, 6, 7, 8, 9, 10]].any()


@st.composite
def steps(draw):
    """Un paso cualquiera, que no esté vacío."""
    seed, has = draw(st.integers(0, 10**6)), draw(st.integers(1, 15))
    source = rng.generator(seed)

    def number(n):
        return int(torch.randint(n, (1,), generator=source))

    text = torch.randint(10, (1 + number(2),), generator=source) if has & 1 else None
    image = torch.rand(1, 4, 4, generator=source) if has & 2 else None
    values = 4 * torch.randn(1 + number(2), generator=source) if has & 4 else None
    action = 2 * torch.rand(number(3), generator=source) - 1 if has & 8 else None
    return Step(text, image, values, action)


@given(sequences=st.lists(st.lists(steps(), min_size=1, max_size=3), min_size=1, max_size=3))
def test_there_and_back(sequences):
    c = config(bins=1024)
    packed = pack(sequences, c)
    found = unpack(packed, c)
    assert [len(s) for s in found] == [len(s) for s in sequences]
    for own, others in zip(found, sequences, strict=True):
        for one, other in zip(own, others, strict=True):
            assert [x is None for x in one] == [x is None for x in other]
            if other.text is not None:
                assert torch.equal(one.text, other.text)
            if other.image is not None:
                close(one.image, other.image, 1e-6)
            if other.values is not None:  # medio intervalo, en la escala de la ley
                close(mu_law(one.values), mu_law(other.values), 1.01 / 1024)
            if other.action is not None:
                close(one.action, other.action, 1.01 / 1024)
    again = pack(found, c)
    assert all(torch.equal(x, y) for x, y in zip(again[2:], packed[2:], strict=True))
    assert torch.equal(again.ids, packed.ids)


def test_nothing_is_confused_with_anything():
    """Ninguna clase comparte números con otra, y cambiar la clase cambia lo que entra."""
    c = config()
    many = [[full_step(i), Step(text=words(*range(8)))] for i in range(20)]
    for row in many:
        row.append(Step(values=torch.linspace(-300, 300, 8), action=torch.linspace(-1, 1, 9)))
    packed = pack(many, c)
    own = {k: set(packed.ids[packed.kinds == k].tolist()) for k in (TEXT, VALUE, SEPARATOR, ACTION)}
    assert max(own[TEXT]) < c.vocab <= min(own[VALUE] | own[ACTION])
    assert max(own[VALUE] | own[ACTION]) < c.separator and own[SEPARATOR] == {c.separator}
    net = Gato(c)
    one = pack([[full_step()]], c)
    painted = one._replace(patches=one.patches + 1.0)
    changed = (net.embed(painted) - net.embed(one)).abs().amax(dim=-1)[0] > 0
    assert torch.equal(changed, one.kinds[0] == IMAGE)  # el parche solo cuenta donde lo hay
    renamed = one._replace(ids=(one.ids + 1) % 40)
    changed = (net.embed(renamed) - net.embed(one)).abs().amax(dim=-1)[0] > 0
    assert torch.equal(changed, one.kinds[0] != IMAGE)  # y el número, donde no


def test_places_are_those_of_the_step():
    """Lo mismo, en otro paso, entra igual, y en otro lugar del suyo, no; la acción no tiene."""
    c = config()
    net, step = Gato(c), Step(values=torch.tensor([0.3, 0.3]), action=torch.tensor([0.2, 0.2]))
    x = net.embed(pack([[step, step]], c))[0]
    assert torch.equal(x[:5], x[5:])
    assert not torch.equal(x[0], x[1]) and torch.equal(x[3], x[4])


def test_patches_know_their_row_and_column():
    c = config()
    net = Gato(c)
    flat = Step(image=torch.full((1, 4, 4), 0.7))
    x = net.embed(pack([[flat]], c))[0] - net.places.weight[:4]
    rows, columns = net.rows.weight, net.columns.weight
    close(x[3] - x[1], rows[1] - rows[0], 1e-5)
    close(x[3] - x[2], columns[1] - columns[0], 1e-5)


def test_only_words_and_actions_are_learned():
    c = config()
    packed = pack([[full_step(), Step(values=torch.zeros(2))], [Step(text=words(1, 2))]], c)
    assert torch.equal(packed.learned, (packed.kinds == TEXT) | (packed.kinds == ACTION))
    assert packed.learned[0].sum() == 4 and packed.learned[1].sum() == 2
    assert (packed.kinds[1, 2:] == PADDING).all()
    logits = torch.randn(2, packed.ids.shape[1], 42, dtype=torch.float64)
    logits.requires_grad_()
    loss = gato_loss(lambda p: logits, packed)
    by_hand, places = [], []
    for row, kinds in enumerate(packed.kinds.tolist()):
        for i, kind in enumerate(kinds):
            if kind in (TEXT, ACTION) and i:
                own = logits[row, i - 1]
                by_hand.append(own.logsumexp(0) - own[packed.ids[row, i]])
                places.append((row, i - 1))
    close(loss, torch.stack(by_hand).mean())
    loss.backward()
    touched = logits.grad.abs().sum(-1).nonzero().tolist()
    assert [tuple(x) for x in touched] == sorted(places)


def test_padding_and_companions_change_nothing():
    c = config()
    net = Gato(c).double()
    short, long = [Step(text=words(1, 2, 3))], [full_step(), full_step(1)]
    both, alone = net(pack([short, long], c)), net(pack([short], c))
    close(both[0, :3], alone[0])


def test_it_only_looks_back():
    c = config()
    net = Gato(c).double()
    packed = pack([[full_step(), full_step(1)]], c)
    other = packed._replace(ids=packed.ids.clone())
    other.ids[0, 10] = 12
    changed = (net(other) - net(packed)).abs().amax(dim=-1)[0] > 1e-9
    assert changed.tolist() == [False] * 10 + [True] * (len(changed) - 10)


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("m", [1, 2])
def test_episodes_are_packed_the_same_at_once(missing, m):
    c = config()
    source = rng.generator(3)
    values = torch.randn(4, 3, 2, generator=source)
    actions = 2 * torch.rand(4, 3 - missing, m, generator=source) - 1
    rows = []
    for seen, done in zip(values, actions, strict=True):
        acted = [*done, *[torch.zeros(0)] * missing]
        rows.append([Step(values=x, action=a) for x, a in zip(seen, acted, strict=True)])
    for one, other in zip(pack_episodes(values, actions, c), pack(rows, c), strict=True):
        assert torch.equal(one, other)


def test_counts_its_parameters():
    c = config()
    d, f = c.d_model, c.d_ff
    block = 4 * (d * d + d) + (d * f + f) + (f * d + d) + 4 * d
    tables = (c.vocab + c.bins + 1 + 2 * c.grid + c.max_place) * d
    closed = tables + (4 + 1) * d + c.n_layers * block + 2 * d + (d + 1) * (c.vocab + c.bins)
    assert sum(p.numel() for p in Gato(c).parameters()) == closed


# --- Los mismos pesos para todo -------------------------------------------------------------------


def everything(c):
    """Tres tareas: nombrar dónde hay luz, seguir una cuenta y empujar al contrario."""
    lights = F.one_hot(torch.arange(4), 4).float().reshape(4, 1, 2, 2)
    lights = lights.repeat_interleave(2, 2).repeat_interleave(2, 3)
    named = [[Step(image=x), Step(text=words(i))] for i, x in enumerate(lights)]
    counted = [[Step(text=(torch.arange(5) + i) % 10)] for i in range(5, 10)]
    values = torch.linspace(-2, 2, 8)[:, None, None].repeat(1, 2, 1)
    pushed = -values.sign() * 0.5
    acted = [
        [Step(values=v, action=a) for v, a in zip(*pair, strict=True)]
        for pair in zip(values, pushed, strict=True)
    ]
    return lights, values, pushed, pack([*named, *counted, *acted], c)


def test_one_set_of_weights_does_it_all():
    from atento.training import fit

    rng.seed_all(0)
    c = config()
    net = Gato(c)
    lights, values, pushed, packed = everything(c)
    optimizer = partial(torch.optim.Adam, lr=1e-2)
    fit(net, lambda step: packed, gato_loss, steps=120, optimizer=optimizer)
    assert net.write([[Step(image=x)] for x in lights], 1)[:, 0].tolist() == [0, 1, 2, 3]
    follow = net.write([[Step(text=words(5, 6))], [Step(text=words(8, 9, 0))]], 2)
    assert follow.tolist() == [[7, 8], [1, 2]]
    chosen = net.act(values, pushed[:, :1])
    close(chosen, pushed[:, 1], 1.01 / c.bins)
    assert net.training


def test_acting_writes_numbers_one_by_one():
    """Con dos acciones, la segunda se elige habiendo puesto la primera."""
    c = config()
    net = Gato(c).double()
    values = torch.tensor([[[0.4, -1.0], [2.0, 0.1]], [[0.0, 0.1], [0.2, 0.3]]])
    done = torch.tensor([[[0.2, -0.3]], [[0.9, 0.8]]])
    found = net.act(values, done)
    for row in range(2):
        chosen = torch.zeros(0)
        for _ in range(2):
            last = Step(values=values[row, 1], action=chosen)
            logits = net(pack([[Step(values=values[row, 0], action=done[row, 0]), last]], c))
            number = logits[0, -1, c.vocab :].argmax()
            chosen = torch.cat([chosen, from_bins(number, c.bins)[None]])
        close(found[row], chosen)


LONG = {"values": torch.zeros(3)}  # con dos palabras y cuatro parches, uno de más


def episodes(values=None, actions=None):
    values = torch.ones(1, 3, 2) if values is None else values
    return pack_episodes(values, torch.ones(1, 3, 1) if actions is None else actions, config())


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una GatoConfig", lambda: Gato(3)),
        (ValueError, "image_size: ", lambda: config(patch_size=3)),
        (ValueError, "d_model: ", lambda: config(d_model=18)),
        (ValueError, "bins: ", lambda: replace(config(), bins=0)),
        (ValueError, "mu: ", lambda: mu_law(torch.ones(1), mu=0.0)),
        (TypeError, "x: ", lambda: to_bins(torch.ones(1).long(), 4)),
        (ValueError, "ids: .*de 0 a 3", lambda: from_bins(torch.tensor([4]), 4)),
        (ValueError, "sequences: ", lambda: pack([], config())),
        (ValueError, "sequences: .*algún paso", lambda: pack([[]], config())),
        (TypeError, "sequences: .*Step", lambda: pack([[1]], config())),
        (TypeError, "sequences: .*listas", lambda: pack([full_step()], config())),
        (ValueError, "step: .*vacío", lambda: pack([[Step()]], config())),
        (ValueError, "step: .*8 sitios; hay 9", lambda: pack([[Step(words(*[1] * 9))]], config())),
        (ValueError, "text: .*de 0 a 9", lambda: pack([[Step(words(10))]], config())),
        (ValueError, "image: ", lambda: pack([[Step(image=torch.ones(1, 2, 2))]], config())),
        (ValueError, "values: ", lambda: pack([[Step(values=torch.ones(1, 2))]], config())),
        (TypeError, "action: ", lambda: pack([[Step(action=words(1))]], config())),
        (TypeError, "packed: se esperaba un Packed", lambda: Gato(config())(3)),
        (TypeError, "packed: ", lambda: gato_loss(lambda packed: torch.ones(1, 2, 3), 3)),
        (TypeError, "packed: ", lambda: unpack(1, config())),
        (ValueError, "length: ", lambda: Gato(config()).write([[full_step()]], 0)),
        (
            ValueError,
            "actions: .*uno menos",
            lambda: pack_episodes(torch.ones(1, 3, 2), torch.ones(1, 1, 1), config()),
        ),
        (
            ValueError,
            "actions: .*un paso menos",
            lambda: Gato(config()).act(torch.ones(1, 3, 2), torch.ones(1, 3, 1)),
        ),
        (ValueError, "limit: ", lambda: config(limit=0.0)),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (TypeError, "x: ", lambda: mu_law(words(1))),
        (ValueError, "limit: ", lambda: mu_law(torch.ones(1), limit=0.0)),
        (ValueError, "bins: ", lambda: to_bins(torch.ones(1), 0)),
        (TypeError, "ids: ", lambda: from_bins(torch.ones(1), 4)),
        (ValueError, "bins: ", lambda: from_bins(words(0), 0)),
        (ValueError, "ids: .*llegaron de -1", lambda: from_bins(words(-1), 4)),
        (TypeError, "config: ", lambda: pack([[full_step()]], 3)),
        (ValueError, "sequences: .*al menos", lambda: pack("ab", config())),
        (ValueError, "sequences: .*al menos", lambda: pack({1}, config())),
        (TypeError, "sequences: .*listas.*llegó str", lambda: pack(["ab"], config())),
        (TypeError, "sequences: .*listas.*llegó int", lambda: pack([3], config())),
        (TypeError, "text: ", lambda: pack([[Step(torch.ones(1))]], config())),
        (ValueError, r"text: .*\(n,\)", lambda: pack([[Step(words([1]))]], config())),
        (TypeError, "values: ", lambda: pack([[Step(values=words(1))]], config())),
        (TypeError, "image: ", lambda: pack([[Step(image=torch.ones(1, 4, 4).int())]], config())),
        (ValueError, "step: .*hay 9", lambda: pack([[full_step()._replace(**LONG)]], config())),
        (TypeError, "config: ", lambda: pack_episodes(torch.ones(1, 3, 2), torch.ones(1, 3, 1), 3)),
        (TypeError, "values: ", lambda: episodes(torch.ones(1, 3, 2).int())),
        (TypeError, "actions: ", lambda: episodes(actions=torch.ones(1, 3, 1).int())),
        (ValueError, "values: .*batch, step", lambda: episodes(torch.ones(3, 2))),
        (ValueError, "actions: .*batch, step", lambda: episodes(actions=torch.ones(3, 1))),
        (ValueError, "actions: .*«batch»", lambda: episodes(actions=torch.ones(2, 3, 1))),
        (ValueError, "actions: ", lambda: episodes(*torch.ones(2, 1, 0, 2))),
        (ValueError, "values: .*8 sitios; hay 9", lambda: episodes(torch.ones(1, 3, 9))),
        (TypeError, "config: ", lambda: unpack(pack([[full_step()]], config()), 1)),
        (TypeError, "model: se esperaba un Gato", lambda: gato_loss(3, 3)),
        (ValueError, "sequences: ", lambda: Gato(config()).write("ab", 1)),
        (TypeError, "values: ", lambda: Gato(config()).act([1.0], torch.ones(1, 2, 1))),
        (
            ValueError,
            "actions: .*un paso menos",
            lambda: Gato(config()).act(torch.ones(1, 3, 2), torch.ones(1, 2, 0)),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    config(d_model=6, n_heads=3)
    assert from_bins(words(0, 3), 4).shape == (2,)
    assert episodes(torch.ones(1, 3, 8)).ids.shape[0] == 1
    assert episodes(torch.ones(1, 1, 2), torch.ones(1, 0, 1)).ids.shape[0] == 1
    assert pack([[Step(words(0, 9))]], config()).ids.shape[0] == 1
