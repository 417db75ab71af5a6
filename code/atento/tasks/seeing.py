"""Puntuar a quien ve: detección (AP), segmentación semántica (mIoU) y panóptica (PQ).

Las tres cuentan lo mismo, qué parte de lo que se dice y de lo que hay coincide, y se diferencian en
qué es coincidir. Una detección acierta si es de la clase y su caja comparte con la de verdad al
menos la mitad de lo que ocupan las dos; un trozo panóptico, si comparte **más** de la mitad de los
píxeles, y entonces no puede haber dos que lo hagan.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from atento.boxes import iou
from atento.checks import seeing as checks
from atento.shapes import typed


class Found(NamedTuple):
    """Lo que se ha encontrado en una imagen: clase, nota y caja de cada hallazgo.

    ``labels`` y ``scores``, (found,); ``boxes``, (found, 4), esquinas. La nota solo ordena.
    """

    labels: Int[Tensor, " found"]
    scores: Float[Tensor, " found"]
    boxes: Float[Tensor, "found 4"]


# --- Detección ------------------------------------------------------------------------------------


@typed(validate=checks.hits)
def hits(
    found: Float[Tensor, "found 4"], truth: Float[Tensor, "object 4"], threshold: float = 0.5
) -> Bool[Tensor, " found"]:
    """Cuáles aciertan de los hallazgos de una clase en una imagen, ya de mayor a menor nota.

    Por orden, cada uno se queda con el objeto libre con que más IoU tiene, si llega a
    ``threshold``. Un segundo hallazgo del mismo objeto es un error.

    Errores: ``TypeError`` o ``ValueError`` si ``found`` o ``truth`` no son esquinas, (found, 4) y
    (object, 4), o ``threshold`` no está entre 0 y 1.
    Fuente: Everingham et al. (2010), § 4.2; Lin et al. (2014), código publicado.
    """
    overlap = iou(found, truth)  # (found, object)
    right = torch.zeros(len(found), dtype=torch.bool)
    for i in range(len(found) if len(truth) else 0):
        best = int(overlap[i].argmax())
        if overlap[i, best] >= threshold:
            right[i] = True
            overlap[:, best] = -1.0  # ya tiene quien lo encuentre
    return right


@typed(validate=checks.precision_area)
def precision_area(right: Bool[Tensor, " found"], total: int) -> float:
    """El área bajo la curva de precisión y exhaustividad de una lista ordenada de aciertos.

    Tras los ``k`` primeros, la precisión es la parte de ellos que acierta, y la exhaustividad, la
    parte de los ``total`` objetos que ya se han encontrado. De cada exhaustividad se toma la mejor
    precisión que se tiene con esa o con más.

    Errores: ``TypeError`` o ``ValueError`` si ``right`` no es booleano, (found,), o ``total`` no es
    un entero positivo, ni menor que los aciertos.
    Fuente: Everingham et al. (2010), § 4.2, con todos los puntos, como se cuenta desde 2010.
    """
    good = right.double().cumsum(dim=0)
    precision = good / torch.arange(1, len(right) + 1)
    best = precision.flip(0).cummax(dim=0).values.flip(0) if len(right) else precision
    return float(best[right].sum()) / total


@typed(validate=checks.detection)
def average_precision(
    found: Sequence[Found], truth: Sequence[Any], *, threshold: float = 0.5
) -> dict[str, Any]:
    """La precisión media de lo encontrado en unas imágenes: con ``threshold`` = 0.5, AP50.

    ``truth`` tiene, de cada imagen, ``labels`` y ``boxes``, como
    :class:`~atento.tasks.scenes.Objects`. De cada clase que haya se juntan los hallazgos de todas
    las imágenes, de mayor a menor nota, y se mide :func:`precision_area`: ``by_class``. ``ap`` es
    la media; ``iou``, la del IoU de los que aciertan con su objeto, y ``recall``, qué parte de los
    objetos se encuentra sin mirar la nota.

    Errores: ``TypeError`` o ``ValueError`` si ``found`` y ``truth`` no son listas iguales de largas
    de lo dicho, no hay ningún objeto o ``threshold`` no está entre 0 y 1.
    Fuente: Everingham et al. (2010), § 4.2; Lin et al. (2014).
    """
    classes = torch.cat([objects.labels for objects in truth]).unique().tolist()
    marks = [_of_class(found, truth, label, threshold) for label in classes]
    areas = {k: precision_area(m.right, m.total) for k, m in zip(classes, marks, strict=True)}
    overlaps = torch.cat([m.overlap[m.right] for m in marks])
    total = sum(m.total for m in marks)
    mean_iou_found = overlaps.mean().item() if len(overlaps) else 0.0
    return {
        "ap": sum(areas.values()) / len(areas),
        "by_class": areas,
        "iou": mean_iou_found,
        "recall": len(overlaps) / total,
    }


class _Marks(NamedTuple):
    """Los hallazgos de una clase, de mayor a menor nota, y cuántos objetos había."""

    right: Tensor
    overlap: Tensor
    total: int


def _of_class(found: Sequence[Any], truth: Sequence[Any], label: int, threshold: float) -> _Marks:
    scores, right, overlap, total = [], [], [], 0
    for said, there in zip(found, truth, strict=True):
        mine, theirs = said.labels == label, there.labels == label
        order = said.scores[mine].argsort(descending=True, stable=True)
        boxes, objects = said.boxes[mine][order], there.boxes[theirs]
        scores.append(said.scores[mine][order])
        right.append(hits(boxes, objects, threshold))
        overlap.append(_best(boxes, objects))
        total += len(objects)
    order = torch.cat(scores).argsort(descending=True, stable=True)
    return _Marks(torch.cat(right)[order], torch.cat(overlap)[order], total)


def _best(boxes: Tensor, objects: Tensor) -> Tensor:
    """El IoU de cada hallazgo con el objeto que más se le parece."""
    return iou(boxes, objects).amax(dim=1) if len(objects) else torch.zeros(len(boxes))


# --- Segmentación semántica -----------------------------------------------------------------------


@typed(validate=checks.maps)
def mean_iou(
    found: Int[Tensor, "*batch row column"], truth: Int[Tensor, "*batch row column"]
) -> dict[str, Any]:
    """El IoU de cada clase, píxel a píxel en todas las imágenes a la vez, y su media.

    ``by_class`` es, de cada clase que esté en lo dicho o en lo que hay, cuántos píxeles son de ella
    en los dos entre cuántos lo son en alguno; ``miou``, la media, y ``accuracy``, qué parte de los
    píxeles se acierta.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros ≥ 0 de la misma forma,
    (…, row, column).
    Fuente: Everingham et al. (2010), la medida de segmentación.
    """
    classes = torch.cat([found.flatten(), truth.flatten()]).unique().tolist()
    by_class = {}
    for label in classes:
        mine, theirs = found == label, truth == label
        by_class[label] = ((mine & theirs).sum() / (mine | theirs).sum()).item()
    accuracy = (found == truth).float().mean().item()
    return {
        "miou": sum(by_class.values()) / len(by_class),
        "by_class": by_class,
        "accuracy": accuracy,
    }


# --- Segmentación panóptica -----------------------------------------------------------------------


@typed(validate=checks.panoptic)
def panoptic_quality(found: Sequence[Any], truth: Sequence[Any]) -> dict[str, Any]:
    """La calidad panóptica, PQ = SQ · RQ, de unos mapas.

    Cada mapa es un :class:`~atento.tasks.scenes.Panoptic`, o una pareja igual: ``ids``, de qué
    trozo es cada píxel, y ``classes``, la clase de cada trozo; un trozo sin píxeles no cuenta.
    Un trozo de los dichos y uno de los que hay casan si son de la misma clase y su IoU pasa de 0.5.
    De cada clase, en todas las imágenes a la vez, SQ es el IoU medio de los que casan, y RQ, los
    que casan entre ellos más la mitad de los que quedan sueltos a un lado o a otro. ``by_class`` da
    las tres, y ``pq``, ``sq`` y ``rq`` son las medias de las clases que aparecen.

    Errores: ``TypeError`` o ``ValueError`` si no son listas iguales de largas de mapas de la misma
    forma, o no hay ninguno.
    Fuente: Kirillov et al. (2019), ec. 2.
    """
    sums: dict[int, list[float]] = {}  # de cada clase: IoU sumado, casan, sobran, faltan
    for said, there in zip(found, truth, strict=True):
        _add_matches(sums, _parts(said), _parts(there))
    by_class = {label: _quality(*sums[label]) for label in sorted(sums)}
    means = {
        name: sum(row[name] for row in by_class.values()) / len(by_class)
        for name in ("pq", "sq", "rq")
    }
    return {**means, "by_class": by_class}


def _parts(panoptic: Any) -> list[tuple[int, Tensor]]:
    """La clase y los píxeles de cada trozo que tiene alguno."""
    ids, classes = panoptic
    return [(int(classes[i]), ids == i) for i in ids.unique().tolist()]


def _add_matches(
    sums: dict[int, list[float]],
    said: list[tuple[int, Tensor]],
    there: list[tuple[int, Tensor]],
) -> None:
    """Suma lo de una imagen. Con más de la mitad en común, nadie casa con dos."""
    for label, _ in said:
        sums.setdefault(label, [0.0, 0, 0, 0])[2] += 1
    for label, mask in there:
        row = sums.setdefault(label, [0.0, 0, 0, 0])
        row[3] += 1
        for other, mine in said:
            shared = int((mine & mask).sum()) / int((mine | mask).sum())
            if other == label and shared > 0.5:
                row[0], row[1], row[2], row[3] = row[0] + shared, row[1] + 1, row[2] - 1, row[3] - 1


def _quality(overlap: float, matched: float, spare: float, missed: float) -> dict[str, float]:
    sq = overlap / matched if matched else 0.0
    rq = matched / (matched + (spare + missed) / 2)
    return {"pq": sq * rq, "sq": sq, "rq": rq}
