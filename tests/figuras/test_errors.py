"""La línea en español bajo los errores de llamada, en un cuaderno."""

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from atento.attention import MultiHeadAttention, scaled_dot_product_attention
from figuras import errors


def area(width, height=1.0, *, unit):
    """Un rectángulo."""


class Point:
    def __init__(self, x, y): ...


def message(call):
    with pytest.raises(TypeError) as error:
        call()
    return str(error.value)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: area(unit="m"), "a `area` le falta `width`"),
        (lambda: area(1), "a `area` le falta `unit`"),
        (lambda: Point(), "a `Point` le faltan `x`, `y`"),
        (lambda: area(1, color=2), "`area` no tiene ningún argumento `color`"),
        (lambda: area(1, width=2), "`width` llega dos veces a `area`: por su sitio y por su nom"),
        (lambda: area(1, **{"unit": 1}, **{"unit": 2}), "`unit` llega dos veces a `"),
        (lambda: Point(1, 2, 3), "`Point` admite 3 sin nombre, contando self si es un m"),
        (lambda: area(1, 2, 3), "`area` admite 2 sin nombre, contando self si es un método, y lle"),
        (
            lambda: scaled_dot_product_attention(),
            "`scaled_dot_product_attention` le faltan `query`, `key`, `v",
        ),
        (lambda: MultiHeadAttention(8), "`MultiHeadAttention` le falta `n_heads`"),
    ],
)
def test_what_python_says_of_a_call(call, line):
    told = errors.in_spanish(message(call))
    assert told.startswith("En español: ") and line in told and told.endswith(".")


@pytest.mark.parametrize(
    "text", ["", "unsupported operand type(s)", "query: se esperaba un tensor"]
)
def test_other_errors_are_left_alone(text):
    assert errors.in_spanish(text) is None


def shown(shell, code):
    with capture_output() as out:
        result = shell.run_cell(code)
    return out.stdout + out.stderr, result.error_in_exec


def test_in_a_notebook_it_comes_under_the_message(monkeypatch):
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    errors.install()
    shell.run_cell("def f(x): return x")
    text, error = shown(shell, "f()")
    assert isinstance(error, TypeError)
    python, spanish = text.index("missing 1 required"), text.index("En español: a `f` le falta `x`")
    assert python < spanish
    text, _ = shown(shell, "1 + 'a'")
    assert "unsupported operand" in text and "En español" not in text
    text, error = shown(shell, "1 / 0")
    assert isinstance(error, ZeroDivisionError) and "En español" not in text


def test_outside_of_a_notebook_nothing_happens(monkeypatch):
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    errors.install()
