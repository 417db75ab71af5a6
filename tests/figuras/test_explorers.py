"""Los exploradores sin navegador: el gemelo en Python, lo que se entrega a la página y lo que se
rechaza.
"""

import base64
import itertools
import json
import re
from functools import partial
from pathlib import Path

import pytest
import torch
from muestras import (
    CLASES,
    LETTERS,
    MAKERS,
    MUESTRAS,
    NAMES,
    SENTENCE,
    TEXT,
    WORDS,
    make_adder,
    make_architecture,
    make_beam,
    make_clock,
    make_heads,
    make_machine,
    make_mask,
    make_merges,
    make_plane,
    make_rotation,
    make_runs,
    make_sampling,
    make_schedule,
    make_softmax,
    make_stack,
    make_stepper,
    make_stream,
    normal,
    table_step,
)
from torch import nn

from atento import attention, masks, positions, trained
from atento.decoding import beam_search, by_length, by_total, sample, tree
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.tasks import addition
from atento.tokenizers import BPE, Unigram
from atento.watching import watching
from figuras import explorers, plots, stored
from figuras.diagrams.transformer import fitting, places
from figuras.explorers import base
from figuras.explorers.adder import complaint, read_sum, recorded
from figuras.explorers.beam import FATES
from figuras.explorers.heads import HABITS
from figuras.explorers.stepper import STEPS

WITH_FILES = {"adder", "claims", "cloze", "completion", "heads", "hearing", "patches", "sketch"}
LARGEST = {"architecture": 120_000, "adder": 53_000, "hearing": 49_000, "claims": 49_000}
LARGEST |= {"completion": 44_000, "patches": 43_000}
every_explorer = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
every_sample = pytest.mark.parametrize("sample", MUESTRAS.values(), ids=MUESTRAS)


# --- Lo común -------------------------------------------------------------------------------------


def test_every_explorer_has_its_samples():
    assert {sample.kind for sample in MUESTRAS.values()} == set(CLASES) == set(MAKERS)
    drawn = {path.stem for path in Path(base.__file__).parent.glob("*.js")}
    others = {"base", "bert", "boxes", "detr", "tensors", "transformer", "vit", "voice", "whisper"}
    assert set(CLASES) == drawn - others
    for kind, make in MAKERS.items():
        assert make().kind == kind and type(make()) is CLASES[kind]


