"""Capítulo 20: DETR, Pix2Seq, SETR y MaskFormer en las mismas escenas, con sus controles.

Cada semilla cambia las escenas, los pesos y los lotes; el examen es el mismo para todos. Cada
ejecución se guarda en ``.cache/semillas-20`` con su receta: si la orden se corta, sigue donde iba,
y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from recuerdo import Memory
from scipy import ndimage
from torch import Tensor, nn
from torch.nn import functional as F

from atento import rng
from atento.boxes import Match, iou
from atento.models import detr, maskformer
from atento.models.detr import Detr, DetrConfig
from atento.models.maskformer import MaskFormer, MaskFormerConfig
from atento.models.pix2seq import Pix2Seq, Pix2SeqConfig
from atento.models.setr import Setr, SetrConfig
from atento.tasks import scenes
from atento.tasks.scenes import BACKGROUND, SIDE, Scene
from atento.tasks.seeing import Found, average_precision, mean_iou, panoptic_quality
from atento.trained import rounded
from atento.training import evaluate, evaluating, fit, parameter_groups, warmup_cosine
from atento.watching import watching

READ: dict[str, Any] = {
    "norm": "pre",
    "position_scale": 20.0,
    "temperature": 20.0,
    "position_gain": 2.5,
    "n_convs": 2,
    "n_encoder_layers": 1,
    "n_decoder_layers": 2,
    "no_object_weight": 0.4,
    "cell_weight": 3.0,
}
"""Cómo leen la imagen los tres que lo hacen por celdas."""

TRAIN: dict[str, Any] = {
    "scenes": 8000,
    "steps": 900,
    "batch": 16,
    "rate": 3e-3,
    "warmup": 50,
    "weight_decay": 0.1,
    "every": 100,
    "cells_first": 0,  # los primeros pasos, solo con la pérdida de las celdas
    "boxes_first": 0,  # y los siguientes, solo con la de las clases y las cajas
    "order": None,  # en el que se escriben los objetos
}
QUERIES: dict[str, Any] = {"queries": 12, "reference_points": True, "refine": True}
RECIPES_20: dict[str, dict[str, Any]] = {
    "detr": {
        "train": TRAIN | {"steps": 1000, "cells_first": 250},
        "model": READ | QUERIES | {"class_weight": 2.0},
    },
    "pix2seq": {
        "train": TRAIN | {"cells_first": 250, "order": "reading"},
        "model": READ | {"position_std": 0.5},
    },
    "setr": {
        "train": TRAIN | {"steps": 2000, "weight_decay": 0.05, "every": 250},
        "model": {
            "patch_size": 4,
            "n_layers": 3,
            "position_std": 0.5,
            "decoder_width": 32,
            "decoder": "pup",
        },
    },
    "mask": {
        "train": TRAIN | {"cells_first": 200, "boxes_first": 200},
        "model": READ | QUERIES | {"mask_width": 32, "dice_weight": 5.0, "class_weight": 2.0},
    },
}
DEVIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "detr_no_cells": ("detr", {"cell_weight": 0.0}),
    "detr_no_boxes": ("detr", {"cell_weight": 0.0}),  # y de la pérdida, solo la clase
    "detr_listed": ("detr", {}),  # cada objeto, con la consulta de su lugar en la lista
    "detr_sorted": ("detr", {}),  # lo mismo, con la lista de izquierda a derecha
    "detr_at_once": ("detr", {"cells_first": 0}),  # con la cabeza, y todo desde el primer paso
    "pix2seq_no_cells": ("pix2seq", {"cell_weight": 0.0}),
    "pix2seq_turned": ("pix2seq", {}),  # las coordenadas, giradas todas a la vez
    "pix2seq_plain": ("pix2seq", {"place_words": False}),
    "pix2seq_shuffled": ("pix2seq", {"order": "random"}),
    "setr_alone": ("setr", {}),  # cada parche solo se mira a sí mismo
    "setr_naive": ("setr", {"decoder": "naive"}),
    "setr_naive_alone": ("setr", {"decoder": "naive"}),
    "mask_only": ("mask", {"l1_weight": 0.0, "giou_weight": 0.0, "boxes_first": 0}),
}
EXAM, HELD = 500, 100  # las escenas del examen, y las que se miran mientras aprende
LEASTS = (0.3, 0.5, 0.8)  # lo segura que ha de estar una consulta para que cuente su máscara
MEMORY_20 = Memory(20)
COUNTS: dict[str, int] = (
    dict.fromkeys(("detr", "pix2seq"), 8)
    | dict.fromkeys(("detr_no_cells", "detr_listed", "pix2seq_plain", "mask", "mask_only"), 5)
    | dict.fromkeys(("detr_no_boxes", "detr_sorted", "pix2seq_shuffled"), 3)
    | dict.fromkeys(("setr", "setr_alone", "setr_naive", "setr_naive_alone"), 3)
    | dict.fromkeys(("detr_at_once", "pix2seq_no_cells", "pix2seq_turned"), 3)
)
"""Cuántas semillas hay de cada cosa."""
LATER = ("detr_at_once", "pix2seq_no_cells", "pix2seq_turned")  # los que se guardan aparte


# --- Las escenas ----------------------------------------------------------------------------------


@cache
def exam(split: str = "test") -> list[Scene]:
    n, seed = {"test": (EXAM, 10_000), "validation": (HELD, 20_000)}[split]
    return scenes.generate(n, seed, split=split)


def main_scene() -> Scene:
    """La que recorre el capítulo: un 3, un 7 y otro 3."""
    return scenes.generate(1, 18, split="test", counts=3)[0]


def images_of(some: Sequence[Scene]) -> Tensor:
    return scenes.batch(some).images


def without_class(items: Sequence[Any]) -> list[Any]:
    """Lo mismo, como si todo fuera de una clase."""
    return [x._replace(labels=torch.zeros_like(x.labels)) for x in items]


def box_marks(found: Sequence[Any], some: Sequence[Scene]) -> dict[str, float]:
    """AP50 y lo demás, con la clase y sin mirarla, y cuántas veces se acierta el número."""
    truth = [scene.objects for scene in some]
    marks = average_precision(found, truth)
    counted = [
        int((x.scores > 0.5).sum()) == len(y.labels) for x, y in zip(found, truth, strict=True)
    ]
    return {
        "ap": marks["ap"],
        "iou": marks["iou"],
        "recall": marks["recall"],
        "ap75": average_precision(found, truth, threshold=0.75)["ap"],
        "any_class": average_precision(without_class(found), without_class(truth))["ap"],
        "counted": sum(counted) / len(counted),
    }


# --- Los modelos y cómo se examinan ---------------------------------------------------------------


def family(name: str) -> str:
    return name if name in RECIPES_20 else DEVIATIONS[name][0]


def recipe_of(name: str) -> dict[str, Any]:
    """La receta de una ejecución, o la de su familia con lo que cambia."""
    base = RECIPES_20[family(name)]
    changes = DEVIATIONS.get(name, ("", {}))[1]
    train = base["train"] | {k: v for k, v in changes.items() if k in base["train"]}
    model = base["model"] | {k: v for k, v in changes.items() if k not in train}
    if "cell_weight" in changes:  # sin celdas no hay con qué empezar
        train["cells_first"] = 0
    return {"train": train, "model": model}


@torch.no_grad()
def turn_words(model: Pix2Seq) -> None:
    """Gira las palabras de las coordenadas: se parecen igual entre sí, y ya no a las celdas."""
    rows = model.embed_target.tokens.weight[model.config.first_bin : model.config.first_class]
    turn, _ = torch.linalg.qr(torch.randn(rows.shape[1], rows.shape[1]))
    rows.copy_(rows @ turn)


def build(name: str) -> Any:
    """Un modelo sin entrenar."""
    if name == "pix2seq_turned":
        model = build("pix2seq")
        turn_words(model)
        return model
    sizes, kind = recipe_of(name)["model"], family(name)
    if kind == "setr":
        return Setr(SetrConfig(SIDE, classes=BACKGROUND + 1, **sizes))
    if kind == "mask":
        return MaskFormer(MaskFormerConfig(SIDE, classes=BACKGROUND + 1, **sizes))
    made: Any = (Detr, DetrConfig) if kind == "detr" else (Pix2Seq, Pix2SeqConfig)
    return made[0](made[1](SIDE, **sizes))


def seen_by(name: str, model: Any) -> Tensor | None:
    """A quién puede mirar cada parche de un SETR; ``None``, a todos."""
    n = model.config.n_patches if name.endswith("_alone") else 0
    return torch.eye(n, dtype=torch.bool) if n else None


def standard(images: Tensor) -> Tensor:
    """La tinta, normalizada con la media y la desviación de las escenas de entrenamiento."""
    mean, std = ink()
    return (images - mean) / std


@cache
def ink() -> tuple[float, float]:
    images = images_of(scenes.generate(1000, 0))
    return images.mean().item(), images.std().item()


def listed_loss(model: Detr, images: Tensor, targets: Sequence[Any], ordered: bool) -> Tensor:
    """La pérdida de DETR, con cada objeto para la consulta de su lugar en la lista."""
    if ordered:
        order = [t.boxes[:, [0, 2]].mean(1).argsort() for t in targets]
        targets = [
            scenes.Objects(t.labels[i], t.boxes[i]) for t, i in zip(targets, order, strict=True)
        ]
    pairs = [Match(*2 * (torch.arange(len(t.labels)),)) for t in targets]
    memory, places = model.encode(images)
    c, whole = model.config, model.auxiliary_loss(memory, targets)
    for found in model._decode(memory, places):
        parts = detr.matched_losses(found, targets, pairs, c)
        weights = (c.class_weight, c.l1_weight, c.giou_weight)
        whole = whole + sum(w * part for w, part in zip(weights, parts, strict=True))
    return whole


def in_reading_order(target: Any) -> Any:
    """Los objetos, de arriba abajo y, a la misma altura, de izquierda a derecha."""
    order = (1000 * target.boxes[:, 1] + target.boxes[:, 0]).argsort()
    return target._replace(labels=target.labels[order], boxes=target.boxes[order])


def loss_of(name: str, model: Any, source: torch.Generator) -> Callable:
    """La pérdida de un lote de escenas."""
    kind, mask, step = family(name), seen_by(name, model), 0
    train = recipe_of(name)["train"]
    first, then = train["cells_first"], train["cells_first"] + train["boxes_first"]

    def loss(net: Any, lot: list[Scene]) -> Tensor:
        nonlocal step
        step += 1
        images, targets = scenes.batch(lot)
        parts = [scene.parts for scene in lot]
        if kind == "mask":
            targets = [x[:2] for x in parts]
        if step <= first:
            reader = net.image if kind == "pix2seq" else net
            return reader.auxiliary_loss(reader.encode(images)[0], targets)
        if kind == "setr":
            maps = torch.stack([scene.semantic for scene in lot])
            return net.loss(standard(images), maps, mask)
        if kind == "mask":
            return Detr.loss(net, images, targets) if step <= then else net.loss(images, parts)
        if name == "detr_no_boxes":
            layers = net.every_layer(images)
            return torch.stack([detr.losses(x, targets, net.config).classes for x in layers]).sum()
        if name in ("detr_listed", "detr_sorted"):
            return listed_loss(net, images, targets, name == "detr_sorted")
        if kind == "pix2seq":
            if train["order"] == "random":
                return net.loss(images, targets, source)
            return net.loss(images, [in_reading_order(t) for t in targets])
        return net.loss(images, targets)

    return loss


@torch.no_grad()
def marks_of(name: str, model: Any, some: Sequence[Scene]) -> dict[str, float]:
    """Lo que acierta un modelo en unas escenas."""
    kind, lots = family(name), images_of(some).split(100)
    with evaluating(model):
        if kind in ("detr", "pix2seq"):
            return box_marks([x for lot in lots for x in model.find(lot)], some)
        truth = torch.stack([scene.semantic for scene in some])
        if kind == "setr":
            mask = seen_by(name, model)
            maps = torch.cat([model(standard(lot), mask).argmax(1) for lot in lots])
            return {k: v for k, v in mean_iou(maps, truth).items() if k != "by_class"}
        outputs = [model(lot) for lot in lots]
    semantic = mean_iou(torch.cat([maskformer.semantic(x) for x in outputs]), truth)
    return {"miou": semantic["miou"]} | panoptic_marks(outputs, some)


def panoptic_marks(outputs: Sequence[Any], some: Sequence[Scene]) -> dict[str, float]:
    """La calidad panóptica con cada nota mínima: ``pq_0.3``, ``sq_0.3``…"""
    told = {}
    for least in LEASTS:
        maps = [x for y in outputs for x in maskformer.panoptic(y, rest=BACKGROUND, least=least)]
        marks = panoptic_quality(maps, [scene.panoptic for scene in some])
        digits = [row["pq"] for label, row in marks["by_class"].items() if label != BACKGROUND]
        told |= {f"{k}_{least}": marks[k] for k in ("pq", "sq", "rq")}
        told[f"pq_digits_{least}"] = sum(digits) / len(digits)
    return told


@torch.no_grad()
def probe(model: Detr) -> float:
    """Cuánto se sabe de la clase en la celda del centro de cada objeto, al salir de la convolución.

    Lo lee una regresión de mínimos cuadrados, ajustada en unas escenas y examinada en otras.
    """
    rows = []
    for some in (scenes.generate(300, 1), exam("validation")):
        cells, side = model.backbone(images_of(some)), model.config.side
        whole = [(i, *box, k) for i, s in enumerate(some) for *box, k in _middles(s, side)]
        i, row, column, labels = torch.tensor(whole).T
        x = cells[i, :, row, column].double()
        rows.append((torch.cat([x, torch.ones(len(x), 1)], dim=1), labels))
    (x, y), (new, truth) = rows
    ridge = x.T @ x + 0.1 * torch.eye(x.shape[1])
    weights = torch.linalg.solve(ridge, x.T @ F.one_hot(y, BACKGROUND).double())
    return ((new @ weights).argmax(1) == truth).float().mean().item()


def _middles(scene: Scene, side: int) -> list[list[int]]:
    """La fila y la columna de la celda del centro de cada objeto, y su clase."""
    x, y = ((scene.boxes[:, :2] + scene.boxes[:, 2:]) / 2 * side).long().T
    return torch.stack([y, x, scene.labels], dim=1).tolist()


def learn(name: str, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """Entrena y examina."""
    r = recipe_of(name)["train"]
    rng.seed_all(seed)
    model, source = build(name), rng.generator(seed)
    known = scenes.generate(r["scenes"], 100 + seed)
    groups = parameter_groups(model, weight_decay=r["weight_decay"])
    optimizer = torch.optim.AdamW(groups, lr=r["rate"], fused=True)
    looking = 0.0

    def lots(step: int) -> list[Scene]:
        chosen = torch.randint(len(known), (r["batch"],), generator=source)
        return [known[i] for i in chosen]

    def look(net: nn.Module) -> dict[str, float]:
        nonlocal looking
        clock = time.process_time()
        found = marks_of(name, net, exam("validation"))
        found |= {"probe": probe(net)} if family(name) == "detr" else {}
        looking += time.process_time() - clock
        return found

    clock = time.process_time()
    history = fit(
        model,
        lots,
        loss_of(name, model, source),
        steps=r["steps"],
        optimizer=optimizer,
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        callbacks=[evaluate(look, every=r["every"])],
        progress=False,
    )
    seconds = time.process_time() - clock - looking
    curves = {k: [round(x, 4) for _, x in values] for k, values in history.metrics.items()}
    size = sum(p.numel() for p in model.parameters())
    run = {"seed": seed, "seconds": round(seconds, 1), "parameters": size, "curves": curves}
    return model, run | {k: round(x, 4) for k, x in marks_of(name, model, exam()).items()}


# --- Lo que se mira en los ya entrenados ----------------------------------------------------------


def trained_one(name: str, seed: int) -> Any:
    return MEMORY_20.fill(build(name), f"{name}-{seed}").eval()


@torch.no_grad()
def errors(name: str, seed: int) -> dict[str, Any]:
    """De cada objeto, qué dice el hallazgo seguro que más se le parece: acierta, clase o caja."""
    model, counts = trained_one(name, seed), dict.fromkeys(("right", "class", "missed"), 0)
    confused = torch.zeros(BACKGROUND, BACKGROUND, dtype=torch.long)
    found = [x for lot in images_of(exam()).split(100) for x in model.find(lot)]
    spare = 0
    for said, scene in zip(found, exam(), strict=True):
        sure = said.scores > 0.5
        overlap = iou(said.boxes[sure], scene.boxes)
        labels = said.labels[sure]
        spare += max(0, len(labels) - len(scene.labels))
        for i, label in enumerate(scene.labels.tolist()):
            near = overlap[:, i]
            if not len(near) or near.max() < 0.5:
                counts["missed"] += 1
                continue
            says = int(labels[near.argmax()])
            counts["right" if says == label else "class"] += 1
            confused[label, says] += 1
    total = sum(counts.values())
    confused.fill_diagonal_(0)
    pair = divmod(int(confused.argmax()), BACKGROUND)
    share = {k: round(v / total, 4) for k, v in counts.items()}
    return {"seed": seed, **share, "spare": round(spare / total, 4), "pair": list(pair)}


@torch.no_grad()
def attended(model: Detr, images: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Qué parte del peso de cada capa cae en la caja de cada consulta, y cuánto mide la caja.

    Salen esas partes, ``(layer, batch, query)``, lo que mide, ``(batch, query)``, la mayor
    probabilidad de una clase, igual, y las cajas.
    """
    with watching(model) as maps:
        logits, boxes = model(images)
    side = model.config.side
    cells = (torch.arange(side) + 0.5) / side
    low, high = (boxes[..., :2] - boxes[..., 2:] / 2), (boxes[..., :2] + boxes[..., 2:] / 2)
    across = (low[..., :1] <= cells) & (cells < high[..., :1])  # (batch, query, column)
    down = (low[..., 1:] <= cells) & (cells < high[..., 1:])
    inside = (down[..., :, None] & across[..., None, :]).flatten(2)  # (batch, query, n)
    share = [
        (maps[f"decoder.{k}.cross_attention"].mean(1) * inside).sum(-1)
        for k in range(model.config.n_decoder_layers)
    ]
    sure = logits.softmax(-1)[..., :-1].amax(-1)
    return torch.stack(share), inside.float().mean(-1), sure, boxes


