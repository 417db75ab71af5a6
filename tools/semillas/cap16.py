"""Capítulo 16: el modelo del libro con varias semillas, y otros menores para la ley de escala.

Cada ejecución se guarda en ``.cache/semillas-16`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from recuerdo import Memory
from torch import Tensor

from atento import rng
from atento.models.language import LanguageConfig, LanguageModel, next_token_loss, text_nats
from atento.tasks import prose
from atento.tokenizers import BPE
from atento.trained import rounded
from atento.training import evaluate, fit, parameter_groups, warmup_cosine

RECIPE_16: dict[str, Any] = {
    "held_out": ["08", "13"],
    "vocab": 1024,
    "n_heads": 4,
    "n_layers": 2,
    "positions": "rotary",
    "context": 64,
    "batch": 16,
    "steps": 800,
    "rate": 3e-3,
    "warmup": 60,
    "dropout": 0.0,
    "weight_decay": 0.1,
    "betas": [0.9, 0.98],
    "clip": 1.0,
    "every": 100,
    "validation": 4000,  # tokens apartados con que se mira la curva
}
BOOK_WIDTH = 80
WIDTHS = (16, 24, 32, 40, 56)  # con estas se ajusta la ley; con BOOK_WIDTH se comprueba
SEEDS, SCALE_SEEDS = 10, 2
COPYING_16: dict[str, Any] = {
    "vocab": 32,
    "length": 40,
    "periods": [6, 16],
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 128,
    "positions": "rotary",
    "steps": 600,
    "batch": 32,
    "rate": 3e-3,
    "warmup": 40,
    "clip": 1.0,
    "betas": [0.9, 0.98],
    "every": 25,
    "tests": 200,
    "test_period": 10,
    "test_seed": 999_999,
}
COPYING_SEEDS = {2: 10, 1: 10}  # de dos capas y de una
MEMORY_16 = Memory(16)


def texts() -> tuple[str, str]:
    """El texto con que se aprende y el apartado."""
    train, test = prose.load().split(RECIPE_16["held_out"])
    return train.text(), test.text()


def tokenizer(text: str) -> BPE:
    """El de bytes, aprendido del texto de entrenamiento."""
    return BPE.train(text, RECIPE_16["vocab"], byte_level=True, unk=None)


def numbers(cut: BPE, text: str) -> Tensor:
    """El texto en números, con un fin de párrafo delante para que el primero también se prediga."""
    return torch.tensor(cut.encode("\n" + text))


def build(width: int, vocab: int, seed: int) -> LanguageModel:
    """Un modelo de esa anchura, sin entrenar."""
    rng.seed_all(seed)
    same = {name: RECIPE_16[name] for name in ("n_heads", "n_layers", "dropout", "positions")}
    return LanguageModel(
        LanguageConfig(vocab, d_model=width, d_ff=4 * width, max_len=512, pad_id=None, **same)
    )


def windows(ids: Tensor, seed: int) -> Tensor:
    """Trozos al azar del texto, (pasos, filas, sitios + 1)."""
    r = RECIPE_16
    last = len(ids) - r["context"]
    starts = torch.randint(last, (r["steps"], r["batch"], 1), generator=rng.generator(seed))
    return ids[starts + torch.arange(r["context"] + 1)]


def train(width: int, seed: int) -> tuple[LanguageModel, dict[str, Any]]:
    """Entrena un modelo de esa anchura; lo devuelve con lo que cuesta el texto apartado."""
    r, (known, unseen) = RECIPE_16, texts()
    cut = tokenizer(known)
    ids, held = numbers(cut, known), numbers(cut, unseen)
    model, part = build(width, len(cut), seed), held[: r["validation"]]
    size = len(cut.decode(part[1:]))

    def validation(now: LanguageModel) -> dict[str, float]:
        nats = text_nats(now, part, window=r["context"], stride=r["context"])
        return {"bpc": nats / math.log(2) / size}

    optimizer = torch.optim.AdamW(
        parameter_groups(model, weight_decay=r["weight_decay"]),
        lr=r["rate"],
        betas=tuple(r["betas"]),
        fused=True,
    )
    history = fit(
        model,
        list(windows(ids, seed)),
        next_token_loss,
        steps=r["steps"],
        optimizer=optimizer,
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        clip=r["clip"],
        callbacks=[evaluate(validation, every=r["every"])],
        progress=False,
    )
    curve = [round(value, 4) for _, value in history.metrics["bpc"]]
    blocks = sum(p.numel() for p in model.encoder.parameters())
    return model, {
        "width": width,
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "block_parameters": blocks,
        "curve": curve,
        "seconds": round(history.seconds, 1),
        **bits(model, held, unseen),
    }


def bits(model: LanguageModel, held: Tensor, text: str) -> dict[str, float]:
    """Lo que cuesta el texto apartado entero: bits por carácter y nats por token."""
    nats = text_nats(model, held, window=RECIPE_16["context"])
    return {"bpc": nats / math.log(2) / len(text), "nats": nats / (len(held) - 1)}


# --- Copiar en contexto ---------------------------------------------------------------------------


def repeated(n: int, batch: int, seed: int, periods: list[int]) -> Tensor:
    """Lotes de letras al azar que se repiten cada cierto número de sitios, (n, batch, length)."""
    c, dice = COPYING_16, rng.generator(seed)
    least, most = periods
    period = torch.randint(least, most + 1, (n, batch, 1), generator=dice)
    base = torch.randint(c["vocab"], (n, batch, most), generator=dice)
    return base.gather(-1, torch.arange(c["length"]) % period)


def copier(layers: int) -> LanguageModel:
    """Un modelo de esas capas, sin entrenar."""
    same = {name: COPYING_16[name] for name in ("vocab", "d_model", "n_heads", "d_ff", "positions")}
    return LanguageModel(LanguageConfig(n_layers=layers, max_len=128, pad_id=None, **same))


@torch.no_grad()
def copied(model: LanguageModel) -> float:
    """Qué parte de lo que ya había salido acierta, en filas nuevas."""
    c = COPYING_16
    rows = repeated(1, c["tests"], c["test_seed"], [c["test_period"]] * 2)[0]
    right = model(rows[:, :-1]).argmax(-1) == rows[:, 1:]
    return right[:, c["test_period"] :].double().mean().item()


def train_copier(layers: int, seed: int) -> tuple[LanguageModel, dict[str, Any]]:
    """Entrena un copiador; lo devuelve con lo que acierta según aprende."""
    c = COPYING_16
    rng.seed_all(seed)
    model = copier(layers)
    history = fit(
        model,
        list(repeated(c["steps"], c["batch"], seed, c["periods"])),
        next_token_loss,
        steps=c["steps"],
        optimizer=torch.optim.AdamW(
            model.parameters(), lr=c["rate"], betas=tuple(c["betas"]), fused=True
        ),
        schedule=warmup_cosine(c["steps"], warmup=c["warmup"]),
        clip=c["clip"],
        callbacks=[evaluate(lambda now: {"copied": copied(now)}, every=c["every"])],
        progress=False,
    )
    curve = [round(value, 4) for _, value in history.metrics["copied"]]
    run = {"layers": layers, "seed": seed, "copied": copied(model.eval()), "curve": curve}
    return model, run | {"seconds": round(history.seconds, 1)}


# --- Guardar lo hecho -----------------------------------------------------------------------------


def once(kind: str, size: int, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior; los pesos quedan al lado."""
    recipe, work = {"prosa": (RECIPE_16, train), "copia": (COPYING_16, train_copier)}[kind]
    made = {"recipe": recipe, "prose": prose.load().digest}
    return MEMORY_16.once(f"{kind}-{size}-{seed}", made, partial(work, size, seed))


