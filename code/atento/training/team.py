"""Los procesos que entrenan juntos un mismo modelo, cada uno con sus lotes."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel


class Team:
    """Los procesos que comparten ``model``; sin ``DistributedDataParallel``, este solo.

    ``size`` es cuántos son y ``rank``, cuál es este.
    """

    def __init__(self, model: nn.Module) -> None:
        inner = getattr(model, "_orig_mod", model)  # bajo torch.compile
        self.shared = inner if isinstance(inner, DistributedDataParallel) else None
        group = self.shared.process_group if self.shared is not None else None
        self.size = distributed.get_world_size(group) if self.shared is not None else 1
        self.rank = distributed.get_rank(group) if self.shared is not None else 0

    def total(self, number: float) -> float:
        """La suma de lo que dice cada proceso; es la misma en todos."""
        if self.shared is None:
            return number
        device = next(self.shared.parameters()).device
        tensor = torch.tensor(number, dtype=torch.float64, device=device)
        distributed.all_reduce(tensor, group=self.shared.process_group)
        return tensor.item()

    def quiet(self, active: bool) -> AbstractContextManager:
        """Donde los gradientes se suman sin repartirlos entre los procesos, si ``active``."""
        return self.shared.no_sync() if active and self.shared is not None else nullcontext()
