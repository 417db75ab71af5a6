import io
import math
import os
import random
import subprocess
import sys
from functools import partial

import _two_processes as pair
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler

from atento import training
from atento.models.seq2seq import seq2seq_loss
from atento.training import checkpoint, evaluate, fit, warmup_cosine
from atento.training.progress import interactive


def network(dropout=0.3):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Dropout(dropout), nn.Linear(16, 1))


def data(n=7, size=8):
    generator = torch.Generator().manual_seed(2)
    xs = [torch.randn(size, 3, generator=generator) for _ in range(n)]
    return [(x, x.sum(-1, keepdim=True)) for x in xs]


def squared(model, batch):
    return (model(batch[0]) - batch[1]).square().mean()


def adam(parameters):
    return torch.optim.AdamW(parameters, lr=0.02)


def test_learns_and_records():
    model = network(0.0)
    history = fit(
        model, data(), squared, steps=60, optimizer=adam, schedule=warmup_cosine(60, warmup=10)
    )
    assert history.steps == len(history.rate) == len(history.gradient_norm) == 60
    assert history.loss[-1] < 0.2 * history.loss[0]
    assert history.rate[0] == pytest.approx(0.002) and max(history.rate) == pytest.approx(0.02)
    assert history.rate[-1] < 1e-4 and history.seconds > 0


def test_same_seed_same_curve():
    curves = []
    for _ in range(2):
        model = network()
        torch.manual_seed(5)
        curves.append(fit(model, data(), squared, steps=20, optimizer=adam).loss)
    assert curves[0] == curves[1]


@pytest.mark.parametrize("kind", ["lista", "función", "iterable"])
def test_resume_gives_the_identical_curve(tmp_path, kind):
    """Con abandono (que gasta azar), calendario y AdamW, la curva reanudada es la misma."""
    rows = data()

    class Loader:
        def __iter__(self):
            return iter(rows)

    batches = {"lista": rows, "función": lambda step: rows[step % len(rows)], "iterable": Loader()}[
        kind
    ]
    arguments = {"steps": 30, "optimizer": adam, "schedule": warmup_cosine(30, warmup=5)}
    measure = evaluate(
        lambda model: {"norma": sum(p.norm() for p in model.parameters()).item()}, every=4
    )
    torch.manual_seed(7)
    whole_model = network()
    whole = fit(whole_model, batches, squared, callbacks=[measure], **arguments)

    class Cut(Exception):
        pass

    def cut(state):
        if state.step == 17:
            raise Cut

    path = tmp_path / "nueva" / "a.pt"
    torch.manual_seed(7)
    with pytest.raises(Cut):
        fit(
            network(),
            batches,
            squared,
            callbacks=[checkpoint(path, every=8), measure, cut],
            **arguments,
        )
    resumed_model = network()
    torch.manual_seed(99)
    resumed = fit(resumed_model, batches, squared, callbacks=[measure], resume=path, **arguments)
    assert resumed.loss == whole.loss
    assert resumed.rate == whole.rate and resumed.gradient_norm == whole.gradient_norm
    assert resumed.metrics == whole.metrics
    for a, b in zip(resumed_model.parameters(), whole_model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_resume_without_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="resume: no existe"):
        fit(network(), data(), squared, steps=2, resume=tmp_path / "no.pt")


@pytest.mark.parametrize("batches", [[], iter([]), (x for x in ())])
def test_empty_data(batches):
    with pytest.raises(ValueError, match="^batches: está vacío"):
        fit(network(), batches, squared, steps=2)


def test_data_runs_out():
    with pytest.raises(ValueError, match="se acabó en el paso 4 de 9"):
        fit(network(), iter(data(3)), squared, steps=9)


def test_nan_loss_says_where_and_keeps_the_last_good_state():
    model, rows = network(0.0), data(5)
    rows[3] = (rows[3][0] * math.nan, rows[3][1])
    good = []
    with pytest.raises(
        training.TrainingDiverged, match=r"nan en el paso 4\. Prueba a bajar la tasa"
    ) as caught:
        fit(
            model,
            rows,
            squared,
            steps=9,
            optimizer=adam,
            callbacks=[lambda s: good.append([p.detach().clone() for p in s.model.parameters()])],
        )
    assert caught.value.step == 4 and caught.value.history.steps == 3
    assert all(torch.isfinite(p).all() for p in model.parameters())
    for kept, expected in zip(model.parameters(), good[1], strict=True):
        assert torch.equal(
            kept, expected
        )  # los del paso 2 dieron la última pérdida finita, la del 3


def test_explosion_keeps_finite_weights():
    model = network(0.0)
    with pytest.raises(training.TrainingDiverged):
        fit(
            model,
            data(),
            squared,
            steps=200,
            clip=None,
            optimizer=lambda p: torch.optim.SGD(p, lr=1e6),
        )
    assert all(torch.isfinite(p).all() for p in model.parameters())
    assert math.isfinite(squared(model, data()[0]).item())


def test_infinite_gradient():
    def loss(model, batch):
        return model(batch[0]).abs().mul(0).sum().sqrt()  # vale 0 y su gradiente no existe

    with pytest.raises(training.TrainingDiverged, match="gradiente no es finito en el paso 1"):
        fit(network(0.0), data(), loss, steps=2)


