"""``calls``: qué se dice de una llamada que no sale bien, y qué no cambia en las demás."""

import copy
import dataclasses
import functools
import inspect
import math
import pickle
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento import calls, numbers, shapes

X = torch.ones(3, 4)


def area(width: float, height: float = 1.0, *, unit: str = "m") -> str:
    """Un rectángulo."""
    return f"{width * height} {unit}"


def doubled(x: Float[Tensor, "*batch d"], times: int = 2) -> Float[Tensor, "*batch d"]:
    """Multiplica."""
    if times < 0:
        raise ValueError(f"times: se esperaba un entero mayor o igual que 0; llegó {times}.")
    return x * times


def numbered(first: int, *rest: int, **named: int) -> int:
    return first + sum(rest) + sum(named.values())


def countdown(n: int) -> Iterator[int]:
    yield from range(n, 0, -1)


@functools.cache
def squared(n: int) -> int:
    return n * n


@contextmanager
def opened(name: str) -> Iterator[str]:
    yield name.upper()


def recursive(n: int) -> int:
    return 0 if n == 0 else 1 + recursive(n - 1)


def outer(names: Sequence[str]) -> list[str]:
    return [joined(name) for name in names]


def joined(text: str) -> str:
    return text + "."


class Point(NamedTuple):
    """Un punto."""

    x: int
    y: int = 0


@dataclasses.dataclass(frozen=True)
class Config:
    """Una configuración."""

    d_model: int
    n_heads: int = 1

    @classmethod
    def small(cls, d_model: int) -> "Config":
        return cls(d_model)

    @staticmethod
    def half(d_model: int) -> int:
        return d_model // 2

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads


class _Hidden:
    def __init__(self, size: int) -> None:
        self.size = size

    def grown(self, by: int) -> int:
        return self.size + by


class Shown(_Hidden):
    """Hereda el constructor de una clase privada."""


class Bare:
    """Sin constructor."""

    def _private(self, x):
        return x


