"""Capítulo 18: ajustar con 32 etiquetas, destilar, seguir órdenes y preferir.

Las tasas se eligen con dos semillas, siempre las mismas, y con validación. Lo elegido se repite con
``SEEDS_18`` al ajustar, con ``SEEDS_FEW`` al destilar y en las órdenes, y con las de ``ROUTES`` al
alinear, que es lo que más cuesta.

Cada ejecución se guarda en ``.cache/semillas-18`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from recuerdo import Memory
from torch import Tensor, nn

from atento import rng, trained
from atento.adaptation import (
    add_lora,
    count_parameters,
    distillation_loss,
    dpo_margin,
    freeze,
    layer_groups,
    leave_one_out,
    penalized_rewards,
    policy_gradient_loss,
    sequence_log_probs,
    slanted_triangular,
    thaw,
    token_kl,
)
from atento.decoding import sample
from atento.models.bert import Bert, BertConfig, MaskedWords, TokenClassifier
from atento.models.language import LanguageConfig, LanguageModel
from atento.tasks import agreement
from atento.training import fit, warmup_cosine

MEMORY_18 = Memory(18)
SEEDS_18 = range(10)
SEEDS_FEW = range(5)
CHOOSING = range(2)  # con cuántas semillas se elige la tasa, siempre con validación
CONFIG_15 = BertConfig(
    agreement.VOCAB_SIZE,
    d_model=64,
    n_heads=4,
    d_ff=128,
    n_layers=2,
    max_len=48,
    n_segments=3,
    init_std=0.05,
)

# --- Ajustar con 32 frases etiquetadas ------------------------------------------------------------

RECIPE_18: dict[str, Any] = {
    "labelled": 32,
    "validation": 300,
    "tests": 500,
    "steps": 150,
    "warmup": 15,
    "betas": [0.9, 0.98],
    "rank": 4,
    "decay": 2.6,
    "grid": [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0],
    "first": [1e-3, 3e-3, 1e-2, 3e-2],
}
ATTENTION = ("project_query", "project_value")
EVERYTHING = (*ATTENTION, "project_key", "project_output", "expand", "contract")
MANNERS = (
    "todo",
    "sin-entrada",
    "sin-bloque",
    "lora",
    "cabeza",
    "lora-qv",
    "capas",
    "cero",
    "cero-capas",
)
Lot = tuple[Tensor, Tensor]


def knowing() -> Bert:
    """El codificador del capítulo 15, ya entrenado."""
    model = trained.fill(MaskedWords(Bert(CONFIG_15)), "concordancia-15")
    assert isinstance(model, MaskedWords)
    return model.bert


def nouns(sentences: list[agreement.Sentence]) -> Lot:
    """Las frases y las etiquetas de sus dos nombres, que son las que hay que pensar."""
    wanted = agreement.labels(sentences)
    return agreement.batch(sentences), wanted.masked_fill(wanted == 0, -100)


def tagged(sentences: list[agreement.Sentence]) -> Lot:
    """Las frases y la etiqueta de cada palabra."""
    return agreement.batch(sentences), agreement.labels(sentences)


@cache
def data(seed: int) -> dict[str, list[agreement.Sentence]]:
    """Las frases de entrenar, las de validación y las de prueba; ninguna está en dos sitios."""
    r = RECIPE_18
    few = agreement.generate(r["labelled"], rng.generator(3000 + seed))
    tests = agreement.generate(r["tests"], rng.generator(2000 + seed), split="test")
    used = {s.words for s in tests}
    apart = agreement.generate(2 * r["validation"], rng.generator(5000 + seed), split="test")
    return {
        "train": few,
        "validation": [s for s in apart if s.words not in used][: r["validation"]],
        "test": tests,
    }


def layers_of(head: TokenClassifier) -> list[nn.Module]:
    """Las capas, de abajo arriba."""
    return [head.bert.embed, *head.bert.encoder.blocks, head.classify]


def prepared(manner: str, rank: int | None = None) -> TokenClassifier:
    """El modelo, con lo que se vaya a mover suelto y lo demás quieto."""
    new = manner.startswith("cero")
    head = TokenClassifier(Bert(CONFIG_15) if new else knowing(), len(agreement.ROLES))
    if manner == "cabeza":
        freeze(head, keep=[head.classify])
    elif manner == "sin-entrada":
        head.bert.embed.requires_grad_(False)
    elif manner == "sin-bloque":
        head.bert.encoder.blocks[0].requires_grad_(False)
    elif manner.startswith("lora"):
        targets = ATTENTION if manner == "lora-qv" else EVERYTHING
        add_lora(head, rank or RECIPE_18["rank"], targets=targets)
        head.classify.requires_grad_(True)
    return head


def tag_loss(head: nn.Module, lot: Lot) -> Tensor:
    """La entropía cruzada de las etiquetas; −100 donde no hay."""
    return F.cross_entropy(head(lot[0]).flatten(0, 1), lot[1].flatten(), ignore_index=-100)


@torch.no_grad()
def accuracy(head: nn.Module, lot: Lot) -> float:
    """Qué parte de los nombres acierta."""
    right = head.eval()(lot[0]).argmax(-1) == lot[1]
    return round(right[lot[1] != -100].float().mean().item(), 4)


def tune(
    manner: str,
    rate: float,
    seed: int,
    *,
    steps: int | None = None,
    rank: int | None = None,
    slanted: bool = False,
    gradual: bool = False,
    wait: int = 0,
) -> dict[str, Any]:
    """Una ejecución: lo que acierta en validación y en prueba, y los segundos de un paso."""
    r, found = RECIPE_18, data(seed)
    steps = steps or r["steps"]
    rng.seed_all(seed)
    head = prepared(manner, rank)
    trains = [p for p in head.parameters() if p.requires_grad]
    layered = manner.endswith("capas")
    groups = layer_groups(layers_of(head), rate, decay=r["decay"]) if layered else trains
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=tuple(r["betas"]), fused=True)
    schedule = slanted_triangular(steps) if slanted else warmup_cosine(steps, warmup=r["warmup"])
    lot = tagged(found["train"])

    def batches(step: int) -> Lot:
        if gradual:  # una capa más cada quinta parte de los pasos
            thaw(layers_of(head), min(4, 1 + 5 * step // steps))
        elif wait:  # primero la cabeza sola, y después todo de golpe
            thaw(layers_of(head), 1 if step < wait else 4)
        return lot

    clock = time.process_time()
    fit(
        head, batches, tag_loss, steps=steps, optimizer=optimizer, schedule=schedule, progress=False
    )
    spent = (time.process_time() - clock) / steps
    head.requires_grad_(True)
    return {
        "validation": accuracy(head, nouns(found["validation"])),
        "test": accuracy(head, nouns(found["test"])),
        "ms": round(1000 * spent, 2),
    }


def once(name: str, made: Any, do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior."""
    return MEMORY_18.once(name, {"recipe": made}, do)