def chapter() -> dict[str, Any]:
    """Las semillas del modelo del libro, las de los menores y las de los copiadores."""
    book = [once("prosa", BOOK_WIDTH, seed) for seed in range(SEEDS)]
    copies = [once("copia", k, seed) for k, n in COPYING_SEEDS.items() for seed in range(n)]
    small = [once("prosa", width, seed) for width in WIDTHS for seed in range(SCALE_SEEDS)]
    recipes = {"recipe": RECIPE_16, "copying": COPYING_16, "prose": prose.load().date}
    return recipes | {"book": book, "scale": small, "copies": copies}


def typical(runs: list[dict[str, Any]], mark: str) -> int:
    """La semilla de resultado más cercano a la media."""
    middle = sum(run[mark] for run in runs) / len(runs)
    return min(runs, key=lambda run: abs(run[mark] - middle))["seed"]


def stored_book() -> tuple[LanguageModel, dict[str, Any]]:
    """El modelo del libro que viaja guardado: la semilla más cercana a la media."""
    seed = typical([once("prosa", BOOK_WIDTH, seed) for seed in range(SEEDS)], "bpc")
    known, unseen = texts()
    cut = tokenizer(known)
    model = rounded(_loaded(build(BOOK_WIDTH, len(cut), seed), f"prosa-{BOOK_WIDTH}-{seed}"))
    marks = bits(model, numbers(cut, unseen), unseen)
    return model, {"recipe": RECIPE_16 | {"d_model": BOOK_WIDTH}, "seed": seed, "marks": marks}


def stored_copier() -> tuple[LanguageModel, dict[str, Any]]:
    """El copiador de dos capas que se mira por dentro: la semilla más cercana a la media."""
    seed = typical([once("copia", 2, seed) for seed in range(COPYING_SEEDS[2])], "copied")
    model = rounded(_loaded(copier(2), f"copia-2-{seed}").eval())
    return model, {"recipe": COPYING_16, "seed": seed, "marks": {"copied": copied(model)}}


def _loaded(model: LanguageModel, name: str) -> LanguageModel:
    model.load_state_dict(torch.load(MEMORY_16.weights(f"{name}"), weights_only=True))
    return model


PESOS = {"prosa": stored_book, "induccion": stored_copier}
