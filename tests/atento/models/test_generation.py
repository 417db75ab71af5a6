"""Generar con los modelos: con caché o sin ella, solos o en compañía, con cualquier estrategia."""

from functools import partial

import pytest
import torch
from torch import nn

from atento.decoding import (
    beam_search,
    block_repeated,
    by_wu,
    ends_with,
    greedy,
    penalize_repetition,
    sample,
)
from atento.models.language import LanguageConfig, LanguageModel
from atento.models.positioning import NAMES, RELATIVE
from atento.models.recurrent import RecurrentConfig, RecurrentSeq2Seq
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.rng import generator

VOCAB = 11
SIZES = {"d_model": 16, "n_heads": 4, "d_ff": 24}
STARTS = torch.tensor([[5, 0, 0, 0], [3, 4, 5, 6], [7, 8, 0, 0], [9, 3, 1, 0]])
SOURCES = torch.tensor([[3, 4, 5, 6, 2], [7, 2, 0, 0, 0], [7, 8, 2, 0, 0], [10, 9, 8, 2, 0]])


def scramble(module):
    """Pesos grandes, salvo en normas y embeddings: así escribe de todo, y no siempre lo mismo."""
    torch.manual_seed(1)
    for name, parameter in module.named_parameters():
        if "norm" not in name:
            nn.init.normal_(parameter, std=0.3 if "embed" in name else 1.0)
    return module.double().eval()


@pytest.mark.parametrize("name", ["language", "seq2seq"])
def test_the_models_of_these_tests_write_of_everything(name):
    if name == "language":
        written = language().generate(STARTS, eos_id=2, max_length=10)
    else:
        written = seq2seq().generate(SOURCES, max_length=10)
    assert written.unique().numel() >= 6 and len({tuple(row) for row in written.tolist()}) >= 3
    assert len({len(words(row)) for row in written}) > 1


def test_what_is_generated_serves_to_train():
    net, both = language(), seq2seq()
    written = net.generate(STARTS[1:2], eos_id=-1, max_length=4) + 1
    net(written % VOCAB).sum().backward()
    found = both.generate(SOURCES, max_length=4, strategy=beam_search, beams=2, history=True)
    assert not any(part.is_inference() for part in (*found[:4], *found.history[0]))
    target = torch.cat([torch.ones(4, 1, dtype=torch.long), found.best.clamp(min=3)], dim=1)
    both(SOURCES, target).sum().backward()
    assert net.project.weight.grad is not None and both.project.weight.grad is not None


def test_a_state_of_other_rows_is_named_after_the_first_step():
    """Los pasos siguientes abren las puertas de dentro; las de fuera siguen en su sitio."""
    net, both = language(), seq2seq()
    _, state = net.step(STARTS[1:2])
    with pytest.raises(ValueError, match="^cache: guarda key de forma"):
        net.step(torch.ones(3, 5, dtype=torch.long), state)
    with pytest.raises(ValueError, match="^ids: se esperaban números entre 0 y 10"):
        net.step(torch.full((1, 5), 11), state)
    short = language(positions="learned", max_len=4)
    with pytest.raises(ValueError, match="^positions: se esperaban enteros entre 0 y 3"):
        short.generate(STARTS[1:2], eos_id=-1, max_length=3)
    _, state = both.step(SOURCES[:, :1], both.start(both.encode(SOURCES)))
    with pytest.raises(ValueError, match="^ids: el eje «batch» mide 2"):
        both.step(SOURCES[:2, :2], state)


def language(**changes):
    return scramble(LanguageModel(LanguageConfig(VOCAB, **{**SIZES, **changes})))


def seq2seq(**changes):
    return scramble(Seq2Seq(Seq2SeqConfig.tiny(VOCAB, tying="none", **{**SIZES, **changes})))


def wrapped(strategy, wrap):
    return lambda step, start, **options: strategy(wrap(step), start, **options)


