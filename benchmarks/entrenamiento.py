"""Compara un paso de entrenamiento de atento con el de ``nn.Transformer`` y el de GPT-2.

Uso: ``OMP_NUM_THREADS=1 python benchmarks/entrenamiento.py``. El otro tiene los mismos pesos y
calcula lo mismo: del Transformer, los mismos vectores de entrada y la misma proyección, con
``nn.Transformer`` en medio; de GPT, el GPT-2 de transformers como viene.
Un paso es pérdida, gradientes y AdamW, con relleno y ``dropout``. Se miden segundos de procesador
por parejas intercaladas y se da la mediana de los cocientes (el otro entre el nuestro). Sale con
estado 1 si alguno no llega a su mínimo.
"""

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from atento import rng, shapes
from atento.models.gpt import Gpt, GptConfig
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.models.weights import from_gpt2, from_pytorch
from atento.training import cross_entropy

LEAST = 1.0
VOCAB, DROPOUT = 1000, 0.1
SIZES = [(64, 2, 4), (128, 3, 4), (256, 3, 8)]  # (d_model, capas, cabezas)
BATCHES = [(32, 12), (16, 64)]  # (frases, palabras)


class ByPyTorch(nn.Module):
    """El de atento, con ``nn.Transformer`` entre los vectores de entrada y la proyección."""

    def __init__(self, ours: Seq2Seq) -> None:
        super().__init__()
        given, c = copy.deepcopy(ours), ours.config
        self.embed_source, self.embed_target = given.embed_source, given.embed_target
        self.project, self.pad_id = given.project, c.pad_id
        self.core = nn.Transformer(
            c.d_model, c.n_heads, c.n_encoder_layers, c.n_decoder_layers, c.d_ff, c.dropout,
            batch_first=True, norm_first=c.norm_first,
        )  # fmt: skip

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Los logits de cada palabra del destino."""
        padded = source == self.pad_id
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        written = self.core(
            self.embed_source(source), self.embed_target(target), tgt_mask=future,
            tgt_is_causal=True, src_key_padding_mask=padded, memory_key_padding_mask=padded,
        )  # fmt: skip
        return self.project(written)


class ByTransformers(nn.Module):
    """El GPT-2 de transformers, que devuelve sus logits."""

    def __init__(self, size: tuple[int, int, int], max_len: int) -> None:
        super().__init__()
        d, layers, heads = size
        drops = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), DROPOUT)
        ends = {"bos_token_id": None, "eos_token_id": None}
        sizes = {"vocab_size": VOCAB, "n_embd": d, "n_layer": layers, "n_head": heads}
        self.core = GPT2LMHeadModel(GPT2Config(**sizes, **drops, n_positions=max_len, **ends))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Los logits de la palabra siguiente."""
        return self.core(ids, use_cache=False).logits


def seq2seq_pair(size: tuple[int, int, int], length: int) -> tuple[nn.Module, nn.Module]:
    """El nuestro y el de PyTorch, con los mismos pesos."""
    d, layers, heads = size
    ours = Seq2Seq(
        Seq2SeqConfig(
            VOCAB, d_model=d, n_heads=heads, d_ff=4 * d, n_encoder_layers=layers,
            n_decoder_layers=layers, dropout=DROPOUT,
        )
    )  # fmt: skip
    theirs = ByPyTorch(ours)
    ours.load_state_dict(from_pytorch(theirs.core.state_dict()), strict=False)
    return ours, theirs


def gpt_pair(size: tuple[int, int, int], length: int) -> tuple[nn.Module, nn.Module]:
    """El nuestro y el de transformers, con los mismos pesos."""
    d, layers, heads = size
    theirs = ByTransformers(size, length)
    drops = {"dropout": DROPOUT, "attention_dropout": DROPOUT}
    sizes = {"d_model": d, "n_heads": heads, "d_ff": 4 * d, "n_layers": layers, "max_len": length}
    ours = Gpt(GptConfig(VOCAB, **sizes, **drops))
    ours.load_state_dict(from_gpt2(theirs.core.state_dict()))
    return ours, theirs


