"""El explorador de los calendarios: la tasa de cada paso y la pérdida que dejó, de verdad."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import torch
from torch import Tensor

from atento.training import noam, warmup_cosine, warmup_stable_decay
from figuras.explorers.base import Explorer, Texts, check_count, check_option, static_table

__all__ = ["ScheduleExplorer", "schedule"]

_AXES = {"schedule": "Calendario", "norm": "Normalización", "rate": "Tasa máxima"}
_SCHEDULES = {
    "none": "constante, sin rampa",
    "constant": "constante",
    "noam": "Noam",
    "cosine": "coseno",
    "stable": "meseta",
}
_NORMS = {"pre": "Pre-LN", "post": "Post-LN"}
_MOST, _DECAY = 120, 0.2


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScheduleExplorer(Explorer):
    """El explorador de los calendarios. Se construye con :func:`schedule`.

    ``axes`` da los valores de cada mando; ``runs``, lo que dejaron las ejecuciones de cada
    combinación, en el orden de los mandos; ``steps`` y ``warmup``, los pasos y los de
    calentamiento.
    """

    kind: ClassVar[str] = "schedule"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "table", "chart", "sides")
    axes: dict[str, tuple[Any, ...]]
    runs: dict[tuple[Any, ...], dict[str, Tensor]]
    steps: int
    warmup: int
    start: dict[str, Any]
    title: str = "Calendarios de la tasa, probados de verdad"
    name: str = "calendario"

    def rates(self, **choice: Any) -> Tensor:
        """La tasa de cada paso, ``(steps,)``; lo que no se dice es lo del principio."""
        at = self.start | choice
        function = _multiplier(at["schedule"], self.steps, self.warmup)
        factors = [function(step) for step in range(self.steps)]
        return at["rate"] * torch.tensor(factors, dtype=torch.float64)

    def compute(self, **choice: Any) -> dict[str, Tensor]:
        """Lo que se ve de una combinación: ``rate`` ``(steps,)``, ``band`` ``(3, windows)`` (menor,
        media y mayor pérdida de las semillas) y ``scores`` ``(seeds,)``.
        """
        found = self.runs[tuple((self.start | choice)[axis] for axis in self.axes)]
        return {"rate": self.rates(**choice)} | found

    def goal(self) -> list[dict[str, Any]]:
        """Las combinaciones con las que más se acierta: la de mejor media y las que no se
        distinguen de ella, con una media que está entre sus semillas.
        """
        best = max(self.runs.values(), key=lambda found: float(found["scores"].mean()))
        least = best["scores"].amin()
        good = [key for key, found in self.runs.items() if found["scores"].mean() >= least]
        return [dict(zip(self.axes, key, strict=True)) for key in good]

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript; las pérdidas, en centésimas."""
        return super().data() | {
            "axes": [
                {"key": k, "label": _AXES[k], "values": v, "names": [_told(x) for x in v]}
                for k, v in self.axes.items()
            ],
            "start": [values.index(self.start[key]) for key, values in self.axes.items()],
            "runs": [
                {"band": _cents(found["band"]), "scores": found["scores"].tolist()}
                for found in self.runs.values()
            ],
            "falling": round(_DECAY * self.steps),
        }

    def static(self) -> str:
        """Una tabla por norma: calendarios por filas, tasas por columnas."""
        schedules, norms, rates = self.axes.values()
        head = ["calendario", *map(_told, rates)]
        tables = []
        for norm in norms:
            rows = [[_told(one), *(self._cell(one, norm, x) for x in rates)] for one in schedules]
            caption = f"Frases nuevas bien traducidas, {_told(norm)}, por tasa máxima"
            tables.append(static_table(caption, head, rows))
        return "".join(tables)

    def _cell(self, *combined: Any) -> str:
        return f"{100 * float(self.runs[combined]['scores'].mean()):.0f}\u00a0%"

    def summary(self) -> str:
        """Una línea para la terminal."""
        seeds = len(self.compute()["scores"])
        tried = f"{len(self.runs)} combinaciones de {self.steps} pasos"
        return f"Calendarios de la tasa: {tried}, {seeds} semillas cada una"


def _multiplier(name: str, steps: int, warmup: int) -> Any:
    """La tasa del paso, contado desde 0, partida por la máxima."""
    if name == "noam":
        rise = max(1, warmup)
        curve = noam(1, warmup=rise)
        return lambda step: curve(step) / curve(rise - 1)
    if name == "cosine":
        return warmup_cosine(steps, warmup=warmup)
    decay = _DECAY if name == "stable" else 0.0
    return warmup_stable_decay(steps, warmup=0 if name == "none" else warmup, decay=decay)