def tuned(manner: str, rate: float, seed: int, **options: Any) -> dict[str, Any]:
    """Una ejecución de :func:`tune`, guardada."""
    told = "".join(f"-{key}{value}" for key, value in sorted(options.items()))
    made = [RECIPE_18, manner, rate, seed, options]
    return once(
        f"tune-{manner}-{rate:g}-{seed}{told}", made, partial(tune, manner, rate, seed, **options)
    )


def chosen(
    rates: list[float], run: Callable[[float, int], dict[str, Any]], seeds: range
) -> dict[str, Any]:
    """La tasa de mejor validación y, con ella, todas las semillas."""
    found = {x: [run(x, seed) for seed in CHOOSING] for x in sorted(rates)}
    best = max(found, key=lambda x: sum(one["validation"] for one in found[x]))
    runs = [run(best, seed) for seed in seeds]
    table = {f"{x:g}": [one["validation"] for one in found[x]] for x in found}
    return {"best": f"{best:g}", "rates": table, "runs": runs}


def stretched(
    grid: list[float],
    first: list[float],
    run: Callable[[float, int], dict[str, Any]],
    seeds: range = SEEDS_FEW,
) -> dict[str, Any]:
    """Lo de :func:`chosen`; la rejilla se alarga hasta que la mejor tasa no esté en un borde."""
    rates = list(first)
    while True:
        found = chosen(rates, run, CHOOSING)
        place = grid.index(float(found["best"]))
        missing = [x for x in (grid[place - 1], grid[place + 1]) if x not in rates]
        if not missing:
            return chosen(rates, run, seeds)
        rates += missing


def sweep(manner: str, seeds: range = SEEDS_18, **options: Any) -> dict[str, Any]:
    """Las tasas de una manera de ajustar, en la rejilla de todas."""
    run = partial(_tuned, manner, options)
    return stretched(RECIPE_18["grid"], RECIPE_18["first"], run, seeds)


def _tuned(manner: str, options: dict[str, Any], rate: float, seed: int) -> dict[str, Any]:
    return tuned(manner, rate, seed, **options)


def tuning() -> dict[str, Any]:
    """Qué se mueve: la misma rejilla de tasas para cada manera."""
    found = {}
    for name in MANNERS:
        found[name] = sweep(name)
        found[name]["trained"], found[name]["total"] = count_parameters(prepared(name))
    return {"recipe": RECIPE_18, "manners": found}


SECONDS = {"lora": 125, "cabeza": 290}
"""Los pasos que da cada una en lo que cuestan 150 de mover todo, en la máquina de la ficha."""


def seconds() -> dict[str, Any]:
    """A iguales segundos de procesador, y no a iguales pasos."""
    found = {}
    for name, steps in SECONDS.items():
        best = float(sweep(name, CHOOSING)["best"])
        found[name] = [tuned(name, best, seed, steps=steps)["test"] for seed in SEEDS_18]
    return {"steps": SECONDS, "test": found}


