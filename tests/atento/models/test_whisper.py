"""Whisper: igual al de transformers, paso a paso y con haz, y con las medidas publicadas."""

from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from atento import rng
from atento.decoding import beam_search
from atento.models.seq2seq import seq2seq_loss
from atento.models.weights import from_whisper
from atento.models.whisper import (
    LANGUAGES,
    AudioEmbedding,
    UnbiasedKeyAttention,
    Whisper,
    WhisperConfig,
    halved_sinusoids,
    prompt,
    special_tokens,
)

VOCAB = 13
TARGET = torch.tensor([[1, 5, 6, 7], [1, 8, 2, 0], [1, 4, 9, 2]])
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    sizes = {"n_mels": 6, "d_model": 16, "n_heads": 4, "d_ff": 24, "audio_len": 5, "max_len": 12}
    return WhisperConfig(VOCAB, **{**sizes, **changes})


def sounds(count=3, frames=10, dtype=torch.float64):
    return torch.randn(count, frames, 6, generator=rng.generator(7), dtype=dtype)


def theirs(dtype):
    """Un Whisper de transformers con las medidas de estas pruebas y pesos al azar."""
    import transformers

    options = {"vocab_size": VOCAB, "num_mel_bins": 6, "d_model": 16, "max_source_positions": 5}
    options |= {"max_target_positions": 12, "pad_token_id": 0, "bos_token_id": 1}
    options |= {"eos_token_id": 2, "decoder_start_token_id": 1, "dropout": 0.0}
    for stack in ("encoder", "decoder"):
        options |= {f"{stack}_layers": 2, f"{stack}_attention_heads": 4, f"{stack}_ffn_dim": 24}
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**options))
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:  # las posiciones del sonido son fijas
            nn.init.normal_(parameter, float("norm.weight" in name), std=0.3)
    return model.to(dtype).train()


def pair(dtype=torch.float64):
    """El suyo y el nuestro, con los mismos pesos."""
    oracle = theirs(dtype)
    ours = Whisper(config()).to(dtype)
    ours.load_state_dict(from_whisper(oracle.state_dict()))
    return ours, oracle


@pytest.fixture(scope="module")
def twins():
    rng.seed_all(3)
    ours, oracle = pair()
    return ours.eval(), oracle.eval()


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(dtype, shape_checks):
    ours, oracle = pair(dtype)
    x, target = sounds(dtype=dtype), TARGET.masked_fill(TARGET == 0, 3)  # al relleno no lo aprende
    mine = ours(x, target)
    other = oracle(x.mT, decoder_input_ids=target)
    close(mine, other.logits, TOLERANCE[dtype])
    close(ours.encode(x).states, other.encoder_last_hidden_state, TOLERANCE[dtype])
    mine.square().mean().backward()
    other.logits.square().mean().backward()
    renamed = from_whisper({n: p.grad for n, p in oracle.named_parameters() if p.requires_grad})
    own = dict(ours.named_parameters())
    assert own.keys() == renamed.keys() - {"project.weight"}  # la de salida es la de entrada
    for name, parameter in own.items():
        expected = renamed[name]
        close(parameter.grad, expected, TOLERANCE[dtype] * max(1.0, expected.abs().max().item()))


def test_the_model_inside_has_the_same_names(twins):
    ours, oracle = twins
    renamed = from_whisper(oracle.model.state_dict())
    assert renamed.keys() == from_whisper(oracle.state_dict()).keys() == ours.state_dict().keys()


def greedy_by_hand(oracle, x, start, length):
    ids = torch.tensor([start] * len(x))
    for _ in range(length):
        logits = oracle(x.mT, decoder_input_ids=ids).logits[:, -1]
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
    return ids[:, len(start) :]


def until_end(ids, eos_id=2):
    rows = ids.tolist()
    return [row[: row.index(eos_id) + 1] if eos_id in row else row for row in rows]


@pytest.mark.parametrize("start", [None, (1, 4, 9)])
def test_writes_like_transformers_step_by_step(start, twins):
    ours, oracle = twins
    x = sounds(12)
    with torch.no_grad():
        expected = greedy_by_hand(oracle, x, list(start or (1,)), 7)
    found = ours.generate(x, start=start, max_length=7)
    assert until_end(found) == until_end(expected) and found.unique().numel() > 3
    assert torch.equal(ours.generate(x, start=start, max_length=7, cache=False), found)
    beam = ours.generate(x, start=start, max_length=5, strategy=beam_search, beams=3)
    assert beam.best.shape[0] == 12


