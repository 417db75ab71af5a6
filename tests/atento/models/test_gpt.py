"""GPT: igual al de transformers, con caché y con relleno, y con las medidas publicadas."""

from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from atento import rng
from atento.decoding import beam_search, by_length, sample
from atento.models.bert import BertConfig
from atento.models.gpt import Gpt, GptConfig, GptEmbedding
from atento.models.language import LanguageConfig, next_token_loss
from atento.models.weights import from_gpt2

VOCAB = 11
SIZES = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_layers": 2, "max_len": 16}
IDS = torch.tensor([[3, 4, 5, 6, 2], [7, 8, 2, 0, 0]])
REAL = IDS != 0
STARTS = torch.tensor([[5, 0, 0, 0], [3, 4, 5, 6], [7, 8, 0, 0], [9, 3, 1, 0]])
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    return GptConfig(VOCAB, **{**SIZES, "pad_id": 0, **changes})


def theirs(kind, dtype=torch.float64):
    """Un GPT-2 o un GPT de transformers con las medidas de estas pruebas y pesos al azar."""
    import transformers

    options = {"vocab_size": VOCAB, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 16}
    options |= {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}
    options |= {"bos_token_id": 1, "eos_token_id": 2}
    if kind == "gpt2":
        made = transformers.GPT2Config(**options, n_inner=24)
        model = transformers.GPT2LMHeadModel(made)
    else:
        model = transformers.OpenAIGPTLMHeadModel(transformers.OpenAIGPTConfig(**options))
    for name, parameter in model.named_parameters():
        if "ln_" not in name:
            nn.init.normal_(parameter, std=0.3)
    return model.to(dtype).train()


def pair(kind="gpt2", dtype=torch.float64):
    """El suyo y el nuestro, con los mismos pesos."""
    oracle = theirs(kind, dtype)
    changes = {} if kind == "gpt2" else {"norm_first": False, "d_ff": 64}
    ours = Gpt(config(**changes)).to(dtype)
    ours.load_state_dict(from_gpt2(oracle.state_dict()))
    return ours, oracle


@pytest.fixture(scope="module")
def twins():
    rng.seed_all(10)
    ours, oracle = pair()
    return ours.eval(), oracle.eval()


@pytest.mark.parametrize("kind", ["gpt2", "gpt1"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(kind, dtype, shape_checks):
    ours, oracle = pair(kind, dtype)
    mine, other = ours(IDS)[REAL], oracle(IDS, attention_mask=REAL.long()).logits[REAL]
    close(mine, other, TOLERANCE[dtype])
    mine.square().mean().backward()
    other.square().mean().backward()
    renamed = from_gpt2({n: p.grad for n, p in oracle.named_parameters()})
    own = dict(ours.named_parameters())
    assert own.keys() == renamed.keys() - {"project.weight"}
    for name, parameter in own.items():
        expected = renamed[name]
        close(parameter.grad, expected, TOLERANCE[dtype] * max(1.0, expected.abs().max().item()))


def test_the_names_of_the_files():
    """En los ficheros publicados no hay prefijo ni matriz de salida, y sí máscaras."""
    ours, oracle = pair()
    stored = {n.removeprefix("transformer."): t for n, t in oracle.state_dict().items()}
    del stored["lm_head.weight"]
    stored["h.0.attn.bias"] = torch.ones(1, 1, 16, 16)
    renamed = from_gpt2(stored)
    assert renamed.keys() == ours.state_dict().keys()
    assert all(torch.equal(renamed[n], t) for n, t in ours.state_dict().items())
    assert ours.project.weight is ours.embed.tokens.weight


def until_end(ids, eos_id=2):
    """Lo escrito en cada fila hasta el fin: detrás, unos ponen relleno y otros lo repiten."""
    rows = ids.tolist()
    return [row[: row.index(eos_id) + 1] if eos_id in row else row for row in rows]


@pytest.mark.parametrize("beams", [1, 3])
def test_generates_like_transformers(beams, twins):
    ours, oracle = twins
    start = torch.tensor([[0, 0, 5], [3, 4, 6], [0, 7, 8]])
    options = {"num_beams": beams, "do_sample": False, "early_stopping": "never"}
    options |= {"length_penalty": 1.0} if beams > 1 else {}
    expected = oracle.generate(
        start, attention_mask=(start != 0).long(), max_new_tokens=6, pad_token_id=0, **options
    )[:, 3:]
    beam = {"strategy": beam_search, "beams": beams, "length_penalty": by_length(1.0)}
    found = ours.generate(start, eos_id=2, max_length=6, **(beam if beams > 1 else {}))
    mine = found.best if beams > 1 else found
    assert until_end(mine) == until_end(expected)
    assert mine.unique().numel() > 3


WAYS = {
    "voraz": lambda: {},
    "haz": lambda: {"strategy": beam_search, "beams": 3},
    "azar": lambda: {"strategy": sample, "generator": rng.generator(3)},
}


@pytest.mark.parametrize("way", WAYS)
def test_cache_equals_recomputation(way, twins):
    options = {"eos_id": 2, "max_length": 9}
    cached, again = (
        twins[0].generate(STARTS, cache=cache, **options, **WAYS[way]()) for cache in (True, False)
    )
    cached, again = (x.best if way == "haz" else x for x in (cached, again))
    assert torch.equal(cached, again) and cached.unique().numel() > 3
    if way != "azar":  # cada fila, sola, escribe lo mismo
        for i, row in enumerate(STARTS):
            alone = twins[0].generate(row[None, row != 0], **options, **WAYS[way]())
            alone = (alone.best if way == "haz" else alone)[0]
            n = min(len(alone), cached.shape[1])
            assert alone[:n].tolist() == cached[i, :n].tolist()


def test_steps_equal_forward(twins, shape_checks):
    net, state = twins[0], None
    logits = net(IDS[:1])
    for t in range(1, 6):
        row, state = net.step(IDS[:1, :t], state)
        close(row, logits[:, t - 1])
        assert len(state[0]) == t


def test_padding_and_companions_change_nothing(twins):
    wide = twins[0](F.pad(IDS, (0, 3)))
    for i, n in enumerate((5, 3)):
        close(wide[i, :n], twins[0](IDS[i : i + 1, :n])[0], 1e-12)


def test_without_padding_every_number_is_a_word():
    rng.seed_all(1)
    net = Gpt(config(pad_id=None)).double().eval()
    logits = net(IDS)
    other = torch.where(REAL, IDS, 9)
    assert (net(other) - logits)[1, 3:].abs().max() > 1e-6  # el 0 se lee como los demás
    close(net(other)[1, :3], logits[1, :3], 1e-12)  # y lo de delante no lo ve
    assert net.generate(IDS[:, :2], eos_id=2, max_length=4).shape[0] == 2


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (GptConfig.small(), 124_439_808),
        (GptConfig.medium(), 354_823_168),
        (GptConfig.large(), 774_030_080),
        (GptConfig.xl(), 1_557_611_200),
        (GptConfig.gpt1(), 116_534_784),
        (GptConfig.gpt3(), 174_604_259_328),
    ],
)
def test_counts_the_parameters_of_the_published_ones(sizes, expected):
    with torch.device("meta"):
        assert sum(p.numel() for p in Gpt(sizes).parameters()) == expected


