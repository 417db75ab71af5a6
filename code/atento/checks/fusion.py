"""La puerta de :mod:`atento.models.fusion`: la configuración y lo que traen los dos sentidos."""

from typing import Any

from torch import Tensor

from atento.amounts import (
    require_divisible,
    require_positive,
    require_probability,
    require_size,
)
from atento.checks.layers import require_ids, require_option
from atento.checks.vit import images as _images
from atento.shapes import require_axis, require_boolean, require_floating

FUSIONS = (
    "early_sum",
    "early_concat",
    "many_to_one",
    "one_to_many",
    "cross",
    "cross_concat",
    "bottleneck",
)
SIZES = ("d_model", "n_heads", "d_ff", "n_layers", "n_bottleneck")


def fields(config: Any) -> None:
    """Lanza si un campo de ``FusionConfig`` no es lo que su nombre dice."""
    require_option(config.fusion, FUSIONS, name="fusion")
    for name in SIZES:
        require_size(getattr(config, name), name=name)
    require_divisible(config.d_model, config.n_heads, name="d_model", divisor_name="n_heads")
    if config.n_layers % 4:
        raise ValueError(f"n_layers: se esperaba un múltiplo de 4; llegó {config.n_layers}.")
    require_size(config.fuse_from, name="fuse_from", least=0)
    if config.fuse_from > config.n_layers // 2:
        raise ValueError(
            f"fuse_from: se esperaba como mucho n_layers / 2 = {config.n_layers // 2}; llegó "
            f"{config.fuse_from}."
        )
    require_probability(config.dropout, name="dropout")
    for name in ("init_std", "position_std", "word_std", "place_std"):
        require_positive(getattr(config, name), name=name)


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``FusionConfig``."""
    require_config(config)


def require_config(config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``FusionConfig``."""
    if not hasattr(config, "n_bottleneck"):
        raise TypeError(f"config: se esperaba una FusionConfig; llegó {type(config).__name__}.")


def stream(rows: Tensor, present: Tensor | None = None, *, name: str = "rows") -> None:
    """Lanza si ``rows`` no es (batch, n, d_model) o ``present`` no dice algo de cada fila."""
    require_floating(rows, name=name)
    if rows.ndim != 3:
        raise ValueError(
            f"{name}: se esperaba la forma (batch, n, d_model); llegó {tuple(rows.shape)}."
        )
    if present is not None:
        label = "present" if name == "rows" else f"{name}_present"
        require_boolean(present, name=label)
        if present.shape != rows.shape[:2]:
            raise ValueError(
                f"{label}: se esperaba la forma {tuple(rows.shape[:2])}; llegó "
                f"{tuple(present.shape)}."
            )


def of(rows: Tensor, present: Tensor | None = None) -> None:
    """Lanza si ``rows`` no es (batch, n, d_model) o ``present`` no es (batch, n) y booleano."""
    stream(rows, present)


def joined(self: Any, other: Any) -> None:
    """Lanza ``TypeError`` si no llega otro ``Stream``."""
    if not hasattr(other, "present"):
        raise TypeError(f"other: se esperaba un Stream; llegó {type(other).__name__}.")


def summed(self: Any, other: Any, weights: Tensor) -> None:
    """Lanza si las dos secuencias no tienen tantas filas la una como la otra."""
    joined(self, other)
    require_floating(weights, name="weights")
    if self.rows.shape != other.rows.shape:
        raise ValueError(
            f"other: sumar pide tantas filas en un sentido como en el otro; llegaron "
            f"{tuple(self.rows.shape)} y {tuple(other.rows.shape)}."
        )


def cut(self: Any, n: int) -> None:
    """Lanza si ``n`` no es un número de filas."""
    require_size(n, name="n", least=0)


def cross_block(self: Any, x: Any, other: Any) -> None:
    """Lanza ``TypeError`` si no llegan dos ``Stream``."""
    for name, value in (("x", x), ("other", other)):
        if not hasattr(value, "present"):
            raise TypeError(f"{name}: se esperaba un Stream; llegó {type(value).__name__}.")


def fuse(
    self: Any,
    a: Tensor,
    b: Tensor,
    a_present: Tensor | None = None,
    b_present: Tensor | None = None,
) -> None:
    """Lanza si los dos sentidos no son (batch, n, d_model), del mismo lote."""
    stream(a, a_present, name="a")
    stream(b, b_present, name="b")
    for name, rows in (("a", a), ("b", b)):
        wanted = self.config.d_model
        require_axis(rows, -1, wanted, name=name, label="d_model", like="el constructor")
    require_axis(b, 0, len(a), name="b", label="batch", like="a")


def reader(self: Any, config: Any, image: Any, vocab: int, max_len: int, classes: int) -> None:
    """Lanza si no se puede hacer un lector con esas medidas."""
    require_config(config)
    if not hasattr(image, "n_added"):
        raise TypeError(f"image: se esperaba una VitConfig; llegó {type(image).__name__}.")
    if image.d_model != config.d_model or image.n_added:
        raise ValueError(
            f"image: se esperaban la anchura {config.d_model} y pooling='mean'; llegaron "
            f"{image.d_model} y {image.pooling!r}."
        )
    for name, value in (("vocab", vocab), ("max_len", max_len), ("classes", classes)):
        require_size(value, name=name)


def read(self: Any, images: Tensor, text: Tensor) -> None:
    """Lanza si las imágenes o los textos no son los de este modelo."""
    _images(self.embed_image, images)
    require_ids(text, self.vocab, name="text")
    require_axis(text, 0, len(images), name="text", label="batch", like="images")
    if text.shape[1] > self.max_len:
        raise ValueError(
            f"text: se esperaban como mucho {self.max_len} palabras; llegaron {text.shape[1]}."
        )
