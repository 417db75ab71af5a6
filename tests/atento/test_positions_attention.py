"""Las posiciones dentro de la atención: los dos caminos, la caché, la cruzada y los lugares dados."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento import attention, masks, shapes
from atento.attention import KVCache, MultiHeadAttention
from atento.positions import (
    Alibi,
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
)

F64 = torch.float64
HEADS, D_HEAD = 4, 6
D_MODEL = HEADS * D_HEAD

SCHEMES = {
    "rotary": lambda: {"rotary": Rotary(D_HEAD)},
    "rotary-half": lambda: {"rotary": Rotary(D_HEAD, rotary_dim=4, layout="half", ntk=2.0)},
    "t5": lambda: {"score_bias": RelativeBias(HEADS, n_buckets=8, max_distance=16)},
    "t5-causal": lambda: {"score_bias": RelativeBias(HEADS, bidirectional=False)},
    "alibi": lambda: {"score_bias": Alibi(HEADS)},
    "shaw": lambda: {"score_bias": ShawRelative(D_HEAD, 3)},
    "dynamic": lambda: {"score_bias": DynamicBias(HEADS)},
    "rotary-shaw": lambda: {"rotary": Rotary(D_HEAD), "score_bias": ShawRelative(D_HEAD, 2)},
}
ALL = pytest.mark.parametrize("scheme", SCHEMES)
KV = pytest.mark.parametrize("n_kv_heads", [HEADS, 2, 1])
PATHS = pytest.mark.parametrize("need_weights", [False, True], ids=["fusionada", "explícita"])


def close(ours, theirs, tolerance=1e-12):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def module_of(scheme, n_kv_heads=None):
    module = MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=n_kv_heads, **SCHEMES[scheme]()).double()
    for name, parameter in module.named_parameters():
        if "table" in name:
            nn.init.normal_(parameter)  # que el sesgo se note
    return module


def tokens(*shape):
    return torch.randn(*shape, D_MODEL, dtype=F64)


def by_hand(module, query, key, queries, keys):
    """Las puntuaciones de una muestra, pareja a pareja; ``queries`` y ``keys`` son los lugares."""
    q, k, v = module.project_query(query), module.project_key(key), module.project_value(key)
    group, out = HEADS // module.n_kv_heads, []
    for h in range(HEADS):
        mine = slice(h * D_HEAD, (h + 1) * D_HEAD)
        shared = slice(h // group * D_HEAD, (h // group + 1) * D_HEAD)
        scores = torch.empty(len(query), len(key), dtype=F64)
        for i, m in enumerate(queries):
            for j, n in enumerate(keys):
                scores[i, j] = score(module, h, q[i, mine], k[j, shared], int(m), int(n))
        out.append(scores.softmax(-1) @ v[:, shared])
    return module.project_output(torch.cat(out, -1))


def score(module, head, q, k, m, n):
    """Una pareja: el giro, como matriz 2 × 2; el sesgo, de su tabla o su fórmula."""
    bias, turn, original = module.score_bias, module.rotary, q  # el sesgo ve la consulta sin girar
    if turn is not None:
        q, k = turned(turn, q, m), turned(turn, k, n)
    total = q @ k / math.sqrt(D_HEAD)
    if isinstance(bias, Alibi):
        total = total - abs(m - n) * 2.0 ** (-8 * (head + 1) / HEADS)
    elif isinstance(bias, ShawRelative):
        k_max = bias.max_distance
        row = max(-k_max, min(k_max, n - m)) + k_max
        total = total + original @ bias.table[row] / math.sqrt(D_HEAD)
    elif bias is not None:
        total = total + bias(torch.tensor([m]), torch.tensor([n]))[head, 0, 0]
    return total


def turned(rotary, x, place):
    r = rotary.rotary_dim
    half, x = r // 2, x.clone()
    for i in range(half):
        a, b = (i, i + half) if rotary.layout == "half" else (2 * i, 2 * i + 1)
        angle = place * rotary.base ** (-2 * i / r)
        matrix = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        x[[a, b]] = torch.tensor(matrix, dtype=F64) @ x[[a, b]]
    return x


@ALL
@KV
@PATHS
def test_equals_loops_with_places_of_each_example(shape_checks, scheme, n_kv_heads, need_weights):
    """Consultas y claves en lugares distintos, de cada ejemplo los suyos: atención cruzada."""
    module, query, key = module_of(scheme, n_kv_heads), tokens(2, 3), tokens(2, 4)
    queries = torch.tensor([[5, 0, 2], [1, 1, 30]])
    keys = torch.tensor([[0, 1, 2, 3], [7, 3, 1, 0]])
    options = {"need_weights": need_weights, "positions": queries, "key_positions": keys}
    output, _ = module(query, key, **options)
    for i in range(2):
        close(output[i], by_hand(module, query[i], key[i], queries[i], keys[i]), 1e-9)
    options |= {"positions": queries[0], "key_positions": keys[0]}
    close(module(query, key, **options)[0][0], output[0])


@ALL
@PATHS
def test_given_consecutive_places_are_the_default(shape_checks, scheme, need_weights):
    module, x, memory = module_of(scheme), tokens(2, 4), tokens(2, 6)
    options = {"need_weights": need_weights}
    close(module(x, positions=torch.arange(4), **options)[0], module(x, **options)[0])
    close(module(x, memory, positions=torch.arange(4), **options)[0], module(x, memory)[0])
    close(module(x, memory, key_positions=torch.arange(6), **options)[0], module(x, memory)[0])


@ALL
@KV
def test_outputs_do_not_change_with_the_start(scheme, n_kv_heads):
    """Todo esquema relativo: adelantar consultas y claves lo mismo no cambia nada."""
    module, x, memory = module_of(scheme, n_kv_heads), tokens(2, 4), tokens(2, 6)
    close(module(x, positions=torch.arange(4) + 700)[0], module(x)[0], 1e-11)
    places = {"positions": torch.arange(4) + 700, "key_positions": torch.arange(6) + 700}
    close(module(x, memory, **places)[0], module(x, memory)[0], 1e-11)
    late = module(x, memory, positions=torch.arange(4) + 3)[0]
    assert not torch.allclose(late, module(x, memory)[0])


@ALL
@KV
@given(steps=st.lists(st.integers(1, 3), min_size=1, max_size=3), weights=st.booleans())
def test_cache_equals_the_whole_sequence(scheme, n_kv_heads, steps, weights):
    module, n = module_of(scheme, n_kv_heads), sum(steps)
    x, mask, places = tokens(2, n), masks.causal_mask(n), torch.randint(20, (2, n))
    for given_places in (None, places):
        cache, pieces, start = KVCache(), [], 0
        for size in steps:
            end = start + size
            options = {"mask": mask[start:end, :end], "cache": cache, "need_weights": weights}
            if given_places is not None:
                options["positions"] = places[:, start:end]
                options["key_positions"] = places[:, :end]
            pieces.append(module(x[:, start:end], **options)[0])
            start = end
        whole = module(x, mask=mask, positions=given_places)[0]
        close(torch.cat(pieces, 1), whole, 1e-11)


def test_decoding_places_the_query_of_a_cross_attention():
    """Palabra a palabra, la consulta t de la cruzada está en t; sin decirlo, estaría en 0."""
    module, x, memory = module_of("rotary"), tokens(1, 5), tokens(1, 7)
    whole = module(x, memory)[0]
    steps = [module(x[:, t : t + 1], memory, positions=torch.tensor([t]))[0] for t in range(5)]
    close(torch.cat(steps, 1), whole)
    assert not torch.allclose(module(x[:, 4:], memory)[0], whole[:, 4:])


def test_rotary_alone_needs_only_the_new_places_with_a_cache():
    module, x, cache = module_of("rotary"), tokens(1, 3), KVCache()
    places, mask = torch.tensor([5, 9, 2]), masks.causal_mask(3)
    first, _ = module(x[:, :2], positions=places[:2], mask=mask[:2, :2], cache=cache)
    last, _ = module(x[:, 2:], positions=places[2:], mask=mask[2:], cache=cache)
    close(torch.cat((first, last), 1), module(x, positions=places, mask=mask)[0])


@ALL
def test_gradients_agree_on_both_paths(scheme):
    module, x, mask = module_of(scheme, 2), tokens(2, 4).requires_grad_(), masks.causal_mask(4)
    mask[1] = False
    leaves = [x, *module.parameters()]
    fused, explicit = (
        torch.autograd.grad(module(x, mask=mask, need_weights=w)[0].square().sum(), leaves)
        for w in (False, True)
    )
    for a, b in zip(fused, explicit, strict=True):
        close(a, b, 1e-10)
    learned = [p for name, p in module.named_parameters() if "table" in name or "net" in name]
    grads = torch.autograd.grad(module(x)[0].square().sum(), learned) if learned else []
    assert all(g.abs().sum() > 0 for g in grads)


@ALL
def test_the_fused_kernel_is_kept(monkeypatch, scheme):
    module, calls = module_of(scheme, 2), []
    kernel = torch.nn.functional.scaled_dot_product_attention

    def spy(query, key, value, **options):
        calls.append(key.shape[-3])
        return kernel(query, key, value, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    monkeypatch.setattr(attention.attend, "unchecked", None)
    module(tokens(2, 3))
    assert calls == [2]  # sin repetir las claves


@ALL
@PATHS
def test_bfloat16_stays_near(shape_checks, scheme, need_weights):
    module, x = module_of(scheme), tokens(2, 8)
    exact = module(x)[0]
    half = module.bfloat16()(x.bfloat16(), need_weights=need_weights)[0]
    assert half.dtype == torch.bfloat16
    close(half.double(), exact, 0.1)


@ALL
@PATHS
def test_meta_device(shape_checks, scheme, need_weights):
    with torch.device("meta"):
        module = MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=2, **SCHEMES[scheme]())
        x, places = torch.empty(2, 5, D_MODEL), torch.empty(2, 5, dtype=torch.long)
        output, _ = module(x, need_weights=need_weights, cache=KVCache(), positions=places)
    assert output.is_meta and output.shape == (2, 5, D_MODEL)


@pytest.mark.parametrize("scheme", ["rotary-half", "rotary-shaw", "t5", "alibi", "dynamic"])
def test_compiled_whole_with_checks_on(scheme):
    torch.compiler.reset()
    module, x = module_of(scheme, 2), tokens(2, 3)
    places = None if scheme == "t5" else torch.tensor([[0, 4, 1], [2, 2, 9]])
    with shapes.checked():
        compiled = torch.compile(module, backend="eager", fullgraph=True)
        close(compiled(x, positions=places)[0], module(x, positions=places)[0])


@ALL
def test_gradient_of_each_sample_by_vmap(scheme):
    module, batch = module_of(scheme, 2), tokens(3, 4)
    parameters = dict(module.named_parameters())

    def loss(parameters, x):
        return torch.func.functional_call(module, parameters, (x,))[0].square().sum()

    many = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, batch)
    for i, x in enumerate(batch):
        grads = torch.autograd.grad(loss(parameters, x), list(parameters.values()))
        for (name, all_), one in zip(many.items(), grads, strict=True):
            close(all_[i], one, 1e-9), name


# --- Sumadas a la entrada -------------------------------------------------------------------------

ADDED = {
    "nope": NoPE,
    "raw": RawIndex,
    "sinusoidal": lambda: Sinusoidal(D_MODEL),
    "learned": lambda: Learned(40, D_MODEL),
    "convolutional": lambda: Convolutional(D_MODEL),
    "recurrent": lambda: Recurrent(D_MODEL),
}
INPUT = pytest.mark.parametrize("name", ADDED)


@INPUT
def test_added_on_meta_and_in_half_precision(shape_checks, name):
    module, x = ADDED[name]().double(), tokens(2, 3)
    close(module(x, torch.arange(3)), module(x))
    half = module.bfloat16()(x.bfloat16())
    assert half.dtype == torch.bfloat16 and half.isfinite().all()
    with torch.device("meta"):
        output = ADDED[name]()(torch.empty(2, 3, D_MODEL), torch.empty(3, dtype=torch.long))
    assert output.is_meta and output.shape == (2, 3, D_MODEL)


@pytest.mark.parametrize("name", ["sinusoidal", "learned", "convolutional"])
def test_added_compiled(name):
    """Menos la recurrente: PyTorch no mete ``nn.GRU`` en un solo grafo si no se le permite."""
    torch.compiler.reset()
    module, x = ADDED[name]().double(), tokens(2, 3)
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    with shapes.checked():
        close(compiled(x), module(x))


@pytest.mark.parametrize("name", ["nope", "raw", "sinusoidal", "learned"])
def test_added_by_pieces(name):
    """Al generar con caché se añade la posición que toca."""
    module, x = ADDED[name]().double(), tokens(2, 5)
    pieces = [module(x[:, t : t + 1], torch.tensor([t])) for t in range(5)]
    close(torch.cat(pieces, 1), module(x))


ORDER = torch.tensor([2, 0, 3, 1])


def test_without_position_nor_mask_there_is_no_order():
    """Reordenar la entrada reordena la salida: equivarianza; la media de la frase no cambia."""
    module, x = MultiHeadAttention(D_MODEL, HEADS).double(), NoPE()(tokens(2, 4))
    close(module(x[:, ORDER])[0], module(x)[0][:, ORDER])
    close(module(x[:, ORDER])[0].mean(1), module(x)[0].mean(1))


@pytest.mark.parametrize("name", [n for n in ADDED if n != "nope"])
def test_an_added_position_breaks_the_equivariance(name):
    module, position = MultiHeadAttention(D_MODEL, HEADS).double(), ADDED[name]().double()
    if name == "learned":
        nn.init.normal_(position.table)
    x = tokens(2, 4)
    moved, plain = module(position(x[:, ORDER]))[0], module(position(x))[0]
    assert (moved - plain[:, ORDER]).abs().max() > 1e-3


@ALL
def test_a_relative_scheme_breaks_the_equivariance(scheme):
    module, x = module_of(scheme), tokens(2, 4)
    assert (module(x[:, ORDER])[0] - module(x)[0][:, ORDER]).abs().max() > 1e-3


def test_a_causal_mask_alone_gives_the_order():
    """NoPE causal: con una primera palabra reconocible, el peso medio de ella es 1/(t + 1).

    Una cabeza con puntuaciones iguales y valor 1 en esa palabra y 0 en las demás da la posición.
    """
    module, n = MultiHeadAttention(2, 1, bias=False).double(), 50
    nn.init.zeros_(module.project_query.weight)  # todas las puntuaciones, iguales
    nn.init.eye_(module.project_value.weight)
    nn.init.eye_(module.project_output.weight)
    x = torch.zeros(1, n, 2, dtype=F64)
    x[0, 0, 0] = 1.0  # el inicio
    x[0, 1:, 1] = torch.randn(n - 1, dtype=F64)  # lo demás, cualquier contenido
    causal = module(x, mask=masks.causal_mask(n))[0][0, :, 0]
    close(1 / causal - 1, torch.arange(n, dtype=F64), 1e-9)
    free = module(x)[0][0, :, 0]
    close(free, torch.full((n,), 1 / n, dtype=F64))  # sin máscara, todas iguales


# --- Errores --------------------------------------------------------------------------------------

X, N = torch.zeros(2, 3, D_MODEL), torch.arange(3)
BAD = [
    ({"positions": [0, 1, 2]}, TypeError, "positions: se esperaba un tensor"),
    ({"positions": N > 0}, TypeError, "positions: .*bool"),
    ({"positions": N[:2]}, ValueError, r"positions: .*\(3,\) o.*\(2, 3\); llegó \(2,\)"),
    ({"positions": N.expand(1, 3)}, ValueError, r"positions: .*llegó \(1, 3\)"),
    ({"positions": N.to("meta")}, ValueError, "positions: .*meta"),
    ({"key_positions": N[:2]}, ValueError, r"key_positions: .*\(3,\)"),
    ({"positions": N / 2}, TypeError, "query_positions: se esperaba un tensor de enteros"),
]


@pytest.mark.parametrize(("options", "kind", "message"), BAD)
def test_errors_name_the_argument(shape_checks, options, kind, message):
    module, cache = MultiHeadAttention(D_MODEL, HEADS, score_bias=RelativeBias(HEADS)), KVCache()
    with pytest.raises(kind, match="^" + message):
        module(X, cache=cache, **options)
    assert len(cache) == 0


def test_a_cache_does_not_know_where_the_keys_were(shape_checks):
    module, cache = MultiHeadAttention(D_MODEL, HEADS, score_bias=Alibi(HEADS)), KVCache()
    module(X, cache=cache, positions=N)
    with pytest.raises(ValueError, match="^key_positions: .*6 claves, guardadas y nuevas"):
        module(X, cache=cache, positions=N)
    module(X, cache=cache, positions=N, key_positions=torch.arange(6))
    assert len(cache) == 6


def test_a_wrong_width_is_told_by_the_scheme():
    module = MultiHeadAttention(D_MODEL, HEADS, rotary=Rotary(D_HEAD + 2))
    with pytest.raises(ValueError, match="^x: el eje «d_head» mide 6"):
        module(X)
    module = MultiHeadAttention(D_MODEL, HEADS, score_bias=Alibi(HEADS + 1))
    with pytest.raises(ValueError, match=r"^score_bias: .*\(2, 4, 3, 3\); llegó \(5, 3, 3\)"):
        module(X)
