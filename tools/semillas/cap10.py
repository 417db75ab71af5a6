"""Capítulo 10: Pre-LN y Post-LN, con y sin calentamiento, con cuatro tasas y diez semillas, y
los controles: con menos bloques, sin ninguno, sin atención y con pesos fijos.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from atento import rng
from atento.attention import MultiHeadAttention
from atento.blocks import Encoder, EncoderBlock
from atento.layers import FeedForward, LayerNorm, TokenEmbedding

RECIPE_10: dict[str, Any] = {
    "symbols": 16,
    "n": 8,
    "d_model": 32,
    "n_heads": 4,
    "d_ff": 64,
    "steps": 300,
    "batch_size": 16,
    "warmup": 100,
    "betas": [0.9, 0.98],
    "window": 20,
    "dtype": "float32",
}
RATES_10 = {0.0003: 3, 0.001: 10, 0.003: 10, 0.01: 3}  # tasa: cuántas semillas
CONTROL_10 = {0.003: 10}
WITHOUT_10 = (0.003, 5)  # tasa y semillas de los controles sin bloques y sin atención
MIXING_10 = (0.003, 5)  # los de los pesos fijos: cada posición sola, y todas por igual


class Copier(nn.Module):
    """Una pila de bloques que dice, en cada posición, el símbolo que ha entrado por ella.

    Con ``depth=0`` solo queda la normalización final.
    """

    def __init__(self, norm: str, depth: int) -> None:
        super().__init__()
        d, symbols = RECIPE_10["d_model"], RECIPE_10["symbols"]
        self.embed = TokenEmbedding(symbols, d)
        self.places = nn.Parameter(torch.randn(RECIPE_10["n"], d))
        blocks = [
            EncoderBlock(
                MultiHeadAttention(d, RECIPE_10["n_heads"]),
                FeedForward(d, RECIPE_10["d_ff"]),
                norm=norm,
            )
            for _ in range(depth)
        ]
        final = LayerNorm(d) if norm == "pre" else None
        self.encoder = Encoder(blocks, final) if blocks else final
        self.read = nn.Linear(d, symbols)

    def forward(self, ids: Tensor) -> Tensor:
        """Una puntuación por símbolo, ``(batch, n, symbols)``."""
        return self.read(self.encoder(self.embed(ids) + self.places))


def silence_attention(model: Copier) -> None:
    """Pone a cero lo que devuelve la atención de cada bloque; lo demás sigue igual."""
    for block in model.encoder.blocks:
        block.attention.register_forward_hook(lambda _, __, output: (0 * output[0], *output[1:]))


def isolate_positions(model: Copier) -> None:
    """Pone en cada atención la máscara identidad: cada posición se ve solo a sí misma.

    Lo demás sigue igual: la atención devuelve, de cada posición, su propio valor.
    """
    own = {"mask": torch.eye(RECIPE_10["n"], dtype=torch.bool)}
    for block in model.encoder.blocks:
        block.attention.register_forward_pre_hook(
            lambda _, args, options: (args, options | own), with_kwargs=True
        )


def attend_evenly(model: Copier) -> None:
    """Deja a cero las consultas de cada atención, y ahí se quedan: todo pesa siempre lo mismo."""
    for block in model.encoder.blocks:
        for parameter in block.attention.project_query.parameters():
            nn.init.zeros_(parameter).requires_grad_(False)


def losses(
    norm: str,
    warmup: int,
    rate: float,
    seed: int,
    depth: int = 12,
    change: Callable[[Copier], None] | None = None,
) -> list[float]:
    """La pérdida de cada paso; sin recorte ni decaimiento, para que solo cambie lo que se dice."""
    torch.manual_seed(seed)
    model, source = Copier(norm, depth), rng.generator(1000 + seed)
    if change:
        change(model)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=rate, betas=tuple(RECIPE_10["betas"]), eps=1e-9, fused=True
    )
    size, curve = (RECIPE_10["batch_size"], RECIPE_10["n"]), []
    for step in range(1, RECIPE_10["steps"] + 1):
        optimizer.param_groups[0]["lr"] = rate * min(1.0, step / warmup if warmup else 1.0)
        ids = torch.randint(RECIPE_10["symbols"], size, generator=source)
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return curve


def windows(curve: list[float]) -> list[float]:
    """La pérdida media de cada ventana de pasos."""
    size = RECIPE_10["window"]
    return [round(sum(curve[i : i + size]) / size, 3) for i in range(0, len(curve), size)]


def runs(depth: int, rates: dict[float, int]) -> list[dict[str, Any]]:
    """Cada colocación, con y sin calentamiento, con cada tasa y sus semillas."""
    return [
        {
            "norm": norm,
            "warmup": warmup,
            "rate": rate,
            "curves": [windows(losses(norm, warmup, rate, seed, depth)) for seed in range(seeds)],
        }
        for rate, seeds in rates.items()
        for norm in ("pre", "post")
        for warmup in (0, RECIPE_10["warmup"])
    ]


def without() -> dict[str, list[list[float]]]:
    """Los dos controles: ningún bloque, y doce Post-LN con la atención callada."""
    rate, seeds = WITHOUT_10
    return {
        "blocks": [windows(losses("pre", 0, rate, seed, 0)) for seed in range(seeds)],
        "attention": [
            windows(losses("post", 0, rate, seed, change=silence_attention))
            for seed in range(seeds)
        ],
    }


def mixing() -> dict[str, Any]:
    """Doce Post-LN con las dos maneras de no elegir: sin mezclar nada y mezclándolo todo igual."""
    rate, seeds = MIXING_10
    ways = {"alone": isolate_positions, "uniform": attend_evenly}
    return {
        name: [windows(losses("post", 0, rate, seed, change=change)) for seed in range(seeds)]
        for name, change in ways.items()
    }


PARTES = {"mixing": mixing}


def chapter() -> dict[str, Any]:
    """Las curvas con doce bloques y sus controles."""
    return {
        "recipe": RECIPE_10,
        "deep": runs(12, RATES_10),
        "shallow": runs(2, CONTROL_10),
        "without": without(),
        "mixing": mixing(),
    }
