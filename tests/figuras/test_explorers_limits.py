"""Los exploradores en el borde: lo último que se admite, lo primero que no, y lo que dicen en una
línea.
"""

import re
from functools import partial
from importlib import import_module

import pytest
import torch
from muestras import (
    LETTERS,
    WORDS,
    make_architecture,
    make_beam,
    make_clock,
    make_machine,
    make_mask,
    make_merges,
    make_paths,
    make_plane,
    make_rotation,
    make_runs,
    make_sampling,
    make_schedule,
    make_softmax,
    make_stepper,
    normal,
)

from atento.decoding import beam_search
from atento.tokenizers import visible
from atento.tokenizers.unigram import UNKNOWN_PENALTY
from figuras import explorers
from figuras.explorers.base import Explorer
from figuras.explorers.merges import LONGEST
from figuras.explorers.softmax import TOLERANCE

LONG = list("abcdefghijklmnop")


def make_projected(**changes):
    return make_stepper(**(dict.fromkeys(("query", "key", "value"), normal(5, 3)) | changes))


FITS = {
    "clock-d_model": lambda: make_clock(d_model=12),
    "clock-places": lambda: [make_clock(places=n, position=0, other=1) for n in (2, 200)],
    "clock-position": lambda: make_clock(places=9, position=8, other=0),
    "rotation-query": lambda: make_rotation(query=normal(8), key=normal(8, seed=1)),
    "mask-two": lambda: make_mask(words=WORDS[:2], scores=normal(2, 2)),
    "mask-eight": lambda: make_mask(words=LONG[:8], scores=normal(8, 8)),
    "merges-text": lambda: make_merges(text="a" * LONGEST),
    "paths-words": lambda: [make_paths(words=LONG[:n], goal=None) for n in (3, 16)],
    "paths-kernel": lambda: [make_paths(kernel=n, goal=None) for n in (2, len(WORDS))],
    "paths-goal": lambda: make_paths(goal=1),
    "paths-ends": lambda: make_paths(start=3, end=4),
    "softmax-d_k": lambda: make_softmax(d_k=1),
    "softmax-target": lambda: [
        make_softmax(target=x) for x in (0.2 + 2.5 * TOLERANCE, 1 - 1.5 * TOLERANCE)
    ],
    "architecture-model": lambda: make_architecture(
        model=make_machine(n_heads=4, n_encoder_layers=3)
    ),
    "architecture-words": lambda: make_architecture(source=LONG[:9], source_ids=[3] * 9),
    "beam-widths": lambda: [make_beam(widths=w) for w in ((1,), (1, 2, 3, 5))],
    "beam-length": lambda: make_beam(max_length=1),
    "sampling-logits": lambda: make_sampling(words=["sí", "no"], logits=normal(2, 2)),
    "sampling-most": lambda: make_sampling(
        words=[f"p{i}" for i in range(1500)], logits=normal(1, 1500), contexts=["tras esto"]
    ),
    "sampling-truth": lambda: make_sampling(truth=torch.full((2, 5), 0.2 + 0.0001)),
    "schedule-warmup": lambda: [
        make_schedule(
            stored=make_runs(("noam",), recipe={"steps": 40, "window": 10, "warmup": n})
        )
        for n in (1, 40)
    ],
    "schedule-one": lambda: make_schedule(
        stored=make_runs(schedules=("none",), norms=("pre",)) | {
            "runs": make_runs(schedules=("none",), norms=("pre",))["runs"][:1]
        }
    ),
    "stepper-temperature": lambda: [make_stepper(temperature=t) for t in (0.1, 10)],
    "stepper-row": lambda: make_stepper(row=4),
}  # fmt: skip


@pytest.mark.parametrize("case", FITS)
def test_the_last_value_that_fits_is_taken(case):
    made = FITS[case]()
    made = made if isinstance(made, list) else [made]
    assert all(isinstance(one, Explorer) and one.data() and one.static() for one in made)


