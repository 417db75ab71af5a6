"""Lo que cuesta un texto entero: cada token una vez, con toda la ventana que cabe."""

import math

import pytest
import torch

from atento import rng
from atento.models.language import LanguageConfig, LanguageModel, text_nats

VOCAB = 7


@pytest.fixture(scope="module")
def model():
    rng.seed_all(0)
    config = LanguageConfig(
        VOCAB,
        d_model=8,
        n_heads=2,
        d_ff=8,
        n_layers=1,
        dropout=0.5,
        positions="rotary",
        pad_id=None,
    )
    return LanguageModel(config).double().train()


def text(n):
    return torch.randint(VOCAB, (n,), generator=rng.generator(n))


def one_by_one(model, ids, window, stride):
    """Cada token con el contexto de su ventana, sin lotes ni máscaras."""
    model.eval()
    starts = [*range(0, len(ids) - 1 - window, stride), max(0, len(ids) - 1 - window)]
    total, done = 0.0, 0
    for start in starts:
        end = min(start + window, len(ids) - 1)
        log_p = model(ids[None, start:end]).log_softmax(-1)[0]
        for t in range(done + 1, end + 1):
            total -= log_p[t - 1 - start, ids[t]].item()
        done = end
    model.train()
    return total


@pytest.mark.parametrize("n", [2, 5, 9, 10, 23])
@pytest.mark.parametrize(("window", "stride"), [(8, 4), (8, 8), (8, 1), (5, 3), (1, 1)])
def test_is_each_token_once(model, n, window, stride):
    ids = text(n)
    expected = one_by_one(model, ids, window, stride)
    for batch_size in (1, 32):
        found = text_nats(model, ids, window=window, stride=stride, batch_size=batch_size)
        assert found == pytest.approx(expected, abs=1e-9)
    assert model.training


def test_without_stride_it_is_half_a_window(model):
    ids = text(30)
    assert text_nats(model, ids, window=9) == text_nats(model, ids, window=9, stride=4)


def test_an_even_model_pays_log_vocab(model):
    class Even(torch.nn.Module):
        def forward(self, ids):
            return torch.zeros(*ids.shape, VOCAB)

    ids = text(21)
    for stride in (1, 3, 6):
        assert text_nats(Even(), ids, window=6, stride=stride) == pytest.approx(
            20 * math.log(VOCAB)
        )


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"ids": [1, 2]}, TypeError, "ids"),
        ({"ids": torch.zeros(4)}, TypeError, "ids"),
        ({"ids": torch.zeros(2, 2, dtype=torch.long)}, ValueError, "ids"),
        ({"ids": torch.zeros(1, dtype=torch.long)}, ValueError, "ids"),
        ({"window": 0}, ValueError, "window"),
        ({"stride": 9}, ValueError, "stride"),
        ({"stride": 0}, ValueError, "stride"),
        ({"batch_size": 0}, ValueError, "batch_size"),
    ],
)
def test_says_what_is_wrong(model, changes, error, says):
    options = {"ids": text(9), "window": 4, **changes}
    with pytest.raises(error, match=rf"^{says}: "):
        text_nats(model, options.pop("ids"), **options)
