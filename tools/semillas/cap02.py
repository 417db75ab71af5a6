"""Capítulo 2: diez semillas de las vecinas en la prosa y de las analogías en la gramática, y los
controles de las vecinas: el texto barajado y la ventana más corta.
"""

from __future__ import annotations

import random
import time
from typing import Any

import torch

from atento import rng, training
from atento import word_vectors as wv
from atento.tasks import prose
from atento.tasks import translation as tr

RECIPE_02: dict[str, Any] = {
    "d_model": 64,
    "batch_size": 512,
    "steps": 3000,
    "window": 5,
    "negatives": 5,
    "threshold": 1e-3,
    "rate": 5e-3,
    "prose_min_count": 3,
    "grammar_sentences": 20_000,
    "grammar_min_count": 5,
    "neighbours": 5,
}
MIDDLE_02 = (20, 400)  # puestos, por frecuencia, de las palabras cuyas vecinas se cuentan
WORDS_02 = ("máscara", "consulta", "red", "matriz", "gradiente", "vector", "palabra", "capítulo")


def fit_02(corpus: wv.Corpus, seed: int, window: int = 5) -> tuple[wv.WordVectors, float]:
    """Entrena skip-gram como en el capítulo; da los vectores y la pérdida de los últimos lotes."""
    rng.seed_all(seed)
    steps = RECIPE_02["steps"]
    model = wv.SkipGram(len(corpus), RECIPE_02["d_model"])
    batches = wv.skipgram_batches(
        corpus, RECIPE_02["batch_size"], rng.generator(seed), window=window
    )
    history = training.fit(
        model,
        batches,
        wv.skipgram_loss,
        steps=steps,
        optimizer=lambda p: torch.optim.Adam(p, lr=RECIPE_02["rate"]),
        schedule=training.warmup_cosine(steps, warmup=0),
        clip=None,
        progress=False,
    )
    return wv.WordVectors(corpus.words, model.center.weight), sum(history.loss[-100:]) / 100


def train_02(corpus: wv.Corpus, seed: int) -> wv.WordVectors:
    """Los vectores de :func:`fit_02`."""
    return fit_02(corpus, seed)[0]


def shuffled_02(seed: int) -> wv.Corpus:
    """La prosa con las palabras barajadas: las mismas, en frases igual de largas, sin compañía."""
    rows = [wv.split_words(sentence) for sentence in prose.load().sentences()]
    words = [word for row in rows for word in row]
    random.Random(seed).shuffle(words)
    left = iter(words)
    mixed = [[next(left) for _ in row] for row in rows]
    return wv.read(mixed, min_count=RECIPE_02["prose_min_count"])


def beside_02(corpus: wv.Corpus, vectors: wv.WordVectors) -> float:
    """Qué parte de las vecinas sale en el texto a cinco palabras o menos de la suya."""
    together = wv.cooccurrence(corpus, window=RECIPE_02["window"], weights="flat") > 0
    place = {word: i for i, word in enumerate(corpus.words)}
    found = [
        bool(together[place[word], place[near]])
        for word in corpus.words[slice(*MIDDLE_02)]
        for near, _ in vectors.neighbours(word, RECIPE_02["neighbours"])
    ]
    return sum(found) / len(found)


def controls_02(text: wv.Corpus) -> list[dict[str, Any]]:
    """La pérdida y las vecinas con el texto, con el texto barajado y con la ventana más corta."""
    rows = []
    for seed in range(3):
        cases = {"text": (text, 5), "shuffled": (shuffled_02(seed), 5), "near": (text, 1)}
        for name, (corpus, window) in cases.items():
            vectors, loss = fit_02(corpus, seed, window)
            rows.append(
                {
                    "control": name,
                    "seed": seed,
                    "loss": round(loss, 3),
                    "beside": round(beside_02(corpus, vectors), 3),
                }
            )
    return rows


def counted_02(corpus: wv.Corpus) -> wv.WordVectors:
    """El control sin entrenar: los valores singulares de la información mutua positiva."""
    counts = wv.cooccurrence(corpus, window=RECIPE_02["window"], weights="linear")
    matrix = wv.svd_vectors(wv.ppmi(counts, power=0.75), RECIPE_02["d_model"])
    return wv.WordVectors(corpus.words, matrix.float())


def relations_02(corpus: wv.Corpus) -> dict[str, list[tuple[str, str]]]:
    """Parejas de la gramática que guardan la misma relación, con las dos palabras conocidas."""
    known, by_key = set(corpus.words), {}
    for noun in tr.NOUNS:
        by_key.setdefault(noun.key, []).append(noun)
    people = [(n[0].source[0], n[1].source[0]) for n in by_key.values() if len(n) == 2]
    pairs = {
        "niño : niña": people,
        "mesa : mesas": [noun.source for noun in tr.NOUNS],
        "rojo : roja": [(a.forms[0], a.forms[1]) for a in tr.ADJECTIVES],
        "canta : cantan": [(v.forms[2], v.forms[4]) for v in tr.VERBS],
        "canto : cantamos": [(v.forms[0], v.forms[3]) for v in tr.VERBS],
    }
    return {
        name: [p for p in dict.fromkeys(rows) if set(p) <= known and p[0] != p[1]]
        for name, rows in pairs.items()
    }


def grammar_02(seed: int) -> wv.Corpus:
    """Las frases en español de la gramática, sin signos."""
    examples = tr.generate(RECIPE_02["grammar_sentences"], seed, clauses=(1, 2))
    rows = [[word for word in e.source if word.isalpha()] for e in examples]
    return wv.read(rows, min_count=RECIPE_02["grammar_min_count"])


def without_a_02(vectors: wv.WordVectors, questions: list[tuple[str, str, str, str]]) -> float:
    """El control b + c: los aciertos de quien no resta a, sin poder decir ninguna de las dadas."""
    place = {word: i for i, word in enumerate(vectors.words)}
    rows = torch.tensor([[place[word] for word in question] for question in questions])
    given, answer = rows.split([3, 1], dim=1)
    _, b, c = vectors.units[given].unbind(1)
    scores = ((b + c) @ vectors.units.T).scatter(1, given, float("-inf"))
    return float((scores.argmax(-1, keepdim=True) == answer).double().mean())


def _rates(model: str, seed: int, corpus: wv.Corpus, vectors: wv.WordVectors) -> list[dict]:
    rows = []
    for relation, pairs in relations_02(corpus).items():
        questions = wv.questions_from(pairs)
        rates = {**vectors.analogy_rates(questions), "without_a": without_a_02(vectors, questions)}
        rounded = {name: round(float(rate), 3) for name, rate in rates.items()}
        rows.append({"model": model, "seed": seed, "relation": relation, **rounded})
    return rows


def chapter() -> dict[str, Any]:
    """Diez semillas de las vecinas y de las analogías."""
    clock, runs, neighbours = time.process_time(), [], []
    text = wv.read(prose.load().sentences(), min_count=RECIPE_02["prose_min_count"])
    for seed in range(10):
        near = train_02(text, seed)
        found = {w: [x for x, _ in near.neighbours(w, RECIPE_02["neighbours"])] for w in WORDS_02}
        neighbours.append({"seed": seed, "words": found})
        corpus = grammar_02(seed)
        runs += _rates("skip-gram", seed, corpus, train_02(corpus, seed))
        runs += _rates("recuento", seed, corpus, counted_02(corpus))
    return {
        "recipe": RECIPE_02,
        "prose": prose.load().digest,
        "neighbours": neighbours,
        "runs": runs,
        "controls": controls_02(text),
        "cpu_seconds": round(time.process_time() - clock, 1),
    }