@torch.no_grad()
def looks(name: str, seed: int) -> dict[str, Any]:
    """Adónde mira cada consulta que contesta, y a qué distancia está de su punto de partida.

    También, a qué distancia está lo que dice del punto de otra cualquiera.
    """
    model = trained_one(name, seed)
    share, size, chance, boxes = attended(model, images_of(exam()))
    sure = chance > 0.5
    starts = model.starts.sigmoid()[:, :2]
    apart = (boxes[..., None, :2] - starts).norm(dim=-1)  # (batch, query, de quién)
    own = apart.diagonal(dim1=1, dim2=2)[sure].mean().item()
    other = apart[sure].mean().item()
    busy = sure.float().mean(0)
    return {
        "seed": seed,
        "inside": [round(x, 4) for x in share[:, sure].mean(1).tolist()],
        "chance": round(size[sure].mean().item(), 4),
        "own": round(own, 4),
        "any": round(other, 4),
        "busy": [round(x, 4) for x in busy.tolist()],
    }


@torch.no_grad()
def thresholds(name: str, seed: int) -> dict[str, float]:
    """La precisión media, con varios umbrales de IoU."""
    model = trained_one(name, seed)
    found = [x for lot in images_of(exam()).split(100) for x in model.find(lot)]
    truth = [scene.objects for scene in exam()]
    levels = [round(0.5 + 0.05 * k, 2) for k in range(10)]
    return {str(t): average_precision(found, truth, threshold=t)["ap"] for t in levels}


