"""El modelo recurrente: igual a sus piezas rehechas, ciego al relleno, y lo que rechaza."""

from dataclasses import FrozenInstanceError, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento import shapes, similarity
from atento.models import recurrent as rec
from atento.models.seq2seq import Seq2SeqConfig

F64 = torch.float64
VARIANTS = [(cell, attention) for cell in rec.CELLS for attention in (True, False)]


def close(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=1e-9)


def config(cell="gru", attention=True, **changes):
    return rec.RecurrentConfig(
        11, 13, d_model=6, d_hidden=8, d_attention=5, cell=cell, attention=attention, **changes
    )


def model(cell="gru", attention=True, **changes):
    return rec.RecurrentSeq2Seq(config(cell, attention, **changes)).double().eval()


def sentences(*rows):
    width = max(map(len, rows))
    return torch.tensor([list(row) + [0] * (width - len(row)) for row in rows])


def test_config_is_frozen_and_checked():
    with pytest.raises(FrozenInstanceError):
        config().d_model = 3
    with pytest.raises(ValueError, match="cell: se esperaba una de rnn, lstm, gru; llegó 'cnn'"):
        config("cnn")
    with pytest.raises(ValueError, match="d_hidden: se esperaba un número par"):
        replace(config(), d_hidden=7)
    with pytest.raises(ValueError, match="d_model"):
        replace(config(), d_model=0)


@pytest.mark.parametrize("cell", rec.CELLS)
def test_same_number_of_parameters_without_attention(cell):
    attending = rec.RecurrentConfig(300, 200, 64, 96, 64, cell)
    plain = rec.without_attention(attending)
    a, b = (rec.count_parameters(rec.RecurrentSeq2Seq(c)) for c in (attending, plain))
    assert not plain.attention and abs(a - b) / a < 0.01


@pytest.mark.parametrize(("cell", "attention"), VARIANTS)
def test_step_by_step_equals_forward(cell, attention, shape_checks):
    net = model(cell, attention)
    source, target = sentences([3, 4, 5, 2], [6, 7, 2]), torch.tensor([[1, 4, 5], [1, 9, 3]])
    logits, weights = net(source, target)
    state = net.encode(source)
    for t in range(3):
        step, state = net.step(target[:, : t + 1], state)
        close(step, logits[:, t])
        if attention:
            close(state.weights, weights[:, t])
        else:
            assert state.weights is None and weights is None


@pytest.mark.parametrize("attention", [True, False])
def test_encoder_and_decoder_equal_ours_unrolled(attention):
    """El modelo entero, rehecho con nuestras celdas GRU y la similitud aditiva de la biblioteca."""
    net = model("gru", attention)
    source, target = sentences([3, 4, 5, 2], [6, 7, 2]), torch.tensor([[1, 4, 5], [1, 9, 3]])
    valid, x = source != 0, net.encoder.embedding(source)
    weights = net.encoder.recurrent.state_dict()
    cells = [rec.GRUCell(6, 4).double() for _ in range(2)]
    for cell, suffix in zip(cells, ("_l0", "_l0_reverse"), strict=True):
        cell.load_state_dict({key: weights[key + suffix] for key in cell.state_dict()})
    rows, last = [], []
    for i, n in enumerate(valid.sum(-1).tolist()):
        forth, end = rec.unroll(cells[0], x[i : i + 1, :n])
        back, start = rec.unroll(cells[1], x[i : i + 1, :n].flip(1))
        rows.append(torch.cat([forth, back.flip(1)], -1)[0])
        last.append(torch.cat([end, start], -1)[0])
    states, summary = nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.stack(last)
    decoder = net.decoder
    cell = rec.GRUCell(6 + 8, 8).double()
    cell.load_state_dict(decoder.cell.state_dict())
    h, y, logits = torch.tanh(decoder.start(summary)), decoder.embedding(target), []
    for t in range(3):
        context = summary
        if attention:
            a = decoder.attention
            scores = similarity.additive(h[:, None], states, w_q=a.w_q, w_k=a.w_k, v=a.v)[:, 0]
            p = scores.masked_fill(~valid, -torch.inf).softmax(-1)
            context = (p[:, None] @ states)[:, 0]
        h = cell(torch.cat([y[:, t], context], -1), h)
        logits.append(decoder.logits(h, context, y[:, t]))
    close(net(source, target)[0], torch.stack(logits, 1))


