"""La puerta de :mod:`atento.models.maskformer`: la configuración, lo contestado y los trozos."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from atento.amounts import require_kind, require_number, require_size
from atento.checks import detr
from atento.checks.vit import images as images
from atento.shapes import require_boolean, require_floating

WEIGHTS = ("focal_weight", "dice_weight", "gamma")


def fields(config: Any) -> None:
    """Lanza si un campo de ``MaskFormerConfig`` no es lo que su nombre dice."""
    detr.fields(config)
    require_size(config.mask_width, name="mask_width")
    detr.require_weights(config, WEIGHTS)
    _require_fraction(config.alpha, name="alpha")
    require_kind(config.masked, bool, name="masked", wanted="True o False")


def _require_fraction(value: float, *, name: str) -> None:
    require_number(value, name=name)
    if not 0 <= value <= 1:
        raise ValueError(f"{name}: se esperaba un número entre 0 y 1; llegó {value}.")


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``MaskFormerConfig``."""
    _require_config(config)


def _require_config(config: Any) -> None:
    if not hasattr(config, "mask_width"):
        raise TypeError(f"config: se esperaba una MaskFormerConfig; llegó {type(config).__name__}.")


def pixel_costs(logits: Tensor, *, gamma: float = 2.0, alpha: float = 0.25) -> None:
    """Lanza si ``logits`` no es de coma flotante, o lo demás no es lo que pesa cada fallo."""
    require_floating(logits, name="logits")
    require_number(gamma, name="gamma")
    if gamma < 0:
        raise ValueError(f"gamma: se esperaba un número ≥ 0; llegó {gamma}.")
    _require_fraction(alpha, name="alpha")


def masks(logits: Tensor, masks: Tensor) -> None:
    """Lanza si no son de coma flotante y de la misma forma, (…, pixel)."""
    require_floating(logits, name="logits")
    require_floating(masks, name="masks")
    if logits.shape != masks.shape or not logits.ndim:
        raise ValueError(
            f"masks: se esperaba la forma de logits, {tuple(logits.shape)}, con al menos un eje; "
            f"llegó {tuple(masks.shape)}."
        )


def segments(segments: Any) -> None:
    """Lanza si no son ``Segments``, con clase, caja y máscara de las mismas consultas."""
    _require_segments(segments)


def _require_segments(segments: Any, *, name: str = "segments") -> None:
    if not hasattr(segments, "masks") or not hasattr(segments, "logits"):
        raise TypeError(
            f"{name}: se esperaban Segments, con logits, boxes y masks; llegó "
            f"{type(segments).__name__}."
        )
    for part in ("logits", "boxes", "masks"):
        require_floating(getattr(segments, part), name=f"{name}.{part}")
    logits, boxes, masks = segments
    if logits.ndim != 3 or 0 in logits.shape:
        raise ValueError(
            f"{name}.logits: se esperaba la forma (batch, query, class); llegó "
            f"{tuple(logits.shape)}."
        )
    if tuple(boxes.shape) != (*logits.shape[:2], 4):
        raise ValueError(
            f"{name}.boxes: se esperaba la forma {(*logits.shape[:2], 4)}; llegó "
            f"{tuple(boxes.shape)}."
        )
    if masks.ndim != 4 or masks.shape[:2] != logits.shape[:2]:
        batch, queries = logits.shape[:2]
        raise ValueError(
            f"{name}.masks: se esperaba la forma ({batch}, {queries}, row, column); llegó "
            f"{tuple(masks.shape)}."
        )


def _require_parts(labels: Any, masks: Tensor, found: Any, *, name: str = "masks") -> None:
    require_boolean(masks, name=name)
    wanted = (len(labels), *found.masks.shape[2:])
    if tuple(masks.shape) != wanted:
        raise ValueError(
            f"{name}: se esperaba una máscara por trozo, {wanted}; llegó {tuple(masks.shape)}."
        )


def segment_cost(segments: Any, labels: Tensor, boxes: Tensor, masks: Tensor, config: Any) -> None:
    """Lanza si lo contestado o los trozos no son lo que se dice."""
    _require_config(config)
    _require_segments(segments)
    detr.matching_cost(segments.detections, labels, boxes, config)
    _require_parts(labels, masks, segments)


def assign(segments: Any, targets: Any, config: Any) -> None:
    """Lanza si no hay unos trozos por imagen, o son más que las consultas."""
    _require_config(config)
    _require_segments(segments)
    if not isinstance(targets, Sequence) or isinstance(targets, str):
        raise TypeError(
            f"targets: se esperaba una lista, con los trozos de cada imagen; llegó "
            f"{type(targets).__name__}."
        )
    for i, target in enumerate(targets):
        if not isinstance(target, tuple) or len(target) != 3:
            raise TypeError(
                f"targets[{i}]: se esperaban (clases, cajas, máscaras); llegó "
                f"{type(target).__name__}."
            )
    detr.assign(segments.detections, [target[:2] for target in targets], config)
    for i, (labels, _, masks) in enumerate(targets):
        _require_parts(labels, masks, segments, name=f"targets[{i}]")


def segment_loss(layers: Any, targets: Any, config: Any) -> None:
    """Lanza si ``layers`` no es una lista con lo de alguna capa, todas de la misma forma."""
    if not isinstance(layers, list) or not layers:
        raise TypeError(
            f"layers: se esperaba una lista con los Segments de cada capa; llegó "
            f"{type(layers).__name__}."
        )
    for i, layer in enumerate(layers):
        _require_segments(layer, name=f"layers[{i}]")
        detr.require_alike(layer.logits, layers[0].logits, name=f"layers[{i}].logits")
        detr.require_alike(layer.masks, layers[0].masks, name=f"layers[{i}].masks")
    assign(layers[0], targets, config)


def panoptic(segments: Any, *, rest: int, least: float = 0.8, overlap: float = 0.8) -> None:
    """Lanza si lo contestado no son ``Segments``, o lo demás no es una clase y dos partes."""
    _require_segments(segments)
    require_size(rest, name="rest", least=0)
    _require_fraction(least, name="least")
    _require_fraction(overlap, name="overlap")