@pytest.mark.parametrize(("make", "changes", "names"), [

    (make_clock, {"places": 201}, "places"),
    (make_clock, {"places": 60.0}, "places"),

    (make_clock, {"position": True}, "position"),
    (make_rotation, {"query": normal(3), "key": normal(3)}, "query"),

    (make_rotation, {"key": normal(2)}, "key"), (make_rotation, {"key": torch.zeros(4)}, "key"),

    (make_mask, {"words": WORDS[:1], "scores": normal(1, 1)}, "scores"),
    (make_mask, {"words": LONG[:9], "scores": normal(9, 9)}, "scores"),
    (make_paths, {"words": WORDS[:2]}, "words"), (make_paths, {"words": [*LONG, "q"]}, "words"),
    (make_paths, {"kernel": 1}, "kernel"), (make_paths, {"kernel": 6}, "kernel"),
    (make_paths, {"start": 2, "end": 2}, "start"), (make_paths, {"start": -1}, "start"),
    (make_paths, {"end": 5}, "start"), (make_paths, {"goal": 0}, "goal"),
    (make_softmax, {"target": 0.2 + 1.5 * TOLERANCE}, "target"),
    (make_softmax, {"target": 1 - 0.5 * TOLERANCE}, "target"),
    (make_architecture, {"source": LONG[:10], "source_ids": [3] * 10}, "source"),
    (make_architecture, {"model": make_machine(d_model=10)}, "model: d_model es 10; caben 8"),
    (make_architecture, {"model": make_machine(n_heads=8)}, "model: n_heads es 8; caben 4"),
    (make_architecture, {"model": make_machine(n_encoder_layers=4)},
     "model: n_encoder_layers es 4; caben 3"),
    (make_architecture, {"model": make_machine(n_decoder_layers=4)},
     "model: n_decoder_layers es 4; caben 3"),
    (make_beam, {"widths": (0, 1)}, "widths"),
    (make_beam, {"widths": (6,)}, "widths"), (make_beam, {"widths": (1, 2, 3, 4, 5)}, "widths"),
    (make_beam, {"widths": (1.0,)}, "widths"), (make_beam, {"max_length": 0}, "max_length"),
    (make_sampling, {"words": ["sí"], "logits": normal(2, 1)}, "logits"),
    (make_sampling, {"truth": torch.full((2, 5), 0.2 + 0.0004)}, "truth: hay una fila"),
    (make_sampling, {"truth": torch.ones(2, 4) / 4}, "truth"),
    (make_schedule, {"stored": make_runs(recipe={"steps": 40, "window": 10, "warmup": 41})},
     "warmup"),
    (make_schedule, {"stored": make_runs(recipe={"steps": 40, "window": 10, "warmup": -1})},
     "warmup"),
    (make_schedule, {"stored": {"recipe": {}, "runs": None}}, "stored"),

    (make_stepper, {"temperature": 0.05}, "temperature"),
    (make_stepper, {"temperature": 10.5}, "temperature"),
    (make_projected, {"projections": (normal(3, 2), normal(3, 2))}, "projections"),
    (make_projected, {"projections": normal(3, 3, 2)}, "projections"),

])  # fmt: skip
def test_the_first_value_that_does_not_fit_is_named(make, changes, names):
    with pytest.raises(ValueError, match=f"^{re.escape(names)}"):
        make(**changes)


def test_a_rate_that_is_not_a_rate_is_named():
    for rate in (0.0, 100.0, 1, None):
        stored = make_runs()
        stored["runs"][0]["rate"] = rate
        with pytest.raises(ValueError, match="^rate: llegó"):
            make_schedule(stored=stored)
    for curves in (None, 3, [["a"]]):
        stored = make_runs()
        stored["runs"][0]["curves"] = curves
        with pytest.raises(ValueError, match="^curves: (se esperaba una lista de|llegó la forma)"):
            make_schedule(stored=stored)


def test_a_search_with_too_many_candidates_is_named(monkeypatch):
    words = [str(i) for i in range(60)]
    scores = normal(60, 60, seed=2)

    def step(ids, state):
        return scores.log_softmax(-1)[ids[:, -1]], state

    monkeypatch.setattr(import_module("figuras.explorers.beam"), "_MOST_NODES", 60)
    search = partial(beam_search, step, torch.tensor([[1]]), eos_id=0)
    with pytest.raises(ValueError, match=r"^search: hay \d+ candidatos; caben 60$"):
        explorers.beam(search, words, eos_id=0, widths=(5,), max_length=12)
    with pytest.raises(ValueError, match="^words: hay 2 palabras"):
        make_beam(words=LETTERS[:2])