# --- Destilar -------------------------------------------------------------------------------------

DISTIL_18: dict[str, Any] = {
    "d_model": 32,
    "n_layers": 1,
    "d_ff": 64,
    "unlabelled": 1000,
    "steps": 300,
    "batch": 32,
    "warmup": 15,
    "rates": [3e-3, 1e-2, 3e-2],
    "temperature": 2.0,
}
DISTIL_GRID = [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1]
LESSONS = ("32, verdad", "32, maestro", "100, respuestas", "100, maestro", "100, verdad")


def teacher(seed: int) -> TokenClassifier:
    """El maestro: el modelo entero, con LoRA, ajustado con las 32 frases."""
    path = MEMORY_18.weights(f"maestro-{seed}")
    rng.seed_all(seed)
    head = prepared("lora")
    if path.exists():
        head.load_state_dict(torch.load(path, weights_only=True))
        return head.eval()
    trains = [p for p in head.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trains, lr=1e-2, betas=(0.9, 0.98), fused=True)
    schedule = warmup_cosine(RECIPE_18["steps"], warmup=RECIPE_18["warmup"])
    lots = [tagged(data(seed)["train"])]
    fit(head, lots, tag_loss, steps=150, optimizer=optimizer, schedule=schedule, progress=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(head.state_dict(), path)
    return head.eval()


def student() -> TokenClassifier:
    """El alumno: una capa de la mitad de ancho, sin entrenar."""
    r = DISTIL_18
    sizes = {name: r[name] for name in ("d_model", "n_layers", "d_ff")}
    config = BertConfig(
        agreement.VOCAB_SIZE, n_heads=4, max_len=48, n_segments=3, init_std=0.05, **sizes
    )
    return TokenClassifier(Bert(config), len(agreement.ROLES))


def teach(lesson: str, rate: float, seed: int) -> dict[str, Any]:
    """Un alumno, con las frases y las respuestas que se digan."""
    r, found = DISTIL_18, data(seed)
    size, _, source = lesson.partition(", ")
    more = agreement.generate(r["unlabelled"], rng.generator(6000 + seed))
    ids, labels = tagged(found["train"] if size == "32" else more[: int(size)])
    real = labels != -100
    master = teacher(seed)
    with torch.no_grad():
        told = master(ids)
    if source == "respuestas":
        labels = told.argmax(-1).masked_fill(~real, -100)
    draws = rng.generator(seed)
    rng.seed_all(seed)
    model = student()

    def lot(step: int) -> Tensor:
        return torch.randperm(len(ids), generator=draws)[: r["batch"]]

    def loss(model: nn.Module, rows: Tensor) -> Tensor:
        logits = model(ids[rows])
        if source == "maestro":
            here = real[rows]
            return distillation_loss(logits[here], told[rows][here], temperature=r["temperature"])
        return F.cross_entropy(logits.flatten(0, 1), labels[rows].flatten(), ignore_index=-100)

    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), fused=True)
    schedule = warmup_cosine(r["steps"], warmup=r["warmup"])
    fit(model, lot, loss, steps=r["steps"], optimizer=optimizer, schedule=schedule, progress=False)
    return {
        "validation": accuracy(model, nouns(found["validation"])),
        "test": accuracy(model, nouns(found["test"])),
    }


def lesson(name: str, rate: float, seed: int) -> dict[str, Any]:
    """Una ejecución de :func:`teach`, guardada."""
    told = f"teach-{name.replace(', ', '-')}-{rate:g}-{seed}"
    return once(told, [DISTIL_18, name, rate, seed], partial(teach, name, rate, seed))


def distilling() -> dict[str, Any]:
    """Cada lección con su tasa, la de mejor validación, y el maestro."""
    found = {
        name: stretched(DISTIL_GRID, DISTIL_18["rates"], partial(lesson, name)) for name in LESSONS
    }
    masters = [accuracy(teacher(seed), nouns(data(seed)["test"])) for seed in SEEDS_FEW]
    sizes = [sum(p.numel() for p in model.parameters()) for model in (student(), prepared("todo"))]
    return {"recipe": DISTIL_18, "lessons": found, "teacher": masters, "sizes": sizes}


# --- Seguir órdenes -------------------------------------------------------------------------------

ORDERS_18: dict[str, Any] = {
    "d_model": 48,
    "n_heads": 4,
    "d_ff": 96,
    "n_layers": 2,
    "base_steps": 1500,
    "base_batch": 64,
    "base_rate": 3e-3,
    "dialogues": 512,
    "steps": 300,
    "batch": 32,
    "warmup": 20,
    "tests": 400,
    "rates": [2e-3, 4e-3, 8e-3],
}
NOUNS_18 = "gato luna pan río casa mesa flor tren pez nube sol mar rana uva pino tela".split()
SHAPES = ("repite", "al revés", "la primera", "la segunda", "la última")
CAPITALS = "en mayúsculas"
UNSEEN = ("al revés", "la segunda")  # las que nunca se piden en mayúsculas al ajustar
MARKS_18 = ("⟨relleno⟩", "⟨usuario⟩", "⟨asistente⟩", "⟨fin⟩", ".")
WORDS_18 = (*MARKS_18, *SHAPES, CAPITALS, *NOUNS_18, *(x.upper() for x in NOUNS_18))
NUMBER_18 = {word: i for i, word in enumerate(WORDS_18)}
ORDER_MANNERS = {
    "base, en la respuesta": (True, True),
    "base, en todo": (True, False),
    "de cero, en la respuesta": (False, True),
    "de cero, en todo": (False, False),
}
Dialogue = tuple[list[str], list[str]]


