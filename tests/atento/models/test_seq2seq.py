"""El Transformer entero: igual al de PyTorch y a Marian, con caché o sin ella, ciego al relleno."""

import copy
import shutil
from dataclasses import FrozenInstanceError, asdict, replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from atento import positions, rng, shapes, training
from atento.decoding import beam_search, by_length, greedy
from atento.models.positioning import NAMES, RELATIVE, Positions, attention_options
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig, named_positions, seq2seq_loss
from atento.models.weights import from_pytorch

F64 = torch.float64
VOCAB = 11
SOURCE = torch.tensor([[3, 4, 5, 6, 2], [7, 8, 2, 0, 0]])
TARGET = torch.tensor([[1, 3, 4, 5], [1, 9, 0, 0]])
SCHEMES = [("sinusoidal", "none"), ("learned", "none"), ("rotary", "rotary"), ("t5", "t5")]
SCHEMES += [("alibi", "alibi"), ("shaw", "shaw"), ("none", "rotary"), ("none", "none")]
# «inductor» escribe el programa en C++: hace falta un compilador, y que la carpeta de PyTorch no
# lleve espacios, por los que parte la orden con que lo llama.
COMPILER = (shutil.which("g++") or shutil.which("cl")) and " " not in torch.__file__
SLOW = pytest.param("inductor", marks=pytest.mark.lento)
BACKENDS = ["aot_eager", *([SLOW] if COMPILER else [])]
EVERY = pytest.mark.parametrize(("own", "cross"), SCHEMES)


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "tying": "none"}
    return Seq2SeqConfig.tiny(VOCAB, **{**sizes, **changes})


def model(**changes):
    return scramble(Seq2Seq(config(**changes))).eval()


def scramble(module):
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module.double()


def sentences(*rows):
    width = max(map(len, rows))
    return torch.tensor([list(row) + [0] * (width - len(row)) for row in rows], dtype=torch.long)


def weighted(logits):
    return (logits * torch.linspace(-1, 1, logits.numel(), dtype=F64).view_as(logits)).sum()


# --- La configuración -----------------------------------------------------------------------------


def test_config_is_frozen_and_plain():
    with pytest.raises(FrozenInstanceError):
        config().d_model = 3
    assert config().target_vocab == VOCAB and Seq2SeqConfig(9, 12).target_vocab == 12
    assert Seq2SeqConfig(**asdict(config())) == config()
    base = Seq2SeqConfig.base(n_heads=4)
    assert (base.d_model, base.n_heads, base.norm_first, base.tying) == (512, 4, False, "all")
    assert Seq2SeqConfig.base(9, 12, tying="output").target_vocab == 12
    assert Seq2SeqConfig.big().dropout == 0.3 and Seq2SeqConfig.big(dropout=0.1).dropout == 0.1


@pytest.mark.parametrize(
    ("error", "message", "changes"),
    [
        (ValueError, "source_vocab: se esperaba un entero", {"source_vocab": 0}),
        (ValueError, "d_model: se esperaba un múltiplo de n_heads = 5", {"n_heads": 5}),
        (TypeError, "n_decoder_layers: se esperaba un entero", {"n_decoder_layers": 1.5}),
        (ValueError, "dropout: se esperaba una probabilidad", {"dropout": 1.2}),
        (ValueError, "activation: se esperaba una de", {"activation": "tanh"}),
        (TypeError, "norm_first: se esperaba True o False; llegó 'pre'", {"norm_first": "pre"}),
        (ValueError, "tying: se esperaba una de none, output, all", {"tying": "both"}),
        (ValueError, "tying: «all»", {"tying": "all", "target_vocab": 12}),
        (ValueError, "positions: se esperaba una de none", {"positions": "rope"}),
        (ValueError, "cross_positions: se esperaba una de none", {"cross_positions": "learned"}),
        (ValueError, "bos_id: se esperaba menor que target_vocab", {"bos_id": 11}),
        (ValueError, "eos_id: se esperaba distinto de pad_id", {"eos_id": 0}),
        (ValueError, "max_len", {"max_len": 0}),
        (ValueError, "pad_id: .*mayor o igual", {"pad_id": -1}),
    ],
)
def test_bad_fields_are_named(error, message, changes):
    with pytest.raises(error, match="^" + message):
        replace(config(), **changes)


# --- Frente a otros -------------------------------------------------------------------------------


