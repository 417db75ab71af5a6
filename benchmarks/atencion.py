"""Compara lo que tardan la atención y las celdas de atento con lo mismo hecho a mano.

Uso: ``OMP_NUM_THREADS=1 python benchmarks/atencion.py``. Mide por parejas intercaladas (primero
una y luego la otra, alternando el orden) y da la mediana de los cocientes, que apenas depende de
la carga de la máquina. Sale con estado 1 si alguna pareja, o el coste fijo de la puerta, pasa de
su límite.
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
from atento.models.cells import GRUCell, RNNCell, unroll

FUSED_LIMIT, EXPLICIT_LIMIT, UNROLL_LIMIT = 1.05, 1.3, 1.5
DOOR_LIMIT = 3.0  # microsegundos por llamada, con la comprobación apagada
# (batch, head, n, d_head)
SMALL = [(2, 4, 16, 16), (4, 4, 16, 32), (8, 8, 16, 32)]
LARGE = [(8, 8, 64, 64), (8, 8, 128, 64), (2, 8, 256, 64), (1, 4, 512, 64)]


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


FUSED = ("fusionada", fused_attention, by_torch, FUSED_LIMIT)
EXPLICIT = ("explícita", scaled_dot_product_attention, by_hand, EXPLICIT_LIMIT)


def plain_rnn(cell, x, h):
    """Un paso de la celda simple, sin módulo ni validación."""
    wx = x @ cell.weight_ih.T + cell.bias_ih
    return torch.tanh(wx + h @ cell.weight_hh.T + cell.bias_hh)


def plain_gru(cell, x, h):
    """Un paso de la GRU, sin módulo ni validación."""
    rx, zx, nx = (x @ cell.weight_ih.T + cell.bias_ih).chunk(3, -1)
    rh, zh, nh = (h @ cell.weight_hh.T + cell.bias_hh).chunk(3, -1)
    z = torch.sigmoid(zx + zh)
    return (1 - z) * torch.tanh(nx + torch.sigmoid(rx + rh) * nh) + z * h


def plain_loop(step: Callable) -> Callable:
    """El bucle que se escribe de memoria."""

    def loop(cell, x):
        h, states = x.new_zeros(x.shape[0], cell.d_hidden), []
        for t in range(x.shape[1]):
            h = step(cell, x[:, t], h)
            states.append(h)
        return torch.stack(states, 1), h

    return loop


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
    for size in SMALL + LARGE:
        repeats = pairs * (10 if size in SMALL else 1)
        tensors = torch.randn(3, *size, generator=rng.generator(0)).to(where)
        for label, mask in (("ninguna", None), ("causal", causal_mask(size[-2], device=where))):
            inputs = (*tensors, mask)
            for name, ours, theirs, limit in (EXPLICIT,) if size in SMALL else (FUSED, EXPLICIT):
                value, milliseconds = ratio(ours, theirs, inputs, repeats, where)
                rows.append((name, size, label, milliseconds, value, limit))
    return rows


def measure_cells(pairs: int, where: torch.device) -> list[tuple]:
    """Una fila por celda y tamaño, de ``unroll`` frente al bucle."""
    rows = []
    for kind, step in ((RNNCell, plain_rnn), (GRUCell, plain_gru)):
        for batch, length, width in ((1, 20, 8), (16, 20, 64)):
            cell = kind(width, width).to(where)
            x = torch.randn(batch, length, width, generator=rng.generator(0)).to(where)
            value, milliseconds = ratio(unroll, plain_loop(step), (cell, x), 5 * pairs, where)
            size, name = (batch, length, width), f"unroll {kind.__name__}"
            rows.append((name, size, "ninguna", milliseconds, value, UNROLL_LIMIT))
    return rows


def door_cost(where: torch.device) -> list[tuple[str, float]]:
    """Microsegundos fijos que añade cada forma de llamar, medidos con tensores diminutos."""
    tiny = torch.ones(3, 1, 1, 2, 2, device=where)
    costs = []
    for label, mask in (("sin máscara", None), ("con máscara", causal_mask(2, device=where))):
        inputs = (*tiny, mask)
        value, milliseconds = ratio(fused_attention, by_torch, inputs, 4000, where)
        costs.append((label, 1000 * milliseconds * (1 - 1 / value)))
    return costs


def show(rows: list[tuple], where: torch.device) -> None:
    """Imprime la tabla de cocientes."""
    table = Table(title=f"Atención: atento frente a lo mismo sin atento ({where})")
    for header in ("forma", "tamaño", "máscara", "ms", "cociente", "límite", ""):
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
        rows = measure(pairs, where) + measure_cells(pairs, where)
        doors = door_cost(where)
    show(rows, where)
    slow = [row for row in rows if row[4] > row[5]]
    told = ", ".join(f"{cost:.1f} µs {label}" for label, cost in doors)
    print(f"Coste fijo de validar: {told} (límite, {DOOR_LIMIT:.0f} µs).")
    print(f"{len(rows) - len(slow)} de {len(rows)} medidas dentro del límite.")
    return 1 if slow or any(cost > DOOR_LIMIT for _, cost in doors) else 0


if __name__ == "__main__":
    sys.exit(main())