def test_clip():
    shifts = []
    for clip in (None, 1e-3):
        model = network(0.0)
        before = [p.detach().clone() for p in model.parameters()]
        history = fit(
            model,
            data(),
            squared,
            steps=1,
            clip=clip,
            optimizer=lambda p: torch.optim.SGD(p, lr=1.0),
        )
        shift = (
            sum((a - b).square().sum() for a, b in zip(model.parameters(), before, strict=True))
            .sqrt()
            .item()
        )
        shifts.append((shift, history.gradient_norm[0]))
    assert shifts[0][0] == pytest.approx(shifts[0][1], rel=1e-4)
    assert shifts[1][0] == pytest.approx(1e-3, rel=1e-3) and shifts[1][1] == pytest.approx(
        shifts[0][1]
    )


def test_time_guard_only_raises():
    with pytest.raises(training.TrainingTimeout, match="de 1000: sube seconds") as caught:
        fit(network(), data(), squared, steps=1000, seconds=1e-6)
    assert caught.value.step == 1 and caught.value.history.steps == 1
    assert fit(network(), data(), squared, steps=3, seconds=600.0).steps == 3


def test_evaluate_without_gradient_and_in_eval_mode():
    seen = []

    def measure(model):
        seen.append((model.training, torch.is_grad_enabled()))
        return {"acierto": 1.0}

    model = network()
    history = fit(model, data(), squared, steps=7, callbacks=[evaluate(measure, every=3)])
    assert seen == [(False, False)] * 3 and model.training
    assert (
        history.metrics["acierto"] == [(3, 1.0), (6, 1.0), (7, 1.0)]
        and history.last("acierto") == 1.0
    )
    with pytest.raises(KeyError, match="acierto"):
        history.last("otra")


def test_schedule_shape():
    schedule = warmup_cosine(100, warmup=10, final=0.1)
    values = [schedule(step) for step in range(101)]
    assert values[0] == pytest.approx(0.1) and values[9] == values[10] == 1.0
    assert values[100] == pytest.approx(0.1) and values[55] == pytest.approx(0.55)
    assert all(a >= b for a, b in zip(values[10:], values[11:], strict=False))
    with pytest.raises(ValueError, match="warmup"):
        warmup_cosine(10, warmup=11)


def test_bad_arguments():
    with pytest.raises(ValueError, match="steps"):
        fit(network(), data(), squared, steps=0)
    with pytest.raises(ValueError, match="seconds"):
        fit(network(), data(), squared, steps=1, seconds=-1.0)
    with pytest.raises(
        ValueError, match=r"loss: .* un escalar; devolvió un tensor de forma \(8, 1\)"
    ):
        fit(network(), data(), lambda model, batch: model(batch[0]), steps=1)
    with pytest.raises(TypeError, match="^optimizer: .*devolvió int"):
        fit(network(), data(), squared, steps=1, optimizer=lambda parameters: 3)
    with pytest.raises(ValueError, match="^model: se esperaban parámetros"):
        fit(nn.Tanh(), data(), squared, steps=1)


def test_bar_silent_unless_someone_looks(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("ATENTO_PROGRESS", raising=False)
    fit(network(), data(), squared, steps=3)
    assert stream.getvalue() == ""
    fit(network(), data(), squared, steps=3, progress=True)
    assert "Entrenando" in stream.getvalue()


@pytest.mark.parametrize(("environment", "shown"), [("0", False), ("1", True)])
def test_bar_forced_by_environment(monkeypatch, environment, shown):
    monkeypatch.setenv("ATENTO_PROGRESS", environment)
    assert interactive() is shown


def test_checkpoint_is_never_left_half_written(tmp_path):
    path = tmp_path / "a.pt"
    fit(network(), data(), squared, steps=4, callbacks=[checkpoint(path, every=3)])
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]
    assert torch.load(path, weights_only=True)["step"] == 4


def test_continue_past_the_end(tmp_path):
    """Reanudar con más pasos sigue donde quedó."""
    path = tmp_path / "a.pt"
    fit(
        network(0.0),
        data(),
        squared,
        steps=4,
        optimizer=adam,
        callbacks=[checkpoint(path, every=4)],
    )
    longer = fit(network(0.0), data(), squared, steps=9, optimizer=adam, resume=path)
    assert longer.loss == fit(network(0.0), data(), squared, steps=9, optimizer=adam).loss


@pytest.mark.parametrize("clip", [0, 0.0, -1.0, math.inf, math.nan])
def test_clip_must_be_positive(clip):
    with pytest.raises(ValueError, match="^clip: se esperaba un número finito mayor que 0"):
        fit(network(), data(), squared, steps=1, clip=clip)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"clip": "1"}, TypeError, "clip: se esperaba un número; llegó str"),
        ({"model": 3}, TypeError, "model: se esperaba un nn.Module; llegó int"),
        ({"loss": None}, TypeError, "loss: se esperaba una función"),
        ({"batches": 3}, TypeError, "batches: se esperaba una lista"),
        ({"optimizer": 3}, TypeError, "optimizer: se esperaba un optimizador"),
        ({"schedule": 3}, TypeError, "schedule: se esperaba una función del paso, o None; lleg"),
        ({"loss": lambda m, b: 3.0}, ValueError, "loss: .* un escalar; devolvió float"),
        ({"generators": (x for x in ())}, TypeError, "generators: se esperaba una lista"),
        (
            {"loss": lambda m, b: squared(m, b).detach()},
            ValueError,
            "loss: se esperaba un escalar con gradiente",
        ),
    ],
)
def test_other_bad_arguments(change, kind, message):
    arguments = {"model": network(), "batches": data(), "loss": squared, "steps": 2} | change
    with pytest.raises(kind, match="^" + message):
        fit(**arguments)