# --- Las líneas de base ---------------------------------------------------------------------------


def crop(image: Tensor, box: Tensor) -> Tensor:
    """El trozo de una caja, llevado a 8 × 8, (64,)."""
    x0, y0, x1, y1 = (box * SIDE).round().long().tolist()
    piece = image[None, None, y0:y1, x0:x1]
    return F.interpolate(piece, size=(8, 8), mode="bilinear", align_corners=False).flatten()


def blob_names(seed: int) -> Any:
    """La regresión logística que dice qué dígito hay en una mancha."""
    from sklearn.linear_model import LogisticRegression

    known = scenes.generate(600, 100 + seed)
    pairs = [
        (crop(s.image, box), k)
        for s in known
        for box, k in zip(s.boxes, s.labels.tolist(), strict=True)
    ]
    return LogisticRegression(max_iter=300).fit(
        torch.stack([x for x, _ in pairs]), [k for _, k in pairs]
    )


def blobs_in(scene: Scene, flat: Any) -> tuple[Found, Tensor]:
    """Las manchas de tinta de una escena, con su clase, y de cuál es cada píxel, desde 1."""
    spots, _ = ndimage.label((scene.image >= scenes.VISIBLE).numpy(), np.ones((3, 3)))
    corners = [(x.start, y.start, x.stop, y.stop) for y, x in ndimage.find_objects(spots)]
    boxes = torch.tensor(corners).float() / SIDE
    chance = flat.predict_proba(torch.stack([crop(scene.image, box) for box in boxes]))
    scores, labels = torch.tensor(chance).max(-1)
    return Found(labels, scores.float(), boxes), torch.from_numpy(spots).long()


