"""El sumador que viaja con el libro: acierta lo que no ha visto y su ficha dice la verdad."""

import re
import runpy
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from atento import trained
from atento.tasks import addition
from atento.tasks.addition import Sum

RECIPES = Path(__file__).resolve().parents[2] / "tools" / "semillas"


@pytest.fixture(scope="module")
def model():
    return trained.adder()


# --- Lo que sabe hacer ----------------------------------------------------------------------------


def test_it_adds_what_it_has_never_seen(model):
    sums = addition.generate(2000, 4242, split="test")
    assert all(addition.is_held_out(*x[:2]) for x in sums)
    assert addition.score(model, sums, batch_size=1000)["exact"] >= 0.999


@pytest.mark.lento
def test_the_card_tells_the_truth_about_the_held_out_sums(model):
    """Diez mil de todas las reservadas: fallan las que la ficha dice, en proporción y con margen
    para el azar y para otro procesador."""
    every, held_out = addition.held_out(), trained.facts()["held_out"]
    assert len(every) == held_out["sums"]
    order = torch.randperm(len(every), generator=torch.Generator().manual_seed(7))[:10_000]
    found = addition.score(model, [every[i] for i in order.tolist()], batch_size=2000)
    wrong = 1 - held_out["right"] / held_out["sums"]
    assert wrong <= 0.001 and abs(1 - found["exact"] - wrong) <= 0.0005


def test_it_is_small_and_says_what_it_is(model):
    facts = trained.facts()
    weights = load(trained.stored_bytes())
    assert len(trained.stored_bytes()) <= 400_000
    assert facts["parameters"] == sum(w.numel() for w in weights.values())
    assert facts["parameters"] == sum(p.numel() for p in model.parameters())
    assert {w.dtype for w in weights.values()} == {torch.float16}
    assert asdict(model.config) == facts["config"] and facts["digits"] == 3
    training = facts["training"]
    assert training["sums"] == training["steps"] * training["batch_size"] > 0
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", facts["date"]) and facts["command"] == "make sumador"
    assert facts["seed"] in range(training["tried"])
    assert {"python", "torch"} <= set(facts["versions"])


def test_the_recipe_of_the_card_is_the_one_that_is_run():
    recipe = runpy.run_path(str(RECIPES / "cap14.py"))
    training, run = trained.facts()["training"], recipe["RUNS_14"]["suma"]
    assert all(training[name] == run[name] for name in ("steps", "batch_size", "rate", "warmup"))
    assert asdict(recipe["build_14"]("suma", 0).config) == trained.facts()["config"]


# --- El fichero -----------------------------------------------------------------------------------


def test_what_is_read_is_what_was_written(model):
    assert trained.to_bytes(model, trained.facts()) == trained.stored_bytes()


def test_each_call_gives_a_new_one(model):
    with torch.no_grad():
        for parameter in (other := trained.adder()).parameters():
            parameter.zero_()
    trained.facts()["config"].clear()
    assert not other.training and trained.facts()["config"]
    assert addition.score(trained.adder(), [Sum(458, 367)])["exact"] == 1.0
    assert model.project.weight is model.embed_target.tokens.weight


def test_reading_it_spends_no_randomness():
    torch.manual_seed(5)
    trained.adder()
    after = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(after, torch.rand(3))


def test_weights_that_do_not_fit_are_named():
    model = trained.adder()
    with torch.no_grad():
        model.decoder.final_norm.bias[0] = 1e6
    with pytest.raises(ValueError, match="^model: hay pesos que no caben.*decoder.final_norm.bias"):
        trained.to_bytes(model, {})


# --- Los demás modelos guardados ------------------------------------------------------------------

FIELDS = {"recipe": {"steps": 3}, "seed": 0, "marks": {"exact": 1.0}}


class _Small(torch.nn.Module):
    """Dos capas que comparten la matriz, y una suelta."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4, bias=False)
        self.same = torch.nn.Linear(4, 4)
        self.same.weight = self.first.weight


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Una carpeta con un modelo guardado, «prueba-14»; devuelve el modelo."""
    model = trained.rounded(_Small())
    (tmp_path / "pesos-prueba-14.safetensors").write_bytes(trained.to_bytes(model, FIELDS))
    (tmp_path / "semillas-14.json").write_text("{}")
    monkeypatch.setattr(trained, "_FOLDER", tmp_path)
    return model


def test_stored_weights_are_put_in_a_model(stored):
    assert trained.names() == ["prueba-14"] and trained.card("prueba-14") == FIELDS
    other = _Small()
    assert trained.fill(other, "prueba-14") is other and not other.training
    assert other.same.weight is other.first.weight
    for new, old in zip(other.parameters(), stored.parameters(), strict=True):
        assert torch.equal(new, old) and new.dtype == torch.float32
    trained.card("prueba-14").clear()
    assert trained.card("prueba-14") == FIELDS


def test_the_model_keeps_its_dtype(stored):
    double = trained.fill(_Small().double(), "prueba-14")
    assert double.same.bias.dtype == torch.float64
    assert torch.equal(double.same.bias.float(), stored.same.bias)


def test_putting_them_spends_no_randomness(stored):
    model = _Small()
    torch.manual_seed(5)
    trained.fill(model, "prueba-14")
    after = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(after, torch.rand(3))


@pytest.mark.parametrize("of", [trained.card, lambda name: trained.fill(_Small(), name)])
def test_a_name_that_is_not_there_says_which_are(stored, of):
    with pytest.raises(ValueError, match=r"^name: .*\(prueba-14\); llegó 'copia-14'"):
        of("copia-14")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (torch.nn.ModuleDict({"first": torch.nn.Linear(4, 4)}),
         "le faltan same.bias; le sobran first.bias"),
        (torch.nn.ModuleDict({"first": torch.nn.Linear(5, 4, bias=False),
                              "same": torch.nn.Linear(4, 4)}),
         r"le sobran same.weight; tienen otra forma first.weight, que es \(4, 5\) y no \(4, 4\)"),
    ],
)  # fmt: skip
def test_another_model_is_told_how_it_differs(stored, model, said):
    before = [weight.clone() for weight in model.parameters()]
    with pytest.raises(ValueError, match=f"^model: .*«prueba-14»; llegó otro: {said}.$"):
        trained.fill(model, "prueba-14")
    assert all(map(torch.equal, before, model.parameters()))


def test_weights_are_rounded_to_what_is_stored():
    model = torch.nn.Linear(3, 2)
    before = [weight.clone() for weight in model.parameters()]
    assert trained.rounded(model) is model
    for weight, was in zip(model.parameters(), before, strict=True):
        assert torch.equal(weight, was.half().float()) and not torch.equal(weight, was)


# --- Lo reservado ---------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [1, 2])
def test_every_held_out_sum_is_listed(digits):
    numbers = range(10**digits)
    wanted = [(a, b) for a in numbers for b in numbers if addition.is_held_out(a, b)]
    found = addition.held_out(digits)
    assert [x[:2] for x in found] == wanted and {x.digits for x in found} == {digits}


def test_too_many_digits_are_too_many_sums():
    with pytest.raises(ValueError, match="^digits: se esperaban enteros de 1 a 3; llegó 4"):
        addition.held_out(4)
