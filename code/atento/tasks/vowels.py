"""Vocales dichas en voz alta: sonidos de los que se sabe todo, hechos con sus formantes.

Una voz es un tono y un tracto. La glotis da pulsos, que tienen todos los múltiplos del tono, y el
tracto deja pasar más los que caen cerca de sus resonancias, los formantes. Las dos primeras dicen
qué vocal es. El ejemplo guarda lo que se dijo; :func:`sound` lo convierte en muestras, ``RATE`` por
segundo, siempre las mismas.

Con :func:`generate` salen palabras de vocales para transcribir, y con :func:`mixtures`, dos voces a
la vez, para separarlas. Se reserva una parte de dos maneras, según ``held_out``: por combinación
(``"pair"``), cinco parejas de vocales seguidas que al entrenar no salen nunca, o por tono
(``"pitch"``), una banda en medio de las demás.

Fuente: los dos primeros formantes, Bradlow (1995), cuatro hablantes de Madrid; los otros dos, los
de un tubo uniforme de 17.5 cm (Fant, 1960), iguales en todas; anchos y síntesis, Klatt (1980).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Complex, Float
from scipy.linalg import solve_toeplitz
from torch import Tensor, nn

from atento.amounts import require_kind, require_positive, require_size
from atento.audio import log_mel
from atento.checks.audio import require_signal
from atento.decoding import greedy
from atento.device import require_device
from atento.rng import generator
from atento.shapes import require_floating
from atento.tasks import writing
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID, PAD_ID, Batch, Vocabulary
from atento.training import evaluating

RATE = 8_000
"""Muestras por segundo, como en el teléfono."""

SECONDS = 1.6
"""Lo que dura todo sonido; lo que sobra es silencio."""

FORMANTS = {
    "a": (638.0, 1353.0, 2500.0, 3500.0),
    "e": (458.0, 1814.0, 2500.0, 3500.0),
    "i": (286.0, 2147.0, 2500.0, 3500.0),
    "o": (460.0, 1019.0, 2500.0, 3500.0),
    "u": (322.0, 992.0, 2500.0, 3500.0),
}
"""Los cuatro primeros formantes de cada vocal, en hercios."""

VOWELS = tuple(FORMANTS)
BANDWIDTHS = (50.0, 70.0, 110.0, 250.0)
"""El ancho de cada formante, en hercios: cuanto menor, más se nota."""

VOCABULARY = Vocabulary(VOWELS)
PITCHES = (90.0, 250.0)
HELD_OUT_PITCHES = (140.0, 170.0)
"""Los tonos que hay y, entre ellos, los reservados, en hercios."""

SIZE, HOP, N_MELS = 256, 80, 40
"""El marco, lo que avanza y los triángulos con que se mira: uno cada 10 ms."""

HELD_OUT = ("pair", "pitch")
LENGTHS = (2, 3, 4, 5)


class Example(NamedTuple):
    """Unas vocales, dichas por una voz.

    ``pitch`` va en hercios; ``tract`` multiplica los formantes (un tracto más corto los sube);
    ``lengths`` y ``gaps`` son lo que dura cada vocal y el silencio que la precede, en segundos;
    ``noise`` son los decibelios que la voz saca al ruido, o ``None`` si no hay, y ``seed``, la
    semilla de ese ruido.
    """

    vowels: str
    pitch: float
    tract: float
    lengths: tuple[float, ...]
    gaps: tuple[float, ...]
    noise: float | None
    seed: int

    def __str__(self) -> str:
        return f"«{self.vowels}» a {self.pitch:.0f} Hz"


# --- El tracto y la voz ---------------------------------------------------------------------------


def response(
    frequencies: Float[Tensor, "*batch n"],
    formants: Sequence[float],
    bandwidths: Sequence[float] = BANDWIDTHS,
    *,
    rate: int = RATE,
) -> Complex[Tensor, "*batch n"]:
    """Cuánto deja pasar el tracto de cada frecuencia, (…, n): un número complejo.

    Es la cascada de Klatt: cada formante, un resonador de dos polos que en 0 Hz vale 1; la glotis,
    otro en 0 Hz con 100 de ancho, y la salida por los labios, la diferencia de dos muestras.

    Errores: ``TypeError`` o ``ValueError`` si ``frequencies`` no es de coma flotante, no hay un
    ancho por formante o algo no es positivo.
    Fuente: Klatt (1980), figura 5.
    """
    require_floating(frequencies, name="frequencies")
    require_size(rate, name="rate")
    _require_formants(formants, bandwidths)
    turn = torch.polar(torch.ones_like(frequencies), -2 * math.pi * frequencies / rate)  # 1/z
    passed = 1 - turn  # los labios
    for center, width in [(0.0, 100.0), *zip(formants, bandwidths, strict=True)]:
        c = -math.exp(-2 * math.pi * width / rate)
        b = 2 * math.exp(-math.pi * width / rate) * math.cos(2 * math.pi * center / rate)
        passed = passed * (1 - b - c) / (1 - b * turn - c * turn**2)
    return passed


def vowel(
    name: str, pitch: float, seconds: float, *, tract: float = 1.0
) -> Float[Tensor, " samples"]:
    """Una vocal sostenida: los múltiplos de ``pitch``, cada uno con lo que el tracto le deja.

    Empieza y acaba en silencio, en 20 ms, y suena siempre a la misma intensidad media.

    Errores: ``TypeError`` o ``ValueError`` si ``name`` no es una vocal o lo demás no es positivo.
    """
    if not isinstance(name, str) or name not in FORMANTS:
        raise ValueError(f"name: se esperaba una de {', '.join(VOWELS)}; llegó {name!r}.")
    for label, value in (("pitch", pitch), ("seconds", seconds), ("tract", tract)):
        require_positive(value, name=label)
    harmonics = pitch * torch.arange(1, max(2, math.ceil(RATE / 2 / pitch)))  # hercios
    passed = response(harmonics, [tract * f for f in FORMANTS[name]])
    times = torch.arange(max(1, round(seconds * RATE))) / RATE  # segundos
    angles = 2 * math.pi * torch.outer(harmonics, times) + passed.angle()[:, None]
    wave = passed.abs() @ angles.cos()  # (samples,)
    edge = torch.minimum(times, times.flip(0)).clamp(max=0.02) / 0.02
    wave = wave * (1 - (math.pi * edge).cos()) / 2
    return 0.1 * wave / wave.square().mean().sqrt().clamp(min=1e-6)


def sound(example: Example) -> Float[Tensor, " samples"]:
    """Las muestras de un ejemplo: ``SECONDS · RATE``. Con el mismo ejemplo, las mismas.

    Errores: ``TypeError`` si no es un ejemplo; ``ValueError`` si no cabe.
    """
    require_kind(example, Example, name="example", wanted="un Example")
    total = round(SECONDS * RATE)
    pieces: list[Tensor] = []
    for name, length, gap in zip(example.vowels, example.lengths, example.gaps, strict=True):
        pieces.append(torch.zeros(round(gap * RATE)))
        pieces.append(vowel(name, example.pitch, length, tract=example.tract))
    spoken = torch.cat(pieces)
    if len(spoken) > total:
        raise ValueError(f"example: se esperaban {SECONDS} s o menos; llegó {example}.")
    spoken = torch.cat([spoken, torch.zeros(total - len(spoken))])
    if example.noise is None:
        return spoken
    hiss = torch.randn(total, generator=generator(example.seed))
    return spoken + 0.1 * 10 ** (-example.noise / 20) * hiss


# --- Generar --------------------------------------------------------------------------------------


def is_held_out(pair: str) -> bool:
    """Dice si dos vocales seguidas son una pareja reservada: ``ai``, ``eo``, ``iu``, ``oa`` o
    ``ue``.

    Cada vocal empieza una y acaba otra, y sola no dice nada.

    Errores: ``ValueError`` si no son dos vocales.
    """
    if not isinstance(pair, str) or len(pair) != 2 or not set(pair) <= set(VOWELS):
        raise ValueError(f"pair: se esperaban dos vocales; llegó {pair!r}.")
    return _partner(pair[0]) == pair[1]


def _partner(name: str) -> str:
    return VOWELS[(VOWELS.index(name) + 2) % len(VOWELS)]


def generate(
    n: int,
    rng: torch.Generator | int,
    *,
    split: str = "train",
    held_out: str = "pair",
    lengths: int | Sequence[int] = LENGTHS,
    noise: float | None = 10.0,
) -> list[Example]:
    """Sortea ``n`` ejemplos; con la misma semilla, los mismos.

    Con ``split="train"`` no sale nada reservado, y con ``"test"``, siempre: alguna pareja de las
    reservadas, o un tono de su banda. ``lengths`` es cuántas vocales, de 1 a 5, o las opciones;
    ``noise``, los decibelios que la voz saca al ruido, o ``None``.

    Errores: ``TypeError`` o ``ValueError`` si los números no son lo dicho, ``split`` o ``held_out``
    no son de los suyos, o se piden parejas reservadas en palabras de una vocal.
    """
    require_size(n, name="n", least=0)
    writing.require_split(split)
    options = writing.require_options(lengths, name="lengths", most=max(LENGTHS))
    _require_held_out(held_out, split, options)
    if noise is not None:
        require_positive(noise, name="noise")
    source = writing.require_rng(rng)
    return [_draw(source, split, held_out, options, noise) for _ in range(n)]


def _draw(
    source: torch.Generator, split: str, held_out: str, options: Sequence[int], noise: float | None
) -> Example:
    count = options[_pick(source, len(options))]
    pairs = split if held_out == "pair" else "any"
    word = _word(source, count, pairs)
    pitch = _pitch(source, split if held_out == "pitch" else "any")
    tract = _between(source, 0.92, 1.08)
    seconds = tuple(_between(source, 0.12, 0.2) for _ in word)
    gaps = tuple(_between(source, 0.05, 0.1) for _ in word)
    return Example(word, pitch, tract, seconds, gaps, noise, _pick(source, 2**31))


def _word(source: torch.Generator, count: int, pairs: str) -> str:
    """Vocales al azar: sin parejas reservadas, con alguna o como salgan."""
    word = VOWELS[_pick(source, len(VOWELS))]
    forced = _pick(source, count - 1) if pairs == "test" else -1
    for i in range(count - 1):
        options = [v for v in VOWELS if pairs != "train" or v != _partner(word[-1])]
        word += _partner(word[-1]) if i == forced else options[_pick(source, len(options))]
    return word


def _pitch(source: torch.Generator, band: str) -> float:
    """Un tono de la banda: «train», «test» o cualquiera; con la misma probabilidad en cada uno."""
    low, high = PITCHES
    first, last = HELD_OUT_PITCHES
    if band == "test":
        return _between(source, first, last)
    if band == "any":
        return _between(source, low, high)
    place = _between(source, low, high - (last - first))
    return place if place < first else place + last - first


def _pick(source: torch.Generator, options: int) -> int:
    return int(writing.draw(options, 1, source))


def _between(source: torch.Generator, low: float, high: float) -> float:
    return low + (high - low) * torch.rand(1, generator=source, device=source.device).item()


def features(signals: Float[Tensor, "*batch samples"]) -> Float[Tensor, "*batch frame mel"]:
    """El espectrograma log-mel de unas muestras, con los tamaños de esta tarea.

    Errores: ``TypeError`` o ``ValueError`` si no son (…, samples) de coma flotante.
    """
    require_signal(signals, name="signals")
    return log_mel(signals, RATE, size=SIZE, hop=HOP, n_mels=N_MELS)


def batch(examples: Sequence[Example]) -> Batch:
    """Convierte ejemplos en un lote: lo que se oye y lo que se escribe.

    ``source``, ``(batch, frame, mel)``, son los espectrogramas; ``target``, ``(batch, target)``,
    las vocales entre el comienzo y el fin, con relleno detrás.

    Errores: ``TypeError`` o ``ValueError`` si no hay ejemplos o alguno no lo es.
    """
    _require_examples(examples)
    heard = features(torch.stack([sound(example) for example in examples]))
    rows = [[BOS_ID, *VOCABULARY.encode(list(e.vowels)), EOS_ID] for e in examples]
    return Batch(heard, writing.pad(rows))


# --- Dos voces a la vez ---------------------------------------------------------------------------


class Mixture(NamedTuple):
    """Un lote de mezclas, (batch, samples), y las dos voces de cada una, (batch, 2, samples)."""

    heard: Float[Tensor, "batch samples"]
    voices: Float[Tensor, "batch voice samples"]


def mixtures(
    n: int, rng: torch.Generator | int, *, split: str = "train", apart: float = 1.25
) -> list[tuple[Example, Example]]:
    """Sortea ``n`` parejas de voces sin ruido, para oírlas a la vez.

    El tono de una es al menos ``apart`` veces el de la otra. Con ``split="test"``, las dos dicen
    alguna pareja de vocales reservada.

    Errores: los de :func:`generate`, y ``ValueError`` si ``apart`` no está entre 1 y 1.6.
    """
    require_size(n, name="n", least=0)
    writing.require_split(split)
    require_positive(apart, name="apart")
    if not 1 <= apart <= 1.6:
        raise ValueError(f"apart: se esperaba un número entre 1 y 1.6; llegó {apart}.")
    source = writing.require_rng(rng)
    pairs = []
    while len(pairs) < n:
        one, two = generate(2, source, split=split, noise=None)
        if max(one.pitch, two.pitch) >= apart * min(one.pitch, two.pitch):
            pairs.append((one, two))
    return pairs


def mix(pairs: Sequence[tuple[Example, Example]]) -> Mixture:
    """Las muestras de unas mezclas y las de sus voces, que suman lo que se oye.

    Errores: ``TypeError`` o ``ValueError`` si no hay parejas de ejemplos.
    """
    require_kind(pairs, Sequence, name="pairs", wanted="una lista de parejas de ejemplos")
    for pair in pairs:
        require_kind(pair, tuple, name="pairs", wanted="parejas de ejemplos")
        for example in pair:
            require_kind(example, Example, name="pairs", wanted="parejas de ejemplos")
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"pairs: se esperaban parejas de ejemplos; llegó {pairs!r}.")
    voices = torch.stack([torch.stack([sound(one) for one in pair]) for pair in pairs])
    return Mixture(voices.sum(dim=1), voices)


# --- La línea de base -----------------------------------------------------------------------------


def measured_formants(
    signal: Float[Tensor, " samples"], *, order: int = 10
) -> tuple[float, float] | None:
    """Los dos primeros formantes de un trozo de vocal, (samples,), en hercios; ``None`` si no hay.

    Busca el filtro de ``order`` polos que mejor predice cada muestra con las anteriores, y mira a
    qué frecuencias resuena.

    Errores: ``TypeError`` o ``ValueError`` si no es (samples,) de coma flotante, más que ``order``.
    Fuente: Atal y Hanauer (1971).
    """
    require_signal(signal)
    require_size(order, name="order", least=4)
    if signal.ndim != 1 or len(signal) <= order:
        raise ValueError(
            f"signal: se esperaba la forma (samples,), con más de {order}; llegó "
            f"{tuple(signal.shape)}."
        )
    wave = signal.double().numpy()
    wave = np.append(wave[0], wave[1:] - 0.97 * wave[:-1]) * np.hamming(len(wave))  # más agudos
    past = np.correlate(wave, wave, "full")[len(wave) - 1 : len(wave) + order]
    if past[0] <= 0:
        return None
    past[0] *= 1 + 1e-9
    poles = np.roots(np.append(1, -solve_toeplitz(past[:-1], past[1:])))
    poles = poles[poles.imag > 0]
    hertz = np.angle(poles) * RATE / 2 / math.pi
    widths = -np.log(np.abs(poles)) * RATE / math.pi
    found = sorted(hertz[(hertz > 150) & (widths < 500)])
    return (found[0], found[1]) if len(found) > 1 else None


def nearest(formants: tuple[float, float]) -> str:
    """La vocal cuyos dos primeros formantes están más cerca, en octavas.

    Errores: ``ValueError`` si no son dos números positivos.
    """
    _require_formants(formants, formants)
    if len(formants) != 2:
        raise ValueError(f"formants: se esperaban los dos primeros; llegó {formants!r}.")

    def distance(name: str) -> float:
        table = zip(formants, FORMANTS[name], strict=False)
        return sum(math.log2(found / known) ** 2 for found, known in table)

    return min(VOWELS, key=distance)


def by_rule(signal: Float[Tensor, " samples"]) -> str:
    """Lo que se dijo en un sonido, (samples,), con una regla y sin aprender nada.

    Parte por los silencios, mide los formantes en el centro de cada trozo y elige la vocal más
    cercana.

    Errores: ``TypeError`` o ``ValueError`` si no es (samples,) de coma flotante.
    """
    require_signal(signal)
    if signal.ndim != 1:
        raise ValueError(f"signal: se esperaba la forma (samples,); llegó {tuple(signal.shape)}.")
    energy = signal.unfold(0, HOP, HOP).square().mean(dim=1)  # cada 10 ms
    loud = (energy > energy.max() / 10).tolist()
    edges = [i for i, (a, b) in enumerate(pairwise([False, *loud, False])) if a != b]
    word = ""
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if end - start >= 5:  # 50 ms
            found = measured_formants(signal[start * HOP : end * HOP])
            word += nearest(found) if found is not None else ""
    return word


# --- Puntuar --------------------------------------------------------------------------------------


def edits(written: Sequence[Any], wanted: Sequence[Any]) -> int:
    """Cuántos símbolos hay que añadir, quitar o cambiar para pasar de uno a otro.

    Errores: ``TypeError`` si no son secuencias.
    Fuente: Wagner y Fischer (1974).
    """
    for name, value in (("written", written), ("wanted", wanted)):
        require_kind(value, Sequence, name=name, wanted="una secuencia")
    row = list(range(len(wanted) + 1))
    for i, a in enumerate(written, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(wanted, 1):
            above, row[j] = row[j], min(above + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def transcribe(
    model: Any,
    examples: Sequence[Example],
    *,
    batch_size: int = 64,
    device: torch.device | str = "cpu",
) -> list[str]:
    """Lo que ``model`` escribe al oír cada ejemplo.

    ``model`` da pasos —``encode(source)`` da lo que oye, ``start`` de ello, el estado, y
    ``step(ids, state)``, las puntuaciones y el estado nuevo— y escribe con
    :func:`atento.decoding.greedy`; o es una función de muestras (samples,) a texto, como
    :func:`by_rule`.

    Errores: ``TypeError`` si ``model`` no es ninguna de las dos cosas; ``ValueError`` si no hay
    ejemplos, no existe ``device`` o ``batch_size`` no es positivo.
    """
    _require_examples(examples)
    require_size(batch_size, name="batch_size")
    where = require_device(device)
    if not hasattr(model, "step"):
        if not callable(model):
            raise TypeError(
                f"model: se esperaba un modelo con encode y step, o una función; llegó "
                f"{type(model).__name__}."
            )
        return [model(sound(example)) for example in examples]
    words = []
    for first in range(0, len(examples), batch_size):
        heard = batch(examples[first : first + batch_size]).source.to(where)
        words += ["".join(VOCABULARY.decode(row)) for row in _write(model, heard)]
    return words


def _write(model: nn.Module, heard: Tensor) -> Tensor:
    with evaluating(model):
        return greedy(
            model.step,
            torch.full((len(heard), 1), BOS_ID, device=heard.device),
            eos_id=EOS_ID,
            pad_id=PAD_ID,
            max_length=max(LENGTHS) + 1 + writing.MARGIN,
            state=lambda: model.start(model.encode(heard)),
        )


def score(
    model: Any,
    examples: Sequence[Example],
    *,
    batch_size: int = 64,
    device: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Puntúa lo que escribe ``model``, que es lo que acepta :func:`transcribe`.

    ``exact`` es la proporción de palabras idénticas; ``cer``, los símbolos que hay que añadir,
    quitar o cambiar, entre los que se dijeron (puede pasar de 1); ``by_length`` da lo mismo, con su
    ``n``, por número de vocales.

    Errores: los de :func:`transcribe`.
    """
    words = transcribe(model, examples, batch_size=batch_size, device=device)
    pairs = [(word, example.vowels) for word, example in zip(words, examples, strict=True)]
    counts = sorted({len(wanted) for _, wanted in pairs})
    groups = {n: _means([p for p in pairs if len(p[1]) == n]) for n in counts}
    return {**_means(pairs), "by_length": groups}


