"""Capítulo 1: diez semillas de las tres relaciones, con sus controles."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from atento import rng
from atento.attention import scaled_dot_product_attention
from atento.masks import causal_mask
from atento.training import evaluating, fit, warmup_cosine

RECIPE_01: dict[str, Any] = {
    "cards": 16,
    "sizes": [32, 64, 128, 256, 512],
    "steps": 300,
    "batch_size": 64,
    "rate": 5e-3,
    "warmup": 50,
    "evaluation_seed": 99,
    "evaluation_rows": 2000,
    "evaluated_from": 8,
}
N, RELATIONS = 16, ("al lado", "en orden", "por contenido")


def deal(rows: int, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
    """Filas de cartas ``(rows, n, 49)`` y las tres respuestas; como ``deal`` en el capítulo."""
    name = torch.rand(rows, N, generator=generator).argsort(-1)
    lit = torch.randint(2, (rows, N), generator=generator)
    earlier = (torch.rand(rows, N, generator=generator) * torch.arange(N)).long()
    parts = [
        F.one_hot(name, N),
        F.one_hot(name.gather(1, earlier), N),
        2 * lit[..., None] - 1,
        torch.eye(N, dtype=torch.long).expand(rows, -1, -1),
    ]
    padded = F.pad(lit, (2, 0))
    answers = {
        "al lado": (padded[:, 2:] + padded[:, 1:-1] + padded[:, :-2]) % 2,
        "en orden": lit.cumsum(1) % 2,
        "por contenido": lit.gather(1, earlier),
    }
    return torch.cat(parts, dim=-1).float(), answers


class Neighbours(nn.Module):
    """Convolución que mira la carta y las ``reach − 1`` anteriores."""

    def __init__(self, width: int, reach: int = 3) -> None:
        super().__init__()
        self.reach, self.conv = reach, nn.Conv1d(32, width, reach)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.pad(x.mT, (self.reach - 1, 0))).mT


class Chain(nn.Module):
    """LSTM: un estado que pasa de carta en carta."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(32, width, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0]


class Everyone(nn.Module):
    """Una atención: cada carta mira a todas las anteriores y a sí misma."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(32, width) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        mask = causal_mask(x.shape[-2])
        return scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), mask)[0]


class Reader(nn.Module):
    """Lo común: entra ``(rows, n, 49)`` y sale ``(rows, n, 2)``."""

    def __init__(self, core: nn.Module, width: int) -> None:
        super().__init__()
        self.embed, self.core = nn.Linear(49, 32), core
        self.answer = nn.Sequential(nn.Linear(32 + width, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        return self.answer(torch.cat([x, self.core(x)], dim=-1))


class Dense(nn.Module):
    """La fila entera, aplanada, a una red densa: nada sabe de vecinas, de orden ni de parecidos."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(N * 49, width), nn.Tanh(), nn.Linear(width, 2 * N)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).view(-1, N, 2)


