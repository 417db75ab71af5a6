"""Capítulo 21: un wav2vec 2.0 pequeño que oye sin etiquetas, y qué se gana al darle unas pocas.

Preentrena con ondas de las que no se sabe qué dicen. Después, con unos pocos sonidos etiquetados,
se compara con el mismo modelo sin preentrenar: a los mismos pasos y al mismo cómputo. El examen son
palabras con una pareja reservada, que no salen nunca al entrenar, con otras voces y otro ruido.

Cada ejecución se guarda en ``.cache/semillas-21`` con su receta, como las de ``cap21.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import torch
from recuerdo import Memory, rounded
from torch import Tensor, nn
from torch.nn import functional as F

from atento import rng
from atento.models.wav2vec2 import (
    Wav2Vec2,
    Wav2Vec2Config,
    Wav2Vec2Pretraining,
    draw_negatives,
    draw_spans,
    pretraining_loss,
)
from atento.tasks import vowels
from atento.tasks.vowels import RATE, VOWELS, Example
from atento.training import fit, parameter_groups, warmup_cosine

RECIPE: dict[str, Any] = {
    "convs": [[32, 10, 5], [32, 3, 2], [32, 3, 2], [32, 3, 2], [32, 2, 2]],
    "codes": 16,
    "init_std": 0.1,
    "length": 3,  # vocales en cada sonido
    "seconds": 0.9,
    "emphasis": 0.97,  # a cada muestra se le resta casi toda la anterior: suben los agudos
    "sounds": 1000,
    "steps": 500,
    "batch": 16,
    "rate": 2e-3,
    "conv_rate": 6e-4,
    "share": 0.1,
    "span": 6,
    "negatives": 10,
    "coldest": 0.5,
    "loud": 0.1,  # suena lo que pasa de esta parte de la energía mayor
    "exam": 150,
}
TUNING: dict[str, Any] = {
    "labelled": [10, 30, 100],
    "steps": 150,
    "more": 850,  # los pasos de ajuste que cuesta el preentrenamiento, medidos en segundos
    "batch": 10,
    "rate": 3e-3,
    "weight_decay": 0.05,
    "share": 0.1,
    "span": 6,
    "ridge": 1e-3,
}
NOISE = 10.0
"""Los decibelios que la voz saca al ruido, los del capítulo."""

SEEDS = 10
MEMORY = Memory(21)


# --- Los sonidos ----------------------------------------------------------------------------------


def config() -> Wav2Vec2Config:
    r = RECIPE
    convs = tuple((out, kernel, stride) for out, kernel, stride in r["convs"])
    return Wav2Vec2Config(convs, codes=r["codes"], init_std=r["init_std"])


STEP = 80  # muestras entre fila y fila: 10 ms
ROWS = 89


@cache
def heard(seed: int) -> list[Example]:
    """Los de entrenar, sin parejas reservadas: los primeros son los etiquetados."""
    return vowels.generate(RECIPE["sounds"], seed, lengths=RECIPE["length"], noise=NOISE)


@cache
def exam(seed: int) -> list[Example]:
    """Apartados: otras voces y palabras que al entrenar no salen."""
    n, long = RECIPE["exam"], RECIPE["length"]
    return vowels.generate(n, 10_000 + seed, split="test", lengths=long, noise=NOISE)


def raw(examples: list[Example]) -> Tensor:
    """Las ondas, (batch, samples), cortadas donde ya no habla nadie."""
    long = round(RECIPE["seconds"] * RATE)
    return torch.stack([vowels.sound(example)[:long] for example in examples])


def sharp(waves: Tensor) -> Tensor:
    """Lo que oye el modelo: las ondas con los agudos subidos, a la misma intensidad media."""
    past = F.pad(waves, (1, 0))[:, :-1]
    waves = waves - RECIPE["emphasis"] * past
    return waves / waves.std(dim=-1, keepdim=True)


def sounding(waves: Tensor) -> Tensor:
    """Qué filas suenan, (batch, frame), por su energía y sin saber qué se dice."""
    energy = waves[:, : ROWS * STEP].unfold(1, STEP, STEP).square().mean(-1)
    return energy > RECIPE["loud"] * energy.amax(1, keepdim=True)


def places(example: Example) -> list[tuple[int, int]]:
    """De qué fila a qué fila va cada vocal."""
    clock, found = 0.0, []
    for gap, long in zip(example.gaps, example.lengths, strict=True):
        first = round((clock + gap) * RATE / STEP)
        clock += gap + long
        found.append((first, min(ROWS, round(clock * RATE / STEP))))
    return found


def labels(examples: list[Example]) -> Tensor:
    """La vocal de cada fila, (batch, frame); donde no hay, −100."""
    table = torch.full((len(examples), ROWS), -100)
    for row, example in zip(table, examples, strict=True):
        for name, (first, last) in zip(example.vowels, places(example), strict=True):
            row[first:last] = VOWELS.index(name)
    return table


# --- Preentrenar ----------------------------------------------------------------------------------


def hide(allowed: Tensor, dice: torch.Generator) -> tuple[Tensor, Tensor]:
    """Lo tapado y los negativos, solo donde suena."""
    masked = draw_spans(allowed, RECIPE["share"], RECIPE["span"], dice)
    return masked, draw_negatives(masked, RECIPE["negatives"], dice)


def lots(seed: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    waves = raw(heard(seed))
    allowed, x = sounding(waves), sharp(waves)
    dice = rng.generator(100 + seed)
    while True:
        some = torch.randint(len(x), (RECIPE["batch"],), generator=dice)
        yield (x[some], *hide(allowed[some], dice))


def untrained(seed: int) -> Wav2Vec2Pretraining:
    rng.seed_all(seed)
    return Wav2Vec2Pretraining(config())


def groups(model: Wav2Vec2Pretraining) -> list[dict[str, Any]]:
    """Las convoluciones van más despacio: son también lo que se ha de adivinar."""
    convs = list(model.model.listen.parameters())
    slow = {id(p) for p in convs}
    rest = [p for p in model.parameters() if id(p) not in slow]
    return [{"params": convs, "lr": RECIPE["conv_rate"]}, {"params": rest, "lr": RECIPE["rate"]}]


def pretrain(seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """Preentrena sin etiquetas; devuelve el modelo con lo que acierta y sus controles."""
    r, model = RECIPE, untrained(seed)

    def cool(state: Any) -> None:
        assert model.quantizer is not None
        model.quantizer.temperature = 2 * (r["coldest"] / 2) ** (state.step / r["steps"])

    clock = time.process_time()
    fit(
        model,
        lots(seed),
        pretraining_loss,
        steps=r["steps"],
        optimizer=torch.optim.AdamW(groups(model), weight_decay=0.01),
        schedule=warmup_cosine(r["steps"], warmup=r["steps"] // 10),
        callbacks=[cool],
        progress=False,
    )
    seconds = round(time.process_time() - clock, 2)
    found = {"parameters": sum(p.numel() for p in model.parameters()), "seconds": seconds}
    return model, {"seed": seed, **found, **rounded(choosing(model, seed))}


# --- Elegir lo tapado -----------------------------------------------------------------------------


@torch.no_grad()
def choosing(model: Wav2Vec2Pretraining, seed: int) -> dict[str, float]:
    """Cuántas filas tapadas del examen elige bien, con sus controles.

    ``luck``, lo que da el azar sin contar los negativos iguales; ``copy``, quien responde con la
    fila que se ve más cerca; ``blind``, el mismo modelo con todo tapado; ``untrained``, antes de
    entrenar. ``other`` y ``same``, cuántas veces gana a un negativo de otra vocal y de la misma.
    """
    waves = raw(exam(seed))
    x, (masked, negatives) = sharp(waves), hide(sounding(waves), rng.generator(300 + seed))
    guess, blind = model.eval()(x, masked), model(x, torch.ones_like(masked))
    first = untrained(seed).eval()
    start = first(x, masked)
    pick = partial(picks, masked=masked, negatives=negatives)
    wins, same, luck = pick(guess.context, guess.targets)
    vowel = labels(exam(seed))
    which = masked.nonzero()[:, 0]
    alike = vowel[which[:, None], negatives[masked]] == vowel[masked][:, None]
    return {
        "model": wins.all(1).double().mean().item(),
        "luck": luck.mean().item(),
        "copy": pick(nearest(guess.targets, masked), guess.targets)[0]
        .all(1)
        .double()
        .mean()
        .item(),
        "blind": pick(blind.context, guess.targets)[0].all(1).double().mean().item(),
        "untrained": pick(start.context, start.targets)[0].all(1).double().mean().item(),
        "untrained-luck": pick(start.context, start.targets)[2].mean().item(),
        "other": wins[~alike & ~same].double().mean().item(),
        "same": wins[alike & ~same].double().mean().item(),
    }


def picks(
    context: Tensor, targets: Tensor, *, masked: Tensor, negatives: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """A qué negativos gana lo verdadero, ``(hidden, count)``, cuáles son iguales, y el azar."""
    which = masked.nonzero()[:, 0]
    right = targets[masked][:, None]
    others = targets[which[:, None], negatives[masked]]
    scores = F.cosine_similarity(context[masked][:, None], torch.cat([right, others], 1), dim=-1)
    same = (others == right).all(-1)
    return (scores[:, :1] > scores[:, 1:]) | same, same, 1 / (1 + (~same).sum(1).double())


def nearest(targets: Tensor, masked: Tensor) -> Tensor:
    """De cada fila, la más cercana de las que se ven."""
    at = torch.arange(masked.shape[1])
    far = (at[:, None] - at).abs().expand(len(masked), -1, -1)
    seen = far.masked_fill(masked[:, None], len(at)).argmin(-1)
    return torch.take_along_dim(targets, seen[..., None], 1)


# --- Con unas pocas etiquetas ---------------------------------------------------------------------


class Reader(nn.Module):
    """El modelo y una capa que da las puntuaciones de las cinco vocales en cada fila."""

    def __init__(self, model: Wav2Vec2, dice: torch.Generator) -> None:
        super().__init__()
        self.model, self.dice = model, dice
        self.head = nn.Linear(model.config.d_model, len(VOWELS))

    def forward(self, waves: Tensor) -> Tensor:
        masked = None
        if self.training:  # se tapan trozos, como en el artículo
            everywhere = torch.ones(len(waves), ROWS, dtype=torch.bool)
            masked = draw_spans(everywhere, TUNING["share"], TUNING["span"], self.dice)
        return self.head(self.model(waves, masked))


def tune(kind: str, count: int, seed: int, rate: float) -> dict[str, Any]:
    """Ajusta con ``count`` sonidos etiquetados; ``kind``, desde dónde y cuántos pasos."""
    t = TUNING
    steps = t["steps"] + (t["more"] if kind == "longer" else 0)
    known, asked = heard(seed)[:count], exam(seed)
    x, y = sharp(raw(known)), labels(known)
    rng.seed_all(500 + seed)
    model = Wav2Vec2(config())
    if kind == "pretrained":
        model.load_state_dict(pretrained(seed).model.state_dict())
    reader = Reader(model, rng.generator(700 + seed))
    dice = rng.generator(900 + seed)

    def some() -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            rows = torch.randperm(count, generator=dice)[: t["batch"]]
            yield x[rows], y[rows]

    clock = time.process_time()
    fit(
        reader,
        some(),
        lambda m, lot: F.cross_entropy(m(lot[0]).flatten(0, 1), lot[1].flatten()),
        steps=steps,
        optimizer=torch.optim.AdamW(
            parameter_groups(reader, weight_decay=t["weight_decay"]), lr=rate
        ),
        schedule=warmup_cosine(steps, warmup=steps // 10),
        progress=False,
    )
    seconds = round(time.process_time() - clock, 2)
    with torch.no_grad():
        said = reader.eval()(sharp(raw(asked)))
    return {"seed": seed, "seconds": seconds, "right": round(right(said, asked), 4)}


def right(scores: Tensor, examples: list[Example]) -> float:
    """Cuántas vocales acierta, con la media de las puntuaciones de sus filas."""
    hits = [
        VOWELS[int(rows[first:last].mean(0).argmax())] == name
        for rows, example in zip(scores, examples, strict=True)
        for name, (first, last) in zip(example.vowels, places(example), strict=True)
    ]
    return sum(hits) / len(hits)


def pretrained(seed: int) -> Wav2Vec2Pretraining:
    """El preentrenado con esa semilla, ahora o antes."""
    once("pretrain", seed)
    return MEMORY.fill(untrained(seed), f"wave-pretrain-{seed}")


# --- Sondas ---------------------------------------------------------------------------------------


def probes(seed: int) -> dict[str, Any]:
    """Sondas lineales sobre filas que no se tocan: preentrenadas, sin entrenar y log-mel."""
    sources: dict[str, Any] = {
        "pretrained": lambda waves: pretrained(seed).model.eval()(sharp(waves)),
        "untrained": lambda waves: untrained(seed).model.eval()(sharp(waves)),
        "mel": lambda waves: vowels.features(waves)[:, :ROWS],
    }
    found: dict[str, Any] = {"seed": seed}
    for name, look in sources.items():
        with torch.no_grad():
            known = look(raw(heard(seed)[: max(TUNING["labelled"])]))
            asked = look(raw(exam(seed)))
        for count in TUNING["labelled"]:
            said = probe(known[:count], labels(heard(seed)[:count]), asked)
            found.setdefault(name, []).append(round(right(said, exam(seed)), 4))
    return found


def probe(known: Tensor, wanted: Tensor, asked: Tensor) -> Tensor:
    """Las puntuaciones de una capa lineal ajustada con ``known`` en las filas de ``asked``."""
    rows, targets = known[wanted >= 0], wanted[wanted >= 0]
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    rows = (rows - mean) / spread
    head = nn.Linear(rows.shape[1], len(VOWELS))
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    optimizer = torch.optim.LBFGS(head.parameters(), max_iter=200)

    def closure() -> Tensor:
        optimizer.zero_grad()
        ridge = TUNING["ridge"] * head.weight.square().sum()
        loss = F.cross_entropy(head(rows), targets) + ridge
        loss.backward()
        return loss

    optimizer.step(closure)
    return head((asked - mean) / spread).detach()


# --- Guardar lo hecho -----------------------------------------------------------------------------

LEAST = min(TUNING["labelled"])
SWEPT = ("0.001", "0.01")  # otras tasas al ajustar, por si la de siempre favorece a uno
NAMES = (
    *("pretrain", "probes", f"longer-{LEAST}"),
    *(f"{kind}-{LEAST}-{rate}" for rate in SWEPT for kind in ("pretrained", "scratch")),
    *(f"{kind}-{count}" for count in TUNING["labelled"] for kind in ("pretrained", "scratch")),
)


def once(name: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior."""
    kind, *asked = name.split("-")
    count, rate = [*map(float, asked), *(0, TUNING["rate"])[len(asked) :]]
    recipe = RECIPE if kind == "pretrain" else RECIPE | {"tuning": TUNING}
    whole = {"pretrain": partial(pretrain, seed), "probes": partial(probes, seed)}
    work = whole.get(kind) or partial(tune, kind, int(count), seed, rate)
    return MEMORY.once(f"wave-{name}-{seed}", {"recipe": recipe, "kind": name}, work)


def unlabelled() -> dict[str, Any]:
    """Todo, semilla a semilla: el preentrenamiento, las sondas, los ajustes y los controles."""
    runs = {name: [once(name, seed) for seed in range(SEEDS)] for name in NAMES}
    return {"recipe": RECIPE, "tuning": TUNING, "noise": NOISE, "runs": runs}


PARTES: dict[str, Callable] = {"unlabelled": unlabelled}