def test_attention_shortcut_equals_the_library(shape_checks):
    attention = rec.AdditiveAttention(8, 6, 5).double()
    states, query = torch.randn(2, 4, 6, dtype=F64), torch.randn(2, 8, dtype=F64)
    valid = torch.tensor([[True, True, True, False], [True, False, False, False]])
    memory = rec.Memory(states, attention.project(states), valid, states[:, 0])
    context, weights = attention(query, memory)
    by_library = attention.scores(query, states).masked_fill(~valid, -torch.inf).softmax(-1)
    close(weights, by_library)
    close(weights.sum(-1), torch.ones(2, dtype=F64))
    assert (weights[~valid] == 0).all()
    close(context, torch.einsum("bk,bkd->bd", weights, states))


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    extra=st.integers(0, 4),
    seed=st.integers(0, 1000),
    variant=st.sampled_from(VARIANTS),
)
def test_padding_never_changes_a_result(lengths, extra, seed, variant):
    """Cada frase sola da lo mismo que en un lote: salidas, pesos, traducción y pérdida."""
    torch.manual_seed(seed)
    net = model(*variant)
    rows = [torch.randint(2, 11, (n,)).tolist() for n in lengths]
    source = torch.nn.functional.pad(sentences(*rows), (0, extra))
    targets = [[1, *torch.randint(3, 13, (n,)).tolist(), 2] for n in lengths]
    target = torch.nn.functional.pad(sentences(*targets), (0, extra))
    logits, weights = net(source, target)
    translation = net.translate(source, max_length=7)
    total, count = 0.0, 0
    for i, (row, words) in enumerate(zip(rows, targets, strict=True)):
        alone, own_target = torch.tensor([row]), torch.tensor([words])
        single, single_weights = net(alone, own_target)
        close(logits[i, : len(words)], single[0])
        if variant[1]:
            close(weights[i, : len(words), : len(row)], single_weights[0])
            assert (weights[i, :, len(row) :] == 0).all()
        own = net.translate(alone, max_length=7)[0]
        assert translation[i, : len(own)].tolist() == own.tolist()
        assert (translation[i, len(own) :] == 0).all()
        total += rec.translation_loss(net, (alone, own_target)) * (len(words) - 1)
        count += len(words) - 1
    close(rec.translation_loss(net, (source, target)), total / count)


@pytest.mark.parametrize(("cell", "attention"), VARIANTS)
def test_padding_gets_no_gradient(cell, attention):
    net = model(cell, attention)
    gradients = []
    for source, target in (
        (torch.tensor([[3, 4, 2]]), torch.tensor([[1, 5, 2]])),
        (torch.tensor([[3, 4, 2, 0, 0]]), torch.tensor([[1, 5, 2, 0]])),
    ):
        net.zero_grad()
        rec.translation_loss(net, (source, target)).backward()
        gradients.append([p.grad.clone() for p in net.parameters()])
    for a, b in zip(*gradients, strict=True):
        close(a, b)


def test_source_errors():
    net = model()
    with pytest.raises(TypeError, match="source: se esperaba un tensor de enteros"):
        net.encode(torch.randn(2, 3))
    with pytest.raises(ValueError, match=r"source: se esperaba la forma \(batch, source\)"):
        net.encode(torch.tensor([3, 4]))
    with pytest.raises(ValueError, match="frases vacías"):
        net.encode(torch.tensor([[3, 4], [0, 0]]))
    with pytest.raises(ValueError, match="source: .*el relleno al final"):
        net.encode(torch.tensor([[3, 0, 4]]))
    with pytest.raises(TypeError, match="target: se esperaba un tensor de enteros"):
        net(torch.tensor([[3, 2]]), torch.randn(1, 2))
    with shapes.checked(), pytest.raises(ValueError, match="target: el eje «batch»"):
        net(torch.tensor([[3, 2]]), torch.tensor([[1], [1]]))


def test_translate_restores_training_mode():
    net = model(dropout=0.5).train()
    a, b = (net.translate(torch.tensor([[3, 4, 2]]), max_length=5) for _ in range(2))
    assert net.training and a.tolist() == b.tolist()


