"""Los bloques y las pilas: iguales a los de PyTorch con sus pesos, con caché y con posiciones."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from atento import positions
from atento.attention import MultiHeadAttention
from atento.blocks import Decoder, DecoderBlock, Encoder, EncoderBlock
from atento.cache import KVCache, Where
from atento.layers import FeedForward, LayerNorm
from atento.masks import causal_mask, combine, padding_mask
from atento.models.weights import from_pytorch

F64 = torch.float64
D, HEADS, D_FF = 12, 3, 20
SOURCE = torch.tensor([[3, 4, 5, 6, 7], [3, 4, 0, 0, 0]])
TARGET = torch.tensor([[1, 3, 4, 5], [1, 3, 0, 0]])
NORMS = pytest.mark.parametrize("norm", ["pre", "post"])


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def scramble(module):
    """Todos los parámetros al azar, también sesgos y normas, que al empezar no se notan."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return module.double()


def gradients(output, module, inputs):
    weights = torch.linspace(-1, 1, output.numel(), dtype=F64).view_as(output)
    module.zero_grad()
    found = torch.autograd.grad((output * weights).sum(), [*inputs, *module.parameters()])
    names = [name for name, _ in module.named_parameters()]
    return found[: len(inputs)], dict(zip(names, found[len(inputs) :], strict=True))


def same_with_gradients(ours, theirs, outputs, inputs):
    """Salidas iguales y también los gradientes de las entradas y de todos los parámetros."""
    close(*outputs)
    mine, my_parameters = gradients(outputs[0], ours, inputs)
    yours, your_parameters = gradients(outputs[1], theirs, inputs)
    for a, b in zip(mine, yours, strict=True):
        close(a, b)
    renamed = from_pytorch(your_parameters)
    assert renamed.keys() == my_parameters.keys()
    for name, gradient in my_parameters.items():
        close(gradient, renamed[name])


def states(n, batch=2):
    return torch.randn(batch, n, D, dtype=F64, requires_grad=True)


def attention(**options):
    return MultiHeadAttention(D, HEADS, **options)


def encoder_block(norm="pre", activation="relu", **options):
    dense = FeedForward(D, D_FF, activation=activation)
    return EncoderBlock(attention(**options), dense, norm=norm).double()


def decoder_block(norm="pre", activation="relu", own=(), cross=()):
    parts = attention(**dict(own)), attention(**dict(cross))
    return DecoderBlock(*parts, FeedForward(D, D_FF, activation=activation), norm=norm).double()


# --- Frente a PyTorch -----------------------------------------------------------------------------

MASKS = {
    "ninguna": (None, {}),
    "causal": (causal_mask(5), {"src_mask": ~causal_mask(5)}),
    "relleno": (padding_mask(SOURCE), {"src_key_padding_mask": SOURCE == 0}),
    "ambas": (
        combine(padding_mask(SOURCE), causal_mask(5)),
        {"src_mask": ~causal_mask(5), "src_key_padding_mask": SOURCE == 0},
    ),
}


@NORMS
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("mask", MASKS)
def test_encoder_block_equals_pytorch(norm, activation, mask, shape_checks):
    options = {"activation": getattr(F, activation), "norm_first": norm == "pre"}
    theirs = nn.TransformerEncoderLayer(D, HEADS, D_FF, 0.0, batch_first=True, **options)
    ours = encoder_block(norm, activation)
    ours.load_state_dict(from_pytorch(scramble(theirs).state_dict()))
    x, (mine, yours) = states(5), MASKS[mask]
    same_with_gradients(ours, theirs, (ours(x, mine), theirs(x, **yours)), [x])


@NORMS
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("padded", [False, True])
def test_decoder_block_equals_pytorch(norm, activation, padded, shape_checks):
    options = {"activation": getattr(F, activation), "norm_first": norm == "pre"}
    theirs = nn.TransformerDecoderLayer(D, HEADS, D_FF, 0.0, batch_first=True, **options)
    ours = decoder_block(norm, activation)
    ours.load_state_dict(from_pytorch(scramble(theirs).state_dict()))
    x, memory = states(4), states(5)
    own, cross, yours = causal_mask(4), None, {"tgt_mask": ~causal_mask(4)}
    if padded:
        own, cross = combine(own, padding_mask(TARGET)), padding_mask(SOURCE)
        yours["tgt_key_padding_mask"] = TARGET == 0
        yours["memory_key_padding_mask"] = SOURCE == 0
    outputs = ours(x, memory, own, cross), theirs(x, memory, **yours)
    same_with_gradients(ours, theirs, outputs, [x, memory])