@every_sample
def test_the_page_is_small_repeatable_and_offline(sample):
    bundle, page = sample._repr_mimebundle_(), sample._repr_html_()
    assert bundle["text/html"] == page
    lean, files = explorers.detach(page, "modelos")
    assert len(lean.encode()) <= LARGEST.get(sample.kind, 40_000)
    assert len(page.encode()) <= 400_000 and bool(files) == (sample.kind in WITH_FILES)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|src=|@import|url\(", page)
    assert not re.search(r"@[A-Z]+@", page)


@every_explorer
def test_each_is_made_twice_alike_and_told_in_one_line(make):
    explorer = make()
    assert explorer._repr_mimebundle_() == make()._repr_mimebundle_()
    said, told = explorer.summary(), explorer._repr_mimebundle_()["text/plain"]
    assert told == repr(explorer) == f"{said} (interactivo en la página)"
    assert said.startswith(SAID.get(explorer.kind, "")) and 20 < len(said) < 100
    assert "None" not in said and "\n" not in said


SAID = {
    "adder": "Sumador",
    "claims": "Reparto de 3 dígitos entre 6 consultas; modelo vivo de ",
    "cloze": "Palabras tapadas: 3 frases; modelo vivo de ",
    "completion": "Modelo vivo: 11 088 parámetros, 276 tokens; lee 64",
    "patches": "Parches del sumador vivo: de 458 + 367 a 408 + 317",
    "hearing": "Vocales que se mueven, «oea»; modelo vivo de ",
    "sketch": "Hoja de 8 × 8 y 3 dígitos; modelo vivo de ",
    "stepper": "Atención paso a paso: 5 consultas y 5 claves, d_k = 3, d_v = 2, 2 cabezas",
    "softmax": "Explorador de la softmax: 3 consultas y 5 claves, d_k = 64",
    "lowrank": "Rango: un cambio de 6 × 5, del rango 0 al 4",
    "budget": "Presupuesto de un entrenamiento: un modelo de 124 millones",
    "landscape": "Terreno de una memoria: 3 recuerdos y β de 1.00",
    "online": "Softmax por trozos: 5 puntuaciones y bloques de 1, 2, 3, 5",
    "paths": "Explorador de caminos: 5 palabras, filtro de 3",
    "heads": "Cabezas: 3 capas de 3, sobre 3 frases",
    "sampling": "Sorteo: 2 comienzos y 5 palabras",
}


@every_explorer
def test_a_name_that_is_not_an_identifier_is_named_at_the_door(make):
    for name in ("con espacios", "ñ", "", "-a"):
        with pytest.raises(ValueError, match="^name: llegó"):
            make(name=name)


@every_explorer
def test_a_label_cannot_break_out_of_the_page(make):
    hostile = "</script><b>&"
    labels = dict.fromkeys(
        ("stepper", "plane", "mask", "stream", "sampling", "paths", "landscape"), "words"
    )
    labels |= {"softmax": "keys"}
    label = labels.get(make().kind)
    named = {label: [hostile] * len(getattr(make(), label))} if label else {}
    if make().kind == "heads":
        one = [hostile] * 3, torch.full((2, 3, 3, 3), 1 / 3)
        named = {"sentences": {hostile: one, "otra": one}}
    page = make(**named, question=hostile, title=hostile)._repr_html_()
    assert "<b>" not in page and page.count("</script>") == make()._repr_html_().count("</script>")


@every_explorer
def test_the_identifier_follows_the_data(make):
    assert make().element_id == make().element_id != make(name="otra").element_id
    assert make(name="otra").element_id.startswith("exp-otra-")


def test_colours_come_from_the_tokens_of_the_book():
    css = base._base_css()
    for role in ("query", "key", "value", "ink", "paper", "muted"):
        assert f"var(--atento-{role},{plots.TOKENS[role]['light']})" in css
        assert f"--{role}:{plots.TOKENS[role]['dark']};" in css
    folder = Path(base.__file__).parent
    sources = "".join(
        base._read(str(path.relative_to(folder)))
        for path in folder.rglob("*")
        if path.suffix in (".css", ".js")
    )
    assert "--role:var(--query)" in sources and "atentoExplorers.add(" in sources
    assert not set(re.findall(r"#[0-9a-f]{3,6}\b", sources)) - {"#000", "#fff"}


def test_a_page_with_several_keeps_one_copy_of_what_is_shared():
    page = "".join(
        make()._repr_html_()
        for make in (make_stepper, make_plane, make_plane, make_softmax, make_mask)
    )
    lean = explorers.deduplicate(page)
    parts = re.findall(r'data-atento-part="([a-z/]+)-', lean)
    names = ("kit", "drag", "field", "beside", "table", "chart", "cells")
    pieces = [f"pieces/{name}" for name in names]
    assert sorted(parts) == sorted(2 * ["base", "stepper", "plane", "softmax", "mask", *pieces])
    assert lean.count(" data-atento-explorer=") == 5 and explorers.deduplicate(lean) == lean


def test_comments_and_indents_stay_at_home():
    assert "// ----" not in base._read("stepper.js") and "\n  " not in base._read("stepper.js")
    assert "/*@TOKENS@*/" in base._read("base.css") and len(base._read("base.js")) > 5000


@pytest.mark.parametrize(("make", "changes", "names"), [
    (make_stepper, {"query": normal(2, 5, 4)}, "key"),
    (make_stepper, {"query": normal(5, 3)}, "query: con las otras dos"),
    (make_stepper, {"query": normal(5)}, "query"),
    (make_stepper, {"key": torch.full((2, 5, 3), float("nan"))}, "key"),
    (make_stepper, {"value": normal(2, 4, 2)}, "value"),
    (make_stepper, {"value": normal(3, 5, 2)}, "query: con las otras dos"),
    (make_stepper, {"query": normal(2, 3, 3)}, "queries"),
    (make_stepper, {"words": ["una"]}, "words"),
    (make_stepper, {"words": "cinco"}, "words"),
    (make_stepper, {"features": ["agua"]}, "features"),
    (make_stepper, {"row": 5}, "row"),
    (make_stepper, {"step": "proyectar"}, "step"),
    (make_stepper, {"controls": ("todo",)}, "controls"),
    (make_stepper, {"output": normal(3, 2)}, "output"),
    (make_stepper, {"output": normal(4, 2), "output_features": ["una"]}, "output_features"),
    (make_stepper, {"head_names": ["una"]}, "head_names"),
    (make_stepper, {"projections": (1, 2)}, "query"),
    (make_plane, {"query": [1.0, 2.0, 3.0]}, "query"),
    (make_plane, {"key": [[1.0, 2.0, 3.0]]}, "key"),
    (make_plane, {"key": "dos"}, "key"),
    (make_plane, {"self_index": 0}, "self_index"),
    (make_plane, {"self_index": 7}, "self_index"),
    (make_plane, {"move": ("value",)}, "move"),
    (make_plane, {"limits": (0.0, 1.0, 0.0, 1.0)}, "limits"),
    (make_plane, {"limits": (0.0, 3.0, 0.0, 2.0)}, "limits"),
    (make_plane, {"axes": ("uno",)}, "axes"),
    (make_softmax, {"scores": torch.zeros(2, 2, 2)}, "scores"),
    (make_softmax, {"scores": torch.full((3, 5), float("inf"))}, "scores"),
    (make_softmax, {"scores": torch.zeros(3, 5)}, "scores"),
    (make_softmax, {"keys": ["una"]}, "keys"),
    (make_softmax, {"queries": ["a"]}, "queries"),
    (make_softmax, {"queries": None}, "queries"),
    (make_softmax, {"d_k": 0}, "d_k"),
    (make_softmax, {"target": 0.2}, "target"),
    (make_softmax, {"target": 1.0}, "target"),
    (make_rotation, {"query": normal(3)}, "query"),
    (make_rotation, {"query": normal(10), "key": normal(10)}, "query"),
    (make_rotation, {"query": torch.zeros(4)}, "query"),
    (make_rotation, {"query": normal(1, 4)}, "query"),
    (make_rotation, {"key": normal(6)}, "key"),
    (make_rotation, {"key": torch.full((4,), float("nan"))}, "key"),
    (make_rotation, {"base": 1.0}, "base"),
    (make_rotation, {"places": 1}, "places"),
    (make_rotation, {"places": True}, "places"),
    (make_rotation, {"query_place": 40}, "query_place"),
    (make_rotation, {"key_place": -1}, "key_place"),
    (make_rotation, {"key_place": 2.0}, "key_place"),
    (make_clock, {"d_model": 7}, "d"),
    (make_clock, {"d_model": 14}, "d_model"),
    (make_clock, {"base": 1.0}, "base"),
    (make_clock, {"places": 1}, "places"),
    (make_clock, {"places": True}, "places"),
    (make_clock, {"position": 60}, "position"),
    (make_clock, {"other": -1}, "other"),
    (make_clock, {"other": 2.0}, "other"),
    (make_mask, {"scores": normal(5, 4)}, "scores"),
    (make_mask, {"scores": normal(9, 9), "words": ["a"] * 9}, "scores"),
    (make_mask, {"scores": torch.full((5, 5), float("inf"))}, "scores"),
    (make_mask, {"words": WORDS[:4]}, "words"),
    (make_mask, {"preset": "otra"}, "preset"),
    (make_mask, {"padding": 5}, "padding"),
    (make_mask, {"window": 0}, "window"),
    (make_mask, {"prefix": 6}, "prefix"),
    (make_mask, {"layers": 0}, "layers"),
    (make_stream, {"x": normal(5, 9)}, "x"),
    (make_stream, {"x": normal(4)}, "x"),
    (make_stream, {"x": normal(7, 4), "words": ["a"] * 7}, "x"),
    (make_stream, {"x": torch.full((5, 4), float("nan"))}, "x"),
    (make_stream, {"words": WORDS[:4]}, "words"),
    (make_stream, {"features": ["una"]}, "features"),
    (make_stream, {"word": 5}, "word"),
    (make_stream, {"stacks": {}}, "stacks"),
    (make_stream, {"stacks": [make_stack()]}, "stacks"),
    (make_stream, {"stacks": {"una": nn.Linear(4, 4)}}, "stacks"),
    (make_stream, {"stacks": {"una": [nn.Linear(4, 4)]}}, "stacks"),
    (make_stream, {"stacks": {"una": make_stack(blocks=5)}}, "stacks"),
    (make_stream, {"stacks": {c: make_stack(blocks=4) for c in "abc"}}, "stacks"),
    (make_stream, {"stacks": {"una": make_stack(), "otra": make_stack(blocks=1)}}, "stacks"),
    (make_architecture, {"model": nn.Linear(2, 2)}, "model"),
    (make_architecture, {"model": make_machine(d_model=16)}, "model: d_model es 16"),
    (make_architecture, {"model": make_machine(n_encoder_layers=4)}, "model: n_encoder"),
    (make_architecture, {"model": make_machine(norm_first=False)}, "model: en el mapa"),
    (make_architecture, {"source": SENTENCE[0][:3]}, "source"),
    (make_architecture, {"source_ids": [3, 4, 5, 8]}, "source_ids"),
    (make_architecture, {"target": ["a"] * 10, "target_ids": [1] * 10}, "target: llegaron 10"),
    (make_architecture, {"vocabulary": NAMES[:4]}, "vocabulary"),
    (make_architecture, {"links": {"atención": ("a", "b")}}, "links: «atención»"),
    (make_beam, {"widths": ()}, "widths"),
    (make_beam, {"widths": (1, 6)}, "widths"),
    (make_beam, {"penalties": {}}, "penalties"),
    (make_beam, {"max_length": 17}, "max_length"),
    (make_beam, {"words": ["<fin>", "la"]}, "words"),
    (make_beam, {"search": partial(beam_search, table_step, torch.ones(2, 1).long(), eos_id=0)},
     "search"),
    (make_sampling, {"logits": normal(5)}, "logits"),
    (make_sampling, {"logits": normal(2, 800), "words": ["a"] * 800}, "logits"),
    (make_sampling, {"logits": torch.full((2, 5), -torch.inf)}, "logits"),
    (make_sampling, {"words": WORDS[:4]}, "words"),
    (make_sampling, {"contexts": ["uno"]}, "contexts"),
    (make_sampling, {"truth": torch.ones(2, 4)}, "truth"),
    (make_sampling, {"truth": torch.ones(2, 5)}, "truth"),
    (make_sampling, {"truth": torch.tensor([[2.0, -1.0, 0, 0, 0]] * 2)}, "truth"),
    (make_schedule, {"stored": []}, "stored"),
    (make_schedule, {"stored": make_runs(runs=[])}, "runs"),
    (make_schedule, {"stored": make_runs(runs=make_runs()["runs"][1:])}, "runs"),
    (make_schedule, {"stored": make_runs(runs=2 * make_runs()["runs"])}, "runs"),
    (make_schedule, {"stored": make_runs(runs=[{"schedule": "noam", "rate": 0.1}])}, "norm"),
    (make_schedule, {"stored": make_runs(recipe={"steps": 4, "window": 1})}, "steps"),
    (make_schedule, {"stored": make_runs(recipe={"steps": 40, "window": 0})}, "window"),
    (make_schedule, {"stored": make_runs(recipe={"steps": 40, "window": 5})}, "curves"),
    (make_schedule, {"stored": make_runs(schedules=("otro",))}, "schedule"),
    (make_schedule, {"stored": make_runs(norms=("otra",))}, "norm"),
    (make_schedule, {"stored": make_runs(recipe={"steps": 40, "window": 10, "warmup": 50})},
     "warmup"),
    (make_schedule, {"start": {"rate": 0.5}}, "start"),
    (make_schedule, {"start": {"tasa": 0.01}}, "start"),
])  # fmt: skip
def test_bad_input_is_named_at_the_door(make, changes, names):
    with pytest.raises(ValueError, match=f"^{re.escape(names)}"):
        make(**changes)


def test_the_beam_asks_for_something_to_call():
    with pytest.raises(TypeError, match="^search: se esperaba una función; llegó int"):
        make_beam(search=3)


# --- El paso a paso -------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize("head", [0, 1])
def test_the_steps_are_the_attention_of_the_library(mask, head):
    explorer = make_stepper()
    assert explorer.masks() == ("none", "causal")
    values = explorer.compute(head=head, mask=mask)
    allowed = {"none": None, "causal": masks.causal_mask(5)}[mask]
    tables = (explorer.query[head], explorer.key[head], explorer.value[head])
    output, weights = attention.scaled_dot_product_attention(*tables, allowed)
    assert torch.allclose(values["weights"], weights, atol=1e-12)
    assert torch.allclose(values["output"], output, atol=1e-12)


def test_scale_and_temperature_divide():
    explorer = make_stepper()
    plain = explorer.compute(scaled=False)
    assert torch.equal(plain["scores"], plain["scaled"])
    both = explorer.compute(scaled=True, temperature=2.0)
    assert torch.allclose(both["scaled"] * 2 * 3**0.5, plain["scores"])


def test_projections_add_a_step_and_heads():
    x, projections = normal(5, 4), tuple(normal(2, 4, d, seed=d) for d in (3, 3, 2))
    explorer = explorers.stepper(WORDS, x, x, x, projections=projections)
    assert explorer.steps == STEPS[:-1] and len(explorer.query) == 2
    assert torch.allclose(explorer.key[1], x @ projections[1][1], atol=1e-5)
    assert "2 cabezas" in repr(explorer)


def test_the_last_step_joins_the_heads_as_the_library_does():
    x, w, w_o = normal(5, 6), [normal(6, 6, seed=s) / 4 for s in (1, 2, 3)], normal(6, 6, seed=4)
    split = tuple(
        matrix.unflatten(1, (2, 3)).transpose(0, 1) for matrix in w
    )  # (head, d_model, d_head)
    explorer = explorers.stepper(WORDS, x, x, x, projections=split, output=w_o, name="union")
    layer = attention.MultiHeadAttention(6, 2, bias=False).double()
    layers = (layer.project_query, layer.project_key, layer.project_value, layer.project_output)
    with torch.no_grad():
        for linear, matrix in zip(layers, (*w, w_o), strict=True):
            linear.weight.copy_(matrix.T)
        output, weights = layer(x, need_weights=True)
    assert explorer.steps == STEPS
    for head in (0, 1):
        values = explorer.compute(head=head)
        assert torch.allclose(values["weights"], weights[head], atol=1e-12)
        assert torch.allclose(values["united"], output, atol=1e-12)
    page = explorer._repr_html_()
    assert page.count("<table>") == 4
    every_head = page[page.index("en cada cabeza") :].partition("</table>")[0]
    for head in (0, 1):  # la fila inicial, en cada una
        shown = [base.number(number) for number in weights[head, 0].tolist()]
        assert f"<td>{'</td><td>'.join(shown)}</td>" in every_head
    assert " · ".join(base.number(number) for number in output[0].tolist()) in page


@pytest.mark.parametrize("size", ["projections", "heads"])
def test_projections_that_do_not_fit_are_named(size):
    x = normal(5, 4)
    shapes = {"projections": [(4, 3), (5, 3), (4, 2)], "heads": [(2, 4, 3), (2, 4, 3), (1, 4, 2)]}[
        size
    ]
    with pytest.raises(ValueError, match=r"^projections"):
        explorers.stepper(WORDS, x, x, x, projections=tuple(normal(*shape) for shape in shapes))


def test_cross_attention_has_its_own_words_and_no_causal_mask():
    explorer = make_stepper(query=normal(2, 2, 3), queries=["the", "bank"])
    assert explorer.masks() == ("none",) and explorer.compute()["weights"].shape == (2, 5)
    with pytest.raises(ValueError, match="^mask"):
        explorer.compute(mask="causal")


def test_without_javascript_the_stepper_is_its_tables():
    explorer = make_stepper(row=1)
    values, page = explorer.compute(), explorer._repr_html_()
    assert page.count("<table>") == 4  # una más que con una cabeza sola: la fila en todas
    for step in ("scores", "scaled", "weights"):
        assert all(f"<td>{base.number(number)}</td>" in page for number in values[step][1])


# --- El plano -------------------------------------------------------------------------------------


def test_the_plane_weighs_and_mixes():
    explorer = make_plane()
    values = explorer.compute()
    scores = torch.tensor([2.5, 2.5], dtype=torch.float64)
    assert torch.allclose(values["scores"], scores) and torch.allclose(
        values["output"], explorer.key.mean(0)
    )
    alone = explorer.compute(present=(True, False))
    assert torch.equal(alone["output"], explorer.key[0])
    assert not explorer.compute(present=(False, False))["output"].any()
    moved = explorer.compute(key=torch.zeros(2, 2, dtype=torch.float64))
    assert not moved["output"].any(), "el valor se mueve con la clave"


def test_the_output_never_leaves_the_hull():
    triangle = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    explorer = explorers.plane(["a", "b", "c"], [0.0, 0.0], triangle)
    for query in 20 * normal(200, 2, seed=4):
        x, y = explorer.compute(query=query)["output"]
        assert x >= 0 and y >= 0 and x + y <= 1 + 1e-12


# --- La softmax -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_every_row_can_answer_the_question(seed):
    explorer = make_softmax(scores=8 * normal(3, 5, seed=seed))
    low, high = explorer.range
    for row, scaled in itertools.product(range(3), (True, False)):
        temperature = explorer.solution(row, scaled)
        assert 10**low < temperature < 10**high
        assert abs(float(explorer.weights(row, temperature, scaled).max()) - explorer.target) < 1e-9
    for row in range(3):
        assert explorer.solution(row, False) == pytest.approx(
            8 * explorer.solution(row, True), rel=1e-9
        )
    assert explorer.solution() == explorer.solution(0, True)
    assert torch.equal(explorer.weights(), explorer.weights(0, 1.0, True))


def test_without_javascript_the_softmax_says_its_weights_and_its_answers():
    explorer = make_softmax()
    page = explorer._repr_html_()
    for temperature, scaled in ((1.0, True), (1.0, False), (4.0, True)):
        assert all(
            f"<td>{w:.3f}</td>" in page for w in explorer.weights(0, temperature, scaled).tolist()
        )
    assert all(f"<td>{explorer.solution(row):.3g}</td>" in page for row in range(3))


def test_the_data_are_what_the_page_receives():
    for make in MAKERS.values():
        page = make()._repr_html_()
        found = re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)[1]
        assert json.loads(found) == json.loads(json.dumps(make().data()))


