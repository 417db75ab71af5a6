"""Lo que cuesta cada atención: la fórmula, y lo que cuenta el contador de PyTorch."""

import pytest
import torch
import torch.nn.functional as F

from atento import efficient as ef
from atento import rng
from atento.attention import MultiHeadAttention, scaled_dot_product_attention
from atento.masks import causal_mask

F64 = torch.float64
CAUSAL = pytest.mark.parametrize("causal", [False, True])
LENGTHS = pytest.mark.parametrize("n", [1, 50, 130])


def three(n, d=8, m=None):
    dice = rng.generator(0)
    return [torch.randn(k, d, generator=dice, dtype=F64) for k in (n, m or n, m or n)]


def turns(rounds, buckets):
    return ef.draw_rotations(rounds, 8, buckets, generator=rng.generator(1)).double()


@LENGTHS
@CAUSAL
def test_the_formulas_count_what_the_counter_counts(n, causal):
    q, k, v = three(n)
    options = {"causal": causal}
    anchors = [0, n - 1][:n]
    pairs = [
        (
            ef.count(ef.online_attention, q, k, v, block=16, **options),
            ef.online_cost(n, 8, block=16, **options),
        ),
        (
            ef.count(ef.window_attention, q, k, v, window=5, global_at=anchors, **options),
            ef.window_cost(n, 8, window=5, global_at=anchors, **options),
        ),
        (
            ef.count(ef.window_attention, q, k, v, window=5, block=32, **options),
            ef.window_cost(n, 8, window=5, block=32, **options),
        ),
        (
            ef.count(ef.lsh_attention, q, k, v, turns(2, 4), **options),
            ef.lsh_cost(n, 8, buckets=4, rounds=2, **options),
        ),
        (
            ef.count(ef.lsh_attention, q, k, v, turns(1, 8), chunk=7, **options),
            ef.lsh_cost(n, 8, buckets=8, chunk=7, **options),
        ),
        (
            ef.count(ef.linear_attention, q.exp(), k.exp(), v, block=16, **options),
            ef.linear_cost(n, 8, block=16, **options),
        ),
    ]
    for counted, formula in pairs:
        assert counted.flops == formula.flops


@LENGTHS
def test_those_without_a_mask(n):
    q, k, v = three(n, m=n + 3)
    exact = ef.count(scaled_dot_product_attention, q, k, v)
    assert exact.flops == ef.exact_cost(n, 8, keys=n + 3).flops
    assert ef.count(ef.online_attention, q, k, v, block=9).flops == exact.flops
    pool = ef.mean_pooling(n + 3, 2).double()
    short = ef.count(ef.linformer_attention, q, k, v, pool, pool)
    assert short.flops == ef.linformer_cost(n, 8, rank=2, keys=n + 3).flops


@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
def test_the_fused_one_is_counted_too(n_kv_heads):
    """El contador de PyTorch no ve dentro de la fusionada del procesador."""
    layer, x = MultiHeadAttention(16, 4, n_kv_heads=n_kv_heads), torch.randn(2, 7, 16)
    memory = torch.randn(2, 9, 16)
    inside = 2 * ef.exact_cost(7, 16, keys=9).flops
    projections = 2 * 2 * 2 * 16 * (7 * 16 + 9 * 4 * n_kv_heads)
    for explicit in (False, True):
        counted = ef.count(layer, x, memory, need_weights=explicit)
        assert counted.flops == inside + projections
    q, k = torch.randn(2, 4, 7, 8), torch.randn(2, n_kv_heads, 9, 8)
    alone = ef.count(F.scaled_dot_product_attention, q, k, k, enable_gqa=True)
    assert alone.flops == 2 * 4 * ef.exact_cost(7, 8, keys=9).flops


@CAUSAL
@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
def test_the_way_back_of_the_fused_one_scores_again(n_kv_heads, causal):
    """Un paso cuesta lo de la explícita y un producto más; sin contar la vuelta, menos."""
    layer, x = MultiHeadAttention(16, 4, n_kv_heads=n_kv_heads), torch.randn(2, 7, 16)
    mask = causal_mask(7) if causal else None

    def step(explicit):
        layer(x, mask=mask, need_weights=explicit)[0].sum().backward()

    again = 2 * 4 * 2 * 7 * 7 * 4  # 2 textos, 4 cabezas, y un producto de 7 × 4 por 4 × 7
    assert ef.count(step, False).flops == ef.count(step, True).flops + again
    q, k = (torch.randn(2, h, m, 8, requires_grad=True) for h, m in ((4, 7), (n_kv_heads, 9)))
    v = torch.randn(2, n_kv_heads, 9, 8, requires_grad=True)
    output = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    back = ef.count(lambda: output.sum().backward())
    assert back.flops == 5 * 2 * 4 * 2 * 7 * 9 * 8


