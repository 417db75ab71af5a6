"""Escalar: cuentas con su contador, y procesos de verdad con los de PyTorch como oráculo."""

import math
import time
from fractions import Fraction

import _scaling_processes as team
import psutil
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from atento import rng, scaling
from atento.attention import MultiHeadAttention
from atento.checks import scaling as checks
from atento.efficient import count
from atento.layers import FeedForward
from atento.models.gpt import Gpt, GptConfig
from atento.positions import Alibi, Rotary
from atento.scaling import Decoder, run_processes

SIZES = Decoder(vocab=50, context=16, d_model=12, n_layers=3, n_heads=2)


def gpt(s):
    config = GptConfig(
        s.vocab,
        d_model=s.d_model,
        n_heads=s.n_heads,
        d_ff=s.d_ff,
        n_layers=s.n_layers,
        max_len=s.context,
    )
    return Gpt(config)


# --- Contar ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [SIZES, Decoder(7, 5, 8, 1, 4, d_ff=20)])
@pytest.mark.parametrize("n", [1, 5])
def test_parameters_and_flops_are_those_of_the_model(sizes, n):
    model, ids = gpt(sizes), torch.zeros(2, n, dtype=torch.long)
    assert sizes.parameters == sum(p.numel() for p in model.parameters())
    assert sizes.forward_flops(n, 2) == count(model, ids).flops


@pytest.mark.parametrize(
    ("sizes", "published"),
    [
        ((50257, 1024, 768, 12, 12), 124_439_808),
        ((50257, 1024, 1600, 48, 25), 1_557_611_200),
        ((50257, 2048, 12288, 96, 96), 174_604_259_328),
    ],
)
def test_the_published_ones(sizes, published):
    assert Decoder(*sizes).parameters == published


def test_six_times():
    assert scaling.training_flops(7, 5) == 210
    model, x = nn.Linear(30, 40, bias=False), torch.randn(9, 30, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    assert counter.get_total_flops() == scaling.training_flops(30 * 40, 9)


@given(
    parameters=st.integers(1, 10**12),
    processes=st.integers(1, 4096),
    precision=st.sampled_from(["float32", "mixed"]),
)
def test_each_stage_needs_less(parameters, processes, precision):
    options = {"precision": precision, "processes": processes, "activations": 5.0}
    by_stage = [scaling.training_memory(parameters, stage=k, **options) for k in range(4)]
    assert by_stage[0].total == 16 * parameters + 5  # con AdamW, en las dos precisiones
    totals = [memory.total for memory in by_stage]
    assert totals == sorted(totals, reverse=True) and totals[3] >= 16 * parameters / processes
    assert math.isclose(by_stage[3].total - 5, 16 * parameters / processes, rel_tol=1e-9)
    assert all(memory.activations == 5 for memory in by_stage)


def test_the_memory_of_a_real_one():
    model = gpt(SIZES)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.zeros(1, 4, dtype=torch.long)).sum().backward()
    optimizer.step()
    held = lambda tensors: sum(t.numel() * t.element_size() for t in tensors)  # noqa: E731
    moments = [t for s in optimizer.state.values() for t in s.values() if t.dim()]
    found = scaling.training_memory(SIZES.parameters)
    assert found.weights == held(model.parameters())
    assert found.gradients == held([p.grad for p in model.parameters()])
    assert found.optimizer == held(moments)


def test_what_is_saved():
    x = torch.randn(6, 5)
    first, second = nn.Linear(5, 8), nn.Linear(8, 3)
    model = nn.Sequential(first, nn.Sigmoid(), second)
    found = scaling.saved_bytes(model, x, parameters=model.parameters())
    assert found == 4 * (6 * 5 + 6 * 8)  # la entrada, y la salida de la sigmoide, una sola vez
    assert scaling.saved_bytes(model, x) == found + 4 * second.weight.numel()
    with torch.device("meta"):
        ghost, y = nn.Sequential(nn.Linear(5, 8), nn.Sigmoid(), nn.Linear(8, 3)), torch.empty(6, 5)
    assert scaling.saved_bytes(ghost, y, parameters=ghost.parameters()) == found
    again = lambda x: torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)  # noqa: E731
    assert scaling.saved_bytes(again, x, parameters=model.parameters()) <= 4 * 6 * 5
    with torch.no_grad():
        assert scaling.saved_bytes(model, x) == 0


