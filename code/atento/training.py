"""Piso 5: el bucle de entrenamiento, el mismo para todos los modelos del libro.

El modelo, los datos y la pérdida llegan como argumentos: este fichero no conoce ninguno. Los pasos
son un número fijo; el límite de segundos solo sirve para avisar de que algo va mal. Una ejecución
puede guardarse y reanudarse, y su curva es la misma, número a número, que la de una sin cortes.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from atento import rng
from atento.checks import training as checks
from atento.numbers import require_number, require_positive, require_size
from atento.shapes import typed


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
    """Lo que ve una llamada de aviso tras cada paso: ``step`` cuenta los pasos dados, desde 1."""

    step: int
    steps: int
    loss: float
    model: nn.Module
    optimizer: torch.optim.Optimizer
    history: History
    batches: "_Batches"


Callback = Callable[[State], dict[str, float] | None]
Loss = Callable[[nn.Module, Any], Tensor]
Schedule = Callable[[int], float]


# --- La pérdida y los parámetros ------------------------------------------------------------------


@typed(validate=checks.cross_entropy)
def cross_entropy(
    logits: Float[Tensor, "*batch vocab"],
    labels: Int[Tensor, "*batch"],
    *,
    pad_id: int | None = None,
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Entropía cruzada media, en nats por palabra, sin contar las que son ``pad_id``.

    Con ``smoothing = ε``, la respuesta que se pide no es toda de la palabra correcta: una parte
    ε se reparte por igual entre todo el vocabulario. Sin ninguna palabra que contar vale 0.

    Errores: ``TypeError`` si ``logits`` no es de coma flotante o ``labels``, de enteros;
    ``ValueError`` si no hay una palabra por fila, alguna no cabe en el vocabulario o ``smoothing``
    no está en [0, 1).
    Fuente: Szegedy et al. (2016), § 7; Vaswani et al. (2017), § 5.4.
    """
    log_p = logits.log_softmax(dim=-1)  # (…, vocab)
    counted = torch.ones_like(labels, dtype=torch.bool) if pad_id is None else labels != pad_id
    labels = labels.masked_fill(~counted, 0).long()
    right = -log_p.gather(-1, labels.unsqueeze(-1)).squeeze(-1)  # (…): la palabra correcta
    spread = -log_p.mean(dim=-1)  # (…): todas por igual
    loss = (1 - smoothing) * right + smoothing * spread if smoothing else right
    return (loss * counted).sum() / counted.sum().clamp(min=1)


def parameter_groups(model: nn.Module, *, weight_decay: float = 0.01) -> list[dict[str, Any]]:
    """Los parámetros en dos grupos para AdamW: con decaimiento (matrices) y sin él (vectores).

    Los sesgos y las normalizaciones son vectores: encogerlos no evita memorizar y sí estorba. Se
    usa como ``torch.optim.AdamW(parameter_groups(model), lr=1e-3)``. Los compartidos van una vez.

    Errores: ``TypeError`` si ``model`` no es un módulo; ``ValueError`` si ``weight_decay`` es
    negativo.
    Fuente: Loshchilov y Hutter (2019), algoritmo 2; el reparto, el código de GPT-2 y sucesores.
    """
    checks.parameter_groups(model, weight_decay=weight_decay)
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# --- Calendario, modos y avisos -------------------------------------------------------------------


def noam(d_model: int, *, warmup: int = 4000) -> Schedule:
    """La tasa de 2017: sube en línea recta ``warmup`` pasos y baja como 1/√paso.

    Devuelve una función del paso (desde 0) a la tasa misma, no a un multiplicador: se usa con un
    optimizador de tasa 1. La mayor es ``(d_model · warmup)^-½``.

    Errores: ``TypeError`` o ``ValueError`` si ``d_model`` o ``warmup`` no son enteros positivos.
    Fuente: Vaswani et al. (2017), ec. 3.
    """
    require_size(d_model, name="d_model")
    require_size(warmup, name="warmup")
    return lambda step: d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup**-1.5)