# --- Los vectores que giran -----------------------------------------------------------------------


@pytest.mark.parametrize(("here", "there"), [(0, 0), (3, 9), (39, 2)])
def test_the_arrows_are_turned_as_the_library_turns(here, there):
    """Con números complejos, sin pasar por Rotary."""
    explorer = make_rotation()
    values = explorer.compute(here, there)
    speed = torch.tensor([1.0, 0.01], dtype=torch.float64)
    assert explorer.data()["rotary"] == pytest.approx(speed.tolist())
    query, key = (torch.view_as_complex(x.view(2, 2)) for x in (explorer.query, explorer.key))
    for name, vector, place in (("query", query, here), ("key", key, there)):
        turned = torch.view_as_real(vector * torch.exp(1j * speed * place)).flatten()
        assert torch.allclose(values[name], turned, atol=1e-12)
    distance = torch.arange(-39, 40).unsqueeze(1)
    curve = (query.conj() * key * torch.exp(1j * speed * distance)).real
    assert torch.allclose(values["curve"], curve, atol=1e-12)
    assert torch.allclose(values["parts"], values["curve"][there - here + 39], atol=1e-12)
    assert abs(float(values["score"]) - float(values["query"] @ values["key"])) < 1e-12


def test_moving_both_leaves_the_score():
    explorer = make_rotation()
    scores = [float(explorer.compute(3 + step, 7 + step)["score"]) for step in range(33)]
    assert max(scores) - min(scores) < 1e-12
    assert abs(float(explorer.compute(3, 8)["score"]) - scores[0]) > 0.01