def obey(shape: str, capitals: bool, words: list[str]) -> list[str]:
    """Lo que hay que contestar."""
    places = {"la primera": words[:1], "la segunda": words[1:2], "la última": words[-1:]}
    said = {"repite": words, "al revés": words[::-1], **places}[shape]
    return [w.upper() for w in said] if capitals else said


def lists(n: int, source: torch.Generator, *, apart: bool) -> list[list[str]]:
    """``n`` listas de tres palabras; una de cada cinco está apartada para el examen."""
    found: list[list[str]] = []
    while len(found) < n:
        drawn = torch.randperm(len(NOUNS_18), generator=source)[:3].tolist()
        if (sum(a * b for a, b in zip(drawn, (1, 7, 3), strict=True)) % 5 == 0) == apart:
            found.append([NOUNS_18[i] for i in drawn])
    return found


def dialogue(shape: str, capitals: bool, words: list[str]) -> Dialogue:
    """Lo que dice cada uno, con sus marcas."""
    asked = ["⟨usuario⟩", shape, *([CAPITALS] if capitals else []), *words, "⟨asistente⟩"]
    return asked, [*obey(shape, capitals, words), "⟨fin⟩"]


def asked_of(shape: str, capitals: bool) -> bool:
    """Si la orden es de las que no se han visto al ajustar."""
    return capitals and shape in UNSEEN


def dialogues(n: int, source: torch.Generator, *, apart: bool, unseen: bool) -> list[Dialogue]:
    """``n`` diálogos: con las listas apartadas o no, y con las órdenes vistas o las nuevas."""
    kinds = [(s, c) for s in SHAPES for c in (False, True) if asked_of(s, c) == unseen]
    drawn = torch.randint(len(kinds), (n,), generator=source).tolist()
    rows = lists(n, source, apart=apart)
    return [dialogue(*kinds[i], words) for i, words in zip(drawn, rows, strict=True)]


def packed(found: list[Dialogue]) -> tuple[Tensor, Tensor]:
    """Los números, con relleno detrás, y dónde está la respuesta."""
    width = max(len(a) + len(b) for a, b in found)
    ids = torch.zeros(len(found), width, dtype=torch.long)
    answer = torch.zeros(len(found), width, dtype=torch.bool)
    for i, (a, b) in enumerate(found):
        ids[i, : len(a) + len(b)] = torch.tensor([NUMBER_18[w] for w in (*a, *b)])
        answer[i, len(a) : len(a) + len(b)] = True
    return ids, answer


def writer(vocab: int, r: dict[str, Any]) -> LanguageModel:
    """Un modelo que solo escribe, sin entrenar."""
    sizes = {name: r[name] for name in ("d_model", "n_heads", "d_ff", "n_layers")}
    return LanguageModel(
        LanguageConfig(vocab, positions="rotary", tying=True, pad_id=None, **sizes)
    )


def written_loss(model: nn.Module, lot: tuple[Tensor, Tensor]) -> Tensor:
    """La entropía cruzada de cada palabra marcada, con las anteriores delante."""
    ids, counts = lot
    logits = model(ids[:, :-1])
    labels = ids[:, 1:].masked_fill(~counts[:, 1:], -100)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


@torch.no_grad()
def obeyed(model: nn.Module, found: list[Dialogue]) -> float:
    """Qué parte de las respuestas escribe enteras, eligiendo siempre la palabra más probable."""
    ids, answer = packed(found)
    right = model.eval()(ids[:, :-1]).argmax(-1) == ids[:, 1:]
    return round((right | ~answer[:, 1:]).all(1).float().mean().item(), 4)


@torch.no_grad()
def capitals(model: nn.Module, found: list[Dialogue]) -> float:
    """Qué parte de lo que contesta está en mayúsculas, acierte o no las palabras."""
    ids, answer = packed(found)
    said = model.eval()(ids[:, :-1]).argmax(-1)[answer[:, 1:]]
    words = said[said > NUMBER_18["⟨asistente⟩"] + 2]
    return round((words >= NUMBER_18["GATO"]).float().mean().item(), 4)


