"""Los validadores de números."""

import math

import pytest

from atento import amounts


@pytest.mark.parametrize(
    ("call", "kind", "pieces"),
    [
        (lambda: amounts.require_size(2.0, name="x"), TypeError, ["float", "2.0"]),
        (lambda: amounts.require_size(True, name="x"), TypeError, ["bool"]),
        (lambda: amounts.require_size(0, name="x"), ValueError, ["mayor o igual que 1", "llegó 0"]),
        (lambda: amounts.require_probability(1.0, name="x"), ValueError, ["[0, 1)", "1.0"]),
        (lambda: amounts.require_probability("0", name="x"), TypeError, ["str"]),
        (lambda: amounts.require_positive(0, name="x"), ValueError, ["mayor que 0"]),
        (lambda: amounts.require_positive(math.inf, name="x"), ValueError, ["finito"]),
        (lambda: amounts.require_positive(None, name="x"), TypeError, ["NoneType"]),
        (
            lambda: amounts.require_divisible(10, 3, name="x", divisor_name="n_heads"),
            ValueError,
            ["múltiplo de n_heads = 3", "llegó 10", "resto es 1"],
        ),
        (lambda: amounts.require_number(True, name="x"), TypeError, ["bool"]),
        (lambda: amounts.require_positive(math.nan, name="x"), ValueError, ["nan"]),
        (lambda: amounts.require_probability(math.nan, name="x"), ValueError, ["nan"]),
        (lambda: amounts.require_probability(-0.1, name="x"), ValueError, ["-0.1"]),
    ],
)
def test_validators(call, kind, pieces):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value).startswith("x: ")
    for piece in pieces:
        assert piece in str(error.value), str(error.value)


def test_good_numbers_pass():
    amounts.require_size(0, name="x", least=0)
    amounts.require_size(-3, name="x", least=None)
    amounts.require_divisible(12, 3, name="x", divisor_name="y")
    amounts.require_probability(0, name="x")
    amounts.require_positive(1e-300, name="x")
