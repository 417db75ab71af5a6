"""Piso 5: el bucle de entrenamiento, el mismo para todos los modelos del libro.

El modelo, los datos y la pérdida llegan como argumentos: este paquete no conoce ninguno. Los pasos
son un número fijo; el límite de segundos solo sirve para avisar de que algo va mal. Una ejecución
puede guardarse y reanudarse, y su curva es la misma, número a número, que la de una sin cortes.

:func:`fit` acumula el gradiente de varios lotes con el peso que tiene cada uno, calcula en 16 bits
si se le pide, y es el mismo en un proceso o en varios que entrenan juntos
(``DistributedDataParallel``): lo que da es lo que daría un solo lote con todo.
"""

from atento.training.callbacks import evaluate, evaluating
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
from atento.training.loop import Optimizers, fit
from atento.training.losses import cross_entropy
from atento.training.parameters import parameter_groups, unwrap
from atento.training.saving import checkpoint
from atento.training.schedules import noam, warmup_cosine, warmup_stable_decay

__all__ = [
    "Callback",
    "History",
    "Loss",
    "Optimizers",
    "Schedule",
    "State",
    "TrainingDiverged",
    "TrainingTimeout",
    "Weight",
    "checkpoint",
    "cross_entropy",
    "evaluate",
    "evaluating",
    "fit",
    "noam",
    "parameter_groups",
    "unwrap",
    "warmup_cosine",
    "warmup_stable_decay",
]
