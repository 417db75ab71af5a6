"""Las posiciones: cada esquema frente a su fórmula, a bucles o a ``transformers``."""

import copy
import itertools
import math
import pickle

import mpmath
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gpt_neox.modeling_gpt_neox import apply_rotary_pos_emb as neox_rotation
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as gptj_rotation
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb as llama_rotation
from transformers.models.t5.modeling_t5 import T5Attention, T5Config

from atento import positions
from atento.positions import (
    Alibi,
    ComplexEmbedding,
    Convolutional,
    DynamicBias,
    Learned,
    NoPE,
    RawIndex,
    Recurrent,
    RelativeBias,
    Rotary,
    ShawRelative,
    Sinusoidal,
    alibi_slopes,
    frequencies,
    ntk_base,
    relative_bucket,
    relative_positions,
    rotate,
    shift_rotation,
    sinusoidal,
    wavelengths,
)

F64 = torch.float64


def close(ours, theirs, tolerance=1e-12):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


# --- Sinusoides -----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [10000.0, 50.0])
@pytest.mark.parametrize("d", [2, 4, 10])
def test_sinusoids_equal_the_closed_form_with_fifty_digits(d, base):
    places = [0, 1, 7, 1000, 99_999]
    code = sinusoidal(torch.tensor(places), d, base, dtype=F64)
    with mpmath.workdps(50):
        for row, place in zip(code, places, strict=True):
            for i in range(d // 2):
                angle = place / mpmath.mpf(base) ** (mpmath.mpf(2 * i) / d)
                error = 1e-12 + 1e-15 * place
                assert abs(row[2 * i].item() - mpmath.sin(angle)) < error
                assert abs(row[2 * i + 1].item() - mpmath.cos(angle)) < error


def test_frequencies_and_wavelengths_of_the_paper():
    speed, period = frequencies(512, dtype=F64), wavelengths(512, dtype=F64)
    assert len(speed) == 256 and speed[0] == 1
    close(speed[128], torch.tensor(0.01, dtype=F64), 1e-15)
    close(period * speed, torch.full((256,), 2 * math.pi, dtype=F64))
    assert round(period[-1].item()) == 60611 and period[-1] < 2 * math.pi * 10000
    close(speed[1:] / speed[:-1], speed[1].expand(255))  # progresión geométrica
    assert frequencies(8).dtype == wavelengths(8).dtype == torch.float32
    assert sinusoidal(torch.arange(3), 4).dtype == torch.float32


def test_table_of_three_positions_by_hand():
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)],
        [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)],
    ]
    close(sinusoidal(torch.arange(3), 4, dtype=F64), torch.tensor(expected, dtype=F64))


@given(p=st.integers(-500, 5000), delta=st.integers(-500, 500), pairs=st.integers(1, 16))
def test_a_shift_is_the_same_rotation_for_every_position(p, delta, pairs):
    d = 2 * pairs
    matrix = shift_rotation(delta, d, dtype=F64)
    here, there = sinusoidal(torch.tensor([p, p + delta]), d, dtype=F64)
    close(matrix @ here, there)
    close(matrix @ matrix.T, torch.eye(d, dtype=F64))
    close(torch.linalg.det(matrix), torch.tensor(1.0, dtype=F64))
    close(here @ there, frequencies(d, dtype=F64).mul(delta).cos().sum())


def test_shifts_add_up():
    matrices = [shift_rotation(delta, 8, dtype=F64) for delta in (3, 4, 7)]
    close(matrices[0] @ matrices[1], matrices[2])
    close(shift_rotation(-3, 8, dtype=F64), matrices[0].T)


@pytest.mark.parametrize("d", [2, 16, 64])
def test_no_two_positions_share_a_code(d):
    """Con la primera frecuencia, 1 radián por posición, bastaría: 2π no es racional."""
    code = sinusoidal(torch.arange(3000), d, dtype=F64)
    gap = torch.cdist(code, code).fill_diagonal_(math.inf).min().item()
    assert gap > (1e-5 if d == 2 else 1.0)
    assert code.abs().max() <= 1
    close(code.norm(dim=-1), torch.full((3000,), math.sqrt(d / 2), dtype=F64))


def test_one_slow_clock_alone_would_repeat():
    """El contraste: con una sola pareja, 0 y 710 (≈ 113 · 2π) casi coinciden; con 32, no."""
    few, many = (sinusoidal(torch.tensor([0, 710]), d, dtype=F64) for d in (2, 64))
    assert (few[0] - few[1]).norm() < 1e-4 < 1 < (many[0] - many[1]).norm()


