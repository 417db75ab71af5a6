"""Piso 5: el bucle de entrenamiento, el mismo para todos los modelos del libro.

El modelo, los datos y la pérdida llegan como argumentos: este fichero no conoce ninguno. Los pasos son un número fijo; el
límite de segundos solo sirve para avisar de que algo va mal. Una ejecución puede guardarse y reanudarse, y su curva es
la misma, número a número, que la de una ejecución sin cortes.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from atento.numbers import require_positive, require_size


@dataclass
class History:
    """Lo que pasó: por paso, la pérdida, la tasa y la norma del gradiente (antes de recortar); y las evaluaciones.

    ``metrics[nombre]`` es una lista de pares (paso, valor). ``seconds`` son segundos de procesador, no de reloj.
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
        """El último valor de una métrica. KeyError si no se anotó ninguna."""
        if name not in self.metrics:
            raise KeyError(f"no hay ninguna métrica {name!r}; las anotadas son: {', '.join(self.metrics) or 'ninguna'}")
        return self.metrics[name][-1][1]


class TrainingDiverged(FloatingPointError):
    """La pérdida o el gradiente dejaron de ser finitos. ``step`` dice cuándo e ``history`` guarda la curva."""

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
    """Lo que ve una llamada de aviso tras cada paso: ``step`` cuenta los pasos dados, desde 1."""

    step: int
    steps: int
    loss: float
    model: nn.Module
    optimizer: torch.optim.Optimizer
    history: History


Callback = Callable[[State], dict[str, float] | None]
Loss = Callable[[nn.Module, Any], Tensor]
Schedule = Callable[[int], float]


# --- Calendario y avisos ----------------------------------------------------------------------------------------


def warmup_cosine(steps: int, *, warmup: int = 100, final: float = 0.0) -> Schedule:
    """Multiplicador de la tasa: sube en línea recta durante ``warmup`` pasos y baja como un coseno hasta ``final``.

    Devuelve una función del paso (desde 0) a un número entre 0 y 1. ValueError si ``warmup`` no está entre 0 y ``steps``.
    Fuente: Loshchilov y Hutter (2017), ec. 5, con calentamiento.
    """
    require_size(steps, name="steps")
    if not 0 <= warmup <= steps:
        raise ValueError(f"warmup: se esperaba un número entre 0 y steps = {steps}; llegó {warmup}.")

    def multiplier(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        progress = (step - warmup) / max(1, steps - warmup)
        return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))

    return multiplier


def evaluate(function: Callable[[nn.Module], dict[str, float]], *, every: int) -> Callback:
    """Un aviso que cada ``every`` pasos, y en el último, evalúa ``function(model)`` sin gradientes y en modo evaluación.

    Las métricas que devuelve quedan en ``History.metrics``.
    """
    require_size(every, name="every")

    def callback(state: State) -> dict[str, float] | None:
        if state.step % every and state.step != state.steps:
            return None
        training = state.model.training
        state.model.eval()
        try:
            with torch.no_grad():
                return function(state.model)
        finally:
            state.model.train(training)

    return callback


def checkpoint(path: str | Path, *, every: int) -> Callback:
    """Un aviso que cada ``every`` pasos, y en el último, guarda en ``path`` lo necesario para reanudar con ``resume``."""
    require_size(every, name="every")

    def callback(state: State) -> None:
        if state.step % every == 0 or state.step == state.steps:
            _save(Path(path), state)

    callback.runs_last = True  # guarda también lo que anoten los demás avisos en ese paso
    return callback


# --- Guardar y reanudar -----------------------------------------------------------------------------------------


