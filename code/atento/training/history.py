"""Lo que queda de una ejecución: la curva, las métricas y por qué se paró."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


@dataclass
class History:
    """Lo que pasó: por paso, la pérdida, la tasa y la norma del gradiente (antes de recortar).

    ``metrics[nombre]`` es una lista de pares (paso, valor), de las evaluaciones. ``seconds`` son
    segundos de procesador, no de reloj.
    """

    loss: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    metrics: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def steps(self) -> int:
        """Pasos dados."""
        return len(self.loss)

    def record(self, step: int, values: dict[str, float]) -> None:
        """Anota métricas en el paso ``step``."""
        for name, value in values.items():
            self.metrics.setdefault(name, []).append((step, float(value)))

    def last(self, name: str) -> float:
        """El último valor de una métrica.

        Errores: ``KeyError`` si no se anotó ninguna con ese nombre.
        """
        if name not in self.metrics:
            known = ", ".join(self.metrics) or "ninguna"
            raise KeyError(f"name: se esperaba una métrica anotada ({known}); llegó {name!r}.")
        return self.metrics[name][-1][1]


class TrainingDiverged(FloatingPointError):
    """La pérdida o el gradiente dejaron de ser finitos.

    ``step`` dice cuándo e ``history`` guarda la curva.
    """

    def __init__(self, message: str, step: int, history: History) -> None:
        super().__init__(message)
        self.step, self.history = step, history


class TrainingTimeout(TimeoutError):
    """Se pasó el límite de segundos. ``step`` e ``history`` dicen hasta dónde se llegó."""

    def __init__(self, message: str, step: int, history: History) -> None:
        super().__init__(message)
        self.step, self.history = step, history


@dataclass
class State:
    """Lo que ve una llamada de aviso tras cada paso: ``step`` cuenta los pasos dados, desde 1.

    ``model`` es el modelo mismo, sin la envoltura de ``torch.compile`` o de
    ``DistributedDataParallel`` con que se entrene; ``save(path)`` guarda lo que hace falta para
    reanudar.
    """

    step: int
    steps: int
    loss: float
    model: nn.Module
    optimizer: torch.optim.Optimizer
    history: History
    save: Callable[[Path], None]


Callback = Callable[[State], dict[str, float] | None]
Loss = Callable[[nn.Module, Any], Tensor]
Schedule = Callable[[int], float]
Weight = Callable[[Any], float | Tensor]
