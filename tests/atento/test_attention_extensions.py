"""Los puntos de extensión de la atención: giro, sesgo, cabezas agrupadas, puntuaciones y caché.

Cada variante se compara con bucles que recorren posiciones una a una: fusionada y explícita, con
caché y sin ella, hacia delante y hacia atrás.
"""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento import attention, masks, similarity
from atento.attention import KVCache, MultiHeadAttention, scaled_dot_product_attention

F64 = torch.float64
HEADS, D_HEAD = 4, 6
D_MODEL = HEADS * D_HEAD


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


class Rope(nn.Module):
    """RoPE: gira cada pareja de componentes (i, i + d/2) un ángulo posición · 10000^(-2i/d)."""

    def forward(self, x, positions):
        half = x.shape[-1] // 2
        speed = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
        angle = positions[:, None] * speed
        first, second = x[..., :half], x[..., half:]
        turned = (
            first * angle.cos() - second * angle.sin(),
            first * angle.sin() + second * angle.cos(),
        )
        return torch.cat(turned, dim=-1)


class Alibi(nn.Module):
    """ALiBi: resta la distancia por una pendiente de cada cabeza."""

    def forward(self, query_positions, key_positions):
        slopes = 2.0 ** -torch.arange(1, HEADS + 1)[:, None, None]
        return -slopes * (query_positions[:, None] - key_positions).abs()