def by_pytorch(ours, theirs, source, target):
    """El mismo modelo con nn.Transformer en medio: sus máscaras tapan donde las nuestras dejan."""
    future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
    output = theirs(
        ours.embed_source(source),
        ours.embed_target(target),
        tgt_mask=future,
        src_key_padding_mask=source == 0,
        memory_key_padding_mask=source == 0,
    )
    return ours.project(output)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("tying", ["none", "all"])
def test_equals_nn_transformer(norm_first, activation, tying, shape_checks):
    ours = scramble(Seq2Seq(config(norm_first=norm_first, activation=activation, tying=tying)))
    options = {"activation": getattr(F, activation), "norm_first": norm_first}
    theirs = scramble(nn.Transformer(16, 4, 2, 2, 24, 0.0, batch_first=True, **options))
    missing, unexpected = ours.load_state_dict(from_pytorch(theirs.state_dict()), strict=False)
    assert not unexpected and all(n.startswith(("embed_", "project")) for n in missing)
    logits, expected = ours(SOURCE, TARGET), by_pytorch(ours, theirs, SOURCE, TARGET)
    close(logits, expected)
    core = dict(theirs.named_parameters())
    outer = [p for n, p in ours.named_parameters() if n.startswith(("embed_", "project"))]
    found = torch.autograd.grad(weighted(expected), [*core.values(), *outer])
    weighted(logits).backward()
    renamed = from_pytorch(dict(zip(core, found, strict=False)))
    named = dict(ours.named_parameters())
    for name, gradient in renamed.items():
        close(named[name].grad, gradient)
    for parameter, gradient in zip(outer, found[len(core) :], strict=True):
        close(parameter.grad, gradient)


def marian_pair(start_with_padding, *, varied=False):
    from transformers import MarianConfig, MarianMTModel

    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=VOCAB, d_model=16, max_position_embeddings=32,
            encoder_layers=2, decoder_layers=2, encoder_ffn_dim=24, decoder_ffn_dim=24,
            encoder_attention_heads=4, decoder_attention_heads=4, activation_function="gelu",
            dropout=0.0, scale_embedding=True, pad_token_id=0, eos_token_id=2, bos_token_id=1,
            decoder_start_token_id=0 if start_with_padding else 1, forced_eos_token_id=None,
        )
    )  # fmt: skip
    table = theirs.model.encoder.embed_positions.weight.double()
    for name, parameter in theirs.named_parameters():
        if parameter.requires_grad and not (varied and "norm" in name):
            wide = varied and "shared" not in name  # así no escribe siempre lo mismo
            nn.init.normal_(parameter, std=0.5 if wide else 0.3)
    ours = Seq2Seq(
        config(
            norm_first=False, final_norm=False, activation="gelu", tying="all",
            bos_id=0 if start_with_padding else 1,
        ),
        positions=Positions(*[lambda x, where: x + table[where]] * 2),
    )  # fmt: skip
    return ours.double().eval(), theirs.double().eval()


MARIAN = {
    "self_attn_layer_norm": "add_attention.norm",
    "encoder_attn_layer_norm": "add_cross_attention.norm",
    "final_layer_norm": "add_feed_forward.norm",
    "self_attn": "attention",
    "encoder_attn": "cross_attention",
    "q_proj": "project_query",
    "k_proj": "project_key",
    "v_proj": "project_value",
    "out_proj": "project_output",
    "fc1": "feed_forward.expand",
    "fc2": "feed_forward.contract",
    "layers": "blocks",
}


def from_marian(named):
    kept = {n.removeprefix("model."): t for n, t in named.items() if ".layers." in n}
    ours = {".".join(MARIAN.get(p, p) for p in n.split(".")): t for n, t in kept.items()}
    ours["embed_target.tokens.weight"] = named["model.shared.weight"]
    return ours


