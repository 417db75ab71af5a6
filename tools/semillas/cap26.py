"""Capítulo 26: el lote cuatro veces mayor con los mismos textos, y lo que gana ``torch.compile``.

Cada modelo lee 4800 trozos de la prosa del libro, con lotes de 16 o de 64, y con varias tasas. Las
predicciones de ``PREDICTIONS_26`` se escribieron antes de entrenar ninguno. Las tasas llegaban a
0.032, donde los dos lotes seguían mejorando, y se añadieron después las dos mayores.

Cada ejecución se guarda en ``.cache/semillas-26`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from atento import rng
from atento.models.language import LanguageConfig, LanguageModel, next_token_loss, text_nats
from atento.tasks import prose
from atento.training import fit, warmup_cosine

RECIPE_26: dict[str, Any] = {
    "held_out": ["08", "13"],
    "d_model": 32,
    "n_heads": 4,
    "n_layers": 2,
    "context": 32,
    "texts": 4800,
    "batches": [16, 64],
    "rates": [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128],
    "warmup": 0.1,  # de los pasos
    "validation": 8000,  # letras apartadas
}
SEEDS_26 = 5
PREDICTIONS_26 = {
    "same_rate": "con la mejor tasa del lote de 16, el de 64 acaba peor en las cinco semillas",
    "square_root": "la mejor tasa del lote de 64 es el doble de la del de 16, y no el cuádruple",
    "recovered": "con su mejor tasa, el lote de 64 pierde menos de la mitad de lo que perdía con "
    "la del de 16",
}
COMPILED_26: dict[str, Any] = {
    **{"vocab": 1024, "d_model": 80, "d_ff": 320, "n_layers": 2},
    **{"batch": 16, "length": 64, "rounds": 41},
}
CACHE_26 = Path(__file__).resolve().parents[2] / ".cache" / "semillas-26"


def letters() -> tuple[int, Tensor, Tensor]:
    """Cuántas letras hay, y los dos textos en números."""
    train, test = (part.text() for part in prose.load().split(RECIPE_26["held_out"]))
    alphabet = {letter: i for i, letter in enumerate(sorted(set(train)))}
    known, unseen = (
        torch.tensor([alphabet[x] for x in text if x in alphabet]) for text in (train, test)
    )
    return len(alphabet), known, unseen[: RECIPE_26["validation"]]


def new_model(vocab: int, seed: int) -> LanguageModel:
    """El modelo, recién sorteado."""
    r = RECIPE_26
    rng.seed_all(seed)
    sizes = {"d_model": r["d_model"], "d_ff": 4 * r["d_model"], "n_heads": r["n_heads"]}
    config = LanguageConfig(vocab, **sizes, n_layers=r["n_layers"], positions="rotary", pad_id=None)
    return LanguageModel(config)


def train_26(batch: int, rate: float, seed: int) -> float:
    """Los bits por letra del texto apartado, tras leer los mismos trozos en el mismo orden."""
    vocab, known, unseen = letters()
    source, model = rng.generator(seed), new_model(vocab, seed)
    starts = torch.randint(len(known) - 32, (RECIPE_26["texts"],), generator=source)
    texts = known[starts[:, None] + torch.arange(RECIPE_26["context"] + 1)]
    steps = len(texts) // batch
    fit(
        model,
        lambda step: texts[step * batch : (step + 1) * batch],
        next_token_loss,
        steps=steps,
        optimizer=lambda p: torch.optim.AdamW(p, lr=rate, betas=(0.9, 0.98)),
        schedule=warmup_cosine(steps, warmup=round(RECIPE_26["warmup"] * steps)),
    )
    nats = text_nats(model.eval(), unseen, window=RECIPE_26["context"])
    return nats / torch.log(torch.tensor(2.0)).item() / (len(unseen) - 1)


def once(batch: int, rate: float, seed: int) -> dict[str, Any]:
    """Una ejecución, hecha ahora o en una llamada anterior."""
    path = CACHE_26 / f"{batch}-{rate}-{seed}.json"
    made = {key: value for key, value in RECIPE_26.items() if key not in ("batches", "rates")}
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["made"] == made:
            return found["run"]
    run = {
        "batch": batch,
        "rate": rate,
        "seed": seed,
        "bits": round(train_26(batch, rate, seed), 4),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"made": made, "run": run}), encoding="utf-8")
    return run


def runs() -> dict[str, Any]:
    """Los dos lotes, con todas las tasas y semillas."""
    r = RECIPE_26
    chosen = itertools.product(range(SEEDS_26), r["batches"], r["rates"])
    return {"each": [once(batch, rate, seed) for seed, batch, rate in chosen]}


def compiled() -> dict[str, Any]:
    """Lo que tarda un paso sin compilar y compilado, y lo que tarda en compilarse."""
    c = COMPILED_26
    config = LanguageConfig(
        c["vocab"], d_model=c["d_model"], d_ff=c["d_ff"], n_layers=c["n_layers"], pad_id=None
    )
    rng.seed_all(0)
    model = LanguageModel(config)
    ids = torch.randint(c["vocab"], (c["batch"], c["length"] + 1))

    def step(reader: nn.Module) -> float:
        model.zero_grad()
        start = time.process_time()
        next_token_loss(reader, ids).backward()
        return 1000 * (time.process_time() - start)

    start = sum(os.times()[:4])
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"  # lo compilado otra vez no vale
    ready = torch.compile(model)
    step(ready)
    found = {"compiling": round(sum(os.times()[:4]) - start, 1)}
    times: dict[str, list[float]] = {"eager": [], "compiled": []}
    for _ in range(c["rounds"]):
        times["eager"].append(step(model))
        times["compiled"].append(step(ready))
    for name, each in times.items():
        found[name] = [round(x, 2) for x in (min(each), median(each), max(each))]
    return {"recipe": c, "milliseconds": found}


def chapter() -> dict[str, Any]:
    """Los lotes y lo compilado."""
    return {
        "recipe": RECIPE_26,
        "predictions": PREDICTIONS_26,
        "runs": runs(),
        "compiled": compiled(),
    }


PARTES = {"runs": runs, "compiled": compiled}
