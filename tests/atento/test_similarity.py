import inspect
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import similarity

F64 = torch.float64
NAMES = ("dot", "scaled_dot", "bilinear", "additive", "gaussian")


def parameters(name, d, hidden=5, **kind):
    if name == "bilinear":
        return {"weight": torch.randn(d, d, **kind)}
    if name == "additive":
        w_q, w_k = torch.randn(2, d, hidden, **kind)
        return {"w_q": w_q, "w_k": w_k, "v": torch.randn(hidden, **kind)}
    return {"gaussian": {"bandwidth": 0.7}, "scaled_dot": {"scale": 0.3}}.get(name, {})


def by_hand(name, q, k, weight=None, w_q=None, w_k=None, v=None, bandwidth=1.0, scale=None):
    """La puntuación de un solo par, con bucles y números de Python."""
    q, k = q.tolist(), k.tolist()
    if name == "dot":
        return sum(a * b for a, b in zip(q, k, strict=True))
    if name == "scaled_dot":
        return by_hand("dot", torch.tensor(q), torch.tensor(k)) * (scale or len(q) ** -0.5)
    if name == "bilinear":
        w = weight.tolist()
        return sum(q[i] * w[i][j] * k[j] for i in range(len(q)) for j in range(len(k)))
    if name == "gaussian":
        return -sum((a - b) ** 2 for a, b in zip(q, k, strict=True)) / (2 * bandwidth**2)
    hidden = [
        math.tanh(
            sum(q[i] * w_q[i, h].item() for i in range(len(q)))
            + sum(k[i] * w_k[i, h].item() for i in range(len(k)))
        )
        for h in range(len(v))
    ]
    return sum(a * b.item() for a, b in zip(hidden, v, strict=True))


