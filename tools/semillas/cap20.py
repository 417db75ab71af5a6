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
    "stop": None,  # dónde se para, si no es al final
}
QUERIES: dict[str, Any] = {"queries": 12, "reference_points": True, "refine": True}
RECIPES_20: dict[str, dict[str, Any]] = {
    "detr": {
        "train": TRAIN | {"steps": 1000, "cells_first": 250},
        "model": READ | QUERIES | {"class_weight": 2.0},
    },
    "pix2seq": {"train": TRAIN | {"steps": 700}, "model": READ},
    "setr": {
        "train": TRAIN | {"steps": 600, "weight_decay": 0.05},
        "model": {
            "patch_size": 4,
            "n_layers": 3,
            "position_std": 0.5,
            "decoder_width": 32,
            "decoder": "pup",
        },
    },
    "mask": {
        "train": TRAIN | {"steps": 600},
        "model": READ | QUERIES | {"mask_width": 16, "class_weight": 2.0},
    },
}
DEVIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "detr_no_cells": ("detr", {"cell_weight": 0.0}),
    "detr_no_boxes": ("detr", {"cell_weight": 0.0}),  # y de la pérdida, solo la clase
    "detr_listed": ("detr", {}),  # cada objeto, con la consulta de su lugar en la lista
    "detr_sorted": ("detr", {}),  # lo mismo, con la lista de izquierda a derecha
    "pix2seq_plain": ("pix2seq", {"place_words": False}),
    "setr_naive": ("setr", {"decoder": "naive"}),
    "setr_alone": ("setr", {}),  # cada parche solo se mira a sí mismo
    "mask_only": ("mask", {"l1_weight": 0.0, "giou_weight": 0.0}),
}
STOPS = {"detr_no_boxes": 300}  # lo que basta para ver qué queda en la convolución
EXAM, HELD = 500, 100  # las escenas del examen, y las que se miran mientras aprende
LEAST = 0.5  # lo segura que ha de estar una consulta para que cuente su máscara
MEMORY_20 = Memory(20)
COUNTS: dict[str, int] = dict.fromkeys((*RECIPES_20, *DEVIATIONS), 1)
"""Cuántas semillas hay de cada cosa."""


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
    changed: dict[str, Any] = {"stop": STOPS.get(name)}
    if "cell_weight" in changes:  # sin celdas no hay con qué empezar
        changed["cells_first"] = 0
    return {"train": base["train"] | changed, "model": base["model"] | changes}


def build(name: str) -> Any:
    """Un modelo sin entrenar."""
    sizes, kind = recipe_of(name)["model"], family(name)
    if kind == "setr":
        return Setr(SetrConfig(SIDE, classes=BACKGROUND + 1, **sizes))
    if kind == "mask":
        return MaskFormer(MaskFormerConfig(SIDE, classes=BACKGROUND + 1, **sizes))
    made: Any = (Detr, DetrConfig) if kind == "detr" else (Pix2Seq, Pix2SeqConfig)
    return made[0](made[1](SIDE, **sizes))


def seen_by(name: str, model: Any) -> Tensor | None:
    """A quién puede mirar cada parche de un SETR; ``None``, a todos."""
    n = model.config.n_patches if name == "setr_alone" else 0
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