# --- Reanudar desde datos que se barajan ----------------------------------------------------------


class PythonShuffle:
    """Se baraja en cada vuelta con ``random`` y le pone ruido de NumPy."""

    def __iter__(self):
        rows = data()
        random.shuffle(rows)
        return ((x + float(np.random.rand()), y) for x, y in rows)


def pairs():
    return [pair for x, y in data() for pair in zip(x, y, strict=True)]


SHUFFLED = {
    "azar global": lambda: DataLoader(pairs(), batch_size=8, shuffle=True),
    "generador propio": lambda: DataLoader(
        pairs(), batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(3)
    ),
    "muestreador": lambda: DataLoader(
        pairs(),
        batch_size=8,
        sampler=RandomSampler(pairs(), True, 40, generator=torch.Generator().manual_seed(4)),
    ),
    "lote sorteado": lambda: DataLoader(
        pairs(), batch_size=8, shuffle=True, collate_fn=noisy, drop_last=True
    ),
    "random y NumPy": PythonShuffle,
}


def noisy(rows):
    x, y = (torch.stack(column) for column in zip(*rows, strict=True))
    return x + 0.1 * torch.randn_like(x), y


@pytest.mark.parametrize("kind", SHUFFLED)
@pytest.mark.parametrize("cut", [5, 7, 14, 17])
def test_resume_from_shuffled_data_number_by_number(tmp_path, kind, cut):
    """Se corta en medio de una vuelta y al final de la primera y la segunda (de 7 lotes)."""
    from atento import rng

    path, arguments = tmp_path / "a.pt", {"steps": 25, "optimizer": adam}
    rng.seed_all(7)
    whole_model = network()
    whole = fit(whole_model, SHUFFLED[kind](), squared, **arguments)
    rng.seed_all(7)
    first = arguments | {"steps": cut}
    fit(network(), SHUFFLED[kind](), squared, callbacks=[checkpoint(path, every=99)], **first)
    rng.seed_all(1234)
    resumed_model = network()
    resumed = fit(resumed_model, SHUFFLED[kind](), squared, resume=path, **arguments)
    assert resumed.loss == whole.loss and resumed.gradient_norm == whole.gradient_norm
    for a, b in zip(resumed_model.parameters(), whole_model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert len(set(whole.loss[:7])) == 7  # de verdad pasan lotes distintos


def test_resume_from_a_single_use_iterator(tmp_path):
    path, rows = tmp_path / "a.pt", data(9)
    whole = fit(network(0.0), iter(rows), squared, steps=9, optimizer=adam)
    keep = {"callbacks": [checkpoint(path, every=4)], "optimizer": adam}
    fit(network(0.0), iter(rows), squared, steps=4, **keep)
    resumed = fit(network(0.0), iter(rows), squared, steps=9, optimizer=adam, resume=path)
    assert resumed.loss == whole.loss


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.pt"
    fit(network(), data(), squared, steps=2, callbacks=[checkpoint(path, every=2)])
    return path


def refused(path, message, model=None, **options):
    model = model or network()
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(ValueError, match=message):
        fit(model, data(), squared, steps=3, resume=path, **options)
    for a, b in zip(model.parameters(), before, strict=True):
        assert torch.equal(a, b)  # un fichero que no vale no deja el modelo a medias


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_damaged_checkpoint(saved, keep):
    content = saved.read_bytes()
    saved.write_bytes(content[: keep if keep >= 1 or keep == 0 else int(len(content) * keep)])
    refused(saved, "^resume: .*a.pt no se puede leer")


def test_foreign_checkpoint(saved):
    saved.write_text("hola", encoding="utf-8")
    refused(saved, "^resume: .*no se puede leer")
    torch.save(network().state_dict(), saved)
    refused(saved, "^resume: se esperaba un fichero guardado por checkpoint")
    torch.save([1, 2], saved)
    refused(saved, "^resume: se esperaba un fichero guardado por checkpoint")
    torch.save(network(), saved)
    refused(saved, "^resume: .*no se puede leer")


def test_checkpoint_of_another_model(saved):
    wider = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 1))
    refused(saved, "^model: .*mide distinto 0.bias, 0.weight, 3.weight", model=wider)
    refused(saved, "^model: .*no tiene 3.bias, 3.weight", model=nn.Sequential(nn.Linear(3, 16)))
    more = nn.Sequential(*network(), nn.Linear(1, 1))
    refused(saved, "^model: .*tiene de más 4.bias, 4.weight", model=more)

    def two_groups(parameters):
        first, *rest = parameters
        return torch.optim.AdamW([{"params": [first]}, {"params": rest}])

    refused(saved, "^optimizer: se esperaba el mismo que guardó", optimizer=two_groups)