def _means(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    spoken = sum(len(wanted) for _, wanted in pairs)
    return {
        "exact": sum(a == b for a, b in pairs) / len(pairs),
        "cer": sum(edits(a, b) for a, b in pairs) / spoken,
        "n": len(pairs),
    }


# --- Las puertas ----------------------------------------------------------------------------------


def _require_formants(formants: Sequence[float], bandwidths: Sequence[float]) -> None:
    require_kind(formants, (list, tuple), name="formants", wanted="una lista de hercios")
    for value in (*formants, *bandwidths):
        require_positive(value, name="formants")
    if not formants or len(formants) != len(bandwidths):
        raise ValueError(
            f"bandwidths: se esperaba un ancho por formante, {len(formants)}; llegaron "
            f"{len(bandwidths)}."
        )


def _require_held_out(held_out: str, split: str, options: Sequence[int]) -> None:
    if held_out not in HELD_OUT:
        raise ValueError(f"held_out: se esperaba uno de {', '.join(HELD_OUT)}; llegó {held_out!r}.")
    if held_out == "pair" and split == "test" and min(options) < 2:
        raise ValueError(
            f"lengths: se esperaban dos vocales o más, para que quepa una pareja; llegó "
            f"{min(options)}."
        )


def _require_examples(examples: Sequence[Example]) -> None:
    writing.require_examples(examples)
    for example in examples:
        require_kind(example, Example, name="examples", wanted="ejemplos de esta tarea")