class Learned(nn.Module):
    """Un sesgo aprendido por distancia y cabeza, como el de T5 con cubos de una posición."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.linspace(-1, 1, HEADS * 41, dtype=F64).view(41, HEADS))

    def forward(self, query_positions, key_positions):
        return self.table[query_positions[:, None] - key_positions + 20].permute(2, 0, 1)


VARIANTS = {
    "ninguna": dict,
    "rope": lambda: {"rotary": Rope()},
    "alibi": lambda: {"score_bias": Alibi()},
    "aprendido": lambda: {"score_bias": Learned()},
    "ambas": lambda: {"rotary": Rope(), "score_bias": Alibi()},
}


def module_of(variant, n_kv_heads):
    return MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=n_kv_heads, **VARIANTS[variant]()).double()


def rotate_by_hand(vector, position):
    """RoPE con números complejos: cada pareja es un complejo que se multiplica por e^{iθ}."""
    half = len(vector) // 2
    angle = torch.tensor([position * 10000.0 ** (-i / half) for i in range(half)], dtype=F64)
    turned = torch.complex(vector[:half], vector[half:]) * torch.polar(
        torch.ones_like(angle), angle
    )
    return torch.cat([turned.real, turned.imag])


def by_hand(module, variant, query, key, mask=None):
    """La atención entera, cabeza a cabeza y pareja a pareja; ``mask`` es (query, key)."""
    q, k, v = module.project_query(query), module.project_key(key), module.project_value(key)
    group, rows = HEADS // module.n_kv_heads, []
    for i in range(len(q)):
        heads = []
        for h in range(HEADS):
            mine = slice(h * D_HEAD, (h + 1) * D_HEAD)
            shared = slice(h // group * D_HEAD, (h // group + 1) * D_HEAD)
            scores = []
            for j in range(len(k)):
                a, b = q[i, mine], k[j, shared]
                if variant in ("rope", "ambas"):
                    a, b = rotate_by_hand(a, i), rotate_by_hand(b, j)
                score = (a * b).sum() / math.sqrt(D_HEAD)
                if variant in ("alibi", "ambas"):
                    score = score - 2.0 ** -(h + 1) * abs(i - j)
                if variant == "aprendido":
                    score = score + module.score_bias.table[i - j + 20, h]
                scores.append(score)
            allowed = [j for j in range(len(k)) if mask is None or mask[i, j]]
            total = sum(scores[j].exp() for j in allowed) if allowed else 1.0
            empty = torch.zeros(D_HEAD, dtype=F64)
            heads.append(sum((scores[j].exp() / total * v[j, shared] for j in allowed), empty))
        rows.append(torch.cat(heads))
    return module.project_output(torch.stack(rows))


def with_gradients(output, module, x):
    weights = torch.linspace(-1, 1, output.numel(), dtype=F64).view_as(output)
    return output, torch.autograd.grad((output * weights).sum(), [x, *module.parameters()])


def same(ours, theirs):
    close(ours[0], theirs[0])
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert a.isfinite().all()
        close(a, b)


ALL = pytest.mark.parametrize("variant", VARIANTS)
KV = pytest.mark.parametrize("n_kv_heads", [HEADS, 2, 1])
PATHS = pytest.mark.parametrize("need_weights", [False, True], ids=["fusionada", "explícita"])


@ALL
@KV
@PATHS
@pytest.mark.parametrize("masked", [False, True], ids=["libre", "máscara"])
def test_equals_brute_force_with_gradients(shape_checks, variant, n_kv_heads, need_weights, masked):
    module = module_of(variant, n_kv_heads)
    x = torch.randn(5, D_MODEL, dtype=F64, requires_grad=True)
    mask = masks.causal_mask(5) if masked else None
    if masked:
        mask[2] = False  # una consulta que no atiende a nada
    expected = with_gradients(by_hand(module, variant, x, x, mask), module, x)
    single = module(x, mask=mask, need_weights=need_weights)[0]
    same(with_gradients(single, module, x), expected)
    batch, weights = module(x[None].expand(3, 5, D_MODEL), mask=mask, need_weights=need_weights)
    close(batch[1], expected[0])
    assert weights is None or weights.shape == (3, HEADS, 5, 5)


@ALL
@KV
@PATHS
def test_cross_attention_equals_brute_force(variant, n_kv_heads, need_weights):
    module = module_of(variant, n_kv_heads)
    query, key = torch.randn(3, D_MODEL, dtype=F64), torch.randn(6, D_MODEL, dtype=F64)
    output, _ = module(query, key, need_weights=need_weights)
    close(output, by_hand(module, variant, query, key))


@ALL
@KV
@given(steps=st.lists(st.integers(1, 3), min_size=1, max_size=4), weights=st.booleans())
def test_cache_equals_the_whole_sequence(variant, n_kv_heads, steps, weights):
    """Generar a trozos da lo mismo, con gradientes: las posiciones cuentan lo ya guardado."""
    module, n = module_of(variant, n_kv_heads), sum(steps)
    x = torch.randn(2, n, D_MODEL, dtype=F64, requires_grad=True)
    mask = masks.causal_mask(n)
    cache, pieces, start = KVCache(), [], 0
    for size in steps:
        end = start + size
        rows = mask[start:end, :end]
        pieces.append(module(x[:, start:end], mask=rows, cache=cache, need_weights=weights)[0])
        start = end
        assert len(cache) == end and cache.key.shape == (2, n_kv_heads, end, D_HEAD)
    whole = module(x, mask=mask)[0]
    same(with_gradients(torch.cat(pieces, 1), module, x), with_gradients(whole, module, x))


@ALL
@KV
def test_both_paths_agree_with_padding(variant, n_kv_heads):
    module, x = module_of(variant, n_kv_heads), torch.randn(2, 4, D_MODEL, dtype=F64)
    mask = masks.padding_mask(torch.tensor([[1, 2, 0, 0], [0, 0, 0, 0]]))
    fused, output = module(x, mask=mask)[0], module(x, mask=mask, need_weights=True)[0]
    close(fused, output)
    close(fused[1], module.project_output.bias.expand(4, D_MODEL))


@KV
def test_variants_keep_the_fused_kernel(monkeypatch, n_kv_heads):
    """Con giro, sesgo y cabezas agrupadas se llama al núcleo, y nunca a la forma explícita."""
    module, calls = module_of("ambas", n_kv_heads), []
    kernel = torch.nn.functional.scaled_dot_product_attention

    def spy(query, key, value, **options):
        calls.append(key.shape[-3])
        return kernel(query, key, value, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    monkeypatch.setattr(attention.attend, "unchecked", None)
    module(torch.randn(2, 3, D_MODEL, dtype=F64))
    assert calls == [n_kv_heads]  # sin repetir las claves


def test_grouped_heads_have_fewer_parameters():
    module = MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=1)
    assert module.project_key.weight.shape == (D_HEAD, D_MODEL) and "n_kv_heads=1" in repr(module)
    assert list(MultiHeadAttention(8, 2).state_dict()) == list(module.state_dict())


def test_relative_scores_do_not_change_with_the_start():
    """Con RoPE o ALiBi, adelantar todas las posiciones no cambia nada."""
    module, x = module_of("ambas", 2), torch.randn(1, 3, D_MODEL, dtype=F64)
    plain = module(x)[0]
    turn, bias = module.rotary, module.score_bias
    del module.rotary, module.score_bias
    module.rotary = lambda y, positions: turn(y, positions + 70)
    module.score_bias = lambda q, k: bias(q + 70, k + 70)
    close(module(x)[0], plain)


def test_a_module_may_be_shared_between_layers():
    bias = Learned()
    layers = nn.ModuleList(MultiHeadAttention(D_MODEL, HEADS, score_bias=bias) for _ in range(2))
    assert sum(p is bias.table for p in layers.parameters()) == 1


BAD_HOOKS = [
    ({"rotary": lambda x, p: x[..., :2]}, ValueError, r"rotary: .*\(2, 4, 3, 6\); devolvió"),
    ({"rotary": lambda x, p: None}, TypeError, "rotary: se esperaba un tensor"),
    ({"score_bias": lambda q, k: torch.zeros(3, 2)}, ValueError, r"score_bias: .*\(2, 4, 3, 3\)"),
    ({"score_bias": lambda q, k: torch.ones(3, 3).bool()}, TypeError, "score_bias: .*flotante"),
    ({"score_bias": lambda q, k: torch.ones(3, 3, device="meta")}, ValueError, "score_bias: .*cpu"),
]


@pytest.mark.parametrize(("hooks", "kind", "message"), BAD_HOOKS)
def test_bad_hooks_are_named_and_leave_the_cache(hooks, kind, message):
    module, cache = MultiHeadAttention(D_MODEL, HEADS, **hooks), KVCache()
    with pytest.raises(kind, match="^" + message):
        module(torch.randn(2, 3, D_MODEL), cache=cache)
    assert len(cache) == 0


# --- Lo demás: scores -----------------------------------------------------------------------------


class Distance(MultiHeadAttention):
    """Resta la distancia entre posiciones, como ALiBi."""

    def scores(self, query, key):
        n, m = query.shape[-2], key.shape[-2]
        distance = (torch.arange(n)[:, None] - torch.arange(m)).abs()
        return super().scores(query, key) - distance


class Window(MultiHeadAttention):
    """Prohíbe desde ``scores`` todo lo que no sea la posición anterior."""

    def scores(self, query, key):
        previous = torch.eye(query.shape[-2], key.shape[-2], dtype=torch.bool).roll(1, 0)
        previous[0] = False
        return super().scores(query, key).masked_fill(~previous, -float("inf"))


def with_weights_of(other, kind):
    module = kind(other.d_model, other.n_heads).to(other.project_query.weight.dtype)
    module.load_state_dict(other.state_dict())
    return module


def test_overriding_scores_takes_effect_on_both_paths():
    plain = MultiHeadAttention(8, 2).double()
    module, x = with_weights_of(plain, Distance), torch.randn(2, 5, 8, dtype=F64)
    output, weights = module(x, need_weights=True)
    close(module(x)[0], output)
    assert not torch.allclose(output, plain(x)[0])
    query = module._split(module.project_query(x))
    key = module._split(module.project_key(x))
    distance = (torch.arange(5)[:, None] - torch.arange(5)).abs()
    close(weights, (similarity.scaled_dot(query, key) - distance).softmax(-1))


def test_instance_override_takes_effect():
    module, x = MultiHeadAttention(8, 2).double(), torch.randn(2, 5, 8, dtype=F64)
    module.scores = lambda query, key: torch.zeros(2, 2, 5, 5, dtype=F64)
    _, weights = module(x, need_weights=True)
    close(weights, torch.full_like(weights, 0.2))
    output, _ = module(x)
    close(output[:, 0], output[:, 4])


def test_scores_may_forbid_whole_rows():
    module, x = Window(4, 2), torch.randn(1, 3, 4, requires_grad=True)
    output, weights = module(x, need_weights=True)
    assert (weights[:, :, 0] == 0).all() and (weights[:, :, 1, 0] == 1).all()
    assert torch.autograd.grad(output.square().sum(), x)[0].isfinite().all()


def test_bad_scores_are_named():
    module, x = MultiHeadAttention(8, 2), torch.randn(2, 5, 8)
    module.scores = lambda query, key: torch.zeros(5, 5)
    with pytest.raises(ValueError, match=r"scores: .*= \(2, 2, 5, 5\); devolvió \(5, 5\)"):
        module(x)
    module.scores = lambda query, key: 3
    with pytest.raises(TypeError, match=r"^MultiHeadAttention\.scores: se esperaba un tensor"):
        module(x)


def test_a_bias_needs_to_know_where_the_kept_keys_were():
    module, cache = MultiHeadAttention(D_MODEL, HEADS, score_bias=Learned()), KVCache()
    x, places = torch.randn(2, 1, D_MODEL), torch.arange(1)
    module(x, cache=cache, positions=places)
    with pytest.raises(ValueError, match="^key_positions: .* de las 2 claves"):
        module(x, cache=cache, positions=places)
    module(x, cache=cache, positions=places, key_positions=torch.arange(2))


def test_failing_scores_do_not_grow_the_cache():
    module, x, cache = MultiHeadAttention(8, 2), torch.randn(2, 3, 8), KVCache()
    module(x, cache=cache)
    module.scores = lambda query, key: torch.zeros(5, 5)
    with pytest.raises(ValueError, match="scores"):
        module(x, cache=cache)
    module.scores = lambda query, key: 1 / 0
    with pytest.raises(ZeroDivisionError):
        module(x, cache=cache)
    assert len(cache) == 3
    del module.scores
    assert module(x, cache=cache)[0].shape == (2, 3, 8) and len(cache) == 6


@KV
def test_grouped_keys_reach_scores_already_shared(n_kv_heads):
    seen = []

    class Spy(MultiHeadAttention):
        def scores(self, query, key):
            seen.append((query.shape, key.shape))
            return super().scores(query, key)

    module = Spy(D_MODEL, HEADS, n_kv_heads=n_kv_heads, score_bias=Alibi()).double()
    x = torch.randn(1, 3, D_MODEL, dtype=F64)
    plain = MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=n_kv_heads, score_bias=Alibi()).double()
    plain.load_state_dict(module.state_dict())
    close(module(x)[0], plain(x)[0])
    assert seen == [((1, HEADS, 3, D_HEAD),) * 2]


# --- Proyecciones envueltas, meta, compilar, transformar, 16 bits ---------------------------------


class Lora(nn.Module):
    """Una proyección congelada más una corrección de rango 2; no tiene ``weight``."""

    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(2, base.in_features, dtype=base.weight.dtype))
        self.up = nn.Parameter(torch.randn(base.out_features, 2, dtype=base.weight.dtype))

    def forward(self, x):
        return self.base(x) + x @ self.down.mT @ self.up.mT


class Quantized(nn.Module):
    """Una proyección con pesos de 8 bits: ``weight`` es un entero."""

    def __init__(self, base):
        super().__init__()
        self.scale = base.weight.abs().amax(1, keepdim=True) / 127
        self.weight = nn.Parameter((base.weight / self.scale).round().char(), requires_grad=False)

    def forward(self, x):
        return x @ (self.weight * self.scale).mT


PROJECTIONS = ("project_query", "project_key", "project_value", "project_output")


@PATHS
@pytest.mark.parametrize("wrapper", [Lora, Quantized])
def test_wrapped_projections(shape_checks, wrapper, need_weights):
    module, x = module_of("ambas", 2), torch.randn(2, 3, D_MODEL, dtype=F64, requires_grad=True)
    for name in PROJECTIONS:
        setattr(module, name, wrapper(getattr(module, name)))
    cache = KVCache()
    output, _ = module(x, cache=cache, need_weights=need_weights)
    close(output, module(x, need_weights=not need_weights)[0])
    assert torch.autograd.grad(output.sum(), x)[0].isfinite().all() and len(cache) == 3


@PATHS
@KV
def test_meta_device(shape_checks, need_weights, n_kv_heads):
    """Sin datos se puede saber lo que mide todo, por ejemplo antes de reservar un modelo enorme."""
    with torch.device("meta"):
        module = MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=n_kv_heads)
        x, mask = torch.empty(2, 5, D_MODEL), torch.empty(5, 5, dtype=torch.bool)
        cache = KVCache()
        output, weights = module(x, mask=mask, need_weights=need_weights, cache=cache)
    assert output.is_meta and output.shape == (2, 5, D_MODEL) and len(cache) == 5
    assert weights is None or weights.shape == (2, HEADS, 5, 5)
    with pytest.raises(TypeError, match="query: se esperaba float32"):
        module(x.double())


@ALL
@PATHS
def test_compiled_whole_with_checks_on(shape_checks, variant, need_weights):
    torch.compiler.reset()
    module, x = module_of(variant, 2), torch.randn(2, 3, D_MODEL, dtype=F64)
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    mask = masks.causal_mask(3)
    output, _ = compiled(x, mask=mask, need_weights=need_weights)
    close(output, module(x, mask=mask)[0])


@pytest.mark.parametrize("masked", [False, True])
def test_explicit_compiled_with_dead_rows(shape_checks, masked):
    torch.compiler.reset()
    compiled = torch.compile(scaled_dot_product_attention, backend="aot_eager", fullgraph=True)
    q, k, v = torch.randn(3, 2, 4, 6, dtype=F64)
    mask = masks.causal_mask(4) if masked else None
    if masked:
        mask[1] = False
    explicit = scaled_dot_product_attention(q, k, v, mask)
    for ours, theirs in zip(compiled(q, k, v, mask), explicit, strict=True):
        close(ours, theirs)


@PATHS
@ALL
def test_gradient_of_each_sample_by_vmap(shape_checks, variant, need_weights):
    """``vmap(grad(f))`` da los gradientes de cada muestra de una vez."""
    module = module_of(variant, 2)
    batch, mask = torch.randn(3, 4, D_MODEL, dtype=F64), masks.causal_mask(4)
    mask[1] = False

    def loss(parameters, x):
        arguments, options = (x,), {"mask": mask, "need_weights": need_weights}
        output, _ = torch.func.functional_call(module, parameters, arguments, options)
        return output.square().sum()

    parameters = dict(module.named_parameters())
    many = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, batch)
    for i, x in enumerate(batch):
        module.zero_grad()
        loss(parameters, x).backward()
        for name, parameter in parameters.items():
            close(many[name][i], parameter.grad)


@PATHS
def test_half_precision_scales_before_the_product(need_weights):
    """Con q · k = 64 · 60² = 230400 desborda el producto sin escalar; entre √64, 28800, no."""
    x = torch.full((1, 2, 64), 60.0, dtype=torch.float16)
    output, weights = scaled_dot_product_attention(x, x, x)
    assert output.isfinite().all() and (weights == 0.5).all()
    assert (similarity.scaled_dot(x, x) == 28800).all()
    assert similarity.dot(x, x).isinf().all()
    module = MultiHeadAttention(64, 1).half()
    for name in PROJECTIONS:
        nn.init.eye_(getattr(module, name).weight)
    assert (module(x, need_weights=need_weights)[0] == 60).all()
