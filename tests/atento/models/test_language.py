"""El modelo de una pila: igual al de PyTorch y a GPT-2, causal o no, con caché y con relleno."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from atento import rng
from atento.decoding import beam_search, by_length, greedy
from atento.models.gpt import GptConfig
from atento.models.language import LanguageConfig, LanguageModel, next_token_loss
from atento.models.positioning import NAMES
from atento.models.weights import from_pytorch

F64 = torch.float64
VOCAB = 11
IDS = torch.tensor([[3, 4, 5, 6, 2], [7, 8, 2, 0, 0]])


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    return LanguageConfig(VOCAB, **{"d_model": 16, "d_ff": 24, **changes})


def model(**changes):
    net = LanguageModel(config(**changes))
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.3)
    return net.double().eval()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_equals_pytorch_with_gradients(causal, norm_first, shape_checks):
    ours = model(causal=causal, norm_first=norm_first).train()
    layer = nn.TransformerEncoderLayer(16, 4, 24, 0.0, batch_first=True, norm_first=norm_first)
    theirs = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16), False).double()
    ours.encoder.load_state_dict(from_pytorch(theirs.state_dict()))
    future = torch.ones(5, 5, dtype=torch.bool).triu(1) if causal else None
    states = theirs(ours.embed(IDS), mask=future, src_key_padding_mask=IDS == 0)
    logits, expected, real = ours(IDS), ours.project(states), IDS != 0
    close(logits[real], expected[real])
    logits[real].square().sum().backward()
    gradients = {n: p.grad.clone() for n, p in ours.encoder.named_parameters()}
    expected[real].square().sum().backward()
    renamed = from_pytorch({n: p.grad for n, p in theirs.named_parameters()})
    for name, gradient in gradients.items():
        close(gradient, renamed[name], 1e-8 * max(1.0, gradient.abs().max().item()))


def gpt2_pair(varied=False):
    from transformers import GPT2Config, GPT2LMHeadModel

    options = {"activation_function": "gelu", "n_positions": 9, "tie_word_embeddings": False}
    options |= {"bos_token_id": 1, "eos_token_id": 2}
    theirs = GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCAB, n_embd=16, n_layer=2, n_head=4, n_inner=24, **options)
    )
    theirs = theirs.double().eval()
    for name, parameter in theirs.named_parameters():
        if not (varied and "ln_" in name):  # con las normas sin tocar no escribe siempre lo mismo
            nn.init.normal_(parameter, std=0.3)
    ours = model(activation="gelu", positions="learned", max_len=9)
    with torch.no_grad():
        ours.embed.tokens.weight.copy_(theirs.transformer.wte.weight / 4)  # GPT-2 no escala
        ours.embed.positions.table.copy_(theirs.transformer.wpe.weight)
        ours.project.weight.copy_(theirs.lm_head.weight)
        ours.encoder.load_state_dict(from_gpt2(theirs.transformer))
    return ours, theirs


def test_equals_gpt2():
    ours, theirs = gpt2_pair()
    close(ours(IDS), theirs(IDS).logits)


@pytest.mark.parametrize("beams", [1, 3])
def test_generates_like_gpt2_also_with_padding_in_front(beams):
    rng.seed_all(1)
    ours, theirs = gpt2_pair(varied=True)
    start = torch.tensor([[0, 0, 5], [3, 4, 6], [0, 7, 8]])
    options = {"num_beams": beams, "do_sample": False, "early_stopping": "never"}
    options |= {"length_penalty": 1.0} if beams > 1 else {}
    mask = (start != 0).long()
    expected = theirs.generate(
        start, attention_mask=mask, max_new_tokens=6, pad_token_id=0, **options
    )[:, 3:]
    beam = {"strategy": beam_search, "beams": beams, "length_penalty": by_length(1.0)}
    how = beam if beams > 1 else {}
    found = ours.generate(start, eos_id=2, max_length=6, **how)
    mine = found.best if beams > 1 else found
    assert mine.tolist() == expected[:, : mine.shape[1]].tolist()
    assert mine.unique().numel() > 3


def from_gpt2(transformer):
    """GPT-2 guarda las matrices traspuestas, y juntas las de consultas, claves y valores."""
    state = {f"final_norm.{n}": t for n, t in transformer.ln_f.state_dict().items()}
    names = {"ln_1": "add_attention.norm", "ln_2": "add_feed_forward.norm"}
    names |= {"mlp.c_fc": "feed_forward.expand", "mlp.c_proj": "feed_forward.contract"}
    names["attn.c_proj"] = "attention.project_output"
    for i, block in enumerate(transformer.h):
        for name, tensor in block.state_dict().items():
            part, kind = name.rsplit(".", 1)
            tensor = tensor.T if tensor.ndim == 2 else tensor
            if part == "attn.c_attn":
                for kid, piece in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                    state[f"blocks.{i}.attention.project_{kid}.{kind}"] = piece
            else:
                state[f"blocks.{i}.{names[part]}.{kind}"] = tensor
    return state


def test_counts_the_parameters_of_gpt2():
    small = {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_layers": 12, "max_len": 1024}
    with torch.device("meta"):
        net = LanguageModel(LanguageConfig(50_257, **small, tying=True, positions="learned"))
    assert sum(p.numel() for p in net.parameters()) == 124_439_808


@pytest.mark.parametrize("name", NAMES)
def test_cache_equals_recomputation(name, shape_checks):
    net = model(positions=name)
    logits, state = net(IDS[:1]), None
    for t in range(1, 6):
        row, following = net.step(IDS[:1, :t], state)
        close(row, logits[:, t - 1])
        assert state is None or len(state[0]) == t - 1
        state = following
    start = torch.tensor([[1], [5]])
    options = {"eos_id": 2, "max_length": 12}
    expected = greedy(lambda ids, _: (net.step(ids)[0], None), start, **options)  # sin memoria
    assert net.generate(start, **options).tolist() == expected.tolist()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_padding_and_companions_change_nothing(causal, name):
    net = model(causal=causal, positions=name)
    wide = net(F.pad(IDS, (0, 3)))
    assert wide.isfinite().all()
    for i, n in enumerate((5, 3)):
        close(wide[i, :n], net(IDS[i : i + 1, :n])[0], 1e-12)
    nothing = net(torch.zeros(1, 4, dtype=torch.long))
    nothing.sum().backward()
    assert nothing.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in net.parameters())


def test_the_future_is_seen_only_without_causal():
    other = IDS.clone()
    other[0, 4] = 9
    for causal in (True, False):
        net = model(causal=causal)
        moved = (net(other) - net(IDS))[0, :4].abs().max()
        assert moved < 1e-12 if causal else moved > 1e-3


def test_loss_and_extra_mask():
    net = model()
    labels = IDS[:, 1:].flatten()
    expected = F.cross_entropy(net(IDS[:, :-1]).flatten(0, 1), labels, ignore_index=0)
    close(next_token_loss(net, IDS), expected)
    alone = net(IDS, torch.eye(5, dtype=torch.bool))
    close(alone[:, :1], net(IDS[:, :1]))
    assert (alone - net(IDS))[:, 1:].abs().max() > 1e-3


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una LanguageConfig", lambda: LanguageModel(3)),
        (ValueError, "vocab: ", lambda: replace(config(), vocab=0)),
        (TypeError, "causal: se esperaba True o False", lambda: config(causal="sí")),
        (ValueError, "positions: se esperaba una de", lambda: config(positions="rope")),
        (ValueError, "pad_id: se esperaba menor que vocab", lambda: config(pad_id=11)),
        (ValueError, "ids: se esperaba el relleno", lambda: model()(IDS.flip(1))),
        (ValueError, "ids: se esperaban números entre 0 y 10", lambda: model()(IDS + 9)),
        (ValueError, "causal: se esperaba un modelo", lambda: model(causal=False).step(IDS)),
        (
            ValueError,
            "model: se esperaba uno con",
            lambda: next_token_loss(model(causal=False), IDS),
        ),
        (
            ValueError,
            "ids: se esperaban al menos dos",
            lambda: next_token_loss(model(), IDS[:, :1]),
        ),
        (
            ValueError,
            "ids: se esperaban números entre 0 y 10",
            lambda: next_token_loss(model(), torch.tensor([[3, 4, 11]])),  # el último no se lee
        ),
        (ValueError, "ids: .* alguna columna nueva", lambda: model().step(IDS[:, :0])),
        (ValueError, r"masks\[1\]: su forma", lambda: model()(IDS, torch.ones(3, 3).bool())),
        (TypeError, "config: se esperaba una LanguageConfig", lambda: LanguageModel(GptConfig(11))),
        (ValueError, "d_model: se esperaba un múltiplo", lambda: config(n_heads=3)),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (ValueError, "pad_id: .*mayor o igual", lambda: config(pad_id=-1)),
        (TypeError, "ids: se esperaba un tensor", lambda: model()([[3, 4]])),
        (TypeError, "ids: se esperaba un tensor", lambda: model().step([[3, 4]])),
        (ValueError, "causal: ", lambda: model(causal=False).generate([[3]], eos_id=2)),
        (TypeError, "start: se esperaba un tensor", lambda: model().generate([[3]], eos_id=2)),
        (ValueError, "start: .*entre 0 y 10", lambda: model().generate(IDS + 9, eos_id=2)),
        (ValueError, r"start: .*llegó \(2, 0\)", lambda: model().generate(IDS[:, :0], eos_id=2)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert LanguageModel(config(pad_id=10))(IDS[:1]).shape == (1, 5, VOCAB)
    assert next_token_loss(model(), IDS[:, :2]).isfinite()
    assert model().step(IDS[:, :1])[0].shape == (2, VOCAB)
