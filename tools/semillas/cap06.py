"""Capítulo 6: diez semillas del techo de las cabezas y de la ablación, con sus controles."""

from __future__ import annotations

import copy
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from atento import rng
from atento.attention import MultiHeadAttention

RECIPE_06: dict[str, Any] = {
    "steps": 400,
    "batch_size": 32,
    "rate": 0.02,
    "test_size": 512,
    "codes_seed": 6,
    "dtype": "float32",
}
CEILING_06 = ((24, 4), (24, 6), (36, 6), (36, 9))  # (d, h), con cuatro relaciones
SEEDS_06 = range(10)
SIGNS = torch.tensor(list(product([-1.0, 1.0], repeat=6)))
SIGNS = SIGNS[torch.randperm(64, generator=rng.generator(RECIPE_06["codes_seed"]))]
TRAIN, TEST = SIGNS[:32], SIGNS[32:]


def deal(
    codes: Tensor, relations: int, batch: int, generator: torch.Generator, clauses: int = 3
) -> tuple[Tensor, Tensor, Tensor]:
    """Rótulos ``(batch, n, 11)``, contenidos ``(batch, n, 2)`` y lo que se pide; como en el
    capítulo."""
    size = relations + 1
    order = torch.rand(batch, len(codes), generator=generator).argsort(-1)
    code = codes[order[:, :clauses]].repeat_interleave(size, 1)
    role = torch.eye(5)[:size].repeat(clauses, 1).expand(batch, -1, -1)
    content = torch.randn(batch, clauses * size, 2, generator=generator)
    wanted = content.unflatten(1, (clauses, size))[:, :, 1:]
    return torch.cat([code, role], -1), content, wanted


class Reader(nn.Module):
    """Una capa de atención entre dos lineales."""

    def __init__(self, d: int, n_heads: int, relations: int) -> None:
        super().__init__()
        self.size = relations + 1
        self.label, self.content = nn.Linear(11, d), nn.Linear(2, d)
        self.attention = MultiHeadAttention(d, n_heads)
        self.read = nn.Linear(d, 2 * relations)

    def forward(self, label: Tensor, content: Tensor) -> Tensor:
        """Lo leído, ``(batch, oración, relación, 2)``."""
        z = self.label(label)
        read, _ = self.attention(z[:, :: self.size], z, self.content(content))
        return self.read(read).unflatten(-1, (-1, 2))


def train(
    d: int,
    n_heads: int,
    relations: int,
    seed: int,
    *,
    codes: Tensor = TRAIN,
    lists: int | None = None,
) -> Reader:
    """Un modelo, con los pasos de la receta; ``lists`` es la semilla de las listas, si es otra."""
    torch.manual_seed(seed)
    source = rng.generator(100 + (seed if lists is None else lists))
    model = Reader(d, n_heads, relations)
    optimizer = torch.optim.Adam(model.parameters(), lr=RECIPE_06["rate"])
    steps = RECIPE_06["steps"]
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0.02, steps)
    for _ in range(steps):
        label, content, wanted = deal(codes, relations, RECIPE_06["batch_size"], source)
        optimizer.zero_grad()
        F.mse_loss(model(label, content), wanted).backward()
        optimizer.step()
        schedule.step()
    return model


@torch.no_grad()
def explained(model: Reader, codes: Tensor = TEST) -> Tensor:
    """R² de cada relación, ``(relations,)``."""
    batch = deal(codes, model.size - 1, RECIPE_06["test_size"], rng.generator(9))
    error = (model(*batch[:2]) - batch[2]).square()
    return 1 - error.mean((0, 1, 3)) / batch[2].square().mean((0, 1, 3))


def without(model: Reader, directions: Tensor) -> Reader:
    """El mismo modelo, sin lo que W^O recibe en esas direcciones, ``(d, k)``, ortonormales."""
    model = copy.deepcopy(model)
    weight = model.attention.project_output.weight.data  # (d, h · d_v)
    weight -= weight @ directions @ directions.T
    return model


def ablation(seed: int) -> dict[str, list[float]]:
    """Lo que pierde cada relación sin la cabeza más cara, y lo más que pierde con los controles."""
    model, draws = train(24, 4, 3, seed), rng.generator(1000 + seed)
    whole, axes = explained(model), torch.eye(24)
    heads = [whole - explained(without(model, axes[:, 6 * i : 6 * i + 6])) for i in range(4)]
    rows = [axes[:, torch.randperm(24, generator=draws)[:6]] for _ in range(10)]
    spaces = [torch.linalg.qr(torch.randn(24, 6, generator=draws))[0] for _ in range(10)]
    lost = {
        name: torch.stack([whole - explained(without(model, one)) for one in many])
        for name, many in (("rows", rows), ("subspaces", spaces))
    }
    price = torch.stack(heads).sum(-1)
    return {
        "whole": round(whole.sum().item(), 3),
        "prices": [round(one, 3) for one in price.tolist()],
        "dearest": [round(one, 3) for one in heads[int(price.argmax())].tolist()],
        **{f"{name}_mean": round(one.sum(-1).mean().item(), 3) for name, one in lost.items()},
        **{f"{name}_max": round(one.max().item(), 3) for name, one in lost.items()},
    }


def roles(seed: int, lists: int) -> list[int]:
    """Qué cabeza, desde 1, es la más cara de cada relación."""
    model, axes = train(24, 4, 3, seed, lists=lists), torch.eye(24)
    left = [explained(without(model, axes[:, 6 * i : 6 * i + 6])) for i in range(4)]
    return (torch.stack(left).argmin(0) + 1).tolist()


def ceiling(
    seen: Tensor, reserved: Tensor, seeds: range = SEEDS_06
) -> dict[str, dict[str, list[float]]]:
    """Suma de R² con unos códigos para entrenar y otros reservados."""
    found = {}
    for d, n_heads in CEILING_06:
        models = [train(d, n_heads, 4, seed, codes=seen) for seed in seeds]
        found[f"d={d}, h={n_heads}"] = {
            name: [round(explained(model, codes).sum().item(), 3) for model in models]
            for name, codes in (("seen", seen), ("reserved", reserved))
        }
    return found


def chapter() -> dict[str, Any]:
    """El techo, también con los códigos cambiados; la ablación de diez modelos, y quién hace qué si
    solo cambian las listas o solo los pesos iniciales.
    """
    return {
        "recipe": RECIPE_06,
        "ceiling": ceiling(TRAIN, TEST),
        "swapped": ceiling(TEST, TRAIN, SEEDS_06[:3]),
        "ablation": [ablation(seed) for seed in SEEDS_06],
        "roles": {
            "same start": [roles(0, other) for other in range(4)],
            "same lists": [roles(other, 0) for other in range(4)],
        },
    }