# --- Procesos -------------------------------------------------------------------------------------


LENGTHS = [1, 6, 7]


def children():
    """Los procesos que ha dejado vivos ``run_processes``."""
    found = psutil.Process().children(recursive=True)
    return [p for p in found if any("atento.scaling" in word for word in p.cmdline())]


@pytest.fixture(scope="module")
def three():
    return run_processes(team.three, 3, LENGTHS)


@pytest.fixture(scope="module")
def two():
    return run_processes(team.two, 2, LENGTHS)


def test_a_function_of_here_and_none_is_left():
    offset = 10
    found = run_processes(lambda rank, x: (rank + offset, x), 2, "a")
    assert found == [(10, "a"), (11, "a")] and not children()


def test_the_deadline():
    with pytest.raises(TimeoutError, match=r"^seconds: .*procesos 0, 1\.$"):
        run_processes(team.sleeps, 2, seconds=3)
    assert not children()


def test_one_that_fails_stops_all():
    start = time.monotonic()
    with pytest.raises(scaling.ProcessError, match=r"proceso 1 .*ArithmeticError: no sale"):
        run_processes(team.fails, 2, 1, seconds=1000)
    assert time.monotonic() - start < 250 and not children()
    with pytest.raises(scaling.ProcessError, match="ha fallado: "):
        run_processes(team.dies, 2)


