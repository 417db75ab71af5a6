"""Capítulo 4: diez semillas del experimento de la escala."""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from atento import rng

RECIPE_04: dict[str, Any] = {
    "keys": 32,
    "d": 32,
    "d_k": 64,
    "d_v": 16,
    "noise": 0.3,
    "batch_size": 32,
    "rate": 3e-3,
    "steps": 500,
    "evaluation_seed": 999,
    "evaluation_size": 1000,
    "dtype": "float64",
}
RUNS_04 = {  # desviación típica inicial de q y k, y factor de las puntuaciones (None: 1/√d_k)
    "m = 1, escalada": (1.0, None),
    "m = 1, sin escalar": (1.0, 1.0),
    "m = 1, por 9": (1.0, 9.0),
    "m = 3, escalada": (3.0, None),
    "m = 3, sin escalar": (3.0, 1.0),
}


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _batch(size: int, hidden: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Consultas, claves, valores, cuál es la clave buena y su valor; como ``batch`` en el
    capítulo."""
    n, d, d_v = (RECIPE_04[name] for name in ("keys", "d", "d_v"))
    keys, values = _normal(generator, size, n, d), _normal(generator, size, n, d_v)
    target, row = torch.randint(n, (size,), generator=generator), torch.arange(size)
    x = keys[row, target] @ hidden + RECIPE_04["noise"] * _normal(generator, size, d)
    return x[:, None], keys, values, target, values[row, target][:, None]


def run_04(name: str, seed: int) -> dict[str, Any]:
    """Entrena una de ``RUNS_04`` con una semilla y cuenta los aciertos en problemas nuevos."""
    (m, scale), generator, clock = RUNS_04[name], rng.generator(seed), time.process_time()
    d, d_k = RECIPE_04["d"], RECIPE_04["d_k"]
    hidden = torch.linalg.qr(_normal(generator, d, d)).Q
    weights = [(m * _normal(generator, d, d_k) / d**0.5).requires_grad_() for _ in range(2)]
    optimizer = torch.optim.Adam(weights, lr=RECIPE_04["rate"])
    for _ in range(RECIPE_04["steps"]):
        x, keys, values, _, wanted = _batch(RECIPE_04["batch_size"], hidden, generator)
        output = F.scaled_dot_product_attention(
            x @ weights[0], keys @ weights[1], values, scale=scale
        )
        optimizer.zero_grad()
        (output - wanted).square().mean().backward()
        optimizer.step()
    x, keys, _, target, _ = _batch(
        RECIPE_04["evaluation_size"], hidden, rng.generator(RECIPE_04["evaluation_seed"])
    )
    scores = (x @ weights[0]) @ (keys @ weights[1]).mT
    hits = scores[:, 0].argmax(-1).eq(target).double().mean().item()
    return {
        "model": name,
        "seed": seed,
        "accuracy": round(hits, 3),
        "cpu_seconds": round(time.process_time() - clock, 1),
    }


def chapter() -> dict[str, Any]:
    """Diez semillas de cada combinación."""
    runs = [run_04(name, seed) for name in RUNS_04 for seed in range(10)]
    return {"recipe": RECIPE_04, "runs": runs}
