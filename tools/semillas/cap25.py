"""Capítulo 25: lo que se ve por dentro de un modelo, ¿se ve también en otros?

La página mira modelos guardados. Aquí se entrenan otros con las mismas recetas y otras semillas, y
a cada uno se le hacen las mismas preguntas: cinco que concuerdan (capítulo 15), cinco copiadores
(16) y tres sumadores (14). Las predicciones de ``PREDICTIONS_25`` se escribieron después de mirar
los modelos guardados y antes de entrenar ninguno de estos. Las de ``LATER_25``, no: llegaron tarde,
y no son predicciones. MiniLM, con sus controles, se mide aparte: lo que la sonda dice de verbos
que no ha visto (``VOICES``) se añadió al leer alguien la página y no creerse la frase que había.

Cada ejecución se guarda en ``.cache/semillas-25`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from cap14 import train_14
from cap15 import pretrain
from cap16 import train_copier
from recuerdo import Memory, rounded
from scipy.stats import spearmanr
from torch import Tensor, nn

from atento import rng
from atento.interpret import (
    Site,
    control_labels,
    depth_states,
    fit_probe,
    head_means,
    induction_target,
    mass_on,
    mixing,
    patch_effects,
    patching,
    previous_target,
    repeated_sequences,
    without_heads,
)
from atento.models.bert import Bert, BertConfig
from atento.models.weights import MiniLM, minilm
from atento.tasks import addition, agreement
from atento.watching import watching

RECIPE_25: dict[str, Any] = {
    "agreeing": 5,
    "copiers": 5,
    "adders": 3,
    "first_seed": 40,  # ninguna es la de un modelo guardado
    "sentences": 400,
    "decay": 0.01,
    "least_effect": 0.2,  # en log-probabilidad: si nada importa, ninguna importa más que otra
    "random_directions": 10,
    "sums": 2000,
    "version": 2,
    "rows": 200,
    "length": 10,
    "draws": 3,  # sorteos de las etiquetas de control
    "minilm": {
        **{"sentences": 800, "train": 500, "relatives": 400},
        **{"reserved_nouns": 20, "decay": 0.1},
    },
    "traps": {"sentences": 100, "depths": [3, 6], "decays": [0.01, 0.1]},
}
PREDICTIONS_25 = {
    "first_map": "con el primer mapa repartido por igual concuerda en más del 97 %",
    "second_map": "con el segundo mapa permutado concuerda en menos del 75 %",
    "erased_below": "borrado el número tras el primer bloque, concuerda en más del 97 %",
    "erased_above": "borrado tras el segundo, el número se acierta en menos del 75 %",
    "triples": "de las 56 ternas de cabezas, las dos que más daño hacen son las que más miran a la "
    "letra anterior y las que más puntúan en inducción",
    "carry": "la llevada vuelve en más del 90 % desde la columna de la izquierda",
}
LATER_25 = {  # lo que se esperaba, escrito tarde
    "swapped": "con el estado de una frase igual de larga y del otro número tras el primer bloque, "
    "concuerda con la suya en más del 90 %; añadida al ver que erased_above fallaba en la primera "
    "semilla",
    "pointed": "la palabra que más importa la señala más el segundo mapa que el primero, y el "
    "primero más que el azar; escrita después de medirlo en el modelo guardado, y en todas las "
    "frases, también en las que ninguna importa",
}
COUNTS = ("agreeing", "copiers", "adders", "draws", "minilm", "traps")  # no cambian una ejecución
MEMORY_25 = Memory(25)


# --- Los que concuerdan ---------------------------------------------------------------------------


def asked(sentences: list[agreement.Sentence]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Las frases con la última palabra tapada, sus filas, su sitio y los rasgos del sujeto."""
    ids, rows = agreement.batch(sentences), torch.arange(len(sentences))
    last = torch.tensor([s.agreeing[-1] + 1 for s in sentences])
    ids[rows, last] = agreement.MASK_ID
    own = torch.tensor([agreement.FEATURES.index(s.subject) for s in sentences])
    return ids, rows, last, own


def shares(logits: Tensor) -> Tensor:
    """De (…, vocab) a lo que se lleva cada uno de los cuatro rasgos, (…, 4)."""
    table = torch.zeros(agreement.VOCAB_SIZE, 4)
    for i, word in enumerate(agreement.WORDS):
        found = agreement.traits(word)
        if len(found) == 1:
            table[i, agreement.FEATURES.index(next(iter(found)))] = 1
    return logits.softmax(-1) @ table