# --- El reloj -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("here", "there"), [(0, 0), (5, 8), (59, 3)])
def test_the_clock_is_the_encoding_of_the_library(here, there):
    values = make_clock().compute(here, there)
    table = positions.sinusoidal(torch.arange(60), 8, dtype=torch.float64)
    assert torch.equal(values["row"], table[here])
    assert torch.equal(values["other_row"], table[there])
    assert torch.allclose(values["products"], table @ table[here], atol=1e-12)
    far = (here - there) * positions.frequencies(8, dtype=torch.float64)
    assert abs(float(values["product"]) - float(far.cos().sum())) < 1e-12


def test_the_clock_starts_where_it_is_told():
    values = make_clock(position=2, other=7).compute()
    table = positions.sinusoidal(torch.tensor([2, 7]), 8, dtype=torch.float64)
    assert torch.equal(torch.stack([values["row"], values["other_row"]]), table)


# --- La máscara -----------------------------------------------------------------------------------


def test_the_presets_are_what_their_names_say():
    tables = make_mask(padding=2, window=2, prefix=3).presets()
    allowed = {
        "todo": lambda i, j: True,
        "causal": lambda i, j: j <= i,
        "relleno": lambda i, j: j < 3,
        "ventana": lambda i, j: i - 1 <= j <= i,
        "prefijo": lambda i, j: j <= i or j < 3,
        "bloque": lambda i, j: (i < 3) == (j < 3),
    }
    assert list(tables) == list(allowed)
    for name, rule in allowed.items():
        expected = [[rule(i, j) for j in range(5)] for i in range(5)]
        assert tables[name].tolist() == expected, name


@pytest.mark.parametrize("seed", range(8))
def test_painted_weights_and_reach_are_those_of_the_library_and_of_the_paths(seed):
    explorer = make_mask()
    allowed = torch.rand(5, 5, generator=torch.Generator().manual_seed(seed)) > 0.6
    expected = attention.attend(explorer.scores, torch.eye(5, dtype=torch.float64), allowed)[1]
    assert torch.allclose(explorer.weights(allowed), expected, atol=1e-12)
    steps = explorer.steps(allowed)
    for i, j in itertools.product(range(5), range(5)):
        paths = (p for k in range(4) for p in itertools.product(range(5), repeat=k))
        lengths = [
            len(p) + 1
            for p in paths
            if all(allowed[a, b] for a, b in itertools.pairwise((i, *p, j)))
        ]
        assert steps[i, j] == (0 if i == j else min(lengths, default=-1))
    assert explorer.dead(allowed) == [i for i in range(5) if not allowed[i].any()]


def test_a_window_learns_one_step_per_layer():
    explorer = make_mask(window=2)
    assert explorer.steps(explorer.presets()["ventana"])[4].tolist() == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("start", "end", "kernel"), [(0, 5, 2), (1, 5, 3), (0, 5, 6), (2, 3, 4), (0, 4, 4)]
)
def test_the_routes_are_the_shortest_by_search(start, end, kernel):
    explorer = explorers.paths(list("abcdef"), name="caminos")
    for lane, reach in {"recurrencia": 1, "convolución": kernel - 1, "atención": 6}.items():
        known, steps = {start}, 0
        while end not in known:
            known |= {min(i + jump, end) for i in known for jump in range(reach + 1)}
            steps += 1
        path = explorer.route(start, end, kernel)[lane]
        assert len(path) - 1 == steps and path[0] == start and path[-1] == end
        assert all(0 < b - a <= reach for a, b in zip(path, path[1:], strict=False))


def test_the_goal_asks_for_the_smallest_filter():
    explorer = explorers.paths(list("abcdefghijk"), start=1, end=10, goal=3, name="meta")
    assert [k for k in range(2, 12) if explorer.reached(1, 10, k)] == [4]
    other = [(a, b) for a in range(11) for b in range(a + 1, 11) if (a, b) != (1, 10)]
    assert not any(explorer.reached(a, b, k) for a, b in other for k in range(2, 12))


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"start": 2, "end": 2}, "start"),
        ({"kernel": 1}, "kernel"),
        ({"goal": 0}, "goal"),
        ({"end": 9}, "start"),
    ],
)
def test_a_path_that_cannot_be_is_named(options, names):
    with pytest.raises(ValueError, match=f"^{names}"):
        explorers.paths(["la", "llave", "oxidada"], **options)
    with pytest.raises(ValueError, match="^words"):
        explorers.paths(["una", "dos"])


def test_without_javascript_the_paths_are_written():
    text = explorers.paths(["la", "llave", "está", "oxidada"], start=1, name="quieto").static()
    assert "llave → está → oxidada" in text and "llave → oxidada" in text


# --- Las cabezas ----------------------------------------------------------------------------------


def test_a_head_is_looked_at_with_the_weights_that_were_given():
    made = make_heads()
    given = normal(3, 3, 7, 7, seed=21).mul(2).softmax(-1)
    for layer, head in itertools.product(range(3), range(3)):
        seen = made.look(0, layer, head)
        assert (seen - given[layer, head]).abs().max() <= 0.5 / 255 + 1e-12
        kept = made.look(0, layer, head, bare=True)
        assert kept[:, [0, -1]].abs().sum() == kept[[0, -1]].abs().sum() == 0
        whole = seen[1:-1, 1:-1]
        torch.testing.assert_close(kept[1:-1, 1:-1], whole / whole.sum(-1, keepdim=True))


@pytest.mark.parametrize("bare", [False, True])
def test_the_habits_of_a_head_are_counted_one_by_one(bare):
    made = make_heads()
    for sentence, n in ((0, 7), (1, 3), (2, 4)):
        weights = made.look(sentence, 1, 2, bare=bare).tolist()
        wanted = dict.fromkeys(HABITS, 0.0)
        for i, j in itertools.product(range(1, n - 1), range(n)):
            near = {i - 1: "la anterior", i + 1: "la siguiente", i: "sí misma"}
            kind = "las marcas" if j in (0, n - 1) else near.get(j, "las demás")
            wanted[kind] += weights[i][j] / (n - 2)
        assert made.habits(sentence, 1, 2, bare=bare) == pytest.approx(wanted, abs=1e-12)


