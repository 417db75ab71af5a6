"""Capítulo 21: un Whisper pequeño oye vocales, y los controles que dicen cuánto adivina.

Cada ejecución se guarda en ``.cache/semillas-21`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from atento import rng
from atento.models.whisper import Whisper, WhisperConfig
from atento.tasks import vowels
from atento.tasks.translation.vocabulary import Batch
from atento.tasks.vowels import VOCABULARY, VOWELS, Example
from atento.trained import rounded
from atento.training import evaluate, fit, parameter_groups, warmup_cosine
from atento.watching import watching

RECIPE_21: dict[str, Any] = {
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 128,
    "n_layers": 2,
    "audio_len": 80,
    "max_len": 16,
    "examples": 1200,
    "steps": 400,
    "batch": 32,
    "rate": 3e-3,
    "warmup": 60,
    "weight_decay": 0.05,
    "every": 50,
    "exam": 150,
    "changed": 0.5,  # las vocales ya escritas que se cambian por otra, en «changed»
}
SEEDS, SOME = 5, 3
CACHE_21 = Path(__file__).resolve().parents[2] / ".cache" / "semillas-21"


# --- Whisper pequeño ------------------------------------------------------------------------------


def config() -> WhisperConfig:
    r = RECIPE_21
    same = ("d_model", "n_heads", "d_ff", "n_layers", "audio_len", "max_len")
    sizes: dict[str, Any] = {name: r[name] for name in same}
    return WhisperConfig(len(VOCABULARY), n_mels=vowels.N_MELS, **sizes)


@cache
def heard(seed: int) -> Batch:
    """Los de entrenar, sin parejas reservadas y ya en espectrogramas."""
    return vowels.batch(vowels.generate(RECIPE_21["examples"], seed))


@cache
def exams(seed: int) -> dict[str, list[Example]]:
    """Apartados: con las parejas de entrenar y con alguna reservada en cada palabra."""
    n = RECIPE_21["exam"]
    seen = vowels.generate(n, 10_000 + seed)
    reserved = vowels.generate(n, 20_000 + seed, split="test")
    return {"seen": seen, "reserved": reserved, "held": vowels.generate(100, 30_000 + seed)}


def loss(model: nn.Module, lot: Batch) -> Tensor:
    """La entropía cruzada de cada vocal siguiente, con enseñanza forzada."""
    said = model(lot.source, lot.target[:, :-1])
    wanted = lot.target[:, 1:]
    return F.cross_entropy(said.flatten(0, 1), wanted.flatten(), ignore_index=0)


def batches(data: Batch, seed: int, changed: float = 0.0) -> Any:
    """Lotes al azar; ``changed`` de las vocales ya escritas se cambian por otra al azar."""
    source = rng.generator(100 + seed)
    first = VOCABULARY.encode([VOWELS[0]])[0]
    for _ in range(RECIPE_21["steps"]):
        rows = torch.randint(len(data.source), (RECIPE_21["batch"],), generator=source)
        yield (
            Batch(data.source[rows], data.target[rows])
            if not changed
            else Changed(data.source[rows], data.target[rows], first, changed, source)
        )


class Changed:
    """Un lote cuyo texto ya escrito lleva vocales cambiadas; lo que se pide es lo mismo."""

    def __init__(self, source: Tensor, target: Tensor, first: int, share: float, dice: Any) -> None:
        self.source, self.wanted = source, target[:, 1:]
        given = target[:, :-1]
        other = torch.randint(first, first + len(VOWELS), given.shape, generator=dice)
        swap = (torch.rand(given.shape, generator=dice) < share) & (given >= first)
        self.given = torch.where(swap, other, given)


def changed_loss(model: nn.Module, lot: Any) -> Tensor:
    said = model(lot.source, lot.given)
    return F.cross_entropy(said.flatten(0, 1), lot.wanted.flatten(), ignore_index=0)


def train(kind: str, seed: int) -> tuple[Whisper, dict[str, Any]]:
    """Entrena un Whisper pequeño; lo devuelve con lo que se guarda de él."""
    r, data = RECIPE_21, heard(seed)
    held = vowels.batch(exams(seed)["held"])
    rng.seed_all(seed)
    model = Whisper(config())
    groups = parameter_groups(model, weight_decay=r["weight_decay"])
    clock = time.process_time()
    path: list[dict[str, float]] = []

    def look(state: Any) -> None:
        if state.step % r["every"] == 0:
            path.append({"step": state.step, **forced(state.model, exams(seed)["reserved"])})
            state.model.train()

    history = fit(
        model,
        batches(data, seed, r["changed"] if kind == "changed" else 0.0),
        changed_loss if kind == "changed" else loss,
        steps=r["steps"],
        optimizer=torch.optim.AdamW(groups, lr=r["rate"], fused=True),
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        callbacks=[evaluate(lambda m: {"held": loss(m, held).item()}, every=r["every"]), look],
        progress=False,
    )
    seconds = round(time.process_time() - clock, 2)
    curve = [round(value, 4) for _, value in history.metrics["held"]]
    return model, {
        "seed": seed,
        "seconds": seconds,
        "curve": curve,
        "path": path,
        **marks(model, seed),
    }


def cer(said: list[str], wanted: list[str]) -> float:
    spoken = sum(map(len, wanted))
    return sum(vowels.edits(a, b) for a, b in zip(said, wanted, strict=True)) / spoken


def marks(model: Whisper, seed: int) -> dict[str, Any]:
    """La CER con parejas vistas y reservadas, con el audio de otro, y vocal a vocal."""
    found: dict[str, Any] = {"parameters": sum(p.numel() for p in model.parameters())}
    for name in ("seen", "reserved"):
        exam = exams(seed)[name]
        found[name] = round(vowels.score(model, exam)["cer"], 5)
    exam = exams(seed)["seen"]
    said = vowels.transcribe(model, exam)
    moved = said[1:] + said[:1]  # lo que escribe al oír el de la siguiente
    found["other"] = round(cer(moved, [x.vowels for x in exam]), 5)
    found["looks"] = looks(model, exams(seed)["seen"])
    return found | {"forced": forced(model, exams(seed)["reserved"])}


@torch.no_grad()
def forced(model: Whisper, exam: list[Example]) -> dict[str, float]:
    """Con lo anterior bien escrito, cuántas vocales elige bien, según la pareja que cierran.

    ``usual`` es la proporción de errores, al acabar una pareja reservada, en que escribe una vocal
    que sí podía seguir a la anterior.
    """
    lot = vowels.batch(exam)
    said = model.eval()(lot.source, lot.target[:, :-1])
    names = [VOCABULARY.decode([k])[:1] for k in range(said.shape[-1])]
    chosen = said.argmax(-1)
    hits: dict[str, list[bool]] = {"first": [], "known": [], "reserved": []}
    usual = []
    for row, example in zip(chosen.tolist(), exam, strict=True):
        word = example.vowels
        for i, right in enumerate(word):
            wrote = "".join(names[row[i]])
            pair = word[i - 1 : i + 1]
            kind = "first" if i == 0 else "reserved" if vowels.is_held_out(pair) else "known"
            hits[kind].append(wrote == right)
            if kind == "reserved" and wrote != right:
                usual.append(wrote in VOWELS)
    means = {name: round(sum(x) / len(x), 4) for name, x in hits.items()}
    return means | {"usual": round(sum(usual) / max(1, len(usual)), 4)}


@torch.no_grad()
def looks(model: Whisper, exam: list[Example]) -> list[dict[str, float]]:
    """De cada capa, qué parte de la atención cruzada, al escribir una vocal, cae en su sonido.

    ``chance`` es la parte del tiempo que ocupa; ``ordered``, en cuántas palabras el peso mayor de
    cada vocal llega más tarde que el de la anterior.
    """
    lot = vowels.batch(exam)
    with watching(model.eval()) as maps:
        model(lot.source, lot.target[:, :-1])
    layers = range(RECIPE_21["n_layers"])
    return [where(maps[f"decoder.blocks.{k}.cross_attention"].mean(1).cpu(), exam) for k in layers]


def where(weights: Tensor, exam: list[Example]) -> dict[str, float]:
    """Lo de :func:`looks` con los pesos de una capa, (batch, target, source)."""
    found: dict[str, list[float]] = {"inside": [], "chance": [], "ordered": []}
    for row, example in zip(weights, exam, strict=True):
        clock, tops = 0.0, []
        for i, (gap, long) in enumerate(zip(example.gaps, example.lengths, strict=True)):
            first = round((clock + gap) * 50)  # una fila cada 20 ms
            clock += gap + long
            last = round(clock * 50)
            found["inside"].append(row[i, first:last].sum().item())
            found["chance"].append((last - first) / row.shape[-1])
            tops.append(row[i].argmax().item())
        found["ordered"].append(all(a < b for a, b in pairwise(tops)))
    return {name: round(sum(x) / len(x), 4) for name, x in found.items()}


def rule(seed: int) -> dict[str, Any]:
    """La línea de base: la regla de los formantes, sin aprender nada."""
    names = ("seen", "reserved")
    exam = exams(seed)
    found = {k: round(vowels.score(vowels.by_rule, exam[k])["cer"], 5) for k in names}
    return {"seed": seed, **found}


# --- Guardar lo hecho -----------------------------------------------------------------------------

KINDS: dict[str, int] = {"plain": SEEDS, "rule": SEEDS, "changed": SOME}


def once(name: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior; los pesos quedan al lado."""
    path = CACHE_21 / f"{name}-{seed}.json"
    made = {"torch": str(torch.__version__), "recipe": RECIPE_21, "kind": name}
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["made"] == made:
            return found["run"]
    path.parent.mkdir(parents=True, exist_ok=True)
    if name == "rule":
        run = rule(seed)
    else:
        model, run = train(name, seed)
        torch.save(model.state_dict(), path.with_suffix(".pt"))
    print(name, run, flush=True)
    path.write_text(json.dumps({"made": made, "run": run}), encoding="utf-8")
    return run


def chapter() -> dict[str, Any]:
    """Todas las redes y sus controles, semilla a semilla."""
    runs = {name: [once(name, seed) for seed in range(count)] for name, count in KINDS.items()}
    return {"recipe": RECIPE_21, "runs": runs}


def stored_whisper() -> tuple[Whisper, dict[str, Any]]:
    """El Whisper que viaja guardado: la semilla de CER más cercana a la media de las cinco."""
    runs = [once("plain", seed) for seed in range(SEEDS)]
    middle = sum(run["seen"] for run in runs) / len(runs)
    seed = min(range(SEEDS), key=lambda i: abs(runs[i]["seen"] - middle))
    model = Whisper(config())
    model.load_state_dict(torch.load(CACHE_21 / f"plain-{seed}.pt", weights_only=True))
    model = rounded(model).eval()
    exam = exams(seed)["seen"]
    score = {"cer": round(vowels.score(model, exam)["cer"], 5)}
    return model, {"recipe": RECIPE_21, "seed": seed, "marks": score}


PESOS: dict[str, Callable] = {"oir": stored_whisper}
