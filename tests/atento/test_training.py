import io
import math
import sys

import pytest
import torch
from torch import nn

from atento import training
from atento.training import checkpoint, evaluate, fit, warmup_cosine


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
    history = fit(model, data(), squared, steps=60, optimizer=adam, schedule=warmup_cosine(60, warmup=10))
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
    """Con abandono (que gasta azar), calendario y momentos de AdamW: la curva reanudada es la misma, número a número."""
    rows = data()

    class Loader:
        def __iter__(self):
            return iter(rows)

    batches = {"lista": rows, "función": lambda step: rows[step % len(rows)], "iterable": Loader()}[kind]
    arguments = {"steps": 30, "optimizer": adam, "schedule": warmup_cosine(30, warmup=5)}
    measure = evaluate(lambda model: {"norma": sum(p.norm() for p in model.parameters()).item()}, every=4)
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
        fit(network(), batches, squared, callbacks=[checkpoint(path, every=8), measure, cut], **arguments)
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
    with pytest.raises(ValueError, match="batches está vacío"):
        fit(network(), batches, squared, steps=2)


def test_data_runs_out():
    with pytest.raises(ValueError, match="se acabó en el paso 4 de 9"):
        fit(network(), iter(data(3)), squared, steps=9)


def test_nan_loss_says_where_and_keeps_the_last_good_state():
    model, rows = network(0.0), data(5)
    rows[3] = (rows[3][0] * math.nan, rows[3][1])
    good = []
    with pytest.raises(training.TrainingDiverged, match=r"nan en el paso 4\. Prueba a bajar la tasa") as caught:
        fit(model, rows, squared, steps=9, optimizer=adam,
            callbacks=[lambda s: good.append([p.detach().clone() for p in s.model.parameters()])])
    assert caught.value.step == 4 and caught.value.history.steps == 3
    assert all(torch.isfinite(p).all() for p in model.parameters())
    for kept, expected in zip(model.parameters(), good[1], strict=True):
        assert torch.equal(kept, expected)  # los del paso 2 dieron la última pérdida finita, la del 3


def test_explosion_keeps_finite_weights():
    model = network(0.0)
    with pytest.raises(training.TrainingDiverged):
        fit(model, data(), squared, steps=200, clip=None, optimizer=lambda p: torch.optim.SGD(p, lr=1e6))
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
        history = fit(model, data(), squared, steps=1, clip=clip, optimizer=lambda p: torch.optim.SGD(p, lr=1.0))
        shift = sum((a - b).square().sum() for a, b in zip(model.parameters(), before, strict=True)).sqrt().item()
        shifts.append((shift, history.gradient_norm[0]))
    assert shifts[0][0] == pytest.approx(shifts[0][1], rel=1e-4)
    assert shifts[1][0] == pytest.approx(1e-3, rel=1e-3) and shifts[1][1] == pytest.approx(shifts[0][1])


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
    assert history.metrics["acierto"] == [(3, 1.0), (6, 1.0), (7, 1.0)] and history.last("acierto") == 1.0
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
    with pytest.raises(ValueError, match=r"loss: debe devolver un escalar; llegó un tensor de forma \(8, 1\)"):
        fit(network(), data(), lambda model, batch: model(batch[0]), steps=1)
    with pytest.raises(TypeError, match="optimizer"):
        fit(network(), data(), squared, steps=1, optimizer=lambda parameters: 3)
    with pytest.raises(ValueError, match="no tiene parámetros"):
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
    assert training._interactive() is shown


def test_checkpoint_is_never_left_half_written(tmp_path):
    path = tmp_path / "a.pt"
    fit(network(), data(), squared, steps=4, callbacks=[checkpoint(path, every=3)])
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]
    assert torch.load(path, weights_only=True)["step"] == 4


def test_continue_past_the_end(tmp_path):
    """Reanudar con más pasos sigue donde quedó."""
    path = tmp_path / "a.pt"
    fit(network(0.0), data(), squared, steps=4, optimizer=adam, callbacks=[checkpoint(path, every=4)])
    longer = fit(network(0.0), data(), squared, steps=9, optimizer=adam, resume=path)
    assert longer.loss == fit(network(0.0), data(), squared, steps=9, optimizer=adam).loss