@pytest.mark.parametrize("attention", [True, False])
def test_learns_to_copy_one_word(attention, device):
    """Cincuenta pasos bastan para que la pérdida baje mucho: el gradiente llega a todas partes."""
    net = rec.RecurrentSeq2Seq(config(attention=attention)).to(device)
    source = torch.randint(3, 11, (64, 2), device=device)
    target = torch.cat(
        [torch.ones_like(source[:, :1]), source, torch.full_like(source[:, :1], 2)], 1
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        loss = rec.translation_loss(net, (source, target))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


IDS = torch.tensor([[3, 4, 2]])
BAD_MODEL = [
    (
        lambda net: net.encode(IDS + 20),
        ValueError,
        "source: se esperaban números entre 0 y 10; llegó 24",
    ),
    (lambda net: net.encode(IDS - 9), ValueError, "source: se esperaban números .*llegó -7"),
    (lambda net: net.encode(IDS[:0]), ValueError, "source: se esperaba al menos una frase"),
    (lambda net: net.encode(IDS[:, :0]), ValueError, "source: .*source ≥ 1"),
    (lambda net: net.encode(IDS.short()), TypeError, "source: se esperaba int64; llegó int16"),
    (lambda net: net(IDS, IDS[0]), ValueError, r"target: se esperaba la forma \(batch, target\)"),
    (lambda net: net(IDS, IDS[:, :0]), ValueError, "target: .*target ≥ 1"),
    (lambda net: net(IDS, IDS.repeat(2, 1)), ValueError, "target: el eje «batch» mide 2"),
    (lambda net: net(IDS, IDS + 12), ValueError, "target: se esperaban números entre 0 y 12"),
    (lambda net: net(IDS), TypeError, ".* missing 1 .*: 'target'"),
    (
        lambda net: net.step(IDS, None),
        TypeError,
        "state: se esperaba el estado que devuelve encode",
    ),
    (lambda net: net.step(IDS.repeat(2, 1), net.encode(IDS)), ValueError, "ids: el eje «batch»"),
    (
        lambda net: net.step(IDS.float(), net.encode(IDS)),
        TypeError,
        "ids: se esperaba un tensor de enteros",
    ),
    (lambda net: net.translate(IDS.float()), TypeError, "source: se esperaba un tensor de enteros"),
    (lambda net: net.translate([3, 4]), TypeError, "source: se esperaba un tensor de PyTorch"),
    (lambda net: net.translate(IDS, max_length=0), ValueError, "max_length: "),
    (lambda net: rec.translation_loss(net, IDS), TypeError, r"batch: se esperaba la pareja"),
    (
        lambda net: rec.translation_loss(net, (IDS, IDS[:, :1])),
        ValueError,
        "target: .*dos columnas",
    ),
    (
        lambda net: rec.RecurrentSeq2Seq(3),
        TypeError,
        "config: se esperaba la configuración .*llegó int",
    ),
    (lambda net: config(dropout=1.0), ValueError, r"dropout: .*\[0, 1\)"),
    (lambda net: config(eos_id=13), ValueError, "eos_id: .*menor que el vocabulario, 13; llegó 13"),
    (lambda net: config(pad_id=-1), ValueError, "pad_id: .*mayor o igual que 0"),
    (lambda net: net([[3, 4]], IDS), TypeError, "source: se esperaba un tensor"),
    (
        lambda net: rec.translation_loss(net, (IDS, torch.tensor([[1, 13]]))),  # el último no entra
        ValueError,
        "target: .*llegó 13",
    ),
    (lambda net: rec.translation_loss(net, (IDS, IDS, IDS)), TypeError, "batch: se esperaba"),
    (
        lambda net: rec.RecurrentSeq2Seq(Seq2SeqConfig(9)),
        TypeError,
        "config: se esperaba la configuración .*llegó Seq2SeqConfig",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD_MODEL)
def test_no_raw_error_at_the_doors(shape_checks, call, kind, message):
    with pytest.raises(kind, match="^" + message):
        call(model())


def test_translate_leaves_each_module_in_its_mode():
    net = model(dropout=0.5).train()
    net.encoder.dropout.eval()
    net.translate(IDS, max_length=2)
    assert net.training and net.decoder.training and not net.encoder.dropout.training
    with pytest.raises(TypeError):
        net.translate(IDS.float())
    assert net.training and not net.encoder.dropout.training


def test_a_sentence_of_padding_only_has_no_weights():
    """La guarda de las filas tapadas vale también aquí: 0, sin NaN hacia delante ni hacia atrás."""
    attention = rec.AdditiveAttention(8, 6, 5).double()
    states, query = torch.randn(2, 4, 6, dtype=F64), torch.randn(2, 8, dtype=F64)
    valid = torch.tensor([[True, True, False, False], [False] * 4])
    context, weights = attention(
        query, rec.Memory(states, attention.project(states), valid, states)
    )
    assert (context[1] == 0).all() and (weights[1] == 0).all()
    (context.sum() + weights.square().sum()).backward()
    assert all(p.grad.isfinite().all() for p in attention.parameters())


def test_the_edges_are_allowed():
    config(pad_id=0, bos_id=11, eos_id=12)
    net = model()
    assert rec.translation_loss(net, (IDS[:, :1], torch.tensor([[0, 12]]))).isfinite()
    assert net.encode(torch.tensor([[10, 3]])).memory.states.shape[1] == 2