@pytest.mark.parametrize("start_with_padding", [False, True])
def test_equals_marian_and_generates_the_same(start_with_padding):
    ours, theirs = marian_pair(start_with_padding)
    missing, unexpected = ours.load_state_dict(from_marian(theirs.state_dict()), strict=False)
    assert not unexpected and set(missing) <= {"embed_source.tokens.weight", "project.weight"}
    target = TARGET.clone()
    target[:, 0] = ours.config.bos_id
    expected = theirs(
        input_ids=SOURCE, attention_mask=(SOURCE != 0).long(), decoder_input_ids=target
    ).logits
    logits = ours(SOURCE, target)
    close(logits, expected)
    weighted(logits).backward()
    weighted(expected).backward()
    grads = {n: p.grad for n, p in theirs.named_parameters() if p.grad is not None}
    named = dict(ours.named_parameters())
    for name, gradient in from_marian(grads).items():
        mine = named.get(name, ours.project.weight).grad  # la compartida tiene un solo nombre
        same = slice(1, None) if name.startswith("embed") else slice(None)  # Marian no deriva el 0
        close(mine[same], gradient[same])
    options = {"max_new_tokens": 9, "num_beams": 1, "do_sample": False}
    written = theirs.generate(SOURCE, attention_mask=(SOURCE != 0).long(), **options)[:, 1:]
    mine = ours.generate(SOURCE, max_length=9)
    assert mine.tolist() == written.tolist()


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("beams", [2, 4])
def test_beam_search_equals_that_of_marian(beams, alpha):
    """Con ``early_stopping="never"``, que es la parada sin heurísticas; él suma en 32 bits."""
    rng.seed_all(10)
    ours, theirs = marian_pair(False, varied=True)
    ours.load_state_dict(from_marian(theirs.state_dict()), strict=False)
    source = sentences([3, 4, 5, 6, 2], [7, 8, 2], [9, 3, 9, 2], [2], [4, 4, 10, 5, 2])
    options = {"num_beams": beams, "num_return_sequences": beams, "length_penalty": alpha}
    options |= {"do_sample": False, "early_stopping": "never", "max_new_tokens": 8}
    options |= {"output_scores": True, "return_dict_in_generate": True}
    expected = theirs.generate(source, attention_mask=(source != 0).long(), **options)
    beam = {"strategy": beam_search, "beams": beams, "n_best": beams}
    mine = ours.generate(source, max_length=8, length_penalty=by_length(alpha), **beam)
    lengths = mine.lengths.flatten().tolist()
    for ids, other, n in zip(mine.ids.flatten(0, 1), expected.sequences, lengths, strict=True):
        assert ids[:n].tolist() == other[1 : n + 1].tolist()  # después, él rellena con el fin
    close(mine.scores.flatten().float(), expected.sequences_scores, 1e-5)
    assert len({*lengths}) > 2  # las hay cortas y largas


def closed_form(d, d_ff, layers, vocab, *, attention_bias=False, final_norms=0):
    """De la tabla del libro: una matriz de embeddings, N bloques y N bloques con tres subcapas."""
    dense, bias = 2 * d * d_ff + d_ff + d, 4 * d if attention_bias else 0
    encoder = 4 * d * d + bias + dense + 4 * d
    decoder = 8 * d * d + 2 * bias + dense + 6 * d
    return vocab * d + layers * (encoder + decoder) + final_norms * 2 * d


def count(options):
    with torch.device("meta"):
        return sum(p.numel() for p in Seq2Seq(options).parameters())


def test_parameter_counts():
    assert count(Seq2SeqConfig.base()) == closed_form(512, 2048, 6, 37_000) == 63_045_632
    with_biases = closed_form(512, 2048, 6, 37_000, attention_bias=True)
    assert count(Seq2SeqConfig.base(attention_bias=True)) == with_biases == 63_082_496
    assert count(Seq2SeqConfig.big()) == closed_form(1024, 4096, 6, 37_000) == 214_171_648
    full = Seq2SeqConfig.base(attention_bias=True, final_norm=True)
    core = closed_form(512, 2048, 6, 0, attention_bias=True, final_norms=2)
    assert count(full) - 37_000 * 512 == core == 44_140_544
    with torch.device("meta"):
        assert sum(p.numel() for p in nn.Transformer().parameters()) == core


def test_tying_shares_the_very_same_matrix():
    untied, output, shared = (Seq2Seq(config(tying=t)) for t in ("none", "output", "all"))
    assert output.project.weight is output.embed_target.tokens.weight
    assert shared.embed_source.tokens.weight is shared.project.weight
    assert output.embed_source.tokens.weight is not output.project.weight
    sizes = [sum(p.numel() for p in m.parameters()) for m in (untied, output, shared)]
    assert sizes[0] - sizes[1] == sizes[1] - sizes[2] == VOCAB * 16
    twin = copy.deepcopy(shared)
    assert twin.project.weight is twin.embed_source.tokens.weight
    twin.load_state_dict(shared.state_dict())
    assert twin.project.weight is twin.embed_source.tokens.weight


# --- Generar --------------------------------------------------------------------------------------


