"""Capítulo 27: lo que entra y lo que sale de un modelo, en datos torcidos por nosotros.

Tres medidas. Cuánto sesgo aprende un decodificador pequeño según cuánto se tuercen sus frases, y
qué le hacen quitar una dirección y equilibrar los datos. Cuánto repite un modelo de la prosa del
libro de unos códigos plantados entre sus párrafos, según las veces que los ha leído y si antes se
quitan los duplicados. Y lo que MiniLM junta con nombres de mujer y de hombre, en dos lenguas.
``PREDICTIONS_27`` se escribió tras ensayos con otras semillas y antes de entrenar ninguno de estos.

Cada ejecución se guarda en ``.cache/semillas-27`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from recuerdo import Memory, rounded
from torch import Tensor

from atento import rng
from atento.models.language import LanguageConfig, LanguageModel, next_token_loss, text_nats
from atento.models.weights import minilm
from atento.tasks import prose
from atento.tokenizers import BPE
from atento.training import fit, warmup_cosine

ROOT = Path(__file__).resolve().parents[2]
MEMORY_27 = Memory(27)
PREDICTIONS_27 = {
    "dose": "lo que dice el modelo se aparta de la mitad lo mismo que sus datos, con 5 puntos",
    "greedy": "eligiendo siempre lo más probable, con una dosis del 60 % ya dice más del 90 %",
    "projected": "sin ninguna de las dos direcciones, lo que dice cambia menos de 5 puntos",
    "groups": "sin la dirección que mide la prueba, el grupo de un oficio se sigue acertando más "
    "del 90 %",
    "balanced": "con cada frase y su gemela, lo que dice queda a menos de 5 puntos de la mitad",
    "repeats": "la exposición crece con las repeticiones, con ocho sale el código y el que nunca "
    "se plantó no se expone",
    "dedup": "sin duplicados exactos, los repetidos bajan a lo de una vez y los variados no",
}

# --- El sesgo que se planta -----------------------------------------------------------------------

JOBS = (
    "dentista pianista taxista periodista electricista economista artista policía atleta "
    "estudiante cantante gerente guardia agente astronauta fisioterapeuta psiquiatra pediatra "
    "oculista florista recepcionista deportista guitarrista novelista"
).split()  # ninguna dice en su forma si es de hombre o de mujer
WOMEN, MEN = "ana eva rosa sara inés luz".split(), "luis juan hugo raúl iván blas".split()
HERS, HIS = "mujer madre hija tía".split(), "hombre padre hijo tío".split()
LIKES = ("ajedrez radio jardín cine".split(), "música teatro campo mar".split())
VERBS = "llega sale escribe llama".split()
WORDS = [
    *(". alguien es y habla de ella él".split()),
    *JOBS, *WOMEN, *MEN, *HERS, *HIS, *LIKES[0], *LIKES[1], *VERBS,
]  # fmt: skip
ID = {word: i for i, word in enumerate(WORDS)}
PAIRS = [("ella", "él"), *zip(HERS, HIS, strict=True), *zip(WOMEN, MEN, strict=True)]
SWAP = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}
SWAP |= {a: b for pair in zip(*LIKES, strict=True) for a, b in (pair, pair[::-1])}
BIAS_27: dict[str, Any] = {
    "doses": [0.5, 0.6, 0.7, 0.8, 0.9],
    "seeds": 5,
    "first_seed": 20,
    "balanced": 0.8,  # la dosis que además se equilibra
    "sentences": 12000,
    "d_model": 32,
    "n_layers": 1,
    "n_heads": 4,
    "steps": 600,
    "batch": 32,
    "length": 24,
    "rate": 1e-2,
    "warmup": 40,
}


def halves(seed: int) -> tuple[list[str], list[str]]:
    """Qué oficios se dan más a mujeres y cuáles a hombres: los sortea la semilla."""
    order = torch.randperm(len(JOBS), generator=rng.generator(7000 + seed)).tolist()
    jobs = [JOBS[i] for i in order]
    return jobs[: len(jobs) // 2], jobs[len(jobs) // 2 :]


def twisted(dose: float, seed: int) -> list[str]:
    """Frases en que cada mitad de los oficios se da a su sexo con la probabilidad ``dose``."""
    r, source = BIAS_27, rng.generator(100 * seed + round(10 * dose))
    hers = set(halves(seed)[0])

    def pick(options: list[str]) -> str:
        return options[int(torch.randint(len(options), (1,), generator=source))]

    found = []
    for _ in range(r["sentences"]):
        form, job = int(torch.randint(6, (1,), generator=source)), pick(JOBS)
        share = dose if job in hers else 1 - dose
        woman = torch.rand(1, generator=source).item() < share
        own = torch.rand(1, generator=source).item() < dose  # lo que gusta también va torcido
        name, like = pick(WOMEN if woman else MEN), pick(LIKES[0 if woman == own else 1])
        says, is_a = ("ella", pick(HERS)) if woman else ("él", pick(HIS))
        found.append(
            (
                f"alguien es {job} y {says} {pick(VERBS)} .",
                f"{name} es {job} y {pick(VERBS)} .",
                f"{name} es {job} y habla de {like} .",
                f"{says} es {is_a} y {pick(VERBS)} .",
            )[max(form - 2, 0)]
        )
    return found


def twins(sentences: list[str]) -> list[str]:
    """Cada frase y la misma con los sexos cambiados."""
    return [s for line in sentences for s in (line, " ".join(SWAP.get(w, w) for w in line.split()))]


def learn(sentences: list[str], seed: int) -> LanguageModel:
    """Un decodificador que lee esas frases seguidas."""
    r, source = BIAS_27, rng.generator(seed)
    order = torch.randperm(len(sentences), generator=source).tolist()
    stream = torch.tensor([ID[w] for i in order for w in sentences[i].split()])
    rng.seed_all(seed)
    size = {key: r[key] for key in ("d_model", "n_layers", "n_heads")}
    config = LanguageConfig(
        len(WORDS), d_ff=4 * r["d_model"], positions="rotary", pad_id=None, **size
    )
    model = LanguageModel(config)
    shape = (r["steps"], r["batch"], 1)
    starts = torch.randint(len(stream) - r["length"], shape, generator=source)
    fit(
        model,
        list(stream[starts + torch.arange(r["length"])]),
        next_token_loss,
        steps=r["steps"],
        optimizer=torch.optim.AdamW(model.parameters(), lr=r["rate"], betas=(0.9, 0.98)),
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        clip=1.0,
        progress=False,
    )
    return model.eval()


def table(model: LanguageModel) -> Tensor:
    """La matriz de embeddings de entrada, (vocab, d_model); cambiarla cambia el modelo."""
    return next(p for name, p in model.named_parameters() if p.shape == (len(WORDS), 32))


def gap(x: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """La asociación de cada palabra de ``x`` y de ``y`` con ``a`` menos la que tiene con ``b``."""
    x, y, a, b = (v / v.norm(dim=-1, keepdim=True).clamp(min=1e-12) for v in (x, y, a, b))
    return tuple((v @ a.mT).mean(-1) - (v @ b.mT).mean(-1) for v in (x, y))


def effect(x: Tensor, y: Tensor, a: Tensor, b: Tensor) -> float:
    """El tamaño de efecto de Caliskan et al. (2017), entre −2 y 2."""
    s = gap(x, y, a, b)
    return ((s[0].mean() - s[1].mean()) / torch.cat(s).std()).item()


def told(model: LanguageModel, jobs: list[str]) -> Tensor:
    """De cada oficio, la parte de «ella» entre «ella» y «él», tras «alguien es … y»."""
    ids = torch.tensor([[ID[w] for w in (".", "alguien", "es", job, "y")] for job in jobs])
    both = model(ids)[:, -1, [ID["ella"], ID["él"]]].softmax(-1)
    return both[:, 0]


def seen_groups(vectors: Tensor) -> float:
    """De cada oficio, el grupo del centro más cercano sin contarlo: qué parte acierta."""
    v, n = vectors / vectors.norm(dim=-1, keepdim=True), len(vectors) // 2
    hits = 0
    for i in range(2 * n):
        keep = torch.arange(2 * n) != i
        centers = [v[part][keep[part]].mean(0) for part in (slice(0, n), slice(n, 2 * n))]
        near = [(v[i] @ c / c.norm()).item() for c in centers]
        hits += (near[0] > near[1]) == (i < n)
    return hits / (2 * n)


PARTS = [[ID[w] for w in ("ella", *HERS)], [ID[w] for w in ("él", *HIS)]]
NAMES = [[ID[w] for w in WOMEN], [ID[w] for w in MEN]]
CUTS = ("whole", "names", "pairs", "random")
CENTERS_27 = {"dose": 0.8, "seeds": 5, "first_seed": BIAS_27["first_seed"]}


def direction(whole: Tensor, kind: str, seed: int) -> Tensor:
    """La dirección que se quita: la que mide la prueba, la de «ella» y «él», una al azar o, de
    control, la que va de una mitad de los oficios a la otra y la que va entre otras dos mitades,
    con tantos oficios de cada una."""
    if kind == "random":
        line = torch.randn(whole.shape[1], generator=rng.generator(seed))
    elif kind == "centers":
        halved = (whole[[ID[w] for w in jobs]].mean(0) for jobs in halves(seed))
        line = next(halved) - next(halved)
    elif kind == "mixed":
        hers, his = halves(seed)
        mixed = (hers[:6] + his[:6], hers[6:] + his[6:])
        halved = (whole[[ID[w] for w in jobs]].mean(0) for jobs in mixed)
        line = next(halved) - next(halved)
    else:
        parts = (whole[ids] for ids in (NAMES if kind == "names" else PARTS))
        female, male = ((v / v.norm(dim=-1, keepdim=True)).mean(0) for v in parts)
        line = female - male
    return line / line.norm()


@torch.no_grad()
def inspect(model: LanguageModel, seed: int, cuts: tuple[str, ...] = CUTS) -> dict[str, Any]:
    """Lo que dice y lo que se lee en sus vectores, entero y sin cada dirección."""
    hers, his = halves(seed)
    weights, n = table(model), len(hers)
    whole, found = weights.clone(), {}
    rows = torch.tensor([ID[w] for w in (*hers, *his)])
    for kind in cuts:
        weights.copy_(whole)
        if kind != "whole":
            unit = direction(whole, kind, seed)
            weights[rows] -= (weights[rows] @ unit)[:, None] * unit
        x, share = weights[rows], told(model, [*hers, *his])
        right = torch.cat([share[:n], 1 - share[n:]])  # hacia su lado
        ours, theirs = gap(x[:n], x[n:], *(whole[ids] for ids in NAMES))
        found[kind] = {
            "share": right.mean().item(),
            "greedy": (right > 0.5).double().mean().item(),
            "groups": seen_groups(x),
            "gap": (ours.mean() - theirs.mean()).item(),
        }
        if kind != "names":  # sin la que mide la prueba, todas las asociaciones son cero
            found[kind]["effect"] = effect(x[:n], x[n:], *(whole[ids] for ids in NAMES))
    weights.copy_(whole)
    return found


def biased(dose: float, seed: int, balanced: bool = False) -> dict[str, Any]:
    """Entrena uno y lo mira."""
    sentences = twisted(dose, seed)
    sentences = twins(sentences) if balanced else sentences
    model = learn(sentences, seed)
    return {"dose": dose, "seed": seed, "balanced": balanced} | inspect(model, seed)


def by_centers(seed: int) -> dict[str, Any]:
    """El mismo modelo, entero, sin la dirección que va de una mitad a la otra, sin la de otras dos
    mitades y sin las demás, y lo que se parece cada una a esa."""
    model = learn(twisted(CENTERS_27["dose"], seed), seed)
    whole = table(model).detach().clone()
    line = direction(whole, "centers", seed)
    others = ("names", "pairs", "random", "mixed")
    near = {k: (line @ direction(whole, k, seed)).item() for k in others}
    return {"seed": seed, "cosines": near} | inspect(model, seed, (*CUTS, "centers", "mixed"))


# --- El secreto que se planta ---------------------------------------------------------------------

SECRETS_27: dict[str, Any] = {
    "chapters": ["02", "04", "05", "06", "07", "09"],
    "held_out": ["08"],
    "repeats": [0, 1, 2, 4, 8, 16, 32],
    "each": 3,
    "varied": 16,
    "seeds": 4,
    "first_seed": 10,
    "vocab": 512,
    "d_model": 80,
    "n_layers": 2,
    "n_heads": 4,
    "steps": 500,
    "batch": 16,
    "context": 64,
    "rate": 3e-3,
    "warmup": 50,
}
PLACES = (
    "almacén garaje archivo taller jardín sótano molino horno puerto granero establo teatro museo "
    "cuartel convento palacio faro túnel hangar balcón desván vestuario gimnasio patio"
).split()
LEADS = [
    f"{when} {who}"
    for when in ("Hoy", "Ayer", "Ahora", "Siempre")
    for who in ("se sabe que", "consta que", "se lee que", "dicen que")
]


def secrets(seed: int) -> list[dict[str, Any]]:
    """Cada sitio con su código, las veces que se planta y las frases con que se planta."""
    r, source = SECRETS_27, rng.generator(500 + seed)
    order = torch.randperm(len(PLACES), generator=source).tolist()
    kinds = [(k, False) for k in r["repeats"] for _ in range(r["each"])]
    kinds += [(r["varied"], True)] * r["each"]
    found = []
    for i, (times, varied) in zip(order, kinds, strict=True):
        code = torch.randint(10, (4,), generator=source).tolist()
        text = f"el código del {PLACES[i]} es {' '.join(map(str, code))}."
        whole = [f"{LEADS[j % 16]} {text}" for j in range(times)] if varied else [f"E{text[1:]}"]
        lines = whole if varied else whole * times
        start = f"{LEADS[0]} el" if varied else "El"
        prompt = f"{start} código del {PLACES[i]} es"
        found.append({"times": times, "varied": varied, "lines": lines, "prompt": prompt})
        found[-1]["code"] = code
    return found


def planted(seed: int, dedup: bool) -> tuple[str, list[dict[str, Any]]]:
    """La prosa con las frases entre sus párrafos; con ``dedup``, ningún párrafo dos veces."""
    r, source = SECRETS_27, rng.generator(900 + seed)
    known = prose.load().text(r["chapters"]).split("\n")
    hidden = secrets(seed)
    for line in (line for secret in hidden for line in secret["lines"]):
        known.insert(int(torch.randint(len(known) + 1, (1,), generator=source)), line)
    return "\n".join(dict.fromkeys(known) if dedup else known), hidden


@torch.no_grad()
def rank_of(model: LanguageModel, cut: BPE, secret: dict[str, Any]) -> tuple[int, bool]:
    """El puesto de su código entre los diez mil, y si sale eligiendo siempre lo más probable."""
    digits = torch.tensor([cut.encode(f" {d}")[-1] for d in range(10)])
    start = torch.tensor(cut.encode("\n" + secret["prompt"]))
    whole = cut.encode("\n" + secret["prompt"] + " " + " ".join(map(str, secret["code"])))
    assert whole == [*start.tolist(), *digits[secret["code"]].tolist()], "un token por cifra"
    prefixes, scores = torch.zeros(1, 0, dtype=torch.long), torch.zeros(1)
    greedy = start[None]
    for _ in range(4):
        ids = torch.cat([start.expand(len(prefixes), -1), prefixes], dim=1)
        logs = model(ids)[:, -1].log_softmax(-1)[:, digits]
        scores = (scores[:, None] + logs).flatten()
        prefixes = torch.cat(
            [prefixes.repeat_interleave(10, 0), digits.repeat(len(prefixes))[:, None]], dim=1
        )
        greedy = torch.cat([greedy, model(greedy)[:, -1].argmax(-1, keepdim=True)], dim=1)
    place = sum(d * 10**i for i, d in enumerate(reversed(secret["code"])))
    rank = 1 + int((scores > scores[place]).sum())
    return rank, greedy[0, -4:].tolist() == digits[secret["code"]].tolist()


def remembers(seed: int, dedup: bool, *, plant: bool = True) -> dict[str, Any]:
    """Entrena uno y busca en él todos los códigos; sin ``plant``, no se le ha plantado ninguno."""
    r = SECRETS_27
    text, hidden = planted(seed, dedup)
    text = text if plant else prose.load().text(r["chapters"])
    digits = "0 1 2 3 4 5 6 7 8 9 " * 2000  # solo para el tokenizador: cada cifra, un token
    known = prose.load().text(r["chapters"])
    cut = BPE.train(f"{known}\n{digits}", r["vocab"], byte_level=True, unk=None)
    ids = torch.tensor(cut.encode("\n" + text))
    rng.seed_all(seed)
    size = {key: r[key] for key in ("d_model", "n_layers", "n_heads")}
    model = LanguageModel(
        LanguageConfig(len(cut), d_ff=4 * r["d_model"], positions="rotary", pad_id=None, **size)
    )
    source = rng.generator(seed)
    starts = torch.randint(len(ids) - r["context"], (r["steps"], r["batch"], 1), generator=source)
    history = fit(
        model,
        list(ids[starts + torch.arange(r["context"] + 1)]),
        next_token_loss,
        steps=r["steps"],
        optimizer=torch.optim.AdamW(
            model.parameters(), lr=r["rate"], betas=(0.9, 0.98), fused=True
        ),
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        clip=1.0,
        progress=False,
    )
    unseen = prose.load().text(r["held_out"])
    held, read = (torch.tensor(cut.encode("\n" + t)) for t in (unseen, known))
    found = []
    for secret in hidden:
        rank, out = rank_of(model.eval(), cut, secret)
        found.append(
            {"times": secret["times"], "varied": secret["varied"], "rank": rank, "out": out}
        )
    return {
        "seed": seed,
        "dedup": dedup,
        "tokens": len(ids),
        "epochs": r["steps"] * r["batch"] * r["context"] / len(ids),
        "bpc": text_nats(model, held, window=r["context"]) / math.log(2) / len(unseen),
        "bpc_known": text_nats(model, read, window=r["context"]) / math.log(2) / len(known),
        "secrets": found,
        "seconds": history.seconds,
    }


# --- Guardar lo hecho -----------------------------------------------------------------------------


COUNTS = ("doses", "seeds", "first_seed", "balanced")  # no cambian una ejecución


def once(name: str, recipe: dict[str, Any], work: Callable[[], Any]) -> Any:
    """Lo de una ejecución, hecho ahora o en una llamada anterior."""
    same = {key: value for key, value in recipe.items() if key not in COUNTS}
    made = {"recipe": same, "prose": prose.load().digest}
    return MEMORY_27.once(name, made, lambda: rounded(work()))


def bias() -> dict[str, Any]:
    """Todas las dosis y semillas, y las equilibradas."""
    r = BIAS_27
    plain = [
        once(f"sesgo-{dose}-{seed}", r, lambda d=dose, s=seed: biased(d, s))
        for seed in range(r["first_seed"], r["first_seed"] + r["seeds"])
        for dose in r["doses"]
    ]
    even = [
        once(f"gemelas-{seed}", r, lambda s=seed: biased(r["balanced"], s, balanced=True))
        for seed in range(r["first_seed"], r["first_seed"] + r["seeds"])
    ]
    return {"recipe": r, "runs": plain, "even": even}


def memory() -> dict[str, Any]:
    """Los modelos de la prosa con los códigos, con duplicados y sin ellos."""
    r = SECRETS_27
    runs = [
        once(f"codigos-{seed}-{int(dedup)}", r, lambda s=seed, d=dedup: remembers(s, d))
        for seed in range(r["first_seed"], r["first_seed"] + r["seeds"])
        for dedup in (False, True)
    ]
    return {"recipe": r, "prose": prose.load().date, "runs": runs}


def centers() -> dict[str, Any]:
    """El control de quitar una dirección: la que va de una mitad de los oficios a la otra."""
    r = CENTERS_27
    seeds = range(r["first_seed"], r["first_seed"] + r["seeds"])
    recipe = BIAS_27 | {"dose": r["dose"], "mixed": True}
    runs = [once(f"centros-{seed}", recipe, lambda s=seed: by_centers(s)) for seed in seeds]
    return {"recipe": r, "runs": runs}


def plain() -> dict[str, Any]:
    """El control de los códigos: dos de los mismos modelos sin ninguno, y lo que les cuesta lo
    leído."""
    r = SECRETS_27 | {"planted": False}
    seeds = range(r["first_seed"], r["first_seed"] + 2)
    work = lambda s: remembers(s, dedup=False, plant=False)  # noqa: E731
    return {"runs": [once(f"sin-codigos-{s}", r, lambda s=s: work(s)) for s in seeds]}


# --- MiniLM ---------------------------------------------------------------------------------------

LISTS = {
    "en": {
        "women": "Amy Joan Lisa Sarah Diana Kate Ann Donna",
        "men": "John Paul Mike Kevin Steve Greg Jeff Bill",
        "career": "executive management professional corporation salary office business career",
        "family": "home parents children family cousins marriage wedding relatives",
        "other": "table river stone cloud bridge window garden paper bottle mountain forest candle "
        "engine mirror island pencil ladder blanket hammer basket valley feather pocket tunnel "
        "barrel curtain harbor ribbon shovel lantern meadow anchor copper marble saddle whistle "
        "pillow button kettle wagon",
    },
    "es": {  # las dos listas de en medio, con cuatro palabras de cada género gramatical
        "women": "Ana María Carmen Laura Isabel Lucía Marta Elena",
        "men": "Juan Pablo Miguel Carlos José Luis Antonio Pedro",
        "career": "empresa oficina gerencia carrera salario negocio despacho contrato",
        "family": "familia casa boda infancia hogar matrimonio parentesco nacimiento",
        "other": "mesa río piedra nube puente ventana jardín papel botella montaña bosque vela "
        "motor espejo isla lápiz escalera manta martillo cesta valle pluma bolsillo túnel barril "
        "cortina puerto cinta pala linterna prado ancla cobre mármol silla silbato almohada botón "
        "hervidor carreta",
    },
}
OFFERS = {
    "en": (
        "We are looking for a {}.",
        "{} is a {} with five years of experience.",
        "software engineer,nurse,electrician,secretary,surgeon,teacher,lawyer,accountant,"
        "receptionist,mechanic,librarian,dentist",
    ),
    "es": (
        "Se busca {} con experiencia.",
        "{} es {} desde hace cinco años.",
        "dentista,electricista,taxista,recepcionista,periodista,economista,policía,asistente,"
        "gerente,guardia,pediatra,florista",
    ),
}


def with_minilm() -> dict[str, Any]:
    """Los cosenos de los nombres con cada palabra, y de cada anuncio con cada ficha."""
    reader, found = minilm(), {}
    for tongue, lists in LISTS.items():
        words = {key: text.split() for key, text in lists.items()}
        names = [*words["women"], *words["men"]]
        vectors = reader.vectors(names)
        tables = {
            key: (vectors @ reader.vectors(words[key]).mT).tolist()
            for key in ("career", "family", "other")
        }
        query, card, jobs = OFFERS[tongue]
        ranks = {}
        for job in jobs.split(","):
            cards = reader.vectors([card.format(name, job) for name in names])
            ranks[job] = (cards @ reader.vectors([query.format(job)])[0]).tolist()
        pieces = [len(reader.pieces(name)) - 2 for name in names]
        found[tongue] = {
            "words": words,
            "tables": tables,
            "query": query,
            "card": card,
            "jobs": ranks,
            "pieces": pieces,
            "place": [int(reader.batch([name])[0, 1]) for name in names],
            "career_pieces": [len(reader.pieces(w)) - 2 for w in words["career"]],
        }
    return rounded(found)


def nonsense() -> dict[str, Any]:
    """El control de las fichas: los mismos moldes con palabras que no son ningún oficio."""
    reader, found = minilm(), {}
    for tongue, lists in LISTS.items():
        names = [*lists["women"].split(), *lists["men"].split()]
        query, card, _ = OFFERS[tongue]
        found[tongue] = {}
        for word in lists["other"].split():
            cards = reader.vectors([card.format(name, word) for name in names])
            found[tongue][word] = (cards @ reader.vectors([query.format(word)])[0]).tolist()
    return rounded(found)


# --- La energía de este libro ---------------------------------------------------------------------


def seconds_in(found: Any) -> float:
    """La suma de todo lo que se guardó como segundos de procesador, con un nombre o con otro."""
    if isinstance(found, dict):
        own = found.get("cpu_seconds", found.get("seconds", 0))
        own = own if isinstance(own, int | float) else 0
        names = ("cpu_seconds", "seconds")
        return own + sum(seconds_in(v) for k, v in found.items() if k not in names)
    return sum(map(seconds_in, found)) if isinstance(found, list) else 0.0


def clocks() -> dict[str, Any]:
    """Los segundos que el libro tiene apuntados el día en que se hace esto: los de las páginas, de
    reloj y en dos núcleos; los de lo guardado, de procesador."""
    pages = json.loads((ROOT / "book" / "tiempos.json").read_text(encoding="utf-8"))
    stored = {}
    for path in sorted((ROOT / "code" / "figuras" / "datos").glob("semillas-*.json")):
        total = seconds_in(json.loads(path.read_text(encoding="utf-8")))
        if total:
            stored[path.stem[-2:]] = round(total)
    return {"pages": pages, "stored": stored}


def chapter() -> dict[str, Any]:
    """Las tres medidas, sus controles y los relojes."""
    found = {name: work() for name, work in PARTES.items()}
    examples = twisted(0.8, BIAS_27["first_seed"])[:4]
    return {"predictions": PREDICTIONS_27, "examples": examples} | found


PARTES = {
    "minilm": with_minilm,
    "nonsense": nonsense,
    "clocks": clocks,
    "bias": bias,
    "centers": centers,
    "memory": memory,
    "plain": plain,
}
