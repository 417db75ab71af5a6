"""Sumar entre procesos en un anillo: cada uno habla solo con el siguiente."""

from datetime import timedelta

import torch
from torch import Tensor, distributed

from atento.checks import scaling as checks

_LIMIT = timedelta(minutes=30)  # lo que espera PyTorch si no se le dice


def _pass_on(sent: Tensor, received: Tensor) -> int:
    """Da un trozo al siguiente y recibe otro del anterior; devuelve los bytes que ha dado."""
    rank, size = distributed.get_rank(), distributed.get_world_size()
    request = distributed.isend(sent.contiguous(), (rank + 1) % size)
    distributed.recv(received, (rank - 1) % size)
    if request is not None:
        request.wait(timeout=_LIMIT)
    return sent.numel() * sent.element_size()


def ring_reduce_scatter(pieces: list[Tensor]) -> int:
    """Suma trozo a trozo: al acabar, ``pieces[rank]`` es la suma de ese trozo en todos.

    ``pieces`` son tantos tensores de la misma forma, (…, n), como procesos; se escribe en ellos, y
    los demás quedan a medias. Devuelve los bytes que ha dado este proceso.

    Errores: ``TypeError`` o ``ValueError`` si no son tantos trozos iguales como procesos.
    Fuente: Patarasuk y Yuan (2009), § 4.
    """
    rank, size = checks.ring(pieces)
    sent = 0
    for step in range(size - 1):
        received = torch.empty_like(pieces[0])
        sent += _pass_on(pieces[(rank - step - 1) % size], received)
        pieces[(rank - step - 2) % size] += received
    return sent


def ring_all_gather(pieces: list[Tensor]) -> int:
    """Reparte lo de cada uno: al acabar, ``pieces[k]`` es, en todos, el trozo del proceso ``k``.

    Entra con ``pieces[rank]`` escrito; todos son tensores de la misma forma, (…, n). Devuelve los
    bytes que ha dado este proceso.

    Errores: los de :func:`ring_reduce_scatter`.
    """
    rank, size = checks.ring(pieces)
    sent = 0
    for step in range(size - 1):
        received = torch.empty_like(pieces[0])
        sent += _pass_on(pieces[(rank - step) % size], received)
        pieces[(rank - step - 1) % size].copy_(received)
    return sent


def ring_all_reduce(tensor: Tensor) -> int:
    """Suma ``tensor``, de forma (), (n,) o (…, n), entre todos los procesos, en el sitio.

    Son las dos vueltas de antes. Devuelve los bytes que ha dado este proceso: 2 (n − 1)/n de los
    que ocupa el tensor, si se parte sin resto.

    Errores: ``TypeError`` si no es un tensor de coma flotante.
    Fuente: Patarasuk y Yuan (2009), § 4.
    """
    size = checks.reduced(tensor)
    flat = tensor.detach().flatten()
    whole = torch.nn.functional.pad(flat, (0, -flat.numel() % size))
    pieces = list(whole.chunk(size)) if size > 1 else [whole]
    sent = ring_reduce_scatter(pieces) + ring_all_gather(pieces)
    tensor.detach().copy_(torch.cat(pieces)[: flat.numel()].view_as(tensor))
    return sent
