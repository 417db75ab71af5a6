"""La puerta de :mod:`atento.models.gato`: valores, pasos y secuencias empaquetadas."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from atento.amounts import (
    require_divisible,
    require_positive,
    require_probability,
    require_size,
)
from atento.shapes import is_readable, require_axis, require_floating, require_integer

SIZES = (
    "vocab",
    "bins",
    "image_size",
    "patch_size",
    "channels",
    "max_place",
    "d_model",
    "n_heads",
    "d_ff",
    "n_layers",
)


def fields(config: Any) -> None:
    """Lanza si un campo de ``GatoConfig`` no es lo que su nombre dice."""
    for name in SIZES:
        require_size(getattr(config, name), name=name)
    require_divisible(
        config.image_size, config.patch_size, name="image_size", divisor_name="patch_size"
    )
    require_divisible(
        config.d_model, 2 * config.n_heads, name="d_model", divisor_name="2 · n_heads"
    )
    for name in ("mu", "limit", "init_std"):
        require_positive(getattr(config, name), name=name)
    require_probability(config.dropout, name="dropout")


def require_config(config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``GatoConfig``."""
    if not hasattr(config, "max_place"):
        raise TypeError(f"config: se esperaba una GatoConfig; llegó {type(config).__name__}.")


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``GatoConfig``."""
    require_config(config)


# --- Los números ----------------------------------------------------------------------------------


def mu_law(x: Tensor, *, mu: float = 100.0, limit: float = 256.0) -> None:
    """Lanza si ``x`` no es de coma flotante o las constantes no son positivas."""
    require_floating(x, name="x")
    require_positive(mu, name="mu")
    require_positive(limit, name="limit")


def to_bins(x: Tensor, bins: int) -> None:
    """Lanza si ``x`` no es de coma flotante o ``bins`` no es positivo."""
    require_floating(x, name="x")
    require_size(bins, name="bins")


def from_bins(ids: Tensor, bins: int) -> None:
    """Lanza si ``ids`` no son intervalos de esos."""
    require_integer(ids, name="ids")
    require_size(bins, name="bins")
    require_range(ids, bins, name="ids")


def require_range(ids: Tensor, most: int, *, name: str) -> None:
    """Lanza ``ValueError`` si algún número no está entre 0 y ``most - 1``."""
    if ids.numel() and is_readable(ids) and (int(ids.min()) < 0 or int(ids.max()) >= most):
        raise ValueError(
            f"{name}: se esperaban números de 0 a {most - 1}; llegaron de {int(ids.min())} a "
            f"{int(ids.max())}."
        )


# --- Los pasos ------------------------------------------------------------------------------------


def pack(sequences: Any, config: Any) -> None:
    """Lanza si ``sequences`` no son secuencias de pasos que quepan en el modelo."""
    require_config(config)
    require_sequences(sequences)
    for sequence in sequences:
        for step in sequence:
            _require_step(step, config)


def require_sequences(sequences: Any) -> None:
    """Lanza si no es una lista, con algo, de listas de pasos con algo."""
    if isinstance(sequences, str) or not isinstance(sequences, Sequence) or not sequences:
        raise ValueError(f"sequences: se esperaba al menos una secuencia; llegó {sequences!r}.")
    for sequence in sequences:
        if isinstance(sequence, (str, tuple)) or not isinstance(sequence, Sequence):
            kind = type(sequence).__name__
            raise TypeError(f"sequences: se esperaban listas de Step; llegó {kind}.")
        if not sequence:
            raise ValueError("sequences: se esperaba algún paso en cada secuencia; no hay.")
        for step in sequence:
            if not hasattr(step, "action"):
                raise TypeError(f"sequences: se esperaban Step; llegó {type(step).__name__}.")


def _require_step(step: Any, c: Any) -> None:
    if all(part is None for part in step):
        raise ValueError("step: se esperaba que llevara algo; llegó vacío.")
    if step.text is not None:
        require_integer(step.text, name="text")
        require_range(step.text, c.vocab, name="text")
    for name in ("values", "action"):
        if getattr(step, name) is not None:
            require_floating(getattr(step, name), name=name)
    for name in ("text", "values", "action"):
        part = getattr(step, name)
        if part is not None and part.ndim != 1:
            raise ValueError(f"{name}: se esperaba la forma (n,); llegó {tuple(part.shape)}.")
    if step.image is not None:
        require_floating(step.image, name="image")
        wanted = (c.channels, c.image_size, c.image_size)
        if tuple(step.image.shape) != wanted:
            raise ValueError(
                f"image: se esperaba la forma {wanted}; llegó {tuple(step.image.shape)}."
            )
    _require_places(step, c)


def _require_places(step: Any, c: Any) -> None:
    """Lanza si en un paso hay más sitios que filas en la tabla."""
    patches = 0 if step.image is None else (c.image_size // c.patch_size) ** 2
    n = patches + sum(len(x) for x in (step.text, step.values) if x is not None)
    if n > c.max_place:
        raise ValueError(f"step: se esperaban como mucho {c.max_place} sitios; hay {n}.")


def pack_episodes(values: Tensor, actions: Tensor, config: Any) -> None:
    """Lanza si no son (batch, t, k) y (batch, t, m), o una acción menos."""
    require_config(config)
    require_floating(values, name="values")
    require_floating(actions, name="actions")
    for name, tensor in (("values", values), ("actions", actions)):
        if tensor.ndim != 3:
            raise ValueError(
                f"{name}: se esperaba la forma (batch, step, n); llegó {tuple(tensor.shape)}."
            )
    require_axis(actions, 0, len(values), name="actions", label="batch", like="values")
    if values.shape[1] - actions.shape[1] not in (0, 1) or not values.shape[1]:
        raise ValueError(
            f"actions: se esperaban tantos pasos como en values, {values.shape[1]}, o uno menos; "
            f"llegaron {actions.shape[1]}."
        )
    if values.shape[2] > config.max_place:
        raise ValueError(
            f"values: se esperaban como mucho {config.max_place} sitios; hay {values.shape[2]}."
        )


def require_packed(packed: Any) -> None:
    """Lanza ``TypeError`` si no llega un ``Packed``."""
    if not hasattr(packed, "kinds"):
        raise TypeError(f"packed: se esperaba un Packed; llegó {type(packed).__name__}.")


def unpack(packed: Any, config: Any) -> None:
    """Lanza si no llegan un ``Packed`` y una ``GatoConfig``."""
    require_packed(packed)
    require_config(config)


def forward(self: Any, packed: Any) -> None:
    """Lanza ``TypeError`` si no llega un ``Packed``."""
    require_packed(packed)


def gato_loss(model: Any, packed: Any) -> None:
    """Lanza si no llegan un modelo y un ``Packed``."""
    if not callable(model):
        raise TypeError(f"model: se esperaba un Gato; llegó {type(model).__name__}.")
    require_packed(packed)


def write(self: Any, sequences: Any, length: int) -> None:
    """Lanza si no son secuencias de pasos o ``length`` no es positivo."""
    require_size(length, name="length")
    pack(sequences, self.config)


def act(self: Any, values: Tensor, actions: Tensor) -> None:
    """Lanza si no son (batch, t, k) y (batch, t − 1, m), con m de al menos 1."""
    pack_episodes(values, actions, self.config)
    if values.shape[1] != actions.shape[1] + 1 or not actions.shape[2]:
        raise ValueError(
            f"actions: se esperaba la forma (batch, {values.shape[1] - 1}, m), un paso menos que "
            f"values; llegó {tuple(actions.shape)}."
        )