def test_evaluation_leaves_each_module_in_its_mode():
    """Una capa congelada a propósito sigue congelada, también si la evaluación falla."""
    model = network()
    model.train()
    model[2].eval()
    with training.evaluating(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model] == [True, True, False, True] and model.training
    with pytest.raises(ZeroDivisionError), training.evaluating(model):
        1 / 0  # noqa: B018
    assert [module.training for module in model] == [True, True, False, True]

    def freeze(state):
        state.model[2].eval()

    fit(model, data(), squared, steps=3, callbacks=[freeze, evaluate(lambda m: {}, every=1)])
    assert [module.training for module in model] == [True, True, False, True]


# --- La pérdida, los grupos y los demás calendarios -----------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("pad_id", [None, 0, 3, -100])
def test_cross_entropy_equals_pytorch_with_gradients(smoothing, pad_id, shape_checks):
    logits = (torch.randn(4, 5, 7, dtype=torch.float64) * 3).requires_grad_()
    labels = torch.randint(0, 7, (4, 5))
    if pad_id is not None:
        labels[1, 2:] = pad_id
    ours = training.cross_entropy(logits, labels, pad_id=pad_id, smoothing=smoothing)
    theirs = nn.functional.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=-1 if pad_id is None else pad_id,
        label_smoothing=smoothing,
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    pair = [torch.autograd.grad(loss, logits)[0] for loss in (ours, theirs)]
    torch.testing.assert_close(*pair, rtol=0, atol=1e-12)


def test_cross_entropy_of_nothing_is_zero():
    logits = torch.randn(2, 3, 5, requires_grad=True)
    loss = training.cross_entropy(logits, torch.zeros(2, 3, dtype=torch.long), pad_id=0)
    loss.backward()
    assert loss == 0 and (logits.grad == 0).all()


def test_cross_entropy_of_a_uniform_guess_is_the_logarithm():
    labels = torch.tensor([1, 2, 0])
    for smoothing in (0.0, 0.3):
        loss = training.cross_entropy(torch.zeros(3, 4), labels, smoothing=smoothing)
        assert loss.item() == pytest.approx(math.log(4))


@pytest.mark.parametrize(
    ("error", "message", "labels", "options"),
    [
        (TypeError, "labels: se esperaba un tensor de enteros", torch.ones(2), {}),
        (ValueError, "labels: se esperaba una palabra por fila", torch.ones(2, 1).long(), {}),
        (ValueError, "labels: se esperaban números entre 0 y 4; llegó 5", torch.tensor([5, 0]), {}),
        (ValueError, "labels: .* llegó -1", torch.tensor([-1, 0]), {"pad_id": 0}),
        (ValueError, "smoothing: ", torch.tensor([1, 2]), {"smoothing": 1.0}),
        (TypeError, "pad_id: ", torch.tensor([1, 2]), {"pad_id": 0.5}),
    ],
)
def test_cross_entropy_names_what_is_wrong(error, message, labels, options):
    with pytest.raises(error, match=message):
        training.cross_entropy(torch.randn(2, 5), labels, **options)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "logits: .*coma flotante", lambda: training.cross_entropy(
            torch.ones(2, 5).long(), torch.tensor([1, 0]))),
        (ValueError, "labels: se esperaba una palabra por fila", lambda: training.cross_entropy(
            torch.tensor(1.0), torch.tensor(0))),
        (TypeError, "weight_decay: se esperaba un número", lambda: training.parameter_groups(
            nn.Linear(1, 1), weight_decay="0")),
        (TypeError, "model: .* con configuración; llegó Linear", lambda: seq2seq_loss(
            nn.Linear(1, 1), (torch.ones(1, 2).long(),) * 2)),
    ],
)  # fmt: skip
def test_the_pieces_of_training_name_what_is_wrong(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_only_matrices_decay():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5), nn.LayerNorm(5))
    model[1].weight = model[0].weight  # compartida
    model[2].bias.requires_grad_(False)
    groups = training.parameter_groups(model, weight_decay=0.5)
    assert [len(group["params"]) for group in groups] == [1, 2]
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    torch.optim.AdamW(groups, lr=0.1).step()
    for name, p in model.named_parameters():
        expected = before[name] * (0.95 if p.ndim == 2 else 1)  # 1 - 0.1 · 0.5, una sola vez
        torch.testing.assert_close(p.detach(), expected)
    with pytest.raises(TypeError, match="model: se esperaba un nn.Module"):
        training.parameter_groups([1])
    with pytest.raises(ValueError, match="weight_decay: se esperaba un número mayor o igual"):
        training.parameter_groups(model, weight_decay=-0.1)


def test_each_group_keeps_its_own_rate():
    model = network(0.0)
    groups = training.parameter_groups(model)
    groups[1]["lr"] = 0.5
    optimizer = torch.optim.AdamW(groups, lr=0.1)
    fit(model, data(), squared, steps=2, optimizer=optimizer, schedule=lambda step: 0.1)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.01, 0.05])