def loss_of(name: str, model: Any, source: torch.Generator) -> Callable:
    """La pérdida de un lote de escenas."""
    kind, mask, step = family(name), seen_by(name, model), 0
    first = recipe_of(name)["train"]["cells_first"]

    def loss(net: Any, lot: list[Scene]) -> Tensor:
        nonlocal step
        step += 1
        images, targets = scenes.batch(lot)
        if step <= first:
            return net.auxiliary_loss(net.encode(images)[0], targets)
        if kind == "setr":
            maps = torch.stack([scene.semantic for scene in lot])
            return net.loss(standard(images), maps, mask)
        if kind == "mask":
            return net.loss(images, [scene.parts for scene in lot])
        if name == "detr_no_boxes":
            layers = net.every_layer(images)
            return torch.stack([detr.losses(x, targets, net.config).classes for x in layers]).sum()
        if name in ("detr_listed", "detr_sorted"):
            return listed_loss(net, images, targets, name == "detr_sorted")
        return net.loss(images, targets, source) if kind == "pix2seq" else net.loss(images, targets)

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
    painted = [x for y in outputs for x in maskformer.panoptic(y, rest=BACKGROUND, least=LEAST)]
    marks = panoptic_quality(painted, [scene.panoptic for scene in some])
    digits = [row["pq"] for label, row in marks["by_class"].items() if label != BACKGROUND]
    semantic = mean_iou(torch.cat([maskformer.semantic(x) for x in outputs]), truth)
    whole = {k: marks[k] for k in ("pq", "sq", "rq")}
    return whole | {"pq_digits": sum(digits) / len(digits), "miou": semantic["miou"]}


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
        steps=r["stop"] or r["steps"],
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
def looks(seed: int) -> dict[str, Any]:
    """Qué parte del peso de la atención cruzada cae en la caja que se contesta, y cuánto mide.

    También, a qué distancia está el punto de partida de una consulta de lo que acaba diciendo, y a
    cuál, el de otra cualquiera.
    """
    model = trained_one("detr", seed)
    images = images_of(exam())
    with watching(model) as maps:
        logits, boxes = model(images)
    sure = logits.softmax(-1)[..., :-1].amax(-1) > 0.5  # (batch, query)
    side = model.config.side
    cells = (torch.arange(side) + 0.5) / side
    low, high = (boxes[..., :2] - boxes[..., 2:] / 2), (boxes[..., :2] + boxes[..., 2:] / 2)
    across = (low[..., :1] <= cells) & (cells < high[..., :1])  # (batch, query, column)
    down = (low[..., 1:] <= cells) & (cells < high[..., 1:])
    inside = (down[..., :, None] & across[..., None, :]).flatten(2)[sure]  # (found, n)
    share = [
        round(float((maps[f"decoder.{k}.cross_attention"].mean(1)[sure] * inside).sum(1).mean()), 4)
        for k in range(model.config.n_decoder_layers)
    ]
    starts = model.starts.sigmoid()[:, :2]
    apart = (boxes[..., None, :2] - starts).norm(dim=-1)  # (batch, query, de quién)
    own = apart.diagonal(dim1=1, dim2=2)[sure].mean().item()
    other = apart[sure].mean().item()
    busy = sure.float().mean(0)
    return {
        "seed": seed,
        "inside": share,
        "chance": round(inside.float().mean().item(), 4),
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


def by_blobs(seed: int) -> dict[str, float]:
    """Cada mancha de tinta es un objeto, y una regresión logística dice cuál."""
    from sklearn.linear_model import LogisticRegression

    known = scenes.generate(600, 100 + seed)
    pairs = [
        (crop(s.image, box), k)
        for s in known
        for box, k in zip(s.boxes, s.labels.tolist(), strict=True)
    ]
    flat = LogisticRegression(max_iter=300).fit(
        torch.stack([x for x, _ in pairs]), [k for _, k in pairs]
    )
    found = []
    for scene in exam():
        spots, _ = ndimage.label((scene.image >= scenes.VISIBLE).numpy(), np.ones((3, 3)))
        corners = [(x.start, y.start, x.stop, y.stop) for y, x in ndimage.find_objects(spots)]
        boxes = torch.tensor(corners).float() / SIDE
        chance = flat.predict_proba(torch.stack([crop(scene.image, box) for box in boxes]))
        scores, labels = torch.tensor(chance).max(-1)
        found.append(Found(labels, scores.float(), boxes))
    return {"seed": seed} | {k: round(x, 4) for k, x in box_marks(found, exam()).items()}


# --- Muestras que la página enseña ----------------------------------------------------------------


@torch.no_grad()
def samples(seed: int = 0) -> dict[str, Any]:
    """Lo que dicen de la escena del capítulo los que no viajan entrenados."""
    scene, told = main_scene(), {}
    image = images_of([scene])
    for name in ("setr", "setr_alone", "setr_naive"):
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


def chapter() -> dict[str, Any]:
    """Todos los entrenamientos, sus controles y lo que se mira en ellos."""
    runs = {name: [once(name, seed) for seed in range(n)] for name, n in COUNTS.items()}
    seeds = range(COUNTS["detr"])
    nothing = torch.full((EXAM, SIDE, SIDE), BACKGROUND)
    truth = torch.stack([scene.semantic for scene in exam()])
    return {
        "recipes": RECIPES_20,
        "exam": EXAM,
        "runs": runs,
        "blobs": [by_blobs(seed) for seed in seeds],
        "errors": [errors("detr", seed) for seed in seeds],
        "looks": [looks(seed) for seed in seeds],
        "thresholds": {
            k: [thresholds(k, s) for s in range(COUNTS[k])] for k in ("detr", "pix2seq")
        },
        "all_background": round(mean_iou(nothing, truth)["miou"], 4),
        "samples": samples(),
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
