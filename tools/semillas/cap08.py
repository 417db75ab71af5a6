"""Capítulo 8: diez semillas de la fila de personas, con cada manera de decir la posición."""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from atento import attention, positions, rng

RECIPE_08: dict[str, Any] = {
    "names": 24,
    "d": 32,
    "length": 10,
    "batch_size": 64,
    "rate": 1e-2,
    "steps": 300,
    "evaluation_seed": 999,
    "evaluation_size": 500,
    "dtype": "float64",
}


class _Share(nn.Module):
    """Suma el índice dividido entre la longitud."""

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        return x + (places / x.shape[-2])[:, None]


KINDS_08 = {  # posición, si se normaliza y si se entrena empezando en sitios distintos
    "sin posición": (positions.NoPE, False, False),
    "índice": (positions.RawIndex, False, False),
    "índice y normalizar": (positions.RawIndex, True, False),
    "índice / n": (_Share, False, False),
    "tabla": (lambda: positions.Learned(20, RECIPE_08["d"]), False, False),
    "sinusoides": (lambda: positions.Sinusoidal(RECIPE_08["d"]), False, False),
    "tabla, todas las filas": (lambda: positions.Learned(20, RECIPE_08["d"]), False, True),
    "sinusoides, todos los sitios": (lambda: positions.Sinusoidal(RECIPE_08["d"]), False, True),
}


class _Queue(nn.Module):
    """Embeddings, posición, una cabeza de atención y una respuesta por persona."""

    def __init__(self, position: nn.Module, norm: bool) -> None:
        super().__init__()
        names, d = RECIPE_08["names"], RECIPE_08["d"]
        self.names, self.position = nn.Embedding(names, d), position
        self.norm = nn.LayerNorm(d) if norm else nn.Identity()
        self.attention = attention.MultiHeadAttention(d, 1)
        self.answer = nn.Linear(d, names)

    def forward(self, queue: Tensor, places: Tensor) -> Tensor:
        x = self.norm(self.position(self.names(queue), places))
        return self.answer(self.attention(x, x, x)[0])


def _queues(size: int, n: int, generator: torch.Generator) -> Tensor:
    """Filas de ``n`` personas distintas, ``(size, n)``, como ``queues`` en el capítulo."""
    return torch.rand(size, RECIPE_08["names"], generator=generator).argsort(dim=-1)[:, :n]


def _accuracy(model: nn.Module, n: int, first: int) -> float:
    """Aciertos en filas nuevas de ``n`` personas cuyos sitios empiezan en ``first``."""
    generator = rng.generator(RECIPE_08["evaluation_seed"])
    queue = _queues(RECIPE_08["evaluation_size"], n, generator)
    with torch.no_grad():
        guess = model(queue, first + torch.arange(n)).argmax(dim=-1)
    return round((guess[:, 1:] == queue[:, :-1]).double().mean().item(), 3)


def run_08(name: str, seed: int) -> dict[str, Any]:
    """Entrena una de ``KINDS_08`` con una semilla y cuenta los aciertos en filas nuevas."""
    rng.seed_all(seed)
    (make, norm, spread), clock = KINDS_08[name], time.process_time()
    n, generator = RECIPE_08["length"], rng.generator(seed)
    model = _Queue(make(), norm).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=RECIPE_08["rate"])
    for _ in range(RECIPE_08["steps"]):
        queue = _queues(RECIPE_08["batch_size"], n, generator)
        start = torch.randint(0, n + 1, (), generator=generator) if spread else 0
        scores = model(queue, start + torch.arange(n))[:, 1:]
        loss = F.cross_entropy(scores.flatten(0, 1), queue[:, :-1].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {
        "model": name,
        "seed": seed,
        "seen": _accuracy(model, n, 0),
        "unseen": _accuracy(model, n, n),
        "longer": _accuracy(model, 2 * n, 0),
        "cpu_seconds": round(time.process_time() - clock, 1),
    }


def chapter() -> dict[str, Any]:
    """Diez semillas de cada manera."""
    runs = [run_08(name, seed) for name in KINDS_08 for seed in range(10)]
    return {"recipe": RECIPE_08, "runs": runs}
