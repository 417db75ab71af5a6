"""Piso 5: el sonido; de las muestras al espectrograma, y vuelta.

Una señal son muestras, ``rate`` por segundo: ``(…, samples)``. Aquí el tiempo va en filas, como las
palabras en todo el libro: un espectrograma es ``(…, frame, bin)``, con un marco en cada fila y una
frecuencia en cada columna, de 0 Hz a ``rate / 2``. ``torch.stft`` lo da traspuesto.
"""

import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Complex, Float, Int
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from atento.checks import audio as checks
from atento.shapes import typed

# --- Muestrear ------------------------------------------------------------------------------------


@typed(validate=checks.tone)
def tone(
    frequency: float,
    seconds: float,
    rate: int,
    *,
    phase: float = 0.0,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, " samples"]:
    """Un tono puro, cos(2π · frequency · t + phase): ``round(seconds · rate)`` muestras.

    ``frequency`` va en hercios y ``phase``, en radianes. ``dtype`` es, si no se da, el de PyTorch
    por defecto, y así en todo el módulo.

    Errores: ``TypeError`` o ``ValueError`` si algo no es un número finito, si ``seconds`` y
    ``rate`` no son positivos o si no cabe ninguna muestra.
    """
    times = torch.arange(round(seconds * rate), dtype=torch.float64) / rate  # segundos
    wave = torch.cos(2 * math.pi * frequency * times + phase)
    return wave.to(dtype or torch.get_default_dtype())


@typed(validate=checks.alias)
def alias(frequency: float, rate: float) -> float:
    """La frecuencia, de 0 a ``rate / 2``, con las mismas muestras que ``frequency``, en hercios.

    Por encima de ``rate / 2`` un tono se confunde con otro más grave: es el solapamiento.

    Errores: ``TypeError`` o ``ValueError`` si no son números finitos o ``rate`` no es positivo.
    Fuente: Shannon (1949), teorema 1.
    """
    rest = frequency % rate
    return min(rest, rate - rest)


@typed(validate=checks.decimate)
def decimate(
    signal: Float[Tensor, "*batch samples"], factor: int, *, filtered: bool = True
) -> Float[Tensor, "*batch fewer"]:
    """Deja una muestra de cada ``factor``, tras quitar lo que ya no cabría.

    Quita todo lo que llega a la nueva mitad de ``rate``, ella incluida. Sin ``filtered`` no quita
    nada, y lo que sobra se oye en otro sitio (:func:`alias`).

    Errores: ``TypeError`` o ``ValueError`` si ``signal`` no es (…, samples) de coma flotante,
    ``factor`` no es un entero positivo o ``filtered`` no es un sí o un no.
    """
    if filtered and factor > 1:
        n = signal.shape[-1]
        spectrum = torch.fft.rfft(signal)  # (…, bin)
        kept = torch.arange(spectrum.shape[-1], device=signal.device) * 2 * factor < n
        signal = torch.fft.irfft(spectrum * kept, n)
    return signal[..., ::factor]


# --- Fourier --------------------------------------------------------------------------------------


@typed(validate=checks.dft)
def dft(signal: Float[Tensor, "*batch samples"]) -> Complex[Tensor, "*batch bin"]:
    """La transformada discreta de Fourier, escrita como el producto por una matriz.

    El número ``k`` es la suma de las muestras por exp(−2πi · k · n / samples). Cuesta ``samples²``;
    ``torch.fft.fft`` da lo mismo en ``samples · log(samples)``.

    Errores: ``TypeError`` o ``ValueError`` si ``signal`` no es (…, samples) de coma flotante.
    """
    n = signal.shape[-1]
    places = torch.arange(n, dtype=torch.float64, device=signal.device)
    turns = torch.outer(places, places) % n / n  # vueltas; con el resto no se pierden cifras
    wheel = torch.polar(torch.ones_like(turns), -2 * math.pi * turns)  # (samples, bin)
    wheel = wheel.to(torch.complex128 if signal.dtype == torch.float64 else torch.complex64)
    return signal.to(wheel.dtype) @ wheel


