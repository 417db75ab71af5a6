# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Capítulo 21. Oír: soluciones

# %%
import itertools
import math

import torch
import torch.nn.functional as F
from jaxtyping import Complex, Float, Int
from torch import Tensor

# %% [markdown]
# ## 21.1 Muestrear a mano
#
# Sumar 8000 Hz a un tono no cambia ninguna muestra, y cambiarle el signo tampoco. Lo que se oye es
# lo que queda al quitar vueltas de 8000 Hz, contadas al derecho o al revés, hasta caer entre 0 y
# 4000 Hz. Como 1500 Hz suenan 1500, 6500, 9500, 14 500 y 17 500 Hz. La rueda tiene signo: da 22
# vueltas, que es como dar dos hacia atrás entre 24 fotogramas.


# %%
def sampling_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""

    def heard(frequency: int) -> int:
        rest = frequency % 8000
        return min(rest, 8000 - rest)

    return {
        "heard": heard(6500),
        "far": heard(18_500),
        "same": sum(heard(f) == 1500 for f in range(20_001)),
        "least": 2 * 3400,
        "wheel": (22 + 12) % 24 - 12,
    }


# %% [markdown]
# ## 21.2 Cuánto hay de cada frecuencia
#
# Por cada frecuencia, una rueda que da $f/r$ vueltas por muestra. Es un producto de matrices: las
# muestras por los cosenos, y por los senos con el signo cambiado. En $f = k\,r/N$ es la DFT. En
# las demás, la misma fórmula.


# %%
def spectrum_at(
    signal: Float[Tensor, "batch samples"], frequencies: Float[Tensor, " bin"], rate: float
) -> Complex[Tensor, "batch bin"]:
    """La transformada de Fourier de cada señal, en las frecuencias que se pidan."""
    places = torch.arange(signal.shape[1], dtype=signal.dtype)
    angles = 2 * math.pi * torch.outer(places, frequencies) / rate  # (samples, bin)
    return torch.complex(signal @ angles.cos(), -(signal @ angles.sin()))


# %% [markdown]
# ## 21.3 Un golpe y un tono
#
# El golpe se ve en todos los marcos que lo tocan, y una ventana doble lo toca el doble de tiempo.
# El tono ocupa unas pocas columnas alrededor de la suya, siempre las mismas, y con una ventana
# doble cada columna mide la mitad de hercios. Lo que se gana en un eje se pierde en el otro.


# %%
def window_doubled() -> str:
    """La respuesta, con un golpe y un tono de verdad y dos ventanas."""
    click = torch.zeros(2048, dtype=torch.float64)
    click[1024] = 1
    tone = torch.cos(math.pi / 4 * torch.arange(2048, dtype=torch.float64))

    def widths(size: int) -> tuple[float, float]:
        """Cuánto dura el golpe, en muestras, y cuánto ocupa el tono, en vueltas por muestra."""

        def power(signal: Tensor) -> Tensor:
            weights = torch.hann_window(size, dtype=torch.float64)
            return torch.fft.rfft(signal.unfold(0, size, 8) * weights).abs().square()

        loud, wide = power(click).sum(dim=1), power(tone)[0]
        return 8 * int((loud > loud.max() / 2).sum()), int((wide > wide.max() / 10).sum()) / size

    before, after = widths(128), widths(256)
    names = {
        (True, True): "se estrechan las dos",
        (True, False): "solo la del golpe",
        (False, True): "solo la del tono",
        (False, False): "ninguna",
    }
    return names[after[0] < before[0], after[1] < before[1]]


# %% [markdown]
# ## 21.4 El espectrograma, marco a marco
#
# Los marcos que hacen falta son uno y los que avanza la señal que no cabe en él, redondeados hacia
# arriba. Con ceros al final, todos están enteros y se cortan de una vez. Cada uno se multiplica
# por la ventana antes de transformarlo.


# %%
def power_frames(
    signal: Float[Tensor, "batch samples"], size: int, hop: int
) -> Float[Tensor, "batch frame bin"]:
    """La potencia de cada frecuencia en cada marco, con ventana de Hann y sin perder el final."""
    samples = signal.shape[1]
    moves = math.ceil(max(samples - size, 0) / hop)
    whole = F.pad(signal, (0, size + moves * hop - samples))
    pieces = whole.unfold(1, size, hop)  # (batch, frame, size)
    angle = 2 * math.pi * torch.arange(size, dtype=signal.dtype) / size
    window = (1 - angle.cos()) / 2
    return torch.fft.rfft(pieces * window).abs().square()


# %% [markdown]
# ## 21.5 Triángulos en la escala mel
#
# Los vértices se reparten a distancias iguales en mels y se llevan a hercios. Cada triángulo es la
# menor de dos rectas, la que sube y la que baja, sin lo que quede por debajo de cero.


