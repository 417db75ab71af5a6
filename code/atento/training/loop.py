"""El bucle: un paso tras otro, y lo que se hace si algo va mal."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from atento.checks import training as checks
from atento.training.batches import Batches
from atento.training.history import (
    Callback,
    History,
    Loss,
    Schedule,
    State,
    TrainingDiverged,
    TrainingTimeout,
    Weight,
)
from atento.training.parameters import LastGood, unwrap
from atento.training.precision import Precision
from atento.training.progress import progress_bar
from atento.training.saving import Run
from atento.training.team import Team

Optimizers = (
    torch.optim.Optimizer | Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None
)
"""Un optimizador, una función de los parámetros que lo construye, o ``None``."""

_ADVICE = (
    "Prueba a bajar la tasa de aprendizaje, alargar el calentamiento, recortar más el gradiente "
    "(clip) o buscar en los datos ceros que dividan y filas enteras tapadas. El modelo queda con "
    "los pesos de la última pérdida finita."
)


def fit(
    model: nn.Module,
    batches: Any,
    loss: Loss,
    *,
    steps: int,
    seconds: float | None = None,
    optimizer: Optimizers = None,
    schedule: Schedule | None = None,
    callbacks: Iterable[Callback] = (),
    clip: float | None = 1.0,
    accumulate: int = 1,
    weight: Weight | None = None,
    precision: str | None = None,
    generators: Sequence[torch.Generator] = (),
    resume: str | Path | None = None,
    progress: bool | None = None,
) -> History:
    """Entrena ``model`` durante ``steps`` pasos y devuelve su :class:`History`.

    ``batches`` es una lista de lotes (se repite), un iterable (se reinicia al acabarse, si puede) o
    una función del número de lote. ``loss(model, batch)`` devuelve un escalar. ``optimizer``: un
    optimizador, una función de los parámetros, o ``None`` (AdamW con tasa 1e-3); ``schedule(step)``
    multiplica su tasa. ``clip``: norma máxima del gradiente, o ``None`` para no recortar. Tras cada
    paso se llama a ``callbacks`` con un :class:`State`; los diccionarios que devuelvan se anotan.

    Cada paso suma los gradientes de ``accumulate`` lotes, cada uno con su ``weight(batch)``: si la
    pérdida es una media, cuántas cosas promedia (las palabras que no son relleno). Así el paso es
    el del lote que las junta todas, y no una media de medias. ``model`` puede venir envuelto en
    ``DistributedDataParallel``: los pesos cuentan también entre procesos, y la pérdida anotada es
    la de todos. ``precision`` es ``None``, «bfloat16» o «float16»; con la última, que solo va en
    CUDA, la pérdida se multiplica antes de derivarla y el gradiente se divide después.

    ``resume`` es un fichero de :func:`checkpoint`: se sigue donde quedó, con los mismos lotes en el
    mismo orden; los generadores de los que beba una función de lotes se dan en ``generators``.
    ``progress=None`` muestra la barra solo si hay quien la mire.

    Errores: ``TypeError`` o ``ValueError`` si un argumento no es lo que se dice, no hay datos o se
    acaban, la pérdida no es un escalar con gradiente, falta ``weight`` al acumular, o el fichero de
    ``resume`` está dañado o es de otra ejecución; ``FileNotFoundError`` si no existe;
    :class:`TrainingDiverged` si la pérdida deja de ser finita (dice el paso y deja los últimos
    pesos sanos); :class:`TrainingTimeout` si se pasan ``seconds`` segundos de procesador.
    """
    checks.fit(model, loss, steps, seconds, clip, accumulate, weight, generators, schedule)
    run = _begin(model, batches, optimizer, accumulate, precision, generators)
    if resume is not None:
        run.load(Path(resume))
    stepper = _Stepper(model, loss, clip, weight, run, LastGood(model))
    callbacks = sorted(callbacks, key=lambda callback: getattr(callback, "runs_last", False))
    history, first = run.history, run.history.steps
    spent, clock = history.seconds, time.process_time()
    model.train()
    with progress_bar(first, steps, progress if run.team.rank == 0 else False) as bar:
        for step in range(first, steps):
            rate = _set_rate(run.optimizer, schedule, step)
            value = stepper.take(step, run.batches.get(step, steps))
            history.rate.append(rate)
            history.seconds = spent + time.process_time() - clock
            state = State(step + 1, steps, value, run.model, run.optimizer, history, run.save)
            for callback in callbacks:
                history.record(step + 1, callback(state) or {})
            bar.set_postfix_str(f"pérdida {value:.3f}", refresh=False)
            bar.update()
            _guard(seconds, step + 1, steps, history)
    return history


def _begin(
    model: nn.Module,
    batches: Any,
    optimizer: Optimizers,
    accumulate: int,
    precision: str | None,
    generators: Sequence[torch.Generator],
) -> Run:
    return Run(
        unwrap(model),
        _build_optimizer(model, optimizer),
        Batches(batches, accumulate),
        Precision(precision, model.parameters()),
        Team(model),
        tuple(generators),
    )


@dataclass
class _Stepper:
    """Un paso: pérdidas, gradientes, recorte y actualización."""

    model: nn.Module
    loss: Loss
    clip: float | None
    weight: Weight | None
    run: Run
    good: LastGood

    def take(self, step: int, lots: list[Any]) -> float:
        """Da un paso; anota la pérdida, que devuelve, y la norma del gradiente sin recortar."""
        precision, optimizer = self.run.precision, self.run.optimizer
        optimizer.zero_grad(set_to_none=True)
        number = self._accumulate(lots)
        if not math.isfinite(number):
            self.good.restore()
            self._diverged(f"la pérdida es {number} en el paso {step + 1}", step)
        precision.unscale(optimizer)
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        limit = math.inf if self.clip is None else self.clip
        norm = float(nn.utils.clip_grad_norm_(parameters, limit))
        if not math.isfinite(norm) and not precision.may_skip():
            place = f"en el paso {step + 1} (pérdida {number:.4g})"
            self._diverged(f"el gradiente no es finito {place}", step)
        self.good.keep()
        precision.step(optimizer)
        self.run.history.loss.append(number)
        self.run.history.gradient_norm.append(norm)
        return number

    def _accumulate(self, lots: list[Any]) -> float:
        """Suma los gradientes de los lotes, cada uno en su proporción; devuelve la pérdida."""
        team, precision, number = self.run.team, self.run.precision, 0.0
        for i, (lot, share) in enumerate(zip(lots, self._shares(lots), strict=True)):
            with team.quiet(active=i < len(lots) - 1):
                with precision.autocast():
                    value = self.loss(self.model, lot)
                checks.loss_value(value)
                precision.backward(value if share == 1 else value * share)
            number += value.item() * share
        return team.total(number) / team.size

    def _shares(self, lots: list[Any]) -> list[float]:
        """La parte de cada lote en la media de todos, por el número de procesos."""
        weights = [1.0 if self.weight is None else checks.weigh(self.weight, lot) for lot in lots]
        total = self.run.team.total(sum(weights))
        return [self.run.team.size * w / total if total else 0.0 for w in weights]

    def _diverged(self, what: str, step: int) -> None:
        self.run.optimizer.zero_grad(set_to_none=True)
        raise TrainingDiverged(f"{what}. {_ADVICE}", step + 1, self.run.history)


def _build_optimizer(model: nn.Module, optimizer: Any) -> torch.optim.Optimizer:
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError("model: se esperaban parámetros que entrenar; llegó un modelo sin ellos.")
    if optimizer is None:
        return torch.optim.AdamW(model.parameters(), lr=1e-3)
    if isinstance(optimizer, torch.optim.Optimizer):
        return optimizer
    if not callable(optimizer):
        raise TypeError(
            "optimizer: se esperaba un optimizador o una función que lo construya; llegó "
            f"{type(optimizer).__name__}."
        )
    built = optimizer(model.parameters())
    if not isinstance(built, torch.optim.Optimizer):
        raise TypeError(
            "optimizer: se esperaba que la función devolviera un optimizador; devolvió "
            f"{type(built).__name__}."
        )
    return built


def _set_rate(optimizer: torch.optim.Optimizer, schedule: Schedule | None, step: int) -> float:
    for group in optimizer.param_groups:
        base = group.setdefault("initial_lr", group["lr"])
        group["lr"] = base * (schedule(step) if schedule else 1.0)
    return optimizer.param_groups[0]["lr"]


def _guard(seconds: float | None, step: int, steps: int, history: History) -> None:
    if seconds is not None and history.seconds > seconds and step < steps:
        raise TrainingTimeout(
            f"se pasó el límite de {seconds:g} segundos de procesador en el paso {step} de "
            f"{steps}: sube seconds, o baja steps o el tamaño del modelo. El número de pasos es "
            "fijo; el límite solo avisa.",
            step,
            history,
        )
