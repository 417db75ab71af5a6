"""La puerta de :mod:`atento.decoding`: el paso, el comienzo, los filtros, los dados y el haz."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from atento.amounts import require_number, require_positive, require_size
from atento.shapes import (
    is_readable,
    require_floating,
    require_integer,
    require_tensor,
)

# --- El paso --------------------------------------------------------------------------------------


def require_function(value: Callable, *, name: str) -> None:
    """Lanza ``TypeError`` si ``value`` no se puede llamar."""
    if not callable(value):
        raise TypeError(f"{name}: se esperaba una función; llegó {type(value).__name__}.")


def require_writing(strategy: Callable, cache: bool) -> None:
    """Lanza ``TypeError`` si no son una estrategia y un sí o un no."""
    if not callable(strategy):
        raise TypeError(
            "strategy: se esperaba una función de atento.decoding, como greedy o beam_search; "
            f"llegó {strategy!r}."
        )
    if not isinstance(cache, bool):
        raise TypeError(f"cache: se esperaba True o False; llegó {cache!r}.")


def require_step(result: Any, rows: int) -> None:
    """Lanza si ``result`` no es la pareja (logits, state) con unas puntuaciones que sirvan."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            "step: se esperaba que devolviera la pareja (logits, state); devolvió "
            f"{type(result).__name__}."
        )
    logits, _ = result
    require_tensor(logits, name="logits")
    if logits.ndim != 2 or logits.shape[0] != rows or logits.shape[1] == 0:
        raise ValueError(
            f"logits: se esperaba que step devolviera la forma (batch={rows}, vocab); devolvió "
            f"{tuple(logits.shape)}."
        )
    require_logits(logits)


def require_logits(logits: Tensor) -> None:
    """Lanza si ``logits`` no es (…, vocab) de números, con alguna palabra permitida por fila."""
    require_floating(logits, name="logits")
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(
            f"logits: se esperaba la forma (…, vocab), con alguna palabra; llegó "
            f"{tuple(logits.shape)}."
        )
    if not is_readable(logits) or math.isfinite(logits.amax(dim=-1).sum()):
        return
    if logits.isnan().any():
        raise ValueError(
            "logits: se esperaban números y llegó NaN; el modelo no está entrenado o divergió, y "
            "no hay palabra mejor."
        )
    if (logits == math.inf).any():
        raise ValueError("logits: se esperaban números finitos, o -inf para prohibir; llegó +inf.")
    raise ValueError(
        "logits: se esperaba alguna palabra permitida en cada fila; llegó una con todas en -inf."
    )


def require_sequence(state: Any) -> None:
    """Lanza ``TypeError`` si de ``state`` no se sabe elegir filas."""
    if not isinstance(state, (tuple, list)):
        raise TypeError(
            "state: se esperaba None, un tensor (rows, …), algo con un método select(rows), o una "
            f"tupla, lista o diccionario de ellos, para copiar filas; llegó {type(state).__name__}."
        )


def require_told(told: Tensor, written: Tensor) -> None:
    """Lanza si lo que devolvió ``stop`` no es un booleano por fila."""
    require_tensor(told, name="stop")
    if told.dtype != torch.bool or tuple(told.shape) != (len(written),):
        raise ValueError(
            f"stop: se esperaba que devolviera un booleano por fila, ({len(written)},); devolvió "
            f"{str(told.dtype).removeprefix('torch.')} de forma {tuple(told.shape)}."
        )


def require_words(words: Sequence[int]) -> None:
    """Lanza si ``words`` no es una lista de enteros con alguno."""
    if not isinstance(words, (list, tuple)) or not words:
        raise ValueError(f"words: se esperaba una lista de números de palabra; llegó {words!r}.")
    for i, word in enumerate(words):
        require_size(word, name=f"words[{i}]", least=None)


def require_penalty(step: Callable, penalty: float, pad_id: int | None) -> None:
    """Lanza si ``step`` no es una función o ``penalty`` no es un número positivo."""
    require_function(step, name="step")
    require_positive(penalty, name="penalty")
    _require_pad(pad_id)


def require_group(step: Callable, n: int, pad_id: int | None) -> None:
    """Lanza si ``step`` no es una función o ``n`` no es un entero positivo."""
    require_function(step, name="step")
    require_size(n, name="n")
    _require_pad(pad_id)


def _require_pad(pad_id: int | None) -> None:
    if pad_id is not None:
        require_size(pad_id, name="pad_id", least=0)


# --- Empezar --------------------------------------------------------------------------------------


def start(
    step: Callable,
    start: Tensor,
    eos_id: int,
    max_length: int,
    pad_id: int,
    stop: Callable | None,
) -> None:
    """Lanza si lo común a todas las estrategias no es lo que su nombre dice."""
    require_integer(start, name="start")
    require_size(max_length, name="max_length")
    require_size(eos_id, name="eos_id", least=None)
    require_size(pad_id, name="pad_id", least=None)
    require_function(step, name="step")
    if stop is not None:
        require_function(stop, name="stop")
    if start.ndim != 2 or start.shape[1] == 0:
        raise ValueError(
            f"start: se esperaba la forma (batch, start) con start ≥ 1; llegó {tuple(start.shape)}."
        )