def plain_text(n: int, source: torch.Generator) -> Tensor:
    """El texto del modelo base: una lista y la misma cambiada de una de las diez maneras."""
    kinds = [(s, c) for s in SHAPES for c in (False, True)]
    drawn = torch.randint(len(kinds), (n,), generator=source).tolist()
    rows = lists(n, source, apart=False)
    texts = [
        (words, [".", *obey(*kinds[i], words), "⟨fin⟩"])
        for i, words in zip(drawn, rows, strict=True)
    ]
    return packed(texts)[0]


def base_orders() -> LanguageModel:
    """El modelo base, que ha visto listas cambiadas y ninguna orden."""
    r, source = ORDERS_18, rng.generator(18)
    rng.seed_all(18)
    model = writer(len(WORDS_18), r)
    path = MEMORY_18.weights("ordenes-base")
    if path.exists():
        model.load_state_dict(torch.load(path, weights_only=True))
        return model

    def lot(step: int) -> tuple[Tensor, Tensor]:
        ids = plain_text(r["base_batch"], source)
        return ids, ids != 0

    optimizer = torch.optim.AdamW(
        model.parameters(), lr=r["base_rate"], betas=(0.9, 0.98), fused=True
    )
    schedule = warmup_cosine(r["base_steps"], warmup=60)
    history = fit(
        model,
        lot,
        written_loss,
        steps=r["base_steps"],
        optimizer=optimizer,
        schedule=schedule,
        progress=False,
    )
    print(
        "base",
        [round(sum(history.loss[i : i + 50]) / 50, 3) for i in range(0, r["base_steps"], 100)],
        flush=True,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), path)
    return model


def instructing(manner: str, rate: float, seed: int, *, steps: int | None = None) -> LanguageModel:
    """Ajusta con diálogos."""
    r = ORDERS_18 | ({"steps": steps} if steps else {})
    known, only = ORDER_MANNERS[manner]
    ids, answer = packed(
        dialogues(r["dialogues"], rng.generator(100 + seed), apart=False, unseen=False)
    )
    counts = answer if only else ids != 0
    draws = rng.generator(seed)
    rng.seed_all(seed)
    model = (
        trained.fill(writer(len(WORDS_18), r), "ordenes-18") if known else writer(len(WORDS_18), r)
    )

    def lot(step: int) -> tuple[Tensor, Tensor]:
        rows = torch.randint(len(ids), (r["batch"],), generator=draws)
        return ids[rows], counts[rows]

    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), fused=True)
    schedule = warmup_cosine(r["steps"], warmup=r["warmup"])
    fit(
        model,
        lot,
        written_loss,
        steps=r["steps"],
        optimizer=optimizer,
        schedule=schedule,
        progress=False,
    )
    return model.eval()


def instruct(manner: str, rate: float, seed: int, *, steps: int | None = None) -> dict[str, Any]:
    """Lo que obedece con listas nuevas, con órdenes vistas y con nuevas."""
    r, model = ORDERS_18, instructing(manner, rate, seed, steps=steps)
    valid, test = rng.generator(200 + seed), rng.generator(300 + seed)
    new = dialogues(r["tests"], test, apart=True, unseen=True)
    return {
        "validation": obeyed(model, dialogues(200, valid, apart=True, unseen=False)),
        "seen": obeyed(model, dialogues(r["tests"], test, apart=True, unseen=False)),
        "unseen": obeyed(model, new),
        "capitals": capitals(model, new),
    }


def instructed(manner: str, rate: float, seed: int) -> dict[str, Any]:
    """Una ejecución de :func:`instruct`, guardada."""
    told = f"instruct-{manner.replace(', ', '-').replace(' ', '-')}-{rate:g}-{seed}"
    return once(told, [ORDERS_18, manner, rate, seed], partial(instruct, manner, rate, seed))


LONGER_SEEDS = range(3)
ORDER_GRID = [5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2]


def orders() -> dict[str, Any]:
    """Cada manera, con su tasa: la de mejor validación de la misma rejilla."""
    found = {
        x: stretched(ORDER_GRID, ORDERS_18["rates"], partial(instructed, x)) for x in ORDER_MANNERS
    }
    longer = {}
    for name in ("base, en todo", "de cero, en la respuesta"):
        rate, steps = float(found[name]["best"]), 3 * ORDERS_18["steps"]
        longer[name] = [
            once(
                f"longer-{name.replace(', ', '-').replace(' ', '-')}-{rate:g}-{seed}",
                [ORDERS_18, name, rate, seed, steps],
                partial(instruct, name, rate, seed, steps=steps),
            )
            for seed in LONGER_SEEDS
        ]
    return {"recipe": ORDERS_18, "manners": found, "longer": longer}


def stored_orders() -> tuple[LanguageModel, dict[str, Any]]:
    """El modelo base de las órdenes, que viaja guardado."""
    model = trained.rounded(base_orders()).eval()
    tests = [dialogues(400, rng.generator(7), apart=True, unseen=x) for x in (False, True)]
    marks = {"seen": obeyed(model, tests[0]), "unseen": obeyed(model, tests[1])}
    return model, {"recipe": ORDERS_18, "seed": 18, "marks": marks}