def by_blobs(name: str, seed: int) -> dict[str, float]:
    """Cada mancha de tinta es un objeto, y una regresión logística dice cuál."""
    flat = blob_names(seed)
    found = [blobs_in(scene, flat)[0] for scene in exam()]
    return {"seed": seed} | {k: round(x, 4) for k, x in box_marks(found, exam()).items()}


def painted_blobs() -> dict[str, Any]:
    """Lo que valen las manchas como máscaras: la tinta, de la suya, y lo demás, fondo."""
    runs = []
    for seed in range(COUNTS["mask"]):
        flat, maps, classes = blob_names(seed), [], []
        for scene in exam():
            found, spots = blobs_in(scene, flat)
            kinds = torch.cat([torch.tensor([BACKGROUND]), found.labels])
            maps.append((spots, kinds))
            classes.append(kinds[spots])
        marks = panoptic_quality(maps, [scene.panoptic for scene in exam()])
        truth = torch.stack([scene.semantic for scene in exam()])
        whole = {k: marks[k] for k in ("pq", "sq", "rq")}
        whole |= {"miou": mean_iou(torch.stack(classes), truth)["miou"]}
        runs.append({"seed": seed} | {k: round(x, 4) for k, x in whole.items()})
    return {"runs": runs}


# --- Muestras que la página enseña ----------------------------------------------------------------