def test_noam_peaks_where_the_paper_says():
    for width, peak in ((512, 6.988e-4), (1024, 4.941e-4)):
        rate = training.noam(width)
        values = [rate(step) for step in range(12_000)]
        assert values.index(max(values)) == 3999
        assert max(values) == pytest.approx((width * 4000) ** -0.5) == pytest.approx(peak, rel=1e-4)
        assert values[0] == pytest.approx(max(values) / 4000)
        assert values[11_999] == pytest.approx(max(values) / 3**0.5)


def test_warmup_stable_decay_shape():
    schedule = training.warmup_stable_decay(100, warmup=10, decay=0.2, final=0.1)
    values = [schedule(step) for step in range(105)]
    assert values[0] == pytest.approx(0.1) and values[4] == pytest.approx(0.5)
    assert set(values[9:80]) == {1.0} and values[80] < 1
    assert values[99] == values[104] == pytest.approx(0.1)
    drops = [a - b for a, b in zip(values[79:99], values[80:100], strict=True)]
    assert drops == pytest.approx([0.9 / 20] * 20)
    assert training.warmup_stable_decay(10, warmup=0, decay=0.0)(9) == 1.0


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("d_model: ", lambda: training.noam(0)),
        ("warmup: ", lambda: training.noam(8, warmup=0)),
        ("warmup: ", lambda: training.warmup_stable_decay(10, warmup=11)),
        ("decay: ", lambda: training.warmup_stable_decay(10, warmup=5, decay=0.8)),
        ("decay: ", lambda: training.warmup_stable_decay(10, warmup=5, decay=-0.1)),
        ("decay: ", lambda: training.warmup_stable_decay(10, warmup=0, decay=1.01)),
        ("decay: ", lambda: training.warmup_stable_decay(10, warmup=5, decay="mucho")),
    ],
)
def test_schedules_name_what_is_wrong(message, call):
    with pytest.raises((TypeError, ValueError), match=f"^{message}se esperaba"):
        call()


# --- Los calendarios, frente a los de PyTorch -----------------------------------------------------


def test_schedules_take_their_limits_and_their_usual_numbers():
    usual = {
        training.noam(8): training.noam(8, warmup=4000),
        warmup_cosine(500): warmup_cosine(500, warmup=100, final=0.0),
        training.warmup_stable_decay(500): training.warmup_stable_decay(
            500, warmup=100, decay=0.2, final=0.0
        ),
    }
    steps = [*range(0, 500, 7), 98, 99, 100, 101, 499, 500, 501, 3999, 4000, 4001]
    for mine, told in usual.items():
        assert [mine(step) for step in steps] == [told(step) for step in steps]
    for schedule in (warmup_cosine, training.warmup_stable_decay):
        rising = schedule(10, warmup=10, **({"decay": 0} if schedule != warmup_cosine else {}))
        assert [rising(step) for step in range(10)] == pytest.approx([i / 10 for i in range(1, 11)])
    falling = training.warmup_stable_decay(10, warmup=0, decay=1)
    assert [falling(step) for step in range(12)] == pytest.approx(
        [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0, 0, 0]
    )
    training.warmup_stable_decay(10, warmup=8, decay=0.2)


def rates(scheduler, optimizer, steps):
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize(("steps", "warmup", "final"), [(50, 10, 0.0), (30, 1, 0.2), (20, 0, 0.5)])
def test_warmup_cosine_equals_pytorch(steps, warmup, final):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    up = []
    if warmup:
        up = [torch.optim.lr_scheduler.LinearLR(optimizer, 1 / warmup, 1, warmup - 1)]
    down = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps - warmup, final)
    chain = torch.optim.lr_scheduler.SequentialLR(optimizer, [*up, down], [warmup][: len(up)])
    ours = [warmup_cosine(steps, warmup=warmup, final=final)(step) for step in range(steps)]
    assert ours == pytest.approx(rates(chain, optimizer, steps), abs=1e-12)


@pytest.mark.parametrize("decay", [0.1, 0.5])
def test_warmup_stable_decay_is_three_straight_lines(decay):
    steps, warmup, final = 200, 20, 0.05
    knots = [0, warmup - 1, steps - 1 - decay * steps, steps - 1]
    expected = np.interp(range(steps), knots, [1 / warmup, 1, 1, final])
    schedule = training.warmup_stable_decay(steps, warmup=warmup, decay=decay, final=final)
    assert [schedule(step) for step in range(steps)] == pytest.approx(expected)


def test_noam_equals_pytorch():
    d_model, warmup, steps = 64, 30, 100
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    factor = lambda s: 64**-0.5 * min((s + 1) ** -0.5, (s + 1) * 30**-1.5)  # noqa: E731
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    rows = fit(
        network(),
        data(),
        squared,
        steps=steps,
        optimizer=lambda p: torch.optim.SGD(p, lr=1.0),
        schedule=training.noam(d_model, warmup=warmup),
    ).rate
    assert rows == pytest.approx(rates(scheduler, optimizer, steps))


def test_cross_entropy_of_16_bits_is_summed_in_32():
    logits, labels = torch.randn(4096, 50).bfloat16(), torch.randint(0, 50, (4096,))
    loss = training.cross_entropy(logits, labels)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, training.cross_entropy(logits.float(), labels))