def stored_instructed() -> tuple[LanguageModel, dict[str, Any]]:
    """El que sigue órdenes, con la primera semilla, que viaja guardado."""
    name = "base, en la respuesta"
    rate = float(stretched(ORDER_GRID, ORDERS_18["rates"], partial(instructed, name))["best"])
    model = trained.rounded(instructing(name, rate, 0)).eval()
    tests = [dialogues(400, rng.generator(7), apart=True, unseen=x) for x in (False, True)]
    marks = {"seen": obeyed(model, tests[0]), "unseen": obeyed(model, tests[1])}
    return model, {"recipe": ORDERS_18 | {"rate": rate}, "seed": 0, "marks": marks}


# --- Preferir -------------------------------------------------------------------------------------

ALIGN_18: dict[str, Any] = {
    "d_model": 48,
    "n_heads": 4,
    "d_ff": 96,
    "n_layers": 2,
    "sentences": 8000,
    "base_steps": 800,
    "base_batch": 64,
    "base_rate": 3e-3,
    "length": 16,
    "prompts": 8,
    "group": 4,
    "steps": 120,
    "every": 30,
    "pairs": 1000,
    "held": 150,
    "batch": 32,
    "clip": 1.0,
    "tests": 300,
}
ROUTES: dict[tuple[str, float, float, int], int] = {
    # cómo, con qué β, a qué tasa y cuántos pasos: con cuántas semillas
    **{("política", beta, 1e-3, 120): 5 for beta in (1.0, 0.2, 0.1, 0.0)},
    ("verdad", 0.0, 1e-3, 120): 5,  # la nota es el juicio verdadero
    ("dentro", 0.2, 1e-3, 120): 5,  # empieza en la política rota con β = 0.1
    ("política", 0.0, 1e-4, 120): 5,
    ("dpo", 0.2, 1e-3, 120): 5,
    ("dpo", 0.2, 1e-3, 600): 3,
}
_SHELF = {
    form: name
    for name in (
        "DETERMINERS",
        "OTHERS",
        "NOUNS",
        "ADJECTIVES",
        "POSITIVE",
        "NEGATIVE",
        "VERBS",
        "COPULA",
    )
    for row in getattr(agreement, name)
    for form in row.split()
}
GOOD = {form for row in agreement.POSITIVE for form in row.split()}
BAD = {form for row in agreement.NEGATIVE for form in row.split()} | {"no"}


def rule(words: list[str]) -> int:
    """La recompensa de regla: las palabras buenas menos las malas y los «no»."""
    return sum((w in GOOD) - (w in BAD) for w in words)


def well_formed(words: list[str]) -> bool:
    """Si es una frase de la gramática, con todas sus concordancias."""
    kinds = [_SHELF.get(w, w) for w in words]
    acts, negated = "a" in words[4:6], "no" in words[7:9]
    wanted = [
        "DETERMINERS",
        "NOUNS",
        "ADJECTIVES",
        "que",
        "VERBS",
        *["a"] * acts,
        "OTHERS",
        "NOUNS",
    ]
    wanted += [*["no"] * negated, "COPULA", None, None]
    if len(kinds) != len(wanted) or any(b and a != b for a, b in zip(kinds, wanted, strict=True)):
        return False
    if words[-2] not in ("muy", "hoy") or kinds[-1] not in ("POSITIVE", "NEGATIVE"):
        return False
    other = 5 + acts
    does = words[0] if acts else words[other]
    traits = agreement.traits
    same = all(traits(words[0]) <= traits(words[i]) for i in (1, 2, -1, -3))
    return (
        same
        and traits(does) <= traits(words[4])
        and traits(words[other]) == traits(words[other + 1])
    )


def truly_good(words: list[str]) -> bool:
    """El juicio verdadero: una frase bien hecha que dice algo bueno, sin «no»."""
    return well_formed(words) and words[-1] in GOOD and "no" not in words


def base_sentences() -> LanguageModel:
    """El modelo que escribe frases de la gramática."""
    r, source = ALIGN_18, rng.generator(81)
    rng.seed_all(81)
    model = writer(agreement.VOCAB_SIZE, r)
    path = MEMORY_18.weights("frases-base")
    if path.exists():
        model.load_state_dict(torch.load(path, weights_only=True))
        return model
    ids = agreement.batch(agreement.generate(r["sentences"], source))

    def lot(step: int) -> tuple[Tensor, Tensor]:
        rows = ids[torch.randint(len(ids), (r["base_batch"],), generator=source)]
        return rows, rows != 0

    optimizer = torch.optim.AdamW(
        model.parameters(), lr=r["base_rate"], betas=(0.9, 0.98), fused=True
    )
    schedule = warmup_cosine(r["base_steps"], warmup=60)
    fit(
        model,
        lot,
        written_loss,
        steps=r["base_steps"],
        optimizer=optimizer,
        schedule=schedule,
        progress=False,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), path)
    return model


