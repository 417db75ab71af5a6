"""El explorador de los calendarios: la tasa de cada paso y la pérdida que dejó, de verdad."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento.training import noam, warmup_cosine, warmup_stable_decay
from figuras.explorers.base import Explorer, Texts, number, static_table

__all__ = ["ScheduleExplorer", "schedule"]

_AXES = {
    "schedule": "Calendario",
    "norm": "Normalización",
    "warmup": "Calentamiento",
    "rate": "Tasa máxima",
}
_NAMES = {
    "none": "constante, sin rampa",
    "constant": "constante",
    "noam": "Noam",
    "cosine": "coseno",
    "stable": "meseta",
    "pre": "Pre-LN",
    "post": "Post-LN",
}
_SCORES = {"exact": max, "held_out": min}
_ASKED = {
    "exact": "¿Con qué combinación se traducen más frases nuevas?",
    "held_out": "¿Con qué combinación queda más baja la pérdida en frases nuevas?",
}
_MOST, _DECAY = 120, 0.2
_LEAST = {"steps": 10, "window": 1}

Choice = dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Runs:
    """Las ejecuciones de una combinación: ``curves`` ``(seeds, windows)``, con NaN desde que
    diverge, y ``scores`` ``(seeds,)``.
    """

    curves: Tensor
    scores: Tensor

    @property
    def band(self) -> Tensor:
        """La menor, la media y la mayor de las semillas, ``(3, windows)``, con dos decimales."""
        finite = torch.isfinite(self.curves)
        low = self.curves.masked_fill(~finite, math.inf).amin(dim=0)
        high = self.curves.masked_fill(~finite, -math.inf).amax(dim=0)
        band = torch.stack([low, self.curves.nanmean(dim=0), high])
        return (100 * band.masked_fill(~finite.any(dim=0), math.nan)).round() / 100

    @property
    def diverged(self) -> int:
        """Cuántas semillas no llegaron al final."""
        return int((~torch.isfinite(self.curves[:, -1])).sum())


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScheduleExplorer(Explorer):
    """El explorador de los calendarios. Se construye con :func:`schedule`.

    ``axes`` da los valores de cada mando; ``runs``, las ejecuciones de cada combinación, en el
    orden de los mandos; ``steps`` y ``window``, los pasos y cuántos promedia cada punto.
    """

    kind: ClassVar[str] = "schedule"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "table", "chart")
    axes: dict[str, tuple[Any, ...]]
    runs: dict[tuple[Any, ...], _Runs]
    steps: int
    window: int
    score: str
    start: Choice
    ask: bool
    title: str = "Calendarios de la tasa, probados de verdad"
    name: str = "calendario"

    def rates(self, **choice: Any) -> Tensor:
        """La tasa de cada paso, ``(steps,)``; lo que no se dice es lo del principio."""
        at = self.start | choice
        function = _multiplier(at["schedule"], self.steps, at["warmup"])
        factors = [function(step) for step in range(self.steps)]
        return at["rate"] * torch.tensor(factors, dtype=torch.float64)

    def compute(self, **choice: Any) -> dict[str, Tensor]:
        """Lo que se ve de una combinación: ``rate`` ``(steps,)``, ``band`` ``(3, windows)`` (menor,
        media y mayor pérdida de las semillas) y ``scores`` ``(seeds,)``.
        """
        found = self.runs[tuple((self.start | choice)[axis] for axis in self.axes)]
        return {"rate": self.rates(**choice), "band": found.band, "scores": found.scores}

    def goal(self) -> list[Choice]:
        """Las combinaciones que contestan la pregunta: la de mejor media y las que no se distinguen
        de ella, con una media que está entre sus semillas.
        """
        means = [float(found.scores.mean()) for found in self.runs.values()]
        pick = _SCORES[self.score]
        best = list(self.runs.values())[means.index(pick(means))].scores
        worst = float(best.amin() if pick is max else best.amax())
        good = [
            key for key, mean in zip(self.runs, means, strict=True) if _reach(pick, mean, worst)
        ]
        return [dict(zip(self.axes, key, strict=True)) for key in good]

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript; las pérdidas, en centésimas."""
        goal = [tuple(choice.values()) for choice in self.goal()] if self.ask else []
        return {
            "axes": [
                {"key": k, "label": _AXES[k], "values": v, "names": [_told(k, x) for x in v]}
                for k, v in self.axes.items()
            ],
            "start": [values.index(self.start[key]) for key, values in self.axes.items()],
            "runs": [self._sent(found) for found in self.runs.values()],
            "goal": [key in goal for key in self.runs],
            "steps": self.steps,
            "window": self.window,
            "falling": round(_DECAY * self.steps),
            "score": self.score,
            "ask": self.ask,
        }

    def _sent(self, found: _Runs) -> dict[str, Any]:
        cents = [
            [None if math.isnan(x) else round(100 * x) for x in row] for row in found.band.tolist()
        ]
        return {"band": cents, "scores": found.scores.tolist(), "diverged": found.diverged}

    def static(self) -> str:
        """Una tabla por combinación de lo demás: calendarios por filas, tasas por columnas."""
        others = [key for key in self.axes if key not in ("schedule", "rate") and self._moves(key)]
        tables = []
        for rest in itertools.product(*(self.axes[key] for key in others)):
            fixed = dict(zip(others, rest, strict=True))
            told = "".join(f", {_told(key, value)}" for key, value in fixed.items())
            head = ["calendario", *(_told("rate", rate) for rate in self.axes["rate"])]
            rows = [
                [_told("schedule", each), *(self._cell({**fixed, "schedule": each, "rate": rate})
                                            for rate in self.axes["rate"])]
                for each in self.axes["schedule"]
            ]  # fmt: skip
            tables.append(static_table(f"{_TOLD[self.score]}{told}, por tasa máxima", head, rows))
        return "".join(tables)

    def _cell(self, choice: Choice) -> str:
        return _score_text(self.score, float(self.compute(**choice)["scores"].mean()))

    def _moves(self, key: str) -> bool:
        return len(self.axes[key]) > 1

    def summary(self) -> str:
        """Una línea para la terminal."""
        seeds = len(next(iter(self.runs.values())).scores)
        return (
            f"Calendarios de la tasa: {len(self.runs)} combinaciones de {self.steps} pasos,"
            f" {seeds} semillas cada una"
        )


