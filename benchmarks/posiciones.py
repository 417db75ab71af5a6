"""Compara lo que tarda cada esquema de posición con su expresión directa en PyTorch.

Uso: ``OMP_NUM_THREADS=1 python benchmarks/posiciones.py``. La expresión directa no valida nada y
recibe hecho todo lo que no depende de la entrada: senos y cosenos, cubos, pendientes y distancias
recortadas. Mide por parejas intercaladas y da la mediana de los cocientes, que apenas depende de la
carga de la máquina. Sale con estado 1 si alguno pasa del límite.
"""

import argparse
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F
from atencion import ratio
from rich.console import Console
from rich.table import Table

from atento import device, positions, rng, shapes

LIMIT = 1.1
HEADS, D_HEAD = 8, 64
SIZES = [(8, 256), (8, 512)]
SLOW = (
    "Convolutional",
    "Recurrent",
    "ComplexEmbedding",
    "ShawRelative",
    "DynamicBias",
)  # (batch, n)
Case = tuple[str, Callable, Callable, tuple]


def added(x, where) -> list[Case]:
    """Los esquemas que se suman a la entrada, ``(batch, n, d_model)``."""
    n, d = x.shape[-2:]
    places = torch.arange(n, device=where)
    raw, learned = positions.RawIndex(), positions.Learned(n, d).to(where)
    code = positions.sinusoidal(places, d)
    return [
        ("RawIndex", raw, lambda x: x + torch.arange(n, device=where)[:, None], (x,)),
        ("Sinusoidal", positions.Sinusoidal(d), lambda x: x + code[:n], (x,)),
        ("Learned", learned, lambda x: x + learned.table[:n], (x,)),
    ]


def brief(x, where) -> list[Case]:
    """Los que se suman a la entrada en forma breve."""
    d = x.shape[-1]
    conv, recurrent = (kind(d).to(where) for kind in (positions.Convolutional, positions.Recurrent))
    weight, bias = conv.convolution.weight, conv.convolution.bias
    wave, ids = positions.ComplexEmbedding(50, d).to(where), torch.randint(50, x.shape[:-1])
    place = torch.arange(x.shape[-2], device=where)[:, None]

    def by_hand(x):
        return x + F.conv1d(x.mT, weight, bias, padding=1, groups=d).mT

    def by_waves(ids):
        angle = wave.frequency[ids] * place + wave.phase[ids]
        waves = torch.stack((angle.cos(), angle.sin()), -1)
        return (wave.amplitude[ids][..., None] * waves).flatten(-2)

    return [
        ("Convolutional", conv, by_hand, (x,)),
        ("Recurrent", recurrent, lambda x: x + recurrent.gru(x)[0], (x,)),
        ("ComplexEmbedding", wave, by_waves, (ids.to(where),)),
    ]


def turned(query, where) -> list[Case]:
    """RoPE con las dos maneras de emparejar, con senos y cosenos ya calculados."""
    n, d = query.shape[-2:]
    places = torch.arange(n, device=where)
    angle = places[:, None] * positions.frequencies(d).to(where)
    cos, sin = angle.cos(), angle.sin()

    spin = torch.complex(cos, sin)

    def stacked(x, _):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    def complex_(x, _):
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * spin).flatten(-2)

    def half(x, _):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    inputs = (query, places)
    return [
        ("Rotary interleaved, apilando", positions.Rotary(d), stacked, inputs),
        ("Rotary interleaved, complejos", positions.Rotary(d), complex_, inputs),
        ("Rotary half", positions.Rotary(d, layout="half"), half, inputs),
    ]


def biased(query, where) -> list[Case]:
    """Los sesgos de las puntuaciones, con cubos, pendientes y filas ya calculados."""
    n, d = query.shape[-2:]
    places = torch.arange(n, device=where)
    t5, alibi = positions.RelativeBias(HEADS).to(where), positions.Alibi(HEADS).to(where)
    shaw, dynamic = positions.ShawRelative(d, 16).to(where), positions.DynamicBias(HEADS).to(where)
    bucket = positions.relative_bucket(places - places[:, None])
    slopes = positions.alibi_slopes(HEADS).to(where)[:, None, None]
    row = (places - places[:, None]).clamp(-16, 16) + 16

    def by_einsum(q, k, query):
        return torch.einsum("bhqd,qkd->bhqk", query, shaw.table[row]) / d**0.5

    def by_net(q, k):
        r = (k - q[:, None]).float()
        return dynamic.net((r.sign() * r.abs().log1p())[..., None]).permute(2, 0, 1)

    pair = (places, places)
    return [
        ("RelativeBias", t5, lambda q, k: t5.table[bucket].permute(2, 0, 1), pair),
        ("Alibi", alibi, lambda q, k: -slopes * (k - q[:, None]).abs(), pair),
        ("ShawRelative", shaw, by_einsum, (*pair, query)),
        ("DynamicBias", dynamic, by_net, pair),
    ]


def measure(pairs: int, where: torch.device) -> list[tuple]:
    """Una fila por esquema y tamaño: (esquema, tamaño, ms, cociente)."""
    rows = []
    for batch, n in SIZES:
        query = torch.randn(batch, HEADS, n, D_HEAD, generator=rng.generator(0)).to(where)
        x = query.transpose(1, 2).reshape(batch, n, HEADS * D_HEAD)
        cases = added(x, where) + brief(x, where) + turned(query, where) + biased(query, where)
        for name, ours, theirs, inputs in cases:
            torch.testing.assert_close(ours(*inputs), theirs(*inputs), rtol=0, atol=1e-3)
            repeats = max(pairs // 4, 5) if name in SLOW else pairs
            value, milliseconds = ratio(ours, theirs, inputs, repeats, where)
            rows.append((name, (batch, n), milliseconds, value))
    return rows


def show(rows: list[tuple], where: torch.device) -> None:
    """Imprime la tabla de cocientes."""
    table = Table(title=f"Posiciones: atento frente a su expresión directa ({where})")
    for header in ("esquema", "batch × n", "ms", "cociente", ""):
        table.add_column(header, justify="left" if header == "esquema" else "right")
    for name, size, milliseconds, value in rows:
        verdict = "[green]bien[/]" if value <= LIMIT else "[red]lento[/]"
        shape = " × ".join(map(str, size))
        table.add_row(name, shape, f"{milliseconds:.3f}", f"{value:.3f}", verdict)
    Console(width=100).print(table)


def main() -> int:
    """Mide, imprime y devuelve el estado de salida."""
    parser = argparse.ArgumentParser(description="Mide el sobrecoste de las posiciones de atento.")
    parser.add_argument("--parejas", type=int, default=100, help="parejas intercaladas por medida")
    pairs = parser.parse_args().parejas
    shapes.disable()
    where = device.pick()
    with torch.inference_mode():
        rows = measure(pairs, where)
    show(rows, where)
    slow = [row for row in rows if row[3] > LIMIT]
    print(f"{len(rows) - len(slow)} de {len(rows)} medidas dentro del límite, {LIMIT}.")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
