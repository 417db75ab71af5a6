"""La puerta de :mod:`atento.audio`: señales, marcos, espectros, mels y voces."""

import math

import torch
from torch import Tensor

from atento.amounts import require_kind, require_number, require_positive, require_size
from atento.checks.layers import require_option
from atento.shapes import is_readable, require_floating, require_same_kind, require_tensor

WINDOWS = ("rectangular", "hann", "hamming", "blackman")
MEL_SCALES = ("slaney", "htk")


# --- Lo que se repite -----------------------------------------------------------------------------


def _require_finite(value: float, *, name: str) -> None:
    require_number(value, name=name)
    if not math.isfinite(value):
        raise ValueError(f"{name}: se esperaba un número finito; llegó {value}.")


def _require_flag(value: bool, *, name: str) -> None:
    require_kind(value, bool, name=name, wanted="True o False")


def require_signal(value: Tensor, *, name: str = "signal") -> None:
    """Lanza si ``value`` no es (…, samples) de coma flotante, con alguna muestra."""
    require_floating(value, name=name)
    if value.ndim == 0 or value.shape[-1] == 0:
        raise ValueError(
            f"{name}: se esperaba la forma (…, samples), con alguna muestra; llegó "
            f"{tuple(value.shape)}."
        )


def _require_plain(value: Tensor, *, name: str) -> None:
    """Lanza si hay negativos: no serían una potencia, una magnitud ni una frecuencia."""
    require_floating(value, name=name)
    if value.numel() and is_readable(value) and value.min() < 0:
        raise ValueError(f"{name}: no se esperaban negativos; llegó {value.min().item()}.")


def _require_grid(value: Tensor, *, name: str, axes: str) -> None:
    if value.ndim < 2 or 0 in value.shape[-2:]:
        raise ValueError(
            f"{name}: se esperaba la forma (…, {axes}), sin ejes vacíos; llegó "
            f"{tuple(value.shape)}."
        )


def _require_steps(size: int, hop: int) -> None:
    require_size(size, name="size")
    require_size(hop, name="hop")


def _require_bins(value: Tensor, size: int, *, name: str) -> None:
    _require_grid(value, name=name, axes="frame, bin")
    if value.shape[-1] != size // 2 + 1:
        raise ValueError(
            f"{name}: se esperaban size // 2 + 1 = {size // 2 + 1} frecuencias, con size = {size}; "
            f"llegaron {value.shape[-1]}."
        )


# --- Muestrear ------------------------------------------------------------------------------------


def _require_dtype(dtype: torch.dtype | None) -> None:
    if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise TypeError(f"dtype: se esperaba un tipo de coma flotante de PyTorch; llegó {dtype!r}.")


def tone(
    frequency: float,
    seconds: float,
    rate: int,
    *,
    phase: float = 0.0,
    dtype: torch.dtype | None = None,
) -> None:
    """Lanza si algo no es un número finito o no cabe ninguna muestra."""
    _require_dtype(dtype)
    _require_finite(frequency, name="frequency")
    require_positive(seconds, name="seconds")
    require_size(rate, name="rate")
    _require_finite(phase, name="phase")
    if round(seconds * rate) == 0:
        raise ValueError(
            f"seconds: se esperaba que cupiera alguna muestra, a {rate} por segundo; llegó "
            f"{seconds}."
        )


def alias(frequency: float, rate: float) -> None:
    """Lanza si no son números finitos o ``rate`` no es positivo."""
    _require_finite(frequency, name="frequency")
    require_positive(rate, name="rate")


def decimate(signal: Tensor, factor: int, *, filtered: bool = True) -> None:
    """Lanza si ``signal`` no es (…, samples) o ``factor`` no es un entero positivo."""
    require_signal(signal)
    require_size(factor, name="factor")
    _require_flag(filtered, name="filtered")


# --- Fourier --------------------------------------------------------------------------------------


def dft(signal: Tensor) -> None:
    """Lanza si ``signal`` no es (…, samples) de coma flotante."""
    require_signal(signal)