@NORMS
@pytest.mark.parametrize("final", [False, True])
def test_stacks_equal_pytorch(norm, final):
    layer = {"dropout": 0.0, "batch_first": True, "norm_first": norm == "pre"}
    final_norms = [LayerNorm(D), LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)]
    own, cross, their_own, their_cross = final_norms if final else [None] * 4
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(D, HEADS, D_FF, **layer), 3, their_own, False
    )
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(D, HEADS, D_FF, **layer), 2, their_cross
    )
    ours = Encoder([encoder_block(norm) for _ in range(3)], own).double()
    ours.load_state_dict(from_pytorch(scramble(encoder).state_dict()))
    x, padding = states(5), padding_mask(SOURCE)
    theirs = encoder(x, src_key_padding_mask=SOURCE == 0)
    same_with_gradients(ours, encoder, (ours(x, padding), theirs), [x])

    writer = Decoder([decoder_block(norm) for _ in range(2)], cross).double()
    writer.load_state_dict(from_pytorch(scramble(decoder).state_dict()))
    y, memory, causal = states(4), states(5), causal_mask(4)
    mine = writer(y, writer.remember(memory), causal, padding)
    theirs = decoder(y, memory, ~causal, memory_key_padding_mask=SOURCE == 0)
    same_with_gradients(writer, decoder, (mine, theirs), [y, memory])
    close(writer(y, [memory, memory], causal, padding), mine)


# --- Caché, memoria y posiciones ------------------------------------------------------------------

