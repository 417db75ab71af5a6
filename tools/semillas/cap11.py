"""Capítulo 11: la máquina entera y con cada pieza callada, en la traducción del capítulo 3."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from atento import rng
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig, seq2seq_loss
from atento.tasks import translation
from atento.trained import rounded
from atento.training import fit, warmup_cosine

RECIPE_11: dict[str, Any] = {
    "d_model": 64,
    "d_ff": 128,
    "layers": 2,
    "steps": 300,
    "batch_size": 32,
    "clauses": [1, 1, 2],
    "rate": 6e-3,
    "weight_decay": 0.1,
    "betas": [0.9, 0.98],
    "warmup": 60,
    "window": 20,
    "evaluation_seed": 1_000_000,
    "evaluation_size": 200,
}
# Por dónde entran las posiciones: sumadas a la entrada (2017), o en las atenciones.
FIXED: dict[str, Any] = {"positions": "sinusoidal"}
SELF: dict[str, Any] = {"positions": "rotary"}
ROTARY: dict[str, Any] = {"positions": "rotary", "cross_positions": "rotary"}
CROSS: dict[str, Any] = {"positions": "none", "cross_positions": "rotary"}
NOWHERE: dict[str, Any] = {"positions": "none"}
WIDE = {"d_ff": 192}
# Qué se calla y con qué medidas: las que dan a todas parecidos parámetros.
MACHINES_11: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "fixed-complete": ((), FIXED),
    "fixed-encoder": (("encoder",), FIXED | WIDE),
    "fixed-decoder": (("decoder",), FIXED | WIDE),
    "fixed-cross": (("cross",), FIXED | WIDE),
    "fixed-dense": (("dense",), FIXED | {"d_model": 80}),
    "fixed-only-cross": (("encoder", "decoder", "dense"), FIXED | {"d_model": 128}),
    "self-complete": ((), SELF),
    "self-encoder": (("encoder",), SELF | WIDE),
    "self-decoder": (("decoder",), SELF | WIDE),
    "complete": ((), ROTARY),
    "cross": (("cross",), ROTARY | WIDE),
    "encoder": (("encoder",), ROTARY | WIDE),
    "decoder": (("decoder",), ROTARY | WIDE),
    "dense": (("dense",), ROTARY | {"d_model": 80}),
    "only-cross": (("encoder", "decoder", "dense"), ROTARY | {"d_model": 128}),
    "cross-complete": ((), CROSS),
    "positions": ((), NOWHERE),
}
SEEDS_11 = 10
# El control: las mismas máquinas, con las palabras del origen del revés.
BACKWARDS_11 = ("complete", "fixed-complete", "cross-complete")


def build(name: str, seed: int) -> Seq2Seq:
    """Una de ``MACHINES_11``, con sus piezas calladas."""
    source, target = translation.vocabularies()
    silenced, changes = MACHINES_11[name]
    sizes = {"d_model": RECIPE_11["d_model"], "d_ff": RECIPE_11["d_ff"]} | changes
    rng.seed_all(seed)
    model = Seq2Seq(Seq2SeqConfig.tiny(len(source), len(target), **sizes))
    for piece in silenced:
        silence(model, piece)
    return model


def silence(model: Seq2Seq, piece: str) -> None:
    """Pone a cero lo que devuelve una pieza, en todos los bloques, y no la entrena."""
    encoder, decoder = model.encoder.blocks, model.decoder.blocks
    modules: list[nn.Module] = {
        "cross": [block.cross_attention for block in decoder],
        "encoder": [block.attention for block in encoder],
        "decoder": [block.attention for block in decoder],
        "dense": [block.feed_forward for block in (*encoder, *decoder)],
    }[piece]
    for module in modules:
        module.register_forward_hook(_zero)
        module.requires_grad_(False)


def _zero(_module: nn.Module, _inputs: Any, output: Any) -> Any:
    return 0 * output if isinstance(output, Tensor) else (0 * output[0], *output[1:])


def _optimizer(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        parameters,
        lr=RECIPE_11["rate"],
        betas=tuple(RECIPE_11["betas"]),
        weight_decay=RECIPE_11["weight_decay"],
    )


def train(model: Seq2Seq, seed: int, steps: int, *, backwards: bool = False) -> list[float]:
    """La pérdida de los ``steps`` primeros pasos."""
    lots = translation.batches(
        steps, RECIPE_11["batch_size"], rng.generator(seed), clauses=RECIPE_11["clauses"]
    )
    if backwards:
        lots = [lot._replace(source=turned(lot.source)) for lot in lots]
    schedule = warmup_cosine(RECIPE_11["steps"], warmup=RECIPE_11["warmup"])
    history = fit(model, lots, seq2seq_loss, steps=steps, optimizer=_optimizer, schedule=schedule)
    return history.loss


def turned(source: Tensor) -> Tensor:
    """Cada origen con sus palabras del revés, el punto incluido, y su fin detrás."""
    rows = source.clone()
    for row in rows:
        words = int((row != 0).sum()) - 1
        row[:words] = row[:words].flip(0)
    return rows


def exact(model: Seq2Seq) -> dict[str, float]:
    """Frases exactas con la voraz, por parejas (vistas o no) y número de oraciones."""
    found = {}
    for pairs in ("seen", "unseen"):
        for clauses in (1, 2):
            source = rng.generator(RECIPE_11["evaluation_seed"])
            size = RECIPE_11["evaluation_size"]
            examples = translation.generate(size, source, clauses=clauses, pairs=pairs)
            score = translation.score(partial(model.generate, max_length=40), examples)
            found[f"{pairs}-{clauses}"] = round(score["exact"], 4)
    return found


def windows(losses: list[float]) -> list[float]:
    """La pérdida media de cada ventana de pasos."""
    size = RECIPE_11["window"]
    return [round(sum(losses[i : i + size]) / size, 3) for i in range(0, len(losses), size)]


def run(name: str, seed: int) -> dict[str, Any]:
    """Entrena y puntúa una máquina con una semilla."""
    model = build(name, seed)
    losses = train(model, seed, RECIPE_11["steps"])
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    result = {"machine": name, "seed": seed, "parameters": parameters, "exact": exact(model)}
    return result | {"losses": windows(losses)}


def run_backwards(name: str, seed: int) -> dict[str, Any]:
    """Entrena una máquina con los orígenes del revés y la puntúa con los apartados, también así."""
    model = build(name, seed)
    losses = train(model, seed, RECIPE_11["steps"], backwards=True)
    source, size = rng.generator(RECIPE_11["evaluation_seed"]), RECIPE_11["evaluation_size"]
    examples = translation.generate(size, source, clauses=2, pairs="unseen")
    examples = [replace(e, source=e.source[::-1]) for e in examples]
    score = translation.score(partial(model.generate, max_length=40), examples)
    found = {"unseen-2": round(score["exact"], 4)}
    return {"machine": name, "seed": seed, "exact": found, "losses": windows(losses)}


def backwards() -> list[dict[str, Any]]:
    """Diez semillas de cada máquina del control."""
    return [run_backwards(name, seed) for seed in range(SEEDS_11) for name in BACKWARDS_11]


def chapter() -> dict[str, Any]:
    """Diez semillas de cada máquina."""
    runs = []
    for seed in range(SEEDS_11):
        for name in MACHINES_11:
            runs.append(run(name, seed))
            print(f"  {name}, semilla {seed}: {runs[-1]['exact']}", flush=True)
    return {"recipe": RECIPE_11, "runs": runs, "backwards": {"runs": backwards()}}


# --- El modelo que viaja con el libro -------------------------------------------------------------

STORED_11: dict[str, dict[str, Any]] = {
    "mapa": {
        "d_model": 48,
        "n_heads": 4,
        "d_ff": 96,
        "steps": 1500,
        "clauses": [1, 1, 2],
        "rate": 5e-3,
    },
    "diminuto": {
        "d_model": 8,
        "n_heads": 2,
        "d_ff": 32,
        "steps": 3000,
        "clauses": [1],
        "rate": 1e-2,
    },
}
"""Las posiciones, sumadas a la entrada, y dos bloques en cada pila, como en la página."""
COMMON_11: dict[str, Any] = {"batch_size": 32, "betas": [0.9, 0.98], "warmup": 100}


def stored_model(name: str, seed: int = 0) -> tuple[Seq2Seq, dict[str, Any]]:
    """Uno de ``STORED_11``, y qué parte traduce de las frases apartadas."""
    recipe = STORED_11[name] | COMMON_11
    source, target = translation.vocabularies()
    rng.seed_all(seed)
    sizes = {size: recipe[size] for size in ("d_model", "n_heads", "d_ff")}
    model = Seq2Seq(Seq2SeqConfig(len(source), len(target), **sizes))
    lots = translation.batches(
        recipe["steps"], recipe["batch_size"], rng.generator(seed), clauses=recipe["clauses"]
    )
    adamw = partial(torch.optim.AdamW, lr=recipe["rate"], betas=tuple(recipe["betas"]))
    schedule = warmup_cosine(recipe["steps"], warmup=recipe["warmup"])
    fit(model, lots, seq2seq_loss, steps=recipe["steps"], optimizer=adamw, schedule=schedule)
    rounded(model).eval()
    size, marks = RECIPE_11["evaluation_size"], {}
    for clauses in sorted(set(recipe["clauses"])):
        generator = rng.generator(RECIPE_11["evaluation_seed"])
        tests = translation.generate(size, generator, clauses=clauses, pairs="unseen")
        score = translation.score(partial(model.generate, max_length=40), tests)
        marks[f"unseen-{clauses}"] = round(score["exact"], 4)
    return model, {"recipe": recipe, "seed": seed, "marks": marks | {"tests": size}}


PESOS = {name: partial(stored_model, name) for name in STORED_11}
