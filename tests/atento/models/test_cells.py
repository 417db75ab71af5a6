"""Las celdas frente a las de PyTorch, y lo que rechazan."""

import pytest
import torch
from torch import nn

from atento.models import cells, recurrent

F64 = torch.float64
FUSED_CELLS = {"rnn": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}
FUSED = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def close(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=1e-9)


def flat(state):
    return state if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize("name", cells.CELLS)
def test_cell_equals_pytorch(name, shape_checks):
    ours, theirs = cells.CELLS[name](5, 7).double(), FUSED_CELLS[name](5, 7).double()
    ours.load_state_dict(theirs.state_dict())
    results = []
    for cell in (ours, theirs):
        x = torch.linspace(-2, 2, 15, dtype=F64).reshape(3, 5).requires_grad_()
        state = torch.linspace(-1, 1, 21, dtype=F64).reshape(3, 7).requires_grad_()
        out = flat(cell(x, (state, state * 2) if name == "lstm" else state))
        sum((o * torch.arange(7)).sum() for o in out).backward()
        results.append([*out, x.grad, state.grad, *(p.grad for p in cell.parameters())])
    for a, b in zip(*results, strict=True):
        close(a, b)


@pytest.mark.parametrize("name", cells.CELLS)
def test_cell_starts_from_zero(name):
    cell, x = cells.CELLS[name](5, 7), torch.randn(3, 5)
    for a, b in zip(flat(cell(x)), flat(cell(x, cell.initial(x))), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", cells.CELLS)
def test_unroll_equals_pytorch_with_padding(name):
    theirs = FUSED[name](5, 7, batch_first=True).double()
    ours = cells.CELLS[name](5, 7).double()
    ours.load_state_dict(
        {key.removesuffix("_l0"): value for key, value in theirs.state_dict().items()}
    )
    lengths = torch.tensor([4, 6, 1])
    valid = torch.arange(6) < lengths[:, None]
    results = []
    for fused in (False, True):
        x = torch.linspace(-1, 1, 90, dtype=F64).reshape(3, 6, 5).requires_grad_()
        if fused:
            packed = nn.utils.rnn.pack_padded_sequence(
                x, lengths, batch_first=True, enforce_sorted=False
            )
            out, last = theirs(packed)
            out = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0]
            last = tuple(part[0] for part in flat(last))
        else:
            out, last = cells.unroll(ours, x, valid)
            last = flat(last)
        out.square().sum().backward()
        grads = [p.grad for p in (theirs if fused else ours).parameters()]
        results.append([out, *last, x.grad, *grads])
    for a, b in zip(*results, strict=True):
        close(a, b)


def test_cell_rejects_wrong_width():
    with pytest.raises(
        ValueError, match=r"x: se esperaba la forma \(batch, d_input=5\); llegó \(3, 4\)"
    ):
        cells.GRUCell(5, 7)(torch.randn(3, 4))
    with pytest.raises(TypeError, match="x: se esperaba un tensor"):
        cells.GRUCell(5, 7)([1.0])
    with pytest.raises(ValueError, match=r"^x: .*\(batch, d_input=5\); llegó \(3, 4\)"):
        cells.LSTMCell(5, 7)(torch.randn(3, 4))
    with pytest.raises(TypeError, match="^x: se esperaba float32, como los pesos"):
        cells.GRUCell(5, 7)(torch.randn(3, 5).double())
    with pytest.raises(ValueError, match="time ≥ 1"):
        cells.unroll(cells.GRUCell(5, 7), torch.randn(3, 0, 5))


def test_recurrent_offers_the_cells():
    assert recurrent.CELLS is cells.CELLS and recurrent.unroll is cells.unroll


