"""wav2vec 2.0: igual al de transformers, también al preentrenar, y lo que se tapa."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from atento import rng
from atento.models.wav2vec2 import (
    ConvLayer,
    ConvPositions,
    Quantizer,
    Wav2Vec2,
    Wav2Vec2Config,
    Wav2Vec2Pretraining,
    WaveEncoder,
    contrastive_loss,
    diversity_loss,
    draw_negatives,
    draw_spans,
    pretraining_loss,
)
from atento.models.weights import from_wav2vec2

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
STYLES = [
    {"norm": "post", "conv_norm": "group", "conv_bias": False},
    {"norm": "pre", "conv_norm": "layer", "conv_bias": True},
]
STYLE_NAMES = ["base", "lv60"]


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    sizes = {"convs": ((8, 4, 3), (8, 3, 2), (6, 2, 2)), "d_model": 16, "n_heads": 4, "d_ff": 24}
    books = {"place_kernel": 4, "codes": 5, "d_code": 8, "d_compare": 6}
    return Wav2Vec2Config(**{**sizes, **books, **changes})


def waves(count=3, samples=166, dtype=torch.float64, seed=7):
    return torch.randn(count, samples, generator=rng.generator(seed), dtype=dtype)


def hidden(c=None, count=3, samples=166, seed=1):
    frames = WaveEncoder(c or config()).frames(samples)
    everyone = torch.ones(count, frames, dtype=torch.bool)
    return draw_spans(everyone, 0.2, 2, rng.generator(seed))


def theirs(c, dtype, *, heads=True):
    """Un wav2vec 2.0 de transformers con las mismas medidas y pesos al azar."""
    import transformers

    sizes = {"conv_dim": [f for f, _, _ in c.convs], "conv_kernel": [k for _, k, _ in c.convs]}
    sizes |= {"conv_stride": [s for _, _, s in c.convs], "hidden_size": c.d_model}
    sizes |= {"num_attention_heads": c.n_heads, "intermediate_size": c.d_ff}
    sizes |= {"num_hidden_layers": c.n_layers, "num_conv_pos_embeddings": c.place_kernel}
    sizes |= {"num_conv_pos_embedding_groups": c.place_groups, "conv_bias": c.conv_bias}
    sizes |= {"feat_extract_norm": c.conv_norm, "do_stable_layer_norm": c.norm == "pre"}
    sizes |= {"num_codevectors_per_group": c.codes, "num_codevector_groups": c.codebooks or 1}
    sizes |= {"codevector_dim": c.d_code, "proj_codevector_dim": c.d_compare}
    sizes |= {"feat_extract_activation": "gelu", "attn_implementation": "eager"}
    still = ("hidden", "activation", "attention", "feat_proj", "feat_quantizer", "final")
    sizes |= {f"{name}_dropout": 0.0 for name in still} | {"layerdrop": 0.0}
    made = transformers.Wav2Vec2Config(**sizes)
    kind = transformers.Wav2Vec2ForPreTraining if heads else transformers.Wav2Vec2Model
    model = kind(made)
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, float("norm.weight" in name or "original0" in name), std=0.3)
    return model.to(dtype)


def same_gradients(ours, oracle, tolerance):
    expected = from_wav2vec2(
        {n: p.grad for n, p in oracle.named_parameters() if p.grad is not None}
    )
    own = {n: p.grad for n, p in ours.named_parameters() if p.grad is not None}
    assert own.keys() == expected.keys()
    for name, slope in own.items():
        close(slope, expected[name], tolerance * max(1.0, expected[name].abs().max().item()))


# --- Igual al de transformers ---------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES, ids=STYLE_NAMES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(dtype, style, shape_checks):
    c = config(**style)
    oracle = theirs(c, dtype, heads=False).eval()
    ours = Wav2Vec2(c).to(dtype).eval()
    ours.load_state_dict(from_wav2vec2(oracle.state_dict()))
    x, masked = waves(dtype=dtype), hidden(c)
    assert 0 < masked.sum() < masked.numel()
    for chosen in (None, masked):
        ours.zero_grad(), oracle.zero_grad()
        mine, other = ours(x, chosen), oracle(x, mask_time_indices=chosen)
        close(mine, other.last_hidden_state, TOLERANCE[dtype])
        close(ours.features(x), other.extract_features, TOLERANCE[dtype])
        mine.square().mean().backward()
        other.last_hidden_state.square().mean().backward()
        same_gradients(ours, oracle, TOLERANCE[dtype])
    odd = waves(samples=171, dtype=dtype)  # sobran muestras al final
    close(ours(odd), oracle(odd).last_hidden_state, TOLERANCE[dtype])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("style", STYLES, ids=STYLE_NAMES)
def test_pretraining_equals_transformers_with_gradients(style, training, shape_checks):
    """También el azar de los códigos y lo que se paga por no usarlos todos.

    Al entrenar, en 32 bits: ellos sortean así los códigos, y el azar de 64 es otro.
    """
    dtype = torch.float32 if training else torch.float64
    c = config(**style)
    oracle = theirs(c, dtype).train(training)
    ours = Wav2Vec2Pretraining(c).to(dtype).train(training)
    ours.load_state_dict(from_wav2vec2(oracle.state_dict()))
    x, masked = waves(dtype=dtype), hidden(c)
    negatives = draw_negatives(masked, 4, rng.generator(2))
    flat = negatives + torch.arange(len(x))[:, None, None] * masked.shape[1]
    torch.manual_seed(5)
    other = oracle(x, mask_time_indices=masked, sampled_negative_indices=flat)
    torch.manual_seed(5)
    guess = ours(x, masked)
    close(guess.context, other.projected_states, TOLERANCE[dtype])
    close(guess.targets, other.projected_quantized_states, TOLERANCE[dtype])
    close(guess.perplexity.double(), other.codevector_perplexity.double(), 1e-5)
    torch.manual_seed(5)
    loss = pretraining_loss(ours, (x, masked, negatives))
    count = int(masked.sum())  # ellos suman, y siempre en 32 bits
    close(loss.double(), other.loss.double() / count, 1e-5)
    same = (guess.targets[:, None] == guess.targets[:, :, None]).all(-1).sum()
    assert same > masked.numel()  # hay negativos con el código del positivo
    loss.backward()
    (other.loss / count).backward()
    same_gradients(ours, oracle, 1e-5)


def test_old_names_of_the_weight_norm_are_read_too():
    state = theirs(config(), torch.float32, heads=False).state_dict()
    inside = "encoder.pos_conv_embed.conv.parametrizations.weight.original"
    old = {f"{inside}0": "weight_g", f"{inside}1": "weight_v"}
    path = "encoder.pos_conv_embed.conv."
    renamed = {path + old[n] if n in old else n: t for n, t in state.items()}
    new, before = from_wav2vec2(state), from_wav2vec2(renamed)
    assert new.keys() == before.keys() and renamed.keys() != state.keys()
    assert all(torch.equal(new[n], before[n]) for n in new)


@pytest.mark.parametrize(
    ("sizes", "alone", "whole"),
    [
        (Wav2Vec2Config(), 98_448, 104_720),
        (Wav2Vec2Config.base(), 94_371_712, 95_044_608),  # 95 millones en el artículo
        (Wav2Vec2Config.large(), 315_428_992, 317_380_864),  # 317
        (Wav2Vec2Config.large_lv60(), 315_438_720, 317_390_592),
    ],
)
def test_counts_the_parameters_of_the_published_ones(sizes, alone, whole):
    with torch.device("meta"):
        model, heads = Wav2Vec2(sizes), Wav2Vec2Pretraining(sizes)
        oracle = theirs(sizes, torch.float32)
    count = [sum(p.numel() for p in m.parameters()) for m in (model, heads, oracle)]
    assert count == [alone, whole, whole]


# --- Las piezas -----------------------------------------------------------------------------------


def test_the_published_convolutions_give_a_row_every_20_ms():
    listen = WaveEncoder(
        Wav2Vec2Config.base(convs=((4, 10, 5), *[(4, 3, 2)] * 4, *[(4, 2, 2)] * 2))
    )
    assert listen.frames(16_000) == 49 and listen.frames(400) == 1 and listen.frames(720) == 2
    with pytest.raises(ValueError, match="samples: se esperaban 400"):
        listen.frames(399)


@pytest.mark.parametrize("samples", [16, 17, 27, 28, 100])
def test_each_row_sees_its_samples_and_no_more(samples, shape_checks):
    """Sin la norma por filtro, que mira la grabación entera."""
    c = config(conv_norm="layer")
    listen = WaveEncoder(c).double()
    x = waves(1, samples).requires_grad_()
    rows = listen(x)
    assert rows.shape == (1, listen.frames(samples), 6)
    last = rows.shape[1] - 1
    (slope,) = torch.autograd.grad(rows[0, last].sum(), x)
    seen = slope[0].nonzero().flatten().tolist()
    assert seen[0] >= 12 * last and seen[-1] < 12 * last + 16  # 4 + 2 · 3 + 1 · 6 muestras


def test_positions_are_a_convolution_of_their_neighbours():
    places = ConvPositions(config(place_kernel=4)).double()
    x = torch.randn(1, 9, 16, dtype=torch.float64, generator=rng.generator(0)).requires_grad_()
    (slope,) = torch.autograd.grad(places(x)[0, 4].sum(), x)
    assert slope[0].abs().sum(-1).nonzero().flatten().tolist() == [2, 3, 4, 5]
    moved = places(x.roll(1, dims=1))
    close(moved[:, 4:7], places(x)[:, 3:6])


def test_the_masked_rows_are_not_seen():
    """Lo que se dice de un sitio tapado no depende de lo que sonaba en él."""
    net = Wav2Vec2(config()).double().eval()
    features, masked = net.features(waves()), hidden()
    changed = torch.where(masked[..., None], torch.randn_like(features), features)
    close(net.context(changed, masked), net.context(features, masked), 1e-12)
    assert not torch.allclose(net.context(changed), net.context(features))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_companions_change_nothing(norm):
    net, x = Wav2Vec2(config(norm=norm)).double().eval(), waves()
    whole = net(x)
    for i in range(3):
        close(whole[i], net(x[i : i + 1])[0], 1e-12)


def test_evaluating_the_quantizer_takes_the_best_code_of_each_book(shape_checks):
    books = Quantizer(config()).double().eval()
    features = torch.randn(2, 4, 6, dtype=torch.float64)
    chosen = books(features)
    scores = books.score(features).view(2, 4, 2, 5)
    for b in range(2):
        for i in range(4):
            best = [int(scores[b, i, k].argmax()) for k in range(2)]
            assert chosen.codes[b, i].tolist() == best
            rows = [books.vectors[5 * k + code] for k, code in enumerate(best)]
            close(chosen.vectors[b, i], torch.cat(rows))
    assert 2 <= chosen.perplexity <= 10


def test_perplexity_counts_the_codes_in_use():
    books = Quantizer(config(codebooks=1, codes=4, convs=((4, 2, 2),), d_code=4)).double().eval()
    with torch.no_grad():
        books.score.weight.copy_(torch.eye(4))
    rows = torch.eye(4, dtype=torch.float64)[None]  # cuatro filas, un código cada una
    close(books(rows).perplexity, torch.tensor(4.0).double())
    close(books(rows[:, [0, 0, 1, 1]]).perplexity, torch.tensor(2.0).double())
    only = torch.tensor([[True, False, False, False]])
    close(books(rows, only).perplexity, torch.tensor(1.0).double())
    close(diversity_loss(torch.tensor(3.0), 4), torch.tensor(0.25))


def test_training_chooses_by_chance_as_often_as_softmax_says():
    books = Quantizer(config(codebooks=1, codes=3, convs=((3, 2, 2),), d_code=3)).train()
    with torch.no_grad():
        books.score.weight.zero_()
        books.score.bias.copy_(torch.tensor([0.5, 0.3, 0.2]).log())
    codes = books(torch.zeros(1, 40_000, 3)).codes.flatten()
    close(codes.bincount() / len(codes), torch.tensor([0.5, 0.3, 0.2]), 0.01)


# --- Lo que se tapa y entre qué se elige ----------------------------------------------------------


def test_spans_are_what_they_say(shape_checks):
    allowed = torch.zeros(200, 60, dtype=torch.bool)
    allowed[:, 10:50] = True
    masked = draw_spans(allowed, 0.1, 5, rng.generator(0))
    assert not (masked & ~allowed).any()
    starts = draw_spans(allowed, 0.1, 1, rng.generator(0))  # el mismo sorteo, sin alargar
    assert (starts.sum(1) == 4).all()
    by_hand = torch.zeros_like(allowed)
    for row, place in starts.nonzero().tolist():
        by_hand[row, place : place + 5] = True
    assert torch.equal(masked, by_hand & allowed)
    close(starts[:, 10:50].double().mean(0), torch.full((40,), 0.1).double(), 0.08)
    assert (draw_spans(allowed, 0.001, 1, rng.generator(0)).sum(1) == 2).all()
    same = draw_spans(allowed, 0.1, 5, rng.generator(0))
    assert torch.equal(same, masked)


def test_negatives_are_other_masked_rows_of_the_same_sound(shape_checks):
    masked = hidden(count=4)
    drawn = draw_negatives(masked, 50, rng.generator(0))
    for b in range(4):
        for i in range(masked.shape[1]):
            if masked[b, i]:
                others = set(masked[b].nonzero().flatten().tolist()) - {i}
                assert set(drawn[b, i].tolist()) <= others
                assert len(others) > 10 or set(drawn[b, i].tolist()) == others
            else:
                assert not drawn[b, i].any()


def test_the_contrastive_loss_is_its_formula(shape_checks):
    make = partial(torch.randn, 2, 7, 3, dtype=torch.float64, generator=rng.generator(4))
    context, targets = make(), make()
    masked = torch.tensor([[1, 1, 0, 1, 0, 1, 1], [0, 1, 1, 1, 0, 0, 1]], dtype=torch.bool)
    negatives = draw_negatives(masked, 3, rng.generator(0))
    targets[0, 3] = targets[0, 1]  # dos filas con el mismo código
    costs, skipped = [], 0
    for b, i in masked.nonzero().tolist():
        right = (F.cosine_similarity(context[b, i], targets[b, i], dim=0) / 0.1).exp()
        total = right.clone()
        for j in negatives[b, i].tolist():
            if torch.equal(targets[b, j], targets[b, i]):
                skipped += 1
                continue
            total += (F.cosine_similarity(context[b, i], targets[b, j], dim=0) / 0.1).exp()
        costs.append(-(right / total).log())
    assert skipped > 0
    close(contrastive_loss(context, targets, masked, negatives), torch.stack(costs).mean())


def test_guessing_at_random_costs_the_logarithm_of_the_options():
    """Si todo se parece igual a todo, el coste es ln(1 + negativos)."""
    c = config(codebooks=0)
    net = Wav2Vec2Pretraining(c).double()
    assert net.quantizer is None and net(waves(), hidden(c)).perplexity is None
    with torch.no_grad():
        net.project_context.weight.zero_()
        net.project_context.bias.fill_(1.0)
        net.project_target.weight.zero_()
        net.project_target.bias.copy_(torch.arange(1.0, 7.0))
        net.project_target.weight[0, 0] = 1e-9  # casi iguales, y no iguales
    masked = hidden(c)
    loss = pretraining_loss(net, (waves(), masked, draw_negatives(masked, 7, rng.generator(0))))
    close(loss, torch.tensor(8.0).double().log(), 1e-6)


def test_it_learns_to_point_at_what_was_hidden():
    """Con ondas lentas, adivina lo tapado mejor que el azar en unos pasos."""
    from atento.training import fit

    c = config(codebooks=0, norm="pre", conv_norm="layer", init_std=0.1)
    frames = WaveEncoder(c).frames(160)

    def batch(step):
        source = rng.generator(step)
        speed = 0.2 + 0.6 * torch.rand(16, 1, generator=source)
        steps = torch.arange(160)
        x = torch.sin(speed * steps * (1 + steps / 160))  # el tono sube: cada fila es otra
        masked = draw_spans(torch.ones(16, frames, dtype=torch.bool), 0.15, 2, source)
        return x, masked, draw_negatives(masked, 5, source)

    rng.seed_all(0)
    net = Wav2Vec2Pretraining(c)
    optimizer = partial(torch.optim.Adam, lr=3e-3)
    fit(net, batch, pretraining_loss, steps=100, optimizer=optimizer)
    with torch.no_grad():
        assert pretraining_loss(net.eval(), batch(1000)) < 0.8 * torch.tensor(6.0).log()


# --- Lo que no vale -------------------------------------------------------------------------------


def bits(*rows):
    return torch.tensor(rows, dtype=torch.bool)


def conv(channels=1, shape=(4, 3, 2), norm=None, bias=True):
    return ConvLayer(channels, shape, norm=norm, bias=bias)


def understood(features, masked=None):
    return Wav2Vec2(config()).context(features, masked)


def guessed(wave, masked):
    return Wav2Vec2Pretraining(config())(wave, masked)


def spans(allowed=None, share=0.5, span=2):
    allowed = bits([1, 1]) if allowed is None else allowed
    return draw_spans(allowed, share, span, rng.generator(0))


def compared(**changes):
    given = {"context": torch.ones(1, 3, 2), "targets": torch.ones(1, 3, 2)}
    given |= {"masked": bits([1, 1, 0]), "negatives": torch.zeros(1, 3, 4, dtype=torch.long)}
    return contrastive_loss(**{**given, **changes})


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una Wav2Vec2Config", lambda: Wav2Vec2(3)),
        (TypeError, "config: se esperaba una Wav2Vec2Config", lambda: Wav2Vec2Pretraining(3)),
        (ValueError, "config: se esperaba codebooks", lambda: Quantizer(config(codebooks=0))),
        (TypeError, "convs: se esperaba una tupla", lambda: config(convs=[(8, 4, 3)])),
        (ValueError, "convs: se esperaba al menos una", lambda: config(convs=())),
        (ValueError, r"convs\[1\]: se esperaba", lambda: config(convs=((8, 4, 3), (8, 4)))),
        (ValueError, "conv_norm: se esperaba una de group", lambda: config(conv_norm="batch")),
        (ValueError, "norm: se esperaba una de post", lambda: config(norm="both")),
        (ValueError, "d_model: .*place_groups = 3", lambda: config(place_groups=3)),
        (ValueError, "d_code: .*codebooks = 3", lambda: config(codebooks=3)),
        (ValueError, "temperature: ", lambda: config(temperature=0.0)),
        (ValueError, "diversity: se esperaba 0 o más", lambda: config(diversity=-1.0)),
        (
            ValueError,
            r"x: .*\(batch, 1, n\)",
            lambda: ConvLayer(1, (4, 3, 2), norm=None, bias=True)(waves()),
        ),
        (
            ValueError,
            "x: se esperaban 3 muestras",
            lambda: ConvLayer(1, (4, 3, 2), norm=None, bias=True)(torch.ones(1, 1, 2)),
        ),
        (ValueError, r"wave: .*\(batch, samples\)", lambda: Wav2Vec2(config())(torch.ones(9))),
        (ValueError, "samples: se esperaban 16", lambda: Wav2Vec2(config())(torch.ones(1, 15))),
        (TypeError, "wave: .*los pesos", lambda: Wav2Vec2(config())(waves())),
        (
            ValueError,
            r"x: .*\(batch, n, 16\)",
            lambda: ConvPositions(config())(torch.ones(1, 2, 3)),
        ),
        (
            ValueError,
            r"features: .*\(batch, frame, 6\)",
            lambda: Wav2Vec2(config()).context(torch.ones(1, 2, 3)),
        ),
        (
            ValueError,
            r"masked: .*\(batch, frame\) = \(1, 2\)",
            lambda: Wav2Vec2(config()).context(torch.ones(1, 2, 6), bits([1])),
        ),
        (
            ValueError,
            "masked: se esperaba alguna",
            lambda: Wav2Vec2Pretraining(config())(torch.ones(1, 28), bits([0, 0])),
        ),
        (
            ValueError,
            "masked: se esperaba alguna",
            lambda: Quantizer(config())(torch.ones(1, 2, 6), bits([0, 0])),
        ),
        (
            ValueError,
            "allowed: .*dos filas",
            lambda: draw_spans(bits([1, 0]), 0.5, 2, rng.generator(0)),
        ),
        (
            ValueError,
            "share: .*entre 0 y 1",
            lambda: draw_spans(bits([1, 1]), 1.5, 2, rng.generator(0)),
        ),
        (
            TypeError,
            "rng: se esperaba un torch.Generator",
            lambda: draw_spans(bits([1, 1]), 0.5, 2, 3),
        ),
        (
            ValueError,
            "masked: .*dos filas",
            lambda: draw_negatives(bits([1, 0]), 2, rng.generator(0)),
        ),
        (ValueError, "count: ", lambda: draw_negatives(bits([1, 1]), 0, rng.generator(0))),
        (ValueError, r"targets: .*\(1, 3, 2\)", lambda: compared(targets=torch.ones(1, 3, 1))),
        (
            ValueError,
            "negatives: se esperaban sitios de 0 a 2",
            lambda: compared(negatives=torch.full((1, 3, 4), 3)),
        ),
        (TypeError, "negatives: .*enteros", lambda: compared(negatives=torch.ones(1, 3, 4))),
        (ValueError, "temperature: ", lambda: compared(temperature=0.0)),
        (ValueError, "perplexity: .*un solo número", lambda: diversity_loss(torch.ones(2), 4)),
        (ValueError, "total: ", lambda: diversity_loss(torch.tensor(1.0), 0)),
        (TypeError, "batch: se esperaba la onda", lambda: pretraining_loss(None, 3)),
        (ValueError, "batch: .*llegaron 2", lambda: pretraining_loss(None, (1, 2))),
        (ValueError, "state: .* wav2vec 2.0", lambda: from_wav2vec2({"encoder.x": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_wav2vec2([1])),
        (TypeError, "conv_bias: ", lambda: config(conv_bias=1)),
        (ValueError, "d_ff: ", lambda: config(d_ff=0)),
        (ValueError, "codebooks: ", lambda: config(codebooks=-1)),
        (TypeError, "diversity: se esperaba un número", lambda: config(diversity="0.1")),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (TypeError, r"convs\[0\]: ", lambda: config(convs=([8, 4, 3],))),
        (ValueError, r"convs\[0\]: .*entero", lambda: config(convs=((8, 4, 0),))),
        (TypeError, "samples: ", lambda: WaveEncoder(config()).frames(16.0)),
        (TypeError, "config: ", lambda: Quantizer(3)),
        (ValueError, "channels: ", lambda: conv(channels=0)),
        (ValueError, "shape: ", lambda: conv(shape=(4, 3))),
        (ValueError, "norm: se esperaba una de group", lambda: conv(norm="batch")),
        (TypeError, "bias: ", lambda: conv(bias=1)),
        (TypeError, "x: .*coma flotante", lambda: conv()(torch.ones(1, 1, 9).int())),
        (ValueError, r"x: .*\(batch, 1, n\)", lambda: conv()(torch.ones(0, 1, 9))),
        (TypeError, "wave: .*coma flotante", lambda: Wav2Vec2(config())(torch.ones(1, 28).int())),
        (TypeError, "wave: ", lambda: Wav2Vec2(config()).features([1.0])),
        (TypeError, "x: .*coma flotante", lambda: ConvPositions(config())(torch.ones(1, 2).int())),
        (TypeError, "features: .*flotante", lambda: understood(torch.ones(1, 2, 6).int())),
        (
            TypeError,
            "masked: .*booleana",
            lambda: understood(torch.ones(1, 2, 6), torch.ones(1, 2)),
        ),
        (ValueError, r"wave: .*\(batch, samples\)", lambda: guessed(torch.ones(28), bits([1, 1]))),
        (TypeError, "masked: ", lambda: guessed(torch.ones(1, 28), [True, True])),
        (TypeError, "features: ", lambda: Quantizer(config())(torch.ones(1, 2, 6).int())),
        (TypeError, "allowed: .*booleana", lambda: spans(torch.ones(1, 2))),
        (ValueError, r"allowed: .*\(batch, frame\)", lambda: spans(bits([1, 1])[0])),
        (ValueError, "share: ", lambda: spans(share=0.0)),
        (ValueError, "span: ", lambda: spans(span=0)),
        (TypeError, "rng: ", lambda: draw_negatives(bits([1, 1]), 2, 3)),
        (TypeError, "masked: .*booleana", lambda: draw_negatives(torch.ones(1, 2), 2, 3)),
        (TypeError, "context: ", lambda: compared(context=torch.ones(1, 3, 2).int())),
        (ValueError, r"context: .*\(batch, frame", lambda: compared(context=torch.ones(3, 2))),
        (TypeError, "targets: .*flotante", lambda: compared(targets=torch.ones(1, 3, 2).int())),
        (TypeError, "targets: .*context", lambda: compared(targets=torch.ones(1, 3, 2).double())),
        (ValueError, r"masked: .*\(1, 3\)", lambda: compared(masked=bits([1, 1]))),
        (ValueError, "masked: se esperaba alguna", lambda: compared(masked=bits([0, 0, 0]))),
        (
            ValueError,
            r"negatives: .*\(1, 3, count\)",
            lambda: compared(negatives=torch.zeros(1, 3).long()),
        ),
        (
            ValueError,
            "negatives: .*llegaron de -1",
            lambda: compared(negatives=torch.full((1, 3, 4), -1)),
        ),
        (TypeError, "perplexity: ", lambda: diversity_loss(3, 4)),
        (ValueError, "x: se esperaban 3", lambda: conv(channels=3)(torch.ones(1, 3, 2))),
        (
            ValueError,
            "masked: se esperaba alguna",
            lambda: Wav2Vec2Pretraining(config(codebooks=0))(torch.ones(1, 28), bits([0, 0])),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert config(diversity=0.0).diversity == 0
    assert WaveEncoder(config()).frames(16) == 1
    assert conv()(torch.ones(1, 1, 3)).shape == (1, 4, 1)
    assert spans(share=1.0).all()
    assert compared(negatives=torch.full((1, 3, 4), 2)).isfinite()