@EVERY
def test_step_by_step_equals_forward(own, cross, shape_checks):
    net = model(positions=own, cross_positions=cross)
    logits, state = net(SOURCE, TARGET), net.start(net.encode(SOURCE))
    for t in range(1, 5):
        row, following = net.step(TARGET[:, :t], state)
        close(row, logits[:, t - 1])
        again, _ = net.step(TARGET[:, :t], state)  # el estado de antes sigue sirviendo
        assert torch.equal(again, row) and (len(state), len(following)) == (t - 1, t)
        state = following
    skipped, _ = net.step(TARGET, net.start(net.encode(SOURCE)))  # todas de una vez
    close(skipped, logits[:, -1])


@EVERY
def test_cache_generates_the_same_tokens(own, cross):
    net = model(positions=own, cross_positions=cross)
    encoded = net.encode(SOURCE)

    def recomputed(ids, state):
        return net.decode(ids, encoded)[:, -1], state

    start = torch.ones(2, 1, dtype=torch.long)
    expected = greedy(recomputed, start, eos_id=2, max_length=20)
    assert net.generate(SOURCE, max_length=20).tolist() == expected.tolist()


def test_generate_keeps_the_modes():
    net = Seq2Seq(config(dropout=0.5)).train()
    net.encoder.eval()
    assert (
        net.generate(SOURCE, max_length=4).tolist() == net.generate(SOURCE, max_length=4).tolist()
    )
    assert net.training and not net.encoder.training


def test_selected_states_continue_their_rows(shape_checks):
    net = model(positions="rotary", cross_positions="t5")
    state = net.step(TARGET[:, :2], net.start(net.encode(SOURCE)))[1]
    rows = torch.tensor([1, 0, 1])
    logits, _ = net.step(TARGET[rows, :3], state.select(rows))
    close(logits, net.step(TARGET[:, :3], state)[0][rows])


def test_positions_may_depend_on_the_ids(shape_checks):
    """La posición es cuántos signos «9» van delante: el lugar de una cifra, por ejemplo."""

    def places(ids):
        return (ids == 9).cumsum(-1)

    options = attention_options("rotary", d_head=4, n_heads=4, max_len=9)
    t5 = attention_options("t5", d_head=4, n_heads=4, max_len=9)
    scheme = Positions(encoder=options, decoder=t5, cross={**options, **t5}, places=places)
    net = scramble(Seq2Seq(config(), positions=scheme)).eval()
    target = torch.tensor([[1, 3, 9, 5, 9], [1, 9, 4, 4, 2]])
    logits, state = net(SOURCE, target), net.start(net.encode(SOURCE))
    for t in range(1, 6):
        row, state = net.step(target[:, :t], state)
        close(row, logits[:, t - 1])
    swapped = net(SOURCE[:, [1, 0, 2, 3, 4]], target)  # sin nueves, el origen es un conjunto
    close(swapped[:1], logits[:1])


# --- Relleno y compañía ---------------------------------------------------------------------------


@settings(max_examples=15)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=4),
    extra=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    scheme=st.sampled_from(SCHEMES),
    norm_first=st.booleans(),
    seed=st.integers(0, 999),
)
def test_padding_and_companions_change_nothing(lengths, extra, scheme, norm_first, seed):
    torch.manual_seed(seed)
    own, cross = scheme
    net = model(positions=own, cross_positions=cross, norm_first=norm_first)
    rows = [
        (torch.randint(1, VOCAB, (n,)).tolist(), [1, *torch.randint(1, VOCAB, (m - 1,)).tolist()])
        for n, m in lengths
    ]
    source, target = sentences(*(r[0] for r in rows)), sentences(*(r[1] for r in rows))
    wide = F.pad(source, (0, extra[0])), F.pad(target, (0, extra[1]))
    together = net(*wide)
    assert together.isfinite().all()
    for i, (read, written) in enumerate(rows):
        alone = net(torch.tensor([read], dtype=torch.long), torch.tensor([written]))
        close(together[i, : len(written)], alone[0], 1e-12)


def test_the_future_is_not_seen():
    net = model()
    target, other = torch.randint(1, VOCAB, (2, 2, 5))
    other[:, :3] = target[:, :3]
    mine, yours = net(SOURCE, target), net(SOURCE, other)
    close(mine[:, :3], yours[:, :3], 1e-12)
    assert (mine[:, 3:] - yours[:, 3:]).abs().max() > 1e-3


