"""Capítulo 14: copiar, sumar y analizar expresiones; lo que da cada semilla y lo que tarda.

Cada modelo entrenado se guarda en ``.cache/semillas-14`` con su receta: si la orden se corta, sigue
donde iba, y para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from atento import rng, trained
from atento.cache import Where
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig, seq2seq_loss
from atento.tasks import addition, copying, expressions
from atento.training import Callback, State, fit, parameter_groups, warmup_cosine
from atento.watching import watching

RECIPE_14: dict[str, Any] = {
    "betas": [0.9, 0.98],
    "weight_decay": 0.01,
    "clip": 1.0,
    "data_seed": 1000,
    "evaluation_seed": 999_999,
    "evaluation_size": 1000,
    "position_std": 1.0,
    "dtype": "float32",
}
SIZES = {"d_model": 64, "n_heads": 4}
COPY = {
    **SIZES,
    "d_ff": 128,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "positions": "rotary",
    "cross_positions": "rotary",
}
ADDITION = {
    **SIZES,
    "d_ff": 256,
    "n_encoder_layers": 1,
    "n_decoder_layers": 1,
    "positions": "learned",
    "max_len": 16,
}
EXPRESSIONS = {
    **SIZES,
    "d_ff": 128,
    "n_encoder_layers": 4,
    "n_decoder_layers": 2,
    "positions": "rotary",
    "cross_positions": "rotary",
}
BY_PLACE = {**ADDITION, "positions": "none"}
THREE_AND_MORE = {f"{digits} cifras": {"digits": digits, "split": "test"} for digits in (3, 4, 5)}
COPY_RUN: dict[str, Any] = {
    "task": "copy",
    "config": COPY,
    "steps": 200,
    "rate": 3e-3,
    "warmup": 60,
    "batch_size": 32,
    "data": {"lengths": 20},
    "tests": {f"longitud {n}": {"lengths": n} for n in (20, 30, 40)},
}
PLACE_RUN: dict[str, Any] = {
    "task": "addition",
    "config": BY_PLACE,
    "by_place": True,
    "steps": 900,
    "rate": 4e-3,
    "warmup": 40,
    "batch_size": 128,
    "data": {"digits": 3},
    "tests": THREE_AND_MORE,
}
LEARNED_RUN = {
    **{key: value for key, value in PLACE_RUN.items() if key != "by_place"},
    "config": ADDITION,
    "steps": 600,
    "tests": {"3 cifras": {"digits": 3, "split": "test"}},
}
TREE_RUN: dict[str, Any] = {
    "task": "expressions",
    "config": EXPRESSIONS,
    "steps": 500,
    "rate": 3e-3,
    "warmup": 60,
    "batch_size": 64,
    "data": {"depths": [1, 2, 3]},
    "tests": {
        "hasta 3": {"depths": [1, 2, 3], "split": "test"},
        "de 3": {"depths": 3, "split": "test"},
        "de 4": {"depths": 4, "split": "test"},
    },
}
UNTURNED = {"cross_positions": "none"}
RUNS_14: dict[str, dict[str, Any]] = {
    "copia": {
        **COPY_RUN,
        "tests": {f"longitud {n}": {"lengths": n} for n in (20, 10, 21, 30, 40)},
    },
    "copia, sin girar la cruzada": {**COPY_RUN, "config": {**COPY, **UNTURNED}},
    "copia, sin girar la cruzada, 800 pasos": {
        **COPY_RUN,
        "config": {**COPY, **UNTURNED},
        "steps": 800,
    },
    "copia, 800 pasos": {**COPY_RUN, "steps": 800},
    "copia, girando solo la cruzada": {**COPY_RUN, "config": {**COPY, "positions": "none"}},
    "suma": PLACE_RUN,
    "suma, del derecho": {"task": "addition", "config": ADDITION, "reverse": False, **LEARNED_RUN},
    "suma, lugares aprendidos": LEARNED_RUN,
    "suma, de una a tres cifras": {**PLACE_RUN, "data": {"digits": [1, 2, 3]}},
    "expresiones": TREE_RUN,
    "expresiones, sin girar la cruzada": {**TREE_RUN, "config": {**EXPRESSIONS, **UNTURNED}},
    "expresiones, cinco formas apartadas": {
        "task": "expressions",
        "config": EXPRESSIONS,
        "hidden_shapes": 5,
        **TREE_RUN,
        "tests": {},
    },
}
# El analizador que viaja guardado: con la red densa a la mitad, para no pasar de 400 kB.
STORED_14 = {"expresiones, guardado": {**TREE_RUN, "config": {**EXPRESSIONS, "d_ff": 64}}}
SEEDS_14 = range(10)
# Con diez no se sabía cuál de los dos órdenes gana.
OTHER_SEEDS_14 = {
    **dict.fromkeys(("suma, del derecho", "suma, lugares aprendidos"), range(30)),
    "copia, 800 pasos": range(4),
}
SNAPSHOTS = 100  # cada cuántos pasos se guarda una copia de los pesos
CACHE_14 = Path(__file__).resolve().parents[2] / ".cache" / "semillas-14"
TASKS = {"copy": copying, "addition": addition, "expressions": expressions}


def _run(name: str) -> dict[str, Any]:
    """Una de las recetas, de las que se repiten o de las de los modelos guardados."""
    return RUNS_14[name] if name in RUNS_14 else STORED_14[name]


def build_14(name: str, seed: int) -> Seq2Seq:
    """El modelo de una receta, sin entrenar; las posiciones aprendidas, a la escala de los
    embeddings."""
    run = _run(name)
    config = Seq2SeqConfig(TASKS[run["task"]].VOCAB_SIZE, **run["config"])
    rng.seed_all(seed)
    model = trained.new_adder(config) if run.get("by_place") else Seq2Seq(config)
    if config.positions == "learned":
        for embedding in (model.embed_source, model.embed_target):
            nn.init.normal_(embedding.positions.table, std=RECIPE_14["position_std"])
    return model


def train_14(name: str, seed: int, callbacks: Iterable[Callback] = ()) -> tuple[Seq2Seq, float]:
    """Entrena una de las recetas; devuelve el modelo y los segundos de procesador."""
    run, model = _run(name), build_14(name, seed)
    lots = batches_14(name, seed)
    groups = parameter_groups(model, weight_decay=RECIPE_14["weight_decay"])
    history = fit(
        model,
        lots,
        seq2seq_loss,
        steps=run["steps"],
        optimizer=torch.optim.AdamW(
            groups, lr=run["rate"], betas=tuple(RECIPE_14["betas"]), fused=True
        ),
        schedule=warmup_cosine(run["steps"], warmup=run["warmup"]),
        clip=RECIPE_14["clip"],
        callbacks=callbacks,
        progress=False,
    )
    return model, history.seconds


def batches_14(name: str, seed: int) -> list[Any]:
    """Los lotes con que se entrena."""
    run = _run(name)
    sizes = (run["steps"], run["batch_size"], RECIPE_14["data_seed"] + seed)
    if "hidden_shapes" in run:
        return _without_shapes(*sizes, hidden_shapes(seed, run["hidden_shapes"]), **run["data"])
    return TASKS[run["task"]].batches(*sizes, **run["data"], **_order(run))


def shape(tree: expressions.Tree) -> str:
    """La forma de un árbol: lo que queda al olvidar qué operaciones y qué hojas lleva."""
    return "." if isinstance(tree, str) else f"({shape(tree[1])}{shape(tree[2])})"


def shapes(depth: int) -> list[str]:
    """Todas las formas de árbol de esa profundidad, en orden."""
    if depth == 0:
        return ["."]
    deep, flat = shapes(depth - 1), [one for d in range(depth - 1) for one in shapes(d)]
    pairs = [(a, b) for a in deep + flat for b in deep + flat if a in deep or b in deep]
    return sorted(f"({a}{b})" for a, b in pairs)


def hidden_shapes(seed: int, n: int) -> list[str]:
    """Las formas de profundidad 3 que se apartan con esa semilla."""
    return random.Random(seed).sample(shapes(3), n)


def _without_shapes(n: int, size: int, seed: int, hidden: list[str], **options: Any) -> list[Any]:
    """``n`` lotes como los de la tarea, sin ningún árbol de las formas ``hidden``."""
    source, lots = random.Random(seed), []
    trees = expressions.generate(n * size * 3 // 2, seed, **options)
    kept = [tree for tree in trees if shape(tree) not in hidden]
    together = expressions.POOL * size
    for start in range(0, n * size, together):
        pool = sorted(
            kept[start : start + together], key=lambda tree: len(expressions.prefix(tree))
        )
        cut = [expressions.batch(pool[i : i + size]) for i in range(0, len(pool), size)]
        source.shuffle(cut)
        lots += cut
    return lots[:n]


def trained_14(name: str, seed: int) -> dict[str, Any]:
    """Los pesos al final y cada ``SNAPSHOTS`` pasos, entrenados ahora o en una llamada anterior."""
    path = CACHE_14 / f"{name.replace(', ', '-').replace(' ', '-')}-{seed}.pt"
    run = {key: value for key, value in _run(name).items() if key != "tests"}
    made = {"run": run, "recipe": RECIPE_14, "torch": str(torch.__version__)}
    if path.exists():
        found = torch.load(path, weights_only=True)
        if found["made"] == made:
            return found
    copies: dict[int, Any] = {}

    def keep(state: State) -> None:
        if state.step % SNAPSHOTS == 0:
            copies[state.step] = {k: v.clone() for k, v in state.model.state_dict().items()}

    model, seconds = train_14(name, seed, [keep])
    found = {"made": made, "weights": model.state_dict(), "snapshots": copies, "seconds": seconds}
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(found, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").rename(path)
    return found


def _order(run: dict[str, Any]) -> dict[str, bool]:
    """El orden de las cifras del resultado, si es una suma."""
    return {"reverse": run.get("reverse", True)} if run["task"] == "addition" else {}


def test_14(name: str, model: Seq2Seq) -> dict[str, Any]:
    """Lo que acierta en cada prueba, escribiendo solo, con ejemplos que no ha visto."""
    run, result = _run(name), {}
    task = TASKS[run["task"]]
    for title, options in run["tests"].items():
        n, seed = RECIPE_14["evaluation_size"], RECIPE_14["evaluation_seed"]
        examples = task.generate(n, seed, **options)
        marks = task.score(model, examples, **_order(run))
        result[title] = {"exact": marks["exact"], "token": round(marks["token"], 5)}
        result[title] |= _groups(marks)
        if run["task"] == "addition":
            result[title]["digits_only"] = digits_only(model, examples, **_order(run))
    return result


def digits_only(model: Seq2Seq, examples: list[addition.Sum], *, reverse: bool) -> float:
    """Qué parte de las sumas tiene bien todas las cifras, pare donde pare después."""
    outputs = addition.answers(model, examples, reverse=reverse)
    wanted = (addition.batch([x], reverse=reverse).labels[0, :-1].tolist() for x in examples)
    pairs = zip(outputs, wanted, strict=True)
    return sum(written[: len(right)] == right for written, right in pairs) / len(examples)


def _groups(marks: dict[str, Any]) -> dict[str, Any]:
    """Los aciertos por llevadas, por lugar y por profundidad, si los hay."""
    chosen = {name: marks[name] for name in ("by_carries", "by_depth") if name in marks}
    rows = {
        name: {str(key): [row["exact"], row["n"]] for key, row in group.items()}
        for name, group in chosen.items()
    }
    if "by_length" in marks:
        rows["by_length"] = _bands(marks["by_length"])
    if "by_place" in marks:
        rows["by_place"] = {str(place): hits for place, hits in marks["by_place"].items()}
    return rows


def _bands(by_length: dict[int, dict[str, float]]) -> dict[str, list[float]]:
    """Los aciertos en expresiones cortas, largas y más largas que todas las del entrenamiento."""
    rows = {}
    for title, span in {"15": range(16), "27": range(16, 28), "más": range(28, 999)}.items():
        found = [row for length, row in by_length.items() if length in span]
        n = sum(row["n"] for row in found)
        right = sum(row["exact"] * row["n"] for row in found)
        rows[title] = [round(right / max(1, n), 4), n]
    return rows


# --- Qué se mira y qué pasa si se cambia ----------------------------------------------------------


def _right(logits: Tensor, labels: Tensor) -> Tensor:
    return logits.argmax(-1) == labels


def _share(hits: Tensor, rows: Tensor) -> float:
    """Qué parte de ``rows`` acierta."""
    return round(hits[rows].double().mean().item(), 4)


def _best_head(maps: dict[str, Tensor], wanted: Tensor) -> float:
    """El peso medio en lo que hay que mirar, ``wanted``, de la cabeza cruzada que más pone.

    ``wanted`` es de bits, (batch, paso, símbolo); los pasos sin nada marcado no cuentan.
    """
    rows = wanted.any(-1)
    heads = [w[:, h] for name, w in maps.items() if "cross" in name for h in range(w.shape[1])]
    return round(max((w * wanted).sum(-1)[rows].mean().item() for w in heads), 4)


def _without(model: Seq2Seq, lot: Any, hidden: Tensor, labels: Tensor | None = None) -> Tensor:
    """Los aciertos al tapar ``hidden``, (batch, paso, símbolo), en las atenciones cruzadas.

    Se cuentan sobre ``labels``, (batch, paso), o sobre lo que se pide.
    """
    encoded = model.encode(lot.source)
    mask = encoded.mask & ~hidden[:, None]
    logits = model.decode(lot.inputs, encoded._replace(mask=mask))
    return _right(logits, lot.labels if labels is None else labels)


def _all_but(kept: Tensor) -> Tensor:
    """Lo que hay que tapar para que solo quede ``kept``; los pasos sin nada marcado no se tocan."""
    return ~kept & kept.any(-1, keepdim=True)


@torch.no_grad()
def copy_measures(model: Seq2Seq, seed: int) -> dict[str, Any]:
    """La diagonal; lo que pasa al taparla, al correr las posiciones y al mentir en lo escrito."""
    n = 20
    lot = copying.batch(copying.generate(200, MEASURE_SEED, lengths=n))
    lines = torch.arange(n + 1)
    steps, keys = lines[:, None], lines[None]
    same = ((steps == keys) & (steps < n)).expand(200, -1, -1)
    beside = ((steps - keys).abs() == 1).expand(200, -1, -1)
    symbols = (lines < n).expand(200, -1)
    with watching(model) as maps:
        model(lot.source, lot.inputs)
    encoded, symbol = model.encode(lot.source), lot.source[:, :n]
    moved = model.decode(lot.inputs, encoded._replace(positions=encoded.positions + 1)).argmax(-1)
    far = (lines[:n] + 7) % n  # otro sitio cualquiera, siempre a la misma vuelta
    elsewhere = torch.zeros_like(same)
    elsewhere[:, lines[:n], far] = True
    there = torch.cat([symbol[:, far], lot.labels[:, n:]], 1)
    sent = _without(model, lot, _all_but(elsewhere), there)
    false = lot.inputs.clone()
    false[:, 1:] = copying.batch(copying.generate(200, MEASURE_SEED + 1, lengths=n)).inputs[:, 1:]
    return {
        "diagonal": _best_head(maps, same),
        "hide_same": _share(_without(model, lot, same), symbols),
        "hide_beside": _share(_without(model, lot, beside), symbols),
        "keep_same": _share(_without(model, lot, _all_but(same)), symbols),
        "keep_other": _share(sent, symbols),
        "moved": round((moved[:, 1:n] == symbol[:, :-1]).double().mean().item(), 4),
        "false_inputs": _share(_right(model.decode(false, encoded), lot.labels), symbols),
    }


@torch.no_grad()
def addition_measures(model: Seq2Seq, seed: int) -> dict[str, Any]:
    """Las cifras del lugar; de dónde viene la llevada, tapando y mintiendo."""
    examples, pairs, entering = _sums(2000)
    lot = addition.batch(examples)
    place, steps = addition.places(lot.source)[0], torch.arange(5)[:, None]
    column = {k: (place == steps - k) & (steps - k >= 0) & (steps < 3) for k in (0, 1)}
    column = {k: wanted.expand(len(pairs), -1, -1) for k, wanted in column.items()}
    signs = _symbol(3, len(pairs)) | _symbol(7, len(pairs))
    seen = column[0] | signs & column[0].any(-1, keepdim=True)  # su columna, el «+» y el fin
    thousands = ((place == 2) & (steps == 3)).expand(len(pairs), -1, -1)
    with watching(model) as maps:
        model(lot.source, lot.inputs)
    digits = (torch.arange(5) < 3).expand(len(pairs), -1)
    upper = ((torch.arange(5) > 0) & (torch.arange(5) < 3)).expand(len(pairs), -1)
    below = (place[:, None] - place[None] == 1) & (place[None] >= 0)
    relays = (place[:, None] < 0) & (place[None] >= 0)  # el «+» y el fin leen las cifras
    dim, dimmer = _encoded_without(model, lot, below), _encoded_without(model, lot, below | relays)
    blind = _right(model.decode(lot.inputs, dim), lot.labels)
    dark = dim._replace(mask=dim.mask & ~column[1][:, None])
    return {
        "column": _best_head(maps, column[0]),
        "hundreds": _best_head(maps, thousands),
        "hide_column": _share(_without(model, lot, column[0]), digits),
        "keep_column": _share(_without(model, lot, _all_but(column[0])), digits),
        "keep_column_and_signs": _share(_without(model, lot, _all_but(seen)), digits),
        "hide_below": _share(_without(model, lot, column[1]), upper),
        "encoder_blind_below": _share(blind, upper),
        "both_blind_below": _share(_right(model.decode(lot.inputs, dark), lot.labels), upper),
        "encoder_blind_units": _share(blind[:, :1], digits[:, :1]),
        "relays_blind": _share(_right(model.decode(lot.inputs, dimmer), lot.labels), upper),
        "hide_plus": _by_place(_without(model, lot, _symbol(3, len(pairs)))),
        "hide_end": _by_place(_without(model, lot, _symbol(7, len(pairs)))),
        "hide_hundreds": _by_place(_without(model, lot, thousands))[3],
        "without_twin": _twinless(model, seed),
        "lies": _lies(model, lot, pairs, entering),
        "reread": _reread(model, lot, pairs),
    }


def _encoded_without(model: Seq2Seq, lot: Any, hidden: Tensor) -> Any:
    """La memoria que sale si al leer se tapa ``hidden``, (quien lee, lo leído)."""
    encoded = model.encode(lot.source)
    states = model.encoder(
        model.embed_source(lot.source, encoded.positions),
        Where(encoded.mask & ~hidden, encoded.positions),
    )
    return encoded._replace(states=states)


def _symbol(at: int, n: int) -> Tensor:
    """El símbolo de ese sitio de la entrada, en todos los pasos de ``n`` sumas de tres cifras."""
    return (torch.arange(8) == at).expand(n, 5, -1)


def _by_place(hits: Tensor) -> list[float]:
    """Los aciertos en unidades, decenas, centenas y millares."""
    return [round(x, 4) for x in hits[:, :4].double().mean(0).tolist()]


def twin_class(source: Tensor) -> list[int]:
    """Un número por suma, el mismo si solo se diferencian en de qué sumando es cada cifra."""
    first, second = source[:, :3], source[:, 4:7]
    columns = 100 * torch.minimum(first, second) + torch.maximum(first, second)
    return (columns @ torch.tensor([10**8, 10**4, 1])).tolist()


def _twinless(model: Seq2Seq, seed: int) -> dict[str, float]:
    """De 2000 sumas reservadas, lo que acierta en las que no tienen gemela en el entrenamiento."""
    seen = {one for lot in batches_14("suma", seed) for one in twin_class(lot.source)}
    examples = addition.generate(2000, RECIPE_14["evaluation_seed"], split="test")
    classes = twin_class(addition.batch(examples).source)
    alone = [x for x, one in zip(examples, classes, strict=True) if one not in seen]
    return {"n": len(alone), "exact": round(addition.score(model, alone)["exact"], 5)}


def _sums(n: int) -> tuple[list[addition.Sum], Tensor, Tensor]:
    """Sumas reservadas, lo que suman sus cifras en cada lugar y si entra llevada."""
    examples = addition.generate(n, MEASURE_SEED, split="test")
    source = addition.batch(examples).source
    a, b = (source[:, i : i + 3].flip(1) - addition.ZERO_ID for i in (0, 4))
    carried = torch.tensor([addition.carries(x) for x in examples])  # (n, 3)
    return examples, a + b, torch.cat([torch.zeros(n, 1, dtype=torch.bool), carried], 1)


def _lies(model: Seq2Seq, lot: Any, pairs: Tensor, entering: Tensor) -> dict[str, Any]:
    """Se cambia la última cifra escrita como si en su lugar la llevada fuese la contraria.

    Por lo que suman las dos cifras de ese lugar: en qué parte la cifra siguiente cambia en una.
    """
    rows: dict[str, list[Tensor]] = {"nine": [], "other": []}
    encoded = model.encode(lot.source)
    for k in (1, 2, 3):
        step = torch.where(entering[:, k - 1], -1, 1)
        inputs = lot.inputs.clone()
        inputs[:, k] = (inputs[:, k] - addition.ZERO_ID + step) % 10 + addition.ZERO_ID
        written = model.decode(inputs, encoded).argmax(-1)[:, k] - addition.ZERO_ID
        right = lot.labels[:, k] - addition.ZERO_ID
        nine = pairs[:, k - 1] == 9
        rows["nine"].append((written == (right + step) % 10)[nine])
        rows["other"].append((written == right)[~nine])
    joined = {name: torch.cat(hits).double() for name, hits in rows.items()}
    return {
        "nine_follows": round(joined["nine"].mean().item(), 4),
        "other_stays": round(joined["other"].mean().item(), 4),
        "n": [len(joined["nine"]), len(joined["other"])],
    }


def _reread(model: Seq2Seq, lot: Any, pairs: Tensor) -> dict[str, float]:
    """Se cambia lo que la columna leyó en el codificador, en decenas y centenas.

    Las dos cifras de su derecha pasan a sumar diez más o diez menos: la cifra que se escribe allí
    es la misma y la llevada, la contraria. ``told``: cuántas veces se escribe la cifra de la otra
    llevada si la columna tiene los estados así leídos, y lo demás los de antes. ``kept_same``:
    cuántas sigue como estaba si las otras dos cifras suman lo mismo; ``kept_rest``: si cambia todo
    menos la columna.
    """
    memory, rows = model.encode(lot.source), {"told": [], "kept_same": [], "kept_rest": []}
    for k in (1, 2):
        total, before = pairs[:, k - 1], lot.labels[:, k] - addition.ZERO_ID
        some, step = total != 9, torch.where(total < 9, 1, -1)
        other = (total + 10 * step).clamp(0, 18)
        column = torch.isin(torch.arange(8), torch.tensor([2 - k, 6 - k]))

        def written(total: Tensor, chosen: Tensor, k: int = k) -> Tensor:
            source = lot.source.clone()
            read = torch.stack([total // 2, total - total // 2], 1) + addition.ZERO_ID
            source[:, [3 - k, 7 - k]] = read
            states = torch.where(chosen[:, None], model.encode(source).states, memory.states)
            logits = model.decode(lot.inputs, memory._replace(states=states))
            return logits.argmax(-1)[:, k] - addition.ZERO_ID

        rows["told"].append((written(other, column) == (before + step) % 10)[some])
        rows["kept_same"].append(written(total, column) == before)
        rows["kept_rest"].append((written(other, ~column) == before)[some])
    return {name: round(torch.cat(hits).double().mean().item(), 4) for name, hits in rows.items()}


@torch.no_grad()
def after_nine(model: Seq2Seq, *, reverse: bool = True) -> dict[str, dict[str, float]]:
    """Los aciertos en decenas y en centenas, según sume 9 o no la columna de su derecha.

    Con enseñanza forzada y lugar a lugar: juntos se mezclarían con lo que cuesta aprender cada uno.
    """
    examples, pairs, _ = _sums(2000)
    lot = addition.batch(examples, reverse=reverse)
    hits = _right(model(lot.source, lot.inputs), lot.labels)[:, :4]
    hits, nine = hits if reverse else hits.flip(1), pairs == 9
    return {
        name: {
            "nine": _share(hits[:, k], nine[:, k - 1]),
            "other": _share(hits[:, k], ~nine[:, k - 1]),
        }
        for k, name in ((1, "tens"), (2, "hundreds"))
    }


@torch.no_grad()
def expressions_measures(model: Seq2Seq, seed: int) -> dict[str, Any]:
    """La operación tras el paréntesis que cierra: si la mira, y qué pasa al tapar o mover."""
    trees = expressions.generate(400, MEASURE_SEED, depths=3, split="test")
    lot = expressions.batch(trees)
    own, others = (
        torch.zeros(*lot.labels.shape, lot.source.shape[1], dtype=torch.bool) for _ in "12"
    )
    closed = torch.zeros(lot.labels.shape, dtype=torch.bool)
    for row, tree in enumerate(trees):
        text, order = expressions.infix(tree), origins(tree)
        signs = [i for i, sign in enumerate(text) if sign in expressions.OPERATIONS]
        for step, at in enumerate(order):
            if text[at] in expressions.OPERATIONS and text[at - 1] == ")":
                closed[row, step], own[row, step, at] = True, True
                others[row, step, [i for i in signs if text[i] != text[at]][:1]] = True
    there = (lot.source[:, None] * others).sum(-1)  # la operación que hay en ese otro sitio
    with watching(model) as maps:
        model(lot.source, lot.inputs)
    pairs = moved_brackets(400)
    marks = [expressions.score(model, list(side))["exact"] for side in zip(*pairs, strict=True)]
    return {
        "after_bracket": _best_head(maps, own),
        "hide_own": _share(_without(model, lot, own), closed),
        "hide_other": _share(_without(model, lot, others), others.any(-1)),
        "keep_own": _share(_without(model, lot, _all_but(own)), closed),
        "keep_other": _share(_without(model, lot, _all_but(others), there), others.any(-1)),
        "moved_bracket": marks,
        "threads": _threads(model),
        "n": int(closed.sum()),
    }


def _threads(model: Seq2Seq) -> dict[str, Any]:
    """Cuánto mira un paréntesis a su pareja, y si hace falta.

    ``closing_to_opening`` y ``opening_to_closing``: la cabeza del codificador que más, con todas
    las parejas. De las que están a 8 o a 12 signos, donde una distancia fija no basta, la cabeza
    que más va del que abre al suyo en la distancia en que menos (``head``): su peso a 4, a 8 y a 12
    (``at``), el que pone a la otra distancia, si llega hasta allí la expresión (``astray``), y el
    que pone en los que cierran otros grupos así de largos, si los hay (``other``).
    ``exact``, ``cut`` y ``cut_all``: los árboles enteros con enseñanza forzada; tapadas en todo el
    codificador, en los dos sentidos, esas parejas; y tapado a los demás cada paréntesis.
    """
    trees = expressions.generate(400, MEASURE_SEED, depths=3, split="test")
    lot = expressions.batch(trees)
    with watching(model) as maps:
        model(lot.source, lot.inputs)
    heads = torch.cat([w for name, w in maps.items() if name.startswith("encoder")], 1)
    places = [(row, *pair) for row, tree in enumerate(trees) for pair in bracket_pairs(tree)]
    row, opens, closes = torch.tensor(places).T
    gap = closes - opens
    towards = heads[row, :, opens, closes]  # (pareja, cabeza)
    by_gap = {n: towards[gap == n].mean(0) for n in sorted(set(gap.tolist()))}
    best = torch.stack([w for n, w in by_gap.items() if n > 4]).amin(0).argmax()
    far = torch.zeros(len(trees), *heads.shape[-2:], dtype=torch.bool)
    far[row[gap > 4], opens[gap > 4], closes[gap > 4]] = True
    others = far.any(1, keepdim=True) & far.any(2, keepdim=True) & ~far
    several = others.any(-1)
    signs = torch.tensor([len(expressions.infix(tree)) for tree in trees])
    elsewhere = opens + 8 + 12 - gap
    lost = (gap > 4) & (elsewhere < signs[row])
    brackets = torch.zeros_like(far).index_put_((row, opens), torch.tensor(True))
    brackets = brackets.index_put_((row, closes), torch.tensor(True)).mT
    return {
        "closing_to_opening": round(heads[row, :, closes, opens].mean(0).max().item(), 4),
        "opening_to_closing": round(towards.mean(0).max().item(), 4),
        "head": int(best),
        "at": {str(n): round(weights[best].item(), 4) for n, weights in by_gap.items()},
        "astray": round(heads[row[lost], best, opens[lost], elsewhere[lost]].mean().item(), 4),
        "other": round((heads[:, best] * others).sum(-1)[several].mean().item(), 4),
        "pairs": {str(n): int((gap == n).sum()) for n in by_gap},
        "exact": _whole(model, lot, torch.zeros_like(far)),
        "cut": _whole(model, lot, far | far.mT),
        "cut_all": _whole(model, lot, brackets & ~torch.eye(brackets.shape[1], dtype=torch.bool)),
    }


THREAD_TEXT = "((1+y)*3)-((z*2)+(x-4))"  # las dos parejas largas, a 8 signos y a 12


@torch.no_grad()
def thread_map(seed: int = 0) -> dict[str, Any]:
    """Lo que mira la cabeza del hilo desde cada paréntesis que abre, y sus medidas."""
    model = build_14("expresiones", seed).eval()
    model.load_state_dict(trained_14("expresiones", seed)["weights"])
    measures, lot = _threads(model), expressions.batch([expressions.from_infix(THREAD_TEXT)])
    with watching(model) as maps:
        model(lot.source, lot.inputs)
    heads = torch.cat([w for name, w in maps.items() if name.startswith("encoder")], 1)[0]
    opens = [i for i, sign in enumerate(THREAD_TEXT) if sign == "("]
    rows = {str(i): [round(x, 3) for x in heads[measures["head"], i].tolist()] for i in opens}
    return {"seed": seed, "text": THREAD_TEXT, "rows": rows, "measures": measures}


def _whole(model: Seq2Seq, lot: Any, hidden: Tensor) -> float:
    """Las filas sin ningún fallo si al leer se tapa ``hidden``, (fila, quien lee, lo leído)."""
    encoded = _encoded_without(model, lot, hidden[:, None])
    hits = _right(model.decode(lot.inputs, encoded), lot.labels)
    whole = (hits | (lot.labels == expressions.PAD_ID)).all(-1)
    return _share(whole, torch.ones_like(whole))


def bracket_pairs(tree: expressions.Tree) -> list[tuple[int, int]]:
    """Dónde abre y dónde cierra cada paréntesis de la expresión."""
    opened, pairs = [], []
    for i, sign in enumerate(expressions.infix(tree)):
        if sign == "(":
            opened.append(i)
        elif sign == ")":
            pairs.append((opened.pop(), i))
    return pairs


@torch.no_grad()
def shapes_measures(model: Seq2Seq, seed: int) -> dict[str, Any]:
    """Lo que acierta a profundidad 3 en las formas que ha visto, en las que no, y en cada una."""
    hidden = hidden_shapes(seed, RUNS_14["expresiones, cinco formas apartadas"]["hidden_shapes"])
    trees = expressions.generate(4000, MEASURE_SEED, depths=3, split="test")
    unseen = [tree for tree in trees if shape(tree) in hidden][:300]
    seen = [tree for tree in trees if shape(tree) not in hidden][:300]
    marks = {"unseen": expressions.score(model, unseen), "seen": expressions.score(model, seen)}
    each = {one: [tree for tree in trees if shape(tree) == one][:80] for one in hidden}
    rows = {name: {key: row[key] for key in ("exact", "valid", "n")} for name, row in marks.items()}
    return rows | {
        "by_shape": {one: [expressions.score(model, x)["exact"], len(x)] for one, x in each.items()}
    }


def origins(tree: expressions.Tree, start: int = 0) -> list[int]:
    """En qué sitio de la expresión está cada signo del prefijo, en el orden del prefijo."""
    if isinstance(tree, str):
        return [start]
    left, right = (expressions.infix(x) for x in tree[1:])
    wraps = [len(text) > 1 for text in (left, right)]
    sign = start + len(left) + 2 * wraps[0]
    return [sign, *origins(tree[1], start + wraps[0]), *origins(tree[2], sign + 1 + wraps[1])]


def moved_brackets(n: int) -> list[tuple[expressions.Tree, expressions.Tree]]:
    """Parejas reservadas que solo se diferencian en un par de paréntesis: (a·b)·c y a·(b·c)."""
    pairs, seed = [], MEASURE_SEED
    while len(pairs) < n:
        seed += 1
        for tree in expressions.generate(500, seed, split="test"):
            if isinstance(tree[1], str):
                continue
            sign, (inner, a, b), c = tree
            other = (inner, a, (sign, b, c))
            if expressions.depth(other) <= 3 and expressions.is_held_out(other):
                pairs.append((tree, other))
    return pairs[:n]


def _progress(name: str, model: Seq2Seq) -> dict[str, Any]:
    """Lo que acierta a medio entrenar: por símbolo y enteras, escribiendo solo."""
    run = RUNS_14[name]
    task, options = TASKS[run["task"]], next(iter(run["tests"].values()))
    examples = task.generate(500, RECIPE_14["evaluation_seed"], **options)
    marks = task.score(model, examples, **_order(run))
    row = {"exact": marks["exact"], "token": round(marks["token"], 5)}
    if run["task"] != "addition":
        return row
    return row | after_nine(model, reverse=run.get("reverse", True))


MEASURE_SEED = 5_000
MEASURES = {
    "copia": copy_measures,
    "suma": addition_measures,
    "expresiones": expressions_measures,
    "expresiones, sin girar la cruzada": expressions_measures,
    "expresiones, cinco formas apartadas": shapes_measures,
}


def run_14(name: str, seed: int) -> dict[str, Any]:
    """Entrena y prueba una combinación."""
    found = trained_14(name, seed)
    model = build_14(name, seed).eval()
    curve = {}
    for step, weights in found["snapshots"].items():
        model.load_state_dict(weights)
        curve[str(step)] = _progress(name, model) if RUNS_14[name]["tests"] else {}
    model.load_state_dict(found["weights"])
    print(f"  {name}, semilla {seed}", flush=True)
    return {
        "model": name,
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "cpu_seconds": round(found["seconds"], 1),
        "tests": test_14(name, model),
        "curve": curve,
        "measures": MEASURES[name](model, seed) if name in MEASURES else {},
    }


def chapter() -> dict[str, Any]:
    """Todas las combinaciones con todas las semillas."""
    seeds = {name: OTHER_SEEDS_14.get(name, SEEDS_14) for name in RUNS_14}
    last = max(map(len, seeds.values()))
    runs = [run_14(name, seed) for seed in range(last) for name in RUNS_14 if seed in seeds[name]]
    return {"recipe": RECIPE_14, "configs": RUNS_14, "thread": thread_map(), "runs": runs}


def _travels(name: str, seed: int, **more: Any) -> tuple[Seq2Seq, dict[str, Any]]:
    """Un modelo ya en 16 bits y su ficha, con lo que acierta así redondeado."""
    found, model = trained_14(name, seed), build_14(name, seed).eval()
    model.load_state_dict(found["weights"])
    trained.rounded(model)
    card = {
        "recipe": {**RECIPE_14, **_run(name)},
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "cpu_seconds": round(found["seconds"], 1),
    }
    marks = {title: found["exact"] for title, found in test_14(name, model).items()}
    return model, {**card, **more, "marks": marks}


def stored_copy() -> tuple[Seq2Seq, dict[str, Any]]:
    """El copiador guardado: la primera semilla, sin elegir."""
    return _travels("copia", 0, tried=1)


def stored_parser() -> tuple[Seq2Seq, dict[str, Any]]:
    """El analizador guardado: la primera semilla, sin elegir. Se probaron cuatro por si en alguna
    se veía el hilo de los paréntesis largos (:func:`thread_map`), y no se veía en ninguna."""
    return _travels("expresiones, guardado", 0, tried=1)


PESOS = {"copia": stored_copy, "expresiones": stored_parser}