def test_sinusoidal_adds_and_has_neither_parameters_nor_limit(shape_checks):
    module, x = Sinusoidal(6), torch.randn(2, 5, 6, dtype=F64)
    assert not list(module.parameters()) and not module.state_dict()
    close(module(x), x + sinusoidal(torch.arange(5), 6, dtype=F64))
    far = torch.tensor([9, 10**6, 3, 3, 0])
    close(module(x, far), x + sinusoidal(far, 6, dtype=F64))
    each = torch.stack((far, torch.arange(5)))
    close(module(x, each), x + sinusoidal(each, 6, dtype=F64))
    assert module(x.bfloat16()).dtype == torch.bfloat16
    assert repr(module) == "Sinusoidal(d_model=6, base=10000.0)"


def test_rows_grow_and_follow_the_type():
    module, code = Sinusoidal(4), sinusoidal(torch.arange(9), 4, dtype=F64)
    with torch.inference_mode():
        module(torch.zeros(3, 4))
    x = torch.zeros(9, 4, requires_grad=True)
    module(x).square().sum().backward()  # lo guardado sin gradientes sirve aquí
    for n, kind in ((9, torch.float32), (2, torch.float32), (5, F64), (9, F64)):
        close(module(torch.zeros(n, 4, dtype=kind)), code[:n].to(kind), 0)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        close(other(torch.zeros(9, 4, dtype=F64)), code, 0)


@pytest.mark.parametrize("kind", [F64, torch.float32])
def test_positions_given_come_from_the_same_rows(kind):
    """De una en una, como al generar, revueltas o fuera de la tabla: lo mismo que calculadas."""
    module = Sinusoidal(8)
    places = [torch.tensor([p]) for p in range(20)]
    places += [torch.tensor([7, 0, 31]), torch.arange(6).view(2, 3), torch.tensor([-2, 10**6, 5])]
    places += [torch.tensor([0.5, 2.0]), torch.tensor([4], dtype=torch.int32)]
    for at in places:
        x = torch.zeros(*at.shape, 8, dtype=kind)
        close(module(x, at), sinusoidal(at, 8, dtype=kind))
    assert len(module._table) <= 2 * 32, "solo guarda las que hicieron falta, y el doble"
    mapped = torch.func.vmap(lambda at: module(torch.zeros(3, 8), at))(torch.arange(6).view(2, 3))
    close(mapped, sinusoidal(torch.arange(6).view(2, 3), 8))
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    close(compiled(torch.zeros(2, 8), torch.tensor([3, 1])), sinusoidal(torch.tensor([3, 1]), 8))


# --- Índice, tabla y nada -------------------------------------------------------------------------


def test_raw_index_moves_all_components_alike(shape_checks):
    x = torch.randn(2, 4, 3, dtype=F64)
    moved = RawIndex(0.5)(x) - x
    close(moved, 0.5 * torch.arange(4, dtype=F64)[:, None].expand(2, 4, 3))
    each = torch.tensor([[3, 1, 2, 0], [9, 9, 9, 9]])
    close(RawIndex()(x, each), x + each[..., None])


def test_nope_returns_the_same_tensor(shape_checks):
    x = torch.randn(2, 4, 3)
    assert NoPE()(x) is x and NoPE()(x, torch.arange(4)) is x


