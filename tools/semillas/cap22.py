"""Capítulo 22: las fusiones, un CLIP de números y un Gato que escribe y sostiene un palo.

Todas las fusiones se entrenan con la misma receta. Cada ejecución se guarda en
``.cache/semillas-22`` con su receta: si la orden se corta, sigue donde iba, y para repetirlo todo
se borra esa carpeta.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import torch
from recuerdo import Memory
from torch import Tensor, nn
from torch.nn import functional as F

from atento import rng
from atento.models.clip import Clip, ClipConfig, clip_loss
from atento.models.fusion import FUSIONS, FusionConfig, TwoSenses
from atento.models.gato import Gato, GatoConfig, Packed, Step, gato_loss, pack, pack_episodes
from atento.models.vit import VitConfig
from atento.tasks import captions, control, digits, multimodal, reports
from atento.tasks.translation.vocabulary import EOS_ID
from atento.trained import rounded
from atento.training import evaluate, fit, parameter_groups, warmup_cosine

RECIPES_22: dict[str, dict[str, Any]] = {
    "fusion": {
        "patch_size": 4,
        "d_model": 64,
        "n_heads": 4,
        "d_ff": 128,
        "n_layers": 4,
        "init_std": 0.125,
        "position_std": 1.0,
        "word_std": 1.0,
        "place_std": 0.3,
        "steps": 600,
        "first": 60,  # los primeros pasos, solo de qué cifra se ve y qué cifra se dice
        "double": ["cuánto suman", "es par la suma"],  # las que más cuestan salen el doble
        "batch": 64,
        "rate": 3e-3,
        "warmup": 60,
        "beta2": 0.98,
        "weight_decay": 0.05,
        "every": 100,
        "exam": 2000,
    },
    "clip": {
        "patch_size": 8,  # medio dígito
        "width": 48,
        "layers": 2,
        "init_std": 0.1,
        "position_std": 0.5,
        "token_std": 0.5,
        "place_std": 0.2,
        "steps": 460,
        "batch": 64,
        "rate": 3e-3,
        "warmup": 60,
        "beta2": 0.98,
        "weight_decay": 0.05,
        "every": 100,
        "exam": 1000,
    },
    "gato": {
        "bins": 64,
        "limit": 4.0,
        "d_model": 64,
        "n_heads": 4,
        "d_ff": 128,
        "n_layers": 3,
        "steps": 240,  # de cada tarea
        "batch": {"control": 128, "text": 16},
        "window": 1,  # los pasos que lee de cada episodio, y los que recuerda al actuar
        "episodes": 400,
        "reports": 2000,
        "rate": 3e-3,
        "warmup": 60,
        "beta2": 0.98,
        "weight_decay": 0.05,
        "every": 100,
        "carts": 200,
        "exam": 300,
    },
}
SENSES: dict[str, tuple[str, ...]] = {"only_seen": ("seen",), "only_told": ("told",), "none": ()}
"""Los controles de las fusiones: al entrenar y en el examen, un sentido solo o ninguno."""

CONTROLLED = "early_concat"
"""La fusión con que se hacen los controles."""

DEVIATIONS: dict[str, dict[str, float]] = {
    "covered": {"word_std": 0.1, "place_std": 0.5},
    "faint": {"word_std": 0.1, "place_std": 0.03},
}
"""Con las palabras tapadas por sus sitios, y con las dos cosas débiles y nadie tapado."""

MEMORY_22 = Memory(22)


def learn(
    model: nn.Module, batches: Any, loss: Callable, r: dict[str, Any], steps: int, watch: Callable
) -> dict[str, Any]:
    """Entrena; devuelve los segundos de procesador, los parámetros y la curva de lo vigilado."""
    groups = parameter_groups(model, weight_decay=r["weight_decay"])
    optimizer = torch.optim.AdamW(groups, lr=r["rate"], betas=(0.9, r["beta2"]), fused=True)
    looking = 0.0

    def look(net: nn.Module) -> dict[str, float]:
        nonlocal looking
        clock = time.process_time()
        found = watch(net)
        looking += time.process_time() - clock
        return found

    clock = time.process_time()
    history = fit(
        model,
        batches,
        loss,
        steps=steps,
        optimizer=optimizer,
        schedule=warmup_cosine(steps, warmup=r["warmup"]),
        callbacks=[evaluate(look, every=r["every"])],
        progress=False,
    )
    seconds = time.process_time() - clock - looking
    curves = {k: [round(x, 4) for _, x in values] for k, values in history.metrics.items()}
    count = sum(p.numel() for p in model.parameters())
    return {"seconds": round(seconds, 2), "parameters": count, "curves": curves}


# --- Las fusiones ---------------------------------------------------------------------------------


def recipe_of(name: str) -> dict[str, Any]:
    """La receta de una ejecución de las fusiones o de sus controles."""
    return RECIPES_22["fusion"] | DEVIATIONS.get(name, {})


def reader(name: str) -> TwoSenses:
    """Un lector sin entrenar: el de una fusión o el de un control."""
    r, fusion = recipe_of(name), name if name in FUSIONS else CONTROLLED
    same = ("d_model", "n_heads", "d_ff", "n_layers", "init_std")
    sizes: dict[str, Any] = {k: r[k] for k in (*same, "position_std", "word_std", "place_std")}
    image = VitConfig(digits.SIDE, r["patch_size"], d_model=r["d_model"], pooling="mean")
    m = multimodal
    return TwoSenses(
        FusionConfig(fusion, **sizes), image, len(m.VOCABULARY), m.LENGTH, len(m.ANSWERS)
    )


def answer_loss(model: nn.Module, lot: multimodal.Batch) -> Tensor:
    return F.cross_entropy(model(lot.images, lot.text), lot.answers)


def asked_of(seed: int, senses: tuple[str, ...]) -> Iterator[multimodal.Batch]:
    """Lotes sin fin; los primeros, solo de las dos preguntas de un sentido."""
    r, source = RECIPES_22["fusion"], rng.generator(seed)
    every = list(multimodal.QUESTIONS)
    step = 0
    while True:
        asked = every[:2] if step < r["first"] else every + r["double"]
        some = multimodal.generate(r["batch"], source, questions=asked)
        yield multimodal.batch(some, senses=senses)
        step += 1


@cache
def pairs(kind: str) -> list[multimodal.Example]:
    """El examen de las parejas vistas o de las reservadas, con letra nueva."""
    n, seed = RECIPES_22["fusion"]["exam"], 10_000 + multimodal.PAIRS.index(kind)
    return multimodal.generate(n, seed, split="test", pairs=kind)


def fuse(name: str, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """Entrena una fusión, o el control de ese nombre, y la examina."""
    senses = SENSES.get(name, multimodal.SENSES)
    rng.seed_all(seed)
    model = reader(name)

    def watch(net: Any) -> dict[str, float]:
        return {"seen": multimodal.score(net, pairs("seen")[:400], senses=senses)["accuracy"]}

    r = RECIPES_22["fusion"]
    run = learn(model, asked_of(seed, senses), answer_loss, r, r["steps"], watch)
    marks = {k: multimodal.score(model, pairs(k), senses=senses) for k in ("seen", "unseen")}
    found = {k: round(m["accuracy"], 4) for k, m in marks.items()}
    by = {k: {q: round(x, 3) for q, x in m["by_question"].items()} for k, m in marks.items()}
    return model, {"seed": seed, **run, **found, "by_question": by}


# --- CLIP -----------------------------------------------------------------------------------------


def towers() -> Clip:
    """Un CLIP sin entrenar, con las letras por encima de sus sitios."""
    r = RECIPES_22["clip"]
    sizes: dict[str, Any] = {f"{k}_layers": r["layers"] for k in ("image", "text")}
    sizes |= {f"d_{k}": r["width"] for k in ("image", "text", "embed")}
    sizes |= {k: r[k] for k in ("init_std", "position_std")}
    vocab = len(captions.VOCABULARY)
    config = ClipConfig(captions.SIDE, r["patch_size"], vocab, captions.LENGTH, EOS_ID, **sizes)
    model = Clip(config)
    nn.init.normal_(model.text.tokens.weight, std=r["token_std"])
    nn.init.normal_(model.text.positions.table, std=r["place_std"])
    return model


def match_loss(model: nn.Module, lot: captions.Batch) -> Tensor:
    return clip_loss(model(lot.images, lot.text))


def named(seed: int, shuffled: bool) -> Iterator[captions.Batch]:
    """Lotes de números distintos; ``shuffled``, con los nombres cambiados de imagen."""
    r, source = RECIPES_22["clip"], rng.generator(seed)
    while True:
        lot = captions.batch(captions.generate(r["batch"], source, distinct=True))
        if shuffled:
            order = torch.randperm(len(lot.text), generator=source)
            lot = lot._replace(text=lot.text[order])
        yield lot


def found_among(model: nn.Module, n: int) -> dict[str, dict[str, float]]:
    """Cuántas veces se encuentra la pareja, entre los cien nombres o entre los reservados."""
    found = {}
    for numbers, among in (("seen", "any"), ("unseen", "any"), ("unseen", "unseen")):
        some = captions.generate(n, 10_001, split="test", numbers=numbers)
        marks = captions.score(model, some, among=among)
        found[f"{numbers}-{among}"] = {k: round(float(x), 4) for k, x in marks.items()}
    return found


def pair_up(name: str, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """Entrena un CLIP, o el control con los nombres barajados, y lo examina."""
    r = RECIPES_22["clip"]
    rng.seed_all(seed)
    model = towers()

    def watch(net: nn.Module) -> dict[str, float]:
        return {k: x["text_of_image"] for k, x in found_among(net, 200).items()}

    batches = named(seed, shuffled=name == "clip_shuffled")
    run = learn(model, batches, match_loss, r, r["steps"], watch)
    scale = round(model.scale.item(), 2)
    return model, {"seed": seed, **run, "scale": scale, "found": found_among(model, r["exam"])}


# --- Gato -----------------------------------------------------------------------------------------


@cache
def gato_config() -> GatoConfig:
    r = RECIPES_22["gato"]
    sizes: dict[str, Any] = {k: r[k] for k in ("d_model", "n_heads", "d_ff", "n_layers")}
    return GatoConfig(len(reports.vocabulary()), bins=r["bins"], limit=r["limit"], **sizes)


@cache
def written(n: int, seed: int, split: str) -> Packed:
    """Partes, cada uno en una fila."""
    encode = reports.vocabulary().encode
    texts = [torch.tensor(encode(x.words)) for x in reports.generate(n, seed, split=split)]
    return pack([[Step(text=text)] for text in texts], gato_config())


def lots(task: str, seed: int) -> Iterator[Packed]:
    """Lotes sin fin de una tarea."""
    r, source = RECIPES_22["gato"], rng.generator(seed)
    size, window = r["batch"][task], r["window"]
    if task == "text":
        whole = written(r["reports"], seed, "train")
        while True:
            rows = torch.randint(len(whole.ids), (size,), generator=source)
            yield Packed(*(x[rows] for x in whole))
    episodes = control.generate(r["episodes"], seed)
    n, steps = episodes.actions.shape
    while True:
        rows = torch.randint(n, (size, 1), generator=source)
        first = torch.randint(steps - window + 1, (size, 1), generator=source)
        when = first + torch.arange(window)  # (batch, window)
        states, actions = episodes.states[rows, when], episodes.actions[rows, when]
        yield pack_episodes(states, actions[..., None], gato_config())


def taken_in_turns(tasks: tuple[str, ...], seed: int) -> Iterator[Packed]:
    sources = [lots(task, seed) for task in tasks]
    while True:
        yield from map(next, sources)


class Driver:
    """Conduce con un Gato, que solo recuerda los últimos pasos."""

    def __init__(self, model: Gato) -> None:
        self.model = model

    def __call__(self, states: Tensor, actions: Tensor) -> Tensor:
        last = RECIPES_22["gato"]["window"]
        done = actions[:, max(0, states.shape[1] - last) :]
        return self.model.act(states[:, -last:], done[..., None])[:, 0]


@torch.no_grad()
def nats(model: Gato) -> float:
    """Lo que cuesta cada palabra de partes con parejas reservadas."""
    return gato_loss(model.eval(), written(RECIPES_22["gato"]["exam"], 10_000, "test")).item()


def act_and_write(name: str, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """Entrena un Gato en las dos tareas o en una, con los mismos lotes de cada una."""
    r = RECIPES_22["gato"]
    tasks = {"gato": ("control", "text"), "gato_control": ("control",), "gato_text": ("text",)}[
        name
    ]
    rng.seed_all(seed)
    model = Gato(gato_config())

    def watch(net: Any) -> dict[str, float]:
        found = {"text": nats(net)} if "text" in tasks else {}
        if "control" in tasks:
            found["control"] = control.score(Driver(net), 20, 10_001, steps=100)["steps"]
        net.train()
        return found

    steps = r["steps"] * len(tasks)
    run = learn(model, taken_in_turns(tasks, seed), gato_loss, r, steps, watch)
    found = control.score(Driver(model), r["carts"], 10_000)
    marks = {k: round(found[k], 4) for k in ("survived", "steps")} | {"text": round(nats(model), 4)}
    return model, {"seed": seed, **run, **marks}


def policies(seed: int) -> dict[str, Any]:
    """Quien sabe, quien no empuja y quien empuja al azar; y las palabras, por lo que abundan."""
    source, r = rng.generator(seed), RECIPES_22["gato"]

    def random(states: Tensor, actions: Tensor) -> Tensor:
        return 2 * torch.rand(len(states), generator=source) - 1

    kinds: dict[str, Callable] = {
        "expert": lambda states, actions: control.expert(states[:, -1]),
        "still": lambda states, actions: torch.zeros(len(states)),
        "random": random,
    }
    found = {k: control.score(policy, r["carts"], 10_000) for k, policy in kinds.items()}
    marks = {k: {x: round(f[x], 4) for x in ("survived", "steps")} for k, f in found.items()}
    learned, exam = written(r["reports"], seed, "train"), written(r["exam"], 10_000, "test")
    counts = 1 + torch.bincount(learned.ids[learned.learned], minlength=gato_config().vocab)
    wanted = exam.ids[:, 1:][exam.learned[:, 1:]]
    alone = -(counts / counts.sum()).log()[wanted].mean().item()
    return {"seed": seed, **marks, "unigram": round(alone, 4)}


# --- Lo que se mira en los ya entrenados ----------------------------------------------------------


@torch.no_grad()
def sums(name: str, seed: int) -> dict[str, Any]:
    """Qué contesta a «cuánto suman» con las parejas reservadas, y lo lejos que queda."""
    model = MEMORY_22.fill(reader(name), f"{name}-{seed}").eval()
    asked = multimodal.generate(
        1000, 20_000, split="test", pairs="unseen", questions=["cuánto suman"]
    )
    lot = multimodal.batch(asked)
    said = [multimodal.ANSWERS[i] for i in model(lot.images, lot.text).argmax(-1).tolist()]
    numbers = [int(x) if x.isdecimal() else 99 for x in said]
    far = [abs(x - e.seen - e.told) for x, e in zip(numbers, asked, strict=True)]
    wrong = [x for x in far if x]
    near = sum(x <= 2 for x in wrong) / len(wrong)
    return {"seed": seed, "right": 1 - len(wrong) / len(far), "near": round(near, 4)}


@torch.no_grad()
def mistaken(name: str, seed: int) -> dict[str, Any]:
    """De cada número reservado, cuánto acierta un CLIP y con quién lo confunde más."""
    model = MEMORY_22.fill(towers(), f"{name}-{seed}").eval()
    some = captions.generate(RECIPES_22["clip"]["exam"], 10_001, split="test", numbers="unseen")
    lot = captions.batch(some)
    said = model(lot.images, captions.texts(range(100))).argmax(dim=1)
    found = {}
    for number in captions.numbers_of("unseen"):
        own = said[lot.numbers == number]
        right = (own == number).float().mean().item()
        others = torch.bincount(own[own != number], minlength=100)
        found[str(number)] = [round(right, 4), int(others.argmax()) if others.any() else number]
    lost = said[said != lot.numbers]
    known = torch.isin(lost, torch.tensor(captions.numbers_of("seen")))
    return {"seed": seed, "numbers": found, "to_seen": round(known.float().mean().item(), 4)}


# --- Guardar lo hecho -----------------------------------------------------------------------------

SIX = FUSIONS[:6]
"""Las de la panorámica; el cuello de botella es la séptima."""

COUNTS: dict[str, int] = dict.fromkeys(SIX, 2) | {
    "early_concat": 3,
    "many_to_one": 3,
    "bottleneck": 1,
    "only_seen": 2,
    "only_told": 2,
    "covered": 2,
    "faint": 2,
    "clip": 2,
    "clip_shuffled": 1,
    "gato": 2,
    "gato_control": 1,
    "gato_text": 1,
}
"""Cuántas semillas hay de cada cosa."""


def trainer(name: str) -> tuple[Any, Callable[[str, int], tuple[nn.Module, dict[str, Any]]]]:
    """La receta de una ejecución, y quién la entrena."""
    if name in (*FUSIONS, *SENSES, *DEVIATIONS):
        return recipe_of(name), fuse
    if name.startswith("clip"):
        return RECIPES_22["clip"], pair_up
    return RECIPES_22["gato"], act_and_write


def once(name: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior; los pesos quedan al lado."""
    recipe, train = trainer(name)
    made = {"recipe": recipe, "kind": name}
    return MEMORY_22.once(f"{name}-{seed}", made, partial(train, name, seed))


