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
    "control_seed": 3,
    "dtype": "float64",
}


class _Share(nn.Module):
    """Suma el índice dividido entre la longitud, por ``size``: una sola dirección."""

    def __init__(self, size: float = 1.0) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        return x + self.size * (places / x.shape[-2])[:, None]


class _HalfTurn(nn.Module):
    """El mismo cociente como ángulo de una aguja de largo ``size`` que da media vuelta: dos
    direcciones.
    """

    def __init__(self, size: float = 1.0) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        angle = math.pi * places / x.shape[-2]
        hand = self.size * torch.stack([angle.sin(), angle.cos()], dim=-1)  # (n, 2)
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
    # Los mismos con otro tamaño: el primero, mayor que «media vuelta»; el segundo, el del índice.
    "índice / n, doble": (lambda: _Share(2.0), False, 1, "steps"),
    "media vuelta, grande": (lambda: _HalfTurn(7.5), False, 1, "steps"),
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


def _sparing(rank: Tensor) -> Tensor:
    """Máscara ``(n, n)`` que tapa en cada fila tantas claves como las lejanas, a más de nueve
    sitios, empezando por las de menor ``rank``; nunca la propia ni la de delante.
    """
    place = torch.arange(len(rank))
    away = (place[:, None] - place).abs()
    order = rank.masked_fill((away == 0) | (place[:, None] - place == 1), torch.inf)
    hidden = (away >= RECIPE_08["length"]).sum(dim=-1, keepdim=True)
    return order.argsort(dim=-1, stable=True).argsort(dim=-1) >= hidden


def _controls(model: nn.Module) -> dict[str, float]:
    """Aciertos en filas de veinte con tantas claves tapadas como en ``longer_near``: las más
    cercanas (``longer_far``), o al azar, en la media de diez sorteos (``longer_random``).
    """
    n, generator = 2 * RECIPE_08["length"], rng.generator(RECIPE_08["control_seed"])
    place = torch.arange(n)
    away = (place[:, None] - place).abs().double()
    draws = [torch.rand(n, n, generator=generator) for _ in range(10)]
    far = _hits(model, n, 0, _sparing(away)).mean().item()
    drawn = [_hits(model, n, 0, _sparing(draw)).mean().item() for draw in draws]
    return {"longer_far": round(far, 3), "longer_random": round(sum(drawn) / len(drawn), 3)}


def run_08(name: str, seed: int) -> dict[str, Any]:
    """Entrena una de ``KINDS_08`` con una semilla y cuenta los aciertos en filas nuevas.

    ``longer_near`` son las filas de veinte con las claves a más de nueve sitios tapadas, y si el
    modelo ha visto los veinte sitios se añaden sus dos controles, los de ``_controls``;
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
        **(_controls(model) if KINDS_08[name][2] > 1 else {}),
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
