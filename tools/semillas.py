"""Repite las otras semillas y las ejecuciones largas de los capítulos y guarda sus resultados.

Uso: ``python tools/semillas.py [capítulo …]`` (sin argumentos, todos). Escribe ``code/atento/datos/semillas-NN.json`` con la
orden, la fecha, la máquina y las versiones. Un hilo, para que los segundos de procesador se puedan comparar.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy
import sacrebleu
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

DATOS = Path(__file__).resolve().parents[1] / "code" / "atento" / "datos"

# --- Capítulo 3: traducir con redes recurrentes -----------------------------------------------------------------

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


def chapter_03() -> dict[str, Any]:
    """Tres semillas de cada ejecución del capítulo 3."""
    runs = []
    for seed in (0, 1, 2):
        for name in RUNS_03:
            runs.append(run_03(name, seed))
            print(f"  {name}, semilla {seed}: {runs[-1]['cpu_seconds']} s; exactas {runs[-1]['exact']}", flush=True)
    return {"recipe": RECIPE_03, "runs": runs}


# --- Común ------------------------------------------------------------------------------------------------------

CHAPTERS: dict[str, Callable[[], dict[str, Any]]] = {"03": chapter_03}


def _processor() -> str:
    """El modelo del procesador, donde el sistema lo diga."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def provenance(chapter: str) -> dict[str, Any]:
    """Orden, fecha, máquina y versiones."""
    return {
        "command": f"python tools/semillas.py {chapter}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {"processor": _processor(), "architecture": platform.machine(), "cores": os.cpu_count(),
                    "threads": torch.get_num_threads(), "system": platform.system()},
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": numpy.__version__,
                     "sacrebleu": sacrebleu.__version__},
    }


def main() -> None:
    """Ejecuta los capítulos pedidos."""
    parser = argparse.ArgumentParser(description="Repite las otras semillas y las ejecuciones largas.")
    parser.add_argument("chapters", nargs="*", metavar="capítulo", help=f"uno o varios de {', '.join(CHAPTERS)}")
    chosen = parser.parse_args().chapters or list(CHAPTERS)
    unknown = [chapter for chapter in chosen if chapter not in CHAPTERS]
    if unknown:
        parser.error(f"sin ejecuciones guardadas: {', '.join(unknown)}; los hay de {', '.join(CHAPTERS)}")
    torch.set_num_threads(1)
    DATOS.mkdir(parents=True, exist_ok=True)
    for chapter in chosen:
        print(f"Capítulo {chapter}", flush=True)
        clock = time.process_time()
        content = provenance(chapter) | CHAPTERS[chapter]()
        path = DATOS / f"semillas-{chapter}.json"
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(f"  escrito {path.name} en {time.process_time() - clock:.0f} segundos de procesador", flush=True)


if __name__ == "__main__":
    main()
