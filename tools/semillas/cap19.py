"""Capítulo 19: un ViT, una convolución y una regresión logística leen dígitos de 8 × 8.

La convolución y el ViT tienen casi los mismos parámetros. Cada semilla cambia el reparto, los pesos
y los lotes, los mismos para todas las redes. Cada ejecución se guarda en ``.cache/semillas-19`` con
su receta: si la orden se corta, sigue donde iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import torch
from recuerdo import Memory
from torch import Tensor, nn
from torch.nn import functional as F

from atento import rng
from atento.models.vit import Vit, VitConfig, patchify, unpatchify
from atento.tasks import digits
from atento.tasks.digits import Digits
from atento.trained import rounded
from atento.training import evaluate, fit, parameter_groups, warmup_cosine
from atento.watching import watching

RECIPE_19: dict[str, Any] = {
    "patch_size": 2,
    "d_model": 48,
    "n_heads": 4,
    "d_ff": 96,
    "n_layers": 2,
    "init_std": 0.1,
    "position_std": 0.5,
    "width": 20,  # los canales de la primera convolución
    "steps": 400,
    "cnn_steps": 200,
    "batch": 32,
    "rate": 3e-3,
    "warmup": 40,
    "weight_decay": 0.1,
    "every": 50,
    "test": 0.2,
    "few": {"10": 120, "30": 240},  # imágenes por clase y pasos
    "temperature": 2.0,
}
TRANSFER = {"known": 7, "shown": 5}  # los dígitos que aprende y cuántos se enseñan de los otros
SHORT = 150  # los pasos del ViT que caben en el tiempo de las convoluciones
SEEDS, SOME = 10, 5
MEMORY_19 = Memory(19)


# --- Los modelos ----------------------------------------------------------------------------------


class Convolutions(nn.Sequential):
    """Tres convoluciones de 3 × 3 con dos reducciones a la mitad, y una capa que clasifica."""

    def __init__(self, width: int) -> None:
        w = width
        super().__init__(
            *(nn.Conv2d(1, w, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(w, 2 * w, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(2 * w, 4 * w, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(16 * w, digits.CLASSES)),
        )


class Strided(nn.Sequential):
    """La misma con paso 2, en lugar de quedarse con el mayor de cada cuatro."""

    def __init__(self, width: int) -> None:
        w = width
        super().__init__(
            *(nn.Conv2d(1, w, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(w, 2 * w, 3, padding=1, stride=2), nn.ReLU()),
            *(nn.Conv2d(2 * w, 4 * w, 3, padding=1, stride=2), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(16 * w, digits.CLASSES)),
        )


class Local(nn.Module):
    """Conexiones de 3 × 3 como las de una convolución, con otros pesos en cada sitio."""

    def __init__(self, before: int, after: int, side: int) -> None:
        super().__init__()
        self.side, edge = side, (9 * before) ** -0.5  # como nn.Conv2d
        self.weight = nn.Parameter(torch.empty(side**2, 9 * before, after).uniform_(-edge, edge))
        self.bias = nn.Parameter(torch.empty(side**2, after).uniform_(-edge, edge))

    def forward(self, x: Tensor) -> Tensor:
        near = F.unfold(x, 3, padding=1).permute(2, 0, 1)  # (sitio, lote, 9 · before)
        found = torch.baddbmm(self.bias[:, None], near, self.weight)  # (sitio, lote, after)
        return found.permute(1, 2, 0).unflatten(2, (self.side, self.side))


class Unshared(nn.Sequential):
    """La de convoluciones, con los mismos canales y sin compartir los pesos."""

    def __init__(self, width: int) -> None:
        w = width
        super().__init__(
            *(Local(1, w, 8), nn.ReLU()),
            *(Local(w, 2 * w, 8), nn.ReLU(), nn.MaxPool2d(2)),
            *(Local(2 * w, 4 * w, 4), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(16 * w, digits.CLASSES)),
        )


class Hybrid(nn.Module):
    """Un ViT cuyas filas salen de una convolución de ``size`` × ``size`` con ``width`` canales."""

    def __init__(self, width: int, config: VitConfig, size: int = 3) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, size, padding=size // 2), nn.ReLU())
        self.vit = Vit(config)

    def forward(self, images: Tensor) -> Tensor:
        return self.vit(self.stem(images))


CONVOLUTIONS: dict[str, type[nn.Module]] = {
    **{"cnn": Convolutions, "strided": Strided, "unshared": Unshared},
}


def config(**changes: Any) -> VitConfig:
    """La del ViT del capítulo, con los cambios que se digan."""
    r = RECIPE_19
    same = ("d_model", "n_heads", "d_ff", "n_layers", "init_std", "position_std")
    sizes: dict[str, Any] = {name: r[name] for name in same} | changes
    return VitConfig(digits.SIDE, r["patch_size"], **sizes)


def build(kind: str, seed: int) -> nn.Module:
    """Una red sin entrenar."""
    rng.seed_all(seed)
    if kind in CONVOLUTIONS:
        return CONVOLUTIONS[kind](RECIPE_19["width"])
    if kind in ("hybrid", "pointwise"):
        return Hybrid(8, config(channels=8), 3 if kind == "hybrid" else 1)
    changes: dict[str, dict[str, Any]] = {
        "cls": {},
        "mean": {"pooling": "mean"},
        "small": {"position_std": 0.02},
        "distilled": {"distilled": True},
    }
    model = Vit(config(**changes["cls" if kind in ("blind", "short") else kind]))
    if kind == "blind":  # sin posiciones: la tabla vale 0 y no se entrena
        model.embed.positions.table.requires_grad_(False).zero_()
    return model


# --- Entrenar y medir -----------------------------------------------------------------------------


def parts(seed: int, per_class: int | None = None, shuffled: bool = False) -> list[Digits]:
    """El reparto de esa semilla; con ``shuffled``, los píxeles de todas cambian igual de sitio."""
    found = list(digits.split(seed, test=RECIPE_19["test"]))
    if per_class:
        found[0] = found[0].few(per_class, seed)
    if shuffled:
        order = torch.randperm(digits.SIDE**2, generator=rng.generator(1000 + seed))
        found = [
            Digits(x.images.flatten(1)[:, order].view_as(x.images), x.labels, x.background)
            for x in found
        ]
    return found


def loss(model: nn.Module, lot: Any) -> Tensor:
    """La entropía cruzada de un lote."""
    return F.cross_entropy(model(lot[0][:, None]), lot[1])


def accuracy(model: nn.Module, data: Digits) -> float:
    return digits.score(lambda x: model(x[:, None]), data)["accuracy"]


def learn(model: nn.Module, data: list[Digits], steps: int, seed: int, what: Any = loss) -> Any:
    """El bucle de siempre; devuelve la curva de validación."""
    r = RECIPE_19
    groups = parameter_groups(model, weight_decay=r["weight_decay"])
    return fit(
        model,
        digits.batches(data[0], steps, r["batch"], seed),
        what,
        steps=steps,
        optimizer=torch.optim.AdamW(groups, lr=r["rate"], fused=True),
        schedule=warmup_cosine(steps, warmup=r["warmup"]),
        callbacks=[evaluate(lambda m: {"held": accuracy(m, data[1])}, every=r["every"])],
        progress=False,
    )


def marks(model: nn.Module, test: Digits) -> dict[str, Any]:
    """Lo que acierta, en qué falla y lo que queda al correr la imagen."""
    found = digits.score(lambda x: model(x[:, None]), test)
    one = [test.shifted(*way) for way in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    rolled = Digits(test.images.roll(2, -1), test.labels, test.background)
    return {
        "accuracy": round(found["accuracy"], 5),
        "wrong": (~found["right"]).nonzero().flatten().tolist(),
        "pixel": round(sum(accuracy(model, x) for x in one) / len(one), 5),
        "patch": round(accuracy(model, rolled), 5),
    }


def train(kind: str, seed: int, per_class: int | None = None, shuffled: bool = False) -> Any:
    """Entrena una red; la devuelve con lo que se guarda de ella."""
    r, data = RECIPE_19, parts(seed, per_class, shuffled)
    model = build(kind, seed)
    steps = r["few"][str(per_class)] if per_class else r["steps"]
    steps = min(steps, r["cnn_steps"]) if kind in CONVOLUTIONS else steps
    steps = SHORT if kind == "short" else steps
    clock = time.process_time()
    history = learn(model, data, steps, seed)
    run = {
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "seconds": round(time.process_time() - clock, 2),
        "train": round(accuracy(model, data[0]), 5),
        "curve": [round(value, 5) for _, value in history.metrics["held"]],
        **marks(model, data[2]),
    }
    return model, run


def logistic(seed: int, per_class: int | None = None, shuffled: bool = False) -> Any:
    """Una regresión logística sobre los píxeles, con el reparto de esa semilla."""
    from sklearn.linear_model import LogisticRegression

    data = parts(seed, per_class, shuffled)
    fitted = LogisticRegression(max_iter=2000).fit(data[0].images.flatten(1), data[0].labels)
    model = nn.Sequential(nn.Flatten(), nn.Linear(digits.SIDE**2, digits.CLASSES))
    with torch.no_grad():
        model[1].weight.copy_(torch.as_tensor(fitted.coef_))
        model[1].bias.copy_(torch.as_tensor(fitted.intercept_))
    return model, {"seed": seed, **marks(model, data[2])}


# --- Aprender de una maestra, con treinta imágenes por clase --------------------------------------


def distil(kind: str, seed: int) -> Any:
    """Un ViT con dos cabezas; la segunda aprende de la maestra ``kind`` o de las etiquetas."""
    r, data = RECIPE_19, parts(seed, 30)
    steps = r["few"]["30"]
    teacher = None if kind == "labels" else teacher_of(kind, seed, data)
    rng.seed_all(seed)
    model = build("distilled", seed)
    t = r["temperature"]

    def what(model: Any, lot: Any) -> Tensor:
        images, labels = lot[0][:, None], lot[1]
        own = model.answers(images)
        if teacher is None:
            other = F.cross_entropy(own.teacher, labels)
        else:
            with torch.no_grad():
                wanted = (teacher(images) / t).log_softmax(-1)
            said = (own.teacher / t).log_softmax(-1)
            other = t**2 * F.kl_div(said, wanted, log_target=True, reduction="batchmean")
        return (F.cross_entropy(own.classes, labels) + other) / 2

    learn(model, data, steps, seed, what)
    run = {"seed": seed, **marks(model, data[2])}
    if teacher is not None:
        run["teacher"] = round(accuracy(teacher, data[2]), 5)
        run["teacher_held"] = round(accuracy(teacher, data[1]), 5)
    return model, run


def teacher_of(kind: str, seed: int, data: list[Digits]) -> nn.Module:
    """La maestra: un ViT, una convolución o una convolución parada cuando acierta como el ViT."""
    if kind in ("vit", "cnn"):
        name = {"vit": "few30-cls", "cnn": "few30-cnn"}[kind]
        once(name, seed)
        model = build({"vit": "cls"}.get(kind, kind), seed)
        model.load_state_dict(torch.load(MEMORY_19.weights(f"{name}-{seed}"), weights_only=True))
        return model.eval()
    wanted = accuracy(teacher_of("vit", seed, data), data[1])
    model, best = build("cnn", seed), (2.0, 0, None)

    def keep(state: Any) -> None:
        nonlocal best
        gap = abs(accuracy(state.model, data[1]) - wanted)
        if state.step % 2 == 0 and gap < best[0]:
            best = (gap, state.step, {k: v.clone() for k, v in state.model.state_dict().items()})

    r, steps = RECIPE_19, RECIPE_19["few"]["30"]
    groups = parameter_groups(model, weight_decay=r["weight_decay"])
    fit(
        model,
        digits.batches(data[0], steps, r["batch"], seed),
        loss,
        steps=steps,
        optimizer=torch.optim.AdamW(groups, lr=r["rate"], fused=True),
        schedule=warmup_cosine(steps, warmup=r["warmup"]),
        callbacks=[keep],
        progress=False,
    )
    model.load_state_dict(best[2] or {})
    return model.eval()


# --- Aprovechar lo aprendido ----------------------------------------------------------------------


def transfer(seed: int) -> Any:
    """Un ViT aprende del 0 al 6; con sus rasgos, sin tocarlo, se separan el 7, el 8 y el 9."""
    data = parts(seed)
    old = [x.chosen((x.labels < TRANSFER["known"]).nonzero().squeeze(1)) for x in data]
    few, fresh = new_digits(data, seed)
    untrained, model = build("cls", seed), build("cls", seed)
    learn(model, old, RECIPE_19["steps"], seed)
    run: dict[str, Any] = {"seed": seed, "accuracy": round(accuracy(model, old[2]), 5)}
    run["pixels"] = reads(few, fresh, lambda x: x.images.flatten(1))
    run["untrained"] = reads(few, fresh, lambda x: features(untrained, x))
    run["trained"] = reads(few, fresh, lambda x: features(model, x))
    return model, run


def new_digits(data: list[Digits], seed: int) -> tuple[Digits, Digits]:
    """Las pocas imágenes que se enseñan de los dígitos nuevos y las de su examen."""
    new = [
        x.chosen((x.labels >= TRANSFER["known"]).nonzero().squeeze(1)) for x in (data[0], data[2])
    ]
    order = torch.randperm(len(new[0]), generator=rng.generator(seed))
    labels = new[0].labels[order]
    picked = [
        order[labels == k][: TRANSFER["shown"]] for k in range(TRANSFER["known"], digits.CLASSES)
    ]
    return new[0].chosen(torch.cat(picked)), new[1]


def reads(few: Digits, fresh: Digits, rows: Any) -> float:
    """Lo que acierta una logística con los rasgos ``rows`` de unas pocas imágenes."""
    from sklearn.linear_model import LogisticRegression

    reader = LogisticRegression(max_iter=2000).fit(rows(few), few.labels)
    return round(float(reader.score(rows(fresh), fresh.labels)), 5)


@torch.no_grad()
def features(net: Any, data: Digits, depth: int | None = None) -> Tensor:
    """La fila CLS al final o, con ``depth``, las de todos los parches tras tantos bloques."""
    if depth is None:
        return net.eval().states(data.images[:, None])[:, 0]
    x = net.eval().embed(data.images[:, None])
    for block in net.encoder.blocks[:depth]:
        x = block(x)
    return x[:, 1:].flatten(1)


# --- Guardar lo hecho -----------------------------------------------------------------------------

KINDS: dict[str, int] = {  # en el orden en que se hacen
    **{"cls": SEEDS, "cnn": SEEDS, "logistic": SEEDS},
    **{"shuffled-cls": SEEDS, "shuffled-cnn": SEEDS},
    **{"shuffled30-cls": SEEDS, "shuffled30-cnn": SEEDS},
    **{"few30-cls": SEEDS, "few30-cnn": SEEDS, "few30-logistic": SEEDS},
    **{"few10-cls": SEEDS, "few10-cnn": SEEDS, "few10-logistic": SEEDS},
    **{"mean": SEEDS, "small": SOME, "blind": SOME},
    **{f"distil-{kind}": SOME for kind in ("labels", "cnn", "vit", "paused")},
    **{"hybrid": SOME, "transfer": SOME},
}


def once(name: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior; los pesos quedan al lado."""
    made = {"recipe": RECIPE_19, "kind": name}
    return MEMORY_19.once(f"{name}-{seed}", made, partial(work, name, seed))


