"""Compara los tokenizadores de atento con los de la biblioteca tokenizers, escrita en Rust.

Uso: ``OMP_NUM_THREADS=1 python benchmarks/tokenizadores.py``. El corpus es la prosa del libro y,
hasta llegar a 1 MB, las docstrings de la biblioteca estándar de Python. Se mide tiempo de CPU en
una sola ejecución y con un hilo, y se da el cociente entre los dos tal como sale: el nuestro es
Python y se lee; el suyo es más rápido. Sale con estado 1 si entrenar o codificar pasa de su límite.
"""

import argparse
import ast
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from atento.tokenizers import BPE, Characters, Unigram, WordPiece, normalize
from atento.tokenizers.text import BARE_WORDS, WORDS

RAIZ = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(RAIZ / "book/_ext"), str(RAIZ / "tests/atento")]
os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

TRAIN_LIMIT = 20.0  # segundos de CPU por MB
ENCODE_LIMIT = 0.3  # MB por segundo de CPU, sin nada recordado de antes


def docstrings(n_bytes: int) -> list[str]:
    """Docstrings de la biblioteca estándar, por orden de fichero, hasta tener ``n_bytes``."""
    found: list[str] = []
    library = Path(os.__file__).parent
    apart = {"site-packages", "dist-packages", "test", "tests", "idle_test"}
    for path in (p for p in sorted(library.rglob("*.py")) if not apart & set(p.parts)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8", errors="replace"))):
            if n_bytes <= 0:
                return found
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                text = ast.get_docstring(node) or ""
                found.append(text)
                n_bytes -= len(text.encode())
    return found


def corpus(n_bytes: int) -> list[str]:
    """Unos ``n_bytes`` de texto: la prosa del libro y docstrings, en trozos de varios párrafos."""
    from _prosa import prosa

    book = [normalize(text) for text in prosa()]
    return [*book, *docstrings(n_bytes - sum(len(text.encode()) for text in book))]


def theirs(kind: str, texts: list[str], size: int):
    """Entrena el de la biblioteca con nuestras palabras."""
    import tokenizers as hf
    from tokenizers import models, pre_tokenizers, trainers

    options = dict(vocab_size=size, show_progress=False, special_tokens=["<unk>"])
    split = pre_tokenizers.Split(hf.Regex(WORDS.pattern), "isolated")
    if kind == "WordPiece":
        split = pre_tokenizers.Split(hf.Regex(BARE_WORDS.pattern), "removed", invert=True)
        made, trainer = (
            models.WordPiece(unk_token="<unk>"),
            trainers.WordPieceTrainer(min_frequency=2, **options),
        )
    elif kind == "Unigram":
        made, trainer = models.Unigram(), trainers.UnigramTrainer(unk_token="<unk>", **options)
    else:
        alphabet = pre_tokenizers.ByteLevel.alphabet() if "bytes" in kind else []
        made = models.BPE(unk_token="<unk>")
        trainer = trainers.BpeTrainer(min_frequency=2, initial_alphabet=alphabet, **options)
    if "bytes" in kind:
        level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        split = pre_tokenizers.Sequence([split, level])
    tokenizer = hf.Tokenizer(made)
    tokenizer.pre_tokenizer = split
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


OURS: dict[str, Callable] = {
    "BPE": BPE.train,
    "BPE, bytes": lambda texts, size: BPE.train(texts, size, byte_level=True),
    "WordPiece": WordPiece.train,
    "Unigram": Unigram.train,
}


def spent(function: Callable, *inputs) -> tuple[float, object]:
    """Segundos de CPU de una llamada, y su resultado."""
    start = time.process_time()
    result = function(*inputs)
    return time.process_time() - start, result


def measure(texts: list[str], size: int) -> list[tuple]:
    """Una fila por tokenizador: entrenar y codificar, el nuestro y el suyo."""
    rows = []
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    for name, train in OURS.items():
        train_ours, mine = spent(train, texts, size)
        train_theirs, other = spent(theirs, name, texts, size)
        encode_ours, _ = spent(lambda made: [made.encode(text) for text in texts], mine)
        encode_theirs, _ = spent(lambda made: [made.encode(text) for text in texts], other)
        rows.append((
            name, len(mine), train_ours / megabytes, train_ours / train_theirs,
            megabytes / encode_ours, encode_ours / encode_theirs,
        ))  # fmt: skip
    train_ours, mine = spent(Characters.train, texts)
    encode_ours, _ = spent(lambda made: [made.encode(text) for text in texts], mine)
    rows.append(
        ("Caracteres", len(mine), train_ours / megabytes, None, megabytes / encode_ours, None)
    )
    return rows


def show(rows: list[tuple], megabytes: float) -> None:
    """Imprime la tabla."""
    table = Table(title=f"Tokenizadores de atento, con {megabytes:.2f} MB y un hilo")
    headers = (
        "tokenizador",
        "piezas",
        "entrenar (s/MB)",
        "cociente",
        "codificar (MB/s)",
        "cociente",
    )
    for i, header in enumerate(headers):
        table.add_column(header, justify="right" if i else "left")
    for name, pieces, train, train_ratio, encode, encode_ratio in rows:
        ratios = ["—" if x is None else f"{x:.1f}" for x in (train_ratio, encode_ratio)]
        table.add_row(name, str(pieces), f"{train:.2f}", ratios[0], f"{encode:.2f}", ratios[1])
    Console(width=100).print(table)
    print(
        "Cociente: nuestro tiempo entre el de la biblioteca tokenizers (Rust), en esta ejecución."
    )


def main() -> int:
    """Mide, imprime y devuelve el estado de salida."""
    parser = argparse.ArgumentParser(description="Mide los tokenizadores de atento.")
    parser.add_argument("--piezas", type=int, default=4000, help="tamaño del vocabulario")
    parser.add_argument("--megas", type=float, default=1.0, help="tamaño del corpus, en MB")
    options = parser.parse_args()
    texts = corpus(int(options.megas * 1e6))
    rows = measure(texts, options.piezas)
    show(rows, sum(len(text.encode()) for text in texts) / 1e6)
    slow = [row[0] for row in rows if row[2] > TRAIN_LIMIT or row[4] < ENCODE_LIMIT]
    told = f"fuera: {', '.join(slow)}" if slow else "todos dentro"
    print(f"Límites: entrenar, {TRAIN_LIMIT:.0f} s/MB; codificar, {ENCODE_LIMIT} MB/s; {told}.")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
