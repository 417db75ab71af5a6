"""Compara generar con caché con recalcularlo todo, y con ``generate`` de transformers.

Uso: ``OMP_NUM_THREADS=1 python benchmarks/generacion.py``. Los dos modelos de cada pareja miden lo
mismo (anchura, capas, cabezas, vocabulario), con pesos al azar, búsqueda voraz y tantas palabras
como se pidan. Se miden segundos de procesador, por parejas intercaladas, y se da la mediana de los
cocientes (el otro entre el nuestro), que depende poco de la carga de la máquina. Sale con estado 1
si alguno no llega a su mínimo.

A transformers se le llama como lo hace quien no toca nada: con su caché y su atención, en
``float32`` y con la máscara que da el tokenizador. Ninguno de los dos tiene fin de frase: si se le
pide además ``min_new_tokens``, Marian tapa el suyo en cada paso, y con d = 64 tarda una quinta
parte más. Se gana lo que cuesta preparar las operaciones, y solo con modelos pequeños llega a vez
y media. Cuanto mayor es el modelo, más se va en multiplicar y en traer los pesos de la memoria,
que es igual para los dos: con d = 256, llamar a los núcleos sin ningún módulo alrededor gana a
GPT-2 solo por entre 1.5 y 1.7.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel

from atento import rng, shapes
from atento.models.language import LanguageConfig, LanguageModel
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig

CACHE_LEAST, THEIRS_LEAST = 6.0, 1.5
VOCAB, SOURCE = 1000, 20
SIZES = [(64, 2, 4), (128, 4, 4), (256, 4, 8)]  # (d_model, capas, cabezas)
BATCHES = (1, 8)


def language_pair(d: int, layers: int, heads: int, length: int) -> tuple:
    """Un modelo de lenguaje nuestro y un GPT-2 de las mismas medidas."""
    ours = LanguageConfig(
        VOCAB, d_model=d, n_heads=heads, d_ff=4 * d, n_layers=layers, activation="gelu",
        positions="learned", max_len=length + 1, pad_id=None,
    )  # fmt: skip
    theirs = GPT2Config(
        vocab_size=VOCAB, n_embd=d, n_layer=layers, n_head=heads, n_positions=length + 1,
        activation_function="gelu", bos_token_id=1, eos_token_id=None,
    )  # fmt: skip
    return LanguageModel(ours).eval(), GPT2LMHeadModel(theirs).eval()


def seq2seq_pair(d: int, layers: int, heads: int, length: int) -> tuple:
    """Un codificador-decodificador nuestro y un Marian de las mismas medidas."""
    ours = Seq2SeqConfig(
        VOCAB, d_model=d, n_heads=heads, d_ff=4 * d, n_encoder_layers=layers,
        n_decoder_layers=layers, norm_first=False, final_norm=False, tying="all",
    )  # fmt: skip
    theirs = MarianConfig(
        vocab_size=VOCAB, d_model=d, encoder_layers=layers, decoder_layers=layers,
        encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=4 * d,
        decoder_ffn_dim=4 * d, activation_function="relu", max_position_embeddings=length + SOURCE,
        pad_token_id=0, bos_token_id=1, eos_token_id=None, decoder_start_token_id=1,
        forced_eos_token_id=None, scale_embedding=True,
    )  # fmt: skip
    return Seq2Seq(ours).eval(), MarianMTModel(theirs).eval()


def writers(kind: str, size: tuple, batch: int, length: int) -> dict[str, Callable]:
    """Quién escribe ``length`` palabras: el nuestro, el nuestro sin caché y el de transformers."""
    make = language_pair if kind == "GPT-2" else seq2seq_pair
    ours, theirs = make(*size, length)
    width = 1 if kind == "GPT-2" else SOURCE
    given = torch.randint(3, VOCAB, (batch, width), generator=rng.generator(0))
    options = {"eos_id": -1, "max_length": length}
    fixed = {"max_new_tokens": length, "do_sample": False, "num_beams": 1}
    fixed |= {"pad_token_id": 0, "attention_mask": torch.ones_like(given)}
    return {
        "ours": lambda: ours.generate(given, **options),
        "recomputed": lambda: ours.generate(given, cache=False, **options),
        "theirs": lambda: theirs.generate(given, **fixed),
    }


def seconds(function: Callable) -> float:
    """Segundos de procesador de una llamada."""
    start = time.process_time()
    function()
    return time.process_time() - start


def ratio(ours: Callable, other: Callable, pairs: int) -> tuple[float, float]:
    """Mediana de los cocientes de ``pairs`` parejas intercaladas, y segundos de la nuestra."""
    ratios, mine = [], []
    for i in range(pairs):
        order = (ours, other) if i % 2 else (other, ours)
        spent = {function: seconds(function) for function in order}
        ratios.append(spent[other] / spent[ours])
        mine.append(spent[ours])
    return statistics.median(ratios), statistics.median(mine)


def measure(pairs: int, length: int) -> Iterator[tuple]:
    """Una fila por modelo, tamaño y lote: (frente a, tamaño, lote, ms, cociente, mínimo)."""
    for kind in ("GPT-2", "Marian"):
        for size in SIZES:
            for batch in BATCHES:
                run = writers(kind, size, batch, length)
                run["ours"](), run["theirs"]()  # calentar
                value, spent = ratio(run["ours"], run["theirs"], pairs)
                yield kind, size, batch, 1000 * spent / length, value, THEIRS_LEAST
    for size in SIZES:
        run = writers("GPT-2", size, 1, length)
        value, spent = ratio(run["ours"], run["recomputed"], 2)
        yield "recalcular", size, 1, 1000 * spent / length, value, CACHE_LEAST


def show(rows: list[tuple], length: int) -> None:
    """Imprime la tabla de cocientes."""
    table = Table(title=f"Generar {length} palabras: cuántas veces más tarda el otro")
    for header in ("frente a", "(d, capas, cabezas)", "lote", "ms/paso", "cociente", "mínimo", ""):
        table.add_column(header, justify="left" if header == "frente a" else "right")
    for name, size, batch, milliseconds, value, least in rows:
        verdict = "[green]bien[/]" if value >= least else "[red]lento[/]"
        numbers = (f"{milliseconds:.2f}", f"{value:.2f}", f"{least:.1f}")
        table.add_row(name, str(size), str(batch), *numbers, verdict)
    Console(width=100).print(table)


def main() -> int:
    """Mide, imprime y devuelve el estado de salida."""
    parser = argparse.ArgumentParser(description="Mide la generación de atento.")
    parser.add_argument("--parejas", type=int, default=3, help="parejas intercaladas por medida")
    parser.add_argument("--palabras", type=int, default=512, help="palabras que se generan")
    options = parser.parse_args()
    shapes.disable()
    torch.set_num_threads(1)
    rng.seed_all(0)
    rows = []
    for row in measure(options.parejas, options.palabras):
        rows.append(row)
        print(f"{row[0]} {row[1]} lote {row[2]}: {row[4]:.2f}", file=sys.stderr, flush=True)
    show(rows, options.palabras)
    slow = [row for row in rows if row[4] < row[5]]
    print(f"{len(rows) - len(slow)} de {len(rows)} medidas llegan a su mínimo.")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