def test_a_row_that_only_looks_at_the_marks_is_left_with_nothing():
    weights = torch.zeros(1, 1, 4, 4)
    weights[..., 0] = 1
    bare = explorers.heads({"x": (list("abcd"), weights)}).look(0, 0, 0, bare=True)
    assert torch.equal(bare, torch.zeros(4, 4, dtype=torch.float64))


def test_only_the_first_sentence_travels_in_the_page():
    made = make_heads()
    ((name, content),) = made.files().items()
    assert name == made.data()["file"] and re.fullmatch(r"prueba-\w{8}", name)
    packed = base64.b64decode(made.data()["first"]) + base64.b64decode(content)
    sent = torch.cat([one.flatten() for one in made.weights])
    assert torch.tensor(list(packed), dtype=torch.uint8).equal(sent)
    alone = make_heads(sentences={"una": (WORDS, torch.full((1, 1, 5, 5), 0.2))})
    assert alone.files() == {} and alone.data()["file"] is None


@pytest.mark.parametrize(
    "sentences",
    [
        {},
        {"x": (list("ab"), torch.full((1, 1, 2, 2), 0.5))},
        {"x": (list("abcdefghijklmnopq"), torch.full((1, 1, 17, 17), 1 / 17))},
        {"x": (list("abc"), torch.full((1, 1, 4, 4), 0.25))},
        {"x": (list("abc"), torch.full((1, 3, 3), 1 / 3))},
        {"x": (list("abc"), torch.full((1, 1, 3, 3), 0.5))},
        {"x": (list("abc"), torch.tensor([[[[2.0, -1.0, 0.0]] * 3]]))},
        {"x": (list("abc"), torch.full((1, 1, 3, 3), float("nan")))},
        {
            "x": (list("abc"), torch.full((1, 1, 3, 3), 1 / 3)),
            "y": (list("abc"), torch.full((2, 1, 3, 3), 1 / 3)),
        },
    ],
)
def test_sentences_that_cannot_be_are_named(sentences):
    with pytest.raises(ValueError, match="^sentences"):
        explorers.heads(sentences)


def test_the_heads_of_minilm_are_those_that_were_stored():
    for one in stored.runs("15")["maps"]["sentences"]:
        n = len(one["words"])
        content = base64.b64decode(one["weights"])
        weights = torch.tensor(list(content), dtype=torch.float64).view(*one["shape"], n, n)
        assert one["shape"] == [6, 12] and (weights.sum(-1) - 255).abs().max() <= n / 2


# --- El flujo residual ----------------------------------------------------------------------------


def _by_hand(block, x, norm):
    """Los cinco vectores de las dos subcapas de un bloque, y lo que sale."""
    rows = []
    for residual, sublayer in (
        (block.add_attention, lambda y: block.attention(y)[0]),
        (block.add_feed_forward, block.feed_forward),
    ):
        read = residual.norm(x) if norm == "pre" else x
        added = sublayer(read)
        total = x + added
        after = total if norm == "pre" else residual.norm(total)
        rows.append({"before": x, "read": read, "added": added, "total": total, "after": after})
        x = after
    return rows, x