def chapter() -> dict[str, Any]:
    """Todos los entrenamientos, sus controles y lo que se mira en ellos."""
    runs = {name: [once(name, seed) for seed in range(n)] for name, n in COUNTS.items()}
    looked = {name: [sums(name, seed) for seed in range(COUNTS[name])] for name in SIX}
    errors = [mistaken("clip", seed) for seed in range(COUNTS["clip"])]
    return {
        "recipes": RECIPES_22,
        "deviations": DEVIATIONS,
        "runs": runs,
        "sums": looked,
        "mistaken": errors,
        "policies": policies(0),
    }


def stored(name: str) -> tuple[nn.Module, dict[str, Any]]:
    """El modelo de la semilla 0, redondeado, y lo que acierta así."""
    once(name, 0)
    make: dict[str, Callable] = {"clip": towers, "gato": lambda: Gato(gato_config())}
    empty = make.get(name, partial(reader, name))()
    model: Any = rounded(MEMORY_22.fill(empty, f"{name}-0")).eval()
    marks: dict[str, Any] = {}
    if name == "clip":
        marks = {k: x["text_of_image"] for k, x in found_among(model, 1000).items()}
    elif name == "gato":
        found = control.score(Driver(model), RECIPES_22["gato"]["carts"], 10_000)
        marks = {"steps": round(found["steps"], 2), "text": round(nats(model), 4)}
    else:
        marks = {k: multimodal.score(model, pairs(k))["accuracy"] for k in ("seen", "unseen")}
    recipe, _ = trainer(name)
    return model, {"recipe": recipe, "seed": 0, "marks": marks}


PESOS: dict[str, Callable] = {
    "sentidos": partial(stored, "early_concat"),
    "nombres": partial(stored, "clip"),
    "carro": partial(stored, "gato"),
}