def permuted(weights: Tensor, real: Tensor, generator: torch.Generator) -> Tensor:
    """Cada fila de cada mapa, con sus pesos barajados entre las palabras que no son relleno."""
    noise = torch.rand(weights.shape, generator=generator).masked_fill(~real, 2.0)
    return weights.gather(-1, noise.argsort(dim=-1)) * real


def without(x: Tensor, direction: Tensor, center: Tensor) -> Tensor:
    """Quita de ``x``, contado desde ``center``, lo que va por una dirección."""
    unit = direction / direction.norm()
    return x - ((x - center) @ unit)[..., None] * unit


@torch.no_grad()
def agreeing(model: nn.Module, seed: int) -> dict[str, Any]:
    """Los mapas que importan, lo que se borra y a quién acierta el mapa."""
    r = RECIPE_25
    train = agreement.generate(r["sentences"], 7000 + seed)
    test = agreement.generate(r["sentences"], 8000 + seed, split="test")
    ids, rows, last, own = asked(test)
    known, known_rows, known_last, known_own = asked(train)
    real = (ids != agreement.PAD_ID)[:, None, None]

    def right() -> float:
        return (shares(model(ids)[rows, last]).argmax(-1) == own).double().mean().item()

    with watching(model) as maps:
        found: dict[str, Any] = {"agree": (shares(model(ids)[rows, last]).argmax(-1) == own)}
    found["agree"] = found["agree"].double().mean().item()
    draws = rng.generator(seed)
    for depth, (name, seen) in enumerate(list(maps.items()), 1):
        even = (real / real.sum(-1, keepdim=True)).expand_as(seen)
        for kind, new in (("even", even), ("shuffled", permuted(seen, real, draws))):
            with mixing(model, {name: new}):
                found[f"{kind}-{depth}"] = right()
    found["erased"] = [
        erased(model, d, (ids, rows, last, own), (known, known_rows, known_last, known_own), seed)
        for d in (1, 2)
    ]
    found["pointed"] = pointed(model, (ids, rows, last, own), maps, seed)
    return found