@pytest.mark.parametrize("normalization", ["layer", "rms", "none"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_stream_is_that_of_the_library(norm, normalization):
    stack = make_stack(norm, normalization="layer" if normalization == "none" else normalization)
    if normalization == "none":
        for block in stack.blocks:
            block.add_attention.norm = block.add_feed_forward.norm = nn.Identity()
    explorer = make_stream(stacks={"una": stack})
    stack, x, expected = stack.double(), explorer.x, []
    with torch.no_grad():
        for block in stack.blocks:
            rows, x = _by_hand(block, x, norm)
            expected += rows
        assert torch.allclose(x, stack(explorer.x), atol=1e-12)
    for word in range(5):
        for row, right in zip(explorer.compute("una", word), expected, strict=True):
            for key, table in right.items():
                assert torch.allclose(row[key], table[word], atol=2e-5), (key, word)


def test_recording_leaves_the_stack_as_it_was():
    stack = make_stack(dropout=0.5).train()
    before = {name: value.clone() for name, value in stack.state_dict().items()}
    first, again = (make_stream(stacks={"una": stack}) for _ in range(2))
    assert first.data() == again.data(), "sin descarte: dos veces lo mismo"
    assert stack.training and all(
        value.dtype == torch.float32 and torch.equal(value, before[name])
        for name, value in stack.state_dict().items()
    )
    assert not any(module._forward_hooks for module in stack.modules())


def test_a_share_is_what_is_added_over_what_there_was():
    explorer = make_stream()
    for label, word in itertools.product(explorer.stacks, range(5)):
        rows = explorer.compute(label, word)
        shares = [float(row["added"].norm() / row["before"].norm()) for row in rows]
        assert explorer.shares(label, word) == pytest.approx(shares)


def test_a_word_with_nothing_in_its_stream_is_told():
    x = normal(5, 4, seed=2)
    x[2] = 0
    explorer = make_stream(x=x, word=2)
    assert explorer.shares()[0] == float("inf")
    assert "∞" in explorer.static()


def test_without_javascript_the_stream_is_its_tables():
    explorer = make_stream(word=1, features=["a", "b", "c", "d"])
    page = explorer._repr_html_()
    assert page.count("<table>") == 3
    for vector in explorer.compute()[0].values():
        assert all(f"<td>{base.number(value)}</td>" in page for value in vector.tolist())
    for label in explorer.stacks:
        for row, share in zip(explorer.compute(label), explorer.shares(label), strict=True):
            assert f"<td>{base.number(row['after'].norm())}</td>" in page
            assert f"<td>{100 * share:.0f}\u00a0%</td>" in page


# --- El mapa --------------------------------------------------------------------------------------


@pytest.mark.parametrize("tying", ["none", "output", "all"])
@pytest.mark.parametrize("norm_first", [True, False])
def test_the_map_counts_every_parameter_once(norm_first, tying):
    """Los de cada parte, por los bloques que hay, suman los del modelo; los de «base», 63 M."""
    options = {"norm_first": norm_first, "final_norm": norm_first, "tying": tying}
    machine = make_machine(**options) if tying != "all" else None
    if machine is None:
        machine = Seq2Seq(Seq2SeqConfig(len(NAMES), d_model=8, n_heads=2, d_ff=12, **options))
    explorer = make_architecture(model=machine)
    with torch.device("meta"):
        whole = Seq2Seq(Seq2SeqConfig.base())
    for model, way in ((machine, "small"), (whole, "base")):
        total = sum(
            getattr(part, way) * (len(getattr(model, part.stack).blocks) if part.stack else 1)
            for part in explorer.parts
        )
        assert total == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_formula_of_each_part_is_its_count(norm_first):
    """Lo que se lee en letras, con los tamaños de cada modelo, da lo que se ha contado."""
    machine, base = make_machine(norm_first=norm_first, final_norm=norm_first), Seq2SeqConfig.base()
    counted = 0
    for part in make_architecture(model=machine).parts:
        for config, formula, count in zip(
            (machine.config, base), part.formulas, (part.small, part.base), strict=True
        ):
            vocab = config.source_vocab if part.key.startswith("source") else config.target_vocab
            sizes = {"V": vocab, "d": config.d_model, "d_ff": config.d_ff}
            if formula:
                assert eval(formula.replace("·", "*").replace("²", "**2"), {}, sizes) == count, part
                counted += 1
    assert counted > 12


def test_one_matrix_for_all_does_not_mix_the_two_sentences():
    """Con una sola tabla de embeddings, cada frase enseña las filas de sus palabras."""
    machine = Seq2Seq(Seq2SeqConfig(len(NAMES), d_model=8, n_heads=2, d_ff=12, tying="all"))
    explorer = make_architecture(model=machine)
    for side, ids in (("source", [3, 4, 5, 6]), ("target", [1, 3, 4, 5, 6])):
        rows = 8**0.5 * machine.embed_source.tokens.weight[ids].double()
        assert torch.allclose(explorer.tables[f"{side}.embedding"], rows, atol=1e-6)


@pytest.mark.parametrize("norm_first", [True, False])
def test_each_part_gives_what_the_library_gives(norm_first):
    machine = make_machine(norm_first=norm_first, final_norm=norm_first)
    explorer = make_architecture(model=machine)
    twin = machine.double()
    source, target = (torch.tensor([ids]) for ids in ([3, 4, 5, 6], [1, 3, 4, 5, 6]))
    with torch.no_grad():
        memory = twin.encode(source).states
        logits = twin(source, target)[0]
        x = twin.embed_target(target)
        causal = masks.causal_mask(5)
        for b, block in enumerate(twin.decoder.blocks):
            found = explorer.compute("decoder.attention", b)
            read = block.add_attention.norm(x) if norm_first else x
            added, weights = block.attention(read, mask=causal, need_weights=True)
            right = {"reads": [read], "gives": [weights, added]}
            for way, tables in right.items():
                for table, expected in zip(found[way], tables, strict=True):
                    assert torch.allclose(table, expected[0], atol=1e-5)
            x = block(x, memory, causal)
            name = "decoder.feed_forward.sum" if norm_first else "decoder.feed_forward.norm"
            assert torch.allclose(explorer.compute(name, b)["gives"][0], x[0], atol=1e-5)
    assert torch.allclose(explorer.compute("memory")["gives"][0], memory[0], atol=1e-5)
    assert [row[0][0] for row in explorer.best] == [NAMES[i] for i in logits.argmax(-1)]
    assert explorer.words["output"] == tuple(NAMES[i] for i in logits.argmax(-1))


def test_the_map_names_the_parts_of_the_drawing_and_reads_without_javascript():
    for norm_first in (True, False):
        machine = make_machine(norm_first=norm_first, final_norm=norm_first)
        explorer = make_architecture(model=machine)
        _, boxes = places(norm="pre" if norm_first else "post")
        assert {part.key for part in explorer.parts} == set(boxes)
        page = explorer.static()
        assert page.count("<svg") == 1 and page.count("<tr>") == len(boxes) + 1
        assert '<a href="../seis.html">el capítulo 6</a>' in page
        assert "h × n × m = 2 × 5 × 4" in page


FINGER = 45.2  # puntos del dibujo: 44 px en un teléfono


@pytest.mark.parametrize("norm_first", [True, False])
def test_each_part_of_the_map_is_touched_where_it_is_drawn(norm_first):
    explorer = make_architecture(model=make_machine(norm_first=norm_first, final_norm=norm_first))
    spots = {part["key"]: part["spot"] for part in explorer.data()["parts"]}
    sentences = {side: fitting(words) for side, words in explorer.words.items()}
    _, boxes = places(sentences, norm="pre" if norm_first else "post", tied=explorer.tied)
    frame = re.search(r'viewBox="([^"]+)"', explorer.static())[1]
    left, top, width, height = map(float, frame.split())
    for key, (x, y, w, h) in boxes.items():
        across, down, wide, tall = spots[key]
        assert 0 < across + wide / 2 < 100 and 0 < down + tall / 2 < 100
        assert left + across * width / 100 <= x + 0.1 and top + down * height / 100 <= y + 0.1
        assert left + (across + wide) * width / 100 >= x + w - 0.1
        assert top + (down + tall) * height / 100 >= y + h - 0.1
        sides = wide * width / 100, tall * height / 100
        assert sides == pytest.approx((max(w, FINGER), max(h, FINGER)), abs=0.1)
        middle = 100 * (x + w / 2 - left) / width, 100 * (y + h / 2 - top) / height
        inside = min(max(middle[0], wide / 2), 100 - wide / 2)  # al borde se corre hacia dentro
        assert across + wide / 2 == pytest.approx(inside, abs=0.02)
        if norm_first and key not in ("source", "target"):
            assert middle[1] == pytest.approx(down + tall / 2, abs=0.02)
        touched = [
            other
            for other, spot in spots.items()
            if all(spot[i] < middle[i] < spot[i] + spot[i + 2] for i in (0, 1))
        ]
        assert touched == [key]


def test_listening_leaves_the_machine_as_it_was():
    machine = make_machine(dropout=0.5).train()
    before = {name: value.clone() for name, value in machine.state_dict().items()}
    assert make_architecture(model=machine).data() == make_architecture(model=machine).data()
    assert machine.training and not any(m._forward_hooks for m in machine.modules())
    assert all(torch.equal(value, before[name]) for name, value in machine.state_dict().items())


def test_a_word_of_the_map_cannot_break_out_of_the_page():
    hostile = ["</b><i>", "&", "la", "casa"]
    page = make_architecture(source=hostile, vocabulary=["<b>", *NAMES[1:]])._repr_html_()
    assert "<i>" not in page and "<b>" not in page
    assert page.count("</script>") == make_architecture()._repr_html_().count("</script>")


# --- La búsqueda en haz ---------------------------------------------------------------------------


def test_the_beam_is_that_of_the_library():
    penalties = {"suma": by_total, "media": by_length(1.0)}
    explorer = make_beam(penalties=penalties)
    for width, (label, penalty) in itertools.product((1, 2, 3), penalties.items()):
        right = beam_search(
            table_step, torch.tensor([[1]]), eos_id=0, beams=width, n_best=width,
            length_penalty=penalty, max_length=5, history=True,
        )  # fmt: skip
        best = explorer.winner(width, label)
        words = [LETTERS[i] for i in right.best[0].tolist() if i]
        assert best.text.split() == words
        assert best.log_prob == pytest.approx(float(right.log_probs[0, 0]), abs=1e-5)
        assert explorer.score(best, label) == pytest.approx(float(right.scores[0, 0]), abs=1e-5)
        nodes = tree(right)
        assert len(nodes) == len(explorer.compute(width, label))
        for one, node in zip(explorer.compute(width, label), nodes, strict=True):
            assert one.fate == node.fate or node.fate == "cae"


def test_every_fall_of_the_beam_has_its_reason():
    """Contadas a mano: cuántas abiertas mejores había, y si acababa."""
    seen = set()
    for width, label in itertools.product((1, 2, 3), ("suma", "media")):
        nodes = make_beam().compute(width, label)
        last = max(one.step for one in nodes)
        for place, one in enumerate(nodes):
            seen.add(one.fate)
            before = [n for n in nodes[:place] if n.step == one.step]
            better = [n for n in before if n.word != "fin"]
            closes = one.word == "fin" or (one.step == last == 4)
            if one.fate == "tarde":
                assert closes and len(before) >= width
            elif one.fate == "acaba":
                assert closes and len(before) < width
            elif one.fate == "fuera":
                assert not closes and len(better) >= width
            else:
                assert not closes and len(better) < width
            heirs = [n for n in nodes if n.parent == place]
            assert not heirs or one.fate == "sigue"
    assert seen == set(FATES)


def test_the_beam_asks_for_the_narrowest_width_that_finds_a_likelier_sentence():
    explorer = make_beam()
    first = explorer.winner(1)
    likelier = [w for w in (1, 2, 3) if explorer.winner(w).log_prob > first.log_prob + 1e-6]
    assert explorer.goal() == likelier[0] and f"anchura {likelier[0]}" in explorer.answer
    behind = explorer.behind(explorer.goal())
    assert behind.text in explorer.answer
    firsts = [n for n in explorer.compute(explorer.goal()) if n.step == behind.step]
    assert firsts[0].log_prob > behind.log_prob
    sure = torch.eye(3).roll(-1, 1)[[0, 1, 2]] * 0.98 + 0.01

    def step(ids, state):
        return sure.log()[ids[:, -1]], state

    same = make_beam(search=partial(beam_search, step, torch.tensor([[1]]), eos_id=0))
    assert same.goal() is None and same.question is None


def test_without_javascript_the_beam_is_its_winners():
    explorer = make_beam()
    page = explorer.static()
    assert page.count("<table>") == 2
    for width in explorer.widths:
        assert f"<td>{base.number(explorer.winner(width).log_prob)}</td>" in page


# --- El sorteo ------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [
    {}, {"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.7}, {"min_p": 0.2},
    {"temperature": 2.0, "top_k": 4, "top_p": 0.9, "min_p": 0.1},
])  # fmt: skip
def test_the_draw_is_that_of_the_library(settings):
    explorer = make_sampling(seed=4)

    def step(ids, state):
        return explorer.logits[1].expand(len(ids), -1), state

    found = explorer.compute(1, **settings)
    many = sample(
        step, torch.zeros(1, 1).long(), eos_id=-1, max_length=1, n_samples=40_000,
        generator=torch.Generator().manual_seed(0), **settings,
    )  # fmt: skip
    seen = torch.bincount(many.flatten(), minlength=5) / 40_000
    assert torch.allclose(seen.double(), found["probs"], atol=0.012)
    assert ((found["probs"] > 0) == (seen > 0)).all() and int(found["kept"]) == int(
        (seen > 0).sum()
    )
    heated = (explorer.logits[1] / settings.get("temperature", 1.0)).softmax(-1)
    assert float(found["mass"]) == pytest.approx(float(heated[seen > 0].sum()))
    assert torch.equal(
        explorer.compute(**settings)["probs"], explorer.compute(0, **settings)["probs"]
    )
    assert explorer.drawn(**settings) == explorer.drawn(0, 0, **settings)
    drawn = explorer.drawn(1, 3, **settings)
    assert len(drawn) == 10 and drawn == explorer.drawn(1, 13, **settings)
    assert set(drawn) <= {WORDS[i] for i in seen.nonzero().flatten().tolist()}


def test_the_draw_is_judged_by_the_truth():
    truth = torch.tensor([[0.5, 0.5, 0, 0, 0], [0, 0, 0.2, 0.3, 0.5]])
    explorer = make_sampling(truth=truth)
    for context in range(2):
        plain = explorer.compute(context)
        possible = truth[context] > 0
        assert float(plain["wrong"]) == pytest.approx(float(plain["probs"][~possible].sum()))
        assert float(plain["lost"]) == 0
        best = explorer.compute(context, top_k=1)
        top = int(explorer.logits[context].argmax())
        assert float(best["wrong"]) == float(not possible[top])
        assert float(best["lost"]) == pytest.approx(1 - float(truth[context, top]))


def test_the_answer_counts_the_nucleus_of_each_beginning():
    logits = torch.tensor([[9.0, 0, 0, 0, 0], [0.0, 0, 0, 0, 0]])
    answer = make_sampling(logits=logits).answer
    assert "Tras «tras uno», 1; tras «tras otro», 5. No hay un k" in answer
    assert "deja las mismas" in make_sampling(logits=logits[:1].repeat(2, 1)).answer


def test_without_javascript_the_draw_is_its_tables():
    explorer = make_sampling()
    page = explorer.static()
    assert page.count("<table>") == 2
    for options in ({}, {"top_k": 3}, {"top_p": 0.9}, {"min_p": 0.1}, {"temperature": 0.5}):
        assert f"<td>{base.number(explorer.compute(1, **options)['mass'], 3)}</td>" in page


# --- Los calendarios -----------------------------------------------------------------------------


def test_the_rates_are_those_of_the_book():
    explorer, s = make_schedule(), torch.arange(1, 41, dtype=torch.float64)
    rise = (s / 8).clamp(max=1)
    assert torch.allclose(explorer.rates(schedule="none"), torch.full((40,), 0.003).double())
    assert torch.allclose(
        explorer.rates(schedule="noam"), 0.003 * torch.minimum(rise, (8 / s) ** 0.5)
    )
    cosine = 0.5 * (1 + torch.cos(torch.pi * (s - 9) / 32))
    assert torch.allclose(
        explorer.rates(schedule="cosine", rate=0.01), 0.01 * torch.where(s <= 8, rise, cosine)
    )
    assert torch.allclose(explorer.rates(schedule="constant"), 0.003 * rise)
    fall = ((40 - s) / 8).clamp(max=1)
    assert torch.allclose(explorer.rates(schedule="stable"), 0.003 * rise * fall)
    assert explorer.rates(norm="post").max() == 0.003


def test_the_warmup_may_last_the_whole_run():
    whole = make_schedule(stored=make_runs(recipe={"steps": 40, "window": 10, "warmup": 40}))
    rise = 0.003 * torch.arange(1, 41, dtype=torch.float64) / 40
    for kind in ("noam", "cosine"):
        assert torch.allclose(whole.rates(schedule=kind), rise)


def test_the_band_is_that_of_the_seeds_that_go_on():
    seen = make_schedule().compute(norm="post", rate=0.01, schedule="stable")
    assert seen["band"][:, 0].tolist() == [3, 4, 5] and seen["band"][:, 1].tolist() == [4, 5, 6]
    assert seen["band"][:, 3].tolist() == [4, 4, 4]
    assert make_schedule().data()["runs"][-1]["band"][1] == [400, 500, 400, 400]
    broken = make_runs()
    broken["runs"][0]["curves"] = [[None] * 4] * 3
    band = make_schedule(stored=broken).compute()["band"]
    assert band.isnan().all()
    assert make_schedule(stored=broken).data()["runs"][0]["band"] == [[None] * 4] * 3


def test_what_cannot_be_told_from_the_best_is_also_right():
    stored = make_runs(schedules=("noam", "cosine", "none"), norms=("pre",))
    finals = [[0.1, 0.2, 0.3], [0.6, 0.8, 1.0], [0.5, 0.7, 0.75], [0.3, 0.3, 1.1]]
    finals += [[0.0, 0.0, 0.0], [0.2, 0.2, 0.2]]
    for run, final in zip(stored["runs"], finals, strict=True):
        run["exact"] = final
    same = {"norm": "pre", "rate": 0.003}
    found = make_schedule(stored=stored).goal()
    assert found == [{"schedule": name, **same} for name in ("cosine", "none")]


def test_without_javascript_the_schedules_are_tables():
    explorer = make_schedule(start={"norm": "post", "rate": 0.01})
    page = explorer._repr_html_()
    assert page.count("<table>") == 2 and "Pre-LN, por tasa máxima" in page
    for norm, rate, schedule in itertools.product(
        *map(explorer.axes.get, ("norm", "rate", "schedule"))
    ):
        mean = explorer.compute(norm=norm, rate=rate, schedule=schedule)["scores"].mean()
        assert f"<td>{100 * mean:.0f}\u00a0%</td>" in page
    cold = make_runs(norms=("pre",), recipe={"steps": 40, "window": 10})
    explorer = make_schedule(stored=cold)
    assert "traducidas, Pre-LN, por tasa máxima" in explorer.static()
    assert explorer.rates(schedule="noam")[3] == 0.003 / 2


# --- Las uniones ---------------------------------------------------------------------------------


def test_el_ultimo_paso_es_el_corte_del_tokenizador():
    explorer = make_merges()
    for text in ("Los niños comen", "¿Comimos? No: comían", "x y z", ""):
        steps = explorer.steps(text)
        final = [piece for word in steps[-1].words for piece in word] if steps else list(text)
        assert final == [p for w in explorer.bpe.words(text) for p in explorer.bpe.segment(w)]
        ranks = {pair: rank for rank, pair in enumerate(explorer.bpe.merges)}
        assert all(ranks[step.pair] == step.rank for step in steps)
        cut = [piece for pieces, _ in explorer.cut(text) for piece in pieces]
        assert cut == [p for w in explorer.unigram.words(text) for p in explorer.unigram.segment(w)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bpe": Unigram.train([TEXT], 60)}, "bpe"),
        ({"unigram": BPE.train([TEXT], 60)}, "unigram"),
        ({"bpe": BPE.train([TEXT], 300, byte_level=True)}, "bytes"),
        ({"text": " "}, "text"),
        ({"text": "a" * 81}, "text"),
    ],
)
def test_las_uniones_rechazan_lo_que_no_sirve(changes, said):
    with pytest.raises((TypeError, ValueError), match=said):
        make_merges(**changes)


