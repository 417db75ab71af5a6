"""Capítulo 7: diez semillas de la fuga y del relleno, y la polaridad de la biblioteca
transformers."""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from atento import masks, rng, training
from atento.attention import MultiHeadAttention

NOUNS = (["perro", "niño", "vecino", "gato"], ["reina", "niña", "vecina", "gata"])
VERBS, ADVERBS = ["duerme", "canta", "baila", "corre"], ["hoy", "mucho", "siempre", "despacio"]
VOCAB = ["·", "▸", "▢", "con", ".", "el", "los", "la", "las",
         *(noun + end for four in NOUNS for end in ("", "s") for noun in four),
         *(verb + end for end in ("", "n") for verb in VERBS), *ADVERBS]  # fmt: skip
PAD, START, GAP, WITH, STOP = range(5)
RECIPE_07: dict[str, Any] = {
    "width": 32,
    "heads": 2,
    "layers": 2,
    "batch_size": 64,
    "rate": 1e-2,
    "steps": 300,
    "steps_gap": 400,
    "test_size": 1024,
    "generated": 500,
    "split_seed": 7,
    "dtype": "float32",
}
LEAKS_07 = ("sin máscara", "sin desplazar", "futuro al azar", "prefijos sueltos", "con máscara")


def write(choice: Tensor) -> Tensor:
    """Frases ``(batch, n)`` a partir de lo elegido: nombres, verbo y adverbio; como en el
    capítulo."""
    *nouns, verb, adverb = choice.unbind(1)
    ids = [5 + nouns[0] // 4, 9 + nouns[0]]
    for extra in nouns[1:]:
        ids += [torch.full_like(verb, WITH), 5 + extra // 4, 9 + extra]
    ids += [25 + 4 * (nouns[0] // 4 % 2) + verb, 33 + adverb, torch.full_like(verb, STOP)]
    return torch.stack(ids, dim=1)


def every(extras: int) -> Tensor:
    """Todas las frases con ``extras`` complementos."""
    return write(torch.cartesian_prod(*map(torch.arange, [16] * (extras + 1) + [4, 4])))


def draw(extras: int, batch: int, generator: torch.Generator) -> Tensor:
    """Frases al azar con ``extras`` complementos."""
    sizes = [16] * (extras + 1) + [4, 4]
    return write(
        torch.stack([torch.randint(size, (batch,), generator=generator) for size in sizes], dim=1)
    )


class TinyModel(nn.Module):
    """Palabras ``(batch, n)`` → puntuaciones de cada palabra del vocabulario, ``(batch, n,
    vocab)``.
    """

    def __init__(self) -> None:
        super().__init__()
        width, heads = RECIPE_07["width"], RECIPE_07["heads"]
        self.word, self.place = nn.Embedding(len(VOCAB), width), nn.Embedding(12, width)
        self.layers = nn.ModuleList(
            MultiHeadAttention(width, heads) for _ in range(RECIPE_07["layers"])
        )
        self.read = nn.Linear(width, len(VOCAB))

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """De ``ids (batch, n)`` a ``(batch, n, vocab)``."""
        x = self.word(ids) + self.place.weight[: ids.shape[1]]
        for layer in self.layers:
            x = x + layer(x, mask=mask)[0]
        return self.read(x)


def shift(target: Tensor) -> Tensor:
    """La frase desplazada a la derecha, con el inicio delante."""
    return torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)


def prefix_loss(model, target: Tensor, causal: bool) -> Tensor:
    """La pérdida con cada prefijo por separado: no hay futuro que mirar."""
    ids, n = shift(target), target.shape[1]
    losses = [
        F.cross_entropy(
            model(ids[:, :k], masks.causal_mask(k) if causal else None)[:, -1], target[:, k - 1]
        )
        for k in range(1, n + 1)
    ]
    return sum(losses) / n


def with_noise(model: nn.Module):
    """El mismo modelo, que completa lo que recibe hasta 8 con palabras al azar y da las
    puntuaciones de lo recibido; como en el capítulo."""

    def run(ids: Tensor, mask: Tensor | None = None) -> Tensor:
        count, n = ids.shape
        rest = torch.randint(len(VOCAB), (count, 8 - n))
        return model(torch.cat([ids, rest], dim=1))[:, :n]

    return run


def make_loss(name: str):
    """La pérdida con la que se entrena cada variante."""
    if name == "futuro al azar":
        return lambda model, target: prefix_loss(with_noise(model), target, causal=False)
    if name == "prefijos sueltos":
        return lambda model, target: prefix_loss(model, target, causal=False)
    mask = None if name == "sin máscara" else masks.causal_mask(8)

    def loss(model: nn.Module, target: Tensor) -> Tensor:
        ids = target if name == "sin desplazar" else shift(target)
        return F.cross_entropy(model(ids, mask).flatten(0, 1), target.flatten())

    return loss


def _fit(model: nn.Module, batches, loss, steps: int) -> training.History:
    return training.fit(
        model,
        batches,
        loss,
        steps=steps,
        schedule=lambda step: 1 - step / steps,
        progress=False,
        optimizer=lambda parameters: torch.optim.Adam(parameters, lr=RECIPE_07["rate"]),
    )


@torch.no_grad()
def generate(model, count: int, causal: bool, generator: torch.Generator) -> Tensor:
    """Escribe ``count`` frases de 8 palabras, una palabra cada vez."""
    ids = torch.full((count, 1), START)
    for n in range(1, 9):
        odds = model(ids, masks.causal_mask(n) if causal else None)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(odds, 1, generator=generator)], dim=1)
    return ids[:, 1:]


def run_leak(name: str, seed: int) -> dict[str, Any]:
    """Entrena una de ``LEAKS_07`` y mide lo que cree saber, lo que sabe y lo que escribe.

    «futuro al azar» se mide completando con palabras al azar, como se entrenó, y en ``short_*`` con
    el prefijo solo; «sin máscara», al revés: en ``noise_*``, con palabras al azar detrás.
    """
    clock, phrases = time.process_time(), every(1)
    order = torch.randperm(len(phrases), generator=rng.generator(RECIPE_07["split_seed"]))
    test, learn = phrases[order[: RECIPE_07["test_size"]]], phrases[order[RECIPE_07["test_size"] :]]
    rng.seed_all(seed)
    model, generator, loss = TinyModel(), rng.generator(seed), make_loss(name)
    _fit(
        model,
        lambda step: learn[torch.randint(len(learn), (64,), generator=generator)],
        loss,
        RECIPE_07["steps"],
    )
    causal = name in ("con máscara", "sin desplazar")
    good, fresh = set(map(tuple, phrases.tolist())), set(map(tuple, test.tolist()))

    def measure(model, prefix: str = "") -> dict[str, float]:
        """Lo que sabe y lo que escribe, con el prefijo solo o con lo que ponga ``with_noise``."""
        with torch.no_grad():
            honest = prefix_loss(model, test, causal).item()
        lines = generate(model, RECIPE_07["generated"], causal, generator).tolist()
        valid, unseen = (
            sum(tuple(line) in group for line in lines) / len(lines) for group in (good, fresh)
        )
        found = {"honest": round(honest, 3), "valid": valid, "unseen": unseen}
        return {prefix + key: value for key, value in found.items()}

    with torch.no_grad():
        apparent = loss(model, test).item()
    noisy = name == "futuro al azar"
    found = measure(with_noise(model) if noisy else model)
    if noisy:
        found |= measure(model, "short_")
    if name == "sin máscara":
        found |= measure(with_noise(model), "noise_")
    seconds = round(time.process_time() - clock, 1)
    return {"model": name, "seed": seed, "loss": round(apparent, 4), **found,
            "cpu_seconds": seconds}  # fmt: skip


def _gap_batch(
    extras: int, batch: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Frases con un hueco, dónde está y la palabra que había."""
    target = draw(extras, batch, generator)
    place = torch.randint(target.shape[1] - 1, (batch,), generator=generator)
    ids = target.clone()
    ids[torch.arange(batch), place] = GAP
    return ids, place, target


def run_gap(seed: int) -> dict[str, Any]:
    """Entrena a rellenar huecos sin relleno en los lotes y mide las frases cortas, solas y
    acompañadas.
    """
    clock = time.process_time()
    rng.seed_all(seed)
    model, generator = TinyModel(), rng.generator(seed)

    def loss(model: nn.Module, batch) -> Tensor:
        ids, place, target = batch
        rows = torch.arange(len(ids))
        return F.cross_entropy(model(ids)[rows, place], target[rows, place])

    _fit(model, lambda step: _gap_batch(step % 3, 64, generator), loss, RECIPE_07["steps_gap"])
    ids, place, target = _gap_batch(0, 500, rng.generator(999))
    rows, good = torch.arange(500), set(map(tuple, every(0).tolist()))
    padded = F.pad(ids, (0, 6), value=PAD)

    def measure(ids: Tensor, mask: Tensor | None) -> tuple[Tensor, float]:
        with torch.no_grad():
            odds = model(ids, mask)[rows, place].softmax(-1)
        filled = target.clone()
        filled[rows, place] = odds.argmax(-1)
        return odds, sum(tuple(line) in good for line in filled.tolist()) / 500

    alone, hits = measure(ids, None)
    with_mask, hits_mask = measure(padded, masks.padding_mask(padded))
    without, hits_without = measure(padded, None)
    return {
        "model": "relleno",
        "seed": seed,
        "alone": hits,
        "with_mask": hits_mask,
        "without_mask": hits_without,
        "change_with": float(f"{(with_mask - alone).abs().max().item():.1e}"),
        "change_without": round((without - alone).abs().sum(-1).mean().item() / 2, 3),
        "cpu_seconds": round(time.process_time() - clock, 1),
    }


def transformers_polarity() -> dict[str, Any]:
    """Qué quieren decir el 1 y el 0 de ``attention_mask`` en la biblioteca transformers, con pesos
    al azar.
    """
    import transformers

    rng.seed_all(0)
    config = transformers.BertConfig(
        vocab_size=9,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    model = transformers.BertModel(config).eval()
    ids, other = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 2, 3, 5]])  # cambia la última
    moved = {}
    with torch.no_grad():
        for value in (0, 1):
            mask = torch.full((1, 4), 1 - value)
            mask[0, 3] = value
            outputs = [
                model(input_ids=x, attention_mask=mask).last_hidden_state[0, 0]
                for x in (ids, other)
            ]
            moved[value] = (outputs[0] - outputs[1]).abs().max().item() > 1e-6
    return {"version": transformers.__version__, "one_is_seen": moved[1], "zero_is_seen": moved[0]}


def chapter() -> dict[str, Any]:
    """Diez semillas de cada variante, diez del relleno y la polaridad de transformers."""
    runs = [run_leak(name, seed) for name in LEAKS_07 for seed in range(10)]
    runs += [run_gap(seed) for seed in range(10)]
    return {"recipe": RECIPE_07, "transformers": transformers_polarity(), "runs": runs}