PAIRS = {"nn.Transformer": seq2seq_pair, "GPT-2": gpt_pair}


def inputs(kind: str, rows: int, length: int) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    """Lo que recibe cada uno y las etiquetas; el Transformer, media tanda con relleno."""
    ids = torch.randint(3, VOCAB, (2, rows, length + 1), generator=rng.generator(0))
    if kind == "GPT-2":
        return (ids[0, :, :-1],), ids[0, :, 1:]
    ids[:, ::2, -length // 4 :] = 0
    return (ids[0, :, 1:], ids[1, :, :-1]), ids[1, :, 1:]


def require_same(ours: nn.Module, theirs: nn.Module, given: tuple[torch.Tensor, ...]) -> None:
    """Se comparan dos que calculan lo mismo; si no, no hay nada que comparar."""
    ours.eval(), theirs.eval()
    with torch.no_grad():
        found, expected = ours(*given), theirs(*given)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    ours.train(), theirs.train()


def step(model: nn.Module, given: tuple[torch.Tensor, ...], labels: torch.Tensor) -> Callable:
    """Un paso entero: pérdida, gradientes y AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def run() -> None:
        logits = model(*given)
        optimizer.zero_grad()
        cross_entropy(logits, labels, pad_id=0).backward()
        optimizer.step()

    return run


def seconds(function: Callable) -> float:
    """Segundos de procesador de una llamada."""
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(pairs: int) -> Iterator[tuple]:
    """Una fila por modelo, tamaño y lote: (frente a, tamaño, lote, ms, cociente)."""
    for kind, size, (rows, length) in product(PAIRS, SIZES, BATCHES):
        given, labels = inputs(kind, rows, length)
        ours, theirs = PAIRS[kind](size, length)
        require_same(ours, theirs, given)
        steps = step(ours, given, labels), step(theirs, given, labels)
        steps[0](), steps[1]()  # calentar
        spent = [[seconds(s) for s in order] for order in [steps, steps[::-1]] * pairs]
        mine = [s[i % 2] for i, s in enumerate(spent)]
        ratios = [s[1 - i % 2] / s[i % 2] for i, s in enumerate(spent)]
        yield kind, size, (rows, length), 1000 * statistics.median(mine), statistics.median(ratios)


def show(rows: list[tuple]) -> None:
    """Imprime la tabla de cocientes."""
    table = Table(title="Un paso de entrenamiento: cuántas veces más tarda el otro")
    headers = ("(d, capas, cabezas)", "frases × palabras", "ms", "cociente", "mínimo", "")
    for header in ("frente a", *headers):
        table.add_column(header, justify="left" if header == "frente a" else "right")
    for kind, size, (batch, length), milliseconds, value in rows:
        verdict = "[green]bien[/]" if value >= LEAST else "[red]lento[/]"
        numbers = (f"{milliseconds:.1f}", f"{value:.2f}", f"{LEAST:.1f}")
        table.add_row(kind, str(size), f"{batch} × {length}", *numbers, verdict)
    Console(width=100).print(table)


def main() -> int:
    """Mide, imprime y devuelve el estado de salida."""
    parser = argparse.ArgumentParser(description="Mide un paso de entrenamiento de atento.")
    parser.add_argument("--parejas", type=int, default=10, help="parejas por medida, entre dos")
    options = parser.parse_args()
    shapes.disable()
    torch.set_num_threads(1)
    rng.seed_all(0)
    rows = list(measure(options.parejas))
    show(rows)
    good = sum(value >= LEAST for *_, value in rows)
    Console().print(f"{good} de {len(rows)} medidas llegan a su mínimo.")
    return int(good < len(rows))


if __name__ == "__main__":
    sys.exit(main())