def test_learned_equals_an_embedding(shape_checks):
    module, x = Learned(10, 6).double(), torch.randn(2, 4, 6, dtype=F64)
    oracle = nn.Embedding.from_pretrained(module.table)
    close(module(x), x + oracle(torch.arange(4)))
    each = torch.tensor([[9, 0, 3, 3], [1, 2, 4, 8]])
    close(module(x, each), x + oracle(each))
    module(x, each).sum().backward()
    used = module.table.grad.sum(1) / 6
    assert used.tolist() == [1, 1, 1, 2, 1, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(("before", "after"), [(8, 16), (16, 8), (5, 12), (1, 4), (4, 1), (7, 7)])
def test_resized_equals_interpolation_with_both_ends(before, after):
    table = Learned(before, 3).double()
    ours = table.resized(after)
    theirs = F.interpolate(table.table.T[None], size=after, mode="linear", align_corners=True)
    close(ours.table, theirs[0].T)
    assert ours.max_len == after and ours.table.requires_grad and ours.table.dtype == F64


# --- RoPE -----------------------------------------------------------------------------------------

LAYOUTS = pytest.mark.parametrize("layout", ["interleaved", "half"])


def by_complex(x, place, speed, layout):
    """RoPE con números complejos: cada pareja es uno, que se multiplica por e^{iωm}."""
    x = x.tolist()
    half = len(x) // 2
    pairs = [(i, i + half) if layout == "half" else (2 * i, 2 * i + 1) for i in range(half)]
    out = [0.0] * len(x)
    for (a, b), w in zip(pairs, speed, strict=True):
        turned = complex(x[a], x[b]) * complex(math.cos(w * place), math.sin(w * place))
        out[a], out[b] = turned.real, turned.imag
    return torch.tensor(out, dtype=F64)


@LAYOUTS
@given(
    m=st.integers(0, 2000),
    n=st.integers(0, 2000),
    shift=st.integers(-1000, 1000),
    rotary_dim=st.sampled_from([2, 4, 8]),
)
def test_scores_depend_only_on_the_distance(layout, m, n, shift, rotary_dim):
    """⟨R_m q, R_n k⟩ = g(m − n), y las normas no cambian."""
    rotary = Rotary(8, rotary_dim=rotary_dim, layout=layout)
    q, k = torch.randn(2, 1, 8, dtype=F64)

    def g(a, b):
        return (rotary(q, torch.tensor([a])) * rotary(k, torch.tensor([b]))).sum()

    close(g(m, n), g(m + shift, n + shift), 2e-12)
    close(rotary(q, torch.tensor([m])).norm(), q.norm())


@LAYOUTS
@pytest.mark.parametrize("rotary_dim", [None, 4])
def test_rotary_equals_complex_numbers(shape_checks, layout, rotary_dim):
    rotary = Rotary(8, rotary_dim=rotary_dim, layout=layout, base=100.0)
    x, places, r = torch.randn(2, 3, 5, 8, dtype=F64), [4, 0, 0, -7, 250], rotary_dim or 8
    turned = rotary(x, torch.tensor(places))
    speed = [100.0 ** (-2 * i / r) for i in range(r // 2)]
    for b, h, (i, place) in itertools.product(range(2), range(3), enumerate(places)):
        close(turned[b, h, i, :r], by_complex(x[b, h, i, :r], place, speed, layout))
    assert (turned[..., r:] == x[..., r:]).all()
    close(turned[..., 1, :], x[..., 1, :], 0)


def test_the_two_layouts_are_one_permutation():
    x, places = torch.randn(3, 8, dtype=F64), torch.arange(3)
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])  # primero las pares, luego las impares
    interleaved, half = Rotary(8)(x, places), Rotary(8, layout="half")(x[:, order], places)
    close(interleaved[:, order], half)
    assert not torch.allclose(interleaved, Rotary(8, layout="half")(x, places))


def test_rotary_is_the_transposed_shift_of_the_sinusoids():
    x = torch.randn(1, 6, dtype=F64)
    close(Rotary(6)(x, torch.tensor([5]))[0], shift_rotation(5, 6, dtype=F64).T @ x[0])


def test_each_example_has_its_own_places(shape_checks):
    """Como el lugar de la cifra en una suma: dos ejemplos, dos listas de posiciones."""
    rotary, x = Rotary(4), torch.randn(2, 3, 5, 4, dtype=F64)
    places = torch.tensor([[3, 2, 1, 0, 0], [0, 1, 0, 1, 2]])
    turned = rotary(x, places)
    for i in range(2):
        close(turned[i], rotary(x[i], places[i]))
    halves = rotary(x, places / 2)
    close(halves, Rotary(4, interpolation=2.0)(x, places))


def llama(scaling, d_head=16, **extra):
    parameters = {"rope_theta": 10000.0, **scaling}
    return LlamaConfig(
        hidden_size=2 * d_head,
        num_attention_heads=2,
        max_position_embeddings=64,
        rope_parameters=parameters,
        **extra,
    )


@pytest.mark.parametrize(
    ("scaling", "options"),
    [
        ({"rope_type": "default"}, {}),
        ({"rope_type": "default", "rope_theta": 500.0}, {"base": 500.0}),
        ({"rope_type": "linear", "factor": 4.0}, {"interpolation": 4.0}),
    ],
)
def test_rotary_equals_llama(scaling, options):
    oracle = LlamaRotaryEmbedding(llama(scaling))
    q, k = torch.randn(2, 3, 2, 40, 16)
    places = torch.arange(40)
    cos, sin = oracle(q, places[None])
    theirs = llama_rotation(q, k, cos, sin)
    rotary = Rotary(16, layout="half", **options)
    for x, expected in zip((q, k), theirs, strict=True):
        close(rotary(x, places), expected, 1e-5)


def test_ntk_equals_the_base_of_transformers():
    """Con factor 1 y una secuencia s veces más larga, su base «dynamic» es la NTK de factor s."""
    config = llama({"rope_type": "dynamic", "factor": 1.0})
    theirs, _ = ROPE_INIT_FUNCTIONS["dynamic"](config, device="cpu", seq_len=4 * 64)
    rotary = Rotary(16, ntk=4.0)
    close(rotary.angles(torch.tensor([1]))[0].float(), theirs, 1e-7)
    ratio = rotary.angles(torch.tensor([1]))[0] / frequencies(16, dtype=F64)
    close(ratio[[0, -1]], torch.tensor([1.0, 0.25], dtype=F64))
    assert (ratio <= 1).all() and (ratio.diff() < 0).all()
    assert rotary.base == ntk_base(10000.0, 4.0, 16)


def test_partial_rotation_equals_gpt_neox():
    """GPT-NeoX gira solo las primeras componentes, con las parejas a media distancia."""
    q, k = torch.randn(2, 3, 2, 7, 16, dtype=F64)
    angle = (torch.arange(7, dtype=F64)[:, None] * frequencies(4, dtype=F64)).repeat(1, 2)
    theirs = neox_rotation(q, k, angle.cos()[None], angle.sin()[None])
    rotary = Rotary(16, rotary_dim=4, layout="half")
    for x, expected in zip((q, k), theirs, strict=True):
        close(rotary(x, torch.arange(7)), expected)


def test_interleaved_equals_gptj():
    x = torch.randn(3, 7, 2, 8, dtype=F64)  # allí, las cabezas van después de las posiciones
    angle = torch.arange(7, dtype=F64)[:, None] * frequencies(8, dtype=F64)
    theirs = gptj_rotation(x, angle.sin()[None], angle.cos()[None])
    close(Rotary(8)(x.transpose(1, 2), torch.arange(7)), theirs.transpose(1, 2))


@LAYOUTS
def test_rotate_takes_any_angle(shape_checks, layout):
    x = torch.randn(2, 5, 6, dtype=F64)
    quarter = torch.full((3,), math.pi / 2, dtype=F64)
    twice = rotate(rotate(x, quarter, layout=layout), quarter, layout=layout)
    close(twice, -x)
    close(rotate(torch.tensor([1.0, 0.0]), quarter[:1].float()), torch.tensor([0.0, 1.0]), 1e-7)
    assert torch.autograd.gradcheck(lambda y: rotate(y, quarter, layout=layout), x.requires_grad_())


# --- Relativas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("n_buckets", "max_distance"), [(32, 128), (8, 20), (64, 1000), (4, 3)])
def test_buckets_equal_t5(shape_checks, bidirectional, n_buckets, max_distance):
    relative = torch.arange(-1500, 1501)
    options = (bidirectional, n_buckets, max_distance)
    theirs = T5Attention._relative_position_bucket(relative, *options)
    ours = relative_bucket(
        relative, n_buckets=n_buckets, max_distance=max_distance, bidirectional=bidirectional
    )
    assert (ours == theirs).all() and ours.min() >= 0 and ours.max() < n_buckets


@pytest.mark.parametrize("decoder", [False, True])
def test_bias_equals_t5(shape_checks, decoder):
    config = T5Config(d_model=16, num_heads=4, d_kv=4, is_decoder=decoder)
    oracle = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    module = RelativeBias(4, bidirectional=not decoder)
    module.load_state_dict({"table": oracle.relative_attention_bias.weight})
    theirs = oracle.compute_bias(150, 200)
    close(module(torch.arange(150), torch.arange(200)), theirs[0], 0)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6, 8, 12, 16, 20])