def strategies():
    """Cada estrategia, con sus opciones; los dados se vuelven a tirar cada vez."""
    quiet = partial(penalize_repetition, penalty=1.5, pad_id=0)
    fresh = partial(block_repeated, n=2, pad_id=0)
    return {
        "voraz": {"strategy": greedy},
        "voraz sin repetir": {"strategy": wrapped(greedy, quiet)},
        "voraz hasta": {"strategy": greedy, "stop": ends_with([4])},
        "haz de 1": {"strategy": beam_search, "beams": 1},
        "haz de 4": {"strategy": beam_search, "beams": 4, "n_best": 3},
        "haz con castigo": {"strategy": beam_search, "beams": 3, "length_penalty": by_wu(0.6)},
        "haz sin parejas": {"strategy": wrapped(beam_search, fresh), "beams": 3},
        "azar": {"strategy": sample, "generator": generator(3)},
        "azar con filtros": {
            "strategy": sample,
            **{"temperature": 1.5, "top_k": 8, "top_p": 0.95, "min_p": 0.01},
            "generator": generator(4),
        },
        "tres al azar": {"strategy": sample, "n_samples": 3, "generator": generator(5)},
    }


EVERY = pytest.mark.parametrize("name", strategies())


def rows(result):
    """Lo escrito en cada fila, y sus puntuaciones si las hay, para comparar."""
    if isinstance(result, torch.Tensor):
        return [[words(x) for x in row.view(-1, row.shape[-1])] for row in result]
    together = zip(result.ids, result.lengths, result.scores, strict=True)
    return [
        [(x[:n].tolist(), round(s.item(), 9)) for x, n, s in zip(*row, strict=True)]
        for row in together
    ]


def words(row):
    """Hasta el fin, o sin los ceros que rellenan."""
    row = row.tolist()
    if 2 in row:
        return row[: row.index(2) + 1]
    while row and row[-1] == 0:
        row.pop()
    return row


# --- Con caché, o recalculando --------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_language_cache_equals_recomputation(name, positions):
    net = language(positions=positions)
    options = {"eos_id": 2, "max_length": 10}
    cached, again = (
        net.generate(STARTS, cache=cache, **options, **strategies()[name])
        for cache in (True, False)
    )
    assert rows(cached) == rows(again)


@EVERY
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_seq2seq_cache_equals_recomputation(name, positions):
    cross = positions if positions in RELATIVE else "none"
    net = seq2seq(positions=positions, cross_positions=cross)
    cached, again = (
        net.generate(SOURCES, max_length=10, cache=cache, **strategies()[name])
        for cache in (True, False)
    )
    assert rows(cached) == rows(again)


@pytest.mark.parametrize("positions", NAMES)
def test_every_scheme_in_the_beam(positions):
    net, cross = language(positions=positions), positions if positions in RELATIVE else "none"
    both = seq2seq(positions=positions, cross_positions=cross)
    beam = strategies()["haz de 4"]
    for generate, given in (
        (partial(net.generate, eos_id=2), STARTS),
        (both.generate, SOURCES),
    ):
        cached = generate(given, max_length=8, **beam)
        assert rows(cached) == rows(generate(given, max_length=8, cache=False, **beam))
        for i in range(4):
            assert rows(generate(given[i : i + 1], max_length=8, **beam))[0] == rows(cached)[i]


# --- Solos, o en compañía -------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("kind", [language, seq2seq])
def test_padding_and_companions_change_nothing(name, kind):
    """Cada fila, sin su relleno, da lo mismo que con él y con las demás."""
    net, given = kind(), STARTS if kind is language else SOURCES
    options = {"max_length": 9, **({"eos_id": 2} if kind is language else {})}
    together = rows(net.generate(given, **options, **strategies()[name]))
    for i, row in enumerate(given):
        if "azar" not in name or i == 0:  # los dados de las demás filas son otros
            alone = row[None, : int((row != 0).sum())]
            assert rows(net.generate(alone, **options, **strategies()[name]))[0] == together[i]
    if "azar" in name:  # con sus mismos dados, da igual qué escriban las otras
        others = given.flip(0).clone()
        others[2] = given[2]
        again = rows(net.generate(others, **options, **strategies()[name]))
        assert again[2] == together[2]


