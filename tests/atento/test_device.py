import pytest
import torch

from atento import device, masks, rng


def available(monkeypatch, *kinds):
    monkeypatch.setattr(device, "is_available", lambda kind: kind in kinds)


@pytest.mark.parametrize(
    ("kinds", "chosen"),
    [(("cpu",), "cpu"), (("cpu", "mps"), "mps"), (("cpu", "mps", "cuda"), "cuda")],
)
def test_prefers_cuda_then_mps_then_cpu(monkeypatch, kinds, chosen):
    monkeypatch.delenv("ATENTO_DEVICE", raising=False)
    available(monkeypatch, *kinds)
    assert device.pick() == torch.device(chosen)


@pytest.mark.parametrize("name", ["cpu", " CPU "])
def test_variable_forces_the_device(monkeypatch, name):
    monkeypatch.setenv("ATENTO_DEVICE", name)
    available(monkeypatch, "cpu", "mps", "cuda")
    assert device.pick() == torch.device("cpu")


def test_empty_variable_is_no_variable(monkeypatch):
    monkeypatch.setenv("ATENTO_DEVICE", "")
    available(monkeypatch, "cpu")
    assert device.pick() == torch.device("cpu")


@pytest.mark.parametrize("name", ["gpu", "tpu", "cuda:", "cuda:x", "cuda:-1"])
def test_unknown_device_says_which_and_the_cure(monkeypatch, name):
    monkeypatch.setenv("ATENTO_DEVICE", name)
    with pytest.raises(ValueError, match="ATENTO_DEVICE.*se esperaba.*cuda, mps, cpu") as error:
        device.pick()
    assert name in str(error.value) and "ATENTO_DEVICE=cpu" in str(error.value)


def test_missing_device_says_the_cure(monkeypatch):
    available(monkeypatch, "cpu")
    monkeypatch.setenv("ATENTO_DEVICE", "cuda")
    with pytest.raises(RuntimeError, match="no lo encuentra.*ATENTO_DEVICE=cpu"):
        device.pick()


def test_card_index_is_checked(monkeypatch):
    available(monkeypatch, "cpu", "cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("ATENTO_DEVICE", "cuda:1")
    assert device.pick() == torch.device("cuda:1")
    monkeypatch.setenv("ATENTO_DEVICE", "cuda:2")
    with pytest.raises(RuntimeError, match="cuda:2"):
        device.pick()


def test_cpu_is_always_available():
    assert device.is_available("cpu") and not device.is_available("tpu")


@pytest.mark.parametrize(
    "call",
    [
        lambda name: device.require_device(name),
        lambda name: rng.generator(0, device=name),
        lambda name: masks.causal_mask(3, device=name),
    ],
)
def test_unknown_device_is_told_in_spanish(call):
    with pytest.raises(ValueError, match="^device: se esperaba un dispositivo .*llegó «gpu»"):
        call("gpu")
    with pytest.raises(TypeError, match="^device: se esperaba un dispositivo.*llegó float"):
        call(1.5)
    call("cpu")
    call(torch.device("cpu"))


def test_masks_know_where_they_are():
    assert masks.causal_mask(2, device="meta").is_meta and not masks.causal_mask(2).is_meta
