"""Capítulo 13: buscar y sortear, juzgados con lo que se puede contar exactamente."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import torch
from torch import Tensor

from atento import rng
from atento.decoding import Hypotheses, beam_search, by_length, by_wu
from atento.models.language import LanguageConfig, LanguageModel, next_token_loss
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig, seq2seq_loss
from atento.tasks import translation
from atento.trained import rounded
from atento.training import fit, warmup_cosine

RECIPE_13: dict[str, Any] = {
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 128,
    "blocks": 1,
    "rate": 3e-3,
    "warmup": 60,
    "translator_batch": 32,
    "language_batch": 64,
    "clauses": [1, 2],
    "tests": 200,
    "tests_seed": 1_000_000,
    "dtype": "float32",
}
SEEDS = 10
TRANSLATOR_STEPS = (300, 600)
LANGUAGE_STEPS = (600,)
BEAMS = (1, 2, 4, 8)
WIDE = (64, 512)
TEMPERATURES = (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0)
FILTERS = {"top_p": (0.8, 0.9, 0.95, 0.99), "top_k": (5, 20), "min_p": (0.02, 0.05, 0.1, 0.2)}
SEPARATOR = "<sep>"
CACHED = ((64, 2, 4), (128, 4, 4), (256, 4, 8))  # anchura, bloques, cabezas

# --- Buscar: el traductor -------------------------------------------------------------------------


def trained(model: Any, lots: list, loss: Any, steps: int) -> Any:
    """El modelo, entrenado con esos lotes y la tasa de la receta."""
    optimizer = partial(torch.optim.AdamW, lr=RECIPE_13["rate"])
    schedule = warmup_cosine(steps, warmup=RECIPE_13["warmup"])
    fit(model, lots, loss, steps=steps, optimizer=optimizer, schedule=schedule)
    return model.eval()


def translator(steps: int, seed: int) -> Seq2Seq:
    """Un traductor pequeño, entrenado con frases de una y dos oraciones."""
    rng.seed_all(seed)
    source, target = translation.vocabularies()
    blocks = RECIPE_13["blocks"]
    sizes = {name: RECIPE_13[name] for name in ("d_model", "n_heads", "d_ff")}
    layers = {"n_encoder_layers": blocks, "n_decoder_layers": blocks}
    model = Seq2Seq(Seq2SeqConfig(len(source), len(target), **sizes, **layers))
    lots = translation.batches(
        steps, RECIPE_13["translator_batch"], rng.generator(seed), clauses=RECIPE_13["clauses"]
    )
    return trained(model, lots, seq2seq_loss, steps)


def search(model: Seq2Seq, source: Tensor, beams: int, **options: Any) -> Hypotheses:
    """Lo que encuentra un haz."""
    return model.generate(
        source, strategy=beam_search, beams=beams, max_length=32, history=True, **options
    )


def certified(found: Hypotheses) -> Tensor:
    """De qué frases consta que ninguna hipótesis caída podía ganar, (batch,).

    Una caída vale como mucho lo que la peor que siguió: si en todos los pasos esa peor se había
    retirado o ya valía menos que la mejor, nada mejor se perdió. Exige puntuar por la suma.
    """
    sure = torch.ones(len(found.ids), dtype=torch.bool)
    for growth in found.history:
        worst = growth.alive[:, -1]
        value = growth.log_probs.gather(1, worst.clamp(min=0)[:, None])[:, 0]
        sure &= (worst < 0) | (value <= found.log_probs[:, 0])
    return sure


def exact(model: Seq2Seq, source: Tensor) -> tuple[Hypotheses, Tensor]:
    """La frase más probable de cada origen, y en cuáles consta que lo es."""
    found = search(model, source, WIDE[0])
    sure = certified(found)
    ids, log_probs, lengths = (x[:, 0].clone() for x in (found.ids, found.log_probs, found.lengths))
    for i in (~sure).nonzero()[:, 0].tolist():
        again = search(model, source[i : i + 1], WIDE[1])
        n = again.ids.shape[-1]
        ids = torch.nn.functional.pad(ids, (0, max(0, n - ids.shape[1])))
        ids[i] = 0
        ids[i, :n] = again.ids[0, 0]
        log_probs[i], lengths[i] = again.log_probs[0, 0], again.lengths[0, 0]
        sure[i] = certified(again)[0]
    best = Hypotheses(ids[:, None], log_probs[:, None], log_probs[:, None], lengths[:, None])
    return best, sure


def outcome(found: Hypotheses, target: Tensor, best: Tensor) -> dict[str, Any]:
    """Acierto, log-probabilidad, longitud y si se quedó por debajo de la más probable."""
    width = max(found.ids.shape[-1], target.shape[1])
    pad = torch.nn.functional.pad
    ids = pad(found.ids[:, 0], (0, width - found.ids.shape[-1]))
    right = (ids == pad(target, (0, width - target.shape[1]))).all(dim=1)
    missed = found.log_probs[:, 0] < best - 1e-4
    return {
        "right": _marks(right),
        "missed": _marks(missed),
        "log_prob": round(found.log_probs[:, 0].mean().item(), 4),
        "length": round(found.lengths[:, 0].float().mean().item(), 4),
    }


def _marks(values: Tensor) -> str:
    """Un 1 o un 0 por frase, seguidos."""
    return "".join(str(int(value)) for value in values)


def searched(steps: int, seed: int) -> dict[str, Any]:
    """Cada manera de buscar con un traductor, y la búsqueda exacta."""
    model = translator(steps, seed)
    tests = translation.generate(
        RECIPE_13["tests"], RECIPE_13["tests_seed"], clauses=RECIPE_13["clauses"], pairs="unseen"
    )
    lot = translation.batch(tests)
    best, sure = exact(model, lot.source)
    top, target = best.log_probs[:, 0], lot.target[:, 1:]
    rows = {f"haz {b}": outcome(search(model, lot.source, b), target, top) for b in BEAMS}
    rows["exacta"] = outcome(best, target, top)
    for name, rule in (("media", by_length()), ("GNMT 0.6", by_wu(0.6))):
        found = search(model, lot.source, 8, length_penalty=rule)
        rows[f"haz 8, {name}"] = outcome(found, target, top)
    length = (target != 0).sum(1).float().mean().item()
    counted = {"certified": _marks(sure), "target_length": round(length, 4)}
    return {"steps": steps, "seed": seed, **counted, "rows": rows}


# --- Sortear: el modelo de lenguaje ---------------------------------------------------------------


class Truth:
    """Las descripciones como números, y el árbol de sus comienzos."""

    def __init__(self) -> None:
        examples, self.probabilities = translation.descriptions()
        words = {word for e in examples for word in e.source + e.target}
        self.vocabulary = translation.Vocabulary({*words, SEPARATOR})
        encode = self.vocabulary.encode
        self.sep_id = encode([SEPARATOR])[0]
        spanish = [[1, *encode(e.source), self.sep_id] for e in examples]
        self.spanish = _padded(spanish)
        rows = zip(spanish, examples, strict=True)
        self.pairs = _padded([[*row, *encode(e.target), 2] for row, e in rows])
        starts: dict[tuple[int, ...], int] = {}
        places = [[starts.setdefault(tuple(r[:i]), len(starts)) for i in range(1, len(r))]
                  for r in spanish]  # fmt: skip
        self.starts = _padded([list(start) for start in starts])  # (start, width)
        self.places = _padded(places)  # (sentence, step): qué comienzo
        self.steps = self.spanish[:, 1:]  # (sentence, step): qué palabra
        self.real = self.steps != 0

    def conditionals(self) -> Tensor:
        """La probabilidad verdadera de cada palabra tras cada comienzo, (start, vocab)."""
        table = torch.zeros(len(self.starts), len(self.vocabulary), dtype=torch.float64)
        mass = self.probabilities[:, None].expand(self.places.shape)[self.real]
        table.index_put_((self.places[self.real], self.steps[self.real]), mass, accumulate=True)
        return table / table.sum(1, keepdim=True)


def _padded(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def language(truth: Truth, steps: int, seed: int) -> LanguageModel:
    """Un modelo de lenguaje pequeño de «español, separador, inglés»."""
    rng.seed_all(seed)
    sizes = {name: RECIPE_13[name] for name in ("d_model", "n_heads", "d_ff")}
    config = LanguageConfig(len(truth.vocabulary), **sizes, n_layers=RECIPE_13["blocks"])
    model = LanguageModel(config)
    size = RECIPE_13["language_batch"]
    drawn = torch.multinomial(
        truth.probabilities, steps * size, replacement=True, generator=rng.generator(seed)
    )
    lots = [truth.pairs[row] for row in drawn.view(steps, size)]
    return trained(model, lots, next_token_loss, steps)


@torch.no_grad()
def after_starts(model: LanguageModel, truth: Truth) -> Tensor:
    """La log-probabilidad de cada palabra tras cada comienzo, (start, vocab)."""
    parts = []
    for rows in truth.starts.split(4096):
        last = (rows != 0).sum(1) - 1
        states = model.encode(rows)[torch.arange(len(rows)), last]
        parts.append(model.project(states).log_softmax(-1))
    return torch.cat(parts)


def filtered(log_probs: Tensor, kind: str, value: float) -> Tensor:
    """Las log-probabilidades tras un filtro de ``atento.decoding``."""
    from atento.decoding import keep_min_p, keep_top_k, keep_top_p, with_temperature

    keep = {"temperature": with_temperature, "top_k": keep_top_k, "top_p": keep_top_p,
            "min_p": keep_min_p}[kind]  # fmt: skip
    return keep(log_probs, value).log_softmax(-1)


def judged(log_probs: Tensor, truth: Truth) -> dict[str, float]:
    """Lo que vale una manera de sortear frente a la verdad, sumando todas las frases."""
    steps = log_probs[truth.places, truth.steps].masked_fill(~truth.real, 0.0)
    log_q, p = steps.double().sum(1), truth.probabilities
    q = log_q.exp()
    reached = q > 0
    distance = 0.5 * ((p - q).abs().sum() + (1 - q.sum()))
    distinct = (1 - (1 - q.clamp(max=1)) ** 1000).sum()
    result = {
        "formed": q.sum(),
        "distance": distance,
        "distinct": distinct,
        "reach": p[reached].sum(),
    }
    if reached.all():
        result["divergence"] = (p * (p.log() - log_q)).sum()
    return {name: round(value.item(), 5) for name, value in result.items()}


def masked(log_probs: Tensor, truth: Truth) -> dict[str, dict[str, float]]:
    """Todas las temperaturas, con las palabras imposibles prohibidas tras cada comienzo.

    Es el control de la causa: así solo queda lo que el modelo reparte entre las posibles.
    """
    allowed = log_probs.masked_fill(truth.conditionals() == 0, -torch.inf)
    return {
        f"temperature {t}": judged(filtered(allowed, "temperature", t), truth) for t in TEMPERATURES
    }


@torch.no_grad()
def reserved(model: LanguageModel, truth: Truth) -> float:
    """La probabilidad de las frases correctas que llevan alguna pareja reservada, sin filtro."""
    known = {e.source for e in translation.descriptions().examples}
    others = [e.source for e in translation.descriptions("all").examples if e.source not in known]
    encode = truth.vocabulary.encode
    rows = _padded([[1, *encode(words), truth.sep_id] for words in others])
    total = 0.0
    for part in rows.split(4096):
        log_probs = model(part[:, :-1]).log_softmax(-1).gather(-1, part[:, 1:, None])[..., 0]
        total += log_probs.masked_fill(part[:, 1:] == 0, 0.0).double().sum(1).exp().sum().item()
    return round(total, 5)


def sampled(truth: Truth, log_probs: Tensor) -> dict[str, dict[str, float]]:
    """Todas las temperaturas y todos los filtros."""
    asked = [("temperature", t) for t in TEMPERATURES]
    asked += [(kind, value) for kind, values in FILTERS.items() for value in values]
    return {f"{k} {v}": judged(filtered(log_probs, k, v), truth) for k, v in asked}


def wrote(truth: Truth, steps: int, seed: int) -> dict[str, Any]:
    """Cada manera de sortear con un modelo de lenguaje, y su control sin palabras imposibles."""
    model = language(truth, steps, seed)
    log_probs = after_starts(model, truth)
    return {
        "steps": steps,
        "seed": seed,
        "reserved": reserved(model, truth),
        "rows": sampled(truth, log_probs),
        "masked": masked(log_probs, truth),
    }


# --- La caché -------------------------------------------------------------------------------------


def cache_ratios(pairs: int = 5) -> dict[str, list[float]]:
    """Cuántas veces tarda más, en segundos de procesador, escribir 512 palabras sin caché.

    Por anchura, un cociente por pareja de medidas seguidas; los pesos son al azar.
    """
    ratios: dict[str, list[float]] = {}
    for width, blocks, heads in CACHED:
        rng.seed_all(0)
        config = LanguageConfig(
            1000, d_model=width, n_heads=heads, d_ff=4 * width, n_layers=blocks, pad_id=None
        )
        model = LanguageModel(config).eval()
        written(model, True)
        ratios[str(width)] = [
            round(written(model, False) / written(model, True), 2) for _ in range(pairs)
        ]
    return ratios


def written(model: LanguageModel, cache: bool) -> float:
    """Segundos de procesador de escribir 512 palabras."""
    clock = time.process_time()
    model.generate(torch.tensor([[1]]), eos_id=-1, max_length=512, cache=cache)
    return time.process_time() - clock


def chapter() -> dict[str, Any]:
    """La caché, la búsqueda, el sorteo y el mismo sorteo con la verdad en lugar del modelo."""
    truth = Truth()
    return {
        "recipe": RECIPE_13,
        "cache": cache_ratios(),
        "search": [searched(s, seed) for s in TRANSLATOR_STEPS for seed in range(SEEDS)],
        "truth": sampled(truth, truth.conditionals().log()),
        "sampling": [
            wrote(truth, steps, seed) for steps in LANGUAGE_STEPS for seed in range(SEEDS)
        ],
    }


# --- Los modelos que viajan con el libro ----------------------------------------------------------

TYPICAL = {"traductor": (600, 4), "aprendiz": (300, 3), "lengua": (600, 5)}
"""Los pasos y la semilla de cada uno: de las diez, la de acierto más cercano a su media."""


def stored_translator(name: str) -> tuple[Seq2Seq, dict[str, Any]]:
    """Uno de los dos traductores, y lo que acierta la voraz de las frases apartadas."""
    steps, seed = TYPICAL[name]
    model = rounded(translator(steps, seed))
    tests = translation.generate(
        RECIPE_13["tests"], RECIPE_13["tests_seed"], clauses=RECIPE_13["clauses"], pairs="unseen"
    )
    written = partial(model.generate, max_length=32)
    marks = {"unseen": translation.score(written, tests)["exact"], "tests": RECIPE_13["tests"]}
    return model, {"recipe": RECIPE_13 | {"steps": steps}, "seed": seed, "marks": marks}


def stored_language() -> tuple[LanguageModel, dict[str, Any]]:
    """El modelo de lenguaje, y qué parte de lo que sortea sin filtro está en la lista."""
    steps, seed = TYPICAL["lengua"]
    truth = Truth()
    model = rounded(language(truth, steps, seed))
    found = judged(after_starts(model, truth), truth)
    marks = {name: found[name] for name in ("formed", "distance")}
    return model, {"recipe": RECIPE_13 | {"steps": steps}, "seed": seed, "marks": marks}


PESOS = {
    "traductor": partial(stored_translator, "traductor"),
    "aprendiz": partial(stored_translator, "aprendiz"),
    "lengua": stored_language,
}
