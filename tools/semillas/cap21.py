"""Capítulo 21: un Whisper pequeño oye vocales, y los controles que dicen cuánto adivina.

Cada ejecución se guarda en ``.cache/semillas-21`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any

import oir_sin_etiquetas
import separar
import torch
from recuerdo import Memory
from torch import Tensor, nn
from torch.nn import functional as F

from atento import rng
from atento.models.whisper import Whisper, WhisperConfig
from atento.tasks import vowels
from atento.tasks.translation.vocabulary import Batch
from atento.tasks.vowels import VOCABULARY, VOWELS, Example
from atento.trained import rounded
from atento.training import evaluate, fit, parameter_groups, warmup_cosine
from atento.watching import watching

RECIPE_21: dict[str, Any] = {
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 128,
    "n_layers": 2,
    "audio_len": 80,
    "max_len": 16,
    "examples": 1200,
    "steps": 400,
    "batch": 32,
    "rate": 3e-3,
    "warmup": 60,
    "weight_decay": 0.05,
    "every": 50,
    "exam": 150,
    "changed": 0.5,  # las vocales ya escritas que se cambian por otra, en «changed»
}
PROBES_21: dict[str, Any] = {
    "templates": 200,  # ejemplos de entrenar con que se hacen las plantillas
    "words": 450,  # palabras de cada clase en que se cambia la letra anterior
    "noise": 10.0,
    "louder": 5.0,  # los decibelios que la voz saca al ruido, con más ruido del que se oyó
    "early": 100,  # el paso en que se mira lo que ya oye
}
SEEDS, SOME = 5, 3
MEMORY_21 = Memory(21)


# --- Whisper pequeño ------------------------------------------------------------------------------


def config() -> WhisperConfig:
    r = RECIPE_21
    same = ("d_model", "n_heads", "d_ff", "n_layers", "audio_len", "max_len")
    sizes: dict[str, Any] = {name: r[name] for name in same}
    return WhisperConfig(len(VOCABULARY), n_mels=vowels.N_MELS, **sizes)


@cache
def heard(seed: int) -> Batch:
    """Los de entrenar, sin parejas reservadas y ya en espectrogramas."""
    return vowels.batch(vowels.generate(RECIPE_21["examples"], seed))


@cache
def exams(seed: int) -> dict[str, list[Example]]:
    """Apartados: con las parejas de entrenar y con alguna reservada en cada palabra."""
    n = RECIPE_21["exam"]
    seen = vowels.generate(n, 10_000 + seed)
    reserved = vowels.generate(n, 20_000 + seed, split="test")
    return {"seen": seen, "reserved": reserved, "held": vowels.generate(100, 30_000 + seed)}


def loss(model: nn.Module, lot: Batch) -> Tensor:
    """La entropía cruzada de cada vocal siguiente, con enseñanza forzada."""
    said = model(lot.source, lot.target[:, :-1])
    wanted = lot.target[:, 1:]
    return F.cross_entropy(said.flatten(0, 1), wanted.flatten(), ignore_index=0)


def spans(example: Example, per_second: int) -> list[tuple[int, int]]:
    """Dónde empieza y acaba cada vocal, con ``per_second`` filas o muestras por segundo."""
    clock, found = 0.0, []
    for gap, long in zip(example.gaps, example.lengths, strict=True):
        found.append((round((clock + gap) * per_second), round((clock + gap + long) * per_second)))
        clock += gap + long
    return found


def batches(data: Batch, seed: int, changed: float = 0.0) -> Any:
    """Lotes al azar; ``changed`` de las vocales ya escritas se cambian por otra al azar."""
    source = rng.generator(100 + seed)
    first = VOCABULARY.encode([VOWELS[0]])[0]
    for _ in range(RECIPE_21["steps"]):
        rows = torch.randint(len(data.source), (RECIPE_21["batch"],), generator=source)
        yield (
            Batch(data.source[rows], data.target[rows])
            if not changed
            else Changed(data.source[rows], data.target[rows], first, changed, source)
        )


class Changed:
    """Un lote cuyo texto ya escrito lleva vocales cambiadas; lo que se pide es lo mismo."""

    def __init__(self, source: Tensor, target: Tensor, first: int, share: float, dice: Any) -> None:
        self.source, self.wanted = source, target[:, 1:]
        given = target[:, :-1]
        other = torch.randint(first, first + len(VOWELS), given.shape, generator=dice)
        swap = (torch.rand(given.shape, generator=dice) < share) & (given >= first)
        self.given = torch.where(swap, other, given)


def changed_loss(model: nn.Module, lot: Any) -> Tensor:
    said = model(lot.source, lot.given)
    return F.cross_entropy(said.flatten(0, 1), lot.wanted.flatten(), ignore_index=0)


def train(kind: str, seed: int) -> tuple[Whisper, dict[str, Any]]:
    """Entrena un Whisper pequeño; lo devuelve con lo que se guarda de él."""
    r, data = RECIPE_21, heard(seed)
    held = vowels.batch(exams(seed)["held"])
    rng.seed_all(seed)
    model = Whisper(config())
    groups = parameter_groups(model, weight_decay=r["weight_decay"])
    clock = time.process_time()
    path: list[dict[str, float]] = []

    def look(state: Any) -> None:
        if state.step % r["every"] == 0:
            path.append({"step": state.step, **forced(state.model, exams(seed)["reserved"])})
            state.model.train()

    history = fit(
        model,
        batches(data, seed, r["changed"] if kind == "changed" else 0.0),
        changed_loss if kind == "changed" else loss,
        steps=r["steps"],
        optimizer=torch.optim.AdamW(groups, lr=r["rate"], fused=True),
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        callbacks=[evaluate(lambda m: {"held": loss(m, held).item()}, every=r["every"]), look],
        progress=False,
    )
    seconds = round(time.process_time() - clock, 2)
    curve = [round(value, 4) for _, value in history.metrics["held"]]
    return model, {
        "seed": seed,
        "seconds": seconds,
        "curve": curve,
        "path": path,
        **marks(model, seed),
    }


def cer(said: list[str], wanted: list[str]) -> float:
    spoken = sum(map(len, wanted))
    return sum(vowels.edits(a, b) for a, b in zip(said, wanted, strict=True)) / spoken


def marks(model: Whisper, seed: int) -> dict[str, Any]:
    """La CER con parejas vistas y reservadas, adónde mira cada capa, y vocal a vocal."""
    found: dict[str, Any] = {"parameters": sum(p.numel() for p in model.parameters())}
    for name in ("seen", "reserved"):
        exam = exams(seed)[name]
        found[name] = round(vowels.score(model, exam)["cer"], 5)
    found["looks"] = looks(model, exams(seed)["seen"])
    return found | {"forced": forced(model, exams(seed)["reserved"])}


@torch.no_grad()
def forced(model: Whisper, exam: list[Example]) -> dict[str, float]:
    """Con lo anterior bien escrito, cuántas vocales elige bien, según la pareja que cierran.

    ``usual`` es la proporción de errores, al acabar una pareja reservada, en que escribe una vocal
    que sí podía seguir a la anterior.
    """
    lot = vowels.batch(exam)
    said = model.eval()(lot.source, lot.target[:, :-1])
    names = [VOCABULARY.decode([k])[:1] for k in range(said.shape[-1])]
    chosen = said.argmax(-1)
    hits: dict[str, list[bool]] = {"first": [], "known": [], "reserved": []}
    usual = []
    for row, example in zip(chosen.tolist(), exam, strict=True):
        word = example.vowels
        for i, right in enumerate(word):
            wrote = "".join(names[row[i]])
            pair = word[i - 1 : i + 1]
            kind = "first" if i == 0 else "reserved" if vowels.is_held_out(pair) else "known"
            hits[kind].append(wrote == right)
            if kind == "reserved" and wrote != right:
                usual.append(wrote in VOWELS)
    means = {name: round(sum(x) / len(x), 4) for name, x in hits.items()}
    return means | {"usual": round(sum(usual) / max(1, len(usual)), 4)}


@torch.no_grad()
def looks(model: Whisper, exam: list[Example]) -> list[dict[str, float]]:
    """De cada capa, qué parte de la atención cruzada, al escribir una vocal, cae en su sonido.

    ``chance`` es la parte del tiempo que ocupa; ``ordered``, en cuántas palabras el peso mayor de
    cada vocal llega más tarde que el de la anterior.
    """
    lot = vowels.batch(exam)
    with watching(model.eval()) as maps:
        model(lot.source, lot.target[:, :-1])
    layers = range(RECIPE_21["n_layers"])
    return [where(maps[f"decoder.blocks.{k}.cross_attention"].mean(1).cpu(), exam) for k in layers]


def where(weights: Tensor, exam: list[Example]) -> dict[str, float]:
    """Lo de :func:`looks` con los pesos de una capa, (batch, target, source)."""
    found: dict[str, list[float]] = {"inside": [], "chance": [], "ordered": []}
    for row, example in zip(weights, exam, strict=True):
        tops = []
        for i, (first, last) in enumerate(spans(example, 50)):  # una fila cada 20 ms
            found["inside"].append(row[i, first:last].sum().item())
            found["chance"].append((last - first) / row.shape[-1])
            tops.append(row[i].argmax().item())
        found["ordered"].append(all(a < b for a, b in pairwise(tops)))
    return {name: round(sum(x) / len(x), 4) for name, x in found.items()}


def rule(seed: int) -> dict[str, Any]:
    """Una línea de base: la regla de los formantes, sin aprender nada."""
    names = ("seen", "reserved")
    exam = exams(seed)
    found = {k: round(vowels.score(vowels.by_rule, exam[k])["cer"], 5) for k in names}
    clean = [example._replace(noise=None) for example in exam["seen"]]
    found["clean"] = round(vowels.score(vowels.by_rule, clean)["cer"], 5)
    return {"seed": seed, **found}


# --- La línea de base que compara con plantillas --------------------------------------------------


@cache
def templates(seed: int) -> Tensor:
    """El log-mel medio de cada vocal, (vocal, mel), con los tiempos dados, en unos de entrenar."""
    rows: dict[str, list[Tensor]] = {name: [] for name in VOWELS}
    for example in vowels.generate(PROBES_21["templates"], seed):
        logs = vowels.features(vowels.sound(example))  # (frame, mel)
        for name, (first, last) in zip(example.vowels, spans(example, 100), strict=True):
            rows[name].append(logs[first:last].mean(0))
    return torch.stack([torch.stack(rows[name]).mean(0) for name in VOWELS])


def pieces(signal: Tensor) -> list[tuple[int, int]]:
    """Los trozos que suenan, en filas de 10 ms, partidos como en ``vowels.by_rule``."""
    energy = signal.unfold(0, vowels.HOP, vowels.HOP).square().mean(dim=1)
    loud = (energy > energy.max() / 10).tolist()
    edges = [i for i, (a, b) in enumerate(pairwise([False, *loud, False])) if a != b]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= 5]


def by_template(signal: Tensor, seed: int) -> str:
    """De cada trozo, la vocal cuyo log-mel medio está más cerca. No sabe qué sigue a qué."""
    logs = vowels.features(signal)
    known = templates(seed)
    means = [logs[first:last].mean(0) for first, last in pieces(signal)]
    return "".join(VOWELS[int((known - m).square().sum(1).argmin())] for m in means)


def noisier(seed: int) -> dict[str, list[Example]]:
    """Los exámenes, con más ruido del que se oyó al entrenar."""
    names, level = ("seen", "reserved"), PROBES_21["louder"]
    return {k: [example._replace(noise=level) for example in exams(seed)[k]] for k in names}


def scores(model: Any, seed: int) -> dict[str, float]:
    """La CER de cada examen, y la de los mismos con más ruido."""
    exam = exams(seed)
    sets = {"seen": exam["seen"], "reserved": exam["reserved"]}
    sets |= {f"louder-{name}": some for name, some in noisier(seed).items()}
    return {name: round(vowels.score(model, some)["cer"], 5) for name, some in sets.items()}


def template(seed: int) -> dict[str, Any]:
    """La línea de base fuerte: plantillas de log-mel con la partición por silencios."""
    return {"seed": seed, **scores(lambda signal: by_template(signal, seed), seed)}


# --- Preguntas al modelo ya entrenado -------------------------------------------------------------


def trained(seed: int) -> Whisper:
    """El Whisper de «plain» con esa semilla, entrenado ahora o antes."""
    once("plain", seed)
    model = Whisper(config())
    model.load_state_dict(torch.load(MEMORY_21.weights(f"plain-{seed}"), weights_only=True))
    return model.eval()


def alone(count: int, seed: int) -> Tensor:
    """El log-mel de ``count`` sonidos en que no habla nadie: solo el ruido de los ejemplos."""
    samples = round(vowels.SECONDS * vowels.RATE)
    hiss = torch.randn(count, samples, generator=rng.generator(40_000 + seed))
    return vowels.features(0.1 * 10 ** (-PROBES_21["noise"] / 20) * hiss)


@torch.no_grad()
def hearing(model: Whisper, seed: int) -> dict[str, float]:
    """Los nats por letra con su audio, con el de otra palabra y con ruido solo."""
    lot = vowels.batch(exams(seed)["seen"])
    heards = {"own": lot.source, "other": lot.source.roll(1, 0)}
    heards["noise"] = alone(len(lot.source), seed)
    model.eval()
    return {k: round(loss(model, Batch(x, lot.target)).item(), 4) for k, x in heards.items()}


def familiar(model: Whisper, seed: int) -> dict[str, float]:
    """La CER de las palabras del examen que salieron al entrenar, con otra voz, y la de las demás.

    ``share`` es qué parte del examen salió.
    """
    known = {example.vowels for example in vowels.generate(RECIPE_21["examples"], seed)}
    words = [example.vowels for example in exams(seed)["seen"]]
    said = list(zip(vowels.transcribe(model, exams(seed)["seen"]), words, strict=True))
    found = {"share": round(sum(word in known for word in words) / len(words), 4)}
    for name, wanted in (("familiar", True), ("new", False)):
        some = [pair for pair in said if (pair[1] in known) == wanted]
        found[name] = round(cer([a for a, _ in some], [b for _, b in some]), 5)
    return found


def partner(name: str) -> str:
    """La vocal que, escrita delante de ``name``, hace una pareja reservada."""
    return next(v for v in VOWELS if vowels.is_held_out(v + name))


def apart(word: str, i: int) -> bool:
    """Si la letra que haría reservada la pareja que acaba en ``i`` no hace otra con su anterior."""
    return i == 1 or not vowels.is_held_out(word[i - 2] + partner(word[i]))


@torch.no_grad()
def letters(model: Whisper, seed: int) -> dict[str, float]:
    """Cuántas vocales acierta con el mismo audio, al cambiar solo la letra escrita antes.

    ``known`` y ``reserved``, sin tocar nada, según la pareja que cierran. ``known-reserved``, la
    anterior se cambia por la que la hace reservada; ``known-known`` y ``reserved-known``, por otra
    que sí podía ir delante. Las letras son las mismas en los tres casos, y la cambiada no hace
    nunca una pareja reservada con la que va antes que ella.
    """
    n, dice = PROBES_21["words"], rng.generator(50_000 + seed)
    exam = vowels.generate(n, 60_000 + seed)
    exam += vowels.generate(n, 70_000 + seed, split="test")
    lot = vowels.batch(exam)
    heard_once = model.eval().encode(lot.source)
    number = {name: VOCABULARY.encode([name])[0] for name in VOWELS}
    hits: dict[str, list[bool]] = {}

    def ask(kinds: list[str | None], given: Tensor, i: int) -> None:
        chosen = model.decode(given[:, :-1], heard_once)[:, i].argmax(-1)
        right = (chosen == lot.target[:, i + 1]).tolist()
        for kind, hit in zip(kinds, right, strict=True):
            if kind is not None:
                hits.setdefault(kind, []).append(hit)

    for i in range(1, max(vowels.LENGTHS)):
        words = [e.vowels if len(e.vowels) > i and apart(e.vowels, i) else None for e in exam]
        rare = [w is not None and vowels.is_held_out(w[i - 1 : i + 1]) for w in words]
        plain = [w and ("reserved" if r else "known") for w, r in zip(words, rare, strict=True)]
        ask(plain, lot.target, i)
        for swap in ("reserved", "known"):
            given = lot.target.clone()
            kinds: list[str | None] = []
            for row, (word, kind) in enumerate(zip(words, plain, strict=True)):
                if word is None or kind == swap == "reserved":
                    kinds.append(None)
                    continue
                bad = partner(word[i])
                good = [v for v in VOWELS if v not in (bad, word[i - 1])]
                good = [v for v in good if i == 1 or not vowels.is_held_out(word[i - 2] + v)]
                pick = good[int(torch.randint(len(good), (1,), generator=dice))]
                given[row, i] = number[bad if swap == "reserved" else pick]
                kinds.append(f"{kind}-{swap}")
            ask(kinds, given, i)
    return {kind: round(sum(x) / len(x), 4) for kind, x in hits.items()}


def without(example: Example, k: int) -> Tensor:
    """El sonido de un ejemplo con su vocal ``k`` callada: en ese trozo queda solo el ruido."""
    first, last = spans(example, vowels.RATE)[k]
    wave = vowels.sound(example).clone()
    wave[first:last] -= vowels.sound(example._replace(noise=None))[first:last]
    return wave


@torch.no_grad()
def erased(model: Whisper, seed: int) -> dict[str, float]:
    """La probabilidad de la vocal verdadera antes y después de borrar su sonido, y la de las otras.

    Con lo anterior bien escrito. ``own`` es la que se borra; ``rest``, las demás de la palabra.
    """
    exam = exams(seed)["seen"]
    lot = vowels.batch(exam)
    right = lot.target[:, 1:, None]

    def sure(source: Tensor) -> Tensor:
        return model(source, lot.target[:, :-1]).softmax(-1).gather(-1, right)[..., 0]

    model.eval()
    before = sure(lot.source)
    kinds = ("own", "own-erased", "rest", "rest-erased")
    found: dict[str, list[float]] = {name: [] for name in kinds}
    for k in range(max(vowels.LENGTHS)):
        has = [row for row, example in enumerate(exam) if len(example.vowels) > k]
        source = lot.source.clone()
        source[has] = vowels.features(torch.stack([without(exam[row], k) for row in has]))
        after = sure(source)
        for row in has:
            rest = [i for i in range(len(exam[row].vowels)) if i != k]
            found["own"].append(before[row, k].item())
            found["own-erased"].append(after[row, k].item())
            found["rest"] += before[row, rest].tolist()
            found["rest-erased"] += after[row, rest].tolist()
    return {name: round(sum(x) / len(x), 4) for name, x in found.items()}


def probe(seed: int) -> dict[str, Any]:
    """Lo que se pregunta al Whisper de una semilla sin volver a entrenarlo."""
    model = trained(seed)
    found = {"hearing": hearing(model, seed), "words": familiar(model, seed)}
    found |= {"letters": letters(model, seed), "erased": erased(model, seed)}
    return {"seed": seed, "scores": scores(model, seed), **found}


# --- A medio aprender -----------------------------------------------------------------------------


@torch.no_grad()
def ends(model: Whisper, seed: int) -> dict[str, float]:
    """Con su audio y con el de otra: si acierta dónde acaba la palabra, y los nats de qué vocal es.

    Lo segundo, sabiendo que es una vocal: las cinco probabilidades se hacen sumar 1.
    """
    lot = vowels.batch(exams(seed)["seen"])
    wanted = lot.target[:, 1:]
    first = VOCABULARY.encode([VOWELS[0]])[0]
    is_vowel = wanted >= first
    counted = wanted != vowels.PAD_ID
    found: dict[str, float] = {}
    for name, source in (("own", lot.source), ("other", lot.source.roll(1, 0))):
        said = model.eval()(source, lot.target[:, :-1])
        over = said.argmax(-1) == vowels.EOS_ID
        hits = (over == (wanted == vowels.EOS_ID))[counted]
        nats = F.cross_entropy(said[is_vowel][:, first:], wanted[is_vowel] - first)
        found |= {f"end-{name}": round(hits.double().mean().item(), 4)}
        found |= {f"vowel-{name}": round(nats.item(), 4)}
    return found


def early(seed: int) -> dict[str, Any]:
    """Lo que ya oye en el paso ``early`` un entrenamiento como los de «plain»."""
    r = RECIPE_21
    rng.seed_all(seed)
    model = Whisper(config())
    fit(
        model,
        batches(heard(seed), seed),
        loss,
        steps=PROBES_21["early"],
        optimizer=torch.optim.AdamW(
            parameter_groups(model, weight_decay=r["weight_decay"]), lr=r["rate"], fused=True
        ),
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        progress=False,
    )
    return {"seed": seed, **hearing(model, seed), **ends(model, seed)}


# --- Guardar lo hecho -----------------------------------------------------------------------------

ASKED: dict[str, Callable] = {
    "rule": rule,
    "template": template,
    "probe": probe,
    "early": early,
}
KINDS: dict[str, int] = {"plain": SEEDS, "changed": SOME} | dict.fromkeys(ASKED, SEEDS)


def once(name: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior; los pesos quedan al lado."""
    recipe = RECIPE_21 | (PROBES_21 if name in ASKED else {})
    work = partial(ASKED[name], seed) if name in ASKED else partial(train, name, seed)
    return MEMORY_21.once(f"{name}-{seed}", {"recipe": recipe, "kind": name}, work)


def chapter() -> dict[str, Any]:
    """Todas las redes y sus controles, semilla a semilla."""
    runs = {name: [once(name, seed) for seed in range(count)] for name, count in KINDS.items()}
    parts = {name: found() for name, found in PARTES.items()}
    return {"recipe": RECIPE_21, "probes": PROBES_21, "runs": runs} | parts


def stored_whisper() -> tuple[Whisper, dict[str, Any]]:
    """El Whisper que viaja guardado: la semilla de CER más cercana a la media de las cinco."""
    runs = [once("plain", seed) for seed in range(SEEDS)]
    middle = sum(run["seen"] for run in runs) / len(runs)
    seed = min(range(SEEDS), key=lambda i: abs(runs[i]["seen"] - middle))
    model = rounded(trained(seed)).eval()
    exam = exams(seed)["seen"]
    score = {"cer": round(vowels.score(model, exam)["cer"], 5)}
    return model, {"recipe": RECIPE_21, "seed": seed, "marks": score}


PESOS: dict[str, Callable] = {"oir": stored_whisper} | separar.PESOS
PARTES: dict[str, Callable] = separar.PARTES | oir_sin_etiquetas.PARTES