# --- El sumador -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written():
    """Los tensores de 758 + 469, que lleva tres veces."""
    return make_adder().compute(758, 469)


def test_the_sum_is_written_from_the_units_up(written):
    assert addition.decode(written["written"]) == "7221"
    assert written["written"][-1] == addition.EOS_ID
    assert written["inputs"].tolist() == [addition.BOS_ID, *written["written"][:-1].tolist()]
    assert addition.decode(written["source"]) == "758+469"


def test_what_is_recorded_is_the_model(written):
    """El modelo de la biblioteca, sin escuchar y en float32, da lo mismo."""
    model = trained.adder()
    source, inputs = written["source"][None], written["inputs"][None]
    with torch.no_grad():
        encoded = model.encode(source)
        logits = model.decode(inputs, encoded)[0]
        with watching(model) as maps:
            model(source, inputs)
    torch.testing.assert_close(logits.double(), written["logits"], rtol=0, atol=1e-4)
    torch.testing.assert_close(encoded.states[0].double(), written["memory"], rtol=0, atol=1e-4)
    for name, weights in maps.items():
        kept = written[f"{name}.weights"]
        torch.testing.assert_close(weights[0].double(), kept, rtol=0, atol=1e-4)


def _steps(written, name, causal=False):
    """De las consultas a lo que se añade, a mano, con lo apuntado de una atención."""
    part = {key.rsplit(".", 1)[1]: value for key, value in written.items() if name in key}
    scores = part["query"] @ part["key"].mT / 4
    future = torch.ones_like(scores, dtype=torch.bool).triu(1) & causal
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)
    return part, scores, weights, weights @ part["value"]