def test_weights_are_drawn_with_the_published_deviation():
    net = Gpt(GptConfig(500, n_layers=8))
    for name, parameter in net.named_parameters():
        last = name.endswith(("project_output.weight", "contract.weight"))
        if parameter.ndim == 2:
            assert parameter.std().item() == pytest.approx(0.02 / (4 if last else 1), rel=0.1), name
        elif name.endswith("bias"):
            assert (parameter == 0).all()


def test_it_learns_to_continue():
    """Cuenta de uno en uno: lo aprende en unos pasos, y lo escribe."""
    from atento.training import fit

    ids = (torch.arange(9)[None] + torch.arange(8)[:, None]) % 8 + 3  # (8, 9)
    net = Gpt(config(init_std=0.1))
    optimizer = partial(torch.optim.Adam, lr=1e-2)
    fit(net, lambda step: ids, next_token_loss, steps=60, optimizer=optimizer)
    written = net.generate(torch.tensor([[5, 6]]), eos_id=2, max_length=5)
    assert written.tolist() == [[7, 8, 9, 10, 3]]


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una GptConfig", lambda: Gpt(3)),
        (TypeError, "config: se esperaba una GptConfig", lambda: GptEmbedding("x")),
        (ValueError, "n_heads: ", lambda: replace(config(), n_heads=0)),
        (ValueError, "d_model: se esperaba un múltiplo", lambda: config(n_heads=3)),
        (TypeError, "norm_first: se esperaba True o False", lambda: config(norm_first="sí")),
        (ValueError, "dropout: ", lambda: config(dropout=-0.1)),
        (ValueError, "init_std: ", lambda: config(init_std=0.0)),
        (ValueError, "pad_id: se esperaba menor que vocab", lambda: config(pad_id=11)),
        (ValueError, "ids: se esperaba el relleno", lambda: Gpt(config())(IDS.flip(1))),
        (ValueError, "ids: se esperaban números entre 0 y 10", lambda: Gpt(config())(IDS + 9)),
        (ValueError, "x: .* como mucho 4 filas", lambda: Gpt(config(max_len=4))(IDS)),
        (
            ValueError,
            "positions: .* entre 0 y 15",
            lambda: Gpt(config()).generate(STARTS, eos_id=-1, max_length=20),
        ),
        (ValueError, "state: .* GPT", lambda: from_gpt2({"h.0.attn.q": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_gpt2([1])),
        (TypeError, "config: se esperaba una GptConfig", lambda: Gpt(BertConfig(11))),
        (TypeError, "config: se esperaba una GptConfig", lambda: Gpt(LanguageConfig(11))),
        (ValueError, "pad_id: .*mayor o igual", lambda: config(pad_id=-1)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert config(pad_id=10).pad_id == 10
    assert Gpt(config(pad_id=None))(IDS).shape == (2, 5, VOCAB)
