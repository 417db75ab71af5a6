import importlib.util
import inspect
import re
from pathlib import Path

import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

from atento import shapes
from atento.shapes import checked, typed


@typed
def scores(
    query: Float[Tensor, "*batch query d_head"],
    key: Float[Tensor, "*batch key d_head"],
    bias: Float[Tensor, "#query key"] | None = None,
    times: int = 1,
) -> Float[Tensor, "*batch query key"]:
    """Documentada."""
    result = query @ key.transpose(-2, -1)
    return result if times == 1 else result[..., :-1]


def ones(*shape):
    return torch.ones(*shape)


def test_right_call_passes_with_and_without_checks(shape_checks):
    assert scores(ones(2, 3, 4), ones(2, 5, 4)).shape == (2, 3, 5)
    assert scores(ones(3, 4), key=ones(5, 4), bias=ones(1, 5)).shape == (3, 5)


@pytest.mark.parametrize(
    ("args", "kind", "pieces"),
    [
        ((ones(2, 3, 4), ones(2, 5, 3)), ValueError, ["key", "«d_head»", "mide 3", "query", "4"]),
        ((ones(2, 3, 4), ones(6, 5, 4)), ValueError, ["key", "«batch»", "(6,)", "(2,)"]),
        ((ones(3, 4), ones(4)), ValueError, ["key", "los ejes (*batch, key, d_head)", "(4,)"]),
        ((ones(3, 4).long(), ones(5, 4)), TypeError, ["query", "Float", "int64"]),
        ((ones(3, 4), [1.0]), TypeError, ["key", "tensor", "list"]),
        ((ones(3, 4), ones(5, 4), ones(3, 6)), ValueError, ["bias", "«key»", "mide 6", "5"]),
        ((ones(3, 4), ones(5, 4), None, "2"), TypeError, ["times", "int", "'2'"]),
        ((ones(3, 4), ones(5, 4), None, 2), ValueError, ["el resultado", "query key", "[3,4]"]),
    ],
)
def test_violation_in_spanish(args, kind, pieces):
    with checked(), pytest.raises(kind) as error:
        scores(*args)
    message = str(error.value)
    assert message.startswith("scores: ")
    for piece in pieces:
        assert piece in message, message
    assert error.value.__cause__ is None and error.value.__context__ is None
    assert "Type-check" not in message


def test_axis_meaning_is_told():
    with checked(), pytest.raises(ValueError, match=re.escape(shapes.AXES["d_head"])):
        scores(ones(2, 3, 4), ones(2, 5, 3))


def test_fixed_sizes_are_named():
    @typed
    def pair(x: Float[Tensor, "batch 2"]) -> None:
        return None

    with checked(), pytest.raises(ValueError, match="x: el eje «2».*debe medir 2"):
        pair(ones(4, 3))


def test_switch_is_read_at_every_call():
    wrong = (ones(3, 4), ones(5, 4), None, 2)
    assert not shapes.is_enabled()
    assert scores(*wrong).shape == (3, 4)
    shapes.enable()
    with pytest.raises(ValueError):
        scores(*wrong)
    with checked(False):
        scores(*wrong)
    assert shapes.is_enabled()
    shapes.disable()
    with pytest.raises(ZeroDivisionError), checked():
        raise ZeroDivisionError
    assert not shapes.is_enabled()
    scores(*wrong)


def test_nested_violation_keeps_its_own_message():
    @typed
    def outer(x: Float[Tensor, "query d_model"]) -> Float[Tensor, "query query"]:
        return scores(x, x[:, :-1])

    with checked(), pytest.raises(ValueError, match="^scores: key: el eje «d_head»"):
        outer(ones(3, 4))


def test_errors_of_the_body_pass_through(shape_checks):
    @typed
    def fails(x: Float[Tensor, "query d_model"]) -> None:
        raise KeyError("dentro")

    with pytest.raises(KeyError, match="dentro"):
        fails(ones(3, 4))


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((ones(3, 4),), {}, r"scores\(\) missing 1 required positional argument: 'key'"),
        ((), {"key": ones(3, 4)}, r"scores\(\) missing 1 .*'query'"),
        ((), {"q": ones(3, 4)}, r"scores\(\) got an unexpected keyword argument 'q'"),
        ((ones(3, 4),) * 5, {}, r"scores\(\) takes from 2 to 4 positional arguments but 5"),
        ((ones(3, 4),) * 2, {"key": 1}, r"scores\(\) got multiple values for argument 'key'"),
        ((), {"hidden_size": 3}, "hidden_size: así se llama en PyTorch; en scores, d_hidden"),
        ((ones(3, 4),) * 2, {"is_causal": True}, "is_causal: así .*; en scores, causal=True"),
        ((), {"dropout_p": 1, "q": 1}, "dropout_p: así se llama en PyTorch; en scores, dropout"),
    ],
)
@pytest.mark.parametrize("guarded", [False, True])
def test_a_call_that_does_not_fit_the_signature(shape_checks, guarded, args, kwargs, message):
    """Habla Python, con el nombre de la función y no el de su puerta; si es de PyTorch, atento."""

    def door(query, key, bias=None, times=2):
        pass

    function = typed(scores.unchecked, validate=door) if guarded else scores
    with pytest.raises(TypeError, match="^(test_.*)?" + message) as error:
        function(*args, **kwargs)
    assert error.value.__cause__ is None and error.value.__suppress_context__