# --- Acumular -------------------------------------------------------------------------------------


def plain(parameters):
    return torch.optim.SGD(parameters, lr=0.5, momentum=0.9)


def trained(lots, *, steps, **options):
    """Los parámetros y la curva de un Seq2Seq diminuto en 64 bits."""
    model = pair.tiny()
    options = {"optimizer": plain, **options}
    history = fit(model, lots, seq2seq_loss, steps=steps, **options)
    return torch.cat([p.detach().flatten() for p in model.parameters()]), history


def cut(lot, sizes):
    """El lote en trozos de esos tamaños, cada uno sin el relleno que le sobra."""
    pieces = zip(*(tensor.split(sizes) for tensor in lot), strict=True)
    widest = [[int((t != 0).sum(1).max()) for t in piece] for piece in pieces]
    pieces = zip(*(tensor.split(sizes) for tensor in lot), strict=True)
    return [
        tuple(t[:, :n] for t, n in zip(piece, width, strict=True))
        for piece, width in zip(pieces, widest, strict=True)
    ]


@pytest.mark.parametrize("sizes", [(4, 4), (1, 7), (2, 2, 2, 2), (1,) * 8, (5, 1, 2)])
def test_accumulating_equals_the_big_batch(sizes):
    """Con frases de 1 a 9 palabras: pesos, pérdidas y normas, en cinco pasos."""
    whole, history = trained([pair.rows(step) for step in range(5)], steps=5)
    pieces = [piece for step in range(5) for piece in cut(pair.rows(step), sizes)]
    options = {"steps": 5, "accumulate": len(sizes)}
    mine, parts = trained(pieces, weight=pair.words, **options)
    torch.testing.assert_close(mine, whole, rtol=0, atol=1e-12)
    assert parts.loss == pytest.approx(history.loss, abs=1e-12)
    assert parts.gradient_norm == pytest.approx(history.gradient_norm, abs=1e-12)
    naive, _ = trained(pieces, weight=lambda batch: 1, **options)
    assert (naive - whole).abs().max() > 1e-3


def test_accumulating_in_32_bits():
    models = [pair.tiny().float() for _ in range(2)]
    lot, options = pair.rows(0), {"optimizer": plain, "steps": 1}
    fit(models[0], [lot], seq2seq_loss, **options)
    options |= {"accumulate": 4, "weight": pair.words}
    fit(models[1], cut(lot, (2, 2, 2, 2)), seq2seq_loss, **options)
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)


def test_smoothing_and_accumulating_together():
    smooth = partial(seq2seq_loss, smoothing=0.1)
    models = [pair.tiny() for _ in range(2)]
    lot, options = pair.rows(0), {"optimizer": plain, "steps": 1}
    fit(models[0], [lot], smooth, **options)
    fit(models[1], cut(lot, (3, 5)), smooth, accumulate=2, weight=pair.words, **options)
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_a_batch_of_padding_weighs_nothing():
    lot = pair.rows(0)
    nothing = torch.zeros_like(lot[0]), torch.zeros_like(lot[1])
    alone, _ = trained([lot], steps=1)
    options = {"steps": 1, "accumulate": 3, "weight": pair.words}
    together, history = trained([nothing, lot, nothing], **options)
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)
    empty, history = trained([nothing] * 3, **options)
    assert empty.isfinite().all() and history.loss == [0.0]


def test_more_padding_changes_no_step():
    wider = [tuple(nn.functional.pad(t, (0, 4)) for t in pair.rows(step)) for step in range(3)]
    mine, history = trained([pair.rows(step) for step in range(3)], steps=3)
    padded, curve = trained(wider, steps=3)
    torch.testing.assert_close(padded, mine, rtol=0, atol=1e-12)
    assert curve.loss == pytest.approx(history.loss, abs=1e-12)


@pytest.mark.parametrize("kind", ["lista", "función", "iterable"])
def test_batches_are_taken_in_order(kind):
    rows = list(range(12))
    batches = {"lista": rows, "función": lambda n: rows[n], "iterable": iter(rows)}[kind]
    seen = []

    def loss(model, batch):
        seen.append(batch)
        return model.weight.sum()

    fit(nn.Linear(1, 1), batches, loss, steps=4, accumulate=3, weight=lambda batch: 1)
    assert seen == rows
    with pytest.raises(ValueError, match="^batches: se acabó en el paso 4 de 9"):
        options = {"accumulate": 3, "weight": lambda batch: 1}
        fit(nn.Linear(1, 1), iter(rows[:11]), loss, steps=9, **options)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (ValueError, "weight: con accumulate = 2 se esperaba una función", {"accumulate": 2}),
        (ValueError, "accumulate: se esperaba un entero", {"accumulate": 0}),
        (TypeError, "accumulate: se esperaba un entero; llegó float", {"accumulate": 2.0}),
        (TypeError, "weight: se esperaba una función del lote; llegó int", {"weight": 3}),
        (TypeError, "weight: .*un número; devolvió str", {"weight": lambda b: "3"}),
        (ValueError, "weight: .*mayor o igual que 0; devolvió -1", {"weight": lambda b: -1}),
        (ValueError, "weight: .*devolvió nan", {"weight": lambda b: torch.tensor(math.nan)}),
        (ValueError, "weight: .*devolvió inf", {"weight": lambda b: math.inf}),
        (TypeError, "weight: .*devolvió Tensor", {"weight": lambda b: torch.ones(2)}),
        (ValueError, "precision: se esperaba None, «bfloat16»", {"precision": "int8"}),
        (ValueError, "precision: «float16» se esperaba solo en CUDA", {"precision": "float16"}),
        (TypeError, "generators: se esperaba una lista", {"generators": [3]}),
        (TypeError, "generators: ", {"generators": torch.Generator()}),
    ],
)
def test_bad_ways_of_stepping_are_named(error, message, options):
    with pytest.raises(error, match="^" + message):
        fit(network(), data(), squared, steps=2, **options)