def test_the_whole_performer():
    layer = ef.PerformerAttention(8, 1, features=20).double()
    x = three(64)[0][None]
    projections = 4 * 2 * 64 * 8 * 8
    cost = ef.linear_cost(64, 8, features=20, random=True)
    assert ef.count(layer, x).flops == cost.flops + projections


@CAUSAL
def test_never_a_table_of_all_with_all(causal):
    """Ni un tensor de n × n, ni muchos pequeños que lo sumen; derivando, tampoco."""
    n = 512
    q, k, v = three(n)
    exact = ef.count(scaled_dot_product_attention, q, k, v)
    assert exact.largest == n * n == ef.exact_cost(n, 8).table

    def learn(*leaves):
        output, _ = ef.online_attention(*leaves, block=64, causal=causal)
        return torch.autograd.grad(output.sum(), leaves)

    calls = {
        "online": (ef.online_attention, {"block": 64}),
        "window": (ef.window_attention, {"window": 16}),
        "linear": (ef.linear_attention, {}),
    }
    for function, options in calls.values():
        counted = ef.count(function, q.exp(), k.exp(), v, causal=causal, **options)
        assert counted.largest <= 9 * n and counted.peak < n * n / 8
    leaves = [x.requires_grad_() for x in (q, k, v)]
    assert ef.count(learn, *leaves).peak < n * n
    plain = ef.count(lambda *x: scaled_dot_product_attention(*x)[0].sum().backward(), *leaves)
    assert plain.peak >= 2 * n * n


def test_memory_and_work_grow_with_the_length_and_not_with_its_square():
    def growth(cost, **options):
        small, large = (cost(n, 8, **options) for n in (1024, 4096))
        return large.flops / small.flops

    assert growth(ef.exact_cost) == 16
    assert growth(ef.online_cost, block=64) == 16
    assert growth(ef.online_cost, block=64, causal=True) == pytest.approx(16, rel=0.05)
    assert growth(ef.window_cost, window=16) == pytest.approx(4, rel=0.02)
    assert growth(ef.linformer_cost, rank=32) == 4
    assert growth(ef.linear_cost) == growth(ef.linear_cost, causal=True) == 4
    assert growth(ef.lsh_cost, buckets=16, chunk=64) == 4
    half = ef.online_cost(4096, 8, block=64, causal=True).flops / ef.exact_cost(4096, 8).flops
    assert 0.5 < half < 0.51


def test_the_largest_table():
    n = 256
    q, k, v = three(n)
    lsh = ef.count(ef.lsh_attention, q, k, v, turns(2, 16))
    assert lsh.largest == ef.lsh_cost(n, 8, buckets=16, rounds=2).table
    pool = ef.mean_pooling(n, 32).double()
    short = ef.count(ef.linformer_attention, q, k, v, pool, pool)
    assert short.largest == ef.linformer_cost(n, 8, rank=32).table == 32 * n
    window = ef.count(ef.window_attention, q, k, v, window=32)
    assert window.largest == ef.window_cost(n, 8, window=32).table == 32 * 96
    block = ef.count(ef.online_attention, q, k, v, block=64)
    assert block.largest == ef.online_cost(n, 8, block=64).table == 64 * 64


def test_what_the_counter_sees():
    x = torch.ones(10, 10)

    def work(x):
        y = x + 1  # 100
        z = y.T  # una vista
        del y
        return (z @ x).sum()  # 100 y 1

    counted = ef.count(work, x)
    assert counted == ef.Counted(flops=2000, largest=100, peak=201)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "n: ", lambda: ef.exact_cost(0, 8)),
        (TypeError, "d: ", lambda: ef.linear_cost(4, 8.0)),
        (ValueError, "keys: ", lambda: ef.exact_cost(4, 8, keys=0)),
        (ValueError, "block: ", lambda: ef.online_cost(4, 8, block=0)),
        (ValueError, "rank: ", lambda: ef.linformer_cost(4, 8, rank=0)),
        (ValueError, "window: ", lambda: ef.window_cost(4, 8, window=-1)),
        (ValueError, "rounds: ", lambda: ef.lsh_cost(4, 8, buckets=2, rounds=0)),
        (TypeError, "function: ", lambda: ef.count(3)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
