"""Capítulo 21: un SepFormer pequeño separa dos voces, y los controles que dicen con qué pista.

``cap21.py`` lo apunta en sus ``PARTES`` («separating») y en sus ``PESOS`` («separar»).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import torch
from recuerdo import Memory
from recuerdo import rounded as figures
from torch import Tensor, nn
from torch.nn import functional as F

from atento import audio, rng
from atento.models.sepformer import SepFormer, SepFormerConfig, sepformer_loss
from atento.tasks import vowels
from atento.tasks.vowels import PITCHES, RATE, Example, Mixture
from atento.trained import rounded
from atento.training import fit, parameter_groups, warmup_cosine

RECIPE: dict[str, Any] = {
    "model": {"kernel_size": 128, "stride": 64, "n_filters": 104, "chunk": 12},
    "voices": 600,  # las de entrenar, que se mezclan de nuevo en cada paso
    "lengths": [3, 4, 5],
    "apart": 1.25,
    "top": 2600.0,  # los filtros empiezan en frecuencias de 60 Hz a esta
    "samples": 4000,  # de cada voz, desde una de las primeras ``latest``
    "latest": 1600,
    "steps": 1200,
    "batch": 8,
    "rate": 4e-3,
    "warmup": 40,
    "weight_decay": 0.01,
}
EXAM: dict[str, Any] = {
    "mixtures": 100,
    "samples": 4800,
    "ratios": [1, 1.03, 1.06, 1.12, 1.27, 1.44],  # de un tono al otro, con las mismas palabras
}
CLOSE = 1.03
MEMORY = Memory(21)
SEEDS, SOME = 10, 2


# --- Las mezclas ----------------------------------------------------------------------------------


@cache
def bank(seed: int) -> tuple[Tensor, Tensor]:
    """Las voces de entrenar, (voice, samples), sin parejas reservadas, y el tono de cada una."""
    spoken = vowels.generate(RECIPE["voices"], seed, lengths=RECIPE["lengths"], noise=None)
    waves = torch.stack([vowels.sound(one) for one in spoken])
    return waves, torch.tensor([one.pitch for one in spoken])


def batches(seed: int, kind: str) -> Iterator[Mixture]:
    """Lotes de mezclas nuevas, cada voz desde otro instante.

    En ``pitch``, la voz grave va primero. En ``close``, un tono no llega a 1.03 veces el otro.
    """
    waves, pitch = bank(seed)
    dice, apart = rng.generator(100 + seed), RECIPE["apart"]
    low, high = (1.0, CLOSE) if kind == "close" else (apart, 9.0)
    for _ in range(RECIPE["steps"]):
        pairs: list[list[int]] = []
        while len(pairs) < RECIPE["batch"]:
            two = torch.randint(len(waves), (2,), generator=dice)
            if two[0] != two[1] and low <= pitch[two].max() / pitch[two].min() < high:
                if kind == "pitch":
                    two = two[pitch[two].argsort()]
                pairs.append(two.tolist())
        starts = torch.randint(RECIPE["latest"], (len(pairs), 2), generator=dice)
        places = starts[..., None] + torch.arange(RECIPE["samples"])
        voices = waves[torch.tensor(pairs)].gather(2, places)  # (batch, 2, samples)
        yield Mixture(voices.sum(1), voices)


def cut(pairs: list[tuple[Example, Example]]) -> Tensor:
    """Las dos voces de cada mezcla, (batch, 2, samples), desde el principio."""
    return vowels.mix(pairs).voices[..., : EXAM["samples"]]


@cache
def exam(seed: int) -> list[tuple[Example, Example]]:
    """Mezclas apartadas: las dos voces dicen alguna pareja reservada, en otras palabras."""
    count, least = EXAM["mixtures"], min(RECIPE["lengths"])
    drawn = vowels.mixtures(4 * count, 10_000 + seed, split="test", apart=RECIPE["apart"])
    long = [pair for pair in drawn if min(len(one.vowels) for one in pair) >= least]
    return long[:count]


def retuned(seed: int, ratio: float, *, same: bool = False) -> list[tuple[Example, Example]]:
    """Las palabras del examen, con un tono ``ratio`` veces el otro; con ``same``, una sola palabra.

    Para cada razón, las mismas palabras, los mismos tractos y el mismo tono grave. Con ``same``,
    las dos voces se distinguen solo en el tono.
    """
    dice = rng.generator(20_000 + seed)
    low, high = PITCHES[0], PITCHES[1] / max(EXAM["ratios"])
    found = []
    for one, two in exam(seed):
        pitch = low + (high - low) * torch.rand(1, generator=dice).item()
        other = one if same else two
        found.append((one._replace(pitch=pitch), other._replace(pitch=ratio * pitch)))
    return found


def improvement(outputs: Tensor, voices: Tensor) -> Tensor:
    """Los decibelios de SI-SNR, (batch,), que ganan las salidas a la mezcla tal cual."""
    mixture = voices.sum(1, keepdim=True).expand_as(voices)
    before = audio.separation(mixture, voices).si_snr
    return audio.separation(outputs, voices).si_snr - before


@torch.no_grad()
def gains(model: nn.Module, voices: Tensor) -> Tensor:
    """La mejora de un modelo en cada mezcla, (batch,)."""
    return improvement(model.eval()(voices.sum(1)), voices)


# --- Entrenar -------------------------------------------------------------------------------------


@torch.no_grad()
def untrained() -> SepFormer:
    """Un SepFormer cuyos filtros empiezan siendo cosenos y senos con ventana, con los dos signos.

    Se entrenan después como lo demás. Con una semilla, así aprendió en menos pasos que al azar.
    """
    model = SepFormer(SepFormerConfig(**RECIPE["model"]))
    c = model.config
    hertz = torch.linspace(60.0, RECIPE["top"], c.n_filters // 4)
    times = (torch.arange(c.kernel_size) - c.kernel_size / 2) / RATE
    angles = 2 * math.pi * torch.outer(hertz, times)
    waves = torch.cat([angles.cos(), angles.sin(), -angles.cos(), -angles.sin()])
    waves = F.normalize(waves * audio.window("hann", c.kernel_size), dim=1)
    model.filters.weight.copy_(waves[:, None])
    model.decoder.weight.copy_(0.3 * waves[:, None])
    return model


def fixed_loss(model: nn.Module, lot: Mixture) -> Tensor:
    """La misma pérdida con la asignación fija: la salida 1 debe ser la voz 1."""
    return -audio.si_snr(model(lot.heard), lot.voices).mean()


def train(kind: str, seed: int) -> tuple[SepFormer, dict[str, Any]]:
    """Entrena uno. ``pit`` y ``close`` eligen la asignación; ``fixed`` y ``pitch`` la tienen dada.

    En ``fixed`` la da el azar con que se hizo la mezcla; en ``pitch``, el tono.
    """
    r = RECIPE
    rng.seed_all(seed)
    model = untrained()
    bank(seed)
    clock = time.process_time()
    fit(
        model,
        batches(seed, kind),
        fixed_loss if kind in ("fixed", "pitch") else sepformer_loss,
        steps=r["steps"],
        optimizer=torch.optim.AdamW(
            parameter_groups(model, weight_decay=r["weight_decay"]), lr=r["rate"], fused=True
        ),
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        progress=False,
    )
    seconds = round(time.process_time() - clock, 1)
    return model, {"seed": seed, "seconds": seconds, **marks(model, seed)}


def marks(model: nn.Module, seed: int) -> dict[str, Any]:
    """La mejora en el examen, y según qué distingue a las dos voces."""
    found = gains(model, cut(exam(seed)))
    close = {str(ratio): gains(model, cut(retuned(seed, ratio))) for ratio in EXAM["ratios"]}
    twins = gains(model, cut(retuned(seed, max(EXAM["ratios"]), same=True)))
    return figures(
        {
            "parameters": sum(p.numel() for p in model.parameters()),
            "gain": found.mean().item(),
            "better": (found > 0).double().mean().item(),
            "ratios": {name: gain.mean().item() for name, gain in close.items()},
            "twins": twins.mean().item(),
        }
    )


def alike(seed: int, *, words: bool, times: bool) -> list[tuple[Example, Example]]:
    """Las voces del examen con el mismo tracto; de un tono al otro, la razón mayor.

    Con ``words`` dicen vocales distintas; con ``times``, cada una a su tiempo. Las que no, las de
    la primera. Las dos tienen las mismas vocales, las que caben en la más corta.
    """
    found = []
    for one, two in retuned(seed, max(EXAM["ratios"])):
        n = min(len(one.vowels), len(two.vowels))
        said, when = two if words else one, two if times else one
        same = {"lengths": when.lengths[:n], "gaps": when.gaps[:n], "tract": one.tract}
        short = one._replace(vowels=one.vowels[:n], lengths=one.lengths[:n], gaps=one.gaps[:n])
        found.append((short, two._replace(vowels=said.vowels[:n], **same)))
    return found


def cues(seed: int) -> dict[str, Any]:
    """La mejora con dos tonos según en qué más se distinguen las voces; en nada, ``twins``."""
    once("pit", seed)
    model = MEMORY.fill(untrained(), f"separar-pit-{seed}")
    kinds = {"words": (True, False), "times": (False, True), "both": (True, True)}
    found = {
        name: gains(model, cut(alike(seed, words=words, times=times))).mean().item()
        for name, (words, times) in kinds.items()
    }
    return figures({"seed": seed, **found})


# --- Sin aprender ---------------------------------------------------------------------------------

SIZE, HOP = 1024, 64
"""El marco de los peines, que ha de separar los múltiplos de las dos voces, y lo que avanza."""


def masked(mixture: Tensor, masks: Tensor, size: int) -> Tensor:
    """Las salidas, (batch, 2, samples), de unas máscaras sobre la STFT de la mezcla."""
    heard = audio.stft(mixture, size, HOP)[:, None]
    outputs = audio.istft(heard * masks, size, HOP)
    return F.pad(outputs, (0, mixture.shape[-1] - outputs.shape[-1]))


def away(frequencies: Tensor, pitch: Tensor) -> Tensor:
    """Los hercios que separan cada frecuencia del múltiplo más cercano de cada tono, (…, bin)."""
    turns = frequencies / pitch[..., None]
    return (turns - turns.round().clamp(min=1)).abs() * pitch[..., None]


def comb(mixture: Tensor, pitch: Tensor) -> Tensor:
    """Un peine: cada frecuencia, para la voz que tiene un múltiplo de su tono más cerca."""
    far = away(audio.bins(SIZE, RATE), pitch)  # (batch, 2, bin)
    mine = far == far.amin(1, keepdim=True)
    return masked(mixture, mine[:, :, None].to(mixture), SIZE)


def two_pitches(mixture: Tensor) -> Tensor:
    """Los dos tonos de cada mezcla, (batch, 2), sin saberlos ni aprender nada.

    De cada pareja de tonos, cuánto del espectro cae a menos de 3 Hz de un múltiplo, menos la parte
    de las frecuencias que están a menos de 3 Hz de uno. Gana la mayor.
    """
    n = mixture.shape[-1]
    spectrum = torch.fft.rfft(mixture * audio.window("hann", n), 16_384).abs()
    hertz = torch.fft.rfftfreq(16_384, 1 / RATE)
    share = spectrum[:, hertz < 2500] / spectrum[:, hertz < 2500].sum(-1, keepdim=True)
    options = torch.arange(*PITCHES, 1.0)
    near = (away(hertz[hertz < 2500].expand(len(options), -1), options) < 3).float()
    surplus = share - 1 / share.shape[-1]  # lo que cae en cada frecuencia, menos lo que tocaría
    one = surplus @ near.T  # (batch, option)
    both = torch.einsum("bf,if,jf->bij", surplus, near, near)
    score = one[:, :, None] + one[:, None] - both
    far = options[:, None] >= RECIPE["apart"] * options
    best = score.masked_fill(~far, -torch.inf).flatten(1).argmax(1)
    return torch.stack([options[best // len(options)], options[best % len(options)]], 1)


def told(pairs: list[tuple[Example, Example]]) -> float:
    """Lo que mejora el peine que sabe los dos tonos."""
    voices = cut(pairs)
    pitch = torch.tensor([[one.pitch for one in pair] for pair in pairs])
    return improvement(comb(voices.sum(1), pitch), voices).mean().item()


def best_cut(mixture: Tensor, voices: Tensor) -> float:
    """Partir en graves y agudos: el mejor corte, elegido con el propio examen."""
    spectrum, n = torch.fft.rfft(mixture), mixture.shape[-1]
    hertz = torch.fft.rfftfreq(n, 1 / RATE)
    found = []
    for edge in range(100, 3000, 50):
        halves = [torch.fft.irfft(spectrum * side, n) for side in (hertz < edge, hertz >= edge)]
        found.append(improvement(torch.stack(halves, 1), voices).mean().item())
    return max(found)


def baselines(seed: int) -> dict[str, Any]:
    """Lo que mejoran, en el mismo examen, otros que no aprenden.

    ``told`` sabe los dos tonos; ``ideal`` y ``when`` ven las dos voces. ``when`` reparte cada marco
    entre las dos según cuánto suena cada una, sin mirar las frecuencias: lo que dan los silencios.
    """
    pairs = exam(seed)
    voices = cut(pairs)
    mixture = voices.sum(1)
    pitch = torch.tensor([[one.pitch for one in pair] for pair in pairs])
    guess = two_pitches(mixture)
    wrong = (guess.sort(1).values - pitch.sort(1).values).abs().amax(1)
    power = audio.stft(voices, 512, HOP).abs()
    ideal = (power == power.amax(1, keepdim=True)).to(power)
    loud = power.square().sum(-1, keepdim=True).sqrt()
    when = loud / loud.sum(1, keepdim=True).clamp(min=1e-8)
    outputs = {
        "comb": comb(mixture, guess),
        "told": comb(mixture, pitch),
        "ideal": masked(mixture, ideal, 512),
        "when": masked(mixture, when, 512),
    }
    found = {name: improvement(out, voices).mean().item() for name, out in outputs.items()}
    found |= {"cut": best_cut(mixture, voices), "found": (wrong < 3).double().mean().item()}
    found["ratios"] = {str(ratio): told(retuned(seed, ratio)) for ratio in EXAM["ratios"]}
    return figures({"seed": seed, **found})


# --- Guardar lo hecho -----------------------------------------------------------------------------

TRAINED: dict[str, int] = {"pit": SEEDS, "fixed": SOME, "pitch": SOME, "close": SOME}
ASKED: dict[str, Callable] = {"baselines": baselines, "cues": cues}
KINDS = TRAINED | dict.fromkeys(ASKED, SEEDS)


def once(kind: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior."""
    work = partial(ASKED[kind], seed) if kind in ASKED else partial(train, kind, seed)
    return MEMORY.once(f"separar-{kind}-{seed}", {"recipe": RECIPE | EXAM, "kind": kind}, work)


def separating() -> dict[str, Any]:
    """Los SepFormer y sus controles, semilla a semilla."""
    runs = {kind: [once(kind, seed) for seed in range(count)] for kind, count in KINDS.items()}
    return {"recipe": RECIPE, "exam": EXAM, "runs": runs}


def stored_splitter() -> tuple[SepFormer, dict[str, Any]]:
    """El SepFormer que viaja guardado: la semilla de mejora más cercana a la media de las diez."""
    runs = [once("pit", seed) for seed in range(SEEDS)]
    middle = sum(run["gain"] for run in runs) / len(runs)
    seed = min(range(SEEDS), key=lambda i: abs(runs[i]["gain"] - middle))
    model = SepFormer(SepFormerConfig(**RECIPE["model"]))
    model = rounded(MEMORY.fill(model, f"separar-pit-{seed}")).eval()
    gain = round(gains(model, cut(exam(seed))).mean().item(), 4)
    card = {"recipe": RECIPE | {"exam": EXAM}, "seed": seed, "seconds": runs[seed]["seconds"]}
    return model, card | {"marks": {"gain": gain}}


PESOS: dict[str, Callable] = {"separar": stored_splitter}
PARTES: dict[str, Callable] = {"separating": separating}
