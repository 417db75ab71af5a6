"""La puerta de :mod:`atento.models.detr`: la configuración, las imágenes y los objetos."""

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from atento.amounts import (
    require_divisible,
    require_kind,
    require_number,
    require_positive,
    require_probability,
    require_size,
)
from atento.checks.boxes import corners
from atento.checks.layers import require_option
from atento.checks.vit import images as images
from atento.shapes import require_floating, require_integer

GRID_SIZES = ("image_size", "channels", "classes", "d_model", "n_heads", "d_ff")
WEIGHTS = ("class_cost", "class_weight", "l1_weight", "giou_weight")


def grid_fields(config: Any) -> None:
    """Lanza si un campo de ``GridConfig`` no es lo que su nombre dice."""
    for name in GRID_SIZES:
        require_size(getattr(config, name), name=name)
    for name in ("n_encoder_layers", "n_convs"):
        require_size(getattr(config, name), name=name, least=0)
    require_kind(config.widths, tuple, name="widths", wanted="una tupla de anchuras")
    for i, width in enumerate(config.widths):
        require_size(width, name=f"widths[{i}]")
    if not config.widths:
        raise ValueError("widths: se esperaba al menos una capa de convolución; llegó ().")
    times = 2 ** len(config.widths)
    require_divisible(config.image_size, times, name="image_size", divisor_name="2 ** len(widths)")
    require_divisible(config.d_model, config.n_heads, name="d_model", divisor_name="n_heads")
    require_divisible(config.d_model, 4, name="d_model", divisor_name="senos y ejes")
    require_option(config.norm, ("pre", "post"), name="norm")
    require_probability(config.dropout, name="dropout")
    for name in ("position_scale", "temperature", "position_gain"):
        require_positive(getattr(config, name), name=name)
    require_weights(config, ("no_object_weight", "cell_weight"))


def fields(config: Any) -> None:
    """Lanza si un campo de ``DetrConfig`` no es lo que su nombre dice."""
    grid_fields(config)
    for name in ("queries", "n_decoder_layers"):
        require_size(getattr(config, name), name=name)
    for name in ("reference_points", "refine"):
        require_kind(getattr(config, name), bool, name=name, wanted="True o False")
    if config.reference_points:  # cada cabeza recibe los mismos senos de los dos ejes
        waves = 4 * config.n_heads
        require_divisible(config.d_model, waves, name="d_model", divisor_name="4 * n_heads")
    require_weights(config, WEIGHTS)


def require_weights(config: Any, names: Sequence[str]) -> None:
    """Lanza si alguno de esos campos no es un número ≥ 0."""
    for name in names:
        require_number(getattr(config, name), name=name)
        if getattr(config, name) < 0:
            raise ValueError(f"{name}: se esperaba un peso ≥ 0; llegó {getattr(config, name)}.")


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``DetrConfig``."""
    _require_config(config)


def _require_config(config: Any) -> None:
    if not hasattr(config, "giou_weight"):
        raise TypeError(f"config: se esperaba una DetrConfig; llegó {type(config).__name__}.")


def grid(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``GridConfig``."""
    require_grid(config)


def require_grid(config: Any) -> None:
    """Lanza ``TypeError`` si no es una ``GridConfig``, o de quien hereda de ella."""
    if not hasattr(config, "cell_weight"):
        raise TypeError(f"config: se esperaba una GridConfig; llegó {type(config).__name__}.")


def conv_block(before: int, after: int, stride: int, kernel_size: int) -> None:
    """Lanza si no son enteros positivos o el núcleo es par y no tiene centro."""
    sizes = {"before": before, "after": after, "stride": stride, "kernel_size": kernel_size}
    for name, size in sizes.items():
        require_size(size, name=name)
    if kernel_size % 2 == 0:
        raise ValueError(f"kernel_size: se esperaba un impar; llegó {kernel_size}.")


def sine_positions(
    points: Tensor, d_model: int, *, scale: float = 2 * math.pi, temperature: float = 10_000.0
) -> None:
    """Lanza si ``points`` no es (…, 2) o lo demás no son las medidas de unos senos."""
    require_floating(points, name="points")
    if points.ndim < 1 or points.shape[-1] != 2:
        raise ValueError(f"points: se esperaba la forma (…, 2); llegó {tuple(points.shape)}.")
    require_size(d_model, name="d_model")
    require_divisible(d_model, 4, name="d_model", divisor_name="senos y ejes")
    require_positive(scale, name="scale")
    require_positive(temperature, name="temperature")


def _require_detections(detections: Any, config: Any, *, name: str = "detections") -> None:
    if not hasattr(detections, "logits") or not hasattr(detections, "boxes"):
        raise TypeError(
            f"{name}: se esperaban Detections, con logits y boxes; llegó "
            f"{type(detections).__name__}."
        )
    logits, boxes = detections
    require_floating(logits, name=f"{name}.logits")
    require_floating(boxes, name=f"{name}.boxes")
    if logits.ndim != 3 or logits.shape[-1] != config.classes + 1:
        raise ValueError(
            f"{name}.logits: se esperaba la forma (batch, query, {config.classes + 1}); llegó "
            f"{tuple(logits.shape)}."
        )
    if tuple(boxes.shape) != (*logits.shape[:2], 4):
        raise ValueError(
            f"{name}.boxes: se esperaba la forma {(*logits.shape[:2], 4)}; llegó "
            f"{tuple(boxes.shape)}."
        )