@pytest.mark.parametrize("norm_first", [True, False])
def test_empty_sources_are_finite_both_ways(norm_first):
    net = model(norm_first=norm_first)
    source = torch.zeros(2, 4, dtype=torch.long)
    loss = seq2seq_loss(net, (source, TARGET))
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in net.parameters())
    assert net.generate(source, max_length=3).shape[0] == 2


def test_padding_gets_no_gradient():
    net = model()
    seq2seq_loss(net, (SOURCE, TARGET)).backward()
    assert (net.embed_source.tokens.weight.grad[0] == 0).all()
    assert (net.embed_target.tokens.weight.grad[0] == 0).all()
    assert (net.embed_source.tokens.weight.grad[3] != 0).any()


# --- La pérdida -----------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_equals_pytorch(smoothing, shape_checks):
    net = model()
    logits = net(SOURCE, TARGET[:, :-1])
    expected = F.cross_entropy(
        logits.flatten(0, 1), TARGET[:, 1:].flatten(), ignore_index=0, label_smoothing=smoothing
    )
    close(seq2seq_loss(net, (SOURCE, TARGET), smoothing=smoothing), expected)


def test_learns_to_reverse():
    """Entrena de verdad: invertir tres símbolos, con frases que no se han visto."""
    generator = torch.Generator().manual_seed(0)

    def batch(step):
        ids = torch.randint(3, VOCAB, (64, 3), generator=generator)
        edge = torch.ones(64, 1, dtype=torch.long)
        return ids, torch.cat([edge, ids.flip(1), 2 * edge], dim=1)

    net = Seq2Seq(config(d_ff=32, n_encoder_layers=1, n_decoder_layers=1))
    groups = training.parameter_groups(net)
    optimizer = torch.optim.AdamW(groups, lr=5e-3)
    schedule = training.warmup_cosine(250, warmup=20)
    training.fit(net, batch, seq2seq_loss, steps=250, optimizer=optimizer, schedule=schedule)
    source, target = batch(0)
    assert (net.generate(source, max_length=4) == target[:, 1:]).all(dim=1).float().mean() > 0.95