def test_companions_change_nothing_and_silence_does(twins):
    """Un sonido da lo mismo solo o en un lote; más silencio detrás es otro sonido."""
    net, x = twins[0], sounds()
    whole = net(x, TARGET)
    for i in range(3):
        close(whole[i], net(x[i : i + 1], TARGET[i : i + 1])[0], 1e-12)
    assert net.encode(x[:, :7]).states.shape == (3, 4, 16)  # ⌈7 / 2⌉
    quiet = x.clone()
    quiet[:, 6:] = 0
    assert not torch.allclose(net.encode(quiet[:, :6]).states, net.encode(quiet).states[:, :3])


def test_it_halves_and_each_row_sees_five():
    """Cada fila de la entrada ve cinco filas del espectrograma, de dos en dos."""
    embed = AudioEmbedding(config()).double()
    x = sounds(1).requires_grad_()
    rows = embed(x)
    assert rows.shape == (1, 5, 16)
    (slope,) = torch.autograd.grad(rows[0, 2].sum(), x)
    assert slope[0].abs().sum(-1).nonzero().flatten().tolist() == [2, 3, 4, 5, 6]


def test_the_places_are_whispers():
    from transformers.models.whisper.modeling_whisper import sinusoids

    close(halved_sinusoids(30, 8), sinusoids(30, 8), 1e-6)
    assert not any(n.endswith("places") for n, _ in Whisper(config()).named_parameters())


def test_a_bias_in_the_keys_would_change_nothing():
    attention = UnbiasedKeyAttention(16, 4).double()
    assert attention.project_key.bias is None and attention.project_value.bias is not None
    x = sounds(2)[..., :4].repeat(1, 1, 4)
    before = attention(x)[0]
    attention.project_key.bias = nn.Parameter(torch.randn(16, dtype=torch.float64))
    close(attention(x)[0], before, 1e-12)


def test_the_loss_is_that_of_the_book(twins):
    x = sounds()
    logits = twins[0](x, TARGET[:, :-1])
    expected = F.cross_entropy(logits.flatten(0, 1), TARGET[:, 1:].flatten(), ignore_index=0)
    close(seq2seq_loss(twins[0], (x, TARGET)), expected)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (WhisperConfig.tiny(), 37_184_640),
        (WhisperConfig.base(), 71_825_920),
        (WhisperConfig.small(), 240_582_912),
        (WhisperConfig.medium(), 762_321_920),
        (WhisperConfig.large(), 1_541_384_960),
        (WhisperConfig.large_v3(), None),
    ],
)
def test_counts_the_parameters_of_the_published_ones(sizes, expected):
    """Aparte van las posiciones fijas, 1500 filas, que transformers cuenta."""
    import transformers

    c = sizes
    options = {"vocab_size": c.vocab, "num_mel_bins": c.n_mels, "d_model": c.d_model}
    for stack in ("encoder", "decoder"):
        options |= {f"{stack}_layers": c.n_layers, f"{stack}_attention_heads": c.n_heads}
        options |= {f"{stack}_ffn_dim": c.d_ff}
    with torch.device("meta"):
        net = Whisper(c)
        other = transformers.WhisperModel(transformers.WhisperConfig(**options))
    counted = sum(p.numel() for p in net.parameters())
    assert expected in (None, counted) and net.listen.places.shape == (1500, c.d_model)
    assert counted + 1500 * c.d_model == sum(p.numel() for p in other.parameters())


def test_special_tokens_fill_the_vocabulary():
    """Tras el texto van las lenguas, siete órdenes y 1501 tiempos: no sobra ni falta ninguno."""
    from transformers.models.whisper.tokenization_whisper import LANGUAGES as THEIRS
    from transformers.models.whisper.tokenization_whisper import TASK_IDS

    assert [*THEIRS] == [*LANGUAGES] and set(TASK_IDS) == {"transcribe", "translate"}
    for languages, sizes in ((99, WhisperConfig.tiny()), (100, WhisperConfig.large_v3())):
        tokens = special_tokens(languages)
        assert tokens.end == sizes.eos_id and tokens.start == sizes.bos_id
        assert tokens.time + 1501 == sizes.vocab
        assert tokens.language + languages == tokens.translate == tokens.transcribe - 1
        assert len(set(tokens)) == 10 and sorted(tokens) == [*tokens]


def test_the_prompt_says_what_to_do():
    assert prompt() == (50_258, 50_262, 50_359, 50_363)
    assert prompt("en", "translate", times=True) == (50_258, 50_259, 50_358)
    assert prompt("es", languages=100) == (50_258, 50_262, 50_360, 50_364)


