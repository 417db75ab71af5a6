"""Piso 7: escalar; contar lo que pide un entrenamiento y repartirlo entre procesos.

- ``budget``: parámetros, operaciones y bytes, en fórmula y contados.
- ``processes``: lanzar unos procesos que se hablan, y recoger lo que dice cada uno.
- ``ring``: sumar entre procesos, en anillo.
- ``parallel``: partir una capa por dentro (Megatron) o los parámetros en trozos (ZeRO, FSDP).
- ``pipeline``: la tubería y su burbuja.
- ``failures``: cada cuánto guardar lo que se lleva hecho.
"""

from atento.scaling.budget import (
    BYTES,
    Decoder,
    Memory,
    saved_bytes,
    training_flops,
    training_memory,
)
from atento.scaling.failures import expected_time, run_time, young
from atento.scaling.parallel import (
    Shard,
    SplitAttention,
    SplitFeedForward,
    copy_in,
    split_linear,
    sum_out,
)
from atento.scaling.pipeline import bubble, gpipe
from atento.scaling.processes import ProcessError, run_processes
from atento.scaling.ring import ring_all_gather, ring_all_reduce, ring_reduce_scatter

__all__ = [
    "BYTES",
    "Decoder",
    "Memory",
    "ProcessError",
    "Shard",
    "SplitAttention",
    "SplitFeedForward",
    "bubble",
    "copy_in",
    "expected_time",
    "gpipe",
    "ring_all_gather",
    "ring_all_reduce",
    "ring_reduce_scatter",
    "run_processes",
    "run_time",
    "saved_bytes",
    "split_linear",
    "sum_out",
    "training_flops",
    "training_memory",
    "young",
]