X, H = torch.randn(3, 5), torch.randn(3, 7)
BAD_STATES = [
    ("gru", (H, H), TypeError, "state: se esperaba un tensor; llegó un par"),
    (
        "rnn",
        H[:1],
        ValueError,
        r"state: se esperaba la forma \(batch=3, d_hidden=7\); llegó \(1, 7\)",
    ),
    ("rnn", H[:, :6], ValueError, r"state: .*llegó \(3, 6\)"),
    ("gru", H[0], ValueError, r"state: .*llegó \(7,\)"),
    ("gru", H.double(), TypeError, "state: se esperaba float32, como x; llegó float64"),
    ("rnn", 0.0, TypeError, "state: se esperaba un tensor de PyTorch; llegó float"),
    (
        "lstm",
        H,
        TypeError,
        r"state: se esperaba el par \(h, c\); llegó un tensor de forma \(3, 7\)",
    ),
    ("lstm", torch.stack([H, H]), TypeError, r"state: se esperaba el par .*\(2, 3, 7\)"),
    ("lstm", (H,), TypeError, r"state: se esperaba el par \(h, c\); llegó tuple"),
    ("lstm", (H, H[:1]), ValueError, r"state\[1\]: .*llegó \(1, 7\)"),
    ("lstm", (H[:1], H), ValueError, r"state\[0\]: .*llegó \(1, 7\)"),
    ("lstm", (H, H.double()), TypeError, r"state\[1\]: se esperaba float32, como x"),
]


@pytest.mark.parametrize(("name", "state", "kind", "message"), BAD_STATES)
def test_wrong_state_is_an_error_not_a_wrong_number(shape_checks, name, state, kind, message):
    with pytest.raises(kind, match="^" + message):
        cells.CELLS[name](5, 7)(X, state)


GRU = cells.GRUCell(5, 7)
BAD_UNROLL = [
    ((nn.GRUCell(5, 7), X[None]), TypeError, "cell: se esperaba una celda de atento"),
    ((GRU, X), ValueError, r"x: se esperaba la forma \(batch, time ≥ 1, d_input=5\)"),
    ((GRU, X[None, :, :4]), ValueError, r"x: se esperaba la forma .*llegó \(1, 3, 4\)"),
    ((GRU, X[None].double()), TypeError, "x: se esperaba float32, como los pesos; llegó float64"),
    ((GRU, X[None].long()), TypeError, "x: se esperaba un tensor de coma flotante"),
    ((GRU, X[None], torch.ones(1, 3)), TypeError, "valid: se esperaba una máscara booleana"),
    ((GRU, X[None], torch.ones(3).bool()), ValueError, r"valid: .*\(1, 3\); llegó \(3,\)"),
    ((GRU, X[None], torch.ones(1, 4).bool()), ValueError, r"valid: .*llegó \(1, 4\)"),
    ((GRU,), TypeError, r"unroll\(\) missing 1 .*: 'x'"),
]


@pytest.mark.parametrize(("args", "kind", "message"), BAD_UNROLL)
def test_bad_unroll(shape_checks, args, kind, message):
    with pytest.raises(kind, match="^" + message):
        cells.unroll(*args)


@pytest.mark.parametrize(
    ("args", "kwargs", "kind", "message"),
    [
        ((5,), {}, TypeError, ".* missing 1 .*: 'd_hidden'"),
        ((5, 0), {}, ValueError, "d_hidden: se esperaba un entero mayor o igual que 1"),
        ((0, 5), {}, ValueError, "d_input: se esperaba un entero mayor o igual que 1"),
        ((), {"input_size": 5}, TypeError, "input_size: así se llama en PyTorch; .*d_input"),
    ],
)
def test_bad_sizes(args, kwargs, kind, message):
    with pytest.raises(kind, match="^" + message):
        cells.LSTMCell(*args, **kwargs)


def test_unroll_takes_any_cell_with_the_same_face():
    class Sum(cells.RNNCell):
        def forward(self, x, state):
            return state + x

    states, last = cells.unroll(Sum(2, 2), torch.ones(1, 3, 2))
    assert states[0, :, 0].tolist() == [1.0, 2.0, 3.0] and torch.equal(states[:, -1], last)