def _save(path: Path, state: State) -> None:
    content = {
        "step": state.step,
        "model": state.model.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "history": asdict(state.history),
        "rng": torch.get_rng_state(),
        "cuda_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".parcial")
    torch.save(content, partial)
    os.replace(partial, path)  # nunca queda un fichero a medias


def _load(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[int, History]:
    if not path.exists():
        raise FileNotFoundError(f"resume: no existe {path}; entrena antes con callbacks=[checkpoint({str(path)!r}, …)].")
    device = next(model.parameters()).device
    content = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(content["model"])
    optimizer.load_state_dict(content["optimizer"])
    torch.set_rng_state(content["rng"])
    if device.type == "cuda" and content["cuda_rng"]:
        torch.cuda.set_rng_state_all(content["cuda_rng"])
    history = History(**content["history"])
    history.metrics = {name: [tuple(pair) for pair in pairs] for name, pairs in history.metrics.items()}
    return content["step"], history


# --- Datos, progreso y último estado sano -----------------------------------------------------------------------


def _stream(batches: Any, first: int) -> Iterator[Any]:
    """Los lotes desde el paso ``first``: una función del paso, una lista (que se repite) o cualquier iterable."""
    if callable(batches) and not isinstance(batches, Iterable):
        step = first
        while True:
            yield batches(step)
            step += 1
    if isinstance(batches, Sequence):
        if not batches:
            raise ValueError("batches está vacío: hace falta al menos un lote para entrenar.")
        step = first
        while True:
            yield batches[step % len(batches)]
            step += 1
    skipped = 0
    while True:
        seen = False
        for batch in batches:
            seen = True
            if skipped < first:
                skipped += 1
                continue
            yield batch
        if not seen or iter(batches) is batches:
            return


def _next(stream: Iterator[Any], step: int, steps: int) -> Any:
    try:
        return next(stream)
    except StopIteration:
        if step == 0:
            raise ValueError("batches está vacío: hace falta al menos un lote para entrenar.") from None
        raise ValueError(
            f"batches se acabó en el paso {step + 1} de {steps}: da más lotes, una lista (se repite) o menos pasos."
        ) from None


def _interactive() -> bool:
    """Hay una persona mirando: un terminal, o un cuaderno abierto (al publicar, nadie puede responder a ``input``)."""
    if os.environ.get("ATENTO_PROGRESS") in ("0", "1"):
        return os.environ["ATENTO_PROGRESS"] == "1"
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and hasattr(shell, "kernel"):
            return bool(getattr(shell.kernel, "_allow_stdin", False))
    return sys.stderr is not None and sys.stderr.isatty()


def _bar(first: int, steps: int, progress: bool | None):
    from tqdm import tqdm

    shown = _interactive() if progress is None else progress
    return tqdm(total=steps, initial=first, disable=not shown, desc="Entrenando", unit=" pasos", leave=False)


class _LastGood:
    """Copia de los pesos que dieron la última pérdida finita."""

    def __init__(self, model: nn.Module) -> None:
        self.tensors = [*model.parameters(), *model.buffers()]
        self.copies = [tensor.detach().clone() for tensor in self.tensors]

    @torch.no_grad()
    def keep(self) -> None:
        for copy, tensor in zip(self.copies, self.tensors, strict=True):
            copy.copy_(tensor)

    @torch.no_grad()
    def restore(self) -> None:
        for copy, tensor in zip(self.copies, self.tensors, strict=True):
            tensor.copy_(copy)


_ADVICE = (
    "Prueba a bajar la tasa de aprendizaje, alargar el calentamiento, recortar más el gradiente (clip) o buscar en los "
    "datos ceros que dividan y filas enteras tapadas. El modelo queda con los pesos de la última pérdida finita."
)


# --- El bucle ---------------------------------------------------------------------------------------------------


def fit(
    model: nn.Module,
    batches: Any,
    loss: Loss,
    *,
    steps: int,
    seconds: float | None = None,
    optimizer: torch.optim.Optimizer | Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None = None,
    schedule: Schedule | None = None,
    callbacks: Iterable[Callback] = (),
    clip: float | None = 1.0,
    resume: str | Path | None = None,
    progress: bool | None = None,
) -> History:
    """Entrena ``model`` durante ``steps`` pasos y devuelve su :class:`History`.

    ``batches`` es una lista de lotes (se repite), un iterable (se reinicia al acabarse, si puede) o una función del paso.
    ``loss(model, batch)`` devuelve un escalar. ``optimizer``: un optimizador, una función de los parámetros, o ``None``
    (AdamW con tasa 1e-3); ``schedule(step)`` multiplica su tasa. ``clip``: norma máxima del gradiente. Tras cada paso se
    llama a ``callbacks`` con un :class:`State`; los diccionarios que devuelvan se anotan. ``resume`` es un fichero de
    :func:`checkpoint`: los lotes ya vistos se saltan. ``progress=None`` enseña la barra solo si hay quien la mire.

    ValueError si no hay datos, se acaban, o la pérdida no es un escalar; :class:`TrainingDiverged` si deja de ser finita
    (dice el paso y deja los últimos pesos sanos); :class:`TrainingTimeout` si se pasan ``seconds`` segundos de procesador.
    """
    require_size(steps, name="steps")
    if seconds is not None:
        require_positive(seconds, name="seconds")
    optimizer = _build_optimizer(model, optimizer)
    first, history = _load(Path(resume), model, optimizer) if resume else (0, History())
    callbacks = sorted(callbacks, key=lambda callback: getattr(callback, "runs_last", False))
    stream, good, spent = _stream(batches, first), _LastGood(model), history.seconds
    clock = time.process_time()
    model.train()
    with _bar(first, steps, progress) as bar:
        for step in range(first, steps):
            rate = _set_rate(optimizer, schedule, step)
            value, norm = _step(model, _next(stream, step, steps), loss, optimizer, clip, step, good, history)
            history.loss.append(value)
            history.rate.append(rate)
            history.gradient_norm.append(norm)
            history.seconds = spent + time.process_time() - clock
            state = State(step + 1, steps, value, model, optimizer, history)
            for callback in callbacks:
                history.record(step + 1, callback(state) or {})
            bar.set_postfix_str(f"pérdida {value:.3f}", refresh=False)
            bar.update()
            _guard(seconds, step + 1, steps, history)
    return history


def _build_optimizer(model: nn.Module, optimizer: Any) -> torch.optim.Optimizer:
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError("model: no tiene parámetros que entrenar.")
    if optimizer is None:
        return torch.optim.AdamW(model.parameters(), lr=1e-3)
    if isinstance(optimizer, torch.optim.Optimizer):
        return optimizer
    built = optimizer(model.parameters())
    if not isinstance(built, torch.optim.Optimizer):
        raise TypeError(f"optimizer: la función debe devolver un optimizador; devolvió {type(built).__name__}.")
    return built


def _set_rate(optimizer: torch.optim.Optimizer, schedule: Schedule | None, step: int) -> float:
    for group in optimizer.param_groups:
        base = group.setdefault("initial_lr", group["lr"])
        group["lr"] = base * (schedule(step) if schedule else 1.0)
    return optimizer.param_groups[0]["lr"]


def _step(model, batch, loss, optimizer, clip, step, good: _LastGood, history: History) -> tuple[float, float]:
    """Pérdida, gradiente, recorte y actualización; devuelve la pérdida y la norma antes de recortar."""
    value = loss(model, batch)
    if not isinstance(value, Tensor) or value.numel() != 1:
        raise ValueError(f"loss: debe devolver un escalar; llegó {_describe(value)}. ¿Falta un .mean()?")
    number = value.item()
    if not math.isfinite(number):
        good.restore()
        raise TrainingDiverged(f"la pérdida es {number} en el paso {step + 1}. {_ADVICE}", step + 1, history)
    optimizer.zero_grad(set_to_none=True)
    value.backward()
    parameters = [p for p in model.parameters() if p.grad is not None]
    norm = float(nn.utils.clip_grad_norm_(parameters, math.inf if clip is None else clip))
    if not math.isfinite(norm):
        optimizer.zero_grad(set_to_none=True)
        raise TrainingDiverged(
            f"el gradiente no es finito en el paso {step + 1} (pérdida {number:.4g}). {_ADVICE}", step + 1, history)
    good.keep()
    optimizer.step()
    return number, norm


def _describe(value: Any) -> str:
    return f"un tensor de forma {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def _guard(seconds: float | None, step: int, steps: int, history: History) -> None:
    if seconds is not None and history.seconds > seconds and step < steps:
        raise TrainingTimeout(
            f"se pasó el límite de {seconds:g} segundos de procesador en el paso {step} de {steps}: sube seconds, o baja "
            f"steps o el tamaño del modelo. El número de pasos es fijo; el límite solo avisa.", step, history)