def test_slopes_equal_bloom(shape_checks, n_heads):
    oracle = build_alibi_tensor(torch.ones(1, 5, dtype=torch.long), n_heads, torch.float32)
    close(alibi_slopes(n_heads), oracle[:, 0, 1], 1e-6)
    places = torch.arange(5)
    bias = Alibi(n_heads)(places, places)
    close(bias[:, -1] - bias[:, -1, :1], oracle[:, 0], 1e-5)  # softmax no nota una constante


def test_slopes_by_the_formula():
    close(alibi_slopes(8, dtype=F64), 0.5 ** torch.arange(1, 9, dtype=F64), 0)
    twelve = [2.0**-h for h in range(1, 9)] + [2.0 ** -(h / 2) for h in (1, 3, 5, 7)]
    close(alibi_slopes(12, dtype=F64), torch.tensor(twelve, dtype=F64), 1e-15)
    module, place = Alibi(12).double(), torch.arange(2)  # pasar a 64 bits no pierde dígitos
    close(module(place, place)[:, 0, 1], -alibi_slopes(12, dtype=F64), 1e-15)
    assert not module.state_dict() and not list(module.parameters())


@pytest.mark.parametrize("batched", [False, True])
def test_shaw_equals_loops(shape_checks, batched):
    shaw, query = ShawRelative(6, 2).double(), torch.randn(2, 3, 4, 6, dtype=F64)
    queries, keys = torch.tensor([0, 5, 3, 1]), torch.tensor([4, 4, 0, 1, 9])
    if batched:
        queries, keys = torch.stack((queries, queries + 1)), torch.stack((keys, keys * 2))
    bias = shaw(queries, keys, query)
    assert bias.shape == (2, 3, 4, 5)
    for b, h, i, j in itertools.product(range(2), range(3), range(4), range(5)):
        m, n = (queries[b, i], keys[b, j]) if batched else (queries[i], keys[j])
        row = max(-2, min(2, int(n - m))) + 2
        close(bias[b, h, i, j], query[b, h, i] @ shaw.table[row] / math.sqrt(6))


