"""La tubería: cada proceso, unas capas, y el lote en trozos para que nadie espere tanto."""

from fractions import Fraction

import torch
from torch import Tensor

from atento.checks import scaling as checks


def gpipe(stages: int, micro_batches: int) -> Tensor:
    """El calendario de GPipe, (stages, slots): qué hace cada etapa en cada turno.

    ``j`` es el microlote ``j`` hacia delante, ``-j``, hacia atrás, y 0, esperar; se cuentan desde
    1. Cada ida y cada vuelta dura un turno, y las vueltas empiezan cuando han acabado las idas.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    Fuente: Huang et al. (2019), § 2.3 y fig. 2c.
    """
    checks.sizes(stages=stages, micro_batches=micro_batches)
    half = micro_batches + stages - 1
    table = torch.zeros(stages, 2 * half, dtype=torch.long)
    for stage in range(stages):
        for j in range(micro_batches):
            table[stage, stage + j] = j + 1
            table[stage, -1 - stage - j] = -(j + 1)  # la vuelta es la ida del revés
    return table


def bubble(stages: int, micro_batches: int) -> Fraction:
    """La parte del tiempo que cada etapa pasa parada: (p − 1)/(m + p − 1).

    Errores: los de :func:`gpipe`.
    """
    checks.sizes(stages=stages, micro_batches=micro_batches)
    return Fraction(stages - 1, micro_batches + stages - 1)
