"""Capítulo 23: lo que le hace a un modelo cambiarle la atención, y lo que cuesta cada una.

Los modelos son los guardados del capítulo 16 (la prosa del libro y el copiador) y el ViT del 19.
Cada ejecución se guarda en ``.cache/semillas-23`` con su receta: si la orden se corta, sigue donde
iba, y para repetirlo todo se borra esa carpeta. Los tiempos son de procesador, la mediana de varias
rondas.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import cap16
import cap19
import torch
from recuerdo import Memory
from torch import Tensor, nn
from torch.nn import functional as F

from atento import efficient as e
from atento import rng, trained
from atento.attention import MultiHeadAttention, scaled_dot_product_attention
from atento.models.language import LanguageModel, next_token_loss, text_nats
from atento.moe import MixtureOfExperts, balance_loss, route
from atento.tasks import digits
from atento.training import fit, parameter_groups, warmup_cosine

RECIPE_23: dict[str, Any] = {
    "kinds": {
        "exact": {},
        "window": {"prose": 4, "copy": 8},
        "lsh": {"buckets": 8, "rounds": 4},
        "linear": {},
        "performer": {"features": 128},
        "mean": {},
    },
    "adapt": {"steps": 200, "rate": 1e-3, "warmup": 20},
    "experts": {"n": 4, "steps": 200, "balance": 0.01, "factor": 1.25},
    "linformer": {"rank": 4},
    "held": 4000,  # tokens apartados con que se mide la prosa
}
DRAWS, SEEDS, COPY_SEEDS = 2, 2, 2
NARROW = 4  # una ventana que en dos capas no llega a nueve sitios
RATES = {  # otras tasas del copiador; con 3e-2, Performer da gradientes que no son finitos
    "exact": (1e-2,),
    "window": (1e-2,),
    "linear": (1e-2, 3e-2, 1e-1),
    "performer": (1e-2,),
}
CHANCE = 0.5  # lo que ve LSH con cuatro rondas, más o menos
MEMORY_23 = Memory(23)


class MeanAttention(e.LinearAttention):
    """Un control: los mismos pesos para todas las claves."""

    def features(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        return torch.ones_like(query), torch.ones_like(key)


class OffAttention(e.EfficientAttention):
    """Otro: la atención apagada. De cada cabeza salen ceros."""

    def mix(self, query, key, value, mask, bias) -> Tensor:
        return torch.zeros_like(query)


class ChanceAttention(e.EfficientAttention):
    """Otro: la exacta, con la mitad de las parejas tapadas al azar; nadie se tapa a sí mismo."""

    dice: torch.Generator

    def mix(self, query, key, value, mask, bias) -> Tensor:
        n = query.shape[-2]
        seen = torch.rand(*query.shape[:-1], n, generator=self.dice) < CHANCE
        seen = (seen | torch.eye(n, dtype=torch.bool)).tril()
        return F.scaled_dot_product_attention(query, key, value, attn_mask=seen)


CONTROLS: dict[str, type[e.EfficientAttention]] = {"off": OffAttention, "chance": ChanceAttention}


def substituted(model: nn.Module, kind: str, task: str, seed: int) -> nn.Module:
    """El modelo con otra atención y los mismos pesos."""
    r, dice = RECIPE_23["kinds"], rng.generator(seed)
    if kind == "exact":
        return model
    kinds: dict[str, tuple[type[e.EfficientAttention], dict[str, Any]]] = {
        "window": (e.WindowAttention, {"window": r["window"].get(task, 0)}),
        "lsh": (e.LshAttention, r["lsh"] | {"generator": dice}),
        "linear": (e.LinearAttention, {}),
        "performer": (e.PerformerAttention, r["performer"] | {"generator": dice}),
        "mean": (MeanAttention, {}),
    }
    if kind in CONTROLS:
        twin = e.with_attention(model, CONTROLS[kind])
        for part in twin.modules():
            if isinstance(part, ChanceAttention):
                part.dice = dice
        return twin
    cls, options = kinds[kind]
    return e.with_attention(model, cls, **options)


# --- Los modelos guardados ------------------------------------------------------------------------


def prose() -> tuple[LanguageModel, Tensor, Tensor, int]:
    """El modelo de la prosa, el texto de aprender, un trozo del apartado y sus caracteres."""
    known, unseen = cap16.texts()
    cut = cap16.tokenizer(known)
    model = trained.fill(cap16.build(cap16.BOOK_WIDTH, len(cut), 0), "prosa-16")
    held = cap16.numbers(cut, unseen)[: RECIPE_23["held"]]
    return model, cap16.numbers(cut, known), held, len(cut.decode(held[1:]))


@torch.no_grad()
def bits(model: LanguageModel, held: Tensor, size: int) -> float:
    """Bits por carácter del trozo apartado."""
    nats = text_nats(model.eval(), held, window=cap16.RECIPE_16["context"])
    return nats / math.log(2) / size


def copier() -> LanguageModel:
    """El copiador guardado."""
    return trained.fill(cap16.copier(2), "induccion-16")


# --- Cambiar la atención --------------------------------------------------------------------------


def swapped(kind: str, seed: int) -> dict[str, Any]:
    """Lo que miden los dos modelos guardados con otra atención y nada más."""
    model, _, held, size = prose()
    written = bits(substituted(model, kind, "prose", seed), held, size)
    return {
        "bpc": written,
        "copied": cap16.copied(substituted(copier(), kind, "copy", seed).eval()),
    }


def from_scratch(kind: str, seed: int) -> dict[str, Any]:
    """El copiador entrenado desde el principio con otra atención, con la receta del 16.

    ``kind`` puede llevar otra tasa (``linear@0.01``); ``narrow`` es la ventana estrecha.
    """
    kind, _, rate = kind.partition("@")
    c = cap16.COPYING_16 | ({"rate": float(rate)} if rate else {})
    rng.seed_all(seed)
    model = cap16.copier(2)
    if kind == "narrow":
        model = e.with_attention(model, e.WindowAttention, window=NARROW).train()
    else:
        model = substituted(model, kind, "copy", seed).train()
    rows = list(cap16.repeated(c["steps"], c["batch"], seed, c["periods"]))
    history = _fit(model, rows, next_token_loss, c["steps"], c["rate"], c["warmup"])
    return {"copied": cap16.copied(model.eval()), "seconds": history}


def adapted(kind: str, seed: int) -> dict[str, Any]:
    """El modelo de la prosa con otra atención, tras unos pasos más; o con menos claves."""
    a, (model, ids, held, size) = RECIPE_23["adapt"], prose()
    if kind.startswith("kv"):
        model = shared_heads(model, int(kind.removeprefix("kv")))
    model = substituted(model, "exact" if kind.startswith("kv") else kind, "prose", seed)
    before = bits(model, held, size)
    lots = list(cap16.windows(ids, 100 + seed)[: a["steps"]])
    _fit(model.train(), lots, next_token_loss, a["steps"], a["rate"], a["warmup"])
    return {"before": before, "bpc": bits(model, held, size)}


def shared_heads(model: LanguageModel, n_kv_heads: int) -> LanguageModel:
    """El mismo con menos cabezas de claves y valores: cada una, la media de las de su grupo."""
    for block in model.encoder.blocks:
        old: Any = block.attention
        new = MultiHeadAttention(old.d_model, old.n_heads, n_kv_heads=n_kv_heads, rotary=old.rotary)
        with torch.no_grad():
            for name in ("project_key", "project_value"):
                for part in ("weight", "bias"):
                    whole = getattr(getattr(old, name), part)
                    groups = whole.unflatten(0, (n_kv_heads, -1, old.d_head)).mean(1).flatten(0, 1)
                    getattr(getattr(new, name), part).copy_(groups)
        new.project_query, new.project_output = old.project_query, old.project_output
        block.attention = new
    return model


def shortened(kind: str, seed: int) -> dict[str, Any]:
    """El ViT del 19 con Linformer: desde el principio, o puesto en uno ya entrenado."""
    rank, r = RECIPE_23["linformer"]["rank"], cap19.RECIPE_19
    train, _, test = digits.split(seed, test=r["test"])
    rng.seed_all(seed)
    options = {"max_len": cap19.config().n_patches + 1, "rank": rank}
    net = cap19.build("cls", seed)
    short = e.with_attention(net, e.LinformerAttention, **options)

    def score(m: nn.Module) -> float:
        return digits.score(lambda x: m.eval()(x[:, None]), test)["accuracy"]

    def loss(m: nn.Module, lot: tuple[Tensor, Tensor]) -> Tensor:
        return F.cross_entropy(m(lot[0][:, None]), lot[1])

    chosen = short if kind == "linformer" else net
    lots = list(digits.batches(train, r["steps"], r["batch"], seed))
    _fit(chosen.train(), lots, loss, r["steps"], r["rate"], r["warmup"], r["weight_decay"])
    if kind == "linformer":
        return {"accuracy": score(chosen)}
    put = e.with_attention(net, e.LinformerAttention, **options)
    return {"accuracy": score(net), "put": score(put)}


# --- Mezcla de expertos ---------------------------------------------------------------------------


def experts(kind: str, seed: int) -> dict[str, Any]:
    """El modelo de la prosa, sin entrenar, con expertos o con una red densa, unos pasos."""
    x, (_, ids, held, size) = RECIPE_23["experts"], prose()
    known, _ = cap16.texts()
    width = cap16.BOOK_WIDTH
    model = cap16.build(width, len(cap16.tokenizer(known)), seed)
    mixed = kind != "dense"
    for block in model.encoder.blocks if mixed else ():
        block.feed_forward = MixtureOfExperts(width, 4 * width, x["n"])
    weight = x["balance"] if kind == "balanced" else 0.0

    def loss(m: LanguageModel, lot: Tensor) -> Tensor:
        out = next_token_loss(m, lot)
        if weight:
            out = out + weight * sum(balance_loss(b.feed_forward.routing) for b in m.encoder.blocks)
        return out

    lots = list(cap16.windows(ids, seed)[: x["steps"]])
    r = cap16.RECIPE_16
    seconds = _fit(model.train(), lots, loss, x["steps"], r["rate"], r["warmup"])
    run: dict[str, Any] = {"bpc": bits(model, held, size), "seconds": seconds}
    run["parameters"] = sum(p.numel() for p in model.parameters())
    if mixed:
        rows = held[: held.numel() // 64 * 64].view(-1, 64)
        with torch.no_grad():
            model(rows)
        run["load"], run["dropped"] = [], []
        for block in model.encoder.blocks:
            found: Any = block.feed_forward.routing
            fair = math.ceil(x["factor"] * rows.numel() / x["n"])
            tight = route(found.probabilities.log(), 1, fair)
            run["load"].append([round(v, 4) for v in found.load.tolist()])
            run["dropped"].append(round(tight.dropped, 4))
    return run


def _fit(model, lots, loss, steps, rate, warmup, weight_decay=0.1) -> float:
    """Entrena, como en los capítulos 16 y 19; devuelve los segundos de procesador."""
    groups = parameter_groups(model, weight_decay=weight_decay)
    history = fit(
        model,
        lots,
        loss,
        steps=steps,
        optimizer=torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True),
        schedule=warmup_cosine(steps, warmup=warmup),
        clip=1.0,
        progress=False,
    )
    return round(history.seconds, 1)


# --- Tiempos --------------------------------------------------------------------------------------

SIZES = (256, 512, 1024, 2048, 4096)
D_HEAD, WINDOW, BLOCK, RANK, FEATURES, CHUNK = 64, 64, 128, 64, 128, 64
ROUNDS = 7


def attentions(n: int) -> dict[str, Callable[[Tensor, Tensor, Tensor], Any]]:
    """Una cabeza de cada atención, sin máscara, para ``n`` posiciones."""
    rotations = e.draw_rotations(1, D_HEAD, 2 * n // CHUNK, generator=rng.generator(0))
    directions = e.draw_directions(FEATURES, D_HEAD, generator=rng.generator(0))
    mixes = e.mean_pooling(n, RANK)

    def random_features(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        root = D_HEAD**-0.25
        rows = [e.positive_features(x * root, directions) for x in (q, k)]
        return e.linear_attention(*rows, v)

    return {
        "exact": lambda q, k, v: scaled_dot_product_attention(q, k, v),
        "online": lambda q, k, v: e.online_attention(q, k, v, block=BLOCK),
        "sdpa": lambda q, k, v: F.scaled_dot_product_attention(
            q[None, None], k[None, None], v[None, None]
        ),
        "window": lambda q, k, v: e.window_attention(q, k, v, window=WINDOW),
        "lsh": lambda q, k, v: e.lsh_attention(q, k, v, rotations, chunk=CHUNK),
        "linformer": lambda q, k, v: e.linformer_attention(q, k, v, mixes, mixes),
        "linear": lambda q, k, v: e.linear_attention(e.elu_features(q), e.elu_features(k), v),
        "performer": random_features,
    }


def median(call: Callable[[], Any], least: float = 0.02) -> list[float]:
    """Milisegundos de procesador de una llamada: la menor, la mediana y la mayor de las rondas."""
    times = 1
    while (once := _clock(call, times)) < least:
        times = max(2 * times, int(times * least / max(once, 1e-4)))
    found = sorted(_clock(call, times) / times for _ in range(ROUNDS))
    return [round(1000 * found[k], 4) for k in (0, ROUNDS // 2, -1)]


def _clock(call: Callable[[], Any], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        call()
    return time.process_time() - start


@torch.no_grad()
def clocks() -> dict[str, Any]:
    """Lo que tarda cada atención, cada parte de una capa, y generar con caché y sin ella."""
    found: dict[str, Any] = {"sizes": SIZES, "d_head": D_HEAD, "rounds": ROUNDS}
    found |= {"window": WINDOW, "block": BLOCK, "rank": RANK, "features": FEATURES, "chunk": CHUNK}
    times: dict[str, list[list[float]]] = {}
    for n in SIZES:
        q, k, v = torch.randn(3, n, D_HEAD, generator=rng.generator(n))
        for name, call in attentions(n).items():
            times.setdefault(name, []).append(median(partial(call, q, k, v)))
    return found | {"milliseconds": times, "parts": parts(), "writing": writing()}


def _products(x: Tensor, weights: Tensor) -> list[Tensor]:
    return [x @ w for w in weights]


def _attend(x: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    return x @ x.T, a @ x


def parts() -> dict[str, Any]:
    """De una capa de anchura ``d``: proyectar, y puntuar con promediar, según la longitud."""
    d, sizes = 256, (64, 128, 256, 512, 1024, 2048)
    found: dict[str, Any] = {"d": d, "sizes": sizes, "project": [], "attend": [], "softmax": []}
    weight = torch.randn(4, d, d, generator=rng.generator(1)) / d**0.5
    for n in sizes:
        x = torch.randn(n, d, generator=rng.generator(n))
        a = torch.randn(n, n, generator=rng.generator(n)).softmax(-1)
        found["project"].append(median(partial(_products, x, weight)))
        found["attend"].append(median(partial(_attend, x, a)))
        found["softmax"].append(median(partial(a.softmax, -1)))
    return found


def writing() -> dict[str, Any]:
    """Segundos de escribir con el modelo de la prosa, con caché y sin ella."""
    model, _, held, _ = prose()
    found: dict[str, Any] = {"lengths": (64, 128, 256), "cache": [], "none": []}
    for n in found["lengths"]:
        for name, cache in (("cache", True), ("none", False)):
            options = {"eos_id": -1, "max_length": n, "cache": cache}
            call = partial(model.generate, held[None, :1], **options)
            found[name].append(sorted(_clock(call, 1) for _ in range(3))[1])
    return found


# --- Guardar lo hecho -----------------------------------------------------------------------------

WORK = {
    "swapped": swapped,
    "scratch": from_scratch,
    "adapted": adapted,
    "vit": shortened,
    "experts": experts,
}


def once(part: str, kind: str, seed: int) -> dict[str, Any]:
    """Lo de una ejecución, hecho ahora o en una llamada anterior."""
    return MEMORY_23.once(
        f"{part}-{kind}-{seed}",
        {"recipe": RECIPE_23},
        lambda: {"seed": seed} | WORK[part](kind, seed),
    )


def several(part: str, kinds: list[str], seeds: int) -> dict[str, Any]:
    """Las semillas de cada variante."""
    return {kind: [once(part, kind, seed) for seed in range(seeds)] for kind in kinds}


def swaps() -> dict[str, Any]:
    """Los modelos guardados con cada atención; las que sortean, varios sorteos."""
    drawn = {"lsh", "performer", "chance"}
    runs: dict[str, Any] = {}
    for kind in (*RECIPE_23["kinds"], *CONTROLS):
        runs |= several("swapped", [kind], DRAWS if kind in drawn else 1)
    return {"runs": runs}


def copies() -> dict[str, Any]:
    """Copiadores entrenados con cada atención. Los de la exacta son los del capítulo 16."""
    kinds = ["window", "narrow", "linear", "performer"]
    other = [f"{kind}@{rate:g}" for kind, rates in RATES.items() for rate in rates]
    return {
        "narrow": NARROW,
        "rates": RATES,
        "runs": several("scratch", kinds, COPY_SEEDS),
        "other_rate": several("scratch", other, COPY_SEEDS),
    }


def adaptations() -> dict[str, Any]:
    """La prosa con otra atención, o con menos claves, tras unos pasos más."""
    kinds = ["exact", "window", "linear", "performer", "mean", "kv2", "kv1"]
    return {"runs": several("adapted", kinds, SEEDS)}


def vits() -> dict[str, Any]:
    """El ViT con Linformer y sin él."""
    return {"runs": several("vit", ["exact", "linformer"], SEEDS)}


def mixtures() -> dict[str, Any]:
    """Los expertos con pérdida de equilibrio y sin ella, y la red densa."""
    return {"runs": several("experts", ["dense", "free", "balanced"], SEEDS)}


PARTES = {
    "swaps": swaps,
    "copies": copies,
    "adapted": adaptations,
    "vit": vits,
    "experts": mixtures,
    "clocks": clocks,
}


def chapter() -> dict[str, Any]:
    """Todo."""
    return {"recipe": RECIPE_23} | {name: part() for name, part in PARTES.items()}
