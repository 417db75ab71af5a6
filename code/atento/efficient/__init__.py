"""Piso 5: atenciones que no forman la tabla de todos con todos, exactas o aproximadas.

Cada una es una función y una clase que ocupa el sitio de
:class:`~atento.attention.MultiHeadAttention`, también en un modelo ya entrenado
(:func:`with_attention`). Cada clase tiene dos formas con la misma respuesta, la barata y la que da
los pesos.

- ``online``: la exacta, a trozos, con su ``logsumexp`` (la idea de FlashAttention).
- ``window``: una ventana y unas posiciones globales (Longformer).
- ``hashing``: solo entre quienes caen en el mismo cubo (Reformer).
- ``linformer``: atender a unas pocas mezclas de las claves.
- ``linear``: rasgos en lugar de la exponencial; también como red recurrente.
- ``performer``: rasgos al azar que valen, en promedio, la exponencial (FAVOR+).
- ``costs``: lo que cuesta cada una, en fórmula y contado.
"""

from atento.efficient.costs import (
    Cost,
    Counted,
    count,
    exact_cost,
    linear_cost,
    linformer_cost,
    lsh_cost,
    online_cost,
    window_cost,
)
from atento.efficient.hashing import (
    LshAttention,
    draw_rotations,
    lsh_attention,
    lsh_buckets,
    lsh_mask,
)
from atento.efficient.linear import (
    LinearAttention,
    LinearState,
    elu_features,
    linear_attention,
    linear_step,
)
from atento.efficient.linformer import LinformerAttention, linformer_attention, mean_pooling
from atento.efficient.online import OnlineAttention, blocks, online_attention
from atento.efficient.performer import PerformerAttention, draw_directions, positive_features
from atento.efficient.substitution import EfficientAttention, past, read_mask, with_attention
from atento.efficient.window import WindowAttention, window_attention, window_mask

__all__ = [
    "Cost",
    "Counted",
    "EfficientAttention",
    "LinearAttention",
    "LinearState",
    "LinformerAttention",
    "LshAttention",
    "OnlineAttention",
    "PerformerAttention",
    "WindowAttention",
    "blocks",
    "count",
    "draw_directions",
    "draw_rotations",
    "elu_features",
    "exact_cost",
    "linear_attention",
    "linear_cost",
    "linear_step",
    "linformer_attention",
    "linformer_cost",
    "lsh_attention",
    "lsh_buckets",
    "lsh_cost",
    "lsh_mask",
    "mean_pooling",
    "online_attention",
    "online_cost",
    "past",
    "positive_features",
    "read_mask",
    "window_attention",
    "window_cost",
    "window_mask",
    "with_attention",
]