_COSINES = {
    "rectangular": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
}
WINDOWS = tuple(_COSINES)
"""Las ventanas, por su nombre."""


@typed(validate=checks.window)
def window(
    name: str, size: int, *, periodic: bool = True, dtype: torch.dtype | None = None
) -> Float[Tensor, " samples"]:
    """Los pesos de un marco: grandes en el centro y pequeños, o nulos, en los bordes.

    ``periodic`` es la de las transformadas, que al repetirse no cuenta dos veces el borde; sin él
    es simétrica.

    Errores: ``TypeError`` o ``ValueError`` si ``name`` no es una de ``WINDOWS``, ``size`` no es un
    entero positivo o ``periodic`` no es un sí o un no.
    Fuente: Harris (1978).
    """
    steps = size if periodic else size - 1
    if size == 1:
        return torch.ones(1, dtype=dtype)
    angle = 2 * math.pi * torch.arange(size, dtype=torch.float64) / steps
    parts = [c * (-1) ** k * (k * angle).cos() for k, c in enumerate(_COSINES[name])]
    return torch.stack(parts).sum(dim=0).to(dtype or torch.get_default_dtype())


@typed(validate=checks.frames)
def frames(
    signal: Float[Tensor, "*batch samples"], size: int, hop: int, *, center: bool = True
) -> Float[Tensor, "*batch frame size"]:
    """Los marcos de ``size`` muestras, uno cada ``hop``.

    Con ``center``, el marco ``i`` tiene el centro en la muestra ``i · hop``, y la señal se refleja
    en sus dos extremos para llenar los que se salen. Sin él, el primero empieza en la muestra 0 y
    solo salen los que caben.

    Errores: ``TypeError`` o ``ValueError`` si ``signal`` no es (…, samples) de coma flotante, los
    tamaños no son enteros positivos o la señal es demasiado corta.
    """
    if center:
        batch, n = signal.shape[:-1], signal.shape[-1]
        edge = (size // 2, size // 2)
        signal = F.pad(signal.reshape(1, -1, n), edge, mode="reflect").reshape(*batch, -1)
    return signal.unfold(-1, size, hop)  # (…, frame, size)


@typed(validate=checks.stft)
def stft(
    signal: Float[Tensor, "*batch samples"],
    size: int,
    hop: int,
    *,
    weights: str = "hann",
    center: bool = True,
) -> Complex[Tensor, "*batch frame bin"]:
    """La transformada de cada marco, con su ventana: ``size // 2 + 1`` frecuencias por marco.

    ``weights`` es el nombre de la ventana; lo demás, como en :func:`frames`.

    Errores: los de :func:`frames` y :func:`window`.
    Fuente: Allen y Rabiner (1977).
    """
    pieces = frames.unchecked(signal, size, hop, center=center)  # (…, frame, size)
    return torch.fft.rfft(pieces * window.unchecked(weights, size, dtype=signal.dtype).to(pieces))


@typed(validate=checks.istft)
def istft(
    spectrum: Complex[Tensor, "*batch frame bin"],
    size: int,
    hop: int,
    *,
    weights: str = "hann",
    center: bool = True,
) -> Float[Tensor, "*batch samples"]:
    """La señal cuyo :func:`stft` más se parece a ``spectrum``; si es el de una, esa.

    Suma los marcos, cada uno en su sitio y otra vez con su ventana, y divide entre lo que suman los
    cuadrados de las ventanas. Con ``center`` devuelve ``hop · (frame − 1)`` muestras.

    Errores: ``TypeError`` o ``ValueError`` si ``spectrum`` no es (…, frame, size // 2 + 1)
    complejo, o si entre marco y marco queda alguna muestra sin ventana.
    Fuente: Griffin y Lim (1984), ec. 6.
    """
    pieces = torch.fft.irfft(spectrum, size)  # (…, frame, size)
    shape = window.unchecked(weights, size, dtype=pieces.dtype).to(pieces)
    batch, n = pieces.shape[:-2], pieces.shape[-2]
    added = _overlap(pieces.flatten(0, -3) * shape if batch else pieces[None] * shape, hop)
    covered = _overlap(shape.square().expand(1, n, size), hop)  # (1, samples)
    edge = size // 2 if center else 0
    span = slice(edge, edge + hop * (n - 1)) if center else slice(None)
    total = covered[..., span]
    checks.require_covered(total)
    return (added[..., span] / total).reshape(*batch, -1)


def _overlap(pieces: Tensor, hop: int) -> Tensor:
    """Suma los marcos (batch, frame, size) en la señal, cada uno ``hop`` muestras más allá."""
    n, size = pieces.shape[-2:]
    length = size + hop * (n - 1)
    folded = F.fold(pieces.mT.contiguous(), (1, length), (1, size), stride=(1, hop))
    return folded.flatten(1)  # (batch, samples)


@typed(validate=checks.bins)
def bins(size: int, rate: int, *, dtype: torch.dtype | None = None) -> Float[Tensor, " bin"]:
    """La frecuencia de cada columna de :func:`stft`, en hercios: de 0 a ``rate / 2``.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    """
    return torch.arange(size // 2 + 1, dtype=dtype or torch.get_default_dtype()) * (rate / size)


@typed(validate=checks.decibels)
def decibels(
    power: Float[Tensor, "..."],
    *,
    reference: float = 1.0,
    floor: float = 1e-10,
    span: float | None = None,
) -> Float[Tensor, "..."]:
    """La potencia en decibelios: 10 · log10(power / reference). Diez más son diez veces más.

    ``power``, de cualquier forma, no baja de ``floor``. Con ``span``, ningún resultado queda más de
    esos decibelios por debajo del mayor.

    Errores: ``TypeError`` o ``ValueError`` si ``power`` no es de coma flotante o tiene negativos, o
    si lo demás no es positivo.
    """
    loud = 10 * (power.clamp(min=floor) / max(reference, floor)).log10()
    return loud if span is None else loud.clamp(min=(loud.max() - span).item())


# --- La escala mel --------------------------------------------------------------------------------

MEL_SCALES = ("slaney", "htk")
"""Las dos escalas mel: la que usa Whisper, y la de HTK."""

_KNEE, _MELS_AT_KNEE, _LOG_STEP = 1000.0, 15.0, math.log(6.4) / 27


@typed(validate=checks.to_mel)
def to_mel(hertz: Float[Tensor, "..."], *, scale: str = "slaney") -> Float[Tensor, "..."]:
    """De hercios a mels, de cualquier forma.

    «htk» es 2595 · log10(1 + hertz / 700): 1000 Hz son casi 1000 mels. «slaney» es recta hasta
    1000 Hz, que son 15, y logarítmica después: cada 27 mels, 6.4 veces más.

    Errores: ``TypeError`` o ``ValueError`` si no es de coma flotante, hay negativos o ``scale`` no
    es una de ``MEL_SCALES``.
    Fuente: la idea, Stevens et al. (1937); «htk», O'Shaughnessy (1987); «slaney», Slaney (1998).
    """
    if scale == "htk":
        return 2595 * (1 + hertz / 700).log10()
    curve = _MELS_AT_KNEE + (hertz.clamp(min=_KNEE) / _KNEE).log() / _LOG_STEP
    return torch.where(hertz < _KNEE, hertz * _MELS_AT_KNEE / _KNEE, curve)


@typed(validate=checks.to_hertz)
def to_hertz(mels: Float[Tensor, "..."], *, scale: str = "slaney") -> Float[Tensor, "..."]:
    """De mels a hercios, de cualquier forma: lo contrario de :func:`to_mel`.

    Errores: los de :func:`to_mel`.
    """
    if scale == "htk":
        return 700 * (10 ** (mels / 2595) - 1)
    curve = _KNEE * ((mels.clamp(min=_MELS_AT_KNEE) - _MELS_AT_KNEE) * _LOG_STEP).exp()
    return torch.where(mels < _MELS_AT_KNEE, mels * _KNEE / _MELS_AT_KNEE, curve)


@typed(validate=checks.mel_filters)
def mel_filters(
    n_mels: int,
    size: int,
    rate: int,
    *,
    low: float = 0.0,
    high: float | None = None,
    scale: str = "slaney",
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "mel bin"]:
    """Un triángulo por fila, con los vértices a la misma distancia en mels.

    Cada uno sube desde el vértice del anterior, baja hasta el del siguiente y mide 1 hercio⁻¹ de
    área; reparte las ``size // 2 + 1`` frecuencias de un marco entre ``low`` y ``high`` hercios,
    que es, si no se da, ``rate / 2``.

    Errores: ``TypeError`` o ``ValueError`` si los números no son lo dicho, ``high`` no está entre
    ``low`` y ``rate / 2``, o algún triángulo es tan estrecho que no toca ninguna frecuencia.
    Fuente: Davis y Mermelstein (1980); el área, Slaney (1998).
    """
    ends = torch.tensor([low, rate / 2 if high is None else high], dtype=torch.float64)
    mels = to_mel.unchecked(ends, scale=scale)
    places = torch.linspace(mels[0], mels[1], n_mels + 2, dtype=torch.float64)
    left, top, right = to_hertz.unchecked(places, scale=scale).unfold(0, 3, 1).T[..., None]
    at = torch.arange(size // 2 + 1, dtype=torch.float64) * rate / size  # hercios
    heights = torch.minimum((at - left) / (top - left), (right - at) / (right - top))
    triangles = heights.clamp(min=0) * 2 / (right - left)  # (mel, bin)
    checks.require_touched(triangles)
    return triangles.to(dtype or torch.get_default_dtype())


@typed(validate=checks.log_mel)
def log_mel(
    signal: Float[Tensor, "*batch samples"],
    rate: int = 16_000,
    *,
    size: int = 400,
    hop: int = 160,
    n_mels: int = 80,
    scale: str = "slaney",
) -> Float[Tensor, "*batch frame mel"]:
    """El espectrograma log-mel de Whisper: ``samples // hop`` filas de ``n_mels`` números.

    Potencia de cada frecuencia, repartida en triángulos, y logaritmo decimal, que no baja más de 8
    del mayor de cada señal. Al final suma 4 y divide entre 4, para que quede cerca de [−1, 1].

    Errores: los de :func:`frames` y :func:`mel_filters`.
    Fuente: Radford et al. (2023), § 2.2, y el código publicado.
    """
    power = stft.unchecked(signal, size, hop)[..., :-1, :].abs().square()  # (…, frame, bin)
    filters = mel_filters.unchecked(n_mels, size, rate, scale=scale, dtype=signal.dtype).to(signal)
    logs = (power @ filters.T).clamp(min=1e-10).log10()  # (…, frame, mel)
    logs = logs.maximum(logs.amax(dim=(-2, -1), keepdim=True) - 8)
    return (logs + 4) / 4


# --- Volver a oír ---------------------------------------------------------------------------------


@typed(validate=checks.griffin_lim)
def griffin_lim(
    magnitude: Float[Tensor, "*batch frame bin"],
    size: int,
    hop: int,
    rng: torch.Generator,
    *,
    steps: int = 32,
    weights: str = "hann",
    center: bool = True,
) -> Float[Tensor, "*batch samples"]:
    """Una señal cuyo espectrograma se parece a ``magnitude``, que no guarda las fases.

    Empieza con fases al azar. En cada paso vuelve a la señal, mira las fases que tiene y las pone
    en lugar de las suyas. Sin ``center``, la distancia entre ``magnitude`` y el espectrograma de la
    señal nunca crece; con él, los bordes reflejados pueden alargarla un poco.

    Errores: los de :func:`istft`, y ``TypeError`` o ``ValueError`` si ``magnitude`` tiene
    negativos, ``rng`` no es un generador o ``steps`` no es un entero ≥ 0.
    Fuente: Griffin y Lim (1984), § III.
    """
    turns = torch.rand(magnitude.shape, generator=rng, device=rng.device).to(magnitude)
    spectrum = torch.polar(magnitude, 2 * math.pi * turns)
    frame: dict[str, Any] = {"weights": weights, "center": center}
    signal = istft(spectrum, size, hop, **frame)
    for _ in range(steps):
        phase = stft.unchecked(signal, size, hop, **frame).angle()
        signal = istft.unchecked(torch.polar(magnitude, phase), size, hop, **frame)
    return signal


@typed(validate=checks.undo_log_mel)
def undo_log_mel(
    features: Float[Tensor, "*batch frame mel"],
    rate: int = 16_000,
    *,
    size: int = 400,
    scale: str = "slaney",
) -> Float[Tensor, "*batch frame bin"]:
    """La magnitud de cada frecuencia que mejor explica un :func:`log_mel`, para volver a oírlo.

    Los triángulos no se pueden deshacer, porque hay menos que frecuencias: es la solución de
    mínimos cuadrados más pequeña, sin los negativos. La oye :func:`griffin_lim`.

    Errores: ``TypeError`` o ``ValueError`` si ``features`` no es (…, frame, mel) de coma flotante,
    y los de :func:`mel_filters`.
    """
    n_mels, kind = features.shape[-1], features.dtype
    filters = mel_filters.unchecked(n_mels, size, rate, scale=scale, dtype=kind).to(features)
    mels = 10 ** (4 * features - 4)  # la potencia en cada triángulo
    return (mels @ torch.linalg.pinv(filters).T).clamp(min=0).sqrt()


# --- Separar voces --------------------------------------------------------------------------------


@typed(validate=checks.si_snr)
def si_snr(
    estimate: Float[Tensor, "*batch samples"], target: Float[Tensor, "*batch samples"]
) -> Float[Tensor, "*batch"]:
    """Cuánto hay de ``target`` en ``estimate``, en decibelios, sea cual sea el volumen.

    Quitadas las medias, parte ``estimate`` en lo que es un múltiplo de ``target`` y lo demás, y da
    la razón de sus energías. Con un silencio no es infinita ni NaN.

    Errores: ``TypeError`` o ``ValueError`` si no son dos (…, samples) de la misma forma y tipo.
    Fuente: Luo y Mesgarani (2019).
    """
    tiny = torch.finfo(estimate.dtype).eps
    estimate = estimate - estimate.mean(dim=-1, keepdim=True)
    target = target - target.mean(dim=-1, keepdim=True)
    energy = target.square().sum(dim=-1, keepdim=True)
    share = (estimate * target).sum(dim=-1, keepdim=True) / (energy + tiny)  # (…, 1)
    wanted = share * target  # (…, samples)
    signal, noise = (x.square().sum(dim=-1) for x in (wanted, estimate - wanted))
    return 10 * ((signal + tiny) / (noise + tiny)).log10()


class Separation(NamedTuple):
    """El SI-SNR medio, (batch,), y qué salida es cada voz, (batch, voice)."""

    si_snr: Float[Tensor, " batch"]
    order: Int[Tensor, "batch voice"]


@typed(validate=checks.separation)
def separation(
    estimates: Float[Tensor, "batch voice samples"], targets: Float[Tensor, "batch voice samples"]
) -> Separation:
    """El SI-SNR medio de las voces separadas, con la asignación que más da.

    Quien separa no sabe qué voz va primero: ``order[i, j]`` es la salida que se queda con la voz
    ``j``. El gradiente pasa por el SI-SNR, y no por la elección. La pérdida es ``-si_snr.mean()``.

    Errores: ``TypeError`` o ``ValueError`` si no son dos (batch, voice, samples) de la misma forma
    y tipo.
    Fuente: Yu et al. (2017).
    """
    pairs = si_snr.unchecked(  # (batch, target, estimate)
        *torch.broadcast_tensors(estimates[:, None], targets[:, :, None])
    )
    costs = pairs.detach().cpu().double().numpy()
    chosen = [linear_sum_assignment(one, maximize=True)[1].tolist() for one in costs]
    order = torch.tensor(chosen, device=pairs.device)  # (batch, voice)
    best = pairs.gather(2, order[..., None]).squeeze(-1)  # (batch, voice)
    return Separation(best.mean(dim=-1), order)