@pytest.mark.parametrize(("name", "causal"), [
    ("encoder.blocks.0.attention.", False), ("decoder.blocks.0.attention.", True),
    ("decoder.blocks.0.cross_attention.", False),
])  # fmt: skip
def test_the_recorded_steps_follow_one_another(written, name, causal):
    part, scores, weights, output = _steps(written, name, causal)
    for key, made in {"scores": scores, "weights": weights, "output": output}.items():
        torch.testing.assert_close(part[key], made, rtol=0, atol=1e-9)
    block = trained.adder().double().get_submodule(name.rstrip("."))
    joined = part["output"].transpose(0, 1).flatten(1)
    torch.testing.assert_close(part["added"], block.project_output(joined), rtol=0, atol=1e-9)


def test_the_stream_is_what_there_was_plus_what_is_added(written):
    before = {"encoder": written["encoder.embeddings"], "decoder": written["decoder.embeddings"]}
    order = (("encoder", "attention"), ("encoder", "feed_forward"), ("decoder", "attention"),
             ("decoder", "cross_attention"), ("decoder", "feed_forward"))  # fmt: skip
    for stack, kind in order:
        name = f"{stack}.blocks.0.{kind}"
        total = before[stack] + written[f"{name}.added"]
        torch.testing.assert_close(total, written[f"{name}.stream"], rtol=0, atol=1e-9)
        before[stack] = total
    assert (written["decoder.blocks.0.feed_forward.hidden"] >= 0).all()
    torch.testing.assert_close(written["probabilities"], written["logits"].softmax(-1))


def test_listening_leaves_the_model_as_it_was():
    model = trained.adder()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    recorded(model, addition.Sum(12, 34))
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())
    assert not any(m._forward_hooks or "scores" in vars(m) for m in model.modules())


@pytest.mark.parametrize(("text", "said"), [
    ("", "^Escribe una suma, como"), ("  ", "^Escribe una suma, como"),
    ("hola", "^Escribe dos números con un . en medio"), ("45 +", "^Escribe dos números"),
    ("1 + 2 + 3", "^Escribe dos números"), ("２ + 3", "^Escribe dos números"),
    ("123456 + 1", "^Solo ha aprendido números de hasta tres cifras, y 123456 tiene 6"),
    ("1 + 0001000", "^Solo ha aprendido números de hasta tres cifras, y 1000 tiene 4"),
    ("-3 + 5", "^Ni restas ni números negativos"), ("5 - 3", "^Ni restas ni números negativos"),
    ("5 + −3", "^Ni restas ni números negativos"), ("1.5 + 2", "^Ni puntos ni decimales"),
    ("1,5 + 2", "^Ni puntos ni decimales"),
])  # fmt: skip
def test_a_sum_that_cannot_be_is_told_in_one_line(text, said):
    assert re.search(said, complaint(text))
    assert "\n" not in complaint(text) and len(complaint(text)) < 90
    for name, door in {"text": read_sum, "start": lambda text: make_adder(start=text)}.items():
        with pytest.raises(ValueError, match=f"^{name}: llegó ") as error:
            door(text)
        assert str(error.value).endswith(complaint(text))


@pytest.mark.parametrize("numbers", [{"a": 1}, {"b": 2}])
def test_one_number_is_not_a_sum(numbers):
    with pytest.raises(TypeError, match="^b: se esperaban los dos números o ninguno; llegó a="):
        make_adder().compute(**numbers)


def test_zeros_in_front_do_not_count():
    assert read_sum(" 0007+ 12 ") == addition.Sum(7, 12, 3)


def test_without_javascript_the_sum_is_written_step_by_step():
    table = make_adder(start="758 + 469").static()
    assert "758 + 469 = 1227" in table and "millares" in table
    assert make_adder()._repr_html_().count("text/plain") == 1
    with pytest.raises(TypeError, match="^inside: se esperaba True o False; llegó 1"):
        make_adder(inside=1)


def test_files_are_taken_out_once():
    page = make_adder()._repr_html_() + make_adder(name="otro")._repr_html_()
    lean, files = explorers.detach(page, "../modelos")
    (name,) = files
    assert lean.count("text/plain") == 1 and f'data-url="../modelos/{name}"' in lean
    assert re.fullmatch(
        r'\(window\.atentoFiles\?\?=\{\}\)\["sumador-\w{8}"\]="[\w+/=]+"\n', files[name]
    )
    assert explorers.detach(lean, "../modelos") == (lean, {})
