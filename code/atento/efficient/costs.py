"""Lo que cuesta cada atención: fórmulas cerradas, y un contador con el que compararlas.

Las fórmulas son de una cabeza, hacia delante y sin las proyecciones. Un producto y una suma son dos
FLOP y solo se cuentan los productos de matrices, como hace ``torch.utils.flop_counter``.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import (
    FlopCounterMode,
    sdpa_backward_flop_count,
    sdpa_flop_count,
)

from atento.checks import efficient as checks
from atento.efficient.online import blocks


class Cost(NamedTuple):
    """``flops``, los de los productos de matrices, y ``table``, los números de la mayor tabla de
    puntuaciones o de rasgos que hay de una vez.
    """

    flops: int
    table: int


def exact_cost(n: int, d: int, *, keys: int | None = None) -> Cost:
    """La atención de 2017, con ``n`` consultas y cabezas de anchura ``d``: 4 n² d.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    """
    m = checks.sizes(n, d, keys)
    return Cost(4 * n * m * d, n * m)


def online_cost(
    n: int, d: int, *, block: int, keys: int | None = None, causal: bool = False
) -> Cost:
    """Softmax en línea: los mismos FLOP que la exacta, o casi la mitad si es causal.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    """
    m = checks.sizes(n, d, keys, block=block)
    pairs = sum(
        (rows.stop - rows.start) * (m - n + rows.stop if causal else m) for rows in blocks(n, block)
    )
    return Cost(4 * pairs * d, min(n, block) * min(m, block))


def window_cost(
    n: int,
    d: int,
    *,
    window: int,
    causal: bool = False,
    global_at: Sequence[int] = (),
    block: int | None = None,
) -> Cost:
    """La ventana deslizante de ``n`` posiciones: crece con ``n``, y no con n².

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    """
    checks.sizes(n, d, None)
    checks.window(window, global_at)
    tables = [len(global_at) * n]
    for rows in blocks(n, block or max(1, window)):
        first, last = max(0, rows.start - window), min(n, rows.stop + (0 if causal else window))
        far = sum(not first <= j < last for j in global_at)
        tables.append((rows.stop - rows.start) * (last - first + far))
    return Cost(4 * d * sum(tables), max(tables))


def lsh_cost(
    n: int,
    d: int,
    *,
    buckets: int,
    rounds: int = 1,
    chunk: int | None = None,
    causal: bool = False,
) -> Cost:
    """LSH con ``n`` consultas y ``n`` claves: crece con ``n`` por el tamaño del trozo.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    """
    checks.sizes(n, d, None, buckets=buckets, rounds=rounds, chunk=chunk or 1)
    size = chunk or -(-4 * n // buckets)
    pairs = -(-2 * n // size) * size * size * (2 if causal else 3)
    hashing = 2 * (2 * n) * d * (buckets // 2)
    return Cost(rounds * (4 * pairs * d + hashing), pairs)


def linformer_cost(n: int, d: int, *, rank: int, keys: int | None = None) -> Cost:
    """Linformer: mezclar las claves y los valores, y atender a ``rank`` mezclas.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    """
    m = checks.sizes(n, d, keys, rank=rank)
    return Cost(4 * rank * m * d + 4 * n * rank * d, n * rank)


def linear_cost(
    n: int,
    d: int,
    *,
    features: int | None = None,
    random: bool = False,
    causal: bool = False,
    block: int = 64,
) -> Cost:
    """La atención lineal con ``features`` rasgos, o ``d``; con ``random``, la de FAVOR+.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    """
    f = d if features is None else features
    checks.sizes(n, d, None, features=f, block=block)
    flops = 4 * n * f * (d + 1)  # claves con valores, y consultas con eso; + 1, la suma de pesos
    if causal:
        sizes = [rows.stop - rows.start for rows in blocks(n, block)]
        flops += sum(2 * c * c * (f + d + 1) for c in sizes)
    flops += 4 * n * d * f if random else 0  # las proyecciones
    return Cost(flops, n * f)


# --- El contador ----------------------------------------------------------------------------------


class Counted(NamedTuple):
    """Lo que ha costado una llamada: ``flops``; ``largest``, los números del mayor tensor que ha
    hecho; y ``peak``, los de todos los que ha tenido vivos a la vez.
    """

    flops: int
    largest: int
    peak: int


def count(function: Callable, *args: Any, **options: Any) -> Counted:
    """Llama a ``function(*args, **options)`` y cuenta lo que cuesta; lo que llega no cuenta.

    Los FLOP son los de ``torch.utils.flop_counter``, los de los productos de matrices; también los
    de la atención fusionada del procesador, ida y vuelta, que ese contador no ve. La vuelta rehace
    las puntuaciones, y eso se cuenta. La memoria de la fusionada no se ve por dentro.

    Errores: ``TypeError`` si ``function`` no se puede llamar.
    """
    checks.counted(function)
    given = [x for x in tree_leaves((args, options)) if isinstance(x, Tensor)]
    flops, memory = FlopCounterMode(display=False, custom_mapping=_FUSED), _Memory(given)
    with flops, memory:
        function(*args, **options)
    return Counted(flops.get_total_flops(), memory.largest, memory.peak)


def _fused(
    query: Sequence[int], key: Sequence[int], value: Sequence[int], *_: Any, **__: Any
) -> int:
    """Los FLOP de la fusionada, con las formas de lo que entra: puntuar y promediar."""
    heads = tuple(query[:-2])  # las claves pueden tener menos: se comparten
    return sdpa_flop_count(tuple(query), heads + tuple(key[-2:]), heads + tuple(value[-2:]))


def _fused_backward(
    gradient: Sequence[int],
    query: Sequence[int],
    key: Sequence[int],
    value: Sequence[int],
    *_: Any,
    **__: Any,
) -> int:
    """Los de su vuelta: puntuar otra vez, y dos productos por cada uno de la ida."""
    heads = tuple(query[:-2])
    shared = (heads + tuple(key[-2:]), heads + tuple(value[-2:]))
    return sdpa_backward_flop_count(tuple(gradient), tuple(query), *shared)


_FUSED = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _fused,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _fused_backward,
}


class _Memory(TorchDispatchMode):
    """Mira pasar cada operación y apunta lo que ocupan los tensores nuevos mientras viven."""

    def __init__(self, given: Sequence[Tensor]) -> None:
        super().__init__()
        self.largest = self.peak = self._alive = 0
        self._known = weakref.WeakSet(x.untyped_storage() for x in given)
        self._given = given

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(output):
            if isinstance(tensor, Tensor):
                self._note(tensor)
        return output

    def _note(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage in self._known:  # una vista
            return
        self._known.add(storage)
        numbers = storage.nbytes() // tensor.element_size()
        self._alive += numbers
        self.largest, self.peak = max(self.largest, numbers), max(self.peak, self._alive)
        weakref.finalize(storage, self._gone, numbers)

    def _gone(self, numbers: int) -> None:
        self._alive -= numbers
