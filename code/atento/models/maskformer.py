"""Piso 6: MaskFormer, que segmenta con las consultas de DETR: cada una da una clase y una máscara.

Lo que dice una consulta se compara con lo que hay en cada píxel, con un producto, y de ahí sale la
máscara. Los rasgos de los píxeles los da un decodificador de píxeles, que sube de las celdas del
codificador a la imagen. Con las mismas respuestas se hace segmentación panóptica
(:func:`panoptic`), que separa los objetos, y semántica (:func:`semantic`), que no.

De cada trozo de la imagen se da la clase, la caja y los píxeles. El fondo es un trozo más, con su
clase.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.boxes import Match, match
from atento.checks import maskformer as checks
from atento.models.detr import (
    Detections,
    Detr,
    DetrConfig,
    conv_block,
    flatten_pairs,
    matched_losses,
    matching_cost,
)
from atento.shapes import typed

# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class MaskFormerConfig(DetrConfig):
    """Todo lo que define un :class:`MaskFormer`: lo de un detector y lo de las máscaras.

    ``mask_width`` es la anchura de los rasgos de cada píxel. La máscara tiene dos pérdidas, que
    pesan lo mismo en el emparejamiento: la focal, ``focal_weight``, con sus ``gamma`` y ``alpha``,
    y la de Dice, ``dice_weight``. Con ``l1_weight`` y ``giou_weight`` a 0 se empareja solo con la
    clase y la máscara, como en 2021. Con ``masked``, cada capa del decodificador mira solo dentro
    de la máscara que dio la anterior, como en Mask2Former.

    Errores: los de :class:`~atento.models.detr.DetrConfig`.
    Fuente: Cheng et al. (2021), §§ 3.3 y 4; ``masked``, Cheng et al. (2022), § 3.2.1.
    """

    mask_width: int = 32
    focal_weight: float = 20.0
    dice_weight: float = 1.0
    gamma: float = 2.0
    alpha: float = 0.25
    masked: bool = False

    def __post_init__(self) -> None:
        checks.fields(self)


# --- Las piezas -----------------------------------------------------------------------------------


class PixelDecoder(nn.Module):
    """El decodificador de píxeles: de las celdas a los rasgos de cada píxel, como en una FPN.

    Sube de nivel en nivel: dobla el lado, suma lo que la convolución vio a esa escala, proyectado,
    y mezcla con una convolución. El último nivel es la imagen.

    Errores: ``TypeError`` si ``config`` no es una :class:`MaskFormerConfig`.
    Fuente: Cheng et al. (2021), § 3.3 y apéndice; Lin, Dollár et al. (2017), figura 3.
    """

    @typed(validate=checks.model)
    def __init__(self, config: MaskFormerConfig) -> None:
        super().__init__()
        c = config
        finer, width = (c.channels, *c.widths[:-1])[::-1], c.mask_width
        self.begin = conv_block(c.d_model, width, stride=1)
        self.laterals = nn.ModuleList(nn.Conv2d(seen, width, kernel_size=1) for seen in finer)
        self.merge = nn.ModuleList(conv_block(width, width, stride=1) for _ in finer)
        self.project = nn.Conv2d(width, width, kernel_size=1)

    def forward(
        self,
        cells: Float[Tensor, "batch d_model row column"],
        scales: Sequence[Float[Tensor, "batch width side side"]],
    ) -> Float[Tensor, "batch mask_width height width"]:
        """Los rasgos de cada píxel; ``scales`` va de la imagen a lo más grueso, sin las celdas."""
        x = self.begin(cells)
        for lateral, merge, seen in zip(self.laterals, self.merge, scales[::-1], strict=True):
            x = F.interpolate(x, size=seen.shape[-2:], mode="nearest")
            x = merge(x + lateral(seen))  # (batch, mask_width, height, width)
        return self.project(x)


class Segments(NamedTuple):
    """Lo que contesta cada consulta: clase, ``logits``, (batch, query, class); caja, ``boxes``,
    (batch, query, 4), y máscara, ``masks``, (batch, query, row, column), antes de la sigmoide.
    """

    logits: Float[Tensor, "batch query class"]
    boxes: Float[Tensor, "batch query 4"]
    masks: Float[Tensor, "batch query row column"]

    @property
    def detections(self) -> Detections:
        """Lo mismo, sin las máscaras."""
        return Detections(self.logits, self.boxes)


# --- El modelo ------------------------------------------------------------------------------------


class MaskFormer(Detr):
    """Quien segmenta: ``forward(images)`` da los :class:`Segments` de la última capa.

    Es un :class:`~atento.models.detr.Detr` con un decodificador de píxeles y una tercera cabeza,
    que hace de cada consulta un vector: su producto con los rasgos de un píxel dice si el píxel es
    suyo.

    Errores: ``TypeError`` si ``config`` no es una :class:`MaskFormerConfig`.
    Fuente: Cheng et al. (2021), § 3.3 y figura 2.
    """

    @typed(validate=checks.model)
    def __init__(self, config: MaskFormerConfig) -> None:
        super().__init__(config)
        d, width = config.d_model, config.mask_width
        self.pixels = PixelDecoder(config)
        hidden = [nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU()]
        self.draw = nn.Sequential(*hidden, nn.Linear(d, width))

    @typed(validate=checks.images)
    def forward(self, images: Float[Tensor, "batch channel height width"]) -> Segments:
        """Lo que contesta cada consulta.

        Errores: los de :meth:`atento.models.detr.Detr.forward`.
        """
        return self.every_layer(images)[-1]

    @typed(validate=checks.images)
    def every_layer(self, images: Float[Tensor, "batch channel height width"]) -> list[Segments]:
        """Lo que contestan las consultas al salir de cada capa del decodificador.

        Errores: los de :meth:`forward`.
        """
        return self._answer(images)[1]

    def loss(
        self, images: Float[Tensor, "batch channel height width"], targets: Sequence[Any]
    ) -> Float[Tensor, ""]:
        """La pérdida con que se entrena: :func:`segment_loss` de todas las capas y, con
        ``cell_weight``, la de las celdas, con su peso.

        Errores: los de :meth:`forward` y :func:`segment_loss`.
        """
        memory, layers = self._answer(images)
        whole = segment_loss(layers, targets, self.config)
        return whole + self.auxiliary_loss(memory, [target[:2] for target in targets])

    def _answer(self, images: Tensor) -> tuple[Tensor, list[Segments]]:
        """Las celdas del codificador, y lo que contesta cada capa."""
        scales = self.backbone.scales(images)
        memory, places = self._relate(self.backbone.cells(scales[-1]))
        where = memory + places  # sin el lugar, dos iguales tendrían la misma máscara
        cells = where.mT.unflatten(-1, (self.config.side, -1))  # (batch, d_model, side, side)
        pixels = self.pixels(cells, scales[:-1])

        def look(seen: Tensor, found: Detections) -> Tensor:
            return _inside(self._draw(seen, found, pixels), self.config.side)

        layers = self._layers(memory, places, look if self.config.masked else None)
        return memory, [Segments(*found, self._draw(seen, found, pixels)) for seen, found in layers]

    def _draw(self, seen: Tensor, found: Detections, pixels: Tensor) -> Tensor:
        """La máscara de cada consulta: el producto de lo que dice con lo que hay en cada píxel.

        Lo que dice lleva dónde está el centro de su caja, que no está en su estado.
        """
        own = self.place(found.boxes[..., :2].detach())  # (batch, query, d_model)
        return torch.einsum("bqw,bwyx->bqyx", self.draw(seen + own), pixels)


def _inside(masks: Tensor, side: int) -> Tensor:
    """A qué celdas puede mirar cada consulta, (batch, 1, query, n): las de dentro de su máscara, o
    todas, si no hay ninguna."""
    small = F.adaptive_avg_pool2d(masks, side).flatten(2)[:, None]  # (batch, 1, query, n)
    inside = small > 0
    return inside | ~inside.any(dim=-1, keepdim=True)


# --- Emparejar y perder ---------------------------------------------------------------------------


@typed(validate=checks.pixel_costs)
def focal_costs(
    logits: Float[Tensor, "*shape"], *, gamma: float = 2.0, alpha: float = 0.25
) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """Lo que cuesta cada puntuación si el píxel es de la máscara, y si no lo es.

    Es la entropía cruzada binaria, por ``alpha`` en los de dentro y ``1 − alpha`` en los de fuera,
    y por lo que se falla elevado a ``gamma``: lo que ya se sabe casi no cuenta. Con ``gamma = 0`` y
    ``alpha = 0.5`` es la mitad de la entropía cruzada.

    Errores: ``TypeError`` o ``ValueError`` si ``logits`` no es de coma flotante, ``gamma`` es
    negativo o ``alpha`` no está en [0, 1].
    Fuente: Lin, Goyal et al. (2017), ec. 4 y ec. 5.
    """
    chance = logits.sigmoid()
    within = alpha * (1 - chance) ** gamma * F.softplus(-logits)
    outside = (1 - alpha) * chance**gamma * F.softplus(logits)
    return within, outside


@typed(validate=checks.masks)
def dice_loss(
    logits: Float[Tensor, "*batch pixel"], masks: Float[Tensor, "*batch pixel"]
) -> Float[Tensor, "*batch"]:
    """Uno menos el parecido de Dice de cada máscara: dos veces lo común entre lo que suman las dos.

    Se suma 1 arriba y abajo, que hace de dos máscaras vacías un acierto. No depende de cuántos
    píxeles de fondo haya.

    Errores: ``TypeError`` o ``ValueError`` si no son de coma flotante y de la misma forma.
    Fuente: Milletari et al. (2016), § 3, con p donde allí p²; Cheng et al. (2021), § 3.3, y el
    código publicado.
    """
    chance = logits.sigmoid()
    shared, total = (chance * masks).sum(dim=-1), chance.sum(dim=-1) + masks.sum(dim=-1)
    return 1 - (2 * shared + 1) / (total + 1)


@typed(validate=checks.segment_cost)
def segment_cost(
    segments: Segments,
    labels: Int[Tensor, " object"],
    boxes: Float[Tensor, "object 4"],
    masks: Bool[Tensor, "object row column"],
    config: MaskFormerConfig,
) -> Float[Tensor, "batch query object"]:
    """Lo que cuesta que cada consulta se quede con cada trozo: el de DETR, más el de la máscara.

    Errores: ``TypeError`` o ``ValueError`` si ``segments`` no son :class:`Segments` o los trozos no
    son clases, (object,), esquinas, (object, 4), y máscaras booleanas, (object, row, column).
    Fuente: Cheng et al. (2021), § 3.3, y el código publicado.
    """
    c = config
    found = segments.masks.flatten(2)  # (batch, query, pixel)
    wanted = masks.flatten(1).to(found.dtype).mT  # (pixel, object)
    within, outside = focal_costs.unchecked(found, gamma=c.gamma, alpha=c.alpha)
    focal = (within @ wanted + outside @ (1 - wanted)) / len(wanted)
    chance = found.sigmoid()
    total = chance.sum(dim=-1, keepdim=True) + wanted.sum(dim=0)  # (batch, query, object)
    dice = 1 - (2 * chance @ wanted + 1) / (total + 1)
    boxed = matching_cost.unchecked(segments.detections, labels, boxes, c)
    return boxed + c.focal_weight * focal + c.dice_weight * dice


@torch.no_grad()
@typed(validate=checks.assign)
def assign_segments(
    segments: Segments, targets: Sequence[Any], config: MaskFormerConfig
) -> list[Match]:
    """Qué consulta se queda con qué trozo en cada imagen: el reparto que menos cuesta.

    ``targets`` tiene, de cada imagen, las clases, (object,), las cajas, (object, 4), en esquinas, y
    las máscaras, (object, row, column), de los píxeles de la imagen.

    Errores: los de :func:`segment_cost`, y ``ValueError`` si no hay una imagen por fila o hay más
    trozos que consultas.
    """
    every = [torch.cat(part) for part in zip(*targets, strict=True)]
    cost = segment_cost.unchecked(segments, *every, config)  # (batch, query, de todas)
    each = cost.cpu().split([len(target[0]) for target in targets], dim=-1)
    return [match.unchecked(rows[i]) for i, rows in enumerate(each)]


class SegmentLosses(NamedTuple):
    """Las partes de la pérdida: clase, distancia y GIoU de las cajas, focal y Dice de las
    máscaras.
    """

    classes: Float[Tensor, ""]
    l1: Float[Tensor, ""]
    giou: Float[Tensor, ""]
    focal: Float[Tensor, ""]
    dice: Float[Tensor, ""]


@typed(validate=checks.assign)
def segment_losses(
    segments: Segments, targets: Sequence[Any], config: MaskFormerConfig
) -> SegmentLosses:
    """Las cinco partes de la pérdida de una capa, sin pesar, con el reparto de
    :func:`assign_segments`.

    Las tres primeras son las de :func:`atento.models.detr.losses`. Las de las máscaras se suman en
    las consultas que tienen trozo y se dividen entre cuántos hay; la focal, además, es la media de
    los píxeles.

    Errores: los de :func:`assign_segments`.
    Fuente: Cheng et al. (2021), ec. 1 y § 4.
    """
    pairs = assign_segments.unchecked(segments, targets, config)
    image, query, _ = flatten_pairs.unchecked(pairs)
    mine = segments.masks[image, query].flatten(1)  # (pair, pixel)
    chosen = [target[2][pair.columns] for target, pair in zip(targets, pairs, strict=True)]
    wanted = torch.cat(chosen).flatten(1).to(mine.dtype)
    within, outside = focal_costs.unchecked(mine, gamma=config.gamma, alpha=config.alpha)
    focal = (within * wanted + outside * (1 - wanted)).mean(dim=-1)
    dice, count = dice_loss.unchecked(mine, wanted), max(len(mine), 1)
    classes, l1, apart = matched_losses.unchecked(segments.detections, targets, pairs, config)
    return SegmentLosses(classes, l1, apart, focal.sum() / count, dice.sum() / count)


@typed(validate=checks.segment_loss)
def segment_loss(
    layers: Sequence[Segments], targets: Sequence[Any], config: MaskFormerConfig
) -> Float[Tensor, ""]:
    """Las cinco partes, pesadas y sumadas, de cada capa del decodificador.

    Errores: los de :func:`assign_segments`, y ``TypeError`` o ``ValueError`` si ``layers`` no es
    una lista con alguna.
    """
    c = config
    weights = (c.class_weight, c.l1_weight, c.giou_weight, c.focal_weight, c.dice_weight)
    parts = [segment_losses.unchecked(segments, targets, config) for segments in layers]
    every = [w * part for row in parts for w, part in zip(weights, row, strict=True)]
    return torch.stack(every).sum()


# --- De las respuestas a los mapas ----------------------------------------------------------------


@typed(validate=checks.segments)
def class_scores(segments: Segments) -> Float[Tensor, "batch class row column"]:
    """Cuánto es de cada clase cada píxel: la suma de probabilidad por máscara de las consultas.

    La clase «sin objeto» no está.

    Errores: ``TypeError`` o ``ValueError`` si ``segments`` no son :class:`Segments`.
    Fuente: Cheng et al. (2021), § 3.4.
    """
    chance = segments.logits.softmax(dim=-1)[..., :-1]  # (batch, query, class)
    return torch.einsum("bqc,bqyx->bcyx", chance, segments.masks.sigmoid())


def semantic(segments: Segments) -> Int[Tensor, "batch row column"]:
    """La clase de cada píxel: la mayor de :func:`class_scores`.

    Errores: los de :func:`class_scores`.
    """
    return class_scores(segments).argmax(dim=1)


class Painted(NamedTuple):
    """Un mapa panóptico: de qué trozo es cada píxel, (row, column), y la clase de cada trozo,
    (part,).
    """

    ids: Int[Tensor, "row column"]
    classes: Int[Tensor, " part"]


@torch.no_grad()
@typed(validate=checks.panoptic)
def panoptic(
    segments: Segments, *, rest: int, least: float = 0.8, overlap: float = 0.8
) -> list[Painted]:
    """De qué trozo es cada píxel de cada imagen.

    Se quitan las consultas sin objeto y las que están menos seguras de su clase que ``least``. Cada
    píxel se lo lleva la consulta con más probabilidad por máscara, si su máscara pasa de 1/2. Se
    quita después la que conserva menos de ``overlap`` de su máscara, porque otras se la tapan.

    El trozo 0 es de la clase ``rest``: se queda con lo que es de ella y con lo que no es de nadie.

    Errores: los de :func:`class_scores`, y si ``rest`` no es un entero ≥ 0 o ``least`` u
    ``overlap`` no están entre 0 y 1.
    Fuente: Cheng et al. (2021), § 3.4, y el código publicado de Cheng et al.
    (2022).
    """
    pairs = zip(segments.logits, segments.masks, strict=True)
    return [_paint(*pair, rest, least, overlap) for pair in pairs]


def _paint(logits: Tensor, masks: Tensor, rest: int, least: float, overlap: float) -> Painted:
    """El mapa de una imagen."""
    score, label = logits.softmax(dim=-1).max(dim=-1)  # (query,)
    kept = (score > least) & (label < logits.shape[-1] - 1)
    score, label, chance = score[kept], label[kept], masks[kept].sigmoid()
    ids, classes = torch.zeros_like(masks[0], dtype=torch.long), [rest]
    if len(label):
        owner = (score[:, None, None] * chance).argmax(dim=0)  # (row, column)
    for k, kind in enumerate(label.tolist()):
        whole = chance[k] >= 0.5
        mine = whole & (owner == k)
        if kind != rest and mine.any() and mine.sum() >= overlap * whole.sum():
            ids[mine] = len(classes)
            classes.append(kind)
    return Painted(ids, torch.tensor(classes, device=label.device))
