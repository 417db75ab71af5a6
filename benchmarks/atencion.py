"""Compara lo que tarda la atención de atento con lo que tarda hecha a mano.

Uso: ``OMP_NUM_THREADS=1 python benchmarks/atencion.py``. Mide por parejas intercaladas (primero
una y luego la otra, alternando el orden) y da la mediana de los cocientes, que apenas depende de
la carga de la máquina. Sale con estado 1 si alguna pareja pasa de su límite.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table

from atento import device, rng, shapes
from atento.attention import fused_attention, scaled_dot_product_attention
from atento.masks import causal_mask

FUSED_LIMIT, EXPLICIT_LIMIT = 1.05, 1.3
# (batch, head, n, d_head)
SIZES = [(8, 8, 64, 64), (8, 8, 128, 64), (2, 8, 256, 64), (1, 4, 512, 64)]


def by_hand(query, key, value, mask):
    """La atención que se escribe de memoria, sin validar nada."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def by_torch(query, key, value, mask):
    """La llamada directa a PyTorch."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


PAIRS = [
    ("fusionada", fused_attention, by_torch, FUSED_LIMIT),
    ("explícita", scaled_dot_product_attention, by_hand, EXPLICIT_LIMIT),
]


def seconds(function: Callable, inputs: tuple, where: torch.device) -> float:
    """Segundos de una llamada, hasta que el dispositivo termina."""
    start = time.perf_counter()
    function(*inputs)
    if where.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def ratio(ours: Callable, theirs: Callable, inputs: tuple, pairs: int, where: torch.device):
    """Mediana de los cocientes de ``pairs`` parejas intercaladas, y milisegundos de la nuestra."""
    for function in (ours, theirs) * 3:  # calentar
        function(*inputs)
    ratios, mine = [], []
    for i in range(pairs):
        order = (ours, theirs) if i % 2 else (theirs, ours)
        spent = {function: seconds(function, inputs, where) for function in order}
        ratios.append(spent[ours] / spent[theirs])
        mine.append(spent[ours])
    return statistics.median(ratios), 1000 * statistics.median(mine)


def measure(pairs: int, where: torch.device) -> list[tuple]:
    """Una fila por tamaño, máscara y forma: (forma, tamaño, máscara, ms, cociente, límite)."""
    rows = []
    for size in SIZES:
        tensors = torch.randn(3, *size, generator=rng.generator(0)).to(where)
        for label, mask in (("ninguna", None), ("causal", causal_mask(size[-2], device=where))):
            inputs = (*tensors, mask)
            for name, ours, theirs, limit in PAIRS:
                value, milliseconds = ratio(ours, theirs, inputs, pairs, where)
                rows.append((name, size, label, milliseconds, value, limit))
    return rows


def door_cost(where: torch.device) -> float:
    """Microsegundos fijos que añade validar los argumentos, medidos con tensores diminutos."""
    tiny = torch.ones(3, 1, 1, 2, 2, device=where)
    value, milliseconds = ratio(fused_attention, by_torch, (*tiny, None), 2000, where)
    return 1000 * milliseconds * (1 - 1 / value)


def show(rows: list[tuple], where: torch.device) -> None:
    """Imprime la tabla de cocientes."""
    table = Table(title=f"Atención: atento frente a lo mismo sin atento ({where})")
    for header in ("forma", "batch × head × n × d_head", "máscara", "ms", "cociente", "límite", ""):
        table.add_column(header, justify="left" if header in ("forma", "máscara") else "right")
    for name, size, mask, milliseconds, value, limit in rows:
        verdict = "[green]bien[/]" if value <= limit else "[red]lento[/]"
        shape = " × ".join(map(str, size))
        table.add_row(
            name, shape, mask, f"{milliseconds:.3f}", f"{value:.3f}", f"{limit:.2f}", verdict
        )
    Console(width=100).print(table)


def main() -> int:
    """Mide, imprime y devuelve el estado de salida."""
    parser = argparse.ArgumentParser(description="Mide el sobrecoste de la atención de atento.")
    parser.add_argument("--parejas", type=int, default=60, help="parejas intercaladas por medida")
    pairs = parser.parse_args().parejas
    shapes.disable()
    where = device.pick()
    with torch.inference_mode():
        rows = measure(pairs, where)
        fixed = door_cost(where)
    show(rows, where)
    slow = [row for row in rows if row[4] > row[5]]
    print(f"Coste fijo de validar: {fixed:.1f} µs por llamada; por debajo de 0.3 ms se nota.")
    print(f"{len(rows) - len(slow)} de {len(rows)} medidas dentro del límite.")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
