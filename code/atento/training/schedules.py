"""Los calendarios de la tasa de aprendizaje: funciones del paso, que se cuenta desde 0."""

import math

from atento.amounts import require_number, require_size
from atento.training.history import Schedule


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

    Devuelve una función del paso (desde 0) a un número entre 0 y 1: del paso ``steps`` en adelante,
    que es el primero que ya no se da, vale ``final``.

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
