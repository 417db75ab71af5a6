"""Mirar dentro: sobre un modelo hecho a mano, del que se sabe qué hace cada cabeza."""

import pytest
import torch
from torch import nn

from atento import interpret as it
from atento import masks, rng
from atento.attention import MultiHeadAttention
from atento.models.gpt import Gpt, GptConfig
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.models.t5 import T5, T5Config
from atento.watching import watching

F64 = torch.float64
VOCAB, LENGTH = 10, 8  # filas de ocho símbolos, escritas dos veces
PLACES = 2 * LENGTH
WIDTH = 3 * VOCAB + PLACES  # símbolo, posición, el símbolo anterior y lo que se dirá
SYMBOL, PLACE, BEFORE, SAY = torch.arange(WIDTH).split([VOCAB, PLACES, VOCAB, VOCAB])
FIRST, SECOND = "encoder.blocks.0.attention", "encoder.blocks.1.attention"


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=rng.generator(seed), dtype=F64)


def close(a, b, tolerance=1e-9):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


# --- Una cabeza de inducción, con los pesos puestos a mano ----------------------------------------


class Block(nn.Module):
    """Una atención causal que suma al flujo: ni red densa ni norma."""

    def __init__(self):
        super().__init__()
        self.attention = MultiHeadAttention(WIDTH, 2, bias=False)
        for weight in self.parameters():
            nn.init.zeros_(weight)

    def forward(self, x, where=None):
        return x + self.attention(x, mask=masks.causal_mask(x.shape[-2]))[0]


