"""Sonido: igual a scipy, a PyTorch y a lo que usa transformers, y lo que dicen los teoremas."""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
import scipy.signal
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import audio, rng

F64 = torch.float64
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
RATE, SIZE, HOP = 16_000, 400, 160


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, torch.as_tensor(theirs), rtol=0, atol=tolerance)


def noise(*shape, seed=0, dtype=F64):
    return torch.randn(*shape, generator=rng.generator(seed), dtype=dtype)


# --- Muestrear ------------------------------------------------------------------------------------


@given(frequency=st.integers(-40_000, 40_000), rate=st.sampled_from([1_000, 8_000, 11_025]))
def test_a_tone_and_its_alias_have_the_same_samples(frequency, rate):
    heard = audio.alias(frequency, rate)
    assert 0 <= heard <= rate / 2
    one = audio.tone(frequency, 0.02, rate, dtype=F64)
    close(audio.tone(heard, 0.02, rate, dtype=F64), one, 1e-8)
    assert len(one) == round(0.02 * rate)


def test_the_fold_is_where_shannon_says():
    found = [audio.alias(f, 8_000) for f in (3_000, 4_000, 5_000, 8_000, 9_000, 13_000)]
    assert found == [3_000, 4_000, 3_000, 0, 1_000, 3_000]


@given(n=st.integers(3, 60), factor=st.integers(1, 5), seed=st.integers(0, 99))
def test_decimating_equals_scipy(n, factor, seed):
    odd = 2 * n + 1  # con un número impar no hay frecuencia justo en la mitad
    signal = noise(2, odd * factor, seed=seed)
    close(audio.decimate(signal, factor), scipy.signal.resample(signal.numpy(), odd, axis=-1))
    assert torch.equal(audio.decimate(signal, factor, filtered=False), signal[:, ::factor])


def test_without_the_filter_a_high_tone_is_heard_low():
    rate, high = 16_000, 7_000
    signal = audio.tone(high, 0.5, rate, dtype=F64)
    raw, clean = (audio.decimate(signal, 2, filtered=f) for f in (False, True))
    peak = (
        torch.fft.rfft(raw).abs().argmax().item() / 0.5
    )  # con medio segundo, un hercio son media columna
    assert peak == audio.alias(high, rate / 2) == 1_000
    assert clean.abs().max() < 1e-9


# --- Fourier --------------------------------------------------------------------------------------


@given(n=st.integers(1, 40), seed=st.integers(0, 99), dtype=st.sampled_from([*TOLERANCE]))
def test_the_sum_is_the_fast_transform(n, seed, dtype):
    signal = noise(2, n, seed=seed, dtype=dtype)
    close(audio.dft(signal), torch.fft.fft(signal), 10 * TOLERANCE[dtype])
    close(audio.dft(signal[0]).abs().square().sum() / n, signal[0].square().sum(), 1e-3)


@given(name=st.sampled_from(audio.WINDOWS), size=st.integers(1, 50), periodic=st.booleans())
def test_windows_equal_scipy(name, size, periodic):
    theirs = {"rectangular": "boxcar"}.get(name, name)
    expected = scipy.signal.get_window(theirs, size, fftbins=periodic)
    close(audio.window(name, size, periodic=periodic, dtype=F64), expected)


@given(
    n=st.integers(21, 90),
    size=st.integers(2, 20),
    hop=st.integers(1, 9),
    weights=st.sampled_from(audio.WINDOWS),
    center=st.booleans(),
    dtype=st.sampled_from([*TOLERANCE]),
)
def test_stft_equals_torch_and_scipy(n, size, hop, weights, center, dtype):
    signal = noise(2, n, seed=n, dtype=dtype)
    shape = audio.window(weights, size, dtype=dtype)
    ours = audio.stft(signal, size, hop, weights=weights, center=center)
    options = {"window": shape, "center": center, "pad_mode": "reflect", "return_complex": True}
    close(ours, torch.stft(signal, size, hop, **options).mT, 10 * TOLERANCE[dtype])
    if not center and hop <= size:
        given = {"window": shape.numpy(), "nperseg": size, "noverlap": size - hop}
        plain = {"boundary": None, "padded": False, "detrend": False, "scaling": "spectrum"}
        theirs = scipy.signal.stft(signal.numpy(), **given, **plain)[2]
        close(ours, theirs.swapaxes(1, 2) * shape.sum().item(), 10 * TOLERANCE[dtype])


