"""Un entrenamiento que falla de vez en cuando: cada cuánto guardar, y lo que se pierde."""

import math

import torch

from atento.checks import scaling as checks


def young(save: float, between: float) -> float:
    """Cada cuánto guardar: √(2 · save · between).

    Lo que cuesta guardar, el tiempo medio entre fallos y lo que sale, en la misma unidad. Vale si
    guardar cuesta mucho menos que lo que se tarda en fallar.

    Errores: ``TypeError`` o ``ValueError`` si no son positivas.
    Fuente: Young (1974).
    """
    checks.times(save=save, between=between)
    return math.sqrt(2 * save * between)


def expected_time(
    work: float, every: float, *, save: float, restart: float, between: float
) -> float:
    """El tiempo medio de acabar ``work`` guardando cada ``every``, si los fallos son de Poisson.

    Errores: los de :func:`run_time`.
    Fuente: Daly (2006), § 2, salvo que no se falla volviendo y que el último tramo cuenta entero.
    """
    checks.running(work, every, save, restart, between)
    segments = work / every
    return segments * (between + restart) * math.expm1((every + save) / between)


def run_time(
    work: float,
    every: float,
    *,
    save: float,
    restart: float,
    between: float,
    generator: torch.Generator,
) -> float:
    """Lo que tarda una ejecución en acabar ``work``, con fallos sorteados de ``generator``.

    Se guarda cada ``every`` y guardar cuesta ``save``. Tras un fallo se pierde lo hecho desde la
    última vez y se tarda ``restart`` en volver; entre fallo y fallo pasa, de media, ``between``.
    Todo en la misma unidad de tiempo.

    Errores: ``TypeError`` o ``ValueError`` si no son positivos, o si entre dos guardados caben
    tantos fallos que no se acabaría.
    """
    checks.running(work, every, save, restart, between)
    checks.dice(generator)

    def wait() -> float:
        return -between * math.log1p(-torch.rand((), generator=generator, dtype=torch.float64))

    clock, done, failure = 0.0, 0.0, wait()
    while done < work:
        piece = min(every, work - done)
        if clock + piece + save <= failure:
            clock, done = clock + piece + save, done + piece
        else:
            clock = failure + restart
            failure = clock + wait()
    return clock