class NoPlace(Reader):
    """La atención sin el dato de la posición: sus 16 componentes, a cero."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x[..., :-N], (0, N)))


MODELS = {
    "convolución": lambda: Reader(Neighbours(42), 42),
    "recurrencia": lambda: Reader(Chain(23), 23),
    "atención": lambda: Reader(Everyone(41), 41),
    "convolución de 16": lambda: Reader(Neighbours(11, 16), 11),
    "convolución de 16, ancha": lambda: Reader(Neighbours(42, 16), 42),
    "recurrencia de 64": lambda: Reader(Chain(64), 64),
    "recurrencia, tasa 0.002": lambda: Reader(Chain(23), 23),
    "recurrencia, tasa 0.01": lambda: Reader(Chain(23), 23),
    "recurrencia, tasa 0.02": lambda: Reader(Chain(23), 23),
    "atención, tasa 0.002": lambda: Reader(Everyone(41), 41),
    "atención, tasa 0.01": lambda: Reader(Everyone(41), 41),
    "atención, tasa 0.02": lambda: Reader(Everyone(41), 41),
    "atención sin posición": lambda: NoPlace(Everyone(41), 41),
    "densa": Dense,
}
RATES = {name: float(name.split("tasa ")[1]) for name in MODELS if "tasa" in name}
CONTROLS = [
    ("convolución de 16", "al lado", 32),
    ("convolución de 16", "en orden", 256),
    ("convolución de 16", "por contenido", 256),
    ("convolución de 16, ancha", "al lado", 32),
    ("convolución de 16, ancha", "en orden", 256),
    ("convolución de 16, ancha", "por contenido", 256),
    ("convolución de 16", "al lado", 512),
    ("convolución de 16, ancha", "al lado", 512),
    ("recurrencia de 64", "por contenido", 512),
    *((f"recurrencia, tasa {rate}", "por contenido", 512) for rate in (0.002, 0.01, 0.02)),
    *((f"atención, tasa {rate}", "en orden", 512) for rate in (0.002, 0.01, 0.02)),
    ("atención sin posición", "al lado", 512),
    ("atención sin posición", "por contenido", 256),
    *(("densa", relation, 512) for relation in RELATIONS),
]
LONGER = [
    ("convolución", "por contenido", 512),
    ("recurrencia", "por contenido", 512),
    ("atención", "en orden", 512),
]


def _loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    x, answer = batch
    return F.cross_entropy(model(x)[:, 1:].flatten(0, 1), answer[:, 1:].flatten())


@torch.no_grad()
def hits(model: nn.Module, x: Tensor, answer: Tensor) -> float:
    """Acierto en la segunda mitad de las filas."""
    with evaluating(model):
        right = model(x).argmax(-1) == answer
    return round(right[:, RECIPE_01["evaluated_from"] :].float().mean().item(), 3)


def run_01(name: str, relation: str, rows: int, seed: int, steps: int = 300) -> dict[str, Any]:
    """Entrena un modelo con ``rows`` filas de ejemplo y lo examina en filas nuevas."""
    rng.seed_all(seed)
    model, generator, clock = MODELS[name](), rng.generator(100 + seed), time.process_time()
    x, answers = deal(rows, generator)

    def batch(_: int) -> tuple[Tensor, Tensor]:
        some = torch.randint(rows, (RECIPE_01["batch_size"],), generator=generator)
        return x[some], answers[relation][some]

    optimizer = partial(torch.optim.AdamW, lr=RATES.get(name, RECIPE_01["rate"]))
    fit(
        model,
        batch,
        _loss,
        steps=steps,
        optimizer=optimizer,
        schedule=warmup_cosine(steps, warmup=RECIPE_01["warmup"]),
        progress=False,
    )
    seconds = time.process_time() - clock
    new, wanted = deal(RECIPE_01["evaluation_rows"], rng.generator(RECIPE_01["evaluation_seed"]))
    return {
        "model": name,
        "relation": relation,
        "rows": rows,
        "steps": steps,
        "seed": seed,
        "seen": hits(model, x, answers[relation]),
        "accuracy": hits(model, new, wanted[relation]),
        "parameters": sum(p.numel() for p in model.parameters()),
        "cpu_seconds": round(seconds, 2),
    }


def chapter() -> dict[str, Any]:
    """Diez semillas de cada modelo, relación y número de ejemplos, y de cada control."""
    plain = [
        (model, relation, rows, 300)
        for relation in RELATIONS
        for rows in RECIPE_01["sizes"]
        for model in ("convolución", "recurrencia", "atención")
    ]
    plain += [(*control, 300) for control in CONTROLS] + [(*control, 1200) for control in LONGER]
    runs = [
        run_01(model, relation, rows, seed, steps)
        for model, relation, rows, steps in plain
        for seed in range(10)
    ]
    return {"recipe": RECIPE_01, "runs": runs}
