import pytest
import torch

from atento import decoding
from atento.models.gpt import Gpt, GptConfig

EOS = 2


def scripted(rows, vocab=10):
    """Un paso que dicta, para cada fila, la secuencia dada; cuenta las llamadas en el estado."""

    def step(ids, state):
        t = ids.shape[1] - 1
        logits = torch.zeros(ids.shape[0], vocab)
        for i, row in enumerate(rows):
            logits[i, row[min(t, len(row) - 1)]] = 1.0
        return logits, (state or 0) + 1

    return step


def start(n):
    return torch.ones(n, 1, dtype=torch.long)


def test_stops_each_row_at_the_end_and_pads():
    out = decoding.greedy(
        scripted([[5, 2, 7, 7], [4, 4, 4, 2]]), start(2), eos_id=EOS, max_length=9
    )
    assert out.tolist() == [[5, 2, 0, 0], [4, 4, 4, 2]]


def test_max_length_and_pad_id():
    out = decoding.greedy(scripted([[5, 5], [2, 5]]), start(2), eos_id=EOS, max_length=3, pad_id=9)
    assert out.tolist() == [[5, 5, 5], [2, 9, 9]]


def test_longer_start_is_not_returned():
    out = decoding.greedy(
        scripted([[5, 6, 7, 2]]), torch.tensor([[1, 8]]), eos_id=EOS, max_length=5
    )
    assert out.tolist() == [[6, 7, 2]]


def test_state_travels_and_may_be_a_function():
    seen = []

    def step(ids, state):
        seen.append(state)
        return torch.tensor([[0.0, 0.0, 0.0, 1.0]]), state + 1

    decoding.greedy(step, start(1), eos_id=EOS, max_length=3, state=lambda: 10)
    assert seen == [10, 11, 12]


def test_the_step_sees_all_the_words_so_far():
    """Sirve para un Transformer sin caché, que necesita la secuencia entera."""
    lengths = []

    def step(ids, state):
        lengths.append(ids.shape[1])
        return torch.nn.functional.one_hot(ids.sum(-1) % 7, 7).float(), None

    out = decoding.greedy(step, start(1), eos_id=-1, max_length=4)
    assert lengths == [1, 2, 3, 4] and out.tolist() == [[1, 2, 4, 1]]


def test_no_gradient():
    weight = torch.nn.Parameter(torch.eye(4))
    out = decoding.greedy(
        lambda ids, s: (weight[ids[:, -1]], s), start(1), eos_id=EOS, max_length=2
    )
    assert not out.requires_grad


def test_empty_batch():
    out = decoding.greedy(scripted([]), start(0), eos_id=EOS, max_length=3)
    assert out.shape == (0, 0)


def test_errors():
    step = scripted([[5]])
    with pytest.raises(TypeError, match="start: se esperaba un tensor de enteros"):
        decoding.greedy(step, torch.ones(1, 1), eos_id=EOS, max_length=3)
    with pytest.raises(ValueError, match="start ≥ 1"):
        decoding.greedy(step, torch.ones(1, 0, dtype=torch.long), eos_id=EOS, max_length=3)
    with pytest.raises(ValueError, match="max_length"):
        decoding.greedy(step, start(1), eos_id=EOS, max_length=0)
    for name in ("eos_id", "pad_id"):
        with pytest.raises(TypeError, match=f"^{name}: "):
            decoding.greedy(step, start(1), **{"eos_id": EOS, "max_length": 3, name: 2.0})
    with pytest.raises(TypeError, match="^step: se esperaba una función"):
        decoding.greedy(5, start(1), eos_id=EOS, max_length=3)
    with pytest.raises(ValueError, match=r"\(batch=1, vocab\)"):
        decoding.greedy(
            lambda ids, s: (torch.zeros(1, 1, 5), s), start(1), eos_id=EOS, max_length=3
        )
    with pytest.raises(ValueError, match="NaN"):
        decoding.greedy(
            lambda ids, s: (torch.full((1, 5), torch.nan), s), start(1), eos_id=EOS, max_length=3
        )


@pytest.mark.parametrize(
    ("step", "kind", "message"),
    [
        (3, TypeError, "step: se esperaba una función; llegó int"),
        (
            lambda ids, s: torch.zeros(1, 5),
            TypeError,
            r"step: .*la pareja \(logits, state\); devolvió Tensor",
        ),
        (
            lambda ids, s: ([0.0], s),
            TypeError,
            "logits: se esperaba un tensor de PyTorch; llegó list",
        ),
        (
            lambda ids, s: (torch.zeros(1, 0), s),
            ValueError,
            r"logits: .*vocab\); devolvió \(1, 0\)",
        ),
    ],
)
def test_bad_steps(step, kind, message):
    with pytest.raises(kind, match="^" + message):
        decoding.greedy(step, start(1), eos_id=EOS, max_length=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": 3}, "strategy: se esperaba una función de atento.decoding, .*; llegó 3"),
        ({"cache": 1}, "cache: se esperaba True o False; llegó 1"),
    ],
)
def test_a_model_that_writes_names_what_is_wrong(options, message):
    model = Gpt(GptConfig(11, d_model=8, n_heads=2, d_ff=8))
    with pytest.raises(TypeError, match="^" + message):
        model.generate(start(1), eos_id=EOS, max_length=2, **options)