@pytest.mark.parametrize("positions", NAMES)
def test_padding_in_front_or_behind_is_the_same(positions, shape_checks):
    net = language(positions=positions)
    behind = torch.tensor([[5, 0, 0], [3, 4, 6], [7, 8, 0]])
    front = torch.tensor([[0, 0, 5], [3, 4, 6], [0, 7, 8]])
    expected = net.generate(behind, eos_id=2, max_length=6)
    assert net.generate(front, eos_id=2, max_length=6).tolist() == expected.tolist()
    logits, state = net.step(front)
    assert logits.isfinite().all()
    for i, n in enumerate((1, 3, 2)):
        alone, _ = net.step(front[i : i + 1, 3 - n :])
        torch.testing.assert_close(logits[i : i + 1], alone, rtol=0, atol=1e-9)
    grown = torch.cat(
        [front, torch.tensor([[4], [0], [9]])], dim=1
    )  # un 0 ya escrito no es relleno
    both = net.step(grown, state)[0], net.step(grown)[0]
    torch.testing.assert_close(*both, rtol=0, atol=1e-9)
    alone, _ = net.step(torch.tensor([[3, 4, 6, 0]]))
    torch.testing.assert_close(both[0][1:2], alone, rtol=0, atol=1e-9)


def test_without_padding_every_number_is_a_word():
    net = language(pad_id=None)
    mixed = torch.tensor([[0, 3, 0], [4, 0, 0]])
    together = net.generate(mixed, eos_id=2, max_length=6, stop=lambda w: w.sum(1) > 30)
    for i in (0, 1):
        alone = net.generate(mixed[i : i + 1], eos_id=2, max_length=6, stop=lambda w: w.sum(1) > 30)
        assert alone[0].tolist() == together[i, : alone.shape[1]].tolist()


@pytest.mark.parametrize(
    ("message", "start"),
    [
        ("start: se esperaba alguna palabra en cada comienzo; la fila 1", [[3, 4], [0, 0]]),
        ("start: se esperaba el relleno .* a un lado", [[3, 0, 4]]),
        ("start: se esperaba el relleno .* a un lado", [[0, 3, 0]]),
    ],
)
def test_bad_starts_are_named(message, start):
    with pytest.raises(ValueError, match="^" + message):
        language().generate(torch.tensor(start), eos_id=2)


@pytest.mark.parametrize("name", ["language", "seq2seq"])
@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("strategy: se esperaba una función .* llegó 'beam'", {"strategy": "beam"}),
        ("strategy: se esperaba una función .* llegó None", {"strategy": None}),
        ("cache: se esperaba True o False; llegó 'no'", {"cache": "no"}),
    ],
)
def test_bad_ways_of_writing_are_named(name, message, options):
    call = partial(language().generate, STARTS, eos_id=2)
    call = call if name == "language" else partial(seq2seq().generate, SOURCES)
    with pytest.raises(TypeError, match="^" + message):
        call(**options)


# --- Las recurrentes también ----------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("attention", [True, False])
def test_recurrent_states_follow_their_beam(cell, attention):
    config = RecurrentConfig(VOCAB, VOCAB, 8, 12, 6, cell=cell, attention=attention)
    net = scramble(RecurrentSeq2Seq(config))
    start = torch.ones(4, 1, dtype=torch.long)
    options = {"eos_id": 2, "max_length": 7}
    one = beam_search(net.step, start, beams=1, state=lambda: net.encode(SOURCES), **options)
    assert one.best.tolist() == net.translate(SOURCES, max_length=7).tolist()
    found = beam_search(
        net.step, start, beams=4, n_best=4, state=lambda: net.encode(SOURCES), **options
    )
    for i, row in enumerate(SOURCES):
        for ids, n, score in zip(found.ids[i], found.lengths[i], found.scores[i], strict=True):
            target = torch.cat([start[0], ids[:n]])[None]
            logits, _ = net(row[None, : int((row != 0).sum())], target[:, :-1])
            total = logits.log_softmax(-1)[0].gather(1, target[0, 1:, None]).sum()
            torch.testing.assert_close(score, total.detach(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["haz de 4", "haz con castigo"])
def test_scores_are_the_sum_of_what_the_model_says(name):
    net, penalty = seq2seq(), by_wu(0.6) if "castigo" in name else lambda n: 1.0
    found = net.generate(SOURCES, max_length=9, **strategies()[name])
    for i, row in enumerate(SOURCES):
        for ids, n, score in zip(found.ids[i], found.lengths[i], found.scores[i], strict=True):
            target = torch.cat([torch.tensor([1]), ids[:n]])[None]
            logits = net.decode(target[:, :-1], net.encode(row[None]))
            total = logits.log_softmax(-1)[0].gather(1, target[0, 1:, None]).sum()
            expected = total.detach() / penalty(int(n))
            torch.testing.assert_close(score, expected, rtol=0, atol=1e-9)
