"""T5: igual al de transformers, con caché y con relleno, y con las medidas publicadas."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from atento import rng
from atento.decoding import beam_search, by_length
from atento.models.seq2seq import seq2seq_loss
from atento.models.t5 import T5, T5Config, WideAttention
from atento.models.weights import from_t5

VOCAB = 13
SOURCE = torch.tensor([[3, 4, 5, 6, 1], [7, 8, 1, 0, 0], [9, 1, 0, 0, 0]])
TARGET = torch.tensor([[0, 5, 6, 7], [0, 8, 1, 0], [0, 4, 9, 1]])
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
WIDTHS = pytest.mark.parametrize("d_head", [4, 3])  # 3 · 4 cabezas no son los 16 del modelo


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_buckets": 8, "max_distance": 12}
    return T5Config(VOCAB, **{**sizes, **changes})


def theirs(d_head, dtype):
    """Un T5 de transformers con las medidas de estas pruebas y pesos al azar."""
    import transformers

    options = {"vocab_size": VOCAB, "d_model": 16, "num_heads": 4, "d_kv": d_head, "d_ff": 24}
    options |= {"num_layers": 2, "dropout_rate": 0.0, "decoder_start_token_id": 0}
    options |= {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**options))
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, 1.0 if "norm" in name else 0.0, std=0.3)
    for module in model.modules():  # la suya toma la media en 32 bits: se le pone la de PyTorch
        for name, child in module.named_children():
            if "T5LayerNorm" in type(child).__name__:
                norm = nn.RMSNorm(16, eps=1e-6)
                norm.weight = child.weight
                setattr(module, name, norm)
    return model.to(dtype).train()


def pair(d_head=4, dtype=torch.float64):
    """El suyo y el nuestro, con los mismos pesos."""
    oracle = theirs(d_head, dtype)
    ours = T5(config(d_head=d_head)).to(dtype)
    ours.load_state_dict(from_t5(oracle.state_dict()))
    return ours, oracle


@pytest.fixture(scope="module")
def twins():
    rng.seed_all(3)
    ours, oracle = pair()
    return ours.eval(), oracle.eval()


@WIDTHS
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(d_head, dtype, shape_checks):
    ours, oracle = pair(d_head, dtype)
    mine = ours(SOURCE, TARGET)
    mask = (SOURCE != 0).long()
    other = oracle(SOURCE, attention_mask=mask, decoder_input_ids=TARGET).logits
    close(mine, other, TOLERANCE[dtype])
    mine.square().mean().backward()
    other.square().mean().backward()
    theirs_ = {n: p.grad for n, p in oracle.named_parameters()}
    renamed = from_t5(theirs_)
    own = dict(ours.named_parameters())
    for name, parameter in own.items():
        # lo que va dentro de un peso divide su gradiente: from_t5 lo ha multiplicado
        inside = {"project_query.weight": d_head, "embed_source.tokens.weight": 1 / 16}
        factor = next((x for end, x in inside.items() if name.endswith(end)), 1)
        expected = renamed[name] / factor
        close(parameter.grad, expected, TOLERANCE[dtype] * max(1.0, expected.abs().max().item()))
    shared = [n for n in own if n.endswith("score_bias.table") or "embed" in n or "project." in n]
    assert len(shared) == 3  # un sesgo por pila y una matriz de palabras


def until_end(ids, eos_id=1):
    """Lo escrito en cada fila hasta el fin: detrás, unos ponen relleno y otros lo repiten."""
    rows = ids.tolist()
    return [row[: row.index(eos_id) + 1] if eos_id in row else row for row in rows]


@pytest.mark.parametrize("beams", [1, 3])
def test_generates_like_transformers(beams, twins):
    ours, oracle = twins
    options = {"num_beams": beams, "do_sample": False, "max_new_tokens": 7}
    options |= {"early_stopping": "never", "length_penalty": 1.0} if beams > 1 else {}
    options |= {"eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 0}
    expected = oracle.generate(SOURCE, attention_mask=(SOURCE != 0).long(), **options)[:, 1:]
    beam = {"strategy": beam_search, "beams": beams, "length_penalty": by_length(1.0)}
    found = ours.generate(SOURCE, max_length=7, **(beam if beams > 1 else {}))
    mine = found.best if beams > 1 else found
    assert until_end(mine) == until_end(expected)
    assert mine.unique().numel() > 3
    again = ours.generate(SOURCE, max_length=7, cache=False, **(beam if beams > 1 else {}))
    assert torch.equal(again.best if beams > 1 else again, mine)


def test_padding_and_companions_change_nothing(twins):
    net = twins[0]
    wide = net(F.pad(SOURCE, (0, 2)), TARGET)
    for i, n in enumerate((5, 3, 2)):
        close(wide[i], net(SOURCE[i : i + 1, :n], TARGET[i : i + 1])[0], 1e-12)


def test_no_bias_but_the_positions(twins):
    names = [n for n, _ in twins[0].named_parameters()]
    assert not [n for n in names if n.endswith("bias")]
    blocks = [*twins[0].encoder.blocks, *twins[0].decoder.blocks]
    assert len({id(b.attention.score_bias) for b in blocks}) == 2
    assert all(b.cross_attention.score_bias is None for b in twins[0].decoder.blocks)


def test_the_loss_is_that_of_the_book(twins):
    logits = twins[0](SOURCE, TARGET[:, :-1])
    expected = F.cross_entropy(logits.flatten(0, 1), TARGET[:, 1:].flatten(), ignore_index=0)
    close(seq2seq_loss(twins[0], (SOURCE, TARGET)), expected)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (T5Config.small(), 60_506_624),
        (T5Config.base(), 222_903_552),
        (T5Config.large(), 737_668_096),
        (T5Config.xl(), 2_851_598_336),
        (T5Config.xxl(), 11_307_321_344),
    ],
)
def test_counts_the_parameters_of_the_published_ones(sizes, expected):
    with torch.device("meta"):
        assert sum(p.numel() for p in T5(sizes).parameters()) == expected


def test_weights_are_drawn_as_in_t5():
    net = T5(T5Config(900, d_model=256, n_heads=4, d_head=32, d_ff=512))
    block = net.encoder.blocks[0]
    expected = {
        net.project: 256**-0.5,  # la de T5 es 1, y aquí va dividida entre √d_model
        block.attention.project_query: 256**-0.5,  # la de T5, por √d_head
        block.attention.project_output: 128**-0.5,
        block.feed_forward.contract: 512**-0.5,
    }
    for linear, std in expected.items():
        assert linear.weight.std().item() == pytest.approx(std, rel=0.03)
    assert net.project.weight is net.embed_source.tokens.weight


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una T5Config", lambda: T5(3)),
        (ValueError, "d_head: ", lambda: config(d_head=0)),
        (ValueError, "n_layers: ", lambda: replace(config(), n_layers=0)),
        (ValueError, "d_model: se esperaba un múltiplo", lambda: config(n_heads=3)),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (ValueError, "bos_id: se esperaba menor que vocab", lambda: config(bos_id=13)),
        (ValueError, "eos_id: se esperaba otro", lambda: config(eos_id=0)),
        (ValueError, "n_buckets: ", lambda: T5(config(n_buckets=1))),
        (TypeError, "d_head: ", lambda: WideAttention(16, 4, 2.5)),
        (
            ValueError,
            "source: se esperaba el relleno",
            lambda: T5(config())(SOURCE.flip(1), TARGET),
        ),
        (ValueError, "state: .* falta ", lambda: from_t5({"a.b": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_t5([1])),
        (ValueError, "pad_id: .*mayor o igual", lambda: config(pad_id=-1)),
        (ValueError, "d_head: ", lambda: WideAttention(16, 4, 0)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_names_of_others_are_not_copied():
    state = least_state()
    gated = "encoder.block.0.layer.1.DenseReluDense.wi_0.weight"
    with pytest.raises(ValueError, match=f"^state: se esperaban los nombres de T5 .*{gated}"):
        from_t5(state | {gated: torch.ones(2, 2)})


def least_state():
    bias = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    names = ["shared.weight", f"encoder.{bias}", f"decoder.{bias}"]
    return {name: torch.ones(2, 2) for name in names}


def test_the_edges_are_allowed():
    config(pad_id=12, bos_id=11, eos_id=0)
    config(pad_id=0, bos_id=12, eos_id=11)
    config(eos_id=12)
