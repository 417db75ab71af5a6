"""Lo que hace cada proceso en test_scaling: va aparte para que el hijo pueda importarlo."""

import os
import time

import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from atento.attention import MultiHeadAttention
from atento.layers import FeedForward
from atento.masks import causal_mask
from atento.scaling import (
    Shard,
    SplitAttention,
    SplitFeedForward,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)

STEPS = 3


def draw(*shape, seed):
    source = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=source, dtype=torch.float64)


def rings(rank, lengths):
    """De cada longitud: lo que suma el anillo, lo que suma PyTorch y los bytes que salieron."""
    found = []
    for length in lengths:
        tensor = draw(length, seed=100 * rank + length)
        other = tensor.clone()
        sent = ring_all_reduce(tensor)
        distributed.all_reduce(other)
        found.append((tensor, other, sent))
    return found


def halves(rank):
    """Las dos vueltas por separado: el trozo sumado, y lo que recoge cada uno."""
    size = distributed.get_world_size()
    pieces = [torch.full((2,), 10.0 * rank + k) for k in range(size)]
    ring_reduce_scatter(pieces)
    gathered = [torch.zeros(2) for _ in range(size)]
    gathered[rank] += rank + 1
    ring_all_gather(gathered)
    return pieces[rank], gathered


def layers():
    torch.manual_seed(4)
    dense, attention = FeedForward(8, 12, activation="gelu"), MultiHeadAttention(8, 4)
    for part in (dense, attention):
        for p in part.parameters():
            nn.init.normal_(p, std=0.3)
    return dense.double(), attention.double()


def both(dense, attention):
    """Salida y gradiente de la entrada al pasar por las dos capas."""
    x = draw(2, 5, 8, seed=7).requires_grad_()
    y = attention(x, mask=causal_mask(5))
    y = dense(y[0] if isinstance(y, tuple) else y)
    (y * draw(2, 5, 8, seed=8)).sum().backward()
    return y.detach(), x.grad


def split(rank):
    size = distributed.get_world_size()
    dense, attention = layers()
    parts = SplitFeedForward(dense, rank, size), SplitAttention(attention, rank, size)
    found = both(*parts)
    grads = {name: p.grad for part in parts for name, p in part.named_parameters()}
    return found, grads


def network():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 3)).double()


def steps(model, parameters, around=None):
    """Tres pasos de AdamW con los datos de este proceso."""
    optimizer = torch.optim.AdamW(parameters, lr=0.1)
    for step in range(STEPS):
        x = draw(4, 5, seed=10 * step + distributed.get_rank())
        optimizer.zero_grad()
        if around is None:
            model(x).square().mean().backward()
        else:
            with around():
                model(x).square().mean().backward()
        optimizer.step()
    return optimizer


def sharded(rank):
    """Lo que aprenden Shard, DDP y el FSDP2 de PyTorch con los mismos datos."""
    model = network()
    shard = Shard(model)
    empty = sum(p.numel() for p in model.parameters())
    optimizer = steps(model, [shard.own], shard.gathered)
    kept = sum(t.numel() for s in optimizer.state.values() for t in s.values() if t.numel() > 1)
    with shard.gathered():
        own = [p.detach().clone() for p in model.parameters()]
    ddp = DistributedDataParallel(network())
    steps(ddp, ddp.parameters())
    fsdp = network()
    fully_shard(fsdp, mesh=init_device_mesh("cpu", (distributed.get_world_size(),)))
    steps(fsdp, fsdp.parameters())
    theirs = [p.full_tensor().detach() for p in fsdp.parameters()]
    return {
        "own": own,
        "ddp": [p.detach() for p in ddp.parameters()],
        "fsdp": theirs,
        "held": shard.own.numel(),
        "kept": kept,
        "empty": empty,
    }


def fails(rank, who):
    if rank == who:
        raise ArithmeticError("no sale")
    distributed.barrier()


def three(rank, lengths):
    return rings(rank, lengths), halves(rank)


def two(rank, lengths):
    return {"rings": rings(rank, lengths), "split": split(rank), "sharded": sharded(rank)}


def sleeps(rank):
    time.sleep(120)


def dies(rank):
    if rank == 0:
        os._exit(3)
    distributed.barrier()