def require_objects(labels: Tensor, boxes: Tensor, classes: int) -> None:
    """Lanza si no son clases, (object,), y sus esquinas, (object, 4)."""
    require_integer(labels, name="labels")
    corners(boxes)
    if labels.ndim != 1 or tuple(boxes.shape) != (len(labels), 4):
        raise ValueError(
            f"boxes: se esperaba una caja por etiqueta, (object, 4); llegó "
            f"{tuple(boxes.shape)} con labels {tuple(labels.shape)}."
        )
    if ((labels < 0) | (labels >= classes)).any():
        raise ValueError(
            f"labels: se esperaban clases de 0 a {classes - 1}; llegaron de {int(labels.min())} a "
            f"{int(labels.max())}."
        )


def matching_cost(detections: Any, labels: Tensor, boxes: Tensor, config: Any) -> None:
    """Lanza si lo contestado o los objetos no son lo que se dice."""
    _require_config(config)
    _require_detections(detections, config)
    require_objects(labels, boxes, config.classes)


def _require_targets(targets: Any, config: Any, batch: int | None = None) -> None:
    if not isinstance(targets, Sequence) or isinstance(targets, str):
        raise TypeError(
            f"targets: se esperaba una lista, con los objetos de cada imagen; llegó "
            f"{type(targets).__name__}."
        )
    if batch is not None and len(targets) != batch:
        raise ValueError(f"targets: se esperaban los de {batch} imágenes; llegaron {len(targets)}.")
    for i, target in enumerate(targets):
        if not isinstance(target, tuple) or len(target) != 2:
            raise TypeError(
                f"targets[{i}]: se esperaba una pareja (clases, cajas); llegó "
                f"{type(target).__name__}."
            )
        require_objects(target[0], target[1], config.classes)


def assign(detections: Any, targets: Any, config: Any) -> None:
    """Lanza si no hay unos objetos por imagen, o son más que las consultas."""
    _require_config(config)
    _require_detections(detections, config)
    _require_room(detections, targets, config)


def _require_room(detections: Any, targets: Any, config: Any) -> None:
    batch, queries = detections.logits.shape[:2]
    _require_targets(targets, config, batch)
    for i, target in enumerate(targets):
        if len(target[0]) > queries:
            raise ValueError(
                f"targets[{i}]: se esperaban como mucho tantos objetos como consultas, {queries}; "
                f"llegaron {len(target[0])}."
            )


def pairs(pairs: Any) -> None:
    """Lanza si no es una lista con un reparto por imagen."""
    if not isinstance(pairs, Sequence) or isinstance(pairs, str) or not pairs:
        raise TypeError(
            f"pairs: se esperaba una lista, con un reparto por imagen; llegó {pairs!r}."
        )
    _require_matches(pairs)


def _require_matches(pairs: Any) -> None:
    for i, pair in enumerate(pairs):
        if not hasattr(pair, "rows"):
            raise TypeError(f"pairs[{i}]: se esperaba un reparto; llegó {type(pair).__name__}.")


def matched_losses(detections: Any, targets: Any, pairs: Any, config: Any) -> None:
    """Lanza si no hay unos objetos y un reparto por imagen."""
    assign(detections, targets, config)
    if not isinstance(pairs, Sequence) or len(pairs) != len(targets):
        raise ValueError(
            f"pairs: se esperaba una lista, con un reparto por imagen, {len(targets)}; llegó "
            f"{pairs!r}."
        )
    _require_matches(pairs)


def set_loss(layers: Any, targets: Any, config: Any) -> None:
    """Lanza si ``layers`` no es una lista con lo de alguna capa, todas de la misma forma."""
    _require_config(config)
    if not isinstance(layers, list) or not layers:
        raise TypeError(
            f"layers: se esperaba una lista con las Detections de cada capa; llegó "
            f"{type(layers).__name__}."
        )
    for i, layer in enumerate(layers):
        _require_detections(layer, config, name=f"layers[{i}]")
        require_alike(layer.logits, layers[0].logits, name=f"layers[{i}].logits")
    _require_room(layers[0], targets, config)


def require_alike(value: Tensor, first: Tensor, *, name: str) -> None:
    """Lanza ``ValueError`` si lo de una capa no tiene la forma de lo de la primera."""
    if value.shape != first.shape:
        raise ValueError(
            f"{name}: se esperaba la forma de la primera capa, {tuple(first.shape)}; llegó "
            f"{tuple(value.shape)}."
        )


def cell_classes(targets: Any, config: Any) -> None:
    """Lanza si ``targets`` no son los objetos de cada imagen."""
    require_grid(config)
    _require_targets(targets, config)
    if not targets:
        raise ValueError("targets: se esperaban los objetos de alguna imagen; llegó [].")


def cell_loss(logits: Tensor, targets: Any, config: Any) -> None:
    """Lanza si ``logits`` no es (batch, celdas, clases + 1) o ``targets`` no son sus objetos."""
    require_grid(config)
    require_floating(logits, name="logits")
    wanted = (config.side**2, config.classes + 1)
    if logits.ndim != 3 or tuple(logits.shape[1:]) != wanted:
        raise ValueError(
            f"logits: se esperaba la forma (batch, {wanted[0]}, {wanted[1]}); llegó "
            f"{tuple(logits.shape)}."
        )
    _require_targets(targets, config, len(logits))
