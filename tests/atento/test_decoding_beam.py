"""La búsqueda en haz: igual a la exhaustiva y a la de transformers, y con la parada justa."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from atento.decoding import beam_search, by_length, by_total, by_wu, greedy, tree
from atento.rng import generator

EOS = 2
F64 = torch.float64
PENALTIES = [by_total, by_length(1.0), by_length(0.6), by_wu(0.6), by_wu(1.0), by_length(-0.5)]


def start(n):
    return torch.ones(n, 1, dtype=torch.long)


def random_step(seed, vocab, *, memory=True, scale=2.0):
    """Un modelo al azar: las puntuaciones dependen de todo lo escrito, o solo de cuánto es."""
    weights = scale * torch.randn(64, vocab, generator=generator(seed), dtype=F64)

    def step(ids, state):
        powers = 7 ** torch.arange(ids.shape[1])
        key = (((ids + 1) * powers).sum(1) if memory else 0 * ids[:, 0] + ids.shape[1]) % 61
        return weights[key], state

    return step


def every_hypothesis(step, vocab, max_length, eos_id, first=(1,)):
    """Todas las frases posibles: acaban en ``eos_id`` o miden ``max_length``. Y su log-prob."""
    found = {}
    for length in range(1, max_length + 1):
        for words in itertools.product(range(vocab), repeat=length):
            if eos_id in words[:-1] or (words[-1] != eos_id and length < max_length):
                continue
            found[words] = log_prob(step, words, first)
    return found


def log_prob(step, words, first=(1,)):
    total, ids = 0.0, list(first)
    for word in words:
        logits, _ = step(torch.tensor([ids]), None)
        total += logits.log_softmax(-1)[0, word].item()
        ids.append(word)
    return total


def written(hypotheses, row=0):
    """Las frases de una fila, sin relleno, con su puntuación."""
    ids, scores, _, lengths = (part[row].tolist() for part in hypotheses[:4])
    return [(tuple(i[:n]), s) for i, s, n in zip(ids, scores, lengths, strict=True) if n]


def close(a, b, tolerance=1e-9):
    assert abs(a - b) <= tolerance, (a, b)


# --- Frente a mirarlo todo ------------------------------------------------------------------------


@pytest.mark.parametrize("vocab", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("max_length", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("memory", [True, False])
def test_wide_enough_it_is_exhaustive(vocab, max_length, memory):
    seed = 100 * vocab + 10 * max_length + memory
    step, eos_id = random_step(seed, vocab, memory=memory), min(EOS, vocab - 1)
    every = every_hypothesis(step, vocab, max_length, eos_id)
    if vocab == max_length == 5:
        penalties = [by_wu(0.6)]
    else:
        penalties = PENALTIES
    for penalty in penalties:
        ranked = sorted(((p / penalty(len(w)), w) for w, p in every.items()), reverse=True)
        n_best = min(7, len(ranked))
        options = {"beams": max(7, vocab**max_length), "n_best": 7, "length_penalty": penalty}
        found = beam_search(step, start(1), eos_id=eos_id, max_length=max_length, **options)
        mine = written(found)
        assert len(mine) == n_best
        for (words, score), (expected, best) in zip(mine, ranked[:n_best], strict=True):
            close(score, expected)
            close(every[words] / penalty(len(words)), expected)  # con empates, otra igual de buena
            assert memory is False or words == best
        assert (found.scores[0, n_best:] == -math.inf).all()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    vocab=st.integers(3, 5),
    max_length=st.integers(1, 4),
    beams=st.integers(1, 6),
    penalty=st.sampled_from(PENALTIES),
)
def test_the_early_stop_never_changes_the_result(seed, vocab, max_length, beams, penalty):
    """Un haz de papel y lápiz que nunca para antes da las mismas frases y puntuaciones."""
    step, n_best = random_step(seed, vocab), min(beams, 3)
    options = {"beams": beams, "n_best": n_best, "length_penalty": penalty}
    mine = written(beam_search(step, start(1), eos_id=EOS, max_length=max_length, **options))
    expected = plain_beam(step, max_length, beams, penalty)[:n_best]
    assert [w for w, _ in mine] == [w for _, w in expected]
    for (words, score), (theirs, _) in zip(mine, expected, strict=True):
        close(score, theirs)
        close(score, log_prob(step, words) / penalty(len(words)))


def plain_beam(step, max_length, beams, penalty):
    """El haz, con listas y sin atajos: llega siempre hasta ``max_length``."""
    live, finished = [(0.0, ())], []
    for length in range(1, max_length + 1):
        candidates = []
        for total, words in live:
            row = step(torch.tensor([[1, *words]]), None)[0].log_softmax(-1)[0].tolist()
            candidates += [(total + p, (*words, w)) for w, p in enumerate(row)]
        candidates.sort(key=lambda c: -c[0])
        over = [c for c in candidates[:beams] if c[1][-1] == EOS or length == max_length]
        finished += [(total / penalty(length), words) for total, words in over]
        live = [c for c in candidates if c[1][-1] != EOS][:beams]
    return sorted(finished, key=lambda c: -c[0])


@pytest.mark.parametrize("seed", range(5))
def test_one_beam_is_greedy(seed):
    step = random_step(seed, 6)
    first = torch.tensor([[1], [3], [4]])
    options = {"eos_id": EOS, "max_length": 12}
    expected = greedy(step, first, **options)
    assert beam_search(step, first, beams=1, **options).best.tolist() == expected.tolist()


def test_a_wider_beam_finds_what_greedy_misses():
    """«a» gana a «b» por poco, pero después de «b» todo es seguro."""
    table = {(1,): [0.0, 0.0, 0.0, 0.55, 0.45], (1, 3): [0.2, 0.2, 0.2, 0.2, 0.2]}

    def step(ids, state):
        rows = [table.get(tuple(row), [0.0, 0.0, 1.0, 0.0, 0.0]) for row in ids.tolist()]
        return torch.tensor(rows, dtype=F64).log(), state

    options = {"eos_id": EOS, "max_length": 3}
    assert greedy(step, start(1), **options).tolist()[0][0] == 3
    found = beam_search(step, start(1), beams=2, n_best=2, **options)
    assert found.best.tolist() == [[4, EOS]]
    close(found.scores[0, 0].exp().item(), 0.45)
    close(found.scores[0, 1].exp().item(), 0.11)


# --- Lo que la longitud cambia --------------------------------------------------------------------


def test_penalties_are_their_formulas():
    assert by_total(9) == by_length(0.0)(9) == by_wu(0.0)(9) == 1.0
    assert by_length()(7) == 7.0 and by_length(0.5)(9) == 3.0
    close(by_wu()(7), 12**0.6 / 6**0.6, 1e-12)
    assert by_wu(1.0)(1) == 1.0


def test_longer_hypotheses_win_with_a_penalty():
    """Acabar ya cuesta log 0.5; seguir hasta seis, log 0.5 y luego casi nada."""

    def step(ids, state):
        end = 0.5 if ids.shape[1] == 1 else 0.1
        logits = torch.full((len(ids), 4), 1e-9, dtype=F64)
        logits[:, EOS], logits[:, 3] = end + 1e-6, 1 - end
        return logits.log(), state

    options = {"beams": 2, "eos_id": EOS, "max_length": 6}
    assert beam_search(step, start(1), **options).best.tolist() == [[EOS]]
    longer = beam_search(step, start(1), length_penalty=by_length(1.0), **options)
    assert longer.best.tolist() == [[3] * 6]


def test_stops_as_soon_as_nothing_can_win():
    calls = []

    def step(ids, state):
        calls.append(ids.shape)
        logits = torch.zeros(len(ids), 5, dtype=F64)
        logits[:, EOS] = 3.0
        return logits, state

    options = {"beams": 2, "eos_id": EOS, "max_length": 50}
    beam_search(step, start(1), **options)
    assert len(calls) == 1  # la suma de log-probabilidades solo baja
    beam_search(step, start(1), **options, length_penalty=by_length(1.0))
    assert 1 < len(calls) - 1 < 50  # con la media hay que seguir mientras pueda subir


# --- El lote, el estado y la parada ---------------------------------------------------------------


@pytest.mark.parametrize("penalty", PENALTIES[:4])
@pytest.mark.parametrize("beams", [1, 3, 8])
def test_companions_change_nothing(beams, penalty):
    step, first = random_step(3, 5, scale=1.0), torch.tensor([[1, 3], [4, 4], [0, 1], [3, 2]])
    options = {"beams": beams, "n_best": min(beams, 4), "eos_id": EOS, "max_length": 7}
    options["length_penalty"] = penalty
    together = beam_search(step, first, **options)
    for row in range(4):
        alone = beam_search(step, first[row : row + 1], **options)
        assert written(alone) == written(together, row)


class Counting:
    """Un estado que recuerda qué palabras leyó cada fila, y se reordena con ellas."""

    def __init__(self, read):
        self.read = read

    def select(self, rows):
        return Counting([self.read[i] for i in rows.tolist()])


def remembering(step):
    def wrapped(ids, state):
        seen = [[*row, *new] for row, new in zip(state.read, ids.tolist(), strict=True)]
        news = [row[len(old) :] for row, old in zip(ids.tolist(), state.read, strict=True)]
        seen = [old + new for old, new in zip(state.read, news, strict=True)]
        assert seen == ids.tolist()  # cada fila lleva su propio pasado
        return step(ids, None)[0], Counting(seen)

    return wrapped


@pytest.mark.parametrize("beams", [1, 2, 5])
def test_the_state_follows_its_beam(beams):
    step, first = random_step(8, 5, scale=1.0), torch.tensor([[1], [3]])
    options = {"beams": beams, "n_best": beams, "eos_id": EOS, "max_length": 6}
    plain = beam_search(step, first, **options)
    found = beam_search(remembering(step), first, state=lambda: Counting([[], []]), **options)
    assert [written(found, i) for i in (0, 1)] == [written(plain, i) for i in (0, 1)]


def test_stop_and_max_length():
    step = random_step(5, 6)
    options = {"beams": 4, "n_best": 4, "eos_id": EOS, "max_length": 5}
    found = beam_search(step, start(2), stop=lambda w: w[:, -1] == 4, **options)
    for words, _ in written(found) + written(found, 1):
        assert words[-1] in (EOS, 4) or len(words) == 5
        assert not {EOS, 4} & set(words[:-1])
    unending = beam_search(step, start(1), **{**options, "eos_id": -1})
    assert unending.ids.shape == (1, 4, 5) and unending.lengths.tolist() == [[5] * 4]


def test_forbidden_words_never_come_and_padding_fills():
    def step(ids, state):
        logits = torch.full((len(ids), 4), -math.inf, dtype=F64)
        logits[:, EOS], logits[:, 3] = 0.0, 1.0
        return logits, state

    found = beam_search(step, start(1), beams=9, n_best=9, eos_id=EOS, max_length=2, pad_id=7)
    assert found.lengths.tolist() == [[2, 1, 2, *[0] * 6]]
    assert found.ids[0].tolist() == [[3, 3], [EOS, 7], [3, EOS], *[[7, 7]] * 6]
    close(found.log_probs[0, :3].exp().sum().item(), 1.0)


def test_empty_batch_and_no_gradient():
    weight = torch.nn.Parameter(torch.eye(5))
    found = beam_search(
        lambda ids, s: (weight[ids[:, -1]], s), start(0), beams=2, eos_id=EOS, max_length=3
    )
    assert found.ids.shape == (0, 1, 0) and found.best.shape == (0, 0)
    found = beam_search(
        lambda ids, s: (weight[ids[:, -1]], s), start(1), beams=2, eos_id=EOS, max_length=3
    )
    assert not found.scores.requires_grad


def test_half_precision_adds_in_32_bits():
    step = random_step(1, 5)
    found = beam_search(
        lambda ids, s: (step(ids, s)[0].bfloat16(), s), start(1), beams=3, eos_id=EOS, max_length=6
    )
    assert found.scores.dtype == torch.float32


# --- El árbol -------------------------------------------------------------------------------------


def test_the_tree_tells_the_search():
    step, first = random_step(11, 5, scale=1.0), torch.tensor([[1], [3]])
    options = {"beams": 3, "n_best": 3, "eos_id": EOS, "max_length": 5}
    found = beam_search(step, first, history=True, **options)
    assert beam_search(step, first, **options).history == ()
    for row in (0, 1):
        nodes = tree(found, row)
        closed = {}
        for node in nodes:
            words, parent = [node.word], node.parent
            while parent >= 0:
                assert nodes[parent].fate == "sigue"
                words, parent = [nodes[parent].word, *words], nodes[parent].parent
            close(node.log_prob, log_prob(step, words, first[row].tolist()))
            if node.fate == "acaba":
                closed[tuple(words)] = node.log_prob
        best = sorted(closed.items(), key=lambda item: -item[1])[:3]
        assert [words for words, _ in best] == [words for words, _ in written(found, row)]
        assert {node.fate for node in nodes} == {"sigue", "acaba", "cae"}
    with pytest.raises(ValueError, match=r"hypotheses: se esperaba .*history=True"):
        tree(beam_search(step, first, **options))
    with pytest.raises(ValueError, match="^row: se esperaba menor que 2; llegó 2"):
        tree(found, 2)
    with pytest.raises(ValueError, match="^row: .*mayor o igual que 0; llegó -1"):
        tree(found, -1)


# --- Lo que no sirve ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "message", "changes"),
    [
        (ValueError, "beams: se esperaba un entero mayor o igual que 1; llegó 0", {"beams": 0}),
        (TypeError, "beams: se esperaba un entero; llegó float", {"beams": 2.0}),
        (ValueError, "n_best: se esperaba como mucho beams = 2", {"n_best": 3}),
        (ValueError, "n_best: se esperaba un entero", {"n_best": 0}),
        (
            TypeError,
            "length_penalty: se esperaba una función; llegó float",
            {"length_penalty": 0.6},
        ),
        (
            ValueError,
            "length_penalty: .* la longitud 1 devolvió 0",
            {"length_penalty": lambda n: n - 1},
        ),
        (
            TypeError,
            "length_penalty: .* la longitud 1 devolvió Tensor",
            {"length_penalty": torch.tensor},
        ),
        (ValueError, "max_length: ", {"max_length": 0}),
        (TypeError, "state: se esperaba None, un tensor .*; llegó int", {"state": 3}),
        (TypeError, "stop: se esperaba una función; llegó int", {"stop": 3}),
        (
            ValueError,
            r"stop: .* un booleano por fila, \(4,\); devolvió int64 de forma \(4,\)",
            {"stop": lambda w: w[:, -1]},
        ),
        (
            ValueError,
            "logits: .*NaN",
            {"step": lambda ids, s: (torch.full((len(ids), 5), math.nan), s)},
        ),
        (
            ValueError,
            r"logits: .*llegó \+inf",
            {"step": lambda ids, s: (torch.full((len(ids), 5), math.inf), s)},
        ),
        (
            ValueError,
            "logits: se esperaba alguna palabra permitida",
            {"step": lambda ids, s: (torch.full((len(ids), 5), -math.inf), s)},
        ),
        (TypeError, "stop: se esperaba un tensor", {"stop": lambda w: True}),
        (
            ValueError,
            r"stop: .* devolvió bool de forma \(4, 1\)",
            {"stop": lambda w: w[:, -1:] == 4},
        ),
        (
            TypeError,
            "length_penalty: .* la longitud 1 devolvió bool",
            {"length_penalty": lambda n: True},
        ),
        (
            ValueError,
            "length_penalty: .* la longitud 3 devolvió inf",
            {"length_penalty": [0.0, 1.0, 1.0, math.inf].__getitem__},
        ),
        (TypeError, "n_best: se esperaba un entero; llegó float", {"n_best": 1.0}),
    ],
)
def test_bad_input_is_named(kind, message, changes):
    options = {"step": random_step(0, 5), "start": start(1), "beams": 2}
    options |= {"eos_id": EOS, "max_length": 3}
    with pytest.raises(kind, match="^" + message):
        beam_search(**{**options, **changes})


def test_the_penalty_is_asked_only_for_the_lengths_there_are():
    table = [None, 1.0, 1.0, 1.0]
    found = beam_search(
        random_step(0, 5),
        start(1),
        beams=2,
        eos_id=-1,
        max_length=3,
        length_penalty=table.__getitem__,
    )
    assert found.lengths.tolist() == [[3]]


@pytest.mark.parametrize("penalty", [by_length, by_wu])
def test_bad_exponents(penalty):
    with pytest.raises(ValueError, match="^alpha: se esperaba un número finito; llegó inf"):
        penalty(math.inf)
    with pytest.raises(TypeError, match="^alpha: se esperaba un número; llegó str"):
        penalty("0.6")
