"""El presupuesto, sin navegador: los bytes y los FLOP que cuenta son los que se miden."""

import re
from functools import partial

import pytest
import torch
from muestras import TALLA, make_budget

from atento.models.gpt import Gpt, GptConfig
from atento.models.language import next_token_loss
from atento.scaling import Decoder, saved_bytes
from figuras.explorers import base
from figuras.explorers.budget import MODELS, activation_bytes, sizes

GPT_3 = MODELS["GPT-3"] | {"texts": 1}


@pytest.mark.parametrize(("texts", "n", "shape"), [
    (1, 64, (500, 64, 4, 256, 1)), (3, 96, (900, 192, 6, 700, 5)), (2, 256, (800, 64, 2, 256, 3)),
])  # fmt: skip
def test_the_activations_are_those_that_pytorch_keeps(texts, n, shape):
    """Salvo lo que guardan las normas, un número o dos por fila, y los índices."""
    vocab, d, heads, f, layers = shape
    with torch.device("meta"):
        gpt = Gpt(
            GptConfig(vocab, d_model=d, n_heads=heads, d_ff=f, n_layers=layers, max_len=n + 1)
        )
        ids = torch.ones(texts, n + 1, dtype=torch.long)
        kept = saved_bytes(partial(next_token_loss, gpt), ids, parameters=gpt.parameters())
    told = activation_bytes(
        Decoder(vocab, n, d, layers, heads, f), n, texts, fused=False, again=False
    )
    rows = texts * n
    assert told < kept <= told + 4 * rows * (5 * layers + 12) + 4096


def test_without_tables_and_again_less_is_kept():
    model = sizes(TALLA.start)
    plain, fused, again, both = (
        activation_bytes(model, 1024, 8, fused=f, again=a)
        for f, a in ((False, False), (True, False), (False, True), (True, True))
    )
    assert plain - fused == 4 * model.n_layers * 8 * 12 * 1024**2
    one = again - 4 * 8 * 1024 * (model.n_layers * 768 + 2 * 768 + model.vocab)
    assert one == 4 * 8 * 1024 * (8 * 768 + 2 * 3072) + 4 * 8 * 12 * 1024**2  # un bloque, abierto
    assert both < min(fused, again) < plain


def test_the_cost_is_three_forwards_and_recomputing_adds_the_blocks():
    model, n = sizes(TALLA.start), 1024
    plain, again = (TALLA.compute(again=x)["flops"] for x in (False, True))
    assert plain == pytest.approx(3 * model.forward_flops(n) * 10**10 / n)
    head = 2 * n * 768 * model.vocab
    assert again - plain == pytest.approx((model.forward_flops(n) - head) * 10**10 / n)
    found = TALLA.compute(processes=64, use=50)
    assert found["seconds"] == pytest.approx(plain / (64 * 9.9e14 * 0.5))
    assert found["rule"] == 6 * 124_439_808 * 10**10


def test_gpt_3_only_fits_with_everything_split_and_recomputed():
    fits = {
        (stage, again): TALLA.least(**GPT_3, stage=stage, again=again, fused=True)
        for stage in range(4)
        for again in (False, True)
    }
    assert {key for key, least in fits.items() if least} == {(3, True)} and fits[3, True] == 64
    assert TALLA.compute(**GPT_3, fused=True)["memory"][3] > 80e9  # ni con todo partido
    found = TALLA.compute(**GPT_3, stage=3, again=True, fused=True, processes=64)
    assert found["parameters"] == 174_604_259_328 and sum(found["memory"]) <= 80e9


def test_without_javascript_the_named_models_are_told():
    told = TALLA.static()
    for name, shape in MODELS.items():
        found = TALLA.compute(**shape)
        row = told[told.index(f'row">{name}<') :].partition("</tr>")[0]
        assert re.findall("<td>(.*?)</td>", row) == [
            base.number(found["parameters"] / 1e6, 0),
            *(base.number(part / 1e9) for part in found["memory"]),
        ]


@pytest.mark.parametrize(("changes", "said"), [
    ({"start": {"ancho": 64}}, "start: llegó 'ancho'"),
    ({"start": {"width": 65}}, "width: llegó 65"),
    ({"start": {"stage": 4}}, "stage: llegó 4"),
    ({"start": {"use": 0}}, "use: llegó 0"),
    ({"room": 0.0}, "room: llegó 0.0"),
    ({"speed": float("inf")}, "speed: llegó inf"),
])  # fmt: skip
def test_what_cannot_be_chosen_is_named(changes, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        make_budget(**changes)


def test_it_starts_as_gpt_2_is_trained():
    start = make_budget().data()["start"]
    assert start == MODELS["GPT-2"] | {
        "texts": 8, "processes": 8, "stage": 0, "fused": True, "again": False,
        "tokens": 10**10, "use": 40,
    }  # fmt: skip


def test_its_texts_travel_as_they_are_written():
    """Con sus tildes, que escapadas pesan seis veces más, y sin un «<» que cierre el guion."""
    assert base._json({"año": ["</script>", 0.5]}) == r'{"año":["\u003c/script>",0.5]}'