def test_dynamic_bias_is_its_network_pair_by_pair(shape_checks):
    module = DynamicBias(3).double()
    queries, keys = torch.tensor([[0, 5], [3, 1]]), torch.tensor([[4, 0, 9], [1, 1, 2]])
    bias = module(queries, keys)
    assert bias.shape == (2, 3, 2, 3)
    for b, i, j in itertools.product(range(2), range(2), range(3)):
        r = int(keys[b, j] - queries[b, i])
        scaled = torch.tensor([math.copysign(math.log1p(abs(r)), r)], dtype=F64)
        close(bias[b, :, i, j], module.net(scaled))


BIASES = {
    "t5": lambda: RelativeBias(4),
    "t5-causal": lambda: RelativeBias(4, bidirectional=False),
    "alibi": lambda: Alibi(4),
    "dynamic": lambda: DynamicBias(4),
    "shaw": lambda: ShawRelative(6, 3),
}


@pytest.mark.parametrize("name", BIASES)
@given(shift=st.integers(-1000, 1000), n=st.integers(1, 6), m=st.integers(1, 6))
def test_biases_see_only_distances_and_take_batches(name, shift, n, m):
    module = BIASES[name]().double()
    extra = (torch.randn(2, 4, n, 6, dtype=F64),) if name == "shaw" else ()
    queries, keys = torch.randint(50, (2, n)), torch.randint(50, (2, m))
    bias = module(queries, keys, *extra)
    assert bias.shape == (2, 4, n, m) and bias.dtype == F64
    close(module(queries + shift, keys + shift, *extra), bias)
    for i in range(2):
        single = module(queries[i], keys[i], *(e[i : i + 1] for e in extra))
        close(single.view(4, n, m), bias[i])
        close(module(queries[i], keys, *extra)[i], bias[i])


def test_relative_positions_are_key_minus_query():
    expected = [[0, 1, 2], [-1, 0, 1]]
    assert relative_positions(torch.arange(2), torch.arange(3)).tolist() == expected


# --- En forma breve -------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "causal"), [(1, False), (3, False), (5, False), (4, True)])
def test_convolution_equals_loops(shape_checks, size, causal):
    module, x = Convolutional(3, size, causal=causal).double(), torch.randn(2, 7, 3, dtype=F64)
    weight, before = module.convolution.weight[:, 0], size - 1 if causal else size // 2
    out = module(x)
    for b, i, c in itertools.product(range(2), range(7), range(3)):
        near = [(t, i - before + t) for t in range(size) if 0 <= i - before + t < 7]
        total = sum(weight[c, t] * x[b, j, c] for t, j in near) + module.convolution.bias[c]
        close(out[b, i, c], x[b, i, c] + total)
    close(module(x[0]), out[0])
    close(module(x[None])[0], out)


def test_recurrence_equals_the_cell_step_by_step(shape_checks):
    module, x = Recurrent(3).double(), torch.randn(2, 5, 3, dtype=F64)
    cell = nn.GRUCell(3, 3).double()
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in module.gru.state_dict().items()})
    state, out = torch.zeros(2, 3, dtype=F64), module(x)
    for t in range(5):
        state = cell(x[:, t], state)
        close(out[:, t], x[:, t] + state)
    close(module(x[0]), out[0])
    close(module(x[None])[0], out)


def test_complex_embedding_turns_when_it_moves(shape_checks):
    module, ids = ComplexEmbedding(10, 6).double(), torch.tensor([[3, 3, 7], [0, 9, 3]])
    wave = torch.view_as_complex(module(ids).unflatten(-1, (3, 2)))
    place = torch.arange(3)[:, None]
    phase = module.frequency[ids] * place + module.phase[ids]
    close(wave, torch.polar(torch.ones((), dtype=F64), phase) * module.amplitude[ids])
    moved = torch.view_as_complex(module(ids, torch.arange(3) + 5).unflatten(-1, (3, 2)))
    turn = torch.polar(torch.ones((), dtype=F64), 5 * module.frequency[ids])
    close(moved, wave * turn)
    close(module(ids, torch.arange(3).expand(2, 3)), module(ids))


# --- Lo ya calculado ------------------------------------------------------------------------------


