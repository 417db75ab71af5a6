"""Capítulo 26: el lote cuatro veces mayor con los mismos textos, y sus controles.

Cada modelo lee 4800 trozos de la prosa del libro, con lotes de 16 o de 64, y con varias tasas. Las
predicciones de ``PREDICTIONS_26`` se escribieron antes de entrenar ninguno. Las tasas llegaban a
0.032, donde los dos lotes seguían mejorando, y se añadieron después las dos mayores. Los controles
de ``CONTROLS_26`` se añadieron al ver que las otras dos predicciones fallaban.

Cada ejecución se guarda en ``.cache/semillas-26`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import torch
from recuerdo import Memory
from torch import Tensor

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
CONTROLS_26: dict[str, dict[str, Any]] = {  # con la mejor tasa media de los dos lotes
    "few_steps": {"batch": 16, "rate": 0.032, "texts": 1200},  # 75 pasos, como los de 64
    "scaled_betas": {"batch": 64, "rate": 0.032, "betas": (0.6, 0.92)},  # 4 veces 1 - β
    "same_betas": {"batch": 16, "rate": 0.032, "betas": (0.6, 0.92)},
}
MEMORY_26 = Memory(26)


@cache
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


def train_26(
    batch: int,
    rate: float,
    seed: int,
    texts: int = RECIPE_26["texts"],
    betas: tuple[float, float] = (0.9, 0.98),
) -> float:
    """Los bits por letra del texto apartado, tras leer los mismos trozos en el mismo orden."""
    vocab, known, unseen = letters()
    source, model = rng.generator(seed), new_model(vocab, seed)
    starts = torch.randint(len(known) - 32, (RECIPE_26["texts"],), generator=source)
    chosen = known[starts[:texts, None] + torch.arange(RECIPE_26["context"] + 1)]
    steps = texts // batch
    fit(
        model,
        lambda step: chosen[step * batch : (step + 1) * batch],
        next_token_loss,
        steps=steps,
        optimizer=lambda p: torch.optim.AdamW(p, lr=rate, betas=betas),
        schedule=warmup_cosine(steps, warmup=round(RECIPE_26["warmup"] * steps)),
    )
    nats = text_nats(model.eval(), unseen, window=RECIPE_26["context"])
    return nats / torch.log(torch.tensor(2.0)).item() / (len(unseen) - 1)


def once(name: str, seed: int, **chosen: Any) -> dict[str, Any]:
    """Una ejecución, hecha ahora o en una llamada anterior."""
    made = {key: value for key, value in RECIPE_26.items() if key not in ("batches", "rates")}
    return MEMORY_26.once(
        f"{name}-{seed}",
        {"recipe": made, "chosen": chosen},
        lambda: chosen | {"seed": seed, "bits": round(train_26(seed=seed, **chosen), 4)},
    )


def runs() -> dict[str, Any]:
    """Los dos lotes, con todas las tasas y semillas."""
    r = RECIPE_26
    drawn = itertools.product(range(SEEDS_26), r["batches"], r["rates"])
    return {"each": [once(f"{b}-{rate}", s, batch=b, rate=rate) for s, b, rate in drawn]}


def controls() -> dict[str, Any]:
    """Menos pasos con el lote pequeño, y otros β con los dos lotes."""
    return {
        name: [once(name, seed, **chosen) for seed in range(SEEDS_26)]
        for name, chosen in CONTROLS_26.items()
    }


def chapter() -> dict[str, Any]:
    """Los lotes y sus controles."""
    return {"recipe": RECIPE_26, "predictions": PREDICTIONS_26} | {
        name: part() for name, part in PARTES.items()
    }


PARTES = {"runs": runs, "controls": controls}