def warmup_stable_decay(
    steps: int, *, warmup: int = 100, decay: float = 0.2, final: float = 0.0
) -> Schedule:
    """Multiplicador de la tasa: sube, se queda en 1 y baja en línea recta al final.

    La bajada ocupa los últimos ``decay · steps`` pasos. Devuelve una función del paso (desde 0).

    Errores: los de :func:`warmup_cosine`, y ``ValueError`` si ``decay`` no está en [0, 1] o la
    bajada empieza antes de acabar de subir.
    Fuente: Hu et al. (2024), § 4 (MiniCPM).
    """
    _require_schedule(steps, warmup, final)
    require_number(decay, name="decay")
    falling = round(decay * steps)
    if not 0 <= decay <= 1 or warmup + falling > steps:
        raise ValueError(
            f"decay: se esperaba entre 0 y 1, y que warmup = {warmup} y la bajada quepan en "
            f"steps = {steps}; llegó {decay}."
        )

    def multiplier(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        left = max(0, steps - 1 - step)  # pasos que quedan después de este
        return 1.0 if left >= falling else final + (1 - final) * left / falling

    return multiplier


def warmup_cosine(steps: int, *, warmup: int = 100, final: float = 0.0) -> Schedule:
    """Multiplicador de la tasa: sube en línea recta ``warmup`` pasos y baja como un coseno.

    Devuelve una función del paso (desde 0) a un número entre 0 y 1; la última es ``final``.

    Errores: ``TypeError`` o ``ValueError`` si ``steps`` no es un entero positivo o ``warmup`` no
    está entre 0 y ``steps``.
    Fuente: Loshchilov y Hutter (2017), ec. 5, con calentamiento.
    """
    _require_schedule(steps, warmup, final)

    def multiplier(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        progress = (step - warmup) / max(1, steps - warmup)
        return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))

    return multiplier


def _require_schedule(steps: int, warmup: int, final: float) -> None:
    require_size(steps, name="steps")
    require_size(warmup, name="warmup", least=0)
    require_number(final, name="final")
    if warmup > steps:
        raise ValueError(
            f"warmup: se esperaba un número entre 0 y steps = {steps}; llegó {warmup}."
        )


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Pone ``model`` en modo evaluación dentro de un ``with``; al salir, cada módulo en el suyo.

    ``model.train()`` no basta: despertaría los módulos que alguien dejó congelados a propósito.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def evaluate(function: Callable[[nn.Module], dict[str, float]], *, every: int) -> Callback:
    """Un aviso que cada ``every`` pasos, y en el último, evalúa ``function(model)``.

    Sin gradientes y en modo evaluación. Las métricas que devuelve quedan en ``History.metrics``.

    Errores: ``TypeError`` o ``ValueError`` si ``every`` no es un entero positivo.
    """
    require_size(every, name="every")

    def callback(state: State) -> dict[str, float] | None:
        if state.step % every and state.step != state.steps:
            return None
        with evaluating(state.model), torch.no_grad():
            return function(state.model)

    return callback


def checkpoint(path: str | Path, *, every: int) -> Callback:
    """Un aviso que cada ``every`` pasos, y en el último, guarda en ``path`` lo que pide ``resume``.

    Errores: ``TypeError`` o ``ValueError`` si ``every`` no es un entero positivo.
    """
    require_size(every, name="every")

    def callback(state: State) -> None:
        if state.step % every == 0 or state.step == state.steps:
            _save(Path(path), state)

    callback.runs_last = True  # guarda también lo que anoten los demás avisos en ese paso
    return callback


# --- Guardar y reanudar ---------------------------------------------------------------------------

_FORMAT = "atento.training 2"
_KEYS = {"format", "step", "model", "optimizer", "history", "rng", "batches"}


def _save(path: Path, state: State) -> None:
    content = {
        "format": _FORMAT,
        "step": state.step,
        "model": state.model.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "history": asdict(state.history),
        "rng": rng.snapshot(),
        "batches": state.batches.state(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".parcial")
    torch.save(content, partial)
    os.replace(partial, path)  # nunca queda un fichero a medias


def _load(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, batches: "_Batches"
) -> tuple[int, History]:
    content = _read(path)
    _require_same_model(path, content["model"], model.state_dict())
    try:
        optimizer.load_state_dict(content["optimizer"])
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"optimizer: se esperaba el mismo que guardó {path}; este tiene otros grupos de "
            f"parámetros ({error})."
        ) from None
    model.load_state_dict(content["model"])
    batches.resume(content["step"], content["batches"])
    rng.restore(content["rng"])
    history = History(**content["history"])
    history.metrics = {name: [tuple(p) for p in pairs] for name, pairs in history.metrics.items()}
    return content["step"], history


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(
            f"resume: no existe el fichero {path}; entrena antes con "
            f"callbacks=[checkpoint({str(path)!r}, every=…)]."
        )
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # según dónde esté el daño, torch.load lanza casi cualquier cosa
        raise ValueError(
            f"resume: {path} no se puede leer: está incompleto o dañado, o no lo guardó checkpoint."
        ) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT or _KEYS - set(content):
        raise ValueError(
            f"resume: se esperaba un fichero guardado por checkpoint; {path} no lo es."
        )
    return content