def test_what_was_computed_is_reused_and_never_confused():
    rotary, x, places = Rotary(4), torch.randn(3, 4), torch.arange(3)
    with torch.inference_mode():
        first = rotary(x, places)
    kept = rotary._memory._entries[0][2][0]
    assert rotary._memory.recall(rotary._clock, torch.arange(3), dtype=x.dtype)[0] is kept
    places += 1  # la copia guardada no cambia
    assert not torch.allclose(rotary(x, places), first)
    close(rotary(x.double(), places), Rotary(4)(x.double(), places), 0)
    trained = x.clone().requires_grad_()
    rotary(trained, torch.arange(3)).sum().backward()  # lo guardado sin gradientes sirve aquí
    for start in range(20):
        rotary(x, torch.arange(3) + start)
    assert len(rotary._memory._entries) == 4
    for other in (copy.deepcopy(rotary), pickle.loads(pickle.dumps(rotary))):
        assert not other._memory._entries
        close(other(x, places), rotary(x, places), 0)


def test_huge_results_are_not_kept():
    bias = RelativeBias(1)
    bias(torch.arange(2**11 + 1), torch.arange(2**11 + 1))
    assert not bias._memory._entries


def test_positions_that_learn_get_their_gradient():
    places = torch.arange(3.0, dtype=F64, requires_grad=True)
    x = torch.randn(3, 4, dtype=F64)
    assert torch.autograd.gradcheck(lambda p: Rotary(4)(x, p), places)
    assert torch.autograd.gradcheck(lambda p: Sinusoidal(4)(x, p), places)


# --- Errores --------------------------------------------------------------------------------------

