"""La aritmética de un paso: la del modelo, o la mezcla de 16 y 32 bits."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Precision:
    """Con qué números se calcula un paso; los pesos y el optimizador siguen en 32 bits.

    - ``None``: con los del modelo;
    - ``"bfloat16"``: los productos de matrices, en 16 bits con el rango de 32;
    - ``"float16"``: en 16 bits de rango corto, donde un gradiente pequeño se vuelve 0: por eso la
      pérdida se multiplica antes y el gradiente se divide después, y si se pasa de grande el paso
      se salta y el factor baja.

    Errores: ``ValueError`` si ``precision`` no es una de ellas, los parámetros no son de 32 bits o
    se pide «float16» fuera de CUDA.
    Fuente: Micikevicius et al. (2018), § 3.
    """

    def __init__(self, precision: str | None, parameters: Iterable[torch.nn.Parameter]) -> None:
        parameters = list(parameters)
        self.device = parameters[0].device.type
        _require_precision(precision, self.device, parameters)
        self.dtype = None if precision is None else DTYPES[precision]
        self.scaler = torch.amp.GradScaler(self.device) if precision == "float16" else None

    def autocast(self) -> AbstractContextManager:
        """Donde se calcula la pérdida."""
        if self.dtype is None:
            return nullcontext()
        return torch.autocast(self.device, dtype=self.dtype)

    def backward(self, loss: Float[Tensor, ""]) -> None:
        """Suma a cada gradiente el de ``loss``."""
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """Deja los gradientes en su tamaño, para medirlos y recortarlos."""
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)

    def may_skip(self) -> bool:
        """Si un gradiente infinito solo dice que el factor era grande."""
        return self.scaler is not None and self.scaler.get_scale() > 1

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Actualiza los pesos; en «float16», solo si el gradiente es finito."""
        if self.scaler is None:
            optimizer.step()
        else:
            self.scaler.step(optimizer)
            self.scaler.update()

    def state(self) -> dict[str, Any]:
        """El factor y sus cuentas, para reanudar."""
        return {} if self.scaler is None else self.scaler.state_dict()

    def resume(self, state: dict[str, Any]) -> None:
        """Vuelve al factor que se guardó."""
        if self.scaler is not None and state:
            self.scaler.load_state_dict(state)


def _require_precision(
    precision: str | None, device: str, parameters: Iterable[torch.nn.Parameter]
) -> None:
    if precision is None:
        return
    if precision not in DTYPES:
        raise ValueError(
            f"precision: se esperaba None, «bfloat16» o «float16»; llegó {precision!r}."
        )
    if precision == "float16" and device != "cuda":
        raise ValueError(
            f"precision: «float16» se esperaba solo en CUDA; en {device}, usa «bfloat16»."
        )
    other = {p.dtype for p in parameters if p.is_floating_point()} - {torch.float32}
    if other:
        raise ValueError(
            f"precision: con «{precision}» se esperaba un modelo de torch.float32, que es donde se "
            f"guardan los pesos; llegó uno de {', '.join(sorted(map(str, other)))}."
        )