@pytest.mark.parametrize("name", shapes.FOREIGN)
def test_every_name_of_pytorch_is_answered(name):
    with pytest.raises(TypeError, match=f"^{name}: así se llama en PyTorch; en Bare, "):
        Bare(**{name: 1})


class Bare:
    @typed
    def __init__(self) -> None:
        pass


def test_a_name_of_pytorch_that_is_also_ours_is_let_in():
    @typed
    def drop(dropout_p: float = 0.0, **others: float) -> float:
        return dropout_p + sum(others.values())

    assert drop(dropout_p=0.5, hx=1.0) == 1.5


def test_type_errors_of_the_body_are_not_taken_for_bad_calls(shape_checks):
    @typed
    def calls_badly(x: Float[Tensor, "query d_model"]) -> None:
        scores.unchecked(x)  # le falta key: es un error de dentro, no de quien llama

    with pytest.raises(TypeError, match="missing .*argument: 'key'"):
        calls_badly(ones(3, 4))


def test_every_door_has_the_signature_it_guards():
    """Una puerta con otra firma aceptaría lo que la función rechaza, o al revés."""
    import ast
    import importlib

    root, compared = Path(shapes.__file__).parent, 0
    for path in root.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = path.relative_to(root.parent).with_suffix("").parts
        for node in ast.walk(tree):
            for decorator in getattr(node, "decorator_list", []):
                if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "typed"):
                    continue
                module = importlib.import_module(".".join(names))
                door = eval(ast.unparse(decorator.keywords[0].value), vars(module))  # noqa: S307
                ours = [
                    (p.name, p.kind, p.default) for p in inspect.signature(door).parameters.values()
                ]
                arguments = node.args
                rest = [arguments.kwarg] if arguments.kwarg else []
                theirs = [a.arg for a in (*arguments.args, *arguments.kwonlyargs, *rest)]
                assert [name for name, _, _ in ours] == theirs, (path.name, node.name)
                given = [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
                defaults = [d for _, _, d in ours if d is not inspect.Parameter.empty]
                written = [eval(ast.unparse(d), vars(module)) for d in given]  # noqa: S307
                assert defaults == written, (path.name, node.name)
                compared += 1
    assert compared >= 15


def test_validate_runs_first_and_always(shape_checks):
    def validate(ids):
        raise ValueError("ids: primero la puerta")

    @typed(validate=validate)
    def embed(ids: Int[Tensor, "batch key"]) -> None:
        return None

    with pytest.raises(ValueError, match="primero la puerta"):
        embed(3.0)


def test_decorated_function_keeps_its_face():
    assert scores.__name__ == "scores" and scores.__doc__ == "Documentada."
    assert list(inspect.signature(scores).parameters) == ["query", "key", "bias", "times"]
    assert "query @ key" in inspect.getsource(scores)


def test_methods_can_be_typed():
    class Layer:
        @typed
        def __call__(self, x: Float[Tensor, "batch d_model"]) -> Float[Tensor, "batch d_model"]:
            return x

    with checked(), pytest.raises(ValueError, match="x: se esperaban los ejes"):
        Layer()(ones(3))


def test_postponed_annotations_are_resolved():
    path = Path(__file__).with_name("_future_module.py")
    spec = importlib.util.spec_from_file_location("_future_module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with checked():
        assert module.scores(ones(2, 3)).shape == (2, 3)
        with pytest.raises(ValueError, match="key: el eje «d_head».*mide 4"):
            module.scores(ones(2, 3), ones(5, 4))
        with pytest.raises(ValueError, match="el resultado"):
            module.wrong_result(ones(2, 3))


def test_axes_have_a_spanish_description():
    names = {"batch", "query", "key", "head", "d_model", "d_head", "d_ff", "vocab"}
    assert names <= set(shapes.AXES) and all(shapes.AXES.values())


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("call", "kind", "pieces"),
    [
        (lambda: shapes.require_tensor([1], name="x"), TypeError, ["list", "as_tensor(x)"]),
        (
            lambda: shapes.require_floating(ones(2).int(), name="x"),
            TypeError,
            ["int32", "x.float()"],
        ),
        (lambda: shapes.require_floating(ones(2).bool(), name="x"), TypeError, ["bool"]),
        (lambda: shapes.require_integer(ones(2), name="x"), TypeError, ["float32", "x.long()"]),
        (lambda: shapes.require_integer(ones(2).bool(), name="x"), TypeError, ["bool"]),
        (lambda: shapes.require_boolean(ones(2), name="x"), TypeError, ["float32", "True donde"]),
        (lambda: shapes.require_finite(ones(2) * NAN, name="x"), ValueError, ["2 NaN"]),
        (lambda: shapes.require_finite(ones(3) * -INF, name="x"), ValueError, ["3 infinitos"]),
        (
            lambda: shapes.require_same_kind(
                ones(1).double(), ones(1), name="x", reference_name="y"
            ),
            TypeError,
            ["float32, como y", "float64"],
        ),
        (
            lambda: shapes.require_same_kind(
                ones(1).to("meta"), ones(1), name="x", reference_name="y"
            ),
            ValueError,
            ["está en meta", "se esperaba en cpu, como y", "x.to(y.device)"],
        ),
        (
            lambda: shapes.require_broadcastable(ones(2, 3), (4, 3), name="x", axes="(query, key)"),
            ValueError,
            ["(query, key) = (4, 3)", "(2, 3)"],
        ),
        (
            lambda: shapes.require_broadcastable(ones(1, 4, 3), (4, 3), name="x", axes="(a, b)"),
            ValueError,
            ["(1, 4, 3)"],
        ),
        (
            lambda: shapes.require_axis(ones(2, 3), -1, 4, name="x", label="d_model", like="w"),
            ValueError,
            ["«d_model»", "mide 3", "según w debe medir 4"],
        ),
        (
            lambda: shapes.require_axis(ones(()), -1, 4, name="x", label="d_model", like="w"),
            ValueError,
            ["«d_model», de 4", "un número suelto"],
        ),
    ],
)
def test_validators(call, kind, pieces):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value).startswith("x: ")
    for piece in pieces:
        assert piece in str(error.value), str(error.value)


