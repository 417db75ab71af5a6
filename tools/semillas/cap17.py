"""Capítulo 17: un T5 que titula partes, y un solo modelo que traduce, suma, titula y contesta.

El que titula se entrena con dos maneras de ordenar el parte y con las seis. Los controles del otro
son la misma receta con los sumandos leídos al derecho, y solo con preguntas. Cada ejecución se
guarda en ``.cache/semillas-17`` con su receta: si la orden se corta, sigue donde iba, y para
repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import permutations
from typing import Any

import torch
from recuerdo import Memory

from atento import rng
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig, seq2seq_loss
from atento.models.t5 import T5, T5Config
from atento.tasks import reports, translation
from atento.tasks import text_to_text as tt
from atento.trained import rounded
from atento.training import evaluate, fit, parameter_groups, warmup_cosine
from atento.watching import watching

RECIPE_17: dict[str, Any] = {
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 88,
    "n_layers": 2,
    "positions": "rotary",
    "cross_positions": "rotary",
    "normalization": "rms",
    "tying": "all",
    "turns": [
        *("translate-1", "add", "summarize-chronicle", "translate-2", "add", "answer"),
        *("translate-1", "add", "summarize-pyramid", "translate-2", "add", "answer"),
    ],
    "steps": 2200,
    "batch": 48,
    "rate": 4e-3,
    "warmup": 60,
    "weight_decay": 0.1,
    "betas": [0.9, 0.98],
    "every": 100,
    "validation": 100,  # ejemplos reservados de cada tarea con que se mira la curva
    "tests": 300,
    "test_seed": 10**6,
    "inversions": 400,
    "inversion_seed": 7,
}
TITLES_17: dict[str, Any] = {
    "d_ff": 128,  # lo demás, lo que trae T5Config
    "steps": 500,
    "batch": 32,
    "rate": 5e-3,
    "warmup": 60,
    "weight_decay": 0.1,
    "betas": [0.9, 0.98],
    "every": 20,
    "tests": 300,
    "test_seed": 8,
}
ORDERS = {
    "dos": [*reports.LAYOUTS.values()],
    "seis": [*permutations(("antecedentes", "hechos", "medidas"))],
}
SWAPPED = {"hechos": "antecedentes", "antecedentes": "hechos"}
SEEDS, FORWARD_SEEDS, ALONE_SEEDS = 10, 3, 3
ANSWER_STEPS = RECIPE_17["steps"] * RECIPE_17["turns"].count("answer") // len(RECIPE_17["turns"])
TASKS = list(dict.fromkeys(RECIPE_17["turns"]))
OPTIONS = {"translate": lambda x: {"clauses": int(x)}, "summarize": lambda x: {"layout": x}}
MEMORY_17 = Memory(17)


def turn(name: str) -> tuple[str, dict[str, Any]]:
    """La tarea y las opciones de un turno: «translate-2» es traducir dos oraciones."""
    task, _, option = name.partition("-")
    return task, OPTIONS[task](option) if option else {}


def forward(example: tt.Example) -> tt.Example:
    """La misma suma, con los sumandos al derecho y el resultado de las unidades hacia arriba."""
    a, b = (f"{x:0{example.origin.digits}}" for x in (example.origin.a, example.origin.b))
    return example._replace(source=(*tt.PREFIXES["add"], *f"{a}+{b}"))


def some(n: int, name: str, source: Any, split: str, ahead: bool) -> list[tt.Example]:
    """``n`` ejemplos de un turno; con ``ahead``, las sumas se leen al derecho."""
    task, options = turn(name)
    found = tt.generate(n, source, task=task, split=split, **options)
    return [forward(x) for x in found] if ahead and task == "add" else found


def build(seed: int) -> Seq2Seq:
    """El modelo, sin entrenar."""
    rng.seed_all(seed)
    r = RECIPE_17
    same = ("d_model", "n_heads", "d_ff", "positions", "cross_positions", "normalization", "tying")
    layers = {"n_encoder_layers": r["n_layers"], "n_decoder_layers": r["n_layers"]}
    sizes = {name: r[name] for name in same} | layers
    return Seq2Seq(Seq2SeqConfig(len(tt.vocabulary()), attention_bias=False, **sizes))


def train(
    seed: int, turns: list[str], steps: int, ahead: bool = False
) -> tuple[Seq2Seq, dict[str, Any]]:
    """Entrena un modelo con esos turnos; lo devuelve con lo que acierta y sus curvas."""
    r, source = RECIPE_17, rng.generator(seed)
    names = list(dict.fromkeys(turns))
    model = build(seed)
    apart = {
        name: tt.batch(some(r["validation"], name, r["test_seed"] - 1, "test", ahead))
        for name in names
    }
    lots = [
        tt.batch(some(r["batch"], turns[i % len(turns)], source, "train", ahead))
        for i in range(steps)
    ]

    @torch.no_grad()
    def validation(now: Seq2Seq) -> dict[str, float]:
        return {name: seq2seq_loss(now, lot).item() for name, lot in apart.items()}

    optimizer = torch.optim.AdamW(
        parameter_groups(model, weight_decay=r["weight_decay"]),
        lr=r["rate"],
        betas=tuple(r["betas"]),
        fused=True,
    )
    history = fit(
        model,
        lots,
        seq2seq_loss,
        steps=steps,
        optimizer=optimizer,
        schedule=warmup_cosine(steps, warmup=r["warmup"]),
        callbacks=[evaluate(validation, every=r["every"])],
        progress=False,
    )
    losses = {
        name: [x for i, x in enumerate(history.loss) if turns[i % len(turns)] == name]
        for name in names
    }
    return model, {
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "train": {name: _tenths(values) for name, values in losses.items()},
        "curve": {n: [round(x, 4) for _, x in history.metrics[n]] for n in names},
        **marks(model, names, ahead),
    }


def _tenths(values: list[float]) -> list[float]:
    """La media de cada décima parte de una lista."""
    cuts = [round(i * len(values) / 10) for i in range(11)]
    return [
        round(sum(values[a:b]) / (b - a), 4) for a, b in zip(cuts, cuts[1:], strict=False) if b > a
    ]


# --- Medir ----------------------------------------------------------------------------------------


def marks(model: Seq2Seq, names: list[str], ahead: bool = False) -> dict[str, Any]:
    """Lo que acierta de cada tarea, en ejemplos reservados, y adónde mira al invertir."""
    r = RECIPE_17
    exact = {}
    for name in names:
        tests = some(r["tests"], name, r["test_seed"], "test", ahead)
        exact[name] = tt.score(model, tests)["exact"]
    found: dict[str, Any] = {"exact": exact}
    if "translate-1" in names:
        found["inversion"] = {str(n): inversion(model, n) for n in (1, 2)}
    if "summarize-chronicle" in names:
        found["headlines"] = {layout: headlines(model, layout) for layout in reports.LAYOUTS}
    return found


@torch.no_grad()
def inversion(model: Seq2Seq, clauses: int) -> float:
    """Qué parte de los adjetivos invertidos mira, de media, a su palabra en la cruzada."""
    r = RECIPE_17
    tests = some(r["inversions"], f"translate-{clauses}", r["inversion_seed"], "test", False)
    lot = tt.batch(tests)
    with watching(model.eval()) as maps:
        model(lot.source, lot.inputs)
    crossed = torch.stack([w for name, w in maps.items() if "cross" in name])
    prefix = len(tt.PREFIXES["translate"])
    weights = crossed.mean((0, 2))[..., prefix:]  # la media de todas las capas y cabezas
    hits, total = translation.inversion_hits(weights, [x.origin for x in tests])
    return hits / total


def headlines(model: Seq2Seq, layout: str) -> dict[str, float]:
    """Los titulares que escribe, en ROUGE y exactos, como los puntúa ``reports``."""
    r = RECIPE_17
    tests = some(r["tests"], f"summarize-{layout}", r["test_seed"], "test", False)
    return reports.headline_score(tt.answers(model, tests), [x.origin for x in tests])


# --- Titular, con los partes en unos órdenes o en otros -------------------------------------------


def in_order(report: reports.Report, order: Any, swapped: bool = False) -> tt.Example:
    """El parte con las secciones en ese orden; ``swapped`` cambia dos encabezados entre sí."""
    texts = {section.heading: section.words for section in report.sections}
    called = SWAPPED if swapped else {}
    words = [w for name in order for w in (called.get(name, name), ":", *texts[name])]
    example = tt.summarizing(report)
    return example._replace(source=(*tt.PREFIXES["summarize"], *words))


def train_titles(seed: int, orders: list[Any]) -> tuple[T5, dict[str, Any]]:
    """Entrena un T5 que titula; lo devuelve con qué suceso titula en cada orden."""
    r = TITLES_17
    rng.seed_all(seed)
    source = rng.generator(seed)
    model = T5(T5Config(len(tt.vocabulary()), d_ff=r["d_ff"], bos_id=1, eos_id=2))
    lots = []
    for _ in range(r["steps"]):
        found = reports.generate(r["batch"], source)
        drawn = torch.randint(len(orders), (r["batch"],), generator=source).tolist()
        lots.append(tt.batch([in_order(x, orders[i]) for x, i in zip(found, drawn, strict=True)]))
    tests = reports.generate(r["tests"], r["test_seed"], split="test")
    apart = tt.batch([in_order(x, orders[i % len(orders)]) for i, x in enumerate(tests)])

    @torch.no_grad()
    def validation(now: T5) -> dict[str, float]:
        return {"held": seq2seq_loss(now, apart).item()}

    history = fit(
        model,
        lots,
        seq2seq_loss,
        steps=r["steps"],
        optimizer=torch.optim.AdamW(
            parameter_groups(model, weight_decay=r["weight_decay"]),
            lr=r["rate"],
            betas=tuple(r["betas"]),
        ),
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        callbacks=[evaluate(validation, every=r["every"])],
        progress=False,
    )
    curve = [round(value, 4) for _, value in history.metrics["held"]]
    told = {
        f"{'-'.join(order)}{'-cambiados' * swapped}": _told(model, tests, order, swapped)
        for order in ORDERS["seis"]
        for swapped in (False, True)
    }
    return model, {"seed": seed, "curve": curve, "told": told}


def _told(model: T5, tests: list[reports.Report], order: Any, swapped: bool) -> dict[str, float]:
    """De cuál de los dos sucesos es el titular, en partes de uno."""
    said = tt.answers(model, [in_order(x, order, swapped) for x in tests])
    pairs = [*zip(said, tests, strict=True)]
    return {
        name: sum(tuple(w) == getattr(x, name).headline for w, x in pairs) / len(pairs)
        for name in ("main", "previous")
    }


# --- Guardar lo hecho -----------------------------------------------------------------------------

KINDS = {
    "tareas": (RECIPE_17["turns"], RECIPE_17["steps"], False),
    "derecho": (RECIPE_17["turns"], RECIPE_17["steps"], True),
    "contestar": (["answer"], RECIPE_17["steps"], False),
    "contestar-pocos": (["answer"], ANSWER_STEPS, False),
}


def once(kind: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior; los pesos quedan al lado."""
    if kind in ORDERS:
        made: dict[str, Any] = {"recipe": TITLES_17, "orders": ORDERS[kind]}
        work = partial(train_titles, seed, ORDERS[kind])
    else:
        made = {"recipe": RECIPE_17, "kind": KINDS[kind]}
        work = partial(train, seed, *KINDS[kind])

    def timed() -> tuple[Any, dict[str, Any]]:
        clock = time.process_time()
        model, run = work()
        return model, run | {"seconds": round(time.process_time() - clock, 1)}

    return MEMORY_17.once(f"{kind}-{seed}", made, timed)