SCHEMES = {
    "ninguna": dict,
    "rope": lambda: {"rotary": positions.Rotary(D // HEADS)},
    "t5": lambda: {"score_bias": positions.RelativeBias(HEADS)},
    "shaw": lambda: {"score_bias": positions.ShawRelative(D // HEADS, 3)},
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("each", [False, True], ids=["comunes", "de-cada-ejemplo"])
def test_cached_block_equals_the_whole(scheme, each, shape_checks):
    block = decoder_block(own=SCHEMES[scheme](), cross=SCHEMES[scheme]())
    x, memory, mask = states(6), states(5), padding_mask(SOURCE)
    where, there = torch.arange(6) * 2, torch.arange(5) + 1
    if each:
        where, there = torch.stack([where, where.flip(0)]), torch.stack([there, there.flip(0)])
    read = Where(mask, there)
    whole = block(x, memory, Where(causal_mask(6), where), read)
    fixed = block.cross_attention.remember(memory, key_positions=there)
    cache, rows = KVCache(), []
    for start, stop in [(0, 2), (2, 3), (3, 6)]:
        own = Where(causal_mask(stop)[start:], where[..., :stop], cache)
        rows.append(block(x[:, start:stop], fixed, own, read))
    close(torch.cat(rows, dim=1), whole)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_positions_default_to_consecutive(scheme):
    block = decoder_block(own=SCHEMES[scheme](), cross=SCHEMES[scheme]())
    x, memory = states(4), states(5)
    where, there = torch.arange(4), torch.arange(5)
    whole = block(x, memory, Where(causal_mask(4), where), Where(positions=there))
    close(block(x, memory, causal_mask(4)), whole)
    cache = KVCache()
    rows = [block(x[:, i : i + 1], memory, Where(cache=cache)) for i in range(4)]
    close(torch.cat(rows, dim=1), whole)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_causal_encoder_block_with_cache(scheme, shape_checks):
    block, x = encoder_block(**SCHEMES[scheme]()), states(5)
    stack = Encoder([block, encoder_block()])
    whole, caches = stack(x, causal_mask(5)), [KVCache(), KVCache()]
    rows = [stack(x[:, i : i + 1], Where(cache=caches)) for i in range(5)]
    close(torch.cat(rows, dim=1), whole)


def test_relative_schemes_ignore_a_common_shift():
    for scheme in ("rope", "t5", "shaw"):
        block = decoder_block(own=SCHEMES[scheme](), cross=SCHEMES[scheme]())
        x, memory, where, there = states(4), states(5), torch.arange(4), torch.arange(5)
        near, far, apart = (
            block(x, memory, Where(positions=where + own), Where(positions=there + crossed))
            for own, crossed in [(0, 0), (7, 7), (7, 0)]
        )
        close(near, far)
        assert (near - apart).abs().max() > 1e-6


def test_remembered_memory_equals_projecting_every_time():
    layer = attention(rotary=positions.Rotary(4), n_kv_heads=1).double()
    query, memory = states(2), states(5)
    output, weights = layer(query, memory, mask=padding_mask(SOURCE), need_weights=True)
    fixed = layer.remember(memory)
    assert fixed.key.shape == (2, 1, 5, 4)
    again, their_weights = layer(query, fixed, mask=padding_mask(SOURCE), need_weights=True)
    close(again, output)
    close(their_weights, weights)
    close(layer(query, fixed, mask=padding_mask(SOURCE))[0], output)


def test_a_cache_copied_or_selected_leaves_the_first_alone():
    layer, x, cache = attention().double(), states(3), KVCache()
    assert len(cache.select(torch.tensor([0]))) == 0
    layer(x[:, :2], cache=cache)
    twin, crossed = cache.copy(), cache.select(torch.tensor([1, 0, 0]))
    layer(x[:, 2:], cache=twin)
    assert (len(cache), len(twin), crossed.key.shape[0]) == (2, 3, 3)
    assert torch.equal(crossed.key[0], cache.key[1]) and torch.equal(
        crossed.value[2], cache.value[0]
    )


# --- Propiedades ----------------------------------------------------------------------------------


@NORMS
def test_rows_without_keys_are_finite_both_ways(norm):
    block, x, memory = decoder_block(norm), states(4), states(5)
    nobody = torch.zeros(2, 1, 1, 5, dtype=torch.bool)
    own = causal_mask(4).clone()
    own[2] = False
    output = block(x, memory, own, nobody)
    found, parameters = gradients(output, block, [x, memory])
    assert output.isfinite().all() and all(g.isfinite().all() for g in found)
    assert all(g.isfinite().all() for g in parameters.values())
    assert (found[1] == 0).all()  # nadie atendió a la memoria


def test_a_subclass_of_attention_and_another_network_fit(shape_checks):
    class Uniform(MultiHeadAttention):
        def scores(self, query, key):
            return query @ key.mT * 0

    class Doubled(nn.Module):
        def forward(self, x):
            return 2 * x

    block = EncoderBlock(Uniform(D, HEADS), Doubled()).double()
    x = states(5)
    y = block.add_attention.norm(x)
    mean = block.attention.project_output(block.attention.project_value(y)).mean(1, keepdim=True)
    inner = x + mean
    close(block(x), inner + 2 * block.add_feed_forward.norm(inner))


def test_dropout_only_in_training():
    block = EncoderBlock(attention(), FeedForward(D, D_FF), dropout=0.5).double()
    x = states(5)
    assert not torch.equal(block(x), block(x))
    block.eval()
    assert torch.equal(block(x), block(x))


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "attention: se esperaba un nn.Module", lambda: EncoderBlock(3, nn.Identity())),
        (
            TypeError,
            "attention: se esperaba una atención con d_model",
            lambda: EncoderBlock(nn.Identity(), nn.Identity()),
        ),
        (
            ValueError,
            "feed_forward: se esperaba d_model = 12, como attention; llegó 8",
            lambda: EncoderBlock(attention(), FeedForward(8, 8)),
        ),
        (ValueError, "norm: se esperaba una de pre, post", lambda: encoder_block("sandwich")),
        (ValueError, "norm: se esperaba una de pre, post", lambda: decoder_block("sandwich")),
        (
            ValueError,
            "normalization: se esperaba una de layer, rms",
            lambda: EncoderBlock(attention(), FeedForward(D, 4), normalization="lote"),
        ),
        (
            ValueError,
            "dropout: se esperaba una probabilidad",
            lambda: DecoderBlock(attention(), attention(), FeedForward(D, 4), dropout=1.5),
        ),
        (
            ValueError,
            "cross_attention: se esperaba otra atención",
            lambda: (lambda a: DecoderBlock(a, a, FeedForward(D, 4)))(attention()),
        ),
        (
            ValueError,
            "x: el eje «d_model».* mide 5",
            lambda: encoder_block()(torch.ones(2, 5).double()),
        ),
        (TypeError, "x: se esperaba un tensor", lambda: encoder_block()([1.0])),
        (TypeError, "memory: se esperaba la salida", lambda: decoder_block()(states(3), None)),
        (
            ValueError,
            "key: se esperaban los ejes de lote",
            lambda: decoder_block()(states(3), states(4, batch=3)),
        ),
        (
            ValueError,
            "key: se esperaba una memoria",
            lambda: (lambda b: b(states(3), b.cross_attention.remember(states(4, batch=3))))(
                decoder_block()
            ),
        ),
        (
            ValueError,
            "value: no se esperaba, porque key es una memoria",
            lambda: (lambda a: a(states(2), a.remember(states(4)), states(4)))(
                attention().double()
            ),
        ),
        (
            ValueError,
            "cache: no se esperaba, porque key es una memoria",
            lambda: (lambda a: a(states(2), a.remember(states(4)), cache=KVCache()))(
                attention().double()
            ),
        ),
        (
            ValueError,
            "positions: se esperaba una posición por fila",
            lambda: encoder_block()(states(3), Where(positions=torch.arange(2))),
        ),
        (
            ValueError,
            "positions: se esperaba una posición por fila",
            lambda: decoder_block()(states(3), states(3), Where(positions=torch.arange(2))),
        ),
        (
            TypeError,
            "where: se esperaba una máscara booleana o un Where; llegó str",
            lambda: encoder_block()(states(3), "causal"),
        ),
        (
            TypeError,
            "own: se esperaba una máscara booleana o un Where; llegó KVCache",
            lambda: decoder_block()(states(3), states(3), KVCache()),
        ),
        (
            TypeError,
            "crossed: se esperaba una máscara booleana o un Where; llegó list",
            lambda: decoder_block()(states(3), states(3), None, []),
        ),
        (
            TypeError,
            "mask: se esperaba una máscara booleana, con True",
            lambda: encoder_block()(states(3), torch.ones(3, 3)),
        ),
        (
            TypeError,
            "mask: se esperaba una máscara booleana, con True",
            lambda: decoder_block()(states(3), states(3), crossed=Where(torch.ones(3, 3))),
        ),
        (
            TypeError,
            "cache: se esperaba un KVCache; llegó list",
            lambda: encoder_block()(states(3), Where(cache=[KVCache()])),
        ),
        (
            ValueError,
            "crossed: no se esperaba una caché, porque la memoria no crece; llegó KVCache",
            lambda: decoder_block()(states(3), states(3), None, Where(cache=KVCache())),
        ),
        (TypeError, "blocks: se esperaba una lista", lambda: Encoder(encoder_block())),
        (ValueError, "blocks: se esperaba al menos un bloque", lambda: Decoder([])),
        (
            TypeError,
            r"blocks\[1\]: se esperaba un nn.Module",
            lambda: Encoder([encoder_block(), 2]),
        ),
        (
            ValueError,
            "cache: se esperaba uno por bloque, 1; llegaron 2",
            lambda: Encoder([encoder_block()])(states(3), Where(cache=[KVCache(), KVCache()])),
        ),
        (
            TypeError,
            "cache: se esperaba una lista, con uno por bloque; llegó KVCache",
            lambda: Encoder([encoder_block()])(states(3), Where(cache=KVCache())),
        ),
        (
            ValueError,
            "memories: se esperaba uno por bloque, 1; llegaron 2",
            lambda: Decoder([decoder_block()])(states(3), [states(2), states(2)]),
        ),
        (
            TypeError,
            "feed_forward: se esperaba un nn.Module; llegó int",
            lambda: DecoderBlock(attention(), attention(), 3),
        ),
        (
            ValueError,
            "cross_attention: se esperaba d_model = 12, como attention; llegó 8",
            lambda: DecoderBlock(attention(), MultiHeadAttention(8, 2), FeedForward(D, 4)),
        ),
        (TypeError, "x: se esperaba un tensor", lambda: decoder_block()([1.0], states(3))),
        (
            ValueError,
            r"x: se esperaba la forma \(…, n, d_model\); llegó \(12,\)",
            lambda: encoder_block()(torch.ones(D).double()),
        ),
        (
            TypeError,
            "cache: se esperaba un KVCache; llegó list",
            lambda: decoder_block()(states(3), states(3), Where(cache=[])),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
