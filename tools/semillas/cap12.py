"""Capítulo 12: entrenar el Transformer en la traducción del capítulo 3, y los calendarios."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import cap03
import torch
from torch import Tensor, nn

from atento import rng, trained
from atento.models.recurrent import RecurrentConfig, RecurrentSeq2Seq, translation_loss
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig, seq2seq_loss
from atento.tasks import translation
from atento.training import (
    TrainingDiverged,
    evaluating,
    fit,
    noam,
    parameter_groups,
    warmup_cosine,
    warmup_stable_decay,
)

RECIPE_12: dict[str, Any] = {
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 256,
    "layers": 2,
    "steps": 600,
    "batch_size": 32,
    "rate": 5e-3,
    "weight_decay": 0.1,
    "betas": [0.9, 0.98],
    "warmup": 60,
    "clip": 1.0,
    "evaluation_seed": 1_000_000,
    "evaluation_size": 300,
}
# Oraciones de cada lote, por turno, como en el capítulo 3: las de tres no se entrenan nunca.
MIXED, UP_TO_THREE = (1, 2, 1, 4, 2, 1, 4, 2), (1, 2, 1, 3, 2, 1, 3, 2)
ROTARY = {"positions": "rotary", "cross_positions": "rotary"}
# Los controles de las posiciones: sin rotar la atención cruzada, y los senos de 2017.
SELF_ONLY, SINES = {"positions": "rotary"}, {"positions": "sinusoidal"}
RUNS_12: dict[str, dict[str, Any]] = {
    "rotary": {"config": ROTARY, "clauses": MIXED, "seeds": 10},
    "up-to-three": {"config": ROTARY, "clauses": UP_TO_THREE, "seeds": 10},
    "smoothing": {"config": ROTARY, "clauses": MIXED, "seeds": 10, "smoothing": 0.1},
    "longer": {"config": ROTARY, "clauses": MIXED, "seeds": 10, "steps": 900},
    "self-only-up-to-three": {"config": SELF_ONLY, "clauses": UP_TO_THREE, "seeds": 10},
    "self-only": {"config": SELF_ONLY, "clauses": MIXED, "seeds": 10},
    "sines-up-to-three": {"config": SINES, "clauses": UP_TO_THREE, "seeds": 10},
    # Si solo fuera que aprenden más despacio, con el triple de pasos llegarían.
    "self-only-longer": {"config": SELF_ONLY, "clauses": UP_TO_THREE, "seeds": 10, "steps": 1800},
    "sines-longer": {"config": SINES, "clauses": UP_TO_THREE, "seeds": 10, "steps": 1800},
}
# El recurrente del capítulo 3, con su receta y menos pasos.
RECURRENT_12: dict[str, dict[str, Any]] = {
    "recurrent-600": {"steps": 600, "clauses": MIXED, "seeds": 10},
    "recurrent-900": {"steps": 900, "clauses": MIXED, "seeds": 10},
    "recurrent-600-up-to-three": {"steps": 600, "clauses": UP_TO_THREE, "seeds": 10},
    # Con sus 1200 pasos; las tres primeras semillas son las del capítulo 3.
    "recurrent-up-to-three": {"steps": 1200, "clauses": UP_TO_THREE, "seeds": 10},
}
SCHEDULES_12: dict[str, Any] = {
    "steps": 300,
    "warmup": 60,
    "window": 15,
    "batch_size": 16,
    "layers": 2,
    "d_model": 64,
    "seeds": 2,
    "rates": [0.001, 0.003, 0.01],
    "names": ["none", "constant", "noam", "cosine", "stable"],
    "evaluation_size": 200,
}
# La elección de la tasa: el entrenamiento corto de la página, con cada una.
SWEEP_12: dict[str, Any] = {
    "steps": 150,
    "warmup": 30,
    "clip": 1.0,
    "batch_size": 32,
    "rates": [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1],
    "seeds": 2,
    "validation_seed": 2_000_000,
    "validation_size": 200,
}
# El barrido de los dos modelos con 600 pasos: la receta de cada uno, y solo cambia la tasa. La que
# falta en cada fila es la suya, que tiene diez semillas en RUNS_12 y en RECURRENT_12.
OTHER_RATES_12: dict[str, dict[str, Any]] = {
    "rotary": {"rates": [0.01, 0.02, 0.03], "seeds": 3},
    "recurrent-600": {"rates": [0.005, 0.02, 0.03], "seeds": 3},
}
RAMP_12: dict[str, Any] = {"rates": [0.001, 0.01], "names": ["none", "constant"], "seeds": 10}


def _config_12(**changes: Any) -> Seq2SeqConfig:
    source, target = translation.vocabularies()
    sizes = {name: RECIPE_12[name] for name in ("d_model", "n_heads", "d_ff")}
    layers = {f"n_{side}_layers": RECIPE_12["layers"] for side in ("encoder", "decoder")}
    return Seq2SeqConfig.tiny(len(source), len(target), **{**sizes, **layers, **changes})


def _adamw_12(model: nn.Module, rate: float) -> Callable[[Any], torch.optim.Optimizer]:
    """AdamW con decaimiento solo en las matrices."""
    groups = parameter_groups(model, weight_decay=RECIPE_12["weight_decay"])
    betas = tuple(RECIPE_12["betas"])
    return lambda _: torch.optim.AdamW(groups, lr=rate, betas=betas, fused=True)


def _examples_12(clauses: int, pairs: str, size: int) -> list[translation.Example]:
    generator = rng.generator(RECIPE_12["evaluation_seed"])
    return translation.generate(size, generator, clauses=clauses, pairs=pairs)


def _writer_12(model: Seq2Seq) -> Callable[[Tensor], Tensor]:
    return partial(model.generate, max_length=64)


# --- El entrenamiento de la página, con otras semillas --------------------------------------------


def forced_and_free(model: Seq2Seq, examples: list[translation.Example]) -> dict[str, Any]:
    """Aciertos por palabra con enseñanza forzada, y si generando salen exactas las mismas."""
    lot = translation.batch(examples)
    with evaluating(model), torch.no_grad():
        forced = model(lot.source, lot.inputs).argmax(-1)
        free = model.generate(lot.source, max_length=lot.labels.shape[1])
    free = nn.functional.pad(free, (0, lot.labels.shape[1] - free.shape[1]))
    valid = lot.labels != translation.PAD_ID
    hits = {name: ids == lot.labels for name, ids in (("forced", forced), ("free", free))}
    wrong = valid & ~hits["forced"]
    same = ((hits["free"] | ~valid).all(1) == ~wrong.any(1)).all().item()
    words = (hits["forced"] & valid).sum() / valid.sum()
    return {"words": round(words.item(), 5), "same": same}


def gap(model: Seq2Seq, examples: list[translation.Example]) -> float:
    """Cuánto saca, de media, la puntuación de la palabra correcta a la media de las otras."""
    lot = translation.batch(examples)
    with evaluating(model), torch.no_grad():
        logits = model(lot.source, lot.inputs)[lot.labels != translation.PAD_ID]
    right = logits.gather(1, lot.labels[lot.labels != translation.PAD_ID][:, None])[:, 0]
    others = (logits.sum(1) - right) / (logits.shape[1] - 1)
    return round((right - others).mean().item(), 2)


def _scores_12(model: Seq2Seq) -> dict[str, Any]:
    """Exactas y BLEU, y lo forzado con parejas nuevas; con vistas, el control de las largas."""
    result: dict[str, Any] = {"exact": {}, "bleu": {}, "forced": {}}
    for pairs, numbers in (("seen", (3, 4)), ("unseen", (1, 2, 3, 4))):
        for clauses in numbers:
            examples, key = _examples_12(clauses, pairs, RECIPE_12["evaluation_size"]), str(clauses)
            score = translation.score(_writer_12(model), examples)
            result["exact"].setdefault(pairs, {})[key] = round(score["exact"], 4)
            result["bleu"].setdefault(pairs, {})[key] = round(score["bleu"], 2)
            if pairs == "unseen" and clauses > 2:
                result["forced"][key] = forced_and_free(model, examples)
    return result


def run_12(name: str, seed: int, rate: float = RECIPE_12["rate"]) -> dict[str, Any]:
    """Entrena y puntúa una de ``RUNS_12`` con una semilla y, si se dice, con otra tasa."""
    run = RUNS_12[name]
    steps = run.get("steps", RECIPE_12["steps"])
    rng.seed_all(seed)
    model = Seq2Seq(_config_12(**run["config"]))
    lots = translation.batches(
        steps, RECIPE_12["batch_size"], rng.generator(seed), clauses=run["clauses"]
    )
    history = fit(
        model,
        lots,
        partial(seq2seq_loss, smoothing=run.get("smoothing", 0.0)),
        steps=steps,
        optimizer=_adamw_12(model, rate),
        schedule=warmup_cosine(steps, warmup=RECIPE_12["warmup"]),
        clip=RECIPE_12["clip"],
    )
    return {
        "model": name,
        "seed": seed,
        "rate": rate,
        "steps": steps,
        "parameters": sum(p.numel() for p in model.parameters()),
        "cpu_seconds": round(history.seconds, 1),
        "loss": _windows(history.loss, 25),
        "clipped": round(sum(n > RECIPE_12["clip"] for n in history.gradient_norm) / steps, 3),
        "gap": gap(model, _examples_12(2, "seen", RECIPE_12["evaluation_size"])),
        **_scores_12(model),
    }


def run_recurrent(name: str, seed: int, rate: float = cap03.RECIPE_03["rate"]) -> dict[str, Any]:
    """El recurrente que mira atrás, con la receta del capítulo 3, los pasos de ``name`` y, si se
    dice, otra tasa.
    """
    run = RECURRENT_12[name]
    model, steps = cap03._model_03(True, seed), run["steps"]
    size = cap03.RECIPE_03["batch_size"]
    history = fit(
        model,
        translation.batches(steps, size, rng.generator(seed), clauses=run["clauses"]),
        translation_loss,
        steps=steps,
        optimizer=lambda parameters: _at_rate(cap03._optimizer_03(parameters), rate),
        schedule=warmup_cosine(steps, warmup=cap03.RECIPE_03["warmup"]),
        clip=cap03.RECIPE_03["clip"],
    )
    exact = {
        str(clauses): round(
            translation.score(model, cap03._examples_03(clauses, "unseen"))["exact"], 4
        )
        for clauses in (1, 2, 3, 4)
    }
    return {
        "model": name,
        "seed": seed,
        "rate": rate,
        "steps": steps,
        "parameters": sum(p.numel() for p in model.parameters()),
        "cpu_seconds": round(history.seconds, 1),
        "loss": _windows(history.loss, 25),
        "exact": {"unseen": exact},
    }


def _at_rate(optimizer: torch.optim.Optimizer, rate: float) -> torch.optim.Optimizer:
    for group in optimizer.param_groups:
        group["lr"] = rate
    return optimizer


def rates() -> dict[str, Any]:
    """El barrido entero, con su receta."""
    return {"recipe": OTHER_RATES_12, "runs": other_rates()}


def other_rates() -> list[dict[str, Any]]:
    """Los dos modelos con los mismos 600 pasos y los mismos lotes, y otras tasas."""
    runs = {"rotary": run_12, "recurrent-600": run_recurrent}
    return [
        runs[name](name, seed, rate)
        for name, tried in OTHER_RATES_12.items()
        for rate in tried["rates"]
        for seed in range(tried["seeds"])
    ]


# --- Elegir la tasa -------------------------------------------------------------------------------


def sweep_run(rate: float, seed: int) -> tuple[float, float]:
    """El entrenamiento corto de la página con otra tasa: la pérdida de sus últimos 15 pasos y la de
    frases de validación.
    """
    steps = SWEEP_12["steps"]
    rng.seed_all(seed)
    model = Seq2Seq(_config_12(**ROTARY))
    size = SWEEP_12["batch_size"]
    lots = translation.batches(steps, size, rng.generator(seed), clauses=(1,))
    betas = tuple(RECIPE_12["betas"])
    history = fit(
        model,
        lots,
        seq2seq_loss,
        steps=steps,
        optimizer=partial(torch.optim.AdamW, lr=rate, betas=betas, weight_decay=0.01),
        schedule=warmup_cosine(steps, warmup=SWEEP_12["warmup"]),
        clip=SWEEP_12["clip"],
    )
    generator = rng.generator(SWEEP_12["validation_seed"])
    examples = translation.generate(
        SWEEP_12["validation_size"], generator, clauses=1, pairs="unseen"
    )
    with evaluating(model), torch.no_grad():
        validation = seq2seq_loss(model, translation.batch(examples)).item()
    return round(sum(history.loss[-15:]) / 15, 4), round(validation, 4)


def sweep() -> list[dict[str, Any]]:
    """Cada tasa, con sus semillas."""
    found = []
    for rate in SWEEP_12["rates"]:
        results = [sweep_run(rate, seed) for seed in range(SWEEP_12["seeds"])]
        train, validation = ([*column] for column in zip(*results, strict=True))
        found.append({"rate": rate, "train": train, "validation": validation})
        print(f"  tasa {rate}: {validation}", flush=True)
    return found


# --- Los calendarios, con varias tasas ------------------------------------------------------------


def multiplier(name: str) -> Callable[[int], float]:
    """El calendario ``name`` como multiplicador de la tasa máxima; el paso se cuenta desde 0."""
    steps, warmup = SCHEDULES_12["steps"], SCHEDULES_12["warmup"]
    peaked = noam(SCHEDULES_12["d_model"], warmup=warmup)
    return {
        "none": lambda step: 1.0,
        "constant": lambda step: min(1.0, (step + 1) / warmup),
        "noam": lambda step: peaked(step) / peaked(warmup - 1),
        "cosine": warmup_cosine(steps, warmup=warmup),
        "stable": warmup_stable_decay(steps, warmup=warmup),
    }[name]


def _short_12(norm: str, seed: int) -> Seq2Seq:
    d, layers, pre = SCHEDULES_12["d_model"], SCHEDULES_12["layers"], norm == "pre"
    sizes = {"d_model": d, "d_ff": 4 * d, "n_encoder_layers": layers, "n_decoder_layers": layers}
    rng.seed_all(seed)
    return Seq2Seq(_config_12(**ROTARY, **sizes, norm_first=pre, final_norm=pre))


def schedule_run(name: str, norm: str, rate: float, seed: int) -> tuple[list[float | None], float]:
    """La curva por ventanas y las frases exactas de una oración con pareja nueva.

    Sin recorte, para que el calendario esté solo. Una curva que diverge se completa con ``None``.
    """
    model, steps = _short_12(norm, seed), SCHEDULES_12["steps"]
    lots = translation.batches(steps, SCHEDULES_12["batch_size"], rng.generator(seed), clauses=(1,))
    try:
        losses = fit(
            model,
            lots,
            seq2seq_loss,
            steps=steps,
            optimizer=_adamw_12(model, rate),
            schedule=multiplier(name),
            clip=None,
        ).loss
    except TrainingDiverged as stop:
        losses = stop.history.loss[: stop.step - 1]
    curve: list[float | None] = list(_windows(losses, SCHEDULES_12["window"]))
    curve += [None] * (steps // SCHEDULES_12["window"] - len(curve))
    examples = _examples_12(1, "unseen", SCHEDULES_12["evaluation_size"])
    exact = translation.score(partial(model.generate, max_length=20), examples)["exact"]
    return curve, round(exact, 3)


def tried(name: str, norm: str, rate: float, seeds: int) -> dict[str, Any]:
    """Un calendario con una tasa y una colocación de la norma, con varias semillas."""
    results = [schedule_run(name, norm, rate, seed) for seed in range(seeds)]
    curves, exact = ([*column] for column in zip(*results, strict=True))
    print(f"  {name}, {norm}, {rate}: {exact}", flush=True)
    return {"schedule": name, "norm": norm, "rate": rate, "curves": curves, "exact": exact}


def schedules() -> list[dict[str, Any]]:
    """Cada calendario, con cada tasa máxima y cada colocación de la norma."""
    return [
        tried(name, norm, rate, SCHEDULES_12["seeds"])
        for norm in ("pre", "post")
        for rate in SCHEDULES_12["rates"]
        for name in SCHEDULES_12["names"]
    ]


def ramp() -> list[dict[str, Any]]:
    """La tasa constante, con rampa y sin ella, con más semillas: la menor tasa y la mayor."""
    return [
        tried(name, norm, rate, RAMP_12["seeds"])
        for norm in ("pre", "post")
        for rate in RAMP_12["rates"]
        for name in RAMP_12["names"]
    ]


def _windows(values: list[float], size: int) -> list[float]:
    """La media de cada ventana entera de pasos."""
    whole = len(values) // size * size
    return [round(sum(values[i : i + size]) / size, 4) for i in range(0, whole, size)]


# --- Lo que cuesta un paso ------------------------------------------------------------------------


def step_seconds(rounds: int = 3, steps: int = 40) -> dict[str, float]:
    """Segundos de procesador de un paso, con los mismos lotes que en el capítulo 3."""
    lots = translation.batches(steps, RECIPE_12["batch_size"], rng.generator(0), clauses=MIXED)
    source, target = translation.vocabularies()
    sizes = {"d_model": 64, "d_hidden": 96, "d_attention": 64, "cell": "gru"}
    models: dict[str, tuple[nn.Module, Callable]] = {
        "transformer": (Seq2Seq(_config_12(**ROTARY)), seq2seq_loss),
        "recurrent": (
            RecurrentSeq2Seq(RecurrentConfig(len(source), len(target), **sizes)),
            translation_loss,
        ),
    }
    spent = {
        name: [fit(model, lots, loss, steps=steps).seconds / steps for _ in range(rounds)]
        for name, (model, loss) in models.items()
    }
    return {name: round(min(seconds), 5) for name, seconds in spent.items()}


def chapter() -> dict[str, Any]:
    """Las diez semillas de la página y sus controles, y los calendarios."""
    runs = []
    for name, run in (RUNS_12 | RECURRENT_12).items():
        for seed in range(run["seeds"]):
            runs.append((run_12 if name in RUNS_12 else run_recurrent)(name, seed))
            print(f"  {name}, semilla {seed}: exactas {runs[-1]['exact']}", flush=True)
    return {
        "recipe": RECIPE_12,
        "runs": runs,
        "step_seconds": step_seconds(),
        "schedules": {"recipe": SCHEDULES_12, "runs": schedules()},
        "ramp": {"recipe": RAMP_12, "runs": ramp()},
        "sweep": {"recipe": SWEEP_12, "runs": sweep()},
        "rates": rates(),
    }


# --- El modelo que viaja entrenado ----------------------------------------------------------------

TRANSLATOR_12: dict[str, Any] = RECIPE_12 | {"d_ff": 96, "clauses": list(MIXED), "seed": 0}


def translator() -> tuple[nn.Module, dict[str, Any]]:
    """El modelo de la página con la capa densa más estrecha, para que quepa en 400 kB."""
    recipe = TRANSLATOR_12
    rng.seed_all(recipe["seed"])
    model, steps = Seq2Seq(_config_12(**ROTARY, d_ff=recipe["d_ff"])), recipe["steps"]
    fit(
        model,
        translation.batches(
            steps, recipe["batch_size"], rng.generator(recipe["seed"]), clauses=MIXED
        ),
        seq2seq_loss,
        steps=steps,
        optimizer=_adamw_12(model, recipe["rate"]),
        schedule=warmup_cosine(steps, warmup=recipe["warmup"]),
        clip=recipe["clip"],
    )
    trained.rounded(model)
    exact = {
        str(clauses): round(
            translation.score(_writer_12(model), _examples_12(clauses, "unseen", 300))["exact"], 4
        )
        for clauses in (1, 2, 3, 4)
    }
    print(f"  traductor: {exact}", flush=True)
    return model, {"recipe": recipe, "seed": recipe["seed"], "marks": {"exact_unseen": exact}}


PESOS = {"traductor": translator}
PARTES = {"rates": rates}
