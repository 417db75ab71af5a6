"""Capítulo 9: copiar listas más largas que las entrenadas, con cada manera de decir la posición, y
qué posiciones traen de fábrica los modelos de la biblioteca transformers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from atento import positions, rng, trained, training
from atento.decoding import greedy
from atento.models.positioning import Positions
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig, named_positions, seq2seq_loss
from atento.tasks import copying

RECIPE_09: dict[str, Any] = {
    "d_model": 64,
    "n_heads": 2,
    "d_ff": 128,
    "layers": 1,
    "batch_size": 32,
    "steps": 600,
    "warmup": 60,
    "rate": 3e-3,
    "table_factor": 20,
    "t5_max_distance": 20,
    "lengths": [10, 20],
    "test_size": 200,
    "test_lengths": [10, 15, 20, 21, 25, 30],
    "starts": 12,
    "lag": 3,
    "dtype": "float32",
}
SCHEMES_09: dict[str, tuple[str, str, dict[str, Any]]] = {
    # nombre: (posiciones, las de la atención cruzada, cambios en la receta)
    "sinusoides": ("sinusoidal", "none", {}),
    "tabla": ("learned", "none", {}),
    "sinusoides, todos los sitios": ("sinusoidal", "none", {"shifted": True}),
    "RoPE, solo autoatención": ("rotary", "none", {"steps": 1500}),
    "RoPE": ("rotary", "rotary", {}),
    "RoPE, solo cruzada": ("none", "rotary", {}),
    "T5": ("t5", "t5", {}),
    "ALiBi": ("alibi", "alibi", {}),
}
CONTROLS_09: dict[str, tuple[str, str, dict[str, Any]]] = {
    # Con dos cabezas, la fórmula de ALiBi da 1/16 y 1/256, que casi no separan un sitio del vecino.
    "ALiBi, pendientes 1 y 1/4": ("alibi", "alibi", {"slopes": [1.0, 0.25]}),
    # Escribir la lista al revés pide otra distancia en cada sitio, y no siempre la 0.
    "RoPE, del revés": ("rotary", "rotary", {"steps": 1500, "backwards": True}),
}


class Places:
    """Los sitios de una fila: consecutivos desde ``start``, que se puede cambiar."""

    start = 0

    def __call__(self, ids: Tensor) -> Tensor:
        """De ``ids (batch, n)`` a los sitios, ``(n,)``."""
        return self.start + torch.arange(ids.shape[1])


def build(name: str, places: Places) -> Seq2Seq:
    """El modelo sin entrenar, con ese esquema; T5, con un solo cubo desde la distancia 20."""
    own, cross, changes = (SCHEMES_09 | CONTROLS_09)[name]
    config = Seq2SeqConfig.tiny(
        copying.VOCAB_SIZE,
        d_model=RECIPE_09["d_model"],
        n_heads=RECIPE_09["n_heads"],
        d_ff=RECIPE_09["d_ff"],
        n_encoder_layers=RECIPE_09["layers"],
        n_decoder_layers=RECIPE_09["layers"],
        positions=own,
        cross_positions=cross,
        tying="none",
    )
    if own == "t5":
        top = changes.get("t5_max_distance", RECIPE_09["t5_max_distance"])
        return Seq2Seq(config, positions=Positions(**_buckets(top), places=places))
    model = Seq2Seq(config, positions=replace(named_positions(config), places=places))
    for module in model.modules():
        if isinstance(module, positions.Alibi) and "slopes" in changes:
            module.powers = torch.tensor(changes["slopes"]).log2().view(-1, 1, 1)
    return model


def _buckets(top: int) -> dict[str, dict[str, Any]]:
    return {
        where: {
            "score_bias": positions.RelativeBias(
                RECIPE_09["n_heads"], max_distance=top, bidirectional=where != "decoder"
            )
        }
        for where in ("encoder", "decoder", "cross")
    }


def optimizer(model: Seq2Seq, factor: float) -> torch.optim.Optimizer:
    """AdamW; las tablas de posiciones, con la tasa por ``factor`` y sin encogerse."""
    rate = RECIPE_09["rate"]
    tables = {id(p) for name, p in model.named_parameters() if name.endswith(".table")}
    groups = training.parameter_groups(model)
    for group in groups:
        group["params"] = [p for p in group["params"] if id(p) not in tables]
    chosen = [p for p in model.parameters() if id(p) in tables]
    if chosen:
        groups.append({"params": chosen, "lr": factor * rate, "weight_decay": 0.0})
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)


def learn(name: str, seed: int) -> tuple[Seq2Seq, Places, training.History]:
    """Entrena a copiar con longitudes de 10 a 20."""
    rng.seed_all(seed)
    changes = (SCHEMES_09 | CONTROLS_09)[name][2]
    places, generator = Places(), rng.generator(seed)
    model, steps = build(name, places), changes.get("steps", RECIPE_09["steps"])
    low, high = RECIPE_09["lengths"]

    def batch(step: int) -> tuple[Tensor, Tensor]:
        n = int(torch.randint(low, high + 1, (), generator=generator))
        if changes.get("shifted"):
            places.start = int(torch.randint(RECIPE_09["starts"], (), generator=generator))
        source, target = copying.batch(
            copying.generate(RECIPE_09["batch_size"], generator, lengths=n)
        )[:2]
        return (backwards(source) if changes.get("backwards") else source), target

    history = training.fit(
        model,
        batch,
        seq2seq_loss,
        steps=steps,
        optimizer=optimizer(model, changes.get("table_factor", RECIPE_09["table_factor"])),
        schedule=training.warmup_cosine(steps, warmup=RECIPE_09["warmup"]),
        progress=False,
    )
    places.start = 0
    return model, places, history


def backwards(source: Tensor) -> Tensor:
    """La lista del revés, con su fin detrás: ``(batch, n + 1)``, sin relleno."""
    return torch.cat([source[:, :-1].flip(1), source[:, -1:]], dim=1)


def exact(model: Seq2Seq, length: int, size: int, seed: int) -> dict[str, float]:
    """Aciertos en ``size`` listas nuevas de esa longitud."""
    examples = copying.generate(size, rng.generator(10_000 + 100 * seed + length), lengths=length)
    return copying.score(model, examples)


@torch.no_grad()
def intervened(model: Seq2Seq, seed: int, length: int = 20) -> dict[str, float]:
    """Qué símbolos escribe, con los buenos detrás, si se le toca la entrada.

    ``as_is``, sin tocar nada; ``lagged``, cuántos son los de ``lag`` sitios más allá si a la
    entrada se le restan ``lag`` sitios y a lo escrito no; ``unmoved``, los de siempre entonces;
    ``no_end``, cuántos son los buenos si el fin de la entrada se cambia por un símbolo; ``few``, si
    las listas son de solo dos símbolos.
    """
    lag, draw = RECIPE_09["lag"], rng.generator(20_000 + seed)
    source, target = copying.batch(copying.generate(200, draw, lengths=length))[:2]
    short, cut = length - lag, source.clone()
    cut[:, -1] = torch.randint(copying.FIRST_SYMBOL, copying.VOCAB_SIZE, (200,), generator=draw)

    def said(ids: Tensor, back: int) -> Tensor:
        encoded = model.encode(ids)
        encoded = encoded._replace(positions=encoded.positions - back)
        return model.decode(target[:, :-1], encoded).argmax(-1)

    plain, moved, endless = said(source, 0), said(source, lag), said(cut, 0)
    source_2, target_2 = source.clone(), target.clone()
    pair = copying.FIRST_SYMBOL + torch.randint(2, (200, length), generator=draw)
    source_2[:, :length], target_2[:, 1 : length + 1] = pair, pair
    repeated = model(source_2, target_2[:, :-1]).argmax(-1)
    found = {
        "as_is": plain[:, :length] == source[:, :length],
        "lagged": moved[:, :short] == source[:, lag:length],
        "unmoved": moved[:, :short] == source[:, :short],
        "no_end": endless[:, :length] == source[:, :length],
        "few": repeated[:, :length] == pair,
    }
    return {name: round(hits.float().mean().item(), 3) for name, hits in found.items()}


@torch.no_grad()
def moved(model: Seq2Seq, places: Places, seed: int, length: int = 20) -> dict[str, float]:
    """Posiciones sumadas: se lee la lista desde el sitio 5 y se escribe desde ``lag`` más allá.

    ``own``, cuántos símbolos son los de su sitio en la lista; ``later``, los de ``lag`` más allá.
    Con ellas ``lagged`` de :func:`intervened` no dice nada: el sitio ya entró al leer.
    """
    lag = RECIPE_09["lag"]
    short, start = length - lag, 5
    source, target = copying.batch(
        copying.generate(200, rng.generator(20_000 + seed), lengths=length)
    )[:2]
    places.start = start
    encoded = model.encode(source)
    places.start = start + lag
    said = model.decode(target[:, :-1], encoded).argmax(-1)[:, :short]
    places.start = 0
    found = {"own": said == source[:, :short], "later": said == source[:, lag:length]}
    return {name: round(hits.float().mean().item(), 3) for name, hits in found.items()}


def pushed(model: Seq2Seq, seed: int, given: int = 3, length: int = 30) -> dict[str, float]:
    """Si se le dan escritos los ``given`` primeros símbolos, cuántas listas acaba bien; y, sin
    ellos, cuántas veces acierta el primero.
    """
    source, target = copying.batch(
        copying.generate(200, rng.generator(30_000 + seed), lengths=length)
    )[:2]
    with training.evaluating(model):
        rest = greedy(
            model.step,
            target[:, : 1 + given],
            eos_id=copying.EOS_ID,
            max_length=length + 1 - given,
            state=lambda: model.start(model.encode(source)),
        )
    rest = F.pad(rest, (0, length + 1 - given - rest.shape[1]))
    first = model.generate(source, max_length=1)[:, 0] == source[:, 0]
    whole = (rest == source[:, given:]).all(1)
    return {"exact": whole.float().mean().item(), "first": first.float().mean().item()}


@torch.no_grad()
def stretched(model: Seq2Seq, seed: int, length: int) -> dict[str, float]:
    """RoPE en listas mucho más largas: sin tocar, con los sitios divididos y con otra base."""
    layers = [m for m in model.modules() if getattr(m, "rotary", None) is not None]
    d_head, factor = RECIPE_09["d_model"] // RECIPE_09["n_heads"], length / 20
    found = {}
    for way in ("none", "interpolation", "ntk"):
        turn = positions.Rotary(d_head, **({} if way == "none" else {way: factor}))
        for layer in layers:
            layer.rotary = turn
        found[way] = exact(model, length, 50, seed)["exact"]
    return found


def run(name: str, seed: int) -> dict[str, Any]:
    """Entrena un esquema y mide a cada longitud; con posiciones relativas, interviene."""
    clock = time.process_time()
    model, places, history = learn(name, seed)
    scores = {n: exact(model, n, RECIPE_09["test_size"], seed) for n in RECIPE_09["test_lengths"]}
    result = {
        "model": name,
        "seed": seed,
        "loss": round(sum(history.loss[-10:]) / 10, 4),
        "exact": {str(n): score["exact"] for n, score in scores.items()},
        "token": {str(n): round(score["token"], 3) for n, score in scores.items()},
    }
    result["intervened"] = intervened(model, seed)
    if name == "sinusoides, todos los sitios":
        result["moved"] = moved(model, places, seed)
    if name == "RoPE, solo autoatención":
        result["pushed"] = pushed(model, seed)
    if name == "RoPE":
        result["longer"] = {str(n): stretched(model, seed, n) for n in (40, 60)}
    return result | {"cpu_seconds": round(time.process_time() - clock, 1)}


def control(name: str, seed: int) -> dict[str, Any]:
    """Entrena uno de los controles y mide a cada longitud."""
    clock = time.process_time()
    model, _, history = learn(name, seed)
    write = partial(model.generate, max_length=max(RECIPE_09["test_lengths"]) + copying.MARGIN)
    turned = CONTROLS_09[name][2].get("backwards")
    scores = {}
    for n in RECIPE_09["test_lengths"]:
        draw = rng.generator(10_000 + 100 * seed + n)
        examples = copying.generate(RECIPE_09["test_size"], draw, lengths=n)
        translate = (lambda source: write(backwards(source))) if turned else write
        scores[str(n)] = copying.score(translate, examples)
    return {
        "model": name,
        "seed": seed,
        "loss": round(sum(history.loss[-10:]) / 10, 4),
        "exact": {n: score["exact"] for n, score in scores.items()},
        "token": {n: round(score["token"], 3) for n, score in scores.items()},
        "cpu_seconds": round(time.process_time() - clock, 1),
    }


def controls() -> dict[str, Any]:
    """Diez semillas de cada control, con su receta."""
    runs = [control(name, seed) for name in CONTROLS_09 for seed in range(10)]
    return {"recipe": {name: scheme[2] for name, scheme in CONTROLS_09.items()}, "runs": runs}


def transformers_positions() -> dict[str, Any]:
    """Lo que dicen de sus posiciones las configuraciones de fábrica de transformers."""
    import transformers

    fields = {
        "BertConfig": ["max_position_embeddings"],
        "GPT2Config": ["n_positions"],
        "T5Config": ["relative_attention_num_buckets", "relative_attention_max_distance"],
        "LlamaConfig": ["max_position_embeddings", "rope_parameters"],
        "GPTNeoXConfig": ["max_position_embeddings", "rope_parameters"],
        "GPTJConfig": ["rotary_dim", "n_positions"],
        "WhisperConfig": ["max_source_positions", "max_target_positions"],
        "Wav2Vec2Config": ["num_conv_pos_embeddings", "num_conv_pos_embedding_groups"],
    }
    configs = {
        name: {field: getattr(getattr(transformers, name)(), field) for field in wanted}
        for name, wanted in fields.items()
    }
    configs["MptConfig"] = {"alibi": transformers.MptConfig().attn_config.alibi}
    return {"version": transformers.__version__, "configs": configs}


def chapter() -> dict[str, Any]:
    """Diez semillas de cada esquema y control, cinco de ALiBi, y lo que dice transformers."""
    runs = [run(name, s) for s in range(10) for name in SCHEMES_09 if name != "ALiBi" or s < 5]
    return {
        "recipe": RECIPE_09,
        "transformers": transformers_positions(),
        "runs": runs,
        "controls": controls(),
    }


def stored(name: str) -> tuple[Seq2Seq, dict[str, Any]]:
    """El modelo guardado de un esquema: la primera semilla, sin elegir, ya redondeada."""
    seed = 0
    model = trained.rounded(learn(name, seed)[0])
    own, cross, changes = SCHEMES_09[name]
    lengths = {n: exact(model, n, RECIPE_09["test_size"], seed) for n in RECIPE_09["test_lengths"]}
    card = {
        "recipe": RECIPE_09 | changes | {"positions": own, "cross_positions": cross},
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "marks": {
            what: {str(n): round(score[what], 3) for n, score in lengths.items()}
            for what in ("exact", "token")
        },
    }
    return model, card


PESOS: dict[str, Callable[[], tuple[Seq2Seq, dict[str, Any]]]] = {
    "sinusoides": partial(stored, "sinusoides"),
    "rope": partial(stored, "RoPE"),
    "t5": partial(stored, "T5"),
    "auto": partial(stored, "RoPE, solo autoatención"),
}
PARTES = {"controls": controls}
