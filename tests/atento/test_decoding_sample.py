"""El muestreo: los filtros, mirados a mano y con χ²; los dados, las copias y las paradas."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from atento import decoding
from atento.decoding import (
    block_repeated,
    draw,
    ends_with,
    greedy,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    penalize_repetition,
    recomputing,
    sample,
    select,
    with_temperature,
)
from atento.rng import generator

EOS = 2
F64 = torch.float64


def start(n):
    return torch.ones(n, 1, dtype=torch.long)


def flat_step(logits):
    """Siempre las mismas puntuaciones."""
    return lambda ids, state: (logits.expand(len(ids), -1), state)


def random_step(seed, vocab, scale=1.0):
    weights = scale * torch.randn(61, vocab, generator=generator(seed), dtype=F64)
    return lambda ids, state: (weights[(ids * 7 ** torch.arange(ids.shape[1])).sum(1) % 61], state)


def kept(logits):
    return set((logits > -math.inf).nonzero().flatten().tolist())


def probabilities(*values):
    return torch.tensor(values, dtype=F64).log()


# --- Los filtros, uno a uno -----------------------------------------------------------------------

MASSES = st.lists(st.integers(0, 6), min_size=1, max_size=7).filter(any)


@settings(max_examples=300)
@given(masses=MASSES, sixteenths=st.integers(1, 16))
def test_the_nucleus_is_the_smallest_set(masses, sixteenths):
    """Por fuerza bruta, con pesos enteros y muchos empates: ninguno menor junta tanta masa."""
    p, total = sixteenths / 16, sum(masses)
    nucleus = kept(keep_top_p(probabilities(*masses), p))
    enough = [
        chosen
        for size in range(len(masses) + 1)
        for chosen in itertools.combinations(range(len(masses)), size)
        if 16 * sum(masses[i] for i in chosen) >= sixteenths * total
    ]
    smallest = min(map(len, enough))
    heaviest = max(sum(masses[i] for i in c) for c in enough if len(c) == smallest)
    first = min(c for c in enough if len(c) == smallest and sum(masses[i] for i in c) == heaviest)
    assert nucleus == set(first)


def test_the_nucleus_on_the_edge():
    quarters = probabilities(0.25, 0.25, 0.25, 0.25)
    assert kept(keep_top_p(quarters, 0.5)) == {0, 1}
    assert kept(keep_top_p(quarters, 0.5001)) == {0, 1, 2}
    assert kept(keep_top_p(probabilities(0.02, 0.95, 0.03), 0.9)) == {1}  # nunca queda vacío
    assert kept(keep_top_p(quarters, 1e-9)) == {0}
    assert torch.equal(keep_top_p(quarters, 1), quarters)
    wide = torch.randn(50_000, generator=generator(0))
    assert len(kept(keep_top_p(wide, 1.0))) == 50_000  # con 1 nada se pierde en el redondeo


@settings(max_examples=100)
@given(masses=MASSES, k=st.integers(1, 9))
def test_top_k_keeps_k_also_with_ties(masses, k):
    order = sorted(range(len(masses)), key=lambda i: (-masses[i], i))[:k]
    expected = {i for i in order if masses[i]}
    assert kept(keep_top_k(probabilities(*masses), k)) == expected


@settings(max_examples=100)
@given(masses=MASSES, sixteenths=st.integers(1, 16))
def test_min_p_compares_with_the_best(masses, sixteenths):
    limit = sixteenths / 16 * max(masses)
    expected = {i for i, m in enumerate(masses) if m >= limit * (1 - 1e-12) and m}
    logits = keep_min_p(probabilities(*masses), sixteenths / 16)
    unsure = {i for i, m in enumerate(masses) if abs(m - limit) < 1e-9 and m != max(masses)}
    assert kept(logits) - unsure == expected - unsure
    assert kept(keep_min_p(probabilities(1, 3, 3), 1)) == {1, 2}


def test_temperature_is_the_power_of_the_probability():
    p = torch.tensor([0.5, 0.3, 0.2], dtype=F64)
    for tau in (0.25, 1.0, 3.0):
        expected = p ** (1 / tau) / (p ** (1 / tau)).sum()
        torch.testing.assert_close(with_temperature(p.log(), tau).softmax(-1), expected)
    tiny = with_temperature(torch.tensor([1e4, 1e4 - 1, -math.inf]), 1e-30)
    assert tiny.softmax(-1).tolist() == [1.0, 0.0, 0.0]


def test_filters_keep_values_compose_and_take_any_axes():
    logits = torch.randn(2, 3, 9, generator=generator(1), dtype=F64)
    for keep in (lambda x: keep_top_k(x, 4), lambda x: keep_top_p(x, 0.7)):
        filtered = keep(logits)
        assert filtered.shape == logits.shape
        assert torch.equal(filtered[filtered > -math.inf], logits[filtered > -math.inf])
        torch.testing.assert_close(filtered[1, 2], keep(logits[1, 2]))
    both = keep_min_p(keep_top_p(keep_top_k(logits, 5), 0.8), 0.2)
    assert (both > -math.inf).any(-1).all() and (both > -math.inf).sum() < 5 * 6


def test_filters_equal_those_of_transformers():
    from transformers import generation as theirs

    logits = torch.randn(50, 40, generator=generator(2), dtype=F64)
    ids = torch.randint(0, 40, (50, 12), generator=generator(3))
    pairs = [
        (keep_top_k(logits, 7), theirs.TopKLogitsWarper(7)(ids, logits)),
        (keep_top_p(logits, 0.6), theirs.TopPLogitsWarper(0.6)(ids, logits)),
        (keep_min_p(logits, 0.3), theirs.MinPLogitsWarper(0.3)(ids, logits)),
        (
            with_temperature(logits, 0.7).log_softmax(-1),
            theirs.TemperatureLogitsWarper(0.7)(ids, logits).log_softmax(-1),
        ),
    ]
    for mine, other in pairs:
        torch.testing.assert_close(mine, other)


# --- El sorteo ------------------------------------------------------------------------------------

FILTERS = [
    ({}, lambda x: x),
    ({"temperature": 0.5}, lambda x: with_temperature(x, 0.5)),
    ({"temperature": 2.0}, lambda x: with_temperature(x, 2.0)),
    ({"top_k": 4}, lambda x: keep_top_k(x, 4)),
    ({"top_p": 0.7}, lambda x: keep_top_p(x, 0.7)),
    ({"min_p": 0.2}, lambda x: keep_min_p(x, 0.2)),
    (
        {"temperature": 1.5, "top_k": 6, "top_p": 0.9, "min_p": 0.1},
        lambda x: keep_min_p(keep_top_p(keep_top_k(with_temperature(x, 1.5), 6), 0.9), 0.1),
    ),
]


@pytest.mark.parametrize(("options", "keep"), FILTERS)
def test_chi_square_of_a_hundred_thousand_draws(options, keep):
    logits = torch.randn(1, 10, generator=generator(4))
    rules = {"eos_id": -1, "max_length": 50, "n_samples": 2000, "generator": generator(5)}
    words = sample(flat_step(logits), start(1), **rules, **options)
    counts = torch.bincount(words.flatten(), minlength=10)
    expected = keep(logits)[0].double().softmax(-1) * 100_000
    possible = expected > 0
    assert counts.sum() == 100_000 and counts[~possible].sum() == 0
    assert chisquare(counts[possible], expected[possible]).pvalue > 1e-3
    if len(kept(keep(logits)[0])) > 1:  # otra distribución parecida sí se nota
        other = (1.05 * keep(logits)[0].double()).softmax(-1)[possible] * 100_000
        assert chisquare(counts[possible], other).pvalue < 1e-3


def test_each_die_falls_in_its_own_piece():
    logits = probabilities(0.0, 0.5, 0.25, 0.0, 0.25, 0.0).expand(6, -1)
    dice = torch.tensor([0.0, 0.4999, 0.5, 0.7499, 0.75, 1 - 2**-24])
    assert draw(logits, dice).tolist() == [1, 1, 2, 2, 4, 4]


@settings(max_examples=200)
@given(seed=st.integers(0, 10_000), vocab=st.integers(1, 300), wide=st.booleans())
def test_the_last_die_never_falls_outside(seed, vocab, wide):
    logits = 5 * torch.randn(1, vocab, generator=generator(seed), dtype=F64 if wide else None)
    logits[:, vocab // 2 + 1 :] = -math.inf
    assert draw(logits, torch.tensor([1 - 2**-24])).item() <= vocab // 2


@pytest.mark.parametrize("seed", range(4))
def test_towards_zero_temperature_it_is_greedy(seed):
    step, options = random_step(seed, 7), {"eos_id": EOS, "max_length": 15}
    first = torch.tensor([[1], [3], [6]])
    expected = greedy(step, first, **options).tolist()
    for cold in ({"temperature": 1e-6}, {"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}):
        assert sample(step, first, generator=generator(9), **cold, **options).tolist() == expected
    hot = sample(step, first, generator=generator(9), temperature=3.0, **options).tolist()
    assert hot != expected


def test_samples_of_one_start_and_its_shape():
    step, options = random_step(1, 7), {"eos_id": EOS, "max_length": 9}
    many = sample(step, start(2), n_samples=5, generator=generator(0), **options)
    assert many.shape[:2] == (2, 5) and len({tuple(row) for row in many[0].tolist()}) > 1
    rows = sample(step, start(10), generator=generator(0), **options)
    assert many.flatten(0, 1).tolist() == rows.tolist()  # lo mismo, leyendo el comienzo diez veces
    assert sample(step, start(2), n_samples=1, **options).shape[:2] == (2, 1)
    again = sample(step, start(2), n_samples=5, generator=generator(0), **options)
    assert torch.equal(many, again)


def test_the_start_is_read_once_and_its_state_copied():
    sizes = []

    def step(ids, state):
        sizes.append(len(ids))
        state = ids.double() if state is None else state
        assert torch.equal(state[:, 0], ids[:, 0].double())
        return torch.zeros(len(ids), 5, dtype=F64), torch.cat([state, state[:, :1]], 1)

    sample(step, torch.tensor([[3], [4]]), n_samples=3, eos_id=-1, max_length=3)
    assert sizes == [2, 6, 6]


def test_companions_change_nothing_with_the_same_generator():
    step, options = random_step(6, 7), {"eos_id": EOS, "max_length": 12, "temperature": 1.5}
    first = torch.tensor([[1, 3], [4, 4], [5, 6], [3, 3]])
    together = sample(step, first, generator=generator(3), **options)
    fewer = sample(step, first[:2], generator=generator(3), **options)
    other = sample(
        step, torch.tensor([[1, 3], [0, 0], [6, 5], [3, 3]]), generator=generator(3), **options
    )
    for row in (0, 1):
        assert trimmed(fewer[row]) == trimmed(together[row])
    for row in (0, 3):
        assert trimmed(other[row]) == trimmed(together[row])


def trimmed(row):
    words = row.tolist()
    return words[: words.index(EOS) + 1] if EOS in words else words


def test_the_global_generator_also_serves():
    options = {"eos_id": -1, "max_length": 20}
    torch.manual_seed(4)
    first = sample(random_step(1, 7), start(1), **options)
    assert sample(random_step(1, 7), start(1), **options).tolist() != first.tolist()
    torch.manual_seed(4)
    assert sample(random_step(1, 7), start(1), **options).tolist() == first.tolist()


def test_empty_batch_and_no_gradient():
    weight = torch.nn.Parameter(torch.zeros(1, 4))
    assert sample(flat_step(weight), start(0), eos_id=2, max_length=3).shape == (0, 0)
    many = sample(flat_step(weight), start(0), eos_id=2, max_length=3, n_samples=3)
    assert many.shape == (0, 3, 0)
    assert not sample(flat_step(weight), start(1), eos_id=2, max_length=3).requires_grad


# --- Parar ----------------------------------------------------------------------------------------


def test_the_rule_of_the_user_stops_each_row():
    logits = torch.zeros(1, 9, dtype=F64)
    options = {"eos_id": EOS, "max_length": 40, "generator": generator(0), "pad_id": 8}
    out = sample(flat_step(logits), start(20), stop=lambda w: w.sum(1) > 12, **options)
    for row in out.tolist():
        n = next(i for i in range(1, len(row) + 1) if sum(row[:i]) > 12 or row[i - 1] == EOS)
        assert set(row[n:]) <= {8}


def test_ends_with_waits_for_the_whole_sequence():
    script = [5, 6, 5, 6, 7, 6, 7, 9]

    def step(ids, state):
        word = torch.tensor(script)[ids.shape[1] - 1]
        return torch.nn.functional.one_hot(word, 10).double().expand(len(ids), -1), state

    options = {"eos_id": EOS, "max_length": 8}
    assert greedy(step, start(1), stop=ends_with([6, 7]), **options).tolist() == [script[:5]]
    assert greedy(step, start(1), stop=ends_with([5, 6, 7]), **options).tolist() == [script[:5]]
    assert greedy(step, start(1), stop=ends_with([9, 9]), **options).tolist() == [script]
    for bad in ([], 3, "no"):
        with pytest.raises(ValueError, match="^words: se esperaba una lista"):
            ends_with(bad)
    with pytest.raises(TypeError, match=r"^words\[1\]: se esperaba un entero; llegó str"):
        ends_with([3, "no"])


# --- Envolver un paso -----------------------------------------------------------------------------


def test_repetition_equals_that_of_transformers():
    from transformers import generation as theirs

    step = random_step(2, 6)
    for seed, n in itertools.product(range(5), (1, 2, 3)):
        ids = torch.randint(0, 6, (4, 9), generator=generator(seed))
        logits, _ = step(ids, None)
        mine, _ = penalize_repetition(step, 1.3)(ids, None)
        torch.testing.assert_close(mine, theirs.RepetitionPenaltyLogitsProcessor(1.3)(ids, logits))
        if n > 1:  # con uno se prohíbe todo lo escrito, y puede no quedar nada
            mine, _ = block_repeated(step, n)(ids, None)
            other = theirs.NoRepeatNGramLogitsProcessor(n)(ids, logits.clone())
            torch.testing.assert_close(mine, other)


def test_block_repeated_blocks_and_ignores_padding():
    zeros = flat_step(torch.zeros(1, 8, dtype=F64))
    ids = torch.tensor([[0, 0, 3, 4, 3]])
    assert (block_repeated(zeros, 2)(ids, None)[0] == -math.inf).nonzero().tolist() == [[0, 4]]
    assert block_repeated(zeros, 6)(ids, None)[0].isfinite().all()
    assert (
        block_repeated(zeros, 1)(ids, None)[0][0] == -math.inf
    ).nonzero().flatten().tolist() == [
        0,
        3,
        4,
    ]
    assert block_repeated(zeros, 1, pad_id=0)(ids, None)[0][0, 0] == 0
    padded, alone = torch.tensor([[0, 0, 3, 0]]), torch.tensor([[3, 0]])
    for n in (1, 2):
        a, b = (block_repeated(zeros, n, pad_id=0)(x, None)[0] for x in (padded, alone))
        assert torch.equal(a, b)
    row = random_step(4, 6)(alone, None)[0]
    fixed = flat_step(row)
    a, b = (penalize_repetition(fixed, 1.5, pad_id=0)(x, None)[0] for x in (padded, alone))
    assert torch.equal(a, b) and not torch.equal(a, row)


def test_a_blocked_beam_never_repeats_a_pair():
    step = block_repeated(random_step(3, 5), 2)
    found = decoding.beam_search(step, start(1), beams=6, n_best=6, eos_id=EOS, max_length=9)
    for words, n in zip(found.ids[0].tolist(), found.lengths[0].tolist(), strict=True):
        pairs = list(itertools.pairwise([1, *words[:n]]))
        assert len(pairs) == len(set(pairs))


def test_recomputing_forgets():
    states = []

    def step(ids, state):
        states.append(state)
        return torch.zeros(1, 5, dtype=F64), state + 1

    greedy(step, start(1), eos_id=EOS, max_length=3, state=4)
    greedy(recomputing(step), start(1), eos_id=EOS, max_length=3, state=4)
    assert states == [4, 5, 6, 4, 4, 4]


def test_select_goes_through_any_state():
    x, rows = torch.arange(6.0).view(3, 2), torch.tensor([2, 0, 2])
    chosen = select({"a": (x, None), "b": [x]}, rows)
    assert chosen["a"][1] is None and isinstance(chosen["a"], tuple)
    assert torch.equal(chosen["a"][0], x[rows]) and torch.equal(chosen["b"][0], x[rows])
    with pytest.raises(TypeError, match=r"^state: se esperaba None, un tensor .*; llegó int"):
        select((x, 3), rows)


# --- Lo que no sirve ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "message", "changes"),
    [
        (ValueError, "temperature: .* mayor que 0; llegó 0.*greedy", {"temperature": 0}),
        (ValueError, "temperature: .* mayor que 0; llegó -1", {"temperature": -1.0}),
        (ValueError, "temperature: .* finito .*; llegó inf", {"temperature": math.inf}),
        (TypeError, "temperature: se esperaba un número; llegó NoneType", {"temperature": None}),
        (ValueError, "top_k: .* mayor o igual que 1; llegó 0", {"top_k": 0}),
        (TypeError, "top_k: se esperaba un entero; llegó float", {"top_k": 5.0}),
        (ValueError, r"top_p: se esperaba un número en \(0, 1\]; llegó 0", {"top_p": 0.0}),
        (ValueError, r"top_p: se esperaba un número en \(0, 1\]; llegó 1.1", {"top_p": 1.1}),
        (ValueError, r"min_p: se esperaba un número en \(0, 1\]; llegó nan", {"min_p": math.nan}),
        (TypeError, "min_p: se esperaba un número; llegó bool", {"min_p": True}),
        (ValueError, "n_samples: .* mayor o igual que 1; llegó 0", {"n_samples": 0}),
        (TypeError, "generator: se esperaba un torch.Generator; llegó int", {"generator": 3}),
        (TypeError, "stop: se esperaba una función", {"stop": [2]}),
        (ValueError, "logits: .*NaN", {"step": flat_step(torch.full((1, 5), math.nan))}),
        (ValueError, r"logits: .*\+inf", {"step": flat_step(torch.full((1, 5), math.inf))}),
        (ValueError, "logits: .*permitida", {"step": flat_step(torch.full((1, 5), -math.inf))}),
        (TypeError, "logits: .* coma flotante", {"step": flat_step(torch.ones(1, 5).long())}),
        (
            TypeError,
            "state: se esperaba None",
            {"n_samples": 2, "step": lambda ids, s: (torch.zeros(1, 5), 3)},
        ),
        (ValueError, "n_samples: .*; llegó 0", {"n_samples": 0}),
        (TypeError, "top_p: se esperaba un número; llegó str", {"top_p": "0.9"}),
        (ValueError, r"start: .*llegó \(3,\)", {"start": torch.ones(3, dtype=torch.long)}),
        (
            ValueError,
            r"logits: .*batch=1, vocab\); devolvió \(2, 5\)",
            {"step": lambda ids, s: (torch.zeros(2, 5), s)},
        ),
        (
            TypeError,
            r"step: .*\(logits, state\); devolvió tuple",
            {"step": lambda ids, s: (torch.zeros(1, 5), s, s)},
        ),
    ],
)
def test_bad_input_is_named(kind, message, changes):
    options = {"step": random_step(0, 5), "start": start(1), "eos_id": EOS, "max_length": 3}
    with pytest.raises(kind, match="^" + message):
        sample(**{**options, **changes})


def test_a_generator_of_another_device_is_named(monkeypatch):
    class Elsewhere(torch.Generator):
        device = torch.device("cuda")

    with pytest.raises(ValueError, match=r"^generator: se esperaba en cpu.*; está en cuda\. Hazlo"):
        sample(random_step(0, 5), start(1), eos_id=EOS, max_length=3, generator=Elsewhere())


@pytest.mark.parametrize(
    ("keep", "bad"),
    [(with_temperature, 0.0), (keep_top_k, 0), (keep_top_p, 1.5), (keep_min_p, 0.0)],
)
def test_bad_filters(keep, bad):
    with pytest.raises(ValueError, match="^(temperature|k|p): se esperaba"):
        keep(torch.zeros(5), bad)
    with pytest.raises(ValueError, match="^logits: .*NaN"):
        keep(torch.tensor([0.0, math.nan]), 1)
    with pytest.raises(ValueError, match=r"^logits: se esperaba la forma \(…, vocab\)"):
        keep(torch.tensor(0.0), 1)
    with pytest.raises(ValueError, match=r"^logits: .*con alguna palabra; llegó \(2, 0\)"):
        keep(torch.zeros(2, 0), 1)
    with pytest.raises(TypeError, match="^logits: se esperaba un tensor de PyTorch; llegó list"):
        keep([0.0, 1.0], 1)


def test_bad_dice_and_wrappers():
    with pytest.raises(TypeError, match="^logits: "):
        draw(torch.zeros(2, 3, dtype=torch.long), torch.zeros(2))
    with pytest.raises(ValueError, match="^logits: "):
        draw(torch.full((1, 3), -torch.inf), torch.zeros(1))
    with pytest.raises(TypeError, match="^dice: "):
        draw(torch.zeros(2, 3), torch.zeros(2, dtype=torch.long))
    with pytest.raises(ValueError, match="^dice: se esperaba un dado por fila"):
        draw(torch.zeros(2, 3), torch.zeros(3))
    with pytest.raises(ValueError, match=r"^dice: se esperaban números en \[0, 1\)"):
        draw(torch.zeros(2, 3), torch.tensor([0.5, 1.0]))
    with pytest.raises(ValueError, match=r"^dice: se esperaban números en \[0, 1\)"):
        draw(torch.zeros(2, 3), torch.tensor([0.5, -0.1]))
    with pytest.raises(ValueError, match=r"^dice: .*\(rows, vocab\) = \(2, 2, 3\)"):
        draw(torch.zeros(2, 2, 3), torch.zeros(2))
    assert draw(torch.zeros(2, 3), torch.zeros(2)).tolist() == [0, 0]  # el 0 sí es un dado
    step = random_step(0, 5)
    with pytest.raises(ValueError, match="^penalty: se esperaba un número finito mayor que 0"):
        penalize_repetition(step, 0.0)
    with pytest.raises(ValueError, match="^n: se esperaba un entero mayor o igual que 1"):
        block_repeated(step, 0)
    with pytest.raises(TypeError, match="^step: se esperaba una función; llegó int"):
        recomputing(3)
    with pytest.raises(ValueError, match="^pad_id: "):
        block_repeated(step, 1, pad_id=-1)
    with pytest.raises(ValueError, match="^pad_id: "):
        penalize_repetition(step, 1.5, pad_id=-1)
    for wrap in (penalize_repetition, block_repeated):
        with pytest.raises(TypeError, match="^step: se esperaba una función; llegó int"):
            wrap(3, 2)