# --- Lo que entregan y lo que dicen ---------------------------------------------------------------


def test_showing_is_handing_it_to_the_notebook(monkeypatch):
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    explorer = make_paths()
    explorer.show()
    assert shown == [explorer]


def test_what_the_merges_send_is_what_the_tokenizers_know():
    explorer = make_merges()
    data, bpe, unigram = explorer.data(), explorer.bpe, explorer.unigram
    pairs = data["merges"].split(" ")
    assert list(zip(pairs[::2], pairs[1::2], strict=True)) == [
        tuple(map(visible, pair)) for pair in bpe.merges
    ]
    assert set(data["known"]) == {visible(p) for p in bpe.vocabulary if len(p) == 1}
    sent = dict(zip(*[iter(data["pieces"].split(" "))] * 2, strict=True))
    scores = dict(zip(unigram.vocabulary[unigram.n_first :], unigram.scores, strict=True))
    assert {piece: float(score) for piece, score in sent.items()} == {
        visible(piece): pytest.approx(-score, abs=1e-9) for piece, score in scores.items()
    }
    assert data["unknown"] == pytest.approx(UNKNOWN_PENALTY - min(unigram.scores), abs=0.005)
    assert (data["text"], data["longest"]) == ("Los niños comen", 80)


def test_without_javascript_the_merges_are_their_steps_and_their_cuts():
    explorer = make_merges()
    page, steps = explorer.static(), explorer.steps()
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]
    for i, step in enumerate(steps, 1):
        joined = "|".join(visible(p) for word in step.words for p in word)
        pair = " + ".join(map(visible, step.pair))
        assert [str(i), pair, str(step.rank + 1), joined] in cells
    cuts = ["|".join(map(visible, pieces)) for pieces, _ in explorer.cut()]
    assert len(cuts) == 3 and all(any(cut in row for row in cells) for cut in cuts)
    assert f"{len(steps)} pasos, {sum(map(len, steps[-1].words))} piezas" in explorer.summary()
    assert explorer.summary().endswith(f"unigrama, {sum(len(p) for p, _ in explorer.cut())}")


def test_what_the_paths_send_is_what_was_asked():
    assert make_paths(start=1, end=3).data() == {
        "words": tuple(WORDS), "start": 1, "end": 3, "kernel": 3, "goal": None,
    }  # fmt: skip


def test_the_limits_of_the_plane_are_kept():
    assert make_plane(limits=(-1, 3, -1, 3)).data()["limits"] == (-1.0, 3.0, -1.0, 3.0)
    for limits in ((-1, 3, -1), (-1, 3, -1, 2), (3, -1, 3, -1), (0, 1.9, 0, 1.9)):
        with pytest.raises(ValueError, match="^limits"):
            make_plane(limits=limits)


def test_the_truth_of_a_draw_is_sent_without_its_zeros():
    truth = torch.tensor([[0.5, 0.5, 0, 0, 0], [0, 0, 0.2, 0.3, 0.5]], dtype=torch.float64)
    assert make_sampling(truth=truth).data()["truth"] == [
        [(0, 0.5), (1, 0.5)], [(2, 0.2), (3, 0.3), (4, 0.5)],
    ]  # fmt: skip
    assert make_sampling().data()["truth"] is None


def test_a_causal_stepper_and_paths_without_a_goal():
    assert make_stepper(mask="causal").masks() == ("none", "causal")
    assert explorers.paths(WORDS).goal is None


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_map_keeps_each_embedding_scaled_and_before_its_position(side):
    model = make_machine().double()
    explorer = make_architecture(model=model)
    rows = getattr(model, f"embed_{side}").tokens.weight[list(explorer.ids[side])].detach()
    kept = explorer.tables[f"{side}.embedding"]
    torch.testing.assert_close(kept, rows * model.config.d_model**0.5, rtol=0, atol=1e-6)
    assert not torch.allclose(kept, explorer.tables[f"{side}.entry"])