X = torch.zeros(2, 3, 4)
N = torch.arange(3)
BAD = [
    (lambda: frequencies(5), ValueError, "d: se esperaba un entero par, porque .*llegó 5"),
    (lambda: frequencies(4, 1.0), ValueError, "base: .*mayor que 1; llegó 1.0"),
    (lambda: frequencies(4, dtype=torch.long), TypeError, "dtype: .*coma flotante"),
    (lambda: sinusoidal(N, 3), ValueError, "d_model: .*par"),
    (lambda: sinusoidal([0, 1], 4), TypeError, "positions: se esperaba un tensor"),
    (lambda: sinusoidal(torch.tensor(3), 4), ValueError, "positions: .*número suelto"),
    (lambda: shift_rotation("2", 4), TypeError, "delta: se esperaba un número"),
    (lambda: shift_rotation(math.inf, 4), ValueError, "delta: .*finito"),
    (lambda: Sinusoidal(7), ValueError, "d_model: .*par.*llegó 7"),
    (lambda: Sinusoidal(6)(X), ValueError, "x: el eje «d_model» mide 4"),
    (lambda: Sinusoidal(4)(X.long()), TypeError, "x: .*coma flotante"),
    (lambda: Sinusoidal(4)(X[0, 0]), ValueError, r"x: .*\(…, n, d_model\)"),
    (lambda: Sinusoidal(4)(X, N[:2]), ValueError, r"positions: .*\(3,\) o.*\(2, 3\); llegó \(2,\)"),
    (lambda: Sinusoidal(4)(X, N[:, None]), ValueError, "positions: .*una posición por fila"),
    (lambda: Sinusoidal(4)(X, N > 1), TypeError, "positions: .*enteras o reales; llegó bool"),
    (lambda: Sinusoidal(4)(X, N.to("meta")), ValueError, "positions: .*está en meta"),
    (lambda: Sinusoidal(4, base=1.0), ValueError, "base: .*mayor que 1"),
    (lambda: RawIndex(-1.0), ValueError, "scale: .*mayor que 0"),
    (lambda: NoPE()(X, N[:1]), ValueError, "positions: "),
    (lambda: Learned(0, 4), ValueError, "max_len: .*mayor o igual que 1"),
    (lambda: Learned(2, 4)(X), ValueError, r"x: .*como mucho 2 filas.*llegaron 3.*resized\(3\)"),
    (lambda: Learned(3, 4)(X, N + 1), ValueError, "positions: .*entre 0 y 2.*llegó 3"),
    (lambda: Learned(3, 4)(X, N - 1), ValueError, "positions: .*entre 0 y 2.*llegó -1"),
    (lambda: Learned(3, 4)(X, N.float()), TypeError, "positions: .*enteros; llegó float32"),
    (lambda: Learned(3, 4)(X.double()), TypeError, "x: se esperaba float32, como table"),
    (lambda: Learned(3, 4).resized(0), ValueError, "max_len: "),
    (lambda: Learned(3, 4, 5), TypeError, r"Learned.__init__\(\) takes 3 positional"),
    (lambda: Rotary(5), ValueError, "d_head: .*par.*llegó 5"),
    (lambda: Rotary(8, rotary_dim=3), ValueError, "rotary_dim: .*par"),
    (lambda: Rotary(8, rotary_dim=10), ValueError, "rotary_dim: .*como mucho d_head = 8"),
    (lambda: Rotary(8, interpolation=0.0), ValueError, "interpolation: .*mayor que 0"),
    (lambda: Rotary(2, ntk=2.0), ValueError, "d_head: .*par y mayor o igual que 4"),
    (lambda: Rotary(8, layout="llama"), ValueError, "layout: .*interleaved, half; llegó 'llama'"),
    (lambda: Rotary(6)(X, N), ValueError, "x: el eje «d_head» mide 4"),
    (lambda: Rotary(4)(X, N[:2]), ValueError, r"positions: .*\(3,\)"),
    (lambda: Rotary(4)(X, torch.zeros(2, 3)), ValueError, "positions: .*una posición por fila"),
    (lambda: Rotary(4)(X), TypeError, ".* missing 1 .*: 'positions'"),
    (lambda: rotate(X[..., :3], N[:1].float()), ValueError, "x: .*anchura par"),
    (lambda: rotate(X, torch.zeros(3)), ValueError, r"angles: .*\(2, 3, 2\); llegó \(3,\)"),
    (lambda: ntk_base(1e4, 2.0, 2), ValueError, "d: .*mayor o igual que 4"),
    (lambda: relative_bucket(N.float()), TypeError, "relative: .*enteros"),
    (lambda: relative_bucket(N, n_buckets=6), ValueError, "n_buckets: .*múltiplo de 4"),
    (lambda: RelativeBias(4, max_distance=8), ValueError, "max_distance: .*más de 8.*llegó 8"),
    (lambda: RelativeBias(4, max_distance=-1), ValueError, "max_distance: .*llegó -1"),
    (
        lambda: RelativeBias(4, max_distance=16, bidirectional=False),
        ValueError,
        "max_distance: .*más de 16",
    ),
    (lambda: RelativeBias(4, bidirectional=1), TypeError, "bidirectional: .*True o False"),
    (lambda: RelativeBias(4)(N / 2, N), TypeError, "query_positions: .*enteros"),
    (lambda: Alibi(4)(N, [0, 1]), TypeError, "key_positions: .*tensor"),
    (lambda: Alibi(4)(N.expand(2, 3), N.expand(4, 3)), ValueError, r"key_positions: .*\(2,\)"),
    (lambda: Alibi(4)(N, N.to("meta")), ValueError, "key_positions: .*meta"),
    (lambda: Alibi(0), ValueError, "n_heads: "),
    (lambda: alibi_slopes(2.0), TypeError, "n_heads: "),
    (lambda: ShawRelative(4, 0), ValueError, "max_distance: "),
    (lambda: ShawRelative(4, 2)(N, N, X[..., :2]), ValueError, "query: el eje «d_head» mide 2"),
    (lambda: ShawRelative(4, 2)(N[:2], N, X), ValueError, "query_positions: "),
    (lambda: Convolutional(4, 2), ValueError, "kernel_size: .*impar.*causal=True"),
    (
        lambda: Convolutional(4)(X, N + 1),
        ValueError,
        r"positions: .*Convolutional lee.*\[1, 2, 3\]",
    ),
    (lambda: Recurrent(4)(X, N + 1), ValueError, "positions: .*Recurrent"),
    (lambda: ComplexEmbedding(5, 3), ValueError, "d_model: .*par"),
    (lambda: ComplexEmbedding(2, 4)(N), ValueError, "ids: .*entre 0 y 1.*llegó 2"),
    (lambda: DynamicBias(4, 0), ValueError, "d_hidden: "),
    (lambda: frequencies("4"), TypeError, "d: se esperaba un entero; llegó str"),
    (lambda: frequencies(4, "10"), TypeError, "base: se esperaba un número; llegó str"),
    (lambda: sinusoidal(N, 4, 1.0), ValueError, "base: .*mayor que 1"),
    (lambda: sinusoidal(N, 4, dtype=torch.long), TypeError, "dtype: .*coma flotante"),
    (lambda: shift_rotation(1, 4, dtype=torch.long), TypeError, "dtype: .*coma flotante"),
    (lambda: Learned(3, 0), ValueError, "d_model: .*mayor o igual que 1"),
    (lambda: Learned(3, 4)(X[..., :3]), ValueError, "x: el eje «d_model» mide 3"),
    (lambda: Learned(3, 4).resized(2.0), TypeError, "max_len: se esperaba un entero"),
    (lambda: Convolutional(0), ValueError, "d_model: .*mayor o igual que 1"),
    (lambda: Convolutional(4, 0), ValueError, "kernel_size: .*mayor o igual que 1"),
    (lambda: Convolutional(4, causal=1), TypeError, "causal: .*True o False"),
    (lambda: Recurrent(0), ValueError, "d_model: .*mayor o igual que 1"),
    (lambda: Recurrent(4)(X[..., :3]), ValueError, "x: el eje «d_model» mide 3"),
    (lambda: ComplexEmbedding(0, 4), ValueError, "vocab: .*mayor o igual que 1"),
    (lambda: ComplexEmbedding(2, 4)(N[:1] + 2), ValueError, "ids: .*entre 0 y 1.*llegó 2"),
    (lambda: ComplexEmbedding(5, 4)(N.float()), TypeError, "ids: .*enteros; llegó float32"),
    (lambda: ComplexEmbedding(5, 4)(N[0]), ValueError, "ids: .*número suelto"),
    (lambda: ComplexEmbedding(5, 4)(N, N[:2]), ValueError, "positions: .*una posición por fila"),
    (lambda: rotate(X.long(), torch.zeros(2)), TypeError, "x: .*coma flotante"),
    (lambda: rotate(X, N[:2]), TypeError, "angles: .*coma flotante"),
    (lambda: rotate(X, torch.zeros(2), layout="llama"), ValueError, "layout: .*llegó 'llama'"),
    (lambda: ntk_base(1.0, 2.0, 4), ValueError, "base: .*mayor que 1"),
    (lambda: ntk_base(1e4, 0.0, 4), ValueError, "factor: .*mayor que 0"),
    (lambda: Rotary(4.0, rotary_dim=2), TypeError, "d_head: se esperaba un entero"),
    (lambda: Rotary(8, base=1.0), ValueError, "base: .*mayor que 1"),
    (lambda: Rotary(8, ntk=0.0), ValueError, "ntk: .*mayor que 0"),
    (lambda: Rotary(8, rotary_dim=2, ntk=2.0), ValueError, "rotary_dim: .*mayor o igual que 4"),
    (
        lambda: Rotary(4)(torch.zeros(4, 3), torch.arange(4)),
        ValueError,
        "x: el eje «d_head» mide 3",
    ),
    (lambda: Rotary(4)(X.long(), N), TypeError, "x: .*coma flotante"),
    (lambda: Rotary(4)(X[0, 0], N), ValueError, r"x: .*\(…, head, n, d_head\); llegó \(4,\)"),
    (lambda: Rotary(4)(X, N > 1), TypeError, "positions: .*enteras o reales; llegó bool"),
    (lambda: Rotary(4)(X, N.to("meta")), ValueError, "positions: .*está en meta"),
    (lambda: Rotary(4)(X, N[0]), ValueError, "positions: .*número suelto"),
    (lambda: Rotary(4)(X, N.expand(2, 3)), ValueError, r"positions: .*llegó \(2, 3\)"),
    (lambda: Rotary(4).angles(N > 1), TypeError, "positions: .*enteras o reales; llegó bool"),
    (lambda: relative_bucket(N, n_buckets=4.0), TypeError, "n_buckets: se esperaba un entero"),
    (lambda: RelativeBias(4, max_distance=20.5), TypeError, "max_distance: se esperaba un entero"),
    (lambda: RelativeBias(0), ValueError, "n_heads: .*mayor o igual que 1"),
    (lambda: RelativeBias(4)(N, N / 2), TypeError, "key_positions: .*enteros"),
    (
        lambda: RelativeBias(4)(N.expand(2, 3), N.expand(4, 3)),
        ValueError,
        r"key_positions: .*\(2,\); llegaron \(4,\)",
    ),
    (lambda: Alibi(4)([0, 1], N), TypeError, "query_positions: .*tensor"),
    (lambda: alibi_slopes(4, dtype=torch.long), TypeError, "dtype: .*coma flotante"),
    (lambda: ShawRelative(0, 2), ValueError, "d_head: .*mayor o igual que 1"),
    (lambda: ShawRelative(4, 2)(N / 2, N, X), TypeError, "query_positions: .*enteros"),
    (lambda: ShawRelative(4, 2)(N, N, X.long()), TypeError, "query: .*coma flotante"),
    (lambda: ShawRelative(4, 2)(N, N, X.double()), TypeError, "query: .*float32, como table"),
    (lambda: ShawRelative(4, 2)(N, N[None], X), ValueError, r"key_positions: .*llegó \(1, 3\)"),
    (lambda: DynamicBias(0), ValueError, "n_heads: .*mayor o igual que 1"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_errors_name_the_argument(shape_checks, number):
    act, kind, message = BAD[number]
    with pytest.raises(kind, match="^" + message):
        act()


def test_the_limits_are_allowed(shape_checks):
    """Lo último que vale: la menor anchura y base, y tantas filas como tiene la tabla."""
    assert len(frequencies(2, 1.5)) == 1 and Rotary(4, rotary_dim=4, ntk=2.0).rotary_dim == 4
    assert Learned(3, 4)(X).shape == X.shape


def test_all_is_what_the_package_offers():
    assert sorted(positions.__all__) == positions.__all__
    assert all(hasattr(positions, name) for name in positions.__all__)
