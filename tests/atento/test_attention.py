"""La atención frente a PyTorch (hacia delante y hacia atrás), sus propiedades y sus errores."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento import masks, shapes, similarity
from atento.attention import (
    MultiHeadAttention,
    _for_gpu,
    attend,
    fused_attention,
    normalize,
    scaled_dot_product_attention,
)
from atento.cache import KVCache
from atento.checks import attention as checks

F64, F32 = torch.float64, torch.float32
TOLERANCE = {F64: 1e-9, F32: 1e-5}
NAN = float("nan")


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=TOLERANCE[theirs.dtype])


def explicit(*args, **kwargs):
    return scaled_dot_product_attention(*args, **kwargs)[0]


BOTH = pytest.mark.parametrize("form", [explicit, fused_attention])


def qkv(batch, n, m, d, d_value=None, dtype=F64, device="cpu"):
    """Consultas, claves y valores que piden gradiente."""
    shapes = ((*batch, n, d), (*batch, m, d), (*batch, m, d_value or d))
    return [torch.randn(s, dtype=dtype, device=device, requires_grad=True) for s in shapes]


def gradients(output, inputs):
    """Los gradientes de una suma ponderada de la salida, con pesos distintos para cada número."""
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype, device=output.device)
    return torch.autograd.grad((output * weights.view_as(output)).sum(), inputs)


def same_with_gradients(ours, theirs, inputs, *others):
    close(ours, theirs)
    their_inputs = others[0] if others else inputs
    for mine, yours in zip(gradients(ours, inputs), gradients(theirs, their_inputs), strict=True):
        assert mine.isfinite().all()
        close(mine, yours)


@st.composite
def problems(draw):
    """Formas, tipo y máscara (o ninguna) de cualquier forma que se difunda, con filas tapadas."""
    batch = draw(st.sampled_from([(), (1,), (2,), (2, 3)]))
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    d, d_value = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    dtype = draw(st.sampled_from([F64, F32]))
    if draw(st.booleans()):
        return (batch, n, m, d, d_value, dtype), None
    full = (*batch, n, m)
    shape = [size if draw(st.booleans()) else 1 for size in full]
    shape = shape[draw(st.integers(0, len(full))) :]
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    mask = torch.rand(shape, generator=generator) > 0.4
    if mask.ndim >= 2 and draw(st.booleans()):
        mask[..., -1, :] = False  # una consulta sin ninguna clave
    return (batch, n, m, d, d_value, dtype), mask


# --- Frente a F.scaled_dot_product_attention ------------------------------------------------------


@BOTH
@given(problem=problems())
def test_equals_pytorch_with_gradients(form, problem):
    (batch, n, m, d, d_value, dtype), mask = problem
    inputs = qkv(batch, n, m, d, d_value, dtype)
    ours = form(*inputs, mask)
    full = None if mask is None else mask.expand(*batch, n, m)
    theirs = F.scaled_dot_product_attention(*inputs, attn_mask=full)
    same_with_gradients(ours, theirs, inputs)


@given(problem=problems())
def test_both_forms_agree_with_shape_checks(problem):
    (batch, n, m, d, d_value, dtype), mask = problem
    inputs = qkv(batch, n, m, d, d_value, dtype)
    with shapes.checked():
        same_with_gradients(explicit(*inputs, mask), fused_attention(*inputs, mask), inputs)


@BOTH
@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("shape", [None, (5, 7), (2, 1, 1, 7), (3, 5, 1), (2, 3, 5, 7)])
def test_equals_pytorch_on_every_device(device, form, dtype, shape):
    inputs = qkv((2, 3), 5, 7, 4, dtype=dtype, device=device)
    mask = None
    if shape is not None:
        mask = torch.rand(shape, device=device) > 0.3
        mask[..., 0, :] = shape[-2] == 1  # con varias filas, la primera se tapa entera
    full = None if mask is None else mask.expand(2, 3, 5, 7).cpu()
    on_cpu = [x.detach().cpu().requires_grad_() for x in inputs]
    theirs = F.scaled_dot_product_attention(*on_cpu, attn_mask=full)
    ours = form(*inputs, mask)
    close(ours.cpu(), theirs)
    for mine, yours in zip(gradients(ours, inputs), gradients(theirs, on_cpu), strict=True):
        close(mine.cpu(), yours)


GPU_MASKS = pytest.mark.parametrize(
    "shape", [(5, 7), (1, 1), (5, 1), (3, 5, 1), (2, 1, 1, 7), (2, 3, 5, 7)]
)


@GPU_MASKS
@pytest.mark.parametrize("dtype", [torch.bool, F32])
def test_the_mask_for_a_gpu_has_its_keys_side_by_side(shape, dtype):
    """En float32, un núcleo de GPU no admite una máscara con paso 0 en las claves."""
    mask = torch.rand(shape) > 0.3
    mask[..., 0, :] = shape[-2] == 1  # con varias filas, la primera se tapa entera
    mask = mask.mT.contiguous().mT  # seguidas, las consultas
    bias = torch.randn(shape).masked_fill(~mask, float("-inf"))
    given = mask if dtype == torch.bool else bias
    ready, alone = _for_gpu(given, 7)
    assert ready.shape == (*shape[:-1], 7) and ready.dtype == dtype and ready.stride(-1) == 1
    empty = ~mask.any(dim=-1, keepdim=True)
    assert torch.equal(alone, empty)
    assert torch.equal(
        ready, torch.where(empty, torch.ones((), dtype=dtype), given).expand_as(ready)
    )
    inputs = qkv((2, 3), 5, 7, 4, dtype=F32)
    open_rows = F.scaled_dot_product_attention(*inputs, attn_mask=ready)
    theirs = F.scaled_dot_product_attention(*inputs, attn_mask=given.expand(2, 3, 5, 7))
    same_with_gradients(open_rows.masked_fill(alone, 0.0), theirs, inputs)


@GPU_MASKS
def test_outside_the_processor_the_kernel_receives_that_mask(monkeypatch, shape):
    """En «meta», que no es el procesador, la máscara sigue el mismo camino que en una GPU."""
    real, strides = F.scaled_dot_product_attention, []

    def kernel(*args, attn_mask, **options):
        strides.append((attn_mask.shape[-1], attn_mask.stride(-1)))
        return real(*args, attn_mask=attn_mask, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", kernel)
    inputs = qkv((2, 3), 5, 7, 4, dtype=F32, device="meta")
    fused_attention(*inputs, torch.ones(shape, dtype=torch.bool, device="meta"))
    assert strides == [(7, 1)]


@BOTH
@pytest.mark.parametrize("scale", [0.01, 1.0, 3.0, 2])
def test_scale(form, scale):
    inputs = qkv((2,), 3, 4, 5)
    theirs = F.scaled_dot_product_attention(*inputs, scale=scale)
    same_with_gradients(form(*inputs, scale=scale), theirs, inputs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_masks_without_overflow(dtype):
    query, key, value = (x.detach() for x in qkv((2,), 4, 4, 8, dtype=dtype))
    mask = masks.causal_mask(4)
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    assert output.dtype == dtype and (weights[..., ~mask] == 0).all()
    reference = F.scaled_dot_product_attention(query.double(), key.double(), value.double(), mask)
    torch.testing.assert_close(output.double(), reference, rtol=0, atol=0.05)


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 5), (1, 5), (3, 5)])
def test_causal_puts_the_queries_last(n, m, extra):
    inputs = qkv((2, 2), n, m, 4)
    mask = torch.rand(n, m) > 0.3 if extra else None
    rows = masks.combine(masks.causal_mask(m)[-n:], mask)
    ours = fused_attention(*inputs, mask, causal=True)
    same_with_gradients(ours, explicit(*inputs, rows), inputs)


def test_causal_square_equals_pytorch():
    inputs = qkv((2, 2), 6, 6, 4)
    theirs = F.scaled_dot_product_attention(*inputs, is_causal=True)
    same_with_gradients(fused_attention(*inputs, causal=True), theirs, inputs)


def test_gradcheck_of_the_explicit_form():
    inputs = qkv((), 3, 4, 2)
    mask = torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]).bool()
    assert torch.autograd.gradcheck(lambda *x: scaled_dot_product_attention(*x, mask), inputs)


def test_explicit_form_inside_function_transforms():
    query, key, value = (x.detach() for x in qkv((), 3, 4, 2))
    mask = torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]).bool()

    def function(x):
        return explicit(x, key, value, mask)

    forward, backward = torch.func.jacfwd(function)(query), torch.func.jacrev(function)(query)
    close(forward, backward)
    many = torch.func.vmap(function)(torch.stack([query, 2 * query]))
    close(many[1], function(2 * query))


# --- Propiedades ----------------------------------------------------------------------------------


@given(problem=problems())
def test_rows_sum_to_one_or_zero(problem):
    (batch, n, m, d, d_value, dtype), mask = problem
    inputs = qkv(batch, n, m, d, d_value, dtype)
    output, weights = scaled_dot_product_attention(*inputs, mask)
    full = torch.ones(*batch, n, m).bool() if mask is None else mask.expand(*batch, n, m)
    alive = full.any(-1)
    close(weights.sum(-1), alive.to(dtype))
    assert (weights >= 0).all() and (weights[~full] == 0).all() and (output[~alive] == 0).all()


@given(problem=problems())
def test_output_lies_in_the_hull_of_the_visible_values(problem):
    (batch, n, m, d, d_value, dtype), mask = problem
    query, key, value = qkv(batch, n, m, d, d_value, dtype)
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    close(output, torch.einsum("...qk,...kd->...qd", weights, value))
    full = torch.ones(*batch, n, m).bool() if mask is None else mask.expand(*batch, n, m)
    hidden = ~full[..., None]
    lowest = value.unsqueeze(-3).masked_fill(hidden, float("inf")).amin(-2)
    highest = value.unsqueeze(-3).masked_fill(hidden, -float("inf")).amax(-2)
    alive = full.any(-1)
    assert (output >= lowest - 1e-5)[alive].all() and (output <= highest + 1e-5)[alive].all()


@BOTH
@given(seed=st.integers(0, 999), n=st.integers(2, 6))
def test_permutation_equivariance(form, seed, n):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, n, 4, dtype=F64, generator=generator)
    order = torch.randperm(n, generator=generator)
    close(form(x[:, order], x[:, order], x[:, order]), form(x, x, x)[:, order])
    close(form(x, x[:, order], x[:, order]), form(x, x, x))  # las claves no tienen orden
    rows = masks.causal_mask(n)
    permuted = rows[order][:, order]
    close(form(x[:, order], x[:, order], x[:, order], permuted), form(x, x, x, rows)[:, order])


@BOTH
@given(problem=problems(), noise=st.sampled_from([1e3, -7.0]))
def test_masked_keys_and_values_never_leak(form, problem, noise):
    (batch, n, m, d, d_value, dtype), _ = problem
    query, key, value = (x.detach() for x in qkv(batch, n, m, d, d_value, dtype))
    visible = torch.rand(m) > 0.5
    before = form(query, key, value, visible.expand(n, m))
    key, value = key.clone(), value.clone()
    key[..., ~visible, :] = noise
    value[..., ~visible, :] = noise
    assert torch.equal(form(query, key, value, visible.expand(n, m)), before)


def test_no_gradient_reaches_masked_keys():
    inputs = qkv((2,), 4, 5, 3)
    visible = torch.tensor([True, False, True, False, True])
    _, of_key, of_value = gradients(explicit(*inputs, visible.expand(4, 5)), inputs)
    assert (of_key[:, ~visible] == 0).all() and (of_value[:, ~visible] == 0).all()


@given(shift=st.floats(-50, 50))
def test_softmax_does_not_see_a_constant_per_query(shift):
    scores = torch.randn(3, 4, dtype=F64)
    close(normalize(scores + shift), normalize(scores))
    query, key, value = (x.detach() for x in qkv((), 3, 4, 5))
    close(
        explicit(query, key + shift * torch.ones(5, dtype=F64), value), explicit(query, key, value)
    )


def test_extreme_scores_do_not_overflow():
    query = torch.tensor([[1e4, 0.0], [-1e4, 0.0]])
    output, weights = scaled_dot_product_attention(query, query, torch.eye(2))
    assert torch.equal(weights, torch.eye(2)) and torch.equal(output, torch.eye(2))


def test_no_keys_at_all_is_a_fully_masked_row():
    x = torch.randn(2, 3, 4)
    output, weights = scaled_dot_product_attention(x, x[:, :0], x[:, :0])
    assert weights.shape == (2, 3, 0) and (output == 0).all()
    assert (fused_attention(x, x[:, :0], x[:, :0]) == 0).all()


# --- Filas tapadas enteras ------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("mask", [False, [[True] * 4, [False] * 4, [False, True, False, False]]])
def test_fully_masked_rows_are_zero_without_nan(device, form, mask):
    inputs = qkv((2,), 3, 4, 5, device=device)
    output = form(*inputs, torch.tensor(mask, device=device))
    assert (output[:, 1] == 0).all() and output.isfinite().all()
    of_query, *rest = gradients(output, inputs)
    assert (of_query[:, 1] == 0).all() and all(g.isfinite().all() for g in (of_query, *rest))


def test_pytorch_multihead_gives_nan_or_zero_where_ours_gives_zero():
    ours = MultiHeadAttention(4, 2)
    theirs = nn.MultiheadAttention(4, 2, batch_first=True)
    nn.init.normal_(theirs.out_proj.bias)
    x, mask = torch.randn(1, 3, 4), masks.causal_mask(3)
    mask[1] = False
    assert theirs(x, x, x, attn_mask=~mask)[0][:, 1].isnan().all()
    output, _ = theirs(x, x, x, attn_mask=~mask, need_weights=False)
    assert torch.equal(output[0, 1], theirs.out_proj.bias)  # un promedio de 0, y la salida
    with torch.no_grad():
        fast, _ = theirs.eval()(x, x, x, attn_mask=~mask, need_weights=False)
    assert fast[0, 1].isnan().all()  # el camino rápido de la evaluación
    for need_weights in (False, True):
        output, _ = ours(x, mask=mask, need_weights=need_weights)
        assert output.isfinite().all() and torch.equal(output[0, 1], ours.project_output.bias)


def test_normalize_zeroes_only_the_rows_of_minus_infinity():
    inf = float("inf")
    scores = torch.tensor([[-inf, -inf], [0.0, -inf], [NAN, 0.0]], requires_grad=True)
    weights = normalize(scores)
    assert weights[:2].tolist() == [[0.0, 0.0], [1.0, 0.0]]
    assert weights[2].isnan().all()  # un NaN de verdad no se esconde
    assert (torch.autograd.grad(weights[:2].sum(), scores)[0][:2] == 0).all()
    with pytest.raises(TypeError, match="scores: se esperaba"):
        normalize(torch.ones(2, 2).long())


# --- Dropout --------------------------------------------------------------------------------------


def test_dropout_keeps_the_expectation_and_the_returned_weights():
    query, key, value = (x.detach() for x in qkv((), 4, 6, 3))
    clean, weights = scaled_dot_product_attention(query, key, value)
    for form in (explicit, fused_attention):
        runs = torch.stack([form(query, key, value, dropout=0.3) for _ in range(3000)])
        assert runs.std(0).min() > 0.01
        error = (runs.mean(0) - clean).abs() / (runs.std(0) / 3000**0.5)
        assert error.max() < 5  # cinco errores típicos
    dropped, same_weights = scaled_dot_product_attention(query, key, value, dropout=0.3)
    assert torch.equal(same_weights, weights) and not torch.equal(dropped, clean)


@pytest.mark.parametrize("need_weights", [False, True])
def test_module_drops_only_while_training(need_weights):
    module, x = MultiHeadAttention(8, 2, dropout=0.5), torch.randn(2, 5, 8)
    runs = [module(x, need_weights=need_weights)[0] for _ in range(2)]
    assert not torch.equal(*runs)
    module.eval()
    runs = [module(x, need_weights=need_weights)[0] for _ in range(2)]
    assert torch.equal(*runs)


def test_half_of_the_weights_are_dropped():
    x = torch.zeros(1, 100, 100)
    output, weights = scaled_dot_product_attention(x, x, torch.eye(100)[None], dropout=0.5)
    kept = output != 0  # con valores identidad, la salida son los pesos con dropout
    assert abs(kept.float().mean().item() - 0.5) < 0.03
    torch.testing.assert_close(output[kept], 2 * weights[kept])


# --- Frente a nn.MultiheadAttention ---------------------------------------------------------------


def copied(d_model, n_heads, *, bias=True, dtype=F64, device="cpu"):
    """Un nn.MultiheadAttention y el nuestro, con los mismos pesos."""
    theirs = nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True)
    theirs = theirs.to(device=device, dtype=dtype)
    ours = MultiHeadAttention(d_model, n_heads, bias=bias).to(device=device, dtype=dtype)
    projections = (ours.project_query, ours.project_key, ours.project_value)
    with torch.no_grad():
        for linear, weight in zip(projections, theirs.in_proj_weight.chunk(3), strict=True):
            linear.weight.copy_(weight)
        ours.project_output.weight.copy_(theirs.out_proj.weight)
        if bias:
            for parameter in (theirs.in_proj_bias, theirs.out_proj.bias):
                nn.init.normal_(parameter)
            for linear, vector in zip(projections, theirs.in_proj_bias.chunk(3), strict=True):
                linear.bias.copy_(vector)
            ours.project_output.bias.copy_(theirs.out_proj.bias)
    return ours, theirs


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("cross", [False, True], ids=["autoatención", "cruzada"])
@pytest.mark.parametrize("masked", [False, True], ids=["libre", "máscara"])
def test_module_equals_pytorch_with_gradients(device, dtype, bias, cross, masked):
    ours, theirs = copied(12, 3, bias=bias, dtype=dtype, device=device)
    make = {"dtype": dtype, "device": device, "requires_grad": True}
    query = torch.randn(2, 5, 12, **make)
    key = torch.randn(2, 7, 12, **make) if cross else query
    mask = torch.rand(5, key.shape[1], device=device) > 0.4 if masked else None
    if masked:
        mask[:, 0] = True
    blocked = None if mask is None else ~mask  # la polaridad de PyTorch es la contraria
    args = (query, key) if cross else (query,)
    output, weights = ours(*args, mask=mask, need_weights=True)
    reference, average = theirs(query, key, key, attn_mask=blocked)
    close(weights.mean(-3), average)
    close(ours(*args, mask=mask)[0], reference)
    inputs = [query, key] if cross else [query]
    parameters = [linear.weight for linear in (ours.project_query, ours.project_key)]
    mine = gradients(output, [*inputs, *parameters, ours.project_output.weight])
    yours = gradients(reference, [*inputs, theirs.in_proj_weight, theirs.out_proj.weight])
    packed = yours[len(inputs)].chunk(3)
    expected = [*yours[: len(inputs)], packed[0], packed[1], yours[-1]]
    for one, other in zip(mine, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_padding_mask_equals_key_padding_mask():
    ours, theirs = copied(8, 2)
    ids = torch.tensor([[3, 4, 0, 0], [5, 6, 7, 0]])
    x = torch.randn(2, 4, 8, dtype=F64)
    reference, _ = theirs(x, x, x, key_padding_mask=ids == 0, attn_mask=~masks.causal_mask(4))
    mask = masks.combine(masks.padding_mask(ids), masks.causal_mask(4))
    close(ours(x, mask=mask)[0], reference)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5))
def test_both_paths_of_the_module_agree(heads, d_head, n, m):
    module = MultiHeadAttention(heads * d_head, heads).double()
    query = torch.randn(2, n, heads * d_head, dtype=F64)
    key, value = torch.randn(2, 2, m, heads * d_head, dtype=F64)
    mask = torch.rand(2, 1, n, m) > 0.3
    with shapes.checked():
        fused, none = module(query, key, value, mask)
        output, weights = module(query, key, value, mask, need_weights=True)
    assert none is None and weights.shape == (2, heads, n, m)
    close(fused, output)


def test_single_sequence_and_many_batch_axes(shape_checks):
    module, x = MultiHeadAttention(8, 2).double(), torch.randn(3, 2, 5, 8, dtype=F64)
    many, weights = module(x, mask=masks.causal_mask(5), need_weights=True)
    assert weights.shape == (3, 2, 2, 5, 5)
    one, weights = module(x[1, 0], mask=masks.causal_mask(5), need_weights=True)
    assert weights.shape == (2, 5, 5)
    close(one, many[1, 0])


def test_module_by_hand():
    """Con proyecciones identidad, cada cabeza es la atención de su trozo de la entrada."""
    module, x = MultiHeadAttention(4, 2), torch.randn(1, 3, 4)
    for linear in (module.project_query, module.project_key, module.project_value):
        nn.init.eye_(linear.weight)
    nn.init.eye_(module.project_output.weight)
    heads = [explicit(part, part, part) for part in (x[..., :2], x[..., 2:])]
    close(module(x)[0], torch.cat(heads, dim=-1))


def test_initial_parameters():
    module = MultiHeadAttention(64, 4)
    linears = list(module.children())
    assert len(linears) == 4 and all((linear.bias == 0).all() for linear in linears)
    bound = (6 / 128) ** 0.5
    for linear in linears:
        assert 0.95 * bound < linear.weight.abs().max() <= bound
    assert sum(p.numel() for p in module.parameters()) == 4 * (64 * 64 + 64)
    assert all(linear.bias is None for linear in MultiHeadAttention(8, 2, bias=False).children())
    assert "n_heads=4" in repr(module)


# --- Errores en la puerta -------------------------------------------------------------------------

X = torch.randn(2, 5, 8)
BAD = [
    ((X.long(), X, X), {}, TypeError, "query: se esperaba un tensor de coma flotante; llegó int64"),
    ((X, X.int(), X), {}, TypeError, "key: .*coma flotante; llegó int32"),
    ((X, X, X.bool()), {}, TypeError, "value: .*coma flotante; llegó bool"),
    ((None, X, X), {}, TypeError, "query: se esperaba un tensor de PyTorch; llegó NoneType"),
    (
        (X, X),
        {},
        TypeError,
        r"scaled_dot.*\(\) missing 1 .*'value'|fused_attention\(\) missing 1 .*'value'",
    ),
    ((X, X, X), {"attn_mask": None}, TypeError, "attn_mask: así se llama en PyTorch; .*mask"),
    ((X, X, X), {"is_causal": True}, TypeError, "is_causal: .*causal=True"),
    ((X, X, X), {"dropout_p": 0.1}, TypeError, "dropout_p: .*dropout"),
    ((X, X, X), {"mascara": None}, TypeError, ".* got an unexpected keyword argument 'mascara'"),
    ((X, X, X, None, 2.0), {}, TypeError, ".* takes from 3 to 4 positional arguments but 5"),
    ((X, X, X.tolist()), {}, TypeError, "value: se esperaba un tensor de PyTorch; llegó list"),
    ((X, X.double(), X), {}, TypeError, "key: se esperaba float32, como query; llegó float64"),
    ((X, X, X.half()), {}, TypeError, "value: se esperaba float32, como key; llegó float16"),
    ((X[0, 0], X, X), {}, ValueError, r"query: se esperaba la forma .*llegó \(8,\)"),
    ((X, X[..., :3], X), {}, ValueError, "key: el eje «d_head» mide 3, .*debe medir 8"),
    (
        (X, X[:1], X),
        {},
        ValueError,
        r"key: se esperaban los ejes de lote de query, \(2,\); llegaron \(1,\)",
    ),
    ((X, X, X[:, :4]), {}, ValueError, r"value: se esperaba un valor por clave.*\(2, 4, 8\)"),
    ((X, X, X[0]), {}, ValueError, r"value: se esperaba un valor por clave.*\(5, 8\)"),
    ((X, X, X, torch.ones(5, 5)), {}, TypeError, "mask: .*booleana, con True donde se puede"),
    ((X, X, X, [[True]]), {}, TypeError, "mask: se esperaba un tensor"),
    (
        (X, X, X, torch.ones(5, 4).bool()),
        {},
        ValueError,
        r"mask: .*\(…, query, key\) = \(2, 5, 5\); llegó \(5, 4\)",
    ),
    ((X, X, X, torch.ones(3, 5, 5).bool()), {}, ValueError, r"mask: .*llegó \(3, 5, 5\)"),
    ((X, X, X, torch.ones(1, 2, 5, 5).bool()), {}, ValueError, r"mask: .*\(1, 2, 5, 5\)"),
    (
        (X, X, X, torch.ones(5, 5, device="meta").bool()),
        {},
        ValueError,
        "mask: se esperaba en cpu, como query; está en meta",
    ),
    ((X, X.to("meta"), X), {}, ValueError, "key: se esperaba en cpu, como query; está en meta"),
    ((X, X, X), {"scale": 0.0}, ValueError, "scale: .*mayor que 0"),
    ((X, X, X), {"scale": "1"}, TypeError, "scale: se esperaba un número"),
    ((X, X, X), {"dropout": 1.0}, ValueError, r"dropout: .*\[0, 1\)"),
    ((X, X, X), {"dropout": None}, TypeError, "dropout: se esperaba un número"),
]


@BOTH
@pytest.mark.parametrize(("args", "kwargs", "kind", "message"), BAD)
def test_bad_inputs(shape_checks, form, args, kwargs, kind, message):
    with pytest.raises(kind, match="^" + message):
        form(*args, **kwargs)


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("poison", [NAN, float("inf")])
def test_non_finite_inputs_are_named(position, poison):
    inputs = [X.clone() for _ in range(3)]
    inputs[position][0, 1, 2] = poison
    name = ("query", "key", "value")[position]
    module = MultiHeadAttention(8, 2)
    for call in (explicit, fused_attention, module):
        with shapes.checked(), pytest.raises(ValueError, match=f"^{name}: .*1 (NaN|infinito)"):
            call(*inputs)
        call(*inputs)  # apagada, no se mira el contenido: cuesta más que la atención misma
    if position > 0:
        with shapes.checked(), pytest.raises(ValueError, match=f"^{name}: .*1 (NaN|infinito)"):
            module.remember(*inputs[1:])


def test_causal_needs_as_many_keys_as_queries():
    with pytest.raises(ValueError, match="causal: .*llegaron 5 consultas y 4 claves"):
        fused_attention(X, X[:, :4], X[:, :4], causal=True)


@pytest.mark.parametrize(
    ("args", "kwargs", "kind", "message"),
    [
        ((10, 3), {}, ValueError, "d_model: se esperaba un múltiplo de n_heads = 3; llegó 10"),
        ((8.0, 2), {}, TypeError, "d_model: se esperaba un entero"),
        ((0, 1), {}, ValueError, "d_model: .*mayor o igual que 1"),
        ((8, 0), {}, ValueError, "n_heads: .*mayor o igual que 1"),
        ((8, True), {}, TypeError, "n_heads: se esperaba un entero"),
        ((8, 2), {"dropout": 1.5}, ValueError, "dropout: "),
        ((8,), {}, TypeError, ".* missing 1 .*: 'n_heads'"),
        ((), {"embed_dim": 8, "num_heads": 2}, TypeError, "embed_dim: .*d_model"),
        ((8, 4), {"n_kv_heads": 3}, ValueError, "n_heads: se esperaba un múltiplo de n_kv_heads"),
        ((8, 4), {"n_kv_heads": 0}, ValueError, "n_kv_heads: .*mayor o igual que 1"),
        ((8, 4), {"rotary": 3}, TypeError, "rotary: se esperaba una función o un módulo"),
        ((8, 4), {"score_bias": 3}, TypeError, "score_bias: se esperaba una función o un módulo"),
        ((8, 4), {"n_kv_heads": 2.0}, TypeError, "n_kv_heads: se esperaba un entero"),
    ],
)
def test_bad_module(args, kwargs, kind, message):
    with pytest.raises(kind, match="^" + message):
        MultiHeadAttention(*args, **kwargs)


MODULE_BAD = [
    ((X[..., :6],), {}, ValueError, "query: el eje «d_model» mide 6, .*debe medir 8"),
    ((X, X[..., :6]), {}, ValueError, "key: el eje «d_head» mide 6"),
    ((X, X, X[..., :6]), {}, ValueError, "value: el eje «d_model» mide 6"),
    ((X, X, X[:, :4]), {}, ValueError, "value: se esperaba un valor por clave"),
    ((X, None, X), {}, ValueError, "value: llegó value sin key"),
    ((), {}, TypeError, ".* missing 1 .*: 'query'"),
    ((X,), {"key_padding_mask": None}, TypeError, r"key_padding_mask: .*masks.padding_mask\(ids\)"),
    ((X.long(),), {}, TypeError, "query: .*coma flotante; llegó int64"),
    ((X.double(),), {}, TypeError, "query: se esperaba float32, como project_query.weight"),
    ((X, X[:1]), {}, ValueError, "key: se esperaban los ejes de lote"),
    ((X,), {"mask": torch.ones(5, 5)}, TypeError, "mask: .*booleana, con True donde"),
    ((X,), {"mask": torch.ones(2, 1, 5).bool()}, ValueError, "mask: se esperaba el eje «head»"),
    (
        (X,),
        {"mask": torch.ones(2, 5, 5).bool()},
        ValueError,
        r"mask: se esperaba el eje.*mask\[:, None\]",
    ),
    ((X,), {"mask": torch.ones(5, 4).bool()}, ValueError, r"mask: .*head.*\(2, 2, 5, 5\)"),
    ((X,), {"cache": {}}, TypeError, "cache: se esperaba un KVCache; llegó dict"),
    ((X,), {"positions": torch.arange(4)}, ValueError, r"positions: .*\(5,\) o"),
    ((X,), {"key_positions": torch.arange(4)}, ValueError, r"key_positions: .*\(5,\) o"),
]


@pytest.mark.parametrize(("args", "kwargs", "kind", "message"), MODULE_BAD)
def test_bad_module_inputs(shape_checks, args, kwargs, kind, message):
    module = MultiHeadAttention(8, 2)
    with pytest.raises(kind, match="^" + message):
        module(*args, **kwargs)


BAD_MEMORY = [
    (lambda m, kept: m(X, kept, X), ValueError, "value: no se esperaba, .*; llegó Tensor"),
    (lambda m, kept: m(X, kept, cache=KVCache()), ValueError, "cache: no se esp.*; llegó KVCache"),
    (lambda m, kept: m(X.long(), kept), TypeError, "query: .*coma flotante"),
    (lambda m, kept: m(X[0, 0], kept), ValueError, r"query: .*forma .*llegó \(8,\)"),
    (lambda m, kept: m(X[..., :6], kept), ValueError, "query: el eje «d_model» mide 6"),
    (lambda m, kept: m(X.double(), kept), TypeError, "query: .*como project_query.weight"),
    (lambda m, kept: m(X[:1], kept), ValueError, r"key: .*= \(1, 2, 5, 4\), .*llegó \(2, 2"),
    (
        lambda m, kept: m(X, kept._replace(value=kept.value[:, :, 1:])),
        ValueError,
        r"key: .*= \(2, 2, 5, 4\), .*llegó \(2, 2, 4, 4\)",
    ),
    (
        lambda m, kept: m(X, type(kept)(*(x.double() for x in kept))),
        TypeError,
        "key: se esperaba float32, como query",
    ),
    (lambda m, kept: m.remember(3), TypeError, "key: se esperaba un tensor"),
    (lambda m, kept: m.remember(X[0, 0]), ValueError, r"key: .*\(…, key, d\); llegó \(8,\)"),
    (lambda m, kept: m.remember(X[..., :6]), ValueError, "key: el eje «d_model» mide 6"),
    (lambda m, kept: m.remember(X.double()), TypeError, "key: .*como project_query.weight"),
    (lambda m, kept: m.remember(X, X[:, :4]), ValueError, "value: se esperaba un valor por clave"),
    (lambda m, kept: m.remember(X, X.long()), TypeError, "value: .*coma flotante"),
    (lambda m, kept: m.remember(X, X[..., :6]), ValueError, "value: el eje «d_model» mide 6"),
    (
        lambda m, kept: m.remember(X, key_positions=torch.arange(4)),
        ValueError,
        r"key_positions: .*\(5,\) o",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD_MEMORY)
def test_bad_memories(shape_checks, call, kind, message):
    module = MultiHeadAttention(8, 2)
    memory = module.remember(X)
    assert torch.equal(module(X, memory)[0], module(X, X)[0])
    assert torch.equal(module(X[0], module.remember(X[0]))[0], module(X[0], X[0])[0])
    each = torch.arange(5).expand(2, 5)
    assert torch.equal(module.remember(X, key_positions=each).key, memory.key)
    assert torch.equal(module(X, positions=each, key_positions=each)[0], module(X)[0])
    with pytest.raises(kind, match="^" + message):
        call(module, memory)


def test_module_under_autocast():
    module = MultiHeadAttention(8, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, _ = module(X)
        other, _ = module(X, need_weights=True)
    assert output.dtype == torch.bfloat16
    torch.testing.assert_close(output, other, rtol=0, atol=0.05)


SCORES = torch.randn(2, 5, 7)
BAD_ATTEND = [
    ((SCORES.long(), X), TypeError, "scores: se esperaba un tensor de coma flotante"),
    ((SCORES[0, 0], X), ValueError, "scores: se esperaban al menos dos ejes"),
    (
        (SCORES, X),
        ValueError,
        r"value: se esperaba un valor por clave.*\(2, 7\); llegó .*\(2, 5, 8\)",
    ),
    ((SCORES, X[:1]), ValueError, "value: se esperaba un valor por clave"),
    ((SCORES[..., :5], X.double()), TypeError, "value: se esperaba float32, como scores"),
    ((SCORES[..., :5], X, torch.ones(5, 5)), TypeError, "mask: se esperaba una máscara booleana"),
    ((SCORES[..., :5], X, torch.ones(4, 5).bool()), ValueError, "mask: .*que se difunda"),
    ((SCORES,), TypeError, r"attend\(\) missing 1 .*: 'value'"),
]


@pytest.mark.parametrize(("args", "kind", "message"), BAD_ATTEND)
def test_bad_attend(shape_checks, args, kind, message):
    with pytest.raises(kind, match="^" + message):
        attend(*args)


def test_attend_takes_no_certain_dropout(shape_checks):
    with pytest.raises(ValueError, match="^dropout: "):
        attend(SCORES[..., :5], X, dropout=1.0)


@given(problem=problems())
def test_attend_finishes_any_scores(problem):
    (batch, n, m, d, d_value, dtype), mask = problem
    query, key, value = qkv(batch, n, m, d, d_value, dtype)
    full = None if mask is None else mask.expand(*batch, n, m)
    ours = attend(similarity.gaussian(query, key), value, mask)[0]
    scores = similarity.gaussian(query, key)
    added = scores if full is None else scores.masked_fill(~full, -float("inf"))
    zeros = torch.zeros_like(query), torch.zeros_like(key)
    theirs = F.scaled_dot_product_attention(*zeros, value, attn_mask=added)
    same_with_gradients(ours, theirs, [query, key, value])


# --- La puerta, una vez y barata ------------------------------------------------------------------


@st.composite
def arguments(draw):
    """Tres argumentos que a veces casan y a veces no."""
    shapes_ = [(2, 3, 4), (2, 3, 4), (3, 4), (4,), (2, 5, 4), (1, 3, 4)]
    kinds = [F32, F32, F32, F64, torch.long]
    made = []
    for _ in range(3):
        tensor = torch.ones(draw(st.sampled_from(shapes_))).to(draw(st.sampled_from(kinds)))
        tensor = tensor.to("meta") if draw(st.integers(0, 9)) == 0 else tensor
        made.append(None if draw(st.integers(0, 19)) == 0 else tensor)
    return made if draw(st.booleans()) else [made[0]] * 3


@given(inputs=arguments())
def test_the_short_check_never_lets_in_what_the_long_one_rejects(inputs):
    if checks._alike(*inputs):
        checks._require_inputs(*inputs)


@BOTH
@pytest.mark.parametrize("masked", [False, True])
def test_arguments_are_validated_once_a_call(monkeypatch, form, masked):
    calls = []
    for name in ("_alike", "_require_mask", "require_probability"):
        real = getattr(checks, name)

        def count(*args, real=real, label=name, **kwargs):
            calls.append(label)
            return real(*args, **kwargs)

        monkeypatch.setattr(checks, name, count)
    mask = masks.causal_mask(5) if masked else None
    form(X, X, X, mask)
    assert sorted(calls) == ["_alike"] + ["_require_mask"] * masked + ["require_probability"]
    module = MultiHeadAttention(8, 2)
    for need_weights in (False, True):
        calls.clear()
        module(X, mask=mask, need_weights=need_weights)
        assert sorted(calls) == ["_alike"] + ["_require_mask"] * masked