def erased(model: Any, depth: int, test: Any, train: Any, seed: int) -> dict[str, Any]:
    """El número del sujeto en la palabra tapada, tras un bloque: se lee, se borra y se usa o no."""
    ids, rows, last, own = test
    known, known_rows, known_last, known_own = train
    read = [depth_states(model, x, stack="bert.encoder")[depth] for x in (known, ids)]
    x, y = read[0][known_rows, known_last], known_own // 2
    every = read[1]
    seen, goal, center = every[rows, last], own // 2, x.mean(0)
    plural = x[y == 1].mean(0) - x[y == 0].mean(0)

    def number(changed: Tensor) -> dict[str, float]:
        new = every.clone()
        new[rows, last] = changed
        with patching(model, {f"bert.encoder.blocks.{depth - 1}": new}):
            said = shares(model(ids)[rows, last]).argmax(-1)
        hits = {"number": said // 2 == own // 2, "gender": said % 2 == own % 2}
        return {name: hit.double().mean().item() for name, hit in hits.items()}

    draws = rng.generator(seed)
    dice = (torch.randn(x.shape[1], generator=draws) for _ in range(RECIPE_25["random_directions"]))
    chance = [number(without(seen, one, center))["number"] for one in dice]
    partner = torch.tensor([_other(goal, last, i) for i in range(len(goal))])
    clean = [without(z, plural, center) for z in (x, seen)]
    return {
        "read": fit_probe(x, y, decay=RECIPE_25["decay"]).accuracy(seen, goal),
        "read_after": fit_probe(clean[0], y, decay=RECIPE_25["decay"]).accuracy(clean[1], goal),
        **number(clean[1]),
        "random": min(chance),
        "swapped": number(seen[partner])["number"],  # con el estado de una frase del otro número
    }


def _other(number: Tensor, last: Tensor, i: int) -> int:
    """Una frase del otro número y de la misma longitud que la ``i``."""
    found = ((number != number[i]) & (last == last[i])).nonzero()[:, 0]
    return int(found[i % len(found)])


def pointed(model: Any, test: Any, maps: dict[str, Tensor], seed: int) -> dict[str, Any]:
    """De cada frase, qué palabra cambia más la respuesta si no se mira, y quién la señala.

    ``top`` y ``order`` son de las frases en que alguna importa, y ``top_all``, de todas.
    """
    ids, rows, last, own = test
    n, real = ids.shape[1], ids != agreement.PAD_ID

    def told(logits: Tensor) -> Tensor:
        return shares(logits[rows, last])[rows, own].clamp(min=1e-9).log()

    base, effect = told(model(ids)), torch.full(ids.shape, torch.nan)
    for j in range(n):
        seen = torch.ones(len(ids), 1, n, n, dtype=torch.bool)
        seen[rows, 0, last, j] = False
        valid = real[:, j] & (last != j)
        effect[:, j] = torch.where(valid, base - told(model(ids, mask=seen)), torch.nan)
    looks = [found[rows, :, last].mean(1) for found in maps.values()]
    with torch.enable_grad():
        start = model.bert.embed(ids).detach().requires_grad_()
        hook = model.bert.embed.register_forward_hook(lambda module, args, output: start)
        try:
            told(model(ids)).sum().backward()
        finally:
            hook.remove()
    assert start.grad is not None
    near = -(torch.arange(n) - last[:, None]).abs().double()
    ways = {
        "first": looks[0],
        "second": looks[1],
        "both": (looks[0] + looks[1]) / 2,
        "gradient": (start.grad * start).sum(-1).detach().abs(),
        "near": near,
        "random": torch.rand(ids.shape, generator=rng.generator(seed)),
    }
    strong = effect.nan_to_num(-torch.inf).amax(1) > RECIPE_25["least_effect"]
    found: dict[str, Any] = {"strong": strong.double().mean().item()}
    for name, way in ways.items():
        order, tops = [], []
        for row, said in zip(effect, way, strict=True):
            valid = ~row.isnan()
            order.append(float(spearmanr(row[valid].numpy(), said[valid].numpy()).statistic))
            tops.append(bool(row[valid].argmax() == said[valid].argmax()))
        top, ranks = torch.tensor(tops).double(), torch.tensor(order, dtype=torch.float64)
        found[name] = {
            "order": ranks[strong].mean().item(),
            "top": top[strong].mean().item(),
            "top_all": top.mean().item(),
        }
    return found


# --- Los copiadores -------------------------------------------------------------------------------


@torch.no_grad()
def copying(model: nn.Module, seed: int) -> dict[str, Any]:
    """Las 56 ternas de cabezas, quitadas, y a quién mira cada cabeza."""
    r = RECIPE_25
    size, length = r["rows"], r["length"]
    rows, other = (
        repeated_sequences(size, length, 26, generator=rng.generator(seed + k)) for k in (0, 500)
    )
    means = head_means(model, other)

    def hits(reader: nn.Module) -> float:
        right = reader(rows)[:, length:-1].argmax(-1) == rows[:, length + 1 :]
        return right.double().mean().item()

    with watching(model) as maps:
        whole = hits(model)
    names = list(maps)
    goals = {"before": previous_target(2 * length), "after": induction_target(rows)}
    scores = {
        key: torch.stack([mass_on(maps[n], goal) for n in names]) for key, goal in goals.items()
    }
    heads = [(layer, head) for layer in (0, 1) for head in range(4)]
    falls = {}
    for triple in itertools.combinations(heads, 3):
        chosen: dict[str, list[int]] = {}
        for layer, head in triple:
            chosen.setdefault(names[layer], []).append(head)
        falls[triple] = hits(without_heads(model, chosen, means=means))
    told = {
        "before": tuple((0, h) for h in sorted(scores["before"][0].topk(3).indices.tolist())),
        "after": tuple((1, h) for h in sorted(scores["after"][1].topk(3).indices.tolist())),
    }
    rest = [hit for triple, hit in falls.items() if triple not in told.values()]
    return {
        "copied": whole,
        "scores": {key: found.tolist() for key, found in scores.items()},
        **{key: falls[triple] for key, triple in told.items()},
        "rest": {"min": min(rest), "mean": sum(rest) / len(rest), "max": max(rest)},
    }


# --- Los sumadores --------------------------------------------------------------------------------


def carrying(n: int) -> tuple[Any, Tensor]:
    """Sumas reservadas y las mismas con la llevada de las decenas al revés."""
    lot = addition.batch(addition.generate(n, 999_999, split="test"))
    tens = (lot.source[:, [1, 5]] - addition.ZERO_ID).sum(1)
    lot, tens = type(lot)(*(x[tens != 9] for x in lot)), tens[tens != 9]
    other = torch.where(tens < 9, tens + 10, tens - 10)
    bad = lot.source.clone()
    bad[:, [1, 5]] = torch.stack([other // 2, other - other // 2], 1) + addition.ZERO_ID
    return lot, bad


@torch.no_grad()
def adding(model: nn.Module, seed: int) -> dict[str, Any]:
    """Cuánto de la llevada vuelve al reponer cada columna, antes y después de leer."""
    lot, bad = carrying(RECIPE_25["sums"])
    rows = torch.arange(len(bad))
    said = [model(x, lot.inputs)[:, 2].argmax(-1) for x in (lot.source, bad)]

    def edge(logits: Tensor) -> float:
        at = logits[:, 2]
        return (at[rows, said[0]] - at[rows, said[1]])[said[0] != said[1]].mean().item()

    groups = [[0, 4], [1, 5], [2, 6], [3], [7]]
    sites = [Site("encoder.blocks.0", before=True), Site("encoder.blocks.0")]
    found = patch_effects(
        model, (lot.source, lot.inputs), (bad, lot.inputs), sites, edge, positions=groups
    )
    return {
        "changed": (said[0] != said[1]).double().mean().item(),
        "restored": found.restored.tolist(),
    }


# --- Guardar lo hecho -----------------------------------------------------------------------------

KINDS: dict[str, tuple[Callable[[int], nn.Module], Callable[[nn.Module, int], dict[str, Any]]]] = {
    "agreeing": (pretrain, agreeing),
    "copiers": (lambda seed: train_copier(2, seed)[0].eval(), copying),
    "adders": (lambda seed: train_14("suma", seed)[0].eval(), adding),
}


def remembered(name: str, made: dict[str, Any], read: Callable[[], Any]) -> dict[str, Any]:
    """Lo que da ``read``, hecho ahora o, con la misma receta ``made``, en una llamada anterior."""
    return MEMORY_25.once(name, made, lambda: rounded(read()))


def once(kind: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución."""
    made = {key: value for key, value in RECIPE_25.items() if key not in COUNTS}
    if kind != "agreeing":
        del made["least_effect"]  # solo se usa ahí
    train, look = KINDS[kind]
    return remembered(f"{kind}-{seed}", made, lambda: {"seed": seed} | look(train(seed), seed))


def runs() -> dict[str, Any]:
    """Todas las semillas de los tres."""
    r = RECIPE_25
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for i in range(max(r[kind] for kind in KINDS)):
        for kind in KINDS:
            if i < r[kind]:
                found[kind].append(once(kind, r["first_seed"] + i))
    return found


# --- MiniLM ---------------------------------------------------------------------------------------

PEOPLE = (
    "doctor lawyer nurse teacher farmer soldier artist writer singer dancer king queen boy girl "
    "man woman baker banker driver pilot judge poet actor actress priest sailor chef clerk guard "
    "mayor"
).split()
ANIMALS = (
    "dog cat wolf lion horse sheep bear tiger monkey rabbit cow pig duck goose eagle fox deer "
    "mouse rat snake frog goat camel whale shark dolphin parrot turtle donkey bull"
).split()
NOUNS = [*PEOPLE, *ANIMALS]
VERBS = "chased followed watched helped pushed called found hit".split()
TAILS = ("yesterday", "in the park", "near the river", "after lunch", "at night")
FORMS = {
    "main": ("the {a} {v} the {b} {t}", "the {a} was {v} by the {b} {t}"),
    "relatives": ("the {a} that {v} the {b} slept", "the {a} that the {b} {v} slept"),
}


def english(n: int, kind: str, seed: int) -> tuple[list[str], Tensor, Tensor]:
    """Frases, qué nombre va primero y si es quien actúa."""
    source = rng.generator(seed)

    def one(size: int) -> int:
        return int(torch.randint(size, (1,), generator=source))

    texts, nouns, acts = [], [], []
    for _ in range(n):
        a, b = torch.randperm(len(NOUNS), generator=source)[:2].tolist()
        turned = one(2)
        words = {"a": NOUNS[a], "b": NOUNS[b], "v": VERBS[one(len(VERBS))], "t": TAILS[one(5)]}
        texts.append(FORMS[kind][turned].format(**words))
        nouns.append(a)
        acts.append(1 - turned)
    return texts, torch.tensor(nouns), torch.tensor(acts)


def first_noun(reader: MiniLM, model: Bert, texts: list[str]) -> Tensor:
    """El estado del primer nombre a cada altura, (altura, frase, d_model)."""
    return depth_states(model, reader.batch(texts))[:, :, 2]


def probing(states: Tensor, far: Tensor, data: Any, other: Any, *, full: bool) -> list[Any]:
    """Las dos propiedades a cada altura, con sus controles; la media de los sorteos.

    Sin ``full``, solo lo que se compara con el modelo entrenado.
    """
    (_, nouns, acts), (_, _, far_acts) = data, other
    r, rows = RECIPE_25["minilm"], []
    seen, person = torch.arange(len(nouns)) < r["train"], (nouns < len(PEOPLE)).long()
    half = torch.arange(len(far_acts)) < len(far_acts) // 2
    for x, y in zip(states, far, strict=True):

        def score(goal: Tensor, train: Tensor, x: Tensor = x) -> float:
            probe = fit_probe(x[train], goal[train], decay=r["decay"])
            return probe.accuracy(x[~train], goal[~train])

        agent = fit_probe(x[seen], acts[seen], decay=r["decay"])
        row = {"agent": agent.accuracy(x[~seen], acts[~seen])}
        row["agent_far"] = agent.accuracy(y, far_acts)
        if full:
            row |= {"person": score(person, seen), "agent_far_own": score(far_acts, half, y)}
        drawn: list[dict[str, float]] = []
        for k in range(RECIPE_25["draws"]):
            source = rng.generator(900 + k)
            fake = control_labels(nouns, person, generator=source)
            kept = torch.ones(len(NOUNS), dtype=torch.bool)
            kept[torch.randperm(len(NOUNS), generator=source)[: r["reserved_nouns"]]] = False
            told = {"person_new": score(person, kept[nouns])}
            if full:
                told |= {"control": score(fake, seen), "control_new": score(fake, kept[nouns])}
            drawn.append(told)
        row |= {key: sum(one[key] for one in drawn) / len(drawn) for key in drawn[0]}
        rows.append(row)
    return rows


def with_minilm() -> dict[str, Any]:
    """Lo que se lee en MiniLM y en el mismo sin entrenar."""
    made = {key: RECIPE_25[key] for key in ("minilm", "draws")}
    return remembered("minilm", made, read_minilm)


def read_minilm() -> dict[str, Any]:
    """Las sondas de las dos propiedades, a cada altura."""
    r, reader = RECIPE_25["minilm"], minilm()
    data, other = english(r["sentences"], "main", 0), english(r["relatives"], "relatives", 1)
    rng.seed_all(0)
    blank = Bert(BertConfig.mini_lm()).eval()
    found = {}
    for name, model in (("trained", reader.model), ("untrained", blank)):
        states = (first_noun(reader, model, texts[0]) for texts in (data, other))
        found[name] = rounded(probing(*states, data, other, full=name == "trained"))
    examples = [*data[0][:3], *other[0][:3]]  # para comprobar en la página que se lee lo mismo
    norms = rounded(first_noun(reader, reader.model, examples).norm(dim=-1).tolist())
    return {"examples": examples, "norms": norms, "nouns": len(NOUNS), "depths": found}


# --- Lo que lee la sonda de «quién actúa» ---------------------------------------------------------

GERUNDS = dict(
    zip(
        VERBS,
        "chasing following watching helping pushing calling finding hitting".split(),
        strict=True,
    )
)
TRAPS = {
    "was_acts": "the {a} was {g} the {b} {t}",  # lleva «was», y actúa
    "by_acts": "the {a} walked by the river {t}",  # lleva «by», y actúa
    "passive": "the {a} was {v} {t}",  # en pasiva, sin «by»
    "neither": "the {a} was near the river {t}",  # lleva «was», y no hay pasiva
}


def trap(form: str, seed: int) -> list[str]:
    """Frases de una forma, para ver qué dice de ellas una sonda que no las ha visto."""
    source, found = rng.generator(seed), []
    for _ in range(RECIPE_25["traps"]["sentences"]):
        a, b = torch.randperm(len(NOUNS), generator=source)[:2].tolist()
        verb = VERBS[int(torch.randint(len(VERBS), (1,), generator=source))]
        tail = TAILS[
            int(torch.randint(2, (1,), generator=source)) * 3
        ]  # «yesterday», «after lunch»
        words = {"a": NOUNS[a], "b": NOUNS[b], "v": verb, "g": GERUNDS[verb], "t": tail}
        found.append(form.format(**words))
    return found


def with_traps() -> dict[str, Any]:
    """Qué dice la sonda de las trampas."""
    made = {key: RECIPE_25[key] for key in ("minilm", "traps")}
    return remembered("trampas", made, read_traps)


def read_traps() -> dict[str, Any]:
    """La sonda de «quién actúa» a dos alturas y con dos tasas, y lo que dice de cada trampa."""
    r, reader = RECIPE_25["traps"], minilm()
    size = RECIPE_25["minilm"]
    data, other = english(size["sentences"], "main", 0), english(size["relatives"], "relatives", 1)
    texts = {name: trap(form, 20 + k) for k, (name, form) in enumerate(TRAPS.items())}
    seen, half = (
        torch.arange(len(data[2])) < size["train"],
        torch.arange(len(other[2])) < len(other[2]) // 2,
    )
    rng.seed_all(0)
    blank = Bert(BertConfig.mini_lm()).eval()
    found: dict[str, Any] = {"examples": {name: lot[0] for name, lot in texts.items()}}
    for name, model in (("trained", reader.model), ("untrained", blank)):
        states, far = (first_noun(reader, model, x[0]) for x in (data, other))
        lots = {key: first_noun(reader, model, lot) for key, lot in texts.items()}
        found[name] = []
        for depth, decay in itertools.product(r["depths"], r["decays"]):
            probe = fit_probe(states[depth][seen], data[2][seen], decay=decay)
            there = fit_probe(far[depth][half], other[2][half], decay=decay)
            says = {
                key: (probe(lot[depth]).argmax(-1) == 1).double().mean().item()
                for key, lot in lots.items()
            }
            row = {
                "depth": depth,
                "decay": decay,
                "agent": probe.accuracy(states[depth][~seen], data[2][~seen]),
            }
            row["agent_far"] = probe.accuracy(far[depth], other[2])
            row["agent_far_own"] = there.accuracy(far[depth][~half], other[2][~half])
            found[name].append(row | {"says_acts": says})
    order = reader.batch([f"the {noun}" for noun in NOUNS])[:, 2]  # las más frecuentes van primero
    person = torch.arange(len(NOUNS)) < len(PEOPLE)
    found["person_by_order"] = max(
        ((order < t) == person).double().mean().item() for t in order.tolist()
    )
    return found


VOICES = {  # todas en activa
    **{
        verb: f"the {{a}} {verb} {{t}}"
        for verb in "laughed worked drowned died fell vanished".split()
    },
    # y dos relativas que solo se distinguen en quién persigue a quién
    "subject_near": "the {a} that {v} the {b} was near the river {t}",
    "object_near": "the {a} that the {b} {v} was near the river {t}",
    "subject_died": "the {a} that {v} the {b} died {t}",
    "object_died": "the {a} that the {b} {v} died {t}",
    "subject_slept": "the {a} that {v} the {b} slept {t}",
    "object_slept": "the {a} that the {b} {v} slept {t}",
}


def with_voices() -> dict[str, Any]:
    """Qué dice la sonda de esos verbos."""
    made = {key: RECIPE_25[key] for key in ("minilm", "traps")} | {"forms": VOICES}
    return remembered("voces", made, read_voices)


def read_voices() -> dict[str, Any]:
    """La sonda de «quién actúa» tras el tercer bloque, y lo que dice de verbos en activa."""
    size, reader = RECIPE_25["minilm"], minilm()
    data = english(size["sentences"], "main", 0)
    texts = {name: trap(form, 60 + k) for k, (name, form) in enumerate(VOICES.items())}
    seen, depth = torch.arange(len(data[2])) < size["train"], RECIPE_25["traps"]["depths"][0]
    rng.seed_all(0)
    blank = Bert(BertConfig.mini_lm()).eval()
    found: dict[str, Any] = {"examples": {name: lot[0] for name, lot in texts.items()}}
    for name, model in (("trained", reader.model), ("untrained", blank)):
        states = first_noun(reader, model, data[0])[depth]
        lots = {key: first_noun(reader, model, lot)[depth] for key, lot in texts.items()}
        found[name] = []
        for decay in RECIPE_25["traps"]["decays"]:
            probe = fit_probe(states[seen], data[2][seen], decay=decay)
            says = {
                key: (probe(lot).argmax(-1) == 1).double().mean().item()
                for key, lot in lots.items()
            }
            found[name].append({"depth": depth, "decay": decay, "says_acts": says})
    return found


def chapter() -> dict[str, Any]:
    """Las semillas y MiniLM."""
    found = {
        "minilm": with_minilm(),
        "traps": with_traps(),
        "voices": with_voices(),
        "runs": runs(),
    }
    return {"recipe": RECIPE_25, "predictions": PREDICTIONS_25, "later": LATER_25} | found


PARTES = {"runs": runs, "minilm": with_minilm, "traps": with_traps, "voices": with_voices}