def work(name: str, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """Entrena la red de ese nombre y mide lo que acierta."""
    first, _, last = name.rpartition("-")
    if first == "distil":
        return distil(last, seed)
    if last == "transfer":
        return transfer(seed)
    per_class = int(first[-2:]) if first.endswith(("10", "30")) else None
    how = (seed, per_class, first.startswith("shuffled"))
    return logistic(*how) if last == "logistic" else train(last, *how)


def chapter() -> dict[str, Any]:
    """Todas las redes y sus controles, semilla a semilla."""
    runs = {name: [once(name, seed) for seed in range(count)] for name, count in KINDS.items()}
    tables = {name: [nearness(name, seed) for seed in range(SOME)] for name in ("cls", "small")}
    parts = {name: found() for name, found in PARTES.items()}
    return {"recipe": RECIPE_19, "transfer": TRANSFER, "runs": runs, "tables": tables} | parts


def nearness(name: str, seed: int) -> dict[str, float]:
    """El coseno medio de las posiciones de dos parches vecinos y el de dos que no lo son."""
    state = torch.load(MEMORY_19.weights(f"{name}-{seed}"), weights_only=True)
    rows = state["embed.positions.table"][1:]
    side = round(len(rows) ** 0.5)
    near = F.cosine_similarity(rows[:, None], rows[None], dim=-1)
    spots = torch.cartesian_prod(torch.arange(side), torch.arange(side))
    apart = (spots[:, None] - spots[None]).abs().sum(-1)
    pairs = {"near": near[apart == 1], "far": near[apart > 1]}
    return {key: round(found.mean().item(), 3) for key, found in pairs.items()}


def stored_vit() -> tuple[Vit, dict[str, Any]]:
    """El ViT que viaja guardado: la semilla de acierto más cercano a la media de las diez."""
    runs = [once("cls", seed) for seed in range(SEEDS)]
    middle = sum(run["accuracy"] for run in runs) / len(runs)
    seed = min(range(SEEDS), key=lambda i: abs(runs[i]["accuracy"] - middle))
    model = Vit(config())
    model.load_state_dict(torch.load(MEMORY_19.weights(f"cls-{seed}"), weights_only=True))
    model = rounded(model).eval()
    return model, {"recipe": RECIPE_19, "seed": seed, "marks": _card_marks(model, seed)}


def _card_marks(model: Vit, seed: int) -> dict[str, Any]:
    """Lo que acierta, y con qué números se normaliza la tinta antes de dársela."""
    data = parts(seed)
    low, high = data[0].images.min().item(), data[0].images.max().item()
    scale = {"blank": round(low, 6), "full": round(high, 6)}
    return scale | {"accuracy": round(accuracy(model, data[2]), 5)}


PESOS = {"vit": stored_vit}


# --- Los controles, que se pueden repetir solos ---------------------------------------------------

CONTROLS: dict[str, int] = {
    **{"strided": SEEDS, "few30-strided": SEEDS, "few30-unshared": SEEDS},
    **{"shuffled30-unshared": SEEDS, "short": SEEDS, "pointwise": SOME},
}


def controls() -> dict[str, Any]:
    """Las redes que separan causas: sin el mayor de cada cuatro, sin compartir, con menos pasos."""
    runs = {name: [once(name, seed) for seed in range(count)] for name, count in CONTROLS.items()}
    return {"short": SHORT, "runs": runs}


def inside() -> dict[str, Any]:
    """Lo que se mira dentro de los ViT, de las maestras y de los rasgos, semilla a semilla."""
    for name, count in (("cls", SEEDS), ("few30-cnn", SEEDS), ("few30-cls", SEEDS)):
        for seed in range(count):
            once(name, seed)
    return {
        "hidden": [hidden(seed) for seed in range(SEEDS)],
        "doubled": [doubled(seed) for seed in range(SEEDS)],
        "sure": {kind: [sure(kind, seed) for seed in range(SOME)] for kind in ("cnn", "cls")},
        "rows": [all_rows(seed) for seed in range(SEEDS)],
    }


def saved_net(name: str, seed: int) -> Any:
    """La red de una ejecución guardada."""
    once(name, seed)
    model = build("cls" if name == "transfer" else name.rpartition("-")[2], seed)
    model.load_state_dict(torch.load(MEMORY_19.weights(f"{name}-{seed}"), weights_only=True))
    return model.eval()


@torch.no_grad()
def hidden(seed: int) -> dict[str, float]:
    """Lo que acierta un ViT si su fila CLS no puede mirar cuatro parches, según cuáles."""
    model, data = saved_net("cls", seed), parts(seed)[2]
    images = data.images[:, None]
    with watching(model) as maps:
        model(images)
    looks = [maps[f"encoder.blocks.{k}.attention"][:, :, 0, 1:] for k in range(2)]
    looked = torch.stack(looks).mean((0, 2))  # (imagen, parche)
    tint = patchify(images, RECIPE_19["patch_size"]).sum(-1)
    scores = {
        "looked": looked,
        "places": looked.mean(0).expand_as(looked),
        "ink": tint,
        "dice": torch.rand(looked.shape, generator=rng.generator(seed)),
        "least": -looked,
    }
    found = {}
    for name, score in scores.items():
        seen = torch.ones(len(data), 1, 17, 17, dtype=torch.bool)
        seen[:, 0, 0].scatter_(1, score.topk(4).indices + 1, False)
        said = model.classify(model.states(images, seen)[:, 0]).argmax(-1)
        found[name] = round((said == data.labels).float().mean().item(), 5)
    return found


@torch.no_grad()
def doubled(seed: int) -> dict[str, float]:
    """Lo que acierta un ViT con la imagen al doble, según de dónde salgan sus posiciones.

    ``whole`` son las 64 filas con cada parche de antes repetido cuatro veces.
    """
    model, data = saved_net("cls", seed), parts(seed)[2]
    r = RECIPE_19
    same = ("d_model", "n_heads", "d_ff", "n_layers", "init_std", "position_std")
    bigger = Vit(VitConfig(16, r["patch_size"], **{name: r[name] for name in same})).eval()
    table, weights = model.embed.positions.table, dict(model.state_dict())
    grid = table[1:].view(4, 4, -1)
    wide = F.interpolate(grid.permute(2, 0, 1)[None], size=(8, 8), mode="bilinear")
    stretched = wide[0].flatten(1).T
    size = grid.norm(dim=-1).mean()
    copied = grid.repeat_interleave(2, 0).repeat_interleave(2, 1).flatten(0, 1)
    large = F.interpolate(data.images[:, None], scale_factor=2)
    pieces = patchify(data.images[:, None], 2).view(-1, 4, 4, 4)
    pieces = pieces.repeat_interleave(2, 1).repeat_interleave(2, 2)
    whole = unpatchify(pieces.flatten(1, 2), 2)
    ways = {
        "stretched": (stretched, large),
        "resized": (stretched / stretched.norm(dim=-1, keepdim=True) * size, large),
        "copied": (copied, large),
        "whole": (copied, whole),
        "whole-stretched": (stretched, whole),
    }
    found = {}
    for name, (rows, images) in ways.items():
        bigger.load_state_dict(weights | {"embed.positions.table": torch.cat([table[:1], rows])})
        said = bigger(images).argmax(-1)
        found[name] = round((said == data.labels).float().mean().item(), 5)
    return found


@torch.no_grad()
def sure(kind: str, seed: int) -> float:
    """La probabilidad media que da una maestra a la clase, a su temperatura, en lo que ha visto."""
    model, data = saved_net(f"few30-{kind}", seed), parts(seed, 30)[0]
    told = (model(data.images[:, None]) / RECIPE_19["temperature"]).softmax(-1)
    return round(told.gather(1, data.labels[:, None]).mean().item(), 4)


def all_rows(seed: int) -> dict[str, float]:
    """Lo de :func:`transfer`, con la fila CLS y con las filas de todos los parches."""
    nets = {"untrained": build("cls", seed), "trained": saved_net("transfer", seed)}
    few, fresh = new_digits(parts(seed), seed)
    found = {"pixels": reads(few, fresh, lambda x: x.images.flatten(1))}
    for name, net in nets.items():
        found[name] = reads(few, fresh, lambda x, net=net: features(net, x))
        for depth in range(3):
            rows = partial(features, net, depth=depth)
            found[f"{name}-{depth}"] = reads(few, fresh, rows)
    return found


PARTES = {"controls": controls, "inside": inside}