def alone() -> dict[str, Any]:
    """El mismo modelo solo con preguntas: en todos los pasos y en los que tuvo entre las cuatro."""
    kinds = ("contestar", "contestar-pocos")
    return {
        "steps": {kind: KINDS[kind][1] for kind in kinds},
        "runs": {kind: [once(kind, seed) for seed in range(ALONE_SEEDS)] for kind in kinds},
    }


def chapter() -> dict[str, Any]:
    """Las semillas de los que titulan, las del modelo de cuatro tareas y sus controles."""
    return {
        "titles": {kind: [once(kind, seed) for seed in range(SEEDS)] for kind in ORDERS},
        "titles_recipe": TITLES_17,
        "recipe": RECIPE_17,
        "tasks": [once("tareas", seed) for seed in range(SEEDS)],
        "forward": [once("derecho", seed) for seed in range(FORWARD_SEEDS)],
        "alone": alone(),
    }


def stored_tasks() -> tuple[Seq2Seq, dict[str, Any]]:
    """El modelo que viaja guardado: la semilla de acierto más cercano a la media al traducir."""
    runs = [once("tareas", seed) for seed in range(SEEDS)]
    values = [run["exact"]["translate-2"] for run in runs]
    middle = sum(values) / len(values)
    seed = min(range(SEEDS), key=lambda i: abs(values[i] - middle))
    model = build(seed)
    model.load_state_dict(torch.load(MEMORY_17.weights(f"tareas-{seed}"), weights_only=True))
    model = rounded(model).eval()
    return model, {"recipe": RECIPE_17, "seed": seed, "marks": marks(model, TASKS)}


PESOS = {"tareas": stored_tasks}
PARTES = {"alone": alone}