# --- 16 bits --------------------------------------------------------------------------------------


def test_16_bits_learn_the_same_within_two_per_cent(device):
    """Los pesos y el optimizador siguen en 32 bits; la curva se aparta menos de un 2 %."""
    curves = []
    names = ("bfloat16", "float16") if device.type == "cuda" else ("bfloat16",)
    for precision in (None, *names):
        model = pair.tiny().float().to(device)
        optimizer = lambda p: torch.optim.AdamW(p, lr=1e-2)  # noqa: E731
        options = {"optimizer": optimizer, "precision": precision}
        batch = lambda n: tuple(t.to(device) for t in pair.rows(n))  # noqa: E731
        curves.append(fit(model, batch, seq2seq_loss, steps=25, **options).loss)
        assert {p.dtype for p in model.parameters()} == {torch.float32}
    exact, *mixed = (torch.tensor(curve) for curve in curves)
    assert exact[-1] < 0.8 * exact[0]
    for curve in mixed:
        assert 0 < (curve / exact - 1).abs().max() < 0.02


def test_precision_wants_weights_of_32_bits():
    with pytest.raises(ValueError, match="^precision: con «bfloat16» se esperaba .*float64"):
        fit(pair.tiny(), pair.rows, seq2seq_loss, steps=1, precision="bfloat16")


@pytest.fixture
def float16_here(monkeypatch):
    """La escala de «float16», que de verdad solo se usa en CUDA, probada en esta CPU."""
    monkeypatch.setattr(training.precision, "_require_precision", lambda *arguments: None)


def test_float16_skips_the_step_that_overflows(float16_here):
    """El factor empieza en 2¹⁶: se pasa, baja a la mitad, y acaba aprendiendo como en 32 bits."""
    model, before, seen = network(0.0), [], []

    def big(model, batch):
        return 30 * squared(model, batch)

    def look(state):
        seen.append(torch.equal(before[-1], state.model[0].weight))
        before.append(state.model[0].weight.detach().clone())

    before.append(model[0].weight.detach().clone())
    history = fit(
        model, data(), big, steps=60, optimizer=adam, precision="float16", callbacks=[look]
    )
    skipped = [not math.isfinite(norm) for norm in history.gradient_norm]
    assert skipped == seen and 0 < sum(skipped) < 20 and not any(skipped[20:])
    assert history.loss[-1] < 0.2 * history.loss[0]
    assert all(p.isfinite().all() for p in model.parameters())


def test_float16_resumes_with_its_scale(float16_here, tmp_path):
    path, options = tmp_path / "a.pt", {"optimizer": adam, "precision": "float16"}
    whole = fit(network(0.0), data(), squared, steps=12, **options)
    fit(network(0.0), data(), squared, steps=6, callbacks=[checkpoint(path, every=6)], **options)
    assert torch.load(path, weights_only=True)["precision"]["scale"] <= 2**16
    resumed = fit(network(0.0), data(), squared, steps=12, resume=path, **options)
    assert resumed.loss == whole.loss and resumed.gradient_norm == whole.gradient_norm


def test_float16_that_never_fits_is_told(float16_here):
    def infinite(model, batch):
        return model(batch[0]).abs().mul(0).sum().sqrt()

    with pytest.raises(training.TrainingDiverged, match="gradiente no es finito en el paso 17"):
        fit(network(0.0), data(), infinite, steps=40, precision="float16")


# --- Reanudar, acumulando y con generadores propios -----------------------------------------------


@pytest.mark.parametrize("kind", SHUFFLED)
@pytest.mark.parametrize("cut_at", [3, 7])
def test_resume_while_accumulating(tmp_path, kind, cut_at):
    """Se corta con la vuelta, de 7 lotes, a medias, y los pasos son de dos."""
    from atento import rng

    path = tmp_path / "a.pt"
    options = {"optimizer": adam, "accumulate": 2, "weight": lambda batch: len(batch[0])}
    schedule = warmup_cosine(12, warmup=3)
    rng.seed_all(7)
    whole = fit(network(), SHUFFLED[kind](), squared, steps=12, schedule=schedule, **options)
    rng.seed_all(7)
    options |= {"schedule": schedule}
    keep = [checkpoint(path, every=99)]
    fit(network(), SHUFFLED[kind](), squared, steps=cut_at, callbacks=keep, **options)
    rng.seed_all(1234)
    resumed = fit(network(), SHUFFLED[kind](), squared, steps=12, resume=path, **options)
    assert resumed.loss == whole.loss and resumed.gradient_norm == whole.gradient_norm