@pytest.mark.parametrize("name", NAMES)
@given(n=st.integers(1, 4), m=st.integers(1, 4), d=st.integers(1, 5))
def test_every_pair_equals_the_double_loop(name, n, m, d):
    query, key = torch.randn(n, d, dtype=F64), torch.randn(m, d, dtype=F64)
    params = parameters(name, d, dtype=F64)
    scores = similarity.get(name)(query, key, **params)
    torch.set_default_dtype(F64)
    try:
        expected = torch.tensor([[by_hand(name, q, k, **params) for k in key] for q in query])
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(scores, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_batches_shapes_and_gradients(shape_checks, device, name, batch):
    query = torch.randn(*batch, 4, 6, device=device, requires_grad=True)
    key = torch.randn(*batch, 5, 6, device=device, requires_grad=True)
    scores = similarity.get(name)(query, key, **parameters(name, 6, device=device))
    assert scores.shape == (*batch, 4, 5)
    scores.sum().backward()
    assert query.grad.isfinite().all() and key.grad.isfinite().all()


@pytest.mark.parametrize("name", ["bilinear", "additive"])
def test_query_and_key_may_differ_in_width(shape_checks, name):
    query, key = torch.randn(2, 4, 6), torch.randn(2, 5, 3)
    params = {"weight": torch.randn(6, 3)}
    if name == "additive":
        params = {"w_q": torch.randn(6, 7), "w_k": torch.randn(3, 7), "v": torch.randn(7)}
    assert similarity.get(name)(query, key, **params).shape == (2, 4, 5)


def test_scaled_dot_has_unit_variance():
    query, key = torch.randn(2, 400, 64)
    assert abs(similarity.scaled_dot(query, key).var().item() - 1) < 0.1
    assert similarity.dot(query, key).var().item() > 50


def test_gaussian_peaks_at_zero_distance():
    x = torch.randn(5, 3)
    scores = similarity.gaussian(x, x)
    assert scores.diagonal().abs().max() == 0 and (scores <= 0).all()
    wide = similarity.gaussian(x, x, bandwidth=2.0)
    torch.testing.assert_close(scores, wide * 4)


def test_get_knows_the_five():
    for name in NAMES:
        assert similarity.get(name) is getattr(similarity, name)
        assert list(inspect.signature(similarity.get(name)).parameters)[:2] == ["query", "key"]


@pytest.mark.parametrize("name", ["cosine", "", None])
def test_get_unknown_lists_the_valid_ones(name):
    with pytest.raises(ValueError, match="name: se esperaba una de " + ", ".join(NAMES)):
        similarity.get(name)


X = torch.randn(2, 4, 6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("query", "key", "kind", "message"),
    [
        (X.long(), X, TypeError, "query: se esperaba un tensor de coma flotante"),
        (X, X.long(), TypeError, "key: se esperaba un tensor de coma flotante"),
        (X, X.double(), TypeError, "key: se esperaba float32, como query"),
        (
            X,
            X[:1],
            ValueError,
            r"key: se esperaban los ejes de lote de query, \(2,\); llegaron \(1,\)",
        ),
        (
            X,
            X[0],
            ValueError,
            r"key: se esperaban los ejes de lote de query, \(2,\); llegaron \(\)",
        ),
        (X, X[0, 0], ValueError, r"key: se esperaba la forma .*llegó \(6,\)"),
        (X[0, 0], X, ValueError, "query: se esperaba la forma"),
        (None, X, TypeError, "query: se esperaba un tensor"),
    ],
)
def test_bad_pairs(shape_checks, name, query, key, kind, message):
    with pytest.raises(kind, match="^" + message):
        similarity.get(name)(query, key, **parameters(name, 6))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: similarity.dot(X, X[..., :5]), ValueError, "key: el eje «d_head» mide 5"),
        (lambda: similarity.gaussian(X, X, bandwidth=0.0), ValueError, "bandwidth: "),
        (lambda: similarity.scaled_dot(X, X, scale=-1.0), ValueError, "scale: "),
        (lambda: similarity.scaled_dot(X, X, scale="1"), TypeError, "scale: "),
        (
            lambda: similarity.bilinear(X, X, weight=torch.ones(6, 5)),
            ValueError,
            r"weight: se esperaba la forma \(d_query=6, d_key=6\); llegó \(6, 5\)",
        ),
        (lambda: similarity.bilinear(X, X), TypeError, ".* missing 1 .*: 'weight'"),
        (
            lambda: similarity.bilinear(X, X, weight=torch.ones(6, 6).double()),
            TypeError,
            "weight: se esperaba float32, como query; llegó float64",
        ),
        (
            lambda: similarity.additive(
                X, X, w_q=torch.ones(6, 3), w_k=torch.ones(6, 3), v=torch.ones(3).half()
            ),
            TypeError,
            "v: se esperaba float32, como query; llegó float16",
        ),
        (
            lambda: similarity.additive(
                X, X, w_q=torch.ones(6, 3), w_k=torch.ones(6, 4), v=torch.ones(3)
            ),
            ValueError,
            r"w_k: se esperaba la forma \(d_key=6, d_hidden=3\)",
        ),
        (
            lambda: similarity.additive(
                X, X, w_q=torch.ones(6, 3), w_k=torch.ones(6, 3), v=torch.ones(3, 1)
            ),
            ValueError,
            r"v: se esperaba la forma \(d_hidden=3\)",
        ),
        (lambda: similarity.scaled_dot(X, X[..., :5]), ValueError, "key: el eje «d_head» mide 5"),
        (lambda: similarity.gaussian(X, X[..., :5]), ValueError, "key: el eje «d_head» mide 5"),
        (lambda: similarity.gaussian(X, X, bandwidth="1"), TypeError, "bandwidth: "),
        (
            lambda: similarity.bilinear(X, X, weight=torch.ones(6, 6).long()),
            TypeError,
            "weight: se esperaba un tensor de coma flotante",
        ),
        (
            lambda: similarity.additive(
                X, X, w_q=torch.ones(5, 3), w_k=torch.ones(6, 3), v=torch.ones(3)
            ),
            ValueError,
            r"w_q: se esperaba la forma \(d_query=6, d_hidden\); llegó \(5, 3\)",
        ),
        (
            lambda: similarity.additive(
                X, X, w_q=torch.ones(6, 3), w_k=torch.ones(6, 3).half(), v=torch.ones(3)
            ),
            TypeError,
            "w_k: se esperaba float32, como query; llegó float16",
        ),
    ],
)
def test_bad_parameters(shape_checks, call, kind, message):
    with pytest.raises(kind, match="^" + message):
        call()