def test_finite_numbers_whose_sum_overflows_are_finite():
    shapes.require_finite(torch.full((4,), 60000.0, dtype=torch.float16), name="x")
    shapes.require_finite(torch.tensor([1e38, 3e38, 3e38]), name="x")
    shapes.require_finite(torch.empty(0), name="x")


def test_contents_are_not_read_inside_vmap():
    def function(x):
        shapes.require_finite(x, name="x")
        return x.sum()

    assert torch.func.vmap(function)(ones(3, 2)).tolist() == [2.0, 2.0, 2.0]


def test_contents_are_not_read_where_there_are_none():
    assert shapes.is_readable(ones(2)) and not shapes.is_readable(ones(2).to("meta"))
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        assert not shapes.is_readable(torch.ones(2))
    seen = []

    def function(x):
        seen.append(shapes.is_readable(x))
        return x.sum()

    torch.func.grad(function)(ones(3))
    torch.func.vmap(torch.func.grad(function))(ones(2, 3))
    torch.func.grad(lambda x: torch.func.vmap(function)(x).sum())(ones(2, 3))
    assert seen == [True, False, False]


def test_plain_is_what_can_be_read_and_nobody_has_wrapped():
    assert shapes.is_plain(ones(2)) and not shapes.is_plain(ones(2).to("meta"))
    seen = []

    def function(x):
        seen.append(shapes.is_plain(x))
        return x.sum()

    torch.func.grad(function)(ones(3))  # se puede leer, pero está envuelto
    torch.func.vmap(function)(ones(2, 3))
    assert seen == [False, False]

    def compiled(x):
        return x + 1 if shapes.is_plain(x) else x - 1

    assert torch.compile(compiled, backend="eager", fullgraph=True)(ones(1)).item() == 0


def test_unchecked_is_the_function_without_its_door(shape_checks):
    assert scores.unchecked(ones(3, 4), ones(5, 4), None, 2).shape == (3, 4)


def test_dtype_is_left_to_autocast():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        shapes.require_same_kind(ones(1).bfloat16(), ones(1), name="x", reference_name="y")