def sampling(
    start: Tensor,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    min_p: float | None,
    n_samples: int | None,
    generator: torch.Generator | None,
) -> None:
    """Lanza si un filtro, el número de muestras o el generador no sirven."""
    _require_temperature(temperature)
    for value, name in ((top_k, "top_k"), (n_samples, "n_samples")):
        if value is not None:
            require_size(value, name=name)
    for share, name in ((top_p, "top_p"), (min_p, "min_p")):
        if share is not None:
            _require_share(share, name=name)
    if generator is not None:
        _require_generator(generator, start.device)


def _require_generator(generator: torch.Generator, where: torch.device) -> None:
    if not isinstance(generator, torch.Generator):
        raise TypeError(
            f"generator: se esperaba un torch.Generator; llegó {type(generator).__name__}. Hazlo "
            "con rng.generator(semilla)."
        )
    if generator.device.type != where.type:
        raise ValueError(
            f"generator: se esperaba en {where}, como start; está en {generator.device}. Hazlo con "
            f"rng.generator(semilla, device={str(where)!r})."
        )


# --- Los filtros ----------------------------------------------------------------------------------


def temperature(logits: Tensor, temperature: float) -> None:
    """Lanza si ``temperature`` no es un número finito mayor que 0 o ``logits`` no sirve."""
    _require_temperature(temperature)
    require_logits(logits)


def _require_temperature(value: float) -> None:
    require_number(value, name="temperature")
    if not 0 < value < math.inf:
        raise ValueError(
            f"temperature: se esperaba un número finito mayor que 0; llegó {value}. La palabra más "
            "probable, el límite en 0, la da greedy."
        )


def top_k(logits: Tensor, k: int) -> None:
    """Lanza si ``k`` no es un entero positivo o ``logits`` no sirve."""
    require_size(k, name="k")
    require_logits(logits)


def top_p(logits: Tensor, p: float) -> None:
    """Lanza si ``p`` no está en (0, 1] o ``logits`` no sirve."""
    _require_share(p, name="p")
    require_logits(logits)


def min_p(logits: Tensor, p: float) -> None:
    """Lanza si ``p`` no está en (0, 1] o ``logits`` no sirve."""
    top_p(logits, p)


def _require_share(value: float, *, name: str) -> None:
    require_number(value, name=name)
    if not 0 < value <= 1:
        raise ValueError(f"{name}: se esperaba un número en (0, 1]; llegó {value}.")


def draw(logits: Tensor, dice: Tensor) -> None:
    """Lanza si ``logits`` no es (rows, vocab) o no hay un dado de [0, 1) por fila."""
    require_logits(logits)
    require_floating(dice, name="dice")
    if logits.ndim != 2 or tuple(dice.shape) != (logits.shape[0],):
        raise ValueError(
            f"dice: se esperaba un dado por fila de logits, (rows, vocab) = {tuple(logits.shape)}; "
            f"llegó la forma {tuple(dice.shape)}."
        )
    if not ((dice >= 0) & (dice < 1)).all():
        raise ValueError(f"dice: se esperaban números en [0, 1); llegó {dice.tolist()}.")


# --- El haz ---------------------------------------------------------------------------------------


def beam(beams: int, n_best: int, length_penalty: Callable, max_length: int) -> list[float]:
    """Los divisores de cada longitud, de 1 a ``max_length``; lanza si algo no sirve."""
    require_size(beams, name="beams")
    require_size(n_best, name="n_best")
    if n_best > beams:
        raise ValueError(
            f"n_best: se esperaba como mucho beams = {beams}, las que el haz guarda; llegó "
            f"{n_best}."
        )
    require_function(length_penalty, name="length_penalty")
    divisors = [length_penalty(n) for n in range(1, max_length + 1)]
    for n, value in enumerate(divisors, 1):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(
                f"length_penalty: se esperaba que devolviera un número; con la longitud {n} "
                f"devolvió {type(value).__name__}."
            )
        if not 0 < value < math.inf:
            raise ValueError(
                f"length_penalty: se esperaba que devolviera un número finito mayor que 0; con la "
                f"longitud {n} devolvió {value}."
            )
    return divisors


def exponent(alpha: float) -> None:
    """Lanza si ``alpha`` no es un número finito."""
    require_number(alpha, name="alpha")
    if not math.isfinite(alpha):
        raise ValueError(f"alpha: se esperaba un número finito; llegó {alpha}.")


def tree(hypotheses: Any, row: int) -> None:
    """Lanza si no hay historia que contar o no existe la fila."""
    if not getattr(hypotheses, "history", ()):
        raise ValueError(
            "hypotheses: se esperaba lo que devuelve beam_search(..., history=True); llegó "
            f"{type(hypotheses).__name__} sin historia."
        )
    require_size(row, name="row", least=0)
    if row >= len(hypotheses.scores):
        raise ValueError(f"row: se esperaba menor que {len(hypotheses.scores)}; llegó {row}.")