# --- Compilar, precisión y dispositivos -----------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_whole(backend, tmp_path, monkeypatch):
    """También con el compilador de verdad, que escribe el programa en C++."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch.compiler.reset()
    layers = {"n_encoder_layers": 1, "n_decoder_layers": 1}
    net = model(positions="rotary", cross_positions="t5", **layers)
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    logits, expected = compiled(SOURCE, TARGET), net(SOURCE, TARGET)
    close(logits, expected)
    mine = torch.autograd.grad(weighted(logits), list(net.parameters()))
    for a, b in zip(
        mine, torch.autograd.grad(weighted(expected), list(net.parameters())), strict=True
    ):
        close(a, b)
    torch.compiler.reset()


@EVERY
def test_bfloat16_stays_close(own, cross):
    """Con 8 bits de mantisa, cada redondeo es de 1/256: se admite un 5 % de la mayor puntuación."""
    exact = Seq2Seq(config(positions=own, cross_positions=cross)).eval()
    rounded = copy.deepcopy(exact).bfloat16()
    logits, expected = rounded(SOURCE, TARGET), exact(SOURCE, TARGET)
    assert logits.dtype == torch.bfloat16
    assert (logits.float() - expected).abs().max() < 0.05 * expected.abs().max()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = exact(SOURCE, TARGET)
    assert (mixed.float() - expected).abs().max() < 0.05 * expected.abs().max()


def test_on_every_device(device):
    net = model(positions="rotary", cross_positions="rotary")
    expected = net(SOURCE, TARGET)
    there = copy.deepcopy(net).to(device)
    close(there(SOURCE.to(device), TARGET.to(device)).cpu(), expected)
    written = there.generate(SOURCE.to(device), max_length=8)
    assert written.tolist() == net.generate(SOURCE, max_length=8).tolist()


# --- Lo que se rechaza ----------------------------------------------------------------------------


def test_named_schemes():
    for name in NAMES:
        assert Seq2Seq(config(positions=name))(SOURCE, TARGET).isfinite().all()
    for name in RELATIVE:
        net = Seq2Seq(config(positions=name))
        first, second = (block.attention for block in net.encoder.blocks)
        shared = "rotary" if name == "rotary" else "score_bias"
        assert getattr(first, shared) is getattr(second, shared) is not None
    learned = Seq2Seq(config(positions="learned", max_len=6))
    assert isinstance(learned.embed_source.positions, positions.Learned)
    assert learned.embed_source.positions is not learned.embed_target.positions


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una Seq2SeqConfig; llegó dict", lambda n: Seq2Seq({})),
        (
            TypeError,
            "config: se esperaba una Seq2SeqConfig",
            lambda n: Seq2Seq({}, positions=named_positions(config())),
        ),
        (
            TypeError,
            "positions: se esperaba Positions",
            lambda n: Seq2Seq(config(), positions="rotary"),
        ),
        (
            ValueError,
            "source: se esperaban números entre 0 y 10; llegó 12",
            lambda n: n(SOURCE + 4, TARGET),
        ),
        (
            TypeError,
            "source: se esperaba un tensor de enteros",
            lambda n: n(SOURCE.float(), TARGET),
        ),
        (ValueError, "source: se esperaba el relleno", lambda n: n(SOURCE.flip(1), TARGET)),
        (ValueError, "target: se esperaba el relleno", lambda n: n(SOURCE, TARGET.flip(1))),
        (ValueError, "target: el eje «batch» mide 1", lambda n: n(SOURCE, TARGET[:1])),
        (
            ValueError,
            "target: se esperaba al menos el comienzo",
            lambda n: n(SOURCE, TARGET[:, :0]),
        ),
        (ValueError, "target: se esperaba la forma", lambda n: n(SOURCE, TARGET[0])),
        (
            TypeError,
            "encoded: se esperaba lo que devuelve encode",
            lambda n: n.decode(TARGET, SOURCE),
        ),
        (TypeError, "encoded: ", lambda n: n.start(SOURCE)),
        (TypeError, "state: se esperaba el estado", lambda n: n.step(TARGET, None)),
        (
            ValueError,
            "ids: se esperaba todo lo escrito y alguna columna nueva",
            lambda n: n.step(TARGET, n.step(TARGET, n.start(n.encode(SOURCE)))[1]),
        ),
        (
            ValueError,
            "ids: el eje «batch» mide 1",
            lambda n: n.step(TARGET[:1], n.start(n.encode(SOURCE))),
        ),
        (ValueError, "max_length: ", lambda n: n.generate(SOURCE, max_length=0)),
        (TypeError, "batch: se esperaba la pareja", lambda n: seq2seq_loss(n, SOURCE)),
        (
            ValueError,
            "target: se esperaban al menos dos",
            lambda n: seq2seq_loss(n, (SOURCE, TARGET[:, :1])),
        ),
        (ValueError, "smoothing: ", lambda n: seq2seq_loss(n, (SOURCE, TARGET), smoothing=1.0)),
        (
            ValueError,
            "positions: se esperaban enteros entre 0 y 3",
            lambda n: Seq2Seq(config(positions="learned", max_len=4))(SOURCE, TARGET),
        ),
        (TypeError, "source: se esperaba un tensor", lambda n: n([[3]], TARGET)),
        (TypeError, "target: se esperaba un tensor", lambda n: n(SOURCE, [[3]])),
        (ValueError, "source: se esperaban números", lambda n: n.encode(SOURCE + 4)),
        (ValueError, "target: ", lambda n: n.decode(TARGET + 4, n.encode(SOURCE))),
        (ValueError, "target: el eje", lambda n: n.decode(TARGET[:1], n.encode(SOURCE))),
        (TypeError, "ids: .*un tensor", lambda n: n.step([[1]], n.start(n.encode(SOURCE)))),
        (TypeError, "batch: ", lambda n: seq2seq_loss(n, (SOURCE, TARGET, TARGET))),
        (TypeError, "batch: ", lambda n: seq2seq_loss(n, "ab")),
        (
            ValueError,
            "target: .*llegó 11",
            lambda n: seq2seq_loss(n, (SOURCE[:1], torch.tensor([[1, 11]]))),  # el último no se lee
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call(model())


def test_shapes_are_checked_when_on():
    with shapes.checked():
        assert model()(SOURCE, TARGET).shape == (2, 4, VOCAB)


def test_the_edges_are_allowed():
    config(pad_id=10, bos_id=9, eos_id=8)
    config(pad_id=3, bos_id=10, eos_id=0)
    assert seq2seq_loss(model(), (SOURCE, TARGET[:, :2])).isfinite()
    assert model().decode(TARGET[:, :1], model().encode(SOURCE[:, :1])).shape == (2, 1, VOCAB)
    with pytest.raises(ValueError, match="^source: se esperaba el relleno"):
        model().encode(torch.tensor([[0, 3]]))
