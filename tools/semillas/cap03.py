"""Capítulo 3: traducir con redes recurrentes."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from atento import rng, trained
from atento.models.recurrent import (
    RecurrentConfig,
    RecurrentSeq2Seq,
    count_parameters,
    translation_loss,
    without_attention,
)
from atento.tasks import translation
from atento.training import History, fit, warmup_cosine

RECIPE_03: dict[str, Any] = {
    "d_model": 64,
    "d_hidden": 96,
    "d_attention": 64,
    "cell": "gru",
    "batch_size": 32,
    "rate": 1e-2,
    "weight_decay": 0.2,
    "betas": [0.9, 0.98],
    "warmup": 60,
    "clip": 1.0,
    "evaluation_seed": 1_000_000,
    "evaluation_size": 500,
}
# Oraciones de cada lote, por turno: las de tres no se entrenan nunca.
MIXED, UP_TO_THREE = (1, 2, 1, 4, 2, 1, 4, 2), (1, 2, 1, 3, 2, 1, 3, 2)
RUNS_03 = {
    "attention": {"attention": True, "steps": 1200, "clauses": MIXED, "seeds": 10},
    "plain": {"attention": False, "steps": 1600, "clauses": MIXED, "seeds": 10},
    "plain-longer": {"attention": False, "steps": 6400, "clauses": MIXED, "seeds": 3},
    "attention-up-to-three": {"attention": True, "steps": 1200, "clauses": UP_TO_THREE, "seeds": 3},
}
# El de un vector con otras tasas: la de arriba es la misma para los dos y pudo convenirle al otro.
OTHER_RATES_03: dict[str, Any] = {"model": "plain", "rates": [5e-3, 2e-2], "seeds": 3}
STORED_HIDDEN = 92  # con 96, los pesos en 16 bits pasarían de 400 kB


def _model_03(attention: bool, seed: int, **other: int) -> RecurrentSeq2Seq:
    source, target = translation.vocabularies()
    names = ("d_model", "d_hidden", "d_attention", "cell")
    sizes = {name: RECIPE_03[name] for name in names} | other
    config = RecurrentConfig(len(source), len(target), **sizes)
    config = config if attention else without_attention(config)
    rng.seed_all(seed)
    return RecurrentSeq2Seq(config)


def _optimizer_03(parameters: Any, rate: float | None = None) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        parameters,
        lr=RECIPE_03["rate"] if rate is None else rate,
        betas=tuple(RECIPE_03["betas"]),
        weight_decay=RECIPE_03["weight_decay"],
    )


def _scores_03(model: RecurrentSeq2Seq) -> dict[str, Any]:
    """Exactas y BLEU por parejas (vistas o no) y número de oraciones; y las inversiones bien
    alineadas.
    """
    result: dict[str, Any] = {"exact": {}, "bleu": {}}
    hits = total = 0
    for pairs in ("seen", "unseen"):
        for clauses in range(1, translation.MAX_CLAUSES + 1):
            examples = _examples_03(clauses, pairs)
            score = translation.score(model, examples)
            result["exact"].setdefault(pairs, {})[str(clauses)] = round(score["exact"], 4)
            result["bleu"].setdefault(pairs, {})[str(clauses)] = round(score["bleu"], 2)
            if model.config.attention and pairs == "unseen":
                batch = translation.batch(examples)
                model.eval()
                with torch.no_grad():
                    more = translation.inversion_hits(
                        model(batch.source, batch.inputs)[1], examples
                    )
                hits, total = hits + more[0], total + more[1]
    return result | ({"inversions": {"hits": hits, "total": total}} if total else {})


def _examples_03(clauses: int, pairs: str) -> list[translation.Example]:
    return translation.generate(
        RECIPE_03["evaluation_size"],
        rng.generator(RECIPE_03["evaluation_seed"]),
        clauses=clauses,
        pairs=pairs,
    )


def _new_words_03(example: translation.Example) -> set[str]:
    """Las palabras inglesas de sus parejas reservadas, y el artículo, que depende de la que
    sigue."""
    words = {"a", "an"}
    for noun, adjective in set(example.pairs) & translation.held_out_pairs():
        words |= {form for n in translation.NOUNS if n.key == noun for form in n.target}
        words |= {a.target for a in translation.ADJECTIVES if a.key == adjective}
    return words


def _pair_errors_03(model: RecurrentSeq2Seq) -> dict[str, list[int]]:
    """Por número de oraciones: frases equivocadas y, de ellas, las que solo fallan en palabras de
    la pareja nueva.
    """
    result = {}
    for clauses in range(1, translation.MAX_CLAUSES + 1):
        examples = _examples_03(clauses, "unseen")
        outputs = translation.translate(model, examples)
        wrong = [(o, e) for o, e in zip(outputs, examples, strict=True) if tuple(o) != e.target]
        inside = sum(
            len(o) == len(e.target)
            and all(a == b or b in _new_words_03(e) for a, b in zip(o, e.target, strict=True))
            for o, e in wrong
        )
        result[str(clauses)] = [len(wrong), inside]
    return result


def _join_03(a: translation.Example, b: translation.Example) -> translation.Example:
    """Dos frases en una, con una coma."""
    return translation.Example(
        (*a.source[:-1], ",", *b.source),
        (*a.target[:-1], ",", *b.target),
        (),
        (),
        a.pairs + b.pairs,
        a.clauses + b.clauses,
    )


def _by_position_03(model: RecurrentSeq2Seq) -> dict[str, list[float]]:
    """Palabras acertadas con enseñanza forzada, de ocho en ocho: cuatro oraciones y, juntas de dos
    en dos, ocho.
    """
    four, result = _examples_03(4, "seen"), {}
    eight = [_join_03(a, b) for a, b in zip(four[::2], four[1::2], strict=True)]
    model.eval()
    for clauses, examples, chunks in ((4, four, 4), (8, eight, 5)):
        lot = translation.batch(examples)
        with torch.no_grad():
            guess = model(lot.source, lot.inputs)[0].argmax(-1)
        hit, valid = guess == lot.labels, lot.labels != translation.PAD_ID
        parts = zip(hit.split(8, 1)[:chunks], valid.split(8, 1)[:chunks], strict=True)
        result[str(clauses)] = [round(((h & v).sum() / v.sum()).item(), 4) for h, v in parts]
    return result


def _details_03(model: RecurrentSeq2Seq) -> dict[str, Any]:
    return {"pair_errors": _pair_errors_03(model), "by_position": _by_position_03(model)}


def train_03(
    name: str, seed: int, rate: float | None = None, **sizes: int
) -> tuple[RecurrentSeq2Seq, History]:
    """Entrena una de ``RUNS_03`` con una semilla, con otra tasa y otras medidas si se dan."""
    run = RUNS_03[name]
    model = _model_03(run["attention"], seed, **sizes)
    lots = translation.batches(
        run["steps"], RECIPE_03["batch_size"], rng.generator(seed), clauses=run["clauses"]
    )
    history = fit(
        model,
        lots,
        translation_loss,
        steps=run["steps"],
        optimizer=partial(_optimizer_03, rate=rate),
        clip=RECIPE_03["clip"],
        schedule=warmup_cosine(run["steps"], warmup=RECIPE_03["warmup"]),
    )
    return model, history


def run_03(name: str, seed: int) -> dict[str, Any]:
    """Entrena y puntúa una de ``RUNS_03`` con una semilla."""
    run = RUNS_03[name]
    model, history = train_03(name, seed)
    curve = [
        [i, round(sum(history.loss[i - 50 : i]) / 50, 4)] for i in range(50, run["steps"] + 1, 50)
    ]
    return {
        "model": name,
        "seed": seed,
        "steps": run["steps"],
        "clauses": list(run["clauses"]),
        "parameters": count_parameters(model),
        "cpu_seconds": round(history.seconds, 1),
        **_scores_03(model),
        **(_details_03(model) if run["seeds"] == 10 else {}),
        "loss": curve,
    }


def stored_alignment() -> tuple[RecurrentSeq2Seq, dict[str, Any]]:
    """El traductor guardado, del que se mira el alineamiento: la primera semilla, sin elegir, con
    un estado algo menor para que quepa.
    """
    model = trained.rounded(train_03("attention", 0, d_hidden=STORED_HIDDEN)[0])
    card = {
        "recipe": RECIPE_03 | RUNS_03["attention"] | {"d_hidden": STORED_HIDDEN, "seeds": 1},
        "seed": 0,
        "parameters": count_parameters(model),
        "marks": _scores_03(model),
    }
    return model, card


PESOS = {"alineamiento": stored_alignment}


def rates() -> dict[str, Any]:
    """El de un vector con otras tasas, y lo demás igual."""
    runs = []
    for rate in OTHER_RATES_03["rates"]:
        for seed in range(OTHER_RATES_03["seeds"]):
            model, history = train_03(OTHER_RATES_03["model"], seed, rate)
            scores = _scores_03(model)["exact"]
            clock = round(history.seconds, 1)
            runs.append({"rate": rate, "seed": seed, "cpu_seconds": clock, "exact": scores})
            print(f"  tasa {rate}, semilla {seed}: {clock} s; exactas {scores}", flush=True)
    return {"recipe": OTHER_RATES_03, "runs": runs}


def chapter() -> dict[str, Any]:
    """Diez semillas de los dos modelos, tres de las otras dos ejecuciones y el barrido de tasas."""
    runs = []
    for name, run in RUNS_03.items():
        for seed in range(run["seeds"]):
            runs.append(run_03(name, seed))
            print(
                f"  {name}, semilla {seed}: {runs[-1]['cpu_seconds']} s; exactas"
                f" {runs[-1]['exact']}",
                flush=True,
            )
    return {"recipe": RECIPE_03, "runs": runs, "rates": rates()}


PARTES = {"rates": rates}