def reference() -> LanguageModel:
    """La referencia: el modelo guardado, quieto."""
    model = writer(agreement.VOCAB_SIZE, ALIGN_18)
    return trained.fill(model, "frases-18").eval().requires_grad_(False)


def starts(n: int, seed: int | torch.Generator, split: str = "train") -> Tensor:
    """``n`` comienzos, (n, 4): la marca y las tres palabras del sujeto."""
    return agreement.batch(agreement.generate(n, seed, split=split))[:, :4]


def write(model: LanguageModel, prompts: Tensor, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Lo que escribe, con su comienzo, y qué columnas ha escrito él."""
    said = model.generate(
        prompts,
        eos_id=agreement.SEP_ID,
        max_length=ALIGN_18["length"],
        strategy=sample,
        generator=source,
    )
    ended = (said == agreement.SEP_ID).cumsum(1)
    own = (ended == 0) | ((ended == 1) & (said == agreement.SEP_ID))  # hasta el primer fin
    mask = torch.cat([torch.zeros_like(prompts, dtype=torch.bool), own], 1)
    return torch.cat([prompts, said.clone()], 1), mask


def words_of(ids: Tensor) -> list[list[str]]:
    """Las palabras de cada fila, de detrás de la primera marca al primer fin."""
    rows = [
        row[1 : row.index(end) if (end := agreement.SEP_ID) in row else None]
        for row in ids.tolist()
    ]
    return [[agreement.WORDS[i] for i in row] for row in rows]


def log_probs(model: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
    """La log-probabilidad de lo escrito, (batch,)."""
    return sequence_log_probs(model(ids[:, :-1]), ids[:, 1:], mask[:, 1:])


@torch.no_grad()
def judged(model: LanguageModel, ref: LanguageModel, n: int, seed: int) -> dict[str, float]:
    """La recompensa de regla, el juicio verdadero y la KL, con frases de comienzos apartados."""
    source = rng.generator(seed)
    ids, mask = write(model, starts(n, source, "test"), source)
    texts = words_of(ids)
    per_token = token_kl(model(ids[:, :-1]), ref(ids[:, :-1]))
    return {
        "rule": round(sum(map(rule, texts)) / n, 3),
        "good": round(sum(map(truly_good, texts)) / n, 4),
        "kl": round((per_token * mask[:, 1:]).sum(1).mean().item(), 3),
    }


def align(how: str, beta: float, rate: float, steps: int, seed: int) -> dict[str, Any]:
    """Una ejecución, con lo que se mide por el camino."""
    r, ref = ALIGN_18, reference()
    policy = (broken(seed) if how == "dentro" else copy.deepcopy(ref)).requires_grad_(True)
    reward = truly_good if how == "verdad" else rule
    source = rng.generator(seed)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=rate, weight_decay=0.0, fused=True)
    path = [{"step": 0, **judged(policy.eval(), ref, 100, 900 + seed)}]
    pairs = preferences(ref, source) if how == "dpo" else None
    curve = []
    for step in range(steps):
        policy.train()
        if pairs is None:
            loss = reinforce(policy, ref, beta, source, reward)
        else:
            rows = torch.randint(len(pairs["train"][0][0]), (r["batch"],), generator=source)
            margin = margins(policy, pairs["train"], rows, beta)
            loss = -F.logsigmoid(margin).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), r["clip"])
        optimizer.step()
        if (step + 1) % r["every"] == 0:
            path.append({"step": step + 1, **judged(policy.eval(), ref, 100, 900 + seed)})
            if pairs is not None:
                with torch.no_grad():
                    margin = margins(policy, pairs["held"], torch.arange(r["held"]), beta)
                right = (margin > 0).float().mean().item()
                curve.append(
                    [round(loss.item(), 3), round(margin.mean().item(), 3), round(right, 3)]
                )
    if (how, beta) == BROKEN:
        torch.save(policy.state_dict(), MEMORY_18.weights(f"rota-{seed}"))
    source = rng.generator(500 + seed)
    ids, _ = write(policy.eval(), starts(3, 11, "test"), source)
    return {
        **judged(policy, ref, r["tests"], 700 + seed),
        "path": path,
        "pairs": curve,
        "said": [" ".join(words) for words in words_of(ids)],
    }


BROKEN = ("política", 0.1)


def broken(seed: int) -> LanguageModel:
    """La política que se rompe con β = 0.1, para empezar dentro del agujero."""
    path = MEMORY_18.weights(f"rota-{seed}")
    if not path.exists():
        MEMORY_18.folder.mkdir(parents=True, exist_ok=True)
        align(*BROKEN, 1e-3, 120, seed)
    model = copy.deepcopy(reference())
    model.load_state_dict(torch.load(path, weights_only=True))
    return model


def reinforce(
    policy: LanguageModel,
    ref: LanguageModel,
    beta: float,
    source: torch.Generator,
    reward: Callable[[list[str]], float] = rule,
) -> Tensor:
    """La pérdida de un paso del gradiente de política, con β KL y la línea de base de las demás."""
    r = ALIGN_18
    prompts = starts(r["prompts"], source).repeat_interleave(r["group"], 0)
    ids, mask = write(policy, prompts, source)
    log_p = log_probs(policy, ids, mask)
    with torch.no_grad():
        log_ref = log_probs(ref, ids, mask)
    rewards = torch.tensor([float(reward(words)) for words in words_of(ids)])
    rewards = penalized_rewards(rewards, log_p, log_ref, beta=beta)
    others = leave_one_out(rewards.view(r["prompts"], r["group"])).flatten()
    return policy_gradient_loss(log_p, rewards, others)


Side = tuple[Tensor, Tensor, Tensor]


def preferences(ref: LanguageModel, source: torch.Generator) -> dict[str, tuple[Side, Side]]:
    """Parejas de la referencia que la regla ordena: (preferida, rechazada), con su log π_ref."""
    r = ALIGN_18
    prompts = starts(r["pairs"], source).repeat_interleave(2, 0)
    ids, mask = write(ref, prompts, source)
    with torch.no_grad():
        log_ref = log_probs(ref, ids, mask)
    rewards = torch.tensor([rule(words) for words in words_of(ids)]).view(-1, 2)
    first = torch.arange(0, len(ids), 2)
    better = first + (rewards[:, 1] > rewards[:, 0])
    worse = 2 * first + 1 - better
    keep = rewards[:, 0] != rewards[:, 1]
    sides = [tuple(x[rows[keep]] for x in (ids, mask, log_ref)) for rows in (better, worse)]
    cut = {"held": slice(0, r["held"]), "train": slice(r["held"], None)}
    return {
        name: tuple(tuple(x[part] for x in side) for side in sides) for name, part in cut.items()
    }


def margins(policy: nn.Module, pairs: tuple[Side, Side], rows: Tensor, beta: float) -> Tensor:
    """El margen de DPO de esas parejas."""
    (a, am, ar), (b, bm, br) = pairs
    both = log_probs(policy, torch.cat([a[rows], b[rows]]), torch.cat([am[rows], bm[rows]]))
    return dpo_margin(both[: len(rows)], both[len(rows) :], ar[rows], br[rows], beta=beta)


def aligned(how: str, beta: float, rate: float, steps: int, seed: int) -> dict[str, Any]:
    """Una ejecución de :func:`align`, guardada."""
    name = f"{how}-{beta:g}-{rate:g}-{steps}"
    do = partial(align, how, beta, rate, steps, seed)
    return once(f"align-{name}-{seed}", [ALIGN_18, name, seed], do)


def aligning() -> dict[str, Any]:
    """Todos los caminos, cada uno con sus semillas."""
    found = {}
    for (how, beta, rate, steps), seeds in ROUTES.items():
        name = f"{how}-{beta:g}-{rate:g}-{steps}"
        found[name] = [aligned(how, beta, rate, steps, seed) for seed in range(seeds)]
    return {"recipe": ALIGN_18, "routes": found}


def stored_sentences() -> tuple[LanguageModel, dict[str, Any]]:
    """El modelo que escribe frases, que viaja guardado."""
    model = trained.rounded(base_sentences()).eval()
    source = rng.generator(6)
    texts = words_of(write(model, starts(500, source, "test"), source)[0])
    marks = judged(model, model, 500, 5) | {"formed": sum(map(well_formed, texts)) / 500}
    return model, {"recipe": ALIGN_18, "seed": 81, "marks": marks}


# --- Lo demás del ajuste --------------------------------------------------------------------------

RANKS = (1, 2, 8, 16)
SLANTED = {
    "tasa por capa": ("capas", {}),
    "triangular": ("todo", {"slanted": True}),
    "la cabeza primero": ("todo", {"wait": 30}),
    "poco a poco": ("todo", {"gradual": True}),
    "las tres": ("capas", {"slanted": True, "gradual": True}),
}


def ranks() -> dict[str, Any]:
    """LoRA en todas las matrices, con otros rangos y la tasa elegida con rango 4."""
    best = float(sweep("lora", CHOOSING)["best"])
    return {str(n): [tuned("lora", best, seed, rank=n) for seed in SEEDS_18] for n in RANKS}


def ulmfit() -> dict[str, Any]:
    """Las tres ideas de ULMFiT, por separado y juntas."""
    return {name: sweep(manner, **options) for name, (manner, options) in SLANTED.items()}


def chapter() -> dict[str, Any]:
    """Todo lo guardado."""
    return {name: do() for name, do in PARTES.items()}


PESOS: dict[str, Any] = {
    "ordenes": stored_orders,
    "instruido": stored_instructed,
    "frases": stored_sentences,
}
PARTES: dict[str, Any] = {
    "tuning": tuning,
    "orders": orders,
    "ranks": ranks,
    "ulmfit": ulmfit,
    "distilling": distilling,
    "seconds": seconds,
    "aligning": aligning,
}