@torch.no_grad()
def samples(seed: int = 0) -> dict[str, Any]:
    """Lo que dicen de la escena del capítulo los que no viajan entrenados."""
    scene, told = main_scene(), {}
    image = images_of([scene])
    for name in ("setr", "setr_alone", "setr_naive", "setr_naive_alone"):
        model = trained_one(name, seed)
        maps = model(standard(image), seen_by(name, model)).argmax(1)[0]
        told[name] = ["".join("0123456789."[k] for k in row) for row in maps.tolist()]
    model = trained_one("pix2seq", seed)
    words = model.generate(image)  # (1, word)
    begin = torch.full_like(words[:, :1], model.config.bos_id)
    logits = model(image, torch.cat([begin, words[:, :-1]], dim=1))
    chance = logits.softmax(-1).gather(-1, words[..., None])[0, :, 0]
    told["words"], told["chance"] = words[0].tolist(), [round(x, 3) for x in chance.tolist()]
    return told


# --- Guardar lo hecho -----------------------------------------------------------------------------


def once(name: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior; los pesos quedan al lado."""
    made = {"recipe": recipe_of(name), "kind": name}
    return MEMORY_20.once(f"{name}-{seed}", made, partial(learn, name, seed))


def seen_once(what: str, name: str, seed: int) -> dict[str, Any]:
    """Lo que se mira en uno ya entrenado, o la línea de base de su semilla."""
    made = {"recipe": recipe_of(name), "kind": name, "what": what}
    work = LOOKED[what]
    return MEMORY_20.once(f"{what}-{name}-{seed}", made, partial(work, name, seed))


LOOKED: dict[str, Callable[[str, int], Any]] = {
    "blobs": by_blobs,
    "errors": errors,
    "looks": looks,
    "thresholds": thresholds,
}


def later() -> dict[str, Any]:
    """Los controles que se añadieron después."""
    return {"runs": {name: [once(name, seed) for seed in range(COUNTS[name])] for name in LATER}}


def masks() -> dict[str, Any]:
    """MaskFormer y su control, sin cajas."""
    kinds = [name for name in COUNTS if family(name) == "mask"]
    return {
        "recipe": RECIPES_20["mask"],
        "runs": {name: [once(name, seed) for seed in range(COUNTS[name])] for name in kinds},
    }


def untrained() -> dict[str, Any]:
    """Sin entrenar: lo que acierta la sonda y qué parte del peso cae en las cajas de todas."""
    found, inside, size = [], [], []
    for seed in range(COUNTS["detr"]):
        rng.seed_all(seed)
        model = build("detr").eval()
        found.append(round(probe(model), 4))
        share, measured, *_ = attended(model, images_of(exam("validation")))
        inside.append([round(x, 4) for x in share.flatten(1).mean(1).tolist()])
        size.append(round(measured.mean().item(), 4))
    return {"probe": found, "inside": inside, "chance": size}


def chapter() -> dict[str, Any]:
    """Todos los entrenamientos, sus controles y lo que se mira en ellos."""
    kinds = [name for name in COUNTS if family(name) != "mask" and name not in LATER]
    runs = {name: [once(name, seed) for seed in range(COUNTS[name])] for name in kinds}
    seeds = range(COUNTS["detr"])
    nothing = torch.full((EXAM, SIDE, SIDE), BACKGROUND)
    truth = torch.stack([scene.semantic for scene in exam()])
    return {
        "recipes": {name: recipe for name, recipe in RECIPES_20.items() if name != "mask"},
        "exam": EXAM,
        "runs": runs,
        "blobs": [seen_once("blobs", "detr", seed) for seed in seeds],
        "errors": [seen_once("errors", "detr", seed) for seed in seeds],
        "looks": [seen_once("looks", "detr", seed) for seed in seeds],
        "thresholds": {
            k: [seen_once("thresholds", k, s) for s in range(COUNTS[k])]
            for k in ("detr", "pix2seq")
        },
        "all_background": round(mean_iou(nothing, truth)["miou"], 4),
        "samples": samples(),
        "masks": masks(),
        "later": later(),
        "untrained": untrained(),
        "painted_blobs": painted_blobs(),
    }


PARTES: dict[str, Callable[[], dict[str, Any]]] = {
    "masks": masks,
    "later": later,
    "untrained": untrained,
    "painted_blobs": painted_blobs,
}


def stored(name: str) -> tuple[nn.Module, dict[str, Any]]:
    """El modelo de la semilla 0, redondeado, y lo que acierta así."""
    once(name, 0)
    model: Any = rounded(MEMORY_20.fill(build(name), f"{name}-0")).eval()
    marks = {k: round(x, 4) for k, x in marks_of(name, model, exam()).items()}
    return model, {"recipe": recipe_of(name), "seed": 0, "marks": marks}


PESOS: dict[str, Callable] = {
    "cajas": partial(stored, "detr"),
    "trozos": partial(stored, "mask"),
}
