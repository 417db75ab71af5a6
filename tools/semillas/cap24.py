"""Capítulo 24: ¿es el colapso de rango lo que impide aprender sin conexiones residuales?

Ocho bloques tienen que invertir frases de ocho letras. Se entrenan de cuatro maneras, iguales en
todo lo demás: con la suma; sin ella; sin ella y con matrices ortogonales, el control de que no sea
cosa de los tamaños; y sin ella, con las mismas matrices ortogonales y un empujón de cada posición
hacia sí misma, que evita el colapso al empezar. Las predicciones de ``PREDICTIONS_24`` se
escribieron antes de ejecutar nada de este fichero.

Vistas esas cuatro, se añadieron dos más, sin predicción (``AFTER_24``): el empujón sin las matrices
ortogonales, porque «empujón» cambia dos cosas a la vez, y el empujón hacia la posición siguiente,
que no abre un camino de cada posición a sí misma. Lo de ``AFTER_24`` se repite solo con
``python tools/semillas 24 --parte after``.

Cada ejecución se guarda en ``.cache/semillas-24`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from recuerdo import Memory, rounded
from torch import Tensor, nn

from atento import rng
from atento.attention import MultiHeadAttention
from atento.layers import FeedForward

RECIPE_24: dict[str, Any] = {
    "seeds": 5,
    "blocks": 8,
    "d_model": 32,
    "n_heads": 4,
    "d_ff": 64,
    "letters": 16,
    "length": 8,
    "steps": 300,
    "batch": 64,
    "rate": 0.002,
    "warmup": 40,
    "clip": 1.0,
    "push": 4.0,  # lo que se suma a la puntuación de cada posición consigo misma
    "tests": 500,
}
PREDICTIONS_24 = {
    "suma": "con la suma, acierta más del 95 % en las cinco semillas",
    "sin suma": "sin ella, menos del 25 % en las cinco",
    "ortogonal": "sin ella y con matrices ortogonales, menos del 25 % en las cinco",
    "empujón": "sin ella, con las ortogonales y el empujón, más del 50 % en las cinco",
}
# Añadidas después de ver las otras, sin predicción: cuántas semillas se han ejecutado de cada una.
AFTER_24 = {"empujón sin ortogonales": 5, "empujón al vecino": 5}
MEMORY_24 = Memory(24)


class Pushed(MultiHeadAttention):
    """La atención, con una constante sumada a la puntuación de cada posición con otra.

    ``toward`` dice cuál: 0, ella misma; 1, la siguiente (la última empuja a la primera).
    """

    push = 0.0
    toward = 0

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        pushed = torch.eye(key.shape[-2]).roll(self.toward, -1)
        return super().scores(query, key) + self.push * pushed


class Pile(nn.Module):
    """Bloques con la suma (``Pre-LN``) o sin ella: ``x ← norm(f(x))``."""

    def __init__(self, way: str) -> None:
        super().__init__()
        r = RECIPE_24
        self.summed = way == "suma"
        self.letters = nn.Embedding(r["letters"], r["d_model"])
        self.places = nn.Parameter(torch.randn(r["length"], r["d_model"]))
        steps: list[nn.Module] = []
        for _ in range(r["blocks"]):
            attention = Pushed(r["d_model"], r["n_heads"])
            attention.push = r["push"] if way.startswith("empujón") else 0.0
            attention.toward = 1 if way == "empujón al vecino" else 0
            steps += [attention, FeedForward(r["d_model"], r["d_ff"])]
            if way in ("ortogonal", "empujón", "empujón al vecino"):
                for linear in (attention.project_value, attention.project_output):
                    nn.init.orthogonal_(linear.weight)
        self.steps = nn.ModuleList(steps)
        self.norms = nn.ModuleList(nn.LayerNorm(r["d_model"]) for _ in steps)
        self.read = nn.Linear(r["d_model"], r["letters"])

    def states(self, ids: Tensor) -> list[Tensor]:
        """El estado a la entrada y tras cada subcapa."""
        found = [self.letters(ids) + self.places]
        for step, norm in zip(self.steps, self.norms, strict=True):
            x = found[-1]
            inner = norm(x) if self.summed else x
            new = step(inner)[0] if isinstance(step, MultiHeadAttention) else step(inner)
            found.append(x + new if self.summed else norm(new))
        return found

    def forward(self, ids: Tensor) -> Tensor:
        return self.read(self.states(ids)[-1])


def apart(x: Tensor) -> float:
    """Qué parte del estado no es común a todas las posiciones: de 0 (colapso) a 1."""
    return ((x - x.mean(-2, keepdim=True)).norm() / x.norm()).item()


def one(way: str, seed: int) -> dict[str, Any]:
    """Una ejecución: lo que hay al empezar, la curva y el acierto."""
    r = RECIPE_24
    torch.manual_seed(seed)
    draws = rng.generator(1000 + seed)
    pile = Pile(way)
    optimizer = torch.optim.AdamW(pile.parameters(), lr=r["rate"], betas=(0.9, 0.98))

    def lot(n: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        ids = torch.randint(r["letters"], (n, r["length"]), generator=source)
        return ids, ids.flip(-1)

    with torch.no_grad():
        tried = lot(100, rng.generator(77))[0]
        found: dict[str, Any] = {"apart": [apart(x) for x in pile.states(tried)]}
    curve = []
    for step in range(r["steps"]):
        rate = min(1.0, (step + 1) / r["warmup"])
        for group in optimizer.param_groups:
            group["lr"] = r["rate"] * rate
        ids, goal = lot(r["batch"], draws)
        loss = F.cross_entropy(pile(ids).flatten(0, 1), goal.flatten())
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            first = pile.steps[0].project_value.weight.grad
            found["gradient"] = first.norm().item()
        nn.utils.clip_grad_norm_(pile.parameters(), r["clip"])
        optimizer.step()
        if step % 20 == 19:
            curve.append(loss.item())
    with torch.no_grad():
        ids, goal = lot(r["tests"], rng.generator(999_999))
        states = pile.states(ids)
        hits = pile.read(states[-1]).argmax(-1) == goal
    found |= {"curve": curve, "hits": hits.double().mean().item()}
    found["apart_after"] = [apart(x) for x in states]
    return found


def once(way: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior."""
    made = {key: value for key, value in RECIPE_24.items() if key != "seeds"}
    name = f"{way.replace(' ', '-')}-{seed}"
    return MEMORY_24.once(name, made, lambda: {"seed": seed} | rounded(one(way, seed), ".4g"))


def runs() -> dict[str, Any]:
    """Las cuatro maneras, con todas sus semillas."""
    return {way: [once(way, s) for s in range(RECIPE_24["seeds"])] for way in PREDICTIONS_24}


def after() -> dict[str, Any]:
    """Las que se añadieron después de ver las otras, con las semillas que se han ejecutado."""
    return {way: [once(way, s) for s in range(seeds)] for way, seeds in AFTER_24.items()}


def chapter() -> dict[str, Any]:
    """La receta, lo que se predijo, lo que salió y lo que se añadió después."""
    made = {"recipe": RECIPE_24, "predictions": PREDICTIONS_24}
    return made | {"runs": runs(), "after": after()}


PARTES = {"runs": runs, "after": after}