def test_frames_are_the_loop():
    signal = torch.arange(10.0)
    assert audio.frames(signal, 4, 3, center=False).tolist() == [
        [0, 1, 2, 3],
        [3, 4, 5, 6],
        [6, 7, 8, 9],
    ]
    assert audio.frames(signal, 4, 3)[:2].tolist() == [[2, 1, 0, 1], [1, 2, 3, 4]]


@given(
    n=st.integers(12, 40),
    size=st.sampled_from([4, 6, 8]),
    weights=st.sampled_from(["hann", "hamming", "rectangular"]),
    seed=st.integers(0, 99),
)
def test_there_and_back(n, size, weights, seed):
    signal, hop = noise(2, 3, n, seed=seed), size // 2
    back = audio.istft(audio.stft(signal, size, hop, weights=weights), size, hop, weights=weights)
    close(back, signal[..., : back.shape[-1]])
    assert back.shape[-1] == n // hop * hop
    loose = torch.complex(
        noise(9, size // 2 + 1, seed=seed), noise(9, size // 2 + 1, seed=seed + 1)
    )
    shape = audio.window(weights, size, dtype=F64)
    theirs = torch.istft(loose.mT, size, hop, window=shape)
    close(audio.istft(loose, size, hop, weights=weights), theirs)


def test_the_columns_are_frequencies():
    at = audio.bins(SIZE, RATE)
    assert at[0] == 0 and at[-1] == RATE / 2 and len(at) == SIZE // 2 + 1
    loud = audio.stft(audio.tone(1_000, 0.2, RATE), SIZE, HOP).abs().mean(dim=0)
    assert at[loud.argmax()] == 1_000


@pytest.mark.parametrize("span", [None, 20.0])
def test_decibels_equal_transformers(span):
    from transformers.audio_utils import power_to_db

    power = noise(5, 7).square()
    expected = power_to_db(power.numpy(), reference=2.0, min_value=1e-10, db_range=span)
    close(audio.decibels(power, reference=2.0, span=span), expected)
    assert audio.decibels(torch.tensor([1.0, 10.0, 100.0, 0.0])).tolist() == [0, 10, 20, -100]


# --- La escala mel --------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", audio.MEL_SCALES)
def test_mel_equals_transformers_and_comes_back(scale):
    from transformers.audio_utils import hertz_to_mel

    hertz = torch.linspace(0, 20_000, 501, dtype=F64)
    mels = audio.to_mel(hertz, scale=scale)
    close(mels, hertz_to_mel(hertz.numpy().copy(), mel_scale=scale))
    close(audio.to_hertz(mels, scale=scale), hertz, 1e-8)
    assert (mels.diff() > 0).all() and (mels.diff().diff() < 1e-9).all()


def test_the_ear_tells_five_hundred_hertz_apart_only_when_they_are_low():
    low, high = (audio.to_mel(torch.tensor(p)).diff() for p in ([500.0, 1_000], [10_000.0, 10_500]))
    assert low > 5 * high
    close(audio.to_mel(torch.tensor([1_000.0]), scale="htk"), torch.tensor([1_000.0]), 0.02)
    close(audio.to_mel(torch.tensor([1_000.0, 6_400.0])), torch.tensor([15.0, 42.0]), 1e-4)


@pytest.mark.parametrize("scale", audio.MEL_SCALES)
@pytest.mark.parametrize(
    ("n_mels", "size", "rate", "low", "high"),
    [(80, 400, 16_000, 0, None), (24, 256, 8_000, 100, 3_800), (40, 2_048, 22_050, 0, 11_025)],
)
def test_filters_equal_transformers(scale, n_mels, size, rate, low, high):
    from transformers.audio_utils import mel_filter_bank

    if scale == "htk" and size == 400:
        n_mels = 60  # con 80 habría triángulos entre dos frecuencias
    top = rate / 2 if high is None else high
    options = {"norm": "slaney", "mel_scale": scale}
    expected = mel_filter_bank(size // 2 + 1, n_mels, low, top, rate, **options).T
    close(
        audio.mel_filters(n_mels, size, rate, low=low, high=high, scale=scale, dtype=F64), expected
    )
    ours = audio.mel_filters(n_mels, size, rate, low=low, high=high, scale=scale)
    assert ours.dtype == torch.float32 and (ours >= 0).all()
    close(ours.double(), expected, 1e-5)


@pytest.mark.parametrize("n_mels", [80, 128])
def test_log_mel_equals_what_whisper_reads(n_mels):
    from transformers import WhisperFeatureExtractor

    theirs = WhisperFeatureExtractor(feature_size=n_mels, chunk_length=1)
    signal = noise(2, RATE, dtype=torch.float32) * torch.linspace(0, 1, RATE) ** 4
    expected = theirs([x.numpy() for x in signal], sampling_rate=RATE, return_tensors="pt")
    ours = audio.log_mel(signal, n_mels=n_mels)
    assert ours.shape == (2, RATE // HOP, n_mels)
    close(ours, expected.input_features.mT, 1e-4)
    close(audio.log_mel(signal.double(), n_mels=n_mels).float(), ours, 1e-4)


# --- Volver a oír ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("weights", ["hamming", "rectangular"])
def test_griffin_lim_never_gets_worse(seed, weights):
    """La distancia al espectrograma pedido no crece, aunque no sea el de ninguna señal."""
    frame = {"weights": weights, "center": False}
    magnitude = noise(12, 9, seed=seed).abs()

    def distance(steps):
        made = audio.griffin_lim(magnitude, 16, 4, rng.generator(seed), steps=steps, **frame)
        twice = torch.tensor([1.0] + [2.0] * 7 + [1.0])  # las de dentro están en las dos mitades
        gap = audio.stft(made, 16, 4, **frame).abs() - magnitude
        return (gap.square() * twice).sum().item()

    found = [distance(steps) for steps in (0, 1, 2, 3, 10, 30)]
    assert all(a >= b - 1e-9 for a, b in pairwise(found)) and found[0] > found[-1]


def test_a_sound_is_heard_again_from_its_log_mel():
    rate, size, hop = 8_000, 256, 64
    signal = audio.tone(440, 0.5, rate) + 0.5 * audio.tone(1_320, 0.5, rate)
    features = audio.log_mel(signal, rate, size=size, hop=hop, n_mels=40)
    magnitude = audio.undo_log_mel(features, rate, size=size)
    assert magnitude.shape == (len(signal) // hop, size // 2 + 1)
    made = audio.griffin_lim(magnitude, size, hop, rng.generator(0))
    spectrum = torch.fft.rfft(made * audio.window("hann", len(made))).abs()
    loudest = spectrum.argmax().item() * rate / len(made)
    assert abs(loudest - 440) < rate / size
    filters = audio.mel_filters(40, size, rate)
    again, wanted = (  # lo que hay en cada triángulo, en lo que se oye y en lo que se pidió
        audio.stft(x, size, hop).abs().square() @ filters.T for x in (made, signal[: len(made)])
    )
    assert (again - wanted).norm() < 0.5 * wanted.norm()


# --- Separar --------------------------------------------------------------------------------------


@given(seed=st.integers(0, 99), volume=st.floats(0.1, 10), shift=st.floats(-3, 3))
def test_si_snr_is_the_angle_and_does_not_hear_the_volume(seed, volume, shift):
    target, estimate = noise(30, seed=seed), noise(30, seed=seed + 1)
    found = audio.si_snr(estimate, target).item()
    a, b = (x - x.mean() for x in (estimate, target))
    cosine = (a @ b / a.norm() / b.norm()).item()
    assert found == pytest.approx(10 * math.log10(cosine**2 / (1 - cosine**2)), abs=1e-6)
    close(audio.si_snr(volume * estimate + shift, target), audio.si_snr(estimate, target), 1e-6)


def test_si_snr_of_known_mixtures_and_of_silence():
    target, other = audio.tone(100, 1, 800, dtype=F64), audio.tone(200, 1, 800, dtype=F64)
    for level in (0.1, 1.0, 10.0):
        found = audio.si_snr(target + level * other, target).item()
        assert found == pytest.approx(-20 * math.log10(level), abs=1e-6)
    silent = torch.zeros(10, requires_grad=True)
    value = audio.si_snr(silent, torch.ones(10))
    (slope,) = torch.autograd.grad(value, silent)
    assert value.isfinite() and slope.isfinite().all()


@given(batch=st.integers(1, 3), voices=st.integers(1, 4), seed=st.integers(0, 999))
def test_separation_equals_trying_every_order(batch, voices, seed):
    targets, estimates = (noise(batch, voices, 12, seed=seed + k) for k in (0, 1000))
    estimates = estimates + targets.roll(seed % 4, 1)
    found = audio.separation(estimates.requires_grad_(), targets)
    for b in range(batch):
        every = {
            order: audio.si_snr(estimates[b, list(order)], targets[b]).mean()
            for order in permutations(range(voices))
        }
        best = max(every, key=lambda order: every[order].item())
        close(found.si_snr[b], every[best])
        assert found.order[b].tolist() == list(best)
    (slope,) = torch.autograd.grad(found.si_snr.sum(), estimates)
    rows = torch.arange(batch)[:, None]
    (same,) = torch.autograd.grad(
        audio.si_snr(estimates[rows, found.order], targets).mean(-1).sum(), estimates
    )
    close(slope, same)


# --- Los errores ----------------------------------------------------------------------------------


def spectrum(frames):
    return torch.ones(frames, 5, dtype=torch.cfloat)


def test_the_limits_are_allowed():
    """Lo menos que vale: una muestra, un marco, dos para volver, un decibelio de cero."""
    assert len(audio.tone(1, 1 / 8_000, 8_000)) == 1
    assert audio.frames(torch.ones(5), 8, 2).shape == (3, 8)
    assert audio.frames(torch.ones(8), 8, 2, center=False).shape == (1, 8)
    assert len(audio.istft(spectrum(2), 8, 4)) == 4
    one = audio.istft(spectrum(1), 8, 4, weights="rectangular", center=False)
    assert len(one) == 8
    assert audio.decibels(torch.zeros(1)).item() == pytest.approx(-100)
    assert audio.log_mel(torch.ones(10), size=8, hop=10, n_mels=1).shape == (1, 1)
    audio.griffin_lim(torch.ones(3, 5), 8, 4, rng.generator(0), steps=0)
    assert audio.undo_log_mel(torch.ones(0, 3, 8), size=64).shape == (0, 3, 33)
    assert audio.mel_filters(1, 64, 16_000, low=7_000).shape == (1, 33)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "seconds: .*cupiera", lambda: audio.tone(100, 1e-6, 8_000)),
        (ValueError, "frequency: .*finito", lambda: audio.tone(math.inf, 1, 8_000)),
        (TypeError, "dtype: ", lambda: audio.tone(100, 1, 8_000, dtype=torch.long)),
        (ValueError, "rate: ", lambda: audio.alias(100, 0)),
        (ValueError, r"signal: .*\(…, samples\)", lambda: audio.dft(torch.ones(2, 0))),
        (TypeError, "signal: ", lambda: audio.decimate(torch.ones(4, dtype=torch.long), 2)),
        (TypeError, "filtered: ", lambda: audio.decimate(torch.ones(4), 2, filtered=1)),
        (ValueError, "name: se esperaba una de rect", lambda: audio.window("kaiser", 4)),
        (ValueError, "signal: .*al menos 5 muestras", lambda: audio.frames(torch.ones(4), 8, 2)),
        (
            ValueError,
            "signal: .*al menos 8 muestras",
            lambda: audio.frames(torch.ones(7), 8, 2, center=False),
        ),
        (ValueError, "size: ", lambda: audio.frames(torch.ones(4), 0, 2)),
        (ValueError, "hop: ", lambda: audio.frames(torch.ones(4), 2, 0)),
        (ValueError, "weights: ", lambda: audio.stft(torch.ones(9), 8, 2, weights="x")),
        (TypeError, "spectrum: .*complejo", lambda: audio.istft(torch.ones(3, 5), 8, 4)),
        (
            ValueError,
            "spectrum: .*= 5 frecuencias",
            lambda: audio.istft(torch.ones(3, 4, dtype=torch.cfloat), 8, 4),
        ),
        (
            ValueError,
            "hop: .*ventana",
            lambda: audio.istft(torch.ones(3, 5, dtype=torch.cfloat), 8, 8),
        ),
        (ValueError, "power: no se esperaban neg", lambda: audio.decibels(torch.tensor([-1.0]))),
        (ValueError, "hertz: no se esperaban neg", lambda: audio.to_mel(torch.tensor([-1.0]))),
        (ValueError, "scale: ", lambda: audio.to_hertz(torch.ones(1), scale="bark")),
        (ValueError, "low: .*high = 9000", lambda: audio.mel_filters(8, 64, 16_000, high=9_000)),
        (ValueError, "n_mels: .* caen entre dos", lambda: audio.mel_filters(80, 64, 16_000)),
        (ValueError, "signal: .*al menos 201 muestras", lambda: audio.log_mel(torch.ones(200))),
        (
            TypeError,
            "rng: ",
            lambda: audio.griffin_lim(torch.ones(3, 5), 8, 4, 3),
        ),
        (ValueError, "features: ", lambda: audio.undo_log_mel(torch.ones(3))),
        (
            ValueError,
            "estimate: se esperaba la forma",
            lambda: audio.si_snr(torch.ones(3), torch.ones(4)),
        ),
        (
            ValueError,
            r"targets: .*\(batch, voice, samples\)",
            lambda: audio.separation(torch.ones(2, 3), torch.ones(2, 3)),
        ),
        (TypeError, "frequency: se esperaba un número", lambda: audio.tone("100", 1, 8_000)),
        (ValueError, "seconds: .*mayor que 0", lambda: audio.tone(100, 0.0, 8_000)),
        (ValueError, "rate: .*mayor o igual que 1", lambda: audio.tone(100, 1, 0)),
        (ValueError, "phase: .*finito", lambda: audio.tone(100, 1, 8_000, phase=math.inf)),
        (ValueError, "frequency: .*finito", lambda: audio.alias(math.inf, 100)),
        (ValueError, "signal: ", lambda: audio.dft(torch.tensor(1.0))),
        (ValueError, "factor: .*mayor o igual que 1", lambda: audio.decimate(torch.ones(4), 0)),
        (TypeError, "dtype: ", lambda: audio.window("hann", 4, dtype=torch.long)),
        (ValueError, "size: .*mayor o igual que 1", lambda: audio.window("hann", 0)),
        (TypeError, "periodic: ", lambda: audio.window("hann", 4, periodic=1)),
        (TypeError, "signal: ", lambda: audio.frames(torch.ones(9).long(), 8, 2)),
        (TypeError, "center: ", lambda: audio.frames(torch.ones(9), 8, 2, center=1)),
        (ValueError, "signal: .*al menos 5 muestras", lambda: audio.stft(torch.ones(4), 8, 2)),
        (TypeError, "spectrum: se esperaba un tensor", lambda: audio.istft(3, 8, 4)),
        (ValueError, "hop: .*mayor o igual que 1", lambda: audio.istft(spectrum(3), 8, 0)),
        (TypeError, "center: ", lambda: audio.istft(spectrum(3), 8, 4, center=1)),
        (ValueError, "spectrum: .*dos marcos", lambda: audio.istft(spectrum(1), 8, 4)),
        (ValueError, r"spectrum: .*\(…, frame, bin\)", lambda: audio.istft(spectrum(1)[0], 8, 4)),
        (ValueError, "weights: ", lambda: audio.istft(spectrum(3), 8, 4, weights="x")),
        (TypeError, "dtype: ", lambda: audio.bins(8, 8_000, dtype=torch.long)),
        (ValueError, "size: .*mayor o igual que 1", lambda: audio.bins(0, 8_000)),
        (ValueError, "rate: .*mayor o igual que 1", lambda: audio.bins(8, 0)),
        (TypeError, "power: ", lambda: audio.decibels(torch.ones(2).long())),
        (ValueError, "reference: ", lambda: audio.decibels(torch.ones(2), reference=0.0)),
        (ValueError, "floor: ", lambda: audio.decibels(torch.ones(2), floor=0.0)),
        (ValueError, "span: ", lambda: audio.decibels(torch.ones(2), span=0.0)),
        (ValueError, "scale: ", lambda: audio.to_mel(torch.ones(1), scale="bark")),
        (ValueError, "mels: no se esperaban neg", lambda: audio.to_hertz(torch.tensor([-1.0]))),
        (TypeError, "dtype: ", lambda: audio.mel_filters(8, 64, 16_000, dtype=torch.long)),
        (ValueError, "n_mels: .*mayor o igual que 1", lambda: audio.mel_filters(0, 64, 16_000)),
        (TypeError, "low: se esperaba un número", lambda: audio.mel_filters(8, 64, 8, low="0")),
        (TypeError, "high: se esperaba un número", lambda: audio.mel_filters(8, 64, 8, high="4")),
        (ValueError, "scale: ", lambda: audio.mel_filters(8, 64, 16_000, scale="bark")),
        (ValueError, "scale: ", lambda: audio.log_mel(torch.ones(800), scale="bark")),
        (
            ValueError,
            "signal: .*al menos hop = 10 muestras; llegaron 9",
            lambda: audio.log_mel(torch.ones(9), size=8, hop=10, n_mels=1),
        ),
        (
            ValueError,
            "magnitude: no se esperaban neg",
            lambda: audio.griffin_lim(-torch.ones(3, 5), 8, 4, rng.generator(0)),
        ),
        (
            ValueError,
            "magnitude: .*= 5 frecuencias",
            lambda: audio.griffin_lim(torch.ones(3, 4), 8, 4, rng.generator(0)),
        ),
        (
            ValueError,
            "steps: .*mayor o igual que 0",
            lambda: audio.griffin_lim(torch.ones(3, 5), 8, 4, rng.generator(0), steps=-1),
        ),
        (
            ValueError,
            "weights: ",
            lambda: audio.griffin_lim(torch.ones(3, 5), 8, 4, rng.generator(0), weights="x"),
        ),
        (TypeError, "features: ", lambda: audio.undo_log_mel(torch.ones(3, 80).long())),
        (ValueError, "features: .*ejes vacíos", lambda: audio.undo_log_mel(torch.ones(0, 80))),
        (ValueError, "scale: ", lambda: audio.undo_log_mel(torch.ones(3, 80), scale="bark")),
        (TypeError, "estimate: .*coma", lambda: audio.si_snr(torch.ones(3).long(), torch.ones(3))),
        (TypeError, "target: ", lambda: audio.si_snr(torch.ones(3), torch.ones(3).long())),
        (TypeError, "estimate: .*target", lambda: audio.si_snr(torch.ones(3), noise(3))),
        (
            ValueError,
            "estimates: se esperaba la forma de targets",
            lambda: audio.separation(torch.ones(1, 2, 3), torch.ones(1, 2, 4)),
        ),
        (
            ValueError,
            "targets: .*ejes vacíos",
            lambda: audio.separation(torch.ones(1, 0, 3), torch.ones(1, 0, 3)),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_shapes_are_checked(dtype, shape_checks):
    signal = noise(2, 3, 800, dtype=dtype)
    spectrum = audio.stft(signal, SIZE, HOP)
    assert spectrum.shape == (2, 3, 6, 201)
    assert audio.istft(spectrum, SIZE, HOP).dtype == dtype
    assert audio.log_mel(signal).shape == (2, 3, 5, 80)
    assert audio.undo_log_mel(audio.log_mel(signal)).shape == (2, 3, 5, 201)
    assert audio.separation(signal, signal).order.tolist() == [[0, 1, 2]] * 2
    assert audio.dft(np.pi * signal[0, 0, :5]).shape == (5,)