_TOLD = {"exact": "Frases nuevas bien traducidas", "held_out": "Pérdida en frases nuevas"}


def _reach(pick: Any, mean: float, worst: float) -> bool:
    return mean >= worst if pick is max else mean <= worst


def _multiplier(name: str, steps: int, warmup: int) -> Any:
    """La tasa del paso, contado desde 0, partida por la máxima."""
    if name == "noam":
        rise = max(1, warmup)
        curve = noam(1, warmup=rise)
        return lambda step: curve(step) / curve(rise - 1)
    if name == "cosine":
        return warmup_cosine(steps, warmup=warmup)
    if name == "stable":
        return warmup_stable_decay(steps, warmup=warmup, decay=_DECAY)
    rise = warmup if name == "constant" else 0
    return lambda step: min(1.0, (step + 1) / rise) if rise else 1.0


def _told(key: str, value: Any) -> str:
    if key == "warmup":
        return f"{value} pasos" if value else "ninguno"
    return format(value, "f").rstrip("0").rstrip(".") if key == "rate" else _NAMES[value]


def _score_text(score: str, value: float) -> str:
    if math.isnan(value):
        return "no acaba"
    return f"{100 * value:.0f}\u00a0%" if score == "exact" else number(value)


def schedule(
    stored: Mapping[str, Any],
    *,
    start: Mapping[str, Any] | None = None,
    ask: bool = True,
    **texts: Unpack[Texts],
) -> ScheduleExplorer:
    """Devuelve el explorador de unas ejecuciones guardadas, una por calendario, tasa y semilla.

    ``stored`` tiene ``recipe``, con los pasos (``steps``), cuántos promedia cada punto de una curva
    (``window``) y los de calentamiento (``warmup``), y ``runs``, una lista con todas las
    combinaciones: ``schedule`` (``none``, ``constant``, ``noam``, ``cosine`` o ``stable``),
    ``rate`` (la tasa máxima), si hace falta ``norm`` (``pre`` o ``post``) y ``warmup``, una curva
    de pérdidas por semilla en ``curves`` (``None`` desde que diverge) y una medida final por
    semilla en ``exact`` (parte de frases nuevas exactas) o en ``held_out`` (pérdida). Hay un mando
    por cada cosa que varía; ``start`` dice dónde empieza.

    La pregunta es qué combinación acaba mejor, y :meth:`ScheduleExplorer.goal` da las que lo
    hacen; con ``ask=False`` no se pregunta nada.

    Errores: ``ValueError`` si falta una combinación o algo no es lo que su nombre dice.
    """
    recipe, given = _checked(stored)
    steps, window = (_size(recipe, key) for key in ("steps", "window"))
    rows = [_row(run, recipe) for run in given]
    axes = {key: _values(row[0][key] for row in rows) for key in _AXES}
    score = next(key for key in _SCORES if key in given[0])
    runs = _grid(axes, rows, score, steps // window)
    first = {key: values[0] for key, values in axes.items()}
    start = first | dict(start or {})
    if start.keys() != first.keys() or any(start[key] not in axes[key] for key in axes):
        raise ValueError(f"start: llegó {dict(start)}; se esperaban valores de {axes}")
    if ask:
        texts.setdefault("question", _ASKED[score])
    return ScheduleExplorer(
        axes=axes,
        runs=runs,
        steps=steps,
        window=window,
        score=score,
        start=start,
        ask=ask,
        **texts,
    )


# --- La puerta ------------------------------------------------------------------------------------


def _checked(stored: Any) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    parts = (stored.get("recipe"), stored.get("runs")) if isinstance(stored, Mapping) else ()
    if len(parts) != 2 or not isinstance(parts[0], Mapping) or not isinstance(parts[1], Sequence):
        raise ValueError("stored: se esperaba un diccionario con recipe y una lista runs")
    if not 1 <= len(parts[1]) <= _MOST:
        raise ValueError(f"runs: llegaron {len(parts[1])}; se esperaban de 1 a {_MOST}")
    if not any(all(key in run for run in parts[1]) for key in _SCORES):
        raise ValueError(f"runs: se esperaba en todas la medida final, {' o '.join(_SCORES)}")
    return parts


def _size(recipe: Mapping[str, Any], key: str) -> int:
    value = recipe.get(key)
    if not isinstance(value, int) or value < _LEAST[key]:
        raise ValueError(f"{key}: llegó {value!r}; se esperaba un entero desde {_LEAST[key]}")
    return value


def _row(run: Mapping[str, Any], recipe: Mapping[str, Any]) -> tuple[Choice, Mapping[str, Any]]:
    """Lo que se eligió en una ejecución y la ejecución misma."""
    choice = {
        "schedule": run.get("schedule"),
        "norm": run.get("norm", "post"),
        "warmup": recipe.get("warmup", 0),
        "rate": run.get("rate"),
    }
    if choice["schedule"] != "none":
        choice["warmup"] = run.get("warmup", choice["warmup"])
    for key in ("schedule", "norm"):
        if choice[key] not in _NAMES:
            raise ValueError(f"{key}: llegó {choice[key]!r}; se esperaba uno de {list(_NAMES)}")
    if not isinstance(choice["rate"], float) or not 0 < choice["rate"] < 100:
        raise ValueError(f"rate: llegó {choice['rate']!r}; se esperaba un número positivo")
    if not isinstance(choice["warmup"], int) or not 0 <= choice["warmup"] <= recipe["steps"]:
        raise ValueError(f"warmup: llegó {choice['warmup']!r}; se esperaba de 0 a los pasos")
    return choice, run


def _values(found: Iterable[Any]) -> tuple[Any, ...]:
    """Los valores distintos, en el orden en que salen; los números, de menor a mayor."""
    values = tuple(dict.fromkeys(found))
    return values if isinstance(values[0], str) else tuple(sorted(values))


def _grid(
    axes: Mapping[str, tuple[Any, ...]],
    rows: Sequence[tuple[Choice, Mapping[str, Any]]],
    score: str,
    windows: int,
) -> dict[tuple[Any, ...], _Runs]:
    """Las ejecuciones de cada combinación, en el orden de los mandos."""
    found = {tuple(choice.values()): run for choice, run in rows}
    keys = list(itertools.product(*axes.values()))
    missing = [key for key in keys if key not in found]
    if missing or len(found) != len(rows):
        raise ValueError(
            f"runs: se esperaban las {len(keys)} combinaciones, una vez cada una; llegaron"
            f" {len(rows)}, y faltan {missing[:2]}"
        )
    return {key: _measured(found[key], score, windows) for key in keys}


def _measured(run: Mapping[str, Any], score: str, windows: int) -> _Runs:
    try:
        curves, scores = (_numbers(run[key]) for key in ("curves", score))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"curves: se esperaba una lista de números por semilla ({error})"
        ) from None
    if scores.ndim != 1 or curves.shape != (len(scores), windows):
        raise ValueError(
            f"curves: llegó la forma {tuple(curves.shape)} y {tuple(scores.shape)} en {score}; se"
            f" esperaban {windows} puntos por semilla y una medida de cada una"
        )
    return _Runs(curves, scores)


def _numbers(values: Any) -> Tensor:
    """Los números, con NaN donde hay ``None``."""
    if isinstance(values, Sequence) and values and isinstance(values[0], list | tuple):
        return torch.stack([_numbers(row) for row in values])
    numbers = [math.nan if value is None else float(value) for value in values]
    return torch.tensor(numbers, dtype=torch.float64)
