"""La puerta de :mod:`atento.models.pix2seq`: la configuración, los objetos y las palabras."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from atento.amounts import require_kind, require_positive, require_size
from atento.checks import detr
from atento.checks.layers import require_ids
from atento.checks.vit import images as images
from atento.shapes import require_floating, require_integer


def fields(config: Any) -> None:
    """Lanza si un campo de ``Pix2SeqConfig`` no es lo que su nombre dice."""
    detr.grid_fields(config)
    require_size(config.bins, name="bins", least=2)
    for name in ("max_objects", "n_decoder_layers"):
        require_size(getattr(config, name), name=name)
    for name in ("noise", "place_words"):
        require_kind(getattr(config, name), bool, name=name, wanted="True o False")
    require_positive(config.position_std, name="position_std")


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``Pix2SeqConfig``."""
    _require_config(config)


def _require_config(config: Any) -> None:
    if not hasattr(config, "max_objects"):
        raise TypeError(f"config: se esperaba una Pix2SeqConfig; llegó {type(config).__name__}.")


def write(labels: Tensor, boxes: Tensor, config: Any) -> None:
    """Lanza si no son clases y esquinas entre 0 y 1, o son demasiados objetos."""
    _require_config(config)
    detr.require_objects(labels, boxes, config.classes)
    if ((boxes < 0) | (boxes > 1)).any():
        raise ValueError(
            f"boxes: se esperaban fracciones de la imagen, de 0 a 1; llegaron de "
            f"{boxes.min().item():g} a {boxes.max().item():g}."
        )
    if len(labels) > config.max_objects:
        raise ValueError(
            f"labels: se esperaban como mucho max_objects = {config.max_objects} objetos; llegaron "
            f"{len(labels)}."
        )


def read(words: Tensor, config: Any) -> None:
    """Lanza si ``words`` no son números del vocabulario, en un solo eje."""
    _require_config(config)
    require_integer(words, name="words")
    if words.ndim != 1:
        raise ValueError(f"words: se esperaba un solo eje; llegó {tuple(words.shape)}.")
    if ((words < 0) | (words >= config.target_vocab)).any():
        raise ValueError(
            f"words: se esperaban números de 0 a {config.target_vocab - 1}; llegaron de "
            f"{int(words.min())} a {int(words.max())}."
        )


def pack(targets: Any, config: Any, generator: Any = None) -> None:
    """Lanza si no son los objetos de alguna imagen, o falta con qué sortear el ruido."""
    if not isinstance(targets, Sequence) or isinstance(targets, str) or not targets:
        raise TypeError(
            f"targets: se esperaba una lista, con los objetos de cada imagen; llegó {targets!r}."
        )
    for i, target in enumerate(targets):
        if not isinstance(target, tuple) or len(target) != 2:
            raise TypeError(
                f"targets[{i}]: se esperaba una pareja (clases, cajas); llegó "
                f"{type(target).__name__}."
            )
        write(*target, config)
    if generator is None and config.noise:
        raise TypeError("generator: se esperaba un torch.Generator, que con noise hace falta.")
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(
            f"generator: se esperaba un torch.Generator; llegó {type(generator).__name__}."
        )


def sequence_loss(logits: Tensor, labels: Tensor, weights: Tensor) -> None:
    """Lanza si no hay una respuesta y un peso ≥ 0 por palabra."""
    require_floating(logits, name="logits")
    if logits.ndim != 3:
        raise ValueError(
            f"logits: se esperaba la forma (batch, n, vocab); llegó {tuple(logits.shape)}."
        )
    require_integer(labels, name="labels")
    require_floating(weights, name="weights")
    for name, value in (("labels", labels), ("weights", weights)):
        if value.shape != logits.shape[:2]:
            raise ValueError(
                f"{name}: se esperaba uno por palabra, {tuple(logits.shape[:2])}; llegó "
                f"{tuple(value.shape)}."
            )
    if (weights < 0).any():
        raise ValueError(f"weights: se esperaban pesos ≥ 0; llegó {weights.min().item():g}.")


def forward(self: Any, images: Tensor, target: Tensor) -> None:
    """Lanza si no hay una lista por imagen; lo demás lo miran ``encode`` y ``decode``."""
    require_floating(images, name="images")
    require_ids(target, self.config.target_vocab, name="target")
    if len(target) != len(images):
        raise ValueError(
            f"target: el eje «batch» mide {len(target)}, pero hay {len(images)} imágenes."
        )
    if target.shape[1] > self.config.max_len - 1:
        raise ValueError(
            f"target: se esperaban como mucho {self.config.max_len - 1} palabras, con el comienzo; "
            f"llegaron {target.shape[1]}."
        )


def place(place: int) -> None:
    """Lanza si ``place`` no es un entero ≥ 0."""
    require_size(place, name="place", least=0)
