"""Un proceso de los dos que entrenan juntos: python _two_processes.py RANK CARPETA.

La prueba lo lanza dos veces; deja en la carpeta lo que aprendió cada uno.
"""

import sys
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from atento import rng
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig, seq2seq_loss
from atento.training import checkpoint, fit

ROWS = [3, 9, 5, 2, 7, 1, 4, 8]  # palabras de cada frase: ninguna pareja pesa lo mismo


def tiny(dropout=0.0):
    torch.manual_seed(3)
    sizes = {"d_model": 8, "n_heads": 2, "d_ff": 12}
    layers = {"n_encoder_layers": 1, "n_decoder_layers": 1}
    return Seq2Seq(Seq2SeqConfig(11, **sizes, **layers, dropout=dropout)).double()


def rows(step):
    """Las ocho frases del paso: origen y destino, con relleno hasta la más larga."""
    source = torch.Generator().manual_seed(step)
    ids = torch.randint(3, 11, (8, 10), generator=source)
    ids = ids.masked_fill(torch.arange(10) >= torch.tensor(ROWS)[:, None], 0)
    return ids, torch.cat([torch.ones(8, 1, dtype=torch.long), ids], 1)


def words(batch):
    return (batch[1][:, 1:] != 0).sum()


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.5, momentum=0.9)


def part(rank, number):
    """El lote ``number`` de un proceso: dos de las ocho frases."""
    step, half = divmod(number, 2)
    chosen = slice(4 * rank + 2 * half, 4 * rank + 2 * half + 2)
    return tuple(tensor[chosen] for tensor in rows(step))


def main(rank, folder):
    torch.set_num_threads(1)
    store = {"init_method": f"file://{folder}/store", "timeout": timedelta(seconds=60)}
    distributed.init_process_group("gloo", rank=rank, world_size=2, **store)
    model = DistributedDataParallel(tiny())
    options = {"optimizer": sgd, "accumulate": 2, "weight": words}
    history = fit(model, lambda n: part(rank, n), seq2seq_loss, steps=4, **options)
    torch.save({"model": model.module.state_dict(), "loss": history.loss}, folder / f"{rank}.pt")
    torch.save(resumed(rank, folder, options), folder / f"curves-{rank}.pt")
    distributed.destroy_process_group()


def resumed(rank, folder, options):
    """Las curvas, con abandono, de seis pasos seguidos y de tres y tres."""
    path, curves = folder / "run.pt", []
    for steps, extra in (
        (6, {}),
        (3, {"callbacks": [checkpoint(path, every=3)]}),
        (6, {"resume": path}),
    ):
        rng.seed_all(10 + rank + (99 if "resume" in extra else 0))
        model = DistributedDataParallel(tiny(dropout=0.2))
        batch = lambda n: part(rank, n)  # noqa: E731
        curves.append(fit(model, batch, seq2seq_loss, steps=steps, **options, **extra).loss)
    return curves


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