def test_resume_with_a_generator_of_ones_own(tmp_path):
    """Una función de lotes que sortea con su generador: sin darlo, la curva sería otra."""
    path, curves = tmp_path / "a.pt", []
    for steps, known, extra in (
        (9, True, {}),
        (4, True, {"callbacks": [checkpoint(path, every=4)]}),
        (9, True, {"resume": path}),
    ):
        source = torch.Generator().manual_seed(5 if "resume" not in extra else 77)

        def batch(number, source=source):
            x = torch.randn(8, 3, generator=source)
            return x, x.sum(1, keepdim=True)

        generators = [source] if known else []
        options = {"optimizer": adam, "generators": generators, **extra}
        curves.append(fit(network(0.0), batch, squared, steps=steps, **options).loss)
    assert curves[2] == curves[0] and curves[1] == curves[0][:4]
    with pytest.raises(ValueError, match="^generators .*se esperaba 1, como al guardar"):
        fit(network(0.0), data(), squared, steps=9, resume=path)


def test_resume_another_way_of_accumulating(saved):
    options = {"accumulate": 2, "weight": lambda batch: 1}
    refused(saved, "^accumulate: se esperaba 1, como al guardar .*; llegó 2", **options)


def test_shared_shuffling_changes_every_turn_and_resumes(tmp_path):
    """Con DistributedSampler hay que decirle la vuelta, o repite siempre el mismo orden."""
    numbers = torch.arange(12.0)

    def loader():
        part = DistributedSampler(numbers, num_replicas=2, rank=1, shuffle=True, seed=3)
        return DataLoader(numbers, batch_size=2, sampler=part)

    def run(steps, **extra):
        seen = []

        def loss(model, batch):
            seen.append(batch.tolist())
            return model(batch[:, None]).square().mean()

        torch.manual_seed(0)
        return fit(nn.Linear(1, 1), loader(), loss, steps=steps, **extra).loss, seen

    whole, seen = run(9)
    assert len({str(seen[i : i + 3]) for i in (0, 3, 6)}) == 3
    path = tmp_path / "a.pt"
    run(5, callbacks=[checkpoint(path, every=5)])
    resumed, rest = run(9, resume=path)
    assert resumed == whole and rest == seen[5:]


def test_fewer_batches_than_when_it_was_saved(tmp_path):
    path, rows = tmp_path / "a.pt", data(9)
    fit(network(), iter(rows), squared, steps=6, callbacks=[checkpoint(path, every=6)])
    with pytest.raises(ValueError, match="^batches: se esperaban los mismos lotes"):
        fit(network(), iter(rows[:4]), squared, steps=9, resume=path)


# --- Envolturas -----------------------------------------------------------------------------------


def test_a_compiled_model_learns_the_same(tmp_path):
    """Y su fichero es el del modelo: lo reanuda también sin compilar."""
    torch.compiler.reset()
    plain_curve = trained(pair.rows, steps=3)[1].loss
    model, path = pair.tiny(), tmp_path / "a.pt"
    compiled = torch.compile(model, backend="aot_eager", dynamic=True)
    options = {"optimizer": plain, "callbacks": [checkpoint(path, every=2)]}
    curve = fit(compiled, pair.rows, seq2seq_loss, steps=2, **options).loss
    torch.compiler.reset()
    assert curve == pytest.approx(plain_curve[:2], abs=1e-9)
    assert training.unwrap(compiled) is model and training.unwrap(model) is model
    resumed = trained(pair.rows, steps=3, resume=path)[1].loss
    assert resumed == pytest.approx(plain_curve, abs=1e-9)


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    """Lo que dejan dos procesos que entrenan juntos (con gloo)."""
    folder = tmp_path_factory.mktemp("pareja")
    orders = [[sys.executable, pair.__file__, str(rank), str(folder)] for rank in range(2)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    started = [subprocess.Popen(order, env=environment) for order in orders]
    try:
        assert [process.wait(timeout=240) for process in started] == [0, 0]
    finally:
        for process in started:
            process.kill()
            process.wait(timeout=10)
    return [
        {**torch.load(folder / f"{rank}.pt"), "curves": torch.load(folder / f"curves-{rank}.pt")}
        for rank in range(2)
    ]


def test_two_processes_equal_one(two_processes):
    """Cuatro pasos de dos procesos con dos lotes cada uno: los de uno solo con las ocho frases."""
    model = pair.tiny()
    history = fit(model, pair.rows, seq2seq_loss, steps=4, optimizer=pair.sgd)
    for each in two_processes:
        assert each["loss"] == pytest.approx(history.loss, abs=1e-12)
        for name, tensor in model.state_dict().items():
            torch.testing.assert_close(each["model"][name], tensor, rtol=0, atol=1e-12)


def test_two_processes_resume(two_processes):
    first, second = (each["curves"] for each in two_processes)
    assert first == second  # la pérdida anotada es la de todos
    whole, half, resumed = first
    assert half == whole[:3] and resumed == whole