def _require_same_model(path: Path, saved: dict[str, Tensor], mine: dict[str, Tensor]) -> None:
    def few(names: Iterable[str]) -> str:
        names = sorted(names)
        return ", ".join(names[:3]) + ("…" if len(names) > 3 else "")

    shaped = [n for n in saved.keys() & mine.keys() if saved[n].shape != mine[n].shape]
    faults = {
        "no tiene": saved.keys() - mine.keys(),
        "tiene de más": mine.keys() - saved.keys(),
        "mide distinto": shaped,
    }
    told = "; ".join(f"{what} {few(names)}" for what, names in faults.items() if names)
    if told:
        raise ValueError(f"model: se esperaba el modelo que guardó {path}; el que llegó {told}.")


# --- Datos, progreso y último estado sano ---------------------------------------------------------


class _Batches:
    """Los lotes, uno por paso: de una función del paso, de una lista o de un iterable.

    Una función y una lista (que se repite) se consultan por el número de paso. Un iterable se
    recorre y, al acabarse, se vuelve a recorrer. Si se baraja, como un ``DataLoader``, su orden
    depende del azar que había al empezar la vuelta: por eso se guarda, para reanudar en el mismo
    sitio de la misma vuelta.
    """

    def __init__(self, source: Any) -> None:
        self.source, self.seen, self.start = source, 0, None
        self.by_step = callable(source) and not isinstance(source, Iterable)
        if not (self.by_step or isinstance(source, Iterable)):
            raise TypeError(
                "batches: se esperaba una lista, un iterable o una función del paso; llegó "
                f"{type(source).__name__}."
            )
        self.rows = self._walk()

    def get(self, step: int, steps: int) -> Any:
        """El lote del paso ``step``, contando desde 0."""
        if self.by_step:
            return self.source(step)
        if isinstance(self.source, Sequence) and len(self.source):
            return self.source[step % len(self.source)]
        try:
            batch = next(self.rows)
        except StopIteration:
            raise ValueError(_exhausted(step, steps)) from None
        self.seen += 1
        return batch

    def state(self) -> dict[str, Any] | None:
        """El azar al empezar esta vuelta y cuántos lotes suyos se han visto."""
        return self.start and {**self.start, "seen": self.seen}

    def resume(self, step: int, state: dict[str, Any] | None) -> None:
        """Vuelve al sitio donde se guardó; un iterador de un solo uso se salta lo ya visto."""
        if state is None or self.by_step or isinstance(self.source, Sequence):
            return
        rng.restore(state["rng"])
        for generator, saved in zip(self._generators(), state["generators"], strict=True):
            generator.set_state(saved)
        for _ in range(state["seen"]):
            self.get(step, step + 1)

    def _walk(self) -> Iterator[Any]:
        while True:
            self.seen = 0
            states = [generator.get_state() for generator in self._generators()]
            self.start = {"rng": rng.snapshot(), "generators": states}
            empty = True
            for batch in self.source:
                empty = False
                yield batch
            if empty or iter(self.source) is self.source:
                return

    def _generators(self) -> list[torch.Generator]:
        """Los generadores propios de un ``DataLoader`` y de sus muestreadores, sin repetir."""
        owners = [self.source]
        owners += [getattr(self.source, name, None) for name in ("sampler", "batch_sampler")]
        found = [getattr(owner, "generator", None) for owner in owners]
        found = [generator for generator in found if isinstance(generator, torch.Generator)]
        return list({id(generator): generator for generator in found}.values())


def _exhausted(step: int, steps: int) -> str:
    if step == 0:
        return "batches: está vacío; se esperaba al menos un lote para entrenar."
    return (
        f"batches: se acabó en el paso {step + 1} de {steps}; da más lotes, una lista (se repite) "
        "o menos pasos."
    )


def _interactive() -> bool:
    """Hay una persona mirando: un terminal, o un cuaderno abierto.

    Al publicar, nadie puede responder a ``input``: así se distingue.
    """
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
    options = {"desc": "Entrenando", "unit": " pasos", "leave": False}
    return tqdm(total=steps, initial=first, disable=not shown, **options)


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
    "Prueba a bajar la tasa de aprendizaje, alargar el calentamiento, recortar más el gradiente "
    "(clip) o buscar en los datos ceros que dividan y filas enteras tapadas. El modelo queda con "
    "los pesos de la última pérdida finita."
)


# --- El bucle -------------------------------------------------------------------------------------