def _told(value: Any) -> str:
    """Cómo se lee un valor de un mando: por su nombre o, una tasa, con sus cifras."""
    return (_SCHEDULES | _NORMS).get(value) or format(value, "f").rstrip("0").rstrip(".")


def _cents(band: Tensor) -> list[list[int | None]]:
    return [[None if math.isnan(x) else round(100 * x) for x in row] for row in band.tolist()]


def schedule(
    stored: Mapping[str, Any], *, start: Mapping[str, Any] | None = None, **texts: Unpack[Texts]
) -> ScheduleExplorer:
    """Devuelve el explorador de unas ejecuciones guardadas, una por calendario, tasa y semilla.

    ``stored`` tiene ``recipe``, con los pasos (``steps``), cuántos promedia cada punto de una curva
    (``window``) y los de calentamiento (``warmup``), y ``runs``, una lista con todas las
    combinaciones: ``schedule`` (``none``, ``constant``, ``noam``, ``cosine`` o ``stable``),
    ``norm`` (``pre`` o ``post``), ``rate`` (la tasa máxima), una curva de pérdidas por semilla en
    ``curves`` (``None`` desde que diverge) y, en ``exact``, la parte de frases nuevas exactas de
    cada semilla. Hay un mando por cada cosa que varía; ``start`` dice dónde empieza, y
    :meth:`ScheduleExplorer.goal`, con qué combinaciones se acaba mejor.

    Errores: ``ValueError`` si falta una combinación o algo no es lo que su nombre dice.
    """
    recipe, given = _checked(stored)
    steps = check_count(recipe.get("steps"), "steps", 10, 100_000)
    window = check_count(recipe.get("window"), "window", 1, steps)
    warmup = check_count(recipe.get("warmup", 0), "warmup", 0, steps)
    found = dict(_read(run, steps // window) for run in given)
    columns = zip(_AXES, zip(*found, strict=True), strict=True)
    axes = {key: tuple(dict.fromkeys(values)) for key, values in columns}
    keys = list(itertools.product(*axes.values()))
    missing = [key for key in keys if key not in found]
    if missing or len(found) != len(given):
        raise ValueError(
            f"runs: se esperaban las {len(keys)} combinaciones, una vez cada una; llegaron"
            f" {len(given)}, y faltan {missing[:2]}"
        )
    start = {key: values[0] for key, values in axes.items()} | dict(start or {})
    if start.keys() != axes.keys() or any(start[key] not in axes[key] for key in axes):
        raise ValueError(f"start: llegó {start}; se esperaban valores de {axes}")
    return ScheduleExplorer(
        axes=axes,
        runs={key: found[key] for key in keys},
        steps=steps,
        warmup=warmup,
        start=start,
        **texts,
    )


# --- La puerta ------------------------------------------------------------------------------------


def _checked(stored: Any) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    parts = (stored.get("recipe"), stored.get("runs")) if isinstance(stored, Mapping) else ()
    if len(parts) != 2 or not isinstance(parts[0], Mapping) or not isinstance(parts[1], Sequence):
        raise ValueError("stored: se esperaba un diccionario con recipe y una lista runs")
    if not 1 <= len(parts[1]) <= _MOST:
        raise ValueError(f"runs: llegaron {len(parts[1])}; se esperaban de 1 a {_MOST}")
    return parts


def _read(run: Mapping[str, Any], windows: int) -> tuple[tuple[Any, ...], dict[str, Tensor]]:
    """Lo que se eligió en una ejecución, y la banda y las medidas que dejó."""
    name, norm, rate = choice = tuple(run.get(axis) for axis in _AXES)
    check_option(name, "schedule", _SCHEDULES)
    check_option(norm, "norm", _NORMS)
    if not isinstance(rate, float) or not 0 < rate < 100:
        raise ValueError(f"rate: llegó {rate!r}; se esperaba un número positivo")
    try:  # NumPy pone NaN donde hay None
        curves, scores = (np.array(run[key], dtype=float) for key in ("curves", "exact"))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"curves: se esperaba una lista de números por semilla ({error})"
        ) from None
    if scores.ndim != 1 or curves.shape != (len(scores), windows):
        raise ValueError(
            f"curves: llegó la forma {curves.shape} y {scores.shape} al final; se esperaban"
            f" {windows} puntos por semilla y una medida de cada una"
        )
    return choice, {"band": _band(torch.from_numpy(curves)), "scores": torch.from_numpy(scores)}


def _band(curves: Tensor) -> Tensor:
    """La menor, la media y la mayor de las semillas que siguen, ``(3, windows)``, con dos
    decimales; NaN desde que divergen todas.
    """
    low, high = (functools.reduce(pick, curves) for pick in (torch.fmin, torch.fmax))
    return (100 * torch.stack([low, curves.nanmean(dim=0), high])).round() / 100
