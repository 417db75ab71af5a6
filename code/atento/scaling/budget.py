"""Lo que pide un entrenamiento: parámetros, operaciones y bytes, antes de lanzarlo."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from atento.checks import scaling as checks

BYTES: dict[str, tuple[int, int, int]] = {
    "float32": (4, 4, 8),
    "mixed": (2, 2, 12),
}
"""Bytes por parámetro de los pesos, los gradientes y el optimizador (AdamW: dos medias y, en
precisión mixta, además la copia de los pesos en 32 bits)."""


@dataclass(frozen=True)
class Decoder:
    """Los tamaños de un modelo que solo escribe, con los bloques y la salida atada de GPT-2.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos, o las cabezas no dividen a
    ``d_model``.
    Fuente: Radford et al. (2019), § 2.3.
    """

    vocab: int
    context: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int | None = None

    def __post_init__(self) -> None:
        checks.decoder(self)
        if self.d_ff is None:
            object.__setattr__(self, "d_ff", 4 * self.d_model)

    @property
    def parameters(self) -> int:
        """Cuántos parámetros tiene, sesgos y normalizaciones incluidos."""
        d, f = self.d_model, self.d_ff or 0
        attention, dense, norms = 4 * d * d + 4 * d, 2 * d * f + f + d, 4 * d
        block = attention + dense + norms
        return (self.vocab + self.context) * d + self.n_layers * block + 2 * d

    def forward_flops(self, n: int, batch: int = 1) -> int:
        """Los FLOP de los productos de matrices, hacia delante, con ``batch`` textos de ``n``.

        Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
        """
        checks.sizes(n=n, batch=batch)
        d, f = self.d_model, self.d_ff or 0
        block = 8 * n * d * d + 4 * n * n * d + 4 * n * d * f  # proyectar, atender, red densa
        return batch * (self.n_layers * block + 2 * n * d * self.vocab)


def training_flops(parameters: int, tokens: int) -> int:
    """Entrenar, a ojo: 6 · N · D. Dos FLOP por parámetro y token hacia delante, y cuatro detrás.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos.
    Fuente: Kaplan et al. (2020), § 2.1.
    """
    checks.sizes(parameters=parameters, tokens=tokens)
    return 6 * parameters * tokens


class Memory(NamedTuple):
    """Las cuatro cosas que ocupan memoria al entrenar, en bytes y en un proceso."""

    weights: float
    gradients: float
    optimizer: float
    activations: float = 0.0

    @property
    def total(self) -> float:
        """La suma de las cuatro."""
        return sum(self)


def training_memory(
    parameters: int,
    *,
    precision: str = "float32",
    processes: int = 1,
    stage: int = 0,
    activations: float = 0.0,
) -> Memory:
    """Los bytes que pide entrenar con AdamW en cada uno de los ``processes`` procesos.

    ``precision`` es «float32» o «mixed». ``stage`` es la etapa de ZeRO: con 1 se reparte entre los
    procesos el optimizador; con 2, también los gradientes; con 3, también los pesos.
    ``activations`` se suma tal cual: son las del lote de cada uno, que ZeRO no reparte.

    Errores: ``TypeError`` o ``ValueError`` si no son lo que se dice.
    Fuente: Rajbhandari et al. (2020), § 3 y fig. 1.
    """
    checks.memory(parameters, precision, BYTES, processes, stage, activations)
    weights, gradients, optimizer = (parameters * size for size in BYTES[precision])
    return Memory(
        weights / (processes if stage >= 3 else 1),
        gradients / (processes if stage >= 2 else 1),
        optimizer / (processes if stage >= 1 else 1),
        activations,
    )


def saved_bytes(function: Callable, *args: Any, parameters: Iterable[Tensor] = ()) -> int:
    """Los bytes que ``function(*args)`` deja guardados para derivar: las activaciones.

    Se cuentan una vez los tensores que comparten memoria, y ninguno de ``parameters``, que pueden
    ser de cualquier forma: (), (n,), (…, n). Vale también sobre tensores del dispositivo ``meta``,
    que tienen formas y no tienen datos.

    Errores: ``TypeError`` si ``function`` no se puede llamar o ``parameters`` no son tensores.
    """
    parameters = checks.saved(function, parameters)
    known = {p.untyped_storage()._cdata for p in parameters}
    kept = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in known:
            kept[storage._cdata] = storage  # guardarla impide que otra ocupe su sitio
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        output = function(*args)  # sin ella, lo guardado se suelta
    del output
    return sum(storage.nbytes() for storage in kept.values())
