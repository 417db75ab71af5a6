"""Las atenciones eficientes: las exactas son la de siempre y todas caben en su sitio."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento import efficient as ef
from atento import masks, rng
from atento.attention import MultiHeadAttention, scaled_dot_product_attention
from atento.cache import KVCache
from atento.models.bert import Bert, BertConfig
from atento.models.gpt import Gpt, GptConfig
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.models.t5 import T5, T5Config
from atento.positions import Alibi, Rotary
from atento.watching import watching

F64 = torch.float64
SIZES = st.integers(1, 12)


def draw(*shape, seed=0, dtype=F64):
    return torch.randn(*shape, generator=rng.generator(seed), dtype=dtype)


def close(a, b, tolerance=1e-9):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


def three(n, m, d=4, batch=(2,), seed=0):
    shapes = ((n, d), (m, d), (m, d + 1))
    return [draw(*batch, *shape, seed=seed + i) for i, shape in enumerate(shapes)]


def exact(query, key, value, mask=None):
    return scaled_dot_product_attention(query, key, value, mask)[0]


# --- En línea -------------------------------------------------------------------------------------


@given(
    n=SIZES,
    more=st.integers(0, 6),
    block=st.integers(1, 15),
    causal=st.booleans(),
    kind=st.sampled_from(["none", "full", "rows", "keys"]),
    seed=st.integers(0, 10**6),
)
def test_online_is_exact_attention(n, more, block, causal, kind, seed):
    m = n + more
    query, key, value = three(n, m, batch=(2, 3), seed=seed)
    shape = {"none": None, "full": (2, 3, n, m), "rows": (n, m), "keys": (2, 1, 1, m)}[kind]
    mask = None if shape is None else draw(*shape, seed=seed + 9) > -0.5
    output, logsumexp = ef.online_attention(query, key, value, mask, causal=causal, block=block)
    whole = masks.combine(mask, ef.past(n, m) if causal else None)
    close(output, exact(query, key, value, whole))
    scores = query @ key.mT / 2
    scores = scores if whole is None else scores.masked_fill(~whole, float("-inf"))
    close(logsumexp, scores.logsumexp(-1))


def test_online_adds_a_bias_and_takes_a_scale():
    query, key, value = three(7, 9)
    bias = draw(2, 1, 9, seed=5)
    output, _ = ef.online_attention(query, key, value, bias=bias, scale=0.3, block=4)
    close(output, (0.3 * query @ key.mT + bias).softmax(-1) @ value)


def test_numbers_that_overflow_an_exponential():
    query, key, value = (100 * x for x in three(6, 6))
    output, logsumexp = ef.online_attention(query, key, value, block=2)
    close(output, exact(query, key, value))
    assert logsumexp.isfinite().all() and logsumexp.max() > 710  # exp(710) ya no cabe


@pytest.mark.parametrize("causal", [False, True])
def test_online_gradients(causal):
    leaves = [x.requires_grad_() for x in three(7, 9)]
    bias = draw(7, 9, seed=8).requires_grad_()
    mask = draw(2, 7, 9, seed=9) > -0.3
    mask[0, 2] = False  # una consulta sin nadie
    output, total = ef.online_attention(*leaves, mask, causal=causal, bias=bias, block=4)
    aim = draw(*output.shape, seed=3)
    real = total.isfinite()
    found = torch.autograd.grad((output * aim).sum() + total[real].sum(), [*leaves, bias])
    whole = mask & ef.past(7, 9) if causal else mask
    scores = leaves[0] @ leaves[1].mT / 2 + bias
    scores = scores.masked_fill(~whole, float("-inf"))
    plain = scores[real].softmax(-1)
    expected = torch.zeros_like(output)
    expected[real] = torch.einsum("rk,rkd->rd", plain, leaves[2][real.nonzero()[:, 0]])
    wanted = (expected * aim).sum() + scores[real].logsumexp(-1).sum()
    for ours, theirs in zip(found, torch.autograd.grad(wanted, [*leaves, bias]), strict=True):
        close(ours, theirs)


# --- La ventana -----------------------------------------------------------------------------------


@given(
    n=SIZES,
    more=st.integers(0, 5),
    window=st.integers(0, 6),
    causal=st.booleans(),
    anchors=st.sets(st.integers(0, 16), max_size=3),
    block=st.none() | st.integers(1, 9),
    seed=st.integers(0, 10**6),
)
def test_window_is_attention_under_its_mask(n, more, window, causal, anchors, block, seed):
    m = n + more
    anchors = sorted(j for j in anchors if j < m)
    query, key, value = three(n, m, seed=seed)
    allowed = torch.zeros(n, m, dtype=torch.bool)
    for i in range(n):
        for j in range(m):
            at = i + more  # las consultas son las últimas posiciones
            allowed[i, j] = abs(at - j) <= window or j in anchors or at in anchors
            allowed[i, j] &= j <= at or not causal
    options = {"window": window, "causal": causal, "global_at": anchors}
    assert torch.equal(ef.window_mask(n, m, **options), allowed)
    mask, bias = draw(2, 1, m, seed=seed + 5) > -1, draw(n, m, seed=seed + 6)
    found = ef.window_attention(query, key, value, mask, bias=bias, block=block, **options)
    weights = (query @ key.mT / 2 + bias).masked_fill(~(allowed & mask), float("-inf"))
    close(found, weights.softmax(-1).nan_to_num() @ value)


# --- Linformer ------------------------------------------------------------------------------------


def test_linformer_is_exact_when_nothing_is_lost():
    query, key, value = three(6, 8)
    shuffle = torch.eye(8, dtype=F64)[torch.randperm(8, generator=rng.generator(1))]
    close(ef.linformer_attention(query, key, value, shuffle, shuffle), exact(query, key, value))
    key, value = key[:, ::2].repeat_interleave(2, 1), value[:, ::2].repeat_interleave(2, 1)
    pool = ef.mean_pooling(8, 4).double()
    close(ef.linformer_attention(query, key, value, pool, pool), exact(query, key, value))
    other = draw(8, 8, seed=7)  # cualquier mezcla, por definición
    mixed = (query @ (other @ key).mT / 2).softmax(-1) @ (pool[[0, 1, 2, 3] * 2] @ value)
    found = ef.linformer_attention(query, key, value, other, pool[[0, 1, 2, 3] * 2])
    close(found, mixed)


def test_pooling():
    wanted = torch.tensor([[1 / 3] * 3 + [0] * 2, [0] * 3 + [1 / 2] * 2])
    close(ef.mean_pooling(5, 2), wanted, 1e-6)
    assert torch.equal(ef.mean_pooling(4, 4), torch.eye(4))


def test_linformer_does_not_look_at_padding():
    rng.seed_all(0)
    layer = ef.LinformerAttention(8, 2, max_len=9, rank=3, shared=False).double()
    x, y = draw(1, 7, 8), draw(1, 7, 8, seed=1)
    y[:, :5] = x[:, :5]
    mask = torch.arange(7) < 5
    close(layer(x, mask=mask)[0][:, :5], layer(y, mask=mask)[0][:, :5])
    assert len([*layer.parameters()]) == 10 and layer.shorten_key is not layer.shorten_value
    with pytest.raises(ValueError, match="^need_weights: "):
        layer(x, need_weights=True)
    with pytest.raises(ValueError, match="^causal: .*mezcla"):
        layer(x, mask=masks.causal_mask(7))
    with pytest.raises(ValueError, match="^key: .* max_len = 9; llegaron 10"):
        layer(draw(1, 10, 8))


# --- Lineal ---------------------------------------------------------------------------------------


@given(
    n=SIZES,
    more=st.integers(0, 5),
    block=st.integers(1, 15),
    causal=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_linear_is_a_table_of_products_of_features(n, more, block, causal, seed):
    m = n + more
    query, key, value = three(n, m, seed=seed)
    query, key = ef.elu_features(query), ef.elu_features(key)
    keys = draw(2, m, seed=seed + 7) > -1
    found = ef.linear_attention(query, key, value, causal=causal, keys=keys, block=block)
    table = torch.einsum("bnf,bmf->bnm", query, key) * keys[:, None]
    table = table * ef.past(n, m) if causal else table
    close(found, table / table.sum(-1, keepdim=True).clamp(min=1e-300) @ value)


def test_linear_is_also_a_recurrent_network():
    query, key, value = three(9, 9)
    query, key = ef.elu_features(query), ef.elu_features(key)
    state, outputs = None, []
    for q, k, v in zip(query.unbind(1), key.unbind(1), value.unbind(1), strict=True):
        output, state = ef.linear_step(q, k, v, state)
        outputs.append(output)
    close(torch.stack(outputs, 1), ef.linear_attention(query, key, value, causal=True, block=4))
    assert state.memory.shape == (2, 4, 5) and state.total.shape == (2, 4)


def test_elu_features():
    x = torch.tensor([[-50.0, -1.0, 0.0, 2.0]], dtype=F64)
    expected = torch.tensor([[-50.0, -1.0, 0.0, 1.0]], dtype=F64).exp()
    expected[0, 3] = 3
    close(ef.elu_features(x), expected)


# --- En el sitio de la multicabeza ----------------------------------------------------------------

KINDS = {
    "online": (ef.OnlineAttention, {"block": 3}),
    "window": (ef.WindowAttention, {"window": 2, "global_at": (0,)}),
    "lsh": (ef.LshAttention, {"buckets": 4, "rounds": 2}),
    "linear": (ef.LinearAttention, {"block": 3}),
    "performer": (ef.PerformerAttention, {"features": 6}),
}
EACH = pytest.mark.parametrize("kind", KINDS)


def layer_of(kind, **options):
    cls, own = KINDS[kind]
    return cls(16, 4, **own, **options).double().eval()


@EACH
@pytest.mark.parametrize("n_kv_heads", [4, 2])
@pytest.mark.parametrize("mask", ["none", "causal", "padding", "both"])
def test_two_ways_one_answer(kind, n_kv_heads, mask, shape_checks):
    layer = layer_of(kind, n_kv_heads=n_kv_heads, rotary=Rotary(4))
    x = draw(2, 9, 16)
    padding = torch.arange(9) < torch.tensor([[9], [6]])
    padding = padding[:, None, None]
    past = masks.causal_mask(9)
    given_mask = {"none": None, "causal": past, "padding": padding, "both": padding & past}[mask]
    cheap, nothing = layer(x, mask=given_mask)
    dear, weights = layer(x, mask=given_mask, need_weights=True)
    close(cheap, dear)
    assert nothing is None and weights.shape == (2, 4, 9, 9)
    total = weights.sum(-1)
    assert ((total - 1).abs() < 1e-9).logical_or(total == 0).all()
    if given_mask is not None:
        assert (weights[~given_mask.expand_as(weights)] == 0).all()


@EACH
def test_causal_without_a_mask_and_one_by_one(kind):
    """``causal=True`` es la máscara, y con caché salen las mismas filas de una en una."""
    layer = layer_of(kind, causal=True)
    x = draw(1, 9, 16)
    whole, _ = layer(x)
    close(whole, layer(x, mask=masks.causal_mask(9))[0])
    close(whole, layer(x, need_weights=True)[0])
    if kind == "lsh":  # ordena otras cosas cada vez: los trozos no son los mismos
        layer.chunk = 99
        whole, _ = layer(x)
    cache = KVCache()
    rows = [layer(x[:, i : i + 1], cache=cache)[0] for i in range(9)]
    close(torch.cat(rows, 1), whole)


MODELS = {
    "gpt": (lambda: Gpt(GptConfig(11, d_model=16, n_heads=4, d_ff=24)), 1),
    "bert": (lambda: Bert(BertConfig(11, d_model=16, n_heads=4, d_ff=24)), 1),
    "seq2seq": (lambda: Seq2Seq(Seq2SeqConfig.tiny(11, d_model=16, d_ff=24, n_heads=4)), 2),
}
IDS = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 4, 3, 5]])


@EACH
@pytest.mark.parametrize("name", MODELS)
def test_in_a_model_that_is_already_trained(kind, name):
    make, inputs = MODELS[name]
    model = make().double().eval()
    cls, options = KINDS[kind]
    within = "encoder" if name == "seq2seq" else ""
    twin = ef.with_attention(model, cls, within=within, **options)
    assert torch.equal(
        torch.cat([p.flatten() for p in twin.parameters()]),
        torch.cat([p.flatten() for p in model.parameters()]),
    )
    before, after = model(*[IDS] * inputs), twin(*[IDS] * inputs)
    assert (kind == "online") == ((before - after).abs().max() < 1e-9)
    with watching(twin) as maps:
        close(twin(*[IDS] * inputs), after)
    assert len(maps) == (6 if name == "seq2seq" else 2)
    kinds = [type(m) for m in twin.modules() if isinstance(m, MultiHeadAttention)]
    assert kinds.count(cls) == 2 and not any(isinstance(m, cls) for m in model.modules())


def test_exact_again_when_the_window_reaches_everything():
    model = Gpt(GptConfig(11, d_model=16, n_heads=4, d_ff=24)).double().eval()
    for cls, options in (
        (ef.WindowAttention, {"window": 5}),
        (ef.LshAttention, {"buckets": 1}),
        (ef.OnlineAttention, {"block": 2}),
    ):
        close(ef.with_attention(model, cls, **options)(IDS), model(IDS))


def test_a_bias_goes_where_it_can():
    model = MultiHeadAttention(16, 4, score_bias=Alibi(4)).double().eval()
    x = draw(2, 6, 16)
    wide = ef.with_attention(model, ef.WindowAttention, window=6)
    for twin in (ef.with_attention(model, ef.OnlineAttention, block=4), wide):
        close(twin(x)[0], model(x)[0])
    with pytest.raises(ValueError, match="^score_bias: .*Alibi"):
        ef.with_attention(model, ef.LinearAttention)


def test_learning_goes_through(device):
    """Con sus gradientes, y en 32 bits."""
    for kind in KINDS:
        layer = layer_of(kind).float().train().to(device)
        x = draw(2, 7, 16, dtype=torch.float32).to(device).requires_grad_()
        layer(x)[0].square().sum().backward()
        grads = [x.grad, *(p.grad for p in layer.parameters())]
        assert all(g is not None and g.isfinite().all() for g in grads)


def test_read_mask():
    past = masks.causal_mask(4)
    keys = torch.tensor([True, True, False, True])
    assert ef.read_mask(None, 4, 4) == (False, None)
    assert ef.read_mask(past, 4, 4) == (True, None)
    assert ef.read_mask(torch.ones(1, dtype=torch.bool), 4, 4) == (False, None)
    causal, found = ef.read_mask(past & keys, 4, 4)
    assert causal and torch.equal(found, keys)
    causal, found = ef.read_mask(keys, 4, 4)
    assert not causal and torch.equal(found, keys)
    assert ef.read_mask(past[2:], 2, 4)[0]
    assert not ef.read_mask(past[3:], 1, 4)[0]
    with pytest.raises(ValueError, match="^mask: .* de forma"):
        ef.read_mask(past.T, 4, 4)


def test_nobody_and_no_reach_are_sizes_too():
    assert ef.past(0, 0).shape == (0, 0)
    query, key, value = three(2, 2)
    close(ef.window_attention(query, key, value, window=0), value)
    assert ef.WindowAttention(8, 2, window=0, global_at=(0,)).global_at == (0,)


def test_the_block_decides_nothing():
    assert [*ef.blocks(7, 3)] == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert [*ef.blocks(0, 3)] == []


def attention(**options):
    return MultiHeadAttention(8, 2, **options)


def half_an_attention():
    """Proyecta las consultas, como una atención, y no tiene cabezas."""
    model = nn.Module()
    model.project_query = nn.Linear(8, 8)
    return model


def linformer():
    return ef.LinformerAttention(8, 2, max_len=4, rank=2)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "block: ", lambda: ef.online_attention(*three(2, 2), block=0)),
        (ValueError, "n_queries: ", lambda: ef.online_attention(*three(3, 2), causal=True)),
        (ValueError, "query: .*ninguna", lambda: ef.online_attention(*three(0, 2))),
        (TypeError, "mask: ", lambda: ef.online_attention(*three(2, 2), torch.ones(2, 2))),
        (TypeError, "bias: ", lambda: ef.online_attention(*three(2, 2), bias=torch.ones(2).long())),
        (ValueError, "bias: ", lambda: ef.online_attention(*three(2, 2), bias=torch.ones(3))),
        (ValueError, "scale: ", lambda: ef.online_attention(*three(2, 2), scale=0.0)),
        (ValueError, "window: ", lambda: ef.window_attention(*three(2, 2), window=-1)),
        (
            ValueError,
            "global_at: .* menores que 2",
            lambda: ef.window_attention(*three(2, 2), window=1, global_at=(2,)),
        ),
        (
            ValueError,
            "global_at: .*distintas",
            lambda: ef.WindowAttention(8, 2, window=1, global_at=(1, 1)),
        ),
        (ValueError, "n_queries: ", lambda: ef.window_mask(3, 2, 1)),
        (ValueError, "rank: ", lambda: ef.LinformerAttention(8, 2, max_len=4, rank=5)),
        (
            ValueError,
            "causal: ",
            lambda: ef.LinformerAttention(8, 2, max_len=4, rank=2, causal=True),
        ),
        (
            ValueError,
            "shorten_value: ",
            lambda: ef.linformer_attention(*three(2, 3), torch.ones(1, 3), torch.ones(2, 3)),
        ),
        (TypeError, "keys: ", lambda: ef.linear_attention(*three(2, 2), keys=torch.ones(2))),
        (ValueError, "keys: ", lambda: ef.linear_attention(*three(2, 2), keys=torch.ones(3) > 0)),
        (ValueError, "key: ", lambda: ef.linear_step(torch.ones(2), torch.ones(3), torch.ones(2))),
        (
            ValueError,
            "value: ",
            lambda: ef.linear_step(torch.ones(4, 2), torch.ones(4, 2), torch.ones(3, 2)),
        ),
        (TypeError, "state: ", lambda: ef.linear_step(*[torch.ones(2)] * 3, torch.ones(2))),
        (ValueError, "x: ", lambda: ef.elu_features(torch.ones(3))),
        (TypeError, "causal: ", lambda: ef.LinearAttention(8, 2, causal=1)),
        (TypeError, "model: ", lambda: ef.with_attention(3, ef.LinearAttention)),
        (TypeError, "kind: ", lambda: ef.with_attention(attention(), MultiHeadAttention)),
        (
            ValueError,
            "model: .* en «decoder»",
            lambda: ef.with_attention(
                nn.Sequential(attention()), ef.LinearAttention, within="decoder"
            ),
        ),
        (TypeError, "attention: ", lambda: ef.LinearAttention.like(nn.Linear(2, 2))),
        (
            ValueError,
            "attention: ",
            lambda: ef.with_attention(
                T5(T5Config(11, d_model=16, n_heads=2, d_head=4, d_ff=24, bos_id=2)),
                ef.OnlineAttention,
            ),
        ),
        (
            ValueError,
            "dropout: ",
            lambda: ef.LinearAttention.like(attention(dropout=0.5))(torch.ones(1, 2, 8)),
        ),
        (TypeError, "within: ", lambda: ef.with_attention(attention(), ef.LshAttention, within=3)),
        (TypeError, "attention: ", lambda: ef.LinearAttention.like(half_an_attention())),
        (TypeError, "n_queries: ", lambda: ef.past(2.0, 3)),
        (ValueError, "n_keys: ", lambda: ef.past(0, -1)),
        (ValueError, "n_queries: .* mayor o igual que 1", lambda: ef.read_mask(None, 0, 4)),
        (ValueError, "n_keys: .* mayor o igual que 1", lambda: ef.read_mask(None, 4, 0)),
        (TypeError, "mask: ", lambda: ef.read_mask(torch.ones(4, 4), 4, 4)),
        (ValueError, "mask: .* se difunda", lambda: ef.read_mask(torch.ones(3, 4) > 0, 4, 4)),
        (TypeError, "n: se esperaba un entero", lambda: ef.blocks(3.0, 2)),
        (ValueError, "n: .* mayor o igual que 0", lambda: ef.blocks(-1, 2)),
        (ValueError, "block: ", lambda: ef.blocks(3, 0)),
        (ValueError, "block: ", lambda: ef.window_attention(*three(2, 2), window=1, block=0)),
        (TypeError, "mask: ", lambda: ef.window_attention(
            *three(2, 2), torch.ones(2, 2), window=1)),
        (ValueError, "bias: ", lambda: ef.window_attention(
            *three(2, 2), window=1, bias=torch.ones(3))),
        (ValueError, "n_queries: .*últimas", lambda: ef.window_attention(*three(3, 2), window=1)),
        (ValueError, "global_at: .* mayor o igual que 0", lambda: ef.WindowAttention(
            8, 2, window=1, global_at=(-1,))),
        (ValueError, "window: ", lambda: ef.window_mask(2, 3, -1)),
        (ValueError, "n: .* mayor o igual que 1", lambda: ef.mean_pooling(0, 1)),
        (ValueError, "rank: .* mayor o igual que 1", lambda: ef.mean_pooling(4, 0)),
        (ValueError, "max_len: .* mayor o igual que 1", lambda: ef.LinformerAttention(
            8, 2, max_len=0, rank=1)),
        (ValueError, "key: .* max_len = 4; llegaron 5", lambda: linformer()(torch.ones(1, 5, 8))),
        (ValueError, "causal: .* llegó una máscara causal", lambda: linformer()(
            torch.ones(1, 4, 8), mask=masks.causal_mask(4))),
        (ValueError, "value: ", lambda: ef.linear_attention(*three(2, 2)[:2], draw(2, 3, 4))),
        (ValueError, "query: .*ninguna", lambda: ef.linear_attention(*three(2, 0))),
        (ValueError, "n_queries: ", lambda: ef.linear_attention(*three(3, 2), causal=True)),
        (ValueError, "block: ", lambda: ef.linear_attention(*three(2, 2), block=0)),
        (TypeError, "query: ", lambda: ef.linear_step(torch.ones(2).long(), *[torch.ones(2)] * 2)),
        (TypeError, "x: ", lambda: ef.elu_features(torch.ones(2, 3).long())),
        (ValueError, "value: ", lambda: ef.linformer_attention(
            *three(2, 3)[:2], draw(2, 2, 4), *[torch.ones(1, 3)] * 2)),
        (ValueError, "scale: ", lambda: ef.linformer_attention(
            *three(2, 3), *[torch.ones(1, 3)] * 2, scale=0.0)),
        (TypeError, "keys: ", lambda: ef.linformer_attention(
            *three(2, 3), *[torch.ones(1, 3)] * 2, keys=torch.ones(3))),
        (TypeError, "shorten_key: ", lambda: ef.linformer_attention(
            *three(2, 3), *[torch.ones(1, 3).long()] * 2)),
        (ValueError, r"shorten_key: .*\(rank, key\)", lambda: ef.linformer_attention(
            *three(2, 3), *[torch.tensor(1.0)] * 2)),
    ],
)  # fmt: skip
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_base_has_no_way_of_its_own():
    with pytest.raises(NotImplementedError):
        ef.EfficientAttention(8, 2)(torch.ones(1, 2, 8))
