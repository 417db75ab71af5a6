"""Lo común de los exploradores que ejecutan un modelo en la página, con sus pesos aparte."""

from __future__ import annotations

import base64
import copy
import hashlib
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from atento import trained
from figuras.explorers.base import Explorer

__all__ = ["LiveExplorer", "weights_file"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LiveExplorer(Explorer):
    """Un explorador con un ``model`` vivo. Los pesos van en un fichero, que se pide al usarlo."""

    model: Any  # un nn.Module con ``config``; quien hereda dice cuál

    def files(self) -> dict[str, str]:
        """El fichero de los pesos, en base 64, por su nombre."""
        return weights_file(self.name, self._content)

    @property
    def _size(self) -> str:
        """Cuántos parámetros tiene el modelo, con sus millares."""
        return f"{sum(p.numel() for p in self.model.parameters()):,}".replace(",", " ")

    @cached_property
    def _content(self) -> bytes:
        return trained.to_bytes(self.model, {"config": asdict(self.model.config)})

    @property
    def _file(self) -> str:
        return next(iter(self.files()))

    @cached_property
    def _exact(self) -> Any:
        """El modelo con los pesos que viajan, de 16 bits, y cuentas de 64."""
        return trained.rounded(copy.deepcopy(self.model)).double().eval()


def weights_file(name: str, content: bytes) -> dict[str, str]:
    """El fichero de unos pesos, en base 64, por su nombre, que acaba en su huella."""
    digest = hashlib.sha256(content).hexdigest()[:8]
    return {f"{name}-{digest}": base64.b64encode(content).decode()}
