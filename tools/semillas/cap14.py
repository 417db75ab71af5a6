"""Capítulo 14: copiar, sumar y analizar expresiones; lo que da cada semilla y lo que tarda."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from atento import rng, trained
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig, seq2seq_loss
from atento.tasks import addition, copy, expressions
from atento.training import fit, parameter_groups, warmup_cosine

RECIPE_14: dict[str, Any] = {
    "betas": [0.9, 0.98],
    "weight_decay": 0.01,
    "clip": 1.0,
    "data_seed": 1000,
    "evaluation_seed": 999_999,
    "evaluation_size": 1000,
    "position_std": 1.0,
    "dtype": "float32",
}
SIZES = {"d_model": 64, "n_heads": 4}
COPY = {
    **SIZES,
    "d_ff": 128,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "positions": "rotary",
    "cross_positions": "rotary",
}
ADDITION = {
    **SIZES,
    "d_ff": 256,
    "n_encoder_layers": 1,
    "n_decoder_layers": 1,
    "positions": "learned",
    "max_len": 16,
}
EXPRESSIONS = {
    **SIZES,
    "d_ff": 128,
    "n_encoder_layers": 4,
    "n_decoder_layers": 2,
    "positions": "rotary",
    "cross_positions": "rotary",
}
BY_PLACE = {**ADDITION, "positions": "none"}
THREE_AND_MORE = {f"{digits} cifras": {"digits": digits, "split": "test"} for digits in (3, 4, 5)}
RUNS_14: dict[str, dict[str, Any]] = {
    "copia": {
        "task": "copy",
        "config": COPY,
        "steps": 200,
        "rate": 3e-3,
        "warmup": 60,
        "batch_size": 32,
        "data": {"lengths": 20},
        "tests": {"longitud 20": {"lengths": 20}, "longitud 21": {"lengths": 21}},
    },
    "copia, sinusoidal": {
        "task": "copy",
        "config": {**COPY, "positions": "sinusoidal", "cross_positions": "none"},
        "steps": 500,
        "rate": 3e-3,
        "warmup": 60,
        "batch_size": 32,
        "data": {"lengths": 20},
        "tests": {"longitud 20": {"lengths": 20}, "longitud 21": {"lengths": 21}},
    },
    "suma": {
        "task": "addition",
        "config": BY_PLACE,
        "by_place": True,
        "steps": 900,
        "rate": 4e-3,
        "warmup": 40,
        "batch_size": 128,
        "data": {"digits": 3},
        "tests": THREE_AND_MORE,
    },
    "suma, del derecho": {
        "task": "addition",
        "config": ADDITION,
        "reverse": False,
        "steps": 600,
        "rate": 4e-3,
        "warmup": 40,
        "batch_size": 128,
        "data": {"digits": 3},
        "tests": {"3 cifras": {"digits": 3, "split": "test"}},
    },
    "suma, lugares aprendidos": {
        "task": "addition",
        "config": ADDITION,
        "steps": 600,
        "rate": 4e-3,
        "warmup": 40,
        "batch_size": 128,
        "data": {"digits": 3},
        "tests": {"3 cifras": {"digits": 3, "split": "test"}},
    },
    "suma, de una a tres cifras": {
        "task": "addition",
        "config": BY_PLACE,
        "by_place": True,
        "steps": 600,
        "rate": 4e-3,
        "warmup": 40,
        "batch_size": 128,
        "data": {"digits": [1, 2, 3]},
        "tests": THREE_AND_MORE,
    },
    "expresiones": {
        "task": "expressions",
        "config": EXPRESSIONS,
        "steps": 500,
        "rate": 3e-3,
        "warmup": 60,
        "batch_size": 64,
        "data": {"depths": [1, 2, 3]},
        "tests": {
            "hasta 3": {"depths": [1, 2, 3], "split": "test"},
            "de 3": {"depths": 3, "split": "test"},
            "de 4": {"depths": 4, "split": "test"},
        },
    },
}
SEEDS_14 = range(3)
TASKS = {"copy": copy, "addition": addition, "expressions": expressions}


def build_14(name: str, seed: int) -> Seq2Seq:
    """El modelo de una de ``RUNS_14``, sin entrenar; las posiciones aprendidas, a la escala de los
    embeddings."""
    run = RUNS_14[name]
    config = Seq2SeqConfig(TASKS[run["task"]].VOCAB_SIZE, **run["config"])
    rng.seed_all(seed)
    model = trained.new_adder(config) if run.get("by_place") else Seq2Seq(config)
    if config.positions == "learned":
        for embedding in (model.embed_source, model.embed_target):
            nn.init.normal_(embedding.positions.table, std=RECIPE_14["position_std"])
    return model


def train_14(name: str, seed: int) -> tuple[Seq2Seq, float]:
    """Entrena una de ``RUNS_14``; devuelve el modelo y los segundos de procesador."""
    run, model = RUNS_14[name], build_14(name, seed)
    options = run["data"] | _order(run)
    lots = TASKS[run["task"]].batches(
        run["steps"], run["batch_size"], RECIPE_14["data_seed"] + seed, **options
    )
    groups = parameter_groups(model, weight_decay=RECIPE_14["weight_decay"])
    history = fit(
        model,
        lots,
        seq2seq_loss,
        steps=run["steps"],
        optimizer=torch.optim.AdamW(
            groups, lr=run["rate"], betas=tuple(RECIPE_14["betas"]), fused=True
        ),
        schedule=warmup_cosine(run["steps"], warmup=run["warmup"]),
        clip=RECIPE_14["clip"],
        progress=False,
    )
    return model, history.seconds


def _order(run: dict[str, Any]) -> dict[str, bool]:
    """El orden de las cifras del resultado, si es una suma."""
    return {"reverse": run.get("reverse", True)} if run["task"] == "addition" else {}


def test_14(name: str, model: Seq2Seq) -> dict[str, Any]:
    """Lo que acierta en cada prueba, escribiendo solo, con ejemplos que no ha visto."""
    run, result = RUNS_14[name], {}
    task = TASKS[run["task"]]
    for title, options in run["tests"].items():
        n, seed = RECIPE_14["evaluation_size"], RECIPE_14["evaluation_seed"]
        marks = task.score(model, task.generate(n, seed, **options), **_order(run))
        result[title] = {"exact": marks["exact"], "token": round(marks["token"], 5)} | _groups(
            marks
        )
    return result


def _groups(marks: dict[str, Any]) -> dict[str, Any]:
    """Los aciertos por llevadas, por lugar y por profundidad, si los hay."""
    chosen = {name: marks[name] for name in ("by_carries", "by_depth") if name in marks}
    rows = {
        name: {str(key): [row["exact"], row["n"]] for key, row in group.items()}
        for name, group in chosen.items()
    }
    if "by_place" in marks:
        rows["by_place"] = {str(place): hits for place, hits in marks["by_place"].items()}
    return rows


def run_14(name: str, seed: int) -> dict[str, Any]:
    """Entrena y prueba una combinación."""
    model, seconds = train_14(name, seed)
    return {
        "model": name,
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "cpu_seconds": round(seconds, 1),
        "tests": test_14(name, model),
    }


def chapter() -> dict[str, Any]:
    """Todas las combinaciones con todas las semillas."""
    runs = [run_14(name, seed) for name in RUNS_14 for seed in SEEDS_14]
    return {"recipe": RECIPE_14, "configs": RUNS_14, "runs": runs}