class Pile(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def finish(self, x):
        return x

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.finish(x)


class Copier(nn.Module):
    """Capa 1, cabeza 0: mira a la posición anterior y apunta qué símbolo había. Capa 2, cabeza 1:
    busca dónde el anterior fue el de ahora y dice el que hay allí. Las otras dos no hacen nada.
    """

    def __init__(self):
        super().__init__()
        self.encoder = Pile()
        self.project = nn.Linear(WIDTH, VOCAB, bias=False)
        first, second = (block.attention for block in self.encoder.blocks)
        with torch.no_grad():
            shift = torch.zeros(PLACES, PLACES)
            shift[torch.arange(PLACES - 1), torch.arange(1, PLACES)] = 1  # de i a i − 1
            put(first, 0, (PLACE, 400 * shift), PLACE, SYMBOL, BEFORE)
            put(second, 1, (SYMBOL, 400 * torch.eye(VOCAB)), BEFORE, SYMBOL, SAY)
            rows = second.d_head + torch.arange(VOCAB)
            second.project_key.weight[rows, PLACE[0]] = -1  # la primera no tiene anterior
            self.project.weight.zero_()[:, SAY] = 10 * torch.eye(VOCAB)

    def forward(self, ids):
        x = torch.zeros(*ids.shape, WIDTH, dtype=self.project.weight.dtype)
        x.scatter_(-1, ids.unsqueeze(-1), 1.0)
        x[..., PLACE] = torch.eye(PLACES, dtype=x.dtype)[: ids.shape[-1]]
        return self.project(self.encoder(x))


def put(attention, head, query, key, value, output):
    """Escribe una cabeza: qué pregunta, en qué se ofrece, qué lleva y dónde lo deja."""
    start = head * attention.d_head
    asked, table = query
    attention.project_query.weight[start : start + len(table), asked] = table
    rows = torch.arange(start, start + len(key))
    attention.project_key.weight[rows, key] = 1
    rows = torch.arange(start, start + len(value))
    attention.project_value.weight[rows, value] = 1
    attention.project_output.weight[output, rows] = 1


@pytest.fixture
def copier():
    return Copier().double().eval()


@pytest.fixture
def ids():
    return it.repeated_sequences(6, LENGTH, VOCAB, generator=rng.generator(3))


def hits(model, ids):
    """Qué parte de la segunda mitad se predice bien."""
    right = model(ids)[:, LENGTH:-1].argmax(-1) == ids[:, LENGTH + 1 :]
    return right.double().mean().item()


def test_it_copies(copier, ids):
    assert hits(copier, ids) == 1
    assert torch.equal(ids[:, :LENGTH], ids[:, LENGTH:])
    assert all(len(set(row[:LENGTH].tolist())) == LENGTH for row in ids)


# --- A quién mira ---------------------------------------------------------------------------------


def test_who_looks_where(copier, ids):
    with watching(copier) as maps:
        copier(ids)
    induction, before = it.induction_target(ids), it.previous_target(PLACES)
    close(it.mass_on(maps[SECOND], induction)[1], torch.tensor(1.0, dtype=F64), 1e-6)
    close(it.mass_on(maps[FIRST], before)[0], torch.tensor(1.0, dtype=F64), 1e-6)
    idle = [it.mass_on(maps[SECOND], induction)[0], it.mass_on(maps[FIRST], induction)[1]]
    for score in idle:  # las que no hacen nada reparten por igual
        assert score.item() == pytest.approx(it.chance_on(induction), abs=1e-9)
    assert it.mass_on(maps[FIRST], induction)[0] < 0.01
    assert it.mass_on(maps[SECOND], before)[1] < 0.2


# --- Cambiar el mapa ------------------------------------------------------------------------------


def test_the_same_map_changes_nothing_and_another_does(copier, ids):
    whole = copier(ids)
    with watching(copier) as maps:
        copier(ids)
    with it.mixing(copier, maps):
        close(copier(ids), whole)
    first = maps[SECOND].clone()
    first[..., 0], first[..., 1:] = 1, 0  # todas miran a la primera posición
    with it.mixing(copier, {SECOND: first}):
        assert hits(copier, ids) < 0.3
    assert torch.equal(copier(ids), whole)  # no queda nada


def test_mixing_by_hand_with_shared_values_and_a_memory():
    attention = MultiHeadAttention(12, 4, n_kv_heads=2).double()
    model = nn.ModuleDict({"a": attention})
    x, memory = draw(2, 3, 12), draw(2, 5, 12, seed=1)
    weights = draw(2, 4, 3, 5, seed=2).softmax(-1)
    with it.mixing(model, {"a": weights}):
        got = attention(x, memory)[0]
    v = attention.project_value(memory).view(2, 5, 2, 3)
    heads = [weights[:, h] @ v[:, :, h // 2] for h in range(4)]  # dos cabezas por cada una de V
    close(got, attention.project_output(torch.cat(heads, -1)))


def test_mixing_needs_its_maps(copier, ids):
    with pytest.raises(ValueError, match="^weights: se esperaba una atención de "):
        it.mixing(copier, {"otra": draw(1, 2, 3, 3)}).__enter__()
    with pytest.raises(TypeError, match="^weights: "):
        it.mixing(copier, [1]).__enter__()
    with (
        it.mixing(copier, {FIRST: draw(1, 2, 3, 3)}),
        pytest.raises(ValueError, match="se esperaba en «encoder.blocks.0.attention»"),
    ):
        copier(ids)


def test_targets_by_brute_force():
    ids = torch.randint(4, (3, 9), generator=rng.generator(1))
    target = it.induction_target(ids)
    for b in range(3):
        for i in range(9):
            for j in range(9):
                wanted = 0 < j < i and ids[b, j - 1] == ids[b, i]
                assert target[b, i, j].item() == wanted
    weights = draw(3, 2, 9, 9).softmax(-1)
    masses = [[], []]
    for b, i in torch.cartesian_prod(torch.arange(3), torch.arange(9)).tolist():
        if target[b, i].any():
            for head in range(2):
                masses[head].append(weights[b, head, i][target[b, i]].sum())
    close(it.mass_on(weights, target), torch.stack([torch.stack(m).mean() for m in masses]))
    assert it.previous_target(3).tolist() == [
        [False] * 3,
        [True, False, False],
        [False, True, False],
    ]
    assert it.chance_on(it.previous_target(3)) == pytest.approx((1 / 2 + 1 / 3) / 2)


# --- Quitar ---------------------------------------------------------------------------------------


def test_without_the_head_that_does_it(copier, ids):
    before = copier(ids)
    for name, head in ((FIRST, 0), (SECOND, 1)):
        assert hits(it.without_heads(copier, {name: [head]}), ids) < 0.5
    idle = it.without_heads(copier, {FIRST: [1], SECOND: [0]})
    close(idle(ids), before)
    assert torch.equal(copier(ids), before)  # el de antes no cambia


def gpt(**changes):
    rng.seed_all(5)
    config = GptConfig(VOCAB, **{"d_model": 16, "n_heads": 4, "d_ff": 24, **changes})
    return Gpt(config).double().eval()


@pytest.mark.parametrize("bias", [True, False])
def test_removing_is_a_zero_or_a_mean_where_the_head_was(bias, ids):
    """Contra lo mismo, hecho a mano en la entrada de la matriz de salida."""
    model = gpt()
    if not bias:
        for block in model.encoder.blocks:
            block.attention.project_output.bias = None
    means = it.head_means(model, ids)
    for filled in (None, means):
        heads = {FIRST: [0, 3], SECOND: [2]}
        found = it.without_heads(model, heads, means=filled)(ids)
        hooks = []
        for name, chosen in heads.items():

            def change(module, args, name=name, chosen=chosen, filled=filled):
                x = args[0].unflatten(-1, (4, 4)).clone()
                for head in chosen:
                    x[..., head, :] = 0 if filled is None else filled[name][head]
                return (x.flatten(-2),)

            output = model.get_submodule(name).project_output
            hooks.append(output.register_forward_pre_hook(change))
        close(found, model(ids))
        for hook in hooks:
            hook.remove()


def test_head_means_by_hand(ids):
    model = gpt(n_layers=1)
    attention = model.encoder.blocks[0].attention
    block = model.encoder.blocks[0]
    x = block.add_attention.norm(model.embed(ids))
    value = attention.project_value(x).unflatten(-1, (4, 4)).transpose(1, 2)
    weights = attention(x, mask=masks.causal_mask(PLACES), need_weights=True)[1]
    close(it.head_means(model, ids)[FIRST], (weights @ value).mean(dim=(0, 2)))


# --- Leer a media altura --------------------------------------------------------------------------


def test_where_the_answer_can_be_read(copier, ids):
    seen = it.logit_lens(copier, ids)
    assert seen.shape == (3, 6, PLACES, VOCAB)
    close(seen[2], copier(ids))
    assert (seen[:2] == 0).all()  # hasta la segunda cabeza no hay nada que decir
    states = it.depth_states(copier, ids)
    assert (states[0][..., BEFORE] == 0).all()
    noted = states[1][:, 1:, BEFORE].argmax(-1)
    assert torch.equal(noted, ids[:, :-1])


def test_the_lens_is_the_model_cut_short(ids):
    model = gpt()
    lens = it.logit_lens(model, ids)
    close(lens[-1], model(ids))
    x = model.embed(ids)
    close(lens[0], model.project(model.encoder.final_norm(x)))
    x = model.encoder.blocks[0](x, masks.causal_mask(PLACES))
    close(lens[1], model.project(model.encoder.final_norm(x)))
    close(it.logit_lens(model, ids, read=lambda x: 2 * model.project(x)), 2 * lens)
    model.train()
    it.depth_states(model, ids)
    assert model.training  # queda como estaba


# --- Parchear -------------------------------------------------------------------------------------


def pair(changed):
    """Una fila escrita dos veces, y la misma con otro símbolo en un sitio de la primera mitad."""
    clean = torch.arange(LENGTH).repeat(2)[None]
    corrupted = clean.clone()
    corrupted[0, changed] = 9
    return clean, corrupted


ASKS = LENGTH + 3  # la segunda vez que se ve el 3: hay que decir 4


def says_four(logits):
    return logits[0, ASKS, 4]


def test_patching_finds_the_road_of_what_is_copied(copier):
    """Se cambia el símbolo que hay que decir: viaja por el flujo hasta su sitio, y de ahí lo trae
    la segunda cabeza. La primera no lo lleva.
    """
    clean, corrupted = pair(4)
    sites = [
        it.Site("encoder.blocks.0", before=True),
        "encoder.blocks.0",
        "encoder.blocks.1",
        it.Site(FIRST, 0),
        it.Site(SECOND, 1),
        it.Site(SECOND, 0),
    ]
    found = it.patch_effects(
        copier, clean, corrupted, sites, says_four, positions=[[4], [5], [ASKS], None]
    )
    wanted = [[1, 0, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1], [0] * 4]
    close(found.restored, torch.tensor(wanted, dtype=F64), 1e-6)
    assert found.clean == pytest.approx(10, abs=1e-6)
    assert found.corrupted == pytest.approx(0, abs=1e-6)


def test_patching_finds_the_road_of_what_is_sought(copier):
    """Se cambia el símbolo al que sigue: lo lleva la primera cabeza, un sitio más allá."""
    clean, corrupted = pair(3)
    sites = [it.Site("encoder.blocks.0", before=True), it.Site(FIRST, 0), it.Site(SECOND, 1)]
    found = it.patch_effects(
        copier, clean, corrupted, sites, says_four, positions=[[3], [4], [ASKS]]
    )
    wanted = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    close(found.restored, torch.tensor(wanted, dtype=F64), 1e-6)


def test_a_patch_by_brute_force(ids):
    model, other = gpt(), ids.flip(-1)
    rows, past = [2, 5], masks.causal_mask(PLACES)
    with it.recording(model, ["encoder.blocks.0"]) as seen:
        model(ids)
    with it.patching(model, seen, rows):
        found = model(other)
    first, second = model.encoder.blocks
    x = first(model.embed(other), past)
    x[:, rows] = first(model.embed(ids), past)[:, rows]
    close(found, model.project(model.encoder.final_norm(second(x, past))))
    close(model(other), model(other.clone()))  # fuera, nada
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_in_a_model_with_two_stacks():
    rng.seed_all(1)
    model = Seq2Seq(Seq2SeqConfig.tiny(VOCAB, d_model=16, n_heads=4, d_ff=24)).double().eval()
    source, target = torch.tensor([[3, 4, 5, 6]]), torch.tensor([[1, 3, 4]])
    good, bad = (source, target), (source.flip(-1), target)
    sites = ["encoder.blocks.1", "decoder.blocks.1", it.Site("encoder.blocks.0", before=True)]
    found = it.patch_effects(model, good, bad, sites, lambda y: y[0, -1, 4], positions=[None])
    close(found.restored, torch.ones(3, 1, dtype=F64))
    states = it.depth_states(model, *good, stack="decoder")
    assert states.shape == (3, 1, 3, 16)
    close(it.logit_lens(model, *good, stack="decoder")[-1], model(*good))


def test_wide_heads():
    """Las de T5 no miden d_model / n_heads."""
    rng.seed_all(1)
    config = T5Config(11, d_model=16, n_heads=2, d_head=4, d_ff=24, bos_id=2)
    model = T5(config).double().eval()
    source, target = torch.tensor([[3, 4, 5]]), torch.tensor([[2, 3]])
    site = it.Site("encoder.blocks.0.attention", 1)
    with it.recording(model, [site]) as seen:
        before = model(source, target)
    assert seen[site].shape == (1, 3, 4)
    with it.patching(model, {site: 0 * seen[site]}):
        patched = model(source, target)
    close(it.without_heads(model, {site.name: [1]})(source, target), patched)
    assert not torch.allclose(before, patched)


def test_a_patch_lets_the_gradient_through(ids):
    model = gpt(n_layers=1)
    with it.recording(model, ["encoder.blocks.0"]) as seen:
        model(ids)
    (value,) = seen.values()
    value.requires_grad_()
    with it.patching(model, {"encoder.blocks.0": value}, [3]):
        model(ids).sum().backward()
    assert (value.grad[:, 3] != 0).any() and (value.grad[:, :3] == 0).all()


def test_nobody_is_left_inside_after_an_error(copier, ids):
    value = {"encoder.blocks.0": torch.zeros(1, 2, WIDTH, dtype=F64)}
    with pytest.raises(ValueError, match="^values: "), it.patching(copier, value):
        copier(ids)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in copier.modules())


# --- Sondas ---------------------------------------------------------------------------------------


def test_the_probe_is_the_logistic_regression_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    x = draw(80, 5)
    y = (x @ draw(5, 3, seed=1) + draw(80, 3, seed=2)).argmax(-1)
    probe = it.fit_probe(x.float(), y, decay=0.05)
    theirs = LogisticRegression(C=1 / (80 * 0.05), tol=1e-10, max_iter=5000)
    theirs.fit(x.float().double().numpy(), y.numpy())
    close(probe.weight, torch.tensor(theirs.coef_), 1e-5)
    shift = probe.bias - torch.tensor(theirs.intercept_)
    close(shift, shift.mean().expand(3), 1e-5)  # el sesgo, salvo una constante común
    assert probe.accuracy(x, y) == theirs.score(x.numpy(), y.numpy()) > 0.6
    slope = torch.autograd.functional.jacobian(
        lambda w: (
            nn.functional.cross_entropy(x.float().double() @ w.T + probe.bias, y)
            + 0.025 * w.square().sum()
        ),
        probe.weight,
    )
    close(slope, torch.zeros_like(slope), 1e-7)  # es un mínimo


def test_control_labels():
    types = torch.randint(500, (4000,), generator=rng.generator(0))
    labels = (torch.rand(4000, generator=rng.generator(1)) < 0.3).long()
    control = it.control_labels(types, labels, generator=rng.generator(2))
    for t in range(500):
        assert len(control[types == t].unique()) <= 1  # cada palabra, siempre la misma
    assert abs(control.double().mean() - 0.3) < 5 * (0.21 / 500) ** 0.5


def test_selectivity():
    """Con la palabra escrita en el estado, el control se acierta; con solo su clase, no."""
    dice = rng.generator(4)
    types = torch.randint(20, (600,), generator=dice)
    labels = types % 2
    train = torch.rand(600, generator=dice) < 0.7
    kinds = nn.functional.one_hot(labels).double()
    words = nn.functional.one_hot(types).double()
    fair = it.probe_with_control(kinds, labels, types, train, generator=rng.generator(1))
    learned = it.probe_with_control(words, labels, types, train, generator=rng.generator(1))
    assert fair.accuracy == learned.accuracy == 1 == learned.control
    assert fair.control < 0.75 and learned.selectivity == 0
    assert fair.selectivity == pytest.approx(1 - fair.control)


def test_a_probe_reads_what_a_depth_has(copier):
    """El símbolo anterior no se puede leer abajo y, tras el primer bloque, del todo."""
    ids = it.repeated_sequences(30, LENGTH, VOCAB, generator=rng.generator(7))
    ids = ids[:, :LENGTH]
    states = it.depth_states(copier, ids)[:, :, 1:].flatten(1, 2)
    labels, types = ids[:, :-1].flatten(), ids[:, 1:].flatten()
    train = torch.arange(len(labels)) < 150
    low, high = (it.probe_with_control(x, labels, types, train) for x in states[:2])
    assert low.accuracy < 0.4 < 0.99 < high.accuracy
    assert high.control > 0.9  # y, aun así, el símbolo está en el estado: se puede memorizar


# --- Lo que no vale -------------------------------------------------------------------------------


def patched(model, value, positions=None):
    with it.patching(model, {"encoder.blocks.0": value}, positions):
        model(torch.arange(PLACES)[None] % VOCAB)


def test_a_row_may_use_every_symbol():
    assert it.repeated_sequences(1, 4, 4).unique().numel() == 4


ONES = torch.ones(2, dtype=torch.long)
THREE = torch.ones(1, 1, 3, 3)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "model: ", lambda m: it.without_heads(3, {})),
        (ValueError, "model: ", lambda m: it.without_heads(nn.Linear(2, 2), {})),
        (TypeError, "heads: ", lambda m: it.without_heads(m, [FIRST])),
        (ValueError, "heads: .*«x»", lambda m: it.without_heads(m, {"x": [0]})),
        (ValueError, "heads: .* de 0 a 1; llegó 2", lambda m: it.without_heads(m, {FIRST: [2]})),
        (
            ValueError,
            "means: ",
            lambda m: it.without_heads(m, {FIRST: [0]}, means={SECOND: torch.ones(2, 23)}),
        ),
        (ValueError, "stack: .*«decoder»", lambda m: it.depth_states(m, ONES, stack="decoder")),
        (ValueError, "stack: .* es Linear", lambda m: it.depth_states(m, ONES, stack="project")),
        (TypeError, "ids: ", lambda m: it.induction_target(torch.ones(3))),
        (ValueError, "ids: ", lambda m: it.induction_target(torch.tensor(3))),
        (ValueError, "n: ", lambda m: it.previous_target(0)),
        (ValueError, "weights: ", lambda m: it.mass_on(torch.ones(3, 3), it.previous_target(3))),
        (ValueError, "target: ", lambda m: it.mass_on(THREE, it.previous_target(2))),
        (ValueError, "target: .*ninguna", lambda m: it.mass_on(THREE, it.previous_target(1))),
        (ValueError, "target: ", lambda m: it.chance_on(torch.ones(2, 3) > 0)),
        (ValueError, "length: ", lambda m: it.repeated_sequences(1, 5, 4)),
        (
            TypeError,
            "metric: ",
            lambda m: it.patch_effects(m, *pair(3), ["encoder"], 3, positions=[None]),
        ),
        (
            ValueError,
            "metric: .*distintas",
            lambda m: it.patch_effects(
                m, pair(3)[0], pair(3)[0], ["encoder"], says_four, positions=[None]
            ),
        ),
        (
            ValueError,
            "corrupted: ",
            lambda m: it.patch_effects(
                m, pair(3)[0], pair(3)[0][:, :5], ["encoder"], says_four, positions=[None]
            ),
        ),
        (
            ValueError,
            "positions: .* menores que 16 .*; llegó 16",
            lambda m: it.patch_effects(m, *pair(3), ["encoder"], says_four, positions=[[16]]),
        ),
        (ValueError, "sites: .*«nadie»", lambda m: it.recording(m, ["nadie"]).__enter__()),
        (TypeError, "sites: ", lambda m: it.recording(m, [3]).__enter__()),
        (
            ValueError,
            "sites: .*lleva head; hay Block",
            lambda m: it.recording(m, [it.Site("encoder.blocks.0", 0)]).__enter__(),
        ),
        (ValueError, "sites: ", lambda m: it.recording(m, [it.Site(FIRST, 2)]).__enter__()),
        (ValueError, "states: ", lambda m: it.fit_probe(torch.ones(2), ONES)),
        (ValueError, "labels: ", lambda m: it.fit_probe(torch.ones(3, 2), ONES)),
        (ValueError, "labels: .*desde 0", lambda m: it.fit_probe(torch.ones(2, 2), -ONES)),
        (ValueError, "decay: ", lambda m: it.fit_probe(torch.ones(2, 2), ONES, decay=0.0)),
        (ValueError, "types: ", lambda m: it.control_labels(ONES[:1], ONES)),
        (
            ValueError,
            "train: ",
            lambda m: it.probe_with_control(torch.ones(2, 2), ONES, ONES, ONES > 0),
        ),
        (TypeError, "model: ", lambda m: it.head_means(3)),
        (TypeError, "model: ", lambda m: it.depth_states(3, ONES)),
        (TypeError, "model: ", lambda m: it.recording(3, ["encoder"]).__enter__()),
        (
            ValueError,
            "sites: .* como «encoder», «encoder.blocks», .*«encoder.blocks.0.attention»…; llegó",
            lambda m: it.recording(m, ["nadie"]).__enter__(),
        ),
        (TypeError, "sites: .* nombre", lambda m: it.recording(m, [it.Site(3)]).__enter__()),
        (ValueError, "sites: .* a 1; llegó 2", lambda m: it.recording(
            m, [it.Site(FIRST, 2)]).__enter__()),
        (ValueError, "sites: .* mayor o igual que 0", lambda m: it.recording(
            m, [it.Site(FIRST, -1)]).__enter__()),
        (TypeError, "stack: .* nombre", lambda m: it.depth_states(m, ONES, stack=3)),
        (TypeError, "values: .* coma", lambda m: patched(m, torch.ones(1, PLACES, WIDTH).long())),
        (TypeError, "values: .* float64", lambda m: patched(m, torch.ones(1, PLACES, WIDTH))),
        (ValueError, "positions: .* mayor o igual que 0", lambda m: patched(
            m, draw(1, PLACES, WIDTH), [-1])),
        (ValueError, "means: ", lambda m: it.without_heads(
            m, {FIRST: [0]}, means={FIRST: torch.ones(2, 3)})),
        (TypeError, "weights: .* coma", lambda m: it.mixing(m, {FIRST: THREE > 0}).__enter__()),
        (TypeError, "weights: .* coma", lambda m: it.mass_on(THREE > 0, it.previous_target(3))),
        (TypeError, "target: ", lambda m: it.mass_on(THREE, torch.ones(3, 3))),
        (TypeError, "target: ", lambda m: it.chance_on(torch.ones(3, 3))),
        (ValueError, "target: .* forma", lambda m: it.chance_on(torch.ones(3) > 0)),
        (ValueError, "target: .*ninguna", lambda m: it.chance_on(torch.ones(3, 3) < 0)),
        (ValueError, "batch: ", lambda m: it.repeated_sequences(0, 4, 4)),
        (ValueError, "length: .* mayor o igual que 1", lambda m: it.repeated_sequences(1, 0, 4)),
        (ValueError, "metric: .*finitas", lambda m: it.patch_effects(
            m, *pair(3), ["encoder"], lambda y: says_four(y) / 0, positions=[None])),
        (TypeError, "states: ", lambda m: it.fit_probe(torch.ones(2, 2).long(), ONES)),
        (ValueError, "states: ", lambda m: it.fit_probe(torch.ones(2, 0), ONES)),
        (TypeError, "labels: ", lambda m: it.fit_probe(torch.ones(2, 2), torch.ones(2))),
        (TypeError, "labels: ", lambda m: it.control_labels(ONES, torch.ones(2))),
        (ValueError, "labels: ", lambda m: it.control_labels(ONES, ONES[0])),
        (ValueError, "labels: ", lambda m: it.control_labels(ONES[:0], ONES[:0])),
        (ValueError, "labels: .*desde 0", lambda m: it.control_labels(ONES, -ONES)),
        (ValueError, "labels: ", lambda m: it.probe_with_control(
            torch.ones(2, 2), ONES[:1], ONES, ONES > 1)),
        (ValueError, "types: ", lambda m: it.probe_with_control(
            torch.ones(2, 2), ONES, ONES[:1], ONES > 1)),
        (TypeError, "train: ", lambda m: it.probe_with_control(
            torch.ones(2, 2), ONES, ONES, ONES)),
        (ValueError, "train: .* con 0 dentro", lambda m: it.probe_with_control(
            torch.ones(2, 2), ONES, ONES, ONES > 1)),
        (ValueError, r"train: .* llegó \(3,\)", lambda m: it.probe_with_control(
            torch.ones(2, 2), ONES, ONES, torch.arange(3) > 0)),
    ],
)  # fmt: skip
def test_bad_input_is_named(error, message, call, copier):
    with pytest.raises(error, match="^" + message):
        call(copier)


def test_without_a_way_to_read():
    with pytest.raises(ValueError, match="^read: "):
        pile = nn.Module()
        pile.encoder = Pile()
        pile.forward = lambda x: pile.encoder(x)
        it.logit_lens(pile, torch.zeros(1, 2, WIDTH))