def test_it_learns_which_row_is_loud():
    """Escribe en qué mel suena cada trozo: lo aprende en unos pasos."""
    from atento.training import fit

    dice = torch.randint(6, (128, 3), generator=rng.generator(0))
    x = F.one_hot(dice, 6).float().repeat_interleave(4, dim=1)  # (128, 12, 6)
    ends = torch.full((128, 1), 2)
    target = torch.cat([torch.ones_like(ends), dice + 3, ends], dim=1)
    rng.seed_all(0)
    net = Whisper(config(audio_len=6, init_std=0.1))
    optimizer = partial(torch.optim.Adam, lr=3e-3)
    fit(net, lambda step: (x, target), seq2seq_loss, steps=120, optimizer=optimizer)
    assert (net.generate(x, max_length=4) == target[:, 1:]).all(-1).float().mean() > 0.9


def begun(start):
    return Whisper(config()).generate(sounds().float(), start=start, max_length=3)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una WhisperConfig", lambda: Whisper(3)),
        (TypeError, "config: se esperaba una WhisperConfig", lambda: AudioEmbedding(3)),
        (ValueError, "n_mels: ", lambda: config(n_mels=0)),
        (ValueError, "d_model: se esperaba un múltiplo", lambda: config(n_heads=3)),
        (ValueError, "d_model: .*par", lambda: config(d_model=5, n_heads=1)),
        (ValueError, "init_std: ", lambda: replace(config(), init_std=0.0)),
        (ValueError, "bos_id: se esperaba menor que vocab", lambda: config(bos_id=13)),
        (ValueError, "eos_id: .*distinto de pad_id", lambda: config(eos_id=0)),
        (
            ValueError,
            r"features: .*\(batch, frame, 6\)",
            lambda: Whisper(config())(sounds().mT.float(), TARGET),
        ),
        (
            ValueError,
            "features: .*10 filas",
            lambda: Whisper(config()).encode(sounds(1, 11).float()),
        ),
        (TypeError, "features: .*los pesos", lambda: Whisper(config()).encode(sounds())),
        (ValueError, "target: .*3 sonidos", lambda: Whisper(config())(sounds(), TARGET[:2])),
        (
            ValueError,
            "target: se esperaba el relleno",
            lambda: Whisper(config())(sounds().float(), torch.tensor([[1, 0, 4]] * 3)),
        ),
        (
            ValueError,
            "start: .*vocab = 13",
            lambda: Whisper(config()).generate(sounds().float(), start=(1, 13)),
        ),
        (ValueError, "languages: .*100", lambda: special_tokens(101)),
        (ValueError, "language: ", lambda: prompt("qu")),
        (ValueError, "task: se esperaba una de transcribe", lambda: prompt(task="resume")),
        (ValueError, "state: .* Whisper", lambda: from_whisper({"encoder.x": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_whisper([1])),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (ValueError, "pad_id: .*mayor o igual", lambda: config(pad_id=-1)),
        (ValueError, "d_model: .*mayor o igual que 4", lambda: config(d_model=2, n_heads=1)),
        (ValueError, "n: ", lambda: halved_sinusoids(0, 8)),
        (ValueError, "d_model: .*par", lambda: halved_sinusoids(3, 5)),
        (ValueError, "languages: .*entero", lambda: special_tokens(0)),
        (TypeError, "times: ", lambda: prompt(times=1)),
        (TypeError, "features: .*flotante", lambda: Whisper(config()).encode(sounds().long())),
        (
            ValueError,
            "features: .*ejes vacíos",
            lambda: Whisper(config()).encode(sounds(1, 0).float()),
        ),
        (ValueError, "features: .*frame", lambda: Whisper(config()).encode(sounds()[0].float())),
        (TypeError, "features: se esperaba un tensor", lambda: Whisper(config())([1], TARGET)),
        (TypeError, "target: se esperaba un tensor", lambda: Whisper(config())(sounds(), [[1]])),
        (TypeError, "start: .*una lista", lambda: begun(3)),
        (ValueError, "start: .*mayor o igual", lambda: begun([-1])),
        (ValueError, "start: .*menores", lambda: begun([])),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    config(d_model=4, n_heads=1, pad_id=12)
    config(eos_id=12, pad_id=11, bos_id=0)
    assert halved_sinusoids(1, 4).shape == (1, 4)
    assert special_tokens(100)
    assert begun([12, 0]).shape[0] == 3