def window(
    name: str, size: int, *, periodic: bool = True, dtype: torch.dtype | None = None
) -> None:
    """Lanza si ``name`` no es una ventana o ``size`` no es un entero positivo."""
    _require_dtype(dtype)
    require_option(name, WINDOWS, name="name")
    require_size(size, name="size")
    _require_flag(periodic, name="periodic")


def frames(signal: Tensor, size: int, hop: int, *, center: bool = True) -> None:
    """Lanza si ``signal`` no da para un marco de ``size`` muestras."""
    require_signal(signal)
    _require_steps(size, hop)
    _require_flag(center, name="center")
    least = size // 2 + 1 if center else size
    if signal.shape[-1] < least:
        raise ValueError(
            f"signal: se esperaban al menos {least} muestras, con size = {size}; llegaron "
            f"{signal.shape[-1]}."
        )


def stft(
    signal: Tensor, size: int, hop: int, *, weights: str = "hann", center: bool = True
) -> None:
    """Lanza si ``signal`` no da para un marco o ``weights`` no es una ventana."""
    frames(signal, size, hop, center=center)
    require_option(weights, WINDOWS, name="weights")


def istft(
    spectrum: Tensor, size: int, hop: int, *, weights: str = "hann", center: bool = True
) -> None:
    """Lanza si ``spectrum`` no es (…, frame, size // 2 + 1) complejo."""
    require_tensor(spectrum, name="spectrum")
    if not spectrum.is_complex():
        raise TypeError(
            f"spectrum: se esperaba un tensor complejo, como el de stft; llegó "
            f"{str(spectrum.dtype).removeprefix('torch.')}."
        )
    _require_inverse(spectrum, size, hop, name="spectrum", center=center)
    require_option(weights, WINDOWS, name="weights")


def _require_inverse(value: Tensor, size: int, hop: int, *, name: str, center: bool) -> None:
    _require_steps(size, hop)
    _require_flag(center, name="center")
    _require_bins(value, size, name=name)
    if center and value.shape[-2] < 2:
        raise ValueError(
            f"{name}: se esperaban dos marcos o más para volver a la señal; llegó "
            f"{value.shape[-2]}."
        )


def require_covered(total: Tensor) -> None:
    """Lanza si a alguna muestra no le llega ninguna ventana: no se sabría qué valía."""
    if is_readable(total) and total.min() < 1e-10:
        raise ValueError(
            "hop: se esperaba que cada muestra cayera dentro de alguna ventana; alguna queda "
            "fuera, o en un borde que vale 0."
        )


def bins(size: int, rate: int, *, dtype: torch.dtype | None = None) -> None:
    """Lanza si no son enteros positivos."""
    _require_dtype(dtype)
    require_size(size, name="size")
    require_size(rate, name="rate")


def decibels(
    power: Tensor, *, reference: float = 1.0, floor: float = 1e-10, span: float | None = None
) -> None:
    """Lanza si ``power`` no es una potencia o lo demás no es positivo."""
    _require_plain(power, name="power")
    require_positive(reference, name="reference")
    require_positive(floor, name="floor")
    if span is not None:
        require_positive(span, name="span")


# --- Mel ------------------------------------------------------------------------------------------


def to_mel(hertz: Tensor, *, scale: str = "slaney") -> None:
    """Lanza si ``hertz`` no son frecuencias o ``scale`` no es una escala mel."""
    _require_plain(hertz, name="hertz")
    require_option(scale, MEL_SCALES, name="scale")


def to_hertz(mels: Tensor, *, scale: str = "slaney") -> None:
    """Lanza si ``mels`` no son mels o ``scale`` no es una escala mel."""
    _require_plain(mels, name="mels")
    require_option(scale, MEL_SCALES, name="scale")


