"""Capítulo 3: traducir con redes recurrentes."""

from __future__ import annotations

from typing import Any

import torch

from atento import rng
from atento.models.recurrent import (
    RecurrentConfig,
    RecurrentSeq2Seq,
    count_parameters,
    translation_loss,
    without_attention,
)
from atento.tasks import translation
from atento.training import fit, warmup_cosine

RECIPE_03: dict[str, Any] = {
    "d_model": 64, "d_hidden": 96, "d_attention": 64, "cell": "gru",
    "batch_size": 32, "rate": 1e-2, "weight_decay": 0.2, "betas": [0.9, 0.98], "warmup": 60, "clip": 1.0,
    "evaluation_seed": 1_000_000, "evaluation_size": 500,
}
# Oraciones de cada lote, por turno: las de tres no se entrenan nunca.
MIXED, UP_TO_THREE = (1, 2, 1, 4, 2, 1, 4, 2), (1, 2, 1, 3, 2, 1, 3, 2)
RUNS_03 = {
    "attention": {"attention": True, "steps": 1200, "clauses": MIXED},
    "plain": {"attention": False, "steps": 1600, "clauses": MIXED},
    "plain-longer": {"attention": False, "steps": 6400, "clauses": MIXED},
    "attention-up-to-three": {"attention": True, "steps": 1200, "clauses": UP_TO_THREE},
}


def _model_03(attention: bool, seed: int) -> RecurrentSeq2Seq:
    source, target = translation.vocabularies()
    sizes = {name: RECIPE_03[name] for name in ("d_model", "d_hidden", "d_attention", "cell")}
    config = RecurrentConfig(len(source), len(target), **sizes)
    config = config if attention else without_attention(config)
    rng.seed_all(seed)
    return RecurrentSeq2Seq(config)


def _optimizer_03(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=RECIPE_03["rate"], betas=tuple(RECIPE_03["betas"]),
                             weight_decay=RECIPE_03["weight_decay"])


def _scores_03(model: RecurrentSeq2Seq) -> dict[str, Any]:
    """Exactas y BLEU por parejas (vistas o no) y número de oraciones; y las inversiones bien alineadas."""
    result: dict[str, Any] = {"exact": {}, "bleu": {}}
    hits = total = 0
    for pairs in ("seen", "unseen"):
        for clauses in range(1, translation.MAX_CLAUSES + 1):
            examples = translation.generate(RECIPE_03["evaluation_size"], rng.generator(RECIPE_03["evaluation_seed"]),
                                            clauses=clauses, pairs=pairs)
            score = translation.score(model, examples)
            result["exact"].setdefault(pairs, {})[str(clauses)] = round(score["exact"], 4)
            result["bleu"].setdefault(pairs, {})[str(clauses)] = round(score["bleu"], 2)
            if model.config.attention and pairs == "unseen":
                batch = translation.batch(examples)
                model.eval()
                with torch.no_grad():
                    more = translation.inversion_hits(model(batch.source, batch.inputs)[1], examples)
                hits, total = hits + more[0], total + more[1]
    return result | ({"inversions": {"hits": hits, "total": total}} if total else {})


def run_03(name: str, seed: int) -> dict[str, Any]:
    """Entrena y puntúa una de ``RUNS_03`` con una semilla."""
    run = RUNS_03[name]
    model = _model_03(run["attention"], seed)
    lots = translation.batches(run["steps"], RECIPE_03["batch_size"], rng.generator(seed), clauses=run["clauses"])
    history = fit(model, lots, translation_loss, steps=run["steps"], optimizer=_optimizer_03, clip=RECIPE_03["clip"],
                  schedule=warmup_cosine(run["steps"], warmup=RECIPE_03["warmup"]))
    curve = [[i, round(sum(history.loss[i - 50:i]) / 50, 4)] for i in range(50, run["steps"] + 1, 50)]
    return {"model": name, "seed": seed, "steps": run["steps"], "clauses": list(run["clauses"]),
            "parameters": count_parameters(model), "cpu_seconds": round(history.seconds, 1),
            **_scores_03(model), "loss": curve}


def chapter() -> dict[str, Any]:
    """Tres semillas de cada ejecución del capítulo 3."""
    runs = []
    for seed in (0, 1, 2):
        for name in RUNS_03:
            runs.append(run_03(name, seed))
            print(f"  {name}, semilla {seed}: {runs[-1]['cpu_seconds']} s; exactas {runs[-1]['exact']}", flush=True)
    return {"recipe": RECIPE_03, "runs": runs}