def test_the_ring_sums(two, three):
    for size, all_found in ((2, [each["rings"] for each in two]), (3, [r for r, _ in three])):
        for found in all_found:
            for length, (mine, torchs, sent) in zip(LENGTHS, found, strict=True):
                torch.testing.assert_close(mine, torchs, rtol=0, atol=1e-12)
                assert sent == 8 * 2 * (size - 1) * -(-length // size)


def test_the_two_halves(three):
    for rank, (_, (summed, gathered)) in enumerate(three):
        assert summed.tolist() == [30 + 3 * rank] * 2
        assert [piece.tolist() for piece in gathered] == [[1, 1], [2, 2], [3, 3]]


def test_a_split_layer_is_the_whole_one(two):
    dense, attention = team.layers()
    expected = team.both(dense, attention)
    for (output, grad), _ in (each["split"] for each in two):
        torch.testing.assert_close(output, expected[0], rtol=0, atol=1e-12)
        torch.testing.assert_close(grad, expected[1], rtol=0, atol=1e-12)
    parts = [each["split"][1] for each in two]
    join = lambda name, axis: torch.cat([part[name] for part in parts], axis)  # noqa: E731
    pairs = [
        (join("expand.weight", 0), dense.expand.weight),
        (join("contract.weight", 1), dense.contract.weight),
        (join("expand.bias", 0), dense.expand.bias),
        (parts[0]["contract.bias"], dense.contract.bias),
        (join("attention.project_value.weight", 0), attention.project_value.weight),
        (join("attention.project_output.weight", 1), attention.project_output.weight),
    ]
    for mine, whole in pairs:
        torch.testing.assert_close(mine, whole.grad, rtol=0, atol=1e-12)
    assert all("contract.bias" not in part for part in parts[1:])


def test_sharded_parameters_learn_the_same(two):
    total = sum(p.numel() for p in team.network().parameters())
    for each in (found["sharded"] for found in two):
        for mine, ddp, fsdp in zip(each["own"], each["ddp"], each["fsdp"], strict=True):
            torch.testing.assert_close(mine, ddp, rtol=0, atol=1e-9)
            torch.testing.assert_close(mine, fsdp, rtol=0, atol=1e-9)
        half = -(-total // 2)
        assert (each["held"], each["kept"], each["empty"]) == (half, 2 * half, 0)


# --- La tubería y los fallos ----------------------------------------------------------------------


@given(p=st.integers(1, 9), m=st.integers(1, 9))
def test_the_timetable(p, m):
    table = scaling.gpipe(p, m)
    when = [{work: k for k, work in enumerate(row) if work} for row in table.tolist()]
    for stage in range(p):
        assert sorted(when[stage]) == [*range(-m, 0), *range(1, m + 1)]
        for j in range(1, m + 1):
            assert when[stage][j] < when[stage][-j]
            if stage:
                assert when[stage - 1][j] < when[stage][j]
                assert when[stage][-j] < when[stage - 1][-j]
    idle = Fraction(int((table == 0).sum()), table.numel())
    assert idle == scaling.bubble(p, m)


def test_the_simulation_agrees_with_the_closed_form():
    options = {"save": 0.1, "restart": 0.3, "between": 5.0}
    source = rng.generator(3)
    runs = torch.tensor(
        [scaling.run_time(40.0, 1.0, **options, generator=source) for _ in range(600)]
    )
    error = runs.std() / math.sqrt(len(runs))
    assert abs(runs.mean() - scaling.expected_time(40.0, 1.0, **options)) < 4 * error
    assert runs.min() >= 40 * 1.1 - 1e-9


@settings(max_examples=40)
@given(save=st.floats(0.001, 0.02), between=st.floats(5, 50))
def test_the_best_interval(save, between):
    """La raíz está a menos del 12 % del mejor intervalo de la fórmula exacta."""
    options = {"save": save, "restart": 0.1, "between": between}
    first = scaling.young(save, between)
    grid = [first * (0.5 + 0.01 * k) for k in range(101)]
    best = min(grid, key=lambda every: scaling.expected_time(100.0, every, **options))
    assert abs(best / first - 1) < 0.12


# --- Lo que no sirve ------------------------------------------------------------------------------


def attention(**options):
    return MultiHeadAttention(8, 2, **options)


def test_as_many_equal_pieces_as_processes(monkeypatch):
    monkeypatch.setattr(checks, "_team", lambda name: (0, 2))
    one, other = torch.ones(2), torch.ones(3)
    for pieces in ([one], [one, one, one], [one, other], [one, one.double()]):
        with pytest.raises(ValueError, match="^pieces: se esperaban 2 trozos iguales; llegaron"):
            scaling.ring_reduce_scatter(pieces)


def test_the_limits_are_allowed():
    """Veinte fallos mientras se guarda, la última etapa y la memoria sin activaciones."""
    options = {"save": 1.0, "restart": 1.0, "between": 1.0}
    assert scaling.expected_time(9.0, 19.0, **options) > 9
    assert scaling.training_memory(5, stage=3, activations=0.0).total > 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Decoder(5, 5, 7, 1, 2), "d_model: "),
        (lambda: Decoder(0, 5, 8, 1, 2), "vocab: "),
        (lambda: SIZES.forward_flops(0), "n: "),
        (lambda: scaling.training_memory(5, precision="float8"), "precision: "),
        (lambda: scaling.training_memory(5, stage=4), "stage: "),
        (lambda: scaling.training_memory(5, activations=-1.0), "activations: "),
        (lambda: scaling.saved_bytes(3), "function: "),
        (lambda: scaling.saved_bytes(print, parameters=[1]), "parameters: "),
        (lambda: run_processes(print, 0), "size: "),
        (lambda: run_processes(print, 1, seconds=-1.0), "seconds: "),
        (lambda: scaling.ring_all_reduce(torch.ones(2)), "tensor: "),
        (lambda: scaling.copy_in(torch.ones(2)), "x: "),
        (lambda: scaling.sum_out(torch.ones(2)), "x: "),
        (lambda: scaling.Shard(nn.Linear(2, 2)), "model: "),
        (lambda: scaling.split_linear(nn.Linear(4, 6), 2, 2, by="rows"), "rank: "),
        (lambda: scaling.split_linear(nn.Linear(4, 6), 0, 4, by="columns"), "linear: "),
        (lambda: scaling.split_linear(nn.Linear(4, 6), 0, 2, by="both"), "by: "),
        (lambda: scaling.SplitFeedForward(FeedForward(4, 8, activation="swiglu"), 0, 2), "dense: "),
        (lambda: scaling.SplitAttention(MultiHeadAttention(6, 3), 0, 2), "attention: "),
        (lambda: scaling.SplitAttention(MultiHeadAttention(8, 4, n_kv_heads=2), 0, 2), "attention"),
        (lambda: scaling.gpipe(0, 1), "stages: "),
        (lambda: scaling.bubble(1, 0), "micro_batches: "),
        (lambda: scaling.young(0.0, 1.0), "save: "),
        (
            lambda: scaling.run_time(
                9.0, 99.0, save=1.0, restart=1.0, between=1.0, generator=rng.generator(0)
            ),
            "every: ",
        ),
        (lambda: Decoder(5, 5, 8, 1, 2, 0), "d_ff: "),
        (lambda: scaling.training_memory(0), "parameters: "),
        (lambda: scaling.training_memory(5, processes=0), "processes: "),
        (lambda: scaling.training_memory(5, stage=-1), "stage: .* mayor o igual que 0"),
        (
            lambda: scaling.training_memory(5, activations="1"),
            "activations: se esperaba un número;",
        ),
        (lambda: run_processes(3, 1), "function: "),
        (lambda: scaling.ring_reduce_scatter(torch.ones(2)), "pieces: se esperaba una lista"),
        (lambda: scaling.ring_all_gather([torch.ones(2).long()]), "pieces: .* coma flotante"),
        (lambda: scaling.ring_all_gather([torch.ones(2)]), "pieces: .* procesos que se hablan"),
        (lambda: scaling.ring_all_reduce(torch.ones(2).long()), "tensor: .* coma flotante"),
        (lambda: scaling.copy_in(torch.ones(2).long()), "x: .* coma flotante"),
        (lambda: scaling.split_linear(3, 0, 2, by="rows"), "linear: se esperaba un nn.Linear"),
        (lambda: scaling.split_linear(nn.Linear(4, 6), 0, 0, by="rows"), "size: "),
        (lambda: scaling.split_linear(nn.Linear(4, 6), -1, 2, by="rows"), "rank: .* igual que 0"),
        (lambda: scaling.SplitFeedForward(FeedForward(4, 8), 0, 0), "size: "),
        (lambda: scaling.SplitFeedForward(nn.Linear(4, 8), 0, 2), "dense: .* llegó Linear"),
        (lambda: scaling.SplitAttention(MultiHeadAttention(8, 4), 0, 0), "size: "),
        (lambda: scaling.SplitAttention(nn.Linear(4, 8), 0, 2), "attention: .* llegó Linear"),
        (lambda: scaling.SplitAttention(Alibi(4), 0, 2), "attention: .* llegó Alibi"),
        (lambda: scaling.SplitAttention(attention(rotary=Rotary(4)), 0, 2), "attention: .* sesgos"),
        (
            lambda: scaling.SplitAttention(attention(score_bias=Alibi(2)), 0, 2),
            "attention: .* sesg",
        ),
        (lambda: scaling.Shard(3), "model: se esperaba un nn.Module"),
        (lambda: scaling.Shard(nn.ReLU()), "model: .* una sola precisión .* hay 0"),
        (
            lambda: scaling.Shard(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())),
            "model: .* una sola precisión .* hay 4",
        ),
        (lambda: scaling.young(1.0, 0.0), "between: "),
        (
            lambda: scaling.expected_time(9.0, 1.0, save=0.0, restart=1.0, between=1.0),
            "save: ",
        ),
        (
            lambda: scaling.run_time(9.0, 1.0, save=1.0, restart=1.0, between=1.0, generator=3),
            "generator: ",
        ),
    ],
)
def test_what_is_rejected(call, said):
    with pytest.raises((TypeError, ValueError), match=f"^{said}"):
        call()
