"""Capítulo 8: diez semillas de la fila de personas, con cada manera de decir la posición."""

from __future__ import annotations

import math
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
    "few_steps": 30,
    "evaluation_seed": 999,
    "evaluation_size": 500,
    "dtype": "float64",
}


class _Share(nn.Module):
    """Suma el índice dividido entre la longitud: una sola dirección, de tamaño menor que 1."""

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        return x + (places / x.shape[-2])[:, None]


class _HalfTurn(nn.Module):
    """El mismo cociente como ángulo de una aguja que da media vuelta: dos direcciones."""

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        angle = math.pi * places / x.shape[-2]
        hand = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (n, 2)
        return x + hand.repeat(1, x.shape[-1] // 2)


def _table(std: float = 0.02) -> nn.Module:
    """Veinte filas sorteadas con esa desviación típica."""
    table = positions.Learned(20, RECIPE_08["d"])
    nn.init.normal_(table.table, std=std)
    return table


def _sinusoids() -> nn.Module:
    return positions.Sinusoidal(RECIPE_08["d"])


SPREAD = RECIPE_08["length"] + 1  # sitios en que puede empezar una fila, del 0 al 10
KINDS_08 = {  # posición, si se normaliza, cuántos comienzos y cuántos pasos
    "sin posición": (positions.NoPE, False, 1, "steps"),
    "índice": (positions.RawIndex, False, 1, "steps"),
    "índice y normalizar": (positions.RawIndex, True, 1, "steps"),
    "índice / n": (_Share, False, 1, "steps"),
    "media vuelta": (_HalfTurn, False, 1, "steps"),
    "tabla": (_table, False, 1, "steps"),
    "sinusoides": (_sinusoids, False, 1, "steps"),
    "tabla, 0–19": (_table, False, SPREAD, "steps"),
    "sinusoides, 0–19": (_sinusoids, False, SPREAD, "steps"),
    "30 pasos, tabla": (_table, False, 1, "few_steps"),
    "30 pasos, tabla de 0.7": (lambda: _table(0.7), False, 1, "few_steps"),
    "30 pasos, sinusoides": (_sinusoids, False, 1, "few_steps"),
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

    def forward(self, queue: Tensor, places: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.norm(self.position(self.names(queue), places))
        return self.answer(self.attention(x, x, x, mask)[0])


def _queues(size: int, n: int, generator: torch.Generator) -> Tensor:
    """Filas de ``n`` personas distintas, ``(size, n)``, como ``queues`` en el capítulo."""
    return torch.rand(size, RECIPE_08["names"], generator=generator).argsort(dim=-1)[:, :n]


def _hits(model: nn.Module, n: int, first: int, mask: Tensor | None = None) -> Tensor:
    """Aciertos por sitio, ``(n - 1,)``, en filas nuevas cuyos sitios empiezan en ``first``."""
    generator = rng.generator(RECIPE_08["evaluation_seed"])
    queue = _queues(RECIPE_08["evaluation_size"], n, generator)
    with torch.no_grad():
        guess = model(queue, first + torch.arange(n), mask).argmax(dim=-1)
    return (guess[:, 1:] == queue[:, :-1]).double().mean(dim=0)


def _train(name: str, seed: int) -> nn.Module:
    """Los mismos sorteos, en el mismo orden, que ``train`` en el capítulo."""
    make, norm, starts, steps = KINDS_08[name]
    rng.seed_all(seed)
    n, generator = RECIPE_08["length"], rng.generator(seed)
    model = _Queue(make(), norm)
    optimizer = torch.optim.Adam(model.parameters(), lr=RECIPE_08["rate"])
    for _ in range(RECIPE_08[steps]):
        queue = _queues(RECIPE_08["batch_size"], n, generator)
        first = torch.randint(starts, (), generator=generator)
        scores = model(queue, first + torch.arange(n))[:, 1:]
        loss = F.cross_entropy(scores.transpose(1, 2), queue[:, :-1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def run_08(name: str, seed: int) -> dict[str, Any]:
    """Entrena una de ``KINDS_08`` con una semilla y cuenta los aciertos en filas nuevas.

    ``longer_near`` son las filas de veinte con las claves a más de nueve sitios tapadas;
    ``by_place``, ``longer_by_place`` y ``from_five``, los aciertos de cada sitio en las filas de
    diez, en las de veinte y en las de diez que empiezan en el 5.
    """
    clock, n = time.process_time(), RECIPE_08["length"]
    model, place = _train(name, seed), torch.arange(2 * RECIPE_08["length"])
    near = (place[:, None] - place).abs() < n
    found = {
        "seen": _hits(model, n, 0),
        "unseen": _hits(model, n, n),
        "longer": _hits(model, 2 * n, 0),
        "longer_near": _hits(model, 2 * n, 0, near),
    }
    return {
        "model": name,
        "seed": seed,
        **{test: round(hits.mean().item(), 3) for test, hits in found.items()},
        "by_place": [round(x, 2) for x in found["seen"].tolist()],
        "longer_by_place": [round(x, 2) for x in found["longer"].tolist()],
        "from_five": [round(x, 2) for x in _hits(model, n, 5).tolist()],
        "cpu_seconds": round(time.process_time() - clock, 1),
    }


def chapter() -> dict[str, Any]:
    """Diez semillas de cada manera."""
    torch.set_default_dtype(torch.float64)
    try:
        runs = [run_08(name, seed) for name in KINDS_08 for seed in range(10)]
    finally:
        torch.set_default_dtype(torch.float32)
    return {"recipe": RECIPE_08, "runs": runs}
