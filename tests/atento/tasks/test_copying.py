"""Copiar: sorteo justo, lotes con su relleno y una puntuación que no regala nada."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng, training
from atento.models.recurrent import RecurrentConfig, RecurrentSeq2Seq, translation_loss
from atento.tasks import copying


def perfect(source):
    """Escribe exactamente lo que lee, con su fin y su relleno."""
    return source.clone()


def test_reproducible_and_advances():
    a, b = rng.generator(4), rng.generator(4)
    first = copying.generate(50, a)
    assert first == copying.generate(50, b) == copying.generate(50, 4) != copying.generate(50, a)
    lots, again = copying.batches(5, 3, 1), copying.batches(5, 3, 1)
    assert all(torch.equal(x.source, y.source) for x, y in zip(lots, again, strict=True))


@given(
    n=st.integers(0, 6),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
)
def test_any_request_is_served(n, lengths, seed):
    examples = copying.generate(n, seed, lengths=lengths)
    assert len(examples) == n and all(len(e) in lengths for e in examples)
    assert all(copying.FIRST_SYMBOL <= x < copying.VOCAB_SIZE for e in examples for x in e)


def test_the_data_is_the_one_the_stored_runs_saw():
    found = copying.generate(3, 0)
    assert [len(example) for example in found] == [20, 17, 11]
    assert found[2] == (10, 7, 8, 7, 19, 9, 3, 11, 16, 13, 16)
    assert {len(example) for example in copying.generate(300, 1)} == set(range(10, 21))


def test_the_draw_is_fair():
    """Longitudes y símbolos, por igual: χ² con 10 y 16 grados de libertad, al 0.1 %."""
    examples = copying.generate(4000, 0)
    for values, options, limit in (
        ([len(e) for e in examples], range(10, 21), 29.6),
        ([x for e in examples for x in e], range(copying.FIRST_SYMBOL, copying.VOCAB_SIZE), 39.3),
    ):
        counts, expected = Counter(values), len(values) / len(options)
        assert set(counts) == set(options)
        assert sum((counts[x] - expected) ** 2 / expected for x in options) < limit
    pairs = Counter(zip(*[[e[i] for e in examples] for i in (0, 1)], strict=True))
    assert len(pairs) == 17**2  # un símbolo no dice nada del siguiente


def test_batch():
    lot = copying.batch([(3, 4, 5), (6,)])
    assert lot.source.tolist() == [[3, 4, 5, 2], [6, 2, 0, 0]]
    assert lot.target.tolist() == [[1, 3, 4, 5, 2], [1, 6, 2, 0, 0]]
    assert lot.inputs.tolist() == [[1, 3, 4, 5], [1, 6, 2, 0]]
    assert lot.labels.tolist() == lot.source.tolist()


def test_batches_have_one_length_each():
    lots = copying.batches(40, 4, 0, lengths=(2, 5))
    assert {lot.source.shape for lot in lots} == {(4, 3), (4, 6)}
    assert all((lot.source[:, :-1] >= copying.FIRST_SYMBOL).all() for lot in lots)
    assert copying.batches(0, 4, 0) == []


def test_score_of_the_perfect_and_the_wrong():
    examples = copying.generate(60, 0, lengths=(2, 5))
    best = copying.score(perfect, examples, batch_size=7)
    assert best["exact"] == best["token"] == 1.0 and best["n"] == 60
    assert set(best["by_length"]) == {2, 5}
    assert sum(row["n"] for row in best["by_length"].values()) == 60

    def first_wrong(source):
        return torch.cat([19 + 3 - source[:, :1], source[:, 1:]], dim=1)  # 11 es su propio espejo

    examples = [e for e in examples if e[0] != 11]
    worse = copying.score(first_wrong, examples)
    assert worse["exact"] == 0.0
    assert worse["by_length"][2]["token"] == pytest.approx(2 / 3)
    assert worse["by_length"][5]["token"] == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    "write, token",
    [
        (lambda source: source[:, :-1], 3 / 4),  # no escribe el fin
        (lambda source: source[:, :1], 1 / 4),  # se queda corto
        (lambda source: source.flip(1), 0 / 4),  # el fin, lo primero
        (lambda source: torch.cat([source[:, :-1], source], 1), 3 / 4),  # no para
        (lambda source: torch.cat([source, source], 1), 4 / 4),  # lo de después del fin no cuenta
    ],
)
def test_where_it_stops_counts(write, token):
    marks = copying.score(write, [(3, 4, 5), (6, 7, 8)])
    assert marks["token"] == pytest.approx(token) and marks["exact"] == float(token == 1)


class Stepper:
    """Un modelo que da pasos: copia, y con ``forever`` no para."""

    def __init__(self, forever=False):
        self.forever = forever

    def encode(self, source):
        return source

    def step(self, ids, state):
        place = ids.shape[1] - 1
        column = state[:, place] if place < state.shape[1] else state[:, 0]
        column = column.masked_fill(column == copying.EOS_ID, 7) if self.forever else column
        return torch.nn.functional.one_hot(column, copying.VOCAB_SIZE).double(), state


def test_a_model_that_steps_writes_alone():
    examples = copying.generate(20, 0, lengths=range(21, 31))
    assert copying.score(Stepper(), examples, batch_size=3)["exact"] == 1.0
    never = copying.copies(Stepper(forever=True), [(3, 4)])
    assert never == [[3, 4, 7, 3, 3]]  # MARGIN símbolos de más, y se le corta
    marks = copying.score(Stepper(forever=True), examples)
    assert marks["exact"] == 0.0 and 0.9 < marks["token"] < 1.0


class Starter(Stepper):
    """Como los modelos que preparan el estado aparte: ``step`` solo entiende el de ``start``."""

    def start(self, encoded):
        return {"source": encoded}

    def step(self, ids, state):
        return super().step(ids, state["source"])[0], state


def test_a_model_that_prepares_its_state_is_scored_too():
    examples = copying.generate(20, 1, lengths=range(2, 6))
    assert copying.score(Starter(), examples)["exact"] == 1.0


def test_copies_keep_the_order():
    examples = copying.generate(30, 2)
    assert [tuple(row[:-1]) for row in copying.copies(perfect, examples, batch_size=4)] == examples


def test_a_model_of_the_library_learns_and_is_scored():
    """Una GRU con atención copia secuencias cortas, y de su modo no cambia nada."""
    size = copying.VOCAB_SIZE
    model = RecurrentSeq2Seq(
        RecurrentConfig(source_vocab=size, target_vocab=size, d_model=32, d_hidden=64)
    )
    held_out = copying.generate(100, 99, lengths=(2, 3))
    before = copying.score(model, held_out)
    lots = copying.batches(200, 64, 1, lengths=(2, 3))
    optimizer = lambda p: torch.optim.AdamW(p, lr=3e-3)  # noqa: E731
    training.fit(model, lots, translation_loss, steps=200, optimizer=optimizer)
    model.encoder.eval()
    after = copying.score(model, held_out)
    assert before["exact"] < 0.1 and after["exact"] > 0.9, (before, after)
    assert model.training and not model.encoder.training


def test_errors():
    for lengths in ((), 0, (3, 0), 2.5, (2, True), ("3",)):
        with pytest.raises(ValueError, match="^lengths: se esperaban enteros positivos; llegó"):
            copying.generate(1, 0, lengths=lengths)
    with pytest.raises(ValueError, match="^n: "):
        copying.generate(-1, 0)
    with pytest.raises(TypeError, match="^rng: se esperaba un torch.Generator"):
        copying.batches(1, 1, "0")
    with pytest.raises(ValueError, match="^size: "):
        copying.batches(1, 0, 0)
    with pytest.raises(ValueError, match="^examples: se esperaba al menos un ejemplo"):
        copying.batch([])
    for bad in [(2, 3)], [(20,)], [()]:
        with pytest.raises(ValueError, match="^examples: se esperaban símbolos de 3 a 19"):
            copying.score(perfect, bad)
    with pytest.raises(TypeError, match="^model: se esperaba un modelo con encode y step"):
        copying.score(3, [(3,)])
    with pytest.raises(ValueError, match=r"^model: .*\(batch=1, …\); devolvió \(2,\)"):
        copying.score(lambda source: source[0], [(3,)])
    with pytest.raises(ValueError, match="^model: .* devolvió list"):
        copying.score(lambda source: source.tolist(), [(3,)])
    with pytest.raises(ValueError, match="^device: "):
        copying.score(perfect, [(3,)], device="gpu")
    with pytest.raises(ValueError, match="^batch_size: "):
        copying.copies(perfect, [(3,)], batch_size=0)