# %%
def log_mel_htk(
    power: Float[Tensor, "frame bin"],
    rate: float,
    n_mels: int,
    *,
    low: float = 0.0,
    high: float | None = None,
) -> Float[Tensor, "frame mel"]:
    """El logaritmo de lo que cae en cada triángulo, con los triángulos de HTK."""
    ends = [2595 * math.log10(1 + f / 700) for f in (low, rate / 2 if high is None else high)]
    mels = torch.linspace(*ends, n_mels + 2, dtype=power.dtype)
    places = 700 * (10 ** (mels / 2595) - 1)  # hercios
    left, center, right = places[:-2, None], places[1:-1, None], places[2:, None]
    at = torch.linspace(0, rate / 2, power.shape[1], dtype=power.dtype)
    rise, fall = (at - left) / (center - left), (right - at) / (right - center)
    filters = torch.minimum(rise, fall).clamp(min=0)  # (mel, bin)
    return (power @ filters.T).clamp(min=1e-10).log10()


# %% [markdown]
# ## 21.6 Separar sin saber quién es quién
#
# Primero, la tabla del SI-SNR de cada salida con cada voz. Después, para cada mezcla, la media de
# cada permutación, y la mejor. La elección no tiene gradiente, y no hace falta: llega por las
# parejas elegidas.


# %%
def pit_loss(
    estimates: Float[Tensor, "batch voice samples"], targets: Float[Tensor, "batch voice samples"]
) -> Float[Tensor, ""]:
    """Menos el SI-SNR medio de las voces separadas, con el mejor reparto en cada mezcla."""
    given = (estimates - estimates.mean(dim=-1, keepdim=True))[:, :, None]
    true = (targets - targets.mean(dim=-1, keepdim=True))[:, None]
    share = (given * true).sum(-1, keepdim=True) / true.square().sum(-1, keepdim=True)
    wanted = share * true  # (batch, voice, voice, samples)
    ratio = wanted.square().sum(-1) / (given - wanted).square().sum(-1)
    pairs = 10 * ratio.log10()  # (batch, voice, voice)
    voices = range(pairs.shape[1])
    totals = [pairs[:, list(order), voices].mean(1) for order in itertools.permutations(voices)]
    return -torch.stack(totals).amax(dim=0).mean()


# %% [markdown]
# ## 21.7 Tapar tramos y elegir
#
# Los tramos se juntan en un conjunto, y así ningún marco cuenta dos veces. Cada marco tapado es
# una elección: el verdadero va en la primera columna, detrás van sus negativos, y los que son el
# mismo vector se quitan con un menos infinito.


# %%
def hidden_loss(
    outputs: Float[Tensor, "frame d"],
    targets: Float[Tensor, "frame d"],
    starts: list[int],
    span: int,
    negatives: Int[Tensor, "hidden k"],
    *,
    temperature: float = 0.1,
) -> Float[Tensor, ""]:
    """La pérdida contrastiva de wav2vec 2.0 en los marcos tapados."""
    covered = {place for start in starts for place in range(start, start + span)}
    hidden = torch.tensor(sorted(place for place in covered if place < len(outputs)))
    true, false = targets[hidden][:, None], targets[negatives]
    same = (false == true).all(dim=-1)  # (hidden, k)
    options = torch.cat([true, false], dim=1)  # (hidden, 1 + k, d)
    scores = F.cosine_similarity(outputs[hidden][:, None], options, dim=-1) / temperature
    scores = scores.masked_fill(F.pad(same, (1, 0)), -math.inf)
    return -scores.log_softmax(dim=-1)[:, 0].mean()


# %% [markdown]
# ## 21.8 De qué clase son los errores
#
# La casilla $(i, j)$ guarda la mejor manera de pasar de las $i$ primeras letras verdaderas a las
# $j$ primeras escritas: cuántos errores, y cuántos de cada clase. Se llega desde tres vecinas. Con
# las sustituciones en negativo, la menor de las tres tuplas es la que menos errores tiene y, a
# igualdad, la que más sustituciones. La CER divide los errores de todas entre las letras de todas.


# %%
def error_counts(written: list[str], wanted: list[str]) -> tuple[float, int, int, int]:
    """La CER de unas transcripciones y cuántas sustituciones, borrados e inserciones tienen."""

    def step(cell: tuple[int, ...], swaps: int, losses: int, extras: int) -> tuple[int, ...]:
        errors = cell[0] + swaps + losses + extras
        return errors, cell[1] - swaps, cell[2] + losses, cell[3] + extras

    totals = [0, 0, 0, 0]
    for said, true in zip(written, wanted, strict=True):
        row = [(j, 0, 0, j) for j in range(len(said) + 1)]
        for i, letter in enumerate(true, start=1):
            above, row = row, [(i, 0, i, 0)]
            for j, other in enumerate(said, start=1):
                paired = step(above[j - 1], int(letter != other), 0, 0)
                row.append(min(paired, step(above[j], 0, 1, 0), step(row[-1], 0, 0, 1)))
        totals = [a + b for a, b in zip(totals, row[-1], strict=True)]
    errors, swaps, losses, extras = totals
    return errors / sum(map(len, wanted)), -swaps, losses, extras