class Layer(nn.Module):
    """Sin constructor propio, como tantas capas."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Drop(nn.Dropout):
    """Hereda todo de PyTorch."""


class Shape(ABC):
    """Una forma."""

    def __init__(self, side: float) -> None:
        self.side = side

    @abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    def area(self) -> float:
        return self.side**2


BY_NAME = {"area": area, "otra": 3}

calls.explain(__name__)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: area(), "falta `width`: un número. `area` espera width, height y unit."),
        (lambda: doubled(), r"falta `x`: un tensor de coma flotante \(…, d\). `doubled` espera x"),
        (
            lambda: area(1, color="rojo"),
            "`area` no tiene el argumento `color`; los suyos son width, height y unit.",
        ),
        (lambda: area(1, is_causal=True), "is_causal: así se llama en PyTorch; en area, causal"),
        (
            lambda: area(1, 2, "m"),
            r"`area` admite 2 argumentos sin nombre \(width y height\) y han llegado 3; "
            "por su nombre, unit.",
        ),
        (lambda: area(1, width=2), "`width` llega dos veces a `area`: por su sitio y por su nombr"),
        (lambda: numbered(), "falta `first`: un entero. `numbered` espera first, rest y named."),
        (lambda: countdown(), "falta `n`"),
        (lambda: squared(), "falta `n`"),
        (lambda: opened(), "falta `name`: un texto"),
        (lambda: Point(), "falta `x`: un entero. `Point` espera x e y."),
        (lambda: Point(1, z=2), "`Point` no tiene el argumento `z`; los suyos son x e y."),
        (lambda: Config(), "falta `d_model`: un entero. `Config` espera d_model y n_heads."),
        (lambda: Config.small(), "falta `d_model`: un entero. `Config.small` espera d_model."),
        (lambda: Config.half(1, 2), "`Config.half` admite un argumento sin nombre .* llegado 2"),
        (lambda: Shown(), "falta `size`: un entero. `Shown` espera size."),
        (lambda: Shown(1).grown(), "falta `by`: un entero. `Shown.grown` espera by."),
        (lambda: Bare(1), "`Bare` no admite argumentos y ha llegado un argumento."),
        (lambda: Bare(a=1), "`Bare` no tiene el argumento `a`; no admite ninguno."),
        (lambda: Layer(1), "`Layer` no admite argumentos y ha llegado un argumento."),
        (lambda: Layer()(), "falta `x`: un tensor. `Layer.forward` espera x."),
        (lambda: Drop(q=1), "`Drop` no tiene el argumento `q`; los suyos son p e inplace."),
        (lambda: Drop()(), "falta `input`: un tensor. `Drop.forward` espera input."),
        (lambda: Shape(1.0), "Shape: es una clase abstracta, le falta area; .* Square."),
        (lambda: Square(), "falta `side`: un número. `Square` espera side."),
    ],
)
def test_what_the_signature_rejects(call, message):
    with pytest.raises(TypeError, match="^" + message) as error:
        call()
    assert error.value.__cause__ is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: area("ancho"), "area: width: se esperaba un número; llegó str"),
        (
            lambda: doubled(None),
            "doubled: x: se esperaba un tensor de coma flotante .*; llegó None",
        ),
        (lambda: doubled(X, "2"), r"doubled: times: se esperaba un entero; llegó str \('2'\)"),
        (lambda: numbered(1, 2, "3"), "numbered: rest: se esperaba un entero; llegó str"),
        (lambda: numbered(1, tres="3"), "numbered: named: se esperaba un entero; llegó str"),
        (lambda: squared([2]), "squared: n: se esperaba un entero; llegó list"),
        (lambda: Config.half(None), "Config.half: d_model: se esperaba un entero; llegó None"),
        (lambda: Shown(1).grown("1"), "Shown.grown: by: se esperaba un entero; llegó str"),
        (lambda: Layer()(None), "Layer.forward: x: se esperaba un tensor; llegó None"),
        (lambda: outer([None]), "outer: names: se esperaba una lista; llegó list"),
        (lambda: outer(3), "outer: names: se esperaba una lista; llegó int"),
    ],
)
def test_what_is_not_of_its_kind(call, message):
    with pytest.raises(TypeError, match="^" + message) as error:
        call()
    assert isinstance(error.value.__cause__, Exception)
    assert not hasattr(error.value.__cause__, "_guessed")


def test_other_errors_pass_as_they_are():
    with pytest.raises(ValueError, match="^times: se esperaba un entero mayor") as told:
        doubled(None, -1)  # ya está dicho: aunque x tampoco valga, no se cambia
    with pytest.raises(RuntimeError, match="^The size of tensor") as raw:
        calls.guarded(lambda x: x + torch.ones(5))(X)  # los tipos son buenos
    assert told.value.__cause__ is None and raw.value.__cause__ is None


def test_a_bad_call_inside_is_not_taken_for_ours():
    @calls.guarded
    def careless(x: int) -> int:
        return (lambda a, b: a)(x)

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        careless(1)


def test_good_calls_do_the_same():
    assert area(2, unit="cm") == "2.0 cm" and numbered(1, 2, tres=3) == 6
    assert list(countdown(3)) == [3, 2, 1] and recursive(200) == 200
    assert squared(3) == 9 and squared.cache_info().currsize >= 1
    squared.cache_clear()
    assert squared.cache_info().currsize == 0
    with opened("a") as name:
        assert name == "A"
    assert Point(1)._replace(y=3) == (1, 3) and Point._make([1, 2]) == Point(1, 2)
    assert Config.small(4).d_head == 4 and Config.half(4) == 2 and Config(4) == Config(4)
    assert dataclasses.replace(Config(4), n_heads=2).d_head == 2
    assert Shown(1).grown(2) == 3 and Bare()._private(1) == 1 and Square(2.0).area() == 4.0
    assert torch.equal(Layer()(X), X + 1) and torch.equal(Drop(0.0)(X), X)


def test_the_face_does_not_change():
    assert area.__name__ == "area" and area.__doc__ == "Un rectángulo."
    assert str(inspect.signature(area)) == (
        "(width: float, height: float = 1.0, *, unit: str = 'm') -> str"
    )
    assert 'f"{width * height} {unit}"' in inspect.getsource(area)
    assert inspect.unwrap(area) is area.__wrapped__ and isinstance(area, types.FunctionType)
    assert inspect.isgeneratorfunction(inspect.unwrap(countdown))
    assert list(inspect.signature(Shape).parameters) == ["side"]
    assert list(inspect.signature(Square).parameters) == ["side"]
    assert list(inspect.signature(Point).parameters) == ["x", "y"]
    assert inspect.isabstract(Shape) and isinstance(vars(Config)["small"], classmethod)
    assert isinstance(vars(Config)["half"], staticmethod)


@pytest.mark.parametrize("thing", [area, squared, Point(1, 2), Config(4), Square(2.0), Layer()])
def test_everything_can_be_saved_and_copied(thing):
    again = pickle.loads(pickle.dumps(thing))
    assert type(again) is type(thing) and type(copy.deepcopy(thing)) is type(thing)
    assert again is thing or vars(again).keys() == vars(thing).keys() if callable(thing) else True


def test_pytorch_looks_through():
    compiled = torch.compile(lambda x: Layer()(doubled(x)), fullgraph=True, backend="eager")
    assert torch.equal(compiled(X), 2 * X + 1)
    assert torch.equal(torch.vmap(doubled)(X), 2 * X)
    assert torch.equal(torch.func.grad(lambda x: doubled(x).sum())(X), 2 * torch.ones(3, 4))


def test_explaining_twice_changes_nothing():
    before = (area, vars(Config)["small"], vars(Shape)["__new__"])
    calls.explain(__name__)
    assert (area, vars(Config)["small"], vars(Shape)["__new__"]) == before


def test_a_table_of_functions_keeps_the_same_ones():
    """Si no, «is» diría que no en quien la pida por su nombre."""
    assert BY_NAME == {"area": area, "otra": 3} and BY_NAME["area"] is area


def test_the_doors_cost_nothing():
    """Se llaman varias veces en cada atención."""
    doors = (numbers.require_probability, shapes.require_boolean, shapes.is_enabled)
    assert not any(hasattr(door, "_explained") for door in doors)


def test_what_is_private_or_from_elsewhere_is_left_alone():
    assert not hasattr(vars(Bare)["_private"], "__wrapped__")
    assert sys.modules[__name__].contextmanager is contextmanager


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [1, True, np.int64(3)], ["1", None, 1.5, X]),
        (float, [1, 1.5, math.inf, np.float32(1)], ["1", None, [1.0]]),
        (bool, [True, 1, np.True_], ["sí", None]),
        (str, ["a", ""], [1, None, b"a"]),
        (int | None, [1, None], ["1"]),
        (list[int], [[1], []], [(1,), "a", [None]]),
        (Sequence[int], [[1], (1,), range(3)], ["abc", 1, None, ["a"]]),
        (Sequence[str], ["abc", ["a"]], [1, [1]]),
        (Iterable[str], [iter("a"), {"a": 1}], [1, None]),
        (tuple[int, str], [(1, "a")], [[1, "a"], ("a", 1), None]),
        (dict[str, int], [{}, {"a": 1}], [[], None]),
        (Callable[[int], int], [len, int], [1, None, "len"]),
        (type[nn.Module], [nn.Linear], [nn.Linear(1, 1), None]),
        (Literal["a", "b"], ["a", "z"], [1, None]),
        (Tensor, [X, nn.Parameter(X)], [[1.0], None, np.ones(2)]),
        (Float[Tensor, "a b"], [X, X.double(), X[0]], [X.long(), X > 0, None, [1.0]]),
        (Int[Tensor, " n"], [X.long()], [X, 1]),
        (Bool[Tensor, "..."], [X > 0], [X]),
        (Float[np.ndarray, " n"], [np.ones(2)], [X]),
        (str | Path, ["a", Path("a")], [1, None]),
        (nn.Module, [nn.ReLU()], [None, len]),
        (None, [None], [1]),
        (Any, [1, None], []),
        (object, [1, None], []),
        ("KVCache", [1, None], []),
    ],
)
def test_what_an_annotation_accepts(hint, good, bad):
    assert [calls.accepts(hint, value) for value in good] == [True] * len(good)
    assert [calls.accepts(hint, value) for value in bad] == [False] * len(bad)


def test_a_default_that_is_a_function_can_be_saved():
    """El valor por omisión ya está delante: pickle lo encuentra por su nombre."""
    from atento.models.positioning import Positions, consecutive

    assert pickle.loads(pickle.dumps(Positions())).places is consecutive