def mel_filters(
    n_mels: int,
    size: int,
    rate: int,
    *,
    low: float = 0.0,
    high: float | None = None,
    scale: str = "slaney",
    dtype: torch.dtype | None = None,
) -> None:
    """Lanza si los números no dan unos triángulos entre 0 y ``rate / 2``."""
    _require_dtype(dtype)
    for name, value in (("n_mels", n_mels), ("size", size), ("rate", rate)):
        require_size(value, name=name)
    require_number(low, name="low")
    if high is not None:
        require_number(high, name="high")
    top = rate / 2 if high is None else high
    if not 0 <= low < top <= rate / 2:
        raise ValueError(
            f"low: se esperaba 0 ≤ low < high ≤ rate / 2 = {rate / 2}; llegaron low = {low} y "
            f"high = {top}."
        )
    require_option(scale, MEL_SCALES, name="scale")


def require_touched(triangles: Tensor) -> None:
    """Lanza si un triángulo, (mel, bin), no toca ninguna frecuencia: siempre daría 0."""
    empty = int((triangles.amax(dim=-1) == 0).sum())
    if empty:
        raise ValueError(
            f"n_mels: se esperaba que cada triángulo tocara alguna frecuencia; {empty} de "
            f"{len(triangles)} caen entre dos. Pide menos, o sube size."
        )


def log_mel(
    signal: Tensor,
    rate: int = 16_000,
    *,
    size: int = 400,
    hop: int = 160,
    n_mels: int = 80,
    scale: str = "slaney",
) -> None:
    """Lanza si ``signal`` no da para dos marcos o no se pueden hacer los triángulos."""
    frames(signal, size, hop)
    mel_filters(n_mels, size, rate, scale=scale)
    if signal.shape[-1] < hop:
        raise ValueError(
            f"signal: se esperaban al menos hop = {hop} muestras; llegaron {signal.shape[-1]}."
        )


# --- Volver a oír ---------------------------------------------------------------------------------


def griffin_lim(
    magnitude: Tensor,
    size: int,
    hop: int,
    rng: torch.Generator,
    *,
    steps: int = 32,
    weights: str = "hann",
    center: bool = True,
) -> None:
    """Lanza si ``magnitude`` no es (…, frame, size // 2 + 1) sin negativos."""
    _require_plain(magnitude, name="magnitude")
    _require_inverse(magnitude, size, hop, name="magnitude", center=center)
    require_kind(rng, torch.Generator, name="rng", wanted="un torch.Generator")
    require_size(steps, name="steps", least=0)  # weights lo mira istft


def undo_log_mel(
    features: Tensor,
    rate: int = 16_000,
    *,
    size: int = 400,
    scale: str = "slaney",
) -> None:
    """Lanza si ``features`` no es (…, frame, mel) de coma flotante."""
    require_floating(features, name="features")
    _require_grid(features, name="features", axes="frame, mel")
    mel_filters(features.shape[-1], size, rate, scale=scale)


# --- Separar --------------------------------------------------------------------------------------


def si_snr(estimate: Tensor, target: Tensor) -> None:
    """Lanza si no son dos (…, samples) de la misma forma y tipo."""
    _require_alike(estimate, target, "estimate", "target")


def _require_alike(value: Tensor, reference: Tensor, name: str, reference_name: str) -> None:
    require_signal(value, name=name)
    require_signal(reference, name=reference_name)
    require_same_kind(value, reference, name=name, reference_name=reference_name)
    if value.shape != reference.shape:
        raise ValueError(
            f"{name}: se esperaba la forma de {reference_name}, {tuple(reference.shape)}; llegó "
            f"{tuple(value.shape)}."
        )


def separation(estimates: Tensor, targets: Tensor) -> None:
    """Lanza si no son dos (batch, voice, samples) de la misma forma y tipo."""
    _require_alike(estimates, targets, "estimates", "targets")
    if targets.ndim != 3 or 0 in targets.shape:
        raise ValueError(
            f"targets: se esperaba la forma (batch, voice, samples), sin ejes vacíos; llegó "
            f"{tuple(targets.shape)}."
        )
