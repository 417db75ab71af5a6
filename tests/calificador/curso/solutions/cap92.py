"""Soluciones del curso de prueba, capítulo 92."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class TinyNorm(nn.Module):
    """Normaliza cada posición y la reescala."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.project = nn.Linear(d_model, d_model)

    def forward(self, hidden: Float[Tensor, "batch d_model"]) -> Float[Tensor, "batch d_model"]:
        """Proyecta, normaliza y reescala."""
        hidden = self.project(hidden)
        centered = hidden - hidden.mean(-1, keepdim=True)
        return self.gain * centered / (centered.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()


ORDER = ["puntuar", "escalar", "normalizar", "promediar"]