Optimizers = (
    torch.optim.Optimizer | Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None
)
"""Un optimizador, una función de los parámetros que lo construye, o ``None``."""


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
    resume: str | Path | None = None,
    progress: bool | None = None,
) -> History:
    """Entrena ``model`` durante ``steps`` pasos y devuelve su :class:`History`.

    ``batches`` es una lista de lotes (se repite), un iterable (se reinicia al acabarse, si puede) o
    una función del paso. ``loss(model, batch)`` devuelve un escalar. ``optimizer``: un optimizador,
    una función de los parámetros, o ``None`` (AdamW con tasa 1e-3); ``schedule(step)`` multiplica
    su tasa. ``clip``: norma máxima del gradiente, o ``None`` para no recortar. Tras cada paso se
    llama a ``callbacks`` con un :class:`State`; los diccionarios que devuelvan se anotan.
    ``resume`` es un fichero de :func:`checkpoint`: se sigue donde quedó, con los mismos lotes en el
    mismo orden. ``progress=None`` enseña la barra solo si hay quien la mire.

    Errores: ``ValueError`` si no hay datos, se acaban, ``clip`` o ``seconds`` no son positivos, la
    pérdida no es un escalar con gradiente, o el fichero de ``resume`` está dañado o es de otro
    modelo; ``FileNotFoundError`` si no existe; :class:`TrainingDiverged` si la pérdida deja de ser
    finita (dice el paso y deja los últimos pesos sanos); :class:`TrainingTimeout` si se pasan
    ``seconds`` segundos de procesador.
    """
    _require_numbers(model, loss, steps, seconds, clip)
    optimizer, stream = _build_optimizer(model, optimizer), _Batches(batches)
    history, first = History(), 0
    if resume is not None:
        first, history = _load(Path(resume), model, optimizer, stream)
    callbacks = sorted(callbacks, key=lambda callback: getattr(callback, "runs_last", False))
    good, spent, clock = _LastGood(model), history.seconds, time.process_time()
    model.train()
    with _bar(first, steps, progress) as bar:
        for step in range(first, steps):
            rate, batch = _set_rate(optimizer, schedule, step), stream.get(step, steps)
            value, norm = _step(model, batch, loss, optimizer, clip, step, good, history)
            history.loss.append(value)
            history.rate.append(rate)
            history.gradient_norm.append(norm)
            history.seconds = spent + time.process_time() - clock
            state = State(step + 1, steps, value, model, optimizer, history, stream)
            for callback in callbacks:
                history.record(step + 1, callback(state) or {})
            bar.set_postfix_str(f"pérdida {value:.3f}", refresh=False)
            bar.update()
            _guard(seconds, step + 1, steps, history)
    return history


def _require_numbers(model, loss, steps, seconds, clip) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"model: se esperaba un nn.Module; llegó {type(model).__name__}.")
    if not callable(loss):
        raise TypeError(
            f"loss: se esperaba una función de (model, batch); llegó {type(loss).__name__}."
        )
    require_size(steps, name="steps")
    if seconds is not None:
        require_positive(seconds, name="seconds")
    if clip is not None:
        require_positive(clip, name="clip")


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


def _step(model, batch, loss, optimizer, clip, step, good, history) -> tuple[float, float]:
    """Pérdida, gradiente, recorte y actualización; devuelve la pérdida y la norma sin recortar."""
    value = loss(model, batch)
    _require_scalar(value)
    number = value.item()
    if not math.isfinite(number):
        good.restore()
        message = f"la pérdida es {number} en el paso {step + 1}. {_ADVICE}"
        raise TrainingDiverged(message, step + 1, history)
    optimizer.zero_grad(set_to_none=True)
    value.backward()
    parameters = [p for p in model.parameters() if p.grad is not None]
    norm = float(nn.utils.clip_grad_norm_(parameters, math.inf if clip is None else clip))
    if not math.isfinite(norm):
        optimizer.zero_grad(set_to_none=True)
        place = f"en el paso {step + 1} (pérdida {number:.4g})"
        message = f"el gradiente no es finito {place}. {_ADVICE}"
        raise TrainingDiverged(message, step + 1, history)
    good.keep()
    optimizer.step()
    return number, norm


def _require_scalar(value: Any) -> None:
    if not isinstance(value, Tensor) or value.numel() != 1:
        tensor = isinstance(value, Tensor)
        came = f"un tensor de forma {tuple(value.shape)}" if tensor else type(value).__name__
        raise ValueError(
            f"loss: se esperaba que devolviera un escalar; devolvió {came}. ¿Falta un .mean()?"
        )
    if not value.requires_grad:
        raise ValueError(
            "loss: se esperaba un escalar con gradiente; devolvió uno separado del modelo. "
            "¿Sobra un .detach() o un torch.no_grad()?"
        )


def _guard(seconds: float | None, step: int, steps: int, history: History) -> None:
    if seconds is not None and history.seconds > seconds and step < steps:
        raise TrainingTimeout(
            f"se pasó el límite de {seconds:g} segundos de procesador en el paso {step} de "
            f"{steps}: sube seconds, o baja steps o el tamaño del modelo. El número de pasos es "
            "fijo; el límite solo avisa.",
            step,
            history,
        )
